// The device mathematics library: one function for each row of the output.

extern "C" __global__ void doubles(const double* x, const double* y, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], b = y[i];
  double* o = out + i;
  o[0] = sin(a);
  o[n] = cos(a);
  o[2 * n] = tan(a);
  o[3 * n] = exp(b);
  o[4 * n] = log(fabs(a));
  o[5 * n] = pow(fabs(a), b);
  o[6 * n] = sqrt(fabs(a));
  o[7 * n] = cbrt(a);
  o[8 * n] = atan2(a, b);
  o[9 * n] = hypot(a, b);
  o[10 * n] = expm1(b);
  o[11 * n] = log1p(fabs(a));
  o[12 * n] = sinh(b);
  o[13 * n] = tanh(b);
  o[14 * n] = fmod(a, b);
  o[15 * n] = rint(b);
  o[16 * n] = floor(b);
  o[17 * n] = trunc(a);
  o[18 * n] = a / b;
  o[19 * n] = fma(a, b, a);
  o[20 * n] = exp2(b);
  o[21 * n] = log2(fabs(a));
  o[22 * n] = log10(fabs(a));
  o[23 * n] = copysign(a, b);
  o[24 * n] = ldexp(b, 5);
  o[25 * n] = acos(1 / (1 + fabs(a)));
  o[26 * n] = asinh(a);
  o[27 * n] = nextafter(a, b);
  o[28 * n] = remainder(a, b);
}

// Functions that NumPy lacks: the host has them in Python's math.
extern "C" __global__ void special(const double* x, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = erf(x[i]);
  out[n + i] = erfc(x[i]);
  out[2 * n + i] = tgamma(x[i]);
  out[3 * n + i] = lgamma(x[i]);
}

extern "C" __global__ void singles(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = y[i];
  float* o = out + i;
  o[0] = sinf(a);
  o[n] = cosf(a);
  o[2 * n] = tanf(a);
  o[3 * n] = expf(b);
  o[4 * n] = logf(fabsf(a));
  o[5 * n] = powf(fabsf(a), b);
  o[6 * n] = sqrtf(fabsf(a));
  o[7 * n] = cbrtf(a);
  o[8 * n] = atan2f(a, b);
  o[9 * n] = hypotf(a, b);
  o[10 * n] = expm1f(b);
  o[11 * n] = log1pf(fabsf(a));
  o[12 * n] = sinhf(b);
  o[13 * n] = tanhf(b);
  o[14 * n] = fmodf(a, b);
  o[15 * n] = rintf(b);
  o[16 * n] = floorf(b);
  o[17 * n] = truncf(a);
  o[18 * n] = a / b;
  o[19 * n] = fmaf(a, b, a);
}

// Rounding modes and conversions, exact by IEEE 754.
extern "C" __global__ void roundings(const double* x, const double* y, double* out, long long* integers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], b = y[i];
  double* o = out + i;
  o[0] = __dadd_rd(a, b);
  o[n] = __dadd_ru(a, b);
  o[2 * n] = __dmul_rz(a, b);
  o[3 * n] = __ddiv_ru(a, b);
  o[4 * n] = __dsqrt_rd(fabs(a));
  o[5 * n] = __double2float_ru(a);
  o[6 * n] = __double2float_rd(a);
  o[7 * n] = __double2float_rn(a);
  o[8 * n] = __fadd_rz(static_cast<float>(a), static_cast<float>(b));
  o[9 * n] = __drcp_rn(b);
  long long* k = integers + i;
  k[0] = __double2ll_rn(a);
  k[n] = __double2ll_rz(a);
  k[2 * n] = __double2ll_ru(a);
  k[3 * n] = __double2int_rd(b);
  k[4 * n] = __double_as_longlong(a) ^ (__hiloint2double(__double2hiint(a), __double2loint(a)) > 0);
  k[5 * n] = isnan(a) | isinf(a) << 1 | signbit(a) << 2 | isfinite(b) << 3;
}

// What the fast-maths intrinsics promise.
extern "C" __global__ void fast(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = __sinf(x[i]);
  out[n + i] = __cosf(x[i]);
  out[2 * n + i] = __expf(x[i]);
  out[3 * n + i] = __logf(fabsf(x[i]));
  out[4 * n + i] = __fdividef(1.0f, x[i]);
  out[5 * n + i] = rsqrtf(fabsf(x[i]));
  out[6 * n + i] = __saturatef(x[i]);
  out[7 * n + i] = __powf(fabsf(x[i]), 1.5f);
}
