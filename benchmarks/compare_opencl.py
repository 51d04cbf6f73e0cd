#!/usr/bin/env python3
"""Our SPIR-V beside the same kernels in OpenCL C, compiled and run by one OpenCL device in one process.

The kernels are examples/*.mettle and opencl/kernels.mettle, and opencl/kernels.cl line by line. Both sides get the same
buffers, work sizes and build options, and take turns; the times are those of the device's events, medians of --repeat
rounds. The results of both are compared with NumPy. The SPIR-V goes to the device as mtlc/runtime/opencl.h does it.

  bazel build //tools/mettle
  benchmarks/compare_opencl.py --mettle bazel-bin/tools/mettle/mettle

Needs NumPy, libOpenCL.so.1 and a device that takes SPIR-V, or SPIR with llvm-spirv-15; says so and ends with 0 without.
"""

import argparse
import ctypes
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

HERE = pathlib.Path(__file__).absolute().parent
OPTIONS = "-cl-fp32-correctly-rounded-divide-sqrt"
# Of CL/cl.h.
DEVICE_NAME, DEVICE_EXTENSIONS, DEVICE_IL_VERSION = 0x102B, 0x1030, 0x105B
PROGRAM_BUILD_LOG, QUEUE_PROFILING = 0x1183, 2
PROFILING_START, PROFILING_END = 0x1282, 0x1283
TYPE_ALL = 0xFFFFFFFF


class NoDevice(Exception):
    pass


class OpenCl:
    """As much of OpenCL as this takes; the first device that takes SPIR-V or SPIR."""

    def __init__(self):
        try:
            self.cl = ctypes.CDLL("libOpenCL.so.1")
        except OSError as error:
            raise NoDevice("no libOpenCL.so.1, the ICD loader") from error
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateProgramWithBinary",
                     "clCreateProgramWithIL", "clCreateKernel", "clCreateBuffer"):  # fmt: skip
            getattr(self.cl, name).restype = ctypes.c_void_p
        self.translator = shutil.which("llvm-spirv-15") or shutil.which("llvm-spirv-14")
        self.device, self.il = self._choose()
        code = ctypes.c_int()
        devices = (ctypes.c_void_p * 1)(self.device)
        self.context = self.cl.clCreateContext(None, 1, devices, None, None, ctypes.byref(code))
        self._check(code.value, "clCreateContext")
        self.queue = self.cl.clCreateCommandQueue(
            ctypes.c_void_p(self.context), ctypes.c_void_p(self.device), ctypes.c_ulong(QUEUE_PROFILING), ctypes.byref(code))  # fmt: skip
        self._check(code.value, "clCreateCommandQueue")

    def _check(self, code: int, what: str) -> None:
        if code != 0:
            raise RuntimeError(f"{what}: OpenCL error {code}")

    def _choose(self) -> tuple[int, bool]:
        count = ctypes.c_uint()
        self.cl.clGetPlatformIDs(0, None, ctypes.byref(count))
        platforms = (ctypes.c_void_p * max(count.value, 1))()
        self.cl.clGetPlatformIDs(count, platforms, None)
        for platform in platforms[: count.value]:
            devices = (ctypes.c_void_p * 16)()
            if self.cl.clGetDeviceIDs(ctypes.c_void_p(platform), ctypes.c_ulong(TYPE_ALL), 16, devices, ctypes.byref(count)):
                continue
            for device in devices[: count.value]:
                if "SPIR-V" in self.info(device, DEVICE_IL_VERSION):
                    return device, True
                if "cl_khr_spir" in self.info(device, DEVICE_EXTENSIONS) and self.translator:
                    return device, False
        raise NoDevice("no OpenCL device takes SPIR-V, or SPIR with llvm-spirv-15 installed")

    def info(self, device: int, what: int) -> str:
        text = ctypes.create_string_buffer(16384)
        self.cl.clGetDeviceInfo(ctypes.c_void_p(device), what, ctypes.c_size_t(len(text)), text, None)
        return text.value.decode(errors="replace")

    def build_source(self, source: str) -> int:
        code, text = ctypes.c_int(), ctypes.c_char_p(source.encode())
        program = self.cl.clCreateProgramWithSource(ctypes.c_void_p(self.context), 1, ctypes.byref(text), None, ctypes.byref(code))
        return self._build(program, code.value, OPTIONS)

    def build_spirv(self, path: pathlib.Path) -> int:
        code = ctypes.c_int()
        if self.il:
            words = path.read_bytes()
            program = self.cl.clCreateProgramWithIL(ctypes.c_void_p(self.context), words, ctypes.c_size_t(len(words)), ctypes.byref(code))
            return self._build(program, code.value, OPTIONS)
        bitcode_path = path.with_suffix(".bc")
        subprocess.run([self.translator, "-r", "--spirv-target-env=CL1.2", path, "-o", bitcode_path], check=True)
        bitcode = bitcode_path.read_bytes()
        devices = (ctypes.c_void_p * 1)(self.device)
        size, start = ctypes.c_size_t(len(bitcode)), ctypes.c_char_p(bitcode)
        program = self.cl.clCreateProgramWithBinary(ctypes.c_void_p(self.context), 1, devices, ctypes.byref(size), ctypes.byref(start),
                                                    None, ctypes.byref(code))  # fmt: skip
        return self._build(program, code.value, OPTIONS + " -x spir -spir-std=1.2")

    def _build(self, program: int, code: int, options: str) -> int:
        self._check(code, "clCreateProgram")
        devices = (ctypes.c_void_p * 1)(self.device)
        if self.cl.clBuildProgram(ctypes.c_void_p(program), 1, devices, options.encode(), None, None) != 0:
            log = ctypes.create_string_buffer(65536)
            self.cl.clGetProgramBuildInfo(ctypes.c_void_p(program), ctypes.c_void_p(self.device), PROGRAM_BUILD_LOG,
                                          ctypes.c_size_t(len(log)), log, None)  # fmt: skip
            raise RuntimeError(f"clBuildProgram: {log.value.decode(errors='replace')}")
        return program

    def buffer(self, array: np.ndarray) -> int:
        code = ctypes.c_int()
        made = self.cl.clCreateBuffer(ctypes.c_void_p(self.context), ctypes.c_ulong(1), ctypes.c_size_t(array.nbytes), None, ctypes.byref(code))
        self._check(code.value, "clCreateBuffer")
        self.write(made, array)
        return made

    def write(self, buffer: int, array: np.ndarray) -> None:
        self._check(self.cl.clEnqueueWriteBuffer(ctypes.c_void_p(self.queue), ctypes.c_void_p(buffer), 1, ctypes.c_size_t(0),
            ctypes.c_size_t(array.nbytes), ctypes.c_void_p(array.ctypes.data), 0, None, None), "clEnqueueWriteBuffer")  # fmt: skip

    def read(self, buffer: int, array: np.ndarray) -> None:
        self._check(self.cl.clEnqueueReadBuffer(ctypes.c_void_p(self.queue), ctypes.c_void_p(buffer), 1, ctypes.c_size_t(0),
            ctypes.c_size_t(array.nbytes), ctypes.c_void_p(array.ctypes.data), 0, None, None), "clEnqueueReadBuffer")  # fmt: skip

    def kernel(self, program: int, name: str, args: list) -> int:
        code = ctypes.c_int()
        made = self.cl.clCreateKernel(ctypes.c_void_p(program), name.encode(), ctypes.byref(code))
        self._check(code.value, f"clCreateKernel {name}")
        for i, arg in enumerate(args):
            value = ctypes.c_void_p(arg) if isinstance(arg, int) else ctypes.c_char_p(arg.tobytes())
            where = ctypes.byref(value) if isinstance(arg, int) else value
            size = 8 if isinstance(arg, int) else arg.nbytes
            self._check(self.cl.clSetKernelArg(ctypes.c_void_p(made), i, ctypes.c_size_t(size), where), f"argument {i} of {name}")
        return made

    def launch(self, kernel: int, grid: tuple[int, ...], block: tuple[int, ...]) -> float:
        """Seconds on the device."""
        sizes = (ctypes.c_size_t * len(grid))(*(g * b for g, b in zip(grid, block)))
        local, event = (ctypes.c_size_t * len(grid))(*block), ctypes.c_void_p()
        self._check(self.cl.clEnqueueNDRangeKernel(ctypes.c_void_p(self.queue), ctypes.c_void_p(kernel), len(grid), None, sizes, local,
                                                   0, None, ctypes.byref(event)), "clEnqueueNDRangeKernel")  # fmt: skip
        self._check(self.cl.clFinish(ctypes.c_void_p(self.queue)), "clFinish")
        times = []
        for what in (PROFILING_START, PROFILING_END):
            time = ctypes.c_ulonglong()
            self._check(self.cl.clGetEventProfilingInfo(event, what, ctypes.c_size_t(8), ctypes.byref(time), None), "the event's time")
            times.append(time.value)
        self.cl.clReleaseEvent(event)
        return (times[1] - times[0]) * 1e-9


@dataclass
class Case:
    """Arrays are buffers; the last ones, `results` many, are written. `bound` is relative to the largest magnitude."""

    name: str
    file: str
    args: list
    results: int
    expected: Callable[[], list[np.ndarray]]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    bound: float = 0


def up(n: int, by: int) -> int:
    return -(-n // by)


def cases(scale: int) -> list[Case]:
    """Sizes grow with `scale`; 1 is for a test that only looks at the results."""
    rng = np.random.default_rng(1)

    def floats(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    def zeros(dtype, *shape):
        return np.zeros(shape, dtype)

    i32 = np.int32
    n = 40_000 * scale + 7
    a, b = floats(n), floats(n)
    rows, columns = 4 * scale + 1, 1000
    x = floats(rows, columns)
    m = 24 * math.isqrt(scale * 4) + 3
    p, q = floats(m, m), floats(m, m)
    h, w = 60 * math.isqrt(scale) + 5, 64 * math.isqrt(scale) + 9
    image = floats(h, w)
    data = rng.integers(0, 256, n, dtype=np.uint8)
    bodies = 128 * math.isqrt(scale) + 5
    body = floats(4, bodies)
    lengths = rng.integers(0, 40, 300 * scale)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(i32)
    index = rng.integers(0, 4096, starts[-1]).astype(i32)
    values, vector = floats(starts[-1]), floats(4096)
    words = rng.integers(0, 1 << 32, n // 8, dtype=np.uint32)
    groups = min(64, up(n, 256))

    def softmax():
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        return [(e / e.sum(axis=1, keepdims=True)).astype(np.float32)]

    def stencil():
        z = np.pad(image, 1)
        sides = z[1:-1, :-2] + z[1:-1, 2:] + (z[:-2, 1:-1] + z[2:, 1:-1])
        return [np.float32(0.5) * image + np.float32(0.125) * sides]

    def nbody():
        d = body[:3, None, :].astype(np.float64) - body[:3, :, None]
        f = body[3] / ((d * d).sum(axis=0) + 0.01) ** 1.5
        return list((d * f).sum(axis=2).astype(np.float32))

    def partial():
        sums = np.zeros(groups)
        for g in range(groups):
            for first in range(g * 256, n, groups * 256):
                sums[g] += a[first : first + 256].sum(dtype=np.float64)
        return [sums.astype(np.float32)]

    def mandelbrot():
        cx = (np.arange(w, dtype=np.float32) / np.float32(w) * np.float32(3) - np.float32(2))[None, :]
        cy = (np.arange(h, dtype=np.float32) / np.float32(h) * np.float32(2) - np.float32(1))[:, None]
        u, v, k = np.zeros((h, w), np.float32), np.zeros((h, w), np.float32), np.zeros((h, w), i32)
        for _ in range(100):
            on = u * u + v * v <= 4
            k += on
            u, v = np.where(on, u * u - v * v + cx, u), np.where(on, np.float32(2) * u * v + cy, v)
        return [k]

    def spmv():
        products = np.concatenate([[0], np.cumsum(values.astype(np.float64) * vector[index])])
        return [(products[starts[1:]] - products[starts[:-1]]).astype(np.float32)]

    def scramble():
        v = words | np.uint32(1)
        for _ in range(64):
            v = v ^ v << np.uint32(13)
            v = v ^ v >> np.uint32(17)
            v = v ^ v << np.uint32(5)
        return [v]

    square = [p, q, zeros(np.float32, m, m), *[i32(m)] * 6]
    product = [(p.astype(np.float64) @ q).astype(np.float32)]
    tiles = (up(m, 16), up(m, 16))
    own = HERE / "opencl" / "kernels.mettle"
    examples = HERE.parent / "examples"
    line = (up(n, 256),)
    return [
        Case("vadd", examples / "vadd.mettle", [a, b, zeros(np.float32, n), i32(n)], 1, lambda: [a + b], line, (256,)),
        Case("saxpy", examples / "saxpy.mettle", [a, b.copy(), np.float32(1.5), i32(n)], 1, lambda: [np.float32(1.5) * a + b], line, (256,)),
        Case("softmax", examples / "softmax.mettle", [x, zeros(np.float32, rows, columns), *[i32(columns)] * 3], 1, softmax, (rows,), (128,), 1e-6),
        Case("matmul_naive", examples / "matmul.mettle", square, 1, lambda: product, tiles, (16, 16), 1e-5),
        Case("matmul_tiled", examples / "matmul.mettle", square, 1, lambda: product, tiles, (16, 16), 1e-5),
        Case("reduce_sum", examples / "reduce.mettle", [a, zeros(np.float32, groups), np.int64(n)], 1, partial, (groups,), (256,), 1e-5),
        Case("stencil5", examples / "stencil.mettle",
             [image, zeros(np.float32, h, w), i32(h), i32(w), i32(w), np.float32(0.5), np.float32(0.125)], 1, stencil,
             (up(w, 16), up(h, 16)), (16, 16)),
        Case("transpose", examples / "transpose.mettle", [image, zeros(np.float32, w, h), i32(h), i32(w)], 1, lambda: [image.T.copy()],
             (up(w, 32), up(h, 32)), (32, 8)),
        Case("byte_histogram", examples / "atomic_histogram.mettle", [data, zeros(np.uint32, 256), i32(n)], 1,
             lambda: [np.bincount(data, minlength=256).astype(np.uint32)], (groups,), (256,)),
        Case("nbody", own, [*body, *zeros(np.float32, 3, bodies), i32(bodies)], 3, nbody, (up(bodies, 64),), (64,), 1e-4),
        Case("mandelbrot", own, [zeros(np.int32, h, w), i32(w), i32(h), i32(100)], 1, mandelbrot, (up(w, 16), up(h, 16)), (16, 16)),
        Case("spmv", own, [starts, index, values, vector, zeros(np.float32, lengths.size), i32(lengths.size)], 1, spmv,
             (up(lengths.size, 64),), (64,), 1e-5),
        Case("scramble", own, [words, zeros(np.uint32, words.size), i32(words.size), i32(64)], 1, scramble, (up(words.size, 256),), (256,)),
    ]  # fmt: skip


def wrong(got: np.ndarray, want: np.ndarray, bound: float) -> float:
    """How far off, in bounds; at most 1 is right."""
    if bound == 0:
        return 0.0 if np.array_equal(got, want) else math.inf
    error = np.abs(got.astype(np.float64) - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30)
    return error / bound if np.isfinite(error) else math.inf


def measure(cl: OpenCl, case: Case, programs: dict[str, int], repeat: int) -> dict:
    arrays = [i for i, arg in enumerate(case.args) if isinstance(arg, np.ndarray)]
    written = arrays[-case.results :]
    buffers = {i: cl.buffer(case.args[i]) for i in arrays}
    kernels = {side: cl.kernel(program, case.name, [buffers.get(i, arg) for i, arg in enumerate(case.args)])
               for side, program in programs.items()}  # fmt: skip
    expected, times = case.expected(), {side: [] for side in kernels}
    for round_ in range(repeat + 1):  # The first one compiles, and is looked at only.
        sides = list(kernels) if round_ % 2 else list(kernels)[::-1]
        for side in sides:
            for i in written:
                cl.write(buffers[i], case.args[i])
            seconds = cl.launch(kernels[side], case.grid, case.block)
            if round_ > 0:
                times[side].append(seconds)
            for i, want in zip(written, expected):
                got = np.empty_like(case.args[i])
                cl.read(buffers[i], got)
                if not wrong(got, want, case.bound) <= 1:
                    raise RuntimeError(f"{case.name}: the results of {side} are wrong")
    for made in (*kernels.values(),):
        cl.cl.clReleaseKernel(ctypes.c_void_p(made))
    for made in buffers.values():
        cl.cl.clReleaseMemObject(ctypes.c_void_p(made))
    ours, theirs = (statistics.median(times[side]) for side in ("SPIR-V", "OpenCL C"))
    return {"kernel": case.name, "ours": ours, "theirs": theirs, "ratio": ours / theirs}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mettle", default="bazel-bin/tools/mettle/mettle", help="the built //tools/mettle")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--scale", type=int, default=100, help="how large; 1 only shows that it works")
    parser.add_argument("--kernels", help="only these, separated by commas")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        cl = OpenCl()
    except NoDevice as why:
        print(f"skipped: {why}")
        return 0
    chosen = [c for c in cases(args.scale) if not args.kernels or c.name in args.kernels.split(",")]
    theirs = cl.build_source((HERE / "opencl" / "kernels.cl").read_text(encoding="utf-8"))
    rows, built = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            if case.file not in built:
                out = pathlib.Path(folder) / (case.file.stem + ".spv")
                subprocess.run([args.mettle, "-O", "--emit-spirv", case.file, "-o", out], check=True)
                built[case.file] = cl.build_spirv(out)
            rows.append(measure(cl, case, {"SPIR-V": built[case.file], "OpenCL C": theirs}, args.repeat))
    mean = math.exp(statistics.mean(math.log(max(row["ratio"], 1e-9)) for row in rows))
    if args.json:
        print(json.dumps({"device": cl.info(cl.device, DEVICE_NAME), "rows": rows, "mean": mean}))
        return 0
    print(f"{'kernel':<16}{'ours ms':>10}{'OpenCL C ms':>13}{'ratio':>8}")
    for row in rows:
        print(f"{row['kernel']:<16}{row['ours'] * 1e3:>10.3f}{row['theirs'] * 1e3:>13.3f}{row['ratio']:>8.2f}")
    print(f"geometric mean of {len(rows)} ratios: {mean:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
