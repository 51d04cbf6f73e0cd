#include "mtlc/support/options.h"

#include <limits>

#include "gtest/gtest.h"
#include "mtlc/support/suggest.h"

namespace mtlc {
namespace {

enum class Style { human, json };

// One table with a row of each kind, as a tool would declare it.
struct Fixture {
  Fixture() {
    table.positional("FILE", 1, 2, &files);
    table.group("Output");
    table.text("-o,--output", "FILE", &output, "Write to FILE").required();
    table.choice("--diagnostics", &style, {{"human", Style::human}, {"json", Style::json}},
                 "How problems are shown");
    table.optionalValue(
        "--stats", "json",
        [this](std::string_view v) {
          stats = v.empty() ? "text" : std::string(v);
          return absl::OkStatus();
        },
        "Count instructions");
    table.group("Code");
    table.set("-O", &level, 2, "Optimise");
    table.set("-O0", &level, 0, "Do not optimise");
    table.flag("-g", &debug, "Emit source locations");
    table.text("-march", "TARGET", &march, "Compile for TARGET");
    table.commaList("-mattr", "+A,-B", &attributes, "Switch features");
    table.list("-I", "DIR", &include, "Look for imports in DIR").joined();
    table.list("--pass", "NAME", &passes, "Run a pass");
    table.list("--passes", "LIST", &passes, "Run passes");
    table.integer("--budget", "N", &budget, -1, 512, "Registers to spend");
    table.integers("--grid", "X[,Y[,Z]]", &grid, 1, 3, "Workgroups");
  }
  std::vector<std::string> parse(std::vector<const char*> args) {
    args.insert(args.begin(), "tool");
    return table.parse(static_cast<int>(args.size()), args.data());
  }
  // The messages for a command line that is otherwise complete.
  std::vector<std::string> wrong(std::vector<const char*> args) {
    args.insert(args.end(), {"-o", "out", "in"});
    return parse(std::move(args));
  }

  OptionTable table{"tool", "[options] FILE...", "Does something."};
  std::vector<std::string> files, attributes, include, passes;
  std::string output, stats, march = "sm_80";
  Style style = Style::human;
  int level = 1;
  bool debug = false;
  int64_t budget = 7;
  std::vector<uint32_t> grid;
};

using Strings = std::vector<std::string>;

TEST(Options, AcceptsEverySpelling) {
  Fixture f;
  EXPECT_EQ(f.parse({"-march=sm_90a", "-o", "-", "--diagnostics", "json", "-I", "a", "-Ib=c",
                     "-I=d", "-mattr=+x,-y", "-mattr", "+z", "-g", "--budget=-1", "--stats",
                     "--grid=3,0x10", "-", "--", "-x"}),
            Strings{});
  EXPECT_EQ(f.march, "sm_90a");
  EXPECT_EQ(f.output, "-");
  EXPECT_EQ(f.style, Style::json);
  EXPECT_EQ(f.include, (Strings{"a", "b=c", "d"}));
  EXPECT_EQ(f.attributes, (Strings{"+x", "-y", "+z"}));
  EXPECT_TRUE(f.debug);
  EXPECT_EQ(f.budget, -1);
  EXPECT_EQ(f.stats, "text");
  EXPECT_EQ(f.grid, (std::vector<uint32_t>{3, 16}));
  EXPECT_EQ(f.files, (Strings{"-", "-x"}));
}

TEST(Options, TheLastOneWinsAndListsKeepTheirOrder) {
  Fixture f;
  EXPECT_EQ(f.wrong({"-O", "--pass=a", "-O0", "--passes=b,c{d=1}", "--pass", "e", "-g", "-g=false",
                     "--stats=json", "--stats"}),
            Strings{});
  EXPECT_EQ(f.level, 0);
  EXPECT_FALSE(f.debug);
  EXPECT_EQ(f.stats, "text");
  EXPECT_EQ(f.passes, (Strings{"a", "b,c{d=1}", "e"}));
  EXPECT_EQ(f.wrong({"-O0", "-O"}), Strings{});
  EXPECT_EQ(f.level, 2);
}

TEST(Options, SuggestsTheNearestSpelling) {
  Fixture f;
  EXPECT_EQ(f.wrong({"--diagnostisc=json"}),
            Strings{"unknown option '--diagnostisc'; did you mean '--diagnostics'?"});
  EXPECT_EQ(f.wrong({"--march=sm_80"}),
            Strings{"unknown option '--march'; did you mean '-march'?"});
  EXPECT_EQ(f.wrong({"-O9"}), Strings{"unknown option '-O9'; did you mean '-O'?"});
  EXPECT_EQ(f.wrong({"-z"}), Strings{"unknown option '-z'"});
  EXPECT_EQ(f.wrong({"--frobnicate", "value"}), Strings{"unknown option '--frobnicate'"});
  EXPECT_EQ(f.wrong({"--diagnostics=jsno"}),
            Strings{"bad value 'jsno' of '--diagnostics': did you mean 'json'? (one of human, "
                    "json)"});
}

TEST(Options, RefusesBadValues) {
  Fixture f;
  EXPECT_EQ(f.wrong({"--diagnostics=xml"}),
            Strings{"bad value 'xml' of '--diagnostics': give one of human, json"});
  for (const char* bad : {"--budget=513", "--budget=-2", "--budget=1x", "--budget=0x",
                          "--budget=99999999999999999999", "--budget= 1"}) {
    EXPECT_EQ(f.wrong({bad}), Strings{"bad value '" + std::string(bad + 9) +
                                      "' of '--budget': give a whole number from -1 to 512"});
  }
  EXPECT_EQ(f.wrong({"--budget="}),
            Strings{"option '--budget': give a whole number from -1 to 512"});
  for (const char* bad : {"1,2,3,4", "1,,2", "-1", "4294967296", "1,"}) {
    EXPECT_EQ(f.wrong({"--grid", bad}),
              Strings{"bad value '" + std::string(bad) +
                      "' of '--grid': give 1 to 3 whole numbers with commas between them"});
  }
  EXPECT_EQ(f.wrong({"-mattr=+a,,+b"}),
            Strings{"bad value '+a,,+b' of '-mattr': give words with single commas between them"});
  EXPECT_EQ(f.wrong({"-O=1"}), Strings{"option '-O' takes no value"});
  EXPECT_EQ(f.wrong({"-g=maybe"}),
            Strings{"bad value 'maybe' of '-g': give true or false, or no value"});
  EXPECT_EQ(f.wrong({"--stats="}), Strings{"option '--stats' has '=' but no value"});
  EXPECT_EQ(f.parse({"-o", "x", "in", "-march"}), Strings{"option '-march' needs a value: TARGET"});
}

TEST(Options, CountsPositionalsAndRequiredRows) {
  Fixture f;
  EXPECT_EQ(f.parse({"-o=x"}), Strings{"FILE is missing ('-' reads standard input)"});
  EXPECT_EQ(f.parse({"-o=x", "a", "b", "c\x1b["}),
            Strings{"unexpected argument 'c\\x1b[': at most 2 FILE can be given"});
  Fixture g;
  EXPECT_EQ(g.parse({"in"}), Strings{"'--output=FILE' is missing"});
  OptionTable none("none", "", "");
  const char* args[] = {"none", "x"};
  EXPECT_EQ(none.parse(2, args), Strings{"unexpected argument 'x'"});
}

TEST(Options, HelpIsGeneratedFromTheTable) {
  Fixture f;
  EXPECT_EQ(f.parse({"--help", "--nonsense"}), Strings{});
  EXPECT_TRUE(f.table.helpAsked());
  std::string help = f.table.helpText();
  EXPECT_TRUE(help.starts_with("usage: tool [options] FILE...\nDoes something.\n\nOutput:\n"))
      << help;
  for (std::string_view line : {
           "  -o, --output=FILE           Write to FILE\n",
           "  --diagnostics=human|json    How problems are shown (default: human)\n",
           "  --stats[=json]              Count instructions\n",
           "  -march=TARGET               Compile for TARGET (default: sm_80)\n",
           "  -I DIR                      Look for imports in DIR (repeatable)\n",
           "  --budget=N                  Registers to spend (default: 7)\n",
           "\nGeneral:\n  -h, --help                  Show this text\n",
       }) {
    EXPECT_NE(help.find(line), std::string::npos) << line << "not in\n" << help;
  }
  EXPECT_EQ(f.table.lint(), Strings{});
}

TEST(Options, HelpStaysWithinEightyColumnsAndAScreenAGroup) {
  OptionTable table("tool", "", "");
  bool flag = false;
  table.group("Many");
  for (int i = 0; i < 12; ++i) {
    table.flag("--option-with-a-rather-long-name-" + std::to_string(i), &flag,
               "A help text that is long enough to need a second line when it is shown in eighty "
               "columns");
  }
  std::string help = table.helpText();
  size_t start = 0;
  for (size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 80u) << help.substr(start, end - start);
  }
  table.flag("--help", &flag, "");
  EXPECT_EQ(table.lint(), (Strings{"spelling '--help' is used twice", "'--help' has no help",
                                   "group 'Many' takes 38 lines, more than a screen of 24"}));
}

TEST(Options, ParseIntegerCoversTheRangeAndNoMore) {
  struct Case {
    const char* text;
    bool good;
    int64_t value;
  };
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  for (const Case& c :
       {Case{"0", true, 0}, Case{"-0", true, 0}, Case{"007", true, 7}, Case{"0xfF", true, 255},
        Case{"-0b101", true, -5},
        Case{"9223372036854775807", true, std::numeric_limits<int64_t>::max()},
        Case{"-9223372036854775808", true, kMin}, Case{"9223372036854775808", false, 0},
        Case{"-9223372036854775809", false, 0}, Case{"0xffffffffffffffff", false, 0},
        Case{"18446744073709551616", false, 0}, Case{"", false, 0}, Case{"-", false, 0},
        Case{"+1", false, 0}, Case{"1e3", false, 0}, Case{"0b2", false, 0}, Case{"1@", false, 0}}) {
    int64_t value = 42;
    EXPECT_EQ(parseInteger(c.text, &value).ok(), c.good) << c.text;
    EXPECT_EQ(value, c.good ? c.value : 42) << c.text;
  }
}

TEST(Suggest, EditDistance) {
  EXPECT_EQ(editDistance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(editDistance("ab", "ba", 9), 1u);
  EXPECT_EQ(editDistance("", "abc", 9), 3u);
  EXPECT_EQ(editDistance("abcdef", "ghijkl", 2), 3u);
  EXPECT_EQ(editDistance(std::string(65, 'a'), std::string(65, 'a'), 5), 6u);
  EXPECT_EQ(editDistance(std::string(64, 'a'), std::string(64, 'a'), 5), 0u);
  std::string_view words[] = {"store", "stone", "load"};
  EXPECT_EQ(nearestSpelling("stoer", words), "store");
  EXPECT_EQ(nearestSpelling("xyz", words), "");
}

}  // namespace
}  // namespace mtlc
