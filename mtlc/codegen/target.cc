#include "mtlc/codegen/target.h"

#include <algorithm>

#include "mtlc/support/suggest.h"

namespace mtlc {

namespace {

std::vector<const Target*>& registry() {
  static std::vector<const Target*> targets;
  return targets;
}

}  // namespace

void registerTarget(const Target* target) {
  std::vector<const Target*>& targets = registry();
  if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
}

std::span<const Target* const> registeredTargets() { return registry(); }

const Target* findTarget(std::string_view arch, DiagnosticEngine& diags) {
  for (const Target* target : registry()) {
    if (target->accepts(arch)) return target;
  }
  std::vector<std::string> names;
  for (const Target* target : registry()) {
    for (TargetListRow& row : target->architectures()) names.push_back(std::move(row.name));
  }
  std::vector<std::string_view> views(names.begin(), names.end());
  std::string_view near = nearestSpelling(arch, views);
  std::string hint = near.empty() ? "--list-targets shows the known ones"
                                  : "did you mean '" + std::string(near) + "'?";
  diags.report(DiagId::UnknownTarget, {}, {arch, hint});
  return nullptr;
}

}  // namespace mtlc
