// Instructions on matrices: what is refused, what the checkers find in them, and that they find
// nothing where nothing is wrong. Their results are tested in test/Sim/matrix_test.py.

#include <gtest/gtest.h>

#include <algorithm>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

std::string kernel(std::string_view body, std::string_view head = ".version 8.8\n.target sm_120a") {
  return std::string(head) + "\n.address_size 64\n" + R"(
.visible .entry k(.param .u64 out, .param .u64 in) {
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<40>;
  .reg .b32 %u<8>;
  .reg .f32 %f<20>;
  .reg .f64 %d<8>;
  .reg .b64 %rd<8>;
  .shared .align 32 .b8 sm[2048];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [in];
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd3, %rd0, %rd2;
  shl.b32 %r1, %r0, 4;
  mov.u32 %r3, sm;
  add.u32 %r2, %r3, %r1;
)" + std::string(body) +
         "\n  ret;\n}\n";
}

constexpr std::string_view kZeroes = R"(
  mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0; mov.b32 %r14, 0; mov.b32 %r15, 0;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
)";
constexpr std::string_view kMma =
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, "
    "%r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};";

std::string text(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view p : parts) out += p;
  return out;
}

struct Outcome {
  std::vector<Report> reports;
  LaunchStatus status = LaunchStatus::ok;
  std::string text;
  std::vector<uint32_t> out;
};

struct Options {
  uint32_t threads = 32;
  Checks checks = Checks::all;
  bool poison = false;  // The input.
  uint64_t seed = 0;
};

Outcome run(const std::string& ptx, Options o = {}) {
  Harness h(ptx);
  EXPECT_TRUE(h.ok()) << h.errors();
  if (!h.ok()) return {};
  auto out = h.buffer<uint32_t>(std::vector<uint32_t>(512, 0), "out");
  std::vector<uint32_t> input(512);
  for (uint32_t i = 0; i < 512; ++i) input[i] = i * 0x01000193u;
  auto in = o.poison ? h.poison<uint32_t>(512, "in") : h.buffer<uint32_t>(input, "in");
  h.config.checks = o.checks;
  h.config.seed = o.seed;
  h.config.weakMemory = o.seed != 0;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {1, 1, 1}, {o.threads, 1, 1}, out, in);
  return {r.reports, r.status, h.errors(), out.values()};
}

void expectOne(const std::string& ptx, DiagId id, std::string_view mark, Options o = {}) {
  Outcome r = run(ptx, o);
  ASSERT_EQ(r.reports.size(), 1u) << ptx << r.text;
  EXPECT_EQ(r.reports[0].id, id) << r.text;
  size_t at = ptx.find(mark);
  ASSERT_NE(at, std::string::npos);
  auto line =
      1 + static_cast<uint32_t>(std::count(ptx.begin(), ptx.begin() + static_cast<long>(at), '\n'));
  EXPECT_EQ(r.reports[0].at.ptx.line(), line) << r.text;
}

void expectNone(const std::string& ptx, Options o = {}) {
  Outcome r = run(ptx, o);
  EXPECT_TRUE(r.reports.empty()) << r.text;
  EXPECT_EQ(r.status, LaunchStatus::ok) << r.text;
}

TEST(MatrixSync, FullWarpIsFine) {
  expectNone(kernel(text({kZeroes, kMma})));
  expectNone(kernel(text({kZeroes, kMma})), {.threads = 96});
}

// Counts of registers say nothing here; they are checked and let be.
TEST(MatrixSync, RegisterCounts) {
  expectNone(kernel("setmaxnreg.inc.sync.aligned.u32 232;\nsetmaxnreg.dec.sync.aligned.u32 24;"));
}

TEST(MatrixSync, HalfOfTheWarp) {
  expectOne(
      kernel(text({kZeroes, "setp.lt.u32 %p0, %r0, 16;\n@!%p0 bra skip;\n", kMma, "\nskip:"})),
      DiagId::SimMatrixLanes, "mma.sync");
}

TEST(MatrixSync, GuardThatDiverges) {
  expectOne(kernel(text({kZeroes, "setp.ne.u32 %p0, %r0, 5;\n@%p0 ", kMma})),
            DiagId::SimMatrixLanes, "@%p0 mma.sync");
  expectNone(kernel(text({kZeroes, "setp.lt.u32 %p0, %r0, 99;\n@%p0 ", kMma})));
}

TEST(MatrixSync, BothSidesOfABranch) {
  std::string ptx = kernel(text({kZeroes, "setp.lt.u32 %p0, %r0, 16;\n@!%p0 bra other;\n", kMma,
                                 "\nbra end;\nother:\n", kMma, "\nend:"}));
  Outcome r = run(ptx);
  ASSERT_EQ(r.reports.size(), 2u) << r.text;
  for (const Report& report : r.reports) EXPECT_EQ(report.id, DiagId::SimMatrixLanes);
}

TEST(MatrixSync, PartialWarp) {
  expectOne(kernel(text({kZeroes, kMma})), DiagId::SimMatrixLanes, "mma.sync", {.threads = 40});
}

TEST(MatrixSync, LanesThatExited) {
  expectOne(kernel(text({kZeroes, "setp.eq.u32 %p0, %r0, 31;\n@%p0 exit;\n", kMma})),
            DiagId::SimMatrixLanes, "mma.sync");
}

TEST(MatrixSync, DivergenceThatEndsBeforeIsFine) {
  expectNone(kernel(text({kZeroes, "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra other;\n",
                          "add.u32 %r10, %r10, 1;\nother:\n", kMma})));
}

TEST(MatrixSync, LoadsAndStoresNeedTheWarpToo) {
  std::string skip = "setp.lt.u32 %p0, %r0, 16;\n@!%p0 bra skip;\n";
  for (const char* in : {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];",
                         "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r0};",
                         "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r0;",
                         "wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1];",
                         "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd0], {%r0, %r1};"}) {
    std::string ptx = kernel(skip + in + "\nskip:");
    Options o;
    o.checks = Checks::sync;
    expectOne(ptx, DiagId::SimMatrixLanes, in, o);
  }
}

constexpr std::string_view kFill =
    "st.shared.b32 [%r2], %r0; st.shared.b32 [%r2+4], %r1; st.shared.b32 [%r2+8], %r0; "
    "st.shared.b32 [%r2+12], %r2;\nbar.sync 0;\n";

TEST(MatrixMemory, LdmatrixIsAnAccess) {
  expectNone(kernel(text({kFill,
                          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, "
                          "[%r2];\nst.global.b32 [%rd3], %r13;"})));
  // Rows beyond the variable, misaligned rows, unused addresses.
  expectOne(kernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r2+1552];"),
            DiagId::SimOutOfBounds, "ldmatrix", {.checks = Checks::mem});
  expectOne(kernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r2+8];"),
            DiagId::SimMisaligned, "ldmatrix", {.checks = Checks::mem});
  expectNone(kernel("mov.u32 %r4, 99999;\nsetp.lt.u32 %p0, %r0, 8;\nselp.b32 %r2, %r2, %r4, %p0;\n"
                    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];"),
             {.checks = Checks::mem});
  // Generic addresses.
  expectNone(kernel(text({kFill,
                          "cvt.u64.u32 %rd4, %r2;\ncvta.shared.u64 %rd5, %rd4;\n"
                          "ldmatrix.sync.aligned.m8n8.x1.b16 {%r10}, [%rd5];"})));
}

TEST(MatrixMemory, WmmaIsAnAccess) {
  expectOne(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1+2048];"),
            DiagId::SimOutOfBounds, "wmma.load", {.checks = Checks::mem});
  expectOne(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1+1792], 32;"),
            DiagId::SimOutOfBounds, "wmma.load", {.checks = Checks::mem});
  expectOne(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1+4];"),
            DiagId::SimMisaligned, "wmma.load", {.checks = Checks::mem});
  expectOne(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1], 20;"),
            DiagId::SimMisaligned, "wmma.load", {.checks = Checks::mem});
  expectOne(kernel("wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd0+2048], {%r0, %r1};"),
            DiagId::SimOutOfBounds, "wmma.store", {.checks = Checks::mem});
  expectNone(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1+1792];"));
}

// Without the mem check, a fault ends the launch.
TEST(MatrixMemory, FaultEndsTheLaunch) {
  Outcome r = run(kernel("wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1+4096];\n"
                         "st.global.b32 [%rd3], 7;"),
                  {.checks = Checks::none});
  EXPECT_NE(r.status, LaunchStatus::ok);
  EXPECT_EQ(r.out[0], 0u);
}

TEST(MatrixRace, StoresOfTwoWarps) {
  std::string store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4], {%r10,%r11,%r12,%r13};\n";
  std::string address = "and.b32 %r4, %r0, 31;\nshl.b32 %r4, %r4, 4;\nadd.u32 %r4, %r4, %r3;\n";
  std::string ptx = kernel(std::string(kZeroes) + address + store);
  Outcome r = run(ptx, {.threads = 64, .checks = Checks::race});
  ASSERT_FALSE(r.reports.empty());
  EXPECT_EQ(r.reports[0].id, DiagId::SimRace);
  expectNone(kernel(std::string(kZeroes) + address + store + "bar.sync 0;\n" + store.substr(0, 0) +
                    "ld.shared.b32 %r5, [%r4];"),
             {.threads = 32, .checks = Checks::race});
}

TEST(MatrixInit, UndefinedElementsDecideNothingByThemselves) {
  // A row of A was never written; only what depends on it is undefined, and only the host's reading
  // it is a fault.
  std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10, %r11}, [%rd1];\n";
  expectNone(kernel(load), {.poison = true});
  expectOne(kernel(load + "st.global.b32 [%rd3], %r10;"), DiagId::SimUninitReadBack, "st.global",
            {.poison = true});
  expectOne(kernel("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];\n"
                   "st.global.b32 [%rd3], %r10;"),
            DiagId::SimUninitReadBack, "st.global");
  expectOne(kernel("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];\n"
                   "movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;\n"
                   "setp.eq.u32 %p0, %r11, 0;\n@%p0 bra skip;\nskip:"),
            DiagId::SimUninitialised, "@%p0 bra");
  expectOne(kernel("wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd0], {%u0, %u1};"),
            DiagId::SimUninitReadBack, "wmma.store");
  // The address: of lane 0 alone, and right by chance.
  expectOne(kernel("setp.ne.u32 %p0, %r0, 0;\n@%p0 mov.u32 %u0, %r2;\n"
                   "and.b32 %u0, %u0, 1008;\nadd.u32 %u0, %u0, %r3;\n"
                   "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%u0];"),
            DiagId::SimUninitialised, "ldmatrix", {.checks = Checks::init});
}

// D(i, j) depends on row i of A and column j of B.
TEST(MatrixInit, ProductsSpreadByRowsAndColumns) {
  // Lane 4 g + t has rows g and g + 8 of A: the lanes of g = 3 have no value in %u0.
  std::string ptx =
      kernel(text({kZeroes,
                   "shr.u32 %r4, %r0, 2;\nsetp.eq.u32 %p0, %r4, 3;\n"
                   "@!%p0 mov.b32 %u0, 0;\n",
                   "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                   "{%u0, %r11}, {%r12}, {%f0,%f1,%f2,%f3};\n"}));
  auto with = [&](std::string_view more) {
    std::string out = ptx;
    out.insert(out.rfind("  ret;"), std::string(more) + "\n");
    return out;
  };
  expectNone(ptx);
  // Rows 8 to 15 come from %r11; of rows 0 to 7 only row 3 is undefined.
  expectNone(with("st.global.f32 [%rd3], %f2;\nst.global.f32 [%rd3+256], %f3;"));
  expectNone(with("@!%p0 st.global.f32 [%rd3], %f0;\n@!%p0 st.global.f32 [%rd3+256], %f1;"));
  expectOne(with("@%p0 st.global.f32 [%rd3], %f1;"), DiagId::SimUninitReadBack, "@%p0 st.global");
}

TEST(MatrixWeak, StoresAndLoadsWithWeakMemory) {
  std::string ptx =
      kernel(text({kFill,
                   "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, "
                   "[%r2];\nbar.sync 0;\n"
                   "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r2], {%r10,%r11,%r12,%r13};\n"
                   "bar.sync 0;\nld.shared.b32 %r20, [%r2+4];\nst.global.b32 [%rd3], %r20;\n"
                   "wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd0+512], {%r10, %r11};\n"}));
  Outcome plain = run(ptx);
  EXPECT_TRUE(plain.reports.empty()) << plain.text;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Outcome r = run(ptx, {.seed = seed});
    EXPECT_TRUE(r.reports.empty()) << r.text;
    EXPECT_EQ(r.out, plain.out) << seed;
  }
}

// Where the bytes of ldmatrix and stmatrix go, stated as NVIDIA's CuTe states it: as positions in
// the rows that the lanes' addresses give, laid end to end in some order.
//
// The kernel fills row i of the shared array, 16 bytes, with bytes 16 * i and up (the low byte).
std::vector<uint32_t> loadedWith(const std::string& opcode, unsigned registers) {
  std::string list, stores;
  for (unsigned r = 0; r < registers; ++r) {
    list += (r == 0 ? "%r1" : ", %r1") + std::to_string(r);
    stores +=
        "st.global.b32 [%rd3+" + std::to_string(128 * r) + "], %r1" + std::to_string(r) + ";\n";
  }
  std::string fill;
  for (unsigned w = 0; w < 4; ++w) {
    fill += "shl.b32 %r5, %r0, 4;\nadd.u32 %r5, %r5, " + std::to_string(4 * w) +
            ";\nmul.lo.u32 %r5, %r5, 0x01010101;\nadd.u32 %r5, %r5, 0x03020100;\n"
            "st.shared.b32 [%r2+" +
            std::to_string(4 * w) + "], %r5;\n";
  }
  // Sums of bytes must not carry: rows 0 to 15 only, others repeat them.
  std::string ptx =
      kernel("and.b32 %r0, %r0, 15;\n" + fill + "mov.u32 %r0, %tid.x;\nbar.sync 0;\n" + opcode +
             " {" + list + "}, [%r2];\n" + stores);
  Outcome r = run(ptx);
  EXPECT_TRUE(r.reports.empty()) << r.text;
  return r.out;
}
uint8_t byteOf(uint32_t word, unsigned b) { return static_cast<uint8_t>(word >> (8 * b)); }

TEST(MatrixRows, TransposedBytes) {
  std::vector<uint32_t> got = loadedWith("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", 2);
  if (got.empty()) return;
  // Logical row of address i, then (t, g, low bit, high bit, register) to logical row and column.
  auto address = [](unsigned logical) {
    for (unsigned i = 0; i < 16; ++i) {
      if ((i & 1) + 8 * (i >> 1 & 1) + 2 * (i >> 2) == logical) return i;
    }
    return 0u;
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned r = 0; r < 2; ++r) {
      for (unsigned b = 0; b < 4; ++b) {
        unsigned bit = 256 * (lane % 4) + 8 * (lane / 4) + 128 * (b & 1) + 64 * (b >> 1) + 1024 * r;
        unsigned row = address(bit / 128), column = bit % 128 / 8;
        EXPECT_EQ(byteOf(got[32 * r + lane], b), 16 * row + column) << lane << ' ' << r << ' ' << b;
      }
    }
  }
}

TEST(MatrixRows, PackedElements) {
  for (unsigned bits : {4u, 6u}) {
    std::string format = bits == 4 ? "b4x16_p64" : "b6x16_p32";
    std::vector<uint32_t> got =
        loadedWith("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16." + format, 2);
    if (got.empty()) return;
    for (unsigned i = 0; i < 64; ++i) {
      unsigned lane = i % 32, row = 8 * (i / 32) + lane / 4;
      for (unsigned b = 0; b < 4; ++b) {
        unsigned element = 4 * (lane % 4) + b, value = 0;
        for (unsigned k = 0; k < bits; ++k) {
          unsigned at = element * bits + k;
          value |= ((16 * row + at / 8) >> (at % 8) & 1) << k;
        }
        EXPECT_EQ(byteOf(got[i], b), value) << format << ' ' << i << ' ' << b;
      }
    }
  }
}

// What stmatrix stores, ldmatrix of the same shape loads; bytes go where CuTe's layout says.
TEST(MatrixRows, StoresOfBytes) {
  std::string ptx = kernel(R"(
    mul.lo.u32 %r10, %r0, 4;
    mul.lo.u32 %r10, %r10, 0x01010101;
    add.u32 %r10, %r10, 0x03020100;
    stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r10};
    bar.sync 0;
    shl.b32 %r4, %r0, 2;
    add.u32 %r4, %r3, %r4;
    ld.shared.b32 %r5, [%r4];
    st.global.b32 [%rd3], %r5;
)");
  Outcome r = run(ptx);
  ASSERT_TRUE(r.reports.empty()) << r.text;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned b = 0; b < 4; ++b) {
      unsigned bit = 256 * (lane % 4) + 8 * (lane / 4) + 128 * (b & 1) + 64 * (b >> 1);
      EXPECT_EQ(byteOf(r.out[bit / 32], bit % 32 / 8), 4 * lane + b) << lane << ' ' << b;
    }
  }
}

// Refusals: the place of the backquote.
struct Refusal {
  DiagId id;
  std::string body;
  std::string_view head = ".version 8.8\n.target sm_120a";
};

TEST(MatrixRefusals, AreLocated) {
  const std::string d4 = "{%f0,%f1,%f2,%f3}", a4 = "{%r10,%r11,%r12,%r13}", b2 = "{%r14,%r15}";
  const std::string f16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  const std::string sp = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ";
  const std::string mx =
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 " + d4 +
      "," + a4 + "," + b2 + "," + d4 + ",%r1,";
  const std::string mx4 =
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 " + d4 +
      "," + a4 + "," + b2 + "," + d4 + ",%r1,";
  const std::vector<Refusal> cases = {
      {DiagId::PtxMatrixVector, f16 + d4 + ",`{%r10,%r11},{%r14,%r15}," + d4 + ";"},
      {DiagId::PtxMatrixVector, f16 + "`%f0," + a4 + "," + b2 + "," + d4 + ";"},
      {DiagId::PtxMatrixVector,
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + d4 + ",{%r10,%r11},`%r14," + d4 + ";"},
      {DiagId::PtxOperandType, f16 + d4 + ",{`%f4,%r11,%r12,%r13}," + b2 + "," + d4 + ";"},
      {DiagId::PtxOperandType, f16 + "{`%d0,%f1,%f2,%f3}," + a4 + "," + b2 + "," + d4 + ";"},
      {DiagId::PtxOperandKind, f16 + d4 + ",{`0,%r11,%r12,%r13}," + b2 + "," + d4 + ";"},
      {DiagId::PtxOperandCount, "`" + f16 + d4 + "," + a4 + "," + b2 + ";"},
      {DiagId::PtxUndefined, f16 + d4 + ",{`%zz,%r11,%r12,%r13}," + b2 + "," + d4 + ";"},
      {DiagId::PtxUnknownForm, "`mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 " + d4 + "," +
                                   a4 + "," + b2 + "," + d4 + ";"},
      {DiagId::PtxUnknownForm, "`mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r1,%r2}," +
                                   a4 + "," + b2 + "," + d4 + ";"},
      {DiagId::PtxUnknownForm,
       "`mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 {%r1,%r2,%r3,%r4}," + a4 + "," + b2 +
           ",{%r1,%r2,%r3,%r4};"},
      {DiagId::PtxMatrixSelector, sp + d4 + ",{%r10,%r11}," + b2 + "," + d4 + ",%r1,`4;"},
      {DiagId::PtxMatrixSelector, sp + d4 + ",{%r10,%r11}," + b2 + "," + d4 + ",%r1,`%r2;"},
      {DiagId::PtxMatrixSelector, mx + "{`4,0},%r2,{0,0};"},
      {DiagId::PtxMatrixSelector, mx + "{3,`2},%r2,{0,0};"},
      {DiagId::PtxMatrixSelector, mx + "{3,1},%r2,{0,`4};"},
      {DiagId::PtxMatrixSelector, mx4 + "{`1,0},%r2,{0,0};"},
      {DiagId::PtxMatrixVector, mx + "`0,%r2,{0,0};"},
      {DiagId::PtxOperandType, mx + "{`%r4,0},%r2,{0,0};"},
      {DiagId::PtxNeedsTarget, "`" + mx + "{0,0},%r2,{0,0};", ".version 8.8\n.target sm_120"},
      {DiagId::PtxNeedsTarget, "`" + mx + "{0,0},%r2,{0,0};", ".version 8.8\n.target sm_100a"},
      {DiagId::PtxNeedsVersion, "`" + mx + "{0,0},%r2,{0,0};", ".version 8.6\n.target sm_120a"},
      {DiagId::PtxNeedsVersion, "`" + sp + d4 + ",{%r10,%r11}," + b2 + "," + d4 + ",%r1,0;",
       ".version 8.0\n.target sm_90"},
      {DiagId::PtxNeedsTarget, "`" + f16 + d4 + "," + a4 + "," + b2 + "," + d4 + ";",
       ".version 8.0\n.target sm_75"},
      {DiagId::PtxMatrixSelector, "setmaxnreg.inc.sync.aligned.u32 `20;"},
      {DiagId::PtxMatrixSelector, "setmaxnreg.dec.sync.aligned.u32 `100;"},
      {DiagId::PtxNeedsTarget, "`setmaxnreg.dec.sync.aligned.u32 96;",
       ".version 8.8\n.target sm_90"},
      {DiagId::PtxMatrixVector, "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 `{%r10}, [%r2];"},
      {DiagId::PtxUnknownForm,
       "`wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {%f0}, {%r1}, {%r2}, {%f1};"},
      {DiagId::PtxNeedsTarget, "`ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [%r2];",
       ".version 8.8\n.target sm_100"},
      {DiagId::PtxNeedsTarget,
       "`mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1."
       "e2m1"
       ".f32.ue8m0 " +
           d4 + "," + a4 + "," + a4 + "," + d4 + ",%r1,0,%r1,{0,0},%r2,{0,0};",
       ".version 8.8\n.target sm_120f"},
      {DiagId::PtxMatrixVector, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 `{%r10}, [%r2];"},
      {DiagId::PtxUnknownForm, "`ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r10}, [%r2];"},
      {DiagId::PtxUnknownForm, "`ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r10}, [%rd1];"},
      {DiagId::PtxOperandKind, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, `%r2;"},
      {DiagId::PtxNeedsTarget, "`stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r10};",
       ".version 8.0\n.target sm_80"},
      {DiagId::PtxOperandType, "movmatrix.sync.aligned.m8n8.trans.b16 %r10, `%rd1;"},
      {DiagId::PtxMatrixVector, "wmma.load.a.sync.aligned.row.m16n16k16.f16 `{%r10,%r11}, [%rd1];"},
      {DiagId::PtxUnknownForm, "`wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r10}, [%rd1];"},
      {DiagId::PtxOperandType,
       "wmma.load.a.sync.aligned.row.m16n16k16.s8 {%r10,%r11}, [%rd1], `%rd2;"},
      {DiagId::PtxWrongSpace,
       "wmma.load.a.sync.aligned.row.m16n16k16.shared.s8 {%r10,%r11}, `[out];"},
  };
  for (const Refusal& c : cases) {
    std::string ptx = kernel(c.body, c.head);
    size_t at = ptx.find('`');
    if (at == std::string::npos || c.body.find('`') == std::string::npos) {
      ADD_FAILURE() << c.body;
      continue;
    }
    auto line = 1 + static_cast<uint32_t>(
                        std::count(ptx.begin(), ptx.begin() + static_cast<long>(at), '\n'));
    auto column = static_cast<uint32_t>(at - ptx.rfind('\n', at));
    ptx.erase(at, 1);
    // Unknown words are the parser's to refuse.
    Harness h(ptx);
    EXPECT_FALSE(h.ok()) << c.body;
    bool found = false;
    for (const Diagnostic& d : h.diags().all()) {
      bool unknown = c.id == DiagId::PtxUnknownForm && d.id == DiagId::PtxUnknownModifier;
      if (unknown) found = true;
      if (d.id != c.id) continue;
      found = true;
      EXPECT_EQ(d.range.begin.line(), line) << c.body << '\n' << h.errors();
      EXPECT_EQ(d.range.begin.column(), column) << c.body << '\n' << h.errors();
    }
    EXPECT_TRUE(found) << c.body << '\n' << h.errors();
  }
}

}  // namespace
}  // namespace mtlc::sim
