// The approximate instructions, with the errors the PTX ISA states for them (9.7.3, 9.7.4), and
// their results at zeros, infinities and NaN, which are exact.

#include <cmath>
#include <limits>

#include "mtlc/sim/oracle/oracle.h"

namespace mtlc::sim::oracle {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kPi = 3.14159265358979323846264338327950288L;

long double realValue(uint64_t bits, const BinaryFormat& f) {
  Exact v = unpack(bits, f);
  if (v.isNan()) return std::numeric_limits<long double>::quiet_NaN();
  long double m =
      v.kind == Exact::infinity
          ? kInfinity
          : std::ldexp(static_cast<long double>(static_cast<uint64_t>(v.mantissa)), v.exponent);
  return v.negative ? -m : m;
}

// The distance of neighbours of `f` around x.
long double ulp(long double x, const BinaryFormat& f) {
  int e = 1 - f.bias();
  if (x != 0 && std::isfinite(x)) e = std::max(e, std::ilogb(x));
  return std::ldexp(1.0L, e - f.fractionBits);
}

enum class Bound { ulps, relative, absolute };

struct Approximation {
  long double (*function)(long double, long double);
  Bound bound;
  long double size;
};

long double reciprocal(long double x, long double) { return 1 / x; }
long double squareRootOf(long double x, long double) { return std::sqrt(x); }
long double reciprocalRoot(long double x, long double) { return 1 / std::sqrt(x); }
long double sine(long double x, long double) { return std::sin(x); }
long double cosine(long double x, long double) { return std::cos(x); }
long double logarithm(long double x, long double) { return std::log2(x); }
long double power(long double x, long double) { return std::exp2(x); }
long double tangent(long double x, long double) { return std::tanh(x); }
long double quotient(long double x, long double y) { return x / y; }

bool find(const Form& f, Approximation& a) {
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  bool brain = t == Mod::bf16 || t == Mod::bf16x2;
  bool half = t == Mod::f16 || t == Mod::f16x2;
  if (op == "rcp") {
    a = t == Mod::f64 ? Approximation{reciprocal, Bound::relative, 0x1p-19L}
                      : Approximation{reciprocal, Bound::ulps, 1};
  } else if (op == "sqrt") {
    a = {squareRootOf, Bound::relative, 0x1p-23L};
  } else if (op == "rsqrt") {
    a = {reciprocalRoot, Bound::relative,
         t == Mod::f64 && f.has(Mod::ftz) ? 0x1p-19L : std::exp2(-22.9L)};
  } else if (op == "sin") {
    a = {sine, Bound::absolute, std::exp2(-20.5L)};
  } else if (op == "cos") {
    a = {cosine, Bound::absolute, std::exp2(-20.5L)};
  } else if (op == "lg2") {
    a = {logarithm, Bound::relative, 0x1p-22L};
  } else if (op == "ex2") {
    a = half    ? Approximation{power, Bound::relative, std::exp2(-9.9L)}
        : brain ? Approximation{power, Bound::relative, 0x1p-7L}
                : Approximation{power, Bound::ulps, 2};
  } else if (op == "tanh") {
    a = half    ? Approximation{tangent, Bound::absolute, std::exp2(-10.987L)}
        : brain ? Approximation{tangent, Bound::absolute, 0x1p-8L}
                : Approximation{tangent, Bound::relative, 0x1p-11L};
  } else if (op == "div") {
    a = {quotient, Bound::ulps, 2};
  } else {
    return false;
  }
  return true;
}

}  // namespace

Oracle approxOracle(const Form& f) {
  Approximation a;
  if (!(f.has(Mod::approx) || f.has(Mod::full)) || !find(f, a)) return {};
  std::string_view op = f.row->opcode;
  Type t = f.types[0];
  BinaryFormat format = *formatOf(t);
  unsigned elements = elementsOf(t);
  bool ftz = f.has(Mod::ftz), approxDiv = op == "div" && f.has(Mod::approx);
  bool coarse = t == Mod::f64 && ftz;  // The upper halves of f64 only.
  return [=](const Operands& o) {
    Want w;
    w.kind = Want::within;
    w.format = format;
    w.elements = static_cast<uint8_t>(elements);
    w.lowHalfZero = coarse;
    unsigned width = static_cast<unsigned>(format.bits());
    uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    for (unsigned e = 0; e < elements; ++e) {
      uint64_t xb = flushed(o.src[0] >> (width * e) & mask, format, ftz);
      uint64_t yb = flushed(o.src[1] >> (width * e) & mask, format, ftz);
      long double x = realValue(xb, format), y = realValue(yb, format);
      long double r = a.function(x, y);
      long double size = a.size;
      bool absolute = a.bound == Bound::absolute;
      if (approxDiv && std::fabs(y) > 0x1p126L && std::isfinite(y)) {
        // A large divisor counts as infinite.
        r = !std::isfinite(x)                    ? std::numeric_limits<long double>::quiet_NaN()
            : std::signbit(x) != std::signbit(y) ? -0.0L
                                                 : 0.0L;
      }
      if (op == "sin" || op == "cos") {
        long double range = std::fabs(x);
        if (range > 100 * kPi) {
          size = 2;
        } else if (range > 2 * kPi) {
          size = std::exp2(-14.7L);
        }
      }
      if (op == "lg2" && x > 0.5L && x < 2) absolute = true;
      w.reference[e] = r;
      w.wantNan[e] = std::isnan(r);
      long double error = 0;
      if (std::isfinite(r) && !(r == 0 && op != "sin" && op != "cos")) {
        error = absolute                 ? size
                : a.bound == Bound::ulps ? size * ulp(r, format)
                                         : size * std::fabs(r);
        // A bound below half a unit in the last place means: as good as the format can.
        error = std::max(error, ulp(r, format) / 2);
        // Results below the normal numbers are flushed, or have only their grid.
        long double least = std::ldexp(1.0L, 1 - format.bias());
        if (std::fabs(r) <= least) error = std::max(error, ftz ? std::fabs(r) : ulp(0, format));
      }
      w.error[e] = error;
    }
    return w;
  };
}

Oracle oracleOf(const Form& f) {
  for (auto part : {integerOracle, videoOracle, floatOracle, approxOracle, compareOracle,
                    convertOracle, bitOracle}) {
    if (Oracle o = part(f)) return o;
  }
  return {};
}

}  // namespace mtlc::sim::oracle
