"""README.md and docs/guide do as they say: blocks are run as printed, in a clean directory, one page after the other.

sh: commands, which must succeed. console: commands behind `$`, and what they print, compared in shape: the words, without
numbers, units and what `...` stands for. c, bash, text: a file, if the first two lines name it in a comment. What is not run is
in NOT_RUN with the reason, and nothing else is. Pages open with what the reader gets and a command; programs are compiled with -g.
All links in documents lead somewhere, and the table of settings is what the command prints."""

import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.getcwd()
# README.md shows what the guide makes.
PAGES = [
    f"docs/guide/{name}.md"
    for name in ("install", "first-trace", "slow", "slurm", "scaling", "small-archives", "killed-jobs", "other-tools")
] + ["README.md"]
# Blocks by their page and a part of their first line: why they are not run here.
NOT_RUN = {
    ("install", "tools/packaging/package -o"): "installs a package: tools/check package-in-clean-root",
    ("install", "tools/install /shared/refrain"): "needs Environment Modules: tools/check packages",
    ("install", "cmake -S . -B build"): "builds everything: tools/check cmake",
    ("install", "apt install cmake"): "installs packages: tools/check cmake",
    ("install", "tools/packaging/package --spack"): "needs Spack: tools/check packages",
    ("install", "tools/setup g++-aarch64"): "downloads 0.5 GB: tools/check aarch64",
    ("killed-jobs", "srun --ntasks-per-node=1"): "needs several nodes: //test/batch:batch_system_test",
    ("python", "export PYTHONPATH"): "the module is run by //test/python:docs_test, mpi4py by //test/end_to_end:python_loops_test",
    ("python", "1 main solver.py"): "output",
    ("python", "mpicc -g -fopenmp late.c"): "run by //test/python:docs_test, with the page's Python",
}
UNITS = "ns us ms s B kB MB GB bytes kB/s MB/s GB/s KiB MiB".split()
# What a clean directory does not have, and what only a cluster has.
TOOLS = {
    "refrain": f'exec {ROOT}/tools/refrain "$@"',
    "mpicc": 'exec /usr/bin/mpicc.mpich "$@"',
    "mpirun": 'exec /usr/bin/mpirun.mpich "$@"',
    "srun": 'case $1 in --*) shift;; esac\nexec mpirun -n 2 "$@"',
    "sbatch": 'SLURM_JOB_ID=1 SLURM_CPUS_PER_TASK=2 SLURM_SUBMIT_DIR=$PWD exec bash "$1"',
}


def blocks(page):
    with open(page, encoding="utf-8") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```$", file.read(), re.S | re.M)


def words(text):
    """What stays the same from run to run: neither numbers, units, nor lines drawn with them."""
    kept = []
    for word in re.sub(r"[,;:.()]+(\s|$)", r" ", text).split():
        word = word.strip("(),;:")
        if word and word not in UNITS and not re.fullmatch(r"[~+-]?[\d.%+-]*(ns|us|ms|s|k?B)?", word):
            kept.append(re.sub(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", "", word))
    return [word for word in kept if word]


def has_shape(printed, expected):
    """Why not, or nothing. Between two `...` words follow each other."""
    found = words(printed.replace(f" on {socket.gethostname()},", " on vm,"))
    at = 0
    for part in re.split(r"^\.\.\.$", expected, flags=re.M):
        wanted = words(part.replace("...", " "))
        for start in range(at, len(found) - len(wanted) + 1):
            if found[start:start + len(wanted)] == wanted:
                at = start + len(wanted)
                break
        else:
            return f"not printed: {' '.join(wanted)}"
    return None


def shell(script, folder):
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**ENVIRONMENT, "PATH": f"{folder}/.bin:/usr/bin:/bin", "HOME": folder},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_page(page, folder):
    ran = wrong = 0
    parts = blocks(page)
    # What a page opens with may need what the page makes: then it is run at its end.
    if parts[0][0] == "sh" and shell(parts[0][1], folder)[0] == 0:
        ran += 1
        parts = parts[1:]
    elif parts[0][0] in ("sh", "console"):
        parts = parts[1:] + parts[:1]
    for language, text in parts:
        name = re.match(r"(?:#!.*\n)?(?:/\*|//|#) (\w+\.\w+)\b", text)
        if language in ("c", "bash", "text") and name:
            with open(os.path.join(folder, name[1]), "w", encoding="utf-8") as file:
                file.write(text)
        elif language == "sh":
            status, printed, errors = shell(text, folder)
            ran += 1
            if status:
                wrong += 1
                print(f"{page}: exit status {status}\n{text}{printed[-2000:]}{errors[-2000:]}")
        elif language == "console":
            command, expected = re.fullmatch(r"\$ (.*?)\n(.*)", text, re.S).groups()
            status, printed, errors = shell(command, folder)
            ran += 1
            reason = f"exit status {status}" if status else has_shape(printed, expected)
            if reason:
                wrong += 1
                print(f"{page}: {command}: {reason}\n{printed}{errors[-2000:]}")
        elif language not in ("text", "c", "python"):
            wrong += 1
            print(f"{page}: a block of {language}: nobody runs it")
    return ran, wrong


def not_in_order():
    """What of the pages is neither run nor has a reason not to be; how they open; how they compile."""
    wrong, reasons = [], dict.fromkeys(NOT_RUN, 0)
    for page in sorted(glob.glob("docs/guide/*.md")) + ["README.md"]:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
        for line in re.findall(r"\n\n    (\S.*)", outside):
            wrong.append(f"{page}: an indented block is not run: {line}")
        opening = text.split("\n## ")[0]
        if page != "README.md" and not ("\nYou get " in opening and re.search(r"^```(sh|console|bash|text)$", opening, re.M)):
            wrong.append(f"{page}: does not open with what the reader gets, and a command")
        for line in re.findall(r"^(?:\$ )?(?:gcc|mpicc|clang|gfortran) .*$", text, re.M):
            if " -g " not in line:
                wrong.append(f"{page}: compiles without -g: {line}")
        for language, block in blocks(page):
            first = block.split("\n")[0]
            reason = [key for key in NOT_RUN if f"docs/guide/{key[0]}.md" == page and key[1] in first]
            for key in reason:
                reasons[key] += 1
            named = re.match(r"# \w+\.\w+$", first)
            if (language == "text" or (language == "sh" and page not in PAGES)) and not reason and not named:
                wrong.append(f"{page}: neither run nor in NOT_RUN: {first}")
    return wrong + [f"NOT_RUN: no such block: {key}" for key, number in reasons.items() if number != 1]


def anchors(page):
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```$", "", file.read(), flags=re.S | re.M)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links():
    dead = []
    pages = glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True)
    assert len(pages) > 25, pages
    for page in pages:
        with open(page, encoding="utf-8") as file:
            links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", file.read())
        for path, anchor in links:
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if "://" in path or (path and not target.startswith("docs/") and not target.endswith(".md")):
                continue
            if not os.path.exists(target):
                dead.append(f"{page}: no {path}")
            elif anchor and anchor not in anchors(target):
                dead.append(f"{page}: no section {anchor} in {target}")
    return dead


def stale_settings():
    with open("docs/reference/settings.md", encoding="utf-8") as file:
        listed = file.read()
    printed = subprocess.run(
        ["tools/refrain", "config", "--markdown"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, check=True
    ).stdout
    assert printed.count("REFRAIN_") > 30
    return [] if listed.endswith(printed) else ["docs/reference/settings.md: not what refrain config --markdown prints"]


def missing_commands():
    """Those that have no row on the reference's first page."""
    with open("docs/reference/README.md", encoding="utf-8") as file:
        listed = set(re.findall(r"^\| `(\w+)` \|", file.read(), re.M))
    printed = subprocess.run(["tools/refrain", "--help"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, check=True).stdout
    commands = set(re.findall(r"^  ([a-z]+) {2,}\S", printed, re.M))
    assert len(commands) > 10 and "run" in commands, printed
    return [f"docs/reference/README.md: no row of {name}" for name in sorted(commands - listed - {"help"})]


def main():
    # The comparison can fail.
    assert has_shape("Time 3 ms\nin main a.c:3", "Time 4.5 us\n...\nin main a.c:3\n") is None
    assert has_shape("Time 3 ms\nin main a.c:3", "Time 3 ms\nin main a.c:4\n")
    assert has_shape("Time lost 3 ms here", "Time 3 ms here")
    stale = dead_links() + stale_settings() + missing_commands() + not_in_order()
    print("\n".join(stale))
    folder = tempfile.mkdtemp(prefix="refrain-guide-", dir=os.environ.get("TEST_TMPDIR"))
    os.mkdir(f"{folder}/.bin")
    for name, script in TOOLS.items():
        with open(f"{folder}/.bin/{name}", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(f"{folder}/.bin/{name}", 0o755)
    os.makedirs(f"{folder}/.local/lib")
    for library in ("librefrain.so", "librefrain_mpich.so"):
        os.symlink(f"{ROOT}/tracer/{library}", f"{folder}/.local/lib/{library}")
    # The README's commands stand in the sources.
    os.makedirs(f"{folder}/tools")
    os.symlink(f"{ROOT}/test", f"{folder}/test")
    with open(f"{folder}/tools/install", "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nmkdir -p "$1/bin"; ln -sf "$HOME/.bin/refrain" "$1/bin/refrain"\n')
    os.chmod(f"{folder}/tools/install", 0o755)
    wrong = len(stale)
    for page in PAGES:
        began = time.monotonic()
        ran, failed = run_page(page, folder)
        print(f"{page}: {ran} blocks, {failed} wrong, {time.monotonic() - began:.1f} s")
        assert ran >= (1 if "install" in page else 2), page
        wrong += failed
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OMP_", "KMP_", "GOMP_", "REFRAIN_", "LD_PRELOAD", "PYTHON"))
}
ENVIRONMENT.update(OMP_NUM_THREADS="2", COLUMNS="100")
sys.exit(main())
