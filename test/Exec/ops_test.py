"""Every operation of ops.def that computes, for every type, against Python's integers, exact rationals and NumPy.

One kernel per operation and type loads the operands, applies the operation, and stores the result, for corner cases and
random values. Semantics: docs/ir.md §3 and §4.
"""

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mtlc_exec
import mtlc_testing
import numpy as np

RNG = np.random.default_rng(20240607)

INTS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
# Precision (with the hidden bit), least and greatest exponent of a normal number's leading bit.
FLOATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
WIDTH = {"i1": 1, **INTS, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}
DTYPE = {
    "i1": np.bool_,
    "i8": np.uint8,
    "i16": np.uint16,
    "i32": np.uint32,
    "i64": np.uint64,
    "f16": np.uint16,
    "bf16": np.uint16,
    "f32": np.uint32,
    "f64": np.uint64,
}


# ---- Values: every value is its bit pattern, a Python int. ----


def mask(width: int) -> int:
    return (1 << width) - 1


def signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits


def exponent_bits(t: str) -> int:
    return WIDTH[t] - FLOATS[t][0]


def infinity(t: str) -> int:
    return mask(exponent_bits(t)) << (FLOATS[t][0] - 1)


def sign_bit(t: str) -> int:
    return 1 << (WIDTH[t] - 1)


def is_nan(t: str, bits: int) -> bool:
    return bits & ~sign_bit(t) > infinity(t)


def decode(t: str, bits: int) -> Fraction | float:
    """The exact value; infinities and NaN as floats."""
    precision, least, _ = FLOATS[t]
    negative = bits & sign_bit(t)
    magnitude = bits & ~sign_bit(t)
    if magnitude > infinity(t):
        return math.nan
    if magnitude == infinity(t):
        return -math.inf if negative else math.inf
    exponent = magnitude >> (precision - 1)
    fraction = magnitude & mask(precision - 1)
    if exponent:
        fraction |= 1 << (precision - 1)
        exponent -= 1
    value = Fraction(fraction) * Fraction(2) ** (exponent + least - precision + 1)
    return -value if negative else value


def encode(t: str, value: Fraction, negative_zero: bool = False) -> int:
    """The nearest value of the type, ties to even."""
    precision, least, greatest = FLOATS[t]
    if value == 0:
        return sign_bit(t) if negative_zero else 0
    sign = sign_bit(t) if value < 0 else 0
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    ulp = Fraction(2) ** (max(exponent, least) - precision + 1)
    significand = round(value / ulp)  # Python rounds ties to even.
    bits = significand + (max(exponent, least) - least << (precision - 1))
    return sign | min(bits, infinity(t))


NAN = "nan"  # A result that may be any NaN.


def float_result(t: str, value: Fraction | float, negative_zero: bool = False) -> int | str:
    if isinstance(value, Fraction):
        return encode(t, value, negative_zero)
    if math.isnan(value):
        return NAN
    return infinity(t) | (sign_bit(t) if value < 0 else 0)


# ---- Operand values. ----


def int_values(width: int) -> list[int]:
    corners = {0, 1, 2, 3, 5, 7, 8, 0x0F, 0x55, 100, width - 1, width, width + 1, 2 * width}
    corners |= {1 << k for k in range(0, width, max(1, width // 8))}
    corners |= {-c for c in corners} | {(1 << (width - 1)) + d for d in (-1, 0, 1)} | {-1, -2, -7}
    randoms = {int(x) for x in RNG.integers(0, 1 << 62, 12)} | {int(x) for x in RNG.integers(0, 200, 4)}
    return sorted({c & mask(width) for c in corners | randoms})


def float_values(t: str) -> list[int]:
    precision = FLOATS[t][0]
    inf = infinity(t)
    one = encode(t, Fraction(1))
    positive = {
        0,
        1,
        2,
        mask(precision - 1),  # The greatest subnormal,
        1 << (precision - 1),  # the least normal,
        inf - 1,  # the greatest finite number.
        inf,
        one,
        one - 1,
        one + 1,
    }
    for text in ("0.5", "1.5", "2.5", "3.5", "0.1", "100.25", "126.5", "127.6", "255.5", "300", "32767.5", "65504", "3e4"):
        positive.add(encode(t, Fraction(text)))
    if t != "f16":
        for text in ("3e9", "2147483647", "2147483648", "4294967296", "9.3e18", "1.9e19", "1e-40", "16777217"):
            positive.add(encode(t, Fraction(text)))
    values = positive | {p | sign_bit(t) for p in positive}
    values |= {inf | 1 << (precision - 2), inf | 1, inf | sign_bit(t) | 3}  # NaNs: quiet, signalling, negative.
    values |= {int(x) & mask(WIDTH[t]) for x in RNG.integers(0, 1 << 63, 12)}
    return sorted(values)


def values_of(t: str) -> list[int]:
    if t == "i1":
        return [0, 1]
    return int_values(INTS[t]) if t in INTS else float_values(t)


# ---- The model: mnemonic → function of the type (or types) and operand bits. ----

Model = Callable[..., int | str]


def int_model(fn: Callable[[int, int, int], int]) -> Model:
    """fn(width, a, b) on unsigned operands; the result wraps."""
    return lambda t, a, b=0: fn(WIDTH[t], a, b) & mask(WIDTH[t])


def truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def sdiv(w: int, a: int, b: int) -> int:
    return -1 if b == 0 else truncated(signed(a, w), signed(b, w))


def srem(w: int, a: int, b: int) -> int:
    return a if b == 0 else signed(a, w) - truncated(signed(a, w), signed(b, w)) * signed(b, w)


INT_MODELS: dict[str, Model] = {
    "add": int_model(lambda w, a, b: a + b),
    "sub": int_model(lambda w, a, b: a - b),
    "mul": int_model(lambda w, a, b: a * b),
    "smulhi": int_model(lambda w, a, b: signed(a, w) * signed(b, w) >> w),
    "umulhi": int_model(lambda w, a, b: a * b >> w),
    "sdiv": int_model(sdiv),
    "udiv": int_model(lambda w, a, b: -1 if b == 0 else a // b),
    "srem": int_model(srem),
    "urem": int_model(lambda w, a, b: a if b == 0 else a % b),
    "neg": int_model(lambda w, a, b: -a),
    "and": int_model(lambda w, a, b: a & b),
    "or": int_model(lambda w, a, b: a | b),
    "xor": int_model(lambda w, a, b: a ^ b),
    "shl": int_model(lambda w, a, b: a << b % w),
    "lshr": int_model(lambda w, a, b: a >> b % w),
    "ashr": int_model(lambda w, a, b: signed(a, w) >> b % w),
    "smin": int_model(lambda w, a, b: min(signed(a, w), signed(b, w))),
    "smax": int_model(lambda w, a, b: max(signed(a, w), signed(b, w))),
    "umin": int_model(lambda w, a, b: min(a, b)),
    "umax": int_model(lambda w, a, b: max(a, b)),
    "abs": int_model(lambda w, a, b: abs(signed(a, w))),
    "clz": int_model(lambda w, a, b: w - a.bit_length()),
    "popcount": int_model(lambda w, a, b: a.bit_count()),
}


def arithmetic(name: str, t: str, a: int, b: int = 0, c: int = 0) -> int | str:
    x, y, z = decode(t, a), decode(t, b), decode(t, c)
    finite = all(isinstance(v, Fraction) for v in (x, y, z))
    sa, sb, sc = (bool(v & sign_bit(t)) for v in (a, b, c))
    if name in ("fadd", "fsub"):
        if name == "fsub":
            y, sb = -y, not sb
        return float_result(t, x + y if finite else float(x) + float(y), sa and sb)
    if name == "fmul":
        if finite:
            return float_result(t, x * y, sa != sb)
        return float_result(t, signum(x) * signum(y) * (math.nan if 0 in (x, y) else math.inf))
    if name == "fdiv":
        if finite and y != 0:
            return float_result(t, x / y, sa != sb)
        if is_nan(t, a) or is_nan(t, b) or (x == 0 and y == 0) or (not finite and math.isinf(x) and math.isinf(y)):
            return NAN
        return (0 if not isinstance(y, Fraction) else infinity(t)) | (sign_bit(t) if sa != sb else 0)
    if name == "fma":
        if finite:
            return float_result(t, x * y + z, (sa != sb) and sc)
        product = arithmetic("fmul", t, a, b)
        if product == NAN or is_nan(t, c):
            return NAN
        if not isinstance(z, Fraction):
            infinite = product in (infinity(t), infinity(t) | sign_bit(t))
            # A finite product that overflows the format must not meet the infinity.
            exact = isinstance(x, Fraction) and isinstance(y, Fraction)
            return NAN if infinite and not exact and product != c else c
        return product
    raise AssertionError(name)


def signum(x: Fraction | float) -> float:
    return math.nan if x != x else float((x > 0) - (x < 0))


def isqrt_rounded(t: str, a: int) -> int | str:
    x = decode(t, a)
    if x == 0:
        return a  # Zeros keep their sign.
    if x != x or x < 0:
        return NAN
    if not isinstance(x, Fraction):
        return a
    # Enough bits for one correct rounding: the root of a number of p bits is never close to a tie of p + 1 bits.
    scale = 1 << 1400
    root = math.isqrt(x.numerator * scale * scale * x.denominator)
    exact = root * root == x.numerator * scale * scale * x.denominator
    return encode(t, Fraction(2 * root + (0 if exact else 1), 2 * scale * x.denominator))


def minmax(t: str, a: int, b: int, largest: bool, nan_wins: bool) -> int | str:
    if is_nan(t, a) or is_nan(t, b):
        if nan_wins or (is_nan(t, a) and is_nan(t, b)):
            return NAN
        return b if is_nan(t, a) else a
    key = {v: (decode(t, v), v == 0) for v in (a, b)}  # -0 < +0
    return max((a, b), key=key.get) if largest else min((a, b), key=key.get)


def rounded(fn: Callable[[Fraction], int]) -> Model:
    def model(t: str, a: int) -> int | str:
        x = decode(t, a)
        if not isinstance(x, Fraction):
            return NAN if x != x else a
        return encode(t, Fraction(fn(x)), bool(a & sign_bit(t)))

    return model


def half_away(x: Fraction) -> int:
    return math.floor(abs(x) + Fraction(1, 2)) * (-1 if x < 0 else 1)


FLOAT_MODELS: dict[str, Model] = {
    "fadd": lambda t, a, b: arithmetic("fadd", t, a, b),
    "fsub": lambda t, a, b: arithmetic("fsub", t, a, b),
    "fmul": lambda t, a, b: arithmetic("fmul", t, a, b),
    "fdiv": lambda t, a, b: arithmetic("fdiv", t, a, b),
    "fma": lambda t, a, b, c: arithmetic("fma", t, a, b, c),
    "fsqrt": isqrt_rounded,
    "fneg": lambda t, a: a ^ sign_bit(t),
    "fabs": lambda t, a: a & ~sign_bit(t),
    "fmin": lambda t, a, b: minmax(t, a, b, False, False),
    "fmax": lambda t, a, b: minmax(t, a, b, True, False),
    "fmin.nan": lambda t, a, b: minmax(t, a, b, False, True),
    "fmax.nan": lambda t, a, b: minmax(t, a, b, True, True),
    "ffloor": rounded(math.floor),
    "fceil": rounded(math.ceil),
    "ftrunc": rounded(math.trunc),
    "fround": rounded(half_away),
    "froundeven": rounded(round),
}


def int_compare(name: str) -> Model:
    def model(t: str, a: int, b: int) -> int:
        if name[0] == "s":
            a, b = signed(a, WIDTH[t]), signed(b, WIDTH[t])
        return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[name[-2:]])

    return model


def float_compare(name: str) -> Model:
    def model(t: str, a: int, b: int) -> int:
        x, y = decode(t, a), decode(t, b)
        unordered = x != x or y != y
        if name in ("ord", "uno"):
            return int(unordered == (name == "uno"))
        if unordered:
            return int(name[0] == "u")
        return int({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[name[1:]])

    return model


def to_int(t: str, to: str, a: int, is_signed: bool) -> int:
    x = decode(t, a)
    if x != x:
        return 0
    w = WIDTH[to]
    low, high = (-(1 << (w - 1)), mask(w - 1)) if is_signed else (0, mask(w))
    value = high if x > high else low if x < low else math.trunc(x)
    return value & mask(w)


def float_to_float(t: str, to: str, a: int) -> int | str:
    x = decode(t, a)
    return float_result(to, x, bool(a & sign_bit(t)))


CAST_MODELS: dict[str, Model] = {
    "trunc": lambda t, to, a: a & mask(WIDTH[to]),
    "zext": lambda t, to, a: a,
    "sext": lambda t, to, a: signed(a, WIDTH[t]) & mask(WIDTH[to]),
    "fconv": float_to_float,
    "ftosi": lambda t, to, a: to_int(t, to, a, True),
    "ftoui": lambda t, to, a: to_int(t, to, a, False),
    "sitof": lambda t, to, a: encode(to, Fraction(signed(a, WIDTH[t]))),
    "uitof": lambda t, to, a: encode(to, Fraction(a)),
    "bitcast": lambda t, to, a: a,
}
CASTS = {
    "trunc": [(a, b) for a in INTS for b in INTS if INTS[b] < INTS[a]],
    "zext": [(a, b) for a in ["i1", *INTS] for b in INTS if INTS[b] > WIDTH[a]],
    "sext": [(a, b) for a in ["i1", *INTS] for b in INTS if INTS[b] > WIDTH[a]],
    "fconv": [(a, b) for a in FLOATS for b in FLOATS if a != b],
    "ftosi": list(itertools.product(FLOATS, INTS)),
    "ftoui": list(itertools.product(FLOATS, INTS)),
    "sitof": list(itertools.product(["i1", *INTS], FLOATS)),
    "uitof": list(itertools.product(["i1", *INTS], FLOATS)),
    "bitcast": [(a, b) for a in WIDTH for b in WIDTH if a != b and WIDTH[a] == WIDTH[b]],
}

# Only that the right function is called: accuracy is tested elsewhere.
MATH_MODELS: dict[str, Callable] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "pow": np.power,
}

# Operations without a value, or whose value is an address or a position: tested by the interpreter's own unit tests.
ELSEWHERE = {
    "const", "ptrtoint", "inttoptr", "spacecast", "gpu.thread_id", "gpu.block_id", "gpu.block_dim",
    "gpu.grid_dim", "ptr.add", "load", "store", "alloc.workgroup", "alloc.private", "alloc.dynamic", "barrier", "call",
    "jump", "br", "ret",
    # Of several work-items together, of memory orders, of tiles: tests of their own. Host operations: the verifier's.
    "fence", "atomic.load", "atomic.store", "atomic.rmw", "atomic.cas",
    "subgroup.local_id", "subgroup.size", "subgroup.broadcast", "subgroup.shuffle", "subgroup.reduce",
    "subgroup.scan_inclusive", "subgroup.scan_exclusive", "subgroup.ballot", "subgroup.any", "subgroup.all", "subgroup.barrier",
    "async.copy", "async.commit", "async.wait", "encode", "decode",
    "tensor.mma", "tensor.matmul", "tensor.epilogue", "tensor.transfer",
    "tensor.acc.begin", "tensor.acc.mma", "tensor.acc.epilogue", "tensor.acc.commit",
    "func.addr", "call.indirect", "gpu.launch", "gpu.launch.status",
}  # fmt: skip


@dataclass(frozen=True)
class Op:
    mnemonic: str
    operands: tuple[str, ...]  # Types.
    result: str
    text: str  # The operation, of %a, %b, %c.


def operand_rows(op: Op) -> list[tuple[int, ...]]:
    columns = [values_of(t) for t in op.operands]
    if len(columns) < 3:
        return list(itertools.product(*columns))
    # All triples are too many: each pair with a third value, and products that a fourth rounding would spoil.
    rows = [(a, b, columns[2][(i * 7 + j) % len(columns[2])]) for i, a in enumerate(columns[0])
            for j, b in enumerate(columns[1])]  # fmt: skip
    if op.mnemonic == "fma":
        for a, b, _ in rows[:400]:
            product = arithmetic("fmul", op.operands[0], a, b)
            if product != NAN:
                rows.append((a, b, product ^ sign_bit(op.operands[0])))
    return rows


class Ops(mtlc_exec.TestCase):
    def execute(self, op: Op, rows: list[tuple[int, ...]], device: str, level: str) -> np.ndarray:
        inputs = [(t, np.array([row[i] for row in rows], DTYPE[t])) for i, t in enumerate(op.operands)]
        body = [f"%r0 = {op.text}"]
        return self.elementwise(inputs, [(op.result, DTYPE[op.result])], body, device=device, options=[level])[0]

    def check(self, op: Op, model: Callable[..., int | str]) -> None:
        rows = operand_rows(op)
        want = [model(*row) for row in rows]
        for device, level in itertools.product(mtlc_exec.devices(), ("-O0", "-O")):
            with self.subTest(op=op.text, device=device, level=level):
                got = self.execute(op, rows, device, level)
                bad = [
                    (row, int(g), w)
                    for row, g, w in zip(rows, got, want)
                    if not (is_nan(op.result, int(g)) if w == NAN else int(g) == w)
                ]
                shown = [f"{[hex(v) for v in row]}: got {g:#x}, want {w if w == NAN else hex(w)}" for row, g, w in bad]
                self.assertEqual(len(bad), 0, "\n" + "\n".join(shown[:8]))

    def test_integers(self) -> None:
        for name, model in INT_MODELS.items():
            count = 1 if name in ("neg", "abs", "clz", "popcount") else 2
            types = [*INTS, "i1"] if name in ("and", "or", "xor") else INTS
            for t in types:
                text = f"{name} {', '.join(['%a', '%b'][:count])} : {t}"
                self.check(Op(name, (t,) * count, t, text), lambda *row, m=model, t=t: m(t, *row))

    def test_floats(self) -> None:
        for name, model in FLOAT_MODELS.items():
            count = 3 if name == "fma" else 2 if name[:4] in ("fadd", "fsub", "fmul", "fdiv", "fmin", "fmax") else 1
            for t in FLOATS:
                text = f"{name} {', '.join(['%a', '%b', '%c'][:count])} : {t}"
                self.check(Op(name, (t,) * count, t, text), lambda *row, m=model, t=t: m(t, *row))

    def test_integer_comparisons(self) -> None:
        for name in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
            model = int_compare(name)
            for t in [*INTS, "i1"] if name in ("eq", "ne") else INTS:
                self.check(
                    Op(f"cmp.{name}", (t, t), "i1", f"cmp.{name} %a, %b : {t}"),
                    lambda a, b, m=model, t=t: m(t, a, b),
                )

    def test_float_comparisons(self) -> None:
        for name in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"):
            model = float_compare(name)
            for t in FLOATS:
                self.check(
                    Op(f"fcmp.{name}", (t, t), "i1", f"fcmp.{name} %a, %b : {t}"),
                    lambda a, b, m=model, t=t: m(t, a, b),
                )

    def test_conversions(self) -> None:
        for name, pairs in CASTS.items():
            model = CAST_MODELS[name]
            for t, to in pairs:
                self.check(
                    Op(name, (t,), to, f"{name} %a : {t} to {to}"), lambda a, m=model, t=t, to=to: m(t, to, a)
                )

    def test_select(self) -> None:
        for t in ("i1", "i8", "i64", "f16", "f32"):
            self.check(
                Op("select", ("i1", t, t), t, f"select %a, %b, %c : {t}"), lambda a, b, c: b if a else c
            )

    def test_math(self) -> None:
        for name, model in MATH_MODELS.items():
            for t, dtype in (("f32", np.float32), ("f64", np.float64)):
                x = np.array([0.125, 0.5, 0.75, 1.0, 1.5, 2.0, 3.25, 7.5], dtype)
                y = np.array([2.0, 0.5, -1.0, 3.0, 2.5, -2.0, 1.25, 0.75], dtype)
                operands = (t, t) if name == "pow" else (t,)
                op = Op(name, operands, t, f"{name} {', '.join(['%a', '%b'][: len(operands)])} : {t}")
                columns = [c.view(DTYPE[t]) for c in (x, y)][: len(operands)]
                for device in mtlc_exec.devices():
                    with self.subTest(op=op.text, device=device):
                        rows = list(zip(*[[int(v) for v in c] for c in columns]))
                        got = self.execute(op, rows, device, "-O").view(dtype)
                        want = model(*[c.astype(np.float64) for c in (x, y)[: len(operands)]])
                        np.testing.assert_allclose(got, want, rtol=1e-6 if t == "f32" else 1e-14)

    def test_every_operation_is_covered(self) -> None:
        with open(mtlc_testing.data("mtlc/ir/ops.def"), encoding="utf-8") as file:
            mnemonics = set(re.findall(r'^OP\(\w+, "([\w.]+)"', file.read(), re.M))
        tested = set(INT_MODELS) | set(FLOAT_MODELS) | set(CAST_MODELS) | set(MATH_MODELS) | ELSEWHERE | {"select"}
        tested |= {f"cmp.{p}" for p in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")}
        tested |= {f"fcmp.{o}{p}" for o in "ou" for p in ("eq", "gt", "ge", "lt", "le", "ne")} | {"fcmp.ord", "fcmp.uno"}
        self.assertEqual(mnemonics, tested)


if __name__ == "__main__":
    mtlc_exec.main()
