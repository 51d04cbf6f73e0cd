// The example of docs/simulator.md, which repeats the marked lines; compiled, run and compared
// here.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// begin
#include "mtlc/sim/device.h"
#include "mtlc/sim/observer.h"

// Counts the bytes that a kernel stores.
class StoreCounter : public mtlc::sim::Observer {
 public:
  bool sequential() const override { return true; }  // One host thread, so no lock.
  void access(mtlc::sim::Warp&, const mtlc::sim::Access& a) override {
    if (a.kind == mtlc::sim::AccessKind::store) bytes += a.bytes * __builtin_popcount(a.mask);
  }
  uint64_t bytes = 0;
};

bool fill(const std::string& ptx, float value, std::vector<float>& out, uint64_t* bytes) {
  mtlc::SourceManager sources;
  mtlc::DiagnosticEngine diags;
  mtlc::sim::Device device;
  mtlc::sim::Module* module = device.load(sources.add("fill.ptx", ptx), sources, diags);
  const mtlc::sim::Kernel* kernel = module ? module->kernel("fill") : nullptr;
  if (!kernel) return false;
  mtlc::sim::Allocation* buffer = device.memory().allocate(out.size() * sizeof(float), 256, "out");
  if (!buffer) return false;

  StoreCounter counter;
  mtlc::sim::LaunchConfig config;
  config.grid = {(static_cast<uint32_t>(out.size()) + 127) / 128, 1, 1};
  config.block = {128, 1, 1};
  config.checks = mtlc::sim::Checks::all;
  config.readBack = {buffer};
  config.observers = {&counter};
  mtlc::sim::ParamPacker arguments(*kernel);
  if (!arguments.add(buffer->begin) || !arguments.add(value) ||
      !arguments.add(static_cast<uint32_t>(out.size()))) {
    return false;  // The kernel has other parameters.
  }
  config.params = arguments.take();

  mtlc::sim::LaunchResult result = device.launch(*kernel, config, diags);
  if (result.status != mtlc::sim::LaunchStatus::ok) {
    std::fputs(mtlc::renderHuman(diags, sources).c_str(), stderr);
    return false;
  }
  std::memcpy(out.data(), buffer->host, out.size() * sizeof(float));
  *bytes = counter.bytes;
  return true;
}
// end

namespace {

std::string ptx(const char* bound) {
  return std::string(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 out, .param .f32 value, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.f32 %f1, [value];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r4, %r3, 128, %r2;
  setp.)") +
         bound + R"(.u32 %p1, %r4, %r1;
  @%p1 ret;
  mul.wide.u32 %rd2, %r4, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.f32 [%rd3], %f1;
  ret;
}
)";
}

TEST(Example, Runs) {
  std::vector<float> out(300);
  uint64_t bytes = 0;
  ASSERT_TRUE(fill(ptx("ge"), 2.5f, out, &bytes));
  EXPECT_EQ(out, std::vector<float>(300, 2.5f));
  EXPECT_EQ(bytes, 1200u);
  EXPECT_FALSE(fill(ptx("gt"), 2.5f, out, &bytes));  // One element too many.
  EXPECT_FALSE(fill("nonsense", 2.5f, out, &bytes));
}

std::string textOf(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Example, IsTheOneOfTheDocumentation) {
  std::string source = textOf("mtlc/sim/example_test.cc");
  std::string doc = textOf("docs/simulator.md");
  size_t begin = source.find("\n// begin\n") + 10, end = source.find("// end\n", begin);
  size_t shown = doc.find("```cpp\n") + 7, shownEnd = doc.find("```", shown);
  ASSERT_NE(end, std::string::npos);
  ASSERT_NE(shownEnd, std::string::npos);
  EXPECT_EQ(source.substr(begin, end - begin), doc.substr(shown, shownEnd - shown));
}

}  // namespace
