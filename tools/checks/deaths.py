"""Kills programs at random moments and looks at what is left.

Usage: tools/check deaths [--kills N] [--seed N] [--victim PROGRAM] [--death WAY]

The tests kill_test (OpenMP: six signals and settings, eight programs in turn), mpi_kill_test
(four ranks), death_test (programs and ranks that die by themselves in sixteen ways) and hostile_test
(programs that close descriptors, fork, use all keys, ... in a random order: traced as untraced), with
as many of each kind as one asks for (default 500).
"""

import argparse
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    parser = argparse.ArgumentParser(prog="tools/check deaths", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--victim", help="kill only this program of kill_test")
    parser.add_argument("--death", help="only this way of death_test, e.g. segv")
    options = parser.parse_args()
    variables = {"REFRAIN_TEST_KILLS": options.kills, "REFRAIN_TEST_SEED": options.seed,
                 "REFRAIN_TEST_VICTIM": options.victim, "REFRAIN_TEST_DEATH": options.death}
    tests = [f"//test/end_to_end:{test}" for test in ("kill_test", "mpi_kill_test", "death_test", "hostile_test")]
    given = [f"--test_env={name}={value}" for name, value in variables.items()
             if value is not None]
    return subprocess.run(
        ["bazel", "test", "--test_timeout=86400", "--cache_test_results=no", *given, *tests],
        cwd=ROOT, check=False).returncode
