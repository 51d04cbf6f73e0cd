"""Atomics and subgroup operations as PTX: the simulator gives what NumPy does, for every kind, with and without redux, in
partial warps and blocks of every shape; what memory orders become is in atomics.mtir."""

import numpy as np

import mtlc_testing
from mtlc_launch import Out, launch

ARCHITECTURES = ["sm_60", "sm_75", "sm_90"]  # Without a memory model; without and with redux.sync.
BLOCKS = [(1, 1, 1), (7, 1, 1), (32, 1, 1), (33, 1, 1), (5, 3, 2), (64, 2, 1), (100, 1, 1)]

INT_RMW = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "umin": min, "umax": max,
    "smin": lambda a, b: min(a, b, key=lambda x: x - (x >> 31 << 32)), "smax": lambda a, b: max(a, b, key=lambda x: x - (x >> 31 << 32)),
}  # fmt: skip


def module(body: str, params: str) -> str:
    """A kernel whose %v is the linear thread index and whose %g is the index over all blocks (i64)."""
    path = mtlc_testing.scratch("k.mtir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""module "m"

kernel @k({params}) {{
^entry:
  %tx = gpu.thread_id x : i32
  %ty = gpu.thread_id y : i32
  %tz = gpu.thread_id z : i32
  %nx = gpu.block_dim x : i32
  %ny = gpu.block_dim y : i32
  %nz = gpu.block_dim z : i32
  %0 = mul %tz, %ny : i32
  %1 = add %0, %ty : i32
  %2 = mul %1, %nx : i32
  %v = add %2, %tx : i32
  %3 = mul %nx, %ny : i32
  %size = mul %3, %nz : i32
  %b = gpu.block_id x : i32
  %4 = mul %b, %size : i32
  %5 = add %4, %v : i32
  %g = zext %5 : i32 to i64
{body}
  ret
}}
""")
    return path


class Gpu(mtlc_testing.TestCase):
    def run_all(self, body, params, make, want):
        """Runs on both devices and architectures; `make(total)` gives the arguments, `want(total, block)` the outputs."""
        path = module(body, params)
        for block in BLOCKS:
            total = 3 * int(np.prod(block))
            args, expected = make(total), want(total, int(np.prod(block)))
            for device, arch in [("interp", "sm_90"), *(("sim", arch) for arch in ARCHITECTURES)]:
                with self.subTest(block=block, device=device, arch=arch):
                    got = launch(path, "k", 3, block, args, device=device, options=["--gpu-arch=" + arch])
                    for index, value in expected.items():
                        np.testing.assert_array_equal(got[index], value)

    def warps(self, values: np.ndarray, block: int) -> list[np.ndarray]:
        """Views of the subgroups, block after block."""
        out = []
        for start in range(0, len(values), block):
            out += [values[i : min(i + 32, start + block)] for i in range(start, start + block, 32)]
        return out

    def per_lane(self, op: str, type_: str, model, dtype, values):
        """One operation on one value for each thread."""
        body = f"""  %p = ptr.add %x, %g x {type_} : ptr<global>
  %a = load {type_}, %p : ptr<global>
{op}
  %q = ptr.add %o, %g x {type_} : ptr<global>
  store {type_}, %r, %q : ptr<global>"""

        def want(total, block):
            result = values[:total].copy()
            for view, source in zip(self.warps(result, block), self.warps(values[:total], block)):
                view[:] = model(source)
            return {1: result}

        self.run_all(body, "%x: ptr<global>, %o: ptr<global>", lambda n: [values[:n], Out(np.zeros(n, dtype))], want)

    def test_reductions_and_scans(self):
        rng = np.random.default_rng(3)
        ints = rng.integers(0, 2**32, 512, np.uint32)
        # Sums of small integers are exact in every order.
        floats = rng.integers(-50, 50, 512).astype(np.float32)
        signed = lambda f: lambda x: f(x.view(np.int32)).view(np.uint32)  # noqa: E731
        for kind, model in [("add", lambda x: x.sum(dtype=np.uint32)), ("umin", np.min), ("umax", np.max), ("smin", signed(np.min)), ("smax", signed(np.max))]:
            with self.subTest(kind=kind):
                self.per_lane(f"  %r = subgroup.reduce {kind} %a : i32", "i32", model, np.uint32, ints)
        for kind, model in [("fadd", np.sum), ("fmin", np.min), ("fmax", np.max)]:
            with self.subTest(kind=kind):
                self.per_lane(f"  %r = subgroup.reduce {kind} %a : f32", "f32", model, np.float32, floats)
        for op, exclusive in [("inclusive", False), ("exclusive", True)]:
            for kind, type_, values in [("add", "i32", ints), ("fadd", "f32", floats)]:
                with self.subTest(op=op, kind=kind):

                    def scan(x, exclusive=exclusive):
                        sums = np.cumsum(x, dtype=x.dtype)
                        return sums - x if exclusive else sums

                    self.per_lane(f"  %r = subgroup.scan_{op} {kind} %a : {type_}", type_, scan, values.dtype, values)

    def test_lanes(self):
        rng = np.random.default_rng(4)
        lane = "  %lane = subgroup.local_id : i32\n"
        for type_, dtype in [("i32", np.uint32), ("i64", np.uint64), ("i16", np.uint16), ("f32", np.float32), ("f64", np.float64)]:
            values = rng.integers(0, 2**15, 512).astype(dtype)
            if dtype == np.uint64:
                values = rng.integers(0, 2**63, 512, np.uint64)
            with self.subTest(type=type_):
                # The next lane but four; those past the end keep their own value.
                ahead = lambda x: np.where(np.arange(len(x)) + 5 < len(x), np.roll(x, -5), x)  # noqa: E731
                self.per_lane(lane + f"  %five = const 5 : i32\n  %src = add %lane, %five : i32\n  %r = subgroup.shuffle %a, %src : {type_}",
                              type_, ahead, dtype, values)  # fmt: skip
                self.per_lane(f"  %z = const 0 : i32\n  %r = subgroup.broadcast %a, %z : {type_}", type_, lambda x: x[0], dtype, values)
        wild = rng.integers(0, 2**32, 512, np.uint32)
        # A lane from the data: mostly none at all.
        wild[::3] %= 40
        own = lambda x: np.array([x[s] if s < len(x) else x[i] for i, s in enumerate(x)], np.uint32)  # noqa: E731
        self.per_lane("  %r = subgroup.shuffle %a, %a : i32", "i32", own, np.uint32, wild)
        self.per_lane(lane + "  %s = subgroup.size : i32\n  %t = mul %s, %lane : i32\n  %r = copy %t : i32".replace("copy %t", "add %t, %a"),
                      "i32", lambda x: (np.arange(len(x)) * 32 + x).astype(np.uint32), np.uint32, wild)  # fmt: skip

    def test_votes(self):
        values = np.random.default_rng(5).integers(0, 4, 512).astype(np.uint32)
        odd = "  %one = const 1 : i32\n  %bit = and %a, %one : i32\n  %c = cmp.eq %bit, %one : i32\n"
        mask = lambda x: np.uint32(sum(int(b & 1) << i for i, b in enumerate(x)))  # noqa: E731
        for word, model in [(0, mask), (1, lambda x: 0), (7, lambda x: 0)]:
            self.per_lane(odd + f"  %w = const {word} : i32\n  %r = subgroup.ballot %c, %w : i32", "i32", model, np.uint32, values)
        for vote, model in [("any", lambda x: (x & 1).any()), ("all", lambda x: (x & 1).all())]:
            self.per_lane(odd + f"  %q1 = subgroup.{vote} %c\n  %r = zext %q1 : i1 to i32", "i32", model, np.uint32, values)

    def test_barrier(self):
        """Each lane passes its value on through workgroup memory: the barrier is all that orders it."""
        body = """  %w = alloc.workgroup i32[160] : ptr<workgroup>
  %lane = subgroup.local_id : i32
  %v64 = zext %v : i32 to i64
  %pa = ptr.add %a, %g x i32 : ptr<global>
  %x = load i32, %pa : ptr<global>
  %pw = ptr.add %w, %v64 x i32 : ptr<workgroup>
  store i32, %x, %pw : ptr<workgroup>
  subgroup.barrier {workgroup} acq_rel
  %one = const 1 : i32
  %zero = const 0 : i32
  %first = cmp.eq %lane, %zero : i32
  %step = select %first, %zero, %one : i32
  %from = sub %v, %step : i32
  %from64 = zext %from : i32 to i64
  %pr = ptr.add %w, %from64 x i32 : ptr<workgroup>
  %r = load i32, %pr : ptr<workgroup>
  %po = ptr.add %o, %g x i32 : ptr<global>
  store i32, %r, %po : ptr<global>"""
        values = np.random.default_rng(7).integers(0, 1 << 32, 512, dtype=np.uint32)

        def want(total, block):
            index = np.arange(total)
            thread = index % block
            return {1: values[: total][np.where(thread % 32 == 0, index, index - 1)]}

        self.run_all(body, "%a: ptr<global>, %o: ptr<global>",
                     lambda total: [values[:total].copy(), Out(np.zeros(total, np.uint32))], want)  # fmt: skip
        unordered = module(body.replace("  subgroup.barrier {workgroup} acq_rel\n", ""), "%a: ptr<global>, %o: ptr<global>")
        for device in ["interp", "sim"]:
            args = [values[:64].copy(), Out(np.zeros(64, np.uint32))]
            with self.assertRaisesRegex(Exception, r"\[race\]"):
                launch(unordered, "k", 1, (64, 1, 1), args, device=device, options=["--gpu-arch=sm_75"])

    def test_atomics(self):
        rng = np.random.default_rng(6)
        for bits in (32, 64):
            dtype = np.dtype(f"u{bits // 8}")
            for kind, model in INT_RMW.items():
                if bits == 64 and kind in ("smin", "smax"):
                    continue
                values = rng.integers(0, 2**bits, 1024, dtype)
                # Each thread on one of three cells; the order does not matter for the result.
                body = f"""  %p = ptr.add %x, %g x i{bits} : ptr<global>
  %a = load i{bits}, %p : ptr<global>
  %three = const 3 : i64
  %cell = urem %g, %three : i64
  %q = ptr.add %o, %cell x i{bits} : ptr<global>
  %old = atomic.rmw {kind} i{bits}, %q, %a : ptr<global> relaxed device"""

                def want(total, block, values=values, model=model, dtype=dtype, bits=bits):
                    cells = [17, 2**31 + 5, 99]
                    for i in range(total):
                        cells[i % 3] = int(model(cells[i % 3], int(values[i]))) % 2**bits
                    return {1: np.array(cells, dtype)}

                with self.subTest(kind=kind, bits=bits):
                    self.run_all(body, "%x: ptr<global>, %o: ptr<global>",
                                 lambda n, v=values, d=dtype: [v[:n], Out(np.array([17, 2**31 + 5, 99], d))], want)  # fmt: skip

    def test_old_values_and_exchange(self):
        # Tickets: each thread gets another number. Then a lock by compare-and-exchange guards a plain counter.
        body = """  %one = const 1 : i32
  %old = atomic.rmw add i32, %o, %one : ptr<global> acq_rel device
  %oldw = zext %old : i32 to i64
  %q = ptr.add %t, %oldw x i32 : ptr<global>
  %was = atomic.rmw exchange i32, %q, %old : ptr<global> seq_cst device
  store i32, %was, %q : ptr<global>"""
        self.run_all(body, "%o: ptr<global>, %t: ptr<global>",
                     lambda n: [Out(np.zeros(1, np.uint32)), Out(np.full(n, 9, np.uint32))],
                     lambda n, block: {0: np.array([n], np.uint32), 1: np.full(n, 9, np.uint32)})  # fmt: skip

    def test_workgroup_floats(self):
        body = """  %w = alloc.workgroup f32[1] : ptr<workgroup>
  %zero = const 0 : i32
  %first = cmp.eq %v, %zero : i32
  br %first, ^init, ^go
^init:
  %z = const 0.0 : f32
  store f32, %z, %w : ptr<workgroup>
  jump ^go
^go:
  barrier {workgroup} seq_cst
  %f = uitof %v : i32 to f32
  %old = atomic.rmw fadd f32, %w, %f : ptr<workgroup> relaxed workgroup
  barrier {workgroup} seq_cst
  %s = load f32, %w : ptr<workgroup>
  %q = ptr.add %o, %g x f32 : ptr<global>
  store f32, %s, %q : ptr<global>"""
        self.run_all(body, "%o: ptr<global>", lambda n: [Out(np.zeros(n, np.float32))],
                     lambda n, block: {0: np.full(n, block * (block - 1) // 2, np.float32)})  # fmt: skip


if __name__ == "__main__":
    mtlc_testing.main()
