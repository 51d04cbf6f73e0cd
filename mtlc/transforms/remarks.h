// Remarks: what a pass did, or did not do and why, at a place of the source.

#ifndef MTLC_TRANSFORMS_REMARKS_H_
#define MTLC_TRANSFORMS_REMARKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::transforms {

enum class PassId : uint8_t {
#define PASS(Id, name, level, description) Id,
#include "mtlc/transforms/passes.def"
};
inline constexpr int kPassCount = 0
#define PASS(Id, name, level, description) +1
#include "mtlc/transforms/passes.def"
    ;

enum class RemarkKind : uint8_t { applied, missed, analysis };

enum class RemarkId : uint8_t {
#define REMARK(Id, Pass, kind, message) Id,
#include "mtlc/transforms/remarks.def"
};
inline constexpr int kRemarkCount = 0
#define REMARK(Id, Pass, kind, message) +1
#include "mtlc/transforms/remarks.def"
    ;

struct RemarkRow {
  std::string_view name;     // "SlotPromoted"; JSON shows it as "id".
  PassId pass;               // Meaningless with a back end.
  std::string_view backEnd;  // "spirv"; empty for remarks of passes.
  RemarkKind kind;
  std::string_view message;
};
const RemarkRow& remarkRow(RemarkId id);

struct Remark {
  RemarkId id;
  SourceLoc loc;
  std::string function;
  std::string message;  // Arguments filled in.
};

class RemarkLog {
 public:
  // A remark equal to an earlier one (a pass that runs twice) is not kept.
  void add(RemarkId id, std::string_view function, SourceLoc at, DiagArgs args);
  const std::vector<Remark>& all() const { return remarks_; }

 private:
  std::vector<Remark> remarks_;
  absl::flat_hash_set<std::string> seen_;
};

// `FILE:LINE:COL: remark: [promote] 'x' is kept in registers (in 'kernel')`, one a line; with
// `missed` or `analysis` in the place of `remark` for those kinds.
std::string renderHuman(const RemarkLog& log, const SourceManager& sources);
// One JSON object a line: {"kind","pass","id","file","line","column","function","message"}.
std::string renderJson(const RemarkLog& log, const SourceManager& sources);

}  // namespace mtlc::transforms

#endif  // MTLC_TRANSFORMS_REMARKS_H_
