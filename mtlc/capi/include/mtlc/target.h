/* Targets by kind. Which PTX or SPIR-V target it is, the context says:
   mtlc_context_set_ptx_target(), mtlc_context_set_spirv_target(). */

#ifndef MTLC_CAPI_INCLUDE_MTLC_TARGET_H_
#define MTLC_CAPI_INCLUDE_MTLC_TARGET_H_

#include "mtlc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum MTLC_AS_INT {
  MTLC_ARCH_X86_64 = 0,
  MTLC_ARCH_ARM64,
  MTLC_ARCH_PTX,
  MTLC_ARCH_SPIRV
} MtlcArch;

typedef enum MTLC_AS_INT { MTLC_OBJ_COFF = 0, MTLC_OBJ_ELF } MtlcObjectFormat;

typedef enum MTLC_AS_INT { MTLC_LINK_PE = 0, MTLC_LINK_ELF } MtlcLinkTarget;

/* Of the machine that this library runs on. */
MtlcObjectFormat mtlc_host_object_format(void);
MtlcLinkTarget mtlc_host_link_target(void);

/* "ptx", "spirv", "x86_64", "arm64"; "unknown" for another value. */
const char *mtlc_arch_name(MtlcArch arch);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_TARGET_H_ */
