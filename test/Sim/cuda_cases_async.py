"""Cases of the kernels about asynchronous copies, barriers and tensor maps."""

from collections.abc import Iterator

import numpy as np
from cuda_launch import F32, I32, U32, Launch, case, ints, same
from mtlc_exec import InOut, Output, Raw

SEEDS = ["--seed=0", "--seed=11", "--seed=12", "--seed=13"]


# ---- async.cu ----


@case("async.cu", "pipelined", least_sm=80)
def _(rng) -> Iterator[Launch]:
    for rows, seed in zip((1, 3, 9, 6), SEEDS):
        x = ints(rng, -100, 100, 3 * rows * 256).astype(F32)
        v = x.reshape(3, rows, 64, 4)[:, :, ::-1]
        out = Output(F32, (192,))
        want = (v @ np.array([1, 2, 3, 4], F32)).sum(axis=1).reshape(192).astype(F32)
        yield Launch([x, out, I32(rows)], same(out, want), 3, 64, options=[seed])


@case("async.cu", "tails", least_sm=80)
def _(rng) -> Iterator[Launch]:
    for n, seed in zip((1, 77, 128, 127), SEEDS):
        x = ints(rng, -1000, 1000, n)
        want = np.concatenate([x, np.zeros(128 - n, I32)])[::-1]
        out = Output(I32, (128,))
        yield Launch([x, out, I32(n)], same(out, want), 1, 128, options=[seed])


@case("async.cu", "groupCopies", least_sm=80)
def _(rng) -> Iterator[Launch]:
    for n, seed in zip((256, 100, 700, 513), SEEDS):
        x = ints(rng, -1000, 1000, n)
        want = np.zeros(64, np.int64)
        for at in range(0, n, 256):
            part = x[at : at + 256][::-1].astype(np.int64) * np.arange(1, min(256, n - at) + 1)
            for i, v in enumerate(part):
                want[i % 64] += v
        out = Output(I32, (64,))
        yield Launch([x, out, I32(n)], same(out, want.astype(I32)), 1, 64, shared=1024, options=[seed])


@case("async.cu", "splitArrive", least_sm=80)
def _(rng) -> Iterator[Launch]:
    for rounds, seed in zip((1, 2, 5, 4), SEEDS):
        x = ints(rng, -1000, 1000, 128)
        want = np.zeros(128, np.int64)
        for r in range(rounds):
            want = want * 3 + (x & 7) + np.roll(x.astype(np.int64) * (r + 1), -37)
        out = Output(I32, (128,))
        yield Launch([x, out, I32(rounds)], same(out, want.astype(I32)), 1, 128, options=[seed])


@case("async.cu", "barrierCopies", least_sm=80)
def _(rng) -> Iterator[Launch]:
    for rounds, seed in zip((1, 2, 5, 4), SEEDS):
        x = ints(rng, -1000, 1000, 256 * rounds)
        want = np.zeros(128, np.int64)
        for r in range(rounds):
            want = want * 5 + x[256 * r : 256 * r + 256][::-1][:128]
        out = Output(I32, (128,))
        yield Launch([x, out, I32(rounds)], same(out, want.astype(I32)), 1, 128, options=[seed])


# ---- tma.cu ----


@case("tma.cu", "bulkBlocks", least_sm=90)
def _(rng) -> Iterator[Launch]:
    for blocks, seed in zip((1, 2, 5, 4), SEEDS):
        x = ints(rng, -(2**30), 2**30, 256 * blocks)
        out = Output(I32, (256 * blocks,))
        yield Launch([x, out, I32(blocks)], same(out, x * 2 + 1), 1, 256, options=[seed])


@case("tma.cu", "tensorTranspose", least_sm=90)
def _(rng) -> Iterator[Launch]:
    for (rows, columns), seed in zip(((32, 32), (40, 100), (67, 36), (1, 4)), SEEDS):
        # Rows are padded to 16 bytes.
        wide, tall = -(-columns // 4) * 4, -(-rows // 4) * 4
        x = rng.standard_normal((rows, wide)).astype(F32)
        y = InOut(np.full((columns, tall), 7, F32))
        want = y.array.copy()
        want[:, :rows] = x[:, :columns].T
        maps = [
            Raw(f"tensormap:2:f32:dims={columns},{rows}:strides={wide * 4}:box=32,32:swizzle=128"),
            Raw(f"tensormap:3:f32:dims={rows},{columns}:strides={tall * 4}:box=32,32:swizzle=128"),
        ]
        grid = (-(-columns // 32), -(-rows // 32))
        yield Launch([*maps, x, y], same(y, want), grid, 128, options=[seed])


@case("tma.cu", "tensorAdd", least_sm=90)
def _(rng) -> Iterator[Launch]:
    for (x, y, z), seed in zip(((0, 0, 0), (-3, 2, -1), (5, -2, 3), (40, 0, 0)), SEEDS):
        a = ints(rng, -1000, 1000, 7 * 6 * 20).reshape(7, 6, 20)
        b = InOut(ints(rng, -1000, 1000, 7 * 6 * 20).reshape(7, 6, 20))
        want = b.array.copy()
        box = (16, 4, 5)
        for k in range(0, box[2], 2):
            for j in range(box[1]):
                for i in range(box[0]):
                    p = (z + k, y + j, x + i)
                    if all(0 <= c < n for c, n in zip(p, a.shape)):
                        want[p] += a[p]
        spec = "s32:dims=20,6,7:strides=80,480:box=16,4,5:elem_strides=1,1,2"
        maps = [Raw(f"tensormap:6:{spec}"), Raw(f"tensormap:7:{spec}")]
        scalars = [I32(x), I32(y), I32(z), U32(16 * 4 * 3 * 4)]
        yield Launch([*maps, *scalars, a, b], same(b, want), 1, 32, options=[seed])
