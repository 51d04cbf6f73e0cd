// Constants: their bytes, and the values of those that OpSpecConstantOp computes of others.

#include <algorithm>
#include <cstring>

#include "mtlc/sim/program_builder.h"
#include "mtlc/sim/spirv/decoder.h"

namespace mtlc::sim::spirv {
namespace {

int64_t extended(uint64_t bits, unsigned width) {
  unsigned shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

// A scalar constant or the address of a variable.
bool scalarOf(const Binary& b, Id id, const Addresses& known, uint64_t& bits) {
  auto it = known.find(id);
  if (it == known.end()) return b.constantBits(id, bits);
  bits = it->second;
  return true;
}

// Where an access chain leads. The first operand of `chain` is the base.
bool chainAddress(const Binary& b, std::span<const uint32_t> chain, bool element,
                  const Addresses& known, uint64_t& out) {
  if (chain.empty() || !scalarOf(b, chain[0], known, out)) return false;
  Id type = b.typeOf(chain[0]).element;
  for (size_t i = 1; i < chain.size(); ++i) {
    uint64_t index;
    if (!scalarOf(b, chain[i], known, index)) return false;
    const Type& indexType = b.typeOf(chain[i]);
    if (indexType.kind != Kind::integer) return false;
    const Type& t = b.type(type);
    if (element && i == 1) {
      out += static_cast<uint64_t>(extended(index, indexType.bits)) *
             alignUp(t.size, t.align == 0 ? 1 : t.align);
    } else if (t.kind == Kind::structure) {
      if (index >= t.members.size()) return false;
      out += t.offsets[index];
      type = t.members[index];
    } else if (t.kind == Kind::array || t.kind == Kind::vector) {
      type = t.element;
      out += static_cast<uint64_t>(extended(index, indexType.bits)) * b.type(type).size;
    } else {
      return false;
    }
  }
  return true;
}

// Of scalars of `width` bits, the result cut to its own width by the caller.
bool evaluate(spv::Op op, unsigned width, const uint64_t v[3], uint64_t& out) {
  int64_t a = extended(v[0], width), b = extended(v[1], width);
  switch (op) {
    case spv::Op::OpSNegate:
      out = 0 - v[0];
      return true;
    case spv::Op::OpNot:
      out = ~v[0];
      return true;
    case spv::Op::OpIAdd:
      out = v[0] + v[1];
      return true;
    case spv::Op::OpISub:
      out = v[0] - v[1];
      return true;
    case spv::Op::OpIMul:
      out = v[0] * v[1];
      return true;
    case spv::Op::OpUDiv:
    case spv::Op::OpUMod:
      if (v[1] == 0) return false;
      out = op == spv::Op::OpUDiv ? v[0] / v[1] : v[0] % v[1];
      return true;
    case spv::Op::OpSDiv:
    case spv::Op::OpSRem:
      if (b == 0 || b == -1) return false;
      out = static_cast<uint64_t>(op == spv::Op::OpSDiv ? a / b : a % b);
      return true;
    case spv::Op::OpShiftLeftLogical:
      out = v[1] < width ? v[0] << v[1] : 0;
      return true;
    case spv::Op::OpShiftRightLogical:
      out = v[1] < width ? v[0] >> v[1] : 0;
      return true;
    case spv::Op::OpShiftRightArithmetic:
      out = static_cast<uint64_t>(a >> (v[1] < width ? v[1] : width - 1));
      return true;
    case spv::Op::OpBitwiseAnd:
    case spv::Op::OpLogicalAnd:
      out = v[0] & v[1];
      return true;
    case spv::Op::OpBitwiseOr:
    case spv::Op::OpLogicalOr:
      out = v[0] | v[1];
      return true;
    case spv::Op::OpBitwiseXor:
    case spv::Op::OpLogicalNotEqual:
      out = v[0] ^ v[1];
      return true;
    case spv::Op::OpLogicalNot:
      out = v[0] ^ 1;
      return true;
    case spv::Op::OpLogicalEqual:
    case spv::Op::OpIEqual:
      out = v[0] == v[1];
      return true;
    case spv::Op::OpINotEqual:
      out = v[0] != v[1];
      return true;
    case spv::Op::OpULessThan:
      out = v[0] < v[1];
      return true;
    case spv::Op::OpULessThanEqual:
      out = v[0] <= v[1];
      return true;
    case spv::Op::OpUGreaterThan:
      out = v[0] > v[1];
      return true;
    case spv::Op::OpUGreaterThanEqual:
      out = v[0] >= v[1];
      return true;
    case spv::Op::OpSLessThan:
      out = a < b;
      return true;
    case spv::Op::OpSLessThanEqual:
      out = a <= b;
      return true;
    case spv::Op::OpSGreaterThan:
      out = a > b;
      return true;
    case spv::Op::OpSGreaterThanEqual:
      out = a >= b;
      return true;
    case spv::Op::OpSelect:
      out = v[0] != 0 ? v[1] : v[2];
      return true;
    case spv::Op::OpSConvert:
      out = static_cast<uint64_t>(a);
      return true;
    case spv::Op::OpUConvert:
      out = v[0];
      return true;
    default:
      return false;
  }
}

bool computeConstant(const Binary& b, const Inst& in, const Addresses& known, uint64_t& out) {
  const Type& result = b.type(in.type);
  if (in.operands.size() < 2 || result.parts != 1) return false;
  auto op = static_cast<spv::Op>(in.operands[0]);
  std::span<const uint32_t> operands = in.operands.subspan(1);
  const Type& first = b.typeOf(operands[0]);
  switch (op) {
    case spv::Op::OpAccessChain:
    case spv::Op::OpInBoundsAccessChain:
      return chainAddress(b, operands, false, known, out);
    case spv::Op::OpPtrAccessChain:
    case spv::Op::OpInBoundsPtrAccessChain:
      return chainAddress(b, operands, true, known, out);
    case spv::Op::OpPtrCastToGeneric:
    case spv::Op::OpGenericCastToPtr:
      // Addresses of device memory are generic ones.
      return scalarOf(b, operands[0], known, out);
    case spv::Op::OpBitcast:
    case spv::Op::OpConvertPtrToU:
    case spv::Op::OpConvertUToPtr:
      return first.parts == 1 && first.bits == result.bits && scalarOf(b, operands[0], known, out);
    default:
      break;
  }
  uint64_t v[3] = {0, 0, 0};
  unsigned width = first.bits;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i >= 3 || !scalarOf(b, operands[i], known, v[i])) return false;
  }
  if (width == 0 || width > 64 || !evaluate(op, width, v, out)) return false;
  if (result.bits < 64) out &= (uint64_t{1} << result.bits) - 1;
  return true;
}

}  // namespace

void computeConstants(const Binary& b, Addresses& known) {
  for (const Inst& in : b.insts()) {
    uint64_t bits;
    if (in.op == spv::Op::OpFunction) return;
    if (in.op == spv::Op::OpSpecConstantOp && computeConstant(b, in, known, bits)) {
      known.emplace(in.result, bits);
    }
  }
}

bool constantBytes(const Binary& b, Id constant, const Addresses& known, uint8_t* to) {
  const Inst& in = b.def(constant);
  const Type& t = b.type(in.type);
  switch (in.op) {
    case spv::Op::OpConstantNull:
    case spv::Op::OpUndef:
      return true;  // Zeros are there.
    case spv::Op::OpConstantComposite:
    case spv::Op::OpSpecConstantComposite: {
      uint64_t offset = 0;
      for (size_t i = 0; i < in.operands.size(); ++i) {
        if (t.kind == Kind::structure) {
          if (i >= t.offsets.size()) return false;
          offset = t.offsets[i];
        }
        if (!constantBytes(b, in.operands[i], known, to + offset)) return false;
        if (t.kind != Kind::structure) offset += b.type(t.element).size;
      }
      return true;
    }
    default: {
      uint64_t bits;
      if (t.parts != 1 || !scalarOf(b, constant, known, bits)) return false;
      std::memcpy(to, &bits, std::min<uint64_t>(t.size, 8));
      return true;
    }
  }
}

}  // namespace mtlc::sim::spirv
