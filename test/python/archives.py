"""Archives for the tests of Python: recorded runs, and of another tool."""

import glob
import os
import shutil
import stat
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


def recorded(run, name):
    """A copy of a run that the build has recorded (test/runs)."""
    folder = os.path.join(FOLDER, name)
    shutil.copytree(data(os.path.join("test/runs", run, "archive")), folder)
    # Outputs of the build cannot be written to.
    for path, _, files in os.walk(folder):
        for each in [path] + [os.path.join(path, file) for file in files]:
            os.chmod(each, os.stat(each).st_mode | stat.S_IWUSR)
    return folder


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
