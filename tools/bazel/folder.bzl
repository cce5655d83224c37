"""One library a directory, of all its sources, and its tests.

    folder(
        deps = ["//spool"],                     # directories and libraries that it needs
        test_deps = ["//test/support"],         # what its tests need besides it
        tests = {"filter_test": {"size": "medium"}},  # where one differs from the others
    )

Reading headers is three quarters of the work of compiling a source here. So the sources of a directory are compiled as
one source that includes them: a third of the work in all. They see each other's names: what is in an anonymous
namespace has another name in each. What may include what is a list, in ARCHITECTURE.md, and a test.

With --define=compile=alone each source is compiled by itself: then a source that does not include what it needs is
found.
"""

load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
load("//tools/bazel:catch_tests.bzl", "CATCH", "catch_test", "catch_tests")

def _one_source(name, srcs, testonly):
    """A source that includes others."""
    source = "%s_%s.cc" % (native.package_name().replace("/", "_"), name)

    # A class that is for its source alone may use what is in an anonymous namespace.
    lines = ["#pragma GCC diagnostic ignored \\\"-Wsubobject-linkage\\\""]
    lines += ["#include \\\"%s/%s\\\"" % (native.package_name(), src) for src in srcs]
    native.genrule(
        name = source[:-len(".cc")],
        testonly = testonly,
        outs = [source],
        cmd = "printf '%%s\\n' %s >$@" % " ".join(["\"%s\"" % line for line in lines]),
        visibility = ["//visibility:private"],
    )
    return source

def library(name, srcs, hdrs = [], parts = 1, testonly = False, **kwargs):
    """A library of some sources of a directory.

    Args:
      name: of the library.
      srcs: its sources, compiled as one.
      hdrs: headers.
      parts: or as so many, where one would take long. A change compiles one part.
      testonly: for tests alone.
      **kwargs: deps, copts, linkopts, alwayslink, data, tags and visibility, as of cc_library.
    """
    srcs = sorted(srcs)
    compiled = srcs
    if len(srcs) > 1:
        each = (len(srcs) + parts - 1) // parts
        compiled = [
            _one_source(name + ("_%d" % (begin // each + 1) if parts > 1 else ""), srcs[begin:begin + each], testonly)
            for begin in range(0, len(srcs), each)
        ]
    cc_library(
        name = name,
        testonly = testonly,
        srcs = select({
            "//tools/bazel:alone": srcs,
            "//conditions:default": compiled,
        }),
        hdrs = hdrs,
        textual_hdrs = srcs if len(srcs) > 1 else [],
        **kwargs
    )

def folder(
        deps = [],
        test_deps = [],
        test_data = [],
        tests = {},
        alone = {},
        exclude = [],
        testing = [],
        folders = [""],
        name = None,
        testonly = False,
        **kwargs):
    """The library of a directory, called as it is, and its tests: each file ..._test.cc is one.

    All directories see it: who may include it is for test/architecture to say.

    Args:
      deps: what the library needs.
      test_deps: what the tests need besides it.
      test_data: files that the tests read or run.
      tests: attributes of a test (size, data, tags, env), where they differ from a small one's.
      alone: tests that are programs of their own, with other options of the compiler: their attributes, as of cc_test.
      exclude: files that belong to targets of their own.
      testing: sources that only tests need: of this directory's, and in a library ":testing", of others.
      directories: the directories below this one whose files these are.
      name: another name.
      testonly: for tests alone.
      **kwargs: parts, copts, linkopts, alwayslink and data, as of `library`.
    """
    name = name or native.package_name().split("/")[-1]
    each = [below + "/" if below else "" for below in folders]
    test_files = native.glob([below + "*_test.cc" for below in each], exclude = exclude)
    hdrs = native.glob([below + "*.h" for below in each], exclude = exclude)
    library(
        name = name,
        srcs = native.glob([below + "*.cc" for below in each], exclude = [below + "*_test.cc" for below in each] + exclude + testing),
        hdrs = hdrs,
        testonly = testonly,
        visibility = ["//visibility:public"],
        deps = deps,
        **kwargs
    )

    # For test/architecture.
    native.filegroup(
        name = "sources",
        srcs = native.glob([below + "*." + kind for below in each for kind in ["cc", "h"]], exclude = [below + "*_test.cc" for below in each]),
        visibility = ["//test/architecture:__pkg__"],
    )
    own = [":" + name]
    if testing:
        own.append(":testing")
        library(
            name = "testing",
            srcs = native.glob(testing),
            hdrs = hdrs,
            testonly = True,
            visibility = ["//visibility:public"],
            deps = [":" + name] + test_deps,
        )
    names = []
    for file in test_files:
        test = file.split("/")[-1][:-len(".cc")]
        attributes = dict(size = "small")
        attributes.update(tests.get(test, {}))
        attributes.update(alone.get(test, {}))
        names.append(test)
        attributes["data"] = attributes.get("data", []) + test_data
        if test in alone:
            cc_test(name = test, srcs = [file], deps = own + test_deps + attributes.pop("deps", []) + CATCH, **attributes)
        else:
            catch_test(name = test, srcs = [file], deps = own + test_deps, **attributes)
    unknown = [test for test in tests.keys() + alone.keys() if test not in names]
    if unknown:
        fail("no such tests: " + ", ".join(unknown))
    if len(test_files) > len(alone):
        catch_tests()
