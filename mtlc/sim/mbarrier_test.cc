// mbarriers by the PTX ISA: phases, parities, pending counts and bytes; who waits for whom.

#include "mtlc/sim/mbarrier.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// Kernel k(out): %r0 thread, %rd1 out, %rd2 out + 4 * thread; mbarriers at `bar` (%r1).
std::string kernel(const std::string& body) {
  return R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 16 .b8 bar[64];
  .shared .align 1024 .b8 tile[1024];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 4;
  ld.param.u64 %rd1, [out];
  add.u64 %rd2, %rd1, %rd0;
  mov.u32 %r1, bar;
  setp.eq.u32 %p9, %r0, 0;
)" + body +
         "\n  ret;\n}\n";
}

struct Ran {
  LaunchResult result;
  std::vector<uint32_t> out;
  std::string errors;
};

Ran run(const std::string& body, uint32_t threads, uint64_t seed = 0, Checks checks = Checks::all,
        bool weak = false) {
  Harness h(kernel(body));
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  auto out = h.buffer(std::vector<uint32_t>(256, 0));
  h.config.seed = seed;
  h.config.checks = checks;
  h.config.weakMemory = weak;
  h.config.maxSteps = 10'000'000;
  r.result = h.run("k", {1, 1, 1}, {threads, 1, 1}, out);
  r.out = out.values();
  r.errors = h.errors();
  return r;
}

std::string store(int at, const std::string& reg) {
  return "st.global.u32 [%rd1+" + std::to_string(4 * at) + "], " + reg + ";\n";
}

// What test_wait.parity says of parity 0 and 1, into words `at` and `at` + 1.
std::string parities(int at, const std::string& address = "%r1") {
  return "mbarrier.test_wait.parity.shared.b64 %p1, [" + address +
         "], 0;\nselp.u32 %r10, 1, 0, %p1;\n" + store(at, "%r10") +
         "mbarrier.test_wait.parity.shared.b64 %p1, [" + address +
         "], 1;\nselp.u32 %r10, 1, 0, %p1;\n" + store(at + 1, "%r10");
}

// BC-30: of a fresh object the phase before the first is complete, and the first is not.
TEST(Mbarrier, ParitiesOfPhases) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    Ran r = run("mbarrier.init.shared.b64 [%r1], 1;\n" + parities(0) +
                    "mbarrier.arrive.shared.b64 _, [%r1];\n" + parities(2) +
                    "mbarrier.arrive.shared.b64 _, [%r1];\n" + parities(4),
                1, seed);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(std::vector<uint32_t>(r.out.begin(), r.out.begin() + 6),
              (std::vector<uint32_t>{0, 1, 1, 0, 0, 1}));
  }
}

// BC-30: two objects, looked at by turns, have phases of their own.
TEST(Mbarrier, PhasesAreOfObjects) {
  Ran r =
      run("mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.init.shared.b64 [%r1+8], 1;\n"
          "mbarrier.arrive.shared.b64 _, [%r1+8];\n" +
              parities(0) + parities(2, "%r1+8"),
          1);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  EXPECT_EQ(std::vector<uint32_t>(r.out.begin(), r.out.begin() + 4),
            (std::vector<uint32_t>{0, 1, 1, 0}));
}

// States name their phase, and the pending count before the arrival.
TEST(Mbarrier, States) {
  Ran r =
      run("mbarrier.init.shared.b64 [%r1], 3;\n"
          "mbarrier.arrive.shared.b64 %rd3, [%r1];\n"
          "mbarrier.pending_count.b64 %r10, %rd3;\n" +
              store(0, "%r10") +
              "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd3;\nselp.u32 %r10, 1, 0, %p1;\n" +
              store(1, "%r10") +
              "mbarrier.arrive.noComplete.shared.b64 %rd4, [%r1], 1;\n"
              "mbarrier.pending_count.b64 %r10, %rd4;\n" +
              store(2, "%r10") +
              "mbarrier.arrive_drop.shared.b64 %rd5, [%r1];\n"
              "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd3;\nselp.u32 %r10, 1, 0, %p1;\n" +
              store(3, "%r10") +
              // One arrival less in the next phase.
              "mbarrier.arrive.shared.b64 %rd6, [%r1], 2;\n"
              "mbarrier.pending_count.b64 %r10, %rd6;\n" +
              store(4, "%r10") +
              "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd6;\nselp.u32 %r10, 1, 0, %p1;\n" +
              store(5, "%r10") + "mbarrier.inval.shared.b64 [%r1];\n",
          1);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  EXPECT_EQ(std::vector<uint32_t>(r.out.begin(), r.out.begin() + 6),
            (std::vector<uint32_t>{3, 0, 2, 1, 2, 1}));
}

// A phase needs its arrivals and its bytes; bytes may come first.
TEST(Mbarrier, CountsBytes) {
  Ran r = run(
      "mbarrier.init.shared.b64 [%r1], 1;\n"
      "mbarrier.complete_tx.shared.b64 [%r1], 48;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n" +
          parities(0) + "mbarrier.complete_tx.shared.b64 [%r1], 16;\n" + parities(2) +
          "mbarrier.expect_tx.shared.b64 [%r1], 16;\nmbarrier.arrive.shared.b64 _, [%r1];\n" +
          parities(4) + "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 16;\n" + parities(6),
      1);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  EXPECT_EQ(std::vector<uint32_t>(r.out.begin(), r.out.begin() + 8),
            (std::vector<uint32_t>{0, 1, 1, 0, 1, 0, 0, 1}));
}

// A wait publishes what was written before the arrivals.
std::string handOver(const std::string& wait) {
  return "@%p9 mbarrier.init.shared.b64 [%r1], 64;\nbar.sync 0;\n"
         "mov.u32 %r5, tile;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\n"
         "mov.u32 %r7, 0;\n"
         "L:\nadd.u32 %r8, %r0, %r7;\nst.shared.u32 [%r6], %r8;\n"
         "mbarrier.arrive.shared.b64 %rd5, [%r1];\n"
         "W:\n" +
         wait +
         "@!%p1 bra W;\n"
         "xor.b32 %r9, %r6, 160;\nld.shared.u32 %r10, [%r9];\n"
         "mad.lo.u32 %r11, %r11, 5, %r10;\n"
         "mbarrier.arrive.shared.b64 %rd5, [%r1];\n"
         "V:\nmbarrier.try_wait.shared.b64 %p1, [%r1], %rd5;\n@!%p1 bra V;\n"
         "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 5;\n@%p2 bra L;\n"
         "st.global.u32 [%rd2], %r11;\n";
}

TEST(Mbarrier, OrdersMemory) {
  for (const char* wait : {"mbarrier.test_wait.shared.b64 %p1, [%r1], %rd5;\n",
                           "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd5;\n",
                           "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;\n"}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      Ran r = run("mov.u32 %r11, 0;\n" + handOver(wait), 64, seed, Checks::all, seed > 4);
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors << wait;
      for (uint32_t t = 0; t < 64; ++t) {
        uint32_t want = 0;
        for (uint32_t i = 0; i < 5; ++i) want = want * 5 + (t ^ 40) + i;
        EXPECT_EQ(r.out[t], want) << t << " " << seed;
      }
    }
  }
}

TEST(Mbarrier, RelaxedOrdersNothing) {
  std::string body = handOver("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd5;\n");
  size_t at = body.find("mbarrier.arrive.shared");
  body.replace(at, 22, "mbarrier.arrive.relaxed.cta.shared");
  Ran r = run("mov.u32 %r11, 0;\n" + body, 64, 0, Checks::race);
  ASSERT_FALSE(r.result.reports.empty());
  EXPECT_TRUE(r.result.reports[0].id == DiagId::SimRace) << r.errors;
}

// BC-30: a warp that waits lets the others go on, however it waits; also when it is the first one,
// and when lanes of one warp wait for each other.
TEST(Mbarrier, WaitsStarveNobody) {
  for (const char* wait :
       {"mbarrier.try_wait.parity.shared.b64", "mbarrier.test_wait.parity.shared.b64"}) {
    for (const char* who : {"setp.lt.u32 %p3, %r0, 32;\n", "setp.ne.u32 %p3, %r0, 7;\n"}) {
      for (uint64_t seed : {0, 1, 2, 3}) {
        std::string body = std::string("@%p9 mbarrier.init.shared.b64 [%r1], 1;\nbar.sync 0;\n") +
                           who + "@!%p3 bra A;\nW:\n" + wait +
                           " %p1, [%r1], 0;\n@!%p1 bra W;\nbra E;\n"
                           "A:\nmov.u32 %r5, 0;\nB:\nadd.u32 %r5, %r5, 1;\n"
                           "setp.lt.u32 %p4, %r5, 3000;\n@%p4 bra B;\n"
                           "setp.eq.u32 %p5, %r0, 40;\n" +
                           (who[5] == 'n' ? "setp.eq.u32 %p5, %r0, 7;\n" : "") +
                           "@%p5 mbarrier.arrive.shared.b64 _, [%r1];\nE:\n"
                           "mov.u32 %r6, 1;\nst.global.u32 [%rd2], %r6;\n";
        Ran r = run(body, 64, seed);
        ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors << wait << who;
        EXPECT_EQ(std::vector<uint32_t>(r.out.begin(), r.out.begin() + 64),
                  std::vector<uint32_t>(64, 1));
      }
    }
  }
}

// try_wait answers after a while even if nobody ever arrives, so a program may give up.
TEST(Mbarrier, TryWaitAnswers) {
  Ran r =
      run("mbarrier.init.shared.b64 [%r1], 1;\nmov.u32 %r5, 0;\n"
          "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;\n@%p1 bra E;\n"
          "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 1000;\n@%p2 bra W;\nE:\n" +
              store(0, "%r5"),
          1);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  EXPECT_EQ(r.out[0], 1000u);
}

TEST(Mbarrier, DeadlocksAreNamed) {
  for (const char* wait :
       {"mbarrier.try_wait.parity.shared.b64", "mbarrier.test_wait.parity.shared.b64"}) {
    for (uint64_t seed : {0, 5}) {
      Ran r = run(std::string("@%p9 mbarrier.init.shared.b64 [%r1+16], 3;\nbar.sync 0;\n"
                              "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [%r1+16], 80;\nW:\n") +
                      wait + " %p1, [%r1+16], 0;\n@!%p1 bra W;\n",
                  32, seed);
      EXPECT_EQ(r.result.status, LaunchStatus::deadlock);
      ASSERT_FALSE(r.result.reports.empty());
      const Report& report = r.result.reports[0];
      EXPECT_TRUE(report.id == DiagId::SimMbarrierDeadlock) << r.errors;
      EXPECT_NE(report.message.find("0x10 never completes phase 0: 2 arrivals and 80 bytes"),
                std::string::npos)
          << report.message;
    }
  }
}

// The arrivals of cp.async come when the copies of their thread have landed.
TEST(Mbarrier, ArrivalsOfCopies) {
  for (bool counted : {false, true}) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
      std::string arrive = counted ? "cp.async.mbarrier.arrive.shared.b64 [%r1];\n"
                                     "mbarrier.arrive.shared.b64 _, [%r1];\n"
                                   : "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n";
      Ran r =
          run("@%p9 mbarrier.init.shared.b64 [%r1], 64;\nbar.sync 0;\n"
              "mov.u32 %r5, tile;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\n"
              "add.u32 %r7, %r0, 100;\nst.global.u32 [%rd2], %r7;\n"
              "cp.async.ca.shared.global [%r6], [%rd2], 4;\n" +
                  arrive +
                  "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;\n@!%p1 bra W;\n"
                  "xor.b32 %r9, %r6, 160;\nld.shared.u32 %r10, [%r9];\n"
                  "st.global.u32 [%rd2+256], %r10;\n",
              64, seed);
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
      for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(r.out[64 + t], (t ^ 40) + 100);
    }
  }
}

TEST(Mbarrier, MisuseEndsTheLaunchWithoutTheCheck) {
  struct {
    const char* body;
    DiagId id;
  } rows[] = {
      {"mbarrier.arrive.shared.b64 _, [%r1];\n", DiagId::SimMbarrierMissing},
      {"mbarrier.init.shared.b64 [%r1], 0;\n", DiagId::SimMbarrierCount},
      {"mbarrier.init.shared.b64 [%r1], 1048576;\n", DiagId::SimMbarrierCount},
      {"mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.init.shared.b64 [%r1], 1;\n",
       DiagId::SimMbarrierLive},
      {"mbarrier.init.shared.b64 [%r1], 1;\nmbarrier.expect_tx.shared.b64 [%r1], 1048576;\n",
       DiagId::SimMbarrierBytes},
      {"mbarrier.init.shared.b64 [%r1+4], 1;\n", DiagId::SimMisaligned},
      {"mbarrier.init.b64 [%rd1], 1;\n", DiagId::SimWrongWindow},
      {"mbarrier.init.shared.b64 [%r1+8192], 1;\n", DiagId::SimOutOfBounds},
  };
  for (const auto& row : rows) {
    Ran r = run(row.body, 1, 0, Checks::none);
    EXPECT_EQ(r.result.status, LaunchStatus::faulted) << row.body;
    ASSERT_EQ(r.result.reports.size(), 1u) << row.body;
    EXPECT_TRUE(r.result.reports[0].id == row.id) << r.errors;
  }
}

// A cluster of one block: its barrier in two halves, addresses of its only block.
TEST(Cluster, BarrierOfOneBlock) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran r =
        run("mov.u32 %r5, tile;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\n"
            "setp.ge.u32 %p5, %r0, 96;\n@%p5 ret;\n"
            "mov.u32 %r7, 0;\nL:\nadd.u32 %r8, %r0, %r7;\nst.shared.u32 [%r6], %r8;\n"
            "barrier.cluster.arrive.aligned;\nadd.u32 %r7, %r7, 1;\nbarrier.cluster.wait.aligned;\n"
            "setp.lt.u32 %p4, %r0, 64;\nxor.b32 %r9, %r6, 160;\nmov.u32 %r10, 0;\n"
            "@%p4 ld.shared.u32 %r10, [%r9];\n"
            "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
            "setp.lt.u32 %p2, %r7, 4;\n@%p2 bra L;\nst.global.u32 [%rd2], %r10;\n",
            128, seed);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(r.out[t], (t ^ 40) + 3);
  }
}

TEST(Cluster, AddressesOfOneBlock) {
  Ran r =
      run("mapa.shared::cluster.u32 %r5, %r1, 0;\nst.shared::cluster.u32 [%r5], 7;\n"
          "ld.shared.u32 %r6, [%r1];\n" +
              store(0, "%r6") +
              "getctarank.shared::cluster.u32 %r7, %r5;\nadd.u32 %r7, %r7, 40;\n" + store(1, "%r7"),
          1);
  ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
  EXPECT_EQ(r.out[0], 7u);
  EXPECT_EQ(r.out[1], 40u);
  // There is no block 1.
  r = run("mapa.shared::cluster.u32 %r5, %r1, 1;\nst.shared::cluster.u32 [%r5], 7;\n", 1);
  EXPECT_EQ(r.result.status, LaunchStatus::faulted);
}

}  // namespace
}  // namespace mtlc::sim
