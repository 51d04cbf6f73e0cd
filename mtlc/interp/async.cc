// Asynchronous staging.
//
// A copy is checked and noted when it is issued; its destination is filled at the wait that covers
// its group, and its source is read some time in between: with seed 0 at the wait, otherwise there
// or at the issue. Meanwhile nobody may touch the destination or write the source.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/interp/block_runner.h"

namespace mtlc::interp {
namespace {

constexpr size_t kMaxGroups = 8;

}  // namespace

void BlockRunner::asyncCopy(Thread& thread, const Inst& inst, Reg* r, uint32_t* origins) {
  const ir::AsyncAttr attr = inst.op->async();
  const uint32_t bytes = attr.count * inst.op->elemType().bytes();
  AsyncCopy copy;
  copy.inst = &inst;
  const bool readNow = launch_.spec.options.seed != 0 && random_.below(2) == 0;
  for (uint32_t at = 0; at < bytes; at += attr.transaction) {
    AccessShape shape{ir::Space::Global, false, attr.transaction, attr.transaction};
    Reg source = {r[inst.b].bits + at, r[inst.b].uninit};
    Reg target = {r[inst.a].bits + at, r[inst.a].uninit};
    Transaction t;
    t.source = source.bits;
    if (!readMemory(thread, inst, shape, source, origins[inst.b], t.bytes.data(),
                    t.uninit.data())) {
      r[inst.b].uninit = 0;  // Said once.
      break;
    }
    t.isRead = readNow;
    shape.space = ir::Space::Workgroup;
    shape.isWrite = true;
    const Place place = resolve(thread, inst, shape, target, origins[inst.a]);
    if (!place.bytes) {
      r[inst.a].uninit = 0;
      break;
    }
    noteAccess(thread, inst, shape, place);
    t.target = target.bits;
    copy.transactions.push_back(t);
  }
  if (copy.transactions.empty()) return;
  launch_.budget.take(copy.transactions.size() * sizeof(Transaction));
  for (const Transaction& t : copy.transactions) {
    for (uint32_t at = 0; at < attr.transaction; at += 4) {
      ++targetsUnderWay_[(t.target + at) / 4];
      ++sourcesUnderWay_[(t.source + at) / 4];
    }
  }
  if (!thread.staging) thread.staging = std::make_unique<Staging>();
  thread.staging->open.push_back(std::move(copy));
}

void BlockRunner::asyncCommit(Thread& thread, const Inst& inst) {
  if (!thread.staging) thread.staging = std::make_unique<Staging>();
  Staging& staging = *thread.staging;
  staging.groups.push_back(std::exchange(staging.open, {}));
  if (staging.groups.size() <= kMaxGroups) return;
  if (launch_.isNewFault(FaultKind::Async, {DiagId::FaultAsyncGroups, inst.id})) {
    Fault fault = makeFault(DiagId::FaultAsyncGroups, FaultKind::Async, thread, inst.op);
    fault.args = {std::to_string(staging.groups.size()), std::to_string(kMaxGroups)};
    launch_.faults.add(blockIndex_, std::move(fault));
  }
  waitFor(thread, kMaxGroups);  // Goes on as if the oldest had been waited for.
}

// Delivers all but the `left` youngest groups.
void BlockRunner::waitFor(Thread& thread, size_t left) {
  if (!thread.staging) return;
  Staging& staging = *thread.staging;
  std::vector<AsyncCopy> done;
  while (staging.groups.size() > left) {
    for (AsyncCopy& copy : staging.groups.front()) done.push_back(std::move(copy));
    staging.groups.pop_front();
  }
  for (const AsyncCopy& copy : done) forgetUnderWay(copy);
  for (const AsyncCopy& copy : done) deliver(thread, copy);
}

void BlockRunner::deliver(const Thread& thread, const AsyncCopy& copy) {
  const Inst& inst = *copy.inst;
  for (Transaction t : copy.transactions) {
    AccessShape shape{ir::Space::Global, false, inst.bytes, inst.bytes};
    Reg source{t.source, 0};
    if (!t.isRead) {
      readMemory(thread, inst, shape, source, 0, t.bytes.data(), t.uninit.data());
    }
    if (!launch_.checks(FaultKind::Init)) t.uninit.fill(0);
    shape.space = ir::Space::Workgroup;
    shape.isWrite = true;
    Reg target{t.target, 0};
    writeMemory(thread, inst, shape, target, 0, t.bytes.data(), t.uninit.data());
  }
}

void BlockRunner::forgetUnderWay(const AsyncCopy& copy) {
  launch_.budget.giveBack(copy.transactions.size() * sizeof(Transaction));
  auto drop = [](auto& underWay, uint64_t word) {
    auto found = underWay.find(word);
    if (--found->second == 0) underWay.erase(found);
  };
  for (const Transaction& t : copy.transactions) {
    for (uint32_t at = 0; at < copy.inst->bytes; at += 4) {
      drop(targetsUnderWay_, (t.target + at) / 4);
      drop(sourcesUnderWay_, (t.source + at) / 4);
    }
  }
}

// At the end of a thread or a block: nothing may be pending any more.
void BlockRunner::endStaging(Thread& thread, const ir::Operation* at) {
  if (!thread.staging) return;
  const std::unique_ptr<Staging> staging = std::move(thread.staging);
  const AsyncCopy* first = nullptr;
  size_t uncommitted = staging->open.size();
  size_t pending = 0;
  auto forget = [&](const std::vector<AsyncCopy>& copies) {
    for (const AsyncCopy& copy : copies) {
      if (!first) first = &copy;
      forgetUnderWay(copy);
    }
  };
  for (const std::vector<AsyncCopy>& group : staging->groups) {
    pending += group.size();
    forget(group);
  }
  forget(staging->open);
  if (!at || !first) return;
  if (!launch_.isNewFault(FaultKind::Async, {DiagId::FaultAsyncPending, first->inst->id})) return;
  Fault fault = makeFault(DiagId::FaultAsyncPending, FaultKind::Async, thread, at);
  fault.args = {absl::StrFormat("%d committed and %d uncommitted", pending, uncommitted)};
  fault.notes.push_back({first->inst->op->loc(), "a copy is issued here"});
  launch_.faults.add(blockIndex_, std::move(fault));
}

// True if the access touches memory of a copy under way, which is reported.
bool BlockRunner::meetsCopyUnderWay(const Thread& thread, const Inst& inst,
                                    const AccessShape& shape, const Place& place) {
  const bool isTarget = place.object.window == Window::Workgroup;
  const auto& underWay = isTarget ? targetsUnderWay_ : sourcesUnderWay_;
  if (underWay.empty() || (!isTarget && !shape.isWrite)) return false;
  bool meets = false;
  for (uint64_t word = place.address / 4; word <= (place.address + shape.bytes - 1) / 4; ++word) {
    meets |= underWay.contains(word);
  }
  if (meets) reportCopyUnderWay(thread, inst, shape, place, isTarget);
  return meets;
}

void BlockRunner::reportCopyUnderWay(const Thread& thread, const Inst& inst,
                                     const AccessShape& shape, const Place& place, bool isTarget) {
  const Thread* owner = nullptr;
  const AsyncCopy* copy = nullptr;
  auto look = [&](const Thread& of, const std::vector<AsyncCopy>& copies) {
    for (const AsyncCopy& c : copies) {
      for (const Transaction& t : c.transactions) {
        const uint64_t begin = isTarget ? t.target : t.source;
        if (begin < place.address + shape.bytes && place.address < begin + c.inst->bytes) {
          if (!owner || &of == &thread) {
            owner = &of;
            copy = &c;
          }
        }
      }
    }
  };
  for (const Thread& of : threads_) {
    if (!of.staging) continue;
    for (const std::vector<AsyncCopy>& group : of.staging->groups) look(of, group);
    look(of, of.staging->open);
  }
  if (!copy) return;
  const DiagId id = isTarget ? DiagId::FaultAsyncTarget : DiagId::FaultAsyncSource;
  if (!launch_.isNewFault(FaultKind::Async, {id, inst.id, copy->inst->id})) return;
  Fault fault = accessFault(id, FaultKind::Async, thread, inst, shape, place.address);
  fault.args.push_back(owner == &thread ? "this thread"
                                        : absl::StrFormat("thread %s", toString(owner->id)));
  fault.notes.push_back({copy->inst->op->loc(), "the copy is issued here"});
  launch_.faults.add(blockIndex_, std::move(fault));
}

}  // namespace mtlc::interp
