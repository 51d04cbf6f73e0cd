// Functions of the CUDA device runtime that PTX calls by name: vprintf, __assertfail, malloc, free.

#include <cstdio>
#include <cstring>
#include <string>

#include "mtlc/sim/access.h"
#include "mtlc/sim/engine.h"

namespace mtlc::sim {
namespace {

constexpr size_t kMaxText = 1 << 16;

// An argument of the call, as 64 bits.
uint64_t argument(Warp& w, const CallValue& v, unsigned lane) {
  uint64_t value = 0;
  if (v.ref == kNoRef) {
    std::memcpy(&value, w.local(lane) + w.frame->localBase + v.offset, v.bytes < 8 ? v.bytes : 8);
  } else if (refBank(v.ref) == Bank::r64) {
    value = w.r64(v.ref)[lane];
  } else {
    value = w.r32(v.ref)[lane];
  }
  return value;
}

void result(Warp& w, const CallSite& site, unsigned lane, uint64_t value) {
  if (site.results.empty() || site.results[0].bytes == 0) return;
  const CallValue& r = site.results[0];
  if (r.ref == kNoRef) {
    std::memcpy(w.local(lane) + w.frame->localBase + r.offset, &value, r.bytes < 8 ? r.bytes : 8);
  } else if (refBank(r.ref) == Bank::r64) {
    w.r64(r.ref)[lane] = value;
  } else {
    w.r32(r.ref)[lane] = static_cast<uint32_t>(value);
  }
}

// A string of the simulated program; nothing when it is not readable or has no end.
bool readText(Warp& w, unsigned lane, uint64_t address, std::string& out) {
  uint64_t available;
  const uint8_t* p = genericRange(w, lane, address, available);
  if (p == nullptr) return false;
  const void* end = std::memchr(p, 0, available);
  if (end == nullptr) return false;
  size_t n = static_cast<size_t>(static_cast<const uint8_t*>(end) - p);
  out.assign(reinterpret_cast<const char*>(p), n < kMaxText ? n : kMaxText);
  return true;
}

// Formats as C's printf does; arguments lie in memory, each at its natural alignment.
class Printer {
 public:
  Printer(Warp& w, unsigned lane, uint64_t arguments) : w_(w), lane_(lane), at_(arguments) {}

  // False when an argument cannot be read.
  bool run(const std::string& format, std::string& out) {
    for (size_t i = 0; i < format.size();) {
      if (format[i] != '%') {
        out += format[i++];
        continue;
      }
      if (i + 1 < format.size() && format[i + 1] == '%') {
        out += '%';
        i += 2;
        continue;
      }
      if (!conversion(format, i, out)) return false;
    }
    return true;
  }
  int count() const { return count_; }

 private:
  template <typename T>
  bool next(T& value) {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const uint8_t* p = genericPointer(w_, lane_, at_, sizeof(T));
    if (p == nullptr) return false;
    std::memcpy(&value, p, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return true;
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  bool number(const std::string& f, size_t& i, int& value, bool& given) {
    given = false;
    if (i < f.size() && f[i] == '*') {
      ++i;
      given = true;
      return next(value);
    }
    value = 0;
    while (i < f.size() && isDigit(f[i])) {
      if (value < 100000) value = value * 10 + (f[i] - '0');
      given = true;
      ++i;
    }
    return true;
  }

  bool conversion(const std::string& f, size_t& i, std::string& out) {
    size_t start = i++;
    std::string spec = "%";
    while (i < f.size() && std::strchr("-+ #0", f[i]) != nullptr) {
      if (spec.size() < 8) spec += f[i];
      ++i;
    }
    int width, precision;
    bool hasWidth, hasPrecision = false;
    if (!number(f, i, width, hasWidth)) return false;
    if (hasWidth) {
      if (width < 0) {
        spec += '-';
        width = width < -4096 ? 4096 : -width;
      }
      spec += std::to_string(width > 4096 ? 4096 : width);
    }
    if (i < f.size() && f[i] == '.') {
      ++i;
      if (!number(f, i, precision, hasPrecision)) return false;
      if (precision >= 0) {
        spec += '.';
        spec += std::to_string(precision > 1024 ? 1024 : precision);
      }
    }
    bool wide = false;
    while (i < f.size() && std::strchr("hlLjzt", f[i]) != nullptr) {
      wide = wide || f[i] != 'h';
      ++i;
    }
    if (i >= f.size()) {
      out.append(f, start, std::string::npos);
      return true;
    }
    char c = f[i++];
    char buffer[6144];
    int n = 0;
    if (std::strchr("diuxXo", c) != nullptr) {
      long long value;
      if (wide) {
        if (!next(value)) return false;
      } else {
        int narrow;
        if (!next(narrow)) return false;
        value =
            c == 'd' || c == 'i' ? narrow : static_cast<long long>(static_cast<unsigned>(narrow));
      }
      spec += "ll";
      spec += c;
      n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
    } else if (std::strchr("fFeEgGaA", c) != nullptr) {
      double value;
      if (!next(value)) return false;
      spec += c;
      n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
    } else if (c == 'c') {
      int value;
      if (!next(value)) return false;
      spec += c;
      n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
    } else if (c == 'p') {
      unsigned long long value;
      if (!next(value)) return false;
      n = std::snprintf(buffer, sizeof buffer, "0x%llx", value);
    } else if (c == 's') {
      uint64_t address;
      std::string text;
      if (!next(address)) return false;
      if (address == 0) {
        text = "(null)";
      } else if (!readText(w_, lane_, address, text)) {
        return false;
      }
      if (text.size() > 4096) text.resize(4096);
      spec += c;
      n = std::snprintf(buffer, sizeof buffer, spec.c_str(), text.c_str());
    } else {
      out.append(f, start, i - start);
      return true;
    }
    if (n > 0)
      out.append(buffer, static_cast<size_t>(n) < sizeof buffer ? static_cast<size_t>(n)
                                                                : sizeof buffer - 1);
    return true;
  }

  Warp& w_;
  unsigned lane_;
  uint64_t at_;
  int count_ = 0;
};

bool print(Warp& w, const Instr& in, const CallSite& site, unsigned lane) {
  LaunchState& launch = *w.block->launch;
  std::string format, text;
  uint64_t formatAddress = argument(w, site.arguments[0], lane);
  uint64_t arguments = argument(w, site.arguments[1], lane);
  Printer printer(w, lane, arguments);
  if (!readText(w, lane, formatAddress, format) || !printer.run(format, text)) {
    reportFault(w, in, lane, DiagId::SimBadPrint, {});
    return false;
  }
  result(w, site, lane, static_cast<uint64_t>(printer.count()));
  if (launch.config->print) {
    std::lock_guard lock(launch.printMutex);
    launch.config->print(text);
  }
  return true;
}

// __assertfail(message, file, line, function, character size)
bool assertFail(Warp& w, const Instr& in, const CallSite& site, unsigned lane) {
  std::string message, file, function;
  if (!readText(w, lane, argument(w, site.arguments[0], lane), message)) message = "?";
  if (!readText(w, lane, argument(w, site.arguments[1], lane), file)) file = "?";
  uint64_t line = argument(w, site.arguments[2], lane) & 0xffffffffu;
  if (!readText(w, lane, argument(w, site.arguments[3], lane), function)) function = "?";
  reportTrap(w, in, lane, DiagId::SimAssertion, {file, line, function, message});
  return false;
}

void allocate(Warp& w, const CallSite& site, unsigned lane) {
  LaunchState& launch = *w.block->launch;
  uint64_t bytes = argument(w, site.arguments[0], lane);
  uint64_t address = launch.heap.allocate(bytes);
  result(w, site, lane, address);
  if (address == 0) return;
  for (Observer* o : launch.observers) {
    o->allocated(*launch.heap.memory(), address - launch.heap.memory()->begin, bytes);
  }
}

// alloca(bytes, alignment): from the end of the lane's local memory, with a gap as variables have
// it.
bool takeStack(Warp& w, const Instr& in, const CallSite& site, unsigned lane) {
  uint64_t bytes = argument(w, site.arguments[0], lane);
  uint64_t align = argument(w, site.arguments[1], lane);
  uint64_t top = w.stackTop(lane);
  uint64_t used = uint64_t{w.frame->localBase} + w.frame->function->localBytes;
  uint64_t need = kVariableGuardBytes + align;
  if (bytes > top || top - bytes < used + need) {
    reportFault(w, in, lane, DiagId::SimStackOverflow,
                {w.frame->function->name, w.block->localStride});
    return false;
  }
  auto offset = static_cast<uint32_t>((top - kVariableGuardBytes - bytes) / align * align);
  w.stackPieces[lane].push_back({offset, static_cast<uint32_t>(bytes)});
  std::memset(w.local(lane) + offset, 0xcd, bytes);
  result(w, site, lane, offset);
  return true;
}

// What was taken since the stack ended at `top` is given back.
void restoreStack(Warp& w, unsigned lane, uint64_t top) {
  std::vector<StackPiece>& pieces = w.stackPieces[lane];
  size_t least = w.frame->pieces[lane];
  while (pieces.size() > least && pieces.back().offset < top) pieces.pop_back();
}

}  // namespace

bool runBuiltin(Warp& w, const Instr& in, const CallSite& site) {
  LaunchState& launch = *w.block->launch;
  static constexpr size_t kArguments[] = {0, 2, 5, 1, 1, 2, 0, 1};
  if (site.arguments.size() != kArguments[static_cast<size_t>(site.builtin)]) {
    reportFault(w, in, static_cast<unsigned>(__builtin_ctz(w.active)), DiagId::SimCallMismatch,
                {"the built-in function"});
    return false;
  }
  for (LaneMask m = w.active; m != 0; m &= m - 1) {
    unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
    switch (site.builtin) {
      case Builtin::vprintf:
        if (!print(w, in, site, lane)) return false;
        break;
      case Builtin::assertFail:
        return assertFail(w, in, site, lane);
      case Builtin::malloc:
        allocate(w, site, lane);
        break;
      case Builtin::free: {
        uint64_t address = argument(w, site.arguments[0], lane);
        if (address != 0 && !launch.heap.free(address)) {
          reportFault(w, in, lane, DiagId::SimBadFree, {hexText(address)});
          return false;
        }
        break;
      }
      case Builtin::stackAlloc:
        if (!takeStack(w, in, site, lane)) return false;
        break;
      case Builtin::stackSave:
        result(w, site, lane, w.stackTop(lane));
        break;
      case Builtin::stackRestore:
        restoreStack(w, lane, argument(w, site.arguments[0], lane));
        break;
      case Builtin::none:
        break;
    }
  }
  for (Observer* o : launch.observers) o->builtinReturned(w, in, w.active);
  return true;
}

}  // namespace mtlc::sim
