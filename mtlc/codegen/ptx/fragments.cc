#include "mtlc/codegen/ptx/fragments.h"

namespace mtlc::ptx {

namespace {

constexpr FragmentShape kShapes[] = {
#define FRAGMENTS(Enum, name, m, n, ka, kb, bits) {name, m, n, ka, kb, bits},
#include "mtlc/codegen/ptx/fragments.def"
};

// Along K the four lanes of a group hold p elements each, and a register further on the next ones.
LaneCoordinate alongK(const FragmentShape& shape, uint32_t step, uint32_t slot) {
  const uint32_t p = shape.perRegister();
  return {0, p, slot + 4 * p * step};
}

}  // namespace

const FragmentShape& fragmentShape(Fragments fragments) {
  return kShapes[static_cast<int>(fragments)];
}

ElementPlace placeInA(const FragmentShape& shape, uint32_t r, uint32_t slot) {
  if (shape.m == 8) return {{1, 0, 0}, alongK(shape, r, slot)};
  return {{1, 0, 8 * (r % 2)}, alongK(shape, r / 2, slot)};
}

ElementPlace placeInB(const FragmentShape& shape, uint32_t r, uint32_t slot) {
  return {alongK(shape, r, slot), {1, 0, 0}};
}

ElementPlace placeInAcc(uint32_t i) { return {{1, 0, 8 * (i / 2)}, {0, 2, i % 2}}; }

}  // namespace mtlc::ptx
