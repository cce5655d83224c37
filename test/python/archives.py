"""Archives for the tests of Python: traced by the command, and of another tool."""

import glob
import json
import os
import shutil
import subprocess
import tempfile

ROOT = os.environ.get("REFRAIN_TEST_ROOT", os.getcwd())


def data(name):
    path = os.path.join(ROOT, name)
    assert os.path.exists(path), path
    return path


REFRAIN = data("tools/refrain")
FOLDER = tempfile.mkdtemp(prefix="refrain-python-", dir=os.environ.get("TEST_TMPDIR"))


def environment():
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMP_", "KMP_", "GOMP_", "REFRAIN_", "LD_PRELOAD", "PYTHON"))
    }
    kept["OMP_NUM_THREADS"] = "2"
    return kept


def run(words, **more):
    return subprocess.run(
        words, check=True, env=environment(), timeout=600, stdout=subprocess.PIPE, text=True, **more
    ).stdout


def traced(name, program, *arguments, limit="0", ranks=2):
    """Of ranks with two threads each."""
    folder = os.path.join(FOLDER, name)
    words = [REFRAIN, "run", "--quiet", "-n", limit, "-o", folder, "--"]
    run(words + ["mpirun.mpich", "-n", str(ranks), data(program), *arguments])
    return folder


def waiting(name, case, metric, least, ranks=2):
    """Of a program that waits; with longer sleeps until `metric` is at least so many seconds, for a busy machine may eat
    up short ones."""
    for attempt in range(8):
        delay = 40 << attempt
        folder = traced(f"{name}-{delay}", "test/programs/waits/waits_mpi_gcc", case, str(delay), ranks=ranks)
        found = json.loads(run([REFRAIN, "analyze", "--json", "--no-cube", "--quiet", folder]))
        if found["metrics"][metric] >= least:
            return folder
    raise AssertionError(f"{case}: no {metric}")


def foreign():
    """As another tool may write it."""
    folder = os.path.join(FOLDER, "foreign")
    if not os.path.exists(folder):
        run([data("test/python/write_foreign"), folder])
    return folder


def damaged(archive, name, pattern, keep):
    """A copy whose files that fit the pattern are cut to a share of their size."""
    folder = os.path.join(FOLDER, name)
    shutil.copytree(archive, folder)
    files = glob.glob(os.path.join(folder, pattern))
    assert files, pattern
    for file in files:
        os.truncate(file, int(os.path.getsize(file) * keep))
    return folder


def remove():
    if "REFRAIN_TEST_KEEP" not in os.environ:
        shutil.rmtree(FOLDER, ignore_errors=True)
