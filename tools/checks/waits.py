"""Compares the wait states that `refrain analyze` finds with those of Scalasca's scout, archive by
archive and metric by metric.

Usage: tools/check waits-against-scout --scout FOLDER --prefix PREFIX [options]
       tools/check waits-against-scout --scout FOLDER --archive ARCHIVE ...
       tools/check waits-against-scout --scout FOLDER --metrics ARCHIVE

FOLDER holds scout.ser, scout.omp, scout.mpi and scout.hyb, built for the headers of the installed OTF2.
PREFIX is where `tools/install PREFIX` has put Refrain.

    --programs FOLDER   test programs that know how long they wait (//test/programs/waits)
    --npb FOLDER        the NAS parallel benchmarks for MPI: its bin/ has NAME.CLASS.4
    --archive ARCHIVE   one that exists, of any tool (several times)
    --scorep            the programs are linked with Score-P: the archives are what it writes
    --keep FOLDER       archives, what scout says of them, and what programs expect are put there

--metrics prints {"metrics": {name: seconds}} of scout, which a test can take for the analyser's output
(REFRAIN_TEST_ANALYSER).

Prints Markdown: a table of the archives with the largest difference of each, and each difference of
more than --tolerance (1 %) and --small seconds. "-": the tool has no such metric, or cannot read the
archive. Exit status 1 if `refrain analyze` and scout differ.
"""

import argparse
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from checks.cubex import metrics_of

BENCHMARKS = ("is", "cg", "ep", "ft", "lu", "mg", "bt", "sp")

# Metrics that are seconds lost; not those of rma that are a class of time.
WAITS = re.compile(
    r"mpi_(barrier|early|late|lsw|neighbor|nonblocking|nxn|wait_nxn|init_completion|finalize_wait)"
    r"|mpi_rma_(?!communication$|sync_active$|sync_passive$|synchronization$)"
    r"|omp_(ebarrier_wait|ibarrier_wait|management|fork|lock_contention|taskwait_wait|idle|limited)"
    r"|wavefront_")

P2P_SENDS = ("send", "ssend", "bsend", "isend", "issend", "start", "large")
P2P_RECEIVES = ("any", "wait", "start", "waitall", "waitany", "waitsome", "test", "probe", "mrecv",
                "posted")
ALL_TO_ALL = ("barrier", "allreduce", "alltoall", "allgather", "allgatherv", "reduce_scatter",
              "reduce_scatter_block")
ROOTED = ("bcast", "scatter", "scatterv", "reduce", "gather", "gatherv")


def mpi_cases():
    """(ranks, arguments) of waits_mpi."""
    for late in ("sender", "receiver", "nobody"):
        yield from ((2, [f"p2p:{how}:recv:{late}"]) for how in P2P_SENDS)
        yield from ((2, [f"p2p:{send}:{how}:{late}"]) for how in P2P_RECEIVES
                    for send in ("send", "issend"))
        yield from ((4, [f"p2p:ssend:recv:{late}:{comm}"]) for comm in ("sub", "inter"))
        yield 2, [f"p2p:partitioned:partitioned:{late}"]
    yield from ((4, ["many:" + how]) for how in ("waitall", "waitany", "waitsome", "issends"))
    yield 4, ["sendrecv"]
    yield from ((3, ["order:" + how]) for how in ("same", "different", "right"))
    yield from ((4, [f"coll:{op}:{late}"]) for op in ALL_TO_ALL
                for late in ("last", "rising", "nobody"))
    yield from ((4, [f"coll:{op}:{late}"]) for op in ROOTED
                for late in ("root", "others", "nobody"))
    yield from ((4, [f"coll:{op}:{late}"]) for op in ("scan", "exscan")
                for late in ("first", "rising", "falling"))
    yield from ((6, [f"coll:{op}:first:sub"])
                for op in ("barrier", "allreduce", "bcast", "reduce", "scan"))
    yield from ((4, [f"coll:neighbor:{late}"]) for late in ("last", "rising", "nobody"))
    yield from ((4, [f"coll:{op}:{late}:inter"]) for op in ("barrier", "allreduce", "bcast", "reduce")
                for late in ("first", "last", "nobody"))
    yield from ((4, [f"icoll:{op}:{late}"])
                for op in ("barrier", "allreduce", "bcast", "reduce", "scan", "persistent")
                for late in ("first", "last", "root"))
    yield from ((ranks, ["completion:" + op]) for ranks in (2, 4) for op in ("barrier", "allreduce"))
    yield 3, ["init:rising"]
    yield from ((3, ["finalize:" + late]) for late in ("last", "rising", "nobody"))
    yield from ((2, ["rma:" + how])
                for how in ("create", "free", "fence", "late_post", "early_wait", "lock", "progress",
                            "none"))


def openmp_cases():
    yield from ([f"{kind}:{late}"] for kind in ("barrier", "parallel", "for")
                for late in ("last", "rising", "nobody"))
    yield from ([name] for name in ("sections", "single", "critical:1", "critical:0", "lock:1",
                                    "lock:0", "task", "taskwait", "idle", "limited"))


def test_programs(folder):
    """(name, ranks, threads, words) of each run."""
    def path(name):
        return os.path.join(os.path.abspath(folder), name + "_clang")

    for ranks, arguments in mpi_cases():
        yield arguments[0], ranks, 1, [path("waits_mpi")] + arguments
    for threads in (2, 4):
        for arguments in openmp_cases():
            yield "omp:" + arguments[0], 0, threads, [path("waits_omp")] + arguments
    for ranks in (2, 4):
        for name in ("after", "within"):
            yield "hybrid:" + name, ranks, 2, [path("waits_hybrid"), name]
    for dimensions in (2, 3):
        yield f"wavefront:{dimensions}", 1 << dimensions, 1, [path("wavefront"), str(dimensions)]


def benchmarks(folder, classes):
    for name in BENCHMARKS:
        for size in classes:
            found = os.path.join(os.path.abspath(folder), "bin", f"{name}.{size}.4")
            if os.path.exists(found):
                yield os.path.basename(found), 4, 1, [found]


def environment(threads):
    kept = {k: v for k, v in os.environ.items() if not re.match(r"(OMP|KMP|GOMP|REFRAIN)_", k)}
    return dict(kept, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")


def trace(run, archive, options):
    """The archive of a run; what the program expects, or {}."""
    _, ranks, threads, words = run
    launcher = [options.mpirun, "-n", str(ranks)] if ranks else []
    variables = environment(threads)
    if options.scorep:
        tracer = []
        variables.update(SCOREP_ENABLE_TRACING="true", SCOREP_ENABLE_PROFILING="false",
                         SCOREP_EXPERIMENT_DIRECTORY=archive)
        variables.setdefault("SCOREP_TOTAL_MEMORY", "256M")
    else:
        tracer = [options.refrain, "run", "-n", "0", "-o", archive, "--"]
    command = launcher + tracer + words
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=options.time_limit)
    if done.returncode != 0:
        sys.exit(f"campaign: {' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    with contextlib.suppress(json.JSONDecodeError):
        return json.loads(done.stdout.split("\n", 1)[0])
    return {}


def kind_of(archive):
    """Which scout, number of processes and threads."""
    def printed(*words):
        done = subprocess.run(["otf2-print", *words, os.path.join(archive, "traces.otf2")],
                              capture_output=True, text=True)
        return done.stdout.splitlines()

    definitions = printed("-G")
    processes = sum(1 for line in definitions
                    if line.startswith("LOCATION_GROUP ") and "Type: PROCESS" in line)
    groups = [line.rsplit("Group: ", 1)[1] for line in definitions
              if line.startswith("LOCATION ") and "Type: CPU_THREAD" in line]
    threads = max((groups.count(group) for group in groups), default=1)
    paradigms = "\n".join(line for line in definitions if line.startswith("PARADIGM"))
    kind = {(True, True): "hyb", (True, False): "mpi", (False, True): "omp",
            (False, False): "ser"}["MPI" in paradigms, threads > 1]
    return kind, processes, threads


def scout_of(archive, options):
    """scout's metrics of a copy of the archive; None if it cannot read it."""
    kind, processes, threads = kind_of(archive)
    scout = os.path.join(options.scout, "scout." + kind)
    with tempfile.TemporaryDirectory(prefix="waits-") as folder:
        copy = os.path.join(folder, "archive")
        shutil.copytree(archive, copy)
        launcher = [options.mpirun, "-n", str(processes)] if kind in ("mpi", "hyb") else []
        variables = environment(threads)
        if options.preload:
            variables["LD_PRELOAD"] = options.preload
        try:
            done = subprocess.run(launcher + [scout, os.path.join(copy, "traces.otf2")],
                                  env=variables, capture_output=True, text=True,
                                  timeout=options.time_limit)
        except subprocess.TimeoutExpired:
            return None
        written = os.path.join(copy, "scout.cubex")
        if done.returncode != 0 or not os.path.exists(written):
            return None
        if options.keep:
            shutil.copy(written, os.path.join(os.path.dirname(archive), "scout.cubex"))
        return metrics_of(written)


def analysed(archive, options):
    """Metrics of `refrain analyze`; None without such a command."""
    if not options.refrain:
        return None
    done = subprocess.run([options.refrain, "analyze", archive, "--json"], capture_output=True,
                          text=True, timeout=options.time_limit)
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)["metrics"]


def seconds(value):
    return "-" if value is None else f"{value:.6f}"


def share(a, b):
    return "-" if a is None or b is None else f"{100 * (a - b) / b:+.2f} %" if b else f"{a - b:+.6f} s"


def differs(a, b, relative, small):
    return a is not None and b is not None and abs(a - b) > relative * abs(b) + small


def compare(name, found, options):
    """Rows of the tables: (archive, metric, expected, scout, refrain, differs)."""
    expected, scout, ours = found
    wanted = expected.get("expected", {})
    for metric in sorted(set(wanted) | set(scout or ()) | set(ours or ())):
        if not WAITS.match(metric):
            continue
        unchecked = not expected or metric in expected.get("unchecked", ())
        # scout ignores OTF2's records of one-sided communication, and so finds nothing.
        theirs = None if scout is None or metric.startswith("mpi_rma") else scout.get(metric)
        values = (None if unchecked else wanted.get(metric, 0),
                  theirs,
                  None if ours is None else ours.get(metric, 0))
        wrong = [differs(values[2], values[1], options.tolerance, options.small),
                 differs(values[1], values[0], 2 * options.tolerance, expected.get("small", 0)),
                 differs(values[2], values[0], 2 * options.tolerance, expected.get("small", 0))]
        yield (name, metric, *values, wrong)


def print_tables(rows, archives):
    print("| archive | metrics above 1 ms | scout - expected | refrain - expected | refrain - scout |")
    print("| --- | --- | --- | --- | --- |")
    for archive in archives:
        mine = [row for row in rows if row[0] == archive]
        above = [row for row in mine if max(v or 0 for v in row[2:5]) > 0.001]
        words = []
        for one, other in ((3, 2), (4, 2), (4, 3)):
            both = [(abs(r[one] - r[other]), share(r[one], r[other]) + " " + r[1]) for r in above
                    if r[one] is not None and r[other] is not None]
            words.append(max(both)[1] if both else "-")
        print(f"| {archive} | {len(above)} | " + " | ".join(words) + " |")
    print("\nDifferences above the tolerance:\n")
    print("| archive | metric | expected | scout | refrain | scout - expected | refrain - scout |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for archive, metric, wanted, scout, ours, wrong in rows:
        if any(wrong):
            print(f"| {archive} | {metric} | {seconds(wanted)} | {seconds(scout)} | "
                  f"{seconds(ours)} | {share(scout, wanted)} | {share(ours, scout)} |")


def runs_of(options):
    if options.programs:
        yield from test_programs(options.programs)
    if options.npb:
        yield from benchmarks(options.npb, options.classes)


def main():
    parser = argparse.ArgumentParser(prog="tools/check waits-against-scout", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scout", required=True, metavar="FOLDER")
    parser.add_argument("--prefix", metavar="PREFIX")
    parser.add_argument("--refrain", help="the command, if it is not PREFIX/bin/refrain")
    parser.add_argument("--programs", metavar="FOLDER")
    parser.add_argument("--npb", metavar="FOLDER")
    parser.add_argument("--classes", default="S", help="of the benchmarks, e.g. SW")
    parser.add_argument("--archive", action="append", default=[], metavar="ARCHIVE")
    parser.add_argument("--metrics", metavar="ARCHIVE")
    parser.add_argument("--scorep", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--only", default="", help="runs whose name matches this expression")
    parser.add_argument("--tolerance", type=float, default=0.01, help="relative")
    parser.add_argument("--small", type=float, default=1e-5, help="seconds")
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("--preload", help="into scout: a library that makes MPI's polls yield")
    parser.add_argument("--time-limit", type=float, default=300, help="seconds for each command")
    options = parser.parse_args()
    if options.metrics:
        metrics = scout_of(options.metrics, options)
        if metrics is None:
            print(f"campaign: scout cannot read {options.metrics}", file=sys.stderr)
            return 1
        print(json.dumps({"metrics": metrics}))
        return 0
    if options.prefix and not options.refrain:
        options.refrain = os.path.join(os.path.abspath(options.prefix), "bin/refrain")
    if (options.programs or options.npb) and not options.refrain:
        parser.error("runs of programs want --prefix or --refrain")
    rows, names = [], []
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="waits-"))
        for run in runs_of(options):
            name = f"{run[0]} ({max(run[1], 1)}x{run[2]})"
            if not re.search(options.only, name):
                continue
            place = os.path.join(os.path.abspath(folder), re.sub(r"\W+", "-", name).strip("-"))
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            archive = os.path.join(place, "archive")
            expected = trace(run, archive, options)
            with open(os.path.join(place, "expected.json"), "w", encoding="utf-8") as file:
                json.dump(expected, file)
            add(rows, names, name, archive, expected, options)
        for archive in sum((glob.glob(pattern) for pattern in options.archive), []):
            add(rows, names, os.path.basename(os.path.abspath(archive)), archive, {}, options)
    print_tables(rows, names)
    return 1 if any(row[5][0] for row in rows) else 0


def add(rows, names, name, archive, expected, options):
    found = (expected, scout_of(archive, options), analysed(archive, options))
    names.append(name + (" *scout cannot*" if found[1] is None else ""))
    rows.extend(compare(names[-1], found, options))
    print(f"{name}: done", file=sys.stderr)
