// Bulk and tensor copies of sm_90, in inline assembly.
#include <cstdint>

struct alignas(64) TensorMap {
  char opaque[128];
};

__device__ uint32_t address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void initBarrier(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(bar)), "r"(count));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void expectBytes(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes)
               : "memory");
}

__device__ void waitParity(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(address(bar)),
      "r"(parity)
      : "memory");
}

// out = in * 2 + 1, a block of 256 elements at a time through shared memory.
extern "C" __global__ void bulkBlocks(const int* in, int* out, int blocks) {
  __shared__ alignas(128) int tile[2][256];
  __shared__ uint64_t bar[2];
  int t = threadIdx.x;
  if (t == 0) {
    initBarrier(&bar[0], 1);
    initBarrier(&bar[1], 1);
  }
  __syncthreads();
  auto load = [&](int b) {
    expectBytes(&bar[b % 2], 1024);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address(tile[b % 2])),
        "l"(in + 256 * b), "r"(1024), "r"(address(&bar[b % 2]))
        : "memory");
  };
  if (t == 0) load(0);
  for (int b = 0; b < blocks; ++b) {
    if (t == 0 && b + 1 < blocks) {
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      load(b + 1);
    }
    waitParity(&bar[b % 2], b / 2 % 2);
    tile[b % 2][t] = tile[b % 2][t] * 2 + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + 256 * b),
                   "r"(address(tile[b % 2])), "r"(1024)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Transposes a matrix, a tile of 32 x 32 a block; tiles stick out of it.
extern "C" __global__ void tensorTranspose(const __grid_constant__ TensorMap from,
                                           const __grid_constant__ TensorMap to) {
  __shared__ alignas(1024) float in[32][32];
  __shared__ alignas(1024) float out[32][32];
  __shared__ uint64_t bar;
  int t = threadIdx.x;
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  if (t == 0) {
    initBarrier(&bar, 1);
    expectBytes(&bar, sizeof in);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %3}], [%4];" ::"r"(address(in)),
        "l"(&from), "r"(x), "r"(y), "r"(address(&bar))
        : "memory");
  }
  __syncthreads();
  waitParity(&bar, 0);
  for (int r = t / 32; r < 32; r += blockDim.x / 32) {
    // 128 bytes a row: chunk c of row r is at c ^ (r % 8).
    int c = t % 32;
    out[c][((r / 4) ^ (c % 8)) * 4 + r % 4] = in[r][((c / 4) ^ (r % 8)) * 4 + c % 4];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
                 "r"(y), "r"(x), "r"(address(out))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// Adds boxes of a tensor of three dimensions, every second plane, into another.
extern "C" __global__ void tensorAdd(const __grid_constant__ TensorMap from,
                                     const __grid_constant__ TensorMap to, int x, int y, int z,
                                     uint32_t bytes) {
  __shared__ alignas(128) char tile[8192];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    initBarrier(&bar, 1);
    expectBytes(&bar, bytes);
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %3, %4}], [%5];" ::"r"(address(tile)),
        "l"(&from), "r"(x), "r"(y), "r"(z), "r"(address(&bar))
        : "memory");
    waitParity(&bar, 0);
    asm volatile(
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
            &to),
        "r"(x), "r"(y), "r"(z), "r"(address(tile))
        : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
