#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/ir/proto.h"
#include "mtlc/ir/proto_enums.h"
#include "mtlc/ir/proto_scan.h"
#include "mtlc/ir/text_names.h"
#include "mtlc/support/suggest.h"

namespace mtlc::ir {
namespace {

using absl::StrFormat;

constexpr std::string_view kFormat = "mtlc.ir";
constexpr size_t kMaxFiles = SourceLoc::kMaxFile;

// The fields of a message that the schema does not have. The lite runtime keeps them, but of
// proto3 messages shows them to derived classes only.
class UnknownFields : public google::protobuf::MessageLite {
 public:
  static const std::string& of(const google::protobuf::MessageLite& message) {
    return (message.*&UnknownFields::_internal_metadata_)
        .unknown_fields<std::string>(google::protobuf::internal::GetEmptyString);
  }
};

// What the form of an operation asks for.
enum class ResultRule : uint8_t { None, Any, Optional, I1, I8, I32, Elem };
constexpr int kAny = std::numeric_limits<int>::max() / 2;
struct Shape {
  int operands = 0;
  int more = 0;  // How many may follow.
  bool elem = false;
  ResultRule result = ResultRule::None;
  proto::Operation::AttributeCase attribute = proto::Operation::ATTRIBUTE_NOT_SET;
  int edges = 0;
};

Shape shapeOf(Opcode opcode) {
  using P = proto::Operation;
  using R = ResultRule;
  const ResultRule tile =
      opInfo(opcode).typeClass == TypeClass::Tile ? ResultRule::Any : ResultRule::None;
  switch (opInfo(opcode).form) {
    case Form::Const:
      return {.result = R::Any, .attribute = P::kConstant};
    case Form::Unary:
    case Form::Cast:
      return {.operands = 1, .result = R::Any};
    case Form::Binary:
      return {.operands = 2, .result = R::Any};
    case Form::Ternary:
    case Form::Select:
      return {.operands = 3, .result = R::Any};
    case Form::Compare:
      return {.operands = 2, .result = R::I1};
    case Form::GpuIndex:
      return {.result = R::Any, .attribute = P::kDimension};
    case Form::PtrAdd:
      return {.operands = 2, .elem = true, .result = R::Any};
    case Form::Load:
      return {.operands = 1, .elem = true, .result = R::Elem, .attribute = P::kMemory};
    case Form::Store:
      return {.operands = 2, .elem = true, .attribute = P::kMemory};
    case Form::Alloc:
      return {.elem = true, .result = R::Any, .attribute = P::kCount};
    case Form::AllocDynamic:
      return {.elem = true, .result = R::Any};
    case Form::Barrier:
      return {.attribute = P::kBarrier};
    case Form::Fence:
      return {.attribute = P::kFence};
    case Form::AtomicLoad:
      return {.operands = 1, .elem = true, .result = R::Elem, .attribute = P::kAtomic};
    case Form::AtomicStore:
      return {.operands = 2, .elem = true, .attribute = P::kAtomic};
    case Form::AtomicRmw:
      return {.operands = 2, .elem = true, .result = R::Elem, .attribute = P::kAtomic};
    case Form::AtomicCas:
      return {.operands = 3, .elem = true, .result = R::Elem, .attribute = P::kAtomic};
    case Form::SubgroupIndex:
      return {.result = R::Any};
    case Form::SubgroupLane:
    case Form::SubgroupBallot:
      return {.operands = 2, .result = R::Any};
    case Form::SubgroupReduce:
      return {.operands = 1, .result = R::Any, .attribute = P::kCombine};
    case Form::SubgroupVote:
      return {.operands = 1, .result = R::I1};
    case Form::AsyncCopy:
      return {.operands = 2, .elem = true, .attribute = P::kAsyncCopy};
    case Form::AsyncCommit:
      return {};
    case Form::AsyncWait:
      return {.attribute = P::kPending};
    case Form::Encode:
      return {.operands = 1, .result = R::I8, .attribute = P::kNarrow};
    case Form::Decode:
      return {.operands = 1, .result = R::Any, .attribute = P::kNarrow};
    case Form::Mma:
      return {.more = kAny, .result = tile, .attribute = P::kMma};
    case Form::Epilogue:
      return {.more = kAny, .result = tile, .attribute = P::kEpilogue};
    case Form::Transfer:
      return {.more = kAny, .attribute = P::kTransfer};
    case Form::AccCommit:
      return {.operands = 1};
    case Form::FuncAddr:
      return {.result = R::Any, .attribute = P::kCallee};
    case Form::CallIndirect:
      return {.operands = 1, .more = kAny, .result = R::Optional};
    case Form::Launch:
      return {.operands = 6,
              .more = kAny,
              .result = opcode == Opcode::LaunchStatus ? R::I32 : R::None,
              .attribute = P::kLaunch};
    case Form::Call:
      return {.more = kAny, .result = R::Optional, .attribute = P::kCallee};
    case Form::Jump:
      return {.edges = 1};
    case Form::Branch:
      return {.operands = 1, .edges = 2};
    case Form::Return:
      return {.more = 1};
  }
  return {};
}

std::string_view attributeName(proto::Operation::AttributeCase attribute) {
  using P = proto::Operation;
  switch (attribute) {
    case P::kConstant:
      return "constant";
    case P::kDimension:
      return "dimension";
    case P::kMemory:
      return "memory";
    case P::kCount:
      return "count";
    case P::kBarrier:
      return "barrier";
    case P::kFence:
      return "fence";
    case P::kAtomic:
      return "atomic";
    case P::kCombine:
      return "combine";
    case P::kAsyncCopy:
      return "async_copy";
    case P::kPending:
      return "pending";
    case P::kNarrow:
      return "narrow";
    case P::kMma:
      return "mma";
    case P::kEpilogue:
      return "epilogue";
    case P::kTransfer:
      return "transfer";
    case P::kCallee:
      return "callee";
    case P::kLaunch:
      return "launch";
    case P::ATTRIBUTE_NOT_SET:
      break;
  }
  return "nothing";
}

class Reader {
 public:
  Reader(SourceManager& sources, std::string_view name, DiagnosticEngine& diags)
      : sources_(sources),
        diags_(diags),
        errorsBefore_(diags.errorCount()),
        // A file of its own without a text: an excerpt of bytes would help nobody.
        file_(sources.addName(name)),
        module_(std::make_unique<Module>(sources)) {}

  std::unique_ptr<Module> run(std::string_view bytes) {
    if (parse(bytes) && header()) {
      tables();
      functions();
    }
    if (diags_.errorCount() != errorsBefore_) return nullptr;
    return std::move(module_);
  }

 private:
  // ---- The whole ----

  bool parse(std::string_view bytes) {
    if (bytes.size() > kMaxProtoBytes) {
      return report(DiagId::ProtoTooLarge, {bytes.size(), "bytes", kMaxProtoBytes});
    }
    ProtoScan scan = scanProto(bytes);
    if (scan.records > kMaxProtoRecords) {
      return report(DiagId::ProtoTooLarge, {scan.records, "messages", kMaxProtoRecords});
    }
    if (scan.damagedAt || !in_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      if (!isProto(bytes)) return report(DiagId::ProtoNotAModule, {});
      if (!scan.damagedAt) scan = locateDamage(bytes);
      return report(DiagId::ProtoMalformed, {scan.place, *scan.damagedAt});
    }
    return true;
  }

  bool header() {
    if (in_.format() != kFormat) return report(DiagId::ProtoNotAModule, {});
    // Before all else: a newer module may have anything.
    if (in_.version() != kProtoVersion) {
      return report(DiagId::ProtoVersion,
                    {in_.version(), kProtoVersion,
                     in_.version() > kProtoVersion
                         ? "read it with a newer build, or write it with an older one"
                         : "set the field 'version'"});
    }
    module_->setName(in_.name());
    return known(in_, "Module");
  }

  void tables() {
    if (static_cast<size_t>(in_.files_size()) > kMaxFiles) {
      report(DiagId::ProtoTooLarge, {in_.files_size(), "files", kMaxFiles});
    } else {
      for (const std::string& name : in_.files()) files_.push_back(sources_.addName(name));
    }
    for (int i = 0; i < in_.types_size(); ++i) {
      where_ = StrFormat("type %d", i);
      types_.push_back(type(in_.types(i)));
    }
    where_ = "the module";
    std::vector<std::string_view> all;
    for (int i = 0; i < kOpcodeCount; ++i) all.push_back(opInfo(static_cast<Opcode>(i)).mnemonic);
    for (const std::string& mnemonic : in_.operations()) {
      std::optional<Opcode> opcode = opcodeFromMnemonic(mnemonic);
      operations_.push_back(opcode);
      if (opcode || diags_.full()) continue;
      std::string_view near = nearestSpelling(std::string_view(mnemonic).substr(0, 40), all);
      report(DiagId::ProtoUnknownOperation, {std::string_view(mnemonic).substr(0, 40),
                                             near.empty() ? "docs/ir.md lists the operations"
                                                          : StrFormat("did you mean '%s'?", near)});
    }
  }

  // Void after a report.
  Type type(const proto::Type& t) {
    using P = proto::TypeKind;
    if (!known(t, "Type")) return kVoid;
    if (t.kind() == P::TYPE_KIND_UNSPECIFIED || !proto::TypeKind_IsValid(t.kind())) {
      unknownEnum("kind", t.kind(), "TypeKind");
      return kVoid;
    }
    const bool isPtr = t.kind() == P::TYPE_KIND_PTR, isTile = t.kind() == P::TYPE_KIND_TILE;
    if (!isPtr && t.space() != 0) {
      shape("only a pointer has a space");
      return kVoid;
    }
    if (!isTile && (t.rows() || t.columns() || t.format() || t.workgroup())) {
      shape("only a tile has rows, columns, a format and a workgroup");
      return kVoid;
    }
    if (isPtr) {
      Space space{};
      return field(t.space(), "space", space) ? Type::ptr(space) : kVoid;
    }
    if (!isTile) return Type(static_cast<TypeKind>(t.kind()));
    ::mtlc::ElementFormat format{};
    uint16_t rows = 0, columns = 0;
    if (!field(t.rows(), "rows", rows) || !field(t.columns(), "columns", columns) ||
        !field(t.format(), "format", format)) {
      return kVoid;
    }
    if (rows == 0 || columns == 0) {
      shape("a tile has at least one row and one column");
      return kVoid;
    }
    return Type::tile(rows, columns, format, t.workgroup());
  }

  // ---- Reports; all return false ----

  SourceLoc place() const { return SourceLoc(file_, operation_, operation_ != 0); }

  bool report(DiagId id, DiagArgs args) {
    diags_.report(id, place(), args);
    return false;
  }
  bool shape(std::string_view what) { return report(DiagId::ProtoShape, {where_, what}); }
  bool unknownEnum(std::string_view name, int number, std::string_view enumeration) {
    return report(DiagId::ProtoUnknownEnum,
                  {where_, name, number, enumeration,
                   number == 0 ? StrFormat("set the field '%s'", name)
                               : std::string("mtlc/ir/module.proto lists the values")});
  }

  // That the message has no field beyond the schema.
  bool known(const google::protobuf::MessageLite& message, std::string_view name) {
    const std::string& unknown = UnknownFields::of(message);
    if (unknown.empty()) return true;
    uint64_t tag = 0;
    for (size_t i = 0; i < std::min<size_t>(unknown.size(), 5); ++i) {
      tag |= uint64_t{static_cast<uint8_t>(unknown[i]) & 0x7Fu} << (7 * i);
      if (!(static_cast<uint8_t>(unknown[i]) & 0x80)) break;
    }
    return report(DiagId::ProtoUnknownField, {where_, name, tag >> 3});
  }

  // ---- Fields ----

  template <typename P, typename E>
  requires std::is_enum_v<E>
  bool field(P number, std::string_view name, E& out) {
    static_assert(std::is_same_v<P, typename ProtoEnum<E>::Type>);
    if (number == 0 || !ProtoEnum<E>::known(number)) {
      return unknownEnum(name, number, ProtoEnum<E>::kName);
    }
    out = static_cast<E>(static_cast<int>(number) - 1);
    return true;
  }
  template <typename Wide, typename T>
  requires std::is_unsigned_v<T>
  bool field(Wide number, std::string_view name, T& out) {
    static_assert(std::is_unsigned_v<Wide>);
    if (number > std::numeric_limits<T>::max()) {
      return report(DiagId::ProtoRange, {where_, name, number, std::numeric_limits<T>::max()});
    }
    out = static_cast<T>(number);
    return true;
  }

  bool index(uint64_t number, size_t count, std::string_view name) {
    return number < count || report(DiagId::ProtoIndex, {where_, name, number, count});
  }

  bool nameOf(const std::string& name) {
    return name.find('\0') == std::string::npos || report(DiagId::ProtoName, {where_});
  }

  // A type that is bad in its table has been reported there.
  std::optional<Type> typeAt(uint32_t number, std::string_view name) {
    if (!index(number, types_.size(), name) || types_[number].isVoid()) return std::nullopt;
    return types_[number];
  }

  template <typename Message>
  std::optional<SourceLoc> location(const Message& message) {
    if (!message.has_location()) return place();
    const proto::Location& l = message.location();
    if (!known(l, "Location") || !index(l.file(), files_.size(), "the location's file")) {
      return std::nullopt;
    }
    for (auto [name, value, most] : {std::tuple("line", l.line(), SourceLoc::kMaxLine),
                                     std::tuple("column", l.column(), SourceLoc::kMaxColumn)}) {
      if (value > most) {
        report(DiagId::ProtoRange, {where_, name, value, most});
        return std::nullopt;
      }
    }
    return SourceLoc(files_[l.file()], l.line(), l.column());
  }

  // ---- Functions ----

  static std::string display(std::string_view name) {
    return name.size() <= 40 ? std::string(name) : std::string(name.substr(0, 40)) + "…";
  }

  void functions() {
    if (diags_.errorCount() != errorsBefore_) return;
    uint32_t firstOperation = 1;
    for (const proto::Function& f : in_.functions()) {
      operation_ = firstOperation;
      where_ = "function @" + display(f.name());
      functions_.push_back(header(f));
      firstOperation += operationCount(f);
    }
    if (diags_.errorCount() != errorsBefore_ || !fewOperands()) return;
    firstOperation = 1;
    for (int i = 0; i < in_.functions_size() && !diags_.full(); ++i) {
      operation_ = firstOperation;
      body(functions_[static_cast<size_t>(i)], in_.functions(i));
      firstOperation += operationCount(in_.functions(i));
    }
  }

  // One byte of an operand becomes tens in memory.
  bool fewOperands() {
    size_t count = 0;
    for (const proto::Function& f : in_.functions()) {
      for (const proto::Block& b : f.blocks()) {
        for (const proto::Operation& op : b.operations()) {
          count += static_cast<size_t>(op.operands_size());
          for (const proto::Edge& e : op.edges()) count += static_cast<size_t>(e.arguments_size());
        }
      }
    }
    operation_ = 0;
    return count <= kMaxProtoOperands ||
           report(DiagId::ProtoTooLarge, {count, "operands", kMaxProtoOperands});
  }

  // nullptr after a report.
  Function* header(const proto::Function& f) {
    if (!known(f, "Function")) return nullptr;
    FunctionSpec spec;
    spec.name = f.name();
    spec.isKernel = f.kernel();
    std::optional<SourceLoc> loc = location(f);
    if (!loc) return nullptr;
    spec.loc = *loc;
    if (f.has_result_type()) {
      spec.result = typeAt(f.result_type(), "the result type").value_or(kVoid);
    }
    for (const proto::Value& p : f.parameters()) {
      if (!known(p, "Value")) return nullptr;
      std::optional<Type> t = typeAt(p.type(), "the type of a parameter");
      if (!t || !nameOf(p.name())) return nullptr;
      spec.params.push_back(*t);
      spec.paramNames.push_back(p.name());
    }
    if (module_->findFunction(f.name())) {
      diags_.report(DiagId::IrRedefinition, place(), {"@" + display(f.name())});
      return nullptr;
    }
    InlineHint hint{};
    if (!field(f.inline_hint(), "inline_hint", hint)) return nullptr;
    Function* function = module_->addFunction(spec);
    function->inlineHint = hint;
    if (f.has_launch_bounds()) {
      if (!known(f.launch_bounds(), "LaunchBounds")) return nullptr;
      function->launchBounds.maxThreads = f.launch_bounds().max_threads();
      function->launchBounds.minGroups = f.launch_bounds().min_groups();
    }
    return function;
  }

  void body(Function* function, const proto::Function& f) {
    const std::string inFunction = "function @" + display(f.name());
    where_ = inFunction;
    size_t count = static_cast<size_t>(f.parameters_size());
    for (const proto::Block& b : f.blocks()) {
      count += static_cast<size_t>(b.arguments_size());
      for (const proto::Operation& op : b.operations()) count += op.has_result_type();
    }
    values_.assign(count, nullptr);
    defined_ = 0;
    blocks_.clear();
    const uint32_t first = operation_;
    for (int i = 0; i < f.blocks_size(); ++i) {
      const proto::Block& b = f.blocks(i);
      where_ = StrFormat("%s, block %d", inFunction, i);
      std::optional<SourceLoc> loc = location(b);
      if (!loc || !known(b, "Block") || !nameOf(b.name())) return;
      blocks_.push_back(function->addBlock(b.name(), *loc));
      operation_ += static_cast<uint32_t>(b.operations_size());
    }
    operation_ = first;
    for (int i = 0; i < f.blocks_size(); ++i) {
      const proto::Block& b = f.blocks(i);
      Block* block = blocks_[static_cast<size_t>(i)];
      if (i == 0) {
        for (Value* param : block->args()) define(param);
      }
      where_ = StrFormat("%s, block %d", inFunction, i);
      for (const proto::Value& arg : b.arguments()) {
        if (!known(arg, "Value") || !nameOf(arg.name())) return;
        std::optional<Type> t = typeAt(arg.type(), "the type of an argument");
        if (!t) return;
        define(block->addArg(*t, arg.name()));
      }
      for (const proto::Operation& op : b.operations()) {
        if (diags_.full()) return;
        where_ = StrFormat("%s, operation %d", inFunction, operation_);
        if (!operation(op, block) && op.has_result_type()) {
          // So that others can use it.
          define(module_->makePlaceholder(kVoid));
        }
        ++operation_;
      }
    }
  }

  static uint32_t operationCount(const proto::Function& f) {
    uint32_t count = 0;
    for (const proto::Block& b : f.blocks()) count += static_cast<uint32_t>(b.operations_size());
    return count;
  }

  // ---- Values ----

  void define(Value* value) {
    Value*& slot = values_[defined_++];
    if (slot) slot->replaceAllUsesWith(value);
    slot = value;
  }

  // A placeholder if it is defined further on; nullptr after a report.
  Value* use(uint32_t number) {
    if (!index(number, values_.size(), "an operand")) return nullptr;
    Value*& v = values_[number];
    if (!v) v = module_->makePlaceholder(kVoid);
    return v;
  }

  // ---- Operations ----

  bool operation(const proto::Operation& in, Block* block) {
    if (!known(in, "Operation")) return false;
    if (!index(in.operation(), operations_.size(), "the operation")) return false;
    const std::optional<Opcode> opcode = operations_[in.operation()];
    if (!opcode) return false;  // Reported with the table.
    absl::StrAppendFormat(&where_, " (%s)", opInfo(*opcode).mnemonic);
    const Shape want = shapeOf(*opcode);

    Module::OpSpec spec{.opcode = *opcode};
    std::optional<SourceLoc> loc = location(in);
    if (!loc || !nameOf(in.name()) || !form(in, want, spec)) return false;
    spec.loc = *loc;
    std::vector<Value*> operands;
    for (uint32_t number : in.operands()) {
      operands.push_back(use(number));
      if (!operands.back()) return false;
    }
    for (int flag : in.fast_math()) {
      if (flag == 0 || !proto::FastMath_IsValid(flag)) {
        return unknownEnum("fast_math", flag, "FastMath");
      }
      spec.fastMath |= kFastMathNames[static_cast<size_t>(flag - 1)].flag;
    }
    spec.operands = operands;
    Operation* op;
    if (opInfo(*opcode).has(OpTrait::Terminator)) {
      std::vector<std::vector<Value*>> args;
      std::vector<Module::Edge> edges;
      for (const proto::Edge& e : in.edges()) {
        if (!known(e, "Edge") || !index(e.block(), blocks_.size(), "the target")) return false;
        std::vector<Value*>& list = args.emplace_back();
        for (uint32_t number : e.arguments()) {
          list.push_back(use(number));
          if (!list.back()) return false;
        }
      }
      for (int i = 0; i < in.edges_size(); ++i) {
        edges.push_back({blocks_[in.edges(i).block()], args[static_cast<size_t>(i)]});
      }
      op = module_->makeTerminator(*opcode, operands, edges, spec.loc);
      op->setFastMath(spec.fastMath);
    } else {
      if (!attribute(in, spec)) return false;
      op = module_->makeOp(spec);
    }
    Module::append(block, op);
    if (op->result()) {
      if (!in.name().empty()) module_->setValueName(op->result(), in.name());
      define(op->result());
    }
    return true;
  }

  // Counts and types.
  bool form(const proto::Operation& in, const Shape& want, Module::OpSpec& spec) {
    const int operands = in.operands_size();
    if (operands < want.operands || operands > want.operands + want.more) {
      return shape(StrFormat("it takes %s%d operands, not %d",
                             want.more == kAny ? "at least "
                             : want.more       ? "up to "
                                               : "",
                             want.operands + (want.more == kAny ? 0 : want.more), operands));
    }
    if (in.attribute_case() != want.attribute) {
      return shape(StrFormat("its attribute is '%s', not '%s'", attributeName(want.attribute),
                             attributeName(in.attribute_case())));
    }
    if (in.edges_size() != want.edges) {
      return shape(StrFormat("it has %d edges, not %d", want.edges, in.edges_size()));
    }
    if (in.has_element_type() != want.elem) {
      return shape(want.elem ? "the element type is missing" : "it has no element type");
    }
    if (want.elem) {
      std::optional<Type> t = typeAt(in.element_type(), "the element type");
      if (!t) return false;
      spec.elem = *t;
    }
    if (in.has_result_type()) {
      std::optional<Type> t = typeAt(in.result_type(), "the result type");
      if (!t) return false;
      spec.result = *t;
    } else if (!in.name().empty()) {
      return shape("it has a name, but no result");
    }
    Type fixed = kVoid;
    switch (want.result) {
      case ResultRule::None:
        return !in.has_result_type() || shape("it has no result");
      case ResultRule::Optional:
        return true;
      case ResultRule::Any:
        return in.has_result_type() || shape("the result type is missing");
      case ResultRule::I1:
        fixed = kI1;
        break;
      case ResultRule::I8:
        fixed = kI8;
        break;
      case ResultRule::I32:
        fixed = kI32;
        break;
      case ResultRule::Elem:
        fixed = spec.elem;
        break;
    }
    return spec.result == fixed ||
           shape(StrFormat("its result is %s, not %s", typeName(fixed), typeName(spec.result)));
  }

  template <typename Message>
  bool regions(const Message& in, uint8_t& mask) {
    mask = 0;
    for (int region : in.regions()) {
      if (region == 0 || !proto::Region_IsValid(region)) {
        return unknownEnum("regions", region, "Region");
      }
      mask |= kRegionNames[static_cast<size_t>(region - 1)].flag;
    }
    return true;
  }

  // Its case is the one that the form asks for.
  bool attribute(const proto::Operation& in, Module::OpSpec& spec) {
    switch (in.attribute_case()) {
      case proto::Operation::kConstant:
        spec.payload = in.constant();
        return true;
      case proto::Operation::kDimension: {
        Dim dim{};
        if (!field(in.dimension(), "dimension", dim)) return false;
        spec.payload = static_cast<uint64_t>(dim);
        return true;
      }
      case proto::Operation::kMemory: {
        MemAttr m;
        m.align = in.memory().align();
        m.isVolatile = in.memory().volatile_();
        if (!known(in.memory(), "MemoryAccess")) return false;
        if (!field(in.memory().cache(), "memory.cache", m.cache)) return false;
        spec.payload = memoryPayload(m);
        return true;
      }
      case proto::Operation::kCount:
        spec.payload = in.count();
        return true;
      case proto::Operation::kBarrier: {
        BarrierAttr b;
        if (!known(in.barrier(), "Barrier") || !regions(in.barrier(), b.regions)) return false;
        if (!field(in.barrier().order(), "barrier.order", b.order)) return false;
        spec.payload = barrierPayload(b);
        return true;
      }
      case proto::Operation::kFence: {
        FenceAttr f;
        if (!known(in.fence(), "Fence") || !regions(in.fence(), f.regions)) return false;
        if (!field(in.fence().order(), "fence.order", f.order)) return false;
        if (!field(in.fence().scope(), "fence.scope", f.scope)) return false;
        spec.payload = fencePayload(f);
        return true;
      }
      case proto::Operation::kAtomic:
        return atomic(in.atomic(), spec);
      case proto::Operation::kCombine: {
        CombineKind kind{};
        if (!field(in.combine(), "combine", kind)) return false;
        spec.payload = static_cast<uint64_t>(kind);
        return true;
      }
      case proto::Operation::kAsyncCopy: {
        AsyncAttr a;
        a.count = in.async_copy().count();
        a.cacheGlobal = in.async_copy().cache_global();
        if (!known(in.async_copy(), "AsyncCopy")) return false;
        if (!field(in.async_copy().transaction(), "async_copy.transaction", a.transaction)) {
          return false;
        }
        spec.payload = asyncPayload(a);
        return true;
      }
      case proto::Operation::kPending:
        spec.payload = in.pending();
        return true;
      case proto::Operation::kNarrow: {
        NarrowAttr n;
        if (!known(in.narrow(), "Narrow")) return false;
        if (!field(in.narrow().format(), "narrow.format", n.format)) return false;
        n.saturate = in.narrow().saturate();
        if (n.saturate && spec.opcode == Opcode::Decode) return shape("only encode saturates");
        spec.payload = narrowPayload(n);
        return true;
      }
      case proto::Operation::kMma:
        return descriptor<MmaDesc>(in.mma(), "MmaDescriptor", spec);
      case proto::Operation::kEpilogue:
        return descriptor<EpilogueDesc>(in.epilogue(), "EpilogueDescriptor", spec);
      case proto::Operation::kTransfer:
        return descriptor<TransferDesc>(in.transfer(), "TransferDescriptor", spec);
      case proto::Operation::kCallee:
        if (!index(in.callee(), functions_.size(), "the callee")) return false;
        spec.payload = reinterpret_cast<uint64_t>(functions_[in.callee()]);
        return true;
      case proto::Operation::kLaunch:
        return launch(in.launch(), spec);
      case proto::Operation::ATTRIBUTE_NOT_SET:
        break;
    }
    return true;
  }

  bool atomic(const proto::Atomic& in, Module::OpSpec& spec) {
    const Form form = opInfo(spec.opcode).form;
    AtomicAttr a;
    if (!known(in, "Atomic") || !field(in.order(), "atomic.order", a.order) ||
        !field(in.scope(), "atomic.scope", a.scope)) {
      return false;
    }
    a.failureOrder = a.order;
    if (form == Form::AtomicCas) {
      if (!field(in.failure_order(), "atomic.failure_order", a.failureOrder)) return false;
    } else if (in.failure_order() != 0) {
      return shape("only atomic.cas has a failure_order");
    }
    if (form == Form::AtomicRmw) {
      if (!field(in.combine(), "atomic.combine", a.kind)) return false;
    } else if (in.combine() != 0) {
      return shape("only atomic.rmw has a combine");
    }
    spec.payload = atomicPayload(a);
    return true;
  }

  bool launch(const proto::Launch& in, Module::OpSpec& spec) {
    LaunchAttr l;
    if (!known(in, "Launch")) return false;
    l.hasShared = in.has_shared();
    l.hasStream = in.has_stream();
    if (in.has_kernel()) {
      if (!index(in.kernel(), functions_.size(), "the kernel")) return false;
      l.kernel = functions_[in.kernel()];
    }
    if (spec.operands.size() < l.firstArgument()) {
      return shape(StrFormat("it takes at least %d operands, not %d", l.firstArgument(),
                             spec.operands.size()));
    }
    spec.payload = launchPayload(l);
    return true;
  }

  // ---- Tensor descriptors ----

  bool field(bool in, std::string_view, bool& out) {
    out = in;
    return true;
  }

#define MTLC_F(member, name) \
  if (!field(in.name(), #name, d.member)) return false;
  bool fields(const proto::MmaDescriptor& in, MmaDesc& d) {
    MTLC_F(m, m)
    MTLC_F(n, n)
    MTLC_F(k, k)
    MTLC_PROTO_MMA_FIELDS(MTLC_F)
    return true;
  }
  bool fields(const proto::EpilogueDescriptor& in, EpilogueDesc& d) {
    MTLC_F(m, m)
    MTLC_F(n, n)
    MTLC_PROTO_EPILOGUE_FIELDS(MTLC_F)
    return true;
  }
  bool fields(const proto::TransferDescriptor& in, TransferDesc& d) {
    MTLC_PROTO_TRANSFER_FIELDS(MTLC_F)
#undef MTLC_F
    if (in.tile_size() > static_cast<int>(kMaxRank)) {
      return shape(StrFormat("%d dimensions; there are at most %d", in.tile_size(), kMaxRank));
    }
    d.rank = static_cast<uint8_t>(in.tile_size());
#define MTLC_F(member, name)                                                                  \
  if (in.name##_size() != in.tile_size()) {                                                   \
    return shape(                                                                             \
        StrFormat("%d dimensions, but %d numbers in '%s'", d.rank, in.name##_size(), #name)); \
  }                                                                                           \
  for (int i = 0; i < in.name##_size(); ++i) d.member[static_cast<size_t>(i)] = in.name(i);
    MTLC_PROTO_TRANSFER_ARRAYS(MTLC_F)
#undef MTLC_F
    return true;
  }

  template <typename Desc, typename Message>
  bool descriptor(const Message& in, std::string_view name, Module::OpSpec& spec) {
    Desc d;
    if (!known(in, name) || !fields(in, d)) return false;
    SlotSet slots;
    int last = 0;
    for (int number : in.slots()) {
      Slot slot{};
      if (!field(static_cast<proto::Slot>(number), "slots", slot)) return false;
      if (number <= last) return shape("the slots are not in increasing order");
      last = number;
      slots.add(slot);
    }
    if (slots.size() != spec.operands.size()) {
      return shape(StrFormat("%d slots for %d operands", slots.size(), spec.operands.size()));
    }
    spec.payload = module_->tensorPayload(d, slots);
    return true;
  }

  SourceManager& sources_;
  DiagnosticEngine& diags_;
  int errorsBefore_;
  FileId file_;
  std::unique_ptr<Module> module_;
  proto::Module in_;
  std::vector<FileId> files_;
  std::vector<Type> types_;  // Void: reported.
  std::vector<std::optional<Opcode>> operations_;
  std::vector<Function*> functions_;
  // Of the function at hand.
  std::vector<Value*> values_;  // By number; nullptr: neither defined nor used so far.
  size_t defined_ = 0;
  std::vector<Block*> blocks_;
  // For messages.
  std::string where_ = "the module";
  uint32_t operation_ = 0;  // From 1 on; 0: before all.
};

}  // namespace

bool isProto(std::string_view bytes) {
  static const std::string kStart =
      "\x0a" + std::string(1, static_cast<char>(kFormat.size())) + std::string(kFormat);
  return bytes.starts_with(kStart);
}

std::unique_ptr<Module> readProto(SourceManager& sources, std::string_view name,
                                  std::string_view bytes, DiagnosticEngine& diags) {
  return Reader(sources, name, diags).run(bytes);
}

}  // namespace mtlc::ir
