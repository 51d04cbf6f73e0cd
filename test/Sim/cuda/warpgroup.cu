// A product of tiles by warpgroups: operands staged through shared memory with the 128-byte swizzle, sums in registers.
#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr int kRows = 64, kColumns = 32, kDepth = 64;

// The 16-byte chunk `chunk` of line `line`, where lines have 128 bytes.
__device__ int swizzled(int line, int chunk) { return line * 128 + ((chunk ^ (line & 7)) << 4); }

__device__ uint64_t descriptor(const void* tile) {
  uint64_t start = (__cvta_generic_to_shared(tile) & 0x3ffff) >> 4;
  return start | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

__device__ void multiply(float (&d)[16], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b));
}

}  // namespace

// d (64 x 32 of each block) = a (64 rows of each block, k wide) * the transpose of b (32 x k); k is a multiple of 64.
extern "C" __global__ void warpgroupTiles(const __half* a, const __half* b, float* d, int k) {
  __shared__ alignas(1024) char tileA[kRows * 128];
  __shared__ alignas(1024) char tileB[kColumns * 128];
  const int t = threadIdx.x;
  float sums[16];
  for (float& x : sums) x = 0;
  for (int begin = 0; begin < k; begin += kDepth) {
    for (int i = t; i < kRows * 8; i += blockDim.x) {
      const __half* from = a + (blockIdx.x * kRows + i / 8) * k + begin + i % 8 * 8;
      *reinterpret_cast<uint4*>(tileA + swizzled(i / 8, i % 8)) = *reinterpret_cast<const uint4*>(from);
    }
    for (int i = t; i < kColumns * 8; i += blockDim.x) {
      const __half* from = b + i / 8 * k + begin + i % 8 * 8;
      *reinterpret_cast<uint4*>(tileB + swizzled(i / 8, i % 8)) = *reinterpret_cast<const uint4*>(from);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    // A step of 16 along K is 32 bytes.
    for (int step = 0; step < kDepth / 16; ++step) multiply(sums, descriptor(tileA) + 2 * step, descriptor(tileB) + 2 * step);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  const int row = blockIdx.x * kRows + t / 32 * 16 + t % 32 / 4;
  for (int i = 0; i < 16; ++i) d[(row + i / 2 % 2 * 8) * kColumns + i / 4 * 8 + t % 4 * 2 + i % 2] = sums[i];
}
