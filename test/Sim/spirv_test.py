"""SPIR-V on the simulator, from modules written by hand: group operations of every subgroup size against NumPy, faults and where
they are reported, memory of work-groups, what is refused.
"""

import shutil
import subprocess

import mtlc_exec
import mtlc_testing
import numpy as np

# Every module has these; kernels take buffers, and %gid is the work-item's number in the launch, %lid that in its work-group.
HEADER = """
OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int64
OpCapability Int8
OpCapability Int16
OpCapability Float64
OpCapability Groups
OpCapability SubgroupDispatch
OpCapability GroupNonUniform
OpCapability GroupNonUniformVote
OpCapability GroupNonUniformBallot
OpCapability GroupNonUniformArithmetic
OpCapability GroupNonUniformShuffle
OpCapability GroupNonUniformShuffleRelative
OpCapability GroupNonUniformClustered
%std = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k" %GlobalId %LocalId %LocalIndex
OpDecorate %GlobalId BuiltIn GlobalInvocationId
OpDecorate %GlobalId Constant
OpDecorate %LocalId BuiltIn LocalInvocationId
OpDecorate %LocalIndex BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%bool = OpTypeBool
%u8 = OpTypeInt 8 0
%u16 = OpTypeInt 16 0
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%v3u64 = OpTypeVector %u64 3
%v4u32 = OpTypeVector %u32 4
%v2u32 = OpTypeVector %u32 2
%in3 = OpTypePointer Input %v3u64
%in1 = OpTypePointer Input %u64
%pu32 = OpTypePointer CrossWorkgroup %u32
%pu64 = OpTypePointer CrossWorkgroup %u64
%pf32 = OpTypePointer CrossWorkgroup %f32
%wu32 = OpTypePointer Workgroup %u32
%GlobalId = OpVariable %in3 Input
%LocalId = OpVariable %in3 Input
%LocalIndex = OpVariable %in1 Input
%0 = OpConstant %u32 0
%1 = OpConstant %u32 1
%2 = OpConstant %u32 2
%3 = OpConstant %u32 3
%4 = OpConstant %u32 4
%7 = OpConstant %u32 7
%8 = OpConstant %u32 8
%64 = OpConstant %u32 64
%272 = OpConstant %u32 272
%784 = OpConstant %u32 784
"""


def kernel(params: str, body: str, globals_: str = "") -> str:
    """A module with a kernel of these parameters, "%name: %type, …"."""
    pairs = [p.split(":") for p in params.replace(" ", "").split(",") if p]
    types = " ".join(t for _, t in pairs)
    declared = "\n".join(f"{name} = OpFunctionParameter {t}" for name, t in pairs)
    return f"""{HEADER}
{globals_}
%fn = OpTypeFunction %void {types}
%k = OpFunction %void None %fn
{declared}
%entry = OpLabel
%gid3 = OpLoad %v3u64 %GlobalId
%gid = OpCompositeExtract %u64 %gid3 0
%lid = OpLoad %u64 %LocalIndex
{body}
OpReturn
OpFunctionEnd
"""


def element(pointer: str, type_: str, name: str, index: str = "%gid") -> str:
    return f"%at_{name} = OpInBoundsPtrAccessChain %p{type_} {pointer} {index}\n%{name} = OpLoad %{type_} %at_{name} Aligned 4\n"


def store(pointer: str, type_: str, value: str, index: str = "%gid") -> str:
    name = f"to_{value[1:]}"
    return f"%{name} = OpInBoundsPtrAccessChain %p{type_} {pointer} {index}\nOpStore %{name} {value} Aligned 4\n"


class Spirv(mtlc_exec.TestCase):
    def setUp(self):
        if not shutil.which("spirv-as"):
            self.skipTest("no spirv-as")

    def assemble(self, text: str, name: str = "k", env: str = "spv1.3") -> str:
        source, out = mtlc_testing.scratch(f"{name}.spvasm"), mtlc_testing.scratch(f"{name}.spv")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["spirv-as", "--target-env", env, source, "-o", out], capture_output=True,
                              text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def run_on(self, path: str, args, *, fails: bool = False, **how):
        how.setdefault("options", [])
        done = mtlc_exec.launch(path, "k", args, device="sim", **how)
        self.assertEqual(done.returncode, 1 if fails else 0, done.stderr)
        return done

    def subgroups(self, threads: int, size: int):
        for first in range(0, threads, size):
            yield slice(first, min(first + size, threads))

    # What each thread of a subgroup gets, from the values v of those that take part, their lanes and the subgroup's size.
    EXCHANGES = {
        "elect": ("OpGroupNonUniformElect %bool %3", "bool", lambda v, lanes, i: lanes[i] == lanes[0]),
        "all": ("OpGroupNonUniformAll %bool %3 %odd", "bool", lambda v, lanes, i: bool((v & 1).all())),
        "any": ("OpGroupNonUniformAny %bool %3 %odd", "bool", lambda v, lanes, i: bool((v & 1).any())),
        "allequal": ("OpGroupNonUniformAllEqual %bool %3 %low", "bool", lambda v, lanes, i: bool((v & 3 == v[0] & 3).all())),
        "first": ("OpGroupNonUniformBroadcastFirst %u32 %3 %v", "u32", lambda v, lanes, i: v[0]),
        "iadd": ("OpGroupNonUniformIAdd %u32 %3 Reduce %v", "u32", lambda v, lanes, i: v.sum(dtype=np.uint32)),
        "imul": ("OpGroupNonUniformIMul %u32 %3 InclusiveScan %v", "u32", lambda v, lanes, i: v[: i + 1].prod(dtype=np.uint32)),
        "exclusive": ("OpGroupNonUniformIAdd %u32 %3 ExclusiveScan %v", "u32", lambda v, lanes, i: v[:i].sum(dtype=np.uint32)),
        "umin": ("OpGroupNonUniformUMin %u32 %3 ExclusiveScan %v", "u32",
                 lambda v, lanes, i: v[:i].min(initial=0xFFFFFFFF)),
        "smax": ("OpGroupNonUniformSMax %u32 %3 ExclusiveScan %v", "u32",
                 lambda v, lanes, i: v[:i].view(np.int32).max(initial=-(2**31))),
        "and": ("OpGroupNonUniformBitwiseAnd %u32 %3 Reduce %v", "u32", lambda v, lanes, i: np.bitwise_and.reduce(v)),
        "or": ("OpGroupNonUniformBitwiseOr %u32 %3 InclusiveScan %v", "u32", lambda v, lanes, i: np.bitwise_or.reduce(v[: i + 1])),
        "xor": ("OpGroupNonUniformBitwiseXor %u32 %3 Reduce %v", "u32", lambda v, lanes, i: np.bitwise_xor.reduce(v)),
        "logicalxor": ("OpGroupNonUniformLogicalXor %bool %3 Reduce %odd", "bool", lambda v, lanes, i: bool((v & 1).sum() & 1)),
        "cluster": ("OpGroupNonUniformIAdd %u32 %3 ClusteredReduce %v %4", "u32",
                    lambda v, lanes, i: v[lanes // 4 == lanes[i] // 4].sum(dtype=np.uint32)),
    }  # fmt: skip

    def test_non_uniform_operations_where_some_threads_come(self):
        """Half of the time a thread takes part if its value says so, else all do."""
        rng = np.random.default_rng(1)
        for name, (operation, kind, want) in self.EXCHANGES.items():
            as_word = "%r = OpSelect %u32 %x %1 %0" if kind == "bool" else "%r = OpCopyObject %u32 %x"
            path = self.assemble(kernel("%in: %pu32, %mask: %pu32, %out: %pu32", f"""
{element("%in", "u32", "v")}{element("%mask", "u32", "m")}
%bit = OpBitwiseAnd %u32 %v %1
%odd = OpINotEqual %bool %bit %0
%low = OpBitwiseAnd %u32 %v %3
%come = OpINotEqual %bool %m %0
OpBranchConditional %come %yes %done
%yes = OpLabel
%x = {operation}
{as_word}
{store("%out", "u32", "%r")}
OpBranch %done
%done = OpLabel
"""))  # fmt: skip
            for size, some in ((8, True), (16, False), (32, True), (64, True), (64, False)):
                with self.subTest(name=name, size=size, some=some):
                    n = 150  # The last subgroup is partial.
                    v = rng.integers(0, 2**32, n, dtype=np.uint32)
                    if name in ("all", "allequal"):
                        v[rng.random(n) < 0.95] |= np.uint32(3)
                    m = (rng.random(n) < 0.5).astype(np.uint32) if some else np.ones(n, np.uint32)
                    out = mtlc_exec.InOut(np.full(n, 0xDEAD, np.uint32))
                    done = self.run_on(path, [v, m, out], block=n, options=[f"--subgroup-size={size}", f"--seed={size}"])
                    expected = np.full(n, 0xDEAD, np.uint32)
                    for part in self.subgroups(n, size):
                        lanes = np.flatnonzero(m[part])
                        for i, lane in enumerate(lanes):
                            expected[part.start + lane] = int(want(v[part][lanes], lanes, i)) & 0xFFFFFFFF
                    np.testing.assert_array_equal(done[out], expected)

    def test_shuffles(self):
        rng = np.random.default_rng(2)
        for name, source in {
            "OpGroupNonUniformShuffle": lambda i, by: by,
            "OpGroupNonUniformShuffleXor": lambda i, by: i ^ by,
            "OpGroupNonUniformShuffleUp": lambda i, by: i - by,
            "OpGroupNonUniformShuffleDown": lambda i, by: i + by,
        }.items():
            path = self.assemble(kernel("%in: %pu64, %by: %pu32, %out: %pu64", f"""
{element("%in", "u64", "v").replace("Aligned 4", "Aligned 8")}{element("%by", "u32", "b")}
%r = {name} %u64 %3 %v %b
{store("%out", "u64", "%r").replace("Aligned 4", "Aligned 8")}
"""))  # fmt: skip
            for size in (8, 16, 32, 64):
                n = 2 * size
                lane = np.arange(n) % size
                # A lane that exists, as SPIR-V wants it.
                by = np.zeros(n, np.uint32)
                for i in range(n):
                    legal = [d for d in range(size) if 0 <= source(int(lane[i]), d) < size]
                    by[i] = rng.choice(legal)
                v = rng.integers(0, 2**64, n, dtype=np.uint64)
                out = mtlc_exec.Output(np.uint64, n)
                with self.subTest(name=name, size=size):
                    done = self.run_on(path, [v, by, out], block=n, options=[f"--subgroup-size={size}"])
                    want = [v[i // size * size + source(int(lane[i]), int(by[i]))] for i in range(n)]
                    np.testing.assert_array_equal(done[out], np.array(want, np.uint64))
        # A lane that is not there.
        by = np.full(16, 9, np.uint32)
        done = self.run_on(path, [np.arange(16, dtype=np.uint64), by, mtlc_exec.Output(np.uint64, 16)], block=16, fails=True,
                           options=["--subgroup-size=16"])  # fmt: skip
        self.assertIn("where no thread takes part", done.stderr)  # DIAG: SimGroupSource

    def test_ballots(self):
        rng = np.random.default_rng(3)
        path = self.assemble(kernel("%in: %pu32, %index: %pu32, %out: %pu32", f"""
{element("%in", "u32", "v")}{element("%index", "u32", "i")}
%set = OpINotEqual %bool %v %0
%b = OpGroupNonUniformBallot %v4u32 %3 %set
%w0 = OpCompositeExtract %u32 %b 0
%w1 = OpCompositeExtract %u32 %b 1
%inverse = OpGroupNonUniformInverseBallot %bool %3 %b
%extract = OpGroupNonUniformBallotBitExtract %bool %3 %b %i
%count = OpGroupNonUniformBallotBitCount %u32 %3 Reduce %b
%upto = OpGroupNonUniformBallotBitCount %u32 %3 InclusiveScan %b
%below = OpGroupNonUniformBallotBitCount %u32 %3 ExclusiveScan %b
%lsb = OpGroupNonUniformBallotFindLSB %u32 %3 %b
%msb = OpGroupNonUniformBallotFindMSB %u32 %3 %b
%iw = OpSelect %u32 %inverse %1 %0
%ew = OpSelect %u32 %extract %1 %0
""" + "".join(
            f"%ix{k} = OpIMul %u64 %gid %c9\n%iy{k} = OpIAdd %u64 %ix{k} %c{k}\n" + store("%out", "u32", name, f"%iy{k}")
            for k, name in enumerate(["%w0", "%w1", "%iw", "%ew", "%count", "%upto", "%below", "%lsb", "%msb"])),
            "\n".join(f"%c{k} = OpConstant %u64 {k}" for k in range(10))))  # fmt: skip
        for size in (8, 16, 32, 64):
            n = 2 * size
            v = rng.integers(0, 2, n, dtype=np.uint32)
            v[0] = v[size] = 1  # Somebody votes yes.
            index = rng.integers(0, size, n, dtype=np.uint32)
            out = mtlc_exec.Output(np.uint32, 9 * n)
            with self.subTest(size=size):
                done = self.run_on(path, [v, index, out], block=n, options=[f"--subgroup-size={size}"])
                want = np.zeros((n, 9), np.uint32)
                for part in self.subgroups(n, size):
                    votes = v[part]
                    ones = np.flatnonzero(votes)
                    mask = sum(1 << int(i) for i in ones)
                    for i in range(size):
                        want[part.start + i] = [mask & 0xFFFFFFFF, mask >> 32, votes[i], votes[index[part.start + i]], len(ones),
                                                votes[: i + 1].sum(), votes[:i].sum(), ones[0], ones[-1]]  # fmt: skip
                np.testing.assert_array_equal(done[out].reshape(n, 9), want)

    def test_operations_of_the_work_group(self):
        rng = np.random.default_rng(4)
        n = 10 * 7
        v = rng.integers(0, 2**32, n, dtype=np.uint32)
        out = mtlc_exec.Output(np.uint32, n)
        text = kernel("%in: %pu32, %out: %pu32", f"""
{element("%in", "u32", "v", "%lid")}
%sum = OpGroupIAdd %u32 %2 InclusiveScan %v
%max = OpGroupUMax %u32 %2 Reduce %v
%from = OpGroupBroadcast %u32 %2 %v %where
%a = OpBitwiseXor %u32 %sum %max
%r = OpBitwiseXor %u32 %a %from
{store("%out", "u32", "%r", "%lid")}
""", "%c5 = OpConstant %u64 5\n%c2 = OpConstant %u64 2\n%c0 = OpConstant %u64 0\n%where = OpConstantComposite %v3u64 %c5 %c2 %c0")  # fmt: skip
        path = self.assemble(text)
        done = self.run_on(path, [v, out], block=(10, 7), options=["--subgroup-size=16"])
        want = np.cumsum(v, dtype=np.uint32) ^ v.max() ^ v[2 * 10 + 5]
        np.testing.assert_array_equal(done[out], want)

    def test_uniform_operations_want_all_threads(self):
        path = self.assemble(kernel("%in: %pu32, %out: %pu32", f"""
{element("%in", "u32", "v")}
%come = OpINotEqual %bool %v %0
OpBranchConditional %come %yes %done
%yes = OpLabel
%r = OpGroupIAdd %u32 %3 Reduce %v
{store("%out", "u32", "%r")}
OpBranch %done
%done = OpLabel
OpControlBarrier %2 %2 %272
"""))  # fmt: skip
        v = np.ones(32, np.uint32)
        self.run_on(path, [v, mtlc_exec.Output(np.uint32, 32)], block=32)
        v[5] = 0
        done = self.run_on(path, [v, mtlc_exec.InOut(np.zeros(32, np.uint32))], block=32, fails=True)
        self.assertIn("1 live threads of the subgroup do not come", done.stderr)  # DIAG: SimGroupMissing
        self.assertRegex(done.stderr, r"k\.spvasm:\d+:1: error")

    def test_subgroup_barriers_order_memory(self):
        """Without the barrier a race, with it none, whatever the size."""
        body = f"""
{element("%in", "u32", "v")}
%slot = OpInBoundsPtrAccessChain %wu32 %arena %lid
OpStore %slot %v Aligned 4
BARRIER
%other = OpBitwiseXor %u64 %lid %c7
%from = OpInBoundsPtrAccessChain %wu32 %arena %other
%r = OpLoad %u32 %from Aligned 4
{store("%out", "u32", "%r")}
"""
        v = np.arange(128, dtype=np.uint32) * 3
        for barrier in ("OpControlBarrier %3 %3 %272", ""):
            path = self.assemble(kernel("%in: %pu32, %out: %pu32, %arena: %wu32", body.replace("BARRIER", barrier), "%c7 = OpConstant %u64 7"))
            for size in (8, 16, 32, 64):
                out = mtlc_exec.Output(np.uint32, 128)
                with self.subTest(size=size, barrier=bool(barrier)):
                    done = self.run_on(path, [v, out], block=128, shared=512, fails=not barrier,
                                       options=[f"--subgroup-size={size}", "--seed=3"])  # fmt: skip
                    if barrier:
                        np.testing.assert_array_equal(done[out], v[np.arange(128) ^ 7])
                    else:
                        self.assertIn("[race]", done.stderr)

    def test_memory_of_work_groups_by_argument(self):
        path = self.assemble(kernel("%first: %wu32, %in: %pu32, %second: %wu32, %out: %pu32", f"""
{element("%in", "u32", "v")}
%a = OpInBoundsPtrAccessChain %wu32 %first %lid
%b = OpInBoundsPtrAccessChain %wu32 %second %lid
OpStore %a %v Aligned 4
%n = OpNot %u32 %v
OpStore %b %n Aligned 4
OpControlBarrier %2 %2 %272
%rev = OpISub %u64 %c31 %lid
%c = OpInBoundsPtrAccessChain %wu32 %first %rev
%d = OpInBoundsPtrAccessChain %wu32 %second %rev
%x = OpLoad %u32 %c Aligned 4
%y = OpLoad %u32 %d Aligned 4
%r = OpISub %u32 %x %y
{store("%out", "u32", "%r")}
""", "%c31 = OpConstant %u64 31"))  # fmt: skip
        v = np.random.default_rng(5).integers(0, 2**32, 32, dtype=np.uint32)
        out = mtlc_exec.Output(np.uint32, 32)
        room = mtlc_exec.Raw("workgroup:128")
        done = self.run_on(path, [room, v, room, out], block=32)
        np.testing.assert_array_equal(done[out], v[::-1] - ~v[::-1])
        done = self.run_on(path, [mtlc_exec.Raw("workgroup:128"), v, mtlc_exec.Raw("workgroup:64"), out], block=32, fails=True)
        self.assertIn("out of bounds", done.stderr)
        done = mtlc_exec.launch(path, "k", [v, v, room, out], block=32)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_faults_name_the_instruction(self):
        body = element("%in", "u32", "v") + store("%out", "u32", "%v")
        path = self.assemble(kernel("%in: %pu32, %out: %pu32", body))
        v = np.arange(40, dtype=np.uint32)
        done = self.run_on(path, [v, mtlc_exec.Output(np.uint32, 33)], block=40, fails=True)
        self.assertRegex(done.stderr, r"k\.spvasm:\d+:1: error: \[mem\] store of 4 bytes .* past the end of 'the buffer of argument 1'")
        self.assertIn("thread (33,0,0)", done.stderr)
        self.assertIn("OpStore", done.stderr)  # The line is shown.
        done = self.run_on(path, [mtlc_exec.Raw("buf:u32:40:poison"), mtlc_exec.Raw("buf:u32:40:poison", out=True)], block=40, fails=True)
        self.assertIn("[init]", done.stderr)
        # Out of the Mettle source that it came from.
        source = mtlc_exec.write_source("oob.mettle", "kernel k(x: float32*, n: int32) {\n  x[thread.x + n] = 1.0f;\n}\n")
        done = mtlc_exec.launch(source, "k", [np.zeros(4, np.float32), np.int32(1)], block=4, device="spirv")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"oob\.mettle:2:\d+: error: \[mem\]")
        self.assertIn("in SPIR-V here", done.stderr)

    def test_what_is_refused(self):
        bad = mtlc_testing.scratch("bad.spv")
        with open(bad, "wb") as file:
            file.write(b"\x03\x02\x23\x07" * 7 + b"x")
        done = mtlc_exec.launch(bad, "k", [], device="sim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no valid SPIR-V", done.stderr)  # DIAG: SpirvInvalid
        shader = self.assemble("OpCapability Shader\nOpCapability Linkage\nOpMemoryModel Logical GLSL450\n", "shader")
        done = mtlc_exec.launch(shader, "k", [], device="sim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the simulator does not run this addressing model", done.stderr)  # DIAG: SpirvUnsupported
        path = self.assemble(kernel("%out: %pu32", store("%out", "u32", "%0")))
        for size in ("12", "128", "1"):
            done = mtlc_exec.launch(path, "k", [mtlc_exec.Output(np.uint32, 8)], block=8, options=[f"--subgroup-size={size}"])
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"8, 16, 32 or 64 threads, not {size}", done.stderr)  # DIAG: SimSubgroupSize


if __name__ == "__main__":
    mtlc_testing.main()
