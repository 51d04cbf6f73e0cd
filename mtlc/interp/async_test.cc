// Asynchronous copies: when the data arrives, and what is reported.

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "mtlc/interp/test_util.h"

namespace mtlc::interp {
namespace {

using Words = std::vector<uint32_t>;

// %tile has 64 words, of which each of the 16 threads has four, at %mine; %from are its four of
// %in.
std::string kernelOf(std::string_view body) {
  return absl::StrFormat(R"(
kernel @k(%%in: ptr<global>, %%out: ptr<global>) {
^entry:
  %%tile = alloc.workgroup i32[64] : ptr<workgroup>
  %%t = gpu.thread_id x : i32
  %%t64 = zext %%t : i32 to i64
  %%zero = const 0 : i32
  %%seven = const 7 : i32
  %%four = const 4 : i64
  %%one64 = const 1 : i64
  %%first = mul %%t64, %%four : i64
  %%mine = ptr.add %%tile, %%first x i32 : ptr<workgroup>
  %%from = ptr.add %%in, %%first x i32 : ptr<global>
  %%to = ptr.add %%out, %%t64 x i32 : ptr<global>
%s  ret
}
)",
                         body);
}

constexpr std::string_view kCopy =
    "  async.copy %mine, %from, 4 x i32 transaction 16 cache global\n  async.commit\n";

class Async : public ::testing::Test {
 protected:
  // Runs with one seed; gives %out.
  Words run(std::string_view body, uint64_t seed = 0) {
    bench_.emplace(kernelOf(body));
    Words in(68);
    for (uint32_t i = 0; i < in.size(); ++i) in[i] = 100 + i;
    bench_->spec.block = {16};
    bench_->spec.options.seed = seed;
    bench_->spec.options.checks = checks_;
    in_ = bench_->add(in);
    BufferId out = bench_->add(Words(16));
    bench_->spec.args = {KernelArg::buffer(in_), KernelArg::buffer(out)};
    result_ = bench_->run();
    return bench_->read<uint32_t>(out);
  }
  // The one fault must be this, and say `part`.
  void expectFault(std::string_view body, DiagId id, FaultKind kind, std::string_view part) {
    for (uint64_t seed : {0, 1, 2, 3}) {
      run(body, seed);
      ASSERT_EQ(result_.faults.size(), 1u) << body;
      EXPECT_EQ(result_.faults[0].id, id);
      EXPECT_EQ(result_.faults[0].kind, kind);
      const std::string text = bench_->text(result_.faults[0]);
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }

  std::optional<Bench> bench_;
  LaunchResult result_;
  BufferId in_ = 0;
  CheckMask checks_ = kCheckAll;
};

TEST_F(Async, DataArrivesAtTheWait) {
  // Neighbours read after a barrier.
  for (uint64_t seed : {0, 1, 2}) {
    Words out = run(std::string(kCopy) + R"(
  async.wait 0
  barrier {workgroup} seq_cst
  %last = const 63 : i64
  %i = sub %last, %t64 : i64
  %p = ptr.add %tile, %i x i32 : ptr<workgroup>
  %v = load i32, %p : ptr<workgroup>
  store i32, %v, %to : ptr<global>
)",
                    seed);
    EXPECT_TRUE(result_.ok());
    for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], 163 - i);
  }
}

// A wait that leaves a group under way delivers the older ones only. Without checks one can look.
TEST_F(Async, WaitLeavesTheYoungestGroups) {
  checks_ = kCheckNone;
  for (uint64_t seed : {0, 1, 2}) {
    for (uint32_t left : {0, 1, 2, 3}) {
      Words out = run(absl::StrFormat(R"(
  %%two64 = const 2 : i64
  %%three64 = const 3 : i64
  %%m1 = ptr.add %%mine, %%one64 x i32 : ptr<workgroup>
  %%m2 = ptr.add %%mine, %%two64 x i32 : ptr<workgroup>
  %%m3 = ptr.add %%mine, %%three64 x i32 : ptr<workgroup>
  store i32, %%seven, %%mine : ptr<workgroup>
  store i32, %%seven, %%m1 : ptr<workgroup>
  store i32, %%seven, %%m2 : ptr<workgroup>
  store i32, %%seven, %%m3 : ptr<workgroup>
  async.copy %%mine, %%in, 1 x i32 transaction 4 cache all
  async.commit
  async.copy %%m1, %%in, 1 x i32 transaction 4 cache all
  async.copy %%m2, %%in, 1 x i32 transaction 4 cache all
  async.commit
  async.commit
  async.copy %%m3, %%in, 1 x i32 transaction 4 cache all
  async.wait %d
  %%v0 = load i32, %%mine : ptr<workgroup>
  %%v1 = load i32, %%m1 : ptr<workgroup>
  %%v2 = load i32, %%m2 : ptr<workgroup>
  %%v3 = load i32, %%m3 : ptr<workgroup>
  %%ten = const 1000 : i32
  %%s0 = mul %%v0, %%ten : i32
  %%s1 = add %%v1, %%s0 : i32
  %%s2 = mul %%s1, %%ten : i32
  %%s3 = add %%v2, %%s2 : i32
  %%s4 = mul %%s3, %%ten : i32
  %%s5 = add %%v3, %%s4 : i32
  store i32, %%s5, %%to : ptr<global>
)",
                                      left),
                      seed);
      // Three groups, the last of them empty; what is not committed stays under way.
      const uint64_t wanted[] = {100'100'100'007, 100'100'100'007, 100'007'007'007, 7'007'007'007};
      for (uint32_t v : out) EXPECT_EQ(v, static_cast<uint32_t>(wanted[left])) << left;
    }
  }
}

// The source may be read at any time before the wait: both values are seen, and a report warns.
TEST_F(Async, SourceThatChangesUnderWay) {
  const std::string body = std::string(kCopy) + R"(
  store i32, %seven, %from : ptr<global>
  async.wait 0
  %v = load i32, %mine : ptr<workgroup>
  store i32, %v, %to : ptr<global>
)";
  expectFault(body, DiagId::FaultAsyncSource, FaultKind::Async,
              "which an asynchronous copy of this thread reads");
  checks_ = kCheckNone;
  std::set<uint32_t> seen;
  for (uint64_t seed = 1; seed < 20; ++seed) seen.insert(run(body, seed)[3]);
  EXPECT_EQ(seen, (std::set<uint32_t>{7, 112}));
  EXPECT_EQ(run(body)[3], 7u);  // Seed 0 reads at the wait.
}

TEST_F(Async, DestinationIsUsedUnderWay) {
  expectFault(std::string(kCopy) + R"(
  %v = load i32, %mine : ptr<workgroup>
  async.wait 0
)",
              DiagId::FaultAsyncTarget, FaultKind::Async,
              "which an asynchronous copy of this thread fills");
  expectFault(std::string(kCopy) + R"(
  store i32, %seven, %mine : ptr<workgroup>
  async.wait 0
)",
              DiagId::FaultAsyncTarget, FaultKind::Async, "[async] write of 4 bytes");
  expectFault(std::string(kCopy) + R"(
  %a = atomic.rmw add i32, %mine, %seven : ptr<workgroup> relaxed workgroup
  async.wait 0
)",
              DiagId::FaultAsyncTarget, FaultKind::Async, "write of 4 bytes");
  // A second copy to the same place.
  expectFault(std::string(kCopy) + std::string(kCopy) + "  async.wait 0\n",
              DiagId::FaultAsyncTarget, FaultKind::Async, "write of 16 bytes");
  // Of another thread, after a barrier but before the wait.
  const std::string theirs = std::string(kCopy) + R"(
  barrier {workgroup} seq_cst
  %third = cmp.eq %t, %zero : i32
  br %third, ^look, ^on
^look:
  %p = ptr.add %tile, %four x i32 : ptr<workgroup>
  %v = load i32, %p : ptr<workgroup>
  jump ^on
^on:
  async.wait 0
)";
  run(theirs);
  ASSERT_EQ(result_.faults.size(), 1u);
  EXPECT_EQ(result_.faults[0].id, DiagId::FaultAsyncTarget);
  EXPECT_NE(bench_->text(result_.faults[0]).find("an asynchronous copy of thread (1,0,0) fills"),
            std::string::npos);
  // In another order it comes after the wait, and is as wrong.
  for (uint64_t seed = 1; seed < 10; ++seed) {
    run(theirs, seed);
    ASSERT_EQ(result_.faults.size(), 1u);
    EXPECT_TRUE(result_.faults[0].id == DiagId::FaultAsyncTarget ||
                result_.faults[0].id == DiagId::FaultAsyncUnordered);
    EXPECT_EQ(result_.faults[0].kind, FaultKind::Async);
  }
}

TEST_F(Async, OthersNeedABarrierAfterTheWait) {
  const std::string body = std::string(kCopy) + R"(
  async.wait 0
  %fifteen = const 15 : i64
  %i = sub %fifteen, %t64 : i64
  %j = mul %i, %four : i64
  %p = ptr.add %tile, %j x i32 : ptr<workgroup>
  %v = load i32, %p : ptr<workgroup>
  store i32, %v, %to : ptr<global>
)";
  for (CheckMask checks : {kCheckAll, checkBit(FaultKind::Async)}) {
    checks_ = checks;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      run(body, seed);
      ASSERT_FALSE(result_.ok());
      for (const Fault& fault : result_.faults) {
        EXPECT_EQ(fault.id, DiagId::FaultAsyncUnordered);
        EXPECT_EQ(fault.kind, FaultKind::Async);
      }
    }
  }
  checks_ = checkBit(FaultKind::Race);  // It is no race.
  run(body);
  EXPECT_TRUE(result_.ok());
}

TEST_F(Async, NothingIsPendingAtTheEnd) {
  expectFault(kCopy, DiagId::FaultAsyncPending, FaultKind::Async, "1 committed and 0 uncommitted");
  expectFault("  async.copy %mine, %from, 4 x i32 transaction 4 cache all\n  async.wait 0\n",
              DiagId::FaultAsyncPending, FaultKind::Async, "0 committed and 1 uncommitted");
}

TEST_F(Async, AtMostEightGroups) {
  std::string body;
  for (int i = 0; i < 9; ++i) body += "  async.commit\n";
  expectFault(body + "  async.wait 0\n", DiagId::FaultAsyncGroups, FaultKind::Async,
              "9 groups of asynchronous copies are under way; the most is 8");
  run(body.substr(0, body.size() * 8 / 9) + "  async.wait 7\n  async.commit\n  async.wait 0\n");
  EXPECT_TRUE(result_.ok());
}

TEST_F(Async, AddressesAreWholeTransactions) {
  const char* kBadTarget = R"(
  %odd = ptr.add %mine, %one64 x i32 : ptr<workgroup>
  async.copy %odd, %from, 2 x i32 transaction 8 cache all
  async.commit
  async.wait 0
)";
  expectFault(kBadTarget, DiagId::FaultMisaligned, FaultKind::Mem, "not a multiple of 8");
  expectFault(R"(
  %odd = ptr.add %from, %one64 x i32 : ptr<global>
  async.copy %mine, %odd, 4 x i32 transaction 16 cache all
  async.commit
  async.wait 0
)",
              DiagId::FaultMisaligned, FaultKind::Mem, "read of 16 bytes at global");
  expectFault(R"(
  %far = const 100000 : i64
  %out1 = ptr.add %from, %far x i32 : ptr<global>
  async.copy %mine, %out1, 4 x i32 transaction 16 cache all
  async.commit
  async.wait 0
)",
              DiagId::FaultOutOfBounds, FaultKind::Mem, "read of 16 bytes out of bounds at global");
}

// Bits stay uninitialised on their way.
TEST_F(Async, UninitialisedBitsTravel) {
  Bench bench(kernelOf(std::string(kCopy) + R"(
  async.wait 0
  %v = load i32, %mine : ptr<workgroup>
  %c = cmp.eq %v, %zero : i32
  br %c, ^a, ^a
^a:
)"));
  bench.spec.block = {16};
  bench.spec.args = {KernelArg::buffer(bench.addOutput<uint32_t>(64)),
                     KernelArg::buffer(bench.addOutput<uint32_t>(16))};
  for (uint64_t seed : {0, 1, 2, 3}) {
    bench.spec.options.seed = seed;
    LaunchResult result = bench.run();
    ASSERT_EQ(result.faults.size(), 1u);
    EXPECT_EQ(result.faults[0].id, DiagId::FaultUninitBranch);
  }
}

}  // namespace
}  // namespace mtlc::interp
