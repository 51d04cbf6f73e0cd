"""OpenCL C to SPIR-V, with clang and llvm-spirv."""

import shutil
import subprocess

import mtlc_testing

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
