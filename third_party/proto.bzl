"""cc_proto: C++ of a .proto file, by Debian's protoc."""

def cc_proto(name, src, **kwargs):
    """A cc_library with the messages of a .proto file that asks for the lite runtime.

    Args:
      name: of the library; its header is SRC with the ending .pb.h.
      src: the .proto file, of the calling package. It imports nothing.
      **kwargs: as for cc_library.
    """
    if not src.endswith(".proto"):
        fail("not a .proto file: " + src)
    stem = src[:-len(".proto")]
    native.genrule(
        name = name + "_generated",
        srcs = [src],
        outs = [stem + ".pb.cc", stem + ".pb.h"],
        cmd = "/usr/bin/protoc --proto_path=. --cpp_out=$(GENDIR) $(location %s)" % src,
        message = "Generating C++ of " + src,
    )
    native.cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        # Warnings in generated code are not ours.
        copts = ["-w"],
        deps = ["@com_google_protobuf//:protobuf_lite"],
        **kwargs
    )
