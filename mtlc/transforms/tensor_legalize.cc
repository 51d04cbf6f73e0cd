#include "mtlc/transforms/tensor_legalize.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "mtlc/analysis/tile_regions.h"
#include "mtlc/ir/builder.h"
#include "mtlc/support/element_format.h"
#include "mtlc/transforms/pass.h"
#include "mtlc/transforms/tensor_legalize_memory.h"
#include "mtlc/transforms/tensor_native.h"
#include "mtlc/transforms/tensor_regions.h"
#include "mtlc/transforms/tensor_replay.h"

namespace mtlc::transforms {

using ir::Opcode;
using ir::Operation;
using ir::Slot;
using ir::Value;

std::string_view toString(TensorRegionKind kind) {
  constexpr std::string_view kNames[] = {"tensor_mma",      "tensor_chain",  "tensor_loop",
                                         "tensor_pipeline", "tensor_matmul", "tensor_epilogue"};
  return kNames[static_cast<size_t>(kind)];
}

std::string toString(const TensorDecision& d) {
  return absl::StrFormat("mtlc.%s %s tiles=%d tuple_peak=%d budget=%d", toString(d.kind),
                         d.resident ? "resident" : "replay", d.tiles, d.tuplePeak, d.budget);
}

namespace {

bool isProduct(const Operation& op) {
  return op.opcode() == Opcode::TensorMma || op.opcode() == Opcode::TensorMatmul ||
         op.opcode() == Opcode::TensorAccMma;
}

bool onTiles(const Operation& op) {
  switch (op.opcode()) {
    case Opcode::TensorAccBegin:
    case Opcode::TensorAccMma:
    case Opcode::TensorAccEpilogue:
    case Opcode::TensorAccCommit:
      return true;
    default:
      return false;
  }
}

// "f16 x f16 -> f32 (f16), m16n8k16, sparse 2:4"
std::string describe(const ir::MmaDesc& d) {
  std::string text = absl::StrFormat("%s x %s -> %s, m%dn%dk%d", elementInfo(d.a).name,
                                     elementInfo(d.b).name, elementInfo(d.acc).name, d.m, d.n, d.k);
  if (d.result != d.acc) absl::StrAppendFormat(&text, ", result %s", elementInfo(d.result).name);
  if (d.math != ir::TensorMath::MultiplyAdd) {
    absl::StrAppendFormat(&text, ", %s", ir::enumName(d.math));
  }
  if (d.sparsity != ir::Sparsity::Dense) {
    absl::StrAppendFormat(&text, ", %s", ir::enumName(d.sparsity));
  }
  auto scale = [&](std::string_view side, ir::ScaleMode mode, ElementFormat format) {
    if (mode == ir::ScaleMode::None) return;
    absl::StrAppendFormat(&text, ", %s %s for %s", ir::enumName(mode), elementInfo(format).name,
                          side);
  };
  scale("a", d.aScale, d.aScaleFormat);
  scale("b", d.bScale, d.bScaleFormat);
  if (d.rounding != ir::Rounding::Default) {
    absl::StrAppendFormat(&text, ", rounding %s", ir::enumName(d.rounding));
  }
  if (d.overflow != ir::Overflow::Wrap) {
    absl::StrAppendFormat(&text, ", %s", ir::enumName(d.overflow));
  }
  return text;
}

class Legalizer {
 public:
  Legalizer(ir::Module& module, const TargetInfo& target, const TensorLegalizeOptions& options,
            DiagnosticEngine& diags, std::vector<TensorDecision>& decisions)
      : module_(module),
        target_(target),
        options_(options),
        diags_(diags),
        decisions_(decisions),
        budget_(options.tupleBudget ? options.tupleBudget : target.tensorTupleBudget()) {}

  bool run() {
    bool ok = true;
    for (ir::Function& f : module_.functions()) ok &= allAllowed(f);
    if (!ok) return false;
    for (ir::Function& f : module_.functions()) {
      legalize(f);
      legalizeTransfer(f, target_);
      legalizeAsync(f, target_);
    }
    return true;
  }

 private:
  // What the target has for a product.
  std::optional<TensorForm> formOf(ir::MmaDesc desc, TensorUse use) const {
    desc.scope = ir::Scope::Subgroup;  // The subgroups of a workgroup share out tiles.
    std::optional<TensorForm> form = target_.tensorForm(desc, use);
    if (form && (form->m == 0 || form->n == 0 || form->k == 0)) form.reset();
    if (form && use.narrow && !form->coordinatesKnown) form.reset();
    return form;
  }
  static TensorUse useOf(const Operation& op) {
    auto inWorkgroup = [&](Slot slot) {
      return op.slot(slot)->type().space() == ir::Space::Workgroup;
    };
    return {inWorkgroup(Slot::A) && inWorkgroup(Slot::B), false, isNarrow(op.mmaDesc())};
  }

  bool allAllowed(ir::Function& f) {
    bool ok = true;
    if (hasNarrowHome(f)) {
      const analysis::TileRegions regions(f);
      for (const analysis::TileRegion& region : regions.regions()) {
        uint32_t peak = 0;
        const std::string why = region.narrow ? obstacle(region, &peak) : std::string();
        if (why.empty()) continue;
        const ir::MmaDesc& home = narrowBegin(region)->mmaDesc();
        diags_.report(DiagId::TensorNarrowHome, narrowBegin(region)->loc(),
                      {elementInfo(home.acc).name, elementInfo(home.result).name, why});
        ok = false;
      }
    }
    if (options_.replay) return ok;
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) {
        if (!isProduct(op) || formOf(op.mmaDesc(), useOf(op))) continue;
        const ir::MmaDesc& desc = op.mmaDesc();
        std::string needs = target_.tensorNeeds(desc);
        ir::MmaDesc wide = desc;
        wide.result = desc.acc;
        if (isNarrow(desc) && formOf(wide, {useOf(op).operandsInWorkgroup})) {
          needs = "result=" + std::string(elementInfo(desc.acc).name);
        }
        diags_.report(DiagId::TensorNoForm, op.loc(),
                      {op.info().mnemonic, describe(desc), target_.name(),
                       needs.empty() ? "" : needs + ", or "});
        ok = false;
      }
    }
    return ok;
  }

  static bool beginsNarrow(const Operation& op) {
    return op.opcode() == Opcode::TensorAccBegin && isNarrow(op.mmaDesc());
  }
  static bool hasNarrowHome(ir::Function& f) {
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) {
        if (beginsNarrow(op)) return true;
      }
    }
    return false;
  }
  static const Operation* narrowBegin(const analysis::TileRegion& region) {
    return *std::find_if(region.ops.begin(), region.ops.end(),
                         [](const Operation* op) { return beginsNarrow(*op); });
  }

  void legalize(ir::Function& f) {
    if (f.isDeclaration()) return;
    Homes homes;
    const analysis::TileRegions regions(f);
    uint32_t position = 0;
    for (ir::Block& block : f.blocks()) {
      for (Operation& op : block.ops()) op.scratch = position++;
    }
    absl::flat_hash_set<const Operation*> resident;
    for (const analysis::TileRegion& region : regions.regions()) {
      if (decide(f, region)) {
        resident.insert(region.ops.begin(), region.ops.end());
      } else {
        homes.add(region);
      }
    }
    homes.connect();
    std::vector<ir::Block*> blocks;
    for (ir::Block& block : f.blocks()) blocks.push_back(&block);
    Emitter e(f);
    // Replaying splits a block and moves what follows. From the end, each piece moves once.
    for (ir::Block* block : blocks) {
      Operation* next = nullptr;
      for (Operation* op = block->back(); op; op = next) {
        next = op->prev();
        if (onTiles(*op)) {
          if (!resident.contains(op)) onHome(e, homes, *op);
        } else if (expand(e, *op)) {
          op->erase();
        }
      }
    }
    homes.erase();
    publishDecisions();
  }

  // True if the tile can stay in registers.
  bool decide(const ir::Function& f, const analysis::TileRegion& region) {
    TensorDecision d;
    d.function = &f;
    d.loc = region.ops.front()->loc();
    d.kind = region.inLoop   ? TensorRegionKind::Loop
             : region.staged ? TensorRegionKind::Pipeline
                             : TensorRegionKind::Chain;
    d.tiles = region.products;
    d.budget = budget_;
    d.why = obstacle(region, &d.tuplePeak);
    d.resident = d.why.empty();
    const bool resident = d.resident;
    made_.push_back({region.ops.front()->scratch, std::move(d)});
    return resident;
  }

  std::string obstacle(const analysis::TileRegion& region, uint32_t* peak) const {
    if (region.products == 0) return "it has no product";
    std::optional<TensorForm> common;
    for (const Operation* op : region.ops) {
      if (op->opcode() != Opcode::TensorAccMma) continue;
      const ir::MmaDesc& desc = op->mmaDesc();
      if (desc.scope != ir::Scope::Subgroup) return "it belongs to a workgroup";
      const std::optional<TensorForm> form =
          formOf(desc, {region.operandsInWorkgroup, region.biased, region.narrow});
      if (!form) return "no form for " + describe(desc);
      if (region.biased && !form->coordinatesKnown) {
        return "a bias needs a form whose elements have known places";
      }
      if (desc.m % form->m != 0 || desc.n % form->n != 0 || desc.k % form->k != 0) {
        return absl::StrFormat("m%dn%dk%d is no multiple of the form m%dn%dk%d", desc.m, desc.n,
                               desc.k, form->m, form->n, form->k);
      }
      // They are written out one by one.
      constexpr uint32_t kMaxSteps = 64;
      if (desc.k / form->k > kMaxSteps) {
        return absl::StrFormat("%d terms take more than %d native steps", desc.k, kMaxSteps);
      }
      if (desc.overflow == ir::Overflow::Saturate && desc.k != form->k) {
        return "saturation is at the end of a sum, and this takes several native steps";
      }
      if (!common) {
        common = form;
      } else if (common->accumulatorLayout != form->accumulatorLayout || common->m != form->m ||
                 common->n != form->n) {
        return "its products have accumulators of different layouts";
      }
      common->aRegisters = std::max(common->aRegisters, form->aRegisters);
      common->bRegisters = std::max(common->bRegisters, form->bRegisters);
      *peak = std::max(*peak, tuplePeak(*common, desc.m / form->m * (desc.n / form->n)));
    }
    if (*peak > budget_) return absl::StrFormat("%d registers exceed the budget", *peak);
    return {};
  }

  // Of one function, in program order.
  void publishDecisions() {
    std::stable_sort(made_.begin(), made_.end(),
                     [](const Made& x, const Made& y) { return x.position < y.position; });
    for (Made& made : made_) {
      TensorDecision& d = made.decision;
      if (options_.remarks) {
        const std::string numbers =
            absl::StrFormat("%d of %d registers, %d products", d.tuplePeak, d.budget, d.tiles);
        options_.remarks->add(d.resident ? RemarkId::TensorResident : RemarkId::TensorReplayed,
                              d.function->name(), d.loc,
                              {toString(d.kind), d.resident ? numbers : d.why});
      }
      decisions_.push_back(std::move(d));
    }
    made_.clear();
  }

  // The product natively as far as possible, and otherwise as scalar code.
  void multiply(Emitter& e, const Operation& op, Product& p, TensorRegionKind kind) {
    TensorDecision d;
    d.function = op.function();
    d.loc = op.loc();
    d.kind = kind;
    d.tiles = 1;
    d.budget = budget_;
    std::optional<NativePlan> plan;
    const bool isMatmul = op.opcode() == Opcode::TensorMatmul;
    if (const std::optional<TensorForm> form = formOf(op.mmaDesc(), useOf(op))) {
      plan = planNative(p.desc, isMatmul, *form, budget_, &d.why);
      d.tuplePeak = plan ? plan->peak : tuplePeak(*form, 1);
    } else {
      d.why = "no form for " + describe(op.mmaDesc());
    }
    d.resident = plan.has_value();
    if (plan) {
      nativeProduct(e, p, *plan, isMatmul);
    } else {
      replayProduct(e, p);
    }
    made_.push_back({op.scratch, std::move(d)});
  }

  bool expand(Emitter& e, Operation& op) {
    switch (op.opcode()) {
      case Opcode::TensorMma:
      case Opcode::TensorMatmul: {
        e.begin(&op);
        Product p = productOf(e, op);
        multiply(
            e, op, p,
            op.opcode() == Opcode::TensorMma ? TensorRegionKind::Mma : TensorRegionKind::Matmul);
        e.finish();
        return true;
      }
      case Opcode::TensorEpilogue: {
        e.begin(&op);
        replayEpilogue(e, epilogueOf(e, op));
        e.finish();
        TensorDecision d;
        d.function = op.function();
        d.loc = op.loc();
        d.kind = TensorRegionKind::Epilogue;
        d.budget = budget_;
        d.why = "it does not follow a product in a tile";
        made_.push_back({op.scratch, std::move(d)});
        return true;
      }
      default:
        return false;
    }
  }

  // An operation of a region that is not resident.
  void onHome(Emitter& e, Homes& homes, Operation& op) {
    if (op.opcode() == Opcode::TensorAccCommit) return;
    if (op.opcode() == Opcode::TensorAccBegin) {
      if (homeIsC(op)) return;
      e.begin(&op);
      replayCopy(e, productOf(e, op));
      e.finish();
      return;
    }
    const Home home = homes.of(op.slot(Slot::Tile));
    e.begin(&op);
    const Index leading = home.leadingIndex(e);
    if (op.opcode() == Opcode::TensorAccMma) {
      Product p = productOf(e, op, home.pointer, home.layout, leading);
      multiply(e, op, p, TensorRegionKind::Mma);
    } else {
      replayEpilogue(e, epilogueOf(e, op, home.pointer, home.layout, leading));
    }
    e.finish();
  }

  static bool homeIsC(const Operation& begin) {
    const ir::MmaDesc& d = begin.mmaDesc();
    return begin.slot(Slot::C) == begin.slot(Slot::D) && d.cLayout == d.dLayout && d.ldc == d.ldd &&
           begin.slot(Slot::Ldc) == begin.slot(Slot::Ldd);
  }

  ir::Module& module_;
  const TargetInfo& target_;
  const TensorLegalizeOptions& options_;
  DiagnosticEngine& diags_;
  std::vector<TensorDecision>& decisions_;
  // Decisions of the function at hand, with the positions of their operations.
  struct Made {
    uint32_t position;
    TensorDecision decision;
  };
  std::vector<Made> made_;
  const unsigned budget_;
};

}  // namespace

bool tensorLegalize(ir::Module& module, const TargetInfo& target,
                    const TensorLegalizeOptions& options, DiagnosticEngine& diags,
                    std::vector<TensorDecision>& decisions) {
  return Legalizer(module, target, options, diags, decisions).run();
}

namespace {

// The target of mtlc-opt: it has nothing, or one form for every product.
class SyntheticTarget : public TargetInfo {
 public:
  SyntheticTarget(const TensorForm& form, unsigned budget) : form_(form), budget_(budget) {}

  std::string_view name() const override { return "synthetic"; }
  bool isNative(const Operation&) const override { return false; }
  unsigned subgroupSize() const override { return 0; }
  std::optional<TensorForm> tensorForm(const ir::MmaDesc&, const TensorUse&) const override {
    return form_.m ? std::optional(form_) : std::nullopt;
  }
  std::string tensorNeeds(const ir::MmaDesc&) const override { return "form-m=16"; }
  unsigned tensorTupleBudget() const override { return budget_; }

 private:
  TensorForm form_;
  unsigned budget_;
};

}  // namespace

Change runTensorLegalize(ir::Module& unit, PassContext& context) {
  auto option = [&](OptionId id) { return static_cast<uint32_t>(context.option(id)); };
  TensorForm form;
  form.m = option(OptionId::TensorFormM);
  form.n = option(OptionId::TensorFormN);
  form.k = option(OptionId::TensorFormK);
  if (form.n == 0) form.n = form.m;
  if (form.k == 0) form.k = form.m;
  form.accRegisters = option(OptionId::TensorAccRegisters);
  form.aRegisters = option(OptionId::TensorARegisters);
  form.bRegisters = option(OptionId::TensorBRegisters);
  form.coordinatesKnown = option(OptionId::TensorCoordinates) != 0;
  const SyntheticTarget target(form, option(OptionId::TensorBudget));
  TensorLegalizeOptions options;
  options.replay = option(OptionId::TensorReplay) != 0;
  options.remarks = context.remarks();
  std::vector<TensorDecision> decisions;
  DiagnosticEngine unheard;
  tensorLegalize(unit, target, options, context.diags() ? *context.diags() : unheard, decisions);
  for (const TensorDecision& d : decisions) {
    context.count(d.resident ? Stat::TensorsNative : Stat::TensorsReplayed);
  }
  return Change::Cfg;
}

}  // namespace mtlc::transforms
