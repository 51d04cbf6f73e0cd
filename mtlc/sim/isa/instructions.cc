#include "mtlc/sim/isa/instructions.h"

#include <algorithm>
#include <bitset>
#include <iterator>
#include <string>
#include <unordered_map>

namespace mtlc::sim {
namespace {

struct RawRow {
  const char* pattern;
  const char* operands;
  uint8_t ptx;
  uint8_t sm;
  Family family;
};

constexpr RawRow kRaw[] = {
#define SIM_INST(pattern, operands, ptx, sm, family) {pattern, operands, ptx, sm, Family::family},
#include "mtlc/sim/isa/instructions.def"
};

struct RawSet {
  std::string_view name;
  std::string_view choice;
};
constexpr RawSet kSets[] = {
#define SIM_SET(name, choice) {#name, choice},
#include "mtlc/sim/isa/instructions.def"
};

std::string_view expandSet(std::string_view name) {
  for (const RawSet& s : kSets) {
    if (s.name == name) return s.choice;
  }
  return {};
}

bool parseChoices(std::string_view text, std::vector<Mod>& out) {
  while (!text.empty()) {
    size_t bar = text.find('|');
    std::string_view word = text.substr(0, bar);
    if (size_t star = word.find('*'); star != std::string_view::npos) {
      std::string_view begin = word.substr(0, star), end = word.substr(star + 1);
      for (size_t i = 1; i < static_cast<size_t>(Mod::count); ++i) {
        Mod mod = static_cast<Mod>(i);
        std::string_view spelling = modSpelling(mod);
        if (spelling.starts_with(begin) && spelling.ends_with(end)) out.push_back(mod);
      }
    } else {
      auto mod = findMod(word);
      if (!mod) return false;
      out.push_back(*mod);
    }
    if (bar == std::string_view::npos) break;
    text.remove_prefix(bar + 1);
  }
  return !out.empty();
}

// `.x`, `.(a|b)` or `.$set`; consumes it from `text`.
bool parseSlot(std::string_view& text, PatternSlot& slot) {
  if (text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  if (text.empty()) return false;
  if (text[0] == '(') {
    size_t close = text.find(')');
    if (close == std::string_view::npos) return false;
    bool ok = parseChoices(text.substr(1, close - 1), slot.choices);
    text.remove_prefix(close + 1);
    return ok;
  }
  size_t end = text.find_first_of(".{}");
  std::string_view word = text.substr(0, end);
  text.remove_prefix(word.size());
  if (!word.empty() && word[0] == '$') {
    return parseChoices(expandSet(word.substr(1)), slot.choices);
  }
  return parseChoices(word, slot.choices);
}

bool parsePattern(std::string_view text, InstrRow& row) {
  size_t end = text.find_first_of(".{");
  row.opcode = text.substr(0, end);
  text.remove_prefix(row.opcode.size());
  while (!text.empty()) {
    PatternSlot slot;
    slot.optional = text[0] == '{';
    if (slot.optional) text.remove_prefix(1);
    if (!parseSlot(text, slot)) return false;
    if (slot.optional) {
      if (text.empty() || text[0] != '}') return false;
      text.remove_prefix(1);
    }
    row.slots.push_back(std::move(slot));
  }
  return row.slots.size() <= kMaxModifiers;
}

bool parseOperand(std::string_view word, OperandSpec& spec) {
  while (!word.empty()) {
    if (word.back() == '?') {
      spec.optional = true;
    } else if (word.back() == '!') {
      spec.negatable = true;
    } else if (word.back() == '@') {
      spec.selector = true;
    } else if (word.back() == '-') {
      spec.minus = true;
    } else {
      break;
    }
    word.remove_suffix(1);
  }
  if (word.size() > 2 && (word.substr(word.size() - 2) == "|p" || word.ends_with("|P"))) {
    spec.predicatePair = true;
    spec.needsPair = word.back() == 'P';
    word.remove_suffix(2);
  }
  if (word.empty()) return false;
  switch (word[0]) {
    case 'd':
      spec.role = OperandRole::dest;
      break;
    case 's':
      spec.role = OperandRole::source;
      break;
    case 'i':
      spec.role = OperandRole::integer;
      break;
    case 'a':
      spec.role = OperandRole::address;
      break;
    case 'v':
      spec.role = OperandRole::vector;
      break;
    case 'm':
      spec.role = OperandRole::memory;
      return word.size() == 1;
    default:
      return false;
  }
  if (word.size() < 3 || word[1] != '.') return false;
  word.remove_prefix(2);
  if (word[0] == '~') {
    spec.relaxed = true;
    word.remove_prefix(1);
  }
  if (word == "w") {
    spec.wide = true;
    return true;
  }
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '2') {
    spec.typeIndex = static_cast<uint8_t>(word[0] - '0');
    return true;
  }
  auto type = findMod(word);
  if (!type || !isType(*type)) return false;
  spec.type = *type;
  return true;
}

bool parseOperands(std::string_view text, InstrRow& row) {
  if (text == "control") {
    row.controlOperands = true;
    return true;
  }
  while (!text.empty()) {
    size_t space = text.find(' ');
    OperandSpec spec;
    if (!parseOperand(text.substr(0, space), spec)) return false;
    row.operands.push_back(spec);
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return row.operands.size() <= kMaxOperands;
}

struct Table {
  std::vector<InstrRow> rows;
  std::vector<std::string_view> malformed;
  std::unordered_map<std::string_view, std::vector<const InstrRow*>> byOpcode;

  Table() {
    rows.reserve(std::size(kRaw));
    for (const RawRow& raw : kRaw) {
      InstrRow row;
      row.pattern = raw.pattern;
      row.ptx = raw.ptx;
      row.sm = raw.sm;
      row.family = raw.family;
      row.index = static_cast<uint16_t>(rows.size());
      if (!parsePattern(raw.pattern, row) || !parseOperands(raw.operands, row)) {
        malformed.push_back(raw.pattern);
      }
      rows.push_back(std::move(row));
    }
    for (const InstrRow& row : rows) byOpcode[row.opcode].push_back(&row);
  }
};

const Table& table() {
  static const Table* t = new Table;
  return *t;
}

// Backtracking over at most kMaxModifiers slots.
bool matchFrom(const InstrRow& row, size_t slot, std::span<const Mod> mods) {
  if (slot == row.slots.size()) return mods.empty();
  const PatternSlot& s = row.slots[slot];
  if (!mods.empty()) {
    for (Mod choice : s.choices) {
      if (choice == mods[0] && matchFrom(row, slot + 1, mods.subspan(1))) return true;
    }
  }
  return s.optional && matchFrom(row, slot + 1, mods);
}

// Words whose order among themselves says what they are: types, the layouts of two matrices, the
// state spaces of a copy.
enum class OrderedKind : uint8_t { none, type, layout, space };

OrderedKind orderedKind(Mod m) {
  if (isType(m)) return OrderedKind::type;
  switch (m) {
    case Mod::rowMajor:
    case Mod::colMajor:
      return OrderedKind::layout;
    case Mod::global:
    case Mod::shared:
    case Mod::sharedCta:
    case Mod::sharedCluster:
      return OrderedKind::space;
    default:
      return OrderedKind::none;
  }
}

// As matchFrom, but a slot may take any of the words that are left, unless one of the same ordered
// kind is before it. `out` gets the words in the order of the slots.
bool matchUnordered(const InstrRow& row, size_t slot, std::vector<Mod>& left,
                    std::vector<Mod>& out) {
  if (slot == row.slots.size()) return left.empty();
  const PatternSlot& s = row.slots[slot];
  std::bitset<4> passed;  // Kinds of words before this one.
  for (size_t i = 0; i < left.size(); ++i) {
    Mod m = left[i];
    size_t kind = static_cast<size_t>(orderedKind(m));
    bool free = kind == 0 || !passed[kind];
    passed.set(kind);
    if (std::find(left.begin(), left.begin() + i, m) != left.begin() + i) continue;  // Tried.
    if (!free || std::find(s.choices.begin(), s.choices.end(), m) == s.choices.end()) continue;
    left.erase(left.begin() + i);
    out.push_back(m);
    if (matchUnordered(row, slot + 1, left, out)) return true;
    out.pop_back();
    left.insert(left.begin() + i, m);
  }
  return s.optional && matchUnordered(row, slot + 1, left, out);
}

bool hasAny(std::span<const Mod> mods, std::initializer_list<Mod> some) {
  return std::find_first_of(mods.begin(), mods.end(), some.begin(), some.end()) != mods.end();
}

// How many of the first words of `mods`, which is in the order of a row, belong to the opcode or
// have their meaning from their place.
size_t fixedWords(std::string_view opcode, std::span<const Mod> mods) {
  auto is = [&](std::initializer_list<std::string_view> some) {
    return std::find(some.begin(), some.end(), opcode) != some.end();
  };
  if (is({"mma", "wgmma", "ldmatrix", "stmatrix", "tensormap", "createpolicy"})) {
    return kMaxModifiers;
  }
  if (is({"bar", "barrier", "brx", "cvta", "dp2a", "mad24", "madc", "mul24", "shf"})) return 1;
  if (is({"wmma"})) return 2;
  if (is({"mul", "mad"})) return hasAny(mods, {Mod::lo, Mod::hi, Mod::wide}) ? 1 : 0;
  if (is({"cvt"})) return hasAny(mods, {Mod::pack}) ? 1 : 0;
  if (is({"mbarrier"})) {
    return mods.size() > 1 &&
                   hasAny(mods.subspan(1, 1), {Mod::expectTx, Mod::noComplete, Mod::parity})
               ? 2
               : 1;
  }
  if (is({"cp"})) return hasAny(mods, {Mod::bulk, Mod::mbarrier}) ? kMaxModifiers : 1;
  if (is({"st", "red"})) return hasAny(mods, {Mod::async}) ? kMaxModifiers : 0;
  // Of a fence of memory no word belongs to the opcode.
  if (is({"fence"})) {
    return hasAny(mods, {Mod::sc, Mod::acqRel, Mod::acquire, Mod::release}) &&
                   !hasAny(mods, {Mod::proxy, Mod::mbarrierInit, Mod::restrictCta,
                                  Mod::restrictCluster, Mod::tensormapGeneric})
               ? 0
               : kMaxModifiers;
  }
  return 0;
}

}  // namespace

FamilyKind familyKind(Family f) {
  switch (f) {
#define SIM_FAMILY(name, how) \
  case Family::name:          \
    return FamilyKind::how;
#include "mtlc/sim/isa/families.def"
  }
  return FamilyKind::control;
}

std::span<const InstrRow> instructionTable() { return table().rows; }

std::span<const InstrRow* const> rowsOf(std::string_view opcode) {
  auto it = table().byOpcode.find(opcode);
  if (it == table().byOpcode.end()) return {};
  return it->second;
}

bool isUnsupportedOpcode(std::string_view opcode) {
  static constexpr std::string_view kOpcodes[] = {
#define OPCODE(name) #name,
#include "mtlc/sim/isa/unsupported.def"
  };
  return std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode) != std::end(kOpcodes);
}

bool matchRow(const InstrRow& row, std::span<const Mod> mods, Form& form) {
  if (mods.size() > kMaxModifiers || !matchFrom(row, 0, mods)) return false;
  form = Form{};
  form.row = &row;
  size_t types = 0;
  for (Mod m : mods) {
    form.mods[form.count++] = m;
    form.set.set(static_cast<size_t>(m));
    if (isType(m) && m != Mod::pred && types < form.types.size()) form.types[types++] = m;
  }
  if (types == 0 && form.has(Mod::pred)) form.types[0] = Mod::pred;
  return true;
}

bool matchRowInAnyOrder(const InstrRow& row, std::span<const Mod> mods, Form& form) {
  if (mods.size() > kMaxModifiers) return false;
  std::vector<Mod> left(mods.begin(), mods.end()), ordered;
  if (!matchUnordered(row, 0, left, ordered)) return false;
  size_t fixed = std::min(fixedWords(row.opcode, ordered), mods.size());
  if (!std::equal(mods.begin(), mods.begin() + fixed, ordered.begin())) return false;
  return matchRow(row, ordered, form);
}

Type operandType(const OperandSpec& spec, const Form& form) {
  if (spec.type != Mod::none) return spec.type;
  Type t = form.types[spec.typeIndex];
  if (!spec.wide) return t;
  switch (t) {
    case Mod::u16:
      return Mod::u32;
    case Mod::u32:
      return Mod::u64;
    case Mod::s16:
      return Mod::s32;
    case Mod::s32:
      return Mod::s64;
    default:
      return Mod::none;
  }
}

std::vector<std::string_view> malformedRows() { return table().malformed; }

}  // namespace mtlc::sim
