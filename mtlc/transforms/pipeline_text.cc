// Pipelines as text, and the texts about passes.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mtlc/support/options.h"
#include "mtlc/support/suggest.h"
#include "mtlc/transforms/pipeline.h"

namespace mtlc::transforms {
namespace {

constexpr OptionId kNoOption = static_cast<OptionId>(0xFF);

OptionId findOption(PassId pass, std::string_view name) {
  for (int i = 0; i < kOptionCount; ++i) {
    OptionId id = static_cast<OptionId>(i);
    if (optionRow(id).pass == pass && optionRow(id).name == name) return id;
  }
  return kNoOption;
}

class PipelineParser {
 public:
  PipelineParser(std::string_view text, FileId file, DiagnosticEngine& diags)
      : text_(text), file_(file), diags_(diags) {}

  std::optional<std::vector<PassInvocation>> parse() {
    std::vector<PassInvocation> passes;
    skipSpace();
    if (atEnd()) {
      diags_.report(DiagId::PipelineNameExpected, here());
      return std::nullopt;
    }
    while (true) {
      if (!parsePass(passes)) return std::nullopt;
      skipSpace();
      if (atEnd()) return passes;
      if (text_[at_] != ',') {
        diags_.report(DiagId::PipelineUnexpectedText, here(1), {"',' or the end"});
        return std::nullopt;
      }
      ++at_;
    }
  }

 private:
  bool atEnd() const { return at_ >= text_.size(); }
  void skipSpace() {
    while (!atEnd() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  SourceRange here(uint32_t length = 0) const {
    return {SourceLoc(file_, 1, static_cast<uint32_t>(at_ + 1)), length};
  }
  std::string_view word() {
    skipSpace();
    size_t start = at_;
    while (!atEnd() && std::string_view(",{}= \t").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  SourceRange rangeOf(std::string_view part) const {
    return {SourceLoc(file_, 1, static_cast<uint32_t>(part.data() - text_.data() + 1)),
            static_cast<uint32_t>(part.size())};
  }

  bool parsePass(std::vector<PassInvocation>& passes) {
    std::string_view name = word();
    if (name.empty()) {
      diags_.report(DiagId::PipelineNameExpected, here());
      return false;
    }
    std::optional<PassId> id = passFromName(name);
    if (!id) {
      std::vector<std::string_view> names;
      for (int i = 0; i < kPassCount; ++i) names.push_back(passRow(static_cast<PassId>(i)).name);
      std::string_view near = nearestSpelling(name, names);
      Diagnostic& d = diags_.report(DiagId::UnknownPass, rangeOf(name), {name});
      if (!near.empty()) d.hint = "did you mean '" + std::string(near) + "'?";
      return false;
    }
    passes.push_back({*id});
    skipSpace();
    if (!atEnd() && text_[at_] == '{') return parseOptions(passes.back());
    return true;
  }

  bool parseOptions(PassInvocation& invocation) {
    do {
      ++at_;  // '{' or ','
      std::string_view name = word();
      OptionId option = findOption(invocation.pass, name);
      if (option == kNoOption) {
        std::string known;
        for (int i = 0; i < kOptionCount; ++i) {
          const OptionRow& row = optionRow(static_cast<OptionId>(i));
          if (row.pass != invocation.pass) continue;
          if (!known.empty()) known += ", ";
          known += row.name;
        }
        diags_.report(DiagId::UnknownPassOption, rangeOf(name),
                      {passRow(invocation.pass).name, name, known.empty() ? "none" : known});
        return false;
      }
      skipSpace();
      if (atEnd() || text_[at_] != '=') {
        diags_.report(DiagId::PipelineUnexpectedText, here(), {"'='"});
        return false;
      }
      ++at_;
      std::string_view value = word();
      int64_t number = 0;
      const OptionRow& row = optionRow(option);
      bool good = true;
      if (value == "true" || value == "false") {
        number = value == "true";
      } else {
        good = parseInteger(value, &number).ok();
      }
      if (!good || number < row.least || number > row.most) {
        diags_.report(DiagId::BadPassOptionValue, rangeOf(value),
                      {value, row.name, row.least, row.most});
        return false;
      }
      // The last one wins, as on a command line.
      std::erase_if(invocation.options, [&](const auto& o) { return o.first == option; });
      invocation.options.push_back({option, number});
      skipSpace();
    } while (!atEnd() && text_[at_] == ',');
    if (atEnd() || text_[at_] != '}') {
      diags_.report(DiagId::PipelineUnexpectedText, here(), {"',' or '}'"});
      return false;
    }
    ++at_;
    return true;
  }

  std::string_view text_;
  FileId file_;
  DiagnosticEngine& diags_;
  size_t at_ = 0;
};

}  // namespace

std::optional<PassId> passFromName(std::string_view name) {
  for (int i = 0; i < kPassCount; ++i) {
    if (passRow(static_cast<PassId>(i)).name == name) return static_cast<PassId>(i);
  }
  return std::nullopt;
}

std::optional<std::vector<PassInvocation>> parsePipeline(std::string_view text,
                                                         std::string_view sourceName,
                                                         SourceManager& sources,
                                                         DiagnosticEngine& diags) {
  FileId file = sources.add(std::string(sourceName), std::string(text));
  return PipelineParser(sources.text(file), file, diags).parse();
}

std::string renderPassList() {
  std::string out;
  for (int i = 0; i < kPassCount; ++i) {
    PassId id = static_cast<PassId>(i);
    absl::StrAppendFormat(&out, "%-26s%s%s\n", passRow(id).name, passRow(id).description,
                          passRow(id).level == PassLevel::Module ? " (whole module)" : "");
    for (int k = 0; k < kOptionCount; ++k) {
      const OptionRow& row = optionRow(static_cast<OptionId>(k));
      if (row.pass != id) continue;
      absl::StrAppendFormat(&out, "  %-24s%s [%d to %d, default %d]\n", row.name, row.description,
                            row.least, row.most, row.fallback);
    }
  }
  return out;
}

std::string renderTiming(const PipelineReport& report) {
  double total = 0;
  for (const PipelineReport::Step& s : report.steps) total += s.seconds;
  std::string out = "   seconds      %  functions  changed  pass\n";
  for (const PipelineReport::Step& s : report.steps) {
    absl::StrAppendFormat(&out, "%10.6f  %5.1f  %9d  %7d  %s\n", s.seconds,
                          total > 0 ? 100 * s.seconds / total : 0.0, s.functions, s.changed,
                          passRow(s.pass).name);
  }
  absl::StrAppendFormat(&out, "%10.6f  100.0                      total\n", total);
  return out;
}

std::string renderStatistics(const PipelineReport& report) {
  std::string out;
  for (int i = 0; i < kStatCount; ++i) {
    uint64_t n = report.statistics[static_cast<size_t>(i)];
    if (n == 0) continue;
    const StatRow& row = statRow(static_cast<Stat>(i));
    absl::StrAppendFormat(&out, "%10d  %-16s %s\n", n, passRow(row.pass).name, row.description);
  }
  return out;
}

}  // namespace mtlc::transforms
