// The nearest spelling of a mistyped word, for "did you mean" hints.

#ifndef MTLC_SUPPORT_SUGGEST_H_
#define MTLC_SUPPORT_SUGGEST_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace mtlc {

// Edit distance with transposition of neighbours (optimal string alignment), or `limit` + 1 when it
// exceeds `limit`. Words over 64 bytes count as farther than any limit.
size_t editDistance(std::string_view a, std::string_view b, size_t limit);

// The candidate nearest to `word`, at most one edit per three bytes of `word` away (at least one,
// but none for a single byte); the first of several equals. Empty when none is near.
std::string_view nearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates);

}  // namespace mtlc

#endif  // MTLC_SUPPORT_SUGGEST_H_
