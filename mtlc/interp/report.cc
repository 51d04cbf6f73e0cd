// What is said about faults, and the trace.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"
#include "mtlc/ir/text.h"
#include "mtlc/support/scalar_ops.h"

namespace mtlc::interp {
namespace {

using ir::TypeKind;

std::string accessWord(bool isWrite) { return isWrite ? "write" : "read"; }

bool isAtomic(const Inst& inst) {
  return inst.opcode >= ir::Opcode::AtomicLoad && inst.opcode <= ir::Opcode::AtomicCas;
}

// The space of the memory, or of the pointer where there is no memory.
std::string_view spaceOf(ir::Space space, uint64_t address) {
  Window window = windowOf(address);
  return window == Window::None ? ir::spaceName(space) : windowName(window);
}

// A register's value for people: 5, -1 (0xffffffff), 0.5 (0x3f000000), 0x4000008000000000.
std::string valueText(TypeKind type, unsigned width, uint64_t bits) {
  switch (type) {
    case TypeKind::Void:
    case TypeKind::Tile:
      return "";
    case TypeKind::I1:
      return bits != 0 ? "true" : "false";
    case TypeKind::I8:
    case TypeKind::I16:
    case TypeKind::I32:
    case TypeKind::I64: {
      int64_t value = ir::signExtend(bits, width);
      if (value >= 0) return std::to_string(value);
      return absl::StrFormat("%d (0x%x)", value, bits);
    }
    case TypeKind::F16:
      return absl::StrFormat("%.5g (0x%04x)", scalar::toDouble(FloatKind::F16, bits), bits);
    case TypeKind::BF16:
      return absl::StrFormat("%.4g (0x%04x)", scalar::toDouble(FloatKind::BF16, bits), bits);
    case TypeKind::F32:
      return absl::StrFormat("%.9g (0x%08x)", scalar::toDouble(FloatKind::F32, bits), bits);
    case TypeKind::F64:
      return absl::StrFormat("%.17g (0x%016x)", scalar::toDouble(FloatKind::F64, bits), bits);
    case TypeKind::Ptr:
      return absl::StrFormat("0x%x", bits);
  }
  return "";
}

std::string bytesText(uint64_t n) { return n == 1 ? "1 byte" : absl::StrFormat("%d bytes", n); }

// Where an access lies that isn't wholly inside its object.
std::string overrun(const std::string& name, uint64_t size, uint64_t offset, uint32_t bytes) {
  std::string object = absl::StrFormat("%s (%s)", name, bytesText(size));
  if (static_cast<int64_t>(offset) < 0) return bytesText(0 - offset) + " before " + object;
  if (offset == size) return "just past the end of " + object;
  if (offset > size) return bytesText(offset - size) + " past the end of " + object;
  return absl::StrFormat("its last %s past the end of %s", bytesText(offset + bytes - size),
                         object);
}

void noteAllocation(Fault& fault, const ir::Operation* allocation) {
  if (!allocation) return;
  fault.notes.push_back({allocation->loc(), "the variable is declared here"});
}

}  // namespace

Fault BlockRunner::makeFault(DiagId id, FaultKind kind, const Thread& thread,
                             const ir::Operation* at) const {
  Fault fault;
  fault.id = id;
  fault.kind = kind;
  fault.loc = at->loc();
  fault.kernel = launch_.spec.kernel;
  fault.block = blockId_;
  fault.thread = thread.id;
  return fault;
}

Fault BlockRunner::accessFault(DiagId id, FaultKind kind, const Thread& thread, const Inst& inst,
                               const AccessShape& shape, uint64_t address) const {
  Fault fault = makeFault(id, kind, thread, inst.op);
  fault.space = spaceOf(shape.space, address);
  fault.address = address;
  fault.size = shape.bytes;
  fault.args = {accessWord(shape.isWrite), bytesText(shape.bytes), std::string(fault.space),
                absl::StrFormat("0x%x", address)};
  return fault;
}

std::string BlockRunner::objectName(const Object& object) const {
  if (object.window == Window::Global) return launch_.memory.name(object.index);
  if (!object.allocation) return "the launch-sized workgroup array";
  std::string_view name = object.allocation->result()->name();
  if (name.empty()) return absl::StrFormat("a %s variable", windowName(object.window));
  return absl::StrFormat("%s variable '%s'", windowName(object.window), name);
}

void BlockRunner::reportBadAddress(const Thread& thread, const Inst& inst, const AccessShape& shape,
                                   uint64_t address, const std::string& why) {
  if (!launch_.isNewFault(FaultKind::Mem, {DiagId::FaultBadAddress, inst.id})) return;
  Fault fault = accessFault(DiagId::FaultBadAddress, FaultKind::Mem, thread, inst, shape, address);
  fault.args.push_back(why);
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportOutOfBounds(const Thread& thread, const Inst& inst,
                                    const AccessShape& shape, const Place& place) {
  if (!launch_.isNewFault(FaultKind::Mem, {DiagId::FaultOutOfBounds, inst.id})) return;
  Fault fault =
      accessFault(DiagId::FaultOutOfBounds, FaultKind::Mem, thread, inst, shape, place.address);
  fault.args.push_back(
      overrun(objectName(place.object), place.object.size, place.offset, shape.bytes));
  noteAllocation(fault, place.object.allocation);
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportMisaligned(const Thread& thread, const Inst& inst, const AccessShape& shape,
                                   const Place& place) {
  if (!launch_.isNewFault(FaultKind::Mem, {DiagId::FaultMisaligned, inst.id})) return;
  Fault fault =
      accessFault(DiagId::FaultMisaligned, FaultKind::Mem, thread, inst, shape, place.address);
  fault.args.push_back(std::to_string(shape.align));
  noteAllocation(fault, place.object.allocation);
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportUninitBranch(const Thread& thread, const Inst& inst, uint32_t origin) {
  reportUninit(makeFault(DiagId::FaultUninitBranch, FaultKind::Init, thread, inst.op), inst,
               origin);
}

void BlockRunner::reportUninitAddress(const Thread& thread, const Inst& inst,
                                      const AccessShape& shape, uint32_t origin) {
  Fault fault = makeFault(DiagId::FaultUninitAddress, FaultKind::Init, thread, inst.op);
  fault.size = shape.bytes;
  fault.args = {accessWord(shape.isWrite), bytesText(shape.bytes)};
  reportUninit(std::move(fault), inst, origin);
}

// `origin` is the load that the uninitialised bits came from.
void BlockRunner::reportUninit(Fault fault, const Inst& inst, uint32_t origin) {
  if (!launch_.isNewFault(FaultKind::Init, {fault.id, inst.id})) return;
  const ir::Operation* load = launch_.program.inst(origin).op;
  fault.notes.push_back({load->loc(), "the bits were loaded here"});
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportRace(const Thread& thread, const Inst& inst, const AccessShape& shape,
                             const Place& place, const Access& other) {
  uint32_t otherId = other.inst;
  if (place.object.window == Window::Workgroup &&
      (inst.opcode == ir::Opcode::AsyncCopy ||
       launch_.program.inst(otherId).opcode == ir::Opcode::AsyncCopy)) {
    return reportStagedUse(thread, inst, shape, place, other);
  }
  FaultLog::Key key{DiagId::FaultRace, std::min(inst.id, otherId), std::max(inst.id, otherId)};
  if (!launch_.isNewFault(FaultKind::Race, key)) return;
  const Inst& otherInst = launch_.program.inst(otherId);
  Fault fault = accessFault(DiagId::FaultRace, FaultKind::Race, thread, inst, shape, place.address);
  fault.args[3] = absl::StrFormat("0x%x (byte %d of %s)", place.address, place.offset,
                                  objectName(place.object));

  const std::string otherThread = toString(unflatten(other.thread, launch_.spec.block));
  const bool sameBlock = other.block == (blockIndex_ & 0xFFFFFFFF);
  std::string who =
      sameBlock ? absl::StrFormat("thread %s of the same block", otherThread)
                : absl::StrFormat("block %s, thread %s",
                                  toString(unflatten(other.block, launch_.spec.grid)), otherThread);
  std::string what = accessWord(other.isWrite != 0);
  if (otherInst.bytes != 0) what += " of " + bytesText(otherInst.bytes);
  const bool otherIsAtomic = isAtomic(otherInst);
  fault.args.push_back(
      absl::StrFormat("%s %s by %s", otherIsAtomic ? "an atomic" : "a", what, who));
  if (isAtomic(inst)) fault.args[0] = "atomic " + fault.args[0];
  if (isAtomic(inst) && otherIsAtomic) {
    fault.args.push_back(
        inst.bytes != otherInst.bytes
            ? "atomic accesses of different sizes don't order each other: use one size"
            : absl::StrFormat("the scopes %s and %s don't include both threads: use %s",
                              ir::enumName(inst.op->atomic().scope),
                              ir::enumName(otherInst.op->atomic().scope),
                              sameBlock ? "workgroup" : "device"));
  } else if (launch_.hasClocks) {
    fault.args.push_back(absl::StrFormat(
        "order the two: %sby a release after the first and an acquire before the second that reads "
        "what was released, in scopes that include both threads",
        sameBlock ? absl::StrFormat("by a barrier {%s}, or ", fault.space) : ""));
  } else if (!sameBlock) {
    fault.args.push_back("nothing orders the blocks of a launch: give each its own memory");
  } else if (other.phase == phase_) {
    fault.args.push_back(absl::StrFormat("put a barrier {%s} between the two", fault.space));
  } else {
    fault.args.push_back(absl::StrFormat(
        "there is a barrier between the two, but it does not order %s memory: name the region, and "
        "use the order acq_rel or seq_cst",
        fault.space));
  }
  fault.notes.push_back({otherInst.op->loc(), "the other access"});
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportBroadcast(const Thread& thread, const Inst& inst, const std::string& why) {
  if (!launch_.isNewFault(FaultKind::Sync, {DiagId::FaultBroadcastLane, inst.id})) return;
  Fault fault = makeFault(DiagId::FaultBroadcastLane, FaultKind::Sync, thread, inst.op);
  fault.args = {why};
  launch_.faults.add(blockIndex_, std::move(fault));
}

// A race with the delivery of an asynchronous copy: someone else uses the memory without a barrier.
void BlockRunner::reportStagedUse(const Thread& thread, const Inst& inst, const AccessShape& shape,
                                  const Place& place, const Access& other) {
  const Inst& otherInst = launch_.program.inst(other.inst);
  if (!launch_.isNewFault(FaultKind::Async,
                          {DiagId::FaultAsyncUnordered, std::min(inst.id, otherInst.id),
                           std::max(inst.id, otherInst.id)})) {
    return;
  }
  Fault fault = accessFault(DiagId::FaultAsyncUnordered, FaultKind::Async, thread, inst, shape,
                            place.address);
  if (inst.opcode == ir::Opcode::AsyncCopy) fault.args[0] = "asynchronous write";
  fault.args.push_back(absl::StrFormat("%s by thread %s",
                                       otherInst.opcode == ir::Opcode::AsyncCopy
                                           ? "an asynchronous copy"
                                           : "a " + accessWord(other.isWrite != 0),
                                       toString(unflatten(other.thread, launch_.spec.block))));
  fault.notes.push_back({otherInst.op->loc(), "the other access"});
  launch_.faults.add(blockIndex_, std::move(fault));
}

// `waiting` waits for the others of a scope at a barrier or a collective, and not all come.
void BlockRunner::reportDivergence(Lanes scope, const Thread& waiting) {
  const std::vector<Frame>& calls = waiting.state->frames;
  const Inst& inst = waiting.waitsAt();
  const bool isBarrier = waiting.status == ThreadStatus::AtBarrier;
  const DiagId id = isBarrier ? DiagId::FaultBarrierDivergence : DiagId::FaultCollectiveDivergence;
  if (!launch_.isNewFault(FaultKind::Sync, {id, inst.id})) return;

  auto waitsHere = [&](const Thread* t) { return t->state && t->isTogetherWith(waiting); };
  const Thread& other = **std::find_if_not(scope.begin(), scope.end(), waitsHere);
  const auto count = std::count_if(scope.begin(), scope.end(), waitsHere);

  const ir::Operation* at = other.lastOp;
  std::string what = "has ended";
  std::string where = "it ended here";
  if (other.status != ThreadStatus::Ended) {
    what = other.status != ThreadStatus::AtBarrier
               ? absl::StrFormat("waits at another operation, %s", at->info().mnemonic)
           : isBarrier ? "waits at another barrier"
                       : "waits at a barrier";
    where = "it waits here";
    if (at == waiting.lastOp) {  // Where the calls that lead there part.
      what = "waits in another call";
      where = "it called here";
      auto parted = std::mismatch(other.state->frames.begin(), other.state->frames.end(),
                                  calls.begin(), calls.end(), Frame::samePosition);
      at = parted.first->code->insts[parted.first->pc - 1].op;
    }
  }
  Fault fault = makeFault(id, FaultKind::Sync, waiting, inst.op);
  const std::string who = absl::StrFormat("%d of %d do, but thread %s %s", count, scope.size(),
                                          toString(other.id), what);
  if (isBarrier) {
    fault.args = {who};
  } else {
    fault.args = {inst.op->convergence() == ir::Convergence::Workgroup ? "block" : "subgroup",
                  std::string(inst.op->info().mnemonic), who};
  }
  fault.notes.push_back({at->loc(), where});
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportSteps(const Thread& thread, const Inst& inst) {
  launch_.stop = true;
  if (!launch_.isNewFault(FaultKind::Steps, {DiagId::FaultStepLimit})) return;
  Fault fault = makeFault(DiagId::FaultStepLimit, FaultKind::Steps, thread, inst.op);
  fault.args = {std::to_string(thread.steps)};
  launch_.faults.add(blockIndex_, std::move(fault));
}

void BlockRunner::reportCallDepth(const Thread& thread, const Inst& inst) {
  launch_.stop = true;
  if (!launch_.isNewFault(FaultKind::Steps, {DiagId::FaultCallDepth})) return;
  Fault fault = makeFault(DiagId::FaultCallDepth, FaultKind::Steps, thread, inst.op);
  fault.args = {std::to_string(thread.state->frames.size())};
  launch_.faults.add(blockIndex_, std::move(fault));
}

// The operation as a dump of its function shows it, with the numbers of values without a name.
const std::string& BlockRunner::operationText(const ir::Operation* op) {
  if (auto known = operationTexts_.find(op); known != operationTexts_.end()) return known->second;
  // A dump has one line for each operation, indented; block labels are not.
  const ir::Function& function = *op->function();
  const std::string dump = ir::print(function);
  std::string_view rest = dump;
  for (const ir::Block& block : function.blocks()) {
    for (const ir::Operation& each : block.ops()) {
      std::string_view line;
      while (!line.starts_with("  ") && !rest.empty()) {
        line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      }
      line.remove_prefix(std::min<size_t>(line.size(), 2));
      operationTexts_.emplace(&each, line);
    }
  }
  return operationTexts_[op];
}

void BlockRunner::trace(const Inst& inst, const Reg* result) {
  const SourceManager& sources = launch_.program.module().sources();
  SourceLoc loc = inst.op->loc();
  std::string line;
  if (loc.file() != 0) {
    line = absl::StrFormat("%s:%d:%d: ", sources.name(loc.file()), loc.line(), loc.column());
  }
  line += operationText(inst.op);
  if (result) {
    line += "  -> " + valueText(inst.resultType, inst.resultWidth, result->bits);
    if (result->uninit != 0) absl::StrAppendFormat(&line, " uninitialised 0x%x", result->uninit);
  }
  launch_.spec.options.trace->sink(line);
}

}  // namespace mtlc::interp
