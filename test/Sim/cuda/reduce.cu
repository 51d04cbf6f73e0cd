// Reductions and scans: shared-memory trees, shuffles, votes, and a single-pass scan whose blocks wait for each other.

extern "C" __global__ void sumTree(const float* x, double* out, int n) {
  __shared__ double part[192];
  int t = threadIdx.x;
  double s = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) s += x[i];
  part[t] = s;
  __syncthreads();
  // Any block size: the upper half, rounded up, folds onto the lower one.
  for (int m = blockDim.x; m > 1;) {
    int half = (m + 1) / 2;
    if (t < m / 2) part[t] += part[t + half];
    m = half;
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

template <typename T>
__device__ T warpSum(T v) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  return v;
}

extern "C" __global__ void sumShuffle(const long long* x, unsigned long long* out, int n) {
  __shared__ long long part[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  long long s = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) s += x[i];
  s = warpSum(s);
  if (lane == 0) part[warp] = s;
  __syncthreads();
  if (warp == 0) {
    s = lane < (blockDim.x + 31) / 32 ? part[lane] : 0;
    s = warpSum(s);
    if (lane == 0) atomicAdd(out, (unsigned long long)s);
  }
}

// The index of the greatest element; of equal ones, the first.
extern "C" __global__ void argmax(const float* x, int* out, int n) {
  extern __shared__ unsigned char raw[];
  float* value = reinterpret_cast<float*>(raw);
  int* index = reinterpret_cast<int*>(value + blockDim.x);
  int t = threadIdx.x;
  float best = -__builtin_inff();
  int at = n;
  for (int i = t; i < n; i += blockDim.x) {
    if (x[i] > best) {
      best = x[i];
      at = i;
    }
  }
  value[t] = best;
  index[t] = at;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (t < d) {
      float v = value[t + d];
      int i = index[t + d];
      if (v > value[t] || (v == value[t] && i < index[t])) {
        value[t] = v;
        index[t] = i;
      }
    }
    __syncthreads();
  }
  if (t == 0) *out = index[0];
}

// Blelloch's exclusive scan of 2 × blockDim elements.
extern "C" __global__ void scanTree(const unsigned* x, unsigned* y, int n) {
  extern __shared__ unsigned temp[];
  int t = threadIdx.x, size = 2 * blockDim.x, offset = 1;
  temp[2 * t] = 2 * t < n ? x[2 * t] : 0;
  temp[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
  for (int d = size >> 1; d > 0; d >>= 1, offset <<= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
  }
  if (t == 0) temp[size - 1] = 0;
  for (int d = 1; d < size; d <<= 1) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      unsigned a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      unsigned v = temp[a];
      temp[a] = temp[b];
      temp[b] += v;
    }
  }
  __syncthreads();
  if (2 * t < n) y[2 * t] = temp[2 * t];
  if (2 * t + 1 < n) y[2 * t + 1] = temp[2 * t + 1];
}

__device__ unsigned scanWarp(unsigned v, int lane) {
  for (int d = 1; d < 32; d <<= 1) {
    unsigned o = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += o;
  }
  return v;
}

// Chained scan: blocks take tickets, and each waits for the sum that its predecessor publishes.
extern "C" __global__ void scanChained(const unsigned* x, unsigned* y, volatile unsigned* sums, unsigned* flags,
                                       unsigned* ticket, int n) {
  __shared__ unsigned number, before, warps[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  if (t == 0) number = atomicAdd(ticket, 1u);
  __syncthreads();
  unsigned mine = number;
  int i = mine * blockDim.x + t;
  unsigned v = i < n ? x[i] : 0;
  unsigned s = scanWarp(v, lane);
  if (lane == 31) warps[warp] = s;
  __syncthreads();
  if (warp == 0) {
    unsigned w = lane < blockDim.x / 32 ? warps[lane] : 0;
    warps[lane] = scanWarp(w, lane);
  }
  __syncthreads();
  if (warp > 0) s += warps[warp - 1];
  if (t == blockDim.x - 1) {
    unsigned sum = 0;
    if (mine > 0) {
      while (atomicAdd(&flags[mine - 1], 0u) == 0) __nanosleep(20);
      __threadfence();
      sum = sums[mine - 1];
    }
    before = sum;
    sums[mine] = sum + s;
    __threadfence();
    atomicExch(&flags[mine], 1u);
  }
  __syncthreads();
  if (i < n) y[i] = before + s;
}

// Keeps the elements that are multiples of 3, in order: one block, any number of elements.
extern "C" __global__ void compact(const int* x, int* y, int* count, int n) {
  __shared__ int base, counts[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  if (t == 0) base = 0;
  __syncthreads();
  for (int start = 0; start < n; start += blockDim.x) {
    int i = start + t;
    bool keep = i < n && x[i] % 3 == 0;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    if (lane == 0) counts[warp] = __popc(votes);
    int total = __syncthreads_count(keep);
    int at = base + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < warp; ++w) at += counts[w];
    if (keep) y[at] = x[i];
    __syncthreads();
    if (t == 0) base += total;
    __syncthreads();
  }
  if (t == 0) *count = base;
}
