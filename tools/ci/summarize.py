"""Counts the test cases of one `bazel test` and says what failed and what was skipped, and why.

Reads the build event file (--build_event_json_file), which names every test that ran or was taken from the cache, every
target that could not be built, and the JUnit files with the single cases: GoogleTest, lit, and the Python tests write
them; for any other test Bazel makes one with one case. A target that could not be built, and a test that failed without
saying in which case, count as one failure; so does a test that passed only when it was repeated. The last line printed
is the count. The exit code is 0 only when something passed, nothing failed, and Bazel itself succeeded.
"""

import argparse
import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

# Exit codes of `bazel test` whose cause is in the events: success, failed tests.
EXPLAINED_EXIT_CODES = (0, 3)


@dataclass
class Summary:
    passed: int = 0
    failed: list[str] = field(default_factory=list)  # One line each.
    skipped: list[tuple[str, str]] = field(default_factory=list)  # Case and reason.
    logs: list[str] = field(default_factory=list)  # Of failed tests.

    def lines(self) -> list[str]:
        """The text to print; the count is the last line."""
        out = []
        if self.skipped:
            out.append("Skipped:")
            reasons = Counter(reason for _, reason in self.skipped)
            for reason, count in sorted(reasons.items()):
                names = [name for name, why in self.skipped if why == reason]
                shown = ", ".join(names[:3]) + (", ..." if count > 3 else "")
                out.append(f"  {count} x {reason}: {shown}")
        if self.failed:
            out.append("Failed:")
            out += [f"  {line}" for line in self.failed]
            out += [f"  {line}" for line in self.logs]
        count = f"{self.passed} passed, {len(self.failed)} failed"
        if self.skipped:
            count += f", {len(self.skipped)} skipped"
        return [*out, count]


def one_line(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def skip_reason(case: ElementTree.Element, child: ElementTree.Element | None) -> str:
    if child is None:
        return "disabled in the source"
    lines = (child.get("message") or child.text or "").strip().splitlines()
    # GoogleTest puts `FILE:LINE` on a line of its own before the reason.
    return one_line(lines[-1]) if lines else "no reason given"


def count_cases(label: str, path: str, summary: Summary) -> int:
    """Adds the cases of a JUnit file to the summary; returns how many failed."""
    failed = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        children = {child.tag: child for child in reversed(case)}  # The first of each kind.
        if "failure" in children or "error" in children:
            failed += 1
            problem = children.get("failure", children.get("error"))
            summary.failed.append(f"{label} {name}" + (f": {m}" if (m := one_line(problem.get("message") or "")) else ""))
        elif "skipped" in children or case.get("status") == "notrun":
            summary.skipped.append((f"{label} {name}", skip_reason(case, children.get("skipped"))))
        else:
            summary.passed += 1
    return failed


def local_path(uri: str) -> str:
    parts = urllib.parse.urlsplit(uri)
    return urllib.parse.unquote(parts.path) if parts.scheme == "file" else ""


def count_result(label: str, result: dict, summary: Summary) -> None:
    """Adds what one run of one test says."""
    status = result.get("status", "NO_STATUS")
    outputs = {output["name"]: local_path(output.get("uri", "")) for output in result.get("testActionOutput", [])}
    passed_before = summary.passed + len(summary.skipped)
    failed = 0
    try:
        failed = count_cases(label, outputs["test.xml"], summary)
        found = summary.passed + len(summary.skipped) + failed > passed_before
    except (KeyError, OSError, ElementTree.ParseError):
        found = False
    if status == "PASSED":
        if failed:
            # The cases say failure, the test's exit code success: the test's fault, but never a pass.
            summary.logs.append(f"log: {outputs.get('test.log')}")
        elif not found:
            summary.failed.append(f"{label}: passed without any test case")
        return
    if not failed:
        summary.failed.append(f"{label}: {status}")
    if outputs.get("test.log"):
        summary.logs.append(f"log ({status}): {outputs['test.log']}")


def summarize(events: Iterable[dict], exit_code: int) -> Summary:
    """The summary of one invocation from its build events."""
    summary = Summary()
    results: dict[tuple, tuple[int, dict]] = {}  # The last attempt of each run of each test.
    unbuilt: dict[str, str] = {}
    bazel_exit = exit_code
    for event in events:
        kind = event.get("id", {})
        if "testResult" in event and "testResult" in kind:
            key = kind["testResult"]
            which = (key["label"], key.get("run", 1), key.get("shard", 1), key.get("configuration", {}).get("id", ""))
            attempt = key.get("attempt", 1)
            if which not in results or results[which][0] <= attempt:
                results[which] = (attempt, event["testResult"])
        elif "targetCompleted" in kind and not event.get("completed", {}).get("success", False):
            label = kind["targetCompleted"]["label"]
            aborted = event.get("aborted", {})
            reason = aborted.get("description") or aborted.get("reason") or "the build failed"
            # A failed test is not a failed build: its target completes.
            if aborted.get("reason") != "SKIPPED":
                if label not in unbuilt or aborted.get("description"):
                    unbuilt[label] = reason
        elif "aborted" in event:
            what = next(iter(kind.values()), {})
            label = what.get("label") or ", ".join(what.get("pattern", [])) or "bazel"
            reason = event["aborted"].get("reason", "")
            if reason not in ("SKIPPED", "NO_BUILD"):
                unbuilt.setdefault(label, event["aborted"].get("description") or reason)
        elif "finished" in event:
            bazel_exit = event["finished"].get("exitCode", {}).get("code", bazel_exit)
    for (label, run, shard, _), (_, result) in sorted(results.items(), key=lambda item: item[0]):
        suffix = f" (shard {shard})" if any(k[0] == label and k[2] != 1 for k in results) else ""
        suffix += f" (run {run})" if any(k[0] == label and k[1] != 1 for k in results) else ""
        count_result(label + suffix, result, summary)
    for label, reason in sorted(unbuilt.items()):
        summary.failed.append(f"{label}: not built: {one_line(reason)}")
    if not summary.failed and (exit_code not in EXPLAINED_EXIT_CODES or bazel_exit != 0):
        summary.failed.append(f"bazel ended with exit code {exit_code or bazel_exit}")
    if not summary.failed and summary.passed == 0:
        summary.failed.append("no test ran")
    return summary


def read_events(path: str) -> list[dict]:
    """The events of a file; a torn last line (Bazel was killed) is left out."""
    events = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return events


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("events", help="the build event file")
    parser.add_argument("--bazel-exit-code", type=int, default=0)
    args = parser.parse_args()
    events = read_events(args.events) if os.path.exists(args.events) else []
    summary = summarize(events, args.bazel_exit_code)
    sys.stdout.flush()
    print("\n".join(summary.lines()), flush=True)
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
