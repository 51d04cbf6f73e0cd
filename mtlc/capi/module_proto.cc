// The protobuf form in mtlc/module.h.

#include "mtlc/capi/internal.h"

extern "C" {

MtlcModule* mtlc_module_from_protobuf(MtlcContext* c, const char*, const void*, size_t) {
  mtlc::capi::fail(c, mtlc::DiagId::CapiNotInBuild,
                   {"the protobuf form", "use the text form: mtlc_module_from_text"});
  return nullptr;
}
void* mtlc_module_to_protobuf(MtlcContext* c, const MtlcModule*, size_t*) {
  mtlc::capi::fail(c, mtlc::DiagId::CapiNotInBuild,
                   {"the protobuf form", "use the text form: mtlc_module_to_text"});
  return nullptr;
}

}  // extern "C"
