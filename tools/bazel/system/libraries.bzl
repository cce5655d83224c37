"""@system: the libraries of the machine that builds, and of aarch64 where a sysroot has them."""

def _impl(repository):
    machine = repository.execute(["uname", "-m"]).stdout.strip()
    for folder in ["include", "lib", "share"]:
        repository.symlink("/usr/" + folder, folder)

    # Of the cpu aarch64: the machine's own, or with --config=aarch64 those of the sysroot.
    sysroot = repository.os.environ.get("REFRAIN_AARCH64_SYSROOT", "")
    if sysroot or machine == "aarch64":
        repository.symlink(sysroot + "/usr", "aarch64")
    repository.symlink(repository.attr._fmt, "fmt_functions.cc")
    repository.template("BUILD.bazel", repository.attr._build, {"%{machine}": machine})

system_libraries = repository_rule(
    doc = "Folders of /usr; in aarch64/ those of the sysroot REFRAIN_AARCH64_SYSROOT (tools/check_aarch64).",
    implementation = _impl,
    attrs = {
        "_build": attr.label(default = "//tools/bazel/system:system.BUILD"),
        "_fmt": attr.label(default = "//tools/bazel/system:fmt_functions.cc"),
    },
    environ = ["REFRAIN_AARCH64_SYSROOT"],
    local = True,
)
