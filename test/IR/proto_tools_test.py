"""The protobuf form and the tools: what protoc writes they read, what they write protoc reads."""

import json
import os
import re
import subprocess

import mtlc_testing

PROTOC = "/usr/bin/protoc"

# k(p, x): p[thread] = x + 1, as a program in another language would make it: without locations and names.
MODULE = r"""
format: "mtlc.ir" version: 1 producer: "protoc" name: "hand"
types { kind: TYPE_KIND_PTR space: SPACE_GLOBAL }
types { kind: TYPE_KIND_I32 }
types { kind: TYPE_KIND_I64 }
operations: "const" operations: "add" operations: "gpu.thread_id" operations: "sext"
operations: "ptr.add" operations: "store" operations: "ret"
functions {
  name: "k" kernel: true inline_hint: INLINE_HINT_NONE
  parameters { type: 0 } parameters { type: 1 name: "x" }
  blocks {
    operations { operation: 0 result_type: 1 constant: 1 }
    operations { operation: 1 operands: [1, 2] result_type: 1 }
    operations { operation: 2 result_type: 1 dimension: DIMENSION_X }
    operations { operation: 3 operands: 4 result_type: 2 }
    operations { operation: 4 operands: [0, 5] result_type: 0 element_type: 1 name: "address" }
    operations { operation: 5 operands: [3, 6] element_type: 1 memory { align: 4 cache: CACHE_HINT_ALL } }
    operations { operation: 6 }
  }
}
"""
TEXT = """module "hand"

kernel @k(%0: ptr<global>, %x: i32) {
^bb0:
  %1 = const 1 : i32
  %2 = add %x, %1 : i32
  %3 = gpu.thread_id x : i32
  %4 = sext %3 : i32 to i64
  %address = ptr.add %0, %4 x i32 : ptr<global>
  store i32, %2, %address : ptr<global>
  ret
}
"""


def protoc(option: str, data: bytes) -> bytes:
    schema = mtlc_testing.data("mtlc/ir/module.proto")
    root = os.path.dirname(schema)
    command = [PROTOC, f"--proto_path={root}", f"--{option}=mtlc.ir.proto.Module", "module.proto"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def call(name: str, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([mtlc_testing.tool(name), *args], input=stdin, capture_output=True, timeout=60, check=False)


def save(name: str, data: bytes) -> str:
    path = mtlc_testing.scratch(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


class Tools(mtlc_testing.TestCase):
    def setUp(self) -> None:
        self.bytes = protoc("encode", MODULE.encode())
        self.path = save("hand.mtirpb", self.bytes)

    def test_reads_what_protoc_writes(self) -> None:
        run = call("mtlc-opt", "--emit=text", self.path)
        self.assertEqual((run.returncode, run.stdout.decode(), run.stderr), (0, TEXT, b""))

    def test_recognises_the_form_without_a_name(self) -> None:
        run = call("mtlc-opt", "--emit=text", "-", stdin=self.bytes)
        self.assertEqual((run.returncode, run.stdout.decode()), (0, TEXT))
        other = save("hand.bin", self.bytes)
        self.assertEqual(call("mtlc-opt", "--emit=text", other).stdout.decode(), TEXT)

    def test_the_result_has_the_form_of_the_input(self) -> None:
        again = call("mtlc-opt", self.path).stdout
        self.assertEqual(call("mtlc-opt", "--emit=text", "-", stdin=again).stdout.decode(), TEXT)
        self.assertTrue(again.startswith(b"\x0a\x07mtlc.ir"))
        self.assertEqual(call("mtlc-opt", "-", stdin=TEXT.encode()).stdout.decode(), TEXT)

    def test_protoc_reads_what_mtlc_opt_writes(self) -> None:
        text = save("hand.mtir", TEXT.encode())
        written = call("mtlc-opt", "--emit=pb", text)
        self.assertEqual((written.returncode, written.stderr), (0, b""))
        decoded = protoc("decode", written.stdout).decode()
        for line in ('format: "mtlc.ir"', 'name: "address"', "constant: 1", "dimension: DIMENSION_X",
                     "cache: CACHE_HINT_ALL", "line: 10", 'operations: "ptr.add"'):
            self.assertIn(line, decoded)
        # protoc shows a field it does not know by its number.
        self.assertIsNone(re.search(r"^\s*\d+:", decoded, re.MULTILINE))
        # But for the locations, the producer and the order of tables it is the module above.
        self.assertEqual(protoc("encode", decoded.encode()), written.stdout)

    def test_runs_and_compiles(self) -> None:
        for device in ("interp", "sim"):
            with self.subTest(device=device):
                run = call("mtlc-run", self.path, f"--device={device}", "--kernel=k", "--grid=1", "--block=3",
                           "--arg=buf:i32:4:iota", "--arg=i32:41", "--print=0")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual([int(n) for n in re.findall(r"\b\d+\b", run.stdout.decode().split(":")[-1])][-4:], [42, 42, 42, 3])
        ptx = call("mtlc-llc", self.path)
        self.assertEqual((ptx.returncode, ptx.stderr), (0, b""))
        self.assertEqual(ptx.stdout, call("mtlc-llc", "-", stdin=TEXT.encode()).stdout)

    def test_refusals_have_a_place(self) -> None:
        cases = [
            (MODULE.replace("operands: [0, 5]", "operands: [0, 9]"), 5, "ProtoIndex",
             "function @k, operation 5 (ptr.add): an operand is number 9, but there are only 7"),
            (MODULE.replace("version: 1", "version: 2"), 0, "ProtoVersion", "version 2"),
            (MODULE.replace('"sext"', '"sxt"'), 0, "ProtoUnknownOperation", "unknown operation 'sxt'"),
            (MODULE.replace("align: 4", "align: 3"), 6, "VerifyV12", "[V12]"),
        ]
        for module, line, name, message in cases:
            with self.subTest(name=name):
                path = save("bad.mtirpb", protoc("encode", module.encode()))
                for tool in ("mtlc-opt", "mtlc-llc", "mtlc-run"):
                    run = call(tool, "--diagnostics=json", path)
                    self.assertEqual((run.returncode, run.stdout), (1, b""))
                    problem = json.loads(run.stderr.splitlines()[0])
                    self.assertEqual((problem["id"], problem["file"], problem["line"]), (name, path, line))
                    self.assertIn(message, problem["message"])

    def test_a_text_file_is_no_protobuf(self) -> None:
        run = call("mtlc-opt", save("text.mtirpb", TEXT.encode()))
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"no IR module in protobuf form", run.stderr)


if __name__ == "__main__":
    mtlc_testing.main()
