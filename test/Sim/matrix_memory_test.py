"""wmma, ldmatrix, stmatrix and movmatrix on the simulator, against NumPy: every family, layout and state space.

Fragments of wmma are opaque, so loads are seen through stores and products.
"""

import itertools

import mtlc_exec
import mtlc_testing
import numpy as np
from matrix_forms import DOC, decode, encode, finite_codes, small_integers

HEAD = ".version 8.8\n.target sm_120a\n.address_size 64\n"
SHAPES = {"m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16)}
SHAPES |= {"m16n16k8": (16, 16, 8), "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32), "m8n8k128": (8, 8, 128)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32, "s4": 4, "u4": 4, "b1": 1}
# shape, element of A and B, of C, of D
PRODUCTS = [
    *((s, "f16", c, d) for s in ("m16n16k16", "m8n32k16", "m32n8k16") for c in ("f16", "f32") for d in ("f16", "f32")),
    *((s, e, "s32", "s32") for s in ("m16n16k16", "m8n32k16", "m32n8k16") for e in ("s8", "u8")),
    *((s, "bf16", "f32", "f32") for s in ("m16n16k16", "m8n32k16", "m32n8k16")),
    ("m16n16k8", "tf32", "f32", "f32"),
    ("m8n8k4", "f64", "f64", "f64"),
    ("m8n8k32", "s4", "s32", "s32"),
    ("m8n8k32", "u4", "s32", "s32"),
    ("m8n8k128", "b1", "s32", "s32"),
]


def registers(element: str, elements: int, multiplicand: bool) -> int:
    if element == "f16" and multiplicand:
        return 8
    return elements * BITS[element] // (64 if element == "f64" else 32) // 32


def vector(letter: str, element: str, count: int) -> tuple[str, str]:
    """Declaration and operand."""
    kind = {"f32": "f32", "f64": "f64", "s32": "s32"}.get(element, "b32")
    return f".reg .{kind} %{letter}<{count}>;", "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"


def stored(codes: np.ndarray, element: str, layout: str, stride: int) -> np.ndarray:
    """The bytes of a matrix in memory; between its rows (or columns) ones that no element is in."""
    matrix = np.ascontiguousarray(codes if layout == "row" else codes.T)
    bits = BITS[element]
    lines = np.full((matrix.shape[0], stride * bits // 8), 0xEE, np.uint8)
    if bits < 8:
        parts = (matrix[:, :, None].astype(np.uint8) >> np.arange(bits, dtype=np.uint8)) & 1
        packed = np.packbits(parts.reshape(matrix.shape[0], -1), axis=1, bitorder="little")
    else:
        packed = matrix.astype(f"u{bits // 8}").view(np.uint8).reshape(matrix.shape[0], -1)
    lines[:, : packed.shape[1]] = packed
    return lines.reshape(-1)


def read(data: np.ndarray, element: str, layout: str, stride: int, shape: tuple[int, int]) -> np.ndarray:
    rows, columns = shape if layout == "row" else shape[::-1]
    size = BITS[element] // 8
    lines = data.reshape(rows, stride * size)[:, : columns * size]
    matrix = np.ascontiguousarray(lines).view(f"u{size}").astype(np.uint64)
    return matrix if layout == "row" else matrix.T


class Wmma(mtlc_exec.TestCase):
    def multiply(self, shape, ab, c, d, layouts, extra, space, words, rng, codes, options=("--check=all",)):
        """D of one product whose operands lie in memory as `layouts` of A, B, C, D say, `extra` elements between rows."""
        m, n, k = SHAPES[shape]
        a_codes, b_codes, c_codes = codes(ab, rng, (m, k)), codes(ab, rng, (k, n)), codes(c, rng, (m, n))
        strides = []
        for element, (rows, columns), layout in zip((ab, ab, c, d), ((m, k), (k, n), (m, n), (m, n)), layouts, strict=True):
            strides.append((columns if layout == "row" else rows) + extra * 128 // BITS[element])
        decls, operands = zip(
            *(
                vector("a", ab, registers(ab, m * k, True)),
                vector("b", ab, registers(ab, k * n, True)),
                vector("c", c, registers(c, m * n, False)),
                vector("d", d, registers(d, m * n, False)),
            ),
            strict=True,
        )
        # One part of shared memory for each operand; global memory is copied there and back.
        sizes = [len(stored(np.zeros(s, np.uint64), e, y, t)) for s, e, y, t in zip(((m, k), (k, n), (m, n), (m, n)), (ab, ab, c, d), layouts, strides, strict=True)]
        lines = [HEAD, ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc) {", *decls]
        lines.append(".reg .b64 %p<4>, %q<4>; .reg .b32 %t, %i, %x; .reg .pred %g; .reg .b16 %h; .reg .b64 %w, %v;")
        names = ["pa", "pb", "pc", "pd"]
        for i, name in enumerate(names):
            lines.append(f"ld.param.u64 %p{i}, [{name}]; .shared .align 32 .b8 s{i}[{sizes[i]}];")
        lines.append("mov.u32 %t, %tid.x;")
        dot = {"global": ".global", "generic": "", "shared": ".shared", "shared::cta": ".shared::cta"}[space]

        def copy(i: int, back: bool) -> None:
            lines.append(f"mov.u32 %i, %t; mov.u64 %w, s{i}; L{i}{back}: cvt.u64.u32 %v, %i; add.u64 %q0, %w, %v; add.u64 %q1, %p{i}, %v;")
            lines.append("ld.shared.b8 %h, [%q0]; st.global.b8 [%q1], %h;" if back else "ld.global.b8 %h, [%q1]; st.shared.b8 [%q0], %h;")
            lines.append(f"add.u32 %i, %i, 32; setp.lt.u32 %g, %i, {sizes[i]}; @%g bra L{i}{back};")

        shared = space.startswith("shared")
        if shared:
            for i in range(3):
                copy(i, False)
            # What the store leaves alone is read back too.
            lines.append(f"mov.u32 %i, %t; mov.u64 %w, s3; mov.b16 %h, 238; F: cvt.u64.u32 %v, %i; add.u64 %q0, %w, %v; st.shared.b8 [%q0], %h;")
            lines.append(f"add.u32 %i, %i, 32; setp.lt.u32 %g, %i, {sizes[3]}; @%g bra F; bar.sync 0;")
        where = [f"s{i}" if shared else f"%p{i}" for i in range(4)]
        strides_text = [f", {s}" if extra else "" for s in strides]
        for i, (letter, element) in enumerate((("a", ab), ("b", ab), ("c", c))):
            lines.append(f"wmma.load.{letter}.sync.aligned.{layouts[i]}.{shape}{dot}.{element} {operands[i]}, [{where[i]}]{strides_text[i]};")
        types = f"{d}.{c}" if ab == "f16" else f"{d}.{ab}.{ab}.{c}"
        before, after = words
        lines.append(f"wmma.mma{before}.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{types}{after} {operands[3]}, {operands[0]}, {operands[1]}, {operands[2]};")
        lines.append(f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}{dot}.{d} [{where[3]}], {operands[3]}{strides_text[3]};")
        if shared:
            lines.append("bar.sync 0;")
            copy(3, True)
        path = mtlc_exec.write_source("wmma.ptx", "\n".join([*lines, "ret;\n}\n"]))
        out = mtlc_exec.InOut(np.full(sizes[3], 0xEE, np.uint8))
        inputs = [stored(x, e, y, t) for x, e, y, t in zip((a_codes, b_codes, c_codes), (ab, ab, c), layouts, strides, strict=False)]
        result = mtlc_exec.launch(path, "k", [out, *inputs], block=32, options=list(options))
        self.assertEqual(result.returncode, 0, result.stderr)
        got = read(result[out], d, layouts[3], strides[3], (m, n))
        again = stored(got, d, layouts[3], strides[3])
        np.testing.assert_array_equal(result[out], again)  # Nothing between the rows was touched.
        a, b, add = decode(ab, a_codes), decode(ab, b_codes), decode(c, c_codes)
        if ab == "b1":
            op = np.bitwise_and if "and" in before else np.bitwise_xor
            return decode(d, got), op(a[:, :, None], b[None]).sum(1) + add
        return decode(d, got), a @ b + add

    def codes(self, element, rng, shape):
        if element in ("f32", "s32", "f64"):
            return encode(element, rng.integers(-100, 100, shape))
        if element == "f16":
            return encode(element, rng.integers(-6, 7, shape))
        return small_integers(element, rng, shape)

    def test_products(self) -> None:
        rng = np.random.default_rng(11)
        spaces = itertools.cycle(("global", "shared", "generic", "shared::cta"))
        for shape, ab, c, d in PRODUCTS:
            narrow = BITS[ab] < 8
            choices = [("row", "col")] if narrow else list(itertools.product(("row", "col"), repeat=2))
            for la, lb in choices:
                for lc, ld in itertools.product(("row", "col"), repeat=2):
                    for extra in (0, 2):
                        if extra and (lc, ld) != ("row", "col"):
                            continue
                        words = (".xor.popc", "") if ab == "b1" else ("", "")
                        space = next(spaces)
                        with self.subTest(shape=shape, ab=ab, c=c, d=d, layouts=(la, lb, lc, ld), extra=extra, space=space):
                            got, want = self.multiply(shape, ab, c, d, (la, lb, lc, ld), extra, space, words, rng, self.codes)
                            np.testing.assert_array_equal(got, want)

    def test_bits_and(self) -> None:
        rng = np.random.default_rng(12)
        got, want = self.multiply("m8n8k128", "b1", "s32", "s32", ("row", "col", "row", "row"), 0, "global", (".and.popc", ""), rng, self.codes)
        np.testing.assert_array_equal(got, want)

    def test_saturation(self) -> None:
        rng = np.random.default_rng(13)

        def codes(element, rng, shape):
            if element == "s32":
                return encode(element, rng.integers(2**31 - 2000, 2**31, shape) * rng.choice([-1, 1], shape))
            return finite_codes(element, rng, shape)

        for after in ("", ".satfinite"):
            for shape, ab in (("m16n16k16", "s8"), ("m32n8k16", "u8"), ("m8n8k32", "s4"), ("m8n8k32", "u4")):
                got, want = self.multiply(shape, ab, "s32", "s32", ("row", "col", "row", "row"), 0, "global", ("", after), rng, codes)
                want = np.clip(want, -(2**31), 2**31 - 1) if after else want.astype(np.uint32).view(np.int32).reshape(want.shape)
                np.testing.assert_array_equal(got, want)

    def test_f64_rounding(self) -> None:
        """One step each of three halves of a unit in the last place."""

        def codes(element, rng, shape):
            values = {(8, 4): 0.0, (4, 8): 2.0**-53, (8, 8): 1.0}[shape] * np.ones(shape)
            if shape == (8, 4):
                values[:, 0] = 1.0
                values[4:] *= -1.0
            return encode("f64", values)

        up, down = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)
        # 1 + 2^-53 is between 1 and the next number; 1 - 2^-53 is a number.
        for word, above in (("", 1.0), (".rn", 1.0), (".rz", 1.0), (".rm", 1.0), (".rp", up)):
            with self.subTest(word=word):
                rng = np.random.default_rng(1)
                got, _ = self.multiply("m8n8k4", "f64", "f64", "f64", ("row", "col", "row", "row"), 0, "global", ("", word), rng, codes)
                np.testing.assert_array_equal(got[:4], np.full((4, 8), above))
                np.testing.assert_array_equal(got[4:], np.full((4, 8), down))


class Quads(mtlc_exec.TestCase):
    """mma.m8n8k4 of f16: four products, each in eight lanes. Places as the strides of CuTe's layouts for sm_70 give them."""

    @staticmethod
    def place(kind: str, lane: int, i: int) -> tuple[int, int]:
        """Row and column of A (m, k), B (k, n) or C (m, n)."""
        t = lane % 4 + lane // 16 * 4
        match kind:
            case "A.row":
                return t, i
            case "A.col":
                return t // 4 * 4 + i, t % 4
            case "B.col":
                return i, t
            case "B.row":
                return t % 4, t // 4 * 4 + i
            case "C.f16":
                return t, i
        at = t % 2 + t // 2 % 2 * 16 + t // 4 * 4 + i % 2 * 8 + i // 2 % 2 * 2 + i // 4 * 32
        return at % 8, at // 8

    def pack(self, kind: str, matrices: np.ndarray, count: int, f32: bool = False) -> np.ndarray:
        out = np.zeros((count, 32), np.uint32)
        for lane, r in itertools.product(range(32), range(count)):
            quad = lane % 16 // 4
            if f32:
                out[r, lane] = encode("f32", matrices[quad][self.place(kind, lane, r)])
                continue
            for h in range(2):
                code = int(encode("f16", matrices[quad][self.place(kind, lane, 2 * r + h)]))
                out[r, lane] |= np.uint32(code << 16 * h)
        return out

    def test_products(self) -> None:
        rng = np.random.default_rng(31)
        for la, lb, (d, c) in itertools.product(("row", "col"), ("row", "col"), (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))):
            with self.subTest(a=la, b=lb, d=d, c=c):
                a, b = rng.integers(-9, 10, (4, 8, 4)), rng.integers(-9, 10, (4, 4, 8))
                add = rng.integers(-50, 50, (4, 8, 8))
                nc, nd = (8 if c == "f32" else 4), (8 if d == "f32" else 4)
                inputs = np.concatenate(
                    [self.pack(f"A.{la}", a, 2), self.pack(f"B.{lb}", b, 2), self.pack(f"C.{c}", add, nc, c == "f32")]
                )
                pre = {"f16": "h", "f32": "f"}
                text = HEAD + ".visible .entry k(.param .u64 out, .param .u64 in) {\n.reg .b32 %a<4>, %h<8>, %g<8>, %t; .reg .f32 %f<8>, %e<8>;\n"
                text += ".reg .b64 %o, %i, %w;\nld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;\n"
                text += "mul.wide.u32 %w, %t, 4; add.u64 %o, %o, %w; add.u64 %i, %i, %w;\n"
                text += "".join(f"ld.global.b32 %a{r}, [%i+{128 * r}];\n" for r in range(4))
                text += "".join(f"ld.global.b32 %{pre[c]}{r}, [%i+{512 + 128 * r}];\n" for r in range(nc))
                vectors = [
                    "{" + ", ".join(f"%{letter}{r}" for r in range(first, first + n)) + "}"
                    for letter, first, n in (("g" if d == "f16" else "e", 0, nd), ("a", 0, 2), ("a", 2, 2), (pre[c], 0, nc))
                ]
                text += f"mma.sync.aligned.m8n8k4.{la}.{lb}.{d}.f16.f16.{c} {', '.join(vectors)};\n"
                text += "".join(f"st.global.b32 [%o+{128 * r}], %{'g' if d == 'f16' else 'e'}{r};\n" for r in range(nd)) + "ret;\n}\n"
                out = mtlc_exec.Output(np.uint32, (nd, 32))
                result = mtlc_exec.launch(mtlc_exec.write_source("quads.ptx", text), "k", [out, inputs], block=32, options=["--check=all"])
                self.assertEqual(result.returncode, 0, result.stderr)
                np.testing.assert_array_equal(result[out], self.pack(f"C.{d}", a @ b + add, nd, d == "f32"))


class Rows(mtlc_exec.TestCase):
    def run_rows(self, body: str, memory: np.ndarray, count: int) -> np.ndarray:
        """Shared memory filled with `memory` (512 bytes); %a: the address of row tid; %r0..: results; returned [register, lane]."""
        text = HEAD + ".visible .entry k(.param .u64 out, .param .u64 in) {\n.reg .b32 %r<8>, %a, %t, %x; .reg .b64 %o, %i, %w;\n"
        text += ".shared .align 16 .b8 s[512];\nld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x;\n"
        text += "mul.wide.u32 %w, %t, 16; add.u64 %i, %i, %w; mov.u32 %a, s; shl.b32 %x, %t, 4; add.u32 %a, %a, %x;\n"
        text += "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%i]; st.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3}; bar.sync 0;\n"
        text += body + "\nmul.wide.u32 %w, %t, 4; add.u64 %o, %o, %w;\n"
        text += "".join(f"st.global.b32 [%o+{128 * r}], %r{r};\n" for r in range(count)) + "ret;\n}\n"
        out = mtlc_exec.Output(np.uint32, (count, 32))
        result = mtlc_exec.launch(mtlc_exec.write_source("rows.ptx", text), "k", [out, memory], block=32, options=["--check=all"])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result[out]

    def test_ldmatrix(self) -> None:
        rng = np.random.default_rng(21)
        for num, spec in DOC["ldmatrix"].items():
            for trans in ("", ".trans"):
                for space in (".shared", ".shared::cta"):
                    with self.subTest(num=num, trans=trans, space=space):
                        memory = rng.integers(0, 256, 512, np.uint8)
                        count = spec["dest_regs"]
                        registers = ", ".join(f"%r{i}" for i in range(count))
                        got = self.run_rows(f"ldmatrix.sync.aligned.m8n8.{num}{trans}{space}.b16 {{{registers}}}, [%a];", memory, count)
                        halves = memory.view(np.uint16).reshape(32, 8)
                        place = spec["result_trans" if trans else "result"]
                        where = {tuple(p): lane for lane, p in enumerate(spec["address"]) if p is not None}
                        want = np.zeros((count, 32), np.uint32)
                        for lane, r, h in itertools.product(range(32), range(count), range(2)):
                            matrix, row, element = place[lane][r][h]
                            want[r, lane] |= np.uint32(int(halves[where[matrix, row], element]) << 16 * h)
                        np.testing.assert_array_equal(got, want)

    def test_stmatrix_undoes_ldmatrix(self) -> None:
        rng = np.random.default_rng(22)
        for num, trans in itertools.product((1, 2, 4), ("", ".trans")):
            with self.subTest(num=num, trans=trans):
                memory = rng.integers(0, 256, 512, np.uint8)
                registers = ", ".join(f"%r{i}" for i in range(num))
                body = f"ldmatrix.sync.aligned.m8n8.x{num}{trans}.shared.b16 {{{registers}}}, [%a]; bar.sync 0;\n"
                body += "mov.b32 %r4, 0; st.shared.v4.b32 [%a], {%r4, %r4, %r4, %r4}; bar.sync 0;\n"
                body += f"stmatrix.sync.aligned.m8n8.x{num}{trans}.shared.b16 [%a], {{{registers}}}; bar.sync 0;\n"
                body += "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a];"
                got = self.run_rows(body, memory, 4)
                want = memory.view(np.uint32).reshape(32, 4).copy()
                want[8 * num :] = 0
                np.testing.assert_array_equal(got, want.T)

    def test_movmatrix(self) -> None:
        memory = np.random.default_rng(23).integers(0, 256, 512, np.uint8)
        got = self.run_rows("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;", memory, 1)
        source = np.ascontiguousarray(memory.view(np.uint32).reshape(32, 4)[:, 0]).view(np.uint16).reshape(8, 8)
        np.testing.assert_array_equal(got[0], np.ascontiguousarray(source.T).view(np.uint32).reshape(32))


if __name__ == "__main__":
    mtlc_testing.main()
