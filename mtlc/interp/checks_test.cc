// Each kind of fault, in each memory space that has it: a kernel with the fault, and one next to it
// without.

#include <gtest/gtest.h>

#include <optional>

#include "mtlc/interp/test_util.h"

namespace mtlc::interp {
namespace {

using Ints = std::vector<int32_t>;

// The only fault of a result, as text; other counts fail.
std::string only(const Bench& bench, const std::vector<Fault>& faults) {
  EXPECT_EQ(faults.size(), 1u);
  for (size_t i = 1; i < faults.size(); ++i) ADD_FAILURE() << bench.text(faults[i]);
  return faults.empty() ? "" : bench.text(faults[0]);
}

std::optional<DiagId> firstId(const std::vector<Fault>& faults) {
  return faults.empty() ? std::nullopt : std::optional(faults[0].id);
}

#define EXPECT_SAYS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (text) << "lacks: " << (part)

// ---- mem ----

// out[offset / 4 …]: one i32 access at a byte offset of a pointer.
std::string accessAt(const char* setup, const char* space, bool write) {
  std::string pointer = std::string("ptr<") + space + ">";
  std::string text = "kernel @k(%buf: ptr<global>, %offset: i64) {\n^entry:\n";
  text += setup;
  text += "  %p = ptr.add %base, %offset x i8 : " + pointer + "\n";
  text += "  %v = const 7 : i32\n";
  text +=
      write ? "  store i32, %v, %p : " + pointer + "\n" : "  %w = load i32, %p : " + pointer + "\n";
  return text + "  ret\n}\n";
}

struct SpaceCase {
  const char* space;
  const char* setup;
  const char* object;
  const char* inSpace;
};
const SpaceCase kSpaces[] = {
    {"global", "  %zero = const 0 : i64\n  %base = ptr.add %buf, %zero x i8 : ptr<global>\n",
     "buffer 0", "global"},
    {"workgroup", "  %base = alloc.workgroup i32[4] : ptr<workgroup>\n",
     "workgroup variable 'base'", "workgroup"},
    {"private", "  %base = alloc.private i32[4] : ptr<private>\n", "private variable 'base'",
     "private"},
    {"workgroup", "  %base = alloc.dynamic i32 : ptr<workgroup>\n",
     "the launch-sized workgroup array", "workgroup"},
    {"generic",
     "  %a = alloc.private i32[4] : ptr<private>\n  %base = spacecast %a : ptr<private> to "
     "ptr<generic>\n",
     "private variable 'a'", "private"},
    {"generic",
     "  %a = alloc.workgroup i32[4] : ptr<workgroup>\n  %base = spacecast %a : ptr<workgroup> to "
     "ptr<generic>\n",
     "workgroup variable 'a'", "workgroup"},
    {"generic", "  %base = spacecast %buf : ptr<global> to ptr<generic>\n", "buffer 0", "global"},
};

TEST(Checks, OutOfBoundsInEverySpace) {
  for (const SpaceCase& space : kSpaces) {
    for (bool write : {false, true}) {
      Bench bench(accessAt(space.setup, space.space, write));
      BufferId buffer = bench.add(Ints(4));
      bench.spec.sharedBytes = 16;
      auto at = [&](int64_t offset) {
        bench.spec.args = {KernelArg::buffer(buffer),
                           KernelArg::scalar(static_cast<uint64_t>(offset))};
        return bench.run().faults;
      };
      for (int64_t good : {0, 4, 12}) {
        for (const Fault& f : at(good)) ADD_FAILURE() << good << ": " << bench.text(f);
      }
      struct Bad {
        int64_t offset;
        const char* where;
      };
      for (const Bad& bad : std::initializer_list<Bad>{
               {16, "just past the end of "},
               {20, "4 bytes past the end of "},
               {-4, "4 bytes before "},
               {14, "its last 2 bytes past the end of "},
               {1 << 20, "1048560 bytes past the end of "},
               {-(1 << 19), "524288 bytes before "},
           }) {
        std::vector<Fault> faults = at(bad.offset);
        std::string text = only(bench, faults);
        EXPECT_SAYS(text, std::string("error: [mem] ") + (write ? "write" : "read") +
                              " of 4 bytes out of bounds at " + space.inSpace + " address 0x");
        EXPECT_SAYS(text, std::string(bad.where) + space.object + " (16 bytes)");
        EXPECT_SAYS(text, "kernel 'k', block (0,0,0), thread (0,0,0)");
        ASSERT_EQ(faults.size(), 1u);
        EXPECT_EQ(faults[0].id, DiagId::FaultOutOfBounds);
        EXPECT_EQ(faults[0].kind, FaultKind::Mem);
        EXPECT_EQ(faults[0].space, space.inSpace);
        EXPECT_EQ(faults[0].size, 4u);
      }
    }
  }
}

// An i32 index that wrapped, or a 64-bit one that is far off, never lands in another object.
TEST(Checks, FarAccessesAreStillFound) {
  Bench bench(accessAt(kSpaces[0].setup, "global", true));
  std::vector<BufferId> buffers;
  for (int i = 0; i < 64; ++i) buffers.push_back(bench.add(Ints(1024)));
  for (int64_t offset : {int64_t{1} << 31, -(int64_t{1} << 31) * 4, (int64_t{1} << 33),
                         int64_t{1} << 38, -(int64_t{1} << 38)}) {
    bench.spec.args = {KernelArg::buffer(buffers[31]),
                       KernelArg::scalar(static_cast<uint64_t>(offset))};
    EXPECT_SAYS(only(bench, bench.run().faults), "buffer 31 (4096 bytes)");
  }
  for (BufferId id : buffers) EXPECT_EQ(bench.read<int32_t>(id), Ints(1024));
}

TEST(Checks, MisalignedInEverySpace) {
  for (const SpaceCase& space : kSpaces) {
    for (bool write : {false, true}) {
      Bench bench(accessAt(space.setup, space.space, write));
      bench.spec.sharedBytes = 16;
      bench.spec.args = {KernelArg::buffer(bench.add(Ints(4))), KernelArg::scalar(6)};
      std::vector<Fault> faults = bench.run().faults;
      EXPECT_SAYS(only(bench, faults), "which is not a multiple of 4");
      EXPECT_EQ(firstId(faults), DiagId::FaultMisaligned);
    }
  }
}

// Private variables are no better aligned than their elements; a stated alignment counts.
TEST(Checks, AlignmentIsTheElementsOrAsStated) {
  Bench bench(R"(
kernel @k() {
^entry:
  %bytes = alloc.private i8[8] : ptr<private>
  %v = const 7 : i32
  store i32, %v, %bytes : ptr<private>
  store i32, %v, %bytes : ptr<private> align 1
  %wide = alloc.workgroup i32[8] : ptr<workgroup>
  store i32, %v, %wide : ptr<workgroup> align 32
  %one = const 1 : i64
  %p = ptr.add %wide, %one x i32 : ptr<workgroup>
  store i32, %v, %p : ptr<workgroup> align 8
  ret
}
)");
  std::vector<Fault> faults = bench.run().faults;
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_SAYS(bench.text(faults[0]), "t.mtir:6:3: error: [mem] write of 4 bytes");
  EXPECT_SAYS(bench.text(faults[0]), "not a multiple of 4");
  EXPECT_SAYS(bench.text(faults[1]), "t.mtir:12:3: error: [mem] write of 4 bytes");
  EXPECT_SAYS(bench.text(faults[1]), "not a multiple of 8");
}

TEST(Checks, AddressesWithoutMemory) {
  Bench bench(R"(
func @leak() -> ptr<private> {
^entry:
  %v = alloc.private i32[1] : ptr<private>
  %one = const 1 : i32
  store i32, %one, %v : ptr<private>
  ret %v
}
kernel @null(%p: ptr<global>) {
^entry:
  %v = load i32, %p : ptr<global>
  ret
}
kernel @wild(%p: ptr<global>) {
^entry:
  %n = const 64 : i64
  %q = inttoptr %n : i64 to ptr<generic>
  %v = load i32, %q : ptr<generic>
  ret
}
kernel @wrong(%p: ptr<global>) {
^entry:
  %a = alloc.workgroup i32[1] : ptr<workgroup>
  %g = spacecast %a : ptr<workgroup> to ptr<generic>
  %q = spacecast %g : ptr<generic> to ptr<global>
  %one = const 1 : i32
  store i32, %one, %q : ptr<global>
  ret
}
kernel @dangling(%p: ptr<global>) {
^entry:
  %a = call @leak() : ptr<private>
  %b = call @leak() : ptr<private>
  %v = load i32, %a : ptr<private>
  ret
}
kernel @foreign(%p: ptr<global>) {
^entry:
  %own = alloc.private i32[1] : ptr<private>
  %box = alloc.workgroup i64[1] : ptr<workgroup>
  %one = const 1 : i32
  store i32, %one, %own : ptr<private>
  %t = gpu.thread_id x : i32
  %zero = const 0 : i32
  %first = cmp.eq %t, %zero : i32
  br %first, ^put, ^wait
^put:
  store ptr<private>, %own, %box : ptr<workgroup>
  jump ^wait
^wait:
  barrier {workgroup} seq_cst
  %other = load ptr<private>, %box : ptr<workgroup>
  %v = load i32, %other : ptr<private>
  ret
}
kernel @block(%p: ptr<global>) {
^entry:
  %a = alloc.workgroup i32[1] : ptr<workgroup>
  %one = const 1 : i32
  store i32, %one, %a : ptr<workgroup>
  %b = gpu.block_id x : i32
  %zero = const 0 : i32
  %first = cmp.eq %b, %zero : i32
  br %first, ^put, ^get
^put:
  store ptr<workgroup>, %a, %p : ptr<global>
  ret
^get:
  %other = load ptr<workgroup>, %p : ptr<global>
  %v = load i32, %other : ptr<workgroup>
  ret
}
)");
  BufferId buffer = bench.add(std::vector<uint64_t>(1));
  auto says = [&](const char* kernel, KernelArg arg, const char* text, uint32_t threads = 1,
                  uint32_t blocks = 1) {
    bench.spec.kernel = kernel;
    bench.spec.block = {threads};
    bench.spec.grid = {blocks};
    bench.spec.args = {arg};
    bench.spec.options.checks = checkBit(FaultKind::Mem);
    std::vector<Fault> faults = bench.run().faults;
    EXPECT_SAYS(only(bench, faults), text);
    EXPECT_EQ(firstId(faults), DiagId::FaultBadAddress);
  };
  const KernelArg arg = KernelArg::buffer(buffer);
  says("null", KernelArg::scalar(0), "it is the null pointer");
  says("null", KernelArg::scalar(uint64_t{1} << 62 | uint64_t{77} << 40 | uint64_t{1} << 39),
       "no buffer has this address");
  says("wild", arg, "generic address 0x40, where there is no such memory: the address is in no");
  says("wrong", arg, "the address is one of workgroup memory");
  says("dangling", arg, "private memory of a call that has returned");
  says("foreign", arg, "private memory of another thread", 2);
  says("block", arg, "workgroup memory of another block", 1, 2);
}

// A wrong load gives 0, a wrong store does nothing, the thread goes on; each fault is said once.
TEST(Checks, ThreadsGoOnAfterAFault) {
  Bench bench(R"(
kernel @k(%buf: ptr<global>, %null: ptr<global>) {
^entry:
  %t = gpu.thread_id x : i32
  %i = sext %t : i32 to i64
  %v = load i32, %null : ptr<global>
  %five = const 5 : i32
  store i32, %five, %null : ptr<global>
  %w = add %v, %five : i32
  %p = ptr.add %buf, %i x i32 : ptr<global>
  store i32, %w, %p : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(100);
  bench.spec.block = {100};
  bench.spec.args = {KernelArg::buffer(out), KernelArg::scalar(0)};
  EXPECT_EQ(bench.run().faults.size(), 2u);
  EXPECT_EQ(bench.read<int32_t>(out), Ints(100, 5));
  bench.spec.options.checks = kCheckAll & ~checkBit(FaultKind::Mem);
  EXPECT_EQ(bench.run().faults.size(), 0u);  // Still safe when nobody asks.
}

// ---- init ----

TEST(Checks, BranchOnUninitialised) {
  for (const char* alloc : {"alloc.private", "alloc.workgroup"}) {
    const std::string space = std::string(alloc).substr(6);
    const std::string pointer = "ptr<" + space + ">";
    for (bool initialise : {false, true}) {
      Bench bench("kernel @k() {\n^entry:\n  %a = " + std::string(alloc) + " i32[2] : " + pointer +
                  "\n  %zero = const 0 : i32\n" +
                  (initialise ? "  store i32, %zero, %a : " + pointer + "\n" : "\n") +
                  "  %v = load i32, %a : " + pointer +
                  "\n  %w = add %v, %v : i32\n  %c = cmp.sgt %w, %zero : i32\n"
                  "  br %c, ^a, ^b\n^a:\n  jump ^b\n^b:\n  ret\n}\n");
      std::vector<Fault> faults = bench.run().faults;
      if (initialise) {
        EXPECT_TRUE(faults.empty());
        continue;
      }
      std::string text = only(bench, faults);
      EXPECT_SAYS(text, "t.mtir:9:3: error: [init] a branch depends on uninitialised bits");
      EXPECT_SAYS(text, "t.mtir:6:3: note: the bits were loaded here");
      EXPECT_EQ(firstId(faults), DiagId::FaultUninitBranch);
    }
  }
}

TEST(Checks, AddressFromUninitialised) {
  for (bool write : {false, true}) {
    Bench bench(R"(
kernel @k(%buf: ptr<global>, %index: ptr<global>) {
^entry:
  %i = load i32, %index : ptr<global>
  %x = sext %i : i32 to i64
  %p = ptr.add %buf, %x x i32 : ptr<global>
)" +
                std::string(write ? "  store i32, %i, %p : ptr<global>\n"
                                  : "  %v = load i32, %p : ptr<global>\n") +
                "  ret\n}\n");
    BufferId buffer = bench.add(Ints(4));
    BufferId good = bench.add(Ints{1});
    BufferId bad = bench.addOutput<int32_t>(1);
    bench.spec.args = {KernelArg::buffer(buffer), KernelArg::buffer(good)};
    bench.runClean();
    bench.spec.args = {KernelArg::buffer(buffer), KernelArg::buffer(bad)};
    std::vector<Fault> faults = bench.run().faults;
    std::string text = only(bench, faults);  // And no second fault for the wild address.
    EXPECT_SAYS(text, std::string("[init] the address of a ") + (write ? "write" : "read") +
                          " of 4 bytes depends on uninitialised bits");
    EXPECT_SAYS(text, "t.mtir:4:3: note: the bits were loaded here");
    EXPECT_EQ(firstId(faults), DiagId::FaultUninitAddress);
  }
}

// Uninitialised bits may travel through memory, calls and block arguments; what counts is the end.
TEST(Checks, UninitialisedOutputIsFoundWhenReadBack) {
  Bench bench(R"(
func @id(%x: i32) -> i32 {
^entry:
  ret %x
}
kernel @k(%out: ptr<global>, %in: ptr<global>, %n: i32) {
^entry:
  %tile = alloc.workgroup i32[4] : ptr<workgroup>
  %t = gpu.thread_id x : i32
  %i = sext %t : i32 to i64
  %pi = ptr.add %in, %i x i32 : ptr<global>
  %pt = ptr.add %tile, %i x i32 : ptr<workgroup>
  %po = ptr.add %out, %i x i32 : ptr<global>
  %v = load i32, %pi : ptr<global>
  store i32, %v, %pt : ptr<workgroup>
  %w = load i32, %pt : ptr<workgroup>
  %x = call @id(%w) : i32
  jump ^next(%x)
^next(%y: i32):
  %store = cmp.slt %t, %n : i32
  br %store, ^put, ^end
^put:
  store i32, %y, %po : ptr<global>
  jump ^end
^end:
  ret
}
)");
  BufferId good = bench.add(Ints{1, 2, 3, 4});
  BufferId bad = bench.addOutput<int32_t>(4);
  BufferId out = bench.addOutput<int32_t>(4);
  bench.spec.block = {4};
  bench.spec.args = {KernelArg::buffer(out), KernelArg::buffer(good), KernelArg::scalar(2)};
  bench.runClean();
  EXPECT_TRUE(bench.readBack(out).empty());  // Two elements that nobody wrote are no fault.
  bench.spec.args[1] = KernelArg::buffer(bad);
  bench.runClean();  // Storing them decides nothing yet.
  std::vector<Fault> faults = bench.readBack(out);
  std::string text = only(bench, faults);
  EXPECT_SAYS(text,
              "t.mtir:23:3: error: [init] buffer 2 is read back, and its byte 0 holds "
              "uninitialised bits stored here; kernel 'k', block (0,0,0), thread (0,0,0)")
      << text;
  EXPECT_EQ(firstId(faults), DiagId::FaultUninitOutput);
  // Written over with good values, all is well again.
  bench.spec.args[1] = KernelArg::buffer(good);
  bench.runClean();
  EXPECT_TRUE(bench.readBack(out).empty());
}

// Padding, unused bytes of wide loads, masked and shifted parts: no alarm.
TEST(Checks, UnusedUninitialisedBitsAreNoFault) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %a = alloc.private i32[2] : ptr<private>
  %b = const 0x5A : i8
  %s = const 0x1234 : i16
  %i6 = const 6 : i64
  %hi = ptr.add %a, %i6 x i8 : ptr<private>
  store i8, %b, %a : ptr<private>
  store i16, %s, %hi : ptr<private>
  %wide = load i32, %a : ptr<private>
  %low = trunc %wide : i32 to i8
  %mask = const 255 : i32
  %zero = const 0 : i32
  %five = const 5 : i32
  %sh = const 16 : i32
  %masked = and %wide, %mask : i32
  %c = cmp.eq %masked, %five : i32
  br %c, ^x, ^y
^x:
  jump ^y
^y:
  %i1 = const 1 : i64
  %second = ptr.add %a, %i1 x i32 : ptr<private>
  %copy = load i32, %second : ptr<private>
  %part = lshr %copy, %sh : i32
  %d = cmp.ugt %part, %five : i32
  br %d, ^z, ^w
^z:
  jump ^w
^w:
  %ext = zext %low : i8 to i32
  %sum = add %ext, %part : i32
  store i32, %sum, %out : ptr<global>
  ret
}
)");
  BufferId out = bench.addOutput<int32_t>(1);
  bench.spec.args = {KernelArg::buffer(out)};
  bench.runClean();
  EXPECT_TRUE(bench.readBack(out).empty());
  EXPECT_EQ(bench.read<int32_t>(out), Ints{0x5A + 0x1234});
}

// A copy of a half-initialised structure moves the marks along, bit for bit.
TEST(Checks, CopiesKeepTheMarks) {
  Bench bench(R"(
kernel @k(%in: ptr<global>, %out: ptr<global>, %from: i64) {
^entry:
  %i0 = const 0 : i64
  %wide = load i64, %in : ptr<global>
  store i64, %wide, %out : ptr<global>
  %p = ptr.add %out, %from x i8 : ptr<global>
  %b = load i8, %p : ptr<global>
  %zero = const 0 : i8
  %c = cmp.eq %b, %zero : i8
  br %c, ^x, ^y
^x:
  jump ^y
^y:
  ret
}
)");
  BufferId in = bench.addOutput<uint64_t>(1);
  bench.memory.write(in, std::vector<uint8_t>{1, 2, 3});  // The first three bytes.
  BufferId out = bench.addOutput<uint64_t>(1);
  for (uint64_t byte = 0; byte < 8; ++byte) {
    bench.spec.args = {KernelArg::buffer(in), KernelArg::buffer(out), KernelArg::scalar(byte)};
    EXPECT_EQ(bench.run().faults.size(), byte < 3 ? 0u : 1u) << byte;
  }
}

TEST(Checks, InitCanBeTurnedOff) {
  Bench bench(R"(
kernel @k(%out: ptr<global>) {
^entry:
  %v = load i32, %out : ptr<global>
  %zero = const 0 : i32
  %c = cmp.eq %v, %zero : i32
  br %c, ^x, ^y
^x:
  jump ^y
^y:
  ret
}
)");
  bench.spec.args = {KernelArg::buffer(bench.addOutput<int32_t>(1))};
  EXPECT_EQ(bench.run().faults.size(), 1u);
  bench.spec.options.checks = kCheckAll & ~checkBit(FaultKind::Init);
  bench.runClean();
}

// ---- race ----

// Thread t writes element t, then reads element (t + shift) mod n, with a barrier between or none.
std::string neighbour(const std::string& space, const std::string& barrier) {
  std::string pointer = "ptr<" + space + ">";
  return "kernel @k(%buf: ptr<global>, %out: ptr<global>, %shift: i32) {\n^entry:\n"
         "  %tile = alloc.workgroup i32[64] : ptr<workgroup>\n"
         "  %t = gpu.thread_id x : i32\n  %n = gpu.block_dim x : i32\n"
         "  %i = sext %t : i32 to i64\n"
         "  %p = ptr.add " +
         std::string(space == "global" ? "%buf" : "%tile") + ", %i x i32 : " + pointer +
         "\n  store i32, %t, %p : " + pointer + "\n  " + barrier +
         "\n  %0 = add %t, %shift : i32\n  %j32 = urem %0, %n : i32\n"
         "  %j = sext %j32 : i32 to i64\n"
         "  %q = ptr.add " +
         std::string(space == "global" ? "%buf" : "%tile") + ", %j x i32 : " + pointer +
         "\n  %v = load i32, %q : " + pointer +
         "\n  %o = ptr.add %out, %i x i32 : ptr<global>\n  store i32, %v, %o : ptr<global>\n"
         "  ret\n}\n";
}

struct RaceCase {
  const char* space;
  const char* barrier;
  bool races;
};

TEST(Checks, RacesWithinABlock) {
  for (const RaceCase& c : std::initializer_list<RaceCase>{
           {"workgroup", "", true},
           {"workgroup", "barrier {workgroup} seq_cst", false},
           {"workgroup", "barrier {workgroup} acq_rel", false},
           {"workgroup", "barrier {workgroup, global} seq_cst", false},
           {"workgroup", "barrier {global} seq_cst", true},
           {"workgroup", "barrier {workgroup} acquire", true},
           {"workgroup", "barrier {workgroup} release", true},
           {"workgroup", "barrier {workgroup} release\n  barrier {workgroup} acquire", false},
           {"workgroup", "barrier {workgroup} acquire\n  barrier {workgroup} release", true},
           {"global", "", true},
           {"global", "barrier {workgroup} seq_cst", true},
           {"global", "barrier {global} seq_cst", false},
           {"global", "barrier {workgroup, global} acq_rel", false},
       }) {
    for (uint64_t seed : {0, 5}) {
      Bench bench(neighbour(c.space, c.barrier));
      BufferId buffer = bench.addOutput<int32_t>(64);
      BufferId out = bench.addOutput<int32_t>(64);
      bench.spec.block = {33};
      bench.spec.options.seed = seed;
      // A thread may read what it wrote itself.
      bench.spec.args = {KernelArg::buffer(buffer), KernelArg::buffer(out), KernelArg::scalar(0)};
      bench.runClean();
      bench.spec.args[2] = KernelArg::scalar(1);
      bench.spec.options.checks = checkBit(FaultKind::Race);
      std::vector<Fault> faults = bench.run().faults;
      ASSERT_EQ(faults.size(), c.races ? 1u : 0u) << c.space << " " << c.barrier;
      if (faults.empty()) continue;
      std::string text = bench.text(faults[0]);
      EXPECT_EQ(faults[0].id, DiagId::FaultRace);
      EXPECT_EQ(faults[0].kind, FaultKind::Race);
      EXPECT_SAYS(text, "error: [race] ");
      EXPECT_SAYS(text, std::string("of 4 bytes at ") + c.space + " address 0x");
      EXPECT_SAYS(text, "of the same block; kernel 'k', block (0,0,0), thread (");
      EXPECT_SAYS(text, "note: the other access");
      EXPECT_SAYS(text, *c.barrier == '\0' ? std::string("put a barrier {") + c.space + "}"
                                           : std::string("does not order ") + c.space + " memory");
    }
  }
}

TEST(Checks, RaceNamesBothAccesses) {
  Bench bench(neighbour("workgroup", ""));
  bench.spec.block = {2};
  bench.spec.args = {KernelArg::buffer(bench.addOutput<int32_t>(64)),
                     KernelArg::buffer(bench.addOutput<int32_t>(64)), KernelArg::scalar(1)};
  bench.spec.options.checks = checkBit(FaultKind::Race);
  // Thread 0 writes element 0 and reads element 1; then thread 1 writes element 1.
  std::string text = only(bench, bench.run().faults);
  EXPECT_SAYS(text, "t.mtir:8:3: error: [race] write of 4 bytes at workgroup address 0x");
  EXPECT_SAYS(text,
              "(byte 4 of workgroup variable 'tile') races with a read of 4 bytes by thread "
              "(0,0,0) of the same block; kernel 'k', block (0,0,0), thread (1,0,0)");
  EXPECT_SAYS(text, "t.mtir:14:3: note: the other access");
}

TEST(Checks, RacesBetweenBlocks) {
  // Every block writes element block / d; a barrier within the block does not help.
  Bench bench(R"(
kernel @k(%buf: ptr<global>, %d: i32) {
^entry:
  %b = gpu.block_id x : i32
  %x = udiv %b, %d : i32
  %i = sext %x : i32 to i64
  %p = ptr.add %buf, %i x i32 : ptr<global>
  barrier {workgroup, global} seq_cst
  store i32, %b, %p : ptr<global>
  barrier {workgroup, global} seq_cst
  ret
}
)");
  BufferId buffer = bench.addOutput<int32_t>(8);
  bench.spec.grid = {8};
  bench.spec.args = {KernelArg::buffer(buffer), KernelArg::scalar(1)};
  bench.runClean();
  for (uint32_t threads : {1u, 3u}) {
    bench.spec.options.threads = threads;
    bench.spec.args[1] = KernelArg::scalar(2);
    std::string text = only(bench, bench.run().faults);
    EXPECT_SAYS(text, "error: [race] write of 4 bytes at global address");
    EXPECT_SAYS(text, "races with a write of 4 bytes by block (");
    EXPECT_SAYS(text, "nothing orders the blocks of a launch");
  }
  // Two launches are ordered.
  bench.spec.options.threads = 1;
  bench.spec.grid = {1};
  bench.runClean();
  bench.runClean();
}

TEST(Checks, SharedReadsAndNeighbouringBytesAreNoRace) {
  Bench bench(R"(
kernel @k(%in: ptr<global>, %out: ptr<global>) {
^entry:
  %t = gpu.thread_id x : i32
  %b = gpu.block_id x : i32
  %d = gpu.block_dim x : i32
  %0 = mul %b, %d : i32
  %1 = add %0, %t : i32
  %i = sext %1 : i32 to i64
  %v = load i8, %in : ptr<global>
  %p = ptr.add %out, %i x i8 : ptr<global>
  store i8, %v, %p : ptr<global>
  ret
}
)");
  bench.spec.grid = {3};
  bench.spec.block = {5};
  bench.spec.args = {KernelArg::buffer(bench.add(std::vector<uint8_t>{9})),
                     KernelArg::buffer(bench.addOutput<uint8_t>(15))};
  bench.runClean();
}

// Workgroup memory is the block's own: blocks one after another don't race, nor see old values.
TEST(Checks, BlocksHaveFreshWorkgroupMemory) {
  Bench bench(R"(
kernel @k(%in: ptr<global>) {
^entry:
  %w = alloc.workgroup i32[1] : ptr<workgroup>
  %b = gpu.block_id x : i32
  %zero = const 0 : i32
  %c = cmp.eq %b, %zero : i32
  br %c, ^write, ^read
^write:
  store i32, %b, %w : ptr<workgroup>
  ret
^read:
  %v = load i32, %w : ptr<workgroup>
  %d = cmp.eq %v, %zero : i32
  br %d, ^x, ^x
^x:
  ret
}
)");
  bench.spec.grid = {2};
  bench.spec.args = {KernelArg::scalar(0)};
  std::vector<Fault> faults = bench.run().faults;
  EXPECT_SAYS(only(bench, faults), "[init] a branch depends on uninitialised bits");
}

// ---- sync ----

// BC-31, at run time: a barrier that some threads don't reach.
TEST(Checks, BarrierThatOthersDoNotReach) {
  // Threads with t < limit go to ^then, the others to ^else.
  auto kernel = [](const char* then, const char* otherwise, const char* join) {
    return "func @wait() {\n^entry:\n  barrier {workgroup} seq_cst\n  ret\n}\n"
           "kernel @k(%limit: i32) {\n^entry:\n  %t = gpu.thread_id x : i32\n"
           "  %c = cmp.slt %t, %limit : i32\n  br %c, ^then, ^else\n^then:\n" +
           std::string(then) + "\n^else:\n" + otherwise + "\n^join:\n" + join + "\n  ret\n}\n";
  };
  struct Case {
    const char* then;
    const char* otherwise;
    const char* join;
    uint64_t limit;
    const char* says;  // Empty: no fault.
    const char* note;
  };
  const char* kBarrier = "  barrier {workgroup} seq_cst\n  jump ^join";
  const char* kJoin = "  jump ^join";
  const char* kReturn = "  ret";
  const char* kCall = "  call @wait()\n  jump ^join";
  for (const Case& c : std::initializer_list<Case>{
           // All of a block of 64 reach it, or none does.
           {kBarrier, kJoin, "", 64, "", ""},
           {kBarrier, kJoin, "", 0, "", ""},
           // 48 of them do, and the others end.
           {kBarrier, kJoin, "", 48, "48 of 64 do, but thread (48,0,0) has ended",
            "note: it ended here"},
           // Early return before a barrier for the rest.
           {kReturn, kJoin, "  barrier {workgroup} seq_cst", 16,
            "48 of 64 do, but thread (0,0,0) has ended", "note: it ended here"},
           // Both arms have a barrier of their own.
           {kBarrier, kBarrier, "", 48, "48 of 64 do, but thread (48,0,0) waits at another barrier",
            "note: it waits here"},
           // One barrier in a helper, called from two places.
           {kCall, kCall, "", 48, "48 of 64 do, but thread (48,0,0) waits in another call",
            "note: it called here"},
           {kCall, kCall, "", 64, "", ""},
           // One arm comes late to the barrier of the other.
           {kBarrier, kJoin, "  barrier {workgroup} seq_cst", 32, "waits at another barrier",
            "note: it waits here"},
           {kJoin, kJoin, "  barrier {workgroup} seq_cst", 32, "", ""},
       }) {
    Bench bench(kernel(c.then, c.otherwise, c.join));
    bench.spec.block = {64};
    bench.spec.args = {KernelArg::scalar(c.limit)};
    for (uint64_t seed : {0, 3}) {
      bench.spec.options.seed = seed;
      std::vector<Fault> faults = bench.run().faults;
      if (*c.says == '\0') {
        for (const Fault& f : faults) ADD_FAILURE() << bench.text(f);
        continue;
      }
      std::string text = only(bench, faults);
      EXPECT_SAYS(text, "error: [sync] not all threads of the block wait at this barrier: ");
      EXPECT_SAYS(text, c.says);
      EXPECT_SAYS(text, c.note);
      EXPECT_EQ(firstId(faults), DiagId::FaultBarrierDivergence);
    }
    // Unchecked, barriers open for those that live, as the hardware's do.
    bench.spec.options.checks = kCheckAll & ~checkBit(FaultKind::Sync);
    bench.runClean();
  }
}

// A loop that threads leave at different times.
TEST(Checks, BarrierInALoopOfVaryingLength) {
  Bench bench(R"(
kernel @k(%same: i32) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %t = gpu.thread_id x : i32
  %c = cmp.ne %same, %zero : i32
  %n = select %c, %same, %t : i32
  jump ^head(%zero)
^head(%i: i32):
  %more = cmp.slt %i, %n : i32
  br %more, ^body, ^done
^body:
  barrier {workgroup} seq_cst
  %next = add %i, %one : i32
  jump ^head(%next)
^done:
  ret
}
)");
  bench.spec.block = {4};
  bench.spec.args = {KernelArg::scalar(5)};
  EXPECT_EQ(bench.runClean().stats.byOpcode[static_cast<int>(ir::Opcode::Barrier)], 20u);
  bench.spec.args = {KernelArg::scalar(0)};
  EXPECT_SAYS(only(bench, bench.run().faults), "3 of 4 do, but thread (0,0,0) has ended");
}

// ---- steps ----

TEST(Checks, EndlessLoopsAndRecursionStop) {
  Bench bench(R"(
func @again(%x: i32) {
^entry:
  call @again(%x)
  ret
}
kernel @loop() {
^entry:
  jump ^spin
^spin:
  jump ^spin
}
kernel @recursion(%x: i32) {
^entry:
  call @again(%x)
  ret
}
kernel @long(%n: i32) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  jump ^head(%zero)
^head(%i: i32):
  %next = add %i, %one : i32
  %more = cmp.slt %next, %n : i32
  br %more, ^head(%next), ^done
^done:
  ret
}
)");
  bench.spec.grid = {1000};
  bench.spec.block = {256};
  bench.spec.options.maxSteps = 100'000;
  bench.spec.kernel = "loop";
  LaunchResult result = bench.run();
  std::string text = only(bench, result.faults);
  EXPECT_SAYS(text, "t.mtir:11:3: error: [steps] a thread executed 100000 instructions without");
  if (!result.faults.empty()) {
    EXPECT_EQ(result.faults[0].id, DiagId::FaultStepLimit);
    EXPECT_EQ(result.faults[0].kind, FaultKind::Steps);
  }
  EXPECT_LT(result.stats.instructions, 100'000u * 256 + 1);

  bench.spec.kernel = "recursion";
  bench.spec.block = {4};
  bench.spec.args = {KernelArg::scalar(1)};
  bench.spec.options.maxSteps = 100'000'000;
  bench.spec.options.checks = kCheckNone;  // This one is always on.
  result = bench.run();
  EXPECT_SAYS(only(bench, result.faults), "[steps] calls nest deeper than 65536");
  EXPECT_EQ(firstId(result.faults), DiagId::FaultCallDepth);

  bench.spec.kernel = "long";
  bench.spec.grid = {1};
  bench.spec.block = {1};
  bench.spec.args = {KernelArg::scalar(2'000'000)};
  EXPECT_EQ(bench.runClean().stats.instructions, 1u + 3 * 2'000'000 + 1);
  bench.spec.options.maxSteps = 1 + 3 * 2'000'000;
  EXPECT_EQ(bench.run().faults.size(), 1u);
  bench.spec.options.maxSteps += 1;
  bench.runClean();
}

TEST(Checks, FaultsHaveALimit) {
  std::string text = "kernel @k(%p: ptr<global>) {\n^entry:\n";
  for (int i = 0; i < 50; ++i) {
    text += "  %v" + std::to_string(i) + " = load i32, %p : ptr<global>\n";
  }
  Bench bench(text + "  ret\n}\n");
  bench.spec.grid = {1000};
  bench.spec.args = {KernelArg::scalar(0)};
  EXPECT_EQ(bench.run().faults.size(), 50u);
  bench.spec.options.maxFaults = 10;
  LaunchResult result = bench.run();
  EXPECT_EQ(result.faults.size(), 10u);
  EXPECT_EQ(result.stats.blocks, 1u);
}

// A decoded value depends on the bits of its code and no others; an encoded one has known bits
// above its code.
TEST(Init, NarrowFormats) {
  struct Case {
    const char* decision;
    bool isFault;
  };
  const Case kCases[] = {
      // The low four bits of the byte are known.
      {"%x = decode e2m1 %low : f32", false},
      {"%x = decode e2m3 %low : f32", true},
      // Bit 7 of a ue4m3 code is ignored.
      {"%x = decode ue4m3 %seven : f32", false},
      {"%x = decode e4m3 %seven : f32", true},
  };
  for (const Case& c : kCases) {
    Bench bench(std::string(R"(
kernel @k(%buf: ptr<global>) {
^entry:
  %b = load i8, %buf : ptr<global>
  %upper = const 240 : i8
  %top = const 128 : i8
  %low = and %b, %upper : i8
  %seven = and %b, %top : i8
  )") + c.decision +
                R"(
  %zero = const 0.0 : f32
  %c = fcmp.olt %x, %zero : f32
  br %c, ^a, ^a
^a:
  %e = encode e2m1 sat %x : f32
  %f = and %e, %upper : i8
  %nil = const 0 : i8
  %known = cmp.eq %f, %nil : i8
  br %known, ^z, ^z
^z:
  ret
}
)");
    bench.spec.args = {KernelArg::buffer(bench.addOutput<uint8_t>(1))};
    LaunchResult result = bench.run();
    EXPECT_EQ(result.faults.size(), c.isFault ? 1u : 0u) << c.decision;
    if (c.isFault) {
      EXPECT_EQ(firstId(result.faults), DiagId::FaultUninitBranch);
    }
  }
}

}  // namespace
}  // namespace mtlc::interp
