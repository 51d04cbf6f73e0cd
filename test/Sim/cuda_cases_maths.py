"""Cases of the kernels about floating point: the mathematics library, rounding modes, halves."""

import math
from collections.abc import Callable
from fractions import Fraction

import mtlc_exec
import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, Launch, blocks, case, ints, same, sames
from mtlc_exec import InOut, Output


# ---- halves.cu ----


def halves(rng, n: int) -> np.ndarray:
    special = np.array([0, -0.0, 1, -1, 65504, 6e-8, -6e-5, np.inf, -np.inf, np.nan, 0.333], np.float16)
    return np.concatenate([special, (rng.normal(size=n - len(special)) * 30).astype(np.float16)])


@case("halves.cu", "halfAxpy")
def _(rng) -> Launch:
    n = 202
    x, y, a = halves(rng, n), rng.permutation(halves(rng, n)), np.float16(1.7)
    out = InOut(y.view(np.uint16))
    with np.errstate(all="ignore"):
        want = (F64(a) * x.astype(F64) + y.astype(F64)).astype(np.float16)

    def check(test, result):
        test.assert_same(result[out].view(np.float16), want)

    # Products of halves are exact in double, and so is the sum but for far apart exponents, which then round alike.
    return Launch([x.view(np.uint16), out, np.uint16(a.view(np.uint16)), I32(n // 2)], check, 2, 64)


@case("halves.cu", "halfOps")
def _(rng) -> Launch:
    n = 150
    x, y = halves(rng, n), rng.permutation(halves(rng, n))
    with np.errstate(all="ignore"):
        xf, yf = x.astype(F32), y.astype(F32)
        down = np.floor(xf.astype(F64))
        down = np.where(np.isnan(down), 0, np.clip(down, -(2.0**31), 2.0**31 - 1))
        p = (xf * F32(1.7)).astype(F32)
        towards = p.astype(np.float16)
        big = np.abs(towards.astype(F64)) > np.abs(p.astype(F64))
        towards = np.where(big, np.nextafter(towards, np.float16(0)), towards)
        want = [x + y, x - y, x * y, x / y, np.sqrt(x), np.fmax(x, y), np.fmin(x, y), np.abs(x), -y]
        want += [np.floor(x), np.rint(y), towards, (yf.astype(F64) * 1.0009765625).astype(np.float16)]
        want += [(down + 0.0).astype(np.float16)]
        # +0 is the greater of the zeros.
        zeros = (x == 0) & (y == 0)
        want[5] = np.where(zeros, np.where(np.signbit(x) & np.signbit(y), np.float16(-0.0), np.float16(0)), want[5])
        want[6] = np.where(zeros, np.where(np.signbit(x) | np.signbit(y), np.float16(-0.0), np.float16(0)), want[6])
        unordered = np.isnan(x) | np.isnan(y)
        flags = (x < y) | (x <= y) << 1 | (x == y) << 2 | np.isnan(x) << 3
        flags = flags | ((x != y) & ~unordered) << 4 | ((x < y) | unordered) << 5
    out, marks = Output(np.uint16, 14 * n), Output(I32, n)

    def check(test, result):
        for row, (got, expected) in enumerate(zip(result[out].reshape(14, n), want)):
            with test.subTest(row=row):
                test.assert_same(got.view(np.float16), expected.astype(np.float16))
        test.assert_same(result[marks], flags.astype(I32))

    return Launch([x.view(np.uint16), y.view(np.uint16), out, marks, I32(n)], check, blocks(n, 64), 64)


def bfloats(rng, n: int) -> np.ndarray:
    special = np.array([0, -0.0, 1, -1, 3e38, 1e-40, np.inf, -np.inf, np.nan], F32)
    return mtlc_exec.bf16(np.concatenate([special, (rng.normal(size=n - len(special)) * 30).astype(F32)]))


@case("halves.cu", "bf16Dot")
def _(rng) -> Launch:
    n = 1000
    x, y = (mtlc_exec.bf16(ints(rng, -100, 100, n).astype(F32)) for _ in "xy")
    want = np.array([np.dot(mtlc_exec.from_bf16(x).astype(F64), mtlc_exec.from_bf16(y))], F32)
    out = Output(F32, 1)
    return Launch([x, y, out, I32(n // 2)], same(out, want), 1, 128)


@case("halves.cu", "bf16Bytes", least_sm=80)
def _(rng) -> Launch:
    n = 120
    x = mtlc_exec.bf16((rng.normal(size=n) * 150).astype(F32))
    whole = np.trunc(mtlc_exec.from_bf16(x))
    s, u, back = Output(np.int8, n), Output(np.uint8, n), Output(np.uint16, n)
    want = np.clip(whole, -128, 127).astype(np.int8)
    check = sames(
        (s, want),
        (u, np.clip(whole, 0, 255).astype(np.uint8)),
        (back, mtlc_exec.bf16(want.astype(F32) * 3)),
    )
    return Launch([x, s, u, back, I32(n)], check, blocks(n, 64), 64)


@case("halves.cu", "bf16Ops", least_sm=80)
def _(rng) -> Launch:
    n = 100
    x, y = bfloats(rng, n), rng.permutation(bfloats(rng, n))
    a, b = mtlc_exec.from_bf16(x), mtlc_exec.from_bf16(y)
    out = Output(np.uint16, 6 * n)
    with np.errstate(all="ignore"):
        # One rounding from the exact value, and double is exact enough: the sum of 16-bit significands.
        def narrow(v: np.ndarray) -> np.ndarray:
            f = v.astype(F32)
            # Round to odd on the way, so that two roundings are one.
            inexact = (f.astype(F64) != v) & ~np.isnan(v) & np.isfinite(f)
            away = np.abs(f.astype(F64)) > np.abs(v)
            f = np.where(inexact & away, np.nextafter(f, F32(0)), f)
            bits = f.view(U32) | inexact
            return mtlc_exec.bf16(bits.view(F32))

        A, B = a.astype(F64), b.astype(F64)
        want = [narrow(A + B), narrow(A * B), narrow(A * B + A), None, mtlc_exec.bf16(a * F32(1.37))]
        both = (a == 0) & (b == 0)
        zero = np.where(np.signbit(a) & np.signbit(b), F32(-0.0), F32(0))
        want[3] = mtlc_exec.bf16(np.where(both, zero, np.fmax(a, b)))
        want.append(mtlc_exec.bf16(np.abs(b)))

    def check(test, result):
        for row, (got, expected) in enumerate(zip(result[out].reshape(6, n), want)):
            with test.subTest(row=row):
                test.assert_same(mtlc_exec.from_bf16(got), mtlc_exec.from_bf16(expected))

    return Launch([x, y, out, I32(n)], check, blocks(n, 64), 64)


# ---- maths.cu ----


def ulp_rows(out, n: int, dtype, rows: list[tuple[str, np.ndarray, float]]) -> Callable:
    def check(test, result):
        for (name, want, bound), got in zip(rows, result[out].reshape(len(rows), n)):
            with test.subTest(function=name):
                test.assert_ulp(got, want.astype(dtype), bound)

    return check


def arguments(rng, n: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=n) * np.exp2(rng.integers(-20, 40, n))
    y = rng.normal(size=n) * np.exp2(rng.integers(-8, 4, n))
    x[:12] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -3.5, 1e22 if dtype == F64 else 1e10, 1e-300, np.pi]
    y[:12] = [0, 1, -0.0, 0.5, 2, -2, 1, np.nan, 1.5, -0.5, 3, 2]
    if dtype == F64:
        x[12:15] = [6381956970095103 * 2.0**797, 1e308, 5e-324]  # The first lies closest to a multiple of pi/2.
    return x.astype(dtype), y.astype(dtype)


# Largest errors in ulp: CUDA C++ Programming Guide, "Mathematical Functions"; half an ulp more for the host's own error.
@case("maths.cu", "doubles")
def _(rng) -> Launch:
    n = 200
    x, y = arguments(rng, n, F64)
    with np.errstate(all="ignore"):
        p = np.abs(x)
        sines, cosines = np.array([sin_cos(v) for v in x.tolist()]).T
        rows = [
            ("sin", sines, 2.5),
            ("cos", cosines, 2.5),
            ("tan", sines / cosines, 4),
            ("exp", np.exp(y), 2),
            ("log", np.log(p), 2),
            ("pow", p**y, 2.5),
            ("sqrt", np.sqrt(p), 0),
            ("cbrt", np.cbrt(x), 2),
            ("atan2", np.arctan2(x, y), 3),
            ("hypot", np.hypot(x, y), 3),
            ("expm1", np.expm1(y), 2),
            ("log1p", np.log1p(p), 2),
            ("sinh", np.sinh(y), 3),
            ("tanh", np.tanh(y), 2.5),
            ("fmod", np.fmod(x, y), 0),
            ("rint", np.rint(y), 0),
            ("floor", np.floor(y), 0),
            ("trunc", np.trunc(x), 0),
            ("divide", x / y, 0),
            ("fma", np.array([fma(a, b, a) for a, b in zip(x, y)]), 0),
            ("exp2", np.exp2(y), 2),
            ("log2", np.log2(p), 2),
            ("log10", np.log10(p), 2),
            ("copysign", np.copysign(x, y), 0),
            ("ldexp", np.ldexp(y, 5), 0),
            ("acos", np.arccos(1 / (1 + p)), 3),
            ("asinh", np.arcsinh(x), 4),
            ("nextafter", np.nextafter(x, y), 0),
            ("remainder", np.array([ieee_remainder(a, b) for a, b in zip(x, y)]), 0),
        ]
    out = Output(F64, len(rows) * n)
    return Launch([x, y, out, I32(n)], ulp_rows(out, n, F64, rows), blocks(n, 64), 64)


def arctangent(inverse: int, one: int) -> int:
    """atan(1 / inverse) in units of 1 / one."""
    total, term, k = 0, one // inverse, 1
    while term != 0:
        total += term // k if k % 4 == 1 else -(term // k)
        term, k = term // inverse**2, k + 2
    return total


# pi / 2 in units of 2^-1300, by Machin's formula with bits to spare.
HALF_PI_BITS = 1300
HALF_PI = (16 * arctangent(5, 1 << 1400) - 4 * arctangent(239, 1 << 1400)) >> 101


def sin_cos(x: float) -> tuple[float, float]:
    """Within an ulp, whatever the argument: the host's libraries err for arguments that are close to multiples of pi/2."""
    if not math.isfinite(x):
        return math.nan, math.nan
    if x == 0:
        return x, 1.0
    quotient = Fraction(x) * (1 << HALF_PI_BITS) / HALF_PI
    turns = round(quotient)
    rest = Fraction(x) - Fraction(turns * HALF_PI, 1 << HALF_PI_BITS)
    high = rest.numerator / rest.denominator
    low = float(rest - Fraction(high))
    s, c = math.sin(high) + low * math.cos(high), math.cos(high) - low * math.sin(high)
    return [(s, c), (c, -s), (-s, -c), (-c, s)][turns % 4]


def fma(a: float, b: float, c: float) -> float:
    """Exactly rounded, from rationals."""
    a, b, c = float(a), float(b), float(c)
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        with np.errstate(all="ignore"):
            return float(F64(a) * F64(b) + F64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c if a == 0 or b == 0 or c == 0 else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.copysign(math.inf, exact)


def ieee_remainder(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return math.remainder(a, b)


@case("maths.cu", "special")
def _(rng) -> Launch:
    n = 100
    x = np.concatenate([rng.normal(size=50) * 2, rng.uniform(0.01, 25, 50)])
    rows = [
        ("erf", np.array([math.erf(v) for v in x]), 3),
        ("erfc", np.array([math.erfc(v) for v in x]), 8),  # The host's own error is large too.
        ("tgamma", np.array([math.gamma(v) for v in x]), 20),
    ]
    log_gamma = np.array([math.lgamma(v) for v in x])
    out = Output(F64, 4 * n)

    def check(test, result):
        got = result[out].reshape(4, n)
        ulp_rows(out, n, F64, [*rows, ("lgamma", got[3], 0)])(test, result)
        test.assert_close(got[3], log_gamma, 1e-14 * np.maximum(1, np.abs(log_gamma)))  # Zeros are near.

    return Launch([x, out, I32(n)], check, 2, 64)


@case("maths.cu", "singles")
def _(rng) -> Launch:
    n = 200
    x, y = arguments(rng, n, F32)
    a, b = x.astype(F64), y.astype(F64)
    with np.errstate(all="ignore"):
        p = np.abs(a)
        rows = [
            ("sinf", np.sin(a), 2),
            ("cosf", np.cos(a), 2),
            ("tanf", np.tan(a), 4),
            ("expf", np.exp(b), 2),
            ("logf", np.log(p), 1),
            ("powf", p**b, 4),
            ("sqrtf", np.sqrt(p), 0),
            ("cbrtf", np.cbrt(a), 1),
            ("atan2f", np.arctan2(a, b), 3),
            ("hypotf", np.hypot(a, b), 3),
            ("expm1f", np.expm1(b), 1),
            ("log1pf", np.log1p(p), 1),
            ("sinhf", np.sinh(b), 3),
            ("tanhf", np.tanh(b), 2),
            ("fmodf", np.fmod(x, y), 0),
            ("rintf", np.rint(y), 0),
            ("floorf", np.floor(y), 0),
            ("truncf", np.trunc(x), 0),
            ("divide", x / y, 0),
            ("fmaf", (a * b + a), 1),
        ]
        out = Output(F32, len(rows) * n)
        return Launch([x, y, out, I32(n)], ulp_rows(out, n, F32, rows), blocks(n, 64), 64)


@case("maths.cu", "roundings")
def _(rng) -> Launch:
    n = 120
    x, y = rng.normal(size=n) * np.exp2(rng.integers(-10, 50, n)), rng.normal(size=n) * 1000
    x[:6], y[:6] = [2.5, -2.5, 0.5, -0.5, 3.5, -0.75], [1, 3, -1, 7, 0.1, -0.1]

    def towards(exact: Fraction, mode: str, dtype=F64) -> float:
        """The exact value rounded down, up or to zero."""
        near = dtype(exact.numerator / exact.denominator)
        if mode == "z":
            mode = "d" if exact > 0 else "u"
        if mode == "d" and Fraction(float(near)) > exact:
            near = np.nextafter(near, dtype(-np.inf))
        if mode == "u" and Fraction(float(near)) < exact:
            near = np.nextafter(near, dtype(np.inf))
        return float(near)

    def root_down(v: float) -> float:
        near = math.sqrt(v)
        return near if Fraction(near) ** 2 <= Fraction(v) else math.nextafter(near, 0)

    rows = [[] for _ in range(10)]
    for a, b in zip(x.tolist(), y.tolist()):
        A, B = Fraction(a), Fraction(b)
        fa, fb = Fraction(float(F32(a))), Fraction(float(F32(b)))
        values = [
            towards(A + B, "d"),
            towards(A + B, "u"),
            towards(A * B, "z"),
            towards(A / B, "u"),
            root_down(abs(a)),
            towards(A, "u", F32),
            towards(A, "d", F32),
            float(F32(a)),
            towards(fa + fb, "z", F32),
            1 / b,
        ]
        for row, v in zip(rows, values):
            row.append(v)
    flags = np.signbit(x) << 2 | 8
    whole = [np.rint(x), np.trunc(x), np.ceil(x), np.floor(y), (x.view(I64) ^ (x > 0)), flags]
    out, integers = Output(F64, 10 * n), Output(I64, 6 * n)

    def check(test, result):
        test.assert_same(result[out], np.array(rows).ravel())
        for row, (got, want) in enumerate(zip(result[integers].reshape(6, n), whole)):
            with test.subTest(row=row):
                test.assert_same(got, want.astype(I64))

    return Launch([x, y, out, integers, I32(n)], check, 2, 64)


@case("maths.cu", "fast")
def _(rng) -> Launch:
    n = 150
    x = rng.uniform(-3, 3, n).astype(F32)
    a = x.astype(F64)
    p = np.abs(a)
    # Bounds from the CUDA C++ Programming Guide, "Intrinsic Functions".
    rows = [
        (np.sin(a), 2.0**-21),
        (np.cos(a), 2.0**-21),
        (np.exp(a), (2 + 1.2 * 3) * 2.0**-23 * np.exp(a)),
        (np.log(p), np.where((p > 0.5) & (p < 2), 2.0**-21, 3 * 2.0**-23 * np.abs(np.log(p)))),
        (1 / a, 2 * 2.0**-23 / p),
        (p**-0.5, 2 * 2.0**-23 * p**-0.5),
        (np.clip(a, 0, 1), 0),
        (p**1.5, 2.0**-19 * np.maximum(1, p**1.5)),
    ]
    out = Output(F32, 8 * n)

    def check(test, result):
        for k, (got, (want, bound)) in enumerate(zip(result[out].reshape(8, n), rows)):
            with test.subTest(row=k):
                test.assert_close(got, want, bound)

    return Launch([x, out, I32(n)], check, blocks(n, 64), 64)
