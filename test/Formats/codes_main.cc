// float_format_codes FORMAT decode|encode|saturate|ties-away IN OUT: converts an array of 64-bit
// words, float64 values on the one side and codes on the other (ties-away: float32 bits to tf32
// bits).

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "mtlc/support/float_format.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string_view name = argv[1], mode = argv[2];
  int format = 0;
  while (format < mtlc::kFloatFormatCount &&
         mtlc::floatFormatInfo(static_cast<mtlc::FloatFormat>(format)).name != name) {
    ++format;
  }
  if (format == mtlc::kFloatFormatCount) return 2;
  const auto f = static_cast<mtlc::FloatFormat>(format);
  std::FILE* in = std::fopen(argv[3], "rb");
  std::FILE* out = std::fopen(argv[4], "wb");
  if (!in || !out) return 2;
  uint64_t word;
  while (std::fread(&word, sizeof word, 1, in) == 1) {
    if (mode == "decode") {
      word = mtlc::f64Bits(mtlc::decodeFloat(f, word));
    } else if (mode == "encode") {
      word = mtlc::encodeFloat(f, mtlc::f64FromBits(word));
    } else if (mode == "saturate") {
      word = mtlc::encodeFloat(f, mtlc::f64FromBits(word), mtlc::FloatOverflow::Saturate);
    } else if (mode == "ties-away") {
      word = mtlc::roundToTf32TiesAway(static_cast<uint32_t>(word));
    } else {
      return 2;
    }
    if (std::fwrite(&word, sizeof word, 1, out) != 1) return 1;
  }
  std::fclose(in);
  return std::fclose(out) == 0 ? 0 : 1;
}
