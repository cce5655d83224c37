"""The version is written in base/version.h; what else has it says the same or takes it from there."""

import os
import re
import subprocess
import sys

REFRAIN, HERE = sys.argv[1], os.path.dirname(os.path.abspath(sys.argv[0]))
TOP = os.path.dirname(os.path.dirname(HERE))


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def main():
    version = re.search(r'kVersion = "(\d+\.\d+\.\d+)"', read("base", "version.h"))[1]
    for words in (["--version"], ["help", "--json"]):
        said = subprocess.run([REFRAIN, *words], check=True, capture_output=True, text=True).stdout
        assert re.search(r"\d+\.\d+\.\d+", said)[0] == version, said[:200]
    assert re.search(r"^version: (.*)$", read("CITATION.cff"), re.M)[1] == version, "CITATION.cff"
    assert version not in read("tools", "install"), "tools/install has a version of its own"
    names = [os.path.join(place, name) for place, _, names in os.walk(HERE) for name in names]
    assert len(names) > 20
    for name in names:
        with open(name, encoding="utf-8") as file:
            assert version not in file.read(), f"{name} has a version of its own"


main()
