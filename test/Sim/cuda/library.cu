// CUB's block-wide primitives and libcu++ on the device: deep templates that others wrote.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/tuple>

// 128 threads, four keys each.
extern "C" __global__ void cubSort(const int* keys, const float* values, int* sorted, float* moved) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 128, 4, float>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } temp;
  int k[4];
  float v[4];
  Load(temp.load).Load(keys, k);
  for (int i = 0; i < 4; ++i) v[i] = values[4 * threadIdx.x + i];
  __syncthreads();
  Sort(temp.sort).SortDescending(k, v);
  for (int i = 0; i < 4; ++i) {
    sorted[4 * threadIdx.x + i] = k[i];
    moved[4 * threadIdx.x + i] = v[i];
  }
}

struct Longest {
  __device__ int2 operator()(int2 a, int2 b) const { return b.x > a.x ? b : a; }
};

extern "C" __global__ void cubScan(const int* x, int n, int* sums, int2* best, unsigned* bins) {
  using Scan = cub::BlockScan<int, 96, cub::BLOCK_SCAN_RAKING>;
  using Reduce = cub::BlockReduce<int2, 96, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  using Histogram = cub::BlockHistogram<unsigned char, 96, 1, 16, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Histogram::TempStorage histogram;
  __shared__ unsigned counts[16];
  int t = threadIdx.x, v = t < n ? x[t] : 0, total;
  int before;
  Scan(scan).ExclusiveSum(v, before, total);
  if (t < n) sums[t] = before;
  int2 most = Reduce(reduce).Reduce(make_int2(v, t), Longest(), n);
  if (t == 0) {
    *best = most;
    sums[n] = total;
  }
  unsigned char digit[1] = {static_cast<unsigned char>(v & 15)};
  Histogram(histogram).Histogram(digit, counts);
  __syncthreads();
  if (t < 16) bins[t] = counts[t];
}

extern "C" __global__ void cubMerge(const unsigned short* x, unsigned short* out) {
  using Sort = cub::WarpMergeSort<unsigned short, 3, 32>;
  __shared__ typename Sort::TempStorage temp[2];
  int warp = threadIdx.x / 32;
  unsigned short v[3];
  for (int i = 0; i < 3; ++i) v[i] = x[3 * threadIdx.x + i];
  Sort(temp[warp]).Sort(v, [](unsigned short a, unsigned short b) { return a < b; });
  for (int i = 0; i < 3; ++i) out[3 * threadIdx.x + i] = v[i];
}

// The ranks of a pass of a radix sort, by matching digits; 128 threads, two keys each.
extern "C" __global__ void cubRank(const unsigned* x, unsigned* out) {
  using Ranks = cub::BlockRadixRankMatch<128, 5, false>;
  __shared__ typename Ranks::TempStorage temp;
  unsigned key[2];
  int rank[2];
  int first = threadIdx.x / 32 * 64 + threadIdx.x % 32;
  for (int k = 0; k < 2; ++k) key[k] = x[first + 32 * k];
  Ranks(temp).RankKeys(key, rank, cub::BFEDigitExtractor<unsigned>(3, 5));
  for (int k = 0; k < 2; ++k) out[rank[k]] = key[k];
}

// Roots of x^2 + bx + c, if they are real, in a tuple; otherwise the product of the complex ones.
extern "C" __global__ void standard(const double* b, const double* c, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double d = b[i] * b[i] - 4 * c[i];
  cuda::std::optional<cuda::std::tuple<double, double>> roots;
  if (d >= 0) roots = cuda::std::make_tuple((-b[i] - sqrt(d)) / 2, (-b[i] + sqrt(d)) / 2);
  cuda::std::array<double, 2> r;
  if (roots.has_value()) {
    r = {cuda::std::get<0>(*roots), cuda::std::get<1>(*roots)};
  } else {
    cuda::std::complex<double> z(-b[i] / 2, sqrt(-d) / 2), w = cuda::std::conj(z) * z;
    r = {w.real(), w.imag()};
  }
  out[2 * i] = r[0];
  out[2 * i + 1] = r[1];
}
