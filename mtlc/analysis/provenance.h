// Where pointers come from: the allocation or parameter that they derive from, and the memory they
// may point to.

#ifndef MTLC_ANALYSIS_PROVENANCE_H_
#define MTLC_ANALYSIS_PROVENANCE_H_

#include <memory>
#include <string>
#include <vector>

#include "mtlc/analysis/call_graph.h"
#include "mtlc/analysis/private_slots.h"

namespace mtlc::analysis {

// A set of address spaces that hold memory: never Generic.
class SpaceSet {
 public:
  constexpr SpaceSet() = default;
  // The memory that a pointer of the type's space may point to: one space, or for generic all but
  // constant memory.
  static constexpr SpaceSet of(ir::Space space) {
    SpaceSet s;
    s.bits_ = space == ir::Space::Generic
                  ? bit(ir::Space::Global) | bit(ir::Space::Workgroup) | bit(ir::Space::Private)
                  : bit(space);
    return s;
  }
  constexpr bool contains(ir::Space space) const { return (bits_ & bit(space)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool intersects(SpaceSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr void add(SpaceSet other) { bits_ |= other.bits_; }
  // The only member, if there is exactly one; else Generic.
  ir::Space only() const;
  std::string print() const;  // "global|private", "none"
  friend constexpr bool operator==(SpaceSet, SpaceSet) = default;

 private:
  static constexpr uint8_t bit(ir::Space space) {
    return static_cast<uint8_t>(1u << static_cast<uint8_t>(space));
  }
  uint8_t bits_ = 0;
};

struct Origin {
  enum class Kind : uint8_t {
    None,     // Null, or never executed: points to no object.
    Object,   // Derives from `base` alone: an allocation or a parameter.
    Several,  // From several of these.
    Unknown,  // From memory, an integer, or the result of a call.
  };
  Kind kind = Kind::None;
  const ir::Value* base = nullptr;  // Kind::Object.
  SpaceSet spaces;
  friend bool operator==(const Origin&, const Origin&) = default;
};

// Of all pointers of a module. A snapshot: valid until the module changes. Pointers are followed
// through ptr.add, casts between spaces, select, block arguments and variables in private memory. A
// generic parameter of a helper may point where the arguments of its calls from reachable functions
// do; without any such call, anywhere. Near-linear.
class Provenance {
 public:
  explicit Provenance(const ir::Module& module);
  ~Provenance();

  // `pointer` has pointer type. Unreachable code has origin None.
  Origin origin(const ir::Value* pointer) const;
  // False only if accesses through the pointers of one function never touch the same byte, whatever
  // the offsets: memory of different spaces, or different allocations, or an allocation and what
  // the caller passed. All views of the dynamic workgroup memory may alias; parameters may.
  bool mayAlias(const ir::Value* a, const ir::Value* b) const;

 private:
  struct FunctionState;
  void analyze(uint32_t function);

  CallGraph calls_;
  std::vector<std::unique_ptr<FunctionState>> states_;
};

// Every pointer value with its origin.
std::string printProvenance(const ir::Module& module);

}  // namespace mtlc::analysis

#endif  // MTLC_ANALYSIS_PROVENANCE_H_
