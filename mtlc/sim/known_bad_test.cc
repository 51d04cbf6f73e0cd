// A table of faults, one row per kind and memory space: the bad kernel is reported exactly once, at
// the marked line, and the good one, which differs in a line or two, reports nothing.
//
// Rows are written like a difference of two texts: lines that begin with '-' are in the bad kernel
// only, with '+' in the good one only. "// BAD" marks the line that the report names, "// OTHER"
// the line of a race's other access; without it, both are at one line.

#include "mtlc/sim/testing/known_bad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mtlc/sim/testing/harness.h"

namespace mtlc::sim {
namespace {

// %tid.x in %r0, its byte offset in %rd0, out in %rd1, out + offset in %rd2.
constexpr std::string_view kHead = R"(.version 8.8
.target sm_90
.address_size 64
.const .align 4 .u32 constants[2] = {1, 2};
.global .align 4 .u32 counter = 0;
.visible .entry k(.param .u64 out) {
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<10>;
  .shared .align 16 .b8 tile[256];
  .shared .align 8 .b8 bar[16];
  .local .align 16 .b8 own[32];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 4;
  ld.param.u64 %rd1, [out];
  add.u64 %rd2, %rd1, %rd0;
  mov.u32 %r20, tile;
  shl.b32 %r21, %r0, 2;
  add.u32 %r21, %r20, %r21;
  mov.u64 %rd15, own;
)";

using known_bad::Row;

const Row kRows[] = {
    // ---- mem ----
    {"mem_global_past_the_end", DiagId::SimOutOfBounds, R"(
-  st.global.u32 [%rd2+4], 1; // BAD
+  st.global.u32 [%rd2], 1;
)"},
    {"mem_global_before_the_begin", DiagId::SimOutOfBounds, R"(
-  ld.global.u32 %r1, [%rd2+-4]; // BAD
+  ld.global.u32 %r1, [%rd2];
)"},
    {"mem_guard_zone", DiagId::SimOutOfBounds, R"(
-  st.global.u8 [%rd1+511], 1; // BAD
+  st.global.u8 [%rd1+255], 1;
)",
     1},
    {"mem_shared", DiagId::SimOutOfBounds, R"(
-  st.shared.u32 [%r21+64], 1; // BAD
+  st.shared.u32 [%r21], 1;
)"},
    {"mem_shared_wraps_below", DiagId::SimOutOfBounds, R"(
-  st.shared.u32 [%r20+-4], 1; // BAD
+  st.shared.u32 [%r20], 1;
)"},
    {"mem_local", DiagId::SimOutOfBounds, R"(
-  st.local.u32 [%rd15+32], 1; // BAD
+  st.local.u32 [%rd15+28], 1;
)"},
    {"mem_alloca", DiagId::SimOutOfBounds, R"(
  add.u64 %rd3, %rd0, 8;
  alloca.u64 %rd4, %rd3;
  alloca.u64 %rd5, %rd3;
  add.u64 %rd6, %rd5, %rd0;
-  st.local.u32 [%rd6+8], 1; // BAD
+  st.local.u32 [%rd6+4], 1;
)"},
    {"mem_alloca_given_back", DiagId::SimOutOfBounds, R"(
  stacksave.u64 %rd3;
  alloca.u64 %rd4, 64;
-  stackrestore.u64 %rd3;
  st.local.u32 [%rd4], 1; // BAD
)"},
    {"mem_alloca_too_much", DiagId::SimStackOverflow, R"(
-  alloca.u64 %rd4, 70000; // BAD
+  alloca.u64 %rd4, 60000;
)"},
    {"mem_const", DiagId::SimOutOfBounds, R"(
  mov.u64 %rd3, constants;
-  ld.const.u32 %r1, [%rd3+8]; // BAD
+  ld.const.u32 %r1, [%rd3+4];
)"},
    {"mem_param", DiagId::SimOutOfBounds, R"(
  mov.b64 %rd3, out;
-  ld.param.u32 %r1, [%rd3+8]; // BAD
+  ld.param.u32 %r1, [%rd3+4];
)"},
    {"mem_generic_global", DiagId::SimOutOfBounds, R"(
-  ld.u32 %r1, [%rd2+4]; // BAD
+  ld.u32 %r1, [%rd2];
)"},
    {"mem_generic_shared", DiagId::SimOutOfBounds, R"(
  mov.u64 %rd3, tile;
  cvta.shared.u64 %rd3, %rd3;
-  st.u32 [%rd3+256], 1; // BAD
+  st.u32 [%rd3+252], 1;
)"},
    {"mem_generic_local", DiagId::SimOutOfBounds, R"(
  cvta.local.u64 %rd3, %rd15;
-  st.u32 [%rd3+32], 1; // BAD
+  st.u32 [%rd3+28], 1;
)"},
    {"mem_generic_in_no_window", DiagId::SimOutOfBounds, R"(
-  mov.u64 %rd3, 0x7000000000000000;
+  mov.u64 %rd3, %rd1;
  ld.u32 %r1, [%rd3]; // BAD
)"},
    {"mem_half_outside", DiagId::SimOutOfBounds, R"(
-  ld.global.v2.u32 {%r1, %r2}, [%rd1+256]; // BAD
+  ld.global.v2.u32 {%r1, %r2}, [%rd1+248];
)"},
    {"mem_atomic", DiagId::SimOutOfBounds, R"(
-  atom.global.add.u32 %r1, [%rd1+256], 1; // BAD
+  atom.global.add.u32 %r1, [%rd1+252], 1;
)"},
    // Neighbours in one space: an index that leaves a variable does not reach the next.
    {"mem_shared_neighbour_after", DiagId::SimOutOfBounds, R"(
  .shared .align 16 .b8 next[256];
  mov.u32 %r1, next;
  st.shared.u32 [%r1], 0;
-  st.shared.u32 [%r21+4], 1; // BAD
+  st.shared.u32 [%r21], 1;
)"},
    {"mem_shared_neighbour_before", DiagId::SimOutOfBounds, R"(
  .shared .align 4 .b8 next[256];
  mov.u32 %r1, next;
  add.u32 %r1, %r1, %r21;
  sub.u32 %r1, %r1, %r20;
-  st.shared.u32 [%r1+-4], 1; // BAD
+  st.shared.u32 [%r1], 1;
)"},
    {"mem_shared_neighbour_straddled", DiagId::SimOutOfBounds, R"(
  .shared .align 16 .b8 next[24];
-  st.shared.v4.u32 [next+16], {%r0, %r0, %r0, %r0}; // BAD
+  st.shared.v2.u32 [next+16], {%r0, %r0};
)",
     1},
    {"mem_generic_shared_neighbour", DiagId::SimOutOfBounds, R"(
  .shared .align 16 .b8 next[256];
  mov.u64 %rd3, tile;
  cvta.shared.u64 %rd3, %rd3;
  add.u64 %rd3, %rd3, %rd0;
-  st.u32 [%rd3+4], 1; // BAD
+  st.u32 [%rd3], 1;
)"},
    {"mem_shared_before_dynamic", DiagId::SimOutOfBounds, R"(
-  st.shared.u32 [%r21+4], 1; // BAD
+  st.shared.u32 [%r21], 1;
)",
     64, 1, Checks::all, false, 512},
    {"mem_local_neighbour_after", DiagId::SimOutOfBounds, R"(
  .local .align 4 .b8 mine[32];
  and.b64 %rd3, %rd0, 31;
  add.u64 %rd3, %rd3, %rd15;
-  st.local.u32 [%rd3+4], 1; // BAD
+  st.local.u32 [%rd3], 1;
  st.local.u32 [mine], 1;
)"},
    {"mem_local_neighbour_before", DiagId::SimOutOfBounds, R"(
  .local .align 4 .b8 mine[32];
-  st.local.u32 [mine+-4], 1; // BAD
+  st.local.u32 [mine], 1;
)"},
    {"mem_generic_local_neighbour", DiagId::SimOutOfBounds, R"(
  .local .align 4 .b8 mine[32];
  mov.u64 %rd3, mine;
  cvta.local.u64 %rd3, %rd3;
-  st.u32 [%rd3+-4], 1; // BAD
+  st.u32 [%rd3], 1;
)"},
    {"mem_misaligned_global", DiagId::SimMisaligned, R"(
-  ld.global.u32 %r1, [%rd1+2]; // BAD
+  ld.global.u32 %r1, [%rd1+4];
)"},
    // BC-25: a base at a multiple of 16 does not make base + row * 4740 one.
    {"mem_misaligned_vector_of_a_row", DiagId::SimMisaligned, R"(
-  mul.wide.u32 %rd3, %r0, 20;
+  mul.wide.u32 %rd3, %r0, 16;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd3]; // BAD
)",
     4},
    {"mem_misaligned_shared", DiagId::SimMisaligned, R"(
-  ld.shared.u16 %h1, [%r20+1]; // BAD
+  ld.shared.u16 %h1, [%r20+2];
)"},
    {"mem_misaligned_local", DiagId::SimMisaligned, R"(
-  st.local.u64 [%rd15+4], %rd1; // BAD
+  st.local.u64 [%rd15+8], %rd1;
)"},
    {"mem_misaligned_const", DiagId::SimMisaligned, R"(
  mov.u64 %rd3, constants;
-  ld.const.u32 %r1, [%rd3+1]; // BAD
+  ld.const.u8 %r1, [%rd3+1];
)"},
    {"mem_misaligned_atomic", DiagId::SimMisaligned, R"(
-  red.global.add.u64 [%rd1+4], 1; // BAD
+  red.global.add.u64 [%rd1+8], 1;
)"},
    {"mem_null", DiagId::SimNull, R"(
-  mov.u64 %rd3, 0;
+  mov.u64 %rd3, %rd1;
  ld.global.u32 %r1, [%rd3]; // BAD
)"},
    {"mem_field_of_null", DiagId::SimNull, R"(
-  mov.u64 %rd3, 0;
+  mov.u64 %rd3, %rd1;
  ld.u32 %r1, [%rd3+16]; // BAD
)"},
    {"mem_shared_as_global", DiagId::SimWrongWindow, R"(
  mov.u64 %rd3, tile;
  cvta.shared.u64 %rd3, %rd3;
-  st.global.u32 [%rd3], 1; // BAD
+  st.u32 [%rd3], 1;
)"},
    {"mem_local_as_global", DiagId::SimWrongWindow, R"(
  cvta.local.u64 %rd3, %rd15;
-  st.global.u32 [%rd3], 1; // BAD
+  st.u32 [%rd3], 1;
)"},
    {"mem_store_to_const", DiagId::SimReadOnly, R"(
  mov.u64 %rd3, constants;
  cvta.const.u64 %rd3, %rd3;
-  st.u32 [%rd3], 1; // BAD
+  ld.u32 %r1, [%rd3];
)"},

    // ---- init ----
    {"init_register_branch", DiagId::SimUninitialised, R"(
+  mov.u32 %r5, 0;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra L; // BAD
L:
)"},
    {"init_predicate_guard", DiagId::SimUninitialised, R"(
+  setp.eq.u32 %p1, %r0, 0;
  @%p1 st.global.u32 [%rd1], 1; // BAD
)"},
    {"init_global_branch", DiagId::SimUninitialised, R"(
+  st.global.u32 [%rd2], 1;
  ld.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra L; // BAD
L:
)",
     64, 1, Checks::all, true},
    {"init_shared_branch", DiagId::SimUninitialised, R"(
+  st.shared.u32 [%r21], 1;
  ld.shared.u32 %r1, [%r21];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra L; // BAD
L:
)"},
    {"init_local_branch", DiagId::SimUninitialised, R"(
+  st.local.u32 [%rd15+4], 1;
  ld.local.u32 %r1, [%rd15+4];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra L; // BAD
L:
)"},
    {"init_address", DiagId::SimUninitialised, R"(
+  mov.u32 %r5, 1;
  and.b32 %r6, %r5, 3;
  mul.wide.u32 %rd3, %r6, 4;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.u32 %r1, [%rd3]; // BAD
)"},
    {"init_atomic_operand", DiagId::SimUninitialised, R"(
+  mov.u32 %r5, 1;
  red.global.add.u32 [%rd1], %r5; // BAD
)"},
    {"init_vote", DiagId::SimUninitialised, R"(
+  setp.eq.u32 %p1, %r0, 0;
  vote.sync.any.pred %p2, %p1, 0xffffffff; // BAD
)"},
    {"init_read_back_through_shared_and_local", DiagId::SimUninitReadBack, R"(
+  st.shared.u32 [%r21], 1;
  ld.shared.u32 %r1, [%r21];
  st.local.u32 [%rd15], %r1;
  ld.local.u32 %r2, [%rd15];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd2], %r2; // BAD
)"},
    // Three of four parts are written; the fourth is copied about and decides nothing.
    {"init_part_of_a_vector", DiagId::SimUninitialised, R"(
  mov.u32 %r1, 1;
  mov.u32 %r2, 2;
  mov.u32 %r3, 3;
  st.local.v4.u32 [%rd15], {%r1, %r2, %r3, %r4};
  ld.local.v4.u32 {%r5, %r6, %r7, %r8}, [%rd15];
-  setp.eq.u32 %p1, %r8, 3;
+  setp.eq.u32 %p1, %r7, 3;
  @%p1 bra L; // BAD
L:
)"},
    // struct {char a; int b;}: bytes 1 to 3 are padding.
    // Lanes of one stmatrix may store one row, if they agree about it.
    {"race_rows_of_stmatrix", DiagId::SimRace, R"(
  and.b32 %r1, %r0, 7;
  shr.u32 %r1, %r1, 1;
  mad.lo.u32 %r2, %r1, 16, %r20;
  shr.u32 %r3, %r0, 2;
-  shr.u32 %r3, %r3, 0;
+  shr.u32 %r3, %r3, 1;
  stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r3}; // BAD
)",
     32},
    // Elements of packed values are undefined one by one.
    {"init_upper_code", DiagId::SimUninitReadBack, R"(
  .reg .f32 %f20;
  mov.f32 %f1, 0f3f800000;
-  cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f20;
+  cvt.rn.satfinite.e4m3x2.f32 %h1, %f20, %f1;
  st.global.u8 [%rd2], %h1; // BAD
)"},
    {"init_upper_half", DiagId::SimUninitReadBack, R"(
  .reg .b16 %h20;
  mov.b16 %h1, 0x3c00;
-  mov.b32 %r1, {%h20, %h1};
+  mov.b32 %r1, {%h1, %h20};
  fma.rn.f16x2 %r1, %r1, %r1, %r1;
  cvt.rn.satfinite.e5m2x2.f16x2 %h2, %r1;
  st.global.u8 [%rd2], %h2; // BAD
)"},
    {"init_padding", DiagId::SimUninitialised, R"(
  st.local.u8 [%rd15], 7;
  st.local.u32 [%rd15+4], 9;
  ld.local.u64 %rd3, [%rd15];
  st.shared.u64 [%r20], %rd3;
-  and.b64 %rd4, %rd3, 0xffff;
+  and.b64 %rd4, %rd3, 0xff;
  setp.eq.u64 %p1, %rd4, 7;
  @%p1 bra L; // BAD
L:
)",
     1},

    // ---- race ----
    {"race_shared_write_write", DiagId::SimRace, R"(
  and.b32 %r1, %r0, 31;
  shl.b32 %r1, %r1, 2;
  add.u32 %r1, %r20, %r1;
-  st.shared.u32 [%r1], %r0; // BAD
+  st.shared.u32 [%r21], %r0;
)"},
    {"race_shared_read_after_write", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0; // OTHER
+  bar.sync 0;
  xor.b32 %r1, %r21, 128;
  ld.shared.u32 %r2, [%r1]; // BAD
)",
     64, 1, Checks::race},
    {"race_shared_write_after_read", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0;
  bar.sync 0;
  xor.b32 %r1, %r21, 128;
  ld.shared.u32 %r2, [%r1]; // OTHER
+  bar.sync 0;
  st.shared.u32 [%r21], %r2; // BAD
)",
     64, 1, Checks::race},
    {"race_between_lanes_of_a_warp", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0; // OTHER
+  bar.warp.sync 0xffffffff;
  xor.b32 %r1, %r21, 4;
  ld.shared.u32 %r2, [%r1]; // BAD
)",
     32},
    // Reads by others come first, in an epoch of their own or not; then each lane updates its word.
    {"race_update_after_reads_of_the_warp", DiagId::SimRace, R"(
  st.global.u32 [%rd2], %r0;
  bar.warp.sync 0xffffffff;
  xor.b64 %rd3, %rd2, 4;
  ld.global.u32 %r1, [%rd3];
+  bar.warp.sync 0xffffffff;
  ld.global.u32 %r2, [%rd2]; // OTHER
  add.u32 %r2, %r2, %r1;
  st.global.u32 [%rd2], %r2; // BAD
)",
     32},
    {"race_update_after_reads_of_one_word", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0;
  bar.warp.sync 0xffffffff;
  ld.shared.u32 %r1, [%r20];
+  bar.warp.sync 0xffffffff;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra L;
  ld.shared.u32 %r2, [%r20]; // OTHER
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r20], %r2; // BAD
L:
)",
     32},
    {"race_global_within_a_block", DiagId::SimRace, R"(
  st.global.u32 [%rd2], %r0; // OTHER
+  bar.sync 0;
  xor.b64 %rd3, %rd2, 128;
  ld.global.u32 %r2, [%rd3]; // BAD
)"},
    {"race_global_between_blocks", DiagId::SimRace, R"(
  mov.u32 %r1, %ctaid.x;
-  mul.wide.u32 %rd3, %r1, 0;
+  mul.wide.u32 %rd3, %r1, 128;
  add.u64 %rd3, %rd2, %rd3;
  st.global.u32 [%rd3], %r1; // BAD
)",
     32, 2},
    {"race_atomic_and_plain_load", DiagId::SimRace, R"(
  red.global.add.u32 [%rd1], 1; // OTHER
-  ld.global.u32 %r1, [%rd1]; // BAD
+  ld.relaxed.gpu.global.u32 %r1, [%rd1];
)"},
    {"race_atomic_and_plain_store", DiagId::SimRace, R"(
  setp.ne.u32 %p1, %r0, 0;
  @%p1 red.global.add.u32 [%rd1], 1; // OTHER
-  @!%p1 st.global.u32 [%rd1], 5; // BAD
+  @!%p1 st.relaxed.gpu.global.u32 [%rd1], 5;
)"},
    {"race_atomics_of_too_narrow_scope", DiagId::SimRace, R"(
-  red.relaxed.cta.global.add.u32 [%rd1], 1; // BAD
+  red.relaxed.gpu.global.add.u32 [%rd1], 1;
)",
     1, 2},
    // Each warp has a barrier of its own.
    {"race_over_different_barriers", DiagId::SimRace, R"(
  st.shared.u32 [%r21], %r0; // OTHER
  shr.u32 %r1, %r0, 5;
-  add.u32 %r1, %r1, 1;
-  bar.sync %r1, 32;
+  bar.sync 1, 64;
  xor.b32 %r1, %r21, 128;
  ld.shared.u32 %r2, [%r1]; // BAD
)",
     64, 1, Checks::race},

    // ---- sync: mbarriers ----
    {"sync_mbarrier_not_initialised", DiagId::SimMbarrierMissing, R"(
+  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.shared.b64 _, [bar]; // BAD
)",
     1},
    {"sync_mbarrier_after_inval", DiagId::SimMbarrierMissing, R"(
  mbarrier.init.shared.b64 [bar], 1;
-  mbarrier.inval.shared.b64 [bar];
  mbarrier.arrive.shared.b64 _, [bar]; // BAD
)",
     1},
    {"sync_mbarrier_init_over_a_live_one", DiagId::SimMbarrierLive, R"(
  mbarrier.init.shared.b64 [bar], 1;
+  mbarrier.inval.shared.b64 [bar];
  mbarrier.init.shared.b64 [bar], 2; // BAD
)",
     1},
    {"sync_mbarrier_count", DiagId::SimMbarrierCount, R"(
-  mov.u32 %r1, 0;
+  mov.u32 %r1, 1048575;
  mbarrier.init.shared.b64 [bar], %r1; // BAD
)",
     1},
    {"sync_mbarrier_too_many_arrivals", DiagId::SimMbarrierOverflow, R"(
  mbarrier.init.shared.b64 [bar], 2;
-  mbarrier.arrive.shared.b64 _, [bar], 3; // BAD
+  mbarrier.arrive.shared.b64 _, [bar], 2;
)",
     1},
    {"sync_mbarrier_no_complete", DiagId::SimMbarrierCompletes, R"(
  mbarrier.init.shared.b64 [bar], 2;
-  mbarrier.arrive.noComplete.shared.b64 %rd3, [bar], 2; // BAD
+  mbarrier.arrive.noComplete.shared.b64 %rd3, [bar], 1;
)",
     1},
    {"sync_mbarrier_bytes_underflow", DiagId::SimMbarrierBytes, R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.complete_tx.shared.b64 [bar], 1048575;
+  mbarrier.expect_tx.shared.b64 [bar], 1;
  mbarrier.complete_tx.shared.b64 [bar], 1; // BAD
)",
     1},
    {"sync_mbarrier_state_of_an_old_phase", DiagId::SimMbarrierPhase, R"(
  mbarrier.init.shared.b64 [bar], 1;
  mbarrier.arrive.shared.b64 %rd3, [bar];
-  mbarrier.arrive.shared.b64 _, [bar];
  mbarrier.test_wait.shared.b64 %p1, [bar], %rd3; // BAD
)",
     1},
    {"sync_mbarrier_ordinary_store", DiagId::SimMbarrierAccess, R"(
  mbarrier.init.shared.b64 [bar], 1;
+  mbarrier.inval.shared.b64 [bar];
  st.shared.u32 [bar+4], 1; // BAD
)",
     1},
    {"sync_mbarrier_never_completes", DiagId::SimMbarrierDeadlock, R"(
  setp.eq.u32 %p2, %r0, 0;
-  @%p2 mbarrier.init.shared.b64 [bar], 2;
+  @%p2 mbarrier.init.shared.b64 [bar], 1;
  bar.sync 0;
  @%p2 mbarrier.arrive.shared.b64 _, [bar];
W:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; // BAD
  @!%p1 bra W;
)",
     32},

    // ---- sync ----
    // BC-31: 48 is no multiple of 32.
    {"sync_barrier_in_part_of_a_warp", DiagId::SimBarrierExited, R"(
  setp.ge.u32 %p1, %r0, 48;
-  @%p1 bra L;
  st.shared.u32 [%r21], %r0;
  bar.sync 0; // BAD
L:
)"},
    {"sync_barriers_in_both_arms", DiagId::SimBarrierDiverged, R"(
  and.b32 %r1, %r0, 3;
-  setp.eq.u32 %p1, %r1, 0;
+  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra L;
  bar.sync 0; // BAD
  bra M;
L:
  bar.sync 0; // BAD
M:
)"},
    {"sync_early_return_before_a_barrier", DiagId::SimBarrierExited, R"(
  setp.ge.u32 %p1, %r0, 40;
-  @%p1 ret;
  bar.sync 0; // BAD
)"},
    {"sync_missing_lanes_of_a_vote", DiagId::SimMissingLanes, R"(
-  setp.ge.u32 %p1, %r0, 40;
+  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra L;
  vote.sync.ballot.b32 %r1, 1, 0xffffffff; // BAD
L:
  bar.sync 0;
)"},
    {"sync_missing_lanes_of_a_warp_barrier", DiagId::SimMissingLanes, R"(
-  setp.ge.u32 %p1, %r0, 40;
+  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra L;
  bar.warp.sync 0xffffffff; // BAD
L:
  bar.sync 0;
)"},
    {"sync_missing_lanes_of_a_reduction", DiagId::SimMissingLanes, R"(
-  setp.ge.u32 %p1, %r0, 40;
+  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra L;
  redux.sync.add.u32 %r1, %r0, 0xffffffff; // BAD
L:
  bar.sync 0;
)"},
    {"sync_lane_not_in_the_mask", DiagId::SimLaneNotNamed, R"(
-  vote.sync.any.pred %p1, 1, 0x0000ffff; // BAD
+  vote.sync.any.pred %p1, 1, 0xffffffff;
)",
     32},
    // BC-36: warp 1 has 16 lanes.
    {"sync_shuffle_in_a_partial_warp", DiagId::SimShuffleSource, R"(
-  shfl.sync.down.b32 %r1, %r0, 16, 31, 0xffffffff; // BAD
+  shfl.sync.bfly.b32 %r1, %r0, 8, 31, 0xffffffff;
  st.global.u32 [%rd2], %r1;
)",
     48},
    // The missing 32 threads never come.
    {"sync_arrive_and_sync_disagree", DiagId::SimDeadlock, R"(
  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra L;
-  bar.sync 1, 96; // BAD
+  bar.sync 1, 64;
  bra M;
L:
  bar.arrive 1, 64;
M:
)"},
    {"sync_deadlock_of_two_barriers", DiagId::SimDeadlock, R"(
  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra L;
-  bar.sync 1; // BAD
+  bar.sync 2;
  bra M;
L:
  bar.sync 2; // BAD
M:
)"},
};

struct Kernel {
  std::string text;
  std::vector<uint32_t> bad;
  std::vector<uint32_t> other;
};

Kernel kernelOf(const Row& row, char which) {
  Kernel k{row.head != nullptr ? row.head : std::string(kHead), {}, {}};
  uint32_t line = static_cast<uint32_t>(std::count(k.text.begin(), k.text.end(), '\n'));
  std::istringstream body(row.body);
  for (std::string text; std::getline(body, text);) {
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      if (text[0] != which) continue;
      text[0] = ' ';
    }
    ++line;
    if (text.find("// BAD") != std::string::npos) k.bad.push_back(line);
    if (text.find("// OTHER") != std::string::npos) k.other.push_back(line);
    k.text += text + "\n";
  }
  k.text += "  ret;\n}\n";
  return k;
}

bool contains(const std::vector<uint32_t>& lines, uint32_t line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

LaunchResult launch(Harness& h, const Row& row) {
  auto out = row.poison ? h.poison<uint32_t>(64, "out")
                        : h.buffer<uint32_t>(std::vector<uint32_t>(64, 0), "out");
  h.config.checks = row.checks;
  h.config.maxSteps = 100000;
  h.config.dynamicShared = row.dynamicShared;
  h.config.readBack = {out.allocation()};
  return h.run("k", {row.blocks, 1, 1}, {row.threads, 1, 1}, out);
}

class KnownBad : public testing::TestWithParam<Row> {};

TEST_P(KnownBad, IsReportedOnce) {
  const Row& row = GetParam();
  Kernel k = kernelOf(row, '-');
  ASSERT_FALSE(k.bad.empty());
  Harness h(k.text);
  ASSERT_TRUE(h.ok()) << h.errors();
  LaunchResult r = launch(h, row);
  EXPECT_NE(r.status, LaunchStatus::ok);
  ASSERT_EQ(r.reports.size(), 1u) << h.errors();
  const Report& report = r.reports[0];
  EXPECT_TRUE(report.id == row.id) << h.errors();
  EXPECT_EQ(report.at.kernel, "k");
  if (report.hasOther) {
    // Either access may come first.
    const std::vector<uint32_t>& other = k.other.empty() ? k.bad : k.other;
    uint32_t a = report.at.ptx.line(), b = report.other.ptx.line();
    EXPECT_TRUE((contains(k.bad, a) && contains(other, b)) ||
                (contains(k.bad, b) && contains(other, a)))
        << h.errors();
    // Only asynchronous copies get in the way of their own thread.
    if (report.kind != ReportKind::async && !report.otherIsOneOfMany) {
      EXPECT_FALSE(report.at.thread == report.other.thread &&
                   report.at.block == report.other.block);
    }
  } else {
    EXPECT_TRUE(contains(k.bad, report.at.ptx.line())) << h.errors();
  }
  for (const Place& p : report.waiting) {
    EXPECT_TRUE(contains(k.bad, p.ptx.line())) << h.errors();
  }
  if (report.id == DiagId::SimDeadlock) {
    EXPECT_EQ(report.waiting.size(), k.bad.size()) << h.errors();
  }
}

TEST_P(KnownBad, TheGoodKernelReportsNothing) {
  const Row& row = GetParam();
  Kernel k = kernelOf(row, '+');
  Harness h(k.text);
  ASSERT_TRUE(h.ok()) << h.errors();
  LaunchResult r = launch(h, row);
  EXPECT_EQ(r.status, LaunchStatus::ok) << h.errors();
  EXPECT_TRUE(r.reports.empty()) << h.errors();
}

INSTANTIATE_TEST_SUITE_P(Table, KnownBad, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Async, KnownBad, testing::ValuesIn(known_bad::asyncRows()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Warpgroups, KnownBad, testing::ValuesIn(known_bad::warpgroupRows()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mtlc::sim
