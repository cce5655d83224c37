"""The code in docs/guide/python.md, docs/reference/patterns.md and the docstrings of the module runs as it is printed."""

import contextlib
import doctest
import inspect
import io
import json
import os
import re
import subprocess

import archives


def blocks(page, language):
    with open(archives.data(page), encoding="utf-8") as file:
        return re.findall(rf"```{language}\n(.*?)```", file.read(), re.S)


def make_archives():
    """As the page says, in a directory that is empty."""
    (program,) = blocks("docs/guide/python.md", "c")
    (script,) = blocks("docs/guide/python.md", "sh")
    with open("late.c", "w", encoding="utf-8") as file:
        file.write(program)
    os.mkdir("bin")
    for name, command in (("refrain", archives.REFRAIN), ("mpicc", "mpicc.mpich"), ("mpirun", "mpirun.mpich")):
        with open(f"bin/{name}", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {command} "$@"\n')
        os.chmod(f"bin/{name}", 0o755)
    archives.run(["bash", "-e", "-c", f"PATH={os.getcwd()}/bin:$PATH\n{script}"])


def run_docstrings():
    import refrain

    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed = examples = 0
    for module in (refrain, refrain._experiments):
        for test in doctest.DocTestFinder().find(module, globs={"refrain": refrain}):
            result = doctest.DocTestRunner(optionflags=flags).run(test)
            failed, examples = failed + result.failed, examples + result.attempted
    assert failed == 0 and examples > 40, (failed, examples)
    # Whatever is written in Python has an example; values and what the methods of patterns get have none.
    for name in refrain.__all__:
        thing = getattr(refrain, name)
        if thing.__module__ != "refrain._refrain" and not (inspect.isclass(thing) and issubclass(thing, tuple)):
            assert ">>>" in thing.__doc__, f"{name}: no example"


def run_python():
    code = blocks("docs/guide/python.md", "python")
    assert len(code) > 5, len(code)
    names = {"__name__": "tutorial"}
    for block in code:
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                exec(compile(block, "docs/guide/python.md", "exec"), names)
        except Exception:
            print(block)
            raise
        # Lines that the page says are printed.
        for expected in re.findall(r"^# prints: (.*)$", block, re.M):
            assert re.search(expected, said.getvalue()), (expected, said.getvalue())


def run_patterns():
    (source,) = blocks("docs/reference/patterns.md", "cpp")
    with open("long_barriers.cc", "w", encoding="utf-8") as file:
        file.write(source)
    (script,) = blocks("docs/reference/patterns.md", "sh")
    build, use = script.strip().splitlines()
    headers = os.path.dirname(archives.data("waits/modules/refrain_patterns.h"))
    build = build.replace("$(pkg-config --cflags refrain)", f"-I{headers} -Wall -Wextra -Werror")
    subprocess.run(build, shell=True, check=True)
    assert use.startswith("refrain analyze --patterns ./long_barriers.so")
    barrier = archives.recorded("waits_mpi_gcc-coll_barrier_last-320_n2o_t2_LIMIT=0", "barrier")
    words = use.replace("refrain", archives.REFRAIN, 1).split()[:-1]
    text = archives.run(words + ["--quiet", "--all", barrier])
    assert "long_barriers" in text and "One rank has far more work" in text, text
    found = json.loads(archives.run(words + ["--quiet", "--json", "--no-cube", barrier]))
    waits = found["metrics"]
    # Of two barriers at most one is longer than half of it; what is shorter than 10 ms is left out.
    assert 0.01 < waits["long_barriers"] <= waits["mpi_barrier_wait"], waits
    import refrain

    cube = refrain.read_experiment(os.path.join(barrier, "analysis.cubex"))
    assert abs(cube.totals()["long_barriers"] - waits["long_barriers"]) < 1e-9, cube.totals()


def wrong_modules():
    late = os.path.join(archives.FOLDER, "run")

    def error_of(*files):
        words = [archives.REFRAIN, "analyze", "--quiet", "--no-cube", late]
        for file in files:
            words += ["--patterns", file]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done
        return done.stderr

    modules = os.path.dirname(archives.data("waits/modules/old_module.so"))
    assert "no such file" in error_of("none.so")
    assert "version 2" in error_of(os.path.join(modules, "old_module.so"))
    assert "has failed: two lines" in error_of(os.path.join(modules, "failing_module.so"))
    good = os.path.join(modules, "good_module.so")
    assert "such a metric already" in error_of(good, good)
    # Several at once.
    words = [archives.REFRAIN, "analyze", "--quiet", "--no-cube", "--json", late]
    found = json.loads(archives.run(words + ["--patterns", good, "--patterns", "./long_barriers.so"]))
    assert found["metrics"]["late_again"] == found["metrics"]["mpi_latesender"] > 0.01
    assert "long_barriers" in found["metrics"]


os.chdir(archives.FOLDER)
make_archives()
run_patterns()
wrong_modules()
run_docstrings()
run_python()
os.chdir("/")
archives.remove()
