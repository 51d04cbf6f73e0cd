// The protobuf form of the IR (.mtirpb): docs/ir-protobuf.md and module.proto.

#ifndef MTLC_IR_PROTO_H_
#define MTLC_IR_PROTO_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::ir {

// The version of the protobuf form. It changes when a reader of the version before would refuse a
// module or understand it otherwise.
inline constexpr uint32_t kProtoVersion = 1;

// What a reader takes at most: bytes of the file, and in it messages and texts (up to some hundred
// bytes of memory each) and operands (some tens).
inline constexpr size_t kMaxProtoBytes = size_t{1} << 28;
inline constexpr size_t kMaxProtoRecords = size_t{1} << 22;
inline constexpr size_t kMaxProtoOperands = size_t{1} << 24;

// The same module gives the same bytes. Operations without a location stay so. The module need not
// verify; what has no form (an operand or a callee that is missing) makes bytes that readProto()
// refuses.
std::string writeProto(const Module& module);

// Whether the bytes begin as those of writeProto() do.
bool isProto(std::string_view bytes);

// Reads a module from `bytes`, whatever they are. `name` is that of the file, for messages.
// Operations without a location get their place: the file, with the number of the operation in the
// module, from 1 on, as the line. All errors are reported (up to the engine's limit); returns
// nullptr if there was any. The result still needs verify().
std::unique_ptr<Module> readProto(SourceManager& sources, std::string_view name,
                                  std::string_view bytes, DiagnosticEngine& diags);

}  // namespace mtlc::ir

#endif  // MTLC_IR_PROTO_H_
