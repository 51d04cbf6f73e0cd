"""Weighted, nearly minimax polynomials with coefficients rounded one after the other.

`fit` minimises max |weight(x) · (p(x) - target(x))| on [lo, hi] for p(x) = Σ c_k x^k. Where the
weight is 0 the value is given by construction and the point is left out. Coefficients
are then rounded to the working format from the lowest power up; after each rounding the remaining
ones are fitted again, so they make up for the rounding of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
from mpmath import mpf

mpmath.mp.prec = 220

Function = Callable[[mpf], mpf]


def round_to(x: mpf, bits: int) -> mpf:
    """x rounded to `bits` significant bits, to nearest-even (no exponent limits)."""
    if x == 0:
        return mpf(0)
    mantissa, exponent = mpmath.frexp(x)
    return mpmath.ldexp(mpmath.nint(mpmath.ldexp(mantissa, bits)), int(exponent) - bits)


def chebyshev_points(lo: mpf, hi: mpf, n: int) -> list[mpf]:
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    return [middle - half * mpmath.cos(mpmath.pi * k / (n - 1)) for k in range(n)]


def lawson(target: Function, weight: Function, lo: mpf, hi: mpf, powers: list[int],
           iterations: int = 25) -> list[mpf]:
    """Coefficients for `powers`, close to the minimax ones.

    Lawson's algorithm: weighted least squares on Chebyshev points, where each round multiplies a
    point's weight by its error. Unlike an exchange algorithm it needs no Haar condition, which the
    fits with some coefficients already fixed don't satisfy.
    """
    n = len(powers)
    table = []
    for x in chebyshev_points(lo, hi, 8 * (n + 2) + 1):
        w = abs(weight(x))
        if w != 0:
            table.append(([w * x**p for p in powers], w * target(x)))
    lawson_weight = [mpf(1)] * len(table)
    best: tuple[mpf, list[mpf]] | None = None
    for _ in range(iterations):
        matrix, right = mpmath.matrix(n, n), mpmath.matrix(n, 1)
        for u, (row, value) in zip(lawson_weight, table):
            for i in range(n):
                ui = u * row[i]
                right[i] += ui * value
                for j in range(i + 1):
                    matrix[i, j] += ui * row[j]
        for i in range(n):
            for j in range(i):
                matrix[j, i] = matrix[i, j]
        solution = mpmath.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(n)]
        errors = [abs(sum(c * r for c, r in zip(coefficients, row)) - value)
                  for row, value in table]
        worst = max(errors)
        if worst == 0:
            return coefficients
        if best is None or worst < best[0]:
            best = (worst, coefficients)
        lawson_weight = [u * (e / worst + mpf(2) ** -20) for u, e in zip(lawson_weight, errors)]
        total = sum(lawson_weight)
        lawson_weight = [u / total for u in lawson_weight]
    assert best is not None
    return best[1]


def fit(target: Function, weight: Function, lo: mpf, hi: mpf, powers: list[int],
        bits: int) -> tuple[list[mpf], mpf]:
    """Rounded coefficients for `powers`, and the largest weighted error with them."""
    fixed: list[mpf] = []
    for i in range(len(powers)):
        known = list(zip(fixed, powers))

        def rest(x: mpf, known: list[tuple[mpf, int]] = known) -> mpf:
            return target(x) - sum((c * x**p for c, p in known), mpf(0))

        coefficients = lawson(rest, weight, lo, hi, powers[i:])
        fixed.append(round_to(coefficients[0], bits))
    worst = mpf(0)
    for x in chebyshev_points(lo, hi, 600):
        value = sum((c * x**p for c, p in zip(fixed, powers)), mpf(0))
        worst = max(worst, abs(weight(x) * (value - target(x))))
    return fixed, worst


def split(x: mpf, bits: int, parts: int, truncate: bool = False) -> list[mpf]:
    """x as an unevaluated sum of `parts` numbers of `bits` bits; `truncate`: all of x's sign."""
    result = []
    for _ in range(parts):
        if truncate:
            mantissa, exponent = mpmath.frexp(x)
            part = mpmath.ldexp(mpmath.floor(mpmath.ldexp(mantissa, bits)), int(exponent) - bits)
        else:
            part = round_to(x, bits)
        result.append(part)
        x -= part
    return result


def hex_literal(x: mpf, bits: int) -> str:
    """A C++ hexadecimal floating literal of exactly this value."""
    if x == 0:
        return "0.0" + ("f" if bits == 24 else "")
    fraction = Fraction(int(x.man)) * Fraction(2) ** int(x.exp) if x.man else Fraction(0)
    sign = "-" if x < 0 else ""
    fraction = abs(fraction)
    exponent = fraction.numerator.bit_length() - fraction.denominator.bit_length()
    if Fraction(2) ** exponent > fraction:
        exponent -= 1
    digits = (fraction / Fraction(2) ** exponent - 1) * 16**13
    assert digits.denominator == 1
    text = f"{int(digits):013X}".rstrip("0")
    point = "." + text if text else ""
    return f"{sign}0x1{point}p{exponent}" + ("f" if bits == 24 else "")
