#include "mtlc/frontend/ast.h"

namespace mtlc::frontend::ast {

std::string_view binaryOpText(BinaryOp op) {
  constexpr std::string_view kTexts[] = {"*", "/",  "%",  "+",  "-", "<<", ">>", "<",  "<=",
                                         ">", ">=", "==", "!=", "&", "^",  "|",  "&&", "||"};
  return kTexts[static_cast<size_t>(op)];
}

}  // namespace mtlc::frontend::ast
