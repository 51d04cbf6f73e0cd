#include "mtlc/ir/op_table.h"

#include "absl/container/flat_hash_map.h"

namespace mtlc::ir {
namespace {

struct ComparePair {
  Opcode op, inverted, swapped;
};
constexpr ComparePair kCompares[] = {
    {Opcode::CmpEq, Opcode::CmpNe, Opcode::CmpEq},
    {Opcode::CmpNe, Opcode::CmpEq, Opcode::CmpNe},
    {Opcode::CmpSlt, Opcode::CmpSge, Opcode::CmpSgt},
    {Opcode::CmpSle, Opcode::CmpSgt, Opcode::CmpSge},
    {Opcode::CmpSgt, Opcode::CmpSle, Opcode::CmpSlt},
    {Opcode::CmpSge, Opcode::CmpSlt, Opcode::CmpSle},
    {Opcode::CmpUlt, Opcode::CmpUge, Opcode::CmpUgt},
    {Opcode::CmpUle, Opcode::CmpUgt, Opcode::CmpUge},
    {Opcode::CmpUgt, Opcode::CmpUle, Opcode::CmpUlt},
    {Opcode::CmpUge, Opcode::CmpUlt, Opcode::CmpUle},
    {Opcode::FCmpOeq, Opcode::FCmpUne, Opcode::FCmpOeq},
    {Opcode::FCmpOgt, Opcode::FCmpUle, Opcode::FCmpOlt},
    {Opcode::FCmpOge, Opcode::FCmpUlt, Opcode::FCmpOle},
    {Opcode::FCmpOlt, Opcode::FCmpUge, Opcode::FCmpOgt},
    {Opcode::FCmpOle, Opcode::FCmpUgt, Opcode::FCmpOge},
    {Opcode::FCmpOne, Opcode::FCmpUeq, Opcode::FCmpOne},
    {Opcode::FCmpOrd, Opcode::FCmpUno, Opcode::FCmpOrd},
    {Opcode::FCmpUeq, Opcode::FCmpOne, Opcode::FCmpUeq},
    {Opcode::FCmpUgt, Opcode::FCmpOle, Opcode::FCmpUlt},
    {Opcode::FCmpUge, Opcode::FCmpOlt, Opcode::FCmpUle},
    {Opcode::FCmpUlt, Opcode::FCmpOge, Opcode::FCmpUgt},
    {Opcode::FCmpUle, Opcode::FCmpOgt, Opcode::FCmpUge},
    {Opcode::FCmpUne, Opcode::FCmpOeq, Opcode::FCmpUne},
    {Opcode::FCmpUno, Opcode::FCmpOrd, Opcode::FCmpUno},
};
constexpr int kFirstCompare = static_cast<int>(Opcode::CmpEq);
static_assert(static_cast<int>(Opcode::FCmpUno) - kFirstCompare + 1 == std::size(kCompares));

const ComparePair& comparePair(Opcode opcode) {
  return kCompares[static_cast<int>(opcode) - kFirstCompare];
}

}  // namespace

Opcode invertedCompare(Opcode opcode) { return comparePair(opcode).inverted; }
Opcode swappedCompare(Opcode opcode) { return comparePair(opcode).swapped; }

std::optional<Opcode> opcodeFromMnemonic(std::string_view mnemonic) {
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<std::string_view, Opcode>();
    for (int i = 0; i < kOpcodeCount; ++i) {
      Opcode opcode = static_cast<Opcode>(i);
      map->emplace(opInfo(opcode).mnemonic, opcode);
    }
    return map;
  }();
  auto it = kByName->find(mnemonic);
  if (it == kByName->end()) return std::nullopt;
  return it->second;
}

}  // namespace mtlc::ir
