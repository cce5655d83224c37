"""The package of tools/packaging/package, installed, used and removed in a root of Debian 12 that has nothing else.

Usage: tools/check package-in-clean-root [--package FILE] [--mirror URL] [--keep FOLDER]

mmdebstrap makes the root (apt and what is essential) from packages of the network. The package comes
into it by apt, with what it depends on and recommends; then the runtime of MPI, valgrind and
bash-completion, which it suggests. Programs are built outside: jacobi by clang and by gcc, ring with MPICH. In
the root each runs alone and traced, with the same output; `refrain info` and the Python module
read the archives. `refrain doctor` finds no problem. After apt has purged the package, none of its files is left,
and after it has removed what came with the package, nothing but apt's and dpkg's own notes.

Needs root, and minutes. Prints a table; exit status 1 if something is wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SUGGESTED = ["mpich", "valgrind", "bash-completion"]
PATIENCE_S = 1800
# Programs may run as root in containers without a user of their own.
VARIABLES = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
             "DEBIAN_FRONTEND=noninteractive", "OMP_NUM_THREADS=2"]
ENTER = ('mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && '
         'exec chroot "$0" env -i "$@"')
# What apt, dpkg and the linker keep of anything that was installed.
NOTES = re.compile(r"^/(var/lib/(dpkg|apt|ucf|systemd)|var/log|var/cache|etc/ld\.so\.cache)(/|$)")


class Wrong(Exception):
    """Something that is not as it should be, in a line."""


class CleanRoot:
    """A root, and commands in it."""

    def __init__(self, folder, mirror):
        self.folder = os.path.join(folder, "root")
        words = ["mmdebstrap", "--mode=root", "--variant=apt", "--dpkgopt=force-unsafe-io", "bookworm", self.folder]
        run(words + ([mirror] if mirror else []))

    def run(self, *words, check=True):
        """Output on stdout of a command in the root; its stderr comes with it if it fails."""
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, self.folder,
             *VARIABLES, *words],
            capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, check=False)
        if check and done.returncode != 0:
            raise Wrong(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self, *packages):
        self.run("apt-get", "install", "-y", "-q", *packages)

    def packages(self):
        return set(self.run("dpkg-query", "-W", "-f", "${Package}\n").split())

    def files(self):
        """All paths but those of mounted file systems, temporary directories and the programs."""
        found = self.run("find", "/", "-xdev", "(", "-path", "/proc", "-o", "-path", "/dev", "-o", "-path",
                         "/tmp", "-o", "-path", "/run", "-o", "-path", "/programs", ")", "-prune", "-o", "-print0")
        return {path for path in found.split("\0") if path}

    def bytes(self):
        return int(self.run("du", "-sxk", "--exclude=/proc", "--exclude=/dev", "--exclude=/sys", "/").split()[0]) << 10


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)
    if done.returncode != 0:
        raise Wrong(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build_programs(to):
    """Built here, with compilers that the root does not have."""
    os.makedirs(to)
    programs = os.path.join(ROOT, "test/programs")
    for compiler, name in (("clang-19", "jacobi_clang"), ("gcc", "jacobi_gcc")):
        run([compiler, "-O2", "-g", "-fopenmp", f"{programs}/jacobi.c", "-o", f"{to}/{name}", "-lm"])
    run(["mpicc.mpich", "-O2", "-g", f"{programs}/mpi/ring.c", "-o", f"{to}/ring", "-lm"])


def traced(root, archive, before, program, words):
    """Runs a program alone and traced; its line of the table."""
    alone = root.run(*before, program, *words)
    said = root.run("refrain", "run", "-o", archive, "--", *before, program, *words)
    if said != alone:
        raise Wrong(f"{program} traced prints something else:\n{said}\ninstead of\n{alone}")
    info = root.run("refrain", "info", archive)
    written = re.search(r"^Written +(.*?)(;|$)", info, re.M)
    lost = re.search(r"^Lost +(.*)$", info, re.M)
    if written is None or lost is None or lost[1] != "nothing":
        raise Wrong(f"refrain info {archive}:\n{info}")
    if not re.search(r"^1 ", info, re.M):
        raise Wrong(f"no loop in {archive}:\n{info}")
    threads = root.run("python3", "-c", f"import refrain; print(refrain.Archive({archive!r}).info()['threads'])")
    return f"{os.path.basename(program)}, {threads.strip()} locations: {written[1]}"


def use(root):
    """What the package is for; lines of the table."""
    lines = [traced(root, "/tmp/clang", [], "/programs/jacobi_clang", ["100"]),
             traced(root, "/tmp/gcc", [], "/programs/jacobi_gcc", ["100"]),
             traced(root, "/tmp/ring", ["mpirun", "-n", "2"], "/programs/ring", ["100"])]
    analysis = root.run("mpirun", "-n", "2", "refrain", "analyze", "--no-cube", "/tmp/ring")
    if not analysis.strip():
        raise Wrong("mpirun refrain analyze prints nothing")
    root.run("refrain", "report", "-o", "/tmp/report.html", "/tmp/ring")
    counts = root.run("refrain", "loops", "--exact", "--share", "0", "--", "/programs/ring", "2")
    if "ring.c" not in counts:
        raise Wrong(f"refrain loops --exact:\n{counts}")
    completion = root.run("bash", "-c", ". /usr/share/bash-completion/bash_completion; _completion_loader refrain; "
                          "complete -p refrain")
    if "_refrain" not in completion:
        raise Wrong(f"completion: {completion}")
    began = time.monotonic()
    doctor = root.run("sh", "-c", "cd /tmp && refrain doctor")
    lines.append(f"`refrain doctor` in {time.monotonic() - began:.1f} s: "
                 + ", ".join(f"{doctor.count(chr(10) + word) + doctor.startswith(word)} {word}"
                             for word in ("ok", "note", "absent", "problem")))
    version = root.run("refrain", "--version").splitlines()
    stated = root.run("dpkg-query", "-W", "-f", "${Version}", "refrain")
    if stated.rpartition("-")[0] != version[0].split()[1]:
        raise Wrong(f"version {stated} of the package, {version[0]}")
    return lines


def campaign(options, folder):
    table = []

    def row(name, text):
        table.append(f"| {name} | {text} |")
        print(table[-1], flush=True)

    package = options.package
    if package is None:
        package = run([os.path.join(ROOT, "tools/packaging/package"), "-o", folder]).split()[-1]
    fields = dict(line.split(": ", 1) for line in run(["dpkg-deb", "-f", package]).splitlines()
                  if re.match(r"^[\w-]+: ", line))
    row("package", f"{os.path.getsize(package) / 1e6:.1f} MB, installed {int(fields['Installed-Size']) * 1024 / 1e6:.1f} MB, "
        f"{len(run(['dpkg-deb', '-c', package]).splitlines())} files and directories")
    root = CleanRoot(folder, options.mirror)
    root.run("apt-get", "update", "-q")
    packages, files, size = root.packages(), root.files(), root.bytes()
    row("root before", f"{len(packages)} packages, {size / 1e6:.0f} MB")
    build_programs(os.path.join(root.folder, "programs"))
    shutil.copy(package, os.path.join(root.folder, "tmp/refrain.deb"))
    root.install("/tmp/refrain.deb")
    row("installed with it", f"{len(root.packages() - packages) - 1} packages, {(root.bytes() - size) / 1e6:.0f} MB in all")
    own = [path for path in root.run("dpkg-query", "-L", "refrain").split("\n") if path and path not in files]
    root.install("--no-install-recommends", "libgomp1", *SUGGESTED)
    for line in use(root):
        row("used", line)
    root.run("apt-get", "purge", "-y", "-q", "refrain")
    after = root.files()
    left = sorted(path for path in after
                  if (path in own and not os.path.isdir(root.folder + path)) or
                  ("refrain" in path and not NOTES.match(path)))
    row("left when purged", f"{len(left)} of {len(own)}")
    if left:
        raise Wrong("left behind: " + ", ".join(left[:20]))
    root.run("apt-get", "purge", "-y", "-q", "libgomp1", *SUGGESTED)
    # Also what a package of the root recommends, as apt does ca-certificates: it came with ours.
    root.run("apt-get", "-o", "APT::AutoRemove::RecommendsImportant=false", "-o",
             "APT::AutoRemove::SuggestsImportant=false", "autoremove", "--purge", "-y", "-q")
    left = sorted(path for path in root.files() - files if not NOTES.match(path))
    row("left when all that came with it is removed", f"{len(left)} paths" + (": " + ", ".join(left[:8]) if left else ""))
    if any("refrain" in path for path in left) or root.packages() - packages:
        raise Wrong(f"left behind: {left[:20]}, {root.packages() - packages}")


def main():
    parser = argparse.ArgumentParser(prog="tools/check package-in-clean-root", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", help="this package, instead of one that tools/packaging/package makes")
    parser.add_argument("--mirror", help="where packages of Debian are (default: deb.debian.org)")
    parser.add_argument("--keep", help="work in this directory, and keep it")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("tools/check package-in-clean-root: run it as root, for chroot", file=sys.stderr)
        return 2
    subprocess.run([os.path.join(ROOT, "tools/setup"), "mmdebstrap"], check=True)
    folder = options.keep or tempfile.mkdtemp(prefix="refrain-clean-root-")
    os.makedirs(folder, exist_ok=True)
    try:
        campaign(options, folder)
    except Wrong as wrong:
        print(f"WRONG: {wrong}")
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    print("package-in-clean-root: all is well")
    return 0
