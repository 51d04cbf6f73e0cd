"""lit_suite: the text-level tests of one folder as a Bazel test."""

def lit_suite(name, srcs = None, tools = [], data = [], **kwargs):
    """Runs lit on the tests of the calling package, sandboxed, with the tools Bazel built.

    The tests call the tools by name or as %name. Each lit test counts as one test case; one whose REQUIRES: is not met
    counts as skipped.

    Args:
      name: of the test.
      srcs: the test files and their inputs; by default every file of the package.
      tools: labels of the programs that the tests may call, besides FileCheck, not, count, split-file and what the
        system has under /usr/bin.
      data: further files.
      **kwargs: as for any test: size, timeout, shard_count, tags.
    """
    if srcs == None:
        srcs = native.glob(["**"], exclude = ["BUILD.bazel"])
    host = "@host//:host.json"
    args = ["--suite=" + native.package_name(), "--host=$(rootpath %s)" % host]
    args += ["--tool=$(rootpath %s)" % tool for tool in tools]
    native.py_test(
        name = name,
        srcs = ["//test:run_lit.py"],
        main = "//test:run_lit.py",
        args = args,
        data = srcs + tools + data + [host, "//test:lit.cfg.py"],
        **kwargs
    )
