"""Faults of OpenCL kernels that each checker finds when they run as SPIR-V on the simulator, and the same kernels repaired, which
run without a report and give what they should.
"""

from dataclasses import dataclass

import mtlc_exec
import mtlc_testing
import numpy as np
from clang_spirv import CLANG, TRANSLATOR, compile_opencl

N = 64  # Work-items of a group, two subgroups.
I = np.arange(N)


@dataclass
class Pair:
    """`good` in place of the word FIX in the source is right, `bad` is reported as [kind]."""

    name: str
    kind: str
    source: str
    bad: str
    good: str
    want: np.ndarray
    says: str = ""
    grid: int = 1
    options: tuple = ()


PAIRS = [
    Pair("global memory", "mem", "y[i + FIX] = x[i];", "1", "0", I * 3, "past the end of 'the buffer of argument 1'"),
    Pair("global memory, before", "mem", "y[i] = x[i - FIX];", "(int)get_local_size(0)", "0", I * 3),
    Pair("local memory", "mem", "local int a[64]; a[i + FIX] = x[i]; y[i] = x[i];", "8", "0", I * 3, "past the end of"),
    Pair("an argument in local memory", "mem", "room[i + FIX] = x[i]; y[i] = x[i];", "1", "0", I * 3),
    Pair("private memory", "mem", "int a[4] = {1, 2, 3, 4}; y[i] = a[(i & 3) FIX];", "+ 2", "+ 0", I % 4 + 1, "past the end of"),
    Pair("a null pointer", "mem", "global const int* p = FIX; y[i] = p[i];", "(global const int*)0", "x", I * 3, "null"),
    Pair("null in local memory", "mem", "local int* p = FIX; *(p + i) = 5; y[i] = x[i];", "(local int*)0", "room", I * 3),
    Pair("an address by halves", "mem", "y[i] = *(global const int*)((global const char*)x + 4 * i + FIX);", "2 * (i & 1)", "0", I * 3, "misaligned"),
    Pair("a constant", "mem", "constant int* p = t; *(FIX) = i; y[i] = t[i & 3];", "(int*)(ulong)p", "&z", I % 4 + 5),
    Pair("local memory before it is written", "init", "local int a[64]; FIX; barrier(CLK_LOCAL_MEM_FENCE); y[i] = a[i];", "if (i > 3) a[i] = x[i]",
         "a[i] = x[i]", I * 3),
    Pair("a private variable before it is written", "init", "int v; if (FIX) v = x[i]; y[i] = v;", "i & 1", "i >= 0", I * 3),
    Pair("a branch on nothing", "init", "local int a[64]; FIX; if (a[i] > 0) y[i] = 1; else y[i] = 0;", "", "a[i] = x[i]", (I > 0).astype(int)),
    Pair("work-groups write one place", "race", "int g = get_group_id(0); if (i < 32) y[FIX + i] = x[i] + g;", "0", "g * 32", I % 32 * 3 + I // 32, grid=2),
    Pair("no barrier between groups' halves", "race", "local int a[64]; a[i] = x[i]; FIX; y[i] = a[i ^ 32];", "", "barrier(CLK_LOCAL_MEM_FENCE)",
         (I ^ 32) * 3),
    Pair("a tile used again", "race", "local int a[64]; int s = 0; for (int k = 0; k < 2; ++k) { a[i] = x[i] + k; barrier(CLK_LOCAL_MEM_FENCE);"
         " s += a[63 - i]; FIX; } y[i] = s;", "", "barrier(CLK_LOCAL_MEM_FENCE)", (63 - I) * 6 + 1),
    Pair("a plain counter", "race", "local int c; if (i == 0) c = 0; barrier(CLK_LOCAL_MEM_FENCE); FIX; barrier(CLK_LOCAL_MEM_FENCE); y[i] = c * 0 + x[i];",
         "c += 1", "atomic_inc(&c)", I * 3),
    Pair("a barrier for some", "sync", "if (i < 40 FIX) barrier(CLK_LOCAL_MEM_FENCE); y[i] = x[i];", "", "|| 1", I * 3),
    Pair("an early return", "sync", "if (i >= 40 FIX) return; barrier(CLK_LOCAL_MEM_FENCE); y[i] = x[i];", "", "&& 0", I * 3),
    Pair("a barrier in a loop of other lengths", "sync", "for (int k = 0; k < FIX; ++k) barrier(CLK_LOCAL_MEM_FENCE); y[i] = x[i];", "i % 3", "3", I * 3),
    Pair("an endless loop", "steps", "int k = 0; while (k != FIX) k += 2; y[i] = x[i];", "7", "8", I * 3, options=("--max-steps=20000",)),
    Pair("a wait for nobody", "steps", "volatile local int f; if (i == 0) atomic_xchg(&f, FIX); barrier(CLK_LOCAL_MEM_FENCE);"
         " while (atomic_or(&f, 0) == 0) {} y[i] = x[i];", "0", "1", I * 3, options=("--max-steps=20000",)),
    Pair("code that is never reached", "trap", "if (x[i] == FIX) __builtin_unreachable(); y[i] = x[i];", "9", "-1", I * 3),
]  # fmt: skip
PAIRS20 = [
    Pair("a work-group function for some", "sync", "int s = 0; if (i < 40 FIX) s = work_group_reduce_add(x[i]); y[i] = s; barrier(CLK_LOCAL_MEM_FENCE);", "", "|| 1",
         np.full(N, 3 * N * (N - 1) // 2)),
    Pair("a sub-group function for some", "sync", "int s = 0; if (i % 3 == 0 FIX) s = sub_group_broadcast(x[i], 0); y[i] = s;", "", "|| 1", I // 32 * 96),
    Pair("a flag without release", "race",
         "local atomic_int f; local int v; if (i == 0) { atomic_init(&f, 0); v = 0; } work_group_barrier(CLK_LOCAL_MEM_FENCE);"
         " if (i == 0) { v = 7; atomic_store_explicit(&f, 1, FIX, memory_scope_work_group); }"
         " while (atomic_load_explicit(&f, memory_order_acquire, memory_scope_work_group) == 0) {} y[i] = v;",
         "memory_order_relaxed", "memory_order_release", np.full(N, 7)),
]  # fmt: skip


class Faults(mtlc_exec.TestCase):
    def run_pair(self, pair: Pair, standard: str, level: str) -> None:
        for bad in (True, False):
            body = pair.source.replace("FIX", pair.bad if bad else pair.good)
            text = (
                "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n" if standard >= "2.0" else ""
            ) + "constant int t[4] = {5, 6, 7, 8};\n"
            text += f"kernel void k(global const int* x, global int* y, local int* room) {{ int i = get_local_id(0), z; {body} }}\n"
            source = mtlc_exec.write_source("fault.cl", text)
            module = compile_opencl(source, standard, level)
            y = mtlc_exec.Output(np.int32, N)
            args = [np.arange(N, dtype=np.int32) * 3, y, mtlc_exec.Raw("workgroup:256")]
            done = mtlc_exec.launch(module, "k", args, grid=pair.grid, block=N, options=list(pair.options))
            if bad:
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"[{pair.kind}]", done.stderr)
                self.assertIn(pair.says, done.stderr)
            else:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_same(done[y], pair.want.astype(np.int32))

    def test_pairs(self) -> None:
        for pair in PAIRS:
            with self.subTest(name=pair.name):
                self.run_pair(pair, "1.2", "-O0")
        for pair in PAIRS20:
            with self.subTest(name=pair.name):
                self.run_pair(pair, "2.0", "-O0")


if __name__ == "__main__":
    if CLANG is None or TRANSLATOR is None:
        mtlc_testing.skip_all("no clang with llvm-spirv")
    mtlc_exec.main()
