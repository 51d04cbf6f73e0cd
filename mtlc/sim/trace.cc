#include "mtlc/sim/trace.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

class Trace : public Observer {
 public:
  explicit Trace(const LaunchConfig& config) : config_(config) {}

  bool sequential() const override { return true; }
  bool wantsInstructions() const override { return true; }
  bool wantsResults() const override { return true; }

  void launchEnd(LaunchState&) override { flush(); }

  void instruction(Warp& w, const Instr& in, LaneMask mask) override {
    bool branch = in.op == Op::branch;
    if (!traced(w, mask | w.active) || (in.flags & kCountsAsNothing) != 0) return;
    begin(w, in);
    if (in.guard != kNoRef && branch) {
      line_ += (w.pred(in.guard) >> lane_ & 1) != 0 ? " | taken" : " | not taken";
    } else if ((mask >> lane_ & 1) == 0) {
      line_ += " | skipped";
      return;
    }
    bool first = true;
    for (Ref r : in.src) {
      if (r == kNoRef || (in.op == Op::matrix && r == in.src[kMatrixLanes])) continue;
      line_ += first ? " | " : " ";
      line_ += value(w, r);
      first = false;
    }
    if (in.op == Op::memory && in.count > 1 && in.dst == kNoRef && isStore_) list(w, in, " | ");
  }

  void access(Warp& w, const Access& a) override {
    if (!traced(w, a.mask)) return;
    static constexpr const char* kKinds[] = {"load", "store", "atomic", "reduction"};
    line_ += std::string(" | ") + kKinds[static_cast<size_t>(a.kind)] + " " + space(a.space) + " " +
             hexText(a.addresses[lane_]) + " " + std::to_string(a.bytes);
    isLoad_ = a.kind == AccessKind::load;
  }

  void executed(Warp& w, const Instr& in, LaneMask mask) override {
    if (!traced(w, mask) || line_.empty()) return;
    if (in.op == Op::memory && in.count > 1) {
      if (isLoad_) list(w, in, " -> ");
    } else if (in.dst != kNoRef) {
      floats(true);
      line_ += " -> " + value(w, in.dst);
    }
    flush();
  }

  void sync(Warp& w, const SyncEvent& e) override {
    if (e.kind == SyncKind::fence && traced(w, e.mask)) begin(w, e.in);
  }
  void called(Warp& w, const Instr& in, LaneMask mask, const Frame&, const Frame& callee) override {
    if (!traced(w, mask)) return;
    begin(w, in);
    line_ += " | enters " + callee.function->name;
  }
  void returned(Warp& w, const Instr& in, LaneMask mask, const Frame&,
                const Frame& callee) override {
    if (!traced(w, mask)) return;
    begin(w, in);
    line_ += " | left " + callee.function->name;
  }

 private:
  // Whether the thread is a lane of `mask`; sets lane_.
  bool traced(const Warp& w, LaneMask mask) {
    const Block& b = *w.block;
    const auto& t = config_.traceThread;
    if (b.id != config_.traceBlock) return false;
    for (unsigned i = 0; i < 3; ++i) {
      if (t[i] >= b.shape[i]) return false;
    }
    uint32_t linear = (t[2] * b.shape[1] + t[1]) * b.shape[0] + t[0];
    lane_ = linear % kLanes;
    return linear / kLanes == w.index && (mask >> lane_ & 1) != 0;
  }

  void begin(Warp& w, const Instr& in) {
    flush();
    const LaunchState& launch = *w.block->launch;
    const SourceManager& sources = launch.module->sources();
    SourceLoc loc = launch.program->info[launch.pcOf(in)].loc;
    std::string_view text = sources.lineText(loc);
    // From the guard, which is before the place of the instruction.
    size_t column = std::min<size_t>(text.size(), loc.column() == 0 ? 0 : loc.column() - 1);
    size_t before = text.substr(0, column).find_last_of(";{}:");
    text.remove_prefix(before == text.npos ? 0 : before + 1);
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
    text = text.substr(0, text.find(';'));
    convert_ = text.find("cvt.") != text.npos;
    std::string_view word =
        text.substr(!text.empty() && text[0] == '@' ? std::min(text.find(' '), text.size()) : 0);
    word.remove_prefix(std::min(word.size(), word.find_first_not_of(" \t")));
    word_ = word.substr(0, word.find_first_of(" \t"));
    floats(false);
    isLoad_ = false;
    isStore_ = text.find("st.") != text.npos;
    line_ = std::to_string(loc.line()) + ": " + std::string(text);
  }

  // Which types show in decimal; a conversion names its result's type before its operand's.
  void floats(bool result) {
    auto names = [&](std::string type) {
      if (!convert_) return word_.find(type) != word_.npos;
      return result ? word_.find(type + ".") != word_.npos : word_.ends_with(type);
    };
    float32_ = names(".f32");
    float64_ = names(".f64");
  }

  void flush() {
    if (!line_.empty() && config_.traceLine) config_.traceLine(line_);
    line_.clear();
  }

  std::string value(Warp& w, Ref r) const {
    char text[64];
    if (refBank(r) == Bank::pred) return (w.pred(r) >> lane_ & 1) != 0 ? "true" : "false";
    if (refBank(r) == Bank::r64) {
      uint64_t v = w.r64(r)[lane_];
      double d;
      std::memcpy(&d, &v, sizeof d);
      std::snprintf(text, sizeof text, float64_ ? "0x%016llx (%.17g)" : "0x%016llx",
                    static_cast<unsigned long long>(v), d);
    } else {
      uint32_t v = w.r32(r)[lane_];
      float f;
      std::memcpy(&f, &v, sizeof f);
      std::snprintf(text, sizeof text, float32_ ? "0x%08x (%.9g)" : "0x%08x", v,
                    static_cast<double>(f));
    }
    return text;
  }

  // The elements of a vector operand.
  void list(Warp& w, const Instr& in, const char* before) {
    line_ += before;
    for (unsigned e = 0; e < in.count; ++e) {
      Ref r = w.block->program->operandLists[in.ext + e];
      line_ += (e == 0 ? "{" : ", ") + (r == kNoRef ? std::string("_") : value(w, r));
    }
    line_ += "}";
  }

  static const char* space(Space s) {
    switch (s) {
      case Space::generic:
        return "generic";
      case Space::global:
        return "global";
      case Space::constant:
        return "const";
      case Space::shared:
        return "shared";
      case Space::local:
        return "local";
      case Space::param:
        return "param";
    }
    return "";
  }

  const LaunchConfig& config_;
  std::string line_;  // Of the instruction in progress; empty: none.
  unsigned lane_ = 0;
  std::string word_;  // Its opcode with the modifiers.
  bool convert_ = false;
  bool float32_ = false;
  bool float64_ = false;
  bool isLoad_ = false;
  bool isStore_ = false;
};

}  // namespace

std::unique_ptr<Observer> makeTrace(const LaunchConfig& config) {
  return std::make_unique<Trace>(config);
}

}  // namespace mtlc::sim
