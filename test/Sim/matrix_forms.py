"""The matrix instructions of test/data/fragments/fragments.json: fragments packed and unpacked by its tables, and kernels
that execute one instruction on registers that come from memory.

A batch is many executions of one instruction, one warp each: codes of A as [trial, row, column], and so on.
"""

import json
from dataclasses import dataclass, field

import mtlc_exec
import mtlc_testing
import numpy as np

with open(mtlc_testing.data("test/data/fragments/fragments.json"), encoding="utf-8") as _file:
    DOC = json.load(_file)

LANES = 32
# exponent bits, mantissa bits, bias
_FLOATS = {
    "f16": (5, 10, 15),
    "bf16": (8, 7, 127),
    "e4m3": (4, 3, 7),
    "e5m2": (5, 2, 15),
    "e3m2": (3, 2, 3),
    "e2m3": (2, 3, 1),
    "e2m1": (2, 1, 1),
    "ue4m3": (4, 3, 7),
}
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "s8": 8, "u8": 8}
_BITS |= {"s4": 4, "u4": 4, "b1": 1, "ue8m0": 8, "ue4m3": 8, "f32": 32, "s32": 32}


def is_float(element: str) -> bool:
    return element in _FLOATS or element in ("tf32", "f32", "f64")


def decode(element: str, codes: np.ndarray) -> np.ndarray:
    """The values of codes: float64, or int64 for integers."""
    codes = np.asarray(codes, np.uint64)
    match element:
        case "s8" | "s4":
            half = 1 << (_BITS[element] - 1)
            return (codes.astype(np.int64) ^ half) - half
        case "u8" | "u4" | "b1":
            return codes.astype(np.int64)
        case "s32":
            return codes.astype(np.uint32).view(np.int32).astype(np.int64)
        case "f64":
            return codes.view(np.float64)
        case "f32":
            return codes.astype(np.uint32).view(np.float32).astype(np.float64)
        case "tf32":
            return (codes.astype(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
        case "ue8m0":
            return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127))
    exponent_bits, mantissa_bits, bias = _FLOATS[element]
    if element == "ue4m3":
        codes = codes & np.uint64(0x7F)
    mantissa = (codes & np.uint64((1 << mantissa_bits) - 1)).astype(np.int64)
    exponent = (codes >> np.uint64(mantissa_bits)).astype(np.int64) & ((1 << exponent_bits) - 1)
    sign = (codes >> np.uint64(mantissa_bits + exponent_bits)).astype(np.int64) & 1
    value = np.where(
        exponent == 0,
        np.ldexp(mantissa.astype(np.float64), 1 - bias - mantissa_bits),
        np.ldexp((mantissa + (1 << mantissa_bits)).astype(np.float64), exponent - bias - mantissa_bits),
    )
    if element in ("e4m3", "ue4m3"):
        value = np.where((exponent == 15) & (mantissa == 7), np.nan, value)
    elif element in ("f16", "bf16", "e5m2"):
        top = exponent == (1 << exponent_bits) - 1
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    return np.where(sign == 1, -value, value)


def encode(element: str, values: np.ndarray) -> np.ndarray:
    """Codes of values that the format has exactly, or f16 and f32 rounded to nearest."""
    match element:
        case "f32" | "tf32":
            return np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
        case "f16":
            return np.asarray(values, np.float16).view(np.uint16).astype(np.uint64)
        case "f64":
            return np.asarray(values, np.float64).view(np.uint64)
        case "bf16":
            return mtlc_exec.bf16(np.asarray(values, np.float32)).astype(np.uint64)
    if not is_float(element):
        return np.asarray(values, np.int64).astype(np.uint64) & np.uint64((1 << _BITS[element]) - 1)
    table = decode(element, np.arange(1 << _BITS[element]))
    order = np.argsort(np.where(np.isnan(table), np.inf, table), kind="stable")
    at = np.searchsorted(table[order], values)
    codes = order[np.minimum(at, len(order) - 1)]
    if not np.array_equal(decode(element, codes), values):
        raise ValueError(f"not in {element}")
    return codes.astype(np.uint64)


def finite_codes(element: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random codes: all of a narrow format but NaN and infinity; wide ones of values near one, some zero or tiny."""
    if element in ("f16", "bf16", "tf32", "f32", "f64"):
        values = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 3, shape))
        values[rng.random(shape) < 0.05] = 0
        return encode(element, values)
    codes = rng.integers(0, 1 << _BITS[element], shape, dtype=np.uint64)
    if is_float(element):
        codes = np.where(np.isfinite(decode(element, codes)), codes, 0)
    return codes.astype(np.uint64)


def small_integers(element: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Codes of small integers."""
    if element in ("u8", "u4", "b1") or not is_float(element):
        return finite_codes(element, rng, shape)
    most = {"e2m1": 4, "e2m3": 7, "e3m2": 8, "e4m3": 8, "e5m2": 8}.get(element, 15)
    values = rng.integers(-most, most + 1, shape).astype(np.float64)
    if element in ("e3m2", "e5m2"):  # Three bits of precision.
        values = np.where(np.abs(values) > 4, np.round(values / 2) * 2, values)
    return encode(element, np.where(values == 0, 0.0, values))


class Operand:
    """Elements in registers by the tables of the file."""

    def __init__(self, spec: dict, table: list) -> None:
        self.element = spec["type"]
        self.registers = spec["reg_count"]
        self.register_bits = spec["reg_bits"]
        self.value_bits = spec["value_bits"]
        place = np.array(table)  # [lane, i] -> row, column
        self.shape = (int(place[..., 0].max()) + 1, int(place[..., 1].max()) + 1)
        index = np.arange(place.shape[1])
        per = spec["elems_per_reg"]
        self._rows, self._columns = place[..., 0], place[..., 1]
        self._register = index // per
        self._shift = (index % per * spec["container_bits"] + spec["value_lsb"]).astype(np.uint64)

    def pack(self, codes: np.ndarray, padding: np.ndarray | None = None) -> np.ndarray:
        """[trial, register, lane] of codes [trial, row, column]; `padding`: bits for what carries no element."""
        out = np.zeros((codes.shape[0], self.registers, LANES), np.uint64)
        used = np.uint64(0)
        mask = np.uint64((1 << self.value_bits) - 1)
        for i, (register, shift) in enumerate(zip(self._register, self._shift, strict=True)):
            out[:, register, :] |= codes[:, self._rows[:, i], self._columns[:, i]] << shift
            used |= mask << shift
        if padding is not None:
            out |= padding & ~used
        return out.astype(self.dtype)

    def unpack(self, registers: np.ndarray) -> np.ndarray:
        registers = registers.astype(np.uint64)
        out = np.zeros((registers.shape[0], *self.shape), np.uint64)
        mask = np.uint64((1 << self.value_bits) - 1)
        for i, (register, shift) in enumerate(zip(self._register, self._shift, strict=True)):
            out[:, self._rows[:, i], self._columns[:, i]] = registers[:, register, :] >> shift & mask
        return out

    @property
    def dtype(self) -> type:
        return np.uint64 if self.register_bits == 64 else np.uint32


@dataclass
class Batch:
    a: np.ndarray  # Codes.
    b: np.ndarray
    c: np.ndarray
    extra: list[np.ndarray] = field(default_factory=list)  # Registers [trial, lane]: metadata, scales, selectors.


class Form:
    """One instruction of the file."""

    def __init__(self, row: dict, name: str | None = None) -> None:
        self.row = row
        self.name = name or row["name"]
        layout = DOC["layouts"][row["layout"]]
        self.layout = layout
        self.a, self.b = Operand(row["A"], layout["A"]), Operand(row["B"], layout["B"])
        self.c, self.d = Operand(row["C"], layout["C"]), Operand(row["D"], layout["C"])
        self.sparse = "E" in layout
        self.scale = row.get("scale")
        self.k = row["k"]

    def module(self, version: str, target: str, selector: int = 0, ids: tuple[str, ...] = ()) -> str:
        """A kernel k(d, a, b, c, extra...): one block a trial. `ids` replace the scale selectors that are registers."""
        names = ["pd", "pa", "pb", "pc"]
        extra = (["e"] if self.sparse else []) + (["sa", "sb"] if self.scale else [])
        registers = not ids and self.scale
        if registers:
            extra += ["ba", "ta", "bb", "tb"]
        names += [f"p{x}" for x in extra]
        lines = [
            f".version {version}\n.target {target}\n.address_size 64",
            f".visible .entry k({', '.join(f'.param .u64 {n}' for n in names)})\n{{",
            ".reg .b32 %a<9>, %b<9>, %x<9>, %e, %sa, %sb, %t, %n, %w; .reg .b16 %ba, %ta, %bb, %tb; .reg .b64 %o, %p;",
            ".reg .f32 %f<9>, %g<9>; .reg .s32 %i<9>, %j<9>; .reg .f64 %da<9>, %db<9>, %dc<9>, %dd<9>; .reg .b32 %y<9>;",
            "mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x;",
        ]

        def memory(parameter: str, count: int, size: int) -> None:
            lines.append(f"mad.lo.u32 %w, %n, {count * LANES}, %t; mul.wide.u32 %o, %w, {size};")
            lines.append(f"ld.param.u64 %p, [{parameter}]; add.u64 %p, %p, %o;")

        def vector(o: Operand, letters: dict[int, str], kinds: dict[str, str]) -> list[str]:
            prefix = kinds.get(o.element, letters[o.register_bits])
            return [f"%{prefix}{r}" for r in range(o.registers)]

        va = vector(self.a, {32: "a", 64: "da"}, {})
        vb = vector(self.b, {32: "b", 64: "db"}, {})
        vc = vector(self.c, {32: "x", 64: "dc"}, {"f32": "f", "s32": "i"})
        vd = vector(self.d, {32: "y", 64: "dd"}, {"f32": "g", "s32": "j"})
        for parameter, o, registers_of in (("pa", self.a, va), ("pb", self.b, vb), ("pc", self.c, vc)):
            size = o.register_bits // 8
            memory(parameter, o.registers, size)
            kind = {"f32": "f32", "s32": "s32", "f64": "f64"}.get(o.element, f"b{o.register_bits}")
            for r, name in enumerate(registers_of):
                lines.append(f"ld.global.{kind} {name}, [%p+{r * LANES * size}];")
        for x in extra:
            memory(f"p{x}", 1, 4)
            lines.append(f"ld.global.b32 %w, [%p]; {'cvt.u16.u32' if x in ('ba', 'ta', 'bb', 'tb') else 'mov.b32'} %{x}, %w;")
        operands = ["{" + ", ".join(v) + "}" for v in (vd, va, vb, vc)]
        if self.sparse:
            operands += ["%e", str(selector)]
        if self.scale:
            i = ids or ("%ba", "%ta", "%bb", "%tb")
            operands += ["%sa", f"{{{i[0]}, {i[1]}}}", "%sb", f"{{{i[2]}, {i[3]}}}"]
        lines.append(f"{self.name} {', '.join(operands)};")
        size = self.d.register_bits // 8
        memory("pd", self.d.registers, size)
        kind = {"f32": "f32", "s32": "s32", "f64": "f64"}.get(self.d.element, f"b{self.d.register_bits}")
        for r, name in enumerate(vd):
            lines.append(f"st.global.{kind} [%p+{r * LANES * size}], {name};")
        return "\n".join([*lines, "ret;\n}\n"])

    def target(self) -> tuple[str, str]:
        """The least version and target."""
        return self.row["min_ptx"], self.row["min_target"]

    def run(
        self,
        batch: Batch,
        *,
        selector: int = 0,
        ids: tuple[str, ...] = (),
        padding: np.ndarray | None = None,
        options: tuple[str, ...] = ("--check=none",),
    ) -> np.ndarray:
        """D as codes [trial, row, column]."""
        trials = batch.a.shape[0]
        path = mtlc_exec.write_source("form.ptx", self.module(*self.target(), selector=selector, ids=ids))
        out = mtlc_exec.Output(self.d.dtype, (trials, self.d.registers, LANES))
        pads = (padding, padding) if padding is not None else (None, None)
        inputs = [self.a.pack(batch.a, pads[0]), self.b.pack(batch.b, pads[1]), self.c.pack(batch.c)]
        inputs += [np.ascontiguousarray(e, np.uint32) for e in batch.extra]
        result = mtlc_exec.launch(path, "k", [out, *inputs], grid=trials, block=LANES, options=list(options))
        if result.returncode != 0:
            raise AssertionError(f"{self.name}\n{result.stderr}")
        return self.d.unpack(result[out].astype(np.uint64))

    # ---- What the operands mean ----

    def metadata(self, rng: np.random.Generator, trials: int, selector: int) -> tuple[np.ndarray, np.ndarray]:
        """Random metadata registers [trial, lane], and for each kept element of A its logical column."""
        layout = self.layout
        chunks, width = layout["chunks_per_row"], layout["chunk_width"]
        kept = layout["kept_per_chunk"]
        table = DOC["index_codes"][layout["sparsity"]]
        codes = sorted(int(c) for c in table)
        pick = rng.integers(0, len(codes), (trials, 16, chunks))
        positions = np.array([table[str(c)] for c in codes])
        place = np.array(layout["E"][str(selector)])  # [row][chunk] -> lane, lsb
        words = rng.integers(0, 1 << 32, (trials, LANES), dtype=np.uint64)
        value = np.array(codes, np.uint64)[pick]
        for row in range(16):
            for chunk in range(chunks):
                lane, lsb = place[row, chunk]
                clear = ~(np.uint64(15) << np.uint64(lsb))
                words[:, lane] = (words[:, lane] & clear) | value[:, row, chunk] << np.uint64(lsb)
        logical = positions[pick] + (np.arange(chunks) * width)[None, None, :, None]
        return words, logical.reshape(trials, 16, chunks * kept)

    def scales(self, rng: np.random.Generator, codes: np.ndarray, side: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scale registers [trial, lane] and the factors [trial, row or column, block]. ids: [trial, (byte, thread)]."""
        trials, blocks = len(ids), self.scale["blocks"]
        count = 16 if side == "SFA" else 8
        chosen = rng.choice(codes, (trials, count, blocks)).astype(np.uint64)
        words = rng.integers(0, 1 << 32, (trials, LANES), dtype=np.uint64)
        maps = {(m["byte_id"], m["thread_id"]): m["map"] for m in DOC["block_scale"][self.scale["vec"]][side]}
        for trial, (byte_id, thread) in enumerate(ids):
            place = maps[int(byte_id), int(thread)]
            for row in range(count):
                for block in range(blocks):
                    lane, byte = place[row][block]
                    shift = np.uint64(8 * byte)
                    words[trial, lane] = (words[trial, lane] & ~(np.uint64(255) << shift)) | chosen[trial, row, block] << shift
        return words, decode(self.scale["type"], chosen)


def forms(spellings: bool = False) -> list[Form]:
    out = []
    for row in DOC["forms"]:
        out += [Form(row, name) for name in [row["name"], *(row.get("also_spelled", []) if spellings else [])]]
    return out
