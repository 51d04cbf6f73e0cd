// Prints docs/ops.md from the operation table.

#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "mtlc/ir/op_table.h"

namespace mtlc::ir {
namespace {

std::string syntax(const OpInfo& info) {
  std::string m(info.mnemonic);
  switch (info.form) {
    case Form::Const:
      return "%r = " + m + " 5 : T";
    case Form::Unary:
      return "%r = " + m + " %a : T";
    case Form::Binary:
    case Form::Compare:
      return "%r = " + m + " %a, %b : T";
    case Form::Ternary:
      return "%r = " + m + " %a, %b, %c : T";
    case Form::Select:
      return "%r = " + m + " %cond, %a, %b : T";
    case Form::Cast:
      return "%r = " + m + " %a : T to U";
    case Form::GpuIndex:
      return "%r = " + m + " x : i32";
    case Form::PtrAdd:
      return "%r = " + m + " %p, %i x E : ptr<space>";
    case Form::Load:
      return "%r = " + m + " E, %p : ptr<space>";
    case Form::Store:
      return m + " E, %v, %p : ptr<space>";
    case Form::Alloc:
      return "%r = " + m + " E[n] : ptr<space>";
    case Form::AllocDynamic:
      return "%r = " + m + " E : ptr<workgroup>";
    case Form::Barrier:
      return m + " {workgroup, global} acq_rel";
    case Form::Fence:
      return m + " {workgroup, global} acq_rel device";
    case Form::AtomicLoad:
      return "%r = " + m + " E, %p : ptr<space> acquire device";
    case Form::AtomicStore:
      return m + " E, %p, %v : ptr<space> release device";
    case Form::AtomicRmw:
      return "%r = " + m + " umax E, %p, %v : ptr<space> relaxed device";
    case Form::AtomicCas:
      return "%r = " + m + " E, %p, %expected, %desired : ptr<space> seq_cst acquire device";
    case Form::SubgroupIndex:
      return "%r = " + m + " : i32";
    case Form::SubgroupLane:
      return "%r = " + m + " %v, %lane : T";
    case Form::SubgroupReduce:
      return "%r = " + m + " add %v : T";
    case Form::SubgroupBallot:
      return "%r = " + m + " %p, %word : i32";
    case Form::SubgroupVote:
      return "%r = " + m + " %p";
    case Form::AsyncCopy:
      return m + " %dst, %src, 64 x E transaction 16 cache global";
    case Form::AsyncCommit:
      return m;
    case Form::AsyncWait:
      return m + " 1";
    case Form::Encode:
      return "%r = " + m + " e4m3 sat %x : T";
    case Form::Decode:
      return "%r = " + m + " e4m3 %code : T";
    case Form::Mma:
      return (info.typeClass == TypeClass::Tile ? "%r = " : "") + m + " a=%a, … {m16n16k16, …}";
    case Form::Epilogue:
      return (info.typeClass == TypeClass::Tile ? "%r = " : "") + m + " d=%d, … {m16n16, …}";
    case Form::Transfer:
      return m + " dst=%d, src=%s, x0=%x, … {direction=load, …}";
    case Form::AccCommit:
      return m + " %tile";
    case Form::FuncAddr:
      return "%r = " + m + " @f : ptr<generic>";
    case Form::CallIndirect:
      return "%r = " + m + " %f(%a, %b) : T";
    case Form::Launch:
      return (info.typeClass == TypeClass::I32 ? "%r = " : "") + m +
             " @k grid(%x, %y, %z) block(%x, %y, %z) shared(%n) stream(%s) (%a)";
    case Form::Call:
      return "%r = " + m + " @f(%a, %b) : T";
    case Form::Jump:
      return m + " ^block(%x)";
    case Form::Branch:
      return m + " %cond, ^yes(%x), ^no";
    case Form::Return:
      return m + " %v";
  }
  return m;
}

std::string_view types(TypeClass c) {
  switch (c) {
    case TypeClass::None:
      return "";
    case TypeClass::Int:
      return "i8 i16 i32 i64";
    case TypeClass::I32:
      return "i32";
    case TypeClass::IntOrBool:
      return "i1 i8 i16 i32 i64";
    case TypeClass::IntOrPtr:
      return "i8 i16 i32 i64 ptr";
    case TypeClass::IntOrBoolOrPtr:
      return "i1 i8 i16 i32 i64 ptr";
    case TypeClass::Float:
      return "f16 bf16 f32 f64";
    case TypeClass::Scalar:
      return "scalars";
    case TypeClass::AnyValue:
      return "scalars, ptr";
    case TypeClass::Ptr:
      return "ptr";
    case TypeClass::Word:
      return "i32 f32";
    case TypeClass::Payload:
      return "i16 i32 i64 f16 bf16 f32 f64";
    case TypeClass::Tile:
      return "tile";
  }
  return "";
}

std::string traits(const OpInfo& info) {
  std::string out;
  auto add = [&](std::string_view word) {
    if (!out.empty()) out += ", ";
    out += word;
  };
  constexpr std::string_view kEffects[] = {"", "reads", "writes", "reads and writes"};
  constexpr std::string_view kScopes[] = {"", "convergent: subgroup", "convergent: workgroup"};
  if (info.effect != Effect::None) add(kEffects[static_cast<int>(info.effect)]);
  if (info.convergence != Convergence::None) add(kScopes[static_cast<int>(info.convergence)]);
  if (info.has(OpTrait::Terminator)) add("terminator");
  if (info.has(OpTrait::Commutative)) add("commutative");
  if (info.has(OpTrait::FastMath)) add("fast-math flags");
  if (info.has(OpTrait::Approx)) add("`approx`");
  if (info.has(OpTrait::Identity)) add("distinct each time");
  return out;
}

void run() {
  std::string out =
      "# Operations\n\nGenerated from `mtlc/ir/ops.def` by `//mtlc/ir:ops_doc`; the meaning is in "
      "[ir.md](ir.md).\n\n| operation | types | properties |\n|---|---|---|\n";
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpInfo& info = opInfo(static_cast<Opcode>(i));
    absl::StrAppendFormat(&out, "| `%s` | %s | %s |\n", syntax(info), types(info.typeClass),
                          traits(info));
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

}  // namespace
}  // namespace mtlc::ir

int main() { mtlc::ir::run(); }
