"""What each order and scope of each atomic becomes, before and after sm_70: a table of instruction sequences (PTX ISA, "Memory
Consistency Model"; before it, membar and volatile accesses), and message passing and store buffering in the simulator."""

import itertools
import re

import mtlc_exec
import mtlc_testing
import numpy as np

SCOPES = {"workgroup": ("cta", "cta"), "device": ("gpu", "gl"), "system": ("sys", "sys")}  # As .scope, and as membar.
ORDERS = {
    "load": ("relaxed", "acquire", "seq_cst"),
    "store": ("relaxed", "release", "seq_cst"),
    "exchange": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    "add": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    "cas": ("relaxed", "acquire", "release", "acq_rel", "seq_cst"),
}
IR = {
    "load": "%r = atomic.load i32, %p : ptr<global> {order} {scope}",
    "store": "atomic.store i32, %p, %v : ptr<global> {order} {scope}",
    "exchange": "%r = atomic.rmw exchange i32, %p, %v : ptr<global> {order} {scope}",
    "add": "%r = atomic.rmw add i32, %p, %v : ptr<global> {order} {scope}",
    "cas": "%r = atomic.cas i32, %p, %v, %v : ptr<global> {order} relaxed {scope}",
}
OPCODES = {"exchange": "exch.b32", "add": "add.u32", "cas": "cas.b32"}


def wanted(access: str, order: str, scope: str, old: bool) -> list[str]:
    suffix, membar = SCOPES[scope]
    if old:
        fence = f"membar.{membar}"
        before = order in ("release", "acq_rel", "seq_cst")
        after = order in ("acquire", "acq_rel", "seq_cst")
        if access in ("load", "store"):
            middle = f"{'ld' if access == 'load' else 'st'}.volatile.global.b32"
        else:
            middle = f"atom.{suffix}.global.{OPCODES[access]}"
        return [fence] * before + [middle] + [fence] * after
    fence = [f"fence.sc.{suffix}"] if order == "seq_cst" else []
    if order == "seq_cst":
        order = "relaxed" if access == "store" else "acquire"
    if access in ("load", "store"):
        return [*fence, f"{'ld' if access == 'load' else 'st'}.{order}.{suffix}.global.b32"]
    return [*fence, f"atom.{order}.{suffix}.global.{OPCODES[access]}"]


def module(access: str, order: str, scope: str) -> str:
    line = IR[access].format(order=order, scope=scope)
    use = "" if access == "store" else "  store i32, %r, %o : ptr<global>\n"
    return f'module "m"\nkernel @k(%p: ptr<global>, %o: ptr<global>, %v: i32) {{\n^entry:\n  {line}\n{use}  ret\n}}\n'


LITMUS = """module "m"

// Two blocks of one thread: message passing, or store buffering, on the cells %x and %y; what was read goes to %r.
kernel @{name}(%x: ptr<global>, %y: ptr<global>, %r: ptr<global>) {{
^entry:
  %b = gpu.block_id x : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  %i1 = const 1 : i64
  %r1 = ptr.add %r, %i1 x i32 : ptr<global>
  %first = cmp.eq %b, %zero : i32
  br %first, ^a, ^b
^a:
{a}
  ret
^b:
{b}
  ret
}}
"""


def load(name: str, cell: str, order: str) -> str:
    return f"  %{name} = atomic.load i32, %{cell} : ptr<global> {order} device"


def store(cell: str, order: str) -> str:
    return f"  atomic.store i32, %{cell}, %one : ptr<global> {order} device"


class MemoryOrders(mtlc_exec.TestCase):
    def test_table(self) -> None:
        for access, orders in ORDERS.items():
            for order, scope, arch in itertools.product(orders, SCOPES, ("sm_60", "sm_61", "sm_70", "sm_90")):
                with self.subTest(access=access, order=order, scope=scope, arch=arch):
                    source = mtlc_exec.write_source("m.mtir", module(access, order, scope))
                    result = mtlc_testing.run("mtlc-llc", source, "-march=" + arch)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    found = re.findall(r"^\t((?:fence|membar|atom|red|ld|st)\.\S+?)[ ;]", result.stdout, re.MULTILINE)
                    found = [f for f in found if not f.startswith("ld.param")]
                    if access != "store":
                        self.assertEqual(found.pop(), "st.global.b32")
                    self.assertEqual(found, wanted(access, order, scope, arch in ("sm_60", "sm_61")))

    def test_illegal_pairs(self) -> None:
        for access, order in (("load", "release"), ("load", "acq_rel"), ("store", "acquire"), ("store", "acq_rel")):
            with self.subTest(access=access, order=order):
                source = mtlc_exec.write_source("m.mtir", module(access, order, "device"))
                result = mtlc_testing.run("mtlc-llc", source, "--diagnostics=json")
                self.assertEqual(result.returncode, 1)
                self.assertIn('"VerifyV24"', result.stderr)

    def outcomes(self, name: str, a: str, b: str, arch: str) -> set[tuple[int, int]]:
        source = mtlc_exec.write_source("litmus.mtir", LITMUS.format(name=name, a=a, b=b))
        seen = set()
        for seed in range(1, 41):
            cells = [mtlc_exec.InOut(np.zeros(1, np.uint32)) for _ in range(2)]
            read = mtlc_exec.InOut(np.full(2, 9, np.uint32))
            result = self.launch(source, name, [*cells, read], grid=2, device="sim",
                                 options=[f"--gpu-arch={arch}", f"--seed={seed}", "--weak-memory", "--check=none"])  # fmt: skip
            seen.add(tuple(int(v) for v in result[read]))
        return seen

    def test_message_passing(self) -> None:
        # The second block sees the flag and then not the data: (1, 0).
        a = "\n".join([store("x", "relaxed"), store("y", "release")])
        b = "\n".join([load("f", "y", "acquire"), load("d", "x", "relaxed"),
                       "  store i32, %f, %r : ptr<global>\n  store i32, %d, %r1 : ptr<global>"])  # fmt: skip
        for arch in ("sm_60", "sm_70", "sm_90"):
            with self.subTest(arch=arch):
                seen = self.outcomes("mp", a, b, arch)
                self.assertNotIn((1, 0), seen)
                self.assertGreater(len(seen), 1)  # Else the schedules show nothing.

    def test_store_buffering(self) -> None:
        # Neither sees the other's store: (0, 0).
        def half(mine: str, other: str, to: str, order: str) -> str:
            name = "v" + mine
            return "\n".join([store(mine, order), load(name, other, order), f"  store i32, %{name}, %{to} : ptr<global>"])

        for arch in ("sm_60", "sm_70", "sm_90"):
            with self.subTest(arch=arch):
                seen = self.outcomes("sb", half("x", "y", "r", "seq_cst"), half("y", "x", "r1", "seq_cst"), arch)
                self.assertNotIn((0, 0), seen)
                relaxed = self.outcomes("sb", half("x", "y", "r", "relaxed"), half("y", "x", "r1", "relaxed"), arch)
                self.assertIn((0, 0), relaxed)


if __name__ == "__main__":
    mtlc_testing.main()
