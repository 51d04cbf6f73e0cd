#include "mtlc/support/tool_main.h"

#include <sys/stat.h>

#include "gtest/gtest.h"
#include "mtlc/support/file_io.h"

namespace mtlc {
namespace {

// A tool that copies its input, unless that begins with an 'x'.
struct Copy {
  int run(std::vector<const char*> args) {
    args.insert(args.begin(), "copy");
    tool.options().positional("FILE", 1, 1, &files);
    tool.options().text("-o", "FILE", &output, "Write to FILE");
    tool.addVersionLine("IR 7");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = body(static_cast<int>(args.size()), args.data());
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }
  int body(int argc, const char* const* argv) {
    if (std::optional<int> code = tool.start(argc, argv)) return *code;
    if (output.empty()) return tool.usageError("give -o");
    if (std::optional<FileId> file = tool.load(files[0])) {
      std::string_view text = tool.sources().text(*file);
      if (text.starts_with("x")) {
        tool.diagnostics().report(DiagId::CannotReadFile, SourceRange({*file, 1, 1}, 1),
                                  {"it", "an x"});
      }
      tool.write(output, text);
    }
    return tool.finish();
  }
  Tool tool{"copy", "FILE -o FILE", "Copies."};
  std::vector<std::string> files;
  std::string output, out, err;
};

std::string path(const std::string& name) { return testing::TempDir() + "/tool_main_" + name; }

TEST(Tool, SucceedsQuietly) {
  ASSERT_TRUE(writeFile(path("in"), "text").ok());
  Copy copy;
  EXPECT_EQ(copy.run({path("in").c_str(), "-o", path("out").c_str()}), kExitSuccess);
  EXPECT_EQ(copy.out + copy.err, "");
  EXPECT_EQ(readFile(path("out")).value(), "text");
}

TEST(Tool, ARefusedInputTouchesNoOutput) {
  ASSERT_TRUE(writeFile(path("bad"), "x = 1\n").ok());
  ASSERT_TRUE(writeFile(path("kept"), "old").ok());
  Copy copy;
  EXPECT_EQ(copy.run({path("bad").c_str(), "-o", path("kept").c_str()}), kExitRefused);
  EXPECT_EQ(copy.out, "");
  EXPECT_EQ(copy.err, path("bad") +
                          ":1:1: error: cannot read 'it': an x\n  x = 1\n  ^\n"
                          "  hint: check the path and its permissions\n");
  EXPECT_EQ(readFile(path("kept")).value(), "old");
}

TEST(Tool, ReportsFilesItCannotReadOrWrite) {
  Copy copy;
  EXPECT_EQ(copy.run({path("missing").c_str(), "-o", "-"}), kExitRefused);
  EXPECT_EQ(copy.err, "error: cannot read '" + path("missing") +
                          "': no such file or directory\n"
                          "  hint: check the path and its permissions\n");
  EXPECT_EQ(copy.tool.diagnostics().all()[0].id, DiagId::CannotReadFile);
  Copy unwritable;
  EXPECT_EQ(unwritable.run({"/dev/null", "-o", path("no/folder").c_str(), "--diagnostics=json"}),
            kExitRefused);
  EXPECT_EQ(unwritable.tool.diagnostics().all()[0].id, DiagId::CannotWriteFile);
  EXPECT_TRUE(unwritable.err.starts_with("{\"severity\":\"error\",\"id\":\"CannotWriteFile\","))
      << unwritable.err;
}

TEST(Tool, UsageErrorsExitWithTwo) {
  Copy copy;
  EXPECT_EQ(copy.run({"--diagnostics=xml", "--verion"}), kExitUsage);
  EXPECT_EQ(copy.err,
            "copy: bad value 'xml' of '--diagnostics': give one of human, json\n"
            "copy: unknown option '--verion'; did you mean '--version'?\n"
            "Try 'copy --help'.\n");
  Copy incomplete;
  EXPECT_EQ(incomplete.run({"in"}), kExitUsage);
  EXPECT_EQ(incomplete.err, "copy: give -o\nTry 'copy --help'.\n");
}

TEST(Tool, HelpAndVersionGoToStandardOutput) {
  Copy help;
  EXPECT_EQ(help.run({"--help"}), kExitSuccess);
  EXPECT_TRUE(help.out.starts_with("usage: copy FILE -o FILE\nCopies.\n")) << help.out;
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(help.tool.options().lint(), std::vector<std::string>{});
  Copy version;
  EXPECT_EQ(version.run({"--version"}), kExitSuccess);
  EXPECT_EQ(version.out, "copy (mtlc) 0.1.0\nIR 7\n");
}

}  // namespace
}  // namespace mtlc
