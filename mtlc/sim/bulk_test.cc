// Bulk copies without tensor maps: what they move, whom they tell, and rings of stages.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

std::string kernel(const std::string& body) {
  return R"(.version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 8 .b8 bar[64];
  .shared .align 128 .b8 tile[4096];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mul.wide.u32 %rd0, %r0, 4;
  add.u64 %rd3, %rd2, %rd0;
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r0, 2;
  add.u32 %r3, %r2, %r3;
  setp.eq.u32 %p9, %r0, 0;
)" + body +
         "\n  ret;\n}\n";
}

struct Ran {
  LaunchResult result;
  std::vector<uint32_t> out;
  std::string errors;
};

Ran run(const std::string& body, uint32_t threads, const std::vector<uint32_t>& input,
        const std::vector<uint32_t>& output, uint64_t seed = 0, Checks checks = Checks::all) {
  Harness h(kernel(body));
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  auto in = h.buffer(input);
  auto out = h.buffer(output);
  h.config.seed = seed;
  h.config.checks = checks;
  h.config.maxSteps = 10'000'000;
  r.result = h.run("k", {1, 1, 1}, {threads, 1, 1}, in, out);
  r.out = out.values();
  r.errors = h.errors();
  return r;
}

std::vector<uint32_t> iota(size_t n, uint32_t first = 1) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

constexpr char kInit[] =
    "@%p9 mbarrier.init.shared.b64 [%r1], 1;\n@%p9 fence.mbarrier_init.release.cluster;\n"
    "bar.sync 0;\n";
std::string wait(const std::string& parity) {
  return "W" + parity + ":\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], " + parity +
         ";\n@!%p1 bra W" + parity + ";\n";
}

TEST(BulkCopy, ToSharedMemory) {
  for (const char* copy : {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                           "[%r2], [%rd1], 256, [%r1];",
                           "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::"
                           "cache_hint [%r2], [%rd1], "
                           "256, [%r1], %rd9;",
                           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
                           "multicast::cluster [%r2], "
                           "[%rd1], 256, [%r1], %h1;"}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Ran r =
          run(std::string(kInit) +
                  "mov.u64 %rd9, 0;\nmov.u16 %h1, 1;\n"
                  "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n@%p9 " +
                  copy + "\n" + wait("0") + "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd3], %r5;",
              64, iota(64), std::vector<uint32_t>(64, 0), seed);
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors << copy;
      EXPECT_EQ(r.out, iota(64));
    }
  }
}

TEST(BulkCopy, ToGlobalMemory) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const char* end : {"cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;"}) {
      Ran r = run(
          std::string("add.u32 %r5, %r0, 9;\nst.shared.u32 [%r3], %r5;\n"
                      "fence.proxy.async.shared::cta;\nbar.sync 0;\n@!%p9 bra E;\n"
                      "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 128;\n"
                      "cp.async.bulk.commit_group;\n"
                      "cp.async.bulk.global.shared::cta.bulk_group [%rd2+128], [%r2+128], 128;\n"
                      "cp.async.bulk.commit_group;\n") +
              end + "\nE:\n",
          64, iota(64), std::vector<uint32_t>(64, 0), seed);
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
      EXPECT_EQ(r.out, iota(64, 9));
    }
  }
}

TEST(BulkCopy, BetweenSharedMemories) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran r = run(std::string(kInit) +
                    "add.u32 %r5, %r0, 9;\nst.shared.u32 [%r3], %r5;\n"
                    "fence.proxy.async;\nbar.sync 0;\n"
                    "mapa.shared::cluster.u32 %r6, %r2, 0;\nadd.u32 %r6, %r6, 1024;\n"
                    "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
                    "@%p9 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                    "[%r6], [%r2], 256, [%r1];\n" +
                    wait("0") + "ld.shared.u32 %r5, [%r3+1024];\nst.global.u32 [%rd3], %r5;",
                64, iota(64), std::vector<uint32_t>(64, 0), seed);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(r.out, iota(64, 9));
  }
}

TEST(BulkCopy, MaskedBytes) {
  Ran r =
      run("mov.u32 %r5, 0x04030201;\nst.shared.u32 [%r3], %r5;\nfence.proxy.async;\nbar.sync 0;\n"
          "mov.u16 %h1, 0x8421;\n"
          "@%p9 cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd2], [%r2], 32, %h1;\n"
          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n",
          8, iota(8), std::vector<uint32_t>(8, 0xaaaaaaaa));
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  std::vector<uint32_t> want{0xaaaaaa01, 0xaaaa02aa, 0xaa03aaaa, 0x04aaaaaa};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(r.out[i], want[i % 4]);
}

uint32_t bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, sizeof b);
  return b;
}

TEST(BulkReduce, ToGlobalMemory) {
  // Words of shared memory: thread * 0x10001 + 3; of global memory: 0xfffffff0 + thread.
  auto reduce = [](const std::string& op, std::vector<uint32_t> output) {
    return run(
        "mad.lo.u32 %r5, %r0, 0x10001, 3;\nst.shared.u32 [%r3], %r5;\n"
        "fence.proxy.async;\nbar.sync 0;\n@%p9 cp.reduce.async.bulk.global.shared::cta."
        "bulk_group." +
            op +
            " [%rd2], [%r2], 128;\ncp.async.bulk.commit_group;\n"
            "cp.async.bulk.wait_group 0;\n",
        32, iota(32), output);
  };
  struct Row {
    const char* op;
    uint32_t (*want)(uint32_t old, uint32_t value);
  };
  const Row rows[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"min.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"inc.u32", [](uint32_t a, uint32_t b) { return a >= b ? 0 : a + 1; }},
      {"dec.u32", [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }},
  };
  for (const Row& row : rows) {
    for (uint32_t first : {0xfffffff0u, 0u, 0x100000u}) {
      Ran r = reduce(row.op, iota(32, first));
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
      for (uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(r.out[i], row.want(first + i, i * 0x10001 + 3)) << row.op << i;
      }
    }
  }
  // Pairs of words as 64 bits: carries cross.
  Ran r = reduce("add.u64", std::vector<uint32_t>(32, 0xffffffff));
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  for (uint32_t i = 0; i < 32; i += 2) {
    uint64_t b = uint64_t{(i + 1) * 0x10001 + 3} << 32 | (i * 0x10001 + 3);
    uint64_t sum = b - 1;  // 2^64 - 1 + b
    EXPECT_EQ(uint64_t{r.out[i + 1]} << 32 | r.out[i], sum);
  }
}

TEST(BulkReduce, FloatingPoint) {
  auto reduce = [](const std::string& op, uint32_t value, uint32_t old) {
    Ran r = run("mov.u32 %r5, " + std::to_string(value) +
                    ";\nst.shared.u32 [%r3], %r5;\nfence.proxy.async;\nbar.sync 0;\n"
                    "@%p9 cp.reduce.async.bulk.global.shared::cta.bulk_group." +
                    op +
                    " [%rd2], [%r2], 16;\ncp.async.bulk.commit_group;\n"
                    "cp.async.bulk.wait_group 0;\n",
                4, iota(4), std::vector<uint32_t>(4, old));
    EXPECT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    return r.out[2];
  };
  EXPECT_EQ(reduce("add.f32", bits(0.1f), bits(0.2f)), bits(0.1f + 0.2f));
  // f16: 1 + 2^-11 ties to even, 1 + 3 * 2^-11 up; 65504 + 16 overflows.
  EXPECT_EQ(reduce("add.noftz.f16", 0x1000'3c00, 0x3c00'1000), 0x3c00'3c00u);
  EXPECT_EQ(reduce("add.noftz.f16", 0x7bff'1600, 0x4c00'3c00), 0x7c00'3c02u);
  EXPECT_EQ(reduce("min.f16", 0x8000'7e00, 0x0000'3c00), 0x8000'3c00u);
  EXPECT_EQ(reduce("max.bf16", 0xc000'3f80, 0xbf80'7fc0), 0xbf80'3f80u);
  EXPECT_EQ(reduce("add.noftz.bf16", 0x3f80'3f80, 0x4000'3b80), 0x4040'3f80u);
}

// BC-30: one mbarrier that flips every iteration. With parity k % 2 each tile is seen; with the
// formula of a ring of three stages the second wait finds an older phase.
std::string ring(const std::string& parity) {
  return std::string(kInit) + "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\nL:\n" + parity +
         "mul.wide.u32 %rd5, %r10, 256;\nadd.u64 %rd5, %rd1, %rd5;\n@!%p9 bra W;\n"
         "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n"
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd5], 256, "
         "[%r1];\n"
         "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r12;\n@!%p1 bra W;\n"
         "ld.shared.u32 %r5, [%r3];\nmad.lo.u32 %r11, %r11, 7, %r5;\n"
         "bar.sync 0;\n"
         "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 6;\n@%p2 bra L;\n"
         "st.global.u32 [%rd3], %r11;\n";
}

TEST(BugCases, BC30) {
  std::vector<uint32_t> input = iota(6 * 64, 5), want(64, 0);
  for (uint32_t t = 0; t < 64; ++t) {
    for (uint32_t k = 0; k < 6; ++k) want[t] = want[t] * 7 + input[k * 64 + t];
  }
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Ran good = run(ring("and.b32 %r12, %r10, 1;\n"), 64, input, std::vector<uint32_t>(64, 0), seed);
    ASSERT_EQ(good.result.status, LaunchStatus::ok) << good.errors;
    EXPECT_EQ(good.out, want);
  }
  Ran bad = run(ring("mul.hi.u32 %r12, %r10, 0x55555556;\nand.b32 %r12, %r12, 1;\n"), 64, input,
                std::vector<uint32_t>(64, 0), 0);
  EXPECT_NE(bad.result.status, LaunchStatus::ok);
  ASSERT_FALSE(bad.result.reports.empty());
  EXPECT_TRUE(std::any_of(bad.result.reports.begin(), bad.result.reports.end(),
                          [](const Report& r) { return r.id == DiagId::SimAsyncUndelivered; }))
      << bad.errors;
}

// Producer and consumers over two stages with full and empty mbarriers.
TEST(BulkCopy, ProducerAndConsumers) {
  std::string body =
      "@%p9 mbarrier.init.shared.b64 [%r1], 1;\n@%p9 mbarrier.init.shared.b64 [%r1+8], 1;\n"
      "@%p9 mbarrier.init.shared.b64 [%r1+16], 32;\n@%p9 mbarrier.init.shared.b64 [%r1+24], 32;\n"
      "@%p9 fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
      "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\nsetp.ge.u32 %p8, %r0, 32;\n@%p8 bra P;\n"
      // Consumers: warp 0.
      "C:\nand.b32 %r12, %r10, 1;\nshr.u32 %r13, %r10, 1;\nand.b32 %r13, %r13, 1;\n"
      "shl.b32 %r14, %r12, 3;\nadd.u32 %r14, %r1, %r14;\n"
      "CW:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r14], %r13;\n@!%p1 bra CW;\n"
      "shl.b32 %r15, %r12, 7;\nadd.u32 %r15, %r15, %r3;\nld.shared.u32 %r5, [%r15];\n"
      "mad.lo.u32 %r11, %r11, 7, %r5;\nmbarrier.arrive.shared.b64 _, [%r14+16];\n"
      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 9;\n@%p2 bra C;\n"
      "st.global.u32 [%rd3], %r11;\nret;\n"
      // Producer: one thread of warp 1.
      "P:\nsetp.ne.u32 %p8, %r0, 32;\n@%p8 bra E;\n"
      "Q:\nand.b32 %r12, %r10, 1;\nshr.u32 %r13, %r10, 1;\nand.b32 %r13, %r13, 1;\n"
      "xor.b32 %r13, %r13, 1;\nshl.b32 %r14, %r12, 3;\nadd.u32 %r14, %r1, %r14;\n"
      "PW:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r14+16], %r13;\n@!%p1 bra PW;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r14], 128;\n"
      "mul.wide.u32 %rd5, %r10, 128;\nadd.u64 %rd5, %rd1, %rd5;\n"
      "shl.b32 %r15, %r12, 7;\nadd.u32 %r15, %r15, %r2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd5], 128, "
      "[%r14];\n"
      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 9;\n@%p2 bra Q;\nE:\n";
  std::vector<uint32_t> input = iota(9 * 32, 5), want(32, 0);
  for (uint32_t t = 0; t < 32; ++t) {
    for (uint32_t k = 0; k < 9; ++k) want[t] = want[t] * 7 + input[k * 32 + t];
  }
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Ran r = run(body, 64, input, std::vector<uint32_t>(32, 0), seed,
                seed % 4 == 3 ? Checks::none : Checks::all);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(r.out, want) << seed;
  }
}

TEST(BulkCopy, Faults) {
  struct {
    const char* body;
    DiagId id;
  } rows[] = {
      {"mov.u32 %r5, 24;\ncp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], %r5;",
       DiagId::SimCopySize},
      {"cp.async.bulk.global.shared::cta.bulk_group [%rd2+8], [%r2], 16;", DiagId::SimMisaligned},
      {"cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r2], 512;", DiagId::SimOutOfBounds},
      {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 16, "
       "[%r1];",
       DiagId::SimMbarrierMissing},
  };
  for (const auto& row : rows) {
    Ran r = run(row.body, 1, iota(64), std::vector<uint32_t>(64, 0), 0, Checks::none);
    EXPECT_EQ(r.result.status, LaunchStatus::faulted) << row.body;
    ASSERT_EQ(r.result.reports.size(), 1u) << row.body;
    EXPECT_TRUE(r.result.reports[0].id == row.id) << r.errors;
  }
}

}  // namespace
}  // namespace mtlc::sim
