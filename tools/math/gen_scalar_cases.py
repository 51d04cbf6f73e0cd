#!/usr/bin/env python3
"""Writes mtlc/support/scalar_ops_cases.inc: floating-point cases with exact answers.

Every answer comes from exact rational arithmetic (fractions.Fraction) and one rounding written
here from the definition of IEEE 754; nothing of the C++ code is used.

    python3 tools/math/gen_scalar_cases.py > mtlc/support/scalar_ops_cases.inc
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

# name -> (precision with the implicit bit, largest exponent, storage bits)
FORMATS = {"F16": (11, 15, 16), "BF16": (8, 127, 16), "F32": (24, 127, 32), "F64": (53, 1023, 64)}


def floor_log2(x: Fraction) -> int:
    e = x.numerator.bit_length() - x.denominator.bit_length()
    while Fraction(2) ** e > x:
        e -= 1
    while Fraction(2) ** (e + 1) <= x:
        e += 1
    return e


def decode(name: str, bits: int) -> Fraction | None:
    """The value of a finite pattern; None for NaN and infinity."""
    p, emax, width = FORMATS[name]
    m = bits & ((1 << (p - 1)) - 1)
    e = (bits >> (p - 1)) & (2 * emax + 1)
    if e == 2 * emax + 1:
        return None
    s = -1 if bits >> (width - 1) else 1
    if e == 0:
        return s * m * Fraction(2) ** (1 - emax - p + 1)
    return s * (m + (1 << (p - 1))) * Fraction(2) ** (e - emax - p + 1)


def half_even(x: Fraction) -> int:
    n = x.numerator // x.denominator
    r = x - n
    return n + (1 if r > Fraction(1, 2) or (r == Fraction(1, 2) and n % 2) else 0)


def encode(name: str, x: Fraction, zero_sign: int = 0) -> int:
    """x rounded once to nearest-even; zero_sign is the sign bit of an exact zero."""
    p, emax, width = FORMATS[name]
    if x == 0:
        return zero_sign << (width - 1)
    sign = (1 if x < 0 else 0) << (width - 1)
    x = abs(x)
    e = max(floor_log2(x), 1 - emax)
    n = half_even(x / Fraction(2) ** (e - p + 1))
    if n == 1 << p:
        n, e = n >> 1, e + 1
    if e > emax:
        return sign | (2 * emax + 1) << (p - 1)
    if n < 1 << (p - 1):
        return sign | n
    return sign | (e + emax) << (p - 1) | (n - (1 << (p - 1)))


def sqrt_rounded(name: str, x: Fraction) -> int:
    """Square root of x > 0: floor to many bits, plus a sticky part if inexact."""
    shift = 2 * 1300  # more than twice the smallest float64 exponent
    scaled = x * 2**shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(root) ** 2 == scaled
    return encode(name, (root + (0 if exact else Fraction(1, 2))) / Fraction(2) ** (shift // 2))


def random_bits(name: str, rng: random.Random, near: int | None = None) -> int:
    """A finite pattern; with `near`, its exponent is close to that of the pattern `near`."""
    p, emax, width = FORMATS[name]
    while True:
        bits = rng.getrandbits(width)
        if rng.random() < 0.3:  # few significant bits: ties and exact results
            bits &= ~((1 << (p - 1 - rng.randrange(1, min(p, 6)))) - 1)
        if near is not None and rng.random() < 0.8:
            e = ((near >> (p - 1)) & (2 * emax + 1)) + rng.randint(-p - 2, p + 2)
            e = max(0, min(2 * emax, e))
            bits = (bits & ~((2 * emax + 1) << (p - 1))) | e << (p - 1)
        if rng.random() < 0.1:
            bits &= ~((2 * emax + 1) << (p - 1))  # subnormal
        if decode(name, bits) is not None:
            return bits


def sign_of_sum(name: str, values: list[int]) -> int:
    """Sign of an exact zero sum: minus only if every addend is minus (round to nearest)."""
    return int(all(values))


def main() -> None:
    rng = random.Random(20240601)
    rows: list[tuple[str, str, int, int, int, int]] = []

    def sign(name: str, bits: int) -> int:
        return bits >> (FORMATS[name][2] - 1)

    def add_case(op: str, name: str, a: int, b: int, c: int = 0) -> None:
        x, y, z = decode(name, a), decode(name, b), decode(name, c)
        product_sign = sign(name, a) ^ sign(name, b)
        if op == "FAdd":
            r = encode(name, x + y, sign_of_sum(name, [sign(name, a), sign(name, b)]))
        elif op == "FSub":
            r = encode(name, x - y, sign_of_sum(name, [sign(name, a), 1 - sign(name, b)]))
        elif op == "FMul":
            r = encode(name, x * y, product_sign)
        elif op == "FDiv":
            if y == 0:
                return
            r = encode(name, x / y, product_sign)
        elif op == "Fma":
            r = encode(name, x * y + z, sign_of_sum(name, [product_sign, sign(name, c)]))
        else:
            if x <= 0:
                return
            r, b = sqrt_rounded(name, x), 0
        rows.append((op, name, a, b, c, r))

    for name in FORMATS:
        for op in ("FAdd", "FSub", "FMul", "FDiv", "FSqrt"):
            for _ in range(60):
                a = random_bits(name, rng)
                add_case(op, name, a, random_bits(name, rng, a))
        for _ in range(60):
            a, b = random_bits(name, rng), random_bits(name, rng)
            product = encode(name, decode(name, a) * decode(name, b))
            c = random_bits(name, rng, product)
            add_case("Fma", name, a, b, c)
        # Double-rounding traps: the sum is a tie of the format plus or minus a tiny amount that a
        # first rounding to a wider format would lose.
        p, emax, width = FORMATS[name]
        tiny = encode(name, Fraction(2) ** (1 - emax - p + 1))
        one = encode(name, Fraction(1))
        for k in range(1, 9):
            for s in (0, 1):
                for t in (0, 1):
                    # (1 + 2^-(p-1))·(1 + k·2^-?) style products that end in ...1 half, plus ±tiny
                    a = encode(name, 1 + Fraction(2 * k + 1, 2 ** (p - 1)))
                    b = encode(name, (1 + Fraction(1, 2)) * (-1) ** s)
                    add_case("Fma", name, a, b, tiny | t << (width - 1))
                    add_case("Fma", name, one, a | s << (width - 1), tiny | t << (width - 1))

    print("// Made by tools/math/gen_scalar_cases.py; don't edit.")
    print("// {operation, kind, a, b, c, expected}")
    for op, name, a, b, c, r in rows:
        print(f"{{Op::{op}, FloatKind::{name}, 0x{a:X}, 0x{b:X}, 0x{c:X}, 0x{r:X}}},")

    def convert_rows() -> None:
        for source in FORMATS:
            for target in FORMATS:
                if source == target:
                    continue
                for _ in range(40):
                    bits = random_bits(source, rng)
                    p, emax, width = FORMATS[target]
                    x = decode(source, bits)
                    if rng.random() < 0.7:  # into the target's range, near a tie
                        n = random_bits(target, rng)
                        x = decode(target, n)
                        ulp = Fraction(2) ** (max(floor_log2(abs(x)) if x else -9999, 1 - emax) - p + 1)
                        x += ulp / 2 + rng.choice([0, 1, -1]) * ulp / 2 ** rng.randrange(2, 45)
                        bits = encode(source, x)
                        x = decode(source, bits)
                        if x is None:
                            continue
                    r = encode(target, x, sign(source, bits))
                    print(
                        f"{{Op::FConv, FloatKind::{target}, 0x{bits:X}, "
                        f"static_cast<uint64_t>(FloatKind::{source}), 0, 0x{r:X}}},"
                    )

    convert_rows()
    for name in FORMATS:
        p = FORMATS[name][0]
        for signed in (True, False):
            for i in range(60):
                n = rng.getrandbits(64) >> rng.randrange(0, 60)
                if i % 2:  # a tie of the format, and its neighbours
                    length = rng.randrange(p + 2, 64) if p + 2 < 64 else 63
                    n = ((1 << p) | (rng.getrandbits(p - 1) << 1) | 1) << (length - p - 1)
                    n += rng.choice([-1, 0, 1])
                n &= 2**64 - 1
                value = n - 2**64 if signed and n >> 63 else n
                r = encode(name, Fraction(value))
                op = "SIToF" if signed else "UIToF"
                print(f"{{Op::{op}, FloatKind::{name}, 0x{n:X}, 64, 0, 0x{r:X}}},")


if __name__ == "__main__":
    main()
