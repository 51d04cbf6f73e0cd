// printf and assert.
#include <cassert>
#include <cstdio>

extern "C" __global__ void formats(const int* x, const double* d) {
  int t = threadIdx.x;
  if (t == 0) printf("start: %d%% of %s\n", 100, "all");
  if (t < 2) printf("[%d] %5d|%-6d|%06d|%+d|% d\n", t, x[t], x[t], x[t], x[t], x[t]);
  if (t == 1) printf("%x %X %#x %o %u %c %hhd\n", x[2], x[2], x[2], x[2], x[2], 'a' + x[3], x[2]);
  if (t == 1) printf("%lld %llu %llx %ld %zu\n", -5ll * x[2], 1ull << 63, 0x123456789abcdefull, -7l, sizeof(double));
  if (t == 2) printf("%f %.3f %10.2f|%-10.1e|%g %G %a\n", d[0], d[1], d[2], d[3], d[4], d[5], d[6]);
  if (t == 2) printf("%*d|%-*d|%.*f|%s|%10s|%-10s|%.2s\n", 6, 42, 6, 43, 2, d[1], "text", "right", "left", "cut");
  if (t == 3) printf("no arguments\n");
}

extern "C" __global__ void asserting(const int* x, int* out) {
  assert(x[threadIdx.x] != 13);
  out[threadIdx.x] = x[threadIdx.x] + 1;
}
