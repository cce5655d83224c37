#!/usr/bin/env python3
"""Compares the tables with the installed MPI: prints what differs, exits with 1 if anything does.

    coverage.py FOLDER      of the tables

1. Every procedure that mpi.h declares with its PMPI_ twin is in procedures.tsv, with the same
   prototype, and nothing else is. 2. A wrapper is made of exactly those that libmpich has.
3. Every Fortran procedure of libmpichfort has a symbol of ours, but for the listed exceptions,
   and the original that it goes on to is there.
"""

import os
import re
import subprocess
import sys

import generate

INCLUDE = "/usr/include/x86_64-linux-gnu/mpich"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# Not calls of the program: functions that are arguments of others, and a barrier for the
# compiler. The last are called so though their C names begin with MPIX_; no compiler's
# module has them.
NOT_CALLS = re.compile(r"mpi_(.*_fn|conversion_fn_null|f_sync_reg(_f08ts)?|"
                       r"delete_error_(class|code|string)_f08)_+$")


def without_attributes(text):
    result, at = "", 0
    while (start := text.find("__attribute__", at)) >= 0:
        result += text[at:start]
        depth, at = 0, text.index("(", start)
        while True:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return result + text[at:]


def declared():
    """Prototypes by name, as the compiler sees them."""
    text = subprocess.run(["gcc", "-E", "-P", "-I" + INCLUDE, "-"], input="#include <mpi.h>\n",
                          capture_output=True, text=True, check=True).stdout
    text = without_attributes(re.sub(r"\s+", " ", text))
    pattern = r"(?:^|[;}])\s*([A-Za-z_][\w \*]*?)\b(P?MPIX?_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?=;)"
    all_ = {m[2]: (m[1].strip(), m[3]) for m in re.finditer(pattern, text)}
    return {name: all_[name] for name in all_ if "P" + name in all_}


def exported(library):
    path = os.path.join(LIBRARIES, library)
    text = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[2].split("@")[0] for line in text.splitlines()
            if line.split()[1] in "TW"}


def plain(text):
    return re.sub(r"\s*([*,])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def differences(folder):
    generator = generate.Generator(folder)
    table = {p.name: p for p in generator.procedures}
    header = declared()
    if len(header) < 400:
        yield f"only {len(header)} procedures found in mpi.h"
    for name in sorted(set(header) ^ set(table)):
        yield f"{name}: {'only in mpi.h' if name in header else 'not in mpi.h'}"
    for name in sorted(set(header) & set(table)):
        result, parameters = header[name]
        if (plain(result), plain(parameters)) != (plain(table[name].result),
                                                  plain(table[name].parameters)):
            yield f"{name}: mpi.h says {result} ({parameters})"
    library = exported("libmpich.so.12")
    wrapped = {p.name for p in generator.wrapped}
    for name in sorted({n for n in library if re.match(r"MPIX?_", n) and "P" + n in library} ^ wrapped):
        yield f"{name}: {'has no wrapper' if name in library else 'is not in libmpich'}"
    fortran = exported("libmpichfort.so.12")
    ours = {row[0]: row[1] for row in generator.fortran_symbols()}
    theirs = {n for n in fortran if re.fullmatch(r"mpix?_\w+_", n) and not NOT_CALLS.match(n)}
    for name in sorted(theirs ^ set(ours)):
        yield f"{name}: {'has no wrapper' if name in theirs else 'is not in libmpichfort'}"
    for name in sorted(set(ours.values()) - fortran):
        yield f"{name}: is not in libmpichfort"


if __name__ == "__main__":
    found = list(differences(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
