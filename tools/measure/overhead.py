"""tools/bench overhead: what tracing costs a program of short parallel regions."""

import os
import re
import shutil
import statistics
import sys
import tempfile

from measure.common import (BIN, Variant, bazel, describe, environment, percent, refrain,
                            run_program, run_variant, with_peers)

PROGRAM = os.path.join(BIN, "test/programs/shortloop_clang")
COUNTING_TOOL = os.path.join(BIN, "test/tools/counting_tool.so")
EMPTY_TOOL = os.path.join(BIN, "test/tools/empty_tool.so")
WAYS = (Variant("untraced", [], {"OMP_TOOL": "disabled"}),
        Variant("empty", [], {"OMP_TOOL_LIBRARIES": EMPTY_TOOL}),
        Variant("recording", refrain("0")), Variant("suspended", refrain("10")))
REGIONS = 5
SLOW_MODE_NS = 650  # an empty region that costs more than this: the slow mode
MODE_VISIBLE_US = 20  # in longer regions, clock and calibration hide the difference


class Shape:
    """One length of a region, with a fixed amount of work for all of its runs."""

    def __init__(self, length_us, threads, options):
        self.length_us = length_us
        self.threads = threads
        self.variants = with_peers(list(WAYS), options.peer, "regions")
        per_iteration_us = REGIONS * (length_us + 0.7)
        self.iterations = max(100, round(options.seconds * 1e6 / per_iteration_us))
        self.units = self.calibrate()
        self.rounds = []

    def calibrate(self):
        """The minimum of several: whatever disturbs makes the machine look slower."""
        length_ns = str(round(self.length_us * 1000))
        return max(int(run_program([PROGRAM, "1", length_ns], environment(1))["units"])
                   for _ in range(5))

    def callbacks_per_iteration(self, scratch):
        output = os.path.join(scratch, "counts.json")
        totals = []
        for iterations in (200, 400):
            command = [PROGRAM, str(iterations), "0", "1"]
            run_program(command, environment(self.threads, OMP_TOOL_LIBRARIES=COUNTING_TOOL,
                                             COUNTING_TOOL_OUTPUT=output))
            with open(output) as file:
                counts = dict(re.findall(r'"(\w+)": (\d+)', file.read().split('"counts"')[0]))
            totals.append(sum(int(v) for k, v in counts.items()
                              if k not in ("pid", "dispatch")))
        return (totals[1] - totals[0]) / 200

    def run(self, variant, scratch):
        values = run_variant(variant, scratch, self.threads, [], 1, PROGRAM,
                             [str(self.iterations), str(round(self.length_us * 1000)),
                              str(self.units)])
        return float(values["ns_per_iteration"]), float(values["cpu_ns_per_iteration"])

    def run_round(self, number, scratch):
        turn = number % len(self.variants)
        order = self.variants[turn:] + self.variants[:turn]
        self.rounds.append({v.name: self.run(v, scratch) for v in order})

    def region_cost_ns(self, a_round):
        """What the runtime adds to a region, untraced."""
        return a_round["untraced"][0] / REGIONS - self.length_us * 1000

    def slow(self, a_round):
        return self.region_cost_ns(a_round) > SLOW_MODE_NS


def print_table(shape, rounds, title, callbacks):
    print(f"\n{title}")
    print(f"  {'':10} {'wall, ns/iteration':>18}  {'wall over untraced':^26}  "
          f"{'CPU over untraced':^26}  {'wall over empty tool':^26}  ns a callback")
    for variant in (v.name for v in shape.variants):
        wall = statistics.median(r[variant][0] for r in rounds)
        line = f"  {variant:10} {wall:18.0f}"
        if variant != "untraced":
            for clock in (0, 1):
                over = [100 * (r[variant][clock] / r["untraced"][clock] - 1) for r in rounds]
                line += "  " + percent(over)
        if variant not in ("untraced", "empty"):
            points = [100 * (r[variant][0] - r["empty"][0]) / r["untraced"][0] for r in rounds]
            line += "  " + percent(points).replace("%", "p")
            extra = [(r[variant][1] - r["untraced"][1]) / callbacks for r in rounds]
            line += f"  {statistics.median(extra):13.1f}"
        elif variant == "empty":
            extra = [(r[variant][1] - r["untraced"][1]) / callbacks for r in rounds]
            line += " " * 28 + f"  {statistics.median(extra):13.1f}"
        print(line)


def report(shape, callbacks):
    cost = statistics.median(shape.region_cost_ns(r) for r in shape.rounds)
    print_table(shape, shape.rounds,
                f"regions of {shape.length_us:g} us, {shape.threads} threads, "
                f"{shape.iterations} iterations, {len(shape.rounds)} rounds; the runtime adds "
                f"{cost:.0f} ns a region; {callbacks:.0f} callbacks an iteration", callbacks)
    if shape.length_us > MODE_VISIBLE_US:
        print("  libomp's mode cannot be determined at this length")
        return
    slow = [r for r in shape.rounds if shape.slow(r)]
    fast = [r for r in shape.rounds if not shape.slow(r)]
    if slow and fast:
        for name, rounds in (("fast", fast), ("slow", slow)):
            print_table(shape, rounds, f"  of these, libomp in its {name} mode: "
                        f"{len(rounds)} rounds", callbacks)
    else:
        print(f"  libomp was in its {'slow' if slow else 'fast'} mode in every untraced run")


def overhead(options):
    bazel("build", "//tools:refrain", "//test/programs:shortloop_clang",
          "//test/tools:empty_tool.so", "//test/tools:counting_tool.so")
    scratch = tempfile.mkdtemp(prefix="refrain-bench-")
    try:
        shapes = [Shape(length, threads, options)
                  for threads in options.threads for length in options.lengths]
        callbacks = {shape.threads: shape.callbacks_per_iteration(scratch) for shape in shapes}
        describe()
        for number in range(options.rounds):
            if sys.stderr.isatty():
                print(f"\rround {number + 1} of {options.rounds} ", end="", file=sys.stderr)
            for shape in shapes:
                shape.run_round(number, scratch)
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr)
        print("Medians of ratios within rounds, quartiles in brackets; p: percentage points. "
              "ns a callback: CPU time added, all threads, by the callbacks counted.")
        for shape in shapes:
            report(shape, callbacks[shape.threads])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
