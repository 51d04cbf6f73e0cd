// Integer arithmetic, extended precision (PTX ISA 9.7.1, 9.7.2).

#include <algorithm>
#include <bit>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

I128 saturated(I128 v, Type t) { return std::clamp(v, leastOf(t), greatestOf(t)); }

// An operation on both 16-bit halves.
template <typename Op>
Oracle halves(Type element, Op op) {
  return [=](const Operands& o) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 2; ++i) {
      I128 a = integerValue(element, o.src[0] >> (16 * i));
      I128 b = integerValue(element, o.src[1] >> (16 * i));
      r |= lowBits(op(a, b), 16) << (16 * i);
    }
    return exactly(r);
  };
}

template <typename Op>
Oracle binary(const Form& f, Op op) {
  Type t = f.types[0];
  if (t == Mod::u16x2) return halves(Mod::u16, op);
  if (t == Mod::s16x2) return halves(Mod::s16, op);
  return [=](const Operands& o) {
    return exactly(lowBits(op(integerValue(t, o.src[0]), integerValue(t, o.src[1])), typeBits(t)));
  };
}

// A product of 64-bit unsigned values does not fit the signed wide type.
I128 productOf(Type t, uint64_t a, uint64_t b) {
  if (t == Mod::u64) return static_cast<I128>(static_cast<U128>(a) * b);
  return integerValue(t, a) * integerValue(t, b);
}
I128 highOrLow(const Form& f, Type t, uint64_t a, uint64_t b) {
  I128 p = productOf(t, a, b);
  if (!f.has(Mod::hi)) return p;
  if (t == Mod::u64) return static_cast<I128>(static_cast<U128>(p) >> 64);
  return p >> typeBits(t);
}

I128 product24(const Form& f, uint64_t a, uint64_t b) {
  auto part = [&](uint64_t v) -> I128 {
    I128 low = static_cast<I128>(v & 0xffffff);
    return f.types[0] == Mod::s32 && (v & 0x800000) != 0 ? low - 0x1000000 : low;
  };
  I128 p = part(a) * part(b);
  return f.has(Mod::hi) ? p >> 16 : p;
}

Oracle carryOracle(const Form& f) {
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  unsigned width = typeBits(t);
  bool takes = op == "addc" || op == "subc" || op == "madc";
  bool gives = f.has(Mod::cc);
  bool subtracts = op == "sub" || op == "subc";
  bool multiplies = op == "mad" || op == "madc";
  bool high = f.has(Mod::hi);
  return [=](const Operands& o) {
    I128 in = takes && o.carryIn ? 1 : 0;
    U128 mask = (U128{1} << width) - 1;
    I128 r;
    if (multiplies) {
      U128 p = static_cast<U128>(productOf(t, o.src[0], o.src[1]));
      U128 part = (high ? p >> width : p) & mask;
      r = static_cast<I128>(part + (o.src[2] & mask)) + in;
    } else {
      I128 a = static_cast<I128>(o.src[0] & mask), b = static_cast<I128>(o.src[1] & mask);
      r = subtracts ? a - b - in : a + b + in;
    }
    Want w = exactly(lowBits(r, width));
    bool out = subtracts ? r < 0 : static_cast<U128>(r) >> width != 0;
    w.carry = gives ? out : o.carryIn;
    return w;
  };
}

Oracle dotOracle(const Form& f) {
  bool four = f.row->opcode == "dp4a";
  unsigned first = f.has(Mod::hi) ? 2 : 0;
  Type ta = f.types[0], tb = f.types[1];
  Type ea =
      four ? (isSignedType(ta) ? Mod::s8 : Mod::u8) : (isSignedType(ta) ? Mod::s16 : Mod::u16);
  Type eb = isSignedType(tb) ? Mod::s8 : Mod::u8;
  return [=](const Operands& o) {
    I128 sum = integerValue(Mod::s32, o.src[2]);
    for (unsigned i = 0; i < (four ? 4u : 2u); ++i) {
      sum += integerValue(ea, o.src[0] >> (typeBits(ea) * i)) *
             integerValue(eb, o.src[1] >> (8 * (i + first)));
    }
    return exactly(lowBits(sum, 32));
  };
}

}  // namespace

Oracle integerOracle(const Form& f) {
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  if (!isType(t)) return {};
  TypeClass cls = typeClass(t);
  bool integer = cls == TypeClass::signedInt || cls == TypeClass::unsignedInt || t == Mod::u16x2 ||
                 t == Mod::s16x2;
  if (!integer) return {};
  unsigned width = typeBits(t);
  bool sat = f.has(Mod::sat), relu = f.has(Mod::relu);
  if (f.has(Mod::cc) || op == "addc" || op == "subc" || op == "madc") return carryOracle(f);
  if (op == "add") {
    return binary(f, [=](I128 a, I128 b) { return sat ? saturated(a + b, t) : a + b; });
  }
  if (op == "sub") {
    return binary(f, [=](I128 a, I128 b) { return sat ? saturated(a - b, t) : a - b; });
  }
  if (op == "min") {
    return binary(f, [=](I128 a, I128 b) {
      return relu ? std::max<I128>(std::min(a, b), 0) : std::min(a, b);
    });
  }
  if (op == "max") {
    return binary(f, [=](I128 a, I128 b) {
      return relu ? std::max<I128>(std::max(a, b), 0) : std::max(a, b);
    });
  }
  if (op == "mul") {
    unsigned out = f.has(Mod::wide) ? 2 * width : width;
    return [=](const Operands& o) {
      return exactly(lowBits(highOrLow(f, t, o.src[0], o.src[1]), out));
    };
  }
  if (op == "mad") {
    unsigned out = f.has(Mod::wide) ? 2 * width : width;
    return [=](const Operands& o) {
      I128 p = highOrLow(f, t, o.src[0], o.src[1]);
      if (sat) return exactly(lowBits(saturated(p + integerValue(t, o.src[2]), t), out));
      // Addition modulo 2^out.
      return exactly(lowBits(static_cast<I128>(static_cast<U128>(p) + o.src[2]), out));
    };
  }
  if (op == "mul24") {
    return
        [=](const Operands& o) { return exactly(lowBits(product24(f, o.src[0], o.src[1]), 32)); };
  }
  if (op == "mad24") {
    return [=](const Operands& o) {
      I128 p = product24(f, o.src[0], o.src[1]) + integerValue(t, o.src[2]);
      return exactly(lowBits(sat ? saturated(p, t) : p, 32));
    };
  }
  if (op == "sad") {
    return [=](const Operands& o) {
      I128 d = integerValue(t, o.src[0]) - integerValue(t, o.src[1]);
      return exactly(lowBits((d < 0 ? -d : d) + integerValue(t, o.src[2]), width));
    };
  }
  if (op == "div" || op == "rem") {
    bool quotient = op == "div";
    return [=](const Operands& o) {
      I128 a = integerValue(t, o.src[0]), b = integerValue(t, o.src[1]);
      Want w;
      if (b == 0) {
        w.kind = Want::skip;  // Unspecified.
        return w;
      }
      return exactly(lowBits(quotient ? a / b : a % b, width));
    };
  }
  if (op == "abs" || op == "neg") {
    bool always = op == "neg";
    return [=](const Operands& o) {
      I128 a = integerValue(t, o.src[0]);
      return exactly(lowBits(always || a < 0 ? -a : a, width));
    };
  }
  if (op == "dp4a" || op == "dp2a") return dotOracle(f);
  return {};
}

}  // namespace mtlc::sim::oracle
