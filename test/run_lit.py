"""Runs lit on one suite inside a Bazel test: what lit_suite (lit.bzl) makes a test of.

Every lit test becomes a test case of the JUnit file that Bazel asks for, so that they are counted one by one.
"""

import argparse
import json
import os
import subprocess
import sys

LIT = "/usr/lib/llvm-14/build/utils/lit/lit.py"
LLVM_TOOLS = "/usr/lib/llvm-14/bin"
# What tests may use of LLVM: text tools, nothing that compiles.
TEXT_TOOLS = ("FileCheck", "count", "not", "split-file")


def make_tool_folder(folder: str, tools: list[str], host: dict[str, str]) -> None:
    """Links the tools a test may call, by their file names, into `folder`."""
    os.makedirs(folder)
    links = {os.path.basename(tool): os.path.abspath(tool) for tool in tools}
    links.update({name: os.path.join(LLVM_TOOLS, name) for name in TEXT_TOOLS})
    links.update({name: path for name, path in host.items() if os.access(path, os.X_OK)})
    for name, target in links.items():
        if not os.path.exists(target):
            raise SystemExit(f"error: {target} is missing; ./mtlcw setup installs what the tests need")
        os.symlink(target, os.path.join(folder, name))


def run(suite: str, tools: list[str], host_file: str, scratch: str, xml: str, jobs: int) -> int:
    """Runs the suite in the folder `suite`; returns lit's exit code."""
    with open(host_file) as file:
        host = json.load(file)
    tool_folder = os.path.join(scratch, "bin")
    make_tool_folder(tool_folder, tools, host)
    command = [
        sys.executable,
        LIT,
        "-v",
        "--no-progress-bar",
        f"-j{jobs}",
        f"--xunit-xml-output={xml}",
        f"--param=tools={tool_folder}",
        f"--param=exec_root={os.path.join(scratch, 'lit')}",
        f"--param=host={os.path.abspath(host_file)}",
    ]
    if "TEST_TOTAL_SHARDS" in os.environ:
        command.append("--num-shards=" + os.environ["TEST_TOTAL_SHARDS"])
        command.append("--run-shard=" + str(int(os.environ["TEST_SHARD_INDEX"]) + 1))
        with open(os.environ["TEST_SHARD_STATUS_FILE"], "w"):
            pass
    return subprocess.run([*command, suite], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--suite", required=True, help="folder of the suite, relative to the runfiles")
    parser.add_argument("--host", required=True, help="host.json")
    parser.add_argument("--tool", action="append", default=[], help="a program for the tests; repeatable")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    return run(
        args.suite, args.tool, args.host, os.environ["TEST_TMPDIR"], os.environ["XML_OUTPUT_FILE"], args.jobs
    )


if __name__ == "__main__":
    sys.exit(main())
