#!/usr/bin/env python3
"""Random functions with loops that count themselves, compiled, traced, and compared with what is detected.

Each program is some functions of loops, branches, switches, jumps out of nests and calls (direct, through pointers, at a function's end).
Every iteration of a loop begins with an event, so that none can be missed. A source has several programs; it is compiled by each compiler in
turn at each level of optimisation, run once with `refrain run --detector activation`, and the iterations of each loop, by its line, are
compared with what it counted: for each place in the nest of loops, from the visit on in which it first came round.

What compilers must not do, for it makes other loops: clone calls (unrolling, peeling, threading of jumps, splitting of paths), take two loops as one
(`for (;;) while (...)`: each has an event of its own), or inline functions (a loop of two copies is two loops).
Nor is there a `continue`, but jumps to the end of the body: compilers make of it two places that are jumped back to, which are two loops, one in the other.

compiled_loops.py REFRAIN HEADER [--programs N] [--seed N] [--keep FOLDER] [--compilers gcc,clang-19] [--levels 0,1,2,3]
HEADER: refrain.h. Prints what differs, and "N programs, M loops, K wrong". Exit status: 0 if none is wrong.
"""

import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PROGRAMS = 10  # of a source

HEADER = r"""
#if defined(__clang__)
#define ONCE __attribute__((noduplicate))
#else
#define ONCE
#endif
#define NI __attribute__((noinline))
/* A loop in the context of those around it. */
struct Context { int line; struct Context *around, *inner, *next; long count; int round; };
extern struct Context top, *now;
extern unsigned long state;
extern volatile long fuel;
extern volatile int one, sink;
typedef void (*Fn)(void);
struct Context* in(int line);
ONCE void event(void);
ONCE void begin(struct Context* at, int* first);
ONCE int any(int below);
void report(struct Context* at);
"""

# A source of its own, so that nothing is known of it where it is called.
DRIVER = HEADER + r"""
#include <stdio.h>
#include <stdlib.h>
#include "refrain.h"
struct Context top, *now = &top;
unsigned long state;
volatile long fuel;
volatile int one = 1, sink;
struct Context* in(int line) {
  struct Context* at = now->inner;
  while (at && at->line != line) at = at->next;
  if (!at) {
    at = (struct Context*)calloc(1, sizeof *at);
    at->line = line; at->around = now; at->next = now->inner; now->inner = at;
  }
  return at;
}
void event(void) { REFRAIN_REGION_BEGIN("e"); REFRAIN_REGION_END("e"); sink = 1; }
/* An iteration begins; `first`: of a visit. */
void begin(struct Context* at, int* first) {
  now = at;
  if (!*first && !at->round) at->round = 1, at->count = 1;
  at->count += at->round;
  *first = 0;
  REFRAIN_REGION_BEGIN("e"); REFRAIN_REGION_END("e");
  sink = 2;
}
int any(int below) { state = state * 6364136223846793005ul + 1442695040888963407ul; return (int)(state >> 33) % below; }
void report(struct Context* at) {
  for (struct Context* each = at->inner; each; each = each->next) {
    if (each->round) printf("%d %ld\n", each->line, each->count);
    report(each);
  }
}
"""

MAIN = r"""
int main(void) {
  PROGRAMS
  now = &top; report(&top);
  return 0;
}
"""


class Source:
    """A source of several programs. Lines are those of the file: a loop's begin is on one line."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = HEADER.split("\n")
        self.number = 0
        programs = [self.program() for _ in range(PROGRAMS)]
        calls = "\n".join(f"  state = {seed * PROGRAMS + i}; fuel = 150; now = &top; {name}();" for i, name in enumerate(programs))
        self.lines += MAIN.replace("  PROGRAMS", calls).split("\n")

    def text(self):
        return "\n".join(self.lines)

    def new(self, kind):
        self.number += 1
        return f"{kind}{self.number}"

    def add(self, text):
        self.lines.append(text)

    def program(self):
        names = []
        for _ in range(self.random.randint(1, 4)):
            names.append(self.function(names, False))
        return self.function(names, True)

    def function(self, callees, outermost):
        name = self.new("f")
        # Events in functions of their own, some of which end with them.
        self.helpers = []
        for _ in range(2):
            helper = self.new("w")
            end = self.random.choice(["", "sink = 1;", "event();", "event(); sink = 2;"])
            self.add(f"static {self.random.choice(['NI ', ''])}void {helper}(void) {{ event(); {end} }}")
            self.helpers.append(helper)
        self.add(f"static NI void {name}(void) {{")
        self.add("  struct Context* const c = now;")
        scope = {"context": "c", "loop": False, "switch": False, "out": [], "callees": callees}
        if outermost:
            self.loop(scope, 0)
        else:
            self.statements(scope, 0, 5)
            if callees and self.random.random() < 0.3:
                self.add(f"  {self.random.choice(callees)}();")  # perhaps a jump
        self.add("}")
        return name

    def statements(self, scope, depth, most):
        for _ in range(self.random.randint(1, most)):
            self.statement(scope, depth)

    def statement(self, scope, depth):
        kind = self.random.random()
        if kind < 0.3 and depth < 4:
            self.loop(scope, depth)
        elif kind < 0.45 or depth >= 6:
            self.add(self.random.choice(["event();"] + [f"{helper}();" for helper in self.helpers]))
        elif kind < 0.6:
            self.add("if (any(2)) {")
            self.statements(scope, depth + 1, 2)
            if self.random.random() < 0.5:
                self.add("} else {")
                self.statements(scope, depth + 1, 2)
            self.add("}")
        elif kind < 0.68:
            ways = self.random.randint(3, 7)
            self.add(f"switch (any({ways})) {{")
            for way in range(ways - 1):
                self.add(f"case {way}:")
                self.statements({**scope, "switch": True}, depth + 2, 1)
                if self.random.random() < 0.8:
                    self.add("break;")
            self.add("default: sink = 3; }")
        elif kind < 0.86 and scope["callees"]:
            if self.random.random() < 0.2:
                some = ", ".join(self.random.choice(scope["callees"]) for _ in range(3))
                name = self.new("fs")
                self.add(f"{{ static Fn const {name}[] = {{{some}}}; {name}[any(3)](); }}")
            else:
                self.add(f"{self.random.choice(scope['callees'])}();")
            self.add(f"now = {scope['context']};")
        elif kind < 0.9 and scope["loop"] and not scope["switch"]:
            self.add("if (!any(4)) break;")
        elif kind < 0.93 and scope["loop"]:
            self.add(f"if (!any(3)) {scope['next']};")
        elif kind < 0.95 and scope["out"]:
            self.add(f"if (!any(5)) goto {self.random.choice(scope['out'])};")
        elif kind < 0.97:
            self.add("if (!any(8)) return;")
        else:
            self.add("sink = 4;")

    def loop(self, scope, depth):
        context, first, count, label = self.new("c"), self.new("b"), self.new("i"), self.new("l")
        kind = self.random.choice(["for", "down", "while", "do", "forever", "goto"])
        trips = self.random.randint(2, 4)
        entry = f"{{ struct Context* const {context} = in({len(self.lines) + 1}); int {first} = 1; "
        begin = f"begin({context}, &{first}); if (fuel-- < 0) return;"
        out = [*scope["out"]]
        goal = self.new("out") if self.random.random() < 0.3 else None
        if goal:
            out.append(goal)
        end = self.new("next")
        inside = {**scope, "context": context, "loop": kind != "goto", "switch": False, "out": out,
                  "next": f"goto {end}"}
        self.add(entry + {"for": f"for (int {count} = 0; {count} < {trips} * one; {count}++) {{ {begin}",
                  "down": f"for (int {count} = {trips} * one; {count}--;) {{ {begin}",
                  "while": f"while (any({trips})) {{ {begin}",
                  "do": f"do {{ {begin}",
                  "forever": f"for (;;) {{ {begin}",
                  "goto": f"{label}: {begin}"}[kind])
        self.statements(inside, depth + 1, 3)
        self.add(f"{end}: sink = 6;")
        self.add({"do": f"}} while (any({trips}));",
                  "forever": f"if (!any({trips})) break; {self.random.choice(['', 'event();'])} }}",
                  "goto": f"if (any({trips})) goto {label};"}.get(kind, "}"))
        if goal:
            self.add(f"{goal}: sink = 5;")
        self.add(f"now = {scope['context']}; }}")


# What makes other loops of those of the source.
KEEP = {"gcc": ["-fno-unroll-loops", "-fno-peel-loops", "-fno-split-loops", "-fno-unswitch-loops", "-fno-thread-jumps", "-fno-split-paths",
                "-fno-ipa-cp-clone", "-fno-ipa-icf", "-fno-tree-tail-merge", "-fno-crossjumping", "-fno-code-hoisting", "-fno-tree-loop-distribution",
                "-fno-tree-ch", "-fno-reorder-blocks", "-fno-reorder-blocks-and-partition", "-fno-inline-functions-called-once"],
        "clang": ["-fno-unroll-loops", "-mllvm", "-tail-dup-placement=false"]}


def trial(options, folder, seed, compiler, level):
    """(programs, loops, what is wrong)"""
    base = f"{folder}/{seed}_{compiler}_O{level}"
    what = f"seed {seed}, {compiler} -O{level}"
    with open(base + ".c", "w", encoding="utf-8") as out:
        out.write(Source(seed).text())
    with open(base + "_driver.c", "w", encoding="utf-8") as out:
        out.write(DRIVER)
    keep = KEEP["clang" if "clang" in compiler else "gcc"]
    made = subprocess.run([compiler, "-w", f"-O{level}", "-g", *keep, "-I", os.path.dirname(options.header), base + ".c", base + "_driver.c", "-o", base],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return 0, 0, [f"{what}: {made.stderr[:500]}"]
    run = subprocess.run([options.refrain, "run", "--detector", "activation", "-o", base + ".archive", "--", base],
                         capture_output=True, text=True, check=False, env={**os.environ, "REFRAIN_MIN_GAP": "0"})
    if run.returncode != 0:
        return 0, 0, [f"{what}: status {run.returncode}: {run.stderr[-500:]}"]
    info = subprocess.run([options.refrain, "info", "--json", base + ".archive"], capture_output=True, text=True, check=False)
    wanted = collections.Counter()
    for text in run.stdout.splitlines():
        line, count = map(int, text.split())
        wanted[line] += count
    got = collections.Counter()
    for loop in json.loads(info.stdout)["phases"]:
        got[loop["line"]] += loop["iterations"]
    wrong = [f"{what}, line {line}: {wanted[line]} iterations, {got[line]} found"
             for line in sorted(wanted.keys() | got.keys()) if wanted[line] != got[line]]
    if "loop detection was limited" in run.stderr:
        wrong.append(f"{what}: {run.stderr}")
    if not wrong:
        for file in (base, base + ".c", base + "_driver.c"):
            os.remove(file)
    shutil.rmtree(base + ".archive", ignore_errors=True)
    return PROGRAMS, len(wanted), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("refrain")
    parser.add_argument("header")
    parser.add_argument("--programs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder of the sources of which something is wrong")
    parser.add_argument("--compilers", default="gcc,clang-19")
    parser.add_argument("--levels", default="0,1,2,3")
    options = parser.parse_args()
    ways = [(compiler, level) for level in options.levels.split(",") for compiler in options.compilers.split(",")]
    totals = [0, 0, 0]
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        seeds = range(options.seed, options.seed + -(-options.programs // PROGRAMS))
        for programs, loops, wrong in pool.map(lambda seed: trial(options, folder, seed, *ways[seed % len(ways)]), seeds):
            totals = [totals[0] + programs, totals[1] + loops, totals[2] + len(wrong)]
            for line in wrong:
                print(line, flush=True)
    print("{} programs, {} loops, {} wrong".format(*totals))
    print("FAIL" if totals[2] or not totals[1] else "PASS: script test")
    return 1 if totals[2] or not totals[1] else 0


sys.exit(main())
