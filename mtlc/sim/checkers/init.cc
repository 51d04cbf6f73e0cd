// Uninitialised bits: a shadow bit per bit of every register and of memory, 1 where the bit was
// never given a value.
//
// Copies move shadow bits; arithmetic spreads them; nothing is reported until one decides
// something: a branch, an address, an atomic operation, a collective, or a value that the host
// reads back. Padding, unused bytes of wide loads and registers that are copied without ever having
// been written are no fault.
//
// While no register of a warp holds an undefined bit, its instructions need no look at all: only
// loads can bring one in. Registers that a thread never reads before it wrote them (unwritten.h)
// count as defined until then; the others make a warp be followed from the start, until they are
// written.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/checkers/matrix_shadow.h"
#include "mtlc/sim/checkers/shadow.h"
#include "mtlc/sim/checkers/spread.h"
#include "mtlc/sim/checkers/unwritten.h"
#include "mtlc/sim/lanes/lanes.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

constexpr size_t kSlot = static_cast<size_t>(ObserverSlot::init);

class InitChecker : public Observer {
 public:
  bool sequential() const override { return true; }
  bool wantsInstructions() const override { return true; }

  void launchBegin(LaunchState& launch) override {
    launch_ = &launch;
    unwritten_ = maybeUnwritten(*launch.program);
    alone_ = launch.instructionObservers.size() == 1;
    for (const auto& [begin, a] : launch.memory->all()) {
      if (a->live && !a->initialised) a->makeUndefined();
    }
  }

  void launchEnd(LaunchState& launch) override {
    for (Allocation* a : launch.config->readBack) {
      auto it = origins_.find(a->id);
      if (it == origins_.end() || a->undefined == nullptr) continue;
      std::vector<uint64_t> offsets;
      for (const auto& [offset, origin] : it->second) offsets.push_back(offset);
      std::sort(offsets.begin(), offsets.end());
      for (uint64_t offset : offsets) {
        const Origin& origin = it->second.at(offset);
        uint64_t n = std::min<uint64_t>(8, a->size() - offset);
        if (allZero(a->undefined.get() + offset, n)) continue;
        Report r;
        r.kind = ReportKind::init;
        r.id = DiagId::SimUninitReadBack;
        r.at = launch.place(origin.pc, origin.block, origin.thread);
        r.address = a->begin + offset;
        r.space = Space::global;
        r.bytes = static_cast<uint32_t>(n);
        DiagnosticEngine text;
        r.message = text.report(r.id, SourceRange(), {offset, a->name}).message;
        launch.report(std::move(r), origin.pc);
      }
    }
  }

  void blockBegin(Block& b) override {
    if (b.observerData[kSlot] == nullptr) {
      owned_.push_back(std::make_unique<BlockShadow>());
      b.observerData[kSlot] = owned_.back().get();
    }
    auto& s = *static_cast<BlockShadow*>(b.observerData[kSlot]);
    s.shared.assign(b.sharedBytes, 0xff);
    std::fill_n(s.shared.begin() + b.program->reservedShared, b.program->reservedSharedBytes, 0);
    s.local.assign(b.warps.size() * kLanes * b.localStride, 0xff);
    s.warps.resize(b.warps.size());
    const ProgramFunction& f = b.program->functions[0];
    for (size_t i = 0; i < b.warps.size(); ++i) {
      WarpShadow& w = s.warps[i];
      if (w.undefinedSlots != 0 || w.pred.size() < f.slotsPred ||
          w.undefined32.size() < f.slots32 || w.undefined64.size() < f.slots64) {
        w.undefined32.assign(f.slots32, 0);
        w.undefined64.assign(f.slots64, 0);
        w.pred.assign(f.slotsPred, 0);
        w.undefinedSlots = 0;
      }
      w.bits32.resize(std::max(w.bits32.size(), size_t{f.slots32} * kLanes));
      w.bits64.resize(std::max(w.bits64.size(), size_t{f.slots64} * kLanes));
      b.warps[i].observerData[kSlot] = &w;
      // Lanes that do not exist are the business of the sync checker.
      enterFrame(w, 0, Frame{}, b.warps[i].started);
      settle(b.warps[i]);
    }
  }

  void instruction(Warp& w, const Instr& in, LaneMask mask) override {
    if (shadow(w).undefinedSlots == 0) return;
    follow(w, in, mask);
    settle(w);
  }

  void landing(Block& b, const Piece& p) override {
    auto shadowAt = [&](Space space, uint64_t address, uint64_t bytes, bool create) -> uint8_t* {
      if (space == Space::shared) return blockShadow(b).shared.data() + address;
      if (space != Space::global) return nullptr;
      Allocation* a = launch_->memory->find(address, bytes);
      if (a == nullptr) return nullptr;
      if (a->undefined == nullptr && create) a->makeDefinedShadow();
      return a->undefined == nullptr ? nullptr : a->undefined.get() + (address - a->begin);
    };
    const uint8_t* from = p.bytes == 0 ? nullptr : shadowAt(p.fromSpace, p.from, p.bytes, false);
    if (from != nullptr && allZero(from, p.bytes)) from = nullptr;
    uint8_t* to = shadowAt(p.toSpace, p.to, uint64_t{p.bytes} + p.fill, from != nullptr);
    if (to == nullptr) return;
    if (from != nullptr) {
      std::memmove(to, from, p.bytes);
    } else {
      std::memset(to, 0, p.bytes);
    }
    std::memset(to + p.bytes, 0, p.fill);
  }

  void access(Warp& w, const Access& a) override {
    if (a.in.op == Op::async) return;  // What it copies, landing() tells.
    switch (a.kind) {
      case AccessKind::load:
        load(w, a);
        break;
      case AccessKind::store:
        store(w, a);
        break;
      default:
        atomic(w, a);
        break;
    }
    settle(w);
  }

  void called(Warp& w, const Instr& in, LaneMask mask, const Frame& caller,
              const Frame& callee) override {
    WarpShadow& s = shadow(w);
    const ProgramFunction& f = *callee.function;
    growBanks(s, callee);
    const CallSite& site = w.block->program->calls[in.ext];
    // Arguments are read before the callee's frame counts as unwritten: frames of other lanes may
    // overlap it.
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint8_t* local = localShadow(w, lane);
      std::memset(local + callee.localBase, 0xff, f.localBytes);
    }
    size_t index = static_cast<size_t>(&f - w.block->program->functions.data());
    leaveFrame(s, callee, mask);
    enterFrame(s, index, callee, mask);
    for (size_t i = 0; i < site.arguments.size(); ++i) {
      const CallValue& v = site.arguments[i];
      const FormalValue& p = f.params[i];
      transfer(w, mask, caller, v.ref, v.offset, callee, p.ref, p.offset, p.bytes);
    }
    settle(w);
  }

  void returned(Warp& w, const Instr& in, LaneMask mask, const Frame& caller,
                const Frame& callee) override {
    const CallSite& site = w.block->program->calls[in.ext];
    for (size_t i = 0; i < site.results.size(); ++i) {
      const CallValue& v = site.results[i];
      const FormalValue& p = callee.function->results[i];
      if (v.bytes != 0)
        transfer(w, mask, callee, p.ref, p.offset, caller, v.ref, v.offset, p.bytes);
    }
    leaveFrame(shadow(w), callee, mask);
    settle(w);
  }

  void builtinReturned(Warp& w, const Instr& in, LaneMask mask) override {
    const CallSite& site = w.block->program->calls[in.ext];
    if (site.builtin == Builtin::stackAlloc) {
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        const StackPiece& piece = w.stackPieces[lane].back();
        std::memset(localShadow(w, lane) + piece.offset, 0xff, piece.bytes);
      }
    }
    for (const CallValue& v : site.results) {
      if (v.ref != kNoRef) {
        define(w, v.ref, mask);
        continue;
      }
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
        std::memset(localShadow(w, lane) + w.frame->localBase + v.offset, 0, v.bytes);
      }
    }
    settle(w);
  }

  void allocated(const Allocation& heap, uint64_t offset, uint64_t bytes) override {
    if (heap.undefined != nullptr) std::memset(heap.undefined.get() + offset, 0xff, bytes);
  }

 private:
  struct Origin {
    uint32_t pc;
    std::array<uint32_t, 3> block;
    std::array<uint32_t, 3> thread;
  };

  // The engine tells of instructions as long as there is something to follow.
  void settle(Warp& w) const {
    if (alone_) w.followed = shadow(w).undefinedSlots != 0;
  }

  void follow(Warp& w, const Instr& in, LaneMask mask) {
    if (in.guard != kNoRef) {
      LaneMask u = undefined(w, in.guard) & w.active;
      if (u != 0) {
        decided(w, in, u, in.op == Op::branch ? "a branch" : "the guard of an instruction");
        define(w, in.guard, u);
      }
    }
    if (mask == 0) return;
    switch (in.op) {
      case Op::lane:
        compute(w, in, mask);
        return;
      case Op::memory:
        addresses(w, in, mask);
        return;
      case Op::async:
        for (Ref r : w.block->program->asyncs[in.ext].reads) {
          decideOn(w, in, r, mask, "an asynchronous operation");
        }
        define(w, in.dst, mask);
        return;
      case Op::branchTable:
        decideOn(w, in, in.src[0], mask, "a branch");
        return;
      case Op::collective:
        collective(w, in, mask);
        return;
      case Op::matrix:
        matrix(w, in, mask);
        return;
      case Op::group: {
        const GroupSite& site = w.block->program->groups[in.ext];
        for (Ref r : site.index) decideOn(w, in, r, mask, "a group operation");
        for (Ref r : site.values) decideOn(w, in, r, mask, "a group operation");
        for (Ref r : site.results) define(w, r, mask);
        return;
      }
      case Op::barrier: {
        const BarrierSite& site = w.block->program->barriers[in.ext];
        for (Ref r : {site.id, site.count, site.predicate}) decideOn(w, in, r, mask, "a barrier");
        define(w, in.dst, mask);
        return;
      }
      default:
        return;
    }
  }

  static WarpShadow& shadow(Warp& w) { return *static_cast<WarpShadow*>(w.observerData[kSlot]); }
  static BlockShadow& blockShadow(Block& b) {
    return *static_cast<BlockShadow*>(b.observerData[kSlot]);
  }
  static BlockShadow& blockShadow(Warp& w) { return blockShadow(*w.block); }
  static uint8_t* localShadow(Warp& w, unsigned lane) {
    return blockShadow(w).local.data() + size_t{w.index * kLanes + lane} * w.block->localStride;
  }

  static void growBanks(WarpShadow& s, const Frame& f) {
    size_t n32 = f.base32 + f.function->slots32, n64 = f.base64 + f.function->slots64;
    size_t nPred = f.basePred + f.function->slotsPred;
    if (s.undefined32.size() < n32) s.undefined32.resize(n32, 0);
    if (s.undefined64.size() < n64) s.undefined64.resize(n64, 0);
    if (s.pred.size() < nPred) s.pred.resize(nPred, 0);
    if (s.bits32.size() < n32 * kLanes) s.bits32.resize(n32 * kLanes);
    if (s.bits64.size() < n64 * kLanes) s.bits64.resize(n64 * kLanes);
  }

  // The registers of a frame of function `index` that may be read unwritten are undefined in
  // `mask`.
  void enterFrame(WarpShadow& s, size_t index, const Frame& frame, LaneMask mask) const {
    for (Ref r : unwritten_[index]) {
      for (LaneMask m = mask; m != 0; m &= m - 1) {
        setIn(s, frame, r, static_cast<unsigned>(__builtin_ctz(m)), ~uint64_t{0});
      }
    }
  }
  // What the registers of a frame hold in `mask` is of no interest any more.
  static void leaveFrame(WarpShadow& s, const Frame& frame, LaneMask mask) {
    if (s.undefinedSlots == 0) return;
    const ProgramFunction& f = *frame.function;
    auto clear = [&](std::vector<LaneMask>& slots, uint32_t first, uint32_t count) {
      for (uint32_t i = first; i < first + count; ++i) s.mark(slots[i], slots[i] & ~mask);
    };
    clear(s.undefined32, frame.base32, f.slots32);
    clear(s.undefined64, frame.base64, f.slots64);
    clear(s.pred, frame.basePred, f.slotsPred);
  }

  // Lanes in which `r` has an undefined bit. Constants and special registers have none.
  static LaneMask undefinedIn(WarpShadow& s, const Frame& f, Ref r) {
    if (r == kNoRef || refFile(r) != File::frame) return 0;
    switch (refBank(r)) {
      case Bank::r32:
        return s.undefined32[f.base32 + refIndex(r)];
      case Bank::r64:
        return s.undefined64[f.base64 + refIndex(r)];
      default:
        return s.pred[f.basePred + refIndex(r)];
    }
  }
  static LaneMask undefined(Warp& w, Ref r) { return undefinedIn(shadow(w), *w.frame, r); }

  static uint64_t bitsIn(WarpShadow& s, const Frame& f, Ref r, unsigned lane) {
    if ((undefinedIn(s, f, r) >> lane & 1) == 0) return 0;
    switch (refBank(r)) {
      case Bank::r32:
        return s.bits32[size_t{f.base32 + refIndex(r)} * kLanes + lane];
      case Bank::r64:
        return s.bits64[size_t{f.base64 + refIndex(r)} * kLanes + lane];
      default:
        return 1;
    }
  }
  static uint64_t bits(Warp& w, Ref r, unsigned lane) {
    return bitsIn(shadow(w), *w.frame, r, lane);
  }

  static void setIn(WarpShadow& s, const Frame& f, Ref r, unsigned lane, uint64_t value) {
    if (r == kNoRef || refFile(r) != File::frame) return;
    LaneMask bit = 1u << lane;
    auto mark = [&](LaneMask& m) { s.mark(m, value != 0 ? m | bit : m & ~bit); };
    switch (refBank(r)) {
      case Bank::r32:
        mark(s.undefined32[f.base32 + refIndex(r)]);
        s.bits32[size_t{f.base32 + refIndex(r)} * kLanes + lane] = static_cast<uint32_t>(value);
        break;
      case Bank::r64:
        mark(s.undefined64[f.base64 + refIndex(r)]);
        s.bits64[size_t{f.base64 + refIndex(r)} * kLanes + lane] = value;
        break;
      default:
        mark(s.pred[f.basePred + refIndex(r)]);
        break;
    }
  }
  static void set(Warp& w, Ref r, unsigned lane, uint64_t value) {
    setIn(shadow(w), *w.frame, r, lane, value);
  }

  // `r` has a value in the lanes of `mask`.
  static void define(Warp& w, Ref r, LaneMask mask) {
    if (r == kNoRef || refFile(r) != File::frame) return;
    WarpShadow& s = shadow(w);
    if (s.undefinedSlots == 0) return;
    auto clear = [&](LaneMask& m) {
      if (m != 0) s.mark(m, m & ~mask);
    };
    switch (refBank(r)) {
      case Bank::r32:
        clear(s.undefined32[w.frame->base32 + refIndex(r)]);
        break;
      case Bank::r64:
        clear(s.undefined64[w.frame->base64 + refIndex(r)]);
        break;
      default:
        clear(s.pred[w.frame->basePred + refIndex(r)]);
        break;
    }
  }

  void decided(Warp& w, const Instr& in, LaneMask lanes, const char* what) {
    reportCheck(w, in, static_cast<unsigned>(__builtin_ctz(lanes)), ReportKind::init,
                DiagId::SimUninitialised, {what});
  }

  // Reports once and then takes the register as defined, so that one fault gives one report.
  void decideOn(Warp& w, const Instr& in, Ref r, LaneMask mask, const char* what) {
    if (r == kNoRef) return;
    LaneMask u = undefined(w, r) & mask;
    if (u == 0) return;
    decided(w, in, u, what);
    define(w, r, u);
  }

  void addresses(Warp& w, const Instr& in, LaneMask mask) {
    decideOn(w, in, in.src[0], mask, "an address");
    Family family = instructionTable()[in.row].family;
    if (family == Family::atom || family == Family::red) {
      decideOn(w, in, in.src[1], mask, "an atomic operation");
      decideOn(w, in, in.src[2], mask, "an atomic operation");
    }
    // What a load gives that faults is no second fault.
    if (family == Family::ld) {
      const Ref* list = in.count == 1 ? &in.dst : w.block->program->operandLists.data() + in.ext;
      for (unsigned e = 0; e < in.count; ++e) define(w, list[e], mask);
    }
  }

  void collective(Warp& w, const Instr& in, LaneMask mask) {
    decideOn(w, in, in.src[in.size], mask, "a collective operation");
    if (instructionTable()[in.row].family == Family::shflSync) {
      decideOn(w, in, in.src[1], mask, "a collective operation");
      decideOn(w, in, in.src[2], mask, "a collective operation");
      if (undefined(w, in.src[0]) != 0) {
        moveBits(w, in, mask, 1);
        define(w, in.ext, mask);
        return;
      }
    } else {
      for (unsigned k = 0; k < in.size; ++k)
        decideOn(w, in, in.src[k], mask, "a collective operation");
    }
    define(w, in.dst, mask);
    define(w, in.ext, mask);
  }

  // The registers of the current frame.
  struct Registers : RegisterShadow {
    explicit Registers(Warp& warp) : w(warp) {}
    uint64_t bits(Ref r, unsigned lane) override { return InitChecker::bits(w, r, lane); }
    void set(Ref r, unsigned lane, uint64_t value) override { InitChecker::set(w, r, lane, value); }
    Warp& w;
  };

  void matrix(Warp& w, const Instr& in, LaneMask mask) {
    const Program& p = *w.block->program;
    const MatrixSite& s = p.matrices[in.ext];
    Registers regs(w);
    LaneMask giving =
        s.rowCount == 0 || s.rowCount >= kLanes ? mask : mask & ((1u << s.rowCount) - 1);
    decideOn(w, in, in.src[0], giving, "an address");
    if (s.warpgroup != nullptr) {
      decideOn(w, in, in.src[kDescriptorB], mask, "an address");
      decideOn(w, in, in.src[kScaleD], mask, "a collective operation");
      bool adds = (w.pred(in.src[kScaleD]) >> __builtin_ctz(mask) & 1) != 0;
      shadowWarpgroup(p, s, mask, adds, regs);
      return;
    }
    if (!s.parts.empty()) decideOn(w, in, p.operandLists[s.stride], mask, "an address");
    if (s.scales != 0) {
      for (uint32_t i : {s.scaleA.byteId, s.scaleA.threadId, s.scaleB.byteId, s.scaleB.threadId}) {
        decideOn(w, in, p.operandLists[i], mask, "a collective operation");
      }
    }
    Family family = instructionTable()[in.row].family;
    if (family == Family::wmmaLoad || family == Family::ldmatrix) {
      shadowDefine(p, s, mask, regs);
    } else if (family != Family::wmmaStore && family != Family::stmatrix) {
      ScaleThreads threads;
      if (s.scales != 0) {
        unsigned first = static_cast<unsigned>(__builtin_ctz(mask));
        threads.a = w.r32(p.operandLists[s.scaleA.threadId])[first];
        threads.b = w.r32(p.operandLists[s.scaleB.threadId])[first];
      }
      shadowProduct(p, s, mask, threads, regs);
    }
  }

  void matrixLoad(Warp& w, const Access& a) {
    uint8_t* region = regionShadow(w, a, false);
    if (region == nullptr || allDefined(a, region)) return;
    LaneBytes memory{};
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      std::memcpy(memory[lane].data(), at(a, region, lane), a.bytes);
    }
    Registers regs(w);
    const Program& p = *w.block->program;
    const MatrixSite& s = p.matrices[a.in.ext];
    if (s.warpgroup != nullptr) {
      shadowChunks(p, s, a.in.src[kDescriptorA] != kNoRef, w.part, memory, regs);
    } else {
      shadowLoad(p, s, w.part, a.mask, memory, regs);
    }
  }

  void matrixStore(Warp& w, const Access& a) {
    const Program& p = *w.block->program;
    LaneBytes memory{};
    if (shadow(w).undefinedSlots != 0) {
      Registers regs(w);
      shadowStore(p, p.matrices[a.in.ext], w.part, memory, regs);
    }
    bool any = false;
    for (const auto& bytes : memory) any = any || !allZero(bytes.data(), bytes.size());
    uint8_t* region = regionShadow(w, a, any);
    if (region == nullptr) return;
    size_t element = std::max<size_t>(1, p.matrices[a.in.ext].elementBits / 8);
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint8_t* to = at(a, region, lane);
      std::memcpy(to, memory[lane].data(), a.bytes);
      bool tells = false;
      for (size_t e = 0; e < a.bytes; e += element) {
        tells = tells || tellsOnReading(to + e, std::min<size_t>(element, a.bytes - e));
      }
      if (tells) remember(w, a, lane);
    }
  }

  // Where undefined bits of global memory come from.
  void remember(Warp& w, const Access& a, unsigned lane) {
    if (a.allocation == nullptr) return;
    Origin origin{launch_->pcOf(a.in), w.block->id, w.block->threadId(w.index * kLanes + lane)};
    auto& origins = origins_[a.allocation->id];
    for (uint64_t o = a.offset(lane) / 8 * 8; o < a.offset(lane) + a.bytes; o += 8) {
      if (origins.size() < kMaxOrigins) origins.insert_or_assign(o, origin);
    }
  }

  // The instruction's own lane function applied to shadow bits: right for operations that only move
  // bits about. The first `data` sources carry shadow, the others their values.
  void moveBits(Warp& w, const Instr& in, LaneMask mask, unsigned data) {
    Warp& t = scratch_;
    scratch32_.resize(8 * kLanes);
    scratch64_.resize(8 * kLanes);
    t.files32[0] = scratch32_.data();
    t.files64[0] = scratch64_.data();
    t.filesPred[0] = scratchPred_;
    for (unsigned f = 1; f < 3; ++f) {
      t.files32[f] = w.files32[f];
      t.files64[f] = w.files64[f];
      t.filesPred[f] = w.filesPred[f];
    }
    t.block = w.block;
    t.frame = w.frame;
    Instr copy = in;
    copy.ext = kNoRef;
    for (unsigned k = 0; k < 4; ++k) {
      Ref r = in.src[k];
      if (r == kNoRef || (k >= data && refFile(r) != File::frame)) continue;
      copy.src[k] = makeRef(File::frame, refBank(r), k) | (r & kNegate);
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (refBank(r) == Bank::r32) {
          scratch32_[k * kLanes + lane] =
              k < data ? static_cast<uint32_t>(bits(w, r, lane)) : w.r32(r)[lane];
        } else if (refBank(r) == Bank::r64) {
          scratch64_[k * kLanes + lane] = k < data ? bits(w, r, lane) : w.r64(r)[lane];
        }
      }
      if (refBank(r) == Bank::pred) scratchPred_[k] = w.predSlot(r);
    }
    copy.dst = makeRef(File::frame, refBank(in.dst), 5);
    in.fn(copy, t, mask);
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      set(w, in.dst, lane,
          refBank(in.dst) == Bank::r64 ? scratch64_[5 * kLanes + lane]
                                       : scratch32_[5 * kLanes + lane]);
    }
  }

  void compute(Warp& w, const Instr& in, LaneMask mask) {
    LaneMask u = 0;
    for (Ref r : in.src) {
      if (r != kNoRef) u |= undefined(w, r);
    }
    Family family = instructionTable()[in.row].family;
    bool carryIn = family == Family::addCarryIn || family == Family::subCarryIn ||
                   family == Family::madCarryIn;
    constexpr Ref kCarry = makeRef(File::frame, Bank::pred, 0);
    if (carryIn) u |= undefined(w, kCarry);
    bool list = (in.flags & kMove) != 0 && isUnpack(static_cast<MoveKind>(in.size));
    if ((u & mask) == 0) {
      define(w, in.dst, mask);
      if (list) {
        const Ref* refs = w.block->program->operandLists.data() + in.ext;
        for (unsigned e = 0; e < unpackCount(static_cast<MoveKind>(in.size)); ++e)
          define(w, refs[e], mask);
      } else {
        define(w, in.ext, mask);
      }
      if (writesCarry(family)) define(w, kCarry, mask);
      return;
    }
    if (list) return unpack(w, in, mask);
    if ((in.flags & kMove) != 0) {
      if (refBank(in.dst) == Bank::pred) return predicates(w, in, mask, u);
      return moveBits(w, in, mask, 4);
    }
    if (refBank(in.dst) == Bank::pred) return predicates(w, in, mask, u);
    unsigned data = dataSources(family, in);
    if (data != 0) {
      LaneMask control = 0;
      for (unsigned k = data; k < 4; ++k) {
        if (in.src[k] != kNoRef) control |= undefined(w, in.src[k]);
      }
      if ((control & mask) == 0) {
        moveBits(w, in, mask, data);
        if (in.ext != kNoRef) define(w, in.ext, mask);
        return;
      }
    }
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint64_t s = spread(w, in, lane);
      if (carryIn && (undefined(w, kCarry) >> lane & 1) != 0) s = ~uint64_t{0};
      set(w, in.dst, lane, cut(in, s));
    }
    if (in.ext != kNoRef) definePair(w, in.ext, mask, u);
    if (writesCarry(family)) definePair(w, kCarry, mask, u);
  }

  static bool writesCarry(Family f) {
    return f == Family::addCarry || f == Family::addCarryIn || f == Family::subCarry ||
           f == Family::subCarryIn || f == Family::madCarry || f == Family::madCarryIn;
  }

  // A predicate result of undefined lanes `u`.
  static void definePair(Warp& w, Ref r, LaneMask mask, LaneMask u) {
    if (r == kNoRef) return;
    LaneMask& p = shadow(w).pred[w.frame->basePred + refIndex(r)];
    shadow(w).mark(p, (p & ~mask) | (u & mask));
  }

  void predicates(Warp& w, const Instr& in, LaneMask mask, LaneMask u) {
    Family family = instructionTable()[in.row].family;
    if (family == Family::logicAnd || family == Family::logicOr) {
      // A defined false (or true) operand decides.
      LaneMask ua = undefined(w, in.src[0]), ub = undefined(w, in.src[1]);
      LaneMask a = w.pred(in.src[0]), b = w.pred(in.src[1]);
      if (family == Family::logicOr) {
        a = ~a;
        b = ~b;
      }
      u = (ua & ub) | (ua & b) | (ub & a);
    }
    definePair(w, in.dst, mask, u);
    definePair(w, in.ext, mask, u);
  }

  void unpack(Warp& w, const Instr& in, LaneMask mask) {
    auto k = static_cast<MoveKind>(in.size);
    unsigned width = k == MoveKind::unpack32                                ? 32
                     : k == MoveKind::unpack8x4 || k == MoveKind::unpack8x2 ? 8
                                                                            : 16;
    const Ref* refs = w.block->program->operandLists.data() + in.ext;
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint64_t s = bits(w, in.src[0], lane);
      for (unsigned e = 0; e < unpackCount(static_cast<MoveKind>(in.size)); ++e) {
        if (refs[e] != kNoRef)
          set(w, refs[e], lane, s >> (width * e) & ((uint64_t{1} << width) - 1));
      }
    }
  }

  // How many leading sources an operation only moves about, given its other sources.
  static unsigned dataSources(Family f, const Instr& in) {
    switch (f) {
      case Family::shl:
      case Family::shr:
      case Family::bfe:
      case Family::szext:
      case Family::brev:
        return 1;
      case Family::shf:
      case Family::bfi:
      case Family::prmt:
      case Family::selp:
        return 2;
      case Family::cvt:
        // Between integers, without saturation.
        return instructionTable()[in.row].pattern == "cvt.$cvtint.$cvtint" ? 1 : 0;
      default:
        return 0;
    }
  }

  // The undefined bits of a result, by lane; all 64 where the operation mixes everything.
  uint64_t spread(Warp& w, const Instr& in, unsigned lane) {
    std::array<uint64_t, 4> s{}, v{};
    for (unsigned k = 0; k < 4; ++k) {
      if (in.src[k] == kNoRef) continue;
      s[k] = bits(w, in.src[k], lane);
      if (refBank(in.src[k]) == Bank::r32) v[k] = w.r32(in.src[k])[lane];
      if (refBank(in.src[k]) == Bank::r64) v[k] = w.r64(in.src[k])[lane];
    }
    return spreadBits(instructionTable()[in.row], s, v);
  }

  // Cut to the width of the destination.
  static uint64_t cut(const Instr& in, uint64_t s) {
    return refBank(in.dst) == Bank::r64 ? s : s & 0xffffffffu;
  }

  uint8_t* regionShadow(Warp& w, const Access& a, bool create) {
    switch (a.space) {
      case Space::shared:
        return blockShadow(w).shared.data();
      case Space::local:
        return localShadow(w, 0);
      case Space::global:
      case Space::constant: {
        auto* allocation = const_cast<Allocation*>(a.allocation);
        if (allocation->undefined == nullptr && create) allocation->makeDefinedShadow();
        return allocation->undefined.get();
      }
      default:
        return nullptr;
    }
  }

  static uint8_t* at(const Access& a, uint8_t* region, unsigned lane) {
    return region + lane * a.laneStride + a.offset(lane);
  }

  template <typename T>
  static uint64_t anyAt(const Access& a, const uint8_t* region) {
    T any = 0;
    auto add = [&](unsigned lane) {
      T v;
      std::memcpy(&v, region + a.offset(lane), sizeof v);
      any |= v;
    };
    if (a.mask == kAllLanes) {
      for (unsigned lane = 0; lane < kLanes; ++lane) add(lane);
    } else {
      for (LaneMask m = a.mask; m != 0; m &= m - 1) add(static_cast<unsigned>(__builtin_ctz(m)));
    }
    return any;
  }

  static bool allDefined(const Access& a, uint8_t* region) {
    unsigned first = static_cast<unsigned>(__builtin_ctz(a.mask));
    if (a.pattern == AccessPattern::consecutive && a.laneStride == 0) {
      return allZero(at(a, region, 0), size_t{a.bytes} * kLanes);
    }
    if (a.laneStride == 0) {
      if (a.pattern == AccessPattern::uniform) return allZero(at(a, region, first), a.bytes);
      if (a.bytes == 4) return anyAt<uint32_t>(a, region) == 0;
      if (a.bytes == 8) return anyAt<uint64_t>(a, region) == 0;
    }
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      if (!allZero(at(a, region, static_cast<unsigned>(__builtin_ctz(m))), a.bytes)) return false;
    }
    return true;
  }

  void load(Warp& w, const Access& a) {
    const Instr& in = a.in;
    if (in.op == Op::matrix) return matrixLoad(w, a);
    uint8_t* region = regionShadow(w, a, false);
    const Ref* list = in.count == 1 ? &in.dst : w.block->program->operandLists.data() + in.ext;
    if (region == nullptr || allDefined(a, region)) {
      if (shadow(w).undefinedSlots == 0) return;
      for (unsigned e = 0; e < in.count; ++e) define(w, list[e], a.mask);
      return;
    }
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      for (unsigned e = 0; e < in.count; ++e) {
        uint64_t s = 0;
        std::memcpy(&s, at(a, region, lane) + e * in.size, in.size);
        if ((in.flags & kSignExtends) != 0 && in.size < 8 && (s >> (8 * in.size - 1) & 1) != 0) {
          s |= ~uint64_t{0} << (8 * in.size);
        }
        if (list[e] != kNoRef) set(w, list[e], lane, s);
      }
    }
  }

  void store(Warp& w, const Access& a) {
    const Instr& in = a.in;
    if (in.op == Op::matrix) return matrixStore(w, a);
    const Ref* list = in.count == 1 ? &in.src[1] : w.block->program->operandLists.data() + in.ext;
    LaneMask u = 0;
    if (shadow(w).undefinedSlots != 0) {
      for (unsigned e = 0; e < in.count; ++e) u |= undefined(w, list[e]);
      u &= a.mask;
    }
    uint8_t* region = regionShadow(w, a, u != 0);
    if (region == nullptr) return;
    if (u == 0 && a.pattern == AccessPattern::consecutive) {
      std::memset(at(a, region, 0), 0, size_t{a.bytes} * kLanes);
      return;
    }
    if (u == 0) {
      for (LaneMask m = a.mask; m != 0; m &= m - 1) {
        std::memset(at(a, region, static_cast<unsigned>(__builtin_ctz(m))), 0, a.bytes);
      }
      return;
    }
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint8_t* p = at(a, region, lane);
      bool any = false;
      for (unsigned e = 0; e < in.count; ++e) {
        uint64_t s = (u >> lane & 1) != 0 ? bits(w, list[e], lane) : 0;
        std::memcpy(p + e * in.size, &s, in.size);
        any = any || tellsOnReading(p + e * in.size, in.size);
      }
      if (any) remember(w, a, lane);
    }
  }

  void atomic(Warp& w, const Access& a) {
    uint8_t* region = regionShadow(w, a, false);
    const Ref* list =
        a.in.count == 1 ? &a.in.dst : w.block->program->operandLists.data() + a.in.ext;
    for (unsigned e = 0; e < a.in.count; ++e) define(w, list[e], a.mask);
    if (region == nullptr || allDefined(a, region)) return;
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint8_t* p = at(a, region, lane);
      if (allZero(p, a.bytes)) continue;
      // An exchange asks nothing of the old value.
      if (a.kind != AccessKind::atomic || !isExchange(a.in)) {
        decided(w, a.in, 1u << lane, "an atomic operation");
      } else {
        uint64_t s = 0;
        std::memcpy(&s, p, std::min<size_t>(a.bytes, 8));
        if (a.in.count == 1) set(w, a.in.dst, lane, s);
      }
      std::memset(p, 0, a.bytes);
    }
  }

  static bool isExchange(const Instr& in) {
    return instructionTable()[in.row].pattern.find("exch") != std::string_view::npos &&
           in.src[2] == kNoRef;
  }

  // As the engine moves a parameter between frames.
  void transfer(Warp& w, LaneMask mask, const Frame& from, Ref fromRef, uint32_t fromOffset,
                const Frame& to, Ref toRef, uint32_t toOffset, uint32_t bytes) {
    WarpShadow& s = shadow(w);
    for (LaneMask m = mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint8_t* local = localShadow(w, lane);
      if (fromRef == kNoRef && toRef == kNoRef) {
        std::memmove(local + to.localBase + toOffset, local + from.localBase + fromOffset, bytes);
        continue;
      }
      uint64_t value = 0;
      if (fromRef == kNoRef) {
        std::memcpy(&value, local + from.localBase + fromOffset, std::min(bytes, 8u));
      } else {
        value = bitsIn(s, from, fromRef, lane);
      }
      if (toRef == kNoRef) {
        std::memcpy(local + to.localBase + toOffset, &value, std::min(bytes, 8u));
      } else {
        setIn(s, to, toRef, lane, value);
      }
    }
  }

  static constexpr size_t kMaxOrigins = 1 << 20;

  LaunchState* launch_ = nullptr;
  std::vector<std::vector<Ref>> unwritten_;  // By function.
  bool alone_ = false;                       // Nobody else wants instructions.
  std::vector<std::unique_ptr<BlockShadow>> owned_;
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, Origin>>
      origins_;  // By allocation and offset.
  Warp scratch_;
  Columns<uint32_t> scratch32_;
  Columns<uint64_t> scratch64_;
  LaneMask scratchPred_[8] = {};
};

}  // namespace

std::unique_ptr<Observer> makeInitChecker() { return std::make_unique<InitChecker>(); }

}  // namespace mtlc::sim
