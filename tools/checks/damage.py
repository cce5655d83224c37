"""Damages inputs at random and has Refrain read them.

Usage: tools/check damage [--prefix PREFIX] [--seed N] [--rounds N] [--keep FOLDER] ARCHIVE ...

Each ARCHIVE is damaged --rounds times: bits, bytes, intervals, pages, the end of one of its files; then
`refrain info`, `profile`, `analyze`, `graph`, `report`, `convert` to every format and `compare` with the whole one read
it. Archives should have files of 10 MB or more (several chunks). If it has
its spool (`refrain run --keep-spool`), that is damaged, too, and recovered; what comes out must
be read by otf2-print. Filter files, settings and symbol streams are made up.

Every command must end within 10 s of CPU time and 1 GB, with exit status 0, 1 or 2, and say in a line what
is wrong. Exit status 1 if one did not; --keep keeps its input. PREFIX is where
`tools/install PREFIX` has put Refrain; without it what Bazel has built is used.
"""

import argparse
import collections
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CPU_LIMIT_S = 10
TIME_LIMIT_S = 120  # on a busy machine
MEMORY_BYTES = 1 << 30
FILE_BYTES = 1 << 30

FILTER_WORDS = ["SCOREP_REGION_NAMES_BEGIN", "SCOREP_REGION_NAMES_END", "SCOREP_FILE_NAMES_BEGIN",
                "SCOREP_FILE_NAMES_END", "EXCLUDE", "INCLUDE", "MANGLED", "*", "?", "[a-z]", "[",
                "[!", "]", "\\", "#", "\n", "a*b*c*d*e*f", "\0", "\xff", "main", "*" * 50]
VALUES = ["", "0", "-1", "1e999", "nan", "10", "1k", "99999999999999999999", "1ms", "yes", "\xff",
          "auto", "%s%n", "a" * 5000, " 1", "1 ", "0x10", "1.5.5", "/", "otf2,paraver,,"]


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def damaged(data, rng):
    """A copy that is damaged in one to twenty places."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not data:
            break
        at = rng.randrange(len(data))
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice([0, 1, 127, 128, 255])
        elif kind == 2:
            data[at:at + 8] = b"\xff" * len(data[at:at + 8])
        elif kind == 3 and rng.random() < 0.3:
            del data[at:]
        elif kind == 5 and rng.random() < 0.5:  # as by a copy that was cut
            del data[-rng.randrange(1, 200):]
        elif kind == 6 and rng.random() < 0.5:  # as by a file system after a crash
            at -= at % 4096
            data[at:at + 4096] = bytes(len(data[at:at + 4096]))
        else:
            source, length = rng.randrange(len(data)), rng.randrange(1, 40)
            data[at:at + length] = data[source:source + length]
    return bytes(data)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder)
                  for place, _, names in os.walk(folder) for name in names)


def write_rules(work, rng):
    """A filter file, of random words, rarely well-formed."""
    rules = os.path.join(work, "filter.txt")
    with open(rules, "w", encoding="utf-8") as file:
        file.write(rng.choice([" ", "\n"]).join(
            rng.choice(FILTER_WORDS) for _ in range(rng.randrange(30))))
    return rules


class Trial:
    def __init__(self, refrain, keep):
        self.refrain = refrain
        self.keep = keep
        self.counts = collections.Counter()
        self.failures = []

    def run(self, what, words, evidence, environment=None, program=None):
        """Returns true if the command was successful."""
        try:
            done = subprocess.run([program or self.refrain, *words], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  timeout=TIME_LIMIT_S, preexec_fn=limits,
                                  env=dict(os.environ, **(environment or {})))
            status, reported = done.returncode, done.stderr.strip() != b""
        except subprocess.TimeoutExpired:
            status, reported = "hang", True
        self.counts[what, status] += 1
        if status not in (0, 1, 2) or (status == 2 and not reported):
            self.failures.append((what, status, " ".join(words)))
            if self.keep:
                kept = os.path.join(self.keep, f"{len(self.failures)}-{what.replace(' ', '-')}")
                (shutil.copytree if os.path.isdir(evidence) else shutil.copy)(evidence, kept)
        return status == 0

    def damage_one(self, folder, names, rng):
        path = os.path.join(folder, rng.choice(names))
        with open(path, "rb") as whole:
            data = damaged(whole.read(), rng)
        with open(path, "wb") as file:
            file.write(data)

    def archive(self, whole, work, rng):
        copy = os.path.join(work, "archive")
        shutil.copytree(whole, copy, ignore=shutil.ignore_patterns("spool"))
        self.damage_one(copy, files_below(copy), rng)
        self.run("info", ["info", copy], copy)
        self.run("info --json", ["info", "--json", copy], copy)
        for target, suffix in (("csv", "csv"), ("chrome", "json"), ("perfetto", "pftrace"), ("paraver", "prv")):
            self.run("convert " + target,
                     ["convert", copy, "--to", target, "-o", os.path.join(work, "out." + suffix)],
                     copy)
        for name in ("profile", "analyze"):
            self.run(name, [name, "--quiet", copy], copy)
        self.run("profile --events", ["profile", "--events", "--quiet", copy], copy)
        self.run("profile --messages", ["profile", "--events", "--messages", "--quiet", copy], copy)
        self.run("graph", ["graph", "--to", "json", "--quiet", copy], copy)
        self.run("graph --events", ["graph", "--events", "--to", "json", "--quiet", copy], copy)
        self.run("report", ["report", "--quiet", "--overwrite", "-o",
                            os.path.join(work, "out.html"), copy], copy)
        self.run("compare", ["compare", whole, copy], copy)

    def spool(self, whole, work, rng):
        if not os.path.isdir(os.path.join(whole, "spool")):
            return
        copy = os.path.join(work, "recovered")
        shutil.copytree(os.path.join(whole, "spool"), os.path.join(copy, "spool"))
        self.damage_one(os.path.join(copy, "spool"), files_below(os.path.join(copy, "spool")), rng)
        rules = write_rules(work, rng)
        filtered = ["--filter", rules] if rng.random() < 0.3 else []
        if self.run("recover", ["recover", copy, *filtered], copy):
            self.run("otf2-print", [os.path.join(copy, "traces.otf2")], copy, program="otf2-print")

    def texts(self, work, rng):
        symbols = os.path.join(work, "symbols.txt")
        with open(symbols, "wb") as file:
            period = [rng.randrange(5) for _ in range(rng.randrange(1, 9))]
            lines = "\n".join(str(rng.choice(period)) for _ in range(rng.randrange(300)))
            file.write(damaged(lines.encode(), rng) if rng.random() < 0.7 else lines.encode())
        self.run("detect", ["detect", symbols], symbols)
        rules = write_rules(work, rng)
        name = rng.choice(["LIMIT", "MIN_GAP", "RING", "CHUNK", "FORMAT", "CLOCK", "FROM", "UNTIL",
                           "SLOW", "WINDOW", "DETECTOR", "MEMORY_LIMIT", "MARKS", "NESTED"])
        value = {"REFRAIN_" + name: rng.choice(VALUES), "REFRAIN_FILTER": rules,
                 "REFRAIN_ARCHIVE": os.path.join(work, "run")}
        self.run("config", ["config"], rules, value)
        self.run("run", ["run", "--", "true"], rules, value)


def main():
    parser = argparse.ArgumentParser(prog="tools/check damage", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", metavar="ARCHIVE")
    parser.add_argument("--prefix", help="where tools/install has put Refrain")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--keep", help="a directory for inputs that something went wrong with")
    options = parser.parse_args()
    refrain = (os.path.join(options.prefix, "bin/refrain") if options.prefix
               else os.path.join(ROOT, "bazel-bin/tools/refrain"))
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    trial = Trial(refrain, options.keep)
    for number in range(options.rounds):
        for index, whole in enumerate(options.archives):
            rng = random.Random(f"{options.seed} {number} {index}")
            with tempfile.TemporaryDirectory() as work:
                trial.archive(whole, work, rng)
                trial.spool(whole, work, rng)
                trial.texts(work, rng)
    for (what, status), count in sorted(trial.counts.items(), key=str):
        print(f"{what:16} {status!s:>5} {count:8}")
    print(f"largest command: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
    for what, status, words in trial.failures:
        print(f"{what}: {status}: refrain {words}", file=sys.stderr)
    return 1 if trial.failures else 0
