// Types at the edges: 8-bit floats, 128-bit integers, half atomics, narrow atomics, wide vectors, memory of run-time size.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cuda/atomic>

extern "C" __global__ void float8(const float* x, unsigned char* e4m3, unsigned char* e5m2, float* back, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n) return;
  float2 v = make_float2(x[2 * i], x[2 * i + 1]);
  __nv_fp8x2_e4m3 a(v);
  __nv_fp8x2_e5m2 b(v);
  reinterpret_cast<unsigned short*>(e4m3)[i] = a.__x;
  reinterpret_cast<unsigned short*>(e5m2)[i] = b.__x;
  float2 w = static_cast<float2>(a), u = static_cast<float2>(b);
  back[2 * i] = w.x;
  back[2 * i + 1] = w.y;
  back[n + 2 * i] = u.x;
  back[n + 2 * i + 1] = u.y;
}

extern "C" __global__ void wideIntegers(const longlong2* x, const longlong2* y, longlong2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto wide = [](longlong2 v) {
    return static_cast<__int128>(static_cast<unsigned __int128>(static_cast<unsigned long long>(v.y)) << 64 |
                                 static_cast<unsigned long long>(v.x));
  };
  auto put = [&](int row, __int128 v) {
    out[row * n + i] = make_longlong2(static_cast<long long>(v), static_cast<long long>(v >> 64));
  };
  __int128 a = wide(x[i]), b = wide(y[i]);
  put(0, a + b);
  put(1, a - b);
  put(2, a * b);
  put(3, a / b);
  put(4, a % b);
  put(5, a >> (b & 127));
  put(6, static_cast<__int128>(static_cast<unsigned __int128>(a) << (b & 127)));
  put(7, a < b ? a : -b);
  put(8, static_cast<__int128>(static_cast<double>(a) * 0.5));
}

extern "C" __global__ void narrowAtomics(const unsigned char* x, int n, __half* h, unsigned char* bytes, short* least,
                                         unsigned long long* pair) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(h, __float2half(x[i] & 1));
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device> byte(bytes[x[i] & 7]);
  byte.fetch_add(1, cuda::std::memory_order_relaxed);
  cuda::atomic_ref<short, cuda::thread_scope_device> low(*least);
  low.fetch_min(static_cast<short>(x[i] - 300), cuda::std::memory_order_relaxed);
  atomicAdd_block(&pair[blockIdx.x], 1ull);
  atomicMax_system(&pair[3], static_cast<unsigned long long>(x[i]));
}

struct __align__(32) Row {
  double v[4];
};

// 32 bytes at once where the target can.
extern "C" __global__ void wideRows(const Row* x, Row* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Row r = x[i];
  double t = r.v[0];
  r.v[0] = r.v[3] * 2;
  r.v[3] = t;
  out[n - 1 - i] = r;
}

__device__ __noinline__ unsigned digits(unsigned v, unsigned char* text, unsigned base) {
  unsigned n = 0;
  do {
    text[n++] = v % base;
    v /= base;
  } while (v != 0);
  return n;
}

// Reverses the digits of a number in a buffer whose size is known at run time only.
extern "C" __global__ void reversed(const unsigned* x, unsigned* out, int n, unsigned base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned char text[32];
  unsigned count = digits(x[i], text, base), r = 0;
  for (unsigned k = 0; k < count; ++k) r = r * base + text[k];
  out[i] = r;
}

template <typename F, typename... Rest>
__device__ int apply(int v, F f, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return f(v);
  } else {
    return apply(f(v), rest...);
  }
}

// Lambdas that capture by value and by reference, bounds of launches, and clocks.
extern "C" __global__ void __launch_bounds__(128, 2) lambdas(const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, calls = 0;
  if (i >= n) return;
  long long start = clock64();
  auto add = [=](int v) { return v + i; };
  auto count = [&](int v) {
    ++calls;
    return v * 2;
  };
  int r = apply(x[i], add, count, add, count, [](int v) { return v ^ 1; });
  out[i] = clock64() >= start ? r + 1000000 * calls : -1;
}

// Arrays whose sizes are known at run time only: of the whole function, and new ones in each round of a loop.
extern "C" __global__ void runtimeArrays(const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int m = x[i], sum = 0;
  int* a = static_cast<int*>(__builtin_alloca(m * sizeof(int)));
  for (int k = 0; k < m; ++k) a[k] = k * i;
  for (int k = m - 1; k >= 0; --k) sum = sum * 3 + a[k];
  for (int r = 0; r < 3; ++r) {
    short* b = static_cast<short*>(__builtin_alloca(2 * m + r));
    for (int k = 0; k < m; ++k) b[k] = static_cast<short>(k + r);
    for (int k = 0; k < m; k += 2) sum += b[k] * (r + 1);
  }
  out[i] = sum;
}
