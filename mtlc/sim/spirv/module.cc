#include "mtlc/sim/spirv/module.h"

#include <algorithm>
#include <cstring>

namespace mtlc::sim {

SpirvModule::~SpirvModule() {
  for (const auto& g : globals_) memory_.free(g->address);
}

bool SpirvModule::load(std::span<const uint32_t> words, FileId listing, DiagnosticEngine& diags) {
  if (!binary_.read(words, listing, diags) || !placeVariables(diags)) return false;
  for (const spirv::EntryPoint& e : binary_.entryPoints()) {
    auto k = std::make_unique<KernelEntry>();
    k->program = spirv::decodeKernel(binary_, e, addresses_,
                                     spirv::DecodeOptions{.portable = portableLanes_}, diags);
    if (diags.hasErrors()) return false;
    const Program& p = *k->program;
    k->kernel.name = e.name;
    k->kernel.params = p.params;
    k->kernel.paramBytes = p.paramBytes;
    k->kernel.requiredThreads = p.requiredThreads;
    k->kernel.staticShared = p.staticShared;
    k->kernel.dynamicSharedOffset = p.dynamicSharedOffset;
    k->kernel.localBytes = p.declaredLocalBytes;
    k->kernel.registers = p.functions[0].slots32 + 2 * p.functions[0].slots64;
    k->kernel.module = this;
    kernels_.push_back(std::move(k));
  }
  return true;
}

bool SpirvModule::placeVariables(DiagnosticEngine& diags) {
  struct Initial {
    spirv::Id constant;
    Allocation* to;
  };
  std::vector<Initial> initials;
  for (uint32_t i : binary_.globals()) {
    const spirv::Inst& in = binary_.insts()[i];
    const spirv::Type& pointer = binary_.type(in.type);
    bool constant = pointer.storage == spv::StorageClass::UniformConstant;
    if (!constant && pointer.storage != spv::StorageClass::CrossWorkgroup) continue;
    const spirv::Type& t = binary_.type(pointer.element);
    uint64_t align = std::max<uint64_t>(std::max<uint64_t>(t.align, 1),
                                        binary_.decorations(in.result).alignment);
    std::string name = binary_.nameOf(in.result);
    Allocation* a = memory_.allocate(t.size, align, name,
                                     constant ? AllocationKind::constant : AllocationKind::global);
    if (a == nullptr) {
      diags.report(DiagId::PtxTooLarge, SourceRange(in.loc), {name, memory_.bytesInUse()});
      return false;
    }
    if (t.size != 0) std::memset(a->host, 0, t.size);
    a->initialised = true;
    auto g = std::make_unique<GlobalVariable>();
    g->name = name;
    g->address = a->begin;
    g->bytes = t.size;
    g->constant = constant;
    globals_.push_back(std::move(g));
    addresses_.emplace(in.result, a->begin);
    if (in.operands.size() > 1) initials.push_back({in.operands[1], a});
  }
  spirv::computeConstants(binary_, addresses_);
  for (const Initial& i : initials) {
    if (!spirv::constantBytes(binary_, i.constant, addresses_, i.to->host)) {
      diags.report(DiagId::SpirvUnsupported, SourceRange(binary_.def(i.constant).loc),
                   {"this initialiser"});
      return false;
    }
  }
  return true;
}

const Kernel* SpirvModule::kernel(std::string_view name) const {
  for (const auto& k : kernels_) {
    if (k->kernel.name == name) return &k->kernel;
  }
  return nullptr;
}

std::vector<const Kernel*> SpirvModule::kernels() const {
  std::vector<const Kernel*> out;
  for (const auto& k : kernels_) out.push_back(&k->kernel);
  return out;
}

const GlobalVariable* SpirvModule::global(std::string_view name) const {
  for (const auto& g : globals_) {
    if (g->name == name) return g.get();
  }
  return nullptr;
}

std::vector<const GlobalVariable*> SpirvModule::globals() const {
  std::vector<const GlobalVariable*> out;
  for (const auto& g : globals_) out.push_back(g.get());
  return out;
}

const Program& SpirvModule::program(const Kernel& kernel) const {
  for (const auto& k : kernels_) {
    if (&k->kernel == &kernel) return *k->program;
  }
  return *kernels_.front()->program;
}

}  // namespace mtlc::sim
