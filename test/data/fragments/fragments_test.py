"""The tables of fragments.json agree with their closed forms and compute products."""

import contextlib
import importlib.util
import io

import mtlc_testing


class Fragments(mtlc_testing.TestCase):
    def test_tables(self) -> None:
        spec = importlib.util.spec_from_file_location("check", mtlc_testing.data("test/data/fragments/check.py"))
        check = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(check)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                check.main()
            except SystemExit:
                self.fail(out.getvalue())
        self.assertIn("all green", out.getvalue())


if __name__ == "__main__":
    mtlc_testing.main()
