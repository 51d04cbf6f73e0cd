// The text form of the IR (.mtir): docs/ir.md §10.

#ifndef MTLC_IR_TEXT_H_
#define MTLC_IR_TEXT_H_

#include <memory>
#include <string>

#include "mtlc/ir/ir.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::ir {

// The version of the text form. It changes when a module that was valid stops being so, or changes
// its meaning.
inline constexpr int kTextVersion = 1;

struct PrintOptions {
  bool locations = false;  // Append loc("file":line:column) to every operation that has one.
};

// print(parse(print(m))) == print(m), byte for byte.
std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});
// One line, for remarks and reports.
std::string print(const Operation& op);

// Parses `file` of `sources`. Operations without loc(…) get their place in the dump. All errors are
// reported (up to the engine's limit); returns nullptr if there was any. The result still needs
// verify().
std::unique_ptr<Module> parseModule(SourceManager& sources, FileId file, DiagnosticEngine& diags);

}  // namespace mtlc::ir

#endif  // MTLC_IR_TEXT_H_
