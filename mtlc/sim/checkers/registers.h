// The registers that an instruction reads and writes, for checkers.

#ifndef MTLC_SIM_CHECKERS_REGISTERS_H_
#define MTLC_SIM_CHECKERS_REGISTERS_H_

#include <algorithm>

#include "mtlc/sim/checkers/unwritten.h"
#include "mtlc/sim/program.h"

namespace mtlc::sim {

inline constexpr Ref kCarry = makeRef(File::frame, Bank::pred, 0);

// An atomic of several elements: destinations, values, and what they are compared with.
template <typename Use>
void atomicValues(const Program& p, const Instr& in, Use use) {
  // Only a compare-and-swap of 16 bytes has the third part; another's is at worst one too many.
  size_t parts = in.size == 8 && in.count == 2 ? 3 : 2;
  size_t end = std::min(p.operandLists.size(), in.ext + parts * in.count);
  for (size_t e = size_t{in.ext} + in.count; e < end; ++e) use(p.operandLists[e]);
}

inline bool readsCarry(Family f) {
  return f == Family::addCarryIn || f == Family::subCarryIn || f == Family::madCarryIn;
}
inline bool writesCarry(Family f) {
  return readsCarry(f) || f == Family::addCarry || f == Family::subCarry || f == Family::madCarry;
}

// Calls use(ref) for what `in`, of function `f`, reads, then define(ref) for what it writes;
// kNoRef, constants and special registers may be among them.
template <typename Use, typename Define>
void eachRegister(const Program& p, const ProgramFunction& f, const Instr& in, Use use,
                  Define define) {
  if (in.op == Op::nop || in.op == Op::join) return;
  use(in.guard);
  switch (in.op) {
    case Op::lane:
    case Op::collective: {
      for (Ref r : in.src) use(r);
      Family family = instructionTable()[in.row].family;
      bool move = (in.flags & kMove) != 0;
      if (move && isUnpack(static_cast<MoveKind>(in.size))) {
        const Ref* refs = p.operandLists.data() + in.ext;
        for (unsigned e = 0; e < unpackCount(static_cast<MoveKind>(in.size)); ++e) define(refs[e]);
      } else if (!move && in.ext != kNoRef && refBank(in.ext) == Bank::pred) {
        define(in.ext);
      }
      if (!move && readsCarry(family)) use(kCarry);
      if (!move && writesCarry(family)) define(kCarry);
      define(in.dst);
      return;
    }
    case Op::matrix: {
      const MatrixSite& m = p.matrices[in.ext];
      for (unsigned e = 0; e < kMatrixLanes; ++e) use(in.src[e]);
      auto registers = [&](const Fragment& fragment, auto what) {
        for (unsigned e = 0; e < fragment.registers; ++e) {
          what(p.operandLists[fragment.first + e]);
        }
      };
      for (const Fragment* fragment : {&m.a, &m.b, &m.c}) registers(*fragment, use);
      if (!m.parts.empty()) use(p.operandLists[m.stride]);
      if (m.metadata != nullptr) use(p.operandLists[m.metadataRegister]);
      if (m.scales != 0) {
        for (const ScaleOperands* o : {&m.scaleA, &m.scaleB}) {
          for (uint32_t e : {o->data, o->byteId, o->threadId}) use(p.operandLists[e]);
        }
      }
      registers(m.d, define);
      return;
    }
    case Op::memory: {
      for (Ref r : in.src) use(r);
      Family family = instructionTable()[in.row].family;
      if (in.count > 1) {
        bool atomic = family == Family::atom || family == Family::red;
        if (atomic) atomicValues(p, in, use);
        const Ref* refs = p.operandLists.data() + in.ext;
        for (unsigned e = 0; e < in.count; ++e) {
          if (family == Family::st) {
            use(refs[e]);
          } else {
            define(refs[e]);
          }
        }
      }
      define(in.dst);
      return;
    }
    case Op::branchTable:
      use(in.src[0]);
      return;
    case Op::async:
      for (Ref r : p.asyncs[in.ext].reads) use(r);
      for (Ref r : p.asyncs[in.ext].values) use(r);
      define(in.dst);
      return;
    case Op::call: {
      const CallSite& site = p.calls[in.ext];
      use(site.callee);
      for (const CallValue& v : site.arguments) use(v.ref);
      for (const CallValue& v : site.results) define(v.ref);
      return;
    }
    case Op::ret:
      for (const FormalValue& v : f.results) use(v.ref);
      return;
    case Op::group: {
      const GroupSite& site = p.groups[in.ext];
      for (Ref r : site.index) use(r);
      for (Ref r : site.values) use(r);
      for (Ref r : site.results) define(r);
      return;
    }
    case Op::barrier: {
      const BarrierSite& site = p.barriers[in.ext];
      use(site.id);
      use(site.count);
      use(site.predicate);
      define(in.dst);
      return;
    }
    default:
      return;
  }
}

}  // namespace mtlc::sim

#endif  // MTLC_SIM_CHECKERS_REGISTERS_H_
