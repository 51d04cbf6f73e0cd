// Rules, in the order of their numbers; docs/ir.md §9 has the texts.
//
//   V01 function names          V09 result type              V17 br condition is i1
//   V02 terminators             V10 conversion pairs         V18 kernel signature
//   V03 entry block             V11 ptr.add                  V19 flags only where allowed
//   V04 edge arguments          V12 load and store           V20 constants fit
//   V05 operand counts          V13 allocations              V21 no void parameters
//   V06 dominance               V14 barrier                  V22 dimensions
//   V07 type class              V15 call                     V23 launch bounds
//   V08 operand types agree     V16 ret
//
//   V24 atomics                 V28 encode and decode     V32 launches
//   V25 fence                   V29 tensor operands       V33 func.addr, call.indirect
//   V26 subgroup operations     V30 tensor descriptors
//   V27 async staging           V31 tiles
//
// V24 to V33 are in verifier_gpu.cc.

#include "mtlc/ir/verifier.h"

#include <bit>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "mtlc/ir/dominance.h"
#include "mtlc/ir/verifier_gpu.h"

namespace mtlc::ir {
namespace {

bool inClass(Type t, TypeClass c) {
  switch (c) {
    case TypeClass::None:
      return true;
    case TypeClass::Int:
      return t.isInt();
    case TypeClass::I32:
      return t == kI32;
    case TypeClass::IntOrBool:
      return t.isIntOrBool();
    case TypeClass::IntOrPtr:
      return t.isInt() || t.isPtr();
    case TypeClass::IntOrBoolOrPtr:
      return t.isIntOrBool() || t.isPtr();
    case TypeClass::Float:
      return t.isFloat();
    case TypeClass::Scalar:
      return t.isScalar();
    case TypeClass::AnyValue:
      return t.isStorable();
    case TypeClass::Ptr:
      return t.isPtr();
    case TypeClass::Word:
      return t == kI32 || t == kF32;
    case TypeClass::Payload:
      return t.isScalar() && t.bits() >= 16;
    case TypeClass::Tile:
      return t.isTile();
  }
  return false;
}

std::string_view className(TypeClass c) {
  switch (c) {
    case TypeClass::None:
      return "nothing";
    case TypeClass::Int:
      return "an integer of 8 to 64 bits";
    case TypeClass::I32:
      return "i32";
    case TypeClass::IntOrBool:
      return "an integer or i1";
    case TypeClass::IntOrPtr:
      return "an integer or a pointer";
    case TypeClass::IntOrBoolOrPtr:
      return "an integer, i1 or a pointer";
    case TypeClass::Float:
      return "a float";
    case TypeClass::Scalar:
      return "a scalar";
    case TypeClass::AnyValue:
      return "a scalar or a pointer";
    case TypeClass::Ptr:
      return "a pointer";
    case TypeClass::Word:
      return "i32 or f32";
    case TypeClass::Payload:
      return "an integer or float of 16 to 64 bits";
    case TypeClass::Tile:
      return "a tile";
  }
  return "";
}

// Operand count of each form; -1 where it varies.
int operandCount(Form form) {
  switch (form) {
    case Form::Const:
    case Form::GpuIndex:
    case Form::Alloc:
    case Form::AllocDynamic:
    case Form::Barrier:
    case Form::Fence:
    case Form::SubgroupIndex:
    case Form::AsyncCommit:
    case Form::AsyncWait:
    case Form::FuncAddr:
      return 0;
    case Form::Unary:
    case Form::Cast:
    case Form::Load:
    case Form::AtomicLoad:
    case Form::SubgroupReduce:
    case Form::SubgroupVote:
    case Form::Encode:
    case Form::Decode:
    case Form::AccCommit:
      return 1;
    case Form::Binary:
    case Form::Compare:
    case Form::PtrAdd:
    case Form::Store:
    case Form::AtomicStore:
    case Form::AtomicRmw:
    case Form::SubgroupLane:
    case Form::SubgroupBallot:
    case Form::AsyncCopy:
      return 2;
    case Form::Ternary:
    case Form::Select:
    case Form::AtomicCas:
      return 3;
    case Form::Mma:
    case Form::Epilogue:
    case Form::Transfer:
    case Form::CallIndirect:
    case Form::Launch:
    case Form::Call:
    case Form::Jump:
    case Form::Branch:
    case Form::Return:
      return -1;
  }
  return -1;
}

unsigned successorCount(Form form) {
  switch (form) {
    case Form::Jump:
      return 1;
    case Form::Branch:
      return 2;
    default:
      return 0;
  }
}

// The pairs of V10.
bool castAllowed(Opcode opcode, Type from, Type to) {
  switch (opcode) {
    case Opcode::Trunc:
      return from.isInt() && to.isInt() && to.bits() < from.bits();
    case Opcode::SExt:
    case Opcode::ZExt:
      return from.isIntOrBool() && to.isInt() && to.bits() > from.bits();
    case Opcode::FConv:
      return from.isFloat() && to.isFloat() && from != to;
    case Opcode::FToSI:
    case Opcode::FToUI:
      return from.isFloat() && to.isInt();
    case Opcode::SIToF:
    case Opcode::UIToF:
      return from.isIntOrBool() && to.isFloat();
    case Opcode::Bitcast:
      return from.isScalar() && to.isScalar() && from.bits() == to.bits() && from != to;
    case Opcode::PtrToInt:
      return from.isPtr() && to == kI64;
    case Opcode::IntToPtr:
      return from == kI64 && to.isPtr() &&
             (to.space() == Space::Generic || to.space() == Space::Global);
    case Opcode::SpaceCast:
      return from.isPtr() && to.isPtr() && from != to && from.space() != Space::Constant &&
             to.space() != Space::Constant &&
             (from.space() == Space::Generic || to.space() == Space::Generic);
    default:
      return false;
  }
}

class Verifier {
 public:
  Verifier(const Module& module, DiagnosticEngine& diags) : module_(module), diags_(diags) {}

  bool run() {
    int before = diags_.errorCount();
    absl::flat_hash_set<std::string_view> names;
    for (const Function& f : module_.functions()) known_.insert(&f);
    for (const Function& f : module_.functions()) {
      if (f.name().empty()) {
        fail(DiagId::VerifyV01, f.loc(), "a function has no name");
      } else if (!names.insert(f.name()).second) {
        fail(DiagId::VerifyV01, f.loc(), absl::StrFormat("two functions are called @%s", f.name()));
      }
      function(f);
      if (diags_.full()) break;
    }
    return diags_.errorCount() == before;
  }

 private:
  void fail(DiagId rule, SourceLoc at, std::string what) { diags_.report(rule, at, {what}); }
  void fail(DiagId rule, const Operation& op, std::string_view what) {
    fail(rule, op.loc(), absl::StrFormat("%s: %s", op.info().mnemonic, what));
  }

  void signature(const Function& f) {
    if (f.isKernel() && !f.resultType().isVoid()) {
      fail(DiagId::VerifyV18, f.loc(),
           absl::StrFormat("kernel @%s returns %s", f.name(), typeName(f.resultType())));
    }
    for (Type t : f.paramTypes()) {
      if (!t.isStorable()) {
        fail(DiagId::VerifyV21, f.loc(),
             absl::StrFormat("@%s has a parameter of type %s", f.name(), typeName(t)));
      } else if (f.isKernel() && t.isPtr() && t.space() == Space::Private) {
        fail(DiagId::VerifyV18, f.loc(),
             absl::StrFormat("kernel @%s takes a pointer to private memory", f.name()));
      }
    }
    if (f.launchBounds.maxThreads > 1024 || (f.launchBounds.maxThreads != 0 && !f.isKernel()) ||
        (f.launchBounds.maxThreads == 0 && f.launchBounds.minGroups != 0)) {
      fail(DiagId::VerifyV23, f.loc(), absl::StrFormat("launch bounds of @%s", f.name()));
    }
  }

  void function(const Function& f) {
    signature(f);
    if (f.resultType().isTile()) {
      fail(DiagId::VerifyV31, f.loc(), absl::StrFormat("@%s returns a tile", f.name()));
    }
    if (f.isDeclaration()) {
      if (f.isKernel()) {
        fail(DiagId::VerifyV18, f.loc(), absl::StrFormat("kernel @%s has no body", f.name()));
      }
      return;
    }
    const Block* entry = f.entry();
    if (entry->firstPredecessor()) {
      fail(DiagId::VerifyV03, entry->firstPredecessor()->owner()->loc(),
           "a branch leads back to the entry block");
    }
    bool argsAgree = entry->argCount() == f.paramCount();
    for (unsigned i = 0; argsAgree && i < f.paramCount(); ++i) {
      argsAgree = entry->arg(i)->type() == f.paramTypes()[i];
    }
    if (!argsAgree) {
      fail(DiagId::VerifyV03, f.loc(),
           absl::StrFormat("the entry block's arguments are not the parameters of @%s", f.name()));
    }

    bool wellFormed = true;
    for (const Block& block : f.blocks()) {
      for (const Value* arg : block.args()) {
        if (arg->type().isVoid()) fail(DiagId::VerifyV21, block.loc(), "a block argument is void");
      }
      if (!block.terminator()) {
        fail(DiagId::VerifyV02, block.empty() ? block.loc() : block.back()->loc(),
             "the block does not end in a terminator");
        wellFormed = false;
      }
      uint32_t number = 0;
      for (Operation& op : block.ops()) {
        op.scratch = number++;
        if (op.isTerminator() && &op != block.back()) {
          fail(DiagId::VerifyV02, op, "a terminator stands in the middle of its block");
          wellFormed = false;
        }
        if (!operation(f, op)) wellFormed = false;
        if (diags_.full()) return;
      }
    }
    if (wellFormed) dominance(f);
  }

  void dominance(const Function& f) {
    DominatorTree tree(f);
    for (const Block& block : f.blocks()) {
      if (!tree.reachable(&block)) continue;
      for (const Operation& op : block.ops()) {
        for (const Use& use : op.uses()) {
          const Value* v = use.value();
          const Block* from = v->block();
          bool good = from != nullptr && from->function() == &f;
          if (good && from == &block) {
            good = v->isBlockArg() || v->def()->scratch < op.scratch;
          } else if (good) {
            good = tree.dominates(from, &block);
          }
          if (!good) {
            fail(DiagId::VerifyV06, op,
                 from && from->function() == &f
                     ? absl::StrFormat("operand %d is not defined on every path to this use",
                                       use.index() + 1)
                     : absl::StrFormat("operand %d does not belong to this function",
                                       use.index() + 1));
          }
        }
      }
    }
  }

  // False if the operation's structure is broken, so that later checks must not look at it.
  bool operation(const Function& f, const Operation& op) {
    const OpInfo& info = op.info();
    int wanted = operandCount(info.form);
    if (wanted >= 0 && op.operandCount() != static_cast<unsigned>(wanted)) {
      fail(DiagId::VerifyV05, op,
           absl::StrFormat("takes %d operands, has %d", wanted, op.operandCount()));
      return false;
    }
    for (const Use& use : op.uses()) {
      if (!use.value() || use.value()->type().isVoid()) {
        fail(DiagId::VerifyV05, op, absl::StrFormat("operand %d has no value", use.index() + 1));
        return false;
      }
    }
    if (op.successorCount() != successorCount(info.form)) {
      fail(DiagId::VerifyV05, op, absl::StrFormat("has %d targets", op.successorCount()));
      return false;
    }
    if (info.form == Form::Branch && op.successor(0).firstArg() != 1) {
      fail(DiagId::VerifyV05, op, "has no condition");
      return false;
    }
    uint8_t allowed = (info.has(OpTrait::FastMath)
                           ? kContract | kReassoc | kNoNaNs | kNoSignedZeros | kFlushSubnormals
                           : 0) |
                      (info.has(OpTrait::Approx) ? kApprox : 0);
    if (op.fastMath() & ~allowed) fail(DiagId::VerifyV19, op, "carries a flag it does not take");
    attributes(f, op);
    for (const Successor& s : successorsOf(op)) edge(f, op, s);
    return true;
  }

  static std::span<const Successor> successorsOf(const Operation& op) {
    return op.successorCount() ? std::span<const Successor>(&op.successor(0), op.successorCount())
                               : std::span<const Successor>();
  }

  void edge(const Function& f, const Operation& op, const Successor& s) {
    const Block* to = s.block();
    if (!to || to->function() != &f) {
      fail(DiagId::VerifyV04, op, "a target is not a block of this function");
      return;
    }
    if (to->argCount() != s.argCount()) {
      fail(DiagId::VerifyV04, op,
           absl::StrFormat("passes %d values to a block that takes %d", s.argCount(),
                           to->argCount()));
      return;
    }
    for (unsigned i = 0; i < s.argCount(); ++i) {
      Type got = op.operand(s.firstArg() + i)->type();
      if (got != to->arg(i)->type()) {
        fail(DiagId::VerifyV04, op,
             absl::StrFormat("argument %d of the target is %s, not %s", i + 1,
                             typeName(to->arg(i)->type()), typeName(got)));
      }
    }
  }

  void wantClass(const Operation& op, Type type) {
    if (!inClass(type, op.info().typeClass)) {
      fail(DiagId::VerifyV07, op,
           absl::StrFormat("takes %s, not %s", className(op.info().typeClass), typeName(type)));
    }
  }
  void wantResult(const Operation& op, Type type) {
    if (op.resultType() != type) {
      fail(DiagId::VerifyV09, op,
           absl::StrFormat("gives %s, not %s", typeName(type), typeName(op.resultType())));
    }
  }
  void wantOperand(const Operation& op, unsigned i, Type type) {
    Type got = op.operand(i)->type();
    if (got != type) {
      fail(DiagId::VerifyV08, op,
           absl::StrFormat("operand %d is %s, not %s", i + 1, typeName(got), typeName(type)));
    }
  }
  // False if operand i is no pointer.
  bool wantPointer(const Operation& op, unsigned i) {
    if (op.operand(i)->type().isPtr()) return true;
    fail(DiagId::VerifyV07, op,
         absl::StrFormat("takes a pointer, not %s", typeName(op.operand(i)->type())));
    return false;
  }

  void attributes(const Function& f, const Operation& op) {
    switch (op.form()) {
      case Form::Const: {
        Type t = op.resultType();
        wantClass(op, t);
        if ((op.constBits() & ~t.mask()) != 0 || (t.isPtr() && op.constBits() != 0)) {
          fail(DiagId::VerifyV20, op,
               absl::StrFormat("0x%x is no %s", op.constBits(), typeName(t)));
        }
        return;
      }
      case Form::Unary:
      case Form::Binary:
      case Form::Ternary:
        wantClass(op, op.resultType());
        for (unsigned i = 0; i < op.operandCount(); ++i) wantOperand(op, i, op.resultType());
        return;
      case Form::Compare:
        wantClass(op, op.operand(0)->type());
        wantOperand(op, 1, op.operand(0)->type());
        wantResult(op, kI1);
        return;
      case Form::Select:
        wantClass(op, op.resultType());
        wantOperand(op, 0, kI1);
        wantOperand(op, 1, op.resultType());
        wantOperand(op, 2, op.resultType());
        return;
      case Form::Cast:
        if (!castAllowed(op.opcode(), op.operand(0)->type(), op.resultType())) {
          fail(DiagId::VerifyV10, op,
               absl::StrFormat("there is no such conversion from %s to %s",
                               typeName(op.operand(0)->type()), typeName(op.resultType())));
        }
        return;
      case Form::GpuIndex:
        wantResult(op, kI32);
        if (static_cast<uint8_t>(op.dim()) > 2)
          fail(DiagId::VerifyV22, op, "has no such dimension");
        return;
      case Form::PtrAdd:
        if (!wantPointer(op, 0)) return;
        wantResult(op, op.operand(0)->type());
        if (op.operand(1)->type() != kI64 || !op.elemType().isStorable()) {
          fail(DiagId::VerifyV11, op,
               absl::StrFormat("index is %s, element %s", typeName(op.operand(1)->type()),
                               typeName(op.elemType())));
        }
        return;
      case Form::Load:
        if (!wantPointer(op, 0)) return;
        wantResult(op, op.elemType());
        memory(op);
        return;
      case Form::Store:
        if (!wantPointer(op, 1)) return;
        wantResult(op, kVoid);
        wantOperand(op, 0, op.elemType());
        memory(op);
        if (op.operand(1)->type().space() == Space::Constant) {
          fail(DiagId::VerifyV12, op, "constant memory cannot be written");
        }
        return;
      case Form::Alloc:
      case Form::AllocDynamic:
        allocation(f, op);
        return;
      case Form::Barrier: {
        wantResult(op, kVoid);
        BarrierAttr b = op.barrier();
        if (b.regions == 0 || (b.regions & ~(kRegionWorkgroup | kRegionGlobal)) ||
            b.order == MemoryOrder::Relaxed || b.order > MemoryOrder::SeqCst) {
          fail(DiagId::VerifyV14, op, "has no region or an order that orders nothing");
        }
        return;
      }
      case Form::Fence:
      case Form::AtomicLoad:
      case Form::AtomicStore:
      case Form::AtomicRmw:
      case Form::AtomicCas:
      case Form::SubgroupIndex:
      case Form::SubgroupLane:
      case Form::SubgroupReduce:
      case Form::SubgroupBallot:
      case Form::SubgroupVote:
      case Form::AsyncCopy:
      case Form::AsyncCommit:
      case Form::AsyncWait:
      case Form::Encode:
      case Form::Decode:
      case Form::Mma:
      case Form::Epilogue:
      case Form::Transfer:
      case Form::AccCommit:
      case Form::FuncAddr:
      case Form::CallIndirect:
      case Form::Launch:
        verifyGpuOperation(op, known_, diags_);
        return;
      case Form::Call:
        call(op);
        return;
      case Form::Jump:
        wantResult(op, kVoid);
        return;
      case Form::Branch:
        wantResult(op, kVoid);
        if (op.operand(0)->type() != kI1) {
          fail(DiagId::VerifyV17, op,
               absl::StrFormat("the condition is %s, not i1", typeName(op.operand(0)->type())));
        }
        return;
      case Form::Return: {
        Type got = op.operandCount() ? op.operand(0)->type() : kVoid;
        if (op.operandCount() > 1 || got != f.resultType()) {
          fail(DiagId::VerifyV16, op,
               absl::StrFormat("returns %s from a function that gives %s", typeName(got),
                               typeName(f.resultType())));
        }
        return;
      }
    }
  }

  void memory(const Operation& op) {
    MemAttr m = op.mem();
    if (!op.elemType().isStorable()) fail(DiagId::VerifyV12, op, "has no element type");
    if (!std::has_single_bit(m.align) || m.align > 4096) {
      fail(DiagId::VerifyV12, op,
           absl::StrFormat("alignment %d is no power of two up to 4096", m.align));
    }
  }

  void allocation(const Function& f, const Operation& op) {
    Space space = op.opcode() == Opcode::AllocPrivate ? Space::Private : Space::Workgroup;
    wantResult(op, Type::ptr(space));
    if (!op.block()->isEntry()) fail(DiagId::VerifyV13, op, "stands outside the entry block");
    if (space == Space::Workgroup && !f.isKernel()) {
      fail(DiagId::VerifyV13, op, "workgroup memory is allocated outside a kernel");
    }
    // Kernel-visible arrays hold scalars; a slot of a pointer variable is private and single.
    bool slot = space == Space::Private && op.elemType().isPtr();
    if (!op.elemType().isScalar() && !slot) fail(DiagId::VerifyV13, op, "the element is no scalar");
    constexpr uint64_t kMaxBytes = uint64_t{1} << 32;
    if (op.form() == Form::Alloc &&
        (op.allocCount() == 0 ||
         op.allocCount() > kMaxBytes / std::max(1u, op.elemType().bytes()))) {
      fail(DiagId::VerifyV13, op, absl::StrFormat("%d elements", op.allocCount()));
    }
  }

  void call(const Operation& op) {
    const Function* callee = op.callee();
    if (!callee || !known_.contains(callee)) {
      fail(DiagId::VerifyV15, op, "the callee is not in this module");
      return;
    }
    if (op.operandCount() != callee->paramCount()) {
      fail(DiagId::VerifyV15, op,
           absl::StrFormat("@%s takes %d arguments, not %d", callee->name(), callee->paramCount(),
                           op.operandCount()));
      return;
    }
    for (unsigned i = 0; i < op.operandCount(); ++i) {
      if (op.operand(i)->type() != callee->paramTypes()[i]) {
        fail(DiagId::VerifyV15, op,
             absl::StrFormat("argument %d of @%s is %s, not %s", i + 1, callee->name(),
                             typeName(callee->paramTypes()[i]), typeName(op.operand(i)->type())));
      }
    }
    if (op.resultType() != callee->resultType()) {
      fail(DiagId::VerifyV15, op,
           absl::StrFormat("@%s gives %s, not %s", callee->name(), typeName(callee->resultType()),
                           typeName(op.resultType())));
    }
  }

  const Module& module_;
  DiagnosticEngine& diags_;
  absl::flat_hash_set<const Function*> known_;
};

}  // namespace

bool verify(const Module& module, DiagnosticEngine& diags) { return Verifier(module, diags).run(); }

}  // namespace mtlc::ir
