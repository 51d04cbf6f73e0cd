#!/usr/bin/env python3
"""The simulator beside Oclgrind (https://github.com/jrprice/Oclgrind) on equivalent kernels, in one run.

The kernels are those of the simulator's benchmark (simulator.cc) from examples/*.mettle, and the same algorithms in
OpenCL C (oclgrind/kernels.cl) with the same work-groups, at sizes that Oclgrind does in seconds. Each side reports the
time of the kernel alone: the simulator's launch, and the time from clEnqueueNDRangeKernel to the end of clFinish.

  bazel build //benchmarks:simulator
  benchmarks/compare_oclgrind.py --simulator bazel-bin/benchmarks/simulator

Needs Debian's oclgrind, opencl-headers, ocl-icd-opencl-dev and a C compiler; says so and ends with 0 without them.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = ("matmul", "softmax", "vadd")


def build_host(folder):
    """Compiles the OpenCL host program; None when headers or library are missing."""
    out = folder / "host"
    cc = shutil.which("cc") or shutil.which("gcc")
    if cc is None:
        return None
    done = subprocess.run([cc, "-O2", "-o", out, HERE / "oclgrind" / "host.c", "-lOpenCL"], capture_output=True, text=True,
                          check=False)
    return out if done.returncode == 0 else None


def ours(simulator, size, repeat):
    """Seconds by (kernel, setting)."""
    # More repeats than the other side gets: a run is short here, and its noise large.
    command = [simulator, "--json", f"--repeat={5 * repeat}", f"--size={size}"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {(row["kernel"], row["setting"]): row["seconds"] for row in rows}


def theirs(host, kernel, size, races, repeat):
    """Seconds of one kernel under Oclgrind."""
    command = ["oclgrind", "--num-threads", "1"] + (["--data-races"] if races else [])
    command += [str(host), kernel, str(size), str(HERE / "oclgrind" / "kernels.cl")]
    best = None
    for _ in range(repeat):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        if "data race" in done.stderr.lower():
            raise RuntimeError(f"{kernel}: Oclgrind reports a race:\n{done.stderr}")
        seconds = float(done.stdout.split()[-1])
        best = seconds if best is None else min(best, seconds)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", default="bazel-bin/benchmarks/simulator", help="the built //benchmarks:simulator")
    parser.add_argument("--size", type=int, default=128,
                        help="rows of the matrices; softmax has as many rows of 1000, vadd 256 times as many elements")
    parser.add_argument("--repeat", type=int, default=1)
    args = parser.parse_args()
    if shutil.which("oclgrind") is None:
        print("skipped: no oclgrind (Debian package oclgrind)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        host = build_host(pathlib.Path(folder))
        if host is None:
            print("skipped: the OpenCL host program does not build (Debian packages opencl-headers, ocl-icd-opencl-dev)")
            return 0
        mine = ours(os.path.abspath(args.simulator), args.size, args.repeat)
        print(f"{'kernel':<10}{'checks':<8}{'Oclgrind ms':>12}{'ours ms':>10}{'ratio':>8}")
        for kernel in KERNELS:
            for races in (False, True):
                other = theirs(host, kernel, args.size, races, args.repeat)
                us = mine[kernel, "race" if races else "off"]
                print(f"{kernel:<10}{'race' if races else 'plain':<8}{other * 1e3:>12.1f}{us * 1e3:>10.2f}{other / us:>8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
