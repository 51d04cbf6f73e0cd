"""py_exec_test: a Python test that drives the tools, with NumPy at hand."""

def py_exec_test(name, srcs = None, main = None, tools = [], data = [], deps = [], **kwargs):
    """A py_test whose unittest cases and subtests are counted one by one; see mtlc_testing.py.

    Args:
      name: of the test; the default source is NAME.py.
      srcs: as for py_test.
      main: as for py_test.
      tools: labels of programs; mtlc_testing.tool("mtlc-run") finds one by its file name.
      data: further files; mtlc_testing.data("examples/vadd.mettle") finds one by its path in the repository.
      deps: py_library targets.
      **kwargs: as for any test: size, timeout, shard_count, tags.
    """
    native.py_test(
        name = name,
        srcs = srcs or [name + ".py"],
        main = main or (name + ".py" if not srcs else None),
        args = ["--tool=$(rootpath %s)" % tool for tool in tools],
        # A change of the pinned packages runs the test again.
        data = tools + data + ["//third_party:requirements.txt"],
        deps = deps + ["//test/python:mtlc_testing"],
        **kwargs
    )
