"""The tensor operations of docs/ir.md §6 once more, from their definition: integers of any size, one rounding at the end.
And batches: many operations in one kernel, whose results are compared byte for byte, padding included."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import mtlc_exec
import mtlc_testing
import numpy as np

# ---- Formats: exponent bits, mantissa bits, bias, what the largest exponent means. ----

FLOATS = {
    "f16": (5, 10, 15, "ieee"),
    "bf16": (8, 7, 127, "ieee"),
    "tf32": (8, 10, 127, "ieee"),
    "f32": (8, 23, 127, "ieee"),
    "f64": (11, 52, 1023, "ieee"),
    "e4m3": (4, 3, 7, "nan"),
    "e5m2": (5, 2, 15, "ieee"),
    "e2m3": (2, 3, 1, ""),
    "e3m2": (3, 2, 3, ""),
    "e2m1": (2, 1, 1, ""),
}
# Bits of a logical value, bytes of one stored on its own.
SIZES = {
    "f16": (16, 2), "bf16": (16, 2), "tf32": (32, 4), "f32": (32, 4), "f64": (64, 8), "e4m3": (8, 1), "e5m2": (8, 1),
    "e2m3": (6, 1), "e3m2": (6, 1), "e2m1": (4, 1), "i8": (8, 1), "u8": (8, 1), "i4": (4, 1), "u4": (4, 1),
    "b1": (1, 1), "i32": (32, 4), "ue8m0": (8, 1), "ue4m3": (8, 1),
}  # fmt: skip
DENSE = ("i4", "u4", "b1")  # Packed densely unless the descriptor says otherwise.


def decode_one(name: str, code: int) -> float:
    """The value of a code, exact in float64."""
    if name == "ue8m0":
        return math.nan if code & 255 == 255 else math.ldexp(1.0, (code & 255) - 127)
    if name == "ue4m3":
        return decode_one("e4m3", code & 127)
    exponent, mantissa, bias, specials = FLOATS[name]
    if name == "tf32":
        code >>= 13
    sign = -1.0 if code >> (exponent + mantissa) & 1 else 1.0
    e, m = code >> mantissa & ((1 << exponent) - 1), code & ((1 << mantissa) - 1)
    if e == (1 << exponent) - 1:
        if specials == "ieee":
            return math.nan if m else sign * math.inf
        if specials == "nan" and m == (1 << mantissa) - 1:
            return math.nan
    if e == 0:
        return sign * math.ldexp(m, 1 - bias - mantissa)
    return sign * math.ldexp(m + (1 << mantissa), e - bias - mantissa)


_tables: dict[str, np.ndarray] = {}


def decode(name: str, codes: np.ndarray) -> np.ndarray:
    """Values of an array of codes, of which only the low bits count; inputs of tf32 are rounded to it, ties away."""
    with np.errstate(invalid="ignore"):  # NumPy warns of signalling NaN.
        return _decode(name, codes)


def _decode(name: str, codes: np.ndarray) -> np.ndarray:
    if name == "f64":
        return codes.astype(np.uint64).view(np.float64)
    if name == "f32":
        return codes.astype(np.uint32).view(np.float32).astype(np.float64)
    if name == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    if name == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name == "tf32":
        single = codes.astype(np.uint32)
        nan = (single & 0x7FFFFFFF) > 0x7F800000
        rounded = (single & 0x80000000) | (((single & 0x7FFFFFFF) + 0x1000) & 0xFFFFE000)
        finite = np.where((single & 0x7FFFFFFF) >= 0x7F800000, single, rounded)
        return np.where(nan, np.nan, finite.astype(np.uint32).view(np.float32).astype(np.float64))
    bits = SIZES[name][0]
    codes = codes.astype(np.int64) & ((1 << bits) - 1)
    if name in ("i8", "i4", "i32"):
        return np.where(codes >> (bits - 1) & 1, codes - (1 << bits), codes)
    if name in ("u8", "u4", "b1"):
        return codes
    if name not in _tables:
        _tables[name] = np.array([decode_one(name, c) for c in range(1 << bits)])
    return _tables[name][codes]


def quantum(name: str) -> int:
    """Exponent of the least positive value."""
    _, mantissa, bias, _ = FLOATS[name]
    return 1 - bias - mantissa


def encode_exact(name: str, value: int, scale: int, mode: str = "nearest", negative_zero: bool = False) -> int:
    """The code of value · 2^-scale, rounded once. `mode` is nearest, zero, down or up."""
    exponent, mantissa, bias, _ = FLOATS[name]
    sign = 1 << (exponent + mantissa)
    negative = value < 0 or (value == 0 and negative_zero)
    magnitude = abs(value)
    if magnitude == 0:
        return sign if negative else 0
    # The unit of the last place: 2^unit.
    unit = max(magnitude.bit_length() - 1 - scale - mantissa, quantum(name))
    shift = unit + scale
    if shift <= 0:
        whole, rest, half = magnitude << -shift, 0, 1
    else:
        whole, rest, half = magnitude >> shift, magnitude & ((1 << shift) - 1), 1 << (shift - 1)
    away = {
        "nearest": rest > half or (rest == half and whole & 1) if shift > 0 else False,
        "zero": False,
        "down": negative and rest > 0,
        "up": not negative and rest > 0,
    }[mode]
    whole += bool(away)
    infinity = ((1 << exponent) - 1) << mantissa
    code = whole if unit == quantum(name) else whole + ((unit - quantum(name)) << mantissa)
    if code >= infinity:
        beyond = mode == "nearest" or mode == ("down" if negative else "up")
        code = infinity if beyond else infinity - 1
    return code | (sign if negative else 0)


def nan_code(name: str) -> int:
    exponent, mantissa, _, _ = FLOATS[name]
    return ((1 << (exponent + 1)) - 1) << (mantissa - 1)


def encode(name: str, value: float, mode: str = "nearest") -> int:
    """The code that a float64 rounds to."""
    exponent, mantissa, _, _ = FLOATS[name]
    if math.isnan(value):
        return nan_code(name)
    negative = math.copysign(1, value) < 0
    if math.isinf(value):
        return ((1 << exponent) - 1) << mantissa | (negative << (exponent + mantissa))
    f = Fraction(value)
    return encode_exact(name, f.numerator, f.denominator.bit_length() - 1, mode, negative)


def is_nan(name: str, codes: np.ndarray) -> np.ndarray:
    exponent, mantissa, _, _ = FLOATS[name]
    return (codes & np.uint64((1 << (exponent + mantissa)) - 1)) > np.uint64(((1 << exponent) - 1) << mantissa)


def to_integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Python integers and a scale: values = integers · 2^-scale. Zeros for what is not finite."""
    finite = np.where(np.isfinite(values), values, 0.0)
    m, e = np.frexp(finite)
    m = np.ldexp(m, 53).astype(np.int64)
    e = e.astype(np.int64) - 53
    scale = int(max(0, -e[m != 0].min())) if (m != 0).any() else 0

    def shifted(m: int, e: int) -> int:
        s = int(e) + scale
        return int(m) << s if s >= 0 else int(m) >> -s

    return np.frompyfunc(shifted, 2, 1)(m, e), scale


# ---- Storage ----


@dataclass
class Stored:
    """Bytes of a matrix, of a vector of bits. `mask` has the bits that elements occupy."""

    data: np.ndarray
    mask: np.ndarray


def _indices(shape: tuple[int, int], layout: str, leading: int, transposed: bool) -> np.ndarray:
    rows, cols = np.indices(shape)
    if (layout == "row") != transposed:
        return rows * leading + cols
    return cols * leading + rows


def store(
    codes: np.ndarray, name: str, layout: str, leading: int, *, transposed: bool = False, dense: bool = False,
    fill: int | np.random.Generator = 0xCD
) -> Stored:  # fmt: skip
    """The logical matrix `codes` in memory; `fill` is in between, random bytes from a generator."""
    bits, size = SIZES[name]
    value_bits = 7 if name == "ue4m3" else bits
    distance = bits if dense else size * 8
    at = _indices(codes.shape, layout, leading, transposed).ravel()
    count = int(at.max()) + 1 if at.size else 0
    total = -(-count * distance // 8)
    if isinstance(fill, int):
        data = np.full(total, fill, np.uint8)
    else:
        data = fill.integers(0, 256, total, dtype=np.uint8)
    stream = np.unpackbits(data, bitorder="little")
    mask = np.zeros_like(stream)
    flat = codes.astype(np.uint64).ravel()
    for bit in range(value_bits):
        stream[at * distance + bit] = flat >> np.uint64(bit) & np.uint64(1)
        mask[at * distance + bit] = 1
    return Stored(np.packbits(stream, bitorder="little"), np.packbits(mask, bitorder="little"))


# ---- Products ----


def round_results(exact: np.ndarray, scale: int, special: np.ndarray, zero_sign: np.ndarray, acc: str, result: str):
    """Codes of exact · 2^-scale, rounded to `acc` and then to `result`; where `special` is not finite, that."""
    codes = np.zeros(exact.shape, np.uint64)
    for index in np.ndindex(exact.shape):
        if not math.isfinite(special[index]):
            codes[index] = encode(result, float(special[index]))
            continue
        code = encode_exact(acc, exact[index], scale, negative_zero=bool(zero_sign[index]))
        codes[index] = code if acc == result else encode(result, float(decode(acc, np.array([code]))[0]))
    return codes


def multiply_floats(
    a: np.ndarray, b: np.ndarray, c_codes: np.ndarray, acc: str, result: str, there: np.ndarray | None = None
) -> np.ndarray:
    """Codes of A · B + C, of float64 arrays whose values are exact; C in the result's format. `there`: of a sparse A, which
    elements are stored; the others are 0 and count for nothing."""
    if a.shape[1] == 0:
        return c_codes
    c = decode(result, c_codes)
    ia, sa = to_integers(a)
    ib, sb = to_integers(b)
    ic, sc = to_integers(c)
    scale = max(sa + sb, sc)
    exact = np.dot(ia, ib) * (1 << (scale - sa - sb)) + ic * (1 << (scale - sc))

    def signs(x: np.ndarray) -> np.ndarray:  # Infinities and NaN as they are, of all else the sign.
        return np.where(np.isfinite(x), np.sign(x), x)

    special = np.zeros(exact.shape)
    if not (np.isfinite(a).all() and np.isfinite(b).all() and np.isfinite(c).all()):
        with np.errstate(invalid="ignore"):
            products = signs(a)[:, :, None] * signs(b)[None, :, :]
            if there is not None:
                products = np.where(there[:, :, None], products, 0.0)
            special = products.sum(axis=1) + signs(c)
    # -0 only if every term is.
    zero_sign = np.zeros(exact.shape, bool)
    for i, j in zip(*np.nonzero(exact == 0)):
        if c[i, j] == 0 and np.signbit(c[i, j]):
            used = there[i] if there is not None else np.ones(a.shape[1], bool)
            x, y = a[i][used], b[:, j][used]
            zero_sign[i, j] = ((x * y == 0) & (np.signbit(x) != np.signbit(y))).all()
    return round_results(exact, scale, special, zero_sign, acc, result)


def error_bound(a: np.ndarray, b: np.ndarray, c: np.ndarray, want: np.ndarray, acc: str, result: str) -> np.ndarray:
    """ir.md §6: how far a result may be from `want`, the exact sum rounded to `acc` and to `result`. Infinite where partial
    sums may leave the range of the formats."""

    def facts(name: str) -> tuple[float, float, float]:  # Unit roundoff, least value, greatest.
        exponent, mantissa, bias, _ = FLOATS[name]
        top = (1 << exponent) - 2 - bias
        return 2.0 ** -(mantissa + 1), 2.0 ** quantum(name), math.ldexp(2 - 2.0**-mantissa, top)

    with np.errstate(all="ignore"):
        total = np.abs(a) @ np.abs(b) + np.abs(c)
        u, least, most = facts(acc)
        bound = (a.shape[1] + 2) * (u * total + least)
        v, least, most_result = facts(result)
        bound += 2 * v * np.abs(decode(result, want)) + least
        bound = np.nan_to_num(bound, nan=0.0, posinf=0.0)
        return np.where(np.isfinite(total) & (total * (1 + 2.0**-5) > min(most, most_result)), np.inf, bound)


def scatter(values: np.ndarray, layout: str, leading: int) -> np.ndarray:
    """A matrix of numbers in the order of its storage, 0 in between."""
    at = _indices(values.shape, layout, leading, False).ravel()
    out = np.zeros(int(at.max()) + 1 if at.size else 0)
    out[at] = values.ravel()
    return out


def multiply_f64(a: np.ndarray, b: np.ndarray, c_codes: np.ndarray, mode: str) -> np.ndarray:
    """One fused multiply-add for each k in turn; finite values."""
    codes = c_codes.copy()
    if a.shape[1] == 0:
        return codes
    for i, j in np.ndindex(codes.shape):
        total = Fraction(float(decode("f64", codes[i, j : j + 1])[0]))
        code = int(codes[i, j])
        for x, y in zip(a[i], b[:, j]):
            if isinstance(total, float):
                break  # Infinite: what follows is finite.
            product = Fraction(float(x)) * Fraction(float(y))
            exact = product + total
            # Exact zeros: of equal signs that sign, else +0, and -0 when rounding down.
            before = bool(code >> 63) and total == 0
            minus = product == 0 and np.signbit(x) != np.signbit(y)
            if product == 0 and total == 0 and before == minus:
                negative_zero = minus
            else:
                negative_zero = mode == "down"
            code = encode_exact(
                "f64", exact.numerator, exact.denominator.bit_length() - 1, mode, exact == 0 and negative_zero
            )
            value = float(decode("f64", np.array([code], np.uint64))[0])
            total = Fraction(value) if math.isfinite(value) else value
        codes[i, j] = code
    return codes


def multiply_integers(
    a: np.ndarray, b: np.ndarray, c_codes: np.ndarray, *, math_mode: str = "multiply_add", saturate: bool = False
) -> np.ndarray:
    a, b = a.astype(np.int64), b.astype(np.int64)
    if math_mode == "xor_popcount":
        total = (a[:, :, None] ^ b[None, :, :]).sum(axis=1)
    elif math_mode == "and_popcount":
        total = a @ b
    else:
        total = a @ b
    total = total + decode("i32", c_codes)
    if saturate:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return (total & 0xFFFFFFFF).astype(np.uint64)


# ---- Sparsity: each group of g logical values along K keeps g / 2. ----

GROUPS = {"dense": 1, "structured_1_to_2": 2, "structured_2_to_4": 4, "structured_4_to_8": 8}


def all_masks(group: int) -> list[int]:
    return [m for m in range(1 << group) if bin(m).count("1") == group // 2]


def expand(stored: np.ndarray, masks: np.ndarray, group: int, k: int, fill) -> tuple[np.ndarray, np.ndarray]:
    """The logical matrix of stored values, and which of its elements are there."""
    m = stored.shape[0]
    full = np.full((m, masks.shape[1] * group), fill, stored.dtype)
    there = np.zeros(full.shape, bool)
    for i in range(m):
        for g in range(masks.shape[1]):
            positions = [p for p in range(group) if masks[i, g] >> p & 1]
            for j, p in enumerate(positions):
                full[i, g * group + p] = stored[i, g * (group // 2) + j]
                there[i, g * group + p] = True
    return full[:, :k], there[:, :k]


# ---- Epilogue ----


def epilogue(
    element: str, d: np.ndarray, bias: np.ndarray | None, alpha: float | None, beta: float | None, activation: str,
    lo: float = 0.0, hi: float = 0.0
) -> np.ndarray:  # fmt: skip
    """Codes of act(alpha · D + beta · bias), each step in NumPy's float32 or float64; `bias` has D's shape."""
    t = np.float64 if element == "f64" else np.float32
    x = decode(element, d).astype(t)
    with np.errstate(all="ignore"):
        if alpha is not None:
            x = t(alpha) * x
        if bias is not None:
            addend = decode(element, bias).astype(t)
            if beta is not None:
                addend = t(beta) * addend
            x = x + addend
        if activation == "relu":
            x = np.where(x < 0, t(0), x)
        elif activation == "clamp":
            x = np.where(x < t(lo), t(lo), x)
            x = np.where(x > t(hi), t(hi), x)
    x = x.astype(t)
    if element == "f64":
        return x.view(np.uint64)
    if element == "f32":
        return x.view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        return (mtlc_exec.bf16(x) if element == "bf16" else x.astype(np.float16).view(np.uint16)).astype(np.uint64)


# ---- Batches ----


@dataclass
class Expectation:
    name: str
    buffer: str
    offset: int
    data: np.ndarray
    nan_format: str | None  # Any NaN of this format will do.
    bound: np.ndarray | None = None  # How far each stored element may be off where results need not be exact.

    def is_near(self, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Of codes: whether both are numbers and within the bound."""
        if self.bound is None or self.nan_format is None:
            return np.zeros(got.shape, bool)
        x, y = decode(self.nan_format, got), decode(self.nan_format, want)
        with np.errstate(invalid="ignore"):
            return (np.abs(x - y) <= self.bound[: len(x)]) | np.isinf(self.bound[: len(x)])


def run_passes(test: mtlc_exec.TestCase, source: str, passes: str) -> str:
    """A file with the module after the passes, which must leave it valid; `source` itself if there are none."""
    if not passes:
        return source
    path = mtlc_exec.write_source("passes.mtir", "")
    done = mtlc_testing.run("mtlc-opt", f"--passes={passes}", "--verify-each", "--verify-device", source, "-o", path)
    test.assertEqual(done.returncode, 0, done.stderr)
    return path


@dataclass
class Batch:
    """One kernel of many operations on three buffers: %in is read, %out starts poisoned, %io starts as given."""

    lines: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    inputs: bytearray = field(default_factory=bytearray)
    in_out: bytearray = field(default_factory=bytearray)
    out_size: int = 0
    expectations: list[Expectation] = field(default_factory=list)
    constants: dict[tuple[str, str], str] = field(default_factory=dict)
    names: int = 0

    def constant(self, value: int | str, kind: str = "i32") -> str:
        key = (str(value), kind)
        if key not in self.constants:
            self.constants[key] = f"%c{len(self.constants)}"
            self.lines.append(f"{self.constants[key]} = const {value} : {kind}")
        return self.constants[key]

    def unknown(self, value: int, kind: str = "i32") -> str:
        """The value as one that is known at run time only: with the number of the block added, which is 0."""
        key = (f"unknown {value}", kind)
        if key not in self.constants:
            constant, name = self.constant(value, kind), f"%u{len(self.constants)}"
            self.constants[key] = name
            self.lines.append(f"{name}b = gpu.block_id x : i32")
            if kind != "i32":
                self.lines.append(f"{name}w = zext {name}b : i32 to {kind}")
            self.lines.append(f"{name} = add {constant}, {name}{'b' if kind == 'i32' else 'w'} : {kind}")
        return self.constants[key]

    def emit(self, line: str) -> None:
        self.body.append(line)

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def pointer(self, buffer: str, offset: int) -> str:
        name = self.fresh()
        self.emit(f"{name} = ptr.add %{buffer}, {self.constant(offset, 'i64')} x i8 : ptr<global>")
        return name

    def _align(self, data: bytearray, align: int, skew: int) -> int:
        """Room up to a multiple of `align`, and `skew` more, after a gap."""
        gap = -(len(data) + 16) % align + 16 + skew
        data.extend(b"\xcd" * gap)
        return len(data)

    def input(self, data: np.ndarray, align: int = 64, skew: int = 0) -> str:
        offset = self._align(self.inputs, align, skew)
        self.inputs.extend(data.tobytes())
        return self.pointer("in", offset)

    def output(self, want: np.ndarray, name: str, nan_format: str | None, align: int = 64, skew: int = 0) -> str:
        """Poisoned memory in which `want` is expected."""
        offset = self.out_size + (-self.out_size % align) + skew
        self.out_size = offset + len(want)
        self.expectations.append(Expectation(name, "out", offset, want, nan_format))
        return self.pointer("out", offset)

    def in_place(
        self, data: np.ndarray, want: np.ndarray, name: str, nan_format: str | None, align: int = 64, skew: int = 0
    ) -> str:
        offset = self._align(self.in_out, align, skew)
        self.in_out.extend(data.tobytes())
        self.expectations.append(Expectation(name, "io", offset, want, nan_format))
        return self.pointer("io", offset)

    def text(self) -> str:
        lines = "\n".join(f"  {line}" for line in [*self.lines, *self.body])
        parameters = "%in: ptr<global>, %out: ptr<global>, %io: ptr<global>"
        return f'module "batch"\n\nkernel @k({parameters}) {{\n^entry:\n{lines}\n  ret\n}}\n'

    def run(
        self, test: mtlc_exec.TestCase, *, block: int | tuple[int, int, int] = 32, options: tuple[str, ...] = (), shared: int = 0,
        passes: str = "", exact: bool = True, device: str = "interp"
    ) -> None:  # fmt: skip
        """Launches the kernel, after these passes, and compares; if not `exact`, within the bounds of expectations."""
        path = run_passes(test, mtlc_exec.write_source("batch.mtir", self.text()), passes)
        out = mtlc_exec.Output(np.uint8, self.out_size + 16)
        io = mtlc_exec.InOut(np.frombuffer(bytes(self.in_out) + b"\xcd" * 16, np.uint8))
        source = np.frombuffer(bytes(self.inputs) + b"\xcd" * 16, np.uint8)
        result = test.launch(path, "k", [source, out, io], device=device, block=block, options=options, shared=shared)
        wanted = {
            "out": np.full(self.out_size + 16, 0xCD, np.uint8),
            "io": np.frombuffer(io.array.tobytes(), np.uint8).copy(),
        }
        got = {"out": result[out], "io": result[io]}
        for e in self.expectations:
            with test.subTest(e.name):
                end = e.offset + len(e.data)
                wanted[e.buffer][e.offset : end] = e.data
                mine = got[e.buffer][e.offset : end]
                if e.nan_format:
                    size = SIZES[e.nan_format][1]
                    whole = len(mine) // size * size
                    x = mine[:whole].copy().view(f"u{size}").astype(np.uint64)
                    y = e.data[:whole].copy().view(f"u{size}").astype(np.uint64)
                    both = is_nan(e.nan_format, x) & is_nan(e.nan_format, y)
                    if not exact:
                        both |= e.is_near(x, y)
                    bad = np.nonzero((x != y) & ~both)[0][:6]
                    test.assertEqual([(int(i), hex(int(x[i])), hex(int(y[i]))) for i in bad], [], "element, got, want")
                    mine = mine.copy()
                    np.copyto(mine[:whole], np.where(np.repeat(both, size), e.data[:whole], mine[:whole]))
                bad = np.nonzero(mine != e.data)[0][:6]
                test.assertEqual([(int(i), int(mine[i]), int(e.data[i])) for i in bad], [], "byte, got, want")
                got[e.buffer][e.offset : end] = e.data
        for buffer in ("out", "io"):  # What lies between.
            test.assertEqual(list(np.nonzero(got[buffer] != wanted[buffer])[0][:8]), [], f"bytes of %{buffer}")
