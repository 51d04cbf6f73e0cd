// What each form of the instruction table should compute, written from the PTX ISA alone: integers
// in 128-bit host arithmetic, floating point in exact arithmetic (exact.h), approximations as an
// interval of the error the ISA states around a long double result.

#ifndef MTLC_SIM_ORACLE_ORACLE_H_
#define MTLC_SIM_ORACLE_ORACLE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/oracle/exact.h"

namespace mtlc::sim::oracle {

struct Operands {
  std::array<uint64_t, 6> src{};  // Bits in the width of the operand type; a predicate is 0 or 1.
  uint64_t integer = 0;           // The constant of an `i` operand.
  bool carryIn = false;
  // Of a video instruction: the selector of each operand without the dot, and a minus before it.
  std::array<std::string, 4> selectors{};
  std::array<bool, 4> minus{};
};

struct Want {
  enum Kind : uint8_t {
    exact,
    oneOf,     // One of the `choices`.
    quietNan,  // Any quiet NaN of the destination type.
    within,    // Each element within `error` of `reference`.
    skip,      // The ISA leaves the result open.
  } kind = exact;
  uint64_t bits = 0;
  std::array<uint64_t, 4> choices{};
  uint8_t choiceCount = 0;
  // For `within`: elements from the low bits up, in `format`.
  BinaryFormat format = kBinary32;
  uint8_t elements = 1;
  std::array<long double, 2> reference{};
  std::array<long double, 2> error{};
  std::array<bool, 2> wantNan{};
  bool lowHalfZero = false;  // The low 32 bits of a 64-bit result are zero.

  bool predicate = false;  // Of the second destination.
  bool carry = false;      // CC.CF afterwards.
};

using Oracle = std::function<Want(const Operands&)>;

// Empty when there is none for the form.
Oracle oracleOf(const Form& form);

// The parts of oracleOf, by chapter of the ISA.
Oracle integerOracle(const Form& form);
Oracle bitOracle(const Form& form);
Oracle floatOracle(const Form& form);
Oracle compareOracle(const Form& form);
Oracle convertOracle(const Form& form);
Oracle narrowOracle(const Form& form);
Oracle approxOracle(const Form& form);
Oracle videoOracle(const Form& form);

// Helpers of the parts.
inline bool isSignedType(Type t) { return typeClass(t) == TypeClass::signedInt; }
// The value of an operand of integer type `t`.
inline I128 integerValue(Type t, uint64_t bits) {
  unsigned width = typeBits(t);
  U128 v = width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
  if (isSignedType(t) && (v >> (width - 1) & 1) != 0) {
    return static_cast<I128>(v) - (I128{1} << width);
  }
  return static_cast<I128>(v);
}
inline uint64_t lowBits(I128 v, unsigned width) {
  return width == 64 ? static_cast<uint64_t>(v)
                     : static_cast<uint64_t>(v) & ((uint64_t{1} << width) - 1);
}
inline I128 leastOf(Type t) { return isSignedType(t) ? -(I128{1} << (typeBits(t) - 1)) : 0; }
inline I128 greatestOf(Type t) {
  return isSignedType(t) ? (I128{1} << (typeBits(t) - 1)) - 1 : (I128{1} << typeBits(t)) - 1;
}
inline Want exactly(uint64_t bits) {
  Want w;
  w.bits = bits;
  return w;
}
Rounding roundingOf(const Form& form);
// The format of an element of `t`, or nullptr when it is no floating-point type, or one of those
// that narrow.cc lists the values of.
const BinaryFormat* formatOf(Type t);
unsigned elementsOf(Type t);

// Subnormals to zero with the sign kept, when `on`.
inline uint64_t flushed(uint64_t bits, const BinaryFormat& f, bool on) {
  return on && isSubnormal(bits, f) ? bits & f.signBit() : bits;
}

}  // namespace mtlc::sim::oracle

#endif  // MTLC_SIM_ORACLE_ORACLE_H_
