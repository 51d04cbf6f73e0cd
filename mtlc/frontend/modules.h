// The files of one compilation: the main file and all it imports, parsed.

#ifndef MTLC_FRONTEND_MODULES_H_
#define MTLC_FRONTEND_MODULES_H_

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mtlc/frontend/ast.h"
#include "mtlc/frontend/token.h"
#include "mtlc/support/arena.h"
#include "mtlc/support/diagnostics.h"
#include "mtlc/support/source.h"

namespace mtlc::frontend {

struct ModuleOptions {
  std::vector<std::string> includePaths;  // -I, in order.
  std::string stdlibDir;                  // Replaces the embedded standard library if not empty.
};

struct Module;

struct ResolvedImport {
  const ast::Import* import;
  Module* module;  // Null: it could not be loaded (reported).
};

struct Module {
  FileId file = 0;
  std::string folder;  // Relative imports start here.
  bool isStdlib = false;
  ast::File* ast = nullptr;
  bool hadSyntaxErrors = false;
  std::vector<ResolvedImport> imports;
};

// Loads modules breadth first, each file once; cycles are fine.
class ModuleLoader {
 public:
  ModuleLoader(SourceManager& sources, Interner& interner, Arena& arena,
               DiagnosticEngine& diagnostics, const ModuleOptions& options)
      : sources_(sources),
        interner_(interner),
        arena_(arena),
        diagnostics_(diagnostics),
        options_(options) {}

  // `file` has been added to the sources under its path. Its module is the first of modules().
  void load(FileId file);
  std::deque<Module>& modules() { return modules_; }

 private:
  void addModule(FileId file, std::string key, std::string folder, bool isStdlib);
  void resolveImports(Module& module);
  Module* find(const Module& importer, const ast::Import& import);
  Module* openFile(const std::string& path, const ast::Import& import, bool isStdlib);
  Module* openEmbedded(std::string_view name, const ast::Import& import);
  // False, reported: the import would be one module too many.
  bool hasRoom(const ast::Import& import);

  SourceManager& sources_;
  Interner& interner_;
  Arena& arena_;
  DiagnosticEngine& diagnostics_;
  const ModuleOptions& options_;
  std::deque<Module> modules_;
  // By canonical path, or "std/name" for the embedded library.
  absl::flat_hash_map<std::string, Module*> byKey_;
};

}  // namespace mtlc::frontend

#endif  // MTLC_FRONTEND_MODULES_H_
