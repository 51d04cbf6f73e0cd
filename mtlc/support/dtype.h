// Element types of host buffers, as command lines and .npy files name them.

#ifndef MTLC_SUPPORT_DTYPE_H_
#define MTLC_SUPPORT_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace mtlc {

// X(Enumerator, "name", bytes, is a float, is signed, type string of .npy). NumPy has no bf16: such
// arrays travel as uint16.
#define MTLC_DTYPES(X)                    \
  X(Bool, "bool", 1, false, false, "|b1") \
  X(U8, "u8", 1, false, false, "|u1")     \
  X(I8, "i8", 1, false, true, "|i1")      \
  X(U16, "u16", 2, false, false, "<u2")   \
  X(I16, "i16", 2, false, true, "<i2")    \
  X(F16, "f16", 2, true, true, "<f2")     \
  X(BF16, "bf16", 2, true, true, "<u2")   \
  X(U32, "u32", 4, false, false, "<u4")   \
  X(I32, "i32", 4, false, true, "<i4")    \
  X(F32, "f32", 4, true, true, "<f4")     \
  X(U64, "u64", 8, false, false, "<u8")   \
  X(I64, "i64", 8, false, true, "<i8")    \
  X(F64, "f64", 8, true, true, "<f8")

enum class DType : uint8_t {
#define MTLC_X(id, ...) id,
  MTLC_DTYPES(MTLC_X)
#undef MTLC_X
};
inline constexpr int kDTypeCount = 0
#define MTLC_X(id, ...) +1
    MTLC_DTYPES(MTLC_X)
#undef MTLC_X
    ;

struct DTypeInfo {
  std::string_view name;
  uint8_t bytes;
  bool isFloat;
  bool isSigned;
  std::string_view npy;
};
const DTypeInfo& dtypeInfo(DType type);
std::optional<DType> dtypeFromName(std::string_view name);

// The bits of the value that `text` spells, zero-extended. Integers: decimal within the type's
// range, or 0x… as a bit pattern. bool: 0, 1, false, true. Floats: decimal, rounded to nearest (f16
// and bf16 by way of float64); "nan", "inf", "-inf"; 0x…p… as a hexadecimal float; 0x… without p as
// a bit pattern.
absl::StatusOr<uint64_t> parseScalar(DType type, std::string_view text);
// `value` converted to the type: floats with one rounding, integers modulo 2^width, bool != 0.
uint64_t scalarFromInteger(DType type, uint64_t value);
// The value for people: integers in decimal, floats with as many digits as tell them apart.
std::string scalarText(DType type, uint64_t bits);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_DTYPE_H_
