// Operations that threads execute together.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_format.h"
#include "mtlc/interp/test_util.h"
#include "mtlc/support/random.h"

namespace mtlc::interp {
namespace {

using Words = std::vector<uint32_t>;

// out[i] = OP of in[i] and lane[i]; i is the linear id of the thread.
std::string kernelOf(std::string_view operations) {
  return std::string(R"(
kernel @k(%out: ptr<global>, %in: ptr<global>, %lanes: ptr<global>) {
^entry:
  %x = gpu.thread_id x : i32
  %y = gpu.thread_id y : i32
  %z = gpu.thread_id z : i32
  %dx = gpu.block_dim x : i32
  %dy = gpu.block_dim y : i32
  %i0 = mul %z, %dy : i32
  %i1 = add %i0, %y : i32
  %i2 = mul %i1, %dx : i32
  %i = add %i2, %x : i32
  %i64 = sext %i : i32 to i64
  %pi = ptr.add %in, %i64 x i32 : ptr<global>
  %v = load i32, %pi : ptr<global>
  %pl = ptr.add %lanes, %i64 x i32 : ptr<global>
  %lane = load i32, %pl : ptr<global>
  %po = ptr.add %out, %i64 x i32 : ptr<global>
)") + std::string(operations) +
         "  store i32, %r, %po : ptr<global>\n  ret\n}\n";
}

struct Shape {
  Dim3 block;
  uint32_t size;
};
// Whole subgroups, partial last ones, one thread; blocks of one to three dimensions.
const Shape kShapes[] = {
    {{64, 1, 1}, 32}, {{64, 1, 1}, 8},    {{64, 1, 1}, 64},  {{5, 7, 3}, 16},
    {{33, 1, 1}, 32}, {{1, 1, 1}, 32},    {{10, 10, 1}, 64}, {{7, 3, 2}, 1},
    {{9, 1, 1}, 5},   {{100, 2, 1}, 128}, {{31, 1, 1}, 32},  {{16, 16, 1}, 8},
};

// The result of each thread, given values and lanes of its subgroup and its own lane.
using Expected = std::function<uint32_t(const Words& values, const Words& lanes, uint32_t own)>;

void check(std::string_view operations, uint64_t laneLimit, const Expected& expected) {
  Bench bench(kernelOf(operations));
  SplitMix64 random(7);
  for (const Shape& shape : kShapes) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const uint64_t threads = shape.block.count();
      Words in, lanes;
      for (uint64_t i = 0; i < threads; ++i) {
        in.push_back(static_cast<uint32_t>(random.next()));
        lanes.push_back(static_cast<uint32_t>(random.below(laneLimit)));
      }
      bench.spec.block = shape.block;
      bench.spec.options.subgroupSize = shape.size;
      bench.spec.options.seed = seed;
      BufferId out = bench.addOutput<uint32_t>(threads);
      bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(bench.add(in)),
                         KernelArg::buffer(bench.add(lanes))};
      bench.runClean();
      Words got = bench.read<uint32_t>(out);
      for (uint64_t i = 0; i < threads; ++i) {
        const uint64_t first = i / shape.size * shape.size;
        const uint64_t end = std::min(first + shape.size, threads);
        ASSERT_EQ(got[i], expected(Words(in.begin() + first, in.begin() + end),
                                   Words(lanes.begin() + first, lanes.begin() + end),
                                   static_cast<uint32_t>(i - first)))
            << "thread " << i << " of " << threads << ", subgroups of " << shape.size;
      }
    }
  }
}

TEST(Subgroup, ShuffleTakesTheValueOfALiveLaneOrKeepsItsOwn) {
  check("  %r = subgroup.shuffle %v, %lane : i32\n", 160,
        [](const Words& values, const Words& lanes, uint32_t own) {
          return lanes[own] < values.size() ? values[lanes[own]] : values[own];
        });
}

TEST(Subgroup, BroadcastSendsOneLane) {
  check("  %zero = const 0 : i32\n  %r = subgroup.broadcast %v, %zero : i32\n", 1,
        [](const Words& values, const Words&, uint32_t) { return values[0]; });
}

TEST(Subgroup, ReductionsCombineAllLiveLanes) {
  struct Case {
    const char* kind;
    std::function<uint32_t(uint32_t, uint32_t)> combine;
  };
  auto asSigned = [](uint32_t v) { return static_cast<int32_t>(v); };
  const Case kCases[] = {
      {"add", [](uint32_t a, uint32_t b) { return a + b; }},
      {"umin", [](uint32_t a, uint32_t b) { return a < b ? a : b; }},
      {"umax", [](uint32_t a, uint32_t b) { return a < b ? b : a; }},
      {"smin", [=](uint32_t a, uint32_t b) { return asSigned(a) < asSigned(b) ? a : b; }},
      {"smax", [=](uint32_t a, uint32_t b) { return asSigned(a) < asSigned(b) ? b : a; }},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.kind);
    check(std::string("  %r = subgroup.reduce ") + c.kind + " %v : i32\n", 1,
          [&](const Words& values, const Words&, uint32_t) {
            uint32_t result = values[0];
            for (size_t i = 1; i < values.size(); ++i) result = c.combine(result, values[i]);
            return result;
          });
  }
}

TEST(Subgroup, ScansAddTheLanesBelow) {
  check("  %r = subgroup.scan_inclusive add %v : i32\n", 1,
        [](const Words& values, const Words&, uint32_t own) {
          uint32_t sum = 0;
          for (uint32_t i = 0; i <= own; ++i) sum += values[i];
          return sum;
        });
  check("  %r = subgroup.scan_exclusive add %v : i32\n", 1,
        [](const Words& values, const Words&, uint32_t own) {
          uint32_t sum = 0;
          for (uint32_t i = 0; i < own; ++i) sum += values[i];
          return sum;
        });
}

TEST(Subgroup, BallotGivesWordsOfTheMask) {
  check(R"(
  %one = const 1 : i32
  %bit = and %v, %one : i32
  %zero = const 0 : i32
  %vote = cmp.ne %bit, %zero : i32
  %r = subgroup.ballot %vote, %lane : i32
)",
        6, [](const Words& values, const Words& words, uint32_t own) {
          uint32_t mask = 0;
          for (size_t i = 0; i < values.size(); ++i) {
            if (i / 32 == words[own] && (values[i] & 1) != 0) mask |= 1u << (i % 32);
          }
          return mask;
        });
}

TEST(Subgroup, AnyAndAll) {
  for (std::string_view vote : {"any", "all"}) {
    for (uint32_t threshold : {1u << 28, 0xF0000000u}) {
      check(absl::StrFormat(R"(
  %%limit = const %d : i32
  %%p = cmp.ult %%v, %%limit : i32
  %%vote = subgroup.%s %%p
  %%r = zext %%vote : i1 to i32
)",
                            static_cast<int32_t>(threshold), vote),
            1, [&](const Words& values, const Words&, uint32_t) -> uint32_t {
              size_t count = 0;
              for (uint32_t v : values) count += v < threshold;
              return vote == "any" ? count > 0 : count == values.size();
            });
    }
  }
}

TEST(Subgroup, LocalIdAndSize) {
  for (const Shape& shape : kShapes) {
    Bench bench(kernelOf(R"(
  %id = subgroup.local_id : i32
  %size = subgroup.size : i32
  %k = const 1000 : i32
  %m = mul %size, %k : i32
  %r = add %m, %id : i32
)"));
    const uint64_t threads = shape.block.count();
    bench.spec.block = shape.block;
    bench.spec.options.subgroupSize = shape.size;
    BufferId out = bench.addOutput<uint32_t>(threads);
    BufferId in = bench.add(Words(threads));
    bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(in), KernelArg::buffer(in)};
    bench.runClean();
    Words got = bench.read<uint32_t>(out);
    for (uint64_t i = 0; i < threads; ++i) EXPECT_EQ(got[i], 1000 * shape.size + i % shape.size);
  }
}

// Lanes that have ended are not live: the rest works together, and shuffles from them give the
// caller's own value.
TEST(Subgroup, EndedLanesAreNotLive) {
  Bench bench(kernelOf(R"(
  %one = const 1 : i32
  %bit = and %i, %one : i32
  %odd = cmp.eq %bit, %one : i32
  br %odd, ^out, ^in
^out:
  ret
^in:
  %s = subgroup.shuffle %v, %lane : i32
  %t = subgroup.reduce add %one : i32
  %k = const 100 : i32
  %u = mul %t, %k : i32
  %r = add %s, %u : i32
)"));
  bench.spec.block = {16};
  bench.spec.options.subgroupSize = 8;
  BufferId out = bench.add(Words(16, 5));
  Words in(16), lanes(16);
  for (uint32_t i = 0; i < 16; ++i) {
    in[i] = i;
    lanes[i] = (i + i / 2 % 2) % 8;  // Own lane or the next one, which has ended.
  }
  lanes[8] = 6;
  bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(bench.add(in)),
                     KernelArg::buffer(bench.add(lanes))};
  bench.runClean();
  Words got = bench.read<uint32_t>(out);
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(got[i], i % 2 ? 5 : 400 + (i == 8 ? 14 : i)) << i;
  }
}

DiagId onlyFault(Bench& bench, std::string* text) {
  LaunchResult result = bench.run();
  EXPECT_EQ(result.faults.size(), 1u);
  if (result.faults.empty()) return DiagId::FaultStepLimit;
  EXPECT_EQ(result.faults[0].kind, FaultKind::Sync);
  *text = bench.text(result.faults[0]);
  return result.faults[0].id;
}

void bindBuffers(Bench& bench, const Words& in, const Words& lanes) {
  bench.spec.args = {KernelArg::buffer(bench.addOutput<uint32_t>(in.size())),
                     KernelArg::buffer(bench.add(in)), KernelArg::buffer(bench.add(lanes))};
}

TEST(SubgroupFaults, DivergenceNamesWhoIsMissing) {
  std::string text;
  // Half of the lanes at another operation of the same kind.
  {
    Bench bench(kernelOf(R"(
  %three = const 3 : i32
  %c = cmp.eq %i, %three : i32
  br %c, ^a, ^b
^a:
  %ra = subgroup.reduce add %v : i32
  jump ^end(%ra)
^b:
  %rb = subgroup.reduce umax %v : i32
  jump ^end(%rb)
^end(%r: i32):
)"));
    bench.spec.block = {8};
    bindBuffers(bench, Words(8), Words(8));
    EXPECT_EQ(onlyFault(bench, &text), DiagId::FaultCollectiveDivergence);
    EXPECT_NE(text.find("not all live threads of the subgroup wait at this subgroup.reduce: 7 of 8 "
                        "do, but thread (3,0,0) waits at another operation, subgroup.reduce"),
              std::string::npos)
        << text;
  }
  // A barrier is no collective.
  {
    Bench bench(kernelOf(R"(
  %three = const 3 : i32
  %c = cmp.eq %i, %three : i32
  br %c, ^a, ^b
^a:
  barrier {workgroup} seq_cst
  jump ^end(%v)
^b:
  %rb = subgroup.reduce umax %v : i32
  jump ^end(%rb)
^end(%r: i32):
)"));
    bench.spec.block = {8};
    bindBuffers(bench, Words(8), Words(8));
    EXPECT_EQ(onlyFault(bench, &text), DiagId::FaultCollectiveDivergence);
    EXPECT_NE(text.find("thread (3,0,0) waits at a barrier"), std::string::npos) << text;
  }
  // Without the check each group works for itself.
  {
    Bench bench(kernelOf(R"(
  %three = const 3 : i32
  %one = const 1 : i32
  %c = cmp.ult %i, %three : i32
  br %c, ^a, ^b
^a:
  %ra = subgroup.reduce add %one : i32
  jump ^end(%ra)
^b:
  %rb = subgroup.reduce add %one : i32
  jump ^end(%rb)
^end(%r: i32):
)"));
    bench.spec.block = {8};
    bench.spec.options.checks = kCheckNone;
    bindBuffers(bench, Words(8), Words(8));
    bench.runClean();
    EXPECT_EQ(bench.read<uint32_t>(bench.spec.args[0].bufferId), (Words{3, 3, 3, 5, 5, 5, 5, 5}));
  }
}

// The same operation through two calls is not together.
TEST(SubgroupFaults, CallStacksAreCompared) {
  Bench bench(
      "func @f(%v: i32) -> i32 {\n^entry:\n  %r = subgroup.reduce add %v : i32\n"
      "  ret %r\n}\n" +
      kernelOf(R"(
  %three = const 3 : i32
  %c = cmp.eq %i, %three : i32
  br %c, ^a, ^b
^a:
  %ra = call @f(%v) : i32
  jump ^end(%ra)
^b:
  %rb = call @f(%v) : i32
  jump ^end(%rb)
^end(%r: i32):
)"));
  bench.spec.block = {8};
  bindBuffers(bench, Words(8), Words(8));
  std::string text;
  EXPECT_EQ(onlyFault(bench, &text), DiagId::FaultCollectiveDivergence);
  EXPECT_NE(text.find("thread (3,0,0) waits in another call"), std::string::npos) << text;
}

TEST(SubgroupFaults, BroadcastLanes) {
  struct Case {
    Words lanes;
    std::string_view why;
  };
  const Case kCases[] = {
      {Words(8, 8), "lane 8 is not in a subgroup of 8"},
      {Words(8, 0xFFFFFFFF), "lane 4294967295 is not in a subgroup of 8"},
      {{1, 1, 1, 2, 1, 1, 1, 1}, "thread (0,0,0) names lane 1, but thread (3,0,0) lane 2"},
  };
  for (const Case& c : kCases) {
    Bench bench(kernelOf("  %r = subgroup.broadcast %v, %lane : i32\n"));
    bench.spec.block = {8};
    bench.spec.options.subgroupSize = 8;
    bindBuffers(bench, Words(8), c.lanes);
    std::string text;
    EXPECT_EQ(onlyFault(bench, &text), DiagId::FaultBroadcastLane);
    EXPECT_NE(text.find(c.why), std::string::npos) << text;
  }
  // Partial: a lane of the subgroup that no thread has.
  Bench bench(kernelOf("  %r = subgroup.broadcast %v, %lane : i32\n"));
  bench.spec.block = {6};
  bench.spec.options.subgroupSize = 8;
  bindBuffers(bench, Words(6), Words(6, 7));
  std::string text;
  EXPECT_EQ(onlyFault(bench, &text), DiagId::FaultBroadcastLane);
  EXPECT_NE(text.find("lane 7 is not live"), std::string::npos) << text;
}

// A thread that spins for another that waits at a collective doesn't hold it up.
TEST(Subgroup, CollectivesGoOnBesideABusySubgroup) {
  Bench bench(kernelOf(R"(
  %four = const 4 : i32
  %first = cmp.ult %i, %four : i32
  br %first, ^spin, ^work
^spin:
  %one = const 1 : i32
  %big = const 100000 : i32
  jump ^loop(%big)
^loop(%left: i32):
  %less = sub %left, %one : i32
  %nil = const 0 : i32
  %done = cmp.eq %less, %nil : i32
  br %done, ^end(%v), ^loop(%less)
^work:
  %sum = subgroup.reduce add %v : i32
  jump ^end(%sum)
^end(%r: i32):
)"));
  bench.spec.block = {8};
  bench.spec.options.subgroupSize = 4;
  bindBuffers(bench, {1, 2, 3, 4, 5, 6, 7, 8}, Words(8));
  bench.runClean();
  EXPECT_EQ(bench.read<uint32_t>(bench.spec.args[0].bufferId), (Words{1, 2, 3, 4, 26, 26, 26, 26}));
}

}  // namespace
}  // namespace mtlc::interp
