"""tensor.mma and tensor.matmul: on the interpreter exactly, and in the scalar code of SPIR-V on the simulator within ir.md's bound."""

import itertools

import mtlc_exec
import numpy as np
import tensor_model as model
from tensor_product import LAYOUTS, PAIRS, Product, results_of, varied

SIZES = (1, 7, 8, 15, 16, 17, 31, 33, 64)


class Products(mtlc_exec.TestCase):
    how: dict[str, object] = {}

    def batch(self, products: list[Product], seed: int, *, matmul: bool, **launch) -> None:
        rng = np.random.default_rng(seed)
        batch = model.Batch()
        for p in products:
            p.add(batch, rng, matmul=matmul)
        batch.run(self, **self.how, **launch)

    def test_matmul_shapes(self) -> None:
        rng = np.random.default_rng(1)
        shapes = list(itertools.product(SIZES, repeat=3))
        products = [varied(rng, *shape, PAIRS[i % len(PAIRS)]) for i, shape in enumerate(rng.permutation(shapes).tolist())]
        for i in range(0, len(products), 120):
            self.batch(products[i : i + 120], i, matmul=True)

    def test_mma_shapes(self) -> None:
        rng = np.random.default_rng(2)
        shapes = [tuple(rng.choice(SIZES, 3).tolist()) for _ in range(4 * len(PAIRS))]
        shapes += [(size,) * 3 for size in SIZES]
        self.batch([varied(rng, *s, PAIRS[i % len(PAIRS)]) for i, s in enumerate(shapes)], 2, matmul=False)

    def test_every_pair(self) -> None:
        """Each pair of formats, each format of results, all kinds of values, in both operations."""
        for matmul in (True, False):
            rng = np.random.default_rng(3)
            products = []
            for pair in PAIRS:
                kinds = ["integers", "any", "extreme"]
                if pair[0] in model.FLOATS and pair[0] != "f64":
                    kinds.append("special")
                for result, kind in itertools.product(results_of(pair[2]), kinds):
                    more = {"overflow": "wrap"} if pair[2] != "i32" else {}
                    products.append(varied(rng, 9, 7, 19, pair, result=result, kind=kind, **more))
            self.batch(products, 3, matmul=matmul)

    def test_layouts(self) -> None:
        for matmul in (True, False):
            rng = np.random.default_rng(4)
            products = []
            for pair, dense in ((PAIRS[1], False), (("e2m3", "e3m2", "f32", "multiply_add"), True),
                                (("i8", "u8", "i32", "multiply_add"), False), (("i4", "u4", "i32", "multiply_add"), True)):  # fmt: skip
                for layouts, ta, tb in itertools.product(LAYOUTS, (False, True), (False, True)):
                    more = {"layouts": layouts, "transpose_a": ta, "transpose_b": tb, "dense": (dense, dense)}
                    products.append(varied(rng, 6, 5, 11, pair, in_place=False, **more))
            self.batch(products, 4, matmul=matmul)

    def test_empty_sums(self) -> None:
        """K = 0 copies C, NaN payloads and all; nothing is left of what is out of range."""
        rng = np.random.default_rng(5)
        products = [varied(rng, 9, 5, 0, pair, kind="special", in_place=False) for pair in PAIRS]
        batch = model.Batch()
        for p in products:
            p.add(batch, rng, matmul=True)
            batch.expectations[-1].nan_format = None
        batch.run(self, **self.how)

    def test_tails_with_poisoned_surroundings(self) -> None:
        """BC-39: a row of NaN next to one of ones, K of 33; each B[k, j] and A[i, k] arrives where it belongs."""
        one, nan = 0x3C00, 0x7E00
        a = np.array([[one] * 33, [nan] * 33], np.uint64)
        b, c = np.full((33, 1), one, np.uint64), np.zeros((2, 1), np.uint64)
        layouts = list(itertools.product(("row", "col"), repeat=2))
        products = []
        for (la, lb), ta, pad in itertools.product(layouts, (False, True), (0, 7)):
            for given in ((a, b, c), (a[::-1], b, c)):
                more = {"layouts": (la, lb, "row", "row"), "transpose_a": ta, "pads": (pad, pad, 5, 5), "given": given}
                products.append(Product(2, 1, 33, **more))
        self.batch(products, 12, matmul=True)
        self.assertEqual(products[0].want.tolist(), [[model.encode("f32", 33.0)], [model.nan_code("f32")]])
        # A[i, k] = 16 i + k times the unit matrix.
        a = np.array([[model.encode("f16", 16.0 * i + k) for k in range(16)] for i in range(16)], np.uint64)
        b = np.array([[one if k == j else 0 for j in range(16)] for k in range(16)], np.uint64)
        units = [
            Product(16, 16, 16, layouts=(la, lb, "row", "row"), transpose_a=ta, transpose_b=tb, kind="integers",
                    given=(a, b, np.zeros((16, 16), np.uint64)))
            for (la, lb), ta, tb in itertools.product(layouts, (False, True), (False, True))
        ]  # fmt: skip
        for matmul in (False, True):
            self.batch(units, 13, matmul=matmul)
        np.testing.assert_array_equal(model.decode("f32", units[0].want), np.arange(256.0).reshape(16, 16))

    def test_scales(self) -> None:
        for matmul in (True, False):
            rng = np.random.default_rng(6)
            products = []
            modes = list(itertools.product(("none", "tensor", "block16", "block32"), repeat=2))[1:]
            formats = list(itertools.product(("ue8m0", "ue4m3"), repeat=2))
            pairs = [p for p in PAIRS if p[0] in model.FLOATS and p[0] != "f64"]
            for i, (scales, scale_formats) in enumerate(itertools.product(modes, formats)):
                for kind, nan in (("any", False), ("integers", False), ("extreme", False), ("any", True)):
                    pair = pairs[(3 * i + len(products)) % len(pairs)]
                    k = (37, 64, 16, 1, 70)[i % 5]
                    products.append(
                        varied(rng, 5, 6, k, pair, scales=scales, scale_formats=scale_formats, kind=kind, nan_scale=nan)
                    )
            self.batch(products, 6, matmul=matmul)

    def test_sparse(self) -> None:
        for matmul in (True, False):
            rng = np.random.default_rng(7)
            products = []
            for sparsity, group in list(model.GROUPS.items())[1:]:
                for i, pair in enumerate(p for p in PAIRS if p[0] != "b1"):
                    # With 20 rows and 4 groups, all 70 masks of 4:8; the last group may be short.
                    k = 4 * group - i % group
                    scales = ("block16", "none") if pair[2] == "f32" and i % 3 == 0 else ("none", "none")
                    products.append(varied(rng, 20, 3, k, pair, sparsity=sparsity, scales=scales))
            self.batch(products, 7, matmul=matmul)

    def test_rounding_of_f64(self) -> None:
        rng = np.random.default_rng(8)
        modes = ("default", "nearest_even", "toward_zero", "down", "up")
        kinds = ("any", "extreme", "integers")
        products = [varied(rng, 6, 5, 9, PAIRS[4], rounding=m, kind=k) for m, k in itertools.product(modes, kinds)]
        self.batch(products, 8, matmul=True)
        self.batch([varied(rng, 6, 5, 9, PAIRS[4], rounding=mode) for mode in modes], 8, matmul=False)

    def test_saturation(self) -> None:
        rng = np.random.default_rng(9)
        products = []
        for pair in (p for p in PAIRS if p[2] == "i32"):
            for overflow in ("wrap", "saturate"):
                products.append(varied(rng, 8, 8, 33, pair, overflow=overflow, kind="any"))
        self.batch(products, 9, matmul=True)
        self.batch(products, 9, matmul=False)

    def test_workgroup_scope(self) -> None:
        rng = np.random.default_rng(10)
        products = [varied(rng, 17, 9, 20, pair, scope="workgroup") for pair in PAIRS]
        self.batch(products, 10, matmul=True, block=40)  # The last subgroup is partial.
        self.batch(products, 10, matmul=False, block=64)

    def test_subgroup_sizes(self) -> None:
        rng = np.random.default_rng(11)
        products = [varied(rng, 8, 9, 20, pair) for pair in PAIRS[:8]]
        for size in (8, 16, 64):
            self.batch(products, 11, matmul=False, block=size, options=(f"--subgroup-size={size}",))
        self.batch(products, 11, matmul=True, block=5)


class ProductsAsSpirv(Products):
    how = {"device": "spirv", "exact": False}


if __name__ == "__main__":
    mtlc_exec.main()
