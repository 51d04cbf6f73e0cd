// Matrix products with <mma.h> and with inline PTX: D = A * B + C over whole matrices, a warp for each tile.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

// D = A * B + C of m x n x k: A by rows, B by columns, C and D by rows; tiles of M x N x K, one warp each along x and y.
template <int M, int N, int K, typename Element, typename Memory, typename Sum, typename SumMemory>
__device__ void tiles(const Memory* a, const Memory* b, const SumMemory* c, SumMemory* d, int n, int k) {
  int row = blockIdx.y * M, column = (blockIdx.x * blockDim.y + threadIdx.y) * N;
  if (column >= n) return;
  wmma::fragment<wmma::matrix_a, M, N, K, Element, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, Element, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
  wmma::load_matrix_sync(sum, c + row * n + column, n, wmma::mem_row_major);
  for (int i = 0; i < k; i += K) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + column * k + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

extern "C" __global__ void halfTiles(const __half* a, const __half* b, const float* c, float* d, int n, int k) {
  tiles<16, 16, 16, __half, __half, float>(a, b, c, d, n, k);
}

extern "C" __global__ void halfSums(const __half* a, const __half* b, const __half* c, __half* d, int n, int k) {
  tiles<8, 32, 16, __half, __half, __half>(a, b, c, d, n, k);
}

extern "C" __global__ void byteTiles(const signed char* a, const signed char* b, const int* c, int* d, int n, int k) {
  tiles<32, 8, 16, signed char, signed char, int>(a, b, c, d, n, k);
}

extern "C" __global__ void unsignedTiles(const unsigned char* a, const unsigned char* b, const int* c, int* d, int n, int k) {
  tiles<16, 16, 16, unsigned char, unsigned char, int>(a, b, c, d, n, k);
}

extern "C" __global__ void brainTiles(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c, float* d, int n, int k) {
#if __CUDA_ARCH__ >= 800
  tiles<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float>(a, b, c, d, n, k);
#endif
}

extern "C" __global__ void doubleTiles(const double* a, const double* b, const double* c, double* d, int n, int k) {
#if __CUDA_ARCH__ >= 800
  tiles<8, 8, 4, double, double, double>(a, b, c, d, n, k);
#endif
}

extern "C" __global__ void singleTiles(const float* a, const float* b, const float* c, float* d, int n, int k) {
#if __CUDA_ARCH__ >= 800
  tiles<16, 16, 8, wmma::precision::tf32, float, float>(a, b, c, d, n, k);
#endif
}

// Column-major everything, through shared memory, with scaling of the fragments' elements.
extern "C" __global__ void columns(const __half* a, const __half* b, float* d, float factor) {
  __shared__ __align__(32) __half sa[16 * 24], sb[16 * 24];
  __shared__ __align__(32) float sd[16 * 20];
  for (int i = threadIdx.x; i < 256; i += 32) {
    sa[i / 16 * 24 + i % 16] = a[i];
    sb[i / 16 * 24 + i % 16] = b[i];
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::load_matrix_sync(fa, sa, 24);
  wmma::load_matrix_sync(fb, sb, 24);
  wmma::mma_sync(sum, fa, fb, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= factor;
  wmma::store_matrix_sync(sd, sum, 20, wmma::mem_col_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) d[i] = sd[i / 16 * 20 + i % 16];
}

// One m16n8k16 product with ldmatrix: A by rows, B by rows (transposed as it is loaded).
extern "C" __global__ void inlineProduct(const __half* a, const __half* b, float* d) {
  __shared__ __align__(16) __half sa[16 * 16], sb[16 * 8];
  for (int i = threadIdx.x; i < 256; i += 32) sa[i] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32) sb[i] = b[i];
  __syncwarp();
#if __CUDA_ARCH__ >= 800
  unsigned lane = threadIdx.x % 32, x[4], y[2];
  uint32_t pa = static_cast<uint32_t>(__cvta_generic_to_shared(sa + lane % 16 * 16 + lane / 16 * 8));
  uint32_t pb = static_cast<uint32_t>(__cvta_generic_to_shared(sb + lane % 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(pa));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(pb));
  float c[4] = {};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
#endif
}

// Elements of four bits and of one.
extern "C" __global__ void nibbleTile(const void* a, const void* b, const int* c, int* d) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, wmma::experimental::precision::u4, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::u4, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
  wmma::load_matrix_sync(fa, a, 32);
  wmma::load_matrix_sync(fb, b, 64);
  wmma::load_matrix_sync(sum, c, 8, wmma::mem_col_major);
  wmma::mma_sync(sum, fa, fb, sum, true);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void bitTile(const void* a, const void* b, int* d) {
  wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::experimental::precision::b1, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::fill_fragment(sum, 3);
  wmma::load_matrix_sync(fa, a, 128);
  wmma::load_matrix_sync(fb, b, 256);
  wmma::bmma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

// Half of a warp leaves before a product.
extern "C" __global__ void halfWarp(const __half* a, float* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, a, 16);
  if (threadIdx.x < 16) wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}
