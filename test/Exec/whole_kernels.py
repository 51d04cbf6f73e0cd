"""Whole kernels by lot: Mettle programs that combine tensor operations, scalar code, staging, transfers, control flow and helpers,
and what they leave behind. Here are tensor operations and scalar code, and who has to wait for whom."""

import numpy as np
import tensor_model as model
import whole_values as values
from tensor_product import random_codes
from whole_nodes import Action, Helper, Line, Node, State
from whole_values import Family, Inexact, Matrix

FAMILIES = [
    Family("f16", "f16", "f32", "f32"), Family("f16", "f16", "f32", "f32"), Family("f16", "f16", "f16", "f16"),
    Family("f16", "f16", "f32", "f16"), Family("bf16", "bf16", "f32", "f32"), Family("bf16", "bf16", "f32", "bf16"),
    Family("tf32", "tf32", "f32", "f32"), Family("f64", "f64", "f64", "f64"), Family("f64", "f64", "f64", "f64", rounding="up"),
    Family("i8", "i8", "i32", "i32"), Family("u8", "i8", "i32", "i32", overflow="saturate"), Family("i8", "u8", "i32", "i32"),
    Family("i4", "u4", "i32", "i32"), Family("u4", "i4", "i32", "i32", dense=(True, True)), Family("b1", "b1", "i32", "i32", math="xor_popcount", dense=(True, True)),
    Family("b1", "b1", "i32", "i32", math="and_popcount", dense=(True, True)), Family("e4m3", "e5m2", "f32", "f32"),
    Family("e2m3", "e3m2", "f32", "f16"), Family("e2m1", "e4m3", "f32", "f32", dense=(True, False)),
    Family("e4m3", "e4m3", "f32", "f32", scales=("block32", "block32")),
    Family("e2m1", "e2m1", "f32", "f32", scales=("block16", "block16"), scale_format="ue4m3", dense=(True, True)),
    Family("e5m2", "e2m3", "f32", "bf16", scales=("tensor", "block32")),
    Family("f16", "f16", "f32", "f32", sparsity="structured_2_to_4"), Family("bf16", "bf16", "f32", "f32", sparsity="structured_4_to_8"),
    Family("tf32", "tf32", "f32", "f32", sparsity="structured_1_to_2"), Family("i8", "i8", "i32", "i32", sparsity="structured_2_to_4"),
]  # fmt: skip
NATIVE = [8, 16, 16, 24, 32, 48, 64]
ODD = [1, 2, 3, 5, 7, 13, 17, 19, 21, 23, 33]


# Who has touched a matrix since it was ordered for all of its owners: kind of access and r or w.
Access = tuple[str, str]
UNKNOWN: Access = ("?", "w")


class Kernel:
    """One kernel. `rng` decides everything."""

    def __init__(self, name: str, rng: np.random.Generator, prefix: str) -> None:
        self.name, self.rng, self.prefix = name, rng, prefix
        self.blocks = int(rng.choice([1, 1, 2]))
        self.threads = int(rng.choice([32, 32, 64, 64, 96, 128, 40, 33, 72, 20]))
        self.plane = self.threads % 4 == 0 and self.chance(20)
        self.warps = -(-self.threads // 32)
        self.full = self.threads // 32  # Full subgroups.
        self.matrices: list[Matrix] = []
        self.parameters: dict[tuple[int, str], str] = {}
        self.nodes: list[Node] = []
        self.here = self.nodes
        self.touched: dict[Matrix, set[Access]] = {}
        self.base_unknown: set[str] = set()  # Spaces where anything may have been touched.
        self.guard: int | None = None  # Under a condition that holds for this subgroup only.
        self.loops: list[str] = []
        self.helpers: list[Helper] = []
        self.locked: dict[Matrix, str] = {}  # Copies under way: "r" may be read, "" not touched.
        self.names = 0
        self.shared = 0
        self.families = [FAMILIES[i] for i in rng.choice(len(FAMILIES), 1 + int(rng.integers(0, 2)), replace=False)]
        odd = self.chance(35)
        pool = ODD if odd else NATIVE
        self.sizes = [int(x) for x in rng.choice(pool, 3)]
        if self.chance(15):
            self.sizes[0] = int(rng.choice(ODD))

    # ---- Lots ----

    def chance(self, percent: float) -> bool:
        return self.rng.random() * 100 < percent

    def pick(self, choices):
        return choices[int(self.rng.integers(0, len(choices)))]

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def number(self, value: int, kind: str = "int32", runtime: int = 40) -> str:
        """A constant, or a parameter of this value."""
        if not self.chance(runtime):
            return str(value)
        key = (value, kind)
        if key not in self.parameters:
            self.parameters[key] = f"p{len(self.parameters)}"
        return self.parameters[key]

    # ---- Matrices ----

    def matrix(self, name: str, rows: int, cols: int, owner: str, *, space: str = "global", input_only: bool = False,
               tight: bool = False, kind: str = "small") -> Matrix:  # fmt: skip
        m = Matrix(self.fresh("m"), name, rows, cols, owner, space)
        size = model.SIZES[name][1]
        m.order = "row" if tight else self.pick(["row", "col"])
        m.extra["input"] = input_only
        lead = m.least() + (0 if tight else int(self.rng.integers(0, 5)))
        if self.chance(75):  # For tensor.mma.
            lead = -(-lead * size // 16) * 16 // size if not tight else lead
        m.leading = lead
        copies = {"all": 1, "workgroup": self.blocks, "subgroup": self.blocks * self.warps}[owner]
        self.fill(m, copies, kind)
        self.place(m)
        self.matrices.append(m)
        return m

    def place(self, m: Matrix) -> None:
        """Room: copies at multiples of 64 bytes, apart."""
        size = 1 if m.dense else model.SIZES[m.format][1]
        per = 64 // size
        m.stride = -(-(m.span() + 2) // per) * per
        m.arena = m.runtime_leading = ""
        if m.space == "workgroup":
            m.offset = 0
            m.extra["elements"] = m.stride * (self.warps if m.owner == "subgroup" else 1)
            self.shared += m.extra["elements"] * size
        elif self.chance(30):
            m.arena = f"g_{m.pointer}"
            others = [x for x in self.matrices if x.arena == m.arena and x is not m]
            m.offset = max((x.offset + x.stride * len(x.values) for x in others), default=per)
        else:
            m.offset = per * int(self.rng.integers(0, 3) == 0)
        if m.space == "global" and self.chance(30) and not m.dense:
            m.runtime_leading = self.number(m.leading, self.pick(["int32", "int64"]), 100)

    def fill(self, m: Matrix, copies: int, kind: str) -> None:
        shape = (copies, m.rows, m.cols)
        if m.format in ("i8", "u8", "f16", "bf16", "f32", "tf32", "f64", "i32"):
            low = 0 if m.format == "u8" else -2
            m.values = self.rng.integers(low, 3, shape).astype(np.float64)
            if kind == "ones":
                m.values = (self.rng.random(shape) < 0.2).astype(np.float64)
            m.extra["initial"] = m.values.copy()
            return
        name = m.format
        codes = np.stack([random_codes(self.rng, name, (m.rows, m.cols), "integers") for _ in range(copies)])
        m.codes = codes
        m.values = model.decode(name, codes).astype(np.float64)
        m.extra["initial"] = m.values.copy()

    def leading(self, m: Matrix) -> str:
        return m.runtime_leading or str(m.leading)

    def index(self, m: Matrix, r: str, c: str) -> str:
        ld = self.leading(m)
        if m.runtime_leading:
            ld = f"(int32){ld}"
        return f"{r} * {ld} + {c}" if m.order == "row" else f"{c} * {ld} + {r}"

    def copies(self, state: State, m: Matrix) -> list[int]:
        """The copies that the active work-items own."""
        if m.owner == "all":
            return [0]
        if m.owner == "workgroup":
            return list(state.active)
        return [b * self.warps + w for b, ws in state.active.items() for w in ws]

    def copy_of(self, m: Matrix, block: int, warp: int) -> int:
        return {"all": 0, "workgroup": block, "subgroup": block * self.warps + warp}[m.owner]

    # ---- Order between work-items ----

    def reach(self, accesses: list[tuple[Matrix, str, str]]) -> bool:
        """Notes accesses; a barrier comes first where one is needed. False if none can stand here."""
        for m, _, rw in accesses:
            if m in self.locked and (rw == "w" or not self.locked[m]):
                return False
        needed = [m for m, kind, rw in accesses if self.conflicts(m, kind, rw)]
        if needed or (self.guard is None and self.chance(4)):
            if self.guard is not None:
                return False
            self.barrier(set().union(*(m.spaces for m in needed)) or {self.pick(["global", "workgroup"])})
        if self.guard is None and any(kind == "wg" for _, kind, _ in accesses):
            self.touched.clear()
            self.base_unknown = set()
            return True
        for m, kind, rw in accesses:
            if m.owner == "all":
                continue
            self.touched.setdefault(m, set()).add((kind, rw))
        return True

    def conflicts(self, m: Matrix, kind: str, rw: str) -> bool:
        if m.owner == "all" or kind == "wg":
            return False
        before = set(self.touched.get(m, set()))
        if m.spaces & self.base_unknown:
            before.add(UNKNOWN)
        for other, other_rw in before:
            if rw == "r" and other_rw == "r":
                continue
            if kind == other and kind in ("elem", "wg", *[f"sub{w}" for w in range(4)]):
                continue
            if m.owner == "subgroup" and (kind.startswith("sub") or other.startswith("sub")):
                continue
            return True
        return False

    def barrier(self, spaces: set[str]) -> None:
        if self.chance(30):
            spaces = {"global", "workgroup"}
        words = sorted(spaces)
        order = self.pick(["", "acq_rel", "seq_cst"])
        self.here.append(Line(f"barrier({', '.join([*words, *([order] if order else [])])})"))
        for m in list(self.touched):
            if m.spaces <= spaces:
                del self.touched[m]
        self.base_unknown = self.base_unknown - spaces

    def forget(self) -> None:
        """Control flow meets: anything may have been done before."""
        self.touched.clear()
        self.base_unknown = {"global", "workgroup"}

    # ---- Products ----

    def find(self, name: str, rows: int, cols: int, owners: tuple[str, ...], *, write: bool = False,
             avoid: tuple[Matrix, ...] = (), dense: bool = False, aligned: bool = False) -> list[Matrix]:  # fmt: skip
        found = []
        for m in self.matrices:
            if m.format != name or m.owner not in owners or m in avoid or m.dense != dense:
                continue
            if write and (m.extra["input"] or m.owner == "all"):
                continue
            if aligned and not self.aligned(m):
                continue
            if (m.rows, m.cols) == (rows, cols) or (not write and (m.cols, m.rows) == (rows, cols) and not m.extra.get("fixed")):
                found.append(m)
        return found

    def aligned(self, m: Matrix) -> bool:
        size = 1 if m.dense else model.SIZES[m.format][1]
        bits = model.SIZES[m.format][0] if m.dense else size * 8
        return m.leading * bits % 128 == 0

    def operand(self, name: str, rows: int, cols: int, owners: tuple[str, ...], avoid: tuple[Matrix, ...], dense: bool,
                aligned: bool) -> tuple[Matrix, bool]:  # fmt: skip
        """A matrix that is rows × cols, or whose transpose is."""
        found = self.find(name, rows, cols, owners, avoid=avoid, dense=dense, aligned=aligned)
        written = [m for m in found if m.written]
        if written and self.chance(70):
            m = self.pick(written)
        elif found and self.chance(70):
            m = self.pick(found)
        else:
            m = self.make(name, rows, cols, "all" if self.chance(60) or len(owners) == 1 else self.pick(owners), dense, aligned)
        swapped = (m.rows, m.cols) != (rows, cols)
        if not swapped and m.rows == m.cols and self.chance(25) and not m.extra.get("fixed"):
            swapped = True
        return m, swapped

    def make(self, name: str, rows: int, cols: int, owner: str, dense: bool, aligned: bool) -> Matrix:
        m = self.matrix(name, rows, cols, owner, input_only=owner == "all" or name not in values.SCALARS)
        if dense:
            m.dense = True
            m.runtime_leading = ""
            m.order = self.pick(["row", "col"])
            m.leading = m.least()
        if aligned and not self.aligned(m):
            bits = model.SIZES[name][0] if dense else model.SIZES[name][1] * 8
            while m.leading * bits % 128:
                m.leading += 1
        if dense or aligned:
            self.place(m)
        return m

    def product(self) -> bool:
        family = self.pick(self.families)
        m, n, k = (self.pick(self.sizes) for _ in range(3))
        scope = "subgroup" if self.guard is not None or self.chance(60) else "workgroup"
        can_mma = self.full == self.warps or self.guard is not None and 0 <= self.guard < self.full
        matmul = not can_mma or self.chance(45)
        if family.sparsity != "dense":
            group = model.GROUPS[family.sparsity]
            k = -(-k // group) * group
        owners = ("all", "workgroup", "subgroup") if scope == "subgroup" else ("all", "workgroup")
        split = matmul and scope == "subgroup" and self.guard is None and self.warps > 1 and self.chance(30)
        if scope == "workgroup" or split or (self.guard is not None and self.guard >= 0 and self.chance(30)):
            home = "workgroup"
        else:
            home = "subgroup"
        if split:
            owners = ("all", "workgroup")
        targets = self.find(family.result, m, n, (home,), write=True, aligned=not matmul)
        targets = [x for x in targets if x not in self.locked]
        if targets and self.chance(80):
            d = self.pick(targets)
        else:
            d = self.make(family.result, m, n, home, False, not matmul)
        if (d.rows, d.cols) != (m, n):
            return False
        stored_k = k if family.sparsity == "dense" else k // 2
        plain = family.sparsity == "dense"
        a, swap_a = self.operand(family.a, m, stored_k, owners if plain else ("all",), (d,), family.dense[0], not matmul)
        b, swap_b = self.operand(family.b, k, n, owners, (d,), family.dense[1], not matmul)
        c = d
        if self.chance(25):
            more = [x for x in self.find(family.result, m, n, owners, avoid=(d,), aligned=not matmul) if (x.rows, x.cols) == (m, n)]
            c = self.pick(more) if more and self.chance(60) else self.make(family.result, m, n, "all", False, not matmul)
        if family.scales != ("none", "none") and a is b:
            return False
        options = [f"a_type: {family.a}", f"b_type: {family.b}", f"accumulator_type: {family.acc}", f"result_type: {family.result}"]
        for x, mat, swap in (("a", a, swap_a), ("b", b, swap_b)):
            order = mat.order if not swap else {"row": "col", "col": "row"}[mat.order]
            transpose = self.chance(30)
            if transpose:
                order = {"row": "col", "col": "row"}[order]
            options += [f"{x}_layout: {order}"] + ([f"transpose_{x}: true"] if transpose else [])
        options += [f"c_layout: {c.order}", f"d_layout: {d.order}"]
        options += [f"ld{x}: {self.leading(mat)}" for x, mat in zip("abcd", (a, b, c, d))]
        for x, mat, f, is_dense in (("a", a, family.a, family.dense[0]), ("b", b, family.b, family.dense[1])):
            if f in model.DENSE and not mat.dense:
                options.append(f"{x}_packing: logical")
            elif is_dense and f not in model.DENSE:
                options.append(f"{x}_packing: dense_subbyte")
        if family.math != "multiply_add":
            options.append(f"math: {family.math}")
        if family.overflow == "saturate":
            options.append("overflow: saturate_finite")
        if family.rounding != "default":
            options.append(f"rounding: {family.rounding}")
        if scope == "workgroup":
            options.append("scope: workgroup")
        reads = [a, b, c]
        there, scales = None, [None, None]
        if family.sparsity != "dense":
            meta = self.metadata(a, swap_a, m, k, family)
            there = meta.extra["there"]
            options += [f"sparsity: {family.sparsity}", f"metadata: {self.name_of(meta)}"]
        for side, mode in enumerate(family.scales):
            if mode == "none":
                continue
            mat = self.scale(side, mode, family.scale_format, (m, n)[side], k)
            scales[side] = mat.values[0]
            x = "ab"[side]
            options += [f"{x}_scale_mode: {'per_tensor' if mode == 'tensor' else mode}", f"{x}_scale_type: {family.scale_format}",
                        f"{x}_scale: {self.name_of(mat)}"]  # fmt: skip
            if mode != "tensor":
                options.append(f"lds{x}: {mat.leading}")
        blocks = [{"block16": 16, "block32": 32}.get(mode, 0) for mode in family.scales]

        kind = "wg" if scope == "workgroup" else f"sub{self.guard}" if self.guard is not None else "split" if split else "sub"
        if not self.reach([*[(x, kind, "r") for x in reads if x is not d], (d, kind, "w")]):
            return False
        d.written = True

        def inputs(state: State, block: int, warp: int) -> tuple:
            def value(x: Matrix, swap: bool) -> np.ndarray:
                x = state.of(x)
                v = x.values[self.copy_of(x, block, warp)]
                return v.T if swap else v

            av, bv = value(a, swap_a), value(b, swap_b)
            if there is not None:
                full = np.zeros(there.shape)
                full[there] = av.ravel()
                av = full
            for side in (0, 1):
                if scales[side] is None:
                    continue
                s = scales[side]
                if blocks[side]:
                    s = np.repeat(s, blocks[side], axis=1 - side)
                    s = s[:, :k] if side == 0 else s[:k]
                if side == 0:
                    av = av * s
                else:
                    bv = bv * s
            return av, bv, value(c, False), there

        def each(state: State):
            """The places that execute: workgroup, subgroup."""
            for block, warps in state.active.items():
                for warp in warps:
                    yield block, warp
                    if home == "workgroup" and not split:
                        break

        pa, pb, pc, pd = (self.name_of(x) for x in (a, b, c, d))
        if not matmul:
            options.insert(0, f"shape: m{m}n{n}k{k}" if self.chance(60) else f"m: {m}, n: {n}, k: {k}")

            def action(state: State) -> None:
                todo = []
                for block, warp in each(state):
                    av, bv, cv, th = inputs(state, block, warp)
                    x = state.of(d)
                    todo.append((x, self.copy_of(x, block, warp), values.product(av, bv, cv, family, th)))
                for x, copy, v in todo:
                    x.values[copy] = v

            self.here.append(Action([f"tensor_mma({pa}, {pb}, {pc}, {pd}, {', '.join(options)})"], action))
            return True
        rm, rn = (int(self.pick([8, 16, 32, 64, 5])) for _ in range(2))
        options.insert(0, f"shape: m{rm}n{rn}k{self.pick([8, 16, 32])}")
        whole_k = family.sparsity != "dense" or family.scales != ("none", "none")
        pm = m if self.chance(75) else int(self.rng.integers(0, m + 1))
        pn = n if self.chance(75) else int(self.rng.integers(0, n + 1))
        pk = k if whole_k or self.chance(75) else int(self.pick([0, 0, k // 2, k - 1]))
        wide = [self.pick(["uint32", "uint64"]) for _ in range(3)]
        size = ", ".join(self.number(v, w, 60) for v, w in zip((pm, pn, pk), wide))
        row, col = self.fresh("r"), self.fresh("c")
        first, step = (f"(uint32)warp * {rm}", rm * self.warps) if split else ("0", rm)
        lines = [
            f"for (var {row}: uint32 = {first}; {row} < {self.number(m, 'uint32')}; {row} += {step}) {{",
            f"  for (var {col}: uint32 = 0; {col} < {self.number(n, 'uint32')}; {col} += {rn}) {{",
            f"    tensor_matmul({pa}, {pb}, {pc}, {pd}, {row}, {col}, {size}, {', '.join(options)})",
            "  }",
            "}",
        ]
        single = not split and self.chance(35)
        r0, c0 = 0, 0
        if single:
            r0, c0 = (int(self.pick([0, 0, 8, 3, 100])) for _ in range(2))
            at = f"{self.number(r0, 'uint32')}, {self.number(c0, 'uint32')}"
            lines = [f"tensor_matmul({pa}, {pb}, {pc}, {pd}, {at}, {size}, {', '.join(options)})"]

        def action(state: State) -> None:
            todo = []
            for block, warp in each(state):
                av, bv, cv, th = inputs(state, block, warp)
                x = state.of(d)
                copy = self.copy_of(x, block, warp)
                th = th[:, :pk] if th is not None else None
                got = values.product(av[:pm, :pk], bv[:pk, :pn], cv[:pm, :pn], family, th)
                where = np.zeros(x.values[copy].shape, bool)
                if single:
                    where[r0 : r0 + rm, c0 : c0 + rn] = True
                elif split:
                    for r in range(warp * rm, m, step):
                        where[r : r + rm] = True
                else:
                    where[:] = True
                where[pm:] = False
                where[:, pn:] = False
                todo.append((x, copy, where, got))
            for x, copy, where, got in todo:
                new = x.values[copy].copy()
                grown = np.zeros(new.shape)
                grown[:pm, :pn] = got
                x.values[copy] = np.where(where, grown, new)

        self.here.append(Action(lines, action))
        return True

    def name_of(self, m: Matrix) -> str:
        return m.name

    def metadata(self, a: Matrix, swapped: bool, m: int, k: int, family: Family) -> Matrix:
        key = f"meta{swapped}{k}"
        if key not in a.extra:
            group = model.GROUPS[family.sparsity]
            legal = model.all_masks(group)
            masks = self.rng.choice(legal, (m, k // group))
            meta = Matrix(self.fresh("m"), "u8", m, k // group, "all", leading=k // group)
            meta.extra["input"] = True
            noise = self.rng.integers(0, 256, masks.shape) & ~((1 << group) - 1) & 255
            meta.codes = (masks | noise).astype(np.uint64)[None]
            meta.values = meta.codes.astype(np.float64)
            bits = (masks[:, :, None] >> np.arange(group)) & 1
            meta.extra["there"] = bits.reshape(m, k).astype(bool)
            meta.extra["fixed"] = True
            self.place(meta)
            meta.runtime_leading = ""
            self.matrices.append(meta)
            a.extra[key] = meta
        return a.extra[key]

    def scale(self, side: int, mode: str, name: str, outer: int, k: int) -> Matrix:
        count = 1 if mode == "tensor" else -(-k // (16 if mode == "block16" else 32))
        outer = 1 if mode == "tensor" else outer
        rows, cols = (outer, count) if side == 0 else (count, outer)
        s = Matrix(self.fresh("m"), name, rows, cols, "all", order=("row", "col")[side])
        s.leading = count + (0 if mode == "tensor" else int(self.rng.integers(0, 3)))
        s.extra["input"] = s.extra["fixed"] = True
        if name == "ue8m0":
            s.codes = self.rng.integers(126, 129, (1, rows, cols)).astype(np.uint64)
        else:
            s.codes = (self.rng.integers(6, 9, (1, rows, cols)) << 3 | self.rng.integers(0, 2, (1, rows, cols)) << 7).astype(np.uint64)
        s.values = model.decode(name, s.codes)
        self.place(s)
        s.runtime_leading = ""
        self.matrices.append(s)
        return s

    # ---- Epilogues ----

    def epilogue(self) -> bool:
        scope = "subgroup" if self.guard is not None or self.chance(60) else "workgroup"
        shared = scope == "workgroup" or self.guard is not None and self.guard >= 0 and self.chance(30)
        home = "workgroup" if shared else "subgroup"
        found = [m for m in self.matrices if m.owner == home and m.format in ("f16", "bf16", "f32", "f64") and not m.extra["input"]
                 and m not in self.locked]  # fmt: skip
        written = [m for m in found if m.written]
        if not found:
            return False
        d = self.pick(written if written and self.chance(85) else found)
        options = [f"shape: m{d.rows}n{d.cols}", f"element: {d.format}", f"layout: {d.order}", f"ldd: {self.leading(d)}"]
        mode = self.pick(["none", "row", "column", "matrix"])
        bias = None
        if mode != "none":
            rows, cols = {"row": (d.rows, 1), "column": (1, d.cols), "matrix": (d.rows, d.cols)}[mode]
            owners = ("all", "workgroup", "subgroup") if home == "subgroup" else ("all", "workgroup")
            more = [x for x in self.matrices if x.format == d.format and (x.rows, x.cols) == (rows, cols) and x.owner in owners and x is not d
                    and (mode == "matrix" or x.extra.get("vector"))]  # fmt: skip
            if more and self.chance(70):
                bias = self.pick(more)
            else:
                bias = self.matrix(d.format, rows, cols, "all", input_only=True, tight=mode != "matrix")
                if mode != "matrix":  # One after another.
                    bias.extra["vector"] = bias.extra["fixed"] = True
                    bias.order = "row" if mode == "column" else "col"
                    bias.leading = bias.least()
                    self.place(bias)
                    bias.runtime_leading = ""
            options += [f"bias_mode: {mode}", f"bias: {self.name_of(bias)}"]
            if mode == "matrix":
                options += [f"bias_layout: {bias.order}", f"ldbias: {self.leading(bias)}"]
        suffix = "" if d.format == "f64" else "f"
        alpha = self.pick([None, None, 0.5, -1.0, 2.0])
        beta = self.pick([None, 0.5, -1.0, 3.0]) if bias is not None else None
        if alpha is not None:
            options.append(f"alpha: {alpha}{suffix}")
        if beta is not None:
            options.append(f"beta: {beta}{suffix}")
        activation = self.pick(["identity", "relu", "clamp", "clamp"])
        lo, hi = -2.0, 3.0
        if activation != "identity":
            options.append(f"activation: {activation}")
        if activation == "clamp":
            options += [f"clamp_min: {lo}{suffix}", f"clamp_max: {hi}{suffix}"]
        if scope == "workgroup":
            options.append("scope: workgroup")
        kind = "wg" if scope == "workgroup" else f"sub{self.guard}" if self.guard is not None else "sub"
        if not self.reach([*([(bias, kind, "r")] if bias else []), (d, kind, "w")]):
            return False
        d.written = True

        def action(state: State) -> None:
            x = state.of(d)
            for block, warps in state.active.items():
                for warp in warps if home == "subgroup" else warps[:1]:
                    copy = self.copy_of(x, block, warp)
                    y = state.of(bias) if bias else None
                    v = y.values[self.copy_of(y, block, warp)] if y else None
                    x.values[copy] = values.epilogue(d.format, x.values[copy], v, alpha, beta, activation, lo, hi)

        self.here.append(Action([f"tensor_epilogue({self.name_of(d)}, {', '.join(options)})"], action))
        return True

    # ---- Scalar code ----

    def load(self, m: Matrix, r: str, c: str) -> str:
        element = f"{self.name_of(m)}[{self.index(m, r, c)}]"
        return {"f16": f"h2f({element})", "bf16": f"bf2f({element})"}.get(m.format, element)

    def store_text(self, m: Matrix, r: str, c: str, value: str) -> str:
        value = {"f16": f"f2h({value})", "bf16": f"f2bf({value})", "i8": f"(int8)({value})", "u8": f"(uint8)({value})"}.get(m.format, value)
        return f"{self.name_of(m)}[{self.index(m, r, c)}] = {value}"

    def elementwise(self, target: Matrix | None = None) -> bool:
        homes = ("subgroup",) if self.guard is not None else ("subgroup", "workgroup")
        found = [m for m in self.matrices if m.owner in homes and m.scalar and not m.extra["input"] and m not in self.locked]
        if not found:
            return False
        x = target or self.pick(found)
        owners = ("all", "workgroup", "subgroup") if x.owner == "subgroup" else ("all", "workgroup")
        sources = [m for m in self.matrices if m.owner in owners and m.scalar and not m.extra.get("fixed") and m is not x
                   and {(m.rows, m.cols), (m.cols, m.rows)} & {(x.rows, x.cols)}]  # fmt: skip
        if self.guard is not None:
            sources = [m for m in sources if m.owner != "workgroup"]
        written = [m for m in sources if m.written]
        y = self.pick(written) if written and self.chance(75) else self.pick(sources) if sources and self.chance(80) else None
        swapped = y is not None and ((y.rows, y.cols) != (x.rows, x.cols) or (y.rows == y.cols and self.chance(25)))
        kind = x.scalar
        r, c, e = self.fresh("r"), self.fresh("c"), self.fresh("e")
        own = self.load(x, r, c)
        other = self.load(y, *((c, r) if swapped else (r, c))) if y else "1"
        if y and y.scalar != kind:
            other = f"(int32)({other})" if kind == "int32" else f"({kind})({other})"
        f = "f" if kind == "float32" else ""
        if kind == "int32":
            forms = [
                (f"({own} & 3) - 1", lambda a, b: np.mod(np.floor(a), 4) - 1),
                (f"(({own} + {other}) & 3) - 1", lambda a, b: np.mod(a + b, 4) - 1),
                (f"{own} + {other}", lambda a, b: a + b),
                (f"({other} & 1) - {own}", lambda a, b: np.mod(b, 2) - a),
                (f"({other} & 3) - 2", lambda a, b: np.mod(b, 4) - 2),
            ]
        else:
            fold = lambda v: f"({v} - floor{f}({v} * 0.25{f}) * 4.0{f} - 1.0{f})"  # noqa: E731
            number = lambda v: v - np.floor(v * 0.25) * 4 - 1  # noqa: E731
            forms = [
                (fold(own), lambda a, b: number(a)),
                (fold(f"({own} + {other})"), lambda a, b: number(a + b)),
                (fold(other), lambda a, b: number(b)),
                (f"{own} + {other}", lambda a, b: a + b),
                (f"{other} - {own}", lambda a, b: b - a),
                (f"{own} * 0.5{f}", lambda a, b: a * 0.5),
            ]
        text, compute = self.pick(forms[:3] if self.chance(55) else forms)
        # Rows that count, and elements of some work-items only.
        rows = x.rows if self.chance(75) else int(self.rng.integers(0, x.rows + 1))
        some = self.pick([None, None, None, 2, 3])
        own_kind = "elem"
        if x.owner == "subgroup":
            first, step = self.pick([("(int32)lane", "32"), ("(int32)lane", "(int32)subgroup_size()")]), None
            first, step = first
            if self.full != self.warps:
                step = "lanes"
        else:
            first, step = "tid", self.pick([str(self.threads), "threads"])
        accesses = [(x, own_kind, "w")]
        if y:
            # Elements that another work-item has: of the same matrix of different owners, or the other way round.
            other_kind = "elem" if not swapped and y.owner == x.owner and (y.rows, y.cols) == (x.rows, x.cols) else "cross"
            accesses.append((y, other_kind, "r"))
        if not self.reach(accesses):
            return False
        x.written = True
        body = [
            f"var {r}: int32 = {e} / {x.cols}",
            f"var {c}: int32 = {e} % {x.cols}",
        ]
        assign = self.store_text(x, r, c, text)
        conditions = []
        if rows != x.rows:
            conditions.append(f"{r} < {self.number(rows)}")
        if some:
            conditions.append(f"({r} + {c}) % {some} == 0" if self.chance(50) else f"!(({r} + {c}) % {some} != 0)")
        if conditions and self.chance(50):
            body += [f"if ({' && '.join(conditions)}) {{ {assign} }}"]
        elif conditions:
            body += [*(f"if (!({q})) {{ continue }}" for q in conditions), assign]
        else:
            body += [assign]
        lines = [f"for (var {e}: int32 = {first}; {e} < {x.rows * x.cols}; {e} += {step}) {{", *("  " + s for s in body), "}"]

        def action(state: State) -> None:
            xx, yy = state.of(x), state.of(y) if y else None
            for block, warps in state.active.items():
                for warp in warps if x.owner == "subgroup" else warps[:1]:
                    copy = self.copy_of(xx, block, warp)
                    a = xx.values[copy]
                    b = np.ones(a.shape)
                    if yy is not None:
                        b = yy.values[self.copy_of(yy, block, warp)]
                        b = b.T if swapped else b
                        b = np.trunc(b) if kind == "int32" else values.to_format("f32", b) if kind == "float32" else b
                    where = np.zeros(a.shape, bool)
                    where[:rows] = True
                    if some:
                        rr, cc = np.indices(a.shape)
                        where &= (rr + cc) % some == 0
                    with np.errstate(invalid="ignore"):
                        new = compute(a, b)
                    if kind == "float32" and np.abs(new).max(initial=0) > 2**20 or np.abs(b).max(initial=0) > 2.0**31:
                        raise Inexact("large")
                    xx.values[copy] = np.where(where, values.to_format(x.format, new), a)

        self.here.append(Action(lines, action))
        return True
