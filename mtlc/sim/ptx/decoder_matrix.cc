// Instructions on matrices (PTX ISA 9.7.14): operands checked and described in a MatrixSite.

#include <algorithm>
#include <charconv>

#include "mtlc/sim/matrix/fragments.h"
#include "mtlc/sim/ptx/decoder_impl.h"

namespace mtlc::sim::ptx {
namespace {

// A number after `letter`; both are taken off `text`.
std::optional<uint16_t> extent(std::string_view& text, char letter) {
  if (text.empty() || text[0] != letter) return std::nullopt;
  uint16_t value = 0;
  auto [end, failure] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

Element elementOf(Mod m) {
  switch (m) {
    case Mod::f16:
      return Element::f16;
    case Mod::bf16:
      return Element::bf16;
    case Mod::tf32:
      return Element::tf32;
    case Mod::f32:
      return Element::f32;
    case Mod::f64:
      return Element::f64;
    case Mod::e4m3:
      return Element::e4m3;
    case Mod::e5m2:
      return Element::e5m2;
    case Mod::e3m2:
      return Element::e3m2;
    case Mod::e2m3:
      return Element::e2m3;
    case Mod::e2m1:
      return Element::e2m1;
    case Mod::s8:
      return Element::s8;
    case Mod::u8:
      return Element::u8;
    case Mod::s4:
      return Element::s4;
    case Mod::u4:
      return Element::u4;
    case Mod::b1:
      return Element::b1;
    case Mod::s32:
      return Element::s32;
    default:
      return Element::none;
  }
}

// The element formats of a form, in its order.
std::vector<Element> elementsOf(const Form& f) {
  std::vector<Element> out;
  for (unsigned i = 0; i < f.count; ++i) {
    Element e = elementOf(f.mods[i]);
    if (e != Element::none) out.push_back(e);
  }
  return out;
}

bool setShape(const Form& f, MatrixSite& s) {
  for (unsigned i = 0; i < f.count; ++i) {
    std::string_view text = modSpelling(f.mods[i]);
    auto m = extent(text, 'm'), n = extent(text, 'n'), k = extent(text, 'k');
    if (!m || !n || !k || !text.empty()) continue;
    s.m = *m;
    s.n = *n;
    s.k = *k;
    return true;
  }
  return false;
}

// The type that a register of a fragment must have. Those of narrow integers in opaque fragments
// are integers, in others any 32 bits, as ptxas has it.
Type registerType(Element e, bool opaque) {
  switch (e) {
    case Element::s8:
    case Element::u8:
    case Element::s4:
    case Element::u4:
    case Element::b1:
      return opaque ? Mod::s32 : Mod::b32;
    case Element::f16:
      return Mod::f16x2;
    case Element::bf16:
      return Mod::bf16x2;
    case Element::tf32:
      return Mod::tf32;
    case Element::f32:
      return Mod::f32;
    case Element::f64:
      return Mod::f64;
    case Element::s32:
      return Mod::s32;
    default:
      return Mod::b32;
  }
}

// Whether the n-th of the words row and col that the form has is col.
bool isColumn(const Form& f, unsigned n) {
  for (unsigned i = 0; i < f.count; ++i) {
    if (f.mods[i] != Mod::rowMajor && f.mods[i] != Mod::colMajor) continue;
    if (n-- == 0) return f.mods[i] == Mod::colMajor;
  }
  return false;
}

// Registers of an opaque fragment of wmma (PTX ISA 9.7.14.4.1).
unsigned opaqueRegisters(Element e, unsigned elements, bool multiplicand) {
  if (e == Element::f16 && multiplicand) return 8;
  return elements * containerBits(e, true) / (e == Element::f64 ? 64 : 32) / kLanes;
}

enum class OpaqueOperand : uint8_t { a, b, c };

struct Extents {
  unsigned rows, columns;
  bool byRows;  // Of the opaque layout: the elements of a lane follow each other along k, or in
                // rows.
};
Extents extentsOf(const MatrixSite& s, OpaqueOperand o) {
  switch (o) {
    case OpaqueOperand::a:
      return {s.m, s.k, true};
    case OpaqueOperand::b:
      return {s.k, s.n, false};
    default:
      return {s.m, s.n, true};
  }
}
Fragment opaqueOf(const MatrixSite& s, OpaqueOperand o, Element e) {
  Extents x = extentsOf(s, o);
  return opaqueFragment(e, x.rows, x.columns, x.byRows,
                        opaqueRegisters(e, x.rows * x.columns, o != OpaqueOperand::c));
}

Space matrixSpace(const Form& f) {
  if (f.has(Mod::shared) || f.has(Mod::sharedCta)) return Space::shared;
  return f.has(Mod::global) ? Space::global : Space::generic;
}

}  // namespace

// A vector of the fragment's registers. Constants stand for accumulators only.
bool FunctionDecoder::fragmentRegisters(const Operand& o, Fragment& f, bool dest, bool constants,
                                        bool opaque) {
  if (o.kind != Operand::Kind::vector || o.elements.size() != f.registers) {
    return error(DiagId::PtxMatrixVector, o.loc, 1, {unsigned{f.registers}});
  }
  Type type = registerType(f.element, opaque);
  std::vector<Ref> refs;
  for (const Operand& e : o.elements) {
    if (dest && e.kind == Operand::Kind::sink) {
      refs.push_back(kNoRef);
      continue;
    }
    if (!dest && !constants && e.kind == Operand::Kind::constant) {
      return error(DiagId::PtxOperandKind, e.loc, 1, {"a constant"});
    }
    auto ref = dest ? destination(e, type, false, nullptr) : source(e, type, false, false, nullptr);
    if (!ref) return false;
    refs.push_back(*ref);
  }
  f.first = static_cast<uint32_t>(p_.operandLists.size());
  p_.operandLists.insert(p_.operandLists.end(), refs.begin(), refs.end());
  return true;
}

uint32_t FunctionDecoder::keepOperand(Ref ref) {
  p_.operandLists.push_back(ref);
  return static_cast<uint32_t>(p_.operandLists.size() - 1);
}

bool FunctionDecoder::emitMatrix(const Instruction& in, const Form& form, MatrixSite&& site,
                                 const Instr& memory) {
  Instr out = memory;
  out.op = Op::matrix;
  out.guard = guard_;
  out.flags |= kUniform;
  out.src[kMatrixLanes] = k_.constant32(kAllLanes);
  out.fn = k_.lanes().matrix(form, site);
  if (out.fn == nullptr) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  out.ext = static_cast<uint32_t>(p_.matrices.size());
  p_.matrices.push_back(std::move(site));
  emit(out);
  return true;
}

// scale-data, {byte-id, thread-id}
bool FunctionDecoder::scaleOperands(const Operand& data, const Operand& ids, unsigned scales,
                                    unsigned threads, ScaleOperands& out) {
  const Operand& value =
      data.kind == Operand::Kind::vector && data.elements.size() == 1 ? data.elements[0] : data;
  auto ref = source(value, Mod::b32, false, false, nullptr);
  if (!ref) return false;
  out.data = keepOperand(*ref);
  if (ids.kind != Operand::Kind::vector || ids.elements.size() != 2) {
    return error(DiagId::PtxMatrixVector, ids.loc, 1, {2u});
  }
  for (unsigned i = 0; i < 2; ++i) {
    const Operand& e = ids.elements[i];
    if (e.kind == Operand::Kind::constant) {
      // The scales of one row are beside each other in a word.
      unsigned step = i == 0 ? scales : 1, most = i == 0 ? 4 - scales : threads - 1;
      if (e.value.kind != Constant::Kind::integer || e.value.bits > most ||
          e.value.bits % step != 0) {
        return error(DiagId::PtxMatrixSelector, e.loc, 1,
                     {i == 0 ? "byte-id" : "thread-id", i != 0 ? "0 to " + std::to_string(most)
                                                        : scales == 4 ? std::string("0")
                                                        : scales == 2 ? std::string("0 or 2")
                                                                      : std::string("0 to 3")});
      }
    }
    auto id = source(e, Mod::u16, false, false, nullptr);
    if (!id) return false;
    (i == 0 ? out.byteId : out.threadId) = keepOperand(*id);
  }
  return true;
}

// metadata, selector; `bits` of an element
bool FunctionDecoder::sparseOperands(const Operand& metadata, const Operand& selector,
                                     unsigned bits, MatrixSite& s) {
  // Chunks, PTX ISA 9.7.14.6.1.
  s.indices = bits == 32 ? 1 : 2;
  s.perIndex = bits == 4 ? 2 : 1;
  s.chunkWidth = static_cast<uint8_t>(2 * s.indices * s.perIndex);
  s.chunks = static_cast<uint8_t>(s.k / s.chunkWidth);
  unsigned selectors = 0;
  s.metadata = metadataOf(s.k, bits, s.chunks, selectors);
  auto ref = source(metadata, Mod::b32, false, false, nullptr);
  if (!ref) return false;
  s.metadataRegister = keepOperand(*ref);
  if (selector.kind != Operand::Kind::constant || selector.value.kind != Constant::Kind::integer ||
      selector.value.bits >= selectors) {
    return error(DiagId::PtxMatrixSelector, selector.loc, 1,
                 {"sparsity selector", "a constant from 0 to " + std::to_string(selectors - 1)});
  }
  s.selector = static_cast<uint8_t>(selector.value.bits);
  return true;
}

// mma{.sp} d, a, b, c{, metadata, selector}{, scale-a, ids, scale-b, ids}
bool FunctionDecoder::mmaInstruction(const Instruction& in, const Form& form) {
  MatrixSite s;
  std::vector<Element> e = elementsOf(form);
  if (!setShape(form, s) || e.size() != 4) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  bool sparse = form.has(Mod::sparse) || form.has(Mod::sparseOrdered);
  bool packed = form.has(Mod::kindMxf4) || form.has(Mod::kindMxf4nvf4);
  if (form.has(Mod::blockScale)) {
    s.scales = form.has(Mod::scaleVec4X) ? 4 : packed ? 2 : 1;
    s.scaleUe4m3 = form.has(Mod::ue4m3);
  }
  s.saturate = form.has(Mod::satfinite);
  s.andPopcount = form.has(Mod::andMod);
  auto key = [&](FragmentOperand operand, unsigned bits) {
    return FragmentKey{operand, sparse, s.m, s.n, s.k, static_cast<uint8_t>(bits)};
  };
  unsigned bits = containerBits(e[1], packed), width = e[1] == Element::f64 ? 64 : 32;
  FragmentOperand a = FragmentOperand::a, b = FragmentOperand::b;
  bool quads = form.has(Mod::m8n8k4) && width == 32;
  if (quads) {
    s.products = 4;
    a = isColumn(form, 0) ? FragmentOperand::columnA : FragmentOperand::rowA;
    b = isColumn(form, 1) ? FragmentOperand::columnB : FragmentOperand::rowB;
  }
  s.a = fragmentOf(key(a, bits), e[1], width);
  s.b = fragmentOf(key(b, bits), e[2], width);
  s.c = fragmentOf(key(FragmentOperand::c, containerBits(e[3], false)), e[3], width);
  s.d = fragmentOf(key(FragmentOperand::c, containerBits(e[0], false)), e[0], width);
  if (s.a.registers == 0 || s.b.registers == 0 || s.c.registers == 0 || s.d.registers == 0) {
    return error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  size_t operands = 4u + (sparse ? 2 : 0) + (s.scales != 0 ? 4 : 0);
  if (!operandCount(in, operands, operands)) return false;
  const std::vector<Operand>& o = in.operands;
  if (!fragmentRegisters(o[0], s.d, true, false) || !fragmentRegisters(o[1], s.a, false, false) ||
      !fragmentRegisters(o[2], s.b, false, false) || !fragmentRegisters(o[3], s.c, false, true)) {
    return false;
  }
  size_t next = 4;
  if (sparse) {
    if (!sparseOperands(o[4], o[5], bits, s)) return false;
    next = 6;
  }
  if (s.scales != 0 && (!scaleOperands(o[next], o[next + 1], s.scales, 2, s.scaleA) ||
                        !scaleOperands(o[next + 2], o[next + 3], s.scales, 4, s.scaleB))) {
    return false;
  }
  return emitMatrix(in, form, std::move(s), Instr{});
}

// wmma.mma d, a, b, c
bool FunctionDecoder::wmmaInstruction(const Instruction& in, const Form& form) {
  if (!operandCount(in, 4, 4)) return false;
  MatrixSite s;
  std::vector<Element> e = elementsOf(form);
  setShape(form, s);
  if (e.size() == 2) e = {e[0], Element::f16, Element::f16, e[1]};
  s.saturate = form.has(Mod::satfinite);
  s.andPopcount = form.has(Mod::andMod);
  s.d = opaqueOf(s, OpaqueOperand::c, e[0]);
  s.a = opaqueOf(s, OpaqueOperand::a, e[1]);
  s.b = opaqueOf(s, OpaqueOperand::b, e[2]);
  s.c = opaqueOf(s, OpaqueOperand::c, e[3]);
  const std::vector<Operand>& o = in.operands;
  return fragmentRegisters(o[0], s.d, true, false, true) &&
         fragmentRegisters(o[1], s.a, false, false, true) &&
         fragmentRegisters(o[2], s.b, false, false, true) &&
         fragmentRegisters(o[3], s.c, false, true, true) &&
         emitMatrix(in, form, std::move(s), Instr{});
}

// wmma.load r, [p]{, stride}; wmma.store [p], r{, stride}
bool FunctionDecoder::wmmaMemory(const Instruction& in, const Form& form) {
  if (!operandCount(in, 2, 3)) return false;
  bool load = form.row->family == Family::wmmaLoad;
  MatrixSite s;
  setShape(form, s);
  std::vector<Element> elements = elementsOf(form);
  Element e = elements.back();
  OpaqueOperand which = form.has(Mod::matrixA)   ? OpaqueOperand::a
                        : form.has(Mod::matrixB) ? OpaqueOperand::b
                                                 : OpaqueOperand::c;
  Fragment& f = load ? s.d : s.a;
  f = opaqueOf(s, which, e);
  Extents x = extentsOf(s, which);
  s.byColumns = isColumn(form, 0);
  s.elementBits = static_cast<uint8_t>(containerBits(e, true));

  Instr out;
  if (!memoryOperand(in.operands[load ? 1 : 0], matrixSpace(form), false, out)) return false;
  if (out.space == Space::local || out.space == Space::param || out.space == Space::constant) {
    const Operand& o = in.operands[load ? 1 : 0];
    return error(DiagId::PtxWrongSpace, o.loc, static_cast<uint32_t>(o.name.size()),
                 {o.name, spaceName(out.space), "global or shared"});
  }
  if (!fragmentRegisters(in.operands[load ? 0 : 1], f, load, false, /*opaque=*/true)) return false;
  if (in.operands.size() == 3) {
    auto stride = source(in.operands[2], Mod::u32, false, false, nullptr);
    if (!stride) return false;
    s.stride = keepOperand(*stride);
  } else {
    s.stride = keepOperand(k_.constant32(s.byColumns ? x.rows : x.columns));
  }

  // A register at once where its elements lie beside each other in memory.
  unsigned registerBytes = f.wide ? 8 : 4, perRegister = registerBytes * 8 / s.elementBits;
  bool whole = perRegister == 1 || s.byColumns != x.byRows;
  unsigned perLane = f.registers * perRegister;
  for (unsigned i = 0; i < perLane; i += whole ? perRegister : 1) {
    unsigned bytes = whole ? registerBytes : s.elementBits / 8;
    s.parts.push_back({static_cast<uint8_t>(i / perRegister),
                       static_cast<uint8_t>(whole ? 0 : i % perRegister * bytes),
                       static_cast<uint8_t>(bytes)});
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      FragmentPlace at = opaquePlace(x.rows, x.columns, x.byRows, perLane, lane, i);
      s.partPlaces.push_back(at.row);
      s.partPlaces.push_back(at.column);
    }
  }
  out.size = s.parts[0].bytes;
  return emitMatrix(in, form, std::move(s), out);
}

namespace {

// Byte b of register r of a lane, as byte `column` of row `row` of the memory or source matrix.
struct BytePlace {
  unsigned row, column;
};
BytePlace bytePlace(const Form& f, unsigned r, unsigned lane, unsigned b) {
  unsigned g = lane / 4, t = lane % 4;
  if (!f.has(Mod::trans)) return {8 * r + g, 4 * t + b};
  // Bytes move in pairs of rows: two columns, eight apart, in one register.
  if (f.has(Mod::m16n16)) return {16 * (r / 2) + 4 * t + 2 * (r % 2) + b % 2, g + 8 * (b / 2)};
  if (f.has(Mod::m16n8)) return {8 * r + 2 * t + b % 2, g + 8 * (b / 2)};
  return {8 * r + 2 * t + b / 2, 2 * g + b % 2};
}

}  // namespace

// ldmatrix r, [p]; stmatrix [p], r; movmatrix d, a
bool FunctionDecoder::rowMatrix(const Instruction& in, const Form& form) {
  if (!operandCount(in, 2, 2)) return false;
  Family family = form.row->family;
  bool load = family == Family::ldmatrix, move = family == Family::movmatrix;
  MatrixSite s;
  unsigned matrices = form.has(Mod::x4) ? 4 : form.has(Mod::x2) ? 2 : 1;
  unsigned registers = form.has(Mod::m16n16) ? 2 * matrices : matrices;
  s.rowCount = static_cast<uint8_t>(8 * registers);
  s.elementBits = form.has(Mod::b6x16p32) ? 6 : form.has(Mod::b4x16p64) ? 4 : 8;
  for (unsigned r = 0; r < registers; ++r) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned b = 0; b < 4; ++b) {
        BytePlace at = bytePlace(form, r, lane, b);
        s.bytes.push_back(static_cast<uint16_t>(at.row * kRowBytes + at.column));
      }
    }
  }
  auto fragment = [&](Fragment& f) {
    f.element = Element::none;  // Words, of 32 bits each.
    f.registers = static_cast<uint8_t>(registers);
    f.perRegister = 1;
  };
  Instr out;
  out.size = kRowBytes;
  if (move) {
    fragment(s.a);
    fragment(s.d);
    for (unsigned i = 0; i < 2; ++i) {
      auto ref = i == 0 ? destination(in.operands[0], Mod::b32, false, nullptr)
                        : source(in.operands[1], Mod::b32, false, false, nullptr);
      if (!ref) return false;
      (i == 0 ? s.d : s.a).first = keepOperand(*ref);
    }
    return emitMatrix(in, form, std::move(s), out);
  }
  Fragment& f = load ? s.d : s.a;
  fragment(f);
  const Operand& address = in.operands[load ? 1 : 0];
  if (!memoryOperand(address, matrixSpace(form), false, out)) return false;
  if (out.space != Space::shared && out.space != Space::generic) {
    return error(DiagId::PtxWrongSpace, address.loc, static_cast<uint32_t>(address.name.size()),
                 {address.name, spaceName(out.space), "shared"});
  }
  return fragmentRegisters(in.operands[load ? 0 : 1], f, load, false) &&
         emitMatrix(in, form, std::move(s), out);
}

namespace {

// A constant that is one of two.
bool isChoice(const Operand& o, int64_t first, int64_t second) {
  if (o.kind != Operand::Kind::constant || o.value.kind != Constant::Kind::integer) return false;
  auto value = static_cast<int64_t>(o.value.bits);
  return value == first || value == second;
}

}  // namespace

// wgmma.mma_async{.sp} d, a, b{, metadata, selector}, scale-d{, scale-a, scale-b}{, trans-a}{,
// trans-b}: a is a vector of registers or a descriptor, without trans-a or with it.
bool FunctionDecoder::warpgroupProduct(const Instruction& in, const Form& form) {
  MatrixSite s;
  std::vector<Element> e = elementsOf(form);
  if (!setShape(form, s) || e.size() != 3 || in.operands.size() < 2) {
    return in.operands.size() < 2
               ? operandCount(in, 4, 10)
               : error(DiagId::PtxUnknownForm, in.loc, in.length, {in.spelling, form.row->pattern});
  }
  const std::vector<Operand>& o = in.operands;
  bool sparse = form.has(Mod::sparse), registers = o[1].kind == Operand::Kind::vector;
  bool half = e[1] == Element::f16 || e[1] == Element::bf16;
  bool scaled = e[0] != Element::s32;
  size_t count = 4u + (sparse ? 2 : 0) + (scaled ? 2 : 0) + (half ? 2 : 0) - (half && registers);
  if (!operandCount(in, count, count)) return false;
  unsigned bits = containerBits(e[1], false);
  auto key = [&](FragmentOperand operand, uint16_t k, unsigned width) {
    return FragmentKey{operand, sparse, kWarpgroupRows, 8, k, static_cast<uint8_t>(width)};
  };
  s.saturate = form.has(Mod::satfinite);
  s.andPopcount = true;
  s.a.element = e[1];
  s.b.element = e[2];
  Instr out;
  out.size = kRowBytes;
  // D: the fragment of eight columns again and again.
  s.d = fragmentOf(key(FragmentOperand::c, s.k, containerBits(e[0], false)), e[0], 32);
  s.d.registers = static_cast<uint8_t>(s.d.registers * (s.n / 8));
  if (!fragmentRegisters(o[0], s.d, false, false)) return false;
  s.c = s.d;
  auto descriptor = [&](const Operand& operand, unsigned place) {
    auto ref = source(operand, Mod::b64, false, false, nullptr);
    if (ref) out.src[place] = *ref;
    return ref.has_value();
  };
  if (registers) {
    s.a = fragmentOf(key(FragmentOperand::a, s.k, bits), e[1], 32);
    if (!fragmentRegisters(o[1], s.a, false, false)) return false;
  } else if (!descriptor(o[1], kDescriptorA)) {
    return false;
  }
  if (!descriptor(o[2], kDescriptorB)) return false;
  size_t next = 3;
  if (sparse) {
    if (!sparseOperands(o[3], o[4], bits, s)) return false;
    next = 5;
  }
  const Operand& scaleD = o[next++];
  if (scaleD.kind == Operand::Kind::constant && !isChoice(scaleD, 0, 1)) {
    return error(DiagId::PtxMatrixSelector, scaleD.loc, 1, {"scale-d", "a predicate, 0 or 1"});
  }
  auto accumulate = source(scaleD, Mod::pred, false, true, nullptr);
  if (!accumulate) return false;
  out.src[kScaleD] = *accumulate;
  auto choice = [&](int64_t usual, int64_t other, const char* name, bool& into) {
    const Operand& operand = o[next++];
    if (!isChoice(operand, usual, other)) {
      return error(DiagId::PtxMatrixSelector, operand.loc, 1,
                   {name, other < 0 ? "1 or -1" : "0 or 1"});
    }
    into = static_cast<int64_t>(operand.value.bits) == other;
    return true;
  };
  if (scaled &&
      (!choice(1, -1, "scale of A", s.negateA) || !choice(1, -1, "scale of B", s.negateB))) {
    return false;
  }
  if (half && ((!registers && !choice(0, 1, "order of A", s.majorA)) ||
               !choice(0, 1, "order of B", s.majorB))) {
    return false;
  }
  s.warpgroup = k_.lanes().warpgroup(s);
  return emitMatrix(in, form, std::move(s), out);
}

// wgmma.fence, wgmma.commit_group, wgmma.wait_group n
bool FunctionDecoder::warpgroupOrder(const Instruction& in, const Form& form) {
  MatrixSite s;
  if (form.row->family == Family::warpgroupWait) {
    uint64_t groups = 0;
    if (!constantOperand(in.operands[0], groups)) return false;
    if (static_cast<int64_t>(in.operands[0].value.bits) < 0) {
      return error(DiagId::PtxMatrixSelector, in.operands[0].loc, 1,
                   {"number of groups", "a constant that is not negative"});
    }
    s.groups = static_cast<uint32_t>(groups);
  }
  return emitMatrix(in, form, std::move(s), Instr{});
}

bool FunctionDecoder::matrixInstruction(const Instruction& in, const Form& form) {
  switch (form.row->family) {
    case Family::mma:
      return mmaInstruction(in, form);
    case Family::wmmaMma:
      return wmmaInstruction(in, form);
    case Family::wmmaLoad:
    case Family::wmmaStore:
      return wmmaMemory(in, form);
    case Family::warpgroupProduct:
      return warpgroupProduct(in, form);
    case Family::warpgroupFence:
    case Family::warpgroupCommit:
    case Family::warpgroupWait:
      return warpgroupOrder(in, form);
    default:
      return rowMatrix(in, form);
  }
}

}  // namespace mtlc::sim::ptx
