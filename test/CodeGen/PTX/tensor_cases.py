"""Products as operations on tiles, compiled to PTX and run on the simulator."""

import re
from dataclasses import dataclass, field

import mtlc_exec
import mtlc_testing
import numpy as np
import tensor_model as model
from tensor_product import Product

OUTPUTS = ("c", "d", "ldc", "ldd")
LINE = 128  # Bytes that a warp copies at a time.
STAGE = 20480  # Bytes of each array in workgroup memory.


def split_mma(line: str) -> tuple[dict[str, str], str, list[str]]:
    """Slots, shape and fields of a line `tensor.mma …`."""
    found = re.fullmatch(r"tensor\.mma (.*) \{(m\d+n\d+k\d+), (.*)\}", line)
    assert found, line
    slots = dict(slot.split("=") for slot in found[1].split(", "))
    return slots, found[2], found[3].split(", ")


def chain(lines: list[str], serial: int, acc: str, epilogues: tuple[str, ...] = ()) -> list[str]:
    """The operations on one tile that these products `tensor.mma` amount to: C and D are those of the first."""
    slots, shape, fields = split_mma(lines[0])
    m, n = re.findall(r"[mn](\d+)", shape)
    tile = f"tile<{m}x{n}x{acc}>"
    outputs = [f for f in fields if re.match(r"acc=|result=|layout_[cd]=|ld[cd]=|scope=", f)]
    operands = ", ".join(f"{s}={slots[s]}" for s in OUTPUTS if s in slots)
    name = f"%t{serial}_"
    out = [f"{name}0 = tensor.acc.begin {operands} {{m{m}n{n}, {', '.join(outputs)}}} : {tile}"]
    for line in lines:
        slots, shape, fields = split_mma(line)
        inputs = [f for f in fields if not re.match(r"layout_[cd]=|ld[cd]=", f)]
        operands = ", ".join(f"{s}={v}" for s, v in slots.items() if s not in OUTPUTS)
        out.append(
            f"{name}{len(out)} = tensor.acc.mma tile={name}{len(out) - 1}, {operands} "
            f"{{{shape}, {', '.join(inputs)}}} : {tile}"
        )
    for text in epilogues:
        slots_text, fields_text = text.split(" | ")
        out.append(
            f"{name}{len(out)} = tensor.acc.epilogue tile={name}{len(out) - 1}{slots_text} "
            f"{{m{m}n{n}, element={acc}{fields_text}}} : {tile}"
        )
    out.append(f"tensor.acc.commit {name}{len(out) - 1}")
    return out


@dataclass
class TileBatch(model.Batch):
    """Emits each product on a tile; with `workgroup`, A and B are copied to workgroup memory first."""

    workgroup: bool = False
    epilogues: tuple[str, ...] = ()
    acc: str = "f32"
    tiles: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def emit(self, line: str) -> None:
        if not line.startswith("tensor.mma"):
            super().emit(line)
            return
        if self.workgroup:
            for slot in ("a", "b"):
                line = re.sub(rf"\b{slot}=(%\w+)", lambda found: f"{slot}={self._staged(slot, found[1])}", line, count=1)
        for text in chain([line], self.tiles, self.acc, self.epilogues):
            super().emit(text)
        self.tiles += 1

    def _staged(self, slot: str, pointer: str) -> str:
        """A copy of what lies at the pointer, made by all lanes, over what was there for the last product."""
        assert self.sizes[pointer] <= STAGE, self.sizes[pointer]
        name = f"%s{slot}"
        for offset in range(0, self.sizes[pointer], LINE):
            index, source, word, target = (self.fresh() for _ in range(4))
            super().emit(f"{index} = add %lane64, {self.constant(offset // 4, 'i64')} : i64")
            super().emit(f"{source} = ptr.add {pointer}, {index} x i32 : ptr<global>")
            super().emit(f"{word} = load i32, {source} : ptr<global>")
            super().emit(f"{target} = ptr.add {name}, {index} x i32 : ptr<workgroup>")
            super().emit(f"store i32, {word}, {target} : ptr<workgroup>")
        return name

    def input(self, data: np.ndarray, align: int = 64, skew: int = 0) -> str:
        padded = np.concatenate([data, np.full(-len(data) % LINE, 0xCD, np.uint8)]) if self.workgroup else data
        pointer = super().input(padded, align, skew)
        self.sizes[pointer] = len(padded)
        return pointer

    def text(self) -> str:
        lane = ["%lane = subgroup.local_id : i32", "%lane64 = zext %lane : i32 to i64"]
        arrays = [f"%s{x} = alloc.workgroup i8[{STAGE}] : ptr<workgroup>" for x in "ab"]
        self.lines, own = [*(arrays if self.workgroup else []), *lane, *self.lines], self.lines
        try:
            return super().text()
        finally:
            self.lines = own


@dataclass
class OnSimulator:
    """Stands for the test in Batch.run(): launches what mtlc-llc makes of the kernel for a target."""

    test: mtlc_exec.TestCase
    arch: str
    options: tuple[str, ...] = ()
    ptx: str = ""

    def __post_init__(self) -> None:
        self.subTest = self.test.subTest
        self.assertEqual = self.test.assertEqual

    def launch(self, path: str, *args, device: str = "", options: tuple[str, ...] = (), **how) -> mtlc_exec.Result:
        del device, options
        output = mtlc_exec.write_source("tiles.ptx", "")
        done = mtlc_testing.run("mtlc-llc", path, f"-march={self.arch}", "-o", output, *self.options)
        self.test.assertEqual(done.returncode, 0, done.stderr)
        with open(output, encoding="utf-8") as file:
            self.ptx = file.read()
        return self.test.launch(output, *args, device="sim", **how)


def run(test: mtlc_exec.TestCase, batch: model.Batch, arch: str, *options: str, exact: bool = True) -> str:
    """Compiles for the target, runs on the simulator and compares; the PTX."""
    there = OnSimulator(test, arch, options)
    batch.run(there, exact=exact)  # type: ignore[arg-type]
    return there.ptx


class Exact(Product):
    """One whose result the order of sums does not change."""

    logical = False  # A byte for each value of formats that are packed by default, too.
    small_scales = False  # Few, so that sums stay exact.

    def __post_init__(self) -> None:
        if not self.logical:
            super().__post_init__()

    def _scale_codes(self, rng: np.random.Generator, side: int, mode: str, name: str) -> np.ndarray | None:
        codes = super()._scale_codes(rng, side, mode, name)
        if codes is None or not self.small_scales:
            return codes
        if name == "ue8m0":
            return rng.integers(125, 130, codes.shape, dtype=np.uint64)
        exponent = rng.integers(5, 10, codes.shape, dtype=np.uint64)  # Bit 7 means nothing.
        return exponent << np.uint64(3) | rng.integers(0, 2, codes.shape, dtype=np.uint64) << np.uint64(7)


def product(*, logical: bool = False, small_scales: bool = False, **fields) -> Exact:
    kind = type("Exact", (Exact,), {"logical": logical, "small_scales": small_scales})
    fields.setdefault("kind", "integers")
    fields.setdefault("result", fields.get("acc", "f32"))
    return kind(**fields)
