// What the sources of the C API share: the objects behind the handles.

#ifndef MTLC_CAPI_INTERNAL_H_
#define MTLC_CAPI_INTERNAL_H_

#include <memory>
#include <optional>
#include <string>

#include "mtlc/capi/include/mtlc/mtlc.h"
#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

struct MtlcContext {
  int optLevel = 1;
  int mlOpt = 0;
  int wholeProgram = 0;
  int explain = 0;
  std::optional<std::string> explainFocus;
  std::string ptxTarget = "sm_121a";
  int ptxMajor = 8, ptxMinor = 8;
  int tupleBudget = 0;
  std::string spirvTarget = "spirv-opencl2.0";
  int tensorReplay = 0;
  int lineInfo = 0;
  std::string error;  // Of the last call.
};

struct MtlcModule {
  // Null for a module that C++ code made: its sources are not ours.
  std::unique_ptr<mtlc::SourceManager> sources;
  std::unique_ptr<mtlc::ir::Module> ir;
};

namespace mtlc::capi {

// Keeps what `diags` holds as the context's error, and returns 0; 1 when there is no error.
int finish(MtlcContext* context, const DiagnosticEngine& diags, const SourceManager& sources);
// Fails with one message.
int fail(MtlcContext* context, DiagId id, DiagArgs args);

// A copy for the caller, with a zero after it; nullptr without memory.
char* copyOut(std::string_view bytes, size_t* length);

// ---- Types ----

bool isPointer(const MtlcType* type);
// The type of a value in the IR. A pointer in the DEFAULT space gets `defaultSpace`. Void for NULL
// and for kinds that device code does not have.
ir::Type irType(const MtlcType* type, ir::Space defaultSpace = ir::Space::Global);
ir::Space irSpace(MtlcAddressSpace space, ir::Space defaultSpace);
// "int32", "pointer to float32".
std::string describe(const MtlcType* type);

// ---- Enumerations; the operands come from C, so any number is possible ----

std::optional<ir::MemoryOrder> irOrder(MtlcMemoryOrder order, ir::MemoryOrder otherwise);
std::optional<ir::Scope> irScope(MtlcMemoryScope scope, ir::Scope otherwise);

// ---- Descriptors ----

// What makes no descriptor at all (an unknown enumerator) goes to `problems`, as do the rules that
// hold whatever the operands are.
// "field: reason; field: reason"
std::string describe(const std::vector<ir::DescriptorProblem>& problems);

ir::MmaDesc irDesc(const MtlcTensorMmaDesc& desc, std::vector<ir::DescriptorProblem>& problems);
ir::EpilogueDesc irDesc(const MtlcTensorEpilogueDesc& desc,
                        std::vector<ir::DescriptorProblem>& problems);
ir::TransferDesc irDesc(const MtlcTensorTransferDesc& desc,
                        std::vector<ir::DescriptorProblem>& problems);

}  // namespace mtlc::capi

#endif  // MTLC_CAPI_INTERNAL_H_
