#include "mtlc/sim/oracle/driver.h"

#include <cmath>
#include <span>

#include "absl/strings/str_format.h"
#include "mtlc/sim/oracle/operands.h"
#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim::oracle {
namespace {

constexpr unsigned kBlock = 128;
constexpr uint64_t kKept = 0x5a5aa5a5c3c33c3cu;  // What guarded destinations hold before.
constexpr size_t kKernelsPerModule = 48;
constexpr size_t kFailuresPerVariant = 3;

enum Column { kResult, kGuarded, kPair, kGuardedPair, kCarry, kColumns };

bool usesCarry(const Form& f) {
  return f.has(Mod::cc) || f.row->opcode == "addc" || f.row->opcode == "subc" ||
         f.row->opcode == "madc";
}
bool subtracts(const Form& f) { return f.row->opcode == "sub" || f.row->opcode == "subc"; }

// The width of the register of an operand; 1 for a predicate.
unsigned registerBits(const Variant& v, const OperandSpec& spec) {
  Type t = operandType(spec, v.form);
  unsigned bits = typeBits(t);
  if (t == Mod::pred) return 1;
  TypeClass cls = typeClass(t);
  bool integer = cls == TypeClass::signedInt || cls == TypeClass::unsignedInt;
  if (spec.relaxed && integer && v.wideRegisters) return bits < 32 ? 32 : 64;
  // ptxas takes no wider one.
  if (bits == 8 && (cls == TypeClass::packed || (integer && !spec.relaxed))) return 8;
  return bits < 16 ? 16 : bits;
}

struct Slot {
  Type type;
  unsigned bits;  // Of the register.
  bool small;     // Bit positions and counts.
  bool negatable;
};

std::vector<Slot> sourcesOf(const Variant& v) {
  std::vector<Slot> out;
  for (const OperandSpec& s : v.form.row->operands) {
    if (s.role != OperandRole::source) continue;
    Type t = operandType(s, v.form);
    bool position = s.type == Mod::u32 || s.type == Mod::s32 || v.form.row->opcode == "fns";
    out.push_back({t, registerBits(v, s), position && !out.empty(), s.negatable});
    if (v.form.row->opcode == "bmsk") out.back().small = true;
  }
  return out;
}

std::string loadOf(const Slot& s, size_t index, unsigned tuples) {
  size_t offset = index * tuples * 8;
  if (s.bits == 1) {
    return absl::StrFormat("  ld.global.u32 %%t, [%%in+%d];\n  setp.ne.u32 %%s%d, %%t, 0;\n",
                           offset, index);
  }
  return absl::StrFormat("  ld.global.b%d %%s%d, [%%in+%d];\n", s.bits, index, offset);
}

std::string storeOf(unsigned bits, std::string_view reg, Column column, unsigned tuples) {
  size_t offset = column * static_cast<size_t>(tuples) * 8;
  if (bits == 1) {
    return absl::StrFormat("  selp.u32 %%t, 1, 0, %s;\n  st.global.u32 [%%out+%d], %%t;\n", reg,
                           offset);
  }
  return absl::StrFormat("  st.global.b%d [%%out+%d], %s;\n", bits, offset, reg);
}

std::string registerType(unsigned bits) {
  return bits == 1 ? "pred" : absl::StrFormat("b%d", bits);
}

std::string partOf(const Variant& v, size_t operand) {
  return v.selectors[operand].empty() ? "" : "." + v.selectors[operand];
}

std::string kernelText(const Variant& v, size_t index) {
  const Form& f = v.form;
  std::vector<Slot> sources = sourcesOf(v);
  unsigned destBits = registerBits(v, f.row->operands[0]);
  std::string k = absl::StrFormat(
      ".visible .entry k%d(.param .u64 pin, .param .u64 pout) {\n"
      "  .reg .b32 %%i<4>, %%t;\n  .reg .b64 %%in, %%out, %%at;\n  .reg .pred %%g, %%q, %%r;\n"
      "  .reg .%s %%d, %%e;\n",
      index, registerType(destBits));
  for (size_t s = 0; s < sources.size(); ++s) {
    absl::StrAppendFormat(&k, "  .reg .%s %%s%d;\n", registerType(sources[s].bits), s);
  }
  k += "  mov.u32 %i0, %ctaid.x;\n  mov.u32 %i1, %ntid.x;\n  mov.u32 %i2, %tid.x;\n"
       "  mad.lo.u32 %i0, %i0, %i1, %i2;\n  mul.wide.u32 %at, %i0, 8;\n"
       "  ld.param.u64 %in, [pin];\n  add.u64 %in, %in, %at;\n"
       "  ld.param.u64 %out, [pout];\n  add.u64 %out, %out, %at;\n";
  for (size_t s = 0; s < sources.size(); ++s) k += loadOf(sources[s], s, v.tuples);
  // The guard and the incoming carry are the last columns.
  absl::StrAppendFormat(&k, "  ld.global.u32 %%i3, [%%in+%d];\n  and.b32 %%t, %%i3, 1;\n",
                        sources.size() * v.tuples * 8);
  k += "  setp.ne.u32 %g, %t, 0;\n  shr.u32 %i3, %i3, 1;\n";
  if (destBits == 1) {
    k += "  setp.ne.u32 %e, %i1, 0;\n";
  } else if (destBits == 8) {  // There is no mov of that width.
    absl::StrAppendFormat(&k, "  cvt.u8.u32 %%e, %d;\n", kKept & 0xff);
  } else if (destBits == 16) {
    absl::StrAppendFormat(&k, "  mov.b16 %%e, %d;\n", kKept & 0xffff);
  } else {
    absl::StrAppendFormat(&k, "  mov.b%d %%e, %d;\n", destBits,
                          destBits == 64 ? kKept : kKept & 0xffffffffu);
  }
  if (v.pair) k += "  setp.ne.u32 %r, %i1, 0;\n";
  auto instruction = [&](std::string_view dest, std::string_view pair) {
    std::string text = spelling(f) + " " + std::string(dest) + partOf(v, 0);
    if (v.pair) text += "|" + std::string(pair);
    size_t next = 0;
    for (size_t i = 1; i < f.row->operands.size(); ++i) {
      const OperandSpec& spec = f.row->operands[i];
      if (spec.role == OperandRole::integer) {
        absl::StrAppendFormat(&text, ", %d", v.integer);
        continue;
      }
      absl::StrAppendFormat(&text, ", %s%s%%s%d%s", spec.negatable && v.negated ? "!" : "",
                            i < 4 && v.minus[i] ? "-" : "", next++, i < 4 ? partOf(v, i) : "");
    }
    return text + ";\n";
  };
  std::string setCarry =
      subtracts(f) ? "  sub.cc.u32 %t, 0, %i3;\n" : "  add.cc.u32 %t, %i3, 0xffffffff;\n";
  if (usesCarry(f)) k += setCarry;
  k += "  " + instruction("%d", "%q");
  if (usesCarry(f)) {
    k += subtracts(f) ? "  subc.u32 %t, 0, 0;\n  and.b32 %t, %t, 1;\n" : "  addc.u32 %t, 0, 0;\n";
    k += storeOf(32, "%t", kCarry, v.tuples);
    k += setCarry;
  }
  k += "  @%g " + instruction("%e", "%r");
  k += storeOf(destBits, "%d", kResult, v.tuples) + storeOf(destBits, "%e", kGuarded, v.tuples);
  if (v.pair) k += storeOf(1, "%q", kPair, v.tuples) + storeOf(1, "%r", kGuardedPair, v.tuples);
  return k + "  ret;\n}\n";
}

long double realOf(uint64_t bits, const BinaryFormat& f) {
  Exact x = unpack(bits, f);
  if (x.kind == Exact::infinity) return x.negative ? -INFINITY : INFINITY;
  long double m =
      std::ldexp(static_cast<long double>(static_cast<uint64_t>(x.mantissa)), x.exponent);
  return x.negative ? -m : m;
}

bool isWithin(const Want& w, uint64_t got) {
  for (unsigned e = 0; e < w.elements; ++e) {
    unsigned width = static_cast<unsigned>(w.format.bits());
    uint64_t bits = width == 64 ? got : got >> (width * e) & ((uint64_t{1} << width) - 1);
    if (w.wantNan[e] != isNanBits(bits, w.format)) return false;
    if (w.wantNan[e]) continue;
    if (w.lowHalfZero && (bits & 0xffffffffu) != 0) return false;
    long double v = realOf(bits, w.format), r = w.reference[e];
    long double largest = realOf(w.format.firstSpecial() - 1, w.format);
    if (std::isinf(v) || std::isinf(r)) {
      // Overflow within the error counts as infinity.
      bool near = std::fabs(r) + w.error[e] > largest;
      if (std::signbit(v) != std::signbit(r) || !(std::isinf(v) && near)) {
        if (!(near && std::isfinite(r) && v == std::copysign(largest, r))) return false;
      }
      continue;
    }
    if (r == 0 && v == 0 && std::signbit(r) != std::signbit(v)) return false;
    if (!(std::fabs(v - r) <= w.error[e])) return false;
  }
  return true;
}

bool agrees(const Want& w, uint64_t got, unsigned destBits) {
  switch (w.kind) {
    case Want::skip:
      return true;
    case Want::exact:
      return got == w.bits;
    case Want::oneOf:
      for (unsigned i = 0; i < w.choiceCount; ++i) {
        if (got == w.choices[i]) return true;
      }
      return false;
    case Want::quietNan: {
      const BinaryFormat& f = destBits == 64 ? kBinary64 : destBits == 32 ? kBinary32 : kBinary16;
      return isNanBits(got, f) && (got >> (f.fractionBits - 1) & 1) != 0;
    }
    case Want::within:
      return isWithin(w, got);
  }
  return false;
}

std::string wantText(const Want& w) {
  if (w.kind == Want::within) {
    return absl::StrFormat("%.9g +- %.3g", static_cast<double>(w.reference[0]),
                           static_cast<double>(w.error[0]));
  }
  if (w.kind == Want::quietNan) return "a quiet NaN";
  return absl::StrFormat("%#x", w.kind == Want::oneOf ? w.choices[0] : w.bits);
}

class Batch {
 public:
  Batch(std::span<const Variant> variants, bool portable, uint64_t seed, Outcome& outcome)
      : variants_(variants), seed_(seed), outcome_(outcome) {
    std::string text = ".version 9.2\n.target sm_103a\n.address_size 64\n";
    for (size_t i = 0; i < variants.size(); ++i) text += kernelText(variants[i], i);
    DeviceLimits limits;
    limits.portableLanes = portable;
    Harness h(text, limits);
    if (!h.ok()) {
      std::string errors = h.errors();
      outcome.failures.push_back("does not load: " + errors.substr(0, 1500));
      return;
    }
    size_t most = 0;
    for (const Variant& v : variants) most = std::max<size_t>(most, v.tuples);
    auto in = h.buffer(std::vector<uint64_t>(most * 8));
    auto out = h.buffer(std::vector<uint64_t>(most * kColumns));
    for (size_t i = 0; i < variants.size(); ++i) {
      const Variant& v = variants[i];
      Oracle oracle = oracleOf(v.form);
      if (!oracle) {
        outcome.failures.push_back("no oracle: " + v.describe());
        continue;
      }
      fill(v, in.view());
      for (uint64_t& x : out.view()) x = 0;
      LaunchResult r =
          h.run(absl::StrFormat("k%d", i), {v.tuples / kBlock, 1, 1}, {kBlock, 1, 1}, in, out);
      if (r.status != LaunchStatus::ok) {
        outcome.failures.push_back(v.describe() + ": launch failed: " + r.message);
        continue;
      }
      compareAll(v, oracle, in.view(), out.view(), portable);
      ++outcome.kernels;
    }
  }

 private:
  void fill(const Variant& v, std::span<uint64_t> in) {
    Random random(seed_ ^ std::hash<std::string>()(v.describe()));
    std::vector<Slot> sources = sourcesOf(v);
    Type destType = operandType(v.form.row->operands[0], v.form);
    bool exhaustive =
        sources.size() == 1 && sources[0].type != Mod::pred && typeBits(sources[0].type) <= 16;
    for (size_t i = 0; i < v.tuples; ++i) {
      for (size_t s = 0; s < sources.size(); ++s) {
        const Slot& slot = sources[s];
        uint64_t value;
        if (exhaustive && typeBits(slot.type) == 8) {
          value = i & 0xff;
        } else if (exhaustive) {
          value = i * 65536 / v.tuples + (v.tuples >= 65536 ? 0 : random.below(65536 / v.tuples));
        } else if (s > 0 && slot.type == sources[0].type && !slot.small && random.oneIn(6)) {
          value = relatedTo(slot.type, in[i], random);
        } else if (slot.type == Mod::f32 && typeClass(destType) == TypeClass::packed &&
                   random.oneIn(2)) {
          value = operandNear(destType, random);
        } else {
          value = operandOf(slot.type, slot.small, random);
        }
        if (slot.bits > typeBits(slot.type) && slot.type != Mod::pred) {
          // A wider register: the rest of it must not matter.
          uint64_t mask = (uint64_t{1} << typeBits(slot.type)) - 1;
          value = (value & mask) | (random.next() & ~mask);
        }
        in[s * v.tuples + i] = value;
      }
      // Every seventh block of 32 has all lanes on, some have none.
      uint64_t group = i / 32 % 7;
      uint64_t on = group == 0 ? 1 : group == 1 ? 0 : random.below(2);
      in[sources.size() * v.tuples + i] = on | random.below(2) << 1;
    }
  }

  void compareAll(const Variant& v, const Oracle& oracle, std::span<const uint64_t> in,
                  std::span<const uint64_t> out, bool portable) {
    std::vector<Slot> sources = sourcesOf(v);
    unsigned destBits = registerBits(v, v.form.row->operands[0]);
    uint64_t destMask = destBits == 64 ? ~uint64_t{0} : (uint64_t{1} << destBits) - 1;
    Type destType = operandType(v.form.row->operands[0], v.form);
    size_t failures = 0, n = v.tuples;
    for (size_t i = 0; i < n && failures < kFailuresPerVariant; ++i) {
      Operands o;
      o.integer = v.integer;
      o.selectors = v.selectors;
      o.minus = v.minus;
      for (size_t s = 0; s < sources.size(); ++s) {
        const Slot& slot = sources[s];
        unsigned width = typeBits(slot.type);
        uint64_t value = in[s * n + i] & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
        if (slot.negatable && v.negated) value ^= 1;
        o.src[s] = value;
      }
      uint64_t control = in[sources.size() * n + i];
      o.carryIn = (control >> 1) != 0;
      Want w = oracle(o);
      if (w.kind == Want::skip) {
        ++outcome_.skipped;
        continue;
      }
      ++outcome_.tuples;
      if (v.form.row->operands[0].relaxed && destBits > typeBits(destType)) {
        // Extended to the register by the type of the destination.
        w.bits = lowBits(integerValue(destType, w.bits), destBits);
      }
      uint64_t got = out[kResult * n + i];
      uint64_t kept = destBits == 1 ? 1 : kKept & destMask;
      bool on = (control & 1) != 0;
      uint64_t guarded = out[kGuarded * n + i];
      std::string what;
      if (!agrees(w, got, destBits)) {
        what = absl::StrFormat("%#x", got);
      } else if (guarded != (on ? got : kept)) {
        what = absl::StrFormat("%#x under a guard that is %s", guarded, on ? "true" : "false");
      } else if (v.pair && (out[kPair * n + i] != 0) != w.predicate) {
        what = absl::StrFormat("second predicate %d", out[kPair * n + i]);
      } else if (v.pair && (out[kGuardedPair * n + i] != 0) != (on ? w.predicate : true)) {
        what = absl::StrFormat("second predicate %d under a guard", out[kGuardedPair * n + i]);
      } else if (usesCarry(v.form) && (out[kCarry * n + i] != 0) != w.carry) {
        what = absl::StrFormat("carry %d", out[kCarry * n + i]);
      } else {
        continue;
      }
      ++failures;
      std::string operands;
      for (size_t s = 0; s < sources.size(); ++s) {
        absl::StrAppendFormat(&operands, " %#x", o.src[s]);
      }
      outcome_.failures.push_back(
          absl::StrFormat("%s (%s):%s: got %s, want %s%s", v.describe(), portable ? "base" : "best",
                          operands, what, wantText(w), v.pair ? (w.predicate ? "|1" : "|0") : ""));
    }
  }

  std::span<const Variant> variants_;
  uint64_t seed_;
  Outcome& outcome_;
};

}  // namespace

std::string Variant::describe() const {
  std::string text = spelling(form);
  if (pair) text += " d|p";
  if (negated) text += " !p";
  if (wideRegisters) text += " wide";
  for (size_t i = 0; i < 4; ++i) {
    if (!selectors[i].empty() || minus[i]) {
      absl::StrAppendFormat(&text, " %d:%s%s", i, minus[i] ? "-" : "", selectors[i]);
    }
  }
  for (const OperandSpec& s : form.row->operands) {
    if (s.role == OperandRole::integer) absl::StrAppendFormat(&text, " %d", integer);
  }
  return text;
}

bool dependsOnContext(Family family) {
  switch (family) {
    case Family::isspacep:
    case Family::cvta:
    case Family::cvtaTo:
    case Family::createPolicy:
    case Family::mapa:
    case Family::ctaRank:
    case Family::pendingCount:
    case Family::activemask:
    case Family::shfl:
    case Family::vote:
      return true;
    default:
      return false;
  }
}

namespace {

// A selector for operand `index`, or none.
std::string randomSelector(const Form& f, size_t index, Random& random) {
  if (f.row->family == Family::video) {
    if (index != 0 && random.oneIn(3)) return {};
    static constexpr const char* kParts[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
    return kParts[random.below(6)];
  }
  if (random.oneIn(4)) return {};
  unsigned count = f.row->family == Family::video2 ? 2 : 4;
  std::string text(1, count == 2 ? 'h' : 'b');
  if (index == 0) {
    uint64_t mask = 1 + random.below((1u << count) - 1);
    for (unsigned i = count; i-- > 0;) {
      if ((mask >> i & 1) != 0) text += static_cast<char>('0' + i);
    }
  } else {
    for (unsigned i = 0; i < count; ++i) text += static_cast<char>('0' + random.below(2 * count));
  }
  return text;
}

// Every form with its default selectors where it may do without, and with random ones.
std::vector<Variant> videoVariants(const Form& form, unsigned tuples) {
  const auto& operands = form.row->operands;
  Random random(std::hash<std::string>()(spelling(form)) + operands.size());
  bool merge = form.row->family == Family::video && operands[0].selector;
  std::vector<Variant> out;
  for (int n = 0; n < 6; ++n) {
    Variant v;
    v.form = form;
    v.tuples = std::max(kBlock, tuples / 4);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].selector && (n > 0 || (merge && i == 0))) {
        v.selectors[i] = randomSelector(form, i, random);
      }
      v.minus[i] = operands[i].minus && n > 0 && random.oneIn(3);
    }
    // Either the product is negated or the addend.
    if (v.minus[1] != v.minus[2]) v.minus[3] = false;
    out.push_back(v);
  }
  return out;
}

}  // namespace

std::vector<Variant> variantsOf(const Form& form, unsigned tuples) {
  if (form.row->family == Family::video || form.row->family == Family::video2 ||
      form.row->family == Family::video4) {
    return videoVariants(form, tuples);
  }
  bool pairs = false, needsPair = false, negates = false, relaxed = false, constant = false;
  for (const OperandSpec& s : form.row->operands) {
    pairs = pairs || s.predicatePair;
    needsPair = needsPair || s.needsPair;
    negates = negates || s.negatable;
    constant = constant || s.role == OperandRole::integer;
    TypeClass cls = typeClass(operandType(s, form));
    relaxed =
        relaxed || (s.relaxed && (cls == TypeClass::signedInt || cls == TypeClass::unsignedInt));
  }
  std::vector<Variant> out;
  Variant v;
  v.form = form;
  v.tuples = tuples;
  v.pair = pairs;
  if (constant) {
    v.tuples = kBlock;
    for (v.integer = 0; v.integer < 256; ++v.integer) {
      v.negated = negates && (v.integer & 1) != 0;
      out.push_back(v);
    }
    return out;
  }
  // All pairs of codes.
  if (form.row->family == Family::cvtNarrow && typeBits(form.types[1]) == 16) v.tuples = 65536;
  out.push_back(v);
  v.tuples = std::max(kBlock, tuples / 4);
  if (negates) {
    v.negated = true;
    out.push_back(v);
    v.negated = false;
  }
  if (pairs && !needsPair) {
    v.pair = false;
    out.push_back(v);
    v.pair = pairs;
  }
  if (relaxed) {
    v.wideRegisters = true;
    out.push_back(v);
  }
  return out;
}

void runVariants(const std::vector<Variant>& variants, uint64_t seed, Outcome& outcome) {
  for (size_t at = 0; at < variants.size(); at += kKernelsPerModule) {
    auto part = std::span(variants).subspan(at, std::min(kKernelsPerModule, variants.size() - at));
    for (bool portable : {true, false}) Batch(part, portable, seed, outcome);
  }
}

}  // namespace mtlc::sim::oracle
