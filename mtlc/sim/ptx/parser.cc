// Module level of PTX: header, variables, functions and their directives.

#include "mtlc/sim/ptx/parser.h"

#include <algorithm>

#include "mtlc/sim/ptx/parser_impl.h"

namespace mtlc::sim::ptx {

Module parse(FileId file, const SourceManager& sources, DiagnosticEngine& diags) {
  if (sources.text(file).size() > kMaxFileBytes) {
    diags.report(DiagId::PtxTooLarge, SourceLoc(file, 1, 1), {"the file", kMaxFileBytes});
    return Module{};
  }
  return Parser(lex(file, sources, diags), file, diags).run();
}

bool Parser::expect(uint16_t p) {
  if (accept(p)) return true;
  char text[5] = {'\'', static_cast<char>(p & 0xff), '\'', 0, 0};
  return unexpected(text);
}

std::string_view Parser::expectName() {
  if (peek().kind == Tok::ident) return take().text;
  unexpected("a name");
  return {};
}

bool Parser::unexpected(std::string_view what) {
  const Token& t = peek();
  std::string found = t.kind == Tok::eof       ? "the end of the file"
                      : t.kind == Tok::dotWord ? "'." + std::string(t.text) + "'"
                                               : "'" + std::string(t.text) + "'";
  diags_.report(DiagId::PtxExpected, rangeOf(t), {what, found});
  return false;
}

// Behind the statement's `;`, or before the `}` of what it stands in. Operand lists have braces
// too.
void Parser::syncStatement() {
  size_t depth = 0;
  while (!atEnd() && !isPunct(';')) {
    if (isPunct('{')) ++depth;
    if (isPunct('}') && depth-- == 0) return;
    take();
  }
  accept(';');
}

// Behind the declaration: its `;`, or the body of a function.
void Parser::syncTopLevel() {
  while (!atEnd() && !accept(';')) {
    if (!isPunct('{')) {
      take();
      continue;
    }
    skipBraces();
    if (!isPunct(',') && !isPunct(';') && !isPunct('}')) return;
  }
}

void Parser::skipBraces() {
  size_t depth = 0;
  while (!atEnd()) {
    if (isPunct('{')) ++depth;
    if (isPunct('}') && --depth == 0) {
      take();
      return;
    }
    take();
  }
}

Module Parser::run() {
  header();
  while (!atEnd() && !diags_.full()) {
    size_t before = pos_;
    topLevel();
    if (pos_ == before) take();
  }
  return std::move(module_);
}

void Parser::header() {
  if (!acceptDot("version")) {
    unexpected("'.version'");
    return;
  }
  const Token v = take();
  size_t point = v.text.find('.');
  bool ok = v.kind == Tok::float64 && point != std::string_view::npos && v.text.size() <= 4;
  unsigned major = 0, minor = 0;
  for (size_t i = 0; ok && i < v.text.size(); ++i) {
    if (i == point) continue;
    if (v.text[i] < '0' || v.text[i] > '9') ok = false;
    unsigned& part = i < point ? major : minor;
    part = part * 10 + static_cast<unsigned>(v.text[i] - '0');
  }
  if (!ok || minor > 9 || major < 1 || major > 20) {
    diags_.report(DiagId::PtxBadLiteral, rangeOf(v), {v.text});
    return;
  }
  module_.version = major * 10 + minor;
  if (!acceptDot("target")) {
    unexpected("'.target'");
    return;
  }
  const Token target = peek();
  std::string_view name = expectName();
  module_.target = name;
  std::string_view digits = name.substr(0, 3) == "sm_" ? name.substr(3) : std::string_view();
  while (!digits.empty() && digits[0] >= '0' && digits[0] <= '9' && module_.sm < 1000) {
    module_.sm = module_.sm * 10 + static_cast<unsigned>(digits[0] - '0');
    digits.remove_prefix(1);
  }
  module_.archSpecific = digits == "a" || digits == "f";
  if (module_.sm == 0 || (!digits.empty() && !module_.archSpecific)) {
    diags_.report(DiagId::PtxUnknownTarget, rangeOf(target), {name});
  }
  while (accept(',')) {
    if (expectName().empty()) return;  // debug, texmode_unified, map_f64_to_f32 …
  }
  if (acceptDot("address_size")) {
    const Token size = peek();
    uint64_t bits = 0;
    if (!unsignedConstant(64, bits)) return;
    module_.addressSize = static_cast<unsigned>(bits);
    if (bits != 64) diags_.report(DiagId::PtxAddressSize, rangeOf(size), {bits});
  }
}

Parser::Linkage Parser::linkage() {
  Linkage l;
  for (;;) {
    if (acceptDot("extern")) {
      l.isExtern = true;
    } else if (acceptDot("visible")) {
      l.isVisible = true;
    } else if (acceptDot("weak")) {
      l.isWeak = true;
    } else if (acceptDot("common")) {
      l.isCommon = true;
    } else {
      return l;
    }
  }
}

void Parser::topLevel() {
  if (accept(';')) return;
  const Token t = peek();
  Linkage l = linkage();
  if (isDot("entry") || isDot("func")) {
    bool entry = take().text == "entry";
    if (!functionDecl(l, entry)) syncTopLevel();
    return;
  }
  if (auto space = storageSpace()) {
    take();
    size_t first = module_.variables.size();
    if (*space == Mod::r || *space == Mod::local || *space == Mod::param) {
      diags_.report(DiagId::PtxNotAtModuleLevel, rangeOf(t), {t.text});
      syncTopLevel();
    } else if (!variableDecl(*space, l, module_.variables)) {
      module_.variables.resize(first);
      syncTopLevel();
    }
    return;
  }
  if (acceptDot("file")) {
    if (!fileDirective()) syncTopLevel();
    return;
  }
  if (acceptDot("section")) {
    if (peek().kind != Tok::dotWord && peek().kind != Tok::ident) {
      unexpected("the name of a section");
      return;
    }
    take();
    if (isPunct('{')) skipBraces();
    return;
  }
  if (acceptDot("pragma")) {
    while (peek().kind == Tok::string || isPunct(',')) take();
    expect(';');
    return;
  }
  if (acceptDot("alias")) {
    alias();
    return;
  }
  if (t.kind == Tok::dotWord) {
    diags_.report(DiagId::PtxUnknownDirective, rangeOf(t), {t.text});
  } else {
    unexpected("a directive");
  }
  syncTopLevel();
}

bool Parser::fileDirective() {
  uint64_t index = 0;
  if (!unsignedConstant(UINT32_MAX, index)) return false;
  if (peek().kind != Tok::string) return unexpected("a string");
  module_.files.emplace(static_cast<uint32_t>(index), take().text);
  while (accept(',')) {
    uint64_t ignored;  // Time stamp and size.
    if (!unsignedConstant(UINT64_MAX, ignored)) return false;
  }
  return true;
}

void Parser::alias() {
  std::string_view name = expectName();
  if (name.empty() || !expect(',')) return syncTopLevel();
  SourceLoc loc = peek().loc;
  std::string_view target = expectName();
  if (target.empty() || !expect(';')) return syncTopLevel();
  module_.aliases.push_back({name, target, loc});
}

bool Parser::functionDecl(const Linkage& linkage, bool entry) {
  Function f;
  f.isEntry = entry;
  f.isExtern = linkage.isExtern;
  f.isVisible = linkage.isVisible;
  f.isWeak = linkage.isWeak;
  if (acceptDot("attribute")) {
    if (!expect('(')) return false;
    while (!atEnd() && !isPunct(')')) take();
    if (!expect(')')) return false;
  }
  if (!entry && isPunct('(') && !parameterList(f.returns)) return false;
  f.loc = peek().loc;
  f.name = expectName();
  if (f.name.empty()) return false;
  if (isPunct('(') && !parameterList(f.params)) return false;
  if (!performanceDirectives(f)) return false;
  bool ok = isPunct('{') ? body(f) : expect(';');
  if (ok) module_.functions.push_back(std::move(f));
  return ok;
}

bool Parser::threadCounts(std::array<uint32_t, 3>& out) {
  out = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t v;
    if (!unsignedConstant(UINT32_MAX, v)) return false;
    out[i] = static_cast<uint32_t>(v);
    if (!accept(',')) break;
  }
  return true;
}

// Directives between the parameter list and the body (PTX ISA 11.4).
bool Parser::performanceDirectives(Function& f) {
  while (peek().kind == Tok::dotWord) {
    const Token t = take();
    uint64_t ignored;
    if (t.text == "maxntid") {
      if (!threadCounts(f.maxThreads)) return false;
    } else if (t.text == "reqntid") {
      if (!threadCounts(f.requiredThreads)) return false;
    } else if (t.text == "reqnctapercluster") {
      if (!threadCounts(f.clusterShape)) return false;
    } else if (t.text == "minnctapersm" || t.text == "maxnctapersm" || t.text == "maxnreg" ||
               t.text == "maxclusterrank" || t.text == "abi_preserve" ||
               t.text == "abi_preserve_control") {
      if (!unsignedConstant(UINT32_MAX, ignored)) return false;
    } else if (t.text == "noreturn") {
      f.noReturn = true;
    } else if (t.text == "explicitcluster" || t.text == "blocksareclusters") {
      // No effect on one cluster of one block.
    } else if (t.text == "pragma") {
      while (peek().kind == Tok::string || isPunct(',')) take();
      if (!expect(';')) return false;
    } else {
      diags_.report(DiagId::PtxUnknownDirective, rangeOf(t), {t.text});
      return false;
    }
  }
  return true;
}

bool Parser::parameterList(std::vector<Variable>& out) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    if (out.size() >= 4096) return unexpected("')'");
    Variable v;
    if (!parameter(v)) return false;
    out.push_back(std::move(v));
  } while (accept(','));
  return expect(')');
}

bool Parser::parameter(Variable& v) {
  v.loc = peek().loc;
  if (acceptDot("reg")) {
    v.space = Mod::r;
  } else if (acceptDot("param")) {
    v.space = Mod::param;
  } else {
    return unexpected("'.param' or '.reg'");
  }
  if (!typeAndAttributes(v)) return false;
  if (acceptDot("ptr")) {
    v.isPtr = true;
    if (isDot("const") || isDot("global") || isDot("local") || isDot("shared")) take();
    if (acceptDot("align")) {
      uint64_t a;
      if (!unsignedConstant(1u << 20, a)) return false;  // Of what it points to.
    }
  }
  v.loc = peek().loc;
  return declarator(v);
}

std::optional<Mod> Parser::storageSpace() const {
  if (peek().kind != Tok::dotWord) return std::nullopt;
  std::string_view t = peek().text;
  if (t == "reg") return Mod::r;
  if (t == "global") return Mod::global;
  if (t == "shared" || t == "shared::cta") return Mod::shared;
  if (t == "const") return Mod::constSpace;
  if (t == "local") return Mod::local;
  if (t == "param") return Mod::param;
  return std::nullopt;
}

// [.align N] [.vN] .type, in the orders that PTX producers use.
bool Parser::typeAndAttributes(Variable& v) {
  for (;;) {
    const Token t = peek();
    if (t.kind != Tok::dotWord) return unexpected("a type");
    if (acceptDot("align")) {
      uint64_t a;
      if (!unsignedConstant(1u << 20, a)) return false;
      if (a == 0 || (a & (a - 1)) != 0) {
        diags_.report(DiagId::PtxBadAlignment, rangeOf(t), {a});
        return false;
      }
      v.align = static_cast<uint32_t>(a);
      continue;
    }
    if (acceptDot("attribute")) {
      if (!expect('(')) return false;
      while (!atEnd() && !isPunct(')')) take();
      if (!expect(')')) return false;
      continue;
    }
    if (acceptDot("v2")) {
      v.vector = 2;
      continue;
    }
    if (acceptDot("v4")) {
      v.vector = 4;
      continue;
    }
    if (acceptDot("v8")) {
      v.vector = 8;
      continue;
    }
    auto type = findMod(t.text);
    if (!type || !isType(*type) ||
        (typeClass(*type) == TypeClass::packed && *type != Mod::f16x2 && *type != Mod::bf16x2)) {
      diags_.report(DiagId::PtxUnknownType, rangeOf(t), {t.text});
      return false;
    }
    take();
    v.type = *type;
    return true;
  }
}

bool Parser::declarator(Variable& v) {
  v.loc = peek().loc;
  const Token at = peek();
  v.name = expectName();
  if (v.name.empty()) return false;
  if (accept('<')) {
    // Not an expression: `>` closes the range.
    const Token& n = peek();
    if (n.kind != Tok::integer) return unexpected("a number");
    if (n.value > kMaxRegisterRange) {
      diags_.report(DiagId::PtxOutOfRange, rangeOf(n), {kMaxRegisterRange});
      return false;
    }
    v.isRange = true;
    v.rangeCount = static_cast<uint32_t>(take().value);
    if (!expect('>')) return false;
    return true;
  }
  while (accept('[')) {
    uint64_t n = 0;
    if (v.extents.size() >= kMaxDimensions) {
      diags_.report(DiagId::PtxTooDeep, rangeOf(at));
      return false;
    }
    bool first = !v.isArray;
    v.isArray = true;
    if (accept(']')) {
      if (!first) return unexpected("a size");
      v.unsizedArray = true;
      v.extents.push_back(0);
      continue;
    }
    if (!unsignedConstant(kMaxVariableBytes, n) || !expect(']')) return false;
    unsigned __int128 total = static_cast<unsigned __int128>(v.elements) * n;
    if (total > kMaxVariableBytes) {
      diags_.report(DiagId::PtxTooLarge, rangeOf(at), {v.name, kMaxVariableBytes});
      return false;
    }
    v.elements = static_cast<uint64_t>(total);
    v.extents.push_back(n);
  }
  if (v.bytes() > kMaxVariableBytes) {
    diags_.report(DiagId::PtxTooLarge, rangeOf(at), {v.name, kMaxVariableBytes});
    return false;
  }
  return true;
}

bool Parser::variableDecl(Mod space, const Linkage& linkage, std::vector<Variable>& out) {
  Variable base;
  base.space = space;
  base.isExtern = linkage.isExtern;
  base.isVisible = linkage.isVisible;
  base.isWeak = linkage.isWeak;
  base.isCommon = linkage.isCommon;
  if (!typeAndAttributes(base)) return false;
  do {
    Variable v = base;
    const Token at = peek();
    if (!declarator(v)) return false;
    if (v.type == Mod::pred && space != Mod::r) {
      diags_.report(DiagId::PtxUnknownType, rangeOf(at), {"pred"});
      return false;
    }
    if (v.isRange && space != Mod::r) return unexpected("';'");
    if (isPunct('=')) {
      if (space != Mod::global && space != Mod::constSpace) return unexpected("';'");
      take();
      if (!initialiser(v)) return false;
    }
    out.push_back(std::move(v));
  } while (accept(','));
  return expect(';');
}

bool Parser::initialiser(Variable& v) {
  v.hasInit = true;
  std::vector<uint64_t> extents = v.extents;
  if (v.vector > 1) extents.push_back(v.vector);
  if (extents.empty() && !isPunct('{')) return initElement(v, 0);
  if (extents.empty()) extents.push_back(1);
  // Elements of one element of each level, from the outermost in.
  std::vector<uint64_t> strides(extents.size(), 1);
  for (size_t i = extents.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * extents[i];
  uint64_t perOuter = strides[0];
  if (v.unsizedArray) {
    extents[0] = kMaxVariableBytes / std::max<uint64_t>(v.elementBytes() / v.vector * perOuter, 1);
  }
  uint64_t outer = 0;
  if (!initList(v, extents, strides, 0, 0, outer)) return false;
  if (v.unsizedArray) {
    v.unsizedArray = false;
    v.elements *= outer;
  }
  return true;
}

// { x, y, … } for one element of level `level`: lists on all levels but the innermost. What is left
// out is zero. `count` is the number of elements in the list.
bool Parser::initList(Variable& v, const std::vector<uint64_t>& extents,
                      const std::vector<uint64_t>& strides, size_t level, uint64_t base,
                      uint64_t& count) {
  const Token at = peek();
  if (!expect('{')) return false;
  count = 0;
  if (accept('}')) return true;
  do {
    if (count >= extents[level]) {
      diags_.report(DiagId::PtxTooManyInitialisers, rangeOf(at), {v.name});
      return false;
    }
    uint64_t index = base + count * strides[level], ignored;
    bool ok = level + 1 < extents.size() ? initList(v, extents, strides, level + 1, index, ignored)
                                         : initElement(v, index);
    if (!ok) return false;
    ++count;
  } while (accept(','));
  return isPunct('}') ? accept('}') : unexpected("',' or '}'");
}

// constant | name[+const] | generic(name)[+const] | mask(name)
bool Parser::initElement(Variable& v, uint64_t index) {
  InitValue e;
  e.index = index;
  e.loc = peek().loc;
  const Token t = peek();
  if (t.kind == Tok::ident && t.text == "generic" && isPunct('(', 1)) {
    take();
    take();
    e.generic = true;
    e.symbol = expectName();
    if (e.symbol.empty()) return false;
    if (accept('+') && !constant(e.value)) return false;
    if (!expect(')')) return false;
  } else if (t.kind == Tok::ident && t.text != "WARP_SZ") {
    e.symbol = take().text;
  } else if (t.kind == Tok::integer && isPunct('(', 1)) {
    // 0xFF…00(name): one byte of the address.
    uint64_t mask = take().value;
    take();
    unsigned shift = 0;
    while (shift < 64 && mask != (uint64_t{0xff} << shift)) shift += 8;
    if (shift >= 64) {
      diags_.report(DiagId::PtxBadConstant, rangeOf(t));
      return false;
    }
    e.masked = true;
    e.maskShift = static_cast<uint8_t>(shift);
    if (peek().kind == Tok::ident && peek().text == "generic" && isPunct('(', 1)) {
      take();
      take();
      e.generic = true;
    }
    e.symbol = expectName();
    if (e.symbol.empty()) return false;
    if (accept('+') && !constant(e.value)) return false;
    if (e.generic && !expect(')')) return false;
    if (!expect(')')) return false;
  } else {
    if (!constant(e.value)) return false;
    v.init.push_back(e);
    return true;
  }
  if (isPunct('+') || isPunct('-')) {
    bool minus = take().punct == '-';
    Constant offset;
    if (!constant(offset)) return false;
    e.value.bits += minus ? 0 - offset.bits : offset.bits;
  }
  v.init.push_back(e);
  return true;
}

}  // namespace mtlc::sim::ptx
