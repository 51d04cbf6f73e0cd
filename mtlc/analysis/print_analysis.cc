#include "mtlc/analysis/print_analysis.h"

#include "absl/strings/str_cat.h"
#include "mtlc/analysis/async_groups.h"
#include "mtlc/analysis/call_graph.h"
#include "mtlc/analysis/cfg.h"
#include "mtlc/analysis/loops.h"
#include "mtlc/analysis/memory_effects.h"
#include "mtlc/analysis/postdominance.h"
#include "mtlc/analysis/provenance.h"
#include "mtlc/analysis/tiles.h"
#include "mtlc/analysis/uniformity.h"

namespace mtlc::analysis {
namespace {

template <std::string (*print)(const ir::Function&)>
std::string perFunction(const ir::Module& module) {
  std::string out;
  for (const ir::Function& f : module.functions()) {
    if (f.isDeclaration()) continue;
    absl::StrAppend(&out, f.isKernel() ? "kernel @" : "func @", std::string(f.name()), "\n",
                    print(f));
  }
  return out;
}

constexpr AnalysisInfo kInfos[] = {
#define ANALYSIS(name, printer, description) {name, description},
#include "mtlc/analysis/analyses.def"
};
constexpr std::string (*kPrinters[])(const ir::Module&) = {
#define ANALYSIS(name, printer, description) printer,
#include "mtlc/analysis/analyses.def"
};

}  // namespace

std::span<const AnalysisInfo> analyses() { return kInfos; }

std::optional<std::string> printAnalysis(std::string_view name, const ir::Module& module) {
  for (size_t i = 0; i < std::size(kInfos); ++i) {
    if (kInfos[i].name == name) return kPrinters[i](module);
  }
  return std::nullopt;
}

}  // namespace mtlc::analysis
