// Bodies of functions: statements, instructions, operands.

#include "mtlc/sim/isa/instructions.h"
#include "mtlc/sim/ptx/parser_impl.h"

namespace mtlc::sim::ptx {

bool Parser::body(Function& f) {
  if (!expect('{')) return false;
  f.hasBody = true;
  scopeDepth_ = 1;
  while (scopeDepth_ > 0) {
    if (atEnd()) return unexpected("'}'");
    if (diags_.full()) return false;
    size_t before = pos_;
    if (!statement(f)) {
      syncStatement();
      if (pos_ == before && !isPunct('}')) take();
    }
  }
  return true;
}

bool Parser::statement(Function& f) {
  const Token& t = peek();
  Statement s{};
  s.loc = t.loc;
  if (accept('{')) {
    if (scopeDepth_ >= kMaxNesting) {
      diags_.report(DiagId::PtxTooDeep, rangeOf(t));
      skipBraces();
      return true;
    }
    ++scopeDepth_;
    s.kind = Statement::Kind::openScope;
    f.body.push_back(s);
    return true;
  }
  if (accept('}')) {
    if (--scopeDepth_ > 0) {
      s.kind = Statement::Kind::closeScope;
      f.body.push_back(s);
    }
    return true;
  }
  if (accept(';')) return true;  // An empty statement.
  if (t.kind == Tok::dotWord) return bodyDirective(f);
  if (t.kind == Tok::ident && isPunct(':', 1)) {
    std::string_view name = take().text;
    take();
    if (isDot("branchtargets") || isDot("calltargets") || isDot("callprototype")) {
      return labelledDirective(f, name, s.loc);
    }
    s.kind = Statement::Kind::label;
    s.name = name;
    f.body.push_back(s);
    return true;
  }
  if (t.kind == Tok::ident || isPunct('@')) return instruction(f);
  return unexpected("an instruction, a directive or a label");
}

bool Parser::bodyDirective(Function& f) {
  const Token t = peek();
  if (auto space = storageSpace()) {
    Linkage none;
    take();
    size_t first = f.variables.size();
    if (!variableDecl(*space, none, f.variables)) {
      f.variables.resize(first);
      return false;
    }
    for (size_t i = first; i < f.variables.size(); ++i) {
      Statement s{};
      s.kind = Statement::Kind::variable;
      s.index = static_cast<uint32_t>(i);
      s.loc = f.variables[i].loc;
      s.name = f.variables[i].name;
      f.body.push_back(s);
    }
    return true;
  }
  if (isDot("loc")) return locDirective(f);
  if (acceptDot("pragma")) {
    do {
      if (peek().kind != Tok::string) return unexpected("a string");
      take();
    } while (accept(','));
    return expect(';');
  }
  diags_.report(DiagId::PtxUnknownDirective, rangeOf(t), {t.text});
  take();
  return false;
}

bool Parser::locDirective(Function& f) {
  Statement s{};
  s.loc = take().loc;
  uint64_t v[3];
  for (uint64_t& x : v) {
    if (peek().kind != Tok::integer) return unexpected("a number");
    x = take().value;
  }
  SourceLine line;
  line.file = static_cast<uint32_t>(v[0]);
  line.line = static_cast<uint32_t>(v[1]);
  line.column = static_cast<uint32_t>(v[2]);
  // , function_name LABEL [+ OFFSET] , inlined_at FILE LINE COLUMN
  while (isPunct(',') && peek(1).kind == Tok::ident &&
         (peek(1).text == "function_name" || peek(1).text == "inlined_at")) {
    take();
    bool inlined = take().text == "inlined_at";
    if (inlined) {
      for (int i = 0; i < 3; ++i) {
        if (peek().kind != Tok::integer) return unexpected("a number");
        take();
      }
    } else {
      if (expectName().empty()) return false;
      if (accept('+')) {
        if (peek().kind != Tok::integer) return unexpected("a number");
        take();
      }
    }
  }
  s.kind = Statement::Kind::sourceLine;
  s.index = static_cast<uint32_t>(f.lines.size());
  f.lines.push_back(line);
  f.body.push_back(s);
  return true;
}

bool Parser::labelledDirective(Function& f, std::string_view name, SourceLoc loc) {
  if (acceptDot("callprototype")) return prototype(f, name, loc);
  bool branch = take().text == "branchtargets";
  Statement s{};
  s.kind = branch ? Statement::Kind::branchTargets : Statement::Kind::callTargets;
  s.name = name;
  s.loc = loc;
  s.index = static_cast<uint32_t>(f.tables.size());
  f.tables.emplace_back();
  do {
    SourceLoc at = peek().loc;
    std::string_view target = expectName();
    if (target.empty()) return false;
    f.tables.back().emplace_back(target, at);
  } while (accept(','));
  f.body.push_back(s);
  return expect(';');
}

bool Parser::prototype(Function& f, std::string_view name, SourceLoc loc) {
  Prototype p;
  p.loc = loc;
  p.name = name;
  if (isPunct('(') && !parameterList(p.returns)) return false;
  // The place of the function's name holds `_`.
  if (peek().kind != Tok::ident) return unexpected("'_'");
  take();
  if (isPunct('(') && !parameterList(p.params)) return false;
  while (peek().kind == Tok::dotWord) take();  // .noreturn
  Statement s{};
  s.kind = Statement::Kind::prototype;
  s.name = name;
  s.loc = loc;
  s.index = static_cast<uint32_t>(f.prototypes.size());
  f.prototypes.push_back(std::move(p));
  f.body.push_back(s);
  return expect(';');
}

// An opcode without a row. One that PTX has, and that a program may use a thousand times, is
// reported once.
bool Parser::unknownOpcode(const Token& opcode) {
  if (!isUnsupportedOpcode(opcode.text)) {
    diags_.report(DiagId::PtxUnknownOpcode, rangeOf(opcode), {opcode.text});
  } else if (refused_.insert(opcode.text).second) {
    diags_.report(DiagId::PtxUnsupported, rangeOf(opcode), {opcode.text});
  }
  return false;
}

bool Parser::instruction(Function& f) {
  Instruction in;
  if (accept('@')) {
    in.guardNegated = accept('!');
    in.guard = expectName();
    if (in.guard.empty()) return false;
  }
  if (peek().kind != Tok::ident) return unexpected("an instruction");
  const Token op = take();
  in.loc = op.loc;
  in.opcode = op.text;
  const char* end = op.text.data() + op.text.size();
  while (peek().kind == Tok::dotWord) {
    const Token m = take();
    auto mod = findMod(m.text);
    if (!mod) {
      if (rowsOf(in.opcode).empty()) return unknownOpcode(op);
      diags_.report(DiagId::PtxUnknownModifier, rangeOf(m), {m.text, in.opcode});
      return false;
    }
    if (in.mods.size() >= 32) return unexpected("';'");
    in.mods.push_back(*mod);
    end = m.text.data() + m.text.size();
  }
  if (rowsOf(in.opcode).empty()) return unknownOpcode(op);
  in.spelling = std::string_view(op.text.data(), static_cast<size_t>(end - op.text.data()));
  in.length = static_cast<uint32_t>(in.spelling.size());
  if (in.opcode == "call") {
    if (!callOperands(in)) return false;
  } else if (!isPunct(';')) {
    if (isPunct('}') || atEnd()) return unexpected("an operand or ';'");
    do {
      if (in.operands.size() >= 64) return unexpected("';'");
      Operand o;
      if (!operand(o, 0)) return false;
      in.operands.push_back(std::move(o));
    } while (accept(','));
  }
  if (!expect(';')) return false;
  Statement s{};
  s.kind = Statement::Kind::instruction;
  s.loc = in.loc;
  s.index = static_cast<uint32_t>(f.instructions.size());
  f.instructions.push_back(std::move(in));
  f.body.push_back(s);
  return true;
}

// [ ( returns ) , ] callee [ , ( arguments ) ] [ , table or prototype ]
bool Parser::callOperands(Instruction& in) {
  if (accept('(')) {
    if (!operandList(in.callReturns, ')', 1) || !expect(',')) return false;
  }
  Operand callee;
  if (!operand(callee, 0)) return false;
  in.operands.push_back(std::move(callee));
  if (!accept(',')) return true;
  if (accept('(')) {
    if (!operandList(in.callArguments, ')', 1)) return false;
    if (!accept(',')) return true;
  }
  Operand table;
  if (!operand(table, 0)) return false;
  in.operands.push_back(std::move(table));
  return true;
}

bool Parser::operandList(std::vector<Operand>& out, uint16_t close, size_t depth) {
  if (accept(close)) return true;
  do {
    if (out.size() >= 1024) return unexpected("the end of the list");
    Operand o;
    if (!operand(o, depth)) return false;
    out.push_back(std::move(o));
  } while (accept(','));
  return expect(close);
}

bool Parser::operand(Operand& out, size_t depth) {
  const Token& t = peek();
  out.loc = t.loc;
  if (depth > 4) {
    diags_.report(DiagId::PtxTooDeep, rangeOf(t));
    return false;
  }
  if (accept('{')) {
    out.kind = Operand::Kind::vector;
    return operandList(out.elements, '}', depth + 1);
  }
  if (accept('[')) return addressOperand(out);
  if (isPunct('!') && peek(1).kind == Tok::ident && peek(1).text != "WARP_SZ") {
    take();
    out.negated = true;
    return nameOperand(out);
  }
  if (isPunct('-') && peek(1).kind == Tok::ident && peek(1).text != "WARP_SZ") {
    take();
    out.minus = true;
    return nameOperand(out);
  }
  if (t.kind == Tok::ident && t.text != "WARP_SZ") return nameOperand(out);
  out.kind = Operand::Kind::constant;
  return constant(out.value);
}

bool Parser::nameOperand(Operand& out) {
  out.name = take().text;
  out.kind = out.name == "_" ? Operand::Kind::sink : Operand::Kind::name;
  if (peek().kind == Tok::dotWord) out.component = take().text;
  if (accept('|')) {
    out.pair = expectName();
    return !out.pair.empty();
  }
  if (accept('[')) {
    out.hasSubscript = true;
    return constant(out.value) && expect(']');
  }
  if (isPunct('+') || isPunct('-')) {
    bool minus = take().punct == '-';
    out.hasOffset = true;
    if (!constant(out.value)) return false;
    if (minus) out.value.bits = 0 - out.value.bits;
  }
  return true;
}

bool Parser::addressOperand(Operand& out) {
  out.kind = Operand::Kind::address;
  if (peek().kind == Tok::ident && peek().text != "WARP_SZ") {
    out.name = take().text;
    if (accept('[')) {
      out.hasSubscript = true;
      if (!constant(out.value) || !expect(']')) return false;
    } else if (isPunct('+') || isPunct('-')) {
      bool minus = take().punct == '-';
      out.hasOffset = true;
      if (!constant(out.value)) return false;
      if (minus) out.value.bits = 0 - out.value.bits;
    }
  } else if (!constant(out.value)) {
    return false;
  }
  if (out.value.kind != Constant::Kind::integer) {
    diags_.report(DiagId::PtxBadConstant, SourceRange(out.loc));
    return false;
  }
  // The coordinates in a tensor.
  if (accept(',') && (!expect('{') || !operandList(out.elements, '}', 1))) return false;
  return expect(']');
}

}  // namespace mtlc::sim::ptx
