// Exchanges of values between the threads of a subgroup or of a block, see GroupSite.
//
// Threads wait at the operation until all live threads of their group are there. Where a program
// lets only some of them come (SPIR-V's non-uniform operations), nothing says which others will
// follow: those that are there go on when nothing else in the block can run.

#include <algorithm>
#include <bit>
#include <cmath>

#include "mtlc/sim/engine.h"
#include "mtlc/support/float_format.h"

namespace mtlc::sim {
namespace {

// A thread that takes part.
struct Member {
  Warp* warp;
  Frame* frame;
  uint32_t lane;      // In its warp.
  uint32_t position;  // In its group.
};

// The groups of threads that an operation of `site` works on: threads [first, first + size) of the
// block.
struct Domain {
  uint32_t first;
  uint32_t size;
};

Domain domainOf(const Block& b, const GroupSite& site, uint32_t thread) {
  if (site.wholeBlock) return {0, static_cast<uint32_t>(b.warps.size()) * kLanes};
  uint32_t size = b.launch->config->subgroupSize;
  return {thread / size * size, size};
}

// The lanes of warp `index` that lie in `d`.
LaneMask lanesIn(const Domain& d, uint32_t index) {
  uint32_t begin = std::max(d.first, index * kLanes);
  uint32_t end = std::min(d.first + d.size, (index + 1) * kLanes);
  if (begin >= end) return 0;
  LaneMask below = end % kLanes == 0 ? kAllLanes : (1u << end % kLanes) - 1;
  return below & (kAllLanes << begin % kLanes);
}

uint64_t read(const Member& m, Ref r) {
  if (m.warp->frame != m.frame) enterFrame(*m.warp, m.frame);
  switch (refBank(r)) {
    case Bank::r32:
      return m.warp->r32(r)[m.lane];
    case Bank::r64:
      return m.warp->r64(r)[m.lane];
    default:
      return m.warp->pred(r) >> m.lane & 1;
  }
}

void write(const Member& m, Ref r, uint64_t value) {
  if (m.warp->frame != m.frame) enterFrame(*m.warp, m.frame);
  switch (refBank(r)) {
    case Bank::r32:
      m.warp->r32(r)[m.lane] = static_cast<uint32_t>(value);
      break;
    case Bank::r64:
      m.warp->r64(r)[m.lane] = value;
      break;
    default: {
      LaneMask& p = m.warp->predSlot(r);
      p = (p & ~(1u << m.lane)) | static_cast<LaneMask>(value & 1) << m.lane;
      break;
    }
  }
}

// ---- Combining values ----

double toDouble(uint64_t v, unsigned bits) {
  if (bits == 64) return std::bit_cast<double>(v);
  if (bits == 32) return std::bit_cast<float>(static_cast<uint32_t>(v));
  return f16ToF64(static_cast<uint16_t>(v));
}

uint64_t fromDouble(double v, unsigned bits) {
  if (bits == 64) return std::bit_cast<uint64_t>(v);
  if (bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(v));
  return f64ToF16(v);
}

int64_t toSigned(uint64_t v, unsigned bits) {
  unsigned shift = 64 - bits;
  return static_cast<int64_t>(v << shift) >> shift;
}

uint64_t cut(uint64_t v, unsigned bits) { return bits == 64 ? v : v & ((uint64_t{1} << bits) - 1); }

uint64_t combine(const GroupSite& s, uint64_t a, uint64_t b) {
  unsigned bits = s.bits;
  if (s.value == GroupValue::floating) {
    // Sums and products of two floats are exact enough in double that rounding twice is rounding
    // once.
    double x = toDouble(a, bits), y = toDouble(b, bits);
    switch (s.combine) {
      case GroupCombine::add:
        return fromDouble(x + y, bits);
      case GroupCombine::mul:
        return fromDouble(x * y, bits);
      case GroupCombine::min:
        return fromDouble(std::fmin(x, y), bits);
      default:
        return fromDouble(std::fmax(x, y), bits);
    }
  }
  switch (s.combine) {
    case GroupCombine::add:
      return cut(a + b, bits);
    case GroupCombine::mul:
      return cut(a * b, bits);
    case GroupCombine::bitAnd:
      return cut(a & b, bits);
    case GroupCombine::bitOr:
      return cut(a | b, bits);
    case GroupCombine::bitXor:
      return cut(a ^ b, bits);
    default:
      break;
  }
  bool less = s.value == GroupValue::signedInt ? toSigned(a, bits) < toSigned(b, bits)
                                               : cut(a, bits) < cut(b, bits);
  return cut((s.combine == GroupCombine::min) == less ? a : b, bits);
}

// What an exclusive scan begins with.
uint64_t identity(const GroupSite& s) {
  unsigned bits = s.bits;
  bool isMin = s.combine == GroupCombine::min, isMax = s.combine == GroupCombine::max;
  if (s.value == GroupValue::floating) {
    if (isMin || isMax) return fromDouble(isMin ? INFINITY : -INFINITY, bits);
    return fromDouble(s.combine == GroupCombine::mul ? 1 : 0, bits);
  }
  uint64_t ones = cut(~uint64_t{0}, bits);
  if (isMin) return s.value == GroupValue::signedInt ? ones >> 1 : ones;
  if (isMax) return s.value == GroupValue::signedInt ? ones ^ ones >> 1 : 0;
  if (s.combine == GroupCombine::mul) return 1;
  return s.combine == GroupCombine::bitAnd ? ones : 0;
}

// ---- Execution ----

class Exchange {
 public:
  Exchange(const Instr& in, const GroupSite& site, std::vector<Member> members)
      : in_(in), s_(site), members_(std::move(members)) {}

  void run() {
    switch (s_.op) {
      case GroupOp::all:
      case GroupOp::any:
      case GroupOp::allEqual:
        return vote();
      case GroupOp::elect:
        for (const Member& m : members_) write(m, s_.results[0], &m == &members_[0] ? 1 : 0);
        return;
      case GroupOp::ballot:
        return ballot();
      case GroupOp::reduce:
      case GroupOp::inclusiveScan:
      case GroupOp::exclusiveScan:
        return scan();
      default:
        return exchange();
    }
  }

 private:
  void vote() {
    bool all = true, any = false, equal = true;
    for (size_t c = 0; c < s_.values.size(); ++c) {
      uint64_t first = cut(read(members_[0], s_.values[c]), s_.bits);
      for (const Member& m : members_) {
        uint64_t v = cut(read(m, s_.values[c]), s_.bits);
        all = all && v != 0;
        any = any || v != 0;
        // Floats compare by value: -0 = +0, and a NaN equals nothing.
        equal = equal &&
                (s_.value == GroupValue::floating ? toDouble(v, s_.bits) == toDouble(first, s_.bits)
                                                  : v == first);
      }
    }
    bool result = s_.op == GroupOp::all ? all : s_.op == GroupOp::any ? any : equal;
    for (const Member& m : members_) write(m, s_.results[0], result ? 1 : 0);
  }

  void ballot() {
    uint64_t words[2] = {0, 0};
    for (const Member& m : members_) {
      if (read(m, s_.values[0]) != 0) words[m.position / 64] |= uint64_t{1} << m.position % 64;
    }
    for (const Member& m : members_) {
      for (size_t i = 0; i < s_.results.size(); ++i) {
        write(m, s_.results[i], i < 2 ? words[0] >> (32 * i) & 0xffffffffu : 0);
      }
    }
  }

  void scan() {
    for (size_t c = 0; c < s_.values.size(); ++c) {
      uint32_t part = s_.cluster == 0 ? UINT32_MAX : s_.cluster;
      for (size_t begin = 0; begin < members_.size();) {
        size_t end = begin;
        while (end < members_.size() &&
               members_[end].position / part == members_[begin].position / part) {
          ++end;
        }
        // A sum of no elements is the identity, but x + 0 is no copy of -0: begin with the first.
        std::vector<uint64_t> results;
        uint64_t sum = 0;
        for (size_t i = begin; i < end; ++i) {
          uint64_t v = cut(read(members_[i], s_.values[c]), s_.bits);
          if (s_.op == GroupOp::exclusiveScan) results.push_back(i == begin ? identity(s_) : sum);
          sum = i == begin ? v : combine(s_, sum, v);
          if (s_.op == GroupOp::inclusiveScan) results.push_back(sum);
        }
        for (size_t i = begin; i < end; ++i) {
          write(members_[i], s_.results[c], s_.op == GroupOp::reduce ? sum : results[i - begin]);
        }
        begin = end;
      }
    }
  }

  // The position that member `m` reads from.
  uint64_t source(const Member& m) const {
    auto index = [&] { return read(m, s_.index[0]); };
    switch (s_.op) {
      case GroupOp::broadcastFirst:
        return members_[0].position;
      case GroupOp::shuffleXor:
        return m.position ^ index();
      case GroupOp::shuffleUp:
        return m.position - index();
      case GroupOp::shuffleDown:
        return m.position + index();
      default:
        break;
    }
    if (!s_.wholeBlock) return index();
    // A position in the block, by its dimensions.
    const Block& b = *m.warp->block;
    uint64_t p = 0;
    for (unsigned i = 3; i-- > 0;) {
      uint64_t at = s_.index[i] == kNoRef ? 0 : read(m, s_.index[i]);
      p = p * b.shape[i] + at;
    }
    return p;
  }

  void exchange() {
    std::vector<const Member*> at(s_.wholeBlock ? members_.back().position + 1 : 64, nullptr);
    for (const Member& m : members_) at[m.position] = &m;
    std::vector<const Member*> from;
    for (const Member& m : members_) {
      uint64_t p = source(m);
      const Member* f = p < at.size() ? at[p] : nullptr;
      if (f == nullptr) {
        Block& b = *m.warp->block;
        bool wanted = has(b.launch->config->checks, Checks::sync);
        if (wanted) {
          reportCheck(*m.warp, in_, m.lane, ReportKind::sync, DiagId::SimGroupSource, {p});
        }
        f = &m;
      }
      from.push_back(f);
    }
    for (size_t c = 0; c < s_.values.size(); ++c) {
      std::vector<uint64_t> values;
      for (const Member* f : from) values.push_back(read(*f, s_.values[c]));
      for (size_t i = 0; i < members_.size(); ++i) write(members_[i], s_.results[c], values[i]);
    }
  }

  const Instr& in_;
  const GroupSite& s_;
  std::vector<Member> members_;
};

// Runs the operation at `pc` for the threads of `d` that wait there, if all live ones do or
// `force` says so. True when it ran.
bool complete(Block& b, uint32_t pc, const GroupSite& site, const Domain& d, bool force) {
  uint32_t firstWarp = d.first / kLanes;
  uint32_t lastWarp = std::min<uint32_t>((d.first + d.size - 1) / kLanes,
                                         static_cast<uint32_t>(b.warps.size()) - 1);
  std::vector<Member> members;
  uint32_t missing = 0;
  for (uint32_t i = firstWarp; i <= lastWarp; ++i) {
    Warp& w = b.warps[i];
    LaneMask left = lanesIn(d, i) & w.live;
    for (const Group& g : w.groups) {
      if (g.state != GroupState::atGroup || g.pc != pc) continue;
      for (LaneMask m = g.mask & left; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        members.push_back({&w, g.frame, lane, i * kLanes + lane - d.first});
      }
      left &= ~g.mask;
    }
    missing += static_cast<uint32_t>(__builtin_popcount(left));
  }
  if (members.empty() || (missing != 0 && !force)) return false;
  std::sort(members.begin(), members.end(),
            [](const Member& x, const Member& y) { return x.position < y.position; });
  LaunchState& launch = *b.launch;
  const Instr& in = launch.program->code[pc];
  if (missing != 0 && site.uniform && has(launch.config->checks, Checks::sync)) {
    reportCheck(*members[0].warp, in, members[0].lane, ReportKind::sync, DiagId::SimGroupMissing,
                {missing, site.wholeBlock ? "work-group" : "subgroup"});
  }
  std::vector<LaneMask> done(lastWarp - firstWarp + 1, 0);
  for (const Member& m : members) done[m.warp->index - firstWarp] |= 1u << m.lane;
  Exchange(in, site, std::move(members)).run();
  for (uint32_t i = firstWarp; i <= lastWarp; ++i) {
    if (done[i - firstWarp] == 0) continue;
    Warp& w = b.warps[i];
    for (Observer* o : launch.resultObservers) o->executed(w, in, done[i - firstWarp]);
    leaveCollective(w, pc, done[i - firstWarp]);
  }
  return true;
}

const GroupSite& siteAt(const Block& b, uint32_t pc) {
  return b.program->groups[b.program->code[pc].ext];
}

// The domains of the lanes of `mask` in warp `w`, each once.
std::vector<Domain> domainsOf(const Block& b, const GroupSite& site, const Warp& w, LaneMask mask) {
  std::vector<Domain> out;
  while (mask != 0) {
    Domain d = domainOf(b, site, w.index * kLanes + static_cast<unsigned>(__builtin_ctz(mask)));
    out.push_back(d);
    mask &= ~lanesIn(d, w.index);
  }
  return out;
}

}  // namespace

void reachGroupOp(Warp& w, const Instr& in) {
  Block& b = *w.block;
  Group& g = w.groups[w.current];
  uint32_t pc = b.launch->pcOf(in);
  g.pc = pc;
  g.state = GroupState::atGroup;
  const GroupSite& site = b.program->groups[in.ext];
  for (const Domain& d : domainsOf(b, site, w, g.mask)) complete(b, pc, site, d, false);
}

bool forceGroupOp(Block& b) {
  for (bool force : {false, true}) {
    // Those that wait at the place that comes first in the program may yet meet others further on.
    uint32_t best = kNever;
    Warp* warp = nullptr;
    LaneMask lanes = 0;
    for (Warp& w : b.warps) {
      for (const Group& g : w.groups) {
        if (g.state != GroupState::atGroup) continue;
        if (!force) {
          const GroupSite& site = siteAt(b, g.pc);
          uint32_t pc = g.pc;
          for (const Domain& d : domainsOf(b, site, w, g.mask)) {
            if (complete(b, pc, site, d, false)) return true;
          }
          continue;
        }
        uint32_t order = b.program->code[g.pc].order;
        if (warp != nullptr && order >= b.program->code[best].order) continue;
        best = g.pc;
        warp = &w;
        lanes = g.mask;
      }
    }
    if (!force || warp == nullptr) continue;
    const GroupSite& site = siteAt(b, best);
    return complete(b, best, site, domainsOf(b, site, *warp, lanes)[0], true);
  }
  return false;
}

}  // namespace mtlc::sim
