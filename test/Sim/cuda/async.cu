// Asynchronous copies and barriers of sm_80, as CUDA C++ has them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// Each block sums rows of a matrix, staged four rows ahead.
extern "C" __global__ void pipelined(const float4* x, float* out, int rows) {
  constexpr int kStages = 4;
  __shared__ float4 stage[kStages][64];
  int t = threadIdx.x;
  x += static_cast<size_t>(blockIdx.x) * rows * 64;
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < rows) __pipeline_memcpy_async(&stage[s][t], &x[s * 64 + t], sizeof(float4));
    __pipeline_commit();
  }
  float sum = 0;
  for (int r = 0; r < rows; ++r) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    int next = r + kStages - 1;
    if (next < rows) {
      __pipeline_memcpy_async(&stage[next % kStages][t], &x[next * 64 + t], sizeof(float4));
    }
    __pipeline_commit();
    float4 v = stage[r % kStages][63 - t];
    sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
  }
  out[blockIdx.x * 64 + t] = sum;
}

// The last copies of a row are partly, or wholly, zeros.
extern "C" __global__ void tails(const int* x, int* out, int n) {
  __shared__ int stage[128];
  int t = threadIdx.x;
  int left = n - t;
  size_t missing = left <= 0 ? 4 : 0;
  __pipeline_memcpy_async(&stage[t], &x[left <= 0 ? 0 : t], 4, missing);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = stage[127 - t];
}

extern "C" __global__ void groupCopies(const int* x, int* out, int n) {
  extern __shared__ int tile[];
  cg::thread_block block = cg::this_thread_block();
  int sum = 0;
  for (int at = 0; at < n; at += 256) {
    int size = min(256, n - at);
    cg::memcpy_async(block, tile, x + at, sizeof(int) * size);
    cg::wait(block);
    for (int i = threadIdx.x; i < size; i += blockDim.x) sum += tile[size - 1 - i] * (i + 1);
    block.sync();
  }
  out[threadIdx.x] = sum;
}

// Producers and consumers that meet at barriers, which count phases.
extern "C" __global__ void splitArrive(const int* x, int* out, int rounds) {
  __shared__ Barrier bar;
  __shared__ int tile[128];
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    tile[t] = x[t] * (r + 1);
    auto token = bar.arrive();
    int own = x[t] & 7;
    bar.wait(std::move(token));
    sum = sum * 3 + own + tile[(t + 37) % 128];
    bar.arrive_and_wait();
  }
  out[t] = sum;
}

extern "C" __global__ void barrierCopies(const int* x, int* out, int rounds) {
  __shared__ alignas(16) int tile[2][256];
  __shared__ Barrier bar[2];
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() < 2) init(&bar[block.thread_rank()], block.size());
  block.sync();
  cuda::memcpy_async(block, tile[0], x, cuda::aligned_size_t<16>(1024), bar[0]);
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    if (r + 1 < rounds) {
      cuda::memcpy_async(block, tile[(r + 1) % 2], x + 256 * (r + 1), cuda::aligned_size_t<16>(1024),
                         bar[(r + 1) % 2]);
    }
    bar[r % 2].arrive_and_wait();
    sum = sum * 5 + tile[r % 2][255 - threadIdx.x];
    block.sync();
  }
  out[threadIdx.x] = sum;
}
