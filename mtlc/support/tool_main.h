// What every command-line tool shares: its option table with the common rows (--help, --version,
// --diagnostics), the sources and diagnostics of the run, and the rule for the exit code.
//
//   int main(int argc, char** argv) {
//     mtlc::Tool tool("mtlc-opt", "[options] FILE", "Transforms an IR module.");
//     tool.options().positional("FILE", 1, 1, &files);
//     if (std::optional<int> code = tool.start(argc, argv)) return *code;
//     if (std::optional<mtlc::FileId> file = tool.load(files[0])) { …  tool.write(output, text); }
//     return tool.finish();
//   }

#ifndef MTLC_SUPPORT_TOOL_MAIN_H_
#define MTLC_SUPPORT_TOOL_MAIN_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/support/diagnostics.h"
#include "mtlc/support/options.h"
#include "mtlc/support/source.h"

namespace mtlc {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitRefused = 1,  // The input, or what happened to it: there are diagnostics.
  kExitUsage = 2,    // The command line.
};

class Tool {
 public:
  // See OptionTable's constructor.
  Tool(std::string_view name, std::string_view synopsis, std::string_view summary);
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  OptionTable& options() { return options_; }
  SourceManager& sources() { return sources_; }
  DiagnosticEngine& diagnostics() { return diagnostics_; }

  // A line for --version after the toolchain's own: "IR 1", "PTX 6.4 to 8.8".
  void addVersionLine(std::string line) { versionLines_.push_back(std::move(line)); }

  // Parses the command line. A value is the exit code to end with at once: after --help and
  // --version (0), or because the command line is wrong (2); all has been printed.
  std::optional<int> start(int argc, const char* const* argv);

  // The bytes of `path` ("-" is standard input). Reports CannotReadFile.
  std::optional<std::string> read(const std::string& path);
  // Reads `path` as a source; standard input is named "<stdin>".
  std::optional<FileId> load(const std::string& path);
  // Writes an output file ("-" is standard output), all or nothing; does nothing when an error has
  // been reported, so that no output follows from a refused input. Reports CannotWriteFile.
  bool write(const std::string& path, std::string_view contents);

  // For what is wrong with a command line beyond what the table can say: prints the message, and
  // gives the exit code to return.
  int usageError(std::string_view message) const;

  // Prints the diagnostics on standard error, as --diagnostics asks, and gives the exit code.
  int finish();

 private:
  enum class Style { human, json };

  OptionTable options_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_;
  std::vector<std::string> versionLines_;
  Style style_ = Style::human;
  bool versionAsked_ = false;
};

}  // namespace mtlc

#endif  // MTLC_SUPPORT_TOOL_MAIN_H_
