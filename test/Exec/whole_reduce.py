"""Makes a failing kernel by lot smaller: leaves out what it can be without and still fail in the same way."""

import re
from collections.abc import Callable

from whole_nodes import Call, If, Loop, Node
from whole_programs import Program


def signature(fault: str) -> str:
    """What has to stay the same of a fault's description: the kind, not the place."""
    found = re.search(r"error: (\[\w+\] \w+)|error: (.{30})|(exit -\d+)|( want )|(timeout)", fault)
    return next((g for g in found.groups() if g), "") if found else fault[:30]


def _lists(k: Program) -> list[list[Node]]:
    """All lists of statements, outer ones first."""
    found: list[list[Node]] = []
    work = [k.nodes, *(h.body for h in k.helpers)]
    while work:
        nodes = work.pop(0)
        found.append(nodes)
        for n in nodes:
            if isinstance(n, Loop):
                work.append(n.body)
            elif isinstance(n, If):
                work += [n.then, n.otherwise]
    return found


def reduce(k: Program, attempt: Callable[[], str]) -> None:
    """`attempt` says how the kernel fails, as it is now, or nothing."""
    want = signature(attempt())
    smaller = True

    def fails() -> bool:
        return signature(attempt()) == want

    while smaller:
        smaller = False
        for nodes in _lists(k):
            size = max(1, len(nodes) // 2)
            while size:
                i = 0
                while i < len(nodes):
                    cut = nodes[i : i + size]
                    del nodes[i : i + size]
                    if fails():
                        smaller = True
                    else:
                        nodes[i:i] = cut
                        i += size
                size //= 2
        called = {n.helper.name for nodes in _lists(k) for n in nodes if isinstance(n, Call)}
        k.helpers = [h for h in k.helpers if h.name in called]
    viewed = [m for _, m, _ in k.views]
    for m in [*k.staged, *(m for m in k.matrices if m.space == "global" and not m.arena and m not in viewed)]:
        before = list(k.staged), list(k.matrices)
        k.staged = [x for x in k.staged if x is not m]
        k.matrices = [x for x in k.matrices if x is not m]
        if not fails():
            k.staged, k.matrices = before
