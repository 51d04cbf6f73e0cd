// A look at the bytes of a module before protobuf takes memory for them.

#ifndef MTLC_IR_PROTO_SCAN_H_
#define MTLC_IR_PROTO_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mtlc::ir {

struct ProtoScan {
  uint64_t records = 0;             // Fields with a length: messages, texts, packed lists.
  std::optional<size_t> damagedAt;  // The byte from which on nothing can be read.
  std::string place;                // What is damaged: "function 2, operation 17".
};

// Counts; notices damage of the structure.
ProtoScan scanProto(std::string_view bytes);
// Finds the damage in bytes that protobuf refuses; the structure of operations is checked, too.
ProtoScan locateDamage(std::string_view bytes);

}  // namespace mtlc::ir

#endif  // MTLC_IR_PROTO_SCAN_H_
