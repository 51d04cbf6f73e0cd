#include "mtlc/support/options.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "mtlc/support/suggest.h"

namespace mtlc {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kHelpColumn = 30;
constexpr size_t kScreenLines = 24;

std::vector<std::string_view> splitCommas(std::string_view text) {
  std::vector<std::string_view> out;
  for (;;) {
    size_t comma = text.find(',');
    out.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// Appends `text` broken at spaces; the cursor stands at `column`, further lines begin at `indent`.
void appendWrapped(std::string& out, std::string_view text, size_t column, size_t indent) {
  bool lineStart = true;
  while (!text.empty()) {
    size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!lineStart && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
      lineStart = true;
    }
    if (!lineStart) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    lineStart = false;
  }
  out += '\n';
}

// Part of a command line as a message may show it.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string out;
  for (char c : text.substr(0, kLongest)) {
    unsigned char u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02x", u);
    } else {
      out += c;
    }
  }
  if (text.size() > kLongest) out += "...";
  return out;
}

std::string joinWords(const std::vector<std::string_view>& words, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += between;
    out += words[i];
  }
  return out;
}

}  // namespace

absl::Status parseInteger(std::string_view text, int64_t* out) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  uint64_t base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
  if (base != 10) text.remove_prefix(2);
  if (text.empty()) return absl::InvalidArgumentError("not a number");
  uint64_t limit = uint64_t{std::numeric_limits<int64_t>::max()} + (negative ? 1 : 0);
  uint64_t number = 0;
  for (char c : text) {
    char lower = static_cast<char>(c | 0x20);
    uint64_t digit = c >= '0' && c <= '9'           ? static_cast<uint64_t>(c - '0')
                     : lower >= 'a' && lower <= 'f' ? static_cast<uint64_t>(lower - 'a' + 10)
                                                    : 16;
    if (digit >= base) return absl::InvalidArgumentError("not a number");
    if (number > (limit - digit) / base) return absl::InvalidArgumentError("too large a number");
    number = number * base + digit;
  }
  *out = static_cast<int64_t>(negative ? 0 - number : number);
  return absl::OkStatus();
}

Option& Option::joined() {
  joined_ = true;
  return *this;
}

Option& Option::required() {
  required_ = true;
  return *this;
}

Option& Option::hidden() {
  hidden_ = true;
  return *this;
}

OptionTable::OptionTable(std::string_view tool, std::string_view synopsis, std::string_view summary)
    : tool_(tool), synopsis_(synopsis), summary_(summary), groups_{"General"} {
  flag("-h,--help", &helpAsked_, "Show this text");
}

void OptionTable::group(std::string_view title) {
  auto known = std::find(groups_.begin(), groups_.end(), title);
  group_ = static_cast<size_t>(known - groups_.begin());
  if (known == groups_.end()) groups_.emplace_back(title);
}

Option& OptionTable::add(std::string_view spellings, std::string_view help) {
  Option& option = options_.emplace_back();
  for (std::string_view s : splitCommas(spellings)) option.spellings_.emplace_back(s);
  option.help_ = help;
  option.group_ = group_;
  return option;
}

Option& OptionTable::flag(std::string_view spellings, bool* target, std::string_view help) {
  Option& option = add(spellings, help);
  option.value_ = Option::Value::optional;
  option.apply_ = [target](std::string_view value) {
    if (value.empty() || value == "true") {
      *target = true;
    } else if (value == "false") {
      *target = false;
    } else {
      return absl::InvalidArgumentError("give true or false, or no value");
    }
    return absl::OkStatus();
  };
  return option;
}

Option& OptionTable::text(std::string_view spellings, std::string_view meta, std::string* target,
                          std::string_view help) {
  Option& option = value(
      spellings, meta,
      [target](std::string_view value) {
        *target = value;
        return absl::OkStatus();
      },
      help);
  if (!target->empty()) absl::StrAppendFormat(&option.help_, " (default: %s)", *target);
  return option;
}

Option& OptionTable::integer(std::string_view spellings, std::string_view meta, int64_t* target,
                             int64_t least, int64_t most, std::string_view help) {
  Option& option = value(
      spellings, meta,
      [target, least, most](std::string_view value) {
        int64_t number = 0;
        if (!parseInteger(value, &number).ok() || number < least || number > most) {
          return absl::InvalidArgumentError(
              absl::StrFormat("give a whole number from %d to %d", least, most));
        }
        *target = number;
        return absl::OkStatus();
      },
      help);
  absl::StrAppendFormat(&option.help_, " (default: %d)", *target);
  return option;
}

Option& OptionTable::integers(std::string_view spellings, std::string_view meta,
                              std::vector<uint32_t>* target, size_t fewest, size_t most,
                              std::string_view help) {
  return value(
      spellings, meta,
      [target, fewest, most](std::string_view value) {
        std::vector<uint32_t> numbers;
        std::vector<std::string_view> parts = splitCommas(value);
        bool good = parts.size() >= fewest && parts.size() <= most;
        for (size_t i = 0; good && i < parts.size(); ++i) {
          int64_t number = 0;
          good = parseInteger(parts[i], &number).ok() && number >= 0 &&
                 number <= std::numeric_limits<uint32_t>::max();
          numbers.push_back(static_cast<uint32_t>(number));
        }
        if (!good) {
          return absl::InvalidArgumentError(
              fewest == most
                  ? absl::StrFormat("give %d whole numbers with commas between them", most)
                  : absl::StrFormat("give %d to %d whole numbers with commas between them", fewest,
                                    most));
        }
        *target = std::move(numbers);
        return absl::OkStatus();
      },
      help);
}

Option& OptionTable::choiceRow(std::string_view spellings, std::vector<std::string_view> names,
                               std::string_view present, std::function<void(size_t)> assign,
                               std::string_view help) {
  std::string meta = joinWords(names, "|");
  Option& option = value(
      spellings, meta,
      [names = std::move(names), assign = std::move(assign)](std::string_view value) {
        auto at = std::find(names.begin(), names.end(), value);
        if (at != names.end()) {
          assign(static_cast<size_t>(at - names.begin()));
          return absl::OkStatus();
        }
        std::string_view near = nearestSpelling(value, names);
        return absl::InvalidArgumentError(
            near.empty()
                ? absl::StrFormat("give one of %s", joinWords(names, ", "))
                : absl::StrFormat("did you mean '%s'? (one of %s)", near, joinWords(names, ", ")));
      },
      help);
  if (!present.empty()) absl::StrAppendFormat(&option.help_, " (default: %s)", present);
  return option;
}

Option& OptionTable::list(std::string_view spellings, std::string_view meta,
                          std::vector<std::string>* target, std::string_view help) {
  Option& option = value(
      spellings, meta,
      [target](std::string_view value) {
        target->emplace_back(value);
        return absl::OkStatus();
      },
      help);
  option.help_ += " (repeatable)";
  return option;
}

Option& OptionTable::commaList(std::string_view spellings, std::string_view meta,
                               std::vector<std::string>* target, std::string_view help) {
  Option& option = value(
      spellings, meta,
      [target](std::string_view value) {
        std::vector<std::string_view> parts = splitCommas(value);
        if (std::find(parts.begin(), parts.end(), std::string_view()) != parts.end()) {
          return absl::InvalidArgumentError("give words with single commas between them");
        }
        for (std::string_view part : parts) target->emplace_back(part);
        return absl::OkStatus();
      },
      help);
  option.help_ += " (repeatable)";
  return option;
}

Option& OptionTable::value(std::string_view spellings, std::string_view meta, Apply apply,
                           std::string_view help) {
  Option& option = add(spellings, help);
  option.value_ = Option::Value::required;
  option.meta_ = meta;
  option.apply_ = std::move(apply);
  return option;
}

Option& OptionTable::optionalValue(std::string_view spellings, std::string_view meta, Apply apply,
                                   std::string_view help) {
  Option& option = value(spellings, meta, std::move(apply), help);
  option.value_ = Option::Value::optional;
  return option;
}

Option& OptionTable::action(std::string_view spellings, std::function<absl::Status()> apply,
                            std::string_view help) {
  Option& option = add(spellings, help);
  option.apply_ = [apply = std::move(apply)](std::string_view) { return apply(); };
  return option;
}

void OptionTable::positional(std::string_view meta, size_t fewest, size_t most,
                             std::vector<std::string>* target) {
  positionalMeta_ = meta;
  fewestPositionals_ = fewest;
  mostPositionals_ = most;
  positionals_ = target;
}

OptionTable::Match OptionTable::find(std::string_view argument) {
  size_t equals = argument.find('=');
  std::string_view name = argument.substr(0, equals);
  for (Option& o : options_) {
    for (const std::string& s : o.spellings_) {
      if (s != name) continue;
      if (equals == std::string_view::npos) return {&o, false, {}};
      return {&o, true, argument.substr(equals + 1)};
    }
  }
  for (Option& o : options_) {
    for (const std::string& s : o.spellings_) {
      if (o.joined_ && s.size() == 2 && argument.size() > 2 && argument.starts_with(s)) {
        return {&o, true, argument.substr(2)};
      }
    }
  }
  return {};
}

std::string OptionTable::unknown(std::string_view argument) const {
  std::string_view name = argument.substr(0, argument.find('='));
  std::vector<std::string_view> names;
  for (const Option& o : options_) {
    if (o.hidden_) continue;
    for (const std::string& s : o.spellings_) names.push_back(s);
  }
  // A single-letter option is one edit away from any other: suggesting it would be noise.
  std::string_view near = name.size() > 2 ? nearestSpelling(name, names) : std::string_view();
  std::string out = absl::StrFormat("unknown option '%s'", shown(name));
  if (!near.empty()) absl::StrAppendFormat(&out, "; did you mean '%s'?", near);
  return out;
}

std::vector<std::string> OptionTable::parse(int argc, const char* const* argv) {
  std::vector<std::string> errors;
  std::vector<std::string> words;
  bool unknownSeen = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--") {
      words.insert(words.end(), argv + i + 1, argv + argc);
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      words.emplace_back(argument);
      continue;
    }
    Match match = find(argument);
    if (match.option == nullptr) {
      unknownSeen = true;
      errors.push_back(unknown(argument));
      continue;
    }
    Option& option = *match.option;
    std::string_view name =
        argument.substr(0, argument.size() - match.value.size() - (match.hasValue ? 1 : 0));
    if (match.hasValue && argument[name.size()] != '=') name = argument.substr(0, 2);  // Joined.
    option.seen_ = true;
    if (match.hasValue && option.value_ == Option::Value::none) {
      errors.push_back(absl::StrFormat("option '%s' takes no value", name));
      continue;
    }
    if (!match.hasValue && option.value_ == Option::Value::required) {
      if (i + 1 == argc) {
        errors.push_back(absl::StrFormat("option '%s' needs a value: %s", name, option.meta_));
        continue;
      }
      match.value = argv[++i];
    }
    if (match.hasValue && match.value.empty() && option.value_ == Option::Value::optional) {
      errors.push_back(absl::StrFormat("option '%s' has '=' but no value", name));
      continue;
    }
    absl::Status status = option.apply_(match.value);
    if (!status.ok()) {
      std::string_view reason(status.message().data(), status.message().size());
      if (match.value.empty()) {
        errors.push_back(absl::StrFormat("option '%s': %s", name, reason));
      } else {
        errors.push_back(
            absl::StrFormat("bad value '%s' of '%s': %s", shown(match.value), name, reason));
      }
    }
    if (helpAsked_) return {};
  }
  for (const Option& o : options_) {
    if (o.required_ && !o.seen_) {
      errors.push_back(absl::StrFormat("'%s=%s' is missing", o.spellings_.back(), o.meta_));
    }
  }
  // After an unknown option nobody knows whether the next word was its value.
  if (unknownSeen) return errors;
  if (words.size() > mostPositionals_) {
    errors.push_back(positionals_ == nullptr
                         ? absl::StrFormat("unexpected argument '%s'", shown(words[0]))
                         : absl::StrFormat("unexpected argument '%s': at most %d %s can be given",
                                           shown(words[mostPositionals_]), mostPositionals_,
                                           positionalMeta_));
  } else if (words.size() < fewestPositionals_) {
    errors.push_back(absl::StrFormat("%s is missing ('-' reads standard input)", positionalMeta_));
  }
  if (positionals_ != nullptr) *positionals_ = std::move(words);
  return errors;
}

std::string OptionTable::groupText(size_t group) const {
  std::string out;
  for (const Option& o : options_) {
    if (o.group_ != group || o.hidden_) continue;
    std::string left = "  ";
    for (size_t i = 0; i < o.spellings_.size(); ++i) {
      if (i != 0) left += ", ";
      left += o.spellings_[i];
    }
    if (!o.meta_.empty()) {
      bool shortOnly = o.spellings_.back().size() == 2;
      std::string value = (shortOnly ? " " : "=") + o.meta_;
      left += o.value_ == Option::Value::optional ? "[" + value + "]" : value;
    }
    if (left.size() + 2 > kHelpColumn) {
      left += '\n';
      out += left;
      out.append(kHelpColumn, ' ');
    } else {
      left.resize(kHelpColumn, ' ');
      out += left;
    }
    appendWrapped(out, o.help_, kHelpColumn, kHelpColumn);
  }
  if (out.empty()) return out;
  return groups_[group] + ":\n" + out;
}

std::string OptionTable::helpText() const {
  std::string out = "usage: " + tool_;
  if (!synopsis_.empty()) out += ' ';
  appendWrapped(out, synopsis_, out.size(), 7);
  if (!summary_.empty()) appendWrapped(out, summary_, 0, 0);
  // The general rows come last: they are the same everywhere.
  for (size_t i = 1; i <= groups_.size(); ++i) {
    std::string text = groupText(i % groups_.size());
    if (!text.empty()) out += "\n" + text;
  }
  return out;
}

std::vector<std::string> OptionTable::lint() const {
  std::vector<std::string> out;
  std::vector<std::string_view> names;
  for (const Option& o : options_) {
    for (const std::string& s : o.spellings_) {
      if (s.size() < 2 || s[0] != '-') {
        out.push_back(absl::StrFormat("spelling '%s' does not begin with a dash", s));
      }
      if (std::find(names.begin(), names.end(), s) != names.end()) {
        out.push_back(absl::StrFormat("spelling '%s' is used twice", s));
      }
      names.push_back(s);
    }
    if (o.help_.empty() && !o.hidden_) {
      out.push_back(absl::StrFormat("'%s' has no help", o.spellings_[0]));
    }
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    std::string text = groupText(i);
    size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    if (lines > kScreenLines) {
      out.push_back(absl::StrFormat("group '%s' takes %d lines, more than a screen of %d",
                                    groups_[i], lines, kScreenLines));
    }
  }
  return out;
}

}  // namespace mtlc
