#!/usr/bin/env python3
"""Code of mettle -O against that of nvcc -O3 for the same kernels: registers, spills, instructions, compile time.

    ./mtlcw build //tools/mettle && python3 benchmarks/compare_nvcc.py bazel-bin/tools/mettle/mettle

nvcc gets -fmad=false, so that both sides have the same arithmetic: mettle never fuses unless it is told to. Compile times are
the smallest of several runs, interleaved, and shown as a ratio. --json writes the table for the record; --check ends with 1
when a kernel spills or takes more registers than nvcc's.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = {
    "vadd": "vadd",
    "saxpy": "saxpy",
    "softmax": "softmax",
    "matmul_naive": "matmul",
    "matmul_tiled": "matmul",
}
# Without loops: here the number of PTX instructions counts.
STRAIGHT_LINE = {"vadd", "saxpy"}


def find(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path="/usr/local/cuda/bin")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True)


def resources(ptxas: str, arch: str, ptx: Path) -> dict[str, dict[str, int]]:
    """Registers and spill bytes of each entry, from ptxas -v."""
    text = run(ptxas, f"-arch={arch}", "-v", str(ptx), "-o", os.devnull).stderr
    found: dict[str, dict[str, int]] = {}
    entry = ""
    for line in text.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)'", line):
            entry = m[1]
            found[entry] = {"registers": 0, "spill": 0, "stack": 0}
        elif entry and (m := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)):
            found[entry]["stack"] = int(m[1])
            found[entry]["spill"] = int(m[2]) + int(m[3])
        elif entry and (m := re.search(r"Used (\d+) registers", line)):
            found[entry]["registers"] = int(m[1])
    return found


def instructions(ptx: str, entry: str) -> int:
    """Instructions in the body of an entry: lines that end in ';' and are no directive."""
    start = re.search(rf"\.entry\s+{entry}\b[^{{]*\{{", ptx)
    if not start:
        raise LookupError(f"no entry {entry}")
    count = 0
    depth = 1
    for line in ptx[start.end() :].splitlines():
        line = line.split("//")[0].strip()
        depth += line.count("{") - line.count("}") if not line.endswith(";") else 0
        if depth <= 0:
            break
        if line.endswith(";") and not line.startswith("."):
            count += 1
    return count


def best_time(commands: list[list[str]], rounds: int) -> list[float]:
    best = [float("inf")] * len(commands)
    for _ in range(rounds):
        for i, command in enumerate(commands):
            start = time.perf_counter()
            run(*command)
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mettle")
    parser.add_argument("--arch", default="sm_121a")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    nvcc, ptxas = find("nvcc"), find("ptxas")
    if not nvcc or not ptxas:
        print("SKIP: needs nvcc and ptxas")
        return 0
    rows = []
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder, "theirs.ptx")
        flags = ["-O3", "-fmad=false", "-ptx", f"-arch={args.arch}"]
        run(nvcc, *flags, str(ROOT / "benchmarks/cuda/kernels.cu"), "-o", str(theirs))
        their_resources = resources(ptxas, args.arch, theirs)
        for kernel, example in KERNELS.items():
            ours = Path(folder, f"{example}.ptx")
            run(args.mettle, "-O", "--emit-ptx", f"--gpu-arch={args.arch}", str(ROOT / f"examples/{example}.mettle"), "-o", str(ours))
            mine = resources(ptxas, args.arch, ours)[kernel]
            row = {
                "kernel": kernel,
                "registers": mine["registers"],
                "nvcc_registers": their_resources[kernel]["registers"],
                "spill": mine["spill"],
                "stack": mine["stack"],
                "instructions": instructions(ours.read_text(), kernel),
                "nvcc_instructions": instructions(theirs.read_text(), kernel),
            }
            rows.append(row)
            if row["spill"] or row["registers"] > row["nvcc_registers"]:
                bad.append(kernel)
            if kernel in STRAIGHT_LINE and row["instructions"] > row["nvcc_instructions"]:
                bad.append(kernel)
        # Compile time of the file with the tiled matmul, alone on both sides.
        alone = Path(folder, "matmul.cu")
        text = (ROOT / "benchmarks/cuda/kernels.cu").read_text()
        alone.write_text(text[text.index('extern "C" __global__ void matmul_naive') :])
        mine_s, theirs_s = best_time(
            [
                [args.mettle, "-O", "--emit-ptx", f"--gpu-arch={args.arch}", str(ROOT / "examples/matmul.mettle"), "-o", str(Path(folder, "m.ptx"))],
                [nvcc, *flags, str(alone), "-o", str(Path(folder, "t.ptx"))],
            ],
            args.rounds,
        )
    print(f"{'kernel':<14}{'registers':>10}{'nvcc':>6}{'spill':>7}{'PTX instr.':>12}{'nvcc':>6}")
    for r in rows:
        print(
            f"{r['kernel']:<14}{r['registers']:>10}{r['nvcc_registers']:>6}{r['spill']:>7}{r['instructions']:>12}{r['nvcc_instructions']:>6}"
        )
    print(f"compile time of the matmul file, nvcc / mettle: {theirs_s / mine_s:.0f}")
    if args.json:
        Path(args.json).write_text(json.dumps({"kernels": rows, "compile_ratio": theirs_s / mine_s}, indent=1) + "\n")
    if bad:
        print("worse than nvcc:", ", ".join(sorted(set(bad))))
    return 1 if args.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
