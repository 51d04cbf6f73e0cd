"""The C front end: what it compiles computes what NumPy does, and both libraries link without Bazel."""

import os
import subprocess

import numpy as np

import mtlc_testing
from mtlc_launch import CONFIGURATIONS, Out, launch

N = 77

# Expression, and the same in NumPy's float32, operation by operation.
CASES = [
    ("x * 2 + y", lambda v, i: v["x"] * np.float32(2) + v["y"]),
    ("(x - y) / (z + 3) - -x", lambda v, i: (v["x"] - v["y"]) / (v["z"] + np.float32(3)) + v["x"]),
    ("sqrt(abs(x)) * i", lambda v, i: np.sqrt(np.abs(v["x"])) * i.astype(np.float32)),
    ("x > y", lambda v, i: (v["x"] > v["y"]).astype(np.float32)),
    ("x != x || y >= 0 && z < 0", lambda v, i: ((v["x"] != v["x"]) | ((v["y"] >= 0) & (v["z"] < 0))).astype(np.float32)),
    ("x > 0 ? y : z > 0 ? -y : i", lambda v, i: np.where(v["x"] > 0, v["y"], np.where(v["z"] > 0, -v["y"], i.astype(np.float32)))),
    ("1 + (x > 0 ? 2 * x : 3)", lambda v, i: np.float32(1) + np.where(v["x"] > 0, np.float32(2) * v["x"], np.float32(3))),
]


class Expression(mtlc_testing.TestCase):
    def compile(self, expression: str, *options: str) -> str:
        run = subprocess.run([mtlc_testing.tool("expression"), *options, expression], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_results(self):
        rng = np.random.default_rng(5)
        values = {name: rng.standard_normal(N).astype(np.float32) for name in "xyz"}
        values["x"][3] = np.nan
        values["y"][5] = -0.0
        index = np.arange(N)
        for expression, numpy in CASES:
            arrays = [values[name] for name in "xyz" if name in expression.replace("exp", "")]
            want = numpy(values, index)
            for device, optimise in CONFIGURATIONS:
                with self.subTest(expression=expression, device=device, O=int(optimise)):
                    # Of other compilers' PTX the simulator takes the text; the interpreter takes the IR.
                    if device == "sim" and optimise:
                        path, text = mtlc_testing.scratch("e.ptx"), self.compile(expression)
                    else:
                        path, text = mtlc_testing.scratch("e.mtir"), self.compile(expression, "--ir")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    out = np.full(N + 3, np.float32(np.nan))
                    got = launch(path, "expression", 3, 32, [Out(out), ("i32", N), *arrays], device=device, optimise=optimise)[0]
                    np.testing.assert_array_equal(got[:N].view(np.uint32)[~np.isnan(want)], want.view(np.uint32)[~np.isnan(want)])
                    np.testing.assert_array_equal(np.isnan(got[:N]), np.isnan(want))
                    self.assertTrue(np.isnan(got[N:]).all())

    def test_same_module_as_the_cpp_example(self):
        cpp = subprocess.run([mtlc_testing.tool("scale_add")], capture_output=True, text=True)
        self.assertEqual(cpp.returncode, 0, cpp.stderr)
        self.assertEqual(cpp.stdout, self.compile("x * 2 + y", "--ir"))

    def test_errors_have_a_place(self):
        for expression, message in [("x * (y", "expression:7: error: expected ')'"), ("x +", "expression:4: error: expected a number"),
                                    ("foo(x)", "unknown function"), ("x ? y", "expected ':'"), ("xy", "one letter")]:
            with self.subTest(expression=expression):
                run = subprocess.run([mtlc_testing.tool("expression"), expression], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stdout), (1, ""))
                self.assertIn(message, run.stderr)

    def test_the_libraries_link_without_bazel(self):
        source = mtlc_testing.data("examples/capi/expression.c")
        include = os.path.dirname(os.path.dirname(mtlc_testing.data("mtlc/capi/include/mtlc/mtlc.h")))
        abseil = ["raw_hash_set", "hash", "city", "low_level_hash", "hashtablez_sampler", "exponential_biased", "statusor",
                  "bad_variant_access", "status", "cord", "cordz_info", "cord_internal", "cordz_functions", "cordz_handle",
                  "bad_optional_access", "strerror", "synchronization", "graphcycles_internal", "malloc_internal", "time",
                  "civil_time", "time_zone", "stacktrace", "symbolize", "debugging_internal", "demangle_internal",
                  "str_format_internal", "strings", "strings_internal", "int128", "base", "spinlock_wait", "log_severity",
                  "throw_delegate", "raw_logging_internal"]
        libraries = {
            "shared": [mtlc_testing.tool("libmtlc.so"), "-Wl,-rpath," + os.path.dirname(os.path.realpath(mtlc_testing.tool("libmtlc.so")))],
            "static": [mtlc_testing.tool("libmtlc.a"), *(f"-labsl_{name}" for name in abseil), "-lprotobuf-lite", "-lstdc++", "-lm"],
        }
        want = self.compile("x * 2 + y", "--ir")
        for kind, flags in libraries.items():
            with self.subTest(kind=kind):
                program = mtlc_testing.scratch("linked-" + kind)
                build = subprocess.run(["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I", include, source, "-o", program, *flags],
                                       capture_output=True, text=True)
                self.assertEqual(build.returncode, 0, build.stderr[-3000:])
                run = subprocess.run([program, "--ir", "x * 2 + y"], capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stdout), (0, want), run.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
