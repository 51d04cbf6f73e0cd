#include "mtlc/support/diagnostics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace mtlc {
namespace {

constexpr DiagRow kRows[] = {
#define DIAG(Id, severity, message, hint) {#Id, Severity::severity, message, hint},
#include "mtlc/support/diagnostics.def"
};

std::string_view severityName(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::remark:
      return "remark";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

std::string substitute(std::string_view pattern, DiagArgs args) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] >= '0' &&
        pattern[i + 1] <= '9') {
      size_t index = static_cast<size_t>(pattern[i + 1] - '0');
      if (index < args.size()) {
        out += args.begin()[index].text();
        ++i;
        continue;
      }
    }
    out += pattern[i];
  }
  return out;
}

// Control characters would let hostile input steer the terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02x", u);
    } else {
      out += c;
    }
  }
  return out;
}

constexpr size_t kMaxExcerpt = 160;

void appendHead(std::string& out, const SourceManager& sources, SourceLoc loc,
                std::string_view severity, std::string_view message) {
  if (loc.file() != 0) {
    absl::StrAppendFormat(&out, "%s:%d:%d: ", printable(sources.name(loc.file())), loc.line(),
                          loc.column());
  }
  absl::StrAppendFormat(&out, "%s: %s\n", severity, printable(message));
}

void appendExcerpt(std::string& out, const SourceManager& sources, SourceRange range) {
  std::string_view line = sources.lineText(range.begin);
  if (line.empty() || range.begin.column() == 0) return;
  size_t column = std::min<size_t>(range.begin.column() - 1, line.size());
  size_t first = column > kMaxExcerpt ? column - kMaxExcerpt / 2 : 0;
  std::string_view shown = line.substr(first, kMaxExcerpt);
  std::string text;
  std::string marks;
  size_t end = std::min(line.size(), column + std::max<size_t>(range.length, 1));
  for (size_t i = 0; i < shown.size(); ++i) {
    char c = shown[i] == '\t' ? ' ' : shown[i];
    text += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    size_t at = first + i;
    // One mark per code point, not per byte.
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    if (at < column) {
      marks += ' ';
    } else if (at == column) {
      marks += '^';
    } else if (at < end) {
      marks += '~';
    }
  }
  if (column >= first + shown.size()) marks += '^';
  absl::StrAppendFormat(&out, "  %s\n  %s\n", text, marks);
}

}  // namespace

const DiagRow& diagRow(DiagId id) { return kRows[static_cast<size_t>(id)]; }

Diagnostic& Diagnostic::note(SourceRange at, std::string text) {
  notes.push_back({at, std::move(text)});
  return *this;
}

Diagnostic& DiagnosticEngine::report(DiagId id, SourceRange at, DiagArgs args) {
  const DiagRow& row = diagRow(id);
  Diagnostic made{id, row.severity, at, substitute(row.message, args), substitute(row.hint, args),
                  {}};
  if (row.severity == Severity::error) {
    if (errorCount_ == errorLimit_) {
      const DiagRow& last = diagRow(DiagId::TooManyErrors);
      diagnostics_.push_back(
          {DiagId::TooManyErrors, last.severity, at, std::string(last.message), "", {}});
    }
    ++errorCount_;
  }
  if (errorCount_ > errorLimit_) {
    dropped_ = std::move(made);
    return dropped_;
  }
  diagnostics_.push_back(std::move(made));
  return diagnostics_.back();
}

void DiagnosticEngine::clear() {
  diagnostics_.clear();
  errorCount_ = 0;
}

std::string renderHuman(const DiagnosticEngine& engine, const SourceManager& sources) {
  std::string out;
  for (const Diagnostic& d : engine.all()) {
    appendHead(out, sources, d.range.begin, severityName(d.severity), d.message);
    appendExcerpt(out, sources, d.range);
    if (!d.hint.empty()) absl::StrAppendFormat(&out, "  hint: %s\n", printable(d.hint));
    for (const DiagNote& n : d.notes) {
      appendHead(out, sources, n.range.begin, "note", n.message);
      appendExcerpt(out, sources, n.range);
    }
  }
  return out;
}

std::string jsonQuote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i++];
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else if (c == '\t') {
      out += "\\t";
      ++i;
    } else if (c < 0x20 || c == 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
      ++i;
    } else if (c < 0x80) {
      out += text[i++];
    } else {
      // Copy a well-formed UTF-8 sequence whole; anything else becomes U+FFFD.
      size_t n = c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
      if (c >= 0xF5) n = 0;
      bool good = n != 0 && i + n <= text.size();
      for (size_t k = 1; good && k < n; ++k)
        good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
      if (good && n == 3) {
        unsigned char d = static_cast<unsigned char>(text[i + 1]);
        good = !(c == 0xE0 && d < 0xA0) && !(c == 0xED && d >= 0xA0);
      }
      if (good && n == 4) {
        unsigned char d = static_cast<unsigned char>(text[i + 1]);
        good = !(c == 0xF0 && d < 0x90) && !(c == 0xF4 && d >= 0x90);
      }
      if (good) {
        out.append(text.substr(i, n));
        i += n;
      } else {
        out += "\xEF\xBF\xBD";
        ++i;
      }
    }
  }
  out += '"';
  return out;
}

std::string renderJson(const DiagnosticEngine& engine, const SourceManager& sources) {
  auto place = [&](SourceRange r) {
    return absl::StrFormat("\"file\":%s,\"line\":%d,\"column\":%d,\"length\":%d",
                           jsonQuote(sources.name(r.begin.file())), r.begin.line(),
                           r.begin.column(), r.length);
  };
  std::string out;
  for (const Diagnostic& d : engine.all()) {
    absl::StrAppendFormat(
        &out, "{\"severity\":\"%s\",\"id\":\"%s\",%s,\"message\":%s,\"hint\":%s,\"notes\":[",
        severityName(d.severity), diagRow(d.id).name, place(d.range), jsonQuote(d.message),
        jsonQuote(d.hint));
    for (size_t i = 0; i < d.notes.size(); ++i) {
      absl::StrAppendFormat(&out, "%s{%s,\"message\":%s}", i ? "," : "", place(d.notes[i].range),
                            jsonQuote(d.notes[i].message));
    }
    out += "]}\n";
  }
  return out;
}

}  // namespace mtlc
