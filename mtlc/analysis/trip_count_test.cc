// Constant trip counts against loops that are executed.

#include "mtlc/analysis/trip_count.h"

#include <optional>
#include <random>

#include "gtest/gtest.h"
#include "mtlc/ir/builder.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"

namespace mtlc::analysis {
namespace {

using ir::Block;
using ir::Opcode;
using ir::Value;

constexpr Opcode kCompares[] = {Opcode::CmpEq,  Opcode::CmpNe,  Opcode::CmpSlt, Opcode::CmpSle,
                                Opcode::CmpSgt, Opcode::CmpSge, Opcode::CmpUlt, Opcode::CmpUle,
                                Opcode::CmpUgt, Opcode::CmpUge};
constexpr uint64_t kMostRounds = 3'000;

struct Case {
  unsigned width;
  Opcode compare;
  uint64_t start, step, bound;
  bool bottom, testsNext, inSlot, swapped, inverted, subtracts;
};

bool holds(Opcode compare, unsigned width, uint64_t a, uint64_t b) {
  const int64_t x = ir::signExtend(a, width), y = ir::signExtend(b, width);
  switch (compare) {
    case Opcode::CmpEq:
      return a == b;
    case Opcode::CmpNe:
      return a != b;
    case Opcode::CmpSlt:
      return x < y;
    case Opcode::CmpSle:
      return x <= y;
    case Opcode::CmpSgt:
      return x > y;
    case Opcode::CmpSge:
      return x >= y;
    case Opcode::CmpUlt:
      return a < b;
    case Opcode::CmpUle:
      return a <= b;
    case Opcode::CmpUgt:
      return a > b;
    default:
      return a >= b;
  }
}

struct Executed {
  std::optional<uint64_t> backEdges;                // Nothing: it goes on and on.
  bool wrapsSigned = false, wrapsUnsigned = false;  // Between the values compared.
};

Executed execute(const Case& c) {
  Executed e;
  const uint64_t mask = ~uint64_t{0} >> (64 - c.width);
  uint64_t tested = c.start;
  if (c.testsNext) tested = (tested + c.step) & mask;
  for (uint64_t k = 0; k <= kMostRounds; ++k) {
    if (!holds(c.compare, c.width, tested, c.bound)) {
      e.backEdges = k;
      return e;
    }
    const uint64_t next = (tested + c.step) & mask;
    const __int128 step = ir::signExtend(c.step, c.width);
    e.wrapsSigned |= static_cast<__int128>(ir::signExtend(tested, c.width)) + step !=
                     static_cast<__int128>(ir::signExtend(next, c.width));
    e.wrapsUnsigned |= static_cast<__int128>(tested) + step != static_cast<__int128>(next);
    tested = next;
  }
  return e;
}

ir::Function* build(ir::Module& module, const Case& c) {
  ir::Function* f = module.addFunction({.name = "k", .isKernel = true});
  const ir::Type type = c.width == 8    ? ir::kI8
                        : c.width == 16 ? ir::kI16
                        : c.width == 32 ? ir::kI32
                                        : ir::kI64;
  ir::Builder b(module);
  b.setInsertEnd(f->addBlock("entry"));
  Block* header = f->addBlock("header");
  Block* latch = f->addBlock("latch");
  Block* exit = f->addBlock("exit");
  Value* slot = nullptr;
  if (c.inSlot) {
    slot = b.allocPrivate(type, 1);
    b.store(type, b.constBits(type, c.start), slot);
    b.jump(header);
  } else {
    Value* args[] = {b.constBits(type, c.start)};
    header->addArg(type);
    b.jump(header, args);
  }
  b.setInsertEnd(header);
  Value* old = c.inSlot ? b.load(type, slot) : header->arg(0);
  auto advance = [&] {
    const uint64_t mask = type.mask();
    Value* next = c.subtracts ? b.sub(old, b.constBits(type, (0 - c.step) & mask))
                              : b.add(old, b.constBits(type, c.step));
    if (c.inSlot) b.store(type, next, slot);
    return next;
  };
  auto branch = [&](Value* tested, Block* stay, std::span<Value* const> args) {
    Opcode opcode = c.inverted ? ir::invertedCompare(c.compare) : c.compare;
    Value* bound = b.constBits(type, c.bound);
    if (c.swapped) {
      opcode = ir::swappedCompare(opcode);
      std::swap(tested, bound);
    }
    Value* condition = b.compare(opcode, tested, bound);
    if (c.inverted) {
      b.br(condition, exit, stay, {}, args);
    } else {
      b.br(condition, stay, exit, args);
    }
  };
  if (c.bottom) {
    b.jump(latch);
    b.setInsertEnd(latch);
    Value* next = advance();
    Value* const args[] = {next};
    branch(c.testsNext ? next : old, header,
           c.inSlot ? std::span<Value* const>() : std::span<Value* const>(args));
  } else {
    Value* early = c.testsNext ? advance() : nullptr;
    branch(early ? early : old, latch, {});
    b.setInsertEnd(latch);
    Value* const args[] = {early ? early : advance()};
    b.jump(header, c.inSlot ? std::span<Value* const>() : std::span<Value* const>(args));
  }
  b.setInsertEnd(exit);
  b.ret();
  return f;
}

TEST(TripCount, AsManyAsAreExecuted) {
  std::mt19937_64 random(7);
  auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  int known[std::size(kCompares)] = {}, unknown = 0;
  for (int i = 0; i < 30'000; ++i) {
    Case c;
    const uint32_t which = pick(std::size(kCompares));
    c.compare = kCompares[which];
    c.width = 8u << pick(4);
    const uint64_t mask = ~uint64_t{0} >> (64 - c.width);
    const uint64_t sign = uint64_t{1} << (c.width - 1);
    const uint64_t corners[] = {0, 1, mask, sign, sign - 1, sign + 1, mask - 2, 5};
    auto near = [&] { return (corners[pick(8)] + pick(40) - 20) & mask; };
    c.start = near();
    c.step = (pick(5) == 0 ? near() : uint64_t{pick(12)} - 6) & mask;
    c.bound = pick(3) ? (c.start + c.step * pick(40) + (pick(3) ? 0 : pick(3))) & mask : near();
    c.bottom = pick(2);
    c.testsNext = pick(2);
    c.inSlot = pick(2);
    c.swapped = pick(2);
    c.inverted = pick(2);
    c.subtracts = pick(2);

    SourceManager sources;
    ir::Module module(sources, "loop");
    ir::Function* f = build(module, c);
    DiagnosticEngine diags;
    ASSERT_TRUE(ir::verify(module, diags)) << renderHuman(diags, sources);
    const Cfg cfg(*f);
    const LoopForest loops(cfg);
    const PrivateSlots slots(cfg);
    ASSERT_EQ(loops.size(), 1u);
    const std::optional<uint64_t> got = constantBackEdges(loops, slots, 0);
    const Executed wanted = execute(c);
    if (got && *got <= kMostRounds) {
      ASSERT_EQ(*got, wanted.backEdges.value_or(~uint64_t{0})) << ir::print(module);
    } else if (got) {
      ASSERT_FALSE(wanted.backEdges) << ir::print(module);
    } else if (wanted.backEdges) {
      // It has a count only by wrapping.
      const bool isSigned = c.compare >= Opcode::CmpSlt && c.compare <= Opcode::CmpSge;
      const bool wraps = c.compare == Opcode::CmpNe ? wanted.wrapsSigned && wanted.wrapsUnsigned
                         : isSigned                 ? wanted.wrapsSigned
                                                    : wanted.wrapsUnsigned;
      ASSERT_TRUE(wraps && c.compare != Opcode::CmpEq) << ir::print(module);
    }
    if (got) {
      ++known[which];
    } else {
      ++unknown;
    }
  }
  for (int n : known) EXPECT_GT(n, 300);
  EXPECT_GT(unknown, 1500);
}

}  // namespace
}  // namespace mtlc::analysis
