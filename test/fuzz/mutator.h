// Deterministic mutations of test inputs, aimed at text formats with nesting and numbers.

#ifndef TEST_FUZZ_MUTATOR_H_
#define TEST_FUZZ_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtlc::fuzz {

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Uniform enough for fuzzing, in [0, bound); 0 for bound 0.
  size_t below(size_t bound) { return bound == 0 ? 0 : next() % bound; }

 private:
  uint64_t state_;
};

// The same corpus, seed and calls give the same inputs.
class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, uint64_t seed, size_t maxLength);

  // A new input: one of the corpus with one to six changes, no longer than the maximum.
  std::string next();

 private:
  struct Span {
    size_t begin;
    size_t length;
  };

  void change(std::string& text);
  Span randomSpan(const std::string& text);
  // A word (letters, digits, underscores) or a single other byte.
  Span randomToken(const std::string& text);
  std::string_view randomWord();
  const std::string& randomSeed() { return corpus_[random_.below(corpus_.size())]; }

  std::vector<std::string> corpus_;
  std::vector<std::string> words_;  // The distinct tokens of the corpus.
  Random random_;
  size_t maxLength_;
};

}  // namespace mtlc::fuzz

#endif  // TEST_FUZZ_MUTATOR_H_
