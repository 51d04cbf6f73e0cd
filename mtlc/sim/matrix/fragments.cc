#include "mtlc/sim/matrix/fragments.h"

#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

namespace mtlc::sim {
namespace {

constexpr unsigned kWarp = 32;

constexpr FragmentRow kRows[] = {
#define SIM_FRAGMENT(operand, sparse, m, n, k, bits, count, rowOf, columnOf)              \
  {{FragmentOperand::operand, sparse, m, n, k, bits},                                     \
   count,                                                                                 \
   []([[maybe_unused]] unsigned lane, [[maybe_unused]] unsigned i) {                      \
     [[maybe_unused]] unsigned g = lane / 4, t = lane % 4, q = lane / 4 % 4;              \
     return FragmentPlace{static_cast<uint16_t>(rowOf), static_cast<uint16_t>(columnOf)}; \
   }},
#include "mtlc/sim/matrix/fragments.def"
};

struct MetadataRow {
  uint16_t k;
  uint8_t bits;
  uint8_t selectors;
  MetadataPlace (*at)(unsigned row, unsigned chunk, unsigned sel);
};
constexpr MetadataRow kMetadata[] = {
#define SIM_METADATA(k, bits, selectors, laneOf, lsbOf)                               \
  {k, bits, selectors,                                                                \
   []([[maybe_unused]] unsigned row, unsigned chunk, [[maybe_unused]] unsigned sel) { \
     [[maybe_unused]] unsigned h = row / 8, g = row % 8;                              \
                                                                                      \
     return MetadataPlace{static_cast<uint8_t>(laneOf), static_cast<uint8_t>(lsbOf)}; \
   }},
#include "mtlc/sim/matrix/fragments.def"
};

const FragmentRow* find(const FragmentKey& key) {
  for (const FragmentRow& r : kRows) {
    if (r.key.operand != key.operand || r.key.m != key.m || r.key.n != key.n) continue;
    bool any = r.key.bits == 0 && r.key.k == 0;
    if (any || (r.key.sparse == key.sparse && r.key.k == key.k && r.key.bits == key.bits))
      return &r;
  }
  return nullptr;
}

// Tables by what they depend on; a map does not move its elements.
template <typename Key, typename Value, typename Make>
const std::vector<Value>& cached(const Key& key, Make make) {
  static std::mutex* mutex = new std::mutex;
  static auto* tables = new std::map<Key, std::vector<Value>>;
  std::lock_guard lock(*mutex);
  auto [it, added] = tables->try_emplace(key);
  if (added) it->second = make();
  return it->second;
}

}  // namespace

std::span<const FragmentRow> fragmentRows() { return kRows; }

unsigned containerBits(Element e, bool packed) {
  switch (e) {
    case Element::f64:
      return 64;
    case Element::tf32:
    case Element::f32:
    case Element::s32:
      return 32;
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::e2m1:
      return packed ? 4 : 8;
    case Element::s4:
    case Element::u4:
      return 4;
    case Element::b1:
      return 1;
    case Element::none:
      return 0;
    default:
      return 8;
  }
}

Fragment fragmentOf(const FragmentKey& key, Element element, unsigned registerBits) {
  Fragment f;
  const FragmentRow* row = find(key);
  if (row == nullptr) return f;
  bool acc = key.operand == FragmentOperand::c;
  unsigned bits = acc ? containerBits(element, false) : key.bits;
  f.element = element;
  f.perRegister = static_cast<uint8_t>(registerBits / bits);
  f.registers = static_cast<uint8_t>(row->count / f.perRegister);
  f.wide = registerBits == 64;
  unsigned quads = key.m == 8 && key.n == 8 && key.k == 4 && key.bits != 64 ? 4 : 1;
  switch (key.operand) {
    case FragmentOperand::a:
    case FragmentOperand::rowA:
    case FragmentOperand::columnA:
      f.rows = static_cast<uint16_t>(key.m * quads);
      f.columns = key.sparse ? key.k / 2 : key.k;
      break;
    case FragmentOperand::b:
    case FragmentOperand::rowB:
    case FragmentOperand::columnB:
      f.rows = key.k;
      f.columns = static_cast<uint16_t>(key.n * quads);
      break;
    case FragmentOperand::c:
      f.rows = static_cast<uint16_t>(key.m * quads);
      f.columns = key.n;
      break;
  }
  // Bits travel in words: only the first element of each counts.
  unsigned step = bits == 1 ? 32 : 1;
  if (step != 1) f.perRegister = 1;
  if (step != 1 && acc == false) {
    (key.operand == FragmentOperand::a ? f.columns : f.rows) /= 32;
  }
  auto id = std::make_tuple(row - kRows, unsigned{f.perRegister});
  f.place = cached<decltype(id), uint16_t>(id, [&] {
              std::vector<uint16_t> place(size_t{f.rows} * f.columns);
              bool words = step != 1;
              for (unsigned lane = 0; lane < kWarp; ++lane) {
                for (unsigned i = 0; i < row->count; i += step) {
                  FragmentPlace p = row->at(lane, i);
                  unsigned r = p.row, c = p.column, e = i / step;
                  if (words) (key.operand == FragmentOperand::a ? c : r) /= 32;
                  place[r * f.columns + c] = static_cast<uint16_t>(
                      (e / f.perRegister * kWarp + lane) * f.perRegister + e % f.perRegister);
                }
              }
              return place;
            }).data();
  return f;
}

FragmentPlace opaquePlace(unsigned rows, unsigned columns, bool byRows, unsigned perLane,
                          unsigned lane, unsigned i) {
  unsigned p = (lane * perLane + i) % (rows * columns);
  FragmentPlace at;
  at.row = static_cast<uint16_t>(byRows ? p / columns : p % rows);
  at.column = static_cast<uint16_t>(byRows ? p % columns : p / rows);
  return at;
}

Fragment opaqueFragment(Element element, unsigned rows, unsigned columns, bool byRows,
                        unsigned registers) {
  Fragment f;
  f.element = element;
  f.wide = element == Element::f64;
  unsigned bits = containerBits(element, true);
  f.perRegister = static_cast<uint8_t>(bits == 1 ? 1 : (f.wide ? 64 : 32) / bits);
  f.registers = static_cast<uint8_t>(registers);
  if (bits == 1) (byRows ? columns : rows) /= 32;
  f.rows = static_cast<uint16_t>(rows);
  f.columns = static_cast<uint16_t>(columns);
  auto id = std::make_tuple(rows, columns, byRows, registers, unsigned{f.perRegister});
  f.place = cached<decltype(id), uint16_t>(id, [&] {
              std::vector<uint16_t> place(size_t{rows} * columns);
              unsigned perLane = registers * f.perRegister;
              for (unsigned lane = kWarp; lane-- > 0;) {
                for (unsigned i = perLane; i-- > 0;) {
                  FragmentPlace p = opaquePlace(rows, columns, byRows, perLane, lane, i);
                  place[p.row * columns + p.column] = static_cast<uint16_t>(
                      (i / f.perRegister * kWarp + lane) * f.perRegister + i % f.perRegister);
                }
              }
              return place;
            }).data();
  return f;
}

const MetadataPlace* metadataOf(unsigned k, unsigned bits, unsigned chunks, unsigned& selectors) {
  for (const MetadataRow& row : kMetadata) {
    if (row.k != k || row.bits != bits) continue;
    selectors = row.selectors;
    auto id = std::make_tuple(k, bits);
    return cached<decltype(id), MetadataPlace>(id,
                                               [&] {
                                                 std::vector<MetadataPlace> out;
                                                 for (unsigned sel = 0; sel < row.selectors;
                                                      ++sel) {
                                                   for (unsigned r = 0; r < 16; ++r) {
                                                     for (unsigned c = 0; c < chunks; ++c)
                                                       out.push_back(row.at(r, c, sel));
                                                   }
                                                 }
                                                 return out;
                                               })
        .data();
  }
  return nullptr;
}

#define SIM_SCALES(operand, laneOf, byteOf)                                          \
  static ScalePlace scaleAt_##operand(unsigned row, unsigned block, unsigned byteId, \
                                      unsigned thread) {                             \
    return {static_cast<uint8_t>(laneOf), static_cast<uint8_t>(byteOf)};             \
  }
#include "mtlc/sim/matrix/fragments.def"

ScalePlace scalePlaceA(unsigned row, unsigned block, unsigned byteId, unsigned thread) {
  return scaleAt_a(row, block, byteId, thread);
}
ScalePlace scalePlaceB(unsigned row, unsigned block, unsigned byteId, unsigned thread) {
  return scaleAt_b(row, block, byteId, thread);
}

}  // namespace mtlc::sim
