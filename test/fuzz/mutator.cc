#include "test/fuzz/mutator.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace mtlc::fuzz {
namespace {

bool isWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Where parsers of numbers go wrong.
constexpr std::string_view kNumbers[] = {
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "32768",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999",
    "0x",
    "0xffffffffffffffff",
    "0x1p-1074",
    "1e400",
    "-1e-400",
    "1e",
    "0.1.2",
    "nan",
    "inf",
    "00",
};

// What opens something, and bytes that end lines, strings and files early.
constexpr std::string_view kPieces[] = {
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "\\",
    "\n",
    "//",
    "/*",
    "*/",
    "#",
    "%",
    "^",
    "@",
    ":",
    ";",
    ",",
    ".",
    "->",
    "-",
    "!",
    "\r\n",
    "\t",
    "\x7f",
    std::string_view("\0", 1),
    "\xff",
    "\xc3",
    "\"\"",
    "\xe2\x82\xac",
    "\xef\xbb\xbf",
};

}  // namespace

uint64_t Random::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Mutator::Mutator(std::vector<std::string> corpus, uint64_t seed, size_t maxLength)
    : corpus_(std::move(corpus)), random_(seed), maxLength_(maxLength) {
  if (corpus_.empty()) corpus_.emplace_back();
  constexpr size_t kMaxWords = 4096;
  std::set<std::string> words;
  for (const std::string& text : corpus_) {
    for (size_t i = 0; i < text.size() && words.size() < kMaxWords;) {
      size_t begin = i++;
      while (isWord(text[begin]) && i < text.size() && isWord(text[i])) ++i;
      words.insert(text.substr(begin, i - begin));
    }
  }
  words_.assign(words.begin(), words.end());
}

Mutator::Span Mutator::randomSpan(const std::string& text) {
  if (text.empty()) return {0, 0};
  size_t begin = random_.below(text.size());
  // Mostly short, sometimes up to the whole rest.
  size_t most = random_.below(4) == 0 ? text.size() - begin : 16;
  return {begin, std::min(text.size() - begin, 1 + random_.below(most))};
}

Mutator::Span Mutator::randomToken(const std::string& text) {
  if (text.empty()) return {0, 0};
  size_t begin = random_.below(text.size());
  size_t end = begin + 1;
  if (isWord(text[begin])) {
    while (begin > 0 && isWord(text[begin - 1])) --begin;
    while (end < text.size() && isWord(text[end])) ++end;
  }
  return {begin, end - begin};
}

std::string_view Mutator::randomWord() {
  switch (random_.below(4)) {
    case 0:
      return kNumbers[random_.below(std::size(kNumbers))];
    case 1:
      return kPieces[random_.below(std::size(kPieces))];
    default:
      return words_.empty() ? std::string_view() : words_[random_.below(words_.size())];
  }
}

void Mutator::change(std::string& text) {
  switch (random_.below(12)) {
    case 0: {  // Flip a bit.
      if (text.empty()) return;
      text[random_.below(text.size())] ^= static_cast<char>(1 << random_.below(8));
      return;
    }
    case 1: {  // Any byte anywhere.
      text.insert(random_.below(text.size() + 1), 1, static_cast<char>(random_.next()));
      return;
    }
    case 2:  // Only the beginning.
      text.resize(random_.below(text.size() + 1));
      return;
    case 3: {
      Span s = randomSpan(text);
      text.erase(s.begin, s.length);
      return;
    }
    case 4: {
      Span s = randomToken(text);
      text.erase(s.begin, s.length);
      return;
    }
    case 5:
    case 6: {
      Span s = randomToken(text);
      text.replace(s.begin, s.length, randomWord());
      return;
    }
    case 7: {
      text.insert(randomToken(text).begin, randomWord());
      return;
    }
    case 8: {  // Repeat a span: once, or so often that recursion and quadratic algorithms show.
      Span s = randomSpan(text);
      if (s.length == 0) return;
      std::string piece = text.substr(s.begin, s.length);
      size_t times = random_.below(4) == 0 ? random_.below(maxLength_ / s.length + 1) : 1;
      times = std::min(times, (maxLength_ - std::min(maxLength_, text.size())) / s.length);
      std::string repeated;
      for (size_t i = 0; i < times; ++i) repeated += piece;
      text.insert(s.begin, repeated);
      return;
    }
    case 9: {  // Move a span elsewhere.
      Span s = randomSpan(text);
      std::string piece = text.substr(s.begin, s.length);
      text.erase(s.begin, s.length);
      text.insert(random_.below(text.size() + 1), piece);
      return;
    }
    case 10: {  // A piece of another input.
      const std::string& other = randomSeed();
      Span s = randomSpan(other);
      text.insert(randomToken(text).begin, other, s.begin, s.length);
      return;
    }
    default: {  // The beginning of this and the end of another.
      const std::string& other = randomSeed();
      text.resize(random_.below(text.size() + 1));
      text.append(other, random_.below(other.size() + 1), std::string::npos);
      return;
    }
  }
}

std::string Mutator::next() {
  std::string text = randomSeed();
  for (size_t n = 1 + random_.below(6); n > 0; --n) {
    change(text);
    if (text.size() > maxLength_) text.resize(maxLength_);
  }
  return text;
}

}  // namespace mtlc::fuzz
