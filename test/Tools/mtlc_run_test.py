"""The command line of mtlc-run: arguments, results, reports, exit codes."""

import json
import os
import re

import mtlc_exec
import mtlc_testing
import numpy as np

SCALE = """module "scale"
kernel @scale(%x: ptr<global>, %y: ptr<global>, %f: f32, %n: i32) {
^entry:
  %t = gpu.thread_id x : i32
  %b = gpu.block_id x : i32
  %d = gpu.block_dim x : i32
  %o = mul %b, %d : i32
  %i = add %o, %t : i32
  %in = cmp.slt %i, %n : i32
  br %in, ^body, ^exit
^body:
  %i64 = sext %i : i32 to i64
  %px = ptr.add %x, %i64 x f32 : ptr<global>
  %py = ptr.add %y, %i64 x f32 : ptr<global>
  %v = load f32, %px : ptr<global>
  %w = fmul %v, %f : f32
  store f32, %w, %py : ptr<global>
  jump ^exit
^exit:
  ret
}
"""
ARENA = """module "arena"
kernel @k(%out: ptr<global>, %b: i1, %h: f16) {
^entry:
  %a = alloc.dynamic i32 : ptr<workgroup>
  %v = zext %b : i1 to i32
  store i32, %v, %a : ptr<workgroup>
  %w = load i32, %a : ptr<workgroup>
  store i32, %w, %out : ptr<global>
  ret
}
kernel @two() {
^entry:
  ret
}
"""
SPIN = """module "spin"
kernel @spin() {
^entry:
  jump ^loop
^loop:
  jump ^loop
}
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 value) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd2, %rd2, %rd3;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""


class Common:
    """What is the same on every device."""

    options: tuple[str, ...] = ()

    def setUp(self) -> None:
        self.scale = mtlc_exec.write_source("scale.mtir", SCALE)
        self.arena = mtlc_exec.write_source("arena.mtir", ARENA)

    def run_tool(self, *args: str):
        """Runs the tool on the class's device unless the arguments name one."""
        if not any(arg.startswith("--device") for arg in args):
            args = (*args, *self.options)
        return mtlc_testing.run("mtlc-run", *args)

    def scale_args(self, *extra: str, n: int = 10, x: str = "buf:f32:10:iota", y: str = "buf:f32:10:poison"):
        return [self.scale, "--grid=3", "--block=4", f"--arg={x}", f"--arg={y}", "--arg=f32:0.5", f"--arg=i32:{n}", *extra]

    def usage(self, message: str, *args: str) -> None:
        result = self.run_tool(*args)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertIn(message, result.stderr)
        self.assertIn("Try 'mtlc-run --help'.", result.stderr)

    def test_print_and_out(self) -> None:
        out = mtlc_testing.scratch("out.npy")
        result = self.run_tool(*self.scale_args("--print=1", "--print=0:3", f"--out=1:{out}"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, "1: 0 0.5 1 1.5 2 2.5 3 3.5 4 4.5\n0: 0 1 2\n")
        np.testing.assert_array_equal(np.load(out), np.arange(10, dtype=np.float32) / 2)

    def test_shapes_and_types_of_files_survive(self) -> None:
        path, out = mtlc_testing.scratch("in.npy"), mtlc_testing.scratch("same.npy")
        for array in (
            np.arange(24, dtype=np.float32).reshape(2, 3, 4),
            np.zeros((0, 7), np.float32),
            np.array(5, np.float32),
        ):
            for version in ((1, 0), (2, 0), (3, 0)):
                with open(path, "wb") as file:
                    np.lib.format.write_array(file, array, version)
                result = self.run_tool(
                    self.scale, "--block=8", f"--arg=buf:{path}", "--arg=buf:f32:64:zeros", "--arg=f32:1",
                    f"--arg=i32:{array.size}", f"--out=0:{out}",
                )  # fmt: skip
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                back = np.load(out)
                self.assertEqual((back.dtype, back.shape), (array.dtype, array.shape))
                np.testing.assert_array_equal(back, array)

    def test_raw_bytes(self) -> None:
        path = mtlc_testing.scratch("raw")
        with open(path, "wb") as file:
            file.write(b"\0\0\0\x40")  # 2.0f
        args = ["--arg=buf:f32:1:const=3", "--arg=buf:f32:1:poison", f"--arg=bytes:{path}", "--arg=i32:1", "--print=1"]
        result = self.run_tool(self.scale, *args)
        self.assertEqual((result.returncode, result.stdout), (0, "1: 6\n"), result.stderr)
        with open(path, "ab") as file:
            file.write(b"\0")
        self.usage("it has 4 bytes, not 5", self.scale, *args)

    def test_empty_grid(self) -> None:
        result = self.run_tool(*self.scale_args("--grid=0", "--print=0:2"))
        self.assertEqual((result.returncode, result.stdout), (0, "0: 0 1\n"))

    def test_wrong_command_lines(self) -> None:
        full = self.scale_args()
        self.usage("--kernel is missing; the file has k, two", self.arena)
        self.usage("the file has no kernel 'three'; it has k, two", self.arena, "--kernel=three")
        self.usage("kernel 'scale' takes 4 arguments, and there are 0", self.scale)
        self.usage("argument 0, 'buf:f32:10:iot': 'iot'", *self.scale_args(x="buf:f32:10:iot"))
        self.usage("cannot read '/nowhere/x.npy': no such file", *self.scale_args(x="buf:/nowhere/x.npy"))
        self.usage("argument 0, 'i64:0', is parameter 'x' of type ptr<global>: i64 does", *self.scale_args(x="i64:0"))
        self.usage("argument 3, 'i32:x'", *self.scale_args(n="x"))
        self.usage("there is no argument 4", *full, "--print=4")
        self.usage("argument 3 is no buffer", *full, "--out=3:x.npy")
        self.usage("argument 1 has 10 elements, not 11", *full, "--print=1:11")
        self.usage("'x' is no index", *full, "--print=x")
        self.usage("write INDEX:FILE.npy", *full, "--out=1")
        self.usage("bad value 'all,none' of '--check'", *full, "--check=all,none")
        self.usage("bad value 'gpu' of '--device'", *full, "--device=gpu")
        self.usage("bad value '0' of '--threads'", *full, "--threads=0")
        with open(mtlc_testing.scratch("bad.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00\xff\xff{")
        self.usage("its header is cut short", *self.scale_args(x=f"buf:{mtlc_testing.scratch('bad.npy')}"))

    def test_mettle_sources(self) -> None:
        folder = mtlc_testing.scratch("library")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "double.mettle"), "w", encoding="utf-8") as file:
            file.write("fn twice(x: float32) -> float32 { return x + x }\n")
        path = mtlc_exec.write_source(
            "m.mettle",
            'import "double"\n'
            "kernel k(x: float32*, h: uint16*, flag: bool*, n: uint32) {\n"
            "  var i: int32 = thread.x\n"
            "  if (i < (int32)n && flag[i]) { x[i] = twice(x[i]); h[i] = 1 }\n"
            "}\n",
        )
        args = ["--arg=buf:f32:3:iota", "--arg=buf:bf16:3:zeros", "--arg=buf:u8:3:const=1", "--arg=u32:3"]
        for level in ("-O0", "-O"):
            for include in ([f"-I{folder}"], ["-I", folder]):
                result = self.run_tool(path, "--block=4", level, *include, *args, "--print=0")
                self.assertEqual((result.returncode, result.stdout), (0, "0: 0 2 4\n"), result.stderr)
        self.assertEqual(self.run_tool(path, *args).returncode, 1)  # The import is not found.
        here = f"-I{folder}"
        self.usage(
            "argument 0, 'buf:f64:3:iota', is parameter 'x' of type float32*: its elements are f32, not f64",
            path, here, "--arg=buf:f64:3:iota", *args[1:],
        )  # fmt: skip
        self.usage("its elements are u16, not i16", path, here, args[0], "--arg=buf:i16:3:zeros", *args[2:])
        self.usage("its elements are bool, not i8", path, here, *args[:2], "--arg=buf:i8:3:zeros", args[3])
        self.usage("f32 does not fit it", path, here, *args[:3], "--arg=f32:3")

    def test_device_rules_are_checked_first(self) -> None:
        path = mtlc_exec.write_source(
            "d.mettle", "kernel k(x: int32*) {\n  if (thread.x < 5) { barrier() }\n}\n"
        )
        result = self.run_tool(path, "--block=8", "--arg=buf:i32:1:zeros")
        self.assertEqual(result.returncode, 1)
        self.assertIn("d.mettle:2:23: error: ", result.stderr)
        self.assertNotIn("[sync]", result.stderr)

    def test_refused_programs(self) -> None:
        for text, message in (
            ("module", "error: "),
            (SCALE.replace("fmul %v, %f : f32", "fmul %v, %i : f32"), "[V08]"),
            (SCALE.replace("  ret\n", ""), "error: "),
        ):
            result = self.run_tool(mtlc_exec.write_source("bad.mtir", text), "--kernel=scale")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(message, result.stderr)


class OnTheInterpreter(Common, mtlc_testing.TestCase):
    options = ("--device=interp",)

    def test_faults_exit_with_one_and_write_nothing(self) -> None:
        out = mtlc_testing.scratch("kept.npy")
        with open(out, "w") as file:
            file.write("old")
        result = self.run_tool(*self.scale_args("--print=1", f"--out=1:{out}", n=11))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        with open(out) as file:
            self.assertEqual(file.read(), "old")
        lines = result.stderr.splitlines()
        self.assertRegex(
            lines[0],
            rf"^{re.escape(self.scale)}:15:3: error: \[mem\] read of 4 bytes out of bounds at global address 0x[0-9a-f]+: "
            r"just past the end of the buffer of argument 0 \(40 bytes\); kernel 'scale', block \(2,0,0\), "
            r"thread \(2,0,0\)$",
        )
        self.assertEqual(lines[1].strip(), "%v = load f32, %px : ptr<global>")
        self.assertEqual(sum(": error: " in line for line in lines), 2)
        # Unchecked, it runs to its end.
        self.assertEqual(self.run_tool(*self.scale_args("--check=none", n=11)).returncode, 0)
        self.assertEqual(self.run_tool(*self.scale_args("--check=race,init,sync", n=11)).returncode, 0)

    def test_json_diagnostics(self) -> None:
        result = self.run_tool(*self.scale_args("--diagnostics=json", n=11))
        rows = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual([row["id"] for row in rows], ["FaultOutOfBounds", "FaultOutOfBounds"])
        self.assertEqual([(row["line"], row["column"]) for row in rows], [(15, 3), (17, 3)])

    def test_stats(self) -> None:
        result = self.run_tool(*self.scale_args("--stats"))
        self.assertEqual(result.returncode, 0)
        match = re.fullmatch(
            r"stats: instructions=(\d+) lane_instructions=(\d+) seconds=[\d.]+ lane_instructions_per_second=\d+(.*)\n",
            result.stderr,
        )
        self.assertTrue(match, result.stderr)
        # Twelve threads with 7 operations up to the branch and the return; ten with the body's 7.
        self.assertEqual(int(match[2]), 12 * 8 + 10 * 7)
        self.assertEqual(sum(int(n) for n in re.findall(r"=(\d+)", match[3])), int(match[2]))
        row = json.loads(self.run_tool(*self.scale_args("--stats=json")).stderr)
        self.assertEqual(row["lane_instructions"], 166)
        self.assertEqual(sum(row["classes"].values()), 166)
        self.usage("bad value 'xml' of '--stats'", *self.scale_args("--stats=xml"))

    def test_trace(self) -> None:
        result = self.run_tool(*self.scale_args("--trace=1,0,0/2,0,0", "-O0"))
        self.assertEqual(result.returncode, 0)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 15)
        self.assertEqual(lines[0], f"{self.scale}:4:3: %t = gpu.thread_id x : i32  -> 2")
        self.assertEqual(lines[11], f"{self.scale}:16:3: %w = fmul %v, %f : f32  -> 3 (0x40400000)")
        for bad in ("1,0,0", "1,0/2,0", "a,0,0/0,0,0", "1,0,0/0,0,0,0", "1,0,0,/0,0,0", "/"):
            self.usage("--trace takes X,Y,Z/x,y,z", *self.scale_args(f"--trace={bad}"))

    def test_steps(self) -> None:
        path = mtlc_exec.write_source("spin.mtir", SPIN)
        result = self.run_tool(path, "--max-steps=1000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: [steps] a thread executed 1000 instructions without ending; kernel 'spin'", result.stderr)
        self.assertIn("--max-steps", result.stderr)

    def test_order_of_execution(self) -> None:
        want = self.run_tool(*self.scale_args("--print=1")).stdout
        for options in (["--seed=7"], ["--threads=3"], ["--seed=1", "--threads=2"], ["--subgroup-size=8"]):
            result = self.run_tool(*self.scale_args("--print=1", *options))
            self.assertEqual((result.returncode, result.stdout), (0, want))

    def test_shared_memory_bools_and_halves(self) -> None:
        args = [self.arena, "--kernel=k", "--arg=buf:i32:1:poison", "--arg=bool:true", "--arg=u16:15360", "--print=0"]
        result = self.run_tool(*args, "--shared=4")
        self.assertEqual((result.returncode, result.stdout), (0, "0: 1\n"), result.stderr)
        result = self.run_tool(*args)
        self.assertEqual(result.returncode, 1)
        self.assertIn("past the end of the launch-sized workgroup array (0 bytes)", result.stderr)

    def test_faults_name_the_source(self) -> None:
        path = mtlc_exec.write_source(
            "r.mettle", "kernel k(x: int32*) {\n  x[0] = thread.x\n  barrier(global)\n  x[thread.x] = 1\n}\n"
        )
        result = self.run_tool(path, "--block=2", "--arg=buf:i32:2:zeros")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{path}:2:8: error: [race] write of 4 bytes at global address", result.stderr)
        self.assertIn("    x[0] = thread.x\n         ^", result.stderr)

    def test_uninitialised_results(self) -> None:
        args = self.scale_args(x="buf:f32:10:poison")
        self.assertEqual(self.run_tool(*args).returncode, 0)  # Nobody looks at the result.
        for look in ("--print=1", "--print=1:1", f"--out=1:{mtlc_testing.scratch('no.npy')}"):
            result = self.run_tool(*args, look)
            self.assertEqual(result.returncode, 1)
            self.assertIn(":17:3: error: [init] the buffer of argument 1 is read back, and its byte 0", result.stderr)
        self.assertFalse(os.path.exists(mtlc_testing.scratch("no.npy")))
        self.assertEqual(self.run_tool(*args, "--print=1", "--check=mem").returncode, 0)
        # Elements that the kernel leaves alone are no fault.
        self.assertEqual(self.run_tool(*self.scale_args("--print=1", n=5)).returncode, 0)

    def test_limits(self) -> None:
        full = self.scale_args()
        self.usage("a block of 4x0x1 threads", *full, "--block=4,0")
        self.usage("a block of 1048577x1x1 threads: the most is 1048576", *full, "--block=1048577")
        self.usage("launch-sized workgroup memory", *full, "--shared=1000000000")

    def test_options_of_the_simulator(self) -> None:
        self.usage("are for --device=sim", *self.scale_args("--weak-memory"))
        self.usage("are for --device=sim", *self.scale_args("--max-seconds=1"))


class OnTheSimulator(Common, mtlc_testing.TestCase):
    """The default device."""

    def test_simulator(self) -> None:
        want = self.run_tool(*self.scale_args("--print=1")).stdout
        for options in ([], ["-O0"], ["--gpu-arch=sm_80"], ["--gpu-arch=portable", "-g"]):
            result = self.run_tool(*self.scale_args("--print=1", "--device=sim", "--stats", *options))
            self.assertEqual((result.returncode, result.stdout), (0, want), result.stderr)
            counts = re.match(r"stats: instructions=(\d+) lane_instructions=(\d+) ", result.stderr)
            self.assertTrue(counts, result.stderr)
            self.assertLess(int(counts[1]), int(counts[2]))
        result = self.run_tool(*self.scale_args("--print=1", "--device=sim", n=11))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("error: [mem]", result.stderr)
        result = self.run_tool(*self.scale_args("--device=sim", "--gpu-arch=sm_1"))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.run_tool(*self.scale_args("--device=sim", "--grid=0")).returncode, 0)
        self.usage("1025", *self.scale_args("--device=sim", "--block=1025"))

    def test_ptx_files(self) -> None:
        path = mtlc_exec.write_source("fill.ptx", PTX)
        args = ["--block=3", "--arg=buf:i32:3:poison", "--arg=i32:-7", "--print=0"]
        result = self.run_tool(path, "--device=sim", *args)
        self.assertEqual((result.returncode, result.stdout), (0, "0: -7 -7 -7\n"), result.stderr)
        self.usage("use --device=sim", path, "--device=interp", *args)
        self.usage("parameter 'value' of type 4 bytes", path, "--device=sim", args[1], "--arg=i64:1")
        self.usage("takes 2 arguments, and there are 1", path, "--device=sim", args[1])
        bad = mtlc_exec.write_source("bad.ptx", PTX.replace("st.global", "st.local.global"))
        result = self.run_tool(bad, "--device=sim", *args)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("bad.ptx:13:", result.stderr)

    def test_faults_exit_with_one_and_write_nothing(self) -> None:
        out = mtlc_testing.scratch("kept-sim.npy")
        with open(out, "w") as file:
            file.write("old")
        # Element 10 of both buffers of 10 floats belongs to block 2, thread 2.
        result = self.run_tool(*self.scale_args("--print=1", f"--out=1:{out}", n=11))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        with open(out) as file:
            self.assertEqual(file.read(), "old")
        reports = [line for line in result.stderr.splitlines() if ": error: " in line]
        self.assertEqual(len(reports), 2, result.stderr)
        for report, line, kind, argument in zip(reports, (15, 17), ("load", "store"), (0, 1)):
            self.assertRegex(
                report,
                rf"^{re.escape(self.scale)}:{line}:3: error: \[mem\] {kind} of 4 bytes at 0x[0-9a-f]+ in global memory is "
                rf"out of bounds: 0 bytes past the end of 'the buffer of argument {argument}' \(40 bytes\); kernel 'scale', "
                r"block \(2,0,0\), thread \(2,0,0\)$",
            )
        # The place in the PTX follows.
        self.assertRegex(result.stderr, rf"\n{re.escape(self.scale)}\.ptx:\d+:2: note: in PTX here\n\s+ld\.global")
        # Hardware would fault, so the access is reported without the check, too, and ends the run.
        result = self.run_tool(*self.scale_args("--check=none", n=11))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count(": error: "), 1)

    def test_json_diagnostics(self) -> None:
        result = self.run_tool(*self.scale_args("--diagnostics=json", n=11))
        rows = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual([row["id"] for row in rows], ["SimOutOfBounds", "SimOutOfBounds"])
        self.assertEqual([(row["file"], row["line"], row["column"]) for row in rows], [(self.scale, 15, 3), (self.scale, 17, 3)])
        for row in rows:
            self.assertRegex(row["message"], r"kernel 'scale', block \(2,0,0\), thread \(2,0,0\)$")
            self.assertEqual([note["file"] for note in row["notes"]], [self.scale + ".ptx"])

    def test_uninitialised_results(self) -> None:
        args = self.scale_args(x="buf:f32:10:poison")
        self.assertEqual(self.run_tool(*args).returncode, 0)  # Nobody looks at the result.
        for look in ("--print=1", "--print=1:1", f"--out=1:{mtlc_testing.scratch('no-sim.npy')}"):
            result = self.run_tool(*args, look)
            self.assertEqual(result.returncode, 1)
            self.assertIn(":17:3: error: [init] the kernel stored uninitialised bits at byte 0", result.stderr)
        self.assertFalse(os.path.exists(mtlc_testing.scratch("no-sim.npy")))
        self.assertEqual(self.run_tool(*args, "--print=1", "--check=mem").returncode, 0)
        self.assertEqual(self.run_tool(*self.scale_args("--print=1", n=5)).returncode, 0)
        # Element 1 is computed from nothing; only who looks at it is told.
        path = mtlc_exec.write_source("half.mettle", "kernel k(x: int32*) { var s: int32[2]; s[0] = 1; x[thread.x] = s[thread.x] }\n")
        args = [path, "--block=2", "--arg=buf:i32:2:poison"]
        result = self.run_tool(*args, "--print=0:1")
        self.assertEqual((result.returncode, result.stdout), (0, "0: 1\n"), result.stderr)
        self.assertEqual(self.run_tool(*args, "--print=0:2").returncode, 1)

    def test_faults_name_the_source(self) -> None:
        path = mtlc_exec.write_source(
            "r.mettle", "kernel k(x: int32*) {\n  x[0] = thread.x\n  barrier(global)\n  x[thread.x] = 1\n}\n"
        )
        for level in ("-O0", "-O"):
            result = self.run_tool(path, "--block=2", "--arg=buf:i32:2:zeros", level)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.count(": error: "), 1)
            self.assertIn(f"{path}:2:8: error: [race] store of 4 bytes at 0x", result.stderr)
            self.assertIn("    x[0] = thread.x\n         ^", result.stderr)
            self.assertIn(f"{path}:2:8: note: the other access: kernel 'k', block (0,0,0), thread (0,0,0)\n", result.stderr)

    def test_stats(self) -> None:
        path = mtlc_exec.write_source("fill.ptx", PTX)
        args = [path, "--block=40", "--arg=buf:i32:40:poison", "--arg=i32:1"]
        result = self.run_tool(*args, "--stats")
        # Eight instructions for warps of 32 and of 8 threads.
        self.assertRegex(
            result.stderr,
            r"^stats: instructions=16 lane_instructions=320 seconds=[\d.]+ lane_instructions_per_second=\d+\n$",
        )
        row = json.loads(self.run_tool(*args, "--stats=json").stderr)
        self.assertEqual((row["instructions"], row["lane_instructions"]), (16, 320))
        # mov, cvta, mul, add; ld.param twice and st; ret.
        self.assertEqual(row["classes"], {"arithmetic": 8, "memory": 6, "collective": 0, "control": 2})

    def test_limits(self) -> None:
        path = mtlc_exec.write_source("spin.mtir", SPIN)
        result = self.run_tool(path, "--max-steps=1000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: [steps] a thread executed more than 1000 instructions", result.stderr)
        result = self.run_tool(path, "--max-steps=1000000000000", "--max-seconds=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: [steps] kernel 'spin' did not end in the time allowed", result.stderr)

    def test_refused_launches_do_not_look_like_success(self) -> None:
        for options, message in (  # BC-50
            (["--block=1500"], "block dimension x is 1500, the device allows 1 to 1024"),
            (["--block=4,0"], "block dimension y is 0, the device allows 1 to 1024"),
            (["--grid=1,1,70000"], "grid dimension z is 70000, the device allows 65535"),
            (["--shared=536870912"], "536870912 bytes of dynamic shared memory"),
            (["--shared=1099511627776"], "bytes of dynamic shared memory"),
        ):
            self.usage(message, *self.scale_args("--print=1", *options))
        path = mtlc_exec.write_source("trap.ptx", PTX.replace("  ret;", "  trap;\n  ret;"))
        result = self.run_tool(path, "--arg=buf:i32:3:const=5", "--arg=i32:1", "--print=0")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("trap.ptx:14:3: error: [trap] the kernel executed trap", result.stderr)
        result = self.run_tool(*self.scale_args("--grid=0", "--print=1:2", y="buf:f32:10:const=7"))
        self.assertEqual((result.returncode, result.stdout), (0, "1: 7 7\n"))

    def test_order_of_execution(self) -> None:
        want = self.run_tool(*self.scale_args("--print=1")).stdout
        for options in (["--seed=7"], ["--threads=3", "--check=none"], ["--seed=1", "--weak-memory"]):
            result = self.run_tool(*self.scale_args("--print=1", *options))
            self.assertEqual((result.returncode, result.stdout), (0, want), result.stderr)
        self.usage("subgroups of 32", *self.scale_args("--subgroup-size=8"))

    def test_shared_memory_bools_and_halves(self) -> None:
        args = [self.arena, "--kernel=k", "--arg=buf:i32:1:poison", "--arg=bool:true", "--arg=u16:15360", "--print=0"]
        result = self.run_tool(*args, "--shared=4")
        self.assertEqual((result.returncode, result.stdout), (0, "0: 1\n"), result.stderr)
        result = self.run_tool(*args)
        self.assertEqual(result.returncode, 1)
        self.assertIn("in shared memory is out of bounds: the block has 0 bytes", result.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
