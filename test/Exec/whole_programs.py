"""Whole kernels by lot, continued: control flow, helpers, staging, transfers; modules, and how they are launched."""

import copy
import re
from dataclasses import dataclass

import numpy as np
import tensor_model as model
import whole_values as values
from whole_kernels import Kernel
from whole_nodes import Action, Call, Helper, If, Jump, Line, Loop, Node, State, indented, run_all
from whole_values import Inexact, Matrix

# Element types of tensor maps.
MAPPED = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "u8", "u8": "u8", "i32": "u32"}
SCALARS = {"tid": "int32", "lane": "uint32", "lanes": "int32", "warp": "int32", "threads": "int32", "odd": "uint8*"}
NAME = re.compile(r"\b(m\d+|p\d+|v\d+|it\d+|s_m\d+|b_m\d+|tid|lane|lanes|warp|threads|odd)\b(?!:)")


@dataclass
class WarpLoop(Loop):
    """A loop with a number of rounds for each subgroup."""

    factor: int = 1

    def run(self, state: State) -> None:
        before = state.active
        for i in range(self.trips * self.factor + 8):
            active = {b: [w for w in ws if i < (w & 1) * self.factor + self.trips] for b, ws in before.items()}
            state.active = {b: ws for b, ws in active.items() if ws}
            if not state.active:
                break
            state.variables[self.name] = i
            run_all(self.body, state)
        state.active = before


@dataclass
class Leave(Node):
    """Subgroups from `first` on end."""

    first: int

    def text(self) -> list[str]:
        return [f"if (warp >= {self.first}) {{ return }}"]

    def run(self, state: State) -> None:
        state.active = {b: [w for w in ws if w < self.first] for b, ws in state.active.items()}


class Program(Kernel):
    """A kernel with everything."""

    def build(self) -> None:
        self.staged: list[Matrix] = []  # Arrays in workgroup memory.
        self.stacks: list[Matrix] = []
        self.dumps: list[tuple[Matrix, Matrix]] = []
        self.views: list[tuple[str, Matrix, str]] = []  # Name, of which matrix, and the rest of its description.
        self.depth = 0
        for _ in range(int(self.rng.integers(0, 3))):
            self.resident()
        self.barrier({"workgroup", "global"})
        for _ in range(int(self.rng.integers(3, 9))):
            self.attempt(self.statement)
        for inside, outside in self.dumps:
            self.dump(inside, outside)
        if self.warps > 1 and self.chance(15):
            first = int(self.rng.integers(1, self.warps + 1))
            self.barrier({"workgroup", "global"})
            self.here.append(Leave(first))
            self.guard = -1
            for _ in range(3):
                self.attempt(self.plain)

    def everyone(self) -> State:
        return State({b: list(range(self.warps)) for b in range(self.blocks)})

    def attempt(self, make) -> None:
        """Adds what `make` makes, if it is exact."""
        count, touched, unknown = len(self.nodes), {m: set(t) for m, t in self.touched.items()}, set(self.base_unknown)
        made = len(self.matrices)
        before = {m: (m.values.copy(), m.written) for m in self.matrices}
        make()
        state = self.everyone()
        for node in self.nodes:
            if isinstance(node, Leave):
                node.run(state)
        try:
            run_all([n for n in self.nodes[count:] if not isinstance(n, Leave)], state)
        except Inexact:
            del self.nodes[count:]
            self.touched, self.base_unknown = touched, unknown
            for m in self.matrices[made:]:
                m.values, m.written = m.extra.get("initial", m.values).copy(), False
            self.matrices = [m for m in self.matrices if m in before or m.space == "global"]
            for m, (v, w) in before.items():
                m.values, m.written = v, w

    # ---- Control ----

    def nested(self, count: int) -> list[Node]:
        """Statements of a new block."""
        outer, self.here = self.here, []
        staged = len(self.staged)
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1
        inner, self.here = self.here, outer
        for m in self.staged[staged:]:  # What they hold outside is not known.
            if m in self.matrices:
                self.matrices.remove(m)
        return inner

    def plain(self) -> bool:
        lot = self.rng.random()
        return self.product() if lot < 0.55 else self.epilogue() if lot < 0.7 else self.elementwise()

    def statement(self) -> None:
        lot = self.rng.random() * 100
        deep = self.depth >= 3
        uniform = self.guard is None
        if lot < 45 or deep:
            self.plain()
        elif lot < 57:
            self.loop()
        elif lot < 64:
            self.condition()
        elif lot < 70 and uniform:
            self.one_subgroup()
        elif lot < 73 and uniform:
            self.subgroup_loop()
        elif lot < 79:
            self.helper()
        elif lot < 86 and uniform:
            self.transfer()
        elif lot < 89 and uniform and not self.locked:
            self.either()
        elif lot < 94 and uniform and not self.locked:  # Groups of copies are counted.
            self.staging()
        elif uniform and not self.locked:
            self.pipeline()

    def loop(self) -> None:
        trips = int(self.pick([0, 1, 2, 2, 3, 4]))
        name = self.fresh("it")
        if self.guard is None:
            self.forget()
        self.loops.append(name)
        body = self.nested(int(self.rng.integers(1, 4)))
        self.loops.pop()
        if self.guard is None:
            self.forget()
        if body and self.chance(20):
            word = self.pick(["break", "continue"])
            at = int(self.rng.integers(0, 3))
            jump = Jump(f"{name} == {self.number(at)}", lambda s: s.variables[name] == at, word)
            body.insert(self.pick([0, len(body)]), jump)  # Elsewhere copies may be under way.
        if body:
            self.here.append(Loop(name, self.number(trips, "int32", 70), trips, body, self.pick(["for", "range", "while"])
                                  if not any(isinstance(n, Jump) for n in body) else self.pick(["for", "range"])))  # fmt: skip

    def condition(self) -> None:
        lot = self.rng.random()
        if self.loops and lot < 0.4:
            name, q = self.pick(self.loops), int(self.rng.integers(0, 2))
            text, holds = f"{name} % 2 == {q}", lambda s, b, w: s.variables[name] % 2 == q
        elif lot < 0.6:
            text, holds = "block.x == 0", lambda s, b, w: b == 0
        else:
            v = int(self.rng.integers(0, 2))
            name = self.number(v, "int32", 100)
            text, holds = f"{name} != 0", lambda s, b, w: v != 0
        touched, unknown = {m: set(t) for m, t in self.touched.items()}, set(self.base_unknown)
        then = self.nested(int(self.rng.integers(1, 3)))
        after = self.touched
        self.touched, self.base_unknown = touched, unknown
        otherwise = self.nested(1) if self.chance(40) else []
        if self.guard is None:
            self.forget()
        else:
            for m, t in after.items():
                self.touched.setdefault(m, set()).update(t)
        if then or otherwise:
            self.here.append(If(text, holds, then, otherwise))

    def one_subgroup(self) -> None:
        w = int(self.rng.integers(0, self.warps))
        if self.chance(60):
            self.barrier({"workgroup", "global"})
        self.guard = w
        then = self.nested(int(self.rng.integers(1, 4)))
        self.guard = None
        if then:
            self.here.append(If(f"warp == {self.number(w)}", lambda s, b, q: q == w, then))

    def subgroup_loop(self) -> None:
        """The number of rounds differs from one subgroup to the next."""
        name, factor, trips = self.fresh("it"), int(self.pick([1, 2])), int(self.pick([0, 1]))
        self.guard = -1
        self.forget()
        body = self.nested(int(self.rng.integers(1, 3)))
        self.guard = None
        self.forget()
        if body:
            self.here.append(WarpLoop(name, f"(warp & 1) * {self.number(factor)} + {self.number(trips)}", trips, body, "for", factor))

    # ---- Helpers ----

    def types(self) -> dict[str, str]:
        out = dict(SCALARS)
        for m in [*self.matrices, *self.staged, *self.stacks]:
            out[m.name] = out["s_" + m.name] = out["b_" + m.name] = m.pointer + "*"
        for (_, kind), name in self.parameters.items():
            out[name] = kind
        for name, *_ in self.views:
            out[name] = "uint8*"
        return out

    def helper(self) -> None:
        if self.guard is None:
            self.forget()
        body = self.nested(int(self.rng.integers(1, 4)))
        if self.guard is None:
            self.forget()
        if not body:
            return
        text = "\n".join(indented(body))
        types = self.types()
        declared = set(re.findall(r"var ((?:it|m)\d+):|for (it\d+):", text))
        declared = {x for pair in declared for x in pair if x}
        used = list(dict.fromkeys(x for x in NAME.findall(text) if x not in declared))
        h = Helper(f"{self.prefix}h{len(self.helpers)}", self.pick(["", "@inline", "@inline!", "@noinline"]), body)
        h.parameters = [(x, types.get(x, "int32")) for x in used]
        self.helpers.append(h)
        self.here.append(Call(h, used, {}))
        if self.guard is None and self.chance(50):
            viewed = [m for _, m, _ in self.views]
            others = {m.name: m for m in self.matrices if m not in viewed}
            chosen: dict[Matrix, Matrix] = {}
            for x in used:
                m = others.get(x)
                if m and m.codes is None and not m.extra.get("fixed") and m.space == "global" and self.chance(60) and m not in self.locked:
                    chosen[m] = self.twin(m)
            self.barrier({"workgroup", "global"})
            names = {m.name: t.name for m, t in chosen.items()}
            self.here.append(Call(h, [names.get(x, x) for x in used], chosen))
            self.forget()

    def twin(self, m: Matrix, space: str = "") -> Matrix:
        """One more of the kind."""
        t = copy.copy(m)
        t.name, t.extra, t.space = self.fresh("m"), dict(m.extra), space or m.space
        runtime = m.runtime_leading
        self.fill(t, len(m.values), "small")
        self.place(t)
        t.runtime_leading = runtime
        t.written = m.written
        self.matrices.append(t)
        return t

    # ---- Workgroup memory ----

    def resident(self) -> None:
        """A matrix in workgroup memory, filled by scalar code, and written back at the end."""
        found = [f for f in self.families if f.a in values.SCALARS]
        if not found or self.shared > 20000:
            return
        family = self.pick(found)
        name = self.pick([family.result, family.result, family.a])
        rows, cols = self.pick(self.sizes), self.pick(self.sizes)
        owner = self.pick(["workgroup", "subgroup"])
        if rows * cols * model.SIZES[name][1] * (self.warps if owner == "subgroup" else 1) > 12000:
            return
        outside = self.matrix(name, rows, cols, owner)
        inside = self.matrix(name, rows, cols, owner, space="workgroup")
        inside.values = outside.values.copy()
        self.staged.append(inside)
        self.copy_scalar(inside, outside)
        self.dumps.append((inside, outside))

    def copy_scalar(self, to: Matrix, source: Matrix) -> None:
        first, step = ("(int32)lane", "lanes") if to.owner == "subgroup" else ("tid", "threads")
        e, r, c = self.fresh("e"), self.fresh("r"), self.fresh("c")

        def action(state: State) -> None:
            for k in self.copies(state, to):
                state.of(to).values[k] = state.of(source).values[k]

        self.here.append(Action([
            f"for (var {e}: int32 = {first}; {e} < {to.rows * to.cols}; {e} += {step}) {{",
            f"  var {r}: int32 = {e} / {to.cols}", f"  var {c}: int32 = {e} % {to.cols}",
            f"  {to.name}[{self.index(to, r, c)}] = {source.name}[{self.index(source, r, c)}]", "}"], action))  # fmt: skip
        self.touched.setdefault(to, set()).add(("elem", "w"))
        self.touched.setdefault(source, set()).add(("elem", "r"))

    def dump(self, inside: Matrix, outside: Matrix) -> None:
        if self.conflicts(inside, "elem", "r") or self.conflicts(outside, "elem", "w"):
            self.barrier({"workgroup", "global"})
        self.copy_scalar(outside, inside)
        self.here[-1].run(self.everyone())

    def array(self, like: Matrix, rows: int, cols: int, order: str, leading: int) -> Matrix | None:
        """A matrix in workgroup memory, whose values are those of each workgroup's."""
        w = Matrix(self.fresh("m"), like.format, rows, cols, "workgroup", "workgroup", order, leading, like.dense)
        self.place(w)
        if self.shared > 36000:
            return None
        w.values = np.zeros((self.blocks, rows, cols))
        w.extra["input"] = like.format not in values.SCALARS
        w.extra["there"] = None
        self.staged.append(w)
        return w

    def chunk(self, count: int, size: int) -> tuple[int, int] | None:
        """Elements for each work-item and bytes of a transaction."""
        for q in range(1, 257):
            if count % q == 0 and count // q <= self.threads and q * size % 4 == 0:
                return q, max(t for t in (4, 8, 16) if q * size % t == 0)
        return None

    def staging(self) -> None:
        """A matrix goes to workgroup memory asynchronously; something else happens meanwhile."""
        found = [m for m in self.matrices if m.space == "global" and m.owner != "subgroup" and not m.extra.get("fixed") and not m.extra.get("vector")
                 and m not in self.locked and not any(k.startswith("meta") for k in m.extra)]  # fmt: skip
        if not found:
            return
        g = self.pick(found)
        size = 1 if g.dense else model.SIZES[g.format][1]
        part = self.chunk(g.span(), size)
        if not part:
            return
        if g.offset * size % part[1] or g.stride * size % part[1]:
            return
        w = self.array(g, g.rows, g.cols, g.order, g.leading)
        if w is None or not self.reach([(g, "async", "r"), (w, "async", "w")]):
            return
        q, transaction = part
        cache = ", cache: global" if transaction == 16 and self.chance(30) else ""
        line = f"async_copy_workgroup({w.name} + tid * {q}, {g.name} + tid * {q}, {q}, transaction: {transaction}{cache})"
        if q * self.threads != g.span():
            line = f"if (tid * {q} < {g.span()}) {{ {line} }}"

        def action(state: State) -> None:
            for b in state.active:
                state.of(w).values[b] = state.of(g).values[b if g.owner == "workgroup" else 0]

        self.here += [Action([line], action), Line("async_copy_commit()")]
        if w.format not in values.SCALARS:
            w.codes = np.stack([g.codes[b if g.owner == "workgroup" else 0] for b in range(self.blocks)])
        self.locked.update({g: "r", w: ""})
        for _ in range(int(self.rng.integers(0, 3))):
            self.plain() if self.depth > 2 else self.pick([self.plain, self.loop])()
        del self.locked[g], self.locked[w]
        self.here.append(Line("async_copy_wait(0)"))
        if g.owner != "all":  # Until now the source was read, whatever has been ordered meanwhile.
            self.touched.setdefault(g, set()).add(("async", "r"))
        self.barrier({"workgroup"})
        w.written = True
        self.matrices.append(w)

    def transfer(self) -> None:
        """A tile between global and workgroup memory, partly out of range."""
        store = self.chance(45)
        if store:
            inside = [m for m in self.matrices if m.space == "workgroup" and m.owner == "workgroup" and m.order == "row" and m.leading == m.cols
                      and not m.dense and m not in self.locked and m.codes is None]  # fmt: skip
            if not inside:
                return
            w = self.pick(inside)
            outside = [m for m in self.matrices if m.space == "global" and m.owner == "workgroup" and m.format == w.format and m.order == "row"
                       and not m.extra["input"] and m not in self.locked]  # fmt: skip
            g = self.pick(outside) if outside and self.chance(50) else self.mappable(w.format)
        else:
            outside = [m for m in self.matrices if m.space == "global" and m.owner != "subgroup" and m.order == "row" and not m.dense
                       and m.codes is None and m not in self.locked and not m.extra.get("vector")]  # fmt: skip
            if not outside or self.chance(30):
                outside = [self.mappable()]
            g = self.pick(outside)
            cols = self.pick([g.cols, *self.sizes])
            if self.chance(50):
                cols += -cols % (16 // model.SIZES[g.format][1])
            w = self.array(g, self.pick([g.rows, *self.sizes]), cols, "row", 0)
            if w is None:
                return
            w.leading = w.cols
            self.place(w)
        size = model.SIZES[g.format][1]
        x, y = (int(self.pick([0, 0, 1, -1, 3, -5, 8])) for _ in range(2))
        step = int(self.pick([1, 1, 1, 2])) if not store else 1
        if not self.reach([(g, "wg", "w" if store else "r"), (w, "wg", "r" if store else "w")]):
            return
        view = self.pick(["0", "0", "odd + 8", "odd + 1"])
        if self.describable(g, w, step) and self.chance(70):
            view = self.view(g, w, step)
        ends = (w.name, g.name) if not store else (g.name, w.name)
        options = [
            "rank: 2", f"element: {g.format}", f"direction: {'store' if store else 'load'}", f"extent0: {self.number(g.cols)}",
            f"extent1: {self.number(g.rows, 'int64')}", f"stride1: {self.number(g.leading * size, 'int64')}", f"tile0: {w.cols}", f"tile1: {w.rows}",
            f"coordinate0: {self.number(x)}", f"coordinate1: {self.number(y)}", f"view: {view}",
        ]  # fmt: skip
        if step != 1:
            options.append(f"element_stride1: {step}")

        def action(state: State) -> None:
            gg, ww = state.of(g), state.of(w)
            for b in state.active:
                tensor, tile = gg.values[b if g.owner == "workgroup" else 0], ww.values[b]
                for r in range(w.rows):
                    row = y + r * step
                    for c in range(w.cols):
                        there = 0 <= row < g.rows and 0 <= x + c < g.cols
                        if store and there:
                            tensor[row, x + c] = tile[r, c]
                        elif not store:
                            tile[r, c] = tensor[row, x + c] if there else 0.0

        self.here.append(Action([f"tensor_transfer_workgroup({', '.join([*ends, *options])})"], action))
        g.written = g.written or store
        if not store:
            w.written = True
            self.matrices.append(w)

    def either(self) -> None:
        """A pointer that a parameter decides about: to a matrix in workgroup memory, or to one like it in global memory."""
        inside = [m for m in self.matrices if m.space == "workgroup" and m.codes is None and not m.dense]
        if not inside:
            return
        w = self.pick(inside)
        g = self.twin(w, "global")
        m = copy.copy(w)
        m.name, m.space, m.extra, m.runtime_leading = self.fresh("m"), "generic", dict(w.extra), ""
        chosen = int(self.rng.integers(0, 2))
        name = self.number(chosen, "int32", 100)
        self.barrier({"workgroup", "global"})

        def choose(state: State) -> None:
            state.matrices = {**state.matrices, m: state.of((g, w)[chosen])}

        self.here.append(Action([f"var {m.name}: {m.pointer}* = {g.name}", f"if ({name} != 0) {{ {m.name} = {w.name} }}"], choose))
        self.locked.update({g: "", w: ""})
        self.matrices.append(m)
        self.here += self.nested(int(self.rng.integers(2, 5)))
        self.matrices.remove(m)
        self.touched.pop(m, None)
        del self.locked[g], self.locked[w]
        self.barrier({"workgroup", "global"})

    def mappable(self, name: str = "") -> Matrix:
        """A new matrix that transfers read or write, which a tensor map may stand for."""
        family = self.pick(self.families)
        if not name:
            name = family.a if family.a in values.SCALARS else family.result
        m = self.matrix(name, self.pick(self.sizes), self.pick(self.sizes), "workgroup")
        per = 16 // model.SIZES[name][1]
        m.order, m.leading = "row", -(-m.cols // per) * per if self.chance(70) else m.cols
        self.place(m)
        return m

    def describable(self, g: Matrix, w: Matrix, step: int) -> bool:
        """Whether a tensor map can stand for the matrix."""
        size = model.SIZES[g.format][1]
        return (g.format in MAPPED and not g.arena and g.offset == 0 and len(g.values) == 1 and g.leading * size % 16 == 0
                and w.cols * size % 16 == 0 and w.rows * step <= 256)  # fmt: skip

    def view(self, g: Matrix, w: Matrix, step: int) -> str:
        """A parameter that is a tensor map over the matrix."""
        spec = f"{MAPPED[g.format]}:dims={g.cols},{g.rows}:strides={g.leading * model.SIZES[g.format][1]}"
        spec += f":box={w.cols},{w.rows * step}:elem_strides=1,{step}"
        self.views.append((f"v{len(self.views)}", g, spec))
        return self.views[-1][0]

    def pipeline(self) -> None:
        """D += A(t) · B(t), with the tiles of some rounds under way."""
        found = [f for f in self.families if f.plain and f.a == f.b and f.scales == ("none", "none") and not any(f.dense)]
        by_block = self.chance(50) or self.full != self.warps
        if not found or (by_block and self.full != self.warps):
            return
        family = self.pick(found)
        m, n, k = (self.pick(self.sizes) for _ in range(3))
        size = model.SIZES[family.a][1]
        rounds, stages = int(self.pick([0, 1, 2, 3, 5])), int(self.pick([2, 3, 4]))
        per = 16 // size
        home = "workgroup" if by_block else "subgroup"
        targets = [x for x in self.find(family.result, m, n, (home,), write=True, aligned=True) if (x.rows, x.cols) == (m, n) and x not in self.locked]
        d = self.pick(targets) if targets and self.chance(80) else self.make(family.result, m, n, home, False, True)
        sides = []
        for rows, cols in ((m, k), (k, n)):
            g = Matrix(self.fresh("m"), family.a, rows, cols, "all")
            g.order = self.pick(["row", "col"])
            g.leading = -(-g.least() // per) * per
            g.extra["input"] = True
            self.fill(g, max(rounds, 1), "ones" if rounds > 2 else "small")
            self.place(g)
            g.arena, g.runtime_leading, g.offset = "", "", 0
            part = self.chunk(g.stride, size)
            w = Matrix(self.fresh("m"), family.a, rows, cols, "workgroup", "workgroup", g.order, g.leading)
            self.place(w)
            self.shared += w.extra["elements"] * size * (stages - 1)
            w.extra["elements"] *= stages
            sides.append((g, w, part))
        if any(part is None for *_, part in sides) or self.shared > 40000:
            return
        kind = "wg" if by_block else "sub"
        # What was there in the arrays does not matter, but who reads them still.
        self.barrier({"workgroup", "global"})
        if not self.reach([(d, kind, "w")]):
            return
        for g, w, _ in sides:
            self.stacks.append(g)
            self.staged.append(w)
        t = self.fresh("it")
        count = self.number(rounds, "int32", 80)

        def copies(at: str) -> list[str]:
            out = []
            for g, w, (q, transaction) in sides:
                slot = f"(({at}) % {stages}) * {w.stride}"
                line = f"async_copy_workgroup(s_{w.name} + {slot} + tid * {q}, b_{g.name} + ({at}) * {g.stride} + tid * {q}, {q}, transaction: {transaction})"
                out.append(f"if (tid * {q} < {g.stride}) {{ {line} }}" if q * self.threads != g.stride else line)
            return out

        unrolled = self.chance(50)
        lines = []
        for s in range(stages - 1) if unrolled else [None]:
            at = str(s) if unrolled else f"{t}f"
            block = [f"if ({at} < {count}) {{", *("  " + x for x in copies(at)), "}", "async_copy_commit()"]
            lines += block if unrolled else [f"for (var {at}: int32 = 0; {at} < {stages - 1}; {at} += 1) {{", *("  " + x for x in block), "}"]
        (ga, wa, _), (gb, wb, _) = sides
        slot = f"({t} % {stages})"
        scope = ", scope: workgroup" if by_block else ""
        mma = (
            f"tensor_mma(s_{wa.name} + {slot} * {wa.stride}, s_{wb.name} + {slot} * {wb.stride}, {d.name}, {d.name}, shape: m{m}n{n}k{k}, "
            f"input_type: {family.a}, accumulator_type: {family.acc}, result_type: {family.result}, a_layout: {wa.order}, "
            f"b_layout: {wb.order}, c_layout: {d.order}, d_layout: {d.order}, lda: {wa.leading}, ldb: {wb.leading}, "
            f"ldc: {self.leading(d)}, ldd: {self.leading(d)}{scope}"
            + (", overflow: saturate_finite" if family.overflow == "saturate" else "")
            + (f", rounding: {family.rounding}" if family.rounding != "default" else "") + ")"
        )  # fmt: skip
        ahead = f"{t} + {stages - 1}"
        fetch = [f"if ({ahead} < {count}) {{", *("  " + x for x in copies(ahead)), "}", "async_copy_commit()"]
        publish = self.pick(["barrier(workgroup)", "barrier()", "barrier(workgroup, acq_rel)", "barrier(workgroup, global)"])
        single = self.chance(50)
        if single:
            head = [f"async_copy_wait({stages - 2})", publish, *fetch]
        else:
            head = [*fetch, f"async_copy_wait({stages - 1})", publish]

        def action(state: State) -> None:
            x = state.of(d)
            i = state.variables[t]
            todo = []
            for b, warps in state.active.items():
                for w in warps if not by_block else warps[:1]:
                    at = self.copy_of(x, b, w)
                    todo.append((at, values.product(ga.values[i], gb.values[i], x.values[at], family)))
            for at, v in todo:
                x.values[at] = v

        d.written = True
        body: list[Node] = [Action([*head, mma], action)]
        self.forget()
        self.locked.update({wa: "", wb: ""})
        self.loops.append(t)
        if self.chance(30):
            self.depth += 1
            body += self.nested_plain()
            self.depth -= 1
        self.loops.pop()
        del self.locked[wa], self.locked[wb]
        self.forget()
        if not single:
            body.append(Line(self.pick(["barrier(workgroup)", "barrier(workgroup, global)"])))
        self.here += [Action(lines, lambda state: None), Loop(t, count, rounds, body), Line("async_copy_wait(0)")]
        self.barrier({"workgroup"})

    def nested_plain(self) -> list[Node]:
        outer, self.here = self.here, []
        for _ in range(2):
            self.plain()
        inner, self.here = self.here, outer
        return inner

    # ---- Text and launch ----

    def functions(self) -> list[str]:
        out = []
        for h in self.helpers:
            parameters = ", ".join(f"{name}: {kind}" for name, kind in h.parameters)
            out += [*([h.hint] if h.hint else []), f"fn {h.name}({parameters}) {{", *indented(h.body), "}", ""]
        return out

    def globals(self) -> list[tuple[str, list[Matrix]]]:
        """Parameters that are buffers, and what lies in each."""
        out: dict[str, list[Matrix]] = {}
        for m in self.matrices:
            if m.space == "global":
                out.setdefault(m.arena or f"b_{m.name}", []).append(m)
        for g in self.stacks:
            out[f"b_{g.name}"] = [g]
        return list(out.items())

    def text(self) -> list[str]:
        body = indented(self.nodes)
        parameters = [f"{name}: {ms[0].pointer}*" for name, ms in self.globals()] + ["odd: uint8*"]
        parameters += [f"{name}: uint8*" for name, *_ in self.views]
        parameters += [f"{name}: {kind}" for (_, kind), name in self.parameters.items()]
        head = [f"kernel {self.name}({', '.join(parameters)}) {{"]
        for w in self.staged:
            head.append(f"  workgroup var s_{w.name}: {w.pointer}[{w.extra['elements']}]")
        tid = "thread.y * 4 + thread.x" if self.plane else "thread.x"
        head += [
            f"  var tid: int32 = {tid}",
            "  var threads: int32 = block_dim.x * block_dim.y",
            "  var lane: uint32 = subgroup_local_id()",
            "  var warp: int32 = subgroup_broadcast(tid / 32, 0)",
            "  var lanes: int32 = min(32, threads - warp * 32)",
        ]
        for m in self.matrices + [w for w in self.staged if w not in self.matrices]:
            at = []
            if m.offset:
                at.append(str(m.offset))
            if m.owner == "subgroup":
                group = "warp" if m.space == "workgroup" else f"(block.x * {self.warps} + warp)"
                at.append(f"{group} * {m.stride}")
            elif m.owner == "workgroup" and m.space == "global":
                at.append(f"block.x * {m.stride}")
            base = f"s_{m.name}" if m.space == "workgroup" else m.arena or f"b_{m.name}"
            head.append(f"  var {m.name}: {m.pointer}* = {' + '.join([base, *at])}")
        return [*head, *body, "}", ""]

    def buffers(self, initial: dict[Matrix, np.ndarray]) -> list[tuple[str, np.ndarray, np.ndarray | None]]:
        """Name, contents before, contents after or None if it is only read."""
        out = []
        for name, ms in self.globals():
            size = 1 if ms[0].dense else model.SIZES[ms[0].format][1]
            total = max(m.offset + m.stride * len(m.values) for m in ms) * size + 64
            before = np.full(total, 0xFF if len(name) % 2 else 0xCD, np.uint8)
            after = before.copy()
            for m in ms:
                for i in range(len(m.values)):
                    m.stored(i, initial[m][i], before)
                    m.stored(i, m.values[i], after)
            dtype = values.NUMPY[ms[0].pointer]
            reads = all(m.extra["input"] for m in ms)
            total -= total % np.dtype(dtype).itemsize
            out.append((name, before[:total].view(dtype), None if reads else after[:total].view(dtype)))
        return out


def compose(kernels: list[Program]) -> tuple[str, list]:
    """The text of a module, and for each kernel its buffers: what is in them before and after."""
    lines = ['import "std/math"', ""]
    launches = []
    for k in kernels:
        every = [*k.matrices, *k.stacks]
        for m in every:
            m.values = m.extra.get("initial", m.values).copy()
        initial = {m: m.values.copy() for m in every}
        run_all(k.nodes, k.everyone())
        lines += [*k.functions(), *k.text()]
        launches.append(k.buffers(initial))
    return "\n".join(lines), launches


def generate(seed: int) -> list[Program]:
    rng = np.random.default_rng(seed)
    kernels = []
    for i in range(int(rng.choice([1, 1, 1, 2, 3]))):
        kernels.append(Program(f"k{i}", rng, f"k{i}_"))
        kernels[-1].build()
    return kernels
