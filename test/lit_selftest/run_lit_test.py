"""Runs lit on suites with known outcomes and checks exit code and counts."""

import argparse
import os
import sys
import xml.etree.ElementTree as ElementTree

import mtlc_testing
import run_lit

HERE = "test/lit_selftest"
_host = ""


def outcomes(suite: str) -> tuple[int, dict[str, str]]:
    """lit's exit code and the outcome of each test of Inputs/`suite`."""
    scratch = mtlc_testing.scratch(suite)
    os.makedirs(scratch)
    report = os.path.join(scratch, "report.xml")
    code = run_lit.run(f"{HERE}/Inputs/{suite}", [f"{HERE}/say.sh"], _host, scratch, report, jobs=2)
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        child = list(case)
        found[case.get("name", "")] = child[0].tag if child else "passed"
        if child and child[0].tag == "skipped":
            found[case.get("name", "")] += ": " + child[0].get("message", "")
    return code, found


class RunLit(mtlc_testing.TestCase):
    def test_failures_fail(self) -> None:
        code, found = outcomes("bad")
        self.assertEqual(code, 1)
        self.assertEqual(
            found,
            {
                "failing-check.test": "failure",
                "failing-command.test": "failure",
                "no-check-line.test": "failure",
                "no-run-line.test": "failure",
                "not-a-tool.test": "failure",
                "passing.test": "passed",
                "skipped.test": "skipped: Missing required feature(s): something-nobody-has",
            },
        )

    def test_success(self) -> None:
        self.assertEqual(outcomes("good"), (0, {"passing.test": "passed"}))

    def test_an_empty_suite_fails(self) -> None:
        scratch = mtlc_testing.scratch("empty")
        os.makedirs(scratch)
        report = os.path.join(scratch, "report.xml")
        self.assertNotEqual(run_lit.run(f"{HERE}/Inputs", [], _host, scratch, report, jobs=1), 0)

    def test_a_missing_tool_is_an_error(self) -> None:
        with self.assertRaisesRegex(SystemExit, "no-such-tool is missing"):
            run_lit.run(HERE, ["no-such-tool"], _host, mtlc_testing.scratch("missing"), "x.xml", jobs=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    args, rest = parser.parse_known_args()
    _host = args.host
    sys.argv[1:] = rest
    mtlc_testing.main()
