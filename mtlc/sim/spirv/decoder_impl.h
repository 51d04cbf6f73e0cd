// The decoder's classes, shared by its source files only.

#ifndef MTLC_SIM_SPIRV_DECODER_IMPL_H_
#define MTLC_SIM_SPIRV_DECODER_IMPL_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/lanes/lanes.h"
#include "mtlc/sim/program_builder.h"
#include "mtlc/sim/spirv/decoder.h"

namespace mtlc::sim::spirv {

// The registers of a value, one for each scalar in it. Integers of 8 and 16 bits have any upper
// bits.
using Value = std::vector<Ref>;

// A scalar in a value, and its place in memory.
struct Scalar {
  Kind kind = Kind::integer;
  uint16_t bits = 32;
  uint64_t offset = 0;

  Bank bank() const {
    return kind == Kind::boolean ? Bank::pred : bits == 64 ? Bank::r64 : Bank::r32;
  }
  uint32_t bytes() const { return bits <= 8 ? 1 : bits / 8; }
};

// A lane function by the spelling that PTX has for it, as "add.s32".
struct LaneOp {
  LaneFn fn = nullptr;
  int64_t imm = 0;
  uint16_t row = 0;
  bool isConversion = false;
};

inline constexpr uint64_t kMaxValueParts = 4096;
inline constexpr uint32_t kMaxSlots = 1u << 18;  // Registers of a function, of one width.
inline constexpr size_t kMaxCode = 1u << 20;     // Instructions of a kernel.

class KernelDecoder {
 public:
  KernelDecoder(const Binary& binary, const Addresses& addresses, const DecodeOptions& options,
                DiagnosticEngine& diags)
      : binary_(binary),
        addresses_(addresses),
        lanes_(laneTable(options.portable)),
        diags_(diags) {}

  std::unique_ptr<Program> run(const EntryPoint& entry);

  const Binary& binary() const { return binary_; }
  const LaneTable& lanes() const { return lanes_; }
  DiagnosticEngine& diags() { return diags_; }
  ProgramBuilder& builder() { return builder_; }
  Program& program() { return builder_.program(); }

  // The scalars of a type; nullptr after a report when they are too many.
  const std::vector<Scalar>* scalars(Id type, SourceLoc at);
  // A module-level constant or the address of a module-level variable; nullptr: it is neither.
  const Value* constant(Id id, SourceLoc at);
  const LaneOp& lane(const std::string& spelling);
  // An atomic operation: no lane function of the table by spelling alone.
  bool form(const std::string& spelling, Form& out);
  std::optional<uint32_t> functionIndex(Id id) const;
  uint32_t fileIndex(Id string);
  bool refuse(SourceLoc at, const std::string& what);

 private:
  bool appendScalars(Id type, uint64_t offset, std::vector<Scalar>& out);
  bool buildConstant(Id id, SourceLoc at, Value& out);

  const Binary& binary_;
  const Addresses& addresses_;
  const LaneTable& lanes_;
  DiagnosticEngine& diags_;
  ProgramBuilder builder_;
  std::vector<const FunctionInfo*> reachable_;
  std::unordered_map<Id, uint32_t> functionIndex_;
  std::unordered_map<Id, std::vector<Scalar>> scalars_;
  std::unordered_map<Id, Value> constants_;
  std::unordered_map<std::string, LaneOp> laneOps_;
  std::unordered_map<Id, uint32_t> files_;
};

// A place in memory.
struct Place {
  Ref base = kNoRef;
  int64_t offset = 0;
  Space space = Space::generic;
};

class FunctionDecoder {
 public:
  FunctionDecoder(KernelDecoder& kernel, const FunctionInfo& function, uint32_t index)
      : k_(kernel), b_(kernel.binary()), p_(kernel.program()), f_(function), index_(index) {}
  void run();

 private:
  struct Fixup {
    uint32_t instr;
    Id label;
  };
  struct PhiCopy {
    Value to;
    Value from;
  };

  // decoder.cc: structure.
  void declareParams();
  std::optional<Ref> copyOfArgument(const Inst& in, const Place& from);
  Ref frameAddress(uint64_t offset);
  void declarePhis();
  bool block(size_t i);
  bool instruction(const Inst& in);
  bool terminator(const Inst& in, size_t blockIndex);
  bool copyPhis(Id from, Id to);
  bool hasPhis(Id label) const;
  void branchTo(Id label, Ref guard = kNoRef);
  void goTo(Id label, size_t blockIndex);
  bool edge(Id from, Id to, size_t blockIndex);
  bool conditional(const Inst& in, size_t blockIndex);
  bool switchOn(const Inst& in, size_t blockIndex);
  bool call(const Inst& in);
  bool returnFrom(const Inst& in);

  // Values.
  const Value* value(Id id);
  Ref newSlot(Bank bank);
  Ref scratch(Bank bank) { return newSlot(bank); }
  Ref scratchFor(const Scalar& s) { return newSlot(s.bank()); }
  const std::vector<Scalar>* scalarsOf(Id type) { return k_.scalars(type, loc_); }
  // New registers for the result of `in`, under its id.
  Value* define(const Inst& in);
  void alias(const Inst& in, Value v) { values_[in.result] = std::move(v); }
  const Type& typeOfValue(Id id) const { return b_.type(b_.def(id).type); }
  // The scalar type of a scalar or vector value.
  const Type& elementType(Id typeId) const;

  // Emission.
  Instr& emit(const Instr& in);
  bool lane(const std::string& spelling, Ref dst, std::initializer_list<Ref> sources);
  Ref laneTo(Bank bank, const std::string& spelling, std::initializer_list<Ref> sources);
  void move(Ref dst, Ref src);
  void emitMove(MoveKind kind, Ref dst, Ref src, int64_t imm = 0);
  void hostFunction(LaneFn fn, int64_t imm, const char* like, Ref dst,
                    std::initializer_list<Ref> sources);
  bool refuse(const std::string& what) { return k_.refuse(loc_, what); }
  Ref constant32(uint32_t v) { return k_.builder().constant32(v); }
  Ref constant64(uint64_t v) { return k_.builder().constant64(v); }
  Ref constantOf(const Scalar& s, uint64_t bits);
  Ref special(Special s) { return k_.builder().special(s); }
  Ref special64(Special s);

  // decoder_arith.cc
  bool arithmetic(const Inst& in, bool& known);
  bool componentwise(const Inst& in, const std::string& spelling, bool swapped = false);
  bool integerBinary(const Inst& in, const char* name, bool signedForm, bool exact);
  bool shift(const Inst& in, bool left, bool isSigned);
  bool signedModulo(const Inst& in);
  bool floatBinary(const Inst& in, const char* name);
  bool signBit(const Inst& in, bool flip, size_t first);
  bool floatHost(const Inst& in, uint32_t entry);
  bool compareIntegers(const Inst& in, const char* relation, bool isSigned);
  bool compareFloats(const Inst& in, const char* relation);
  bool classify(const Inst& in);
  bool logical(const Inst& in);
  bool select(const Inst& in);
  bool convert(const Inst& in);
  bool convertScalar(const Inst& in, const Scalar& from, const Scalar& to, Ref src, Ref dst);
  bool bitcast(const Inst& in);
  bool wideArithmetic(const Inst& in);
  bool bits(const Inst& in);
  bool dot(const Inst& in);
  // `r` with the upper bits that its value has in 16 (or `to`) bits.
  Ref widened(Ref r, unsigned bits, bool isSigned, unsigned to = 16);
  Ref toFloat32(Ref half);
  void fromFloat32(Ref single, Ref half);
  Ref asWord(Ref r, const Scalar& s, bool isSigned);

  // decoder_composite.cc
  bool composite(const Inst& in, bool& known);
  bool extractOffset(Id typeId, std::span<const uint32_t> indices, uint64_t& first, uint64_t& count,
                     Id& resultType);
  bool dynamicElement(const Inst& in, bool insert);

  // decoder_memory.cc
  bool memory(const Inst& in, bool& known);
  void declareVariables();
  bool variable(const Inst& in);
  static Space spaceOf(spv::StorageClass storage);
  std::optional<Place> place(Id pointer);
  bool loadValue(const Place& at, Id type, uint64_t align, bool isVolatile, const Value& to);
  bool storeValue(const Place& at, Id type, uint64_t align, bool isVolatile, const Value& from);
  void access(bool isLoad, const Place& at, unsigned bytes, std::span<const Ref> registers,
              bool isVolatile, uint8_t orderScope = 0);
  void accessScalar(bool isLoad, const Place& at, const Scalar& s, uint64_t align, Ref r,
                    bool isVolatile);
  bool loadOrStore(const Inst& in);
  bool accessChain(const Inst& in, bool element);
  Ref scaledAdd(Ref base, Ref index, const Scalar& indexType, uint64_t scale);
  bool copyMemory(const Inst& in);
  bool copyBytes(const Place& to, const Place& from, uint64_t bytes, uint64_t align,
                 bool isVolatile);
  bool pointerCast(const Inst& in);
  bool atomic(const Inst& in);
  bool builtinLoad(const Inst& in, Id variable, std::optional<uint32_t> component);
  bool builtinPart(uint32_t builtin, uint32_t component, const Scalar& s, Ref dst);

  // decoder_group.cc
  bool group(const Inst& in, bool& known);
  bool barrier(const Inst& in);
  void fence(uint8_t order, uint8_t scope);
  bool memorySemantics(Id scope, Id semantics, uint8_t& order, uint8_t& scopeOut);
  bool groupOperation(const Inst& in, GroupSite site, size_t firstOperand, bool scoped);
  bool groupTypesFit(const Inst& in, const GroupSite& site, const std::vector<Scalar>& operand);
  bool ballotQuery(const Inst& in);
  bool emitGroup(const Inst& in, GroupSite site, Id valueId, Id indexId);
  bool asyncCopy(const Inst& in);
  void workgroupBarrier();

  // decoder_ext.cc
  bool extended(const Inst& in);
  bool extendedMath(const Inst& in, uint32_t entry);
  bool extendedInteger(const Inst& in, uint32_t entry);
  bool extendedOther(const Inst& in, uint32_t entry);
  bool vectorMemory(const Inst& in, uint32_t entry);
  bool lengthLike(const Inst& in, uint32_t entry);

  KernelDecoder& k_;
  const Binary& b_;
  Program& p_;
  const FunctionInfo& f_;
  uint32_t index_;
  std::unordered_map<Id, Value> values_;
  struct BuiltinPointer {
    uint32_t builtin;
    std::optional<uint32_t> component;
  };
  std::unordered_map<Id, BuiltinPointer> builtinPointers_;
  std::unordered_map<Id, uint32_t> labels_;
  std::unordered_map<Id, std::vector<uint32_t>> phis_;  // By block: instructions.
  std::vector<Fixup> fixups_;
  uint32_t slots_[3] = {0, 0, 1};  // Predicate 0 is PTX's carry flag.
  FrameLayout frame_;
  std::unordered_map<Id, uint64_t> frameVariables_;
  SourceLoc loc_;
  uint32_t sourceFile_ = 0;
  uint32_t sourceLine_ = 0;
  uint32_t sourceColumn_ = 0;
};

}  // namespace mtlc::sim::spirv

#endif  // MTLC_SIM_SPIRV_DECODER_IMPL_H_
