// Located diagnostics: what was refused or noticed, where, why, and what would work.
//
// Each kind of diagnostic is a row of diagnostics.def. A layer reports into a DiagnosticEngine and
// goes on, so that one run shows all problems; the tool renders the result at the end and decides
// the exit code from errorCount().

#ifndef MTLC_SUPPORT_DIAGNOSTICS_H_
#define MTLC_SUPPORT_DIAGNOSTICS_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mtlc/support/source.h"

namespace mtlc {

enum class Severity : uint8_t { note, remark, warning, error };

enum class DiagId : uint16_t {
#define DIAG(Id, severity, message, hint) Id,
#include "mtlc/support/diagnostics.def"
};
inline constexpr size_t kDiagCount = 0
#define DIAG(Id, severity, message, hint) +1
#include "mtlc/support/diagnostics.def"
    ;

struct DiagRow {
  std::string_view name;  // "TooManyErrors"; JSON shows it as "id".
  Severity severity;
  std::string_view message;
  std::string_view hint;
};
const DiagRow& diagRow(DiagId id);

// An argument of a message: text or a number.
class DiagArg {
 public:
  DiagArg(std::string_view text) : text_(text) {}    // NOLINT
  DiagArg(const std::string& text) : text_(text) {}  // NOLINT
  DiagArg(const char* text) : text_(text) {}         // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  DiagArg(T value) : text_(std::to_string(value)) {}  // NOLINT
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};
using DiagArgs = std::initializer_list<DiagArg>;

struct DiagNote {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  DiagId id;
  Severity severity;
  SourceRange range;
  std::string message;  // Arguments filled in.
  std::string hint;
  std::vector<DiagNote> notes;

  // Adds a line of context ("declared here", one step of a reason chain). Returns *this.
  Diagnostic& note(SourceRange at, std::string message);
};

class DiagnosticEngine {
 public:
  static constexpr int kDefaultErrorLimit = 20;

  explicit DiagnosticEngine(int errorLimit = kDefaultErrorLimit) : errorLimit_(errorLimit) {}

  // Reports one row. The reference is valid until clear(); past the error limit it refers to a
  // diagnostic that is not kept. The message's `%n` take `args` in order; a missing argument is
  // left as it stands.
  Diagnostic& report(DiagId id, SourceRange at, DiagArgs args = {});

  int errorCount() const { return errorCount_; }
  bool hasErrors() const { return errorCount_ > 0; }
  // True once the limit is reached: callers with a loop over many problems may stop.
  bool full() const { return errorCount_ >= errorLimit_; }
  const std::deque<Diagnostic>& all() const { return diagnostics_; }
  void clear();

 private:
  std::deque<Diagnostic> diagnostics_;
  Diagnostic dropped_{};
  int errorLimit_;
  int errorCount_ = 0;
};

// `FILE:LINE:COL: error: message`, the source line with a caret and range, the hint, then the
// notes.
std::string renderHuman(const DiagnosticEngine& engine, const SourceManager& sources);
// One JSON object a line:
// {"severity","id","file","line","column","length","message","hint","notes":[…]}.
std::string renderJson(const DiagnosticEngine& engine, const SourceManager& sources);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string jsonQuote(std::string_view text);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_DIAGNOSTICS_H_
