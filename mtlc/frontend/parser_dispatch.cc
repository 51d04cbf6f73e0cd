// What can be said about a launch without knowing the host program around it: its controls, their
// constant dimensions, and arguments that no kernel takes. The rest of a dispatch is host code.

#include "mtlc/frontend/parser_impl.h"

namespace mtlc::frontend {

std::vector<Parser::TokenSpan> Parser::pieces(size_t open) const {
  std::vector<TokenSpan> out;
  size_t depth = 0, begin = open + 1;
  for (size_t i = open; i < tokens_.size() && tokens_[i].kind != K::endOfFile; ++i) {
    if (opens(tokens_[i].kind)) ++depth;
    if (closes(tokens_[i].kind)) --depth;
    const bool last = depth == 0;
    if (!last && !(depth == 1 && tokens_[i].kind == K::comma)) continue;
    if (!last || i > begin || !out.empty()) out.push_back({begin, i});
    if (last) break;
    begin = i + 1;
  }
  return out;
}

void Parser::checkDispatchControls(SourceRange dispatch) {
  constexpr std::string_view kControls[] = {"grid", "block", "shared", "stream"};
  bool seen[std::size(kControls)] = {};
  size_t positional = 0;
  for (const TokenSpan& piece : pieces(pos_)) {
    if (piece.size() == 0) continue;  // The parser of host code will say so.
    const Token& first = tokens_[piece.begin];
    const bool named = piece.size() > 1 && first.kind == K::identifier &&
                       tokens_[piece.begin + 1].kind == K::colon;
    size_t which = positional;
    TokenSpan value = piece;
    if (named) {
      const std::string_view name = interner_.text(first.name());
      for (which = 0; which < std::size(kControls) && kControls[which] != name; ++which) {
      }
      if (which == std::size(kControls)) {
        diagnostics_.report(DiagId::UnknownOption, first.range(), {"dispatch", name, "grid"});
        continue;
      }
      value.begin += 2;
    } else if (positional++ >= 2) {
      diagnostics_.report(DiagId::DispatchPositional, first.range());
      continue;
    }
    if (seen[which]) {
      diagnostics_.report(DiagId::RepeatedOption, first.range(), {"dispatch", kControls[which]});
      continue;
    }
    seen[which] = true;
    if (which < 2) checkDispatchDimensions(kControls[which], value, named);
  }
  for (size_t i = 0; i < 2; ++i) {
    if (!seen[i]) {
      diagnostics_.report(
          DiagId::MissingOption, dispatch,
          {"dispatch", kControls[i],
           "write '[grid: (x, y, z), block: (x, y, z)]', or '[grid, block]' for one "
           "dimension"});
    }
  }
}

void Parser::checkDispatchDimensions(std::string_view control, TokenSpan value, bool named) {
  std::vector<TokenSpan> dimensions = {value};
  // A pair of parentheses around everything is a tuple; others belong to an expression.
  if (value.size() > 0 && tokens_[value.begin].kind == K::lParen) {
    const std::vector<TokenSpan> inner = pieces(value.begin);
    if (!inner.empty() && inner.back().end + 1 == value.end) dimensions = inner;
  }
  if (named && dimensions.size() != 3) {
    diagnostics_.report(DiagId::DispatchDimensions,
                        tokens_[std::min(value.begin, tokens_.size() - 1)].range(),
                        {control, dimensions.size()});
    return;
  }
  for (const TokenSpan& d : dimensions) {
    if (d.size() != 1) continue;  // No literal.
    const Token& token = tokens_[d.begin];
    std::string_view what;
    if (token.kind == K::integer && buffer_.integers[token.value].value == 0) what = "0";
    if (token.kind == K::floating) what = "a float";
    if (token.kind == K::string) what = "a string";
    if (!what.empty()) {
      diagnostics_.report(DiagId::DispatchDimension, token.range(), {control, what});
    }
  }
}

void Parser::checkDispatchArguments() {
  for (const TokenSpan& piece : pieces(pos_)) {
    if (piece.size() == 1 && tokens_[piece.begin].kind == K::string) {
      diagnostics_.report(DiagId::DispatchString, tokens_[piece.begin].range());
    }
  }
}

}  // namespace mtlc::frontend
