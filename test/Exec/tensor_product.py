"""Products for tests: operands of all kinds, the text of the operation, and what it gives."""

import dataclasses
import itertools
import math
from dataclasses import dataclass

import numpy as np
import tensor_model as model

NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
# A, B, accumulator, math: all that ir.md allows.
PAIRS = [
    ("f16", "f16", "f16", "multiply_add"),
    ("f16", "f16", "f32", "multiply_add"),
    ("bf16", "bf16", "f32", "multiply_add"),
    ("tf32", "tf32", "f32", "multiply_add"),
    ("f64", "f64", "f64", "multiply_add"),
    *[(a, b, "f32", "multiply_add") for a in NARROW for b in NARROW],
    *[(a, b, "i32", "multiply_add") for a in ("i8", "u8") for b in ("i8", "u8")],
    *[(a, b, "i32", "multiply_add") for a in ("i4", "u4") for b in ("i4", "u4")],
    ("b1", "b1", "i32", "xor_popcount"),
    ("b1", "b1", "i32", "and_popcount"),
]


LAYOUTS = list(itertools.product(("row", "col"), repeat=4))


def results_of(acc: str) -> list[str]:
    return ["f32", "f16", "bf16"] if acc == "f32" else [acc]


def random_codes(rng: np.random.Generator, name: str, shape: tuple[int, int], kind: str) -> np.ndarray:
    """Codes of finite values: "integers" small ones, "any" of moderate exponents, "extreme" of all, "special" with
    infinities, NaN and zeros among them."""
    bits = model.SIZES[name][0]
    if name not in model.FLOATS:
        codes = rng.integers(0, 1 << min(bits, 62), shape, dtype=np.uint64)
        if name == "i32" and kind == "integers":
            codes = (rng.integers(-1000, 1000, shape) & 0xFFFFFFFF).astype(np.uint64)
        elif name == "i32":  # Near where results wrap.
            near = rng.choice([0, 1 << 31, (1 << 31) - 1], shape) + rng.integers(-3000, 3000, shape)
            codes = (near & 0xFFFFFFFF).astype(np.uint64)
        return codes
    exponent, mantissa, bias, _ = model.FLOATS[name]
    if kind == "integers":
        values = rng.integers(-3, 4, shape).astype(float)
        codes = np.array([[model.encode(name, v) for v in row] for row in values], np.uint64).reshape(shape)
        return codes << np.uint64(13) if name == "tf32" else codes
    # The values of tf32 are float32's, to be rounded.
    low = 13 if name == "tf32" else 0
    e = rng.integers(0, 1 << exponent, shape, dtype=np.uint64)
    if kind != "extreme" and exponent > 5:
        e = rng.integers(bias - 12, bias + 12, shape, dtype=np.uint64)
    m = rng.integers(0, 1 << (mantissa + low), shape, dtype=np.uint64)
    if low:  # Many ties.
        m = np.where(rng.integers(0, 2, shape) == 1, m & ~np.uint64(0x1FFF) | np.uint64(0x1000), m)
    sign = rng.integers(0, 2, shape, dtype=np.uint64)
    codes = (sign << np.uint64(exponent) | e) << np.uint64(mantissa + low) | m
    finite = np.isfinite(model.decode(name, codes))
    codes = np.where(finite, codes, sign << np.uint64(exponent + mantissa + low))
    if kind == "special":
        magnitudes = [0, 0]
        ones = (1 << (exponent + mantissa)) - 1
        if model.FLOATS[name][3] == "ieee":
            magnitudes += [ones >> mantissa << mantissa, (ones >> mantissa << mantissa) + 1, ones]
        elif model.FLOATS[name][3] == "nan":
            magnitudes += [ones]
        chosen = rng.choice(np.array(magnitudes, np.uint64), shape) << np.uint64(low)
        chosen |= sign << np.uint64(exponent + mantissa + low)
        codes = np.where(rng.random(shape) < 0.06, chosen, codes)
        codes = np.where(rng.random(shape) < 0.4, sign << np.uint64(exponent + mantissa + low), codes)
    return codes


def unit(name: str, dense: bool) -> int:
    """Elements that leading dimensions of tensor.mma are multiples of: 16 bytes."""
    bits, size = model.SIZES[name]
    return 128 // math.gcd(128, bits if dense else size * 8)


@dataclass
class Product:
    m: int
    n: int
    k: int
    a: str = "f16"
    b: str = "f16"
    acc: str = "f32"
    result: str = "f32"
    math_mode: str = "multiply_add"
    layouts: tuple[str, str, str, str] = ("row", "col", "row", "row")
    transpose_a: bool = False
    transpose_b: bool = False
    sparsity: str = "dense"
    rounding: str = "default"
    overflow: str = "wrap"
    scales: tuple[str, str] = ("none", "none")
    scale_formats: tuple[str, str] = ("ue8m0", "ue8m0")
    nan_scale: bool = False
    bad_masks: bool = False  # Some masks have the wrong number of bits, and mean the low half.
    dense: tuple[bool, bool] = (False, False)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)  # Added to the least leading dimensions.
    runtime: bool = False  # Leading dimensions are operands.
    in_place: bool = False
    kind: str = "any"
    scope: str = "subgroup"
    region: tuple[int, int] = (16, 16)  # Of tensor.matmul.
    skew: int = 0  # Elements by which the operands of tensor.matmul are off a multiple of 64 bytes.
    given: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # Codes of A, B and C, instead of random ones.

    def __post_init__(self) -> None:
        dense = tuple(d or f in model.DENSE for d, f in zip(self.dense, (self.a, self.b)))
        self.dense = (dense[0], dense[1])

    def __str__(self) -> str:
        default = Product(self.m, self.n, self.k)
        values = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]
        differs = [f"{name}={v}" for name, v in values if name != "given" and v != getattr(default, name)]
        return f"m{self.m}n{self.n}k{self.k} {' '.join(differs)}"

    @property
    def stored_k(self) -> int:
        group = model.GROUPS[self.sparsity]
        return self.k if group == 1 else -(-self.k // group) * (group // 2)

    def least(self) -> tuple[int, int, int, int]:
        """The least leading dimensions of A, B, C, D."""
        by_row = [layout == "row" for layout in self.layouts]
        return (
            self.stored_k if by_row[0] != self.transpose_a else self.m,
            self.n if by_row[1] != self.transpose_b else self.k,
            self.n if by_row[2] else self.m,
            self.n if by_row[3] else self.m,
        )

    # ---- The operands ----

    def make(self, rng: np.random.Generator) -> None:
        """Chooses all values, and computes the result."""
        isfloat = self.a in model.FLOATS
        self.a_codes = random_codes(rng, self.a, (self.m, self.stored_k), self.kind)
        self.b_codes = random_codes(rng, self.b, (self.k, self.n), self.kind)
        self.c_codes = random_codes(rng, self.result, (self.m, self.n), self.kind)
        if self.given:
            self.a_codes, self.b_codes, self.c_codes = self.given
        a = model.decode(self.a, self.a_codes)
        b = model.decode(self.b, self.b_codes)
        there = None
        group = model.GROUPS[self.sparsity]
        self.masks = None
        if group > 1:
            legal = model.all_masks(group)
            count = self.m * -(-self.k // group)
            order = np.array([legal[i % len(legal)] for i in range(count)])
            self.masks = rng.permutation(order).reshape(self.m, -1)
            a, there = model.expand(a, self.masks, group, self.k, a.dtype.type(0))
        self.scale_codes: list[np.ndarray | None] = []
        for side, (mode, name) in enumerate(zip(self.scales, self.scale_formats)):
            codes = self._scale_codes(rng, side, mode, name)
            self.scale_codes.append(codes)
            if codes is None:
                continue
            values = model.decode(name, codes)
            if mode != "tensor":
                block = 16 if mode == "block16" else 32
                values = np.repeat(values, block, axis=1 - side)
                values = values[:, : self.k] if side == 0 else values[: self.k]
            with np.errstate(invalid="ignore"):
                if side == 0:
                    a = a * values
                else:
                    b = b * values
        self.bound = None
        if not isfloat:
            self.want = model.multiply_integers(
                a, b, self.c_codes, math_mode=self.math_mode, saturate=self.overflow == "saturate"
            )
        elif self.a == "f64":
            mode = {"toward_zero": "zero", "down": "down", "up": "up"}.get(self.rounding, "nearest")
            self.want = model.multiply_f64(a, b, self.c_codes, mode)
        else:
            self.want = model.multiply_floats(a, b, self.c_codes, self.acc, self.result, there)
            if self.kind != "integers" or self.scales != ("none", "none"):
                c = model.decode(self.result, self.c_codes)
                self.bound = model.error_bound(a, b, c, self.want, self.acc, self.result)

    def _scale_codes(self, rng: np.random.Generator, side: int, mode: str, name: str) -> np.ndarray | None:
        if mode == "none":
            return None
        blocks = 1 if mode == "tensor" else -(-self.k // (16 if mode == "block16" else 32))
        outer = 1 if mode == "tensor" else (self.m, self.n)[side]
        if name == "ue8m0":
            codes = rng.integers(100, 150, (outer, blocks), dtype=np.uint64)
            if self.kind == "extreme":
                codes = rng.integers(0, 255, (outer, blocks), dtype=np.uint64)
        else:  # Bit 7 means nothing.
            codes = rng.integers(0, 256, (outer, blocks), dtype=np.uint64)
            codes = np.where(codes & np.uint64(127) == 127, np.uint64(1), codes)
        if self.nan_scale:
            nan = 255 if name == "ue8m0" else 127
            codes[rng.integers(0, outer), rng.integers(0, blocks)] = nan
        return codes if side == 0 else codes.T

    # ---- The operation ----

    def add(self, batch: model.Batch, rng: np.random.Generator, *, matmul: bool) -> None:
        """Adds the operation to the batch, or one for each region of a tensor.matmul."""
        self.make(rng)
        names = (self.a, self.b, self.result, self.result)
        dense = (*self.dense, False, False)
        leading = [least + pad for least, pad in zip(self.least(), self.pads)]
        if not matmul:
            units = [unit(f, d) for f, d in zip(names, dense)]
            leading = [-(-x // u) * u for x, u in zip(leading, units)]
        leading = [max(x, 1) for x in leading]
        skews = [self.skew * model.SIZES[f][1] if matmul else 0 for f in names]

        operands: dict[str, str] = {}
        fields: list[str] = [f"a={self.a}", f"b={self.b}", f"acc={self.acc}", f"result={self.result}"]
        fields += [f"layout_{x}={layout}" for x, layout in zip("abcd", self.layouts)]
        stored_a = model.store(
            self.a_codes, self.a, self.layouts[0], leading[0], transposed=self.transpose_a, dense=dense[0], fill=rng
        )
        stored_b = model.store(
            self.b_codes, self.b, self.layouts[1], leading[1], transposed=self.transpose_b, dense=dense[1], fill=rng
        )
        operands["a"] = batch.input(stored_a.data, skew=skews[0])
        operands["b"] = batch.input(stored_b.data, skew=skews[1])
        nan = self.result if self.result in model.FLOATS else None
        c = model.store(self.c_codes, self.result, self.layouts[2], leading[2])
        name = f"{'matmul' if matmul else 'mma'} {self}"
        if self.in_place:
            self.layouts = (*self.layouts[:3], self.layouts[2])
            leading[3] = leading[2]
            fields[-1] = f"layout_d={self.layouts[3]}"
            want = model.store(self.want, self.result, self.layouts[2], leading[2])
            operands["c"] = operands["d"] = batch.in_place(c.data, want.data, name, nan, skew=skews[3])
        else:
            want = model.store(self.want, self.result, self.layouts[3], leading[3])
            operands["c"] = batch.input(c.data, skew=skews[2])
            operands["d"] = batch.output(want.data, name, nan, skew=skews[3])
        if self.bound is not None:
            batch.expectations[-1].bound = model.scatter(self.bound, self.layouts[3], leading[3])
        if self.masks is not None:
            group = model.GROUPS[self.sparsity]
            masks = self.masks
            if self.bad_masks:
                wrong = [m for m in range(1 << group) if m not in model.all_masks(group)]
                masks = np.where(masks == (1 << group // 2) - 1, rng.choice(wrong, masks.shape), masks)
            noise = rng.integers(0, 256, masks.shape) & ~((1 << group) - 1)
            operands["metadata"] = batch.input((masks | noise).astype(np.uint8).ravel(), skew=self.skew)
        runtime = self.runtime
        scale_leading = []
        for side, (codes, mode) in enumerate(zip(self.scale_codes, self.scales)):
            if codes is None:
                scale_leading.append(0)
                continue
            x = "ab"[side]
            ld = 0 if mode == "tensor" else codes.shape[1 - side] + self.pads[side] % 3
            scale_leading.append(ld)
            stored = model.store(codes, self.scale_formats[side], ("row", "col")[side], ld, fill=rng)
            operands[f"scale_{x}"] = batch.input(stored.data, skew=self.skew)
            fields += [f"scale_{x}={mode}", f"scale_format_{x}={self.scale_formats[side]}"]
        for x, ld in zip(("lda", "ldb", "ldc", "ldd", "ldsa", "ldsb"), [*leading, *scale_leading]):
            if ld == 0:
                continue
            if runtime:
                operands[x] = batch.unknown(ld, "i64" if ld % 2 else "i32")
            else:
                fields.append(f"{x}={ld}")
        fields += [f"sparsity={self.sparsity}", f"math={self.math_mode}", f"rounding={self.rounding}"]
        fields += [f"overflow={self.overflow}", f"scope={self.scope}"]
        fields += [f"packing_{x}={'dense' if d else 'logical'}" for x, d in zip("ab", self.dense)]
        if self.transpose_a:
            fields.append("transpose_a=true")
        if self.transpose_b:
            fields.append("transpose_b=true")

        order = ("a", "b", "c", "d", "metadata", "scale_a", "scale_b", "lda", "ldb", "ldc", "ldd", "ldsa", "ldsb")
        text = ", ".join(f"{slot}={operands[slot]}" for slot in order if slot in operands)
        if not matmul:
            batch.emit(f"tensor.mma {text} {{m{self.m}n{self.n}k{self.k}, {', '.join(fields)}}}")
            return
        rows, cols = self.region
        for row in range(0, self.m, rows):
            for col in range(0, self.n, cols):
                values = (row, col, self.m, self.n, self.k)
                wide = "i64" if (row + col) % 3 == 0 else "i32"
                given = batch.unknown if runtime else batch.constant
                place = ", ".join(
                    f"{slot}={given(v, wide)}" for slot, v in zip(("row", "col", "m", "n", "k"), values)
                )
                batch.emit(f"tensor.matmul {text}, {place} {{m{rows}n{cols}k16, {', '.join(fields)}}}")


def varied(rng: np.random.Generator, m: int, n: int, k: int, pair: tuple[str, str, str, str], **more) -> Product:
    """A product whose storage is drawn by lot."""
    a, b, acc, mode = pair
    flags = rng.integers(0, 2, 8)
    choices = {
        "result": str(rng.choice(results_of(acc))),
        "layouts": LAYOUTS[rng.integers(0, 16)],
        "transpose_a": bool(flags[0]),
        "transpose_b": bool(flags[1]),
        "dense": (bool(flags[2]) and a in NARROW[2:], bool(flags[3]) and b in NARROW[2:]),
        "pads": tuple(int(x) for x in rng.integers(0, 6, 4)),
        "runtime": bool(flags[4]),
        "in_place": bool(flags[5]),
        "kind": ("integers", "any")[flags[6]],
        "overflow": ("wrap", "saturate")[flags[7]] if acc == "i32" else "wrap",
        "region": (int(rng.choice([5, 16, 32, 64])), int(rng.choice([8, 13, 32, 64]))),
        "skew": int(rng.integers(0, 4)),
        **more,
    }
    return Product(m, n, k, a, b, acc, math_mode=mode, **choices)
