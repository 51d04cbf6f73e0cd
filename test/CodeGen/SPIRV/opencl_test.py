"""SPIR-V on an OpenCL device, PoCL's CPU in most places: every operation of every type gives what the interpreter does (which
test/Exec holds against exact arithmetic), memory, control flow, calls, barriers and atomics work, and arguments are checked.
Operations of one type share a kernel, for the driver takes its time to build each. Subgroups are not tried: PoCL has none.
"""

import unittest

import mtlc_exec
import mtlc_testing
import numpy as np

INT_BINARY = "add sub mul smulhi umulhi sdiv udiv srem urem and or xor shl lshr ashr smin smax umin umax".split()
INT_UNARY = "neg abs clz popcount".split()
INT_COMPARE = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_BINARY = "fadd fsub fmul fdiv fmin fmax fmin.nan fmax.nan".split()
FLOAT_UNARY = "fsqrt fneg fabs ffloor fceil ftrunc fround froundeven".split()
FLOAT_COMPARE = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
INTS = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}
FLOATS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
TYPES = {**INTS, **FLOATS}


def width(t: str) -> int:
    return TYPES[t](0).nbytes * 8


def corners(t: str) -> list[int]:
    """Bit patterns where operations differ."""
    w = width(t)
    top = 1 << (w - 1)
    if t in INTS:
        return [0, 1, 2, 3, 5, 7, w - 1, w, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 100, 2 * top - 100]
    m = MANTISSA[t]
    inf = ((1 << (w - 1 - m)) - 1) << m
    one = (inf >> (m + 1)) << m
    half = one - (1 << m)
    values = [0, 1, 2, (1 << m) - 1, 1 << m, one, one + 1, one - 1, half, one + (1 << (m - 1)), inf - 1, inf, inf + (1 << (m - 1)),
              one + (10 << m), one + (m << m) + 1, half + 3, one + (2 << m) + (1 << (m - 2))]  # fmt: skip
    return [v & (2 * top - 1) for v in values] + [(v | top) & (2 * top - 1) for v in values]


def pairs(t: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    c = np.array(corners(t), TYPES[t])
    a, b = (x.ravel() for x in np.meshgrid(c, c))
    random = rng.integers(0, 2 ** width(t), (2, 500), dtype=TYPES[t])
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


def is_nan(t: str, bits: np.ndarray) -> np.ndarray:
    w, m = width(t), MANTISSA[t]
    inf = ((1 << (w - 1 - m)) - 1) << m
    return (bits & TYPES[t]((1 << (w - 1)) - 1)) > TYPES[t](inf)


class OpenCl(mtlc_exec.TestCase):
    @classmethod
    def setUpClass(cls):
        path = mtlc_exec.write_source("probe.mtir", 'module "m"\n\nkernel @k() {\n^entry:\n  ret\n}\n')
        if mtlc_exec.launch(path, "k", [], device="opencl").returncode != 0:
            raise unittest.SkipTest("no OpenCL device that takes SPIR-V, or SPIR with llvm-spirv")

    def same_as_interp(self, source, operands, results, arrays):
        path = mtlc_exec.write_source("k.mtir", mtlc_exec.elementwise_mtir(operands, results, source))
        n = len(arrays[0])
        outs = [[mtlc_exec.Output(TYPES[t], n) for t in results] for _ in range(2)]
        done = [
            mtlc_exec.launch(path, "k", [*arrays, *out, np.int32(n)], grid=-(-n // 64), block=64, device=device)
            for device, out in zip(("interp", "opencl"), outs)
        ]
        for d in done:
            self.assertEqual(d.returncode, 0, d.stderr)
        for k, t in enumerate(results):
            want, got = done[0][outs[0][k]], done[1][outs[1][k]]
            same = got == want
            if t in FLOATS:
                same |= is_nan(t, got) & is_nan(t, want)
            bad = np.flatnonzero(~same)
            with self.subTest(result=source[-1] if len(results) == 1 else k):
                self.assertEqual(len(bad), 0, f"{source}: result {k}: " + ", ".join(
                    f"{[hex(int(x[i])) for x in arrays]} -> {int(got[i]):#x}, not {int(want[i]):#x}" for i in bad[:4]))  # fmt: skip

    def test_integers(self):
        for t in INTS:
            with self.subTest(type=t):
                body = [f"%r{k} = {op} %a, %b : {t}" for k, op in enumerate(INT_BINARY)]
                results = [t] * len(body)
                for op in INT_UNARY:
                    body.append(f"%r{len(results)} = {op} %a : {t}")
                    results.append(t)
                for op in INT_COMPARE:
                    body += [f"%c{len(results)} = cmp.{op} %a, %b : {t}",
                             f"%r{len(results)} = sext %c{len(results)} : i1 to i32"]  # fmt: skip
                    results.append("i32")
                self.same_as_interp(body, [t, t], results, pairs(t, np.random.default_rng(1)))

    def test_floats(self):
        for t in FLOATS:
            with self.subTest(type=t):
                body = [f"%r{k} = {op} %a, %b : {t}" for k, op in enumerate(FLOAT_BINARY)]
                results = [t] * len(body)
                for op in FLOAT_UNARY:
                    body.append(f"%r{len(results)} = {op} %a : {t}")
                    results.append(t)
                body.append(f"%r{len(results)} = fma %a, %b, %a : {t}")
                results.append(t)
                for op in FLOAT_COMPARE:
                    body += [f"%c{len(results)} = fcmp.{op} %a, %b : {t}",
                             f"%r{len(results)} = zext %c{len(results)} : i1 to i32"]  # fmt: skip
                    results.append("i32")
                self.same_as_interp(body, [t, t], results, pairs(t, np.random.default_rng(2)))

    def test_fma_of_halves_rounds_once(self):
        for t in ("f16", "bf16"):
            with self.subTest(type=t):
                rng = np.random.default_rng(3)
                m = MANTISSA[t]
                one = ((1 << (15 - m)) - 1 >> 1) << m
                # Products near ties of the result, and addends far below their last place.
                x = (one + rng.integers(-3 << m, 3 << m, (3, 4000))).astype(np.uint16)
                x[2, ::2] = rng.integers(0, 1 << 16, 2000, dtype=np.uint16)
                self.same_as_interp([f"%r0 = fma %a, %b, %c : {t}"], [t] * 3, [t], list(x))

    def test_conversions(self):
        for t in TYPES:
            body, results = [], []
            for u in TYPES:
                k = len(results)
                if t in INTS and u in INTS:
                    if width(u) == width(t):
                        continue
                    ops = ["trunc"] if width(u) < width(t) else ["sext", "zext"]
                elif t in INTS:
                    ops = ["sitof", "uitof"]
                elif u in INTS:
                    ops = ["ftosi", "ftoui"]
                else:
                    ops = ["fconv"] if u != t else []
                for op in ops:
                    body.append(f"%r{k} = {op} %a : {t} to {u}")
                    results.append(u)
                    k += 1
            with self.subTest(type=t):
                a, _ = pairs(t, np.random.default_rng(4))
                self.same_as_interp(body, [t], results, [a])

    def test_exhaustive_halves(self):
        a = np.arange(1 << 16, dtype=np.uint16)
        for t in ("f16", "bf16"):
            other = "bf16" if t == "f16" else "f16"
            body = [f"%r0 = fconv %a : {t} to f32", f"%r1 = fconv %a : {t} to {other}", f"%r2 = fsqrt %a : {t}",
                    f"%r3 = ftosi %a : {t} to i16"]  # fmt: skip
            with self.subTest(type=t):
                self.same_as_interp(body, [t], ["f32", other, t, "i16"], [a])

    def test_narrow_formats(self):
        codes = np.arange(256, dtype=np.uint8)
        formats = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3"]
        body = [f"%r{k} = decode {f} %a : f32" for k, f in enumerate(formats)]
        self.same_as_interp(body, ["i8"], ["f32"] * len(body), [codes])
        a, _ = pairs("f32", np.random.default_rng(5))
        body = [f"%r{k} = encode {f} sat %a : f32" for k, f in enumerate(formats[:5])]
        self.same_as_interp(body, ["f32"], ["i8"] * len(body), [a])

    def test_memory_barriers_atomics_calls(self):
        source = mtlc_exec.write_source("k.mtir", KERNELS)
        n = 96
        rng = np.random.default_rng(6)
        x = rng.integers(0, 1 << 32, 3 * n, dtype=np.uint32)
        for device in ("interp", "opencl"):
            with self.subTest(device=device):
                out, total = mtlc_exec.Output(np.uint32, 3 * n), mtlc_exec.InOut(np.zeros(4, np.uint32))
                wide = mtlc_exec.InOut(np.array([7], np.uint64))
                f = mtlc_exec.InOut(np.zeros(1, np.float32))
                done = mtlc_exec.launch(source, "k", [x, out, total, wide, f, True], grid=3, block=n, shared=4 * n, device=device)
                self.assertEqual(done.returncode, 0, done.stderr)
                # Reversed within each block by way of the arena, then the low halves doubled by a helper.
                want = x.reshape(3, n)[:, ::-1].ravel()
                want = np.where(want & 1, want * 2 + 1, want ^ 0xFFFF)
                np.testing.assert_array_equal(done[out], want.astype(np.uint32))
                sums = [np.uint32(x.sum(dtype=np.uint64) & 0xFFFFFFFF), x.max(), x.min() ^ x.min(), np.uint32(3 * n)]
                np.testing.assert_array_equal(done[total], np.array(sums, np.uint32))
                self.assertEqual(int(done[wide][0]), 7 + int(x.sum(dtype=np.uint64)))
                self.assertEqual(float(done[f][0]), 3 * n * 0.5)

    def test_fences_and_generic_atomics(self):
        """PoCL has no function for either by SPIR's names: the runtime calls others (mtlc/runtime/spir_route.h)."""
        source = mtlc_exec.write_source("f.mettle", FENCES)
        n, groups = 64, 3
        for device in ("interp", "opencl"):
            with self.subTest(device=device):
                total = mtlc_exec.InOut(np.zeros(4, np.uint32))
                wide, out = mtlc_exec.InOut(np.zeros(2, np.uint64)), mtlc_exec.Output(np.uint32, (groups, 4))
                done = self.launch(source, "fences", [total, wide, out], grid=groups, block=n, device=device)
                np.testing.assert_array_equal(done[total], [3 * groups * n // 2, n - 2, 77, 5])
                np.testing.assert_array_equal(done[out], np.tile([3 * n // 2, n - 1, 77, 5], (groups, 1)))
                np.testing.assert_array_equal(done[wide], [groups * n << 33, 0])
        for order in ("acquire", "release", "acq_rel", "seq_cst"):
            with self.subTest(order=order):
                path = mtlc_exec.write_source("m.mettle", MESSAGE.replace("ORDER", order))
                out, flag = mtlc_exec.InOut(np.zeros(4, np.uint32)), mtlc_exec.InOut(np.zeros(1, np.uint32))
                done = self.launch(path, "message", [out, flag], grid=4, block=1, device="opencl")
                np.testing.assert_array_equal(np.sort(done[out]), [1, 2, 3, 4])

    def test_arguments_are_checked(self):
        source = mtlc_exec.write_source("k.mtir", KERNELS)
        llc = mtlc_testing.run("mtlc-llc", "-march=spirv-opencl2.0", source, "-o", mtlc_testing.scratch("k.spv"))
        self.assertEqual(llc.returncode, 0, llc.stderr)
        spv = mtlc_testing.scratch("k.spv")
        x = np.zeros(4, np.uint32)
        for args, what in [([x], "takes"), ([x, x, x, x, np.uint32(1), True], "pointer"), ([x] * 5 + [np.uint32(1)], "bytes")]:
            with self.subTest(what=what):
                done = mtlc_exec.launch(spv, "k", args, device="opencl")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(what, done.stderr)
        done = mtlc_exec.launch(spv, "missing", [x], device="opencl")
        self.assertEqual(done.returncode, 2)
        with open(mtlc_testing.scratch("bad.spv"), "wb") as file:
            file.write(b"\x03\x02\x23\x07" * 3)
        done = mtlc_exec.launch(mtlc_testing.scratch("bad.spv"), "k", [x], device="opencl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SPIR-V", done.stderr)  # DIAG: OpenClUnusable


FENCES = """
fn bump(p: uint32*, v: uint32) -> uint32 { return atomic_fetch_add(p, 0, v) }
kernel fences(total: uint32*, wide: uint64*, out: uint32*) {
  workgroup var s: uint32[4]
  var t: int32 = thread.x
  if (t < 4) { s[t] = 0 }
  barrier()
  var p: uint32* = total
  if ((t & 1) != 0) { p = s }
  fence()
  fence(workgroup, acquire)
  fence(global, release, scope: system)
  fence(workgroup, global, acq_rel, scope: workgroup)
  bump(p, 3)
  atomic_fetch_max(p, 1, (uint32)t)
  atomic_exchange(p, 2, 77)
  atomic_compare_exchange(p, 3, 0, 5)
  var q: uint64* = wide
  if (total == 0) { q = (uint64*)p }
  atomic_fetch_add(q, 0, (uint64)1 << 33)
  barrier()
  if (t < 4) { out[block.x * 4 + t] = s[t] }
}
"""

MESSAGE = """
kernel message(out: uint32*, flag: uint32*) {
  fence(ORDER)
  var seen: uint32 = atomic_fetch_add(flag, 0, 1, order: relaxed)
  fence(ORDER)
  out[seen] = seen + 1
}
"""

KERNELS = """module "m"

func @fix(%v: i32, %odd: i1) -> i32 {
^entry:
  %one = const 1 : i32
  %low = const 65535 : i32
  br %odd, ^a, ^b
^a:
  %d = add %v, %v : i32
  %e = add %d, %one : i32
  ret %e
^b:
  %x = xor %v, %low : i32
  ret %x
}

func @meet() {
^entry:
  barrier {workgroup} acq_rel
  ret
}

kernel @k(%x: ptr<global>, %out: ptr<global>, %total: ptr<global>, %wide: ptr<global>, %f: ptr<global>, %yes: i1) {
^entry:
  %arena = alloc.dynamic i32 : ptr<workgroup>
  %flags = alloc.workgroup i1[4] : ptr<workgroup>
  %mine = alloc.private i32[2] : ptr<private>
  %t = gpu.thread_id x : i32
  %n = gpu.block_dim x : i32
  %b = gpu.block_id x : i32
  %base = mul %b, %n : i32
  %g = add %base, %t : i32
  %g64 = zext %g : i32 to i64
  %t64 = zext %t : i32 to i64
  %one = const 1 : i32
  %zero = const 0 : i32
  %px = ptr.add %x, %g64 x i32 : ptr<global>
  %v = load i32, %px : ptr<global>
  %pa = ptr.add %arena, %t64 x i32 : ptr<workgroup>
  store i32, %v, %pa : ptr<workgroup>
  %first = cmp.eq %t, %zero : i32
  br %first, ^flag, ^sync
^flag:
  store i1, %yes, %flags : ptr<workgroup>
  jump ^sync
^sync:
  call @meet()
  %last = sub %n, %one : i32
  %other = sub %last, %t : i32
  %other64 = zext %other : i32 to i64
  %po = ptr.add %arena, %other64 x i32 : ptr<workgroup>
  %w = load i32, %po : ptr<workgroup>
  %ok = load i1, %flags : ptr<workgroup>
  %bit = and %w, %one : i32
  %isodd = cmp.ne %bit, %zero : i32
  %odd = and %isodd, %ok : i1
  store i32, %w, %mine : ptr<private>
  %kept = load i32, %mine : ptr<private>
  %r = call @fix(%kept, %odd) : i32
  %pout = ptr.add %out, %g64 x i32 : ptr<global>
  store i32, %r, %pout : ptr<global>
  %sum = atomic.rmw add i32, %total, %v : ptr<global> relaxed device
  %i1 = const 1 : i64
  %p1 = ptr.add %total, %i1 x i32 : ptr<global>
  %max = atomic.rmw umax i32, %p1, %v : ptr<global> acq_rel device
  %i3 = const 3 : i64
  %p3 = ptr.add %total, %i3 x i32 : ptr<global>
  %start = atomic.load i32, %p3 : ptr<global> relaxed device
  jump ^count(%start)
^count(%seen: i32):
  %next = add %seen, %one : i32
  %old = atomic.cas i32, %p3, %seen, %next : ptr<global> seq_cst acquire device
  %won = cmp.eq %old, %seen : i32
  br %won, ^end, ^count(%old)
^end:
  %v64 = zext %v : i32 to i64
  %q = atomic.rmw add i64, %wide, %v64 : ptr<global> relaxed device
  %half = const 0.5 : f32
  %fq = atomic.rmw fadd f32, %f, %half : ptr<global> relaxed device
  ret
}
"""


if __name__ == "__main__":
    mtlc_testing.main()
