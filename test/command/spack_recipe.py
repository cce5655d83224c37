"""spack_recipe.py FOLDER VERSION: whether the recipe in a repository for Spack keeps to Spack's rules.

Runs it with stand-ins for the names of spack.package that it uses: what it declares, that the source is the one of
its checksum and has what the recipe calls, and which programs install() starts. Spack itself is not run.
"""

import hashlib
import os
import re
import sys
import tarfile
import types

FOLDER, VERSION = sys.argv[1:]
RECIPE = os.path.join(FOLDER, "packages/refrain/package.py")
declared, started = [], []


def directive(name):
    return lambda *words, **options: declared.append((name, words, options))


class Prefix(str):
    """A path whose attributes are the folders in it."""

    def __getattr__(self, name):
        return Prefix(os.path.join(self, name))

    def join(self, name):
        return Prefix(os.path.join(self, name))


class Executable:
    def __init__(self, path):
        self.path = path

    def __call__(self, *words, env=None, output=None):
        started.append((self.path, words, env))
        return f"refrain {VERSION}\n" if output is str else None


def load():
    module = types.ModuleType("spack.package")
    names = {"Package": type("Package", (), {}), "Executable": Executable, "which": Executable}
    for name in ("license", "version", "depends_on", "requires", "conflicts"):
        names[name] = directive(name)
    vars(module).update(names)
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": module})
    with open(RECIPE, encoding="utf-8") as file:
        text = file.read()
    assert "@" not in text, "a mark is left"
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
        install = archive.getmember(f"refrain-{VERSION}/tools/install")
    assert install.mode & 0o100, "tools/install is no program"
    assert {name.split("/")[0] for name in names} == {f"refrain-{VERSION}"}

    package = recipe()
    package.prefix = Prefix("/prefix")
    package.spec = types.SimpleNamespace(version=VERSION)
    package.stage = types.SimpleNamespace(path="/stage", source_path="/stage/spack-src")
    package.install(package.spec, package.prefix)
    assert [(path, words) for path, words, _ in started] == [
        ("/stage/spack-src/tools/install", ("/prefix",)), ("/usr/bin/bazel", ("shutdown",))], started
    assert all(env["HOME"] == "/stage" for _, _, env in started)
    settings = []
    package.setup_run_environment(types.SimpleNamespace(prepend_path=lambda *words: settings.append(words)))
    assert settings == [("PYTHONPATH", "/prefix/lib/python3/dist-packages")], settings
    package.test_version()


main()
