"""tools/bench mpi: what tracing costs a program of short MPI calls, compared with other tracers."""

import os
import shutil
import statistics
import tempfile

from measure.common import (BIN, Variant, bazel, describe, environment, in_turns, percent,
                            quartiles, refrain, run_program, run_variant, with_peers)

PROGRAM = os.path.join(BIN, "test/programs/mpi/shortring_gcc")
# By names that Debian's alternatives do not redirect.
LAUNCH = {"mpich": ["mpirun.mpich"], "openmpi": ["mpirun.openmpi", "--oversubscribe"]}
RING_CALLS = 2  # an iteration: Sendrecv, Allreduce


def program_of(mpi):
    return PROGRAM if mpi == "mpich" else f"{PROGRAM}_{mpi}"


WAYS = (("untraced", []), ("recording", refrain("0")), ("suspended", refrain("10")))


class OfMpi:
    """A variant, and the MPI whose program it runs."""

    def __init__(self, mpi, variant, name=None):
        self.mpi = mpi
        self.variant = variant
        self.name = name or variant.name

    def run(self, scratch, ranks, arguments):
        return run_variant(self.variant, scratch, 1, LAUNCH[self.mpi], ranks,
                           program_of(self.mpi), arguments)


def variants_of(options):
    ways = [Variant(*way) for way in WAYS]
    return [OfMpi(options.mpi, each) for each in with_peers(ways, options.peer, "calls")]


def rounds_of(options, scratch, ranks, arguments, name, variants=None):
    return in_turns(variants or variants_of(options), options.rounds, name,
                    lambda variant: variant.run(scratch, ranks, arguments))


def names_of(rounds):
    """The traced variants, in the order of their definition."""
    first = ["recording", "suspended"]
    return first + sorted(set(rounds[0]) - set(first) - {"untraced"})


def value(one_round, variant, key="ns_per_iteration"):
    return float(one_round[variant][key])


RING_ITERATIONS = 20000


def rounds_of_ring(options, scratch):
    """Of two processes with 5 us of work an iteration."""
    units = max(int(run_program([program_of(options.mpi), "calibrate", "5000"], environment(1))["units"])
                for _ in range(5))
    return rounds_of(options, scratch, 2, ["ring", str(RING_ITERATIONS), str(units)], "ring")


def ring(options, scratch):
    rounds = rounds_of_ring(options, scratch)
    print(f"ring: Sendrecv, Allreduce and 5 us of work an iteration, 2 processes, {RING_ITERATIONS} "
          f"iterations, {len(rounds)} rounds; medians within rounds, quartiles in brackets; then "
          "the same of each run's fastest interval of 40")
    untraced = statistics.median(value(r, "untraced") for r in rounds)
    print(f"  {'untraced':10} {untraced:8.0f} ns an iteration")
    for name in names_of(rounds):
        wall = statistics.median(value(r, name) for r in rounds)
        line = f"  {name:10} {wall:8.0f} ns an iteration"
        line += percent([100 * (value(r, name) / value(r, "untraced") - 1) for r in rounds])
        extra = [(value(r, name) - value(r, "untraced")) / RING_CALLS for r in rounds]
        fastest = [100 * (value(r, name, "minimum_ns") / value(r, "untraced", "minimum_ns") - 1)
                   for r in rounds]
        print(f"{line}, {statistics.median(extra):6.1f} ns a call; fastest{percent(fastest)}")
    full = rounds[0]["recording"]["bytes"]
    reduced = rounds[0]["suspended"]["bytes"]
    print(f"  archive: {full} bytes in full, {reduced} reduced, {100 * reduced / full:.2f} %")


# Calls that do next to nothing, in one process. One that concerns this process alone is no
# symbol of the detector's stream: no loop is detected, and nothing is skipped. Each call of the
# second is an iteration.
SINGLE = (("call", 2000000, 1, "MPI_Comm_rank, a local call: counted, not recorded"),
          ("send", 2000000, 1, "MPI_Send to nobody, six functions deep"),
          ("ring", 300000, RING_CALLS, "Sendrecv to itself and Allreduce"))


def single(options, scratch, mode, count, calls, what):
    rounds = rounds_of(options, scratch, 1, [mode, str(count)], mode)
    print(f"{mode}: {what}, again and again in one process, {len(rounds)} rounds; ns a call over "
          "untraced, wall-clock and CPU time: medians, quartiles in brackets")
    for name in names_of(rounds):
        line = f"  {name:10}"
        for key, kind in (("ns_per_iteration", "wall"), ("cpu_ns", "CPU")):
            low, middle, high = quartiles([(value(r, name, key) - value(r, "untraced", key))
                                           / calls for r in rounds])
            line += f"  {kind} {middle:6.1f} [{low:.1f} {high:.1f}]"
        print(line)


# With either MPI a rank that waits keeps its core.
SPIN = {"TEST_PROGRAMS_SPIN": "1", "OMPI_MCA_mpi_yield_when_idle": "0"}
# Of two processes: arguments, iterations, calls in one that follow each other.
OF_TWO = (("pair", 2000, 4, "Send and Recv, there and back"),
          ("exchange", 2000, 4, "Isend, Irecv, two Wait"),
          ("allreduce", 2000, 1, "Allreduce"))


def mpi_calls(options):
    bazel("build", "//tools:refrain", *("//test/programs/mpi:" + os.path.basename(program_of(each)) for each in LAUNCH))
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    variants = [OfMpi(each, Variant(name, command, SPIN), f"{each} {name}")
                for name, command in WAYS for each in LAUNCH]
    print("ns a call over untraced and times untraced; of the median interval of 40 of a run, and of the fastest; medians of "
          f"{options.rounds} rounds, quartiles in brackets")
    try:
        for mode, count, calls, what in OF_TWO:
            rounds = rounds_of(options, scratch, 2, [mode, str(count)], mode, variants)
            print(f"{mode}: {what}, {count} iterations of 2 processes")
            for each in LAUNCH:
                alone = [statistics.median(value(r, f"{each} untraced", key) / calls for r in rounds)
                         for key in ("ns_per_iteration", "minimum_ns")]
                print(f"  {each:8} untraced   {alone[0]:8.0f} ns, fastest {alone[1]:8.0f} ns")
                for name in ("recording", "suspended"):
                    print(f"  {each:8} {name:10} " + ", fastest ".join(
                        over_untraced(rounds, each, name, key, calls) for key in ("ns_per_iteration", "minimum_ns")))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def over_untraced(rounds, mpi_name, name, key, calls):
    traced = [value(r, f"{mpi_name} {name}", key) for r in rounds]
    alone = [value(r, f"{mpi_name} untraced", key) for r in rounds]
    low, middle, high = quartiles([(a - b) / calls for a, b in zip(traced, alone)])
    ratios = quartiles([a / b for a, b in zip(traced, alone)])
    return (f"{middle:7.0f} ns [{low:.0f} {high:.0f}] x {ratios[1]:.2f} "
            f"[{ratios[0]:.2f} {ratios[2]:.2f}]")


def mpi(options):
    bazel("build", "//tools:refrain",
          "//test/programs/mpi:" + os.path.basename(program_of(options.mpi)))
    describe()
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        for mode, count, calls, what in SINGLE:
            single(options, scratch, mode, count, calls, what)
        ring(options, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
