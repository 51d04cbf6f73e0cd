#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "test/random/mettle_program.h"

namespace mtlc::random_test {
namespace {

using Kind = MExpr::Kind;

class Generator {
 public:
  Generator(MProgram& program, uint64_t seed) : p_(program), random_(seed) {}

  void run() {
    p_.cells.assign(kOutputCells, MType::Void);
    for (uint32_t i = pick(4); i > 0; --i) addConst();
    for (uint32_t i = pick(4); i > 0; --i) addHelper();
    addKernel();
  }

 private:
  // ---- Chance ----

  uint32_t pick(uint64_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t oneIn) { return pick(oneIn) == 0; }
  template <typename T>
  const T& among(const std::vector<T>& from) {
    return from[pick(from.size())];
  }
  MType anyType() { return static_cast<MType>(pick(kScalarMTypes)); }
  MType anyInt() { return static_cast<MType>(1 + pick(8)); }
  MType anyNumber() { return static_cast<MType>(1 + pick(10)); }

  uint64_t integerBits(MType t) {
    const unsigned width = widthOf(t);
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t corners[] = {0,     1,         mask,      sign,     sign - 1,
                                width, width - 1, width + 1, mask - 1, sign + 1};
    switch (pick(4)) {
      case 0:
        return corners[pick(std::size(corners))] & mask;
      case 1:
        return random_() & mask;
      default:
        return (random_() % 21 - 5) & mask;
    }
  }
  double finite(MType t) {
    // Values that print exactly in few digits, and some of every magnitude.
    constexpr double kPlain[] = {0,
                                 0.5,
                                 1,
                                 1.5,
                                 2,
                                 3.25,
                                 10,
                                 255,
                                 256.5,
                                 32768,
                                 65536,
                                 2147483648.0,
                                 1e10,
                                 0.1,
                                 1e-3,
                                 16777217,
                                 4294967296.0,
                                 9223372036854775808.0};
    double d = chance(3) ? std::ldexp(static_cast<double>(random_() % 10000),
                                      static_cast<int>(pick(100)) - 60)
                         : kPlain[pick(std::size(kPlain))];
    if (t == MType::F32) d = static_cast<double>(static_cast<float>(d));
    return chance(4) ? -d : d;
  }

  // ---- Expressions ----

  MExpr* node(Kind kind, MType type) {
    MExpr e;
    e.kind = kind;
    e.type = type;
    return p_.make(std::move(e));
  }
  MExpr* literal(MType t) {
    MExpr* e = node(Kind::Literal, t);
    if (t == MType::Bool) {
      e->bits = pick(2);
    } else if (isFloat(t)) {
      const double d = finite(t);
      e->number = d;
      e->bits = t == MType::F32 ? std::bit_cast<uint32_t>(static_cast<float>(d))
                                : std::bit_cast<uint64_t>(d);
    } else if (t == MType::Generic) {
      e->bits = pick(20);
    } else {
      e->bits = integerBits(t);
    }
    return e;
  }
  MExpr* integer(MType t, uint64_t bits) {
    MExpr* e = node(Kind::Literal, t);
    e->bits = bits;
    return e;
  }
  MExpr* variable(uint32_t index) {
    MExpr* e = node(Kind::Variable, f_->variables[index].type);
    e->index = index;
    return e;
  }
  MExpr* cast(MType t, MExpr* a) {
    MExpr* e = node(Kind::Cast, t);
    e->args = {a};
    return e;
  }
  MExpr* binaryOp(MOp op, MType t, MExpr* a, MExpr* b) {
    MExpr* e = node(Kind::Binary, t);
    e->op = op;
    e->args = {a, b};
    return e;
  }
  MExpr* unaryOp(MOp op, MType t, MExpr* a) {
    MExpr* e = node(Kind::Unary, t);
    e->op = op;
    e->args = {a};
    return e;
  }

  // An index below a power of two: any integer, masked where it is used.
  MExpr* indexed(Kind kind, MType t, uint32_t variableIndex, uint64_t elements, int depth) {
    MExpr* e = node(kind, t);
    e->index = variableIndex;
    e->mask = elements - 1;
    e->args = {generic_ || elements == 1
                   ? integer(MType::I32, pick(elements))
                   : expression(chance(2) ? MType::I32 : anyInt(), std::min(depth, 2))};
    return e;
  }

  MExpr* leaf(MType t) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      switch (pick(6)) {
        case 0:
        case 1:
        case 2: {
          std::vector<uint32_t> fits;
          for (uint32_t v : visible_) {
            if (f_->variables[v].type == t && f_->variables[v].elements == 0) fits.push_back(v);
          }
          if (!fits.empty()) return variable(among(fits));
          break;
        }
        case 3:
          if (isKernel_ && t != MType::Bool && t != MType::Generic) {
            const uint64_t elements = kSourceCells * 64 / widthOf(t);
            MExpr* e = indexed(Kind::Source, t, 0, elements, 0);
            return e;
          }
          break;
        case 4: {
          std::vector<uint32_t> fits;
          for (uint32_t i = 0; i < p_.consts.size(); ++i) {
            if (p_.consts[i].type == t) fits.push_back(i);
          }
          if (fits.empty()) break;
          MExpr* e = node(Kind::Const, t);
          e->index = among(fits);
          return e;
        }
        case 5:
          if (t == MType::I32 && !generic_ && chance(2)) {
            MExpr* e = node(Kind::Position, t);
            e->index = pick(4);
            return e;
          }
          break;
      }
    }
    return literal(t);
  }

  // An operand that makes arithmetic with a `t` stay in `t`.
  MType partner(MType t) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const MType other = anyType();
      if (commonType(t, other) == t) return other;
    }
    return t;
  }

  MExpr* expression(MType t, int depth) {
    if (depth <= 0 || chance(5)) return leaf(t);
    if (chance(6)) {
      if (MExpr* e = element(t, depth)) return e;
    }
    if (chance(7)) {
      if (MExpr* e = callFor(t, depth)) return e;
    }
    if (t == MType::Generic) return genericExpression(depth);
    if (t == MType::Bool) return condition(depth);
    if (chance(5) && !generic_) return cast(t, expression(anyType(), depth - 1));
    if (chance(8) && !generic_) {
      if (MExpr* e = builtinFor(t, depth)) return e;
    }
    if (isFloat(t)) return floatExpression(t, depth);
    return integerExpression(t, depth);
  }

  MExpr* genericExpression(int depth) {
    constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul};
    if (chance(6)) return unaryOp(MOp::Neg, MType::Generic, expression(MType::Generic, depth - 1));
    return binaryOp(kOps[pick(3)], MType::Generic, expression(MType::Generic, depth - 1),
                    expression(MType::Generic, depth - 1));
  }

  MExpr* condition(int depth) {
    if (generic_) {
      constexpr MOp kOps[] = {MOp::Lt, MOp::Le, MOp::Gt, MOp::Ge, MOp::Eq, MOp::Ne};
      return binaryOp(kOps[pick(6)], MType::Bool, expression(MType::Generic, depth - 1),
                      expression(MType::Generic, depth - 1));
    }
    switch (pick(8)) {
      case 0:
        return binaryOp(chance(2) ? MOp::LogicalAnd : MOp::LogicalOr, MType::Bool,
                        expression(anyType(), depth - 1),
                        expression(chance(2) ? MType::Bool : anyType(), depth - 1));
      case 1:
        return unaryOp(MOp::LogicalNot, MType::Bool, expression(anyType(), depth - 1));
      case 2: {
        constexpr MOp kOps[] = {MOp::And, MOp::Or, MOp::Xor, MOp::Eq, MOp::Ne};
        return binaryOp(kOps[pick(5)], MType::Bool, expression(MType::Bool, depth - 1),
                        expression(MType::Bool, depth - 1));
      }
      case 3:
        return cast(MType::Bool, expression(anyType(), depth - 1));
      default: {
        constexpr MOp kOps[] = {MOp::Lt, MOp::Le, MOp::Gt, MOp::Ge, MOp::Eq, MOp::Ne};
        MExpr* a = expression(anyType(), depth - 1);
        MExpr* b = a->type == MType::F32 && chance(4)
                       ? adapted()
                       : expression(chance(2) ? a->type : anyType(), depth - 1);
        if (chance(2)) std::swap(a, b);
        return binaryOp(kOps[pick(6)], MType::Bool, a, b);
      }
    }
  }

  // A bare float literal: converted once to float32 by what stands beside it.
  MExpr* adapted() {
    MExpr* e = node(Kind::Adapted, MType::F32);
    e->number = std::fabs(finite(MType::F64));
    return e;
  }

  MExpr* floatExpression(MType t, int depth) {
    constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul, MOp::Div};
    if (chance(8)) return unaryOp(MOp::Neg, t, expression(t, depth - 1));
    MExpr* a = expression(t, depth - 1);
    // A literal adapts only to what is not a literal expression itself; variables, calls and casts
    // are not.
    MExpr* b = t == MType::F32 && chance(5) ? adapted() : expression(partner(t), depth - 1);
    if (chance(2)) std::swap(a, b);
    return binaryOp(kOps[pick(4)], t, a, b);
  }

  MExpr* integerExpression(MType t, int depth) {
    constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul, MOp::Div,
                            MOp::Rem, MOp::And, MOp::Or,  MOp::Xor};
    switch (pick(6)) {
      case 0:
        return unaryOp(chance(2) ? MOp::Neg : MOp::Not, t, expression(t, depth - 1));
      case 1:
        return binaryOp(chance(2) ? MOp::Shl : MOp::Shr, t, expression(t, depth - 1),
                        expression(anyInt(), depth - 1));
      default: {
        const MOp op = kOps[pick(std::size(kOps))];
        MExpr* a = expression(t, depth - 1);
        MExpr* b = expression(partner(t), depth - 1);
        if (chance(2)) std::swap(a, b);
        return binaryOp(op, t, a, b);
      }
    }
  }

  MExpr* builtinFor(MType t, int depth) {
    MExpr* e = node(Kind::Builtin, t);
    if (isFloat(t)) {
      e->builtin = static_cast<MBuiltin>(pick(10));
      if (t == MType::F32 && chance(6)) {
        e->builtin = chance(2) ? MBuiltin::ThroughHalf : MBuiltin::ThroughBfloat;
      }
      const int args = e->builtin == MBuiltin::Fma                                    ? 3
                       : e->builtin == MBuiltin::Fmin || e->builtin == MBuiltin::Fmax ? 2
                                                                                      : 1;
      for (int i = 0; i < args; ++i) e->args.push_back(expression(t, depth - 1));
      return e;
    }
    switch (pick(3)) {
      case 0:
        e->builtin = chance(2) ? MBuiltin::Min : MBuiltin::Max;
        e->args = {expression(t, depth - 1), expression(t, depth - 1)};
        return e;
      case 1:
        e->builtin = MBuiltin::Abs;
        e->args = {expression(t, depth - 1)};
        return e;
      default:
        if (t != MType::I32) return nullptr;
        e->builtin = chance(2) ? MBuiltin::Clz : MBuiltin::Popcount;
        e->args = {expression(anyInt(), depth - 1)};
        return e;
    }
  }

  MExpr* element(MType t, int depth) {
    std::vector<uint32_t> fits;
    for (uint32_t v : visible_) {
      if (f_->variables[v].type == t && f_->variables[v].elements > 0) fits.push_back(v);
    }
    if (fits.empty()) return nullptr;
    const uint32_t v = among(fits);
    return indexed(Kind::Element, t, v, f_->variables[v].elements, depth - 1);
  }

  MExpr* callFor(MType t, int depth) {
    std::vector<uint32_t> fits;
    for (uint32_t i = 0; i < helperCount_; ++i) {
      const MFunction& f = p_.functions[i];
      if (f.result == t && !f.isGeneric) fits.push_back(i);
      if (f.isGeneric && t != MType::Bool && t != MType::Generic) fits.push_back(i);
    }
    if (fits.empty() || generic_) return nullptr;
    MExpr* e = node(Kind::Call, t);
    e->index = among(fits);
    const MFunction& f = p_.functions[e->index];
    if (f.isGeneric) e->typeArgument = t;
    for (uint32_t i = 0; i < f.paramCount; ++i) {
      const MVariable& param = f.variables[i];
      if (!param.isPointer) {
        e->args.push_back(valueFor(param.type == MType::Generic ? t : param.type, depth - 1));
        continue;
      }
      MExpr* address = addressFor(param);
      if (!address) return nullptr;
      e->args.push_back(address);
    }
    return e;
  }

  // Something for a pointer parameter to point to, or nothing if there is nothing that fits.
  MExpr* addressFor(const MVariable& param) {
    MExpr* e = node(Kind::Address, param.type);
    if (param.isReadOnly && isKernel_ && param.type != MType::Bool && chance(2)) {
      e->bits = 1;
      e->mask = pick(kSourceCells * 64 / widthOf(param.type) - param.elements + 1);
      return e;
    }
    std::vector<uint32_t> fits;
    for (uint32_t v : visible_) {
      const MVariable& candidate = f_->variables[v];
      if (candidate.type != param.type || isLoopVariable(v)) continue;
      if (candidate.isReadOnly && !param.isReadOnly) continue;
      if (std::max(candidate.elements, 1u) >= param.elements) fits.push_back(v);
    }
    if (fits.empty()) return nullptr;
    e->index = among(fits);
    const uint32_t elements = f_->variables[e->index].elements;
    if (elements > param.elements) e->mask = pick(elements - param.elements + 1);
    return e;
  }

  // A value for a place of type `t`, with an implicit conversion where the language has one.
  MExpr* valueFor(MType t, int depth) {
    if (generic_ || t == MType::Generic) return expression(t, depth);
    if (chance(2)) return expression(t, depth);
    if (t == MType::F32 && chance(4)) return adapted();
    MExpr* e = expression(anyType(), depth);
    if (isFloat(e->type) && !isFloat(t)) return cast(t, e);
    return e;
  }

  // ---- Statements ----

  MStmt* statementNode(MStmt::Kind kind) {
    MStmt s;
    s.kind = kind;
    return p_.make(std::move(s));
  }

  bool isLoopVariable(uint32_t v) const {
    return std::find(loopVariables_.begin(), loopVariables_.end(), v) != loopVariables_.end();
  }

  std::string freshName() {
    constexpr const char* kWords[] = {"a",   "b",   "c",   "d",   "sum", "mov",
                                      "div", "eax", "ret", "tmp", "in_", "v"};
    return std::string(kWords[pick(std::size(kWords))]) + std::to_string(nextName_++);
  }

  // A new variable, visible from now on; in an inner block it sometimes takes the name of an outer
  // one.
  uint32_t declare(MType t, uint32_t elements) {
    std::string name = freshName();
    if (depth_ > 1 && chance(8)) {
      std::vector<uint32_t> outer;
      for (uint32_t v : visible_) {
        if (std::find(scope_.begin(), scope_.end(), v) == scope_.end() && v >= f_->paramCount)
          outer.push_back(v);
      }
      if (!outer.empty()) {
        const uint32_t hidden = among(outer);
        name = f_->variables[hidden].name;
        std::erase(visible_, hidden);
      }
    }
    const uint32_t index = static_cast<uint32_t>(f_->variables.size());
    MVariable v;
    v.name = name;
    v.type = t;
    v.elements = elements;
    f_->variables.push_back(v);
    return index;
  }
  void show(uint32_t v) {
    visible_.push_back(v);
    scope_.push_back(v);
  }

  // A body in a scope of its own.
  MBody block(uint32_t statements, bool isLoop) {
    const std::vector<uint32_t> visible = visible_, scope = scope_;
    scope_.clear();
    ++depth_;
    MBody body;
    if (isLoop) spendFuel(body);
    for (; statements > 0; --statements) statement(body);
    --depth_;
    visible_ = visible;
    scope_ = scope;
    return body;
  }

  void spendFuel(MBody& body) {
    MStmt* spend = statementNode(MStmt::Kind::Compound);
    spend->target = variable(fuel_);
    spend->op = MOp::Sub;
    spend->value = integer(MType::I32, 1);
    MStmt* stop = statementNode(MStmt::Kind::If);
    stop->cond = binaryOp(MOp::Lt, MType::Bool, variable(fuel_), integer(MType::I32, 0));
    stop->body = {statementNode(MStmt::Kind::Break)};
    body.push_back(spend);
    body.push_back(stop);
  }

  void statement(MBody& body) {
    if (budget_ <= 0) return;
    --budget_;
    const bool nested = depth_ < 5;
    switch (pick(16)) {
      case 0:
      case 1: {
        const MType t = generic_ ? MType::Generic : anyType();
        const uint32_t elements = chance(4) ? 1u << (1 + pick(3)) : 0;
        MStmt* s = statementNode(MStmt::Kind::Declare);
        // The name is chosen first: what it hides is out of reach for the initial value.
        s->index = declare(t, elements);
        s->value = valueFor(t, 3);
        show(s->index);
        body.push_back(s);
        return;
      }
      case 2:
      case 3:
      case 4:
        assign(body);
        return;
      case 5:
      case 6:
        if (isKernel_) output(body, generic_ ? MType::Generic : anyType());
        return;
      case 7:
      case 8:
        if (nested) {
          MStmt* s = statementNode(MStmt::Kind::If);
          s->cond = generic_ ? condition(2) : expression(chance(2) ? MType::Bool : anyType(), 3);
          s->body = block(1 + pick(3), false);
          if (chance(2)) s->otherwise = block(1 + pick(3), false);
          body.push_back(s);
        }
        return;
      case 9:
      case 10:
        if (nested) loop(body);
        return;
      case 11:
        if (nested) switchStatement(body);
        return;
      case 12:
        if (!labels_.empty()) leave(body);
        return;
      case 13:
        if (depth_ > 1 && mayReturn_ && chance(2)) {
          MStmt* s = statementNode(MStmt::Kind::Return);
          if (f_->result != MType::Void) s->value = valueFor(f_->result, 2);
          body.push_back(s);
        }
        return;
      case 14:
        if (isKernel_ && depth_ == 1 && !mayReturn_)
          body.push_back(statementNode(MStmt::Kind::Barrier));
        return;
      case 15:
        if (nested) {
          MStmt* s = statementNode(MStmt::Kind::Block);
          s->body = block(1 + pick(3), false);
          body.push_back(s);
        }
        return;
    }
  }

  void assign(MBody& body) {
    std::vector<uint32_t> fits;
    for (uint32_t v : visible_) {
      if (!f_->variables[v].isReadOnly && !isLoopVariable(v)) fits.push_back(v);
    }
    if (fits.empty()) return;
    const uint32_t v = among(fits);
    const MType t = f_->variables[v].type;
    MExpr* target = f_->variables[v].elements > 0
                        ? indexed(Kind::Element, t, v, f_->variables[v].elements, 1)
                        : variable(v);
    MStmt* s = statementNode(MStmt::Kind::Assign);
    s->target = target;
    if (t == MType::Bool || chance(2)) {
      s->value = valueFor(t, 4);
    } else {
      s->kind = MStmt::Kind::Compound;
      if (t == MType::Generic || isFloat(t)) {
        constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul, MOp::Div};
        s->op = kOps[pick(t == MType::Generic ? 3 : 4)];
        s->value = t == MType::Generic ? expression(t, 2) : expression(anyType(), 3);
      } else {
        constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul, MOp::Div, MOp::Rem,
                                MOp::And, MOp::Or,  MOp::Xor, MOp::Shl, MOp::Shr};
        s->op = kOps[pick(std::size(kOps))];
        const bool shift = s->op == MOp::Shl || s->op == MOp::Shr;
        s->value = expression(shift || chance(2) ? anyInt() : t, 3);
      }
    }
    body.push_back(s);
  }

  void output(MBody& body, MType t) {
    if (nextCell_ >= kOutputCells) return;
    MStmt* s = statementNode(MStmt::Kind::Output);
    s->type = t;
    s->index = nextCell_;
    s->value = valueFor(t, 3);
    p_.cells[nextCell_++] = t;
    body.push_back(s);
  }

  struct Label {
    uint32_t label;
    bool isLoop;
  };

  void loop(MBody& body) {
    MStmt* s = nullptr;
    const uint32_t label = chance(2) ? ++lastLabel_ : 0;
    const size_t loopVariables = loopVariables_.size();
    const std::vector<uint32_t> visible = visible_, scope = scope_;
    switch (pick(3)) {
      case 0:
        s = statementNode(MStmt::Kind::While);
        s->cond = chance(4)  ? integer(MType::Bool, 1)
                  : generic_ ? condition(2)
                             : expression(chance(2) ? MType::Bool : anyType(), 3);
        break;
      case 1: {
        s = statementNode(MStmt::Kind::For);
        const MType t = generic_ ? MType::I32 : anyInt();
        // The header is a scope; its variable is seen by the condition, the step and the body.
        scope_.clear();
        ++depth_;
        s->index = declare(t, 0);
        s->value = !generic_ && chance(2) ? expression(t, 2) : integer(t, pick(4));
        show(s->index);
        --depth_;
        s->cond = binaryOp(chance(2) ? MOp::Lt : MOp::Ne, MType::Bool, variable(s->index),
                           generic_ ? integer(t, pick(12)) : expression(t, 1));
        s->step = statementNode(MStmt::Kind::Compound);
        s->step->target = variable(s->index);
        s->step->op = chance(4) ? MOp::Sub : MOp::Add;
        s->step->value = integer(MType::I32, 1 + pick(3));
        // Its own step is the only change in half of the loops.
        if (chance(2)) loopVariables_.push_back(s->index);
        break;
      }
      case 2: {
        s = statementNode(MStmt::Kind::ForRange);
        const MType t = generic_ ? MType::I32 : anyInt();
        auto small = [&] {
          MExpr* e = generic_ ? integer(MType::I32, pick(8)) : expression(MType::I32, 2);
          return binaryOp(MOp::And, MType::I32, e, integer(MType::I32, 7));
        };
        s->inclusive = chance(2);
        scope_.clear();
        ++depth_;
        s->index = declare(t, 0);
        s->value = small();
        s->cond = small();
        show(s->index);
        --depth_;
        loopVariables_.push_back(s->index);
        break;
      }
    }
    s->label = label;
    labels_.push_back({label, true});
    s->body = block(1 + pick(4), true);
    labels_.pop_back();
    loopVariables_.resize(loopVariables);
    visible_ = visible;
    scope_ = scope;
    body.push_back(s);
  }

  void switchStatement(MBody& body) {
    MStmt* s = statementNode(MStmt::Kind::Switch);
    const MType t = generic_ ? MType::I32 : anyInt();
    s->value = generic_ ? integer(MType::I32, pick(6)) : expression(t, 2);
    if (!generic_ && chance(2)) {
      s->value = binaryOp(MOp::And, commonType(t, MType::I32), s->value, integer(MType::I32, 7));
    }
    s->label = 0;
    labels_.push_back({0, false});
    bool hasDefault = false;
    int64_t next = static_cast<int64_t>(pick(3));
    for (uint32_t i = 1 + pick(5); i > 0; --i) {
      MCase c;
      if (!hasDefault && chance(5)) {
        c.isDefault = hasDefault = true;
      }
      for (uint32_t k = c.isDefault ? pick(2) : 1 + pick(2); k > 0; --k) {
        const int64_t last = next + (chance(3) ? pick(3) : 0);
        c.ranges.push_back({next, last});
        next = last + 1 + pick(2);
      }
      const std::vector<uint32_t> visible = visible_, scope = scope_;
      ++depth_;
      MBody inner;
      for (uint32_t k = pick(3); k > 0; --k) assignOrOutput(inner);
      if (chance(3)) inner.push_back(blockStatement());
      if (!chance(3)) inner.push_back(statementNode(MStmt::Kind::Break));
      --depth_;
      visible_ = visible;
      scope_ = scope;
      c.body = std::move(inner);
      s->cases.push_back(std::move(c));
    }
    labels_.pop_back();
    body.push_back(s);
  }
  void assignOrOutput(MBody& body) {
    if (chance(3) && isKernel_) {
      output(body, anyType());
    } else {
      assign(body);
    }
  }
  MStmt* blockStatement() {
    MStmt* s = statementNode(MStmt::Kind::Block);
    s->body = block(1 + pick(2), false);
    return s;
  }

  // break or continue, behind a condition so that what follows isn't dead.
  void leave(MBody& body) {
    MStmt* s = statementNode(chance(2) ? MStmt::Kind::Break : MStmt::Kind::Continue);
    bool inLoop = false;
    std::vector<uint32_t> named;
    for (const Label& l : labels_) {
      inLoop = inLoop || l.isLoop;
      if (l.isLoop && l.label != 0) named.push_back(l.label);
    }
    if (s->kind == MStmt::Kind::Continue && !inLoop) return;
    if (!named.empty() && chance(2)) s->label = among(named);
    MStmt* guard = statementNode(MStmt::Kind::If);
    guard->cond = generic_ ? condition(2) : expression(MType::Bool, 3);
    guard->body = {s};
    body.push_back(guard);
  }

  // ---- Functions ----

  void addConst() {
    const MType t = anyType();
    f_ = nullptr;
    MExpr* value = literal(t);
    if (isInt(t) && chance(2)) {
      constexpr MOp kOps[] = {MOp::Add, MOp::Sub, MOp::Mul, MOp::Div, MOp::Rem,
                              MOp::And, MOp::Or,  MOp::Xor, MOp::Shl, MOp::Shr};
      value = binaryOp(kOps[pick(std::size(kOps))], t, value, literal(t));
    }
    p_.consts.push_back({"K" + std::to_string(p_.consts.size()), t, value});
  }

  void begin(MFunction& f) {
    f_ = &f;
    visible_.clear();
    scope_.clear();
    labels_.clear();
    loopVariables_.clear();
    lastLabel_ = 0;
    depth_ = 1;
    for (uint32_t i = 0; i < f.paramCount; ++i) visible_.push_back(i);
  }

  // The fuel of all loops of the function; nothing else may touch it.
  void declareFuel(MBody& body, uint32_t amount) {
    MStmt* s = statementNode(MStmt::Kind::Declare);
    s->value = integer(MType::I32, amount);
    s->index = fuel_ = static_cast<uint32_t>(f_->variables.size());
    MVariable v;
    v.name = "fuel";
    v.type = MType::I32;
    f_->variables.push_back(v);
    body.push_back(s);
  }

  void addHelper() {
    MFunction f;
    f.name = "h" + std::to_string(p_.functions.size());
    f.isGeneric = generic_ = chance(4);
    f.result = generic_ ? MType::Generic : anyType();
    for (uint32_t i = 1 + pick(4); i > 0; --i) {
      MVariable v;
      v.name = "p" + std::to_string(f.variables.size());
      v.type = generic_ ? MType::Generic : anyType();
      if (!generic_ && chance(4)) {
        v.isPointer = true;
        v.elements = 1u << pick(3);
        v.isReadOnly = chance(2);
      }
      f.variables.push_back(v);
    }
    f.paramCount = static_cast<uint32_t>(f.variables.size());
    begin(f);
    isKernel_ = false;
    mayReturn_ = true;
    budget_ = 6 + static_cast<int>(pick(10));
    declareFuel(f.body, 4 + pick(8));
    for (uint32_t i = 2 + pick(4); i > 0; --i) statement(f.body);
    MStmt* s = statementNode(MStmt::Kind::Return);
    s->value = valueFor(f.result, 3);
    f.body.push_back(s);
    generic_ = false;
    p_.functions.push_back(std::move(f));
    helperCount_ = static_cast<uint32_t>(p_.functions.size());
  }

  void addKernel() {
    MFunction f;
    f.name = "k";
    for (uint32_t i = 1 + pick(6); i > 0; --i) {
      MVariable v;
      v.name = "p" + std::to_string(f.variables.size());
      v.type = anyType();
      f.variables.push_back(v);
    }
    f.paramCount = static_cast<uint32_t>(f.variables.size());
    begin(f);
    isKernel_ = true;
    mayReturn_ = chance(3);
    budget_ = 15 + static_cast<int>(pick(35));
    declareFuel(f.body, 6 + pick(20));
    for (uint32_t i = 6 + pick(10); i > 0; --i) statement(f.body);
    // What the variables hold at the end.
    for (uint32_t v : visible_) {
      if (f.variables[v].elements > 0 || nextCell_ >= kOutputCells) continue;
      MStmt* s = statementNode(MStmt::Kind::Output);
      s->type = f.variables[v].type;
      s->index = nextCell_;
      s->value = variable(v);
      p_.cells[nextCell_++] = s->type;
      f.body.push_back(s);
    }
    for (int i = 0; i < 3; ++i) output(f.body, anyType());
    p_.functions.push_back(std::move(f));
  }

  MProgram& p_;
  std::mt19937_64 random_;
  MFunction* f_ = nullptr;
  bool generic_ = false, isKernel_ = false, mayReturn_ = false;
  std::vector<uint32_t> visible_;        // Variables that a name refers to here.
  std::vector<uint32_t> scope_;          // Those of the innermost scope.
  std::vector<uint32_t> loopVariables_;  // Not to be assigned.
  std::vector<Label> labels_;            // Loops and switches around.
  int depth_ = 1;
  int budget_ = 0;
  uint32_t fuel_ = 0, nextCell_ = 0, nextName_ = 0, lastLabel_ = 0, helperCount_ = 0;
};

}  // namespace

void generateProgram(MProgram& program, uint64_t seed) { Generator(program, seed).run(); }

}  // namespace mtlc::random_test
