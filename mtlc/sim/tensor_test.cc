// Tensor copies against a direct reading of the definition: random ranks, boxes, strides, places
// that stick out of the tensor, and every swizzle. Tensor maps refuse what the documentation
// forbids.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "mtlc/sim/tensor_map.h"
#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

constexpr uint32_t kTile = 32768;

// load: copies the box into shared memory and all of that to `data`. store: the other way round.
std::string kernels(unsigned rank, const std::string& reduction = "") {
  std::string dim = std::to_string(rank) + "d", at;
  for (unsigned i = 0; i < rank; ++i) at += (i == 0 ? "%r" : ", %r") + std::to_string(10 + i);
  std::string head = R"((.param .u64 map, .param .u64 data, .param .s32 c0, .param .s32 c1,
    .param .s32 c2, .param .s32 c3, .param .s32 c4, .param .u32 bytes, .param .u32 tx) {
  .reg .pred %p<4>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<9>;
  .shared .align 8 .b8 bar[8];
  .shared .align 1024 .b8 tile[32768];
  ld.param.u64 %rd1, [map];
  ld.param.u64 %rd2, [data];
  ld.param.s32 %r10, [c0];
  ld.param.s32 %r11, [c1];
  ld.param.s32 %r12, [c2];
  ld.param.s32 %r13, [c3];
  ld.param.s32 %r14, [c4];
  ld.param.u32 %r2, [bytes];
  ld.param.u32 %r20, [tx];
  mov.u32 %r1, tile;
  mov.u32 %r3, 0;
)";
  std::string load = ".visible .entry load" + head + R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r20;
  cp.async.bulk.tensor.)" +
                     dim +
                     ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {" +
                     at + R"(}], [bar];
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
L:
  ld.shared.u32 %r5, [%r1];
  st.global.u32 [%rd2], %r5;
  add.u32 %r1, %r1, 4;
  add.u64 %rd2, %rd2, 4;
  add.u32 %r3, %r3, 4;
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra L;
  mbarrier.inval.shared.b64 [bar];
  ret;
}
)";
  std::string op = reduction.empty() ? "cp.async" : "cp.reduce.async";
  std::string store = ".visible .entry store" + head + R"(
  mov.u32 %r4, %r1;
L:
  ld.global.u32 %r5, [%rd2];
  st.shared.u32 [%r4], %r5;
  add.u32 %r4, %r4, 4;
  add.u64 %rd2, %rd2, 4;
  add.u32 %r3, %r3, 4;
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra L;
  fence.proxy.async;
  )" + op + ".bulk.tensor." +
                      dim + ".global.shared::cta." + (reduction.empty() ? "" : reduction + ".") +
                      "tile.bulk_group [%rd1, {" + at +
                      R"(}], [%r1];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;
}
)";
  return ".version 8.8\n.target sm_90\n.address_size 64\n" + load + store;
}

struct Random {
  uint64_t state;
  uint32_t next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  }
  uint32_t below(uint32_t n) { return next() % n; }
};

// Which 16-byte chunk of its eight the chunk at this place is kept in.
uint32_t keptAt(TensorSwizzle s, uint32_t offset) {
  uint32_t line = offset / 128, chunk = offset / 16 % 8, rest = offset % 16;
  switch (s) {
    case TensorSwizzle::none:
      break;
    case TensorSwizzle::bytes32:
      chunk ^= line % 2;
      break;
    case TensorSwizzle::bytes64:
      chunk ^= line % 4;
      break;
    case TensorSwizzle::bytes128:
      chunk ^= line % 8;
      break;
  }
  return line * 128 + chunk * 16 + rest;
}

// Bytes of shared memory that a box may lie in: exchanged chunks stay within 128 bytes.
uint32_t spanOf(const TensorMap& m) {
  return m.swizzle == TensorSwizzle::none ? m.boxBytes() : (m.boxBytes() + 127) / 128 * 128;
}

struct Case {
  TensorMap map;
  std::array<int32_t, 5> at{};
  uint64_t bytes = 0;  // Of the tensor in memory.
};

Case draw(Random& r) {
  for (;;) {
    Case c;
    TensorMap& m = c.map;
    static constexpr TensorType kTypes[] = {TensorType::u8,  TensorType::u16,  TensorType::f16,
                                            TensorType::f32, TensorType::bf16, TensorType::u64,
                                            TensorType::s32, TensorType::f64};
    m.type = kTypes[r.below(8)];
    unsigned size = tensorTypeBytes(m.type);
    m.rank = 1 + r.below(5);
    m.swizzle = static_cast<TensorSwizzle>(r.below(4));
    m.nanFill = isFloatTensor(m.type) && r.below(2) == 0;
    uint32_t span = m.swizzle == TensorSwizzle::none
                        ? 16u << r.below(5)
                        : 16u << r.below(static_cast<uint32_t>(m.swizzle) + 1);
    m.box[0] = span / size;
    if (m.box[0] == 0 || m.box[0] > 256) continue;
    uint64_t stride = 0;
    for (unsigned i = 0; i < m.rank; ++i) {
      m.dims[i] = 1 + r.below(i == 0 ? 2 * m.box[0] + 3 : 7);
      if (i != 0) {
        m.box[i] = 1 + r.below(i == 1 ? 11 : 5);
        m.elementStrides[i] = 1 + r.below(3);
        stride = (i == 1 ? m.dims[0] * size : stride * m.dims[i - 1]);
        stride = (stride + 15) / 16 * 16 + 16 * r.below(3);
        m.strides[i] = stride;
      }
      c.at[i] = static_cast<int32_t>(r.below(static_cast<uint32_t>(m.dims[i]) + 6)) - 4;
    }
    if (spanOf(m) > kTile) continue;
    c.bytes = m.dims[0] * size;
    for (unsigned i = 1; i < m.rank; ++i) c.bytes += (m.dims[i] - 1) * m.strides[i];
    return c;
  }
}

// Calls visit(offset in shared memory, offset in the tensor or -1) for each element of the box.
template <typename Visit>
void eachElement(const Case& c, Visit visit) {
  const TensorMap& m = c.map;
  unsigned size = tensorTypeBytes(m.type);
  std::array<uint32_t, 5> n{1, 1, 1, 1, 1}, k{};
  for (unsigned i = 0; i < m.rank; ++i) {
    n[i] = i == 0 ? m.box[0] : (m.box[i] + m.elementStrides[i] - 1) / m.elementStrides[i];
  }
  uint32_t linear = 0;
  for (k[4] = 0; k[4] < n[4]; ++k[4]) {
    for (k[3] = 0; k[3] < n[3]; ++k[3]) {
      for (k[2] = 0; k[2] < n[2]; ++k[2]) {
        for (k[1] = 0; k[1] < n[1]; ++k[1]) {
          for (k[0] = 0; k[0] < n[0]; ++k[0]) {
            int64_t where = 0;
            bool inside = true;
            for (unsigned i = 0; i < m.rank; ++i) {
              int64_t p = c.at[i] + int64_t{k[i]} * (i == 0 ? 1 : m.elementStrides[i]);
              inside = inside && p >= 0 && p < static_cast<int64_t>(m.dims[i]);
              where += p * static_cast<int64_t>(i == 0 ? size : m.strides[i]);
            }
            visit(keptAt(m.swizzle, linear * size), inside ? where : -1);
            ++linear;
          }
        }
      }
    }
  }
}

std::vector<uint8_t> noise(size_t n, Random& r) {
  std::vector<uint8_t> v(n);
  for (uint8_t& b : v) b = static_cast<uint8_t>(r.next());
  return v;
}

struct Scene {
  Harness h;
  Buffer<uint8_t> tensor, map, data;
  Scene(const std::string& text, Case& c, const std::vector<uint8_t>& contents,
        const std::vector<uint8_t>& tile)
      : h(text),
        tensor(h.buffer(contents, "tensor")),
        map(h.buffer(std::vector<uint8_t>(kTensorMapBytes), "map")),
        data(h.buffer(tile, "data")) {
    c.map.address = tensor.address();
    EXPECT_EQ(encodeTensorMap(c.map, map.view().data()), "");
  }
  LaunchResult run(const char* kernel, const Case& c) {
    return h.run(kernel, {1, 1, 1}, {1, 1, 1}, map, data, c.at[0], c.at[1], c.at[2], c.at[3],
                 c.at[4], spanOf(c.map), c.map.boxBytes());
  }
};

TEST(TensorCopy, Loads) {
  Random r{1};
  for (int i = 0; i < 250; ++i) {
    Case c = draw(r);
    std::vector<uint8_t> contents = noise(c.bytes, r);
    Scene s(kernels(c.map.rank), c, contents, std::vector<uint8_t>(spanOf(c.map)));
    ASSERT_TRUE(s.h.ok()) << s.h.errors();
    s.h.config.seed = static_cast<uint64_t>(i % 5);
    s.h.config.checks = i % 3 == 0 ? Checks::none : Checks::all;
    LaunchResult result = s.run("load", c);
    ASSERT_EQ(result.status, LaunchStatus::ok) << s.h.errors();
    std::vector<uint8_t> want(spanOf(c.map), 0xcd);  // What memory starts with.
    unsigned size = tensorTypeBytes(c.map.type);
    eachElement(c, [&](uint32_t at, int64_t from) {
      for (unsigned b = 0; b < size; ++b) {
        uint8_t fill = !c.map.nanFill ? 0 : b == size - 1 ? 0x7f : 0xff;
        want[at + b] = from < 0 ? fill : contents[static_cast<size_t>(from) + b];
      }
    });
    ASSERT_EQ(s.data.values(), want) << i;
  }
}

TEST(TensorCopy, Stores) {
  Random r{2};
  for (int i = 0; i < 250; ++i) {
    Case c = draw(r);
    std::vector<uint8_t> contents = noise(c.bytes, r), tile = noise(spanOf(c.map), r);
    Scene s(kernels(c.map.rank), c, contents, tile);
    ASSERT_TRUE(s.h.ok()) << s.h.errors();
    s.h.config.seed = static_cast<uint64_t>(i % 5);
    s.h.config.checks = i % 3 == 0 ? Checks::none : Checks::all;
    LaunchResult result = s.run("store", c);
    ASSERT_EQ(result.status, LaunchStatus::ok) << s.h.errors();
    unsigned size = tensorTypeBytes(c.map.type);
    eachElement(c, [&](uint32_t at, int64_t to) {
      for (unsigned b = 0; to >= 0 && b < size; ++b) {
        contents[static_cast<size_t>(to) + b] = tile[at + b];
      }
    });
    ASSERT_EQ(s.tensor.values(), contents) << i;
  }
}

TEST(TensorCopy, Reduces) {
  Random r{3};
  for (int i = 0; i < 60; ++i) {
    Case c = draw(r);
    if (c.map.type != TensorType::s32) continue;
    std::vector<uint8_t> contents = noise(c.bytes, r), tile = noise(spanOf(c.map), r);
    Scene s(kernels(c.map.rank, "max"), c, contents, tile);
    ASSERT_TRUE(s.h.ok()) << s.h.errors();
    LaunchResult result = s.run("store", c);
    ASSERT_EQ(result.status, LaunchStatus::ok) << s.h.errors();
    eachElement(c, [&](uint32_t at, int64_t to) {
      if (to < 0) return;
      int32_t a, b;
      std::memcpy(&a, &contents[static_cast<size_t>(to)], 4);
      std::memcpy(&b, &tile[at], 4);
      if (b > a) std::memcpy(&contents[static_cast<size_t>(to)], &b, 4);
    });
    ASSERT_EQ(s.tensor.values(), contents) << i;
  }
}

TEST(TensorCopy, RefusesMaps) {
  auto report = [](Case c, bool clobber, const std::string& text) {
    Scene s(text, c, std::vector<uint8_t>(c.bytes), std::vector<uint8_t>(spanOf(c.map)));
    EXPECT_TRUE(s.h.ok()) << s.h.errors();
    if (clobber) s.map[0] ^= 1;
    LaunchResult result = s.run("load", c);
    EXPECT_EQ(result.status, LaunchStatus::faulted);
    return result.reports.empty() ? DiagId::SimRace : result.reports[0].id;
  };
  Case c;
  c.map.rank = 2;
  c.map.type = TensorType::f32;
  c.map.dims = {16, 4};
  c.map.strides = {0, 64};
  c.map.box = {16, 4};
  c.bytes = 256;
  EXPECT_TRUE(report(c, true, kernels(2)) == DiagId::SimTensorMap);
  EXPECT_TRUE(report(c, false, kernels(3)) == DiagId::SimTensorMap);
  Case converts = c;
  converts.map.type = TensorType::tf32;
  EXPECT_TRUE(report(converts, false, kernels(2)) == DiagId::SimTensorMap);
  // The map claims more than there is.
  Case large = c;
  large.map.dims[1] = 8;
  large.at[1] = 4;
  EXPECT_TRUE(report(large, false, kernels(2)) == DiagId::SimOutOfBounds);
}

TEST(TensorMap, LimitsOfTheDocumentation) {
  TensorMap good;
  good.type = TensorType::f16;
  good.rank = 3;
  good.address = 256;
  good.dims = {100, 50, 7};
  good.strides = {0, 208, 10400};
  good.box = {32, 8, 2, 1, 1};
  EXPECT_EQ(checkTensorMap(good), "");
  auto bad = [&](auto change) {
    TensorMap m = good;
    change(m);
    std::array<uint8_t, kTensorMapBytes> bytes{};
    return !encodeTensorMap(m, bytes.data()).empty();
  };
  EXPECT_TRUE(bad([](TensorMap& m) { m.rank = 0; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.rank = 6; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.address = 8; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.dims[1] = 0; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.dims[1] = (uint64_t{1} << 32) + 1; }));
  EXPECT_FALSE(bad([](TensorMap& m) { m.dims[2] = uint64_t{1} << 32; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.strides[1] = 200; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.strides[2] = uint64_t{1} << 40; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.box[2] = 0; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.box[2] = 257; }));
  EXPECT_FALSE(bad([](TensorMap& m) { m.box = {8, 256, 2}; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.box[0] = 12; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.elementStrides[1] = 0; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.elementStrides[1] = 9; }));
  EXPECT_TRUE(bad([](TensorMap& m) { m.swizzle = TensorSwizzle::bytes32; }));
  EXPECT_FALSE(bad([](TensorMap& m) { m.swizzle = TensorSwizzle::bytes64; }));
  EXPECT_TRUE(bad([](TensorMap& m) {
    m.type = TensorType::u16;
    m.nanFill = true;
  }));
  // What goes in comes out.
  std::array<uint8_t, kTensorMapBytes> bytes{};
  good.nanFill = true;
  good.swizzle = TensorSwizzle::bytes128;
  good.elementStrides = {1, 2, 8, 1, 1};
  EXPECT_EQ(encodeTensorMap(good, bytes.data()), "");
  TensorMap back;
  ASSERT_TRUE(decodeTensorMap(bytes.data(), back));
  EXPECT_EQ(back.type, good.type);
  EXPECT_EQ(back.rank, good.rank);
  EXPECT_EQ(back.address, good.address);
  EXPECT_EQ(back.box, good.box);
  EXPECT_EQ(back.elementStrides, good.elementStrides);
  EXPECT_EQ(back.strides, good.strides);
  EXPECT_TRUE(back.nanFill);
}

}  // namespace
}  // namespace mtlc::sim
