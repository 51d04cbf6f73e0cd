// OpenCL.std (the OpenCL Extended Instruction Set Specification).

#include "mtlc/sim/spirv/decoder_impl.h"
#include "mtlc/sim/spirv/functions.h"
#include "spirv/unified1/OpenCL.std.h"

namespace mtlc::sim::spirv {
namespace {

// Operands begin behind the set and the number of the instruction.
constexpr size_t kFirst = 2;

}  // namespace

// Functions with exact counterparts in PTX, and those with a second result in memory.
bool FunctionDecoder::extendedMath(const Inst& in, uint32_t entry) {
  const Type& element = elementType(in.type);
  unsigned bits = element.bits;
  std::string type = ".f" + std::to_string(bits);
  std::vector<Value> a;
  for (Id id : in.operands.subspan(kFirst)) {
    const Value* v = value(id);
    if (v == nullptr) return false;
    a.push_back(*v);
  }
  auto each = [&](auto one) {
    const Value* result = define(in);
    if (result == nullptr) return false;
    Value to = *result;
    for (size_t i = 0; i < to.size(); ++i) {
      if (!one(to[i], i)) return false;
    }
    return true;
  };
  auto at = [&](size_t k, size_t i) { return a[k][a[k].size() == 1 ? 0 : i]; };
  Bank bank = bits == 64 ? Bank::r64 : Bank::r32;
  auto host = [&](uint32_t which, Ref x) {
    Ref d = scratch(bank);
    hostFunction(hostMath(bits), which, bits == 64 ? "fma.rn.f64" : "fma.rn.f32", d, {x});
    return d;
  };
  auto hostInt = [&](uint32_t which, std::initializer_list<Ref> x) {
    Ref d = scratch(Bank::r32);
    hostFunction(hostMathToInt(bits), which, "fma.rn.f32", d, x);
    return d;
  };
  auto storeSecond = [&](const Value& second, size_t pointer) {
    std::optional<Place> to = place(in.operands[kFirst + pointer]);
    return to &&
           storeValue(*to, typeOfValue(in.operands[kFirst + pointer]).element, 0, false, second);
  };
  switch (entry) {
    case OpenCLLIB::Fma:
    case OpenCLLIB::Mad:
      return each([&](Ref d, size_t i) {
        return lane("fma.rn" + type, d, {at(0, i), at(1, i), at(2, i)});
      });
    case OpenCLLIB::Sqrt:
      if (bits == 16) break;
      return each([&](Ref d, size_t i) { return lane("sqrt.rn" + type, d, {at(0, i)}); });
    case OpenCLLIB::Fabs:
      return signBit(in, false, kFirst);
    case OpenCLLIB::Fmax:
    case OpenCLLIB::FMax_common:
      return each([&](Ref d, size_t i) { return lane("max" + type, d, {at(0, i), at(1, i)}); });
    case OpenCLLIB::Fmin:
    case OpenCLLIB::FMin_common:
      return each([&](Ref d, size_t i) { return lane("min" + type, d, {at(0, i), at(1, i)}); });
    case OpenCLLIB::Ceil:
    case OpenCLLIB::Floor:
    case OpenCLLIB::Trunc:
    case OpenCLLIB::Rint: {
      const char* mode = entry == OpenCLLIB::Ceil    ? "rpi"
                         : entry == OpenCLLIB::Floor ? "rmi"
                         : entry == OpenCLLIB::Trunc ? "rzi"
                                                     : "rni";
      return each([&](Ref d, size_t i) {
        return lane(std::string("cvt.") + mode + type + type, d, {at(0, i)});
      });
    }
    case OpenCLLIB::Ilogb: {
      const Type& from = elementType(b_.def(in.operands[kFirst]).type);
      return each([&](Ref d, size_t i) {
        hostFunction(hostMathToInt(from.bits), entry, "fma.rn.f32", d, {at(0, i)});
        return true;
      });
    }
    case OpenCLLIB::Nan:
      return each([&](Ref d, size_t i) {
        if (bits == 64) {
          return lane("or.b64", d, {at(0, i), constant64(0x7ff8000000000000u)});
        }
        return lane("or.b32", d, {at(0, i), constant32(bits == 16 ? 0x7e00u : 0x7fc00000u)});
      });
    case OpenCLLIB::Sincos: {
      Value cosines;
      for (size_t i = 0; i < a[0].size(); ++i) cosines.push_back(host(OpenCLLIB::Cos, a[0][i]));
      Value sines;
      for (size_t i = 0; i < a[0].size(); ++i) sines.push_back(host(OpenCLLIB::Sin, a[0][i]));
      alias(in, sines);
      return storeSecond(cosines, 1);
    }
    case OpenCLLIB::Modf: {
      Value whole, part;
      for (Ref x : a[0]) {
        Ref t = laneTo(bank, "cvt.rzi" + type + type, {x});
        // An infinity has no fraction.
        Ref difference = host(OpenCLLIB::Fabs, laneTo(bank, "sub.rn" + type, {x, t}));
        Ref single = bits == 16 ? toFloat32(x) : x;
        Ref infinite =
            laneTo(Bank::pred, bits == 64 ? "testp.infinite.f64" : "testp.infinite.f32", {single});
        Ref cut = laneTo(bank, bits == 64 ? "selp.b64" : "selp.b32",
                         {bits == 64 ? constant64(0) : constant32(0), difference, infinite});
        Ref sign = bits == 64 ? constant64(uint64_t{1} << 63) : constant32(1u << (bits - 1));
        std::string width = bits == 64 ? "64" : "32";
        part.push_back(
            laneTo(bank, "or.b" + width, {cut, laneTo(bank, "and.b" + width, {x, sign})}));
        whole.push_back(t);
      }
      alias(in, part);
      return storeSecond(whole, 1);
    }
    case OpenCLLIB::Fract: {
      Value whole, part;
      // The largest number below 1 (OpenCL C 6.15.2).
      Ref most = bits == 64   ? constant64(0x3fefffffffffffffu)
                 : bits == 32 ? constant32(0x3f7fffffu)
                              : constant32(0x3bffu);
      std::string width = bits == 64 ? "64" : "32";
      auto word = [&](uint64_t v) {
        return bits == 64 ? constant64(v) : constant32(static_cast<uint32_t>(v));
      };
      uint64_t signBit = uint64_t{1} << (bits - 1);
      // Also cuts what lies above a half.
      Ref signBits = word(signBit), notSign = word(signBit - 1), zero = word(0);
      Ref infinity = word(bits == 64 ? 0x7ff0000000000000u : bits == 32 ? 0x7f800000u : 0x7c00u);
      for (Ref x : a[0]) {
        // Of zeros, infinities and NaN there is no fraction but these themselves or a zero.
        Ref floor = laneTo(bank, "cvt.rmi" + type + type, {x});
        Ref difference = laneTo(bank, "sub.rn" + type, {x, floor});
        Ref below = laneTo(bank, "min" + type, {difference, most});
        Ref size = laneTo(bank, "and.b" + width, {x, notSign});
        Ref finite = laneTo(Bank::pred, "setp.lt.u" + width, {size, infinity});
        Ref some = laneTo(Bank::pred, "setp.ne.u" + width, {size, zero});
        Ref plain = laneTo(Bank::pred, "and.pred", {finite, some});
        Ref nan = laneTo(Bank::pred, "setp.gt.u" + width, {size, infinity});
        Ref sign = laneTo(bank, "and.b" + width, {x, signBits});
        Ref special = laneTo(bank, "selp.b" + width, {x, sign, nan});
        part.push_back(laneTo(bank, "selp.b" + width, {below, special, plain}));
        whole.push_back(floor);
      }
      alias(in, part);
      return storeSecond(whole, 1);
    }
    case OpenCLLIB::Frexp: {
      Value fraction, exponent;
      for (Ref x : a[0]) {
        fraction.push_back(host(kHostFraction, x));
        exponent.push_back(hostInt(kHostExponent, {x}));
      }
      alias(in, fraction);
      return storeSecond(exponent, 1);
    }
    case OpenCLLIB::Lgamma_r: {
      Value result, signs;
      for (Ref x : a[0]) {
        result.push_back(host(OpenCLLIB::Lgamma, x));
        signs.push_back(hostInt(kHostSign, {x}));
      }
      alias(in, result);
      return storeSecond(signs, 1);
    }
    case OpenCLLIB::Remquo: {
      Value result, quotients;
      for (size_t i = 0; i < a[0].size(); ++i) {
        Ref d = scratch(bank);
        hostFunction(hostMath(bits), entry, bits == 64 ? "fma.rn.f64" : "fma.rn.f32", d,
                     {a[0][i], a[1][i]});
        result.push_back(d);
        quotients.push_back(hostInt(kHostQuotient, {a[0][i], a[1][i]}));
      }
      alias(in, result);
      return storeSecond(quotients, 2);
    }
    default:
      break;
  }
  if (!isHostMath(entry)) {
    return refuse("instruction " + std::to_string(entry) + " of OpenCL.std");
  }
  return floatHost(in, entry);
}

bool FunctionDecoder::extendedInteger(const Inst& in, uint32_t entry) {
  std::vector<Value> a;
  for (Id id : in.operands.subspan(kFirst)) {
    const Value* v = value(id);
    if (v == nullptr) return false;
    a.push_back(*v);
  }
  unsigned bits = elementType(b_.def(in.operands[kFirst]).type).bits;
  // Clamps, minima and maxima of words are plain instructions.
  const char* plain = nullptr;
  switch (entry) {
    case OpenCLLIB::SMax:
      plain = "max.s";
      break;
    case OpenCLLIB::UMax:
      plain = "max.u";
      break;
    case OpenCLLIB::SMin:
      plain = "min.s";
      break;
    case OpenCLLIB::UMin:
      plain = "min.u";
      break;
    case OpenCLLIB::SMul_hi:
      plain = "mul.hi.s";
      break;
    case OpenCLLIB::UMul_hi:
      plain = "mul.hi.u";
      break;
    default:
      break;
  }
  const Value* result = define(in);
  if (result == nullptr || a.empty() || a.size() > 3) return false;
  Value to = *result;
  for (size_t i = 0; i < to.size(); ++i) {
    Ref s[3] = {kNoRef, kNoRef, kNoRef};
    for (size_t k = 0; k < a.size(); ++k) s[k] = a[k][a[k].size() == 1 ? 0 : i];
    if (plain != nullptr && bits >= 16) {
      if (!lane(plain + std::to_string(bits), to[i], {s[0], s[1]})) return false;
      continue;
    }
    hostFunction(hostInteger(), static_cast<int64_t>(entry) | int64_t{bits} << 32,
                 bits == 64 ? "mad.lo.s64" : "mad.lo.s32", to[i], {s[0], s[1], s[2]});
  }
  return true;
}

// length, distance, normalize.
bool FunctionDecoder::lengthLike(const Inst& in, uint32_t entry) {
  const Value* v = value(in.operands[kFirst]);
  if (v == nullptr) return false;
  Value x = *v;
  unsigned bits = elementType(b_.def(in.operands[kFirst]).type).bits;
  if (bits == 16) return refuse("lengths of half vectors");
  Bank bank = bits == 64 ? Bank::r64 : Bank::r32;
  std::string type = ".rn.f" + std::to_string(bits);
  if (entry == OpenCLLIB::Distance || entry == OpenCLLIB::Fast_distance) {
    const Value* other = value(in.operands[kFirst + 1]);
    if (other == nullptr) return false;
    Value y = *other;
    for (size_t i = 0; i < x.size(); ++i) x[i] = laneTo(bank, "sub" + type, {x[i], y[i]});
  }
  Ref sum = kNoRef;
  for (Ref r : x) {
    Ref square = laneTo(bank, "mul" + type, {r, r});
    sum = sum == kNoRef ? square : laneTo(bank, "add" + type, {sum, square});
  }
  Ref length = laneTo(bank, "sqrt" + type, {sum});
  if (entry != OpenCLLIB::Normalize && entry != OpenCLLIB::Fast_normalize) {
    alias(in, {length});
    return true;
  }
  // A vector of zeros stays one.
  Ref zero = bits == 64 ? constant64(0) : constant32(0);
  Ref some = laneTo(Bank::pred, "setp.ne.f" + std::to_string(bits), {length, zero});
  Value out;
  for (Ref r : x) {
    Ref q = laneTo(bank, "div" + type, {r, length});
    out.push_back(laneTo(bank, bits == 64 ? "selp.b64" : "selp.b32", {q, r, some}));
  }
  alias(in, out);
  return true;
}

// vload, vstore and their halves: arrays of vectors with the alignment of an element.
bool FunctionDecoder::vectorMemory(const Inst& in, uint32_t entry) {
  bool isStore = entry == OpenCLLIB::Vstoren ||
                 (entry >= OpenCLLIB::Vstore_half && entry <= OpenCLLIB::Vstore_halfn_r) ||
                 entry == OpenCLLIB::Vstorea_halfn || entry == OpenCLLIB::Vstorea_halfn_r;
  bool halves = entry != OpenCLLIB::Vloadn && entry != OpenCLLIB::Vstoren;
  size_t offsetAt = kFirst + (isStore ? 1 : 0);
  Id valueType = isStore ? b_.def(in.operands[kFirst]).type : in.type;
  const std::vector<Scalar>* list = scalarsOf(valueType);
  std::optional<Place> at = place(in.operands[offsetAt + 1]);
  const Value* offset = value(in.operands[offsetAt]);
  if (list == nullptr || !at || offset == nullptr) return false;
  unsigned bytes = halves ? 2 : (*list)[0].bytes();
  uint64_t stride = list->size();
  bool aligned = entry == OpenCLLIB::Vloada_halfn || entry == OpenCLLIB::Vstorea_halfn ||
                 entry == OpenCLLIB::Vstorea_halfn_r;
  if (aligned && stride == 3) stride = 4;
  at->base = scaledAdd(at->base, (*offset)[0],
                       {Kind::integer, typeOfValue(in.operands[offsetAt]).bits, 0}, stride * bytes);
  Value v;
  if (isStore) {
    const Value* from = value(in.operands[kFirst]);
    if (from == nullptr) return false;
    v = *from;
  } else {
    const Value* to = define(in);
    if (to == nullptr) return false;
    v = *to;
  }
  const char* rounding = ".rn";
  bool hasMode = entry == OpenCLLIB::Vstore_half_r || entry == OpenCLLIB::Vstore_halfn_r ||
                 entry == OpenCLLIB::Vstorea_halfn_r;
  if (hasMode && in.operands.size() > offsetAt + 2) {
    constexpr const char* kModes[] = {".rn", ".rz", ".rp", ".rm"};
    rounding = kModes[in.operands[offsetAt + 2] & 3];
  }
  for (size_t i = 0; i < v.size(); ++i) {
    Place p = *at;
    p.offset += static_cast<int64_t>(i * bytes);
    if (!halves) {
      access(!isStore, p, bytes, {&v[i], 1}, false);
      continue;
    }
    Ref half = scratch(Bank::r32);
    std::string type = ".f" + std::to_string((*list)[i].bits);
    if (isStore) {
      lane(std::string("cvt") + rounding + ".f16" + type, half, {v[i]});
      access(false, p, 2, {&half, 1}, false);
    } else {
      access(true, p, 2, {&half, 1}, false);
      lane("cvt" + type + ".f16", v[i], {half});
    }
  }
  return true;
}

bool FunctionDecoder::extendedOther(const Inst& in, uint32_t entry) {
  auto operand = [&](size_t i) { return value(in.operands[kFirst + i]); };
  switch (entry) {
    case OpenCLLIB::Distance:
    case OpenCLLIB::Length:
    case OpenCLLIB::Normalize:
    case OpenCLLIB::Fast_distance:
    case OpenCLLIB::Fast_length:
    case OpenCLLIB::Fast_normalize:
      return lengthLike(in, entry);
    case OpenCLLIB::Cross: {
      const Value* a = operand(0);
      const Value* b = operand(1);
      if (a == nullptr || b == nullptr) return false;
      Value x = *a, y = *b;
      const Value* result = define(in);
      if (result == nullptr) return false;
      Value to = *result;
      Bank bank = refBank(to[0]);
      std::string type = ".rn.f" + std::to_string(elementType(in.type).bits);
      for (unsigned i = 0; i < to.size(); ++i) {
        if (i == 3) {
          move(to[3], bank == Bank::r64 ? constant64(0) : constant32(0));
          continue;
        }
        unsigned j = (i + 1) % 3, k = (i + 2) % 3;
        Ref p = laneTo(bank, "mul" + type, {x[j], y[k]});
        Ref q = laneTo(bank, "mul" + type, {x[k], y[j]});
        lane("sub" + type, to[i], {p, q});
      }
      return true;
    }
    case OpenCLLIB::Bitselect:
    case OpenCLLIB::Select: {
      const Value* a = operand(0);
      const Value* b = operand(1);
      const Value* c = operand(2);
      if (a == nullptr || b == nullptr || c == nullptr) return false;
      Value x = *a, y = *b, z = *c;
      const Type& ct = b_.type(b_.def(in.operands[kFirst + 2]).type);
      unsigned bits = elementType(b_.def(in.operands[kFirst + 2]).type).bits;
      const Value* result = define(in);
      if (result == nullptr) return false;
      Value to = *result;
      std::string w = refBank(to[0]) == Bank::r64 ? "64" : "32";
      Bank bank = refBank(to[0]);
      for (size_t i = 0; i < to.size(); ++i) {
        if (entry == OpenCLLIB::Bitselect) {
          Ref keep = laneTo(bank, "and.b" + w, {x[i], laneTo(bank, "not.b" + w, {z[i]})});
          lane("or.b" + w, to[i], {keep, laneTo(bank, "and.b" + w, {y[i], z[i]})});
          continue;
        }
        // Scalars: not zero; vectors: the sign.
        Ref v = bits < 32 ? widened(z[i], bits, true, 32) : z[i];
        std::string s = bits == 64 ? "s64" : "s32";
        Ref zero = bits == 64 ? constant64(0) : constant32(0);
        Ref p =
            laneTo(Bank::pred, (ct.kind == Kind::vector ? "setp.lt." : "setp.ne.") + s, {v, zero});
        lane("selp.b" + w, to[i], {y[i], x[i], p});
      }
      return true;
    }
    case OpenCLLIB::Shuffle:
    case OpenCLLIB::Shuffle2: {
      const Value* a = operand(0);
      if (a == nullptr) return false;
      Value from = *a;
      bool two = entry == OpenCLLIB::Shuffle2;
      if (two) {
        const Value* b = operand(1);
        if (b == nullptr) return false;
        from.insert(from.end(), b->begin(), b->end());
      }
      const Value* mask = operand(two ? 2 : 1);
      if (mask == nullptr) return false;
      Value index = *mask;
      unsigned bits = elementType(b_.def(in.operands[kFirst + (two ? 2 : 1)]).type).bits;
      const Value* result = define(in);
      if (result == nullptr) return false;
      Value to = *result;
      for (size_t i = 0; i < to.size(); ++i) {
        Ref word = asWord(index[i], {Kind::integer, static_cast<uint16_t>(bits), 0}, false);
        Ref at = laneTo(Bank::r32, "and.b32",
                        {word, constant32(static_cast<uint32_t>(from.size() - 1))});
        move(to[i], from[0]);
        for (size_t k = 1; k < from.size(); ++k) {
          Ref p = laneTo(Bank::pred, "setp.eq.u32", {at, constant32(static_cast<uint32_t>(k))});
          lane(refBank(to[i]) == Bank::r64 ? "selp.b64" : "selp.b32", to[i], {from[k], to[i], p});
        }
      }
      return true;
    }
    case OpenCLLIB::Prefetch:
      return true;
    case OpenCLLIB::Printf:
      return refuse("printf in SPIR-V");
    default:
      return vectorMemory(in, entry);
  }
}

bool FunctionDecoder::extended(const Inst& in) {
  if (in.operands.size() < 2) return refuse("this instruction");
  if (!b_.isOpenClStd(in.operands[0])) {
    return refuse("an extended instruction set other than OpenCL.std");
  }
  uint32_t entry = in.operands[1];
  bool other = (entry >= OpenCLLIB::Cross && entry <= OpenCLLIB::Fast_normalize) ||
               (entry >= OpenCLLIB::Vloadn && entry <= OpenCLLIB::Select);
  if (other) return extendedOther(in, entry);
  if (isHostInteger(entry)) return extendedInteger(in, entry);
  return extendedMath(in, entry);
}

}  // namespace mtlc::sim::spirv
