"""What holds for every tool: help, version, exit codes, and no output from a refused input.

The test's BUILD rule lists the tools.
"""

import json
import os
import re

import mtlc_testing

# Tools without an output file, and options that a tool needs besides its input.
NO_OUTPUT = {"mtlc-run"}
EXTRA = {
    "mettle": ["--emit-ptx"],
    "mtlc-run": ["--kernel=k", "--grid=1", "--block=1"],
}


def each_tool(method):
    """Runs a test method as a subtest for each tool."""

    def test(self) -> None:
        self.assertTrue(mtlc_testing.tools())
        for name in mtlc_testing.tools():
            with self.subTest(tool=name):
                method(self, name)

    return test


class CommonOptions(mtlc_testing.TestCase):
    def refused(self, tool: str, path: str, *options: str) -> None:
        """Runs the tool on an input that it must refuse, with an output file in place; that stays as it is."""
        arguments = [path, *EXTRA.get(tool, []), *options]
        output = mtlc_testing.scratch(f"{tool}.out")
        with open(output, "w") as file:
            file.write("old")
        if tool not in NO_OUTPUT:
            arguments += ["-o", output]
        result = mtlc_testing.run(tool, *arguments)
        self.assertEqual(result.returncode, 1, result)
        self.assertEqual(result.stdout, "")
        with open(output) as file:
            self.assertEqual(file.read(), "old")
        self.assertFalse([n for n in os.listdir(mtlc_testing.scratch()) if n.endswith(".tmp")])
        self.stderr = result.stderr

    @each_tool
    def test_help_fits_the_screen(self, tool: str) -> None:
        result = mtlc_testing.run(tool, "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith(f"usage: {tool}"), result.stdout)
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)
        for group in result.stdout.split("\n\n"):
            self.assertLessEqual(group.count("\n") + 1, 24, group)
        for option in ("--help", "--version", "--diagnostics=human|json"):
            self.assertIn(option, result.stdout)

    @each_tool
    def test_every_spelling_is_shown_once(self, tool: str) -> None:
        shown: list[str] = []
        for line in mtlc_testing.run(tool, "--help").stdout.splitlines():
            if re.match(r"  -", line):
                shown += re.findall(r"(?<![\w=\[|])--?[A-Za-z][\w-]*", line.strip().split("  ")[0])
        self.assertTrue(shown)
        self.assertEqual(len(shown), len(set(shown)), shown)

    @each_tool
    def test_version(self, tool: str) -> None:
        result = mtlc_testing.run(tool, "--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, rf"^{tool} \(mtlc\) \d+\.\d+\.\d+\nIR \d+\nPTX \d+\.\d+ ")

    @each_tool
    def test_a_wrong_command_line_exits_with_two(self, tool: str) -> None:
        for argument, message in (
            ("--diagnostisc=json", "unknown option '--diagnostisc'; did you mean '--diagnostics'?"),
            ("--diagnostics=xml", "bad value 'xml' of '--diagnostics': give one of human, json"),
            ("--version=maybe", "bad value 'maybe' of '--version'"),
        ):
            result = mtlc_testing.run(tool, argument)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"{tool}: {message}", result.stderr)
            self.assertIn(f"Try '{tool} --help'.", result.stderr)

    @each_tool
    def test_an_unreadable_input_is_refused(self, tool: str) -> None:
        missing = mtlc_testing.scratch("missing.mtir")
        self.refused(tool, missing)
        self.assertIn(f"error: cannot read '{missing}': no such file or directory", self.stderr)
        self.refused(tool, missing, "--diagnostics=json")
        rows = [json.loads(line) for line in self.stderr.splitlines()]
        self.assertEqual([row["id"] for row in rows], ["CannotReadFile"])

    @each_tool
    def test_garbage_is_refused(self, tool: str) -> None:
        garbage = {
            "binary.mtir": bytes(range(256)) * 16,
            "unclosed.mtir": b'module "x" { kernel @k( "',
            "deep.mtir": b"(" * 200000,
            "binary.mettle": bytes(range(256)) * 16,
            "unclosed.mettle": b"kernel k(a: float32*) { if (1 { \"",
            "deep.mettle": b"kernel k() { var x: int32 = " + b"(" * 200000,
        }
        reads = {"mettle": ".mettle", "mtlc-run": (".mettle", ".mtir")}
        for name, content in garbage.items():
            if not name.endswith(reads.get(tool, ".mtir")):
                continue
            path = mtlc_testing.scratch(name)
            with open(path, "wb") as file:
                file.write(content)
            self.refused(tool, path)
            self.assertIn("error: ", self.stderr)
            self.assertLess(len(self.stderr), 100000)


if __name__ == "__main__":
    mtlc_testing.main()
