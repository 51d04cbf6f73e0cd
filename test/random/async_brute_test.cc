// Async-group analysis against a simulator of its rules on random structured functions: counted
// loops are unrolled exactly, others run until no new state occurs, and helpers are executed at
// each call.

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mtlc/analysis/async_groups.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/transforms/pipeline.h"

namespace mtlc::random_test {
namespace {

using analysis::AsyncProblem;
using ir::Block;
using ir::Opcode;
using ir::Value;

// ---- Programs ----

struct Node {
  enum Kind { Copy, Commit, Wait, If, Loop, Call, Break, Continue, Return };
  Kind kind;
  uint32_t number = 0;  // Wait: groups. Loop: back edges, if counted. Call: the helper.
  bool counted = false;
  bool bottom = false;              // Loop: the test is at the end.
  std::vector<Node> first, second;  // Arms of an If; the body of a Loop.
  uint32_t id = 0;
};
using List = std::vector<Node>;

class Programs {
 public:
  explicit Programs(uint64_t seed) : random_(seed) {
    const uint32_t helpers = pick(3);
    for (uint32_t h = 0; h <= helpers; ++h) {
      callable_ = h;
      functions.push_back(list(0, 0));
    }
    // Most kernels shall end idle, or every one of them is refused.
    if (pick(4)) functions.back().push_back({Node::Commit, 0, false, false, {}, {}, ++ids_});
    if (pick(4)) functions.back().push_back({Node::Wait, 0, false, false, {}, {}, ++ids_});
  }
  std::vector<List> functions;  // Helpers, and the kernel last.

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  List list(int depth, int loops) {
    List out;
    for (uint32_t n = pick(depth == 0 ? 6 : 4); n > 0; --n) {
      Node node{Node::Copy, 0, false, false, {}, {}, ++ids_};
      const uint32_t kind = pick(depth < 3 ? 14 : 8);
      if (kind < 2) {
        node.kind = Node::Copy;
      } else if (kind < 4) {
        node.kind = Node::Commit;
      } else if (kind < 6) {
        node.kind = Node::Wait;
        node.number = pick(pick(2) ? 8 : 3);
      } else if (kind == 6) {
        if (callable_ == 0) continue;
        node.kind = Node::Call;
        node.number = pick(callable_);
      } else if (kind == 7) {
        if (pick(3) || (loops == 0 && pick(2))) continue;
        node.kind = loops > 0 ? (pick(5) == 0 ? Node::Return
                                 : pick(2)    ? Node::Break
                                              : Node::Continue)
                              : Node::Return;
        out.push_back(std::move(node));
        return out;
      } else if (kind < 11) {
        node.kind = Node::If;
        node.first = list(depth + 1, loops);
        if (pick(2)) node.second = list(depth + 1, loops);
      } else {
        node.kind = Node::Loop;
        node.first = list(depth + 1, loops + 1);
        node.bottom = pick(2);
        node.counted = pick(4) != 0;
        node.number = pick(pick(2) ? 10 : 4);
      }
      out.push_back(std::move(node));
    }
    return out;
  }

  std::mt19937_64 random_;
  uint32_t ids_ = 0, callable_ = 0;
};

// True if some way leads from the list out of the loop around it.
bool leaves(const List& list, bool inLoop = false) {
  for (const Node& n : list) {
    if (n.kind == Node::Return || (n.kind == Node::Break && !inLoop)) return true;
    if (leaves(n.first, inLoop || n.kind == Node::Loop) || leaves(n.second, inLoop)) return true;
  }
  return false;
}

// ---- What the rules say ----

struct Found {
  std::set<uint32_t> tooMany, loopHead;  // Ids of commits and loops.
  uint32_t exits = 0;                    // States other than idle at a return of the kernel.
  std::map<uint32_t, uint32_t> before;   // States before each commit.
  std::map<uint32_t, uint32_t> entry;    // … at the entry of each loop that is not counted.
  friend bool operator==(const Found&, const Found&) = default;
};

// A set of states, bit 2·pending + uncommitted.
class Simulator {
 public:
  explicit Simulator(const std::vector<List>& functions) : functions_(functions) {
    const uint32_t out = function(functions.size() - 1, 1);
    found.exits = out & ~1u;
  }
  Found found;

 private:
  struct Ends {
    uint32_t fall = 0, broke = 0, continued = 0, returned = 0;
  };
  static uint32_t each(uint32_t set, auto step) {
    uint32_t out = 0;
    for (uint32_t s = 0; s < 18; ++s) {
      if (set >> s & 1) out |= 1u << step(s / 2, s % 2);
    }
    return out;
  }
  uint32_t function(size_t f, uint32_t set) {
    const Ends ends = run(functions_[f], set);
    return ends.fall | ends.returned;
  }

  Ends run(const List& list, uint32_t set) {
    Ends ends;
    for (const Node& n : list) {
      if (set == 0) return ends;
      switch (n.kind) {
        case Node::Copy:
          set = each(set, [](uint32_t p, uint32_t) { return 2 * p + 1; });
          break;
        case Node::Commit:
          found.before[n.id] |= set;
          set = each(set, [&](uint32_t p, uint32_t) {
            if (p == 8) found.tooMany.insert(n.id);
            return 2 * (p == 8 ? 8 : p + 1);
          });
          break;
        case Node::Wait:
          set = each(set,
                     [&](uint32_t p, uint32_t u) { return 2 * (p < n.number ? p : n.number) + u; });
          break;
        case Node::If: {
          const Ends a = run(n.first, set), b = run(n.second, set);
          set = a.fall | b.fall;
          ends.broke |= a.broke | b.broke;
          ends.continued |= a.continued | b.continued;
          ends.returned |= a.returned | b.returned;
          break;
        }
        case Node::Call:
          set = function(n.number, set);
          break;
        case Node::Break:
          ends.broke |= set;
          return ends;
        case Node::Continue:
          ends.continued |= set;
          return ends;
        case Node::Return:
          ends.returned |= set;
          return ends;
        case Node::Loop:
          set = loop(n, set, ends.returned);
          break;
      }
    }
    ends.fall = set;
    return ends;
  }

  uint32_t loop(const Node& n, uint32_t set, uint32_t& returned) {
    if (n.counted && !leaves(n.first)) {
      for (uint32_t i = 0; i < n.number + (n.bottom ? 1 : 0); ++i) {
        const Ends e = run(n.first, set);
        set = e.fall | e.continued;
      }
      return set;
    }
    bool goesRound = false;
    for (uint32_t s = 0; s < 18; ++s) {
      if ((set >> s & 1) == 0) continue;
      const Ends e = run(n.first, 1u << s);
      if (((e.fall | e.continued) & ~(1u << s)) != 0) found.loopHead.insert(n.id);
      goesRound |= (e.fall | e.continued) != 0;
    }
    if (goesRound) found.entry[n.id] |= set;
    uint32_t out = 0;
    for (uint32_t before = 0; before != set;) {
      before = set;
      const Ends e = run(n.first, set);
      set |= e.fall | e.continued;
      out = e.broke | (n.bottom ? e.fall | e.continued : set);
      returned |= e.returned;
    }
    return out;
  }

  const std::vector<List>& functions_;
};

// ---- Programs as IR ----

class Emitter {
 public:
  Emitter(ir::Module& module, const std::vector<List>& functions, uint64_t seed)
      : b_(module), random_(seed) {
    for (size_t i = 0; i < functions.size(); ++i) {
      const bool kernel = i + 1 == functions.size();
      const std::string name = kernel ? "k" : module.uniqueName("h");
      ir::FunctionSpec spec{.name = name, .isKernel = kernel};
      spec.params = {ir::Type::ptr(ir::Space::Global), ir::kI32};
      if (!kernel) spec.params.push_back(ir::Type::ptr(ir::Space::Workgroup));
      f_ = module.addFunction(spec);
      made_.push_back(f_);
      entry_ = f_->addBlock("entry");
      Block* start = f_->addBlock("start");
      b_.setInsertEnd(entry_);
      workgroup_ = kernel ? b_.allocWorkgroup(ir::kF32, 64) : f_->param(2);
      b_.jump(start);
      b_.setInsertEnd(start);
      live_ = true;
      list(functions[i], nullptr, nullptr);
      if (live_) b_.ret();
    }
  }
  std::map<const ir::Operation*, uint32_t> ids;  // Commits and terminators of latches.

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Value* number(int64_t n) { return b_.constInt(ir::kI32, n); }
  void go(Block* to, bool& reached) {
    if (live_) {
      b_.jump(to);
      reached = true;
    }
    live_ = false;
  }
  void enter(Block* block, bool reached) {
    live_ = reached;
    if (reached) {
      b_.setInsertEnd(block);
    } else {
      block->erase();
    }
  }

  struct Target {
    Block* block;
    bool reached = false;
  };

  void list(const List& list, Target* exit, Target* latch) {
    for (const Node& n : list) {
      if (!live_) return;
      switch (n.kind) {
        case Node::Copy:
          b_.asyncCopy(ir::kF32, workgroup_, f_->param(0), {.count = 4, .transaction = 16});
          break;
        case Node::Commit:
          b_.asyncCommit();
          ids[b_.insertBlock()->back()] = n.id;
          break;
        case Node::Wait:
          b_.asyncWait(n.number);
          break;
        case Node::Call: {
          Value* args[] = {f_->param(0), f_->param(1), workgroup_};
          b_.call(made_[n.number], args);
          break;
        }
        case Node::Break:
          return go(exit->block, exit->reached);
        case Node::Continue:
          return go(latch->block, latch->reached);
        case Node::Return:
          b_.ret();
          live_ = false;
          return;
        case Node::If: {
          Value* c = b_.compare(Opcode::CmpSlt, f_->param(1), number(pick(9)));
          Block *yes = f_->addBlock(), *no = f_->addBlock(), *join = f_->addBlock();
          bool joined = false;
          b_.br(c, yes, no);
          b_.setInsertEnd(yes);
          this->list(n.first, exit, latch);
          go(join, joined);
          b_.setInsertEnd(no);
          live_ = true;
          this->list(n.second, exit, latch);
          go(join, joined);
          enter(join, joined);
          break;
        }
        case Node::Loop:
          loop(n);
          break;
      }
    }
  }

  void loop(const Node& n) {
    const bool inSlot = pick(2) != 0;
    const int64_t start = static_cast<int64_t>(pick(7)) - 3;
    const int64_t step = (1 + static_cast<int64_t>(pick(3))) * (pick(2) ? 1 : -1);
    const bool testsNext = n.bottom && pick(2) != 0;
    const int64_t last = start + (static_cast<int64_t>(n.number) + (testsNext ? 1 : 0)) * step;
    Block* header = f_->addBlock();
    Target latch{f_->addBlock()}, exit{f_->addBlock()};
    Value* slot = nullptr;
    if (inSlot) {
      Block* here = b_.insertBlock();
      b_.setInsertBefore(entry_->terminator());
      slot = b_.allocPrivate(ir::kI32, 1);
      b_.setInsertEnd(here);
      b_.store(ir::kI32, number(start), slot);
      b_.jump(header);
    } else {
      Value* first[] = {number(start)};
      header->addArg(ir::kI32);
      b_.jump(header, first);
    }
    b_.setInsertEnd(header);
    auto counter = [&] { return inSlot ? b_.load(ir::kI32, slot) : header->arg(0); };
    // Goes on at `stay` while the count is not over.
    auto test = [&](Value* tested, Block* stay, std::span<Value* const> args) {
      Value* bound = n.counted ? number(last) : f_->param(1);
      Opcode opcode = step > 0 ? Opcode::CmpSlt : Opcode::CmpSgt;
      if (n.counted && pick(3) == 0) opcode = Opcode::CmpNe;
      if (pick(3) == 0) {
        opcode = ir::swappedCompare(opcode);
        std::swap(tested, bound);
      }
      exit.reached = true;
      if (pick(2)) {
        b_.br(b_.compare(opcode, tested, bound), stay, exit.block, args);
      } else {
        b_.br(b_.compare(ir::invertedCompare(opcode), tested, bound), exit.block, stay, {}, args);
      }
    };
    if (!n.bottom) {
      Block* body = f_->addBlock();
      test(counter(), body, {});
      b_.setInsertEnd(body);
    }
    list(n.first, &exit, &latch);
    go(latch.block, latch.reached);
    enter(latch.block, latch.reached);
    if (live_) {
      Value* before = counter();
      Value* next = pick(2) ? b_.add(before, number(step)) : b_.sub(before, number(-step));
      if (inSlot) b_.store(ir::kI32, next, slot);
      Value* const args[] = {next};
      const std::span<Value* const> passed = inSlot ? std::span<Value* const>() : args;
      if (n.bottom) {
        test(testsNext ? (inSlot ? counter() : next) : before, header, passed);
      } else {
        b_.jump(header, passed);
      }
      ids[b_.insertBlock()->back()] = n.id;
    }
    enter(exit.block, exit.reached);
  }

  ir::Builder b_;
  std::mt19937_64 random_;
  std::vector<ir::Function*> made_;
  ir::Function* f_ = nullptr;
  Block* entry_ = nullptr;
  Value* workgroup_ = nullptr;
  bool live_ = false;
};

struct Summary {
  std::multiset<std::pair<int, uint32_t>> problems;  // Kind and states.
};

Found analyse(const ir::Module& module, const std::map<const ir::Operation*, uint32_t>& ids,
              Summary& summary) {
  Found found;
  const analysis::CallGraph calls(module);
  const analysis::AsyncGroups groups(calls);
  for (const AsyncProblem& p : groups.problems()) {
    summary.problems.insert({static_cast<int>(p.kind), p.states.bits()});
    auto it = ids.find(p.op);
    const uint32_t id = it == ids.end() ? 0 : it->second;
    switch (p.kind) {
      case AsyncProblem::Kind::TooMany:
        EXPECT_TRUE(found.tooMany.insert(id).second) << "reported twice";
        found.before[id] = p.states.bits();
        break;
      case AsyncProblem::Kind::LoopHead:
        EXPECT_TRUE(found.loopHead.insert(id).second) << "reported twice";
        found.entry[id] = p.entry.bits();
        break;
      case AsyncProblem::Kind::AtExit:
        found.exits |= p.states.bits() & ~1u;
        break;
    }
  }
  return found;
}

TEST(AsyncBruteForce, ProblemsAreThoseOfThePaths) {
  int clean = 0, tooMany = 0, loopHead = 0, exits = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    const Programs programs(seed);
    SourceManager sources;
    ir::Module module(sources, "random");
    const Emitter emitter(module, programs.functions, seed);
    DiagnosticEngine diags;
    ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources) << ir::print(module);
    Found wanted = Simulator(programs.functions).found;
    Summary before, after;
    const Found got = analyse(module, emitter.ids, before);
    // The analysis tells states only where something is wrong.
    std::erase_if(wanted.before, [&](auto& e) { return !wanted.tooMany.contains(e.first); });
    std::erase_if(wanted.entry, [&](auto& e) { return !wanted.loopHead.contains(e.first); });
    ASSERT_EQ(got.tooMany, wanted.tooMany) << "seed " << seed << ir::print(module);
    ASSERT_EQ(got.loopHead, wanted.loopHead) << "seed " << seed << ir::print(module);
    ASSERT_EQ(got.exits, wanted.exits) << "seed " << seed << ir::print(module);
    ASSERT_EQ(got, wanted) << "seed " << seed << ir::print(module);
    tooMany += !wanted.tooMany.empty();
    loopHead += !wanted.loopHead.empty();
    exits += wanted.exits != 0;
    clean += before.problems.empty();
    const transforms::PassInvocation promote[] = {{transforms::PassId::Promote}};
    ASSERT_TRUE(transforms::runPasses(module, promote, diags));
    analyse(module, emitter.ids, after);
    ASSERT_EQ(before.problems, after.problems) << "seed " << seed << ir::print(module);
  }
  // The generator reaches every verdict often.
  EXPECT_GT(clean, 600);
  EXPECT_GT(tooMany, 300);
  EXPECT_GT(loopHead, 300);
  EXPECT_GT(exits, 600);
  RecordProperty("clean", clean);
  std::printf("clean %d, too many %d, loop head %d, at exit %d\n", clean, tooMany, loopHead, exits);
}

}  // namespace
}  // namespace mtlc::random_test
