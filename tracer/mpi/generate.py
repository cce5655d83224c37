#!/usr/bin/env python3
"""Makes the wrappers of MPI's procedures from the tables next to this file.

    generate.py FOLDER MPI OUTPUT...      writes each OUTPUT; its name says which one it is
    generate.py FOLDER MPI --wrapper X    prints the wrapper of procedure X

MPI is mpich or openmpi: a column of procedures.tsv. procedures.h is the same for all.

Reads FOLDER/procedures.tsv (what MPI declares), FOLDER/semantics.tsv (what it means to us;
both say how they are read) and FOLDER/templates. A procedure without semantics, semantics
without a procedure, and a meaning that names no parameter of its procedure are errors.
"""

import os
import re
import string
import sys
from dataclasses import dataclass

ROLES = {
    "function", "p2p", "barrier", "one2all", "all2one", "all2all", "coll_other", "rma", "io",
}
STREAMS = {
    "symbol": "Stream::kSymbol",
    "completion": "Stream::kCompletion",
    "polling": "Stream::kPolling",
    "local": "Stream::kLocal",
    "convert": "Stream::kConvert",
    "start": "Stream::kStart",
}
# Of a symbol, by its role: the communication with other processes.
COMMUNICATION = {"p2p": "Stream::kMessage", "rma": "Stream::kMessage"} | dict.fromkeys(
    ("barrier", "one2all", "all2one", "all2all", "coll_other"), "Stream::kCollective")


# In the order of their columns.
MPIS = ("mpich", "openmpi")
# Of the Fortran symbols of 2008: what is before and after a procedure's name in the symbol, and in the
# profiling name that it goes on to.
F08 = {
    "mpich": {"8": ("pmpi{}r_", "f08"), "t": ("pmpi{}r_", "f08ts")},
    "openmpi": {"8": ("pmpi{}_", "f08")},
}


class TableError(Exception):
    pass


@dataclass
class Procedure:
    number: int
    name: str
    version: str
    symbols: dict  # by MPI; x: its library does not have the procedure
    result: str
    parameters: str

    def names(self):
        """The parameters' names."""
        if self.parameters == "void":
            return []
        words = [p.strip() for p in split_list(self.parameters)]
        return [re.search(r"(\w+)(\[\d*\])*$", w).group(1) for w in words if w != "..."]


@dataclass
class Semantics:
    role: str
    stream: str
    comm: str
    meaning: str


def stream_of(semantics):
    if semantics.stream != "symbol":
        return STREAMS[semantics.stream]
    return COMMUNICATION.get(semantics.role, STREAMS["symbol"])


def split_list(text):
    """Splits at the commas that are not in brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]


def read_table(path, columns):
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            row = line.rstrip("\n").split("\t")
            if len(row) != columns:
                raise TableError(f"{path}:{number}: {len(row)} columns, expected {columns}")
            rows.append(row)
    if [row[0] for row in rows] != sorted({row[0] for row in rows}):
        raise TableError(f"{path}: names are not in order, or not distinct")
    return rows


def read_procedures(folder):
    rows = read_table(os.path.join(folder, "procedures.tsv"), 4 + len(MPIS))
    return [Procedure(i, *row[:2], dict(zip(MPIS, row[2:-2])), *row[-2:])
            for i, row in enumerate(rows)]


def check(procedure, semantics):
    """Returns true if the semantics can be those of the procedure."""
    if semantics.role not in ROLES:
        raise TableError(f"{procedure.name}: unknown role '{semantics.role}'")
    if semantics.stream not in STREAMS:
        raise TableError(f"{procedure.name}: unknown stream '{semantics.stream}'")
    names = procedure.names()
    if semantics.comm != "-" and semantics.comm.lstrip("*") not in names:
        raise TableError(f"{procedure.name}: no parameter '{semantics.comm}'")
    if semantics.meaning != "-":
        inner = re.fullmatch(r"\w+\((.*)\)", semantics.meaning)
        if inner is None:
            raise TableError(f"{procedure.name}: not a meaning: '{semantics.meaning}'")
        for word in re.findall(r"\b[A-Za-z_]\w*\b(?!\()", inner.group(1)):
            if word not in names and not re.match(r"k[A-Z]", word):
                raise TableError(f"{procedure.name}: no parameter '{word}'")


def read_semantics(folder, procedures):
    rows = read_table(os.path.join(folder, "semantics.tsv"), 5)
    given = {row[0]: Semantics(*row[1:]) for row in rows}
    result = {}
    for procedure in procedures:
        name = procedure.name
        like = [name, re.sub(r"_c$", "", name), re.sub(r"^MPIX_(\w+_init)$", r"MPI_\1", name)]
        found = [given[n] for n in like if n in given]
        if not found:
            raise TableError(f"{name}: semantics.tsv does not have it")
        result[name] = found[0]
        check(procedure, result[name])
    unknown = sorted(set(given) - set(result))
    if unknown:
        raise TableError(f"not procedures: {' '.join(unknown)}")
    return result


class Generator:
    def __init__(self, folder, mpi):
        self.folder = folder
        self.mpi = mpi
        self.procedures = read_procedures(folder)
        self.semantics = read_semantics(folder, self.procedures)
        self.wrapped = [p for p in self.procedures if p.symbols[mpi] != "x"]
        self.numbers = {p.name: p.number for p in self.procedures}

    def has(self, procedure, letter):
        """Returns true if the library has these Fortran symbols of the procedure."""
        return letter in procedure.symbols[self.mpi]

    def fill(self, template, **values):
        path = os.path.join(self.folder, "templates", template + ".tmpl")
        with open(path, encoding="utf-8") as file:
            return string.Template(file.read()).substitute(values)

    def wrapper(self, procedure):
        semantics = self.semantics[procedure.name]
        arguments = procedure.names()
        before = after = ""
        if semantics.meaning != "-":
            kind, inner = re.fullmatch(r"(\w+)\((.*)\)", semantics.meaning).groups()
            words = ["call"] + [w.strip() for w in split_list(inner) if w.strip()]
            for word in words:
                if word.startswith("&"):
                    method = "statuses" if word.endswith("statuses") else "status"
                    arguments[arguments.index(word[1:])] = f"meaning.{method}()"
            # Computed after the call: then the arguments are known to be valid.
            asked = [self.question(word) for word in words if "(" in word]
            words = [word.lstrip("&") for word in words if "(" not in word]
            before = f"  {kind} meaning({', '.join(words)});\n"
            after = f"  meaning.after({', '.join(['returned'] + asked)});\n"
        comm = semantics.comm
        if comm == "-":
            handle = "kNoHandle"
        elif procedure_has_window(procedure, comm.lstrip("*")):
            handle = f"window_of({comm.lstrip('*')})"
        else:
            handle = f"communicator_of({comm.lstrip('*')})"
        return self.fill(
            "wrapper", result=procedure.result, name=procedure.name,
            parameters="" if procedure.parameters == "void" else procedure.parameters,
            stream=stream_of(semantics), comm=handle, before=before, after=after,
            arguments=", ".join(arguments))

    @staticmethod
    def question(word):
        function, inner = re.fullmatch(r"(\w+)\((.*)\)", word).groups()
        words = ["*call.comm()"] + [w.strip() for w in split_list(inner) if w.strip()]
        return f"[&] {{ return {function}({', '.join(words)}); }}"

    def wrappers(self):
        return self.fill(
            "wrappers.cc",
            weak="\n".join(f"#pragma weak P{p.name}" for p in self.wrapped),
            wrappers="\n".join(self.wrapper(p) for p in self.wrapped),
            fortran_wrappers="\n".join(
                self.fill("fortran_wrapper", name=name, original=original, procedure=p.name,
                          stream=stream_of(self.semantics[p.name]))
                for p in self.wrapped if self.has(p, "w")
                for name, original, _ in self.fortran_symbols([p])))

    def base(self, procedure):
        """The procedure without _c, if it has such a twin."""
        return self.numbers.get(re.sub(r"_c$", "", procedure.name), procedure.number)

    def header(self):
        return self.fill(
            "procedures.h",
            numbers="\n".join(f"  k{p.name} = {p.number}," for p in self.procedures),
            numbers_end=len(self.procedures))

    def tables(self):
        # MPICH's older Fortran interfaces call MPI_X, all other ones PMPI_X.
        letters = "8t" if self.mpi == "mpich" else "f8c"
        redirected = [p for p in self.wrapped if any(self.has(p, letter) for letter in letters)]
        return self.fill(
            "procedures.cc",
            infos="\n".join(
                f'    {{{p.number}, "{p.name}", '
                f'{"true" if self.semantics[p.name].meaning != "-" else "false"}}},'
                for p in self.wrapped),
            bases=" ".join(f"{self.base(p)}," for p in self.procedures),
            redirections="\n".join(
                f'    {{"P{p.name}", reinterpret_cast<void (*)()>(&{p.name})}},'
                for p in redirected),
            redirection_count=len(redirected))

    def fortran_symbols(self, procedures=None):
        """Of each Fortran symbol: its name, its original and its procedure's number."""
        result = []
        for p in procedures or self.wrapped:
            name = p.name.lower()
            if self.has(p, "f"):
                result += [(name + end, f"p{name}_", p.number) for end in ("_", "__")]
            if self.has(p, "c"):
                result += [(f"{name}_cptr" + end, f"p{name}_cptr_", p.number)
                           for end in ("_", "__")]
            large = self.has(p, "L")
            base = name[:-2] if large else name
            for letter, (begin, kind) in F08[self.mpi].items():
                if self.has(p, letter):
                    end = f"_{kind}_large_" if large else f"_{kind}_"
                    x, rest = re.fullmatch(r"mpi(x?)_(\w+)", base).groups()
                    result.append((base + end, begin.format(x) + rest + end, self.base(p)))
        return result

    def fortran(self):
        return self.fill("fortran.S", trampolines="".join(
            self.fill("trampoline", name=name, original=original, number=number)
            for p in self.wrapped if not self.has(p, "w")
            for name, original, number in self.fortran_symbols([p])))

    def exports(self):
        names = [p.name for p in self.wrapped] + [row[0] for row in self.fortran_symbols()]
        with open(os.path.join(self.folder, "../exports.map"), encoding="utf-8") as file:
            common = re.search(r"global:\n(.*?)\n *local:", file.read(), re.DOTALL)[1]
        return self.fill("exports.map", mpi=self.mpi, common=common,
                         symbols="\n".join(f"    {name};" for name in names))


def procedure_has_window(procedure, parameter):
    return any(re.fullmatch(rf"MPI_Win \*?{parameter}", p.strip())
               for p in split_list(procedure.parameters))


def main(arguments):
    generator = Generator(*arguments[:2])
    if len(arguments) == 4 and arguments[2] == "--wrapper":
        print(generator.wrapper(next(p for p in generator.procedures if p.name == arguments[3])),
              end="")
        return
    outputs = {
        "wrappers.cc": generator.wrappers,
        "procedures.h": generator.header,
        "procedures.cc": generator.tables,
        "fortran.S": generator.fortran,
        "exports.map": generator.exports,
    }
    for path in arguments[2:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(outputs[os.path.basename(path).replace("_" + generator.mpi, "")]())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TableError as error:
        sys.exit(f"generate.py: {error}")
