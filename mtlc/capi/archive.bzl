"""Libraries with everything that a cc_library depends on, for users without Bazel."""

def _merged_archive_impl(ctx):
    archives = []
    for linker_input in ctx.attr.library[CcInfo].linking_context.linker_inputs.to_list():
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive:
                archives.append(archive)
    out = ctx.actions.declare_file(ctx.attr.archive)

    # `ar` reads what to do from its standard input; a name stands on a line of its own.
    lines = ["create " + out.path] + ["addlib " + a.path for a in archives] + ["save", "end"]
    script = ctx.actions.declare_file(ctx.label.name + ".mri")
    ctx.actions.write(script, "\n".join(lines) + "\n")
    ctx.actions.run_shell(
        inputs = archives + [script],
        outputs = [out],
        command = "ar -M < %s && ranlib -D %s" % (script.path, out.path),
        mnemonic = "MergeArchives",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

merged_archive = rule(
    implementation = _merged_archive_impl,
    attrs = {
        "library": attr.label(providers = [CcInfo], mandatory = True),
        "archive": attr.string(mandatory = True),
    },
)

def _shared_library_impl(ctx):
    # Debian's static Abseil and Protobuf are no position-independent code, so the shared library needs the shared ones.
    flags = []
    for linker_input in ctx.attr.library[CcInfo].linking_context.linker_inputs.to_list():
        for flag in linker_input.user_link_flags:
            if flag.startswith("-l:lib") and flag.endswith(".a"):
                flag = flag[:-len(".a")] + ".so"
            if flag not in flags:
                flags.append(flag)
    out = ctx.actions.declare_file(ctx.attr.library_name)
    ctx.actions.run_shell(
        inputs = [ctx.file.archive, ctx.file.exports],
        outputs = [out],
        command = ("g++ -shared -o %s -Wl,-soname,%s -Wl,--version-script,%s -Wl,--gc-sections -Wl,-z,defs " +
                   "-Wl,--whole-archive %s -Wl,--no-whole-archive %s -Wl,-s") % (
            out.path,
            ctx.attr.library_name,
            ctx.file.exports.path,
            ctx.file.archive.path,
            " ".join(flags),
        ),
        mnemonic = "LinkShared",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

shared_library = rule(
    implementation = _shared_library_impl,
    attrs = {
        "library": attr.label(providers = [CcInfo], mandatory = True),
        "archive": attr.label(allow_single_file = True, mandatory = True),
        "exports": attr.label(allow_single_file = True, mandatory = True),
        "library_name": attr.string(mandatory = True),
    },
)
