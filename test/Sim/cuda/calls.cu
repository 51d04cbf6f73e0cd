// Functions: recursion, pointers, virtual calls, structures by value, switches.

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

struct Shape {
  __device__ virtual double area() const = 0;
  __device__ virtual int corners() const { return 0; }
  __device__ virtual ~Shape() {}
};
struct Circle : Shape {
  double r;
  __device__ explicit Circle(double radius) : r(radius) {}
  __device__ double area() const override { return 3.0 * r * r; }
};
struct Box : Shape {
  double w, h;
  __device__ Box(double width, double height) : w(width), h(height) {}
  __device__ double area() const override { return w * h; }
  __device__ int corners() const override { return 4; }
};
struct Cube : Box {
  __device__ explicit Cube(double w) : Box(w, w) {}
  __device__ double area() const override { return 6 * Box::area(); }
  __device__ int corners() const override { return 2 * Box::corners(); }
};

extern "C" __global__ void virtuals(const int* kinds, double* areas, int* corners, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Shape* s;
  switch (kinds[i]) {
    case 0:
      s = new Circle(i);
      break;
    case 1:
      s = new Box(i, 2.5);
      break;
    default:
      s = new Cube(i);
      break;
  }
  areas[i] = s->area();
  corners[i] = s->corners();
  delete s;
}

// A machine that runs a byte code: a switch in a loop, with a stack in local memory.
extern "C" __global__ void machine(const unsigned char* code, const int* x, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int stack[16];
  int top = 0;
  stack[0] = x[i];
  for (int pc = 0;;) {
    unsigned char op = code[pc++];
    switch (op) {
      case 0:
        out[i] = stack[top];
        return;
      case 1:
        stack[top + 1] = stack[top];
        ++top;
        break;
      case 2:
        stack[top - 1] += stack[top];
        --top;
        break;
      case 3:
        stack[top - 1] *= stack[top];
        --top;
        break;
      case 4:
        stack[++top] = static_cast<signed char>(code[pc++]);
        break;
      case 5: {  // Jump if the top is positive, and drop it.
        int target = code[pc++];
        if (stack[top--] > 0) pc = target;
        break;
      }
      case 6: {
        int v = stack[top];
        stack[top] = stack[top - 1];
        stack[top - 1] = v;
        break;
      }
      case 7:
        stack[top] = stack[top] >> 1;
        break;
      case 8:
        --top;
        break;
      case 9:
        stack[top] = -stack[top];
        break;
      default:
        out[i] = -1;
        return;
    }
  }
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
