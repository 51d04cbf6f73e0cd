#include "mtlc/codegen/ptx/ptx.h"

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/uniformity.h"
#include "mtlc/codegen/ptx/asm_printer.h"
#include "mtlc/codegen/ptx/lower_async.h"
#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"
#include "mtlc/codegen/ptx/tensor_forms.h"
#include "mtlc/support/version.h"
#include "mtlc/transforms/tensor_legalize.h"

namespace mtlc {

namespace {

using ir::Function;
using ir::Opcode;
using ir::Operation;

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

// Names that the emitter gives to other things inside a function: `f_param_0`, `func_retval0`.
bool looksEmitted(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && isDigit(name[end - 1])) --end;
  std::string_view stem = name.substr(0, end);
  return end < name.size() && (stem.ends_with("_param_") || stem == "param" || stem == "retval" ||
                               stem == "func_retval");
}

// A PTX identifier for any name, different for different names: what cannot stand in one becomes
// '$' and two hexadecimal digits.
std::string mangle(std::string_view name, bool isKernel) {
  constexpr char kHex[] = "0123456789abcdef";
  bool escapeFirst = name.empty() || (!isKernel && looksEmitted(name));
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    bool plain = isLetter(c) || (i > 0 && (isDigit(c) || c == '_')) ||
                 (i == 0 && c == '_' && name.size() > 1);
    if (plain && !(i == 0 && escapeFirst)) {
      result += c;
    } else {
      result += '$';
      result += kHex[static_cast<unsigned char>(c) >> 4];
      result += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  return result.empty() ? "$00" : result;
}

bool hasTensors(ir::Module& module) {
  for (Function& f : module.functions()) {
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) {
        switch (op.form()) {
          case ir::Form::Mma:
          case ir::Form::Epilogue:
          case ir::Form::Transfer:
          case ir::Form::AccCommit:
          case ir::Form::AsyncCopy:
          case ir::Form::AsyncCommit:
          case ir::Form::AsyncWait:
            return true;
          default:
            break;
        }
      }
    }
  }
  return false;
}

ptx::TileFunctions tileFunctions(ir::Module& module) {
  ptx::TileFunctions result;
  for (Function& f : module.functions()) {
    bool found = false;
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) found |= op.opcode() == Opcode::TensorAccBegin;
    }
    if (found) result.functions.insert(&f);
  }
  if (result.functions.empty()) return result;
  const analysis::Uniformity uniformity(module, analysis::Uniformity::Extent::Collectives);
  for (Function& f : module.functions()) {
    if (!result.functions.contains(&f) || !uniformity.analyzed(&f)) continue;
    for (ir::Block& block : f.blocks()) {
      if (uniformity.controlRank(&block) > analysis::Rank::Subgroup) {
        result.divergentBlocks.insert(&block);
      }
    }
  }
  return result;
}

// Emits in one sweep: each function is looked through for calls, then, its callees done, lowered
// and printed.
class ModuleEmitter {
 public:
  // `comments` are lines for the bodies of functions.
  using Comments = absl::flat_hash_map<const Function*, std::vector<std::string>>;
  ModuleEmitter(ir::Module& module, const PtxOptions& options, const Comments& comments,
                DiagnosticEngine& diags)
      : module_(module),
        comments_(comments),
        options_(options),
        diags_(diags),
        errorsBefore_(diags.errorCount()),
        tiles_(tileFunctions(module)),
        lowering_(options, tiles_, diags),
        printer_(out_, options.lineInfo,
                 [this](const Function& f) -> std::string_view { return known(f).name; }) {}

  std::optional<std::string> run() {
    header();
    bool hasHelpers = false;
    for (Function& f : module_.functions()) hasHelpers |= !f.isKernel();
    for (Function& f : module_.functions()) {
      if (!f.isKernel() || known(f).seen) continue;
      // Without helpers there is no call to look for.
      hasHelpers ? emitWithCallees(f) : emit(f, known(f));
    }
    if (failed()) return std::nullopt;
    if (options_.lineInfo) printer_.printFiles(module_.sources());
    return std::move(out_);
  }

 private:
  // What is known of a function that a kernel reaches.
  struct Known {
    std::string name;       // In PTX.
    bool seen = false;      // Looked through, or being so.
    bool declared = false;  // Its prototype or definition has been printed.
  };
  struct Frame {
    Function* function;
    Known* known;
    ir::Block* block;
    Operation* next;
  };

  bool failed() const { return diags_.errorCount() > errorsBefore_; }

  Known& known(const Function& f) {
    Known*& entry = byFunction_[&f];
    if (entry == nullptr) {
      entry = &all_.emplace_back();
      entry->name = mangle(f.name(), f.isKernel());
    }
    return *entry;
  }

  void header() {
    out_ += "//\n// Generated by mtlc ";
    out_ += kVersion;
    out_ += "\n//\n\n.version ";
    out_ += toString(options_.profile.version());
    out_ += "\n.target ";
    out_ += options_.profile.target().name;
    out_ += "\n.address_size 64\n";
  }

  // A callee comes before its callers unless they call each other.
  void emitWithCallees(Function& kernel) {
    auto open = [&](Function* f) {
      Known& k = known(*f);
      k.seen = true;
      ir::Block* entry = f->entry();
      if (entry != nullptr) stack_.push_back({f, &k, entry, entry->front()});
    };
    open(&kernel);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      while (frame.next == nullptr && frame.block != nullptr) {
        frame.block = frame.block->next();
        if (frame.block != nullptr) frame.next = frame.block->front();
      }
      if (frame.next == nullptr) {
        Frame done = frame;
        stack_.pop_back();
        emit(*done.function, *done.known);
        continue;
      }
      Operation& op = *frame.next;
      frame.next = op.next();
      if (op.opcode() == Opcode::Call && !known(*op.callee()).seen) open(op.callee());
    }
  }

  void emit(Function& f, Known& k) {
    if (f.isKernel()) checkKernel(f);
    lowering_.lower(f, k.name, machine_);
    if (failed()) return;  // Only look for more errors.
    if (machine_.usesArena && !arenaDeclared_) {
      arenaDeclared_ = true;
      out_ += "\n.extern .shared .align 128 .b8 ";
      out_ += ptx::kArenaName;
      out_ += "[];\n";
    }
    for (const ptx::MachineCall& call : machine_.calls) {
      Known& callee = known(*call.callee);
      if (callee.declared || call.callee == &f) continue;
      callee.declared = true;
      out_ += '\n';
      if (call.callee->isDeclaration()) out_ += ".extern ";
      printer_.printPrototype(*call.callee);
    }
    out_ += '\n';
    k.declared = true;
    const auto lines = comments_.find(&f);
    printer_.printFunction(f, machine_, number_++,
                           lines == comments_.end() ? std::span<const std::string>()
                                                    : std::span<const std::string>(lines->second));
  }

  void checkKernel(Function& kernel) {
    uint64_t bytes = 0;
    for (unsigned p = 0; p < kernel.paramCount(); ++p) {
      uint64_t size = kernel.paramTypes()[p].bytes();
      bytes = (bytes + size - 1) / size * size + size;
    }
    bool large = options_.profile.has(PtxFeature::LargeParams);
    uint64_t limit = large ? 32764 : 4096;
    if (bytes > limit) {
      std::string hint = large ? "pass a pointer to a structure in global memory"
                               : "more needs " + PtxProfile::needs(PtxFeature::LargeParams);
      diags_.report(DiagId::PtxParamsTooLarge, kernel.loc(),
                    {kernel.name(), bytes, options_.profile.describe(), limit, hint});
    }
  }

  ir::Module& module_;
  const Comments& comments_;
  const PtxOptions& options_;
  DiagnosticEngine& diags_;
  const int errorsBefore_;
  std::string out_;
  std::deque<Known> all_;
  absl::flat_hash_map<const Function*, Known*> byFunction_;
  std::vector<Frame> stack_;
  bool arenaDeclared_ = false;
  uint32_t number_ = 0;
  ptx::MachineFunction machine_;
  const ptx::TileFunctions tiles_;
  ptx::FunctionLowering lowering_;
  ptx::AsmPrinter printer_;
};

class PtxTarget : public Target {
 public:
  std::string_view name() const override { return "ptx"; }
  std::string_view description() const override { return "NVIDIA PTX, as text"; }
  bool accepts(std::string_view arch) const override { return PtxProfile::isArchName(arch); }

  std::vector<TargetListRow> architectures() const override {
    std::vector<TargetListRow> rows = {{"gb10", "sm_121a with PTX 8.8"},
                                       {"portable", "compute_75 with PTX 6.4"}};
    for (const PtxTargetRow* row : ptxTargets()) {
      std::string versions = "PTX " + toString(row->minVersion) + " or newer, by default " +
                             toString(row->defaultVersion);
      rows.push_back({std::string(row->name), versions});
    }
    return rows;
  }

  std::vector<TargetListRow> features() const override {
    std::vector<TargetListRow> rows = {{"ptxNN", "PTX version N.N, as in -mattr=+ptx88"}};
    for (int i = 0; i < kPtxFeatureCount; ++i) {
      const PtxFeatureRow& row = ptxFeature(static_cast<PtxFeature>(i));
      rows.push_back({std::string(row.name), std::string(row.what) + "; from " +
                                                 PtxProfile::needs(static_cast<PtxFeature>(i))});
    }
    return rows;
  }

  // A row for each feature: the least PTX version with which each target has it.
  std::string featureTable() const override {
    std::string text = "feature";
    for (const PtxTargetRow* target : ptxTargets()) (text += ' ') += target->name;
    text += '\n';
    for (int i = 0; i < kPtxFeatureCount; ++i) {
      const PtxFeature feature = static_cast<PtxFeature>(i);
      text += ptxFeature(feature).name;
      for (const PtxTargetRow* target : ptxTargets()) {
        const std::optional<PtxVersion> least = leastVersionWith(feature, *target);
        (text += ' ') += least ? toString(*least) : "-";
      }
      text += '\n';
    }
    return text;
  }

  std::optional<std::string> emit(ir::Module& module, const TargetOptions& options,
                                  DiagnosticEngine& diags) const override {
    std::optional<PtxVersion> version;
    for (std::string_view attribute : options.attributes) {
      std::optional<PtxVersion> v;
      if (attribute.starts_with("+ptx")) v = parsePtxVersion(attribute.substr(4));
      if (!v) {
        diags.report(DiagId::PtxUnknownAttribute, {}, {attribute});
        return std::nullopt;
      }
      version = v;
    }
    std::optional<PtxProfile> profile = PtxProfile::resolve(options.arch, version, diags);
    if (!profile) return std::nullopt;
    return emitPtx(module,
                   {.profile = *profile,
                    .lineInfo = options.lineInfo,
                    .tensorReplay = options.tensorReplay,
                    .tensorTupleBudget = static_cast<unsigned>(options.tensorTupleBudget),
                    .remarks = options.remarks},
                   diags);
  }
};

}  // namespace

bool PtxTargetInfo::isNative(const Operation& op) const {
  switch (op.form()) {
    case ir::Form::Encode:
    case ir::Form::Decode:
      if (const std::optional<PtxFeature> feature = ptx::conversionFeature(op)) {
        return profile_.has(*feature);
      }
      return false;
    case ir::Form::AsyncCopy:
    case ir::Form::AsyncCommit:
    case ir::Form::AsyncWait:
      return profile_.has(PtxFeature::CpAsync);
    case ir::Form::Transfer:
      return profile_.has(PtxFeature::TensorCopy) && ptx::isTensorCopy(op);
    default:
      break;
  }
  if (!op.info().has(ir::OpTrait::Math)) return true;
  if ((op.fastMath() & ir::kApprox) == 0 || op.resultType() == ir::kF64) return false;
  return op.opcode() != Opcode::Tanh || profile_.has(PtxFeature::TanhApprox);
}

std::optional<TensorForm> PtxTargetInfo::tensorForm(const ir::MmaDesc& desc,
                                                    const TensorUse& use) const {
  const ptx::TensorFormRow* row = ptx::findTensorForm(profile_, desc, use);
  if (row == nullptr) return std::nullopt;
  return ptx::describe(*row);
}

std::string PtxTargetInfo::tensorNeeds(const ir::MmaDesc& desc) const {
  return ptx::tensorFormNeeds(desc);
}

std::optional<std::string> emitPtx(ir::Module& module, const PtxOptions& options,
                                   DiagnosticEngine& diags) {
  ModuleEmitter::Comments comments;
  if (hasTensors(module)) {
    const PtxTargetInfo target(options.profile);
    std::vector<transforms::TensorDecision> decisions;
    if (!transforms::tensorLegalize(
            module, target, {options.tensorReplay, options.tensorTupleBudget, options.remarks},
            diags, decisions)) {
      return std::nullopt;
    }
    for (const transforms::TensorDecision& decision : decisions) {
      comments[decision.function].push_back(toString(decision));
    }
  }
  return ModuleEmitter(module, options, comments, diags).run();
}

void registerPtxTarget() {
  static const PtxTarget target;
  registerTarget(&target);
}

}  // namespace mtlc
