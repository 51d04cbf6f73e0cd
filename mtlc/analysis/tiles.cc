#include "mtlc/analysis/tiles.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mtlc/analysis/cfg.h"

namespace mtlc::analysis {
namespace {

// Pairs of a tile and a block that it is held through, in one function. Real ones stay far below.
constexpr uint64_t kMaxBlocksFollowed = 2'000'000;

bool accesses(const ir::Use& use) {
  const ir::Operation& op = *use.owner();
  switch (op.form()) {
    case ir::Form::Load:
    case ir::Form::AtomicLoad:
    case ir::Form::AtomicStore:
    case ir::Form::AtomicRmw:
    case ir::Form::AtomicCas:
      return use.index() == 0;
    case ir::Form::Store:
      return use.index() == 1;
    case ir::Form::AsyncCopy:
    case ir::Form::Mma:
    case ir::Form::Epilogue:
    case ir::Form::Transfer:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool sameHome(const ir::Operation& a, const ir::Operation& b) {
  if (&a == &b) return true;
  const ir::MmaDesc &x = a.mmaDesc(), &y = b.mmaDesc();
  return a.slot(ir::Slot::D) == b.slot(ir::Slot::D) &&
         a.slot(ir::Slot::Ldd) == b.slot(ir::Slot::Ldd) && x.ldd == y.ldd &&
         x.dLayout == y.dLayout && x.result == y.result && x.m == y.m && x.n == y.n;
}

struct Tiles::Solver {
  // Where a tile is held: in `block`, after `from` up to and with `to` (positions of operations).
  struct Range {
    uint32_t block;
    uint32_t from, to;
    const ir::Value* tile;
  };
  // The places of use of the current tile, in the order of the text.
  struct Place {
    uint32_t block;
    uint32_t position;
    const ir::Operation* op;
    friend bool operator<(const Place& a, const Place& b) {
      return std::pair(a.block, a.position) < std::pair(b.block, b.position);
    }
  };
  static constexpr uint32_t kEnd = ~0u;
  static constexpr uint32_t kBeforeAll = 0;  // Operations have positions from 1 on.

  Tiles& tiles;
  Cfg cfg;
  std::vector<const ir::Value*> values;
  std::vector<Range> ranges;
  std::vector<uint32_t> seenLive, seenBack;  // By block: number of the tile, plus 1.
  std::vector<Place> places;
  uint64_t budget = kMaxBlocksFollowed;
  bool gaveUp = false;
  uint32_t current = 0;
  bool reported = false;  // Of the current tile: one problem each is enough.

  Solver(Tiles& t, const ir::Function& f) : tiles(t), cfg(f) {}

  void run() {
    for (ir::Block* block : cfg.rpo()) {
      for (const ir::Value* arg : block->args()) {
        if (arg->type().isTile()) values.push_back(arg);
      }
      uint32_t position = 0;
      for (ir::Operation& op : block->ops()) {
        op.scratch = ++position;
        if (op.resultType().isTile()) values.push_back(op.result());
      }
    }
    if (values.empty()) return;
    tiles.any_ = true;
    seenLive.assign(cfg.size(), 0);
    seenBack.assign(cfg.size(), 0);
    for (const ir::Value* v : values) linear(v);
    findHomes();
    findTouches();
  }

  void report(TileProblem::Kind kind, const ir::Value* tile, const ir::Operation* op,
              const ir::Operation* other) {
    if (reported) return;
    reported = true;
    tiles.problems_.push_back({kind, tile, op, other});
  }

  // ---- Consumed exactly once ----

  static uint32_t definedAt(const ir::Value* v) {
    return v->isBlockArg() ? kBeforeAll : v->def()->scratch;
  }

  void findPlaces(const ir::Value* v) {
    places.clear();
    for (const ir::Use* u = v->firstUse(); u; u = u->next()) {
      const ir::Operation* op = u->owner();
      const uint32_t block = cfg.index(op->block());
      if (block != kNoNode) places.push_back({block, op->scratch, op});
    }
    std::sort(places.begin(), places.end());
  }
  std::span<const Place> placesIn(uint32_t block) const {
    auto first = std::lower_bound(places.begin(), places.end(), Place{block, 0, nullptr});
    auto last = first;
    while (last != places.end() && last->block == block) ++last;
    return {first, last};
  }

  // How often an edge passes the tile on.
  static unsigned passes(const ir::Operation& term, unsigned edge, const ir::Value* v) {
    const ir::Successor& s = term.successor(edge);
    unsigned n = 0;
    for (unsigned i = 0; i < s.argCount(); ++i) n += term.operand(s.firstArg() + i) == v;
    return n;
  }

  void linear(const ir::Value* v) {
    ++current;
    reported = false;
    const uint32_t home = cfg.index(v->block());
    // The usual case: one use, in the same block.
    if (v->hasOneUse()) {
      const ir::Operation* user = v->firstUse()->owner();
      if (user->block() == v->block() && !user->isTerminator()) {
        ranges.push_back({home, definedAt(v), user->scratch, v});
        return;
      }
    }
    if (gaveUp) return;
    findPlaces(v);
    std::vector<uint32_t> work;
    followLive(v, home, definedAt(v), work);
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (budget-- == 0) {
        report(TileProblem::Kind::TooFar, v, cfg.block(b)->front(), nullptr);
        gaveUp = true;
        return;
      }
      if (b == home) {
        // Around a loop to its own definition.
        report(TileProblem::Kind::NotConsumed, v, v->isBlockArg() ? nullptr : v->def(), nullptr);
        continue;
      }
      followLive(v, b, kBeforeAll, work);
    }
    for (const Place& p : places) {
      if (p.block != home) followBack(v, home, p);
    }
  }

  // The tile is held from `from` on in block b.
  void followLive(const ir::Value* v, uint32_t b, uint32_t from, std::vector<uint32_t>& work) {
    const ir::Block* block = cfg.block(b);
    const ir::Operation* first = nullptr;
    const ir::Operation* second = nullptr;
    for (const Place& p : placesIn(b)) {
      if (p.op->isTerminator() || p.position <= from) continue;
      if (!first) {
        first = p.op;
      } else {
        second = p.op;
        break;
      }
    }
    if (second) report(TileProblem::Kind::Twice, v, second, first);
    const ir::Operation* term = block->terminator();
    if (first) {
      ranges.push_back({b, from, first->scratch, v});
      for (unsigned e = 0; e < term->successorCount(); ++e) {
        if (passes(*term, e, v) > 0) report(TileProblem::Kind::Twice, v, term, first);
      }
      return;
    }
    ranges.push_back({b, from, kEnd, v});
    if (term->form() == ir::Form::Return) {
      report(TileProblem::Kind::NotConsumed, v, term, nullptr);
      return;
    }
    for (unsigned e = 0; e < term->successorCount(); ++e) {
      const unsigned n = passes(*term, e, v);
      if (n > 1) report(TileProblem::Kind::Twice, v, term, term);
      if (n > 0) continue;
      const uint32_t to = cfg.index(term->successor(e).block());
      if (seenLive[to] == current) continue;
      seenLive[to] = current;
      work.push_back(to);
    }
  }

  // No way from the definition to a use passes another one, which is all that can lie outside of
  // the blocks that followLive() went through.
  void followBack(const ir::Value* v, uint32_t home, const Place& use) {
    std::vector<uint32_t> work;
    auto enter = [&](uint32_t b) {
      if (b == home || seenBack[b] == current) return;
      seenBack[b] = current;
      work.push_back(b);
    };
    enter(use.block);
    while (!work.empty() && !reported) {
      const uint32_t b = work.back();
      work.pop_back();
      for (uint32_t from : cfg.preds(b)) {
        const ir::Operation* before = nullptr;
        for (const Place& p : placesIn(from)) {
          if (!p.op->isTerminator()) before = before ? before : p.op;
        }
        const ir::Operation* term = cfg.block(from)->terminator();
        for (unsigned e = 0; e < term->successorCount() && !before; ++e) {
          if (term->successor(e).block() == cfg.block(b) && passes(*term, e, v) > 0) before = term;
        }
        if (before || (from != home && seenLive[from] != current)) {
          report(TileProblem::Kind::Twice, v, use.op, before);
          return;
        }
        enter(from);
      }
    }
  }

  // ---- Homes ----

  void findHomes() {
    // Each value gets the home of what it is made from; a block argument that of all ways into the
    // block. Homes go along the chain, so a few rounds do; the number of rounds is bounded by the
    // nesting of loops.
    absl::flat_hash_map<const ir::Value*, const ir::Operation*>& homes = tiles.homes_;
    absl::flat_hash_map<const ir::Value*, bool> conflict;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::Value* v : values) {
        if (conflict.contains(v)) continue;
        auto set = [&](const ir::Operation* begin, const ir::Operation* via) {
          if (!begin) return;
          auto [it, isNew] = homes.try_emplace(v, begin);
          if (isNew) {
            changed = true;
          } else if (!sameHome(*it->second, *begin)) {
            reported = false;
            report(TileProblem::Kind::HomesDiffer, v, via, it->second);
            conflict.emplace(v, true);
          }
        };
        auto homeOf = [&](const ir::Value* from) {
          auto it = homes.find(from);
          return it == homes.end() ? nullptr : it->second;
        };
        if (!v->isBlockArg()) {
          const ir::Operation* def = v->def();
          if (def->opcode() == ir::Opcode::TensorAccBegin) {
            set(def, def);
          } else if (const ir::Value* tile = def->slot(ir::Slot::Tile)) {
            set(homeOf(tile), def);
          }
          continue;
        }
        for (uint32_t p : cfg.preds(cfg.index(v->argBlock()))) {
          const ir::Operation* from = cfg.block(p)->terminator();
          for (unsigned e = 0; e < from->successorCount(); ++e) {
            const ir::Successor& s = from->successor(e);
            if (s.block() == v->argBlock()) {
              set(homeOf(from->operand(s.firstArg() + v->argIndex())), from);
            }
          }
        }
      }
    }
    for (auto& [v, yes] : conflict) homes.erase(v);
  }

  void findTouches() {
    // Ranges by home pointer and block.
    absl::flat_hash_map<std::pair<const ir::Value*, uint32_t>, std::vector<Range>> held;
    std::vector<const ir::Value*> pointers;
    for (const Range& r : ranges) {
      const ir::Operation* begin = tiles.home(r.tile);
      if (!begin) continue;
      const ir::Value* pointer = begin->slot(ir::Slot::D);
      if (!pointer) continue;
      held[{pointer, r.block}].push_back(r);
      pointers.push_back(pointer);
    }
    for (auto& [key, list] : held) {
      std::sort(list.begin(), list.end(),
                [](const Range& a, const Range& b) { return a.from < b.from; });
      for (size_t i = 1; i < list.size(); ++i) {
        if (list[i - 1].to > list[i].to) {
          list[i].to = list[i - 1].to;
          list[i].tile = list[i - 1].tile;
        }
      }
    }
    std::sort(pointers.begin(), pointers.end());
    pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
    size_t before = tiles.problems_.size();
    for (const ir::Value* pointer : pointers) {
      for (const ir::Use* u = pointer->firstUse(); u; u = u->next()) {
        if (!accesses(*u) || !cfg.reachable(u->owner()->block())) continue;
        auto it = held.find({pointer, cfg.index(u->owner()->block())});
        if (it == held.end()) continue;
        // Of the ranges that begin before the access, the one that ends last.
        const uint32_t position = u->owner()->scratch;
        auto after = std::lower_bound(it->second.begin(), it->second.end(), position,
                                      [](const Range& r, uint32_t p) { return r.from < p; });
        if (after == it->second.begin()) continue;
        const Range& r = *std::prev(after);
        if (position > r.to) continue;
        reported = false;
        report(TileProblem::Kind::HomeTouched, r.tile, u->owner(), tiles.home(r.tile));
      }
    }
    // The pointers were sorted by address: bring what was found into the order of the text, each
    // operation once, however many of its operands are that home.
    auto first = tiles.problems_.begin() + static_cast<ptrdiff_t>(before);
    std::sort(first, tiles.problems_.end(), [&](const TileProblem& a, const TileProblem& b) {
      return std::pair(cfg.index(a.op->block()), a.op->scratch) <
             std::pair(cfg.index(b.op->block()), b.op->scratch);
    });
    tiles.problems_.erase(
        std::unique(first, tiles.problems_.end(),
                    [](const TileProblem& a, const TileProblem& b) { return a.op == b.op; }),
        tiles.problems_.end());
  }
};

Tiles::Tiles(const ir::Function& function) {
  if (!function.isDeclaration()) Solver(*this, function).run();
}

const ir::Operation* Tiles::home(const ir::Value* tile) const {
  auto it = homes_.find(tile);
  return it == homes_.end() ? nullptr : it->second;
}

std::string printTiles(const ir::Function& function) {
  const Tiles tiles(function);
  std::string out;
  if (!tiles.any()) return out;
  auto nameOf = [](const ir::Value* v) {
    return absl::StrCat("%", v->name().empty() ? "?" : std::string(v->name()));
  };
  auto line = [&](const ir::Value* v) {
    if (!v->type().isTile()) return;
    const ir::Operation* home = tiles.home(v);
    absl::StrAppend(&out, "  ", nameOf(v), ": ", ir::typeName(v->type()), " home ",
                    home ? nameOf(home->slot(ir::Slot::D)) : "unknown", "\n");
  };
  for (const ir::Block& block : function.blocks()) {
    for (const ir::Value* arg : block.args()) line(arg);
    for (const ir::Operation& op : block.ops()) {
      if (op.result()) line(op.result());
    }
  }
  return out;
}

}  // namespace mtlc::analysis
