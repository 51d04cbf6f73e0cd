// The example kernels in CUDA C++, written for comparison: same algorithm, same types, same order of operations.

extern "C" __global__ void vadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(const float* x, float* y, float alpha, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = axpy(alpha, x[i], y[i]);
}

__device__ float blockMax(float value, float* scratch, int lane, int items) {
  scratch[lane] = value;
  __syncthreads();
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) scratch[lane] = fmaxf(scratch[lane], scratch[lane + step]);
    __syncthreads();
  }
  float result = scratch[0];
  __syncthreads();
  return result;
}

__device__ float blockSum(float value, float* scratch, int lane, int items) {
  scratch[lane] = value;
  __syncthreads();
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) scratch[lane] = scratch[lane] + scratch[lane + step];
    __syncthreads();
  }
  float result = scratch[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void softmax(const float* x, float* y, int columns, int xStride, int yStride) {
  __shared__ float scratch[256];
  int lane = threadIdx.x;
  int items = blockDim.x;
  long long row = blockIdx.x;
  const float* source = x + row * xStride;
  float* target = y + row * yStride;
  float largest = -3.4028234663852886e38f;
  for (int i = lane; i < columns; i += items) largest = fmaxf(largest, source[i]);
  largest = blockMax(largest, scratch, lane, items);
  float sum = 0.0f;
  for (int i = lane; i < columns; i += items) sum += expf(source[i] - largest);
  sum = blockSum(sum, scratch, lane, items);
  for (int i = lane; i < columns; i += items) target[i] = expf(source[i] - largest) / sum;
}

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n, int k, int lda, int ldb,
                                        int ldc) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[(long long)row * lda + i] * b[(long long)i * ldb + column];
    c[(long long)row * ldc + column] = sum;
  }
}

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k, int lda, int ldb,
                                        int ldc) {
  constexpr int kTile = 16;
  __shared__ float ta[kTile * kTile];
  __shared__ float tb[kTile * kTile];
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int row = blockIdx.y * kTile + ty;
  int column = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += kTile) {
    float av = 0.0f;
    float bv = 0.0f;
    if (row < m && k0 + tx < k) av = a[(long long)row * lda + k0 + tx];
    if (column < n && k0 + ty < k) bv = b[(long long)(k0 + ty) * ldb + column];
    ta[ty * kTile + tx] = av;
    tb[ty * kTile + tx] = bv;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[ty * kTile + i] * tb[i * kTile + tx];
    __syncthreads();
  }
  if (row < m && column < n) c[(long long)row * ldc + column] = sum;
}
