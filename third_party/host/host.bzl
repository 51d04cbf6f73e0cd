"""What the build knows about the machine: a Python with NumPy, and the optional programs of tests.

The repository it makes (@host) has

  python3.sh    Runs the checkout's .venv (made by ./mtlcw) or, without one, the system's Python. Every py_test and
                py_binary uses it. It also sets MTLC_WORKSPACE, for the few checks that look at the checkout itself.
  host.json     Which optional programs are there; lit turns them into features.

Neither file contains the path of the checkout, so that results can be shared between checkouts; the path is in root.txt,
which python3.sh finds beside itself and which is no input of any action.
"""

_PYTHON = """#!/bin/bash
root="$(cat "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/root.txt")"
export MTLC_WORKSPACE="$root"
export PYTHONDONTWRITEBYTECODE=1
python="$root/.venv/bin/python3"
[ -x "$python" ] || python=/usr/bin/python3
exec "$python" "$@"
"""

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

exports_files(["host.json"])

py_runtime(
    name = "runtime",
    files = ["python3.sh"],
    interpreter = "python3.sh",
    python_version = "PY3",
    stub_shebang = "#!/usr/bin/python3",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "python_toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)
"""

# Feature, and the places where its program may be. Fixed places only: results must not depend on the caller's PATH.
_PROGRAMS = {
    "clang-format": ["/usr/bin/clang-format-14"],
    "nvcc": ["/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"],
    "pocl": ["/etc/OpenCL/vendors/pocl.icd"],
    "ptxas": ["/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"],
    "spirv-val": ["/usr/bin/spirv-val"],
}

def _host_impl(ctx):
    root = ctx.path(Label("//:WORKSPACE")).dirname
    found = {}
    for feature, places in _PROGRAMS.items():
        for place in places:
            if feature not in found and ctx.path(place).exists:
                found[feature] = place
    ctx.file("root.txt", str(root) + "\n", executable = False)
    ctx.file("python3.sh", _PYTHON, executable = True)
    ctx.file("host.json", struct(**found).to_json() + "\n", executable = False)
    ctx.file("BUILD.bazel", _BUILD, executable = False)

# Looked at again whenever a Bazel server starts.
host = repository_rule(
    implementation = _host_impl,
    configure = True,
    local = True,
)
