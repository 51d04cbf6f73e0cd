#include "mtlc/sim/checkers/unwritten.h"

#include <algorithm>

#include "mtlc/sim/checkers/registers.h"

namespace mtlc::sim {
namespace {

// Words of all block states together: larger functions are not analysed.
constexpr uint64_t kMaxWords = uint64_t{1} << 22;

// Forward data flow over one function: the registers that every path to a point wrote.
class Analysis {
 public:
  Analysis(const Program& p, const ProgramFunction& f) : p_(p), f_(f) {}

  std::vector<Ref> run() {
    bits_ = f_.slots32 + f_.slots64 + f_.slotsPred;
    words_ = (bits_ + 63) / 64;
    found_.assign(words_, 0);
    findBlocks();
    if (uint64_t{words_} * starts_.size() > kMaxWords) {
      found_.assign(words_, ~uint64_t{0});
      return list();
    }
    in_.assign(starts_.size(), {});
    in_[0].assign(words_, 0);
    for (const FormalValue& v : f_.params) write(v.ref, in_[0]);
    std::vector<uint32_t> work{0};
    std::vector<bool> queued(starts_.size(), false);
    queued[0] = true;
    while (!work.empty()) {
      uint32_t b = work.back();
      work.pop_back();
      queued[b] = false;
      State s = in_[b];
      for (uint32_t i = starts_[b]; i < endOf(b); ++i) step(p_.code[i], s, false);
      successors(b, [&](uint32_t next) {
        if (!meet(in_[next], s) || queued[next]) return;
        queued[next] = true;
        work.push_back(next);
      });
    }
    for (uint32_t b = 0; b < starts_.size(); ++b) {
      if (in_[b].empty()) continue;  // Not reachable.
      State s = in_[b];
      for (uint32_t i = starts_[b]; i < endOf(b); ++i) step(p_.code[i], s, true);
    }
    return list();
  }

 private:
  using State = std::vector<uint64_t>;

  uint32_t bitOf(Ref r) const {
    switch (refBank(r)) {
      case Bank::r32:
        return refIndex(r);
      case Bank::r64:
        return f_.slots32 + refIndex(r);
      default:
        return f_.slots32 + f_.slots64 + refIndex(r);
    }
  }
  static bool isRegister(Ref r) { return r != kNoRef && refFile(r) == File::frame; }
  void write(Ref r, State& s) const {
    if (!isRegister(r) || bitOf(r) >= bits_) return;
    s[bitOf(r) / 64] |= uint64_t{1} << (bitOf(r) % 64);
  }
  void mark(Ref r) {
    if (isRegister(r)) write(r, found_);
  }
  void read(Ref r, const State& s) {
    if (!isRegister(r) || bitOf(r) >= bits_) return;
    if ((s[bitOf(r) / 64] >> (bitOf(r) % 64) & 1) == 0) mark(r);
  }

  void findBlocks() {
    std::vector<bool> leader(f_.end - f_.entry + 1, false);
    leader[0] = true;
    auto lead = [&](uint32_t pc) {
      if (pc >= f_.entry && pc < f_.end) leader[pc - f_.entry] = true;
    };
    for (uint32_t i = f_.entry; i < f_.end; ++i) {
      const Instr& in = p_.code[i];
      if (in.op == Op::branch) lead(in.target);
      if (in.op == Op::branchTable) {
        for (uint32_t t : p_.branchTables[in.ext].targets) lead(t);
      }
      if (ends(in)) lead(i + 1);
    }
    blockOf_.resize(f_.end - f_.entry);
    for (uint32_t i = f_.entry; i < f_.end; ++i) {
      if (leader[i - f_.entry]) starts_.push_back(i);
      blockOf_[i - f_.entry] = static_cast<uint32_t>(starts_.size() - 1);
    }
  }
  static bool ends(const Instr& in) {
    return in.op == Op::branch || in.op == Op::branchTable || in.op == Op::ret ||
           in.op == Op::exit || in.op == Op::trap;
  }
  uint32_t endOf(uint32_t b) const { return b + 1 < starts_.size() ? starts_[b + 1] : f_.end; }

  template <typename Visit>
  void successors(uint32_t b, Visit visit) const {
    auto to = [&](uint32_t pc) {
      if (pc >= f_.entry && pc < f_.end) visit(blockOf_[pc - f_.entry]);
    };
    const Instr& last = p_.code[endOf(b) - 1];
    if (last.op == Op::branch) to(last.target);
    if (last.op == Op::branchTable) {
      for (uint32_t t : p_.branchTables[last.ext].targets) to(t);
    }
    bool leaves = last.guard == kNoRef && ends(last);
    if (!leaves || last.op == Op::trap) to(endOf(b));
  }

  // True when `into` changed.
  static bool meet(State& into, const State& s) {
    if (into.empty()) {
      into = s;
      return true;
    }
    bool changed = false;
    for (size_t i = 0; i < s.size(); ++i) {
      uint64_t both = into[i] & s[i];
      changed = changed || both != into[i];
      into[i] = both;
    }
    return changed;
  }

  void step(const Instr& in, State& s, bool look) {
    auto use = [&](Ref r) {
      if (look) read(r, s);
    };
    auto define = [&](Ref r) {
      if (in.guard == kNoRef) write(r, s);
    };
    if (!(in.flags & kMove) && in.op != Op::nop && in.op != Op::join) {
      Family family = instructionTable()[in.row].family;
      if ((in.op == Op::lane || in.op == Op::collective) &&
          (family == Family::shfl || family == Family::shflSync)) {
        mark(in.src[0]);
      }
    }
    eachRegister(p_, f_, in, use, define);
  }

  std::vector<Ref> list() const {
    std::vector<Ref> out;
    auto add = [&](Bank bank, uint32_t count, uint32_t first) {
      for (uint32_t i = 0; i < count; ++i) {
        if ((found_[(first + i) / 64] >> ((first + i) % 64) & 1) != 0)
          out.push_back(makeRef(File::frame, bank, i));
      }
    };
    add(Bank::r32, f_.slots32, 0);
    add(Bank::r64, f_.slots64, f_.slots32);
    add(Bank::pred, f_.slotsPred, f_.slots32 + f_.slots64);
    return out;
  }

  const Program& p_;
  const ProgramFunction& f_;
  uint32_t bits_ = 0;
  uint32_t words_ = 0;
  std::vector<uint32_t> starts_;   // First instruction of each block.
  std::vector<uint32_t> blockOf_;  // By instruction - entry.
  std::vector<State> in_;
  State found_;
};

}  // namespace

std::vector<std::vector<Ref>> maybeUnwritten(const Program& program) {
  std::vector<std::vector<Ref>> out;
  for (const ProgramFunction& f : program.functions) {
    out.push_back(f.end > f.entry ? Analysis(program, f).run() : std::vector<Ref>());
  }
  return out;
}

}  // namespace mtlc::sim
