// OpenCL C for clang's NVPTX target, without any library: only what the compiler itself knows.

#define ID (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())

__kernel void saxpy(__global const float *x, __global float *y, float a, int n) {
  int i = ID;
  if (i < n) y[i] = __builtin_fmaf(a, x[i], y[i]);
}

// A tree in local memory that the kernel itself declares.
__kernel void sum(__global const int *x, __global long *out, int n) {
  __local long part[128];
  int t = __nvvm_read_ptx_sreg_tid_x(), threads = __nvvm_read_ptx_sreg_ntid_x();
  long s = 0;
  for (int i = ID; i < n; i += threads * __nvvm_read_ptx_sreg_nctaid_x()) s += x[i];
  part[t] = s;
  __nvvm_bar_sync(0);
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d && t + d < threads) part[t] += part[t + d];
    __nvvm_bar_sync(0);
  }
  if (t == 0) out[__nvvm_read_ptx_sreg_ctaid_x()] = part[0];
}

typedef float float4 __attribute__((ext_vector_type(4)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));

// Vectors with swizzles and conversions.
__kernel void blend(__global const float4 *x, __global const float4 *y, __global uchar4 *out, int n) {
  int i = ID;
  if (i >= n) return;
  float4 v = x[i].wzyx * 0.25f + y[i].xxzz;
  out[i] = __builtin_convertvector(v, uchar4);
}

__constant int kTable[8] = {3, 1, 4, 1, 5, 9, 2, 6};

// A private array, a constant table, a switch and 64-bit division.
__kernel void mix(__global const ulong *x, __global ulong *out, int n) {
  int i = ID;
  if (i >= n) return;
  ulong digits[8];
  ulong v = x[i];
  for (int k = 0; k < 8; ++k) {
    digits[k] = v % 97;
    v /= 97;
  }
  ulong r = 0;
  for (int k = 0; k < 8; ++k) {
    ulong d = digits[kTable[k] & 7];
    switch (d % 5) {
      case 0:
        r = r * 31 + d;
        break;
      case 1:
        r ^= d << (k * 5);
        break;
      case 2:
        r -= d;
        break;
      case 3:
        r = (r << 7 | r >> 57) + 1;
        break;
      default:
        r = ~r;
    }
  }
  out[i] = r;
}

typedef struct {
  int low, high;
  double scale;
} Range;

__attribute__((noinline)) static double scaled(Range r, int v) {
  return v < r.low || v > r.high ? -1.0 : r.scale * (v - r.low);
}

__kernel void ranges(__global const int *x, __global double *out, __global const Range *r, int n) {
  int i = ID;
  if (i < n) out[i] = scaled(*r, x[i]);
}

__kernel void count(__global const uchar *x, __global uint *bins, int n) {
  int i = ID;
  if (i < n) __nvvm_atom_add_gen_i((__generic int *)&bins[x[i] & 15], 1);
}
