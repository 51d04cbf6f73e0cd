"""Kernels at -O0 and -O on every device, in one call each; a layer over mtlc_exec for tests that only want the result.

    y = launch("examples/vadd.mettle", "vadd", 5, 256, [a, b, Out(c), ("i32", n)])[2]

An Out buffer is read back under the index of its argument; a scalar is (what --arg calls its type, value). Any other exit
code than 0 raises LaunchError.
"""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass

import mtlc_exec
import mtlc_testing
import numpy as np

# Each (device, optimised) that execution tests go through.
CONFIGURATIONS = list(itertools.product(mtlc_exec.devices(), [False, True]))

_serial = itertools.count()


@dataclass(eq=False)
class Out:
    """A buffer that the kernel writes: its content before the launch."""

    array: np.ndarray


class LaunchError(AssertionError):
    """mtlc-run ended with another exit code than 0; `stderr` says why."""

    def __init__(self, what: str, returncode: int, stderr: str) -> None:
        super().__init__(f"exit code {returncode} from {what}\n{stderr}")
        self.returncode = returncode
        self.stderr = stderr


def launch(
    path: str,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[np.ndarray | Out | tuple[str, object]],
    *,
    shared: int = 0,
    device: str = "sim",
    optimise: bool = True,
    options: Sequence[str] = (),
) -> dict[int, np.ndarray]:
    """Runs `kernel` of a repository file or of an absolute path; returns the Out buffers by argument index."""
    values: list[mtlc_exec.Argument] = []
    for arg in args:
        if isinstance(arg, Out):
            values.append(mtlc_exec.InOut(arg.array))
        elif isinstance(arg, tuple):
            values.append(mtlc_exec.Raw(f"{arg[0]}:{arg[1]}"))
        else:
            values.append(arg)
    result = mtlc_exec.launch(
        path,
        kernel,
        values,
        grid=grid,
        block=block,
        shared=shared,
        device=device,
        options=["-O" if optimise else "-O0", *options],
    )
    if result.returncode != 0:
        raise LaunchError(f"{kernel} of {path}", result.returncode, result.stderr)
    return {i: result[values[i]] for i, arg in enumerate(args) if isinstance(arg, Out)}


def launch_source(source: str, kernel: str, grid, block, args, **how) -> dict[int, np.ndarray]:
    """launch() of a kernel given as Mettle text."""
    path = mtlc_testing.scratch(f"source{next(_serial)}.mettle")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    try:
        return launch(path, kernel, grid, block, args, **how)
    finally:
        os.remove(path)
