/* Types. They live as long as the program and are compared by pointer: the same arguments give the
   same type. Fields are for reading. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_TYPE_H_
#define MTLC_CAPI_INCLUDE_MTLC_TYPE_H_

#include <stddef.h>

#include "mtlc/base.h"
#include "mtlc/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum MTLC_AS_INT {
  MTLC_TYPE_INT8,
  MTLC_TYPE_INT16,
  MTLC_TYPE_INT32,
  MTLC_TYPE_INT64,
  MTLC_TYPE_UINT8,
  MTLC_TYPE_UINT16,
  MTLC_TYPE_UINT32,
  MTLC_TYPE_UINT64,
  MTLC_TYPE_BOOL,
  MTLC_TYPE_FLOAT32,
  MTLC_TYPE_FLOAT64,
  MTLC_TYPE_STRING,
  MTLC_TYPE_FUNCTION_POINTER,
  MTLC_TYPE_POINTER,
  MTLC_TYPE_ARRAY,
  MTLC_TYPE_STRUCT,
  MTLC_TYPE_ENUM,
  MTLC_TYPE_TAGGED_ENUM,
  MTLC_TYPE_VOID
} MtlcTypeKind;

typedef struct MtlcType {
  MtlcTypeKind kind;
  const char *name;
  size_t size;
  size_t alignment;
  MtlcAddressSpace address_space;
  struct MtlcType *base_type;
  size_t array_size;
  struct MtlcType **fn_param_types;
  size_t fn_param_count;
  struct MtlcType *fn_return_type;
  struct MtlcType *closure_env;
  const char **field_names;
  struct MtlcType **field_types;
  size_t *field_offsets;
  size_t field_count;
  const char **tagged_variant_names;
  int *tagged_variant_tags;
  struct MtlcType **tagged_variant_payloads;
  size_t tagged_variant_count;
  size_t tagged_data_offset;
  size_t tagged_data_size;
} MtlcType;

/* A number, bool or void: the kinds from INT8 to FLOAT64, and VOID. NULL for another kind. */
MtlcType *mtlc_type_scalar(MtlcTypeKind kind);
/* A pointer in the DEFAULT space: of a kernel parameter global, elsewhere that of what is assigned
   to it. NULL when `pointee` is. */
MtlcType *mtlc_type_pointer(MtlcType *pointee);
MtlcType *mtlc_type_pointer_in(MtlcType *pointee, MtlcAddressSpace space);

/* 1 or 0; 0 for NULL. Bool is no integer. */
int mtlc_type_is_integer(const MtlcType *type);
int mtlc_type_is_unsigned(const MtlcType *type);
int mtlc_type_is_float(const MtlcType *type);
int mtlc_type_is_aggregate(const MtlcType *type);
/* Bytes; 0 for void and NULL. */
size_t mtlc_type_size(const MtlcType *type);
size_t mtlc_type_alignment(const MtlcType *type);
/* "int32", "pointer"; "unknown" for another value. */
const char *mtlc_type_kind_name(MtlcTypeKind kind);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_TYPE_H_ */
