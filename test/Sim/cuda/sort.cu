// Sorting and searching.

// Bitonic sort of up to 1024 keys with their values in one block; stable by breaking ties with the index.
extern "C" __global__ void bitonic(const int* keys, int* sorted, int* order, int n) {
  __shared__ int k[1024];
  __shared__ unsigned short v[1024];
  int t = threadIdx.x, size = 2 * blockDim.x;
  for (int i = t; i < size; i += blockDim.x) {
    k[i] = i < n ? keys[i] : 0x7fffffff;
    v[i] = i;
  }
  for (int width = 2; width <= size; width <<= 1) {
    for (int d = width >> 1; d > 0; d >>= 1) {
      __syncthreads();
      int a = 2 * t - (t & (d - 1)), b = a + d;
      bool up = (a & width) == 0;
      bool greater = k[a] > k[b] || (k[a] == k[b] && v[a] > v[b]);
      if (greater == up) {
        int x = k[a];
        k[a] = k[b];
        k[b] = x;
        unsigned short y = v[a];
        v[a] = v[b];
        v[b] = y;
      }
    }
  }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) {
    sorted[i] = k[i];
    order[i] = v[i];
  }
}

// One stable counting pass of a radix sort by a 4-bit digit, in one block: ranks by __match_any_sync.
extern "C" __global__ void radixPass(const unsigned* x, unsigned* y, int n, int shift) {
  __shared__ unsigned total[16], start[16], warpCount[32][16];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = blockDim.x >> 5;
  if (t < 16) total[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) atomicAdd(&total[x[i] >> shift & 15], 1u);
  __syncthreads();
  if (t == 0) {
    unsigned s = 0;
    for (int d = 0; d < 16; ++d) {
      start[d] = s;
      s += total[d];
    }
  }
  for (int base = 0; base < n; base += blockDim.x) {
    if (lane < 16) warpCount[warp][lane] = 0;
    __syncthreads();
    int i = base + t;
    unsigned digit = i < n ? x[i] >> shift & 15 : 16;
    unsigned peers = __match_any_sync(0xffffffffu, digit);
    unsigned rank = __popc(peers & ((1u << lane) - 1));
    if (digit < 16 && rank == 0) warpCount[warp][digit] = __popc(peers);
    __syncthreads();
    if (digit < 16) {
      unsigned at = start[digit] + rank;
      for (int w = 0; w < warp; ++w) at += warpCount[w][digit];
      y[at] = x[i];
    }
    __syncthreads();
    if (t < 16) {
      for (int w = 0; w < warps; ++w) start[t] += warpCount[w][t];
    }
    __syncthreads();
  }
}

// Merges two sorted lists: every thread finds its place by bisection (merge path).
extern "C" __global__ void mergePath(const double* a, int na, const double* b, int nb, double* out) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= na + nb) return;
  int low = max(0, d - nb), high = min(d, na);
  while (low < high) {
    int mid = (low + high) >> 1;
    if (a[mid] <= b[d - 1 - mid]) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  int i = low, j = d - low;
  out[d] = j >= nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
}

// Position of the first occurrence of `needle` at or after each block's part, and the number of all.
extern "C" __global__ void findText(const char* text, int n, const char* needle, int m, int* first, unsigned* count) {
  extern __shared__ char pattern[];
  for (int i = threadIdx.x; i < m; i += blockDim.x) pattern[i] = needle[i];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  int j = 0;
  while (j < m && text[i + j] == pattern[j]) ++j;
  if (j == m) {
    atomicMin(first, i);
    atomicInc(count, 0xffffffffu);
  }
}

// Edit distance of two short texts by one warp, a diagonal at a time.
extern "C" __global__ void editDistance(const char* a, int na, const char* b, int nb, int* out) {
  __shared__ int row[3][64];
  int t = threadIdx.x;
  for (int d = 0; d <= na + nb; ++d) {
    int* now = row[d % 3];
    const int* one = row[(d + 2) % 3];
    const int* two = row[(d + 1) % 3];
    for (int i = t; i <= na; i += blockDim.x) {
      int j = d - i;
      if (j < 0 || j > nb) continue;
      int best;
      if (i == 0 || j == 0) {
        best = i + j;
      } else {
        best = two[i - 1] + (a[i - 1] != b[j - 1]);
        best = min(best, one[i - 1] + 1);
        best = min(best, one[i] + 1);
      }
      now[i] = best;
      if (i == na && j == nb) *out = best;
    }
    __syncthreads();
  }
}
