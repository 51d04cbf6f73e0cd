// The text form of tensor descriptors: {m16n16k16, a=f16, acc=f32, lda=64, …}. Fields with the
// value that they have anyway are left out.

#ifndef MTLC_IR_TEXT_DESCRIPTOR_H_
#define MTLC_IR_TEXT_DESCRIPTOR_H_

#include <string>

#include "mtlc/ir/descriptors.h"
#include "mtlc/ir/text_lexer.h"

namespace mtlc::ir {

void printDescriptor(std::string& out, const MmaDesc& d, MmaUse use, SlotSet slots);
void printDescriptor(std::string& out, const EpilogueDesc& d, bool inTile, SlotSet slots);
void printDescriptor(std::string& out, const TransferDesc& d);

// Reads '{' … '}'. False, and a diagnostic, when the text is no descriptor; whether the descriptor
// makes sense is the verifier's question.
bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, MmaDesc& d, MmaUse use, SlotSet slots);
bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, EpilogueDesc& d, bool inTile,
                     SlotSet slots);
bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, TransferDesc& d);

}  // namespace mtlc::ir

#endif  // MTLC_IR_TEXT_DESCRIPTOR_H_
