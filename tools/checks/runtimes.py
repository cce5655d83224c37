"""OpenMP programs with every runtime of LLVM that Debian has: traced in full and reduced; the numbers of calls
must be the same with each runtime and in both traces.

Usage: tools/check runtimes --prefix PREFIX --programs FOLDER [options]

PREFIX is where `tools/install PREFIX` has put Refrain, FOLDER holds the test programs (bazel-bin/test/programs). The
runtimes are downloaded with apt-get and unpacked, not installed: only one of them can be at a time.

    --runtimes FOLDER    they are there already: FOLDER/libomp5-N/usr/lib/llvm-N/lib/libomp.so.5 (and are put there)
    --only REGEX         programs whose name matches
    --keep FOLDER        archives are put there

A program that does not run with a runtime without being traced either (clang 19's code may call what an older one does
not have) is counted apart. Prints Markdown. Exit status 1 if anything differs.
"""

import argparse
import contextlib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from checks.profiles import FORK
from checks.waits import environment

VERSIONS = ("13", "14", "15", "16", "19")
REFERENCE = "19"  # the one that the tests use
THREADS = 2
# Name, arguments.
PROGRAMS = (("amr", ["4"]), ("cg", ["10", "200"]), ("constructs", []), ("converge", ["40"]), ("heat", []),
            ("irregular", ["600"]), ("jacobi", ["50"]), ("mutexes", []), ("nested", []), ("norepeat", []),
            ("phases", []), ("shortloop", ["300"]), ("tasks", []))
# Compared in sums over the regions of a kind: whose places in the code the runtime says differently from run to run
# (tasks of gcc's programs), or from version to version (a worker's barriers in gcc's programs).
BY_KIND = ("constructs_gcc", "mutexes_gcc", "tasks_gcc")
# What runtimes up to 16 report as the other.
NEWER = (("teams barrier", "implicit barrier"), ("omp_test_", "omp_set_"))


def fail(text):
    sys.exit("campaign: " + text)


def runtimes(folder):
    """(version, path) of each, downloaded where it is missing."""
    for version in VERSIONS:
        path = os.path.join(folder, f"libomp5-{version}", "usr/lib", f"llvm-{version}", "lib/libomp.so.5")
        if not os.path.exists(path):
            download(folder, version)
        if not os.path.exists(path):
            fail(f"no {path}")
        yield version, path


def download(folder, version):
    package = f"libomp5-{version}"
    subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, stderr=subprocess.DEVNULL)
    found = glob.glob(os.path.join(folder, package + "_*.deb"))
    if not found:
        fail(f"{package} cannot be downloaded")
    subprocess.run(["dpkg-deb", "-x", found[0], os.path.join(folder, package)], check=True)


def compiled(programs):
    """(name, words, whether gcc made it) of each that is there."""
    for name, arguments in PROGRAMS:
        for compiler in ("clang", "gcc", "gfortran"):
            path = os.path.join(os.path.abspath(programs), f"{name}_{compiler}")
            if os.path.exists(path):
                yield f"{name}_{compiler}", [path, *arguments], compiler != "clang"


class Trial:
    """One program with one runtime."""

    def __init__(self, name, words, gcc, runtime, options):
        self.name, self.words, self.gcc, self.runtime, self.options = name, words, gcc, runtime, options

    def run(self, words, **variables):
        with_runtime = dict(environment(THREADS), LD_LIBRARY_PATH=os.path.dirname(self.runtime), **variables)
        return subprocess.run(words, env=with_runtime, capture_output=True, text=True, errors="replace",
                              timeout=self.options.time_limit)

    def untraced(self):
        # It has libgomp's entry points as well.
        return self.run(self.words, **({"LD_PRELOAD": self.runtime} if self.gcc else {}))

    def traced(self, limit, archive):
        chosen = ["--libomp", self.runtime] if self.gcc else []
        return self.run([self.options.refrain, "run", "--quiet", "-n", str(limit), *chosen, "-o", archive, "--",
                         *self.words])


def calls_of(name, archive):
    """Calls by region, of the whole run."""
    calls = {}
    for file in glob.glob(os.path.join(archive, "summary", "process-*.json")):
        with open(file, "rb") as text:
            summary = json.load(text)
        for location in summary["locations"]:
            for (_, number, kind, _), visits in zip(summary["nodes"], location["visits"]):
                if kind != FORK:
                    region = summary["regions"][number]["name"]
                    region = region.split(" @")[0] if name in BY_KIND else region
                    # A place in the runtime itself.
                    region = re.sub(r"(@(?:__kmp|GOMP_|libomp)\S*)\+0x[0-9a-f]+", r"\1", region)
                    for name_now, name_before in NEWER:
                        region = region.replace(name_now, name_before)
                    calls[region] = calls.get(region, 0) + visits
    return calls


def differences(name, a, b):
    """Calls that differ, and how many regions there are."""
    x, y = calls_of(name, a), calls_of(name, b)
    regions = sorted(x.keys() | y.keys())
    wrong = [f"{region}: {x.get(region, 0)} and {y.get(region, 0)} calls" for region in regions
             if x.get(region, 0) != y.get(region, 0)]
    return wrong if regions else ["no summary"], len(regions)


def readable(archive):
    done = subprocess.run(["otf2-print", os.path.join(archive, "traces.otf2")], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    return [] if done.returncode == 0 and not done.stderr else [f"otf2-print: {done.stderr.strip()[:200]}"]


def try_program(trial, archives, reference):
    """What is wrong, and how many counts were compared; None, and why it does not run."""
    untraced = trial.untraced()
    if untraced.returncode != 0:
        return None, untraced.stderr.strip().splitlines()[-1:] or ["no message"]
    wrong, counts = [], 0
    for limit, archive in archives.items():
        done = trial.traced(limit, archive)
        if done.returncode != 0 or done.stderr:
            return [f"-n {limit}: exit status {done.returncode}, {done.stderr.strip()[-200:]}"], counts
        wrong += readable(archive)
    pairs = [(archives[0], archives[10])]
    if reference is not None and reference != archives[0]:
        pairs.append((reference, archives[0]))
    for a, b in pairs:
        found, number = differences(trial.name, a, b)
        wrong += found
        counts += number
    return wrong, counts


def main():
    parser = argparse.ArgumentParser(prog="campaign runtimes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--runtimes")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--time-limit", type=int, default=120)
    options = parser.parse_args()
    options.refrain = os.path.join(os.path.abspath(options.prefix), "bin/refrain")
    with contextlib.ExitStack() as stack:
        def folder(wanted):
            if not wanted:
                return stack.enter_context(tempfile.TemporaryDirectory())
            os.makedirs(wanted, exist_ok=True)
            return os.path.abspath(wanted)

        libraries = dict(runtimes(folder(options.runtimes)))
        return report(libraries, folder(options.keep), options)


def report(libraries, keep, options):
    order = [REFERENCE, *(version for version in libraries if version != REFERENCE)]
    names, wrong_in_all = [], []
    passed, unable, counts = ({version: 0 for version in order} for _ in range(3))
    for name, words, gcc in compiled(options.programs):
        if not re.search(options.only, name):
            continue
        names.append(name)
        reference = None
        for version in order:
            archives = {limit: os.path.join(keep, f"{name}-{version}-{limit}") for limit in (0, 10)}
            trial = Trial(name, words, gcc, libraries[version], options)
            wrong, more = try_program(trial, archives, reference)
            if wrong is None:
                unable[version] += 1
                print(f"{name} with {version} does not run untraced: {more[0]}", file=sys.stderr)
                continue
            counts[version] += more
            passed[version] += not wrong
            wrong_in_all += [f"{name} with {version}: {text}" for text in wrong]
            reference = reference or archives[0]
    if not names:
        fail(f"no program in {options.programs}")
    print("| LLVM's libomp | programs that run with it | all the same | numbers of calls compared |\n| --- | --- | --- | --- |")
    for version in sorted(order, key=int):
        print(f"| {version} | {len(names) - unable[version]} of {len(names)} | {passed[version]} | {counts[version]} |")
    print()
    for text in wrong_in_all:
        print("- " + text)
    return int(bool(wrong_in_all))
