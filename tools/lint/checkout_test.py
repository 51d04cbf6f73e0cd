"""Applies the checks of checks.py, and clang-format, to the checkout that Bazel runs in."""

import argparse
import json
import os
import subprocess
import sys

import mtlc_testing
from tools.lint import checks

ROOT = os.environ["MTLC_WORKSPACE"]
_clang_format: str | None = None


class Checkout(mtlc_testing.TestCase):
    tree: checks.Tree = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls.tree = checks.load(ROOT)

    def expect_none(self, violations: list[str]) -> None:
        if violations:
            self.fail("\n" + "\n".join(violations))

    def test_the_tree_is_there(self) -> None:
        self.assertIn("mtlc/support/diagnostics.h", self.tree)
        self.assertIn("tools/lint/checks.py", self.tree)

    def test_layers(self) -> None:
        self.expect_none(checks.check_layers(self.tree))

    def test_every_diagnostic_is_tested(self) -> None:
        self.expect_none(checks.check_diagnostics(self.tree))

    def test_lengths(self) -> None:
        self.expect_none(checks.check_lengths(self.tree))

    def test_text(self) -> None:
        self.expect_none(checks.check_text(self.tree))

    def test_header_guards(self) -> None:
        self.expect_none(checks.check_header_guards(self.tree))

    def test_clang_format(self) -> None:
        if _clang_format is None:
            self.skipTest("no clang-format-14")
        files = [path for path in self.tree if path.endswith((".h", ".cc")) and not checks.is_fixture(path)]
        done = subprocess.run(
            ["xargs", "-P2", "-n20", _clang_format, "--dry-run", "-Werror", "--ferror-limit=1"],
            input="\n".join(files), cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    args, rest = parser.parse_known_args()
    with open(args.host) as file:
        _clang_format = json.load(file).get("clang-format")
    sys.argv[1:] = rest
    mtlc_testing.main()
