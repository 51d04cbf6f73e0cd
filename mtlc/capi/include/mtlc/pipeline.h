/* From a module to an artefact. Each function returns 1, or 0 with the reason in
   mtlc_context_error(); nothing is written on failure. What a build cannot do it says: "not in this
   build". */

#ifndef MTLC_CAPI_INCLUDE_MTLC_PIPELINE_H_
#define MTLC_CAPI_INCLUDE_MTLC_PIPELINE_H_

#include <stddef.h>

#include "mtlc/context.h"
#include "mtlc/module.h"
#include "mtlc/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MtlcMlOptStats {
  int proposals;
  int validated;
  int proven;
  int rejected;
  int skipped;
} MtlcMlOptStats;

/* Runs the passes of the context's level. */
int mtlc_optimize(MtlcContext *context, MtlcModule *module);
int mtlc_optimize_for(MtlcContext *context, MtlcModule *module, MtlcArch arch);
/* Not in this build. `stats` may be NULL; it is set to zeros. */
int mtlc_apply_ml_opt(MtlcContext *context, MtlcModule *module, MtlcMlOptStats *stats);

/* The verifiers alone. */
int mtlc_verify(MtlcContext *context, MtlcModule *module);

/* Verifies and emits to a file: PTX as text, SPIR-V for OpenCL as words in the machine's byte
   order; the others not in this build. A kernel that uses launch-sized workgroup memory takes its
   size as one more parameter in SPIR-V, after all others. The module may be changed by what its
   target needs expanded: clone it (mtlc_module_to_text()) to emit it for another one. */
int mtlc_emit(MtlcContext *context, MtlcModule *module, MtlcArch arch, const char *path);
/* … or into memory, to be freed with mtlc_free(); a zero follows the bytes. */
int mtlc_emit_to_memory(MtlcContext *context, MtlcModule *module, MtlcArch arch, char **bytes,
                        size_t *length);
/* Not in this build. */
int mtlc_emit_object(MtlcContext *context, MtlcModule *module, const char *path);
int mtlc_build_executable(MtlcContext *context, MtlcModule *module, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_PIPELINE_H_ */
