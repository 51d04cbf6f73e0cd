#include "mtlc/frontend/builtins.h"

namespace mtlc::frontend {

std::span<const Builtin> builtins() {
  static constexpr Builtin kRows[] = {
#define INDEX(name, Kind) {#name, BuiltinForm::index, BuiltinKind::Kind, 0, {}},
#define INDEX_FUNCTION(name, Kind, d) {#name, BuiltinForm::indexFunction, BuiltinKind::Kind, d, {}},
#define CONTROL(name, Kind) {#name, BuiltinForm::control, BuiltinKind::Kind, 0, {}},
#define SUBGROUP(name, Kind, types) {#name, BuiltinForm::subgroup, BuiltinKind::Kind, 0, types},
#define ATOMIC(name, Kind, values) {#name, BuiltinForm::atomic, BuiltinKind::Kind, values, {}},
#define ASYNC(name, Kind) {#name, BuiltinForm::async, BuiltinKind::Kind, 0, {}},
#define TENSOR(name, Kind) {#name, BuiltinForm::tensor, BuiltinKind::Kind, 0, {}},
#define MATH(name, Kind, signature) {#name, BuiltinForm::math, BuiltinKind::Kind, 0, signature},
#include "mtlc/frontend/builtins.def"
  };
  return kRows;
}

}  // namespace mtlc::frontend
