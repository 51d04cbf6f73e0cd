#include "mtlc/codegen/spirv/module_builder.h"

#include <algorithm>

namespace mtlc::spirv {

void append(Words& words, spv::Op op, std::span<const uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift |
                  static_cast<uint32_t>(op));
  words.insert(words.end(), operands.begin(), operands.end());
}

void append(Words& words, spv::Op op, std::initializer_list<uint32_t> operands) {
  append(words, op, std::span<const uint32_t>(operands.begin(), operands.size()));
}

void appendString(Words& operands, std::string_view text) {
  const size_t first = operands.size();
  operands.resize(first + text.size() / 4 + 1);
  for (size_t i = 0; i < text.size(); ++i) {
    operands[first + i / 4] |= uint32_t{static_cast<uint8_t>(text[i])} << (i % 4 * 8);
  }
}

void ModuleBuilder::need(spv::Capability capability) {
  if (std::find(capabilities_.begin(), capabilities_.end(), capability) == capabilities_.end()) {
    capabilities_.push_back(capability);
  }
}

void ModuleBuilder::needExtension(std::string_view name) {
  if (std::find(extensions_.begin(), extensions_.end(), name) == extensions_.end()) {
    extensions_.emplace_back(name);
  }
}

Id ModuleBuilder::openclStd() {
  if (openclStd_ == 0) openclStd_ = newId();
  return openclStd_;
}

// ---- Types and constants ----

Id ModuleBuilder::unique(spv::Op op, std::span<const uint32_t> operands, bool hasType) {
  Words key = {static_cast<uint32_t>(op)};
  key.insert(key.end(), operands.begin(), operands.end());
  Id& id = uniques_[key];
  if (id != 0) return id;
  id = newId();
  // The result stands after the type, if there is one.
  key.erase(key.begin());
  key.insert(key.begin() + (hasType ? 1 : 0), id);
  append(globals_, op, key);
  return id;
}

Id ModuleBuilder::unique(spv::Op op, std::initializer_list<uint32_t> operands) {
  return unique(op, std::span<const uint32_t>(operands.begin(), operands.size()), false);
}

Id ModuleBuilder::voidType() { return unique(spv::Op::OpTypeVoid, {}); }
Id ModuleBuilder::boolType() { return unique(spv::Op::OpTypeBool, {}); }

Id ModuleBuilder::intType(unsigned bits) {
  if (bits == 8) need(spv::Capability::Int8);
  if (bits == 16) need(spv::Capability::Int16);
  if (bits == 64) need(spv::Capability::Int64);
  return unique(spv::Op::OpTypeInt, {bits, 0});
}

Id ModuleBuilder::floatType(unsigned bits) {
  if (bits == 64) need(spv::Capability::Float64);
  return unique(spv::Op::OpTypeFloat, {bits});
}

Id ModuleBuilder::vectorType(Id element, unsigned count) {
  return unique(spv::Op::OpTypeVector, {element, count});
}

Id ModuleBuilder::arrayType(Id element, Id count) {
  return unique(spv::Op::OpTypeArray, {element, count});
}

Id ModuleBuilder::pointerType(spv::StorageClass storage, Id pointee) {
  if (storage == spv::StorageClass::Generic) need(spv::Capability::GenericPointer);
  return unique(spv::Op::OpTypePointer, {static_cast<uint32_t>(storage), pointee});
}

Id ModuleBuilder::functionType(Id result, std::span<const Id> params) {
  Words operands = {result};
  operands.insert(operands.end(), params.begin(), params.end());
  return unique(spv::Op::OpTypeFunction, operands, false);
}

Id ModuleBuilder::intConstant(unsigned bits, uint64_t value) {
  const Id type = intType(bits);
  const uint64_t masked = bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
  const uint32_t low = static_cast<uint32_t>(masked);
  const uint32_t operands[] = {type, low, static_cast<uint32_t>(masked >> 32)};
  return unique(spv::Op::OpConstant, std::span(operands, bits == 64 ? 3 : 2), true);
}

Id ModuleBuilder::floatConstant(unsigned bits, uint64_t value) {
  const uint32_t operands[] = {floatType(bits), static_cast<uint32_t>(value),
                               static_cast<uint32_t>(value >> 32)};
  return unique(spv::Op::OpConstant, std::span(operands, bits == 64 ? 3 : 2), true);
}

Id ModuleBuilder::boolConstant(bool value) {
  const uint32_t operands[] = {boolType()};
  return unique(value ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse, operands, true);
}

Id ModuleBuilder::nullConstant(Id type) {
  const uint32_t operands[] = {type};
  return unique(spv::Op::OpConstantNull, operands, true);
}

// ---- Variables ----

bool ModuleBuilder::isVectorBuiltin(spv::BuiltIn which) const {
  switch (which) {
    case spv::BuiltIn::LocalInvocationId:
    case spv::BuiltIn::WorkgroupId:
    case spv::BuiltIn::WorkgroupSize:
    case spv::BuiltIn::NumWorkgroups:
      return true;
    default:
      return false;
  }
}

Id ModuleBuilder::builtin(spv::BuiltIn which) {
  Id& id = builtins_[static_cast<uint32_t>(which)];
  if (id != 0) return id;
  const Id type = isVectorBuiltin(which) ? vectorType(intType(64), 3) : intType(32);
  const Id made = variable(spv::StorageClass::Input, type, 0);
  decorate(made, spv::Decoration::BuiltIn, {static_cast<uint32_t>(which)});
  decorate(made, spv::Decoration::Constant);
  return builtins_[static_cast<uint32_t>(which)] = made;
}

Id ModuleBuilder::variable(spv::StorageClass storage, Id pointee, uint32_t align) {
  const Id type = pointerType(storage, pointee);
  const Id id = newId();
  append(globals_, spv::Op::OpVariable, {type, id, static_cast<uint32_t>(storage)});
  if (align != 0) decorate(id, spv::Decoration::Alignment, {align});
  return id;
}

// ---- Annotations ----

void ModuleBuilder::name(Id id, std::string_view text) {
  Words operands = {id};
  appendString(operands, text);
  append(names_, spv::Op::OpName, operands);
}

void ModuleBuilder::decorate(Id id, spv::Decoration decoration,
                             std::initializer_list<uint32_t> literals) {
  Words operands = {id, static_cast<uint32_t>(decoration)};
  operands.insert(operands.end(), literals);
  append(decorations_, spv::Op::OpDecorate, operands);
}

void ModuleBuilder::entryPoint(Id function, std::string_view name, std::span<const Id> interface) {
  Words operands = {static_cast<uint32_t>(spv::ExecutionModel::Kernel), function};
  appendString(operands, name);
  operands.insert(operands.end(), interface.begin(), interface.end());
  append(entryPoints_, spv::Op::OpEntryPoint, operands);
}

void ModuleBuilder::executionMode(Id function, spv::ExecutionMode mode,
                                  std::initializer_list<uint32_t> literals) {
  Words operands = {function, static_cast<uint32_t>(mode)};
  operands.insert(operands.end(), literals);
  append(executionModes_, spv::Op::OpExecutionMode, operands);
}

Id ModuleBuilder::sourceFile(std::string_view name) {
  Id& id = files_[std::string(name)];
  if (id != 0) return id;
  id = newId();
  Words operands = {id};
  appendString(operands, name);
  append(strings_, spv::Op::OpString, operands);
  return id;
}

void ModuleBuilder::sourceExtension(std::string_view text) {
  Words operands;
  appendString(operands, text);
  append(sources_, spv::Op::OpSourceExtension, operands);
}

// The order of sections is that of "Logical Layout of a Module" (SPIR-V specification, 2.4).
Words ModuleBuilder::finish() const {
  Words words = {spv::MagicNumber, uint32_t{profile_.major} << 16 | uint32_t{profile_.minor} << 8,
                 0, next_, 0};
  for (spv::Capability capability : capabilities_) {
    append(words, spv::Op::OpCapability, {static_cast<uint32_t>(capability)});
  }
  for (const std::string& extension : extensions_) {
    Words operands;
    appendString(operands, extension);
    append(words, spv::Op::OpExtension, operands);
  }
  if (openclStd_ != 0) {
    Words operands = {openclStd_};
    appendString(operands, "OpenCL.std");
    append(words, spv::Op::OpExtInstImport, operands);
  }
  append(words, spv::Op::OpMemoryModel,
         {static_cast<uint32_t>(spv::AddressingModel::Physical64),
          static_cast<uint32_t>(spv::MemoryModel::OpenCL)});
  for (const Words* section : {&entryPoints_, &executionModes_, &strings_, &sources_, &names_,
                               &decorations_, &globals_, &functions_}) {
    words.insert(words.end(), section->begin(), section->end());
  }
  return words;
}

}  // namespace mtlc::spirv
