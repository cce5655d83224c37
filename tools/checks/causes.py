"""Root causes of programs with a planted cause, which know what it costs them (test/programs/waits/planted.c), and of those
without one: default archives (-n 10) and whole ones (-n 0), several runs of each.

Usage: tools/check root-causes [--only EXPRESSION] [--runs N] [--refrain COMMAND] [--programs FOLDER] [--keep FOLDER]

A run is judged by the first finding of `refrain analyze --json`:
    first    it is of the right kind, place, ranks or thread, and iterations (all, from one on, every tenth, growing); of programs
             without a cause: no finding has more than 2 %
    amount   within 10 % of what the program's own clocks say is lost
    gain     within 15 % of what the program without its cause takes less (the median of as many runs)
    once     no later finding repeats it
    same     the first findings of the default and the whole archive are the same
Waits for locks of POSIX threads have no gain, because what the run would gain is not said of them.
Where there are fewer cores than threads, "too few cores" may come first and is passed over: of the next one amount and gain are not
judged then, nor if it has more than a twentieth of the others, as a part is in that. Gains are compared with the program's own clocks there. Runs that a busy machine disturbs (as the program says, or the kernel: threads without a core) are
repeated, a few times; what is disturbed still is not judged, and counted.

Prints Markdown: a row for each cause, and all in per cent. What is wrong is said on stderr, with the sentence. Exit status 1 if less
than 95 % of a column are right. --keep: archives of wrong runs are put there.
"""

import argparse
import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "test/programs/waits/planted.c")
CORES = len(os.sched_getaffinity(0))
MARGIN = 0.005  # seconds that clock readings may differ by in all

MPI = ((2, 1), (3, 1), (4, 1), (8, 1))
TWO = MPI[:1]
OPENMP = ((0, 2), (0, 4))
HYBRID = ((2, 2),)
# (ranks, threads) of each; 0 ranks: without MPI.
CASES = {
    "rank": MPI, "clock": TWO, "pairs": MPI[2:3], "since": MPI[::2], "every": MPI[::2], "growing": MPI[::3], "rare": MPI[::2], "io": MPI[::2], "file": MPI[:3:2],
    "faults": MPI[:2],
    "chain": MPI[1:], "order": MPI[::2], "barrier": MPI[:2], "turns": MPI[:3], "link": MPI[:3], "small": TWO, "core": TWO,
    "thread": OPENMP + HYBRID, "lock": OPENMP + HYBRID, "mutex": OPENMP + HYBRID, "serial": OPENMP + HYBRID,
    "phases": MPI[::2], "rank+serial": HYBRID, "io+growing": MPI[2:],
    "none": MPI[:2], "ring": TWO, "bcast": TWO, "nonblocking": TWO, "varying": TWO, "regions": OPENMP[:1],
    "mutex fixed": OPENMP[:1],
}
NOTHING = ("none", "ring", "bcast", "nonblocking", "varying", "regions", "mutex fixed")
OPTIONS = {"mutex": ["--threads"], "mutex fixed": ["--threads"], "file": ["--files"]}  # of refrain run
JUDGED = ("first", "amount", "gain", "once", "same")


@dataclasses.dataclass
class Expected:
    account: str
    what: str = ""
    where: str = ""  # an expression
    ranks: list = dataclasses.field(default_factory=list)
    thread: int = None
    when: dict = None
    text: str = ""  # an expression


def place(text):
    """planted.c:N of the one line that has the text, not behind a letter."""
    with open(SOURCE, encoding="utf-8") as file:
        found = [number for number, line in enumerate(file, 1) if re.search(r"(?<!\w)" + re.escape(text), line)]
    if len(found) != 1:
        sys.exit(f"{SOURCE}: '{text}' is in {len(found)} lines")
    return f"planted.c:{found[0]}"


def places():
    allreduce = place("MPI_Allreduce(&mine")
    itself = place("MPI_Sendrecv(data, 8, MPI_CHAR, 0,")
    return {"to itself": rf"^between one MPI_Sendrecv \({itself}\) and the next$",
            "work": rf"^between one MPI_Allreduce \({allreduce}\) and the next$",
            "before half": rf"^between MPI_Allreduce \({allreduce}\) and MPI_Allreduce \({place('/* of half */')}\)$",
            "before send": rf"^between MPI_Allreduce \({allreduce}\) and MPI_Send \({place('rank + 1, 0, MPI_COMM_WORLD')}\)$",
            "before region": rf"^between .*{place('#pragma omp parallel')}$",
            "allreduce": f"^MPI_Allreduce @{allreduce}$",
            "barrier": f"^MPI_Barrier @{place('MPI_Barrier(')}$",
            "receive": rf"^MPI_Recv @{place('MPI_Recv(data, 8, MPI_CHAR, partner')}$",
            "send": f"^MPI_Send @{place('MPI_Send(data, 8, MPI_CHAR, next')}$",
            "region": rf"{place('#pragma omp parallel')}\b",
            "mutex": rf"pthread_mutex_lock @{place('/* to use it */')}$",
            "critical": rf"{place('#pragma omp critical')}\b"}


def length_of(case):
    """Iterations, and microseconds of computation in one. Waits for the clock are on a core for their last 0.3 ms, and ranks that wait
    in MPI are all the time: where cores are few, steps are long."""
    if case[0] == "phases":
        return 8, 10000
    if is_crowded(case) and case[1]:
        return 60, 20000
    return 100, 10000 if case[0] in NOTHING else 5000 if case[0] == "core" or is_crowded(case) else 1000


def expected_of(case, at):
    """The findings that the program must have, in any order."""
    cause, ranks, _ = case
    shapes = {"since": {"shape": "since", "from": length_of(case)[0] // 2}, "every": {"shape": "every", "period": 10},
              "growing": {"shape": "growing"}}
    always = {"shape": "all"}
    more = Expected("uneven_ranks", "Uneven work between ranks", at["work"], [1], None, shapes.get(cause, always))
    # (Without MPI the time between parallel regions has no place.)
    serial = Expected("serial", where=at["before region"] if ranks else "", when=always)
    calls = {
        "order": ("Late messages", at["receive"], [rank for rank in range(ranks) if rank % 2]),
        "barrier": ("Barriers", at["barrier"], []),
        "turns": ("Barriers", at["barrier"], []),
        "link": ("Slow sends", at["send"], [1]),
        "small": ("Many small MPI calls", at["allreduce"], []),
    }
    if cause in calls:
        return [Expected("communication", *calls[cause])]
    return {
        "rare": [dataclasses.replace(more, where=at["to itself"])],
        "pairs": [dataclasses.replace(more, where=at["before half"])],
        "chain": [dataclasses.replace(more, where=at["before send"], ranks=[0])],
        "core": [Expected("cores", "Too few cores")],
        "thread": [Expected("uneven_threads", where=at["region"], thread=1, when=always)],
        "lock": [Expected("synchronization", "Lock", at["critical"])],
        "mutex": [Expected("synchronization", "Lock", at["mutex"], text=r"Who has it when they begin to wait: renew_list\.")],
        "file": [dataclasses.replace(more, where=r"^in pwrite checkpoint\.dat$")],
        "serial": [serial],
        "rank+serial": [dataclasses.replace(more, where=at["before region"]), serial],
        "phases": [dataclasses.replace(more, ranks=[rank], when=None, text=r"between .* of the run\b")
                   for rank in (0, 1)],
        "io+growing": [more, dataclasses.replace(more, ranks=[2], when=shapes["growing"])],
    }.get(cause, [more])


def is_near(value, truth, relative):
    return abs(value - truth) <= relative * abs(truth) + MARGIN


def problems_of(found, wanted):
    """What is wrong in a finding."""
    when = found.get("when") or {}
    wrong = []
    if found["account"] != wanted.account or (wanted.what and found["what"] != wanted.what):
        wrong.append("kind")
    if not re.search(wanted.text, found["text"]):
        wrong.append("text")
    if not re.search(wanted.where, found.get("where") or ""):
        wrong.append("place")
    if (found.get("ranks") or []) != wanted.ranks or found.get("thread") != wanted.thread:
        wrong.append("ranks or thread")
    if wanted.when and any(abs(when.get(key, -9) - value) > (3 if key == "from" else 0) if key != "shape"
                           else when.get(key) != value for key, value in wanted.when.items()):
        wrong.append("iterations")
    return wrong


class Campaign:
    def __init__(self, options, folder):
        self.options, self.folder, self.places = options, folder, places()

    def run(self, case, limit, fixed, archive):
        """What the program says."""
        cause, ranks, threads = case
        options = OPTIONS.get(cause, [])
        if cause.endswith(" fixed"):
            cause, fixed = cause.removesuffix(" fixed"), True
        shutil.rmtree(archive, ignore_errors=True)
        program = os.path.join(self.options.programs, f"planted_{'mpi' if ranks else 'omp'}_clang")
        command = ([self.options.mpirun, "-n", str(ranks)] if ranks else []) + \
            [self.options.refrain, "run", *options, "-n", limit, "-o", archive, "--", program, cause, *map(str, length_of(case))] + \
            (["fixed"] if fixed else [])
        kept = {k: v for k, v in os.environ.items() if not re.match(r"(OMP|KMP|GOMP|REFRAIN)_", k)}
        done = subprocess.run(command, env=dict(kept, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive"),
                              capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout.split("\n", 1)[0])

    def ask(self, *words):
        return json.loads(subprocess.run([self.options.refrain, *words, "--json"], check=True, capture_output=True, text=True).stdout)

    def analysed(self, case, limit, archive):
        """What the program says and its findings; None: the machine was busy each time."""
        for _ in range(3 if is_crowded(case) else 8):
            said = self.run(case, limit, False, archive)
            if said["disturbed"]:
                continue
            causes = self.ask("analyze", archive, "--no-cube")["conclusions"]["causes"]
            if case[0] == "core" or is_crowded(case):
                return said, causes
            info = self.ask("info", archive)
            waited = sum(process["core_wait_ns"] for process in info["summary"]["processes"]) / 1e9
            if waited <= 0.15 * info["duration_s"] * info["threads"] and all(c["account"] != "cores" for c in causes):
                return said, causes
        return None

    def seconds_fixed(self, case):
        archive = os.path.join(self.folder, "fixed")
        runs = [self.run(case, "10", True, archive) for _ in range(self.options.runs)]
        quiet = [run["seconds"] for run in runs if not run["disturbed"]]
        return statistics.median(quiet) if quiet else None

    def judge(self, case, said, causes, fixed):
        """By column: right or wrong; and what is wrong."""
        if case[0] in NOTHING:
            large = [c for c in causes if c["share"] > 0.02 and not (is_crowded(case) and c["account"] == "cores")]
            return {"first": not large}, ["share"] if large else []
        wanted = expected_of(case, self.places)
        passed_over = is_crowded(case) and bool(causes) and causes[0]["account"] == "cores"
        of_cores = sum(c["seconds"] for c in causes if c["account"] == "cores")
        partly = is_crowded(case) and of_cores > 0.05 * (sum(c["seconds"] for c in causes) - of_cores)
        causes = causes[passed_over:]
        if len(causes) < len(wanted):
            return {"first": False}, ["none"]
        pairs = list(zip(causes, range(len(wanted))))
        if len(wanted) > 1 and len(problems_of(causes[0], wanted[0])) > len(problems_of(causes[0], wanted[1])):
            pairs = [(causes[0], 1), (causes[1], 0)]
        result, wrong = {}, sum((problems_of(cause, wanted[number]) for cause, number in pairs), [])
        result["first"] = not wrong
        if passed_over or partly:
            return result, wrong

        def of(number, what):
            return said[what][number] if len(wanted) > 1 else said[what]

        if case[0] == "core":
            iterations, each = length_of(case)
            computation = iterations * each * 1e-6
            lost = [case[1] * (said["seconds"] - computation)]
            if fixed is not None and fixed > 1.1 * computation:  # others used the cores
                fixed = None
        else:
            lost = [of(number, "lost") for _, number in pairs]
        result["amount"] = all(is_near(cause["seconds"], truth, 0.1) for (cause, _), truth in zip(pairs, lost))
        if fixed is not None and len(wanted) == 1 and not is_crowded(case):
            gains = [said["seconds"] - fixed]
        else:
            gains = [of(number, "gain") for _, number in pairs]
        if case[0] != "mutex" and (case[0] != "core" or fixed is not None):
            result["gain"] = all(is_near(cause["gain_seconds"], truth, 0.15) for (cause, _), truth in zip(pairs, gains))
        if case[0] == "io+growing":  # waits of one iteration can be for both: each is what both cost
            result["amount"] = is_near(sum(cause["seconds"] for cause, _ in pairs), lost[0], 0.1)
        named = [cause for cause, _ in pairs]
        result["once"] = sum(c["share"] for c in causes) <= 1 + 1e-9 and not any(
            later["account"] == cause["account"] and later["loop"] == cause["loop"] and later["seconds"] > 0.15 * cause["seconds"]
            for cause in named for later in causes[len(named):])
        for name, cause_values in (("amount", [(c["seconds"], t) for (c, _), t in zip(pairs, lost)]),
                                   ("gain", [(c["gain_seconds"], t) for (c, _), t in zip(pairs, gains)])):
            if result.get(name) is False:
                wrong.append(name + " " + ", ".join(f"{value:.4f} for {truth:.4f}" for value, truth in cause_values))
        if not result["once"]:
            wrong.append("repeated")
        return result, wrong

    def cases(self, case):
        """Judged columns of all runs; how many were disturbed."""
        fixed = None if case[0] in NOTHING or is_crowded(case) else self.seconds_fixed(case)
        columns, busy = [], 0
        for number in range(self.options.runs):
            firsts = []
            for limit in ("10", "0"):
                archive = os.path.join(self.folder, f"{case[0]}-{case[1]}x{case[2]}-n{limit}-{number}")
                found = self.analysed(case, limit, archive)
                if found is None:
                    busy += 1
                else:
                    result, wrong = self.judge(case, *found, fixed)
                    columns.append(result)
                    firsts.append(next(({key: c.get(key) for key in ("what", "where", "ranks", "thread")} for c in found[1]
                                        if not (is_crowded(case) and c["account"] == "cores")), None))
                    if wrong:
                        texts = "".join(f"\n    {c['share']:.1%} {c['seconds']:.4f} {c['what']}: {c['text']}" for c in found[1][:4])
                        print(f"{os.path.basename(archive)}: {'; '.join(wrong)}; {json.dumps(found[0])}{texts}", file=sys.stderr, flush=True)
                    if wrong and self.options.keep:
                        continue
                shutil.rmtree(archive, ignore_errors=True)
            if len(firsts) == 2 and case[0] not in NOTHING:
                columns[-1]["same"] = firsts[0] == firsts[1]
                if firsts[0] != firsts[1]:
                    print(f"{case}: reduced {firsts[0]}, whole {firsts[1]}", file=sys.stderr, flush=True)
        return columns, busy


def is_crowded(case):
    return max(case[1], 1) * case[2] > CORES


def cells_of(columns):
    cells = []
    for name in JUDGED:
        values = [column[name] for column in columns if name in column]
        cells.append(f"{sum(values)}/{len(values)}" if values else "-")
    return cells


def main():
    parser = argparse.ArgumentParser(prog="tools/check root-causes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="causes that match this expression whole, e.g. 'rank|since'")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--refrain", help="the command, if it is not the one that bazel builds")
    parser.add_argument("--programs", metavar="FOLDER", default=os.path.join(ROOT, "bazel-bin/test/programs/waits"))
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("--keep", metavar="FOLDER")
    options = parser.parse_args()
    if not options.refrain:
        built = subprocess.run(["bazel", "build", "--noshow_progress", "//tools:refrain", "//test/programs/waits:all_programs"],
                               cwd=ROOT, check=False)
        if built.returncode != 0:
            return built.returncode
        options.refrain = os.path.join(ROOT, "bazel-bin/tools/refrain")
    print("| cause | ranks x threads | " + " | ".join(JUDGED) + " | disturbed |")
    print("| --- " * (len(JUDGED) + 3) + "|", flush=True)
    total = []
    with tempfile.TemporaryDirectory(prefix="causes-") as folder:
        campaign = Campaign(options, options.keep or folder)
        for cause, runs in CASES.items():
            if options.only and not re.fullmatch(options.only, cause):
                continue
            columns, busy = [], 0
            for ranks, threads in runs:
                print(f"{cause} {ranks}x{threads}", file=sys.stderr, flush=True)
                some, disturbed = campaign.cases((cause, ranks, threads))
                columns += some
                busy += disturbed
            total += columns
            names = ", ".join(f"{ranks} x {threads}" if ranks else str(threads) for ranks, threads in runs)
            print(f"| {cause} | {names} | " + " | ".join(cells_of(columns)) + f" | {busy} |", flush=True)
    shares = {name: [column[name] for column in total if name in column] for name in JUDGED}
    print("| all | | " + " | ".join(f"{100 * sum(v) / len(v):.1f} %" if v else "-" for v in shares.values()) + " | |")
    return 1 if any(v and sum(v) < 0.95 * len(v) for v in shares.values()) else 0
