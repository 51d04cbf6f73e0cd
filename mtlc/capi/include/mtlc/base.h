/* What all headers of the C API share. */

#ifndef MTLC_CAPI_INCLUDE_MTLC_BASE_H_
#define MTLC_CAPI_INCLUDE_MTLC_BASE_H_

/* The enumerations of the API are ints: a caller in C may pass any, which C++ allows only for an
   enumeration that says so. */
#ifdef __cplusplus
#define MTLC_AS_INT : int
#else
#define MTLC_AS_INT
#endif

#endif /* MTLC_CAPI_INCLUDE_MTLC_BASE_H_ */
