"""PTX that nvcc makes of independently written CUDA C++, on the simulator with all checks on: right results, no report.

Each file is compiled for two targets, which differ from file to file; some for all. Two more compilations
of some files differ in their options: debugging information without optimisation, line numbers, fast maths off or on.
"""

import os
import shutil
import subprocess
import zlib

import cuda_cases
import mtlc_exec
import mtlc_testing
import numpy as np

NVCC = next((p for p in ("/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc") if os.path.exists(p)), None) or shutil.which("nvcc")

TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a", "sm_121a"]
EVERYWHERE = {"warps.cu", "objects.cu"}
SLOW = {"library.cu"}  # To compile.
LEAST = {"async.cu": 80, "tma.cu": 90}  # Targets below do not have what the file uses.
ONLY = {"warpgroup.cu": ["sm_90a"]}  # No other target has it.
# Other options, each for some files.
VARIANTS = {
    "-G": ["calls.cu", "objects.cu", "memory.cu", "warps.cu", "reduce.cu", "output.cu"],
    "-O0 -lineinfo": ["sort.cu", "groups.cu"],
    "-O1 -Xcicc -O1 --fmad=false": ["grids.cu"],
    "-jtd 1 -lineinfo": ["objects.cu"],
    "-rdc=true": ["calls.cu", "objects.cu", "memory.cu"],
}


def targets(file: str) -> list[str]:
    if file in ONLY:
        return ONLY[file]
    if file in EVERYWHERE:
        return TARGETS
    start = zlib.crc32(file.encode())
    count = 1 if file in SLOW else 2
    these = [t for t in TARGETS if int("".join(c for c in t if c.isdigit())) >= LEAST.get(file, 0)]
    return sorted({these[(start + k * 3) % len(these)] for k in range(count)}, key=these.index)


def compile_cuda(file: str, arch: str, options: list[str]) -> str:
    out = mtlc_testing.scratch(f"{file}.{arch}.{'_'.join(options).replace('/', '_')}.ptx")
    source = mtlc_testing.data(f"test/Sim/cuda/{file}")
    # nvcc looks for the host's compiler on its path, and keeps its files where TMPDIR says.
    environment = {**os.environ, "TMPDIR": os.environ["TEST_TMPDIR"]}
    environment["PATH"] = f"{os.path.dirname(NVCC)}:/usr/local/bin:/usr/bin:/bin"
    command = [NVCC, f"-arch={arch}", "-w", *options, "-ptx", source, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stderr}")
    return out


class Nvcc(mtlc_exec.TestCase):
    def run_file(self, file: str, arch: str, options: list[str]) -> None:
        ptx = compile_cuda(file, arch, options)
        for case in cuda_cases.of(file):
            if case.least_sm > int("".join(c for c in arch if c.isdigit())):
                continue
            with self.subTest(kernel=case.kernel, arch=arch, options=" ".join(options)):
                seed = zlib.crc32(f"{case.kernel} {arch} {options}".encode())
                # Without optimisation nvcc copies a structure byte for byte, and the host reads the padding that
                # nobody wrote: reading it back is reported, rightly.
                padding = case.kernel == "structures" and "-G" in options
                case.run(self, ptx, np.random.default_rng(seed), ["--check=mem,race,sync"] if padding else [])
        os.remove(ptx)

    def test_every_kernel_has_a_case(self) -> None:
        for file in cuda_cases.files():
            with open(mtlc_testing.data(f"test/Sim/cuda/{file}"), encoding="utf-8") as source:
                count = source.read().count("__global__")
            self.assertEqual(count, len(cuda_cases.of(file)), file)


def add_tests() -> None:
    for file in cuda_cases.files():

        def optimised(self, file=file) -> None:
            for arch in targets(file):
                self.run_file(file, arch, ["-O3"])

        setattr(Nvcc, f"test_{file[:-3]}", optimised)
    for number, (options, files) in enumerate(VARIANTS.items()):

        def variant(self, number=number, options=options, files=files) -> None:
            for k, file in enumerate(files):
                self.run_file(file, TARGETS[(3 * number + 5 * k + 1) % len(TARGETS)], options.split())

        setattr(Nvcc, f"test_options_{number}", variant)


if __name__ == "__main__":
    if NVCC is None:
        mtlc_testing.skip_all("no nvcc")
    add_tests()
    mtlc_exec.main()
