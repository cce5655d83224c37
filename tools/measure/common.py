"""What the measurements share: where things lie, runs of programs, quartiles."""

import datetime
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "bazel-bin")
REFRAIN = os.path.join(BIN, "tools/refrain")


def fail(text):
    sys.exit("bench: " + text)


def bazel(*arguments):
    if subprocess.run(["bazel", *arguments], cwd=ROOT).returncode != 0:
        fail("bazel " + " ".join(arguments) + " failed")


def environment(threads, **more):
    """Of a run: this one's, without anything that would trace or steer it."""
    kept = {k: v for k, v in os.environ.items()
            if not re.match(r"(OMP|KMP|GOMP|REFRAIN|LD)_", k)}
    return dict(kept, OMP_NUM_THREADS=str(threads), **more)


def run_program(command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    # A tracer may print after the program.
    lines = [line for line in done.stdout.strip().splitlines() if "=" in line]
    if not lines:
        fail(f"{' '.join(command)}: it printed no values")
    return dict(pair.split("=", 1) for pair in lines[-1].split() if "=" in pair)


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def percent(values):
    low, middle, high = quartiles(values)
    return f"{middle:+7.2f} % [{low:+6.2f} {high:+6.2f}]"


class Variant:
    """One way to run a program: as it is, under Refrain, or as --peer says."""

    def __init__(self, name, command, variables=None, program=None):
        self.name = name
        self.command = command  # before the launcher and the program, or before the program
        self.variables = variables or {}
        self.program = program  # another than that of the others

    def words(self, launch, ranks, program, arguments, archive):
        program = self.program or program
        launch = launch + ["-n", str(ranks)] if ranks > 1 else []
        word = {"{archive}": archive, "{ranks}": str(ranks), "{program}": program}
        before = [re.sub(r"{\w+}", lambda m: word.get(m[0], m[0]), w) for w in self.command]
        # A peer that starts the ranks itself, or stands between the launcher and the program.
        if "--" in before:
            at = before.index("--")
            return before[:at] + launch + before[at + 1:] + [program] + arguments
        return before + launch + [program] + arguments

    def environment(self, threads, archive):
        return environment(threads, **{key: value.replace("{archive}", archive)
                                       for key, value in self.variables.items()})


def refrain(limit):
    return [REFRAIN, "run", "-n", limit, "--quiet", "-o", "{archive}"]


def in_turns(variants, number_of_rounds, name, run):
    """What run(variant) gives, by name, of each round; who is first rotates."""
    rounds = []
    for number in range(number_of_rounds):
        if sys.stderr.isatty():
            print(f"\r{name}: round {number + 1} of {number_of_rounds} ", end="", file=sys.stderr)
        turn = number % len(variants)
        rounds.append({v.name: run(v) for v in variants[turn:] + variants[:turn]})
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return rounds


def with_peers(variants, peers, kind=None):
    """Of peers that say of what they are (NAME=regions: ...) those of this kind."""
    for text in peers:
        name, of, rest = re.fullmatch(r"([^=]*)=(?:(regions|calls): )?(.*)", text, re.S).groups() \
            if "=" in text else (text, None, "")
        if of not in (None, kind):
            continue
        if not name or name in [v.name for v in variants]:
            fail(f"--peer: no name, or one that is taken: {text}")
        words = shlex.split(rest)
        variables = {}
        while words and re.match(r"\w+=", words[0]):
            key, _, value = words.pop(0).partition("=")
            variables[key] = value
        variants.append(Variant(name, words, variables, variables.pop("program", None)))
    return variants


def run_variant(variant, scratch, threads, launch, ranks, program, arguments):
    """The values that the program prints, and the bytes of the archive."""
    archive = os.path.join(scratch, "archive")
    values = run_program(variant.words(launch, ranks, program, arguments, archive),
                         variant.environment(threads, archive))
    values["bytes"] = sum(os.path.getsize(os.path.join(folder, name))
                          for folder, _, names in os.walk(archive) for name in names)
    shutil.rmtree(archive, ignore_errors=True)
    return values


def describe():
    """When, of what and where: the first line of a measurement."""
    version = subprocess.run([REFRAIN, "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    model = re.search(r"model name\s*: (.*)", open("/proc/cpuinfo").read())
    print(f"{datetime.date.today()}, {version}, {os.cpu_count()} processors "
          f"({model[1] if model else 'unknown'}), load {os.getloadavg()[0]:.1f}")
