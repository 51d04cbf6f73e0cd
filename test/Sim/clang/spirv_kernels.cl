// Kernels for clang -target spir64 and llvm-spirv: OpenCL C 1.2 and 2.0. Results are compared with NumPy in
// test/Sim/clang_spirv_test.py.

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// ---- Vectors ----

kernel void swizzles(global const float4* x, global float4* y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float4 v = x[i], w;
  w.xz = v.wy;
  w.yw = v.even + v.hi;
  w.s0 += v.s3;
  float2 c[2] = {v.lo, v.odd};
  w.lo += c[i & 1];
  y[i] = (v > 0.0f) ? w : -w;  // Component by component.
}

kernel void threes(global const int3* x, global int3* y, global const int* dense, global int* packed, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  int3 a = x[i], b = vload3(i, dense);
  y[i] = a * b + (int3)(1, 2, 3);
  vstore3(a.zxy - b, i, packed);
}

kernel void bytes(global const char16* x, global const uchar16* y, global char16* sum, global uint* some) {
  int i = get_global_id(0);
  char16 a = x[i];
  uchar16 b = y[i];
  sum[i] = add_sat(a, as_char16(b)) ^ as_char16(b.s0123456789abcdef << (uchar16)(1));
  some[i] = (any(a == (char16)0) ? 1 : 0) | (all(a > as_char16(b)) ? 2 : 0);
}

kernel void conversions(global const float* x, global const double* d, global uchar* u8, global short* s16, global int* s32,
                        global uint* u32, global float* back, global ulong* u64, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  u8[i] = convert_uchar_sat_rte(x[i]);
  s16[i] = convert_short_sat_rtp(x[i]);
  s32[i] = convert_int_sat_rtn(d[i]);
  u32[i] = convert_uint_sat(x[i]);
  back[i] = convert_float_rtz(d[i]);
  u64[i] = convert_ulong_sat_rtz(d[i]) ^ (ulong)convert_uchar4_sat((int4)(s32[i], -1, 300, 7)).s2;
}

kernel void bits_of(global const float4* x, global uint4* y, global ushort2* halves) {
  int i = get_global_id(0);
  uint4 u = as_uint4(x[i]);
  y[i] = rotate(u, (uint4)(1, 8, 31, 33)) ^ popcount(u) ^ clz(u.wzyx);
  halves[i] = as_ushort2(u.x + as_uint((uchar4)(1, 2, 3, 4)));
}

kernel void unaligned(global const uchar* x, global uchar* y) {
  int i = get_global_id(0);
  uint4 v = vload4(0, (global const uint*)(x + 20 * i + 4));
  vstore8(convert_uchar8((ushort8)(i)) + vload8(0, x + 20 * i + 3), i, y + 1);
  vstore2(vload2(0, (global const ushort*)(x + 20 * i)) + convert_ushort2(v.xy & 0xffu), 0, (global ushort*)(y + 1024 + 4 * i));
}

// ---- Structures ----

typedef struct {
  char tag;
  long wide;
  short small[3];
} Plain;

typedef struct __attribute__((packed)) {
  char tag;
  long wide;
  short small[3];
} Packed;

typedef struct {
  Plain one;
  struct {
    float4 v;
    uchar c[5];
  } two[2];
} Nested;

// Changes its copy, which nobody may see.
long total(Plain p) {
  p.wide += p.tag;
  for (int k = 0; k < 3; ++k) p.wide += p.small[k];
  return p.wide;
}

kernel void structures(Plain base, global const Plain* a, global Packed* b, global Nested* c, global long* out) {
  int i = get_global_id(0);
  Plain p = a[i];
  long t = total(p) + total(base);
  p.small[i % 3] -= 7;
  Packed q;
  q.tag = p.tag;
  q.wide = p.wide;
  for (int k = 0; k < 3; ++k) q.small[k] = p.small[2 - k];
  b[i] = q;
  c[i].one = p;
  for (int k = 0; k < 2; ++k) {
    c[i].two[k].v = (float4)(i, k, t, 0.5f);
    for (int j = 0; j < 5; ++j) c[i].two[k].c[j] = (uchar)(i * 10 + k * 5 + j);
  }
  out[i] = t + p.wide * 3;
}

typedef struct Node {
  int value;
  global struct Node* next;
} Node;

// A list of its own: every element points to the one `stride` further.
kernel void list(global Node* nodes, global int* sums, int n, int stride) {
  int i = get_local_id(0);
  nodes[i].value = i * i;
  nodes[i].next = i + stride < n ? &nodes[i + stride] : (global Node*)0;
  barrier(CLK_GLOBAL_MEM_FENCE);
  int sum = 0;
  for (global Node* at = &nodes[i]; at; at = at->next) sum += at->value;
  sums[i] = sum;
}

// ---- Constants ----

constant int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
constant struct {
  char name[8];
  float weight[2][2];
  constant int* more;
} table[3] = {{"first", {{1, 2}, {3, 4}}, primes}, {"second", {{-1}}, primes + 2}, {"", {{0.5f, 0.25f}, {8}}, &primes[5]}};
constant char* constant words[2] = {"alpha", "be"};

kernel void constants(constant const float* weights, global float* out, global int* sums) {
  int i = get_global_id(0);
  int k = i % 3, sum = 0;
  for (constant char* c = table[k].name; *c; ++c) sum = sum * 3 + *c;
  for (constant const char* c = words[i & 1]; *c; ++c) sum += *c;
  sums[i] = sum + table[k].more[i & 1] + primes[i & 7];
  out[i] = table[k].weight[i & 1][i >> 1 & 1] * weights[i & 7];
}

// ---- Control flow ----

// The modulus is an argument, or clang makes a switch on three bits, which llvm-spirv refuses.
kernel void paths(global const uint* x, global uint* y, int n, uint seven) {
  int i = get_global_id(0);
  if (i >= n) return;
  uint v = x[i], r = 0;
  for (int k = 0; k < 40; ++k) {
    if (v == 0) break;
    switch (v % seven) {
      case 0:
        v /= 7;
        continue;
      case 1:
      case 5:
        r += v & 15;
        break;
      case 2: {
        uint inner = 0;
        do {
          if (inner == 5) goto out;
          inner++;
          r ^= inner << (k & 7);
        } while ((v >> inner & 1) == 0);
        break;
      }
      case 3:
        if (r > 1000000) goto out;
        r *= 3;
      default:
        r += 1;
    }
    v = v / 2 + (r & 1);
  }
out:
  y[i] = r;
}

kernel void big_switch(global const long* x, global int* y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  int r;
  switch (x[i]) {
    case -1L: r = 1; break;
    case 0x7fffffffffffffffL: r = 2; break;
    case 0x100000000L: r = 3; break;
    case 0L: r = 4; break;
    case -0x7fffffffffffffffL - 1: r = 5; break;
    default: r = 6;
  }
  switch ((char)x[i]) {
    case -1: r += 10; break;
    case 127: r += 20; break;
    case -128: r += 30; break;
  }
  y[i] = r;
}

void exchange(int* a, int* b) {
  int t = *a;
  *a = *b;
  *b = t;
}

kernel void private_arrays(global const int* x, global int* y, int n) {
  int i = get_global_id(0);
  int a[16];
  for (int k = 0; k < 16; ++k) a[k] = x[i * 16 + k];
  for (int k = 1; k < 16; ++k)
    for (int j = k; j > 0 && a[j - 1] > a[j]; --j) exchange(&a[j - 1], &a[j]);
  for (int k = 0; k < 16; ++k) y[i * 16 + k] = a[k];
  int m[3][4] = {{1, 2}, {3}};
  m[i % 3][i % 4] += 100;
  int s = 0;
  for (int k = 0; k < 12; ++k) s = s * 7 + m[k / 4][k % 4];
  y[16 * n + i] = s;
}

// ---- Memory of a work-group ----

kernel void reverse_blocks(global const int* x, global int* y, local int* room) {
  local int fixed[64];
  int l = get_local_id(0), n = get_local_size(0), i = get_global_id(0);
  room[l] = x[i];
  fixed[n - 1 - l] = x[i] * 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = room[n - 1 - l] + fixed[l];
}

kernel void prefix_sums(global const int* x, global int* y) {
  local int s[2][128];
  int l = get_local_id(0), n = get_local_size(0), at = 0;
  s[0][l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < n; d *= 2) {
    s[at ^ 1][l] = s[at][l] + (l >= d ? s[at][l - d] : 0);
    at ^= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[get_global_id(0)] = s[at][l];
}

kernel void bitonic(global const uint* x, global uint* y) {
  local uint s[256];
  uint l = get_local_id(0), n = get_local_size(0);
  s[l] = x[get_global_id(0)];
  for (uint k = 2; k <= n; k *= 2) {
    for (uint j = k / 2; j > 0; j /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint o = l ^ j;
      if (o > l && (s[l] > s[o]) == ((l & k) == 0)) {
        uint t = s[l];
        s[l] = s[o];
        s[o] = t;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = s[l];
}

#define TILE 8
kernel void matmul(global const float* a, global const float* b, global float* c, int n) {
  local float ta[TILE][TILE], tb[TILE][TILE + 1];
  int x = get_local_id(0), y = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    ta[y][x] = row < n && t + x < n ? a[row * n + t + x] : 0;
    tb[y][x] = col < n && t + y < n ? b[(t + y) * n + col] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILE; ++k) sum = fma(ta[y][k], tb[k][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

kernel void histogram(global const uchar* x, global uint* y, int n) {
  local uint bins[256];
  for (int k = get_local_id(0); k < 256; k += get_local_size(0)) bins[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[x[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = get_local_id(0); k < 256; k += get_local_size(0)) atomic_add(&y[k], bins[k]);
}

kernel void convolution(global const float* x, constant float* w, global float* y, int width, int height) {
  local float tile[10][18];
  int lx = get_local_id(0), ly = get_local_id(1), gx = get_global_id(0), gy = get_global_id(1);
  for (int j = ly; j < 10; j += 8)
    for (int i = lx; i < 18; i += 16) {
      int sx = clamp(gx - lx + i - 1, 0, width - 1), sy = clamp(gy - ly + j - 1, 0, height - 1);
      tile[j][i] = x[sy * width + sx];
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (gx >= width || gy >= height) return;
  float sum = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum += tile[ly + j][lx + i] * w[j * 3 + i];
  y[gy * width + gx] = sum;
}

kernel void async_copies(global const float2* x, global float2* y, local float2* room, int stride) {
  int n = get_local_size(0), l = get_local_id(0), g = get_group_id(0);
  event_t e = async_work_group_strided_copy(room, x + g * n * stride, n, stride, 0);
  wait_group_events(1, &e);
  float2 v = room[n - 1 - l] * 2.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  room[l] = v.yx;
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy(y + g * n, room, n, 0);
  wait_group_events(1, &e);
}

// ---- Atomics of OpenCL 1.2 ----

kernel void atomics(global int* s, global uint* u, global ulong* w, global float* f, global const int* x) {
  int i = get_global_id(0);
  int v = x[i];
  atomic_add(&s[0], v);
  atomic_sub(&s[1], v);
  atomic_min(&s[2], v);
  atomic_max(&s[3], v);
  atomic_or(&s[4], v);
  atomic_and(&s[5], v);
  atomic_xor(&s[6], v);
  atomic_min(&u[0], (uint)v);
  atomic_max(&u[1], (uint)v);
  atomic_inc(&u[2]);
  atomic_dec(&u[3]);
  atom_add(&w[0], (ulong)v << 8);
  atom_max(&w[1], (ulong)v * 3);
  // A sum of floats by compare and exchange.
  volatile global uint* bits = (volatile global uint*)f;
  uint old = atomic_or(bits, 0u), seen;
  do {
    seen = old;
    old = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + 0.5f));
  } while (old != seen);
}

// ---- Numbers ----

kernel void integers(global const int* a, global const int* b, global const int* c, global int* out, global uint* uout) {
  int i = get_global_id(0);
  int x = a[i], y = b[i], z = c[i];
  uint ux = x, uy = y, uz = z;
  global int* o = out + 14 * i;
  o[0] = mad_hi(x, y, z);
  o[1] = mul_hi(x, y);
  o[2] = hadd(x, y);
  o[3] = rhadd(x, y);
  o[4] = add_sat(x, y);
  o[5] = sub_sat(x, y);
  o[6] = mad_sat(x, y, z);
  o[7] = mul24(x >> 8, y >> 8);
  o[8] = mad24(x >> 8, y >> 8, z);
  o[9] = rotate(x, y);
  o[10] = clamp(x, min(y, z), max(y, z));
  o[11] = upsample((short)x, (ushort)y);
  o[12] = (char)add_sat((char)x, (char)y);
  o[13] = (short)mul_hi((short)x, (short)y);
  global uint* u = uout + 14 * i;
  u[0] = mad_hi(ux, uy, uz);
  u[1] = mul_hi(ux, uy);
  u[2] = hadd(ux, uy);
  u[3] = rhadd(ux, uy);
  u[4] = add_sat(ux, uy);
  u[5] = sub_sat(ux, uy);
  u[6] = mad_sat(ux, uy, uz);
  u[7] = abs_diff(x, y);
  u[8] = abs(x);
  u[9] = clz(ux);
  u[10] = popcount(ux);
  u[11] = abs_diff(ux, uy);
  u[12] = upsample((uchar)x, (uchar)y);
  u[13] = (uchar)rotate((uchar)x, (uchar)y);
}

kernel void longs(global const long* a, global const long* b, global long* out, global ulong* uout) {
  int i = get_global_id(0);
  long x = a[i], y = b[i];
  ulong ux = x, uy = y;
  global long* o = out + 9 * i;
  o[0] = mul_hi(x, y);
  o[1] = add_sat(x, y);
  o[2] = sub_sat(x, y);
  o[3] = hadd(x, y);
  o[4] = x / (y | 1);
  o[5] = x % (y | 1);
  o[6] = x >> (y & 63);
  o[7] = rotate(x, y);
  o[8] = mad_sat(x, y, x);
  global ulong* u = uout + 7 * i;
  u[0] = mul_hi(ux, uy);
  u[1] = add_sat(ux, uy);
  u[2] = upsample((uint)x, (uint)y);
  u[3] = ux / (uy | 1);
  u[4] = clz(ux);
  u[5] = abs_diff(x, y);
  u[6] = ux >> (uy & 63);
}

#define MATHS 27
kernel void maths(global const float* a, global const float* b, global float* out) {
  int i = get_global_id(0);
  float x = a[i], y = b[i];
  global float* o = out + MATHS * i;
  o[0] = sin(x);
  o[1] = cos(x);
  o[2] = tan(x);
  o[3] = exp(x);
  o[4] = exp2(x);
  o[5] = expm1(x);
  o[6] = log(y);
  o[7] = log2(y);
  o[8] = log10(y);
  o[9] = log1p(y);
  o[10] = pow(y, x);
  o[11] = atan2(x, y);
  o[12] = hypot(x, y);
  o[13] = cbrt(x);
  o[14] = sinh(x);
  o[15] = tanh(x);
  o[16] = asinh(x);
  o[17] = rsqrt(y);
  o[18] = fmod(x, y);
  o[19] = remainder(x, y);
  o[20] = rint(x) + floor(y) - ceil(x) + trunc(y) + round(x);
  int e;
  float m = frexp(x, &e);
  o[21] = ldexp(m, e + 1);
  float whole, c;
  o[22] = modf(x, &whole) * 2 + whole;
  o[23] = sincos(x, &c) + c;
  o[24] = fmax(x, y) - fmin(x, y) + fdim(x, y) + copysign(y, x);
  o[25] = native_sqrt(y) + mix(x, y, 0.25f) + clamp(x, 0.0f, 1.0f);
  o[26] = dot((float4)(x, y, 1, 2), (float4)(y, x, 2, 1)) + length((float2)(3 * y, 4 * y));
}

kernel void doubles(global const double* a, global const double* b, global double* out) {
  int i = get_global_id(0);
  double2 x = (double2)(a[i], b[i]);
  out[3 * i] = fma(x.x, x.y, sqrt(fabs(x.x))) / x.y;
  out[3 * i + 1] = x.x > x.y ? x.x - x.y : convert_double((float)x.y);
  double2 r = x * x.yx + floor(x);
  out[3 * i + 2] = isnan(x.x) ? 0.0 : r.x - r.y;
}

kernel void halves(global const half* a, global const half* b, global half* out, global float* wide) {
  int i = get_global_id(0);
  half x = a[i], y = b[i];
  out[4 * i] = x * y + (half)1;
  out[4 * i + 1] = fma(x, y, x);
  out[4 * i + 2] = x < y ? fabs(x) : -y;
  out[4 * i + 3] = x / y;
  float2 v = vload_half2(i, a);
  wide[2 * i] = v.x + v.y;
  wide[2 * i + 1] = convert_float(x) * 3;
}

kernel void stored_halves(global const float* x, global half* out) {
  int i = get_global_id(0);
  vstore_half_rtz(x[i], 2 * i, out);
  vstore_half_rtp(x[i], 2 * i + 1, out);
  float4 v = (float4)(x[i], -x[i], x[i] * 2, 1);
  vstorea_half4(v, get_global_size(0) / 2 + i, out);
}

// ---- Whole programs ----

kernel void mandelbrot(global uint* out, int width, int height, int limit) {
  int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float cx = px * 3.0f / 64 - 2, cy = py * 2.0f / 64 - 1, x = 0, y = 0;
  int k = 0;
  while (k < limit && x * x + y * y <= 4) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++k;
  }
  out[py * width + px] = k;
}

kernel void n_body(global const float4* in, global float4* out, int n) {
  local float4 tile[32];
  int i = get_global_id(0), l = get_local_id(0);
  float4 me = i < n ? in[i] : (float4)(0);
  float3 force = (float3)(0);
  for (int t = 0; t < n; t += 32) {
    tile[l] = t + l < n ? in[t + l] : (float4)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; ++k) {
      float3 d = tile[k].xyz - me.xyz;
      float r = rsqrt(dot(d, d) + 0.01f);
      force += d * (tile[k].w * r * r * r);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) out[i] = (float4)(force, 1);
}

kernel void ids(global uint* out) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;
  uint sum = 0;
  for (uint d = 0; d < 3; ++d)
    sum = sum * 31 + get_local_id(d) * 7 + get_group_id(d) * 5 + get_local_size(d) * 3 + get_num_groups(d) * 2 + get_global_offset(d);
  out[at] = sum;
}

#if __OPENCL_C_VERSION__ >= 200

// ---- OpenCL 2.0 ----

global int counter = 5;
global int* global where = &counter;
global atomic_int flags[3];

kernel void program_scope(global int* out) {
  int i = get_global_id(0);
  if (i == 0) {
    *where += 37;
    out[0] = counter;
  } else {
    out[i] = atomic_load_explicit(&flags[i % 3], memory_order_relaxed, memory_scope_device);
  }
}

int pick(const int* p, int k) { return p[k] + 1; }

kernel void generic_pointers(global const int* x, global int* y) {
  local int shared[32];
  int mine[4];
  int i = get_global_id(0), l = get_local_id(0);
  for (int k = 0; k < 4; ++k) mine[k] = i * 4 + k;
  shared[l] = l * 1000;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int* any = i % 3 == 0 ? (const int*)(x + i) : i % 3 == 1 ? (const int*)(shared + (l ^ 1)) : (const int*)mine;
  int r = pick(any, 0) * 8;
  if (to_global(any)) r += 1;
  if (to_local(any)) r += 2;
  if (to_private(any)) r += 4;
  y[i] = r;
}

kernel void atomics20(global atomic_int* s, global atomic_uint* u, global atomic_long* w, global int* got, global const int* x) {
  int i = get_global_id(0), v = x[i];
  got[i] = atomic_fetch_add_explicit(&s[0], 1, memory_order_relaxed, memory_scope_device);
  atomic_fetch_sub(&s[1], v);
  atomic_fetch_or_explicit(&s[2], v, memory_order_acq_rel, memory_scope_device);
  atomic_fetch_min_explicit(&s[3], v, memory_order_release, memory_scope_all_svm_devices);
  atomic_fetch_max(&u[0], (uint)v);
  atomic_fetch_xor_explicit(&w[0], (long)v << 7, memory_order_seq_cst, memory_scope_device);
  int expected = atomic_load_explicit(&s[4], memory_order_acquire, memory_scope_device);
  while (!atomic_compare_exchange_weak_explicit(&s[4], &expected, (expected * 5 + 1) % 1000003, memory_order_acq_rel,
                                                memory_order_acquire, memory_scope_device)) {
  }
  if (i == 0) atomic_store_explicit(&u[1], 77u, memory_order_release, memory_scope_device);
}

kernel void turnstile(global int* out, int rounds) {
  local atomic_int turn;
  local int value;
  int l = get_local_id(0), n = get_local_size(0);
  if (l == 0) {
    atomic_init(&turn, 0);
    value = 1;
  }
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < rounds; ++k) {
    while (atomic_load_explicit(&turn, memory_order_acquire, memory_scope_work_group) != k * n + l) {
    }
    value = value * 3 + l;
    atomic_store_explicit(&turn, k * n + l + 1, memory_order_release, memory_scope_work_group);
  }
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) out[get_group_id(0)] = value;
}

kernel void spin_lock(global int* out) {
  local atomic_flag lock;
  local int count;
  if (get_local_id(0) == 0) {
    atomic_flag_clear(&lock);
    count = 0;
  }
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  bool done = false;
  while (!done) {
    if (!atomic_flag_test_and_set_explicit(&lock, memory_order_acquire, memory_scope_work_group)) {
      count += get_local_id(0);
      done = true;
      atomic_flag_clear_explicit(&lock, memory_order_release, memory_scope_work_group);
    }
  }
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[get_group_id(0)] = count;
}

kernel void work_groups(global const int* x, global int* y, global float* f) {
  int i = get_global_linear_id(), v = x[i];
  global int* o = y + 7 * i;
  o[0] = work_group_reduce_add(v);
  o[1] = work_group_scan_inclusive_add(v);
  o[2] = work_group_scan_exclusive_max(v);
  o[3] = work_group_broadcast(v, 3, 1);
  o[4] = work_group_all(v > -90) * 2 + work_group_any(v > 90);
  o[5] = work_group_reduce_min(v);
  o[6] = work_group_scan_exclusive_add(v);
  f[i] = work_group_reduce_max((float)v * 0.5f);
}

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

kernel void sub_groups(global const int* x, global int* y) {
  int i = get_global_id(0), v = x[i];
  global int* o = y + 9 * i;
  o[0] = sub_group_reduce_add(v);
  o[1] = sub_group_scan_exclusive_add(v);
  o[2] = sub_group_scan_inclusive_max(v);
  o[3] = sub_group_broadcast(v, 2);
  o[4] = sub_group_all(v > -95) + 2 * sub_group_any(v > 95);
  o[5] = get_sub_group_local_id();
  o[6] = get_sub_group_id() * 100 + get_num_sub_groups();
  o[7] = get_sub_group_size() * 100 + get_max_sub_group_size();
  local int room[256];
  int l = get_local_id(0), first = l - get_sub_group_local_id();
  room[l] = v;
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  o[8] = room[first + (get_sub_group_local_id() + 1) % get_sub_group_size()];
}

#endif
