/* A module of the IR. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_MODULE_H_
#define MTLC_CAPI_INCLUDE_MTLC_MODULE_H_

#include <stddef.h>

#include "mtlc/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MtlcModule MtlcModule;

/* Takes over an mtlc::ir::Module that C++ code made with new; NULL for NULL. Its SourceManager must
   outlive the module. */
MtlcModule *mtlc_module_adopt_ir(void *ir);
/* The mtlc::ir::Module, borrowed. */
void *mtlc_module_ir(MtlcModule *module);
/* Functions with a body and declarations. */
size_t mtlc_module_function_count(const MtlcModule *module);
void mtlc_module_destroy(MtlcModule *module);

/* Text (.mtir) and protobuf (.mtirpb) forms. The readers return NULL with the reason in
   mtlc_context_error(); `name` is what messages call the input. The writers return bytes to be
   freed with mtlc_free(), with a zero after them; NULL when there is no memory. */
MtlcModule *mtlc_module_from_text(MtlcContext *context, const char *name, const char *text,
                                  size_t length);
char *mtlc_module_to_text(const MtlcModule *module, size_t *length);
MtlcModule *mtlc_module_from_protobuf(MtlcContext *context, const char *name, const void *bytes,
                                      size_t length);
void *mtlc_module_to_protobuf(MtlcContext *context, const MtlcModule *module, size_t *length);

/* Frees what this library returned for the caller to keep. */
void mtlc_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_MODULE_H_ */
