"""SPIR-V that clang and llvm-spirv make of OpenCL C, on the simulator with all checks on: results against NumPy, no reports."""

import os

import mtlc_exec
import mtlc_testing
import numpy as np
from clang_spirv import CLANG, TRANSLATOR, compile_opencl
from clang_spirv_cases import CL12, CL20, SOURCE
from cuda_launch import of


class ClangSpirv(mtlc_exec.TestCase):
    def test_kernels(self) -> None:
        for standard, level, extra in (("1.2", "-O0", ["-g"]), ("1.2", "-O2", []), ("2.0", "-O0", []), ("2.0", "-O1", []), ("2.0", "-O2", [])):
            module = compile_opencl(mtlc_testing.data(SOURCE), standard, level, extra)
            for c in of(SOURCE):
                if c.kernel in (CL20 if standard < "2.0" else CL12):
                    continue
                with self.subTest(kernel=c.kernel, standard=standard, level=level):
                    c.run(self, module, np.random.default_rng(3))

    def test_other_orders(self) -> None:
        """Seeds choose other orders of the work-items; subgroups of other sizes run in other warps."""
        module = compile_opencl(mtlc_testing.data(SOURCE), "2.0", "-O1")
        for c in of(SOURCE):
            if c.kernel in ("prefix_sums", "bitonic", "turnstile", "spin_lock", "async_copies", "work_groups", "atomics20"):
                for options in (["--seed=7", "--subgroup-size=8"], ["--seed=11", "--subgroup-size=64"]):
                    with self.subTest(kernel=c.kernel, options=" ".join(options)):
                        c.run(self, module, np.random.default_rng(4), options)

    def refused(self, text: str, reason: str) -> None:
        source = mtlc_exec.write_source("refused.cl", text)
        module = compile_opencl(source, "1.2", "-O0", ["-DREFUSED"])
        done = mtlc_exec.launch(module, "k", [mtlc_exec.Output(np.float32, 4)], block=4)
        os.remove(source)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(reason, done.stderr)

    def test_what_is_refused(self) -> None:
        self.refused('kernel void k(global float* x) { printf("%f", x[0]); }', "printf")
        self.refused(
            "kernel void k(read_only image2d_t i, sampler_t s, global float* x) { x[0] = read_imagef(i, s, (int2)(0)).x; }",
            "OpTypeImage",
        )


if __name__ == "__main__":
    if CLANG is None or TRANSLATOR is None:
        mtlc_testing.skip_all("no clang with llvm-spirv")
    mtlc_exec.main()
