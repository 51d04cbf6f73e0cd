#!/usr/bin/env python3
"""Writes the CHECK lines of text-level tests of mtlc-llc anew from what the tool prints now.

    tools/update_checks.py --tool=PATH/mtlc-llc test/CodeGen/PTX/*.mtir

Only files that say so in their first line are touched:

    // CHECK lines: tools/update_checks.py

Each RUN line `mtlc-llc %s ARGS | FileCheck %s [--check-prefix=P]` of the file gives one set of lines: for each function
its label and its instructions, without the declarations. Read the difference before committing: this script writes down
what the tool does, not what is right.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys

MARK = "// CHECK lines: tools/update_checks.py"
RUN = re.compile(r"^// RUN: mtlc-llc %s(?P<args>[^|]*)\| FileCheck %s(?: --check-prefix=(?P<prefix>\w+))?\s*$")
FUNCTION = re.compile(r"^(\.visible \.entry|\.func)\b.*?([\w$.]+)\($")


def check_lines(text: str, prefix: str) -> list[str]:
    """CHECK lines for the functions of PTX text."""
    lines: list[str] = []
    in_body = False
    first = True
    for line in text.splitlines():
        if FUNCTION.match(line) or re.match(r"^(\.visible \.entry|\.func).*\)$", line):
            lines.append(f"// {prefix}-LABEL: {line}")
            in_body, first = False, True
        elif line == "" and lines:
            in_body = True
        elif line.startswith("}"):
            if in_body:
                lines.append(f"// {prefix}-NEXT: }}")
            in_body = False
        elif in_body:
            stripped = line.strip().replace("{{", "{{[{][{]}}")
            lines.append(f"// {prefix}{':' if first else '-NEXT:'} {stripped}")
            first = False
    return lines


def update(path: pathlib.Path, tool: str) -> bool:
    """Rewrites one test; true if it changed."""
    old = path.read_text()
    if not old.startswith(MARK):
        return False
    kept = [line for line in old.splitlines() if not re.match(r"^// [A-Z0-9]+(-NEXT|-LABEL)?: ", line) or "RUN:" in line]
    while kept and kept[-1] == "":
        kept.pop()
    new = kept
    for line in kept[:]:
        run = RUN.match(line)
        if not run:
            continue
        command = [tool, str(path), *shlex.split(run["args"])]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        new += ["", *check_lines(output, run["prefix"] or "CHECK")]
    text = "\n".join(new) + "\n"
    if text != old:
        path.write_text(text)
    return text != old


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, help="path of mtlc-llc")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for path in options.files:
        if update(path, options.tool):
            print(f"updated {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
