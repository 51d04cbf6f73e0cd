"""Public fault reports as tests: for each kind of fault the smallest kernel that shows it, and the right answer.

The numbers (BC-01, …) are those of the collection of fault reports that the project keeps. Expected values are exact: Python
integers, NumPy in a wider type, or written down.
"""

import json

import numpy as np

import mtlc_testing
from mtlc_launch import CONFIGURATIONS, LaunchError, Out, launch_source

INT_MIN = -(2**31)


def truncated(a: int, b: int) -> tuple[int, int]:
    """Quotient and remainder by the rule of the language: toward zero; x / 0 = -1, x % 0 = x; MIN / -1 wraps."""
    if b == 0:
        return -1, a
    q = abs(a) // abs(b)
    if (a < 0) != (b < 0):
        q = -q
    r = a - q * b
    return (q + 2**31) % 2**32 - 2**31, r


def compile_errors(source: str) -> list[dict]:
    """The diagnostics of a source that must be refused."""
    path = mtlc_testing.scratch("refused.mettle")
    output = mtlc_testing.scratch("refused.out")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    with open(output, "w", encoding="utf-8") as file:
        file.write("before")
    run = mtlc_testing.run("mettle", "--emit-ir", "--diagnostics=json", path, "-o", output)
    if run.returncode != 1:
        raise AssertionError(f"exit code {run.returncode}, not 1:\n{run.stderr}")
    with open(output, encoding="utf-8") as file:
        if file.read() != "before":
            raise AssertionError("the output was touched")
    return [d for d in map(json.loads, run.stderr.splitlines()) if d["severity"] == "error"]


class BugCases(mtlc_testing.TestCase):
    def everywhere(self, check, configurations=None):
        for device, optimise in configurations or CONFIGURATIONS:
            with self.subTest(device=device, O=int(optimise)):
                check({"device": device, "optimise": optimise})

    def test_bc01_signed_division(self):
        pairs = [(-7, 2), (7, -2), (-7, -2), (-8, 2), (-1, 2), (-1, 1024), (110, 55)]
        pairs += [(INT_MIN, -1), (INT_MIN, 1), (5, 0), (INT_MIN, 0), (INT_MIN, INT_MIN), (2**31 - 1, INT_MIN)]
        pairs += [(q * b, b) for b in range(1, 1001, 7) for q in range(-50, 51, 3)]
        runtime = """
kernel k(a: int32*, b: int32*, q: int32*, r: int32*, n: int32) {
  var i: int32 = block.x * block_dim.x + thread.x;
  if (i < n) {
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
  }
}
"""
        a = np.array([p[0] for p in pairs], np.int32)
        b = np.array([p[1] for p in pairs], np.int32)
        want = [truncated(*p) for p in pairs]
        constants = [1, 2, 3, 5, 7, 10, 55, 64, 641, 1000, 1024, 65537, 2**30, 2**31 - 1, -1, -2, -3, -7, -1024]
        numerators = [0, 1, -1, 6, -6, 7, -7, 8, -8, 1023, -1023, 1024, -1025, 2**31 - 1, INT_MIN, INT_MIN + 1, 123456789]
        body = "".join(
            f"  out[{2 * j} * n + i] = v / {c};\n  out[{2 * j + 1} * n + i] = v % {c};\n" for j, c in enumerate(constants)
        )
        constant = f"kernel k(x: int32*, out: int32*, n: int32) {{\n  var i: int32 = thread.x;\n  var v: int32 = x[i];\n{body}}}\n"
        unsigned = constant.replace("x: int32*, out: int32*", "x: uint32*, out: uint32*").replace("v: int32", "v: uint32")
        unsigned_constants = [c % 2**32 for c in constants]
        for c in constants:
            if c < 0:
                unsigned = unsigned.replace(f"v / {c};", f"v / (uint32){c % 2**32};").replace(
                    f"v % {c};", f"v % (uint32){c % 2**32};"
                )

        def check(how):
            zeros = np.zeros(len(a), np.int32)
            got = launch_source(
                runtime, "k", -(-len(a) // 256), 256, [a, b, Out(zeros), Out(zeros), ("i32", len(a))], **how
            )
            self.assertEqual(got[2].tolist(), [w[0] for w in want])
            self.assertEqual(got[3].tolist(), [w[1] for w in want])
            n = len(numerators)
            out = np.zeros(2 * len(constants) * n, np.int32)
            x = np.array(numerators, np.int32)
            got = launch_source(constant, "k", 1, n, [x, Out(out), ("i32", n)], **how)[1].reshape(len(constants), 2, n)
            for j, c in enumerate(constants):
                self.assertEqual(got[j, 0].tolist(), [truncated(v, c)[0] for v in numerators], c)
                self.assertEqual(got[j, 1].tolist(), [truncated(v, c)[1] for v in numerators], c)
            got = launch_source(unsigned, "k", 1, n, [x.view(np.uint32), Out(out.view(np.uint32)), ("i32", n)], **how)
            got = got[1].reshape(len(constants), 2, n)
            for j, c in enumerate(unsigned_constants):
                values = [v % 2**32 for v in numerators]
                self.assertEqual(got[j, 0].tolist(), [v // c for v in values], c)
                self.assertEqual(got[j, 1].tolist(), [v % c for v in values], c)

        self.everywhere(check)

    def test_bc04_shift_amounts_are_taken_modulo_the_width(self):
        amounts = [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 0xFFFFFFFF]
        for width in (8, 16, 32, 64):
            values = [1, 2**width - 1, 2 ** (width - 1)]
            constants = "".join(
                f"  out[{3 * j} * 3 + i] = x[i] << (uint32){s};\n"
                f"  out[{3 * j + 1} * 3 + i] = x[i] >> (uint32){s};\n"
                f"  out[{3 * j + 2} * 3 + i] = (uint{width})((int{width})x[i] >> (uint32){s});\n"
                for j, s in enumerate(amounts)
            )
            n = len(amounts)
            source = f"""
kernel k(x: uint{width}*, s: uint32*, out: uint{width}*, run: uint{width}*) {{
  var i: int32 = thread.x;
  for j in 0..{n} {{
    run[3 * j * 3 + i] = x[i] << s[j];
    run[(3 * j + 1) * 3 + i] = x[i] >> s[j];
    run[(3 * j + 2) * 3 + i] = (uint{width})((int{width})x[i] >> s[j]);
  }}
{constants}}}
"""
            dtype = np.dtype(f"u{width // 8}")
            want = np.zeros((n, 3, 3), dtype)
            for j, s in enumerate(amounts):
                for i, v in enumerate(values):
                    t = s % width
                    signed = v - 2**width if v >= 2 ** (width - 1) else v
                    want[j, 0, i] = (v << t) % 2**width
                    want[j, 1, i] = v >> t
                    want[j, 2, i] = (signed >> t) % 2**width

            def check(how, source=source, dtype=dtype, want=want, values=values, n=n):
                zeros = np.zeros(9 * n, dtype)
                got = launch_source(
                    source, "k", 1, 3, [np.array(values, dtype), np.array(amounts, np.uint32), Out(zeros), Out(zeros)], **how
                )
                np.testing.assert_array_equal(got[2].reshape(n, 3, 3), want, err_msg="constant amounts")
                np.testing.assert_array_equal(got[3].reshape(n, 3, 3), want, err_msg="run-time amounts")

            self.everywhere(check)

    def test_bc07_bool_to_float(self):
        source = """
kernel k(out: float32*, d: float64*, t: bool, f: bool) {
  out[0] = t;
  out[1] = f;
  d[0] = (float64)t;
  d[1] = (float32)t + (float32)t;
}
"""

        def check(how):
            got = launch_source(
                source, "k", 1, 1, [Out(np.zeros(2, np.float32)), Out(np.zeros(2)), ("bool", "true"), ("bool", "0")], **how
            )
            self.assertEqual(got[0].tolist() + got[1].tolist(), [1.0, 0.0, 1.0, 2.0])

        self.everywhere(check)

    def test_bc08_nested_modulo(self):
        source = """
kernel k(t: int32*, out: int32*, n: int32, m: int32) {
  var i: int32 = thread.x;
  out[i] = t[(i % 5) % 3];
  out[10 + i] = t[(i % n) % m];
  var q: int32 = i % 4;
  var base: int32 = (-1 - q) / 2;
  out[20 + i] = (base + 4 * q) % 4;
}
"""

        def check(how):
            got = launch_source(
                source,
                "k",
                1,
                10,
                [np.array([10, 20, 30], np.int32), Out(np.zeros(30, np.int32)), ("i32", 5), ("i32", 3)],
                **how,
            )[1]
            want = [10, 20, 30, 10, 20, 10, 20, 30, 10, 20]
            sibling = [truncated(truncated(-1 - q, 2)[0] + 4 * q, 4)[1] for q in [i % 4 for i in range(10)]]
            self.assertEqual(got.tolist(), want + want + sibling)

        self.everywhere(check)

    def test_bc09_offsets_past_two_gigabytes(self):
        source = """
kernel k(x: int32*, out: int64*, stride: int32) {
  var i: int32 = thread.x;
  out[i] = (int64)x[i] * 67108864;
  out[3 + i] = (int64)(x[i] * stride);
  var wide: int64 = x[i];
  out[6 + i] = wide * stride;
}
"""
        x = np.array([31, 32, 63], np.int32)

        def check(how):
            got = launch_source(
                source, "k", 1, 3, [x, Out(np.zeros(9, np.int64)), ("i32", 67108864)], **how
            )[1].tolist()
            self.assertEqual(got[:3], [2080374784, 2147483648, 4227858432])
            self.assertEqual(got[3:6], [2080374784, -2147483648, -67108864])
            self.assertEqual(got[6:], got[:3])

        self.everywhere(check)

    def test_bc20_functions_stay_within_their_error(self):
        """A sweep of each function over its range, against float64."""
        source = """
import "std/math";
kernel k(x: float32*, e: float32*, t: float32*, l: float32*, s: float32*, n: int32) {
  var i: int32 = block.x * block_dim.x + thread.x;
  if (i < n) {
    e[i] = expf(x[i]);
    t[i] = tanhf(x[i]);
    l[i] = logf(fabsf(x[i]));
    s[i] = sinf(x[i]);
  }
}
"""
        rng = np.random.default_rng(20)
        x = np.concatenate(
            [
                rng.uniform(-90, 90, 3000),
                rng.standard_normal(1000) * 1e-3,
                10.0 ** rng.uniform(-38, 38, 1000) * rng.choice([-1, 1], 1000),
            ]
        ).astype(np.float32)

        def ulps(got, want):
            with np.errstate(all="ignore"):
                rounded = want.astype(np.float32)
                unit = np.spacing(np.abs(rounded)).astype(np.float64)
                finite = np.isfinite(rounded)
                np.testing.assert_array_equal(got[~finite], rounded[~finite])
                return np.abs(got[finite].astype(np.float64) - want[finite]) / unit[finite]

        def check(how):
            outs = [Out(np.zeros(len(x), np.float32)) for _ in range(4)]
            got = launch_source(source, "k", -(-len(x) // 128), 128, [x, *outs, ("i32", len(x))], **how)
            wide = x.astype(np.float64)
            with np.errstate(all="ignore"):
                for index, (function, bound) in enumerate(
                    [(np.exp, 2), (np.tanh, 4), (lambda v: np.log(np.abs(v)), 2), (np.sin, 4)]
                ):
                    self.assertLessEqual(ulps(got[index + 1], function(wide)).max(), bound, f"function {index}")

        self.everywhere(check)

    def test_bc31_barriers_under_divergence_are_refused(self):
        head = "kernel k(out: int32*, mask: int32*, n: int32) {\n  workgroup var s: int32[64];\n  var t: int32 = thread.x;\n"
        bodies = {
            "part of the workgroup": "  if (t < 48) {\n    s[t] = t;\n    barrier();\n    out[t] = s[47 - t];\n  }\n}\n",
            "part of each subgroup": "  if (t % 4 == 0) {\n    s[t] = t;\n    barrier();\n    out[t] = s[t];\n  }\n}\n",
            "data": "  if (mask[t] != 0) {\n    s[t] = t;\n    barrier();\n    out[t] = s[t];\n  }\n}\n",
            "early return": "  var k: int32 = block.x * 40 + t;\n  if (k >= n) { return; }\n  s[t] = t;\n  barrier();\n  out[t] = s[0];\n  barrier();\n}\n",
            "loop trip count": "  for (var i: int32 = 0; i < t; i += 1) {\n    barrier();\n  }\n}\n",
        }
        for what, body in bodies.items():
            with self.subTest(what):
                errors = compile_errors(head + body)
                line = (head + body).splitlines().index(next(l for l in (head + body).splitlines() if "barrier" in l)) + 1
                self.assertTrue(any(e["line"] == line and "barrier" in e["message"] for e in errors), errors)
                self.assertTrue(all(e["notes"] for e in errors), "the reason chain is missing")
        with self.subTest("through a helper"):
            source = (
                "fn sync(x: int32) -> int32 {\n  barrier();\n  return x;\n}\n"
                "kernel k(out: int32*) {\n  if (thread.x < 7) {\n    out[0] = sync(1);\n  }\n}\n"
            )
            errors = compile_errors(source)
            self.assertTrue(any(e["line"] == 2 for e in errors), errors)
            notes = [n for e in errors for n in e["notes"]]
            self.assertTrue({6, 7} & {n["line"] for n in notes}, notes)

    def test_bc31_the_legal_rewrite(self):
        source = """
kernel k(out: int32*) {
  workgroup var s: int32[64];
  var t: int32 = thread.x;
  if (t < 48) { s[t] = t; }
  barrier();
  if (t < 48) { out[t] = s[47 - t]; }
}
"""

        def check(how):
            got = launch_source(source, "k", 1, 64, [Out(np.full(64, -9, np.int32))], **how)[0]
            self.assertEqual(got.tolist(), [47 - t for t in range(48)] + [-9] * 16)

        self.everywhere(check)

    def test_bc33_passes_keep_barriers_and_loads_in_place(self):
        source = """
kernel k(a: int32*, b: int32*, c: int32*) {
  workgroup var s: int32[1];
  workgroup var w: int32[32];
  var t: int32 = thread.x;
  if (t == 0) { s[0] = 7; }
  barrier();
  w[t] = s[0] * t;
  barrier();
  if (t == 0) { s[0] = 3; }
  barrier();
  a[t] = w[t] + s[0] * t;
  barrier();

  if (t == 0) { s[0] = 1; }
  barrier();
  var r: int32 = s[0];
  barrier();
  b[t] = r;
  if (t == 0) { s[0] = 2; }
  barrier();

  if (t == 0) { s[0] = 0; }
  barrier();
  var v: int32 = -1;
  for i in 0..2 {
    v = s[0];
    barrier();
    if (t == 0) { s[0] = v + 1; }
    barrier();
  }
  c[t] = v;
}
"""

        def check(how):
            zeros = np.zeros(32, np.int32)
            got = launch_source(source, "k", 1, 32, [Out(zeros), Out(zeros), Out(zeros)], **how)
            self.assertEqual(got[0].tolist(), [10 * t for t in range(32)])
            self.assertEqual(got[1].tolist(), [1] * 32)
            self.assertEqual(got[2].tolist(), [1] * 32)

        self.everywhere(check)

    def test_bc34_swaps(self):
        source = """
kernel k(p: int32*, q: int32*, out: int32*, trips: int32) {
  var x: int32 = 0;
  var y: int32 = 1;
  var z: int32 = 2;
  var a: int32* = p;
  var b: int32* = q;
  for i in 0..trips {
    var t: int32 = x;
    x = y;
    y = t;
    var u: int32* = a;
    a = b;
    b = u;
    var w: int32 = z;
    z = x * 10 + y;
    if (w > 1000) { x = w; }
  }
  out[0] = x;
  out[1] = y;
  out[2] = a[0];
  out[3] = b[0];
}
"""

        def check(how):
            got = launch_source(
                source,
                "k",
                1,
                1,
                [np.array([11], np.int32), np.array([22], np.int32), Out(np.zeros(4, np.int32)), ("i32", 5)],
                **how,
            )[2]
            self.assertEqual(got.tolist(), [1, 0, 22, 11])

        self.everywhere(check)

    def test_bc47_deep_nesting_ends_in_a_message(self):
        def nested(depth: int) -> dict[str, str]:
            return {
                "parentheses": f"kernel k(o: int32*) {{ o[0] = {'(' * depth}1{')' * depth}; }}\n",
                "blocks": f"kernel k(o: int32*) {{ {'{' * depth} o[0] = 1; {'}' * depth} }}\n",
                "minus": f"kernel k(o: int32*) {{ o[0] = {'- ' * depth}1; }}\n",
                "open only": f"kernel k(o: int32*) {{ o[0] = {'(' * depth}",
                "ifs": "kernel k(o: int32*) { " + "if (o[0] > 0) " * depth + "o[0] = 1; }\n",
                "indices": f"kernel k(o: int32*) {{ o[0] = {'o[' * depth}0{']' * depth}; }}\n",
                "comments": "/*" * depth + "kernel k(o: int32*) { }\n",
                "not": f"kernel k(o: bool*) {{ o[0] = {'!' * depth}true; }}\n",
                "casts": f"kernel k(o: int32*) {{ o[0] = {'(int32)' * depth}1; }}\n",
            }

        for depth in (10, 10_000, 1_000_000):
            for what, source in nested(depth).items():
                with self.subTest(what, depth=depth):
                    path = mtlc_testing.scratch("deep.mettle")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(source)
                    run = mtlc_testing.run("mettle", "--emit-ir", path, "-o", "/dev/null", timeout=20)
                    if depth == 10 and what not in ("open only", "comments"):
                        self.assertEqual(run.returncode, 0, run.stderr)
                    elif depth > 10 and what not in ("comments",):
                        self.assertEqual(run.returncode, 1, run.stderr[:500])
                        if what != "open only":
                            self.assertIn("nesting too deep (limit", run.stderr)
                        self.assertRegex(run.stderr, r"deep\.mettle:\d+:\d+: error")
                    else:
                        self.assertIn(run.returncode, (0, 1), run.stderr[:500])

    def test_bc47_long_straight_line_code_compiles(self):
        lines = "".join(f"  x = x * 3 + {i};\n" for i in range(20_000))
        source = f"kernel k(o: int32*) {{\n  var x: int32 = 1;\n{lines}  o[0] = x;\n}}\n"
        want = 1
        for i in range(20_000):
            want = (want * 3 + i) % 2**32

        def check(how):
            got = launch_source(source, "k", 1, 1, [Out(np.zeros(1, np.int32))], **how)[0]
            self.assertEqual(int(got.view(np.uint32)[0]), want)

        self.everywhere(check)

    def test_bc48_malformed_sources_are_refused(self):
        sources = {
            "empty": "",
            "only a byte order mark": "\ufeff",
            "stray brace": "kernel k(o: int32*) { }\n}\n",
            "unterminated string": 'import "std/ma',
            "unterminated comment": "/* kernel",
            "unterminated character": "kernel k(o: int32*) { o[0] = 'a; }",
            "NUL": "kernel k(o: int32*) { o[0] = \0; }",
            "huge exponent": "kernel k(o: float32*) { o[0] = 1e999999; }",
            "a number as a name": "fn 123() {}",
            "a long name": f"kernel k(o: int32*) {{ o[0] = {'x' * 65536}; }}",
            "no end": "kernel k(o: int32*) { if (o[0] > 1) {",
            "half a kernel": "kernel",
        }
        for what, source in sources.items():
            with self.subTest(what):
                errors = compile_errors(source)
                self.assertTrue(errors)
                self.assertLessEqual(len(errors), 21)
                self.assertTrue(all(e["line"] >= 1 and e["column"] >= 1 for e in errors), errors)
        with self.subTest("bytes that are not UTF-8"):
            path = mtlc_testing.scratch("bytes.mettle")
            with open(path, "wb") as file:
                file.write(b"kernel k(o: int32*) { o[0] = \xff\xfe; }")
            run = mtlc_testing.run("mettle", "--emit-ir", path, "-o", mtlc_testing.scratch("x"))
            self.assertEqual(run.returncode, 1, run.stderr)


class Checks(mtlc_testing.TestCase):
    """Programs that are wrong at run time: each is reported on every device, by kind and place."""

    CASES = {
        "mem": ("kernel k(o: int32*) {\n  o[thread.x + 1] = 1;\n}\n", 2, 32),
        "mem below": ("kernel k(o: int32*) {\n  o[(int32)thread.x - 1] = 1;\n}\n", 2, 32),
        "mem workgroup": (
            "kernel k(o: int32*) {\n  workgroup var s: int32[32];\n  s[thread.x] = 1;\n  barrier();\n"
            "  o[thread.x] = s[thread.x * 2];\n}\n",
            5,
            32,
        ),
        "mem private": (
            "kernel k(o: int32*) {\n  var a: int32[4];\n  for i in 0..4 { a[i] = i; }\n  o[thread.x] = a[thread.x / 7];\n}\n",
            4,
            32,
        ),
        "init": ("kernel k(o: int32*) {\n  workgroup var s: int32[32];\n  if (s[thread.x] > 0) {\n    o[0] = 1;\n  }\n}\n", 3, 32),
        "race": (
            "kernel k(o: int32*) {\n  workgroup var s: int32[33];\n  s[thread.x] = 1;\n  s[thread.x + 1] = 2;\n  barrier();\n"
            "  o[thread.x] = s[thread.x];\n}\n",
            None,
            32,
        ),
        "race global": ("kernel k(o: int32*) {\n  o[0] = thread.x;\n}\n", 2, 32),
        "steps": ("kernel k(o: int32*) {\n  var i: int32 = 0;\n  while (o[0] == 0) { i += 1; }\n  o[1] = i;\n}\n", None, 1),
    }

    # The same programs done right.
    GOOD = {
        "mem": "kernel k(o: int32*) {\n  o[thread.x] = 1;\n}\n",
        "mem workgroup": (
            "kernel k(o: int32*) {\n  workgroup var s: int32[32];\n  s[thread.x] = 1;\n  barrier();\n"
            "  o[thread.x] = s[31 - (int32)thread.x];\n}\n"
        ),
        "mem private": (
            "kernel k(o: int32*) {\n  var a: int32[4];\n  for i in 0..4 { a[i] = i; }\n  o[thread.x] = a[thread.x % 4];\n}\n"
        ),
        "init": (
            "kernel k(o: int32*) {\n  workgroup var s: int32[32];\n  s[thread.x] = 1;\n  if (s[thread.x] > 0) {\n"
            "    o[thread.x] = 1;\n  }\n}\n"
        ),
        "race": (
            "kernel k(o: int32*) {\n  workgroup var s: int32[33];\n  s[thread.x] = 1;\n  barrier();\n  s[thread.x + 1] = 2;\n"
            "  barrier();\n  o[thread.x] = s[thread.x];\n}\n"
        ),
        "race global": "kernel k(o: int32*) {\n  if (thread.x == 3) { o[0] = thread.x; }\n}\n",
        "steps": "kernel k(o: int32*) {\n  var i: int32 = 0;\n  while (i < 100) { i += 1; }\n  o[thread.x] = i;\n}\n",
    }

    def test_good_programs_report_nothing(self):
        for name, source in self.GOOD.items():
            for device, optimise in CONFIGURATIONS:
                with self.subTest(name, device=device, O=int(optimise)):
                    launch_source(
                        source,
                        "k",
                        1,
                        32,
                        [Out(np.zeros(32, np.int32))],
                        device=device,
                        optimise=optimise,
                        options=["--max-steps=100000"],
                    )

    def test_faults_are_reported(self):
        for name, (source, line, block) in self.CASES.items():
            kind = name.split()[0]
            for device, optimise in CONFIGURATIONS:
                with self.subTest(name, device=device, O=int(optimise)):
                    with self.assertRaises(LaunchError) as caught:
                        launch_source(
                            source,
                            "k",
                            1,
                            block,
                            [Out(np.zeros(32, np.int32))],
                            device=device,
                            optimise=optimise,
                            options=["--max-steps=100000"],
                        )
                    error = caught.exception
                    self.assertEqual(error.returncode, 1, error.stderr)
                    self.assertIn(f"error: [{kind}]", error.stderr)
                    if line is not None:
                        self.assertRegex(error.stderr, rf"\.mettle:{line}:\d+: error: ")
                    if device == "sim" and kind != "race":
                        self.assertEqual(error.stderr.count("error: ["), 1, error.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
