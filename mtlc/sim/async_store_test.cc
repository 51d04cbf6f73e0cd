// st.async and red.async in a cluster of one block (PTX ISA 9.7.9.12, 9.7.13.7): what they write,
// that the mbarrier is told of every byte, and their faults.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr uint32_t kThreads = 64;

std::string kernel(const std::string& body) {
  return R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<4>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 8 .b8 bar[8];
  .shared .align 16 .b8 tile[4096];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  setp.eq.u32 %p3, %r0, 0;
)" + body +
         "\n  ret;\n}\n";
}

std::string init(uint32_t bytes) {
  return "@%p3 mbarrier.init.shared.b64 [%r1], 1;\nbar.sync 0;\n"
         "@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], " +
         std::to_string(bytes) + ";\n";
}
constexpr char kWait[] = "W:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;\n@!%p1 bra W;\n";

struct Ran {
  LaunchResult result;
  std::vector<uint64_t> out;
  std::string errors;
  DiagId id = DiagId::SimRace;
};

Ran run(const std::string& body, const std::vector<uint64_t>& input, size_t outputs,
        uint64_t seed = 0, Checks checks = Checks::all) {
  Harness h(kernel(body));
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  auto in = h.buffer(input);
  auto out = h.buffer(std::vector<uint64_t>(outputs, 0));
  h.config.seed = seed;
  h.config.checks = checks;
  h.config.maxSteps = 1'000'000;
  r.result = h.run("k", {1, 1, 1}, {kThreads, 1, 1}, in, out);
  r.out = out.values();
  r.errors = h.errors();
  if (!r.result.reports.empty()) r.id = r.result.reports[0].id;
  return r;
}

uint64_t noise(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  return z ^ z >> 27;
}

struct Store {
  const char* type;
  unsigned words;  // Of 32 bits in an element.
  unsigned vector;
  bool generic;
};
void PrintTo(const Store& s, std::ostream* os) { *os << s.type << " x" << s.vector; }

class StoreAsync : public testing::TestWithParam<Store> {};

// Each thread's bytes go to the place of the thread opposite.
TEST_P(StoreAsync, ReachesThoseWhoWait) {
  const Store& s = GetParam();
  const unsigned bytes = 4 * s.words * s.vector;
  std::string size = std::to_string(bytes), reg = s.words == 2 ? "%rd1" : "%r1";
  std::string body = init(kThreads * bytes);
  body += "mul.wide.u32 %rd3, %r0, " + size + ";\nadd.u64 %rd4, %rd1, %rd3;\n";
  std::string list;
  for (unsigned i = 0; i < s.vector; ++i) {
    std::string name = reg + std::to_string(i);
    list += (i == 0 ? "" : ", ") + name;
    body += "ld.global.b" + std::to_string(32 * s.words) + " " + name + ", [%rd4+" +
            std::to_string(4 * s.words * i) + "];\n";
  }
  body += "sub.u32 %r3, " + std::to_string(kThreads - 1) + ", %r0;\nmul.lo.u32 %r3, %r3, " + size +
          ";\nadd.u32 %r3, %r2, %r3;\n";
  std::string to = "%r3", barrier = "%r1";
  if (s.generic) {
    body +=
        "cvt.u64.u32 %rd5, %r3;\ncvta.shared.u64 %rd5, %rd5;\n"
        "cvt.u64.u32 %rd6, %r1;\ncvta.shared.u64 %rd6, %rd6;\n";
    to = "%rd5";
    barrier = "%rd6";
  } else {
    body += "mapa.shared::cluster.u32 %r3, %r3, 0;\n";
  }
  body += std::string("st.async") + (s.generic ? "" : ".weak.shared::cluster") +
          ".mbarrier::complete_tx::bytes" + (s.vector == 1 ? "" : ".v" + std::to_string(s.vector)) +
          "." + s.type + " [" + to + "], " + (s.vector == 1 ? list : "{" + list + "}") + ", [" +
          barrier + "];\n";
  body += kWait;
  body += "mul.lo.u32 %r4, %r0, " + size + ";\nadd.u32 %r4, %r2, %r4;\nadd.u64 %rd7, %rd2, %rd3;\n";
  for (unsigned i = 0; i < bytes; i += 4) {
    std::string at = std::to_string(i);
    body += "ld.shared.b32 %r5, [%r4+" + at + "];\nst.global.b32 [%rd7+" + at + "], %r5;\n";
  }
  std::vector<uint64_t> input(kThreads * bytes / 8);
  for (size_t i = 0; i < input.size(); ++i) input[i] = noise(i);
  std::vector<uint64_t> want(input.size());
  auto* from = reinterpret_cast<const uint8_t*>(input.data());
  for (size_t t = 0; t < kThreads; ++t) {
    std::memcpy(reinterpret_cast<uint8_t*>(want.data()) + (kThreads - 1 - t) * bytes,
                from + t * bytes, bytes);
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Ran r = run(body, input, want.size(), seed, seed % 2 == 0 ? Checks::all : Checks::none);
    ASSERT_EQ(r.result.status, LaunchStatus::ok) << r.errors;
    EXPECT_EQ(r.out, want) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StoreAsync,
                         testing::Values(Store{"b32", 1, 1, false}, Store{"u32", 1, 1, true},
                                         Store{"s32", 1, 2, false}, Store{"b32", 1, 4, true},
                                         Store{"b64", 2, 1, false}, Store{"u64", 2, 1, true},
                                         Store{"s64", 2, 2, false}, Store{"f32", 1, 4, false},
                                         Store{"f64", 2, 2, true}),
                         [](const auto& info) {
                           return std::string(info.param.type) + "x" +
                                  std::to_string(info.param.vector) +
                                  (info.param.generic ? "generic" : "");
                         });

struct Reduction {
  const char* op;
  const char* type;
  bool wide;
  std::function<uint64_t(uint64_t, uint64_t)> apply;
};

// All threads reduce into four places; the results don't depend on the order.
TEST(RedAsync, EveryOperation) {
  auto s32 = [](uint64_t v) { return static_cast<int32_t>(v); };
  const Reduction kReductions[] = {
      {"add", "u32", false, [](uint64_t a, uint64_t b) { return (a + b) & 0xffffffffu; }},
      {"add", "s32", false, [](uint64_t a, uint64_t b) { return (a + b) & 0xffffffffu; }},
      {"add", "u64", true, [](uint64_t a, uint64_t b) { return a + b; }},
      {"min", "u32", false, [](uint64_t a, uint64_t b) { return std::min(a, b); }},
      {"max", "u32", false, [](uint64_t a, uint64_t b) { return std::max(a, b); }},
      {"min", "s32", false, [&](uint64_t a, uint64_t b) { return s32(a) < s32(b) ? a : b; }},
      {"max", "s32", false, [&](uint64_t a, uint64_t b) { return s32(a) > s32(b) ? a : b; }},
      {"and", "b32", false, [](uint64_t a, uint64_t b) { return a & b; }},
      {"or", "b32", false, [](uint64_t a, uint64_t b) { return a | b; }},
      {"xor", "b32", false, [](uint64_t a, uint64_t b) { return a ^ b; }},
      // The bound is 5 for all: see below.
      {"inc", "u32", false, [](uint64_t a, uint64_t b) { return a >= b ? 0 : a + 1; }},
      {"dec", "u32", false, [](uint64_t a, uint64_t b) { return a == 0 || a > b ? b : a - 1; }},
  };
  for (const Reduction& c : kReductions) {
    bool bounded = std::string(c.op) == "inc" || std::string(c.op) == "dec";
    std::string bits = c.wide ? "64" : "32", reg = c.wide ? "%rd" : "%r";
    std::string body =
        "mul.wide.u32 %rd3, %r0, 8;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd7, %rd2, %rd3;\n"
        "shl.b32 %r4, %r0, 3;\nadd.u32 %r4, %r2, %r4;\nsetp.lt.u32 %p2, %r0, 4;\n"
        "@%p2 ld.global.b64 %rd8, [%rd4+512];\n@%p2 st.shared.b64 [%r4], %rd8;\n" +
        init(kThreads * (c.wide ? 8 : 4)) + "ld.global.b" + bits + " " + reg + "10, [%rd4];\n" +
        "and.b32 %r3, %r0, 3;\nshl.b32 %r3, %r3, 3;\nadd.u32 %r3, %r2, %r3;\n"
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." +
        c.op + "." + c.type + " [%r3], " + reg + "10, [%r1];\n" + kWait + "@%p2 ld.shared.b" +
        bits + " " + reg + "11, [%r4];\n@%p2 st.global.b" + bits + " [%rd7], " + reg + "11;\n";
    std::vector<uint64_t> input(kThreads + 4);
    for (size_t i = 0; i < input.size(); ++i) {
      input[i] = bounded ? 5 : c.wide ? noise(i) : noise(i) & 0xffffffffu;
      if (bounded && i >= kThreads) input[i] = i % 4 * 3;
    }
    std::vector<uint64_t> want(input.begin() + kThreads, input.end());
    for (size_t t = 0; t < kThreads; ++t) want[t % 4] = c.apply(want[t % 4], input[t]);
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Ran r = run(body, input, 4, seed);
      ASSERT_EQ(r.result.status, LaunchStatus::ok) << c.op << c.type << r.errors;
      EXPECT_EQ(r.out, want) << c.op << c.type << seed;
    }
  }
}

// Without a seed the bytes land when somebody waits; the checks tell who looks before.
TEST(StoreAsync, LandsLate) {
  std::string body = "mov.u32 %r5, 7;\n@%p3 st.shared.b32 [%r2], %r5;\n" + init(4) +
                     "@!%p3 bra E;\n"
                     "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], 9, [%r1];\n"
                     "ld.shared.b32 %r6, [%r2];\nst.global.b32 [%rd2], %r6;\n" +
                     kWait + "ld.shared.b32 %r6, [%r2];\nst.global.b32 [%rd2+8], %r6;\nE:\n";
  Ran quiet = run(body, {0}, 2, 0, Checks::none);
  ASSERT_EQ(quiet.result.status, LaunchStatus::ok) << quiet.errors;
  EXPECT_EQ(quiet.out, (std::vector<uint64_t>{7, 9}));
  Ran checked = run(body, {0}, 2);
  EXPECT_TRUE(checked.id == DiagId::SimAsyncUndelivered) << checked.errors;
}

TEST(StoreAsync, Faults) {
  const std::string kStore = "st.async.shared::cluster.mbarrier::complete_tx::bytes.";
  auto fault = [&](const std::string& instruction) {
    Ran r = run(init(8) + "@%p3 " + instruction + "\n", {0}, 1);
    EXPECT_NE(r.result.status, LaunchStatus::ok) << instruction;
    return r.id;
  };
  EXPECT_TRUE(fault(kStore + "u64 [%r2+4], 1, [%r1];") == DiagId::SimMisaligned);
  EXPECT_TRUE(fault(kStore + "v4.u32 [%r2+8], {%r0, %r0, %r0, %r0}, [%r1];") ==
              DiagId::SimMisaligned);
  EXPECT_TRUE(fault(kStore + "u32 [%r2+4096], 1, [%r1];") == DiagId::SimOutOfBounds);
  EXPECT_TRUE(fault(kStore + "u32 [%r2], 1, [%r2+8];") == DiagId::SimMbarrierMissing);
  // A generic address in global memory.
  EXPECT_TRUE(fault("st.async.mbarrier::complete_tx::bytes.u32 [%rd2], 1, [%rd2];") ==
              DiagId::SimWrongWindow);
  // Nobody waits.
  EXPECT_TRUE(fault(kStore + "u64 [%r2], 1, [%r1];") == DiagId::SimAsyncExit);
}

// More than 128 bits, and the forms for global memory, are no instructions here.
TEST(StoreAsync, RefusedForms) {
  for (const char* text :
       {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r2], {%rd1, %rd1, %rd1, "
        "%rd1}, [%r1];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r2], %r1, [%r1];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r2], %r1;",
        "st.async.release.gpu.global.u32 [%rd1], %r1;",
        "red.async.relaxed.cta.mbarrier::complete_tx::bytes.add.u32 [%r2], %r1, [%r1];",
        "red.async.release.gpu.global.add.u32 [%rd1], %r1;"}) {
    EXPECT_FALSE(Harness(kernel(text)).ok()) << text;
  }
}

}  // namespace
}  // namespace mtlc::sim
