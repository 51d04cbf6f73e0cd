"""Matrices of generated kernels: where their elements lie, what they hold, and what tensor operations do to them.

Values are float64 that hold each format's numbers exactly. An operation whose result would depend on the order of its sums
raises Inexact, so that a generator can leave it out."""

from dataclasses import dataclass, field

import mtlc_exec
import numpy as np
import tensor_model as model

POINTERS = {
    "f16": "uint16", "bf16": "uint16", "f32": "float32", "tf32": "float32", "f64": "float64", "i8": "int8", "i32": "int32",
}  # fmt: skip
# What scalar code computes with.
SCALARS = {"f16": "float32", "bf16": "float32", "f32": "float32", "tf32": "float32", "f64": "float64", "i8": "int32",
           "u8": "int32", "i32": "int32"}  # fmt: skip
NUMPY = {"uint16": np.uint16, "float32": np.float32, "float64": np.float64, "int8": np.int8, "int32": np.int32, "uint8": np.uint8}


class Inexact(Exception):
    """A result that depends on how it is computed."""


def pointer(name: str) -> str:
    """The element type of a pointer to values of a format."""
    return POINTERS.get(name, "uint8")


def encode(name: str, values: np.ndarray) -> np.ndarray:
    """Codes of numbers that the format has."""
    if name == "f16":
        codes = values.astype(np.float16).view(np.uint16)
    elif name == "bf16":
        codes = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif name in ("f32", "tf32"):
        codes = values.astype(np.float32).view(np.uint32)
    elif name == "f64":
        codes = np.ascontiguousarray(values).view(np.uint64)
    else:
        codes = values.astype(np.int64) & ((1 << model.SIZES[name][0]) - 1)
    codes = codes.astype(np.uint64)
    back = model.decode("f32" if name == "tf32" else name, codes)
    assert np.array_equal(back, values), name
    return codes


def to_format(name: str, values: np.ndarray) -> np.ndarray:
    """Numbers rounded once to a format that scalar code can store; integers wrap."""
    with np.errstate(over="ignore"):
        if name == "f16":
            out = values.astype(np.float32).astype(np.float16).astype(np.float64)
        elif name == "bf16":
            out = mtlc_exec.from_bf16(mtlc_exec.bf16(values.astype(np.float32))).astype(np.float64)
        elif name in ("f32", "tf32"):
            out = values.astype(np.float32).astype(np.float64)
        elif name == "f64":
            return values
        else:
            bits = model.SIZES[name][0]
            codes = values.astype(np.int64) & ((1 << bits) - 1)
            signed = name in ("i8", "i32")
            return np.where(signed & (codes >> (bits - 1) == 1), codes - (1 << bits), codes).astype(np.float64)
    if not np.isfinite(out).all():
        raise Inexact("a value leaves the range of " + name)
    return out


@dataclass(eq=False)
class Matrix:
    """`copies` matrices in one array: one for all, one for each workgroup, or one for each of its subgroups."""

    name: str
    format: str
    rows: int
    cols: int
    owner: str  # all, workgroup, subgroup
    space: str = "global"  # global, workgroup, generic
    order: str = "row"  # Of the elements in memory.
    leading: int = 0
    dense: bool = False
    stride: int = 0  # Of the copies, in elements of the pointer.
    offset: int = 0  # Of the first, within its parameter.
    arena: str = ""  # The parameter, if it is shared with others.
    runtime_leading: str = ""  # A parameter that holds the leading dimension.
    values: np.ndarray = field(default_factory=lambda: np.zeros((1, 1, 1)))
    codes: np.ndarray | None = None  # Of an input of a format that scalar code does not store.
    written: bool = False
    extra: dict = field(default_factory=dict)

    @property
    def pointer(self) -> str:
        return pointer(self.format)

    @property
    def scalar(self) -> str | None:
        return SCALARS.get(self.format)

    @property
    def spaces(self) -> set[str]:
        """Where it may lie: a pointer that may lead to either is none to a space."""
        return {"global", "workgroup"} if self.space == "generic" else {self.space}

    def least(self) -> int:
        return self.cols if self.order == "row" else self.rows

    def span(self) -> int:
        """Elements of the pointer that one copy occupies."""
        lines = self.rows if self.order == "row" else self.cols
        count = (lines - 1) * self.leading + self.least()
        if self.dense:
            return -(-count * model.SIZES[self.format][0] // 8)
        return count

    def stored(self, copy: int, values: np.ndarray, room: np.ndarray) -> None:
        """Writes one copy into an array of bytes that holds all."""
        codes = self.codes[copy] if self.codes is not None else encode(self.format, values)
        size = 1 if self.dense else model.SIZES[self.format][1]
        start = (self.offset + copy * self.stride) * size
        if self.dense:
            data = model.store(codes, self.format, self.order, self.leading, dense=True, fill=0xCD).data
            room[start : start + len(data)] = data
            return
        r, c = np.indices(codes.shape)
        at = (r * self.leading + c if self.order == "row" else c * self.leading + r).ravel()
        raw = codes.ravel().astype(f"u{size}").view(np.uint8).reshape(-1, size)
        room[start + at[:, None] * size + np.arange(size)] = raw


# ---- What operations do ----


def _unit(values: np.ndarray) -> float:
    """A power of two that all values are multiples of."""
    for shift in range(0, 12):
        if np.array_equal(np.floor(values * 2.0**shift), values * 2.0**shift):
            return 2.0**-shift
    raise Inexact("fractions")


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray, family: "Family", there: np.ndarray | None = None) -> np.ndarray:
    """A · B + C of one copy."""
    if a.shape[1] == 0:
        return c.copy()
    if family.acc == "i32":
        if family.math == "xor_popcount":
            total = (a[:, :, None] != b[None, :, :]).sum(axis=1) + c
        else:
            total = a @ b + c
        if family.overflow == "saturate":
            return np.clip(total, -(2.0**31), 2.0**31 - 1)
        return to_format("i32", total)
    total = a @ b + c
    size = np.abs(a) @ np.abs(b) + np.abs(c)
    mantissa = model.FLOATS[family.acc][1]
    if size.max(initial=0) > 2.0 ** (mantissa + 1) * min(_unit(a) * _unit(b), _unit(c)):
        raise Inexact("a sum")
    # -0 only if every term is.
    total = np.where(total == 0, 0.0, total)
    for i, j in zip(*np.nonzero((total == 0) & (c == 0) & np.signbit(c))):
        used = there[i] if there is not None else np.ones(a.shape[1], bool)
        x, y = a[i][used], b[:, j][used]
        if ((x * y == 0) & (np.signbit(x) != np.signbit(y))).all():
            total[i, j] = -0.0
    return to_format(family.result, total)


def epilogue(name: str, d: np.ndarray, bias: np.ndarray | None, alpha, beta, activation: str, lo=0.0, hi=0.0) -> np.ndarray:
    """act(alpha · D + beta · bias), each step rounded as ir.md says; `bias` has D's shape or is spread to it."""
    t = np.float64 if name == "f64" else np.float32
    x = d.astype(t)
    if alpha is not None:
        x = t(alpha) * x
    if bias is not None:
        addend = np.broadcast_to(bias, d.shape).astype(t)
        x = x + (addend if beta is None else t(beta) * addend)
    if activation == "relu":
        x = np.where(x < 0, t(0), x)
    elif activation == "clamp":
        x = np.where(x < t(lo), t(lo), x)
        x = np.where(x > t(hi), t(hi), x)
    return to_format(name, x.astype(np.float64))


@dataclass
class Family:
    """Kinds of products that a kernel makes."""

    a: str
    b: str
    acc: str
    result: str
    math: str = "multiply_add"
    overflow: str = "wrap"
    sparsity: str = "dense"
    scales: tuple[str, str] = ("none", "none")
    scale_format: str = "ue8m0"
    dense: tuple[bool, bool] = (False, False)
    rounding: str = "default"

    @property
    def plain(self) -> bool:
        """Whether scalar code can make the inputs."""
        return self.a in SCALARS and self.b in SCALARS and self.sparsity == "dense"
