#include "mtlc/sim/bulk_reduce.h"

#include <cmath>
#include <cstring>

#include "mtlc/support/float_format.h"

namespace mtlc::sim {
namespace {

template <typename T, typename Op>
void eachElement(uint8_t* to, const uint8_t* from, uint32_t bytes, Op op) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, from + at, sizeof value);
    T* place = reinterpret_cast<T*>(to + at);
    T old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &old, op(old, value), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
  }
}

template <typename U, typename S>
void integers(Mod op, bool isSigned, uint8_t* to, const uint8_t* from, uint32_t bytes) {
  eachElement<U>(to, from, bytes, [&](U a, U b) -> U {
    bool less = isSigned ? static_cast<S>(a) < static_cast<S>(b) : a < b;
    switch (op) {
      case Mod::add:
        return a + b;
      case Mod::minMod:
        return less ? a : b;
      case Mod::maxMod:
        return less ? b : a;
      case Mod::andMod:
        return a & b;
      case Mod::orMod:
        return a | b;
      case Mod::xorMod:
        return a ^ b;
      case Mod::inc:
        return a >= b ? 0 : a + 1;
      case Mod::dec:
        return a == 0 || a > b ? b : a - 1;
      default:
        return a;
    }
  });
}

// f16 and bf16: sums are exact in double; of a number and a NaN, min and max take the number.
void halves(Mod op, FloatFormat format, uint8_t* to, const uint8_t* from, uint32_t bytes) {
  constexpr uint16_t kNan = 0x7fff;
  eachElement<uint16_t>(to, from, bytes, [&](uint16_t a, uint16_t b) -> uint16_t {
    double x = decodeFloat(format, a), y = decodeFloat(format, b);
    if (op == Mod::add) {
      double sum = x + y;
      return std::isnan(sum) ? kNan : static_cast<uint16_t>(encodeFloat(format, sum));
    }
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? (std::isnan(y) ? kNan : b) : a;
    // -0 is less than +0.
    bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    return less == (op == Mod::minMod) ? a : b;
  });
}

}  // namespace

void reduceBytes(Mod op, Type type, uint8_t* to, const uint8_t* from, uint32_t bytes) {
  switch (type) {
    case Mod::f16:
      return halves(op, FloatFormat::F16, to, from, bytes);
    case Mod::bf16:
      return halves(op, FloatFormat::BF16, to, from, bytes);
    case Mod::f32:
      return eachElement<uint32_t>(to, from, bytes, [](uint32_t a, uint32_t b) {
        float sum = f32FromBits(a) + f32FromBits(b);
        return std::isnan(sum) ? 0x7fffffffu : f32Bits(sum);
      });
    case Mod::f64:
      return eachElement<uint64_t>(to, from, bytes, [](uint64_t a, uint64_t b) {
        return f64Bits(f64FromBits(a) + f64FromBits(b));
      });
    default:
      break;
  }
  bool isSigned = typeClass(type) == TypeClass::signedInt;
  if (typeBits(type) == 64) return integers<uint64_t, int64_t>(op, isSigned, to, from, bytes);
  integers<uint32_t, int32_t>(op, isSigned, to, from, bytes);
}

}  // namespace mtlc::sim
