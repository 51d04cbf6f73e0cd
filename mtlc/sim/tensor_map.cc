#include "mtlc/sim/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace mtlc::sim {
namespace {

constexpr uint64_t kMagic = 0x70616d726f736e74;  // "tnsormap"

struct Encoded {
  uint64_t magic;
  uint64_t address;
  uint64_t strides[kMaxTensorRank - 1];
  uint32_t dims[kMaxTensorRank];  // Less one.
  uint16_t box[kMaxTensorRank];
  uint8_t elementStrides[kMaxTensorRank];
  uint8_t type;
  uint8_t rank;
  uint8_t swizzle;
  uint8_t nanFill;
  uint8_t interleave;
  uint8_t swizzleAtomicity;
  uint8_t unused[kTensorMapBytes - 89];
};
static_assert(sizeof(Encoded) == kTensorMapBytes);

std::string at(const char* what, unsigned i, const std::string& problem) {
  return std::string(what) + " of dimension " + std::to_string(i) + " " + problem;
}

}  // namespace

unsigned tensorTypeBytes(TensorType type) {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
    default:
      return 4;
  }
}

bool isFloatTensor(TensorType type) { return type >= TensorType::f16; }

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = tensorTypeBytes(type);
  for (unsigned i = 0; i < rank; ++i) bytes *= boxElements(i);
  return bytes;
}

std::string checkTensorMap(const TensorMap& m) {
  if (m.type > TensorType::tf32Ftz) return "there is no such element type";
  if (m.rank == 0 || m.rank > kMaxTensorRank) return "the rank is 1 to 5";
  if (m.address % 16 != 0) return "the address is a multiple of 16";
  uint64_t elements = 1;
  for (unsigned i = 0; i < m.rank; ++i) {
    if (m.dims[i] == 0 || m.dims[i] > uint64_t{1} << 32) {
      return at("the size", i, "is 1 to 2^32");
    }
    if (i != 0 && (m.strides[i] % 16 != 0 || m.strides[i] >= uint64_t{1} << 40)) {
      return at("the stride", i, "is a multiple of 16 bytes, and less than 2^40");
    }
    if (m.box[i] == 0 || m.box[i] > 256) return at("the box", i, "has 1 to 256 elements");
    if (m.elementStrides[i] == 0 || m.elementStrides[i] > 8) {
      return at("the element stride", i, "is 1 to 8");
    }
    elements *= m.boxElements(i);
  }
  uint32_t inner = m.box[0] * tensorTypeBytes(m.type);
  if (inner % 16 != 0) return "a row of the box is a multiple of 16 bytes";
  if (m.swizzle > TensorSwizzle::bytes128) return "there is no such swizzle";
  if (m.interleave != 0) return "interleaved layouts are not simulated";
  if (m.swizzleAtomicity != 0) return "swizzles of other units than 16 bytes are not simulated";
  uint32_t span = m.swizzle == TensorSwizzle::none ? 0 : 16u << static_cast<unsigned>(m.swizzle);
  if (span != 0 && inner > span) return "a row of the box is at most the span of the swizzle";
  if (elements * tensorTypeBytes(m.type) > 1u << 20) return "the box is larger than shared memory";
  if (m.nanFill && !isFloatTensor(m.type))
    return "only floating-point elements are filled with NaN";
  return {};
}

std::string encodeTensorMap(const TensorMap& m, void* out) {
  std::string problem = checkTensorMap(m);
  if (!problem.empty()) return problem;
  Encoded e{};
  e.magic = kMagic;
  e.address = m.address;
  for (unsigned i = 0; i < kMaxTensorRank; ++i) {
    bool used = i < m.rank;
    if (i != 0) e.strides[i - 1] = used ? m.strides[i] : 0;
    e.dims[i] = used ? static_cast<uint32_t>(m.dims[i] - 1) : 0;
    e.box[i] = static_cast<uint16_t>(used ? m.box[i] : 1);
    e.elementStrides[i] = static_cast<uint8_t>(used ? m.elementStrides[i] : 1);
  }
  e.type = static_cast<uint8_t>(m.type);
  e.rank = static_cast<uint8_t>(m.rank);
  e.swizzle = static_cast<uint8_t>(m.swizzle);
  e.nanFill = m.nanFill ? 1 : 0;
  std::memcpy(out, &e, sizeof e);
  return {};
}

bool decodeTensorMap(const void* bytes, TensorMap& m) {
  Encoded e;
  std::memcpy(&e, bytes, sizeof e);
  if (e.magic != kMagic) return false;
  m.type = static_cast<TensorType>(e.type);
  m.rank = e.rank;
  m.address = e.address;
  for (unsigned i = 0; i < kMaxTensorRank; ++i) {
    m.strides[i] = i == 0 ? 0 : e.strides[i - 1];
    m.dims[i] = uint64_t{e.dims[i]} + 1;
    m.box[i] = e.box[i];
    m.elementStrides[i] = e.elementStrides[i];
  }
  m.swizzle = static_cast<TensorSwizzle>(e.swizzle);
  m.nanFill = e.nanFill != 0;
  m.interleave = e.interleave;
  m.swizzleAtomicity = e.swizzleAtomicity;
  return true;
}

bool replaceInTensorMap(void* bytes, Mod field, unsigned dimension, uint64_t value) {
  // By the numbers of the PTX ISA (9.7.9.28), which differ from those of the Driver API.
  static constexpr TensorType kTypes[] = {
      TensorType::u8,   TensorType::u16,  TensorType::u32,    TensorType::s32,    TensorType::u64,
      TensorType::s64,  TensorType::f16,  TensorType::f32,    TensorType::f32Ftz, TensorType::f64,
      TensorType::bf16, TensorType::tf32, TensorType::tf32Ftz};
  Encoded e;
  std::memcpy(&e, bytes, sizeof e);
  // Kernels that make a map of their own begin with zeros and replace every field.
  auto* first = static_cast<const uint8_t*>(bytes);
  if (std::all_of(first, first + sizeof e, [](uint8_t b) { return b == 0; })) e.magic = kMagic;
  if (e.magic != kMagic || dimension >= kMaxTensorRank) return false;
  // What a narrower field cannot hold is no legal value either; it stays one.
  auto upTo = [&](uint64_t most) { return value < most ? value : most; };
  switch (field) {
    case Mod::globalAddress:
      e.address = value;
      break;
    case Mod::rank:  // Less one.
      e.rank = static_cast<uint8_t>(upTo(254) + 1);
      break;
    case Mod::boxDim:
      e.box[dimension] = static_cast<uint16_t>(upTo(0xffff));
      break;
    case Mod::globalDim:
      e.dims[dimension] = static_cast<uint32_t>(value - 1);
      break;
    case Mod::globalStride:  // Of the next dimension; the innermost has none.
      if (dimension < kMaxTensorRank - 1) e.strides[dimension] = value;
      break;
    case Mod::elementStride:
      e.elementStrides[dimension] = static_cast<uint8_t>(upTo(0xff));
      break;
    case Mod::elemtype:
      e.type = static_cast<uint8_t>(value < std::size(kTypes) ? kTypes[value] : TensorType{0xff});
      break;
    case Mod::interleaveLayout:
      e.interleave = static_cast<uint8_t>(value);
      break;
    case Mod::swizzleMode:
      e.swizzle = static_cast<uint8_t>(value);
      break;
    case Mod::swizzleAtomicity:
      e.swizzleAtomicity = static_cast<uint8_t>(value);
      break;
    case Mod::fillMode:
      e.nanFill = static_cast<uint8_t>(value);
      break;
    default:
      return false;
  }
  std::memcpy(bytes, &e, sizeof e);
  return true;
}

uint32_t swizzled(TensorSwizzle swizzle, uint32_t offset) {
  uint32_t mask = swizzle == TensorSwizzle::none ? 0 : (1u << static_cast<unsigned>(swizzle)) - 1;
  return offset ^ (offset >> 7 & mask) << 4;
}

}  // namespace mtlc::sim
