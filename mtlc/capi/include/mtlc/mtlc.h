/* The whole C API. docs/c-api.md is its manual; all names are plain C99. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_MTLC_H_
#define MTLC_CAPI_INCLUDE_MTLC_MTLC_H_

#include "mtlc/build.h"
#include "mtlc/context.h"
#include "mtlc/intrinsic.h"
#include "mtlc/memory.h"
#include "mtlc/module.h"
#include "mtlc/pipeline.h"
#include "mtlc/target.h"
#include "mtlc/tensor.h"
#include "mtlc/type.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the toolchain, as the tools show it: "0.1.0". */
const char *mtlc_version(void);

#ifdef __cplusplus
}
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_MTLC_H_ */
