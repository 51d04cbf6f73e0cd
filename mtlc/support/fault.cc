#include "mtlc/support/fault.h"

#include "absl/strings/str_format.h"

namespace mtlc {
namespace {

struct KindRow {
  FaultKind kind;
  std::string_view name;
};
constexpr KindRow kKinds[] = {
    {FaultKind::Mem, "mem"},   {FaultKind::Init, "init"},   {FaultKind::Race, "race"},
    {FaultKind::Sync, "sync"}, {FaultKind::Async, "async"}, {FaultKind::Steps, "steps"},
};

}  // namespace

std::string_view faultKindName(FaultKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "";
}

std::optional<CheckMask> parseCheckMask(std::string_view text) {
  if (text == "none") return kCheckNone;
  if (text == "all") return kCheckAll;
  CheckMask mask = kCheckNone;
  while (true) {
    size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    bool found = false;
    for (const KindRow& row : kKinds) {
      if (row.name != word || row.kind == FaultKind::Steps) continue;
      mask |= checkBit(row.kind);
      found = true;
    }
    if (!found) return std::nullopt;
    if (comma == std::string_view::npos) return mask;
    text.remove_prefix(comma + 1);
  }
}

Dim3 unflatten(uint64_t i, const Dim3& extent) {
  return {static_cast<uint32_t>(i % extent.x), static_cast<uint32_t>(i / extent.x % extent.y),
          static_cast<uint32_t>(i / extent.x / extent.y)};
}

std::string toString(const Dim3& d) { return absl::StrFormat("(%d,%d,%d)", d.x, d.y, d.z); }

std::string faultPlace(const Fault& fault) {
  return absl::StrFormat("kernel '%s', block %s, thread %s", fault.kernel, toString(fault.block),
                         toString(fault.thread));
}

void reportFault(const Fault& fault, DiagnosticEngine& diags) {
  auto arg = [&](size_t i) { return i < fault.args.size() ? fault.args[i] : std::string(); };
  Diagnostic& d = diags.report(fault.id, fault.loc,
                               {faultPlace(fault), arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)});
  d.message = absl::StrFormat("[%s] %s", faultKindName(fault.kind), d.message);
  for (const DiagNote& note : fault.notes) d.note(note.range, note.message);
}

std::string faultMessage(const Fault& fault) {
  DiagnosticEngine diags;
  reportFault(fault, diags);
  return diags.all().front().message;
}

}  // namespace mtlc
