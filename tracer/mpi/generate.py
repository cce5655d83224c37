#!/usr/bin/env python3
"""Makes the wrappers of MPI's procedures from the tables beside this file.

    generate.py FOLDER OUTPUT...      writes each OUTPUT; its name says which one it is
    generate.py FOLDER --wrapper X    prints the wrapper of procedure X

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
    "absent": None,
}
# Of a symbol, by its role: the communication with other processes.
COMMUNICATION = {"p2p": "Stream::kMessage", "rma": "Stream::kMessage"} | dict.fromkeys(
    ("barrier", "one2all", "all2one", "all2all", "coll_other"), "Stream::kCollective")


class TableError(Exception):
    pass


@dataclass
class Procedure:
    number: int
    name: str
    version: str
    fortran: str
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
    rows = read_table(os.path.join(folder, "procedures.tsv"), 5)
    return [Procedure(i, *row) for i, row in enumerate(rows)]


def check(procedure, semantics):
    """Whether the semantics can be those of the procedure."""
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
        if name not in given and name.endswith("_c") and name[:-2] in given:
            result[name] = given[name[:-2]]
        elif name in given:
            result[name] = given[name]
        else:
            raise TableError(f"{name}: semantics.tsv does not have it")
        check(procedure, result[name])
    unknown = sorted(set(given) - set(result))
    if unknown:
        raise TableError(f"not procedures: {' '.join(unknown)}")
    return result


class Generator:
    def __init__(self, folder):
        self.folder = folder
        self.procedures = read_procedures(folder)
        self.semantics = read_semantics(folder, self.procedures)
        self.wrapped = [
            p for p in self.procedures if self.semantics[p.name].stream != "absent"
        ]

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
                for p in self.wrapped if "w" in p.fortran
                for name, original, _ in self.fortran_symbols([p])))

    def base(self, procedure):
        """The procedure without _c, if it has such a twin."""
        numbers = {p.name: p.number for p in self.procedures}
        return numbers.get(re.sub(r"_c$", "", procedure.name), procedure.number)

    def header(self):
        return self.fill(
            "procedures.h",
            numbers="\n".join(f"  k{p.name} = {p.number}," for p in self.wrapped),
            count=len(self.wrapped), numbers_end=len(self.procedures))

    def tables(self):
        redirected = [p for p in self.wrapped if "8" in p.fortran or "t" in p.fortran]
        return self.fill(
            "procedures.cc",
            infos="\n".join(
                f'    {{{p.number}, "{p.name}", "{self.semantics[p.name].role}", '
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
            if "f" in p.fortran:
                result += [(name + end, f"p{name}_", p.number) for end in ("_", "__")]
            large = "L" in p.fortran
            base = name[:-2] if large else name
            for letter, kind in (("8", "f08"), ("t", "f08ts")):
                if letter in p.fortran:
                    end = f"_{kind}_large_" if large else f"_{kind}_"
                    original = re.sub(r"^(mpix?)_", r"p\1r_", base) + end
                    result.append((base + end, original, self.base(p)))
        return result

    def fortran(self):
        return self.fill("fortran.S", trampolines="".join(
            self.fill("trampoline", name=name, original=original, number=number)
            for p in self.wrapped if "w" not in p.fortran
            for name, original, number in self.fortran_symbols([p])))

    def exports(self):
        names = [p.name for p in self.wrapped] + [row[0] for row in self.fortran_symbols()]
        return self.fill("exports.map", symbols="\n".join(f"    {name};" for name in names))


def procedure_has_window(procedure, parameter):
    return any(re.fullmatch(rf"MPI_Win \*?{parameter}", p.strip())
               for p in split_list(procedure.parameters))


def main(arguments):
    generator = Generator(arguments[0])
    if len(arguments) == 3 and arguments[1] == "--wrapper":
        print(generator.wrapper(next(p for p in generator.procedures if p.name == arguments[2])),
              end="")
        return
    outputs = {
        "wrappers.cc": generator.wrappers,
        "procedures.h": generator.header,
        "procedures.cc": generator.tables,
        "fortran.S": generator.fortran,
        "exports.map": generator.exports,
    }
    for path in arguments[1:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(outputs[os.path.basename(path)]())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TableError as error:
        sys.exit(f"generate.py: {error}")
