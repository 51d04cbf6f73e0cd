"""The statements of generated kernels: each prints itself, and computes with NumPy what it does."""

from collections.abc import Callable
from dataclasses import dataclass, field

from whole_values import Inexact, Matrix


@dataclass
class State:
    """Who executes: for each workgroup its subgroups; and the values of loop variables."""

    active: dict[int, list[int]]
    variables: dict[str, int] = field(default_factory=dict)
    matrices: dict[Matrix, Matrix] = field(default_factory=dict)  # In a helper: what its parameters stand for.
    steps: int = 0

    def of(self, m: Matrix) -> Matrix:
        return self.matrices.get(m, m)


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Node:
    def text(self) -> list[str]:
        raise NotImplementedError

    def run(self, state: State) -> None:
        raise NotImplementedError


@dataclass
class Line(Node):
    """Text without an effect that can be seen."""

    line: str

    def text(self) -> list[str]:
        return [self.line]

    def run(self, state: State) -> None:
        pass


@dataclass
class Action(Node):
    """Text, and a function that does the same."""

    lines: list[str]
    action: Callable[[State], None]

    def text(self) -> list[str]:
        return self.lines

    def run(self, state: State) -> None:
        state.steps += 1
        if state.steps > 400:
            raise Inexact("too long")
        self.action(state)


def indented(nodes: list[Node]) -> list[str]:
    return ["  " + line for node in nodes for line in node.text()]


def run_all(nodes: list[Node], state: State) -> None:
    for node in nodes:
        node.run(state)


@dataclass
class Loop(Node):
    """for (var NAME: TYPE = 0; NAME < trips; NAME += 1), or the same as another kind of loop."""

    name: str
    bound: str
    trips: int
    body: list[Node]
    form: str = "for"

    def text(self) -> list[str]:
        head = {
            "for": [f"for (var {self.name}: int32 = 0; {self.name} < {self.bound}; {self.name} += 1) {{"],
            "range": [f"for {self.name}: int32 in 0..{self.bound} {{"],
            "while": [f"var {self.name}: int32 = -1", f"while ({self.name} + 1 < {self.bound}) {{", f"  {self.name} += 1"],
        }[self.form]
        return [*head, *indented(self.body), "}"]

    def run(self, state: State) -> None:
        for i in range(self.trips):
            state.variables[self.name] = i
            try:
                run_all(self.body, state)
            except Continue:
                pass
            except Break:
                break


@dataclass
class If(Node):
    condition: str
    holds: Callable[[State, int, int], bool]  # For a workgroup and one of its subgroups.
    then: list[Node]
    otherwise: list[Node] = field(default_factory=list)

    def text(self) -> list[str]:
        lines = [f"if ({self.condition}) {{", *indented(self.then)]
        if self.otherwise:
            lines += ["} else {", *indented(self.otherwise)]
        return [*lines, "}"]

    def run(self, state: State) -> None:
        before = state.active
        for body, wanted in ((self.then, True), (self.otherwise, False)):
            active = {b: [w for w in ws if self.holds(state, b, w) == wanted] for b, ws in before.items()}
            state.active = {b: ws for b, ws in active.items() if ws}
            try:
                if state.active:
                    run_all(body, state)
            finally:
                state.active = before


@dataclass
class Jump(Node):
    """break or continue under a uniform condition."""

    condition: str
    holds: Callable[[State], bool]
    word: str

    def text(self) -> list[str]:
        return [f"if ({self.condition}) {{ {self.word} }}"]

    def run(self, state: State) -> None:
        if self.holds(state):
            raise Break if self.word == "break" else Continue


@dataclass
class Helper:
    name: str
    hint: str
    body: list[Node]
    parameters: list[tuple[str, str]] = field(default_factory=list)  # Name and type.


@dataclass
class Call(Node):
    helper: Helper
    arguments: list[str]
    matrices: dict[Matrix, Matrix]

    def text(self) -> list[str]:
        return [f"{self.helper.name}({', '.join(self.arguments)})"]

    def run(self, state: State) -> None:
        before = state.matrices
        state.matrices = {**before, **{k: before.get(v, v) for k, v in self.matrices.items()}}
        try:
            run_all(self.helper.body, state)
        finally:
            state.matrices = before
