"""For Python tests that drive the tools: find them, run them, and count each subtest as a test case.

    import mtlc_testing

    class Saxpy(mtlc_testing.TestCase):
        def test_sizes(self):
            for n in (0, 1, 31, 1025):
                with self.subTest(n=n):
                    result = mtlc_testing.run("mtlc-run", mtlc_testing.data("examples/saxpy.mettle"), ...)
                    self.assertEqual(result.returncode, 0, result.stderr)

    if __name__ == "__main__":
        mtlc_testing.main()

A case that cannot run here says why with self.skipTest("no ptxas"), a whole file with mtlc_testing.skip_all("..."). The
results go to the JUnit file that Bazel asks for.
"""

import argparse
import os
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

DEFAULT_TIMEOUT = 60.0

_tools: dict[str, str] = {}


def tool(name: str) -> str:
    """The path of a program of py_exec_test's `tools`."""
    if name not in _tools:
        raise LookupError(f"no tool '{name}': the test's BUILD rule gives {sorted(_tools)}")
    return _tools[name]


def use_tools(paths: Sequence[str]) -> None:
    """Where the tools are, by file name."""
    _tools.update({os.path.basename(path): os.path.abspath(path) for path in paths})


def tools() -> list[str]:
    """The names of all of them."""
    return sorted(_tools)


def data(path: str) -> str:
    """The absolute path of a data file, named by its path in the repository."""
    found = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], path)
    if not os.path.exists(found):
        raise LookupError(f"no data file '{path}': is it in the test's BUILD rule?")
    return found


def scratch(*names: str) -> str:
    """A path for a file of the test's own, in its temporary folder."""
    return os.path.join(os.environ["TEST_TMPDIR"], *names)


def run(
    name: str, *args: str, stdin: str | None = None, timeout: float = DEFAULT_TIMEOUT
) -> subprocess.CompletedProcess[str]:
    """Runs a tool and captures what it prints. Raises subprocess.TimeoutExpired rather than hang."""
    return subprocess.run(
        [tool(name), *args],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


class TestCase(unittest.TestCase):
    """unittest.TestCase, with long differences shown."""

    maxDiff = 4000


class _Result(unittest.TextTestResult):
    """Keeps one row per test case: a subtest is one, a method without subtests is one."""

    def __init__(self, stream, descriptions, verbosity, **kwargs) -> None:
        super().__init__(stream, descriptions, verbosity, **kwargs)
        self.rows: list[tuple[str, str, str, str]] = []  # Class, name, outcome, text.
        self._subtests: set[str] = set()

    def _add(self, test: unittest.TestCase, outcome: str, text: str = "") -> None:
        parent = getattr(test, "test_case", None)
        owner = parent if parent is not None else test
        if parent is not None:
            self._subtests.add(parent.id())
        # Failures of class and module fixtures come as objects without a method.
        name = getattr(owner, "_testMethodName", str(owner))
        if parent is not None:
            name += " " + test._subDescription()
        self.rows.append((type(owner).__qualname__, name, outcome, text))

    def addSuccess(self, test) -> None:
        super().addSuccess(test)
        if test.id() not in self._subtests:
            self._add(test, "passed")

    def addFailure(self, test, err) -> None:
        super().addFailure(test, err)
        self._add(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err) -> None:
        super().addError(test, err)
        self._add(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason) -> None:
        super().addSkip(test, reason)
        self._add(test, "skipped", reason)

    def addExpectedFailure(self, test, err) -> None:
        super().addExpectedFailure(test, err)
        self._add(test, "passed")

    def addUnexpectedSuccess(self, test) -> None:
        super().addUnexpectedSuccess(test)
        self._add(test, "failed", "succeeded, but is marked as an expected failure")

    def addSubTest(self, test, subtest, err) -> None:
        super().addSubTest(test, subtest, err)
        if err is None:
            self._add(subtest, "passed")
        else:
            self._add(subtest, "failed", self._exc_info_to_string(err, test))


def _xml_text(text: str) -> str:
    """Drops what XML 1.0 cannot hold."""
    return "".join(c for c in text if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd")


def _headline(traceback: str) -> str:
    """The exception of a traceback, shortened: the first line that is not indented, and what follows."""
    lines = traceback.strip().splitlines()
    start = next((i for i, line in enumerate(lines[1:], 1) if line and not line.startswith(" ")), 0)
    return " ".join(" ".join(lines[start:]).split())[:300]


def write_junit(path: str, rows: Sequence[tuple[str, str, str, str]], seconds: float) -> None:
    """Writes rows (class, name, passed|failed|skipped, text) as a JUnit file."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name="python", tests=str(len(rows)), time=f"{seconds:.3f}")
    for owner, name, outcome, text in rows:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml_text(owner), name=_xml_text(name))
        if outcome == "failed":
            failure = ElementTree.SubElement(case, "failure", message=_xml_text(_headline(text)))
            failure.text = _xml_text(text)
        elif outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=_xml_text(text))
    ElementTree.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _write_report(rows: Sequence[tuple[str, str, str, str]], seconds: float) -> None:
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        write_junit(path, rows, seconds)


def skip_all(reason: str) -> None:
    """Ends the test program: everything in it is skipped, for `reason`."""
    print(f"SKIP: {reason}")
    _write_report([("", "all", "skipped", reason)], 0.0)
    sys.exit(0)


class _Loader(unittest.TestLoader):
    """Of the test cases of a module those that belong to this shard, when Bazel runs the test in several."""

    def loadTestsFromModule(self, module, *, pattern=None) -> unittest.TestSuite:  # noqa: N802
        suite = super().loadTestsFromModule(module, pattern=pattern)
        total = int(os.environ.get("TEST_TOTAL_SHARDS", "1"))
        if total == 1:
            return suite
        with open(os.environ["TEST_SHARD_STATUS_FILE"], "w", encoding="utf-8"):
            pass  # Says that shards are known here.
        cases: list[unittest.TestCase] = []
        pending: list[unittest.TestSuite | unittest.TestCase] = [suite]
        while pending:
            first = pending.pop()
            if isinstance(first, unittest.TestSuite):
                pending += reversed(list(first))
            else:
                cases.append(first)
        return unittest.TestSuite(cases[int(os.environ["TEST_SHARD_INDEX"]) :: total])


def main() -> None:
    """Runs the test cases of the main module; the process ends with 0 when none failed and at least one exists."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", action="append", default=[])
    # The rest is for unittest: -v, -k PATTERN, Class.method.
    args, rest = parser.parse_known_args()
    use_tools(args.tool)
    start = time.monotonic()
    runner = unittest.TextTestRunner(verbosity=2, resultclass=_Result)
    program = unittest.main(module="__main__", argv=[sys.argv[0], *rest], testRunner=runner, testLoader=_Loader(), exit=False)
    result = program.result
    _write_report(result.rows, time.monotonic() - start)
    for owner, name, outcome, text in result.rows:
        if outcome == "skipped":
            print(f"SKIP: {owner}.{name}: {text}")
    if not result.rows:
        print("error: no test case found", file=sys.stderr)
        sys.exit(1)
    sys.exit(0 if result.wasSuccessful() else 1)
