// mtlc/type.h and mtlc/target.h

#include <array>
#include <deque>
#include <map>
#include <mutex>

#include "mtlc/capi/internal.h"

namespace {

struct KindRow {
  MtlcTypeKind kind;
  const char* name;
  size_t bytes;  // 0: no scalar, or void.
  mtlc::ir::Type ir;
};
constexpr KindRow kKinds[] = {
    {MTLC_TYPE_INT8, "int8", 1, mtlc::ir::kI8},
    {MTLC_TYPE_INT16, "int16", 2, mtlc::ir::kI16},
    {MTLC_TYPE_INT32, "int32", 4, mtlc::ir::kI32},
    {MTLC_TYPE_INT64, "int64", 8, mtlc::ir::kI64},
    {MTLC_TYPE_UINT8, "uint8", 1, mtlc::ir::kI8},
    {MTLC_TYPE_UINT16, "uint16", 2, mtlc::ir::kI16},
    {MTLC_TYPE_UINT32, "uint32", 4, mtlc::ir::kI32},
    {MTLC_TYPE_UINT64, "uint64", 8, mtlc::ir::kI64},
    {MTLC_TYPE_BOOL, "bool", 1, mtlc::ir::kI1},
    {MTLC_TYPE_FLOAT32, "float32", 4, mtlc::ir::kF32},
    {MTLC_TYPE_FLOAT64, "float64", 8, mtlc::ir::kF64},
    {MTLC_TYPE_STRING, "string", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_FUNCTION_POINTER, "function_pointer", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_POINTER, "pointer", 8, mtlc::ir::kVoid},
    {MTLC_TYPE_ARRAY, "array", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_STRUCT, "struct", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_ENUM, "enum", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_TAGGED_ENUM, "tagged_enum", 0, mtlc::ir::kVoid},
    {MTLC_TYPE_VOID, "void", 0, mtlc::ir::kVoid},
};
constexpr int kKindCount = static_cast<int>(std::size(kKinds));

const KindRow* rowOf(MtlcTypeKind kind) {
  const int i = static_cast<int>(kind);
  return i >= 0 && i < kKindCount ? &kKinds[i] : nullptr;
}
static_assert([] {
  for (int i = 0; i < kKindCount; ++i) {
    if (static_cast<int>(kKinds[i].kind) != i) return false;
  }
  return true;
}());

bool isScalarKind(MtlcTypeKind kind) { return kind <= MTLC_TYPE_FLOAT64 || kind == MTLC_TYPE_VOID; }

}  // namespace

extern "C" {

MtlcType* mtlc_type_scalar(MtlcTypeKind kind) {
  const KindRow* row = rowOf(kind);
  if (row == nullptr || !isScalarKind(kind)) return nullptr;
  static std::array<MtlcType, kKindCount>* const kTypes = [] {
    auto* types = new std::array<MtlcType, kKindCount>();  // Immortal.
    for (int i = 0; i < kKindCount; ++i) {
      MtlcType& t = (*types)[static_cast<size_t>(i)];
      t = MtlcType{};
      t.kind = kKinds[i].kind;
      t.name = kKinds[i].name;
      t.size = t.alignment = kKinds[i].bytes;
    }
    return types;
  }();
  return &(*kTypes)[static_cast<size_t>(kind)];
}

MtlcType* mtlc_type_pointer_in(MtlcType* pointee, MtlcAddressSpace space) {
  if (pointee == nullptr || space < MTLC_ADDRESS_SPACE_DEFAULT ||
      space > MTLC_ADDRESS_SPACE_PRIVATE) {
    return nullptr;
  }
  static std::mutex mutex;
  static auto* const kPointers = new std::map<std::pair<MtlcType*, MtlcAddressSpace>, MtlcType*>();
  std::lock_guard lock(mutex);
  MtlcType*& slot = (*kPointers)[{pointee, space}];
  if (slot == nullptr) {
    slot = new MtlcType{};  // Immortal.
    slot->kind = MTLC_TYPE_POINTER;
    slot->name = "pointer";
    slot->size = slot->alignment = 8;
    slot->address_space = space;
    slot->base_type = pointee;
  }
  return slot;
}

MtlcType* mtlc_type_pointer(MtlcType* pointee) {
  return mtlc_type_pointer_in(pointee, MTLC_ADDRESS_SPACE_DEFAULT);
}

int mtlc_type_is_integer(const MtlcType* type) {
  return type != nullptr && type->kind <= MTLC_TYPE_UINT64 ? 1 : 0;
}
int mtlc_type_is_unsigned(const MtlcType* type) {
  return type != nullptr && type->kind >= MTLC_TYPE_UINT8 && type->kind <= MTLC_TYPE_UINT64 ? 1 : 0;
}
int mtlc_type_is_float(const MtlcType* type) {
  return type != nullptr && (type->kind == MTLC_TYPE_FLOAT32 || type->kind == MTLC_TYPE_FLOAT64)
             ? 1
             : 0;
}
int mtlc_type_is_aggregate(const MtlcType* type) {
  return type != nullptr && (type->kind == MTLC_TYPE_STRING || type->kind == MTLC_TYPE_ARRAY ||
                             type->kind == MTLC_TYPE_STRUCT || type->kind == MTLC_TYPE_TAGGED_ENUM)
             ? 1
             : 0;
}
size_t mtlc_type_size(const MtlcType* type) { return type != nullptr ? type->size : 0; }
size_t mtlc_type_alignment(const MtlcType* type) { return type != nullptr ? type->alignment : 0; }
const char* mtlc_type_kind_name(MtlcTypeKind kind) {
  const KindRow* row = rowOf(kind);
  return row != nullptr ? row->name : "unknown";
}

MtlcObjectFormat mtlc_host_object_format(void) {
#ifdef _WIN32
  return MTLC_OBJ_COFF;
#else
  return MTLC_OBJ_ELF;
#endif
}
MtlcLinkTarget mtlc_host_link_target(void) {
#ifdef _WIN32
  return MTLC_LINK_PE;
#else
  return MTLC_LINK_ELF;
#endif
}
const char* mtlc_arch_name(MtlcArch arch) {
  switch (arch) {
    case MTLC_ARCH_X86_64:
      return "x86_64";
    case MTLC_ARCH_ARM64:
      return "arm64";
    case MTLC_ARCH_PTX:
      return "ptx";
    case MTLC_ARCH_SPIRV:
      return "spirv";
  }
  return "unknown";
}

}  // extern "C"

namespace mtlc::capi {

bool isPointer(const MtlcType* type) { return type != nullptr && type->kind == MTLC_TYPE_POINTER; }

ir::Space irSpace(MtlcAddressSpace space, ir::Space defaultSpace) {
  switch (space) {
    case MTLC_ADDRESS_SPACE_DEFAULT:
      return defaultSpace;
    case MTLC_ADDRESS_SPACE_GENERIC:
      return ir::Space::Generic;
    case MTLC_ADDRESS_SPACE_GLOBAL:
      return ir::Space::Global;
    case MTLC_ADDRESS_SPACE_WORKGROUP:
      return ir::Space::Workgroup;
    case MTLC_ADDRESS_SPACE_CONSTANT:
      return ir::Space::Constant;
    case MTLC_ADDRESS_SPACE_PRIVATE:
      return ir::Space::Private;
  }
  return defaultSpace;
}

ir::Type irType(const MtlcType* type, ir::Space defaultSpace) {
  if (type == nullptr) return ir::kVoid;
  if (isPointer(type)) return ir::Type::ptr(irSpace(type->address_space, defaultSpace));
  const KindRow* row = rowOf(type->kind);
  return row != nullptr ? row->ir : ir::kVoid;
}

std::string describe(const MtlcType* type) {
  if (type == nullptr) return "no type";
  if (isPointer(type)) return "pointer to " + describe(type->base_type);
  return mtlc_type_kind_name(type->kind);
}

std::optional<ir::MemoryOrder> irOrder(MtlcMemoryOrder order, ir::MemoryOrder otherwise) {
  switch (order) {
    case MTLC_MEMORY_ORDER_DEFAULT:
      return otherwise;
    case MTLC_MEMORY_ORDER_RELAXED:
      return ir::MemoryOrder::Relaxed;
    case MTLC_MEMORY_ORDER_ACQUIRE:
      return ir::MemoryOrder::Acquire;
    case MTLC_MEMORY_ORDER_RELEASE:
      return ir::MemoryOrder::Release;
    case MTLC_MEMORY_ORDER_ACQ_REL:
      return ir::MemoryOrder::AcqRel;
    case MTLC_MEMORY_ORDER_SEQ_CST:
      return ir::MemoryOrder::SeqCst;
  }
  return std::nullopt;
}

std::optional<ir::Scope> irScope(MtlcMemoryScope scope, ir::Scope otherwise) {
  switch (scope) {
    case MTLC_MEMORY_SCOPE_DEFAULT:
      return otherwise;
    case MTLC_MEMORY_SCOPE_WORK_ITEM:
      return ir::Scope::WorkItem;
    case MTLC_MEMORY_SCOPE_SUBGROUP:
      return ir::Scope::Subgroup;
    case MTLC_MEMORY_SCOPE_WORKGROUP:
      return ir::Scope::Workgroup;
    case MTLC_MEMORY_SCOPE_DEVICE:
      return ir::Scope::Device;
    case MTLC_MEMORY_SCOPE_SYSTEM:
      return ir::Scope::System;
  }
  return std::nullopt;
}

}  // namespace mtlc::capi
