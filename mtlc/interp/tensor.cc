// Tensor operations (docs/ir.md §11) in a running block: operands, preconditions, checks of memory.
// What they compute: tensor_math.h.

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"
#include "mtlc/interp/tensor_math.h"
#include "mtlc/support/element_format.h"

namespace mtlc::interp {

using ir::Opcode;
using ir::Slot;

namespace {

// A matrix operand and its leading dimension.
struct MatrixSlots {
  Slot matrix;
  Slot leading;
};
constexpr MatrixSlots kMatrices[] = {{Slot::A, Slot::Lda},          {Slot::B, Slot::Ldb},
                                     {Slot::C, Slot::Ldc},          {Slot::D, Slot::Ldd},
                                     {Slot::ScaleA, Slot::Ldsa},    {Slot::ScaleB, Slot::Ldsb},
                                     {Slot::Metadata, Slot::LdMeta}};

// Dot products of this many terms count as one more executed operation.
constexpr uint64_t kTermsPerStep = 1024;

// Homes that are watched at a time.
constexpr size_t kMaxOpenHomes = 4096;

std::string bitsText(uint64_t bits) { return absl::StrFormat("0x%x", bits); }

}  // namespace

// One execution by the threads of a scope.
class BlockRunner::TensorRun {
 public:
  TensorRun(BlockRunner& runner, Lanes lanes, const Inst& inst)
      : runner_(runner),
        launch_(runner.launch_),
        lanes_(lanes),
        thread_(*lanes[0]),
        inst_(inst),
        op_(*inst.op) {}

  void run() {
    runner_.orderTogether(lanes_);
    perform(operandsAgree() && operandsDefined() && scopeIsFull());
    runner_.actingTile_ = 0;
    runner_.orderTogether(lanes_);
  }

 private:
  void perform(bool good) {
    switch (inst_.opcode) {
      case Opcode::TensorMma:
      case Opcode::TensorMatmul:
        if (good) multiplication(problem());
        return;
      case Opcode::TensorAccBegin:
        return giveTile(good ? begin() : 0);
      case Opcode::TensorAccMma:
        if (good) accumulate();
        return giveTile(slot(Slot::Tile).bits);
      case Opcode::TensorEpilogue:
        if (good) epilogue(nullptr);
        return;
      case Opcode::TensorAccEpilogue:
        if (TileHome* home = good ? homeOf(slot(Slot::Tile)) : nullptr) epilogue(home);
        return giveTile(slot(Slot::Tile).bits);
      case Opcode::TensorAccCommit:
        runner_.closeHome(runner_.operand(thread_, inst_, 0).bits);
        if (good) commit();
        return;
      case Opcode::TensorTransfer:
        if (good) transferTile();
        return;
      default:
        return;
    }
  }

  // The memory of one operand, and what of it is touched.
  struct Side {
    Slot slot;
    AccessShape shape;
    Place place;  // Of the operand's address.
    ByteRanges ranges;
  };

  bool commits() const { return inst_.opcode == Opcode::TensorAccCommit; }
  std::string_view mnemonic() const { return op_.info().mnemonic; }
  bool has(Slot s) const { return op_.tensor().slots.has(s); }
  Reg slot(Slot s) const { return runner_.operand(thread_, inst_, op_.tensor().slots.indexOf(s)); }
  // Index operands are unsigned; registers hold no bits above a value's width.
  uint64_t index(Slot s, uint64_t constant) const { return has(s) ? slot(s).bits : constant; }
  std::string operandName(unsigned i) const {
    if (commits()) return "tile";
    for (int s = 0; s < ir::kSlotCount; ++s) {
      if (has(static_cast<Slot>(s)) && i-- == 0) {
        return std::string(ir::slotName(static_cast<Slot>(s)));
      }
    }
    return "?";
  }

  // ---- Preconditions ----

  // Reports a fault once for each operation and slot.
  void report(DiagId id, FaultKind kind, unsigned slot, const Thread& thread,
              std::vector<std::string> args) {
    if (!launch_.isNewFault(kind, {id, inst_.id, slot + 1})) return;
    Fault fault = runner_.makeFault(id, kind, thread, inst_.op);
    fault.args = std::move(args);
    launch_.faults.add(runner_.blockIndex_, std::move(fault));
  }

  bool operandsAgree() {
    for (unsigned i = 0; i < op_.operandCount(); ++i) {
      const Reg mine = runner_.operand(thread_, inst_, i);
      for (const Thread* lane : lanes_) {
        const Reg theirs = runner_.operand(*lane, inst_, i);
        if (theirs.bits == mine.bits) continue;
        report(DiagId::FaultTensorOperand, FaultKind::Sync, i, *lane,
               {operandName(i), std::string(mnemonic()), bitsText(mine.bits), toString(thread_.id),
                bitsText(theirs.bits)});
        return false;
      }
    }
    return true;
  }

  // Only values of elements may be uninitialised; then so is what is computed from them.
  bool operandsDefined() {
    for (unsigned i = 0; i < op_.operandCount(); ++i) {
      if (op_.operand(i)->type().isFloat()) continue;
      for (const Thread* lane : lanes_) {
        if (runner_.operand(*lane, inst_, i).uninit == 0) continue;
        report(DiagId::FaultTensorUninit, FaultKind::Init, i, *lane,
               {operandName(i), std::string(mnemonic())});
        return false;
      }
    }
    return true;
  }
  bool isUninit(Slot s) const {
    const unsigned i = op_.tensor().slots.indexOf(s);
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const Thread* lane) {
      return runner_.operand(*lane, inst_, i).uninit != 0;
    });
  }

  bool scopeIsFull() {
    if (inst_.opcode != Opcode::TensorMma && inst_.opcode != Opcode::TensorAccMma) return true;
    const uint64_t size = launch_.spec.options.subgroupSize;
    const bool whole = op_.convergence() == ir::Convergence::Workgroup;
    const uint64_t wanted = whole ? (launch_.blockThreads + size - 1) / size * size : size;
    if (lanes_.size() == wanted) return true;
    report(DiagId::FaultTensorPartial, FaultKind::Sync, 0, thread_,
           {std::string(mnemonic()), std::to_string(lanes_.size()), std::to_string(wanted)});
    return false;
  }

  bool leadingIsLong(Slot leading, uint64_t value, uint64_t least) {
    if (value >= std::max<uint64_t>(least, 1)) return true;
    report(DiagId::FaultTensorLeading, FaultKind::Mem, static_cast<unsigned>(leading), thread_,
           {std::string(ir::slotName(leading)), std::string(mnemonic()), std::to_string(value),
            std::to_string(least)});
    return false;
  }

  bool strideIsMultiple(Slot s, uint64_t value, uint64_t bits, uint64_t unit) {
    if (static_cast<unsigned __int128>(value) * bits % (unit * 8) == 0) return true;
    report(DiagId::FaultTensorStride, FaultKind::Mem, static_cast<unsigned>(s), thread_,
           {std::string(ir::slotName(s)), std::string(mnemonic()),
            absl::StrFormat(bits == 8 ? "%d bytes" : "%d elements of %d bits", value, bits),
            std::to_string(unit)});
    return false;
  }

  // Finds the memory of an operand and adds it to the sides. `touch` gives the ranges below a
  // limit. True if all that is touched is there and aligned.
  template <typename Touch>
  bool addSide(Slot s, uint64_t address, ir::Space space, bool isWrite, uint64_t align,
               Touch touch) {
    Side side{s, {space, isWrite, 0, align}, {}, {}};
    side.place.address = address;
    Object& object = side.place.object;
    std::string why;
    bool found = runner_.findObject(thread_, space, address, &object, &why);
    if (found && object.window == Window::Private) {
      found = false;
      why = "it is private memory, which a tensor operation cannot use";
    }
    side.place.offset = found ? address - object.base : 0;
    const uint64_t room =
        found && side.place.offset <= object.size ? object.size - side.place.offset : 0;
    side.ranges = touch(room);
    if (side.ranges.empty()) return true;

    const ByteRange last = side.ranges.back();
    side.shape.bytes = static_cast<uint32_t>(std::min<uint64_t>(last.end - last.begin, 1u << 31));
    if (!found) {
      runner_.reportBadAddress(thread_, inst_, side.shape, address, why);
      return false;
    }
    if (last.end > room) {
      Place place = side.place;
      const uint64_t begin = std::min(last.begin, uint64_t{1} << 61);
      place.address += begin;
      place.offset += begin;
      runner_.reportOutOfBounds(thread_, inst_, side.shape, place);
      return false;
    }
    if (address % align != 0) {
      runner_.reportMisaligned(thread_, inst_, side.shape, side.place);
      return false;
    }
    sides_.push_back(std::move(side));
    return true;
  }

  const Side* side(Slot s) const {
    for (const Side& each : sides_) {
      if (each.slot == s) return &each;
    }
    return nullptr;
  }

  // D and another operand.
  bool isDisjoint(Slot s) {
    const Side* other = side(s);
    const Side* d = side(Slot::D);
    if (!other || !d ||
        !overlap(other->place.address, other->ranges, d->place.address, d->ranges)) {
      return true;
    }
    report(DiagId::FaultTensorOverlap, FaultKind::Mem, static_cast<unsigned>(s), thread_,
           {std::string(ir::slotName(s)), std::string(mnemonic())});
    return false;
  }

  // ---- Memory ----

  TensorInput input(Slot s) const {
    const Side* x = side(s);
    if (!x) return {};
    const size_t room = x->place.object.size - x->place.offset;
    TensorInput in{{x->place.object.bytes + x->place.offset, room}};
    if (launch_.checks(FaultKind::Init)) {
      in.uninit = {x->place.object.uninit + x->place.offset, room};
    }
    return in;
  }
  TensorOutput output(Slot s) const {
    const Side* x = side(s);
    if (!x) return {};
    const size_t room = x->place.object.size - x->place.offset;
    return {{x->place.object.bytes + x->place.offset, room},
            {x->place.object.uninit + x->place.offset, room}};
  }

  // With several host threads: all of global memory, since an operand may be on many pages.
  std::vector<std::unique_lock<std::mutex>> lockMemory() {
    std::vector<std::unique_lock<std::mutex>> locks;
    if (!launch_.parallel) return locks;
    for (std::mutex& lock : launch_.pageLocks) locks.emplace_back(lock);
    return locks;
  }

  void recordAccesses() {
    for (const Side& side : sides_) {
      for (const ByteRange& range : side.ranges) recordRange(side, range);
    }
  }
  // In the largest aligned pieces that the history takes.
  void recordRange(const Side& side, ByteRange range) {
    while (range.begin < range.end) {
      Place place = side.place;
      place.address += range.begin;
      place.offset += range.begin;
      const uint64_t aligned = std::min<uint64_t>(16, place.offset & (0 - place.offset));
      uint64_t piece = place.offset == 0 ? 16 : aligned;
      piece = std::min(piece, std::bit_floor(range.end - range.begin));
      AccessShape shape = side.shape;
      shape.bytes = static_cast<uint32_t>(piece);
      runner_.noteAccess(thread_, inst_, shape, place);
      range.begin += piece;
    }
  }

  // After the operation has written.
  void rememberUninit(Slot s) {
    const Side* written = side(s);
    if (!written || written->place.object.window != Window::Global) return;
    for (const ByteRange& range : written->ranges) {
      Place place = written->place;
      place.offset += range.begin;
      place.uninit = place.object.uninit + place.offset;
      AccessShape shape = written->shape;
      shape.bytes = static_cast<uint32_t>(range.end - range.begin);
      runner_.rememberUninitStore(thread_, inst_, shape, place);
    }
  }

  // Takes what the operation costs from each thread's steps; false if that is too much.
  bool spend(unsigned __int128 terms) {
    const uint64_t most = launch_.spec.options.maxSteps;
    const unsigned __int128 steps = terms / kTermsPerStep;
    for (Thread* lane : lanes_) {
      const uint64_t left = most - std::min(most, lane->steps);
      lane->steps += static_cast<uint64_t>(std::min<unsigned __int128>(steps, left));
    }
    return thread_.steps < most;
  }

  // ---- Multiplication ----

  MmaProblem problem() const {
    MmaProblem p = MmaProblem::wholeTile(op_.mmaDesc());
    if (inst_.opcode == Opcode::TensorMatmul) {
      p.m = slot(Slot::M).bits;
      p.n = slot(Slot::N).bits;
      p.k = slot(Slot::K).bits;
      p.row = slot(Slot::Row).bits;
      p.col = slot(Slot::Col).bits;
    }
    p.lda = index(Slot::Lda, p.lda);
    p.ldb = index(Slot::Ldb, p.ldb);
    p.ldc = index(Slot::Ldc, p.ldc);
    p.ldd = index(Slot::Ldd, p.ldd);
    p.ldsa = index(Slot::Ldsa, p.ldsa);
    p.ldsb = index(Slot::Ldsb, p.ldsb);
    p.ldmeta = index(Slot::LdMeta, p.ldmeta);
    return p;
  }

  static ElementFormat formatOf(const MmaProblem& p, Slot s) {
    switch (s) {
      case Slot::A:
        return p.desc.a;
      case Slot::B:
        return p.desc.b;
      case Slot::C:
      case Slot::D:
        return p.desc.result;
      default:
        return ElementFormat::U8;
    }
  }

  bool leadingsAreGood(const MmaProblem& p) {
    for (const MatrixSlots& x : kMatrices) {
      if (!has(x.matrix)) continue;
      const uint64_t least = p.leastLeading(x.leading);
      if (least == 0) continue;  // A scale for the whole tensor.
      const uint64_t value = p.leading(x.leading);
      if (!leadingIsLong(x.leading, value, least)) return false;
      if (inst_.opcode == Opcode::TensorMatmul || x.leading >= Slot::Ldsa) continue;
      const ElementInfo& info = elementInfo(formatOf(p, x.matrix));
      const bool dense = (x.matrix == Slot::A && p.desc.aPacking == ir::Packing::Dense) ||
                         (x.matrix == Slot::B && p.desc.bPacking == ir::Packing::Dense);
      if (!strideIsMultiple(x.leading, value, dense ? info.bits : info.bytes * 8u, 16)) {
        return false;
      }
    }
    return true;
  }

  bool addMatrix(const MmaProblem& p, Slot s, uint64_t address, ir::Space space) {
    const bool isMatrix = s <= Slot::D;
    const uint64_t align =
        inst_.opcode != Opcode::TensorMatmul && isMatrix ? 32 : elementInfo(formatOf(p, s)).bytes;
    return addSide(s, address, space, s == Slot::D, align,
                   [&](uint64_t limit) { return touched(p, s, limit); });
  }
  bool addMatrices(const MmaProblem& p) {
    for (Slot s :
         {Slot::A, Slot::B, Slot::C, Slot::D, Slot::Metadata, Slot::ScaleA, Slot::ScaleB}) {
      if (has(s) && !addMatrix(p, s, slot(s).bits, op_.slot(s)->type().space())) return false;
    }
    return true;
  }

  bool outputIsApart(const MmaProblem& p) {
    for (Slot s : {Slot::A, Slot::B, Slot::Metadata, Slot::ScaleA, Slot::ScaleB}) {
      if (!isDisjoint(s)) return false;
    }
    const Side* c = side(Slot::C);
    const Side* d = side(Slot::D);
    if (c && d && c->place.address == d->place.address && sameElements(p)) return true;
    return isDisjoint(Slot::C);
  }

  bool masksAreGood(const MmaProblem& p) {
    const std::optional<BadMask> bad = findBadMask(p, input(Slot::Metadata));
    if (!bad) return true;
    const uint32_t group = ir::sparseGroup(p.desc.sparsity);
    report(
        DiagId::FaultTensorMask, FaultKind::Mem, static_cast<unsigned>(Slot::Metadata), thread_,
        {std::string(mnemonic()), std::to_string(bad->row), std::to_string(bad->group),
         absl::StrFormat("0x%02x", bad->mask), std::to_string(group / 2), std::to_string(group)});
    return false;
  }

  void multiplication(const MmaProblem& p) {
    if (leadingsAreGood(p) && addMatrices(p)) compute(p);
  }

  // All operands are there.
  // `wide`: the tile that is C and D instead of its home.
  void compute(const MmaProblem& p, TileHome* wide = nullptr) {
    using Wide = unsigned __int128;
    if (!outputIsApart(p) || !spend(Wide{p.rows() * p.cols()} * (Wide{p.k} + 1))) return;
    const auto locks = lockMemory();
    if (p.k > 0 && !masksAreGood(p)) return;
    recordAccesses();
    MmaInputs in;
    in.a = input(Slot::A);
    in.b = input(Slot::B);
    in.c = wide ? wideTile(*wide) : input(Slot::C);
    in.metadata = input(Slot::Metadata);
    in.scaleA = input(Slot::ScaleA);
    in.scaleB = input(Slot::ScaleB);
    if (wide) return multiply(onWide(p, *wide), in, wideTile(*wide));
    multiply(p, in, output(Slot::D));
    rememberUninit(Slot::D);
  }

  // ---- Tiles: replayed on their home ----

  void giveTile(uint64_t tile) {
    for (Thread* lane : lanes_) setResult(*lane, inst_, {tile, 0});
  }
  TileHome* homeOf(Reg tile) {
    runner_.actingTile_ = tile.bits;
    if (tile.bits == 0 || tile.bits > runner_.tiles_.size()) return nullptr;
    return &runner_.tiles_[tile.bits - 1];
  }

  // The number of the tile, or 0 after a report.
  uint64_t begin() {
    MmaProblem p = problem();
    p.k = 0;
    multiplication(p);
    if (!side(Slot::D)) return 0;
    const TileHome home{slot(Slot::D).bits, op_.slot(Slot::D)->type().space(), p, {}, {}};
    const uint64_t tile = runner_.internTile(inst_, home);
    if (TileHome* made = homeOf({tile, 0}); made && made->narrow()) widen(*made);
    runner_.closeHome(tile);
    if (runner_.openHomes_.size() < kMaxOpenHomes) {
      runner_.openHomes_.push_back({tile, &inst_, home.address, side(Slot::D)->ranges});
    }
    return tile;
  }

  // ---- Tiles that are rounded into their home in the end ----

  TensorOutput wideTile(TileHome& home) const {
    return {home.wide,
            launch_.checks(FaultKind::Init) ? std::span(home.wideUninit) : std::span<uint8_t>()};
  }
  // A problem on the wide tile.
  static MmaProblem onWide(MmaProblem p, const TileHome& home) {
    p.desc.result = home.begin.desc.acc;
    p.desc.cLayout = p.desc.dLayout = ir::Layout::Row;
    p.ldc = p.ldd = home.begin.desc.n;
    return p;
  }
  void widen(TileHome& home) {
    const auto locks = lockMemory();
    widenTile(home.begin, output(Slot::D), wideTile(home));
  }

  void accumulate() {
    TileHome* home = homeOf(slot(Slot::Tile));
    if (!home) return;
    MmaProblem p = problem();
    p.desc.cLayout = p.desc.dLayout = home->begin.desc.dLayout;
    p.desc.result = home->begin.desc.result;
    p.ldc = p.ldd = home->begin.ldd;
    if (!leadingsAreGood(p) || !addMatrices(p)) return;
    if (!addMatrix(p, Slot::C, home->address, home->space) ||
        !addMatrix(p, Slot::D, home->address, home->space)) {
      return;
    }
    compute(p, home->narrow() ? home : nullptr);
  }

  // The home counts as written once more: a target that keeps tiles in registers does it now.
  void commit() {
    TileHome* home = homeOf(runner_.operand(thread_, inst_, 0));
    if (!home || !addMatrix(home->begin, Slot::D, home->address, home->space)) return;
    const auto locks = lockMemory();
    recordAccesses();
    if (!home->narrow()) return;
    roundTile(home->begin, wideTile(*home), output(Slot::D));
    rememberUninit(Slot::D);
  }

  // ---- Epilogue ----

  double scalar(Slot s, bool wide) const {
    const uint64_t bits = slot(s).bits;
    return wide ? f64FromBits(bits) : f32ToF64(f32FromBits(static_cast<uint32_t>(bits)));
  }

  // `home`: of the tile; nullptr for tensor.epilogue.
  void epilogue(TileHome* home) {
    EpilogueProblem p;
    p.desc = op_.epilogueDesc();
    if (home) p.desc.layout = home->begin.desc.dLayout;
    p.ldd = home ? home->begin.ldd : index(Slot::Ldd, p.desc.ldd);
    p.ldbias = index(Slot::LdBias, p.desc.ldbias);
    const bool wide = p.desc.element == ElementFormat::F64;
    if (has(Slot::Alpha)) p.alpha = scalar(Slot::Alpha, wide);
    if (has(Slot::Beta)) p.beta = scalar(Slot::Beta, wide);
    if (has(Slot::Lo)) p.lo = scalar(Slot::Lo, wide);
    if (has(Slot::Hi)) p.hi = scalar(Slot::Hi, wide);
    for (Slot s : {Slot::Alpha, Slot::Beta, Slot::Lo, Slot::Hi}) {
      p.scalarsUninit |= has(s) && isUninit(s);
    }

    if (!leadingIsLong(Slot::Ldd, p.ldd, p.leastLeading(Slot::Ldd))) return;
    if (p.desc.bias == ir::BiasMode::Matrix &&
        !leadingIsLong(Slot::LdBias, p.ldbias, p.leastLeading(Slot::LdBias))) {
      return;
    }
    const uint64_t align = elementInfo(p.desc.element).bytes;
    const uint64_t address = home ? home->address : slot(Slot::D).bits;
    const ir::Space space = home ? home->space : op_.slot(Slot::D)->type().space();
    auto touch = [&](Slot s) { return [&p, s](uint64_t limit) { return touched(p, s, limit); }; };
    if (has(Slot::Bias) &&
        !addSide(Slot::Bias, slot(Slot::Bias).bits, op_.slot(Slot::Bias)->type().space(), false,
                 align, touch(Slot::Bias))) {
      return;
    }
    // D is read and written: the write stands for both.
    const bool narrow = home && home->narrow();
    if (!(narrow ? addMatrix(home->begin, Slot::D, address, space)
                 : addSide(Slot::D, address, space, true, align, touch(Slot::D)))) {
      return;
    }
    if (!isDisjoint(Slot::Bias) || !spend(uint64_t{p.desc.m} * p.desc.n)) return;
    const auto locks = lockMemory();
    recordAccesses();
    if (narrow) {
      p.desc.layout = ir::Layout::Row;
      p.ldd = p.desc.n;
      return applyEpilogue(p, input(Slot::Bias), wideTile(*home));
    }
    // Without the init check, nothing that is read counts as uninitialised.
    if (!launch_.checks(FaultKind::Init)) forgetUninit(Slot::D);
    applyEpilogue(p, input(Slot::Bias), output(Slot::D));
    rememberUninit(Slot::D);
  }
  void forgetUninit(Slot s) {
    const Side* x = side(s);
    for (const ByteRange& range : x->ranges) {
      uint8_t* uninit = x->place.object.uninit + x->place.offset;
      std::fill(uninit + range.begin, uninit + range.end, 0);
    }
  }

  // ---- Transfer ----

  void transferTile() {
    TransferProblem p;
    p.desc = op_.transferDesc();
    const uint64_t unit = elementInfo(p.desc.element).bytes;
    uint64_t elements = 1;
    for (unsigned i = 0; i < p.desc.rank; ++i) {
      p.x[i] = static_cast<int32_t>(slot(ir::coordinateSlot(i)).bits);
      p.extent[i] = index(ir::extentSlot(i), p.desc.extent[i]);
      elements *= p.desc.tile[i];
      if (i == 0) continue;
      p.stride[i] = index(ir::strideSlot(i), p.desc.stride[i]);
      if (!strideIsMultiple(ir::strideSlot(i), p.stride[i], 8, unit)) return;
    }
    for (Slot s : {Slot::Src, Slot::Dst}) {
      if (!addSide(s, slot(s).bits, op_.slot(s)->type().space(), s == Slot::Dst, unit,
                   [&](uint64_t limit) { return touched(p, s, limit); })) {
        return;
      }
    }
    if (!spend(elements)) return;
    const auto locks = lockMemory();
    recordAccesses();
    transfer(p, input(Slot::Src), output(Slot::Dst));
    rememberUninit(Slot::Dst);
  }

  BlockRunner& runner_;
  LaunchState& launch_;
  Lanes lanes_;
  Thread& thread_;  // The first of them, which stands for all.
  const Inst& inst_;
  const ir::Operation& op_;
  std::vector<Side> sides_;
};

void BlockRunner::tensorOperation(Lanes lanes, const Inst& inst) {
  TensorRun(*this, lanes, inst).run();
}

void BlockRunner::closeHome(uint64_t tile) {
  std::erase_if(openHomes_, [&](const OpenHome& home) { return home.tile == tile; });
}

bool BlockRunner::meetsOpenHome(const Thread& thread, const Inst& inst, const AccessShape& shape,
                                const Place& place) {
  for (const OpenHome& home : openHomes_) {
    if (home.tile == actingTile_) continue;
    const uint64_t begin = place.address - home.address, end = begin + shape.bytes;
    // The first range that ends behind the access's begin; addresses before the home wrap around.
    const auto range =
        std::partition_point(home.ranges.begin(), home.ranges.end(), [&](const ByteRange& r) {
          return static_cast<int64_t>(r.end) <= static_cast<int64_t>(begin);
        });
    if (range == home.ranges.end() ||
        static_cast<int64_t>(range->begin) >= static_cast<int64_t>(end)) {
      continue;
    }
    if (!launch_.isNewFault(FaultKind::Mem, {DiagId::FaultTensorHome, inst.id})) return true;
    Fault fault =
        accessFault(DiagId::FaultTensorHome, FaultKind::Mem, thread, inst, shape, place.address);
    fault.notes.push_back({home.begin->op->loc(), "the tile begins here"});
    launch_.faults.add(blockIndex_, std::move(fault));
    return true;
  }
  return false;
}

// Equal homes of an operation have the same number, so that a loop needs no more tiles than places.
uint64_t BlockRunner::internTile(const Inst& begin, const TileHome& home) {
  auto [at, isNew] = tileNumbers_.try_emplace({begin.id, home.address, home.begin.ldd}, 0);
  const ir::MmaDesc& d = home.begin.desc;
  const size_t wide = home.narrow() ? size_t{d.m} * d.n * elementInfo(d.acc).bytes : 0;
  if (isNew && launch_.budget.take(2 * sizeof(TileHome) + 2 * wide)) {
    tiles_.push_back(home);
    tiles_.back().wide.resize(wide);
    tiles_.back().wideUninit.resize(wide);
    at->second = tiles_.size();
  }
  return at->second;
}

}  // namespace mtlc::interp
