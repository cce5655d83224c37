"""Runs programs that others wrote with and without Refrain, and compares run by run.

Usage: tools/check suites --prefix PREFIX [options] LIST ...

PREFIX is where `tools/install PREFIX` has put Refrain.

A LIST is a text file, one command a line; its name is that of the suite.

    # a comment
    OMP_NUM_THREADS=4 api/omp_get_wtime           variables, the program, its arguments
    @4 pt2pt/sendall -verbose                     an MPI program on 4 ranks
    @2 -C spawn/spawn1                            it runs in its own directory

With --mpi openmpi programs on ranks are those of Open MPI, and its mpirun starts them.

A LIST called testlist, or testlist.SOMETHING, is one of MPICH's test suite, and its suite has the name of its directory
(FOLDER/pt2pt/testlist): lines of PROGRAM RANKS NAME=VALUE... Lines for more than --ranks run on that many; those that are
expected to fail, that need much memory or options of MPICH's own launcher are left out.

Programs are looked for relative to the list's directory. Each run is in an
empty directory:
    untraced    once; where a traced run differs, five times more. What they print says how
                strictly the traced runs are compared: text, else lines in any order, else the
                same with numbers and blanks left out ("shape"); where even that differs, or
                the exit status does, the program is unsteady
    run         refrain run -- program; MPI: refrain run -- mpirun -n N program
    inside      MPI only: mpirun -n N refrain run -- program
    preload     LD_PRELOAD of the library
    linked      PROGRAM.linked, if there is one: the same program linked with librefrain
A traced run is the same if its exit status, what it prints and what it says on stderr
(without Refrain's own lines) are. Its archive is valid if `refrain info` and otf2-print read
it without complaint (after `refrain recover`, if the program was ended before it), and, if
it is no larger than 2 MB, enters and leaves balance, in the order of time.

Prints a table ("failing": untraced, their exit status was not 0), and what differed and how; --details FILE gets every run as a line of JSON.
Exit status 1 if anything differed or an archive was not valid.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from checks.archives import check_archive

WAYS = ("run", "inside", "preload", "linked")
# By names that Debian's alternatives do not redirect. Open MPI refuses more ranks than cores otherwise.
LAUNCH = {"mpich": ["mpirun.mpich"], "openmpi": ["mpirun.openmpi", "--oversubscribe"]}
# It refuses to run as root otherwise.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Program:
    """One line of a list."""

    def __init__(self, suite, folder, line, number):
        self.number = number
        words = shlex.split(line)
        self.suite, self.line, self.ranks, self.variables = suite, line, 0, {}
        self.own_folder = False
        while words and re.match(r"@\d|-C$|\w+=", words[0]):
            word = words.pop(0)
            if word == "-C":
                self.own_folder = True
            elif word.startswith("@"):
                self.ranks = int(word[1:])
            else:
                name, value = word.split("=", 1)
                self.variables[name] = value
        if not words:
            sys.exit(f"campaign: {suite}: no program in: {line}")
        self.path = os.path.join(folder, words[0])
        self.arguments = words[1:]

    def ways(self, wanted, rotate):
        linked = os.path.exists(self.path + ".linked")
        ways = [way for way in wanted
                if (way != "inside" or self.ranks) and (way != "linked" or linked)]
        return [ways[self.number % len(ways)]] if rotate and ways else ways

    def command(self, way, archive, tool):
        """(words, variables) of a run."""
        path = self.path + (".linked" if way == "linked" else "")
        program = [path] + self.arguments
        mpirun = LAUNCH[tool.mpi] + ["-n", str(self.ranks)] if self.ranks else []
        run = [tool.command, "run", "-o", archive, "--"]
        limit = {} if tool.limit is None else {"REFRAIN_LIMIT": tool.limit}
        settings = dict(limit, REFRAIN_ARCHIVE=archive)
        if way == "untraced":
            return mpirun + program, {}
        if way == "run":
            return run + mpirun + program, limit
        if way == "inside":
            return mpirun + run + program, limit
        if way == "linked":
            return mpirun + program, dict(settings, LD_LIBRARY_PATH=tool.folder)
        libraries = tool.mpi_library if self.ranks else tool.library
        if "libgomp.so" in needed(path):
            libraries += ":libomp.so.5"
        # Not into mpirun, which is no program of the job.
        return mpirun + ["env", "LD_PRELOAD=" + libraries] + program, settings


class Tool:
    """Refrain as tools/install lays it out."""

    def __init__(self, prefix, mpi="mpich", limit=None):
        self.mpi, self.limit = mpi, limit
        self.folder = os.path.join(os.path.abspath(prefix), "lib")
        self.command = os.path.join(os.path.abspath(prefix), "bin/refrain")
        self.library = os.path.join(self.folder, "librefrain.so")
        self.mpi_library = os.path.join(self.folder, f"librefrain_{mpi}.so")
        for path in (self.command, self.library, self.mpi_library):
            if not os.path.exists(path):
                sys.exit(f"campaign: no {path}: tools/install {prefix} puts it there")


def needed(path):
    done = subprocess.run(["readelf", "-d", path], capture_output=True, text=True)
    return done.stdout


def environment(variables):
    kept = {k: v for k, v in os.environ.items()
            if not re.match(r"(OMP|KMP|GOMP|REFRAIN|LD)_", k)}
    return dict(kept, **AS_ROOT, **variables)


RUNNING = set()


def end(child):
    """A launcher is asked first: it ends the processes of its job."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def end_all(number, _):
    for child in list(RUNNING):
        end(child)
    os._exit(128 + number)


def remove_openmp_leftovers():
    """What libomp left of processes that were killed: the next one of the same number would
    die of it (test/support/openmp_leftovers.h)."""
    for name in os.listdir("/dev/shm"):
        found = re.fullmatch(r"__KMP_REGISTERED_LIB_(\d+)_%d" % os.getuid(), name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            with contextlib.suppress(OSError):
                os.unlink(f"/dev/shm/{name}")


def run(words, variables, folder, limit):
    """{status, output, errors, seconds}; status "time" if it had to be ended."""
    remove_openmp_leftovers()
    started = time.monotonic()
    outputs = [tempfile.TemporaryFile() for _ in range(2)]
    child = subprocess.Popen(words, env=environment(variables), cwd=folder, stdout=outputs[0],
                             stderr=outputs[1], stdin=subprocess.DEVNULL, start_new_session=True)
    RUNNING.add(child)
    try:
        status = child.wait(limit)
    except subprocess.TimeoutExpired:
        status = "time"
        end(child)
    RUNNING.discard(child)
    texts = []
    for file in outputs:
        file.seek(0)
        texts.append(file.read(10_000_000).decode(errors="replace"))
        file.close()
    return {"status": status, "output": texts[0], "errors": texts[1],
            "seconds": round(time.monotonic() - started, 2)}


NUMBER = re.compile(r"0x[0-9a-f]+|[-+]?\d[\d.]*([eEdD][-+]?\d+)?|[-+]?(Infinity|NaN)|\*{3,}")
# How much of a text counts, from the strictest on.
STRICTNESS = {
    "text": lambda text: text,
    "lines": lambda text: sorted(text.splitlines()),
    "shape": lambda text: sorted(" ".join(NUMBER.sub("#", line).split())
                                 for line in text.splitlines()),
}


def strictest_view(texts):
    """The strictest view in which texts are all the same, or None."""
    for name, view in STRICTNESS.items():
        if all(view(text) == view(texts[0]) for text in texts):
            return name
    return None


def own_lines(text):
    return [line for line in text.splitlines() if line.startswith("refrain: ")]


def other_lines(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("refrain: "))


def first_difference(view, expected, found):
    a, b = (STRICTNESS[view](text) for text in (expected, found))
    if view == "text":
        a, b = a.splitlines(), b.splitlines()
    for one, other in zip(a + [None], b + [None]):
        if one != other:
            return f"{one!r} became {other!r}"
    return "in white space"


def compare(expected, views, found):
    """How a traced run differs from the untraced ones, as texts."""
    differences = []
    if found["status"] != expected["status"]:
        differences.append(f"exit status {expected['status']} became {found['status']}")
    for stream, view in views.items():
        a, b = expected[stream], other_lines(found[stream])
        if view is not None and STRICTNESS[view](a) != STRICTNESS[view](b):
            name = "stdout" if stream == "output" else "stderr"
            differences.append(f"{name}: " + first_difference(view, a, b))
    return differences


def examine(program, options):
    """All runs of one program: {"program", "kind", "ways", ...}; None if it is too late."""
    tool = options.tool
    if time.monotonic() > options.end:
        return None
    with tempfile.TemporaryDirectory(prefix="suites-") as folder:
        def one(way, number=0):
            place = os.path.dirname(program.path)
            if not program.own_folder:
                place = os.path.join(folder, f"{way}{number}")
                os.mkdir(place)
            archive = os.path.join(folder, f"{way}{number}.archive")
            words, more = program.command(way, archive, tool)
            result = run(words, dict(program.variables, **more), place,
                         options.time_limit * (1 if way == "untraced" else 4))
            return result, archive

        plain = [one("untraced")[0]]
        record = {"suite": program.suite, "program": program.line, "kind": "steady",
                  "status": plain[0]["status"], "seconds": plain[0]["seconds"], "ways": {}}
        if plain[0]["status"] == "time":
            record["kind"] = "too long"
            return record
        traced = {way: one(way) for way in program.ways(options.ways, options.rotate)}
        views = dict.fromkeys(("output", "errors"), "text")
        if any(compare(plain[0], views, result) for result, _ in traced.values()):
            plain += [one("untraced", number)[0] for number in range(1, 6)]
            views = {stream: strictest_view([result[stream] for result in plain])
                     for stream in views}
            if len({result["status"] for result in plain}) > 1 or views["output"] is None:
                record["kind"] = "unsteady"
        record["views"] = views
        for way, (result, archive) in traced.items():
            found = {"differences": compare(plain[0], views, result),
                     "said": own_lines(result["errors"]), "status": result["status"],
                     "seconds": result["seconds"], "archive": check_archive(archive, tool.command)}
            record["ways"][way] = found
            if options.keep and (found["differences"] or found["archive"] not in ("", "none")):
                subprocess.run(["cp", "-r", archive, tempfile.mkdtemp(dir=options.keep)])
        return record


def of_mpich(line, most_ranks):
    """A line of MPICH's testlist as one of ours, or None."""
    program, ranks, *fields = line.split()
    fields = [field.partition("=")[::2] for field in fields]
    if not ranks.isdigit() or {"xfail", "mem", "mpiexecarg"} & {name for name, _ in fields}:
        return None
    return shlex.join([value for name, value in fields if name == "env"] + [f"@{min(int(ranks), most_ranks)}", program] +
                      [value for name, value in fields if name == "arg"])


def read_lists(paths, most_ranks):
    programs = []
    for path in paths:
        suite, folder = os.path.basename(path), os.path.dirname(os.path.abspath(path))
        mpich = suite.partition(".")[0] == "testlist"
        suite = os.path.basename(folder) if mpich else os.path.splitext(suite)[0]
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                line = line.partition("#")[0].strip() if mpich else line.strip()
                if line and mpich and len(line.split()) > 1:
                    line = of_mpich(line, most_ranks)
                if line and not line.startswith("#"):
                    programs.append(Program(suite, folder, line, len(programs)))
    return programs


def print_table(records, ways):
    print(f"{'suite':20} {'way':8} {'programs':>8} {'same':>6} {'differ':>6} {'unsteady':>8} "
          f"{'failing':>7} {'valid':>6} {'none':>6} {'invalid':>7}")
    for suite in dict.fromkeys(record["suite"] for record in records):
        mine = [r for r in records if r["suite"] == suite]
        for way in ways:
            runs = [(r["kind"], r["ways"][way]) for r in mine if way in r["ways"]]
            failing = sum(1 for r in mine if way in r["ways"] and r["status"] != 0)
            if not runs:
                continue
            steady = [run for kind, run in runs if kind == "steady"]
            differ = sum(1 for run in steady if run["differences"])
            archives = [run["archive"] for _, run in runs]
            valid, none = archives.count(""), archives.count("none")
            print(f"{suite:20} {way:8} {len(runs):8} {len(steady) - differ:6} {differ:6} "
                  f"{len(runs) - len(steady):8} {failing:7} {valid:6} {none:6} "
                  f"{len(archives) - valid - none:7}")
        long = sum(1 for r in mine if r["kind"] == "too long")
        if long:
            print(f"{suite:20} {long} programs did not end untraced within the time limit")


def print_findings(records):
    """Prints what differed; returns how many runs that are."""
    count = 0
    for record in records:
        for way, result in record["ways"].items():
            lines = result["differences"] if record["kind"] == "steady" else []
            if result["archive"] not in ("", "none"):
                lines = lines + ["archive: " + result["archive"]]
            if lines:
                count += 1
                print(f"\n{record['suite']}: {record['program']} ({way})")
                for line in lines + result["said"][:4]:
                    print("    " + line[:400])
    return count


def main():
    parser = argparse.ArgumentParser(prog="tools/check suites", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="+", metavar="LIST")
    parser.add_argument("--mpi", choices=LAUNCH, default="mpich",
                        help="of the programs on ranks (mpich)")
    parser.add_argument("--limit", metavar="N", help="of traced runs (the default of refrain run)")
    parser.add_argument("--ranks", type=int, default=4, help="of a line of MPICH's, at most (4)")
    parser.add_argument("--ways", default=",".join(WAYS), help="of: " + ",".join(WAYS))
    parser.add_argument("--rotate", action="store_true",
                        help="each program by one of the ways only, in turn")
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="programs in another order")
    parser.add_argument("--stop-after", type=float, default=float("inf"), metavar="SECONDS",
                        help="start no more programs then")
    parser.add_argument("--time-limit", type=float, default=60,
                        help="seconds untraced (60); traced runs have four times that")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time (1)")
    parser.add_argument("--only", default="", help="lines that match this regular expression")
    parser.add_argument("--details", help="a file for every run, a line of JSON each")
    parser.add_argument("--resume", action="store_true",
                        help="leave out what is in the file of --details, and add to it")
    parser.add_argument("--keep", help="a directory for the archives of runs that were not in order")
    parser.add_argument("--prefix", required=True, help="where tools/install has put Refrain")
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    options.tool = Tool(options.prefix, options.mpi, options.limit)
    programs = [p for p in read_lists(options.lists, options.ranks) if re.search(options.only, p.line)]
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(programs)
    options.end = time.monotonic() + options.stop_after
    missing = [p.line for p in programs if not os.path.exists(p.path)]
    for line in missing:
        print(f"campaign: no such program: {line}", file=sys.stderr)
    records = []
    if options.resume and os.path.exists(options.details):
        with open(options.details, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
    done_before = {(record["suite"], record["program"]) for record in records}
    todo = [p for p in programs
            if p.line not in missing and (p.suite, p.line) not in done_before]
    details = open(options.details, "a" if options.resume else "w",
                   encoding="utf-8") if options.details else None
    signal.signal(signal.SIGTERM, end_all)
    signal.signal(signal.SIGINT, end_all)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(examine, p, options) for p in todo]
        for done in concurrent.futures.as_completed(waiting):
            if done.result() is not None:
                records.append(done.result())
                if details:
                    print(json.dumps(records[-1]), file=details, flush=True)
    if left := sum(1 for done in waiting if done.result() is None):
        print(f"{left} programs were not started (--stop-after)")
    print_table(records, options.ways)
    return 1 if print_findings(records) else 0
