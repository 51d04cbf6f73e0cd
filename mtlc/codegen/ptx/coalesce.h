// Which virtual registers share a name, so that passing block arguments costs as few moves as
// possible; and the moves that remain, in an order that keeps their values.

#ifndef MTLC_CODEGEN_PTX_COALESCE_H_
#define MTLC_CODEGEN_PTX_COALESCE_H_

#include <cstdint>
#include <vector>

#include "mtlc/codegen/ptx/machine.h"

namespace mtlc::ptx {

// Joins each block argument with what is passed for it where their live ranges allow, innermost
// loops first. Live ranges are computed for those registers only, and only as long as a budget
// linear in the size of the function lasts; what is left then is copied.
class Coalescer {
 public:
  // Afterwards representative(r) is the same for registers that may have one name.
  void run(const MachineFunction& function);
  uint32_t representative(uint32_t vreg) const {
    return representatives_.empty() ? vreg : representatives_[vreg];
  }

 private:
  // Positions of two per instruction and per terminator: uses at the even one, definitions at the
  // odd one. A range holds `begin` and not `end`.
  struct Range {
    uint32_t begin, end;
  };
  struct Use {
    uint32_t block, position;
  };
  using Ranges = std::vector<Range>;
  // Whether the ranges of a candidate (or of what was joined with it) have been computed.
  enum class State : uint8_t { New, Known, Unknown };

  void collectCandidates(const MachineFunction& function);
  void collectUses(const MachineFunction& function);
  void collectPredecessors(const MachineFunction& function);
  bool haveRanges(const MachineFunction& function, uint32_t candidate);
  void computeRanges(const MachineFunction& function, uint32_t candidate);
  void joinAll(const MachineFunction& function);
  uint32_t find(uint32_t candidate);
  static bool overlap(const Ranges& a, const Ranges& b);
  static void merge(Ranges& into, const Ranges& from);

  uint32_t blockStart(const MachineFunction& f, uint32_t b) const {
    return 2 * (f.blocks[b].firstInst + b);
  }
  uint32_t terminator(const MachineFunction& f, uint32_t b) const {
    return 2 * (f.blocks[b].endInst + b);
  }

  std::vector<uint32_t> representatives_;  // By virtual register; empty: all are their own.
  std::vector<uint32_t> candidateOf_;      // By virtual register.
  std::vector<uint32_t> regOf_;            // By candidate, and so on.
  std::vector<Use> definitions_;
  std::vector<uint32_t> firstUse_;
  std::vector<Use> uses_;
  std::vector<Ranges> ranges_;
  std::vector<State> states_;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> firstPred_, preds_;
  std::vector<uint32_t> seen_, lastUse_, work_, touched_;  // By block.
  uint64_t budget_ = 0;
};

// Orders the copies of one edge so that each reads its source before that is overwritten. Registers
// are named by `Coalescer`; copies of a register to itself are dropped. A cycle goes through a
// register that `newRegister` makes.
class ParallelCopies {
 public:
  struct Move {
    uint32_t dst;
    Opnd src;
  };
  // `registerCount`: one more than any representative. `moves` have representatives in them,
  // distinct destinations.
  template <typename NewRegister>
  void order(std::vector<Move>& moves, uint32_t registerCount, std::vector<Move>& out,
             NewRegister newRegister) {
    if (readers_.size() < registerCount) {
      readers_.resize(registerCount, 0);
      writer_.resize(registerCount, 0);
    }
    ready_.clear();
    for (const Move& m : moves) {
      if (m.src.isReg()) ++readers_[m.src.index()];
    }
    for (uint32_t i = 0; i < moves.size(); ++i) writer_[moves[i].dst] = i + 1;
    for (uint32_t i = 0; i < moves.size(); ++i) {
      if (readers_[moves[i].dst] == 0) ready_.push_back(i);
    }
    done_.assign(moves.size(), false);
    for (uint32_t next = 0;;) {
      while (!ready_.empty()) {
        uint32_t i = ready_.back();
        ready_.pop_back();
        done_[i] = true;
        out.push_back(moves[i]);
        if (!moves[i].src.isReg()) continue;
        uint32_t source = moves[i].src.index();
        if (--readers_[source] == 0 && writer_[source] != 0 && !done_[writer_[source] - 1]) {
          ready_.push_back(writer_[source] - 1);
        }
      }
      while (next < moves.size() && done_[next]) ++next;
      if (next == moves.size()) break;
      // Only cycles are left. Save one destination, and let its readers read the copy.
      uint32_t saved = moves[next].dst;
      uint32_t copy = newRegister(saved);
      out.push_back({copy, Opnd::reg(saved)});
      for (Move& m : moves) {
        if (!done_[&m - moves.data()] && m.src == Opnd::reg(saved)) m.src = Opnd::reg(copy);
      }
      if (readers_.size() <= copy) {
        readers_.resize(copy + 1, 0);
        writer_.resize(copy + 1, 0);
      }
      readers_[copy] = readers_[saved];
      readers_[saved] = 0;
      ready_.push_back(next);
    }
    for (const Move& m : moves) {
      writer_[m.dst] = 0;
      readers_[m.dst] = 0;
      if (m.src.isReg()) readers_[m.src.index()] = 0;
    }
  }

 private:
  std::vector<uint32_t> readers_;  // By register: moves yet to read it.
  std::vector<uint32_t> writer_;   // By register: the move that writes it, plus one.
  std::vector<uint32_t> ready_;
  std::vector<bool> done_;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_COALESCE_H_
