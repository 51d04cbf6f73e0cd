"""Checks of the source tree that no compiler makes: layers, tested diagnostics, sizes, marks, header guards.

Each check takes a Tree and returns one line per violation.
"""

import os
import re
from collections.abc import Iterator

# Path, relative to the root of the repository, to text.
Tree = dict[str, str]

# Which layers the code of a folder may include, besides its own (docs/building.md shows the picture). The longest
# prefix of a path decides. Tests are exempt: they may bring layers together. None: anything.
LAYERS: dict[str, tuple[str, ...] | None] = {
    "mtlc/support": (),
    "mtlc/ir": ("mtlc/support",),
    "mtlc/analysis": ("mtlc/ir", "mtlc/support"),
    "mtlc/transforms": ("mtlc/analysis", "mtlc/ir", "mtlc/support"),
    # What code generators share; each one is a folder below.
    "mtlc/codegen": ("mtlc/transforms", "mtlc/analysis", "mtlc/ir", "mtlc/support"),
    "mtlc/codegen/ptx": ("mtlc/codegen", "mtlc/transforms", "mtlc/analysis", "mtlc/ir", "mtlc/support"),
    "mtlc/codegen/spirv": ("mtlc/codegen", "mtlc/transforms", "mtlc/analysis", "mtlc/ir", "mtlc/support"),
    "mtlc/codegen/host": ("mtlc/codegen", "mtlc/transforms", "mtlc/analysis", "mtlc/ir", "mtlc/support"),
    "mtlc/frontend": ("mtlc/ir", "mtlc/support"),
    "mtlc/interp": ("mtlc/ir", "mtlc/support"),
    # The independent check: it must not share code with what it checks.
    "mtlc/sim": ("mtlc/support",),
    "mtlc/runtime": ("mtlc/sim", "mtlc/support"),
    "mtlc/capi": (
        "mtlc/runtime",
        "mtlc/sim",
        "mtlc/interp",
        "mtlc/frontend",
        "mtlc/codegen",
        "mtlc/codegen/ptx",
        "mtlc/codegen/spirv",
        "mtlc/codegen/host",
        "mtlc/transforms",
        "mtlc/analysis",
        "mtlc/ir",
        "mtlc/support",
    ),
    "metakernel": ("mtlc/runtime", "mtlc/support"),
    "tools": None,
    "test": None,
    "examples": None,
    "benchmarks": None,
}

# Endings of the names of files that exist only for tests.
TEST_ONLY = ("_test", "_testing", "_test_util", "_fuzz", "_benchmark")

MAX_LINES = 900
SKIPPED_FOLDERS = {"__pycache__"}
CPP = (".h", ".cc", ".c")
SOURCES = (*CPP, ".def", ".bzl", ".bazel", ".py", ".sh", ".mettle", ".mtir", ".proto", ".ptx", ".test", ".md", ".txt")
DIAGNOSTIC_TABLES = "mtlc/support/diag/"


def load(root: str) -> Tree:
    """The source files under `root`, without hidden folders and Bazel's links."""
    tree = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED_FOLDERS
            and not name.startswith("bazel-")
            and (not name.startswith(".") or name == ".ci")
        )
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.islink(path) or not (name.endswith(SOURCES) or name in ("mtlcw", "run", "WORKSPACE")):
                continue
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                tree[os.path.relpath(path, root)] = file.read()
    return tree


def is_test(path: str) -> bool:
    """Whether a file exists only for tests."""
    stem = os.path.splitext(path)[0]
    name = os.path.basename(stem)
    return path.startswith("test/") or name == "test_util" or name.endswith(TEST_ONLY)


def is_fixture(path: str) -> bool:
    """Whether a file is data of a test, which may be ugly on purpose."""
    return any(part in ("Inputs", "testdata", "corpus") for part in path.split("/"))


def layer_of(path: str) -> str | None:
    """The row of LAYERS that a file belongs to."""
    found = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(found, key=len, default=None)


def includes(text: str) -> Iterator[tuple[int, str]]:
    """Line number and path of each #include of a project file."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def check_layers(tree: Tree) -> list[str]:
    """No #include against the layers."""
    out = []
    for path, text in tree.items():
        if not path.endswith((*CPP, ".def")):
            continue
        layer = layer_of(path)
        if layer is None:
            out.append(f"{path}: its folder has no row in LAYERS of tools/lint/checks.py")
            continue
        allowed = LAYERS[layer]
        if allowed is None or is_test(path):
            continue
        for number, included in includes(text):
            target = layer_of(included)
            if target is not None and target != layer and target not in allowed:
                out.append(f"{path}:{number}: {layer} must not include {included}")
    return out


def diagnostic_rows(tree: Tree) -> list[tuple[str, str]]:
    """Id and table of every diagnostic."""
    rows = []
    for path, text in tree.items():
        if path.startswith(DIAGNOSTIC_TABLES) and path.endswith(".def"):
            rows += [(name, path) for name in re.findall(r"^\s*DIAG\(\s*(\w+)\s*,", text, re.MULTILINE)]
    return rows


def check_diagnostics(tree: Tree) -> list[str]:
    """Every diagnostic is provoked by a test that names it.

    A unit test names it `DiagId::Foo`; a lit test checks `"id":"Foo"` or says `DIAG: Foo`; a Python test does either.
    """
    named = set()
    for path, text in tree.items():
        if not is_test(path):
            continue
        if path.endswith(".cc"):
            named.update(re.findall(r"\bDiagId::(\w+)", text))
        else:
            named.update(re.findall(r'"id\\?":\s*\\?"(\w+)', text))
            named.update(re.findall(r"\bDIAG:\s*(\w+)", text))
    rows = diagnostic_rows(tree)
    out = [f"{path}: no test provokes {name}" for name, path in rows if name not in named]
    if not rows:
        out.append(f"{DIAGNOSTIC_TABLES}: no rows found")
    return out


def check_lengths(tree: Tree) -> list[str]:
    """No file holds two topics."""
    out = []
    for path, text in tree.items():
        lines = text.count("\n")
        if lines > MAX_LINES and not path.endswith((".md", ".txt")) and not is_fixture(path):
            out.append(f"{path}: {lines} lines, more than {MAX_LINES}")
    return out


def check_text(tree: Tree) -> list[str]:
    """No marks of unfinished work, no stray white space, no paths of one machine."""
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    machine = re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|ho" r"me)/\w")
    out = []
    for path, text in tree.items():
        if is_fixture(path):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            where = f"{path}:{number}"
            if mark := marks.search(line):
                out.append(f"{where}: {mark.group()}")
            if place := machine.search(line):
                out.append(f"{where}: a path of one machine: {place.group()}...")
            if line != line.rstrip() and not path.endswith((".md", ".test")):
                out.append(f"{where}: white space at the end of the line")
        if text and not text.endswith("\n"):
            out.append(f"{path}: no newline at the end")
    return out


def check_header_guards(tree: Tree) -> list[str]:
    """A header's guard is its path."""
    out = []
    for path, text in tree.items():
        if not path.endswith(".h"):
            continue
        guard = re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"
        first = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.MULTILINE)
        if not first or first.group(1) != guard or first.group(2) != guard:
            out.append(f"{path}: the guard should be {guard}")
    return out
