// Parser of PTX modules (PTX ISA 4 to 5, 11).

#ifndef MTLC_SIM_PTX_PARSER_H_
#define MTLC_SIM_PTX_PARSER_H_

#include "mtlc/sim/ptx/ast.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::sim::ptx {

// Limits that keep hostile input bounded.
inline constexpr size_t kMaxNesting = 200;
inline constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 32;
inline constexpr size_t kMaxDimensions = 16;
inline constexpr uint32_t kMaxRegisterRange = 1u << 24;
inline constexpr size_t kMaxFileBytes = size_t{1} << 28;

// Parses the text of `file`. Reports what it refuses into `diags`, goes on behind the next `;` or
// `}`, and returns what it understood; the module is usable only when `diags` got no error. Names
// point into the text that `sources` owns.
Module parse(FileId file, const SourceManager& sources, DiagnosticEngine& diags);

}  // namespace mtlc::sim::ptx

#endif  // MTLC_SIM_PTX_PARSER_H_
