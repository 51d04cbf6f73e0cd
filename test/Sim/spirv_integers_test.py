"""Integer instructions of SPIR-V and OpenCL.std on the simulator, against Python's integers: every width, scalars and vectors."""

import mtlc_exec
import mtlc_testing
import numpy as np
from spirv_modules import TYPES, Op, has_assembler, run_table, wide


def signed(v: int, bits: int) -> int:
    return v - 2**bits if v >> (bits - 1) else v


def clamp(v: int, bits: int, is_signed: bool) -> int:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    return min(max(v, low), high)


def divide(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def corners(rng, n: int, bits: int) -> np.ndarray:
    edges = [0, 1, 2, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 2**bits - 2, 7, bits, bits - 1, 0x55]
    v = [int(rng.integers(0, 2**63)) * 3 % 2**bits >> int(rng.integers(0, bits)) for _ in range(n)]
    for i in np.flatnonzero(rng.random(n) < 0.4):
        v[i] = edges[int(rng.integers(0, len(edges)))] % 2**bits
    return np.array(v, f"u{bits // 8}")


# name: (code, of unsigned operands and the width); s(x) is x as a signed number.
def core(bits: int) -> dict:
    def s(v):
        return signed(v, bits)

    t = f"u{bits}"
    table = {
        "OpIAdd": lambda a, b, c: a + b,
        "OpISub": lambda a, b, c: a - b,
        "OpIMul": lambda a, b, c: a * b,
        "OpBitwiseAnd": lambda a, b, c: a & b,
        "OpBitwiseOr": lambda a, b, c: a | b,
        "OpBitwiseXor": lambda a, b, c: a ^ b,
    }
    out = {name: (f"{name} {{R}} %a %b", f) for name, f in table.items()}
    # Never by zero, and no quotient that does not fit.
    odd = f"%n# = OpBitwiseOr {{R}} %b %one_{{P}}{t}\n"
    safe = odd + f"%h# = OpShiftRightLogical {{R}} %n# %one_{{P}}{t}\n%m# = OpBitwiseOr {{R}} %h# %one_{{P}}{t}\n"
    out["OpUDiv"] = (odd + "OpUDiv {R} %a %n#", lambda a, b, c: a // (b | 1))
    out["OpUMod"] = (odd + "OpUMod {R} %a %n#", lambda a, b, c: a % (b | 1))
    out["OpSDiv"] = (safe + "OpSDiv {R} %a %m#", lambda a, b, c: divide(s(a), (b | 1) >> 1 | 1))
    out["OpSRem"] = (safe + "OpSRem {R} %a %m#", lambda a, b, c: s(a) - divide(s(a), (b | 1) >> 1 | 1) * ((b | 1) >> 1 | 1))
    out["OpSMod"] = (safe + "OpSMod {R} %a %m#", lambda a, b, c: s(a) % ((b | 1) >> 1 | 1))
    negative = safe + "%g# = OpNot {R} %m#\n"
    out["OpSDiv negative"] = (negative + "OpSDiv {R} %a %g#", lambda a, b, c: divide(s(a), ~((b | 1) >> 1 | 1)))
    out["OpSRem negative"] = (negative + "OpSRem {R} %a %g#",
                              lambda a, b, c: s(a) - divide(s(a), ~((b | 1) >> 1 | 1)) * ~((b | 1) >> 1 | 1))  # fmt: skip
    out["OpSMod negative"] = (negative + "OpSMod {R} %a %g#", lambda a, b, c: s(a) % ~((b | 1) >> 1 | 1))
    out["OpSNegate"] = ("OpSNegate {R} %a", lambda a, b, c: -a)
    out["OpNot"] = ("OpNot {R} %a", lambda a, b, c: ~a)
    below = f"%n# = OpUMod {{R}} %b %bits_{{P}}{t}\n"
    for name, f in {"OpShiftLeftLogical": lambda a, n: a << n, "OpShiftRightLogical": lambda a, n: a >> n,
                    "OpShiftRightArithmetic": lambda a, n: s(a) >> n}.items():  # fmt: skip
        out[name] = (below + f"{name} {{R}} %a %n#", lambda a, b, c, f=f: f(a, b % bits))
    out["OpBitCount"] = ("OpBitCount {R} %a", lambda a, b, c: a.bit_count())
    for k, name in enumerate(("sum", "carry")):
        out[f"OpIAddCarry {name}"] = (f"%p# = OpIAddCarry %pair %a %b\nOpCompositeExtract {{R}} %p# {k}",
                                      lambda a, b, c, k=k: (a + b) >> bits if k else a + b)  # fmt: skip
        out[f"OpISubBorrow {name}"] = (f"%p# = OpISubBorrow %pair %a %b\nOpCompositeExtract {{R}} %p# {k}",
                                       lambda a, b, c, k=k: int(a < b) if k else a - b)  # fmt: skip
        out[f"OpUMulExtended {name}"] = (f"%p# = OpUMulExtended %pair %a %b\nOpCompositeExtract {{R}} %p# {k}",
                                         lambda a, b, c, k=k: a * b >> bits * k)  # fmt: skip
        out[f"OpSMulExtended {name}"] = (f"%p# = OpSMulExtended %pair %a %b\nOpCompositeExtract {{R}} %p# {k}",
                                         lambda a, b, c, k=k: s(a) * s(b) >> bits * k)  # fmt: skip
    return out


def library(bits: int) -> dict:
    def s(v):
        return signed(v, bits)

    def turned(a, n):
        n %= bits
        return a << n | a >> (bits - n)

    table = {
        "s_abs": (1, lambda a, b, c: abs(s(a))),
        "u_abs": (1, lambda a, b, c: a),
        "s_abs_diff": (2, lambda a, b, c: abs(s(a) - s(b))),
        "u_abs_diff": (2, lambda a, b, c: abs(a - b)),
        "s_add_sat": (2, lambda a, b, c: clamp(s(a) + s(b), bits, True)),
        "u_add_sat": (2, lambda a, b, c: clamp(a + b, bits, False)),
        "s_sub_sat": (2, lambda a, b, c: clamp(s(a) - s(b), bits, True)),
        "u_sub_sat": (2, lambda a, b, c: clamp(a - b, bits, False)),
        "s_hadd": (2, lambda a, b, c: s(a) + s(b) >> 1),
        "u_hadd": (2, lambda a, b, c: a + b >> 1),
        "s_rhadd": (2, lambda a, b, c: s(a) + s(b) + 1 >> 1),
        "u_rhadd": (2, lambda a, b, c: a + b + 1 >> 1),
        "s_max": (2, lambda a, b, c: max(s(a), s(b))),
        "u_max": (2, lambda a, b, c: max(a, b)),
        "s_min": (2, lambda a, b, c: min(s(a), s(b))),
        "u_min": (2, lambda a, b, c: min(a, b)),
        "s_mul_hi": (2, lambda a, b, c: s(a) * s(b) >> bits),
        "u_mul_hi": (2, lambda a, b, c: a * b >> bits),
        "s_mad_hi": (3, lambda a, b, c: (s(a) * s(b) >> bits) + s(c)),
        "u_mad_hi": (3, lambda a, b, c: (a * b >> bits) + c),
        "s_mad_sat": (3, lambda a, b, c: clamp(s(a) * s(b) + s(c), bits, True)),
        "u_mad_sat": (3, lambda a, b, c: clamp(a * b + c, bits, False)),
        "clz": (1, lambda a, b, c: bits - a.bit_length()),
        "ctz": (1, lambda a, b, c: bits if a == 0 else (a & -a).bit_length() - 1),
        "popcount": (1, lambda a, b, c: a.bit_count()),
        "rotate": (2, lambda a, b, c: turned(a, b)),
        "bitselect": (3, lambda a, b, c: a & ~c | b & c),
    }
    out = {name: (f"OpExtInst {{R}} %std {name} {' '.join(['%a', '%b', '%c'][:n])}", f) for name, (n, f) in table.items()}
    for x, conv in (("s", s), ("u", int)):
        out[f"{x}_clamp"] = (f"%lo# = OpExtInst {{R}} %std {x}_min %b %c\n%hi# = OpExtInst {{R}} %std {x}_max %b %c\n"
                             f"OpExtInst {{R}} %std {x}_clamp %a %lo# %hi#",
                             lambda a, b, c, f=conv: sorted([f(a), f(b), f(c)])[1]
                             if min(f(b), f(c)) <= f(a) <= max(f(b), f(c)) else
                             (min(f(b), f(c)) if f(a) < min(f(b), f(c)) else max(f(b), f(c))))  # fmt: skip
    if bits == 32:
        low = 0xFFFFFF
        for x, take in (("s", lambda v: signed(v & low, 24)), ("u", lambda v: v & low)):
            out[f"{x}_mul24"] = (f"OpExtInst {{R}} %std {x}_mul24 %a %b", lambda a, b, c, t=take: t(a) * t(b))
            out[f"{x}_mad24"] = (f"OpExtInst {{R}} %std {x}_mad24 %a %b %c", lambda a, b, c, t=take: t(a) * t(b) + c)
    return out


COMPARISONS = {
    "OpIEqual": lambda a, b, s: a == b,
    "OpINotEqual": lambda a, b, s: a != b,
    "OpULessThan": lambda a, b, s: a < b,
    "OpULessThanEqual": lambda a, b, s: a <= b,
    "OpUGreaterThan": lambda a, b, s: a > b,
    "OpUGreaterThanEqual": lambda a, b, s: a >= b,
    "OpSLessThan": lambda a, b, s: s(a) < s(b),
    "OpSLessThanEqual": lambda a, b, s: s(a) <= s(b),
    "OpSGreaterThan": lambda a, b, s: s(a) > s(b),
    "OpSGreaterThanEqual": lambda a, b, s: s(a) >= s(b),
}


class Integers(mtlc_exec.TestCase):
    def data(self, bits: int, n: int = 1024) -> list[np.ndarray]:
        rng = np.random.default_rng(bits)
        out = [corners(rng, n, bits) for _ in range(3)]
        out[1][::17] = out[0][::17]
        return out

    def compare(self, bits: int, table: dict, width: int) -> None:
        a, b, c = self.data(bits)
        t = f"u{bits}"
        ops = [Op(name, code) for name, (code, _) in table.items()]
        declare = f"%pair = OpTypeStruct %{wide(t, width)} %{wide(t, width)}\n%bits_{t} = OpConstant %{t} {bits}\n"
        if width > 1:
            declare += f"%bits_v{width}{t} = OpConstantComposite %v{width}{t} {f'%bits_{t} ' * width}\n"
        got = run_table(self, [(t, a), (t, b), (t, c)], t, ops, width, declare)
        rows = list(zip(a.tolist(), b.tolist(), c.tolist()))
        for name, (_, f) in table.items():
            with self.subTest(name=name, bits=bits, width=width):
                self.assert_same(got[name], np.array([f(*row) % 2**bits for row in rows], TYPES[t]))

    def test_instructions(self) -> None:
        for bits in (8, 16, 32, 64):
            for width in (1, 4):
                self.compare(bits, core(bits), width)

    def test_library(self) -> None:
        for bits in (8, 16, 32, 64):
            for width in (1, 2, 16):
                self.compare(bits, library(bits), width)

    def test_comparisons(self) -> None:
        for bits in (8, 16, 32, 64):
            for width in (1, 4):
                a, b, _ = self.data(bits)
                t = f"u{bits}"
                ops = [Op(name, f"{name} {{W}}bool %a %b", bool_result=True) for name in COMPARISONS]
                got = run_table(self, [(t, a), (t, b)], t, ops, width)
                for name, f in COMPARISONS.items():
                    with self.subTest(name=name, bits=bits, width=width):
                        want = [int(f(x, y, lambda v: signed(v, bits))) for x, y in zip(a.tolist(), b.tolist())]
                        self.assert_same(got[name], np.array(want, TYPES[t]))

    def test_conversions(self) -> None:
        """Every pair of widths, with and without saturation."""
        for source in (8, 16, 32, 64):
            a = self.data(source)[0]
            s, values = f"u{source}", a.tolist()
            for target in (8, 16, 32, 64):
                t = f"u{target}"
                table = {
                    "OpSatConvertSToU": lambda v: clamp(signed(v, source), target, False),
                    "OpSatConvertUToS": lambda v: clamp(v, target, True),
                }
                if source != target:
                    table["OpUConvert"] = lambda v: v
                    table["OpSConvert"] = lambda v: signed(v, source)
                    table["OpUConvert SaturatedConversion"] = lambda v: clamp(v, target, False)
                    table["OpSConvert SaturatedConversion"] = lambda v: clamp(signed(v, source), target, True)
                ops = [Op(name, f"{name.split()[0]} {{R}} %a", decoration=" ".join(name.split()[1:])) for name in table]
                got = run_table(self, [(s, a)], t, ops)
                for name, f in table.items():
                    with self.subTest(name=name, source=source, target=target):
                        self.assert_same(got[name], np.array([f(v) % 2**target for v in values], TYPES[t]))

    def test_upsample_and_casts(self) -> None:
        for bits in (8, 16, 32):
            a, b, _ = self.data(bits)
            s, t = f"u{bits}", f"u{2 * bits}"
            ops = [Op(f"{x}_upsample", f"OpExtInst {{R}} %std {x}_upsample %a %b") for x in "su"]
            got = run_table(self, [(s, a), (s, b)], t, ops, 2)
            want = np.array([x << bits | y for x, y in zip(a.tolist(), b.tolist())], TYPES[t])
            for name in got:
                self.assert_same(got[name], want)
        # Vectors of other elements with the same bits.
        for source, target, n in (("u8", "u32", 4), ("u16", "u64", 4), ("u8", "u16", 2), ("u32", "u64", 2)):
            a = self.data(int(source[1:]))[0]
            back = f"%w# = OpBitcast %{target} %a\n%x# = OpNot %{target} %w#\nOpBitcast {{R}} %x#"
            got = run_table(self, [(source, a)], source, [Op("cast", back)], n)
            self.assert_same(got["cast"], ~a)
            shifted = f"%w# = OpBitcast %{target} %a\n%x# = OpIAdd %{target} %w# %one_{target}\nOpBitcast {{R}} %x#"
            got = run_table(self, [(source, a)], source, [Op("cast", shifted)], n)
            self.assert_same(got["cast"], (a.view(TYPES[target]) + TYPES[target](1)).view(TYPES[source]))


if __name__ == "__main__":
    if not has_assembler():
        mtlc_testing.skip_all("no spirv-as")
    mtlc_exec.main()
