"""What the measurements share: where things lie, runs of programs, quartiles."""

import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "bazel-bin")
REFRAIN = os.path.join(BIN, "tools/refrain")


def fail(text):
    sys.exit("bench: " + text)


def bazel(*arguments):
    if subprocess.run(["bazel", *arguments], cwd=ROOT).returncode != 0:
        fail("bazel " + " ".join(arguments) + " failed")


def environment(threads, **more):
    """Of a run: this one's, without anything that would trace or steer it."""
    kept = {k: v for k, v in os.environ.items()
            if not re.match(r"(OMP|KMP|GOMP|REFRAIN|LD)_", k)}
    return dict(kept, OMP_NUM_THREADS=str(threads), **more)


def run_program(command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    # A tracer may print after the program.
    lines = [line for line in done.stdout.strip().splitlines() if "=" in line]
    if not lines:
        fail(f"{' '.join(command)}: it printed no values")
    return dict(pair.split("=", 1) for pair in lines[-1].split() if "=" in pair)


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def percent(values):
    low, middle, high = quartiles(values)
    return f"{middle:+7.2f} % [{low:+6.2f} {high:+6.2f}]"
