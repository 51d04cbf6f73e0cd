"""Kernels that lead PoCL into its known faults when they are translated as they stand: barriers in helpers, returns before
barriers, barriers in loops that LLVM does not see as loops, shift amounts of another width, rounding of constants that fit no
integer. They run on the OpenCL device against values computed here, and the text shows that nothing of the kind is emitted.
"""

import re
import unittest

import mtlc_exec
import mtlc_testing
import numpy as np

N, GROUPS = 48, 3

# Every kernel takes x, out: uint32[N * GROUPS] and n. `t` is the work-item's place in its group, `i` in the launch.
HELPERS = """
fn meet(s: uint32*, v: uint32) -> uint32 {
  barrier(workgroup)
  s[thread.x] = v
  barrier(workgroup)
  return s[block_dim.x - 1 - thread.x]
}
@noinline fn meet_never(s: uint32*, v: uint32) -> uint32 { return meet(s, v) + 1 }
@noinline fn place() -> uint32 { return (uint32)(thread.x * 1000 + block.x) }
fn early(s: uint32*, v: uint32, stop: bool) -> uint32 {
  if (stop) { return 7 }
  var a: uint32 = meet(s, v)
  if (v == v + 1) { return 8 }
  return a
}
@noinline fn sum_to(s: uint32*, v: uint32, n: int32) -> uint32 {
  var sum: uint32 = v
  for (var k: int32 = 0; k < n; k += 1) {
    if (k == 5) { return sum + 100 }
    sum += meet(s, sum)
  }
  return sum
}
"""

HEAD = """kernel {name}(x: uint32*, out: uint32*, n: int32) {{
  workgroup var s: uint32[64]
  var t: int32 = thread.x
  var i: int32 = block.x * block_dim.x + t
  var v: uint32 = x[i]
"""


def meet(v):
    return v.reshape(GROUPS, N)[:, ::-1].ravel()


def sum_to(v, n):
    for k in range(n):
        if k == 5:
            return v + np.uint32(100)
        v = v + meet(v)
    return v


def groups(f):
    """For kernels where groups differ: f(values of the group, its number)."""
    return lambda x, n: np.concatenate([f(v, b) for b, v in enumerate(x.reshape(GROUPS, N))])


def mirrored_prefix(v, b):
    return v[::-1] if b != 1 else np.full(N, 5, np.uint32)


def while_break(x, n):
    v = x.copy()
    for k in range(10):
        v = v + meet(v)
        if k == n:
            break
        if k & 1:
            continue
        v = v ^ meet(v)
    return v


def nested_loops(x, n):
    v = x.copy()
    for a in range(n):
        for b in range(a):
            v = v * 3 + meet(v)
        v = v ^ meet(v)
    return v


def varying_trips(x, n):
    place = np.arange(x.size) % N
    v = x.copy()
    for _ in range(n):
        for k in range(N):
            v = np.where(k < place, v * 5 + 1, v)
        v = meet(v.astype(np.uint32))
    return v


KERNELS = {
    "helper": ("out[i] = meet(s, v)", lambda x, n: meet(x)),
    "nested_helpers": ("out[i] = meet_never(s, v)", lambda x, n: meet(x) + 1),
    "helper_twice": ("var a: uint32 = meet(s, v)\n out[i] = a * 3 + meet(s, v ^ a)", lambda x, n: meet(x) * 3 + meet(x ^ meet(x))),
    "helper_in_loop": ("for (var k: int32 = 0; k < n; k += 1) { v = meet_never(s, v + (uint32)k) }\n out[i] = v",
                       lambda x, n: meet(meet(meet(x) + 1 + 1) + 1 + 2) + 1),
    "noinline_place": ("out[i] = v + place()", groups(lambda v, b: v + np.arange(N, dtype=np.uint32) * 1000 + b)),
    "helper_returns_early": ("out[i] = early(s, v, n == 3)", lambda x, n: np.full(x.size, 7, np.uint32)),
    "helper_returns_late": ("out[i] = early(s, v, n == 4)", lambda x, n: meet(x)),
    "helper_with_loop": ("out[i] = sum_to(s, v, n * 2)", lambda x, n: sum_to(x, 2 * n)),
    "group_returns_early": ("out[i] = 5\n if (block.x == 1) { return }\n s[t] = v\n barrier()\n out[i] = s[block_dim.x - 1 - t]",
                            groups(mirrored_prefix)),
    "groups_return_by_argument": ("out[i] = v\n if (n == 3) { return }\n s[t] = v\n barrier()\n out[i] = s[0]", lambda x, n: x),
    "items_skip_work": ("s[t] = 9\n if (t < 20) { s[t] = v }\n barrier()\n if (t >= 20) { out[i] = s[t - 20] } else { out[i] = s[t] }",
                        groups(lambda v, b: np.where(np.arange(N) < 20, v, np.where(np.arange(N) < 40, np.roll(v, 20), 9)))),
    "return_in_loop": ("for (var k: int32 = 0; k < 10; k += 1) {\n out[i] = v\n if (k == n) { return }\n v = meet(s, v) + 1\n }\n out[i] = 0",
                       lambda x, n: meet(meet(meet(x) + 1) + 1) + 1),
    "return_of_items_after": ("v = meet(s, v)\n out[i] = v\n if (t > 9) { return }\n out[i] = v + 1",
                              groups(lambda v, b: v[::-1] + (np.arange(N) <= 9))),
    "uniform_if": ("if (n > 2) { v = meet(s, v) } else { barrier() }\n if (block.x == 2) { v = meet(s, v) + 4 }\n out[i] = v",
                   groups(lambda v, b: v + 4 if b == 2 else v[::-1])),
    "constant_if": ("if (4 > 3) { s[t] = v\n barrier() } else { barrier(global) }\n barrier()\n out[i] = s[(t + 1) % 48]",
                    groups(lambda v, b: np.roll(v, -1))),
    "while_break": ("var k: int32 = 0\n for (k = 0; k < 10; k += 1) {\n v += meet(s, v)\n if (k == n) { break }\n if ((k & 1) != 0) { continue }\n v ^= meet(s, v)\n }\n out[i] = v",
                    while_break),
    "nested_loops": ("for (var a: int32 = 0; a < n; a += 1) {\n for (var b: int32 = 0; b < a; b += 1) { v = v * 3 + meet(s, v) }\n v ^= meet(s, v)\n }\n out[i] = v",
                     nested_loops),
    "varying_trips": ("for (var a: int32 = 0; a < n; a += 1) {\n for (var b: int32 = 0; b < t; b += 1) { v = v * 5 + 1 }\n v = meet(s, v)\n }\n out[i] = v",
                      varying_trips),
    "barrier_at_ends": ("barrier()\n for (var a: int32 = 0; a < n; a += 1) {\n barrier()\n s[t] = v\n barrier()\n v = s[(t + 1) % 48]\n barrier()\n }\n out[i] = v\n barrier()",
                        groups(lambda v, b: np.roll(v, -3))),
    "no_trip": ("for (var a: int32 = n; a < 3; a += 1) { v = meet(s, v) }\n out[i] = v", lambda x, n: x),
}  # fmt: skip

# A loop that is entered at two places, with a barrier in it and one before it; and one without, as deep.
IRREDUCIBLE = """module "m"

kernel @k(%x: ptr<global>, %out: ptr<global>, %n: i32) {
^entry:
  %s = alloc.workgroup i32[64] : ptr<workgroup>
  %t = gpu.thread_id x : i32
  %b = gpu.block_id x : i32
  %dim = gpu.block_dim x : i32
  %base = mul %b, %dim : i32
  %g = add %base, %t : i32
  %g64 = zext %g : i32 to i64
  %t64 = zext %t : i32 to i64
  %px = ptr.add %x, %g64 x i32 : ptr<global>
  %pout = ptr.add %out, %g64 x i32 : ptr<global>
  %ps = ptr.add %s, %t64 x i32 : ptr<workgroup>
  %one = const 1 : i32
  %last = sub %dim, %one : i32
  %mirror = sub %last, %t : i32
  %m64 = zext %mirror : i32 to i64
  %pm = ptr.add %s, %m64 x i32 : ptr<workgroup>
  %v = load i32, %px : ptr<global>
  %zero = const 0 : i32
  barrier {workgroup} seq_cst
  %odd = and %b, %one : i32
  %isodd = cmp.ne %odd, %zero : i32
  br %isodd, ^first(%v, %zero), ^second(%v, %zero)
^first(%a: i32, %i: i32):
  store i32, %a, %ps : ptr<workgroup>
  barrier {workgroup} seq_cst
  %c = load i32, %pm : ptr<workgroup>
  barrier {workgroup} seq_cst
  %stop = cmp.eq %i, %n : i32
  br %stop, ^mine(%c, %t), ^second(%c, %i)
^second(%d: i32, %j: i32):
  %e = mul %d, %n : i32
  %f = add %e, %t : i32
  %j1 = add %j, %one : i32
  jump ^first(%f, %j1)
^mine(%h: i32, %left: i32):
  %low = and %t, %one : i32
  %islow = cmp.ne %low, %zero : i32
  br %islow, ^up(%h, %left), ^down(%h, %left)
^up(%q: i32, %l: i32):
  %q2 = add %q, %q : i32
  %fin = cmp.sle %l, %zero : i32
  br %fin, ^end(%q2), ^down(%q2, %l)
^down(%r: i32, %k: i32):
  %r2 = xor %r, %k : i32
  %k2 = sub %k, %one : i32
  jump ^up(%r2, %k2)
^end(%w: i32):
  barrier {workgroup, global} seq_cst
  store i32, %w, %pout : ptr<global>
  ret
}
"""


def irreducible(x, n):
    out = []
    place = np.arange(N, dtype=np.uint32)
    for b, v in enumerate(x.reshape(GROUPS, N)):
        j, first = 0, b % 2 == 1
        while True:
            if not first:
                v, j = v * np.uint32(n) + place, j + 1
            first = False
            v = v[::-1]
            if j == n:
                break
        done = []
        for t, h in enumerate(v.tolist()):
            left, up = t, t % 2 == 1
            while True:
                if not up:
                    h, left = h ^ (left & 0xFFFFFFFF), left - 1
                up = False
                h = h * 2 & 0xFFFFFFFF
                if left <= 0:
                    break
            done.append(h)
        out += done
    return np.array(out, np.uint32)


def check_text(test: unittest.TestCase, text: str) -> int:
    """Barriers stand in kernels only, the operands of a shift have one type. Gives the number of shifts and barriers."""
    kernels = set(re.findall(r"OpEntryPoint Kernel %(\w+)", text))
    types: dict[str, str] = {}
    function, seen = "", 0
    for line in text.splitlines():
        made = re.match(r"\s*%(\w+) = (Op\w+) %(\w+)(.*)", line)
        if made:
            types[made[1]] = made[3]
            if made[2] == "OpFunction":
                function = made[1]
            if made[2].startswith("OpShift"):
                value, amount = re.findall(r"%(\w+)", made[4])
                test.assertEqual((types[value], types[amount]), (made[3], made[3]), line)
                seen += 1
        if "OpControlBarrier" in line:
            test.assertIn(function, kernels, "a barrier in a function that is no kernel")
            seen += 1
    return seen


def spirv_text(test: unittest.TestCase, path: str, level: str, profile: str) -> str:
    ir = mtlc_testing.scratch("text.mtir")
    done = mtlc_testing.run("mettle", level, "--emit-ir", path, "-o", ir)
    test.assertEqual(done.returncode, 0, done.stderr)
    done = mtlc_testing.run("mtlc-llc", f"-march={profile}", "--filetype=asm", ir)
    test.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout


def has_device() -> bool:
    path = mtlc_exec.write_source("probe.mtir", 'module "m"\n\nkernel @k() {\n^entry:\n  ret\n}\n')
    return mtlc_exec.launch(path, "k", [], device="opencl").returncode == 0


class PoclFaults(mtlc_exec.TestCase):
    def devices(self):
        return ["interp", "opencl"] if has_device() else ["interp"]

    def source(self):
        body = "".join(HEAD.format(name=name) + f"  {text}\n}}\n" for name, (text, _) in KERNELS.items())
        return mtlc_exec.write_source("k.mettle", HELPERS + body)

    def test_kernels(self):
        path = self.source()
        x = np.random.default_rng(1).integers(0, 1 << 32, N * GROUPS, dtype=np.uint32)
        for device in self.devices():
            for level in ("-O0", "-O"):
                for name, (_, expected) in KERNELS.items():
                    with self.subTest(kernel=name, device=device, level=level):
                        out = mtlc_exec.Output(np.uint32, x.size)
                        done = self.launch(path, name, [x, out, np.int32(3)], grid=GROUPS, block=N, device=device,
                                           options=[level])  # fmt: skip
                        self.assert_same(done[out], expected(x, 3).astype(np.uint32))

    def test_irreducible_loops(self):
        path = mtlc_exec.write_source("k.mtir", IRREDUCIBLE)
        x = np.random.default_rng(2).integers(0, 1 << 32, N * GROUPS, dtype=np.uint32)
        for device in self.devices():
            for level in ("-O0", "-O"):
                with self.subTest(device=device, level=level):
                    out = mtlc_exec.Output(np.uint32, x.size)
                    done = self.launch(path, "k", [x, out, np.int32(3)], grid=GROUPS, block=N, device=device, options=[level])
                    self.assert_same(done[out], irreducible(x, 3))

    def test_rounding_of_constants(self):
        """PoCL's functions convert to int in between; LLVM drops a kernel that does so with a constant."""
        values = ["0x7f800000", "0xff800000", "0x7fc00000", "1.0e30", "-3.0e9", "16777216.0", "-0.5", "2.5"]
        results = {"froundeven": ["+inf", "-inf", "nan", 1e30, -3e9, 16777216, -0.0, 2.0],
                   "fround": ["+inf", "-inf", "nan", 1e30, -3e9, 16777216, -1.0, 3.0],
                   "ftrunc": ["+inf", "-inf", "nan", 1e30, -3e9, 16777216, -0.0, 2.0],
                   "ffloor": ["+inf", "-inf", "nan", 1e30, -3e9, 16777216, -1.0, 2.0],
                   "fceil": ["+inf", "-inf", "nan", 1e30, -3e9, 16777216, -0.0, 3.0]}  # fmt: skip
        for op, want in results.items():
            lines, k = [], 0
            for wide in (False, True):
                for value in values:
                    lines.append(f"  %c{k} = const {value} : f32")
                    lines.append(f"  %i{k} = const {k} : i64\n  %p{k} = ptr.add %out, %i{k} x f32 : ptr<global>")
                    if wide:
                        lines.append(f"  %w{k} = fconv %c{k} : f32 to f64\n  %s{k} = call @wide(%w{k}) : f64")
                        lines.append(f"  %r{k} = fconv %s{k} : f64 to f32")
                    else:
                        lines.append(f"  %r{k} = call @narrow(%c{k}) : f32")
                    lines.append(f"  store f32, %r{k}, %p{k} : ptr<global>")
                    k += 1
            body = "\n".join(lines)
            helpers = "".join(f"func @{name}(%x: {t}) -> {t} {{\n^entry:\n  %r = {op} %x : {t}\n  ret %r\n}}\n\n"
                              for name, t in (("narrow", "f32"), ("wide", "f64")))  # fmt: skip
            path = mtlc_exec.write_source(
                "k.mtir", f'module "m"\n\n{helpers}kernel @k(%out: ptr<global>) {{\n^entry:\n{body}\n  ret\n}}\n')  # fmt: skip
            for device in self.devices():
                with self.subTest(op=op, device=device):
                    out = mtlc_exec.Output(np.float32, k)
                    done = self.launch(path, "k", [out], device=device, options=["-O0"])
                    self.assert_same(done[out], np.array([float(v) for v in want] * 2, np.float32))

    def test_shifts_of_all_widths(self):
        """BC-04: amounts of another width than the value, as Mettle has them, and beyond it."""
        ints = {f"{s}int{w}": np.dtype(f"{s}int{w}") for w in (8, 16, 32, 64) for s in ("", "u")}
        amounts = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127]
        kernels, cases = "", []
        for value, vt in ints.items():
            for amount, at in ints.items():
                name = f"s_{value}_{amount}"
                kernels += (f"kernel {name}(x: {value}*, a: {amount}*, left: {value}*, right: {value}*) {{\n"
                            "  var i: int32 = thread.x\n  left[i] = x[i] << a[i]\n  right[i] = x[i] >> a[i]\n}\n")  # fmt: skip
                cases.append((name, vt, at))
        path = mtlc_exec.write_source("s.mettle", kernels)
        self.assertGreaterEqual(check_text(self, spirv_text(self, path, "-O0", "spirv-opencl2.0")), 2 * len(cases))
        for device in self.devices():
            for name, vt, at in cases:
                if device == "opencl" and vt.kind != at.kind:
                    continue  # The other kind is the same code: the amount is taken modulo the width.
                with self.subTest(name=name, device=device):
                    w = vt.itemsize * 8
                    info = np.iinfo(vt)
                    x, a = (m.ravel() for m in np.meshgrid(
                        np.array([0, 1, 3, info.max, info.min, info.max - 5], vt), np.array(amounts, at)))
                    left, right = mtlc_exec.Output(vt, x.size), mtlc_exec.Output(vt, x.size)
                    done = self.launch(path, name, [x, a, left, right], block=x.size, device=device)
                    by = [int(v) % w for v in a]
                    self.assert_same(done[left], np.array([int(v) << s & (1 << w) - 1 for v, s in zip(x, by)], np.uint64).astype(vt))
                    self.assert_same(done[right], np.array([int(v) >> s for v, s in zip(x, by)], vt))

    def test_text(self):
        path = self.source()
        for level in ("-O0", "-O"):
            for profile in ("spirv-opencl2.0", "spirv1.3-opencl"):
                with self.subTest(level=level, profile=profile):
                    self.assertGreater(check_text(self, spirv_text(self, path, level, profile)), len(KERNELS))

    def test_items_that_leave_before_a_barrier_are_refused(self):
        """PoCL gives wrong results for them; no such module is made."""
        path = mtlc_exec.write_source(
            "k.mettle", HEAD.format(name="k") + "  if (t >= 40) { return }\n  s[t] = v\n  barrier()\n  out[i] = s[0]\n}\n")  # fmt: skip
        done = mtlc_testing.run("mettle", "--emit-spirv", path, "-o", mtlc_testing.scratch("none.spv"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("[D06]", done.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
