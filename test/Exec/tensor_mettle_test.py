"""Products of every native family from Mettle source: the interpreter, PTX with the family's own instructions on the simulator,
and exact scalar code for an old target give what integers give, for each place (i, j, k) alone and for random values; in a
chain and in a loop of run-time length that keep the accumulator in registers, and with a budget that does not let them.
"""

import itertools
import re

import mtlc_exec
import mtlc_testing
import numpy as np

# Codes of the numbers -2 … 2 in formats without NumPy type, 8 bits a code.
SMALL = {
    "e4m3": [0xC0, 0xB8, 0, 0x38, 0x40], "e5m2": [0xC0, 0xBC, 0, 0x3C, 0x40],
    "e2m3": [0x30, 0x28, 0, 0x08, 0x10], "e3m2": [0x30, 0x2C, 0, 0x0C, 0x10], "e2m1": [0xC, 0xA, 0, 2, 4],
}  # fmt: skip
BITS = {"e2m1": 4, "i4": 4, "u4": 4, "b1": 1}
POINTEE = {"f16": "uint16", "bf16": "uint16", "tf32": "float32", "f64": "float64", "i8": "int8"}
RESULT = {"f32": ("float32", np.float32), "f16": ("uint16", np.float16), "f64": ("float64", np.float64), "i32": ("int32", np.int32)}

# Name: a, b, result, (m, n, k), architectures with the form, how its instruction begins, further options.
FAMILIES = {
    "f16": ("f16", "f16", "f32", (16, 16, 16), ("sm_70", "sm_121a"), "wmma.mma", ""),
    "f16_wide": ("f16", "f16", "f32", (32, 8, 16), ("sm_80",), "wmma.mma", ""),
    "f16_f16": ("f16", "f16", "f16", (8, 32, 16), ("sm_75", "sm_90"), "wmma.mma", ""),
    "f16_mma": ("f16", "f16", "f32", (16, 8, 32), ("sm_80", "sm_120"), "mma.sync", ""),
    "f16_grid": ("f16", "f16", "f32", (48, 32, 16), ("sm_90",), "wmma.mma", ""),
    "bf16": ("bf16", "bf16", "f32", (16, 16, 16), ("sm_80", "sm_121a"), "wmma.mma", ""),
    "tf32": ("tf32", "tf32", "f32", (16, 16, 8), ("sm_80",), "wmma.mma", ""),
    "f64": ("f64", "f64", "f64", (8, 8, 4), ("sm_80", "sm_90"), "wmma.mma", ""),
    "f64_down": ("f64", "f64", "f64", (8, 8, 4), ("sm_80",), "wmma.mma", ", rounding: down"),
    "i8": ("i8", "i8", "i32", (16, 16, 16), ("sm_75", "sm_121a"), "wmma.mma", ""),
    "u8_saturate": ("u8", "u8", "i32", (16, 16, 16), ("sm_80",), "wmma.mma", ", overflow: saturate_finite"),
    "i8_u8": ("i8", "u8", "i32", (16, 8, 32), ("sm_80",), "mma.sync", ""),
    "i4": ("i4", "i4", "i32", (8, 8, 32), ("sm_75", "sm_89"), "wmma.mma", ""),
    "u4": ("u4", "u4", "i32", (8, 8, 32), ("sm_80",), "wmma.mma", ""),
    "b1_xor": ("b1", "b1", "i32", (8, 8, 128), ("sm_75", "sm_80"), "wmma.mma.xor.popc", ", math: xor_popcount"),
    "b1_and": ("b1", "b1", "i32", (8, 8, 128), ("sm_89",), "wmma.mma.and.popc", ", math: and_popcount"),
    "fp8": ("e4m3", "e5m2", "f32", (16, 8, 32), ("sm_89", "sm_121a"), "mma.sync", ""),
    "fp6_fp4": ("e3m2", "e2m1", "f32", (16, 8, 32), ("sm_120a", "sm_121f"), "mma.sync", ""),
    "mxfp8": ("e4m3", "e2m3", "f32", (16, 8, 32), ("sm_120a",), "mma.sync", "block32"),
    "mxfp4": ("e2m1", "e2m1", "f32", (16, 8, 64), ("sm_121a",), "mma.sync", "block32 dense"),
    "nvfp4": ("e2m1", "e2m1", "f32", (16, 8, 64), ("sm_120a",), "mma.sync", "block16 dense"),
    "sparse": ("f16", "f16", "f32", (16, 8, 16), ("sm_89", "sm_90"), "mma.sp", "sparse"),
    "sparse_bf16": ("bf16", "bf16", "f32", (16, 8, 16), ("sm_121a",), "mma.sp", "sparse"),
}  # fmt: skip


def encode(format_: str, values: np.ndarray) -> np.ndarray:
    if format_ in SMALL:
        return np.array(SMALL[format_], np.uint8)[values + 2]
    if format_ == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    types = {"f16": np.float16, "tf32": np.float32, "f64": np.float64, "i8": np.int8}
    return values.astype(types[format_]) if format_ in types else values.astype(np.uint8)


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of codes as rows of bytes, from the least significant bit on."""
    unpacked = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(unpacked.reshape(codes.shape[0], -1).astype(np.uint8), axis=1, bitorder="little")


class Family:
    def __init__(self, name):
        self.a, self.b, self.out, self.shape, self.arches, self.instruction, extra = FAMILIES[name]
        self.block = 32 if "block32" in extra else 16 if "block16" in extra else 0
        self.sparse, self.dense = extra == "sparse", "dense" in extra or self.a in ("i4", "u4", "b1")
        self.math = extra if extra.startswith(",") else ""
        self.popcount = "xor" if "xor" in extra else "and" if "and_" in extra else ""
        low, high = {"u8": (0, 5), "u4": (0, 8), "b1": (0, 2), "i8": (-5, 6), "i4": (-8, 8)}.get(self.a, (-2, 3))
        self.range_a = (low, high)
        self.range_b = {"u8": (0, 5)}.get(self.b, self.range_a)

    def options(self):
        m, n, k = self.shape
        text = f"shape: m{m}n{n}k{k}, a_type: {self.a}, b_type: {self.b}, output_type: {self.out}{self.math}"
        if self.block:
            t = "ue8m0" if self.block == 32 else "ue4m3"
            text += f", a_scale_mode: block{self.block}, a_scale_type: {t}, a_scale: sa"
            text += f", b_scale_mode: block{self.block}, b_scale_type: {t}, b_scale: sb"
        if self.dense and self.block:
            text += ", a_packing: dense_subbyte, b_packing: dense_subbyte"
        if self.sparse:
            text += ", sparsity: structured_2_to_4, metadata: sa"
        return text

    def source(self, body):
        pa, pb, pc = POINTEE.get(self.a, "uint8"), POINTEE.get(self.b, "uint8"), RESULT[self.out][0]
        return f"kernel k(a: {pa}*, b: {pb}*, c: {pc}*, d: {pc}*, sa: uint8*, sb: uint8*, n: int32) {{\n{body}\n}}\n"

    def bytes_of(self, rows, format_):
        codes = encode(format_, rows)
        if format_ in ("i4", "u4", "b1") or (format_ == "e2m1" and self.dense):
            return pack(codes.astype(np.uint8) & ((1 << BITS[format_]) - 1), BITS[format_])
        return codes

    def case(self, rng, a=None, b=None):
        """A of m×k and B of n×k numbers, the arrays that hold them, and A·Bᵀ."""
        m, n, k = self.shape
        keep = a is not None
        a = rng.integers(*self.range_a, (m, k)) if a is None else a
        b = rng.integers(*self.range_b, (n, k)) if b is None else b
        sa = sb = np.zeros(16, np.uint8)
        left, right = a.astype(np.int64), b.astype(np.int64)
        stored = a
        if self.sparse:
            masks = np.array([3, 5, 6, 9, 10, 12], np.uint8)[rng.integers(0, 6, (m, k // 4))]
            if keep:
                for i, q in np.argwhere(a):
                    while masks[i, q // 4] >> q % 4 & 1 == 0:
                        masks[i, q // 4] = rng.choice([3, 5, 6, 9, 10, 12])
            kept = (masks[:, :, None] >> np.arange(4) & 1).astype(bool).reshape(m, k)
            stored, sa = a[kept].reshape(m, k // 2), masks
            left = left * kept
        if self.block:
            bias, shift = (127, 0) if self.block == 32 else (7, 3)  # Powers of two.
            ea, eb = (rng.integers(0, 3, (x, k // self.block)) for x in (m, n))
            sa, sb = (((e + bias) << shift).astype(np.uint8) for e in (ea, eb))
            left, right = left << np.repeat(ea, self.block, 1), right << np.repeat(eb, self.block, 1)
        if self.popcount:
            both = left[:, None, :] ^ right[None, :, :] if self.popcount == "xor" else left[:, None, :] & right[None, :, :]
            product = both.sum(2)
        else:
            product = left @ right.T
        return [self.bytes_of(stored, self.a), self.bytes_of(b, self.b)], [sa, sb], product


class Mettle(mtlc_exec.TestCase):
    def configurations(self, family):
        yield "interp", ["--device=interp"]
        for arch in family.arches:
            yield arch, [f"--gpu-arch={arch}"]
        yield "replay", ["--gpu-arch=sm_61" if family.arches[0] == "sm_70" else "--gpu-arch=sm_70", "--tensor-fallback=replay"]
        yield "SPIR-V", ["--gpu-arch=spirv-opencl2.0", "--tensor-fallback=replay"]

    def launch_all(self, family, body, operands, scales, c, n, want, more=()):
        dtype = RESULT[family.out][1]
        path = mtlc_exec.write_source("k.mettle", family.source(body))
        stored = c.astype(dtype)
        stored = stored.view(np.uint16) if dtype == np.float16 else stored
        for what, options in [*self.configurations(family), *more]:
            with self.subTest(way=what):
                poison = np.full(want.shape, np.nan) if dtype != np.int32 else np.full(want.shape, -77)
                out = mtlc_exec.InOut(poison.astype(dtype).view(stored.dtype))
                device = "interp" if what == "interp" else "sim"
                done = mtlc_exec.launch(path, "k", [*operands, stored, out, *scales, np.int32(n)], block=32, device=device,
                                        options=[o for o in options if not o.startswith("--device")])  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(done[out].view(dtype), want.astype(dtype))

    def test_families(self):
        for name in FAMILIES:
            rng = np.random.default_rng(len(name))
            family = Family(name)
            m, n, k = family.shape
            operands, scales, product = family.case(rng)
            c = rng.integers(-9, 10, (m, n))
            with self.subTest(family=name):
                self.launch_all(family, f"  tensor_mma(a, b, c, d, {family.options()})", operands, scales, c, 0, product + c)
                for arch in family.arches:
                    path = mtlc_exec.write_source("k.mettle", family.source(f"  tensor_mma(a, b, c, d, {family.options()})"))
                    ptx = mtlc_testing.run("mettle", "-O", "--emit-ptx", f"--gpu-arch={arch}", path, "-o", "-")
                    self.assertIn(family.instruction, ptx.stdout, ptx.stderr)

    def test_each_place_alone(self):
        """One block for each k: A has a one in row i and B in column j, which differ from block to block; all of both in turn.
        Scales and masks are random, so that a one tells whose scale it got; a mask keeps the one.
        """
        for name in FAMILIES:
            family = Family(name)
            rng = np.random.default_rng(len(name))
            m, n, k = family.shape
            rounds = max(m, n)
            cases = []
            for r, q in itertools.product(range(rounds), range(k)):
                a, b = np.zeros((m, k), np.int64), np.zeros((n, k), np.int64)
                a[(r + q) % m, q] = b[(3 * r + 5 * q) % n, q] = 1
                cases.append(family.case(rng, a, b))
            operands = [np.concatenate([c[0][x] for c in cases]) for x in (0, 1)]
            scales = [np.concatenate([c[1][x].ravel() for c in cases]) for x in (0, 1)]
            want = np.stack([c[2] for c in cases])
            dtype = RESULT[family.out][1]
            size = [x.size // len(cases) for x in (*operands, *scales)]
            options = re.sub(r": (s[ab])\b", lambda x: f": {x[1]} + i * {size[2 if x[1] == 'sa' else 3]}", family.options())
            body = (f"  var i: int64 = block.x\n  tensor_mma(a + i * {size[0]}, b + i * {size[1]}, c, d + i * {m * n}, "
                    f"{options})")  # fmt: skip
            path = mtlc_exec.write_source("k.mettle", family.source(body))
            for arch in family.arches:
                with self.subTest(family=name, arch=arch):
                    stored = np.uint16 if dtype == np.float16 else dtype
                    out = mtlc_exec.InOut(np.full(want.shape, 99).astype(dtype).view(stored))
                    zero = np.zeros((m, n), stored)
                    done = mtlc_exec.launch(path, "k", [*operands, zero, out, *scales, np.int32(0)],
                                            grid=len(cases), block=32, options=[f"--gpu-arch={arch}"])  # fmt: skip
                    self.assertEqual(done.returncode, 0, done.stderr)
                    np.testing.assert_array_equal(done[out].view(dtype), want)

    def test_bc40_scales_with_padded_lines(self):
        """BC-40: 130 rows and 5 blocks of 32, scales in lines of 8 whose padding is NaN: none of it counts."""
        m, n, k = 130, 8, 160
        rows, blocks = np.arange(m)[:, None], np.arange(5)[None, :]
        exponent = (rows + blocks) % 5
        scale_a = np.full((m, 8), 0xFF, np.uint8)
        scale_a[:, :5] = 127 + exponent
        scale_b = np.full((n, 8), 0xFF, np.uint8)
        scale_b[:, :5] = 127 + (2 * np.arange(n)[:, None] + blocks) % 3
        a = np.full((m, k + 16), 0x7F, np.uint8)  # The padding of the data is NaN too.
        a[:, :k] = 0x38
        b = np.full((n, k + 16), 0x7F, np.uint8)
        b[:, :k] = 0x38
        want = 32 * (2.0**exponent @ (2.0 ** (scale_b[:, :5].astype(int) - 127)).T)
        source = mtlc_exec.write_source("scales.mtir", """module "m"

kernel @k(%a: ptr<global>, %b: ptr<global>, %sa: ptr<global>, %sb: ptr<global>, %d: ptr<global>) {
^entry:
  %block = gpu.block_id x : i32
  %tile = const 16 : i32
  %row = mul %block, %tile : i32
  %col = const 0 : i32
  %m = const 130 : i32
  %n = const 8 : i32
  %k = const 160 : i32
  tensor.matmul a=%a, b=%b, c=%d, d=%d, scale_a=%sa, scale_b=%sb, row=%row, col=%col, m=%m, n=%n, k=%k {m16n8k32, a=e4m3, b=e4m3, acc=f32, result=f32, layout_a=row, layout_b=col, layout_c=row, layout_d=row, scale_a=block32, scale_format_a=ue8m0, scale_b=block32, scale_format_b=ue8m0, lda=176, ldb=176, ldc=11, ldd=11, ldsa=8, ldsb=8, sparsity=dense, math=multiply_add, rounding=default, overflow=wrap, scope=subgroup, packing_a=logical, packing_b=logical}
  ret
}
""")  # fmt: skip
        for device, options in (
            ("interp", []), ("sim", ["--gpu-arch=sm_121a"]), ("sim", ["--gpu-arch=sm_120a"]),
            ("sim", ["--gpu-arch=sm_80", "--tensor-fallback=replay"]), ("spirv", []),
        ):  # fmt: skip
            with self.subTest(device=device, options=options):
                d = np.zeros((m, 11), np.float32)
                d[:, n:] = np.nan
                out = mtlc_exec.InOut(d)
                done = mtlc_exec.launch(source, "k", [a, b, scale_a, scale_b, out], grid=9, block=32, device=device, options=options)
                self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_array_equal(done[out][:, :n], want.astype(np.float32))
                self.assertTrue(np.isnan(done[out][:, n:]).all())

    def test_ordinary_code_between_products(self):
        """Lanes read and update what products wrote and will update, and products order it: replayed ones, with loads and stores
        of their own, too."""
        for name in ("f16", "f16_mma", "bf16", "f64", "i8", "i4", "fp8", "mxfp8", "sparse"):
            rng = np.random.default_rng(13)
            family = Family(name)
            m, n, _ = family.shape
            operands, scales, product = family.case(rng)
            c = rng.integers(-9, 10, (m, n))
            mma = f"  tensor_mma(a, b, {{}}, d, {family.options()})\n"
            body = f"""{mma.format("c")}  var sum: {RESULT[family.out][0]} = 0
  for (var i: int32 = thread.x; i < {m * n}; i += 32) {{ sum += d[i ^ 1] }}
{mma.format("d")}  for (var i: int32 = thread.x; i < {m * n}; i += 32) {{ d[i] += sum }}
{mma.format("d")}"""
            once, first = product.reshape(-1, 32), (product + c).reshape(-1, 32)
            sums = first.reshape(-1)[np.arange(m * n) ^ 1].reshape(-1, 32).sum(0)
            with self.subTest(family=name):
                self.launch_all(family, body, operands, scales, c, 0, (first + 2 * once + sums).reshape(m, n))

    def test_results_of_fewer_bits(self):
        """Sums of float32, rounded once to f16 or bf16: natively where a form has known places."""
        for name, result in itertools.product(("f16", "f16_mma", "bf16", "fp8", "fp6_fp4", "mxfp8", "nvfp4", "sparse"), ("f16", "bf16")):
            family = Family(name)
            m, n, _ = family.shape
            rng = np.random.default_rng(17)
            operands, scales, product = family.case(rng)
            c = rng.integers(-300, 300, (m, n))
            options = family.options().replace("output_type: f32", f"accumulator_type: f32, result_type: {result}")
            source = family.source(f"  tensor_mma(a, b, c, d, {options})").replace("c: float32*, d: float32*", "c: uint16*, d: uint16*")
            path = mtlc_exec.write_source("k.mettle", source)
            codes = mtlc_exec.bf16 if result == "bf16" else (lambda x: x.astype(np.float16).view(np.uint16))
            start = codes(c.astype(np.float32))
            kept = (start.astype(np.uint32) << 16).view(np.float32) if result == "bf16" else start.view(np.float16)
            want = codes((product + kept).astype(np.float32))
            for what, how in self.configurations(family):
                with self.subTest(family=name, result=result, way=what):
                    if what == "sm_70":
                        how = [*how, "--tensor-fallback=replay"]  # It has wmma only.
                    out = mtlc_exec.InOut(np.full((m, n), 0xFFFF, np.uint16))
                    device = "interp" if what == "interp" else "sim"
                    done = mtlc_exec.launch(path, "k", [*operands, start, out, *scales, np.int32(0)], block=32, device=device,
                                            options=[o for o in how if not o.startswith("--device")])  # fmt: skip
                    self.assertEqual(done.returncode, 0, done.stderr)
                    np.testing.assert_array_equal(done[out], want)

    def test_chains_and_loops(self):
        for name in ("f16", "bf16", "i8", "f64", "fp8", "fp6_fp4", "mxfp8", "nvfp4"):
            rng = np.random.default_rng(7)
            family = Family(name)
            m, n, k = family.shape
            operands, scales, product = family.case(rng)
            c = rng.integers(-9, 10, (m, n))
            mma = f"tensor_mma(a, b, {{}}, d, {family.options()})"
            chain = "\n".join("  " + mma.format(x) for x in "cddd")
            loop = f"  {mma.format('c')}\n  for (var q: int32 = 0; q < n; q += 1) {{\n    {mma.format('d')}\n  }}"
            tight = [("budget", ["--gpu-arch=" + family.arches[-1], "--gpu-tensor-tuple-budget=8"])]
            with self.subTest(family=name):
                self.launch_all(family, chain, operands, scales, c, 0, 4 * product + c, tight)
                for rounds in (0, 1, 5):
                    self.launch_all(family, loop, operands, scales, c, rounds, (1 + rounds) * product + c, tight)
                for body, kind in ((chain, "tensor_chain"), (loop, "tensor_loop")):
                    path = mtlc_exec.write_source("k.mettle", family.source(body))
                    how = ["mettle", "-O", "--emit-ptx", f"--gpu-arch={family.arches[-1]}", path, "-o", "-"]
                    self.assertRegex(mtlc_testing.run(*how).stdout, rf"// mtlc\.{kind} resident tiles=\d")
                    self.assertRegex(mtlc_testing.run(*how, "--gpu-tensor-tuple-budget=8").stdout, rf"// mtlc\.{kind} replay")


if __name__ == "__main__":
    mtlc_exec.main()
