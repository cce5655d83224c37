"""tools/bench compare: what a reduced trace says of the whole run, program by program."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from measure.common import BIN, REFRAIN, bazel, environment

# Programs that repeat themselves, with arguments that give some tens or hundreds of iterations.
OPENMP = (("cg_gcc", ["100"]), ("cg_clang", ["100"]), ("heat_gfortran", []),
          ("jacobi_gcc", []), ("jacobi_clang", []), ("amr_clang", []),
          ("converge_gcc", []), ("irregular_clang", []), ("nested_clang", []),
          ("phases_gcc", []), ("tasks_clang", []), ("particles_clang", []))
MPI = (("halo_gcc", ["300"]), ("sweep_gcc", ["100"]), ("rowcol_cg_gcc", ["100"]),
       ("allreduce_gcc", ["300"]), ("nocollective_gcc", ["300"]), ("onesided_gcc", ["100"]),
       ("hybrid_gcc", ["100"]), ("wave_mpi_gfortran", []))


def run(program, arguments, mpi, limit, archive):
    folder = "test/programs/mpi" if mpi else "test/programs"
    command = [REFRAIN, "run", "-n", str(limit), "--quiet", "-o", archive, "--"]
    command += ["mpirun", "-n", "2"] if mpi else []
    command += [os.path.join(BIN, folder, program), *arguments]
    done = subprocess.run(command, env=environment(1 if mpi else 2), capture_output=True,
                          text=True)
    if done.returncode != 0:
        print(f"  {program}: exit status {done.returncode}: {done.stderr.strip()[:200]}")
    return done.returncode == 0


def compared(*arguments):
    # By the summary all totals are equal: what is measured are the estimates.
    done = subprocess.run([REFRAIN, "compare", "--json", "--quiet", "--no-summary", *arguments],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {done.stderr}")
    return json.loads(done.stdout)


def differences(comparison, figures):
    """In percent, without sign; a row that only one has counts as 100."""
    return [100 if row["difference"] is None else 100 * abs(row["difference"])
            for row in comparison["rows"]
            if row["figure"] in figures and row["section"] in ("Regions", "Iterations",
                                                               "Messages")]


COUNTS = ("calls", "iterations", "sent", "received", "ends")
TIMES = ("share of time",)


def text(values):
    if not values:
        return f"{'-':>15}"
    return f"{statistics.median(values):6.2f} {max(values):8.2f}"


def program_row(program, arguments, mpi, scratch):
    archives = {name: os.path.join(scratch, name) for name in ("a", "b", "c", "d")}
    for name, limit in (("a", 0), ("c", 10), ("b", 0), ("d", 10)):
        if not run(program, arguments, mpi, limit, archives[name]):
            return None
    pairs = {"same": [compared(archives["a"], "--limit", "10"),
                      compared(archives["b"], "--limit", "10")],
             "full": [compared(archives["a"], archives["b"])],
             "reduced": [compared(archives["a"], archives["c"]),
                         compared(archives["b"], archives["d"])]}
    row = {}
    for name, comparisons in pairs.items():
        for kind, figures in (("counts", COUNTS), ("times", TIMES)):
            row[name, kind] = [value for one in comparisons
                               for value in differences(one, figures)]
    reduced = pairs["reduced"][0]["b"]
    whole = reduced["written_ns"] + reduced["estimated_ns"] + reduced["unexplained_ns"]
    row["estimated"] = 100 * reduced["estimated_ns"] / whole if whole else 0
    return row


def compare(_):
    bazel("build", "//tools:refrain", "//tracer:librefrain.so", "//tracer:librefrain_mpich.so",
          *(f"//test/programs:{name}" for name, _ in OPENMP),
          *(f"//test/programs/mpi:{name}" for name, _ in MPI))
    print("Differences in percent, median and maximum, of counts (calls, iterations, messages) "
          "and of shares of time, for regions of 1 % of the time or more. same: a whole trace "
          "against itself as if reduced to 10 iterations; full: two whole traces of two runs; "
          "reduced: whole against reduced, two runs each. est.: share of the reduced run's time "
          "that is estimated.\n")
    columns = [(pair, kind) for pair in ("same", "full", "reduced")
               for kind in ("counts", "times")]
    print(f"{'program':<22} {'est. %':>6}" +
          "".join(f"  {pair + ' ' + kind:>15}" for pair, kind in columns))
    all_rows = {column: [] for column in columns}
    for mpi, programs in ((False, OPENMP), (True, MPI)):
        for program, arguments in programs:
            scratch = tempfile.mkdtemp(prefix="refrain-bench-")
            try:
                row = program_row(program, arguments, mpi, scratch)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
            if row is None:
                continue
            print(f"{program:<22} {row['estimated']:6.1f}" +
                  "".join(f"  {text(row[column])}" for column in columns), flush=True)
            for column in columns:
                all_rows[column] += row[column]
    print(f"{'all':<29}" + "".join(f"  {text(all_rows[column])}" for column in columns))
    within = [100 * sum(v <= 2 for v in all_rows[column]) / max(1, len(all_rows[column]))
              for column in columns]
    print(f"{'within 2 %, % of rows':<29}" + "".join(f"  {value:15.1f}" for value in within))
