"""tools/bench mpi: what tracing costs a program of short MPI calls."""

import os
import shutil
import statistics
import sys
import tempfile

from measure.common import BIN, REFRAIN, bazel, environment, percent, quartiles, run_program

PROGRAM = os.path.join(BIN, "test/programs/mpi/shortring_gcc")
VARIANTS = ("untraced", "recording", "holding")
RING_CALLS = 2  # an iteration: Sendrecv, Allreduce


def command_of(variant, archive, command):
    if variant == "untraced":
        return command
    limit = "0" if variant == "recording" else "10"
    return [REFRAIN, "run", "-n", limit, "--quiet", "-o", archive, "--", *command]


def run(variant, scratch, command):
    """Nanoseconds an iteration, and the bytes of the archive."""
    archive = os.path.join(scratch, "archive")
    values = run_program(command_of(variant, archive, command), environment(1))
    size = sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(archive) for name in names)
    shutil.rmtree(archive, ignore_errors=True)
    return float(values["ns_per_iteration"]), size


def rounds_of(options, scratch, command, name):
    rounds = []
    for number in range(options.rounds):
        if sys.stderr.isatty():
            print(f"\r{name}: round {number + 1} of {options.rounds} ", end="", file=sys.stderr)
        turn = number % len(VARIANTS)
        order = VARIANTS[turn:] + VARIANTS[:turn]
        rounds.append({variant: run(variant, scratch, command) for variant in order})
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return rounds


def ring(options, scratch):
    units = max(int(run_program([PROGRAM, "calibrate", "5000"], environment(1))["units"])
                for _ in range(5))
    iterations = 20000
    command = ["mpirun", "-n", "2", PROGRAM, "ring", str(iterations), str(units)]
    rounds = rounds_of(options, scratch, command, "ring")
    print(f"ring: Sendrecv, Allreduce and 5 us of work an iteration, 2 processes, {iterations} "
          f"iterations, {len(rounds)} rounds; medians within rounds, quartiles in brackets")
    for variant in VARIANTS:
        wall = statistics.median(r[variant][0] for r in rounds)
        line = f"  {variant:10} {wall:8.0f} ns an iteration"
        if variant != "untraced":
            line += percent([100 * (r[variant][0] / r["untraced"][0] - 1) for r in rounds])
            extra = [(r[variant][0] - r["untraced"][0]) / RING_CALLS for r in rounds]
            line += f", {statistics.median(extra):6.1f} ns a call"
        print(line)
    full = rounds[0]["recording"][1]
    reduced = rounds[0]["holding"][1]
    print(f"  archive: {full} bytes in full, {reduced} reduced, {100 * reduced / full:.2f} %")


# Calls that do next to nothing. One that asks something of this process alone is no symbol of
# the detector's stream: no loop is found, and nothing is held. The other is an iteration of
# its own each time.
SINGLE_CALLS = (("call", "MPI_Comm_rank, which is no symbol and so always written"),
                ("send", "MPI_Send to nobody, six functions deep"))


def single_call(options, scratch, mode, what):
    command = [PROGRAM, mode, "2000000"]
    rounds = rounds_of(options, scratch, command, mode)
    print(f"{mode}: {what}, again and again in one process, {len(rounds)} rounds")
    for variant in VARIANTS[1:]:
        low, middle, high = quartiles([r[variant][0] - r["untraced"][0] for r in rounds])
        print(f"  {variant:10} {middle:6.1f} ns a call over untraced [{low:.1f} {high:.1f}]")


def mpi(options):
    bazel("build", "//tools:refrain", "//tracer:librefrain_mpich.so",
          "//test/programs/mpi:shortring_gcc")
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        for mode, what in SINGLE_CALLS:
            single_call(options, scratch, mode, what)
        ring(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
