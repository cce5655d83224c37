# Copyright (c) 2026, the Refrain authors
#
# SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack; `tools/packaging/package --spack FOLDER` puts version and checksum into it."""

from spack.package import *


class Refrain(CMakePackage):
    """Refrain traces OpenMP and MPI programs and leaves out what repeats: it detects the loops
    of a program while it runs, and writes their first iterations to an OTF2 archive."""

    url = "@URL@"

    license("BSD-3-Clause")

    version("@VERSION@", sha256="@SHA256@")

    variant("mpi", default=True, description="Trace programs of an MPI: MPICH's ABI or Open MPI")
    variant("python", default=True, description="Install the Python module")
    variant("exact", default=True, when="target=x86_64:", description="refrain loops --exact")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.19:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.3:", type="build")
    depends_on("fmt@9", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("otf2@3:")
    depends_on("elfutils")
    depends_on("pugixml")
    depends_on("zlib-api")
    depends_on("zydis@4.0")
    # Programs by gcc are traced with this runtime.
    depends_on("llvm-openmp")
    depends_on("python@3.8:", type="build")
    depends_on("python@3.8:", type=("build", "run"), when="+python")
    depends_on("py-pybind11", type="build", when="+python")
    # Its header alone is used; the library is that of the program.
    depends_on("mpi", when="+mpi")
    depends_on("valgrind", type=("build", "run"), when="+exact")

    # Spack has neither esbuild nor the modules of d3: those of the machine are used
    # (Debian: esbuild, node-d3).
    requires("platform=linux", msg="Refrain runs on Linux")
    conflicts("%gcc@:11", msg="Refrain is written in C++20")

    sanity_check_is_file = ["bin/refrain", "lib/librefrain.so", "include/refrain.h"]

    def cmake_args(self):
        spec = self.spec
        folders = {"MPICH": False, "OPENMPI": False}
        if spec.satisfies("+mpi"):
            kind = "OPENMPI" if spec["mpi"].name == "openmpi" else "MPICH"
            folders[kind] = spec["mpi"].prefix.include
        args = [self.define(f"REFRAIN_{kind}_INCLUDE", where) for kind, where in folders.items()]
        args.append(self.define("REFRAIN_OMPT_INCLUDE", spec["llvm-openmp"].prefix.include))
        args.append(self.define("Python3_EXECUTABLE", spec["python"].command.path))
        args.append(self.define("REFRAIN_HAS_valgrind", spec.satisfies("+exact")))
        if spec.satisfies("~python"):
            args.append(self.define("REFRAIN_PYBIND11_INCLUDE", False))
        return args

    def setup_build_environment(self, env):
        env.set("REFRAIN_LIBOMP", self.spec["llvm-openmp"].libs[0])

    def setup_run_environment(self, env):
        env.set("REFRAIN_LIBOMP", self.spec["llvm-openmp"].libs[0])
        if self.spec.satisfies("+exact"):
            env.set("VALGRIND_LIB", self.spec["valgrind"].prefix.libexec.join("valgrind"))
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", self.prefix.lib.join("python3").join("dist-packages"))

    def test_version(self):
        """refrain says its version"""
        refrain = which(self.prefix.bin.refrain)
        assert refrain("--version", output=str).split()[1] == str(self.spec.version)
