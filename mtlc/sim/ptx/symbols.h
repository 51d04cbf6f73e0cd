// Names of a module and where its variables lie.

#ifndef MTLC_SIM_PTX_SYMBOLS_H_
#define MTLC_SIM_PTX_SYMBOLS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/ptx/ast.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::sim::ptx {

// A module-scope name.
struct ModuleSymbol {
  enum class Kind : uint8_t { variable, function };
  Kind kind = Kind::variable;
  const Variable* variable = nullptr;
  const Function* function = nullptr;
  uint64_t address = 0;  // Device address of a global or const variable; handle of a function.
  uint32_t functionIndex = 0;  // In the module.
};

class ModuleSymbols {
 public:
  // Enters all names of `module`, which must outlive this; reports double definitions.
  ModuleSymbols(const Module& module, DiagnosticEngine& diags);

  const ModuleSymbol* find(std::string_view name) const {
    auto it = symbols_.find(name);
    return it == symbols_.end() ? nullptr : &it->second;
  }
  ModuleSymbol* findMutable(std::string_view name) {
    auto it = symbols_.find(name);
    return it == symbols_.end() ? nullptr : &it->second;
  }
  // Enters a variable declared inside a function. Its name must be new.
  void addVariable(const Variable& v);
  const Module& module() const { return module_; }
  // The module's function whose handle is `address`, or nullptr.
  const Function* functionAt(uint64_t address) const;
  // Functions that may be called through a register: their names stand in an initialiser or in an
  // operand other than the callee of a call. Found on first use; not thread-safe.
  const std::vector<const Function*>& addressTaken() const;
  uint64_t functionBase() const { return functionBase_; }
  void setFunctionBase(uint64_t base);  // Handles are base, base + 16, …

 private:
  const Module& module_;
  std::unordered_map<std::string_view, ModuleSymbol> symbols_;
  uint64_t functionBase_ = 0;
  mutable std::optional<std::vector<const Function*>> addressTaken_;
};

inline constexpr uint64_t kFunctionStride = 16;

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_SYMBOLS_H_
