"""tensor.epilogue and tiles on the interpreter, exactly."""

import itertools
import math

import mtlc_exec
import numpy as np
import tensor_model as model
from tensor_product import random_codes

ELEMENTS = ("f16", "bf16", "f32", "f64")
SPECIALS = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0)


def scalar(batch: model.Batch, value: float, element: str) -> str:
    kind = "f64" if element == "f64" else "f32"
    if element == "f64":
        return batch.constant(hex(int(np.float64(value).view(np.uint64))), kind)
    return batch.constant(hex(int(np.float32(value).view(np.uint32))), kind)


def bias_matrix(codes: np.ndarray, mode: str, m: int, n: int) -> np.ndarray:
    if mode == "row":
        return np.repeat(codes.reshape(m, 1), n, axis=1)
    if mode == "column":
        return np.repeat(codes.reshape(1, n), m, axis=0)
    return codes


class Epilogues(mtlc_exec.TestCase):
    passes = ""  # Run before.

    def add(
        self, batch: model.Batch, rng: np.random.Generator, element: str, shape: tuple[int, int], mode: str, activation: str,
        kind: str, alpha: float | None, beta: float | None, bounds: tuple[float, float], *, layout: str = "row",
        bias_layout: str = "row", pads: tuple[int, int] = (0, 0), runtime: bool = False, scope: str = "subgroup",
    ) -> None:  # fmt: skip
        m, n = shape
        d = random_codes(rng, element, shape, kind)
        if kind == "special":  # Each special value, with each bias.
            for i, value in enumerate(SPECIALS):
                d.ravel()[i] = model.encode(element, value)
        size = {"none": (0, 0), "row": (m, 1), "column": (1, n), "matrix": shape}[mode]
        bias = random_codes(rng, element, size, kind)
        lo, hi = bounds
        want = model.epilogue(
            element, d, bias_matrix(bias, mode, m, n) if mode != "none" else None, alpha, beta, activation, lo, hi
        )
        ldd = (n if layout == "row" else m) + pads[0]
        stored = model.store(d, element, layout, ldd)
        expected = model.store(want, element, layout, ldd)
        size = model.SIZES[element][1]
        name = f"{element} {shape} {mode} {activation} {kind} {alpha} {beta} {bounds} {layout} {bias_layout} {pads}"
        operands = {"d": batch.in_place(stored.data, expected.data, name, element, skew=size)}
        fields = [f"m{m}n{n}", f"element={element}", f"layout={layout}", f"bias={mode}", f"activation={activation}"]
        fields.append(f"scope={scope}")
        leading = {"ldd": ldd}
        if mode == "matrix":
            leading["ldbias"] = (n if bias_layout == "row" else m) + pads[1]
            fields.append(f"layout_bias={bias_layout}")
            operands["bias"] = batch.input(model.store(bias, element, bias_layout, leading["ldbias"]).data, skew=size)
        elif mode != "none":
            operands["bias"] = batch.input(model.store(bias, element, "row", bias.shape[1]).data, skew=size)
        for slot, ld in leading.items():
            if runtime:
                operands[slot] = batch.unknown(ld)
            else:
                fields.append(f"{slot}={ld}")
        if alpha is not None:
            operands["alpha"] = scalar(batch, alpha, element)
        if beta is not None and mode != "none":
            operands["beta"] = scalar(batch, beta, element)
        if activation == "clamp":
            operands["lo"], operands["hi"] = scalar(batch, lo, element), scalar(batch, hi, element)
        order = ("d", "ldd", "bias", "ldbias", "alpha", "beta", "lo", "hi")
        text = ", ".join(f"{slot}={operands[slot]}" for slot in order if slot in operands)
        batch.emit(f"tensor.epilogue {text} {{{', '.join(fields)}}}")

    def test_every_mode(self) -> None:
        rng = np.random.default_rng(1)
        batch = model.Batch()
        modes = ("none", "row", "column", "matrix")
        activations = ("identity", "relu", "clamp")
        scalars = (None, 1.0, -0.75, 1 + 2.0**-20)
        for i, (element, mode, activation, kind) in enumerate(
            itertools.product(ELEMENTS, modes, activations, ("any", "special", "extreme"))
        ):
            for j in range(2):
                alpha, beta = scalars[(i + j) % 4], scalars[(i // 4 + 2 * j) % 4] if mode != "none" else None
                layouts = [("row", "col")[int(x)] for x in rng.integers(0, 2, 2)]
                pads = (int(rng.integers(0, 4)), int(rng.integers(0, 4)))
                shape = (int(rng.integers(3, 18)), int(rng.integers(3, 18)))
                self.add(
                    batch, rng, element, shape, mode, activation, kind, alpha, beta, (-0.5, 1.25), layout=layouts[0],
                    bias_layout=layouts[1], pads=pads, runtime=bool(j), scope=("subgroup", "workgroup")[i % 2],
                )  # fmt: skip
        batch.run(self, block=20, passes=self.passes)

    def test_special_scalars(self) -> None:
        """NaN and infinite factors and bounds, bounds in the wrong order, zeros of both signs."""
        rng = np.random.default_rng(2)
        batch = model.Batch()
        for element in ELEMENTS:
            for alpha, beta in itertools.product(SPECIALS, repeat=2):
                self.add(batch, rng, element, (3, 5), "row", "relu", "special", alpha, beta, (0, 0))
            for bounds in itertools.product((*SPECIALS, 0.3), repeat=2):
                self.add(batch, rng, element, (3, 5), "none", "clamp", "special", None, None, bounds)
        batch.run(self, passes=self.passes)


class Tiles(mtlc_exec.TestCase):
    """Chains of operations on a tile give what the same operations give one by one."""

    passes = ""
    kind = "any"

    def chain(self, batch: model.Batch, rng: np.random.Generator, a: str, acc: str, home_is_c: bool, layout: str) -> None:
        m, n = 16, 8
        c = random_codes(rng, acc, (m, n), self.kind)
        ldd = (n if layout == "row" else m) + 8
        want = c
        steps = []
        for k in (16, 5, 32):
            left, right = random_codes(rng, a, (m, k), self.kind), random_codes(rng, a, (k, n), self.kind)
            if acc == "i32":
                want = model.multiply_integers(model.decode(a, left), model.decode(a, right), want)
            elif acc == "f64":
                want = model.multiply_f64(model.decode(a, left), model.decode(a, right), want, "nearest")
            else:
                want = model.multiply_floats(model.decode(a, left), model.decode(a, right), want, acc, acc)
            steps.append((k, left, right))
            if acc != "i32" and k == 5:
                want = model.epilogue(acc, want, None, 0.5, None, "relu")
        expected = model.store(want, acc, layout, ldd).data
        name = f"tile {a} {acc} {home_is_c} {layout}"
        nan = acc if acc in model.FLOATS else None
        stored = model.store(c, acc, layout, ldd)
        if home_is_c:
            home = c_pointer = batch.in_place(stored.data, expected, name, nan)
        else:
            c_pointer = batch.input(model.store(c, acc, "row", n).data)
            home = batch.output(expected, name, nan)
        c_fields = f"layout_c={layout}, ldc={ldd}" if home_is_c else "layout_c=row"
        tile_type = f"tile<{m}x{n}x{acc}>"
        tile = batch.fresh()
        batch.emit(
            f"{tile} = tensor.acc.begin c={c_pointer}, d={home}, ldd={batch.unknown(ldd)} "
            f"{{m{m}n{n}, acc={acc}, {c_fields}, layout_d={layout}}} : {tile_type}"
        )
        dense = a in model.DENSE
        per = 128 // (model.SIZES[a][0] if dense else model.SIZES[a][1] * 8)
        for k, left, right in steps:
            ld = -(-k // per) * per
            pa = batch.input(model.store(left, a, "row", ld, dense=dense, fill=rng).data)
            pb = batch.input(model.store(right, a, "col", ld, dense=dense, fill=rng).data)
            after = batch.fresh()
            batch.emit(
                f"{after} = tensor.acc.mma tile={tile}, a={pa}, b={pb} {{m{m}n{n}k{k}, a={a}, acc={acc}, lda={ld}, "
                f"ldb={ld}}} : {tile_type}"
            )
            tile = after
            if acc != "i32" and k == 5:
                after = batch.fresh()
                batch.emit(
                    f"{after} = tensor.acc.epilogue tile={tile}, alpha={scalar(batch, 0.5, acc)} "
                    f"{{m{m}n{n}, element={acc}, activation=relu}} : {tile_type}"
                )
                tile = after
        batch.emit(f"tensor.acc.commit {tile}")

    def test_chains(self) -> None:
        rng = np.random.default_rng(3)
        batch = model.Batch()
        pairs = (("f16", "f16"), ("f16", "f32"), ("tf32", "f32"), ("e5m2", "f32"), ("f64", "f64"), ("i8", "i32"), ("i4", "i32"))
        for (a, acc), home_is_c, layout in itertools.product(pairs, (False, True), ("row", "col")):
            self.chain(batch, rng, a, acc, home_is_c, layout)
        batch.run(self, passes=self.passes)

    def test_loop(self) -> None:
        """A tile that goes round a loop, once for each of four chunks of K; two subgroups, each with its own home."""
        rng = np.random.default_rng(4)
        a = random_codes(rng, "f16", (32, 64), "integers")
        b = random_codes(rng, "f16", (64, 8), "integers")
        want = model.decode("f16", a) @ model.decode("f16", b)
        source = mtlc_exec.write_source(
            "loop.mtir",
            """module "loop"
kernel @k(%a: ptr<global>, %b: ptr<global>, %c: ptr<global>, %d: ptr<global>) {
^entry:
  %t = gpu.thread_id x : i32
  %five = const 5 : i32
  %s = lshr %t, %five : i32
  %lane0 = const 0 : i32
  %own = subgroup.broadcast %s, %lane0 : i32
  %own64 = zext %own : i32 to i64
  %rows = const 1024 : i64
  %tile = const 128 : i64
  %oa = mul %own64, %rows : i64
  %od = mul %own64, %tile : i64
  %pa = ptr.add %a, %oa x i16 : ptr<global>
  %pd = ptr.add %d, %od x f32 : ptr<global>
  %pc = ptr.add %c, %od x f32 : ptr<global>
  %zero = const 0 : i64
  %step = const 16 : i64
  %end = const 64 : i64
  %t0 = tensor.acc.begin c=%pc, d=%pd {m16n8, acc=f32} : tile<16x8xf32>
  jump ^loop(%zero, %t0)
^loop(%i: i64, %now: tile<16x8xf32>):
  %qa = ptr.add %pa, %i x i16 : ptr<global>
  %qb = ptr.add %b, %i x i16 : ptr<global>
  %next = tensor.acc.mma tile=%now, a=%qa, b=%qb {m16n8k16, a=f16, acc=f32, lda=64, ldb=64} : tile<16x8xf32>
  %j = add %i, %step : i64
  %more = cmp.ult %j, %end : i64
  br %more, ^loop(%j, %next), ^exit
^exit:
  tensor.acc.commit %next
  ret
}
""",
        )
        d = mtlc_exec.Output(np.float32, (32, 8))
        arguments = [a.astype(np.uint16), b.T.astype(np.uint16), np.zeros((32, 8), np.float32), d]
        source = model.run_passes(self, source, self.passes)
        result = self.launch(source, "k", arguments, device="interp", block=64)
        self.assert_same(result[d], want.astype(np.float32))


if __name__ == "__main__":
    mtlc_exec.main()
