// What the checkers of an executed kernel report, for the interpreter and the simulator alike.
//
// A fault is one row of diag/execution.def with the place where it happened: the operation, and the
// block and thread that executed it. Format and kinds: tools.md, "mtlc-run".

#ifndef MTLC_SUPPORT_FAULT_H_
#define MTLC_SUPPORT_FAULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc {

// Kinds of faults; the value is the bit in a mask of checks.
enum class FaultKind : uint8_t {
  Mem = 1 << 0,    // Outside every object, misaligned, or the wrong address space.
  Init = 1 << 1,   // Uninitialised bits decide something.
  Race = 1 << 2,   // Two unordered accesses, one of them a write.
  Sync = 1 << 3,   // Barriers or collectives that not all work-items reach together.
  Async = 1 << 4,  // Asynchronous copies used before they are complete.
  Steps = 1 << 5,  // A thread did not end in time, or called too deep. Always on.
};
using CheckMask = uint8_t;
inline constexpr CheckMask kCheckNone = 0;
inline constexpr CheckMask kCheckAll = 0x1F;

constexpr CheckMask checkBit(FaultKind kind) { return static_cast<CheckMask>(kind); }

// "mem", "init", "race", "sync", "async", "steps".
std::string_view faultKindName(FaultKind kind);
// "none", "all", or kinds with commas between them; nothing for anything else.
std::optional<CheckMask> parseCheckMask(std::string_view text);

// A position or an extent in the launch.
struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
  uint64_t count() const { return uint64_t{x} * y * z; }  // The caller excludes overflow.
};
// The position with linear index `i`, x fastest.
Dim3 unflatten(uint64_t i, const Dim3& extent);
// "(1,0,0)"
std::string toString(const Dim3& d);

struct Fault {
  DiagId id;
  FaultKind kind;
  SourceLoc loc;  // Of the operation.
  std::string kernel;
  Dim3 block;
  Dim3 thread;
  // Memory faults and races.
  std::string_view space;  // "global", "workgroup", …; empty where no address is involved.
  uint64_t address = 0;
  uint32_t size = 0;
  // Fills %1 … of the row's message; %0 is "kernel 'k', block (0,0,0), thread (3,0,0)".
  std::vector<std::string> args;
  std::vector<DiagNote> notes;  // The other access of a race, the origin of uninitialised bits, …
};

// "kernel 'k', block (0,0,0), thread (3,0,0)"
std::string faultPlace(const Fault& fault);
// The message of the fault's row, `[kind]` in front.
std::string faultMessage(const Fault& fault);
void reportFault(const Fault& fault, DiagnosticEngine& diags);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_FAULT_H_
