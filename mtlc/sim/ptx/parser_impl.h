// The parser's class, shared by its source files only.

#ifndef MTLC_SIM_PTX_PARSER_IMPL_H_
#define MTLC_SIM_PTX_PARSER_IMPL_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "mtlc/sim/ptx/lexer.h"
#include "mtlc/sim/ptx/parser.h"

namespace mtlc::sim::ptx {

class Parser {
 public:
  Parser(std::vector<Token> tokens, FileId file, DiagnosticEngine& diags)
      : tokens_(std::move(tokens)), diags_(diags) {
    module_.file = file;
  }
  Module run();

 private:
  struct Linkage {
    bool isExtern = false;
    bool isVisible = false;
    bool isWeak = false;
    bool isCommon = false;
  };

  // Tokens.
  const Token& peek(size_t ahead = 0) const {
    size_t i = pos_ + ahead;
    return tokens_[i < tokens_.size() ? i : tokens_.size() - 1];
  }
  const Token& take() {
    const Token& t = peek();
    if (pos_ + 1 < tokens_.size()) ++pos_;
    return t;
  }
  bool atEnd() const { return peek().kind == Tok::eof; }
  bool isPunct(uint16_t p, size_t ahead = 0) const {
    return peek(ahead).kind == Tok::punct && peek(ahead).punct == p;
  }
  bool accept(uint16_t p) {
    if (!isPunct(p)) return false;
    take();
    return true;
  }
  bool isDot(std::string_view word) const {
    return peek().kind == Tok::dotWord && peek().text == word;
  }
  bool acceptDot(std::string_view word) {
    if (!isDot(word)) return false;
    take();
    return true;
  }
  bool expect(uint16_t p);  // Reports PtxExpected when the next token differs.
  std::string_view expectName();
  // Reports "expected `what`, found …" at the next token; returns false.
  bool unexpected(std::string_view what);
  static SourceRange rangeOf(const Token& t) {
    return SourceRange(t.loc, static_cast<uint32_t>(t.text.size()));
  }
  void syncStatement();
  void syncTopLevel();  // Skips behind the next `;`, or to a `}`.
  void skipBraces();    // At `{`: skips the balanced block.

  // Module level (parser.cc).
  void header();
  void topLevel();
  bool fileDirective();
  void alias();
  Linkage linkage();
  bool functionDecl(const Linkage& linkage, bool entry);
  bool performanceDirectives(Function& f);
  bool threadCounts(std::array<uint32_t, 3>& out);
  bool parameterList(std::vector<Variable>& out);
  bool parameter(Variable& v);

  // Variables (parser.cc).
  // After the space directive; appends one or more variables of one declaration, up to and with
  // `;`.
  bool variableDecl(Mod space, const Linkage& linkage, std::vector<Variable>& out);
  bool typeAndAttributes(Variable& v);
  bool declarator(Variable& v);
  bool initialiser(Variable& v);
  bool initList(Variable& v, const std::vector<uint64_t>& extents,
                const std::vector<uint64_t>& strides, size_t level, uint64_t base, uint64_t& count);
  bool initElement(Variable& v, uint64_t index);
  std::optional<Mod> storageSpace() const;  // The next token as a space of a declaration.

  // Bodies (parser_body.cc).
  bool body(Function& f);
  bool statement(Function& f);
  bool bodyDirective(Function& f);
  bool locDirective(Function& f);
  bool labelledDirective(Function& f, std::string_view name, SourceLoc loc);
  bool prototype(Function& f, std::string_view name, SourceLoc loc);
  bool unknownOpcode(const Token& opcode);
  bool instruction(Function& f);
  bool callOperands(Instruction& in);
  bool operand(Operand& out, size_t depth);
  bool operandList(std::vector<Operand>& out, uint16_t close, size_t depth);
  bool addressOperand(Operand& out);
  bool nameOperand(Operand& out);

  // Constant expressions (parser_const.cc).
  bool constant(Constant& out);  // A whole expression.
  bool constTernary(Constant& out, size_t depth);
  bool constBinary(Constant& out, int minPrecedence, size_t depth);
  bool constUnary(Constant& out, size_t depth);
  bool unsignedConstant(uint64_t limit,
                        uint64_t& out);  // A non-negative integer expression <= limit.

  std::vector<Token> tokens_;
  DiagnosticEngine& diags_;
  size_t pos_ = 0;
  std::unordered_set<std::string_view> refused_;  // Opcodes reported as not supported.
  size_t scopeDepth_ = 0;
  Module module_;
};

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_PARSER_IMPL_H_
