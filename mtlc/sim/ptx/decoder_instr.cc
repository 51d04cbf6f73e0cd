// Instructions that compute.

#include <algorithm>

#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {
namespace {

// Exchanges without .sync: not in PTX 6.4 and newer for sm_70 and newer (PTX
// ISA 9.7.9.5, 9.7.13.9). wmma.mma of floating point with .satfinite: not in PTX 6.5 and newer.
bool withdrawn(const InstrRow& row, const Module& m) {
  if (row.family == Family::wmmaMma && row.pattern.ends_with(".(f16|f32).satfinite")) {
    return m.version >= 65;
  }
  return (row.family == Family::shfl || row.family == Family::vote) && m.version >= 64 &&
         m.sm >= 70;
}

// What a word needs in the forms that have it (PTX ISA, notes of the instructions); `opcode` and
// `with`: only with that start of the opcode, or with that other word.
struct WordNeeds {
  Mod word;
  uint8_t ptx;
  uint8_t sm;
  std::string_view opcode = {};
  Mod with = Mod::none;
};
constexpr WordNeeds kWordNeeds[] = {
    {Mod::cluster, 78, 90},
    {Mod::sharedCluster, 78, 90},
    {Mod::sharedCta, 78, 30},
    {Mod::paramEntry, 83, 10},
    {Mod::paramFunc, 83, 10},
    {Mod::b128, 83, 70},
    {Mod::b128, 84, 70, {}, Mod::sys},
    {Mod::l2CacheHint, 74, 80},
    {Mod::l2Prefetch64, 74, 75},
    {Mod::l2Prefetch128, 74, 75},
    {Mod::l2Prefetch256, 74, 80},
    {Mod::cta, 78, 30, "bar"},
    {Mod::sparseOrdered, 85, 80},
    {Mod::cta, 80, 80, "mbarrier"},
    {Mod::cluster, 80, 90, "mbarrier"},
    {Mod::sharedCluster, 80, 90, "mbarrier"},
};

// Forms that only targets with the suffix a or f have: the least of those, or empty when the
// module's target is one.
std::string_view specificTarget(const Form& f, const Module& m) {
  switch (f.row->family) {
    case Family::reduxSync:
      return f.types[0] == Mod::f32 && !m.archSpecific ? "100a" : "";
    case Family::tensormapReplace:
      return m.archSpecific ? "" : f.row->sm >= 100 ? "100a" : "90a";
    case Family::cvtPair:
    case Family::cvtNarrow:
      return (f.firstOf({Mod::e2m1x2, Mod::e2m3x2, Mod::e3m2x2, Mod::ue8m0x2}) != Mod::none ||
              f.row->ptx >= 91) &&
                     !m.archSpecific
                 ? "100a"
                 : "";
    case Family::prefetch:
      return f.row->opcode == "setmaxnreg" && !m.archSpecific ? "90a" : "";
    case Family::mma: {
      bool kind = f.firstOf({Mod::kindF8f6f4, Mod::kindMxf8f6f4, Mod::kindMxf4,
                             Mod::kindMxf4nvf4}) != Mod::none;
      bool packed = f.has(Mod::kindMxf4) || f.has(Mod::kindMxf4nvf4);
      // Sparse products of packed e2m1 are of the one target, not of its family.
      if (packed && f.has(Mod::sparseOrdered) && m.target.ends_with('f')) return "120a";
      bool wide = f.has(Mod::m16n8k64) && f.has(Mod::sparseOrdered) && f.types[0] == Mod::f16 &&
                  (f.has(Mod::e4m3) || f.has(Mod::e5m2));
      return (!kind && !wide) || m.archSpecific ? "" : f.row->sm >= 120 ? "120a" : "100a";
    }
    case Family::warpgroupProduct:
    case Family::warpgroupFence:
    case Family::warpgroupCommit:
    case Family::warpgroupWait:
      return m.sm == 90 && m.archSpecific ? "" : "90a";
    case Family::ldmatrix:
    case Family::stmatrix:
      return !f.has(Mod::b16) && !m.archSpecific ? "100a" : "";
    default:
      return "";
  }
}

std::string describe(const Instruction& in) { return std::string(in.spelling); }

}  // namespace

const Form* FunctionDecoder::matchForm(const Instruction& in) {
  // One spelling may have rows that differ in their operands only.
  auto key = in.spelling;
  auto known = forms_.find(key);
  if (known != forms_.end() && known->second.row != nullptr) {
    const InstrRow& row = *known->second.row;
    size_t least = 0;
    for (const OperandSpec& s : row.operands) least += s.optional ? 0 : 1;
    if (row.controlOperands ||
        (in.operands.size() >= least && in.operands.size() <= row.operands.size())) {
      return &known->second;
    }
  }
  auto rows = rowsOf(in.opcode);
  Form form;
  const InstrRow* wrongCount = nullptr;
  const std::vector<Mod>& mods = in.mods;
  bool usual = std::any_of(rows.begin(), rows.end(),
                           [&](const InstrRow* row) { return matchRow(*row, mods, form); });
  for (const InstrRow* row : rows) {
    if (usual ? !matchRow(*row, mods, form) : !matchRowInAnyOrder(*row, mods, form)) continue;
    if (withdrawn(*row, k_.symbols().module())) continue;
    size_t least = 0;
    for (const OperandSpec& s : row->operands) least += s.optional ? 0 : 1;
    if (!row->controlOperands &&
        (in.operands.size() < least || in.operands.size() > row->operands.size())) {
      wrongCount = row;
      continue;
    }
    const Module& m = k_.symbols().module();
    unsigned ptx = row->ptx, sm = row->sm;
    for (const WordNeeds& n : kWordNeeds) {
      if (!form.has(n.word) || in.opcode.substr(0, n.opcode.size()) != n.opcode ||
          (n.with != Mod::none && !form.has(n.with))) {
        continue;
      }
      // ptxas takes this one from the start.
      if (n.word == Mod::sharedCta && row->family == Family::copyAsync) continue;
      ptx = std::max<unsigned>(ptx, n.ptx);
      sm = std::max<unsigned>(sm, n.sm);
    }
    // Eight-bit floats came to sm_89 after sm_90.
    if ((form.has(Mod::e4m3x2) || form.has(Mod::e5m2x2)) && m.sm == 89) ptx = std::max(ptx, 81u);
    if (m.version < ptx) {
      error(DiagId::PtxNeedsVersion, in.loc, in.length, {describe(in), ptx / 10, ptx % 10});
      return nullptr;
    }
    if (m.sm < sm) {
      error(DiagId::PtxNeedsTarget, in.loc, in.length, {describe(in), sm, m.target});
      return nullptr;
    }
    if (std::string_view needed = specificTarget(form, m); !needed.empty()) {
      error(DiagId::PtxNeedsTarget, in.loc, in.length, {describe(in), needed, m.target});
      return nullptr;
    }
    Form& kept = forms_[key];
    kept = form;
    return &kept;
  }
  if (wrongCount != nullptr) {
    error(DiagId::PtxOperandCount, in.loc, in.length,
          {describe(in), wrongCount->operands.size(), in.operands.size()});
    return nullptr;
  }
  if (std::find_if(mods.begin(), mods.end(), [](Mod m) {
        return m == Mod::im2col || m == Mod::im2colNoOffs;
      }) != mods.end()) {
    error(DiagId::PtxUnsupported, in.loc, in.length, {describe(in)});
    return nullptr;
  }
  std::string known_forms;
  for (size_t i = 0; i < rows.size() && i < 4; ++i) {
    if (i != 0) known_forms += ", ";
    known_forms += rows[i]->pattern;
  }
  if (rows.size() > 4) known_forms += ", …";
  error(DiagId::PtxUnknownForm, in.loc, in.length, {describe(in), known_forms});
  return nullptr;
}

Ref FunctionDecoder::guardRef(const Instruction& in) {
  if (in.guard.empty()) return kNoRef;
  auto r = findRegister(in.guard, {}, in.loc);
  if (!r) return kNoRef;
  if (r->type != Mod::pred) {
    error(DiagId::PtxOperandType, in.loc, in.length, {in.guard, typeRow(r->type).name, "pred"});
    return kNoRef;
  }
  return r->ref | (in.guardNegated ? kNegate : 0);
}

void FunctionDecoder::instruction(const Instruction& in) {
  loc_ = in.loc;
  row_ = 0;
  const Form* form = matchForm(in);
  if (form == nullptr) return;
  row_ = form->row->index;
  convertsIntegers_ =
      form->types[1] != Mod::none && typeClass(form->types[0]) != TypeClass::floating;
  guard_ = guardRef(in);
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const Operand& o = in.operands[i];
    bool allowed = i < form->row->operands.size() && form->row->operands[i].minus;
    bool minus = o.minus && !allowed;
    for (const Operand& e : o.elements) minus = minus || e.minus;
    if (minus) {
      error(DiagId::PtxOperandKind, o.loc, 1, {"a negated operand"});
      return;
    }
  }
  switch (form->row->family) {
    case Family::mov:
      moveInstruction(in, *form);
      break;
    case Family::ld:
    case Family::st:
      memoryInstruction(in, *form);
      break;
    case Family::atom:
    case Family::red:
      atomicInstruction(in, *form);
      break;
    case Family::fence:
      fenceInstruction(in, *form);
      break;
    case Family::barSync:
    case Family::barArrive:
    case Family::barRed:
      beginGuarded(in);
      barrierInstruction(in, *form);
      endGuarded();
      break;
    case Family::bra:
      branchInstruction(in, *form);
      break;
    case Family::brx:
      beginGuarded(in);
      branchTableInstruction(in, *form);
      endGuarded();
      break;
    case Family::call:
      beginGuarded(in);
      callInstruction(in, *form);
      endGuarded();
      break;
    case Family::stackAlloc:
    case Family::stackSave:
    case Family::stackRestore:
      beginGuarded(in);
      stackInstruction(in, *form);
      endGuarded();
      break;
    case Family::ret:
    case Family::exit:
    case Family::trap:
    case Family::brkpt:
    case Family::nanosleep:
    case Family::prefetch:
      simpleControl(in, *form);
      break;
    case Family::copyAsync:
    case Family::copyCommit:
    case Family::copyWait:
    case Family::copyArrive:
    case Family::mbarrierInit:
    case Family::mbarrierInval:
    case Family::mbarrierBytes:
    case Family::mbarrierArrive:
    case Family::mbarrierWait:
    case Family::proxyFence:
    case Family::storeAsync:
    case Family::tensormapReplace:
    case Family::tensormapCopy:
    case Family::tensormapFence:
    case Family::clusterArrive:
    case Family::clusterWait:
    case Family::bulkCopy:
    case Family::bulkReduce:
    case Family::tensorCopy:
    case Family::tensorReduce:
    case Family::bulkCommit:
    case Family::bulkWait:
    case Family::bulkPrefetch:
      asyncInstruction(in, *form);
      break;
    case Family::shflSync:
    case Family::voteSync:
    case Family::matchSync:
    case Family::reduxSync:
    case Family::electSync:
    case Family::warpSync:
      beginGuarded(in);
      genericInstruction(in, *form);
      endGuarded();
      break;
    case Family::mma:
    case Family::wmmaMma:
    case Family::wmmaLoad:
    case Family::wmmaStore:
    case Family::ldmatrix:
    case Family::stmatrix:
    case Family::movmatrix:
    case Family::warpgroupProduct:
    case Family::warpgroupFence:
    case Family::warpgroupCommit:
    case Family::warpgroupWait:
      beginGuarded(in);
      matrixInstruction(in, *form);
      endGuarded();
      break;
    default:
      genericInstruction(in, *form);
      break;
  }
  guard_ = kNoRef;
}

// Takes the selector off the operand of a video instruction and puts it into `imm`, see lanes.h.
bool FunctionDecoder::selectParts(Operand& o, size_t index, Family family, bool fourOperands,
                                  int64_t& imm) {
  std::string_view text = o.component;
  o.component = {};
  auto wrong = [&] {
    return error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
                 {text.empty() ? std::string("a destination without a part")
                               : "the selector ." + std::string(text)});
  };
  auto digitAt = [&](size_t i) { return static_cast<unsigned>(text[i] - '0'); };
  unsigned shift = index == 0 ? kVideoDSelector : index == 1 ? kVideoASelector : kVideoBSelector;
  int64_t bits = 0;
  if (family == Family::video) {
    // Only a merge has a part of the destination, and must.
    if (text.empty()) return index != 0 || !fourOperands ? true : wrong();
    bool byte = text[0] == 'b';
    if (text.size() != 2 || (!byte && text[0] != 'h') || digitAt(1) >= (byte ? 4u : 2u)) {
      return wrong();
    }
    bits = digitAt(1) + (byte ? 1u : 5u);
  } else {
    unsigned count = family == Family::video2 ? 2 : 4;
    if (text.empty()) {
      text = index == 0   ? (count == 2 ? "h10" : "b3210")
             : index == 1 ? (count == 2 ? "h10" : "b3210")
                          : (count == 2 ? "h32" : "b7654");
    }
    size_t digits = text.size() - 1;
    if (text[0] != (count == 2 ? 'h' : 'b') || digits > count || digits == 0 ||
        (index != 0 && digits != count)) {
      return wrong();
    }
    for (size_t i = 1; i <= digits; ++i) {
      unsigned d = digitAt(i);
      if (d >= (index == 0 ? count : 2 * count)) return wrong();
      if (index == 0) {
        // Elements from the highest down.
        if (i > 1 && d >= digitAt(i - 1)) return wrong();
        bits |= int64_t{1} << d;
      } else {
        bits |= static_cast<int64_t>(d) << (3 * (digits - i));
      }
    }
  }
  imm |= bits << shift;
  return true;
}

bool FunctionDecoder::genericInstruction(const Instruction& in, const Form& form) {
  const InstrRow& row = *form.row;
  Instr out;
  out.op = familyKind(row.family) == FamilyKind::collective ? Op::collective : Op::lane;
  out.guard = guard_;
  out.ext = kNoRef;
  out.fn = k_.lanes().select(form);
  out.imm = k_.lanes().details(form);
  if (out.fn == nullptr) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {describe(in), row.pattern});
  }
  unsigned sources = 0;
  // A relaxed destination in the other register bank is written through a temporary.
  Ref widenTo = kNoRef;
  bool widenSigned = false;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const OperandSpec& spec = row.operands[i];
    Operand whole = in.operands[i];
    if (spec.selector && !selectParts(whole, i, row.family, in.operands.size() == 4, out.imm)) {
      return false;
    }
    if (spec.minus && whole.minus) {
      // A product of two negated factors is not negated.
      if (i == 3 && (out.imm & kVideoNegateProduct) != 0) {
        return error(DiagId::PtxOperandKind, whole.loc, 1, {"another negated operand"});
      }
      out.imm ^= i == 3 ? kVideoNegateAddend : kVideoNegateProduct;
      whole.minus = false;
    }
    const Operand& o = whole;
    Type type = operandType(spec, form);
    switch (spec.role) {
      case OperandRole::dest: {
        if (spec.needsPair && o.pair.empty()) {
          return error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
                       {"a destination without `|` and a predicate"});
        }
        if (o.kind == Operand::Kind::sink && o.pair.empty()) {
          out.dst = scratch(typeBits(type) == 64 ? Bank::r64
                            : type == Mod::pred  ? Bank::pred
                                                 : Bank::r32);
          break;
        }
        if (!o.pair.empty() && !spec.predicatePair) {
          return error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
                       {"a pair of destinations"});
        }
        Type regType;
        auto dst = destination(o, type, spec.relaxed, &regType);
        auto pair = pairDestination(o);
        if (!dst || !pair) return false;
        out.dst = *dst;
        if (spec.predicatePair) out.ext = *pair;
        if (spec.relaxed) {
          out.imm |= typeBits(regType);
          if (refBank(*dst) == Bank::r64 && typeBits(type) < 64) {
            widenTo = *dst;
            widenSigned = typeClass(type) == TypeClass::signedInt;
            out.dst = scratch(Bank::r32);
          }
        }
        break;
      }
      case OperandRole::source: {
        auto ref = source(o, type, spec.relaxed, spec.negatable, nullptr);
        if (!ref) return false;
        if (spec.relaxed && refBank(*ref) == Bank::r64 && typeBits(type) < 64) {
          Ref t = scratch(Bank::r32);
          emitMove(MoveKind::truncate, t, *ref);
          ref = t;
        }
        out.src[sources++] = *ref;
        break;
      }
      case OperandRole::address: {
        auto ref = addressValue(o, type);
        if (!ref) return false;
        out.src[sources++] = *ref;
        break;
      }
      case OperandRole::integer: {
        uint64_t bits;
        if (o.kind != Operand::Kind::constant) {
          return error(DiagId::PtxOperandKind, o.loc, static_cast<uint32_t>(o.name.size()),
                       {"anything but a constant"});
        }
        if (!immediateBits(o.value, type, o.loc, bits)) return false;
        out.imm = static_cast<int64_t>(bits);
        break;
      }
      default:
        return error(DiagId::PtxOperandKind, o.loc, 0, {"an operand of this form"});
    }
  }
  if (out.op == Op::collective) {
    out.size = static_cast<uint8_t>(sources - 1);  // Which source is the mask.
  }
  emit(out);
  if (widenTo != kNoRef) {
    emitMove(widenSigned ? MoveKind::signExtend : MoveKind::zeroExtend, widenTo, out.dst);
  }
  return true;
}

// mov d, a: registers, constants, special registers, addresses, and vectors that pack or unpack
// (PTX ISA 9.7.9.1).
bool FunctionDecoder::moveInstruction(const Instruction& in, const Form& form) {
  if (!operandCount(in, 2, 2)) return false;
  Type type = form.types[0];
  const Operand& d = in.operands[0];
  const Operand& a = in.operands[1];
  if (d.kind == Operand::Kind::vector) return unpackMove(in, form);
  if (a.kind == Operand::Kind::vector) return packMove(in, form);
  if (type == Mod::b128) {
    auto from = findRegister(a.name, a.component, a.loc);
    auto to = findRegister(d.name, d.component, d.loc);
    if (!from || !to) return false;
    if (from->type != Mod::b128 || to->type != Mod::b128) {
      return error(DiagId::PtxOperandType, in.loc, in.length,
                   {a.name, typeRow(from->type).name, "b128"});
    }
    emitMove(MoveKind::r64, to->ref, from->ref);
    emitMove(MoveKind::r64, to->ref + 1, from->ref + 1);
    return true;
  }
  Type regType;
  auto dst = destination(d, type, false, &regType);
  if (!dst) return false;
  Instr out;
  out.op = Op::lane;
  out.guard = guard_;
  out.dst = *dst;
  out.ext = kNoRef;
  bool wide = typeBits(type) == 64;
  MoveKind kind = type == Mod::pred ? MoveKind::pred : wide ? MoveKind::r64 : MoveKind::r32;
  if (a.kind == Operand::Kind::name && findLocal(a.name, nullptr) == nullptr && a.name[0] == '%') {
    // Registers that change, and static ones in other widths than 32 bits.
    if (a.name == "%clock" || a.name == "%globaltimer_lo") {
      kind = MoveKind::clock32;
    } else if (a.name == "%clock_hi" || a.name == "%globaltimer_hi") {
      kind = MoveKind::clockHi;
    } else if (a.name == "%clock64" || a.name == "%globaltimer") {
      kind = MoveKind::clock64;
    } else if (a.name == "%gridid" || a.name == "%current_graph_exec") {
      TypeClass cls = typeClass(type);
      bool narrow = a.name == "%current_graph_exec" && !wide;
      if (type == Mod::pred || cls == TypeClass::floating || narrow) {
        return error(DiagId::PtxOperandType, a.loc, static_cast<uint32_t>(a.name.size()),
                     {a.name, "u64", typeRow(type).name});
      }
      out.src[0] = wide ? k_.constant64(0) : k_.constant32(0);
      emitKind(out, kind);
      return true;
    } else if (a.name == "%is_explicit_cluster" && type == Mod::pred) {
      out.src[0] = k_.constantPred(false);
      emitKind(out, kind);
      return true;
    } else if (auto ref = specialRegister(a.name, a.component)) {
      TypeClass cls = typeClass(type);
      // Thread and block coordinates were 16 bits wide once.
      bool coordinate =
          a.name == "%tid" || a.name == "%ntid" || a.name == "%ctaid" || a.name == "%nctaid";
      if (type == Mod::pred || cls == TypeClass::floating || wide ||
          (typeBits(type) == 16 && !coordinate)) {
        return error(DiagId::PtxOperandType, a.loc, static_cast<uint32_t>(a.name.size()),
                     {a.name, "u32", typeRow(type).name});
      }
      out.src[0] = *ref;
      if (typeBits(type) == 16) {
        // The low half.
        out.ext = static_cast<uint32_t>(p_.operandLists.size());
        p_.operandLists.insert(p_.operandLists.end(), {*dst, kNoRef});
        kind = MoveKind::unpack16;
      }
      emitKind(out, kind);
      return true;
    } else {
      return error(DiagId::PtxUndefined, a.loc, static_cast<uint32_t>(a.name.size()), {a.name});
    }
    bool isWide = kind == MoveKind::clock64;
    if (isWide != wide || typeBits(type) < 32 || typeClass(type) == TypeClass::floating) {
      return error(DiagId::PtxOperandType, a.loc, static_cast<uint32_t>(a.name.size()),
                   {a.name, isWide ? "u64" : "u32", typeRow(type).name});
    }
    emitKind(out, kind);
    return true;
  }
  if (a.kind == Operand::Kind::name) {
    if (auto address = symbolAddress(a)) {
      TypeClass cls = typeClass(type);
      if (typeBits(type) < 32 || cls == TypeClass::floating || cls == TypeClass::packed) {
        return error(DiagId::PtxOperandType, a.loc, static_cast<uint32_t>(a.name.size()),
                     {a.name, "an address", typeRow(type).name});
      }
      if (address->frameRelative && frameBase_) {
        out.imm = static_cast<int64_t>(address->value);
        kind = wide ? MoveKind::localAddress : MoveKind::localAddress32;
      } else {
        out.src[0] = wide ? k_.constant64(address->value)
                          : k_.constant32(static_cast<uint32_t>(address->value));
      }
      emitKind(out, kind);
      return true;
    }
  }
  auto src = source(a, type, false, type == Mod::pred, nullptr);
  if (!src) return false;
  out.src[0] = *src;
  emitKind(out, kind);
  return true;
}

namespace {
// What a vector of `count` elements in a type of `bits` is.
std::optional<MoveKind> packKind(unsigned bits, size_t count, bool unpack, Type& element) {
  if (bits == 16 && count == 2) {
    element = Mod::b8;
    return unpack ? MoveKind::unpack8x2 : MoveKind::pack8x2;
  }
  if (bits == 32 && count == 2) {
    element = Mod::b16;
    return unpack ? MoveKind::unpack16 : MoveKind::pack16;
  }
  if (bits == 32 && count == 4) {
    element = Mod::b8;
    return unpack ? MoveKind::unpack8x4 : MoveKind::pack8x4;
  }
  if (bits == 64 && count == 2) {
    element = Mod::b32;
    return unpack ? MoveKind::unpack32 : MoveKind::pack32;
  }
  if (bits == 64 && count == 4) {
    element = Mod::b16;
    return unpack ? MoveKind::unpack16x4 : MoveKind::pack16x4;
  }
  return std::nullopt;
}
}  // namespace

bool FunctionDecoder::packMove(const Instruction& in, const Form& form) {
  Type type = form.types[0];
  const Operand& v = in.operands[1];
  if (type == Mod::b128 && v.elements.size() == 2) {
    auto to = findRegister(in.operands[0].name, in.operands[0].component, in.operands[0].loc);
    auto lo = source(v.elements[0], Mod::b64, false, false, nullptr);
    auto hi = source(v.elements[1], Mod::b64, false, false, nullptr);
    if (!to || !lo || !hi) return false;
    if (to->type != Mod::b128) {
      return error(DiagId::PtxOperandType, in.loc, in.length,
                   {in.operands[0].name, typeRow(to->type).name, "b128"});
    }
    emitMove(MoveKind::r64, to->ref, *lo);
    emitMove(MoveKind::r64, to->ref + 1, *hi);
    return true;
  }
  Type element;
  auto kind = packKind(typeBits(type), v.elements.size(), false, element);
  if (!kind || typeClass(type) != TypeClass::bits) {
    return error(DiagId::PtxOperandKind, v.loc, 1, {"a vector of this length"});
  }
  auto dst = destination(in.operands[0], type, false, nullptr);
  if (!dst) return false;
  Instr out;
  out.op = Op::lane;
  out.guard = guard_;
  out.dst = *dst;
  out.ext = kNoRef;
  for (size_t i = 0; i < v.elements.size(); ++i) {
    // Bytes come from 16-bit registers or from registers of their own width.
    auto ref = source(v.elements[i], element, element == Mod::b8, false, nullptr);
    if (!ref) return false;
    out.src[i] = *ref;
  }
  emitKind(out, *kind);
  return true;
}

bool FunctionDecoder::unpackMove(const Instruction& in, const Form& form) {
  Type type = form.types[0];
  const Operand& v = in.operands[0];
  if (type == Mod::b128 && v.elements.size() == 2) {
    auto from = findRegister(in.operands[1].name, in.operands[1].component, in.operands[1].loc);
    auto lo = destination(v.elements[0], Mod::b64, false, nullptr);
    auto hi = destination(v.elements[1], Mod::b64, false, nullptr);
    if (!from || !lo || !hi) return false;
    if (from->type != Mod::b128) {
      return error(DiagId::PtxOperandType, in.loc, in.length,
                   {in.operands[1].name, typeRow(from->type).name, "b128"});
    }
    emitMove(MoveKind::r64, *lo, from->ref);
    emitMove(MoveKind::r64, *hi, from->ref + 1);
    return true;
  }
  Type element;
  auto kind = packKind(typeBits(type), v.elements.size(), true, element);
  if (!kind || typeClass(type) != TypeClass::bits) {
    return error(DiagId::PtxOperandKind, v.loc, 1, {"a vector of this length"});
  }
  auto src = source(in.operands[1], type, false, false, nullptr);
  if (!src) return false;
  std::vector<Ref> list;
  for (const Operand& e : v.elements) {
    if (e.kind == Operand::Kind::sink) {
      list.push_back(kNoRef);
      continue;
    }
    auto ref = destination(e, element, element == Mod::b8, nullptr);
    if (!ref) return false;
    if (refBank(*ref) != Bank::r32) {
      return error(DiagId::PtxOperandType, e.loc, static_cast<uint32_t>(e.name.size()),
                   {e.name, "64 bits wide", typeRow(element).name});
    }
    list.push_back(*ref);
  }
  Instr out;
  out.op = Op::lane;
  out.guard = guard_;
  out.src[0] = *src;
  out.ext = static_cast<uint32_t>(p_.operandLists.size());
  p_.operandLists.insert(p_.operandLists.end(), list.begin(), list.end());
  emitKind(out, *kind);
  return true;
}

}  // namespace mtlc::sim::ptx
