// Targets by name: what the tools know about code generators. docs/add-a-target.md shows how to add
// one.
//
// A target is one code generator ("ptx") with the architectures that it makes code for ("sm_121a").

#ifndef MTLC_CODEGEN_TARGET_H_
#define MTLC_CODEGEN_TARGET_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc {

namespace transforms {
class RemarkLog;
}

// A row of --list-targets or --list-features.
struct TargetListRow {
  std::string name;
  std::string description;
};

enum class FileType : uint8_t {
  Default,  // Text where the target's artefact is text.
  Asm,      // Text.
  Object,   // What a driver loads.
};

struct TargetOptions {
  std::string arch;                     // One that Target::accepts().
  std::vector<std::string> attributes;  // As -mattr= gives them: "+ptx88".
  FileType fileType = FileType::Default;
  bool lineInfo = false;                     // -g
  bool tensorReplay = false;                 // --tensor-fallback=replay
  int64_t tensorTupleBudget = 0;             // --tensor-tuple-budget; 0: the architecture's.
  transforms::RemarkLog* remarks = nullptr;  // Where the code generator tells its decisions.
};

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string_view name() const = 0;         // "ptx"
  virtual std::string_view description() const = 0;  // For --list-targets, half a line.

  // True if `arch` is spelled like an architecture of this target; emit() may still refuse it, with
  // a diagnostic.
  virtual bool accepts(std::string_view arch) const = 0;
  virtual std::vector<TargetListRow> architectures() const = 0;
  virtual std::vector<TargetListRow> features() const = 0;
  // Which architecture has which feature, as lines of columns; empty if they all have the same.
  virtual std::string featureTable() const { return {}; }

  // The artefact's text or bytes; nullopt after reporting why not. `module` has passed the whole
  // verifier. It may be changed by the legalising passes that the target documents, and stays valid
  // and of the same meaning.
  virtual std::optional<std::string> emit(ir::Module& module, const TargetOptions& options,
                                          DiagnosticEngine& diags) const = 0;
};

// Adds a target to the registry; `target` must live for ever. Adding one twice has no effect. Call
// it before the first look-up, from one thread: registerAllTargets() of tools/targets does.
void registerTarget(const Target* target);
std::span<const Target* const> registeredTargets();
// The target that accepts `arch`. Reports UnknownTarget at no location, and returns nullptr, if
// there is none.
const Target* findTarget(std::string_view arch, DiagnosticEngine& diags);

}  // namespace mtlc

#endif  // MTLC_CODEGEN_TARGET_H_
