#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/text_lexer.h"
#include "mtlc/ir/text_names.h"
#include "mtlc/support/float_format.h"
#include "mtlc/support/suggest.h"

namespace mtlc::ir {
namespace {

bool allDigits(std::string_view s) {
  for (char c : s) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

class Parser {
 public:
  Parser(SourceManager& sources, FileId file, DiagnosticEngine& diags)
      : sources_(sources),
        diags_(diags),
        errorsBefore_(diags.errorCount()),
        lexer_(sources, file, diags),
        module_(std::make_unique<Module>(sources)) {}

  std::unique_ptr<Module> run() {
    if (isWord("module")) {
      take();
      if (at(Tok::String)) {
        module_->setName(Lexer::unescape(take().text));
      } else {
        expected("the module's name in quotes");
      }
    } else {
      expected("'module \"name\"'");
    }
    while (!at(Tok::End) && !diags_.full()) {
      if (isWord("declare") || isWord("func") || isWord("kernel")) {
        function();
      } else {
        expected("'func', 'kernel' or 'declare'");
        skipToFunction();
      }
    }
    resolveCalls();
    if (diags_.errorCount() != errorsBefore_) return nullptr;
    return std::move(module_);
  }

 private:
  // ---- Tokens ----

  bool at(Tok kind) const { return lexer_.peek().kind == kind; }
  bool isWord(std::string_view word) const { return at(Tok::Word) && lexer_.peek().text == word; }
  Token take() { return lexer_.take(); }
  bool accept(Tok kind) {
    if (!at(kind)) return false;
    take();
    return true;
  }
  bool acceptWord(std::string_view word) {
    if (!isWord(word)) return false;
    take();
    return true;
  }
  // Always false, for use in conditions.
  bool expected(std::string_view what) {
    diags_.report(DiagId::IrExpected, lexer_.peek().range, {what, describe(lexer_.peek())});
    return false;
  }
  bool expect(Tok kind, std::string_view what) { return accept(kind) || expected(what); }
  void skipToFunction() {
    while (!at(Tok::End)) {
      if (lexer_.peek().startsLine && (isWord("declare") || isWord("func") || isWord("kernel")))
        return;
      take();
    }
  }
  // To the next thing that can begin an operation, a block or a function.
  void skipLine() {
    while (!at(Tok::End) && !lexer_.peek().startsLine) take();
  }

  // ---- Pieces ----

  std::optional<Type> type(bool allowVoid = false) {
    if (!at(Tok::Word)) {
      expected("a type");
      return std::nullopt;
    }
    Token t = take();
    if (t.text == "ptr") {
      if (!expect(Tok::LAngle, "'<' and an address space")) return std::nullopt;
      Token s = take();
      std::optional<Space> space = s.kind == Tok::Word ? spaceFromName(s.text) : std::nullopt;
      if (!space) {
        diags_.report(DiagId::IrExpected, s.range,
                      {"generic, global, workgroup, private or constant", describe(s)});
        return std::nullopt;
      }
      if (!expect(Tok::RAngle, "'>'")) return std::nullopt;
      return Type::ptr(*space);
    }
    std::optional<Type> found = scalarTypeFromName(t.text);
    if (!found || (found->isVoid() && !allowVoid)) {
      diags_.report(DiagId::IrUnknownType, t.range, {t.text.substr(0, 40)});
      return std::nullopt;
    }
    return found;
  }

  std::optional<Type> colonType() {
    if (!expect(Tok::Colon, "':' and a type")) return std::nullopt;
    return type();
  }

  std::optional<uint64_t> number(uint64_t max, std::string_view what) {
    if (at(Tok::Number)) {
      std::string_view s = lexer_.peek().text;
      uint64_t v = 0;
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
      if (error == std::errc() && end == s.data() + s.size() && v <= max) {
        take();
        return v;
      }
    }
    expected(what);
    return std::nullopt;
  }

  // The value called `name`; a placeholder if it is defined further on.
  Value* use(const Token& name) {
    Value*& v = values_[name.text];
    if (!v) {
      v = module_->makePlaceholder(kVoid);
      pending_.push_back({name, v});
    }
    return v;
  }

  Value* operand() {
    if (!at(Tok::Value)) {
      expected("a value '%name'");
      return nullptr;
    }
    return use(take());
  }

  bool operands(std::vector<Value*>& out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (i && !expect(Tok::Comma, "','")) return false;
      Value* v = operand();
      if (!v) return false;
      out.push_back(v);
    }
    return true;
  }

  // '(' values ')'
  bool argumentList(std::vector<Value*>& out) {
    if (!expect(Tok::LParen, "'('")) return false;
    if (accept(Tok::RParen)) return true;
    do {
      Value* v = operand();
      if (!v) return false;
      out.push_back(v);
    } while (accept(Tok::Comma));
    return expect(Tok::RParen, "',' or ')'");
  }

  void define(const Token& name, Value* value) {
    Value*& slot = values_[name.text];
    if (slot) {
      bool placeholder = slot->type().isVoid();
      if (!placeholder) {
        diags_.report(DiagId::IrRedefinition, name.range, {"%" + std::string(name.text)})
            .note(slot->loc(), "first defined here");
        return;
      }
      slot->replaceAllUsesWith(value);
    }
    slot = value;
    if (!allDigits(name.text)) module_->setValueName(value, name.text);
  }

  // ---- Functions ----

  void function() {
    FunctionSpec spec;
    bool declaration = acceptWord("declare");
    spec.isKernel = isWord("kernel");
    if (!spec.isKernel && !isWord("func")) {
      expected("'func' or 'kernel'");
      take();
      return skipToFunction();
    }
    take();
    if (!at(Tok::Symbol)) {
      expected("a function name '@name'");
      return skipToFunction();
    }
    Token nameToken = take();
    std::string name = Lexer::unescape(nameToken.text);
    spec.name = name;
    spec.loc = nameToken.range.begin;
    values_.clear();
    blocks_.clear();
    pending_.clear();
    std::vector<Token> paramTokens;
    if (!expect(Tok::LParen, "'('")) return skipToFunction();
    if (!accept(Tok::RParen)) {
      do {
        if (!declaration) {
          if (!at(Tok::Value)) {
            expected("a parameter '%name: type'");
            return skipToFunction();
          }
          paramTokens.push_back(take());
          if (!expect(Tok::Colon, "':' and a type")) return skipToFunction();
        }
        std::optional<Type> t = type();
        if (!t) return skipToFunction();
        spec.params.push_back(*t);
        if (!declaration) {
          std::string_view n = paramTokens.back().text;
          spec.paramNames.push_back(allDigits(n) ? std::string_view() : n);
        }
      } while (accept(Tok::Comma));
      if (!expect(Tok::RParen, "',' or ')'")) return skipToFunction();
    }
    if (accept(Tok::Arrow)) {
      std::optional<Type> t = type(true);
      if (!t) return skipToFunction();
      spec.result = *t;
    }
    if (module_->findFunction(name)) {
      diags_.report(DiagId::IrRedefinition, nameToken.range, {"@" + name})
          .note(module_->findFunction(name)->loc(), "first defined here");
    }
    Function* f = module_->addFunction(spec);
    if (!functionAttributes(f)) return skipToFunction();
    if (declaration) return;
    if (!expect(Tok::LBrace, "'{'")) return skipToFunction();
    body(f, paramTokens);
  }

  bool functionAttributes(Function* f) {
    for (;;) {
      if (acceptWord("launch_bounds")) {
        if (!expect(Tok::LParen, "'('")) return false;
        std::optional<uint64_t> threads = number(UINT32_MAX, "a thread count");
        if (!threads) return false;
        f->launchBounds.maxThreads = static_cast<uint32_t>(*threads);
        if (accept(Tok::Comma)) {
          std::optional<uint64_t> groups = number(UINT32_MAX, "a workgroup count");
          if (!groups) return false;
          f->launchBounds.minGroups = static_cast<uint32_t>(*groups);
        }
        if (!expect(Tok::RParen, "')'")) return false;
      } else if (std::optional<SourceLoc> loc = location()) {
        if (loc->valid()) f->setLoc(*loc);
      } else {
        bool found = false;
        for (size_t i = 1; i < kInlineNames.size(); ++i) {
          if (acceptWord(kInlineNames[i])) {
            f->inlineHint = static_cast<InlineHint>(i);
            found = true;
          }
        }
        if (!found) return true;
      }
    }
  }

  // loc("file":line:column), if there is one; an invalid location after an error.
  std::optional<SourceLoc> location() {
    if (!acceptWord("loc")) return std::nullopt;
    SourceLoc bad;
    if (!expect(Tok::LParen, "'('")) return bad;
    if (!at(Tok::String)) {
      expected("a file name in quotes");
      return bad;
    }
    Token file = take();
    if (!expect(Tok::Colon, "':'")) return bad;
    std::optional<uint64_t> line = number(SourceLoc::kMaxLine, "a line number");
    if (!line || !expect(Tok::Colon, "':'")) return bad;
    std::optional<uint64_t> column = number(SourceLoc::kMaxColumn, "a column number");
    if (!column || !expect(Tok::RParen, "')'")) return bad;
    auto [it, isNew] = files_.try_emplace(file.text, 0);
    if (isNew) it->second = sources_.addName(Lexer::unescape(file.text));
    return SourceLoc(it->second, static_cast<uint32_t>(*line), static_cast<uint32_t>(*column));
  }

  struct BlockInfo {
    Block* block = nullptr;
    bool defined = false;
    SourceRange firstUse;
  };

  // A block made when it is first mentioned; body() puts the blocks into text order at the end.
  BlockInfo& blockNamed(Function* f, const Token& name) {
    BlockInfo& info = blocks_[name.text];
    if (!info.block) {
      bool generated = name.text.starts_with("bb") && allDigits(name.text.substr(2));
      info.block = f->addBlock(generated ? std::string_view() : name.text, name.range.begin);
      info.firstUse = name.range;
    }
    return info;
  }

  void body(Function* f, const std::vector<Token>& params) {
    Block* current = nullptr;
    Block* lastDefined = nullptr;
    while (!at(Tok::RBrace)) {
      if (diags_.full()) return;
      if (at(Tok::End) ||
          (lexer_.peek().startsLine && (isWord("func") || isWord("kernel") || isWord("declare")))) {
        expected("'}' at the end of the function");
        return;
      }
      if (at(Tok::Block)) {
        Token name = take();
        bool first = lastDefined == nullptr;
        BlockInfo& info = blockNamed(f, name);
        if (info.defined) {
          diags_.report(DiagId::IrRedefinition, name.range, {"^" + std::string(name.text)})
              .note(info.block->loc(), "first defined here");
        }
        info.defined = true;
        info.block->setLoc(name.range.begin);
        current = info.block;
        if (first) {
          for (size_t i = 0; i < params.size(); ++i)
            define(params[i], f->param(static_cast<unsigned>(i)));
        } else {
          current->moveAfter(lastDefined);
        }
        lastDefined = current;
        if (accept(Tok::LParen)) {
          do {
            if (!at(Tok::Value)) {
              expected("an argument '%name: type'");
              break;
            }
            Token arg = take();
            std::optional<Type> t = colonType();
            if (!t) break;
            define(arg, current->addArg(*t));
          } while (accept(Tok::Comma));
          if (!expect(Tok::RParen, "',' or ')'")) {
            skipLine();
            continue;
          }
        }
        if (!expect(Tok::Colon, "':'")) skipLine();
        continue;
      }
      if (!current) {
        expected("a block '^name:'");
        take();
        skipLine();
        // Go on as if there were a block, so that later lines are looked at.
        current = lastDefined = f->addBlock();
        continue;
      }
      int errors = diags_.errorCount();
      operation(f, current);
      if (diags_.errorCount() != errors) skipLine();
    }
    take();
    std::vector<std::pair<SourceRange, std::string_view>> undefined;
    for (auto& [name, info] : blocks_) {
      if (!info.defined) undefined.push_back({info.firstUse, name});
    }
    // The table's order varies from run to run.
    std::sort(undefined.begin(), undefined.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    for (auto& [where, name] : undefined) diags_.report(DiagId::IrUndefinedBlock, where, {name});
    for (auto& [token, value] : pending_) {
      Value* now = values_[token.text];
      if (now == value) {
        diags_.report(DiagId::IrUndefinedValue, token.range, {token.text});
        values_[token.text] = nullptr;  // Once per name.
      }
    }
    if (!f->entry()) {
      diags_.report(DiagId::IrExpected, f->loc(), {"a block in the body of the function", "none"});
    }
  }

  // ---- Operations ----

  void operation(Function* f, Block* block) {
    SourceLoc loc = lexer_.peek().range.begin;
    std::optional<Token> resultName;
    if (at(Tok::Value)) {
      resultName = take();
      if (!expect(Tok::Equal, "'='")) return;
    }
    if (!at(Tok::Word)) {
      expected("an operation");
      if (!lexer_.peek().startsLine || !at(Tok::Block)) take();
      return;
    }
    Token mnemonic = take();
    std::optional<Opcode> opcode = opcodeFromMnemonic(mnemonic.text);
    if (!opcode) return unknownOperation(mnemonic);

    Module::OpSpec spec{.opcode = *opcode};
    for (bool more = true; more;) {
      more = false;
      for (const FlagName& flag : kFastMathNames) {
        if (acceptWord(flag.name)) {
          spec.fastMath |= flag.flag;
          more = true;
        }
      }
    }
    std::vector<Value*> args;
    MemAttr mem;
    std::optional<Token> callee;
    std::vector<Edge> edges;
    if (!form(f, spec, args, mem, callee, edges)) return;
    if (std::optional<SourceLoc> l = location()) {
      if (!l->valid()) return;
      loc = *l;
    }
    spec.loc = loc;
    spec.operands = args;
    if (spec.result.isVoid() && resultName) {
      diags_.report(DiagId::IrExpected, resultName->range,
                    {absl::StrFormat("'%s' without a result", mnemonic.text), "one"});
      return;
    }
    Operation* op;
    if (edges.empty()) {
      op = module_->makeOp(spec);
    } else {
      std::vector<Module::Edge> list;
      for (const Edge& e : edges) list.push_back({e.block, e.args});
      op = module_->makeTerminator(spec.opcode, args, list, loc);
      op->setFastMath(spec.fastMath);
    }
    if (op->form() == Form::Load || op->form() == Form::Store) op->setMem(mem);
    Module::append(block, op);
    if (callee) calls_.push_back({op, *callee});
    if (op->result()) {
      if (!resultName) {
        diags_.report(DiagId::IrExpected, mnemonic.range,
                      {absl::StrFormat("'%%name = ' before '%s'", mnemonic.text), "none"});
        return;
      }
      define(*resultName, op->result());
    }
  }

  struct Edge {
    Block* block;
    std::vector<Value*> args;
  };

  bool edge(Function* f, std::vector<Edge>& out) {
    if (!at(Tok::Block)) return expected("a target block '^name'");
    Token name = take();
    out.push_back({blockNamed(f, name).block, {}});
    if (at(Tok::LParen)) return argumentList(out.back().args);
    return true;
  }

  // Parses what follows the mnemonic and its flags.
  bool form(Function* f, Module::OpSpec& spec, std::vector<Value*>& args, MemAttr& mem,
            std::optional<Token>& callee, std::vector<Edge>& edges) {
    auto setResult = [&](std::optional<Type> t) {
      if (t) spec.result = *t;
      return t.has_value();
    };
    auto setElem = [&](std::optional<Type> t) {
      if (t) spec.elem = *t;
      return t.has_value();
    };
    switch (opInfo(spec.opcode).form) {
      case Form::Const: {
        Token literal = take();
        if (literal.kind != Tok::Number && literal.kind != Tok::Word) {
          diags_.report(DiagId::IrExpected, literal.range, {"a literal", describe(literal)});
          return false;
        }
        return setResult(colonType()) && constant(literal, spec.result, spec.payload);
      }
      case Form::Unary:
        return operands(args, 1) && setResult(colonType());
      case Form::Binary:
        return operands(args, 2) && setResult(colonType());
      case Form::Ternary:
      case Form::Select:
        return operands(args, 3) && setResult(colonType());
      case Form::Compare:
        // The operands carry the type; it stands in the text for the reader and is checked here.
        if (!operands(args, 2) || !checkedType(args[0])) return false;
        spec.result = kI1;
        return true;
      case Form::Cast:
        if (!operands(args, 1) || !checkedType(args[0])) return false;
        if (!acceptWord("to")) return expected("'to' and a type");
        return setResult(type());
      case Form::GpuIndex: {
        std::optional<size_t> dim = wordOf(kDimNames, "x, y or z");
        if (!dim) return false;
        spec.payload = *dim;
        return setResult(colonType());
      }
      case Form::PtrAdd:
        if (!operands(args, 2)) return false;
        if (!acceptWord("x")) return expected("'x' and the element type");
        return setElem(type()) && setResult(colonType());
      case Form::Load:
        if (!setElem(type()) || !expect(Tok::Comma, "','") || !operands(args, 1)) return false;
        spec.result = spec.elem;
        return checkedType(args[0]) && memory(spec.elem, mem);
      case Form::Store:
        if (!setElem(type()) || !expect(Tok::Comma, "','") || !operands(args, 2)) return false;
        return checkedType(args[1]) && memory(spec.elem, mem);
      case Form::Alloc: {
        if (!setElem(type()) || !expect(Tok::LBracket, "'[' and a count")) return false;
        std::optional<uint64_t> count = number(UINT64_MAX, "an element count");
        if (!count || !expect(Tok::RBracket, "']'")) return false;
        spec.payload = *count;
        return setResult(colonType());
      }
      case Form::AllocDynamic:
        return setElem(type()) && setResult(colonType());
      case Form::Barrier: {
        if (!expect(Tok::LBrace, "'{' and regions")) return false;
        BarrierAttr b{.regions = 0};
        if (!at(Tok::RBrace)) {
          do {
            bool found = false;
            for (const FlagName& r : kRegionNames) {
              if (!found && acceptWord(r.name)) {
                b.regions |= r.flag;
                found = true;
              }
            }
            if (!found) return expected("workgroup or global");
          } while (accept(Tok::Comma));
        }
        if (!expect(Tok::RBrace, "',' or '}'")) return false;
        std::optional<size_t> order = wordOf(kOrderNames, "a memory order");
        if (!order) return false;
        b.order = static_cast<MemoryOrder>(*order);
        spec.payload = barrierPayload(b);
        return true;
      }
      case Form::Call:
        if (!at(Tok::Symbol)) return expected("a function '@name'");
        callee = take();
        if (!argumentList(args)) return false;
        if (at(Tok::Colon)) return setResult(colonType());
        return true;
      case Form::Jump:
        return edge(f, edges);
      case Form::Branch:
        return operands(args, 1) && expect(Tok::Comma, "','") && edge(f, edges) &&
               expect(Tok::Comma, "','") && edge(f, edges);
      case Form::Return:
        // A value on the next line starts the next operation only if a terminator were not the
        // last.
        if (at(Tok::Value) && !lexer_.peek().startsLine) return operands(args, 1);
        return true;
    }
    return false;
  }

  template <size_t N>
  std::optional<size_t> wordOf(const std::array<std::string_view, N>& names,
                               std::string_view what) {
    for (size_t i = 0; i < N; ++i) {
      if (acceptWord(names[i])) return i;
    }
    expected(what);
    return std::nullopt;
  }

  // ': T' where the operand has the type; remembered and compared once all definitions are known.
  bool checkedType(Value* operand) {
    SourceRange where = lexer_.peek().range;
    std::optional<Type> t = colonType();
    if (!t) return false;
    // A forward reference has no type yet: the verifier sees what matters.
    if (!operand->type().isVoid() && operand->type() != *t) {
      diags_.report(
          DiagId::IrExpected, where,
          {absl::StrFormat("the operand's type %s", typeName(operand->type())), typeName(*t)});
      return false;
    }
    return true;
  }

  bool memory(Type elem, MemAttr& mem) {
    mem.align = elem.bytes();
    for (;;) {
      if (acceptWord("align")) {
        std::optional<uint64_t> a = number(UINT32_MAX, "an alignment in bytes");
        if (!a) return false;
        mem.align = static_cast<uint32_t>(*a);
      } else if (acceptWord("volatile")) {
        mem.isVolatile = true;
      } else if (acceptWord("cache")) {
        std::optional<size_t> hint = wordOf(kCacheNames, "a cache hint");
        if (!hint) return false;
        mem.cache = static_cast<CacheHint>(*hint);
      } else {
        return true;
      }
    }
  }

  bool constant(const Token& literal, Type type, uint64_t& bits) {
    auto bad = [&](std::string_view hint) {
      diags_.report(DiagId::IrLiteral, literal.range,
                    {literal.text.substr(0, 40), typeName(type), hint});
      return false;
    };
    std::string_view s = literal.text;
    if (type.isBool()) {
      if (s != "true" && s != "false") return bad("write true or false");
      bits = s == "true";
      return true;
    }
    if (type.isPtr()) {
      if (s != "null") return bad("the only pointer constant is null");
      bits = 0;
      return true;
    }
    if (s.starts_with("0x")) {
      auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), bits, 16);
      if (error != std::errc() || end != s.data() + s.size() || s.size() == 2 ||
          (bits & ~type.mask()) != 0) {
        return bad("the bits have to fit the type");
      }
      return true;
    }
    if (type.isFloat())
      return floatConstant(s, type, bits) || bad("write 1.5, -2e-3, or the bits as 0x…");
    int64_t value = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error == std::errc() && end == s.data() + s.size() &&
        signExtend(static_cast<uint64_t>(value), type.bits()) == value) {
      bits = static_cast<uint64_t>(value) & type.mask();
      return true;
    }
    uint64_t wide = 0;
    auto [uend, uerror] = std::from_chars(s.data(), s.data() + s.size(), wide);
    if (uerror == std::errc() && uend == s.data() + s.size() && (wide & ~type.mask()) == 0) {
      bits = wide;
      return true;
    }
    return bad("the value has to fit the type, signed or unsigned");
  }

  static bool floatConstant(std::string_view s, Type type, uint64_t& bits) {
    if (s.empty() || !(s[0] == '-' || (s[0] >= '0' && s[0] <= '9'))) return false;
    if (type == kF32) {
      // Straight from decimal: through float64 would round twice.
      float f = 0;
      auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), f);
      bits = f32Bits(f);
      return error == std::errc() && end == s.data() + s.size();
    }
    double d = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), d);
    if (error != std::errc() || end != s.data() + s.size()) return false;
    bits = type == kF64 ? f64Bits(d) : type == kF16 ? f64ToF16(d) : f64ToBf16(d);
    return true;
  }

  void unknownOperation(const Token& mnemonic) {
    std::vector<std::string_view> known;
    for (int i = 0; i < kOpcodeCount; ++i) known.push_back(opInfo(static_cast<Opcode>(i)).mnemonic);
    std::string_view near = nearestSpelling(mnemonic.text, known);
    diags_.report(
        DiagId::IrUnknownOperation, mnemonic.range,
        {mnemonic.text.substr(0, 40), near.empty() ? "docs/ir.md lists the operations"
                                                   : absl::StrFormat("did you mean '%s'?", near)});
  }

  void resolveCalls() {
    for (auto& [op, name] : calls_) {
      Function* callee = module_->findFunction(Lexer::unescape(name.text));
      if (!callee) {
        diags_.report(DiagId::IrUndefinedFunction, name.range, {Lexer::unescape(name.text)});
      }
      op->setCallee(callee);
    }
  }

  SourceManager& sources_;
  DiagnosticEngine& diags_;
  int errorsBefore_;  // The lexer reports from its first token on.
  Lexer lexer_;
  std::unique_ptr<Module> module_;
  // Of the function being parsed. Keys point into the source text.
  absl::flat_hash_map<std::string_view, Value*> values_;
  absl::flat_hash_map<std::string_view, BlockInfo> blocks_;
  std::vector<std::pair<Token, Value*>> pending_;
  std::vector<std::pair<Operation*, Token>> calls_;
  absl::flat_hash_map<std::string_view, FileId> files_;
};

}  // namespace

std::unique_ptr<Module> parseModule(SourceManager& sources, FileId file, DiagnosticEngine& diags) {
  return Parser(sources, file, diags).run();
}

}  // namespace mtlc::ir
