"""Launches of the kernels of test/Sim/cuda, and what a test file of cases is made of.

A case is a function `(rng) -> Launch`, or a generator of several, marked @case(FILE, KERNEL). Expected values are exact
integer arithmetic or NumPy's; where floating point may legally differ, a bound is given and said why.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import mtlc_exec
import numpy as np

I32, U32, I64, U64, F32, F64 = np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64


@dataclass
class Launch:
    """One launch. `check(test, result)` looks at result[argument] for the Output and InOut arguments."""

    args: list
    check: Callable
    grid: int | tuple = 1
    block: int | tuple = 128
    shared: int = 0
    options: list[str] = field(default_factory=list)
    returncode: int = 0


@dataclass
class Case:
    file: str
    kernel: str
    make: Callable
    least_sm: int

    def run(self, test: mtlc_exec.TestCase, ptx: str, rng: np.random.Generator, options: list[str] = []) -> None:
        made = self.make(rng)
        for launch in made if inspect.isgenerator(made) else [made]:
            result = mtlc_exec.launch(
                ptx,
                self.kernel,
                launch.args,
                grid=launch.grid,
                block=launch.block,
                shared=launch.shared,
                device="sim",
                options=[*launch.options, *options],
            )
            test.assertEqual(result.returncode, launch.returncode, result.stderr)
            if launch.returncode == 0:
                # A warning would be a false alarm too.
                test.assertEqual(result.stderr, "")
            launch.check(test, result)


CASES: list[Case] = []


def case(file: str, kernel: str, least_sm: int = 75):
    def register(make: Callable) -> Callable:
        CASES.append(Case(file, kernel, make, least_sm))
        return make

    return register


def of(file: str) -> list[Case]:
    return [c for c in CASES if c.file == file]


def files() -> list[str]:
    return sorted({c.file for c in CASES})


def same(argument, want) -> Callable:
    """A check: the buffer equals `want`, bit for bit."""
    return lambda test, result: test.assert_same(result[argument], np.asarray(want))


def sames(*pairs) -> Callable:
    def check(test, result):
        for argument, want in pairs:
            test.assert_same(result[argument], np.asarray(want))

    return check


def blocks(n: int, size: int) -> int:
    return max(1, -(-n // size))


def ints(rng, low, high, n, dtype=I32) -> np.ndarray:
    return rng.integers(low, high, n, dtype=dtype)
