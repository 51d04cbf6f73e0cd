// The video instructions (PTX ISA 9.7.18).

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {

Oracle videoOracle(const Form&) { return {}; }

}  // namespace mtlc::sim::oracle
