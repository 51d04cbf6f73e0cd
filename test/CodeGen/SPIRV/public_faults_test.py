"""Faults that were public reports elsewhere, where SPIR-V or OpenCL is their subject. The numbers are those of the collection of
reports that the project keeps. What runs, runs on the OpenCL device against values written here; the rest is read from the text.
"""

import re
import shutil
import subprocess
import unittest

import mtlc_exec
import mtlc_testing
import numpy as np

BASE = {"Addresses", "Kernel", "Int8"}  # Pointers are to bytes.

# Operations of a kernel (%p: ptr<global>, %x: i32, %f: f32) -> capabilities beyond the base, extensions.
FEATURES = {
    "plain float": (["%a = fmul %f, %f : f32", "store f32, %a, %p : ptr<global>"], set(), set()),
    "i8 load": (["%a = load i8, %p : ptr<global>", "%b = zext %a : i8 to i32", "store i32, %b, %p : ptr<global>"], set(), set()),
    "i16 load": (["%a = load i16, %p : ptr<global>", "store i16, %a, %p : ptr<global>"], {"Int16"}, set()),
    "half multiply": (["%a = load f16, %p : ptr<global>", "%b = fmul %a, %a : f16", "store f16, %b, %p : ptr<global>"], {"Int16"}, set()),
    "f64 add": (["%a = load f64, %p : ptr<global>", "%b = fadd %a, %a : f64", "store f64, %b, %p : ptr<global>"], {"Float64"}, set()),
    "i32 add atomic": (["%a = atomic.rmw add i32, %p, %x : ptr<global> relaxed device"], set(), set()),
    "i64 add atomic": (["%a = load i64, %p : ptr<global>", "%b = atomic.rmw add i64, %p, %a : ptr<global> relaxed device"],
                       {"Int64", "Int64Atomics"}, set()),
    "subgroup sum": (["%a = subgroup.reduce add %x : i32", "store i32, %a, %p : ptr<global>"], {"Groups"}, set()),
    "subgroup id": (["%a = subgroup.local_id : i32", "store i32, %a, %p : ptr<global>"], set(), set()),
    "vote": (["%c = cmp.eq %x, %x : i32", "%v = subgroup.any %c", "%a = zext %v : i1 to i32", "store i32, %a, %p : ptr<global>"],
             {"Groups"}, set()),
    "ballot": (["%c = cmp.eq %x, %x : i32", "%w = const 0 : i32", "%a = subgroup.ballot %c, %w : i32", "store i32, %a, %p : ptr<global>"],
               {"SubgroupBallotKHR"}, {"SPV_KHR_shader_ballot"}),
    "barrier": (["barrier {workgroup} acq_rel"], set(), set()),
    "generic pointer": (["%g = spacecast %p : ptr<global> to ptr<generic>", "store i32, %x, %g : ptr<generic>"], {"GenericPointer"}, set()),
}  # fmt: skip


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


class PublicFaults(mtlc_exec.TestCase):
    def setUp(self):
        probe = mtlc_exec.write_source("probe.mtir", 'module "m"\n\nkernel @k() {\n^entry:\n  ret\n}\n')
        self.device = mtlc_exec.launch(probe, "k", [], device="opencl").returncode == 0

    def devices(self):
        return ["interp", "opencl"] if self.device else ["interp"]

    def kernel(self, body: list[str], more: str = "") -> str:
        text = "\n".join("  " + line for line in body)
        return mtlc_exec.write_source(
            "k.mtir", f'module "m"\n\n{more}kernel @k(%p: ptr<global>, %x: i32, %f: f32) {{\n^entry:\n{text}\n  ret\n}}\n')  # fmt: skip

    def text(self, path: str, profile: str = "spirv-opencl2.0", *options: str) -> str:
        done = mtlc_testing.run("mtlc-llc", f"-march={profile}", "--filetype=asm", path, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_bc43_exact_capabilities(self):
        for name, (body, capabilities, extensions) in FEATURES.items():
            with self.subTest(feature=name):
                path = self.kernel(body)
                text = self.text(path)
                self.assertEqual(set(re.findall(r"OpCapability (\w+)", text)), BASE | capabilities)
                self.assertEqual(set(re.findall(r'OpExtension "(\w+)"', text)), extensions)
                self.assertEqual(len(re.findall("OpCapability", text)), len(BASE | capabilities))  # Each once.
                if validator := shutil.which("spirv-val"):
                    spv = mtlc_testing.scratch("k.spv")
                    self.assertEqual(mtlc_testing.run("mtlc-llc", "-march=spirv-opencl2.0", path, "-o", spv).returncode, 0)
                    environment = "spv1.0" if "Int64Atomics" in capabilities else "opencl2.0"
                    done = subprocess.run([validator, "--target-env", environment, spv], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with self.subTest(feature="helpers only"):
            helper = "func @h(%a: f64) -> f64 {\n^entry:\n  %b = fadd %a, %a : f64\n  ret %b\n}\n\n"
            # A module has a kernel; what no kernel reaches asks for nothing.
            path = mtlc_exec.write_source("h.mtir", f'module "m"\n\n{helper}')
            done = mtlc_testing.run("mtlc-llc", "-march=spirv-opencl2.0", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn("[D01]", done.stderr)
            text = self.text(self.kernel([], helper))
            self.assertEqual(set(re.findall(r"OpCapability (\w+)", text)), BASE)
            self.assertEqual(text.count("OpFunction "), 1)

    def test_bc44_barriers_and_fences(self):
        """Acquire 2, Release 4, AcquireRelease 8, SequentiallyConsistent 0x10; WorkgroupMemory 0x100, CrossWorkgroupMemory 0x200.
        Scopes: CrossDevice 0, Device 1, Workgroup 2, Subgroup 3. A fence of one work-item's scope is refused (V25)."""
        orders = {"acquire": 0x2, "release": 0x4, "acq_rel": 0x8, "seq_cst": 0x10}
        regions = {"workgroup": 0x100, "global": 0x200, "workgroup, global": 0x300}
        scopes = {"subgroup": 3, "workgroup": 2, "device": 1, "system": 0}
        for order, bits in orders.items():
            for region, memory in regions.items():
                with self.subTest(order=order, region=region):
                    want = f"%uint_{bits | memory}"
                    for op, scope in (("barrier", 2), ("subgroup.barrier", 3)):
                        if order not in ("acq_rel", "seq_cst"):
                            continue
                        text = self.text(self.kernel([f"{op} {{{region}}} {order}"]))
                        # One instruction, not a fence and one.
                        self.assertEqual(re.findall(r"Op\w*Barrier.*", text), [f"OpControlBarrier %uint_{scope} %uint_{scope} {want}"])
                    for name, scope in scopes.items():
                        text = self.text(self.kernel([f"fence {{{region}}} {order} {name}"]))
                        self.assertEqual(re.findall(r"Op\w*Barrier.*", text), [f"OpMemoryBarrier %uint_{scope} {want}"])
                    self.assertRegex(text, rf"{want} = OpConstant %uint {bits | memory}\n")

    def test_bc44_seq_cst_atomics_are_fences_too(self):
        """docs/ir.md: a fence of the scope, and an acquiring or releasing operation; OpenCL's own orders less."""
        zero = "%z = const 0 : i32"
        cases = {
            "%a = atomic.load i32, %p : ptr<global> seq_cst device": ["OpMemoryBarrier %uint_1 %uint_784", "OpAtomicLoad", "%uint_1 %uint_770"],
            "atomic.store i32, %p, %x : ptr<global> seq_cst device": ["OpMemoryBarrier %uint_1 %uint_784", "OpAtomicStore", "%uint_1 %uint_772"],
            "%a = atomic.rmw add i32, %p, %x : ptr<global> seq_cst system": ["OpMemoryBarrier %uint_0 %uint_784", "OpAtomicIAdd", "%uint_0 %uint_770"],
            "%a = atomic.cas i32, %p, %z, %x : ptr<global> seq_cst relaxed device":
                ["OpMemoryBarrier %uint_1 %uint_784", "OpAtomicCompareExchange", "%uint_1 %uint_770 %uint_0"],
            "%a = atomic.cas i32, %p, %z, %x : ptr<global> seq_cst seq_cst device":
                ["OpMemoryBarrier %uint_1 %uint_784", "OpAtomicCompareExchange", "%uint_1 %uint_770 %uint_770"],
            "%a = atomic.rmw add i32, %p, %x : ptr<global> acq_rel device": ["OpAtomicIAdd", "%uint_1 %uint_776"],
            "%a = atomic.rmw add i32, %p, %x : ptr<global> relaxed device": ["OpAtomicIAdd", "%uint_1 %uint_0"],
        }  # fmt: skip
        for body, want in cases.items():
            with self.subTest(body=body):
                found = "\n".join(re.findall(r"Op(?:Atomic|MemoryBarrier).*", self.text(self.kernel([zero, body]))))
                self.assertRegex(found, "".join(f"(?s:.*){re.escape(part)}" for part in want))
                self.assertEqual(found.count("OpMemoryBarrier"), len(want) - 2)

    def test_bc46_local_memory_and_several_groups(self):
        arena = """
kernel arena(out: int32*, x: int32*) {
  workgroup var s: int32*
  s[thread.x] = x[block.x * block_dim.x + thread.x]
  barrier()
  if (thread.x == 0) {
    var sum: int32 = 0
    for i in 0..block_dim.x { sum += s[i] }
    out[block.x] = sum
  }
}
"""
        hierarchy = """
kernel hierarchy(out: int32*, x: int32*) {
  workgroup var s: int32[32]
  var size: int32 = (int32)subgroup_size()
  var part: int32 = subgroup_reduce_add(x[block.x * block_dim.x + thread.x])
  if (subgroup_local_id() == 0) { s[thread.x / size] = part }
  barrier()
  if (thread.x == 0) {
    var sum: int32 = 0
    for i in 0..(block_dim.x + size - 1) / size { sum += s[i] }
    out[block.x] = sum
  }
}
"""
        path = mtlc_exec.write_source("k.mettle", arena)
        subgroups = mtlc_exec.write_source("h.mettle", hierarchy)
        x, sums = np.arange(1, 129, dtype=np.int32), [528, 1552, 2576, 3600]
        for device in self.devices():
            with self.subTest(device=device):
                out = mtlc_exec.Output(np.int32, 4)
                done = self.launch(path, "arena", [out, x], grid=4, block=32, shared=256, device=device)
                self.assertEqual(done[out].tolist(), sums)
        # PoCL has no subgroups: their size is the interpreter's to choose, and the instructions are read.
        for size in (8, 16, 32):
            with self.subTest(subgroup=size):
                out = mtlc_exec.Output(np.int32, 4)
                done = self.launch(subgroups, "hierarchy", [out, x], grid=4, block=32, device="interp", options=[f"--subgroup-size={size}"])
                self.assertEqual(done[out].tolist(), sums)
        ir = mtlc_testing.scratch("k.mtir")
        self.assertEqual(mtlc_testing.run("mettle", "--emit-ir", subgroups, "-o", ir).returncode, 0)
        text = self.text(ir)
        self.assertRegex(text, r"OpGroupIAdd %uint %uint_3 Reduce")
        self.assertNotIn("workgroup_arena", text)
        # The size comes as the last parameter, and is said.
        self.assertEqual(mtlc_testing.run("mettle", "--emit-ir", path, "-o", ir).returncode, 0)
        text = self.text(ir)
        self.assertRegex(text, r"OpDecorate %workgroup_arena Alignment 32")
        self.assertRegex(text, r"%workgroup_arena = OpFunctionParameter %_ptr_Workgroup_uchar")
        done = mtlc_testing.run("mettle", "--emit-spirv", "--explain", path, "-o", mtlc_testing.scratch("k.spv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"k\.mettle:2:\d+: analysis: \[spirv\] .* is parameter 2 of the kernel, .* \(in 'arena'\)")
        done = mtlc_testing.run("mettle", "--emit-spirv", "--explain", subgroups, "-o", mtlc_testing.scratch("k.spv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("[spirv]", done.stderr)
        if not self.device:
            self.skipTest("no OpenCL device that takes SPIR-V, or SPIR with llvm-spirv")
        out = mtlc_exec.Output(np.int32, 4)
        for shared, block, what in (
            (0, 32, "kernel 'arena' uses workgroup memory of the launch's size, and the launch gives none"),
            (256, 1 << 20, "a workgroup of 1048576 work-items: kernel 'arena' may have "),
            (1 << 40, 32, "needs 0 bytes of workgroup memory, and the launch gives 1099511627776 more"),
        ):
            with self.subTest(shared=shared, block=block):
                done = mtlc_exec.launch(path, "arena", [out, x], grid=4, block=block, shared=shared, device="opencl")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(what, done.stderr)

    def test_bc10_quantise(self):
        """Round to even, then clamp."""
        a = f32(0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 127.6, -128.5, np.nan, np.inf, -np.inf)
        want = np.array([0, 2, 2, 0, -2, 126, 127, 127, -128, 0, 127, -128], np.int8)
        for device in self.devices():
            with self.subTest(device=device):
                body = ["%e = froundeven %a : f32", "%r0 = ftosi %e : f32 to i8"]
                (got,) = self.elementwise([("f32", a)], [("i8", np.int8)], body, device=device)
                self.assert_same(got, want)

    def test_bc14_eight_bit_floats(self):
        def value(code: int, exponent_bits: int, mantissa_bits: int) -> float:
            """By the definition of the format."""
            sign = -1.0 if code & 0x80 else 1.0
            exponent, mantissa = (code & 0x7F) >> mantissa_bits, code & (1 << mantissa_bits) - 1
            bias = (1 << exponent_bits - 1) - 1
            if exponent_bits == 4 and code & 0x7F == 0x7F:
                return np.nan
            if exponent_bits == 5 and exponent == 31:
                return np.nan if mantissa else sign * np.inf
            return sign * (mantissa + (exponent > 0) * 2.0**mantissa_bits) * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)

        codes = np.arange(256, dtype=np.uint8)
        formats = {"e4m3": (4, 3), "e5m2": (5, 2)}
        carriers = {"f16": np.float16, "f32": np.float32, "bf16": np.uint16}
        nan, inf = np.nan, np.inf
        rows = {
            ("e4m3", "sat"): ([447, 448, 456, 464, 465, 1000, inf, -1e-9], [0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0x7E, 0x80]),
            ("e4m3", "nosat"): ([447, 448, 456, 464, 465, 1000, inf, -1e-9], [0x7E, 0x7E, 0x7E, 0x7E, None, None, None, 0x80]),
            ("e5m2", "sat"): ([57344, 61439, 61440, inf, -inf, -1e-9], [0x7B, 0x7B, 0x7B, 0x7B, 0xFB, 0x80]),
            ("e5m2", "nosat"): ([57344, 61439, 61440, inf, -inf, -1e-9], [0x7B, 0x7B, 0x7C, 0x7C, 0xFC, 0x80]),
        }
        for device in self.devices():
            for name, (e, m) in formats.items():
                with self.subTest(device=device, decode=name):
                    body = [f"%r{i} = decode {name} %a : {t}" for i, t in enumerate(carriers)]
                    results = self.elementwise([("i8", codes)], list(carriers.items()), body, device=device)
                    want = f32(*(value(int(c), e, m) for c in codes))
                    self.assert_same(results[0], want.astype(np.float16))
                    self.assert_same(results[1], want)
                    self.assert_same(mtlc_exec.from_bf16(results[2]), want)
            for (name, mode), (values, want) in rows.items():
                with self.subTest(device=device, encode=name, mode=mode):
                    body = [f"%r0 = encode {name} {mode} %a : f32"]
                    (got,) = self.elementwise([("f32", f32(*values, nan))], [("i8", np.uint8)], body, device=device)
                    for x, code, expected in zip([*values, nan], got, [*want, None]):
                        if expected is None:
                            self.assertTrue(np.isnan(value(int(code), *formats[name])), (x, code))
                        else:
                            self.assertEqual(int(code), expected, x)

    def test_bc16_contraction_is_off(self):
        text = self.text(self.kernel(["%a = fmul %f, %f : f32", "%b = fadd %a, %f : f32", "store f32, %b, %p : ptr<global>"]))
        self.assertRegex(text, r"OpExecutionMode %k ContractionOff\n")
        self.assertEqual(len(re.findall("OpFMul|OpFAdd", text)), 2)
        self.assertNotIn("fma", text)
        for device in self.devices():
            with self.subTest(device=device):
                a = f32(1 + 2.0**-12)
                body = ["%p = fmul %a, %a : f32", "%q = fmul %a, %a : f32", "%n = fneg %p : f32", "%r0 = fadd %q, %n : f32",
                        "%z = const 1.0 : f32", "%t = const 0x30800000 : f32", "%s = fadd %z, %t : f32", "%b = fsub %s, %z : f32",
                        "%r1 = fsub %t, %b : f32"]  # fmt: skip
                got, rest = self.elementwise([("f32", a)], [("f32", np.float32)] * 2, body, device=device)
                self.assertEqual(float(got[0]), 0.0)  # Fused: 2^-24.
                self.assertEqual(float(rest[0]), 2.0**-30)
                a64 = np.array([0.1])
                body = ["%b = const 300.0 : f64", "%p = fmul %a, %b : f64", "%q = fmul %a, %b : f64", "%n = fneg %p : f64", "%r0 = fadd %q, %n : f64"]
                (got,) = self.elementwise([("f64", a64)], [("f64", np.float64)], body, device=device)
                self.assertEqual(float(got[0]), 0.0)

    def test_bc26_address_spaces(self):
        source = """
kernel either(out: int32*, cells: int32*) {
  workgroup var s: int32[64]
  var t: int32 = thread.x
  s[t] = -1
  barrier()
  var p: int32* = cells + t
  if ((t & 1) != 0) { p = s + t }
  *p = t
  barrier(workgroup, global)
  out[t] = (t & 1) != 0 ? s[t] : cells[t]
}
@noinline fn read(p: int32*) -> int32 { return *p }
kernel local_variable(out: int32*, cells: int32*) {
  var v: int32[2]
  v[0] = 25
  v[1] = (int32)thread.x
  out[thread.x] = read(&v[0]) * 100 + read(&v[1])
}
"""
        source = source.replace("out[t] = (t & 1) != 0 ? s[t] : cells[t]", "if ((t & 1) != 0) { out[t] = s[t] } else { out[t] = cells[t] }")
        path = mtlc_exec.write_source("k.mettle", source)
        for device in self.devices():
            for name, want in (("either", np.arange(64)), ("local_variable", 2500 + np.arange(64))):
                with self.subTest(device=device, kernel=name):
                    out, cells = mtlc_exec.Output(np.int32, 64), mtlc_exec.InOut(np.full(64, -2, np.int32))
                    done = self.launch(path, name, [out, cells], block=64, device=device)
                    self.assertEqual(done[out].tolist(), want.tolist())
        nulls = ["%g = const null : ptr<global>", "%h = spacecast %g : ptr<global> to ptr<generic>", "%n = const null : ptr<generic>",
                 "%c = cmp.eq %h, %n : ptr<generic>", "%r0 = zext %c : i1 to i32",
                 "%back = spacecast %n : ptr<generic> to ptr<global>", "%d = cmp.eq %back, %g : ptr<global>", "%r1 = zext %d : i1 to i32"]  # fmt: skip
        for device in self.devices():
            with self.subTest(device=device, case="null"):
                got = self.elementwise([("i32", np.zeros(3, np.int32))], [("i32", np.int32)] * 2, nulls, device=device)
                self.assertEqual([g.tolist() for g in got], [[1, 1, 1]] * 2)
        path = self.kernel(["%s = spacecast %p : ptr<global> to ptr<workgroup>"])
        done = mtlc_testing.run("mtlc-llc", "-march=spirv-opencl2.0", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("spacecast", done.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
