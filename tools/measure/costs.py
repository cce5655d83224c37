"""tools/bench costs: one table of what tracing costs, for the README and docs/lab/cost.md."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from measure import mpi as of_mpi
from measure import overhead as of_regions
from measure.common import Variant, bazel, describe, environment, fail, quartiles, refrain, run_program

TITLES = {"empty": "tool that does nothing", "recording": "recorded", "suspended": "skipped"}
# Whole programs: everything, and what a user gets.
OF_PROGRAMS = (Variant("untraced", [], {"OMP_TOOL": "disabled"}), Variant("recording", refrain("0")),
               Variant("suspended", refrain("10")))
RANKS_OF_RING = 2


class Row:
    """One line: by variant, in every round, what tracing adds."""

    def __init__(self, what, unit):
        self.what = what
        self.unit = unit
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def text(self, names):
        cells = [self.what]
        for name in names:
            if name not in self.values:
                cells.append("")
                continue
            low, middle, high = quartiles(self.values[name])
            sign, digits = ("+", 1) if self.unit == "%" else ("", 0)
            cells.append(f"{middle:{sign}.{digits}f} {self.unit} ({low:.{digits}f} … {high:.{digits}f})")
        return "| " + " | ".join(cells) + " |"


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:60}", end="", file=sys.stderr)


def rows_of_regions(options, scratch):
    shapes = [of_regions.Shape(length, threads, options)
              for length in options.lengths for threads in options.threads]
    for number in range(options.rounds):
        progress(f"regions: round {number + 1}")
        for shape in shapes:
            shape.run_round(number, scratch)
    for shape in shapes:
        row = Row(f"parallel regions of {shape.length_us:g} us, {shape.threads} threads", "%")
        for values in shape.rounds:
            for name in values:
                if name != "untraced":
                    row.add(name, 100 * (values[name][0] / values["untraced"][0] - 1))
        yield row


def rows_of_calls(options, scratch):
    program = of_mpi.program_of(options.mpi)
    units = max(int(run_program([program, "calibrate", "5000"], environment(1))["units"]) for _ in range(5))
    shapes = [(1, mode, [mode, str(count)], calls, what + ", a call") for mode, count, calls, what in of_mpi.SINGLE]
    shapes.append((RANKS_OF_RING, "ring", ["ring", "20000", str(units)], 0,
                   f"ring of {RANKS_OF_RING} processes, 5 us of work an iteration"))
    for ranks, mode, arguments, calls, what in shapes:
        row = Row(what, "ns" if calls else "%")
        for values in of_mpi.rounds_of(options, scratch, ranks, arguments, mode):
            alone = of_mpi.value(values, "untraced")
            for name in values:
                if name == "untraced":
                    continue
                traced = of_mpi.value(values, name)
                row.add(name, (traced - alone) / calls if calls else 100 * (traced / alone - 1))
        yield row


class Program:
    """--program 'NAME=[VARIABLE=VALUE ...] COMMAND'."""

    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        self.command = shlex.split(rest)
        self.variables = {}
        while self.command and re.match(r"\w+=", self.command[0]):
            key, _, value = self.command.pop(0).partition("=")
            self.variables[key] = value
        if not self.name or not self.command:
            fail(f"--program: no name, or no command: {text}")

    def seconds(self, variant, scratch):
        archive = os.path.join(scratch, "archive")
        command = [archive if word == "{archive}" else word for word in variant.command] + self.command
        env = dict(environment(1), **variant.variables, **self.variables)
        begin = time.monotonic()
        done = subprocess.run(command, env=env, cwd=scratch, capture_output=True, text=True)
        took = time.monotonic() - begin
        if done.returncode != 0:
            fail(f"{self.name}, {variant.name}: exit status {done.returncode}\n{done.stderr}")
        shutil.rmtree(archive, ignore_errors=True)
        return took


def rows_of_programs(options, scratch):
    for program in map(Program, options.program):
        rounds = []
        for number in range(options.rounds):
            progress(f"{program.name}: round {number + 1}")
            turn = number % len(OF_PROGRAMS)
            order = OF_PROGRAMS[turn:] + OF_PROGRAMS[:turn]
            rounds.append({v.name: program.seconds(v, scratch) for v in order})
        alone = quartiles([r["untraced"] for r in rounds])[1]
        row = Row(f"{program.name}, whole command ({alone:.1f} s untraced)", "%")
        for values in rounds:
            for name in values:
                if name != "untraced":
                    row.add(name, 100 * (values[name] / values["untraced"] - 1))
        yield row


def costs(options):
    bazel("build", "//tools:refrain", "//test/programs:shortloop_clang", "//test/tools:empty_tool.so",
          "//test/programs/mpi:" + os.path.basename(of_mpi.program_of(options.mpi)))
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        describe()
        print(f"Wall time over untraced, runs of each kind in turns, {options.rounds} rounds: medians (quartiles)\n")
        rows = []
        for kind in (rows_of_regions, rows_of_calls, rows_of_programs):
            if not options.only or kind.__name__.rsplit("_", 1)[1] in options.only:
                rows += kind(options, scratch)
        names = ["empty", "recording", "suspended"]
        names += [name for row in rows for name in row.values if name not in names]
        names = [name for at, name in enumerate(names) if name not in names[:at]]
        print("| | " + " | ".join(TITLES.get(name, name) for name in names) + " |")
        print("| --- |" + " --- |" * len(names))
        for row in rows:
            print(row.text(names))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
