"""Tests with Catch2: the test files of a directory are compiled and linked together.

Catch2 and the headers of what is tested are most of the work of compiling a test file, and each
program has to be linked. So the files of a directory are compiled some at a time, and are one program;
each test is that program, called with the name of its file. Nothing else is shared: a test is run
by its own name, in a process of its own, with its own data, size and tags.

    catch_test(
        name = "filter_test",
        srcs = ["filter_test.cc"],      # with headers and other sources that it needs
        deps = [":filter"],             # Catch2 and its main are there already
    )

    catch_tests()                       # once, at the end of the BUILD file

For this each test file has a namespace of its name (refrain::filters::filter_test). A test that
wants other compiler options, or replaces functions of the C++ library, stays a cc_test.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("@system//:openmp.bzl", "LIBOMP_FOLDER")

# More files at a time are compiled with less work in all, but each change compiles them all.
_FILES_AT_A_TIME = 16

CATCH = [
    "//test/support:catch_main",
    "@system//:catch2",
]

def _catch_test_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = program, target_file = ctx.executable.program, is_executable = True)
    runfiles = ctx.runfiles(files = [program] + ctx.files.data)
    for target in [ctx.attr.program] + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [
        DefaultInfo(executable = program, runfiles = runfiles),
        # Programs of gcc are traced with the OpenMP runtime that those of clang are linked with.
        testing.TestEnvironment(dict(ctx.attr.env, REFRAIN_LIBOMP = LIBOMP_FOLDER + "/libomp.so.5")),
    ]

_catch_test = rule(
    implementation = _catch_test_impl,
    test = True,
    attrs = {
        "data": attr.label_list(allow_files = True),
        "env": attr.string_dict(doc = "Variables of its environment."),
        "files": attr.string_list(doc = "The test files."),
        "program": attr.label(executable = True, cfg = "target", mandatory = True),
    },
)

def _is_test_file(source):
    return source.endswith("_test.cc")

def catch_test(name, srcs, deps = [], data = [], linkopts = [], **kwargs):
    """A test, declared where the library is that it tests.

    Args:
      name: of the test.
      srcs: its test files (..._test.cc), and headers and other sources of its own.
      deps: libraries that it uses.
      data: files that it reads or runs.
      linkopts: what its program is linked with.
      **kwargs: size, timeout and tags, as of each test.
    """
    files = [source for source in srcs if _is_test_file(source)]
    cc_library(
        name = name + "_files",
        testonly = True,
        srcs = [source for source in srcs if not _is_test_file(source)],
        textual_hdrs = files,
        data = data,
        linkopts = linkopts,
        visibility = ["//visibility:private"],
        deps = deps,
    )
    _catch_test(
        name = name,
        # Catch2's tags of a test file: "#" and its name.
        args = ["--warn", "NoTests", "--filenames-as-tags", ",".join(["[#%s]" % file.split("/")[-1][:-len(".cc")] for file in files])],
        data = data,
        files = files,
        program = ":tests",
        **kwargs
    )

def program_test(name, program, **kwargs):
    """A test that calls a program which is there, as several tests may.

    Args:
      name: of the test.
      program: what it calls, linked with Catch2 and its main.
      **kwargs: args, data, env, size, timeout and tags.
    """
    _catch_test(name = name, program = program, **kwargs)

def catch_tests():
    """The program that all tests of this directory are."""
    tests = [rule for rule in native.existing_rules().values() if rule["kind"] == "_catch_test" and rule["files"]]
    files = []
    for test in tests:
        files += list(test["files"])
    files = sorted(files)
    parts = []
    for begin in range(0, len(files), _FILES_AT_A_TIME):
        part = "%s_tests_%d.cc" % (native.package_name().replace("/", "_"), len(parts) + 1)
        lines = ["#include \\\"%s/%s\\\"" % (native.package_name(), file) for file in files[begin:begin + _FILES_AT_A_TIME]]
        native.genrule(
            name = part[:-len(".cc")],
            testonly = True,
            outs = [part],
            cmd = "printf '%%s\\n' %s >$@" % " ".join(["\"%s\"" % line for line in lines]),
        )
        parts.append(part)
    cc_binary(
        name = "tests",
        testonly = True,
        srcs = parts,
        deps = CATCH + [":%s_files" % test["name"] for test in tests],
    )
