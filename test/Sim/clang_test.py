"""PTX that clang's NVPTX target makes of OpenCL C, with and without optimisation, on the simulator with all checks on.

Another dialect than nvcc's: other declarations, vector types, no library.
"""

import os
import subprocess

import mtlc_exec
import mtlc_testing
import numpy as np
from cuda_launch import F32, F64, I32, I64, U32, U64, Launch, blocks, case, ints, of, same

CLANG = next((p for p in ("/usr/bin/clang", "/usr/bin/clang-14") if os.path.exists(p)), None)
SOURCE = "test/Sim/clang/kernels.cl"


@case(SOURCE, "saxpy")
def _(rng) -> Launch:
    n = 333
    x, y = np.round(rng.normal(size=n) * 64).astype(F32), np.round(rng.normal(size=n) * 64).astype(F32)
    out = mtlc_exec.InOut(y)
    return Launch([x, out, F32(0.75), I32(n)], same(out, F32(0.75) * x + y), blocks(n, 96), 96)


@case(SOURCE, "sum")
def _(rng) -> Launch:
    n, grid, block = 1003, 3, 100
    x = ints(rng, -(2**31), 2**31, n)
    owner = np.arange(n) // block % grid
    out = mtlc_exec.Output(I64, grid)
    return Launch([x, out, I32(n)], same(out, [x[owner == b].sum(dtype=I64) for b in range(grid)]), grid, block)


@case(SOURCE, "blend")
def _(rng) -> Launch:
    n = 99
    x, y = rng.uniform(0, 500, (n, 4)).astype(F32), rng.uniform(0, 100, (n, 4)).astype(F32)
    out = mtlc_exec.Output(np.uint8, 4 * n)
    exact = x[:, ::-1].astype(F64) * 0.25 + y[:, [0, 0, 2, 2]]  # Never within rounding of an integer, or seldom.
    x[np.abs(exact - np.rint(exact)).min(1) < 1e-3] = 0
    want = (x[:, ::-1] * F32(0.25) + y[:, [0, 0, 2, 2]]).astype(np.uint8)
    return Launch([x.ravel(), y.ravel(), out, I32(n)], same(out, want.ravel()), blocks(n, 64), 64)


@case(SOURCE, "mix")
def _(rng) -> Launch:
    n = 130
    x = ints(rng, 0, 2**64 - 1, n, U64)
    table, mask, want = [3, 1, 4, 1, 5, 9, 2, 6], 2**64 - 1, []
    for v in x.tolist():
        digits = [v // 97**k % 97 for k in range(8)]
        r = 0
        for k in range(8):
            d = digits[table[k] & 7]
            r = [r * 31 + d, r ^ d << (k * 5), r - d, (r << 7 | r >> 57) + 1, ~r][d % 5] & mask
        want.append(r)
    out = mtlc_exec.Output(U64, n)
    return Launch([x, out, I32(n)], same(out, np.array(want, U64)), blocks(n, 64), 64)


@case(SOURCE, "ranges")
def _(rng) -> Launch:
    n = 70
    x = ints(rng, -100, 100, n)
    limits = np.array([-20, 50], I32).tobytes() + np.array([0.125]).tobytes()
    out = mtlc_exec.Output(F64, n)
    want = np.where((x < -20) | (x > 50), -1.0, 0.125 * (x + 20.0))
    return Launch([x, out, np.frombuffer(limits, F64), I32(n)], same(out, want), 2, 64)


@case(SOURCE, "count")
def _(rng) -> Launch:
    n = 1000
    x = ints(rng, 0, 256, n, np.uint8)
    out = mtlc_exec.InOut(np.zeros(16, U32))
    return Launch([x, out, I32(n)], same(out, np.bincount(x & 15, minlength=16).astype(U32)), blocks(n, 128), 128)


def compile_opencl(arch: str, version: str, options: list[str]) -> str:
    out = mtlc_testing.scratch(f"kernels{arch}{''.join(options)}.ptx")
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "nvptx64-nvidia-cuda", "-Xclang", "-target-cpu"]
    command += ["-Xclang", arch, "-Xclang", "-target-feature", "-Xclang", f"+{version}", *options, "-S"]
    done = subprocess.run(
        [*command, mtlc_testing.data(SOURCE), "-o", out], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stderr}")
    return out


class Clang(mtlc_exec.TestCase):
    def test_kernels(self) -> None:
        for arch, version in (("sm_60", "ptx63"), ("sm_75", "ptx70"), ("sm_86", "ptx72")):
            for options in (["-O0"], ["-O2"], ["-Os", "-fno-unroll-loops"]):
                ptx = compile_opencl(arch, version, options)
                for c in of(SOURCE):
                    with self.subTest(kernel=c.kernel, arch=arch, options=" ".join(options)):
                        c.run(self, ptx, np.random.default_rng(3))


def has_nvptx() -> bool:
    targets = subprocess.run([CLANG, "--print-targets"], capture_output=True, text=True, check=False).stdout
    return "nvptx64" in targets


if __name__ == "__main__":
    if CLANG is None or not has_nvptx():
        mtlc_testing.skip_all("no clang for NVPTX")
    mtlc_exec.main()
