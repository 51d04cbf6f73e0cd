#!/usr/bin/env python3
"""Writes mtlc/support/math/coefficients.h: polynomial coefficients and split constants.

    python3 tools/math/gen_coefficients.py > mtlc/support/math/coefficients.h

Needs mpmath. Takes some minutes; the output is deterministic. Coefficients come lowest power
first. The comment of each polynomial states what it approximates, where, and its largest error
relative to the function's value (without rounding errors of the evaluation).
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
from mpmath import mpf

from minimax import Function, chebyshev_points, fit, hex_literal, split

SMALL = mpf(2) ** -60  # below this the first terms of a series replace a quotient 0/0
LN2 = mpmath.log(2)
F32, F64 = 24, 53


def emit_array(name: str, bits: int, values: list[mpf], comment: str) -> None:
    kind = "float" if bits == F32 else "double"
    print(f"// {comment}")
    print(f"inline constexpr {kind} {name}[] = {{")
    for value in values:
        print(f"    {hex_literal(value, bits)},")
    print("};\n")


def polynomial(name: str, bits: int, target: Function, weight: Function, lo: mpf, hi: mpf,
               count: int, comment: str) -> None:
    values, error = fit(target, weight, lo, hi, list(range(count)), bits)
    exponent = float(mpmath.log(error, 2))
    emit_array(name, bits, values, f"{comment} Error 2^{exponent:.1f}.")


def constant(name: str, bits: int, value: mpf, comment: str) -> None:
    kind = "float" if bits == F32 else "double"
    print(f"// {comment}")
    print(f"inline constexpr {kind} {name} = {hex_literal(value, bits)};\n")


def pair(name: str, bits: int, hi: mpf, lo: mpf, comment: str) -> None:
    """Two constants whose sum is the value; {} in the name stands for Hi and Lo."""
    kind = "float" if bits == F32 else "double"
    print(f"// {comment}")
    print(f"inline constexpr {kind} {name.format('Hi')} = {hex_literal(hi, bits)};")
    print(f"inline constexpr {kind} {name.format('Lo')} = {hex_literal(lo, bits)};\n")


def near_zero(exact: Callable[[mpf], mpf], c0: mpf, c1: mpf) -> Function:
    """exact(x), but c0 + c1·x where exact would divide 0 by 0."""
    return lambda x: exact(x) if abs(x) > SMALL else c0 + c1 * x


def sqrt(x: mpf) -> mpf:
    return mpmath.sqrt(x)


exp_tail = near_zero(lambda r: (mpmath.expm1(r) - r) / r**2, mpf(1) / 2, mpf(1) / 6)
exp2_tail = near_zero(lambda f: mpmath.expm1(f * LN2) / f, LN2, LN2**2 / 2)
log_tail = near_zero(lambda f: (mpmath.log1p(f) - f) / f**2, -mpf(1) / 2, mpf(1) / 3)
sin_tail = near_zero(lambda s: (mpmath.sin(sqrt(s)) / sqrt(s) - 1) / s, -mpf(1) / 6, mpf(1) / 120)
cos_tail = near_zero(lambda s: (mpmath.cos(sqrt(s)) - 1 + s / 2) / s**2, mpf(1) / 24, -mpf(1) / 720)
# 2 atanh(t) = 2t + 2t·(z/3 + z²/5 + …), z = t².
atanh_tail = near_zero(lambda z: 2 * (mpmath.atanh(sqrt(z)) / sqrt(z) - 1) / z, mpf(2) / 3,
                       mpf(2) / 5)
# log m = q + q³·P(q²), q = 2(m-1)/(m+1).
log_q_tail = near_zero(lambda s: (2 * mpmath.atanh(sqrt(s) / 2) / sqrt(s) - 1) / s, mpf(1) / 12,
                       mpf(1) / 80)
log_q_tail2 = near_zero(lambda s: (log_q_tail(s) - mpf(1) / 12) / s, mpf(1) / 80, mpf(1) / 448)
ERF1 = 2 / mpmath.sqrt(mpmath.pi)
erf_tail = near_zero(lambda s: mpmath.erf(sqrt(s)) / sqrt(s) - 1, ERF1 - 1, -ERF1 / 3)


def log_erfc(a: mpf) -> mpf:
    return -mpmath.log(mpmath.erfc(a))


def erfc_weight(a: mpf) -> mpf:
    return mpmath.erfc(a) / mpmath.erf(a)


def exponentials() -> None:
    half_ln2 = LN2 / 2 * (1 + mpf(2) ** -18)
    half = mpf(1) / 2
    for bits, name, count, count2 in ((F32, "F32", 5, 6), (F64, "F64", 10, 12)):
        polynomial(f"kExp{name}", bits, exp_tail, lambda r: r**2 / mpmath.exp(r), -half_ln2,
                   half_ln2, count, "e^r = 1 + r + r²·P(r), |r| <= ln(2)/2.")
        polynomial(f"kExp2{name}", bits, exp2_tail, lambda f: f / mpf(2) ** f, -half, half,
                   count2, "2^f = 1 + f·P(f), |f| <= 1/2.")
        constant(f"kLog2e{name}", bits, split(1 / LN2, bits, 1)[0], "1/ln(2)")
        hi, lo = split(LN2, bits, 2)
        pair("kLn2{}" + name, bits, hi, lo, "ln(2) in two parts.")


def logarithms() -> None:
    lo, hi = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1

    def weight(f: mpf) -> mpf:
        return f**2 / mpmath.log1p(f) if f != 0 else mpf(0)

    polynomial("kLogF32", F32, log_tail, weight, lo, hi, 8,
               "log(1+f) = f + f²·P(f), √½ <= 1+f <= √2.")
    first = split(1 / LN2, F32, 1)[0]
    polynomial("kLog2F32", F32,
               near_zero(lambda f: mpmath.log1p(f) / (LN2 * f) - first, 1 / LN2 - first,
                         -1 / LN2 / 2),
               lambda f: f * LN2 / mpmath.log1p(f) if f != 0 else mpf(1), lo, hi, 9,
               "log2(1+f) = f·(kLog2eF32 + P(f)), √½ <= 1+f <= √2.")
    z = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
    polynomial("kAtanhF64", F64, atanh_tail, lambda z: z / 2, mpf(0), z**2 * (1 + mpf(2) ** -18),
               7, "2·atanh(t) = 2t + t·z·P(z), z = t², |t| <= (√2-1)/(√2+1).")
    hi, lo = split(1 / LN2, F64, 2)
    constant("kLog2eLoF64", F64, lo, "1/ln(2), second part.")
    # Few enough bits that a multiple by any exponent is exact.
    hi, = split(LN2, F64 - 12, 1)
    pair("kLn2Short{}F64", F64, hi, split(LN2 - hi, F64, 1)[0],
         "ln(2) in two parts, the first of 41 bits.")


def trigonometry() -> None:
    top = (mpmath.pi / 4 * (1 + mpf(2) ** -16)) ** 2
    for bits, name, sines, cosines in ((F32, "F32", 3, 3), (F64, "F64", 6, 6)):
        polynomial(f"kSin{name}", bits, sin_tail,
                   lambda s: s * sqrt(s) / mpmath.sin(sqrt(s)) if s > 0 else mpf(0), mpf(0), top,
                   sines, "sin(r) = r + r·s·P(s), s = r², |r| <= π/4.")
        polynomial(f"kCos{name}", bits, cos_tail, lambda s: s**2 / mpmath.cos(sqrt(s)), mpf(0),
                   top, cosines, "cos(r) = 1 - s/2 + s²·P(s), s = r², |r| <= π/4.")
        constant(f"kTwoOverPi{name}", bits, split(2 / mpmath.pi, bits, 1)[0], "2/π")
        emit_array(f"kHalfPi{name}", bits, split(mpmath.pi / 2, bits, 3, truncate=True),
                   "π/2 as a sum of three positive parts.")
        hi, lo = split(mpmath.pi / 2 * mpf(2) ** -64, bits, 2)
        emit_array(f"kHalfPiOver2To64{name}", bits, [hi, lo], "π/2 · 2^-64 in two parts.")


def erf() -> None:
    for bits, name, join, low, high, end in ((F32, "F32", "0.9", 6, 7, 4),
                                             (F64, "F64", "1", 12, 18, 6)):
        edge = mpf(join)
        polynomial(f"kErfLow{name}", bits, erf_tail, lambda s: 1 / (1 + erf_tail(s)), mpf(0),
                   edge**2, low, f"erf(x) = x + x·P(x²), |x| <= {join}.")
        polynomial(f"kErfHigh{name}", bits, log_erfc, erfc_weight, edge, mpf(end), high,
                   f"erf(x) = 1 - e^-P(x), {join} <= x <= {end}.")


def power() -> None:
    root = sqrt(mpf(2))
    top = (2 * (root - 1) / (root + 1)) ** 2 * (1 + mpf(2) ** -16)
    polynomial("kLogQF32", F32, log_q_tail, lambda s: s, mpf(0), top, 4,
               "log(m) = q + q·s·P(s), q = 2(m-1)/(m+1), s = q², √½ <= m <= √2.")
    polynomial("kLogQF64", F64, log_q_tail2, lambda s: s**2, mpf(0), top, 8,
               "log(m) = q + q·s/12 + q·s²·P(s), q = 2(m-1)/(m+1), s = q², √½ <= m <= √2.")
    hi, lo = split(1 / LN2, F32, 2)
    constant("kLog2eLoF32", F32, lo, "1/ln(2), second part.")
    hi, lo = split(mpf(1) / 12, F64, 2)
    emit_array("kTwelfthF64", F64, [hi, lo], "1/12 in two parts.")


def two_over_pi_words() -> None:
    """Binary digits of 2/π after the point, for reductions of huge arguments."""
    with mpmath.workprec(1400):
        digits = int(mpmath.floor(2 / mpmath.pi * mpf(2) ** 1280))
    print("// The binary digits of 2/π after the point, in words of 32 and 64 bits.")
    words = [f"0x{(digits >> (1280 - 32 * (i + 1))) & 0xFFFFFFFF:08X}" for i in range(7)]
    print("inline constexpr uint32_t kTwoOverPi32[] = {" + ", ".join(words) + "};")
    words = [f"0x{(digits >> (1280 - 64 * (i + 1))) & (2**64 - 1):016X}" for i in range(20)]
    print("inline constexpr uint64_t kTwoOverPi64[] = {" + ", ".join(words) + "};\n")


def main() -> None:
    print("// Made by tools/math/gen_coefficients.py; don't edit.")
    print("// clang-format off\n")
    print("#ifndef MTLC_SUPPORT_MATH_COEFFICIENTS_H_")
    print("#define MTLC_SUPPORT_MATH_COEFFICIENTS_H_\n")
    print("#include <cstdint>\n")
    print("namespace mtlc::math {\n")
    exponentials()
    logarithms()
    trigonometry()
    erf()
    power()
    two_over_pi_words()
    print("}  // namespace mtlc::math\n")
    print("#endif  // MTLC_SUPPORT_MATH_COEFFICIENTS_H_")


if __name__ == "__main__":
    main()
