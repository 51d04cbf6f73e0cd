"""Registers of tensor kernels, as NVIDIA's assembler counts them, against registers.tsv: none may take more than its row
says, nor more than its ceiling, and none may spill. `TENSOR_REGISTERS_PRINT=1` prints the table as it would be."""

import os
import re
import subprocess

import mtlc_testing
import ptxas_test

FOLDER = "test/CodeGen/PTX"
RUN = re.compile(r"RUN: mtlc-llc %s -march=\w+((?: --tensor\S+)*)")


class Registers(mtlc_testing.TestCase):
    def rows(self) -> list[list[str]]:
        with open(mtlc_testing.data(f"{FOLDER}/registers.tsv"), encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
        self.assertGreater(len(lines), 10)
        return lines

    def measured(self, name: str, arch: str) -> dict[str, tuple[int, str]]:
        """By kernel: registers, and what the assembler says of its stack."""
        source = mtlc_testing.data(f"{FOLDER}/{name}")
        with open(source, encoding="utf-8") as file:
            found = RUN.search(file.read())
        self.assertIsNotNone(found, name)
        output = mtlc_testing.scratch("registers.ptx")
        done = mtlc_testing.run("mtlc-llc", source, f"-march={arch}", "-o", output, *found[1].split())
        self.assertEqual(done.returncode, 0, done.stderr)
        assembled: subprocess.CompletedProcess[str] = ptxas_test.assemble(output, arch)
        self.assertEqual(assembled.returncode, 0, assembled.stdout + assembled.stderr)
        pattern = r"Compiling entry function '(\w+)'[^\n]*\n[^\n]*\n([^\n]*)\n[^\n]*Used (\d+) registers"
        return {kernel: (int(used), stack) for kernel, stack, used in re.findall(pattern, assembled.stderr)}

    def test_table(self) -> None:
        rows = self.rows()
        files = sorted({(name, arch) for name, _, arch, _, _ in rows})
        numbers = {key: self.measured(*key) for key in files}
        for name, kernel, arch, registers, ceiling in rows:
            used, stack = numbers[name, arch].pop(kernel)
            if os.environ.get("TENSOR_REGISTERS_PRINT"):
                print("TABLE", name, kernel, arch, used, ceiling, sep="\t")
            with self.subTest(file=name, kernel=kernel, arch=arch):
                self.assertLessEqual(used, int(registers), "more registers than the table says")
                self.assertLessEqual(int(registers), int(ceiling), "the table allows more than the ceiling")
                self.assertRegex(stack, r"\b0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
        for key, rest in numbers.items():
            with self.subTest(file=key):
                self.assertEqual(list(rest), [], "kernels without a row")


if __name__ == "__main__":
    if not ptxas_test.ptxas():
        mtlc_testing.skip_all("no ptxas")
    mtlc_testing.main()
