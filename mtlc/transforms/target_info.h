// What transforms may ask about the machine that code is made for, without knowing which it is.

#ifndef MTLC_TRANSFORMS_TARGET_INFO_H_
#define MTLC_TRANSFORMS_TARGET_INFO_H_

#include <string_view>

#include "mtlc/ir/ir.h"

namespace mtlc {

// Implemented by each code generator (mtlc/codegen). Answers are constant for the life of the
// object.
class TargetInfo {
 public:
  virtual ~TargetInfo() = default;

  // As diagnostics and remarks name it: "sm_121a".
  virtual std::string_view name() const = 0;

  // True if the code generator emits `op` as it stands. What is false here has to be expanded by a
  // legalising pass: mathematical functions without `approx` by expand-math, for example.
  virtual bool isNative(const ir::Operation& op) const = 0;

  // Work-items of a subgroup; 0 when only known at run time.
  virtual unsigned subgroupSize() const = 0;
};

}  // namespace mtlc

#endif  // MTLC_TRANSFORMS_TARGET_INFO_H_
