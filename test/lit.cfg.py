"""lit's configuration of all suites under test/. Variables come from run_lit.py by way of lit's --param."""

import json
import os

import lit.formats

config.name = "mtlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mtir", ".mettle", ".ptx", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = lit_config.params["exec_root"]

# Exactly these programs and the system's basic ones are on the path.
tools = lit_config.params["tools"]
config.environment["PATH"] = os.pathsep.join([tools, "/usr/bin", "/bin"])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# `%mtlc-opt` is the full path of the suite's tool mtlc-opt; plain `mtlc-opt` works too.
for name in sorted(os.listdir(tools), key=len, reverse=True):
    config.substitutions.append((r"%" + name.replace(".", r"\.") + r"(?![\w-])", os.path.join(tools, name)))

# `REQUIRES: ptxas` and the like. Tests that need what is missing count as skipped.
with open(lit_config.params["host"]) as file:
    config.available_features.update(json.load(file))
