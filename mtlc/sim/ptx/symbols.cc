#include "mtlc/sim/ptx/symbols.h"

#include <unordered_set>

namespace mtlc::sim::ptx {

ModuleSymbols::ModuleSymbols(const Module& module, DiagnosticEngine& diags) : module_(module) {
  for (const Variable& v : module.variables) {
    ModuleSymbol s;
    s.variable = &v;
    auto [it, fresh] = symbols_.emplace(v.name, s);
    if (fresh) continue;
    // A declaration and a definition of one name are one variable.
    ModuleSymbol& old = it->second;
    bool compatible =
        old.variable != nullptr && (old.variable->isExtern || v.isExtern || v.isWeak || v.isCommon);
    if (!compatible) {
      diags.report(DiagId::PtxRedefined, SourceRange(v.loc, static_cast<uint32_t>(v.name.size())),
                   {v.name});
    } else if (old.variable->isExtern) {
      old.variable = &v;
    }
  }
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    const Function& f = module.functions[i];
    ModuleSymbol s;
    s.kind = ModuleSymbol::Kind::function;
    s.function = &f;
    s.functionIndex = i;
    auto [it, fresh] = symbols_.emplace(f.name, s);
    if (fresh) continue;
    ModuleSymbol& old = it->second;
    if (old.kind != ModuleSymbol::Kind::function ||
        (old.function->hasBody && f.hasBody && !f.isWeak && !old.function->isWeak)) {
      diags.report(DiagId::PtxRedefined, SourceRange(f.loc, static_cast<uint32_t>(f.name.size())),
                   {f.name});
    } else if (!old.function->hasBody && f.hasBody) {
      old.function = &f;
      old.functionIndex = i;
    }
  }
  for (auto [name, target, loc] : module.aliases) {
    auto it = symbols_.find(target);
    if (it == symbols_.end() || it->second.kind != ModuleSymbol::Kind::function) {
      diags.report(DiagId::PtxUndefined, SourceRange(loc, static_cast<uint32_t>(target.size())),
                   {target});
      continue;
    }
    ModuleSymbol s = it->second;
    symbols_[name] = s;
  }
}

void ModuleSymbols::addVariable(const Variable& v) {
  ModuleSymbol s;
  s.variable = &v;
  symbols_.emplace(v.name, s);
}

void ModuleSymbols::setFunctionBase(uint64_t base) {
  functionBase_ = base;
  for (auto& [name, s] : symbols_) {
    if (s.kind == ModuleSymbol::Kind::function)
      s.address = base + s.functionIndex * kFunctionStride;
  }
}

const std::vector<const Function*>& ModuleSymbols::addressTaken() const {
  if (addressTaken_) return *addressTaken_;
  std::unordered_set<const Function*> known;
  std::vector<const Function*>& out = addressTaken_.emplace();
  auto take = [&](std::string_view name) {
    const ModuleSymbol* s = name.empty() ? nullptr : find(name);
    if (s != nullptr && s->kind == ModuleSymbol::Kind::function &&
        known.insert(s->function).second) {
      out.push_back(s->function);
    }
  };
  auto initialisers = [&](const std::vector<Variable>& variables) {
    for (const Variable& v : variables) {
      for (const InitValue& e : v.init) take(e.symbol);
    }
  };
  initialisers(module_.variables);
  for (const Function& f : module_.functions) {
    initialisers(f.variables);
    for (const Instruction& in : f.instructions) {
      if (in.opcode != "mov" && in.opcode != "call") continue;
      for (const Operand& o : in.callArguments) take(o.name);
      for (size_t i = 1; i < in.operands.size(); ++i) {
        take(in.operands[i].name);
        for (const Operand& e : in.operands[i].elements) take(e.name);
      }
    }
  }
  return out;
}

const Function* ModuleSymbols::functionAt(uint64_t address) const {
  if (address < functionBase_ || (address - functionBase_) % kFunctionStride != 0) return nullptr;
  uint64_t index = (address - functionBase_) / kFunctionStride;
  return index < module_.functions.size() ? &module_.functions[index] : nullptr;
}

}  // namespace mtlc::sim::ptx
