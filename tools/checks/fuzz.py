"""Looks for inputs that break what reads them, guided by what they reach (libFuzzer).

Usage: tools/check fuzz [--minutes N] [--targets NAME ...] [--jobs N] [--keep] [--seed N]
       tools/check fuzz --add TARGET FILE ...

Builds test/fuzz with clang, libFuzzer, and the address and undefined behaviour sanitizers, and runs
each target for --minutes (default 60), --jobs at a time (default 1), from the inputs in
test/fuzz/corpus/TARGET.tar (tar tf lists them, tar xf unpacks them). Prints for each what it ran and
reached. With --keep the smallest set of inputs that reach the same, new ones among them, takes the
place of its corpus. --add puts files into a corpus, as they are, and runs nothing.

An input that breaks a target is left in the current directory as TARGET-crash-..., TARGET-timeout-...
or TARGET-oom-..., and the exit status is 1. To see what it does, run bazel-bin/test/fuzz/TARGET_fuzz
on it after `bazel build --config=fuzz`.
"""

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPORA = os.path.join(ROOT, "test/fuzz/corpus")
TARGETS = ["filter", "settings", "symbols", "detector", "spool", "summary", "archive",
           "damage", "profile", "graph", "cubex", "samples"]
MOST_BYTES = {"filter": 2000, "settings": 2000, "symbols": 4000, "detector": 4096,
              "spool": 20000, "summary": 65536, "archive": 20000, "damage": 200,
              "profile": 65536, "graph": 65536, "cubex": 65536,
              "samples": 20000}
MEMORY_FOLDER = "/dev/shm"  # for the files that a target makes of its input
# libotf2 forgets what it had of an archive that it then refuses.
LEAKS = {"archive": 0, "damage": 0, "spool": 0}
# An archive may claim gigabytes: libotf2 asks malloc for them, and looks whether it got them.
MALLOC_MAY_FAIL = {"archive": 1, "damage": 1}


def corpus(target):
    return os.path.join(CORPORA, target + ".tar")


def unpack(target):
    """The inputs that were kept, by name."""
    with tarfile.open(corpus(target)) as pack:
        inputs = {entry.name: pack.extractfile(entry).read() for entry in pack.getmembers()}
    if not inputs:
        sys.exit(f"tools/check fuzz: no inputs in {corpus(target)}")
    return inputs


def pack(target, inputs):
    """One file of the same bytes wherever it is made; test/fuzz/pack.h reads it."""
    temporary = corpus(target) + ".new"
    with tarfile.open(temporary, "w", format=tarfile.USTAR_FORMAT) as out:
        for name in sorted(inputs):
            entry = tarfile.TarInfo(name)
            entry.size = len(inputs[name])
            out.addfile(entry, io.BytesIO(inputs[name]))
    os.replace(temporary, corpus(target))


def named(inputs):
    """As libFuzzer names its files: by what is in them."""
    return {hashlib.sha1(text).hexdigest()[:12]: text for text in inputs}


def read(files):
    texts = []
    for file in files:
        with open(file, "rb") as opened:
            texts.append(opened.read())
    return texts


def add(target, files):
    before = unpack(target)
    new = [text for text in read(files) if text not in before.values()]
    inputs = {**before, **named(new)}
    pack(target, inputs)
    print(f"{target}: {len(before)} inputs before, {len(inputs)} now")


def build(targets):
    base = subprocess.run(["bazel", "info", "output_base"], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip() + "-fuzz"
    labels = [f"//test/fuzz:{target}_fuzz" for target in targets]
    subprocess.run(["bazel", f"--output_base={base}", "build", "--config=fuzz", *labels],
                   cwd=ROOT, check=True)
    # bazel-bin is one link for all configurations: what was built is copied.
    folder = tempfile.mkdtemp(prefix="refrain-fuzz-")
    for target in targets:
        shutil.copy(os.path.join(ROOT, f"bazel-bin/test/fuzz/{target}_fuzz"), folder)
    return folder


class Run:
    def __init__(self, binaries, target, options):
        self.target = target
        self.binary = os.path.join(binaries, target + "_fuzz")
        self.found = tempfile.mkdtemp(prefix="refrain-found-")
        self.corpus = tempfile.mkdtemp(prefix="refrain-corpus-")
        for name, text in unpack(target).items():
            with open(os.path.join(self.corpus, name), "wb") as out:
                out.write(text)
        self.log = os.path.join(binaries, target + ".log")
        self.environment = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
                                ASAN_OPTIONS=f"detect_leaks={LEAKS.get(target, 1)}:"
                                "allocator_may_return_null="
                                f"{MALLOC_MAY_FAIL.get(target, 0)}")
        if os.access(MEMORY_FOLDER, os.W_OK):
            self.environment["TEST_TMPDIR"] = MEMORY_FOLDER
        command = [self.binary, f"-max_total_time={round(options.minutes * 60)}",
                   f"-max_len={MOST_BYTES[target]}", f"-seed={options.seed}", "-timeout=20",
                   "-rss_limit_mb=4096", f"-detect_leaks={LEAKS.get(target, 1)}",
                   "-print_final_stats=1", self.found, self.corpus]
        prefix = os.path.join(os.getcwd(), target + "-")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*command[:1], f"-artifact_prefix={prefix}", *command[1:]],
                stdout=log, stderr=log, env=self.environment)

    def finish(self, keep):
        status = self.process.wait()
        with open(self.log, errors="replace") as log:
            text = log.read()
        numbers = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", text)
        runs = re.search(r"stat::number_of_executed_units: (\d+)", text)
        print(f"{self.target}: {runs.group(1) if runs else '?'} inputs, "
              f"{numbers[-1][0] if numbers else '?'} edges, "
              f"{'fine' if status == 0 else 'BROKEN'}", flush=True)
        if status != 0:
            print(text[-4000:])
        if keep and status == 0:
            self.merge()
        shutil.rmtree(self.found)
        shutil.rmtree(self.corpus)
        return status == 0

    def merge(self):
        small = tempfile.mkdtemp(prefix="refrain-corpus-")
        subprocess.run([self.binary, "-merge=1", f"-max_len={MOST_BYTES[self.target]}", small,
                        self.corpus, self.found], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=self.environment)
        pack(self.target, named(read(entry.path for entry in os.scandir(small))))
        shutil.rmtree(small)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="of each target (%(default)s)")
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--jobs", type=int, default=1, help="at a time (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="what was found joins the corpora")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--add", nargs="+", metavar=("TARGET", "FILE"), help="files for a corpus")
    options = parser.parse_args()
    if options.add:
        target, *files = options.add
        if target not in TARGETS or not files:
            parser.error("--add TARGET FILE ...: one of " + ", ".join(TARGETS) + ", and files")
        add(target, files)
        return 0
    binaries = build(options.targets)
    fine = True
    waiting = list(options.targets)
    running = []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            running.append(Run(binaries, waiting.pop(0), options))
        fine = running.pop(0).finish(options.keep) and fine
    shutil.rmtree(binaries)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
