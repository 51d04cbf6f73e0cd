// Warp-level primitives: whole warps, partial warps, divergent warps.

// Every kind of shuffle and vote with all lanes; `width` cuts the warp into segments.
extern "C" __global__ void shuffles(const int* x, int* out, int n) {
  int i = threadIdx.x;
  int v = x[i];
  out[i] = __shfl_sync(0xffffffffu, v, i * 7 + 3);
  out[n + i] = __shfl_up_sync(0xffffffffu, v, 3, 16);
  out[2 * n + i] = __shfl_down_sync(0xffffffffu, v, 5, 8);
  out[3 * n + i] = __shfl_xor_sync(0xffffffffu, v, 9, 16);
  double d = __shfl_sync(0xffffffffu, v * 0.5, (i & 7) + 1, 8);
  out[4 * n + i] = static_cast<int>(d * 2);
  long long w = __shfl_up_sync(0xffffffffu, v * 0x100000007ll, 1);
  out[5 * n + i] = static_cast<int>(w >> 32) ^ static_cast<int>(w);
}

// Lanes in groups of four sizes, each group with its own mask and its own branch.
extern "C" __global__ void partial(const unsigned* x, unsigned* out, int n) {
  int i = threadIdx.x, lane = i & 31;
  unsigned v = x[i], r;
  if (lane < 3) {
    r = __shfl_sync(0x00000007u, v, 2) + __ballot_sync(0x00000007u, v & 1);
  } else if (lane < 16) {
    r = __shfl_sync(0x0000fff8u, v, lane < 15 ? lane + 1 : 3);
    r ^= __any_sync(0x0000fff8u, v == 0) ? 0x80000000u : 0;
  } else if (lane & 1) {
    r = __shfl_xor_sync(0xaaaa0000u, v, 2);
    r += __all_sync(0xaaaa0000u, v > 5) ? 0x10000u : 0;
  } else {
    r = __activemask();
    r ^= __match_any_sync(0x55550000u, v & 3);
  }
  __syncwarp();
  out[i] = r;
}

extern "C" __global__ void matches(const unsigned long long* x, unsigned* out, int* all, int n) {
  int i = threadIdx.x;
  out[i] = __match_any_sync(0xffffffffu, x[i]);
  int same;
  unsigned mask = __match_all_sync(0xffffffffu, x[i] >> 60, &same);
  all[i] = same ? static_cast<int>(__popc(mask)) : -1;
}

// Aggregated increment: lanes that are active together take consecutive numbers with one atomic.
extern "C" __global__ void aggregate(const int* x, int* counter, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = -1;
  if (x[i] % 3 != 0) {
    unsigned active = __activemask();
    int lane = threadIdx.x & 31, leader = __ffs(active) - 1, base = 0;
    if (lane == leader) base = atomicAdd(counter, __popc(active));
    base = __shfl_sync(active, base, leader);
    out[i] = base + __popc(active & ((1u << lane) - 1));
  }
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reduxes(const int* x, unsigned* out) {
  int i = threadIdx.x, lane = i & 31;
  unsigned* o = out + i;
  unsigned n = blockDim.x;
  if (lane >= 21) return;
  unsigned m = 0x1fffff;
  o[0] = __reduce_add_sync(m, x[i]);
  o[n] = __reduce_min_sync(m, x[i]);
  o[2 * n] = __reduce_max_sync(m, x[i]);
  o[3 * n] = __reduce_min_sync(m, static_cast<unsigned>(x[i]));
  o[4 * n] = __reduce_max_sync(m, static_cast<unsigned>(x[i]));
  o[5 * n] = __reduce_and_sync(m, static_cast<unsigned>(x[i]));
  o[6 * n] = __reduce_or_sync(m, static_cast<unsigned>(x[i]));
  o[7 * n] = __reduce_xor_sync(m, static_cast<unsigned>(x[i]));
}
#endif

// Barriers that vote, and named barriers between two halves of a block.
extern "C" __global__ void barriers(const int* x, int* out, int n) {
  __shared__ int box[256];
  int t = threadIdx.x, v = x[t];
  out[t] = __syncthreads_count(v > 0);
  out[n + t] = __syncthreads_and(v > -1000);
  out[2 * n + t] = __syncthreads_or(v == 17);
  int half = n / 2;
  if (t < half) {
    box[t] = v;
    asm volatile("bar.arrive 3, %0;" ::"r"(n) : "memory");
    asm volatile("bar.sync 4, %0;" ::"r"(half) : "memory");
    out[3 * n + t] = box[half - 1 - t];
  } else {
    asm volatile("bar.sync 3, %0;" ::"r"(n) : "memory");
    out[3 * n + t] = box[t - half];
  }
}

// Collatz lengths: loops of very different trip counts with a break, a continue and an early return inside.
extern "C" __global__ void divergent(const unsigned* x, int* out, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = x[i];
  int odd = 0, steps = 0;
  for (;; ++steps) {
    if (v <= 1) break;
    if (steps == limit) {
      out[i] = -odd;
      return;
    }
    if (v % 2 == 0) {
      v /= 2;
      continue;
    }
    ++odd;
    v = 3 * v + 1;
  }
  out[i] = steps * 1000 + odd;
}
