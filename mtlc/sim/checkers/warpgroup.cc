// Products of warpgroups (PTX ISA 9.7.15): their registers between issue and wait, and whether the
// warps of a warpgroup do the same.

#include "mtlc/sim/warpgroup.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/checkers/registers.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

bool isProduct(const Program& p, const Instr& in) {
  return in.op == Op::matrix && p.matrices[in.ext].warpgroup != nullptr;
}

Report reportAt(LaunchState& launch, Warp& w, const Instr& in, unsigned lane, ReportKind kind,
                DiagId id, DiagArgs args) {
  Report r;
  r.kind = kind;
  r.id = id;
  r.at = launch.place(w, in, lane);
  DiagnosticEngine text;
  r.message = text.report(id, SourceRange(), std::move(args)).message;
  return r;
}

// ---- Registers ----

// Of a warp, by 32-bit register of its bank. Times count in steps of the warp.
struct RegisterFlights {
  uint64_t now = 1;
  uint64_t fence = 0;
  struct Cell {
    uint64_t accessed = 1;  // By another instruction than a product, or before the first fence.
    uint64_t product = 0;   // As accumulator,
    uint32_t shape = 0;     // of a product of this shape.
    uint16_t results = 0;   // Products under way that have it as accumulator,
    uint16_t operands = 0;  // as part of A.
    uint32_t by = 0;        // The last of them.
  };
  std::vector<Cell> cells;

  Cell& at(size_t i) {
    if (cells.size() <= i) cells.resize(i + 1);
    return cells[i];
  }
};

class ProductChecker : public Observer {
 public:
  bool sequential() const override { return true; }
  bool wantsInstructions() const override { return true; }
  bool wantsAccesses() const override { return false; }

  void launchBegin(LaunchState& launch) override {
    launch_ = &launch;
    const Program& p = *launch.program;
    std::vector<std::vector<bool>> wanted(p.functions.size());
    for (size_t f = 0; f < p.functions.size(); ++f) wanted[f].resize(p.functions[f].slots32);
    auto functionOf = [&](const Instr& in) { return p.info[launch.pcOf(in)].function; };
    for (const Instr& in : p.code) {
      if (!isProduct(p, in)) continue;
      const MatrixSite& m = p.matrices[in.ext];
      eachSlot(m.a, [&](uint32_t slot) { wanted[functionOf(in)][slot] = true; });
      eachSlot(m.d, [&](uint32_t slot) { wanted[functionOf(in)][slot] = true; });
    }
    touches_.assign(p.code.size(), {});
    for (const Instr& in : p.code) {
      if (isProduct(p, in)) continue;
      uint32_t f = functionOf(in);
      std::vector<uint32_t>& list = touches_[launch.pcOf(in)];
      auto add = [&](Ref r) {
        if (isSlot(r) && wanted[f][refIndex(r)]) list.push_back(refIndex(r));
      };
      eachRegister(p, p.functions[f], in, add, add);
    }
  }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<std::vector<RegisterFlights>>());
      b.observerData[kSlot] = owned_.back().get();
    }
    warps(b).assign(b.warps.size(), {});
  }

  void instruction(Warp& w, const Instr& in, LaneMask mask) override {
    const std::vector<uint32_t>& list = touches_[launch_->pcOf(in)];
    if (list.empty() || mask == 0) return;
    RegisterFlights& f = flights(w);
    ++f.now;
    for (uint32_t slot : list) {
      RegisterFlights::Cell& c = f.at(w.frame->base32 + slot);
      c.accessed = f.now;
      if (c.results + c.operands != 0) inFlight(w, in, slot, c);
    }
  }

  void warpgroupFence(Warp& w, const Instr&) override {
    RegisterFlights& f = flights(w);
    f.fence = ++f.now;
  }

  void issued(Warp& w, const WarpgroupProduct& p) override {
    RegisterFlights& f = flights(w);
    const MatrixSite& m = launch_->program->matrices[p.in->ext];
    uint32_t shape = m.n << 16 | m.k;
    uint32_t pc = launch_->pcOf(*p.in);
    ++f.now;
    bool told = false;
    auto fenced = [&](uint32_t slot, bool fine) {
      if (fine || told) return;
      told = true;
      unsigned lane = static_cast<unsigned>(__builtin_ctz(p.lanes));
      reportCheck(w, *p.in, lane, ReportKind::async, DiagId::SimWarpgroupFence,
                  {nameOf(*p.in, slot)});
    };
    eachSlot(m.a, [&](uint32_t slot) {
      RegisterFlights::Cell& c = f.at(p.frame + slot);
      if (c.results != 0) inFlight(w, *p.in, slot, c);
      fenced(slot, c.accessed <= f.fence && c.product <= f.fence);
      ++c.operands;
      c.by = pc;
    });
    eachSlot(m.d, [&](uint32_t slot) {
      RegisterFlights::Cell& c = f.at(p.frame + slot);
      if (c.operands != 0) inFlight(w, *p.in, slot, c);
      // Products of one shape may follow each other.
      fenced(slot, c.accessed <= f.fence && (c.product <= f.fence || c.shape == shape));
      c.product = f.now;
      c.shape = shape;
      ++c.results;
      c.by = pc;
    });
  }

  void delivered(Warp& w, const WarpgroupProduct& p) override {
    RegisterFlights& f = flights(w);
    const MatrixSite& m = launch_->program->matrices[p.in->ext];
    auto less = [](uint16_t& n) { n = static_cast<uint16_t>(n == 0 ? 0 : n - 1); };
    eachSlot(m.a, [&](uint32_t slot) { less(f.at(p.frame + slot).operands); });
    eachSlot(m.d, [&](uint32_t slot) { less(f.at(p.frame + slot).results); });
  }

  // The registers of a function that returns are of no interest any more.
  void returned(Warp& w, const Instr&, LaneMask, const Frame&, const Frame& callee) override {
    RegisterFlights& f = flights(w);
    size_t end = std::min<size_t>(f.cells.size(), callee.base32 + callee.function->slots32);
    for (size_t i = callee.base32; i < end; ++i) f.cells[i].results = f.cells[i].operands = 0;
  }

 private:
  static constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::products);

  static std::vector<RegisterFlights>& warps(Block& b) {
    return *static_cast<std::vector<RegisterFlights>*>(b.observerData[kSlot]);
  }
  static RegisterFlights& flights(Warp& w) { return warps(*w.block)[w.index]; }
  static bool isSlot(Ref r) {
    return r != kNoRef && refFile(r) == File::frame && refBank(r) == Bank::r32;
  }

  template <typename Visit>
  void eachSlot(const Fragment& f, Visit visit) const {
    for (unsigned r = 0; r < f.registers; ++r) {
      Ref ref = launch_->program->operandLists[f.first + r];
      if (isSlot(ref)) visit(refIndex(ref));
    }
  }

  std::string nameOf(const Instr& in, uint32_t slot) const {
    const Program& p = *launch_->program;
    for (const RegisterName& n : p.names) {
      if (n.function == p.info[launch_->pcOf(in)].function && isSlot(n.ref) &&
          refIndex(n.ref) == slot) {
        return n.name;
      }
    }
    return "of an operand";
  }

  void inFlight(Warp& w, const Instr& in, uint32_t slot, const RegisterFlights::Cell& c) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(w.active));
    Report r = reportAt(*launch_, w, in, lane, ReportKind::async, DiagId::SimWarpgroupFlight,
                        {nameOf(in, slot)});
    r.other = launch_->place(c.by, w.block->id, r.at.thread);
    r.hasOther = true;
    launch_->report(std::move(r), launch_->pcOf(in), c.by);
  }

  LaunchState* launch_ = nullptr;
  // By instruction: 32-bit registers of its frame that some product of the function has, too.
  std::vector<std::vector<uint32_t>> touches_;
  std::vector<std::unique_ptr<std::vector<RegisterFlights>>> owned_;
};

// ---- Warps that do the same ----

struct Warpgroup {
  // What the warp that is ahead did and another has not done yet.
  struct Step {
    uint32_t pc = 0;
    uint32_t thread = 0;
    uint64_t a = 0, b = 0;
    bool adds = false;
  };
  std::deque<Step> steps;
  uint64_t first = 0;  // Number of steps[0].
  uint64_t done[kWarpgroupWarps] = {};
  bool broken = false;  // Reported.
};

class WarpgroupChecker : public Observer {
 public:
  bool sequential() const override { return true; }
  bool wantsAccesses() const override { return false; }

  void launchBegin(LaunchState& launch) override { launch_ = &launch; }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<std::vector<Warpgroup>>());
      b.observerData[kSlot] = owned_.back().get();
    }
    groups(b).assign(b.warps.size() / kWarpgroupWarps + 1, {});
  }

  void sync(Warp& w, const SyncEvent& e) override {
    if (e.kind != SyncKind::collective || e.in.op != Op::matrix) return;
    switch (instructionTable()[e.in.row].family) {
      case Family::warpgroupProduct:
      case Family::warpgroupFence:
      case Family::warpgroupCommit:
      case Family::warpgroupWait:
        return step(w, e.in, e.mask);
      default:
        return;
    }
  }

  void blockEnd(Block& b) override {
    for (size_t i = 0; i < groups(b).size(); ++i) {
      Warpgroup& g = groups(b)[i];
      if (g.broken || g.steps.empty()) continue;
      uint64_t* least = std::min_element(g.done, g.done + kWarpgroupWarps);
      auto late = static_cast<size_t>(least - g.done);
      const Warpgroup::Step& s = g.steps[*least - g.first];
      Warp& w = b.warps[s.thread / kLanes];
      reportCheck(w, launch_->program->code[s.pc], s.thread % kLanes, ReportKind::sync,
                  DiagId::SimWarpgroupMissing, {i * kWarpgroupWarps + late});
    }
  }

 private:
  static constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::warpgroups);

  static std::vector<Warpgroup>& groups(Block& b) {
    return *static_cast<std::vector<Warpgroup>*>(b.observerData[kSlot]);
  }

  void step(Warp& w, const Instr& in, LaneMask mask) {
    Block& b = *w.block;
    Warpgroup& g = groups(b)[w.index / kWarpgroupWarps];
    if (g.broken) return;
    unsigned lane = static_cast<unsigned>(__builtin_ctz(mask));
    uint32_t begin = w.index / kWarpgroupWarps * kWarpgroupWarps * kLanes;
    uint32_t size = std::min(b.threads - begin, kWarpgroupWarps * kLanes);
    if (size != kWarpgroupWarps * kLanes) {
      g.broken = true;
      reportCheck(w, in, lane, ReportKind::sync, DiagId::SimWarpgroupWarps, {size});
      return;
    }
    Warpgroup::Step mine;
    mine.pc = launch_->pcOf(in);
    mine.thread = w.index * kLanes + lane;
    if (isProduct(*b.program, in) && !operands(w, in, mask, mine)) {
      g.broken = true;
      return;
    }
    uint64_t number = g.done[w.index % kWarpgroupWarps]++;
    if (number == g.first + g.steps.size()) {
      g.steps.push_back(mine);
    } else {
      compare(w, in, lane, g.steps[number - g.first], mine, g);
    }
    uint64_t least = *std::min_element(g.done, g.done + kWarpgroupWarps);
    for (; g.first < least; ++g.first) g.steps.pop_front();
  }

  // Descriptors and scale-d must be those of all lanes. False when they are not.
  bool operands(Warp& w, const Instr& in, LaneMask mask, Warpgroup::Step& s) {
    unsigned first = static_cast<unsigned>(__builtin_ctz(mask));
    for (unsigned k : {kDescriptorA, kDescriptorB}) {
      if (in.src[k] == kNoRef) continue;
      const uint64_t* values = w.r64(in.src[k]);
      (k == kDescriptorA ? s.a : s.b) = values[first];
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        if (values[lane] == values[first]) continue;
        differs(w, in, lane, nameOf(k), values[lane], values[first], w.index * kLanes + first);
        return false;
      }
    }
    LaneMask adds = w.pred(in.src[kScaleD]) & mask;
    s.adds = adds != 0;
    if (adds == 0 || adds == mask) return true;
    unsigned other = static_cast<unsigned>(__builtin_ctz(adds ^ mask));
    differs(w, in, other, nameOf(kScaleD), 0, 1, w.index * kLanes + __builtin_ctz(adds));
    return false;
  }

  void compare(Warp& w, const Instr& in, unsigned lane, const Warpgroup::Step& theirs,
               const Warpgroup::Step& mine, Warpgroup& g) {
    if (theirs.pc != mine.pc) {
      g.broken = true;
      auto text = [&](uint32_t pc) {
        return std::string(instructionTable()[launch_->program->code[pc].row].pattern);
      };
      Report r = reportAt(*launch_, w, in, lane, ReportKind::sync, DiagId::SimWarpgroupDiffers,
                          {w.index, text(mine.pc), theirs.thread / kLanes, text(theirs.pc)});
      r.other = launch_->place(theirs.pc, w.block->id, w.block->threadId(theirs.thread));
      r.hasOther = true;
      launch_->report(std::move(r), mine.pc, theirs.pc);
      return;
    }
    if (theirs.a != mine.a) {
      differs(w, in, lane, nameOf(kDescriptorA), mine.a, theirs.a, theirs.thread);
    } else if (theirs.b != mine.b) {
      differs(w, in, lane, nameOf(kDescriptorB), mine.b, theirs.b, theirs.thread);
    } else if (theirs.adds != mine.adds) {
      differs(w, in, lane, nameOf(kScaleD), mine.adds, theirs.adds, theirs.thread);
    }
  }

  static const char* nameOf(unsigned source) {
    return source == kDescriptorA   ? "the descriptor of A"
           : source == kDescriptorB ? "the descriptor of B"
                                    : "scale-d";
  }

  void differs(Warp& w, const Instr& in, unsigned lane, const char* what, uint64_t mine,
               uint64_t theirs, uint32_t thread) {
    reportCheck(w, in, lane, ReportKind::sync, DiagId::SimWarpgroupOperand,
                {what, hexText(theirs), triple(w.block->threadId(thread)), hexText(mine),
                 triple(w.block->threadId(w.index * kLanes + lane))});
  }

  LaunchState* launch_ = nullptr;
  std::vector<std::unique_ptr<std::vector<Warpgroup>>> owned_;
};

}  // namespace

std::unique_ptr<Observer> makeProductChecker() { return std::make_unique<ProductChecker>(); }
std::unique_ptr<Observer> makeWarpgroupChecker() { return std::make_unique<WarpgroupChecker>(); }

}  // namespace mtlc::sim
