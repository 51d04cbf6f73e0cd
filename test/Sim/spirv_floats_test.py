"""Floating-point instructions of SPIR-V and OpenCL.std on the simulator: against exact rationals where the result is exact or
rounded once, against the host's functions in double elsewhere, and the edge cases of OpenCL C 7.5.1.
"""

import itertools
import math
from fractions import Fraction

import mtlc_exec
import mtlc_testing
import numpy as np
from spirv_modules import TYPES, Op, has_assembler, run_table

INF, NAN = math.inf, math.nan
FORMATS = {"f16": (11, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}  # Digits, least and greatest exponent.


def rounded(value: Fraction, type_: str, mode: str = "RTE", zero: float = 0.0) -> np.floating:
    """An exact number in a format; `zero` gives the sign of a zero."""
    digits, low, high = FORMATS[type_]
    if value == 0:
        return TYPES[type_](math.copysign(0.0, zero))
    negative, size = value < 0, abs(value)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** e > size:
        e -= 1
    e = max(e, low)
    ulp = Fraction(2) ** (e - digits + 1)
    n, rest = divmod(size, ulp)
    up = {"RTE": 2 * rest > ulp or (2 * rest == ulp and n % 2 == 1), "RTZ": False, "RTP": rest > 0 and not negative,
          "RTN": rest > 0 and negative}[mode]  # fmt: skip
    result = (n + up) * ulp
    greatest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** high
    if result > greatest:
        stays = mode == "RTZ" or (mode == "RTP" and negative) or (mode == "RTN" and not negative)
        wide = float(greatest) if stays else INF
    else:
        wide = float(result)
    return TYPES[type_](-wide if negative else wide)


def special(type_: str) -> list[float]:
    digits, low, high = FORMATS[type_]
    least = 2.0 ** (low - digits + 1) if type_ != "f64" else 5e-324
    greatest = float((2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** high)
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.75, 1 / 3, 100.0, least, 3 * least, 2.0**low, 2.0**low - least, greatest, INF]
    return [s * v for v in values for s in (1, -1)] + [NAN]


def samples(type_: str, n: int, seed: int) -> np.ndarray:
    """Special values, numbers of every exponent, and small ones."""
    rng = np.random.default_rng(seed)
    s = special(type_)
    bits = rng.integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2) >> np.uint64(64 - 8 * np.dtype(TYPES[type_]).itemsize)
    any_ = bits.astype(f"u{np.dtype(TYPES[type_]).itemsize}").view(TYPES[type_])
    small = rng.normal(size=n) * 3
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.where(rng.random(n) < 0.5, small, any_.astype(np.float64))
        out = np.where(rng.random(n) < 0.3, rng.choice(np.array(s), n), out)
        return out.astype(TYPES[type_])


def pairs(type_: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of special values, then samples."""
    s = list(itertools.product(special(type_), repeat=2))[:n]
    a, b = samples(type_, n, 1), samples(type_, n, 2)
    a[: len(s)], b[: len(s)] = [p[0] for p in s], [p[1] for p in s]
    return a, b


def exact(x) -> Fraction:
    return Fraction(float(x))


class Floats(mtlc_exec.TestCase):
    N = 2048

    def check(self, table: dict, operands, result: str, width: int = 1) -> None:
        """{name: (code, function of the operands' values)}; results bit for bit, NaN for NaN."""
        got = run_table(self, operands, result, [Op(name, code) for name, (code, _) in table.items()], width)
        rows = list(zip(*(x for _, x in operands)))
        for name, (_, f) in table.items():
            with self.subTest(name=name, type=operands[0][0], result=result, width=width):
                with np.errstate(all="ignore"):
                    want = np.array([f(*row) for row in rows], TYPES[result])
                self.assert_same(got[name], want)

    def test_rounded_once(self) -> None:
        for t in FORMATS:
            T = TYPES[t]
            a, b = pairs(t, self.N)
            c = samples(t, self.N, 3)

            def fma(x, y, z):
                if not all(map(math.isfinite, (x, y, z))):
                    with np.errstate(all="ignore"):
                        if math.isfinite(x) and math.isfinite(y):
                            return z
                        return T(float(x) * float(y) + float(z)) if t != "f64" else x * y + z
                value = exact(x) * exact(y) + exact(z)
                # A sum of zeros of different signs, and a difference of equal numbers, are +0.
                product_negative = math.copysign(1, x) * math.copysign(1, y) < 0
                both = product_negative and math.copysign(1, z) < 0
                zero = -0.0 if both and value == 0 and (exact(x) * exact(y) == 0) and z == 0 else 0.0
                return rounded(value, t, zero=zero)

            table = {
                "OpFAdd": ("OpFAdd {R} %a %b", lambda x, y, z: x + y),
                "OpFSub": ("OpFSub {R} %a %b", lambda x, y, z: x - y),
                "OpFMul": ("OpFMul {R} %a %b", lambda x, y, z: x * y),
                "OpFDiv": ("OpFDiv {R} %a %b", lambda x, y, z: np.divide(x, y)),
                "OpFNegate": ("OpFNegate {R} %a", lambda x, y, z: -x),
                "OpFRem": ("OpFRem {R} %a %b", lambda x, y, z: np.fmod(x, y)),
                "OpFMod": ("OpFMod {R} %a %b", fmod_floor),
                "fma": ("OpExtInst {R} %std fma %a %b %c", fma),
                "sqrt": ("OpExtInst {R} %std sqrt %a", lambda x, y, z: np.sqrt(x)),
                "fabs": ("OpExtInst {R} %std fabs %a", lambda x, y, z: abs(x)),
                "fmod": ("OpExtInst {R} %std fmod %a %b", lambda x, y, z: np.fmod(x, y)),
                "remainder": ("OpExtInst {R} %std remainder %a %b", lambda x, y, z: remainder(x, y, T)),
                "ceil": ("OpExtInst {R} %std ceil %a", lambda x, y, z: np.ceil(x)),
                "floor": ("OpExtInst {R} %std floor %a", lambda x, y, z: np.floor(x)),
                "trunc": ("OpExtInst {R} %std trunc %a", lambda x, y, z: np.trunc(x)),
                "rint": ("OpExtInst {R} %std rint %a", lambda x, y, z: np.rint(x)),
                "round": ("OpExtInst {R} %std round %a", lambda x, y, z: round_away(x, T)),
                "copysign": ("OpExtInst {R} %std copysign %a %b", lambda x, y, z: np.copysign(x, y)),
                "fdim": ("OpExtInst {R} %std fdim %a %b", lambda x, y, z: NAN if math.isnan(x) or math.isnan(y) else x - y if x > y else T(0)),
                "nextafter": ("OpExtInst {R} %std nextafter %a %b", lambda x, y, z: y if x == y else np.nextafter(x, y)),
                "sign": ("OpExtInst {R} %std sign %a", lambda x, y, z: T(0) if math.isnan(x) else T(1) if x > 0 else T(-1) if x < 0 else x),
                "step": ("OpExtInst {R} %std step %a %b", lambda x, y, z: T(0) if y < x else T(1)),
                "fract": ("%f# = OpVariable %l_{P}" + t + " Function\nOpExtInst {R} %std fract %a %f#", lambda x, y, z: fract(x, T)[0]),
                "fract floor": ("%f# = OpVariable %l_{P}" + t + " Function\n%d# = OpExtInst {R} %std fract %a %f#\nOpLoad {R} %f#",
                                lambda x, y, z: fract(x, T)[1]),
                "modf": ("%f# = OpVariable %l_{P}" + t + " Function\nOpExtInst {R} %std modf %a %f#",
                         lambda x, y, z: np.copysign(T(0), x) if math.isinf(x) else np.copysign(x - np.trunc(x), x)),
                "modf whole": ("%f# = OpVariable %l_{P}" + t + " Function\n%d# = OpExtInst {R} %std modf %a %f#\nOpLoad {R} %f#",
                               lambda x, y, z: np.trunc(x)),
                "frexp": ("%f# = OpVariable %l_{P}u32 Function\nOpExtInst {R} %std frexp %a %f#", lambda x, y, z: np.frexp(x)[0]),
                "remquo": ("%f# = OpVariable %l_{P}u32 Function\nOpExtInst {R} %std remquo %a %b %f#", lambda x, y, z: remainder(x, y, T)),
            }  # fmt: skip
            for width in (1, 2):
                self.check(table, [(t, a), (t, b), (t, c)], t, width)

    def test_max_and_min(self) -> None:
        """Zeros of either sign may be taken for equal."""
        for t in FORMATS:
            a, b = pairs(t, self.N)
            table = {
                "fmax": ("OpExtInst {R} %std fmax %a %b", np.fmax),
                "fmin": ("OpExtInst {R} %std fmin %a %b", np.fmin),
                "fmax_common": ("OpExtInst {R} %std fmax_common %a %b", np.fmax),
                "fmin_common": ("OpExtInst {R} %std fmin_common %a %b", np.fmin),
                "maxmag": ("OpExtInst {R} %std maxmag %a %b", lambda x, y: np.array([magnitude(*p, 1) for p in zip(x, y)], x.dtype)),
                "minmag": ("OpExtInst {R} %std minmag %a %b", lambda x, y: np.array([magnitude(*p, -1) for p in zip(x, y)], x.dtype)),
            }
            got = run_table(self, [(t, a), (t, b)], t, [Op(n, c) for n, (c, _) in table.items()])
            for name, (_, f) in table.items():
                with self.subTest(name=name, type=t):
                    with np.errstate(all="ignore"):
                        self.assert_same(got[name] + TYPES[t](0), f(a, b) + TYPES[t](0))

    def test_comparisons(self) -> None:
        relations = {"Equal": lambda x, y: x == y, "NotEqual": lambda x, y: x != y, "LessThan": lambda x, y: x < y,
                     "GreaterThan": lambda x, y: x > y, "LessThanEqual": lambda x, y: x <= y, "GreaterThanEqual": lambda x, y: x >= y}  # fmt: skip
        for t in FORMATS:
            a, b = pairs(t, self.N)
            digits, low, _ = FORMATS[t]
            table = {}
            for name, f in relations.items():
                table[f"OpFOrd{name}"] = ("%a %b", lambda x, y, f=f: f(x, y) and not (math.isnan(x) or math.isnan(y)))
                table[f"OpFUnord{name}"] = ("%a %b", lambda x, y, f=f: f(x, y) or math.isnan(x) or math.isnan(y))
            table["OpOrdered"] = ("%a %b", lambda x, y: not (math.isnan(x) or math.isnan(y)))
            table["OpUnordered"] = ("%a %b", lambda x, y: math.isnan(x) or math.isnan(y))
            table["OpLessOrGreater"] = ("%a %b", lambda x, y: x < y or x > y)
            table["OpIsNan"] = ("%a", lambda x, y: math.isnan(x))
            table["OpIsInf"] = ("%a", lambda x, y: math.isinf(x))
            table["OpIsFinite"] = ("%a", lambda x, y: math.isfinite(x))
            table["OpIsNormal"] = ("%a", lambda x, y: math.isfinite(x) and abs(float(x)) >= 2.0**low)
            table["OpSignBitSet"] = ("%a", lambda x, y: math.copysign(1, x) < 0)
            # NaNs of both signs.
            a[-4:] = [NAN, -NAN, NAN, -NAN]
            word = f"u{8 * np.dtype(TYPES[t]).itemsize}"
            for width in (1, 4):
                ops = [Op(name, f"{name} {{W}}bool {args}", bool_result=True) for name, (args, _) in table.items()]
                got = run_table(self, [(t, a), (t, b)], word, ops, width)
                for name, (_, f) in table.items():
                    with self.subTest(name=name, type=t, width=width):
                        self.assert_same(got[name], np.array([f(x, y) for x, y in zip(a, b)], TYPES[word]))

    def test_conversions_to_integers(self) -> None:
        """Every format and width, every rounding; out of range only with saturation."""
        modes = {"RTE": lambda v: round(v), "RTZ": lambda v: int(v), "RTP": math.ceil, "RTN": math.floor}
        for t, bits in itertools.product(FORMATS, (8, 16, 32, 64)):
            a = samples(t, self.N, 4)
            word = f"u{bits}"
            table = {}
            for letter, low, high in (("U", 0, 2**bits - 1), ("S", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)):
                for mode, f in [("", int), *modes.items()]:

                    def convert(x, f=f, low=low, high=high):
                        if math.isnan(x):
                            return 0
                        return (high if x > 0 else low) if math.isinf(x) else min(max(f(exact(x)), low), high)

                    table[f"OpConvertFTo{letter} {mode}"] = convert
            # Two decorations of one result, so in two lines.
            ops = []
            for name in table:
                op, mode = name.split(" ")
                ops.append(Op(name, f"{op} {{R}} %a", decoration="SaturatedConversion" + (f"\nOpDecorate %r{len(ops)} FPRoundingMode {mode}" if mode else "")))
            got = run_table(self, [(t, a)], word, ops)
            for name, f in table.items():
                with self.subTest(name=name, type=t, bits=bits):
                    self.assert_same(got[name], np.array([f(x) % 2**bits for x in a], TYPES[word]))
            # In range there is no need of it.
            for letter, low, high in (("U", 0, 2**bits - 1), ("S", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)):
                inside = np.array([x if math.isfinite(x) and low < float(x) < high else 1 for x in a], TYPES[t])
                ops = [Op(mode, f"OpConvertFTo{letter} {{R}} %a", decoration=f"FPRoundingMode {mode}") for mode in modes]
                got = run_table(self, [(t, inside)], word, ops)
                for mode, f in modes.items():
                    with self.subTest(name=f"OpConvertFTo{letter} {mode}", type=t, bits=bits):
                        fits = np.array([low <= f(exact(x)) <= high for x in inside])
                        want = np.array([f(exact(x)) % 2**bits for x in inside], TYPES[word])
                        self.assert_same(got[mode][fits], want[fits])

    def test_conversions_to_floats(self) -> None:
        modes = ("", "RTE", "RTZ", "RTP", "RTN")
        rng = np.random.default_rng(5)
        for t, bits in itertools.product(FORMATS, (8, 16, 32, 64)):
            word = f"u{bits}"
            v = [int(rng.integers(0, 2**63)) * 2 % 2**bits >> int(rng.integers(0, bits)) for _ in range(self.N - 4)]
            a = np.array([*v, 0, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1], TYPES[word])
            names = [(x, mode) for x in "US" for mode in modes]
            ops = [Op(f"{x}{mode}", f"OpConvert{x}ToF {{R}} %a", decoration=f"FPRoundingMode {mode}" if mode else "") for x, mode in names]
            got = run_table(self, [(word, a)], t, ops)
            for x, mode in names:
                with self.subTest(kind=x, mode=mode, type=t, bits=bits):
                    values = [int(w) if x == "U" else int(w) - 2**bits * (int(w) >> (bits - 1)) for w in a]
                    self.assert_same(got[f"{x}{mode}"], np.array([rounded(Fraction(w), t, mode or "RTE") for w in values]))
        for source, t in itertools.permutations(FORMATS, 2):
            a = samples(source, self.N, 6)
            use = modes if FORMATS[source][0] > FORMATS[t][0] else ("",)
            ops = [Op(mode, "OpFConvert {R} %a", decoration=f"FPRoundingMode {mode}" if mode else "") for mode in use]
            got = run_table(self, [(source, a)], t, ops)
            for mode in use:
                with self.subTest(source=source, type=t, mode=mode):
                    want = [rounded(exact(x), t, mode or "RTE", float(x)) if math.isfinite(x) else TYPES[t](x) for x in a]
                    self.assert_same(got[mode], np.array(want, TYPES[t]))

    def test_integer_results(self) -> None:
        for t in FORMATS:
            a, b = pairs(t, self.N)
            zero, nan = -(2**31), -(2**31)
            ops = [Op("ilogb", "OpExtInst {R} %std ilogb %a"),
                   Op("frexp", f"%f# = OpVariable %l_{{P}}u32 Function\n%d# = OpExtInst {{W}}{t} %std frexp %a %f#\nOpLoad {{R}} %f#"),
                   Op("remquo", f"%f# = OpVariable %l_{{P}}u32 Function\n%d# = OpExtInst {{W}}{t} %std remquo %a %b %f#\nOpLoad {{R}} %f#")]  # fmt: skip
            got = run_table(self, [(t, a), (t, b)], "u32", ops)
            ilogb = [nan if math.isnan(x) else 2**31 - 1 if math.isinf(x) else zero if x == 0 else math.frexp(float(x))[1] - 1 for x in a]
            self.assert_same(got["ilogb"].view(np.int32), np.array(ilogb, np.int32))
            frexp = [0 if not math.isfinite(x) else math.frexp(float(x))[1] for x in a]
            self.assert_same(got["frexp"].view(np.int32), np.array(frexp, np.int32))
            quotients = got["remquo"].view(np.int32)
            for x, y, q in zip(a, b, quotients):
                if math.isfinite(x) and math.isfinite(y) and y != 0:
                    n = round(exact(x) / exact(y))
                    self.assertEqual(int(q) % 128, n % 128, (x, y, q))
                    self.assertTrue(q == 0 or (q < 0) == (n < 0), (x, y, q, n))

    # Functions that are rounded somehow: against the host's in double, of formats whose results double holds with room.
    FUNCTIONS = {
        "acos": math.acos, "acosh": math.acosh, "asin": math.asin, "asinh": math.asinh, "atan": math.atan, "atanh": math.atanh,
        "acospi": lambda x: math.acos(x) / math.pi, "asinpi": lambda x: math.asin(x) / math.pi, "atanpi": lambda x: math.atan(x) / math.pi,
        "cbrt": np.cbrt, "cos": math.cos, "cosh": math.cosh, "erf": math.erf, "erfc": math.erfc, "exp": math.exp, "exp2": math.exp2,
        "exp10": lambda x: 10.0**x, "expm1": math.expm1, "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p,
        "rsqrt": lambda x: 1 / math.sqrt(x), "sin": math.sin, "sinh": math.sinh, "tan": math.tan, "tanh": math.tanh, "tgamma": math.gamma,
        "degrees": math.degrees, "radians": math.radians, "logb": lambda x: float(math.frexp(x)[1] - 1), "lgamma": math.lgamma,
        "native_sin": math.sin, "native_exp": math.exp, "native_recip": lambda x: 1 / x,
    }  # fmt: skip

    def test_functions(self) -> None:
        for t, least in (("f16", 1), ("f32", 1), ("f64", 4)):
            T = TYPES[t]
            rng = np.random.default_rng(7)
            x = np.concatenate([rng.normal(size=self.N // 2) * 3, rng.uniform(-1, 1, self.N // 4), np.exp(rng.normal(size=self.N // 4) * 3)]).astype(T)
            names = dict(self.FUNCTIONS)
            if t == "f16":
                names = {k: f for k, f in names.items() if not k.startswith("native")}
            got = run_table(self, [(t, x)], t, [Op(n, f"OpExtInst {{R}} %std {n} %a") for n in names])
            for name, f in names.items():
                with self.subTest(name=name, type=t):
                    want, inside = np.zeros(self.N), np.ones(self.N, bool)
                    for i, v in enumerate(x):
                        try:
                            want[i] = f(float(v))
                        except (ValueError, ZeroDivisionError, OverflowError):
                            inside[i] = False  # See test_edge_cases.
                    if t == "f64" and name in ("lgamma", "tgamma"):
                        inside &= x > 3  # Near zeros and poles the host's functions are not even good to a few ulp.
                    with np.errstate(over="ignore"):
                        self.assert_ulp(got[name][inside], want[inside].astype(T), least + (12 if name in ("lgamma", "tgamma") and t == "f64" else 0))

    TWO = {"atan2": math.atan2, "hypot": math.hypot, "pow": lambda x, y: abs(x) ** y, "powr": lambda x, y: abs(x) ** y,
           "atan2pi": lambda x, y: math.atan2(x, y) / math.pi}  # fmt: skip

    def test_functions_of_two(self) -> None:
        for t, most in (("f16", 1), ("f32", 1), ("f64", 3)):
            T = TYPES[t]
            rng = np.random.default_rng(8)
            a, b = np.abs(rng.normal(size=self.N) * 3).astype(T), (rng.normal(size=self.N) * 3).astype(T)
            n = rng.integers(-6, 7, self.N).astype(np.int32)
            got = run_table(self, [(t, a), (t, b)], t, [Op(k, f"OpExtInst {{R}} %std {k} %a %b") for k in self.TWO])
            for name, f in self.TWO.items():
                with self.subTest(name=name, type=t), np.errstate(over="ignore"):
                    self.assert_ulp(got[name], np.array([f(float(x), float(y)) for x, y in zip(a, b)]).astype(T), most)
            ops = [Op(k, f"OpExtInst {{R}} %std {k} %a %b") for k in ("pown", "ldexp", "rootn")]
            x = b.copy()
            n[n == 0] = 3
            x[(n % 2 == 0) & (x < 0)] *= T(-1)
            got = run_table(self, [(t, x), ("u32", n.view(np.uint32))], t, ops)
            with np.errstate(over="ignore", divide="ignore"):
                v = x.astype(np.float64)
                self.assert_ulp(got["pown"], (v ** n.astype(np.float64)).astype(T), most)
                self.assert_same(got["ldexp"], np.ldexp(v, n).astype(T))
                self.assert_ulp(got["rootn"], (np.sign(v) * np.abs(v) ** (1.0 / n)).astype(T), most)

    EDGES = {
        "acospi": [((1,), 0.0), ((2,), NAN), ((-1.5,), NAN)],
        "acos": [((1,), 0.0), ((2,), NAN)],
        "acosh": [((1,), 0.0), ((0.5,), NAN), ((INF,), INF)],
        "asinpi": [((0.0,), 0.0), ((-0.0,), -0.0), ((2,), NAN)],
        "atanpi": [((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), 0.5), ((-INF,), -0.5)],
        "atanh": [((1,), INF), ((-1,), -INF), ((2,), NAN), ((-0.0,), -0.0)],
        "atan2": [((0.0, -0.0), math.pi), ((-0.0, -0.0), -math.pi), ((-0.0, 0.0), -0.0), ((INF, INF), math.pi / 4), ((INF, -INF), 3 * math.pi / 4)],
        "atan2pi": [((0.0, -0.0), 1), ((-0.0, -0.0), -1), ((0.0, 0.0), 0.0), ((-0.0, 0.0), -0.0), ((0.0, -2), 1), ((-0.0, 2), -0.0),
                    ((-3, 0.0), -0.5), ((3, -0.0), 0.5), ((2, -INF), 1), ((-2, INF), -0.0), ((INF, 3), 0.5), ((INF, -INF), 0.75),
                    ((-INF, INF), -0.25)],
        "cbrt": [((-0.0,), -0.0), ((-INF,), -INF)],
        "cospi": [((0.0,), 1), ((-0.0,), 1), ((0.5,), 0.0), ((1.5,), 0.0), ((-2.5,), 0.0), ((INF,), NAN), ((1,), -1), ((4,), 1)],
        "sinpi": [((0.0,), 0.0), ((-0.0,), -0.0), ((1,), 0.0), ((-1,), -0.0), ((2,), 0.0), ((-2,), -0.0), ((0.5,), 1), ((-INF,), NAN)],
        "tanpi": [((0.0,), 0.0), ((-0.0,), -0.0), ((2,), 0.0), ((-2,), -0.0), ((1,), -0.0), ((-1,), 0.0), ((0.5,), INF), ((1.5,), -INF), ((INF,), NAN)],
        "exp": [((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN), ((-0.0,), 1)],
        "exp10": [((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN), ((0,), 1), ((2,), 100)],
        "exp2": [((-INF,), 0.0), ((INF,), INF), ((3,), 8)],
        "expm1": [((-0.0,), -0.0), ((-INF,), -1)],
        "log": [((0.0,), -INF), ((-0.0,), -INF), ((1,), 0.0), ((-1,), NAN), ((INF,), INF)],
        "log2": [((0.0,), -INF), ((8,), 3), ((-1,), NAN)],
        "log1p": [((-0.0,), -0.0), ((-1,), -INF), ((-2,), NAN)],
        "logb": [((0.0,), -INF), ((-INF,), INF), ((NAN,), NAN), ((8,), 3)],
        "fdim": [((INF, NAN), NAN), ((1, 2), 0.0)],
        "fmod": [((0.0, 3), 0.0), ((-0.0, 3), -0.0), ((INF, 3), NAN), ((3, 0.0), NAN), ((3, INF), 3), ((-3, -INF), -3)],
        "hypot": [((INF, NAN), INF), ((NAN, -INF), INF), ((3, 4), 5), ((-0.0, 0.0), 0.0)],
        "nextafter": [((3, 3), 3), ((NAN, 1), NAN), ((INF, INF), INF)],
        "pow": [((0.0, -1), INF), ((-0.0, -3), -INF), ((-0.0, -2), INF), ((0.0, -INF), INF), ((0.0, 3), 0.0), ((-0.0, 3), -0.0), ((-1, INF), 1),
                ((1, NAN), 1), ((NAN, 0.0), 1), ((-2, 0.5), NAN), ((0.5, -INF), INF), ((2, -INF), 0.0), ((-INF, -3), -0.0), ((-INF, 3), -INF),
                ((INF, -1), 0.0), ((INF, 2), INF)],
        "powr": [((2, 0.0), 1), ((0.0, -1), INF), ((0.0, -INF), INF), ((-0.0, 3), 0.0), ((1, 5), 1), ((1, INF), NAN), ((1, -INF), NAN), ((-1, 2), NAN),
                 ((0.0, 0.0), NAN), ((-0.0, -0.0), NAN), ((INF, 0.0), NAN), ((NAN, 2), NAN), ((2, NAN), NAN), ((-0.0, -2), INF)],
        "rint": [((-0.5,), -0.0), ((0.5,), 0.0), ((1.5,), 2), ((2.5,), 2), ((-INF,), -INF)],
        "round": [((-0.25,), -0.0), ((0.5,), 1), ((-0.5,), -1), ((2.5,), 3)],
        "rsqrt": [((0.0,), INF), ((-0.0,), -INF), ((INF,), 0.0), ((-1,), NAN)],
        "sqrt": [((-0.0,), -0.0), ((-1,), NAN), ((INF,), INF)],
        "tgamma": [((0.0,), INF), ((-0.0,), -INF), ((-1,), NAN), ((5,), 24), ((-INF,), NAN), ((INF,), INF)],
        "lgamma": [((1,), 0.0), ((2,), 0.0), ((0.0,), INF), ((-2,), INF), ((-INF,), INF)],
        "erf": [((INF,), 1), ((-INF,), -1), ((-0.0,), -0.0)],
        "sin": [((INF,), NAN), ((-0.0,), -0.0)],
        "maxmag": [((-3, 2), -3), ((2, -2), 2), ((NAN, 2), 2), ((2, NAN), 2)],
        "minmag": [((-3, 2), 2), ((2, -2), -2), ((NAN, 2), 2)],
        "pown": [((0.0, 0), 1), ((NAN, 0), 1), ((INF, 0), 1), ((0.0, -3), INF), ((-0.0, -3), -INF), ((-0.0, -2), INF), ((-0.0, 3), -0.0),
                 ((-0.0, 2), 0.0), ((-2, 3), -8)],
        "rootn": [((0.0, -3), INF), ((-0.0, -3), -INF), ((-0.0, -2), INF), ((0.0, 2), 0.0), ((-0.0, 2), 0.0), ((-0.0, 3), -0.0), ((-8, 3), -2),
                  ((-4, 2), NAN), ((2, 0), NAN), ((-INF, 3), -INF), ((INF, -2), 0.0)],
        "ldexp": [((-0.0, 5), -0.0), ((INF, -100), INF), ((1, 2000), INF), ((1, -2000), 0.0)],
        "fclamp": [((5, 0, 1), 1), ((-5, 0, 1), 0), ((0.25, 0, 1), 0.25)],
        "mix": [((1, 3, 0.5), 2), ((1, 3, 0), 1)],
        "smoothstep": [((0, 2, 1), 0.5), ((0, 2, 5), 1), ((0, 2, -1), 0.0)],
    }  # fmt: skip

    def test_edge_cases(self) -> None:
        for t in FORMATS:
            T = TYPES[t]
            for name, rows in self.EDGES.items():
                count = len(rows[0][0])
                columns = []
                for k in range(count):
                    integral = k == 1 and name in ("pown", "rootn", "ldexp")
                    values = [args[k] for args, _ in rows]
                    column = np.array(values, np.int32).view(np.uint32) if integral else np.array(values, T)
                    columns.append(("u32" if integral else t, np.resize(column, 64)))
                code = f"OpExtInst {{R}} %std {name} {' '.join(['%a', '%b', '%c'][:count])}"
                got = run_table(self, columns, t, [Op(name, code)])[name][: len(rows)]
                with self.subTest(name=name, type=t):
                    self.assert_same(got, np.array([want for _, want in rows], T))


def fmod_floor(x, y, z):
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return NAN
    r = np.fmod(x, y)
    # OpFMod: a sign other than y's is made y's.
    if r != 0 and (r < 0) != (y < 0):
        return type(x)(float(r) + float(y)) if type(x) is not np.float64 else rounded(exact(r) + exact(y), "f64") if math.isfinite(y) else y
    return r


def remainder(x, y, T):
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return NAN
    return T(math.remainder(float(x), float(y)))


def round_away(x, T):
    if not math.isfinite(x) or x == 0:
        return x
    return np.copysign(T(float(math.floor(abs(exact(x)) + Fraction(1, 2)))), x)


def magnitude(x, y, way: int):
    if abs(x) != abs(y) and not (math.isnan(x) or math.isnan(y)):
        return x if (abs(x) > abs(y)) == (way > 0) else y
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    if x == y:
        return x
    return max(x, y) if way > 0 else min(x, y)


def fract(x, T):
    if math.isnan(x):
        return x, x
    if math.isinf(x):
        return np.copysign(T(0), x), x
    if x == 0:
        return x, x
    floor = np.floor(x)
    return min(T(x - floor), np.nextafter(T(1), T(0))), floor


if __name__ == "__main__":
    if not has_assembler():
        mtlc_testing.skip_all("no spirv-as")
    mtlc_exec.main()
