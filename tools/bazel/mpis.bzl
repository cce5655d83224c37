"""Which MPI libraries are installed: Refrain is built for each of them; where there is none, for OpenMP alone."""

_HEADERS = {
    "mpich": "/usr/include/{machine}-linux-gnu/mpich/mpi.h",
    "openmpi": "/usr/lib/{machine}-linux-gnu/openmpi/include/mpi.h",
}

def _impl(repository):
    machine = repository.execute(["uname", "-m"]).stdout.strip()
    found = [mpi for mpi in _HEADERS if repository.path(_HEADERS[mpi].format(machine = machine)).exists]
    repository.file("BUILD.bazel", "")
    repository.file("mpis.bzl", "ALL_MPIS = %r\nMPIS = %r\n" % (list(_HEADERS), found))

installed_mpis = repository_rule(
    doc = "MPIS: those that are installed. ALL_MPIS: those that Refrain knows.",
    implementation = _impl,
    local = True,
)
