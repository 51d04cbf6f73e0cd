"""One kernel per feature and target, with the versions around the least: PTX that has the instruction exactly where the table of
features says so, a fallback or one diagnostic that names what would have it elsewhere; and ptxas takes all of it (BC-42)."""

import os
import re
import subprocess

import mtlc_exec
import mtlc_testing

TARGETS = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_120", "sm_120a", "sm_121a")
PTXAS = "/usr/local/cuda/bin/ptxas"
VERSIONS = [(6, n) for n in range(6)] + [(7, n) for n in range(9)] + [(8, n) for n in range(9)] + [(9, 0)]

MMA = "tensor.mma a=%p, b=%p, c=%q, d=%q "
# Feature of the table (after # a variant): the kernel's operation, the instruction it stands for, and whether others get something else.
KERNELS = {
    "bf16-from-f32": ("%r = fconv %f : f32 to bf16\n  store bf16, %r, %q : ptr<global>", r"cvt\.rn\.bf16\.f32", True),
    "bf16-cvt": ("%b = fconv %d : f64 to bf16\n  store bf16, %b, %q : ptr<global>", r"cvt\.rn\.bf16\.f64", True),
    "bf16-from-f32#i8": ("%n = trunc %i : i32 to i8\n  %b = sitof %n : i8 to bf16\n  store bf16, %b, %q : ptr<global>", r"cvt\.rn\.bf16\.f32", True),
    "bf16-from-f32#f16": ("%b0 = bitcast %h : i16 to f16\n  %b = fconv %b0 : f16 to bf16\n  store bf16, %b, %q : ptr<global>", r"cvt\.rn\.bf16\.f32", True),
    "bf16-arith": ("%b = bitcast %h : i16 to bf16\n  %r = fadd %b, %b : bf16\n  store bf16, %r, %q : ptr<global>", r"add\.rn\.bf16", True),
    "fp8-cvt": ("%r = encode e4m3 sat %f : f32\n  store i8, %r, %q : ptr<global>", r"cvt\.rn\.satfinite\.e4m3x2", True),
    "fp6-fp4-cvt": ("%r = encode e2m1 sat %f : f32\n  store i8, %r, %q : ptr<global>", r"cvt\.rn\.satfinite\.e2m1x2", True),
    "fp6-fp4-cvt#decode": (
        "%c = trunc %i : i32 to i8\n  %r = decode e2m1 %c : f32\n  store f32, %r, %q : ptr<global>", r"cvt\.rn\.f16x2\.e2m1x2", True),
    "fp6-fp4-cvt#e3m2": ("%r = encode e3m2 sat %f : f32\n  store i8, %r, %q : ptr<global>", r"cvt\.rn\.satfinite\.e3m2x2", True),
    "fp6-fp4-cvt#ue8m0": (
        "%c = trunc %i : i32 to i8\n  %r = decode ue8m0 %c : f32\n  store f32, %r, %q : ptr<global>", r"cvt\.rn\.bf16x2\.ue8m0x2", True),
    "redux": ("%r = subgroup.reduce add %i : i32\n  store i32, %r, %q : ptr<global>", r"redux\.sync\.add", True),
    "memory-model": ("fence {global} seq_cst device", r"fence\.sc\.gpu", True),
    "cp-async": (
        "%w = alloc.workgroup i32[4] : ptr<workgroup>\n  async.copy %w, %p, 4 x i32 transaction 16 cache global\n"
        "  async.commit\n  async.wait 0", r"cp\.async\.cg", True),
    "tensor-copy": (
        "%w = alloc.workgroup i32[64] : ptr<workgroup>\n"
        "  tensor.transfer dst=%w, src=%p, view=%q, x0=%i {direction=load, element=i32, tile=[64], extent=[512], stride=[4]}",
        r"cp\.async\.bulk\.tensor", True),
    "wmma-f16": (MMA + "{m16n16k16, a=f16, acc=f32}", r"wmma\.mma\S*m16n16k16\.f32\.f32", False),
    "wmma-bf16": (MMA + "{m16n16k16, a=bf16, acc=f32}", r"wmma\.mma\S*\.bf16\.bf16", False),
    "mma-m8": (
        "%w = alloc.workgroup f16[512] : ptr<workgroup>\n  tensor.mma a=%w, b=%w, c=%q, d=%q {m16n16k16, a=f16, acc=f32}",
        r"ldmatrix", True),
    "stmatrix": (
        "%w = alloc.workgroup f16[256] : ptr<workgroup>\n  %v = alloc.workgroup f16[256] : ptr<workgroup>\n"
        "  tensor.mma a=%w, b=%w, c=%p, d=%v {m16n16k16, a=f16, acc=f16}", r"stmatrix\.sync", True),
    "mma-sparse": (
        "tensor.mma a=%p, b=%p, c=%q, d=%q, metadata=%p {m16n8k16, a=f16, acc=f32, sparsity=structured_2_to_4}",
        r"mma\.sp", False),
    "mma-block-scale": (
        "tensor.mma a=%p, b=%p, c=%q, d=%q, scale_a=%p, scale_b=%p {m16n8k32, a=e4m3, b=e2m1, acc=f32, scale_a=block32, scale_b=block32}",
        r"kind::mxf8f6f4\S*block_scale", False),
    "mma-f8": (MMA + "{m16n8k32, a=e4m3, b=e5m2, acc=f32}", r"mma\.sync\S*\.e4m3\.e5m2", False),
    "mma-f8f6f4": (MMA + "{m16n8k32, a=e3m2, b=e2m3, acc=f32}", r"mma\.sync\S*kind::f8f6f4|mma\.sync\S*kind::mxf8f6f4", False),
}  # fmt: skip


def number(version: str) -> tuple[int, ...]:
    """8.10 comes after 8.9."""
    return tuple(map(int, version.split(".")))


class TargetFeatures(mtlc_exec.TestCase):
    def test_cells(self) -> None:
        head, *rows = mtlc_testing.run("mtlc-llc", "--list-features=table").stdout.splitlines()
        table = {cells[0]: dict(zip(head.split()[1:], cells[1:], strict=True)) for cells in map(str.split, rows)}
        listed = mtlc_testing.run("mtlc-llc", "--list-targets").stdout
        versions = {name: (number(least), number(default)) for name, least, default in
                    re.findall(r"(sm_\w+) +PTX (\S+) or newer, by default (\S+)", listed)}  # fmt: skip
        below = 0
        for name, (operation, instruction, has_fallback) in KERNELS.items():
            source = mtlc_exec.write_source(
                "k.mtir",
                'module "m"\nkernel @k(%p: ptr<global>, %q: ptr<global>, %i: i32, %h: i16, %f: f32, %d: f64) {\n'
                f"^entry:\n  {operation}\n  ret\n}}\n",
            )
            for target in TARGETS:
                first, default = versions[target]
                cell = table[name.split("#")[0]][target]
                if cell == "-":
                    tried = [(default, False)]
                else:
                    least = number(cell)
                    # The last version that the target has and the instruction has not.
                    older = [v for v in VERSIONS if first <= v < least]
                    tried = [(max(least, default), True), (least, True), *[(v, False) for v in older[-1:]]]
                    below += len(older[-1:])
                for version, has in dict(tried).items():
                    with self.subTest(kernel=name, target=target, version=version):
                        self.cell(source, target, ".".join(map(str, version)), has, has_fallback, instruction)
        self.assertGreater(below, 5)

    def cell(self, source: str, target: str, ptx: str, has: bool, has_fallback: bool, instruction: str) -> None:
        output = mtlc_testing.scratch("k.ptx")
        result = mtlc_testing.run("mtlc-llc", source, f"-march={target}", f"--ptx-version={ptx}", "--diagnostics=json", "-o", output)
        if not has and not has_fallback:
            self.assertEqual(result.returncode, 1)
            errors = result.stderr.splitlines()
            self.assertEqual(len(errors), 1, result.stderr)
            self.assertIn('"TensorNoForm"', errors[0])
            self.assertIn(target, errors[0])
            self.assertRegex(errors[0], r"PTX \d\.\d and (sm_\d+ or newer|one of sm_)")
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(output, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(re.search(instruction, text) is not None, has)
        self.assertIn(f".target {target}\n", text)
        self.assertIn(f".version {ptx}\n", text)
        if target != "sm_70" and os.access(PTXAS, os.X_OK):
            done = subprocess.run([PTXAS, f"-arch={target}", output, "-o", os.devnull], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
