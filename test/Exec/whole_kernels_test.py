"""Whole kernels by lot, on every device and for many targets, against NumPy. More by hand:

    bazel run //test/Exec:whole_kernels_test -- --seed=1000 --count=500 --some=4 --reduce
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

import mtlc_exec
import mtlc_testing
import numpy as np
import whole_reduce
from whole_programs import Program, compose, generate
from whole_values import Inexact

TARGETS = ["sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a", "sm_121a", "spirv1.3-opencl"]
UNKNOWN_TO_PTXAS = ("sm_61", "sm_70")  # From version 13 on.
PTXAS = shutil.which("ptxas", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


def difference(got: np.ndarray, want: np.ndarray, zeros: bool) -> str:
    """Where two buffers differ, bit for bit; `zeros`: signs of zeros do not count."""
    bad = got.view(f"u{got.dtype.itemsize}") != want.view(f"u{want.dtype.itemsize}")
    if zeros and got.dtype.kind == "f":
        bad &= ~((got == 0) & (want == 0))
    if zeros and got.dtype == np.uint16:
        bad &= ~((got & 0x7FFF == 0) & (want & 0x7FFF == 0))
    at = np.nonzero(bad)[0]
    return "" if not len(at) else f"{len(at)} of {len(got)}: " + ", ".join(f"[{i}] {got[i]} want {want[i]}" for i in at[:6])


def launch(path: str, k: Program, buffers: list, device: str, options: list[str]) -> str:
    """What went wrong, or nothing."""
    args: list = []
    outs = []
    for name, before, after in buffers:
        arg = mtlc_exec.InOut(before.copy()) if after is not None else before
        args.append(arg)
        if after is not None:
            outs.append((name, arg, after))
    args.append(np.zeros(64, np.uint8))
    mapped = re.search(r"--gpu-arch=sm_(9|1\d)\d", " ".join(options))
    for _, matrix, spec in k.views:  # What looks into it has to have tensor maps.
        index = [name for name, *_ in buffers].index(f"b_{matrix.name}")
        args.append(mtlc_exec.Raw(f"tensormap:{index}:{spec}") if mapped else np.zeros(128, np.uint8))
    types = {"int32": np.int32, "int64": np.int64, "uint32": np.uint32, "uint64": np.uint64}
    args += [types[kind](value) for (value, kind) in k.parameters]
    block = (4, k.threads // 4) if k.plane else k.threads
    try:
        done = mtlc_exec.launch(path, k.name, args, grid=k.blocks, block=block, device=device, options=options, timeout=300)
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr[:3000]}"
    for name, arg, after in outs:
        text = difference(done[arg], after, "--fp=fast" in options)
        if text:
            return f"{name}: {text}"
    return ""


def ways(rng: np.random.Generator, targets: list[str], thorough: bool) -> list[tuple[str, list[str]]]:
    """Devices and options."""
    out = [("interp", ["-O0"]), ("interp", ["-O"]), ("interp", ["-O", f"--seed={rng.integers(1, 1000)}"])]
    for target in targets:
        more: list[str] = []
        if rng.random() < 0.4:
            more.append(f"--seed={rng.integers(1, 1000)}")
            if rng.random() < 0.5 and not target.startswith("spirv"):
                more.append("--weak-memory")
        if rng.random() < 0.25:
            more.append(f"--tensor-tuple-budget={rng.choice([8, 16, 24, 40, 200])}")
        if rng.random() < 0.25:
            more.append(f"--fp={rng.choice(['contract', 'fast'])}")
        levels = ["-O", "-O0"] if thorough else [str(rng.choice(["-O", "-O", "-O0"]))]
        for level in levels:
            out.append(("sim", [level, f"--gpu-arch={target}", "--tensor-fallback=replay", *more]))
    return out


def check(seed: int, targets: list[str], *, thorough: bool = False, assemble: bool = True, smaller: bool = False) -> list[str]:
    """Faults of one program; with `smaller`, and a small program that has the first."""
    rng = np.random.default_rng([seed, 1])
    kernels = generate(seed)
    text, launches = compose(kernels)
    path = mtlc_exec.write_source(f"whole{seed}.mettle", text)
    faults = []
    for k, buffers in zip(kernels, launches):
        for device, options in ways(rng, targets, thorough):
            fault = launch(path, k, buffers, device, options)
            if fault and smaller and not faults:
                fault += "\n" + shrink(k, device, options)
            if fault:
                faults.append(f"{k.name} {device} {' '.join(options)}: {fault}")
    for target in (t for t in targets if assemble and not t.startswith("spirv")):
        faults += compile_only(path, target, rng)
    if not faults:
        os.remove(path)
    return faults


def shrink(k: Program, device: str, options: list[str]) -> str:
    """The text of a smaller kernel with the same fault."""

    def attempt() -> str:
        try:
            text, launches = compose([k])
        except Inexact:  # Without some statement.
            return ""
        path = mtlc_exec.write_source("smaller.mettle", text)
        try:
            return launch(path, k, launches[0], device, options)
        finally:
            os.remove(path)

    fault = attempt()
    if not fault:
        return "The kernel alone has no fault."
    whole_reduce.reduce(k, attempt)
    numbers = ", ".join(f"{name} = {value}" for (value, _), name in k.parameters.items())
    return f"{compose([k])[0]}\n{attempt()}\n{k.blocks} workgroups of {k.threads}; {numbers}"


def compile_only(path: str, target: str, rng: np.random.Generator) -> list[str]:
    """For one target, products by scalar code allowed or not: either PTX that ptxas takes, or a refusal that says where and why."""
    output = mtlc_testing.scratch(os.path.basename(path) + ".ptx")
    faults = []
    for replay in ([], ["--tensor-fallback=replay"]):
        level = str(rng.choice(["-O", "-O0"]))
        done = mtlc_testing.run("mettle", level, "--emit-ptx", f"--gpu-arch={target}", *replay, path, "-o", output)
        what = f"{target} {level} {' '.join(replay)}"
        if done.returncode != 0:
            refused = re.search(rf"{re.escape(path)}:\d+:\d+: error: .* has no form for it", done.stderr)
            if replay or done.returncode != 1 or not refused or os.path.exists(output):
                faults.append(f"{what}: exit {done.returncode}: {done.stderr[:2000]}")
            continue
        if PTXAS and target not in UNKNOWN_TO_PTXAS and (replay or rng.random() < 0.2):
            command = [PTXAS, f"-arch={target}", output, "-o", output + ".cubin"]
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                faults.append(f"ptxas {what}: {made.stderr[:2000]}")
        os.remove(output)
    return faults


class Whole(mtlc_exec.TestCase):
    SEEDS = range(7000, 7020)

    def test_programs(self) -> None:
        """Each on the interpreter and for three targets, all targets in turn."""
        for seed in self.SEEDS:
            with self.subTest(seed=seed):
                targets = [TARGETS[(3 * seed + i) % len(TARGETS)] for i in (0, 1, 2)]
                self.assertEqual(check(seed, targets, assemble=seed % 4 == 0), [])

    def test_everything_occurs(self) -> None:
        """In the programs of the other test."""
        texts = [compose(generate(seed))[0] for seed in self.SEEDS]
        for what in (
            "tensor_mma(", "tensor_matmul(", "tensor_epilogue(", "tensor_transfer_workgroup(", "direction: store", "async_copy_workgroup(",
            "async_copy_wait(1)", "% 3) *", "view: v", "view: odd", "scope: workgroup", "sparsity: ", "a_scale: ", "transpose_a: true", "b_layout: row",
            "bias_mode: row", "bias_mode: column", "bias_mode: matrix", "activation: clamp", "activation: relu", "alpha: ", "beta: ", "@noinline", "@inline!",
            "while (", "break", "continue", "block.x == 0", "if (warp == ", "(warp & 1)", "return }", "kernel k1", "cache: global", "element_stride1",
            "saturate_finite", "rounding: up", "thread.y", "packing: dense_subbyte", "barrier(global",
            "!= 0) { m",
        ):  # fmt: skip
            with self.subTest(what):
                self.assertTrue(any(what in text for text in texts))

    def test_a_wrong_element_is_found(self) -> None:
        """One element of what is expected changed, in each buffer that a program writes."""
        kernels = generate(self.SEEDS[0])
        text, launches = compose(kernels)
        path = mtlc_exec.write_source("wrong.mettle", text)
        k, buffers = kernels[0], launches[0]
        self.assertEqual(launch(path, k, buffers, "interp", ["-O"]), "")
        for i, (name, before, after) in enumerate(buffers):
            if after is None:
                continue
            with self.subTest(name):
                wrong = after.copy()
                wrong.view(np.uint8)[len(wrong) // 2] ^= 1
                changed = [*buffers[:i], (name, before, wrong), *buffers[i + 1 :]]
                self.assertRegex(launch(path, k, changed, "interp", ["-O"]), f"{name}: 1 of")


def by_hand() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", action="append", default=[])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--some", type=int, default=len(TARGETS), help="so many of the targets, by lot")
    parser.add_argument("--thorough", action="store_true", help="optimised and not")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    parser.add_argument("--no-ptxas", action="store_true")
    parser.add_argument("--reduce", action="store_true", help="make failing kernels smaller")
    args = parser.parse_args()
    mtlc_testing.use_tools(args.tool)
    targets = args.targets.split(",")
    bad = 0
    for seed in range(args.seed, args.seed + args.count):
        if args.show:
            print(compose(generate(seed))[0])
            continue
        rng = np.random.default_rng([seed, 2])
        chosen = [str(t) for t in rng.choice(targets, min(args.some, len(targets)), replace=False)]
        faults = check(seed, chosen, thorough=args.thorough, assemble=not args.no_ptxas, smaller=args.reduce)
        for f in faults:
            print(f"seed {seed}: {f}", flush=True)
        bad += bool(faults)
    print(f"{args.count} programs, {bad} with faults")
    return bad != 0


if __name__ == "__main__":
    if any(a.startswith("--seed") for a in sys.argv):
        sys.exit(by_hand())
    mtlc_exec.main()
