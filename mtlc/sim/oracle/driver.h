// Runs forms of the instruction table on the simulator, one kernel per form over many operand
// tuples, and compares with their oracles.
//
// Each kernel executes the instruction twice: with all lanes, and under a guard that some lanes
// fail, whose destinations must keep what they held.

#ifndef MTLC_SIM_ORACLE_DRIVER_H_
#define MTLC_SIM_ORACLE_DRIVER_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mtlc/sim/oracle/forms.h"
#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {

// A form as it is written in one kernel.
struct Variant {
  Form form;
  bool pair = false;           // The second destination is written.
  bool negated = false;        // The negatable predicate source has a `!`.
  bool wideRegisters = false;  // Relaxed integer operands are in wider registers than they need.
  uint64_t integer = 0;        // The constant of an `i` operand.
  std::array<std::string, 4> selectors{};  // Of the operands of a video instruction.
  std::array<bool, 4> minus{};
  unsigned tuples = 4096;

  std::string describe() const;
};

// The ways to write `form`; with `tuples` operand tuples each, less where there are many ways.
std::vector<Variant> variantsOf(const Form& form, unsigned tuples);

struct Outcome {
  uint64_t kernels = 0;
  uint64_t tuples = 0;                // Compared, on all lane tables.
  uint64_t skipped = 0;               // The ISA leaves the result open.
  std::vector<std::string> failures;  // At most a few per variant.
};

// Runs `variants` on every lane table of the host.
void runVariants(const std::vector<Variant>& variants, uint64_t seed, Outcome& outcome);

// Families that need more than registers of one lane; the driver does not take them.
bool dependsOnContext(Family family);

}  // namespace mtlc::sim::oracle

#endif  // MTLC_SIM_ORACLE_DRIVER_H_
