"""Which MPI libraries are installed: Refrain is built for each of them, one is enough."""

_HEADERS = {
    "mpich": "/usr/include/x86_64-linux-gnu/mpich/mpi.h",
    "openmpi": "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
}

def _impl(repository):
    found = [mpi for mpi in _HEADERS if repository.path(_HEADERS[mpi]).exists]
    if not found:
        fail("no MPI library is installed (libmpich-dev, libopenmpi-dev): see tools/setup")
    repository.file("BUILD.bazel", "")
    repository.file("mpis.bzl", "ALL_MPIS = %r\nMPIS = %r\n" % (list(_HEADERS), found))

installed_mpis = repository_rule(
    doc = "MPIS: those that are installed. ALL_MPIS: those that Refrain knows.",
    implementation = _impl,
    local = True,
)
