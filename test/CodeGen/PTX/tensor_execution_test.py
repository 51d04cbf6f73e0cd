"""Products on tiles, as PTX on the simulator, against the exact model."""

import itertools

import mtlc_exec
import mtlc_testing
import numpy as np
import tensor_cases
import tensor_model as model
from tensor_cases import TileBatch, product
from tensor_product import NARROW

LAYOUTS = list(itertools.product(("row", "col"), repeat=2))
# Inputs, accumulator, shapes of native products and grids of them, and the least target with an instruction.
FAMILIES = [
    ("f16", "f16", "f32", [(16, 16, 16), (8, 32, 16), (32, 8, 16), (16, 8, 8), (16, 8, 16), (32, 32, 32), (48, 24, 32), (24, 32, 32), (32, 24, 16)]),
    ("f16", "f16", "f16", [(16, 16, 16), (8, 32, 16), (32, 8, 16), (16, 8, 8), (48, 24, 16), (24, 32, 16), (32, 24, 16)]),
    ("bf16", "bf16", "f32", [(16, 16, 16), (8, 32, 32), (32, 8, 16), (16, 8, 8), (32, 32, 32), (24, 32, 32), (32, 24, 16)]),
    ("tf32", "tf32", "f32", [(16, 16, 8), (16, 8, 4), (16, 8, 8), (32, 32, 16)]),
    ("f64", "f64", "f64", [(8, 8, 4), (16, 8, 8), (24, 16, 8)]),
    *[(a, b, "i32", [(16, 16, 16), (8, 32, 16), (32, 8, 32), (16, 8, 32), (8, 8, 16), (48, 24, 64), (24, 32, 32), (32, 24, 16)])
      for a in ("i8", "u8") for b in ("i8", "u8")],
    *[(a, b, "i32", [(8, 8, 32), (16, 8, 64), (16, 8, 32), (24, 16, 64)]) for a in ("i4", "u4") for b in ("i4", "u4")],
]  # fmt: skip


def halves(name: str, values: np.ndarray) -> np.ndarray:
    """The codes of integers, f16 or bf16, rounded to nearest-even."""
    if name == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


class Tiles(mtlc_exec.TestCase):
    def batches(self, products: list, arch: str, *options: str, seed: int = 1, **how) -> None:
        rng = np.random.default_rng(seed)
        for workgroup in (False, True):
            for i in range(0, len(products), 40):
                batch = TileBatch(workgroup=workgroup, acc=products[i].acc, **how)
                for p in products[i : i + 40]:
                    p.add(batch, rng, matmul=False)
                tensor_cases.run(self, batch, arch, *options)

    def test_families(self) -> None:
        """Every shape of every family in all layouts, with padding, from global and from workgroup memory."""
        for a, b, acc, shapes in FAMILIES:
            for arch in ("sm_80", "sm_90") if a == "f64" else ("sm_80",):
                products = []
                for i, ((m, n, k), (la, lb)) in enumerate(itertools.product(shapes, LAYOUTS)):
                    if a in ("i4", "u4") and (la, lb) != ("row", "col"):
                        continue
                    products.append(product(
                        m=m, n=n, k=k, a=a, b=b, acc=acc,
                        layouts=(la, lb, ("row", "col")[i % 2], ("col", "row")[i // 3 % 2]), pads=(16, 0, 3, 9),
                        runtime=i % 5 == 1, in_place=i % 7 == 2, overflow="saturate" if acc == "i32" and i % 3 == 0 else "wrap",
                    ))  # fmt: skip
                self.batches(products, arch)


    def test_first_targets(self) -> None:
        """What the oldest targets have, and one of a family."""
        for a, b, acc, shapes in (("f16", "f16", "f32", [(16, 16, 16), (32, 8, 16), (16, 8, 8), (16, 24, 24)]),
                                  ("i8", "i8", "i32", [(16, 16, 16), (8, 32, 32), (8, 8, 16)]),
                                  ("u8", "i8", "i32", [(8, 8, 32), (16, 16, 16)])):  # fmt: skip
            products = [
                product(m=m, n=n, k=k, a=a, b=b, acc=acc, layouts=(*layouts, "row", "row"), pads=(0, 16, 0, 0))
                for m, n, k in shapes for layouts in LAYOUTS
            ]  # fmt: skip
            self.batches(products, "sm_75", "--ptx-version=6.5")
            if acc == "f32":
                self.batches([p for p in products if (p.m, p.n, p.k) == (16, 16, 16)], "sm_70", "--ptx-version=6.0")
        products = [product(m=16, n=8, k=64, a=a, b="e3m2", acc="f32", scales=scales, small_scales=True)
                    for a in NARROW for scales in (("none", "none"), ("block32", "block32"))]  # fmt: skip
        for arch in ("sm_120f", "sm_121f", "sm_120a"):
            self.batches(products, arch)

    def test_bits(self) -> None:
        products = [
            product(m=m, n=n, k=k, a="b1", b="b1", acc="i32", math_mode=math, pads=(128, 0, 0, 4), overflow=overflow,
                    layouts=("row", "col", "col", "row"))
            for (m, n, k), math, overflow in itertools.product(
                [(8, 8, 128), (16, 8, 128), (16, 8, 256), (24, 16, 384)], ("xor_popcount", "and_popcount"),
                ("wrap", "saturate"))
        ]  # fmt: skip
        self.batches(products, "sm_80", "--ptx-version=7.1")

    def test_rounding_of_f64(self) -> None:
        products = [
            product(m=8, n=16, k=k, a="f64", b="f64", acc="f64", rounding=mode, kind=kind, layouts=(*layouts, "row", "col"))
            for k, mode, kind, layouts in itertools.product(
                (4, 12), ("default", "nearest_even", "toward_zero", "down", "up"), ("any", "integers"), LAYOUTS)
        ]  # fmt: skip
        self.batches(products, "sm_80")

    def test_integers_with_byte_for_each_value(self) -> None:
        products = [
            product(m=16, n=16, k=64, a=a, b=b, acc="i32", layouts=(*layouts, "row", "row"), pads=(0, 16, 0, 0),
                    overflow=overflow, logical=True)
            for a, b, layouts, overflow in itertools.product(("i4", "u4"), ("i4", "u4"), LAYOUTS, ("wrap", "saturate"))
        ]  # fmt: skip
        self.batches(products, "sm_80")

    def test_narrow_floats(self) -> None:
        """All 25 pairs, a byte for each value and packed, along K and across."""
        products = []
        for i, (a, b, dense, layouts) in enumerate(itertools.product(NARROW, NARROW, (False, True), LAYOUTS)):
            packed = (dense and a in NARROW[2:] and layouts[0] == "row", dense and b in NARROW[2:] and layouts[1] == "col")
            if dense and not any(packed):
                continue
            products.append(product(
                m=16, n=(8, 16)[i % 2], k=(32, 64, 96)[i % 3], a=a, b=b, acc="f32", dense=packed,
                layouts=(*layouts, "row", "row"), pads=(0, 64, 0, 4), runtime=i % 4 == 1))  # fmt: skip
        self.batches(products, "sm_121a")

    def test_fp8_of_ada(self) -> None:
        products = [
            product(m=32, n=16, k=64, a=a, b=b, acc="f32", layouts=(*layouts, "row", "row"))
            for a, b, layouts in itertools.product(NARROW[:2], NARROW[:2], LAYOUTS)
        ]
        self.batches(products, "sm_89")

    def test_block_scales(self) -> None:
        """All 25 pairs with ue8m0 scales for blocks of 32, FP4 with those of NVFP4."""
        products = []
        for i, (a, b, layouts) in enumerate(itertools.product(NARROW, NARROW, LAYOUTS)):
            packed = (a in NARROW[2:] and layouts[0] == "row" and i % 2 == 0, b in NARROW[2:] and layouts[1] == "col")
            products.append(product(
                m=(16, 32)[i % 2], n=16, k=(32, 64, 128)[i % 3], a=a, b=b, acc="f32", dense=packed,
                layouts=(*layouts, "row", "row"), pads=(1, 2, 0, 0), runtime=i % 4 == 1, small_scales=True,
                scales=[("block32", "block32"), ("block32", "none"), ("tensor", "block32")][i // 4 % 3]))  # fmt: skip
        for i, (dense, layouts) in enumerate(itertools.product((False, True), LAYOUTS)):
            packed = (dense and layouts[0] == "row", dense and layouts[1] == "col")
            for scales in (("block16", "block16"), ("tensor", "block16"), ("block16", "none")):
                products.append(product(
                    m=16, n=24, k=(64, 128)[i % 2], a="e2m1", b="e2m1", acc="f32", dense=packed, small_scales=True,
                    layouts=(*layouts, "row", "row"), pads=(1, 2, 0, 0), scales=scales,
                    scale_formats=("ue4m3", "ue4m3")))  # fmt: skip
        self.batches(products, "sm_121a")

    def test_sparse(self) -> None:
        for options in (("--ptx-version=7.1",), ("--ptx-version=8.5",)):
            products = [
                product(m=m, n=n, k=k, a=a, b=a, acc=acc, sparsity="structured_2_to_4", layouts=(*layouts, "row", "col"),
                        transpose_a=transpose)
                for a, acc in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"))
                for m, n, k in ((16, 8, 16), (16, 8, 32), (32, 16, 48), (32, 24, 64))
                for layouts, transpose in itertools.product(LAYOUTS, (False, True))
            ]  # fmt: skip
            for acc in ("f32", "f16"):
                self.batches([p for p in products if p.acc == acc], "sm_80", *options)

    def test_transposition(self) -> None:
        products = [
            product(m=16, n=16, k=32, a=a, b=a, acc=acc, transpose_a=ta, transpose_b=tb, layouts=(*layouts, "col", "col"))
            for a, acc in (("f16", "f32"), ("i8", "i32"), ("tf32", "f32"))
            for ta, tb, layouts in itertools.product((False, True), (False, True), LAYOUTS)
        ]
        for a in ("f16", "i8", "tf32"):
            self.batches([p for p in products if p.a == a], "sm_80")


class Bounds(mtlc_exec.TestCase):
    """Values of moderate exponents: results within the bound of docs/ir.md."""

    def test_random_values(self) -> None:
        pairs = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
                 *[(a, b, "f32") for a in NARROW for b in NARROW]]  # fmt: skip
        for acc in ("f32", "f16"):
            for workgroup in (False, True):
                rng = np.random.default_rng(11)
                batch = TileBatch(workgroup=workgroup, acc=acc)
                for i, (a, b, _) in enumerate(p for p in pairs if p[2] == acc):
                    for k, kind in ((32, "any"), (96, "any"), (32, "special")):
                        if acc == "f16" and kind == "special":
                            continue  # Partial sums overflow.
                        scales = ("block32", "block32") if a in NARROW and (i + k) % 3 == 0 else ("none", "none")
                        p = product(m=16, n=16, k=k, a=a, b=b, acc=acc, kind=kind, scales=scales)
                        p.add(batch, rng, matmul=False)
                tensor_cases.run(self, batch, "sm_121a", exact=False)


class Operations(mtlc_exec.TestCase):
    """tensor.mma and tensor.matmul: native where they can be, exact scalar code for what is left."""

    def operations(self, products: list, arch: str, *options: str, matmul: bool, seed: int = 2) -> str:
        batch = model.Batch()
        rng = np.random.default_rng(seed)
        for p in products:
            p.add(batch, rng, matmul=matmul)
        return tensor_cases.run(self, batch, arch, *options)

    def test_mma(self) -> None:
        for a, acc, wide in (("f16", "f32", "wmma.mma"), ("i8", "i32", "wmma.mma"), ("f64", "f64", "wmma.mma")):
            products = [
                product(m=m, n=n, k=k, a=a, b=a, acc=acc, layouts=(*layouts, "row", "row"), pads=(16, 0, 0, 8))
                for m, n, k in ((16, 16, 16), (32, 32, 32), (48, 24, 32), (64, 64, 16), (19, 23, 21))
                for layouts in LAYOUTS[:: 3]
            ]  # fmt: skip
            ptx = self.operations(products, "sm_90", matmul=False)
            self.assertIn(wide, ptx)
            self.assertRegex(ptx, r"// mtlc\.tensor_mma resident tiles=\d+ tuple_peak=\d+ budget=96")

    def test_matmul(self) -> None:
        """BC-39: edges in M, N and K, poison around, K of 0, regions out of range."""
        cases = [
            (("f16", "f16", "f32"), {}, "sm_80"),
            (("i8", "u8", "i32"), {}, "sm_80"),
            (("e4m3", "e2m1", "f32"), {"dense": (False, True)}, "sm_121a"),
            (("e4m3", "e5m2", "f32"), {"scales": ("block32", "block32"), "small_scales": True}, "sm_121a"),
            (("f16", "f16", "f32"), {"sparsity": "structured_2_to_4"}, "sm_80"),
        ]
        for (a, b, acc), more, arch in cases:
            products = [
                product(m=m, n=n, k=k, a=a, b=b, acc=acc, region=(32, 16), pads=pads, skew=skew, **more)
                for (m, n, k), pads, skew in (
                    ((32, 32, 64), (0, 0, 0, 0), 0), ((40, 40, 96), (64, 64, 0, 0), 0), ((19, 23, 21), (3, 5, 1, 2), 0),
                    ((19, 23, 67), (3, 5, 1, 2), 1), ((33, 17, 40), (0, 0, 0, 0), 0), ((16, 16, 0), (3, 5, 1, 2), 0))
                if k != 0 or not {"scales", "sparsity"} & set(more)
            ]  # fmt: skip
            options = ("--tensor-fallback=replay", "--ptx-version=8.5") if arch == "sm_80" else ("--tensor-fallback=replay",)
            ptx = self.operations(products, arch, *options, matmul=True)
            if "sparsity" not in more:  # Metadata has no leading dimension, so that one step has to do.
                self.assertTrue("mma.sync" in ptx)

    def test_refusals(self) -> None:
        """BC-42: what has the instruction is said, before any assembler."""
        source = mtlc_exec.write_source("refused.mtir", """module "refused"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %s: ptr<global>) {
^entry:
  tensor.mma a=%a, b=%b, c=%c, d=%c, scale_a=%s, scale_b=%s {m16n8k64, a=e2m1, acc=f32, scale_a=block32, scale_b=block32}
  ret
}
""")
        for arch, good in (("sm_120", False), ("sm_121", False), ("sm_90a", False), ("sm_120a", True), ("sm_121f", True)):
            done = mtlc_testing.run("mtlc-llc", source, f"-march={arch}", "-o", mtlc_testing.scratch("refused.ptx"))
            with self.subTest(arch):
                self.assertEqual(done.returncode == 0, good, done.stderr)
                if not good:
                    self.assertIn("PTX 8.7 and one of sm_120a sm_120f sm_121a sm_121f", done.stderr)
                    self.assertIn("--tensor-fallback=replay", done.stderr)


class Programs(mtlc_exec.TestCase):
    """Tiles in whole programs."""

    def execute(self, text: str, arch: str, args: list, *options: str, block: int = 32) -> tuple:
        there = tensor_cases.OnSimulator(self, arch, options)
        result = there.launch(mtlc_exec.write_source("program.mtir", text), "k", args, block=block)
        return result, there.ptx

    def test_every_element_alone(self) -> None:
        """BC-38: one element of A times all of B, and all of A times one element of B, for each of them."""
        cases = [
            ("f16", "f32", np.float16, np.float32, 16, 8, 16, "a=f16, acc=f32", "sm_80"),
            ("f16 in wmma", "f32", np.float16, np.float32, 16, 16, 16, "a=f16, acc=f32", "sm_80"),
            ("f16 m16n8k8", "f32", np.float16, np.float32, 16, 8, 8, "a=f16, acc=f32", "sm_80"),
            ("i8", "i32", np.int8, np.int32, 16, 8, 32, "a=i8, acc=i32", "sm_80"),
            ("i8 m8n8k16", "i32", np.int8, np.int32, 8, 8, 16, "a=i8, acc=i32", "sm_80"),
            ("tf32", "f32", np.float32, np.float32, 16, 8, 8, "a=tf32, acc=f32", "sm_80"),
            ("f64", "f64", np.float64, np.float64, 8, 8, 4, "a=f64, acc=f64", "sm_80"),
            ("f64 m16n8k8", "f64", np.float64, np.float64, 16, 8, 8, "a=f64, acc=f64", "sm_90"),
        ]
        rng = np.random.default_rng(38)
        for name, acc, dtype, acc_type, m, n, k, fields, arch in cases:
            wide = {1: 16, 2: 8, 4: 4, 8: 2}[np.dtype(dtype).itemsize]
            lda = ldb = -(-k // wide) * wide
            count = m * k + k * n
            a = np.zeros((count, m, lda), dtype)
            b = np.zeros((count, n, ldb), dtype)  # Column by column.
            # No two values of a matrix's line or column are the same.
            full_a = (rng.permutation(m * k) % 113 + 1).reshape(m, k).astype(dtype)
            full_b = (rng.permutation(k * n) % 109 + 1).reshape(k, n).astype(dtype)
            for i, (row, inner) in enumerate(itertools.product(range(m), range(k))):
                a[i, row, inner] = 1
                b[i, :, :k] = full_b.T
            for i, (inner, col) in enumerate(itertools.product(range(k), range(n)), m * k):
                a[i, :, :k] = full_a
                b[i, col, inner] = 1
            c = rng.integers(-50, 50, (m, n)).astype(acc_type)
            tile = f"tile<{m}x{n}x{acc}>"
            text = f"""module "probes"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %d: ptr<global>, %n: i32) {{
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %sa = const {m * lda * a.itemsize} : i64
  %sb = const {n * ldb * b.itemsize} : i64
  %sd = const {m * n * c.itemsize} : i64
  jump ^head(%zero, %a, %b, %d)
^head(%i: i32, %pa: ptr<global>, %pb: ptr<global>, %pd: ptr<global>):
  %go = cmp.slt %i, %n : i32
  br %go, ^body, ^done
^body:
  %t = tensor.acc.begin c=%c, d=%pd {{m{m}n{n}, acc={acc}}} : {tile}
  %u = tensor.acc.mma tile=%t, a=%pa, b=%pb {{m{m}n{n}k{k}, {fields}, lda={lda}, ldb={ldb}}} : {tile}
  tensor.acc.commit %u
  %na = ptr.add %pa, %sa x i8 : ptr<global>
  %nb = ptr.add %pb, %sb x i8 : ptr<global>
  %nd = ptr.add %pd, %sd x i8 : ptr<global>
  %next = add %i, %one : i32
  jump ^head(%next, %na, %nb, %nd)
^done:
  ret
}}
"""
            with self.subTest(name):
                d = mtlc_exec.Output(acc_type, (count, m, n))
                result, _ = self.execute(text, arch, [a, b, c, d, np.int32(count)])
                wide_type = np.int64 if acc == "i32" else np.float64
                want = a[:, :, :k].astype(wide_type) @ b[:, :, :k].astype(wide_type).transpose(0, 2, 1) + c
                np.testing.assert_array_equal(result[d].astype(wide_type), want)

    LOOP = """module "loop"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %n: i32, %ld: i64) {{
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %step = const {step} : i64
  %t = tensor.acc.begin c=%c, d=%c {{{{m{m}n{n}, acc={acc}}}}} : tile<{m}x{n}x{acc}>
  jump ^head(%zero, %a, %b, %t)
^head(%i: i32, %pa: ptr<global>, %pb: ptr<global>, %acc: tile<{m}x{n}x{acc}>):
  %go = cmp.slt %i, %n : i32
  br %go, ^body, ^done
^body:
  %u = tensor.acc.mma tile=%acc, a=%pa, b=%pb, lda=%ld, ldb=%ld {{{{m{m}n{n}k{k}, {fields}}}}} : tile<{m}x{n}x{acc}>
  %na = ptr.add %pa, %step x i8 : ptr<global>
  %nb = ptr.add %pb, %step x i8 : ptr<global>
  %next = add %i, %one : i32
  jump ^head(%next, %na, %nb, %u)
^done:
  tensor.acc.commit %acc
  ret
}}
"""

    def test_loop(self) -> None:
        """A sum along a K that is known at run time stays in registers; nothing waits in the loop."""
        cases = [
            ("wmma", "f16", "f32", np.float16, np.float32, 32, 32, 16),
            ("mma", "f16", "f32", np.float16, np.float32, 48, 24, 16),
            ("mma", "i8", "i32", np.int8, np.int32, 16, 8, 32),
            ("wmma", "f64", "f64", np.float64, np.float64, 16, 8, 4),
        ]
        rng = np.random.default_rng(5)
        for (api, a, acc, dtype, acc_type, m, n, k), steps in itertools.product(cases, (0, 1, 5)):
            with self.subTest(api=api, a=a, steps=steps):
                ld = max(steps, 1) * k + 16
                x = rng.integers(-8, 8, (m, ld)).astype(dtype)
                y = rng.integers(-8, 8, (n, ld)).astype(dtype)
                c = mtlc_exec.InOut(rng.integers(-9, 9, (m, n)).astype(acc_type))
                text = self.LOOP.format(m=m, n=n, k=k, acc=acc, fields=f"a={a}, acc={acc}", step=k * x.itemsize)
                text = text.replace("{{", "{").replace("}}", "}")
                result, ptx = self.execute(text, "sm_80", [x, y, c, np.int32(steps), np.int64(ld)])
                used = steps * k
                want = c.array + x[:, :used].astype(acc_type) @ y[:, :used].astype(acc_type).T
                np.testing.assert_array_equal(result[c], want)
                self.assertIn(f"{api}.mma.sync" if api == "wmma" else "\tmma.sync", ptx)
                self.assertNotIn("bar.warp.sync", ptx)

    def test_order(self) -> None:
        """Lanes write what products read, and read what they give: some lanes only, in a loop, in workgroup memory. The
        simulator's checks find a barrier that is missing; where all only read there is none."""
        text = """module "order"
kernel @k(%b: ptr<global>, %c: ptr<global>, %d: ptr<global>, %n: i32) {
^entry:
  %a = alloc.workgroup i8[512] : ptr<workgroup>
  %zero = const 0 : i32
  %one = const 1 : i32
  %half = const 16 : i32
  %lane = subgroup.local_id : i32
  %lane64 = zext %lane : i32 to i64
  %pa = ptr.add %a, %lane64 x i8 : ptr<workgroup>
  %size = const 32 : i64
  %t = tensor.acc.begin c=%c, d=%d {m16n8, acc=i32} : tile<16x8xi32>
  jump ^fill(%zero, %pa)
^fill(%j: i32, %pf: ptr<workgroup>):
  %clear = const 1 : i8
  store i8, %clear, %pf : ptr<workgroup>
  %nf = ptr.add %pf, %size x i8 : ptr<workgroup>
  %nj = add %j, %one : i32
  %more = cmp.slt %nj, %half : i32
  br %more, ^fill(%nj, %nf), ^head(%zero, %t)
^head(%i: i32, %acc: tile<16x8xi32>):
  %go = cmp.slt %i, %n : i32
  br %go, ^body, ^done
^body:
  %u = tensor.acc.mma tile=%acc, a=%a, b=%b {m16n8k32, a=i8, acc=i32} : tile<16x8xi32>
  %low = cmp.slt %lane, %half : i32
  %next = add %i, %one : i32
  br %low, ^write, ^latch
^write:
  %v = trunc %next : i32 to i8
  store i8, %v, %pa : ptr<workgroup>
  jump ^latch
^latch:
  jump ^head(%next, %u)
^done:
  tensor.acc.commit %acc
  %pd = ptr.add %d, %lane64 x i32 : ptr<global>
  %x = load i32, %pd : ptr<global>
  %past = const 128 : i64
  %po = ptr.add %pd, %past x i32 : ptr<global>
  store i32, %x, %po : ptr<global>
  ret
}
"""
        rng = np.random.default_rng(3)
        b = rng.integers(-9, 9, (8, 32)).astype(np.int8)  # Column by column.
        c = rng.integers(-9, 9, (16, 8)).astype(np.int32)
        d = mtlc_exec.Output(np.int32, 160)
        steps = 5
        result, ptx = self.execute(text, "sm_80", [b, c, d, np.int32(steps)])
        a = np.ones((16, 32), np.int64)
        want = c.astype(np.int64)
        for i in range(steps):
            want = want + a @ b.T.astype(np.int64)
            a[0, :16] = i + 1
        np.testing.assert_array_equal(result[d][:128].reshape(16, 8), want)
        np.testing.assert_array_equal(result[d][128:], result[d][:32])
        self.assertEqual(ptx.count("bar.warp.sync"), 3)  # Before the product, after it, behind the commit.

    def test_order_before_what_lanes_do_apart(self) -> None:
        """After a product, a loop with a number of rounds for each lane, and one in a helper, under a condition of each lane: all
        wait in front of it, for in it some are missing. The product's sum is what they read, and a second one's addend."""
        text = """module "apart"
func @count(%d: ptr<global>, %lane: i32) noinline {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %lane64 = zext %lane : i32 to i64
  %p = ptr.add %d, %lane64 x i32 : ptr<global>
  jump ^head(%zero)
^head(%i: i32):
  %go = cmp.slt %i, %lane : i32
  br %go, ^body, ^done
^body:
  %x = load i32, %p : ptr<global>
  %y = add %x, %one : i32
  store i32, %y, %p : ptr<global>
  %j = add %i, %one : i32
  jump ^head(%j)
^done:
  ret
}
kernel @k(%a: ptr<global>, %b: ptr<global>, %d: ptr<global>, %rounds: i32) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %four = const 4 : i32
  %step = const 32 : i32
  %hundred = const 100 : i32
  %lane = subgroup.local_id : i32
  jump ^outer(%zero)
^outer(%r: i32):
  %t0 = tensor.acc.begin c=%d, d=%d {m16n8, acc=i32} : tile<16x8xi32>
  %t1 = tensor.acc.mma tile=%t0, a=%a, b=%b {m16n8k32, a=i8, acc=i32} : tile<16x8xi32>
  tensor.acc.commit %t1
  jump ^head(%lane)
^head(%e: i32):
  %inside = cmp.slt %e, %hundred : i32
  br %inside, ^body, ^middle
^body:
  %e64 = zext %e : i32 to i64
  %p = ptr.add %d, %e64 x i32 : ptr<global>
  %x = load i32, %p : ptr<global>
  %y = add %x, %x : i32
  store i32, %y, %p : ptr<global>
  %f = add %e, %step : i32
  jump ^head(%f)
^middle:
  %t2 = tensor.acc.begin c=%d, d=%d {m16n8, acc=i32} : tile<16x8xi32>
  %t3 = tensor.acc.mma tile=%t2, a=%a, b=%b {m16n8k32, a=i8, acc=i32} : tile<16x8xi32>
  tensor.acc.commit %t3
  %few = cmp.slt %lane, %four : i32
  br %few, ^some, ^join
^some:
  call @count(%d, %lane)
  jump ^join
^join:
  %q = add %r, %one : i32
  %more = cmp.slt %q, %rounds : i32
  br %more, ^outer(%q), ^exit
^exit:
  ret
}
"""
        rng = np.random.default_rng(12)
        a = rng.integers(-9, 9, (16, 32)).astype(np.int8)
        b = rng.integers(-9, 9, (8, 32)).astype(np.int8)  # Column by column.
        d = mtlc_exec.InOut(rng.integers(-9, 9, 128).astype(np.int32))
        want = d.array.astype(np.int64)
        product = (a.astype(np.int64) @ b.T.astype(np.int64)).ravel()
        for _ in range(3):
            want = want + product
            want[:100] *= 2
            want = want + product
            want[:4] += np.arange(4)
        result, ptx = self.execute(text, "sm_80", [a, b, d, np.int32(3)])
        np.testing.assert_array_equal(result[d], want)
        self.assertIn("bar.warp.sync", ptx)

    def test_tiles_of_more_bits_than_their_home(self) -> None:
        """The tile keeps float32 through all steps, a loop and an epilogue among them, and is rounded once, into its home."""
        rng = np.random.default_rng(91)
        for (m, n), stored, layout, in_place, rounds in itertools.product(
            ((16, 8), (32, 24)), ("f16", "bf16"), ("row", "col"), (False, True), (0, 1, 3)
        ):
            # Sums with halves that 16 bits cannot hold: rounding each step would lose them.
            a, b = (rng.integers(-3, 4, (side, 16)).astype(np.float16) for side in (m, n))
            c = rng.integers(-2, 3, (m, n)) * 512 if stored == "f16" else rng.integers(-2, 3, (m, n)) * 64
            ld = (n if layout == "row" else m) + 8
            text = f"""module "wide"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %d: ptr<global>, %n: i32) {{
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %alpha = const 0.25 : f32
  %t = tensor.acc.begin c=%c, d={"%c" if in_place else "%d"} {{m{m}n{n}, acc=f32, result={stored}, layout_c={layout}, layout_d={layout}, ldc={ld}, ldd={ld}}} : tile<{m}x{n}xf32>
  jump ^head(%zero, %t)
^head(%i: i32, %now: tile<{m}x{n}xf32>):
  %more = cmp.slt %i, %n : i32
  br %more, ^body, ^last
^body:
  %next = tensor.acc.mma tile=%now, a=%a, b=%b {{m{m}n{n}k16, a=f16, acc=f32}} : tile<{m}x{n}xf32>
  %j = add %i, %one : i32
  jump ^head(%j, %next)
^last:
  %quarter = tensor.acc.epilogue tile=%now, alpha=%alpha {{m{m}n{n}, element=f32}} : tile<{m}x{n}xf32>
  %sum = tensor.acc.mma tile=%quarter, a=%a, b=%b {{m{m}n{n}k16, a=f16, acc=f32}} : tile<{m}x{n}xf32>
  tensor.acc.commit %sum
  ret
}}
"""
            product_ = a.astype(np.float64) @ b.astype(np.float64).T
            want = halves(stored, (c + rounds * product_) / 4 + product_)
            place = (lambda x: x) if layout == "row" else np.transpose
            memory = np.full((m if layout == "row" else n, ld), 0xFFFF, np.uint16)
            memory[:, :-8] = place(halves(stored, c))
            for arch in ("interp", "sm_75", "sm_80", "sm_90", "sm_121a"):
                with self.subTest(m=m, n=n, stored=stored, layout=layout, in_place=in_place, rounds=rounds, arch=arch):
                    c_, d_ = mtlc_exec.InOut(memory), mtlc_exec.InOut(np.full_like(memory, 0xFFFF))
                    args = [a, b, c_, d_, np.int32(rounds)]
                    if arch == "interp":
                        done = self.launch(mtlc_exec.write_source("wide.mtir", text), "k", args, block=32, device="interp")
                    else:
                        done, _ = self.execute(text, arch, args, *(["--ptx-version=6.5"] if arch == "sm_75" else []))
                    got = done[c_ if in_place else d_]
                    np.testing.assert_array_equal(got[:, :-8], place(want))
                    self.assertTrue((got[:, -8:] == 0xFFFF).all())

    def test_rows_of_metadata_with_gaps(self) -> None:
        """`ldmeta`, as a constant and as an operand; what lies between the rows is no mask."""
        rng = np.random.default_rng(92)
        for (m, n, k), gap, runtime in itertools.product(((16, 8, 16), (32, 24, 64)), (0, 1, 7), (False, True)):
            a, b = (rng.integers(-3, 4, (side, k)).astype(np.float16) for side in (m, n))
            masks = rng.choice([3, 5, 6, 9, 10, 12], (m, k // 4)).astype(np.uint8)
            kept = (masks[:, :, None] >> np.arange(4) & 1).astype(bool).reshape(m, k)
            padded = np.full((m, k // 4 + gap), 0xFF, np.uint8)
            padded[:, : k // 4] = masks
            pitch = "ldmeta=%ld" if runtime else f"ldmeta={k // 4 + gap}"
            where = (f", {pitch}", "") if runtime else ("", f", {pitch}")
            text = f"""module "gaps"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %md: ptr<global>, %ld: i32) {{
^entry:
  tensor.mma a=%a, b=%b, c=%c, d=%c, metadata=%md{where[0]} {{m{m}n{n}k{k}, a=f16, acc=f32, sparsity=structured_2_to_4{where[1]}}}
  %t = tensor.acc.begin c=%c, d=%c {{m{m}n{n}, acc=f32}} : tile<{m}x{n}xf32>
  %u = tensor.acc.mma tile=%t, a=%a, b=%b, metadata=%md{where[0]} {{m{m}n{n}k{k}, a=f16, acc=f32, sparsity=structured_2_to_4{where[1]}}} : tile<{m}x{n}xf32>
  tensor.acc.commit %u
  ret
}}
"""
            want = 2 * ((a * kept).astype(np.float64) @ b.astype(np.float64).T)
            source = mtlc_exec.write_source("gaps.mtir", text)
            ways = [("interp", "interp", []), ("spirv", "spirv", []), ("sm_75", "sim", ["--gpu-arch=sm_75", "--tensor-fallback=replay"])]
            ways += [(arch, "sim", [f"--gpu-arch={arch}"]) for arch in ("sm_89", "sm_90", "sm_121a")]
            for name, device, options in ways:
                with self.subTest(m=m, n=n, k=k, gap=gap, runtime=runtime, way=name):
                    c = mtlc_exec.InOut(np.zeros((m, n), np.float32))
                    args = [a[kept].reshape(m, k // 2), b, c, padded, np.int32(k // 4 + gap)]
                    done = self.launch(source, "k", args, block=32, device=device, options=options)
                    np.testing.assert_array_equal(done[c], want)

    @staticmethod
    def copied(words: int, target: str, source: str, to: str, origin: str, name: str) -> str:
        """All lanes copy that many words."""
        text = ""
        for i in range(0, words, 32):
            n = f"{name}{i}"
            text += f"  %i{n} = const {i} : i64\n  %o{n} = add %lane64, %i{n} : i64\n"
            text += f"  %s{n} = ptr.add {source}, %o{n} x i32 : ptr<{origin}>\n  %w{n} = load i32, %s{n} : ptr<{origin}>\n"
            text += f"  %d{n} = ptr.add {target}, %o{n} x i32 : ptr<{to}>\n  store i32, %w{n}, %d{n} : ptr<{to}>\n"
        return text

    def test_halves_to_workgroup_memory(self) -> None:
        """Results of 16 bits go to workgroup memory by stmatrix where the target has it, over what other lanes have read
        when D is C, and over padding nowhere."""
        shapes = [(16, 8, 16), (16, 16, 16), (16, 24, 8), (48, 24, 32), (32, 56, 16)]
        rng = np.random.default_rng(90)
        formats = (("f16", "f16"), ("f32", "f16"), ("f32", "bf16"))
        cases = itertools.product(shapes, ("row", "col"), (False, True), (("sm_90", True), ("sm_121a", True), ("sm_89", False)))
        for i, ((m, n, k), layout, in_place, (arch, has)) in enumerate(cases):
            acc, stored = formats[i % 3 if i % 4 and m * n < 1200 else 0]  # More float32 is beyond the budget.
            a, b = (rng.integers(-4, 5, (side, 16 + k)).astype(np.float16) for side in (m, n))
            lines, used = (m, n) if layout == "row" else (n, m)
            ld = used + 8 * int(rng.integers(0, 3))
            c = np.full((lines, ld), 0xFFFF, np.uint16)
            added = rng.integers(-9, 10, (lines, used))
            c[:, :used] = halves(stored, added)
            bytes_ = -(-c.nbytes // 128) * 128
            memory = np.full(bytes_ // 2, 0xFFFF, np.uint16)
            memory[: c.size] = c.reshape(-1)
            before = memory if in_place else np.arange(bytes_ // 2).astype(np.uint16)
            home = f"layout_c={layout}, layout_d={layout}, ldc={ld}, ldd={ld}"
            tile = f"tile<{m}x{n}x{acc}>"
            fields = f"a=f16, acc={acc}, lda={16 + k}, ldb={16 + k}"
            text = f"""module "halves"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %before: ptr<global>, %out: ptr<global>) {{
^entry:
  %wa = alloc.workgroup f16[{-(-a.size // 64) * 64}] : ptr<workgroup>
  %wb = alloc.workgroup f16[{-(-b.size // 64) * 64}] : ptr<workgroup>
  %wd = alloc.workgroup f16[{bytes_ // 2}] : ptr<workgroup>
  %lane = subgroup.local_id : i32
  %lane64 = zext %lane : i32 to i64
{self.copied(-(-a.nbytes // 128) * 32, "%wa", "%a", "workgroup", "global", "a")}
{self.copied(-(-b.nbytes // 128) * 32, "%wb", "%b", "workgroup", "global", "b")}
{self.copied(bytes_ // 4, "%wd", "%before", "workgroup", "global", "c")}
  %t = tensor.acc.begin c={"%wd" if in_place else "%c"}, d=%wd {{m{m}n{n}, acc={acc}, result={stored}, {home}}} : {tile}
"""
            text += f"""  %u = tensor.acc.mma tile=%t, a=%wa, b=%wb {{m{m}n{n}k{k}, {fields}}} : {tile}
  tensor.acc.commit %u
{self.copied(bytes_ // 4, "%out", "%wd", "global", "workgroup", "d")}
  ret
}}
"""
            with self.subTest(m=m, n=n, k=k, layout=layout, in_place=in_place, arch=arch, acc=acc, stored=stored):
                out = mtlc_exec.Output(np.uint16, bytes_ // 2)
                padded = [np.resize(x, -(-x.size // 64) * 64) for x in (a, b)]
                result, ptx = self.execute(text, arch, [*padded, memory, before, out])
                product_ = a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T
                want = before.copy()
                view = want[: c.size].reshape(lines, ld)
                view[:, :used] = halves(stored, added + (product_ if layout == "row" else product_.T))
                np.testing.assert_array_equal(result[out], want)
                self.assertEqual("stmatrix" in ptx, has)

    def test_epilogues(self) -> None:
        """Bit for bit: each step rounded, nothing fused, NaN and -0 as ir.md says."""
        rng = np.random.default_rng(7)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, -1e-7, 2.5, -2.5, 60000.0]
        types = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
        codes = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
        biases = ["none", "row", "column", "matrix"]
        for element, bias, activation in itertools.product(types, biases, ("identity", "relu", "clamp")):
            for m, n, layout, scaled in ((16, 8, "row", True), (16, 16, "col", False), (32, 24, "row", True)):
                if element == "f64" and n != 8 and bias == "none":
                    m = 8
                t, wide = types[element], np.float64 if element == "f64" else np.float32
                x = rng.normal(size=(m, n)).astype(t) * t(3)
                x.flat[:: 7] = np.resize(np.array(special, t), x.flat[:: 7].shape)
                shape = {"none": (1,), "row": (m,), "column": (n,), "matrix": (n, m + 3)}[bias]
                y = rng.normal(size=shape).astype(t)
                alpha, beta, lo, hi = 1.1, -0.7, -0.25, 1.3
                floats = [wide(v) for v in (alpha, beta, lo, hi)]
                kind = "f64" if element == "f64" else "f32"
                slots = [] if bias == "none" else ["bias=%bias"]
                if scaled:
                    slots += ["alpha=%alpha"] + ([] if bias == "none" else ["beta=%beta"])
                if activation == "clamp":
                    slots += ["lo=%lo", "hi=%hi"]
                fields = f"m{m}n{n}, element={element}, bias={bias}, activation={activation}"
                if bias == "matrix":
                    fields += f", layout_bias=col, ldbias={m + 3}"
                tile = f"tile<{m}x{n}x{element}>"
                k, a = {"f16": (16, "f16"), "f32": (16, "f16"), "f64": (4, "f64")}[element]
                text = f"""module "epilogue"
kernel @k(%a: ptr<global>, %c: ptr<global>, %d: ptr<global>, %bias: ptr<global>, %alpha: {kind}, %beta: {kind}, %lo: {kind}, %hi: {kind}) {{
^entry:
  %t = tensor.acc.begin c=%c, d=%d {{m{m}n{n}, acc={element}, layout_c=col, layout_d={layout}, ldc={m}}} : {tile}
  %u = tensor.acc.mma tile=%t, a=%a, b=%a {{m{m}n{n}k{k}, a={a}, acc={element}}} : {tile}
  %v = tensor.acc.epilogue tile=%u{"".join(", " + s for s in slots)} {{{fields}}} : {tile}
  tensor.acc.commit %v
  ret
}}
"""
                with self.subTest(element=element, bias=bias, activation=activation, m=m, n=n):
                    zeros = np.zeros(max(m, n) * k, t if a != "f16" else np.float16)
                    d = mtlc_exec.Output(codes[element], (m, n) if layout == "row" else (n, m))
                    arch = "sm_90" if element == "f64" else "sm_80"
                    args = [zeros, np.ascontiguousarray(x.T), d, y, *floats]
                    result, _ = self.execute(text, arch, args)
                    got = result[d] if layout == "row" else result[d].T
                    full = {"none": None, "row": y[:, None] if bias == "row" else None, "column": y,
                            "matrix": y[:, :m].T if bias == "matrix" else None}[bias]  # fmt: skip
                    if full is not None:
                        full = np.broadcast_to(full, (m, n)).astype(t).view(codes[element]).astype(np.uint64)
                    # A sum with zero products: -0 in C becomes +0, or stays where it is alone.
                    source = (x + t(0)).view(codes[element]).astype(np.uint64)
                    want = model.epilogue(
                        element, source, full, alpha if scaled else None, beta if scaled else None, activation, lo, hi)
                    nan = model.is_nan(element, want)
                    np.testing.assert_array_equal(model.is_nan(element, got.astype(np.uint64)), nan)
                    np.testing.assert_array_equal(np.where(nan, 0, got), np.where(nan, 0, want))


if __name__ == "__main__":
    mtlc_testing.main()
