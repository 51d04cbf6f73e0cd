// Integer arithmetic: wide, carried, packed, and the intrinsics.

extern "C" __global__ void divisions(const long long* x, const long long* y, long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long a = x[i], b = y[i];
  unsigned long long ua = a, ub = b;
  out[i] = a / b;
  out[n + i] = a % b;
  out[2 * n + i] = ua / ub;
  out[3 * n + i] = ua % ub;
  out[4 * n + i] = static_cast<int>(a) / static_cast<int>(b | 1);
  out[5 * n + i] = static_cast<unsigned>(ua) % static_cast<unsigned>(ub | 1);
  out[6 * n + i] = __mul64hi(a, b);
  out[7 * n + i] = __umul64hi(ua, ub);
  out[8 * n + i] = static_cast<short>(a) / static_cast<short>(b | 1);
  out[9 * n + i] = static_cast<signed char>(a) % static_cast<signed char>(b | 1);
  out[10 * n + i] = a / 1000003;
  out[11 * n + i] = ua % 10;
}

extern "C" __global__ void bits(const unsigned* x, const unsigned* y, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = x[i], b = y[i];
  unsigned long long w = static_cast<unsigned long long>(a) << 32 | b;
  unsigned* o = out + i;
  o[0] = __clz(a);
  o[n] = __clzll(w >> (b & 63));
  o[2 * n] = __popc(a) + 100 * __popcll(w);
  o[3 * n] = __brev(a);
  o[4 * n] = static_cast<unsigned>(__brevll(w) >> 13);
  o[5 * n] = __ffs(a) + 100 * __ffsll(w);
  o[6 * n] = __byte_perm(a, b, 0x3715);
  o[7 * n] = __funnelshift_l(a, b, b & 31);
  o[8 * n] = __funnelshift_rc(a, b, a & 63);
  o[9 * n] = __umulhi(a, b);
  o[10 * n] = __mulhi(static_cast<int>(a), static_cast<int>(b));
  o[11 * n] = __usad(a, b, 7u) + __sad(static_cast<int>(a), static_cast<int>(b), 9u);
  o[12 * n] = __uhadd(a, b) ^ static_cast<unsigned>(__rhadd(static_cast<int>(a), static_cast<int>(b)));
  o[13 * n] = a << (b & 31) | a >> (32 - (b & 31)) % 32;
  o[14 * n] = static_cast<unsigned>(__mul24(static_cast<int>(a), static_cast<int>(b))) ^ __umul24(a, b);
}

// SHA-256 compression of one 64-byte block for each thread.
__constant__ unsigned kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned rotate(unsigned v, int n) { return __funnelshift_r(v, v, n); }

// Messages of `length` < 56 bytes, `stride` bytes apart; digests of eight words.
extern "C" __global__ void sha256(const unsigned char* text, int stride, const int* lengths, unsigned* digests, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned w[64];
  const unsigned char* p = text + i * stride;
  int length = lengths[i];
  for (int j = 0; j < 16; ++j) {
    unsigned word = 0;
    for (int k = 0; k < 4; ++k) {
      int at = 4 * j + k;
      word = word << 8 | (at < length ? p[at] : at == length ? 0x80u : 0u);
    }
    w[j] = word;
  }
  w[15] = 8 * length;
  for (int j = 16; j < 64; ++j) {
    unsigned s0 = rotate(w[j - 15], 7) ^ rotate(w[j - 15], 18) ^ w[j - 15] >> 3;
    unsigned s1 = rotate(w[j - 2], 17) ^ rotate(w[j - 2], 19) ^ w[j - 2] >> 10;
    w[j] = w[j - 16] + s0 + w[j - 7] + s1;
  }
  const unsigned start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned h[8];
  for (int j = 0; j < 8; ++j) h[j] = start[j];
  for (int j = 0; j < 64; ++j) {
    unsigned e = h[4], a = h[0];
    unsigned t1 = h[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & h[5]) ^ (~e & h[6])) + kRound[j] + w[j];
    unsigned t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & h[1]) ^ (a & h[2]) ^ (h[1] & h[2]));
    for (int k = 7; k > 0; --k) h[k] = h[k - 1];
    h[4] += t1;
    h[0] = t1 + t2;
  }
  for (int j = 0; j < 8; ++j) digests[8 * i + j] = start[j] + h[j];
}

// base^exponent mod modulus with 128-bit products.
extern "C" __global__ void powerMod(const unsigned long long* base, const unsigned long long* exponent,
                                    const unsigned long long* modulus, unsigned long long* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long m = modulus[i], b = base[i] % m, e = exponent[i], r = 1 % m;
  for (; e != 0; e >>= 1) {
    if (e & 1) r = static_cast<unsigned long long>(static_cast<unsigned __int128>(r) * b % m);
    b = static_cast<unsigned long long>(static_cast<unsigned __int128>(b) * b % m);
  }
  out[i] = r;
}

// Sums of 256-bit integers with carries, in inline PTX.
extern "C" __global__ void addWide(const uint4* x, const uint4* y, uint4* out, unsigned* carry, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 a = x[2 * i], b = x[2 * i + 1], c = y[2 * i], d = y[2 * i + 1];
  unsigned over;
  asm("add.cc.u32 %0, %0, %9;\n\t"
      "addc.cc.u32 %1, %1, %10;\n\t"
      "addc.cc.u32 %2, %2, %11;\n\t"
      "addc.cc.u32 %3, %3, %12;\n\t"
      "addc.cc.u32 %4, %4, %13;\n\t"
      "addc.cc.u32 %5, %5, %14;\n\t"
      "addc.cc.u32 %6, %6, %15;\n\t"
      "addc.cc.u32 %7, %7, %16;\n\t"
      "addc.u32 %8, 0, 0;"
      : "+r"(a.x), "+r"(a.y), "+r"(a.z), "+r"(a.w), "+r"(b.x), "+r"(b.y), "+r"(b.z), "+r"(b.w), "=r"(over)
      : "r"(c.x), "r"(c.y), "r"(c.z), "r"(c.w), "r"(d.x), "r"(d.y), "r"(d.z), "r"(d.w));
  out[2 * i] = a;
  out[2 * i + 1] = b;
  carry[i] = over;
}
