"""encode and decode of every narrow format on every device and profile, before and after expand-narrow-float: every 16-bit
input, the points of f32 and f64 where rounding turns, and random ones, against tables made from the formats' definitions.
All their numbers, and all middles between neighbours, are exact in float64."""

import mtlc_exec
import mtlc_testing
import numpy as np

# Profiles without, and with more and more conversion instructions. The first has none at all.
PROFILES = ["sm_75", "sm_89", "sm_100a", "sm_121a"]

# Exponent bits, mantissa bits, bias, codes without sign that are numbers, the code of infinity, of NaN.
FORMATS = {
    "e4m3": (4, 3, 7, 0x7F, None, 0x7F),
    "e5m2": (5, 2, 15, 0x7C, 0x7C, 0x7E),
    "e2m3": (2, 3, 1, 32, None, None),
    "e3m2": (3, 2, 3, 32, None, None),
    "e2m1": (2, 1, 1, 8, None, None),
}
SCALES = {"ue8m0": (8, 0, 127, 255, None, 255), "ue4m3": (4, 3, 7, 0x7F, None, 0x7F)}
MODES = [("e4m3", "sat"), ("e4m3", "nosat"), ("e5m2", "sat"), ("e5m2", "nosat"), ("e2m3", "sat"), ("e3m2", "sat"), ("e2m1", "sat")]
CARRIERS = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def numbers(name: str) -> np.ndarray:
    exponent_bits, mantissa_bits, bias, count, _, _ = (FORMATS | SCALES)[name]
    codes = np.arange(count)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    if mantissa_bits == 0:
        return np.ldexp(1.0, exponent - bias)
    hidden = np.where(exponent > 0, 1 << mantissa_bits, 0)
    return np.ldexp((mantissa + hidden).astype(float), np.maximum(exponent, 1) - bias - mantissa_bits)


def floats(type_: str, bits: np.ndarray) -> np.ndarray:
    """The exact values as float64."""
    with np.errstate(invalid="ignore"):
        if type_ == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return bits.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]).astype(np.float64)


def encoded(name: str, mode: str, x: np.ndarray) -> np.ndarray:
    """The codes; for NaN the format's code of it, the largest positive number where there is none."""
    exponent_bits, mantissa_bits, _, count, infinity, nan = FORMATS[name]
    sign = np.where(np.signbit(x), 1 << (exponent_bits + mantissa_bits), 0)
    table = numbers(name)
    # One more number as if the exponent went on: what rounds to it has overflowed.
    table = np.append(table, 2 * table[-1] - table[-2])
    middles = (table[1:] + table[:-1]) / 2
    a = np.abs(x)
    # The number of middles below, or at it when the upper neighbour is the even code.
    code = np.searchsorted(middles, a, side="left")
    tie = (code < len(middles)) & (a == middles[np.minimum(code, len(middles) - 1)]) & (code % 2 == 1)
    code = code + tie
    beyond = count - 1 if mode == "sat" else infinity if infinity is not None else nan
    code = sign | np.where(code >= count, beyond, code)
    return np.where(np.isnan(x), sign | nan if nan is not None else count - 1, code)


def inputs(type_: str) -> np.ndarray:
    carrier = CARRIERS[type_]
    if type_ in ("f16", "bf16"):
        return np.arange(1 << 16, dtype=np.uint16)
    rng = np.random.default_rng(11)
    points = [0.0, np.inf, np.nan, 2.0**-126, 2.0**-149, 2.0**127]
    if type_ == "f64":
        points += [5e-324, 1e300, 2.0**-1022]
    for name in FORMATS:
        table = numbers(name)
        table = np.append(table, 2 * table[-1] - table[-2])
        middles = (table[1:] + table[:-1]) / 2
        # A double that single precision would round to the middle.
        points += [*table, *middles, *(middles * (1 + 2.0**-40)), *(middles * (1 - 2.0**-40))]
        points += list(rng.uniform(0, 1.3 * table[-1], 200)) + list(rng.uniform(0, 2 * table[1], 100))
    with np.errstate(over="ignore", invalid="ignore"):
        bits = np.array(points).astype({"f32": np.float32, "f64": np.float64}[type_]).view(carrier)
    one = np.ones(1, carrier)
    bits = np.concatenate([bits, bits + one, bits - one, rng.integers(0, np.iinfo(carrier).max, 1500, carrier, endpoint=True)])
    return np.concatenate([bits, bits ^ (one << carrier(carrier(0).itemsize * 8 - 1))])


HEAD = """^entry:
  %tx = gpu.thread_id x : i32
  %bx = gpu.block_id x : i32
  %bd = gpu.block_dim x : i32
  %0 = mul %bx, %bd : i32
  %1 = add %0, %tx : i32
  %inside = cmp.ult %1, %n : i32
  br %inside, ^body, ^exit
^body:
  %i = zext %1 : i32 to i64
"""


def kernel(name: str, source: str, results: list[tuple[str, str, str]]) -> str:
    """`results`: operation on %x, its type, and the result's type."""
    text = f"kernel @{name}(%in: ptr<global>, %n: i32, "
    text += ", ".join(f"%o{r}: ptr<global>" for r in range(len(results))) + ") {\n" + HEAD
    text += f"  %p = ptr.add %in, %i x {source} : ptr<global>\n  %x = load {source}, %p : ptr<global>\n"
    for r, (operation, type_, result) in enumerate(results):
        text += f"  %r{r} = {operation} %x : {type_}\n  %q{r} = ptr.add %o{r}, %i x {result} : ptr<global>\n"
        text += f"  store {result}, %r{r}, %q{r} : ptr<global>\n"
    return text + "  jump ^exit\n^exit:\n  ret\n}\n"


class NarrowFloat(mtlc_exec.TestCase):
    def configurations(self, module: str):
        """(a file, mtlc-run's device, further options)"""
        path = mtlc_testing.scratch("m.mtir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module)
        expanded = mtlc_testing.scratch("expanded.mtir")
        result = mtlc_testing.run("mtlc-opt", "--pass=expand-narrow-float", "--verify-each", path, "-o", expanded)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(expanded, encoding="utf-8") as file:
            text = file.read()
            self.assertNotIn(" encode ", text)
            self.assertNotIn(" decode ", text)
        yield path, "interp", ["-O0"]
        yield expanded, "interp", ["-O0"]
        for arch in PROFILES:
            yield path, "sim", ["--gpu-arch=" + arch]

    def run_kernel(self, path, name, device, options, values, outputs):
        result = self.launch(path, name, [values, np.uint32(len(values)), *outputs], device=device, options=options,
                             grid=-(-len(values) // 256), block=256)  # fmt: skip
        return [result[o] for o in outputs]

    def test_encode(self) -> None:
        module = 'module "m"\n'
        for type_ in CARRIERS:
            module += kernel("from_" + type_, type_, [(f"encode {f} {mode}", type_, "i8") for f, mode in MODES])
        wanted = {t: [encoded(f, mode, floats(t, inputs(t))) for f, mode in MODES] for t in CARRIERS}
        for path, device, options in self.configurations(module):
            for type_ in CARRIERS:
                values = inputs(type_)
                outputs = [mtlc_exec.Output(np.uint8, len(values)) for _ in MODES]
                got = self.run_kernel(path, "from_" + type_, device, options, values, outputs)
                nan = np.isnan(floats(type_, values))
                for (format_, mode), codes, want in zip(MODES, got, wanted[type_]):
                    with self.subTest(path=path, device=device, options=options, type=type_, format=format_, mode=mode):
                        if FORMATS[format_][5] is not None:
                            # Which NaN is not said.
                            first = FORMATS[format_][3] + (1 if format_ == "e5m2" else 0)
                            self.assertTrue(((codes[nan] & 0x7F) >= first).all())
                            codes, want = codes[~nan], want[~nan]
                        wrong = np.flatnonzero(codes != want)
                        bits = values if FORMATS[format_][5] is None else values[~nan]
                        self.assertEqual(len(wrong), 0, [(hex(bits[i]), codes[i], want[i]) for i in wrong[:5]])

    def test_decode(self) -> None:
        names = [*FORMATS, *SCALES]
        module = 'module "m"\n'
        for type_ in CARRIERS:
            module += kernel("to_" + type_, "i8", [(f"decode {f}", type_, type_) for f in names])
        codes = np.arange(256, dtype=np.uint8)
        for path, device, options in self.configurations(module):
            for type_, carrier in CARRIERS.items():
                outputs = [mtlc_exec.Output(carrier, 256) for _ in names]
                for name, bits in zip(names, self.run_kernel(path, "to_" + type_, device, options, codes, outputs)):
                    exponent_bits, mantissa_bits, _, count, infinity, _ = (FORMATS | SCALES)[name]
                    sign_bit = 1 << (exponent_bits + mantissa_bits)
                    low = codes & (sign_bit - 1)
                    table = np.concatenate([numbers(name), np.full(sign_bit - count, np.nan)])
                    if infinity is not None:
                        table[infinity] = np.inf
                    want = table[low]
                    if name in FORMATS:
                        want = np.where(codes & sign_bit, -want, want)
                    if type_ == "f16":  # Rounds numbers of ue8m0 only.
                        with np.errstate(over="ignore"):
                            want = want.astype(np.float16).astype(np.float64)
                    with self.subTest(path=path, device=device, options=options, type=type_, format=name):
                        got = floats(type_, bits)
                        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
                        numeric = ~np.isnan(want)
                        np.testing.assert_array_equal(got[numeric].view(np.uint64), want[numeric].view(np.uint64))


if __name__ == "__main__":
    mtlc_testing.main()
