// docs/ptx-instructions.md says what the instruction table says.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "mtlc/sim/oracle/forms.h"

namespace mtlc::sim::oracle {
namespace {

std::string document() {
  std::string folder = std::getenv("TEST_SRCDIR");
  std::ifstream file(folder + "/" + std::getenv("TEST_WORKSPACE") + "/docs/ptx-instructions.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One line of the table of executed instructions for each opcode, in the order of the table.
std::string tableLines() {
  std::string out;
  std::vector<std::string_view> done;
  for (const InstrRow& first : instructionTable()) {
    if (std::find(done.begin(), done.end(), first.opcode) != done.end()) continue;
    done.push_back(first.opcode);
    size_t forms = 0;
    unsigned ptx = 255, sm = 255;
    for (const InstrRow* row : rowsOf(first.opcode)) {
      forms += formsOf(*row).size();
      ptx = std::min<unsigned>(ptx, row->ptx);
      sm = std::min<unsigned>(sm, row->sm);
    }
    absl::StrAppendFormat(&out, "| `%s` | %d | %d | %d.%d | sm_%d |\n", first.opcode,
                          rowsOf(first.opcode).size(), forms, ptx / 10, ptx % 10, sm);
  }
  return out;
}

TEST(InstructionsDoc, ListsTheTable) {
  std::string text = document();
  ASSERT_FALSE(text.empty());
  bool listed = text.find(tableLines()) != std::string::npos;
  EXPECT_TRUE(listed) << "the table should read";
  if (!listed) std::cout << tableLines();
}

// What the document calls absent has no row, and every opcode that is reported as not supported is
// in the document.
TEST(InstructionsDoc, ListsWhatIsAbsent) {
  std::string text = document();
  size_t at = text.find("## Not executed");
  ASSERT_NE(at, std::string::npos);
  std::istringstream lines(text.substr(at));
  std::string line, absent;
  while (std::getline(lines, line)) {
    if (line.substr(0, 3) != "| `") continue;
    std::string cell = line.substr(2, line.find('|', 2) - 2);
    absent += cell;
    for (size_t open = cell.find('`'); open != std::string::npos;) {
      size_t close = cell.find('`', open + 1);
      ASSERT_NE(close, std::string::npos) << line;
      std::string name = cell.substr(open + 1, close - open - 1);
      for (const InstrRow& row : instructionTable()) {
        EXPECT_NE(std::string(row.pattern).substr(0, name.size() + 1), name + ".") << name;
        EXPECT_NE(row.pattern, name);
      }
      open = cell.find('`', close + 1);
    }
  }
  for (std::string_view opcode : {
#define OPCODE(name) #name,
#include "mtlc/sim/isa/unsupported.def"
       }) {
    EXPECT_TRUE(rowsOf(opcode).empty()) << opcode;
    EXPECT_NE(absent.find("`" + std::string(opcode)), std::string::npos) << opcode;
  }
}

}  // namespace
}  // namespace mtlc::sim::oracle
