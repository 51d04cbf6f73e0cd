// Random kernels of accesses and synchronisation, straight through, against an exact model: vector
// clocks of all threads and the list of all accesses. What the race checker reports must be a race
// by the model; of the kernels with races it must find most, as it forgets readers by design.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr unsigned kLanesOfWarp = 32;
constexpr unsigned kWords = 96;  // Of the memory that is fought over.

enum class StepKind {
  load,
  store,
  atomic,
  warpSync,   // bar.warp.sync of the threads that take part
  blockSync,  // bar.sync 0 of all
  partSync,   // bar.sync of some warps
  arrive,     // bar.arrive of some warps, bar.sync of another
  fence,
  flag,  // One thread releases, others wait for it and acquire.
};

enum class Where { table, consecutive, uniform };

struct Step {
  StepKind kind = StepKind::load;
  Where where = Where::table;
  bool branch = false;   // The threads that take part branch there; else they are predicated.
  unsigned bytes = 4;    // Of an element.
  unsigned vector = 1;   // Elements.
  unsigned offset = 0;   // consecutive, uniform: of the first thread, in bytes.
  bool relaxed = false;  // flag: relaxed accesses with fences.
  bool fenced = true;    // flag: has the fences.
  uint32_t warps = 0;    // partSync, arrive: those that wait.
  uint32_t arrivers = 0;
  unsigned producer = 0;       // flag
  std::vector<int> addresses;  // By thread of the grid; -1: takes no part.
  unsigned line = 0;           // Of the instruction in the PTX text.
};

struct Case {
  unsigned blocks = 1;
  unsigned warps = 1;
  bool shared = true;
  std::vector<Step> steps;
  unsigned threads() const { return blocks * warps * kLanesOfWarp; }
  unsigned perBlock() const { return warps * kLanesOfWarp; }
};

// ---- Making ----

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Case make() {
    Case c;
    c.warps = 1 + below(3);
    c.shared = below(2) != 0;
    c.blocks = c.shared || below(3) != 0 ? 1 : 2;
    size_t steps = 3 + below(10);
    // Few places and few kinds of addresses make accesses meet often.
    span_ = std::array<unsigned, 3>{4, 32, kWords}[below(3)];
    narrow_ = below(4) == 0;
    while (c.steps.size() < steps) c.steps.push_back(step(c));
    return c;
  }

 private:
  unsigned below(size_t n) { return static_cast<unsigned>(random_() % n); }

  Step step(const Case& c) {
    Step s;
    unsigned what = below(20);
    unsigned all = c.threads();
    s.branch = below(3) == 0;
    if (what < 11) {
      s.kind = what < 6 ? StepKind::load : what < 10 ? StepKind::store : StepKind::atomic;
      access(c, s);
      return s;
    }
    if (what < 15) {
      s.kind = StepKind::warpSync;
      // Whole warps, or any lanes of them.
      bool some = below(3) == 0;
      uint32_t lanes = some ? random_() | 1u << below(32) : ~uint32_t{0};
      for (unsigned t = 0; t < all; ++t) s.addresses.push_back(lanes >> (t % 32) & 1 ? 0 : -1);
      return s;
    }
    if (what == 15) {
      s.kind = StepKind::fence;
      uint32_t lanes = below(2) != 0 ? ~uint32_t{0} : random_();
      for (unsigned t = 0; t < all; ++t) s.addresses.push_back(lanes >> (t % 32) & 1 ? 0 : -1);
      return s;
    }
    if (what == 16 || c.warps == 1) {
      s.kind = StepKind::blockSync;
      s.addresses.assign(all, 0);
      return s;
    }
    if (what == 17) {
      s.kind = StepKind::partSync;
      s.warps = 1 + below((1u << c.warps) - 1);
      for (unsigned t = 0; t < all; ++t) {
        s.addresses.push_back(s.warps >> (t % c.perBlock() / 32) & 1 ? 0 : -1);
      }
      return s;
    }
    if (what == 18) {
      s.kind = StepKind::arrive;
      unsigned waits = below(c.warps);
      s.warps = 1u << waits;
      s.arrivers = 1u << (waits + 1) % c.warps;
      for (unsigned t = 0; t < all; ++t) s.addresses.push_back(0);
      return s;
    }
    s.kind = StepKind::flag;
    s.branch = false;
    s.relaxed = below(2) != 0;
    s.fenced = below(4) != 0;
    // Of the first block, which never waits for the second; who waits is in another warp.
    s.producer = below(c.perBlock());
    uint32_t lanes = below(2) != 0 ? ~uint32_t{0} : random_();
    for (unsigned t = 0; t < all; ++t) {
      bool waits = t / 32 != s.producer / 32 && (lanes >> (t % 32) & 1) != 0;
      s.addresses.push_back(waits ? 0 : -1);
    }
    return s;
  }

  void access(const Case& c, Step& s) {
    if (s.kind != StepKind::atomic) {
      static constexpr std::array<std::array<unsigned, 2>, 5> kShapes{
          {{4, 1}, {4, 1}, {8, 1}, {4, 2}, {1, 1}}};
      auto [bytes, vector] = kShapes[below(narrow_ ? 5 : 4)];
      s.bytes = bytes;
      s.vector = vector;
    }
    unsigned width = s.bytes * s.vector, places = span_ * 4 / width, n = c.perBlock();
    unsigned shift = below(places);
    auto align = [&](unsigned place) { return place % places * width; };
    switch (below(4)) {
      case 0:
        if (n * width <= kWords * 4) {
          s.where = Where::consecutive;
          for (unsigned t = 0; t < c.threads(); ++t) {
            s.addresses.push_back(static_cast<int>(t % n * width));
          }
          break;
        }
        [[fallthrough]];
      case 1:
        s.where = Where::uniform;
        s.offset = align(shift);
        s.addresses.assign(c.threads(), static_cast<int>(s.offset));
        break;
      case 2: {  // A permutation, or a few lanes at a place.
        unsigned flip = below(32), down = below(2) * below(3);
        for (unsigned t = 0; t < c.threads(); ++t) {
          s.addresses.push_back(static_cast<int>(align((((t % n) ^ flip) >> down) + shift)));
        }
        break;
      }
      default:
        for (unsigned t = 0; t < c.threads(); ++t) {
          s.addresses.push_back(static_cast<int>(align(below(places))));
        }
    }
    // Who takes part: all, some lanes, one thread, one warp.
    uint32_t lanes = random_();
    unsigned who = below(6), one = below(c.threads());
    for (unsigned t = 0; t < c.threads(); ++t) {
      bool in = who < 3    ? true
                : who == 3 ? (lanes >> (t % 32) & 1) != 0
                : who == 4 ? t == one
                           : t / 32 == one / 32;
      if (!in) s.addresses[t] = -1;
    }
  }

  std::mt19937 random_;
  unsigned span_ = kWords;
  bool narrow_ = false;
};

// ---- PTX ----

class Writer {
 public:
  explicit Writer(Case& c) : case_(c) {}

  std::string write() {
    line(".version 8.0");
    line(".target sm_80");
    line(".address_size 64");
    std::string table = ".const .align 4 .s32 table[" +
                        std::to_string(case_.steps.size() * case_.threads()) + "] = {";
    for (size_t i = 0; i < case_.steps.size(); ++i) {
      for (unsigned t = 0; t < case_.threads(); ++t) {
        table += (i + t == 0 ? "" : ",") + std::to_string(case_.steps[i].addresses[t]);
      }
    }
    line(table + "};");
    line(".global .align 4 .u32 flags[16];");
    line(".shared .align 16 .b8 tile[" + std::to_string(kWords * 4) + "];");
    line(".visible .entry k(.param .u64 out) {");
    line(".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;");
    line("mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;");
    line("mad.lo.u32 %r1, %r1, " + std::to_string(case_.perBlock()) + ", %r0;");
    line("mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.u64 %rd1, %rd1, %rd2;");
    if (case_.shared) {
      line("mov.u32 %r2, tile; cvt.u64.u32 %rd3, %r2;");
    } else {
      line("ld.param.u64 %rd3, [out];");
    }
    line("shr.u32 %r9, %r0, 5;");  // The warp.
    for (size_t i = 0; i < case_.steps.size(); ++i) step(i);
    line("ret; }");
    return text_;
  }

 private:
  void line(const std::string& s) {
    text_ += s + "\n";
    ++lines_;
  }

  void step(size_t i) {
    Step& s = case_.steps[i];
    std::string n = std::to_string(i), at = "[%rd5]";
    std::string space = case_.shared ? "shared" : "global";
    line("ld.const.s32 %r3, [%rd1+" + std::to_string(i * case_.threads() * 4) + "];");
    line("setp.ge.s32 %p1, %r3, 0;");
    if (s.where == Where::consecutive) {
      line("mul.wide.u32 %rd4, %r0, " + std::to_string(s.bytes * s.vector) + ";");
    } else if (s.where == Where::uniform) {
      line("mov.u64 %rd4, " + std::to_string(s.offset) + ";");
    } else {
      line("cvt.s64.s32 %rd4, %r3;");
    }
    line("add.u64 %rd5, %rd3, %rd4;");
    // A value that no other thread and step stores.
    line("mad.lo.u32 %r4, %r1, 64, " + std::to_string(1 + i) + "; mov.b64 %rd6, {%r4, %r4};");
    std::string guard = "@%p1 ";
    if (s.branch) {
      line("@!%p1 bra SKIP" + n + ";");
      guard.clear();
    }
    std::string type = s.bytes == 8 ? "u64" : s.bytes == 4 ? "u32" : "u8";
    std::string value = s.bytes == 8 ? "%rd6" : "%r4", into = s.bytes == 8 ? "%rd7" : "%r5";
    if (s.vector == 2) {
      type = "v2.u32";
      value = "{%r4, %r4}";
      into = "{%r5, %r6}";
    }
    std::string barrier = std::to_string(2 + i);  // One of its own: who comes early must not mix.
    auto main = [&](const std::string& text) {
      line(text);
      s.line = lines_;
    };
    switch (s.kind) {
      case StepKind::load:
        main(guard + "ld." + space + "." + type + " " + into + ", " + at + ";");
        break;
      case StepKind::store:
        main(guard + "st." + space + "." + type + " " + at + ", " + value + ";");
        break;
      case StepKind::atomic:
        main(guard + "atom.relaxed.gpu." + space + ".add.u32 %r5, " + at + ", 1;");
        break;
      case StepKind::warpSync: {
        uint32_t mask = 0;
        for (unsigned l = 0; l < 32; ++l) mask |= uint32_t{s.addresses[l] >= 0} << l;
        main(guard + "bar.warp.sync " + std::to_string(mask) + ";");
        break;
      }
      case StepKind::fence:
        main(guard + "fence.acq_rel.gpu;");
        break;
      case StepKind::blockSync:
        main("bar.sync 0;");
        break;
      case StepKind::partSync:
        main(guard + "bar.sync " + barrier + ", " +
             std::to_string(32 * __builtin_popcount(s.warps)) + ";");
        break;
      case StepKind::arrive:
        line("setp.eq.u32 %p2, %r9, " + std::to_string(__builtin_ctz(s.warps)) + ";");
        line("setp.eq.u32 %p3, %r9, " + std::to_string(__builtin_ctz(s.arrivers)) + ";");
        line("@%p3 bar.arrive " + barrier + ", 64;");
        main("@%p2 bar.sync " + barrier + ", 64;");
        break;
      case StepKind::flag: {
        std::string fence = s.relaxed && s.fenced ? "fence.acq_rel.gpu;" : "";
        std::string order = s.relaxed ? "relaxed" : "release",
                    take = s.relaxed ? "relaxed" : "acquire";
        line("mov.u64 %rd8, flags;");
        line("setp.ne.u32 %p2, %r1, " + std::to_string(s.producer) + ";");
        line("@%p2 bra WAIT" + n + ";");
        line(fence);
        line("st." + order + ".gpu.global.u32 [%rd8+" + std::to_string(4 * i) + "], 1;");
        line("WAIT" + n + ":");
        line("@!%p1 bra SKIPWAIT" + n + ";");
        line("AGAIN" + n + ": ld." + take + ".gpu.global.u32 %r7, [%rd8+" + std::to_string(4 * i) +
             "]; setp.eq.u32 %p3, %r7, 0; @%p3 bra AGAIN" + n + ";");
        main(fence);
        line("SKIPWAIT" + n + ":");
        break;
      }
    }
    if (s.branch) line("SKIP" + n + ":");
  }

  Case& case_;
  std::string text_;
  unsigned lines_ = 0;
};

// ---- The model ----

using Clock = std::vector<uint32_t>;  // How much of each thread has happened before.

void join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

struct Race {
  unsigned thread, step, other, otherStep;
  auto operator<=>(const Race&) const = default;
};

class Oracle {
 public:
  explicit Oracle(const Case& c) : case_(c), clocks_(c.threads(), Clock(c.threads())) {
    // What a relaxed read brought, until a fence or a barrier makes it known.
    waiting_ = clocks_;
    fenced_ = clocks_;
    for (size_t i = 0; i < c.steps.size(); ++i) step(static_cast<unsigned>(i));
  }
  const std::vector<Race>& races() const { return races_; }

 private:
  struct Access {
    unsigned thread, step;
    uint32_t clock;
    bool write, strong;
  };

  void step(unsigned index) {
    const Step& s = case_.steps[index];
    unsigned n = case_.perBlock();
    for (unsigned t = 0; t < case_.threads(); ++t) ++clocks_[t][t];
    switch (s.kind) {
      case StepKind::load:
      case StepKind::store:
      case StepKind::atomic:
        for (unsigned t = 0; t < case_.threads(); ++t) access(index, t);
        return;
      case StepKind::fence:
        for (unsigned t = 0; t < case_.threads(); ++t) {
          if (s.addresses[t] >= 0) fence(t);
        }
        return;
      case StepKind::warpSync:
        for (unsigned first = 0; first < case_.threads(); first += 32) {
          together([&](unsigned t) { return t / 32 == first / 32 && s.addresses[t] >= 0; });
        }
        return;
      case StepKind::blockSync:
      case StepKind::partSync:
        for (unsigned block = 0; block < case_.blocks; ++block) {
          together([&](unsigned t) { return t / n == block && s.addresses[t] >= 0; });
        }
        return;
      case StepKind::arrive:
        for (unsigned block = 0; block < case_.blocks; ++block) {
          Clock all(case_.threads());
          for (unsigned t = block * n; t < (block + 1) * n; ++t) {
            uint32_t bit = 1u << (t % n / 32);
            if (((s.warps | s.arrivers) & bit) == 0) continue;
            take(t);
            join(all, clocks_[t]);
          }
          for (unsigned t = block * n; t < (block + 1) * n; ++t) {
            if ((s.warps >> (t % n / 32) & 1) != 0) clocks_[t] = all;
          }
        }
        return;
      case StepKind::flag: {
        if (s.relaxed && s.fenced) fence(s.producer);
        const Clock& released = s.relaxed ? fenced_[s.producer] : clocks_[s.producer];
        for (unsigned t = 0; t < case_.threads(); ++t) {
          if (s.addresses[t] < 0) continue;
          join(s.relaxed ? waiting_[t] : clocks_[t], released);
          if (s.relaxed && s.fenced) fence(t);
        }
        return;
      }
    }
  }

  void take(unsigned t) { join(clocks_[t], waiting_[t]); }
  void fence(unsigned t) {
    take(t);
    fenced_[t] = clocks_[t];
  }

  template <typename In>
  void together(In in) {
    Clock all(case_.threads());
    for (unsigned t = 0; t < case_.threads(); ++t) {
      if (!in(t)) continue;
      take(t);
      join(all, clocks_[t]);
    }
    for (unsigned t = 0; t < case_.threads(); ++t) {
      if (in(t)) clocks_[t] = all;
    }
  }

  void access(unsigned index, unsigned t) {
    const Step& s = case_.steps[index];
    if (s.addresses[t] < 0) return;
    Access me{t, index, clocks_[t][t], s.kind != StepKind::load, s.kind == StepKind::atomic};
    unsigned from = static_cast<unsigned>(s.addresses[t]);
    for (unsigned byte = from; byte < from + s.bytes * s.vector; ++byte) {
      for (const Access& a : bytes_[byte]) {
        if (a.thread == t || !(a.write || me.write) || (a.strong && me.strong)) continue;
        if (clocks_[t][a.thread] < a.clock) races_.push_back({t, index, a.thread, a.step});
      }
      bytes_[byte].push_back(me);
    }
  }

  const Case& case_;
  std::vector<Clock> clocks_, waiting_, fenced_;
  std::map<unsigned, std::vector<Access>> bytes_;
  std::vector<Race> races_;
};

struct Count {
  unsigned racy = 0, found = 0, clean = 0;
};

void compare(uint32_t seed, Count& count) {
  Case c = Maker(seed).make();
  std::string ptx = Writer(c).write();
  Oracle oracle(c);
  Harness h(ptx);
  ASSERT_TRUE(h.ok()) << h.errors() << ptx;
  auto out = h.buffer<uint32_t>(std::vector<uint32_t>(kWords), "out");
  h.config.checks = Checks::race;
  h.config.maxSteps = 1000000;
  h.config.seed = seed;
  LaunchResult r = h.run("k", {c.blocks, 1, 1}, {c.perBlock(), 1, 1}, out);
  ASSERT_EQ(r.message, "") << ptx;
  const std::vector<Race>& races = oracle.races();
  ++(races.empty() ? count.clean : count.racy);
  if (!races.empty() && !r.reports.empty()) ++count.found;
  for (const Report& report : r.reports) {
    ASSERT_EQ(report.id, DiagId::SimRace) << h.errors() << ptx;
    auto stepOf = [&](const Place& p) {
      auto at = std::find_if(c.steps.begin(), c.steps.end(),
                             [&](const Step& s) { return s.line == p.ptx.line(); });
      return static_cast<unsigned>(at - c.steps.begin());
    };
    auto threadOf = [&](const Place& p) { return p.block[0] * c.perBlock() + p.thread[0]; };
    unsigned thread = threadOf(report.at), step = stepOf(report.at);
    unsigned other = threadOf(report.other), otherStep = stepOf(report.other);
    bool many = report.otherIsOneOfMany;  // Then `other` is the thread itself.
    ASSERT_EQ(many, thread == other) << h.errors() << ptx;
    auto same = [&](unsigned t, unsigned at, unsigned u, unsigned otherAt) {
      return t == thread && at == step && (many || (u == other && otherAt == otherStep));
    };
    bool real = std::any_of(races.begin(), races.end(), [&](const Race& x) {
      return same(x.thread, x.step, x.other, x.otherStep) ||
             same(x.other, x.otherStep, x.thread, x.step);
    });
    ASSERT_TRUE(real) << "seed " << seed << ": no race\n" << h.errors() << ptx;
  }
}

TEST(RaceRandom, ReportsAreRaces) {
  Count count;
  for (uint32_t seed = 1; seed <= 3000; ++seed) {
    compare(seed, count);
    if (testing::Test::HasFatalFailure()) return;
  }
  RecordProperty("racy", static_cast<int>(count.racy));
  RecordProperty("found", static_cast<int>(count.found));
  std::printf("%u with races, found in %u; %u without\n", count.racy, count.found, count.clean);
  EXPECT_GT(count.clean, 300u);
  EXPECT_GT(count.racy, 1000u);
  EXPECT_GT(count.found, count.racy * 19 / 20);
}

}  // namespace
}  // namespace mtlc::sim
