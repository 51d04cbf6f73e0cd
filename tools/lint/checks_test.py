"""Each check finds its violation and accepts what is right."""

import mtlc_testing
from tools.lint import checks


class Checks(mtlc_testing.TestCase):
    def test_layers(self) -> None:
        cases = [
            ("mtlc/ir/a.cc", "mtlc/support/source.h", True),
            ("mtlc/ir/a.cc", "mtlc/ir/b.h", True),
            ("mtlc/ir/a.cc", "absl/strings/str_cat.h", True),
            ("mtlc/ir/a.cc", "mtlc/analysis/cfg.h", False),
            ("mtlc/support/a.h", "mtlc/ir/module.h", False),
            ("mtlc/support/a.def", "mtlc/ir/ops.def", False),
            ("mtlc/sim/a.cc", "mtlc/ir/module.h", False),
            ("mtlc/sim/a.cc", "mtlc/codegen/ptx/emit.h", False),
            ("mtlc/frontend/a.cc", "mtlc/codegen/ptx/emit.h", False),
            ("mtlc/transforms/a.cc", "mtlc/codegen/target.h", False),
            ("mtlc/codegen/ptx/a.cc", "mtlc/codegen/target.h", True),
            ("mtlc/codegen/ptx/a.cc", "mtlc/codegen/spirv/emit.h", False),
            ("mtlc/codegen/a.cc", "mtlc/codegen/ptx/emit.h", False),
            ("metakernel/a.cc", "mtlc/ir/module.h", False),
            ("mtlc/analysis/a_test.cc", "mtlc/frontend/parser.h", True),
            ("tools/mtlc-opt/main.cc", "mtlc/frontend/parser.h", True),
            ("mtlc/unheard/a.cc", "mtlc/ir/module.h", False),
        ]
        for path, included, good in cases:
            with self.subTest(path=path, included=included):
                found = checks.check_layers({path: f'#include "x.h"\n #  include "{included}"\n'})
                self.assertEqual(found == [], good, found)

    def test_layers_have_no_cycle(self) -> None:
        for layer, allowed in checks.LAYERS.items():
            for below in allowed or ():
                self.assertNotIn(layer, checks.LAYERS[below] or (), f"{layer} and {below} include each other")

    def test_diagnostics(self) -> None:
        table = "// DIAG(Commented, ...)\nDIAG(Alpha, error, \"a\", \"\")\n  DIAG( Beta ,\n    error, \"b\", \"\")\n"
        tree = {"mtlc/support/diag/x.def": table}
        both = ["mtlc/support/diag/x.def: no test provokes Alpha", "mtlc/support/diag/x.def: no test provokes Beta"]
        self.assertEqual(checks.check_diagnostics(tree), both)
        # Reporting is not testing.
        tree["mtlc/ir/a.cc"] = "report(DiagId::Alpha, loc);"
        self.assertEqual(checks.check_diagnostics(tree), both)
        for path, text in (
            ("mtlc/ir/a_test.cc", "EXPECT_EQ(d.id, DiagId::Alpha);"),
            ("test/IR/a.mtir", '; CHECK: "id":"Alpha"'),
            ("test/IR/a.mtir", "// DIAG: Alpha"),
            ("test/Tools/a_test.py", "self.assertIn('\"id\":\"Alpha\"', err)"),
        ):
            with self.subTest(text=text):
                self.assertEqual(checks.check_diagnostics({**tree, path: text}), both[1:])
        self.assertEqual(checks.check_diagnostics({**tree, "test/IR/a.mtir": "// DIAG: AlphaBeta"}), both)
        self.assertEqual(len(checks.check_diagnostics({})), 1)

    def test_lengths(self) -> None:
        self.assertEqual(checks.check_lengths({"a.cc": "x\n" * 900}), [])
        self.assertEqual(checks.check_lengths({"a.cc": "x\n" * 901}), ["a.cc: 901 lines, more than 900"])
        self.assertEqual(checks.check_lengths({"test/IR/Inputs/a.mtir": "x\n" * 901}), [])

    def test_text(self) -> None:
        self.assertEqual(checks.check_text({"a.cc": "int todo = 1;  // hacking at /usr/bin\n"}), [])
        for bad in ("// TO" "DO: more\n", "x \n", "x", '"/wo' 'rk/x"\n', "// see /ro" "ot/x\n"):
            with self.subTest(bad=bad):
                self.assertEqual(len(checks.check_text({"a.cc": bad})), 1)

    def test_header_guards(self) -> None:
        good = "// Doc.\n\n#ifndef MTLC_IR_A_B_H_\n#define MTLC_IR_A_B_H_\n"
        self.assertEqual(checks.check_header_guards({"mtlc/ir/a_b.h": good}), [])
        self.assertEqual(len(checks.check_header_guards({"mtlc/ir/other.h": good})), 1)
        self.assertEqual(len(checks.check_header_guards({"mtlc/ir/a_b.h": "#pragma once\n"})), 1)


if __name__ == "__main__":
    mtlc_testing.main()
