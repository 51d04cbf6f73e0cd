// Types of Mettle. One object for each distinct type, so types are compared by address.

#ifndef MTLC_FRONTEND_TYPES_H_
#define MTLC_FRONTEND_TYPES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "mtlc/support/arena.h"

namespace mtlc::frontend {

enum class TypeKind : uint8_t {
  error,  // Stands for a type that was refused; every use of it is accepted silently.
  host,   // A type of host programs (string, struct, …): opaque here.
  void_,
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  enum_,  // Underlying int64.
  pointer,
  array,
};

struct Type {
  TypeKind kind = TypeKind::error;
  uint8_t depth = 0;                  // Pointer levels below.
  const Type* elem = nullptr;         // pointer, array
  uint64_t count = 0;                 // array: elements
  std::string_view name;              // scalars, host, enum_
  const void* declaration = nullptr;  // enum_, host: the symbol

  bool isError() const { return kind == TypeKind::error; }
  bool isHost() const { return kind == TypeKind::host; }
  bool isVoid() const { return kind == TypeKind::void_; }
  bool isBool() const { return kind == TypeKind::bool_; }
  bool isEnum() const { return kind == TypeKind::enum_; }
  bool isInteger() const { return kind >= TypeKind::int8 && kind <= TypeKind::uint64; }
  bool isFloat() const { return kind == TypeKind::float32 || kind == TypeKind::float64; }
  bool isPointer() const { return kind == TypeKind::pointer; }
  bool isArray() const { return kind == TypeKind::array; }
  // Has a number as its value: integers, floats, bool, enums.
  bool isNumeric() const { return kind >= TypeKind::bool_ && kind <= TypeKind::enum_; }
  // Integers and what converts to them freely.
  bool isIntegral() const { return isNumeric() && !isFloat(); }
  bool isUnsigned() const {
    return (kind >= TypeKind::uint8 && kind <= TypeKind::uint64) || isBool();
  }
  // Width of a value: 1 for bool, 64 for enums and pointers, 0 where there is none.
  unsigned bits() const;
  // Size in memory, 0 where there is none.
  uint64_t bytes() const;
};

// Owns the types of one compilation.
class TypeContext {
 public:
  TypeContext();

  const Type* scalar(TypeKind kind) const { return &scalars_[static_cast<size_t>(kind)]; }
  const Type* error() const { return scalar(TypeKind::error); }
  const Type* voidType() const { return scalar(TypeKind::void_); }
  const Type* boolType() const { return scalar(TypeKind::bool_); }
  const Type* int32() const { return scalar(TypeKind::int32); }
  const Type* int64() const { return scalar(TypeKind::int64); }
  const Type* uint32() const { return scalar(TypeKind::uint32); }
  const Type* uint64() const { return scalar(TypeKind::uint64); }
  const Type* float32() const { return scalar(TypeKind::float32); }
  const Type* float64() const { return scalar(TypeKind::float64); }

  const Type* pointer(const Type* elem);
  const Type* array(const Type* elem, uint64_t count);
  // A new type, distinct from all others.
  const Type* makeEnum(std::string_view name, const void* declaration);
  // The host type of that name; the same one each time.
  const Type* host(std::string_view name, const void* declaration = nullptr);

 private:
  Type scalars_[static_cast<size_t>(TypeKind::float64) + 1];
  Arena arena_;
  absl::flat_hash_map<const Type*, const Type*> pointers_;
  absl::flat_hash_map<std::pair<const Type*, uint64_t>, const Type*> arrays_;
  absl::flat_hash_map<std::pair<const void*, std::string>, const Type*> hosts_;
};

// As written in the source: "float32*", "int32[4]".
std::string typeName(const Type* type);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_TYPES_H_
