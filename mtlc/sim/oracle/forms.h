// All spellings that the instruction table admits, for tests that walk it.

#ifndef MTLC_SIM_ORACLE_FORMS_H_
#define MTLC_SIM_ORACLE_FORMS_H_

#include <string>
#include <vector>

#include "mtlc/sim/isa/instructions.h"

namespace mtlc::sim::oracle {

// Every choice of modifiers of `row`, in table order. A spelling that two rows share appears under
// each.
std::vector<Form> formsOf(const InstrRow& row);

// The opcode as PTX writes it: "add.rn.ftz.f32".
std::string spelling(const Form& form);

}  // namespace mtlc::sim::oracle

#endif  // MTLC_SIM_ORACLE_FORMS_H_
