"""Jobs of a batch system: Slurm of Debian, on this machine, in a directory of the campaign's own.

Usage: tools/check batch-system [--refrain COMMAND] [--only TEXT] [--keep FOLDER] [--install] [--short]

Starts munge, slurmctld and slurmd (tools/checks/slurm.py) and runs
  - programs of MPICH and Open MPI, started by srun with each interface, by mpiexec.hydra and by Open MPI's mpirun
    in a job: one archive of all ranks, or one line that says what would work;
  - tasks of OpenMP without MPI: an archive for each;
  - --spool-dir with ranks on "nodes" of their own: namespaces with another host name and another /mnt, which do
    not see each other's spools: a whole run, and one that is killed and collected;
  - jobs that are ended by scancel and by their time limit, with and without time for their script: the archive has
    all steps that the ranks had done.
--short leaves out the time limits, which Slurm counts in minutes. --install installs Slurm, if it is not there.

Needs root. Prints a table; exit status 1 if something is wrong.
"""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

from checks.slurm import PACKAGES, Slurm, missing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 120
RANKS = 2
# A process on a node of its own: $NODE says which.
ON_NODE = """\
#!/bin/sh
node=$NODE${PMI_RANK-$PMIX_RANK}
exec unshare --mount --uts sh -c 'hostname "node$1" && mount --bind "$2/node$1" /mnt && shift 2 && exec "$@"' \
  sh "$node" "%s" "$@"
"""


class Wrong(Exception):
    """Something that is not as it should be, in a line."""


class Campaign:
    def __init__(self, slurm, directory, refrain, only):
        self.only = only
        self.slurm, self.directory, self.refrain, self.passed, self.failed = slurm, directory, refrain, 0, 0
        self.environment = {**slurm.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "2",
                            "OMP_WAIT_POLICY": "passive"}
        slurm.environment = self.environment

    def check(self, name, trial, *arguments):
        if self.only not in name:
            return
        began = time.monotonic()
        try:
            text = trial(*arguments)
            self.passed += 1
        except (Wrong, subprocess.TimeoutExpired, RuntimeError) as wrong:
            text = f"WRONG: {wrong}"
            self.failed += 1
        print(f"| {name} | {text} | {time.monotonic() - began:.1f} s |", flush=True)

    def place(self, name):
        return os.path.join(self.directory, name)

    def run(self, *words, status=0):
        """What a command prints on stdout and stderr."""
        done = subprocess.run(words, env=self.environment, cwd=self.directory, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE_S, check=False)
        if status is not None and done.returncode != status:
            raise Wrong(f"{' '.join(words)}: exit status {done.returncode}: {done.stdout[-800:]}")
        return done.stdout

    def steps(self, archive):
        """How many steps of steps.c the summary has, by all ranks."""
        data = json.loads(self.run(self.refrain, "profile", "--json", archive))
        return sum(row["calls"] for row in data["mpi"] if row["name"] == "MPI_Allreduce")

    def await_steps(self, prefix, steps=200):
        end = time.monotonic() + PATIENCE_S
        while min(done(f"{prefix}.{rank}") for rank in range(RANKS)) < steps:
            if time.monotonic() > end:
                raise Wrong("the program makes no steps")
            time.sleep(0.1)

    def whole(self, archive, prefix):
        """That an archive has what the ranks had done; says how much."""
        info = self.run(self.refrain, "info", archive)
        if not re.search(r"^Lost +nothing", info, re.M):
            raise Wrong(f"lost: {info}")
        did = sum(done(f"{prefix}.{rank}") for rank in range(RANKS))
        has = self.steps(archive)
        if not did <= has <= did + RANKS:
            raise Wrong(f"{has} of {did} steps in {archive}")
        return f"{did} steps done, {has} in the archive"


def done(path):
    """Steps that a rank of steps.c has done."""
    try:
        with open(path, "rb") as file:
            return struct.unpack("=Q", file.read(8))[0]
    except (OSError, struct.error):
        return 0


def refrain_lines(text):
    return [line for line in text.splitlines() if line.startswith("refrain: ")]


# --- Launchers.

def one_archive(campaign, name, words, program, outside=False):
    """A whole run by a launcher, of a program that ends."""
    archive, prefix = campaign.place(name), campaign.place(name + ".done")
    traced = [campaign.refrain, "run", "-o", archive, "--"]
    said = campaign.run(*(traced + words if outside else words + traced), program, prefix, "300", "0")
    if os.path.exists(archive + ".2") or f"of {RANKS} processes" not in said:
        raise Wrong(f"not one archive of {RANKS} processes: {said[-800:]}")
    return campaign.whole(archive, prefix)


def refused(campaign, name, words, program, wanted):
    """A combination that cannot be one job: one line says so, and what would work."""
    archive, prefix = campaign.place(name), campaign.place(name + ".done")
    said = campaign.run(*words, campaign.refrain, "run", "-o", archive, "--", program, prefix, "20", "0", status=None)
    lines = [line for line in refrain_lines(said) if "has started" in line or "srun's PMIx" in line]
    if len(lines) != 1 or wanted not in lines[0]:
        raise Wrong(f"not one line with '{wanted}': {said[-1200:]}")
    return f"one line: `{lines[0].replace(program, os.path.basename(program))}`"


def tasks(campaign, name, program):
    archive = campaign.place(name)
    for overwrite in ([], ["--overwrite"]):
        campaign.run("srun", "-n", "2", campaign.refrain, "run", *overwrite, "-o", archive, "--", program, "20")
        found = sorted(entry for entry in os.listdir(campaign.directory) if entry.startswith(name))
        if found != [f"{name}.task-0", f"{name}.task-1"]:
            raise Wrong(f"archives {found}")
    for entry in found:
        campaign.run(campaign.refrain, "info", campaign.place(entry))
    return "`" + "`, `".join(found) + "`, replaced by a second run with `--overwrite`"


# --- Spools on nodes.

class Nodes:
    """Ranks in namespaces with a host name and a /mnt of their own."""

    def __init__(self, campaign):
        self.campaign = campaign
        self.wrapper = campaign.place("on_node")
        with open(self.wrapper, "w", encoding="utf-8") as file:
            file.write(ON_NODE % campaign.directory)
        os.chmod(self.wrapper, 0o755)
        for rank in range(RANKS):
            os.makedirs(campaign.place(f"node{rank}"), exist_ok=True)

    def left(self):
        return [len(os.listdir(self.campaign.place(f"node{rank}"))) for rank in range(RANKS)]

    def on(self, node, *words, status=0):
        return self.campaign.run("env", f"NODE={node}", self.wrapper, *words, status=status)


def on_nodes(campaign, interface, program):
    nodes = Nodes(campaign)
    name = f"nodes-{interface}"
    text = one_archive(campaign, name, ["srun", f"--mpi={interface}", "-n", str(RANKS), nodes.wrapper, "env",
                                        "REFRAIN_SPOOL_DIR=/mnt"], program)
    if nodes.left() != [0, 0]:
        raise Wrong(f"spools left on the nodes: {nodes.left()}")
    return text + "; nothing left on the nodes"


def killed_on_nodes(campaign, program):
    nodes = Nodes(campaign)
    archive, prefix = campaign.place("killed-nodes"), campaign.place("killed-nodes.done")
    job = campaign.slurm.submit(f"#!/bin/sh\nexec srun --mpi=pmi2 {nodes.wrapper} {campaign.refrain} run --spool-dir /mnt "
                                f"-o {archive} -- {program} {prefix}\n", f"--ntasks={RANKS}", "--output=/dev/null")
    campaign.await_steps(prefix)
    campaign.slurm.say("scancel", job)
    campaign.slurm.await_end(job)
    if nodes.left() != [1, 1]:
        raise Wrong(f"spools on the nodes: {nodes.left()}")
    lines = campaign.run(campaign.refrain, "recover", archive, status=2).splitlines()
    if len(lines) != 1 or "node0, node1" not in lines[0] or "--collect" not in lines[0]:
        raise Wrong(f"refrain recover says {lines}")
    for node in range(RANKS):
        lines = nodes.on(node, campaign.refrain, "recover", archive, status=2).splitlines()
        if len(lines) != 1 or f"1 process is on node{1 - node}" not in lines[0]:
            raise Wrong(f"refrain recover on node{node} says {lines}")
    for node in range(RANKS):
        nodes.on(node, campaign.refrain, "recover", "--collect", archive)
    if nodes.left() != [0, 0]:
        raise Wrong(f"spools left on the nodes: {nodes.left()}")
    campaign.run(campaign.refrain, "recover", archive)
    return campaign.whole(archive, prefix)


# --- Ends.

def cancelled(campaign, name, program, *options):
    """By scancel: SIGTERM to the ranks alone, or to the whole job, with SIGKILL after KillWait."""
    archive, prefix = campaign.place(name), campaign.place(name + ".done")
    job = campaign.slurm.submit(f"#!/bin/sh\nsrun --mpi=pmi2 {campaign.refrain} run -o {archive} -- {program} {prefix}\n",
                                f"--ntasks={RANKS}", "--output=/dev/null")
    campaign.await_steps(prefix)
    campaign.slurm.say("scancel", *options, job)
    state = campaign.slurm.await_end(job)
    if os.path.exists(os.path.join(archive, "traces.otf2")):
        raise Wrong("the job has an archive")
    campaign.run(campaign.refrain, "recover", archive)
    return f"{state}; after `refrain recover`: {campaign.whole(archive, prefix)}"


def time_limit(campaign, name, program, recovers, *options):
    """By the job's time limit. `recovers`: its script goes on and makes the archive."""
    archive, prefix = campaign.place(name), campaign.place(name + ".done")
    recover = f"[ ! -d {archive}/spool ] || {campaign.refrain} recover {archive}\n" if recovers else ""
    job = campaign.slurm.submit(f"#!/bin/sh\nsrun --mpi=pmi2 {campaign.refrain} run -o {archive} -- {program} {prefix}\n"
                                + recover, f"--ntasks={RANKS}", f"--output={archive}.out", *options)
    state = campaign.slurm.await_end(job, 300)
    if not recovers:
        if state != "TIMEOUT":
            raise Wrong(f"the job ended as {state}")
        campaign.run(campaign.refrain, "recover", archive)
    return f"{state}; {campaign.whole(archive, prefix)}"


def build():
    """The command of this checkout."""
    words = ["bazel", "build", "--noshow_progress", "//tools:refrain"]
    if subprocess.run(words, cwd=ROOT, check=False).returncode != 0:
        raise Wrong(f"{' '.join(words)} fails")
    return os.path.join(ROOT, "bazel-bin/tools/refrain")


def build_programs(folder):
    programs = {}
    for name, words in {
            "mpich": ["mpicc.mpich", "-O2", "-g", "mpi/steps.c"], "openmpi": ["mpicc.openmpi", "-O2", "-g", "mpi/steps.c"],
            "jacobi": ["gcc", "-O2", "-g", "-fopenmp", "jacobi.c", "-lm"]}.items():
        programs[name] = os.path.join(folder, "program-" + name)
        subprocess.run([*words, "-o", programs[name]], cwd=os.path.join(ROOT, "test/programs"), check=True)
    return programs


def trials(campaign, programs, short):
    check = campaign.check
    mpich, openmpi = programs["mpich"], programs["openmpi"]
    srun = ["srun", "-n", str(RANKS)]
    for interface, program, name in (("pmi2", mpich, "MPICH"), ("pmix", openmpi, "Open MPI")):
        check(f"`srun --mpi={interface}`, {name}", one_archive, campaign, f"srun-{interface}",
              [*srun, f"--mpi={interface}"], program)
        check(f"`refrain run -- srun --mpi={interface}`, {name}", one_archive, campaign, f"outside-{interface}",
              [*srun, f"--mpi={interface}"], program, True)
    allocation = ["salloc", "--quiet", f"--ntasks={RANKS}"]
    check("`mpiexec.hydra` in a job, MPICH", one_archive, campaign, "hydra",
          [*allocation, "mpiexec.hydra", "-n", str(RANKS)], mpich)
    check("`mpirun` in a job, Open MPI", one_archive, campaign, "mpirun",
          [*allocation, "mpirun.openmpi", "-n", str(RANKS)], openmpi)
    for interface, program, name, wanted in (
            ("none", mpich, "MPICH", "srun --mpi=pmi2"), ("pmix", mpich, "MPICH", "srun --mpi=pmi2"),
            ("none", openmpi, "Open MPI", "srun --mpi=pmix"), ("pmi2", openmpi, "Open MPI", "srun --mpi=pmix")):
        check(f"`srun --mpi={interface}`, {name}", refused, campaign, f"not-{interface}-{name[0]}",
              [*srun, f"--mpi={interface}"], program, wanted)
    check("`srun`, OpenMP without MPI", tasks, campaign, "tasks", programs["jacobi"])
    check("`--spool-dir`, a node for each rank, MPICH", on_nodes, campaign, "pmi2", mpich)
    check("`--spool-dir`, a node for each rank, Open MPI", on_nodes, campaign, "pmix", openmpi)
    check("`--spool-dir`, cancelled, collected from the nodes", killed_on_nodes, campaign, mpich)
    check("`scancel --signal=TERM` (the ranks)", cancelled, campaign, "cancel-term", mpich, "--signal=TERM")
    check("`scancel` (the job)", cancelled, campaign, "cancel", mpich)
    check("`scancel --signal=KILL --full`", cancelled, campaign, "cancel-kill", mpich, "--signal=KILL", "--full")
    if short:
        return
    check("`--time=1`", time_limit, campaign, "limit", mpich, False, "--time=1")
    check("`--time=2 --signal=TERM@60`, recovered by the job's script", time_limit, campaign, "limit-signal", mpich,
          True, "--time=2", "--signal=TERM@60")


def main():
    parser = argparse.ArgumentParser(prog="tools/check batch-system", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--refrain", help="this command, instead of one that is built")
    parser.add_argument("--only", default="", metavar="TEXT", help="trials whose name has this text")
    parser.add_argument("--keep", help="work in this directory, and keep it")
    parser.add_argument("--install", action="store_true", help="install Slurm, if it is not there (13 MB)")
    parser.add_argument("--short", action="store_true", help="without time limits")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("tools/check batch-system: run it as root, for Slurm's daemons and namespaces", file=sys.stderr)
        return 2
    if options.install:
        subprocess.run([os.path.join(ROOT, "tools/setup"), *PACKAGES], check=True)
    if missing():
        print(f"tools/check batch-system: {', '.join(missing())} not found; --install installs "
              f"{' '.join(PACKAGES)} of Debian (13 MB)", file=sys.stderr)
        return 2
    folder = os.path.abspath(options.keep or tempfile.mkdtemp(prefix="refrain-batch-"))
    os.makedirs(os.path.join(folder, "slurm"), exist_ok=True)
    try:
        refrain = os.path.abspath(options.refrain) if options.refrain else build()
        programs = build_programs(folder)
        with Slurm(os.path.join(folder, "slurm")) as slurm:
            campaign = Campaign(slurm, folder, refrain, options.only)
            print(f"| trial ({slurm.say('sinfo', '--version')}, {RANKS} ranks) | result | time |"
                  "\n| --- | --- | --- |")
            trials(campaign, programs, options.short)
    except (Wrong, RuntimeError) as wrong:
        print(f"WRONG: {wrong}")
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"batch-system: {campaign.passed} passed, {campaign.failed} failed")
    return 1 if campaign.failed else 0
