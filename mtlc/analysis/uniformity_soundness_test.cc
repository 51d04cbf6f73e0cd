// Runs random functions for several work-items and compares what really happens with what the
// analysis claims: the blocks of uniform control must be visited in the same sequence by all of the
// workgroup, or of each subgroup, with the same values wherever it says so.

#include <algorithm>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"
#include "mtlc/analysis/test_util.h"
#include "mtlc/analysis/uniformity.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/dominance.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {
namespace {

using ir::Opcode;

class Generator {
 public:
  Generator(ir::Module& module, std::mt19937& random)
      : module_(module), random_(random), b_(module) {}

  ir::Function* make(bool isKernel, const std::vector<ir::Function*>& callees) {
    std::vector<ir::Type> params(1 + pick(3), ir::kI32);
    ir::Function* f = module_.addFunction({.name = module_.uniqueName("f"),
                                           .result = isKernel ? ir::kVoid : ir::kI32,
                                           .params = params,
                                           .isKernel = isKernel});
    const uint32_t n = 2 + pick(9);
    const Digraph edges(n, randomEdges(random_, n));
    std::vector<ir::Block*> blocks;
    for (uint32_t i = 0; i < n; ++i) {
      blocks.push_back(f->addBlock("b" + std::to_string(i)));
      for (uint32_t k = i == 0 ? 0 : pick(3); k > 0; --k) blocks[i]->addArg(ir::kI32);
    }
    const std::vector<uint32_t> idom = immediateDominators(edges, 0);
    const ForestOrder tree(idom);
    // What each block can use: everything of its dominators and what it has itself.
    std::vector<std::vector<ir::Value*>> available(n);
    for (uint32_t block : tree.preorder()) {
      if (block != 0 && idom[block] == kNoNode) continue;  // Filled below: unreachable.
      if (block != 0) available[block] = available[idom[block]];
      fill(*blocks[block], available[block], block == 0, callees);
      terminate(*blocks[block], edges.succs(block), blocks, available[block]);
    }
    for (uint32_t block = 1; block < n; ++block) {
      if (idom[block] != kNoNode) continue;
      b_.setInsertEnd(blocks[block]);
      std::vector<ir::Value*> own(blocks[block]->args().begin(), blocks[block]->args().end());
      own.push_back(b_.constInt(ir::kI32, 1));
      terminate(*blocks[block], edges.succs(block), blocks, own);
    }
    return f;
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  ir::Value* any(const std::vector<ir::Value*>& from) {
    // Prefer what is near.
    return from[pick(2) ? pick(static_cast<uint32_t>(from.size()))
                        : from.size() - 1 - pick(std::min<uint32_t>(4, from.size()))];
  }

  void fill(ir::Block& block, std::vector<ir::Value*>& values, bool isEntry,
            const std::vector<ir::Function*>& callees) {
    b_.setInsertEnd(&block);
    values.insert(values.end(), block.args().begin(), block.args().end());
    if (isEntry) {
      slots_.clear();
      values.push_back(b_.constInt(ir::kI32, pick(5)));
      if (pick(2)) values.push_back(b_.gpuIndex(Opcode::ThreadId, ir::Dim::X));
      if (pick(2)) values.push_back(subgroupValue());
      for (uint32_t i = pick(4); i > 0; --i) slots_.push_back(b_.allocPrivate(ir::kI32, 1));
      cleanArray_ = pick(2);
      array_ = b_.allocPrivate(ir::kI32, 4);
      for (ir::Value* slot : slots_) b_.store(ir::kI32, any(values), slot);
      for (int i = 0; i < 4; ++i) b_.store(ir::kI32, values[0], element(b_.constInt(ir::kI32, i)));
    }
    for (uint32_t i = pick(5); i > 0; --i) {
      switch (pick(9)) {
        case 0:
          values.push_back(b_.constInt(ir::kI32, pick(4)));
          break;
        case 1:
          values.push_back(b_.add(any(values), any(values)));
          break;
        case 2:
          values.push_back(b_.mul(any(values), b_.constInt(ir::kI32, 3)));
          break;
        case 3:
          if (!slots_.empty()) values.push_back(b_.load(ir::kI32, slots_[pick(slots_.size())]));
          break;
        case 4:
        case 5:
          if (!slots_.empty()) b_.store(ir::kI32, any(values), slots_[pick(slots_.size())]);
          break;
        case 6:
        case 7: {
          // In half of the functions only control can spoil the array.
          ir::Value* index = cleanArray_ ? b_.constInt(ir::kI32, pick(2)) : any(values);
          ir::Value* value = cleanArray_ ? b_.constInt(ir::kI32, pick(4)) : any(values);
          if (pick(2)) {
            b_.store(ir::kI32, value, element(index));
          } else {
            values.push_back(b_.load(ir::kI32, element(index)));
          }
          break;
        }
        case 8:
          if (!callees.empty()) {
            ir::Function* callee = callees[pick(callees.size())];
            std::vector<ir::Value*> args;
            for (unsigned k = 0; k < callee->paramCount(); ++k) args.push_back(any(values));
            values.push_back(b_.call(callee, args));
          }
          break;
      }
    }
  }

  // What the subgroup operations make of the thread's number is known wherever they stand.
  ir::Value* subgroupValue() {
    ir::Value* id = b_.gpuIndex(Opcode::ThreadId, ir::Dim::X);
    switch (pick(7)) {
      case 0:
        return b_.subgroupIndex(Opcode::SubgroupLocalId);
      case 1:
        return b_.subgroupIndex(Opcode::SubgroupSize);
      case 2:
        return b_.subgroupLane(Opcode::SubgroupShuffle, id, b_.constInt(ir::kI32, pick(2)));
      case 3:
        return b_.subgroupReduce(Opcode::SubgroupReduce, ir::CombineKind::Add, id);
      case 4:
        return b_.subgroupReduce(Opcode::SubgroupScanInclusive, ir::CombineKind::Add, id);
      default:
        return b_.subgroupLane(Opcode::SubgroupBroadcast, id, b_.constInt(ir::kI32, 0));
    }
  }

  ir::Value* element(ir::Value* index) {
    ir::Value* low = b_.binary(Opcode::And, index, b_.constInt(ir::kI32, 3));
    return b_.ptrAdd(array_, b_.cast(Opcode::ZExt, low, ir::kI64), ir::kI32);
  }

  void terminate(ir::Block& block, std::span<const uint32_t> succs,
                 const std::vector<ir::Block*>& blocks, const std::vector<ir::Value*>& values) {
    b_.setInsertEnd(&block);
    std::vector<ir::Value*> args[2];
    for (size_t i = 0; i < succs.size(); ++i) {
      for (unsigned k = 0; k < blocks[succs[i]]->argCount(); ++k) args[i].push_back(any(values));
    }
    if (succs.empty()) {
      b_.ret(block.function()->isKernel() ? nullptr : any(values));
    } else if (succs.size() == 1) {
      b_.jump(blocks[succs[0]], args[0]);
    } else {
      ir::Value* condition =
          b_.compare(Opcode::CmpEq, b_.binary(Opcode::And, any(values), b_.constInt(ir::kI32, 3)),
                     b_.constInt(ir::kI32, pick(3)));
      b_.br(condition, blocks[succs[0]], blocks[succs[1]], args[0], args[1]);
    }
  }

  ir::Module& module_;
  std::mt19937& random_;
  ir::Builder b_;
  std::vector<ir::Value*> slots_;
  ir::Value* array_ = nullptr;
  bool cleanArray_ = false;
};

constexpr uint32_t kItems = 5, kSubgroup = 2;  // The last subgroup is partial.

// One visit of a block of uniform control: the values that the analysis calls uniform, in order.
struct Visit {
  const ir::Block* block;
  std::vector<uint64_t> values;
  friend bool operator==(const Visit&, const Visit&) = default;
};

class WorkItem {
 public:
  // Records what is claimed to be the same for all of the workgroup or of the subgroup.
  WorkItem(const Uniformity& uniformity, uint32_t id, Rank claim)
      : uniformity_(uniformity), id_(id), claim_(claim) {}

  uint64_t run(const ir::Function& f, const std::vector<uint64_t>& args) {
    absl::flat_hash_map<const ir::Value*, uint64_t> values;
    for (size_t i = 0; i < args.size(); ++i) values[f.param(i)] = args[i];
    const ir::Block* block = f.entry();
    while (fuel_-- > 0) {
      Visit visit{block, {}};
      const bool inLockstep = uniformity_.controlRank(block) <= claim_;
      auto see = [&](const ir::Value* v) {
        if (inLockstep && !v->type().isPtr() && uniformity_.rank(v) <= claim_) {
          visit.values.push_back(values[v]);
        }
      };
      // A visit counts when it begins; its values are filled in as it goes on, calls in between.
      const size_t place = trace.size();
      if (inLockstep) trace.push_back(visit);
      for (const ir::Value* arg : block->args()) see(arg);
      for (ir::Operation& op : block->ops()) {
        for (const ir::Use& use : op.uses()) see(use.value());
        if (op.isTerminator()) break;
        if (op.opcode() == Opcode::Store) {
          memory_[values[op.operand(1)] / 4] = values[op.operand(0)];
          continue;
        }
        values[op.result()] = eval(op, values) & op.resultType().mask();
        if (fuel_ <= 0) return 0;
        see(op.result());
      }
      if (inLockstep) trace[place].values = visit.values;
      const ir::Operation* term = block->terminator();
      if (term->opcode() == Opcode::Ret) {
        return term->operandCount() ? values[term->operand(0)] : 0;
      }
      const unsigned way = term->opcode() == Opcode::Br && !values[term->operand(0)] ? 1 : 0;
      const ir::Block* next = term->successor(way).block();
      std::vector<uint64_t> passed;
      for (unsigned i = 0; i < next->argCount(); ++i)
        passed.push_back(values[term->successorArg(way, i)]);
      for (unsigned i = 0; i < next->argCount(); ++i) values[next->arg(i)] = passed[i];
      block = next;
    }
    return 0;
  }

  bool finished() const { return fuel_ > 0; }
  std::vector<Visit> trace;

 private:
  uint64_t eval(const ir::Operation& op, absl::flat_hash_map<const ir::Value*, uint64_t>& values) {
    auto operand = [&](unsigned i) { return values[op.operand(i)]; };
    switch (op.opcode()) {
      case Opcode::Const:
        return op.constBits();
      case Opcode::ThreadId:
        return id_;
      case Opcode::SubgroupLocalId:
        return id_ % kSubgroup;
      case Opcode::SubgroupSize:
        return kSubgroup;
      case Opcode::SubgroupBroadcast:
        return id_ - id_ % kSubgroup;
      case Opcode::SubgroupShuffle: {
        // A source that is not there gives the own value.
        const uint64_t from = id_ - id_ % kSubgroup + operand(1);
        return from < kItems ? from : id_;
      }
      case Opcode::SubgroupReduce:
      case Opcode::SubgroupScanInclusive: {
        const bool scan = op.opcode() == Opcode::SubgroupScanInclusive;
        uint64_t sum = 0;
        for (uint32_t i = id_ - id_ % kSubgroup; i < kItems && i / kSubgroup == id_ / kSubgroup;
             ++i) {
          if (!scan || i <= id_) sum += i;
        }
        return sum;
      }
      case Opcode::Add:
        return operand(0) + operand(1);
      case Opcode::Mul:
        return operand(0) * operand(1);
      case Opcode::And:
        return operand(0) & operand(1);
      case Opcode::ZExt:
        return operand(0);
      case Opcode::CmpEq:
        return operand(0) == operand(1);
      case Opcode::PtrAdd:
        return operand(0) + 4 * operand(1);
      case Opcode::Load:
        return memory_[operand(0) / 4];
      case Opcode::AllocPrivate: {
        const uint64_t at = 4 * memory_.size();
        memory_.resize(memory_.size() + op.allocCount());
        return at;
      }
      case Opcode::Call: {
        std::vector<uint64_t> args;
        for (unsigned i = 0; i < op.operandCount(); ++i) args.push_back(operand(i));
        return run(*op.callee(), args);
      }
      default:
        ADD_FAILURE() << op.info().mnemonic;
        return 0;
    }
  }

  const Uniformity& uniformity_;
  const uint32_t id_;
  const Rank claim_;
  int fuel_ = 400;
  std::vector<uint64_t> memory_;
};

TEST(UniformitySoundness, RandomFunctionsKeepTheClaims) {
  std::mt19937 random(20);
  constexpr int kRounds = 1500;
  int64_t uniformVisits = 0, uniformValues = 0, varyingBlocks = 0, subgroupBlocks = 0;
  for (int round = 0; round < kRounds; ++round) {
    SourceManager sources;
    ir::Module module(sources);
    Generator generator(module, random);
    std::vector<ir::Function*> helpers;
    for (uint32_t i = random() % 3; i > 0; --i) helpers.push_back(generator.make(false, helpers));
    const ir::Function* kernel = generator.make(true, helpers);
    if (round < 50) {
      DiagnosticEngine diags;
      ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources) << ir::print(module);
    }
    const Uniformity uniformity(module);
    for (ir::Block& block : kernel->blocks()) {
      varyingBlocks += uniformity.controlRank(&block) == Rank::Varying;
    }
    const std::vector<uint64_t> args(kernel->paramCount(), random() % 8);
    // All against the first of the workgroup, and each against the first of its subgroup.
    std::vector<WorkItem> items[2];
    for (uint32_t id = 0; id < 2 * kItems; ++id) {
      const Rank claim = id < kItems ? Rank::Workgroup : Rank::Subgroup;
      items[id / kItems].emplace_back(uniformity, id % kItems, claim);
      items[id / kItems].back().run(*kernel, args);
    }
    for (ir::Block& block : kernel->blocks()) {
      subgroupBlocks += uniformity.controlRank(&block) == Rank::Subgroup;
    }
    for (uint32_t id = 0; id < 2 * kItems; ++id) {
      const WorkItem& item = items[id / kItems][id % kItems];
      const WorkItem& first =
          id < kItems ? items[0][0] : items[1][id % kItems - id % kItems % kSubgroup];
      size_t common = std::min(first.trace.size(), item.trace.size());
      if (first.finished() && item.finished()) {
        ASSERT_EQ(first.trace.size(), item.trace.size()) << round << "\n" << ir::print(module);
      } else {
        // Who ran out of fuel may lag behind, but not be ahead of one who has finished; its last
        // visits, one in each function it was in, may be incomplete.
        ASSERT_TRUE(!first.finished() || item.trace.size() <= common);
        ASSERT_TRUE(!item.finished() || first.trace.size() <= common);
        for (size_t i = 0; i < common; ++i) {
          ASSERT_EQ(first.trace[i].block, item.trace[i].block) << round << "\n"
                                                               << ir::print(module);
        }
        common = common > 8 ? common - 8 : 0;
      }
      for (size_t i = 0; i < common; ++i) {
        ASSERT_TRUE(first.trace[i] == item.trace[i])
            << "round " << round << " visit " << i << " of ^" << item.trace[i].block->name()
            << " in @" << item.trace[i].block->function()->name() << "\n"
            << ir::print(module) << printUniformity(module);
        ++uniformVisits;
        uniformValues += static_cast<int64_t>(item.trace[i].values.size());
      }
    }
  }
  // The test means something only if there was much to claim and much not to.
  EXPECT_GT(uniformVisits, 20 * kRounds);
  EXPECT_GT(uniformValues, 50 * kRounds);
  EXPECT_GT(varyingBlocks, kRounds / 3);
  EXPECT_GT(subgroupBlocks, kRounds / 10);
}

}  // namespace
}  // namespace mtlc::analysis
