// __half, __half2 and __nv_bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halfAxpy(const __half2* x, __half2* y, __half a, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

extern "C" __global__ void halfOps(const __half* x, const __half* y, __half* out, int* flags, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half a = x[i], b = y[i];
  out[i] = a + b;
  out[n + i] = a - b;
  out[2 * n + i] = a * b;
  out[3 * n + i] = a / b;
  out[4 * n + i] = hsqrt(a);
  out[5 * n + i] = __hmax(a, b);
  out[6 * n + i] = __hmin(a, b);
  out[7 * n + i] = __habs(a);
  out[8 * n + i] = __hneg(b);
  out[9 * n + i] = hfloor(a);
  out[10 * n + i] = hrint(b);
  out[11 * n + i] = __float2half_rz(__half2float(a) * 1.7f);
  out[12 * n + i] = __double2half(static_cast<double>(__half2float(b)) * 1.0009765625);
  out[13 * n + i] = __int2half_rn(__half2int_rd(a));
  flags[i] = (a < b) | (a <= b) << 1 | (a == b) << 2 | __hisnan(a) << 3 | __hne(a, b) << 4 | __hltu(a, b) << 5;
}

// Dot product in bfloat16 pairs, accumulated in float.
extern "C" __global__ void bf16Dot(const __nv_bfloat162* x, const __nv_bfloat162* y, float* out, int n2) {
  __shared__ float part[128];
  float s = 0;
  for (int i = threadIdx.x; i < n2; i += blockDim.x) {
    float2 a = __bfloat1622float2(x[i]), b = __bfloat1622float2(y[i]);
    s += a.x * b.x + a.y * b.y;
  }
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = part[0];
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bf16Ops(const __nv_bfloat16* x, const __nv_bfloat16* y, __nv_bfloat16* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat16 a = x[i], b = y[i];
  out[i] = __hadd(a, b);
  out[n + i] = __hmul(a, b);
  out[2 * n + i] = __hfma(a, b, a);
  out[3 * n + i] = __hmax(a, b);
  out[4 * n + i] = __float2bfloat16(__bfloat162float(a) * 1.37f);
  out[5 * n + i] = __habs(b);
}

extern "C" __global__ void bf16Bytes(const __nv_bfloat16* x, signed char* s, unsigned char* u, __nv_bfloat16* back, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[i] = __bfloat162char_rz(x[i]);
  u[i] = __bfloat162uchar_rz(x[i]);
  back[i] = __short2bfloat16_rn(static_cast<short>(s[i] * 3));
}
#endif
