// A module decoded for execution: values numbered as slots of a frame, blocks flattened to one
// instruction array per function, branches to positions in it.

#ifndef MTLC_INTERP_PROGRAM_H_
#define MTLC_INTERP_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/ir/ir.h"

namespace mtlc::interp {

// Slot 0 of every frame is a defined zero: the operands that an operation does not have.
inline constexpr uint32_t kZeroSlot = 0;

// One operation other than `const`, whose value lives in its slot from the frame's start on.
struct Inst {
  const ir::Operation* op = nullptr;
  uint64_t imm = 0;  // See decodeOp() in program.cc.
  uint32_t id = 0;   // Its number in the program, from 1 on.
  uint32_t result = kZeroSlot;
  uint32_t a = kZeroSlot, b = kZeroSlot, c = kZeroSlot;
  ir::Opcode opcode{};
  ir::TypeKind type = ir::TypeKind::Void;  // That it computes in: of the first value operand.
  ir::TypeKind resultType = ir::TypeKind::Void;
  uint8_t width = 0;        // Bits of `type`.
  uint8_t resultWidth = 0;  // Bits of `resultType`.
  uint8_t bytes = 0;        // Memory: size of the element, of an asynchronous copy a transaction.
  ir::Space space{};        // Memory: that of the pointer.
  bool flush = false;       // Subnormal inputs and results become zeros (f32 with `ftz`).
};

// One value of a parallel copy.
struct Copy {
  uint32_t from;
  uint32_t to;
};

// A branch edge or the arguments of a call: copies[first, first + count) happen at once.
struct Edge {
  uint32_t target = 0;  // Position of an instruction; for a call, index of the function.
  uint32_t first = 0;
  uint32_t count = 0;
};

struct FunctionCode {
  const ir::Function* function = nullptr;
  uint32_t index = 0;    // In Program::functions().
  uint32_t firstId = 1;  // Inst::id of insts[0].
  // A frame: the zero slot, the constants, the parameters, then all other values.
  uint32_t slotCount = 1;
  uint32_t firstParam = 1;
  std::vector<uint64_t> constants;  // Of slots 1, 2, …
  std::vector<Inst> insts;
  std::vector<Edge> edges;
  std::vector<Copy> copies;
  // `alloc.private` operations: storage that lives as long as a frame.
  std::vector<const ir::Operation*> privates;
  std::vector<uint32_t> callees;  // Of each call.
  // Slots of the operands of tensor operations, which may be many: Inst::imm is the first.
  std::vector<uint32_t> operandSlots;
  // Itself, not through calls.
  bool hasBarrier = false;
  bool hasAtomics = false;       // Or fences.
  bool ordersSubgroups = false;  // Barriers of subgroups, tensor operations.
  bool hasAsync = false;
  const ir::Operation* hostOnly = nullptr;  // An operation of host code.
};

// Immutable after construction, so that launches may share it.
class Program {
 public:
  // `module` has passed ir::verify() and outlives the program. Uses Value::scratch and
  // Block::scratch of the module's values and blocks.
  explicit Program(const ir::Module& module);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const ir::Module& module() const { return module_; }
  const FunctionCode& function(uint32_t index) const { return functions_[index]; }
  // nullptr if there is no such kernel.
  const FunctionCode* findKernel(std::string_view name) const;

  // The instruction with this Inst::id.
  const Inst& inst(uint32_t id) const;

  // All `alloc.workgroup` operations of the module; Inst::imm is an index into this.
  std::span<const ir::Operation* const> workgroupAllocs() const { return workgroupAllocs_; }

  // Indices of `kernel` and of all functions that it may call, directly or not.
  std::vector<uint32_t> reachableFrom(const FunctionCode& kernel) const;

 private:
  void number(FunctionCode& code);
  void decode(FunctionCode& code);
  Inst decodeOp(FunctionCode& code, const ir::Operation& op);
  Edge makeEdge(FunctionCode& code, const ir::Successor& successor);

  const ir::Module& module_;
  std::vector<FunctionCode> functions_;
  absl::flat_hash_map<const ir::Function*, uint32_t> indexOf_;
  std::vector<const ir::Operation*> workgroupAllocs_;
};

}  // namespace mtlc::interp

#endif  // MTLC_INTERP_PROGRAM_H_
