"""Launches of test/Sim/clang/spirv_kernels.cl with what they must compute, in NumPy and exact integers."""

import math

import mtlc_exec
import mtlc_testing
import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, U64, Launch, blocks, case, ints, same, sames

SOURCE = "test/Sim/clang/spirv_kernels.cl"
I8, U8, I16, U16, F16 = np.int8, np.uint8, np.int16, np.uint16, np.float16
SUBGROUP_SIZES = (8, 16, 32, 64)


def wrap(value: int, dtype: type) -> np.generic:
    """An exact integer in the low bits of a type."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.array(value & (2**bits - 1), f"u{bits // 8}").view(dtype)[()]


def clamped(value: int, dtype: type) -> int:
    return min(max(value, int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max))


# ---- Vectors ----


@case(SOURCE, "swizzles")
def _(rng) -> Launch:
    n = 77
    x = np.round(rng.normal(size=(n, 4)) * 8).astype(F32)
    w = np.empty_like(x)
    w[:, [0, 2]] = x[:, [3, 1]]
    w[:, [1, 3]] = x[:, [0, 2]] + x[:, [2, 3]]
    w[:, 0] += x[:, 3]
    pick = np.where((np.arange(n) & 1 == 0)[:, None], x[:, [0, 1]], x[:, [1, 3]])
    w[:, :2] += pick
    out = mtlc_exec.Output(F32, (n, 4))
    return Launch([x.ravel(), out, I32(n)], same(out, np.where(x > 0, w, -w)), 2, 64)


@case(SOURCE, "threes")
def _(rng) -> Launch:
    n = 50
    x, dense = ints(rng, -1000, 1000, 4 * n).reshape(n, 4), ints(rng, -1000, 1000, 3 * n).reshape(n, 3)
    y, packed = mtlc_exec.InOut(np.zeros((n, 4), I32)), mtlc_exec.Output(I32, (n, 3))
    a = x[:, :3]

    def check(test, result):
        test.assert_same(result[y].reshape(n, 4)[:, :3], a * dense + np.array([1, 2, 3], I32))
        test.assert_same(result[packed], a[:, [2, 0, 1]] - dense)

    return Launch([x.ravel(), y, dense.ravel(), packed, I32(n)], check, 2, 32)


@case(SOURCE, "bytes")
def _(rng) -> Launch:
    n = 33
    x, y = ints(rng, -128, 128, (n, 16), I8), ints(rng, 0, 256, (n, 16), U8)
    x[::3] = np.abs(x[::3].astype(I32) % 100 + 1).astype(I8)
    y[3] = 128
    total = np.clip(x.astype(I32) + y.view(I8), -128, 127).astype(I8) ^ (y << 1).astype(U8).view(I8)
    some = (x == 0).any(1) | (x > y.view(I8)).all(1) * 2
    s, a = mtlc_exec.Output(I8, (n, 16)), mtlc_exec.Output(U32, n)
    return Launch([x.ravel(), y.ravel(), s, a], sames((s, total), (a, some.astype(U32))), 1, n)


def sat(values: np.ndarray, dtype: type) -> np.ndarray:
    """Whole numbers in float, clamped; NaN is 0."""
    return np.array([0 if math.isnan(v) else clamped(int(max(min(v, 1e30), -1e30)), dtype) for v in values.tolist()], dtype)


@case(SOURCE, "conversions")
def _(rng) -> Launch:
    special = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 254.5, 255.5, 256.0, -1.0, np.nan, np.inf, -np.inf, 32766.5, -32768.5, 4294967295.0,
               4294967296.0, 1e10, -1e10, 0.99999994]  # fmt: skip
    x = np.concatenate([np.array(special), rng.normal(size=80) * 10.0 ** rng.integers(-2, 11, 80)]).astype(F32)
    d = np.concatenate([np.array(special), rng.normal(size=80) * 10.0 ** rng.integers(-2, 20, 80)])
    n = len(x)
    finite = np.isfinite(d)
    toward0 = d.astype(F32)
    with np.errstate(invalid="ignore"):
        away = np.abs(toward0.astype(F64)) > np.abs(d)
    toward0[away] = np.nextafter(toward0[away], F32(0))
    toward0[~finite] = d[~finite]
    s32 = sat(np.floor(d), I32)
    u64 = sat(np.trunc(d), U64) ^ U64(255)
    want = [sat(np.rint(x), U8), sat(np.ceil(x), I16), s32, sat(np.trunc(x.astype(F64)), U32), toward0, u64]
    out = [mtlc_exec.Output(w.dtype.type, n) for w in want]
    return Launch([x, d, *out, I32(n)], sames(*zip(out, want)), blocks(n, 64), 64)


@case(SOURCE, "bits_of")
def _(rng) -> Launch:
    n = 40
    u = rng.integers(0, 2**32, (n, 4), dtype=U32)
    u[0] = [0, 1, 2**31, 2**32 - 1]
    # NaNs would be free to change their bits on the way.
    u[(u & 0x7F800000) == 0x7F800000] ^= U32(0x40000000)
    by = np.array([1, 8, 31, 1], U32)
    rotated = u << by | u >> (U32(32) - by)
    ones = np.array([[int(v).bit_count() for v in row] for row in u], U32)
    zeros = np.array([[32 - int(v).bit_length() for v in row[::-1]] for row in u], U32)
    halves = (u[:, 0] + U32(0x04030201)).view(U16).reshape(n, 2)
    y, h = mtlc_exec.Output(U32, (n, 4)), mtlc_exec.Output(U16, (n, 2))
    return Launch([u.view(F32).ravel(), y, h], sames((y, rotated ^ ones ^ zeros), (h, halves)), 1, n)


@case(SOURCE, "unaligned")
def _(rng) -> Launch:
    n = 20
    x = rng.integers(0, 256, 20 * n + 20, dtype=U8)
    y = mtlc_exec.InOut(np.full(1024 + 4 * n, 9, U8))
    want = np.full(1024 + 4 * n, 9, U8)
    for i in range(n):
        want[1 + 8 * i : 9 + 8 * i] = U8(i) + x[20 * i + 3 : 20 * i + 11]
        pair = x[20 * i : 20 * i + 4].view(U16) + x[[20 * i + 4, 20 * i + 8]]
        want[1024 + 4 * i : 1028 + 4 * i] = pair.astype(U16).view(U8)
    return Launch([x, y], same(y, want), 1, n)


# ---- Structures ----

PLAIN = np.dtype({"names": ["tag", "wide", "small"], "formats": [I8, I64, (I16, 3)], "offsets": [0, 8, 16], "itemsize": 24})
PACKED = np.dtype([("tag", I8), ("wide", I64), ("small", I16, 3)])
INNER = np.dtype({"names": ["v", "c"], "formats": [(F32, 4), (U8, 5)], "offsets": [0, 16], "itemsize": 32})
NESTED = np.dtype({"names": ["one", "two"], "formats": [PLAIN, (INNER, 2)], "offsets": [0, 32], "itemsize": 96})


@case(SOURCE, "structures")
def _(rng) -> Launch:
    n = 13
    base, a = np.zeros(1, PLAIN), np.zeros(n, PLAIN)
    for s in (base, a):
        s["tag"], s["wide"] = rng.integers(-128, 128, len(s)), rng.integers(-(2**60), 2**60, len(s))
        s["small"] = rng.integers(-(2**15), 2**15, (len(s), 3))
    b, c = mtlc_exec.InOut(np.zeros(15 * n, U8)), mtlc_exec.InOut(np.zeros(96 * n, U8))
    out = mtlc_exec.Output(I64, n)

    def total(s):
        return int(s["wide"]) + int(s["tag"]) + int(s["small"].sum(dtype=I64))

    def check(test, result):
        got, nested = result[b].view(PACKED), result[c].view(NESTED)
        want = []
        for i in range(n):
            t = total(a[i]) + total(base[0])
            small = a[i]["small"].copy()
            small[i % 3] -= I16(7)
            want.append(t + 3 * int(a[i]["wide"]))
            test.assertEqual(got[i]["tag"], a[i]["tag"])
            test.assertEqual(got[i]["wide"], a[i]["wide"])
            test.assert_same(got[i]["small"], small[::-1])
            test.assertEqual(nested[i]["one"]["wide"], a[i]["wide"])
            test.assert_same(nested[i]["one"]["small"], small)
            for k in range(2):
                test.assert_same(nested[i]["two"][k]["v"], np.array([i, k, t, 0.5], F32))
                test.assert_same(nested[i]["two"][k]["c"], (np.arange(5) + i * 10 + k * 5).astype(U8))
        test.assert_same(result[out], np.array(want, I64))

    file = mtlc_testing.scratch("base.bin")
    base.tofile(file)
    by_value = mtlc_exec.Raw(f"bytes:{file}")
    return Launch([by_value, a.view(I64), b, c, out], check, 1, n)


@case(SOURCE, "list")
def _(rng) -> Launch:
    n, stride = 37, 5
    nodes, sums = mtlc_exec.InOut(np.zeros(2 * n, I64)), mtlc_exec.Output(I32, n)
    want = [sum(k * k for k in range(i, n, stride)) for i in range(n)]
    return Launch([nodes, sums, I32(n), I32(stride)], same(sums, np.array(want, I32)), 1, n)


@case(SOURCE, "constants")
def _(rng) -> Launch:
    n = 48
    primes = [2, 3, 5, 7, 11, 13, 17, 19]
    weight = [[[1, 2], [3, 4]], [[-1, 0], [0, 0]], [[0.5, 0.25], [8, 0]]]
    w = np.round(rng.normal(size=8) * 16).astype(F32)
    out, sums = mtlc_exec.Output(F32, n), mtlc_exec.Output(I32, n)
    floats, integers = [], []
    for i in range(n):
        s = 0
        for ch in (b"first", b"second", b"")[i % 3]:
            s = s * 3 + ch
        s += sum((b"alpha", b"be")[i & 1])
        integers.append(s + primes[(0, 2, 5)[i % 3] + (i & 1)] + primes[i & 7])
        floats.append(F32(weight[i % 3][i & 1][i >> 1 & 1]) * w[i & 7])
    return Launch([w, out, sums], sames((out, np.array(floats, F32)), (sums, np.array(integers, I32))), 3, 16)


# ---- Control flow ----


def path(v: int) -> int:
    mask, r = 2**32 - 1, 0
    for k in range(40):
        if v == 0:
            break
        kind = v % 7
        if kind == 0:
            v //= 7
            continue
        if kind in (1, 5):
            r += v & 15
        elif kind == 2:
            inner = 0
            while True:
                if inner == 5:
                    return r & mask
                inner += 1
                r = (r ^ inner << (k & 7)) & mask
                if v >> inner & 1:
                    break
        else:
            if kind == 3:
                if r > 1000000:
                    return r
                r *= 3
            r += 1
        r &= mask
        v = v // 2 + (r & 1)
    return r


@case(SOURCE, "paths")
def _(rng) -> Launch:
    n = 200
    x = rng.integers(0, 2**32, n, dtype=U32)
    y = mtlc_exec.Output(U32, n)
    return Launch([x, y, I32(n), U32(7)], same(y, np.array([path(int(v)) for v in x], U32)), 2, 128)


@case(SOURCE, "big_switch")
def _(rng) -> Launch:
    edges = [-1, 2**63 - 1, 2**32, 0, -(2**63), 1, 2**32 - 1, 127, 128, 255, -128, -129, 2**31, -(2**32)]
    x = np.array(edges, I64)
    wide = {-1: 1, 2**63 - 1: 2, 2**32: 3, 0: 4, -(2**63): 5}
    low = {-1: 10, 127: 20, -128: 30}
    want = [wide.get(v, 6) + low.get((v + 128) % 256 - 128, 0) for v in edges]
    y = mtlc_exec.Output(I32, len(x))
    return Launch([x, y, I32(len(x))], same(y, np.array(want, I32)), 1, 32)


@case(SOURCE, "private_arrays")
def _(rng) -> Launch:
    n = 35
    x = ints(rng, -1000, 1000, (n, 16))
    y = mtlc_exec.Output(I32, 17 * n)
    tail = []
    for i in range(n):
        m = [1, 2, 0, 0, 3] + [0] * 7
        m[i % 3 * 4 + i % 4] += 100
        s = 0
        for v in m:
            s = s * 7 + v
        tail.append(wrap(s, I32))
    return Launch([x.ravel(), y, I32(n)], same(y, np.concatenate([np.sort(x).ravel(), np.array(tail, I32)])), 1, n)


# ---- Memory of a work-group ----


@case(SOURCE, "reverse_blocks")
def _(rng) -> Launch:
    x = ints(rng, -1000, 1000, (3, 50))
    y = mtlc_exec.Output(I32, 150)
    want = 3 * x[:, ::-1]
    return Launch([x.ravel(), y, mtlc_exec.Raw("workgroup:200")], same(y, want.ravel()), 3, 50)


@case(SOURCE, "prefix_sums")
def _(rng):
    for size in (1, 31, 128):
        x = ints(rng, -1000, 1000, (3, size))
        y = mtlc_exec.Output(I32, 3 * size)
        yield Launch([x.ravel(), y], same(y, np.cumsum(x, 1, dtype=I32).ravel()), 3, size)


@case(SOURCE, "bitonic")
def _(rng) -> Launch:
    x = rng.integers(0, 2**32, (2, 256), dtype=U32)
    y = mtlc_exec.Output(U32, 512)
    return Launch([x.ravel(), y], same(y, np.sort(x).ravel()), 2, 256)


@case(SOURCE, "matmul")
def _(rng) -> Launch:
    n = 19
    a, b = (np.round(rng.normal(size=(n, n)) * 8).astype(F32) for _ in range(2))  # Exact in float.
    c = mtlc_exec.Output(F32, (n, n))
    return Launch([a.ravel(), b.ravel(), c, I32(n)], same(c, (a.astype(F64) @ b.astype(F64)).astype(F32)), (3, 3), (8, 8))


@case(SOURCE, "histogram")
def _(rng) -> Launch:
    x = rng.integers(0, 256, 1000, dtype=U8) & rng.integers(0, 256, 1000, dtype=U8)
    y = mtlc_exec.InOut(np.zeros(256, U32))
    return Launch([x, y, I32(1000)], same(y, np.bincount(x, minlength=256).astype(U32)), 2, 96)


@case(SOURCE, "convolution")
def _(rng) -> Launch:
    width, height = 37, 18
    x, w = ints(rng, -50, 50, (height, width)).astype(F32), ints(rng, -5, 5, (3, 3)).astype(F32)
    padded = np.pad(x, 1, mode="edge")
    want = sum(padded[j : j + height, i : i + width] * w[j, i] for j in range(3) for i in range(3))
    y = mtlc_exec.Output(F32, (height, width))
    return Launch([x.ravel(), w.ravel(), y, I32(width), I32(height)], same(y, want.astype(F32)), (3, 3), (16, 8))


@case(SOURCE, "async_copies")
def _(rng) -> Launch:
    groups, n, stride = 3, 40, 3
    x = rng.normal(size=(groups, n, stride, 2)).astype(F32)
    y = mtlc_exec.Output(F32, (groups, n, 2))
    want = (x[:, ::-1, 0] * F32(2))[..., ::-1]
    return Launch([x.ravel(), y, mtlc_exec.Raw("workgroup:320"), I32(stride)], same(y, want), groups, n)


@case(SOURCE, "atomics")
def _(rng) -> Launch:
    n = 96
    x = ints(rng, -(2**31), 2**31, n)
    s0, u0 = np.array([1, 2, 3, 4, 0, -1, 77], I32), np.array([2**32 - 1, 0, 5, 7], U32)
    w0, f0 = np.array([1, 0], U64), np.array([1.5], F32)
    s, u, w, f = (mtlc_exec.InOut(a) for a in (s0, u0, w0, f0))
    v = x.astype(I64)
    total = int(v.sum())
    bits = x.view(U32)
    want_s = [wrap(1 + total, I32), wrap(2 - total, I32), min(3, x.min()), max(4, x.max()), np.bitwise_or.reduce(x),
              np.bitwise_and.reduce(x), I32(77) ^ np.bitwise_xor.reduce(x)]  # fmt: skip
    want_u = [bits.min(), bits.max(), 5 + n, wrap(7 - n, U32)]
    want_w = [wrap(1 + sum(int(k) << 8 for k in v), U64), max(int(k) * 3 % 2**64 for k in v)]
    check = sames((s, np.array(want_s, I32)), (u, np.array(want_u, U32)), (w, np.array(want_w, U64)), (f, np.array([1.5 + n / 2], F32)))
    return Launch([s, u, w, f, x], check, 2, n // 2)


# ---- Numbers ----


def integer_results(x: int, y: int, z: int) -> tuple[list[int], list[int]]:
    u = [v & 0xFFFFFFFF for v in (x, y, z)]

    def low(v: int, bits: int) -> int:  # Signed.
        return (v + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

    def turned(v: int, by: int, bits: int) -> int:
        by %= bits
        return (v << by | v >> (bits - by)) & (2**bits - 1)

    def full(v: int, dtype: type) -> int:
        return clamped(v, dtype)

    signed = [
        (x * y >> 32) + z, x * y >> 32, x + y >> 1, x + y + 1 >> 1, full(x + y, I32), full(x - y, I32), full(x * y + z, I32),
        (x >> 8) * (y >> 8), (x >> 8) * (y >> 8) + z, turned(u[0], u[1], 32), min(max(x, min(y, z)), max(y, z)),
        low(x, 16) << 16 | y & 0xFFFF, full(low(x, 8) + low(y, 8), I8), low(x, 16) * low(y, 16) >> 16,
    ]  # fmt: skip
    a, b, c = u
    unsigned = [
        (a * b >> 32) + c, a * b >> 32, a + b >> 1, a + b + 1 >> 1, full(a + b, U32), full(a - b, U32), full(a * b + c, U32),
        abs(x - y), abs(x), 32 - a.bit_length(), a.bit_count(), abs(a - b), (a & 255) << 8 | b & 255,
        turned(a & 255, b & 255, 8),
    ]  # fmt: skip
    return [wrap(v, I32) for v in signed], [wrap(v, U32) for v in unsigned]


def corners(rng, n: int, bits: int) -> np.ndarray:
    dtype = {32: I32, 64: I64}[bits]
    edges = [0, 1, -1, 2, 31, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0x7FFF, 0x8000, 0xFF, 0x80, -128]
    values = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), n, dtype=dtype) >> rng.integers(0, bits - 1, n).astype(dtype)
    where = rng.random(n) < 0.4
    values[where] = rng.choice(np.array(edges, dtype), int(where.sum()))
    return values


@case(SOURCE, "integers")
def _(rng) -> Launch:
    n = 250
    a, b, c = (corners(rng, n, 32) for _ in range(3))
    rows = [integer_results(int(x), int(y), int(z)) for x, y, z in zip(a, b, c)]
    o, u = mtlc_exec.Output(I32, (n, 14)), mtlc_exec.Output(U32, (n, 14))
    check = sames((o, np.array([r[0] for r in rows], I32)), (u, np.array([r[1] for r in rows], U32)))
    return Launch([a, b, c, o, u], check, 2, n // 2)


@case(SOURCE, "longs")
def _(rng) -> Launch:
    n = 200
    a, b = corners(rng, n, 64), corners(rng, n, 64)
    b[(a == -(2**63)) & (b | 1 == -1)] = 5  # A quotient that does not fit.
    signed, unsigned = [], []
    for x, y in zip(a.tolist(), b.tolist()):
        ux, uy, d = x % 2**64, y % 2**64, y | 1
        q = abs(x) // abs(d) * (1 if (x < 0) == (d < 0) else -1)
        by = y & 63
        signed.append([x * y >> 64, clamped(x + y, I64), clamped(x - y, I64), x + y >> 1, q, x - q * d, x >> by,
                       ux << by | ux >> 64 - by, clamped(x * y + x, I64)])  # fmt: skip
        unsigned.append([ux * uy >> 64, clamped(ux + uy, U64), (x & 0xFFFFFFFF) << 32 | y & 0xFFFFFFFF, ux // (uy | 1),
                         64 - ux.bit_length(), abs(x - y), ux >> by])  # fmt: skip
    o, u = mtlc_exec.Output(I64, (n, 9)), mtlc_exec.Output(U64, (n, 7))
    want_o = np.array([[wrap(v, I64) for v in row] for row in signed], I64)
    want_u = np.array([[wrap(v, U64) for v in row] for row in unsigned], U64)
    return Launch([a, b, o, u], sames((o, want_o), (u, want_u)), 2, n // 2)


@case(SOURCE, "maths")
def _(rng) -> Launch:
    n = 200
    x, y = (rng.normal(size=n) * 4).astype(F32), np.exp(rng.normal(size=n) * 2).astype(F32)
    x[:3] = [0.0, -0.5, 2.5]
    a, b = x.astype(F64), y.astype(F64)
    f32 = lambda v: v.astype(F32).astype(F64)  # noqa: E731
    exact = [np.sin(a), np.cos(a), np.tan(a), np.exp(a), np.exp2(a), np.expm1(a), np.log(b), np.log2(b), np.log10(b), np.log1p(b),
             b**a, np.arctan2(a, b), np.hypot(a, b), np.cbrt(a), np.sinh(a), np.tanh(a), np.arcsinh(a), 1 / np.sqrt(b), np.fmod(a, b),
             np.array([math.remainder(p, q) for p, q in zip(a, b)])]  # fmt: skip
    away = np.copysign(np.floor(np.abs(a) + 0.5), a)
    sums = [np.rint(a) + np.floor(b) - np.ceil(a) + np.trunc(b) + away, 2 * a, 2 * (a - np.trunc(a)) + np.trunc(a), f32(np.sin(a)) + f32(np.cos(a)),
            f32(f32(np.maximum(a, b) - np.minimum(a, b)) + np.maximum(a - b, 0)) + np.copysign(b, a),
            f32(np.sqrt(b)) + f32(a + (b - a) * 0.25) + np.clip(a, 0, 1), 2 * a * b + 4 + f32(5 * b)]  # fmt: skip
    # What is one function is rounded once; of a sum, every step, and the parts may cancel.
    size = [np.abs(p) for p in exact] + [np.abs(a) * 6 + np.abs(b) * 6 + 12 + np.abs(a * b) * 2] * len(sums)
    bound = [np.spacing(np.abs(p).astype(F32)).astype(F64) * 1.001 for p in exact] + [p * 2.0**-22 for p in size[20:]]
    for k in (18, 19, 20, 21):
        bound[k] = np.zeros(n)  # Exact.
    out = mtlc_exec.Output(F32, (n, 27))
    want = np.stack(exact + sums, 1)
    return Launch([x, y, out], lambda test, result: test.assert_close(result[out], want, np.stack(bound, 1)), 2, n // 2)


@case(SOURCE, "doubles")
def _(rng) -> Launch:
    n = 90
    a, b = np.round(rng.normal(size=n) * 64) / 8, np.round(rng.normal(size=n) * 64) / 8 + 0.0625
    a[0] = np.nan
    with np.errstate(invalid="ignore"):
        root = np.sqrt(np.abs(a))
        # The product is exact, so a sum is what fma gives.
        one = (a * b + root) / b
        two = np.where(a > b, a - b, b.astype(F32).astype(F64))
        three = np.where(np.isnan(a), 0.0, (a * b + np.floor(a)) - (b * a + np.floor(b)))
    out = mtlc_exec.Output(F64, (n, 3))
    return Launch([a, b, out], same(out, np.stack([one, two, three], 1)), 1, n)


@case(SOURCE, "halves")
def _(rng) -> Launch:
    n = 60
    a, b = rng.normal(size=2 * n).astype(F16), rng.normal(size=n).astype(F16)
    x, y = a[:n], b
    wide = [v.astype(F64) for v in (x, y)]
    fused = (wide[0] * wide[1] + wide[0]).astype(F16)  # Products of halves are exact in double, these sums too.
    want = np.stack([(wide[0] * wide[1]).astype(F16) + F16(1), fused, np.where(x < y, np.abs(x), -y), (wide[0] / wide[1]).astype(F16)], 1)
    f = a.astype(F32)
    pairs = np.stack([f[0::2] + f[1::2], f[:n] * F32(3)], 1)
    out, w = mtlc_exec.Output(F16, (n, 4)), mtlc_exec.Output(F32, (n, 2))
    return Launch([a, b, out, w], sames((out, want), (w, pairs)), 1, n)


@case(SOURCE, "stored_halves")
def _(rng) -> Launch:
    n = 64
    x = (rng.normal(size=n) * 10.0 ** rng.integers(-6, 4, n)).astype(F32)
    near = x.astype(F16)
    zero = np.where(np.abs(near.astype(F32)) > np.abs(x), np.nextafter(near, F16(0)), near)
    up = np.where(near.astype(F32) < x, np.nextafter(near, F16(np.inf)), near)
    want = np.zeros(6 * n, F16)
    want[0 : 2 * n : 2], want[1 : 2 * n : 2] = zero, up
    want[2 * n :] = np.stack([near, -near, (x * 2).astype(F16), np.ones(n, F16)], 1).ravel()
    out = mtlc_exec.Output(F16, 6 * n)
    return Launch([x, out], same(out, want), 1, n)


# ---- Whole programs ----


@case(SOURCE, "mandelbrot")
def _(rng) -> Launch:
    width, height, limit = 40, 30, 50
    # 3/64, 2/64 and whole numbers: every step that follows is done in float, without contraction.
    px, py = np.meshgrid(np.arange(width), np.arange(height))
    cx, cy = (px * 3 / 64 - 2).astype(F32), (py * 2 / 64 - 1).astype(F32)
    out = mtlc_exec.Output(U32, (height, width))

    def check(test, result):
        # Where rounding decides, neighbours may differ; escape counts in double agree nearly everywhere.
        x, y, k = np.zeros(cx.shape), np.zeros(cx.shape), np.zeros(cx.shape, U32)
        for _ in range(limit):
            go = x * x + y * y <= 4
            x, y = np.where(go, x * x - y * y + cx, x), np.where(go, 2 * x * y + cy, y)
            k += go
        agree = (result[out] == k).mean()
        test.assertGreater(agree, 0.97)

    return Launch([out, I32(width), I32(height), I32(limit)], check, (5, 4), (8, 8))


@case(SOURCE, "n_body")
def _(rng) -> Launch:
    n = 70
    p = rng.normal(size=(n, 4)).astype(F32)
    q = p.astype(F64)
    d = q[None, :, :3] - q[:, None, :3]
    r = 1 / np.sqrt((d * d).sum(-1) + F64(F32(0.01)))
    terms = d * (q[None, :, 3:] * (r**3)[..., None])
    want = np.concatenate([terms.sum(1), np.ones((n, 1))], 1)
    # Each term is about ten roundings away from exact, and is added to at most n others.
    bound = np.concatenate([np.abs(terms).sum(1) * (n + 16) * 2.0**-24, np.zeros((n, 1))], 1)
    out = mtlc_exec.Output(F32, (n, 4))
    return Launch([p.ravel(), out, I32(n)], lambda test, result: test.assert_close(result[out], want, bound), 3, 32)


@case(SOURCE, "ids")
def _(rng) -> Launch:
    grid, block = (2, 3, 2), (4, 3, 5)
    shape = [g * b for g, b in zip(grid, block)]
    want = np.zeros(shape[::-1], U32)
    for z, y, x in np.ndindex(*shape[::-1]):
        s = 0
        for d, i in enumerate((x, y, z)):
            s = s * 31 + i % block[d] * 7 + i // block[d] * 5 + block[d] * 3 + grid[d] * 2
        want[z, y, x] = s
    out = mtlc_exec.Output(U32, want.size)
    return Launch([out], same(out, want.ravel()), grid, block)


# ---- OpenCL 2.0 ----


@case(SOURCE, "program_scope")
def _(rng) -> Launch:
    out = mtlc_exec.Output(I32, 8)
    return Launch([out], same(out, np.array([42] + [0] * 7, I32)), 1, 8)


@case(SOURCE, "generic_pointers")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, -1000, 1000, n)
    i = np.arange(n)
    value = np.select([i % 3 == 0, i % 3 == 1], [x, (i % 32 ^ 1) * 1000], i * 4)
    y = mtlc_exec.Output(I32, n)
    return Launch([x, y], same(y, ((value + 1) * 8 + np.select([i % 3 == 0, i % 3 == 1], [1, 2], 4)).astype(I32)), 2, 32)


@case(SOURCE, "atomics20")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, -(2**31), 2**31, n)
    s0, u0, w0 = np.array([10, 5, 0, 3, 1], I32), np.array([7, 0], U32), np.array([-1], I64)
    s, u, w, got = (mtlc_exec.InOut(a) for a in (s0, u0, w0, np.zeros(n, I32)))
    chain = 1
    for _ in range(n):
        chain = (chain * 5 + 1) % 1000003
    want_s = [10 + n, wrap(5 - int(x.sum(dtype=I64)), I32), np.bitwise_or.reduce(x), min(3, x.min()), chain]
    xored = -1
    for v in x.tolist():
        xored ^= v << 7
    fine = sames((s, np.array(want_s, I32)), (u, np.array([max(7, x.view(U32).max()), 77], U32)), (w, np.array([wrap(xored, I64)], I64)))

    def check(test, result):
        fine(test, result)
        test.assert_same(np.sort(result[got]), np.arange(10, 10 + n, dtype=I32))

    return Launch([s, u, w, got, x], check, 2, n // 2)


@case(SOURCE, "turnstile")
def _(rng) -> Launch:
    n, rounds = 40, 2
    value = 1
    for k in range(n * rounds):
        value = value * 3 + k % n
    out = mtlc_exec.Output(I32, 2)
    return Launch([out, I32(rounds)], same(out, np.array([wrap(value, I32)] * 2, I32)), 2, n)


@case(SOURCE, "spin_lock")
def _(rng) -> Launch:
    out = mtlc_exec.Output(I32, 2)
    return Launch([out], same(out, np.array([48 * 47 // 2] * 2, I32)), 2, 48)


@case(SOURCE, "work_groups")
def _(rng) -> Launch:
    w, h, groups = 9, 5, 2
    n = w * h
    x = ints(rng, -100, 100, (groups, n))
    y, f = mtlc_exec.Output(I32, (groups * n, 7)), mtlc_exec.Output(F32, groups * n)
    # Ids of a launch of two dimensions, groups side by side.
    linear = np.arange(groups * n).reshape(h, groups, w)
    flat = x.ravel()
    want, most = np.zeros((groups * n, 7), I32), np.zeros(groups * n, F32)
    for g in range(groups):
        ids = linear[:, g].ravel()
        v = flat[ids]
        rows = np.stack([np.full(n, v.sum()), np.cumsum(v), np.concatenate([[-(2**31)], np.maximum.accumulate(v)[:-1]]),
                         np.full(n, v.reshape(h, w)[1, 3]), np.full(n, (v > -90).all() * 2 + (v > 90).any()), np.full(n, v.min()),
                         np.cumsum(v) - v], 1)  # fmt: skip
        want[ids], most[ids] = rows, F32(v.max()) * F32(0.5)
    return Launch([flat, y, f], sames((y, want), (f, most)), (groups, 1), (w, h))


@case(SOURCE, "sub_groups")
def _(rng):
    for size in SUBGROUP_SIZES:
        n = 150  # The last one is not full.
        x = ints(rng, -100, 100, n)
        want = np.zeros((n, 9), I32)
        for first in range(0, n, size):
            part = slice(first, min(first + size, n))
            v = x[part]
            m, lane = len(v), np.arange(len(v))
            columns = [v.sum(), np.cumsum(v) - v, np.maximum.accumulate(v), v[2], (v > -95).all() + 2 * (v > 95).any(), lane,
                       first // size * 100 + -(-n // size), m * 100 + size, np.roll(v, -1)]  # fmt: skip
            want[part] = np.stack([np.broadcast_to(c, m) for c in columns], 1)
        y = mtlc_exec.Output(I32, (n, 9))
        yield Launch([x, y], same(y, want), 1, n, options=[f"--subgroup-size={size}"])


CL20 = {"program_scope", "generic_pointers", "atomics20", "turnstile", "spin_lock", "work_groups", "sub_groups"}
# Atomic functions of OpenCL 1.2: llvm-spirv gives them the work-group's scope, and only a module of OpenCL 1.2 says that it means none.
CL12 = {"histogram", "atomics"}
