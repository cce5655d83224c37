"""tools/bench streams: what would be skipped of recorded symbol streams."""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile

from measure.common import REFRAIN, bazel, fail

DETECTORS = {
    "matrix 300": ["--detector", "matrix", "--max-period", "300", "--window", "600"],
    "matrix 1024": ["--detector", "matrix", "--max-period", "1024", "--window", "2048"],
    "exact": ["--detector", "exact"],
    "first": ["--detector", "nested", "--nested", "first"],
    "once": ["--detector", "nested", "--nested", "once"],
    "each": ["--detector", "nested", "--nested", "each"],
}
STREAM_LIMIT = "10"
LEAST_EVENTS = 1000  # shorter streams hardly let a loop begin
LOW_SHARE = 0.6


def detect(arguments, paths):
    """What `refrain detect` says of the files, by path."""
    done = subprocess.run([REFRAIN, "detect", "--json", "--limit", STREAM_LIMIT, *arguments,
                           *paths], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"refrain detect: exit status {done.returncode}\n{done.stderr}")
    return {found["file"]: found for found in map(json.loads, done.stdout.splitlines())}


def noise_files(scratch, events):
    """Streams in which nothing repeats, except by accident."""
    made = {}
    for kinds in (2, 4, 16, 64):
        source = random.Random(kinds)
        made[f"random, {kinds} symbols"] = [source.randrange(kinds) for _ in range(events)]
    made["Thue-Morse"] = [bin(k).count("1") & 1 for k in range(events)]
    # The same order, of two bodies instead of two symbols.
    bodies = (range(10), range(20, 33))
    made["Thue-Morse of bodies"] = [symbol for k in range(events // 11)
                                    for symbol in bodies[bin(k).count("1") & 1]]
    paths = []
    for name, symbols in made.items():
        path = os.path.join(scratch, name)
        with open(path, "w") as file:
            file.writelines(f"{symbol}\n" for symbol in symbols)
        paths.append(path)
    return paths


def print_shares(paths, results):
    width = max([len("mean over streams"), *(len(os.path.basename(path)) for path in paths)])
    print(f"{'skipped, %':{width}} {'events':>8}" + "".join(f" {name:>11}" for name in DETECTORS))

    def row(name, events, shares):
        print(f"{name:{width}} {events:>8}" + "".join(f" {100 * s:11.1f}" for s in shares))

    def shares(path):
        return [results[name][path]["skipped_fraction"] for name in DETECTORS]

    for path in paths:
        row(os.path.basename(path), results["each"][path]["events"], shares(path))
    return row, shares


def print_times(paths, results, title):
    print(f"\n{title:24}" + "".join(f" {name:>11}" for name in DETECTORS))
    for what, key, choose in (("ns an event, median", "ns_per_event", statistics.median),
                              ("ns an event, most", "ns_per_event", max),
                              ("longest push, us", "max_push_ns", max)):
        values = [choose(results[name][path][key] for path in paths) for name in DETECTORS]
        scale = 1000 if key == "max_push_ns" else 1
        print(f"{what:24}" + "".join(f" {value / scale:11.1f}" for value in values))


def run_name(path):
    return re.sub(r"\.rank\d+", "", os.path.basename(path))


def summarise(paths, results, row, shares):
    """Means and minimum shares of the streams that are long enough."""
    long = [path for path in paths if results["each"][path]["events"] >= LEAST_EVENTS]
    if not long:
        print(f"no stream has {LEAST_EVENTS} events")
        return
    columns = list(zip(*map(shares, long)))
    print(f"\nof the {len(long)} streams with at least {LEAST_EVENTS} events:")
    row("mean over streams", len(long), map(statistics.fmean, columns))
    runs = {}
    for path in long:
        runs.setdefault(run_name(path), []).append(shares(path))
    by_run = [[statistics.fmean(column) for column in zip(*ranks)] for ranks in runs.values()]
    row("mean over runs", len(runs), map(statistics.fmean, zip(*by_run)))
    row("minimum", len(long), map(min, columns))
    for path in long:
        share = results["once"][path]["skipped_fraction"]
        if share < LOW_SHARE:
            print(f"  nested once skips only {100 * share:.1f} % of {os.path.basename(path)}")
    print_times(long, results, "cost")


def check_index(folder, paths, found):
    """Iterations by the programs' sources: some loop has them, in a visit or in all."""
    index = os.path.join(folder, "INDEX.tsv")
    if not os.path.exists(index):
        return
    with open(index) as file:
        head, *rows = [line.rstrip("\n").split("\t") for line in file]
    by_hand = 0
    missing = []
    for values in rows:
        entry = dict(zip(head, values))
        path = os.path.join(folder, entry["file"])
        if entry.get("verified") != "hand" or path not in paths:
            continue
        by_hand += 1
        wanted = int(entry["outer_iterations_by_source"])
        # A warm-up of the same kind, or a first or last one that differs: one more or less.
        if not any(abs(count - wanted) <= 1 for loop in found[path]["loops"]
                   for count in (loop["iterations"], loop["iterations"] / loop["visits"])):
            missing.append(f"  {entry['file']}: {wanted} by the source")
    print(f"\niterations counted by hand: {by_hand - len(missing)} of {by_hand} found by nested")
    print("\n".join(missing), end="\n" if missing else "")


def streams(options):
    bazel("build", "//tools:refrain")
    folder = options.streams
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder)
                   if name.endswith((".txt", ".txt.gz")))
    if not paths:
        fail(f"no streams (*.txt, *.txt.gz) in {folder}")
    print("matrix 300: M = 300, N = 600; matrix 1024: M = 1024, N = 2048; exact: M = N = 512; "
          f"once, each: nested. Limit {STREAM_LIMIT}.\n")
    results = {name: detect(arguments, paths) for name, arguments in DETECTORS.items()}
    summarise(paths, results, *print_shares(paths, results))
    check_index(folder, set(paths), results["each"])
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        noise = noise_files(scratch, options.noise_events)
        results = {name: detect(arguments, noise) for name, arguments in DETECTORS.items()}
        print("\nnoise")
        print_shares(noise, results)
        print_times(noise, results, "cost on noise")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
