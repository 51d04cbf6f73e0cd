#include "tools/targets/versions.h"

#include <string>

#include "mtlc/codegen/ptx/profile.h"
#include "mtlc/ir/text.h"

namespace mtlc {

void addVersionLines(Tool& tool) {
  tool.addVersionLine("IR " + std::to_string(ir::kTextVersion));
  tool.addVersionLine("PTX " + std::string(knownPtxVersions()));
}

}  // namespace mtlc
