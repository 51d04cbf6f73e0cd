#include "mtlc/analysis/device_verifier.h"

#include <span>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/uniformity.h"

namespace mtlc::analysis {
namespace {

constexpr size_t kMaxNotes = 16;

std::string at(const ir::Function* function) {
  return absl::StrCat(function->isKernel() ? "kernel @" : "@", std::string(function->name()));
}

std::string quoted(std::string_view name, std::string_view otherwise) {
  return std::string(name.empty() ? otherwise : absl::StrFormat("'%s'", name));
}

std::string describeSource(const ir::Operation& op) {
  switch (op.form()) {
    case ir::Form::GpuIndex:
      return absl::StrFormat("%s %c differs from one work-item to the next", op.info().mnemonic,
                             "xyz"[static_cast<int>(op.dim())]);
    case ir::Form::Load:
      return absl::StrFormat(
          "it is loaded from %s memory, where each work-item may see something else",
          ir::spaceName(op.operand(0)->type().space()));
    case ir::Form::Cast:
      return "the address of private memory may differ from one work-item to the next";
    default:
      return absl::StrFormat("%s gives each work-item its own value", op.info().mnemonic);
  }
}

// The sentence for one link of a reason chain; empty for links that say nothing to a reader.
// `effect` is the link before, or nullptr.
std::string describeStep(const ReasonStep& step, const ReasonStep* effect) {
  using Kind = ReasonStep::Kind;
  switch (step.kind) {
    case Kind::Branch:
      return effect && effect->kind == Kind::Branch
                 ? "that branch is itself reached under this one"
                 : "whether a work-item gets there depends on this branch";
    case Kind::Join:
      return "it depends on the way taken from this branch";
    case Kind::Assigned:
      return absl::StrFormat("%s gets its value here", quoted(step.name, "the variable"));
    case Kind::Array:
      return absl::StrFormat("%s is filled here", quoted(step.name, "the private array"));
    case Kind::Value:
      // Nameless intermediate results are noise.
      return step.name.empty() ? "" : absl::StrFormat("%%%s varies", step.name);
    case Kind::Parameter:
      return absl::StrFormat("parameter %s varies because of this call",
                             quoted(step.name, "of the function"));
    case Kind::CalledFrom:
      return absl::StrFormat("@%s is called here", step.name);
    case Kind::Result:
      return absl::StrFormat("@%s returns a varying value", step.op->callee()->name());
    case Kind::Source:
      return describeSource(*step.op);
  }
  return "";
}

class DeviceVerifier {
 public:
  DeviceVerifier(const ir::Module& module, DiagnosticEngine& diags)
      : module_(module),
        diags_(diags),
        uniformity_(module, Uniformity::Extent::Collectives),
        calls_(uniformity_.callGraph()) {}

  bool run() {
    const int before = diags_.errorCount();
    checkKernelExists();
    for (uint32_t f = 0; f < calls_.size(); ++f) {
      if (!calls_.reachableFromKernel(f)) continue;
      checkKernelParameters(f);
      checkRecursion(f);
      checkCalls(f);
      checkCollectives(f);
    }
    return diags_.errorCount() == before;
  }

 private:
  // The calls that lead from a kernel to a function, as notes.
  void noteChain(Diagnostic& d, uint32_t function) {
    const std::vector<ir::Operation*> chain = calls_.chainFromKernel(function);
    size_t shown = 0;
    for (size_t i = chain.size(); i-- > 0 && shown < kMaxNotes; ++shown) {
      d.note(chain[i]->loc(),
             absl::StrFormat("@%s is called here by %s", chain[i]->callee()->name(),
                             at(chain[i]->function())));
    }
  }

  void checkKernelExists() {  // D01
    for (const ir::Function& f : module_.functions()) {
      if (f.isKernel()) return;
    }
    SourceLoc start;
    for (const ir::Function& f : module_.functions()) {
      if (!start.valid() && f.loc().valid()) start = SourceLoc(f.loc().file(), 1, 1);
    }
    if (!start.valid() && module_.sources().fileCount() > 0) start = SourceLoc(1, 1, 1);
    diags_.report(DiagId::DeviceD01, start);
  }

  void checkRecursion(uint32_t f) {  // D02
    if (!calls_.recursive(f)) return;
    // One report for each cycle, at its first function in the module.
    if (!reportedCycles_.insert(calls_.component(f)).second) return;
    const std::vector<ir::Operation*> cycle = calls_.cycleThrough(f);
    std::string through;
    size_t named = 0;
    for (size_t i = 1; i < cycle.size() && named < kMaxNotes; ++i, ++named) {
      absl::StrAppend(&through, through.empty() ? " through @" : ", @",
                      std::string(cycle[i]->function()->name()));
    }
    Diagnostic& d =
        diags_.report(DiagId::DeviceD02, cycle[0]->loc(), {calls_.function(f)->name(), through});
    for (size_t i = 1; i < cycle.size() && i < kMaxNotes; ++i) {
      d.note(cycle[i]->loc(), absl::StrFormat("@%s calls @%s here", cycle[i]->function()->name(),
                                              cycle[i]->callee()->name()));
    }
    noteChain(d, f);
  }

  void checkCalls(uint32_t f) {  // D03, D04
    for (const ir::Operation* call : calls_.callsIn(f)) {
      const ir::Function* callee = call->callee();
      if (callee->isKernel()) {
        Diagnostic& d = diags_.report(DiagId::DeviceD04, call->loc(), {callee->name()});
        d.note(callee->loc(), "the kernel is defined here");
        noteChain(d, f);
      } else if (callee->isDeclaration()) {
        Diagnostic& d = diags_.report(DiagId::DeviceD03, call->loc(), {callee->name()});
        d.note(callee->loc(), "it is declared here");
        noteChain(d, f);
      }
    }
  }

  void checkKernelParameters(uint32_t f) {  // D05
    const ir::Function* kernel = calls_.function(f);
    if (!kernel->isKernel()) return;
    for (unsigned i = 0; i < kernel->paramCount(); ++i) {
      const ir::Type type = kernel->paramTypes()[i];
      if (!type.isPtr() || type.space() != ir::Space::Workgroup) continue;
      const std::string_view name =
          kernel->isDeclaration() ? std::string_view() : kernel->param(i)->name();
      diags_.report(DiagId::DeviceD05, kernel->loc(),
                    {quoted(name, absl::StrCat(i)), kernel->name()});
    }
  }

  void checkCollectives(uint32_t f) {  // D06
    const ir::Function* function = calls_.function(f);
    if (calls_.recursive(f)) return;              // D02; its control isn't known.
    if (!uniformity_.analyzed(function)) return;  // It has none.
    for (const ir::Block& block : function->blocks()) {
      const Rank control = uniformity_.controlRank(&block);
      if (control == Rank::Workgroup) continue;
      for (const ir::Operation& op : block.ops()) {
        if (op.convergence() == ir::Convergence::None) continue;
        const Rank allowed =
            op.convergence() == ir::Convergence::Subgroup ? Rank::Subgroup : Rank::Workgroup;
        if (control > allowed) reportCollective(op, block, allowed);
      }
    }
  }

  void reportCollective(const ir::Operation& op, const ir::Block& block, Rank allowed) {
    Diagnostic& d =
        diags_.report(DiagId::DeviceD06, op.loc(),
                      {absl::StrFormat("%s in %s", op.info().mnemonic, at(block.function())),
                       allowed == Rank::Workgroup ? "workgroup" : "subgroup"});
    const std::vector<ReasonStep> steps = uniformity_.explainControl(&block, allowed);
    const ReasonStep* effect = nullptr;
    size_t notes = 0;
    for (const ReasonStep& step : steps) {
      std::string text = describeStep(step, effect);
      effect = &step;
      if (text.empty()) continue;
      if (++notes > kMaxNotes && &step != &steps.back()) continue;
      d.note(step.loc, std::move(text));
    }
  }

  const ir::Module& module_;
  DiagnosticEngine& diags_;
  const Uniformity uniformity_;
  const CallGraph& calls_;
  absl::flat_hash_set<uint32_t> reportedCycles_;
};

}  // namespace

bool verifyForDevice(const ir::Module& module, DiagnosticEngine& diags) {
  return DeviceVerifier(module, diags).run();
}

}  // namespace mtlc::analysis
