#include "mtlc/analysis/device_verifier.h"

#include <span>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/async_groups.h"
#include "mtlc/analysis/tiles.h"
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
    case ir::Form::AtomicLoad:
    case ir::Form::AtomicRmw:
    case ir::Form::AtomicCas:
      return absl::StrFormat("%s may give each work-item another value", op.info().mnemonic);
    case ir::Form::SubgroupLane:
    case ir::Form::SubgroupReduce:
    case ir::Form::SubgroupBallot:
    case ir::Form::SubgroupVote:
      if (op.opcode() != ir::Opcode::SubgroupShuffle &&
          op.opcode() != ir::Opcode::SubgroupScanInclusive &&
          op.opcode() != ir::Opcode::SubgroupScanExclusive) {
        return absl::StrFormat("%s gives each subgroup its own value", op.info().mnemonic);
      }
      [[fallthrough]];
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
      checkHostOperations(f);
      checkUniformOperands(f);
      checkTiles(f);
    }
    checkAsyncGroups();
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

  void checkHostOperations(uint32_t f) {  // D07
    for (const ir::Block& block : calls_.function(f)->blocks()) {
      for (const ir::Operation& op : block.ops()) {
        std::string_view hint;
        if (op.form() == ir::Form::Launch) {
          hint = "launch from the host; a kernel cannot start another";
        } else if (op.form() == ir::Form::CallIndirect || op.form() == ir::Form::FuncAddr) {
          hint = "call the function by its name: device code has no function pointers";
        } else {
          continue;
        }
        Diagnostic& d = diags_.report(DiagId::DeviceD07, op.loc(),
                                      {op.info().mnemonic, at(calls_.function(f)), hint});
        noteChain(d, f);
      }
    }
  }

  // Operands that all work-items of a scope have to agree on.
  void checkUniformOperands(uint32_t f) {  // D08
    const ir::Function* function = calls_.function(f);
    if (calls_.recursive(f) || !uniformity_.analyzed(function)) return;
    for (const ir::Block& block : function->blocks()) {
      for (const ir::Operation& op : block.ops()) {
        if (op.opcode() == ir::Opcode::SubgroupBroadcast) {
          checkUniform(op, op.operand(1), "the lane", Rank::Subgroup);
        } else if (op.form() == ir::Form::Mma || op.form() == ir::Form::Epilogue ||
                   op.form() == ir::Form::Transfer) {
          const Rank allowed =
              op.convergence() == ir::Convergence::Workgroup ? Rank::Workgroup : Rank::Subgroup;
          const ir::SlotSet slots = op.tensor().slots;
          for (int s = 0; s < ir::kSlotCount; ++s) {
            const ir::Slot slot = static_cast<ir::Slot>(s);
            if (slots.has(slot) && ir::slotClass(slot) != ir::SlotClass::Tile) {
              checkUniform(op, op.slot(slot), ir::slotName(slot), allowed);
            }
          }
        }
      }
    }
  }

  void checkUniform(const ir::Operation& op, const ir::Value* value, std::string_view what,
                    Rank allowed) {
    if (uniformity_.rank(value) <= allowed) return;
    Diagnostic& d =
        diags_.report(DiagId::DeviceD08, op.loc(),
                      {what, absl::StrFormat("%s in %s", op.info().mnemonic, at(op.function())),
                       allowed == Rank::Workgroup ? "workgroup" : "subgroup"});
    noteReasons(d, uniformity_.explainValue(value, allowed));
  }

  void checkAsyncGroups() {  // D09
    const AsyncGroups groups(calls_);
    for (const AsyncProblem& p : groups.problems()) {
      std::string what;
      std::string_view hint;
      switch (p.kind) {
        case AsyncProblem::Kind::TooMany:
          what = absl::StrFormat(
              "this commit makes a group of copies more than the %d that may be "
              "pending; before it there are %s",
              kMaxPendingGroups, p.states.print());
          hint = "wait for older groups with async.wait first";
          break;
        case AsyncProblem::Kind::AtExit:
          what = absl::StrFormat("the kernel ends with %s", p.states.print());
          hint = "commit what was copied and end with async.wait 0 on every path";
          break;
        case AsyncProblem::Kind::LoopHead:
          what = absl::StrFormat(
              "one round of this loop changes the groups in flight: %s on entry, "
              "%s after it",
              p.entry.print(), p.states.print());
          hint =
              "wait in each round for as many groups as it commits, or give the loop a constant "
              "trip count";
          break;
      }
      Diagnostic& d = diags_.report(DiagId::DeviceD09, p.op->loc(), {what, hint});
      if (p.cause) {
        d.note(p.cause->loc(), absl::StrFormat("%s is here", p.cause->info().mnemonic));
      }
      noteChain(d, calls_.index(p.op->function()));
    }
  }

  void checkTiles(uint32_t f) {  // D10
    const Tiles tiles(*calls_.function(f));
    for (const TileProblem& p : tiles.problems()) {
      const ir::Operation* made = p.tile->def();
      const SourceLoc madeAt = made ? made->loc() : p.tile->argBlock()->loc();
      const std::string name =
          p.tile->name().empty() ? "the tile" : absl::StrFormat("tile %%%s", p.tile->name());
      std::string what, note;
      std::string_view hint;
      SourceLoc noteAt = madeAt;
      switch (p.kind) {
        case TileProblem::Kind::NotConsumed:
          what = absl::StrFormat("%s is not committed on every path", name);
          hint = "commit it, or hand it to the next block, on every way from here";
          note = "it is made here";
          break;
        case TileProblem::Kind::Twice:
          what = absl::StrFormat("%s is consumed a second time", name);
          hint = "use the tile that the first operation gives";
          note = p.other == p.op ? "it is made here, outside of the loop"
                 : p.other       ? "it is consumed here"
                                 : "it is made here, and consumed on the way";
          if (p.other && p.other != p.op) noteAt = p.other->loc();
          break;
        case TileProblem::Kind::HomesDiffer:
          what = absl::StrFormat("%s may have different homes", name);
          hint = "begin all tiles that meet here with the same pointer, stride and layout";
          note = "one home is named here";
          noteAt = p.other->loc();
          break;
        case TileProblem::Kind::TooFar:
          what = absl::StrFormat(
              "%s, with the others of this function, is held through more blocks than can be "
              "followed",
              name);
          hint = "commit tiles sooner, or hold fewer at a time";
          note = "it is made here";
          break;
        case TileProblem::Kind::HomeTouched:
          what = absl::StrFormat("%s accesses the home of %s while the tile is held",
                                 p.op->info().mnemonic, name);
          hint = "commit the tile first, or move the access before tensor.acc.begin";
          note = "the home is named here";
          noteAt = p.other->loc();
          break;
      }
      Diagnostic& d = diags_.report(DiagId::DeviceD10, p.op ? p.op->loc() : madeAt, {what, hint});
      d.note(noteAt, std::move(note));
      noteChain(d, f);
    }
  }

  void reportCollective(const ir::Operation& op, const ir::Block& block, Rank allowed) {
    Diagnostic& d =
        diags_.report(DiagId::DeviceD06, op.loc(),
                      {absl::StrFormat("%s in %s", op.info().mnemonic, at(block.function())),
                       allowed == Rank::Workgroup ? "workgroup" : "subgroup"});
    noteReasons(d, uniformity_.explainControl(&block, allowed));
  }

  static void noteReasons(Diagnostic& d, const std::vector<ReasonStep>& steps) {
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
