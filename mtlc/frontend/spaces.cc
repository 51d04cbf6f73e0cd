#include "mtlc/frontend/spaces.h"

#include <algorithm>

namespace mtlc::frontend {

using checked::ExprKind;
using checked::LocalKind;
using ir::Space;

namespace {

// Beyond this many combinations of spaces a helper takes generic pointers: recursion that permutes
// its arguments must not multiply without end.
constexpr size_t kMaxSpecializations = 32;
// How many calls deep (in arguments, and in the bodies of helpers) the result of a helper is
// followed before it counts as generic, which is always safe.
constexpr int kMaxDepth = 64;

constexpr int kNullSpace = -1;
constexpr int kGeneric = static_cast<int>(Space::Generic);
constexpr int kGlobal = static_cast<int>(Space::Global);

int join(int a, int b) {
  if (a == kNullSpace) return b;
  if (b == kNullSpace || a == b) return a;
  return kGeneric;
}

Space settled(int space) { return space == kNullSpace ? Space::Global : static_cast<Space>(space); }

// The expression that a pointer comes from, through offsets and casts between pointers.
const checked::Expr* root(const checked::Expr* e) {
  for (;;) {
    if (e->kind == ExprKind::pointerOffset) {
      e = static_cast<const checked::PointerOffsetExpr*>(e)->pointer;
    } else if (e->kind == ExprKind::convert &&
               static_cast<const checked::UnaryExpr*>(e)->operand->type->isPointer()) {
      e = static_cast<const checked::UnaryExpr*>(e)->operand;
    } else {
      return e;
    }
  }
}

}  // namespace

Specialization& SpaceAnalysis::find(const checked::Function* function,
                                    std::span<const Space> params) {
  std::vector<Specialization*>& list = byFunction_[function];
  auto same = [&](const Specialization& s) {
    return std::equal(s.params.begin(), s.params.end(), params.begin(), params.end());
  };
  for (Specialization* s : list) {
    if (same(*s)) return *s;
  }
  std::vector<Space> spaces(params.begin(), params.end());
  if (list.size() >= kMaxSpecializations) {
    std::fill(spaces.begin(), spaces.end(), Space::Generic);
    params = spaces;
    for (Specialization* s : list) {
      if (same(*s)) return *s;
    }
  }
  Specialization& s = storage_.emplace_back();
  s.function = function;
  s.params = std::move(spaces);
  list.push_back(&s);
  return s;
}

Specialization& SpaceAnalysis::get(const checked::Function* function,
                                   std::span<const Space> params) {
  Specialization& s = find(function, params);
  if (s.progress == Specialization::Progress::waiting) solve(s);
  return s;
}

int SpaceAnalysis::localSpace(const checked::Local* local, const std::vector<int>& locals) {
  switch (local->kind) {
    case LocalKind::privateArray:
      return static_cast<int>(Space::Private);
    case LocalKind::workgroupArray:
    case LocalKind::dynamicWorkgroup:
      return static_cast<int>(Space::Workgroup);
    case LocalKind::parameter:
    case LocalKind::variable:
      break;
  }
  return locals[local->index];
}

int SpaceAnalysis::space(const checked::Expr* e, const Specialization& in,
                         const std::vector<int>& locals) {
  e = root(e);
  switch (e->kind) {
    case ExprKind::constant:
      return kNullSpace;
    case ExprKind::local:
      return localSpace(static_cast<const checked::LocalExpr*>(e)->local, locals);
    case ExprKind::decay:
      return localSpace(
          static_cast<const checked::LocalExpr*>(static_cast<const checked::UnaryExpr*>(e)->operand)
              ->local,
          locals);
    case ExprKind::addressOf:
      return static_cast<int>(Space::Private);
    case ExprKind::call: {
      auto* call = static_cast<const checked::CallExpr*>(e);
      if (call->callee->pointerReturns.empty()) return kGlobal;
      if (depth_ >= kMaxDepth) return kGeneric;
      ++depth_;
      std::vector<Space> args;
      for (const checked::Expr* a : call->args) {
        if (a->type->isPointer()) args.push_back(settled(space(a, in, locals)));
      }
      Specialization& callee = find(call->callee, args);
      if (callee.progress == Specialization::Progress::waiting) solve(callee);
      --depth_;
      if (callee.progress == Specialization::Progress::running) {
        callee.genericResult = true;
        return kGeneric;
      }
      return static_cast<int>(callee.result);
    }
    default:
      // Loaded from memory, or made from an integer.
      return kGlobal;
  }
}

// Spaces grow from "null" through one space to generic, so each variable changes twice at most and
// only the assignments that read it are looked at again.
void SpaceAnalysis::solve(Specialization& s) {
  const checked::Function& f = *s.function;
  s.progress = Specialization::Progress::running;
  std::vector<int> locals(f.locals.size(), kNullSpace);
  size_t next = 0;
  for (const checked::Local* p : f.params) {
    if (p->type->isPointer()) locals[p->index] = static_cast<int>(s.params[next++]);
  }
  // A variable whose address is taken is memory, and memory holds pointers to global memory.
  for (const checked::Local* l : f.locals) {
    if (l->type->isPointer() && l->addressTaken) locals[l->index] = kGlobal;
  }
  std::vector<std::vector<uint32_t>> readers(f.locals.size());
  std::vector<uint32_t> work;
  for (uint32_t i = 0; i < f.pointerAssignments.size(); ++i) {
    work.push_back(i);
    // The variables that the value's space follows from, also as arguments of calls.
    std::vector<const checked::Expr*> parts{f.pointerAssignments[i].value};
    while (!parts.empty()) {
      const checked::Expr* r = root(parts.back());
      parts.pop_back();
      if (r->kind == ExprKind::local) {
        readers[static_cast<const checked::LocalExpr*>(r)->local->index].push_back(i);
      } else if (r->kind == ExprKind::call) {
        for (const checked::Expr* a : static_cast<const checked::CallExpr*>(r)->args) {
          if (a->type->isPointer()) parts.push_back(a);
        }
      }
    }
  }
  std::reverse(work.begin(), work.end());
  while (!work.empty()) {
    const checked::PointerAssignment& a = f.pointerAssignments[work.back()];
    work.pop_back();
    if (a.local->addressTaken) continue;
    int now = join(locals[a.local->index], space(a.value, s, locals));
    if (now == locals[a.local->index]) continue;
    locals[a.local->index] = now;
    for (uint32_t reader : readers[a.local->index]) work.push_back(reader);
  }
  int result = kNullSpace;
  for (const checked::Expr* e : f.pointerReturns) result = join(result, space(e, s, locals));
  s.locals.resize(locals.size());
  std::transform(locals.begin(), locals.end(), s.locals.begin(), settled);
  s.result = s.genericResult ? Space::Generic : settled(result);
  s.progress = Specialization::Progress::done;
}

Space SpaceAnalysis::spaceOf(const checked::Expr* e, const Specialization& in) {
  std::vector<int> locals;
  const checked::Expr* r = root(e);
  if (r->kind == ExprKind::local) {
    const checked::Local* l = static_cast<const checked::LocalExpr*>(r)->local;
    if (l->kind == LocalKind::parameter || l->kind == LocalKind::variable) {
      return in.locals[l->index];
    }
  }
  if (r->kind == ExprKind::call) {
    std::vector<Space> args;
    argumentSpaces(static_cast<const checked::CallExpr*>(r), in, &args);
    return get(static_cast<const checked::CallExpr*>(r)->callee, args).result;
  }
  return settled(space(r, in, locals));
}

void SpaceAnalysis::argumentSpaces(const checked::CallExpr* call, const Specialization& in,
                                   std::vector<Space>* out) {
  for (const checked::Expr* a : call->args) {
    if (a->type->isPointer()) out->push_back(spaceOf(a, in));
  }
}

}  // namespace mtlc::frontend
