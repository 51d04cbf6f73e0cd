"""Cases of the kernels about threads, memory and functions: atomics, warps, groups, calls, the heap, printf."""

from collections.abc import Callable, Iterator

import mtlc_exec
import mtlc_testing
import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, U64, Launch, blocks, case, ints, same, sames
from mtlc_exec import InOut, Output, Raw


# ---- atomics.cu ----


@case("atomics.cu", "histogram")
def _(rng) -> Launch:
    n = 3001
    x = np.minimum(rng.geometric(0.05, n), 255).astype(np.uint8)
    out = InOut(np.arange(256, dtype=U32))
    want = (np.arange(256) + np.bincount(x, minlength=256)).astype(U32)
    return Launch([x, out, I32(n)], same(out, want), 3, 96)


@case("atomics.cu", "floats")
def _(rng) -> Launch:
    n = 777
    x = ints(rng, -1000, 1000, n)
    f, d = InOut(np.zeros(1, F32)), InOut(np.zeros(2, F64))
    low, high = InOut(np.array([np.inf], F32)), InOut(np.array([-np.inf], F32))
    h = InOut(np.zeros(2, np.uint16))
    total = int(x.sum())
    want_half = np.array([n, (x & 1).sum()], np.float16)
    check = sames(
        (f, np.array([total], F32)),
        (d, np.array([total, 2 * total], F64)),
        (low, np.array([x.min()], F32)),
        (high, np.array([x.max()], F32)),
        (h, want_half.view(np.uint16)),
    )
    return Launch([x, I32(n), f, d, low, high, h], check, blocks(n, 160), 160)


@case("atomics.cu", "bfloats", least_sm=90)
def _(rng) -> Launch:
    n = 100
    b = InOut(np.zeros(2, np.uint16))
    want = mtlc_exec.bf16(np.array([blocks(n, 16), -2 * n], F32))
    return Launch([b, I32(n)], same(b, want), blocks(n, 64), 64)


@case("atomics.cu", "integers")
def _(rng) -> Launch:
    n, wrap = 333, 99
    x = ints(rng, -(2**31), 2**31, n)
    u = x.view(U32)
    v = x.astype(I64) * 0x100000001
    w = v.view(U64)
    out = InOut(np.array([5, 5, 2**31 - 1, 2**31, 2**32 - 1, 0, 2**32 - 1, 0, 7, 0, 0], U32))
    wide = InOut(np.array([5, 2**63 - 1, 2**63, 2**64 - 1, 0, 2**64 - 1, 0, 7], U64))
    inc = dec = 0
    for _ in range(n):
        inc = 0 if inc >= wrap else inc + 1
        dec = wrap if dec == 0 or dec > wrap else dec - 1
    want = np.array(
        [
            (5 + int(u.sum(dtype=U64))) % 2**32,
            (5 - int(u.sum(dtype=U64))) % 2**32,
            x.min().view(U32),
            x.max().view(U32),
            u.min(),
            u.max(),
            np.bitwise_and.reduce(u | U32(0xFF)),
            np.bitwise_or.reduce(u & U32(0xFF00FF)),
            np.bitwise_xor.reduce(u) ^ U32(7),
            inc,
            dec,
        ],
        U32,
    )
    want_wide = np.array(
        [
            (5 + sum(int(a) for a in w)) % 2**64,
            v.min().view(U64),
            v.max().view(U64),
            w.min(),
            w.max(),
            np.bitwise_and.reduce(w | U64(0xFF)),
            np.bitwise_or.reduce(w & U64(0xFF0000FF00)),
            np.bitwise_xor.reduce(w) ^ U64(7),
        ],
        U64,
    )
    return Launch([x, I32(n), out, wide, U32(wrap)], sames((out, want), (wide, want_wide)), blocks(n, 64), 64)


@case("atomics.cu", "pushList")
def _(rng) -> Launch:
    n = 501  # Odd: the flags behind the tickets share a word with the last ticket.
    head, following = InOut(np.array([-1, 0], I32)), Output(I32, n)
    tickets = InOut(np.concatenate([np.full(n, 0xFFFF), np.zeros(n)]).astype(np.uint16))

    def check(test, result):
        chain, at = [], int(result[head][0])
        while at >= 0 and len(chain) <= n:
            chain.append(at)
            at = int(result[following][at])
        test.assertEqual(sorted(chain), list(range(n)))
        test.assert_same(result[tickets], np.concatenate([np.arange(n), np.ones(n)]).astype(np.uint16))

    return Launch([head, following, tickets, I32(n)], check, blocks(n, 96), 96)


@case("atomics.cu", "criticalSection")
def _(rng) -> Launch:
    n = 150
    x = ints(rng, 0, 2**32, n, U32)
    out = Output(U64, 1)
    return Launch([x, I32(n), out], same(out, [x.sum(dtype=U64)]), 1, 160)


@case("atomics.cu", "atomicRef")
def _(rng) -> Launch:
    n = 150
    x = ints(rng, -(2**20), 2**20, n)
    out, flags, total = Output(I32, n), InOut(np.zeros(n, U32)), InOut(np.array([3, -7], I64))
    want = np.array([3 + 2 * int(x.sum()), max(t * 7 % 61 for t in range(128))], I64)
    check = sames((out, 2 * x), (flags, np.full(n, 3, U32)), (total, want))
    return Launch([x, out, flags, total, I32(n)], check, 1, 128)


# ---- warps.cu ----


@case("warps.cu", "shuffles")
def _(rng) -> Launch:
    n = 96
    x = ints(rng, -(2**20), 2**20, n)
    w = x.reshape(-1, 32).astype(I64)
    lane = np.arange(32)
    segment = lambda width: lane // width * width

    def take(source, valid=True):
        return np.where(valid, w[:, np.where(valid, source, lane)], w).astype(I32)

    up, down, bfly = lane - 3, lane + 5, lane ^ 9
    wide = np.where(lane >= 1, w[:, np.maximum(lane - 1, 0)], w) * 0x100000007
    want = [
        take((lane * 7 + 3) % 32),
        take(up, up >= segment(16)),
        take(down, down < segment(8) + 8),
        take(bfly, bfly < segment(16) + 16),
        take(segment(8) + ((lane & 7) + 1) % 8),
        ((wide >> 32) ^ wide).astype(I64).astype(I32),
    ]
    out = Output(I32, 6 * n)
    return Launch([x, out, I32(n)], same(out, np.concatenate([a.ravel() for a in want])), 1, n)


@case("warps.cu", "partial")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, 0, 9, n, U32)
    want = []
    for w in x.reshape(-1, 32).astype(int):
        for lane in range(32):
            v = w[lane]
            if lane < 3:
                r = w[2] + sum((w[k] & 1) << k for k in range(3))
            elif lane < 16:
                r = w[lane + 1 if lane < 15 else 3] ^ (0x80000000 if (w[3:16] == 0).any() else 0)
            elif lane & 1:
                r = w[lane ^ 2] + (0x10000 if (w[17::2] > 5).all() else 0)
            else:
                r = 0x55550000 ^ sum(1 << k for k in range(16, 32, 2) if w[k] & 3 == v & 3)
            want.append(r)
    out = Output(U32, n)
    return Launch([x, out, I32(n)], same(out, np.array(want, U32)), 1, n)


@case("warps.cu", "matches")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, 0, 6, n, U64) * U64(0x1000000000000001)
    x[32:] = ints(rng, 0, 2, 32, U64)
    w = x.reshape(-1, 32)
    equal = w[:, :, None] == w[:, None, :]
    masks = (equal * (U64(1) << np.arange(32, dtype=U64))).sum(2).astype(U32)
    same_top = ((w >> U64(60)) == (w[:, :1] >> U64(60))).all(1)
    want = np.repeat(np.where(same_top, 32, -1), 32).astype(I32)
    out, every = Output(U32, n), Output(I32, n)
    return Launch([x, out, every, I32(n)], sames((out, masks.ravel()), (every, want)), 1, n)


@case("warps.cu", "aggregate")
def _(rng) -> Launch:
    n = 300
    x = ints(rng, 0, 100, n)
    counter, out = InOut(np.array([1000], I32)), Output(I32, n)

    def check(test, result):
        taken = result[out][x % 3 != 0]
        test.assert_same(result[out][x % 3 == 0], np.full(n - len(taken), -1, I32))
        test.assert_same(np.sort(taken), 1000 + np.arange(len(taken), dtype=I32))
        test.assertEqual(result[counter][0], 1000 + len(taken))

    return Launch([x, counter, out, I32(n)], check, blocks(n, 96), 96)


@case("warps.cu", "reduxes", least_sm=80)
def _(rng) -> Launch:
    n = 64
    x = ints(rng, -(2**31), 2**31, n)
    out = InOut(np.full(8 * n, 77, U32))
    want = np.full((8, 2, 32), 77, U32)
    for w in range(2):
        s = x[32 * w : 32 * w + 21]
        u = s.view(U32)
        results = [u.sum(dtype=U32), s.min().view(U32), s.max().view(U32), u.min(), u.max()]
        results += [np.bitwise_and.reduce(u), np.bitwise_or.reduce(u), np.bitwise_xor.reduce(u)]
        want[:, w, :21] = np.array(results)[:, None]
    return Launch([x, out], same(out, want.ravel()), 1, n)


@case("warps.cu", "barriers")
def _(rng) -> Launch:
    n = 192
    x = ints(rng, -20, 20, n)
    x[77] = 17
    half = n // 2
    want = [np.full(n, (x > 0).sum()), np.ones(n), np.ones(n), np.concatenate([x[:half][::-1], x[:half]])]
    out = Output(I32, 4 * n)
    return Launch([x, out, I32(n)], same(out, np.concatenate(want).astype(I32)), 1, n)


@case("warps.cu", "divergent")
def _(rng) -> Launch:
    n, limit = 250, 80
    x = ints(rng, 0, 5000, n, U32)
    want = []
    for v in x.tolist():
        odd = steps = 0
        while v > 1 and steps < limit:
            odd += v % 2
            v = 3 * v + 1 if v % 2 else v // 2
            steps += 1
        want.append(-odd if v > 1 else steps * 1000 + odd)
    out = Output(I32, n)
    return Launch([x, out, I32(n), I32(limit)], same(out, np.array(want, I32)), blocks(n, 64), 64)


# ---- groups.cu ----


@case("groups.cu", "tiles")
def _(rng) -> Launch:
    n = 96
    x = ints(rng, 0, 6, n)
    rank = np.arange(n)
    rows = []
    for width in (4, 16, 32):
        sums = np.repeat(x.reshape(-1, width).sum(1), width)
        rows.append(sums + rank % width + 100 * (rank // width))
    t = x.reshape(-1, 8)
    bits = ((t & 1) << np.arange(8)).sum(1) | (t == 3).any(1) << 8 | (t > 0).all(1) << 9
    rows.append(np.repeat(bits, 8))
    rows.append((((t[:, :, None] & 1) == (t[:, None, :] & 1)) << np.arange(8)).sum(2).ravel())
    out = Output(I32, 5 * n)
    return Launch([x, out], same(out, np.concatenate(rows).astype(I32)), 1, n)


@case("groups.cu", "reduces")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, -1000, 1000, n)
    t = x.reshape(-1, 16)
    scan = np.cumsum(t, 1)
    rows = [np.repeat(f(t), 16) for f in (lambda a: a.sum(1), lambda a: a.max(1))]
    rows += [np.repeat(np.bitwise_xor.reduce(t, 1), 16), scan.ravel(), (scan - t).ravel()]
    out, floats = Output(I32, 5 * n), Output(F32, n)
    least = np.repeat(t.min(1), 16).astype(F32)
    return Launch([x, out, floats], sames((out, np.concatenate(rows).astype(I32)), (floats, least)), 1, n)


@case("groups.cu", "coalesced")
def _(rng) -> Launch:
    n, block = 150, 96
    x = ints(rng, 0, 100, n)
    want = np.zeros(n, I32)
    for start in range(0, n, 32):
        w = x[start : start + 32]
        odd = np.flatnonzero(w & 1)
        for rank, k in enumerate(odd):
            want[start + k] = w[odd[-1]] * 64 + rank + int(w[odd].sum()) * 4096
        for label in range(0, 8, 2):
            members = np.flatnonzero(((w & 1) == 0) & ((w & 6) == label))
            for rank, k in enumerate(members):
                want[start + k] = len(members) * 64 + rank
    out = Output(I32, n)
    return Launch([x, out, I32(n)], same(out, want), blocks(n, block), block)


@case("groups.cu", "wholeGrid")
def _(rng) -> Launch:
    n, block = 192, 64
    x = ints(rng, 0, 100, n)
    between, counts, out = Output(I32, n), InOut(np.zeros(4, I32)), Output(I32, n)
    warps = x.reshape(-1, 32) & 3
    alike = (warps[:, :, None] == warps[:, None, :]).sum(2).ravel()
    total = np.bincount(x & 3, minlength=4)
    want = x[::-1] * 2 + alike * 1000 + (x & 3) + 100000 * total[x & 3]
    check = sames((out, want.astype(I32)), (counts, total.astype(I32)), (between, 2 * x))
    return Launch([x, between, counts, out], check, n // block, block)


# ---- calls.cu ----


@case("calls.cu", "recursion")
def _(rng) -> Launch:
    n = 40
    x = ints(rng, 0, 11, n, U32)
    numbers = [0, 1]
    while len(numbers) < 12:
        numbers.append(numbers[-1] + numbers[-2])
    out = Output(U32, n)
    return Launch([x, out, I32(n)], same(out, np.array(numbers, U32)[x]), 1, 64)


@case("calls.cu", "structures")
def _(rng) -> Launch:
    pair = np.dtype({"names": ["a", "b", "c"], "formats": ["<i8", "<i4", "i1"], "itemsize": 16})
    n = 77
    x = np.zeros(n, pair)
    x["a"], x["b"], x["c"] = (ints(rng, -(2**40), 2**40, n, I64), ints(rng, -99, 99, n), ints(rng, -128, 128, n))
    base = np.zeros(1, pair)
    base["a"], base["b"], base["c"] = -123456789012, 77, -100
    path = mtlc_testing.scratch("pair.bin")
    with open(path, "wb") as file:
        file.write(base.tobytes())
    out = InOut(np.full(2 * n, -1, I64))

    def check(test, result):
        got = result[out].view(pair)
        test.assert_same(got["a"], base["a"] * (np.arange(n) - 3) - x["a"])
        test.assert_same(got["b"], base["b"] ^ x["b"])
        test.assert_same(got["c"], base["c"] + x["c"])

    return Launch([Raw(f"bytes:{path}"), x.view(I64), out, I32(n)], check, blocks(n, 64), 64)


@case("calls.cu", "pointers")
def _(rng) -> Launch:
    n = 150
    x = ints(rng, -1000, 1000, n)
    k = (x + np.arange(n)) & 3
    want = np.choose(k, [x + 3, x * x, (x * x + 3) ^ 5, -x]).astype(I32)
    out = Output(I32, n)
    return Launch([x, out, I32(n)], same(out, want), blocks(n, 64), 64)


@case("objects.cu", "virtuals")
def _(rng) -> Launch:
    n = 90
    kinds = ints(rng, 0, 3, n)
    i = np.arange(n, dtype=F64)
    areas, corners = Output(F64, n), Output(I32, n)
    want = np.choose(kinds, [3 * i * i, i * 2.5, 6 * i * i])
    check = sames((areas, want), (corners, np.array([0, 4, 8], I32)[kinds]))
    return Launch([kinds, areas, corners, I32(n)], check, blocks(n, 64), 64)


@case("objects.cu", "machine")
def _(rng) -> Launch:
    code = [4, 1, 6]  # Push 1, swap: the stack is (s, n) with s = 1.
    loop = len(code)
    code += [6, 4, 3, 3, 6]  # s = 3 * s
    code += [7, 1, 5, loop]  # n >>= 1; again while n > 0
    code += [8, 0]  # Drop n; the result is s.
    n = 120
    x = ints(rng, -5, 2000, n)
    want = []
    for v in x.tolist():
        s = 1
        while True:
            s *= 3
            v >>= 1
            if v <= 0:
                break
        want.append(s)
    out = Output(I32, n)
    return Launch([np.array(code, np.uint8), x, out, I32(n)], same(out, np.array(want, I32)), blocks(n, 64), 64)


@case("calls.cu", "barrierInCall")
def _(rng) -> Launch:
    x = ints(rng, -1000, 1000, 96)
    out = Output(I32, 192)
    want = np.concatenate([np.roll(x, -1), np.roll(x, -2) * 2]).astype(I32)
    return Launch([x, out], same(out, want), 2, 96)


# ---- memory.cu ----


@case("memory.cu", "unions")
def _(rng) -> Launch:
    n = 99
    x = rng.normal(size=n).astype(F32)
    b = x.view(np.uint8).reshape(n, 4)[:, [3, 1, 2, 0]].copy().view(U32).ravel()
    middle = ((b >> U32(5)) + U32(3)) & U32(0x7FF)
    out = Output(U32, n)
    return Launch([x, out, I32(n)], same(out, (b & ~U32(0x7FF << 5)) | middle << U32(5)), 2, 64)


@case("memory.cu", "localSort")
def _(rng) -> Launch:
    n = 75
    x = ints(rng, -100, 100, 8 * n, np.int16)
    out = Output(np.int16, 8 * n)
    return Launch([x, out, I32(n)], same(out, np.sort(x.reshape(n, 8), 1).ravel()), 2, 64)


@case("memory.cu", "vectors")
def _(rng) -> Launch:
    n = 70
    x, s = rng.normal(size=2 * n) * 1e12, ints(rng, -(2**15), 2**15, 4 * n, np.int16)
    c, out = Output(np.uint8, 4 * n), Output(I64, 2 * n)
    t = s.reshape(n, 4)
    whole = np.trunc(x).astype(I64).reshape(n, 2) + np.stack([np.zeros(n, I64), t[:, 3]], 1)
    check = sames((c, (t >> np.arange(4, dtype=np.int16)).astype(np.uint8).ravel()), (out, whole.ravel()))
    return Launch([x, s, c, out, I32(n)], check, 2, 64)


@case("types.cu", "runtimeArrays")
def _(rng) -> Launch:
    n = 60
    x = ints(rng, 1, 20, n)
    want = []
    for i, m in enumerate(x.tolist()):
        total = 0
        for k in range(m - 1, -1, -1):
            total = total * 3 + k * i
        for r in range(3):
            total += sum((k + r) * (r + 1) for k in range(0, m, 2))
        want.append((total + 2**31) % 2**32 - 2**31)
    out = Output(I32, n)
    return Launch([x, out, I32(n)], same(out, np.array(want, I32)), 1, 64)


@case("memory.cu", "unaligned")
def _(rng) -> Launch:
    n = 61
    record = np.dtype([("tag", "u1"), ("value", "<u4"), ("small", "<u2")])
    x = ints(rng, 0, 256, 7 * n, np.uint8)
    r = x.view(record)
    out = Output(U32, n)
    want = (r["value"].astype(U64) + r["tag"].astype(U64) * r["small"]).astype(U32)
    return Launch([x, out, I32(n)], same(out, want), 1, 64)


@case("memory.cu", "heap")
def _(rng) -> Launch:
    n = 80
    x = ints(rng, 0, 12, n)
    want = [i * k * (k - 1) // 2 + sum(range(k // 2, k + 1)) for i, k in enumerate(x.tolist())]
    out = Output(I32, n)
    return Launch([x, out, I32(n)], same(out, np.array(want, I32)), 2, 64)


@case("memory.cu", "tables")
def _(rng) -> Launch:
    n = 50
    x = ints(rng, 0, 100, n)
    places = [[11, 13, 0], [7, 11, 13]]
    names = ["zero", "one", "two and more"]
    want = []
    for v in x.tolist():
        k = v % 3
        want.append([0.5, -1.25, 1e300][k] * (places[k & 1][k] + 100 * len(names[k]) + 10000 * ord(names[k][k])))
    out = Output(F64, n)
    return Launch([x, out, I32(n)], same(out, np.array(want)), 1, 64)


@case("memory.cu", "spaces")
def _(rng) -> Launch:
    n = 64
    x = ints(rng, 0, 9, n)
    g = x[:3] @ [1, 10, 100]
    t = np.arange(n)
    want = np.choose(t % 3, [g + 200000, g + 111 + 100000, t + 210 + 400000]).astype(I32)
    out = Output(I32, n)
    return Launch([x, out], same(out, want), 1, n)


# ---- output.cu ----


def lines_equal(want: list[str]) -> Callable:
    """Lines of one thread come in order; threads may interleave."""

    def check(test, result):
        test.assertEqual(sorted(result.stdout.splitlines()), sorted(want))

    return check


@case("output.cu", "formats")
def _(rng) -> Launch:
    x = np.array([-12, 34567, -3, 4], I32)
    d = np.array([1.5, -2.0 / 3, 1e9 / 7, 12345.678, 1e-7, 1e20, 0.15625])
    u = 2**32 - 3
    want = ["start: 100% of all"]
    for t in range(2):
        want.append("[%d] %5d|%-6d|%06d|%+d|% d" % (t, *[x[t]] * 5))
    want.append("%x %X %#x %o %u %c %d" % (u, u, u, u, u, "e", -3))
    want.append(f"15 {2**63} 123456789abcdef -7 8")
    want.append("%f %.3f %10.2f|%-10.1e|%g %G " % tuple(d[:6]) + "0x1.4p-3")
    want.append("    42|43    |-0.67|text|     right|left      |cu")
    want.append("no arguments")
    return Launch([x, d], lines_equal(want), 1, 4)


@case("output.cu", "asserting")
def _(rng) -> Iterator[Launch]:
    x = np.arange(20, 84, dtype=I32)
    out = Output(I32, 64)
    yield Launch([x, out], same(out, x + 1), 1, 64)
    x = x.copy()
    x[37] = 13

    def check(test, result):
        for part in ("x[threadIdx.x] != 13", "output.cu", "asserting"):
            test.assertIn(part, result.stderr)

    yield Launch([x, Output(I32, 64)], check, 1, 64, returncode=1)
