// Arithmetic, comparisons, conversions: component by component.

#include "mtlc/sim/spirv/decoder_impl.h"
#include "mtlc/sim/spirv/functions.h"

namespace mtlc::sim::spirv {
namespace {

// PTX has no arithmetic on 8 bits: 16 do, for the upper bits of a result are nobody's business.
unsigned registerBits(unsigned bits) { return bits < 16 ? 16 : bits; }

std::string typed(const char* name, char letter, unsigned bits) {
  return std::string(name) + "." + letter + std::to_string(bits);
}

const char* roundingSuffix(uint32_t mode, bool toInteger, bool isDefault) {
  switch (static_cast<spv::FPRoundingMode>(mode)) {
    case spv::FPRoundingMode::RTE:
      return toInteger ? ".rni" : ".rn";
    case spv::FPRoundingMode::RTZ:
      return toInteger ? ".rzi" : ".rz";
    case spv::FPRoundingMode::RTP:
      return toInteger ? ".rpi" : ".rp";
    case spv::FPRoundingMode::RTN:
      return toInteger ? ".rmi" : ".rm";
    default:
      return toInteger && isDefault ? ".rzi" : ".rn";
  }
}

}  // namespace

Ref FunctionDecoder::widened(Ref r, unsigned bits, bool isSigned, unsigned to) {
  if (bits >= to) return r;
  char letter = isSigned ? 's' : 'u';
  return laneTo(to == 64 ? Bank::r64 : Bank::r32,
                typed("cvt", letter, to) + typed("", letter, bits), {r});
}

Ref FunctionDecoder::toFloat32(Ref half) { return laneTo(Bank::r32, "cvt.f32.f16", {half}); }
void FunctionDecoder::fromFloat32(Ref single, Ref half) { lane("cvt.rn.f16.f32", half, {single}); }

// An integer as 32 bits, for shift distances and lane numbers.
Ref FunctionDecoder::asWord(Ref r, const Scalar& s, bool isSigned) {
  if (s.bits == 64) {
    Ref t = scratch(Bank::r32);
    emitMove(MoveKind::truncate, t, r);
    return t;
  }
  return widened(r, s.bits, isSigned, 32);
}

// One lane function for every component.
bool FunctionDecoder::componentwise(const Inst& in, const std::string& spelling, bool swapped) {
  std::vector<Value> sources;
  for (Id id : in.operands) {
    const Value* v = value(id);
    if (v == nullptr) return false;
    sources.push_back(*v);
  }
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    if (sources.size() == 1) {
      if (!lane(spelling, to[i], {sources[0][i]})) return false;
    } else if (!lane(spelling, to[i], {sources[swapped ? 1 : 0][i], sources[swapped ? 0 : 1][i]})) {
      return false;
    }
  }
  return true;
}

// `exact`: the upper bits of the operands count.
bool FunctionDecoder::integerBinary(const Inst& in, const char* name, bool signedForm, bool exact) {
  unsigned bits = elementType(in.type).bits;
  std::string spelling = typed(name, signedForm ? 's' : 'u', registerBits(bits));
  if (!exact || bits >= 16) return componentwise(in, spelling);
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  if (a == nullptr || b == nullptr) return false;
  Value left = *a, right = *b;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!lane(spelling, to[i],
              {widened(left[i], bits, signedForm), widened(right[i], bits, signedForm)})) {
      return false;
    }
  }
  return true;
}

bool FunctionDecoder::shift(const Inst& in, bool left, bool isSigned) {
  const Value* base = value(in.operands[0]);
  const Value* distance = value(in.operands[1]);
  if (base == nullptr || distance == nullptr) return false;
  Value a = *base, n = *distance;
  unsigned bits = elementType(in.type).bits;
  Scalar distanceType{Kind::integer, elementType(b_.def(in.operands[1]).type).bits, 0};
  std::string spelling = left ? typed("shl", 'b', registerBits(bits))
                              : typed("shr", isSigned ? 's' : 'u', registerBits(bits));
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    Ref word = asWord(n[i], distanceType, false);
    Ref from = left ? a[i] : widened(a[i], bits, isSigned);
    if (!lane(spelling, to[i], {from, word})) return false;
  }
  return true;
}

// The remainder with the sign of the divisor.
bool FunctionDecoder::signedModulo(const Inst& in) {
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  if (a == nullptr || b == nullptr) return false;
  Value left = *a, right = *b;
  unsigned bits = elementType(in.type).bits, wide = registerBits(bits);
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  Bank bank = wide == 64 ? Bank::r64 : Bank::r32;
  Ref zero = wide == 64 ? constant64(0) : constant32(0);
  std::string s = "s" + std::to_string(wide);
  for (size_t i = 0; i < to.size(); ++i) {
    Ref x = widened(left[i], bits, true), y = widened(right[i], bits, true);
    Ref r = laneTo(bank, "rem." + s, {x, y});
    Ref sum = laneTo(bank, "add." + s, {r, y});
    Ref other = laneTo(bank, "xor.b" + std::to_string(wide), {r, y});
    Ref differs = laneTo(Bank::pred, "setp.lt." + s, {other, zero});
    Ref some = laneTo(Bank::pred, "setp.ne." + s, {r, zero});
    Ref both = laneTo(Bank::pred, "and.pred", {differs, some});
    if (!lane(wide == 64 ? "selp.b64" : "selp.b32", to[i], {sum, r, both})) return false;
  }
  return true;
}

bool FunctionDecoder::floatBinary(const Inst& in, const char* name) {
  unsigned bits = elementType(in.type).bits;
  std::string spelling = std::string(name) + ".rn.f" + std::to_string(bits);
  if (bits != 16 || std::string_view(name) != "div") return componentwise(in, spelling);
  // A quotient of halves rounded to float and then to half is rounded right.
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  if (a == nullptr || b == nullptr) return false;
  Value left = *a, right = *b;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    Ref x = toFloat32(left[i]), y = toFloat32(right[i]);
    fromFloat32(laneTo(Bank::r32, "div.rn.f32", {x, y}), to[i]);
  }
  return true;
}

// Negation and absolute value change the sign, of a NaN too, and nothing else.
bool FunctionDecoder::signBit(const Inst& in, bool flip, size_t first) {
  const Value* v = value(in.operands[first]);
  if (v == nullptr) return false;
  Value from = *v;
  unsigned bits = elementType(in.type).bits;
  uint64_t sign = uint64_t{1} << (bits - 1);
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  Ref mask = bits == 64 ? constant64(flip ? sign : ~sign)
                        : constant32(static_cast<uint32_t>(flip ? sign : ~sign));
  for (size_t i = 0; i < to.size(); ++i) {
    lane(typed(flip ? "xor" : "and", 'b', bits == 64 ? 64 : 32), to[i], {from[i], mask});
  }
  return true;
}

// A function of OpenCL.std or of its kind, computed by the host.
bool FunctionDecoder::floatHost(const Inst& in, uint32_t entry) {
  std::vector<Value> sources;
  size_t first = in.op == spv::Op::OpExtInst ? 2 : 0;
  for (Id id : in.operands.subspan(first)) {
    const Value* v = value(id);
    if (v == nullptr) return false;
    sources.push_back(*v);
  }
  unsigned bits = elementType(in.type).bits;
  const Value* result = define(in);
  if (result == nullptr || sources.empty() || sources.size() > 3) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    Ref s[3] = {kNoRef, kNoRef, kNoRef};
    for (size_t k = 0; k < sources.size(); ++k) {
      // A scalar operand goes with every component.
      s[k] = sources[k][sources[k].size() == 1 ? 0 : i];
    }
    hostFunction(hostMath(bits), entry, bits == 64 ? "fma.rn.f64" : "fma.rn.f32", to[i],
                 {s[0], s[1], s[2]});
  }
  return true;
}

bool FunctionDecoder::compareIntegers(const Inst& in, const char* relation, bool isSigned) {
  const Type& t = elementType(b_.def(in.operands[0]).type);
  unsigned bits = t.kind == Kind::pointer ? 64 : t.bits;
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  if (a == nullptr || b == nullptr) return false;
  Value left = *a, right = *b;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  std::string spelling = std::string("setp.") + relation + "." + (isSigned ? 's' : 'u') +
                         std::to_string(registerBits(bits));
  for (size_t i = 0; i < to.size(); ++i) {
    if (!lane(spelling, to[i],
              {widened(left[i], bits, isSigned), widened(right[i], bits, isSigned)})) {
      return false;
    }
  }
  return true;
}

bool FunctionDecoder::compareFloats(const Inst& in, const char* relation) {
  unsigned bits = elementType(b_.def(in.operands[0]).type).bits;
  return componentwise(in, std::string("setp.") + relation + ".f" + std::to_string(bits));
}

// OpIsNan and its kind.
bool FunctionDecoder::classify(const Inst& in) {
  unsigned bits = elementType(b_.def(in.operands[0]).type).bits;
  const Value* v = value(in.operands[0]);
  if (v == nullptr) return false;
  Value from = *v;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  std::string type = bits == 64 ? ".f64" : ".f32";
  for (size_t i = 0; i < to.size(); ++i) {
    Ref x = bits == 16 ? toFloat32(from[i]) : from[i];
    bool ok = true;
    switch (in.op) {
      case spv::Op::OpIsNan:
        ok = lane("testp.notanumber" + type, to[i], {x});
        break;
      case spv::Op::OpIsInf:
        ok = lane("testp.infinite" + type, to[i], {x});
        break;
      case spv::Op::OpIsFinite:
        ok = lane("testp.finite" + type, to[i], {x});
        break;
      case spv::Op::OpIsNormal:
        if (bits == 16) {
          // Subnormal halves are normal floats.
          Ref size = laneTo(Bank::r32, "and.b32", {from[i], constant32(0x7c00)});
          Ref some = laneTo(Bank::pred, "setp.ne.u32", {size, constant32(0)});
          Ref below = laneTo(Bank::pred, "setp.ne.u32", {size, constant32(0x7c00)});
          ok = lane("and.pred", to[i], {some, below});
        } else {
          // For PTX zero is normal.
          Ref normal = laneTo(Bank::pred, "testp.normal" + type, {x});
          Ref some = laneTo(Bank::pred, "setp.ne.f" + std::to_string(bits),
                            {x, bits == 64 ? constant64(0) : constant32(0)});
          ok = lane("and.pred", to[i], {normal, some});
        }
        break;
      default:  // OpSignBitSet
        ok = lane(typed("setp.lt", 's', bits), to[i],
                  {from[i], bits == 64 ? constant64(0) : constant32(0)});
        break;
    }
    if (!ok) return false;
  }
  return true;
}

bool FunctionDecoder::logical(const Inst& in) {
  switch (in.op) {
    case spv::Op::OpLogicalAnd:
      return componentwise(in, "and.pred");
    case spv::Op::OpLogicalOr:
      return componentwise(in, "or.pred");
    case spv::Op::OpLogicalNotEqual:
      return componentwise(in, "xor.pred");
    case spv::Op::OpLogicalNot:
      return componentwise(in, "not.pred");
    case spv::Op::OpLogicalEqual: {
      if (!componentwise(in, "xor.pred")) return false;
      Value to = values_[in.result];
      for (Ref r : to) lane("not.pred", r, {r});
      return true;
    }
    default: {  // OpAny, OpAll
      const Value* v = value(in.operands[0]);
      if (v == nullptr || v->empty()) return false;
      Value from = *v;
      const Value* result = define(in);
      if (result == nullptr) return false;
      Ref to = (*result)[0];
      move(to, from[0]);
      for (size_t i = 1; i < from.size(); ++i) {
        lane(in.op == spv::Op::OpAny ? "or.pred" : "and.pred", to, {to, from[i]});
      }
      return true;
    }
  }
}

bool FunctionDecoder::select(const Inst& in) {
  const Value* c = value(in.operands[0]);
  const Value* a = value(in.operands[1]);
  const Value* b = value(in.operands[2]);
  if (c == nullptr || a == nullptr || b == nullptr) return false;
  Value condition = *c, yes = *a, no = *b;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    Ref p = condition[condition.size() == 1 ? 0 : i];
    switch (refBank(to[i])) {
      case Bank::r32:
        lane("selp.b32", to[i], {yes[i], no[i], p});
        break;
      case Bank::r64:
        lane("selp.b64", to[i], {yes[i], no[i], p});
        break;
      default: {
        Ref first = laneTo(Bank::pred, "and.pred", {yes[i], p});
        Ref other = laneTo(Bank::pred, "not.pred", {p});
        Ref second = laneTo(Bank::pred, "and.pred", {no[i], other});
        lane("or.pred", to[i], {first, second});
        break;
      }
    }
  }
  return true;
}

bool FunctionDecoder::convertScalar(const Inst& in, const Scalar& from, const Scalar& to, Ref src,
                                    Ref dst) {
  const Decorations& d = b_.decorations(in.result);
  std::string toBits = std::to_string(to.bits), fromBits = std::to_string(from.bits);
  switch (in.op) {
    case spv::Op::OpConvertFToS:
    case spv::Op::OpConvertFToU: {
      char letter = in.op == spv::Op::OpConvertFToS ? 's' : 'u';
      std::string name = "cvt";
      name += roundingSuffix(d.rounding, true, true);
      if (d.saturated && to.bits < 32) name += ".sat";
      name += typed("", letter, to.bits) + ".f" + fromBits;
      if (!d.saturated) return lane(name, dst, {src});
      // NaN gives 0 (OpenCL C 6.2.3.3).
      Ref t = laneTo(to.bank(), name, {src});
      Ref single = from.bits == 16 ? toFloat32(src) : src;
      Ref nan = laneTo(Bank::pred,
                       from.bits == 64 ? "testp.notanumber.f64" : "testp.notanumber.f32", {single});
      return lane(to.bits == 64 ? "selp.b64" : "selp.b32", dst,
                  {to.bits == 64 ? constant64(0) : constant32(0), t, nan});
    }
    case spv::Op::OpConvertSToF:
    case spv::Op::OpConvertUToF: {
      char letter = in.op == spv::Op::OpConvertSToF ? 's' : 'u';
      return lane(std::string("cvt") + roundingSuffix(d.rounding, false, true) + ".f" + toBits +
                      typed("", letter, from.bits),
                  dst, {src});
    }
    case spv::Op::OpFConvert:
      if (from.bits == to.bits) {
        move(dst, src);
        return true;
      }
      if (from.bits < to.bits) return lane("cvt.f" + toBits + ".f" + fromBits, dst, {src});
      return lane(std::string("cvt") + roundingSuffix(d.rounding, false, true) + ".f" + toBits +
                      ".f" + fromBits,
                  dst, {src});
    default:
      break;
  }
  bool fromSigned = in.op == spv::Op::OpSConvert || in.op == spv::Op::OpSatConvertSToU;
  bool toSigned = in.op == spv::Op::OpSConvert || in.op == spv::Op::OpSatConvertUToS;
  bool saturates =
      d.saturated || in.op == spv::Op::OpSatConvertSToU || in.op == spv::Op::OpSatConvertUToS;
  std::string types =
      typed("", toSigned ? 's' : 'u', to.bits) + typed("", fromSigned ? 's' : 'u', from.bits);
  // Where no value can be out of range, there is no saturating form.
  bool sat = saturates && k_.lane("cvt.sat" + types).fn != nullptr;
  return lane((sat ? "cvt.sat" : "cvt") + types, dst, {src});
}

bool FunctionDecoder::convert(const Inst& in) {
  const std::vector<Scalar>* f = scalarsOf(b_.def(in.operands[0]).type);
  const std::vector<Scalar>* t = scalarsOf(in.type);
  const Value* v = value(in.operands[0]);
  if (f == nullptr || t == nullptr || v == nullptr) return false;
  Value from = *v;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  if (from.size() != to.size()) return refuse("this conversion");
  for (size_t i = 0; i < to.size(); ++i) {
    if (!convertScalar(in, (*f)[i], (*t)[i], from[i], to[i])) return false;
  }
  return true;
}

bool FunctionDecoder::bitcast(const Inst& in) {
  const std::vector<Scalar>* f = scalarsOf(b_.def(in.operands[0]).type);
  const std::vector<Scalar>* t = scalarsOf(in.type);
  const Value* v = value(in.operands[0]);
  if (f == nullptr || t == nullptr || v == nullptr || f->empty() || t->empty()) return false;
  Value from = *v;
  unsigned fromBits = (*f)[0].bits, toBits = (*t)[0].bits;
  if (fromBits == toBits) {
    alias(in, from);
    return true;
  }
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  if (fromBits > toBits) {
    // Parts of wider elements.
    unsigned per = fromBits / toBits;
    for (size_t i = 0; i < to.size() && i / per < from.size(); ++i) {
      Ref x = from[i / per];
      unsigned distance = static_cast<unsigned>(i % per) * toBits;
      if (distance != 0) {
        x = laneTo(fromBits == 64 ? Bank::r64 : Bank::r32,
                   typed("shr", 'u', registerBits(fromBits)), {x, constant32(distance)});
      }
      lane(typed("cvt", 'u', toBits) + typed("", 'u', fromBits), to[i], {x});
    }
    return true;
  }
  unsigned per = toBits / fromBits;
  Bank bank = toBits == 64 ? Bank::r64 : Bank::r32;
  std::string width = std::to_string(registerBits(toBits));
  for (size_t i = 0; i < to.size(); ++i) {
    Ref sum = kNoRef;
    for (unsigned k = 0; k < per && i * per + k < from.size(); ++k) {
      Ref part = laneTo(bank, typed("cvt", 'u', registerBits(toBits)) + typed("", 'u', fromBits),
                        {from[i * per + k]});
      if (k != 0) {
        part = laneTo(bank, "shl.b" + width, {part, constant32(k * fromBits)});
        part = laneTo(bank, "or.b" + width, {sum, part});
      }
      sum = part;
    }
    move(to[i], sum);
  }
  return true;
}

// Results of two values: sum and carry, low and high half.
bool FunctionDecoder::wideArithmetic(const Inst& in) {
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  const Type& t = b_.type(in.type);
  if (a == nullptr || b == nullptr || t.members.size() != 2) return false;
  Value left = *a, right = *b;
  unsigned bits = elementType(t.members[0]).bits;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  size_t n = left.size();
  Bank bank = bits == 64 ? Bank::r64 : Bank::r32;
  std::string u = "u" + std::to_string(registerBits(bits));
  Ref one = bits == 64 ? constant64(1) : constant32(1);
  Ref zero = bits == 64 ? constant64(0) : constant32(0);
  for (size_t i = 0; i < n; ++i) {
    bool isSigned = in.op == spv::Op::OpSMulExtended;
    Ref x = widened(left[i], bits, isSigned), y = widened(right[i], bits, isSigned);
    switch (in.op) {
      case spv::Op::OpIAddCarry:
      case spv::Op::OpISubBorrow: {
        bool add = in.op == spv::Op::OpIAddCarry;
        lane((add ? "add." : "sub.") + u, to[i], {x, y});
        Ref sum = widened(to[i], bits, false);
        Ref over =
            laneTo(Bank::pred, "setp.lt." + u,
                   add ? std::initializer_list<Ref>{sum, x} : std::initializer_list<Ref>{x, y});
        lane(bits == 64 ? "selp.b64" : "selp.b32", to[n + i], {one, zero, over});
        break;
      }
      default: {
        std::string s = (isSigned ? "s" : "u") + std::to_string(registerBits(bits));
        lane("mul.lo." + s, to[i], {x, y});
        if (bits == 8) {
          Ref product = laneTo(bank, "mul.lo." + s, {x, y});
          lane("shr." + s, to[n + i], {product, constant32(8)});
        } else {
          lane("mul.hi." + s, to[n + i], {x, y});
        }
        break;
      }
    }
  }
  return true;
}

// OpBitCount, OpBitReverse and the bit fields.
bool FunctionDecoder::bits(const Inst& in) {
  const Value* v = value(in.operands[0]);
  if (v == nullptr) return false;
  Value from = *v;
  unsigned fromBits = elementType(b_.def(in.operands[0]).type).bits;
  unsigned toBits = elementType(in.type).bits;
  std::vector<Value> more;
  for (Id id : in.operands.subspan(1)) {
    const Value* m = value(id);
    if (m == nullptr) return false;
    more.push_back(*m);
  }
  const Value* result = define(in);
  if (result == nullptr) return false;
  Value to = *result;
  bool wide = fromBits == 64;
  auto word = [&](size_t operand) {
    const Type& t = b_.type(b_.def(in.operands[operand]).type);
    return asWord(more[operand - 1][0], {Kind::integer, t.bits, 0}, false);
  };
  for (size_t i = 0; i < to.size(); ++i) {
    bool isSigned = in.op == spv::Op::OpBitFieldSExtract;
    Ref x = fromBits < 32 ? widened(from[i], fromBits, isSigned, 32) : from[i];
    switch (in.op) {
      case spv::Op::OpBitCount: {
        Ref n = laneTo(Bank::r32, wide ? "popc.b64" : "popc.b32", {x});
        if (toBits == 64) {
          emitMove(MoveKind::zeroExtend, to[i], n);
        } else {
          move(to[i], n);
        }
        break;
      }
      case spv::Op::OpBitReverse:
        if (fromBits < 32) {
          Ref r = laneTo(Bank::r32, "brev.b32", {x});
          lane("shr.u32", to[i], {r, constant32(32 - fromBits)});
        } else {
          lane(wide ? "brev.b64" : "brev.b32", to[i], {x});
        }
        break;
      case spv::Op::OpBitFieldInsert:
        lane(wide ? "bfi.b64" : "bfi.b32", to[i], {more[0][i], x, word(2), word(3)});
        break;
      default:
        lane(typed("bfe", isSigned ? 's' : 'u', wide ? 64 : 32), to[i], {x, word(1), word(2)});
        break;
    }
  }
  return true;
}

bool FunctionDecoder::dot(const Inst& in) {
  const Value* a = value(in.operands[0]);
  const Value* b = value(in.operands[1]);
  if (a == nullptr || b == nullptr) return false;
  Value left = *a, right = *b;
  const Value* result = define(in);
  if (result == nullptr) return false;
  Ref to = (*result)[0];
  std::string type = ".rn.f" + std::to_string(b_.type(in.type).bits);
  for (size_t i = 0; i < left.size(); ++i) {
    Ref product = laneTo(refBank(to), "mul" + type, {left[i], right[i]});
    if (i == 0) {
      move(to, product);
    } else {
      lane("add" + type, to, {to, product});
    }
  }
  return true;
}

bool FunctionDecoder::arithmetic(const Inst& in, bool& known) {
  known = true;
  using spv::Op;
  unsigned bits = in.type == 0 ? 0 : elementType(in.type).bits;
  switch (in.op) {
    case Op::OpIAdd:
      return integerBinary(in, "add", true, false);
    case Op::OpISub:
      return integerBinary(in, "sub", true, false);
    case Op::OpIMul:
      return integerBinary(in, "mul.lo", true, false);
    case Op::OpUDiv:
      return integerBinary(in, "div", false, true);
    case Op::OpSDiv:
      return integerBinary(in, "div", true, true);
    case Op::OpUMod:
      return integerBinary(in, "rem", false, true);
    case Op::OpSRem:
      return integerBinary(in, "rem", true, true);
    case Op::OpSMod:
      return signedModulo(in);
    case Op::OpSNegate:
      return componentwise(in, typed("neg", 's', registerBits(bits)));
    case Op::OpNot:
      return componentwise(in, typed("not", 'b', registerBits(bits)));
    case Op::OpBitwiseAnd:
      return componentwise(in, typed("and", 'b', registerBits(bits)));
    case Op::OpBitwiseOr:
      return componentwise(in, typed("or", 'b', registerBits(bits)));
    case Op::OpBitwiseXor:
      return componentwise(in, typed("xor", 'b', registerBits(bits)));
    case Op::OpShiftLeftLogical:
      return shift(in, true, false);
    case Op::OpShiftRightLogical:
      return shift(in, false, false);
    case Op::OpShiftRightArithmetic:
      return shift(in, false, true);
    case Op::OpIAddCarry:
    case Op::OpISubBorrow:
    case Op::OpUMulExtended:
    case Op::OpSMulExtended:
      return wideArithmetic(in);
    case Op::OpBitCount:
    case Op::OpBitReverse:
    case Op::OpBitFieldInsert:
    case Op::OpBitFieldSExtract:
    case Op::OpBitFieldUExtract:
      return this->bits(in);
    case Op::OpFAdd:
      return floatBinary(in, "add");
    case Op::OpFSub:
      return floatBinary(in, "sub");
    case Op::OpFMul:
      return floatBinary(in, "mul");
    case Op::OpFDiv:
      return floatBinary(in, "div");
    case Op::OpFNegate:
      return signBit(in, true, 0);
    case Op::OpFRem:
      return floatHost(in, kHostRemainder);
    case Op::OpFMod:
      return floatHost(in, kHostModulo);
    case Op::OpVectorTimesScalar: {
      const Value* a = value(in.operands[0]);
      const Value* b = value(in.operands[1]);
      if (a == nullptr || b == nullptr) return false;
      Value left = *a;
      Ref factor = (*b)[0];
      const Value* result = define(in);
      if (result == nullptr) return false;
      Value to = *result;
      for (size_t i = 0; i < to.size(); ++i) {
        lane("mul.rn.f" + std::to_string(bits), to[i], {left[i], factor});
      }
      return true;
    }
    case Op::OpDot:
      return dot(in);
    case Op::OpIEqual:
    case Op::OpPtrEqual:
      return compareIntegers(in, "eq", false);
    case Op::OpINotEqual:
    case Op::OpPtrNotEqual:
      return compareIntegers(in, "ne", false);
    case Op::OpULessThan:
      return compareIntegers(in, "lt", false);
    case Op::OpULessThanEqual:
      return compareIntegers(in, "le", false);
    case Op::OpUGreaterThan:
      return compareIntegers(in, "gt", false);
    case Op::OpUGreaterThanEqual:
      return compareIntegers(in, "ge", false);
    case Op::OpSLessThan:
      return compareIntegers(in, "lt", true);
    case Op::OpSLessThanEqual:
      return compareIntegers(in, "le", true);
    case Op::OpSGreaterThan:
      return compareIntegers(in, "gt", true);
    case Op::OpSGreaterThanEqual:
      return compareIntegers(in, "ge", true);
    case Op::OpFOrdEqual:
      return compareFloats(in, "eq");
    case Op::OpFUnordEqual:
      return compareFloats(in, "equ");
    case Op::OpFOrdNotEqual:
    case Op::OpLessOrGreater:
      return compareFloats(in, "ne");
    case Op::OpFUnordNotEqual:
      return compareFloats(in, "neu");
    case Op::OpFOrdLessThan:
      return compareFloats(in, "lt");
    case Op::OpFUnordLessThan:
      return compareFloats(in, "ltu");
    case Op::OpFOrdLessThanEqual:
      return compareFloats(in, "le");
    case Op::OpFUnordLessThanEqual:
      return compareFloats(in, "leu");
    case Op::OpFOrdGreaterThan:
      return compareFloats(in, "gt");
    case Op::OpFUnordGreaterThan:
      return compareFloats(in, "gtu");
    case Op::OpFOrdGreaterThanEqual:
      return compareFloats(in, "ge");
    case Op::OpFUnordGreaterThanEqual:
      return compareFloats(in, "geu");
    case Op::OpOrdered:
      return compareFloats(in, "num");
    case Op::OpUnordered:
      return compareFloats(in, "nan");
    case Op::OpIsNan:
    case Op::OpIsInf:
    case Op::OpIsFinite:
    case Op::OpIsNormal:
    case Op::OpSignBitSet:
      return classify(in);
    case Op::OpLogicalAnd:
    case Op::OpLogicalOr:
    case Op::OpLogicalNot:
    case Op::OpLogicalEqual:
    case Op::OpLogicalNotEqual:
    case Op::OpAny:
    case Op::OpAll:
      return logical(in);
    case Op::OpSelect:
      return select(in);
    case Op::OpConvertFToS:
    case Op::OpConvertFToU:
    case Op::OpConvertSToF:
    case Op::OpConvertUToF:
    case Op::OpFConvert:
    case Op::OpSConvert:
    case Op::OpUConvert:
    case Op::OpSatConvertSToU:
    case Op::OpSatConvertUToS:
      return convert(in);
    case Op::OpBitcast:
      return bitcast(in);
    default:
      known = false;
      return true;
  }
}

}  // namespace mtlc::sim::spirv
