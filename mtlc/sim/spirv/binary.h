// A SPIR-V module in memory: its instructions by id, its types with the layout that OpenCL gives
// them (OpenCL C specification 6.1.5, 6.9), its decorations. Words are validated by SPIRV-Tools
// before anything here looks at them, so ids mean what they must.

#ifndef MTLC_SIM_SPIRV_BINARY_H_
#define MTLC_SIM_SPIRV_BINARY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"
#include "spirv/unified1/spirv.hpp11"

namespace mtlc::sim::spirv {

using Id = uint32_t;

struct Inst {
  spv::Op op = spv::Op::OpNop;
  Id type = 0;
  Id result = 0;
  std::span<const uint32_t> operands;  // Behind type and result.
  SourceLoc loc;                       // In the listing.
};

enum class Kind : uint8_t {
  none,
  boolean,
  integer,
  floating,
  pointer,
  vector,
  array,
  structure,
  event
};

struct Type {
  Kind kind = Kind::none;
  uint16_t bits = 0;   // Of a scalar.
  uint32_t count = 0;  // Elements of a vector or an array.
  Id element = 0;      // Of a vector or an array; what a pointer points to.
  spv::StorageClass storage = spv::StorageClass::Function;
  std::vector<Id> members;
  std::vector<uint64_t> offsets;  // Of the members.
  uint64_t size = 0;              // In memory.
  uint64_t align = 1;
  uint64_t parts = 0;  // Scalars in a value of it.
  uint32_t depth = 0;  // Of types within types.
};

// What is known of an id besides its instruction.
struct Decorations {
  uint32_t builtin = UINT32_MAX;  // spv::BuiltIn
  uint32_t alignment = 0;
  uint32_t rounding = UINT32_MAX;  // spv::FPRoundingMode
  bool packed = false;
  bool saturated = false;
  bool byValue = false;
  bool isVolatile = false;

  // Those of a group, besides its own.
  void add(const Decorations& group) {
    if (group.builtin != UINT32_MAX) builtin = group.builtin;
    if (group.alignment != 0) alignment = group.alignment;
    if (group.rounding != UINT32_MAX) rounding = group.rounding;
    packed = packed || group.packed;
    saturated = saturated || group.saturated;
    byValue = byValue || group.byValue;
    isVolatile = isVolatile || group.isVolatile;
  }
};

struct Block {
  Id label = 0;
  uint32_t first = 0;  // Instructions [first, end) of the module, without the label.
  uint32_t end = 0;
};

struct FunctionInfo {
  uint32_t inst = 0;  // OpFunction
  Id id = 0;
  Id returnType = 0;
  std::string name;
  std::vector<uint32_t> params;  // Instructions.
  std::vector<Block> blocks;     // None: only declared.
};

struct EntryPoint {
  Id function = 0;
  std::string name;
  uint32_t requiredThreads[3] = {0, 0, 0};  // LocalSize
};

class Binary {
 public:
  // Validates and indexes `words`. False after reports; `listing` is the text of makeListing.
  bool read(std::span<const uint32_t> words, FileId listing, DiagnosticEngine& diags);

  const std::vector<Inst>& insts() const { return insts_; }
  // The instruction that defines `id`; one without a meaning for ids that none does.
  const Inst& def(Id id) const;
  const Type& type(Id id) const;
  const Type& typeOf(Id id) const { return type(def(id).type); }
  const Decorations& decorations(Id id) const;
  std::string nameOf(Id id) const;  // "%12" when it has none.
  const std::vector<FunctionInfo>& functions() const { return functions_; }
  const FunctionInfo* function(Id id) const;
  const std::vector<EntryPoint>& entryPoints() const { return entryPoints_; }
  const std::vector<uint32_t>& globals() const { return globals_; }  // Module-level OpVariables.
  std::string_view stringOf(Id id) const;  // Of an OpString; lives as long as this.
  // Atomic operations of the source language have no scopes: they are for the whole device.
  bool unscopedAtomics() const { return unscopedAtomics_; }
  // The set that an OpExtInst names is OpenCL.std.
  bool isOpenClStd(Id set) const { return set == openclStd_ && set != 0; }
  // Bits of a scalar constant; false: `id` is none.
  bool constantBits(Id id, uint64_t& bits) const;
  bool constantWord(Id id, uint32_t& value) const;

 private:
  bool index(FileId listing, DiagnosticEngine& diags);
  bool layout(const Inst& in);
  void decorate(const Inst& in);

  std::vector<uint32_t> words_;
  std::vector<Inst> insts_;
  std::vector<uint32_t> defs_;  // By id: instruction + 1.
  std::unordered_map<Id, Type> types_;
  std::unordered_map<Id, Decorations> decorations_;
  std::unordered_map<Id, std::string> names_;
  std::unordered_map<Id, std::string> strings_;
  std::vector<FunctionInfo> functions_;
  std::unordered_map<Id, uint32_t> functionAt_;
  std::vector<EntryPoint> entryPoints_;
  std::vector<uint32_t> globals_;
  Id openclStd_ = 0;
  bool unscopedAtomics_ = false;
};

// "OpIAdd", for people.
std::string instructionName(spv::Op op);

// `words` as the text that reports refer to, one line an instruction; empty when they are no
// SPIR-V.
std::string makeListing(std::span<const uint32_t> words);

}  // namespace mtlc::sim::spirv

#endif  // MTLC_SIM_SPIRV_BINARY_H_
