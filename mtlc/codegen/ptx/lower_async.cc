// Asynchronous staging as cp.async, and transfers as bulk tensor copies (PTX ISA, "Data Movement
// and Conversion Instructions: Asynchronous copy", "Asynchronous Barrier", "membar/fence").
//
// A transfer is executed by the first thread of the workgroup. Every thread puts a proxy fence
// between its accesses before and the workgroup barrier, so that the asynchronous proxy comes after
// them. A load is awaited by all threads at an mbarrier in workgroup memory, which makes the tile
// visible to each; the barrier after that lets the first thread invalidate the mbarrier. A store is
// drained by the thread that issued it before all meet again.

#include "mtlc/codegen/ptx/lower_async.h"

#include <string>
#include <vector>

#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/match.h"
#include "mtlc/support/element_format.h"

namespace mtlc::ptx {

using ir::Operation;
using ir::Slot;
using ir::Value;

namespace {

constexpr uint32_t kTileAlign = 128;  // What bulk tensor copies want in workgroup memory.
constexpr uint64_t kViewBytes = 128;  // sizeof(CUtensorMap)

const Value* tileOf(const Operation& transfer) {
  const bool load = transfer.transferDesc().direction == ir::Direction::Load;
  return transfer.slot(load ? Slot::Dst : Slot::Src);
}

}  // namespace

bool isTensorCopy(const Operation& transfer) {
  const ir::TransferDesc& d = transfer.transferDesc();
  if (!transfer.tensor().slots.has(Slot::View)) return false;
  if (transfer.slot(Slot::View)->type().space() == ir::Space::Workgroup) return false;
  if (d.packing == ir::Packing::Dense) return false;
  const uint64_t bytes = elementInfo(d.element).bytes;
  if (d.step[0] != 1 || d.tile[0] * bytes % 16 != 0) return false;
  for (unsigned i = 0; i < d.rank; ++i) {
    const bool load = d.direction == ir::Direction::Load;
    if (d.step[i] > (load ? 8u : 1u)) return false;
    if (uint64_t{d.tile[i]} * d.step[i] > 256) return false;
    if (d.extent[i] > uint64_t{1} << 32) return false;
    if (i > 0 && (d.stride[i] % 16 != 0 || d.stride[i] >= uint64_t{1} << 40)) return false;
  }
  return true;
}

void FunctionLowering::lowerAsyncCopy(Operation& op) {
  const ir::AsyncAttr attr = op.async();
  const Address to = address(op.operand(0)), from = address(op.operand(1));
  const Opnd size = imm(attr.transaction);
  const uint32_t bytes = attr.count * op.elemType().bytes();
  for (uint32_t at = 0; at < bytes; at += attr.transaction) {
    const int32_t offset = static_cast<int32_t>(at);
    appendGrouped(attr.cacheGlobal ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global",
                  {addressed(to.base, to.offset + offset),
                   addressed(from.base, from.offset + offset), plain(size)});
  }
}

// Declares the mbarrier of the function, and aligns the tile where it is an array.
void FunctionLowering::prepareTransfer(const Operation& op) {
  const Operation* array = asArray(matchAddress(tileOf(op)).base);
  if (array != nullptr && array->opcode() == ir::Opcode::AllocWorkgroup) {
    MachineSymbol& symbol = out_->symbols[array->scratch];
    if (symbol.align < kTileAlign) {
      workgroupBytes_ += kTileAlign - symbol.align;  // At most.
      symbol.align = kTileAlign;
    }
  }
  if (transferBarrier_ != 0 || op.transferDesc().direction == ir::Direction::Store) return;
  transferBarrier_ = static_cast<uint32_t>(out_->symbols.size());
  MachineSymbol& symbol = out_->symbols.emplace_back();
  symbol.space = StateSpace::Shared;
  symbol.bytes = symbol.align = 8;
  symbol.name = std::string(symbolPrefix_) + "$mbarrier";
  workgroupBytes_ += 8;
}

void FunctionLowering::needTransfer(const Operation& op) {
  needAddress(tileOf(op));
  need(op.slot(Slot::View));
  for (unsigned i = 0; i < op.transferDesc().rank; ++i) need(op.slot(ir::coordinateSlot(i)));
}

Opnd FunctionLowering::isFirstThread() {
  Opnd any;
  for (uint32_t dim = 0; dim < 3; ++dim) {  // Thread indices are the first special registers.
    const Opnd id = emit(MachineOp::Mov, PtxType::U32, RegClass::B32, {Opnd::special(dim)});
    any = dim == 0 ? id : emit(MachineOp::Or, PtxType::B32, RegClass::B32, {any, id});
  }
  return emitSetp(CmpOp::Eq, PtxType::U32, any, imm(0));
}

void FunctionLowering::lowerTransfer(Operation& op) {
  const ir::TransferDesc& d = op.transferDesc();
  const bool load = d.direction == ir::Direction::Load;
  const Address tile = address(tileOf(op));
  const Value* viewValue = op.slot(Slot::View);
  Opnd view = useReg(viewValue);
  if (viewValue->type().space() == ir::Space::Global) {
    const Opnd generic = newReg(RegClass::B64);
    append(MachineOp::Cvta, PtxType::U64, generic, {view}).mod =
        static_cast<uint8_t>(StateSpace::Global);
    view = generic;
  }
  std::vector<Opnd> mapAndPlace = {view};
  uint64_t bytes = elementInfo(d.element).bytes;
  for (unsigned i = 0; i < d.rank; ++i) {
    mapAndPlace.push_back(useReg(op.slot(ir::coordinateSlot(i))));
    bytes *= d.tile[i];
  }
  const Group source{OperandGroup::Kind::Address, mapAndPlace};
  const Opnd first = isFirstThread();
  const Group byFirst = guard(first);
  const std::string dims = std::to_string(d.rank) + "d";
  auto barrier = [&] { append(MachineOp::BarSync, PtxType::None, Opnd(), {}); };

  appendGrouped("fence.proxy.async", {});
  if (load) {
    const Opnd mbarrier = Opnd::symbol(transferBarrier_);
    const Opnd one = imm(1), size = imm(bytes), viewSize = imm(kViewBytes), none = imm(0);
    appendGrouped("mbarrier.init.shared.b64", {addressed(mbarrier, 0), plain(one), byFirst});
    appendGrouped("fence.proxy.async", {byFirst});
    barrier();
    appendGrouped("fence.proxy.tensormap::generic.acquire.sys",
                  {addressed(view, 0), plain(viewSize), byFirst});
    appendGrouped("mbarrier.arrive.expect_tx.shared.b64 _,",
                  {addressed(mbarrier, 0), plain(size), byFirst});
    appendGrouped("cp.async.bulk.tensor." + dims +
                      ".shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                  {addressed(tile.base, tile.offset), source, addressed(mbarrier, 0), byFirst});
    append(MachineOp::MbarrierWait, PtxType::None, newReg(RegClass::Pred), {mbarrier, none});
    barrier();
    appendGrouped("mbarrier.inval.shared.b64", {addressed(mbarrier, 0), byFirst});
    return;
  }
  barrier();
  const Opnd viewSize = imm(kViewBytes), none = imm(0);
  appendGrouped("fence.proxy.tensormap::generic.acquire.sys",
                {addressed(view, 0), plain(viewSize), byFirst});
  appendGrouped("cp.async.bulk.tensor." + dims + ".global.shared::cta.tile.bulk_group",
                {source, addressed(tile.base, tile.offset), byFirst});
  appendGrouped("cp.async.bulk.commit_group", {byFirst});
  appendGrouped("cp.async.bulk.wait_group", {plain(none), byFirst});
  appendGrouped("fence.proxy.async", {byFirst});
  barrier();
}

}  // namespace mtlc::ptx
