// The table and NVIDIA's assembler agree on what is an instruction: every form of the table at the
// versions of its row, and forms made illegal by one change. Skipped where there is no ptxas.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/sim/device.h"
#include "mtlc/sim/oracle/forms.h"
#include "mtlc/sim/oracle/operands.h"

namespace mtlc::sim::oracle {
namespace {

std::string ptxas() {
  for (const char* place : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (access(place, X_OK) == 0) return place;
  }
  return {};
}

struct Target {
  unsigned version;  // * 10
  std::string name;
};

constexpr int kHeadLines = 3;

// A kernel with one instruction per line; the first is on line kHeadLines + 1.
std::string moduleText(const Target& t, const std::vector<std::string>& lines) {
  std::string text = absl::StrFormat(
      ".version %d.%d\n.target %s\n.address_size 64 .visible .entry k(.param .u64 pm) { "
      ".reg .pred %%p<9>; .reg .b8 %%b<9>; .reg .b16 %%h<9>; .reg .b32 %%r<140>; .reg .b64 "
      "%%rd<9>; "
      ".reg .f32 %%f<140>; "
      ".reg .s32 %%i<140>; .reg .u64 %%u<9>; .reg .f64 %%d<9>; .reg .s16 %%w<9>; %s\n",
      t.version / 10, t.version % 10, t.name, t.version >= 83 ? ".reg .b128 %q<9>;" : "");
  for (const std::string& l : lines) text += l + "\n";
  return text + "ret; }\n";
}

// What ptxas says of lines [begin, end): adds the indices of those that it refuses. False when it
// crashed.
bool runPtxas(const Target& t, const std::vector<std::string>& lines, size_t begin, size_t end,
              std::set<size_t>& refused) {
  const std::string path = testing::TempDir() + "/oracle_forms.ptx";
  std::ofstream(path) << moduleText(t, {lines.begin() + begin, lines.begin() + end});
  const std::string command = ptxas() + " -arch=" + t.name + " -O0 " + path + " -o /dev/null 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  std::set<size_t> found;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string_view s = line;
    const size_t at = s.find(", line ");
    if (at == std::string_view::npos || s.find("error") == std::string_view::npos) continue;
    const int number = std::atoi(line + at + 7) - kHeadLines - 1;
    if (number >= 0) found.insert(begin + static_cast<size_t>(number));
  }
  // 0, or 255 after errors; a signal otherwise, which the shell turns into 128 and more.
  const int status = pclose(pipe);
  const bool ended = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 255);
  if (ended) refused.insert(found.begin(), found.end());
  return ended;
}

// Indices of the lines that ptxas refuses. Those that crash it are said apart: it refuses them in
// its way, and says nothing of the others while they are there.
std::set<size_t> refusedByPtxas(const Target& t, const std::vector<std::string>& lines,
                                std::set<size_t>& crashing) {
  std::set<size_t> refused;
  std::vector<std::pair<size_t, size_t>> ranges = {{0, lines.size()}};
  while (!ranges.empty()) {
    const auto [begin, end] = ranges.back();
    ranges.pop_back();
    if (begin == end || runPtxas(t, lines, begin, end, refused)) continue;
    if (end - begin == 1) {
      crashing.insert(begin);
      continue;
    }
    const size_t middle = begin + (end - begin) / 2;
    ranges.push_back({begin, middle});
    ranges.push_back({middle, end});
  }
  return refused;
}

std::set<size_t> refusedHere(const Target& t, const std::vector<std::string>& lines,
                             std::string* messages = nullptr) {
  std::string text = moduleText(t, lines);
  SourceManager sources;
  DiagnosticEngine diags(1 << 20);
  FileId file = sources.add("forms.ptx", text);
  Device device;
  device.load(file, sources, diags);
  std::set<size_t> out;
  for (const Diagnostic& d : diags.all()) {
    int line = static_cast<int>(d.range.begin.line());
    if (line <= kHeadLines) continue;
    out.insert(static_cast<size_t>(line - kHeadLines - 1));
    if (messages != nullptr) *messages += absl::StrFormat("%d: %s\n", line, d.message);
  }
  return out;
}

std::string registerOf(Type t, size_t index) {
  if (t == Mod::pred) return absl::StrFormat("%%p%d", index);
  switch (typeBits(t)) {
    case 8:
      return absl::StrFormat(typeClass(t) == TypeClass::packed ? "%%b%d" : "%%h%d", index);
    case 16:
      return absl::StrFormat("%%h%d", index);
    case 32:
      return absl::StrFormat("%%r%d", index);
    case 128:
      return absl::StrFormat("%%q%d", index);
    default:
      return absl::StrFormat("%%rd%d", index);
  }
}

size_t vectorLength(const Form& f) {
  return f.has(Mod::v8) ? 8 : f.has(Mod::v4) ? 4 : f.has(Mod::v2) ? 2 : 1;
}

std::string vectorOf(Type t, const Form& f, size_t from) {
  size_t n = vectorLength(f);
  std::string list;
  for (size_t i = 0; i < n; ++i) list += (i == 0 ? "" : ", ") + registerOf(t, from + i);
  return n == 1 ? list : "{" + list + "}";
}

// Bits of a matrix element in a register of its fragment.
unsigned elementBits(Mod m, bool packed) {
  switch (m) {
    case Mod::f64:
      return 64;
    case Mod::tf32:
    case Mod::f32:
    case Mod::s32:
      return 32;
    case Mod::f16:
    case Mod::bf16:
      return 16;
    case Mod::s4:
    case Mod::u4:
      return 4;
    case Mod::b1:
      return 1;
    case Mod::e2m1:
      return packed ? 4 : 8;
    case Mod::s8:
    case Mod::u8:
    case Mod::e4m3:
    case Mod::e5m2:
    case Mod::e3m2:
    case Mod::e2m3:
      return 8;
    default:
      return 0;
  }
}

// A vector of the registers that `elements` elements of type `m` take in each lane.
std::string fragment(Mod m, size_t elements, bool packed) {
  unsigned bits = elementBits(m, packed);
  const char* name = m == Mod::f64 ? "%d" : m == Mod::f32 ? "%f" : m == Mod::s32 ? "%i" : "%r";
  std::string list;
  for (size_t i = 0; i < elements * bits / (m == Mod::f64 ? 64 : 32) / 32; ++i) {
    list += (i == 0 ? "" : ", ") + absl::StrFormat("%s%d", name, i);
  }
  return "{" + list + "}";
}

// What of a product of a warpgroup its form leaves open.
struct WarpgroupChoice {
  bool registers = false;  // A is in registers.
  const char* scaleD = "%p1";
  const char* scaleA = "1";
  const char* orderB = "0";
  const char* selector = "0";
};

std::string writtenWarpgroup(const Form& f, std::string text, unsigned n, unsigned k,
                             const std::vector<Mod>& types, const WarpgroupChoice& c) {
  if (f.row->family == Family::warpgroupWait) return text + " 3;";
  if (f.row->family != Family::warpgroupProduct) return text + ";";
  bool sparse = f.has(Mod::sparse), half = types[1] == Mod::f16 || types[1] == Mod::bf16;
  text += " " + fragment(types[0], 16 * n, false);
  text += c.registers
              ? ", " + fragment(types[1], size_t{16} * k / (sparse ? 2 : 1), false) + ", %rd2"
              : std::string(", %rd1, %rd2");
  if (sparse) text += std::string(", %r5, ") + c.selector;
  text += std::string(", ") + c.scaleD;
  if (types[0] != Mod::s32) text += std::string(", ") + c.scaleA + ", 1";
  if (half && !c.registers) text += ", 0";
  if (half) text += std::string(", ") + c.orderB;
  return text + ";";
}

// Instructions on matrices, with the registers that their shapes and types ask for.
std::string writtenMatrix(const Form& f) {
  std::string text = spelling(f);
  unsigned m = 0, n = 0, k = 0;
  std::vector<Mod> types;
  bool packed = f.has(Mod::kindMxf4) || f.has(Mod::kindMxf4nvf4);
  for (size_t i = 0; i < f.count; ++i) {
    std::string word(modSpelling(f.mods[i]));
    if (std::sscanf(word.c_str(), "m%un%uk%u", &m, &n, &k) == 3) continue;
    if (elementBits(f.mods[i], packed) != 0) types.push_back(f.mods[i]);
  }
  if (f.row->opcode == "wgmma") return writtenWarpgroup(f, text, n, k, types, {});
  bool opaqueHalf = f.row->opcode == "wmma" && (types[0] == Mod::f16 || types[0] == Mod::f32);
  switch (f.row->family) {
    case Family::mma:
    case Family::wmmaMma: {
      if (types.size() == 2) types = {types[0], Mod::f16, Mod::f16, types[1]};
      bool sparse = f.has(Mod::sparse) || f.has(Mod::sparseOrdered);
      bool quads = f.row->opcode == "mma" && f.has(Mod::m8n8k4) && types[0] != Mod::f64;
      bool half = f.row->opcode == "wmma" && types[1] == Mod::f16;
      size_t q = quads ? 4 : 1;
      text += " " + fragment(types[0], q * m * n, false);
      text += ", " + fragment(types[1], half ? 512 : q * m * k / (sparse ? 2 : 1), packed);
      text += ", " + fragment(types[2], half ? 512 : q * n * k, packed);
      text += ", " + fragment(types[3], q * m * n, false);
      if (sparse) text += ", %r8, 0";
      if (f.has(Mod::blockScale)) text += ", %r7, {0, 1}, %r8, {%h1, %h2}";
      return text + ";";
    }
    case Family::wmmaLoad:
    case Family::wmmaStore: {
      size_t elements = f.has(Mod::matrixA) ? m * k : f.has(Mod::matrixB) ? k * n : m * n;
      bool multiplicand = f.has(Mod::matrixA) || f.has(Mod::matrixB);
      if (opaqueHalf && multiplicand) elements = 512;
      std::string list = fragment(types.back(), elements, false);
      return f.row->family == Family::wmmaLoad ? text + " " + list + ", [%rd8], %r8;"
                                               : text + " [%rd8], " + list + ", %r8;";
    }
    case Family::movmatrix:
      return text + " %r1, %r2;";
    default: {
      size_t count = f.has(Mod::x4) ? 4 : f.has(Mod::x2) ? 2 : 1;
      if (f.has(Mod::m16n16)) count *= 2;
      std::string list = fragment(Mod::tf32, 32 * count, false);
      return f.row->family == Family::ldmatrix ? text + " " + list + ", [%rd8];"
                                               : text + " [%rd8], " + list + ";";
    }
  }
}

std::string tensorOperand(const Form& f) {
  std::string list;
  for (Mod d : {Mod::dim1, Mod::dim2, Mod::dim3, Mod::dim4, Mod::dim5}) {
    list += (list.empty() ? "%r" : ", %r") + std::to_string(static_cast<int>(d) % 7 + 1);
    if (f.has(d)) break;
  }
  return " [%rd8, {" + list + "}]";
}

// mbarriers, bulk and tensor copies.
std::string writtenAsync(const Form& f, std::string text) {
  bool toGlobal = f.has(Mod::bulkGroup);
  std::string rest = toGlobal ? "" : ", [%r4]";
  if (f.has(Mod::multicastCluster)) rest += ", %h1";
  if (f.has(Mod::l2CacheHint)) rest += ", %rd4";
  if (f.has(Mod::cpMask)) rest += ", %h2";
  switch (f.row->family) {
    case Family::copyArrive:
    case Family::mbarrierInval:
      return text + " [%rd8];";
    case Family::mbarrierInit:
    case Family::mbarrierBytes:
      return text + " [%rd8], %r1;";
    case Family::mbarrierArrive:
      text += f.has(Mod::sharedCluster) ? " _, [%rd8]" : " %rd1, [%rd8]";
      return text + (f.has(Mod::expectTx) || f.has(Mod::noComplete) ? ", %r1;" : ";");
    case Family::mbarrierWait:
      return text + " %p1, [%rd8], " + (f.has(Mod::parity) ? "%r1;" : "%rd1;");
    case Family::tensormapFence:
      return text + " [%rd8], 128;";
    case Family::tensormapCopy:
      return text + " [%rd8], [%rd7], 128;";
    case Family::tensormapReplace: {
      bool numbered = f.firstOf({Mod::boxDim, Mod::globalDim, Mod::globalStride,
                                 Mod::elementStride}) != Mod::none;
      bool address = f.firstOf({Mod::globalAddress, Mod::globalStride}) != Mod::none;
      bool constant = !numbered && !address && !f.has(Mod::rank);
      return text + " [%rd8]" + (numbered ? ", 3" : "") +
             (constant  ? ", 1;"
              : address ? ", %rd1;"
                        : ", %r1;");
    }
    case Family::storeAsync: {
      const char* reg = f.has(Mod::sharedCluster) ? "%r" : "%rd";
      return absl::StrFormat("%s [%s8], %s, [%s7];", text, reg, vectorOf(f.types[0], f, 0), reg);
    }
    case Family::bulkCopy:
    case Family::bulkReduce:
      return text + (toGlobal ? " [%rd8], [%r2], 32" : " [%r2], [%rd8], %r3") + rest + ";";
    case Family::tensorCopy:
    case Family::tensorReduce:
      return text + (toGlobal ? tensorOperand(f) + ", [%r2]" : " [%r2]," + tensorOperand(f)) +
             rest + ";";
    case Family::bulkPrefetch:
      if (f.has(Mod::tensormap)) return text + (f.has(Mod::param) ? " [pm];" : " [%rd8];");
      text += f.has(Mod::tensor) ? tensorOperand(f) : " [%rd8], 64";
      return text + (f.has(Mod::l2CacheHint) ? ", %rd4;" : ";");
    default:
      return {};
  }
}

// Forms whose operands the decoder reads itself.
std::string writtenControl(const Form& f) {
  if (familyKind(f.row->family) == FamilyKind::matrix) return writtenMatrix(f);
  Type t = f.types[0];
  std::string text = spelling(f);
  switch (f.row->family) {
    case Family::mov:
      return text + " " + registerOf(t, 1) + ", " + registerOf(t, 2) + ";";
    case Family::fence:
      return text + ";";
    case Family::copyAsync:
      return text + " [%rd8], [%rd7], 16" + (f.has(Mod::l2CacheHint) ? ", %rd4;" : ";");
    case Family::atom:
    case Family::red:
      if (f.row->family == Family::atom) text += " " + vectorOf(t, f, 0) + ",";
      text += " [%rd8], " + vectorOf(t, f, 0);
      if (f.has(Mod::cas)) text += ", " + registerOf(t, 3);
      if (f.has(Mod::l2CacheHint)) text += ", %rd4";
      return text + ";";
    default:
      return writtenAsync(f, text);
  }
}

// The form with registers of the types it asks for; empty for branches and calls.
std::string written(const Form& f) {
  if (f.row->controlOperands) return writtenControl(f);
  std::string text = spelling(f);
  size_t index = 1;
  bool first = true;
  for (const OperandSpec& s : f.row->operands) {
    if (s.optional && !(s.type == Mod::b64 && f.has(Mod::l2CacheHint))) continue;
    text += first ? " " : ", ";
    first = false;
    switch (s.role) {
      case OperandRole::memory:
        text += f.has(Mod::param) || f.has(Mod::paramEntry) ? "[pm]" : "[%rd8]";
        break;
      case OperandRole::integer:
        text += f.row->opcode == "discard" || f.row->opcode == "applypriority" ? "128"
                : f.row->opcode == "setmaxnreg"                                ? "96"
                                                                               : "3";
        break;
      case OperandRole::vector:
        text += vectorOf(operandType(s, f), f, 0);
        break;
      default:
        text += registerOf(operandType(s, f), index++);
        if (s.needsPair) text += "|%p8";
        if (s.selector && s.role == OperandRole::dest && f.row->family == Family::video) {
          text += ".h1";
        }
    }
  }
  return text + ";";
}

// All forms except of loads and stores, whose cache words multiply, and of products of warpgroups
// with their many shapes: samples of those.
std::vector<Form> someForms() {
  std::vector<Form> out;
  Random random(7);
  for (const InstrRow& row : instructionTable()) {
    std::vector<Form> forms = formsOf(row);
    bool product = row.family == Family::warpgroupProduct;
    bool all = row.family != Family::ld && row.family != Family::st && !product;
    size_t n = all ? forms.size() : std::min<size_t>(forms.size(), product ? 6 : 60);
    for (size_t i = 0; i < n; ++i) out.push_back(forms[all ? i : random.below(forms.size())]);
  }
  return out;
}

class Ptxas : public testing::Test {
 protected:
  void SetUp() override {
    if (ptxas().empty()) GTEST_SKIP() << "no ptxas";
  }
};

// Refusals there and here; those that only one side has are failures. ptxas takes some words in
// another order than the ISA gives: `lenient` allows that.
void compareRefusals(const Target& t, const std::vector<std::string>& lines, bool lenient = false) {
  std::string messages;
  std::set<size_t> crashing;
  std::set<size_t> theirs = refusedByPtxas(t, lines, crashing);
  std::set<size_t> ours = refusedHere(t, lines, &messages);
  size_t only = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    bool there = theirs.count(i) != 0, here = ours.count(i) != 0;
    if (there == here || crashing.count(i) != 0) continue;
    ++only;
    if (there || !lenient) {
      ADD_FAILURE() << t.name << ' ' << t.version << ": " << lines[i]
                    << (there ? " ptxas refuses" : " refused here");
    }
  }
  EXPECT_LT(only * 20, lines.size() + 20);
  EXPECT_LE(crashing.size(), 3u) << "lines that crash ptxas say nothing";
  for (size_t i : crashing) std::printf("crashes ptxas: %s\n", lines[i].c_str());
  std::printf("%s: %zu forms, ptxas refuses %zu, %zu refused here, %zu by one side\n",
              t.name.c_str(), lines.size(), theirs.size(), ours.size(), only);
}

TEST_F(Ptxas, TakesEveryForm) {
  std::vector<std::string> lines;
  for (const Form& f : someForms()) {
    std::string text = written(f);
    if (!text.empty()) lines.push_back(text);
  }
  compareRefusals({90, "sm_103a"}, lines);
}

// Two neighbouring words exchanged: what the simulator takes, ptxas does, and nearly the other way
// round.
TEST_F(Ptxas, TakesWordsInOtherOrders) {
  std::vector<std::string> lines;
  Random random{7};
  for (const Form& f : someForms()) {
    std::string text = written(f);
    if (text.empty() || random.below(3) != 0) continue;
    std::vector<size_t> dots;
    size_t end = text.find_first_of(" ;");
    for (size_t i = 0; i < end; ++i) {
      if (text[i] == '.') dots.push_back(i);
    }
    if (dots.size() < 2) continue;
    dots.push_back(end);
    size_t k = random.below(static_cast<uint32_t>(dots.size() - 2));
    std::string first = text.substr(dots[k], dots[k + 1] - dots[k]);
    std::string second = text.substr(dots[k + 1], dots[k + 2] - dots[k + 1]);
    lines.push_back(text.replace(dots[k], first.size() + second.size(), second + first));
  }
  EXPECT_GT(lines.size(), 300u);
  compareRefusals({90, "sm_103a"}, lines, true);
}

// The narrow formats of matrices are those of another architecture.
TEST_F(Ptxas, TakesEveryMatrixForm) {
  std::vector<std::string> lines;
  for (const InstrRow& row : instructionTable()) {
    if (familyKind(row.family) != FamilyKind::matrix) continue;
    for (const Form& f : formsOf(row)) lines.push_back(written(f));
  }
  EXPECT_GT(lines.size(), 2000u);
  for (const char* target : {"sm_120a", "sm_120", "sm_121f", "sm_90a"}) {
    compareRefusals({90, target}, lines);
  }
}

// So are conversions to and from formats below eight bits, and changes of tensor maps.
TEST_F(Ptxas, TakesEveryConversionAndTensorMapChange) {
  std::vector<std::string> lines;
  for (const InstrRow& row : instructionTable()) {
    if (row.opcode != "cvt" && row.opcode != "tensormap") continue;
    for (const Form& f : formsOf(row)) lines.push_back(written(f));
  }
  EXPECT_GT(lines.size(), 800u);
  for (const char* target : {"sm_100a", "sm_100f", "sm_110a", "sm_120a", "sm_121f"}) {
    compareRefusals({90, target}, lines);
  }
  for (const char* target : {"sm_90a", "sm_100", "sm_120"}) compareRefusals({90, target}, lines);
  compareRefusals({83, "sm_90a"}, lines);
  compareRefusals({86, "sm_100a"}, lines);
  compareRefusals({87, "sm_120a"}, lines);
  compareRefusals({88, "sm_121f"}, lines);
}

// Constants as operands: not of packed types, nor of floats of 16 bits.
TEST_F(Ptxas, AgreesOnConstants) {
  std::vector<std::string> lines;
  for (const Form& f : someForms()) {
    bool plain = !f.row->controlOperands && f.row->family != Family::video &&
                 f.row->family != Family::video2 && f.row->family != Family::video4;
    if (!plain || f.row->operands.empty()) continue;
    std::string text = written(f);
    size_t comma = text.rfind(", %");
    if (comma == std::string::npos || text.find_first_of("]}", comma) != std::string::npos)
      continue;
    Type t = operandType(f.row->operands.back(), f);
    bool halves = t == Mod::f16 || t == Mod::bf16;
    if (f.row->operands.back().role != OperandRole::source) continue;
    if (halves || typeClass(t) == TypeClass::packed) {
      lines.push_back(text.substr(0, comma) + ", 1;");
    } else if (typeClass(t) == TypeClass::signedInt || typeClass(t) == TypeClass::unsignedInt) {
      lines.push_back(text.substr(0, comma) + ", 1;");
    } else if (t == Mod::f32) {
      lines.push_back(text.substr(0, comma) + ", 0f3f800000;");
    }
  }
  EXPECT_GT(lines.size(), 1000u);
  compareRefusals({90, "sm_103a"}, lines);
}

// The masks of lanes are integers, other operands of exchanges any 32 bits.
TEST_F(Ptxas, AgreesOnRegistersOfCollectives) {
  std::vector<std::string> lines;
  for (const InstrRow& row : instructionTable()) {
    if (familyKind(row.family) != FamilyKind::collective) continue;
    for (const Form& f : formsOf(row)) {
      std::string text = written(f);
      for (size_t at = text.find("%r"); at != std::string::npos; at = text.find("%r", at + 1)) {
        for (const char* other : {"%f", "%i"}) {
          lines.push_back(text.substr(0, at) + other + text.substr(at + 2));
        }
      }
    }
  }
  EXPECT_GT(lines.size(), 150u);
  compareRefusals({90, "sm_103a"}, lines);
}

// Products of warpgroups with A in registers, and with constants that they may have or not; one
// form of each row. N outside the lists, too.
TEST_F(Ptxas, AgreesOnWarpgroups) {
  static constexpr WarpgroupChoice kChoices[] = {
      {true},
      {false, "!%p1"},
      {false, "1"},
      {false, "2"},
      {true, "%p1", "-1"},
      {false, "%p1", "0"},
      {false, "%p1", "2"},
      {true, "%p1", "1", "1"},
      {false, "%p1", "1", "2"},
      {true, "%p1", "1", "0", "1"},
      {false, "%p1", "1", "0", "2"},
      {false, "%p1", "%r1"},
  };
  // Words that are none are errors of the parser, which then looks at nothing else.
  std::vector<std::string> lines, words;
  for (const InstrRow& row : instructionTable()) {
    if (row.family != Family::warpgroupProduct) continue;
    std::vector<Form> forms = formsOf(row);
    const Form& f = forms[forms.size() / 2];
    unsigned m = 0, n = 0, k = 0;
    std::vector<Mod> types;
    for (size_t i = 0; i < f.count; ++i) {
      std::string word(modSpelling(f.mods[i]));
      if (std::sscanf(word.c_str(), "m%un%uk%u", &m, &n, &k) == 3) continue;
      if (elementBits(f.mods[i], false) != 0) types.push_back(f.mods[i]);
    }
    for (const WarpgroupChoice& c : kChoices) {
      lines.push_back(writtenWarpgroup(f, spelling(f), n, k, types, c));
    }
    for (unsigned other : {40u, 56u, 120u, 248u, 264u}) {
      std::string text = spelling(f), shape = absl::StrFormat("m64n%dk%d", n, k);
      text.replace(text.find(shape), shape.size(), absl::StrFormat("m64n%dk%d", other, k));
      (other > 256 ? words : lines).push_back(writtenWarpgroup(f, text, other, k, types, {}));
    }
  }
  for (const char* count : {"0", "7", "100", "-1", "%r1"}) {
    lines.push_back(absl::StrFormat("wgmma.wait_group.sync.aligned %s;", count));
  }
  EXPECT_GT(lines.size(), 300u);
  for (unsigned version : {80u, 82u, 84u, 90u}) compareRefusals({version, "sm_90a"}, lines);
  compareRefusals({90, "sm_90a"}, words);
}

// One change that makes most forms illegal.
std::string mutated(const Form& f, Random& random) {
  std::string text = written(f);
  if (text.empty()) return {};
  size_t space = text.find_first_of(" ;");
  std::string opcode = text.substr(0, space), rest = text.substr(space);
  std::vector<std::string> words;
  for (size_t at = 0; at != std::string::npos;) {
    size_t dot = opcode.find('.', at + (at != 0 ? 1 : 0));
    words.push_back(opcode.substr(at, dot == std::string::npos ? dot : dot - at));
    at = dot;
  }
  auto join = [&] {
    std::string out;
    for (const std::string& w : words) out += w;
    return out + rest;
  };
  switch (random.below(5)) {
    case 0:  // A modifier less.
      if (words.size() < 2) return {};
      words.erase(words.begin() + 1 + static_cast<ptrdiff_t>(random.below(words.size() - 1)));
      return join();
    case 1: {  // Another type.
      static constexpr Type kTypes[] = {Mod::u16, Mod::s32, Mod::b64, Mod::f16,
                                        Mod::f32, Mod::f64, Mod::u64, Mod::bf16};
      if (words.size() < 2) return {};
      words.back() = "." + std::string(modSpelling(kTypes[random.below(std::size(kTypes))]));
      return join();
    }
    case 2: {  // A register of another width.
      size_t at = rest.find('%');
      for (size_t skip = random.below(3); skip > 0; --skip) {
        size_t next = rest.find('%', at + 1);
        if (next != std::string::npos) at = next;
      }
      if (at == std::string::npos || rest[at - 1] == '[') return {};
      static constexpr const char* kOther[] = {"%h7", "%r7", "%rd7", "%p7", "%b7",
                                               "%f7", "%i7", "%u7",  "%d7", "%w7"};
      size_t end = rest.find_first_of(",;}]|", at);
      rest.replace(at, end - at, kOther[random.below(std::size(kOther))]);
      return join();
    }
    case 3: {  // An operand less.
      size_t at = rest.rfind(',');
      if (at == std::string::npos || rest.find('}', at) != std::string::npos) return {};
      rest = rest.substr(0, at) + ";";
      return join();
    }
    default: {  // A modifier more.
      static constexpr const char* kWords[] = {".ftz", ".sat",  ".rn",  ".rz",
                                               ".cc",  ".relu", ".NaN", ".approx"};
      words.insert(words.begin() + 1 + static_cast<ptrdiff_t>(random.below(words.size())),
                   kWords[random.below(std::size(kWords))]);
      return join();
    }
  }
}

TEST_F(Ptxas, AgreesOnFormsWithOneChange) {
  std::vector<Form> forms = someForms();
  std::vector<std::string> lines;
  Random random(11);
  while (lines.size() < 6000) {
    // Rows, not forms, have equal weight.
    std::string text = mutated(forms[random.below(forms.size())], random);
    if (!text.empty()) lines.push_back(text);
  }
  compareRefusals({90, "sm_103a"}, lines, true);
}

// Where special registers may stand, and in which widths.
TEST_F(Ptxas, AgreesOnSpecialRegisters) {
  std::vector<std::string> lines;
  for (const char* name :
       {"%tid.x",           "%ntid.y",      "%ctaid.z",           "%nctaid.x",
        "%laneid",          "%warpid",      "%nwarpid",           "%smid",
        "%nsmid",           "%lanemask_eq", "%lanemask_gt",       "%clock",
        "%clock_hi",        "%clock64",     "%globaltimer",       "%globaltimer_lo",
        "%gridid",          "%envreg3",     "%dynamic_smem_size", "%total_smem_size",
        "%cluster_ctarank", "%clusterid.x"}) {
    for (const char* form :
         {"mov.u16 %h1", "mov.b16 %h1", "mov.u32 %r1", "mov.b32 %r1", "mov.s32 %r1", "mov.f32 %r1",
          "mov.u64 %rd1", "mov.b64 %rd1", "mov.pred %p1", "mov.f64 %rd1", "not.b32 %r1",
          "popc.b32 %r1", "cvt.rn.f32.u32 %r1", "st.u32 [%rd8]", "neg.s64 %rd1"}) {
      lines.push_back(absl::StrFormat("%s, %s;", form, name));
    }
    lines.push_back(absl::StrFormat("add.u32 %%r1, %%r2, %s;", name));
    lines.push_back(absl::StrFormat("setp.eq.u32 %%p1, %s, 0;", name));
  }
  lines.push_back("cvt.u64.u32 %rd1, %laneid;");
  lines.push_back("cvt.u16.u32 %h1, %tid.x;");
  lines.push_back("mov.u32 %r1, WARP_SZ;");
  lines.push_back("add.u32 %r1, %r2, WARP_SZ;");
  compareRefusals({90, "sm_103a"}, lines);
}

// Targets that ptxas of CUDA 13 knows, and the PTX version that each came with.
constexpr struct {
  unsigned sm;
  unsigned version;
} kTargets[] = {{75, 63}, {80, 70}, {86, 71}, {89, 78}, {90, 78}, {100, 86}};
constexpr unsigned kVersions[] = {63, 64, 65, 70, 71, 72, 74, 76, 78, 80, 81, 82, 83, 86, 88};

TEST_F(Ptxas, AgreesOnVersionsAndTargets) {
  std::vector<std::string> lines;
  for (const Form& f : someForms()) {
    std::string text = written(f);
    if (!text.empty() && f.row->family != Family::set && f.row->family != Family::setp) {
      lines.push_back(text);
    }
  }
  for (const auto& target : kTargets) {
    for (unsigned version : kVersions) {
      if (version < target.version) continue;
      std::vector<std::string> these = lines;
      // At '_' ptxas gives up before PTX 7.1.
      if (version < 71) std::erase_if(these, [](const auto& l) { return l.find(" _,") != l.npos; });
      compareRefusals({version, absl::StrFormat("sm_%d", target.sm)}, these);
    }
    compareRefusals({90, absl::StrFormat("sm_%d", target.sm)}, lines);
  }
}

}  // namespace
}  // namespace mtlc::sim::oracle
