"""Every example against NumPy, at awkward sizes, at -O0 and -O, on every device that runs here.

Where the kernel's order of operations is fixed, the expected value repeats it in NumPy's float32 and the comparison is bit
for bit; elsewhere it is float64 with the bound given. Outputs start as NaN or a canary, and so do the cells between rows.
"""

import functools

import numpy as np

import mtlc_testing
from mtlc_launch import CONFIGURATIONS, Out, launch

NAN = np.float32(np.nan)


def f32(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def cases(*values):
    """Runs a test method on each value (a tuple gives several arguments) in each configuration, as subtests."""

    def decorate(method):
        @functools.wraps(method)
        def run(self):
            for value in values:
                arguments = value if isinstance(value, tuple) else (value,)
                for device, optimise in CONFIGURATIONS:
                    with self.subTest(case=value, device=device, O=int(optimise)):
                        method(self, *arguments, {"device": device, "optimise": optimise})

        return run

    return decorate


class Example(mtlc_testing.TestCase):
    def same_bits(self, got: np.ndarray, want: np.ndarray) -> None:
        self.assertEqual(got.dtype, want.dtype)
        np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), want.view(f"u{want.itemsize}"))


class Elementwise(Example):
    @cases(0, 1, 31, 257, 1000)
    def test_vadd(self, n, how):
        rng = np.random.default_rng(1)
        a, b = f32(rng, n + 3), f32(rng, n + 3)
        c = np.full(n + 3, NAN)
        want = c.copy()
        want[:n] = a[:n] + b[:n]
        got = launch("examples/vadd.mettle", "vadd", max(1, -(-n // 128)), 128, [a, b, Out(c), ("i32", n)], **how)
        self.same_bits(got[2], want)

    @cases(1, 63, 500)
    def test_saxpy(self, n, how):
        rng = np.random.default_rng(2)
        x, y = f32(rng, n), f32(rng, n)
        alpha = np.float32(1.7)
        got = launch("examples/saxpy.mettle", "saxpy", 4, 128, [x, Out(y), ("f32", 1.7), ("i32", n)], **how)
        self.same_bits(got[1], alpha * x + y)

    @cases(300)
    def test_saxpy_contract_gives_one_of_two_roundings(self, n, how):
        rng = np.random.default_rng(3)
        x, y = f32(rng, n), f32(rng, n)
        alpha = np.float32(1.7)
        got = launch(
            "examples/saxpy.mettle", "saxpy_contract", 3, 128, [x, Out(y), ("f32", 1.7), ("i32", n)], **how
        )[1]
        two = alpha * x + y
        # The product is exact in float64, and so is nearly every sum; rounding it again is the fused result.
        one = (np.float64(alpha) * x + y).astype(np.float32)
        self.assertTrue(np.all((got == two) | (got == one)))

    @cases((1, 8), (77, 16), (256, 32))
    def test_dequantize_u4(self, n, group, how):
        rng = np.random.default_rng(4)
        q = rng.integers(0, 16, n + n % 2).astype(np.uint8)
        packed = q[0::2] | (q[1::2] << 4)
        groups = -(-n // group)
        scales, zeros = f32(rng, groups), rng.integers(0, 16, groups).astype(np.uint8)
        y = np.full(n + 2, NAN)
        want = y.copy()
        g = np.arange(n) // group
        want[:n] = (q[:n].astype(np.int32) - zeros[g]).astype(np.float32) * scales[g]
        got = launch(
            "examples/dequantize.mettle",
            "dequantize_u4",
            3,
            96,
            [packed, scales, zeros, Out(y), ("i32", n), ("i32", group)],
            **how,
        )
        self.same_bits(got[3], want)

    @cases(512, 511)
    def test_dequantize_i4_all_codes(self, n, how):
        codes = np.arange(256, dtype=np.uint8)
        low, high = (codes & 15).astype(np.int32), (codes >> 4).astype(np.int32)
        values = np.stack([low, high], axis=1).reshape(-1)
        values = np.where(values >= 8, values - 16, values)
        y = np.full(512, NAN)
        want = y.copy()
        want[:n] = values[:n].astype(np.float32) * np.float32(0.375)
        got = launch(
            "examples/dequantize.mettle", "dequantize_i4", 4, 128, [codes, Out(y), ("i32", n), ("f32", 0.375)], **how
        )
        self.same_bits(got[1], want)


class Rows(Example):
    @cases((1, 1, 0, 32), (3, 33, 5, 32), (2, 300, 1, 128), (2, 7, 9, 64))
    def test_softmax(self, rows, columns, pad, items, how):
        rng = np.random.default_rng(5)
        x = np.full((rows, columns + pad), NAN)
        x[:, :columns] = f32(rng, rows, columns) * 20
        if columns > 5:
            x[0, 3] = -np.inf
            x[rows - 1, :columns] += np.float32(80.0)
        y = np.full((rows, columns + pad + 2), NAN)
        got = launch(
            "examples/softmax.mettle",
            "softmax",
            rows,
            items,
            [x, Out(y), ("i32", columns), ("i32", columns + pad), ("i32", columns + pad + 2)],
            **how,
        )[1]
        e = x[:, :columns].astype(np.float64)
        e = np.exp(e - e.max(axis=1, keepdims=True))
        want = e / e.sum(axis=1, keepdims=True)
        # exp: the argument's subtraction is rounded once (half an ulp of up to ~120), exp itself is good to 2 ulp.
        np.testing.assert_allclose(got[:, :columns], want, rtol=2e-5, atol=1e-38)
        self.assertTrue(np.isnan(got[:, columns:]).all())

    @cases((1, 1, 0, 32), (3, 45, 3, 32), (2, 257, 7, 128))
    def test_layernorm(self, rows, columns, pad, items, how):
        rng = np.random.default_rng(6)
        x = np.full((rows, columns + pad), NAN)
        x[:, :columns] = f32(rng, rows, columns) * 3 + 1
        gamma, beta = f32(rng, columns), f32(rng, columns)
        y = np.full((rows, columns + pad), NAN)
        got = launch(
            "examples/layernorm.mettle",
            "layernorm",
            rows,
            items,
            [
                x,
                gamma,
                beta,
                Out(y),
                ("i32", columns),
                ("i32", columns + pad),
                ("i32", columns + pad),
                ("f32", 1e-5),
            ],
            **how,
        )[3]
        d = x[:, :columns].astype(np.float64)
        want = (d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * gamma + beta
        np.testing.assert_allclose(got[:, :columns], want, rtol=1e-4, atol=2e-5)
        self.assertTrue(np.isnan(got[:, columns:]).all())


class Collective(Example):
    @cases((0, 1), (1, 1), (1000, 2), (2049, 3))
    def test_reduce(self, n, groups, how):
        rng = np.random.default_rng(7)
        x = f32(rng, n + 1)
        x[n] = NAN
        partial = np.full(groups, NAN)
        got = launch(
            "examples/reduce.mettle", "reduce_sum", groups, 256, [x, Out(partial), ("i64", n)], **how
        )[1]
        want = []
        for g in range(groups):
            lanes = np.zeros(256, np.float32)
            for start in range(g * 256, n, groups * 256):
                part = x[start : min(start + 256, n)]
                lanes[: len(part)] += part
            step = 128
            while step:
                lanes[:step] += lanes[step : 2 * step]
                step //= 2
            want.append(lanes[0])
        self.same_bits(got, np.array(want, np.float32))

    @cases((1, 32), (100, 64), (257, 96))
    def test_scan(self, n, items, how):
        rng = np.random.default_rng(8)
        x = rng.integers(-(2**31), 2**31, n, dtype=np.int64).astype(np.int32)
        groups = -(-n // items)
        y, totals = np.full(n + 1, 77, np.int32), np.full(groups, 77, np.int32)
        got = launch(
            "examples/scan.mettle",
            "scan_blocks",
            groups,
            items,
            [x, Out(y), Out(totals), ("i32", n)],
            shared=2 * 4 * items,
            **how,
        )
        padded = np.zeros(groups * items, np.int32)
        padded[:n] = x
        sums = np.cumsum(padded.reshape(groups, items), axis=1, dtype=np.int32)
        self.same_bits(got[1], np.append(sums.reshape(-1)[:n], np.int32(77)))
        self.same_bits(got[2], np.ascontiguousarray(sums[:, -1]))
        offsets = np.cumsum(got[2], dtype=np.int32)
        full = launch(
            "examples/scan.mettle", "add_offsets", groups, items, [Out(got[1][:n]), offsets, ("i32", n)], **how
        )[0]
        self.same_bits(full, np.cumsum(x, dtype=np.int32))

    @cases((0, 1), (63, 1), (1000, 3))
    def test_histogram(self, n, groups, how):
        rng = np.random.default_rng(9)
        x = rng.integers(0, 256, n + 1).astype(np.uint8)
        rows = np.full((groups, 16), 0xCDCDCDCD, np.uint32)
        got = launch("examples/histogram.mettle", "histogram16", groups, 64, [x, Out(rows), ("i32", n)], **how)[1]
        self.assertEqual(got.sum(axis=0).tolist(), np.bincount(x[:n] >> 4, minlength=16).tolist())


class Matrices(Example):
    def strided(self, rng, rows, columns, stride):
        m = np.full((rows, stride), NAN)
        m[:, :columns] = f32(rng, rows, columns)
        return m

    @cases(
        *[("matmul_tiled", *size) for size in [(16, 16, 16), (17, 9, 33), (1, 1, 1), (24, 40, 17), (5, 3, 0)]],
        ("matmul_naive", 17, 9, 33),
    )
    def test_matmul(self, kernel, m, n, k, how):
        rng = np.random.default_rng(10)
        lda, ldb, ldc = k + 7, n + 2, n + 5
        a, b = self.strided(rng, m, k, lda), self.strided(rng, max(k, 1), n, ldb)
        c = np.full((m, ldc), NAN)
        got = launch(
            "examples/matmul.mettle",
            kernel,
            (-(-n // 16), -(-m // 16)),
            (16, 16),
            [a, b, Out(c)] + [("i32", v) for v in (m, n, k, lda, ldb, ldc)],
            **how,
        )[2]
        want = c.copy()
        sums = np.zeros((m, n), np.float32)
        for i in range(k):
            sums += a[:, i : i + 1] * b[i : i + 1, :n]
        want[:, :n] = sums
        # Zero-filled edges add +0 products, which change no sum but that of a lone −0.
        np.testing.assert_array_equal(got, want)

    @cases((1, 1), (16, 16), (35, 19))
    def test_stencil(self, height, width, how):
        rng = np.random.default_rng(11)
        stride = width + 3
        x = self.strided(rng, height, width, stride)
        y = np.full((height, stride), NAN)
        got = launch(
            "examples/stencil.mettle",
            "stencil5",
            (-(-width // 16), -(-height // 16)),
            (16, 16),
            [x, Out(y), ("i32", height), ("i32", width), ("i32", stride), ("f32", 0.5), ("f32", 0.125)],
            **how,
        )[1]
        p = np.pad(x[:, :width], 1)
        sides = (p[1:-1, :-2] + p[1:-1, 2:]) + (p[:-2, 1:-1] + p[2:, 1:-1])
        want = y.copy()
        want[:, :width] = np.float32(0.5) * p[1:-1, 1:-1] + np.float32(0.125) * sides
        np.testing.assert_array_equal(got, want)

    @cases((1, 1), (32, 32), (37, 70))
    def test_transpose(self, height, width, how):
        rng = np.random.default_rng(12)
        x = f32(rng, height, width)
        y = np.full((width, height), NAN)
        got = launch(
            "examples/transpose.mettle",
            "transpose",
            (-(-width // 32), -(-height // 32)),
            (32, 8),
            [x, Out(y), ("i32", height), ("i32", width)],
            **how,
        )[1]
        self.same_bits(got, np.ascontiguousarray(x.T))


class GpuOperations(Example):
    """Exact inputs, so that every order of additions gives the same numbers."""

    def launched(self, how: dict, *args) -> dict[int, np.ndarray]:
        return launch(*args, **how)

    @cases((1, 1), (31, 48), (1000, 64), (257, 257))
    def test_subgroup_sum(self, n, block, how):
        x = np.random.default_rng(20).integers(1, 1 << 16, n, np.int32)
        zero = np.zeros(1, np.int32)
        grid = -(-n // block)
        got = self.launched(
            how, "examples/subgroup_reduce.mettle", "subgroup_sum", grid, block, [x, Out(zero), Out(zero), ("i32", n)]
        )
        self.assertEqual((got[1][0], got[2][0]), (x.sum(), x.max()))

    @cases((0, 32), (1, 32), (3000, 96), (777, 33))
    def test_byte_histogram(self, n, block, how):
        x = (np.random.default_rng(21).integers(0, 256, max(n, 1)) // 3 * 3).astype(np.uint8)
        bins = np.full(257, 5, np.uint32)
        want = bins.copy()
        want[:256] += np.bincount(x[:n], minlength=256).astype(np.uint32)
        got = self.launched(
            how, "examples/atomic_histogram.mettle", "byte_histogram", 3, block, [x, Out(bins), ("i32", n)]
        )
        self.same_bits(got[1], want)

    @cases(1, 2, 5)
    def test_async_stencil(self, tiles, how):
        x = f32(np.random.default_rng(22), tiles * 256 + 8)
        y = np.full(tiles * 256 + 1, NAN)
        want = y.copy()
        want[:-1] = (x[3:-5] + x[4:-4] + x[5:-3]) * np.float32(0.25)
        got = self.launched(how, "examples/async_stencil.mettle", "async_stencil", 1, 64, [x, Out(y), ("i32", tiles)])
        self.same_bits(got[1], want)

    @cases((1, 1), (32, 8), (45, 19))
    def test_transfer_transpose(self, width, height, how):
        x = f32(np.random.default_rng(25), height, width)
        y = np.full(width * height + 3, NAN)
        want = y.copy()
        want[: width * height] = x.T.ravel()
        got = self.launched(
            how,
            "examples/tensor_transfer.mettle",
            "transfer_transpose",
            (-(-width // 32), -(-height // 8)),
            64,
            [x, Out(y), ("u32", width), ("u32", height)],
        )
        self.same_bits(got[1], want)

    @cases((16, 8, 16), (32, 24, 48))
    def test_gemm_f16(self, m, n, k, how):
        rng = np.random.default_rng(23)
        lda, ldb, ldc = k + 16, k + 8, n + 4
        a = np.full((m, lda), np.nan, np.float16)
        b = np.full((n, ldb), np.nan, np.float16)
        a[:, :k] = rng.integers(-8, 9, (m, k))
        b[:, :k] = rng.integers(-8, 9, (n, k)) / 4
        c = np.full((m, ldc), NAN)
        c[:, :n] = 0
        want = c.copy()
        want[:, :n] = a[:, :k].astype(np.float64) @ b[:, :k].astype(np.float64).T
        strides = [("u32", v) for v in (lda, ldb, ldc)]
        bits = [a.view(np.uint16), b.view(np.uint16)]
        got = self.launched(
            how, "examples/tensor_gemm.mettle", "gemm_f16", (n // 8, m // 16), 32, [*bits, Out(c), ("i32", k), *strides]
        )
        self.same_bits(got[2], want)

    @cases((16, 16, 1), (32, 16, 33))
    def test_linear_relu(self, m, n, k, how):
        rng = np.random.default_rng(24)
        a = rng.integers(-8, 9, (m, k)).astype(np.float16)
        b = rng.integers(-8, 9, (n, k)).astype(np.float16)
        bias = rng.integers(-64, 65, n).astype(np.float32)
        d = np.full((m, n), NAN)
        sums = a.astype(np.float64) @ b.astype(np.float64).T + bias
        bits = [a.view(np.uint16), b.view(np.uint16)]
        got = self.launched(
            how,
            "examples/tensor_gemm.mettle",
            "linear_relu",
            (n // 16, m // 16),
            32,
            [*bits, Out(d), bias, ("u32", n), ("u32", k)],
        )
        np.testing.assert_array_equal(got[2], np.maximum(sums, 0).astype(np.float32))

    @cases(0, 1)
    def test_scaled_fp8(self, seed, how):
        rng = np.random.default_rng(seed)
        # Codes of e4m3 with a zero sign and exponents 6 to 8: value = (1 + mantissa / 8) * 2^(exponent - 7).
        codes_a = (rng.integers(6, 9, (16, 64)) << 3 | rng.integers(0, 8, (16, 64))).astype(np.uint8)
        codes_b = (rng.integers(6, 9, (8, 64)) << 3 | rng.integers(0, 8, (8, 64))).astype(np.uint8)
        scales_a = rng.integers(126, 130, (16, 2)).astype(np.uint8)
        scales_b = rng.integers(126, 130, (8, 2)).astype(np.uint8)

        def value(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
            plain = (1 + (codes & 7) / 8.0) * 2.0 ** ((codes >> 3).astype(float) - 7)
            return plain * np.repeat(2.0 ** (scales.astype(float) - 127), 32, axis=1)

        c = rng.integers(-9, 10, (16, 8)).astype(np.float32)
        want = c + value(codes_a, scales_a) @ value(codes_b, scales_b).T
        got = self.launched(
            how,
            "examples/tensor_gemm.mettle",
            "scaled_fp8",
            1,
            32,
            [codes_a, codes_b, c, Out(np.full((16, 8), NAN)), scales_a, scales_b],
        )
        np.testing.assert_array_equal(got[3], want.astype(np.float32))


if __name__ == "__main__":
    mtlc_testing.main()
