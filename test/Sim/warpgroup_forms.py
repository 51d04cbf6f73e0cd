"""Products of warpgroups (wgmma, PTX ISA 9.7.15) for tests: matrices laid out in shared memory by the canonical layouts of the
manual, their descriptors, fragments packed and unpacked, and kernels that execute one instruction.

Nothing here knows the simulator. A batch is many executions of one instruction, one block of 128 threads each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import matrix_forms
import mtlc_exec
import numpy as np
from matrix_forms import decode

LANES = 128
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}  # Bytes: the number of the mode.


@dataclass
class Layout:
    """How a matrix of `lines` (rows of A, columns of B) by `depth` (along K) lies in shared memory."""

    swizzle: int = 128  # Bytes; 0: none.
    major: bool = False  # By M or N, not by K.
    start: int = 0  # Of the first element, without the swizzle: may be inside a pattern.
    pattern: int = 0  # Where the pattern starts, when that is no multiple of its size.
    pad: int = 0  # Bytes, a multiple of 1024, added to each stride.

    def strides(self, lines: int, depth: int, bits: int) -> tuple[int, int]:
        """Leading and stride dimension byte offsets."""
        atom = max(self.swizzle, 16) * 8
        if not self.major:
            if self.swizzle:
                return 16, atom + self.pad
            return lines // 8 * (128 + self.pad), 128 + self.pad
        if self.swizzle:
            eights = depth // 8 * (atom + self.pad)
            return eights, atom + self.pad
        return lines // 8 * (128 + self.pad), 128 + self.pad

    def addresses(self, lines: int, depth: int, bits: int) -> np.ndarray:
        """[line, k]: where each element is, in bits."""
        leading, stride = self.strides(lines, depth, bits)
        line, k = np.indices((lines, depth))
        each = 128 // bits  # T of the manual.
        width = max(self.swizzle, 16)
        if not self.major:
            # ((8,m),(T,2k)) : ((W,SBO),(1,LBO or 16))
            along = leading if self.swizzle == 0 else 16
            offset = (line % 8 * width + line // 8 * stride + k // each * along) * 8 + k % each * bits
        else:
            s = width // 16
            # ((T,s,m),(8,k)) : ((1,16,LBO or SBO),(W,SBO or LBO))
            far, deep = (stride, leading) if self.swizzle == 0 else (leading, stride)
            offset = (line // each % s * 16 + line // each // s * far + k % 8 * width + k // 8 * deep) * 8 + line % each * bits
        address = offset + self.start * 8
        if self.swizzle:
            # Swizzle<B,4,3>: of bits 4 and on with bits 7 and on, counted from where the pattern starts.
            phase = ((address // 8 - self.pattern) >> 7) & (self.swizzle // 16 - 1)
            address ^= phase << 7
        return address

    def descriptor(self, lines: int, depth: int, bits: int) -> int:
        leading, stride = self.strides(lines, depth, bits)
        encode = lambda x: (x & 0x3FFFF) >> 4  # noqa: E731
        base = self.pattern >> 7 & 7 if self.swizzle else 0
        return encode(self.start) | encode(leading) << 16 | encode(stride) << 32 | base << 49 | SWIZZLES[self.swizzle] << 62

    def store(self, image: np.ndarray, codes: np.ndarray, bits: int) -> None:
        """Writes codes [trial, line, k] to the bytes of image [trial, byte]."""
        at = self.addresses(*codes.shape[1:], bits)
        assert len(np.unique(at)) == at.size and at.max() // 8 < image.shape[1]
        if bits == 1:
            trials = image.shape[0]
            spread = np.unpackbits(image, axis=1, bitorder="little").reshape(trials, -1)
            spread[:, at.ravel()] = codes.reshape(trials, -1)
            image[:] = np.packbits(spread, axis=1, bitorder="little")
            return
        for byte in range(bits // 8):
            image[:, at // 8 + byte] = codes >> np.uint64(8 * byte) & np.uint64(255)


def fragment_places(bits: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of element i of each of 128 threads, of A: [thread, i] (the figures of 9.7.15.5.1.1)."""
    per = max(1, 32 // bits)
    thread, i = np.indices((LANES, count))
    row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // per % 2)
    return row, thread % 4 * per + i % per + 4 * per * (i // (2 * per))


def accumulator_places(n: int) -> tuple[np.ndarray, np.ndarray]:
    thread, i = np.indices((LANES, n // 2))
    return 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (thread % 4) + i % 2


def pack(codes: np.ndarray, places: tuple[np.ndarray, np.ndarray], bits: int) -> np.ndarray:
    """Registers [trial, register, thread] of codes [trial, row, column]."""
    per = 32 // bits
    values = codes[:, places[0], places[1]].transpose(0, 2, 1)  # [trial, i, thread]
    out = np.zeros((codes.shape[0], values.shape[1] // per, LANES), np.uint64)
    for slot in range(per):
        out |= values[:, slot::per, :] << np.uint64(slot * bits)
    return out.astype(np.uint32)


def unpack(registers: np.ndarray, places: tuple[np.ndarray, np.ndarray], bits: int, shape: tuple[int, int]) -> np.ndarray:
    per = 32 // bits
    out = np.zeros((registers.shape[0], *shape), np.uint64)
    mask = np.uint64((1 << bits) - 1)
    for i in range(places[0].shape[1]):
        value = registers[:, i // per, :].astype(np.uint64) >> np.uint64(i % per * bits) & mask
        out[:, places[0][:, i], places[1][:, i]] = value
    return out


@dataclass
class Product:
    """One form of wgmma.mma_async with its operands' whereabouts."""

    a: str = "f16"
    b: str = "f16"
    d: str = "f32"
    n: int = 64
    sparse: bool = False
    saturate: str = ""  # ".satfinite", where the instruction has it
    registers: bool = False  # A is in registers.
    layout_a: Layout = field(default_factory=Layout)
    layout_b: Layout = field(default_factory=Layout)
    scale_d: str = "%p1"
    scale_a: int = 1
    scale_b: int = 1
    selector: int = 0

    @property
    def bits(self) -> int:
        return BITS[self.a]

    @property
    def k(self) -> int:
        return 256 // self.bits * (2 if self.sparse else 1)

    @property
    def depth_a(self) -> int:
        return self.k // 2 if self.sparse else self.k

    @property
    def name(self) -> str:
        sp = ".sp" if self.sparse else ""
        op = ".and.popc" if self.a == "b1" else ""
        return f"wgmma.mma_async{sp}.sync.aligned.m64n{self.n}k{self.k}{self.saturate}.{self.d}.{self.a}.{self.b}{op}"

    def operands(self, d: Sequence[str], a: str, b: str, metadata: str = "%e") -> str:
        out = ["{" + ", ".join(d) + "}", a, b]
        if self.sparse:
            out += [metadata, str(self.selector)]
        out.append(self.scale_d)
        if self.d != "s32":
            out += [str(self.scale_a), str(self.scale_b)]
        if self.bits == 16:
            out += ([] if self.registers else [str(int(self.layout_a.major))]) + [str(int(self.layout_b.major))]
        return ", ".join(out)

    @property
    def results(self) -> int:
        """Registers of D."""
        return self.n // (4 if self.d == "f16" else 2)

    @property
    def kind(self) -> tuple[str, str]:
        """Of a register of D: its type and prefix."""
        return {"f32": ("f32", "f"), "s32": ("s32", "i"), "f16": ("b32", "y")}[self.d]

    def module(self, body: str = "") -> str:
        """A kernel k(d, image, a, c, e, descriptor a, descriptor b, image bytes, adds); `body` stands for fence, instruction,
        commit and wait."""
        kind, prefix = self.kind
        d = [f"%{prefix}{i}" for i in range(self.results)]
        if not body:
            a = "{%a0, %a1, %a2, %a3}" if self.registers else "%da"
            body = f"wgmma.fence.sync.aligned;\n{self.name} {self.operands(d, a, '%db')};\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
        loads = "\n".join(f"ld.global.{kind} {r}, [%q+{i * LANES * 4}];" for i, r in enumerate(d))
        stores = "\n".join(f"st.global.{kind} [%q+{i * LANES * 4}], {r};" for i, r in enumerate(d))
        return f""".version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 pd, .param .u64 pi, .param .u64 pa, .param .u64 pc, .param .u64 pe, .param .u64 da, .param .u64 db,
  .param .u32 bytes, .param .u32 adds) {{
.reg .pred %p<4>; .reg .b32 %r<9>, %a<4>, %e, %y<64>, %v<4>; .reg .b64 %q, %o, %da, %db, %s; .reg .f32 %f<128>; .reg .s32 %i<128>;
mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u32 %r2, [bytes]; mov.u32 %r3, smem;
ld.param.u64 %q, [pi]; mul.wide.u32 %o, %r1, %r2; add.u64 %q, %q, %o;
shl.b32 %r4, %r0, 4;
copy: setp.ge.u32 %p0, %r4, %r2; @%p0 bra copied;
cvt.u64.u32 %o, %r4; add.u64 %o, %q, %o; ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%o];
add.u32 %r5, %r3, %r4; st.shared.v4.b32 [%r5], {{%v0, %v1, %v2, %v3}};
add.u32 %r4, %r4, 2048; bra copy;
copied: fence.proxy.async; bar.sync 0;
shl.b32 %r6, %r1, 7; add.u32 %r6, %r6, %r0;
ld.param.u64 %q, [pe]; mul.wide.u32 %o, %r6, 4; add.u64 %q, %q, %o; ld.global.b32 %e, [%q];
ld.param.u64 %q, [pa]; mad.lo.u32 %r7, %r1, {4 * LANES}, %r0; mul.wide.u32 %o, %r7, 4; add.u64 %q, %q, %o;
{" ".join(f"ld.global.b32 %a{i}, [%q+{i * LANES * 4}];" for i in range(4))}
ld.param.u64 %q, [pc]; mad.lo.u32 %r7, %r1, {self.results * LANES}, %r0; mul.wide.u32 %o, %r7, 4; add.u64 %q, %q, %o;
{loads}
shr.u32 %r3, %r3, 4; cvt.u64.u32 %s, %r3;
ld.param.u64 %da, [da]; add.u64 %da, %da, %s; ld.param.u64 %db, [db]; add.u64 %db, %db, %s;
ld.param.u32 %r8, [adds]; setp.ne.u32 %p1, %r8, 0;
{body}
ld.param.u64 %q, [pd]; add.u64 %q, %q, %o;
{stores}
ret;
}}
"""

    def places_a(self) -> tuple[np.ndarray, np.ndarray]:
        return fragment_places(self.bits, 4 * 32 // self.bits)

    def run(
        self,
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        metadata: np.ndarray | None = None,
        *,
        adds: bool = True,
        body: str = "",
        options: Sequence[str] = ("--check=none",),
    ) -> np.ndarray:
        """D as codes [trial, row, column]; A [trial, row, k], B [trial, k, column] and C are codes."""
        trials = a.shape[0]
        rng = np.random.default_rng(trials)
        image = self.image(a, b, rng)
        width = 16 if self.d == "f16" else 32
        places = accumulator_places(self.n)
        fragment = pack(a, self.places_a(), self.bits) if self.registers else np.zeros((trials, 4, LANES), np.uint32)
        words = metadata if metadata is not None else np.zeros((trials, LANES), np.uint32)
        out = mtlc_exec.Output(np.uint32, (trials, self.results, LANES))
        path = mtlc_exec.write_source("warpgroup.ptx", self.module(body))
        args = [out, image, fragment, pack(c, places, width), words.astype(np.uint32)]
        args += [np.uint64(self.layout_a.descriptor(64, self.depth_a, self.bits)), np.uint64(self.layout_b.descriptor(self.n, self.k, self.bits))]
        args += [np.uint32(image.shape[1]), np.uint32(adds)]
        result = mtlc_exec.launch(path, "k", args, grid=trials, block=LANES, shared=image.shape[1], options=list(options))
        if result.returncode != 0:
            raise AssertionError(f"{self.name}\n{result.stderr}")
        return unpack(result[out], places, width, (64, self.n))

    def image(self, a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Shared memory [trial, byte] with A and B where the layouts say, anything elsewhere."""
        last = [self.layout_b.addresses(self.n, self.k, self.bits).max()]
        if not self.registers:
            last.append(self.layout_a.addresses(64, self.depth_a, self.bits).max())
        size = (int(max(last)) // 8 + 16) // 16 * 16
        image = rng.integers(0, 256, (a.shape[0], size), dtype=np.uint8)
        self.layout_b.store(image, b.transpose(0, 2, 1), self.bits)
        if not self.registers:
            self.layout_a.store(image, a, self.bits)
        return image

    def values(self, a: np.ndarray, b: np.ndarray, logical: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """A with its logical columns and B, with their signs applied."""
        left, right = decode(self.a, a) * self.scale_a, decode(self.b, b) * self.scale_b
        if logical is not None:
            full = np.zeros((a.shape[0], 64, self.k), left.dtype)
            np.put_along_axis(full, logical, left, 2)
            left = full
        return left, right

    def metadata(self, rng: np.random.Generator, trials: int) -> tuple[np.ndarray, np.ndarray]:
        """Metadata registers [trial, thread] and the logical columns of A's elements: as of mma.sp, warp by warp."""
        form = next(f for f in matrix_forms.forms() if f.sparse and f.k == self.k and f.a.element == self.a)
        words, logical = form.metadata(rng, 4 * trials, self.selector)
        return words.reshape(trials, LANES), logical.reshape(trials, 64, -1)
