#include "mtlc/sim/checkers/spread.h"

#include <string_view>

namespace mtlc::sim {
namespace {

// A carry goes upwards.
uint64_t upwards(uint64_t s) { return s | (0 - s); }

uint64_t lowest(unsigned width) { return (uint64_t{1} << width) - 1; }

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The width of elements that a form computes apart from each other; 0: it does not. A form of one
// f16 or bf16 may be of the same row as that of two: its register ends with the first.
unsigned elementWidth(const InstrRow& row) {
  switch (row.family) {
    case Family::fltAdd:
    case Family::fltSub:
    case Family::fltMul:
    case Family::fltFma:
    case Family::fltNeg:
    case Family::fltAbs:
    case Family::fltMin:
    case Family::fltMax:
    case Family::fltEx2:
    case Family::fltTanh:
    case Family::intAdd:
    case Family::intMin:
    case Family::intMax:
      break;
    default:
      return 0;
  }
  if (has(row.pattern, "f32x2")) return 32;
  return has(row.pattern, "16x2") || has(row.pattern, "$half") || has(row.pattern, "$bhalf") ? 16
                                                                                             : 0;
}

// The width of an element of a type of two; `types` has types of one width.
unsigned pairWidth(std::string_view types) {
  return has(types, "e2m1x2") ? 4 : has(types, "f16x2") ? 16 : 8;
}

uint64_t pair(bool upper, bool lower, unsigned width) {
  return (upper ? lowest(width) << width : 0) | (lower ? lowest(width) : 0);
}

}  // namespace

uint64_t spreadBits(const InstrRow& row, const std::array<uint64_t, 4>& s,
                    const std::array<uint64_t, 4>& v) {
  uint64_t any = s[0] | s[1] | s[2] | s[3];
  if (any == 0) return 0;
  if (unsigned width = elementWidth(row)) {
    return pair((any >> width & lowest(width)) != 0, (any & lowest(width)) != 0, width);
  }
  switch (row.family) {
    case Family::logicAnd:
      return (s[0] & s[1]) | (s[0] & v[1]) | (s[1] & v[0]);
    case Family::logicOr:
      return (s[0] & s[1]) | (s[0] & ~v[1]) | (s[1] & ~v[0]);
    case Family::logicXor:
    case Family::logicNot:
    case Family::lop3:
      return s[0] | s[1] | s[2];
    case Family::intAdd:
    case Family::intSub:
    case Family::intNeg:
      return upwards(any);
    case Family::intMul:
    case Family::intMad:
      // Low halves and wide products: a bit depends on those below it only.
      return has(row.pattern, ".(hi|lo)") ? ~uint64_t{0} : upwards(any);
    case Family::cvtPair:
      // The first source becomes the upper element.
      return pair(s[0] != 0, s[1] != 0, pairWidth(row.pattern));
    case Family::cvtNarrow: {
      size_t dot = row.pattern.rfind('.');
      unsigned from = pairWidth(row.pattern.substr(dot));
      return pair((s[0] >> from & lowest(from)) != 0, (s[0] & lowest(from)) != 0,
                  pairWidth(row.pattern.substr(0, dot)));
    }
    default:
      return ~uint64_t{0};
  }
}

}  // namespace mtlc::sim
