// Operand types, opcode modifiers and state spaces of PTX as the simulator knows them.

#ifndef MTLC_SIM_ISA_TYPES_H_
#define MTLC_SIM_ISA_TYPES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace mtlc::sim {

enum class TypeClass : uint8_t { predicate, bits, unsignedInt, signedInt, floating, packed };

// A word after a dot of an opcode: first the types, then the other modifiers.
enum class Mod : uint16_t {
  none,
#define SIM_TYPE(name, bits, cls) name,
#include "mtlc/sim/isa/types.def"
  lastType = ue8m0x2,
#define SIM_MOD(id, spelling) id,
#include "mtlc/sim/isa/modifiers.def"
  count
};
static_assert(static_cast<int>(Mod::count) <= 512);
// Some lane functions keep modifiers up to this one in eight bits.
static_assert(static_cast<int>(Mod::popc) < 256);

// Types are the modifiers up to lastType.
using Type = Mod;

struct TypeRow {
  std::string_view name;
  uint8_t bits;
  TypeClass cls;
};

constexpr bool isType(Mod m) { return m > Mod::none && m <= Mod::lastType; }
const TypeRow& typeRow(Type t);  // t must be a type.
inline unsigned typeBits(Type t) { return typeRow(t).bits; }
inline TypeClass typeClass(Type t) { return typeRow(t).cls; }

std::string_view modSpelling(Mod m);                    // Without the dot.
std::optional<Mod> findMod(std::string_view spelling);  // Types included.

enum class Space : uint8_t { generic, global, constant, local, param, shared };
std::string_view spaceName(Space s);

// Memory order and scope of an access (PTX ISA, "Memory Consistency Model").
enum class Order : uint8_t { weak, relaxed, acquire, release, acqRel, sc };
enum class Scope : uint8_t { cta, cluster, gpu, sys };

}  // namespace mtlc::sim

#endif  // MTLC_SIM_ISA_TYPES_H_
