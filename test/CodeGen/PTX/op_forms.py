"""An IR module with one kernel for every operation and type: NAME(inputs…, output), one element per thread of x.

Every kernel reads element i of each input, i the thread's index, applies one operation and stores the result.
"""

from collections.abc import Iterator

INTS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}

INT_BINARY = "add sub mul smulhi umulhi sdiv udiv srem urem and or xor shl lshr ashr smin smax umin umax".split()
INT_UNARY = "neg abs clz popcount".split()
INT_COMPARE = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_BINARY = "fadd fsub fmul fdiv fmin fmax fmin.nan fmax.nan".split()
FLOAT_UNARY = "fsqrt fneg fabs ffloor fceil ftrunc fround froundeven".split()
FLOAT_COMPARE = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
MATH = "rsqrt exp exp2 log log2 sin cos tan tanh erf".split()
APPROX = "rsqrt exp exp2 log log2 sin cos tanh fsqrt".split()
# Divisors, amounts and masks that select special code.
CONSTANTS = (0, 1, 3, 4, -1, -5)


class Form:
    """One kernel: name, input types, result type, and the operation over %a0, %a1, … (and %c)."""

    def __init__(self, name: str, inputs: tuple[str, ...], result: str, expr: str, constant: str = "") -> None:
        self.name = name.replace(".", "_")
        self.inputs = inputs
        self.result = result
        self.expr = expr
        self.constant = constant

    def text(self) -> str:
        params = ", ".join([f"%p{j}: ptr<global>" for j in range(len(self.inputs))] + ["%o: ptr<global>"])
        lines = [f"kernel @{self.name}({params}) {{", "^entry:", "  %t = gpu.thread_id x : i32"]
        lines.append("  %i = sext %t : i32 to i64")
        for j, t in enumerate(self.inputs):
            lines.append(f"  %q{j} = ptr.add %p{j}, %i x {t} : ptr<global>")
            lines.append(f"  %a{j} = load {t}, %q{j} : ptr<global>")
        if self.constant:
            lines.append(f"  %c = {self.constant}")
        lines.append(f"  %r = {self.expr}")
        lines.append(f"  %qo = ptr.add %o, %i x {self.result} : ptr<global>")
        lines.append(f"  store {self.result}, %r, %qo : ptr<global>")
        return "\n".join([*lines, "  ret", "}"])


def _integer_forms(t: str) -> Iterator[Form]:
    for op in INT_BINARY:
        yield Form(f"{op}_{t}", (t, t), t, f"{op} %a0, %a1 : {t}")
        for c in CONSTANTS:
            name = f"{op}_{t}_c{c}".replace("-", "m")
            yield Form(name, (t,), t, f"{op} %a0, %c : {t}", f"const {c} : {t}")
    for op in INT_UNARY:
        yield Form(f"{op}_{t}", (t,), t, f"{op} %a0 : {t}")
    for op in INT_COMPARE:
        yield Form(f"cmp.{op}_{t}", (t, t), "i1", f"cmp.{op} %a0, %a1 : {t}")
    for op in ("sext", "zext"):
        yield Form(f"{op}_i1_{t}", ("i1",), t, f"{op} %a0 : i1 to {t}")
    for u in INTS:
        if BITS[u] > BITS[t]:
            for op in ("sext", "zext"):
                yield Form(f"{op}_{t}_{u}", (t,), u, f"{op} %a0 : {t} to {u}")
            yield Form(f"trunc_{u}_{t}", (u,), t, f"trunc %a0 : {u} to {t}")
    for u in FLOATS:
        for op in ("sitof", "uitof"):
            yield Form(f"{op}_{t}_{u}", (t,), u, f"{op} %a0 : {t} to {u}")
        for op in ("ftosi", "ftoui"):
            yield Form(f"{op}_{u}_{t}", (u,), t, f"{op} %a0 : {u} to {t}")


def _float_forms(t: str) -> Iterator[Form]:
    for op in (*FLOAT_BINARY, "pow"):
        yield Form(f"{op}_{t}", (t, t), t, f"{op} %a0, %a1 : {t}")
    yield Form(f"fma_{t}", (t, t, t), t, f"fma %a0, %a1, %a2 : {t}")
    for op in (*FLOAT_UNARY, *MATH):
        yield Form(f"{op}_{t}", (t,), t, f"{op} %a0 : {t}")
    for op in APPROX:
        yield Form(f"{op}_approx_{t}", (t,), t, f"{op} approx %a0 : {t}")
    yield Form(f"fdiv_approx_{t}", (t, t), t, f"fdiv approx %a0, %a1 : {t}")
    for op in FLOAT_COMPARE:
        yield Form(f"fcmp.{op}_{t}", (t, t), "i1", f"fcmp.{op} %a0, %a1 : {t}")
    for op in ("sitof", "uitof"):
        yield Form(f"{op}_i1_{t}", ("i1",), t, f"{op} %a0 : i1 to {t}")
    for u in FLOATS:
        if u != t:
            yield Form(f"fconv_{t}_{u}", (t,), u, f"fconv %a0 : {t} to {u}")


def forms() -> Iterator[Form]:
    """Every operation in every type it takes."""
    for t in INTS:
        yield from _integer_forms(t)
    for op in ("and", "or", "xor"):
        yield Form(f"{op}_i1", ("i1", "i1"), "i1", f"{op} %a0, %a1 : i1")
    for op in ("eq", "ne"):
        yield Form(f"cmp.{op}_i1", ("i1", "i1"), "i1", f"cmp.{op} %a0, %a1 : i1")
    for t in FLOATS:
        yield from _float_forms(t)
    for t in ("i1", *INTS, *FLOATS):
        yield Form(f"select_{t}", ("i1", t, t), t, f"select %a0, %a1, %a2 : {t}")
    for a, b in (("i16", "f16"), ("i16", "bf16"), ("f16", "bf16"), ("i32", "f32"), ("i64", "f64")):
        yield Form(f"bitcast_{a}_{b}", (a,), b, f"bitcast %a0 : {a} to {b}")
        yield Form(f"bitcast_{b}_{a}", (b,), a, f"bitcast %a0 : {b} to {a}")


def module() -> str:
    return "\n\n".join(['module "op-forms"', *(form.text() for form in forms())]) + "\n"


if __name__ == "__main__":
    print(module(), end="")
