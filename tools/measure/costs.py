"""tools/bench costs: one table of what tracing costs, for the README and docs/lab/cost.md."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from measure import mpi as of_mpi
from measure import overhead as of_regions
from measure.common import Variant, bazel, describe, environment, fail, in_turns, quartiles, refrain

TITLES = {"empty": "tool that does nothing", "recording": "recorded", "suspended": "skipped"}
# Whole programs: everything, and what a user gets.
OF_PROGRAMS = (Variant("untraced", [], {"OMP_TOOL": "disabled"}), Variant("recording", refrain("0")),
               Variant("suspended", refrain("10")))


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


def row_of(what, unit, rounds, added):
    """`added`: of a traced value, and the untraced one."""
    row = Row(what, unit)
    for values in rounds:
        for name in values:
            if name != "untraced":
                row.add(name, added(values[name], values["untraced"]))
    return row


def percent_over(traced, untraced):
    return 100 * (traced / untraced - 1)


def rows_of_regions(options, scratch):
    shapes = [of_regions.Shape(length, threads, options)
              for length in options.lengths for threads in options.threads]
    for number in range(options.rounds):
        for shape in shapes:
            shape.run_round(number, scratch)
    for shape in shapes:
        rounds = [{name: wall for name, (wall, _) in values.items()} for values in shape.rounds]
        yield row_of(f"parallel regions of {shape.length_us:g} us, {shape.threads} threads", "%", rounds, percent_over)


def rows_of_calls(options, scratch):
    def times(rounds):
        return [{name: of_mpi.value(values, name) for name in values} for values in rounds]

    for mode, count, calls, what in of_mpi.SINGLE:
        rounds = of_mpi.rounds_of(options, scratch, 1, [mode, str(count)], mode)
        yield row_of(what + ", a call", "ns", times(rounds), lambda traced, untraced: (traced - untraced) / calls)
    yield row_of("the same two after 16 MB of memory were written, a call", "ns",
                 times(of_mpi.rounds_of(options, scratch, 1, ["cold", "2000"], "cold")),
                 lambda traced, untraced: (traced - untraced) / of_mpi.RING_CALLS)
    yield row_of("ring of 2 processes, 5 us of work an iteration", "%", times(of_mpi.rounds_of_ring(options, scratch)), percent_over)


def rows_of_starts(options, scratch):
    """A program of one parallel region, from its first to its last moment."""
    for threads in (2, 128):
        program = Program(f"start and end, {threads} threads=OMP_NUM_THREADS={threads} KMP_BLOCKTIME=0 {of_regions.PROGRAM} 1 0 1")
        rounds = in_turns(OF_PROGRAMS, 3 * options.rounds, program.name, lambda variant: program.seconds(variant, scratch))
        yield row_of(program.name, "ms", rounds, lambda traced, untraced: 1000 * (traced - untraced))


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
        rounds = in_turns(OF_PROGRAMS, options.rounds, program.name, lambda variant: program.seconds(variant, scratch))
        alone = quartiles([values["untraced"] for values in rounds])[1]
        yield row_of(f"{program.name}, whole command ({alone:.1f} s untraced)", "%", rounds, percent_over)


def costs(options):
    bazel("build", "//tools:refrain", "//test/programs:shortloop_clang", "//test/tools:empty_tool.so",
          "//test/programs/mpi:" + os.path.basename(of_mpi.program_of(options.mpi)))
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        describe()
        print(f"Wall time over untraced, runs of each kind in turns, {options.rounds} rounds: medians (quartiles)\n")
        rows = []
        for kind in (rows_of_regions, rows_of_calls, rows_of_starts, rows_of_programs):
            if not options.only or kind.__name__.rsplit("_", 1)[1] in options.only:
                rows += kind(options, scratch)
        names = list(dict.fromkeys(["empty", "recording", "suspended"] + [name for row in rows for name in row.values]))
        print("| | " + " | ".join(TITLES.get(name, name) for name in names) + " |")
        print("| --- |" + " --- |" * len(names))
        for row in rows:
            print(row.text(names))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
