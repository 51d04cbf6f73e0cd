// Bytes and halves of a word at once.

extern "C" __global__ void packed(const unsigned* x, const unsigned* y, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = x[i], b = y[i];
  unsigned* o = out + i;
  o[0] = __vadd4(a, b);
  o[n] = __vsubus4(a, b);
  o[2 * n] = __vmaxs2(a, b);
  o[3 * n] = __vcmpgtu4(a, b);
  o[4 * n] = __vabsdiffu4(a, b);
  o[5 * n] = __vavgu4(a, b);
  o[6 * n] = __vaddss2(a, b);
  o[7 * n] = __vsads2(a, b);
  o[8 * n] = __dp4a(static_cast<int>(a), static_cast<int>(b), 1000);
  o[9 * n] = __dp4a(a, b, 1000u);
  o[10 * n] = __dp2a_lo(static_cast<int>(a), static_cast<int>(b), -5);
  o[11 * n] = __dp2a_hi(a, b, 5u);
}
