#include "mtlc/frontend/gpu_options.h"

namespace mtlc::frontend {

namespace {

using ir::Scope;

struct WordRow {
  Words words;
  std::string_view spelling;
  uint8_t value;
};
constexpr WordRow kWords[] = {
#define WORD(Set, spelling, value) {Words::Set, spelling, static_cast<uint8_t>(Set::value)},
#include "mtlc/frontend/gpu_options.def"
};

constexpr OptionRow kOptions[] = {
#define OPTION(Set, spelling, option, Kind) \
  {OptionSet::Set, spelling, Option::option, OptionKind::Kind},
#include "mtlc/frontend/gpu_options.def"
};

constexpr FieldRow kFields[] = {
#define MMA_ELEMENT(option, member, field) {OptionSet::Mma, Option::option, field},
#define MMA_NUMBER(option, member, field) {OptionSet::Mma, Option::option, field},
#define MMA_FLAG(option, member, field) {OptionSet::Mma, Option::option, field},
#define MMA_WORD(option, member, Set, field) {OptionSet::Mma, Option::option, field},
#define MMA_LEADING(option, member, slot, field) {OptionSet::Mma, Option::option, field},
#define MMA_POINTER(option, slot, field) {OptionSet::Mma, Option::option, field},
#define TRANSFER_FIELD(option, field) {OptionSet::Transfer, Option::option, field},
#define EPILOGUE_ELEMENT(option, member, field) {OptionSet::Epilogue, Option::option, field},
#define EPILOGUE_NUMBER(option, member, field) {OptionSet::Epilogue, Option::option, field},
#define EPILOGUE_WORD(option, member, Set, field) {OptionSet::Epilogue, Option::option, field},
#define EPILOGUE_LEADING(option, member, slot, field) {OptionSet::Epilogue, Option::option, field},
#define EPILOGUE_SCALAR(option, slot, field) {OptionSet::Epilogue, Option::option, field},
#include "mtlc/frontend/gpu_options.def"
};

// Reads decimal digits without a leading zero.
bool digits(std::string_view& text, uint32_t* out) {
  size_t n = 0;
  uint32_t value = 0;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') {
    if (n == 9) return false;
    value = value * 10 + static_cast<uint32_t>(text[n++] - '0');
  }
  if (n == 0 || (n > 1 && text[0] == '0')) return false;
  text.remove_prefix(n);
  *out = value;
  return true;
}

bool letter(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::span<const OptionRow> optionRows() { return kOptions; }
std::span<const FieldRow> fieldRows() { return kFields; }

const OptionRow* findOption(OptionSet set, std::string_view spelling) {
  for (const OptionRow& row : kOptions) {
    if (row.set == set && row.spelling == spelling) return &row;
  }
  return nullptr;
}

std::string_view optionName(OptionSet set, Option option) {
  for (const OptionRow& row : kOptions) {
    if (row.set == set && row.option == option) return row.spelling;
  }
  return "?";
}

std::optional<uint8_t> findWord(Words words, std::string_view spelling) {
  for (const WordRow& row : kWords) {
    if (row.words == words && row.spelling == spelling) return row.value;
  }
  return std::nullopt;
}

std::string_view wordText(Words words, uint8_t value) {
  for (const WordRow& row : kWords) {
    if (row.words == words && row.value == value) return row.spelling;
  }
  return "?";
}

std::string wordList(Words words) {
  std::string list;
  for (const WordRow& row : kWords) {
    if (row.words != words || wordText(words, row.value) != row.spelling) continue;
    if (!list.empty()) list += ", ";
    list += row.spelling;
  }
  return list;
}

std::optional<ShapeWord> parseShape(std::string_view word, bool withK) {
  ShapeWord s{0, 0, 0};
  if (!letter(word, 'm') || !digits(word, &s.m)) return std::nullopt;
  if (!letter(word, 'n') || !digits(word, &s.n)) return std::nullopt;
  if (withK && (!letter(word, 'k') || !digits(word, &s.k))) return std::nullopt;
  if (!word.empty()) return std::nullopt;
  return s;
}

TypeKind carrier(ElementFormat format) {
  switch (format) {
    case ElementFormat::F16:
    case ElementFormat::BF16:
      return TypeKind::uint16;
    case ElementFormat::TF32:
    case ElementFormat::F32:
      return TypeKind::float32;
    case ElementFormat::F64:
      return TypeKind::float64;
    case ElementFormat::I8:
      return TypeKind::int8;
    case ElementFormat::I32:
      return TypeKind::int32;
    default:
      return TypeKind::uint8;
  }
}

}  // namespace mtlc::frontend
