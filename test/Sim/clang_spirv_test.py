"""SPIR-V that clang and llvm-spirv make of OpenCL C, on the simulator with all checks on: results against NumPy, no reports.

Some of the modules also run on an OpenCL device where there is one.
"""

import os
import shutil
import subprocess

import mtlc_exec
import mtlc_testing
import numpy as np
from clang_spirv_cases import CL12, CL20, SOURCE
from cuda_launch import of

CLANG = next((p for p in map(shutil.which, ("clang", "clang-14")) if p), None)
TRANSLATOR = next((p for p in map(shutil.which, ("llvm-spirv", "llvm-spirv-15")) if p), None)


def compile_opencl(source: str, standard: str, level: str, extra: list[str] = []) -> str:
    """A .spv file. Validators refuse what this llvm-spirv writes as version 1.4: interfaces lack variables."""
    stem = mtlc_testing.scratch(f"k{standard}{level}{len(extra)}")
    commands = [
        [CLANG, "-x", "cl", "-target", "spir64", f"-cl-std=CL{standard}", "-Xclang", "-finclude-default-header", "-ffp-contract=off", level, *extra,
         "-emit-llvm", "-c", source, "-o", f"{stem}.bc"],
        [TRANSLATOR, "--spirv-max-version=1.3", f"{stem}.bc", "-o", f"{stem}.spv"],
    ]  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\n{done.stderr}")
    return f"{stem}.spv"


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
