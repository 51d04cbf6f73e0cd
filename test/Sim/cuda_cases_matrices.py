"""Cases of the kernels with tensor instructions."""

import mtlc_exec
import numpy as np
from cuda_launch import F32, F64, I32, Launch, case, same
from mtlc_exec import InOut, Output


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray, tile: tuple[int, int], dtype, encode=lambda x: x) -> Launch:
    """Small integers, so that every sum is exact. `b` is the matrix; the kernel gets its columns."""
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    want = (a.astype(np.float64) @ b.astype(np.float64) + c).astype(dtype)
    d = Output(dtype, (m, n))
    args = [encode(a), encode(np.ascontiguousarray(b.T)), c.astype(dtype), d, I32(n), I32(k)]
    warps = 2
    columns = n // tile[1]
    return Launch(args, same(d, want), (-(-columns // warps), m // tile[0]), (32, warps))


def matrices(rng, m: int, n: int, k: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = (rng.integers(low, high, shape).astype(np.int64) for shape in ((m, k), (k, n)))
    return a, b, rng.integers(-20, 20, (m, n)).astype(np.int64)


def add(name: str, shape: tuple[int, int, int], tile: tuple[int, int], limits: tuple[int, int], dtype, encode, sm: int) -> None:
    def make(rng) -> Launch:
        return product(*matrices(rng, *shape, *limits), tile, dtype, encode)

    case("matrices.cu", name, least_sm=sm)(make)


add("halfTiles", (32, 48, 64), (16, 16), (-9, 9), F32, lambda x: x.astype(np.float16), 75)
add("halfSums", (16, 96, 48), (8, 32), (-4, 4), np.float16, lambda x: x.astype(np.float16), 75)
add("byteTiles", (64, 24, 32), (32, 8), (-128, 128), I32, lambda x: x.astype(np.int8), 75)
add("unsignedTiles", (16, 48, 32), (16, 16), (0, 256), I32, lambda x: x.astype(np.uint8), 75)
add("brainTiles", (32, 32, 32), (16, 16), (-9, 9), F32, lambda x: mtlc_exec.bf16(x.astype(F32)), 80)
add("doubleTiles", (16, 24, 20), (8, 8), (-1000, 1000), F64, lambda x: x.astype(F64), 80)
add("singleTiles", (16, 32, 24), (16, 16), (-500, 500), F32, lambda x: x.astype(F32), 80)


@case("matrices.cu", "columns")
def _(rng) -> Launch:
    a, b = (rng.integers(-9, 9, (16, 16)) for _ in range(2))
    d = Output(F32, (16, 16))
    # A and the result by columns, B by rows.
    want = ((a.T @ b + 1) * 2.5).astype(F32).T
    return Launch([a.astype(np.float16), b.astype(np.float16), d, F32(2.5)], same(d, want), 1, 32)


@case("matrices.cu", "inlineProduct", least_sm=80)
def _(rng) -> Launch:
    a, b = rng.integers(-9, 9, (16, 16)), rng.integers(-9, 9, (16, 8))
    d = Output(F32, (16, 8))
    return Launch([a.astype(np.float16), b.astype(np.float16), d], same(d, (a @ b).astype(F32)), 1, 32)


@case("matrices.cu", "nibbleTile")
def _(rng) -> Launch:
    a, b = rng.integers(0, 16, (8, 32)), rng.integers(0, 16, (64, 8))  # Rows of B beyond 32 are skipped by the stride.
    c = rng.integers(2**31 - 3000, 2**31, (8, 8))
    d = Output(I32, (8, 8))
    want = np.minimum(a @ b[:32] + c, 2**31 - 1).astype(I32)
    packed_a, packed_b = ((x[:, ::2] | x[:, 1::2] << 4).astype(np.uint8) for x in (a, b.T))
    return Launch([packed_a, np.ascontiguousarray(packed_b), np.ascontiguousarray(c.T.astype(I32)), d], same(d, want), 1, 32)


@case("matrices.cu", "bitTile")
def _(rng) -> Launch:
    a, b = rng.integers(0, 2, (8, 128)), rng.integers(0, 2, (8, 256))
    d = Output(I32, (8, 8))
    want = (a[:, None, :] ^ b[None, :, :128]).sum(2) + 3
    packed = [np.packbits(x.astype(np.uint8), axis=1, bitorder="little") for x in (a, b)]
    return Launch([*packed, d], same(d, want.astype(I32)), 1, 32)


@case("matrices.cu", "halfWarp")
def _(rng) -> Launch:
    def check(test, result) -> None:
        test.assertIn("16 lanes execute an instruction on matrices", result.stderr)

    a, d = rng.integers(-9, 9, (16, 16)).astype(np.float16), InOut(np.zeros((16, 16), F32))
    return Launch([a, d], check, 1, 32, returncode=1)


@case("warpgroup.cu", "warpgroupTiles", least_sm=90)
def _(rng) -> Launch:
    a, b = rng.integers(-9, 9, (128, 192)), rng.integers(-9, 9, (32, 192))
    d = Output(F32, (128, 32))
    return Launch([a.astype(np.float16), b.astype(np.float16), d, I32(192)], same(d, (a @ b.T).astype(F32)), 2, 128)
