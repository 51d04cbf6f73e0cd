"""The emitter's fragment tables are those of test/data/fragments."""

import json
import subprocess

import mtlc_testing


class Fragments(mtlc_testing.TestCase):
    def test_tables(self) -> None:
        with open(mtlc_testing.data("test/data/fragments/fragments.json"), encoding="utf-8") as file:
            layouts = json.load(file)["layouts"]
        text = subprocess.run([mtlc_testing.tool("dump_fragments")], capture_output=True, text=True, check=True).stdout
        blocks = text.split("shape ")[1:]
        self.assertGreater(len(blocks), 15)
        for block in blocks:
            head, *lines = block.splitlines()
            name = head.split()[0]
            with self.subTest(shape=name):
                got: dict[str, list[list[list[int]]]] = {"A": [], "B": [], "C": []}
                for line in lines:
                    matrix, lane, *places = line.split()
                    self.assertEqual(int(lane), len(got[matrix]))
                    got[matrix].append([[int(x) for x in place.split(",")] for place in places])
                for matrix, table in got.items():
                    self.assertEqual(table, layouts[name][matrix], matrix)


if __name__ == "__main__":
    mtlc_testing.main()
