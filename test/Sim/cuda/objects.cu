// Virtual functions of objects on the heap, and a machine that runs a byte code.

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
