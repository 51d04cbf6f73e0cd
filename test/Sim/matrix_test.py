"""Every matrix instruction of test/data/fragments/fragments.json on the simulator, against NumPy.

Registers are packed and results unpacked by the tables of that file, which were made without the simulator's.
"""

import math

import matrix_forms
import mtlc_exec
import mtlc_testing
import numpy as np
from matrix_forms import Batch, Form, decode, encode

FORMS = matrix_forms.forms()


def rng_for(form: Form) -> np.random.Generator:
    return np.random.default_rng([ord(c) for c in form.name])


def product(form: Form, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if form.a.element == "b1":
        op = np.bitwise_and if ".and." in form.name else np.bitwise_xor
        return op(a[:, :, :, None], b[:, None, :, :]).sum(2)
    return a @ b


class Made:
    """Operands of a form with their values: A with its logical columns, scales applied."""

    def __init__(self, form: Form, rng: np.random.Generator, trials: int, codes, selector: int = 0, scales=None) -> None:
        self.form, self.selector = form, selector
        a, b = codes(form.a.element, rng, (trials, *form.a.shape)), codes(form.b.element, rng, (trials, *form.b.shape))
        c = codes(form.c.element, rng, (trials, *form.c.shape))
        self.batch = Batch(a, b, c)
        if form.sparse:
            words, self.logical = form.metadata(rng, trials, selector)
            self.batch.extra.append(words)
        if form.scale:
            ue8m0 = form.scale["type"] == "ue8m0"
            scales = scales if scales is not None else np.arange(122, 133) if ue8m0 else np.arange(48, 80)
            vec = matrix_forms.DOC["block_scale"][form.scale["vec"]]
            # All selectors, in turn and independently.
            ida = np.stack([rng.choice(vec["byte_ids"], trials), rng.choice(vec["thread_id_a"], trials)], 1)
            idb = np.stack([rng.choice(vec["byte_ids"], trials), rng.choice(vec["thread_id_b"], trials)], 1)
            wa, self.factors_a = form.scales(rng, scales, "SFA", ida)
            wb, self.factors_b = form.scales(rng, scales, "SFB", idb)
            self.batch.extra += [wa, wb]
            self.batch.extra += [np.repeat(x[:, None], 32, 1) for x in (*ida.T, *idb.T)]

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        form, batch = self.form, self.batch
        a, b = decode(form.a.element, batch.a), decode(form.b.element, batch.b)
        if form.sparse:
            full = np.zeros((a.shape[0], a.shape[1], form.k), a.dtype)
            np.put_along_axis(full, self.logical, a, 2)
            a = full
        if form.scale:
            width = form.k // form.scale["blocks"]
            a = a * np.repeat(self.factors_a, width, 2)
            b = b * np.repeat(self.factors_b, width, 2).transpose(0, 2, 1)
        return a, b, decode(form.c.element, batch.c)

    def run(self, **how) -> np.ndarray:
        return self.form.run(self.batch, selector=self.selector, **how)


def integers(element: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if element == "s32" or element in ("f32", "f64"):
        return encode(element, rng.integers(-1000, 1000, shape))
    return matrix_forms.small_integers(element, rng, shape)


def wrapped(form: Form, exact: np.ndarray) -> np.ndarray:
    """Exact integers as s32."""
    if form.row.get("satfinite"):
        return np.clip(exact, -(2**31), 2**31 - 1)
    return exact.astype(np.int64).astype(np.uint32).view(np.int32).astype(np.int64)


class Matrices(mtlc_exec.TestCase):
    def selectors(self, form: Form) -> list[int]:
        return [int(s) for s in form.layout["E"]] if form.sparse else [0]

    def test_integer_values_are_exact(self) -> None:
        for form in FORMS:
            for selector in self.selectors(form):
                with self.subTest(form=form.name, selector=selector):
                    made = Made(form, rng_for(form), 16, integers, selector)
                    a, b, c = made.values()
                    want = product(form, a, b) + c
                    if form.d.element == "s32":
                        want = wrapped(form, want)
                    if form.scale:  # One rounding.
                        want = want.astype(np.float32).astype(np.float64)
                    np.testing.assert_array_equal(decode(form.d.element, made.run()), want)

    def test_one_hot(self) -> None:
        """Each place of A alone meets every element of its row of B, and the other way round (BC-38)."""
        seen = set()
        for form in FORMS:
            key = (form.row["layout"], form.a.element, form.d.element, form.scale["vec"] if form.scale else "")
            if key in seen:
                continue
            seen.add(key)
            with self.subTest(form=form.name):
                rng = rng_for(form)
                for alone in ("a", "b"):
                    operand = getattr(form, alone)
                    count = operand.shape[0] * operand.shape[1]
                    made = Made(form, rng, count, integers)
                    one = encode(operand.element, np.ones(1, np.int64))[0]
                    codes = np.zeros((count, count), np.uint64)
                    np.fill_diagonal(codes, one)
                    setattr(made.batch, alone, codes.reshape(count, *operand.shape))
                    a, b, c = made.values()
                    want = product(form, a, b) + c
                    if form.scale:
                        want = want.astype(np.float32).astype(np.float64)
                    np.testing.assert_array_equal(decode(form.d.element, made.run()), want)

    def test_random_values_are_rounded_once(self) -> None:
        """The exact sum of products and C, rounded to nearest once; f64: within (K + 2) u of it."""
        for form in FORMS:
            if form.d.element == "s32":
                continue
            with self.subTest(form=form.name):
                made = Made(form, rng_for(form), 2, matrix_forms.finite_codes)
                a, b, c = made.values()
                got = decode(form.d.element, made.run())
                terms = a[:, :, :, None] * b[:, None, :, :]
                for place in np.ndindex(got.shape):
                    t, i, j = place
                    parts = [*terms[t, i, :, j], c[place]]
                    exact = math.fsum(parts)
                    if form.d.element == "f64":
                        bound = (form.k + 2) * 2.0**-53 * sum(map(abs, parts))
                        self.assertLessEqual(abs(got[place] - exact), bound, f"{place}")
                        continue
                    # fsum has rounded to 53 bits already, so the last bit may be the other one at a tie.
                    to = np.float32 if form.d.element == "f32" else np.float16
                    with np.errstate(over="ignore"):
                        near = {float(to(exact)), float(to(np.nextafter(exact, -np.inf))), float(to(np.nextafter(exact, np.inf)))}
                    self.assertIn(got[place], near, f"{place}: exact {exact!r}")

    def test_f64_is_a_chain_of_fused_steps(self) -> None:
        for form in FORMS:
            if form.d.element != "f64":
                continue
            with self.subTest(form=form.name):
                # 1 + 2^-52 squared, minus one: a fused step keeps the low bits of the product.
                made = Made(form, rng_for(form), 1, matrix_forms.finite_codes)
                x = np.nextafter(1.0, 2.0)
                made.batch.a = encode("f64", np.zeros((1, *form.a.shape)))
                made.batch.b = encode("f64", np.zeros((1, *form.b.shape)))
                made.batch.a[:, :, 0] = encode("f64", np.array([x]))[0]
                made.batch.b[:, 0, :] = encode("f64", np.array([x]))[0]
                made.batch.c = encode("f64", np.full((1, *form.c.shape), -1.0))
                want = 2.0**-51 + 2.0**-104
                np.testing.assert_array_equal(decode("f64", made.run()), np.full((1, *form.d.shape), want))

    def test_wide_exponents_and_special_values(self) -> None:
        """Sums that no double holds, infinities and NaN."""
        for name in ("bf16.bf16", "tf32.tf32", "f16.f16", "e5m2.e5m2"):
            form = next(f for f in FORMS if f".f32.{name}.f32" in f.name and not f.sparse and f.k >= 8 and "kind" not in f.name)
            element = form.a.element
            a, b = np.zeros((1, *form.a.shape)), np.zeros((1, *form.b.shape))
            large = 2.0**15 if element in ("f16", "e5m2") else 2.0**60
            small = 2.0**-14 if element in ("f16", "e5m2") else 2.0**-60
            # Row 0: large cancels, small stays. Row 1: infinity. Row 2: infinity minus infinity. Row 3: NaN.
            a[0, 0, :3], a[0, 1, 0], a[0, 2, :2], a[0, 3, 0] = (large, small, -large), np.inf, (np.inf, -np.inf), np.nan
            b[0, 0, :], b[0, 1, :], b[0, 2, :] = large, small, large
            b[0, 1, 1:] = 1.0
            c = np.zeros((1, *form.c.shape))
            got = decode("f32", form.run(Batch(*(self.codes(e, v) for e, v in ((element, a), (element, b), ("f32", c))))))
            with self.subTest(form=form.name):
                self.assertEqual(got[0, 0, 0], small * small)
                self.assertEqual(got[0, 0, 1], small)
                self.assertEqual(got[0, 1, 0], np.inf)
                self.assertTrue(np.isnan(got[0, 2, 1]))
                self.assertTrue(np.isnan(got[0, 3]).all())
                np.testing.assert_array_equal(got[0, 4:], 0)

    def codes(self, element: str, values: np.ndarray) -> np.ndarray:
        if element != "e5m2":
            return encode(element, values)
        special = ~np.isfinite(values)
        out = encode(element, np.where(special, 0, values))
        return np.where(special, np.where(np.isnan(values), 0x7F, np.where(values > 0, 0x7C, 0xFC)), out).astype(np.uint64)

    def test_integer_overflow(self) -> None:
        for form in FORMS:
            if form.d.element != "s32":
                continue
            with self.subTest(form=form.name):
                made = Made(form, rng_for(form), 4, matrix_forms.finite_codes)
                limits = np.array([2**31 - 1, -(2**31), 2**31 - 5, -(2**31) + 5])
                made.batch.c = encode("s32", np.broadcast_to(limits[:, None, None], made.batch.c.shape))
                a, b, c = made.values()
                want = wrapped(form, product(form, a, b) + c)
                np.testing.assert_array_equal(decode("s32", made.run()), want)

    def test_padding_and_low_bits_are_ignored(self) -> None:
        for form in FORMS:
            padded = form.a.value_bits < (8 if form.row["A"]["container_bits"] == 8 else 0)
            if not padded and form.a.element != "tf32":
                continue
            with self.subTest(form=form.name):
                made = Made(form, rng_for(form), 2, integers)
                clean = made.run()
                if form.a.element == "tf32":
                    made.batch.a |= np.uint64(0x1FFF)
                    made.batch.b |= np.uint64(0x1FFF)
                    np.testing.assert_array_equal(made.run(), clean)
                else:
                    np.testing.assert_array_equal(made.run(padding=np.uint64(0xFFFFFFFF)), clean)

    def test_constant_selectors(self) -> None:
        form = next(f for f in FORMS if f.scale and f.scale["vec"] == "1X" and not f.sparse)
        made = Made(form, rng_for(form), 16, integers)
        registers = made.run()
        ba, ta, bb, tb = (e[:, 0] for e in made.batch.extra[2:])
        for t in range(16):
            one = Batch(*(x[t : t + 1] for x in (made.batch.a, made.batch.b, made.batch.c)))
            one.extra = [e[t : t + 1] for e in made.batch.extra[:2]]
            got = form.run(one, ids=tuple(str(int(x[t])) for x in (ba, ta, bb, tb)))
            np.testing.assert_array_equal(got[0], registers[t])

    def test_every_spelling(self) -> None:
        for form in matrix_forms.forms(spellings=True):
            with self.subTest(form=form.name):
                made = Made(form, np.random.default_rng(5), 1, integers)
                a, b, c = made.values()
                want = product(form, a, b) + c
                if form.d.element == "s32":
                    want = wrapped(form, want)
                if form.scale:
                    want = want.astype(np.float32).astype(np.float64)
                np.testing.assert_array_equal(decode(form.d.element, made.run()), want)

    def test_scale_codes(self) -> None:
        """Every scale code, NaN too."""
        for vec in ("1X", "4X"):
            form = next(f for f in FORMS if f.scale and f.scale["vec"] == vec and not f.sparse and f.scale["type"] == ("ue8m0" if vec == "1X" else "ue4m3"))
            with self.subTest(form=form.name):
                for code in range(0, 256, 5) if vec == "1X" else range(0, 128):
                    made = Made(form, rng_for(form), 1, integers, scales=np.array([code, 127 if vec == "1X" else 56]))
                    a, b, c = made.values()
                    with np.errstate(over="ignore", invalid="ignore"):
                        want = (np.array([[math.fsum([*(a[0, i] * b[0, :, j]), c[0, i, j]]) if np.isfinite(a[0, i] * b[0, :, j]).all() else np.nan for j in range(8)] for i in range(16)])).astype(np.float32)
                    got = decode("f32", made.run())[0].astype(np.float32)
                    np.testing.assert_array_equal(got, want)

    def test_checks_see_nothing_wrong(self) -> None:
        for form in FORMS[:: 1 + len(FORMS) // 24]:
            with self.subTest(form=form.name):
                made = Made(form, rng_for(form), 2, integers)
                checked = made.run(options=("--check=mem,init,race,sync",))
                np.testing.assert_array_equal(checked, made.run())


if __name__ == "__main__":
    mtlc_testing.main()
