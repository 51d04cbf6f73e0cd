// Spellings shared by the printer and the parser of the text form.

#ifndef MTLC_IR_TEXT_NAMES_H_
#define MTLC_IR_TEXT_NAMES_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "mtlc/ir/ir.h"

namespace mtlc::ir {

struct FlagName {
  uint8_t flag;
  std::string_view name;
};
inline constexpr std::array<FlagName, 6> kFastMathNames = {{{kContract, "contract"},
                                                            {kReassoc, "reassoc"},
                                                            {kNoNaNs, "nnan"},
                                                            {kNoSignedZeros, "nsz"},
                                                            {kFlushSubnormals, "ftz"},
                                                            {kApprox, "approx"}}};
inline constexpr std::array<FlagName, 2> kRegionNames = {
    {{kRegionWorkgroup, "workgroup"}, {kRegionGlobal, "global"}}};
// Indexed by MemoryOrder, CacheHint, Dim and InlineHint.
inline constexpr std::array<std::string_view, 5> kOrderNames = {"relaxed", "acquire", "release",
                                                                "acq_rel", "seq_cst"};
inline constexpr std::array<std::string_view, 4> kCacheNames = {"all", "global", "streaming",
                                                                "last_use"};
inline constexpr std::array<std::string_view, 3> kDimNames = {"x", "y", "z"};
inline constexpr std::array<std::string_view, 4> kInlineNames = {"", "inline", "inline_always",
                                                                 "noinline"};

// Indexed by CombineKind.
inline constexpr std::array<std::string_view, 13> kCombineNames = {
    "add", "sub", "smin",     "smax", "umin", "umax", "and",
    "or",  "xor", "exchange", "fadd", "fmin", "fmax"};

// For messages and dumps, also of attributes that the verifier refuses.
constexpr std::string_view orderName(MemoryOrder order) {
  size_t i = static_cast<size_t>(order);
  return i < kOrderNames.size() ? kOrderNames[i] : "?";
}
constexpr std::string_view combineName(CombineKind kind) {
  size_t i = static_cast<size_t>(kind);
  return i < kCombineNames.size() ? kCombineNames[i] : "?";
}

// Characters of %value, ^block and @function names that need no quotes.
constexpr bool isNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

}  // namespace mtlc::ir

#endif  // MTLC_IR_TEXT_NAMES_H_
