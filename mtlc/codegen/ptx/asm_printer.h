// Machine code as PTX text.

#ifndef MTLC_CODEGEN_PTX_ASM_PRINTER_H_
#define MTLC_CODEGEN_PTX_ASM_PRINTER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/codegen/ptx/coalesce.h"
#include "mtlc/codegen/ptx/machine.h"
#include "mtlc/ir/ir.h"

namespace mtlc::ptx {

// The launch-sized arena of a module; '$' and no hexadecimal digit after it, so that no function is
// called that.
inline constexpr std::string_view kArenaName = "mtlc$workgroup_arena";

class AsmPrinter {
 public:
  // `nameOf` gives the PTX name of a function of the module.
  AsmPrinter(std::string& out, bool lineInfo,
             std::function<std::string_view(const ir::Function&)> nameOf)
      : out_(out), lineInfo_(lineInfo), nameOf_(std::move(nameOf)) {}

  // The whole definition, from `.visible .entry` or `.func` to the closing brace. `comments` are
  // lines at the top of the body.
  void printFunction(const ir::Function& function, const MachineFunction& machine, uint32_t number,
                     std::span<const std::string> comments = {});
  // `.func` and the parameters, for a declaration that ends in a semicolon.
  void printPrototype(const ir::Function& function);
  // The `.file` directives that the printed functions refer to.
  void printFiles(const SourceManager& sources);

 private:
  void printSignature(const ir::Function& function);
  void printBody(const MachineFunction& machine, uint32_t number);
  void printInst(const MachineInst& inst);
  void printOrder(const MachineInst& inst);
  void printCall(const MachineInst& inst);
  void printGroups(const MachineInst& inst);
  void printWaitLoop(const MachineInst& inst, std::string_view stem);
  void printAddress(Opnd base, int32_t offset);
  void printLoc(SourceLoc loc);
  void printTerminator(uint32_t index);
  void printCopies(const MachineEdge& edge);
  // True if some copy of the edge is left after coalescing.
  bool hasCopies(const MachineEdge& edge) const;
  // How a block is left: a conditional branch along `away` (if any) when the condition is `holds`,
  // then on along `fall`.
  struct BranchPlan {
    const MachineEdge* away = nullptr;
    const MachineEdge* fall = nullptr;
    bool holds = true;
    bool awayCopies = false;  // The branch goes to copies that stand behind those of `fall`.
  };
  BranchPlan planBranch(uint32_t index, uint32_t next) const;
  bool repeatsHead(uint32_t index) const;
  void printBranchTo(Opnd cond, bool holds);
  void printExit(uint32_t index, uint32_t next);
  void printInsts(const MachineBlock& block);
  void printJump(uint32_t target);
  void label(uint32_t block);
  void edgeLabel(uint32_t block);

  void text(std::string_view s) { body_.append(s); }
  void number(uint64_t n);
  void immediate(uint64_t bits, PtxType type, bool hex);
  void reg(uint32_t vreg);
  void operand(Opnd o, PtxType type, bool hex = false);

  std::string& out_;
  bool lineInfo_;
  std::function<std::string_view(const ir::Function&)> nameOf_;

  const MachineFunction* machine_ = nullptr;
  std::string_view functionName_;
  std::string labelPrefix_;
  Coalescer coalescer_;
  ParallelCopies parallel_;
  std::string body_;
  std::vector<RegClass> classes_;  // By virtual register, those made here included.
  std::vector<uint32_t>
      names_;  // By representative: the number in its class, 0 when not printed yet.
  uint32_t counts_[kRegClassCount] = {};
  std::vector<bool> labelled_;
  std::vector<ParallelCopies::Move> moves_, ordered_;
  std::vector<FileId> files_;  // Files by their number in .file, from 1.
  SourceLoc lastLoc_;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_ASM_PRINTER_H_
