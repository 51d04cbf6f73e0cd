"""Public fault reports about GPU operations, from Mettle sources; and each operation's family once.

The numbers (BC-24, …) are those of the collection of fault reports that the project keeps. Expected values are written down, or
NumPy's.
"""

import itertools

import numpy as np

import mtlc_exec
import mtlc_testing
from mtlc_launch import Out, launch_source

NAN = np.float32(np.nan)


class GpuCases(mtlc_testing.TestCase):
    def everywhere(self, check, sizes=(32,)) -> None:
        for device, optimise, size in itertools.product(mtlc_exec.devices(), (False, True), sizes):
            with self.subTest(device=device, O=int(optimise), subgroup=size):
                options = () if size == 32 else (f"--subgroup-size={size}",)
                if options and device == "sim":
                    self.skipTest("the simulator has subgroups of 32")
                check({"device": device, "optimise": optimise, "options": options})

    def test_bc24_old_values_are_distinct(self):
        source = """
kernel k(cell: uint32*, old: uint32*, step: int32) {
  var i: int32 = block.x * block_dim.x + thread.x
  if (i % step == 0) { old[i] = atomic_fetch_add(cell, 0, 1, order: relaxed) }
}
"""

        def check(how):
            for step in (1, 2):
                old = np.full(512, 0xFFFFFFFF, np.uint32)
                got = launch_source(
                    source, "k", 4, 128, [Out(np.zeros(1, np.uint32)), Out(old), ("i32", step)], **how
                )
                self.assertEqual(got[0][0], 512 // step)
                self.assertEqual(sorted(got[1][::step]), list(range(512 // step)))
                if step == 2:
                    self.assertTrue((got[1][1::2] == 0xFFFFFFFF).all())

        self.everywhere(check)

    def test_bc26_a_helper_on_either_space(self):
        source = """
fn add(p: uint32*, i: int32) { atomic_fetch_add(p, i, 1, order: relaxed) }
kernel k(g: uint32*, out: uint32*) {
  workgroup var w: uint32[64]
  w[thread.x] = 100
  var p: uint32* = g
  if (thread.x % 2 == 1) { p = w }
  add(p, thread.x)
  add(w, thread.x)
  out[thread.x] = w[thread.x]
}
"""

        def check(how):
            got = launch_source(
                source, "k", 1, 64, [Out(np.zeros(64, np.uint32)), Out(np.zeros(64, np.uint32))], **how
            )
            odd = np.arange(64) % 2
            self.assertEqual(got[0].tolist(), (1 - odd).tolist())
            self.assertEqual(got[1].tolist(), (101 + odd).tolist())

        self.everywhere(check)

    def test_bc27_a_ring_of_three_stages(self):
        source = """
kernel k(g: int32*, out: int32*) {
  workgroup var ring: int32[96]
  var t: int32 = thread.x
  for p in 0..2 {
    async_copy_workgroup(&ring[p * 32 + t], g + p * 32 + t, 1)
    async_copy_commit()
  }
  var acc: int32 = 0
  for s in 0..5 {
    if (s + 2 < 5) { async_copy_workgroup(&ring[(s + 2) % 3 * 32 + t], g + (s + 2) * 32 + t, 1) }
    async_copy_commit()
    async_copy_wait(2)
    acc += ring[s % 3 * 32 + t]
  }
  async_copy_wait(0)
  out[t] = acc
}
"""

        def check(how):
            g = np.repeat(2 ** np.arange(5), 32).astype(np.int32)
            got = launch_source(source, "k", 1, 32, [g, Out(np.zeros(32, np.int32))], **how)
            self.assertEqual(got[1].tolist(), [31] * 32)

        self.everywhere(check)

    def test_bc36_partial_subgroups_and_payloads(self):
        source = """
kernel k(sums: uint32*, d: float64*, h: uint16*, l: int64*, bits: uint32*, n: uint32*) {
  var i: int32 = thread.x
  sums[i] = subgroup_reduce_add((uint32)i)
  var next: uint32 = subgroup_local_id() + 1
  d[i] = subgroup_shuffle(d[i], next)
  h[i] = subgroup_broadcast(h[i], 1)
  l[i] = subgroup_shuffle(l[i], next)
  bits[i] = subgroup_ballot(i % 3 == 0, 0)
  n[i] = subgroup_scan_exclusive_add((uint32)1) + subgroup_scan_inclusive_add((uint32)2)
}
"""

        def check(how):
            size = int(how["options"][0].split("=")[1]) if how["options"] else 32
            i = np.arange(48)
            first, last = i // size * size, np.minimum(i // size * size + size, 48)
            source_of = np.where(i + 1 < last, i + 1, i)
            d = (1 + 2.0**-40) * i
            h = np.where(i % 2 == 1, 0x8000, 0xFFFF).astype(np.uint16)
            wide = (i * 0x100000003 - 7).astype(np.int64)
            got = launch_source(
                source,
                "k",
                1,
                48,
                [Out(np.zeros(48, np.uint32)), Out(d), Out(h), Out(wide)] + [Out(np.zeros(48, np.uint32))] * 2,
                **how,
            )
            sums = [i[f:e].sum() for f, e in zip(first, last, strict=True)]
            if size == 32:
                self.assertEqual(sums[47], 632)
            self.assertEqual(got[0].tolist(), sums)
            self.assertEqual(got[1].tolist(), d[source_of].tolist())
            self.assertEqual(got[2].tolist(), [0x8000] * 48)
            self.assertEqual(got[3].tolist(), wide[source_of].tolist())
            ballots = [
                sum(1 << (j - f) for j in range(f, min(e, f + 32)) if j % 3 == 0) for f, e in zip(first, last, strict=True)
            ]
            self.assertEqual(got[4].tolist(), ballots)
            self.assertEqual(got[5].tolist(), (3 * (i - first) + 2).tolist())

        self.everywhere(check, sizes=(8, 16, 32, 64))

    def test_bc39_tails_among_poison(self):
        source = """
kernel k(a: uint16*, b: uint16*, c: float32*, d: float32*, m: uint32, n: uint32, q: uint32, lda: uint32,
         ldb: uint32, ldc: uint32) {
  tensor_matmul(a, b, c, d, (uint32)block.y * 16, (uint32)block.x * 16, m, n, q, shape: m16n16k16,
                input_type: f16, output_type: f32, lda: lda, ldb: ldb, ldc: ldc, ldd: ldc)
}
"""

        def check(how):
            rng = np.random.default_rng(39)
            for m, n, k in ((2, 1, 33), (17, 9, 33), (24, 40, 17), (1, 1, 1), (16, 8, 0)):
                lda, ldb, ldc = k + 7, k + 3, n + 5
                a = np.full((m, lda), np.nan, np.float16)
                b = np.full((n, ldb), np.nan, np.float16)
                a[:, :k], b[:, :k] = rng.integers(-8, 9, (m, k)), rng.integers(-8, 9, (n, k))
                if (m, n, k) == (2, 1, 33):
                    a[0, :k], a[1, :k], b[:, :k] = 1, np.nan, 1
                c = np.full((m, ldc), NAN)
                c[:, :n] = rng.integers(-8, 9, (m, n))
                canary = np.full((m, ldc), np.float32(-77))
                want = canary.copy()
                want[:, :n] = c[:, :n] + a[:, :k].astype(np.float64) @ b[:, :k].astype(np.float64).T
                numbers = [("u32", v) for v in (m, n, k, lda, ldb, ldc)]
                got = launch_source(
                    source,
                    "k",
                    (-(-n // 16), -(-m // 16)),
                    32,
                    [a.view(np.uint16), b.view(np.uint16), c, Out(canary), *numbers],
                    **how,
                )
                np.testing.assert_array_equal(got[3], want)

        self.everywhere(check)


if __name__ == "__main__":
    mtlc_testing.main()
