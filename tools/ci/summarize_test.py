"""Checks the summary on build events and JUnit files in the form that Bazel 4, GoogleTest, and lit write them."""

import json
import os
import subprocess
import sys

import mtlc_testing
from tools.ci import summarize

GTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" time="0" name="AllTests">
  <testsuite name="A" tests="4" failures="1" disabled="1" skipped="1" errors="0" time="0">
    <testcase name="Pass" file="a.cc" line="2" status="run" result="completed" classname="A" />
    <testcase name="Fail" file="a.cc" line="3" status="run" result="completed" classname="A">
      <failure message="a.cc:3&#x0A;first" type=""><![CDATA[a.cc:3
first]]></failure>
      <failure message="a.cc:4&#x0A;second" type=""></failure>
    </testcase>
    <testcase name="Skip" file="a.cc" line="4" status="run" result="skipped" classname="A">
      <skipped message="a.cc:4&#x0A;no GPU here"><![CDATA[a.cc:4
no GPU here]]></skipped>
    </testcase>
    <testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="A" />
  </testsuite>
  <testsuite name="All/P" tests="1"><testcase name="X/0" status="run" result="completed" classname="All/P" /></testsuite>
</testsuites>
"""
LIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites time="0.07">
<testsuite name="mtlc" tests="3" failures="0" skipped="2">
<testcase classname="mtlc.IR" name="a.mtir" time="0.00"/>
<testcase classname="mtlc.IR" name="b.mtir" time="0.00">
  <skipped message="Missing required feature(s): ptxas"/>
</testcase>
<testcase classname="mtlc.IR" name="c.mtir" time="0.00">
  <skipped message="Missing required feature(s): ptxas"/>
</testcase>
</testsuite>
</testsuites>
"""
# Bazel's own, for a test that writes none: it crashed, or it is a script.
BAZEL_FAILED = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="t/crash" tests="1" failures="0" errors="1">
    <testcase name="t/crash" status="run" duration="0" time="0"><error message="exited with error code 134"></error></testcase>
  </testsuite>
</testsuites>
"""
BAZEL_PASSED = """<testsuites><testsuite name="t/ok" tests="1" failures="0" errors="0">
<testcase name="t/ok" status="run" duration="0" time="0"></testcase></testsuite></testsuites>
"""
EMPTY = '<testsuites><testsuite name="none" tests="0"/></testsuites>'


class Summarize(mtlc_testing.TestCase):
    def setUp(self) -> None:
        self.events: list[dict] = []

    def result(self, label: str, status: str, xml: str | None, **key: int) -> None:
        """Adds the event of one run of a test."""
        name = f"{label[2:].replace('/', '_').replace(':', '_')}-{len(self.events)}.xml"
        outputs = [{"name": "test.log", "uri": "file:///logs/a%20b/test.log"}]
        if xml is not None:
            with open(mtlc_testing.scratch(name), "w") as file:
                file.write(xml)
            outputs.append({"name": "test.xml", "uri": "file://" + mtlc_testing.scratch(name)})
        identity = {"label": label, "run": 1, "shard": 1, "attempt": 1, "configuration": {"id": "c"}, **key}
        self.events.append(
            {"id": {"testResult": identity}, "testResult": {"testActionOutput": outputs, "status": status}}
        )

    def finish(self, code: int = 0) -> summarize.Summary:
        exit_code = {"name": "X", "code": code} if code else {"name": "SUCCESS"}
        self.events.append({"id": {"buildFinished": {}}, "finished": {"exitCode": exit_code}})
        return summarize.summarize(self.events, code)

    def test_counts_cases_of_every_kind(self) -> None:
        self.result("//t:gtest", "FAILED", GTEST)
        self.result("//t:lit", "PASSED", LIT)
        self.result("//t:ok", "PASSED", BAZEL_PASSED)
        self.assertEqual(
            self.finish(3).lines(),
            [
                "Skipped:",
                "  2 x Missing required feature(s): ptxas: //t:lit mtlc.IR.b.mtir, //t:lit mtlc.IR.c.mtir",
                "  1 x disabled in the source: //t:gtest A.DISABLED_Off",
                "  1 x no GPU here: //t:gtest A.Skip",
                "Failed:",
                "  //t:gtest A.Fail: a.cc:3 first",
                "  log (FAILED): /logs/a b/test.log",
                "4 passed, 1 failed, 4 skipped",
            ],
        )

    def test_without_skips_the_line_is_short(self) -> None:
        self.result("//t:ok", "PASSED", BAZEL_PASSED)
        self.assertEqual(self.finish().lines(), ["1 passed, 0 failed"])

    def test_crashes_and_time_outs_fail(self) -> None:
        self.result("//t:crash", "FAILED", BAZEL_FAILED)
        self.result("//t:slow", "TIMEOUT", None)
        self.result("//t:torn", "FAILED", GTEST[:300])
        summary = self.finish(3)
        self.assertEqual(
            summary.failed, ["//t:crash t/crash: exited with error code 134", "//t:slow: TIMEOUT", "//t:torn: FAILED"]
        )

    def test_a_failed_test_whose_cases_passed_fails(self) -> None:
        self.result("//t:leak", "FAILED", BAZEL_PASSED)
        summary = self.finish(3)
        self.assertEqual((summary.passed, summary.failed), (1, ["//t:leak: FAILED"]))

    def test_a_passed_test_without_cases_or_with_failed_ones_fails(self) -> None:
        for xml in (None, EMPTY, "<not xml", GTEST):
            with self.subTest(xml=xml):
                self.events = []
                self.result("//t:odd", "PASSED", xml)
                self.result("//t:ok", "PASSED", BAZEL_PASSED)
                self.assertEqual(len(self.finish().failed), 1)

    def test_shards_add_up_and_only_the_last_attempt_counts(self) -> None:
        self.result("//t:s", "PASSED", BAZEL_PASSED, shard=1)
        self.result("//t:s", "FAILED", BAZEL_FAILED, shard=2, attempt=1)
        self.result("//t:s", "PASSED", BAZEL_PASSED, shard=2, attempt=2)
        self.assertEqual(self.finish().lines(), ["2 passed, 0 failed"])

    def test_a_flaky_test_fails(self) -> None:
        self.result("//t:f", "FLAKY", BAZEL_PASSED)
        self.assertEqual(self.finish().failed, ["//t:f: FLAKY"])

    def test_targets_that_cannot_be_built_fail(self) -> None:
        self.result("//t:ok", "PASSED", BAZEL_PASSED)
        label = {"label": "//t:nodep", "configuration": {"id": "c"}}
        self.events += [
            {
                "id": {"configuredLabel": label},
                "aborted": {"reason": "ANALYSIS_FAILURE", "description": "target '//t:nothing' does not exist"},
            },
            {"id": {"targetCompleted": label}, "aborted": {"reason": "ANALYSIS_FAILURE"}},
            {"id": {"targetCompleted": {"label": "//t:lib"}}, "completed": {"failureDetail": {"message": "gcc"}}},
            {"id": {"targetCompleted": {"label": "//t:ok"}}, "completed": {"success": True}},
            {"id": {"pattern": {"pattern": ["//zz/..."]}}, "aborted": {"reason": "LOADING_FAILURE"}},
        ]
        self.assertEqual(
            self.finish(1).failed,
            [
                "//t:lib: not built: the build failed",
                "//t:nodep: not built: target '//t:nothing' does not exist",
                "//zz/...: not built: LOADING_FAILURE",
            ],
        )

    def test_bazel_failing_without_a_cause_fails(self) -> None:
        self.result("//t:ok", "PASSED", BAZEL_PASSED)
        self.assertEqual(self.finish(37).failed, ["bazel ended with exit code 37"])

    def test_nothing_run_is_a_failure(self) -> None:
        self.assertEqual(self.finish().failed, ["no test ran"])
        self.assertEqual(summarize.summarize([], 2).failed, ["bazel ended with exit code 2"])

    def test_the_program_ends_with_the_count(self) -> None:
        self.result("//t:ok", "PASSED", BAZEL_PASSED)
        self.result("//t:lit", "PASSED", LIT)
        self.finish()
        events = mtlc_testing.scratch("events.json")
        for tail, code, last in (("", 0, "2 passed, 0 failed, 2 skipped"), ('{"id":{"torn', 0, None)):
            with open(events, "w") as file:
                file.write("\n".join(json.dumps(event) for event in self.events) + "\n" + tail)
            done = subprocess.run(
                [sys.executable, summarize.__file__, events], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, code, done.stderr)
            if last:
                self.assertEqual(done.stdout.splitlines()[-1], last)
        missing = mtlc_testing.scratch("missing.json")
        self.assertFalse(os.path.exists(missing))
        done = subprocess.run(
            [sys.executable, summarize.__file__, missing, "--bazel-exit-code=8"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"))


if __name__ == "__main__":
    mtlc_testing.main()
