"""Reads the files for Cube that traced runs have made with CubeLib's own tools, and compares every value that
cube_dump prints: of profile.cubex with the summary, of analysis.cubex with what `refrain analyze`
says.

Usage: tools/check profiles-in-cubelib --cubelib FOLDER --prefix PREFIX --programs FOLDER [options]

FOLDER of --cubelib holds cube_dump and CubeLib's other commands, that of --programs the test programs
(bazel-bin/test/programs). PREFIX is where `tools/install PREFIX` has put Refrain.

    --keep FOLDER    archives and what the commands print are put there
    --only REGEX     runs whose name matches

Prints Markdown: a table of the files, and what differs. Exit status 1 if anything does, or a command ends with an
error.
"""

import argparse
import contextlib
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks.waits import environment

FORK, OTHER = 1, 2  # kinds of a summary's nodes
MINIMUM, MAXIMUM = "min_time", "max_time"

# Each reads FILE and must say something; cube_info and the next two look for visits.
COMMANDS = (
    ["cube_info", "FILE"], ["cube_info", "-v", "FILE"], ["cube_rank", "FILE"],
    ["cube_regioninfo", "-r", "-m", "time,visits", "FILE"],
    ["cube_calltree", "-a", "-m", "time", "-i", "FILE"],
    ["cube_stat", "-m", "time,visits", "-p", "FILE"],
    ["cube_cmp", "FILE", "FILE"], ["cube_sanity", "FILE"])


def runs(programs):
    """(name, ranks, threads, limit, words) of each run."""
    def path(name):
        return os.path.join(os.path.abspath(programs), name)

    yield "cg, 2 threads", 0, 2, 10, [path("cg_gcc")]
    yield "halo, 2 ranks", 2, 1, 5, [path("mpi/halo_gcc")]
    yield "hybrid, 2 ranks of 2 threads", 2, 2, 5, [path("mpi/hybrid_gcc")]
    yield "torus, 6 ranks", 6, 1, 5, [path("mpi/torus_gcc")]


def trace(run, archive, options):
    _, ranks, threads, limit, words = run
    launcher = [options.mpirun, "-n", str(ranks)] if ranks else []
    for command in (launcher + [options.refrain, "run", "-n", str(limit), "-o", archive, "--"] + words,
                    [options.refrain, "analyze", archive, "--json"]):
        done = subprocess.run(command, env=environment(threads), capture_output=True, text=True,
                              timeout=options.time_limit)
        if done.returncode != 0:
            sys.exit(f"campaign: {' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


# --- What CubeLib prints ------------------------------------------------------------


def cubelib(words, options):
    words = [os.path.join(options.cubelib, words[0])] + words[1:]
    return subprocess.run(words, capture_output=True, text=True, errors="replace",
                          timeout=options.time_limit)


def failures(file, options, log):
    """Of the commands that do not look at each value."""
    for command in COMMANDS:
        done = cubelib([file if word == "FILE" else word for word in command], options)
        said = done.stdout + done.stderr
        log.write(f"$ {' '.join(command)}\n{said}\n")
        shown = " ".join(command[:-1])
        wrong = re.search(r"(?i)\b(error|exception|cannot|assertion|failed)\b.*", said)
        if done.returncode != 0 or not said.strip():
            yield f"{shown}: exit status {done.returncode}, {said.strip()[-200:]}"
        elif wrong and command[0] != "cube_sanity":
            yield f"{shown}: {wrong[0]}"
        elif command[0] == "cube_sanity":
            yield from (f"cube_sanity: {found[0]}"
                        for found in re.finditer(r"No negative \w+ metrics \.+ (\d+) / (\d+)", said)
                        if found[1] != found[2])


def shown_visits(file, options):
    """(region, visits) of each call path, as cube_info -v prints them."""
    found = re.findall(r"(?m)^\| +(\d+) \|[ |]*\* (.*)$", cubelib(["cube_info", "-v", file], options).stdout)
    return sorted((name.strip(), int(visits)) for visits, name in found)


def visits_of(dump):
    """The same, as cube_dump does."""
    sums = {}
    for (names, _), texts in dump.values["visits"].items():
        row = sums.setdefault(names, [0] * len(texts))
        for i, text in enumerate(texts):  # call paths with the same names
            row[i] += int(text)
    return sorted((names[-1], each) for names, row in sums.items() for each in row)


def call_paths(file, options):
    """By CubeLib's number the names of a call path and those above it."""
    done = cubelib(["cube_dump", "-w", "calltree", file], options)
    names, chain = {}, []
    for line in done.stdout.splitlines():
        match = re.match(r"^((?:  \|?)*-)?(.*?)  \[ \( id=(\d+),", line)
        if not match:
            continue
        depth = len(re.findall(r"  \|?", match[1] or ""))
        chain[depth:] = [match[2]]
        names[int(match[3])] = tuple(chain)
    return names


class Dump:
    """values[metric][call path's names, location]: texts, in a list of those with the same names."""

    def __init__(self, file, flavour, options):
        paths = call_paths(file, options)
        done = cubelib(["cube_dump", "-m", "all", "-c", "all", *flavour, "-s", "csv2", file], options)
        rows = list(csv.reader(done.stdout.splitlines()))
        if done.returncode != 0 or len(rows) < 2:
            sys.exit(f"campaign: cube_dump {file}: exit status {done.returncode}, {done.stderr}")
        self.values, self.count = {}, 0
        for row in rows[1:]:
            key = paths[int(row[0])], int(row[1])
            for metric, text in zip(rows[0][2:], row[2:]):
                self.values.setdefault(metric.strip(), {}).setdefault(key, []).append(text.strip())
                self.count += 1
        self.locations = 1 + max(int(row[1]) for row in rows[1:])


# --- What must be there -------------------------------------------------------------


class Expected:
    """values[metric][call path's names, location], with times of a call path without those in it."""

    def __init__(self, archive):
        self.values, self.run_times = {}, []
        files = glob.glob(os.path.join(archive, "summary", "process-*.json"))
        for process in sorted((json.load(open(name, "rb")) for name in files),
                              key=lambda process: process["process"]):
            self.process = process
            self.second = process["ticks_per_second"]
            self.program = (os.path.basename(process["program"]),)
            self.names = self.names_of_nodes()
            for location in process["locations"]:
                self.add_location(location, len(self.run_times))
                self.run_times.append((process["end"] - process["begin"]) / self.second)

    def names_of_nodes(self):
        """A fork is no call path. What a worker does lies where the one call path leads that forks there."""
        nodes, regions = self.process["nodes"], self.process["regions"]
        names, forked = [], {}
        for parent, region, kind, _ in nodes:
            if kind == OTHER:
                sys.exit("campaign: a summary without place for all")
            above = self.program if parent is None else names[parent]
            names.append(above if kind == FORK else above + (regions[region]["name"],))
            if kind == FORK:
                forked.setdefault(region, set()).add(above)
        for i, (parent, region, kind, _) in enumerate(nodes):
            if parent is not None:
                names[i] = names[parent] if kind == FORK else names[parent] + names[i][-1:]
            elif kind != FORK and len(forked.get(region, ())) == 1:
                names[i] = next(iter(forked[region])) + names[i][-1:]
        return names

    def add(self, metric, names, location, value, by=lambda a, b: a + b):
        values = self.values.setdefault(metric, {})
        key = names, location
        values[key] = by(values[key], value) if key in values else value

    def add_location(self, at, location):
        process = self.process
        self.add("visits", self.program, location, int(at["number"] == 0))
        run_time = (process["end"] - process["begin"]) / self.second
        self.add("time", self.program, location, run_time)
        if at["number"] == 0:
            self.add(MINIMUM, self.program, location, run_time)
            self.add(MAXIMUM, self.program, location, run_time)

        def column(name, node):
            return at[name][node] if name in at else 0

        for i, (parent, _, kind, _) in enumerate(process["nodes"]):
            time = column("time", i) / self.second
            self.add("time", self.names[i], location, time)
            # A worker's call path lies in others, in which the worker is not.
            above = self.program if parent is None else self.names[parent]
            self.add("time", above, location, -time)
            for metric in ("bytes_sent", "bytes_received"):
                self.add(metric, self.names[i], location, column(metric, i))
            if kind == FORK or column("visits", i) == 0:
                continue
            self.add("visits", self.names[i], location, column("visits", i))
            self.add(MINIMUM, self.names[i], location, column("minimum", i) / self.second, min)
            self.add(MAXIMUM, self.names[i], location, column("maximum", i) / self.second, max)


def number(text):
    """"-": a minimum or maximum of nothing."""
    return 0.0 if text in ("-", "") else float(text)


def last_digit(values):
    """Of a metric's values, relative, as cube_dump prints them; 0 of whole numbers, which it prints in full."""
    texts = [text for texts in values.values() for text in texts if text != "-"]
    if all(text.isdecimal() for text in texts):
        return 0
    return 10.0 ** (1 - max(len(re.sub(r"e.*|\D", "", text).strip("0")) for text in texts))


def compare(dump, metric, wanted):
    """(values compared, what differs): by more than half of the last digit that is printed."""
    found = dump.values.get(metric, {})
    unit = last_digit(found)
    compared, wrong = 0, []
    for key in sorted(found.keys() | wanted.keys()):
        texts, value = found.get(key, []), wanted.get(key, 0)
        compared += len(texts)
        join = {MINIMUM: min, MAXIMUM: max}.get(metric, sum)
        numbers = [number(text) for text in texts if text != "-"] or [0.0]
        if abs(join(numbers) - value) > 0.51 * unit * sum(map(abs, numbers)) + 1e-12:
            wrong.append(f"{metric} of {' > '.join(key[0])} on location {key[1]}: {', '.join(texts) or 'nothing'} "
                         f"instead of {value}")
    return compared, wrong


def inclusive(values):
    """Of exclusive ones by call path."""
    sums = {}
    for (names, location), value in values.items():
        for depth in range(1, len(names) + 1):
            key = names[:depth], location
            sums[key] = sums.get(key, 0) + value
    return sums


def check_profile(archive, options):
    """(values compared, what differs, figures for the table)"""
    file, expected = os.path.join(archive, "profile.cubex"), Expected(archive)
    own = Dump(file, ["-z", "excl"], options)
    whole = Dump(file, ["-z", "incl"], options)
    results = [compare(own, metric, expected.values.get(metric, {})) for metric in own.values]
    results.append(compare(whole, "time", inclusive(expected.values["time"])))
    root = sum(number(text) for (names, _), texts in whole.values["time"].items()
               for text in texts if len(names) == 1)
    wrong = sum((w for _, w in results), [])
    if shown_visits(file, options) != visits_of(own):
        wrong.append("cube_info -v prints other visits than cube_dump")
    if abs(root - sum(expected.run_times)) > 1e-5 * root:
        wrong.append(f"the root's time is {root} instead of {sum(expected.run_times)}")
    visits = sum(number(text) for texts in own.values["visits"].values() for text in texts)
    shown = (f"{sum(expected.run_times):.6g} s, {root:.6g} s; {visits:.0f} visits")
    return own, sum(n for n, _ in results), wrong, shown


def check_analysis(archive, analysis, options):
    file = os.path.join(archive, "analysis.cubex")
    dump = Dump(file, ["-x", "excl", "-z", "excl"], options)
    wanted = {}
    root = next(iter(key[0] for key in dump.values["visits"] if len(key[0]) == 1))
    paths = []
    for path in analysis["paths"]:
        names = root if path["parent"] is None else paths[path["parent"]] + (path["name"],)
        paths.append(names)
        for metric, row in path["exclusive"].items():
            values = wanted.setdefault(metric, {})
            for location, seconds in enumerate(row):
                values[names, location] = values.get((names, location), 0) + seconds
    results = [compare(dump, metric, wanted.get(metric, {}))
               for metric in sorted(dump.values.keys() | wanted.keys()) if metric != "visits"]
    wrong = sum((w for _, w in results), [])
    if shown_visits(file, options) != visits_of(dump):
        wrong.append("cube_info -v prints other visits than cube_dump")
    # Workers have other call paths here: by region.
    count, different = compare(by_region(dump), "visits", regions_of(Expected(archive)))
    shown = f"{len(dump.values)} metrics"
    return dump, sum(n for n, _ in results) + count, wrong + different, shown


def by_region(dump):
    values = {}
    for (names, location), texts in dump.values["visits"].items():
        values.setdefault((names[-1:], location), []).extend(texts)
    dump.values["visits"] = values
    return dump


def regions_of(expected):
    values = {}
    for (names, location), value in expected.values["visits"].items():
        key = names[-1:], location
        values[key] = values.get(key, 0) + value
    return values


def main():
    parser = argparse.ArgumentParser(prog="tools/check profiles-in-cubelib", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubelib", required=True, metavar="FOLDER")
    parser.add_argument("--prefix", metavar="PREFIX")
    parser.add_argument("--refrain", help="the command, if it is not PREFIX/bin/refrain")
    parser.add_argument("--programs", required=True, metavar="FOLDER")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("--time-limit", type=float, default=300, help="seconds for each command")
    options = parser.parse_args()
    if not options.refrain and not options.prefix:
        parser.error("--prefix or --refrain is missing")
    options.refrain = options.refrain or os.path.join(os.path.abspath(options.prefix), "bin/refrain")
    wrong = []
    print("| file | locations, call paths | values compared, different | commands that fail | |")
    print("| --- | --- | --- | --- | --- |")
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="cube-"))
        for run in runs(options.programs):
            if re.search(options.only, run[0]):
                wrong += check_run(run, os.path.abspath(folder), options)
    for line in wrong:
        print("- " + line)
    return 1 if wrong else 0


def check_run(run, folder, options):
    place = os.path.join(folder, re.sub(r"\W+", "-", run[0]))
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    archive, wrong = os.path.join(place, "archive"), []
    analysis = trace(run, archive, options)
    checks = (("profile.cubex", lambda: check_profile(archive, options)),
              ("analysis.cubex", lambda: check_analysis(archive, analysis, options)))
    for name, check in checks:
        with open(os.path.join(place, name + ".txt"), "w", encoding="utf-8") as log:
            failed = list(failures(os.path.join(archive, name), options, log))
        dump, compared, different, shown = check()
        paths = len(call_paths(os.path.join(archive, name), options))
        print(f"| {run[0]}, `-n {run[3]}`: {name} | {dump.locations}, {paths} | {compared}, {len(different)} | "
              f"{len(failed)} of {len(COMMANDS)} | {shown} |", flush=True)
        wrong += [f"{run[0]}, {name}: {line}" for line in failed + different[:20]]
    return wrong
