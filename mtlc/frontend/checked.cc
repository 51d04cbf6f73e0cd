#include "mtlc/frontend/checked.h"

namespace mtlc::frontend::checked {

const Expr* leftOperand(const Expr* e) {
  switch (e->kind) {
    case ExprKind::binary:
      return static_cast<const BinaryExpr*>(e)->lhs;
    case ExprKind::compare:
      return static_cast<const CompareExpr*>(e)->lhs;
    case ExprKind::logical:
      return static_cast<const LogicalExpr*>(e)->lhs;
    case ExprKind::pointerOffset: {
      auto* x = static_cast<const PointerOffsetExpr*>(e);
      return x->indexFirst ? x->index : x->pointer;
    }
    case ExprKind::pointerDifference:
      return static_cast<const PointerDifferenceExpr*>(e)->lhs;
    case ExprKind::convert:
      return static_cast<const UnaryExpr*>(e)->operand;
    default:
      return nullptr;
  }
}

}  // namespace mtlc::frontend::checked
