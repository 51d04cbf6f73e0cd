// Matrices, grids and bodies.

// CSR times vector: a warp for each row.
extern "C" __global__ void spmvVector(const int* rows, const int* columns, const double* values, const double* x,
                                      double* y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  double sum = 0;
  for (int k = rows[row] + lane; k < rows[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

// The same with a thread for each row, over integers modulo 2^32.
extern "C" __global__ void spmvScalar(const int* rows, const int* columns, const unsigned* values, const unsigned* x,
                                      unsigned* y, int n) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < n; row += gridDim.x * blockDim.x) {
    unsigned sum = 0;
    for (int k = rows[row]; k < rows[row + 1]; ++k) sum += values[k] * __ldg(&x[columns[k]]);
    y[row] = sum;
  }
}

struct Box {
  int nx, ny, nz;
  float centre, side;
};

// Seven-point stencil; a plane of the block in shared memory, the column in registers. The box is passed by value.
extern "C" __global__ void stencil(const float* __restrict__ in, float* __restrict__ out, const Box box) {
  __shared__ float tile[6][18];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * 16 + tx, y = blockIdx.y * 4 + ty;
  auto at = [&](int i, int j, int k) {
    bool inside = i >= 0 && j >= 0 && k >= 0 && i < box.nx && j < box.ny && k < box.nz;
    return inside ? in[(k * box.ny + j) * box.nx + i] : 0.0f;
  };
  float below = 0, here = at(x, y, 0), above = at(x, y, 1);
  for (int z = 0; z < box.nz; ++z) {
    tile[ty + 1][tx + 1] = here;
    if (ty == 0) tile[0][tx + 1] = at(x, y - 1, z);
    if (ty == 3) tile[5][tx + 1] = at(x, y + 1, z);
    if (tx == 0) tile[ty + 1][0] = at(x - 1, y, z);
    if (tx == 15) tile[ty + 1][17] = at(x + 1, y, z);
    __syncthreads();
    float sides = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2] + below + above;
    if (x < box.nx && y < box.ny) out[(z * box.ny + y) * box.nx + x] = box.centre * here + box.side * sides;
    __syncthreads();
    below = here;
    here = above;
    above = at(x, y, z + 2);
  }
}

__constant__ int kWeights[3][5] = {{1, -2, 3, -2, 1}, {4, 0, -7, 0, 4}, {1, -2, 3, -2, 1}};

extern "C" __global__ void convolve(const unsigned char* in, short* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0;
#pragma unroll 1
  for (int j = -1; j <= 1; ++j) {
    for (int i = -2; i <= 2; ++i) {
      int u = min(max(x + i, 0), width - 1), v = min(max(y + j, 0), height - 1);
      sum += kWeights[j + 1][i + 2] * in[v * width + u];
    }
  }
  out[y * width + x] = static_cast<short>(min(max(sum, -32768), 32767));
}

// Tiles of a matrix product of any shape.
template <typename T, int N>
__device__ void matmul(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T as[N][N], bs[N][N + 1];
  int row = blockIdx.y * N + threadIdx.y, column = blockIdx.x * N + threadIdx.x;
  T sum = 0;
  for (int p = 0; p < k; p += N) {
    int i = p + threadIdx.x, j = p + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && i < k ? a[row * k + i] : T(0);
    bs[threadIdx.y][threadIdx.x] = j < k && column < n ? b[j * n + column] : T(0);
    __syncthreads();
#pragma unroll
    for (int q = 0; q < N; ++q) sum += as[threadIdx.y][q] * bs[q][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
extern "C" __global__ void matmulFloat(const float* a, const float* b, float* c, int m, int n, int k) {
  matmul<float, 16>(a, b, c, m, n, k);
}
extern "C" __global__ void matmulDouble(const double* a, const double* b, double* c, int m, int n, int k) {
  matmul<double, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void transpose(const float4* in, float4* out, int rows, int columns4) {
  // Tiles of 4 × 4 elements: each thread reads four vectors and writes four.
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, rows4 = rows / 4;
  if (c >= columns4 || r >= rows4) return;
  float4 v[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = in[(4 * r + i) * columns4 + c];
  out[(4 * c + 0) * rows4 + r] = make_float4(v[0].x, v[1].x, v[2].x, v[3].x);
  out[(4 * c + 1) * rows4 + r] = make_float4(v[0].y, v[1].y, v[2].y, v[3].y);
  out[(4 * c + 2) * rows4 + r] = make_float4(v[0].z, v[1].z, v[2].z, v[3].z);
  out[(4 * c + 3) * rows4 + r] = make_float4(v[0].w, v[1].w, v[2].w, v[3].w);
}

// Accelerations of bodies (position and mass in a float4), softened.
extern "C" __global__ void nbody(const float4* bodies, float3* out, int n, float softening) {
  extern __shared__ float4 others[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 a = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += blockDim.x) {
    int j = base + threadIdx.x;
    others[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) {
      float4 o = others[k];
      float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      float s = o.w * r * r * r;
      a.x += s * dx;
      a.y += s * dy;
      a.z += s * dz;
    }
    __syncthreads();
  }
  if (i < n) out[i] = a;
}

// One radix-2 step of a Stockham FFT over double2.
extern "C" __global__ void fftStep(const double2* in, double2* out, int n, int half) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 2) return;
  int k = i % half;
  double s, c;
  sincospi(-double(k) / half, &s, &c);
  double2 a = in[i], b = in[i + n / 2];
  double2 t = make_double2(c * b.x - s * b.y, c * b.y + s * b.x);
  int j = (i - k) * 2 + k;
  out[j] = make_double2(a.x + t.x, a.y + t.y);
  out[j + half] = make_double2(a.x - t.x, a.y - t.y);
}

// Iterations until |z| > 2; lanes leave the loop at different times. Integer arithmetic: exact.
extern "C" __global__ void mandelbrot(unsigned short* out, int width, int height, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const long long one = 1ll << 28;
  long long cr = -2 * one + 3 * one * x / width, ci = -one + 2 * one * y / height, zr = 0, zi = 0;
  int i = 0;
  for (; i < limit; ++i) {
    long long rr = zr * zr >> 28, ii = zi * zi >> 28;
    if (rr + ii > 4 * one) break;
    zi = (zr * zi >> 27) + ci;
    zr = rr - ii + cr;
  }
  out[y * width + x] = i;
}
