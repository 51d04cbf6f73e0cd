// What the conversions of the CUDA headers give on the host: cuda_codes OPERATION IN OUT on arrays
// of 64-bit words, as float_format_codes.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

double asDouble(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
uint64_t asBits(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
uint64_t halfToDouble(__half_raw raw) {
  return asBits(static_cast<double>(__half2float(__half(raw))));
}

uint64_t convert(const std::string& op, uint64_t word) {
  const double x = asDouble(word);
  const auto fp8 = static_cast<__nv_fp8_storage_t>(word);
  if (op == "e4m3 encode") return __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E4M3);
  if (op == "e4m3 saturate") return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  if (op == "e5m2 encode") return __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E5M2);
  if (op == "e5m2 saturate") return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  if (op == "e2m3 saturate") return __nv_cvt_double_to_fp6(x, __NV_E2M3, cudaRoundNearest);
  if (op == "e3m2 saturate") return __nv_cvt_double_to_fp6(x, __NV_E3M2, cudaRoundNearest);
  if (op == "e2m1 saturate") return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest);
  if (op == "f16 encode") return static_cast<__half_raw>(__double2half(x)).x;
  if (op == "bf16 encode") return static_cast<__nv_bfloat16_raw>(__double2bfloat16(x)).x;
  if (op == "e4m3 decode") return halfToDouble(__nv_cvt_fp8_to_halfraw(fp8, __NV_E4M3));
  if (op == "e5m2 decode") return halfToDouble(__nv_cvt_fp8_to_halfraw(fp8, __NV_E5M2));
  if (op == "e2m3 decode") return halfToDouble(__nv_cvt_fp6_to_halfraw(fp8, __NV_E2M3));
  if (op == "e3m2 decode") return halfToDouble(__nv_cvt_fp6_to_halfraw(fp8, __NV_E3M2));
  if (op == "e2m1 decode") return halfToDouble(__nv_cvt_fp4_to_halfraw(fp8, __NV_E2M1));
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::FILE* in = std::fopen(argv[2], "rb");
  std::FILE* out = std::fopen(argv[3], "wb");
  if (!in || !out) return 2;
  uint64_t word;
  while (std::fread(&word, sizeof word, 1, in) == 1) {
    word = convert(argv[1], word);
    std::fwrite(&word, sizeof word, 1, out);
  }
  std::fclose(in);
  return std::fclose(out) == 0 ? 0 : 1;
}
