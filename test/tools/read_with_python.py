#!/usr/bin/python3
"""Reads archives with python3-otf2, an independent reader, and prints the problems it finds.

usage: read_with_python.py ARCHIVE ... [EVENTS]

All definitions are read, and the first EVENTS events of all locations in the order of their
times (100 000 if not given: the module reads about as many a second; 0: all).  Checks what
common readers rely on:
  - no exception: every enumeration has a name;
  - enters and leaves are balanced on each location, and measurement off and on with them;
    times never decrease, and no two enters or leaves of a location have the same;
  - a location's reference is (number of the thread in its process) << 32 plus a number that
    counts through all locations;
  - the program has a region, which is found by ProgramBegin's texts;
  - regions of OpenMP are known by their canonical name or by the file "OMP", barriers by the
    two names that scout knows;
  - threads that the program begins are created before they begin, and end before somebody has waited for them; who does
    that is a member of their contingent;
  - no switch to the implicit task directly after the completion of a task, no BufferFlush.
Exit status 0 and no output: all is well; 1: a line for each of the first few problems, after the archive and a colon if there
are several.
"""
import os
import sys

import otf2
from otf2.enums import LocationGroupType, MeasurementMode, Paradigm, RegionRole
from otf2.events import (BufferFlush, Enter, Leave, MeasurementOnOff, ProgramBegin,
                         ThreadBegin, ThreadCreate, ThreadEnd, ThreadTaskComplete, ThreadTaskSwitch, ThreadWait)

DEFAULT_EVENTS = 100_000
BARRIERS = ("!$omp barrier", "!$omp implicit barrier")
OFF = object()  # on the stack of regions
MOST_PROBLEMS = 10


def construct_inter_comm(registry, ref, name, group, _, common, flags):
    return otf2.definitions.Comm(registry._registry_for_type(otf2.definitions.InterComm), ref,
                                 registry.strings[name],
                                 registry._get(otf2.definitions.Group, group),
                                 registry._get(otf2.definitions.Comm, common), flags)


# The module takes the second group of an intercommunicator for its parent (3.0.2), in any archive.
otf2.definitions.InterComm._construct = staticmethod(construct_inter_comm)


class Checker:
    def __init__(self):
        self.problems = []

    def complain(self, text):
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)

    def names(self, definitions):
        # The module looks up the name of a value when it is used.
        for kind in ("regions", "locations", "location_groups", "groups", "attributes",
                     "parameters", "metrics", "system_tree_nodes", "paradigms"):
            for definition in getattr(definitions, kind):
                for field in type(definition)._fields:
                    try:
                        str(getattr(definition, field[0]))
                    except (KeyError, ValueError) as problem:
                        self.complain("%s %r: %s has no name for %s"
                                      % (kind, getattr(definition, "name", ""), field[0],
                                         problem))

    def locations(self, locations):
        of_process = {}
        for location in locations:
            if location.group.location_group_type == LocationGroupType.PROCESS:
                of_process.setdefault(location.group, []).append(location)
        numbers = []
        for group, members in of_process.items():
            for thread, location in enumerate(sorted(members, key=lambda each: each._ref)):
                if location._ref >> 32 != thread:
                    self.complain("location %#x is not thread %d of %s"
                                  % (location._ref, thread, group.name))
                numbers.append(location._ref & 0xffffffff)
        if sorted(numbers) != list(range(len(numbers))):
            self.complain("the locations are not counted through: %s" % sorted(numbers)[:8])

    def regions(self, regions):
        for region in regions:
            known = region.canonical_name.startswith("!$omp") or region.source_file == "OMP"
            if region.paradigm == Paradigm.OPENMP and not known:
                self.complain("region %r is called %r" % (region.name, region.canonical_name))
            name = region.name.split(" @")[0]
            if (region.paradigm == Paradigm.OPENMP and name.endswith(" barrier")
                    and name != "!$omp teams barrier"
                    and region.canonical_name.split(" @")[0] not in BARRIERS):
                self.complain("barrier %r is called %r" % (region.name, region.canonical_name))

    def program(self, event, regions):
        path = event.program_name
        canonical = " ".join([path] + list(event.program_arguments))
        for region in regions:
            if (region.region_role == RegionRole.ARTIFICIAL
                    and region.paradigm == Paradigm.MEASUREMENT_SYSTEM
                    and region.name == os.path.basename(path)
                    and region.canonical_name == canonical):
                return
        self.complain("no region for the program %r" % canonical)


class Stream:
    """The events of one location."""

    def __init__(self, location, checker):
        self.name = location.name
        self.checker = checker
        self.open = []
        self.time = self.edge = -1
        self.complete = False

    def complain(self, event, text):
        self.checker.complain("%s at %d: %s %s"
                              % (self.name, event.time, type(event).__name__, text))

    def take(self, event, kind):
        if event.time < self.time:
            self.complain(event, "lies before what was before")
        self.time = event.time
        if kind is Enter or kind is Leave:
            if event.time == self.edge:
                self.complain(event, "has the time of another")
            self.edge = event.time
            region = event.region
            if kind is Enter:
                self.open.append(region)
            elif not self.open or self.open.pop() is not region:
                self.complain(event, "of what is not open")
        elif kind is MeasurementOnOff:
            if event.measurement_mode == MeasurementMode.OFF:
                self.open.append(OFF)
            elif not self.open or self.open.pop() is not OFF:
                self.complain(event, "while something is open inside")
        elif kind is BufferFlush:
            self.complain(event, "is no event of the program")
        elif kind is ThreadTaskSwitch and self.complete and event.generation_number == 0:
            self.complain(event, "goes back where readers are already")
        self.complete = kind is ThreadTaskComplete

    def end(self):
        if self.open:
            self.checker.complain("%s: %d regions are never left, %r the last"
                                  % (self.name, len(self.open),
                                     getattr(self.open[-1], "name", "measurement off")))


class Threads:
    """Those that the program begins, of all processes."""

    def __init__(self, checker):
        self.checker = checker
        self.created, self.ended = set(), set()
        self.running = {}  # by location

    def take(self, location, event, kind):
        if kind not in (ThreadCreate, ThreadBegin, ThreadEnd, ThreadWait):
            return
        contingent = event.thread_contingent
        thread = (contingent, event.sequence_count)
        if contingent.group.paradigm != Paradigm.PTHREAD or location not in contingent.group.members:
            self.checker.complain("%s at %d is no member of %s" % (location.name, event.time, contingent.name))
        if kind is ThreadCreate:
            self.created.add(thread)
        elif kind is ThreadBegin:
            if thread not in self.created:
                self.checker.complain("%s at %d begins, and was not created" % (location.name, event.time))
            self.running[location] = thread
        elif kind is ThreadEnd:
            self.ended.add(self.running.pop(location, None))
        elif thread not in self.ended:
            self.checker.complain("%s at %d has waited for what does not end" % (location.name, event.time))


def problems_of(archive, most):
    checker = Checker()
    with otf2.reader.open(os.path.join(archive, "traces.otf2"), 4096) as trace:
        definitions = trace.definitions
        checker.names(definitions)
        checker.locations(definitions.locations)
        checker.regions(definitions.regions)
        streams = {each: Stream(each, checker) for each in definitions.locations}
        threads = Threads(checker)
        left = most if most else -1
        for location, event in trace.events:
            if left == 0:
                break
            left -= 1
            kind = type(event)
            streams[location].take(event, kind)
            threads.take(location, event, kind)
            if kind is ProgramBegin:
                checker.program(event, definitions.regions)
        else:
            for stream in streams.values():
                stream.end()
    return checker.problems


def main():
    archives = sys.argv[1:]
    most = int(archives.pop()) if archives[-1].isdigit() else DEFAULT_EVENTS
    found = 0
    for archive in archives:
        for problem in problems_of(archive, most):
            print(f"{archive}: {problem}" if len(archives) > 1 else problem)
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
