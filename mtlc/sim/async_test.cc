// Asynchronous copies by the PTX ISA: what lands when, in which groups, and with which bytes.

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// Kernel k(in, out): %r0 thread, %rd1 in + 16 * thread, %rd2 out + 16 * thread, %r1 tile + 16 *
// thread.
std::string kernel(const std::string& body, const char* target = "sm_80") {
  return std::string(".version 8.8\n.target ") + target + R"(
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 16 .b8 tile[4096];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 16;
  ld.param.u64 %rd1, [in];
  add.u64 %rd1, %rd1, %rd0;
  ld.param.u64 %rd2, [out];
  add.u64 %rd2, %rd2, %rd0;
  mov.u32 %r1, tile;
  shl.b32 %r2, %r0, 4;
  add.u32 %r1, %r1, %r2;
)" + body +
         "\n  ret;\n}\n";
}

std::vector<uint32_t> iota(size_t n, uint32_t first = 1) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

constexpr char kReadBack[] = R"(
  ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r1];
  st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};
)";

struct Ran {
  LaunchResult result;
  std::vector<uint32_t> out;
  std::string errors;
};

Ran run(const std::string& body, uint64_t seed, Checks checks, uint32_t threads = 64,
        const char* target = "sm_80") {
  Harness h(kernel(body, target));
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  auto in = h.buffer(iota(threads * 4));
  auto out = h.buffer(std::vector<uint32_t>(threads * 4, 0));
  h.config.seed = seed;
  h.config.checks = checks;
  h.config.readBack = {out.allocation()};
  r.result = h.run("k", {1, 1, 1}, {threads, 1, 1}, in, out);
  r.out = out.values();
  r.errors = h.errors();
  return r;
}

TEST(CopyAsync, CopiesAllSizes) {
  for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    Ran r = run(std::string("cp.async.cg.shared.global [%r1], [%rd1], 16;\n"
                            "cp.async.wait_all;") +
                    kReadBack,
                seed, Checks::all);
    EXPECT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(r.out, iota(256));
    r = run(std::string("cp.async.ca.shared.global [%r1], [%rd1], 4;\n"
                        "cp.async.ca.shared::cta.global.L2::128B [%r1+4], [%rd1+4], 4;\n"
                        "cp.async.ca.shared.global [%r1+8], [%rd1+8], 8;\n"
                        "cp.async.commit_group;\ncp.async.wait_group 0;") +
                kReadBack,
            seed, Checks::all);
    EXPECT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(r.out, iota(256));
  }
}

// Bytes behind src-size are zero, and are not read: the last thread's source ends there.
TEST(CopyAsync, FillsWithZeros) {
  for (uint64_t seed : {0, 7, 8}) {
    Ran r = run(std::string("and.b32 %r5, %r0, 3;\nshl.b32 %r5, %r5, 2;\n"
                            "setp.eq.u32 %p1, %r0, 63;\nselp.b32 %r5, 0, %r5, %p1;\n"
                            "@%p1 add.u64 %rd1, %rd1, 4096;\n"
                            "cp.async.ca.shared.global [%r1], [%rd1], 16, %r5;\n"
                            "cp.async.wait_all;") +
                    kReadBack,
                seed, Checks::all);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    for (uint32_t t = 0; t < 64; ++t) {
      uint32_t words = t == 63 ? 0 : t & 3;
      for (uint32_t e = 0; e < 4; ++e) EXPECT_EQ(r.out[4 * t + e], e < words ? 4 * t + e + 1 : 0);
    }
  }
}

TEST(CopyAsync, IgnoresItsSource) {
  Ran r = run(std::string("and.b32 %r5, %r0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n"
                          "@%p1 add.u64 %rd1, %rd1, 4096;\n"
                          "cp.async.ca.shared.global [%r1], [%rd1], 16, %p1;\n"
                          "cp.async.wait_all;") +
                  kReadBack,
              0, Checks::all);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(r.out[i], i / 4 % 2 == 0 ? i + 1 : 0);
}

TEST(CopyAsync, MoreBytesThanItCopies) {
  Ran r =
      run("mov.u32 %r5, 17;\ncp.async.ca.shared.global [%r1], [%rd1], 16, %r5;", 0, Checks::none);
  EXPECT_EQ(r.result.status, LaunchStatus::faulted);
  ASSERT_EQ(r.result.reports.size(), 1u);
  EXPECT_TRUE(r.result.reports[0].id == DiagId::SimCopySize);
}

TEST(CopyAsync, FaultsLikeAnyAccess) {
  struct {
    const char* body;
    DiagId id;
  } rows[] = {
      {"cp.async.ca.shared.global [%r1], [%rd1+1024], 16;", DiagId::SimOutOfBounds},
      {"cp.async.ca.shared.global [%r1+4096], [%rd1], 16;", DiagId::SimOutOfBounds},
      {"cp.async.ca.shared.global [%r1+8], [%rd1], 16;", DiagId::SimMisaligned},
      {"cp.async.ca.shared.global [%r1], [%rd1+4], 8;", DiagId::SimMisaligned},
      {"mov.u64 %rd1, 0;\ncp.async.ca.shared.global [%r1], [%rd1], 16;", DiagId::SimNull},
  };
  for (const auto& row : rows) {
    for (Checks checks : {Checks::none, Checks::all}) {
      Ran r = run(row.body, 0, checks);
      EXPECT_EQ(r.result.status, LaunchStatus::faulted) << row.body;
      ASSERT_EQ(r.result.reports.size(), 1u) << row.body;
      EXPECT_TRUE(r.result.reports[0].id == row.id) << r.errors;
    }
  }
}

// Without a seed bytes land at the wait; with one at any time before, depending on it.
TEST(CopyAsync, IsDeferred) {
  std::string body =
      std::string("mov.u32 %r9, 7;\nst.shared.v4.u32 [%r1], {%r9, %r9, %r9, %r9};\n") +
      "cp.async.ca.shared.global [%r1], [%rd1], 16;\n" + "bar.sync 0;\nbar.sync 0;\n" + kReadBack +
      "cp.async.wait_all;";
  Ran late = run(body, 0, Checks::none);
  EXPECT_EQ(late.out, std::vector<uint32_t>(256, 7));
  bool allOld = false, allNew = false, mixture = false;
  for (uint64_t seed = 1; seed < 60; ++seed) {
    Ran r = run(body, seed, Checks::none);
    size_t changed = 0;
    for (uint32_t i = 0; i < 256; ++i) {
      EXPECT_TRUE(r.out[i] == 7 || r.out[i] == i + 1) << i;
      if (r.out[i] != 7) ++changed;
    }
    allOld = allOld || changed == 0;
    allNew = allNew || changed >= 255;
    mixture = mixture || (changed > 32 && changed < 224);
    EXPECT_EQ(run(body, seed, Checks::none).out, r.out) << seed;
  }
  EXPECT_TRUE(allOld);
  EXPECT_TRUE(allNew);
  EXPECT_TRUE(mixture);
}

// The source counts when the bytes land.
TEST(CopyAsync, ReadsItsSourceLate) {
  Ran r = run(std::string("cp.async.ca.shared.global [%r1], [%rd1], 16;\n"
                          "mov.u32 %r9, 7;\nst.global.v4.u32 [%rd1], {%r9, %r9, %r9, %r9};\n"
                          "cp.async.wait_all;") +
                  kReadBack,
              0, Checks::none);
  EXPECT_EQ(r.out, std::vector<uint32_t>(256, 7));
}

// Three groups; wait_group N leaves the N newest under way, and a copy that was not committed is
// none of them.
TEST(CopyAsync, WaitsForGroups) {
  auto body = [](const std::string& wait) {
    return "mov.u32 %r9, 0;\nst.shared.v4.u32 [%r1], {%r9, %r9, %r9, %r9};\n"
           "cp.async.ca.shared.global [%r1], [%rd1], 4;\ncp.async.commit_group;\n"
           "cp.async.commit_group;\n"
           "cp.async.ca.shared.global [%r1+4], [%rd1+4], 4;\ncp.async.commit_group;\n"
           "cp.async.ca.shared.global [%r1+8], [%rd1+8], 4;\n" +
           wait + kReadBack + "cp.async.wait_all;";
  };
  struct {
    const char* wait;
    bool landed[3];
  } rows[] = {
      {"cp.async.wait_group 3;\n", {false, false, false}},
      {"cp.async.wait_group 2;\n", {true, false, false}},
      {"cp.async.wait_group 1;\n", {true, false, false}},
      {"cp.async.wait_group 0;\n", {true, true, false}},
      {"cp.async.wait_all;\n", {true, true, true}},
      {"cp.async.commit_group;\ncp.async.wait_group 1;\n", {true, true, false}},
  };
  for (const auto& row : rows) {
    Ran r = run(body(row.wait), 0, Checks::none);
    for (uint32_t t = 0; t < 64; ++t) {
      for (uint32_t e = 0; e < 3; ++e) {
        EXPECT_EQ(r.out[4 * t + e], row.landed[e] ? 4 * t + e + 1 : 0) << row.wait << e;
      }
    }
  }
}

// Lanes have groups of their own: half of them commit once more.
TEST(CopyAsync, GroupsAreOfThreads) {
  Ran r = run(std::string("mov.u32 %r9, 0;\nst.shared.v4.u32 [%r1], {%r9, %r9, %r9, %r9};\n"
                          "cp.async.ca.shared.global [%r1], [%rd1], 16;\n"
                          "cp.async.commit_group;\n"
                          "and.b32 %r5, %r0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n"
                          "@%p1 cp.async.commit_group;\n"
                          "cp.async.wait_group 1;") +
                  kReadBack,
              0, Checks::none);
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(r.out[i], i / 4 % 2 == 1 ? i + 1 : 0);
}

TEST(CopyAsync, RefusesOtherSizes) {
  for (const char* body : {"cp.async.ca.shared.global [%r1], [%rd1], 12;",
                           "cp.async.cg.shared.global [%r1], [%rd1], 8;"}) {
    Harness h(kernel(body));
    EXPECT_FALSE(h.ok());
    EXPECT_TRUE(h.reported(DiagId::PtxCopySize)) << h.errors();
  }
}

// A pipeline of three stages over a long row, with a barrier for each stage.
TEST(CopyAsync, PipelineOfThreeStages) {
  const char* text = R"(.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 tiles) {
  .reg .pred %p<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 16 .b8 ring[3072];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r20, [tiles];
  mul.wide.u32 %rd0, %r0, 16;
  add.u64 %rd1, %rd1, %rd0;
  mov.u32 %r1, ring;
  shl.b32 %r2, %r0, 4;
  add.u32 %r3, %r1, %r2;            // Where this thread writes in stage 0.
  xor.b32 %r4, %r2, 512;
  add.u32 %r4, %r4, %r1;            // Where it reads: another warp's part.
  mov.u32 %r5, 0;                   // Sum.
  cp.async.cg.shared.global [%r3], [%rd1], 16;
  cp.async.commit_group;
  cp.async.cg.shared.global [%r3+1024], [%rd1+1024], 16;
  cp.async.commit_group;
  mov.u32 %r6, 0;                   // Tile.
  mov.u32 %r7, 0;                   // Stage read * 1024.
  mov.u32 %r8, 2048;                // Stage written.
L:
  cp.async.wait_group 1;
  bar.sync 0;
  add.u32 %r9, %r6, 2;
  setp.lt.u32 %p1, %r9, %r20;
  mul.wide.u32 %rd3, %r9, 1024;
  add.u64 %rd3, %rd1, %rd3;
  add.u32 %r10, %r3, %r8;
  @%p1 cp.async.cg.shared.global [%r10], [%rd3], 16;
  cp.async.commit_group;
  add.u32 %r11, %r4, %r7;
  ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];
  mad.lo.u32 %r5, %r5, 3, %r12;
  add.u32 %r5, %r5, %r15;
  add.u32 %r7, %r7, 1024;
  setp.eq.u32 %p2, %r7, 3072;
  selp.b32 %r7, 0, %r7, %p2;
  add.u32 %r8, %r8, 1024;
  setp.eq.u32 %p2, %r8, 3072;
  selp.b32 %r8, 0, %r8, %p2;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, %r20;
  @%p3 bra L;
  mul.wide.u32 %rd4, %r0, 4;
  add.u64 %rd2, %rd2, %rd4;
  st.global.u32 [%rd2], %r5;
  ret;
}
)";
  constexpr uint32_t kTiles = 9;
  std::vector<uint32_t> input = iota(kTiles * 256, 1000);
  std::vector<uint32_t> want(64);
  for (uint32_t t = 0; t < 64; ++t) {
    for (uint32_t i = 0; i < kTiles; ++i) {
      const uint32_t* p = &input[i * 256 + (t ^ 32) * 4];
      want[t] = want[t] * 3 + p[0] + p[3];
    }
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (bool weak : {false, true}) {
      Harness h(text);
      ASSERT_TRUE(h.ok()) << h.errors();
      auto in = h.buffer(input);
      auto out = h.poison<uint32_t>(64);
      h.config.seed = seed;
      h.config.weakMemory = weak;
      h.config.checks = seed % 4 == 3 ? Checks::none : Checks::all;
      h.config.readBack = {out.allocation()};
      LaunchResult r = h.run("k", {1, 1, 1}, {64, 1, 1}, in, out, kTiles);
      EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
      EXPECT_EQ(out.values(), want) << seed;
    }
  }
}

// Undefined source bytes stay undefined.
TEST(CopyAsync, CarriesUndefinedBits) {
  Harness h(kernel(std::string("cp.async.ca.shared.global [%r1], [%rd1], 16;\n"
                               "cp.async.wait_all;") +
                   kReadBack));
  ASSERT_TRUE(h.ok()) << h.errors();
  auto in = h.poison<uint32_t>(256);
  auto out = h.poison<uint32_t>(256);
  h.config.checks = Checks::all;
  h.config.readBack = {out.allocation()};
  LaunchResult r = h.run("k", {1, 1, 1}, {64, 1, 1}, in, out);
  EXPECT_EQ(r.status, LaunchStatus::faulted);
  ASSERT_FALSE(r.reports.empty());
  EXPECT_TRUE(r.reports[0].id == DiagId::SimUninitReadBack) << h.errors();
}

}  // namespace
}  // namespace mtlc::sim
