// Faults of wgmma, see known_bad_test.cc.

#include <iterator>

#include "mtlc/sim/testing/known_bad.h"

namespace mtlc::sim::known_bad {
namespace {

// %tid.x in %r0, out in %rd1. Descriptors without a swizzle, by K: of A's 64
// rows in %rd3, of B's 8 columns in %rd4. All of the memory is written, and a fence after it. D in
// %f0 to %f3, another in %f4 to %f7; A in %r1 to %r4.
constexpr const char* kHead = R"(.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<20>;
  .shared .align 1024 .b8 tile[4096];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd1, [out];
  mov.u32 %r20, tile;
  shl.b32 %r21, %r0, 4;
  add.u32 %r21, %r20, %r21;
  mov.b32 %r1, 0;
  mov.b32 %r2, 0;
  mov.b32 %r3, 0;
  mov.b32 %r4, 0;
  setp.lt.u32 %p9, %r0, 128;
  @%p9 st.shared.v4.b32 [%r21], {%r1, %r1, %r1, %r1};
  @%p9 st.shared.v4.b32 [%r21+2048], {%r1, %r1, %r1, %r1};
  mov.f32 %f0, 0f00000000;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, 0f00000000;
  mov.f32 %f3, 0f00000000;
  mov.f32 %f4, 0f00000000;
  mov.f32 %f5, 0f00000000;
  mov.f32 %f6, 0f00000000;
  mov.f32 %f7, 0f00000000;
  shr.u32 %r22, %r20, 4;
  cvt.u64.u32 %rd3, %r22;
  add.u64 %rd4, %rd3, 128;
  or.b64 %rd3, %rd3, 0x0000000800400000;
  or.b64 %rd4, %rd4, 0x0000000800080000;
  fence.proxy.async;
  bar.sync 0;
)";

const Row kRows[] = {
    // ---- async: registers ----
    {"result_read_before_the_wait", DiagId::SimWarpgroupFlight, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
  wgmma.commit_group.sync.aligned;
+  wgmma.wait_group.sync.aligned 0;
  add.f32 %f8, %f2, 0f3f800000; // BAD
-  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"result_of_a_group_that_may_be_under_way", DiagId::SimWarpgroupFlight, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 1;
+  add.f32 %f8, %f0, 0f3f800000;
-  add.f32 %f8, %f4, 0f3f800000; // BAD
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"result_of_no_group", DiagId::SimWarpgroupFlight, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
+  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.f32 %f8, %f3, 0f3f800000; // BAD
)",
     128},
    {"a_written_before_the_wait", DiagId::SimWarpgroupFlight, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, %rd4, 1, 1, 1, 0; // OTHER
  wgmma.commit_group.sync.aligned;
+  wgmma.wait_group.sync.aligned 0;
  mov.b32 %r3, 1; // BAD
-  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"no_fence_before_the_first", DiagId::SimWarpgroupFence, R"(
+  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 0, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"no_fence_after_a_write_to_a", DiagId::SimWarpgroupFence, R"(
-  wgmma.fence.sync.aligned;
  mov.b32 %r3, 1;
+  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, %rd4, 1, 1, 1, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"no_fence_after_a_read_of_d", DiagId::SimWarpgroupFence, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  add.f32 %f8, %f3, 0f3f800000;
+  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"no_fence_between_shapes", DiagId::SimWarpgroupFence, R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0;
+  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    // ---- async: memory ----
    {"b_written_before_the_wait", DiagId::SimAsyncSource, R"(
  setp.lt.u32 %p1, %r0, 4;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
  wgmma.commit_group.sync.aligned;
+  wgmma.wait_group.sync.aligned 0;
  bar.sync 0;
  @%p1 st.shared.b32 [%r21+2048], %r1; // BAD
-  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"no_proxy_fence_after_a_store", DiagId::SimAsyncProxy, R"(
  st.shared.b32 [%r21], %r1;
+  fence.proxy.async;
  bar.sync 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    {"copy_that_has_not_arrived", DiagId::SimAsyncUndelivered, R"(
  setp.eq.u32 %p1, %r0, 0;
  @%p1 cp.async.ca.shared.global [%r20+2048], [%rd1], 16; // OTHER
  cp.async.commit_group;
+  cp.async.wait_group 0;
+  bar.sync 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::async},
    {"copy_to_what_is_still_read", DiagId::SimAsyncSource, R"(
  setp.eq.u32 %p1, %r0, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
  wgmma.commit_group.sync.aligned;
+  wgmma.wait_group.sync.aligned 0;
  bar.sync 0;
  @%p1 cp.async.ca.shared.global [%r20+2048], [%rd1], 16; // BAD
  cp.async.wait_all;
-  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::async},
    // ---- race, mem ----
    {"no_barrier_after_the_stores", DiagId::SimRace, R"(
  st.shared.b32 [%r21], %r1; // BAD
  fence.proxy.async;
+  bar.sync 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::race},
    {"beyond_shared_memory", DiagId::SimOutOfBounds, R"(
-  add.u64 %rd4, %rd4, 128;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128},
    // ---- sync ----
    {"a_warpgroup_of_three_warps", DiagId::SimWarpgroupWarps, R"(
-  setp.lt.u32 %p1, %r0, 256;
+  setp.lt.u32 %p1, %r0, 128;
  @!%p1 bra E;
  wgmma.fence.sync.aligned; // BAD
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
E:
)",
     224, 1, Checks::sync},
    {"warps_do_not_do_the_same", DiagId::SimWarpgroupDiffers, R"(
  setp.lt.u32 %p1, %r0, 32;
  wgmma.fence.sync.aligned;
  @%p1 bra L;
-  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // OTHER
L:
  wgmma.commit_group.sync.aligned; // BAD
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::sync},
    {"a_warp_never_comes", DiagId::SimWarpgroupMissing, R"(
-  setp.lt.u32 %p1, %r0, 96;
+  setp.lt.u32 %p1, %r0, 128;
  @!%p1 bra E;
  wgmma.fence.sync.aligned; // BAD
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
E:
)",
     128, 1, Checks::sync},
    {"descriptors_differ_between_warps", DiagId::SimWarpgroupOperand, R"(
  setp.lt.u32 %p1, %r0, 32;
-  @%p1 add.u64 %rd4, %rd4, 8;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::sync},
    {"descriptors_differ_between_lanes", DiagId::SimWarpgroupOperand, R"(
  setp.eq.u32 %p1, %r0, 77;
-  @%p1 add.u64 %rd3, %rd3, 8;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, 1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::sync},
    {"scale_d_differs", DiagId::SimWarpgroupOperand, R"(
-  setp.lt.u32 %p1, %r0, 100;
+  setp.lt.u32 %p1, %r0, 128;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd3, %rd4, %p1, 1, 1, 0, 0; // BAD
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
)",
     128, 1, Checks::sync},
    {"half_a_warp", DiagId::SimMatrixLanes, R"(
-  setp.lt.u32 %p1, %r0, 112;
+  setp.lt.u32 %p1, %r0, 128;
  @!%p1 exit;
  wgmma.fence.sync.aligned; // BAD
)",
     128, 1, Checks::sync},
};

}  // namespace

const std::vector<Row>& warpgroupRows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> out(std::begin(kRows), std::end(kRows));
    for (Row& row : out) row.head = kHead;
    return out;
  }();
  return rows;
}

}  // namespace mtlc::sim::known_bad
