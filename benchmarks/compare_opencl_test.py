"""compare_opencl.py at its smallest size: kernels of both languages compile, and give what NumPy does."""

import json
import subprocess
import sys

import mtlc_testing

KERNELS = {"vadd", "saxpy", "softmax", "matmul_naive", "matmul_tiled", "reduce_sum", "stencil5", "transpose", "byte_histogram",
           "nbody", "mandelbrot", "spmv", "scramble"}  # fmt: skip


class CompareOpenCl(mtlc_testing.TestCase):
    def run_script(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, mtlc_testing.data("benchmarks/compare_opencl.py"), f"--mettle={mtlc_testing.tool('mettle')}",
             "--scale=1", "--repeat=1", *args], capture_output=True, text=True, check=False, timeout=200)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        if done.stdout.startswith("skipped: "):
            self.skipTest(done.stdout.strip())
        return done.stdout

    def test_all_kernels(self):
        rows = json.loads(self.run_script("--json"))["rows"]
        self.assertEqual({row["kernel"] for row in rows}, KERNELS)
        for row in rows:
            with self.subTest(kernel=row["kernel"]):
                self.assertGreater(row["ours"], 0)
                self.assertGreater(row["theirs"], 0)

    def test_table(self):
        self.assertRegex(self.run_script("--kernels=vadd"), r"vadd +\d.*\n.*geometric mean of 1 ratios: ")


if __name__ == "__main__":
    mtlc_testing.main()
