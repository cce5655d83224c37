"""A fuzz target, built twice: NAME_fuzz, with libFuzzer (tools/check fuzz; needs
--config=fuzz), and as a part of `replay`, which NAME_fuzz_test calls: it runs what was kept in
corpus/NAME.tar and `made` inputs that chance makes of it, as many as take some seconds."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")
load("//tools/bazel:catch_tests.bzl", "program_test")

def fuzz_target(name, made, deps):
    cc_library(
        name = name + "_entry",
        srcs = [name + "_fuzz.cc"],
        alwayslink = True,
        deps = deps + [":fuzz"],
    )
    cc_binary(
        name = name + "_fuzz",
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = [":" + name + "_entry"],
    )
    program_test(
        name = name + "_fuzz_test",
        size = "medium",
        program = ":replay",
        data = ["corpus/" + name + ".tar"],
        env = {
            "REFRAIN_TEST_CORPUS": "test/fuzz/corpus/" + name + ".tar",
            "REFRAIN_TEST_FUZZ": name,
            "REFRAIN_TEST_SEEDS": str(made),
        },
    )

def fuzz_replay():
    """`replay`: all targets as one program. They are compiled together, each by its own name."""
    targets = sorted([rule["name"][:-len("_entry")] for rule in native.existing_rules().values() if rule["name"].endswith("_entry")])
    deps = {dep: None for name in targets for dep in native.existing_rule(name + "_entry")["deps"]}
    lines = []
    for name in targets:
        lines += [
            "#define LLVMFuzzerTestOneInput %s_input" % name,
            "#include \\\"test/fuzz/%s_fuzz.cc\\\"" % name,
            "#undef LLVMFuzzerTestOneInput",
        ]
    lines += ["const refrain::fuzz::Target refrain::fuzz::kTargets[] = {"]
    lines += ["  {\\\"%s\\\", %s_input}," % (name, name) for name in targets]
    lines += ["};", "const std::size_t refrain::fuzz::kTargetCount = %d;" % len(targets)]
    native.genrule(
        name = "fuzz_tests",
        testonly = True,
        outs = ["fuzz_tests.cc"],
        cmd = "printf '%%s\\n' %s >$@" % " ".join(["\"%s\"" % line for line in lines]),
    )
    cc_library(
        name = "targets",
        testonly = True,
        textual_hdrs = [name + "_fuzz.cc" for name in targets],
        deps = deps.keys(),
    )
    cc_binary(
        name = "replay",
        testonly = True,
        srcs = [
            "fuzz_tests.cc",
            "replay.cc",
        ],
        deps = [
            ":fuzz",
            ":pack",
            ":targets",
            "//test/support:catch_main",
            "//test/support",
            "@system//:catch2",
        ],
    )
