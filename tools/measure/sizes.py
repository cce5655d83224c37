"""tools/bench sizes: how the commands that read archives grow, in seconds of CPU and peak memory."""

import os
import resource
import subprocess
import sys
import tempfile

from measure.common import BIN, bazel, fail

COMMANDS = (("info", ["info"]), ("profile", ["profile", "--events"]),
            ("profile --json", ["profile", "--events", "--json"]),
            ("analyze", ["analyze", "--no-cube"]), ("analyze --json", ["analyze", "--no-cube", "--json"]),
            ("compare", ["compare"]), ("report", ["report", "-o", "report.html"]),
            ("convert csv", ["convert", "--to", "csv", "-o", "trace.csv"]),
            ("convert chrome", ["convert", "--to", "chrome", "-o", "trace.json"]),
            ("convert perfetto", ["convert", "--to", "perfetto", "-o", "trace.pftrace"]),
            ("convert paraver", ["convert", "--to", "paraver", "-o", "trace.prv"]))
MOST_BYTES = 12_000_000 * 1024  # of address space


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def measured(refrain, arguments, archive, folder, options):
    command = [refrain, *arguments, archive] + ([archive] if arguments[0] == "compare" else [])
    with open(os.path.join(folder, "said"), "w+", encoding="utf-8", errors="replace") as said:
        started = subprocess.Popen(["timeout", str(options.seconds_most), *command], cwd=folder, stdout=subprocess.DEVNULL,
                                   stderr=said, preexec_fn=limits)
        _, status, usage = os.wait4(started.pid, 0)
        said.seek(0)
        why = said.read().strip().splitlines()
    for name in ("report.html", "trace.csv", "trace.json", "trace.pftrace", "trace.prv", "trace.pcf", "trace.row"):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))
    status = os.waitstatus_to_exitcode(status)
    if status == 124:
        return f"not in {options.seconds_most} s"
    if status != 0:
        return f"exit status {status}: {why[-1][:60] if why else ''}"
    return f"{usage.ru_utime + usage.ru_stime:.1f} s, {usage.ru_maxrss / 1024:.0f} MB"


def sizes(options):
    builder = os.path.join(BIN, "test/measure/sized_archive")
    refrain = options.refrain or os.path.join(BIN, "tools/refrain")
    if not options.refrain:
        bazel("build", "//tools:refrain", "//test/measure:sized_archive")
    wanted = [each.replace("x", " ").split() for each in options.sizes]
    table = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for shape in wanted:
            name = " ".join(shape)
            archive = os.path.join(folder, "archive")
            if subprocess.run([options.builder or builder, shape[0], archive, *shape[1:]]).returncode != 0:
                fail(f"sized_archive {name}")
            for title, arguments in COMMANDS:
                if options.commands and title not in options.commands:
                    continue
                table.setdefault(title, {})[name] = measured(refrain, arguments, archive, folder, options)
                print(f"  {name}: {title}: {table[title][name]}", file=sys.stderr, flush=True)
            subprocess.run(["rm", "-rf", archive])
    names = [" ".join(shape) for shape in wanted]
    print("| | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    for title, row in table.items():
        print(f"| {title} | " + " | ".join(row[name] for name in names) + " |")
