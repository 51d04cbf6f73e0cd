// Instructions that exchange values between the lanes of a warp, and atomics, against oracles;
// every row of those families must be run.

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <set>

#include "absl/strings/str_format.h"
#include "mtlc/sim/oracle/forms.h"
#include "mtlc/sim/oracle/operands.h"
#include "mtlc/sim/oracle/oracle.h"
#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim::oracle {
namespace {

// The oracle of the plain form `opcode` with `mods`.
Oracle plain(std::string_view opcode, std::vector<Mod> mods) {
  Form form;
  for (const InstrRow* row : rowsOf(opcode)) {
    if (matchRow(*row, mods, form)) return oracleOf(form);
  }
  return {};
}

// ---- Exchanges ----

constexpr unsigned kWarps = 64;

struct WarpInput {
  uint64_t a[32];
  uint32_t b[32], c[32];
};

bool inMask(uint32_t mask, unsigned lane) { return (mask >> lane & 1) != 0; }

// What lane `lane` should get; false when the ISA leaves it open.
struct LaneWant {
  uint64_t value = 0;
  bool predicate = false;
};
bool expected(const Form& f, const WarpInput& in, uint32_t mask, unsigned lane, LaneWant& want) {
  std::string_view op = f.row->opcode;
  uint32_t truths = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (inMask(mask, i) && (in.a[i] & 1) != 0) truths |= 1u << i;
  }
  if (op == "shfl") {
    int l = static_cast<int>(lane), b = in.b[lane] & 31, c = in.c[lane] & 31;
    int segment = in.c[lane] >> 8 & 31, last = (l & segment) | (c & ~segment & 31);
    int j = f.has(Mod::up)     ? l - b
            : f.has(Mod::down) ? l + b
            : f.has(Mod::bfly) ? (l ^ b)
                               : ((l & segment) | (b & ~segment & 31));
    want.predicate = f.has(Mod::up) ? j >= last : j <= last;
    if (!want.predicate) j = l;
    if (!inMask(mask, static_cast<unsigned>(j))) return false;
    want.value = in.a[j] & 0xffffffffu;
    return true;
  }
  if (op == "vote") {
    bool all = truths == mask, any = truths != 0;
    want.value = f.has(Mod::ballot) ? truths
                 : f.has(Mod::any)  ? any
                 : f.has(Mod::all)  ? all
                                    : all || !any;
    return true;
  }
  if (op == "activemask") {
    want.value = mask;
    return true;
  }
  uint64_t keep = f.types[0] == Mod::b64 ? ~uint64_t{0} : 0xffffffffu;
  if (op == "match") {
    uint32_t same = 0;
    for (unsigned i = 0; i < 32; ++i) {
      if (inMask(mask, i) && (in.a[i] & keep) == (in.a[lane] & keep)) same |= 1u << i;
    }
    want.value = same;
    if (f.has(Mod::all)) {
      want.predicate = same == mask;
      want.value = same == mask ? mask : 0;
    }
    return true;
  }
  // redux
  bool first = true;
  uint64_t r = 0;
  std::vector<Mod> mods;
  Mod what = f.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::andMod, Mod::orMod, Mod::xorMod});
  if (f.has(Mod::nan)) mods.push_back(Mod::nan);
  mods.push_back(f.types[0]);
  Oracle step = plain(modSpelling(what), mods);
  if (!step) return false;
  for (unsigned i = 0; i < 32; ++i) {
    if (!inMask(mask, i)) continue;
    uint64_t v = in.a[i] & (f.has(Mod::absMod) ? 0x7fffffffu : 0xffffffffu);
    Operands o;
    o.src = {first ? v : r, v};
    r = f.types[0] == Mod::f32 || !first ? step(o).bits : v;
    first = false;
  }
  want.value = r;
  return true;
}

std::string exchangeKernel(const Form& f, bool pair, uint32_t mask) {
  std::string k =
      ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
      "  .reg .b32 %t, %lane, %b, %c, %m; .reg .b64 %in, %out, %at, %a; .reg .pred %p, %q, %go;\n"
      "  .reg .b32 %a32, %d;\n"
      "  ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n"
      "  mov.u32 %t, %ctaid.x; mov.u32 %lane, %tid.x; mad.lo.u32 %t, %t, 32, %lane;\n"
      "  mul.wide.u32 %at, %t, 16; add.u64 %in, %in, %at; add.u64 %out, %out, %at;\n"
      "  ld.global.b64 %a, [%in]; cvt.u32.u64 %a32, %a; ld.global.b32 %b, [%in+8];\n"
      "  ld.global.b32 %c, [%in+12]; and.b32 %t, %a32, 1; setp.ne.u32 %p, %t, 0;\n";
  absl::StrAppendFormat(&k,
                        "  mov.u32 %%m, %d; shr.u32 %%t, %%m, %%lane; and.b32 %%t, %%t, 1;\n"
                        "  setp.eq.u32 %%go, %%t, 0; @%%go bra done;\n",
                        mask);
  std::string text = spelling(f);
  bool toPredicate = false;
  size_t source = 0;
  for (size_t i = 0; i < f.row->operands.size(); ++i) {
    const OperandSpec& s = f.row->operands[i];
    Type t = operandType(s, f);
    text += i == 0 ? " " : ", ";
    if (s.role == OperandRole::dest) {
      toPredicate = t == Mod::pred;
      text += toPredicate ? "%q" : "%d";
      if (pair) text += "|%q";
      continue;
    }
    bool last = i + 1 == f.row->operands.size();
    bool sync = f.has(Mod::sync);
    if (sync && last) {
      text += "%m";
    } else if (t == Mod::pred) {
      text += "%p";
    } else {
      static constexpr const char* kNames[] = {"%a32", "%b", "%c"};
      text += source == 0 && typeBits(t) == 64 ? "%a" : kNames[source];
      ++source;
    }
  }
  k += "  setp.ne.u32 %q, %m, %m;\n  " + text + ";\n";
  if (toPredicate) k += "  selp.u32 %d, 1, 0, %q;\n";
  if (f.row->operands.empty() || f.row->family == Family::warpSync) k += "  mov.u32 %d, 0;\n";
  k += "  st.global.u32 [%out], %d; selp.u32 %t, 1, 0, %q; st.global.u32 [%out+4], %t;\ndone:\n";
  return k + "  ret;\n}\n";
}

void runExchange(const Form& f, bool pair, uint32_t mask, bool old, uint64_t& compared) {
  SCOPED_TRACE(absl::StrFormat("%s mask %#x", spelling(f), mask));
  std::string header = old ? ".version 6.0\n.target sm_60\n.address_size 64\n"
                           : ".version 9.0\n.target sm_103a\n.address_size 64\n";
  Harness h(header + exchangeKernel(f, pair, mask));
  ASSERT_TRUE(h.ok()) << h.errors();
  Random random(mask + f.row->index);
  std::vector<WarpInput> inputs(kWarps);
  std::vector<uint64_t> words(kWarps * 32 * 2);
  for (unsigned w = 0; w < kWarps; ++w) {
    uint64_t common = random.next();
    for (unsigned i = 0; i < 32; ++i) {
      WarpInput& in = inputs[w];
      Type t = f.types[0] == Mod::f32 ? Mod::f32 : Mod::b64;
      // Warps of one value, of few, and of many.
      in.a[i] = w % 4 == 0                        ? common
                : w % 4 == 1                      ? common + random.below(3)
                : w % 4 == 2 && !random.oneIn(20) ? common
                                                  : operandOf(t, false, random);
      in.b[i] = static_cast<uint32_t>(random.oneIn(4) ? random.next() : random.below(33));
      in.c[i] =
          static_cast<uint32_t>(random.oneIn(2) ? 0x1f : random.below(32) | random.below(32) << 8);
      words[(w * 32 + i) * 2] = in.a[i];
      words[(w * 32 + i) * 2 + 1] = in.b[i] | static_cast<uint64_t>(in.c[i]) << 32;
    }
  }
  auto in = h.buffer(words), out = h.buffer(std::vector<uint64_t>(words.size()));
  LaunchResult r = h.run("k", {kWarps, 1, 1}, {32, 1, 1}, in, out);
  ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors() << r.message;
  for (unsigned w = 0; w < kWarps; ++w) {
    unsigned leaders = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t got = out[(w * 32 + lane) * 2];
      uint32_t value = static_cast<uint32_t>(got);
      bool predicate = (got >> 32) != 0;
      if (!inMask(mask, lane) || f.row->family == Family::warpSync) {
        ASSERT_EQ(got, 0u) << lane;
        continue;
      }
      if (f.row->family == Family::electSync) {
        // Some lane of the mask, the same for all; it alone has the predicate.
        ASSERT_TRUE(value < 32 && inMask(mask, value));
        ASSERT_EQ(value, static_cast<uint32_t>(out[(w * 32 + std::countr_zero(mask)) * 2]));
        ASSERT_EQ(predicate, value == lane);
        ++leaders;
        ++compared;
        continue;
      }
      LaneWant want;
      if (!expected(f, inputs[w], mask, lane, want)) continue;
      ++compared;
      ASSERT_EQ(value, want.value) << "warp " << w << " lane " << lane;
      if (pair) {
        ASSERT_EQ(predicate, want.predicate) << "warp " << w << " lane " << lane;
      }
    }
  }
}

TEST(WarpOracle, Exchanges) {
  uint64_t compared = 0;
  size_t rows = 0, forms = 0;
  for (const InstrRow& row : instructionTable()) {
    bool old = row.family == Family::shfl || row.family == Family::vote;
    if (familyKind(row.family) != FamilyKind::collective && !old &&
        row.family != Family::activemask) {
      continue;
    }
    ++rows;
    for (const Form& f : formsOf(row)) {
      ++forms;
      for (uint32_t mask : {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x5a5a1234u, 0x00000100u}) {
        bool pairs = !row.operands.empty() && row.operands[0].predicatePair;
        uint64_t before = compared;
        runExchange(f, pairs, mask, old, compared);
        if (row.family != Family::warpSync) {
          EXPECT_GT(compared, before) << spelling(f);
        }
        if (pairs && !row.operands[0].needsPair) runExchange(f, false, mask, old, compared);
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("%zu rows, %zu forms, %zu lanes compared\n", rows, forms,
              static_cast<size_t>(compared));
  EXPECT_GT(rows, 10u);
}

// ---- Addresses ----

// A variable of each space, made generic and asked about with every isspacep; back in its space, it
// can be read.
TEST(WarpOracle, Addresses) {
  struct Variable {
    const char* space;
    const char* name;
  };
  constexpr Variable kVariables[] = {
      {"global", "gv"}, {"const", "cv"},       {"shared", "sv"},         {"local", "lv"},
      {"param", "pin"}, {"shared::cta", "sv"}, {"shared::cluster", "sv"}};
  std::string k =
      ".version 9.0\n.target sm_103a\n.address_size 64\n"
      ".global .u32 gv = 11; .const .u32 cv = 22; .shared .u32 sv;\n"
      ".visible .entry k(.param .u32 pin, .param .u64 pout) {\n"
      "  .local .u32 lv; .reg .b64 %out, %g, %s; .reg .b32 %t; .reg .pred %p;\n"
      "  ld.param.u64 %out, [pout];\n"
      "  mov.u32 %t, 33; st.shared.u32 [sv], %t; mov.u32 %t, 44; st.local.u32 [lv], %t;\n";
  size_t at = 0;
  for (const Variable& v : kVariables) {
    absl::StrAppendFormat(&k, "  cvta.%s.u64 %%g, %s;\n", v.space, v.name);
    for (const Variable& asked : kVariables) {
      absl::StrAppendFormat(&k,
                            "  isspacep.%s %%p, %%g; selp.u32 %%t, 1, 0, %%p;\n"
                            "  st.global.u32 [%%out+%d], %%t;\n",
                            asked.space, 4 * at++);
    }
    absl::StrAppendFormat(&k,
                          "  cvta.to.%s.u64 %%s, %%g; ld.%s.u32 %%t, [%%s];\n"
                          "  st.global.u32 [%%out+%d], %%t; ld.u32 %%t, [%%g];\n"
                          "  st.global.u32 [%%out+%d], %%t;\n",
                          v.space, v.space, 4 * at, 4 * at + 4);
    at += 2;
  }
  Harness h(k + "  ret;\n}\n");
  ASSERT_TRUE(h.ok()) << h.errors();
  auto out = h.buffer(std::vector<uint32_t>(at));
  LaunchResult r = h.run("k", {1, 1, 1}, {1, 1, 1}, uint32_t{55}, out);
  ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors() << r.message;
  constexpr uint32_t kValues[] = {11, 22, 33, 44, 55, 33, 33};
  at = 0;
  for (size_t i = 0; i < std::size(kVariables); ++i) {
    for (const Variable& asked : kVariables) {
      bool same = std::string_view(asked.space).substr(0, 6) ==
                  std::string_view(kVariables[i].space).substr(0, 6);
      EXPECT_EQ(out[at++], same ? 1u : 0u) << kVariables[i].space << ' ' << asked.space;
    }
    EXPECT_EQ(out[at++], kValues[i]) << kVariables[i].space;
    EXPECT_EQ(out[at++], kValues[i]) << "generic " << kVariables[i].space;
  }
}

// ---- Atomics ----

constexpr unsigned kThreads = 1024;
constexpr size_t kSlot = 32;  // Bytes of memory of a thread.

unsigned countOf(const Form& f) {
  return f.has(Mod::v8) ? 8 : f.has(Mod::v4) ? 4 : f.has(Mod::v2) ? 2 : 1;
}

std::string vectorText(char name, unsigned n) {
  std::string list;
  for (unsigned i = 0; i < n; ++i) list += absl::StrFormat("%s%%%c%d", i == 0 ? "" : ", ", name, i);
  return n == 1 ? list : "{" + list + "}";
}

std::string atomicKernel(const Form& f, bool shared) {
  unsigned n = countOf(f), bits = typeBits(f.types[0]);
  std::string k = absl::StrFormat(
      ".visible .entry k(.param .u64 pin, .param .u64 pmem, .param .u64 pout) {\n"
      "  .shared .align 16 .b8 tile[4096];\n"
      "  .reg .b32 %%t, %%u; .reg .b64 %%in, %%out, %%mem, %%at, %%w<4>;\n"
      "  .reg .b%d %%b<8>, %%c0, %%d<8>;\n"
      "  ld.param.u64 %%in, [pin]; ld.param.u64 %%mem, [pmem]; ld.param.u64 %%out, [pout];\n"
      "  mov.u32 %%t, %%ctaid.x; mov.u32 %%u, %%tid.x; mad.lo.u32 %%t, %%t, 128, %%u;\n"
      "  mul.wide.u32 %%at, %%t, 32; add.u64 %%mem, %%mem, %%at; add.u64 %%out, %%out, %%at;\n"
      "  mul.wide.u32 %%at, %%t, 64; add.u64 %%in, %%in, %%at;\n",
      bits);
  std::string address = "%mem";
  if (shared) {
    k += "  mul.wide.u32 %at, %u, 32; mov.u64 %w0, tile; add.u64 %at, %at, %w0;\n"
         "  ld.global.v2.b64 {%w0, %w1}, [%mem]; st.shared.v2.b64 [%at], {%w0, %w1};\n"
         "  ld.global.v2.b64 {%w0, %w1}, [%mem+16]; st.shared.v2.b64 [%at+16], {%w0, %w1};\n";
    address = "%at";
  }
  for (unsigned e = 0; e < n; ++e) {
    absl::StrAppendFormat(&k, "  ld.global.b%d %%b%d, [%%in+%d];\n", bits, e, e * bits / 8);
  }
  absl::StrAppendFormat(&k, "  ld.global.b%d %%c0, [%%in+32];\n", bits);
  bool atom = f.row->family == Family::atom;
  k += "  " + spelling(f) + (atom ? " " + vectorText('d', n) + "," : "") + " [" + address + "], " +
       vectorText('b', n) + (f.has(Mod::cas) ? ", %c0" : "");
  if (f.has(Mod::l2CacheHint)) k += ", %in";
  k += ";\n";
  for (unsigned e = 0; atom && e < n; ++e) {
    absl::StrAppendFormat(&k, "  st.global.b%d [%%out+%d], %%d%d;\n", bits, e * bits / 8, e);
  }
  if (shared) {
    k += "  ld.shared.v2.b64 {%w0, %w1}, [%at]; st.global.v2.b64 [%mem], {%w0, %w1};\n"
         "  ld.shared.v2.b64 {%w0, %w1}, [%at+16]; st.global.v2.b64 [%mem+16], {%w0, %w1};\n";
  }
  return k + "  ret;\n}\n";
}

uint64_t readBits(const uint8_t* p, unsigned bits) {
  uint64_t v = 0;
  std::memcpy(&v, p, bits / 8);
  return v;
}

// The new value of one element of at most 64 bits.
Want atomicWant(const Form& f, bool shared, uint64_t old, uint64_t b, uint64_t c) {
  Type t = f.types[0];
  if (f.has(Mod::exch)) return exactly(b);
  if (f.has(Mod::cas)) return exactly(old == b ? c : old);
  if (f.has(Mod::inc)) return exactly(old >= b ? 0 : old + 1);
  if (f.has(Mod::dec)) return exactly(old == 0 || old > b ? b : old - 1);
  std::vector<Mod> mods;
  // Additions of f32 in global memory flush subnormals.
  if (f.has(Mod::add) && t == Mod::f32 && !shared) mods.push_back(Mod::ftz);
  mods.push_back(t);
  Oracle step = plain(modSpelling(f.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::andMod,
                                             Mod::orMod, Mod::xorMod})),
                      mods);
  Operands o;
  o.src = {old, b};
  return step(o);
}

bool matches(const Want& w, uint64_t got) {
  if (w.kind == Want::quietNan) return isNanBits(got, kBinary64);
  if (w.kind != Want::oneOf) return got == w.bits;
  return std::find(w.choices.begin(), w.choices.begin() + w.choiceCount, got) !=
         w.choices.begin() + w.choiceCount;
}

void runAtomic(const Form& f, bool shared, uint64_t& compared) {
  SCOPED_TRACE(spelling(f));
  Harness h(".version 9.0\n.target sm_103a\n.address_size 64\n" + atomicKernel(f, shared));
  ASSERT_TRUE(h.ok()) << h.errors();
  Random random(f.row->index * 8 + (shared ? 1 : 0) + countOf(f));
  unsigned n = countOf(f), bits = typeBits(f.types[0]);
  Type t = bits == 128 ? Mod::b64 : f.types[0];
  std::vector<uint8_t> in(kThreads * 64), mem(kThreads * kSlot);
  for (unsigned i = 0; i < kThreads; ++i) {
    auto put = [&](uint8_t* to, unsigned elements) {
      for (unsigned e = 0; e < elements; ++e) {
        uint64_t v = operandOf(t, false, random);
        std::memcpy(to + e * typeBits(t) / 8, &v, typeBits(t) / 8);
      }
    };
    unsigned all = static_cast<unsigned>(kSlot) * 8 / typeBits(t);
    put(&mem[i * kSlot], all);
    put(&in[i * 64], all);
    put(&in[i * 64 + 32], all);
    if (random.oneIn(2)) std::memcpy(&in[i * 64], &mem[i * kSlot], bits / 8);  // For cas.
  }
  auto dIn = h.buffer(in), dMem = h.buffer(mem), dOut = h.buffer(std::vector<uint8_t>(mem.size()));
  LaunchResult r = h.run("k", {kThreads / 128, 1, 1}, {128, 1, 1}, dIn, dMem, dOut);
  ASSERT_EQ(r.status, LaunchStatus::ok) << h.errors() << r.message;
  bool atom = f.row->family == Family::atom;
  for (unsigned i = 0; i < kThreads; ++i) {
    const uint8_t* old = &mem[i * kSlot];
    const uint8_t* b = &in[i * 64];
    const uint8_t* c = &in[i * 64 + 32];
    const uint8_t* now = &dMem[i * kSlot];
    ++compared;
    if (bits == 128) {
      bool swaps = f.has(Mod::exch) || std::memcmp(old, b, 16) == 0;
      ASSERT_EQ(std::memcmp(now, swaps ? (f.has(Mod::cas) ? c : b) : old, 16), 0) << i;
    } else {
      for (unsigned e = 0; e < n; ++e) {
        unsigned at = e * bits / 8;
        uint64_t was = readBits(old + at, bits), with = readBits(b + at, bits);
        Want want = atomicWant(f, shared, was, with, readBits(c + at, bits));
        ASSERT_TRUE(matches(want, readBits(now + at, bits)))
            << absl::StrFormat("thread %d element %d: %#x with %#x: got %#x, want %#x", i, e, was,
                               with, readBits(now + at, bits), want.bits);
      }
    }
    size_t bytes = n * bits / 8;
    ASSERT_EQ(std::memcmp(now + bytes, old + bytes, kSlot - bytes), 0) << i << ": neighbours";
    if (atom) {
      ASSERT_EQ(std::memcmp(&dOut[i * kSlot], old, bytes), 0) << i << ": the old value";
    }
  }
}

TEST(WarpOracle, Atomics) {
  uint64_t compared = 0;
  size_t rows = 0, forms = 0;
  for (const InstrRow& row : instructionTable()) {
    if (row.family != Family::atom && row.family != Family::red) continue;
    ++rows;
    // One form of each operation, type and space; orders and scopes are the litmus tests' affair.
    std::set<std::string> seen;
    for (const Form& f : formsOf(row)) {
      bool shared = f.has(Mod::shared) || f.has(Mod::sharedCta) || f.has(Mod::sharedCluster);
      Mod op = f.firstOf({Mod::add, Mod::minMod, Mod::maxMod, Mod::andMod, Mod::orMod, Mod::xorMod,
                          Mod::exch, Mod::cas, Mod::inc, Mod::dec});
      std::string key = absl::StrFormat("%s.%s.%d.%d.%d", modSpelling(op), modSpelling(f.types[0]),
                                        countOf(f), shared, f.has(Mod::global));
      if (!seen.insert(key).second) continue;
      ++forms;
      runAtomic(f, shared, compared);
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%zu rows, %zu forms, %zu threads compared\n", rows, forms,
              static_cast<size_t>(compared));
  EXPECT_GT(rows, 30u);
}

}  // namespace
}  // namespace mtlc::sim::oracle
