// A command line as a table: each option is one row (spellings, value, help) bound to the variable
// that it sets. Parsing, `--help`, and the messages for a wrong command line come from the table.
//
//   OptionTable table("mtlc-llc", "[options] FILE", "Compiles an IR module for a target.");
//   table.positional("FILE", 1, 1, &files);
//   table.group("Output");
//   table.text("-o,--output", "FILE", &output, "Write to FILE").required();
//   table.choice("--filetype", &type, {{"asm", kAsm}, {"obj", kObj}}, "What to write");
//   table.group("Optimisation");
//   table.set("-O", &level, 1, "Optimise");
//   table.set("-O0", &level, 0, "Do not optimise");
//
// A value follows as `--name=value` or as the next argument (whatever that is: `-o -`). Rows act in
// the order of the command line, so that a later one wins and rows that append to one vector keep
// their order. `--` ends the options; `-` alone is positional. `--help` is a row of every table.

#ifndef MTLC_SUPPORT_OPTIONS_H_
#define MTLC_SUPPORT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace mtlc {

// One row. What the table's functions return, to be refined in place.
class Option {
 public:
  // The value may also be glued to a single-letter spelling: `-IDIR`.
  Option& joined();
  // Leaving it out is an error.
  Option& required();
  // Works, but `--help` does not show it.
  Option& hidden();

 private:
  friend class OptionTable;
  enum class Value : uint8_t { none, optional, required };

  std::vector<std::string> spellings_;  // With their dashes.
  std::string meta_;                    // What `--help` calls the value; "a|b" for choices.
  std::string help_;
  Value value_ = Value::none;
  bool joined_ = false;
  bool required_ = false;
  bool hidden_ = false;
  bool seen_ = false;
  size_t group_ = 0;
  // Takes the value, or "" without one. An error's message says what would be a good value.
  std::function<absl::Status(std::string_view)> apply_;
};

template <typename T>
struct OptionChoice {
  std::string_view name;
  T value;
};

class OptionTable {
 public:
  using Apply = std::function<absl::Status(std::string_view)>;

  // `synopsis` follows the tool's name in the usage line; `summary` is a sentence or a few.
  OptionTable(std::string_view tool, std::string_view synopsis, std::string_view summary);

  // Rows from here on stand under `title` in `--help`; before the first call, under "General",
  // which is shown last.
  void group(std::string_view title);

  // In all of these `spellings` is a comma-separated list, dashes included: "-o,--output". The
  // target's present value is the default and `--help` shows it where it says something.

  // `--name`, `--name=true`, `--name=false`.
  Option& flag(std::string_view spellings, bool* target, std::string_view help);

  // `--name` assigns `value`: for rows of which the last one wins, as -O and -O0.
  template <typename T>
  Option& set(std::string_view spellings, T* target, std::type_identity_t<T> value,
              std::string_view help) {
    return action(
        spellings,
        [target, value = std::move(value)] {
          *target = value;
          return absl::OkStatus();
        },
        help);
  }

  Option& text(std::string_view spellings, std::string_view meta, std::string* target,
               std::string_view help);
  // Decimal, 0x… or 0b…, within [least, most].
  Option& integer(std::string_view spellings, std::string_view meta, int64_t* target, int64_t least,
                  int64_t most, std::string_view help);
  // `least` to `most` count numbers with commas between them, each within [0, 2^32): `--grid=X,Y`.
  Option& integers(std::string_view spellings, std::string_view meta, std::vector<uint32_t>* target,
                   size_t fewest, size_t most, std::string_view help);

  // One of a few words.
  template <typename T>
  Option& choice(std::string_view spellings, T* target,
                 std::initializer_list<OptionChoice<std::type_identity_t<T>>> choices,
                 std::string_view help) {
    std::vector<std::string_view> names;
    std::vector<T> values;
    std::string_view present;
    for (const OptionChoice<T>& c : choices) {
      names.push_back(c.name);
      values.push_back(c.value);
      if (c.value == *target) present = c.name;
    }
    return choiceRow(
        spellings, std::move(names), present,
        [target, values = std::move(values)](size_t i) { *target = values[i]; }, help);
  }

  // Repeatable: each occurrence appends its value.
  Option& list(std::string_view spellings, std::string_view meta, std::vector<std::string>* target,
               std::string_view help);
  // Repeatable, and each value is a list with commas: `-mattr=+a,+b`. Empty elements are refused.
  Option& commaList(std::string_view spellings, std::string_view meta,
                    std::vector<std::string>* target, std::string_view help);

  // Calls `apply` for each occurrence with its value.
  Option& value(std::string_view spellings, std::string_view meta, Apply apply,
                std::string_view help);
  // As value(), but the value may be left out (`apply` gets ""); it is given only as
  // `--name=value`.
  Option& optionalValue(std::string_view spellings, std::string_view meta, Apply apply,
                        std::string_view help);
  // Calls `apply` for each occurrence; there is no value.
  Option& action(std::string_view spellings, std::function<absl::Status()> apply,
                 std::string_view help);

  // What is no option goes here. Without this call, none is allowed.
  void positional(std::string_view meta, size_t fewest, size_t most,
                  std::vector<std::string>* target);

  // Acts on argv[1..]. Returns the messages about what is wrong, without the tool's name; empty
  // when all is well. After `--help` nothing else is checked: see helpAsked().
  std::vector<std::string> parse(int argc, const char* const* argv);
  bool helpAsked() const { return helpAsked_; }

  // Usage, summary, and the rows by group, at most 80 columns wide.
  std::string helpText() const;
  // What is wrong with the table itself, for the tools' tests: a spelling twice, a row without
  // help, a group that does not fit a screen of 24 lines.
  std::vector<std::string> lint() const;

  const std::string& tool() const { return tool_; }

 private:
  struct Match {
    Option* option = nullptr;
    bool hasValue = false;
    std::string_view value;
  };

  Option& add(std::string_view spellings, std::string_view help);
  Option& choiceRow(std::string_view spellings, std::vector<std::string_view> names,
                    std::string_view present, std::function<void(size_t)> assign,
                    std::string_view help);
  Match find(std::string_view argument);
  std::string unknown(std::string_view argument) const;
  std::string groupText(size_t group) const;

  std::string tool_;
  std::string synopsis_;
  std::string summary_;
  std::vector<std::string> groups_;
  size_t group_ = 0;
  std::deque<Option> options_;
  std::string positionalMeta_;
  std::vector<std::string>* positionals_ = nullptr;
  size_t fewestPositionals_ = 0;
  size_t mostPositionals_ = 0;
  bool helpAsked_ = false;
};

// The whole of `text` as a number: decimal, 0x… or 0b…, an optional minus sign. kInvalidArgument
// for anything else and for what does not fit.
absl::Status parseInteger(std::string_view text, int64_t* out);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_OPTIONS_H_
