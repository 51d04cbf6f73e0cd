#include "mtlc/ir/text_descriptor.h"

#include <array>
#include <charconv>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_format.h"
#include "mtlc/support/suggest.h"

namespace mtlc::ir {
namespace {

// Calls visit(name, member) for every field. D is the descriptor, maybe const.
template <typename D, typename Visit>
void visitMma(D& d, Visit visit) {
#define MMA_FIELD(member, text, kind) visit(text, d.member);
#include "mtlc/ir/descriptors.def"
}
template <typename D, typename Visit>
void visitEpilogue(D& d, Visit visit) {
#define EPILOGUE_FIELD(member, text, kind) visit(text, d.member);
#include "mtlc/ir/descriptors.def"
}
template <typename D, typename Visit>
void visitTransfer(D& d, Visit visit) {
#define TRANSFER_FIELD(member, text, kind) visit(text, d.member);
#define TRANSFER_ARRAY(member, text) visit(text, d.member);
#include "mtlc/ir/descriptors.def"
}

template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;

// ---- What a field is when nothing is written ----

// The operand formats of `d` are known; fills what follows from them.
void applyDefaults(MmaDesc& base, const MmaDesc& d) {
  base.m = d.m;
  base.n = d.n;
  base.k = d.k;
  base.b = d.a;
  base.result = d.acc;
  base.aPacking = defaultPacking(d.a);
  base.bPacking = defaultPacking(d.b);
}

// ---- Printing ----

class FieldPrinter {
 public:
  explicit FieldPrinter(std::string& out) : out_(out) {}

  void shape(std::string_view text) {
    out_ += text;
    first_ = false;
  }
  template <typename T>
  void field(std::string_view name, const T& value, unsigned rank = 0) {
    if (!first_) out_ += ", ";
    first_ = false;
    out_ += name;
    out_ += '=';
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, ElementFormat>) {
      out_ += elementInfo(value).name;
    } else if constexpr (std::is_enum_v<T>) {
      out_ += enumName(value);
    } else if constexpr (kIsArray<T>) {
      out_ += '[';
      for (unsigned i = 0; i < rank; ++i)
        absl::StrAppendFormat(&out_, "%s%d", i ? ", " : "", value[i]);
      out_ += ']';
    } else {
      absl::StrAppendFormat(&out_, "%d", value);
    }
  }

 private:
  std::string& out_;
  bool first_ = true;
};

// Prints the fields that differ from those of `base`, and those called as in `always`.
template <typename D, typename Visitor>
void printFields(FieldPrinter& printer, const D& d, const D& base,
                 std::initializer_list<std::string_view> always, unsigned rank, Visitor visitAll) {
  std::vector<const void*> baseFields;
  visitAll(base, [&](std::string_view, const auto& member) { baseFields.push_back(&member); });
  size_t i = 0;
  visitAll(d, [&](std::string_view name, const auto& member) {
    using T = std::remove_cvref_t<decltype(member)>;
    bool wanted = member != *static_cast<const T*>(baseFields[i++]);
    for (std::string_view a : always) wanted = wanted || a == name;
    if (wanted) printer.field(name, member, rank);
  });
}

// ---- Parsing ----

class FieldParser {
 public:
  FieldParser(Lexer& lexer, DiagnosticEngine& diags) : lexer_(lexer), diags_(diags) {}

  bool expected(std::string_view what) {
    diags_.report(DiagId::IrExpected, lexer_.peek().range, {what, describe(lexer_.peek())});
    return false;
  }
  bool accept(Tok kind) {
    if (lexer_.peek().kind != kind) return false;
    lexer_.take();
    return true;
  }

  template <typename T>
  bool value(T& out) {
    if constexpr (std::is_same_v<T, bool>) {
      if (word("true")) return out = true;
      if (!word("false")) return expected("true or false");
      out = false;
      return true;
    } else if constexpr (std::is_same_v<T, ElementFormat>) {
      const Token& t = lexer_.peek();
      std::optional<ElementFormat> f =
          t.kind == Tok::Word ? elementFormatFromName(t.text) : std::nullopt;
      if (!f) return expected("an element format such as f16, e4m3 or i8");
      out = *f;
      lexer_.take();
      return true;
    } else if constexpr (std::is_enum_v<T>) {
      std::span<const std::string_view> names = enumNames(T());
      for (size_t i = 0; i < names.size(); ++i) {
        if (word(names[i])) {
          out = static_cast<T>(i);
          return true;
        }
      }
      std::string all;
      for (std::string_view n : names)
        absl::StrAppendFormat(&all, "%s%s", all.empty() ? "" : " or ", n);
      return expected(all);
    } else if constexpr (kIsArray<T>) {
      if (!accept(Tok::LBracket)) return expected("'[' and one number for each dimension");
      unsigned i = 0;
      do {
        if (i == out.size()) return expected("']': there are at most 5 dimensions");
        if (!value(out[i++])) return false;
      } while (accept(Tok::Comma));
      return accept(Tok::RBracket) || expected("',' or ']'");
    } else {
      const Token& t = lexer_.peek();
      uint64_t v = 0;
      auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
      if (t.kind != Tok::Number || error != std::errc() || end != t.text.data() + t.text.size() ||
          v > std::numeric_limits<T>::max()) {
        return expected(sizeof(T) == 8 ? "a number" : "a number below 2^32");
      }
      out = static_cast<T>(v);
      lexer_.take();
      return true;
    }
  }

  // mMnN or mMnNkK
  bool shape(uint32_t* m, uint32_t* n, uint32_t* k) {
    const Token& t = lexer_.peek();
    std::string_view s = t.text;
    auto part = [&](char letter, uint32_t* out) {
      if (s.empty() || s[0] != letter) return false;
      auto [end, error] = std::from_chars(s.data() + 1, s.data() + s.size(), *out);
      if (error != std::errc()) return false;
      s.remove_prefix(static_cast<size_t>(end - s.data()));
      return true;
    };
    if (t.kind != Tok::Word || !part('m', m) || !part('n', n) || (k && !part('k', k)) ||
        !s.empty()) {
      return expected(k ? "a shape such as m16n16k16" : "a shape such as m16n16");
    }
    lexer_.take();
    return true;
  }

  // ', name=value' … '}'. `given` gets a bit for each field, by its position.
  template <typename D, typename Visitor>
  bool fields(D& d, bool first, uint64_t& given, Visitor visitAll) {
    for (;;) {
      if (accept(Tok::RBrace)) return true;
      if (!first && !accept(Tok::Comma)) return expected("',' or '}'");
      first = false;
      if (lexer_.peek().kind != Tok::Word) return expected("a field of the descriptor");
      Token name = lexer_.take();
      if (!accept(Tok::Equal)) return expected("'='");
      bool known = false, good = true;
      unsigned i = 0;
      std::vector<std::string_view> names;
      visitAll(d, [&](std::string_view field, auto& member) {
        names.push_back(field);
        if (!known && field == name.text) {
          known = true;
          if (given >> i & 1) {
            diags_.report(DiagId::IrRedefinition, name.range, {field});
            good = false;
          } else {
            given |= uint64_t{1} << i;
            good = value(member);
          }
        }
        ++i;
      });
      if (!known) {
        std::string_view near = nearestSpelling(name.text, names);
        diags_.report(
            DiagId::IrExpected, name.range,
            {near.empty() ? std::string("a field of the descriptor")
                          : absl::StrFormat("a field of the descriptor, maybe '%s'", near),
             describe(name)});
        return false;
      }
      if (!good) return false;
    }
  }

 private:
  bool word(std::string_view text) {
    if (lexer_.peek().kind != Tok::Word || lexer_.peek().text != text) return false;
    lexer_.take();
    return true;
  }

  Lexer& lexer_;
  DiagnosticEngine& diags_;
};

// The position of a field for `given`.
template <typename D, typename Visitor>
uint64_t fieldBit(std::string_view name, Visitor visitAll) {
  D d;
  uint64_t bit = 0;
  unsigned i = 0;
  visitAll(d, [&](std::string_view field, auto&) {
    if (field == name) bit = uint64_t{1} << i;
    ++i;
  });
  return bit;
}

constexpr auto kVisitMma = [](auto& d, auto visit) { visitMma(d, visit); };
constexpr auto kVisitEpilogue = [](auto& d, auto visit) { visitEpilogue(d, visit); };
constexpr auto kVisitTransfer = [](auto& d, auto visit) { visitTransfer(d, visit); };

}  // namespace

void printDescriptor(std::string& out, const MmaDesc& d, MmaUse use, SlotSet slots) {
  MmaDesc base;
  if (use == MmaUse::AccBegin) {
    base.m = d.m;
    base.n = d.n;
    base.result = d.acc;
  } else {
    applyDefaults(base, d);
  }
  if (use != MmaUse::Matmul) {
    MmaDesc dense = d;
    dense.lda = dense.ldb = dense.ldc = dense.ldd = dense.ldsa = dense.ldsb = 0;
    setDenseLeading(dense, slots);
    dense = normalizedFor(use, dense);
    base.lda = dense.lda;
    base.ldb = dense.ldb;
    base.ldc = dense.ldc;
    base.ldd = dense.ldd;
    base.ldsa = dense.ldsa;
    base.ldsb = dense.ldsb;
  }
  out += '{';
  FieldPrinter printer(out);
  if (use == MmaUse::AccBegin) {
    printer.shape(absl::StrFormat("m%dn%d", d.m, d.n));
    printFields(printer, d, base, {"acc"}, 0, kVisitMma);
  } else {
    printer.shape(absl::StrFormat("m%dn%dk%d", d.m, d.n, d.k));
    printFields(printer, d, base, {"a", "acc"}, 0, kVisitMma);
  }
  out += '}';
}

bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, MmaDesc& d, MmaUse use, SlotSet slots) {
  FieldParser parser(lexer, diags);
  if (!parser.accept(Tok::LBrace)) return parser.expected("'{' and a descriptor");
  const bool begin = use == MmaUse::AccBegin;
  if (!parser.shape(&d.m, &d.n, begin ? nullptr : &d.k)) return false;
  uint64_t given = 0;
  if (!parser.fields(d, false, given, kVisitMma)) return false;
  auto isGiven = [&](std::string_view name) {
    return (given & fieldBit<MmaDesc>(name, kVisitMma)) != 0;
  };
  if (!isGiven("result")) d.result = d.acc;
  if (!begin) {
    if (!isGiven("b")) d.b = d.a;
    if (!isGiven("packing_a")) d.aPacking = defaultPacking(d.a);
    if (!isGiven("packing_b")) d.bPacking = defaultPacking(d.b);
  }
  if (use != MmaUse::Matmul) {
    MmaDesc dense = d;
    setDenseLeading(dense, slots);
    // Only what this use looks at: the rest stays as written, for the verifier.
    dense = normalizedFor(use, dense);
    if (d.lda == 0) d.lda = dense.lda;
    if (d.ldb == 0) d.ldb = dense.ldb;
    if (d.ldc == 0) d.ldc = dense.ldc;
    if (d.ldd == 0) d.ldd = dense.ldd;
    if (d.ldsa == 0) d.ldsa = dense.ldsa;
    if (d.ldsb == 0) d.ldsb = dense.ldsb;
  }
  return true;
}

void printDescriptor(std::string& out, const EpilogueDesc& d, bool inTile, SlotSet slots) {
  EpilogueDesc base;
  base.m = d.m;
  base.n = d.n;
  EpilogueDesc dense = d;
  dense.ldd = dense.ldbias = 0;
  setDenseLeading(dense, slots);
  base.ldd = inTile ? 0 : dense.ldd;
  base.ldbias = dense.ldbias;
  out += '{';
  FieldPrinter printer(out);
  printer.shape(absl::StrFormat("m%dn%d", d.m, d.n));
  printFields(printer, d, base, {"element"}, 0, kVisitEpilogue);
  out += '}';
}

bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, EpilogueDesc& d, bool inTile,
                     SlotSet slots) {
  FieldParser parser(lexer, diags);
  if (!parser.accept(Tok::LBrace)) return parser.expected("'{' and a descriptor");
  uint64_t given = 0;
  if (!parser.shape(&d.m, &d.n, nullptr) || !parser.fields(d, false, given, kVisitEpilogue)) {
    return false;
  }
  EpilogueDesc dense = d;
  setDenseLeading(dense, slots);
  if (!inTile) d.ldd = dense.ldd;
  d.ldbias = dense.ldbias;
  return true;
}

void printDescriptor(std::string& out, const TransferDesc& d) {
  TransferDesc base;
  base.packing = defaultPacking(d.element);
  base.stride[0] = d.packing == Packing::Dense ? 0 : elementInfo(d.element).bytes;
  out += '{';
  FieldPrinter printer(out);
  printFields(printer, d, base, {"direction", "element", "tile"}, d.rank, kVisitTransfer);
  out += '}';
}

bool parseDescriptor(Lexer& lexer, DiagnosticEngine& diags, TransferDesc& d) {
  FieldParser parser(lexer, diags);
  if (!parser.accept(Tok::LBrace)) return parser.expected("'{' and a descriptor");
  uint64_t given = 0;
  SourceRange start = lexer.peek().range;
  if (!parser.fields(d, true, given, kVisitTransfer)) return false;
  auto isGiven = [&](std::string_view name) {
    return (given & fieldBit<TransferDesc>(name, kVisitTransfer)) != 0;
  };
  if (!isGiven("tile")) {
    diags.report(DiagId::IrExpected, start, {"tile=[…] in the descriptor", "none"});
    return false;
  }
  d.rank = 0;
  while (d.rank < kMaxRank && d.tile[d.rank] != 0) ++d.rank;
  if (!isGiven("packing")) d.packing = defaultPacking(d.element);
  if (!isGiven("stride")) {
    d.stride[0] = d.packing == Packing::Dense ? 0 : elementInfo(d.element).bytes;
  }
  return true;
}

}  // namespace mtlc::ir
