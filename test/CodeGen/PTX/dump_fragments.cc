// The emitter's fragment tables as text, for fragments_test.py: a line for each shape, then one for
// each lane of A, B and C.

#include <cstdio>
#include <string>

#include "mtlc/codegen/ptx/fragments.h"

namespace {

using namespace mtlc::ptx;

void print(const ElementPlace& place, uint32_t lane) {
  std::printf(" %u,%u", place.row.of(lane), place.col.of(lane));
}

}  // namespace

int main() {
  for (int f = 0; f < kFragmentsCount; ++f) {
    const FragmentShape& shape = fragmentShape(static_cast<Fragments>(f));
    std::printf("shape %s %u %u %u %u %u\n", std::string(shape.name).c_str(), shape.m, shape.n,
                shape.ka, shape.kb, shape.bits);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      std::printf("A %u", lane);
      for (uint32_t r = 0; r < shape.aRegisters(); ++r) {
        for (uint32_t s = 0; s < shape.perRegister(); ++s) print(placeInA(shape, r, s), lane);
      }
      std::printf("\nB %u", lane);
      for (uint32_t r = 0; r < shape.bRegisters(); ++r) {
        for (uint32_t s = 0; s < shape.perRegister(); ++s) print(placeInB(shape, r, s), lane);
      }
      std::printf("\nC %u", lane);
      for (uint32_t i = 0; i < shape.accElements(); ++i) print(placeInAcc(i), lane);
      std::printf("\n");
    }
  }
}
