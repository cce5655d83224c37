#!/usr/bin/env python3
"""Twice as large an archive takes twice the instructions and twice the memory to read, not four times: growth_test.py SIZED_ARCHIVE REFRAIN.

Instructions are those that valgrind counts, memory is the peak that the kernel counts, both less what a small archive of the same shape
takes. By size, not by time: a busy machine changes nothing. Of many locations, which would take valgrind minutes, it is CPU time.
"""

import os
import re
import subprocess
import sys

BUILDER, REFRAIN = (os.path.abspath(path) for path in sys.argv[1:])
FOLDER = os.environ.get("TEST_TMPDIR", "/tmp")
SMALL = 10
MOST = 2.7  # for twice the size; four is quadratic
MOST_TIME = 3.2  # the same of CPU time, on a busy machine

# What was quadratic: command, shape and size; more of the shape.
INSTRUCTIONS = (
    (["info"], "ranks", 400, 20),  # loops of all ranks
    (["compare"], "paths", 8000),  # regions of both
    (["analyze", "--no-cube", "--json"], "deep", 2000),  # texts of call paths
    (["report", "--overwrite", "-o", "report.html"], "deep", 2000),
    (["profile", "--events"], "open", 8000),  # leaves without enter
    (["analyze", "--no-cube"], "open", 8000),
    (["convert", "--to", "chrome", "--overwrite", "-o", "trace.json"], "open", 8000),
    (["convert", "--to", "paraver", "--overwrite", "-o", "trace.prv"], "open", 8000),
)
# What took too much: command, shape and size, and the most bytes for one more.
MEMORY = (
    (["convert", "--to", "csv", "--overwrite", "-o", "trace.csv"], 40_000, "bare", 500),  # 512 kB a location
    (["convert", "--to", "csv", "--overwrite", "-o", "trace.csv"], 40_000, "ranks", 500, 2),  # 256 kB a location
    (["profile", "--json"], 600_000, "ranks", 100, 1000),  # 2.1 MB for 1000 cells
    (["analyze", "--no-cube"], 3000, "paths", 20_000),  # 8 kB a call path
    (["analyze", "--no-cube", "--json"], 3000, "deep", 3000),  # grew with the depth
)


def archive(shape, size, *more):
    path = os.path.join(FOLDER, "-".join(map(str, (shape, size, *more))))
    if not os.path.exists(path):
        subprocess.run([BUILDER, shape, path, str(size), *map(str, more)], check=True)
    return path


def run(command, path, before=()):
    both = [path, path] if command[0] == "compare" else [path]
    with open(os.path.join(FOLDER, "said"), "w+", encoding="utf-8", errors="replace") as said:
        started = subprocess.Popen([*before, REFRAIN, *command, *both], cwd=FOLDER, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(started.pid, 0)
        said.seek(0)
        text = said.read()
    if status != 0:
        sys.exit(f"{' '.join(command)} of {path}: status {status}\n{text}")
    return text, 1024 * usage.ru_maxrss, usage.ru_utime + usage.ru_stime


def instructions(command, path):
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    text, *_ = run(command, path, valgrind)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", text)[1].replace(",", ""))


def main():
    wrong = 0
    for command, shape, size, *more in INSTRUCTIONS:
        small, once, twice = (instructions(command, archive(shape, n, *more)) for n in (SMALL, size, 2 * size))
        growth = (twice - small) / (once - small)
        wrong += growth > MOST
        print(f"{' '.join(command[:2])} of {shape} {size}: {once / 1e6:.0f} and {twice / 1e6:.0f} million instructions, "
              f"{small / 1e6:.0f} for {SMALL}: {growth:.2f} times", flush=True)
    for command, most, shape, size, *more in MEMORY:
        (_, once, once_s), (_, twice, twice_s) = (run(command, archive(shape, n, *more)) for n in (size, 2 * size))
        each = (twice - once) / size
        slower = shape == "bare" and twice_s > MOST_TIME * once_s  # libotf2 looks for a location among all of its reader
        wrong += each > most or slower
        print(f"{' '.join(command[:2])} of {shape} {size}: {once / 1e6:.1f} and {twice / 1e6:.1f} MB, {each:.0f} bytes for one more "
              f"(at most {most}); {once_s:.1f} and {twice_s:.1f} s", flush=True)
    if wrong:
        sys.exit(f"{wrong} grow more than they may")
    print("PASS: script test")


if __name__ == "__main__":
    main()
