#include "mtlc/codegen/spirv/spirv_target.h"

#include <cstring>
#include <optional>

#include "mtlc/codegen/spirv/spirv.h"
#include "mtlc/codegen/target.h"
#include "spirv-tools/libspirv.hpp"

namespace mtlc {

namespace {

class SpirvTarget : public Target {
 public:
  std::string_view name() const override { return "spirv"; }
  std::string_view description() const override { return "SPIR-V for OpenCL"; }
  bool accepts(std::string_view arch) const override { return arch.starts_with("spirv"); }

  std::vector<TargetListRow> architectures() const override {
    std::vector<TargetListRow> rows;
    for (const SpirvProfile& profile : spirvProfiles()) {
      rows.push_back({std::string(profile.name), std::string(profile.description)});
    }
    return rows;
  }
  std::vector<TargetListRow> features() const override { return {}; }

  std::optional<std::string> emit(ir::Module& module, const TargetOptions& options,
                                  DiagnosticEngine& diags) const override {
    const SpirvProfile* profile = resolveSpirvProfile(options.arch, diags);
    if (profile == nullptr) return std::nullopt;
    for (std::string_view attribute : options.attributes) {
      diags.report(DiagId::SpirvUnknownAttribute, {}, {attribute});
      return std::nullopt;
    }
    std::optional<std::vector<uint32_t>> words = emitSpirv(
        module, {profile, options.lineInfo, options.tensorReplay, options.remarks}, diags);
    if (!words) return std::nullopt;
    if (options.fileType == FileType::Asm) return disassembleSpirv(*words);
    std::string bytes(words->size() * 4, '\0');
    std::memcpy(bytes.data(), words->data(), bytes.size());
    return bytes;
  }
};

}  // namespace

std::string disassembleSpirv(const std::vector<uint32_t>& words) {
  std::string text;
  const spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  const uint32_t options =
      SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  if (!tools.Disassemble(words, &text, options)) text.clear();
  return text;
}

void registerSpirvTarget() {
  static const SpirvTarget target;
  registerTarget(&target);
}

}  // namespace mtlc
