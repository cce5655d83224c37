"""clang-tidy over the sources of C++ targets, as an aspect: what has not changed is not read again.

    bazel build //... --aspects=//tools/bazel:tidy.bzl%tidy --output_groups=tidy

(tools/check tidy); --define=analyzer=yes: with clang's static analyzer. The sources of tests are left
out: what reads them as a program does (Catch2's macros in every line) takes as long again and
finds the macros.
"""

def _flags(context):
    flags = ["-std=c++20", "-Wall", "-Wextra", "-xc++"]
    for define in context.defines.to_list() + context.local_defines.to_list():
        flags.append("-D" + define)
    for folder in context.quote_includes.to_list():
        flags += ["-iquote", folder]
    for folder in context.includes.to_list():
        flags.append("-I" + folder)
    for folder in context.system_includes.to_list():
        flags += ["-isystem", folder]
    return flags

def _tidy_impl(target, ctx):
    if CcInfo not in target or ctx.rule.kind == "cc_test":
        return []
    if target.label.workspace_name or target.label.package.startswith("test/"):
        return []
    if getattr(ctx.rule.attr, "testonly", False):
        return []
    context = target[CcInfo].compilation_context
    checks = "" if ctx.var.get("analyzer") == "yes" else "-clang-analyzer-*"
    stamps = []
    for source in [file for src in getattr(ctx.rule.attr, "srcs", []) for file in src.files.to_list()]:
        if not source.is_source or source.extension != "cc":
            continue
        stamp = ctx.actions.declare_file("%s.%s.tidy" % (target.label.name, source.basename))
        ctx.actions.run_shell(
            inputs = depset([source, ctx.file._settings], transitive = [context.headers]),
            outputs = [stamp],
            # What it prints besides its findings (how many warnings it left out) is shown if it fails.
            command = 'clang-tidy-19 --quiet --config-file="$1" --checks="$2" "$3" -- "${@:5}" >"$4"' +
                      ' 2>"$4.errors" || { cat "$4" "$4.errors"; exit 1; }',
            arguments = [ctx.file._settings.path, checks, source.path, stamp.path] + _flags(context),
            mnemonic = "Tidy",
            progress_message = "clang-tidy " + source.path,
            use_default_shell_env = True,
        )
        stamps.append(stamp)
    return [OutputGroupInfo(tidy = depset(stamps))]

tidy = aspect(
    implementation = _tidy_impl,
    attrs = {
        "_settings": attr.label(default = "//:.clang-tidy", allow_single_file = True),
    },
)
