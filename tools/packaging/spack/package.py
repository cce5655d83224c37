# Copyright (c) 2026, the Refrain authors
#
# SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack, with version, address and checksum of `tools/packaging/package --spack FOLDER`."""

import os

from spack.package import *


class Refrain(Package):
    """Refrain traces OpenMP and MPI programs and leaves out what repeats: it detects the loops
    of a program while it runs, and writes their first iterations to an OTF2 archive."""

    url = "@URL@"

    license("BSD-3-Clause")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    # Built from Debian's packages, and with its compiler: tools/setup in the source lists them.
    requires("platform=linux", msg="Refrain runs on Linux")
    requires("target=x86_64:", msg="Refrain runs on x86-64")
    requires("os=debian12", msg="Refrain is built from packages of Debian 12")

    sanity_check_is_file = ["bin/refrain", "lib/librefrain.so", "include/refrain.h"]

    def install(self, spec, prefix):
        # Bazel starts compilers without Spack's variables, which Spack's own wrappers need.
        plain = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.stage.path,
            "LANG": "C.UTF-8",
        }
        try:
            Executable(os.path.join(self.stage.source_path, "tools", "install"))(prefix, env=plain)
        finally:
            Executable("/usr/bin/bazel")("shutdown", env=plain)

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.lib.join("python3").join("dist-packages"))

    def test_version(self):
        """refrain says its version"""
        refrain = which(self.prefix.bin.refrain)
        assert refrain("--version", output=str).split()[1] == str(self.spec.version)
