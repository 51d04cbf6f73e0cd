// The protobuf form in mtlc/module.h.

#include "mtlc/capi/internal.h"
#include "mtlc/ir/proto.h"
#include "mtlc/ir/verifier.h"

extern "C" {

MtlcModule* mtlc_module_from_protobuf(MtlcContext* c, const char* name, const void* bytes,
                                      size_t length) {
  if (bytes == nullptr) {
    mtlc::capi::fail(c, mtlc::DiagId::CapiMisuse,
                     {"mtlc_module_from_protobuf", "the bytes are NULL",
                      "docs/c-api.md has what each call takes"});
    return nullptr;
  }
  auto module = std::make_unique<MtlcModule>();
  module->sources = std::make_unique<mtlc::SourceManager>();
  mtlc::DiagnosticEngine diags;
  module->ir =
      mtlc::ir::readProto(*module->sources, name != nullptr ? name : "<memory>",
                          std::string_view(static_cast<const char*>(bytes), length), diags);
  if (module->ir != nullptr) mtlc::ir::verify(*module->ir, diags);
  return mtlc::capi::finish(c, diags, *module->sources) != 0 ? module.release() : nullptr;
}

void* mtlc_module_to_protobuf(MtlcContext* c, const MtlcModule* m, size_t* length) {
  if (m == nullptr) {
    mtlc::capi::fail(c, mtlc::DiagId::CapiMisuse,
                     {"mtlc_module_to_protobuf", "the module is NULL",
                      "docs/c-api.md has what each call takes"});
    return nullptr;
  }
  return mtlc::capi::copyOut(mtlc::ir::writeProto(*m->ir), length);
}

}  // extern "C"
