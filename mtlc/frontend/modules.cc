#include "mtlc/frontend/modules.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "mtlc/frontend/lexer.h"
#include "mtlc/frontend/parser.h"
#include "mtlc/frontend/stdlib.h"
#include "mtlc/support/file_io.h"

namespace mtlc::frontend {
namespace {

namespace fs = std::filesystem;

// Imports of a hostile program must not fill the table of files.
constexpr size_t kMaxModules = 4096;
constexpr std::string_view kSuffix = ".mettle";

bool isFile(const std::string& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return !error && fs::exists(status) && !fs::is_directory(status);
}

std::string keyOf(const std::string& path) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

// `path` or `path` + ".mettle", whichever is a file; empty if neither is.
std::string withSuffix(const std::string& path) {
  if (isFile(path)) return path;
  std::string longer = path + std::string(kSuffix);
  return isFile(longer) ? longer : std::string();
}

std::string join(const std::string& folder, std::string_view path) {
  if (folder.empty()) return std::string(path);
  return (fs::path(folder) / fs::path(std::string(path))).string();
}

}  // namespace

void ModuleLoader::load(FileId file) {
  std::string path(sources_.name(file));
  addModule(file, keyOf(path), fs::path(path).parent_path().string(), false);
  // addModule() appends while this runs.
  for (size_t i = 0; i < modules_.size(); ++i) resolveImports(modules_[i]);
}

void ModuleLoader::addModule(FileId file, std::string key, std::string folder, bool isStdlib) {
  Module& m = modules_.emplace_back();
  m.file = file;
  m.folder = std::move(folder);
  m.isStdlib = isStdlib;
  byKey_.emplace(std::move(key), &m);
  int before = diagnostics_.errorCount();
  TokenBuffer tokens = lex(sources_, file, interner_, arena_, diagnostics_);
  m.ast = parse(tokens, file, interner_, arena_, diagnostics_);
  m.hadSyntaxErrors = diagnostics_.errorCount() != before;
}

void ModuleLoader::resolveImports(Module& module) {
  for (const ast::Import& import : module.ast->imports) {
    if (import.platform == names::windows) continue;  // We compile for Linux hosts.
    module.imports.push_back({&import, find(module, import)});
  }
}

Module* ModuleLoader::find(const Module& importer, const ast::Import& import) {
  // A NUL would end the name early for the operating system.
  if (import.path.empty() || import.path.find('\0') != std::string_view::npos) {
    diagnostics_.report(DiagId::ModuleNotFound, import.range, {import.path});
    return nullptr;
  }
  std::string path(import.path);
  if (fs::path(path).is_absolute()) {
    std::string found = withSuffix(path);
    if (!found.empty()) return openFile(found, import, false);
  } else {
    if (import.path.starts_with("std/")) {
      std::string_view name = import.path.substr(4);
      if (options_.stdlibDir.empty()) {
        if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
        if (embeddedModule(name)) return openEmbedded(name, import);
      } else {
        for (std::string_view below : {import.path, name}) {
          std::string found = withSuffix(join(options_.stdlibDir, below));
          if (!found.empty()) return openFile(found, import, true);
        }
      }
    }
    std::vector<std::string> folders{importer.folder};
    folders.insert(folders.end(), options_.includePaths.begin(), options_.includePaths.end());
    folders.push_back("");
    for (const std::string& folder : folders) {
      std::string found = withSuffix(join(folder, path));
      if (!found.empty()) return openFile(found, import, false);
    }
  }
  diagnostics_.report(DiagId::ModuleNotFound, import.range, {import.path});
  return nullptr;
}

bool ModuleLoader::hasRoom(const ast::Import& import) {
  if (modules_.size() < kMaxModules) return true;
  diagnostics_.report(DiagId::TooManyModules, import.range, {kMaxModules});
  return false;
}

Module* ModuleLoader::openFile(const std::string& path, const ast::Import& import, bool isStdlib) {
  std::string key = keyOf(path);
  auto known = byKey_.find(key);
  if (known != byKey_.end()) return known->second;
  if (!hasRoom(import)) return nullptr;
  absl::StatusOr<std::string> text = readFile(path);
  if (!text.ok()) {
    absl::string_view why = text.status().message();
    diagnostics_.report(DiagId::CannotReadFile, import.range,
                        {path, std::string_view(why.data(), why.size())});
    return nullptr;
  }
  FileId file = sources_.add(path, *std::move(text));
  addModule(file, std::move(key), fs::path(path).parent_path().string(), isStdlib);
  return &modules_.back();
}

Module* ModuleLoader::openEmbedded(std::string_view name, const ast::Import& import) {
  std::string key = absl::StrFormat("std/%s", name);
  auto known = byKey_.find(key);
  if (known != byKey_.end()) return known->second;
  std::optional<std::string_view> text = embeddedModule(name);
  if (!text || !hasRoom(import)) return nullptr;
  FileId file = sources_.add(key + std::string(kSuffix), std::string(*text));
  addModule(file, std::move(key), "", true);
  return &modules_.back();
}

}  // namespace mtlc::frontend
