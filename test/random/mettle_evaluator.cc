// The meaning of a program, from docs/language.md and the scalar rules of docs/ir.md, written with
// the host's own types and nothing of the compiler's.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "test/random/mettle_program.h"

namespace mtlc::random_test {

std::string_view typeText(MType t) {
  constexpr std::string_view kTexts[] = {"bool",    "int8",   "int16",  "int32",  "int64",
                                         "uint8",   "uint16", "uint32", "uint64", "float32",
                                         "float64", "T",      "void"};
  return kTexts[static_cast<int>(t)];
}

std::string_view opText(MOp op) {
  constexpr std::string_view kTexts[] = {
      "+",  "-", "*",  "/",  "%",  "&",  "|",  "^", "<<", ">>", "<",
      "<=", ">", ">=", "==", "!=", "&&", "||", "-", "~",  "!"};
  return kTexts[static_cast<int>(op)];
}

MType commonType(MType a, MType b) {
  if (a == MType::Bool) a = MType::I32;
  if (b == MType::Bool) b = MType::I32;
  if (a == MType::F64 || b == MType::F64) return MType::F64;
  if (isFloat(a) || isFloat(b)) return MType::F32;
  if (widthOf(a) != widthOf(b)) return widthOf(a) > widthOf(b) ? a : b;
  return isSigned(a) ? b : a;
}

namespace {

constexpr int64_t kMaxSteps = 200'000;

// Integers and bools are their exact value, floats a double that is a float32 value where the type
// says so.
struct Value {
  MType type = MType::Void;
  __int128 integer = 0;
  double number = 0;
};

__int128 minOf(MType t) {
  return isSigned(t) ? -(static_cast<__int128>(1) << (widthOf(t) - 1)) : 0;
}
__int128 maxOf(MType t) {
  return (static_cast<__int128>(1) << (widthOf(t) - (isSigned(t) ? 1 : 0))) - 1;
}

// The value that is congruent to `exact` modulo 2^width and representable.
Value wrapped(MType t, __int128 exact) {
  const __int128 modulus = static_cast<__int128>(1) << widthOf(t);
  __int128 v = exact % modulus;
  if (v < 0) v += modulus;
  if (v > maxOf(t)) v -= modulus;
  return {t, v, 0};
}

Value boolean(bool b) { return {MType::Bool, b, 0}; }
Value floating(MType t, double d) { return {t, 0, d}; }

uint64_t bitsOf(const Value& v) {
  if (v.type == MType::F32) return std::bit_cast<uint32_t>(static_cast<float>(v.number));
  if (v.type == MType::F64) return std::bit_cast<uint64_t>(v.number);
  return static_cast<uint64_t>(v.integer) &
         (widthOf(v.type) == 64 ? ~uint64_t{0} : (uint64_t{1} << widthOf(v.type)) - 1);
}

Value valueOf(MType t, uint64_t bits) {
  if (t == MType::F32) return floating(t, std::bit_cast<float>(static_cast<uint32_t>(bits)));
  if (t == MType::F64) return floating(t, std::bit_cast<double>(bits));
  if (t == MType::Bool) return boolean(bits & 1);
  return wrapped(t, bits);
}

Value convert(const Value& v, MType to) {
  if (v.type == to) return v;
  if (to == MType::Bool) return boolean(isFloat(v.type) ? v.number != 0 : v.integer != 0);
  if (!isFloat(to)) {
    if (!isFloat(v.type)) return wrapped(to, v.integer);
    if (std::isnan(v.number)) return {to, 0, 0};
    const double truncated = std::trunc(v.number);
    // Both bounds are exact as doubles or one past the end, which the comparison accounts for.
    if (truncated <= static_cast<double>(minOf(to))) return {to, minOf(to), 0};
    if (truncated >= static_cast<double>(maxOf(to))) return {to, maxOf(to), 0};
    return {to, static_cast<__int128>(truncated), 0};
  }
  if (isFloat(v.type)) {
    return floating(
        to, to == MType::F32 ? static_cast<double>(static_cast<float>(v.number)) : v.number);
  }
  // One rounding from the integer; 64 bits fit a conversion of the host.
  if (v.integer < 0) {
    const int64_t i = static_cast<int64_t>(v.integer);
    return floating(
        to, to == MType::F32 ? static_cast<double>(static_cast<float>(i)) : static_cast<double>(i));
  }
  const uint64_t u = static_cast<uint64_t>(v.integer);
  return floating(
      to, to == MType::F32 ? static_cast<double>(static_cast<float>(u)) : static_cast<double>(u));
}

Value integerArithmetic(MOp op, MType t, __int128 a, __int128 b) {
  switch (op) {
    case MOp::Add:
      return wrapped(t, a + b);
    case MOp::Sub:
      return wrapped(t, a - b);
    case MOp::Mul:
      // The product of two 64-bit values may not fit 128 bits with its sign; the low bits are what
      // matters.
      return wrapped(t, static_cast<__int128>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
    case MOp::Div:
      return wrapped(t, b == 0 ? -1 : a / b);  // All ones; MIN / -1 wraps to MIN.
    case MOp::Rem:
      return wrapped(t, b == 0 ? a : a % b);
    case MOp::And:
      return wrapped(t, a & b);
    case MOp::Or:
      return wrapped(t, a | b);
    case MOp::Xor:
      return wrapped(t, a ^ b);
    default:
      return {};
  }
}

Value floatArithmetic(MOp op, MType t, double a, double b) {
  if (t == MType::F64) {
    switch (op) {
      case MOp::Add:
        return floating(t, a + b);
      case MOp::Sub:
        return floating(t, a - b);
      case MOp::Mul:
        return floating(t, a * b);
      default:
        return floating(t, a / b);
    }
  }
  const float x = static_cast<float>(a), y = static_cast<float>(b);
  switch (op) {
    case MOp::Add:
      return floating(t, x + y);
    case MOp::Sub:
      return floating(t, x - y);
    case MOp::Mul:
      return floating(t, x * y);
    default:
      return floating(t, x / y);
  }
}

template <typename N>
bool compare(MOp op, N a, N b) {
  switch (op) {
    case MOp::Lt:
      return a < b;
    case MOp::Le:
      return a <= b;
    case MOp::Gt:
      return a > b;
    case MOp::Ge:
      return a >= b;
    case MOp::Eq:
      return a == b;
    default:
      return a != b;  // True if either is NaN.
  }
}

Value binary(MOp op, const Value& a, const Value& b) {
  if (op == MOp::Shl || op == MOp::Shr) {
    const unsigned width = widthOf(a.type);
    // The amount modulo the width, a power of two; the remainder of a negative one is the
    // mathematical one.
    const unsigned amount = static_cast<unsigned>(((b.integer % width) + width) % width);
    return wrapped(a.type, op == MOp::Shl ? a.integer * (static_cast<__int128>(1) << amount)
                                          : a.integer >> amount);
  }
  const bool isComparison = op >= MOp::Lt && op <= MOp::Ne;
  const bool isBitwise = op == MOp::And || op == MOp::Or || op == MOp::Xor;
  if (a.type == MType::Bool && b.type == MType::Bool &&
      (isBitwise || op == MOp::Eq || op == MOp::Ne)) {
    const bool x = a.integer != 0, y = b.integer != 0;
    switch (op) {
      case MOp::And:
        return boolean(x && y);
      case MOp::Or:
        return boolean(x || y);
      case MOp::Eq:
        return boolean(x == y);
      default:
        return boolean(x != y);  // Xor too.
    }
  }
  const MType t = commonType(a.type, b.type);
  const Value x = convert(a, t), y = convert(b, t);
  if (isComparison) {
    return boolean(isFloat(t) ? compare(op, x.number, y.number)
                              : compare(op, x.integer, y.integer));
  }
  return isFloat(t) ? floatArithmetic(op, t, x.number, y.number)
                    : integerArithmetic(op, t, x.integer, y.integer);
}

// The number of two, the smaller zero being the negative one.
double minimum(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

float throughBfloat(float x) {
  if (std::isnan(x)) return x;
  // To nearest, ties to even, by the definition: the two neighbours are the truncated pattern and
  // the next.
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t low = bits & 0xFFFF;
  uint32_t high = bits >> 16;
  if (low > 0x8000 || (low == 0x8000 && (high & 1))) ++high;
  return std::bit_cast<float>(high << 16);
}

class Machine {
 public:
  Machine(const MProgram& program, const std::vector<uint8_t>& source,
          std::vector<uint8_t>& destination)
      : program_(program), source_(source), destination_(destination) {}

  bool runKernel(const std::vector<uint64_t>& scalars, uint32_t block, uint32_t thread) {
    block_ = block;
    thread_ = thread;
    const uint32_t index = static_cast<uint32_t>(program_.functions.size() - 1);
    const MFunction& kernel = program_.functions[index];
    Frame frame(kernel);
    for (uint32_t i = 0; i < kernel.paramCount; ++i) {
      frame.scalars[i] = valueOf(kernel.variables[i].type, scalars[i]);
    }
    frame_ = &frame;
    execute(kernel.body);
    return steps_ < kMaxSteps;
  }

 private:
  // Where a pointer parameter points: elements from `first` on, or the input.
  struct Pointer {
    std::vector<Value>* array = nullptr;
    Value* scalar = nullptr;
    bool isSource = false;
    uint64_t first = 0;
  };
  struct Frame {
    explicit Frame(const MFunction& f)
        : function(f),
          scalars(f.variables.size()),
          arrays(f.variables.size()),
          pointers(f.variables.size()) {}
    const MFunction& function;
    MType generic = MType::Void;
    std::vector<Value> scalars;
    std::vector<std::vector<Value>> arrays;
    std::vector<Pointer> pointers;
    Value result;
  };
  enum class Flow : uint8_t { Next, Break, Continue, Return };

  MType actual(MType t) const { return t == MType::Generic ? frame_->generic : t; }

  Value fromSource(MType t, uint64_t element) const {
    const unsigned bytes = t == MType::Bool ? 1 : widthOf(t) / 8;
    uint64_t bits = 0;
    std::memcpy(&bits, source_.data() + element * bytes, bytes);
    return valueOf(t, bits);
  }

  Value* elementAt(const MExpr& e, uint64_t index) {
    const MVariable& v = frame_->function.variables[e.index];
    if (!v.isPointer) return &frame_->arrays[e.index][index];
    const Pointer& p = frame_->pointers[e.index];
    return p.scalar ? p.scalar : &(*p.array)[p.first + index];
  }

  uint64_t indexOf(const MExpr& e) {
    return static_cast<uint64_t>(evaluate(*e.args[0]).integer) & e.mask;
  }

  Value evaluate(const MExpr& e) {
    if (++steps_ >= kMaxSteps) return convert({MType::I32, 0, 0}, actual(e.type));
    using Kind = MExpr::Kind;
    switch (e.kind) {
      case Kind::Literal: {
        // A generic literal is an int32 that is cast.
        if (e.type == MType::Generic) return convert(valueOf(MType::I32, e.bits), actual(e.type));
        return valueOf(e.type, e.bits);
      }
      case Kind::Adapted:
        return convert(floating(MType::F64, e.number), MType::F32);
      case Kind::Const:
        return convert(evaluate(*program_.consts[e.index].value), e.type);
      case Kind::Variable:
        return frame_->scalars[e.index];
      case Kind::Element: {
        const uint64_t index = indexOf(e);
        const Pointer& p = frame_->pointers[e.index];
        if (p.isSource) return fromSource(actual(e.type), p.first + index);
        return *elementAt(e, index);
      }
      case Kind::Source: {
        const uint64_t index = indexOf(e);
        return fromSource(e.type, index);
      }
      case Kind::Position: {
        const uint32_t values[] = {thread_, block_, kMettleBlock, kMettleGrid};
        return {MType::I32, values[e.index], 0};
      }
      case Kind::Unary: {
        const Value a = evaluate(*e.args[0]);
        switch (e.op) {
          case MOp::Neg:
            return isFloat(a.type) ? floating(a.type, -a.number) : wrapped(a.type, -a.integer);
          case MOp::Not:
            return wrapped(a.type, -a.integer - 1);
          default:
            return boolean(convert(a, MType::Bool).integer == 0);
        }
      }
      case Kind::Binary: {
        const Value a = evaluate(*e.args[0]);
        if (e.op == MOp::LogicalAnd || e.op == MOp::LogicalOr) {
          const bool first = convert(a, MType::Bool).integer != 0;
          if (first == (e.op == MOp::LogicalOr)) return boolean(first);
          return convert(evaluate(*e.args[1]), MType::Bool);
        }
        return binary(e.op, a, evaluate(*e.args[1]));
      }
      case Kind::Cast:
        return convert(evaluate(*e.args[0]), actual(e.type));
      case Kind::Call:
        return call(e);
      case Kind::Builtin:
        return builtin(e);
      case Kind::Address:
        return {};  // Only as an argument.
    }
    return {};
  }

  Value call(const MExpr& e) {
    const MFunction& f = program_.functions[e.index];
    Frame frame(f);
    frame.generic = e.typeArgument;
    for (uint32_t i = 0; i < f.paramCount; ++i) {
      const MExpr& arg = *e.args[i];
      if (!f.variables[i].isPointer) {
        const MType t = f.variables[i].type;
        frame.scalars[i] = convert(evaluate(arg), t == MType::Generic ? e.typeArgument : t);
        continue;
      }
      Pointer& p = frame.pointers[i];
      if (arg.bits != 0) {  // Into the input.
        p.isSource = true;
        p.first = arg.mask;
        continue;
      }
      const MVariable& v = frame_->function.variables[arg.index];
      if (v.isPointer) {
        p = frame_->pointers[arg.index];
        p.first += arg.mask;
      } else if (v.elements == 0) {
        p.scalar = &frame_->scalars[arg.index];
      } else {
        p.array = &frame_->arrays[arg.index];
        p.first = arg.mask;
      }
    }
    Frame* caller = frame_;
    frame_ = &frame;
    execute(f.body);
    frame_ = caller;
    const MType result = f.result == MType::Generic ? e.typeArgument : f.result;
    return frame.result.type == MType::Void ? convert({MType::I32, 0, 0}, result) : frame.result;
  }

  Value builtin(const MExpr& e) {
    Value a[3];
    for (size_t i = 0; i < e.args.size(); ++i) a[i] = evaluate(*e.args[i]);
    const MType t = e.type;
    const bool isSingle = t == MType::F32;
    if (isFloat(t)) {
      for (size_t i = 0; i < e.args.size(); ++i) a[i] = convert(a[i], t);
    }
    const double x = a[0].number, y = a[1].number;
    switch (e.builtin) {
      case MBuiltin::Sqrt:
        return floating(t, isSingle ? std::sqrt(static_cast<float>(x)) : std::sqrt(x));
      case MBuiltin::Fabs:
        return floating(t, std::fabs(x));
      case MBuiltin::Floor:
        return floating(t, std::floor(x));
      case MBuiltin::Ceil:
        return floating(t, std::ceil(x));
      case MBuiltin::Trunc:
        return floating(t, std::trunc(x));
      case MBuiltin::Round:
        return floating(t, std::round(x));
      case MBuiltin::RoundEven:
        return floating(t, std::nearbyint(x));
      case MBuiltin::Fmin:
        return floating(t, minimum(x, y));
      case MBuiltin::Fmax:
        return floating(t, -minimum(-x, -y));
      case MBuiltin::Fma:
        return floating(t, isSingle ? std::fma(static_cast<float>(x), static_cast<float>(y),
                                               static_cast<float>(a[2].number))
                                    : std::fma(x, y, a[2].number));
      case MBuiltin::Min:
      case MBuiltin::Max: {
        const MType c = commonType(a[0].type, a[1].type);
        const Value p = convert(a[0], c), q = convert(a[1], c);
        return (p.integer < q.integer) == (e.builtin == MBuiltin::Min) ? p : q;
      }
      case MBuiltin::Abs:
        return a[0].integer < 0 ? wrapped(a[0].type, -a[0].integer) : a[0];
      case MBuiltin::Clz: {
        const uint64_t bits = bitsOf(a[0]);
        int zeros = 0;
        for (unsigned bit = widthOf(a[0].type); bit-- > 0 && !(bits >> bit & 1);) ++zeros;
        return {MType::I32, zeros, 0};
      }
      case MBuiltin::Popcount: {
        int ones = 0;
        for (uint64_t bits = bitsOf(a[0]); bits; bits &= bits - 1) ++ones;
        return {MType::I32, ones, 0};
      }
      case MBuiltin::ThroughHalf:
        return floating(t, static_cast<float>(static_cast<_Float16>(static_cast<float>(x))));
      case MBuiltin::ThroughBfloat:
        return floating(t, throughBfloat(static_cast<float>(x)));
    }
    return {};
  }

  Flow execute(const MBody& body) {
    for (const MStmt* s : body) {
      const Flow flow = execute(*s);
      if (flow != Flow::Next || steps_ >= kMaxSteps) return flow;
    }
    return Flow::Next;
  }

  // True if the loop or switch ends because of `flow`, which becomes what goes on outside.
  bool leaves(Flow& flow, uint32_t label) {
    if (flow == Flow::Next) return false;
    if (flow == Flow::Return) return true;
    if (target_ != 0 && target_ != label) return true;  // For an outer one.
    target_ = 0;
    const bool ends = flow == Flow::Break;
    flow = Flow::Next;
    return ends;
  }

  Flow execute(const MStmt& s) {
    if (++steps_ >= kMaxSteps) return Flow::Return;
    using Kind = MStmt::Kind;
    Frame& f = *frame_;
    switch (s.kind) {
      case Kind::Declare: {
        const MVariable& v = f.function.variables[s.index];
        const MType t = actual(v.type);
        if (v.elements == 0) {
          f.scalars[s.index] = convert(evaluate(*s.value), t);
        } else {
          const Value first = convert(evaluate(*s.value), t);
          f.arrays[s.index].assign(v.elements, first);
        }
        return Flow::Next;
      }
      case Kind::Assign:
      case Kind::Compound: {
        // The target's address first, then its value, then the right side.
        Value* where = s.target->kind == MExpr::Kind::Variable
                           ? &f.scalars[s.target->index]
                           : elementAt(*s.target, indexOf(*s.target));
        const MType t = actual(s.target->type);
        if (s.kind == Kind::Assign) {
          *where = convert(evaluate(*s.value), t);
        } else {
          const Value before = *where;
          *where = convert(binary(s.op, before, evaluate(*s.value)), t);
        }
        return Flow::Next;
      }
      case Kind::Output: {
        const Value v = convert(evaluate(*s.value), s.type);
        const unsigned bytes = s.type == MType::Bool ? 1 : widthOf(s.type) / 8;
        const uint64_t bits = bitsOf(v);
        const size_t cell = (size_t{block_} * kMettleBlock + thread_) * kOutputCells + s.index;
        std::memcpy(destination_.data() + 8 * cell, &bits, bytes);
        return Flow::Next;
      }
      case Kind::If:
        return execute(convert(evaluate(*s.cond), MType::Bool).integer ? s.body : s.otherwise);
      case Kind::While:
        while (steps_ < kMaxSteps && convert(evaluate(*s.cond), MType::Bool).integer) {
          Flow flow = execute(s.body);
          if (leaves(flow, s.label)) return flow;
        }
        return Flow::Next;
      case Kind::For:
        f.scalars[s.index] = convert(evaluate(*s.value), f.function.variables[s.index].type);
        while (steps_ < kMaxSteps && convert(evaluate(*s.cond), MType::Bool).integer) {
          Flow flow = execute(s.body);
          if (leaves(flow, s.label)) return flow;
          execute(*s.step);
        }
        return Flow::Next;
      case Kind::ForRange: {
        const MType t = f.function.variables[s.index].type;
        const Value first = convert(evaluate(*s.value), t), last = convert(evaluate(*s.cond), t);
        for (__int128 i = first.integer; i < last.integer || (s.inclusive && i == last.integer);
             ++i) {
          if (steps_ >= kMaxSteps) break;
          f.scalars[s.index] = {t, i, 0};
          Flow flow = execute(s.body);
          if (leaves(flow, s.label)) return flow;
        }
        return Flow::Next;
      }
      case Kind::Break:
        target_ = s.label;
        return Flow::Break;
      case Kind::Continue:
        target_ = s.label;
        return Flow::Continue;
      case Kind::Switch:
        return executeSwitch(s);
      case Kind::Return:
        if (s.value) {
          const MType t = actual(f.function.result);
          f.result = convert(evaluate(*s.value), t);
        }
        return Flow::Return;
      case Kind::Barrier:
        return Flow::Next;
      case Kind::Block:
        return execute(s.body);
    }
    return Flow::Next;
  }

  Flow executeSwitch(const MStmt& s) {
    const __int128 value = evaluate(*s.value).integer;
    size_t start = s.cases.size(), fallback = s.cases.size();
    for (size_t i = 0; i < s.cases.size() && start == s.cases.size(); ++i) {
      if (s.cases[i].isDefault) fallback = i;
      for (const auto& [low, high] : s.cases[i].ranges) {
        if (low <= value && value <= high) start = i;
      }
    }
    if (start == s.cases.size()) {
      for (size_t i = 0; i < s.cases.size(); ++i) {
        if (s.cases[i].isDefault) fallback = i;
      }
      start = fallback;
    }
    for (size_t i = start; i < s.cases.size(); ++i) {
      Flow flow = execute(s.cases[i].body);
      if (flow == Flow::Break && (target_ == 0 || target_ == s.label)) {
        target_ = 0;
        return Flow::Next;
      }
      if (flow != Flow::Next) return flow;  // `continue` is for a loop around.
    }
    return Flow::Next;
  }

  const MProgram& program_;
  const std::vector<uint8_t>& source_;
  std::vector<uint8_t>& destination_;
  uint32_t block_ = 0, thread_ = 0;
  Frame* frame_ = nullptr;
  uint32_t target_ = 0;  // Label that a break or continue is on its way to; 0: the innermost.
  int64_t steps_ = 0;
};

}  // namespace

bool evaluateProgram(const MProgram& program, const std::vector<uint8_t>& source,
                     const std::vector<uint64_t>& scalars, std::vector<uint8_t>& destination) {
  destination.assign(size_t{8} * kMettleGrid * kMettleBlock * kOutputCells, 0xCD);
  for (uint32_t block = 0; block < kMettleGrid; ++block) {
    for (uint32_t thread = 0; thread < kMettleBlock; ++thread) {
      if (!Machine(program, source, destination).runKernel(scalars, block, thread)) return false;
    }
  }
  return true;
}

}  // namespace mtlc::random_test
