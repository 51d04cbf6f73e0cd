#include "mtlc/codegen/ptx/match.h"

#include <bit>
#include <cstdlib>
#include <limits>

namespace mtlc::ptx {

using ir::asConst;
using ir::Opcode;
using ir::Operation;
using ir::signExtend;
using ir::Value;

namespace {

int64_t constValue(const Operation& constant) {
  return signExtend(constant.constBits(), constant.resultType().bits());
}

}  // namespace

Widened matchWidened(const Value* v) {
  const Operation* def = v->def();
  if (def == nullptr || def->resultType() != ir::kI64) return {};
  if (def->opcode() != Opcode::SExt && def->opcode() != Opcode::ZExt) return {};
  const Value* source = def->operand(0);
  if (!source->type().isInt() || source->type() == ir::kI64) return {};
  return {source, def->opcode() == Opcode::SExt};
}

bool fitsWide(int64_t factor, bool isSigned) {
  return isSigned ? factor >= std::numeric_limits<int32_t>::min() &&
                        factor <= std::numeric_limits<int32_t>::max()
                  : factor >= 0 && factor <= int64_t{std::numeric_limits<uint32_t>::max()};
}

WideProduct matchWideProduct(const Operation& op) {
  if (op.resultType() != ir::kI64) return {};
  if (op.opcode() == Opcode::Shl) {
    Widened a = matchWidened(op.operand(0));
    const Operation* amount = asConst(op.operand(1));
    if (!a || amount == nullptr) return {};
    unsigned n = amount->constBits() & 63;
    if (!fitsWide(int64_t{1} << n, a.isSigned) || n > 31) return {};
    return {a.source, nullptr, int64_t{1} << n, a.isSigned};
  }
  if (op.opcode() != Opcode::Mul) return {};
  Widened a = matchWidened(op.operand(0)), b = matchWidened(op.operand(1));
  if (a && b) {
    if (a.isSigned != b.isSigned) return {};
    return {a.source, b.source, 0, a.isSigned};
  }
  for (unsigned i = 0; i < 2; ++i) {
    const Widened& w = i == 0 ? a : b;
    const Operation* factor = asConst(op.operand(1 - i));
    if (w && factor != nullptr && fitsWide(constValue(*factor), w.isSigned)) {
      return {w.source, nullptr, constValue(*factor), w.isSigned};
    }
  }
  return {};
}

MulAdd matchMulAdd(const Operation& add) {
  MulAdd m;
  const ir::Block* block = add.block();
  bool is64 = add.resultType() == ir::kI64;
  unsigned width = add.resultType().bits();
  for (unsigned i = 0; i < 2; ++i) {
    const Operation* term = foldable(add.operand(i), block);
    if (term == nullptr) continue;
    m.addend = add.operand(1 - i);
    if (is64) {
      if ((m.wide = matchWideProduct(*term))) {
        m.kind = MulAdd::Kind::Wide;
        return m;
      }
      if (Widened w = matchWidened(add.operand(i))) {
        m.kind = MulAdd::Kind::WidenOnly;
        m.wide = {w.source, nullptr, 1, w.isSigned};
        return m;
      }
    }
    if (term->opcode() == Opcode::Mul) {
      m.kind = MulAdd::Kind::Low;
      m.a = term->operand(0);
      m.b = term->operand(1);
      return m;
    }
    // In 64 bits a multiplication by a power of two is slower than shift and add.
    if (term->opcode() == Opcode::Shl && !is64) {
      if (const Operation* amount = asConst(term->operand(1))) {
        m.kind = MulAdd::Kind::Low;
        m.a = term->operand(0);
        m.factor = int64_t{1} << (amount->constBits() & (width - 1));
        return m;
      }
    }
  }
  return {};
}

PtrIndex matchPtrIndex(const Operation& ptrAdd) {
  PtrIndex result;
  int64_t size = ptrAdd.elemType().bytes();
  const Value* index = ptrAdd.operand(1);
  if (const Operation* constant = asConst(index)) {
    result.kind = PtrIndex::Kind::Constant;
    result.bytes = static_cast<int64_t>(constant->constBits() * static_cast<uint64_t>(size));
    return result;
  }
  if (Widened w = matchWidened(index)) {
    return {PtrIndex::Kind::Widened, 0, w.source, w.isSigned, size};
  }
  if (const Operation* def = foldable(index, ptrAdd.block())) {
    WideProduct p = matchWideProduct(*def);
    if (p && p.b == nullptr && fitsWide(p.factor * size, p.isSigned)) {
      return {PtrIndex::Kind::Widened, 0, p.a, p.isSigned, p.factor * size};
    }
  }
  return result;
}

AddressMatch matchAddress(const Value* pointer) {
  // Longer chains of constant steps are computed; the passes join them.
  constexpr int kMaxSteps = 8;
  int64_t offset = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    const Operation* def = pointer->def();
    if (def == nullptr) break;
    if (def->opcode() == Opcode::SpaceCast && pointer->type().space() == ir::Space::Generic) {
      pointer = def->operand(0);
      continue;
    }
    if (def->opcode() != Opcode::PtrAdd) break;
    PtrIndex index = matchPtrIndex(*def);
    if (index.kind != PtrIndex::Kind::Constant) break;
    constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
    if (index.bytes < -kLimit || index.bytes > kLimit) break;
    if (offset + index.bytes < -kLimit || offset + index.bytes > kLimit) break;
    offset += index.bytes;
    pointer = def->operand(0);
  }
  return {pointer, static_cast<int32_t>(offset)};
}

const Operation* asArray(const Value* base) {
  const Operation* def = base->def();
  if (def == nullptr) return nullptr;
  switch (def->opcode()) {
    case Opcode::AllocWorkgroup:
    case Opcode::AllocPrivate:
    case Opcode::AllocDynamic:
      return def;
    default:
      return nullptr;
  }
}

Contraction matchContraction(const Operation& op) {
  if ((op.fastMath() & ir::kContract) == 0) return {};
  auto product = [&](const Value* v) -> const Operation* {
    const Operation* def = foldable(v, op.block());
    if (def == nullptr || def->opcode() != Opcode::FMul) return nullptr;
    return (def->fastMath() & ir::kContract) != 0 ? def : nullptr;
  };
  bool isSub = op.opcode() == Opcode::FSub;
  if (const Operation* p = product(op.operand(0))) return {p, op.operand(1), false, isSub};
  if (const Operation* p = product(op.operand(1))) return {p, op.operand(0), isSub, false};
  return {};
}

ComparePair matchComparePair(const Operation& op) {
  for (unsigned i = 0; i < 2; ++i) {
    const Operation* def = foldable(op.operand(i), op.block());
    if (def == nullptr || def->form() != ir::Form::Compare) continue;
    if (def->operand(0)->type().isBool() || asConst(op.operand(1 - i)) != nullptr) continue;
    return {const_cast<Operation*>(def), op.operand(1 - i)};
  }
  return {};
}

Amount matchAmount(const Value* amount, unsigned width) {
  Amount result{amount, std::nullopt, false};
  // Only the low bits of the amount count: six at most.
  for (int step = 0; step < 4; ++step) {
    const Operation* def = result.value->def();
    if (def == nullptr) break;
    if (def->opcode() == Opcode::Const) {
      result.constant = static_cast<unsigned>(def->constBits()) & (width - 1);
      result.below = true;
      break;
    }
    bool widens = (def->opcode() == Opcode::ZExt || def->opcode() == Opcode::SExt) &&
                  def->operand(0)->type().isInt();
    if (widens || def->opcode() == Opcode::Trunc) {
      // A trunc keeps at least eight bits of a wider value, which is more than any amount has.
      if (!def->resultType().isInt()) break;
      result.value = def->operand(0);
      continue;
    }
    if (def->opcode() == Opcode::And) {
      const Operation* mask = asConst(def->operand(1));
      if (mask == nullptr) break;
      uint64_t low = mask->constBits() & (width - 1);
      if (low == width - 1) {  // The shift masks anyway.
        result.value = def->operand(0);
        continue;
      }
      result.below = mask->constBits() < width;
    }
    break;
  }
  return result;
}

namespace {

constexpr int kFactDepth = 4;

bool nonNegative(const Value* v, int depth) {
  const Operation* def = v->def();
  if (def == nullptr || depth == 0) return false;
  auto sub = [&](unsigned i) { return nonNegative(def->operand(i), depth - 1); };
  switch (def->opcode()) {
    case Opcode::Const:
      return constValue(*def) >= 0;
    case Opcode::ThreadId:
    case Opcode::BlockId:
    case Opcode::BlockDim:
    case Opcode::GridDim:  // At most 2^31 − 1 (CUDA programming guide, "Compute Capabilities").
      return true;
    case Opcode::ZExt:
      return true;
    case Opcode::SExt:
      return def->operand(0)->type().isInt() && sub(0);
    case Opcode::And:
    case Opcode::SMax:
      return sub(0) || sub(1);
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::UDiv:
    case Opcode::SMin:
    case Opcode::UMax:
      // x / 0 is all ones, so udiv needs a divisor that is not zero too.
      if (def->opcode() == Opcode::UDiv && !knownNonZero(def->operand(1))) return false;
      return sub(0) && (def->opcode() == Opcode::UDiv || sub(1));
    case Opcode::UMin:
      return sub(0) || sub(1);
    case Opcode::SRem:
    case Opcode::URem:
      return sub(0);
    case Opcode::LShr: {
      const Operation* amount = asConst(def->operand(1));
      return sub(0) || (amount != nullptr && (amount->constBits() & (v->type().bits() - 1)) != 0);
    }
    case Opcode::Clz:
    case Opcode::Popcount:
      return true;
    case Opcode::Select:
      return sub(1) && sub(2);
    default:
      return false;
  }
}

bool nonZero(const Value* v, int depth) {
  const Operation* def = v->def();
  if (def == nullptr || depth == 0) return false;
  auto sub = [&](unsigned i) { return nonZero(def->operand(i), depth - 1); };
  switch (def->opcode()) {
    case Opcode::Const:
      return def->constBits() != 0;
    case Opcode::BlockDim:
    case Opcode::GridDim:
      return true;
    case Opcode::ZExt:
    case Opcode::SExt:
    case Opcode::Neg:
    case Opcode::Abs:
      return sub(0);
    case Opcode::Or:
    case Opcode::UMax:
      return sub(0) || sub(1);
    case Opcode::UMin:
    case Opcode::SMin:
      return sub(0) && sub(1);
    case Opcode::SMax: {
      // The greater of x and a positive constant.
      const Operation* least = asConst(def->operand(1));
      return (sub(0) && sub(1)) || (least != nullptr && constValue(*least) > 0);
    }
    case Opcode::Select:
      return sub(1) && sub(2);
    default:
      return false;
  }
}

}  // namespace

bool knownNonZero(const Value* v) { return nonZero(v, kFactDepth); }
bool knownNonNegative(const Value* v) { return nonNegative(v, kFactDepth); }

bool onlyComputedWith(const Value* v) {
  constexpr int kMaxUses = 8;
  int count = 0;
  for (const ir::Use* use = v->firstUse(); use != nullptr; use = use->next()) {
    if (++count > kMaxUses) return false;
    switch (use->owner()->opcode()) {
      case Opcode::FAdd:
      case Opcode::FSub:
      case Opcode::FMul:
      case Opcode::FDiv:
      case Opcode::Fma:
      case Opcode::FSqrt:
      case Opcode::FFloor:
      case Opcode::FCeil:
      case Opcode::FTrunc:
      case Opcode::FRound:
      case Opcode::FRoundEven:
      case Opcode::FMin:
      case Opcode::FMax:
      case Opcode::FMinNan:
      case Opcode::FMaxNan:
      case Opcode::FToSI:
      case Opcode::FToUI:
        continue;
      default:
        if (use->owner()->form() == ir::Form::Compare) continue;
        return false;
    }
  }
  return true;
}

std::optional<PtxFeature> conversionFeature(const Operation& op) {
  const ir::NarrowAttr narrow = op.narrow();
  const bool encodes = op.opcode() == Opcode::Encode;
  if (encodes && !narrow.saturate) return std::nullopt;
  switch (narrow.format) {
    case FloatFormat::E4M3:
    case FloatFormat::UE4M3:
      return PtxFeature::Fp8Cvt;
    case FloatFormat::E5M2:
      if (encodes) return PtxFeature::Fp8Cvt;
      return std::nullopt;
    case FloatFormat::E2M1:
    case FloatFormat::E2M3:
    case FloatFormat::E3M2:
    case FloatFormat::UE8M0:
      return PtxFeature::Fp6Fp4Cvt;
    default:
      return std::nullopt;
  }
}

}  // namespace mtlc::ptx
