// Functions: recursion, pointers, structures by value, barriers inside.

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(const unsigned* x, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fibonacci(x[i]);
}

struct Pair {
  long long a;
  int b;
  signed char c;
};

__device__ __noinline__ Pair combine(Pair p, const Pair& q, short k) {
  Pair r;
  r.a = p.a * k - q.a;
  r.b = p.b ^ q.b;
  r.c = static_cast<signed char>(p.c + q.c);
  return r;
}

// A structure of 24 bytes by value, and one in a buffer, padding untouched.
extern "C" __global__ void structures(const Pair base, const Pair* x, Pair* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = combine(base, x[i], static_cast<short>(i - 3));
}

__device__ __noinline__ int plus3(int v) { return v + 3; }
__device__ __noinline__ int timesItself(int v) { return v * v; }
__device__ __noinline__ int deeper(int v) { return plus3(timesItself(v)) ^ 5; }
__device__ __noinline__ int negated(int v) { return -v; }
typedef int (*Function)(int);
__device__ Function table[4] = {plus3, timesItself, deeper, negated};

extern "C" __global__ void pointers(const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // Lanes of a warp call different functions at the same place.
  Function f = table[(x[i] + i) & 3];
  out[i] = f(x[i]);
}

// Barriers inside a function, called from two places.
__device__ __noinline__ int rotateBlock(int v, int* box) {
  box[threadIdx.x] = v;
  __syncthreads();
  int r = box[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  return r;
}

extern "C" __global__ void barrierInCall(const int* x, int* out) {
  __shared__ int box[128];
  int v = rotateBlock(x[threadIdx.x], box);
  if (blockIdx.x == 1) v = rotateBlock(v * 2, box);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
