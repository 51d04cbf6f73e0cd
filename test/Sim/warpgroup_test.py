"""wgmma on the simulator, against NumPy: every type, shapes, swizzles and majors, sparse A, chains, and when results arrive."""

import itertools
import math
from dataclasses import replace

import matrix_forms
import mtlc_exec
import mtlc_testing
import numpy as np
from matrix_forms import decode, encode
from warpgroup_forms import LANES, Layout, Product

FLOATS = [("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32")]
FLOATS += [(a, b, d) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")]
INTEGERS = [(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")]
BITS = [("b1", "b1", "s32")]
INTEGER_N = [8, 16, 24, 32, *range(48, 257, 16)]


def placed(p: Product) -> Product:
    """B behind A in shared memory."""
    if p.registers:
        return p
    end = int(p.layout_a.addresses(64, p.depth_a, p.bits).max()) // 8
    if p.layout_b.start > end:
        return p
    up = (end // 1024 + 1) * 1024
    return replace(p, layout_b=replace(p.layout_b, start=p.layout_b.start + up))


def integers(p: Product, rng: np.random.Generator, trials: int) -> tuple[np.ndarray, ...]:
    c = encode(p.d, rng.integers(-100, 100, (trials, 64, p.n)))
    a = matrix_forms.small_integers(p.a, rng, (trials, 64, p.depth_a))
    b = matrix_forms.small_integers(p.b, rng, (trials, p.k, p.n))
    if p.d == "f16":  # Sums stay exact.
        a, b = (encode(e, np.sign(decode(e, x)) + 0.0) for e, x in ((p.a, a), (p.b, b)))
    return a, b, c


class Warpgroups(mtlc_exec.TestCase):
    def check(self, p: Product, trials: int = 2, adds: bool = True, **how) -> None:
        p = placed(p)
        with self.subTest(name=p.name, registers=p.registers, a=p.layout_a, b=p.layout_b):
            rng = np.random.default_rng([ord(x) for x in p.name])
            a, b, c = integers(p, rng, trials)
            words, logical = p.metadata(rng, trials) if p.sparse else (None, None)
            left, right = p.values(a, b, logical)
            want = left @ right + (decode(p.d, c) if adds else 0)
            got = decode(p.d, p.run(a, b, c, words, adds=adds, **how))
            np.testing.assert_array_equal(got, want)

    def test_types_and_shapes(self) -> None:
        for (a, b, d), n in itertools.product(FLOATS, (8, 24, 72, 256)):
            self.check(Product(a, b, d, n))
        for (a, b, d), n in itertools.product(INTEGERS + BITS, (8, 24, 80, 256)):
            self.check(Product(a, b, d, n))

    def test_every_n(self) -> None:
        for n in range(8, 257, 8):
            self.check(Product(n=n), 1)
            self.check(Product("tf32", "tf32", n=n, registers=True), 1)
        for n in INTEGER_N:
            self.check(Product("s8", "u8", "s32", n), 1)
            self.check(Product("b1", "b1", "s32", n, registers=True), 1)

    def test_a_in_registers(self) -> None:
        for (a, b, d), n in itertools.product(FLOATS + INTEGERS + BITS, (8, 48)):
            self.check(Product(a, b, d, n, registers=True))

    def test_layouts(self) -> None:
        modes = list(itertools.product((0, 32, 64, 128), (False, True), (0, 1024)))
        for element, d in (("f16", "f32"), ("bf16", "f32")):
            for (sa, ma, pa), (sb, mb, pb) in itertools.product(modes, modes[:: 1 if element == "f16" else 3]):
                self.check(Product(element, element, d, 24 if mb else 48, layout_a=Layout(sa, ma, pad=pa), layout_b=Layout(sb, mb, pad=pb)), 1)
        for swizzle, n in itertools.product((0, 32, 64, 128), (136, 256)):
            self.check(Product(n=n, layout_b=Layout(swizzle, True)), 1)
        for (a, b, d), sa, sb in itertools.product((("tf32", "tf32", "f32"), ("e4m3", "e5m2", "f32"), ("u8", "s8", "s32"), BITS[0]), (0, 32, 64, 128), (0, 32, 64, 128)):
            self.check(Product(a, b, d, 32, layout_a=Layout(sa, pad=1024), layout_b=Layout(sb)), 1)

    def test_inside_a_pattern(self) -> None:
        """A step along K moves the address inside the atom; a step of 8 eights along M or N, to the next one."""
        for swizzle in (64, 128):
            for step in range(0, swizzle, 32):
                self.check(Product(n=16, layout_a=Layout(swizzle, start=step), layout_b=Layout(swizzle, start=step)), 1)
        for swizzle in (32, 64, 128):
            for base in range(1, swizzle // 16):
                at = 128 * base
                self.check(Product(n=16, layout_a=Layout(swizzle, start=at, pattern=at), layout_b=Layout(swizzle, True, start=at, pattern=at)), 1)
        # Without a base offset the pattern starts where the address says.
        self.check(Product(n=16, layout_a=Layout(128, start=3 * 128), layout_b=Layout(64, start=5 * 128)), 1)

    def test_one_hot(self) -> None:
        """Each place of A meets its row of B, and each place of B its column of A."""
        for (a, b, d), registers in itertools.product((("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("e4m3", "e4m3", "f32"), ("u8", "u8", "s32"), BITS[0]), (False, True)):
            p = placed(Product(a, b, d, 8, registers=registers))
            with self.subTest(name=p.name, registers=registers):
                rng = np.random.default_rng(3)
                for alone in ("a", "b"):
                    shape = (64, p.k) if alone == "a" else (p.k, 8)
                    places = rng.permutation(shape[0] * shape[1])[:600]
                    x, y, c = integers(p, rng, len(places))
                    one = np.zeros((len(places), shape[0] * shape[1]), np.uint64)
                    one[np.arange(len(places)), places] = encode(a, np.ones(1, np.int64))[0]
                    one = one.reshape(-1, *shape)
                    x, y = (one, y) if alone == "a" else (x, one)
                    left, right = p.values(x, y)
                    np.testing.assert_array_equal(decode(d, p.run(x, y, c)), left @ right + decode(d, c))

    def test_random_values_are_rounded_once(self) -> None:
        for a, b, d in FLOATS:
            p = placed(Product(a, b, d, 8))
            with self.subTest(name=p.name):
                rng = np.random.default_rng(11)
                x = matrix_forms.finite_codes(a, rng, (1, 64, p.k))
                y = matrix_forms.finite_codes(b, rng, (1, p.k, 8))
                c = matrix_forms.finite_codes(d, rng, (1, 64, 8))
                got = decode(d, p.run(x, y, c))
                left, right = p.values(x, y)
                to = np.float32 if d == "f32" else np.float16
                for _, i, j in np.ndindex(got.shape):
                    exact = math.fsum([*(left[0, i] * right[0, :, j]), decode(d, c)[0, i, j]])
                    # fsum has rounded to 53 bits already.
                    with np.errstate(over="ignore"):
                        near = {float(to(v)) for v in (exact, np.nextafter(exact, -np.inf), np.nextafter(exact, np.inf))}
                    self.assertIn(got[0, i, j], near, f"{i} {j}: exact {exact!r}")

    def test_wide_exponents(self) -> None:
        p = placed(Product("bf16", "bf16", "f32", 8))
        a, b, c = np.zeros((1, 64, 16)), np.zeros((1, 16, 8)), np.zeros((1, 64, 8))
        a[0, 0, :3], a[0, 1, 0], a[0, 2, :2], a[0, 3, 0] = (2.0**60, 2.0**-60, -(2.0**60)), np.inf, (np.inf, -np.inf), np.nan
        b[0, 0], b[0, 1], b[0, 2] = 2.0**60, 2.0**-60, 2.0**60
        got = decode("f32", p.run(*(encode(e, v) for e, v in (("bf16", a), ("bf16", b), ("f32", c)))))[0]
        np.testing.assert_array_equal(got[0], 2.0**-120)
        np.testing.assert_array_equal(got[1], np.inf)
        self.assertTrue(np.isnan(got[2:4]).all())
        np.testing.assert_array_equal(got[4:], 0)

    def test_scales(self) -> None:
        for a, b in itertools.product((1, -1), (1, -1)):
            for registers in (False, True):
                self.check(Product(n=16, scale_a=a, scale_b=b, registers=registers))
                self.check(Product("e5m2", "e4m3", "f32", 16, scale_a=a, scale_b=b, registers=registers))
        for (a, b, d), (scale, adds) in itertools.product((FLOATS[0], FLOATS[3], INTEGERS[0], BITS[0]), (("%p1", False), ("0", False), ("1", True), ("!%p1", True))):
            p = Product(a, b, d, 16, scale_d=scale)
            if scale == "!%p1":
                p = placed(p)
                rng = np.random.default_rng(1)
                x, y, c = integers(p, rng, 1)
                left, right = p.values(x, y)
                np.testing.assert_array_equal(decode(d, p.run(x, y, c, adds=True)), left @ right)
                continue
            self.check(p, adds=adds)

    def test_integer_overflow(self) -> None:
        for saturate, at_end in (("", ""), (".satfinite", ""), ("", ".satfinite")):
            p = placed(Product("u8", "u8", "s32", 8, saturate=saturate))
            rng = np.random.default_rng(2)
            a, b = (rng.integers(200, 256, s).astype(np.uint64) for s in ((1, 64, 32), (1, 32, 8)))
            c = encode("s32", np.full((1, 64, 8), 2**31 - 5))
            exact = decode("u8", a) @ decode("u8", b) + decode("s32", c)
            want = np.clip(exact, -(2**31), 2**31 - 1) if saturate or at_end else (exact + 2**31) % 2**32 - 2**31
            d = [f"%i{i}" for i in range(4)]
            body = f"wgmma.fence.sync.aligned;\n{p.name}{at_end} {p.operands(d, '%da', '%db')};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
            np.testing.assert_array_equal(decode("s32", p.run(a, b, c, body=body)), want)

    def test_sparse(self) -> None:
        for (a, b, d), n, registers in itertools.product(FLOATS + INTEGERS, (8, 48), (False, True)):
            for selector in (0, 1) if a in ("f16", "bf16", "tf32") else (0,):
                self.check(Product(a, b, d, n, sparse=True, registers=registers, selector=selector))
        for (sa, ma), (sb, mb) in itertools.product(itertools.product((0, 32, 64, 128), (False, True)), ((0, False), (64, False), (0, True), (32, True), (64, True), (128, True))):
            self.check(Product(n=24, sparse=True, layout_a=Layout(sa, ma), layout_b=Layout(sb, mb)), 1)

    # ---- Groups ----

    def chain(self, p: Product, steps: list[str]) -> str:
        """Instructions of the body: F fence, M product, C commit, a digit waits."""
        kind, prefix = p.kind
        a = "{%a0, %a1, %a2, %a3}" if p.registers else "%da"
        product = f"{p.name} {p.operands([f'%{prefix}{i}' for i in range(p.results)], a, '%db')};"
        text = {"F": "wgmma.fence.sync.aligned;", "C": "wgmma.commit_group.sync.aligned;", "M": product}
        return "\n".join(text.get(s, s if len(s) > 1 else f"wgmma.wait_group.sync.aligned {s};") for s in steps)

    def test_chains(self) -> None:
        """Products of one accumulator follow each other, in one group and in several, under any schedule and all checks."""
        for steps in ("FMMMC0", "FMCMCMC0", "FMCMC1MC1MC0", "FMMCMC2MC0"):
            for registers in (False, True):
                p = placed(Product("f16", "f16", "f32", 16, registers=registers))
                rng = np.random.default_rng(4)
                a, b, c = integers(p, rng, 1)
                left, right = p.values(a, b)
                want = steps.count("M") * (left @ right) + decode("f32", c)
                for options in (("--check=none",), ("--check=all",), *((f"--seed={s}", "--check=all") for s in range(1, 9))):
                    with self.subTest(steps=steps, registers=registers, options=options):
                        got = p.run(a, b, c, body=self.chain(p, list(steps)), options=options)
                        np.testing.assert_array_equal(decode("f32", got), want)

    def test_results_arrive_at_the_wait(self) -> None:
        """Without a seed: a product in no group, or in a group that may stay under way, has not written D."""
        p = placed(Product("bf16", "bf16", "f32", 8))
        rng = np.random.default_rng(5)
        a, b, c = integers(p, rng, 1)
        left, right = p.values(a, b)
        for steps, done in (("FM", 0), ("FM0", 0), ("FMC", 0), ("FMC1", 0), ("FMC0M", 1), ("FMCMC1", 1), ("FMCM0", 1), ("FMCMC2", 0), ("FMCMC0", 2)):
            with self.subTest(steps=steps):
                got = decode("f32", p.run(a, b, c, body=self.chain(p, list(steps))))
                np.testing.assert_array_equal(got, done * (left @ right) + decode("f32", c))

    def test_operands_are_read_late(self) -> None:
        """Shared memory that changes before the wait: without a seed the product reads what is there then, and the checks tell."""
        p = placed(Product("f16", "f16", "f32", 8, registers=True))
        rng = np.random.default_rng(6)
        a, b, c = integers(p, rng, 1)
        wipe = """mov.u32 %r5, smem; shl.b32 %r4, %r0, 4; add.u32 %r5, %r4, %r5; mov.b32 %v0, 0; setp.lt.u32 %p2, %r0, 16;
@%p2 st.shared.v4.b32 [%r5], {%v0, %v0, %v0, %v0}; bar.sync 0;"""
        body = self.chain(p, ["F", "M", "C", wipe, "0"])
        got = decode("f32", p.run(a, b, c, body=body))
        left, right = p.values(a, b)
        self.assertFalse(np.array_equal(got, left @ right + decode("f32", c)))
        with self.assertRaisesRegex(AssertionError, r"\[async\] store of 16 bytes .* may still have to read"):
            p.run(a, b, c, body=body, options=("--check=async",))

    def test_out_of_bounds(self) -> None:
        p = placed(Product(n=8))
        rng = np.random.default_rng(7)
        a, b, c = integers(p, rng, 1)
        body = "add.u64 %db, %db, 12288;\n" + self.chain(p, list("FMC0"))
        for check in ("none", "mem"):
            with self.assertRaisesRegex(AssertionError, r"\[mem\] load of 16 bytes .* is out of bounds"):
                p.run(a, b, c, body=body, options=(f"--check={check}",))

    def test_checks_see_nothing_wrong(self) -> None:
        for p in (Product(n=64), Product("e4m3", "e5m2", "f16", 32, registers=True), Product("s8", "u8", "s32", 16), Product(n=16, sparse=True), Product(n=16, layout_a=Layout(64, True), layout_b=Layout(32, True))):
            self.check(p, options=("--check=all",))

    def test_undefined_bits(self) -> None:
        """A row of A and a column of B that nobody wrote make a row and a column of D undefined, no more."""
        p = Product("f16", "f16", "f32", 8, layout_a=Layout(0), layout_b=Layout(0, start=4096))
        text = p.module(self.chain(p, list("FMC0")))
        # The copy leaves out the first 16 bytes: row 0 of A, elements 0 to 7 of K.
        text = text.replace("add.u32 %r5, %r3, %r4; st.shared", "add.u32 %r5, %r3, %r4; setp.ne.u32 %p2, %r4, 0; @%p2 st.shared")
        path = mtlc_exec.write_source("undefined.ptx", text)
        rng = np.random.default_rng(8)
        a, b, c = integers(p, rng, 1)
        image = p.image(a, b, rng)
        out = mtlc_exec.Output(np.uint32, (4, LANES))
        args = [out, image, np.zeros((4, LANES), np.uint32), np.zeros((4, LANES), np.uint32), np.zeros(LANES, np.uint32), np.uint64(p.layout_a.descriptor(64, 16, 16)), np.uint64(p.layout_b.descriptor(8, 16, 16)), np.uint32(image.shape[1]), np.uint32(1)]
        result = mtlc_exec.launch(path, "k", args, block=LANES, shared=image.shape[1], options=["--check=init"])
        self.assertEqual(result.returncode, 1)
        # Row 0 is in registers 0 and 1 of threads 0 to 3: 16 bytes of each register's 512.
        places = sorted({int(line.split("at byte ")[1].split(" ")[0]) for line in result.stderr.splitlines() if "at byte" in line})
        self.assertTrue(places and all(p % 512 < 16 and p < 1024 for p in places), result.stderr)

    # ---- Tensor copies ----

    def test_tiles_of_tensor_copies(self) -> None:
        """A box that a tensor copy brought with a swizzle is what a descriptor of that swizzle describes."""
        for swizzle in (32, 64, 128):
            columns = swizzle // 2  # f16 elements of a line.
            rng = np.random.default_rng(swizzle)
            a, b = (matrix_forms.small_integers("f16", rng, s) for s in ((64, columns), (16, columns)))
            steps = "\n".join(
                f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, %da, %db, {int(k > 0)}, 1, 1, 0, 0;\nadd.u64 %da, %da, 2; add.u64 %db, %db, 2;"
                for k in range(columns // 16)
            )
            descriptor = Layout(swizzle).descriptor(64, 16, 16)
            path = mtlc_exec.write_source(
                "tensor.ptx",
                f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pd, .param .u64 ma, .param .u64 mb, .param .u64 pa, .param .u64 pb) {{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %q, %o, %da, %db; .reg .f32 %f<8>;
.shared .align 1024 .b8 ta[8192]; .shared .align 1024 .b8 tb[2048]; .shared .align 8 .b64 bar;
mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0; mov.u32 %r1, bar; mov.u32 %r2, ta; mov.u32 %r3, tb; mov.b32 %r4, 0;
@%p0 bra ready;
mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [%r1], {128 * columns + 32 * columns};
ld.param.u64 %q, [ma]; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%q, {{%r4, %r4}}], [%r1];
ld.param.u64 %q, [mb]; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%q, {{%r4, %r4}}], [%r1];
ready: bar.sync 0;
again: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra again;
shr.u32 %r2, %r2, 4; shr.u32 %r3, %r3, 4; cvt.u64.u32 %da, %r2; cvt.u64.u32 %db, %r3;
or.b64 %da, %da, {descriptor}; or.b64 %db, %db, {descriptor};
wgmma.fence.sync.aligned;
{steps}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ld.param.u64 %q, [pd]; mul.wide.u32 %o, %r0, 32; add.u64 %q, %q, %o;
st.global.v4.f32 [%q], {{%f0, %f1, %f2, %f3}}; st.global.v4.f32 [%q+16], {{%f4, %f5, %f6, %f7}};
ret;
}}
""",
            )
            out = mtlc_exec.Output(np.float32, (LANES, 8))
            maps = [mtlc_exec.Raw(f"tensormap:{i}:f16:dims={columns},{rows}:strides={2 * columns}:box={columns},{rows}:swizzle={swizzle}") for i, rows in ((3, 64), (4, 16))]
            for options in ("--check=all",), ("--check=all", "--seed=5"):
                result = mtlc_exec.launch(path, "k", [out, *maps, a.astype(np.uint16), b.astype(np.uint16)], block=LANES, options=list(options))
                self.assertEqual(result.returncode, 0, result.stderr)
                thread, i = np.indices((LANES, 8))
                got = np.zeros((64, 16))
                got[16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (thread % 4) + i % 2] = result[out]
                np.testing.assert_array_equal(got, decode("f16", a) @ decode("f16", b).T)


if __name__ == "__main__":
    mtlc_testing.main()
