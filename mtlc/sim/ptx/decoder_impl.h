// The decoder's classes, shared by its source files only.

#ifndef MTLC_SIM_PTX_DECODER_IMPL_H_
#define MTLC_SIM_PTX_DECODER_IMPL_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mtlc/sim/program_builder.h"
#include "mtlc/sim/ptx/decoder.h"

namespace mtlc::sim::ptx {

// What a name means inside a function.
struct Local {
  enum class Kind : uint8_t { reg, range, variable, entryParam, table, prototype };
  Kind kind = Kind::reg;
  Type type = Mod::none;
  uint8_t vector = 1;
  const Variable* variable = nullptr;
  Space space = Space::local;  // variable: local or shared (param variables live in local memory)
  uint64_t offset = 0;         // variable, entryParam
  uint32_t slot = 0;           // reg: first slot; range: index of its slot table
  uint32_t count = 0;          // range
};

// State shared by the functions of one program.
class KernelDecoder {
 public:
  KernelDecoder(const ModuleSymbols& symbols, const DecodeOptions& options, DiagnosticEngine& diags)
      : symbols_(symbols), options_(options), diags_(diags), lanes_(laneTable(options.portable)) {}

  // `whole`: with all functions that the kernel can reach; else only its own code is decoded, to
  // check it.
  std::unique_ptr<Program> run(const Function& kernel, bool whole = true);

  Ref constant32(uint32_t value) { return builder_.constant32(value); }
  Ref constant64(uint64_t value) { return builder_.constant64(value); }
  Ref constantPred(bool value) { return builder_.constantPred(value); }
  Ref special(Special s) { return builder_.special(s); }
  // A special register that says where reserved shared memory is; nullopt: no such name.
  std::optional<Ref> reservedOffset(std::string_view name);
  // Index of a callable function in the program; it was found by the scan.
  std::optional<uint32_t> functionIndex(const Function* f) const;
  // Offset of a module-scope shared variable.
  std::optional<uint64_t> sharedOffset(const Variable* v) const;
  // Offset of a function's shared variable.
  uint64_t placeShared(const Variable& v);

  const ModuleSymbols& symbols() const { return symbols_; }
  const DecodeOptions& options() const { return options_; }
  DiagnosticEngine& diags() { return diags_; }
  const LaneTable& lanes() const { return lanes_; }
  Program& program() { return builder_.program(); }

 private:
  void scan(const Function& kernel);
  void scanOperand(const Operand& o);
  void scanName(std::string_view name);
  void scanFunction(const Function& f);

  const ModuleSymbols& symbols_;
  DecodeOptions options_;
  DiagnosticEngine& diags_;
  const LaneTable& lanes_;
  ProgramBuilder builder_;
  std::vector<const Function*> reachable_;
  std::unordered_map<const Function*, uint32_t> functionIndex_;
  std::unordered_map<const Variable*, uint64_t> shared_;
  std::vector<const Variable*> dynamicShared_;
  bool usesReserved_ = false;
};

class FunctionDecoder {
 public:
  FunctionDecoder(KernelDecoder& kernel, const Function& function, uint32_t index)
      : k_(kernel), p_(kernel.program()), f_(function), index_(index) {}
  void run();

 private:
  struct NameScope {
    std::unordered_map<std::string_view, Local> names;
    std::unordered_map<std::string_view, Local> ranges;  // By prefix, which is no name itself.
    uint32_t id = 0;
    uint32_t parent = 0;
  };
  struct Label {
    uint32_t target = kNever;
    bool used = false;
  };
  struct Fixup {
    uint32_t instr;  // Its `target`, or an entry of its branch table.
    uint32_t tableEntry;
    bool inTable;
    std::string_view label;
    uint32_t scope;
    SourceLoc loc;
  };
  static constexpr uint32_t kNever = 0xffffffffu;

  // Declarations (decoder.cc).
  void collectLabels();
  void declareParams();
  void declare(const Variable& v);
  bool addName(std::string_view name, const Local& local, SourceLoc loc);
  uint64_t placeLocal(const Variable& v);
  void statement(const Statement& s);
  void resolveFixups();
  Label* findLabel(std::string_view name, uint32_t scope);
  // The .branchtargets, .calltargets or .callprototype that `name` means here, which may stand
  // behind the place that uses it; nullptr if there is none of that kind, or (`!equal`) of another.
  const Statement* labelledDirective(std::string_view name, Statement::Kind kind, bool equal);

  // Names and operands (decoder_operands.cc).
  const Local* findLocal(std::string_view name, uint32_t* rangeIndex);
  struct Register {
    Type type = Mod::none;
    Ref ref = kNoRef;  // First slot; b128 has a second one behind it.
    uint32_t bits = 0;
  };
  std::optional<Register> findRegister(std::string_view name, std::string_view component,
                                       SourceLoc loc);
  uint32_t newSlot(Bank bank);
  Ref scratch(Bank bank) { return makeRef(File::frame, bank, newSlot(bank)); }
  std::optional<Ref> specialRegister(std::string_view name, std::string_view component);
  // The address of a variable or function as mov and cvta want it: constant, or relative to the
  // frame.
  struct SymbolAddress {
    Space space = Space::global;
    uint64_t value = 0;
    bool frameRelative = false;
  };
  std::optional<SymbolAddress> symbolAddress(const Operand& o);
  bool compatible(Type reg, Type wanted, bool relaxed) const;
  // The operand as a source of `type`.
  std::optional<Ref> source(const Operand& o, Type type, bool relaxed, bool negatable,
                            Type* regType);
  std::optional<Ref> destination(const Operand& o, Type type, bool relaxed, Type* regType);
  std::optional<Ref> pairDestination(const Operand& o);
  std::optional<Ref> immediate(const Constant& c, Type type, SourceLoc loc);
  bool immediateBits(const Constant& c, Type type, SourceLoc loc, uint64_t& bits);
  std::optional<Ref> addressValue(const Operand& o, Type type);
  // Fills base register, offset and space of a memory operand.
  bool memoryOperand(const Operand& o, Space asked, bool paramSpace, Instr& out);

  // Instructions (decoder_instr.cc, decoder_control.cc).
  void instruction(const Instruction& in);
  const Form* matchForm(const Instruction& in);
  bool operandCount(const Instruction& in, size_t least, size_t most);
  bool selectParts(Operand& o, size_t index, Family family, bool fourOperands, int64_t& imm);
  bool genericInstruction(const Instruction& in, const Form& form);
  bool moveInstruction(const Instruction& in, const Form& form);
  bool packMove(const Instruction& in, const Form& form);
  bool unpackMove(const Instruction& in, const Form& form);
  bool memoryInstruction(const Instruction& in, const Form& form);
  bool atomicInstruction(const Instruction& in, const Form& form);
  bool wideAtomic(const Instruction& in, const Form& form, Instr& out);
  bool fenceInstruction(const Instruction& in, const Form& form);
  bool barrierInstruction(const Instruction& in, const Form& form);
  bool branchInstruction(const Instruction& in, const Form& form);
  bool branchTableInstruction(const Instruction& in, const Form& form);
  bool callInstruction(const Instruction& in, const Form& form);
  bool stackInstruction(const Instruction& in, const Form& form);
  bool callValues(const std::vector<Operand>& operands, const std::vector<FormalValue>& formals,
                  bool results, SourceLoc loc, std::vector<CallValue>& out);
  // decoder_async.cc
  bool asyncAddress(const Operand& o, Space asked, AsyncAddress& out);
  bool asyncInstruction(const Instruction& in, const Form& form);
  bool copyInstruction(const Instruction& in, const Form& form, AsyncSite& site);
  bool mbarrierInstruction(const Instruction& in, const Form& form, AsyncSite& site, Ref& dst);
  bool asyncStore(const Instruction& in, const Form& form, AsyncSite& site);
  bool mapReplace(const Instruction& in, const Form& form, AsyncSite& site);
  bool bulkInstruction(const Instruction& in, const Form& form, AsyncSite& site);
  bool tensorOperand(const Operand& o, const Form& form, AsyncSite& site);
  bool constantOperand(const Operand& o, uint64_t& value);
  void emitAsync(AsyncSite site, Ref dst = kNoRef);
  bool simpleControl(const Instruction& in, const Form& form);

  // Matrices (decoder_matrix.cc).
  bool matrixInstruction(const Instruction& in, const Form& form);
  bool mmaInstruction(const Instruction& in, const Form& form);
  bool wmmaInstruction(const Instruction& in, const Form& form);
  bool wmmaMemory(const Instruction& in, const Form& form);
  bool sparseOperands(const Operand& metadata, const Operand& selector, unsigned bits,
                      MatrixSite& s);
  bool warpgroupProduct(const Instruction& in, const Form& form);
  bool warpgroupOrder(const Instruction& in, const Form& form);
  bool rowMatrix(const Instruction& in, const Form& form);
  bool fragmentRegisters(const Operand& o, Fragment& f, bool dest, bool constants,
                         bool opaque = false);
  bool scaleOperands(const Operand& data, const Operand& ids, unsigned scales, unsigned threads,
                     ScaleOperands& out);
  uint32_t keepOperand(Ref ref);  // Its place in Program::operandLists.
  bool emitMatrix(const Instruction& in, const Form& form, MatrixSite&& site, const Instr& memory);

  void memoryOrder(const Form& form, Instr& out);
  bool vectorRegisters(const Operand& o, unsigned count, Type type, bool dest,
                       std::vector<Ref>& refs, bool& wide, Type& regType);

  // Emission.
  Instr& emit(const Instr& in);
  void emitKind(Instr& in, MoveKind kind);  // A move that the program wrote.
  void emitMove(MoveKind kind, Ref dst, Ref src, int64_t imm = 0);
  // A guard on an instruction that must see only the lanes it executes for: branch around it.
  void beginGuarded(const Instruction& in);
  void endGuarded();
  Ref guardRef(const Instruction& in);
  bool error(DiagId id, SourceLoc loc, uint32_t length, DiagArgs args);

  KernelDecoder& k_;
  Program& p_;
  const Function& f_;
  uint32_t index_;
  std::vector<NameScope> scopes_;  // Stack.
  std::vector<uint32_t> scopeParents_;
  std::unordered_map<uint32_t, std::unordered_map<std::string_view, Label>> labels_;
  std::unordered_map<uint32_t, std::unordered_map<std::string_view, const Statement*>> directives_;
  std::vector<Fixup> fixups_;
  std::vector<std::vector<uint32_t>> rangeSlots_;
  std::unordered_map<std::string_view, Form> forms_;
  uint32_t slots_[3] = {0, 0, 1};  // Predicate 0 is the carry flag.
  FrameLayout frame_;
  uint32_t nextScope_ = 0;
  SourceLine line_;
  SourceLoc loc_;
  uint16_t row_ = 0;               // Of the instruction at hand.
  bool convertsIntegers_ = false;  // It is a cvt without floating-point result.
  Ref guard_ = kNoRef;
  std::optional<uint32_t> skip_;  // The branch of beginGuarded.
  std::optional<Ref>
      frameBase_;  // Register with the frame's offset in local memory; not in kernels.
};

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_DECODER_IMPL_H_
