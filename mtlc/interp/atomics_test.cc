// Atomics and fences: litmus tests over many seeds, values, and the race check.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "mtlc/interp/test_util.h"

namespace mtlc::interp {
namespace {

using Words = std::vector<uint32_t>;
using Outcome = std::vector<uint32_t>;

// A step of a litmus test's thread, as "W x 1 release": store; "R x acquire": load, whose value is
// the next number of the outcome; "A x 1 relaxed": add, with the old value as the next number;
// "F acquire": fence. What follows the order is a scope, or a fence's regions and scope.
struct Litmus {
  const char* name;
  std::vector<std::vector<const char*>> threads;
  std::vector<Outcome> forbidden;
  std::vector<Outcome> seen;  // Must occur.
};

std::string kernelOf(const Litmus& test) {
  std::string text = R"(
kernel @k(%out: ptr<global>, %mem: ptr<global>) {
^entry:
  %b = gpu.block_id x : i32
  %d = gpu.block_dim x : i32
  %t = gpu.thread_id x : i32
  %bd = mul %b, %d : i32
  %id = add %bd, %t : i32
  %x = ptr.add %mem, %zero64 x i32 : ptr<global>
  %y = ptr.add %mem, %one64 x i32 : ptr<global>
)";
  text = R"(
kernel @k(%out: ptr<global>, %mem: ptr<global>) {
^entry:
  %zero64 = const 0 : i64
  %one64 = const 1 : i64
)" + text.substr(text.find("  %b ="));
  unsigned result = 0;
  for (size_t i = 0; i < test.threads.size(); ++i) {
    absl::StrAppendFormat(&text,
                          "  %%n%d = const %d : i32\n  %%c%d = cmp.eq %%id, %%n%d : i32\n"
                          "  br %%c%d, ^thread%d, ^next%d\n^thread%d:\n",
                          i, i, i, i, i, i, i, i);
    std::string stores;
    for (size_t s = 0; s < test.threads[i].size(); ++s) {
      std::string word[4];
      std::string step = test.threads[i][s];
      for (size_t w = 0, at = 0; w < 4 && at < step.size(); ++w) {
        size_t end = w == 3 ? step.size() : std::min(step.find(' ', at), step.size());
        word[w] = step.substr(at, end - at);
        at = end + 1;
      }
      const std::string name = absl::StrFormat("%%v%d_%d", i, s);
      switch (step[0]) {
        case 'W':
          absl::StrAppendFormat(&text, "  %s = const %s : i32\n", name, word[2]);
          absl::StrAppendFormat(
              &text, "  atomic.store i32, %%%s, %s : ptr<global> %s\n", word[1], name,
              word[3].find(' ') == std::string::npos ? word[3] + " device" : word[3]);
          continue;
        case 'A':
          absl::StrAppendFormat(&text, "  %sc = const %s : i32\n", name, word[2]);
          absl::StrAppendFormat(&text,
                                "  %s = atomic.rmw add i32, %%%s, %sc : ptr<global> %s device\n",
                                name, word[1], name, word[3]);
          break;
        case 'R':
          absl::StrAppendFormat(&text, "  %s = atomic.load i32, %%%s : ptr<global> %s %s\n", name,
                                word[1], word[2], word[3].empty() ? "device" : word[3]);
          break;
        default:
          absl::StrAppendFormat(&text, "  fence {%s} %s %s\n",
                                word[3].empty() ? "workgroup, global" : word[3], word[1],
                                word[2].empty() ? "device" : word[2]);
          continue;
      }
      absl::StrAppendFormat(&stores,
                            "  %so = const %d : i64\n  %sp = ptr.add %%out, %so x i32 : "
                            "ptr<global>\n  store i32, %s, %sp : ptr<global>\n",
                            name, result++, name, name, name, name);
    }
    absl::StrAppendFormat(&text, "%s  ret\n^next%d:\n", stores, i);
  }
  return text + "  ret\n}\n";
}

unsigned resultsOf(const Litmus& test) {
  unsigned n = 0;
  for (const auto& thread : test.threads) {
    for (std::string_view step : thread) n += step[0] == 'R' || step[0] == 'A';
  }
  return n;
}

std::string textOf(const Outcome& outcome) {
  std::string text;
  for (uint32_t v : outcome) absl::StrAppendFormat(&text, "%d ", v);
  return text;
}

// What happens over many seeds, with the threads in one subgroup, in one block, or in blocks of
// their own. All are free of races.
void run(const Litmus& test) {
  SCOPED_TRACE(test.name);
  Bench bench(kernelOf(test));
  const uint32_t threads = static_cast<uint32_t>(test.threads.size());
  for (int placement = 0; placement < 3; ++placement) {
    std::set<Outcome> outcomes;
    bench.spec.grid = {placement == 2 ? threads : 1};
    bench.spec.block = {placement == 2 ? 1 : threads};
    bench.spec.options.subgroupSize = placement == 0 ? 32 : 1;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      bench.spec.options.seed = seed;
      BufferId out = bench.add(Words(resultsOf(test)));
      bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(bench.add(Words(2)))};
      bench.runClean();
      outcomes.insert(bench.read<uint32_t>(out));
    }
    for (const Outcome& o : test.forbidden) {
      EXPECT_EQ(outcomes.count(o), 0u) << "forbidden: " << textOf(o) << placement;
    }
    for (const Outcome& o : test.seen) {
      EXPECT_EQ(outcomes.count(o), 1u) << "never seen: " << textOf(o) << placement;
    }
    EXPECT_GT(outcomes.size(), 1u);
  }
}

TEST(Litmus, StoreBuffering) {
  run({"relaxed",
       {{"W x 1 relaxed", "R y relaxed"}, {"W y 1 relaxed", "R x relaxed"}},
       {},
       {{0, 0}, {0, 1}, {1, 0}, {1, 1}}});
  run({"release, acquire",
       {{"W x 1 release", "R y acquire"}, {"W y 1 release", "R x acquire"}},
       {},
       {{0, 0}, {0, 1}, {1, 0}, {1, 1}}});
  run({"seq_cst",
       {{"W x 1 seq_cst", "R y seq_cst"}, {"W y 1 seq_cst", "R x seq_cst"}},
       {{0, 0}},
       {{0, 1}, {1, 0}, {1, 1}}});
  run({"fences",
       {{"W x 1 relaxed", "F seq_cst", "R y relaxed"},
        {"W y 1 relaxed", "F seq_cst", "R x relaxed"}},
       {{0, 0}},
       {{0, 1}, {1, 0}, {1, 1}}});
  run({"weak fences",
       {{"W x 1 relaxed", "F acq_rel", "R y relaxed"},
        {"W y 1 relaxed", "F acq_rel", "R x relaxed"}},
       {},
       {{0, 0}, {1, 1}}});
  run({"one fence",
       {{"W x 1 relaxed", "F seq_cst", "R y relaxed"}, {"W y 1 relaxed", "R x relaxed"}},
       {},
       {{0, 0}}});
  run({"fences of the other region",
       {{"W x 1 relaxed", "F seq_cst device workgroup", "R y relaxed"},
        {"W y 1 relaxed", "F seq_cst device workgroup", "R x relaxed"}},
       {},
       {{0, 0}}});
}

TEST(Litmus, MessagePassing) {
  run({"relaxed",
       {{"W x 1 relaxed", "W y 1 relaxed"}, {"R y relaxed", "R x relaxed"}},
       {},
       {{0, 0}, {0, 1}, {1, 0}, {1, 1}}});
  run({"release, acquire",
       {{"W x 1 relaxed", "W y 1 release"}, {"R y acquire", "R x relaxed"}},
       {{1, 0}},
       {{0, 0}, {0, 1}, {1, 1}}});
  run({"seq_cst",
       {{"W x 1 seq_cst", "W y 1 seq_cst"}, {"R y seq_cst", "R x seq_cst"}},
       {{1, 0}},
       {{0, 0}, {0, 1}, {1, 1}}});
  run({"no acquire",
       {{"W x 1 relaxed", "W y 1 release"}, {"R y relaxed", "R x relaxed"}},
       {},
       {{1, 0}}});
  run({"no release",
       {{"W x 1 relaxed", "W y 1 relaxed"}, {"R y acquire", "R x relaxed"}},
       {},
       {{1, 0}}});
  run({"fences",
       {{"W x 1 relaxed", "F release", "W y 1 relaxed"},
        {"R y relaxed", "F acquire", "R x relaxed"}},
       {{1, 0}},
       {{0, 0}, {0, 1}, {1, 1}}});
  run({"fence and acquire",
       {{"W x 1 relaxed", "F acq_rel", "W y 1 relaxed"}, {"R y acquire", "R x relaxed"}},
       {{1, 0}},
       {{1, 1}}});
  run({"release and fence",
       {{"W x 1 relaxed", "W y 1 release"}, {"R y relaxed", "F acq_rel", "R x relaxed"}},
       {{1, 0}},
       {{1, 1}}});
  run({"fences of the other region",
       {{"W x 1 relaxed", "F release device workgroup", "W y 1 relaxed"},
        {"R y relaxed", "F acquire device workgroup", "R x relaxed"}},
       {},
       {{1, 0}}});
}

TEST(Litmus, Coherence) {
  run({"reads",
       {{"W x 1 relaxed", "W x 2 relaxed"}, {"R x relaxed", "R x relaxed"}},
       {{1, 0}, {2, 0}, {2, 1}},
       {{0, 1}, {0, 2}, {1, 2}, {0, 0}, {1, 1}, {2, 2}}});
  run({"own write",
       {{"W x 1 relaxed", "R x relaxed"}, {"W x 2 relaxed", "R x relaxed"}},
       {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 0}, {2, 1}},
       {{1, 2}, {2, 2}, {1, 1}}});
}

TEST(Litmus, IndependentReadsOfIndependentWrites) {
  run({"acquire",
       {{"W x 1 release"},
        {"W y 1 release"},
        {"R x acquire", "R y acquire"},
        {"R y acquire", "R x acquire"}},
       {},
       {{1, 0, 1, 0}}});
  run({"seq_cst",
       {{"W x 1 seq_cst"},
        {"W y 1 seq_cst"},
        {"R x seq_cst", "R y seq_cst"},
        {"R y seq_cst", "R x seq_cst"}},
       {{1, 0, 1, 0}},
       {{1, 1, 1, 1}}});
  run({"fences",
       {{"W x 1 relaxed"},
        {"W y 1 relaxed"},
        {"R x relaxed", "F seq_cst", "R y relaxed"},
        {"R y relaxed", "F seq_cst", "R x relaxed"}},
       {{1, 0, 1, 0}},
       {{1, 1, 1, 1}}});
}

TEST(Litmus, Causality) {
  run({"write to read",
       {{"W x 1 relaxed"}, {"R x acquire", "W y 1 release"}, {"R y acquire", "R x relaxed"}},
       {{1, 1, 0}},
       {{1, 1, 1}, {0, 1, 0}}});
  run({"relaxed",
       {{"W x 1 relaxed"}, {"R x relaxed", "W y 1 relaxed"}, {"R y relaxed", "R x relaxed"}},
       {},
       {{1, 1, 0}}});
  // A read-modify-write continues what the store before it released.
  run({"release sequence",
       {{"W x 1 relaxed", "W y 1 release"}, {"A y 1 relaxed"}, {"R y acquire", "R x relaxed"}},
       {{1, 2, 0}},
       {{1, 2, 1}, {0, 1, 0}}});
  // A plain store of another thread does not.
  run({"no release sequence",
       {{"W x 1 relaxed", "W y 1 release"}, {"W y 2 relaxed"}, {"R y acquire", "R x relaxed"}},
       {{1, 0}},
       {{2, 0}, {2, 1}}});
}

TEST(Litmus, LoadsBeforeLaterStoresAreNeverSeen) {  // Allowed, but not shown: interpreter.md.
  run({"load buffering",
       {{"R x relaxed", "W y 1 relaxed"}, {"R y relaxed", "W x 1 relaxed"}},
       {{1, 1}},
       {{0, 0}, {0, 1}, {1, 0}}});
}

TEST(Litmus, AdditionsAreAtomic) {
  run({"two", {{"A x 1 relaxed"}, {"A x 1 relaxed"}}, {{0, 0}, {1, 1}}, {{0, 1}, {1, 0}}});
  run({"three",
       {{"A x 1 seq_cst"}, {"A x 1 acq_rel"}, {"A x 1 relaxed"}},
       {{0, 0, 0}, {0, 0, 1}, {1, 0, 0}},
       {{0, 1, 2}, {2, 1, 0}}});
}

// A fence orders only within its scope.
TEST(Litmus, FencesOfNarrowScope) {
  Litmus narrow{"workgroup",
                {{"W x 1 relaxed", "F release workgroup", "W y 1 relaxed"},
                 {"R y relaxed", "F acquire workgroup", "R x relaxed"}},
                {},
                {}};
  for (bool sameBlock : {false, true}) {
    Bench bench(kernelOf(narrow));
    bench.spec.grid = {sameBlock ? 1u : 2u};
    bench.spec.block = {sameBlock ? 2u : 1u};
    bench.spec.options.subgroupSize = 1;
    std::set<Outcome> outcomes;
    for (uint64_t seed = 1; seed < 400; ++seed) {
      bench.spec.options.seed = seed;
      BufferId out = bench.add(Words(2));
      bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(bench.add(Words(2)))};
      bench.runClean();
      outcomes.insert(bench.read<uint32_t>(out));
    }
    EXPECT_EQ(outcomes.count({1, 0}), sameBlock ? 0u : 1u);
  }
}

// ---- Races ----

std::vector<Fault> faultsOf(Bench& bench, const std::vector<KernelArg>& args, uint64_t seeds) {
  std::vector<Fault> faults;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    bench.spec.options.seed = seed;
    bench.spec.args = args;
    for (const Fault& fault : bench.run().faults) faults.push_back(fault);
  }
  return faults;
}

// Two threads: `first` in thread 0, `second` in thread 1.
std::string pairKernel(std::string_view first, std::string_view second) {
  return absl::StrFormat(R"(
kernel @k(%%out: ptr<global>, %%mem: ptr<global>) {
^entry:
  %%b = gpu.block_id x : i32
  %%d = gpu.block_dim x : i32
  %%t = gpu.thread_id x : i32
  %%bd = mul %%b, %%d : i32
  %%id = add %%bd, %%t : i32
  %%one = const 1 : i32
  %%one64 = const 1 : i64
  %%flag = ptr.add %%mem, %%one64 x i32 : ptr<global>
  %%c = cmp.eq %%id, %%one : i32
  br %%c, ^second, ^first
^first:
%s  ret
^second:
%s  ret
}
)",
                         first, second);
}

struct RaceCase {
  const char* name;
  const char* first;
  const char* second;
  bool sameBlock;
  const char* report;  // Part of it; nullptr: no race.
};

TEST(AtomicRaces, PairsOfAccesses) {
  const char* kStore = "  store i32, %one, %mem : ptr<global>\n";
  const char* kLoad = "  %l = load i32, %mem : ptr<global>\n";
  const char* kAtomicLoad = "  %al = atomic.load i32, %mem : ptr<global> relaxed device\n";
  const char* kAtomicStore = "  atomic.store i32, %mem, %one : ptr<global> relaxed device\n";
  const char* kAdd = "  %aa = atomic.rmw add i32, %mem, %one : ptr<global> seq_cst device\n";
  const char* kNarrow = "  %an = atomic.rmw add i32, %mem, %one : ptr<global> relaxed workgroup\n";
  const char* kSubgroup = "  %as = atomic.rmw add i32, %mem, %one : ptr<global> relaxed subgroup\n";
  const char* kWide = "  %aw = atomic.rmw add i64, %mem, %one64 : ptr<global> relaxed device\n";
  const char* kUpper = "  %au = atomic.rmw add i32, %flag, %one : ptr<global> relaxed device\n";
  const char* kByte = "  %b8 = const 1 : i8\n  store i8, %b8, %mem : ptr<global>\n";
  const RaceCase kCases[] = {
      {"store, add", kStore, kAdd, true, "atomic"},
      {"add, store", kAdd, kStore, true, "atomic"},
      {"load, atomic load", kLoad, kAtomicLoad, true, nullptr},
      {"load, atomic store", kLoad, kAtomicStore, true, "order the two: by a barrier {global}"},
      {"load, atomic store, blocks", kLoad, kAtomicStore, false, "order the two: by a release"},
      {"store, atomic load", kStore, kAtomicLoad, false, "atomic read"},
      {"byte, add", kByte, kAdd, false, "atomic write"},
      {"add, add", kAdd, kAdd, false, nullptr},
      {"store, store", kAtomicStore, kAtomicStore, false, nullptr},
      {"narrow in a block", kNarrow, kAdd, true, nullptr},
      {"narrow", kNarrow, kAdd, false, "don't include both threads: use device"},
      {"narrow, narrow", kNarrow, kNarrow, false, "the scopes workgroup and workgroup"},
      {"subgroup scope", kSubgroup, kSubgroup, true, "use workgroup"},
      {"sizes", kWide, kAdd, true, "different sizes"},
      {"sizes, upper half", kUpper, kWide, false, "different sizes"},
      {"neighbours", kUpper, kAdd, false, nullptr},
  };
  for (const RaceCase& c : kCases) {
    SCOPED_TRACE(c.name);
    std::string second = c.second;  // With results of other names.
    if (size_t at = second.find("%a"); at != std::string::npos) second.replace(at, 2, "%z");
    Bench bench(pairKernel(c.first, second));
    bench.spec.grid = {c.sameBlock ? 1u : 2u};
    bench.spec.block = {c.sameBlock ? 2u : 1u};
    bench.spec.options.subgroupSize = 1;
    std::vector<KernelArg> args = {KernelArg::buffer(bench.add(Words(4))),
                                   KernelArg::buffer(bench.add(Words(4)))};
    std::vector<Fault> faults = faultsOf(bench, args, 10);
    if (!c.report) {
      EXPECT_EQ(faults.size(), 0u) << bench.text(faults[0]);
      continue;
    }
    EXPECT_EQ(faults.size(), 10u);
    for (const Fault& fault : faults) {
      EXPECT_EQ(fault.id, DiagId::FaultRace);
      EXPECT_NE(bench.text(fault).find(c.report), std::string::npos) << bench.text(fault);
    }
  }
}

// Plain data handed over by a flag: whose orders and scopes decide.
TEST(AtomicRaces, DataBehindAFlag) {
  struct Case {
    const char* store;
    const char* load;
    bool sameBlock;
    bool isRace;
  };
  const Case kCases[] = {
      {"release device", "acquire device", false, false},
      {"seq_cst device", "seq_cst device", false, false},
      {"release system", "acquire system", false, false},
      {"relaxed device", "acquire device", false, true},
      {"release device", "relaxed device", false, true},
      {"release workgroup", "acquire workgroup", true, false},
      {"release workgroup", "acquire workgroup", false, true},
      {"release device", "acquire workgroup", false, true},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.store) + ", " + c.load);
    Bench bench(pairKernel(
        absl::StrFormat("  store i32, %%one, %%mem : ptr<global>\n"
                        "  atomic.store i32, %%flag, %%one : ptr<global> %s\n",
                        c.store),
        absl::StrFormat("  jump ^spin\n^spin:\n  %%f = atomic.load i32, %%flag : ptr<global> %s\n"
                        "  %%set = cmp.eq %%f, %%one : i32\n  br %%set, ^go, ^spin\n^go:\n"
                        "  %%v = load i32, %%mem : ptr<global>\n"
                        "  store i32, %%v, %%out : ptr<global>\n",
                        c.load)));
    bench.spec.grid = {c.sameBlock ? 1u : 2u};
    bench.spec.block = {c.sameBlock ? 2u : 1u};
    bench.spec.options.subgroupSize = 1;
    for (uint64_t seed = 0; seed < 30; ++seed) {
      bench.spec.options.seed = seed;
      BufferId out = bench.add(Words(1));
      bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(bench.add(Words(2)))};
      LaunchResult result = bench.run();
      EXPECT_EQ(!result.faults.empty(), c.isRace);
      for (const Fault& fault : result.faults) EXPECT_EQ(fault.kind, FaultKind::Race);
      EXPECT_EQ(bench.read<uint32_t>(out)[0], 1u);
    }
  }
}

// A spin lock around a plain counter.
TEST(AtomicRaces, LockWithCompareAndSwap) {
  for (bool relaxed : {false, true}) {
    Bench bench(absl::StrFormat(R"(
kernel @k(%%counter: ptr<global>, %%lock: ptr<global>) {
^entry:
  %%zero = const 0 : i32
  %%one = const 1 : i32
  jump ^try
^try:
  %%old = atomic.cas i32, %%lock, %%zero, %%one : ptr<global> %s relaxed device
  %%got = cmp.eq %%old, %%zero : i32
  br %%got, ^locked, ^try
^locked:
  %%n = load i32, %%counter : ptr<global>
  %%n1 = add %%n, %%one : i32
  store i32, %%n1, %%counter : ptr<global>
  atomic.store i32, %%lock, %%zero : ptr<global> %s device
  ret
}
)",
                                relaxed ? "relaxed" : "acquire", relaxed ? "relaxed" : "release"));
    bench.spec.grid = {5};
    bench.spec.block = {7};
    size_t faults = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      bench.spec.options.seed = seed;
      BufferId counter = bench.add(Words(1));
      bench.spec.args = {KernelArg::buffer(counter), KernelArg::buffer(bench.add(Words(1)))};
      LaunchResult result = bench.run();
      faults += result.faults.size();
      if (!relaxed) {
        for (const Fault& fault : result.faults) ADD_FAILURE() << bench.text(fault);
        EXPECT_EQ(bench.read<uint32_t>(counter)[0], 35u);
      }
    }
    if (relaxed) {
      EXPECT_GE(faults, 20u);
    }
  }
}

// Knowledge travels through a barrier and on through an atomic; and only for the region that the
// barrier names.
TEST(AtomicRaces, BarriersAndAtomicsTogether) {
  for (bool global : {true, false}) {
    Bench bench(absl::StrFormat(R"(
kernel @k(%%data: ptr<global>, %%flag: ptr<global>, %%out: ptr<global>) {
^entry:
  %%zero = const 0 : i32
  %%one = const 1 : i32
  %%b = gpu.block_id x : i32
  %%t = gpu.thread_id x : i32
  %%t64 = sext %%t : i32 to i64
  %%p = ptr.add %%data, %%t64 x i32 : ptr<global>
  %%first = cmp.eq %%b, %%zero : i32
  br %%first, ^writer, ^reader
^writer:
  store i32, %%t, %%p : ptr<global>
  barrier {%s} seq_cst
  %%lead = cmp.eq %%t, %%zero : i32
  br %%lead, ^signal, ^end
^signal:
  atomic.store i32, %%flag, %%one : ptr<global> release device
  ret
^reader:
  %%leads = cmp.eq %%t, %%zero : i32
  br %%leads, ^spin, ^meet
^spin:
  %%f = atomic.load i32, %%flag : ptr<global> acquire device
  %%set = cmp.eq %%f, %%one : i32
  br %%set, ^meet, ^spin
^meet:
  barrier {workgroup, global} seq_cst
  %%v = load i32, %%p : ptr<global>
  %%po = ptr.add %%out, %%t64 x i32 : ptr<global>
  store i32, %%v, %%po : ptr<global>
  jump ^end
^end:
  ret
}
)",
                                global ? "workgroup, global" : "workgroup"));
    bench.spec.grid = {2};
    bench.spec.block = {40};
    for (uint64_t seed = 0; seed < 5; ++seed) {
      bench.spec.options.seed = seed;
      BufferId out = bench.add(Words(40));
      bench.spec.args = {KernelArg::buffer(bench.add(Words(40))),
                         KernelArg::buffer(bench.add(Words(1))), KernelArg::buffer(out)};
      LaunchResult result = bench.run();
      EXPECT_EQ(result.faults.empty(), global);
      for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(bench.read<uint32_t>(out)[i], i);
    }
  }
}

// Counters in workgroup memory, read plainly after a barrier; three readers of one location, of
// which only one is unordered with a later store.
TEST(AtomicRaces, CountersAreReadAfterABarrier) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %w = alloc.workgroup i32[4] : ptr<workgroup>
  %zero = const 0 : i32
  %one = const 1 : i32
  %three = const 3 : i32
  %t = gpu.thread_id x : i32
  %bin = and %t, %three : i32
  %bin64 = sext %bin : i32 to i64
  %p = ptr.add %w, %bin64 x i32 : ptr<workgroup>
  %four = const 4 : i32
  %clears = cmp.ult %t, %four : i32
  br %clears, ^clear, ^count
^clear:
  store i32, %zero, %p : ptr<workgroup>
  jump ^count
^count:
  barrier {workgroup} seq_cst
  %old = atomic.rmw add i32, %p, %one : ptr<workgroup> relaxed workgroup
  barrier {workgroup} seq_cst
  %n = load i32, %p : ptr<workgroup>
  %b = gpu.block_id x : i32
  %d = gpu.block_dim x : i32
  %bd = mul %b, %d : i32
  %i = add %bd, %t : i32
  %i64 = sext %i : i32 to i64
  %po = ptr.add %out, %i64 x i32 : ptr<global>
  store i32, %n, %po : ptr<global>
  ret
}
)");
  bench.spec.grid = {12};
  bench.spec.block = {103};
  for (uint64_t seed = 0; seed < 3; ++seed) {
    bench.spec.options.seed = seed;
    BufferId out = bench.add(Words(12 * 103));
    bench.spec.args = {KernelArg::buffer(out)};
    bench.runClean();
    for (uint32_t i = 0; i < 12 * 103; ++i) {
      EXPECT_EQ(bench.read<uint32_t>(out)[i], i % 103 % 4 == 3 ? 25u : 26u);
    }
  }
}

}  // namespace
}  // namespace mtlc::interp
