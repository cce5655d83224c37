#!/usr/bin/env python3
"""Compares the tables with the installed MPI: prints what differs, exits with 1 if anything does.

    coverage.py FOLDER MPI      of the tables; MPI: mpich or openmpi

1. Every procedure that mpi.h declares with its PMPI_ twin is in procedures.tsv, with the same
   prototype, and nothing else is. 2. A wrapper is made of exactly those that the library has.
3. Every Fortran procedure of the Fortran libraries has a symbol of ours, but for the listed exceptions,
   and the original that it goes on to is there. 4. Open MPI's Fortran procedures call PMPI_X themselves, but for
   those that the table says do not.
"""

import os
import re
import subprocess
import sys

import generate

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
INCLUDE = {
    "mpich": "/usr/include/x86_64-linux-gnu/mpich",
    "openmpi": LIBRARIES + "/openmpi/include",
}
SOURCE = {
    "mpich": "#include <mpi.h>\n",
    "openmpi": "#define OMPI_OMIT_MPI1_COMPAT_DECLS 0\n#include <mpi.h>\n#include <mpi-ext.h>\n",
}
LIBRARY = {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}
FORTRAN = {
    "mpich": ["libmpichfort.so.12"],
    "openmpi": ["libmpi_mpifh.so.40", "libmpi_usempif08.so.40"],
}
# Of C: numbers of handles, which are macros in MPICH.
NO_WRAPPER = re.compile(r"MPI_(?!File|Status)\w+_(c2f|f2c)$")
# Not calls of the program: functions that are arguments of others, and a barrier for the
# compiler. MPICH's last are called so though their C names begin with MPIX_; no compiler's
# module has them. Open MPI has sizes of types, and sums and differences of addresses, in its modules.
NOT_CALLS = {
    "mpich": re.compile(r"mpi_(.*_fn|conversion_fn_null|f_sync_reg(_f08ts)?|"
                        r"delete_error_(class|code|string)_f08)_+$"),
    "openmpi": re.compile(r"mpi_(.*_fn|conversion_fn_null|f_sync_reg(_f08)?|sizeof_\w+|"
                          r"aint_(add|diff)(_f08)?)_+$"),
}


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


def declared(mpi):
    """Prototypes by name, as the compiler sees them."""
    text = subprocess.run(["gcc", "-E", "-P", "-I" + INCLUDE[mpi], "-"], input=SOURCE[mpi],
                          capture_output=True, text=True, check=True).stdout
    text = without_attributes(re.sub(r"\s+", " ", text))
    pattern = r"(?:^|[;}])\s*([A-Za-z_][\w \*]*?)\b(P?MPIX?_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?=;)"
    all_ = {m[2]: (m[1].strip(), m[3]) for m in re.finditer(pattern, text)}
    return {name: (all_[name][0].replace("extern ", ""), all_[name][1])
            for name in all_ if "P" + name in all_ and not NO_WRAPPER.match(name)}


def exported(library):
    path = os.path.join(LIBRARIES, library)
    text = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[2].split("@")[0] for line in text.splitlines()
            if line.split()[1] in "TW"}


def plain(text):
    """Types alone: what a parameter is called says nothing to the compiler."""
    text = re.sub(r"\bMPI_Fint\b", "int", re.sub(r"\s+", " ", text))
    text = re.sub(r"\bMPI_Handler_function\b", "MPI_Comm_errhandler_function", text)
    types = []
    for parameter in generate.split_list(text):
        name = re.search(r"[ *](\w+)((\[\d*\])*)$", parameter.strip())
        if name is not None and "(" not in parameter:
            stars = "*" * name.group(2).count("[")
            parameter = parameter.strip()[:name.start(1)] + stars
        types.append(re.sub(r"\s*\*\s*", "*", parameter).strip())
    return types


def calls(library):
    """Of the functions of a shared library, by name: which they call through its table of addresses."""
    path = os.path.join(LIBRARIES, library)
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True,
                          text=True, check=True).stdout
    called, at = {}, None
    for line in text.splitlines():
        if (begin := re.match(r"([0-9a-f]+) <.*>:", line)) is not None:
            at = called.setdefault(int(begin[1], 16), set())
        elif (call := re.search(r"(?:call|jmp)\s+[0-9a-f]+ <(\w+)@plt>", line)) is not None:
            at.add(call[1])
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                           check=True).stdout
    rows = [line.split() for line in names.splitlines()]
    return {row[2].split("@")[0]: called.get(int(row[0], 16), set()) for row in rows}


def does_itself(generator):
    """What is false in the table's column of Open MPI, of `w`."""
    called = calls("libmpi_mpifh.so.40")
    for procedure in generator.wrapped:
        if not generator.has(procedure, "f"):
            continue
        by_itself = "P" + procedure.name not in called[procedure.name.lower() + "_"]
        if by_itself != generator.has(procedure, "w"):
            word = "does not call" if by_itself else "calls"
            yield f"{procedure.name}: its Fortran procedure {word} P{procedure.name}"


def differences(folder, mpi):
    generator = generate.Generator(folder, mpi)
    header = declared(mpi)
    library = exported(LIBRARY[mpi])
    # What no library of this MPI has may be declared.
    table = {p.name: p for p in generator.procedures
             if p.symbols[mpi] != "x" or p.name in header and p.name not in library}
    if len(header) < 400:
        yield f"only {len(header)} procedures found in mpi.h"
    for name in sorted(set(header) ^ set(table)):
        yield f"{name}: {'only in mpi.h' if name in header else 'not in mpi.h'}"
    for name in sorted(set(header) & set(table)):
        result, parameters = header[name]
        if (plain(result), plain(parameters)) != (plain(table[name].result),
                                                  plain(table[name].parameters)):
            yield f"{name}: mpi.h says {result} ({parameters})"
    wrapped = {p.name for p in generator.wrapped}
    has = {n for n in library if re.match(r"MPIX?_", n) and "P" + n in library}
    for name in sorted({n for n in has if not NO_WRAPPER.match(n)} ^ wrapped):
        yield f"{name}: {'has no wrapper' if name in library else 'is not in ' + LIBRARY[mpi]}"
    fortran = set().union(*(exported(name) for name in FORTRAN[mpi]))
    ours = {row[0]: row[1] for row in generator.fortran_symbols()}
    theirs = {n for n in fortran if re.fullmatch(r"mpix?_\w+_", n) and not NOT_CALLS[mpi].match(n)}
    for name in sorted(theirs ^ set(ours)):
        yield f"{name}: {'has no wrapper' if name in theirs else 'is not in the Fortran library'}"
    for name in sorted(set(ours.values()) - fortran):
        yield f"{name}: is not in the Fortran library"


if __name__ == "__main__":
    found = list(differences(*sys.argv[1:]))
    if not found and sys.argv[2] == "openmpi":
        found = list(does_itself(generate.Generator(*sys.argv[1:])))
    print("\n".join(found))
    sys.exit(1 if found else 0)
