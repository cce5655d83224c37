#!/usr/bin/env python3
"""What each directory includes is what the table "Rooms" of ARCHITECTURE.md allows; no directory is missing there, and no circle is.

    architecture_test.py NOT_BUILT TARGETS LIBRARY...

NOT_BUILT: a query's answer that must be empty (libraries that are not built with the command). TARGETS: another, all
libraries of the product. LIBRARY: what traced programs load; needs no library but those of _NEEDED.

Lines of the table: | `folder` | what it is | `other` (header, header), `another`; library, library |
A directory in brackets behind names the only headers that may be included of it. What tests need alone is not looked
at: ..._test.cc, synthetic_..., ..._bench..., testing, ..._checks.h.
"""

import os
import re
import subprocess
import sys

_LIBRARIES = {
    "CLI": "CLI11", "Zydis": "zydis", "elfutils": "elfutils", "dwarf.h": "elfutils",
    "gelf.h": "elfutils", "fmt": "fmt", "mpi.h": "MPI", "nlohmann": "json", "omp-tools.h": "OMPT", "otf2": "otf2",
    "pugixml.hpp": "pugixml", "pybind11": "pybind11", "zlib.h": "zlib",
}  # by the first name of a header's path
# No threads, clocks, files, environment: what has the word "pure" behind it includes nothing else of the system.
_PURE = set("""algorithm array bit cassert cctype charconv cmath cstddef cstdint cstring functional iterator limits map
    memory new numeric optional set span string string_view tuple type_traits unordered_map unordered_set utility variant
    vector cstdlib sys/mman.h""".split())
_NEEDED = {"libdw.so.1", "libelf.so.1", "libm.so.6", "libc.so.6"}
_OF_TESTS = re.compile(r"_test\.cc$|(^|/)synthetic_|_bench(mark)?\.|(^|/)testing[./]|_checks\.h$|recorder_model|foreign_archive|gate_record"
                       r"|walked_functions|summary_area|drawn_program")
_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
_TOP = os.getcwd()


def table():
    """{directory: ({other: headers or None}, libraries, pure)}"""
    rows = {}
    with open("ARCHITECTURE.md", encoding="utf-8") as file:
        for line in file.read().partition("## Rooms")[2].partition("\n## ")[0].splitlines():
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("| `") or len(cells) != 3 or "/" not in cells[0]:
                continue
            others, _, libraries = cells[2].partition(";")
            allowed = {}
            for folder, headers in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", others):
                allowed[folder] = {each.strip() for each in headers.split(",")} if headers else None
            for folder in re.findall(r"`([^`]+)`", cells[0]):
                rows[folder.rstrip("/")] = (allowed, {each.strip() for each in libraries.split(",") if each.strip()},
                                            "pure" in cells[2])
    return rows


def sources():
    for folder, below, files in os.walk(_TOP, followlinks=True):
        below[:] = [each for each in below if not (folder == _TOP and each in ("external", "test"))]
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), _TOP)
            if re.search(r"\.(cc|h|c)$", name) and not _OF_TESTS.search(path):
                yield path


def wrong(path, row):
    allowed, libraries, pure = row
    here = os.path.dirname(path)
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for line in lines:
        found = _INCLUDE.match(line)
        if not found:
            continue
        ours = found[1] and "/" in found[1]
        if ours:
            folder, header = os.path.split(found[1])
            if folder == here:
                continue
            if folder not in allowed:
                yield f"{path} includes {found[1]}: {here} may not include {folder}"
            elif allowed[folder] is not None and header[:-len(".h")] not in allowed[folder]:
                yield f"{path} includes {found[1]}: of {folder} it may include {', '.join(sorted(allowed[folder]))} only"
        elif found[2]:
            library = _LIBRARIES.get(found[2].split("/")[0])
            if library and library not in libraries:
                yield f"{path} includes <{found[2]}>: {here} has no {library}"
            if pure and found[2] not in _PURE:
                yield f"{path} includes <{found[2]}>: {here} is pure"


def circles(rows):
    """Of what the table allows."""
    done = set()

    def visit(folder, way):
        if folder in way:
            yield "circle: " + " includes ".join(way[way.index(folder):] + [folder])
        elif folder not in done:
            for other in rows[folder][0]:
                if other in rows:
                    yield from visit(other, way + [folder])
            done.add(folder)

    for folder in rows:
        yield from visit(folder, [])


def main():
    rows = table()
    faults = list(circles(rows))
    seen = set()
    for path in sources():
        here = os.path.dirname(path)
        if here not in rows:
            faults.append(f"{path}: its folder is not in ARCHITECTURE.md")
            continue
        seen.add(here)
        faults += wrong(path, rows[here])
    for folder, (allowed, _, _) in rows.items():
        faults += [f"ARCHITECTURE.md: {folder} may include {other}, which is no folder there"
                   for other in allowed if other not in rows]
    with open(sys.argv[2], encoding="utf-8") as answer:
        targets = re.findall(r"^//([^:]+):", answer.read(), re.M)
    faults += [f"{folder} has a library and is not among test/architecture's folders" for folder in sorted(set(targets))
               if not any((each + "/").startswith(folder + "/") for each in seen)]
    with open(sys.argv[1], encoding="utf-8") as answer:
        faults += [f"is not built with the command: {line.strip()}" for line in answer if line.strip()]
    for library in sys.argv[3:]:
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        faults += [f"{library} needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)
                   if name not in _NEEDED and not name.startswith("ld-linux")]
    for fault in faults:
        print(fault)
    if not faults:
        print("PASS: script test")
    return 1 if faults else 0


sys.exit(main())
