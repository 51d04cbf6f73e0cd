// Address spaces of pointers. Mettle's pointer types have none, the IR's do: a helper is
// specialised for the spaces of the pointers it is called with, and a pointer variable has the
// space that all its assignments agree on, or is generic.

#ifndef MTLC_FRONTEND_SPACES_H_
#define MTLC_FRONTEND_SPACES_H_

#include <deque>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/frontend/checked.h"
#include "mtlc/ir/types.h"

namespace mtlc::ir {
class Function;
}

namespace mtlc::frontend {

// One function for one choice of spaces for its pointer parameters.
struct Specialization {
  const checked::Function* function = nullptr;
  std::vector<ir::Space> params;  // Of the pointer parameters, in order.

  std::vector<ir::Space> locals;  // By Local::index; of pointer variables.
  ir::Space result = ir::Space::Global;
  enum class Progress : uint8_t { waiting, running, done } progress = Progress::waiting;
  bool genericResult = false;  // A caller had to assume so before the result was known.

  ir::Function* ir = nullptr;  // Set by IR generation.
};

class SpaceAnalysis {
 public:
  // The specialisation of `function` for these argument spaces, solved. Functions with a great many
  // combinations get one for generic pointers instead (whose `params` say so).
  Specialization& get(const checked::Function* function, std::span<const ir::Space> params);

  // The space of a pointer expression in the body of `in`; Global for null.
  ir::Space spaceOf(const checked::Expr* e, const Specialization& in);
  // The spaces of the pointer arguments of a call in the body of `in`.
  void argumentSpaces(const checked::CallExpr* call, const Specialization& in,
                      std::vector<ir::Space>* out);

 private:
  // A Space, or kNullSpace (spaces.cc) for null alone, which fits any other.
  int space(const checked::Expr* e, const Specialization& in, const std::vector<int>& locals);
  static int localSpace(const checked::Local* local, const std::vector<int>& locals);
  Specialization& find(const checked::Function* function, std::span<const ir::Space> params);
  void solve(Specialization& s);

  std::deque<Specialization> storage_;
  absl::flat_hash_map<const checked::Function*, std::vector<Specialization*>> byFunction_;
  int depth_ = 0;
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_SPACES_H_
