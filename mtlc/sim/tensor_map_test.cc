// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.28): kernels turn one map into
// another, which then is the one that the host makes; the fences between; maps that are none.

#include "mtlc/sim/tensor_map.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr char kHead[] = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map, .param .u64 other, .param .u64 out) {
  .reg .pred %p<4>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .shared .align 8 .b8 bar[8];
  .shared .align 128 .b8 copy[128];
  .shared .align 128 .b8 tile[1024];
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p1, %r0, 0;
  shl.b32 %r1, %r0, 2;
  cvt.u64.u32 %rd4, %r1;
  ld.param.u64 %rd1, [map];
  ld.param.u64 %rd2, [other];
  ld.param.u64 %rd3, [out];
  mov.u32 %r2, copy;
  mov.u32 %r3, tile;
  cvt.u64.u32 %rd5, %r2;
  cvta.shared.u64 %rd5, %rd5;
)";

struct Random {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  }
  uint32_t below(uint32_t n) { return next() % n; }
};

// As the table of the ISA numbers them.
unsigned numberOf(TensorType t) {
  switch (t) {
    case TensorType::u8:
      return 0;
    case TensorType::u16:
      return 1;
    case TensorType::u32:
      return 2;
    case TensorType::s32:
      return 3;
    case TensorType::u64:
      return 4;
    case TensorType::s64:
      return 5;
    case TensorType::f16:
      return 6;
    case TensorType::f32:
      return 7;
    case TensorType::f32Ftz:
      return 8;
    case TensorType::f64:
      return 9;
    case TensorType::bf16:
      return 10;
    case TensorType::tf32:
      return 11;
    case TensorType::tf32Ftz:
      return 12;
  }
  return 99;
}

TensorMap draw(Random& r) {
  for (;;) {
    TensorMap m;
    m.type = static_cast<TensorType>(r.below(13));
    m.rank = 1 + r.below(5);
    m.address = uint64_t{r.next()} * 16;
    m.swizzle = static_cast<TensorSwizzle>(r.below(4));
    m.nanFill = r.below(2) == 0;
    for (unsigned i = 0; i < m.rank; ++i) {
      m.dims[i] = 1 + (r.below(4) == 0 ? r.next() : r.below(999));
      if (i != 0) m.strides[i] = uint64_t{r.next()} * 16;
      m.box[i] = 1 + r.below(i == 0 ? 128 : 6);
      m.elementStrides[i] = 1 + r.below(8);
    }
    if (checkTensorMap(m).empty()) return m;
  }
}

// Every field of `m`, in a random order.
std::string replacements(const TensorMap& m, const std::string& space, const std::string& at,
                         Random& r) {
  std::vector<std::string> lines;
  auto add = [&](const std::string& field, const std::string& bits, const std::string& operands) {
    lines.push_back("tensormap.replace.tile." + field + space + ".b1024." + bits + " [" + at +
                    "], " + operands + ";\n");
  };
  add("global_address", "b64", std::to_string(m.address));
  add("rank", "b32", std::to_string(m.rank - 1));
  for (unsigned i = 0; i < 5; ++i) {
    std::string n = std::to_string(i) + ", ";
    add("box_dim", "b32", n + std::to_string(m.box[i]));
    add("global_dim", "b32", n + std::to_string(m.dims[i]));
    add("element_stride", "b32", n + std::to_string(m.elementStrides[i]));
    if (i < 4) add("global_stride", "b64", n + std::to_string(i + 1 < 5 ? m.strides[i + 1] : 0));
  }
  add("elemtype", "b32", std::to_string(numberOf(m.type)));
  add("swizzle_mode", "b32", std::to_string(static_cast<unsigned>(m.swizzle)));
  add("interleave_layout", "b32", "0");
  add("fill_mode", "b32", m.nanFill ? "1" : "0");
  std::string text;
  while (!lines.empty()) {
    size_t i = r.below(static_cast<uint32_t>(lines.size()));
    text += "@%p1 " + lines[i];
    lines.erase(lines.begin() + static_cast<ptrdiff_t>(i));
  }
  return text;
}

std::vector<uint8_t> encoded(const TensorMap& m) {
  std::vector<uint8_t> bytes(kTensorMapBytes);
  EXPECT_EQ(encodeTensorMap(m, bytes.data()), "");
  return bytes;
}

struct Ran {
  LaunchResult result;
  std::vector<uint8_t> map, other;
  std::vector<uint32_t> out;
  std::string errors;
  DiagId id = DiagId::SimRace;
};

Ran run(const std::string& body, const std::vector<uint8_t>& map, uint64_t seed = 0) {
  Harness h(kHead + body + "\n  ret;\n}\n");
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  auto first = h.buffer(map, "map");
  auto other = h.buffer(std::vector<uint8_t>(256), "other");
  auto out = h.buffer(std::vector<uint32_t>(256), "out");
  h.config.seed = seed;
  h.config.checks = Checks::all;
  h.config.maxSteps = 1'000'000;
  r.result = h.run("k", {1, 1, 1}, {32, 1, 1}, first, other, out);
  r.map = first.values();
  r.other = other.values();
  r.out = out.values();
  r.errors = h.errors();
  if (!r.result.reports.empty()) r.id = r.result.reports[0].id;
  return r;
}

TEST(TensorMapReplace, EveryField) {
  Random r{9};
  for (int i = 0; i < 60; ++i) {
    TensorMap from = draw(r), to = draw(r);
    const char* kSpaces[] = {".global", "", ".shared::cta"};
    std::string space = kSpaces[i % 3];
    std::string body;
    if (space == ".shared::cta") {
      body =
          "add.u64 %rd6, %rd1, %rd4;\nld.global.b32 %r5, [%rd6];\nadd.u32 %r6, %r2, %r1;\n"
          "st.shared.b32 [%r6], %r5;\nbar.warp.sync 0xffffffff;\n" +
          replacements(to, space, i % 2 == 0 ? "%r2" : "%rd7", r) +
          "bar.warp.sync 0xffffffff;\n"
          "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
          "aligned [%rd2], [%r2], 128;\n";
      body = "cvt.u64.u32 %rd7, %r2;\n" + body;
    } else {
      body = replacements(to, space, "%rd1", r);
    }
    Ran ran = run(body, encoded(from), static_cast<uint64_t>(i % 4));
    ASSERT_EQ(ran.result.status, LaunchStatus::ok) << ran.errors;
    std::vector<uint8_t> want = encoded(to);
    if (space == ".shared::cta") {
      ran.other.resize(kTensorMapBytes);
      EXPECT_EQ(ran.other, want) << i;
      EXPECT_EQ(ran.map, encoded(from)) << i;
    } else {
      EXPECT_EQ(ran.map, want) << i;
    }
  }
}

// A map of 64 words whose address the kernel moves on by 16 words before it loads them.
TensorMap words() {
  TensorMap m;
  m.type = TensorType::u32;
  m.rank = 1;
  m.dims[0] = 64;
  m.box[0] = 64;
  return m;
}

std::string load(const std::string& map) {
  return "@%p1 mbarrier.init.shared.b64 [bar], 1;\n@%p1 fence.mbarrier_init.release.cluster;\n"
         "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n"
         "@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
         "[%r3], [" +
         map +
         ", {0}], [bar];\nbar.sync 0;\n"
         "W:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra W;\n"
         "add.u32 %r7, %r3, %r1;\nld.shared.b32 %r8, [%r7];\nadd.u64 %rd9, %rd3, %rd4;\n"
         "st.global.b32 [%rd9], %r8;\nld.shared.b32 %r8, [%r7+128];\n"
         "st.global.b32 [%rd9+128], %r8;\n";
}

// With the tensor in a variable of the module, whose address the kernel puts into the map.
Ran changed(const std::string& change, const std::string& map, uint64_t seed = 0) {
  std::string text =
      std::string(kHead) + "mov.u64 %rd10, words;\n" + change + load(map) + "\n  ret;\n}\n";
  std::string list;
  for (int i = 0; i < 80; ++i) list += (i == 0 ? "" : ", ") + std::to_string(1000 + i);
  text.insert(text.find(".visible"), ".global .align 64 .u32 words[80] = {" + list + "};\n");
  Harness h(text);
  Ran r;
  if (!h.ok()) {
    r.errors = h.errors();
    r.result.status = LaunchStatus::invalidConfig;
    return r;
  }
  TensorMap m = words();
  m.address = 16;  // Nothing is there.
  auto first = h.buffer(encoded(m), "map");
  auto other = h.buffer(std::vector<uint8_t>(256), "other");
  auto out = h.buffer(std::vector<uint32_t>(64), "out");
  h.config.seed = seed;
  h.config.checks = Checks::all;
  h.config.maxSteps = 1'000'000;
  r.result = h.run("k", {1, 1, 1}, {32, 1, 1}, first, other, out);
  r.out = out.values();
  r.errors = h.errors();
  if (!r.result.reports.empty()) r.id = r.result.reports[0].id;
  return r;
}

std::vector<uint32_t> wantedWords() {
  std::vector<uint32_t> want(64);
  for (uint32_t i = 0; i < 64; ++i) want[i] = 1016 + i;
  return want;
}

constexpr char kMove[] =
    "add.u64 %rd10, %rd10, 64;\n"
    "@%p1 tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd10;\n";
constexpr char kAcquire[] = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
constexpr char kRelease[] = "fence.proxy.tensormap::generic.release.gpu;\n";

TEST(TensorMapReplace, IsUsedAfterFences) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Ran own = changed(std::string(kMove) + kRelease + kAcquire, "%rd1", seed);
    ASSERT_EQ(own.result.status, LaunchStatus::ok) << own.errors;
    EXPECT_EQ(own.out, wantedWords());
    // In shared memory, and from there into global memory.
    Ran copied = changed(
        "add.u64 %rd6, %rd1, %rd4;\nld.global.b32 %r5, [%rd6];\nadd.u32 %r6, %r2, %r1;\n"
        "st.shared.b32 [%r6], %r5;\nbar.warp.sync 0xffffffff;\nadd.u64 %rd10, %rd10, 64;\n"
        "@%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r2], %rd10;\n"
        "bar.warp.sync 0xffffffff;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd2], [%r2], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n",
        "%rd2", seed);
    ASSERT_EQ(copied.result.status, LaunchStatus::ok) << copied.errors;
    EXPECT_EQ(copied.out, wantedWords());
  }
}

TEST(TensorMapReplace, NeedsFences) {
  for (const char* fences : {"", kRelease, "fence.proxy.async;\n"}) {
    Ran r = changed(std::string(kMove) + fences, "%rd1");
    EXPECT_TRUE(r.id == DiagId::SimAsyncMapFence) << fences << r.errors;
    EXPECT_EQ(r.result.reports.size(), 1u) << r.errors;
  }
  // Another thread changes it, and does not release it.
  std::string other =
      "setp.eq.u32 %p3, %r0, 9;\nadd.u64 %rd10, %rd10, 64;\n"
      "@%p3 tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd10;\n";
  Ran bad = changed(other + "bar.sync 0;\n" + kAcquire, "%rd1");
  EXPECT_TRUE(bad.id == DiagId::SimAsyncMapFence) << bad.errors;
  Ran good = changed(other + "@%p3 " + kRelease + "bar.sync 0;\n" + kAcquire, "%rd1");
  EXPECT_EQ(good.result.status, LaunchStatus::ok) << good.errors;
  EXPECT_EQ(good.out, wantedWords());
}

TEST(TensorMapReplace, RefusesMapsThatNobodyCanUse) {
  for (const char* field :
       {"rank.global.b1024.b32 [%rd1], 5", "box_dim.global.b1024.b32 [%rd1], 0, 257",
        "box_dim.global.b1024.b32 [%rd1], 0, 3", "element_stride.global.b1024.b32 [%rd1], 0, 9",
        "interleave_layout.global.b1024.b32 [%rd1], 1", "elemtype.global.b1024.b32 [%rd1], 11",
        "global_address.global.b1024.b64 [%rd1], 8"}) {
    Ran r = changed(
        "@%p1 tensormap.replace.tile." + std::string(field) + ";\n" + kRelease + kAcquire, "%rd1");
    EXPECT_EQ(r.result.status, LaunchStatus::faulted) << field << r.errors;
    EXPECT_TRUE(r.id == DiagId::SimTensorMap) << field << r.errors;
  }
  // No map at all, and no place for one. Zeros are the beginning of a map.
  Ran none = changed(
      "@%p1 st.global.u32 [%rd2+64], 1;\n@%p1 tensormap.replace.tile.rank.global.b1024.b32 [%rd2], "
      "1;\n",
      "%rd1");
  EXPECT_TRUE(none.id == DiagId::SimTensorMap) << none.errors;
  Ran odd = changed("@%p1 tensormap.replace.tile.rank.global.b1024.b32 [%rd1+32], 1;\n", "%rd1");
  EXPECT_TRUE(odd.id == DiagId::SimMisaligned) << odd.errors;
}

// Triton's kernels make their maps of zeros.
TEST(TensorMapReplace, EveryFieldOfZeros) {
  Random r{19};
  for (int i = 0; i < 20; ++i) {
    TensorMap to = draw(r);
    Ran ran = run(replacements(to, ".global", "%rd1", r), std::vector<uint8_t>(kTensorMapBytes));
    ASSERT_EQ(ran.result.status, LaunchStatus::ok) << ran.errors;
    EXPECT_EQ(ran.map, encoded(to)) << i;
  }
}

TEST(TensorMapReplace, RefusedForms) {
  for (const char* text :
       {"elemtype.global.b1024.b32 [%rd1], 13;", "elemtype.global.b1024.b32 [%rd1], %r1;",
        "swizzle_mode.global.b1024.b32 [%rd1], 4;", "fill_mode.global.b1024.b32 [%rd1], 2;",
        "box_dim.global.b1024.b32 [%rd1], 5, 1;", "box_dim.global.b1024.b32 [%rd1], %r1, 1;",
        "box_dim.global.b1024.b32 [%rd1], 1;", "global_address.global.b1024.b32 [%rd1], %r1;",
        "rank.shared.b1024.b32 [%r1], 1;"}) {
    Ran r = run("tensormap.replace.tile." + std::string(text) + "\n", encoded(words()));
    EXPECT_EQ(r.result.status, LaunchStatus::invalidConfig) << text;
  }
}

}  // namespace
}  // namespace mtlc::sim
