// Text to tokens.

#ifndef MTLC_FRONTEND_LEXER_H_
#define MTLC_FRONTEND_LEXER_H_

#include "mtlc/frontend/token.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend {

// Reads the whole file. Any bytes are accepted: what is no token is reported and becomes an error
// token (one per run of such bytes), so the parser can go on. Linear in the size of the text.
// `arena` keeps the contents of string literals.
TokenBuffer lex(const SourceManager& sources, FileId file, Interner& interner, Arena& arena,
                DiagnosticEngine& diagnostics);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_LEXER_H_
