// Loading PTX into a device: variables, initialisers, kernels.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "mtlc/sim/module_impl.h"
#include "mtlc/sim/ptx/decoder.h"
#include "mtlc/sim/ptx/parser.h"

namespace mtlc::sim {
namespace {

constexpr uint64_t kFunctionBlock = uint64_t{1} << 24;  // Handles that one module may use.

std::atomic<uint64_t> nextFunctionBase{kFunctionWindow + kFunctionBlock};

}  // namespace

PtxModule::PtxModule(const SourceManager& sources, DeviceMemory& memory, bool portableLanes)
    : sources_(sources), memory_(memory), portableLanes_(portableLanes) {}

PtxModule::~PtxModule() {
  for (const auto& g : globals_) memory_.free(g->address);
}

bool PtxModule::load(FileId file, DiagnosticEngine& diags) {
  ast_ = ptx::parse(file, sources_, diags);
  if (diags.hasErrors()) return false;
  symbols_ = std::make_unique<ptx::ModuleSymbols>(ast_, diags);
  symbols_->setFunctionBase(nextFunctionBase.fetch_add(kFunctionBlock));
  if (diags.hasErrors() || !placeVariables(diags)) return false;
  for (const ptx::Function& f : ast_.functions) {
    if (f.hasBody) ptx::checkFunction(*symbols_, f, diags);
    if (diags.full()) return false;
  }
  if (diags.hasErrors()) return false;
  for (const ptx::Function& f : ast_.functions) {
    if (!f.isEntry || !f.hasBody) continue;
    auto k = std::make_unique<KernelEntry>();
    k->function = &f;
    k->kernel.name = std::string(f.name);
    k->kernel.params = ptx::layoutParams(f, k->kernel.paramBytes);
    k->kernel.maxThreads = f.maxThreads;
    k->kernel.requiredThreads = f.requiredThreads;
    k->kernel.module = this;
    kernels_.push_back(std::move(k));
  }
  for (auto& k : kernels_) {
    const Program& p = decoded(*k);
    k->kernel.staticShared = p.staticShared;
    k->kernel.localBytes = p.declaredLocalBytes;
    k->kernel.registers = p.functions[0].slots32 + 2 * p.functions[0].slots64;
  }
  return true;
}

bool PtxModule::placeVariables(DiagnosticEngine& diags) {
  auto place = [&](const ptx::Variable& v, bool moduleScope) {
    if (v.space != Mod::global && v.space != Mod::constSpace) return true;
    ptx::ModuleSymbol* s = symbols_->findMutable(v.name);
    if (s == nullptr) {
      symbols_->addVariable(v);
      s = symbols_->findMutable(v.name);
    } else if (moduleScope && s->variable != &v) {
      return true;  // Another declaration of the same variable.
    } else if (!moduleScope && s->variable != &v) {
      diags.report(DiagId::PtxRedefined, SourceRange(v.loc, static_cast<uint32_t>(v.name.size())),
                   {v.name});
      return false;
    }
    bool constant = v.space == Mod::constSpace;
    uint64_t align = std::max<uint64_t>(v.align, v.elementBytes());
    Allocation* a = memory_.allocate(v.bytes(), align, std::string(v.name),
                                     constant ? AllocationKind::constant : AllocationKind::global);
    if (a == nullptr) {
      diags.report(DiagId::PtxTooLarge, SourceRange(v.loc, static_cast<uint32_t>(v.name.size())),
                   {v.name, memory_.bytesInUse()});
      return false;
    }
    std::memset(a->host, 0, v.bytes());  // Without an initialiser: zero (PTX ISA 5.4.4).
    a->initialised = true;
    s->address = a->begin;
    auto g = std::make_unique<GlobalVariable>();
    g->name = a->name;
    g->address = a->begin;
    g->bytes = v.bytes();
    g->constant = constant;
    globals_.push_back(std::move(g));
    return true;
  };
  bool ok = true;
  for (const ptx::Variable& v : ast_.variables) ok = place(v, true) && ok;
  for (const ptx::Function& f : ast_.functions) {
    for (const ptx::Variable& v : f.variables) ok = place(v, false) && ok;
  }
  if (!ok) return false;
  // Addresses are known now.
  for (const ptx::Variable& v : ast_.variables) ok = initialise(v, diags) && ok;
  for (const ptx::Function& f : ast_.functions) {
    for (const ptx::Variable& v : f.variables) ok = initialise(v, diags) && ok;
  }
  return ok;
}

bool PtxModule::initialise(const ptx::Variable& v, DiagnosticEngine& diags) {
  if (!v.hasInit) return true;
  const ptx::ModuleSymbol* s = symbols_->find(v.name);
  if (s == nullptr || s->variable != &v) return true;
  auto* host = static_cast<uint8_t*>(memory_.hostPointer(s->address, v.bytes()));
  if (host == nullptr) return true;
  size_t size = v.elementBytes() / v.vector;
  bool isFloat = typeClass(v.type) == TypeClass::floating;
  for (const ptx::InitValue& e : v.init) {
    uint8_t* to = host + e.index * size;
    uint64_t bits = e.value.bits;
    if (!e.symbol.empty()) {
      const ptx::ModuleSymbol* target = symbols_->find(e.symbol);
      if (target == nullptr) {
        diags.report(DiagId::PtxUndefined,
                     SourceRange(e.loc, static_cast<uint32_t>(e.symbol.size())), {e.symbol});
        return false;
      }
      if (target->kind == ptx::ModuleSymbol::Kind::variable &&
          target->variable->space == Mod::shared) {
        diags.report(DiagId::PtxWrongSpace,
                     SourceRange(e.loc, static_cast<uint32_t>(e.symbol.size())),
                     {e.symbol, "shared", "global or const"});
        return false;
      }
      bits += target->address;
      if (e.masked) bits = bits >> e.maskShift & 0xff;
    } else if (isFloat && e.value.kind == ptx::Constant::Kind::integer && size >= 4) {
      double d = e.value.isUnsigned ? static_cast<double>(bits)
                                    : static_cast<double>(static_cast<int64_t>(bits));
      if (size == 4) {
        float f = static_cast<float>(d);
        uint32_t b;
        std::memcpy(&b, &f, sizeof b);
        bits = b;
      } else {
        std::memcpy(&bits, &d, sizeof bits);
      }
    } else if (e.value.kind == ptx::Constant::Kind::float64 && size == 4) {
      double d;
      std::memcpy(&d, &bits, sizeof d);
      float f = static_cast<float>(d);
      uint32_t b;
      std::memcpy(&b, &f, sizeof b);
      bits = b;
    } else if (e.value.kind == ptx::Constant::Kind::float32 && size == 8 && isFloat) {
      uint32_t b = static_cast<uint32_t>(bits);
      float f;
      std::memcpy(&f, &b, sizeof f);
      double d = f;
      std::memcpy(&bits, &d, sizeof bits);
    }
    if (size > 8) {
      std::memset(to, 0, size);
      std::memcpy(to, &bits, 8);
    } else {
      std::memcpy(to, &bits, size);
    }
  }
  return true;
}

const Program& PtxModule::decoded(KernelEntry& k) const {
  std::lock_guard lock(mutex_);
  if (k.program == nullptr) {
    DiagnosticEngine ignored;  // load() checked the function.
    k.program = ptx::decodeKernel(*symbols_, *k.function,
                                  ptx::DecodeOptions{.portable = portableLanes_}, ignored);
  }
  return *k.program;
}

const Kernel* PtxModule::kernel(std::string_view name) const {
  for (const auto& k : kernels_) {
    if (k->kernel.name == name) return &k->kernel;
  }
  return nullptr;
}

std::vector<const Kernel*> PtxModule::kernels() const {
  std::vector<const Kernel*> out;
  for (const auto& k : kernels_) out.push_back(&k->kernel);
  return out;
}

const GlobalVariable* PtxModule::global(std::string_view name) const {
  for (const auto& g : globals_) {
    if (g->name == name) return g.get();
  }
  return nullptr;
}

std::vector<const GlobalVariable*> PtxModule::globals() const {
  std::vector<const GlobalVariable*> out;
  for (const auto& g : globals_) out.push_back(g.get());
  return out;
}

const Program& PtxModule::program(const Kernel& kernel) const {
  for (const auto& k : kernels_) {
    if (&k->kernel == &kernel) return decoded(*k);
  }
  return decoded(*kernels_.front());
}

}  // namespace mtlc::sim
