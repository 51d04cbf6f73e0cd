// Types of the IR (docs/ir.md §1): eight-byte values, compared by their bits, no context needed.

#ifndef MTLC_IR_TYPES_H_
#define MTLC_IR_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mtlc/support/element_format.h"

namespace mtlc::ir {

enum class TypeKind : uint8_t { Void, I1, I8, I16, I32, I64, F16, BF16, F32, F64, Ptr, Tile };
inline constexpr int kTypeKindCount = 12;

// Address spaces. `generic` addresses any of the others but `constant`.
enum class Space : uint8_t { Generic, Global, Workgroup, Private, Constant };
inline constexpr int kSpaceCount = 5;

class Type {
 public:
  constexpr Type() = default;  // void
  constexpr explicit Type(TypeKind kind) : bits_(static_cast<uint8_t>(kind)) {}

  static constexpr Type ptr(Space space) {
    Type t(TypeKind::Ptr);
    t.bits_ |= uint64_t{static_cast<uint8_t>(space)} << 8;
    return t;
  }
  // An accumulator of m × n values of `format`, held together by the work-items of a subgroup or,
  // with `workgroup`, of a workgroup (docs/ir.md §11).
  static constexpr Type tile(uint16_t m, uint16_t n, ElementFormat format, bool workgroup = false) {
    Type t(TypeKind::Tile);
    t.bits_ |= uint64_t{static_cast<uint8_t>(format)} << 8 | uint64_t{m} << 16 | uint64_t{n} << 32 |
               uint64_t{workgroup} << 48;
    return t;
  }
  // The integer type of a width of 1, 8, 16, 32 or 64 bits; void for another width.
  static constexpr Type integer(unsigned width) {
    switch (width) {
      case 1:
        return Type(TypeKind::I1);
      case 8:
        return Type(TypeKind::I8);
      case 16:
        return Type(TypeKind::I16);
      case 32:
        return Type(TypeKind::I32);
      case 64:
        return Type(TypeKind::I64);
      default:
        return Type();
    }
  }

  constexpr TypeKind kind() const { return static_cast<TypeKind>(bits_ & 0xFF); }
  constexpr Space space() const { return static_cast<Space>(bits_ >> 8 & 0xFF); }  // Pointers only.

  constexpr uint32_t tileRows() const { return bits_ >> 16 & 0xFFFF; }  // Tiles only.
  constexpr uint32_t tileCols() const { return bits_ >> 32 & 0xFFFF; }
  constexpr ElementFormat tileFormat() const {
    return static_cast<ElementFormat>(bits_ >> 8 & 0xFF);
  }

  constexpr bool tileOfWorkgroup() const { return (bits_ >> 48 & 1) != 0; }

  constexpr bool isVoid() const { return kind() == TypeKind::Void; }
  constexpr bool isBool() const { return kind() == TypeKind::I1; }
  // i8 to i64, without i1.
  constexpr bool isInt() const { return kind() >= TypeKind::I8 && kind() <= TypeKind::I64; }
  constexpr bool isIntOrBool() const { return kind() >= TypeKind::I1 && kind() <= TypeKind::I64; }
  constexpr bool isFloat() const { return kind() >= TypeKind::F16 && kind() <= TypeKind::F64; }
  constexpr bool isPtr() const { return kind() == TypeKind::Ptr; }
  constexpr bool isTile() const { return kind() == TypeKind::Tile; }
  // What arrays hold: numbers and i1.
  constexpr bool isScalar() const { return kind() >= TypeKind::I1 && kind() <= TypeKind::F64; }
  // What memory and parameters can hold.
  constexpr bool isStorable() const { return isScalar() || isPtr(); }

  // Width of the value in bits: 1 for i1, 64 for pointers, 0 for void and tiles.
  constexpr unsigned bits() const {
    constexpr uint8_t kBits[kTypeKindCount] = {0, 1, 8, 16, 32, 64, 16, 16, 32, 64, 64, 0};
    return kBits[static_cast<uint8_t>(kind())];
  }
  // Size and natural alignment in memory, in bytes: 1 for i1.
  constexpr unsigned bytes() const { return bits() == 1 ? 1 : bits() / 8; }
  // All bits of a value of this type set: the mask that wraps an integer.
  constexpr uint64_t mask() const {
    return bits() >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits()) - 1;
  }

  friend constexpr bool operator==(Type a, Type b) = default;
  constexpr uint64_t raw() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};

inline constexpr Type kVoid{TypeKind::Void}, kI1{TypeKind::I1}, kI8{TypeKind::I8},
    kI16{TypeKind::I16}, kI32{TypeKind::I32}, kI64{TypeKind::I64}, kF16{TypeKind::F16},
    kBF16{TypeKind::BF16}, kF32{TypeKind::F32}, kF64{TypeKind::F64};

// "i32", "ptr<global>", "tile<16x16xf32>", "tile<16x16xf32, workgroup>".
std::string typeName(Type type);
std::string_view spaceName(Space space);
std::optional<Type> scalarTypeFromName(
    std::string_view name);  // Everything but pointers and tiles; "void" too.
std::optional<Space> spaceFromName(std::string_view name);

}  // namespace mtlc::ir

#endif  // MTLC_IR_TYPES_H_
