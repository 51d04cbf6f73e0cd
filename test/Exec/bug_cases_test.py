"""Faults that were public reports elsewhere, at the level of the IR, with the right answers.

The number of each test is that of the collection of reports. Expected values are written out, or are exact arithmetic.
"""

import math
import struct
from collections.abc import Callable, Sequence

import mtlc_exec
import numpy as np

LEVELS = ("-O0", "-O")
UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def f32(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def u32(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.uint32)


def bits_of(values: Sequence[float]) -> np.ndarray:
    return np.array(values, np.float32).view(np.uint32)


class BugCases(mtlc_exec.TestCase):
    def everywhere(self, check: Callable[[str, list[str]], None]) -> None:
        for device in mtlc_exec.devices():
            for level in LEVELS:
                with self.subTest(device=device, level=level):
                    check(device, [level])

    def test_bc01_signed_division_truncates(self) -> None:
        pairs = [(-7, 2), (7, -2), (-7, -2), (-8, 2), (-1, 2), (-1, 1024), (110, 55)]
        quotients = [-3, -3, 3, -4, 0, 0, 2]
        remainders = [-1, 1, -1, 0, -1, -1, 0]
        a = np.array([p[0] for p in pairs], np.int32)
        b = np.array([p[1] for p in pairs], np.int32)
        div = ["%r0 = sdiv %a, %b : i32", "%r1 = srem %a, %b : i32"]
        two = [("i32", np.int32), ("i32", np.int32)]

        def check(device: str, options: list[str]) -> None:
            q, r = self.elementwise([("i32", a), ("i32", b)], two, div, device=device, options=options)
            self.assertEqual((q.tolist(), r.tolist()), (quotients, remainders))
            for divisor in sorted(set(b.tolist())):
                constant = [f"%b = const {divisor} : i32", *div]
                q, r = self.elementwise([("i32", a)], two, constant, device=device, options=options)
                for i, (_, d) in enumerate(pairs):
                    if d == divisor:
                        self.assertEqual((q[i], r[i]), (quotients[i], remainders[i]), pairs[i])
            # Exact quotients, which a division by way of a reciprocal gets wrong.
            qs, bs = (x.ravel() for x in np.meshgrid(np.arange(-50, 51), np.arange(1, 1001)))
            exact = [("i32", (qs * bs).astype(np.int32)), ("i32", bs.astype(np.int32))]
            q, r = self.elementwise(exact, two, div, device=device, options=options)
            self.assert_same(q, qs.astype(np.int32))
            self.assertFalse(r.any())

        self.everywhere(check)

    def test_bc03_narrow_integers_wrap(self) -> None:
        x = np.arange(256, dtype=np.uint8)

        def check(device: str, options: list[str]) -> None:
            body = [
                "%four = const 4 : i8",
                "%left = shl %a, %four : i8",
                "%r0 = lshr %left, %four : i8",
                "%r1 = ashr %left, %four : i8",
            ]
            logical, arithmetic = self.elementwise(
                [("i8", x)], [("i8", np.uint8), ("i8", np.int8)], body, device=device, options=options
            )
            self.assert_same(logical, x & 15)
            self.assert_same(arithmetic, np.where(x & 8, (x & 15).astype(np.int8) - 16, x & 15).astype(np.int8))
            self.assertEqual((logical[48], arithmetic[8]), (0, -8))
            for width, want in ((8, 0x04), (16, 0x0400), (32, 0x04000000)):
                top = np.array([1 << (width - 1)], UINT[width])
                body = [f"%n = const 5 : i{width}", f"%r0 = lshr %a, %n : i{width}"]
                (got,) = self.elementwise(
                    [(f"i{width}", top)], [(f"i{width}", UINT[width])], body, device=device, options=options
                )
                self.assertEqual(got[0], want)
            low = np.array([-32768], np.int16)
            body = [
                "%zero = const 0 : i16",
                "%neg = sub %zero, %a : i16",
                "%r0 = cmp.sgt %neg, %zero : i16",
                # The saturating difference, in 32 bits.
                "%wide = sext %a : i16 to i32",
                "%zero32 = const 0 : i32",
                "%most = const 32767 : i32",
                "%least = const -32768 : i32",
                "%difference = sub %zero32, %wide : i32",
                "%under = smin %difference, %most : i32",
                "%clamped = smax %under, %least : i32",
                "%r1 = trunc %clamped : i32 to i16",
            ]
            positive, saturated = self.elementwise(
                [("i16", low)], [("i1", np.bool_), ("i16", np.int16)], body, device=device, options=options
            )
            self.assertEqual((positive[0], saturated[0]), (False, 32767))

        self.everywhere(check)

    def test_bc04_shift_amounts_are_taken_modulo_the_width(self) -> None:
        def check(device: str, options: list[str]) -> None:
            for width in (8, 16, 32, 64):
                t, mask = f"i{width}", (1 << width) - 1
                values = [1, mask, 1 << (width - 1)]
                amounts = [0, width - 1, width, width + 1, 2 * width, 0xFFFFFFFF & mask]
                rows = [(v, s) for v in values for s in amounts]
                a = np.array([r[0] for r in rows], UINT[width])
                s = np.array([r[1] for r in rows], UINT[width])
                shifts = [f"%r{i} = {op} %a, %b : {t}" for i, op in enumerate(("shl", "lshr", "ashr"))]
                three = [(t, UINT[width])] * 3

                def want(v: int, n: int) -> tuple[int, int, int]:
                    n %= width
                    sign = v - (1 << width) if v >> (width - 1) else v
                    return v << n & mask, v >> n, sign >> n & mask

                got = self.elementwise([(t, a), (t, s)], three, shifts, device=device, options=options)
                self.assertEqual([tuple(int(g[i]) for g in got) for i in range(len(rows))], [want(*r) for r in rows])
                for amount in amounts:  # The same amounts as constants.
                    constant = [f"%b = const {amount} : {t}", *shifts]
                    array = np.array(values, UINT[width])
                    got = self.elementwise([(t, array)], three, constant, device=device, options=options)
                    self.assertEqual(
                        [tuple(int(g[i]) for g in got) for i in range(3)], [want(v, amount) for v in values]
                    )

        self.everywhere(check)

    def test_bc07_small_parameters(self) -> None:
        def check(device: str, options: list[str]) -> None:
            out = mtlc_exec.Output(np.float64, 7)
            scalars = [np.int8(-3), np.int8(5), np.int16(-300), True, np.int32(-70000), np.int64(-5 * 10**9)]
            result = self.launch(
                "test/Exec/params.mtir", "widen", [out, *scalars, np.float32(1.5)], device=device, options=options
            )
            self.assertEqual(result[out].tolist(), [-3, 5, -300, 1, -70000, -5000000000, 1.5])
            outs = [mtlc_exec.Output(t, 2) for t in (np.float16, np.uint16, np.float32, np.float64)]
            result = self.launch("test/Exec/params.mtir", "bools", [*outs, True], device=device, options=options)
            for out in outs:
                values = mtlc_exec.from_bf16(result[out]) if out.dtype == np.uint16 else result[out]
                self.assertEqual(values.tolist(), [-1.0, 1.0])

        self.everywhere(check)

    def test_bc09_offsets_past_two_gigabytes(self) -> None:
        x = np.array([31, 32, 63], np.int32)
        body = [
            "%wide = sext %a : i32 to i64",
            "%stride = const 67108864 : i64",
            "%r0 = mul %wide, %stride : i64",
            "%stride32 = const 67108864 : i32",
            "%narrow = mul %a, %stride32 : i32",
            "%r1 = sext %narrow : i32 to i64",
        ]

        def check(device: str, options: list[str]) -> None:
            wide, narrow = self.elementwise(
                [("i32", x)], [("i64", np.int64), ("i64", np.int64)], body, device=device, options=options
            )
            self.assertEqual(wide.tolist(), [2080374784, 2147483648, 4227858432])
            self.assertEqual(narrow.tolist(), [2080374784, -2147483648, -67108864])

        self.everywhere(check)

    def test_bc10_float_to_integer_saturates(self) -> None:
        x = np.array([math.nan, math.inf, -math.inf, -0.5, 255.5, 510, -200, 3e9, -3e9], np.float32)
        want = {
            ("ftosi", 8): [0, 127, -128, 0, 127, 127, -128, 127, -128],
            ("ftoui", 8): [0, 255, 0, 0, 255, 255, 0, 255, 0],
            ("ftosi", 32): [0, 2**31 - 1, -(2**31), 0, 255, 510, -200, 2**31 - 1, -(2**31)],
            ("ftoui", 32): [0, 2**32 - 1, 0, 0, 255, 510, 0, 3 * 10**9, 0],
        }
        q = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, 127.5, 127.6, -128.5], np.float32)
        quantise = [
            "%even = froundeven %a : f32",
            "%low = const -128.0 : f32",
            "%high = const 127.0 : f32",
            "%above = fmax %even, %low : f32",
            "%clamped = fmin %above, %high : f32",
            "%r0 = ftosi %clamped : f32 to i8",
        ]

        def check(device: str, options: list[str]) -> None:
            for (op, width), expected in want.items():
                dtype = np.dtype(f"{'i' if op == 'ftosi' else 'u'}{width // 8}").type
                body = [f"%r0 = {op} %a : f32 to i{width}"]
                (got,) = self.elementwise(
                    [("f32", x)], [(f"i{width}", dtype)], body, device=device, options=options
                )
                self.assertEqual(got.tolist(), expected, (op, width))
            (got,) = self.elementwise([("f32", q)], [("i8", np.int8)], quantise, device=device, options=options)
            self.assertEqual(got.tolist(), [0, 2, 2, 0, -2, 126, 127, 127, -128])

        self.everywhere(check)

    def test_bc12_float_to_bfloat16(self) -> None:
        x = u32([0x4048F5C3, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x00000001, 0x80000000, 0x7F800001, 0xFFFFFFFF])
        every = np.arange(65536, dtype=np.uint16)

        def check(device: str, options: list[str]) -> None:
            (got,) = self.elementwise(
                [("f32", x)], [("bf16", np.uint16)], ["%r0 = fconv %a : f32 to bf16"], device=device, options=options
            )
            self.assertEqual(got[:6].tolist(), [0x4049, 0x3F80, 0x3F82, 0x7F80, 0x0000, 0x8000])
            for nan in got[6:].tolist():  # Quiet NaNs.
                self.assertEqual(nan & 0x7FC0, 0x7FC0)
            body = ["%wide = fconv %a : bf16 to f32", "%r0 = fconv %wide : f32 to bf16"]
            (back,) = self.elementwise([("bf16", every)], [("bf16", np.uint16)], body, device=device, options=options)
            is_nan = (every & 0x7FFF) > 0x7F80
            self.assert_same(back[~is_nan], every[~is_nan])
            self.assertTrue((back[is_nan] & 0x7FC0 == 0x7FC0).all())  # Which payload is unspecified.

        self.everywhere(check)

    def test_bc16_no_fusion_without_permission(self) -> None:
        twice = ["%p = fmul %a, %b : T", "%q = fmul %a, %b : T", "%r0 = fsub %p, %q : T"]
        two_sum = [
            "%r0 = fadd %a, %b : f32",
            "%bb = fsub %r0, %a : f32",
            "%aa = fsub %r0, %bb : f32",
            "%db = fsub %b, %bb : f32",
            "%da = fsub %a, %aa : f32",
            "%r1 = fadd %da, %db : f32",
        ]

        def check(device: str, options: list[str]) -> None:
            for t, dtype, a, b in (
                ("f32", np.float32, 1 + 2**-12, 1 + 2**-12),
                ("f64", np.float64, 0.1, 300.0),
            ):
                body = [line.replace(": T", f": {t}") for line in twice]
                inputs = [(t, np.array([a], dtype)), (t, np.array([b], dtype))]
                (got,) = self.elementwise(inputs, [(t, dtype)], body, device=device, options=options)
                self.assertEqual(got[0], 0)
            one, tiny = np.array([1], np.float32), np.array([2**-30], np.float32)
            total, error = self.elementwise(
                [("f32", one), ("f32", tiny)],
                [("f32", np.float32)] * 2,
                two_sum,
                device=device,
                options=options,
            )
            self.assertEqual((total[0], error[0]), (1, 2**-30))

        self.everywhere(check)

    def test_bc17_subnormals_stay(self) -> None:
        def check(device: str, options: list[str]) -> None:
            x = np.array([-126, -127, -149, -150], np.float32)
            (got,) = self.elementwise(
                [("f32", x)], [("f32", np.uint32)], ["%r0 = exp2 %a : f32"], device=device, options=options
            )
            # Within the bound of exp2, 2 ulp, and never flushed.
            for value, want in zip(got.tolist(), [0x00800000, 0x00400000, 0x00000001, 0]):
                self.assertLessEqual(abs(value - want), 2)
            self.assertGreater(got[2], 0)
            a = u32([0x00800000, 0x80800000])
            body = ["%half = const 0.5 : f32", "%r0 = fmul %a, %half : f32"]
            (got,) = self.elementwise([("f32", a)], [("f32", np.uint32)], body, device=device, options=options)
            self.assertEqual(got.tolist(), [0x00400000, 0x80400000])
            body = ["%zero = const 0.0 : f32", "%r0 = fadd %a, %zero : f32"]
            tiny = u32([0x000116C2])
            (got,) = self.elementwise([("f32", tiny)], [("f32", np.uint32)], body, device=device, options=options)
            self.assertEqual(got.tolist(), tiny.tolist())

        self.everywhere(check)

    def test_bc18_algebra_that_floats_do_not_have(self) -> None:
        nan, inf = math.nan, math.inf
        x = np.array([nan, inf, -inf, -1, -0.0, 0.0], np.float32)
        zero, one = "%z = const 0.0 : f32", "%one = const 1.0 : f32"
        cases: list[tuple[list[str], list[float]]] = [
            ([zero, "%r0 = fmul %a, %z : f32"], [nan, nan, nan, -0.0, -0.0, 0.0]),
            (["%r0 = fsub %a, %a : f32"], [nan, nan, nan, 0, 0, 0]),
            (["%r0 = fdiv %a, %a : f32"], [nan, nan, nan, 1, nan, nan]),
            ([zero, "%r0 = fadd %a, %z : f32"], [nan, inf, -inf, -1, 0.0, 0.0]),
            ([zero, "%r0 = fsub %a, %z : f32"], [nan, inf, -inf, -1, -0.0, 0.0]),
            (["%z = const -0.0 : f32", "%r0 = fadd %a, %z : f32"], [nan, inf, -inf, -1, -0.0, 0.0]),
            ([zero, "%r0 = fsub %z, %a : f32"], [nan, -inf, inf, 1, 0.0, 0.0]),
            ([one, "%c = fcmp.ogt %a, %one : f32", "%r0 = select %c, %a, %one : f32"], [1, inf, 1, 1, 1, 1]),
            ([one, "%c = fcmp.ogt %one, %a : f32", "%r0 = select %c, %one, %a : f32"], [nan, inf, 1, 1, 1, 1]),
        ]

        def check(device: str, options: list[str]) -> None:
            for body, want in cases:
                (got,) = self.elementwise([("f32", x)], [("f32", np.float32)], body, device=device, options=options)
                self.assert_same(got, np.array(want, np.float32))
            body = [
                "%i = bitcast %a : f32 to i32",
                "%sign = const 0x80000000 : i32",
                "%j = xor %i, %sign : i32",
                "%f = bitcast %j : i32 to f32",
                "%r0 = bitcast %f : f32 to i32",
            ]
            (got,) = self.elementwise(
                [("f32", u32([0x7FC00001]))], [("i32", np.uint32)], body, device=device, options=options
            )
            self.assertEqual(got[0], 0xFFC00001)

        self.everywhere(check)

    def test_bc19_minimum_and_maximum(self) -> None:
        nan, inf = math.nan, math.inf
        a = np.array([nan, 1, nan, -0.0, 0.0, inf], np.float32)
        b = np.array([1, nan, nan, 0.0, -0.0, nan], np.float32)
        body = [f"%r{i} = {op} %a, %b : f32" for i, op in enumerate(("fmax", "fmax.nan", "fmin", "fmin.nan"))]
        want = [
            [1, 1, nan, 0.0, 0.0, inf],
            [nan, nan, nan, 0.0, 0.0, nan],
            [1, 1, nan, -0.0, -0.0, inf],
            [nan, nan, nan, -0.0, -0.0, nan],
        ]
        clamp = [
            "%zero = const 0.0 : f32",
            "%six = const 6.0 : f32",
            "%r0 = fmax.nan %a, %zero : f32",
            "%r1 = fmin.nan %r0, %six : f32",
        ]

        def check(device: str, options: list[str]) -> None:
            got = self.elementwise(
                [("f32", a), ("f32", b)], [("f32", np.float32)] * 4, body, device=device, options=options
            )
            for values, expected in zip(got, want):
                self.assert_same(values, np.array(expected, np.float32))
            x = np.array([nan, -5, 3, 9], np.float32)
            relu, clamped = self.elementwise(
                [("f32", x)], [("f32", np.float32)] * 2, clamp, device=device, options=options
            )
            self.assert_same(relu, np.array([nan, 0, 3, 9], np.float32))
            self.assert_same(clamped, np.array([nan, 0, 3, 6], np.float32))

        self.everywhere(check)

    def test_bc19_reductions_keep_nan(self) -> None:
        text = """module "reduce"
        kernel @k(%in: ptr<global>, %out: ptr<global>) {
        ^entry:
          %zero = const 0 : i64
          %one = const 1 : i64
          %n = const 100 : i64
          %start = const 0xff800000 : f32
          %t = gpu.thread_id x : i32
          %row = sext %t : i32 to i64
          %o = mul %row, %n : i64
          %p = ptr.add %in, %o x f32 : ptr<global>
          jump ^head(%zero, %start, %start)
        ^head(%i: i64, %number: f32, %nan: f32):
          %q = ptr.add %p, %i x f32 : ptr<global>
          %x = load f32, %q : ptr<global>
          %a = fmax %number, %x : f32
          %b = fmax.nan %nan, %x : f32
          %next = add %i, %one : i64
          %more = cmp.slt %next, %n : i64
          br %more, ^head(%next, %a, %b), ^done
        ^done:
          %two = const 2 : i64
          %r = mul %row, %two : i64
          %s = ptr.add %out, %r x f32 : ptr<global>
          %u = ptr.add %s, %one x f32 : ptr<global>
          store f32, %a, %s : ptr<global>
          store f32, %b, %u : ptr<global>
          ret
        }
        """
        rows = np.tile(np.arange(100, dtype=np.float32), (100, 1))
        rows[np.arange(100), np.arange(100)] = np.nan  # At each position once.
        source = mtlc_exec.write_source("reduce.mtir", text)

        def check(device: str, options: list[str]) -> None:
            out = mtlc_exec.Output(np.float32, (100, 2))
            result = self.launch(source, "k", [rows, out], block=100, device=device, options=options)
            self.assert_same(result[out][:, 0], np.where(np.arange(100) == 99, 98, 99).astype(np.float32))
            self.assertTrue(np.isnan(result[out][:, 1]).all())

        self.everywhere(check)

    def test_bc31_divergent_barriers_are_refused(self) -> None:
        def check(device: str, options: list[str]) -> None:
            report = self.launch_faulty(
                "test/Exec/divergent.mtir", "in_helper", [], block=64, device=device, options=options
            )
            for barrier in ("divergent.mtir:17:", "divergent.mtir:42:", "divergent.mtir:43:", "divergent.mtir:49:"):
                self.assertRegex(report, rf"{barrier}3: error: barrier in .* is not reached by all work-items")
            out = mtlc_exec.Output(np.int32, 64)
            result = self.launch(
                "test/Exec/barriers.mtir", "predicated", [out], block=64, device=device, options=options
            )
            self.assertEqual(result[out][:48].tolist(), [47 - i for i in range(48)])

        self.everywhere(check)

    def test_bc33_barriers_stay_where_they_are(self) -> None:
        def check(device: str, options: list[str]) -> None:
            for kernel, want in (
                ("sections", [10 * i for i in range(48)]),
                ("between", [1] * 48),
                ("loop", [1] * 48),
            ):
                out = mtlc_exec.Output(np.int32, 48)
                result = self.launch(
                    "test/Exec/barriers.mtir", kernel, [out], block=48, device=device, options=options
                )
                self.assertEqual(result[out].tolist(), want, kernel)

        self.everywhere(check)

    def test_bc34_block_arguments_swap(self) -> None:
        def check(device: str, options: list[str]) -> None:
            a, b = np.array([111], np.int32), np.array([222], np.int32)
            for trips, want in ((5, [1, 0, 222]), (4, [0, 1, 111]), (0, [0, 1, 111])):
                out = mtlc_exec.Output(np.int32, 3)
                result = self.launch(
                    "test/Exec/barriers.mtir",
                    "swap",
                    [out, a, b, np.int32(trips)],
                    device=device,
                    options=options,
                )
                self.assertEqual(result[out].tolist(), want)

        self.everywhere(check)


if __name__ == "__main__":
    mtlc_exec.main()
