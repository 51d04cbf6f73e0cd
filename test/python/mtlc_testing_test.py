"""Checks how mtlc_testing counts, by running small test programs with it."""

import os
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree

import mtlc_testing

PRELUDE = """
import sys
sys.path.insert(0, {folder!r})
import mtlc_testing
"""


def outcomes(body: str, *args: str) -> tuple[int, list[str], str]:
    """Exit code, `name=outcome` of each case in the JUnit file, and output of a test program."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.py")
        report = os.path.join(folder, "report.xml")
        with open(program, "w") as file:
            file.write(PRELUDE.format(folder=os.path.dirname(mtlc_testing.__file__)) + textwrap.dedent(body))
        env = dict(os.environ, XML_OUTPUT_FILE=report)
        done = subprocess.run([sys.executable, program, *args], env=env, capture_output=True, text=True, check=False)
        found = []
        for case in ElementTree.parse(report).iter("testcase"):
            child = list(case)
            found.append(f"{case.get('name')}={child[0].tag if child else 'passed'}")
        return done.returncode, found, done.stdout + done.stderr


class Counting(mtlc_testing.TestCase):
    def test_subtests_count_one_by_one(self) -> None:
        code, found, _ = outcomes("""
            class A(mtlc_testing.TestCase):
                def test_plain(self):
                    pass
                def test_subtests(self):
                    for n in range(3):
                        with self.subTest(n=n):
                            self.assertNotEqual(n, 1)
            mtlc_testing.main()
        """)
        self.assertEqual(code, 1)
        self.assertEqual(
            found,
            ["test_plain=passed", "test_subtests (n=0)=passed", "test_subtests (n=1)=failure",
             "test_subtests (n=2)=passed"],
        )  # fmt: skip

    def test_skips_carry_their_reason(self) -> None:
        code, found, output = outcomes("""
            class A(mtlc_testing.TestCase):
                def test_skipped(self):
                    self.skipTest("no ptxas")
            mtlc_testing.main()
        """)
        self.assertEqual((code, found), (0, ["test_skipped=skipped"]))
        self.assertIn("SKIP: A.test_skipped: no ptxas", output)
        code, found, output = outcomes('mtlc_testing.skip_all("no GPU")')
        self.assertEqual((code, found), (0, ["all=skipped"]))
        self.assertIn("SKIP: no GPU", output)

    def test_errors_and_hostile_text_fail(self) -> None:
        code, found, _ = outcomes("""
            class A(mtlc_testing.TestCase):
                def test_error(self):
                    raise ValueError("\\x00 ]]> <a> \\ud800 \\x1b[31m")
                @mtlc_testing.unittest.expectedFailure
                def test_unexpected(self):
                    pass
            class B(mtlc_testing.TestCase):
                @classmethod
                def setUpClass(cls):
                    raise ValueError("set-up")
                def test_never_runs(self):
                    pass
            mtlc_testing.main()
        """)
        self.assertEqual(code, 1)
        self.assertEqual(len(found), 3)
        self.assertTrue(all(name.endswith("=failure") for name in found), found)

    def test_a_failure_has_a_headline(self) -> None:
        rows = [("A", "test", "failed", 'Traceback (most recent call last):\n  File "x"\n    f()\nE: one\n  two\n')]
        report = mtlc_testing.scratch("headline.xml")
        mtlc_testing.write_junit(report, rows, 0.0)
        failure = next(ElementTree.parse(report).iter("failure"))
        self.assertEqual(failure.get("message"), "E: one two")

    def test_a_program_without_cases_fails(self) -> None:
        code, found, output = outcomes("mtlc_testing.main()")
        self.assertEqual((code, found), (1, []))
        self.assertIn("no test case found", output)

    def test_tools_are_found_by_name(self) -> None:
        code, _, output = outcomes(
            """
            class A(mtlc_testing.TestCase):
                def test_tool(self):
                    done = mtlc_testing.run("cat", stdin="in")
                    self.assertEqual((done.returncode, done.stdout), (0, "in"))
                    with self.assertRaises(LookupError):
                        mtlc_testing.tool("dog")
            mtlc_testing.main()
            """,
            "--tool=/bin/cat",
        )
        self.assertEqual(code, 0, output)


if __name__ == "__main__":
    mtlc_testing.main()
