"""fuzz_target: one LLVMFuzzerTestOneInput, replayed as a test and run at length by hand."""

def fuzz_target(name, srcs, deps = [], corpus = [], runs = 20000, max_len = 16384, **kwargs):
    """Makes three targets of one fuzz entry point.

    NAME_test replays the corpus and then a fixed number of deterministic mutations of it; it is part of the suite, under
    any configuration (bazel test --config=asan …). NAME is the same program for long runs: NAME --seconds=600 CORPUS.
    With --config=fuzz, NAME is a libFuzzer program instead, guided by coverage. See docs/testing.md.

    Args:
      name: of the long-run program.
      srcs: files that define LLVMFuzzerTestOneInput.
      deps: cc_library targets.
      corpus: seed files; labels or a glob.
      runs: mutations in NAME_test. Choose it so that the test takes a few seconds.
      max_len: longest mutated input in bytes.
      **kwargs: for NAME_test: size, timeout, tags.
    """
    native.cc_library(
        name = name + "_entry",
        testonly = True,
        srcs = srcs,
        deps = deps,
        alwayslink = True,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        tags = ["manual"],
        deps = [name + "_entry"] + select({
            "//test/fuzz:libfuzzer": ["//test/fuzz:libfuzzer_main"],
            "//conditions:default": ["//test/fuzz:fuzz_main"],
        }),
    )
    native.cc_test(
        name = name + "_test",
        args = ["--runs=%d" % runs, "--max-len=%d" % max_len] + ["$(rootpaths %s)" % c for c in corpus],
        data = corpus,
        deps = [name + "_entry", "//test/fuzz:fuzz_main"],
        **kwargs
    )
