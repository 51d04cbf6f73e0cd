"""Runs kernels through mtlc-run on NumPy arrays.

    import mtlc_exec
    import numpy as np

    class Vadd(mtlc_exec.TestCase):
        def test_sizes(self) -> None:
            for device, n in itertools.product(mtlc_exec.devices(), (0, 1, 31, 1025)):
                with self.subTest(device=device, n=n):
                    a, b = np.ones(n, np.float32), np.arange(n, dtype=np.float32)
                    c = mtlc_exec.Output(np.float32, n)
                    result = self.launch(
                        "examples/vadd.mettle", "vadd", [a, b, c, np.int32(n)],
                        device=device, grid=-(-n // 256), block=256)
                    self.assert_same(result[c], a + b)

Arguments of a kernel are NumPy arrays (buffers the kernel reads), Output and InOut (buffers that are read back), NumPy
scalars, Python bools, and `Raw` for what only a specification of mtlc-run can say. bfloat16 travels as uint16: see
bf16().

A test's BUILD rule needs `deps = ["//test/python:mtlc_exec"]` and `tools = ["//tools/mtlc-run"]`.
"""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import mtlc_testing
import numpy as np

# What --arg calls the scalars.
_SCALARS = {
    "bool": "bool",
    "uint8": "u8",
    "int8": "i8",
    "uint16": "u16",
    "int16": "i16",
    "float16": "f16",
    "uint32": "u32",
    "int32": "i32",
    "float32": "f32",
    "uint64": "u64",
    "int64": "i64",
    "float64": "f64",
}


def devices() -> list[str]:
    """What runs kernels the same everywhere, without hardware: the interpreter, and PTX and SPIR-V on the simulator."""
    return ["interp", "sim", "spirv"]


@dataclass(eq=False)
class Output:
    """A buffer of `shape` elements that the kernel writes; poisoned and uninitialised before."""

    dtype: type
    shape: int | tuple[int, ...]


@dataclass(eq=False)
class InOut:
    """A buffer that the kernel reads and writes."""

    array: np.ndarray


@dataclass(eq=False)
class Raw:
    """An argument as mtlc-run spells it: Raw("buf:bf16:100:normal=1"); read back if `out`."""

    spec: str
    out: bool = False


Argument = np.ndarray | np.generic | bool | Output | InOut | Raw


@dataclass
class Result:
    """What a launch left behind. result[arg] is the contents of an Output, InOut or Raw argument."""

    returncode: int
    stderr: str
    stdout: str = ""  # What the kernel printed.
    _buffers: dict[int, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, argument: Argument) -> np.ndarray:
        return self._buffers[id(argument)]


_counter = itertools.count()


def _save(array: np.ndarray) -> str:
    path = mtlc_testing.scratch(f"exec{next(_counter)}.npy")
    np.save(path, np.ascontiguousarray(array))
    return path


def _scalar(value: np.generic | bool) -> str:
    if isinstance(value, bool):
        return f"bool:{int(value)}"
    name = _SCALARS[value.dtype.name]
    if value.dtype.kind == "f":  # As bits, so that NaN payloads and signs of zero survive.
        return f"{name}:0x{int(value.view(f'u{value.dtype.itemsize}')):x}"
    return f"{name}:{int(value)}"


def _dims(value: int | Sequence[int]) -> str:
    return ",".join(str(v) for v in ([value] if isinstance(value, int) else value))


def launch(
    path: str,
    kernel: str,
    args: Sequence[Argument],
    *,
    grid: int | Sequence[int] = 1,
    block: int | Sequence[int] = 1,
    shared: int = 0,
    device: str = "sim",
    options: Sequence[str] = (),
    timeout: float = mtlc_testing.DEFAULT_TIMEOUT,
) -> Result:
    """Runs one kernel. `path` is a file, or a data file's path in the repository. The caller checks the exit code."""
    if not os.path.isabs(path):
        path = mtlc_testing.data(path)
    command = [path, f"--kernel={kernel}", f"--grid={_dims(grid)}", f"--block={_dims(block)}"]
    if device == "spirv":
        device = "sim"
        options = [*options, "--gpu-arch=spirv1.3-opencl", "--tensor-fallback=replay"]
    command += [f"--shared={shared}", f"--device={device}", *options]
    outputs: dict[int, str] = {}
    scratch: list[str] = []
    for index, arg in enumerate(args):
        match arg:
            case np.ndarray():
                scratch.append(_save(arg))
                spec = f"buf:{scratch[-1]}"
            case Output():
                name = _SCALARS[np.dtype(arg.dtype).name]
                spec = f"buf:{name}:{int(np.prod(arg.shape))}:poison"
            case InOut():
                scratch.append(_save(arg.array))
                spec = f"buf:{scratch[-1]}"
            case Raw():
                spec = arg.spec
            case _:
                spec = _scalar(arg)
        command.append(f"--arg={spec}")
        if isinstance(arg, (Output, InOut)) or (isinstance(arg, Raw) and arg.out):
            outputs[index] = mtlc_testing.scratch(f"exec{next(_counter)}.npy")
            command.append(f"--out={index}:{outputs[index]}")
    done = mtlc_testing.run("mtlc-run", *command, timeout=timeout)
    result = Result(done.returncode, done.stderr, done.stdout)
    for index, file in outputs.items():
        if not os.path.exists(file):
            continue
        arg = args[index]
        array = np.load(file)
        if isinstance(arg, Output):
            array = array.reshape(arg.shape)
        result._buffers[id(arg)] = array
        scratch.append(file)
    for file in scratch:
        os.remove(file)
    return result


def write_source(name: str, text: str) -> str:
    """Writes a program to a scratch file, for launch(). `name` gives the extension."""
    path = mtlc_testing.scratch(f"source{next(_counter)}_{name}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def elementwise_mtir(operands: Sequence[str], results: Sequence[str], body: Sequence[str]) -> str:
    """A module with one kernel @k(operand buffers…, result buffers…, n: i32): for each index below n, `body` computes %r0,
    %r1, … of the results' types from elements %a, %b, … of the operands' types ("f32"). Other names than these, and than
    %w_…, are free."""
    names = "abcdefgh"
    params = [f"%w_p{i}" for i in range(len(operands))] + [f"%w_o{i}" for i in range(len(results))]
    lines = [
        'module "elementwise"',
        "",
        f"kernel @k({', '.join(f'{p}: ptr<global>' for p in params)}, %w_n: i32) {{",
        "^entry:",
        "  %w_thread = gpu.thread_id x : i32",
        "  %w_block = gpu.block_id x : i32",
        "  %w_size = gpu.block_dim x : i32",
        "  %w_first = mul %w_block, %w_size : i32",
        "  %w_index = add %w_first, %w_thread : i32",
        "  %w_inside = cmp.slt %w_index, %w_n : i32",
        "  br %w_inside, ^body, ^exit",
        "^body:",
        "  %w_i = sext %w_index : i32 to i64",
    ]
    for k, t in enumerate(operands):
        lines.append(f"  %w_pp{k} = ptr.add %w_p{k}, %w_i x {t} : ptr<global>")
        lines.append(f"  %{names[k]} = load {t}, %w_pp{k} : ptr<global>")
    lines += [f"  {line}" for line in body]
    for k, t in enumerate(results):
        lines.append(f"  %w_oo{k} = ptr.add %w_o{k}, %w_i x {t} : ptr<global>")
        lines.append(f"  store {t}, %r{k}, %w_oo{k} : ptr<global>")
    return "\n".join([*lines, "  jump ^exit", "^exit:", "  ret", "}", ""])


def bf16(values: np.ndarray) -> np.ndarray:
    """float32 values rounded to bfloat16, nearest-even, as uint16. NaN becomes quiet."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), (bits >> 16).astype(np.uint16) | np.uint16(0x40), rounded)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """bfloat16 in uint16 as float32: exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def ulp_distance(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """How many values of the float type apart, as float64. Two NaNs are 0 apart, NaN and a number infinitely."""

    def ordered(x: np.ndarray) -> np.ndarray:
        bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").astype(np.int64)
        low = np.int64(-1) << np.int64(8 * x.dtype.itemsize - 1)
        return np.where(bits < 0, low - bits, bits)

    a, b = ordered(got), ordered(want)
    rough = np.abs(a.astype(np.float64) - b.astype(np.float64))
    with np.errstate(over="ignore"):
        distance = np.where(rough < 2.0**62, np.abs(a - b).astype(np.float64), rough)
    nans = np.isnan(got).astype(int) + np.isnan(want).astype(int)
    return np.where(nans == 2, 0.0, np.where(nans == 1, np.inf, distance))


class TestCase(mtlc_testing.TestCase):
    """Launches and comparisons that explain themselves."""

    def elementwise(
        self,
        inputs: Sequence[tuple[str, np.ndarray]],
        outputs: Sequence[tuple[str, type]],
        body: Sequence[str],
        *,
        device: str,
        options: Sequence[str] = (),
    ) -> list[np.ndarray]:
        """Runs elementwise_mtir() of these element types, and gives the results."""
        n = len(inputs[0][1])
        source = write_source("e.mtir", elementwise_mtir([t for t, _ in inputs], [t for t, _ in outputs], body))
        results = [Output(dtype, n) for _, dtype in outputs]
        args = [*[array for _, array in inputs], *results, np.int32(n)]
        block = 96  # Three subgroups: the last block is rarely full.
        done = self.launch(source, "k", args, grid=-(-n // block), block=block, device=device, options=options)
        os.remove(source)
        return [done[result] for result in results]

    def launch(self, *args, **kwargs) -> Result:
        """launch(), which must end without a report."""
        result = launch(*args, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def launch_faulty(self, *args, **kwargs) -> str:
        """launch(), which must end with reports; gives them."""
        result = launch(*args, **kwargs)
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr

    def _compare(self, got: np.ndarray, want: np.ndarray, bad: np.ndarray, note: str) -> None:
        count = int(bad.sum())
        if count == 0:
            return
        lines = [f"{count} of {bad.size} elements differ{note}"]
        for index in list(zip(*np.nonzero(bad)))[:10]:
            place = ",".join(str(i) for i in index)
            lines.append(f"  [{place}] got {got[index]!r}, want {want[index]!r}")
        self.fail("\n".join(lines))

    def assert_same(self, got: np.ndarray, want: np.ndarray) -> None:
        """Bit for bit, but any NaN for any NaN."""
        want = np.asarray(want)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        got, want = np.atleast_1d(got), np.atleast_1d(want)
        if got.dtype.kind != "f":
            self._compare(got, want, got != want, "")
            return
        integer = f"u{got.dtype.itemsize}"
        same = np.ascontiguousarray(got).view(integer) == np.ascontiguousarray(want).view(integer)
        self._compare(got, want, ~(same | (np.isnan(got) & np.isnan(want))), "")

    def assert_ulp(self, got: np.ndarray, want: np.ndarray, most: float) -> None:
        """At most `most` units in the last place apart."""
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        distance = ulp_distance(got, want)
        self._compare(got, want, ~(distance <= most), f" by more than {most} ulp (up to {distance.max(initial=0)})")

    def assert_close(self, got: np.ndarray, exact: np.ndarray, bound: np.ndarray | float) -> None:
        """|got - exact| <= bound, element by element; NaN only where `exact` is."""
        self.assertEqual(got.shape, exact.shape)
        with np.errstate(invalid="ignore"):
            good = np.abs(got.astype(np.float64) - exact) <= bound
        self._compare(got, exact, ~(good | (np.isnan(got) & np.isnan(exact))), " by more than the bound")


main = mtlc_testing.main
