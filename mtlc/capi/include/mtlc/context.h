/* Settings of a compilation, and the errors of the calls that take one. Not for use by several
   threads at once. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_CONTEXT_H_
#define MTLC_CAPI_INCLUDE_MTLC_CONTEXT_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef struct MtlcContext MtlcContext;

/* NULL when there is no memory. */
MtlcContext *mtlc_context_create(void);
void mtlc_context_destroy(MtlcContext *context);

/* 0: as written; 1 and above: the standard pipeline, the default. */
void mtlc_context_set_opt_level(MtlcContext *context, int level);
int mtlc_context_opt_level(const MtlcContext *context);
/* Kept, and without effect in this build. */
void mtlc_context_set_ml_opt(MtlcContext *context, int on);
int mtlc_context_ml_opt(const MtlcContext *context);
void mtlc_context_set_whole_program(MtlcContext *context, int on);
int mtlc_context_whole_program(const MtlcContext *context);
/* Explanations of what the passes did, on standard error; for one file only when `focus_file` is
 * not NULL. */
void mtlc_context_set_explain(MtlcContext *context, int on, const char *focus_file);
int mtlc_context_explain(const MtlcContext *context);
const char *mtlc_context_explain_focus_file(const MtlcContext *context);

/* A PTX target such as "sm_90a" and a PTX version; 0, 0 is the least version that has the target.
   0, with the reason in mtlc_context_error(), when there is no such target or the version lacks it;
   then nothing changes. */
int mtlc_context_set_ptx_target(MtlcContext *context, const char *target, int isa_major,
                                int isa_minor);
const char *mtlc_context_ptx_target(const MtlcContext *context);
int mtlc_context_ptx_isa_major(const MtlcContext *context);
int mtlc_context_ptx_isa_minor(const MtlcContext *context);
/* Registers for resident accumulators; 0 is the target's default. 0 when negative. */
int mtlc_context_set_ptx_tensor_tuple_budget(MtlcContext *context, int tuples);
int mtlc_context_ptx_tensor_tuple_budget(const MtlcContext *context);

/* A SPIR-V profile such as "spirv1.3-opencl" (docs/spirv.md); by default "spirv-opencl2.0". 0, with
   the reason in mtlc_context_error(), when there is no such profile; then nothing changes. */
int mtlc_context_set_spirv_target(MtlcContext *context, const char *target);
const char *mtlc_context_spirv_target(const MtlcContext *context);
/* Tensor products that the target has no form for become exact scalar code, instead of being
   refused; off by default. */
void mtlc_context_set_tensor_replay(MtlcContext *context, int on);
int mtlc_context_tensor_replay(const MtlcContext *context);

/* Positions in the source for debuggers (PTX .loc, SPIR-V OpLine); off by default. */
void mtlc_context_set_line_info(MtlcContext *context, int on);
int mtlc_context_line_info(const MtlcContext *context);

/* The diagnostics of the last call that failed on this context, one or more lines
   "FILE:LINE:COL: error: …" with hints and notes; "" after a success. Valid until the next call. */
const char *mtlc_context_error(const MtlcContext *context);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_CONTEXT_H_ */
