// Memory: local arrays, unions, vectors, unaligned copies, the heap, tables of pointers.
#include <new>

union Word {
  float f;
  unsigned u;
  unsigned char bytes[4];
  struct {
    unsigned low : 5, middle : 11, high : 16;
  } fields;
};

extern "C" __global__ void unions(const float* x, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Word w;
  w.f = x[i];
  unsigned char b = w.bytes[0];
  w.bytes[0] = w.bytes[3];
  w.bytes[3] = b;
  w.fields.middle += 3;
  out[i] = w.u;
}

// Sorts eight values of each thread in a local array that is indexed by data.
extern "C" __global__ void localSort(const short* x, short* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  short v[8];
  for (int k = 0; k < 8; ++k) v[k] = x[8 * i + k];
#pragma unroll 1
  for (int k = 1; k < 8; ++k) {
    short a = v[k];
    int j = k;
    while (j > 0 && v[j - 1] > a) {
      v[j] = v[j - 1];
      --j;
    }
    v[j] = a;
  }
  for (int k = 0; k < 8; ++k) out[8 * i + k] = v[k];
}

extern "C" __global__ void vectors(const double2* x, const short4* s, uchar4* c, longlong2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double2 v = __ldcs(&x[i]);
  short4 t = s[i];
  uchar4 u;
  u.x = t.x;
  u.y = t.y >> 1;
  u.z = t.z >> 2;
  u.w = t.w >> 3;
  c[i] = u;
  __stcg(&out[i], make_longlong2(static_cast<long long>(v.x), static_cast<long long>(v.y) + t.w));
}

struct __attribute__((packed)) Record {
  unsigned char tag;
  unsigned value;
  unsigned short small;
};

// Seven-byte records, so nothing is aligned.
extern "C" __global__ void unaligned(const Record* x, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Record r;
  memcpy(&r, &x[i], sizeof r);
  unsigned v;
  memcpy(&v, reinterpret_cast<const char*>(&r) + 1, 4);
  out[i] = v + r.tag * r.small;
}

struct Node {
  Node* next;
  int value;
};

// Each thread builds a list on the heap, sums it, and frees it.
extern "C" __global__ void heap(const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node* list = nullptr;
  for (int k = 0; k < x[i]; ++k) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    node->next = list;
    node->value = k * i;
    list = node;
  }
  int sum = 0;
  while (list != nullptr) {
    sum += list->value;
    Node* next = list->next;
    free(list);
    list = next;
  }
  int* many = new int[x[i] + 1];
  for (int k = 0; k <= x[i]; ++k) many[k] = k;
  memset(many, 0, sizeof(int) * (x[i] / 2));
  for (int k = 0; k <= x[i]; ++k) sum += many[k];
  delete[] many;
  out[i] = sum;
}

__device__ int numbers[5] = {7, 11, 13};
__constant__ double kScales[3] = {0.5, -1.25, 1e300};
__device__ const char* const kNames[3] = {"zero", "one", "two and more"};
__device__ int* places[2] = {&numbers[1], numbers};
__device__ int total;

// Variables with initialisers: numbers, strings, addresses; a variable that the kernel changes.
extern "C" __global__ void tables(const int* x, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = x[i] % 3;
  const char* name = kNames[k];
  int length = 0;
  while (name[length] != 0) ++length;
  atomicAdd(&total, 1);
  out[i] = kScales[k] * (places[k & 1][k] + 100 * length + 10000 * name[k]);
}

// The generic address of every space goes through one function.
__device__ __noinline__ int sumThree(const int* p) { return p[0] + p[1] * 10 + p[2] * 100; }

extern "C" __global__ void spaces(const int* x, int* out) {
  __shared__ int shared[3];
  int local[3] = {static_cast<int>(threadIdx.x), 1, 2};
  if (threadIdx.x < 3) shared[threadIdx.x] = x[threadIdx.x] + 1;
  __syncthreads();
  const int* p = threadIdx.x % 3 == 0 ? x : threadIdx.x % 3 == 1 ? shared : local;
  int r = sumThree(p);
  r += __isShared(p) * 100000 + __isGlobal(p) * 200000 + __isLocal(p) * 400000;
  out[threadIdx.x] = r;
}
