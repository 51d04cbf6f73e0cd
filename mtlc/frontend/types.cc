#include "mtlc/frontend/types.h"

#include "absl/strings/str_format.h"

namespace mtlc::frontend {

unsigned Type::bits() const {
  switch (kind) {
    case TypeKind::bool_:
      return 1;
    case TypeKind::int8:
    case TypeKind::uint8:
      return 8;
    case TypeKind::int16:
    case TypeKind::uint16:
      return 16;
    case TypeKind::int32:
    case TypeKind::uint32:
    case TypeKind::float32:
      return 32;
    case TypeKind::int64:
    case TypeKind::uint64:
    case TypeKind::float64:
    case TypeKind::enum_:
    case TypeKind::pointer:
      return 64;
    case TypeKind::error:
    case TypeKind::host:
    case TypeKind::void_:
    case TypeKind::array:
      return 0;
  }
  return 0;
}

uint64_t Type::bytes() const {
  if (isBool()) return 1;
  if (isArray()) return count * elem->bytes();
  return bits() / 8;
}

TypeContext::TypeContext() {
  constexpr std::string_view kNames[] = {"<error>", "<host>", "void",    "bool",   "int8",
                                         "int16",   "int32",  "int64",   "uint8",  "uint16",
                                         "uint32",  "uint64", "float32", "float64"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    scalars_[i].kind = static_cast<TypeKind>(i);
    scalars_[i].name = kNames[i];
  }
}

const Type* TypeContext::pointer(const Type* elem) {
  const Type*& slot = pointers_[elem];
  if (!slot) {
    Type* t = arena_.make<Type>();
    t->kind = TypeKind::pointer;
    t->elem = elem;
    t->depth = static_cast<uint8_t>(elem->depth == 255 ? 255 : elem->depth + 1);
    slot = t;
  }
  return slot;
}

const Type* TypeContext::array(const Type* elem, uint64_t count) {
  const Type*& slot = arrays_[{elem, count}];
  if (!slot) {
    Type* t = arena_.make<Type>();
    t->kind = TypeKind::array;
    t->elem = elem;
    t->count = count;
    slot = t;
  }
  return slot;
}

const Type* TypeContext::makeEnum(std::string_view name, const void* declaration) {
  Type* t = arena_.make<Type>();
  t->kind = TypeKind::enum_;
  t->name = arena_.copy(name);
  t->declaration = declaration;
  return t;
}

const Type* TypeContext::host(std::string_view name, const void* declaration) {
  const Type*& slot = hosts_[{declaration, std::string(name)}];
  if (!slot) {
    Type* t = arena_.make<Type>();
    t->kind = TypeKind::host;
    t->name = arena_.copy(name);
    t->declaration = declaration;
    slot = t;
  }
  return slot;
}

std::string typeName(const Type* type) {
  size_t stars = 0;
  while (type->isPointer()) {
    type = type->elem;
    ++stars;
  }
  if (type->isArray()) return absl::StrFormat("%s[%d]", typeName(type->elem), type->count);
  return std::string(type->name) + std::string(stars, '*');
}

}  // namespace mtlc::frontend
