// Runs one kernel of kernels.cl and prints the seconds from its enqueueing to its end.
//
//   oclgrind host matmul|softmax|vadd SIZE kernels.cl

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(cl_int error, const char *what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s fails: %d\n", what, error);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static cl_context context;
static cl_kernel kernel;
static cl_uint arguments;

static void memory(size_t count, int input) {
  cl_int error;
  float *values = malloc(count * sizeof *values);
  for (size_t i = 0; i < count; ++i) values[i] = input ? (float)(i % 251) * 0.25f : 0;
  cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof *values, values, &error);
  check(error, "clCreateBuffer");
  free(values);
  check(clSetKernelArg(kernel, arguments++, sizeof m, &m), "clSetKernelArg");
}

static void number(int value) { check(clSetKernelArg(kernel, arguments++, sizeof value, &value), "clSetKernelArg"); }

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const char *name = argv[1];
  int size = atoi(argv[2]);
  FILE *f = fopen(argv[3], "rb");
  static char text[1 << 16];
  if (f == NULL || size <= 0 || size % 16 != 0) return 2;
  size_t length = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  const char *source = text;
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  kernel = clCreateKernel(program, name, &error);
  check(error, "clCreateKernel");
  size_t n = (size_t)size;
  size_t global[2] = {n, 1}, local[2] = {256, 1};
  if (strcmp(name, "matmul") == 0) {
    memory(n * n, 1);
    memory(n * n, 1);
    memory(n * n, 0);
    for (int i = 0; i < 6; ++i) number(size);
    global[1] = n;
    local[0] = local[1] = 16;
  } else if (strcmp(name, "softmax") == 0) {
    memory(n * 1000, 1);
    memory(n * 1000, 0);
    for (int i = 0; i < 3; ++i) number(1000);
    global[0] = n * 256;
  } else {
    for (int i = 0; i < 3; ++i) memory(n * 256, i < 2);
    number(size * 256);
    global[0] = n * 256;
  }
  double start = now();
  check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
  check(clFinish(queue), "clFinish");
  printf("%.6f\n", now() - start);
  return 0;
}
