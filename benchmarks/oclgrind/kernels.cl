// The algorithms of examples/matmul.mettle, softmax.mettle and vadd.mettle.

#define TILE 16

__kernel void matmul(__global const float* a, __global const float* b, __global float* c, int m, int n, int k, int lda,
                     int ldb, int ldc) {
  __local float ta[TILE * TILE];
  __local float tb[TILE * TILE];
  int tx = get_local_id(0), ty = get_local_id(1);
  int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += TILE) {
    float av = 0.0f, bv = 0.0f;
    if (row < m && k0 + tx < k) av = a[(long)row * lda + k0 + tx];
    if (column < n && k0 + ty < k) bv = b[(long)(k0 + ty) * ldb + column];
    ta[ty * TILE + tx] = av;
    tb[ty * TILE + tx] = bv;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) sum += ta[ty * TILE + i] * tb[i * TILE + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) c[(long)row * ldc + column] = sum;
}

__kernel void softmax(__global const float* x, __global float* y, int columns, int x_stride, int y_stride) {
  __local float scratch[256];
  int lane = get_local_id(0), items = get_local_size(0);
  long row = get_group_id(0);
  __global const float* source = x + row * x_stride;
  __global float* target = y + row * y_stride;
  float largest = -3.4028234663852886e38f;
  for (int i = lane; i < columns; i += items) largest = fmax(largest, source[i]);
  scratch[lane] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) scratch[lane] = fmax(scratch[lane], scratch[lane + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int i = lane; i < columns; i += items) sum += exp(source[i] - largest);
  scratch[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) scratch[lane] = scratch[lane] + scratch[lane + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  sum = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = lane; i < columns; i += items) target[i] = exp(source[i] - largest) / sum;
}

__kernel void vadd(__global const float* a, __global const float* b, __global float* c, int n) {
  int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
