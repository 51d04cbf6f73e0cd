#include "mtlc/interp/init_bits.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {
namespace {

using ir::Opcode;
using Eval = std::function<uint64_t(unsigned, uint64_t, uint64_t, uint64_t)>;

// All values that choices of the uninitialised bits give.
std::vector<uint64_t> choices(const Reg& r) {
  std::vector<uint64_t> values;
  uint64_t subset = 0;
  do {  // Enumerates the subsets of r.uninit.
    values.push_back((r.bits & ~r.uninit) | subset);
    subset = (subset - r.uninit) & r.uninit;
  } while (subset != 0);
  return values;
}

struct Op {
  const char* name;
  Opcode opcode;
  int operands;
  uint8_t resultWidth;  // 0: that of the operands.
  bool exact;           // Marks no bit that can't vary.
  Eval eval;
};

#define INT1(Enum, fn, exact)                                                       \
  {                                                                                 \
#Enum, Opcode::Enum, 1, 0, exact,                                               \
        [](unsigned w, uint64_t a, uint64_t, uint64_t) { return scalar::fn(w, a); } \
  }
#define INT2(Enum, fn, exact)                                                            \
  {                                                                                      \
#Enum, Opcode::Enum, 2, 0, exact,                                                    \
        [](unsigned w, uint64_t a, uint64_t b, uint64_t) { return scalar::fn(w, a, b); } \
  }
#define COMPARE(Enum, predicate)                                                          \
  {                                                                                       \
#Enum, Opcode::Enum, 2, 1, true,                                                      \
        [](unsigned w, uint64_t a, uint64_t b,                                            \
           uint64_t) { return uint64_t{scalar::icmp(IntPredicate::predicate, w, a, b)}; } \
  }

const Op kOps[] = {
    INT2(Add, add, false),
    INT2(Sub, sub, false),
    INT2(Mul, mul, false),
    INT2(SMulHi, smulhi, false),
    INT2(UMulHi, umulhi, false),
    INT2(SDiv, sdiv, false),
    INT2(UDiv, udiv, false),
    INT2(SRem, srem, false),
    INT2(URem, urem, false),
    INT1(Neg, neg, false),
    INT2(Shl, shl, false),
    INT2(LShr, lshr, false),
    INT2(AShr, ashr, false),
    INT2(SMin, smin, false),
    INT2(SMax, smax, false),
    INT2(UMin, umin, false),
    INT2(UMax, umax, false),
    INT1(Abs, abs, false),
    INT1(Clz, clz, false),
    INT1(Popcount, popcount, false),
    {"And", Opcode::And, 2, 0, true,
     [](unsigned, uint64_t a, uint64_t b, uint64_t) { return a & b; }},
    {"Or", Opcode::Or, 2, 0, true,
     [](unsigned, uint64_t a, uint64_t b, uint64_t) { return a | b; }},
    {"Xor", Opcode::Xor, 2, 0, true,
     [](unsigned, uint64_t a, uint64_t b, uint64_t) { return a ^ b; }},
    COMPARE(CmpEq, Eq),
    COMPARE(CmpNe, Ne),
    COMPARE(CmpSlt, Slt),
    COMPARE(CmpSle, Sle),
    COMPARE(CmpSgt, Sgt),
    COMPARE(CmpSge, Sge),
    COMPARE(CmpUlt, Ult),
    COMPARE(CmpUle, Ule),
    COMPARE(CmpUgt, Ugt),
    COMPARE(CmpUge, Uge),
    {"Select", Opcode::Select, 3, 0, true,
     [](unsigned, uint64_t a, uint64_t b, uint64_t c) { return c & 1 ? a : b; }},
    {"Trunc", Opcode::Trunc, 1, 4, true,
     [](unsigned, uint64_t a, uint64_t, uint64_t) { return a & 0xF; }},
    {"SExt", Opcode::SExt, 1, 16, true,
     [](unsigned w, uint64_t a, uint64_t, uint64_t) { return scalar::sext(w, 16, a); }},
    {"ZExt", Opcode::ZExt, 1, 16, true, [](unsigned, uint64_t a, uint64_t, uint64_t) { return a; }},
};

// Against the definition: of all choices of the uninitialised bits, which result bits differ?
TEST(InitBits, CoverWhatVaries) {
  std::mt19937_64 random(1);
  for (const Op& op : kOps) {
    Inst inst;
    inst.opcode = op.opcode;
    inst.width = 8;
    inst.resultWidth = op.resultWidth != 0 ? op.resultWidth : 8;
    inst.a = 1;
    inst.b = op.operands > 1 ? 2 : kZeroSlot;
    inst.c = op.operands > 2 ? 3 : kZeroSlot;
    for (int round = 0; round < 400; ++round) {
      auto operand = [&](bool exists, uint64_t mask) {
        if (!exists) return Reg{};
        // Few uninitialised bits in some rounds, many in others; values often near each other.
        uint64_t uninit = random() & mask & (round % 2 ? random() : ~uint64_t{0});
        uint64_t bits = (round % 3 == 0 ? random() % 4 : random()) & mask;
        if (round % 5 == 0) uninit &= 0x0F;
        return Reg{bits, uninit};
      };
      Reg a = operand(true, 0xFF);
      Reg b = operand(op.operands > 1, 0xFF);
      Reg c = operand(op.operands > 2, 1);
      if (round % 7 == 0) b.uninit = 0;
      uint64_t varies = 0;
      uint64_t first = op.eval(8, choices(a)[0], choices(b)[0], choices(c)[0]);
      for (uint64_t x : choices(a)) {
        for (uint64_t y : choices(b)) {
          for (uint64_t z : choices(c)) varies |= op.eval(8, x, y, z) ^ first;
        }
      }
      uint64_t marked = uninitBits(inst, a, b, c);
      ASSERT_EQ(varies & ~marked, 0u)
          << op.name << std::hex << " a " << a.bits << "/" << a.uninit << " b " << b.bits << "/"
          << b.uninit << " marked " << marked << " varies " << varies;
      ASSERT_EQ(marked >> inst.resultWidth, 0u) << op.name;
      if (op.exact) {
        ASSERT_EQ(marked, varies) << op.name << std::hex << " a " << a.bits << "/" << a.uninit
                                  << " b " << b.bits << "/" << b.uninit;
      }
    }
  }
}

Inst make(Opcode opcode, uint8_t width, uint8_t resultWidth = 0) {
  Inst inst;
  inst.opcode = opcode;
  inst.width = width;
  inst.resultWidth = resultWidth != 0 ? resultWidth : width;
  inst.a = 1;
  inst.b = 2;
  inst.c = 3;
  return inst;
}

// What must stay known, so that padding and unused bytes give no alarm.
TEST(InitBits, KnownPartsStayKnown) {
  const Reg halfWord{0xCDCD1234, 0xFFFF0000};  // An i32 with an initialised low half.
  EXPECT_EQ(uninitBits(make(Opcode::And, 32), halfWord, {0xFFFF, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::Trunc, 32, 16), halfWord, {}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::Shl, 32), halfWord, {16, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::LShr, 32), halfWord, {16, 0}, {}), 0xFFFFu);
  EXPECT_EQ(uninitBits(make(Opcode::Add, 32), halfWord, {1, 0}, {}), 0xFFFF0000u);
  EXPECT_EQ(uninitBits(make(Opcode::Mul, 32), halfWord, {0, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::Mul, 32), halfWord, {4, 0}, {}), 0xFFFC0000u);
  EXPECT_EQ(uninitBits(make(Opcode::URem, 32), halfWord, {16, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::UDiv, 32), {0xCD, 0xFF}, {16, 0}, {}), 0x0Fu);
  // A known difference decides an equality, a known top bit an order.
  EXPECT_EQ(uninitBits(make(Opcode::CmpEq, 32), halfWord, {0x1235, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::CmpUlt, 32), {0x80000000, 0xFF}, {5, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::CmpSlt, 32), {0x80000000, 0xFF}, {5, 0}, {}), 0u);
  EXPECT_EQ(uninitBits(make(Opcode::SMin, 32), {0x80000000, 0}, {5, 0xFF}, {}), 0u);
  // A select between values with the same bit doesn't depend on its condition there.
  EXPECT_EQ(uninitBits(make(Opcode::Select, 32), {12, 0}, {8, 0}, {1, 1}), 4u);
  EXPECT_EQ(uninitBits(make(Opcode::Select, 32), {12, 0xF}, {8, 0}, {0, 0}), 0u);
}

TEST(InitBits, AValueWithItself) {
  const Reg x{0xCD, 0xFF};
  for (Opcode opcode : {Opcode::Xor, Opcode::Sub, Opcode::CmpEq, Opcode::CmpUlt, Opcode::CmpSge}) {
    Inst inst = make(opcode, 8);
    inst.b = inst.a;
    EXPECT_EQ(uninitBits(inst, x, x, {}), 0u);
  }
  Inst add = make(Opcode::Add, 8);
  add.b = add.a;
  EXPECT_NE(uninitBits(add, x, x, {}), 0u);
}

TEST(InitBits, FloatsAndPointers) {
  EXPECT_EQ(uninitBits(make(Opcode::FAdd, 32), {0, 1}, {0, 0}, {}), 0xFFFFFFFFu);
  EXPECT_EQ(uninitBits(make(Opcode::FCmpOlt, 32, 1), {0, 1}, {0, 0}, {}), 1u);
  EXPECT_EQ(uninitBits(make(Opcode::FAbs, 32), {0, 0x80000001}, {}, {}), 1u);
  EXPECT_EQ(uninitBits(make(Opcode::FNeg, 32), {0, 0x80000001}, {}, {}), 0x80000001u);
  Inst add = make(Opcode::PtrAdd, 64);
  add.imm = 4;
  EXPECT_EQ(uninitBits(add, {0x1000, 0}, {0, 3}, {}), 0xCu);
}

}  // namespace
}  // namespace mtlc::interp
