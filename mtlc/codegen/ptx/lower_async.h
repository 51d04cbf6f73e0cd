// What cp.async.bulk.tensor can do of tensor.transfer.

#ifndef MTLC_CODEGEN_PTX_LOWER_ASYNC_H_
#define MTLC_CODEGEN_PTX_LOWER_ASYNC_H_

#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

// True if a CUtensorMap can describe the transfer, as far as its descriptor tells: a view is given;
// elements of whole bytes; steps of 1 in dimension 0 and for stores, else of at most 8; a box of
// tile · step elements of at most 256 in each dimension; rows of the tile that are multiples of
// 16 bytes; constant strides that are such multiples, below 2^40; constant extents of at most 2^32
// (CUDA Driver API, cuTensorMapEncodeTiled).
bool isTensorCopy(const ir::Operation& transfer);

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_LOWER_ASYNC_H_
