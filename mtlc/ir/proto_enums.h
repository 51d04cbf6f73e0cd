// Enumerations of the IR and their numbers in the protobuf form: one more than in memory, since 0
// there means "missing". proto_test.cc compares the names. Whoever puts an enumerator before others
// keeps the numbers in files by writing a table here.

#ifndef MTLC_IR_PROTO_ENUMS_H_
#define MTLC_IR_PROTO_ENUMS_H_

#include <string_view>

#include "mtlc/ir/ir.h"
#include "mtlc/ir/module.pb.h"
#include "mtlc/support/element_format.h"
#include "mtlc/support/float_format.h"

namespace mtlc::ir {

// X(enumeration of the IR, the protobuf form's, last enumerator)
#define MTLC_PROTO_ENUMS(X)                    \
  X(Space, Space, Constant)                    \
  X(::mtlc::ElementFormat, ElementFormat, I32) \
  X(::mtlc::FloatFormat, FloatFormat, UE4M3)   \
  X(InlineHint, InlineHint, Never)             \
  X(Dim, Dimension, Z)                         \
  X(CacheHint, CacheHint, LastUse)             \
  X(MemoryOrder, MemoryOrder, SeqCst)          \
  X(Scope, Scope, System)                      \
  X(CombineKind, Combine, FMax)                \
  X(Slot, Slot, LdMeta)                        \
  X(Layout, Layout, Col)                       \
  X(TensorMath, TensorMath, AndPopcount)       \
  X(Sparsity, Sparsity, S4to8)                 \
  X(Rounding, Rounding, Up)                    \
  X(Overflow, Overflow, Saturate)              \
  X(ScaleMode, ScaleMode, Block32)             \
  X(Packing, Packing, Dense)                   \
  X(BiasMode, BiasMode, Matrix)                \
  X(Activation, Activation, Clamp)             \
  X(Direction, Direction, Store)

template <typename E>
struct ProtoEnum;
#define MTLC_X(E, P, Last)                                               \
  static_assert(proto::P##_MAX == static_cast<int>(E::Last) + 1);        \
  template <>                                                            \
  struct ProtoEnum<E> {                                                  \
    using Type = proto::P;                                               \
    static constexpr std::string_view kName = #P;                        \
    static bool known(int number) { return proto::P##_IsValid(number); } \
    static const std::string& name(int number) {                         \
      return proto::P##_Name(static_cast<proto::P>(number));             \
    }                                                                    \
  };
MTLC_PROTO_ENUMS(MTLC_X)
#undef MTLC_X

static_assert(kSlotCount == proto::Slot_MAX && kElementFormatCount == proto::ElementFormat_MAX &&
              kFloatFormatCount == proto::FloatFormat_MAX && kSpaceCount == proto::Space_MAX);
// Void has no number: it is the missing type.
static_assert(kTypeKindCount == proto::TypeKind_MAX + 1);

// ---- Fields of the tensor descriptors: F(member, field) ----
//
// Those of descriptors.def, which knows the fields' names as texts only; proto_writer.cc compares.

#define MTLC_PROTO_MMA_FIELDS(F)  \
  F(a, a)                         \
  F(b, b)                         \
  F(acc, acc)                     \
  F(result, result)               \
  F(aLayout, layout_a)            \
  F(bLayout, layout_b)            \
  F(cLayout, layout_c)            \
  F(dLayout, layout_d)            \
  F(lda, lda)                     \
  F(ldb, ldb)                     \
  F(ldc, ldc)                     \
  F(ldd, ldd)                     \
  F(math, math)                   \
  F(sparsity, sparsity)           \
  F(rounding, rounding)           \
  F(overflow, overflow)           \
  F(aScale, scale_a)              \
  F(bScale, scale_b)              \
  F(aScaleFormat, scale_format_a) \
  F(bScaleFormat, scale_format_b) \
  F(ldsa, ldsa)                   \
  F(ldsb, ldsb)                   \
  F(ldmeta, ldmeta)               \
  F(aPacking, packing_a)          \
  F(bPacking, packing_b)          \
  F(transposeA, transpose_a)      \
  F(transposeB, transpose_b)      \
  F(scope, scope)

#define MTLC_PROTO_EPILOGUE_FIELDS(F) \
  F(element, element)                 \
  F(layout, layout)                   \
  F(ldd, ldd)                         \
  F(bias, bias)                       \
  F(biasLayout, layout_bias)          \
  F(ldbias, ldbias)                   \
  F(activation, activation)           \
  F(scope, scope)

#define MTLC_PROTO_TRANSFER_FIELDS(F) \
  F(direction, direction)             \
  F(element, element)                 \
  F(packing, packing)

#define MTLC_PROTO_TRANSFER_ARRAYS(F) \
  F(tile, tile)                       \
  F(extent, extent)                   \
  F(stride, stride)                   \
  F(step, step)

}  // namespace mtlc::ir

#endif  // MTLC_IR_PROTO_ENUMS_H_
