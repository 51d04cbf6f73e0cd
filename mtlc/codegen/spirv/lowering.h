// One IR function to SPIR-V instructions.
//
// Values map to ids one to one, with these representations:
//   i1              OpTypeBool; a byte in memory and in parameters
//   f16, bf16       the bits, in a 16-bit integer; arithmetic is done in f32 and rounded once. So
//                   no capability for half floats is needed, and bf16 is like f16
//   pointers        to bytes, in the storage class of their space
// Block arguments become OpPhi. Blocks stand in reverse post-order, each after its dominator; there
// are no merge instructions (kernels need none).

#ifndef MTLC_CODEGEN_SPIRV_LOWERING_H_
#define MTLC_CODEGEN_SPIRV_LOWERING_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "mtlc/codegen/spirv/module_builder.h"
#include "mtlc/ir/ir.h"

namespace mtlc::spirv {

// What all functions of a module know of each other.
struct ModuleState {
  explicit ModuleState(const SpirvProfile& profile) : out(profile) {}
  ModuleBuilder out;
  bool lineInfo = false;
  const SourceManager* sources = nullptr;
  absl::flat_hash_map<const ir::Function*, Id> functions;
  // Functions that use the launch-sized arena, themselves or through a call: it is their last
  // parameter.
  absl::flat_hash_set<const ir::Function*> usesArena;
  // Functions with a barrier in them or below; inlined before, unless that would make a function
  // far too large.
  absl::flat_hash_set<const ir::Function*> hasBarrier;
  // Functions that ask for a position in the launch, themselves or below.
  absl::flat_hash_set<const ir::Function*> usesPosition;

  // Built-in variables that a function reads itself, each once.
  absl::flat_hash_map<const ir::Function*, std::vector<Id>> builtins;

  Id functionId(const ir::Function* f) {
    Id& id = functions[f];
    if (id == 0) id = out.newId();
    return id;
  }
};

class FunctionLowering {
 public:
  FunctionLowering(ModuleState& state, ir::Function& function)
      : state_(state), out_(state.out), function_(function) {}

  // Appends the function and its names to the module.
  void lower();

 private:
  // ---- Function (lowering.cc) ----
  void collectBlocks();
  void declareParams();
  void lowerBlock(ir::Block& block);
  void lowerPhis(ir::Block& block);
  void lowerOp(ir::Operation& op);
  void lowerTerminator(ir::Operation& op);
  void lowerCall(ir::Operation& op);
  void finishPhis();
  void line(SourceLoc loc);

  // ---- Integers (lower_int.cc) ----
  Id integer(ir::Operation& op);
  Id division(ir::Operation& op);
  Id shift(ir::Operation& op);
  Id mulHigh(ir::Operation& op);
  Id countBits(ir::Operation& op);
  Id logic(ir::Operation& op);
  Id compareInt(ir::Operation& op);
  Id select(ir::Operation& op);
  Id castInt(ir::Operation& op);

  // ---- Floats (lower_float.cc) ----
  Id floatOp(ir::Operation& op);
  Id roundToIntegral(Id type, unsigned bits, uint32_t function, Id a);
  Id floatMinMax(Id type, unsigned bits, ir::Opcode opcode, Id a, Id b);
  Id halfFma(ir::Operation& op);
  Id mathFunction(ir::Operation& op);
  Id compareFloat(ir::Operation& op);
  Id convertFloat(ir::Operation& op);
  Id floatToInt(ir::Operation& op);
  Id intToFloat(ir::Operation& op);
  Id bitcast(ir::Operation& op);
  // Any float as f32, exact for f16 and bf16; and back with one rounding.
  Id widen(const ir::Value* v);
  Id widenHalf(ir::Type type, Id bits);
  Id narrow(ir::Type type, Id f32);
  // `f32` is `exact` rounded to nearest; `isLarger`: in magnitude. Its bits, rounded to odd.
  Id toOdd(Id f32Bits, Id inexact, Id isLarger);

  // ---- Memory, positions, atomics, subgroups (lower_memory.cc, lower_gpu.cc) ----
  void allocate(ir::Operation& op);
  Id arena();
  Id pointerAdd(ir::Operation& op);
  Id load(ir::Operation& op);
  void store(ir::Operation& op);
  Id castPointer(ir::Operation& op);
  Id position(ir::Operation& op);
  void barrier(ir::Operation& op);
  Id atomic(ir::Operation& op);
  Id subgroup(ir::Operation& op);
  Id builtinVariable(spv::BuiltIn which);
  Id builtinWord(spv::BuiltIn which);
  Id semantics(ir::MemoryOrder order, uint8_t regions);
  Id scope(ir::Scope scope);

  // ---- Helpers ----
  Id emit(spv::Op op, Id type, std::initializer_list<uint32_t> operands) {
    const Id id = out_.newId();
    Words& words = out_.functions();
    words.push_back(static_cast<uint32_t>(operands.size() + 3) << 16 | static_cast<uint32_t>(op));
    words.push_back(type);
    words.push_back(id);
    words.insert(words.end(), operands);
    return id;
  }
  void effect(spv::Op op, std::initializer_list<uint32_t> operands) {
    append(out_.functions(), op, operands);
  }
  // An instruction of OpenCL.std.
  Id ext(uint32_t instruction, Id type, std::initializer_list<uint32_t> operands);
  Id choose(Id type, Id condition, Id ifTrue, Id ifFalse) {
    return emit(spv::Op::OpSelect, type, {condition, ifTrue, ifFalse});
  }
  Id boolType() { return out_.boolType(); }
  Id intType(unsigned bits) { return out_.intType(bits); }
  Id f32Type() { return out_.floatType(32); }
  Id f64Type() { return out_.floatType(64); }
  Id constInt(unsigned bits, uint64_t value) { return out_.intConstant(bits, value); }
  Id constF32(uint32_t bits) { return out_.floatConstant(32, bits); }

  // The type of a value; of what is stored in memory or passed as a parameter.
  Id typeOf(ir::Type type);
  Id storedType(ir::Type type);
  static bool isHalf(ir::Type type) {
    return type.kind() == ir::TypeKind::F16 || type.kind() == ir::TypeKind::BF16;
  }
  Id use(const ir::Value* v) { return values_[v->scratch]; }
  void define(const ir::Value* v, Id id) { values_[v->scratch] = id; }
  Id constant(ir::Type type, uint64_t bits);
  // The address as a pointer to the stored type of `elem`.
  Id typedPointer(const ir::Value* pointer, ir::Type elem);
  static spv::StorageClass storageOf(ir::Space space);

  ModuleState& state_;
  ModuleBuilder& out_;
  ir::Function& function_;
  std::vector<ir::Block*> order_;
  std::vector<Id> labels_;  // By Block::scratch.
  std::vector<Id> values_;  // By Value::scratch.
  // The typed pointers that ptr.adds were computed with.
  absl::flat_hash_map<std::pair<const ir::Value*, Id>, Id> typed_;
  struct Phi {
    size_t at;  // Of the first operand pair, among the words of the functions.
    const ir::Value* arg;
  };
  std::vector<Phi> phis_;
  // What a branch with both arms on one block passes for an argument.
  absl::flat_hash_map<std::pair<const ir::Operation*, const ir::Value*>, Id> merged_;
  Id arena_ = 0;
  SourceLoc lastLine_;
};

}  // namespace mtlc::spirv

#endif  // MTLC_CODEGEN_SPIRV_LOWERING_H_
