"""The README's two commands, as printed, in roots of Debian 12 that have little in them.

Usage: tools/check clean-roots [--only NAME ...] [--cache FOLDER] [--mirror URL] [--keep FOLDER]

mmdebstrap makes each root from packages of the network. In it tools/install installs Refrain from the sources of HEAD, then
the program of the README is compiled and traced. No package that was there may be missing afterwards. The roots:

base              nothing but the base system, as root
libomp            Debian's default LLVM OpenMP (libomp-dev), as root
gcc-openmpi       gcc with libgomp, and Open MPI: a program with MPI is traced, too
clang-mpich       clang 14 with its OpenMP, and MPICH: a program with MPI is traced, too
user-sudo         a user who may call sudo
user              a user who may not: what is missing is named, nothing else happens

--cache: a disk cache of Bazel that the roots share, so that only the first compiles everything; minutes are then of no use.
Needs root. Prints a table; exit status 1 if something is wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from checks.clean_root import ROOT, CleanRoot, Wrong, run

# Name: packages that are there, the user, whether sudo is, how the program is compiled, an MPI program's compiler.
OPENMP = "gcc -O2 -fopenmp test/programs/jacobi.c -o app -lm"
ROOTS = {
    "base": ([], "root", OPENMP, None),
    "libomp": (["libomp-dev"], "root", OPENMP, None),
    "gcc-openmpi": (["gcc", "libgomp1", "libopenmpi-dev", "openmpi-bin"], "root", OPENMP, "mpicc"),
    "clang-mpich": (["clang-14", "libomp-14-dev", "libmpich-dev", "mpich"], "root", OPENMP.replace("gcc", "clang-14"), "mpicc"),
    "user-sudo": (["sudo"], "analyst", OPENMP, None),
    "user": ([], "analyst", OPENMP, None),
}


def script(root, user, words):
    """Runs a script in the checkout as the user; both outputs and the exit status are its result."""
    home = "/root" if user == "root" else f"/home/{user}"
    text = (f"exec 2>&1; export HOME={home} OMP_NUM_THREADS=2 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
            f"cd {home}/refrain && {words}; echo \"status $?\"")
    said = root.run("su", user, "-s", "/bin/bash", "-c", text, check=False)
    status = re.search(r"status (\d+)\n$", said)
    return said, int(status[1]) if status else -1


def must(root, user, words):
    said, status = script(root, user, words)
    if status != 0:
        raise Wrong(f"{words}: exit status {status}\n{said[-3000:]}")
    return said


def prepare(root, user, cache):
    home = "/root" if user == "root" else f"/home/{user}"
    if user != "root":
        root.run("useradd", "-m", "-s", "/bin/bash", user)
        os.makedirs(f"{root.folder}/etc/sudoers.d", exist_ok=True)
        with open(f"{root.folder}/etc/sudoers.d/{user}", "w", encoding="utf-8") as file:
            file.write(f"{user} ALL=(ALL) NOPASSWD: ALL\n")
    checkout = f"{root.folder}{home}/refrain"
    os.makedirs(checkout)
    with subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE) as archive:
        subprocess.run(["tar", "-x", "-C", checkout], stdin=archive.stdout, check=True)
    if cache:
        shutil.copytree(cache, f"{root.folder}/cache", dirs_exist_ok=True)
        with open(f"{root.folder}{home}/.bazelrc", "w", encoding="utf-8") as file:
            file.write("build --disk_cache=/cache\n")
        root.run("chown", "-R", user, "/cache")
    root.run("chown", "-R", f"{user}:", home)


def traced(root, user, before, program):
    said = must(root, user, f"{before} {program} && $HOME/.local/bin/refrain run --overwrite -o reduced -- {before} {program} && "
                "$HOME/.local/bin/refrain info reduced")
    written = re.search(r"^Written +(.*)$", said, re.M)
    if not written or not re.search(r"^1 ", said, re.M):
        raise Wrong(f"no loop in the archive of {program}:\n{said}")
    return f"{program}: {written[1]}"


def try_root(name, folder, options):
    packages, user, compiled, mpicc = ROOTS[name]
    root = CleanRoot(folder, options.mirror)
    root.run("apt-get", "update", "-q")
    if packages:
        root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
    before = root.packages()
    prepare(root, user, options.cache)
    began = time.monotonic()
    said, status = script(root, user, "tools/install $HOME/.local")
    minutes = (time.monotonic() - began) / 60
    if name == "user":
        if status != 2 or "these packages are missing: " not in said or root.packages() != before:
            raise Wrong(f"tools/install without rights: exit status {status}\n{said}")
        return [f"exit status 2: {said.splitlines()[0][:100]} ..."]
    if status != 0:
        raise Wrong(f"tools/install: exit status {status}\n{said[-3000:]}")
    after = root.packages()
    if before - after:
        raise Wrong(f"removed: {before - after}")
    lines = [f"tools/install: {minutes:.1f} minutes, {len(before)} packages before, {len(after - before)} more"]
    must(root, user, compiled)
    lines.append(traced(root, user, "", "./app 20000"))
    if mpicc:
        must(root, user, f"{mpicc} -O2 test/programs/mpi/ring.c -o ring -lm")
        lines.append(traced(root, user, "mpirun -n 2", "./ring 20000"))
    began = time.monotonic()
    must(root, user, "echo >>tools/command/info_command.cc && tools/install $HOME/.local")
    lines.append(f"again, after a change of one source: {time.monotonic() - began:.0f} s")
    if options.cache:
        shutil.copytree(f"{root.folder}/cache", options.cache, dirs_exist_ok=True)
    return lines


def main():
    parser = argparse.ArgumentParser(prog="tools/check clean-roots", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ROOTS, default=list(ROOTS), metavar="NAME", help="these roots")
    parser.add_argument("--cache", help="directory of a disk cache of Bazel")
    parser.add_argument("--mirror", help="where packages of Debian are (default: deb.debian.org)")
    parser.add_argument("--keep", help="work in this directory, and keep it")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("tools/check clean-roots: run it as root, for chroot", file=sys.stderr)
        return 2
    subprocess.run([os.path.join(ROOT, "tools/setup"), "mmdebstrap"], check=True)
    if options.cache:
        os.makedirs(options.cache, exist_ok=True)
    failed = 0
    for name in options.only:
        folder = os.path.join(options.keep, name) if options.keep else tempfile.mkdtemp(prefix="refrain-root-")
        os.makedirs(folder, exist_ok=True)
        try:
            for line in try_root(name, folder, options):
                print(f"| {name} | {line} |", flush=True)
        except (Wrong, subprocess.TimeoutExpired) as wrong:
            print(f"| {name} | WRONG: {wrong} |", flush=True)
            failed += 1
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(options.only) - failed} passed, {failed} failed")
    return 1 if failed else 0
