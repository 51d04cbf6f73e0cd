// From --arg to a launch: arguments are matched with the kernel's parameters, and results with the
// arguments.

#ifndef TOOLS_MTLC_RUN_ARGUMENTS_H_
#define TOOLS_MTLC_RUN_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mtlc/support/arg_spec.h"
#include "mtlc/support/dtype.h"
#include "tools/mtlc-run/device.h"

namespace mtlc::run {

// One parameter of a kernel, as far as the program says.
struct Parameter {
  // Bytes: only the size is known. Workgroup: a pointer to memory of the work-group.
  enum class Kind : uint8_t { Bool, Integer, Float, Pointer, Bytes, Workgroup };
  Kind kind = Kind::Integer;
  uint32_t bytes = 4;
  std::string name;
  std::string typeName;  // "i32", "ptr<global>", "float32*": for messages.
  // Where the source language says it: the exact type, of the scalar or of what the pointer points
  // to.
  std::optional<DType> exact;
  bool isArena = false;  // The launch-sized arena: may be left out, as the last one.
};

struct KernelSignature {
  std::string name;
  std::vector<Parameter> parameters;
};

// What --out and --print ask for: elements [0, count) of argument `index`; nullopt: all.
struct ResultRequest {
  size_t index = 0;
  std::optional<uint64_t> count;
  std::string file;  // --out
};
// "INDEX:FILE" and "INDEX[:COUNT]".
absl::StatusOr<ResultRequest> parseOut(std::string_view text);
absl::StatusOr<ResultRequest> parsePrint(std::string_view text);

// The arguments of one run.
class Arguments {
 public:
  // Reads the specifications (arg_spec.h). The message names the argument.
  absl::Status parse(const std::vector<std::string>& specs);
  // Refuses arguments that don't fit the parameters, in number, size or type.
  absl::Status match(std::string_view kernel, const std::vector<Parameter>& parameters);
  // Refuses a result that is no buffer, or a count past its end.
  absl::Status checkResult(const ResultRequest& result) const;

  // Moves the contents into a request, with what will be read back.
  void moveTo(Request& request, const std::vector<ResultRequest>& results);

  // Element type and shape of a buffer argument, and its place in Request::buffers.
  const ArgSpec& spec(size_t index) const { return specs_[index]; }
  uint32_t bufferIndex(size_t index) const { return bufferIndex_[index]; }

 private:
  std::vector<ArgSpec> specs_;
  std::vector<std::string> texts_;
  std::vector<uint32_t> bufferIndex_;
  size_t parameterCount_ = SIZE_MAX;  // Arguments behind these are for tensor maps only.
  std::vector<bool> isPointer_;       // One per parameter: it is no tensor map itself.
};

}  // namespace mtlc::run

#endif  // TOOLS_MTLC_RUN_ARGUMENTS_H_
