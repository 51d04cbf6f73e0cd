#include "mtlc/ir/types.h"

namespace mtlc::ir {
namespace {
constexpr std::string_view kKindNames[kTypeKindCount] = {
    "void", "i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "ptr", "tile"};
constexpr std::string_view kSpaceNames[kSpaceCount] = {"generic", "global", "workgroup", "private",
                                                       "constant"};
}  // namespace

std::string_view spaceName(Space space) { return kSpaceNames[static_cast<uint8_t>(space)]; }

std::string typeName(Type type) {
  std::string name(kKindNames[static_cast<uint8_t>(type.kind())]);
  if (type.isPtr()) {
    name += '<';
    name += spaceName(type.space());
    name += '>';
  } else if (type.isTile()) {
    name += '<' + std::to_string(type.tileRows()) + 'x' + std::to_string(type.tileCols()) + 'x';
    name += elementInfo(type.tileFormat()).name;
    name += type.tileOfWorkgroup() ? ", workgroup>" : ">";
  }
  return name;
}

std::optional<Type> scalarTypeFromName(std::string_view name) {
  for (int i = 0; i < kTypeKindCount; ++i) {
    TypeKind kind = static_cast<TypeKind>(i);
    if (kind != TypeKind::Ptr && kind != TypeKind::Tile && kKindNames[i] == name) return Type(kind);
  }
  return std::nullopt;
}

std::optional<Space> spaceFromName(std::string_view name) {
  for (int i = 0; i < kSpaceCount; ++i) {
    if (kSpaceNames[i] == name) return static_cast<Space>(i);
  }
  return std::nullopt;
}

}  // namespace mtlc::ir
