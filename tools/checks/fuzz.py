"""Looks for inputs that break what reads them, guided by what they reach (libFuzzer).

Usage: tools/check fuzz [--minutes N] [--inputs N] [--targets NAME ...] [--jobs N] [--plain]
                        [--megabytes N] [--keep] [--seed N]
       tools/check fuzz --add TARGET FILE ...

Builds test/fuzz with clang, libFuzzer, and the address and undefined behaviour sanitizers, and runs
each target for --minutes (default 60), --jobs at a time (default 1), from the inputs in
test/fuzz/corpus/TARGET.tar (tar tf lists them, tar xf unpacks them). Prints for each what it ran and
reached. With --inputs a target ends after so many, if that is earlier. --plain builds without the
sanitizers: some times as many inputs in the same time, none of which may take 10 s or 1 GB.
--megabytes: size of the files that the target `damage` damages (default: a chunk and a half). With
--keep the smallest set of inputs that reach the same, new ones among them, takes the
place of its corpus. --add puts files into a corpus, as they are, and runs nothing.

An input that breaks a target is left in the current directory as TARGET-crash-..., TARGET-timeout-...
or TARGET-oom-..., and the exit status is 1. To see what it does, run bazel-bin/test/fuzz/TARGET_fuzz
on it after `bazel build --config=fuzz`.
"""

import argparse
import concurrent.futures
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPORA = os.path.join(ROOT, "test/fuzz/corpus")
TARGETS = ["filter", "settings", "symbols", "detector", "spool", "summary", "archive",
           "damage", "profile", "graph", "cubex", "samples"]
MOST_BYTES = {"filter": 2000, "settings": 2000, "symbols": 4000, "detector": 4096,
              "spool": 20000, "summary": 65536, "archive": 20000, "damage": 200,
              "profile": 65536, "graph": 65536, "cubex": 65536,
              "samples": 20000}
ROUND = 10000  # inputs of a process, with --plain
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


def build(targets, config):
    base = subprocess.run(["bazel", "info", "output_base"], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip() + "-fuzz"
    labels = [f"//test/fuzz:{target}_fuzz" for target in targets]
    subprocess.run(["bazel", f"--output_base={base}", "build", "--config=" + config, *labels],
                   cwd=ROOT, check=True)
    # bazel-bin is one link for all configurations: what was built is copied.
    folder = tempfile.mkdtemp(prefix="refrain-fuzz-")
    for target in targets:
        shutil.copy(os.path.join(ROOT, f"bazel-bin/test/fuzz/{target}_fuzz"), folder)
    return folder


def number_of(text, what):
    """Of libFuzzer's last lines."""
    found = re.search(rf"stat::{what}: +(\d+)", text)
    return int(found.group(1)) if found else 0


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
        if options.megabytes:
            self.environment["REFRAIN_FUZZ_MEGABYTES"] = str(options.megabytes)
        if os.access(MEMORY_FOLDER, os.W_OK):
            self.environment["TEST_TMPDIR"] = MEMORY_FOLDER
        self.options = options

    def round(self, number, seconds, inputs):
        """One process; its exit status, what it printed, and how many inputs it ran."""
        options = self.options
        limits = ["-timeout=10", "-rss_limit_mb=1024"] if options.plain else ["-timeout=20", "-rss_limit_mb=4096"]
        prefix = os.path.join(os.getcwd(), self.target + "-")
        command = [self.binary, f"-artifact_prefix={prefix}", f"-max_total_time={max(1, round(seconds))}",
                   f"-max_len={MOST_BYTES[self.target]}", f"-seed={options.seed + number}", f"-runs={inputs}",
                   *limits, f"-detect_leaks={LEAKS.get(self.target, 1)}", "-print_final_stats=1", self.found, self.corpus]
        with open(self.log, "w") as log:
            status = subprocess.run(command, stdout=log, stderr=log, env=self.environment).returncode
        with open(self.log, errors="replace") as log:
            text = log.read()
        return status, text, number_of(text, "number_of_executed_units")

    def run(self, keep):
        """Until time or inputs are spent; in rounds, where libotf2's leaks would count as an input's memory."""
        end = time.monotonic() + 60 * self.options.minutes
        left = self.options.inputs
        ran = slowest = memory = number = 0
        while True:
            inputs = min(ROUND, left) if self.options.plain and left > 0 else ROUND if self.options.plain else left
            status, text, executed = self.round(number, end - time.monotonic(), inputs)
            number += 1
            ran += executed
            slowest = max(slowest, number_of(text, "slowest_unit_time_sec"))
            memory = max(memory, number_of(text, "peak_rss_mb"))
            left -= executed if left > 0 else 0
            if status != 0 or not self.options.plain or left == 0 or time.monotonic() >= end:
                break
        edges = re.findall(r"cov: (\d+) ft", text)
        print(f"{self.target}: {ran} inputs, {edges[-1] if edges else '?'} edges, slowest {slowest} s, "
              f"at most {memory} MB, {'fine' if status == 0 else 'BROKEN'}", flush=True)
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
    parser.add_argument("--inputs", type=int, default=-1, help="of each target at most")
    parser.add_argument("--plain", action="store_true", help="without the sanitizers")
    parser.add_argument("--megabytes", type=int, help="files that are damaged")
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
    binaries = build(options.targets, "plain_fuzz" if options.plain else "fuzz")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        fine = all(list(pool.map(lambda target: Run(binaries, target, options).run(options.keep), options.targets)))
    shutil.rmtree(binaries)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
