"""@aarch64: Debian's g++ for aarch64, and the libraries of a sysroot (tools/check aarch64)."""

_BUILD = """
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")

package(default_visibility = ["//visibility:public"])

cc_toolchain_suite(
    name = "toolchain",
    toolchains = {"aarch64": ":compiler"},
)

filegroup(name = "nothing")

cc_toolchain(
    name = "compiler",
    all_files = ":nothing",
    ar_files = ":nothing",
    as_files = ":nothing",
    compiler_files = ":nothing",
    dwp_files = ":nothing",
    linker_files = ":nothing",
    objcopy_files = ":nothing",
    strip_files = ":nothing",
    supports_param_files = 1,
    toolchain_config = ":config",
)

# As Bazel sets up the compiler of the machine that builds.
cc_toolchain_config(
    name = "config",
    abi_libc_version = "local",
    abi_version = "local",
    builtin_sysroot = "{sysroot}",
    compile_flags = ["-U_FORTIFY_SOURCE", "-fstack-protector", "-fno-omit-frame-pointer"],
    compiler = "gcc",
    cpu = "aarch64",
    cxx_builtin_include_directories = [
        "/usr/aarch64-linux-gnu/include",
        "/usr/lib/gcc-cross/aarch64-linux-gnu",
        "{sysroot}/usr/include",
    ],
    dbg_compile_flags = ["-g"],
    host_system_name = "local",
    link_flags = ["-fuse-ld=gold", "-Wl,-no-as-needed", "-Wl,-z,relro,-z,now", "-static-libgcc"],
    link_libs = ["-l:libstdc++.a", "-lm"],
    opt_compile_flags = ["-g0", "-O2", "-D_FORTIFY_SOURCE=1", "-DNDEBUG", "-ffunction-sections", "-fdata-sections"],
    opt_link_flags = ["-Wl,--gc-sections"],
    supports_start_end_lib = True,
    target_libc = "local",
    target_system_name = "aarch64-linux-gnu",
    tool_paths = {
        tool: "/usr/bin/aarch64-linux-gnu-" + tool
        for tool in ["ar", "cpp", "dwp", "gcc", "gcov", "ld", "llvm-cov", "nm", "objcopy", "objdump", "strip"]
    },
    toolchain_identifier = "aarch64",
    unfiltered_compile_flags = [
        "-fno-canonical-system-headers",
        "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"",
        "-D__TIMESTAMP__=\\"redacted\\"",
        "-D__TIME__=\\"redacted\\"",
    ],
)
"""

def _impl(repository):
    sysroot = repository.os.environ.get("REFRAIN_AARCH64_SYSROOT", "")
    repository.file("BUILD.bazel", _BUILD.replace("{sysroot}", sysroot) if sysroot else "")

aarch64_toolchain = repository_rule(
    doc = "The toolchain, where REFRAIN_AARCH64_SYSROOT is set; else nothing.",
    implementation = _impl,
    environ = ["REFRAIN_AARCH64_SYSROOT"],
    local = True,
)
