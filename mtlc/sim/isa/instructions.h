// The instruction table of the simulator (instructions.def) in matchable form.

#ifndef MTLC_SIM_ISA_INSTRUCTIONS_H_
#define MTLC_SIM_ISA_INSTRUCTIONS_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mtlc/sim/isa/types.h"

namespace mtlc::sim {

enum class Family : uint8_t {
#define SIM_FAMILY(name, how) name,
#include "mtlc/sim/isa/families.def"
};
enum class FamilyKind : uint8_t { lane, memory, collective, control, matrix };
FamilyKind familyKind(Family f);

enum class OperandRole : uint8_t { dest, source, integer, memory, address, vector };

// One operand of a form, see the head of instructions.def.
struct OperandSpec {
  OperandRole role = OperandRole::source;
  // The type: `type` when it is named, else the `typeIndex`-th type modifier, widened or relaxed.
  Type type = Mod::none;
  uint8_t typeIndex = 0;
  bool wide = false;
  bool relaxed = false;
  bool optional = false;
  bool negatable = false;
  bool selector = false;  // Parts of the register may be selected.
  bool minus = false;     // A minus may stand before it.
  bool predicatePair = false;
  bool needsPair = false;  // The predicate must be there.
};

inline constexpr size_t kMaxModifiers = 16;
inline constexpr size_t kMaxOperands = 6;

// A place in a pattern: one of `choices`, or nothing when optional.
struct PatternSlot {
  std::vector<Mod> choices;
  bool optional = false;
};

struct InstrRow {
  std::string_view opcode;   // "add"
  std::string_view pattern;  // As in the table.
  std::vector<PatternSlot> slots;
  std::vector<OperandSpec> operands;
  bool controlOperands = false;  // The operand column says "control".
  uint8_t ptx = 0;               // Version * 10.
  uint8_t sm = 0;
  Family family = Family::intAdd;
  uint16_t index = 0;
};

// An opcode with its modifiers, matched against a row.
struct Form {
  const InstrRow* row = nullptr;
  uint8_t count = 0;
  std::array<Mod, kMaxModifiers> mods{};
  std::array<Type, 3> types{};  // The type modifiers in order; Mod::none where there are fewer.
  std::bitset<512> set;

  bool has(Mod m) const { return set[static_cast<size_t>(m)]; }
  // The first of `from` that the form has, or Mod::none.
  Mod firstOf(std::initializer_list<Mod> from) const {
    for (Mod m : from) {
      if (has(m)) return m;
    }
    return Mod::none;
  }
};

// All rows, in table order.
std::span<const InstrRow> instructionTable();
// Rows of one opcode; empty when there is none.
std::span<const InstrRow* const> rowsOf(std::string_view opcode);
// An opcode of PTX that has no row, see unsupported.def.
bool isUnsupportedOpcode(std::string_view opcode);
// True and `form` filled when `mods` is a spelling of `row`.
bool matchRow(const InstrRow& row, std::span<const Mod> mods, Form& form);
// The same for words in another order than the row's, as NVIDIA's assembler takes them and programs
// write them (`ex2.approx.f32.ftz`, `vote.ballot.sync.b32`, `atom.add.gpu.u32`): types, layouts and
// state spaces keep their order, and words that belong to the opcode (`mul.hi`) their place.
// `form` has the order of the row.
bool matchRowInAnyOrder(const InstrRow& row, std::span<const Mod> mods, Form& form);

// The type an operand of `spec` has in `form`.
Type operandType(const OperandSpec& spec, const Form& form);

// Text problems in the table itself, for its test: empty when every row is well formed.
std::vector<std::string_view> malformedRows();

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ISA_INSTRUCTIONS_H_
