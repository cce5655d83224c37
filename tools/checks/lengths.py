"""Runs that are long, or have many threads: memory and disk stay under the settings.

Usage: tools/check lengths [--events N] [--threads N] [--keep FOLDER]

events    shortloop_clang (iterations of five empty regions, 2 threads) until it has had so many events
          (default 10^9), skipped after 10 iterations with a mark each and with marks=summary, and
          written in full under a disk limit of 256 MB.
threads   threads_clang with so many threads (default 10^5), eight at a time.

Of each run: events, the largest resident memory compared with that of the untraced program (of a short
run), the most that the archive's directory took on the disk at any time and at the end, and whether the
archive is valid. Exit status 1 if it is not, or if a limit was exceeded: 1 GiB
of memory for rings and chunks (the default), the disk limit and what libotf2 makes of it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from checks.archives import check_archive, folder_bytes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REFRAIN = os.path.join(ROOT, "bazel-bin/tools/refrain")
PROGRAMS = os.path.join(ROOT, "bazel-bin/test/programs")
DISK_LIMIT = 256 << 20
MEMORY_LIMIT = 1 << 30
EVENTS_OF_ITERATION = 70  # of five regions with 2 threads


class Watch(threading.Thread):
    """The most bytes that a directory had, looked at four times a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.most, self.stop = folder, 0, False

    def run(self):
        while not self.stop:
            try:
                self.most = max(self.most, folder_bytes(self.folder))
            except OSError:  # a file that is gone by now
                pass
            time.sleep(0.25)


def resident(words):
    """Its exit status, and its largest resident memory in bytes."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL,
                             env=dict(os.environ, OMP_NUM_THREADS="2"))
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss << 10


def trial(name, program, options, folder):
    archive = os.path.join(folder, "archive")
    shutil.rmtree(archive, ignore_errors=True)
    status, plain_bytes = resident([program[0], "1000", *program[2:]])
    watch = Watch(archive)
    watch.start()
    traced, memory = resident([REFRAIN, "run", "--quiet", "-o", archive, *options, "--",
                                *program])
    watch.stop = True
    watch.join()
    wrong = [check_archive(archive, REFRAIN)]
    if traced != status:
        wrong.append(f"exit status {traced}, untraced {status}")
    if memory - plain_bytes > MEMORY_LIMIT:
        wrong.append("too much memory")
    if "--disk-limit" in options and watch.most > 2 * DISK_LIMIT:
        wrong.append("too much disk")
    info = subprocess.run([REFRAIN, "info", archive], capture_output=True, text=True).stdout
    events = re.search(r"^Written +(.*)$", info, re.MULTILINE)
    wrong = [text for text in wrong if text]
    print(f"{name}: {events[1] if events else ''}\n"
          f"  resident {memory / 1e6:.0f} MB (untraced {plain_bytes / 1e6:.0f}), disk at most "
          f"{watch.most / 1e6:.1f} MB, at the end {folder_bytes(archive) / 1e6:.1f} MB\n"
          f"  {'; '.join(wrong) or 'valid'}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(prog="tools/check lengths", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=1e9)
    parser.add_argument("--threads", type=float, default=1e5)
    parser.add_argument("--keep", help="a directory for the archives")
    options = parser.parse_args()
    built = subprocess.run(["bazel", "build", "//tools:refrain", "//tracer:librefrain.so",
                            "//test/programs:shortloop_clang", "//test/programs:threads_clang"],
                           cwd=ROOT, check=False)
    if built.returncode != 0:
        return 2
    folder = options.keep or tempfile.mkdtemp()
    loop = [os.path.join(PROGRAMS, "shortloop_clang"),
            str(int(options.events / EVENTS_OF_ITERATION)), "0", "1"]
    threads = [os.path.join(PROGRAMS, "threads_clang"), str(int(options.threads)), "8", "16"]
    results = []
    if options.events:
        results += [trial("skipped, a mark an iteration", loop, ["-n", "10"], folder),
                    trial("skipped, marks=summary", loop, ["-n", "10", "--marks", "summary"], folder),
                    trial("in full, 256 MB", loop,
                          ["-n", "0", "--disk-limit", str(DISK_LIMIT)], folder)]
    if options.threads:
        results += [trial("threads, skipped", threads, ["-n", "10"], folder),
                    trial("threads, in full", threads, ["-n", "0"], folder)]
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
