"""Whole products as PTX on the simulator: native where the architecture has a form, with guards and edges around it, and
scalar code elsewhere, against the exact model."""

import itertools

import mtlc_exec
import numpy as np
import tensor_model as model
from tensor_product import LAYOUTS, PAIRS, Product, results_of, varied


class Products(mtlc_exec.TestCase):
    def batch(self, products: list[Product], arch: str, *options: str, matmul: bool, block: int = 32) -> None:
        rng = np.random.default_rng(1)
        batch = model.Batch()
        for p in products:
            p.add(batch, rng, matmul=matmul)
        arguments = (f"--gpu-arch={arch}", "--tensor-fallback=replay", *options)
        batch.run(self, exact=False, device="sim", block=block, options=arguments)

    def test_every_pair(self) -> None:
        for arch, matmul in itertools.product(("sm_75", "sm_90"), (True, False)):
            rng = np.random.default_rng(2)
            self.batch([varied(rng, 9, 7, 19, pair) for pair in PAIRS], arch, matmul=matmul)

    def test_tails(self) -> None:
        rng = np.random.default_rng(3)
        floats = [p for p in PAIRS if p[2] == "f32"]
        for block in (5, 20, 32):
            products = [varied(rng, 19, 23, 21, pair) for pair in PAIRS[block % 4 :: 4]]
            products += [varied(rng, 19, 23, 67, pair, scales=("block32", "block16")) for pair in floats[block % 7 :: 7]]
            products += [varied(rng, 19, 23, 19, pair, sparsity="structured_2_to_4") for pair in floats[block % 6 :: 6]]
            self.batch(products, "sm_75", matmul=True, block=block)

    def test_rounding_of_f64(self) -> None:
        rng = np.random.default_rng(4)
        modes = itertools.product(("toward_zero", "down", "up"), ("any", "extreme", "integers"))
        self.batch([varied(rng, 6, 5, 9, PAIRS[4], rounding=m, kind=k) for m, k in modes], "sm_75", matmul=True)

    def test_regions(self) -> None:
        """Inside and on the border of the problem, aligned and not, with whole chunks of K and without."""
        for arch, seed in (("sm_75", 5), ("sm_80", 6), ("sm_90", 7), ("sm_120a", 8)):
            rng = np.random.default_rng(seed)
            products = []
            for i, pair in enumerate(PAIRS[seed % 2 :: 2]):
                shape = [int(rng.choice(c)) for c in ((32, 40), (32, 40, 64), (32, 64, 71, 128, 130))]
                more = {"result": results_of(pair[2])[0], "region": ((32, 32), (16, 64), (16, 16), (16, 8))[i % 4]}
                more |= {"pads": (0, 0, 0, 0) if i % 3 else (8, 16, 4, 4), "skew": 0 if i % 5 else 1, "overflow": "wrap"}
                if i % 2:
                    more |= {"layouts": ("row", "col", *LAYOUTS[i % 16][2:]), "transpose_a": False, "transpose_b": False}
                products.append(varied(rng, *shape, pair, **more))
            self.batch(products, arch, matmul=True)

    def test_sparse_steps(self) -> None:
        """Sparse A with many steps along K, whole ones and not; rows of metadata are as long as K."""
        pairs = [("f16", "f16", "f32", "multiply_add"), ("bf16", "bf16", "f32", "multiply_add"), ("f16", "f16", "f16", "multiply_add")]
        for i, arch in enumerate(("sm_89", "sm_90", "sm_121a")):
            rng = np.random.default_rng(60 + i)
            for matmul in (True, False):
                products = []
                for j, (pair, k) in enumerate(itertools.product(pairs, (32, 64, 96, 128, 131, 160, 512))):
                    more = {"sparsity": "structured_2_to_4", "skew": 0, "pads": (0, 0, 0, 0), "bad_masks": False}
                    more |= {"region": ((32, 16), (16, 64), (16, 8))[j % 3], "result": results_of(pair[2])[(i + j) % len(results_of(pair[2]))]}
                    more |= {"layouts": (("row", "col", "row", "row"), ("row", "col", "col", "row"), LAYOUTS[j % 16])[j % 3]}
                    if j % 3 < 2:
                        more |= {"transpose_a": False, "transpose_b": False}
                    shape = (32, 32) if matmul is False or j % 4 else (40, 24)
                    products.append(varied(rng, *shape, k, pair, **more))
                self.batch(products, arch, matmul=matmul)

    def test_narrow_results(self) -> None:
        """Sums of float32 stored as f16 or bf16: whole steps in registers, anything else as scalar code, always rounded once."""
        floats = [p for p in PAIRS if p[2] == "f32"]
        for i, (arch, result) in enumerate(itertools.product(("sm_80", "sm_89", "sm_90", "sm_120a"), ("f16", "bf16"))):
            rng = np.random.default_rng(20 + i)
            products = []
            for j, pair in enumerate(floats[i % 4 :: 4] + [p for p in floats if p[0] in ("f16", "bf16", "tf32")]):
                shape = [int(rng.choice(c)) for c in ((32, 40), (32, 40, 64), (32, 64, 71, 128))]
                more = {"result": result, "region": ((32, 32), (16, 64), (16, 16), (16, 8))[j % 4], "skew": 0}
                more |= {"pads": (0, 0, 0, 0), "layouts": ("row", "col", *LAYOUTS[(3 * i + j) % 16][2:])}
                more |= {"transpose_a": False, "transpose_b": False, "scope": ("subgroup", "workgroup")[j % 5 == 4]}
                products.append(varied(rng, *shape, pair, **more))
            self.batch(products, arch, matmul=True)
            self.batch([varied(rng, 32, 16, 64, pair, **more) for pair in floats[i % 7 :: 7]], arch, matmul=False)

    def test_workgroups(self) -> None:
        rng = np.random.default_rng(9)
        products = [varied(rng, 32, 32, 32, pair, scope="workgroup", skew=0) for pair in PAIRS[::3]]
        for block in (40, 96):
            self.batch(products, "sm_80", matmul=True, block=block)
        self.batch(products, "sm_80", matmul=False, block=64)

    def test_small_budgets(self) -> None:
        """Tiles are cut until they fit; below one native product all is scalar code."""
        rng = np.random.default_rng(10)
        more = {"layouts": ("row", "col", "row", "row"), "transpose_a": False, "transpose_b": False}
        products = [varied(rng, 64, 64, 64, PAIRS[1], result="f32", **more)]
        for budget in (16, 32, 48, 96):
            for matmul in (True, False):
                self.batch(products, "sm_80", f"--tensor-tuple-budget={budget}", matmul=matmul)


if __name__ == "__main__":
    mtlc_exec.main()
