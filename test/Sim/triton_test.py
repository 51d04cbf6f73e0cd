"""PTX that Triton makes, on the simulator with all checks on: matrix products with masks, softmax, layer norm, attention,
FP8 and block-scaled products, for sm_80 (mma.sync, cp.async), sm_90 (wgmma) and sm_120.

Triton is no requirement of the project: MTLC_TRITON_PYTHON names a Python that has it (bazel test --test_env=…).
"""

import json
import os
import subprocess
import zlib

import mtlc_exec
import mtlc_testing
import numpy as np

PYTHON = os.environ.get("MTLC_TRITON_PYTHON", "")


def e4m3(codes: np.ndarray) -> np.ndarray:
    bits = codes.astype(np.int64)
    exponent, mantissa = bits >> 3 & 15, bits & 7
    value = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    return np.where(bits & 0x80, -value, value)


def bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def codes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    c = rng.integers(0, 256, shape).astype(np.uint8)
    return np.where(c & 0x7F == 0x7F, c & 0xF8, c)  # No NaN.


class Triton(mtlc_exec.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = mtlc_testing.scratch("triton")
        os.makedirs(cls.folder, exist_ok=True)
        script = mtlc_testing.data("test/Sim/triton/compile.py")
        subprocess.run([PYTHON, script, cls.folder], check=True, timeout=600, stdout=subprocess.DEVNULL)
        with open(os.path.join(cls.folder, "index.json"), encoding="utf-8") as file:
            cls.kernels = json.load(file)["kernels"]

    def run_kernel(self, file, info, args, grid):
        # Two pointers to scratch memory that the launcher gives.
        args = [*args, np.zeros(16, np.uint8), np.zeros(16, np.uint8)]
        result = mtlc_exec.launch(os.path.join(self.folder, file), info["kernel"], args, grid=grid,
                                  block=32 * info["warps"], shared=info["shared"], timeout=300)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def close(self, got, want, magnitude, terms):
        """Within the bound for sums in float32 of exact products."""
        bound = (terms + 2) * 2.0**-23 * magnitude + 1e-30
        self.assertTrue(np.all(np.abs(got - want) <= bound), float(np.max(np.abs(got - want) / bound)))

    def matmul(self, file, info, rng, kind):
        m, n, k = 70, 50, 75
        lda, ldb, ldc = (80, 64, 64)
        if kind == "f16":
            a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, lda), (k, ldb)))
            left, right = a.astype(np.float64), b.astype(np.float64)
        elif kind == "bf16":
            a, b = (bf16(rng.standard_normal(s)) for s in ((m, lda), (k, ldb)))
            left, right = ((x.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for x in (a, b))
        elif kind == "tf32":
            a, b = (rng.integers(-512, 512, s).astype(np.float32) / 64 for s in ((m, lda), (k, ldb)))  # Exact in tf32.
            left, right = a.astype(np.float64), b.astype(np.float64)
        else:
            a, b = codes(rng, m, lda), codes(rng, k, ldb)
            left, right = e4m3(a), e4m3(b)
        c = np.full((m, ldc), np.nan, np.float32)
        out = mtlc_exec.InOut(c)
        sizes = [np.int32(v) for v in (m, n, k, lda, ldb, ldc)]
        result = self.run_kernel(file, info, [a, b, out, *sizes], [-(-m // info["BM"]), -(-n // info["BN"])])
        got = result[out]
        self.assertTrue(np.all(np.isnan(got[:, n:])))
        left, right = left[:, :k], right[:, :n]
        self.close(got[:, :n], left @ right, np.abs(left) @ np.abs(right), k)

    def softmax(self, file, info, rng):
        rows, n, ld = 3, 1000, 1003
        x = rng.standard_normal((rows, ld)).astype(np.float32) * 5
        out = mtlc_exec.InOut(np.full((rows, ld), np.nan, np.float32))
        result = self.run_kernel(file, info, [x, out, np.int32(n), np.int32(ld)], rows)
        v = x[:, :n].astype(np.float64)
        e = np.exp(v - v.max(1, keepdims=True))
        np.testing.assert_allclose(result[out][:, :n], e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-12)
        self.assertTrue(np.all(np.isnan(result[out][:, n:])))

    def layer_norm(self, file, info, rng):
        rows, n = 3, 300
        x, gain, bias = (rng.standard_normal(s).astype(np.float32) for s in ((rows, n), n, n))
        out = mtlc_exec.Output(np.float32, (rows, n))
        result = self.run_kernel(file, info, [x, gain, bias, out, np.int32(n), np.float32(1e-5)], rows)
        v = x.astype(np.float64)
        want = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * gain + bias
        np.testing.assert_allclose(result[out], want, rtol=1e-4, atol=1e-5)

    def attention(self, file, info, rng):
        t, d = 100, info["D"]
        q, k, v = (rng.standard_normal((t, d)).astype(np.float16) for _ in range(3))
        out = mtlc_exec.Output(np.float32, (t, d))
        result = self.run_kernel(file, info, [q, k, v, out, np.int32(t), np.float32(0.125)], -(-t // info["BM"]))
        s = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
        p = np.exp(s - s.max(1, keepdims=True))
        want = p @ v.astype(np.float64) / p.sum(1, keepdims=True)
        np.testing.assert_allclose(result[out], want, rtol=0, atol=4e-3)  # Weights are rounded to float16.

    def scaled(self, file, info, rng):
        m, n, k = info["BM"], 2 * info["BN"], 2 * info["BK"]
        a, b = codes(rng, m, k), codes(rng, n, k)
        sa, sb = (rng.integers(120, 135, (s, k // 32)).astype(np.uint8) for s in (m, n))
        out = mtlc_exec.Output(np.float32, (m, n))
        sizes = [np.int32(v) for v in (m, n, k)]
        result = self.run_kernel(file, info, [a, sa, b, sb, out, *sizes], [1, 2])
        left = e4m3(a) * np.repeat(2.0 ** (sa.astype(float) - 127), 32, 1)
        right = e4m3(b) * np.repeat(2.0 ** (sb.astype(float) - 127), 32, 1)
        self.close(result[out], left @ right.T, np.abs(left) @ np.abs(right).T, k)

    def test_kernels(self):
        self.assertGreater(len(self.kernels), 20)
        for file, info in self.kernels.items():
            with self.subTest(file=file):
                rng = np.random.default_rng(zlib.crc32(file.encode()))
                job, _, kind = info["job"].partition("_")
                if job == "matmul":
                    self.matmul(file, info, rng, kind)
                else:
                    getattr(self, info["job"])(file, info, rng)


if __name__ == "__main__":
    if not PYTHON:
        mtlc_testing.skip_all("Triton is not installed (MTLC_TRITON_PYTHON)")
    mtlc_testing.main()
