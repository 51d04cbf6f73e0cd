// From a tensor copy to the pieces it moves (PTX ISA 5.5 "Tensors", 9.7.9.27).

#ifndef MTLC_SIM_TENSOR_COPY_H_
#define MTLC_SIM_TENSOR_COPY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "mtlc/sim/observer.h"
#include "mtlc/sim/program.h"
#include "mtlc/sim/tensor_map.h"

namespace mtlc::sim {

struct TensorSide {
  Warp& w;
  const Instr& in;
  unsigned lane;
  bool toGlobal;

  // Out.
  TensorMap map{};
  std::array<int32_t, kMaxTensorRank> at{};  // Coordinates of the box.
  uint32_t shared = 0;                       // Its place in shared memory.
  uint32_t sharedBytes = 0;
  Type type = Mod::none;  // Of the elements of a reduction.
  uint8_t* sharedHost = nullptr;
  uint64_t mapAddress = 0;  // Of the map, in global memory; else 0.

  // Reads the tensor map and the registers. False when a fault was reported.
  bool locate(const AsyncSite& site);
  // The pieces in the order of the box. Elements outside the tensor are filled, or not written.
  bool pieces(std::vector<Piece>& out);
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_TENSOR_COPY_H_
