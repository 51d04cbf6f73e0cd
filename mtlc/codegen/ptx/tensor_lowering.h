// Instruction selection for tiles: tensor.acc.begin, .mma, .epilogue and .commit (docs/ir.md §11)
// in the forms of tensor_forms.h. A tile is a grid of native accumulators in registers;
// lower_tensor.cc has the operations, lower_fragments.cc the loads of A and B.

#ifndef MTLC_CODEGEN_PTX_TENSOR_LOWERING_H_
#define MTLC_CODEGEN_PTX_TENSOR_LOWERING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/analysis/tile_regions.h"
#include "mtlc/analysis/tiles.h"
#include "mtlc/codegen/ptx/lowering.h"
#include "mtlc/codegen/ptx/tensor_forms.h"

namespace mtlc::ptx {

class TensorLowering {
 public:
  explicit TensorLowering(FunctionLowering& lowering) : f_(lowering) {}

  // Chooses the forms of the function's tiles. Operations that cannot be emitted are reported; then
  // nothing else may be called.
  bool prepare(ir::Function& function, DiagnosticEngine& diags);
  // True if lane coordinates are needed: some form is not wmma.
  bool usesLanes() const { return usesLanes_; }
  // True if this tensor.acc.commit writes what other lanes hold: 16 bits in workgroup memory, by
  // stmatrix.
  bool storesMatrices(const ir::Operation& commit) const;
  // In the entry block.
  void computeLanes();
  const analysis::TileRegions& regions() const { return *regions_; }
  const analysis::Tiles& homes() const { return *tiles_; }

  void need(ir::Operation& op);
  void lower(ir::Operation& op);
  // The registers of a tile, in the order of native accumulators, row by row.
  std::span<const Opnd> parts(const ir::Value* tile) const;
  // Makes the registers of a block argument.
  std::span<const Opnd> makeArg(const ir::Value* tile);

 private:
  // How the tiles of a region lie in registers.
  struct Region {
    AccLayout layout = AccLayout::M16N8;
    bool wmma = false;
    std::string shape;  // Wmma: of loads and stores.
    ElementFormat format = ElementFormat::F32;
    ElementFormat stored = ElementFormat::F32;  // Of the home.
    bool narrow() const { return stored != format; }
    uint32_t m = 0, n = 0;        // Of one native accumulator.
    uint32_t rows = 0, cols = 0;  // Native accumulators in the tile.
    uint32_t registers = 0;       // Of one native accumulator.
    RegClass cls = RegClass::F32;
    TensorUse use;
  };

  // A matrix in memory. Lines are rows of a row-major matrix, columns of a column-major one;
  // elements of a line are contiguous.
  struct Matrix {
    StateSpace space = StateSpace::Generic;
    bool narrow = false;  // Addresses of 32 bits.
    Opnd base;            // A register or an array.
    int64_t offset = 0;
    uint32_t bits = 32;        // Distance of elements in a line.
    uint64_t strideBytes = 0;  // Distance of lines; 0 where `stride` has it, as wide as addresses.
    Opnd stride;
    Opnd leading;  // In elements, 32 bits.
  };
  struct Pointer {
    Opnd base;
    int32_t offset;
  };
  // A matrix as a lane accesses it: at line `line` and `contiguous` bytes into it, both made of the
  // lane's number, plus constants.
  struct LaneView {
    const Matrix* matrix = nullptr;
    Opnd pointer;
    std::vector<std::pair<int64_t, Opnd>> lines;  // Pointers to further lines.
  };

  Matrix matrix(const ir::Value* pointer, uint32_t bits, uint32_t leading,
                const ir::Value* leadingValue);
  // `line` and `contiguous` may be none.
  LaneView view(const Matrix& matrix, Opnd line, Opnd contiguous, uint32_t contiguousBytes);
  Pointer at(LaneView& view, int64_t line, int64_t contiguousBytes);
  // Of element 0 of a line.
  Pointer lineAt(const Matrix& matrix, int64_t line, int64_t contiguousBytes);
  Pointer displaced(const Matrix& matrix, Opnd base, int64_t offset);
  Opnd baseRegister(const Matrix& matrix);

  Opnd loadScalar(const Matrix& m, Pointer p, PtxType type, RegClass cls);
  std::vector<Opnd> loadVector(const Matrix& m, Pointer p, RegClass cls, uint32_t count);
  void storeScalar(const Matrix& m, Pointer p, PtxType type, Opnd value);
  void storeVector(const Matrix& m, Pointer p, RegClass cls, std::span<const Opnd> values);

  // ---- Operations (lower_tensor.cc) ----
  const Region& regionOf(const ir::Value* tile) const;
  // The same places with two stored elements in a register.
  static Region packed(const Region& region);
  void lowerBegin(ir::Operation& op);
  void lowerMma(ir::Operation& op);
  void lowerEpilogue(ir::Operation& op);
  void lowerCommit(ir::Operation& op);
  void loadAccumulators(const Region& region, const Matrix& c, ir::Layout layout,
                        std::vector<Opnd>& parts);
  void storeAccumulators(const Region& region, const Matrix& d, ir::Layout layout,
                         std::span<const Opnd> parts);
  void storeMatrices(const Region& region, const Matrix& d, ir::Layout layout,
                     std::span<const Opnd> parts);
  std::string wmmaAccess(std::string_view what, const Region& region, const Matrix& m,
                         ir::Layout layout);
  void define(const ir::Value* tile, std::span<const Opnd> parts);

  // ---- A and B (lower_fragments.cc) ----
  struct Operand {
    bool isA = false;
    ElementFormat format = ElementFormat::F16;
    ir::Layout layout = ir::Layout::Row;  // Of logical coordinates.
    Matrix matrix;
    const FragmentShape* shape = nullptr;
    bool alongK = false;
    bool ldmatrix = false;
    bool paired = false;  // The two steps along K of a native product are loaded together.
    uint32_t registers = 0;
    uint32_t tileMajor = 0;  // Rows of A or columns of B in one native product.
    uint32_t tileK = 0;      // Stored values along K in one.
    LaneView view, upper;    // `upper`: the second word of values of 6 bits.
    Opnd shift;              // Of the same.
    // Scales and sparse A.
    ir::ScaleMode scale = ir::ScaleMode::None;
    ElementFormat scaleFormat = ElementFormat::UE8M0;
    uint32_t scaleBlocks = 0;  // In one native product.
    Matrix scaleMatrix;
    LaneView scaleView;
    Opnd scaleConstant;
    Matrix maskMatrix;
    LaneView maskView;
    Opnd maskTable;
  };
  void setUpOperand(Operand& operand, const ir::Operation& op, const TensorFormRow& row);
  void setUpLdmatrix(Operand& operand);
  bool loadsPairs(const ir::Operation& op, const TensorFormRow& row) const;
  std::vector<Opnd> loadPairs(Operand& operand, uint32_t major, uint32_t step);
  void setUpScale(Operand& operand, const ir::Operation& op, const TensorFormRow& row);
  void setUpMasks(Operand& operand, const ir::Operation& op, const TensorFormRow& row);
  std::vector<Opnd> loadFragment(Operand& operand, const TensorFormRow& row, uint32_t major,
                                 uint32_t step);
  std::vector<Opnd> loadWmma(Operand& operand, const TensorFormRow& row, uint32_t major,
                             uint32_t step);
  std::vector<Opnd> loadLdmatrix(Operand& operand, uint32_t major, uint32_t step);
  std::vector<Opnd> loadWords(Operand& operand, uint32_t major, uint32_t step);
  std::vector<Opnd> loadElements(Operand& operand, uint32_t major, uint32_t step);
  // A loaded register as the instruction wants it.
  Opnd adjusted(const Operand& operand, Opnd word);
  Opnd loadScale(Operand& operand, uint32_t major, uint32_t step);
  Opnd loadMasks(Operand& operand, uint32_t major, uint32_t step);

  // Emission.
  Opnd imm(uint64_t bits) { return f_.imm(bits); }
  Opnd b32(MachineOp op, std::initializer_list<Opnd> sources) {
    return f_.emit(op, PtxType::B32, RegClass::B32, sources);
  }
  Opnd s32(MachineOp op, std::initializer_list<Opnd> sources) {
    return f_.emit(op, PtxType::S32, RegClass::B32, sources);
  }
  Opnd u32(MachineOp op, std::initializer_list<Opnd> sources) {
    return f_.emit(op, PtxType::U32, RegClass::B32, sources);
  }
  Opnd pack16(Opnd low, Opnd high);
  std::array<Opnd, 2> unpack16(Opnd word);
  // Two f32, rounded to f16 or bf16.
  Opnd roundPair(ElementFormat format, Opnd low, Opnd high);
  Opnd packBytes(const Opnd* bytes);  // Four of them.
  Opnd packNibbles(Opnd low, Opnd high);

  FunctionLowering& f_;
  bool usesLanes_ = false;
  Opnd group_, inGroup_;  // lane / 4, lane % 4
  std::unique_ptr<analysis::TileRegions> regions_;
  std::unique_ptr<analysis::Tiles> tiles_;
  std::vector<Region> info_;  // By region.
  struct Parts {
    uint32_t first, count;
  };
  absl::flat_hash_map<const ir::Value*, Parts> byTile_;
  std::vector<Opnd> parts_;
};

}  // namespace mtlc::ptx

#endif  // MTLC_CODEGEN_PTX_TENSOR_LOWERING_H_
