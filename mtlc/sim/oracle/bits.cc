// Bit counting and fields, logic, shifts, permutation (PTX ISA 9.7.1, 9.7.8, 9.7.9).

#include <algorithm>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

bool bitAt(uint64_t v, unsigned i) { return (v >> i & 1) != 0; }

Oracle fieldOracle(const Form& f) {
  Type t = f.types[0];
  unsigned width = typeBits(t), msb = width - 1;
  if (f.row->opcode == "bfe") {
    bool isSigned = isSignedType(t);
    return [=](const Operands& o) {
      unsigned pos = o.src[1] & 0xff, len = o.src[2] & 0xff;
      bool fill = isSigned && len != 0 && bitAt(o.src[0], std::min(pos + len - 1, msb));
      uint64_t d = 0;
      for (unsigned i = 0; i <= msb; ++i) {
        bool bit = i < len && pos + i <= msb ? bitAt(o.src[0], pos + i) : fill;
        d |= static_cast<uint64_t>(bit) << i;
      }
      return exactly(d);
    };
  }
  return [=](const Operands& o) {  // bfi
    unsigned pos = o.src[2] & 0xff, len = o.src[3] & 0xff;
    uint64_t d = o.src[1];
    for (unsigned i = 0; i < len && pos + i <= msb; ++i) {
      d &= ~(uint64_t{1} << (pos + i));
      d |= static_cast<uint64_t>(bitAt(o.src[0], i)) << (pos + i);
    }
    return exactly(d);
  };
}

Want countBits(std::string_view op, bool shiftAmount, Type t, uint64_t a) {
  unsigned width = typeBits(t);
  if (op == "popc") {
    unsigned n = 0;
    for (unsigned i = 0; i < width; ++i) n += bitAt(a, i) ? 1 : 0;
    return exactly(n);
  }
  if (op == "clz") {
    unsigned n = 0;
    while (n < width && !bitAt(a, width - 1 - n)) ++n;
    return exactly(n);
  }
  if (op == "brev") {
    uint64_t d = 0;
    for (unsigned i = 0; i < width; ++i) {
      d |= static_cast<uint64_t>(bitAt(a, i)) << (width - 1 - i);
    }
    return exactly(d);
  }
  // bfind: the highest bit that differs from the sign.
  bool sign = isSignedType(t) && bitAt(a, width - 1);
  for (unsigned i = width; i-- > 0;) {
    if (bitAt(a, i) != sign) return exactly(shiftAmount ? width - 1 - i : i);
  }
  return exactly(0xffffffffu);
}

// `fns`: the |offset|-th set bit from `base`, upwards or downwards.
Want findNthSet(uint32_t mask, uint64_t base, int64_t offset) {
  Want w = exactly(0xffffffffu);
  if (base > 31) {
    w.kind = Want::skip;  // Out of the range of the operand.
    return w;
  }
  if (offset == 0) {
    if (bitAt(mask, static_cast<unsigned>(base))) w.bits = base;
    return w;
  }
  int64_t left = offset > 0 ? offset : -offset;
  for (int pos = static_cast<int>(base); pos >= 0 && pos<32; pos += offset> 0 ? 1 : -1) {
    if (bitAt(mask, static_cast<unsigned>(pos)) && --left == 0) {
      w.bits = static_cast<uint64_t>(pos);
      break;
    }
  }
  return w;
}

Oracle permuteOracle(const Form& f) {
  Mod mode = f.firstOf({Mod::f4e, Mod::b4e, Mod::rc8, Mod::ecl, Mod::ecr, Mod::rc16});
  return [=](const Operands& o) {
    uint64_t pool = (o.src[1] & 0xffffffffu) << 32 | (o.src[0] & 0xffffffffu);
    uint32_t d = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned s = o.src[2] & 3, pick;
      bool spread = false;
      switch (mode) {
        case Mod::f4e:
          pick = s + i;
          break;
        case Mod::b4e:
          pick = (s + 8 - i) & 7;
          break;
        case Mod::rc8:
          pick = s;
          break;
        case Mod::ecl:
          pick = std::max(s, i);
          break;
        case Mod::ecr:
          pick = std::min(s, i);
          break;
        case Mod::rc16:
          pick = (s & 1) * 2 + (i & 1);
          break;
        default:
          pick = o.src[2] >> (4 * i) & 7;
          spread = bitAt(o.src[2], 4 * i + 3);
      }
      uint32_t byte = pool >> (8 * pick) & 0xff;
      if (spread) byte = byte >= 0x80 ? 0xff : 0;
      d |= byte << (8 * i);
    }
    return exactly(d);
  };
}

Want shifted(std::string_view op, Type t, uint64_t a, uint64_t amount) {
  unsigned width = typeBits(t);
  unsigned n = static_cast<unsigned>(std::min<uint64_t>(amount, width));
  if (op == "shl") return exactly(lowBits(static_cast<I128>(static_cast<U128>(a) << n), width));
  return exactly(lowBits(integerValue(t, a) >> n, width));  // Arithmetic for signed types.
}

}  // namespace

Oracle bitOracle(const Form& f) {
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  bool wrap = f.has(Mod::wrap);
  if (op == "bfe" || op == "bfi") return fieldOracle(f);
  if (op == "popc" || op == "clz" || op == "brev" || op == "bfind") {
    bool amount = f.has(Mod::shiftamt);
    return [=](const Operands& o) { return countBits(op, amount, t, o.src[0]); };
  }
  if (op == "fns") {
    return [](const Operands& o) {
      return findNthSet(static_cast<uint32_t>(o.src[0]), o.src[1], static_cast<int32_t>(o.src[2]));
    };
  }
  if (op == "szext") {
    return [=](const Operands& o) {
      uint64_t n = wrap ? o.src[1] & 31 : o.src[1];
      if (n >= 32) return exactly(o.src[0]);
      if (n == 0) return exactly(0);
      I128 v = static_cast<I128>(o.src[0] & ((uint64_t{1} << n) - 1));
      if (isSignedType(t) && bitAt(o.src[0], static_cast<unsigned>(n - 1))) v -= I128{1} << n;
      return exactly(lowBits(v, 32));
    };
  }
  if (op == "bmsk") {
    return [=](const Operands& o) {
      uint64_t start = wrap ? o.src[0] & 31 : o.src[0];
      uint64_t count = wrap ? o.src[1] & 31 : o.src[1];
      uint64_t d = 0;
      for (uint64_t i = start; i < 32 && i - start < count; ++i) d |= uint64_t{1} << i;
      return exactly(d);
    };
  }
  if (op == "prmt") return permuteOracle(f);
  if (op == "and" || op == "or" || op == "xor") {
    return [=](const Operands& o) {
      uint64_t a = o.src[0], b = o.src[1];
      return exactly(op == "and" ? a & b : op == "or" ? a | b : a ^ b);
    };
  }
  if (op == "not") {
    return [=](const Operands& o) {
      return exactly(t == Mod::pred ? 1 - o.src[0]
                                    : lowBits(-1 - static_cast<I128>(o.src[0]), typeBits(t)));
    };
  }
  if (op == "cnot") return [](const Operands& o) { return exactly(o.src[0] == 0 ? 1 : 0); };
  if (op == "lop3") {
    bool isOr = f.has(Mod::orMod), isAnd = f.has(Mod::andMod);
    return [=](const Operands& o) {
      uint64_t d = 0;
      for (unsigned i = 0; i < 32; ++i) {
        unsigned row = (bitAt(o.src[0], i) ? 4u : 0u) + (bitAt(o.src[1], i) ? 2u : 0u) +
                       (bitAt(o.src[2], i) ? 1u : 0u);
        d |= static_cast<uint64_t>(bitAt(o.integer, row)) << i;
      }
      Want w = exactly(d);
      if (isOr) w.predicate = d != 0 || o.src[3] != 0;
      if (isAnd) w.predicate = d != 0 && o.src[3] != 0;
      return w;
    };
  }
  if (op == "shf") {
    bool left = f.has(Mod::l);
    return [=](const Operands& o) {
      unsigned n = static_cast<unsigned>(wrap ? o.src[2] & 31 : std::min<uint64_t>(o.src[2], 32));
      U128 pair = static_cast<U128>(o.src[1]) << 32 | o.src[0];
      return exactly(lowBits(static_cast<I128>(left ? (pair << n) >> 32 : pair >> n), 32));
    };
  }
  if (op == "shl" || op == "shr") {
    return [=](const Operands& o) { return shifted(op, t, o.src[0], o.src[1]); };
  }
  if (op == "selp") {
    return [](const Operands& o) { return exactly(o.src[2] != 0 ? o.src[0] : o.src[1]); };
  }
  return {};
}

}  // namespace mtlc::sim::oracle
