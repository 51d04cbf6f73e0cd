#include "mtlc/support/suggest.h"

#include <algorithm>
#include <array>

namespace mtlc {
namespace {
constexpr size_t kLongestWord = 64;
}  // namespace

size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > kLongestWord || b.size() > kLongestWord) return limit + 1;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::array<std::array<size_t, kLongestWord + 1>, 3> rows{};
  auto *before = &rows[0], *last = &rows[1], *row = &rows[2];
  for (size_t j = 0; j <= b.size(); ++j) (*last)[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    (*row)[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = (*last)[j - 1] + (a[i - 1] != b[j - 1]);
      size_t best = std::min({change, (*last)[j] + 1, (*row)[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, (*before)[j - 2] + 1);
      }
      (*row)[j] = best;
    }
    auto* spare = before;
    before = last;
    last = row;
    row = spare;
  }
  return std::min((*last)[b.size()], limit + 1);
}

std::string_view nearestSpelling(std::string_view word,
                                 std::span<const std::string_view> candidates) {
  // One edit turns a single letter into any other, which helps nobody.
  size_t limit = word.size() < 2 ? 0 : std::max<size_t>(1, word.size() / 3);
  std::string_view best;
  for (std::string_view candidate : candidates) {
    size_t d = editDistance(word, candidate, limit);
    if (d > limit) continue;
    best = candidate;
    if (d == 0) break;
    limit = d - 1;
  }
  return best;
}

}  // namespace mtlc
