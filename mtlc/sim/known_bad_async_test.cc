// Faults of asynchronous copies: rows of the table of known_bad_test.cc, where the way to write
// them is explained.

#include "mtlc/sim/testing/known_bad.h"

namespace mtlc::sim::known_bad {

const std::vector<Row>& asyncRows() {
  static const std::vector<Row> rows = {
      // ---- async ----
      {"async_read_before_the_wait", DiagId::SimAsyncUndelivered, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.wait_all;
  ld.shared.u32 %r1, [%r21]; // BAD
)"},
      {"async_wait_for_too_few_groups", DiagId::SimAsyncUndelivered, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
  cp.async.commit_group;
-  cp.async.wait_group 1;
+  cp.async.wait_group 0;
  ld.shared.u32 %r1, [%r21]; // BAD
)"},
      {"async_wait_without_commit", DiagId::SimAsyncUndelivered, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.u32 %r1, [%r21]; // BAD
  cp.async.wait_all;
)"},
      {"async_read_of_another_threads_copy", DiagId::SimAsyncUndelivered, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.wait_all;
  bar.sync 0;
  xor.b32 %r1, %r21, 128;
  ld.shared.u32 %r2, [%r1]; // BAD
)"},
      {"async_no_barrier_after_the_wait", DiagId::SimRace, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
  cp.async.wait_all;
+  bar.sync 0;
  xor.b32 %r1, %r21, 4;
  ld.shared.u32 %r2, [%r1]; // BAD
)",
       32},
      {"async_stage_overwritten_by_a_store", DiagId::SimAsyncOverwrite, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.wait_all;
  st.shared.u32 [%r21], %r0; // BAD
)"},
      {"async_stage_overwritten_by_a_copy", DiagId::SimAsyncOverwrite, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.wait_all;
  cp.async.ca.shared.global [%r21], [%rd2], 4; // BAD
)"},
      {"async_stage_overwritten_while_it_is_read", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0;
  bar.sync 0;
  xor.b32 %r1, %r21, 4;
  ld.shared.u32 %r2, [%r1]; // OTHER
+  bar.sync 0;
  cp.async.ca.shared.global [%r21], [%rd2], 4; // BAD
)",
       32},
      {"async_source_changed", DiagId::SimAsyncSource, R"(
  cp.async.ca.shared.global [%r21], [%rd2], 4; // OTHER
+  cp.async.wait_all;
  st.global.u32 [%rd2], %r0; // BAD
)"},
      {"async_source_past_the_end", DiagId::SimOutOfBounds, R"(
-  cp.async.ca.shared.global [%r21], [%rd2+4], 4; // BAD
+  cp.async.ca.shared.global [%r21], [%rd2], 4;
)"},

      // ---- async: bulk copies ----
      {"async_bulk_read_before_the_wait", DiagId::SimAsyncUndelivered, R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 64, [bar]; // OTHER
-  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1;
+W:
+  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
+  @!%p1 bra W;
  ld.shared.u32 %r1, [%r20]; // BAD
-W:
-  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
-  @!%p1 bra W;
)",
       1},
      {"async_bulk_waited_for_by_another_thread", DiagId::SimRace, R"(
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra B;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 64, [bar]; // OTHER
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
B:
+  bar.sync 0;
  setp.ne.u32 %p3, %r0, 40;
  @%p3 bra E;
  mov.u32 %r3, 0;
L:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p4, %r3, 3000;
  @%p4 bra L;
  ld.shared.u32 %r1, [%r20]; // BAD
E:
)"},
      {"async_stage_overwritten_by_a_bulk_copy", DiagId::SimAsyncOverwrite, R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 64, [bar]; // OTHER
-  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1+64], 64, [bar]; // BAD
+  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20+64], [%rd1+64], 64, [bar];
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
)",
       1},
      {"async_source_of_a_bulk_copy_changed", DiagId::SimAsyncSource, R"(
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 64; // OTHER
  cp.async.bulk.commit_group;
-  cp.async.bulk.wait_group.read 1;
+  cp.async.bulk.wait_group.read 0;
  st.shared.u32 [%r20], 1; // BAD
  cp.async.bulk.wait_group 0;
)",
       1},
      {"async_result_of_a_bulk_copy_read_too_early", DiagId::SimAsyncUndelivered, R"(
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 64; // OTHER
  cp.async.bulk.commit_group;
-  cp.async.bulk.wait_group.read 0;
+  cp.async.bulk.wait_group 0;
  ld.global.u32 %r1, [%rd1]; // BAD
)",
       1},
      {"async_block_ends_with_a_bulk_copy", DiagId::SimAsyncExit, R"(
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 64; // BAD
  cp.async.bulk.commit_group;
+  cp.async.bulk.wait_group.read 0;
)",
       1},
      {"async_block_ends_before_its_copy_arrives", DiagId::SimAsyncExit, R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 64, [bar]; // BAD
+W:
+  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
+  @!%p1 bra W;
)",
       1},
      {"async_no_proxy_fence_before_a_bulk_store", DiagId::SimAsyncProxy, R"(
  st.shared.u32 [%r21], %r0;
+  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 256; // BAD
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
E:
)"},
      // The fence comes before the write.
      {"async_proxy_fence_too_early", DiagId::SimAsyncProxy, R"(
-  fence.proxy.async;
  st.shared.u32 [%r21], %r0;
+  fence.proxy.async;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 256; // BAD
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
E:
)"},
      // One for the other space.
      {"async_proxy_fence_of_another_space", DiagId::SimAsyncProxy, R"(
  st.shared.u32 [%r21], %r0;
-  fence.proxy.async.global;
+  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 256; // BAD
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
E:
)"},
      {"async_no_proxy_fence_before_a_bulk_load", DiagId::SimAsyncProxy, R"(
  st.global.u32 [%rd2], %r0;
+  fence.proxy.async.global;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 256, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
E:
)"},
      {"async_proxy_fence_of_shared_memory_before_a_bulk_load", DiagId::SimAsyncProxy, R"(
  st.global.u32 [%rd2], %r0;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  mbarrier.init.shared.b64 [bar], 1;
-  fence.proxy.async.shared::cta;
+  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 256, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
E:
)"},
      // Of a thread that neither writes nor copies: only between two barriers.
      {"async_proxy_fence_of_a_third_thread", DiagId::SimAsyncProxy, R"(
  setp.eq.u32 %p3, %r0, 63;
  @!%p3 st.global.u32 [%rd2], %r0;
+  bar.sync 0;
  @%p3 fence.proxy.async;
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra E;
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 256, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
E:
)"},
      // An atomic operation is a write of the generic proxy, too.
      {"async_no_proxy_fence_after_an_atomic_operation", DiagId::SimAsyncProxy, R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  red.global.add.u32 [%rd1+16], 1;
+  fence.proxy.async.global;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 256, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
)",
       1},
      // What a bulk store has written since needs no fence.
      {"async_bulk_store_over_a_generic_write", DiagId::SimAsyncProxy, R"(
  mbarrier.init.shared.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  st.global.u32 [%rd1], 7;
  st.shared.u32 [%r20], 9;
  fence.proxy.async.shared::cta;
+  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 16;
-  cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%r20], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20+32], [%rd1], 32, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
)",
       1},
      {"async_load_before_a_st_async_has_come", DiagId::SimAsyncUndelivered, R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r20], 7, [bar]; // OTHER
-  ld.shared.u32 %r1, [%r20]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
+  ld.shared.u32 %r1, [%r20];
)",
       1},
      // Its bytes came through the generic proxy.
      {"async_no_proxy_fence_after_a_st_async", DiagId::SimAsyncProxy, R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r20], {%r0, %r0, %r0, %r0}, [bar];
-  fence.proxy.async.shared::cta;
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
+  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r20], 16; // BAD
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
)",
       1},
      {"async_store_over_a_red_async", DiagId::SimAsyncOverwrite, R"(
  st.shared.u32 [%r20], 7;
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r20], 7, [bar];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r20], 7, [bar]; // OTHER
-  st.shared.u32 [%r20], 8; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
)",
       1},
      {"async_no_fence_after_the_initialisation", DiagId::SimAsyncInitFence, R"(
  mbarrier.init.shared.b64 [bar], 1;
+  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd1], 64, [bar]; // BAD
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
  @!%p1 bra W;
)",
       1},
  };
  return rows;
}

}  // namespace mtlc::sim::known_bad
