"""Where C-like kernel languages go wrong: each trap as a small Mettle kernel, executed at -O0 and -O on every device.

Expected values are written down or come from NumPy's and Python's own arithmetic.
"""

import struct

import numpy as np

import mtlc_testing
from mtlc_launch import CONFIGURATIONS, Out, launch_source


def run(source: str, *args, grid=1, block=1, **how):
    return launch_source(source, "k", grid, block, list(args), **how)


class Everywhere(mtlc_testing.TestCase):
    def everywhere(self, check):
        for device, optimise in CONFIGURATIONS:
            with self.subTest(device=device, O=int(optimise)):
                check({"device": device, "optimise": optimise})


class Traps(Everywhere):
    def test_narrow_integers_wrap_at_their_own_width(self):
        source = """
kernel k(x: uint8*, a: uint8*, b: int8*, c: uint16*, d: int16*) {
  var i: int32 = thread.x;
  var u: uint8 = x[i];
  var s: int8 = (int8)u;
  a[i] = (u << 4) >> 4;
  b[i] = (s << 4) >> 4;
  a[i + 256] = u + 200;
  a[i + 512] = u * u;
  c[i] = ((uint16)u * 257) << 3;
  d[i] = -((int16)u * 256);
}
"""
        x = np.arange(256, dtype=np.uint8)
        wide = np.arange(256, dtype=np.int64)

        def check(how):
            got = run(
                source,
                x,
                Out(np.zeros(768, np.uint8)),
                Out(np.zeros(256, np.int8)),
                Out(np.zeros(256, np.uint16)),
                Out(np.zeros(256, np.int16)),
                block=256,
                **how,
            )
            np.testing.assert_array_equal(got[1][:256], wide & 15)
            np.testing.assert_array_equal(got[2], ((wide & 15) ^ 8) - 8)
            # A decimal literal is int32, so the sum is computed there and narrowed by the store.
            np.testing.assert_array_equal(got[1][256:512], (wide + 200) & 255)
            np.testing.assert_array_equal(got[1][512:], (wide * wide) & 255)
            np.testing.assert_array_equal(got[3], (((wide * 257) & 0xFFFFFFFF) << 3) & 0xFFFF)
            np.testing.assert_array_equal(got[4], ((-(wide * 256)) & 0xFFFF).astype(np.uint16).view(np.int16))

        self.everywhere(check)

    def test_narrow_compare_sees_the_wrapped_value(self):
        source = """
kernel k(out: int32*, s: int16, t: int8, u: uint8) {
  var a: int16 = 0;
  a = a - s;
  if (a > 0) { out[0] = 1; } else { out[0] = 0; }
  var b: int8 = t + t;
  if (b < 0) { out[1] = 1; } else { out[1] = 0; }
  var c: uint8 = u + u;
  if (c < u) { out[2] = 1; } else { out[2] = 0; }
  out[3] = u >> 5;
  var d: uint8 = ~u;
  out[4] = d;
}
"""

        def check(how):
            got = run(
                source, Out(np.full(5, 9, np.int32)), ("i16", -32768), ("i8", 100), ("u8", 0x80), **how
            )[0]
            self.assertEqual(got.tolist(), [0, 1, 1, 4, 0x7F])

        self.everywhere(check)

    def test_float_to_integer_saturates(self):
        source = """
kernel k(x: float32*, a: int8*, b: uint8*, c: int32*, d: uint32*, e: int64*, f: uint64*, g: uint16*) {
  var i: int32 = thread.x;
  a[i] = (int8)x[i];
  b[i] = (uint8)x[i];
  c[i] = (int32)x[i];
  d[i] = (uint32)x[i];
  e[i] = (int64)x[i];
  f[i] = (uint64)x[i];
  g[i] = (uint16)x[i];
}
"""
        values = [np.nan, np.inf, -np.inf, -0.5, 255.5, 510, -200, 3e9, -3e9, 1e30, -1e30, 127.99, -128.99, 0.99]
        x = np.array(values, np.float32)
        types = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.uint16]

        def want(dtype):
            info = np.iinfo(dtype)
            out = []
            for v in x:
                if np.isnan(v):
                    out.append(0)
                elif np.isinf(v):
                    out.append(info.max if v > 0 else info.min)
                else:
                    out.append(min(max(int(v), info.min), info.max))
            return np.array(out, dtype)

        def check(how):
            got = run(source, x, *[Out(np.zeros(len(x), t)) for t in types], block=len(x), **how)
            for index, dtype in enumerate(types):
                np.testing.assert_array_equal(got[index + 1], want(dtype), err_msg=str(dtype))

        self.everywhere(check)

    def test_bool(self):
        source = """
kernel k(out: int32*, flags: bool*, x: int32, y: float32, p: uint8) {
  workgroup var shared_flags: bool[64];
  out[0] = (int32)((bool)5);
  out[1] = (int32)((bool)x);
  var b: bool = (bool)y;
  out[2] = (int32)b + (int32)b;
  flags[1] = (bool)x;
  flags[2] = !b;
  flags[3] = x > 3;
  shared_flags[7] = b;
  shared_flags[8] = p > 200;
  out[3] = (int32)shared_flags[7] * 10 + (int32)shared_flags[8];
  out[4] = sizeof(bool);
  out[5] = (b & flags[0]) == true;
  out[6] = b ^ (x == 256);
  if (b && flags[0]) { out[7] = 1; } else { out[7] = 0; }
  var f: float32 = b;
  out[8] = (int32)(f * 3.0);
}
"""

        def check(how):
            flags = np.array([1, 9, 9, 0, 9], np.uint8)
            got = run(
                source,
                Out(np.full(9, -1, np.int32)),
                Out(flags),
                ("i32", 256),
                ("f32", 0.25),
                ("u8", 201),
                **how,
            )
            self.assertEqual(got[0].tolist(), [1, 1, 2, 11, 1, 1, 0, 1, 3])
            self.assertEqual(got[1].tolist(), [1, 1, 0, 1, 9])

        self.everywhere(check)

    def test_shadowing(self):
        source = """
kernel k(out: int32*, n: int32) {
  var x: int32 = 1;
  {
    var x: int32 = 2;
    x += 10;
    out[0] = x;
    for (var x: int32 = 5; x < 6; x += 1) { out[1] = x; }
    for x in 7..8 { out[2] = x; }
  }
  out[3] = x;
  if (n > 0) { var n: int32 = -1; out[4] = n; }
  out[5] = n;
}
"""

        def check(how):
            got = run(source, Out(np.zeros(6, np.int32)), ("i32", 4), **how)[0]
            self.assertEqual(got.tolist(), [12, 5, 7, 1, -1, 4])

        self.everywhere(check)

    def test_index_built_ins_are_signed(self):
        source = """
kernel k(out: int32*) {
  var i: int32 = thread.x;
  if (thread.x - 5 < 0) { out[i] = 1; } else { out[i] = 0; }
  out[i + 8] = (thread.x - 5) / 2;
  out[i + 16] = (block_dim.x - 9) * grid_dim.x;
}
"""

        def check(how):
            got = run(source, Out(np.zeros(24, np.int32)), block=8, **how)[0]
            self.assertEqual(got[:8].tolist(), [1] * 5 + [0] * 3)
            self.assertEqual(got[8:16].tolist(), [-2, -2, -1, -1, 0, 0, 0, 1])
            self.assertEqual(got[16:].tolist(), [-1] * 8)

        self.everywhere(check)

    def test_index_is_extended_before_it_is_scaled(self):
        # The addresses are never accessed: only their distances count.
        source = """
kernel k(p: float64*, out: int64*, i: int32, u: uint32, l: int64) {
  out[0] = (int64)(p + i) - (int64)p;
  out[1] = (int64)(p + u) - (int64)p;
  out[2] = (int64)&p[i] - (int64)p;
  out[3] = (int64)(p - i) - (int64)p;
  out[4] = (int64)&p[l] - (int64)p;
  out[5] = (p + i) - p;
  out[6] = p - (p + i);
  out[7] = (int64)(i * 67108864);
  out[8] = (int64)i * 67108864;
}
"""

        def check(how):
            i, u, l = 500_000_000, 4_000_000_000, 1 << 40
            got = run(
                source,
                np.zeros(1),
                Out(np.zeros(9, np.int64)),
                ("i32", i),
                ("u32", u),
                ("i64", l),
                **how,
            )[1]
            wrapped = (i * 67108864 + 2**31) % 2**32 - 2**31
            self.assertEqual(
                got.tolist(), [8 * i, 8 * u, 8 * i, -8 * i, 8 * l, i, -i, wrapped, i * 67108864]
            )

        self.everywhere(check)

    def test_workgroup_pointers_stay_workgroup(self):
        source = """
fn get(p: int32*, i: int32) -> int32 { return p[i]; }
fn put(p: int32*, i: int32, v: int32) { p[i] = v; }
fn middle(p: int32*, n: int32) -> int32* { return p + n / 2; }
fn bump(p: int32*) { *p = *p + 1; }

kernel k(out: int32*, flag: int32) {
  workgroup var w: int32[32];
  private var q: int32[4];
  var l: int32[4];
  var t: int32 = thread.x;
  put(w, t, t * 3);
  put(q, 1, t + 100);
  put(l, 2, t + 200);
  put(out, t, -1);
  barrier();
  var p: int32* = w;
  p = p + 31 - t;
  out[t] = *p;
  out[32 + t] = get(q, 1) + get(w, 5);
  var m: int32* = middle(w, 32);
  out[64 + t] = m[0] + get(m, -1);
  var either: int32* = w;
  if (flag > 0) { either = out; }
  out[96 + t] = either[t];
  var local: int32 = 7;
  bump(&local);
  bump(&l[2]);
  out[128 + t] = local + l[2];
}
"""
        t = np.arange(32)

        def check(how):
            for flag in (0, 1):
                got = run(source, Out(np.zeros(160, np.int32)), ("i32", flag), block=32, **how)[0]
                np.testing.assert_array_equal(got[:32], (31 - t) * 3)
                np.testing.assert_array_equal(got[32:64], t + 100 + 15)
                np.testing.assert_array_equal(got[64:96], np.full(32, 48 + 45))
                np.testing.assert_array_equal(got[96:128], (31 - t) * 3 if flag else t * 3)
                np.testing.assert_array_equal(got[128:], 8 + t + 201)

        self.everywhere(check)

    def test_dynamic_workgroup_views_alias(self):
        source = """
kernel k(out: uint32*) {
  workgroup var f: float32*;
  workgroup var u: uint32*;
  var t: int32 = thread.x;
  f[t] = (float32)t;
  barrier(workgroup, acq_rel);
  out[t] = u[(t + 1) % block_dim.x];
}
"""
        want = np.roll(np.arange(16, dtype=np.float32), -1).view(np.uint32)

        def check(how):
            got = run(source, Out(np.zeros(16, np.uint32)), block=16, shared=64, **how)[0]
            np.testing.assert_array_equal(got, want)

        self.everywhere(check)

    def test_unsigned_arithmetic(self):
        source = """
kernel k(out: uint32*, o64: int64*, u: uint32, s: int32, l: int64) {
  out[0] = ~u >> 1;
  out[1] = -u / 2;
  out[2] = s + u;
  out[3] = (s < u);
  out[4] = u % 7;
  out[5] = (uint32)s / 3;
  o64[0] = (int64)((uint32)s);
  o64[1] = (int64)s;
  o64[2] = l + u;
  o64[3] = l * u;
  o64[4] = (l < u);
  o64[5] = (int64)(s >> 1);
  o64[6] = s / 2;
}
"""

        def check(how):
            got = run(
                source,
                Out(np.zeros(6, np.uint32)),
                Out(np.zeros(7, np.int64)),
                ("u32", 5),
                ("i32", -3),
                ("i64", -10),
                **how,
            )
            m = 2**32
            self.assertEqual(
                got[0].tolist(), [(m - 6) >> 1, (m - 5) // 2, 2, 0, 5, (m - 3) // 3]
            )
            self.assertEqual(got[1].tolist(), [m - 3, -3, -5, -50, 1, -2, -1])

        self.everywhere(check)

    def test_float32_meets_other_types(self):
        source = """
kernel k(out: float32*, d: float64*, x: float32, l: int64, u: uint64, y: float64) {
  out[0] = x * 0.1;
  out[1] = x + l;
  out[2] = l;
  out[3] = u;
  out[4] = x * y;
  d[0] = x * y;
  d[1] = x * 0.1;
  d[2] = l;
  d[3] = (float64)(x + l);
  d[4] = 1 / 3.0;
  out[5] = 0.1 + 0.2;
  out[6] = 1.0 / 3;
}
"""
        f = np.float32

        def check(how):
            x, l, u, y = f(16777217.0), 2**60 + 2**36 + 1, 2**64 - 1, 0.1
            got = run(
                source,
                Out(np.zeros(7, np.float32)),
                Out(np.zeros(5, np.float64)),
                ("f32", 16777217.0),
                ("i64", l),
                ("u64", u),
                ("f64", 0.1),
                **how,
            )
            # int64 → float32 in one rounding: 2^60 + 2^36 + 1 lies just above the middle of two float32.
            nearest = f(2.0**60 + 2.0**37)
            self.assertEqual(
                got[0].tolist(),
                [
                    float(x * f(0.1)),
                    float(x + nearest),
                    float(nearest),
                    float(f(2.0**64)),
                    float(f(float(x) * y)),
                    float(f(0.1 + 0.2)),
                    float(f(1.0 / 3)),
                ],
            )
            self.assertEqual(
                got[1].tolist(),
                [float(x) * y, float(x * f(0.1)), float(l), float(x + nearest), 1 / 3.0],
            )

        self.everywhere(check)

    def test_evaluation_order_and_short_circuit(self):
        source = """
fn note(log: int32*, v: int32) -> int32 {
  var n: int32 = log[0];
  n += 1;
  log[0] = n;
  log[n] = v;
  return v;
}

kernel k(log: int32*, out: int32*) {
  log[0] = 0;
  out[note(log, 1)] = note(log, 2) - note(log, 3) * note(log, 4);
  if (note(log, 0) != 0 && note(log, 99) != 0) { out[7] = 1; }
  if (note(log, 5) != 0 || note(log, 98) != 0) { out[8] = 1; }
  out[note(log, 6)] += note(log, 7);
}
"""

        def check(how):
            got = run(source, Out(np.zeros(20, np.int32)), Out(np.zeros(9, np.int32)), **how)
            self.assertEqual(got[0][:9].tolist(), [8, 1, 2, 3, 4, 0, 5, 6, 7])
            self.assertEqual(got[1].tolist(), [0, -10, 0, 0, 0, 0, 7, 0, 1])

        self.everywhere(check)

    def test_control_flow(self):
        source = """
enum Colour { RED, GREEN = 5, BLUE }

fn pick(v: int32) -> int32 {
  var r: int32 = 0;
  switch (v) {
    case 1: r += 1;
    case 2: r += 10; break;
    case 5..9: r = 50; break;
    case RED: r = 7; break;
    default: r = -1;
  }
  return r;
}

kernel k(out: int32*) {
  for i in -1..=10 { out[i + 1] = pick(i); }
  var n: int32 = 0;
  outer: for (var i: int32 = 0; i < 10; i += 1) {
    for (var j: int32 = 0; j < 10; j += 1) {
      if (j == 3) { continue outer; }
      if (i == 4) { break outer; }
      n += i * 10 + j;
    }
  }
  out[12] = n;
  var w: int32 = 0;
  while (true) {
    w += 3;
    if (w % 2 == 0) continue
    if (w > 20) { break; }
  }
  out[13] = w;
  out[14] = (int32)GREEN + (int32)BLUE;
  var limit: int32 = 3;
  var trips: int32 = 0;
  for i in 0..limit { limit = 100; trips += 1; }
  out[15] = trips;
}
"""

        def check(how):
            got = run(source, Out(np.zeros(16, np.int32)), **how)[0]
            want = [-1, 7, 11, 10, -1, -1, 50, 50, 50, 50, 50, -1]
            total = sum(i * 10 + j for i in range(4) for j in range(3))
            self.assertEqual(got.tolist(), want + [total, 21, 11, 3])

        self.everywhere(check)

    def test_compound_assignment_evaluates_its_target_once(self):
        source = """
fn next(counter: int32*) -> int32 {
  *counter += 1;
  return *counter;
}

kernel k(out: int32*, counter: int32*) {
  out[next(counter)] += 5;
  out[next(counter)] <<= 2;
  out[next(counter)] ^= 6;
  out[next(counter)] %= 7;
}
"""

        def check(how):
            got = run(source, Out(np.full(6, 100, np.int32)), Out(np.zeros(1, np.int32)), **how)
            self.assertEqual(got[0].tolist(), [100, 105, 400, 100 ^ 6, 100 % 7, 100])
            self.assertEqual(got[1].tolist(), [4])

        self.everywhere(check)

    def test_generics_and_constants(self):
        source = """
const N: int32 = 1 << 4;
const HALF: float32 = 0.5;
const WIDE: uint64 = 0xFFFFFFFFFF;
const MASK: int32 = ~0 ^ 0xF;

fn twice<T>(x: T) -> T { return x + x; }
fn clamp_to<T>(x: T, lo: T, hi: T) -> T {
  if (x < lo) { return lo; }
  if (x > hi) { return hi; }
  return x;
}

kernel k(out: int64*, f: float32*, b: int8, u: uint8) {
  var a: int32[N];
  for i in 0..N { a[i] = i * N; }
  out[0] = a[N - 1];
  out[1] = twice<int8>(b);
  out[2] = twice<uint8>(u);
  out[3] = twice<int64>(b);
  out[4] = WIDE;
  out[5] = MASK;
  out[6] = clamp_to<int32>(50, -3, 9);
  f[0] = twice<float32>(HALF) * HALF;
  f[1] = clamp_to<float32>(-0.25, HALF, 2.0);
}
"""

        def check(how):
            got = run(
                source, Out(np.zeros(7, np.int64)), Out(np.zeros(2, np.float32)), ("i8", 100), ("u8", 200), **how
            )
            self.assertEqual(got[0].tolist(), [240, -56, 144, 200, 0xFFFFFFFFFF, -16, 9])
            self.assertEqual(got[1].tolist(), [0.5, 0.5])

        self.everywhere(check)

    def test_natural_width_parameters(self):
        source = """
kernel k(out: float64*, a: int8, b: int8, c: int16, t: bool, d: int32, e: int64, f: float32, g: uint8, h: uint16,
         i: uint32, j: uint64, l: float64) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = t;
  out[4] = d;
  out[5] = e;
  out[6] = f;
  out[7] = g;
  out[8] = h;
  out[9] = i;
  out[10] = j;
  out[11] = l;
}
"""

        def check(how):
            values = [-3, 5, -300, 1, -70000, -5000000000, 1.5, 200, 60000, 4000000000, 2**63, -0.1]
            kinds = ["i8", "i8", "i16", "bool", "i32", "i64", "f32", "u8", "u16", "u32", "u64", "f64"]
            got = run(source, Out(np.zeros(12)), *zip(kinds, values), **how)[0]
            self.assertEqual(got.tolist(), [float(v) for v in values])

        self.everywhere(check)

    def test_half_precision_helpers(self):
        source = """
import "std/math";
kernel k(h: uint16*, f: float32*, back: uint16*, bf: float32*, bback: uint16*) {
  var i: int32 = block.x * block_dim.x + thread.x;
  f[i] = h2f(h[i]);
  back[i] = f2h(f[i]);
  bf[i] = bf2f(h[i]);
  bback[i] = f2bf(bf[i]);
}
"""
        codes = np.arange(65536, dtype=np.uint16)
        as_half = codes.view(np.float16).astype(np.float32)
        as_bf16 = (codes.astype(np.uint32) << 16).view(np.float32)

        def check(how):
            got = run(
                source,
                codes,
                Out(np.zeros(65536, np.float32)),
                Out(np.zeros(65536, np.uint16)),
                Out(np.zeros(65536, np.float32)),
                Out(np.zeros(65536, np.uint16)),
                grid=256,
                block=256,
                **how,
            )
            for value, code, want in ((got[1], got[2], as_half), (got[3], got[4], as_bf16)):
                nan = np.isnan(want)
                np.testing.assert_array_equal(np.isnan(value), nan)
                np.testing.assert_array_equal(value[~nan].view(np.uint32), want[~nan].view(np.uint32))
                np.testing.assert_array_equal(code[~nan], codes[~nan])

        self.everywhere(check)

    def test_integer_built_ins(self):
        source = """
import "std/math";
kernel k(out: int64*, s: int32, u: uint32, b: int8, l: int64) {
  out[0] = min(s, 3);
  out[1] = max(u, 7);
  out[2] = abs(s);
  out[3] = abs(b);
  out[4] = clz(u);
  out[5] = popcount(u);
  out[6] = clz(l);
  out[7] = popcount(l);
  out[8] = clz(b);
  out[9] = min(l, -4);
}
"""

        def check(how):
            got = run(
                source,
                Out(np.zeros(10, np.int64)),
                ("i32", -5),
                ("u32", 0x00F0F000),
                ("i8", -128),
                ("i64", 1 << 40),
                **how,
            )[0]
            # abs keeps the type: the magnitude of -128 does not fit int8.
            self.assertEqual(got.tolist(), [-5, 0xF0F000, 5, -128, 8, 8, 23, 1, 0, -4])

        self.everywhere(check)


class Floats(Everywhere):
    """Float rules, on bit patterns so that NaN and the sign of zero count."""

    SPECIAL = [np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 1.0, 3.0]

    def test_algebra_that_is_not_true_for_floats(self):
        source = """
kernel k(x: float32*, out: float32*, bits: uint32*) {
  var i: int32 = thread.x;
  var v: float32 = x[i];
  out[i] = v * 0.0;
  out[8 + i] = v - v;
  out[16 + i] = v / v;
  out[24 + i] = v + 0.0;
  out[32 + i] = v - 0.0;
  out[40 + i] = v + (-0.0);
  out[48 + i] = 0.0 - v;
  out[56 + i] = -v;
  var a: float32 = 1.0;
  if (v > 1.0) { a = v; }
  out[64 + i] = a;
  var b: float32 = v;
  if (1.0 > v) { b = 1.0; }
  out[72 + i] = b;
  if (v != v) { out[80 + i] = 1.0; } else { out[80 + i] = 0.0; }
  if (!(v < 1.0)) { out[88 + i] = 1.0; } else { out[88 + i] = 0.0; }
  bits[i] = bits[i] ^ (uint32)0x80000000;
}
"""
        x = np.array(self.SPECIAL, np.float32)
        one = np.float32(1)
        zero = np.float32(0)
        with np.errstate(all="ignore"):
            want = np.concatenate(
                [
                    x * zero,
                    x - x,
                    x / x,
                    x + zero,
                    x - zero,
                    x + np.float32(-0.0),
                    zero - x,
                    -x,
                    np.where(x > one, x, one),
                    np.where(one > x, one, x),
                    (x != x).astype(np.float32),
                    (~(x < one)).astype(np.float32),
                ]
            )
        patterns = np.array([0x7FC00001, 0x7F800001, 0, 0x80000000, 1, 0xFFFFFFFF, 0x3F800000, 2], np.uint32)

        def check(how):
            got = run(source, x, Out(np.zeros(96, np.float32)), Out(patterns), block=8, **how)
            nan = np.isnan(want)
            np.testing.assert_array_equal(np.isnan(got[1]), nan)
            np.testing.assert_array_equal(got[1].view(np.uint32)[~nan], want.view(np.uint32)[~nan])
            np.testing.assert_array_equal(got[2], patterns ^ np.uint32(0x80000000))

        self.everywhere(check)

    def test_strict_never_fuses(self):
        source = """
kernel k(a: float32*, d: float64*, out: float32*, dout: float64*) {
  var p: float32 = a[0] * a[1];
  out[0] = p - (a[0] * a[1]);
  out[1] = a[0] * a[1] - p;
  var q: float64 = d[0] * d[1];
  dout[0] = q - d[0] * d[1];
  var s: float32 = a[2] + a[3];
  var bb: float32 = s - a[2];
  out[2] = (a[2] - (s - bb)) + (a[3] - bb);
}
"""

        def check(how):
            a = np.array([1 + 2**-12, 1 + 2**-12, 1.0, 2**-30], np.float32)
            got = run(
                source,
                a,
                np.array([0.1, 300.0]),
                Out(np.ones(3, np.float32)),
                Out(np.ones(1)),
                **how,
            )
            self.assertEqual(got[2].tolist(), [0.0, 0.0, 2.0**-30])
            self.assertEqual(got[3].tolist(), [0.0])

        self.everywhere(check)

    def test_subnormals_are_kept(self):
        source = """
import "std/math";
kernel k(x: float32*, out: float32*) {
  out[0] = x[0] * 0.5;
  out[1] = -x[0] * 0.5;
  out[2] = x[1] + 0.0;
  out[3] = exp2f(-126.0 + x[2]);
  out[4] = exp2f(-127.0 + x[2]);
  out[5] = exp2f(-149.0 + x[2]);
  out[6] = exp2f(-150.0 + x[2]);
  out[7] = x[1] / 2.0;
}
"""

        def check(how):
            x = np.array([2.0**-126, 1e-40, 0.0], np.float32)
            bits = run(source, x, Out(np.ones(8, np.float32)), **how)[1].view(np.uint32).tolist()
            tiny = struct.unpack("<I", struct.pack("<f", 1e-40))[0]
            half = np.float32(np.float64(np.float32(1e-40)) / 2).view(np.uint32)
            self.assertEqual(
                bits, [0x00400000, 0x80400000, tiny, 0x00800000, 0x00400000, 0x00000001, 0, int(half)]
            )

        self.everywhere(check)

    def test_min_max(self):
        source = """
import "std/math";
kernel k(a: float32*, b: float32*, out: float32*) {
  var i: int32 = thread.x;
  out[i] = fmaxf(a[i], b[i]);
  out[6 + i] = fminf(a[i], b[i]);
}
"""
        nan, inf = np.nan, np.inf
        a = np.array([nan, 1, nan, -0.0, 0.0, inf], np.float32)
        b = np.array([1, nan, nan, 0.0, -0.0, nan], np.float32)
        want = np.array([1, 1, nan, 0.0, 0.0, inf, 1, 1, nan, -0.0, -0.0, inf], np.float32)

        def check(how):
            got = run(source, a, b, Out(np.zeros(12, np.float32)), block=6, **how)[2]
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            keep = ~np.isnan(want)
            np.testing.assert_array_equal(got.view(np.uint32)[keep], want.view(np.uint32)[keep])

        self.everywhere(check)

    def test_mathematical_functions_at_their_corners(self):
        source = """
import "std/math";
kernel k(x: float32*, t: float32*, r: float32*, s: float32*) {
  var i: int32 = thread.x;
  t[i] = tanhf(x[i]);
  r[i] = rsqrtf(x[i]);
  s[i] = 1.0 / (1.0 + expf(-x[i]));
}
"""
        x = np.array([0, -0.0, 1e-5, 1e-20, 0.5, 20, 45, 50, 89, 1000, np.inf, -np.inf, np.nan, -100, 3, 1e-40, -1], np.float32)

        def check(how):
            got = run(source, x, *[Out(np.zeros(len(x), np.float32)) for _ in range(3)], block=len(x), **how)
            wide = x.astype(np.float64)
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(got[1], np.tanh(wide), rtol=5e-7)
                want = 1 / np.sqrt(wide)
                want[1] = -np.inf
                np.testing.assert_allclose(got[2], want, rtol=2.5e-7)
            self.assertEqual(got[1].view(np.uint32)[1], 0x80000000)
            self.assertFalse(np.isnan(got[3][np.isfinite(x)]).any())
            self.assertEqual(got[3][10:12].tolist(), [1.0, 0.0])

        self.everywhere(check)


if __name__ == "__main__":
    mtlc_testing.main()
