"""Every module is valid for the environment of its profile, the same each time, and declares exactly what it uses (BC-43)."""

import os
import re
import shutil
import subprocess

import mtlc_exec
import mtlc_testing

PROFILES = {"spirv-opencl2.0": "opencl2.0", "spirv-opencl2.2": "opencl2.2", "spirv1.3-opencl": "spv1.3"}
# Capabilities that OpenCL allows with extensions of its own, which the validator does not know of.
EXTENSIONS_OF_OPENCL = {"Int64Atomics"}
BASE = {"Addresses", "Kernel", "Int8"}  # Pointers are to bytes.

# Operations of a kernel with parameters %p: ptr<global>, %x: i32, %f: f32, %d: f64 as far as named -> capabilities.
CASES = {
    "nothing": ([], set()),
    "i64": (["%a = sext %x : i32 to i64", "%b = add %a, %a : i64", "store i64, %b, %p : ptr<global>"], {"Int64"}),
    "i16": (["%a = trunc %x : i32 to i16", "store i16, %a, %p : ptr<global>"], {"Int16"}),
    "half": (["%a = load f16, %p : ptr<global>", "%b = fadd %a, %a : f16", "store f16, %b, %p : ptr<global>"], {"Int16"}),
    "f32": (["%a = fmul %f, %f : f32", "store f32, %a, %p : ptr<global>"], set()),
    "f64": (["%a = fadd %d, %d : f64", "store f64, %a, %p : ptr<global>"], {"Float64"}),
    "position": (["%a = gpu.block_id y : i32", "store i32, %a, %p : ptr<global>"], {"Int64"}),
    "generic": (["%g = spacecast %p : ptr<global> to ptr<generic>", "store i32, %x, %g : ptr<generic>"], {"GenericPointer"}),
    "atomic": (["%a = atomic.rmw add i32, %p, %x : ptr<global> relaxed device"], set()),
    "atomic64": (["%y = sext %x : i32 to i64", "%a = atomic.rmw add i64, %p, %y : ptr<global> relaxed device"], {"Int64", "Int64Atomics"}),
    "barrier": (["barrier {workgroup} acq_rel"], set()),
    "reduce": (["%a = subgroup.reduce add %x : i32", "store i32, %a, %p : ptr<global>"], {"Groups"}),
    "ballot": (["%c = cmp.eq %x, %x : i32", "%w = const 0 : i32", "%a = subgroup.ballot %c, %w : i32", "store i32, %a, %p : ptr<global>"],
               {"SubgroupBallotKHR"}),
    "shuffle": (["%a = subgroup.shuffle %x, %x : i32", "store i32, %a, %p : ptr<global>"], {"Groups"}),
}  # fmt: skip


def module(body: list[str]) -> str:
    text = "\n".join("  " + line for line in body)
    return mtlc_exec.write_source(
        "m.mtir", f'module "m"\n\nkernel @k(%p: ptr<global>, %x: i32, %f: f32, %d: i64) {{\n^entry:\n{text}\n  ret\n}}\n')  # fmt: skip


class Validate(mtlc_exec.TestCase):
    def setUp(self):
        self.validator = shutil.which("spirv-val")
        if not self.validator:
            self.skipTest("no spirv-val")

    def emit(self, path, profile, *options):
        out = mtlc_testing.scratch("m.spv")
        done = mtlc_testing.run("mtlc-llc", f"-march={profile}", path, "-o", out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, "rb") as file:
            return out, file.read()

    def text(self, path, profile, *options):
        done = mtlc_testing.run("mtlc-llc", f"-march={profile}", "--filetype=asm", path, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, path, profile, *options):
        out, words = self.emit(path, profile, *options)
        self.assertEqual(self.emit(path, profile, *options)[1], words)
        asked = set(re.findall(r"OpCapability (\w+)", self.text(path, profile, *options)))
        environment = "spv1.0" if asked & EXTENSIONS_OF_OPENCL else PROFILES[profile]
        done = subprocess.run(
            [self.validator, "--target-env", environment, out], capture_output=True, text=True, check=False, timeout=60
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return asked

    def test_capabilities(self):
        for name, (body, wanted) in CASES.items():
            # The f64 of a case comes from an integer parameter, so that no other case has one.
            path = module((["%d64 = sitof %d : i64 to f64"] if "f64" in name else []) + [line.replace("%d,", "%d64,").replace("%d :", "%d64 :") for line in body])  # fmt: skip
            with self.subTest(case=name):
                asked = self.check(path, "spirv-opencl2.0")
                # The parameter of 64 bits is there in all of them.
                self.assertEqual(asked, BASE | wanted | {"Int64"})
                extensions = set(re.findall(r'OpExtension "(\w+)"', self.text(path, "spirv-opencl2.0")))
                self.assertEqual(extensions, {"SPV_KHR_shader_ballot"} if name == "ballot" else set())

    def test_later_profile_has_native_shuffle(self):
        path = module(CASES["shuffle"][0])
        self.assertEqual(self.check(path, "spirv1.3-opencl"),
                         BASE | {"Int64", "Groups", "GroupNonUniform", "GroupNonUniformShuffle"})  # fmt: skip
        path = module(CASES["ballot"][0])
        self.assertEqual(self.check(path, "spirv1.3-opencl"), BASE | {"Int64", "GroupNonUniform", "GroupNonUniformBallot"})

    def test_examples(self):
        folder = os.path.dirname(mtlc_testing.data("examples/vadd.mettle"))
        count = 0
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".mettle"):
                continue
            for level in ("-O0", "-O"):
                ir = mtlc_testing.scratch("e.mtir")
                done = mtlc_testing.run("mettle", level, "--emit-ir", os.path.join(folder, file), "-o", ir)
                self.assertEqual(done.returncode, 0, done.stderr)
                for profile in PROFILES:
                    with self.subTest(file=file, level=level, profile=profile):
                        options = []
                        if file in ("tensor_gemm.mettle",):
                            done = mtlc_testing.run("mtlc-llc", f"-march={profile}", ir)
                            self.assertEqual(done.returncode, 1)
                            self.assertIn("--tensor-fallback=replay", done.stderr)
                            options = ["--tensor-fallback=replay"]
                        self.check(ir, profile, *options)
                        count += 1
        self.assertGreater(count, 90)

    def test_lines(self):
        path = module(["%a = add %x, %x : i32", "store i32, %a, %p : ptr<global>"])
        done = mtlc_testing.run("mtlc-llc", "-g", "-march=spirv-opencl2.0", "--filetype=asm", path)
        self.assertRegex(done.stdout, r"OpLine %\w+ 5 3\n\s+%\w+ = OpIAdd")
        self.assertNotIn("OpLine", self.text(path, "spirv-opencl2.0"))


if __name__ == "__main__":
    mtlc_testing.main()
