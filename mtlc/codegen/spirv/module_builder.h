// A SPIR-V module under construction: sections of words, types and constants by value, and exactly
// the capabilities and extensions that were asked for.

#ifndef MTLC_CODEGEN_SPIRV_MODULE_BUILDER_H_
#define MTLC_CODEGEN_SPIRV_MODULE_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/codegen/spirv/profile.h"
#include "spirv/unified1/spirv.hpp11"

namespace mtlc::spirv {

using Id = uint32_t;  // 0 is none.
using Words = std::vector<uint32_t>;

// Appends one instruction.
void append(Words& words, spv::Op op, std::initializer_list<uint32_t> operands);
void append(Words& words, spv::Op op, std::span<const uint32_t> operands);
// A literal string: UTF-8, terminated, padded to whole words.
void appendString(Words& operands, std::string_view text);

class ModuleBuilder {
 public:
  explicit ModuleBuilder(const SpirvProfile& profile) : profile_(profile) {}

  const SpirvProfile& profile() const { return profile_; }
  Id newId() { return next_++; }

  // What the module needs; asking twice is asking once.
  void need(spv::Capability capability);
  void needExtension(std::string_view name);
  Id openclStd();  // The extended instruction set.

  // Types and constants; equal ones are one. They ask for the capabilities of their widths.
  Id voidType();
  Id boolType();
  Id intType(unsigned bits);
  Id floatType(unsigned bits);  // 32, 64; 16 is kept as an integer.
  Id vectorType(Id element, unsigned count);
  Id arrayType(Id element, Id count);
  Id pointerType(spv::StorageClass storage, Id pointee);
  Id functionType(Id result, std::span<const Id> params);
  Id intConstant(unsigned bits, uint64_t value);
  Id floatConstant(unsigned bits, uint64_t value);  // By its bits.
  Id boolConstant(bool value);
  Id nullConstant(Id type);
  Id word(uint32_t value) { return intConstant(32, value); }

  // An Input variable of a built-in, and its type: a vector of three size_t, or one u32.
  Id builtin(spv::BuiltIn which);
  bool isVectorBuiltin(spv::BuiltIn which) const;
  // A module-level variable.
  Id variable(spv::StorageClass storage, Id pointee, uint32_t align);

  void name(Id id, std::string_view text);
  void decorate(Id id, spv::Decoration decoration, std::initializer_list<uint32_t> literals = {});
  void entryPoint(Id function, std::string_view name, std::span<const Id> interface);
  void executionMode(Id function, spv::ExecutionMode mode,
                     std::initializer_list<uint32_t> literals = {});
  Id sourceFile(std::string_view name);  // OpString, once for each name.
  void sourceExtension(std::string_view text);

  Words& functions() { return functions_; }

  // The whole module, header included.
  Words finish() const;

 private:
  Id unique(spv::Op op, std::initializer_list<uint32_t> operands);
  Id unique(spv::Op op, std::span<const uint32_t> operands, bool hasType);

  const SpirvProfile& profile_;
  Id next_ = 1;
  std::vector<spv::Capability> capabilities_;
  std::vector<std::string> extensions_;
  Id openclStd_ = 0;
  Words entryPoints_, executionModes_, strings_, sources_, names_, decorations_, globals_,
      functions_;
  absl::flat_hash_map<Words, Id> uniques_;
  absl::flat_hash_map<uint32_t, Id> builtins_;
  absl::flat_hash_map<std::string, Id> files_;
};

}  // namespace mtlc::spirv

#endif  // MTLC_CODEGEN_SPIRV_MODULE_BUILDER_H_
