"""A fuzz target, built twice: NAME_fuzz, with libFuzzer (tools/campaign fuzz; needs
--config=fuzz), and NAME_fuzz_test, which runs what was kept in corpus/NAME.tar and `made` inputs
that chance makes of it: as many as take some seconds."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

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
    cc_test(
        name = name + "_fuzz_test",
        size = "medium",
        srcs = ["replay.cc"],
        data = ["corpus/" + name + ".tar"],
        env = {
            "REFRAIN_TEST_CORPUS": "test/fuzz/corpus/" + name + ".tar",
            "REFRAIN_TEST_SEEDS": str(made),
        },
        deps = [
            ":" + name + "_entry",
            ":fuzz",
            ":pack",
            "//test/support:catch_main",
            "//test/support:files",
            "@system//:catch2",
        ],
    )
