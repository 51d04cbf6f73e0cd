// The builder behind mtlc/build.h.
//
// Every value but a constant and the address of an array is a variable in private memory: reading
// loads, writing stores, and the first passes turn them into SSA values. Variables live in the
// entry block; the code begins in a block after it.

#ifndef MTLC_CAPI_BUILDER_H_
#define MTLC_CAPI_BUILDER_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/capi/internal.h"
#include "mtlc/ir/builder.h"

namespace mtlc::capi {

// A value in the IR with the type that it has in C.
struct Typed {
  ir::Value* value = nullptr;
  MtlcType* type = nullptr;
  explicit operator bool() const { return value != nullptr; }
};

struct Entry {
  enum class Kind : uint8_t { Constant, Variable, Address };
  Kind kind = Kind::Constant;
  MtlcType* type = nullptr;
  uint64_t bits = 0;           // Constant
  ir::Value* place = nullptr;  // Variable: its slot; nullptr until a pointer's space is known.
  ir::Type held = {};          // Variable
  ir::Value* value = nullptr;  // Address
  std::string name = {};
};

}  // namespace mtlc::capi

struct MtlcBuilder {
  MtlcBuilder();

  // Latches the first error.
  void error(mtlc::SourceLoc at, std::string_view call, std::string_view what,
             std::string_view hint);
  void notInBuild(mtlc::SourceLoc at, std::string_view what, std::string_view hint);
  bool failed() const { return diags.hasErrors(); }
  bool check();

  std::unique_ptr<mtlc::SourceManager> sources;
  std::unique_ptr<mtlc::ir::Module> module;
  mtlc::DiagnosticEngine diags;
  std::deque<MtlcFn> functions;
  absl::flat_hash_map<std::string, MtlcFn*> byName;
  struct PendingCall {
    mtlc::ir::Operation* op;
    std::string callee;
    MtlcFn* caller;
  };
  std::vector<PendingCall> pending;
  bool checked = false;
  bool good = false;
  mutable bool errorRead = false;
  mutable std::string text;
};

struct MtlcFn {
  MtlcFn(MtlcBuilder& b, mtlc::ir::Function* f, MtlcType* resultType);

  using Typed = mtlc::capi::Typed;

  // False: an error was latched, or the function is a declaration; the call does nothing.
  bool ready(std::string_view call);
  bool fail(std::string_view what,
            std::string_view hint = "docs/c-api.md has what each call takes");

  MtlcValue add(mtlc::capi::Entry entry);
  mtlc::capi::Entry* entry(MtlcValue v, std::string_view what);
  // The value now; without one after an error.
  Typed read(MtlcValue v, std::string_view what);
  // The value as `type`.
  mtlc::ir::Value* readAs(MtlcValue v, MtlcType* type, std::string_view what);
  // … as a pointer, an i32, an i1.
  mtlc::ir::Value* readPointer(MtlcValue v, std::string_view what);
  mtlc::ir::Value* readInt(MtlcValue v, std::string_view what, mtlc::ir::Type type);
  mtlc::ir::Value* readBool(MtlcValue v, std::string_view what);
  // A new variable that holds `value`; `type` is what the caller asked for.
  MtlcValue result(mtlc::ir::Value* value, MtlcType* type);
  bool assign(mtlc::capi::Entry& target, Typed value);
  mtlc::ir::Builder atEntry();
  void allocate(mtlc::capi::Entry& variable, mtlc::ir::Type held);

  mtlc::ir::Value* convert(Typed from, MtlcType* to);
  mtlc::ir::Value* constant(MtlcType* type, uint64_t bits);
  mtlc::ir::Value* inSpace(mtlc::ir::Value* pointer, mtlc::ir::Space space);
  mtlc::ir::Value* arithmetic(std::string_view op, Typed left, Typed right, MtlcType* type);

  mtlc::ir::Block* label(const char* name);
  // A block to go on in after a terminator.
  void startDead();
  void end();

  MtlcBuilder& builder;
  mtlc::ir::Function* function;
  MtlcType* resultType;
  std::vector<MtlcType*> paramTypes;
  mtlc::ir::Builder ir;
  mtlc::ir::Block* entryBlock = nullptr;
  mtlc::ir::Block* body = nullptr;
  std::vector<mtlc::capi::Entry> values;
  struct Label {
    mtlc::ir::Block* block = nullptr;
    bool defined = false;
    mtlc::SourceLoc firstUse;
  };
  absl::flat_hash_map<std::string, Label> labels;
  mtlc::SourceLoc loc;
  std::string_view call;  // The API function that runs, for messages.
};

#endif  // MTLC_CAPI_BUILDER_H_
