"""Cases of the kernels that work on arrays: reductions, scans, sorting, sparse and dense matrices, grids, integers."""

import hashlib
from collections.abc import Iterator

import mtlc_testing
import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, U64, Launch, blocks, case, ints, same, sames
from mtlc_exec import InOut, Output, Raw


# ---- reduce.cu ----


@case("reduce.cu", "sumTree")
def _(rng) -> Iterator[Launch]:
    for n, grid, block in ((1, 1, 1), (1001, 3, 33), (5000, 2, 192)):
        x = ints(rng, -1000, 1000, n).astype(F32)  # Sums of integers are exact in any order.
        out = Output(F64, grid)
        threads = np.arange(n) // block % grid
        want = np.array([x[threads == b].sum(dtype=F64) for b in range(grid)])
        yield Launch([x, out, I32(n)], same(out, want), grid, block)


@case("reduce.cu", "sumShuffle")
def _(rng) -> Iterator[Launch]:
    for n, grid, block in ((7, 1, 32), (3333, 4, 224)):
        x = ints(rng, -(2**62), 2**62, n, I64)
        out = InOut(np.zeros(1, U64))
        want = np.array([sum(int(v) for v in x) % 2**64], U64)
        yield Launch([x, out, I32(n)], same(out, want), grid, block)


@case("reduce.cu", "argmax")
def _(rng) -> Iterator[Launch]:
    for n, block in ((1, 64), (777, 128), (2000, 256)):
        x = np.round(rng.normal(size=n) * 8).astype(F32)
        out = Output(I32, 1)
        yield Launch([x, out, I32(n)], same(out, [np.int32(np.argmax(x))]), 1, block, 8 * block)


@case("reduce.cu", "scanTree")
def _(rng) -> Iterator[Launch]:
    for n, block in ((1, 1), (255, 128), (512, 256)):
        x = ints(rng, 0, 2**32, n, U32)
        out = Output(U32, n)
        want = np.concatenate([[0], np.cumsum(x, dtype=U32)[:-1]]).astype(U32)
        yield Launch([x, out, I32(n)], same(out, want), 1, block, 8 * block)


@case("reduce.cu", "scanChained")
def _(rng) -> Launch:
    n, block = 1111, 160
    grid = blocks(n, block)
    x = ints(rng, 0, 2**32, n, U32)
    out, flags, ticket = Output(U32, n), InOut(np.zeros(grid, U32)), InOut(np.zeros(1, U32))
    sums = Output(U32, grid)
    return Launch([x, out, sums, flags, ticket, I32(n)], same(out, np.cumsum(x, dtype=U32)), grid, block)


@case("reduce.cu", "compact")
def _(rng) -> Iterator[Launch]:
    for n, block in ((0, 32), (1000, 96)):
        x = ints(rng, -1000, 1000, n)
        want = x[x % 3 == 0]
        out, count = InOut(np.full(n, 12345, I32)), Output(I32, 1)
        full = np.concatenate([want, np.full(n - len(want), 12345, I32)]).astype(I32)
        yield Launch([x, out, count, I32(n)], sames((out, full), (count, [I32(len(want))])), 1, block)


# ---- sort.cu ----


@case("sort.cu", "bitonic")
def _(rng) -> Iterator[Launch]:
    for n, block in ((3, 2), (200, 128), (777, 512)):
        x = ints(rng, -50, 50, n)
        keys, order = Output(I32, n), Output(I32, n)
        permutation = np.argsort(x, kind="stable").astype(I32)
        yield Launch([x, keys, order, I32(n)], sames((keys, np.sort(x)), (order, permutation)), 1, block)


@case("sort.cu", "radixPass")
def _(rng) -> Iterator[Launch]:
    for n, shift in ((1, 0), (517, 28), (901, 4)):
        x = ints(rng, 0, 2**32, n, U32)
        out = Output(U32, n)
        want = x[np.argsort(x >> U32(shift) & U32(15), kind="stable")]
        yield Launch([x, out, I32(n), I32(shift)], same(out, want), 1, 128)


@case("sort.cu", "mergePath")
def _(rng) -> Iterator[Launch]:
    for na, nb in ((0, 5), (300, 211)):
        a, b = np.sort(rng.normal(size=na)), np.sort(rng.normal(size=nb))
        out = Output(F64, na + nb)
        want = np.sort(np.concatenate([a, b]))
        yield Launch([a, I32(na), b, I32(nb), out], same(out, want), blocks(na + nb, 64), 64)


@case("sort.cu", "findText")
def _(rng) -> Launch:
    text = bytes(ints(rng, 97, 99, 3000, np.uint8))
    needle = text[1500:1509]
    where = [i for i in range(len(text)) if text.startswith(needle, i)]
    first, count = InOut(np.array([2**31 - 1], I32)), InOut(np.zeros(1, U32))
    args = [np.frombuffer(text, np.uint8), I32(len(text)), np.frombuffer(needle, np.uint8), I32(9), first, count]
    return Launch(args, sames((first, [I32(where[0])]), (count, [U32(len(where))])), blocks(3000, 96), 96, 16)


@case("sort.cu", "editDistance")
def _(rng) -> Iterator[Launch]:
    for na, nb in ((5, 0), (37, 29)):
        a, b = ints(rng, 97, 100, na, np.uint8), ints(rng, 97, 100, nb, np.uint8)
        rows = list(range(nb + 1))
        for i in range(na):
            last, rows = rows, [i + 1]
            for j in range(nb):
                rows.append(min(last[j] + int(a[i] != b[j]), last[j + 1] + 1, rows[j] + 1))
        out = Output(I32, 1)
        yield Launch([a, I32(na), b, I32(nb), out], same(out, [I32(rows[-1])]), 1, 32)


# ---- grids.cu ----


def sparse(rng, n: int, columns: int):
    counts = np.where(rng.random(n) < 0.3, 0, rng.integers(0, 70, n))
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(I32)
    return rows, ints(rng, 0, columns, int(rows[-1]))


@case("grids.cu", "spmvVector")
def _(rng) -> Launch:
    n = 53
    rows, columns = sparse(rng, n, 40)
    values, x = np.round(rng.normal(size=len(columns)) * 64), np.round(rng.normal(size=40) * 64)
    want = np.array([(values[a:b] * x[columns[a:b]]).sum() for a, b in zip(rows[:-1], rows[1:])])
    out = Output(F64, n)
    # Rows stop at 53: with 64 threads a block, the last warp leaves whole.
    return Launch([rows, columns, values, x, out, I32(n)], same(out, want), blocks(n, 2), 64)


@case("grids.cu", "spmvScalar")
def _(rng) -> Launch:
    n = 301
    rows, columns = sparse(rng, n, 77)
    values, x = ints(rng, 0, 2**32, len(columns), U32), ints(rng, 0, 2**32, 77, U32)
    want = np.array([(values[a:b] * x[columns[a:b]]).sum(dtype=U32) for a, b in zip(rows[:-1], rows[1:])], U32)
    out = Output(U32, n)
    return Launch([rows, columns, values, x, out, I32(n)], same(out, want), 3, 64)


@case("grids.cu", "stencil")
def _(rng) -> Launch:
    nx, ny, nz = 21, 7, 5
    x = np.round(rng.normal(size=(nz, ny, nx)) * 16).astype(F32)
    p = np.pad(x.astype(F64), 1)
    sides = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
    sides += p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2]
    want = (-6.5 * x + 0.25 * sides).astype(F32)  # Multiples of 1/4 below 2^13: exact.
    path = mtlc_testing.scratch("box.bin")
    with open(path, "wb") as file:
        file.write(np.array([nx, ny, nz], I32).tobytes() + np.array([-6.5, 0.25], F32).tobytes())
    out = Output(F32, x.size)
    args = [x.ravel(), out, Raw(f"bytes:{path}")]
    return Launch(args, same(out, want.ravel()), (blocks(nx, 16), blocks(ny, 4)), (16, 4))


@case("grids.cu", "convolve")
def _(rng) -> Launch:
    w, h = 37, 19
    x = ints(rng, 0, 256, w * h, np.uint8)
    weights = np.array([[1, -2, 3, -2, 1], [4, 0, -7, 0, 4], [1, -2, 3, -2, 1]])
    p = np.pad(x.reshape(h, w).astype(int), ((1, 1), (2, 2)), mode="edge")
    want = sum(weights[j, i] * p[j : j + h, i : i + w] for j in range(3) for i in range(5))
    out = Output(np.int16, w * h)
    return Launch([x, out, I32(w), I32(h)], same(out, want.astype(np.int16).ravel()), (2, 3), (32, 8))


def product(rng, dtype, tile: int, m: int, n: int, k: int) -> Launch:
    a, b = (np.round(rng.normal(size=s) * 8).astype(dtype) for s in ((m, k), (k, n)))
    out = Output(dtype, m * n)
    args = [a.ravel(), b.ravel(), out, I32(m), I32(n), I32(k)]
    return Launch(args, same(out, (a @ b).ravel()), (blocks(n, tile), blocks(m, tile)), (tile, tile))


@case("grids.cu", "matmulFloat")
def _(rng) -> Launch:
    return product(rng, F32, 16, 35, 50, 41)


@case("grids.cu", "matmulDouble")
def _(rng) -> Launch:
    return product(rng, F64, 8, 9, 23, 17)


@case("grids.cu", "transpose")
def _(rng) -> Launch:
    rows, columns = 44, 20
    x = rng.normal(size=(rows, columns)).astype(F32)
    out = Output(F32, rows * columns)
    return Launch([x.ravel(), out, I32(rows), I32(columns // 4)], same(out, x.T.ravel()), (1, 2), (8, 8))


@case("grids.cu", "nbody")
def _(rng) -> Launch:
    n, block, softening = 70, 32, F32(0.125)
    x = rng.normal(size=(n, 4)).astype(F32)
    x[:, 3] = np.abs(x[:, 3])
    d = x[None, :, :3].astype(F64) - x[:, None, :3]
    r2 = (d * d).sum(2) + softening
    terms = x[None, :, 3:] * d * (r2**-1.5)[:, :, None]
    out = Output(F32, 3 * n)

    def check(test, result):
        # About ten roundings and an approximate rsqrt in each term, then a sum of n of them.
        bound = 2.0**-23 * (12 + n) * np.abs(terms).sum(1)
        test.assert_close(result[out].reshape(n, 3), terms.sum(1), bound)

    return Launch([x.ravel(), out, I32(n), softening], check, blocks(n, block), block, 16 * block)


@case("grids.cu", "fftStep")
def _(rng) -> Iterator[Launch]:
    n = 128
    x = rng.normal(size=n) + 1j * rng.normal(size=n)
    want = np.fft.fft(x)
    half = 1
    while half < n:
        # Exactly rounded steps on the host give the input of each launch.
        i = np.arange(n // 2)
        k = i % half
        t = np.exp(-1j * np.pi * k / half) * x[n // 2 :]
        y = np.empty(n, complex)
        j = (i - k) * 2 + k
        y[j], y[j + half] = x[: n // 2] + t, x[: n // 2] - t
        out = Output(F64, 2 * n)

        def check(test, result, out=out, y=y):
            test.assert_close(result[out], y.view(F64), 1e-14 * np.abs(y).max())

        yield Launch([x.view(F64), out, I32(n), I32(half)], check, 1, 64)
        x, half = y, half * 2
    assert np.abs(x - want).max() < 1e-12 * np.abs(want).max()


@case("grids.cu", "mandelbrot")
def _(rng) -> Launch:
    w, h, limit = 41, 17, 60
    one = 1 << 28
    want = np.zeros((h, w), np.uint16)
    for y in range(h):
        for x in range(w):
            cr, ci, zr, zi, i = -2 * one + 3 * one * x // w, -one + 2 * one * y // h, 0, 0, 0
            while i < limit and (zr * zr >> 28) + (zi * zi >> 28) <= 4 * one:
                zr, zi, i = (zr * zr >> 28) - (zi * zi >> 28) + cr, (zr * zi >> 27) + ci, i + 1
            want[y, x] = i
    out = Output(np.uint16, w * h)
    return Launch([out, I32(w), I32(h), I32(limit)], same(out, want.ravel()), (3, 5), (16, 4))


# ---- integers.cu ----


@case("integers.cu", "divisions")
def _(rng) -> Launch:
    n = 200
    corners = np.array([1, -1, 2, 3, 10, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63) + 1, 1000003, -7], I64)
    x, y = (ints(rng, -(2**63), 2**63 - 1, n, I64) >> ints(rng, 0, 63, n, I64) for _ in "xy")
    y[y == 0] = 5
    x[:144], y[:144] = np.repeat(corners, 12), np.tile(corners, 12)

    def divide(a: int, b: int) -> tuple[int, int]:
        q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return q, a - q * b

    def cut(v: int, width: int) -> int:
        v %= 1 << width
        return v - (1 << width) if v >> (width - 1) else v

    rows = [[] for _ in range(12)]
    for a, b in zip(x.tolist(), y.tolist()):
        ua, ub = a % 2**64, b % 2**64
        values = [
            *divide(a, b),
            ua // ub,
            ua % ub,
            cut(divide(cut(a, 32), cut(b | 1, 32))[0], 32),
            ua % 2**32 % ((ub | 1) % 2**32),
            a * b >> 64,
            ua * ub >> 64,
            divide(cut(a, 16), cut(b | 1, 16))[0],
            divide(cut(a, 8), cut(b | 1, 8))[1],
            divide(a, 1000003)[0],
            ua % 10,
        ]
        for row, v in zip(rows, values):
            row.append(cut(v, 64))
    out = Output(I64, 12 * n)
    return Launch([x, y, out, I32(n)], same(out, np.array(rows, I64).ravel()), blocks(n, 64), 64)


@case("integers.cu", "bits")
def _(rng) -> Launch:
    n = 150
    x, y = (ints(rng, 0, 2**32, n, U32) >> ints(rng, 0, 32, n, U32) for _ in "xy")
    x[:3], y[:3] = [0, 1, 2**32 - 1], [0, 2**32 - 1, 2**31]
    M, rows = 2**32 - 1, [[] for _ in range(15)]

    def s(v: int, width: int = 32) -> int:
        v &= (1 << width) - 1
        return v - (1 << width) if v >> (width - 1) else v

    for a, b in zip(x.tolist(), y.tolist()):
        w = a << 32 | b
        data = [(w >> 8 * k) & 255 for k in (4, 5, 6, 7)]  # Bytes of a.
        pool = data + [(b >> 8 * k) & 255 for k in range(4)]
        turn = b & 31
        values = [
            32 - a.bit_length(),
            64 - (w >> (b & 63)).bit_length(),
            a.bit_count() + 100 * w.bit_count(),
            int(f"{a:032b}"[::-1], 2),
            int(f"{w:064b}"[::-1], 2) >> 13,
            (a & -a).bit_length() + 100 * (w & -w).bit_length(),
            sum(pool[d] << 8 * k for k, d in enumerate((5, 1, 7, 3))),
            (b << 32 | a) << turn >> 32,
            (b << 32 | a) >> min(a & 63, 32),
            a * b >> 32,
            s(a) * s(b) >> 32,
            abs(a - b) + 7 + abs(s(a) - s(b)) + 9,
            (a + b >> 1) ^ (s(a) + s(b) + 1 >> 1),
            a << turn | a >> (32 - turn) % 32,
            (s(a, 24) * s(b, 24)) ^ ((a & 0xFFFFFF) * (b & 0xFFFFFF)),
        ]
        for row, v in zip(rows, values):
            row.append(v & M)
    out = Output(U32, 15 * n)
    return Launch([x, y, out, I32(n)], same(out, np.array(rows, U32).ravel()), blocks(n, 64), 64)


@case("simd.cu", "packed")
def _(rng) -> Launch:
    n = 130
    x, y = ints(rng, 0, 2**32, n, U32), ints(rng, 0, 2**32, n, U32)
    x[:2], y[:2] = [0x80007FFF, 0xFF00807F], [0x80007FFF, 0xFF017F80]
    a8, b8 = x.view(np.uint8).reshape(n, 4).astype(int), y.view(np.uint8).reshape(n, 4).astype(int)
    s8, t8 = x.view(np.int8).reshape(n, 4).astype(int), y.view(np.int8).reshape(n, 4).astype(int)
    s16, t16 = x.view(np.int16).reshape(n, 2).astype(int), y.view(np.int16).reshape(n, 2).astype(int)
    a16 = x.view(np.uint16).reshape(n, 2).astype(int)

    def join(v: np.ndarray) -> np.ndarray:
        bits = 32 // v.shape[1]
        return sum((v[:, k].astype(I64) & ((1 << bits) - 1)) << bits * k for k in range(v.shape[1]))

    rows = [
        join(a8 + b8),
        join(np.maximum(a8 - b8, 0)),
        join(np.maximum(s16, t16)),
        join(np.where(a8 > b8, 255, 0)),
        join(np.abs(a8 - b8)),
        join(a8 + b8 + 1 >> 1),
        join(np.clip(s16 + t16, -32768, 32767)),
        np.abs(s16 - t16).sum(1),
        (s8 * t8).sum(1) + 1000,
        (a8 * b8).sum(1) + 1000,
        s16[:, 0] * t8[:, 0] + s16[:, 1] * t8[:, 1] - 5,
        a16[:, 0] * b8[:, 2] + a16[:, 1] * b8[:, 3] + 5,
    ]
    out = Output(U32, 12 * n)
    want = (np.concatenate(rows).astype(I64) & 0xFFFFFFFF).astype(U32)
    return Launch([x, y, out, I32(n)], same(out, want), blocks(n, 64), 64)


@case("integers.cu", "sha256")
def _(rng) -> Launch:
    n, stride = 37, 61
    lengths = ints(rng, 0, 56, n)
    text = ints(rng, 0, 256, n * stride, np.uint8)
    digests = [hashlib.sha256(bytes(text[i * stride : i * stride + k])).digest() for i, k in enumerate(lengths)]
    out = Output(U32, 8 * n)
    want = np.frombuffer(b"".join(digests), ">u4").astype(U32)
    return Launch([text, I32(stride), lengths, out, I32(n)], same(out, want), 2, 32)


@case("integers.cu", "powerMod")
def _(rng) -> Launch:
    n = 20
    b, e, m = (ints(rng, 1, 2**64 - 1, n, U64) >> ints(rng, 0, 60, n, U64) for _ in "bem")
    m = np.maximum(m, U64(1))
    want = np.array([pow(int(i), int(j), int(k)) for i, j, k in zip(b, e, m)], U64)
    out = Output(U64, n)
    return Launch([b, e, m, out, I32(n)], same(out, want), 1, 32)


@case("integers.cu", "addWide")
def _(rng) -> Launch:
    n = 45
    x, y = (ints(rng, 0, 2**32, 8 * n, U32) for _ in "xy")
    x[:8], y[:8] = 2**32 - 1, 0
    y[0] = 1
    want, carry = [], []
    for i in range(n):
        total = sum(int.from_bytes(v[8 * i : 8 * i + 8].tobytes(), "little") for v in (x, y))
        want.append(np.frombuffer((total % 2**256).to_bytes(32, "little"), U32))
        carry.append(total >> 256)
    out, over = Output(U32, 8 * n), Output(U32, n)
    check = sames((out, np.concatenate(want)), (over, np.array(carry, U32)))
    return Launch([x, y, out, over, I32(n)], check, 1, 64)
