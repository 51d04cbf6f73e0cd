// Litmus tests of the memory model (docs/simulator-memory-model.md): an outcome that the PTX memory
// model (PTX ISA 8) forbids never comes, one that it allows comes at least once. Names are those of
// the literature: J. Alglave, L. Maranget, M. Tautschnig, "Herding Cats", TOPLAS 36(2), 2014;
// D. Lustig, S. Sahasrabuddhe, O. Giroux, "A Formal Analysis of the NVIDIA PTX Memory Consistency
// Model", ASPLOS 2019.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// r[i][k]: register rk of thread i. x, y: the last values in memory.
struct Outcome {
  std::array<std::array<uint32_t, 3>, 4> r{};
  uint32_t x = 0, y = 0;
};

// Where the threads are, and the locations.
enum Place : unsigned {
  blocks = 1,  // Each thread in a block of its own.
  warps = 2,   // In warps of one block.
  lanes = 4,   // In one warp.
  shared = 8,  // In warps of one block, locations in shared memory.
  block = warps | lanes | shared,
  all = blocks | block,
};
constexpr const char* kPlaceNames[] = {"blocks", "warps", "lanes", "shared"};

struct Litmus {
  const char* name;
  std::vector<std::string> threads;  // In PTX; locations x, y, z; registers r0, r1, r2.
  bool (*weak)(const Outcome&);
  unsigned allowed;    // Places where the outcome is allowed.
  unsigned forbidden;  // Where it is not. The others are not looked at.
};

std::string kernel(const Litmus& l, Place place) {
  std::string k = R"(.version 8.8
.target sm_90
.address_size 64
.shared .align 16 .b8 tile[16];
.visible .entry k(.param .u64 memory, .param .u64 results) {
  .reg .pred p, first;
  .reg .b32 r0, r1, r2, role, rest;
  .reg .b64 x, y, z, out, at;
  ld.param.u64 x, [memory];
  ld.param.u64 out, [results];
  mov.u32 r0, 0;
  mov.u32 r1, 0;
  mov.u32 r2, 0;
  mov.u32 rest, 0;
)";
  switch (place) {
    case blocks:
      k += "  mov.u32 role, %ctaid.x;\n";
      break;
    case lanes:
      k += "  mov.u32 role, %tid.x;\n";
      break;
    default:
      k += "  mov.u32 role, %tid.x;\n  and.b32 rest, role, 31;\n  shr.u32 role, role, 5;\n"
           "  setp.ne.u32 p, rest, 0;\n  @p exit;\n";
      break;
  }
  if (place == shared) {
    k += "  mov.u64 at, tile;\n  cvta.shared.u64 x, at;\n  setp.eq.u32 first, role, 0;\n"
         "  @first st.v2.u32 [x], {0, 0};\n  @first st.u32 [x+8], 0;\n  bar.sync 0;\n";
  }
  k += "  add.u64 y, x, 4;\n  add.u64 z, x, 8;\n";
  for (size_t i = 0; i < l.threads.size(); ++i) {
    k += "  setp.eq.u32 p, role, " + std::to_string(i) + ";\n  @p bra thread" + std::to_string(i) +
         ";\n";
  }
  k += "  exit;\n";
  for (size_t i = 0; i < l.threads.size(); ++i) {
    k += "thread" + std::to_string(i) + ":\n  " + l.threads[i] + "\n  bra end;\n";
  }
  // Loads may be late until here; it takes a while for another thread to notice.
  k += "end:\n";
  for (int i = 0; i < 32; ++i) k += "  add.u32 rest, rest, 1;\n";
  k += R"(  mad.wide.u32 at, role, 12, out;
  st.u32 [at], r0;
  st.u32 [at+4], r1;
  st.u32 [at+8], r2;
)";
  if (place == shared) {
    k += "  bar.sync 0;\n  @!first exit;\n  ld.v2.u32 {r0, r1}, [x];\n  st.v2.u32 [out+48], {r0, "
         "r1};\n";
  }
  return k + "  ret;\n}\n";
}

// Lanes of a warp like to run together, so what they see of each other takes more seeds.
constexpr uint64_t seedsFor(Place place) { return place == lanes ? 1600 : 400; }

// How often the outcome came.
unsigned count(const Litmus& l, Place place, bool weakMemory = true) {
  Harness h(kernel(l, place));
  EXPECT_TRUE(h.ok()) << l.name << '\n' << h.errors();
  if (!h.ok()) return 0;
  h.config.weakMemory = weakMemory;
  h.config.maxSteps = 100000;
  uint32_t n = static_cast<uint32_t>(l.threads.size());
  auto memory = h.buffer<uint32_t>({0, 0, 0, 0});
  auto results = h.poison<uint32_t>(14);
  unsigned seen = 0;
  for (uint64_t seed = 1; seed <= seedsFor(place); ++seed) {
    h.config.seed = seed;
    for (uint32_t& v : memory.view()) v = 0;
    for (uint32_t& v : results.view()) v = 77;
    LaunchResult r = place == blocks  ? h.run("k", {n, 1, 1}, {1, 1, 1}, memory, results)
                     : place == lanes ? h.run("k", {1, 1, 1}, {n, 1, 1}, memory, results)
                                      : h.run("k", {1, 1, 1}, {n * 32, 1, 1}, memory, results);
    EXPECT_EQ(r.status, LaunchStatus::ok) << l.name << h.errors();
    if (r.status != LaunchStatus::ok) return 0;
    Outcome o;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t k = 0; k < 3; ++k) o.r[i][k] = results[3 * i + k];
    }
    o.x = place == shared ? results[12] : memory[0];
    o.y = place == shared ? results[13] : memory[1];
    if (l.weak(o)) ++seen;
  }
  return seen;
}

using O = const Outcome&;
bool mp(O o) { return o.r[1][0] == 1 && o.r[1][1] == 0; }
bool sb(O o) { return o.r[0][0] == 0 && o.r[1][0] == 0; }
bool lb(O o) { return o.r[0][0] == 1 && o.r[1][0] == 1; }
bool iriw(O o) { return mp(o) && o.r[3][0] == 1 && o.r[3][1] == 0; }
bool wrc(O o) { return o.r[1][0] == 1 && o.r[2][0] == 1 && o.r[2][1] == 0; }
bool w22(O o) { return o.x == 1 && o.y == 1; }

// `$` in `text` is the scope.
std::vector<std::string> at(const char* scope, std::vector<std::string> threads) {
  for (std::string& t : threads) {
    for (size_t i; (i = t.find('$')) != std::string::npos;) t.replace(i, 1, scope);
  }
  return threads;
}

const char kReadYX[] = "ld.relaxed.$.u32 r0, [y]; ld.relaxed.$.u32 r1, [x];";
const std::string kAcqRel = "fence.acq_rel.$;", kSc = "fence.sc.$;";

// Relaxed operations with `f` between them.
std::vector<std::string> mpWith(const std::string& f) {
  return {"st.relaxed.$.u32 [x], 1; " + f + " st.relaxed.$.u32 [y], 1;",
          "ld.relaxed.$.u32 r0, [y]; " + f + " ld.relaxed.$.u32 r1, [x];"};
}
std::vector<std::string> sbWith(const std::string& f) {
  return {"st.relaxed.$.u32 [x], 1; " + f + " ld.relaxed.$.u32 r0, [y];",
          "st.relaxed.$.u32 [y], 1; " + f + " ld.relaxed.$.u32 r0, [x];"};
}
std::vector<std::string> lbWith(const std::string& f) {
  return {"ld.relaxed.$.u32 r0, [x]; " + f + " st.relaxed.$.u32 [y], 1;",
          "ld.relaxed.$.u32 r0, [y]; " + f + " st.relaxed.$.u32 [x], 1;"};
}
std::vector<std::string> iriwWith(const std::string& f) {
  return {
      "st.relaxed.$.u32 [x], 1;", "ld.relaxed.$.u32 r0, [x]; " + f + " ld.relaxed.$.u32 r1, [y];",
      "st.relaxed.$.u32 [y], 1;", "ld.relaxed.$.u32 r0, [y]; " + f + " ld.relaxed.$.u32 r1, [x];"};
}
std::vector<std::string> w22With(const std::string& f) {
  return {"st.relaxed.$.u32 [x], 1; " + f + " st.relaxed.$.u32 [y], 2;",
          "st.relaxed.$.u32 [y], 1; " + f + " st.relaxed.$.u32 [x], 2;"};
}
const std::vector<std::string> kMpRelAcq = {"st.u32 [x], 1; st.release.$.u32 [y], 1;",
                                            "ld.acquire.$.u32 r0, [y]; ld.u32 r1, [x];"};
const std::vector<std::string> kMpFences = {
    "st.u32 [x], 1; fence.acq_rel.$; st.relaxed.$.u32 [y], 1;",
    "ld.relaxed.$.u32 r0, [y]; fence.acq_rel.$; ld.u32 r1, [x];"};

const std::vector<Litmus>& table() {
  static const std::vector<Litmus> rows = {
      {"MP", {"st.u32 [x], 1; st.u32 [y], 1;", "ld.u32 r0, [y]; ld.u32 r1, [x];"}, mp, all, 0},
      {"MP+relaxed", at("gpu", mpWith("")), mp, all, 0},
      {"MP+volatile",
       {"st.volatile.u32 [x], 1; st.volatile.u32 [y], 1;",
        "ld.volatile.u32 r0, [y]; ld.volatile.u32 r1, [x];"},
       mp,
       all,
       0},
      {"MP+release+acquire.gpu", at("gpu", kMpRelAcq), mp, 0, all},
      {"MP+release+acquire.sys", at("sys", kMpRelAcq), mp, 0, all},
      {"MP+release+acquire.cta", at("cta", kMpRelAcq), mp, blocks, block},
      {"MP+release+acquire.cluster", at("cluster", kMpRelAcq), mp, blocks, block},
      {"MP+release.cta+acquire.gpu",
       {"st.u32 [x], 1; st.release.cta.u32 [y], 1;", "ld.acquire.gpu.u32 r0, [y]; ld.u32 r1, [x];"},
       mp,
       blocks,
       block},
      {"MP+release.gpu+acquire.cta",
       {"st.u32 [x], 1; st.release.gpu.u32 [y], 1;", "ld.acquire.cta.u32 r0, [y]; ld.u32 r1, [x];"},
       mp,
       blocks,
       block},
      {"MP+release+relaxed", at("gpu", {kMpRelAcq[0], kReadYX}), mp, all, 0},
      {"MP+relaxed+acquire", at("gpu", {mpWith("")[0], kMpRelAcq[1]}), mp, all, 0},
      {"MP+fences.gpu", at("gpu", kMpFences), mp, 0, all},
      {"MP+fences.cta", at("cta", kMpFences), mp, blocks, block},
      {"MP+fences.gpu+relaxed.cta",
       {"st.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.cta.u32 [y], 1;",
        "ld.relaxed.cta.u32 r0, [y]; fence.acq_rel.gpu; ld.u32 r1, [x];"},
       mp,
       blocks,
       block},
      {"MP+fence+acquire", at("gpu", {kMpFences[0], kMpRelAcq[1]}), mp, 0, all},
      {"MP+release+fence", at("gpu", {kMpRelAcq[0], kMpFences[1]}), mp, 0, all},
      {"MP+fence+relaxed", at("gpu", {kMpFences[0], kReadYX}), mp, all, 0},
      {"MP+fences+weak",
       {"st.u32 [x], 1; fence.acq_rel.gpu; st.u32 [y], 1;",
        "ld.u32 r0, [y]; fence.acq_rel.gpu; ld.u32 r1, [x];"},
       mp,
       all,
       0},
      {"MP+membars",
       {"st.volatile.u32 [x], 1; membar.gl; st.volatile.u32 [y], 1;",
        "ld.volatile.u32 r0, [y]; membar.gl; ld.volatile.u32 r1, [x];"},
       mp,
       0,
       all},
      {"MP+red+atom",
       {"st.u32 [x], 1; fence.acq_rel.gpu; red.add.u32 [y], 1;",
        "atom.add.u32 r0, [y], 0; fence.acq_rel.gpu; ld.u32 r1, [x];"},
       mp,
       0,
       all},
      {"MP+release+relaxed+acquire",  // A release pattern: the second store follows a release.
       {"st.u32 [x], 1; st.release.gpu.u32 [y], 2; st.relaxed.gpu.u32 [y], 1;",
        "ld.acquire.gpu.u32 r0, [y]; ld.u32 r1, [x];"},
       mp,
       0,
       all},
      {"MP+release+relaxed+late_acquire",
       {"st.u32 [x], 1; st.release.gpu.u32 [y], 1;",
        "ld.relaxed.gpu.u32 r0, [y]; ld.acquire.gpu.u32 r2, [y]; ld.u32 r1, [x];"},
       mp,
       0,
       all},
      {"MP+atom_chain",
       {"st.u32 [x], 1; st.release.gpu.u32 [y], 1;", "atom.relaxed.gpu.add.u32 r0, [y], 1;",
        "ld.acquire.gpu.u32 r0, [y]; ld.u32 r1, [x];"},
       [](O o) { return o.r[2][0] == 2 && o.r[1][0] == 1 && o.r[2][1] == 0; },
       0,
       all},
      {"MP+bar.sync",
       {"st.u32 [x], 1; bar.sync 1;", "bar.sync 1; ld.u32 r0, [x];"},
       [](O o) { return o.r[1][0] != 1; },
       0,
       warps | shared},
      {"SB+relaxed", at("gpu", sbWith("")), sb, all, 0},
      {"SB+release+acquire",
       {"st.release.gpu.u32 [x], 1; ld.acquire.gpu.u32 r0, [y];",
        "st.release.gpu.u32 [y], 1; ld.acquire.gpu.u32 r0, [x];"},
       sb,
       all,
       0},
      {"SB+fence.acq_rel", at("gpu", sbWith(kAcqRel)), sb, all, 0},
      {"SB+fence.sc.gpu", at("gpu", sbWith(kSc)), sb, 0, all},
      {"SB+fence.sc.cta", at("cta", sbWith(kSc)), sb, blocks, block},
      {"SB+membar.gl", at("gpu", sbWith("membar.gl;")), sb, 0, all},
      {"SB+fence.sc+fence.acq_rel", at("gpu", {sbWith(kSc)[0], sbWith(kAcqRel)[1]}), sb, all, 0},
      {"LB+weak", {"ld.u32 r0, [x]; st.u32 [y], 1;", "ld.u32 r0, [y]; st.u32 [x], 1;"}, lb, all, 0},
      {"LB+relaxed", at("gpu", lbWith("")), lb, all, 0},
      {"LB+fences", at("gpu", lbWith(kAcqRel)), lb, 0, all},
      {"LB+release+acquire",
       {"ld.acquire.gpu.u32 r0, [x]; st.release.gpu.u32 [y], 1;",
        "ld.acquire.gpu.u32 r0, [y]; st.release.gpu.u32 [x], 1;"},
       lb,
       0,
       all},
      {"LB+data",  // Out of thin air.
       {"ld.relaxed.gpu.u32 r0, [x]; st.relaxed.gpu.u32 [y], r0;",
        "ld.relaxed.gpu.u32 r0, [y]; st.relaxed.gpu.u32 [x], r0;"},
       [](O o) { return o.r[0][0] != 0 || o.r[1][0] != 0; },
       0,
       all},
      {"CoRR",
       {"st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x];"},
       mp,
       0,
       all},
      {"CoRR+two_writers",
       {"st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x];",
        "st.relaxed.gpu.u32 [x], 2;", "ld.relaxed.gpu.u32 r0, [x]; ld.relaxed.gpu.u32 r1, [x];"},
       [](O o) { return o.r[1][0] == 1 && o.r[1][1] == 2 && o.r[3][0] == 2 && o.r[3][1] == 1; },
       0,
       all},
      {"CoWW",
       {"st.relaxed.gpu.u32 [x], 1; st.relaxed.gpu.u32 [x], 2;", "st.relaxed.gpu.u32 [y], 1;"},
       [](O o) { return o.x != 2; },
       0,
       all},
      {"CoRW1",
       {"ld.relaxed.gpu.u32 r0, [x]; st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 r0, [x];"},
       [](O o) { return o.r[0][0] != 0; },
       0,
       all},
      {"CoRW2",
       {"st.relaxed.gpu.u32 [x], 1;", "ld.relaxed.gpu.u32 r0, [x]; st.relaxed.gpu.u32 [x], 2;"},
       [](O o) { return o.r[1][0] == 1 && o.x == 1; },
       0,
       all},
      {"CoWR",
       {"st.relaxed.gpu.u32 [x], 1; ld.relaxed.gpu.u32 r0, [x];", "st.relaxed.gpu.u32 [x], 2;"},
       [](O o) { return o.r[0][0] == 0 || (o.r[0][0] == 2 && o.x == 1); },
       0,
       all},
      {"IRIW+relaxed", at("gpu", iriwWith("")), iriw, all, 0},
      {"IRIW+fence.acq_rel", at("gpu", iriwWith(kAcqRel)), iriw, all, 0},
      {"IRIW+fence.sc", at("gpu", iriwWith(kSc)), iriw, 0, all},
      {"WRC+relaxed",
       at("gpu", {"st.relaxed.$.u32 [x], 1;", "ld.relaxed.$.u32 r0, [x]; st.relaxed.$.u32 [y], 1;",
                  kReadYX}),
       wrc, all, 0},
      {"WRC+release+acquire",
       at("gpu", {"st.relaxed.$.u32 [x], 1;", "ld.relaxed.$.u32 r0, [x]; st.release.$.u32 [y], 1;",
                  "ld.acquire.$.u32 r0, [y]; ld.relaxed.$.u32 r1, [x];"}),
       wrc, 0, all},
      {"WRC+fences",
       at("gpu", {"st.relaxed.$.u32 [x], 1;",
                  "ld.relaxed.$.u32 r0, [x]; fence.acq_rel.$; st.relaxed.$.u32 [y], 1;",
                  "ld.relaxed.$.u32 r0, [y]; fence.acq_rel.$; ld.relaxed.$.u32 r1, [x];"}),
       wrc, 0, all},
      {"ISA2+release+acquire",
       at("gpu", {"st.u32 [x], 1; st.release.$.u32 [y], 1;",
                  "ld.acquire.$.u32 r0, [y]; st.release.$.u32 [z], 1;",
                  "ld.acquire.$.u32 r0, [z]; ld.u32 r1, [x];"}),
       wrc, 0, all},
      {"S+relaxed",
       at("gpu", {"st.relaxed.$.u32 [x], 2; st.relaxed.$.u32 [y], 1;",
                  "ld.relaxed.$.u32 r0, [y]; st.relaxed.$.u32 [x], 1;"}),
       [](O o) { return o.r[1][0] == 1 && o.x == 2; }, all, 0},
      {"S+release+acquire",
       at("gpu", {"st.relaxed.$.u32 [x], 2; st.release.$.u32 [y], 1;",
                  "ld.acquire.$.u32 r0, [y]; st.relaxed.$.u32 [x], 1;"}),
       [](O o) { return o.r[1][0] == 1 && o.x == 2; }, 0, all},
      {"R+fence.acq_rel",
       at("gpu", {"st.relaxed.$.u32 [x], 1; fence.acq_rel.$; st.relaxed.$.u32 [y], 1;",
                  "st.relaxed.$.u32 [y], 2; fence.acq_rel.$; ld.relaxed.$.u32 r0, [x];"}),
       [](O o) { return o.y == 2 && o.r[1][0] == 0; }, all, 0},
      {"R+fence.sc",
       at("gpu", {"st.relaxed.$.u32 [x], 1; fence.sc.$; st.relaxed.$.u32 [y], 1;",
                  "st.relaxed.$.u32 [y], 2; fence.sc.$; ld.relaxed.$.u32 r0, [x];"}),
       [](O o) { return o.y == 2 && o.r[1][0] == 0; }, 0, all},
      {"2+2W+relaxed", at("gpu", w22With("")), w22, all, 0},
      {"2+2W+fence.acq_rel", at("gpu", w22With(kAcqRel)), w22, all, 0},
      {"2+2W+fence.sc", at("gpu", w22With(kSc)), w22, 0, all},
  };
  return rows;
}

TEST(Litmus, ForbiddenNeverAllowedAtLeastOnce) {
  for (const Litmus& l : table()) {
    for (unsigned i = 0; i < 4; ++i) {
      Place place = static_cast<Place>(1u << i);
      if (((l.allowed | l.forbidden) & place) == 0) continue;
      unsigned n = count(l, place);
      std::printf("%-34s %-7s %-9s %u of %u\n", l.name, kPlaceNames[i],
                  (l.allowed & place) != 0 ? "allowed" : "forbidden", n,
                  static_cast<unsigned>(seedsFor(place)));
      if ((l.allowed & place) != 0) {
        EXPECT_GT(n, 0u) << l.name << ' ' << kPlaceNames[i];
      } else {
        EXPECT_EQ(n, 0u) << l.name << ' ' << kPlaceNames[i];
      }
    }
  }
}

// Without weakMemory a seed only chooses an interleaving.
TEST(Litmus, InterleavingsAreSequentiallyConsistent) {
  for (const Litmus& l : table()) {
    if ((l.allowed & blocks) == 0) continue;
    EXPECT_EQ(count(l, blocks, false), 0u) << l.name;
  }
}

// A lock that guards an increment of plain memory. Sixteen threads in two blocks.
std::string lockKernel(const std::string& lock, const std::string& unlock) {
  return R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory) {
  .reg .pred p;
  .reg .b32 r, old;
  .reg .b64 x;
  ld.param.u64 x, [memory];
  mov.u32 r, %laneid;
  and.b32 r, r, 7;
  setp.ne.u32 p, r, 0;
  @p exit;
again:
  )" + lock +
         R"(
  setp.ne.u32 p, old, 0;
  @p bra again;
  ld.u32 r, [x+4];
  add.u32 r, r, 1;
  st.u32 [x+4], r;
  )" + unlock +
         "\n  ret;\n}\n";
}

// How many of the first seeds lose an increment.
unsigned lostUpdates(const std::string& ptx, Checks checks = Checks::none,
                     unsigned* reported = nullptr) {
  const uint64_t seeds = checks == Checks::none ? 200 : 60;
  Harness h(ptx);
  EXPECT_TRUE(h.ok()) << h.errors();
  if (!h.ok()) return 0;
  h.config.weakMemory = true;
  h.config.maxSteps = 1000000;
  h.config.checks = checks;
  auto memory = h.buffer<uint32_t>({0, 0});
  unsigned lost = 0;
  for (h.config.seed = 1; h.config.seed <= seeds; ++h.config.seed) {
    memory[0] = memory[1] = 0;
    LaunchResult r = h.run("k", {2, 1, 1}, {64, 1, 1}, memory);
    EXPECT_TRUE(!r.reports.empty() || r.status == LaunchStatus::ok) << h.errors();
    if (reported != nullptr && !r.reports.empty()) ++*reported;
    lost += memory[1] != 16;
  }
  return lost;
}

TEST(Litmus, LocksExclude) {
  // The fence after the loop: `old` is 0 for those that go on.
  const std::string relaxed = "atom.relaxed.gpu.cas.b32 old, [x], 0, 1;";
  EXPECT_EQ(lostUpdates(lockKernel("atom.acquire.gpu.cas.b32 old, [x], 0, 1;",
                                   "st.release.gpu.u32 [x], 0;")),
            0u);
  EXPECT_EQ(lostUpdates(lockKernel("atom.acq_rel.gpu.cas.b32 old, [x], 0, 1;",
                                   "atom.acq_rel.gpu.exch.b32 old, [x], 0;")),
            0u);
  EXPECT_EQ(lostUpdates(lockKernel(relaxed + " fence.acq_rel.gpu;",
                                   "fence.acq_rel.gpu; st.relaxed.gpu.u32 [x], 0;")),
            0u);
  EXPECT_EQ(lostUpdates(lockKernel(relaxed + " membar.gl;", "membar.gl; st.volatile.u32 [x], 0;")),
            0u);
  EXPECT_GT(lostUpdates(lockKernel(relaxed, "st.relaxed.gpu.u32 [x], 0;")), 0u);
  EXPECT_GT(lostUpdates(lockKernel("atom.acquire.cta.cas.b32 old, [x], 0, 1;",
                                   "st.release.cta.u32 [x], 0;")),
            0u);
  EXPECT_GT(lostUpdates(lockKernel("atom.acquire.gpu.cas.b32 old, [x], 0, 1;",
                                   "st.relaxed.gpu.u32 [x], 0;")),
            0u);
}

TEST(Litmus, RacesAreReportedAndLocksAreNot) {
  unsigned reported = 0;
  lostUpdates(lockKernel("atom.acquire.gpu.cas.b32 old, [x], 0, 1;", "st.release.gpu.u32 [x], 0;"),
              Checks::all, &reported);
  EXPECT_EQ(reported, 0u);
  lostUpdates(lockKernel("atom.relaxed.gpu.cas.b32 old, [x], 0, 1; fence.acq_rel.gpu;",
                         "fence.acq_rel.gpu; st.relaxed.gpu.u32 [x], 0;"),
              Checks::all, &reported);
  EXPECT_EQ(reported, 0u);
  lostUpdates(lockKernel("atom.relaxed.gpu.cas.b32 old, [x], 0, 1;", "st.relaxed.gpu.u32 [x], 0;"),
              Checks::race, &reported);
  EXPECT_EQ(reported, 60u);
}

// How many of 100 seeds have a report of the race checker.
unsigned racy(const Litmus& l, Place place) {
  Harness h(kernel(l, place));
  EXPECT_TRUE(h.ok()) << h.errors();
  if (!h.ok()) return 0;
  h.config.weakMemory = true;
  h.config.checks = Checks::race;
  uint32_t n = static_cast<uint32_t>(l.threads.size());
  auto memory = h.buffer<uint32_t>({0, 0, 0, 0});
  auto results = h.buffer<uint32_t>(std::vector<uint32_t>(14));
  unsigned reported = 0;
  for (h.config.seed = 1; h.config.seed <= 100; ++h.config.seed) {
    for (uint32_t& v : memory.view()) v = 0;
    LaunchResult r = place == blocks ? h.run("k", {n, 1, 1}, {1, 1, 1}, memory, results)
                                     : h.run("k", {1, 1, 1}, {n * 32, 1, 1}, memory, results);
    if (!r.reports.empty()) ++reported;
  }
  return reported;
}

TEST(Litmus, RaceCheckerAgrees) {
  // The reader looks at x only when it saw the flag.
  const std::string look = " setp.ne.u32 p, r0, 1; @p bra end; ld.u32 r1, [x];";
  Litmus weak{"", {"st.u32 [x], 1; st.u32 [y], 1;", "ld.u32 r0, [y]; ld.u32 r1, [x];"}, mp, 0, 0};
  Litmus ordered{
      "",
      {"st.u32 [x], 1; st.release.gpu.u32 [y], 1;", "ld.acquire.gpu.u32 r0, [y];" + look},
      mp,
      0,
      0};
  Litmus fences{"",
                {"st.u32 [x], 1; fence.acq_rel.gpu; st.relaxed.gpu.u32 [y], 1;",
                 "ld.relaxed.gpu.u32 r0, [y]; fence.acq_rel.gpu;" + look},
                mp,
                0,
                0};
  Litmus narrow{"",
                {"st.u32 [x], 1; st.release.cta.u32 [y], 1;", "ld.acquire.cta.u32 r0, [y];" + look},
                mp,
                0,
                0};
  Litmus relaxed{"", at("gpu", mpWith("")), mp, 0, 0};
  for (Place place : {blocks, warps, shared}) {
    EXPECT_EQ(racy(weak, place), 100u);
    EXPECT_EQ(racy(ordered, place), 0u);
    EXPECT_EQ(racy(fences, place), 0u);
    EXPECT_EQ(racy(relaxed, place), 0u);  // Strong accesses that include each other don't race.
  }
  EXPECT_GT(racy(narrow, blocks), 0u);
  EXPECT_EQ(racy(narrow, warps), 0u);
}

// Atomics lose nothing, whatever their order; each value is handed out once. A barrier shows all
// stores before it to all threads after it; accesses of other sizes see the newest bytes.
TEST(Litmus, AtomicsBarriersAndSizes) {
  Harness h(R"(.version 8.8
.target sm_90
.address_size 64
.shared .align 8 .b8 tile[256];
.visible .entry k(.param .u64 memory, .param .u64 results) {
  .reg .b32 r, i, j, s;
  .reg .b64 x, out, at, w;
  .reg .b16 h, h2;
  ld.param.u64 x, [memory];
  ld.param.u64 out, [results];
  red.relaxed.gpu.global.add.u32 [x], 3;
  atom.relaxed.gpu.global.add.u32 r, [x+4], 1;
  atom.global.add.u64 at, [x+8], 4294967297;
  mov.u32 i, %tid.x;
  mov.u32 j, %ctaid.x;
  mad.lo.u32 j, j, 64, i;
  mad.wide.u32 at, j, 8, out;
  st.global.u32 [at], r;
  mov.u32 s, tile;
  mad.lo.u32 s, i, 4, s;
  st.shared.u16 [s], i;
  add.u32 r, i, 100;
  st.shared.u16 [s+2], r;
  bar.sync 0;
  xor.b32 r, i, 62;
  mov.u32 s, tile;
  mad.lo.u32 s, r, 4, s;
  ld.shared.u32 r, [s];
  st.global.u32 [at+4], r;
  ret;
})");
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.weakMemory = true;
  for (h.config.seed = 1; h.config.seed <= 100; ++h.config.seed) {
    auto memory = h.buffer<uint32_t>({0, 0, 0, 0});
    auto results = h.poison<uint32_t>(2 * 128);
    LaunchResult r = h.run("k", {2, 1, 1}, {64, 1, 1}, memory, results);
    ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors();
    EXPECT_EQ(memory.values(), (std::vector<uint32_t>{384, 128, 128, 128}));
    std::array<bool, 128> taken{};
    for (uint32_t i = 0; i < 128; ++i) {
      ASSERT_LT(results[2 * i], 128u);
      EXPECT_FALSE(taken[results[2 * i]]);
      taken[results[2 * i]] = true;
      uint32_t other = i % 64 ^ 62;
      ASSERT_EQ(results[2 * i + 1], other | (other + 100) << 16) << h.config.seed;
    }
  }
}

// Lanes of one warp pass values through memory and bar.warp.sync.
TEST(Litmus, WarpSync) {
  Harness h(R"(.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory) {
  .reg .b32 i, j, r;
  .reg .b64 x, at;
  ld.param.u64 x, [memory];
  mov.u32 i, %tid.x;
  mad.wide.u32 at, i, 4, x;
  st.global.u32 [at], i;
  bar.warp.sync -1;
  xor.b32 j, i, 17;
  mad.wide.u32 at, j, 4, x;
  ld.global.u32 r, [at];
  mad.wide.u32 at, i, 4, x;
  st.global.u32 [at+128], r;
  ret;
})");
  ASSERT_TRUE(h.ok()) << h.errors();
  h.config.weakMemory = true;
  for (h.config.seed = 1; h.config.seed <= 100; ++h.config.seed) {
    auto memory = h.buffer<uint32_t>(std::vector<uint32_t>(64));
    ASSERT_EQ(h.run("k", {1, 1, 1}, {32, 1, 1}, memory).status, LaunchStatus::ok) << h.errors();
    for (uint32_t i = 0; i < 32; ++i) ASSERT_EQ(memory[32 + i], i ^ 17);
  }
}

}  // namespace
}  // namespace mtlc::sim
