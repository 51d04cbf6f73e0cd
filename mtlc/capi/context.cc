// mtlc/context.h, mtlc/module.h, mtlc/pipeline.h

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_format.h"
#include "mtlc/analysis/device_verifier.h"
#include "mtlc/capi/internal.h"
#include "mtlc/codegen/ptx/ptx.h"
#include "mtlc/codegen/spirv/spirv.h"
#include "mtlc/ir/text.h"
#include "mtlc/ir/verifier.h"
#include "mtlc/support/file_io.h"
#include "mtlc/support/version.h"
#include "mtlc/transforms/pipeline.h"

namespace mtlc::capi {

int finish(MtlcContext* context, const DiagnosticEngine& diags, const SourceManager& sources) {
  const bool good = !diags.hasErrors();
  if (context != nullptr) context->error = good ? std::string() : renderHuman(diags, sources);
  return good ? 1 : 0;
}

int fail(MtlcContext* context, DiagId id, DiagArgs args) {
  SourceManager sources;
  DiagnosticEngine diags;
  diags.report(id, {}, args);
  return finish(context, diags, sources);
}

char* copyOut(std::string_view bytes, size_t* length) {
  char* out = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (out == nullptr) return nullptr;
  std::memcpy(out, bytes.data(), bytes.size());
  out[bytes.size()] = '\0';
  if (length != nullptr) *length = bytes.size();
  return out;
}

namespace {

int misuse(MtlcContext* context, std::string_view call, std::string_view what) {
  return fail(context, DiagId::CapiMisuse, {call, what, "docs/c-api.md has what each call takes"});
}

// To standard error; with `focus` only the lines about that file.
void showRemarks(std::string_view lines, const std::optional<std::string>& focus) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    if (!focus || line.starts_with(*focus + ":")) {
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
    lines.remove_prefix(end);
  }
}

std::optional<std::string> ptxOf(const MtlcContext& context, ir::Module& module,
                                 transforms::RemarkLog* remarks, DiagnosticEngine& diags) {
  const PtxVersion version{static_cast<uint8_t>(context.ptxMajor),
                           static_cast<uint8_t>(context.ptxMinor)};
  const std::optional<PtxProfile> profile = PtxProfile::resolve(context.ptxTarget, version, diags);
  if (!profile) return std::nullopt;
  return emitPtx(module,
                 {.profile = *profile,
                  .lineInfo = context.lineInfo != 0,
                  .tensorReplay = context.tensorReplay != 0,
                  .tensorTupleBudget = static_cast<unsigned>(context.tupleBudget),
                  .remarks = remarks},
                 diags);
}

std::optional<std::string> spirvOf(const MtlcContext& context, ir::Module& module,
                                   transforms::RemarkLog* remarks, DiagnosticEngine& diags) {
  const SpirvProfile* profile = resolveSpirvProfile(context.spirvTarget, diags);
  if (profile == nullptr) return std::nullopt;
  const std::optional<std::vector<uint32_t>> words =
      emitSpirv(module,
                {.profile = profile,
                 .lineInfo = context.lineInfo != 0,
                 .tensorReplay = context.tensorReplay != 0,
                 .remarks = remarks},
                diags);
  if (!words) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(words->data()), words->size() * 4);
}

// The artefact, or nothing after reporting.
std::optional<std::string> emit(MtlcContext* context, MtlcModule* module, MtlcArch arch,
                                std::string_view call) {
  if (module == nullptr || context == nullptr) {
    misuse(context, call, "the context or the module is NULL");
    return std::nullopt;
  }
  if (arch != MTLC_ARCH_PTX && arch != MTLC_ARCH_SPIRV) {
    fail(context, DiagId::CapiNotInBuild,
         {absl::StrFormat("code for %s", mtlc_arch_name(arch)),
          "this build emits MTLC_ARCH_PTX and MTLC_ARCH_SPIRV"});
    return std::nullopt;
  }
  DiagnosticEngine diags;
  std::optional<std::string> text;
  if (ir::verify(*module->ir, diags) && analysis::verifyForDevice(*module->ir, diags)) {
    transforms::RemarkLog remarks;
    transforms::RemarkLog* const log = context->explain != 0 ? &remarks : nullptr;
    text = arch == MTLC_ARCH_PTX ? ptxOf(*context, *module->ir, log, diags)
                                 : spirvOf(*context, *module->ir, log, diags);
    showRemarks(transforms::renderHuman(remarks, module->ir->sources()), context->explainFocus);
  }
  if (finish(context, diags, module->ir->sources()) == 0) return std::nullopt;
  return text;
}

}  // namespace
}  // namespace mtlc::capi

using mtlc::DiagId;
using mtlc::DiagnosticEngine;
using namespace mtlc::capi;  // NOLINT

extern "C" {

// ---- Context ----

MtlcContext* mtlc_context_create(void) { return new (std::nothrow) MtlcContext(); }
void mtlc_context_destroy(MtlcContext* context) { delete context; }

void mtlc_context_set_opt_level(MtlcContext* c, int level) {
  if (c != nullptr) c->optLevel = level;
}
int mtlc_context_opt_level(const MtlcContext* c) { return c != nullptr ? c->optLevel : 0; }
void mtlc_context_set_ml_opt(MtlcContext* c, int on) {
  if (c != nullptr) c->mlOpt = on;
}
int mtlc_context_ml_opt(const MtlcContext* c) { return c != nullptr ? c->mlOpt : 0; }
void mtlc_context_set_whole_program(MtlcContext* c, int on) {
  if (c != nullptr) c->wholeProgram = on;
}
int mtlc_context_whole_program(const MtlcContext* c) { return c != nullptr ? c->wholeProgram : 0; }
void mtlc_context_set_explain(MtlcContext* c, int on, const char* focus_file) {
  if (c == nullptr) return;
  c->explain = on;
  c->explainFocus.reset();
  if (focus_file != nullptr) c->explainFocus = focus_file;
}
int mtlc_context_explain(const MtlcContext* c) { return c != nullptr ? c->explain : 0; }
const char* mtlc_context_explain_focus_file(const MtlcContext* c) {
  return c != nullptr && c->explainFocus ? c->explainFocus->c_str() : nullptr;
}
void mtlc_context_set_line_info(MtlcContext* c, int on) {
  if (c != nullptr) c->lineInfo = on;
}
int mtlc_context_line_info(const MtlcContext* c) { return c != nullptr ? c->lineInfo : 0; }

int mtlc_context_set_ptx_target(MtlcContext* c, const char* target, int major, int minor) {
  if (c == nullptr) return 0;
  if (target == nullptr) return misuse(c, "mtlc_context_set_ptx_target", "the target is NULL");
  if (major < 0 || major > 99 || minor < 0 || minor > 9) {
    return misuse(c, "mtlc_context_set_ptx_target",
                  absl::StrFormat("there is no PTX version %d.%d", major, minor));
  }
  DiagnosticEngine diags;
  mtlc::SourceManager sources;
  std::optional<mtlc::PtxVersion> version;
  if (major != 0 || minor != 0) {
    version = mtlc::PtxVersion{static_cast<uint8_t>(major), static_cast<uint8_t>(minor)};
  }
  std::optional<mtlc::PtxProfile> profile = mtlc::PtxProfile::resolve(target, version, diags);
  if (profile) {
    c->ptxTarget = std::string(profile->target().name);
    c->ptxMajor = profile->version().major;
    c->ptxMinor = profile->version().minor;
  }
  return finish(c, diags, sources);
}
const char* mtlc_context_ptx_target(const MtlcContext* c) {
  return c != nullptr ? c->ptxTarget.c_str() : "";
}
int mtlc_context_ptx_isa_major(const MtlcContext* c) { return c != nullptr ? c->ptxMajor : 0; }
int mtlc_context_ptx_isa_minor(const MtlcContext* c) { return c != nullptr ? c->ptxMinor : 0; }
int mtlc_context_set_ptx_tensor_tuple_budget(MtlcContext* c, int tuples) {
  if (c == nullptr) return 0;
  if (tuples < 0) {
    return misuse(c, "mtlc_context_set_ptx_tensor_tuple_budget", "a budget is not negative");
  }
  c->tupleBudget = tuples;
  c->error.clear();
  return 1;
}
int mtlc_context_ptx_tensor_tuple_budget(const MtlcContext* c) {
  return c != nullptr ? c->tupleBudget : 0;
}

int mtlc_context_set_spirv_target(MtlcContext* c, const char* target) {
  if (c == nullptr) return 0;
  if (target == nullptr) return misuse(c, "mtlc_context_set_spirv_target", "the target is NULL");
  DiagnosticEngine diags;
  if (const mtlc::SpirvProfile* profile = mtlc::resolveSpirvProfile(target, diags)) {
    c->spirvTarget = std::string(profile->name);
  }
  return finish(c, diags, mtlc::SourceManager());
}
const char* mtlc_context_spirv_target(const MtlcContext* c) {
  return c != nullptr ? c->spirvTarget.c_str() : "";
}
void mtlc_context_set_tensor_replay(MtlcContext* c, int on) {
  if (c != nullptr) c->tensorReplay = on;
}
int mtlc_context_tensor_replay(const MtlcContext* c) { return c != nullptr ? c->tensorReplay : 0; }

const char* mtlc_context_error(const MtlcContext* c) {
  return c != nullptr ? c->error.c_str() : "";
}

const char* mtlc_version(void) {
  static const std::string version(mtlc::kVersion);
  return version.c_str();
}

// ---- Modules ----

MtlcModule* mtlc_module_adopt_ir(void* ir) {
  if (ir == nullptr) return nullptr;
  auto* module = new MtlcModule();
  module->ir.reset(static_cast<mtlc::ir::Module*>(ir));
  return module;
}
void* mtlc_module_ir(MtlcModule* m) { return m != nullptr ? m->ir.get() : nullptr; }
size_t mtlc_module_function_count(const MtlcModule* m) {
  if (m == nullptr) return 0;
  size_t n = 0;
  for (const mtlc::ir::Function& f : m->ir->functions()) {
    (void)f;
    ++n;
  }
  return n;
}
void mtlc_module_destroy(MtlcModule* m) { delete m; }
void mtlc_free(void* memory) { std::free(memory); }

MtlcModule* mtlc_module_from_text(MtlcContext* c, const char* name, const char* text,
                                  size_t length) {
  if (text == nullptr) {
    misuse(c, "mtlc_module_from_text", "the text is NULL");
    return nullptr;
  }
  auto module = std::make_unique<MtlcModule>();
  module->sources = std::make_unique<mtlc::SourceManager>();
  DiagnosticEngine diags;
  const mtlc::FileId file =
      module->sources->add(name != nullptr ? name : "<memory>", std::string(text, length));
  module->ir = mtlc::ir::parseModule(*module->sources, file, diags);
  if (module->ir != nullptr) mtlc::ir::verify(*module->ir, diags);
  return finish(c, diags, *module->sources) != 0 ? module.release() : nullptr;
}
char* mtlc_module_to_text(const MtlcModule* m, size_t* length) {
  if (m == nullptr) return nullptr;
  return copyOut(mtlc::ir::print(*m->ir), length);
}

// ---- Pipeline ----

int mtlc_verify(MtlcContext* c, MtlcModule* m) {
  if (m == nullptr) return misuse(c, "mtlc_verify", "the module is NULL");
  DiagnosticEngine diags;
  if (mtlc::ir::verify(*m->ir, diags)) mtlc::analysis::verifyForDevice(*m->ir, diags);
  return finish(c, diags, m->ir->sources());
}

int mtlc_optimize(MtlcContext* c, MtlcModule* m) {
  if (c == nullptr || m == nullptr) {
    return misuse(c, "mtlc_optimize", "the context or the module is NULL");
  }
  DiagnosticEngine diags;
  if (mtlc::ir::verify(*m->ir, diags)) {
    mtlc::transforms::RemarkLog remarks;
    mtlc::transforms::PipelineOptions options;
    if (c->explain != 0) options.remarks = &remarks;
    mtlc::transforms::runPipeline(
        *m->ir, c->optLevel > 0 ? mtlc::transforms::OptLevel::O : mtlc::transforms::OptLevel::O0,
        diags, options);
    if (c->explain != 0) {
      showRemarks(mtlc::transforms::renderHuman(remarks, m->ir->sources()), c->explainFocus);
    }
  }
  return finish(c, diags, m->ir->sources());
}

int mtlc_optimize_for(MtlcContext* c, MtlcModule* m, MtlcArch arch) {
  if (arch != MTLC_ARCH_PTX && arch != MTLC_ARCH_SPIRV) {
    return fail(c, DiagId::CapiNotInBuild,
                {absl::StrFormat("optimising for %s", mtlc_arch_name(arch)),
                 "this build optimises for MTLC_ARCH_PTX and MTLC_ARCH_SPIRV"});
  }
  return mtlc_optimize(c, m);
}

int mtlc_apply_ml_opt(MtlcContext* c, MtlcModule*, MtlcMlOptStats* stats) {
  if (stats != nullptr) *stats = MtlcMlOptStats{};
  return fail(c, DiagId::CapiNotInBuild,
              {"the learned optimiser", "mtlc_optimize() has the standard passes"});
}

int mtlc_emit_to_memory(MtlcContext* c, MtlcModule* m, MtlcArch arch, char** bytes,
                        size_t* length) {
  if (bytes == nullptr) return misuse(c, "mtlc_emit_to_memory", "there is no place for the bytes");
  std::optional<std::string> text = emit(c, m, arch, "mtlc_emit_to_memory");
  if (!text) return 0;
  *bytes = copyOut(*text, length);
  return *bytes != nullptr ? 1 : misuse(c, "mtlc_emit_to_memory", "there is no memory");
}

int mtlc_emit(MtlcContext* c, MtlcModule* m, MtlcArch arch, const char* path) {
  if (path == nullptr) return misuse(c, "mtlc_emit", "the path is NULL");
  std::optional<std::string> text = emit(c, m, arch, "mtlc_emit");
  if (!text) return 0;
  if (absl::Status status = mtlc::writeFile(path, *text); !status.ok()) {
    return fail(c, DiagId::CapiWriteFailed, {path, std::string(status.message())});
  }
  return 1;
}

int mtlc_emit_object(MtlcContext* c, MtlcModule*, const char*) {
  return fail(c, DiagId::CapiNotInBuild,
              {"code for the host", "mtlc_emit() writes PTX or SPIR-V for a host program to load"});
}
int mtlc_build_executable(MtlcContext* c, MtlcModule*, const char*) {
  return fail(
      c, DiagId::CapiNotInBuild,
      {"linking of host programs", "mtlc_emit() writes PTX or SPIR-V for a host program to load"});
}

}  // extern "C"
