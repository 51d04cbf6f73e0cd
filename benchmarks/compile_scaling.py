#!/usr/bin/env python3
"""How compile time grows: a file of n kernels, one kernel of n statements, n tensor products in a block, in blocks, in loops and
in kernels of their own; source to PTX at -O.

    ./mtlcw build //tools/mettle && python3 benchmarks/compile_scaling.py bazel-bin/tools/mettle/mettle

Prints the processor time at 2n over that at n (linear is 2) and IR operations per second, process start included. The
smallest of several interleaved runs counts. --check ends with 1 when a ratio is above 2.3.
"""

import argparse
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 2.3


def many_kernels(count: int) -> str:
    """`count` kernels of about 25 lines with loops, branches, arithmetic on two types and a helper each."""
    parts = []
    for k in range(count):
        parts.append(
            f"""
fn mix{k}(a: int32, b: int32) -> int32 {{
  if (a > b) {{
    return a * {k % 13 + 3} - b;
  }}
  return (a ^ b) + {k};
}}

kernel k{k}(x: float32*, y: float32*, out: int32*, n: int32) {{
  var i: int32 = block.x * block_dim.x + thread.x;
  var sum: float32 = 0.0;
  var bits: int32 = {k};
  if (i < n) {{
    for j in 0..{k % 7 + 4} {{
      var a: float32 = x[i + j];
      var b: float32 = y[i - j];
      sum += a * b + {k % 17}.5;
      bits = mix{k}(bits, j) >> 1;
      if (bits % 3 == 0) {{
        sum = sum - a;
      }} else {{
        sum = sum * 0.5;
      }}
    }}
    x[i] = sum;
    out[i] = bits;
  }}
}}
"""
        )
    return "".join(parts)


def long_kernel(statements: int) -> str:
    """One kernel of `statements` statements over eight variables and memory."""
    rng = random.Random(5)
    lines = ["kernel big(x: float32*, y: int32*, n: int32) {", "  var i: int32 = thread.x;"]
    for v in range(4):
        lines.append(f"  var f{v}: float32 = x[i + {v}];")
        lines.append(f"  var d{v}: int32 = y[i + {v}];")
    for s in range(statements):
        a, b, c = (rng.randrange(4) for _ in range(3))
        kind = s % 8
        if kind == 0:
            lines.append(f"  f{a} = f{b} * f{c} + x[i + {s % 1000}];")
        elif kind == 1:
            lines.append(f"  d{a} = d{b} * {rng.randrange(1, 99)} + d{c};")
        elif kind == 2:
            lines.append(f"  if (d{a} > d{b}) {{ f{c} = f{c} + 1.0; }}")
        elif kind == 3:
            lines.append(f"  d{a} = (d{b} ^ d{c}) >> {rng.randrange(1, 9)};")
        elif kind == 4:
            lines.append(f"  y[i + {s % 777}] = d{a};")
        elif kind == 5:
            lines.append(f"  d{a} = (int32)f{b} + d{c} % {rng.randrange(2, 50)};")
        elif kind == 6:
            lines.append(f"  f{a} = f{a} - f{b} / 3.0;")
        else:
            lines.append(f"  x[i + {s % 555}] = f{a};")
    lines += ["  x[i] = f0 + f1 + f2 + f3;", "  y[i] = d0 + d1 + d2 + d3;", "}", ""]
    return "\n".join(lines)


OPERANDS = "a: uint16*, b: uint16*, c: float32*, d: float32*, n: int32"
PRODUCT = "shape: m16n16k16, input_type: f16, output_type: f32"


def tensor_block(count: int) -> str:
    """`count` products in one block, some on the same matrix, and an epilogue for every eighth."""
    lines = [f"kernel k({OPERANDS}) {{"]
    for i in range(count):
        d = f"d + {i // 3 % 40 * 256}"
        lines.append(f"  tensor_mma(a + {i * 7 % 64 * 256}, b + {i * 5 % 64 * 256}, {d}, {d}, {PRODUCT})")
        if i % 8 == 0:
            lines.append(f"  tensor_epilogue({d}, shape: m16n16, element: f32, bias_mode: column, bias: c, activation: relu)")
    return "\n".join([*lines, "}", ""])


def tensor_blocks(count: int) -> str:
    """`count` conditions around a product each."""
    lines = [f"kernel k({OPERANDS}) {{"]
    for i in range(count):
        lines.append(f"  if (n > {i}) {{ tensor_mma(a + {i * 7 % 64 * 256}, b, d, d, {PRODUCT}) }}")
    return "\n".join([*lines, "}", ""])


def tensor_loops(count: int) -> str:
    """`count` loops around a product, each followed by one that reads the sum by scalar code."""
    lines = [f"kernel k({OPERANDS}) {{"]
    for i in range(count):
        d = f"d + {i % 50 * 256}"
        lines.append(f"  for i{i}: int32 in 0..n {{ tensor_mma(a + i{i} * 256, b, {d}, {d}, {PRODUCT}) }}")
        lines.append(f"  for (var e{i}: int32 = thread.x; e{i} < 256; e{i} += 32) {{ c[e{i}] += d[{i % 50 * 256} + e{i}] }}")
    return "\n".join([*lines, "}", ""])


def tensor_kernels(count: int) -> str:
    """`count` kernels with a loop around a product."""
    return "".join(
        f"kernel k{i}({OPERANDS}) {{\n  for j in 0..n {{ tensor_mma(a + j * {16 * i}, b, d, d, {PRODUCT}) }}\n"
        "  tensor_epilogue(d, shape: m16n16, element: f32, activation: relu)\n}\n"
        for i in range(count)
    )


CASES = (
    ("kernels in a file", many_kernels, 2500),
    ("statements in a kernel", long_kernel, 4000),
    ("tensor products in a block", tensor_block, 8000),
    ("blocks with a tensor product", tensor_blocks, 4000),
    ("loops with a tensor product", tensor_loops, 2000),
    ("kernels with a tensor product", tensor_kernels, 4000),
)


def cpu_seconds(command: list[str]) -> float:
    """Processor time of a child: unlike the clock, hardly touched by what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mettle")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for name, make, n in CASES:
            sources = []
            for count in (n, 2 * n):
                source = Path(folder, f"{make.__name__}{count}.mettle")
                source.write_text(make(count))
                sources.append(source)
            best = [float("inf")] * 2
            for _ in range(args.rounds):
                for i, source in enumerate(sources):
                    best[i] = min(
                        best[i],
                        cpu_seconds(
                            [args.mettle, "-O", "--emit-ptx", "--gpu-arch=sm_121a", str(source), "-o", str(Path(folder, "out.ptx"))]
                        ),
                    )
            dump = subprocess.run(
                [args.mettle, "-O0", "--emit-ir", str(sources[1]), "-o", "-"], check=True, capture_output=True, text=True
            ).stdout
            operations = len(re.findall(r"(?m)^  \S", dump))
            ratio = best[1] / best[0]
            bad |= ratio > LIMIT
            print(
                f"{2 * n} {name}: time(2n)/time(n) = {ratio:.2f}; {operations} IR operations, "
                f"{operations / best[1] / 1e6:.2f} M operations/s from source to PTX"
            )
    return 1 if args.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
