"""Cases of the kernels that use NVIDIA's libraries, and of those about unusual types."""

from collections.abc import Iterator

import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, U64, Launch, blocks, case, ints, same, sames
from mtlc_exec import InOut, Output

# ---- library.cu ----


@case("library.cu", "cubSort")
def _(rng) -> Launch:
    n = 512
    keys, values = ints(rng, -100, 100, n), rng.normal(size=n).astype(F32)
    order = np.argsort(-keys, kind="stable")
    sorted_keys, moved = Output(I32, n), Output(F32, n)
    return Launch([keys, values, sorted_keys, moved], sames((sorted_keys, keys[order]), (moved, values[order])))


@case("library.cu", "cubScan")
def _(rng) -> Iterator[Launch]:
    for n in (1, 50, 96):
        x = ints(rng, 0, 1000, n)
        sums, best, bins = Output(I32, n + 1), Output(I32, 2), Output(U32, 16)
        digits = np.concatenate([x & 15, np.zeros(96 - n, int)])
        want = [
            (sums, np.concatenate([[0], np.cumsum(x)]).astype(I32)),
            (best, np.array([x.max(), np.argmax(x)], I32)),
            (bins, np.bincount(digits, minlength=16).astype(U32)),
        ]
        yield Launch([x, I32(n), sums, best, bins], sames(*want), 1, 96)


@case("library.cu", "cubMerge")
def _(rng) -> Launch:
    x = ints(rng, 0, 2**16, 192, np.uint16)
    out = Output(np.uint16, 192)
    return Launch([x, out], same(out, np.sort(x.reshape(2, 96), 1).ravel()), 1, 64)


@case("library.cu", "cubRank")
def _(rng) -> Launch:
    x = ints(rng, 0, 2**32, 256, U32)
    out = Output(U32, 256)
    return Launch([x, out], same(out, x[np.argsort(x >> 3 & 31, kind="stable")]), 1, 128)


@case("library.cu", "standard")
def _(rng) -> Launch:
    n = 77
    b, c = rng.normal(size=n) * 4, rng.normal(size=n) * 4
    d = b * b - 4 * c
    with np.errstate(invalid="ignore"):
        root = np.sqrt(np.abs(d))
    want = np.where((d >= 0)[:, None], np.stack([(-b - root) / 2, (-b + root) / 2], 1), np.stack([c, 0 * c], 1))
    out = Output(F64, 2 * n)

    def check(test, result):
        # The discriminant cancels; its root has half of the digits at worst.
        bound = 1e-15 * (b * b + np.abs(c) + 1) / np.maximum(root, 1e-8) + 1e-14 * (1 + np.abs(want)).max(1)
        test.assert_close(result[out].reshape(n, 2), want, bound[:, None])

    return Launch([b, c, out, I32(n)], check, 2, 64)


# ---- types.cu ----


def narrow8(x: np.ndarray, exponent: int, mantissa: int, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Nearest-even to an 8-bit float, saturating: the bits, and their values. By search in the list of all values."""
    bias = (1 << (exponent - 1)) - 1
    codes = np.arange(128)
    e, m = codes >> mantissa, codes & ((1 << mantissa) - 1)
    values = np.where(e == 0, m * 2.0 ** (1 - bias - mantissa), (1 + m / (1 << mantissa)) * 2.0 ** (e - bias))
    values, codes = values[values <= largest], codes[values <= largest]
    magnitude = np.minimum(np.abs(x.astype(F64)), largest)
    above = np.minimum(np.searchsorted(values, magnitude), len(values) - 1)
    below = np.maximum(above - 1, 0)
    to_above, to_below = values[above] - magnitude, magnitude - values[below]
    up = (to_above < to_below) | ((to_above == to_below) & (codes[above] % 2 == 0))
    index = np.where(up, above, below)
    return (codes[index] | np.signbit(x) << 7).astype(np.uint8), np.copysign(values[index], x).astype(F32)


@case("types.cu", "float8")
def _(rng) -> Launch:
    n = 200
    x = (rng.normal(size=n) * np.exp2(rng.integers(-18, 20, n))).astype(F32)
    x[:12] = [0, -0.0, 448, 464, 480, -1e9, 2.0**-9, 2.0**-10, 1.0625, 1.1875, 57344, np.inf]
    e4m3, e5m2, back = Output(np.uint8, n), Output(np.uint8, n), Output(F32, 2 * n)
    bits4, values4 = narrow8(x, 4, 3, 448)
    bits5, values5 = narrow8(x, 5, 2, 57344)
    check = sames((e4m3, bits4), (e5m2, bits5), (back, np.concatenate([values4, values5])))
    return Launch([x, e4m3, e5m2, back, I32(n)], check, blocks(n, 128), 64)


@case("types.cu", "wideIntegers")
def _(rng) -> Launch:
    n = 60

    def cut(v: int) -> int:
        v %= 1 << 128
        return v - (1 << 128) if v >> 127 else v

    def random() -> int:
        return cut(int.from_bytes(rng.bytes(16), "little")) >> int(rng.integers(0, 127))

    def words(values: list[int]) -> np.ndarray:
        return np.frombuffer(b"".join((v % (1 << 128)).to_bytes(16, "little") for v in values), I64)

    a, b = [random() for _ in range(n)], [random() or 7 for _ in range(n)]
    rows = [[] for _ in range(9)]
    for x, y in zip(a, b):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        turn = y & 127
        half = int(float(x) * 0.5)
        values = [x + y, x - y, x * y, quotient, x - quotient * y, x >> turn, x << turn, x if x < y else -y, half]
        for row, v in zip(rows, values):
            row.append(cut(v))
    out = Output(I64, 18 * n)
    want = np.concatenate([words(row) for row in rows])
    return Launch([words(a), words(b), out, I32(n)], same(out, want), 1, 64)


@case("types.cu", "narrowAtomics")
def _(rng) -> Launch:
    n = 250
    x = ints(rng, 0, 256, n, np.uint8)
    h, count, least = InOut(np.zeros(1, np.float16)), InOut(np.zeros(8, np.uint8)), InOut(np.zeros(2, np.int16))
    pair = InOut(np.zeros(4, U64))
    check = sames(
        (h, np.array([(x & 1).sum()], np.float16)),
        (count, np.bincount(x & 7, minlength=8).astype(np.uint8)),
        (least, np.array([int(x.min()) - 300, 0], np.int16)),  # The whole word is exchanged.
        (pair, np.array([100, 100, 50, x.max()], U64)),
    )
    return Launch([x, I32(n), h, count, least, pair], check, 3, 100)


@case("types.cu", "wideRows")
def _(rng) -> Launch:
    n = 70
    x = rng.normal(size=(n, 4))
    out = Output(F64, 4 * n)
    want = np.stack([x[:, 3] * 2, x[:, 1], x[:, 2], x[:, 0]], 1)[::-1]
    return Launch([x.ravel(), out, I32(n)], same(out, want.ravel()), 2, 64)


@case("types.cu", "reversed")
def _(rng) -> Iterator[Launch]:
    for base in (2, 7, 10):
        n = 90
        x = ints(rng, 0, base**6, n, U32)
        want = [int(np.base_repr(v, base)[::-1], base) for v in x.tolist()]
        out = Output(U32, n)
        yield Launch([x, out, I32(n), U32(base)], same(out, np.array(want, U32)), 2, 64)


@case("types.cu", "lambdas")
def _(rng) -> Launch:
    n = 130
    x = ints(rng, -1000, 1000, n)
    i = np.arange(n, dtype=I32)
    out = Output(I32, n)
    return Launch([x, out, I32(n)], same(out, ((((x + i) * 2 + i) * 2) ^ 1) + 2000000), 3, 64)
