"""tensor-legalize: tensor operations as scalar code, and as native products with guards and edges, give what the operations
themselves give: exactly where that is promised, and within the bound of docs/ir.md elsewhere. A native form is a synthetic
one, whose products the interpreter executes and whose preconditions it checks."""

import itertools
import os

import mtlc_exec
import numpy as np
import tensor_model as model
from tensor_product import LAYOUTS, PAIRS, Product, results_of, varied

REPLAY = "tensor-legalize"
SIZES = (1, 7, 8, 15, 16, 17, 31, 33, 64)


def native(m: int, n: int, k: int, budget: int = 64, acc: int = 4, a: int = 4, b: int = 2, *, places: bool = True) -> str:
    form = f"form-m={m},form-n={n},form-k={k},acc-registers={acc},a-registers={a},b-registers={b},coordinates={int(places)}"
    return f"tensor-legalize{{{form},budget={budget}}}"


NATIVES = (
    native(16, 8, 16), native(8, 8, 4, budget=14), native(16, 16, 16, acc=8, a=8, b=8, places=False), native(8, 32, 32, budget=20),
)  # fmt: skip


class Legalized(mtlc_exec.TestCase):
    def batch(self, products: list[Product], seed: int, *, matmul: bool, passes: str = REPLAY, **launch) -> None:
        rng = np.random.default_rng(seed)
        batch = model.Batch()
        for p in products:
            p.add(batch, rng, matmul=matmul)
        batch.run(self, passes=passes, exact=False, **launch)

    def test_every_pair(self) -> None:
        for matmul in (True, False):
            rng = np.random.default_rng(3)
            products = []
            for pair in PAIRS:
                kinds = ["integers", "any"]
                if pair[0] in model.FLOATS and pair[0] != "f64":
                    kinds += ["extreme", "special"]
                for result, kind in itertools.product(results_of(pair[2]), kinds):
                    products.append(varied(rng, 9, 7, 19, pair, result=result, kind=kind))
            self.batch(products, 3, matmul=matmul)

    def test_shapes(self) -> None:
        rng = np.random.default_rng(1)
        shapes = [(19, 23, 21), (17, 9, 33), (24, 40, 17), (1, 1, 1), (16, 8, 0), (33, 64, 65)]
        shapes += [tuple(rng.choice(SIZES, 3).tolist()) for _ in range(2 * len(PAIRS))]
        self.batch([varied(rng, *s, PAIRS[i % len(PAIRS)]) for i, s in enumerate(shapes)], 1, matmul=True)
        shapes = [s for s in shapes if s[2] > 0]
        self.batch([varied(rng, *s, PAIRS[i % len(PAIRS)]) for i, s in enumerate(shapes)], 2, matmul=False)

    def test_layouts(self) -> None:
        rng = np.random.default_rng(4)
        products = []
        for pair, dense in ((PAIRS[1], False), (("e2m3", "e3m2", "f32", "multiply_add"), True),
                            (("i4", "u4", "i32", "multiply_add"), True), (PAIRS[-1], True)):  # fmt: skip
            for layouts, ta, tb in itertools.product(LAYOUTS[:: 1 if dense else 3], (False, True), (False, True)):
                more = {"layouts": layouts, "transpose_a": ta, "transpose_b": tb, "dense": (dense, dense)}
                products.append(varied(rng, 6, 5, 11, pair, in_place=False, **more))
        self.batch(products, 4, matmul=True)

    def test_empty_sums(self) -> None:
        """K = 0 copies C, NaN payloads and all; nothing is left of what is out of range."""
        rng = np.random.default_rng(5)
        for passes in (REPLAY, NATIVES[0]):
            batch = model.Batch()
            for pair in PAIRS:
                p = varied(rng, 9, 5, 0, pair, kind="special", in_place=False)
                p.add(batch, rng, matmul=True)
                batch.expectations[-1].nan_format = None
            batch.run(self, passes=passes)

    def test_regions_known_to_be_empty(self) -> None:
        """Constant origins at and beyond the problem's end, and problems without rows, columns or terms: D stays as it is, or is C."""
        lines = []
        for origin, size in itertools.product(((8, 0), (0, 9), (100, 100), (0, 0)), ((7, 9, 5), (0, 9, 5), (7, 0, 5), (7, 9, 0))):
            values = dict(zip(("row", "col", "m", "n", "k"), (*origin, *size)))
            for slot, v in values.items():
                lines.append(f"%{slot}{len(lines)} = const {v} : i32")
            slots = ", ".join(f"{slot}=%{slot}{len(lines) - 5 + i}" for i, slot in enumerate(values))
            empty = origin != (0, 0) or 0 in size[:2]
            d = "%never" if empty else "%d"
            if empty or size[2] == 0:
                lines.append(f"tensor.matmul a=%a, b=%b, c=%c, d={d}, {slots} "
                             "{m8n16k16, a=f16, acc=f32, lda=16, ldb=16, ldc=9, ldd=9}")  # fmt: skip
        body = "\n".join(f"  {line}" for line in lines)
        source = mtlc_exec.write_source("empty.mtir", f"""module "empty"

kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %d: ptr<global>, %never: ptr<global>) {{
^entry:
{body}
  ret
}}
""")
        c = np.arange(63, dtype=np.float32).reshape(7, 9)
        for passes in ("", REPLAY, *NATIVES[:2]):
            with self.subTest(passes=passes):
                d, never = mtlc_exec.Output(np.float32, (7, 9)), mtlc_exec.InOut(np.full(8, np.nan, np.float32))
                half = np.full(512, np.nan, np.float16)
                path = model.run_passes(self, source, passes)
                result = self.launch(path, "k", [half, half, c, d, never], device="interp", block=32)
                np.testing.assert_array_equal(result[d], c)
                self.assertTrue(np.isnan(result[never]).all())

    def test_tails_with_poisoned_surroundings(self) -> None:
        """BC-39: a row of NaN next to one of ones, K of 33; each B[k, j] and A[i, k] arrives where it belongs."""
        one, nan = 0x3C00, 0x7E00
        a = np.array([[one] * 33, [nan] * 33], np.uint64)
        b, c = np.full((33, 1), one, np.uint64), np.zeros((2, 1), np.uint64)
        products = []
        for la, lb, ta, pad in itertools.product(("row", "col"), ("row", "col"), (False, True), (0, 7)):
            more = {"layouts": (la, lb, "row", "row"), "transpose_a": ta, "pads": (pad, pad, 5, 5), "given": (a, b, c)}
            products.append(Product(2, 1, 33, **more))
        self.batch(products, 12, matmul=True)
        self.assertEqual(products[0].want.tolist(), [[model.encode("f32", 33.0)], [model.nan_code("f32")]])
        a = np.array([[model.encode("f16", 16.0 * i + k) for k in range(16)] for i in range(16)], np.uint64)
        b = np.array([[one if k == j else 0 for j in range(16)] for k in range(16)], np.uint64)
        units = [
            Product(16, 16, 16, layouts=(la, lb, "row", "row"), transpose_a=ta, transpose_b=tb, kind="integers",
                    given=(a, b, np.zeros((16, 16), np.uint64)))
            for la, lb, ta, tb in itertools.product(("row", "col"), ("row", "col"), (False, True), (False, True))
        ]  # fmt: skip
        for matmul, passes in itertools.product((False, True), (REPLAY, NATIVES[0])):
            self.batch(units, 13, matmul=matmul, passes=passes)
        np.testing.assert_array_equal(model.decode("f32", units[0].want), np.arange(256.0).reshape(16, 16))

    def scaled(self, seed: int, shape: tuple[int, int], ks: tuple[int, ...]) -> list[Product]:
        rng = np.random.default_rng(seed)
        products = []
        modes = list(itertools.product(("none", "tensor", "block16", "block32"), repeat=2))[1:]
        formats = list(itertools.product(("ue8m0", "ue4m3"), repeat=2))
        pairs = [p for p in PAIRS if p[0] in model.FLOATS and p[0] != "f64"]
        for i, (scales, scale_formats) in enumerate(itertools.product(modes, formats)):
            for kind, nan in (("any", False), ("integers", False), ("extreme", False), ("any", True)):
                pair = pairs[(3 * i + len(products)) % len(pairs)]
                more = {"scales": scales, "scale_formats": scale_formats, "kind": kind, "nan_scale": nan}
                products.append(varied(rng, *shape, ks[i % len(ks)], pair, **more))
        return products

    def test_scales(self) -> None:
        for matmul in (True, False):
            self.batch(self.scaled(6, (5, 6), (37, 64, 16, 1, 70)), 6, matmul=matmul)
        rng = np.random.default_rng(6)
        pair = ("e2m1", "e4m3", "f32", "multiply_add")
        self.batch([varied(rng, 19, 23, 67, pair, scales=("block32", "block16"), kind="integers")], 6, matmul=True)

    def sparse(self, seed: int, m: int, n: int, extra: int) -> list[Product]:
        rng = np.random.default_rng(seed)
        products = []
        for sparsity, group in list(model.GROUPS.items())[1:]:
            for i, pair in enumerate(p for p in PAIRS if p[0] != "b1"):
                # With 20 rows and 4 groups, all 70 masks of 4:8; the last group may be short.
                k = extra + 4 * group - i % group
                scales = ("block16", "none") if pair[2] == "f32" and i % 3 == 0 else ("none", "none")
                products.append(varied(rng, m, n, k, pair, sparsity=sparsity, scales=scales))
        return products

    def test_sparse(self) -> None:
        for matmul in (True, False):
            self.batch(self.sparse(7, 20, 3, 0), 7, matmul=matmul)
        rng = np.random.default_rng(7)
        self.batch([varied(rng, 19, 23, 19, PAIRS[1], sparsity="structured_2_to_4", kind="integers")], 7, matmul=True)

    def test_wrong_masks(self) -> None:
        """They count as one with the low half set; nothing is read out of bounds."""
        rng = np.random.default_rng(7)
        modes = [(s, PAIRS[i]) for i, s in enumerate(list(model.GROUPS)[1:], 1)]
        products = [varied(rng, 20, 3, k, pair, sparsity=s, bad_masks=True) for k in (16, 13) for s, pair in modes]
        self.batch(products, 7, matmul=True)

    def test_saturation(self) -> None:
        rng = np.random.default_rng(9)
        products = []
        for pair in (p for p in PAIRS if p[2] == "i32"):
            for overflow in ("wrap", "saturate"):
                products.append(varied(rng, 8, 8, 33, pair, overflow=overflow, kind="any"))
        self.batch(products, 9, matmul=True)
        self.batch(products, 9, matmul=False)
        for passes in (native(8, 8, 16), native(8, 8, 32)):  # One native step, and two.
            products = [varied(rng, 8, 16, 32, p, overflow="saturate") for p in PAIRS if p[2] == "i32"]
            self.batch(products, 9, matmul=False, passes=passes)
            self.batch(products, 9, matmul=True, passes=passes)

    def test_rounding_of_f64(self) -> None:
        """Fused multiply-adds toward zero, down and up, bit for bit."""
        rng = np.random.default_rng(8)
        modes = ("toward_zero", "down", "up")
        kinds = ("any", "extreme", "integers")
        products = [varied(rng, 6, 5, 9, PAIRS[4], rounding=m, kind=k) for m, k in itertools.product(modes, kinds)]
        # One step of operands that cancel, underflow, overflow, or leave a sticky bit far below.
        def special(shape: tuple[int, int]) -> np.ndarray:
            exponent = rng.choice([0, 1, 2, 500, 511, 512, 970, 1000, 1022, 1023, 1024, 1025, 1076, 1535, 2045, 2046], shape)
            fraction = rng.choice([0, 1, 2, 3, (1 << 52) - 1, (1 << 52) - 2, 1 << 51, (1 << 51) + 1, 0x9E3779B97F4A7], shape)
            sign = rng.integers(0, 2, shape, dtype=np.uint64)
            return (sign << np.uint64(63)) | (exponent.astype(np.uint64) << np.uint64(52)) | fraction.astype(np.uint64)

        for mode in modes:
            a, b, c = special((40, 1)), special((1, 40)), special((40, 40))
            near = model.decode("f64", a) * model.decode("f64", b)  # Where they nearly, or wholly, cancel.
            codes = (-near).view(np.uint64) + rng.integers(-2, 3, near.shape).astype(np.uint64)
            codes = np.where(np.isfinite(near) & np.isfinite(codes.view(np.float64)), codes, c)
            for addend in (c, codes, np.zeros_like(c), np.full_like(c, 1 << 63)):
                products.append(Product(40, 40, 1, *PAIRS[4][:3], "f64", rounding=mode, given=(a, b, addend), region=(64, 64)))
        self.batch(products, 8, matmul=True)

    def test_workgroup_scope(self) -> None:
        rng = np.random.default_rng(10)
        products = [varied(rng, 17, 9, 20, pair, scope="workgroup") for pair in PAIRS]
        self.batch(products, 10, matmul=True, block=40)  # The last subgroup is partial.
        self.batch(products, 10, matmul=False, block=64)
        products = [varied(rng, 32, 32, 32, pair, scope="workgroup", skew=0) for pair in PAIRS]
        for turn, passes in enumerate(NATIVES):
            self.batch(products[turn::4], 10, matmul=True, block=96, passes=passes)
            self.batch(products[turn::9], 10, matmul=True, block=48, passes=passes)
            self.batch(products[turn::4], 10, matmul=False, block=64, passes=passes)

    def test_subgroup_sizes(self) -> None:
        rng = np.random.default_rng(11)
        products = [varied(rng, 8, 9, 20, pair) for pair in PAIRS[:8]]
        for size, passes in itertools.product((8, 16, 64), (REPLAY, NATIVES[1])):
            self.batch(products, 11, matmul=False, block=size, options=(f"--subgroup-size={size}",), passes=passes)
        for block in (1, 5, 20, 31):
            self.batch(products, 11, matmul=True, block=block)
            self.batch(products, 11, matmul=True, block=block, passes=NATIVES[1])

    def test_native_is_taken(self) -> None:
        """Regions that are inside, aligned and whole leave nothing to scalar code, which would take far more steps."""
        rng = np.random.default_rng(30)
        for (scope, block), first in zip((("subgroup", 32), ("workgroup", 64)), (0, 1)):
            for pair in PAIRS[first::8]:
                more = {"result": results_of(pair[2])[0], "pads": (0,) * 4, "skew": 0, "region": (32, 64), "scope": scope}
                more |= {"layouts": ("row", "col", *LAYOUTS[rng.integers(0, 16)][2:]), "transpose_a": False}
                p = varied(rng, 32, 64, 256, pair, transpose_b=False, overflow="wrap", **more)
                for matmul in (True, False):
                    self.batch([p], 30, matmul=matmul, passes=NATIVES[0], block=block, options=("--max-steps=2500",))

    def test_native_sparsity_is_taken(self) -> None:
        """In a loop along K, too, where rows of metadata are longer than a step."""
        rng = np.random.default_rng(32)
        for sparsity, pair in zip(list(model.GROUPS)[1:], PAIRS[:3]):
            more = {"result": results_of(pair[2])[0], "pads": (0,) * 4, "skew": 0, "region": (32, 64), "sparsity": sparsity}
            more |= {"layouts": ("row", "col", "row", "col"), "transpose_a": False, "transpose_b": False}
            for k, matmul in itertools.product((256, 512), (True, False)):
                p = varied(rng, 32, 64, k, pair, **more)
                self.batch([p], 32, matmul=matmul, passes=NATIVES[0], options=("--max-steps=2500",))

    def test_narrow_results_are_rounded_once(self) -> None:
        """Natively where no terms are left over; there few steps do."""
        rng = np.random.default_rng(31)
        floats = [p for p in PAIRS if p[2] == "f32"]
        for first, result, (scope, block) in zip((0, 1), ("f16", "bf16"), (("subgroup", 32), ("workgroup", 64))):
            more = {"result": result, "pads": (0,) * 4, "skew": 0, "region": (32, 64), "scope": scope}
            for pair in floats[first::9]:
                more |= {"layouts": ("row", "col", *LAYOUTS[rng.integers(0, 16)][2:])}
                p = varied(rng, 32, 64, 256, pair, transpose_a=False, transpose_b=False, **more)
                for matmul in (True, False):
                    self.batch([p], 31, matmul=matmul, passes=NATIVES[0], block=block, options=("--max-steps=2500",))
            for k, passes in zip((31, 64, 71, 80), NATIVES):
                products = [varied(rng, 40, 64, k, pair, **more, transpose_a=False) for pair in floats[first::6]]
                self.batch(products, 31, matmul=True, passes=passes, block=block)
                whole = {**more, "layouts": ("row", "col", "row", "col"), "transpose_b": False}
                products = [varied(rng, 32, 32, k, pair, **whole, transpose_a=False) for pair in floats[first::6]]
                self.batch(products, 31, matmul=k % 16 != 0, passes=passes, block=block)

    def test_native_shapes(self) -> None:
        rng = np.random.default_rng(20)
        for turn, passes in enumerate(NATIVES):
            products = []
            for pair in PAIRS[turn % 2 :: 2]:
                shape = [int(rng.choice(c)) for c in ((16, 32), (16, 32, 64), (16, 32, 48, 64, 160))]
                products.append(varied(rng, *shape, pair, result=results_of(pair[2])[0]))
            self.batch(products, 20, matmul=False, passes=passes)
            # Aligned regions inside, and on the border; multiples of a step and not.
            products = []
            for i, pair in enumerate(PAIRS):
                pads = (0, 0, 0, 0) if i % 3 else (8, 16, 4, 4)
                shape = (int(rng.choice((32, 40))), int(rng.choice((32, 40, 64))), int(rng.choice((32, 64, 71, 128, 130))))
                region = ((32, 32), (16, 64), (64, 16), (16, 8))[(i + turn) % 4]
                more = {"result": results_of(pair[2])[0], "pads": pads, "skew": 0, "region": region}
                products.append(varied(rng, *shape, pair, **more))
            self.batch(products[1 - turn % 2 :: 2], 21, matmul=True, passes=passes)

    def test_native_scales_and_sparsity(self) -> None:
        for turn, passes in enumerate(NATIVES):
            self.batch(self.scaled(22, (16, 32), (64, 75))[turn::8], 22, matmul=True, passes=passes)
            self.batch(self.scaled(23, (16, 32), (64, 160))[turn::8], 23, matmul=False, passes=passes)
            self.batch(self.sparse(24, 16, 32, 48)[turn::4], 24, matmul=True, passes=passes)
            self.batch(self.sparse(25, 16, 32, 48)[turn::4], 25, matmul=False, passes=passes)

    def test_random(self) -> None:
        """Everything drawn by lot: TENSOR_SEED and TENSOR_COUNT in the environment draw others, and more."""
        seed, count = int(os.environ.get("TENSOR_SEED", "0")), int(os.environ.get("TENSOR_COUNT", "60"))
        rng = np.random.default_rng(40 + seed)
        for begin in range(0, count, 60):
            passes = str(rng.choice([REPLAY, *NATIVES]))
            scope = str(rng.choice(["subgroup", "workgroup"]))
            products = [random_product(rng, scope) for _ in range(min(60, count - begin))]
            subgroup = int(rng.choice([8, 16, 32, 64]))
            options = (f"--subgroup-size={subgroup}",)
            block = int(rng.integers(1, subgroup + 1)) if scope == "subgroup" else int(rng.integers(1, 100))
            self.batch(products, seed, matmul=True, passes=passes, block=block, options=options)
            self.batch(products, seed, matmul=False, passes=passes, block=subgroup, options=options)


def random_product(rng: np.random.Generator, scope: str) -> Product:
    pair = PAIRS[rng.integers(0, len(PAIRS))]
    more = {"scope": scope, "rounding": "default"}
    if pair[0] == "f64":
        more["rounding"] = str(rng.choice(["default", "toward_zero", "down", "up"]))
    if pair[0] != "b1" and rng.random() < 0.3:
        more["sparsity"] = str(rng.choice(list(model.GROUPS)))
    if pair[2] == "f32" and rng.random() < 0.4:
        modes = ["none", "tensor", "block16", "block32"]
        more["scales"] = (str(rng.choice(modes)), str(rng.choice(modes)))
        more["scale_formats"] = (str(rng.choice(["ue8m0", "ue4m3"])), str(rng.choice(["ue8m0", "ue4m3"])))
    if rng.random() < 0.5:  # Shapes and storage that native products like.
        more |= {"pads": (0,) * 4, "skew": 0, "region": (int(rng.choice([16, 32])), int(rng.choice([16, 32])))}
        shape = [int(rng.choice([16, 32])), int(rng.choice([16, 32])), int(rng.choice([16, 32, 64, 96]))]
    else:
        shape = [int(x) for x in rng.integers(1, (24, 24, 50))]
    return varied(rng, *shape, pair, **more)


if __name__ == "__main__":
    mtlc_exec.main()
