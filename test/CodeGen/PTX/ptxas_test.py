"""NVIDIA's assembler takes everything that mtlc-llc emits, and keeps all of it in registers."""

import os
import re
import subprocess

import mtlc_testing
import op_forms

ARCHS = ("sm_75", "sm_80", "sm_90a", "sm_121a")
PTXAS_PLACES = ("/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas")
FOLDER = "test/CodeGen/PTX"



def tuple_of(cls: str, count: int) -> str:
    return "{" + ", ".join(f"%{cls}{i + 1}" for i in range(count)) + "}"


def mma(form: str, cls: str, d: int, a: int, b: int, inputs: str = "r", name: str = "mma", more: str = "") -> str:
    operands = [tuple_of(cls, d), tuple_of(inputs, a), tuple_of(inputs, b), tuple_of(cls, d)]
    return f"{name}.sync.aligned.{form} {', '.join(operands)}{more};"


def wmma(layouts: str, form: str, cls: str, d: int, a: int, b: int, name: str = "wmma.mma") -> str:
    return mma(f"{layouts}.{form}", cls, d, a, b, name=name)


# One instruction for each row of ptx_features.def that stands for an instruction.
PROBES = {
    "bf16-from-f32": "cvt.rn.bf16.f32 %h1, %f1;",
    "bf16-fma": "fma.rn.bf16 %h1, %h2, %h3, %h4;",
    "half-minmax": "min.f16 %h1, %h2, %h3; max.bf16 %h4, %h2, %h3;",
    "nan-minmax": "min.NaN.f32 %f1, %f2, %f3; max.NaN.f16 %h1, %h2, %h3;",
    "tanh-approx": "tanh.approx.f32 %f1, %f2;",
    "bf16-arith": "add.rn.bf16 %h1, %h2, %h3; setp.lt.bf16 %p1, %h1, %h2;",
    "fp8-cvt": "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2; cvt.rn.f16x2.e5m2x2 %r1, %h1;",
    "fp6-fp4-cvt": "{ .reg .b8 %b<2>; cvt.rn.satfinite.e2m1x2.f32 %b1, %f1, %f2; cvt.rn.f16x2.e2m1x2 %r1, %b1; } "
    "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2; cvt.rn.f16x2.e3m2x2 %r1, %h1; cvt.rn.bf16x2.ue8m0x2 %r1, %h1;",
    "memory-model": "fence.sc.gpu; ld.acquire.gpu.global.b32 %r1, [%rd1]; red.release.sys.global.add.u32 [%rd1], %r1;",
    "cp-async": "cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 1;",
    "tensor-copy": "fence.proxy.async; fence.proxy.tensormap::generic.acquire.sys [%rd1], 128; "
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r3];",
    "redux": "redux.sync.add.u32 %r1, %r2, -1;",
    "bf16-cvt": "cvt.rn.bf16.s32 %h1, %r1; cvt.rn.bf16.f64 %h2, %fd1;",
    "wmma-f16": wmma("row.col", "m16n16k16.f32.f32", "f", 8, 8, 8),
    "wmma-f16-shapes": wmma("col.row", "m8n32k16.f16.f16", "r", 4, 8, 8),
    "wmma-int8": wmma("row.col", "m32n8k16.s32.u8.u8.s32.satfinite", "r", 8, 4, 1),
    "wmma-int4": wmma("row.col", "m8n8k32.s32.s4.s4.s32", "r", 2, 1, 1),
    "wmma-b1-and": wmma("row.col", "m8n8k128.s32.b1.b1.s32", "r", 2, 1, 1, "wmma.mma.and.popc"),
    "wmma-bf16": wmma("row.row", "m16n16k8.f32.tf32.tf32.f32", "f", 8, 4, 4),
    "stmatrix": "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r1], {%r2, %r3, %r4, %r5};",
    "mma-m8": mma("m16n8k8.row.col.f32.f16.f16.f32", "f", 4, 2, 1),
    "mma-b1-m8": mma("m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "r", 2, 1, 1),
    "mma": mma("m16n8k16.row.col.f32.bf16.bf16.f32", "f", 4, 4, 2),
    "mma-b1-and": mma("m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r", 4, 4, 2),
    "mma-f64": mma("m16n8k4.row.col.f64.f64.f64.f64", "fd", 4, 2, 1, "fd"),
    "mma-f8": mma("m16n8k32.row.col.f32.e4m3.e5m2.f32", "f", 4, 4, 2),
    "mma-f8f6f4": mma("m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32", "f", 4, 4, 2),
    "mma-block-scale": mma(
        "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "f", 4, 4, 2,
        more=", %r1, {0, 0}, %r2, {0, 0}"),
    "mma-sparse": mma("m16n8k16.row.col.f32.f16.f16.f32", "f", 4, 2, 2, name="mma.sp", more=", %r1, 0"),
    "mma-sparse-ordered": mma(
        "m16n8k32.row.col.f32.bf16.bf16.f32", "f", 4, 4, 4, name="mma.sp::ordered_metadata", more=", %r1, 0"),
}
OTHER_FEATURES = {"ptxNN", "large-params"}
# The PTX version and target just below those of a feature.
VERSION_BELOW = {"6.3": None, "6.5": "6.4", "7.0": "6.5", "7.8": "7.7"}
TARGET_BELOW = {"sm_80": "sm_75", "sm_90": "sm_89", "sm_89": "sm_87", "sm_75": None, "sm_120a": "sm_120", "sm_100a": "sm_100"}
NEWEST = "9.0"


def ptxas() -> str:
    for place in PTXAS_PLACES:
        if os.access(place, os.X_OK):
            return place
    return ""


def assemble(path: str, arch: str) -> subprocess.CompletedProcess[str]:
    command = [ptxas(), f"-arch={arch}", "-v", path, "-o", os.devnull]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Ptxas(mtlc_testing.TestCase):
    def gate(
        self,
        source: str,
        name: str,
        tool: str = "mtlc-llc",
        options: tuple[str, ...] = (),
        archs: tuple[str, ...] = ARCHS,
    ) -> None:
        for arch in archs:
            with self.subTest(file=name, arch=arch, options=options):
                output = mtlc_testing.scratch("out.ptx")
                result = mtlc_testing.run(tool, source, f"--gpu-arch={arch}", "-g", "-o", output, *options)
                self.assertEqual(result.returncode, 0, result.stderr)
                assembled = assemble(output, arch)
                self.assertEqual(assembled.returncode, 0, assembled.stdout + assembled.stderr)
                self.assertNotRegex(assembled.stderr, r"(?m)[1-9]\d* bytes spill")

    def test_text_tests(self) -> None:
        folder = mtlc_testing.data(FOLDER)
        files = sorted(name for name in os.listdir(folder) if name.endswith(".mtir"))
        self.assertGreater(len(files), 10)
        for name in files:
            path = os.path.join(folder, name)
            archs: tuple[str, ...] = ARCHS
            options: tuple[str, ...] = ()
            if name.startswith("tensor-"):  # Not every target has the instructions.
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                archs = tuple(re.findall(r"-march=(\w+)", text))
                options = tuple(re.findall(r"--tensor-\S+", text))
                self.assertTrue(archs)
            self.gate(path, name, options=options, archs=archs)

    def test_examples(self) -> None:
        folder = mtlc_testing.data("examples")
        files = sorted(name for name in os.listdir(folder) if name.endswith(".mettle"))
        self.assertGreater(len(files), 5)
        for name in files:
            for level in ("-O", "-O0"):
                self.gate(os.path.join(folder, name), name, "mettle", ("--emit-ptx", "--tensor-fallback=replay", level))

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
                ".reg .pred %p<5>; .reg .b16 %h<5>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %fd<5>; .reg .b64 %rd<5>;\n"
                f"{code}\nret;\n}}\n"
            )
        # ptxas assembles old targets for newer ones, and only those it still knows.
        return assemble(path, arch).returncode == 0

    def test_table(self) -> None:
        listed = mtlc_testing.run("mtlc-llc", "--list-features").stdout
        rows = re.findall(r"^  (\S+) .*?(?:; from PTX (\S+) and (?:(\S+) or newer|one of (.+)))?$", listed, re.MULTILINE)
        self.assertEqual({name for name, _, _, _ in rows}, set(PROBES) | OTHER_FEATURES)
        for name, version, target, targets in rows:
            if name not in PROBES:
                continue
            with self.subTest(feature=name):
                for one in targets.split():
                    self.assertTrue(self.accepts(NEWEST, one, PROBES[name]), one)
                target = target or targets.split()[0]
                if target in ("sm_70", "sm_72"):  # Gone from this assembler.
                    version, target = max(version, "6.3"), "sm_75"
                self.assertTrue(self.accepts(version, target, PROBES[name]))
                below = TARGET_BELOW[target]
                if below is not None:
                    self.assertFalse(self.accepts(NEWEST, below, PROBES[name]), below)
                if target == "sm_75" and VERSION_BELOW[version]:
                    self.assertFalse(self.accepts(VERSION_BELOW[version], target, PROBES[name]))

    def test_every_target(self) -> None:
        """Each cell of the table: ptxas takes the instruction with that version, and none of a version that lacks it."""
        head, *rows = mtlc_testing.run("mtlc-llc", "--list-features=table").stdout.splitlines()
        targets = head.split()[1:]
        known = subprocess.run([ptxas(), "--help"], capture_output=True, text=True, check=False).stdout
        self.assertGreater(len(rows), 20)
        for row in rows:
            name, *cells = row.split()
            if name not in PROBES:
                continue
            for target, version in zip(targets, cells, strict=True):
                if f"'{target}'" not in known:
                    continue
                with self.subTest(feature=name, target=target, version=version):
                    if version == "-":
                        self.assertFalse(self.accepts("9.0", target, PROBES[name]))
                    else:
                        self.assertTrue(self.accepts(version, target, PROBES[name]))


if __name__ == "__main__":
    if not ptxas():
        mtlc_testing.skip_all("no ptxas")
    mtlc_testing.main()
