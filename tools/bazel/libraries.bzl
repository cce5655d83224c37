"""The libraries of a folder: declared one by one, compiled together.

Reading headers is three quarters of the work of compiling a source here. So the sources of a folder are
compiled some at a time, as one source that includes them: a third of the work in all. Each library is still
declared by itself, with what it needs, and architecture_test asks what may know what.

    library(
        name = "loop_counts",           # attributes as of cc_library
        srcs = ["loop_counts.cc"],
        hdrs = ["loop_counts.h"],
        deps = [":loop_mark", "//periodicity:loop_detector"],
    )

    libraries()                         # once, at the end of the BUILD file

Sources that are compiled together see each other's names: what is in an anonymous namespace has another name
in each. A library that has options of its own, is always linked, needs what the others in the folder do not
(a system library, for one), or whose folder needs a folder that needs it, is a part of its own: its sources
are compiled together, or with those of some others. One that has generated sources stays a cc_library.

With --define=compile=alone each source is compiled by itself, as clang does (.bazelrc): then a source that
does not include what it needs is found.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@rules_cc//cc:defs.bzl", "cc_library")

# More sources at a time are less work in all, but each change compiles them all, and one after the other.
_SOURCES_AT_A_TIME = 12

def _sources(files):
    return [file for file in files if file.extension == "cc"]

def _compiled_alone(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    context, objects = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = _sources(ctx.files.srcs),
        user_compile_flags = ctx.attr.copts,
        private_hdrs = [file for file in ctx.files.srcs if file.extension != "cc"],
        public_hdrs = ctx.files.hdrs,
        compilation_contexts = contexts,
    )
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = objects,
        linking_contexts = [dep[CcInfo].linking_context for dep in ctx.attr.deps],
        user_link_flags = ctx.attr.linkopts,
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    return [CcInfo(compilation_context = context, linking_context = linking)]

def _library_impl(ctx):
    if ctx.var.get("compile") == "alone":
        return _compiled_alone(ctx)
    headers = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs + ctx.files.srcs))
    if _sources(ctx.files.srcs):
        if not ctx.attr._together:
            fail("the sources of a library are named by their files; one that is generated is for a cc_library")
        own = CcInfo(compilation_context = headers, linking_context = ctx.attr._together[CcInfo].linking_context)
    else:
        own = CcInfo(compilation_context = headers)
    return [cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])]

# Not one of the attributes that queries follow (--noimplicit_deps): what else is compiled with a library is
# nothing that the library needs.
def _together(folder, part):
    return Label("//%s:%s" % (folder, part)) if part else None

_library = rule(
    implementation = _library_impl,
    attrs = {
        "alwayslink": attr.bool(),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "folder": attr.string(mandatory = True),
        "hdrs": attr.label_list(allow_files = True),
        "linkopts": attr.string_list(),
        "part": attr.string(mandatory = True),
        "srcs": attr.label_list(allow_files = True),
        "_cc_toolchain": attr.label(default = Label("@bazel_tools//tools/cpp:current_cc_toolchain")),
        "_together": attr.label(default = _together),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def library(name, part = "together", **kwargs):
    """A library of this folder.

    Args:
      name: of the library.
      part: of the folder's libraries, with which others it is compiled.
      **kwargs: srcs, hdrs, deps, linkopts, copts, alwayslink, testonly and visibility, as of cc_library.
    """
    compiled = [src for src in kwargs.get("srcs", []) if src.endswith(".cc")]
    _library(name = name, part = part if compiled else "", folder = native.package_name(), **kwargs)

def libraries():
    """What the libraries of this folder are compiled to."""
    all = [rule for rule in native.existing_rules().values() if rule["kind"] == "_library"]
    headers_only = [rule for rule in all if not rule["part"]]
    for part in sorted({rule["part"]: None for rule in all if rule["part"]}.keys()):
        here = [rule for rule in all if rule["part"] == part]
        if [rule for rule in here if rule["copts"] != here[0]["copts"]]:
            fail("what is compiled together has the same options: " + part)
        # Else as the folder says.
        testonly = True if [rule for rule in here if rule.get("testonly")] else None
        here += [rule for rule in headers_only if testonly or not rule.get("testonly")]
        names = [":" + rule["name"] for rule in here]
        srcs = [src for rule in here for src in rule["srcs"] if src.endswith(".cc")]
        headers = {file: None for rule in here for file in list(rule["srcs"]) + list(rule["hdrs"]) if not file.endswith(".cc")}
        deps = {dep: None for rule in here for dep in rule["deps"] if dep not in names}
        parts = []
        srcs = sorted([src.lstrip(":") for src in srcs])
        for begin in range(0, len(srcs), _SOURCES_AT_A_TIME):
            some = "%s_%s_%d.cc" % (native.package_name().replace("/", "_"), part, len(parts) + 1)
            # A class that is for its source alone may use what is in an anonymous namespace.
            lines = ["#pragma GCC diagnostic ignored \\\"-Wsubobject-linkage\\\""]
            lines += ["#include \\\"%s/%s\\\"" % (native.package_name(), src) for src in srcs[begin:begin + _SOURCES_AT_A_TIME]]
            native.genrule(
                name = some[:-len(".cc")],
                testonly = testonly,
                outs = [some],
                cmd = "printf '%%s\\n' %s >$@" % " ".join(["\"%s\"" % line for line in lines]),
                tags = ["manual"],
                visibility = ["//visibility:private"],
            )
            parts.append(some)
        cc_library(
            name = part,
            testonly = testonly,
            srcs = parts,
            textual_hdrs = srcs + headers.keys(),
            linkopts = [option for rule in here for option in rule["linkopts"]],
            copts = here[0]["copts"],
            alwayslink = bool([rule for rule in here if rule["alwayslink"]]),
            # Others compile their sources each by itself.
            tags = ["manual"],
            deps = deps.keys(),
        )
