"""@system: the libraries of the machine that builds, and of aarch64 where a sysroot has them."""

def _version(path):
    return int(path.split("/llvm-")[1].split("/")[0])

def _newest(paths):
    return sorted(paths, key = _version)[-1] if paths else None

def _find(repository, pattern):
    found = repository.execute(["bash", "-c", "compgen -G '%s'" % pattern]).stdout.split("\n")
    return [path for path in found if path]

# LLVM's OpenMP: the header of its tools' interface, of any version; for tests, the runtime of the clang that compiles
# their programs, which tools/setup unpacks into the user's cache where another version is installed.
def _openmp(repository):
    cache = repository.os.environ.get("XDG_CACHE_HOME", repository.os.environ.get("HOME", "") + "/.cache")
    unpacked = cache + "/refrain/packages"
    header = "/usr/lib/llvm-*/lib/clang/*/include/omp-tools.h"
    header = _newest(_find(repository, header)) or _newest(_find(repository, unpacked + header))
    if not header:
        fail("omp-tools.h of LLVM's OpenMP is not installed: see tools/setup build")
    repository.symlink(header, "openmp/omp-tools.h")
    folder = "/usr/lib/llvm-19/lib"
    flags = ""
    if not repository.path(folder + "/libomp.so").exists:
        folder = unpacked + folder
        flags = "-isystem {0}/clang/19/include -L{0} -Wl,-rpath,{0}".format(folder)
    repository.file("openmp.bzl", "CLANG_OPENMP = %r\nLIBOMP_FOLDER = %r\n" % (flags, folder))

def _impl(repository):
    _openmp(repository)
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
    doc = "Folders of /usr; in aarch64/ those of the sysroot REFRAIN_AARCH64_SYSROOT (tools/check aarch64).",
    implementation = _impl,
    attrs = {
        "_build": attr.label(default = "//tools/bazel/system:system.BUILD"),
        "_fmt": attr.label(default = "//tools/bazel/system:fmt_functions.cc"),
    },
    environ = ["HOME", "REFRAIN_AARCH64_SYSROOT", "XDG_CACHE_HOME"],
    local = True,
)
