#include "test/random/tensor_program.h"

#include <cstring>
#include <random>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "mtlc/ir/builder.h"
#include "mtlc/transforms/tensor_residency.h"

namespace mtlc::random_test {
namespace {

using absl::StrCat;
using absl::StrFormat;

// Products of one kind: m4n8 or m4n4, lines of 32 elements, stages of 256 bytes.
struct Family {
  const char* shape;     // mMnN
  const char* product;   // Descriptor of a product without its leading dimensions.
  const char* tile;      // Type of its tile; empty where there is none.
  const char* begin;     // Descriptor of tensor.acc.begin.
  const char* element;   // Type of one element in memory.
  const char* epilogue;  // Element of an epilogue; empty where there is none.
  const char* scalar;    // Type of the epilogue's factors.
  uint32_t bytes;        // Of an element of D.
  uint32_t columns;
};
constexpr Family kFamilies[] = {
    {"m4n8", "m4n8k8, a=f16, acc=f32", "tile<4x8xf32>", "m4n8, acc=f32", "f32", "f32", "f32", 4, 8},
    {"m4n8", "m4n8k16, a=i8, b=u8, acc=i32, overflow=saturate", "tile<4x8xi32>", "m4n8, acc=i32",
     "i32", "", "", 4, 8},
    {"m4n4", "m4n4k4, a=f64, acc=f64, rounding=toward_zero", "tile<4x4xf64>", "m4n4, acc=f64",
     "f64", "f64", "f64", 8, 4},
    {"m4n16", "m4n16k8, a=f16, acc=f16", "tile<4x16xf16>", "m4n16, acc=f16", "f16", "f16", "f32", 2,
     16},
    {"m4n16", "m4n16k8, a=f16, acc=f32, result=f16", "", "", "f16", "f16", "f32", 2, 16},
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    constexpr unsigned kOdds[] = {0, 0, 0, 1, 1, 2, 3, 4};
    family_ = kFamilies[kOdds[pick(8)]];
    runtimeLeading_ = chance(30);
    calm_ = chance(60);
  }

  TensorProgram run() {
    head();
    const unsigned parts = 2 + pick(4);
    for (unsigned i = 0; i < parts; ++i) part(0);
    line("async.wait 0");
    line("ret");
    text_ += "}\n";
    TensorProgram p{text_, {}, {}, {}};
    p.input.resize(8192);
    p.output.resize(kOutputBytes);
    fill(p.input);
    fill(p.output);
    p.scalars = {pick(4), pick(4), pick(2), 32};
    return p;
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return pick(100) < percent; }
  void line(std::string_view s) { absl::StrAppend(&text_, "  ", std::string(s), "\n"); }
  void label(std::string_view s) { absl::StrAppend(&text_, "^", std::string(s), ":\n"); }
  std::string name() { return StrCat("%v", ++names_); }

  // Small numbers, and large ones where sums then clamp or round.
  void fill(std::vector<uint8_t>& bytes) {
    const std::string_view a = std::string_view(family_.product);
    for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      uint8_t* at = bytes.data() + i;
      if (a.find("a=f64") != a.npos) {
        const double x = static_cast<double>(static_cast<int64_t>(random_() % 2001) - 1000) / 7;
        std::memcpy(at, &x, 8);
      } else if (a.find("a=i8") != a.npos) {
        const uint64_t x = random_();
        std::memcpy(at, &x, 8);
      } else {
        for (int k = 0; k < 4; ++k) {
          constexpr uint16_t kHalves[] = {0x0000, 0x3C00, 0xBC00, 0x4000,
                                          0x3800, 0x4248, 0x2E66, 0xC500};
          std::memcpy(at + 2 * k, &kHalves[random_() % 8], 2);
        }
      }
    }
  }

  void head() {
    text_ =
        "module \"tensor\"\n\nfunc @nothing() {\n^entry:\n  ret\n}\n\n"
        "kernel @k(%in: ptr<global>, %out: ptr<global>, %n0: i32, %n1: i32, %flag: i32, %ld: i64) "
        "{\n^entry:\n";
    for (int i = 0; i < 5; ++i) line(StrFormat("%%i%d = const %d : i32", i, i));
    line("%two = const 2 : i32");
    line("%tid = gpu.thread_id x : i32");
    line("%lane = subgroup.local_id : i32");
    line("%mine = lshr %tid, %two : i32");
    line("%sg = subgroup.broadcast %mine, %i0 : i32");
    line("%f = cmp.ne %flag, %i0 : i32");
    line("%tid64 = zext %tid : i32 to i64");
    line("%lane64 = zext %lane : i32 to i64");
    line("%sg64 = zext %sg : i32 to i64");
    for (const char* s : {"s0", "s1", "s2", "s3"}) {
      line(StrFormat("%%%s = alloc.workgroup i8[256] : ptr<workgroup>", s));
    }
    line("%other = alloc.workgroup i32[8] : ptr<workgroup>");
    line("%own = alloc.private i32[1] : ptr<private>");
    line("store i32, %i0, %own : ptr<private>");
    line(StrFormat("%%homes = alloc.workgroup %s[512] : ptr<workgroup>", family_.element));
    line(StrFormat("%%mb = const %d : i64", kMatrixBytes));
    line("%moff = mul %sg64, %mb : i64");
    line("%m = ptr.add %out, %moff x i8 : ptr<global>");
    // The matrices of the other subgroup.
    line("%one64 = const 1 : i64");
    line("%sgo = xor %sg64, %one64 : i64");
    line("%ooff = mul %sgo, %mb : i64");
    line("%o = ptr.add %out, %ooff x i8 : ptr<global>");
    auto at = [&](const char* to, unsigned row, unsigned column) {
      const unsigned offset = (row * 32 + column) * family_.bytes;
      line(StrFormat("%%o%s = const %d : i64", to, offset));
      line(StrFormat("%%%s = ptr.add %%m, %%o%s x i8 : ptr<global>", to, to));
    };
    at("d1", 0, family_.columns);
    at("d2", 4, 0);
    at("d3", 2, 0);  // Half of %m, half of %d2.
    at("c0", 8, 0);
    line("%hoff0 = const 256 : i64");
    line("%hoff = mul %sg64, %hoff0 : i64");
    line(StrFormat("%%h = ptr.add %%homes, %%hoff x %s : ptr<workgroup>", family_.element));
    // The home in workgroup memory, of each element by one work-item.
    const std::string value = name();
    line(StrFormat("%s = load %s, %%m : ptr<global>", value, family_.element));
    for (unsigned i = 0; i < 32; ++i) {
      const std::string index = name(), pointer = name();
      line(StrFormat("%s = const %d : i64", index, 4 * i));
      line(StrFormat("%s.l = add %s, %%lane64 : i64", pointer, index));
      line(StrFormat("%s = ptr.add %%h, %s.l x %s : ptr<workgroup>", pointer, pointer,
                     family_.element));
      line(StrFormat("store %s, %s, %s : ptr<workgroup>", family_.element, value, pointer));
    }
    line(StrFormat("%%cb = const %d : i64", kCellBytes));
    line("%coff = mul %tid64, %cb : i64");
    line(StrFormat("%%call = const %d : i64", kCellsAt));
    line("%coffs = add %coff, %call : i64");
    line("%cells = ptr.add %out, %coffs x i8 : ptr<global>");
    line("%wide = const 32 : i64");
    line("%slice = mul %tid64, %wide : i64");
    line("%oslice = mul %lane64, %wide : i64");
    line("%din = ptr.add %in, %slice x i8 : ptr<global>");
    line("%dm = ptr.add %m, %oslice x i8 : ptr<global>");
    line("%k128 = const 128 : i64");
    for (const char* s : {"s0", "s1", "s2", "s3"}) {
      line(StrFormat("%%p%s = ptr.add %%%s, %%slice x i8 : ptr<workgroup>", s, s));
      line(StrFormat("async.copy %%p%s, %%din, 32 x i8 transaction 16", s));
    }
    line("async.commit");
    line("async.wait 0");
    line("barrier {workgroup, global} seq_cst");
  }

  // ---- Parts of a program ----

  const char* home() {
    constexpr const char* kHomes[] = {"%m", "%m", "%m", "%m", "%d1", "%d2", "%h", "%h", "%d3"};
    if (!current_.empty() && chance(75)) return current_.c_str();
    const char* h = kHomes[pick(calm_ ? 8 : 9)];
    current_ = h;
    return h;
  }
  std::string operand() {
    if (chance(35)) return "%in";
    if (!index_.empty() && chance(40)) {
      const std::string w = name();
      line(StrFormat("%s = zext %s : i32 to i64", w, index_));
      line(StrFormat("%s.o = mul %s, %%k128 : i64", w, w));
      line(StrFormat("%s.p = ptr.add %%in, %s.o x i8 : ptr<global>", w, w));
      return w + ".p";
    }
    return StrCat("%s", pick(3));
  }
  std::string leading(bool withC) {
    return runtimeLeading_ ? (withC ? ", ldc=%ld, ldd=%ld" : ", ldd=%ld") : "";
  }
  std::string constantLeading(bool withC) {
    return runtimeLeading_ ? "" : withC ? ", ldc=32, ldd=32" : ", ldd=32";
  }

  void product(const std::string& d, bool afresh) {
    const std::string a = operand(), b = operand();
    std::string descriptor = family_.product;
    if (chance(3)) {
      descriptor = absl::StrReplaceAll(descriptor, {{"saturate", "wrap"}, {"toward_zero", "up"}});
    }
    line(StrFormat("tensor.mma a=%s, b=%s, c=%s, d=%s%s {%s%s}", a, b, afresh ? "%c0" : d, d,
                   leading(true), descriptor, constantLeading(true)));
  }
  void tile(const std::string& d) {
    const std::string t = name();
    line(StrFormat("%s = tensor.acc.begin c=%s, d=%s%s {%s%s} : %s", t, d, d, leading(true),
                   family_.begin, constantLeading(true), family_.tile));
    const std::string a = operand(), u = name();
    line(StrFormat("%s = tensor.acc.mma tile=%s, a=%s, b=%s {%s} : %s", u, t, a, operand(),
                   family_.product, family_.tile));
    line(StrFormat("tensor.acc.commit %s", u));
  }
  void products(bool mayStart) {
    const std::string d = home();
    const unsigned n = 1 + pick(3);
    for (unsigned i = 0; i < n; ++i) {
      if (*family_.tile && chance(15)) {
        tile(d);
      } else {
        product(d, mayStart && i == 0 && chance(25));
      }
    }
  }
  void epilogue() {
    if (!*family_.epilogue) return;
    const std::string d = home();
    constexpr const char* kBias[] = {"", ", bias=row", ", bias=column", ", bias=matrix"};
    const unsigned bias = pick(4);
    std::string factor;
    std::string more = chance(50) ? ", activation=relu" : "";
    if (chance(40)) {
      factor = name();
      line(StrFormat("%s = const 0.5 : %s", factor, family_.scalar));
    }
    line(StrFormat("tensor.epilogue d=%s%s%s%s {%s, element=%s%s%s%s}", d, leading(false),
                   bias ? ", bias=%c0" : "", factor.empty() ? "" : ", alpha=" + factor,
                   family_.shape, family_.epilogue, constantLeading(false), kBias[bias], more));
  }
  void cell(const std::string& value, const char* type) {
    const std::string o = name(), p = name();
    line(StrFormat("%s = const %d : i64", o, 8 * (cellsUsed_++ % (kCellBytes / 8))));
    line(StrFormat("%s = ptr.add %%cells, %s x i8 : ptr<global>", p, o));
    line(StrFormat("store %s, %s, %s : ptr<global>", type, value, p));
  }
  void observe() {
    const std::string v = name();
    if (chance(40)) {  // What the other subgroup has.
      line("barrier {workgroup, global} seq_cst");
      line(StrFormat("%s = load %s, %%o : ptr<global>", v, family_.element));
      cell(v, family_.element);
      line("barrier {workgroup, global} seq_cst");
      return;
    }
    const std::string d = home();
    line(StrFormat("%s = load %s, %s : ptr<%s>", v, family_.element, d,
                   d == "%h" ? "workgroup" : "global"));
    cell(v, family_.element);
  }
  void overwrite() {
    const std::string p = name(), v = name();
    line(StrFormat("%s = load %s, %%c0 : ptr<global>", v, family_.element));
    line(StrFormat("%s = ptr.add %%m, %%lane64 x %s : ptr<global>", p, family_.element));
    line(StrFormat("store %s, %s, %s : ptr<global>", family_.element, v, p));
  }
  void copy(unsigned stage, bool fromSum) {
    line(StrFormat("async.copy %%ps%d, %s, 32 x i8 transaction 16", stage,
                   fromSum ? "%dm" : "%din"));
    line("async.commit");
  }
  const char* barrier() {
    constexpr const char* kBarriers[] = {
        "barrier {workgroup} acq_rel", "barrier {workgroup} seq_cst",
        "barrier {workgroup, global} acq_rel", "barrier {global} seq_cst"};
    return kBarriers[chance(60) ? pick(2) : pick(4)];
  }
  void handoff() {
    if (chance(60)) line(StrFormat("async.wait %d", pick(2)));
    line(barrier());
  }
  void quiet() {
    switch (pick(4)) {
      case 0: {
        const std::string v = name();
        line(StrFormat("%s = load i32, %%own : ptr<private>", v));
        line(StrFormat("%s.n = add %s, %%i1 : i32", v, v));
        line(StrFormat("store i32, %s.n, %%own : ptr<private>", v));
        return;
      }
      case 1: {
        const std::string v = name();
        line(StrFormat("%s = ptr.add %%other, %%tid64 x i32 : ptr<workgroup>", v));
        line(StrFormat("store i32, %%tid, %s : ptr<workgroup>", v));
        return;
      }
      case 2:
        line(StrFormat("%s = subgroup.reduce add %%tid : i32", name()));
        return;
      default:
        line(StrFormat("%s = mul %%tid, %%two : i32", name()));
    }
  }

  void statement(unsigned depth) {
    const unsigned roll = pick(calm_ ? 72 : 100);
    if (roll < 40) return products(true);
    if (roll < 48) return epilogue();
    if (roll < 58) return quiet();
    if (roll < 66) return copy(chance(70) ? 3 : pick(3), !calm_ && chance(40));
    if (roll < 72) return handoff();
    if (roll < 80) return observe();
    if (roll < 84) return overwrite();
    if (roll < 88) return line("call @nothing()");
    if (roll < 91) return line("fence {workgroup, global} acq_rel device");
    if (roll < 94) {
      const std::string v = name();
      line(StrFormat("%s = ptr.add %%other, %%tid64 x i32 : ptr<workgroup>", v));
      return line(StrFormat("atomic.store i32, %s, %%tid : ptr<workgroup> relaxed workgroup", v));
    }
    if (depth < 2) condition(depth);
  }

  void condition(unsigned depth) {
    const std::string n = StrCat(++names_);
    line(StrFormat("br %%f, ^then%s, ^join%s", n, n));
    label("then" + n);
    statement(depth + 1);
    line(StrFormat("jump ^join%s", n));
    label("join" + n);
  }

  void part(unsigned depth) {
    const unsigned roll = pick(100);
    if (roll < 45 && depth < 2) return loop(depth);
    if (roll < 58) return stages();
    if (roll < 75) return trap();
    const unsigned n = 1 + pick(4);
    for (unsigned i = 0; i < n; ++i) statement(depth);
  }

  // Two or more stages in a row.
  void stages() {
    const unsigned n = 2 + pick(2);
    const std::string d = home();
    if (chance(90)) line("barrier {workgroup} seq_cst");
    for (unsigned i = 0; i < n; ++i) copy(i, i > 0 && chance(5));
    for (unsigned i = 0; i < n; ++i) {
      line(StrFormat("async.wait %d", n - 1 - i));
      line(barrier());
      if (chance(10)) quiet();
      if (chance(4)) observe();
      line(StrFormat("tensor.mma a=%%s%d, b=%%s%d, c=%s, d=%s%s {%s%s}", i, i, d, d, leading(true),
                     family_.product, constantLeading(true)));
    }
    line("barrier {workgroup} acq_rel");
  }

  // What goes wrong if a tile is held for a little too long.
  void trap() {
    const std::string n = StrCat(++names_);
    const unsigned kind = pick(6);
    const std::string d = "%m";
    const char* const kAll = "barrier {workgroup, global} seq_cst";
    auto load = [&](const char* from, const char* space) {
      const std::string v = name();
      line(StrFormat("%s = load %s, %s : ptr<%s>", v, family_.element, from, space));
      cell(v, family_.element);
    };
    auto storeToOther = [&] {
      const std::string p = name(), v = name();
      line(StrFormat("%s = load %s, %%in : ptr<global>", v, family_.element));
      line(StrFormat("%s = ptr.add %%o, %%lane64 x %s : ptr<global>", p, family_.element));
      line(StrFormat("store %s, %s, %s : ptr<global>", family_.element, v, p));
    };
    auto copySum = [&] {
      line("async.copy %ps3, %dm, 32 x i8 transaction 16");
      line("async.commit");
    };
    line(kAll);
    if (kind == 0) {
      // The next stage is a copy of the sum.
      product(d, false);
      copySum();
      line("async.wait 0");
      line("barrier {workgroup} acq_rel");
      line(StrFormat("tensor.mma a=%%s3, b=%%s3, c=%s, d=%s%s {%s%s}", d, d, leading(true),
                     family_.product, constantLeading(true)));
      line(kAll);
      return;
    }
    if (kind == 2) {
      line("async.commit");
      line("async.commit");
    }
    if (kind == 4) storeToOther();
    if (kind == 5 && chance(50)) product(d, false);
    line(StrFormat("jump ^trap%s(%%i0)", n));
    label(StrFormat("trap%s(%%i%s: i32)", n, n));
    const bool top = kind == 3;
    if (top) {
      line(StrFormat("%%g%s = cmp.slt %%i%s, %%n%d : i32", n, n, pick(2)));
      line(StrFormat("br %%g%s, ^in%s, ^out%s", n, n, n));
      label("in" + n);
    }
    switch (kind) {
      case 1:  // The last barrier of the loop shows the sum to the others.
        product(d, false);
        line("async.wait 0");
        line(kAll);
        break;
      case 2:  // The last copy is one of the sum.
        line("async.wait 1");
        line("barrier {workgroup} acq_rel");
        product(d, false);
        copySum();
        break;
      case 3:  // Without a round, others may write.
        product(d, false);
        break;
      case 4:  // The first barrier of the loop shows what the others wrote.
        line("async.wait 0");
        line(kAll);
        product(d, false);
        break;
      default:  // A copy of the sum is there before the next update.
        copySum();
        line("async.wait 0");
        line("barrier {workgroup} acq_rel");
        line(StrFormat("tensor.mma a=%%s3, b=%%in, c=%s, d=%s%s {%s%s}", d, d, leading(true),
                       family_.product, constantLeading(true)));
        line("barrier {workgroup} acq_rel");
    }
    line(StrFormat("%%j%s = add %%i%s, %%i1 : i32", n, n));
    if (top) {
      line(StrFormat("jump ^trap%s(%%j%s)", n, n));
    } else {
      line(StrFormat("%%g%s = cmp.slt %%j%s, %%n%d : i32", n, n, pick(2)));
      line(StrFormat("br %%g%s, ^trap%s(%%j%s), ^out%s", n, n, n, n));
    }
    label("out" + n);
    if (kind == 1) load("%o", "global");
    if (kind == 2) {
      line("async.wait 0");
      load("%ps3", "workgroup");
    }
    if (kind == 3) storeToOther();
    line(kAll);
  }

  void loop(unsigned depth) {
    const std::string n = StrCat(++names_);
    const std::string i = "%i" + n, j = "%j" + n, g = "%g" + n;
    const std::string bound = chance(80) ? StrCat("%n", pick(2)) : StrCat("%i", pick(4));
    const bool top = chance(60);
    const std::string before = index_;
    const std::string wasCurrent = current_;
    const bool staged = chance(35);
    if (chance(30)) products(true);
    if (staged) copy(chance(85) ? 3 : 0, false);
    if (chance(40)) {
      // Others may have written what the loop adds to.
      line("barrier {workgroup, global} seq_cst");
    }
    line(StrFormat("jump ^%s%s(%%i0)", top ? "head" : "body", n));
    index_ = i;
    if (top) {
      label(StrFormat("head%s(%s: i32)", n, i));
      if (!calm_ && chance(15)) statement(2);
      line(StrFormat("%s = cmp.slt %s, %s : i32", g, i, bound));
      line(StrFormat("br %s, ^body%s, ^done%s", g, n, n));
      label("body" + n);
    } else {
      label(StrFormat("body%s(%s: i32)", n, i));
    }
    if (staged) {
      stagedBody();
    } else if (depth == 0 && chance(15)) {
      if (chance(50)) products(true);
      loop(depth + 1);
    } else if (chance(25)) {
      // Several accumulators.
      for (const char* d : {"%m", "%d1", "%d2"}) product(d, false);
      if (chance(30)) quiet();
    } else {
      if (chance(40)) quiet();
      products(chance(10));
      if (!calm_ && chance(30)) statement(depth + 1);
      if (chance(15)) condition(2);
    }
    line(StrFormat("%s = add %s, %%i1 : i32", j, i));
    if (top) {
      line(StrFormat("jump ^head%s(%s)", n, j));
    } else {
      line(StrFormat("%s = cmp.slt %s, %s : i32", g, j, bound));
      line(StrFormat("br %s, ^body%s(%s), ^done%s", g, n, j, n));
    }
    label("done" + n);
    index_ = before;
    current_ = chance(50) ? wasCurrent : current_;
    if (chance(40)) epilogue();
    if (staged) line("async.wait 0");
    if (chance(30)) cell(top ? i : j, "i32");
  }

  void stagedBody() {
    const bool early = chance(50);
    const unsigned stage = chance(85) ? 3 : 1;
    if (early) copy(stage, !calm_ && chance(10));
    line(StrFormat("async.wait %d", early ? 1 : 0));
    line(barrier());
    if (!early) copy(stage, !calm_ && chance(10));
    if (chance(10)) quiet();
    product(home(), false);
    if (chance(30)) product(home(), false);
    if (chance(5)) observe();
    line(chance(85) ? "barrier {workgroup} acq_rel" : "barrier {workgroup, global} seq_cst");
  }

  std::mt19937_64 random_;
  Family family_;
  bool runtimeLeading_ = false, calm_ = false;
  std::string text_, index_, current_;
  unsigned names_ = 0, cellsUsed_ = 0;
};

}  // namespace

TensorProgram generateTensorProgram(uint64_t seed) { return Generator(seed).run(); }

bool keepTilesApart(ir::Function& kernel) {
  using ir::Operation;
  using ir::Slot;
  using ir::Value;
  const transforms::TileHomes homes(kernel);
  std::vector<Operation*> begins, commits;
  for (ir::Block& block : kernel.blocks()) {
    for (Operation& op : block.ops()) {
      if (op.opcode() == ir::Opcode::TensorAccBegin) begins.push_back(&op);
      if (op.form() == ir::Form::AccCommit) commits.push_back(&op);
    }
  }
  ir::Module& module = kernel.module();
  ir::Builder builder(module);
  builder.setInsertBefore(kernel.entry()->front());
  Value* tid =
      builder.cast(ir::Opcode::ZExt, builder.gpuIndex(ir::Opcode::ThreadId, ir::Dim::X), ir::kI64);
  Value* subgroup =
      builder.binary(ir::Opcode::UDiv, tid, builder.constInt(ir::kI64, kTensorSubgroup));
  Value* first =
      builder.add(builder.mul(subgroup, builder.constInt(ir::kI64, kMaxHomes * kTileBytes)),
                  builder.constInt(ir::kI64, kTilesAt));
  absl::flat_hash_map<const Value*, Value*> places;
  for (Operation* op : begins) {
    Value*& place = places[op->slot(Slot::D)];
    if (place) continue;
    if (places.size() > kMaxHomes) return false;
    Value* at = builder.add(
        first, builder.constInt(ir::kI64, static_cast<int64_t>((places.size() - 1) * kTileBytes)));
    place = builder.ptrAdd(kernel.param(1), at, ir::kI8);
  }
  auto beginAt = [&](const Operation& like, Value* c, Value* d) {
    // The operands but for C and D are leading dimensions.
    ir::MmaDesc desc = like.mmaDesc();
    std::vector<ir::Builder::SlotOperand> operands = {{Slot::C, c}, {Slot::D, d}};
    for (Slot s : {Slot::Ldc, Slot::Ldd}) {
      if (Value* v = like.slot(s)) operands.push_back({s, v});
    }
    return builder.accBegin(desc, operands);
  };
  absl::flat_hash_map<const Value*, const Operation*> beginOf;
  for (Operation* op : begins) beginOf[op->slot(Slot::D)] = op;
  for (Operation* op : commits) {
    const transforms::Matrix* home = homes.find(op->operand(0));
    if (!home) return false;
    const Operation& begin = *beginOf[home->pointer];
    ir::MmaDesc desc = begin.mmaDesc();
    desc.cLayout = desc.dLayout;
    desc.ldc = desc.ldd;
    builder.setInsertBefore(op->next());
    std::vector<ir::Builder::SlotOperand> operands = {{Slot::C, places[home->pointer]},
                                                      {Slot::D, begin.slot(Slot::D)}};
    if (Value* ldd = begin.slot(Slot::Ldd)) {
      operands.push_back({Slot::Ldc, ldd});
      operands.push_back({Slot::Ldd, ldd});
    }
    builder.accCommit(builder.accBegin(desc, operands));
  }
  for (Operation* op : begins) {
    builder.setInsertBefore(op);
    op->result()->replaceAllUsesWith(beginAt(*op, op->slot(Slot::C), places[op->slot(Slot::D)]));
    op->erase();
  }
  return true;
}

}  // namespace mtlc::random_test
