// The analyses by name, for tools.

#ifndef MTLC_ANALYSIS_PRINT_ANALYSIS_H_
#define MTLC_ANALYSIS_PRINT_ANALYSIS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mtlc/ir/ir.h"

namespace mtlc::analysis {

struct AnalysisInfo {
  std::string_view name;
  std::string_view description;
};
std::span<const AnalysisInfo> analyses();

// The result as a table; nothing for a name that analyses() doesn't have. Writes the scratch
// fields.
std::optional<std::string> printAnalysis(std::string_view name, const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_PRINT_ANALYSIS_H_
