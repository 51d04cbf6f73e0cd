#include "mtlc/ir/verifier_gpu.h"

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/ir/text_names.h"

namespace mtlc::ir {
namespace {

using absl::StrFormat;

constexpr size_t kMaxLaunchArguments = 64;

bool isFloatKind(CombineKind kind) { return kind >= CombineKind::FAdd; }

class GpuVerifier {
 public:
  GpuVerifier(const Operation& op, const absl::flat_hash_set<const Function*>& known,
              DiagnosticEngine& diags)
      : op_(op), known_(known), diags_(diags) {}

  void run() {
    switch (op_.form()) {
      case Form::Fence:
        return fence();
      case Form::AtomicLoad:
      case Form::AtomicStore:
      case Form::AtomicRmw:
      case Form::AtomicCas:
        return atomic();
      case Form::SubgroupIndex:
        return result(DiagId::VerifyV26, kI32);
      case Form::SubgroupLane:
      case Form::SubgroupReduce:
      case Form::SubgroupBallot:
      case Form::SubgroupVote:
        return subgroup();
      case Form::AsyncCopy:
        return asyncCopy();
      case Form::AsyncCommit:
        return result(DiagId::VerifyV27, kVoid);
      case Form::AsyncWait:
        result(DiagId::VerifyV27, kVoid);
        if (op_.waitCount() > 7) {
          fail(DiagId::VerifyV27, StrFormat("waits for %d pending groups", op_.waitCount()));
        }
        return;
      case Form::Encode:
      case Form::Decode:
        return narrow();
      case Form::Mma:
      case Form::Epilogue:
      case Form::Transfer:
        return tensor();
      case Form::AccCommit:
        result(DiagId::VerifyV31, kVoid);
        if (!type(0).isTile()) {
          fail(DiagId::VerifyV31, StrFormat("commits a tile, not %s", typeName(type(0))));
        }
        return;
      case Form::FuncAddr:
        result(DiagId::VerifyV33, Type::ptr(Space::Generic));
        if (!op_.callee() || !known_.contains(op_.callee())) {
          fail(DiagId::VerifyV33, "the function is not in this module");
        } else if (op_.callee()->isKernel()) {
          fail(DiagId::VerifyV33, StrFormat("@%s is a kernel; launch it", op_.callee()->name()));
        }
        return;
      case Form::CallIndirect:
        if (op_.operandCount() == 0) return fail(DiagId::VerifyV33, "has no function to call");
        if (type(0) != Type::ptr(Space::Generic)) {
          fail(DiagId::VerifyV33, StrFormat("calls %s", typeName(type(0))));
        }
        for (unsigned i = 1; i < op_.operandCount(); ++i) {
          if (!type(i).isStorable()) {
            fail(DiagId::VerifyV33, StrFormat("argument %d is %s", i, typeName(type(i))));
          }
        }
        if (!op_.resultType().isVoid() && !op_.resultType().isStorable()) {
          fail(DiagId::VerifyV33, StrFormat("gives %s", typeName(op_.resultType())));
        }
        return;
      case Form::Launch:
        return launch();
      default:
        return;
    }
  }

 private:
  void fail(DiagId rule, std::string_view what) {
    diags_.report(rule, op_.loc(), {StrFormat("%s: %s", op_.info().mnemonic, what)});
  }
  Type type(unsigned i) const { return op_.operand(i)->type(); }
  void result(DiagId rule, Type wanted) {
    if (op_.resultType() != wanted) {
      fail(rule, StrFormat("gives %s, not %s", typeName(wanted), typeName(op_.resultType())));
    }
  }
  void operand(DiagId rule, unsigned i, Type wanted, std::string_view what) {
    if (type(i) != wanted) {
      fail(rule, StrFormat("%s is %s, not %s", what, typeName(type(i)), typeName(wanted)));
    }
  }

  void fence() {  // V25
    result(DiagId::VerifyV25, kVoid);
    FenceAttr f = op_.fence();
    if (f.regions == 0 || (f.regions & ~(kRegionWorkgroup | kRegionGlobal)) != 0) {
      fail(DiagId::VerifyV25, "names no region");
    }
    if (f.order == MemoryOrder::Relaxed || f.order > MemoryOrder::SeqCst) {
      fail(DiagId::VerifyV25, StrFormat("%s orders nothing", orderName(f.order)));
    }
    if (f.scope == Scope::WorkItem || f.scope > Scope::System) {
      fail(DiagId::VerifyV25, "the order of one work-item needs no fence");
    }
  }

  void atomic() {  // V24
    constexpr DiagId kRule = DiagId::VerifyV24;
    const AtomicAttr a = op_.atomic();
    const Form form = op_.form();
    const Type elem = op_.elemType();
    if (!type(0).isPtr()) {
      return fail(kRule, StrFormat("takes a pointer, not %s", typeName(type(0))));
    }
    const Space space = type(0).space();
    if (space == Space::Private || space == Space::Constant) {
      fail(kRule,
           StrFormat("nobody else can change %s memory; use load or store", spaceName(space)));
    }
    if (a.scope > Scope::System) fail(kRule, "has an unknown scope");
    if (space == Space::Workgroup && a.scope > Scope::Workgroup) {
      fail(kRule, StrFormat("workgroup memory is not shared at scope %s; use workgroup",
                            enumName(a.scope)));
    }
    const bool floatAdd = form == Form::AtomicRmw && a.kind == CombineKind::FAdd;
    const bool good = floatAdd ? elem == kF32 || elem == kF64 : elem == kI32 || elem == kI64;
    if (!good) {
      fail(kRule, StrFormat("works on %s, not %s", floatAdd ? "f32 and f64" : "i32 and i64",
                            typeName(elem)));
    }
    result(kRule, form == Form::AtomicStore ? kVoid : elem);
    for (unsigned i = 1; i < op_.operandCount(); ++i) operand(kRule, i, elem, "a value");
    if (form == Form::AtomicRmw && (isFloatKind(a.kind) && a.kind != CombineKind::FAdd)) {
      fail(kRule, StrFormat("%s is no atomic; use a loop with atomic.cas", combineName(a.kind)));
    }
    orders(a);
  }

  void orders(const AtomicAttr& a) {
    using O = MemoryOrder;
    if (a.order > O::SeqCst || a.failureOrder > O::SeqCst) {
      return fail(DiagId::VerifyV24, "has an unknown memory order");
    }
    switch (op_.form()) {
      case Form::AtomicLoad:
        if (a.order == O::Release || a.order == O::AcqRel) {
          fail(DiagId::VerifyV24,
               StrFormat("a load is relaxed, acquire or seq_cst, not %s", orderName(a.order)));
        }
        return;
      case Form::AtomicStore:
        if (a.order == O::Acquire || a.order == O::AcqRel) {
          fail(DiagId::VerifyV24,
               StrFormat("a store is relaxed, release or seq_cst, not %s", orderName(a.order)));
        }
        return;
      case Form::AtomicCas:
        if (a.failureOrder == O::Release || a.failureOrder == O::AcqRel) {
          fail(DiagId::VerifyV24,
               StrFormat("a failed exchange writes nothing, so its order is relaxed, acquire or "
                         "seq_cst, not %s",
                         orderName(a.failureOrder)));
        } else if ((a.failureOrder == O::SeqCst && a.order != O::SeqCst) ||
                   (a.failureOrder == O::Acquire &&
                    (a.order == O::Relaxed || a.order == O::Release))) {
          fail(DiagId::VerifyV24, StrFormat("failure order %s is stronger than success order %s",
                                            orderName(a.failureOrder), orderName(a.order)));
        }
        return;
      default:
        return;
    }
  }

  void subgroup() {  // V26
    constexpr DiagId kRule = DiagId::VerifyV26;
    switch (op_.form()) {
      case Form::SubgroupLane:
        if (!type(0).isScalar() || type(0).bits() < 16) {
          fail(kRule, StrFormat("moves values of 16 to 64 bits, not %s", typeName(type(0))));
        }
        result(kRule, type(0));
        operand(kRule, 1, kI32, "the lane");
        return;
      case Form::SubgroupReduce: {
        const CombineKind kind = op_.combineKind();
        const bool scan = op_.opcode() != Opcode::SubgroupReduce;
        bool good = kind == CombineKind::Add || kind == CombineKind::FAdd;
        if (!scan) {
          good = good || (kind >= CombineKind::SMin && kind <= CombineKind::UMax) ||
                 kind == CombineKind::FMin || kind == CombineKind::FMax;
        }
        if (kind > CombineKind::FMax || !good) {
          return fail(kRule, StrFormat("does not combine by %s", combineName(kind)));
        }
        operand(kRule, 0, isFloatKind(kind) ? kF32 : kI32, "the value");
        result(kRule, type(0));
        return;
      }
      case Form::SubgroupBallot:
        operand(kRule, 0, kI1, "the predicate");
        operand(kRule, 1, kI32, "the word");
        return result(kRule, kI32);
      default:  // SubgroupVote
        operand(kRule, 0, kI1, "the predicate");
        return result(kRule, kI1);
    }
  }

  void asyncCopy() {  // V27
    constexpr DiagId kRule = DiagId::VerifyV27;
    const AsyncAttr a = op_.async();
    const Type elem = op_.elemType();
    result(kRule, kVoid);
    operand(kRule, 0, Type::ptr(Space::Workgroup), "the destination");
    operand(kRule, 1, Type::ptr(Space::Global), "the source");
    if (!elem.isScalar()) return fail(kRule, StrFormat("copies scalars, not %s", typeName(elem)));
    if (a.transaction != 4 && a.transaction != 8 && a.transaction != 16) {
      return fail(kRule, StrFormat("a transaction of %d bytes", a.transaction));
    }
    if (a.count < 1 || a.count > 4096) {
      return fail(kRule, StrFormat("%d elements are not in 1 … 4096", a.count));
    }
    const uint64_t bytes = uint64_t{a.count} * elem.bytes();
    if (bytes % a.transaction != 0) {
      fail(kRule,
           StrFormat("%d bytes are no multiple of the transaction of %d", bytes, a.transaction));
    }
    if (a.cacheGlobal && a.transaction != 16) {
      fail(kRule, StrFormat("cache global needs transactions of 16 bytes, not %d", a.transaction));
    }
  }

  void narrow() {  // V28
    constexpr DiagId kRule = DiagId::VerifyV28;
    const NarrowAttr n = op_.narrow();
    using F = FloatFormat;
    const bool value = n.format >= F::E4M3 && n.format <= F::E2M1;
    const bool scale = n.format == F::UE8M0 || n.format == F::UE4M3;
    const bool encode = op_.form() == Form::Encode;
    if (!value && (encode || !scale)) {
      fail(kRule,
           StrFormat("%s is no narrow format", n.format <= F::UE4M3 ? floatFormatInfo(n.format).name
                                                                    : std::string_view("this")));
    }
    if (encode) {
      if (!n.saturate && n.format != F::E4M3 && n.format != F::E5M2 && value) {
        fail(kRule, StrFormat("%s has nothing but its largest number for what is beyond it; use "
                              "sat",
                              floatFormatInfo(n.format).name));
      }
      if (!type(0).isFloat()) fail(kRule, StrFormat("encodes a float, not %s", typeName(type(0))));
      result(kRule, kI8);
    } else {
      operand(kRule, 0, kI8, "the code");
      if (!op_.resultType().isFloat()) {
        fail(kRule, StrFormat("gives a float, not %s", typeName(op_.resultType())));
      }
    }
  }

  // V29, V30, V31
  void tensor() {
    const SlotSet slots = op_.tensor().slots;
    if (slots.size() != op_.operandCount()) {
      return fail(DiagId::VerifyV05,
                  StrFormat("takes %d operands, has %d", slots.size(), op_.operandCount()));
    }
    std::vector<DescriptorProblem> problems;
    bool wide = false;  // Scalars are f64.
    const bool inTile = op_.opcode() == Opcode::TensorAccEpilogue;
    if (op_.form() == Form::Mma) {
      checkDescriptor(op_.mmaDesc(), mmaUse(op_.opcode()), slots, problems);
    } else if (op_.form() == Form::Epilogue) {
      checkDescriptor(op_.epilogueDesc(), inTile, slots, problems);
      wide = op_.epilogueDesc().element == ElementFormat::F64;
    } else {
      checkDescriptor(op_.transferDesc(), slots, problems);
    }
    for (const DescriptorProblem& p : problems) {
      fail(DiagId::VerifyV30, StrFormat("%s: %s", p.field, p.reason));
    }
    for (int i = 0; i < kSlotCount; ++i) {
      if (slots.has(static_cast<Slot>(i))) slotOperand(static_cast<Slot>(i), wide);
    }
    if (problems.empty()) tiles(inTile);
  }

  void slotOperand(Slot slot, bool wide) {
    constexpr DiagId kRule = DiagId::VerifyV29;
    const Value* v = op_.slot(slot);
    const Type t = v->type();
    auto wrong = [&](std::string_view wanted) {
      fail(kRule, StrFormat("%s is %s, not %s", slotName(slot), typeName(t), wanted));
    };
    switch (slotClass(slot)) {
      case SlotClass::Tile:
        if (!t.isTile()) wrong("a tile");
        return;
      case SlotClass::Pointer:
        if (op_.form() == Form::Transfer && (slot == Slot::Dst || slot == Slot::Src)) {
          const bool toWorkgroup = op_.transferDesc().direction == Direction::Load;
          const Space wanted =
              (slot == Slot::Dst) == toWorkgroup ? Space::Workgroup : Space::Global;
          if (t != Type::ptr(wanted)) wrong(typeName(Type::ptr(wanted)));
        } else if (!t.isPtr() || t.space() == Space::Private || t.space() == Space::Constant) {
          wrong("a pointer to global, workgroup or generic memory");
        }
        return;
      case SlotClass::Index:
        if (t != kI32 && t != kI64) return wrong("i32 or i64");
        if ((slot >= Slot::Lda && slot <= Slot::Ldsb) || slot == Slot::LdMeta) leading(slot, *v);
        if (slot == Slot::LdBias) leading(slot, *v);
        return;
      case SlotClass::Coordinate:
        if (t != kI32) wrong("i32");
        return;
      case SlotClass::Float:
        if (t != (wide ? kF64 : kF32)) wrong(wide ? "f64" : "f32");
        return;
    }
  }

  void leading(Slot slot, const Value& v) {
    if (const Operation* c = asConst(&v); c && c->constBits() == 0) {
      fail(DiagId::VerifyV29,
           StrFormat("%s is 0; a leading dimension is at least 1", slotName(slot)));
    }
  }

  void tiles(bool inTile) {  // V31
    constexpr DiagId kRule = DiagId::VerifyV31;
    const Value* tile = op_.slot(Slot::Tile);
    if (op_.info().typeClass != TypeClass::Tile) return result(kRule, kVoid);
    Type wanted;
    if (inTile) {
      const EpilogueDesc& d = op_.epilogueDesc();
      wanted = Type::tile(static_cast<uint16_t>(d.m), static_cast<uint16_t>(d.n), d.element,
                          d.scope == Scope::Workgroup);
    } else {
      wanted = tileType(op_.mmaDesc());
    }
    result(kRule, wanted);
    if (tile && tile->type() != wanted) {
      fail(kRule, StrFormat("the descriptor is for %s, the tile is %s", typeName(wanted),
                            typeName(tile->type())));
    }
  }

  void launch() {  // V32
    constexpr DiagId kRule = DiagId::VerifyV32;
    const LaunchAttr l = op_.launch();
    const unsigned first = l.firstArgument();
    if (op_.operandCount() < first) return fail(kRule, "has too few operands");
    result(kRule, op_.opcode() == Opcode::LaunchStatus ? kI32 : kVoid);
    auto isCount = [](Type t) { return t == kI32 || t == kI64; };
    if (l.hasHandle() && type(0) != kI64 && type(0) != kI32 && !type(0).isPtr()) {
      fail(kRule, StrFormat("the handle is %s, not an integer or a pointer", typeName(type(0))));
    }
    for (unsigned i = 0; i < 6; ++i) {
      const Value* v = op_.operand(l.gridOperand() + i);
      const std::string what = StrFormat("%s %c", i < 3 ? "grid" : "block", "xyz"[i % 3]);
      if (!isCount(v->type())) {
        fail(kRule, StrFormat("%s is %s, not i32 or i64", what, typeName(v->type())));
      } else if (const Operation* c = asConst(v);
                 c && signExtend(c->constBits(), v->type().bits()) <= 0) {
        fail(kRule, StrFormat("%s is %d, not above 0", what,
                              signExtend(c->constBits(), v->type().bits())));
      }
    }
    if (l.hasShared && !isCount(type(l.sharedOperand()))) {
      fail(kRule,
           StrFormat("the shared size is %s, not i32 or i64", typeName(type(l.sharedOperand()))));
    }
    if (l.hasStream && !type(l.streamOperand()).isPtr() && !isCount(type(l.streamOperand()))) {
      fail(kRule, StrFormat("the stream is %s, not an integer or a pointer",
                            typeName(type(l.streamOperand()))));
    }
    const unsigned count = op_.operandCount() - first;
    if (count > kMaxLaunchArguments) {
      fail(kRule, StrFormat("%d arguments are more than %d", count, kMaxLaunchArguments));
    }
    if (l.hasHandle()) {
      for (unsigned i = 0; i < count; ++i) {
        if (!type(first + i).isStorable()) {
          fail(kRule, StrFormat("argument %d is %s", i + 1, typeName(type(first + i))));
        }
      }
      return;
    }
    const Function* kernel = l.kernel;
    if (!known_.contains(kernel)) return fail(kRule, "the kernel is not in this module");
    if (!kernel->isKernel()) return fail(kRule, StrFormat("@%s is no kernel", kernel->name()));
    if (count != kernel->paramCount()) {
      return fail(kRule, StrFormat("@%s takes %d arguments, not %d", kernel->name(),
                                   kernel->paramCount(), count));
    }
    for (unsigned i = 0; i < count; ++i) {
      const Type wanted = kernel->paramTypes()[i], got = type(first + i);
      // The host knows a device address as a number.
      if (got != wanted && !(wanted.isPtr() && (got.isPtr() || got == kI64))) {
        fail(kRule, StrFormat("argument %d of @%s is %s, not %s", i + 1, kernel->name(),
                              typeName(wanted), typeName(got)));
      }
    }
  }

  const Operation& op_;
  const absl::flat_hash_set<const Function*>& known_;
  DiagnosticEngine& diags_;
};

}  // namespace

void verifyGpuOperation(const Operation& op, const absl::flat_hash_set<const Function*>& known,
                        DiagnosticEngine& diags) {
  GpuVerifier(op, known, diags).run();
}

}  // namespace mtlc::ir
