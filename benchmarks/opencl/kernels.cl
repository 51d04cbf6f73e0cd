// The kernels of compare_opencl.py in OpenCL C: what examples/*.mettle and kernels.mettle say, line by line.
#pragma OPENCL FP_CONTRACT OFF

__kernel void vadd(__global const float *a, __global const float *b, __global float *c, int n) {
  int i = (int)get_global_id(0);
  if (i < n) {
    c[i] = a[i] + b[i];
  }
}

float axpy(float alpha, float x, float y) { return alpha * x + y; }

__kernel void saxpy(__global const float *x, __global float *y, float alpha, int n) {
  int i = (int)get_global_id(0);
  if (i < n) {
    y[i] = axpy(alpha, x[i], y[i]);
  }
}

#define MAX_ITEMS 256
#define LOWEST -3.4028234663852886e38f

float block_max(float value, __local float *scratch, int lane, int items) {
  scratch[lane] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) {
      scratch[lane] = fmax(scratch[lane], scratch[lane + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float result = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

float block_sum(float value, __local float *scratch, int lane, int items) {
  scratch[lane] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = items / 2; step > 0; step = step / 2) {
    if (lane < step) {
      scratch[lane] = scratch[lane] + scratch[lane + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float result = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

__kernel void softmax(__global const float *x, __global float *y, int columns, int x_stride, int y_stride) {
  __local float scratch[MAX_ITEMS];
  int lane = (int)get_local_id(0);
  int items = (int)get_local_size(0);
  long row = (long)get_group_id(0);
  __global const float *source = x + row * x_stride;
  __global float *target = y + row * y_stride;

  float largest = LOWEST;
  for (int i = lane; i < columns; i += items) {
    largest = fmax(largest, source[i]);
  }
  largest = block_max(largest, scratch, lane, items);

  float sum = 0.0f;
  for (int i = lane; i < columns; i += items) {
    sum += exp(source[i] - largest);
  }
  sum = block_sum(sum, scratch, lane, items);

  for (int i = lane; i < columns; i += items) {
    target[i] = exp(source[i] - largest) / sum;
  }
}

#define TILE 16

__kernel void matmul_tiled(__global const float *a, __global const float *b, __global float *c, int m, int n, int k, int lda,
                           int ldb, int ldc) {
  __local float ta[TILE * TILE];
  __local float tb[TILE * TILE];
  int tx = (int)get_local_id(0);
  int ty = (int)get_local_id(1);
  int row = (int)get_group_id(1) * TILE + ty;
  int column = (int)get_group_id(0) * TILE + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += TILE) {
    float av = 0.0f;
    float bv = 0.0f;
    if (row < m && k0 + tx < k) {
      av = a[(long)row * lda + k0 + tx];
    }
    if (column < n && k0 + ty < k) {
      bv = b[(long)(k0 + ty) * ldb + column];
    }
    ta[ty * TILE + tx] = av;
    tb[ty * TILE + tx] = bv;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) {
      sum += ta[ty * TILE + i] * tb[i * TILE + tx];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) {
    c[(long)row * ldc + column] = sum;
  }
}

__kernel void matmul_naive(__global const float *a, __global const float *b, __global float *c, int m, int n, int k, int lda,
                           int ldb, int ldc) {
  int row = (int)get_global_id(1);
  int column = (int)get_global_id(0);
  if (row < m && column < n) {
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) {
      sum += a[(long)row * lda + i] * b[(long)i * ldb + column];
    }
    c[(long)row * ldc + column] = sum;
  }
}

#define ITEMS 256

__kernel void reduce_sum(__global const float *x, __global float *partial, long n) {
  __local float scratch[ITEMS];
  int lane = (int)get_local_id(0);
  long stride = (long)get_num_groups(0) * ITEMS;
  float sum = 0.0f;
  for (long i = (long)get_group_id(0) * ITEMS + lane; i < n; i += stride) {
    sum += x[i];
  }
  scratch[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = ITEMS / 2; step > 0; step /= 2) {
    if (lane < step) {
      scratch[lane] += scratch[lane + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    partial[get_group_id(0)] = scratch[0];
  }
}

#define PITCH (TILE + 2)

float cell(__global const float *x, int row, int column, int height, int width, int stride) {
  if (row < 0 || row >= height || column < 0 || column >= width) {
    return 0.0f;
  }
  return x[(long)row * stride + column];
}

__kernel void stencil5(__global const float *x, __global float *y, int height, int width, int stride, float centre, float side) {
  __local float tile[PITCH * PITCH];
  int tx = (int)get_local_id(0);
  int ty = (int)get_local_id(1);
  int row0 = (int)get_group_id(1) * TILE - 1;
  int column0 = (int)get_group_id(0) * TILE - 1;
  for (int i = ty * TILE + tx; i < PITCH * PITCH; i += TILE * TILE) {
    tile[i] = cell(x, row0 + i / PITCH, column0 + i % PITCH, height, width, stride);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int row = row0 + 1 + ty;
  int column = column0 + 1 + tx;
  if (row < height && column < width) {
    int at = (ty + 1) * PITCH + tx + 1;
    float sides = tile[at - 1] + tile[at + 1] + (tile[at - PITCH] + tile[at + PITCH]);
    y[(long)row * stride + column] = centre * tile[at] + side * sides;
  }
}

#define SQUARE 32
#define ROWS 8
#define SQUARE_PITCH (SQUARE + 1)

__kernel void transpose(__global const float *x, __global float *y, int height, int width) {
  __local float tile[SQUARE * SQUARE_PITCH];
  int tx = (int)get_local_id(0);
  int ty = (int)get_local_id(1);
  int column = (int)get_group_id(0) * SQUARE + tx;
  for (int r = ty; r < SQUARE; r += ROWS) {
    int row = (int)get_group_id(1) * SQUARE + r;
    if (row < height && column < width) {
      tile[r * SQUARE_PITCH + tx] = x[(long)row * width + column];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int out_column = (int)get_group_id(1) * SQUARE + tx;
  for (int r = ty; r < SQUARE; r += ROWS) {
    int out_row = (int)get_group_id(0) * SQUARE + r;
    if (out_row < width && out_column < height) {
      y[(long)out_row * height + out_column] = tile[tx * SQUARE_PITCH + r];
    }
  }
}

#define BINS 256

__kernel void byte_histogram(__global const uchar *x, __global volatile uint *bins, int n) {
  __local volatile uint local_bins[BINS];
  for (int b = (int)get_local_id(0); b < BINS; b += (int)get_local_size(0)) {
    local_bins[b] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = (int)get_global_id(0); i < n; i += (int)get_global_size(0)) {
    atomic_add(&local_bins[x[i]], 1);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = (int)get_local_id(0); b < BINS; b += (int)get_local_size(0)) {
    atomic_add(&bins[b], local_bins[b]);
  }
}

__kernel void nbody(__global const float *px, __global const float *py, __global const float *pz, __global const float *mass,
                    __global float *ax, __global float *ay, __global float *az, int n) {
  int i = (int)get_global_id(0);
  if (i < n) {
    float x = px[i];
    float y = py[i];
    float z = pz[i];
    float sx = 0.0f;
    float sy = 0.0f;
    float sz = 0.0f;
    for (int j = 0; j < n; ++j) {
      float dx = px[j] - x;
      float dy = py[j] - y;
      float dz = pz[j] - z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float inverse = 1.0f / sqrt(r2);
      float f = mass[j] * inverse * inverse * inverse;
      sx += dx * f;
      sy += dy * f;
      sz += dz * f;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}

__kernel void mandelbrot(__global int *out, int width, int height, int limit) {
  int column = (int)get_global_id(0);
  int row = (int)get_global_id(1);
  if (row < height && column < width) {
    float cx = (float)column / (float)width * 3.0f - 2.0f;
    float cy = (float)row / (float)height * 2.0f - 1.0f;
    float x = 0.0f;
    float y = 0.0f;
    int k = 0;
    while (k < limit && x * x + y * y <= 4.0f) {
      float t = x * x - y * y + cx;
      y = 2.0f * x * y + cy;
      x = t;
      k += 1;
    }
    out[(long)row * width + column] = k;
  }
}

__kernel void spmv(__global const int *starts, __global const int *columns, __global const float *values,
                   __global const float *x, __global float *y, int rows) {
  int row = (int)get_global_id(0);
  if (row < rows) {
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; i += 1) {
      sum += values[i] * x[columns[i]];
    }
    y[row] = sum;
  }
}

__kernel void scramble(__global const uint *x, __global uint *out, int n, int rounds) {
  int i = (int)get_global_id(0);
  if (i < n) {
    uint v = x[i] | 1;
    for (int k = 0; k < rounds; ++k) {
      v ^= v << 13;
      v ^= v >> 17;
      v ^= v << 5;
    }
    out[i] = v;
  }
}
