"""A Slurm of one's own on this machine: munge, slurmctld and slurmd in a directory, on free ports of 127.0.0.1.

Nothing of the machine's own configuration is read or changed. Needs root, and Debian's packages PACKAGES.
"""

import os
import shutil
import socket
import subprocess
import time

PACKAGES = ("munge", "slurm-client", "slurmctld", "slurmd")
PATIENCE_S = 60

CONFIGURATION = """\
ClusterName=refrain
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
OverTimeLimit=0
KillWait={kill_wait_s}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def missing():
    """What is not installed of it; empty: all is there."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in ("munged", "slurmctld", "slurmd", "srun", "sbatch") if not shutil.which(name, path=path)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm:
    """`with Slurm(folder) as slurm:` starts it, and ends it with all its jobs."""

    def __init__(self, directory, cpus=8, kill_wait_s=5):
        self.directory, self.cpus, self.kill_wait_s = directory, cpus, kill_wait_s
        self.daemons = []
        self.environment = {**os.environ, "SLURM_CONF": f"{directory}/slurm.conf",
                            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}

    def start(self, *words):
        with open(f"{self.directory}/{words[0]}.out", "w", encoding="utf-8") as out:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                                 stderr=subprocess.STDOUT, start_new_session=True))

    def __enter__(self):
        for name in ("state", "spool"):
            os.makedirs(f"{self.directory}/{name}", exist_ok=True)
        with open(os.open(f"{self.directory}/munge.key", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as key:
            key.write(os.urandom(128))
        with open(f"{self.directory}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(
                host=socket.gethostname().split(".")[0], directory=self.directory, cpus=self.cpus,
                kill_wait_s=self.kill_wait_s, controller_port=free_port(), node_port=free_port()))
        try:
            self.start("munged", "--foreground", "--force", "--num-threads=1", f"--socket={self.directory}/munge.socket",
                       f"--key-file={self.directory}/munge.key", f"--pid-file={self.directory}/munge.pid",
                       f"--log-file={self.directory}/munge.log", f"--seed-file={self.directory}/munge.seed")
            self.await_that(lambda: os.path.exists(f"{self.directory}/munge.socket"), "munged does not start")
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            self.await_that(lambda: "idle" in self.say("sinfo", "--noheader", "--format=%t"), "no node comes up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if len(self.daemons) == 3:
            self.say("scancel", "--full", "--signal=KILL", "--user=root")
            self.say("scancel", "--user=root")
            end = time.monotonic() + self.kill_wait_s + 10
            while self.say("squeue", "--noheader") and time.monotonic() < end:
                time.sleep(0.2)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def await_that(self, condition, otherwise):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"Slurm: {otherwise} (see {self.directory}/*.log)")
            time.sleep(0.2)

    def say(self, *words):
        """What a command of Slurm prints on stdout."""
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False).stdout.strip()

    def submit(self, script, *options):
        """The number of the batch job that runs a script."""
        done = subprocess.run(["sbatch", "--parsable", *options], env=self.environment, input=script,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"sbatch: {done.stderr.strip()}")
        return done.stdout.strip()

    def await_end(self, job, patience_s=PATIENCE_S):
        """The state in which a job has ended."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            words = dict(word.split("=", 1) for word in self.say("scontrol", "show", "job", job).split() if "=" in word)
            if words.get("JobState", "PENDING") not in ("PENDING", "RUNNING", "COMPLETING"):
                return words["JobState"]
            time.sleep(0.2)
        raise RuntimeError(f"Slurm: job {job} does not end")
