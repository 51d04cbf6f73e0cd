#include "mtlc/transforms/remarks.h"

#include "absl/strings/str_cat.h"
#include "mtlc/transforms/pass.h"

namespace mtlc::transforms {
namespace {

constexpr RemarkRow kRemarks[] = {
#define REMARK(Id, Pass, kind, message) {#Id, PassId::Pass, {}, RemarkKind::kind, message},
#define BACK_END_REMARK(Id, backEnd, kind, message) \
  {#Id, PassId{}, backEnd, RemarkKind::kind, message},
#include "mtlc/transforms/remarks.def"
};

constexpr std::string_view kKindNames[] = {"applied", "missed", "analysis"};

std::string_view originOf(const RemarkRow& row) {
  return row.backEnd.empty() ? passRow(row.pass).name : row.backEnd;
}

}  // namespace

const RemarkRow& remarkRow(RemarkId id) { return kRemarks[static_cast<size_t>(id)]; }

void RemarkLog::add(RemarkId id, std::string_view function, SourceLoc at, DiagArgs args) {
  std::string_view pattern = remarkRow(id).message;
  std::string message;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] >= '0' &&
        static_cast<size_t>(pattern[i + 1] - '0') < args.size()) {
      message += args.begin()[pattern[++i] - '0'].text();
    } else {
      message += pattern[i];
    }
  }
  std::string key = absl::StrCat(static_cast<int>(id), ":", at.file(), ":", at.line(), ":",
                                 at.column(), ":", message, ":");
  key += function;
  if (!seen_.insert(std::move(key)).second) return;
  remarks_.push_back({id, at, std::string(function), std::move(message)});
}

std::string renderHuman(const RemarkLog& log, const SourceManager& sources) {
  std::string out;
  for (const Remark& r : log.all()) {
    const RemarkRow& row = remarkRow(r.id);
    if (r.loc.valid()) {
      out += sources.name(r.loc.file());
      absl::StrAppend(&out, ":", r.loc.line(), ":", r.loc.column(), ": ");
    }
    out += row.kind == RemarkKind::applied ? "remark" : kKindNames[static_cast<size_t>(row.kind)];
    out += ": [";
    out += originOf(row);
    absl::StrAppend(&out, "] ", r.message, " (in '", r.function, "')\n");
  }
  return out;
}

std::string renderJson(const RemarkLog& log, const SourceManager& sources) {
  std::string out;
  for (const Remark& r : log.all()) {
    const RemarkRow& row = remarkRow(r.id);
    out += "{\"kind\":";
    out += jsonQuote(kKindNames[static_cast<size_t>(row.kind)]);
    out += ",\"pass\":";
    out += jsonQuote(originOf(row));
    out += ",\"id\":";
    out += jsonQuote(row.name);
    out += ",\"file\":";
    out += jsonQuote(r.loc.valid() ? sources.name(r.loc.file()) : std::string_view());
    absl::StrAppend(&out, ",\"line\":", r.loc.line(), ",\"column\":", r.loc.column(),
                    ",\"function\":", jsonQuote(r.function), ",\"message\":", jsonQuote(r.message),
                    "}\n");
  }
  return out;
}

}  // namespace mtlc::transforms
