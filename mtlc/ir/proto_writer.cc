#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "mtlc/ir/proto.h"
#include "mtlc/ir/proto_enums.h"
#include "mtlc/ir/text_names.h"
#include "mtlc/support/version.h"

namespace mtlc::ir {
namespace {

// The fields of the descriptors are those of the table, in its order.
struct FieldNames {
  std::string_view member, text;
  friend constexpr bool operator==(const FieldNames&, const FieldNames&) = default;
};
#define MTLC_F(member, field) FieldNames{#member, #field},
constexpr FieldNames kWritten[] = {MTLC_PROTO_MMA_FIELDS(MTLC_F) MTLC_PROTO_EPILOGUE_FIELDS(
    MTLC_F) MTLC_PROTO_TRANSFER_FIELDS(MTLC_F) MTLC_PROTO_TRANSFER_ARRAYS(MTLC_F)};
#undef MTLC_F
constexpr FieldNames kTable[] = {
#define MMA_FIELD(member, text, kind) {#member, text},
#define EPILOGUE_FIELD(member, text, kind) {#member, text},
#define TRANSFER_FIELD(member, text, kind) {#member, text},
#define TRANSFER_ARRAY(member, text) {#member, text},
#include "mtlc/ir/descriptors.def"
};
static_assert(std::ranges::equal(kWritten, kTable));

// As the protobuf form has it.
template <typename E>
typename ProtoEnum<E>::Type wire(E value) {
  return static_cast<typename ProtoEnum<E>::Type>(static_cast<int>(value) + 1);
}
uint32_t wire(uint32_t value) { return value; }
bool wire(bool value) { return value; }

// What stands where the module has no value: no function has so many.
constexpr uint32_t kNoValue = UINT32_MAX;

class Writer {
 public:
  explicit Writer(const Module& module) : module_(module) {}

  std::string run() {
    out_.set_format("mtlc.ir");
    out_.set_version(kProtoVersion);
    out_.set_producer("mtlc " + std::string(kVersion));
    out_.set_name(std::string(module_.name()));
    for (const Function& f : module_.functions()) {
      functions_.emplace(&f, static_cast<uint32_t>(functions_.size()));
    }
    for (const Function& f : module_.functions()) function(f, *out_.add_functions());
    std::string bytes;
    {
      google::protobuf::io::StringOutputStream stream(&bytes);
      google::protobuf::io::CodedOutputStream coded(&stream);
      coded.SetSerializationDeterministic(true);
      out_.SerializeToCodedStream(&coded);
    }
    return bytes;
  }

 private:
  // ---- Tables ----

  uint32_t typeIndex(Type type) {
    auto [it, isNew] = types_.try_emplace(type.raw(), static_cast<uint32_t>(types_.size()));
    if (isNew) {
      proto::Type& t = *out_.add_types();
      t.set_kind(static_cast<proto::TypeKind>(type.kind()));
      if (type.isPtr()) t.set_space(wire(type.space()));
      if (type.isTile()) {
        t.set_rows(type.tileRows());
        t.set_columns(type.tileCols());
        t.set_format(wire(type.tileFormat()));
        t.set_workgroup(type.tileOfWorkgroup());
      }
    }
    return it->second;
  }

  uint32_t operationIndex(Opcode opcode) {
    uint32_t& index = operations_[static_cast<size_t>(opcode)];
    if (index == 0) {
      out_.add_operations(std::string(opInfo(opcode).mnemonic));
      index = static_cast<uint32_t>(out_.operations_size());
    }
    return index - 1;
  }

  // Files of one name are one.
  uint32_t fileIndex(FileId file) {
    auto [it, isNew] = files_.try_emplace(file, 0);
    if (isNew) {
      std::string_view name = module_.sources().name(file);
      auto [named, isNewName] =
          fileNames_.try_emplace(name, static_cast<uint32_t>(fileNames_.size()));
      if (isNewName) out_.add_files(std::string(name));
      it->second = named->second;
    }
    return it->second;
  }

  template <typename Message>
  void location(SourceLoc loc, Message& out) {
    if (!loc.valid()) return;
    proto::Location& l = *out.mutable_location();
    l.set_file(fileIndex(loc.file()));
    l.set_line(loc.line());
    l.set_column(loc.column());
  }

  // ---- Functions ----

  void value(const Value* v, proto::Value& out) {
    out.set_type(typeIndex(v->type()));
    if (!v->name().empty()) out.set_name(std::string(v->name()));
  }

  void function(const Function& f, proto::Function& out) {
    out.set_name(std::string(f.name()));
    out.set_kernel(f.isKernel());
    for (unsigned i = 0; i < f.paramCount(); ++i) {
      proto::Value& p = *out.add_parameters();
      if (f.isDeclaration()) {
        p.set_type(typeIndex(f.paramTypes()[i]));
      } else {
        value(f.param(i), p);
      }
    }
    if (!f.resultType().isVoid()) out.set_result_type(typeIndex(f.resultType()));
    if (f.launchBounds.maxThreads != 0 || f.launchBounds.minGroups != 0) {
      out.mutable_launch_bounds()->set_max_threads(f.launchBounds.maxThreads);
      out.mutable_launch_bounds()->set_min_groups(f.launchBounds.minGroups);
    }
    out.set_inline_hint(wire(f.inlineHint));
    location(f.loc(), out);

    values_.clear();
    blocks_.clear();
    uint32_t next = 0;
    for (const Block& b : f.blocks()) {
      blocks_.emplace(&b, static_cast<uint32_t>(blocks_.size()));
      for (const Value* arg : b.args()) values_.emplace(arg, next++);
      for (const Operation& op : b.ops()) {
        if (op.result()) values_.emplace(op.result(), next++);
      }
    }
    for (const Block& b : f.blocks()) block(b, *out.add_blocks());
  }

  void block(const Block& b, proto::Block& out) {
    if (!b.name().empty()) out.set_name(std::string(b.name()));
    location(b.loc(), out);
    for (unsigned i = b.isEntry() ? b.function()->paramCount() : 0; i < b.argCount(); ++i) {
      value(b.arg(i), *out.add_arguments());
    }
    for (const Operation& op : b.ops()) operation(op, *out.add_operations());
  }

  uint32_t valueNumber(const Value* v) const {
    auto it = values_.find(v);
    return it == values_.end() ? kNoValue : it->second;
  }

  void operation(const Operation& op, proto::Operation& out) {
    out.set_operation(operationIndex(op.opcode()));
    unsigned own = op.operandCount();
    for (unsigned i = 0; i < op.successorCount(); ++i) {
      const Successor& s = op.successor(i);
      own -= s.argCount();
      proto::Edge& edge = *out.add_edges();
      auto it = blocks_.find(s.block());
      edge.set_block(it == blocks_.end() ? kNoValue : it->second);
      for (unsigned k = 0; k < s.argCount(); ++k) {
        edge.add_arguments(valueNumber(op.successorArg(i, k)));
      }
    }
    for (unsigned i = 0; i < own; ++i) out.add_operands(valueNumber(op.operand(i)));
    if (const Value* result = op.result()) {
      out.set_result_type(typeIndex(result->type()));
      if (!result->name().empty()) out.set_name(std::string(result->name()));
    }
    location(op.loc(), out);
    if (!op.elemType().isVoid()) out.set_element_type(typeIndex(op.elemType()));
    for (size_t i = 0; i < kFastMathNames.size(); ++i) {
      if (op.fastMath() & kFastMathNames[i].flag) {
        out.add_fast_math(static_cast<proto::FastMath>(i + 1));
      }
    }
    attribute(op, out);
  }

  template <typename Message>
  static void regions(uint8_t mask, Message& out) {
    for (size_t i = 0; i < kRegionNames.size(); ++i) {
      if (mask & kRegionNames[i].flag) out.add_regions(static_cast<proto::Region>(i + 1));
    }
  }

  void attribute(const Operation& op, proto::Operation& out) {
    switch (op.form()) {
      case Form::Const:
        out.set_constant(op.constBits());
        break;
      case Form::GpuIndex:
        out.set_dimension(wire(op.dim()));
        break;
      case Form::Load:
      case Form::Store: {
        const MemAttr m = op.mem();
        proto::MemoryAccess& p = *out.mutable_memory();
        p.set_align(m.align);
        p.set_volatile_(m.isVolatile);
        p.set_cache(wire(m.cache));
        break;
      }
      case Form::Alloc:
        out.set_count(op.allocCount());
        break;
      case Form::Barrier:
        regions(op.barrier().regions, *out.mutable_barrier());
        out.mutable_barrier()->set_order(wire(op.barrier().order));
        break;
      case Form::Fence:
        regions(op.fence().regions, *out.mutable_fence());
        out.mutable_fence()->set_order(wire(op.fence().order));
        out.mutable_fence()->set_scope(wire(op.fence().scope));
        break;
      case Form::AtomicLoad:
      case Form::AtomicStore:
      case Form::AtomicRmw:
      case Form::AtomicCas: {
        const AtomicAttr a = op.atomic();
        proto::Atomic& p = *out.mutable_atomic();
        p.set_order(wire(a.order));
        if (op.form() == Form::AtomicCas) p.set_failure_order(wire(a.failureOrder));
        p.set_scope(wire(a.scope));
        if (op.form() == Form::AtomicRmw) p.set_combine(wire(a.kind));
        break;
      }
      case Form::SubgroupReduce:
        out.set_combine(wire(op.combineKind()));
        break;
      case Form::AsyncCopy: {
        const AsyncAttr a = op.async();
        out.mutable_async_copy()->set_count(a.count);
        out.mutable_async_copy()->set_transaction(a.transaction);
        out.mutable_async_copy()->set_cache_global(a.cacheGlobal);
        break;
      }
      case Form::AsyncWait:
        out.set_pending(op.waitCount());
        break;
      case Form::Encode:
      case Form::Decode:
        out.mutable_narrow()->set_format(wire(op.narrow().format));
        if (op.form() == Form::Encode) out.mutable_narrow()->set_saturate(op.narrow().saturate);
        break;
      case Form::Mma:
        descriptor(op.mmaDesc(), op.tensor().slots, *out.mutable_mma());
        break;
      case Form::Epilogue:
        descriptor(op.epilogueDesc(), op.tensor().slots, *out.mutable_epilogue());
        break;
      case Form::Transfer:
        descriptor(op.transferDesc(), op.tensor().slots, *out.mutable_transfer());
        break;
      case Form::Call:
      case Form::FuncAddr:
        if (op.callee()) out.set_callee(functions_.at(op.callee()));
        break;
      case Form::Launch: {
        const LaunchAttr l = op.launch();
        proto::Launch& p = *out.mutable_launch();
        if (l.kernel) p.set_kernel(functions_.at(l.kernel));
        p.set_has_shared(l.hasShared);
        p.set_has_stream(l.hasStream);
        break;
      }
      case Form::Unary:
      case Form::Binary:
      case Form::Ternary:
      case Form::Compare:
      case Form::Select:
      case Form::Cast:
      case Form::PtrAdd:
      case Form::AllocDynamic:
      case Form::SubgroupIndex:
      case Form::SubgroupLane:
      case Form::SubgroupBallot:
      case Form::SubgroupVote:
      case Form::AsyncCommit:
      case Form::AccCommit:
      case Form::CallIndirect:
      case Form::Jump:
      case Form::Branch:
      case Form::Return:
        break;
    }
  }

  template <typename Message>
  static void slotList(SlotSet slots, Message& p) {
    for (int i = 0; i < kSlotCount; ++i) {
      if (slots.has(static_cast<Slot>(i))) p.add_slots(wire(static_cast<Slot>(i)));
    }
  }
#define MTLC_F(member, field) p.set_##field(wire(d.member));
  static void descriptor(const MmaDesc& d, SlotSet slots, proto::MmaDescriptor& p) {
    slotList(slots, p);
    MTLC_F(m, m)
    MTLC_F(n, n)
    MTLC_F(k, k)
    MTLC_PROTO_MMA_FIELDS(MTLC_F)
  }
  static void descriptor(const EpilogueDesc& d, SlotSet slots, proto::EpilogueDescriptor& p) {
    slotList(slots, p);
    MTLC_F(m, m)
    MTLC_F(n, n)
    MTLC_PROTO_EPILOGUE_FIELDS(MTLC_F)
  }
  static void descriptor(const TransferDesc& d, SlotSet slots, proto::TransferDescriptor& p) {
    slotList(slots, p);
    MTLC_PROTO_TRANSFER_FIELDS(MTLC_F)
#undef MTLC_F
    for (unsigned i = 0; i < std::min<unsigned>(d.rank, kMaxRank); ++i) {
#define MTLC_F(member, field) p.add_##field(d.member[i]);
      MTLC_PROTO_TRANSFER_ARRAYS(MTLC_F)
#undef MTLC_F
    }
  }

  const Module& module_;
  proto::Module out_;
  absl::flat_hash_map<uint64_t, uint32_t> types_;
  std::array<uint32_t, kOpcodeCount> operations_{};  // Index + 1.
  absl::flat_hash_map<FileId, uint32_t> files_;
  absl::flat_hash_map<std::string_view, uint32_t> fileNames_;
  absl::flat_hash_map<const Function*, uint32_t> functions_;
  // Of the function at hand.
  absl::flat_hash_map<const Value*, uint32_t> values_;
  absl::flat_hash_map<const Block*, uint32_t> blocks_;
};

}  // namespace

std::string writeProto(const Module& module) { return Writer(module).run(); }

}  // namespace mtlc::ir
