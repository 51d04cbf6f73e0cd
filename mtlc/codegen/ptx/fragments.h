// Which element of a matrix a lane holds in which register, for mma (fragments.def). The places of
// wmma are not specified: nothing here is about it.

#ifndef MTLC_CODEGEN_PTX_FRAGMENTS_H_
#define MTLC_CODEGEN_PTX_FRAGMENTS_H_

#include <cstdint>
#include <string_view>

namespace mtlc::ptx {

enum class Fragments : uint8_t {
#define FRAGMENTS(Enum, name, m, n, ka, kb, bits) Enum,
#include "mtlc/codegen/ptx/fragments.def"
  None,  // Of forms that keep their fragments to themselves.
};
inline constexpr int kFragmentsCount = static_cast<int>(Fragments::None);

struct FragmentShape {
  std::string_view name;
  uint32_t m, n, ka, kb;
  uint32_t bits;  // Of the container of an A or B element.

  // Elements of A and B in a register, which has 32 bits, or 64 for f64.
  constexpr uint32_t perRegister() const { return bits >= 32 ? 1 : 32 / bits; }
  constexpr uint32_t aRegisters() const { return m * ka / 32 / perRegister(); }
  constexpr uint32_t bRegisters() const { return n * kb / 32 / perRegister(); }
  constexpr uint32_t accElements() const { return m * n / 32; }
};
const FragmentShape& fragmentShape(Fragments fragments);

// A coordinate as lanes compute it: group · (lane / 4) + inGroup · (lane % 4) + constant.
struct LaneCoordinate {
  uint32_t group = 0, inGroup = 0, constant = 0;
  constexpr uint32_t of(uint32_t lane) const {
    return group * (lane / 4) + inGroup * (lane % 4) + constant;
  }
};
struct ElementPlace {
  LaneCoordinate row, col;
};

// The place of element `slot` (0 the least significant) of register `r` of A [row, k], of B
// [k, column], and of element i of the accumulator.
ElementPlace placeInA(const FragmentShape& shape, uint32_t r, uint32_t slot);
ElementPlace placeInB(const FragmentShape& shape, uint32_t r, uint32_t slot);
ElementPlace placeInAcc(uint32_t i);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_FRAGMENTS_H_
