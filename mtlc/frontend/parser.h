// Tokens to syntax tree.

#ifndef MTLC_FRONTEND_PARSER_H_
#define MTLC_FRONTEND_PARSER_H_

#include "mtlc/frontend/ast.h"
#include "mtlc/frontend/token.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/diagnostics.h"

namespace mtlc::frontend {

// Parses a whole file. Every syntax error is reported where it is and the parser goes on with the
// next statement or declaration; what could not be parsed is not in the tree. Nesting beyond
// ast::kMaxNesting ends the parse of the file with one message. Linear in the number of tokens.
// The tree lives in `arena` and does not refer to `tokens` afterwards. A few tokens are split in
// place
// (`*=` in `p: int32*= q`).
ast::File* parse(TokenBuffer& tokens, FileId file, const Interner& interner, Arena& arena,
                 DiagnosticEngine& diagnostics);

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_PARSER_H_
