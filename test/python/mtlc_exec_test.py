"""Checks what mtlc_exec computes itself: conversions, distances, comparisons, and how it calls mtlc-run."""

import math

import mtlc_exec
import numpy as np


class Helpers(mtlc_exec.TestCase):
    def test_bf16_rounds_to_even_and_keeps_nan(self) -> None:
        bits = np.array([0x4048F5C3, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 1, 0x80000000, 0xFF800000], np.uint32)
        want = [0x4049, 0x3F80, 0x3F82, 0x7F80, 0, 0x8000, 0xFF80]
        self.assertEqual(mtlc_exec.bf16(bits.view(np.float32)).tolist(), want)
        nans = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
        self.assertEqual(mtlc_exec.bf16(nans).tolist(), [0x7FC0, 0xFFFF])
        every = np.arange(0x7F80, dtype=np.uint16)
        self.assert_same(mtlc_exec.bf16(mtlc_exec.from_bf16(every)), every)

    def test_ulp_distance(self) -> None:
        for dtype in (np.float16, np.float32, np.float64):
            one = np.array([1, -1, 0, 1, 1, math.nan, math.nan, math.inf, 0], dtype)
            other = np.array(
                [np.nextafter(dtype(1), dtype(2)), np.nextafter(dtype(-1), dtype(0)), -0.0, 1, math.nan, 1, math.nan,
                 np.finfo(dtype).max, -np.finfo(dtype).smallest_subnormal], dtype,
            )  # fmt: skip
            self.assertEqual(
                mtlc_exec.ulp_distance(one, other).tolist(), [1, 1, 0, 0, math.inf, math.inf, 0, 1, 1]
            )
        far = mtlc_exec.ulp_distance(np.array([-np.finfo("f4").max]), np.array([np.finfo("f4").max]))
        self.assertEqual(far[0], 4278190078)  # 2 × 0x7F7FFFFF
        self.assertGreater(mtlc_exec.ulp_distance(np.array([-1e308]), np.array([1e308]))[0], 1.8e19)

    def test_comparisons_fail_where_they_must(self) -> None:
        one = np.array([1, math.nan], np.float32)
        self.assert_same(one, one.copy())
        self.assert_same(np.array([3], np.int32), np.array([3], np.int32))
        for other in (
            np.array([1, 2], np.float32),
            np.array([np.nextafter(np.float32(1), np.float32(2)), math.nan], np.float32),
            one.astype(np.float64),
            one[:1],
        ):
            with self.assertRaises(self.failureException):
                self.assert_same(one, other)
        with self.assertRaises(self.failureException):
            self.assert_same(np.array([0.0]), np.array([-0.0]))
        with self.assertRaises(self.failureException):
            self.assert_ulp(np.array([1.0]), np.array([1.0 + 2**-51]), 1)
        self.assert_ulp(np.array([1.0]), np.array([1.0 + 2**-51]), 2)
        with self.assertRaises(self.failureException):
            self.assert_close(np.array([1.0, math.nan]), np.array([1.0, 2.0]), 10.0)
        with self.assertRaises(self.failureException):
            self.assert_close(np.array([1.0]), np.array([1.5]), 0.25)
        self.assert_close(np.array([1.0, math.nan]), np.array([1.25, math.nan]), 0.25)

    def test_scalars_keep_their_bits(self) -> None:
        nan = np.array([0xFFC00001], np.uint32).view(np.float32)[0]
        for value, spec in (
            (np.int8(-3), "i8:-3"),
            (np.uint64(2**64 - 1), "u64:18446744073709551615"),
            (True, "bool:1"),
            (np.bool_(False), "bool:0"),
            (np.float32(-0.0), "f32:0x80000000"),
            (nan, "f32:0xffc00001"),
            (np.float16(1), "f16:0x3c00"),
            (np.float64(0.1), "f64:0x3fb999999999999a"),
        ):
            self.assertEqual(mtlc_exec._scalar(value), spec)


class Launches(mtlc_exec.TestCase):
    TEXT = mtlc_exec.elementwise_mtir(["f32", "i32"], ["f32"], ["%c = sitof %b : i32 to f32", "%r0 = fmul %a, %c : f32"])

    def test_arguments_and_results(self) -> None:
        path = mtlc_exec.write_source("k.mtir", self.TEXT)
        for device in mtlc_exec.devices():
            with self.subTest(device=device):
                a = np.linspace(-1, 1, 40, dtype=np.float32).reshape(5, 8)[:, ::2]  # Not contiguous.
                b = mtlc_exec.InOut(np.arange(20, dtype=np.int32))
                out = mtlc_exec.Output(np.float32, (4, 5))
                result = self.launch(path, "k", [a, b, out, np.int32(20)], block=32, device=device)
                self.assert_same(result[out], (a.ravel() * b.array.astype(np.float32)).reshape(4, 5))
                self.assert_same(result[b], b.array)
                raw = mtlc_exec.Raw("buf:f32:8:const=7", out=True)
                result = self.launch(path, "k", [a, b, raw, np.int32(0)], device=device)
                self.assert_same(result[raw], np.full(8, 7, np.float32))

    def test_faults_are_no_success(self) -> None:
        path = mtlc_exec.write_source("k.mtir", self.TEXT)
        for device in mtlc_exec.devices():
            with self.subTest(device=device):
                a, b = np.ones(3, np.float32), np.ones(3, np.int32)
                args = [a, b, mtlc_exec.Output(np.float32, 4), np.int32(4)]
                self.assertIn("[mem]", self.launch_faulty(path, "k", args, block=4, device=device))
                with self.assertRaises(self.failureException):
                    self.launch(path, "k", args, block=4, device=device)
                with self.assertRaises(self.failureException):  # A wrong command line is neither.
                    self.launch_faulty(path, "k", args[1:], block=4, device=device)


if __name__ == "__main__":
    mtlc_exec.main()
