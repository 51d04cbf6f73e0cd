#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/text_descriptor.h"
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

  std::optional<Type> type(bool allowVoid = false) { return parseType(lexer_, diags_, allowVoid); }

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
        return setResult(colonType()) && parseLiteral(literal, spec.result, spec.payload, diags_);
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
        BarrierAttr b;
        if (!regions(b.regions) || !order(b.order)) return false;
        spec.payload = barrierPayload(b);
        return true;
      }
      case Form::Fence: {
        FenceAttr fence;
        if (!regions(fence.regions) || !order(fence.order) || !scope(fence.scope)) return false;
        spec.payload = fencePayload(fence);
        return true;
      }
      case Form::AtomicLoad:
      case Form::AtomicStore:
      case Form::AtomicRmw:
      case Form::AtomicCas:
        return atomic(spec, args);
      case Form::SubgroupIndex:
        return setResult(colonType());
      case Form::SubgroupLane:
      case Form::SubgroupBallot:
        return operands(args, 2) && setResult(colonType());
      case Form::SubgroupReduce: {
        std::optional<size_t> kind = wordOf(kCombineNames, "add, umax or another combination");
        if (!kind) return false;
        spec.payload = *kind;
        return operands(args, 1) && setResult(colonType());
      }
      case Form::SubgroupVote:
        spec.result = kI1;
        return operands(args, 1);
      case Form::AsyncCopy:
        return asyncCopy(spec, args);
      case Form::AsyncCommit:
        return true;
      case Form::AsyncWait: {
        std::optional<uint64_t> pending = number(UINT32_MAX, "how many groups may be pending");
        if (!pending) return false;
        spec.payload = *pending;
        return true;
      }
      case Form::Encode:
      case Form::Decode: {
        const bool encode = opInfo(spec.opcode).form == Form::Encode;
        NarrowAttr narrow;
        if (!floatFormat(narrow.format)) return false;
        if (encode) {
          narrow.saturate = acceptWord("sat");
          if (!narrow.saturate && !acceptWord("nosat")) return expected("sat or nosat");
        }
        spec.payload = narrowPayload(narrow);
        if (!operands(args, 1)) return false;
        if (!encode) return setResult(colonType());
        spec.result = kI8;
        return checkedType(args[0]);
      }
      case Form::Mma:
      case Form::Epilogue:
      case Form::Transfer:
        return tensor(spec, args);
      case Form::AccCommit:
        return operands(args, 1);
      case Form::FuncAddr:
        if (!at(Tok::Symbol)) return expected("a function '@name'");
        callee = take();
        return setResult(colonType());
      case Form::CallIndirect:
        if (!operands(args, 1) || !argumentList(args)) return false;
        if (at(Tok::Colon)) return setResult(colonType());
        return true;
      case Form::Launch:
        return launch(spec, args, callee);
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

  // '{' workgroup, global '}'
  bool regions(uint8_t& out) {
    out = 0;
    if (!expect(Tok::LBrace, "'{' and regions")) return false;
    if (!at(Tok::RBrace)) {
      do {
        bool found = false;
        for (const FlagName& r : kRegionNames) {
          if (!found && acceptWord(r.name)) {
            out |= r.flag;
            found = true;
          }
        }
        if (!found) return expected("workgroup or global");
      } while (accept(Tok::Comma));
    }
    return expect(Tok::RBrace, "',' or '}'");
  }

  bool order(MemoryOrder& out) {
    std::optional<size_t> found = wordOf(kOrderNames, "a memory order");
    if (found) out = static_cast<MemoryOrder>(*found);
    return found.has_value();
  }

  bool scope(Scope& out) {
    std::span<const std::string_view> names = enumNames(Scope());
    for (size_t i = 0; i < names.size(); ++i) {
      if (!acceptWord(names[i])) continue;
      out = static_cast<Scope>(i);
      return true;
    }
    return expected("workitem, subgroup, workgroup, device or system");
  }

  bool floatFormat(FloatFormat& out) {
    for (int i = 0; i < kFloatFormatCount; ++i) {
      if (!acceptWord(floatFormatInfo(static_cast<FloatFormat>(i)).name)) continue;
      out = static_cast<FloatFormat>(i);
      return true;
    }
    return expected("a float format such as e4m3");
  }

  bool atomic(Module::OpSpec& spec, std::vector<Value*>& args) {
    const Form form = opInfo(spec.opcode).form;
    AtomicAttr attr;
    if (form == Form::AtomicRmw) {
      std::optional<size_t> kind = wordOf(kCombineNames, "add, umax or another combination");
      if (!kind) return false;
      attr.kind = static_cast<CombineKind>(*kind);
    }
    std::optional<Type> elem = type();
    if (!elem || !expect(Tok::Comma, "','")) return false;
    spec.elem = *elem;
    if (form != Form::AtomicStore) spec.result = *elem;
    const size_t count = form == Form::AtomicLoad ? 1 : form == Form::AtomicCas ? 3 : 2;
    if (!operands(args, count) || !checkedType(args[0]) || !order(attr.order)) return false;
    attr.failureOrder = attr.order;
    if (form == Form::AtomicCas && !order(attr.failureOrder)) return false;
    if (!scope(attr.scope)) return false;
    spec.payload = atomicPayload(attr);
    return true;
  }

  bool asyncCopy(Module::OpSpec& spec, std::vector<Value*>& args) {
    AsyncAttr attr;
    if (!operands(args, 2) || !expect(Tok::Comma, "','")) return false;
    std::optional<uint64_t> count = number(UINT32_MAX, "an element count");
    if (!count) return false;
    attr.count = static_cast<uint32_t>(*count);
    if (!acceptWord("x")) return expected("'x' and the element type");
    std::optional<Type> elem = type();
    if (!elem) return false;
    spec.elem = *elem;
    if (!acceptWord("transaction")) return expected("'transaction' and a size in bytes");
    std::optional<uint64_t> transaction = number(255, "a size in bytes");
    if (!transaction) return false;
    attr.transaction = static_cast<uint8_t>(*transaction);
    if (acceptWord("cache")) {
      attr.cacheGlobal = acceptWord("global");
      if (!attr.cacheGlobal && !acceptWord("all")) return expected("all or global");
    }
    spec.payload = asyncPayload(attr);
    return true;
  }

  // slot=%value, … {descriptor} [: type]
  bool tensor(Module::OpSpec& spec, std::vector<Value*>& args) {
    Value* bySlot[kSlotCount] = {};
    SlotSet slots;
    if (!at(Tok::LBrace)) {
      do {
        std::optional<Slot> slot = at(Tok::Word) ? slotFromName(lexer_.peek().text) : std::nullopt;
        if (!slot) return expected("an operand such as a=%x");
        Token name = take();
        if (!expect(Tok::Equal, "'='")) return false;
        Value* v = operand();
        if (!v) return false;
        if (slots.has(*slot)) {
          diags_.report(DiagId::IrRedefinition, name.range, {name.text});
          return false;
        }
        slots.add(*slot);
        bySlot[static_cast<int>(*slot)] = v;
      } while (accept(Tok::Comma));
    }
    for (int i = 0; i < kSlotCount; ++i) {
      if (slots.has(static_cast<Slot>(i))) args.push_back(bySlot[i]);
    }
    switch (opInfo(spec.opcode).form) {
      case Form::Mma: {
        MmaDesc d;
        if (!parseDescriptor(lexer_, diags_, d, mmaUse(spec.opcode), slots)) return false;
        spec.payload = module_->tensorPayload(d, slots);
        break;
      }
      case Form::Epilogue: {
        EpilogueDesc d;
        bool inTile = spec.opcode == Opcode::TensorAccEpilogue;
        if (!parseDescriptor(lexer_, diags_, d, inTile, slots)) return false;
        spec.payload = module_->tensorPayload(d, slots);
        break;
      }
      default: {
        TransferDesc d;
        if (!parseDescriptor(lexer_, diags_, d)) return false;
        spec.payload = module_->tensorPayload(d, slots);
      }
    }
    if (opInfo(spec.opcode).typeClass != TypeClass::Tile) return true;
    std::optional<Type> result = colonType();
    if (!result) return false;
    spec.result = *result;
    return true;
  }

  bool launch(Module::OpSpec& spec, std::vector<Value*>& args, std::optional<Token>& callee) {
    auto group = [&](std::string_view word, size_t count) {
      if (!acceptWord(word)) return expected(absl::StrFormat("'%s('", word));
      return expect(Tok::LParen, "'('") && operands(args, count) && expect(Tok::RParen, "')'");
    };
    if (at(Tok::Symbol)) {
      callee = take();
    } else if (!operands(args, 1)) {
      return false;
    }
    LaunchAttr attr;
    if (!group("grid", 3) || !group("block", 3)) return false;
    if (isWord("shared")) {
      attr.hasShared = true;
      if (!group("shared", 1)) return false;
    }
    if (isWord("stream")) {
      attr.hasStream = true;
      if (!group("stream", 1)) return false;
    }
    if (!argumentList(args)) return false;
    spec.payload = launchPayload(attr);
    if (spec.opcode == Opcode::LaunchStatus) spec.result = kI32;
    return true;
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
