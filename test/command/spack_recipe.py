"""spack_recipe.py FOLDER VERSION: whether the recipe in a repository for Spack keeps to Spack's rules.

Runs it with stand-ins for the names of spack.package that it uses: what it declares, that the source is the one of
its checksum and has what CMake is given, and what that is for each MPI. Spack itself is not run.
"""

import hashlib
import os
import re
import sys
import tarfile
import types

FOLDER, VERSION = sys.argv[1:]
RECIPE = os.path.join(FOLDER, "packages/refrain/package.py")
declared = []


def directive(name):
    return lambda *words, **options: declared.append((name, words, options))


class Prefix(str):
    """A path whose attributes are the directories in it."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))

    def join(self, name):
        return Prefix(os.path.join(self, name))


class CMakePackage:
    @staticmethod
    def define(name, value):
        return f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}"


class Spec:
    """A spec with these variants, and the packages that it depends on below /NAME."""

    version = VERSION

    def __init__(self, variants, mpi):
        self.variants, self.mpi = variants, mpi

    def satisfies(self, text):
        return text in self.variants.split()

    def __getitem__(self, name):
        name = self.mpi if name == "mpi" else name
        assert any(kind == "depends_on" and words[0].split("@")[0] in (name, "mpi") for kind, words, _ in declared), name
        command = types.SimpleNamespace(path=f"/{name}/bin/{name}")
        return types.SimpleNamespace(name=name, prefix=Prefix("/" + name), command=command, libs=[f"/{name}/lib/a.so"])


def program(path):
    def run(*words, output=None):
        assert (path, words, output) == ("/prefix/bin/refrain", ("--version",), str)
        return f"refrain {VERSION}\n"
    return run


def load():
    module = types.ModuleType("spack.package")
    names = {"CMakePackage": CMakePackage, "which": program}
    for name in ("license", "version", "variant", "depends_on", "requires", "conflicts"):
        names[name] = directive(name)
    vars(module).update(names)
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
    with open(RECIPE, encoding="utf-8") as file:
        text = file.read()
    assert not re.search("@[A-Z0-9]+@", text), "a mark is left"
    for line in text.splitlines():
        assert len(line) <= 99 or line.startswith("    url = "), f"more than 99 characters: {line}"
    assert "SPDX-License-Identifier" in text
    scope = {}
    exec(compile(text, RECIPE, "exec"), scope)  # pylint: disable=exec-used
    return scope["Refrain"]


def main():
    with open(os.path.join(FOLDER, "repo.yaml"), encoding="utf-8") as file:
        assert re.fullmatch(r"repo:\n  namespace: refrain\n", file.read())
    recipe = load()
    assert recipe.__doc__
    assert ("license", ("BSD-3-Clause",), {}) in declared
    (version, options), = [(words[0], options) for name, words, options in declared if name == "version"]
    assert version == VERSION
    source = re.fullmatch(r"file://(/.*)", recipe.url)[1]
    assert os.path.basename(source) == f"refrain-{VERSION}.tar.gz"
    with open(source, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == options["sha256"], "another source"
    with tarfile.open(source) as archive:
        names = archive.getnames()
        tool = archive.getmember(f"refrain-{VERSION}/tools/packaging/install_files")
        build = "".join(archive.extractfile(f"refrain-{VERSION}/{name}").read().decode()
                        for name in ("CMakeLists.txt", "tools/packaging/requirements.cmake"))
    assert tool.mode & 0o100, "tools/packaging/install_files is no program"
    assert {name.split("/")[0] for name in names} == {f"refrain-{VERSION}"}

    package = recipe()
    package.prefix = Prefix("/prefix")
    for mpi, variants, wanted, unwanted in (
            ("mpich", "+mpi +python +exact", "REFRAIN_MPICH_INCLUDE=/mpich/include", "REFRAIN_OPENMPI_INCLUDE=OFF"),
            ("openmpi", "+mpi +python +exact", "REFRAIN_OPENMPI_INCLUDE=/openmpi/include", "REFRAIN_MPICH_INCLUDE=OFF"),
            ("", "~mpi ~python ~exact", "REFRAIN_PYBIND11_INCLUDE=OFF", "REFRAIN_HAS_valgrind=OFF")):
        package.spec = Spec(variants, mpi)
        args = package.cmake_args()
        assert "-D" + wanted in args and "-D" + unwanted in args, args
        for arg in args:
            name = re.fullmatch(r"-D(\w+)=\S+", arg)[1]
            # A package's variable has its prefix and name: refrain_package(NAME).
            assert name in build or f"refrain_package({name.removeprefix('REFRAIN_HAS_')})" in build, f"nothing reads {name}"

    package.spec = Spec("+mpi +python +exact", "mpich")
    settings = {}
    environment = types.SimpleNamespace(set=settings.__setitem__, prepend_path=settings.__setitem__)
    package.setup_build_environment(environment)
    assert settings == {"REFRAIN_LIBOMP": "/llvm-openmp/lib/a.so"}, settings
    package.setup_run_environment(environment)
    assert settings["PYTHONPATH"] == "/prefix/lib/python3/dist-packages", settings
    package.test_version()


main()
