// Ordinary accesses to a live mbarrier: its bytes are opaque until it is invalidated (PTX ISA
// 9.7.13.15.1).

#include "mtlc/sim/async.h"
#include "mtlc/sim/checkers/checkers.h"
#include "mtlc/sim/launch_state.h"

namespace mtlc::sim {
namespace {

class MbarrierAccessChecker : public Observer {
 public:
  void access(Warp& w, const Access& a) override {
    if (a.space != Space::shared || w.block->async == nullptr || a.in.op == Op::async) return;
    const AsyncState& async = *w.block->async;
    for (LaneMask m = a.mask; m != 0; m &= m - 1) {
      unsigned lane = static_cast<unsigned>(__builtin_ctz(m));
      uint64_t offset = a.offset(lane), end = offset + a.bytes;
      for (uint64_t at = offset / 8 * 8; at < end; at += 8) {
        if (async.mbarrier(static_cast<uint32_t>(at)) == nullptr) continue;
        static constexpr const char* kNames[] = {"load", "store", "atomic operation", "reduction"};
        reportCheck(w, a.in, lane, ReportKind::sync, DiagId::SimMbarrierAccess,
                    {kNames[static_cast<size_t>(a.kind)], a.bytes, hexText(offset)});
        return;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Observer> makeMbarrierAccessChecker() {
  return std::make_unique<MbarrierAccessChecker>();
}

}  // namespace mtlc::sim
