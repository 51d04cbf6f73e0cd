// Atomics of every type and operation, and what programs build from compare-and-swap.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda/atomic>

extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    if (local[i] != 0) atomicAdd(&bins[i], local[i]);
  }
}

__device__ double addByCas(double* p, double v) {
  auto* bits = reinterpret_cast<unsigned long long*>(p);
  unsigned long long old = *reinterpret_cast<volatile unsigned long long*>(bits), assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(v + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}

__device__ void minFloat(float* p, float v) {
  if (__float_as_int(v) >= 0) {
    atomicMin(reinterpret_cast<int*>(p), __float_as_int(v));
  } else {
    atomicMax(reinterpret_cast<unsigned*>(p), __float_as_uint(v));
  }
}

__device__ void maxFloat(float* p, float v) {
  if (__float_as_int(v) >= 0) {
    atomicMax(reinterpret_cast<int*>(p), __float_as_int(v));
  } else {
    atomicMin(reinterpret_cast<unsigned*>(p), __float_as_uint(v));
  }
}

// Sums of integers held in floating point are exact in any order.
extern "C" __global__ void floats(const int* x, int n, float* f, double* d, float* low, float* high, __half2* h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(f, static_cast<float>(x[i]));
  atomicAdd(d, static_cast<double>(x[i]));
  addByCas(d + 1, 2.0 * x[i]);
  minFloat(low, static_cast<float>(x[i]));
  maxFloat(high, static_cast<float>(x[i]));
  atomicAdd(h, __floats2half2_rn(1.0f, x[i] & 1));
}

#if __CUDA_ARCH__ >= 900
// Before sm_90 the header's compare-and-swap loop begins with a plain load, which is a race.
extern "C" __global__ void bfloats(__nv_bfloat162* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(b, __floats2bfloat162_rn(static_cast<float>((i & 15) == 0), -2.0f));
}
#endif

// Every integer operation: out[0…] by int, then by long long; `wrap` for inc and dec.
extern "C" __global__ void integers(const int* x, int n, unsigned* out, unsigned long long* wide, unsigned wrap) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&out[0], x[i]);
  atomicSub(&out[1], x[i]);
  atomicMin(reinterpret_cast<int*>(&out[2]), x[i]);
  atomicMax(reinterpret_cast<int*>(&out[3]), x[i]);
  atomicMin(&out[4], static_cast<unsigned>(x[i]));
  atomicMax(&out[5], static_cast<unsigned>(x[i]));
  atomicAnd(&out[6], x[i] | 0xff);
  atomicOr(&out[7], x[i] & 0xff00ff);
  atomicXor(&out[8], x[i]);
  atomicInc(&out[9], wrap);
  atomicDec(&out[10], wrap);
  long long v = static_cast<long long>(x[i]) * 0x100000001ll;
  atomicAdd(&wide[0], static_cast<unsigned long long>(v));
  atomicMin(reinterpret_cast<long long*>(&wide[1]), v);
  atomicMax(reinterpret_cast<long long*>(&wide[2]), v);
  atomicMin(&wide[3], static_cast<unsigned long long>(v));
  atomicMax(&wide[4], static_cast<unsigned long long>(v));
  atomicAnd(&wide[5], static_cast<unsigned long long>(v | 0xff));
  atomicOr(&wide[6], static_cast<unsigned long long>(v & 0xff0000ff00ll));
  atomicXor(&wide[7], static_cast<unsigned long long>(v));
}

// A list through exchange: every thread pushes itself; the host walks it.
extern "C" __global__ void pushList(int* head, int* next, unsigned short* tickets, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int old = atomicAdd(&head[1], 1);
  // 16-bit compare-and-swap: half the slots of each word change at a time.
  unsigned short expected = 0xffff;
  tickets[n + i] = atomicCAS(&tickets[old % n], expected, static_cast<unsigned short>(old)) == expected;
  next[i] = atomicExch(head, i);
}

__device__ int lockWord;
__device__ unsigned long long guarded;

// A spin lock around a plain read-modify-write, one lane of each warp at a time.
extern "C" __global__ void criticalSection(const unsigned* x, int n, unsigned long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool done = i >= n;
  while (!done) {
    if (atomicCAS(&lockWord, 0, 1) == 0) {
      __threadfence();
      guarded += x[i];
      __threadfence();
      atomicExch(&lockWord, 0);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && gridDim.x == 1) *out = atomicAdd(&guarded, 0ull);
}

// libcu++: producers and consumers in one block meet through acquire and release.
extern "C" __global__ void atomicRef(const int* x, int* out, unsigned* flags, long long* sum, int n) {
  int t = threadIdx.x, half = blockDim.x / 2;
  cuda::atomic_ref<long long, cuda::thread_scope_device> total(*sum);
  if (t < half) {
    for (int i = t; i < n; i += half) {
      out[i] = x[i] * 2;
      cuda::atomic_ref<unsigned, cuda::thread_scope_block> flag(flags[i]);
      flag.store(1u, cuda::std::memory_order_release);
    }
  } else {
    for (int i = n - 1 - (t - half); i >= 0; i -= half) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_block> flag(flags[i]);
      while (flag.load(cuda::std::memory_order_acquire) == 0) __nanosleep(8);
      total.fetch_add(out[i], cuda::std::memory_order_relaxed);
      flag.fetch_or(2u, cuda::std::memory_order_acq_rel);
    }
  }
  cuda::atomic_ref<long long, cuda::thread_scope_device> most(sum[1]);
  most.fetch_max(t * 7 % 61, cuda::std::memory_order_relaxed);
}
