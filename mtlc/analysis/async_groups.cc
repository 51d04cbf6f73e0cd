#include "mtlc/analysis/async_groups.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "mtlc/analysis/loops.h"
#include "mtlc/analysis/private_slots.h"
#include "mtlc/analysis/trip_count.h"

namespace mtlc::analysis {
namespace {

constexpr unsigned kStates = AsyncStates::kCount;

// Where each state can lead. The relations distribute over sets, so a row for each state is enough.
struct Relation {
  std::array<uint32_t, kStates> rows{};

  static Relation identity() {
    Relation r;
    for (unsigned s = 0; s < kStates; ++s) r.rows[s] = 1u << s;
    return r;
  }
  uint32_t apply(uint32_t set) const {
    uint32_t out = 0;
    for (; set != 0; set &= set - 1) out |= rows[static_cast<unsigned>(std::countr_zero(set))];
    return out;
  }
  // First this, then `next`.
  Relation then(const Relation& next) const {
    Relation r;
    for (unsigned s = 0; s < kStates; ++s) r.rows[s] = next.apply(rows[s]);
    return r;
  }
  Relation either(const Relation& other) const {
    Relation r;
    for (unsigned s = 0; s < kStates; ++s) r.rows[s] = rows[s] | other.rows[s];
    return r;
  }
  // `n` times in a row.
  Relation power(uint64_t n) const {
    Relation result = identity(), base = *this;
    for (; n != 0; n >>= 1) {
      if (n & 1) result = result.then(base);
      base = base.then(base);
    }
    return result;
  }
  // At most `n` times in a row.
  Relation upTo(uint64_t n) const { return either(identity()).power(n); }
  bool isIdentity() const { return rows == identity().rows; }
  friend bool operator==(const Relation&, const Relation&) = default;
};

// A ninth group is a fault; the states go on as if it were not there.
unsigned committed(unsigned state) {
  const unsigned pending = std::min(state / 2 + 1, kMaxPendingGroups);
  return AsyncStates::index(pending, false);
}

bool isStaging(const ir::Operation& op) {
  return op.form() == ir::Form::AsyncCopy || op.form() == ir::Form::AsyncCommit ||
         op.form() == ir::Form::AsyncWait;
}

uint32_t step(const ir::Operation& op, uint32_t set) {
  uint32_t out = 0;
  for (; set != 0; set &= set - 1) {
    const unsigned s = static_cast<unsigned>(std::countr_zero(set));
    switch (op.form()) {
      case ir::Form::AsyncCopy:
        out |= 1u << (s | 1);
        break;
      case ir::Form::AsyncCommit:
        out |= 1u << committed(s);
        break;
      default: {
        const unsigned pending = std::min<unsigned>(s / 2, op.waitCount());
        out |= 1u << AsyncStates::index(pending, (s & 1) != 0);
      }
    }
  }
  return out;
}

}  // namespace

std::string AsyncStates::print() const {
  if (bits_ == 0) return "unreached";
  if (std::popcount(bits_) > 3) {
    const unsigned least = static_cast<unsigned>(std::countr_zero(bits_)) / 2;
    const unsigned most = (31 - static_cast<unsigned>(std::countl_zero(bits_))) / 2;
    return absl::StrCat(least, " to ", most, " groups pending");
  }
  std::string out;
  for (unsigned s = 0; s < kCount; ++s) {
    if (!has(s)) continue;
    absl::StrAppend(&out, out.empty() ? "" : " or ", s / 2, s / 2 == 1 ? " group" : " groups",
                    " pending", (s & 1) ? " and uncommitted copies" : "");
  }
  return out;
}

namespace {

// Of a loop: everything as relations from the states at its header.
struct LoopSummary {
  struct Exit {
    uint32_t from, to;
    Relation way{};  // From the header, within the last round.
  };
  Relation round;                 // From the header back to it.
  std::optional<uint64_t> count;  // How often the back edge is taken.
  Relation anyRound;              // From the states on entry to those of all rounds.
  Relation bodyRounds;            // … to those of the rounds that go on past the header.
  Relation lastRound;             // … to those of the round in which the loop is left.
  std::vector<Exit> exits;
  uint32_t latch = kNoNode;  // One of them.
  bool oneLatch = true;
};

// A step on a level of the loop forest: a block, or a whole loop inside.
struct LevelNode {
  uint32_t block;
  uint32_t loop;  // kNoNode: the block itself.
};

}  // namespace

struct AsyncGroups::FunctionState {
  explicit FunctionState(const ir::Function& function)
      : cfg(function),
        loops(cfg),
        slots(cfg),
        blocks(cfg.size(), Relation::identity()),
        loopSummaries(loops.size()),
        reached(cfg.size(), 0),
        levels(loops.size() + 1) {
    for (uint32_t b = 0; b < cfg.size(); ++b) {
      const uint32_t loop = loops.loopOf(b);
      levels[levelOf(loop)].push_back({b, kNoNode});
      if (loop != kNoNode && loops[loop].header == b) {
        levels[levelOf(loops[loop].parent)].push_back({b, loop});
      }
    }
  }

  size_t levelOf(uint32_t loop) const { return loop == kNoNode ? loops.size() : loop; }
  // `block`, or the header of the loop inside of `level` that it belongs to.
  uint32_t nodeOf(uint32_t level, uint32_t block) const {
    uint32_t loop = loops.loopOf(block), child = kNoNode;
    while (loop != level && loop != kNoNode) {
      child = loop;
      loop = loops[loop].parent;
    }
    return child == kNoNode ? block : loops[child].header;
  }
  bool inside(uint32_t level, uint32_t block) const {
    return level == kNoNode || loops.contains(level, block);
  }

  Cfg cfg;
  LoopForest loops;
  PrivateSlots slots;
  std::vector<Relation> blocks;  // What the operations of a block do.
  std::vector<LoopSummary> loopSummaries;
  Relation whole;                              // From the entry to the returns.
  std::vector<uint32_t> reached;               // By block: states at its entry.
  std::vector<std::vector<LevelNode>> levels;  // By loop, the function itself last.
  const ir::Operation* cause = nullptr;
  uint32_t entryStates = 0;
};

// The work on one function.
struct AsyncGroups::Solver {
  AsyncGroups& groups;
  FunctionState& f;

  FunctionState* callee(const ir::Operation& op) const {
    if (op.form() != ir::Form::Call) return nullptr;
    const uint32_t index = groups.calls_.index(op.callee());
    return groups.calls_.recursive(index) ? nullptr : groups.states_[index].get();
  }

  // Hands values along the blocks of a level, each visited once, an inner loop in one step. The
  // client has a type Value and says what happens:
  //   join(into, from)      two ways meet
  //   apply(value, relation)
  //   visit(block, value)   the value at the entry of a block of this level
  //   onward(block, value)  … for the ways that go on from it within the level
  //   enter(loop, value)    … at the header of a loop in it
  //   back(from, value)     an edge to the level's header
  //   leave(from, to, value), finish(block, value)   an edge out of the level; a return
  template <typename Client>
  void walk(uint32_t level, const typename Client::Value& start, Client& client) {
    using Value = typename Client::Value;
    const std::vector<LevelNode>& nodes = f.levels[f.levelOf(level)];
    if (nodes.empty()) return;
    const uint32_t header = level == kNoNode ? kNoNode : f.loops[level].header;
    std::vector<Value> at(nodes.size());
    std::vector<bool> live(nodes.size(), false);
    for (size_t i = 0; i < nodes.size(); ++i) {
      f.cfg.block(nodes[i].block)->scratch = static_cast<uint32_t>(i);
    }
    at[0] = start;
    live[0] = true;
    auto edge = [&](uint32_t from, uint32_t to, const Value& out) {
      if (to == header) return client.back(from, out);
      if (!f.inside(level, to)) return client.leave(from, to, out);
      // An edge into the middle of an irreducible loop counts as one to its header.
      const uint32_t place = f.cfg.block(f.nodeOf(level, to))->scratch;
      if (live[place]) {
        client.join(at[place], out);
      } else {
        at[place] = out;
        live[place] = true;
      }
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!live[i]) continue;
      const LevelNode node = nodes[i];
      if (node.loop == kNoNode) {
        client.visit(node.block, at[i]);
        const Value out = client.apply(client.onward(node.block, at[i]), f.blocks[node.block]);
        if (f.cfg.succs(node.block).empty()) client.finish(node.block, out);
        for (uint32_t to : f.cfg.succs(node.block)) edge(node.block, to, out);
        continue;
      }
      const LoopSummary& inner = f.loopSummaries[node.loop];
      client.enter(node.loop, at[i]);
      const Value last = client.apply(at[i], inner.lastRound);
      for (const LoopSummary::Exit& e : inner.exits) {
        edge(e.from, e.to, client.apply(last, e.way));
      }
    }
  }

  // Relations, from the inside out.
  struct Summary {
    using Value = Relation;
    LoopSummary* loop;
    Relation* whole;
    static void join(Relation& into, const Relation& from) { into = into.either(from); }
    static Relation apply(const Relation& in, const Relation& next) { return in.then(next); }
    void visit(uint32_t, const Relation&) {}
    static const Relation& onward(uint32_t, const Relation& in) { return in; }
    void enter(uint32_t, const Relation&) {}
    void back(uint32_t from, const Relation& out) {
      loop->round = loop->round.either(out);
      loop->oneLatch = loop->oneLatch && (loop->latch == kNoNode || loop->latch == from);
      loop->latch = from;
    }
    void leave(uint32_t from, uint32_t to, const Relation& out) {
      loop->exits.push_back({from, to, out});
    }
    void finish(uint32_t, const Relation& out) {
      if (whole) *whole = whole->either(out);
    }
  };

  void summarize() {
    for (uint32_t b = 0; b < f.cfg.size(); ++b) {
      for (const ir::Operation& op : f.cfg.block(b)->ops()) {
        if (isStaging(op)) {
          for (uint32_t& row : f.blocks[b].rows) row = step(op, row);
          if (!f.cause && op.form() != ir::Form::AsyncWait) f.cause = &op;
        } else if (const FunctionState* other = callee(op)) {
          f.blocks[b] = f.blocks[b].then(other->whole);
          if (!f.cause) f.cause = other->cause;
        }
      }
    }
    // An inner loop has a higher number than the loops around it.
    for (uint32_t loop = f.loops.size(); loop-- > 0;) {
      LoopSummary& summary = f.loopSummaries[loop];
      Summary client{&summary, nullptr};
      walk(loop, Relation::identity(), client);
      if (!summary.round.isIdentity() && summary.oneLatch && summary.exits.size() == 1) {
        summary.count =
            constantBackEdges(f.loops, f.slots, loop, summary.latch, summary.exits[0].from);
      }
      joinExits(summary.exits);
      // Without a count every number of rounds is possible; there are few states, so few rounds
      // show them all.
      summary.anyRound = summary.round.upTo(summary.count.value_or(kStates));
      summary.lastRound = summary.count ? summary.round.power(*summary.count) : summary.anyRound;
      // A test in the header ends the last round there.
      summary.bodyRounds = summary.anyRound;
      if (summary.count && summary.exits[0].from == f.loops[loop].header) {
        summary.bodyRounds =
            *summary.count == 0 ? Relation() : summary.round.upTo(*summary.count - 1);
      }
    }
    Summary client{nullptr, &f.whole};
    walk(kNoNode, Relation::identity(), client);
  }

  // Exits that lead to one place become one: loops around this one see each target once.
  static void joinExits(std::vector<LoopSummary::Exit>& exits) {
    std::stable_sort(exits.begin(), exits.end(),
                     [](const auto& a, const auto& b) { return a.to < b.to; });
    size_t kept = 0;
    for (size_t i = 0; i < exits.size(); ++i) {
      if (kept > 0 && exits[kept - 1].to == exits[i].to) {
        exits[kept - 1].way = exits[kept - 1].way.either(exits[i].way);
      } else {
        exits[kept++] = exits[i];
      }
    }
    exits.resize(kept);
  }

  // The states that occur, from the outside in, and what is wrong with them.
  struct Reach {
    using Value = uint32_t;
    Solver& solver;
    std::vector<uint32_t>& entered;  // By loop.
    uint32_t header = kNoNode;       // Of the loop that is walked,
    uint32_t body = 0;               // and the states there in rounds that go on past it.
    static void join(uint32_t& into, uint32_t from) { into |= from; }
    static uint32_t apply(uint32_t in, const Relation& next) { return next.apply(in); }
    void visit(uint32_t block, uint32_t in) { solver.visitBlock(block, in); }
    uint32_t onward(uint32_t block, uint32_t in) const { return block == header ? body : in; }
    void enter(uint32_t loop, uint32_t in) { entered[loop] = in; }
    void back(uint32_t, uint32_t) {}
    void leave(uint32_t, uint32_t, uint32_t) {}
    void finish(uint32_t, uint32_t) {}
  };

  void reach() {
    std::vector<uint32_t> entered(f.loops.size(), 0);
    Reach client{*this, entered};
    walk(kNoNode, f.entryStates, client);
    for (uint32_t loop = 0; loop < f.loops.size(); ++loop) {
      if (entered[loop] == 0) continue;
      const LoopSummary& summary = f.loopSummaries[loop];
      checkLoop(loop, entered[loop]);
      client.header = f.loops[loop].header;
      client.body = summary.bodyRounds.apply(entered[loop]);
      walk(loop, summary.anyRound.apply(entered[loop]), client);
    }
  }

  void checkLoop(uint32_t loop, uint32_t entry) {
    const LoopSummary& summary = f.loopSummaries[loop];
    if (summary.count || summary.latch == kNoNode) return;
    bool changes = f.loops[loop].irreducible && !summary.anyRound.isIdentity();
    uint32_t after = 0;
    for (unsigned s = 0; s < kStates; ++s) {
      if ((entry >> s & 1) == 0) continue;
      after |= summary.round.rows[s];
      changes = changes || (summary.round.rows[s] & ~(1u << s)) != 0;
    }
    if (!changes) return;
    groups.problems_.push_back({AsyncProblem::Kind::LoopHead,
                                f.cfg.block(summary.latch)->terminator(), AsyncStates(after),
                                AsyncStates(entry), f.cause});
  }

  void visitBlock(uint32_t block, uint32_t states) {
    f.reached[block] |= states;
    for (const ir::Operation& op : f.cfg.block(block)->ops()) {
      if (op.form() == ir::Form::AsyncCommit) {
        constexpr uint32_t kFull = 3u << AsyncStates::index(kMaxPendingGroups, false);
        if (states & kFull) {
          groups.problems_.push_back(
              {AsyncProblem::Kind::TooMany, &op, AsyncStates(states), AsyncStates(), nullptr});
          states &= ~kFull;
          states |= 1u << AsyncStates::index(kMaxPendingGroups - 1, true);
        }
      }
      if (isStaging(op)) {
        states = step(op, states);
      } else if (FunctionState* other = callee(op)) {
        other->entryStates |= states;
        states = other->whole.apply(states);
      } else if (op.form() == ir::Form::Return && f.cfg.function().isKernel() &&
                 !AsyncStates(states).onlyIdle()) {
        groups.problems_.push_back(
            {AsyncProblem::Kind::AtExit, &op, AsyncStates(states), AsyncStates(), f.cause});
      }
    }
  }
};

AsyncGroups::AsyncGroups(const CallGraph& calls) : calls_(calls), states_(calls.size()) {
  const std::vector<uint32_t>& order = calls.bottomUp();
  for (uint32_t i : order) {
    const ir::Function& function = *calls.function(i);
    if (!calls.reachableFromKernel(i) || function.isDeclaration() || calls.recursive(i)) continue;
    bool relevant = false;
    for (const ir::Operation* call : calls.callsIn(i)) {
      relevant = relevant || states_[calls.index(call->callee())] != nullptr;
    }
    for (const ir::Block& block : function.blocks()) {
      if (relevant) break;
      for (const ir::Operation& op : block.ops()) relevant = relevant || isStaging(op);
    }
    if (!relevant) continue;
    states_[i] = std::make_unique<FunctionState>(function);
    Solver{*this, *states_[i]}.summarize();
    if (function.isKernel()) states_[i]->entryStates = AsyncStates::of(0, false).bits();
  }
  for (size_t k = order.size(); k-- > 0;) {
    FunctionState* state = states_[order[k]].get();
    if (state && state->entryStates != 0) Solver{*this, *state}.reach();
  }
}

AsyncGroups::~AsyncGroups() = default;

AsyncStates AsyncGroups::atEntry(const ir::Block* block) const {
  const FunctionState* state = states_[calls_.index(block->function())].get();
  if (!state) return {};
  const uint32_t b = state->cfg.index(block);
  return b == kNoNode ? AsyncStates() : AsyncStates(state->reached[b]);
}

std::string printAsyncGroups(const ir::Module& module) {
  const CallGraph calls(module);
  const AsyncGroups groups(calls);
  std::string out;
  for (const ir::Function& f : module.functions()) {
    if (f.isDeclaration()) continue;
    absl::StrAppend(&out, f.isKernel() ? "kernel @" : "func @", std::string(f.name()));
    if (groups.atEntry(f.entry()).empty()) {
      absl::StrAppend(&out, ": nothing in flight\n");
      continue;
    }
    absl::StrAppend(&out, "\n");
    const BlockLabels labels(f);
    for (const ir::Block& block : f.blocks()) {
      absl::StrAppend(&out, "  ", labels[&block], ": ", groups.atEntry(&block).print(), "\n");
    }
  }
  return out;
}

}  // namespace mtlc::analysis
