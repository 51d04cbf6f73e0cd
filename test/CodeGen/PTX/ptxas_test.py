"""NVIDIA's assembler takes everything that mtlc-llc emits, and keeps all of it in registers."""

import os
import re
import subprocess

import mtlc_testing
import op_forms

ARCHS = ("sm_75", "sm_80", "sm_90a", "sm_121a")
PTXAS_PLACES = ("/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas")
FOLDER = "test/CodeGen/PTX"

# One instruction for each row of ptx_features.def that stands for an instruction.
PROBES = {
    "bf16-from-f32": "cvt.rn.bf16.f32 %h1, %f1;",
    "bf16-fma": "fma.rn.bf16 %h1, %h2, %h3, %h4;",
    "half-minmax": "min.f16 %h1, %h2, %h3; max.bf16 %h4, %h2, %h3;",
    "nan-minmax": "min.NaN.f32 %f1, %f2, %f3; max.NaN.f16 %h1, %h2, %h3;",
    "tanh-approx": "tanh.approx.f32 %f1, %f2;",
    "bf16-arith": "add.rn.bf16 %h1, %h2, %h3; setp.lt.bf16 %p1, %h1, %h2;",
    "redux": "redux.sync.add.u32 %r1, %r2, -1;",
    "bf16-cvt": "cvt.rn.bf16.s32 %h1, %r1; cvt.rn.bf16.f64 %h2, %fd1;",
}
OTHER_FEATURES = {"ptxNN", "large-params"}
# The PTX version and target just below those of a feature.
VERSION_BELOW = {"7.0": "6.5", "7.8": "7.7"}
TARGET_BELOW = {"sm_80": "sm_75", "sm_90": "sm_89", "sm_75": None}
NEWEST = "8.8"


def ptxas() -> str:
    for place in PTXAS_PLACES:
        if os.access(place, os.X_OK):
            return place
    return ""


def assemble(path: str, arch: str) -> subprocess.CompletedProcess[str]:
    command = [ptxas(), f"-arch={arch}", "-v", path, "-o", os.devnull]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Ptxas(mtlc_testing.TestCase):
    def gate(self, source: str, name: str, tool: str = "mtlc-llc", options: tuple[str, ...] = ()) -> None:
        for arch in ARCHS:
            with self.subTest(file=name, arch=arch, options=options):
                output = mtlc_testing.scratch("out.ptx")
                result = mtlc_testing.run(tool, source, f"--gpu-arch={arch}", "-g", "-o", output, *options)
                missing = re.search(r"this build emits no PTX for ([\w.]+)", result.stderr)
                if name.endswith(".mettle") and missing:
                    self.skipTest(f"PTX of {missing[1]} comes later")
                self.assertEqual(result.returncode, 0, result.stderr)
                assembled = assemble(output, arch)
                self.assertEqual(assembled.returncode, 0, assembled.stdout + assembled.stderr)
                self.assertNotRegex(assembled.stderr, r"(?m)[1-9]\d* bytes spill")

    def test_text_tests(self) -> None:
        folder = mtlc_testing.data(FOLDER)
        files = sorted(name for name in os.listdir(folder) if name.endswith(".mtir"))
        self.assertGreater(len(files), 10)
        for name in files:
            self.gate(os.path.join(folder, name), name)

    def test_examples(self) -> None:
        folder = mtlc_testing.data("examples")
        files = sorted(name for name in os.listdir(folder) if name.endswith(".mettle"))
        self.assertGreater(len(files), 5)
        for name in files:
            for level in ("-O", "-O0"):
                self.gate(os.path.join(folder, name), name, "mettle", ("--emit-ptx", level))

    def test_every_operation(self) -> None:
        source = mtlc_testing.scratch("op_forms.mtir")
        with open(source, "w", encoding="utf-8") as file:
            file.write(op_forms.module())
        self.gate(source, "op_forms")


class Features(mtlc_testing.TestCase):
    def accepts(self, version: str, arch: str, code: str) -> bool:
        path = mtlc_testing.scratch("probe.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n"
                ".reg .pred %p<5>; .reg .b16 %h<5>; .reg .b32 %r<5>; .reg .f32 %f<5>; .reg .f64 %fd<5>;\n"
                f"{code}\nret;\n}}\n"
            )
        # ptxas assembles old targets for newer ones, and only those it still knows.
        return assemble(path, arch).returncode == 0

    def test_table(self) -> None:
        listed = mtlc_testing.run("mtlc-llc", "--list-features").stdout
        rows = re.findall(r"^  (\S+) .*?(?:; from PTX (\S+) and (\S+) or newer)?$", listed, re.MULTILINE)
        self.assertEqual({name for name, _, _ in rows}, set(PROBES) | OTHER_FEATURES)
        for name, version, target in rows:
            if name not in PROBES:
                continue
            with self.subTest(feature=name):
                self.assertTrue(self.accepts(version, target, PROBES[name]))
                below = TARGET_BELOW[target]
                if below is not None:
                    self.assertFalse(self.accepts(NEWEST, below, PROBES[name]), below)
                if target == "sm_75":
                    self.assertFalse(self.accepts(VERSION_BELOW[version], target, PROBES[name]))


if __name__ == "__main__":
    if not ptxas():
        mtlc_testing.skip_all("no ptxas")
    mtlc_testing.main()
