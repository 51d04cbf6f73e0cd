#include "mtlc/sim/isa/types.h"

#include <unordered_map>

namespace mtlc::sim {
namespace {

constexpr TypeRow kTypes[] = {
    {"", 0, TypeClass::bits},
#define SIM_TYPE(name, bits, cls) {#name, bits, TypeClass::cls},
#include "mtlc/sim/isa/types.def"
};

constexpr std::string_view kSpellings[] = {
    "",
#define SIM_TYPE(name, bits, cls) #name,
#include "mtlc/sim/isa/types.def"
#define SIM_MOD(id, spelling) spelling,
#include "mtlc/sim/isa/modifiers.def"
};
static_assert(sizeof(kSpellings) / sizeof(kSpellings[0]) == static_cast<size_t>(Mod::count));

}  // namespace

const TypeRow& typeRow(Type t) { return kTypes[static_cast<size_t>(t)]; }

std::string_view modSpelling(Mod m) { return kSpellings[static_cast<size_t>(m)]; }

std::optional<Mod> findMod(std::string_view spelling) {
  static const auto* map = [] {
    auto* m = new std::unordered_map<std::string_view, Mod>;
    for (size_t i = 1; i < static_cast<size_t>(Mod::count); ++i) {
      m->emplace(kSpellings[i], static_cast<Mod>(i));
    }
    return m;
  }();
  auto it = map->find(spelling);
  if (it == map->end()) return std::nullopt;
  return it->second;
}

std::string_view spaceName(Space s) {
  switch (s) {
    case Space::generic:
      return "generic";
    case Space::global:
      return "global";
    case Space::constant:
      return "const";
    case Space::local:
      return "local";
    case Space::param:
      return "param";
    case Space::shared:
      return "shared";
  }
  return "";
}

}  // namespace mtlc::sim
