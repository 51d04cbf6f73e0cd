"""Every code and every rounding boundary of the narrow float formats, against values written down from the formats'
definitions (in float64, where all of them and all middles between neighbours are exact), and against the conversions of
the CUDA headers on the host."""

import os
import shutil
import subprocess
from dataclasses import dataclass

import mtlc_testing
import numpy as np

CUDA = "/usr/local/cuda"


@dataclass(frozen=True)
class Format:
    exponent: int
    mantissa: int
    bias: int
    signed: bool = True
    # What the largest exponent means: "ieee", "nan" (all ones only), "" (numbers).
    specials: str = ""

    @property
    def magnitude_bits(self) -> int:
        return self.exponent + self.mantissa

    def magnitudes(self) -> np.ndarray:
        """The values of the codes without sign, from 0 on: finite ones only."""
        codes = np.arange(1 << self.magnitude_bits)
        exponent = codes >> self.mantissa
        fraction = codes & ((1 << self.mantissa) - 1)
        if self.mantissa == 0:
            values = np.ldexp(1.0, exponent - self.bias)
        else:
            normal = np.where(exponent > 0, 1 << self.mantissa, 0)
            values = np.ldexp((fraction + normal).astype(float), np.maximum(exponent, 1) - self.bias - self.mantissa)
        if self.specials == "ieee":
            values = values[: ((1 << self.exponent) - 1) << self.mantissa]
        elif self.specials == "nan":
            values = values[:-1]
        return values


FORMATS = {
    "f16": Format(5, 10, 15, specials="ieee"),
    "bf16": Format(8, 7, 127, specials="ieee"),
    "e4m3": Format(4, 3, 7, specials="nan"),
    "e5m2": Format(5, 2, 15, specials="ieee"),
    "e2m3": Format(2, 3, 1),
    "e3m2": Format(3, 2, 3),
    "e2m1": Format(2, 1, 1),
    "ue8m0": Format(8, 0, 127, signed=False, specials="nan"),
    "ue4m3": Format(4, 3, 7, signed=False, specials="nan"),
}


def convert(command: list[str], words: np.ndarray) -> np.ndarray:
    source, result = mtlc_testing.scratch("in.bin"), mtlc_testing.scratch("out.bin")
    words.tofile(source)
    subprocess.run([*command, source, result], check=True)
    return np.fromfile(result, np.uint64)


def ours(name: str, mode: str, words: np.ndarray) -> np.ndarray:
    return convert([mtlc_testing.tool("float_format_codes"), name, mode], words)


def boundaries(f: Format) -> np.ndarray:
    """Each value, each middle between neighbours, and their neighbours in float64; the same beyond the largest; specials."""
    values = f.magnitudes()
    steps = np.append(values, 2 * values[-1] - values[-2])
    middles = (steps[1:] + steps[:-1]) / 2
    points = np.concatenate([steps, middles, [values[0] / 2, values[-1] * 4, 1e300, 5e-324, 1e-300]])
    points = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points[points > 0], 0)])
    points = np.concatenate([points, [0.0, np.inf, np.nan]])
    return np.concatenate([points, -points])


def expected(f: Format, x: np.ndarray, saturate: bool) -> np.ndarray:
    """Codes by comparing with the middles: nearest, ties to the even code. NaN results are -1."""
    values = f.magnitudes()
    magnitude = np.abs(x)
    step = values[-1] - values[-2] if f.mantissa else values[-1]
    steps = np.append(values, values[-1] + step)
    middles = (steps[1:] + steps[:-1]) / 2
    code = np.searchsorted(middles, magnitude, "left")  # Middles below x, so that a tie stays low,
    tie = np.isin(magnitude, middles)
    code = np.where(tie & (code % 2 == 1), code + 1, code)  # unless that is odd.
    largest = len(values) - 1
    over = code > largest
    if saturate or not f.specials:
        code = np.where(over, largest, code)
    else:
        code = np.where(over, largest + 1, code)  # Infinity, or the first NaN.
        if f.specials == "nan":
            code = np.where(over, -1, code)
    negative = np.signbit(x)
    if f.signed:
        code = np.where(negative & (code >= 0), code | 1 << f.magnitude_bits, code)
    else:
        # There is no code for a negative value; ue4m3 has one for what rounds to zero.
        zero = (code == 0) & (f.mantissa > 0) | (x == 0)
        code = np.where(negative & ~zero, -1, code)
    return np.where(np.isnan(x), -1 if f.specials else largest, code)


def is_nan_code(f: Format, codes: np.ndarray) -> np.ndarray:
    magnitude = codes & np.uint64((1 << f.magnitude_bits) - 1)
    first = len(f.magnitudes()) + (1 if f.specials == "ieee" else 0)
    return magnitude >= first


class Definition(mtlc_testing.TestCase):
    def test_decode_every_code(self) -> None:
        for name, f in FORMATS.items():
            with self.subTest(format=name):
                values = f.magnitudes()
                full = np.full(1 << f.magnitude_bits, np.nan)
                full[: len(values)] = values
                if f.specials == "ieee":
                    full[len(values)] = np.inf
                if f.signed:
                    full = np.concatenate([full, -full])
                got = ours(name, "decode", np.arange(len(full), dtype=np.uint64)).view(np.float64)
                same = (got.view(np.uint64) == full.view(np.uint64)) | (np.isnan(got) & np.isnan(full))
                self.assertTrue(same.all(), np.nonzero(~same))

    def test_encode_every_boundary(self) -> None:
        for name, f in FORMATS.items():
            x = boundaries(f)
            for mode in ("encode", "saturate"):
                with self.subTest(format=name, mode=mode):
                    want = expected(f, x, mode == "saturate")
                    got = ours(name, mode, x.view(np.uint64))
                    nan = is_nan_code(f, got) if f.specials else np.zeros(len(x), bool)
                    good = np.where(want == -1, nan, got == want.astype(np.uint64))
                    bad = np.nonzero(~good)[0][:5]
                    self.assertEqual([(x[i].hex(), int(got[i]), int(want[i])) for i in bad], [])

    def test_wide_formats(self) -> None:
        rng = np.random.default_rng(1)
        bits = rng.integers(0, 1 << 32, 100000, dtype=np.uint64)
        singles = bits.astype(np.uint32).view(np.float32)
        singles = singles[~np.isnan(singles)].astype(np.float64)
        # Middles between neighbouring float32 values, and next to them.
        ties = (singles + np.nextafter(singles.astype(np.float32), np.float32(np.inf)).astype(np.float64)) / 2
        x = np.concatenate([singles, ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), [1e39, -1e39, 1e-46]])
        with np.errstate(over="ignore"):
            want = x.astype(np.float32).view(np.uint32).astype(np.uint64)
        np.testing.assert_array_equal(ours("f32", "encode", x.view(np.uint64)), want)

    def test_numpy_float16(self) -> None:
        x = boundaries(FORMATS["f16"])
        x = x[~np.isnan(x)]
        with np.errstate(over="ignore"):
            want = x.astype(np.float16).view(np.uint16).astype(np.uint64)
        np.testing.assert_array_equal(ours("f16", "encode", x.view(np.uint64)), want)

    def test_tf32(self) -> None:
        """Of float32 values next to the middle of two tf32 values, the integer with 13 bits less is known."""
        rng = np.random.default_rng(2)
        high = rng.integers(0, 255 << 10, 20000)
        low = rng.choice([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF], len(high))
        sign = rng.integers(0, 2, len(high)) << 31
        bits = (high << 13 | low | sign).astype(np.uint64)
        away = ((high + (low >= 0x1000)) << 13 | sign).astype(np.uint64)
        np.testing.assert_array_equal(ours("tf32", "ties-away", bits), away)
        up = (low > 0x1000) | ((low == 0x1000) & (high % 2 == 1))
        even = ((high + up) << 13 | sign).astype(np.uint64)
        x = bits.astype(np.uint32).view(np.float32).astype(np.float64)
        np.testing.assert_array_equal(ours("tf32", "encode", x.view(np.uint64)), even)


class CudaHeaders(mtlc_testing.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        compiler = shutil.which("g++") or "/usr/bin/g++"
        if not all(os.path.exists(f"{CUDA}/include/cuda_fp{n}.h") for n in (4, 6, 8)) or not os.path.exists(compiler):
            raise mtlc_testing.unittest.SkipTest("no CUDA headers with fp8, fp6 and fp4")
        cls.program = mtlc_testing.scratch("cuda_codes")
        source = mtlc_testing.data("test/Formats/cuda_codes.cu")
        subprocess.run(
            [compiler, "-x", "c++", "-std=c++17", f"-isystem{CUDA}/include", "-o", cls.program, source],
            check=True,
            env={**os.environ, "PATH": "/usr/bin:/bin"},
        )

    def test_decode_every_code(self) -> None:
        for name in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"):
            with self.subTest(format=name):
                f = FORMATS[name]
                codes = np.arange(2 << f.magnitude_bits, dtype=np.uint64)
                theirs = convert([self.program, f"{name} decode"], codes).view(np.float64)
                got = ours(name, "decode", codes).view(np.float64)
                same = (got.view(np.uint64) == theirs.view(np.uint64)) | (np.isnan(got) & np.isnan(theirs))
                self.assertTrue(same.all(), np.nonzero(~same))

    def test_encode_every_boundary(self) -> None:
        operations = [f"{name} {mode}" for name in ("e4m3", "e5m2") for mode in ("encode", "saturate")]
        operations += ["e2m3 saturate", "e3m2 saturate", "e2m1 saturate", "f16 encode", "bf16 encode"]
        for operation in operations:
            with self.subTest(operation=operation):
                name, mode = operation.split()
                f = FORMATS[name]
                x = boundaries(f)
                theirs = convert([self.program, operation], x.view(np.uint64))
                got = ours(name, mode, x.view(np.uint64))
                nan = is_nan_code(f, got) & is_nan_code(f, theirs) if f.specials else np.zeros(len(x), bool)
                bad = np.nonzero((got != theirs) & ~nan)[0][:5]
                self.assertEqual([(x[i].hex(), int(got[i]), int(theirs[i])) for i in bad], [])


if __name__ == "__main__":
    mtlc_testing.main()
