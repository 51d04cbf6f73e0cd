// What the decoders share in making a Program: constants, special registers, memory layout, and the
// last steps over finished code.

#ifndef MTLC_SIM_PROGRAM_BUILDER_H_
#define MTLC_SIM_PROGRAM_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "mtlc/sim/program.h"

namespace mtlc::sim {

inline constexpr uint64_t kMaxFrameBytes = 1u << 20;   // Of one function's variables.
inline constexpr uint64_t kMaxSharedBytes = 1u << 24;  // Of a kernel's static shared variables.

constexpr uint64_t alignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

class ProgramBuilder {
 public:
  ProgramBuilder() : program_(std::make_unique<Program>()) {}

  Program& program() { return *program_; }

  // Columns with the same value in every lane, and special registers; each exists once.
  Ref constant32(uint32_t value);
  Ref constant64(uint64_t value);
  Ref constantPred(bool value);
  Ref special(Special s);

  // Offset of a new static variable in shared memory, behind a gap; nullopt: too much of it.
  std::optional<uint64_t> placeShared(std::string_view name, uint64_t bytes, uint64_t align);
  // Before all: nothing lies at offset 0, which is null in SPIR-V.
  void beginSharedBehindNull();
  // The memory that the system reserves; before the variables sized at launch.
  void reserveShared();
  // After all static variables: where memory sized at launch begins, aligned to `align` and at
  // least 16.
  void beginDynamicShared(uint32_t align);

  // After all code: the stack, the counts, and the program itself. Functions tell their callees.
  std::unique_ptr<Program> finish();
  // The same for code that is only checked.
  std::unique_ptr<Program> take() { return std::move(program_); }

 private:
  void computeStack();

  std::unique_ptr<Program> program_;
  std::unordered_map<uint32_t, Ref> constants32_;
  std::unordered_map<uint64_t, Ref> constants64_;
  std::optional<Ref> constantsPred_[2];
  std::unordered_map<uint32_t, Ref> specials_;
};

// The variables of a function's frame, with gaps around those that the program indexes.
class FrameLayout {
 public:
  // Offset of a variable; nullopt when the frame became too large.
  std::optional<uint64_t> place(uint64_t bytes, uint64_t align, bool gaps);

  uint64_t bytes() const { return bytes_; }
  uint64_t guardBytes() const { return guardBytes_; }  // Of them.
  // Nothing lies at offset 0.
  void beginBehindNull();
  // Begins with `bytes` that are laid out already.
  void reset(uint64_t bytes);

 private:
  uint64_t bytes_ = 0;
  uint64_t guardBytes_ = 0;
  uint64_t guardEnd_ = 0;  // Where the last gap ends.
};

}  // namespace mtlc::sim

#endif  // MTLC_SIM_PROGRAM_BUILDER_H_
