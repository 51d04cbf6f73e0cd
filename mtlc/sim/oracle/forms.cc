#include "mtlc/sim/oracle/forms.h"

namespace mtlc::sim::oracle {
namespace {

void extend(const InstrRow& row, size_t slot, std::vector<Mod>& mods, std::vector<Form>& out) {
  if (slot == row.slots.size()) {
    Form form;
    if (matchRow(row, mods, form)) out.push_back(form);
    return;
  }
  if (row.slots[slot].optional) extend(row, slot + 1, mods, out);
  for (Mod m : row.slots[slot].choices) {
    mods.push_back(m);
    extend(row, slot + 1, mods, out);
    mods.pop_back();
  }
}

}  // namespace

std::vector<Form> formsOf(const InstrRow& row) {
  std::vector<Form> out;
  std::vector<Mod> mods;
  extend(row, 0, mods, out);
  return out;
}

std::string spelling(const Form& form) {
  std::string text(form.row->opcode);
  for (size_t i = 0; i < form.count; ++i) {
    text += '.';
    text += modSpelling(form.mods[i]);
  }
  return text;
}

}  // namespace mtlc::sim::oracle
