#!/usr/bin/python3
"""Reads a profile in Cube's format with the standard library only.

usage: read_cubex.py FILE             prints all of it as JSON
       read_cubex.py --check ARCHIVE  compares ARCHIVE/profile.cubex with ARCHIVE/summary

The check prints a line for each difference and ends with status 1 if there is one:
  - the inclusive time of the program on each location is the run time of its process;
  - visits, bytes, exclusive time, minimum and maximum duration of each region on each location are
    those that the summary's nodes of that name have together, to less than a tick; nothing else was
    visited;
  - no exclusive time is negative.
"""
import glob
import json
import os
import struct
import sys
import tarfile
import xml.etree.ElementTree as ElementTree

TYPES = {"UINT64": "Q", "DOUBLE": "d", "MINDOUBLE": "d", "MAXDOUBLE": "d"}
FORK, OTHER = 1, 2  # kinds of nodes
LARGEST = sys.float_info.max
PROGRAM = "the program"


def nested(parent, tag, above=None):
    """All elements of a tree with their parents, each before its children."""
    for element in parent.findall(tag):
        yield element, above
        yield from nested(element, tag, element)


def rows(children, roots, inclusive):
    """The call path of each row of values."""
    order = []

    def below(path):
        order.extend(children[path])
        for child in children[path]:
            below(child)

    def depth_first(path):
        order.append(path)
        for child in children[path]:
            depth_first(child)

    for root in roots:
        if inclusive:
            order.append(root)
            below(root)
        else:
            depth_first(root)
    return order


class Profile:
    """Metrics by unique name, the rest by number; values[metric][path] has one for each location."""

    def __init__(self, file):
        sys.setrecursionlimit(100_000)
        with tarfile.open(file) as tar:
            self.members = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
        root = ElementTree.fromstring(self.members["anchor.xml"])
        assert root.tag == "cube"
        self.attributes = {a.get("key"): a.get("value") for a in root.findall("attr")}
        self.regions = [self.region(r) for r in root.find("program").findall("region")]
        self.paths = []
        children, roots = {}, []
        for element, above in nested(root.find("program"), "cnode"):
            number = int(element.get("id"))
            children[number] = []
            parent = None if above is None else int(above.get("id"))
            (roots if parent is None else children[parent]).append(number)
            self.paths.append(
                {"id": number, "parent": parent,
                 "region": self.regions[int(element.get("calleeId"))]["name"]})
        self.paths.sort(key=lambda path: path["id"])
        assert [p["id"] for p in self.paths] == list(range(len(self.paths)))
        self.roots = roots
        self.read_system(root.find("system"))
        self.metrics, self.values = {}, {}
        for element, above in nested(root.find("metrics"), "metric"):
            self.read_metric(element, above, children)

    @staticmethod
    def region(element):
        texts = {tag: element.findtext(tag) or ""
                 for tag in ("name", "mangled_name", "paradigm", "role")}
        return {**texts, "file": element.get("mod"), "line": int(element.get("begin"))}

    def read_system(self, system):
        self.locations = []
        machine = system.find("systemtreenode")
        for node in machine.findall("systemtreenode"):
            for process in node.findall("locationgroup"):
                for location in process.findall("location"):
                    self.locations.append({
                        "id": int(location.get("Id")), "name": location.findtext("name"),
                        "number": int(location.findtext("rank")),
                        "process": process.findtext("name"),
                        "rank": int(process.findtext("rank")), "node": node.findtext("name"),
                        "machine": machine.findtext("name")})
        self.locations.sort(key=lambda location: location["id"])
        assert [x["id"] for x in self.locations] == list(range(len(self.locations)))

    def read_metric(self, element, above, children):
        name, kind = element.findtext("uniq_name"), element.findtext("dtype")
        inclusive = {"INCLUSIVE": True, "EXCLUSIVE": False}[element.get("type")]
        self.metrics[name] = {
            "type": kind, "inclusive": inclusive, "unit": element.findtext("uom"),
            "parent": None if above is None else above.findtext("uniq_name")}
        self.values[name] = {}
        number = element.get("id")
        if number + ".index" not in self.members:
            return
        index, data = self.members[number + ".index"], self.members[number + ".data"]
        assert index[:11] == b"CUBEX.INDEX" and data[:10] == b"CUBEX.DATA"
        one, version, sparse, count = struct.unpack_from("<IHBI", index, 11)
        assert (one, version, sparse) == (1, 0, 1) and len(index) == 22 + 4 * count
        numbers = struct.unpack_from(f"<{count}I", index, 22)
        assert list(numbers) == sorted(set(numbers))
        width = len(self.locations)
        assert len(data) == 10 + 8 * count * width
        order = rows(children, self.roots, inclusive)
        for i, row in enumerate(numbers):
            self.values[name][order[row]] = list(
                struct.unpack_from(f"<{width}{TYPES[kind]}", data, 10 + 8 * i * width))

    def value(self, metric, path, location):
        row = self.values[metric].get(path)
        if row is not None:
            return row[location]
        return LARGEST if self.metrics[metric]["type"] == "MINDOUBLE" else 0

    def as_json(self):
        members = {name: len(data) for name, data in self.members.items()}
        return {"attributes": self.attributes, "metrics": self.metrics, "regions": self.regions,
                "paths": self.paths, "locations": self.locations, "members": members,
                "values": {name: {str(path): row for path, row in paths.items()}
                           for name, paths in self.values.items()}}


def summary_sums(archive):
    """What the summary knows: (region, column) by location; and the run time of each."""
    sums, run_times = [], []
    files = glob.glob(os.path.join(archive, "summary", "process-*.json"))
    for process in sorted((json.load(open(name, "rb")) for name in files),
                          key=lambda process: process["process"]):
        second = process["ticks_per_second"]
        for location in process["locations"]:
            run_times.append((process["end"] - process["begin"]) / second)
            sums.append({})
            add_location(process, location, second, sums[-1])
    return sums, run_times


def add_location(process, location, second, sums):
    nodes = process["nodes"]

    def add(region, column, value):
        sums[region, column] = sums.get((region, column), 0) + value

    def column(name, node):
        return location[name][node] if name in location else 0

    def region_of(node):
        """Of a fork: what lies around it."""
        while node is not None and nodes[node][2] == FORK:
            node = nodes[node][0]
        if node is None:
            return PROGRAM
        return "other" if nodes[node][2] == OTHER else process["regions"][nodes[node][1]]["name"]

    def add_elsewhere(around, time, regions):
        add("other", "visits", regions)
        add("other", "time", time / second)
        add(around, "time", -time / second)

    add(PROGRAM, "time", (process["end"] - process["begin"]) / second)
    add_elsewhere(PROGRAM, location["time_outside"], location["regions_outside"])
    for i, (parent, _, kind, _) in enumerate(nodes):
        name = region_of(i)
        add(name, "time", column("time", i) / second)
        add(region_of(parent), "time", -column("time", i) / second)
        add_elsewhere(name, column("time_elsewhere", i), column("regions_elsewhere", i))
        for bytes_of in ("bytes_sent", "bytes_received"):
            add(name, bytes_of, column(bytes_of, i))
        if kind == FORK or column("visits", i) == 0:
            continue
        add(name, "visits", column("visits", i))
        sums[name, "min_time"] = min(sums.get((name, "min_time"), LARGEST),
                                     column("minimum", i) / second)
        sums[name, "max_time"] = max(sums.get((name, "max_time"), 0),
                                     column("maximum", i) / second)


def exclusive_times(profile, location):
    times = [profile.value("time", path["id"], location) for path in profile.paths]
    own = list(times)
    for path in profile.paths:
        if path["parent"] is not None:
            own[path["parent"]] -= times[path["id"]]
    return own


def profile_sums(profile, location):
    """The same of the profile."""
    sums = {}
    for path, own in zip(profile.paths, exclusive_times(profile, location)):
        name = PROGRAM if path["parent"] is None else path["region"]
        sums[name, "time"] = sums.get((name, "time"), 0) + own
        if name == PROGRAM:
            continue
        for metric in profile.metrics:
            key, value = (name, metric), profile.value(metric, path["id"], location)
            if metric == "min_time":
                sums[key] = min(sums.get(key, LARGEST), value)
            elif metric == "max_time":
                sums[key] = max(sums.get(key, 0), value)
            elif metric != "time":
                sums[key] = sums.get(key, 0) + value
    return {key: value for key, value in sums.items() if value != LARGEST}


def differs(a, b):
    return abs(a - b) > 1e-10 * max(abs(a), abs(b), 1)


def problems(archive):
    profile = Profile(os.path.join(archive, "profile.cubex"))
    sums, run_times = summary_sums(archive)
    if len(profile.locations) != len(run_times) or not run_times:
        yield f"{len(profile.locations)} locations instead of {len(run_times)}"
        return
    for location, run_time in enumerate(run_times):
        time = sum(profile.value("time", root, location) for root in profile.roots)
        if differs(time, run_time):
            yield f"location {location}: the program takes {time} instead of {run_time}"
        found, wanted = profile_sums(profile, location), sums[location]
        for key in sorted(found.keys() | wanted.keys()):
            if differs(found.get(key, 0), wanted.get(key, 0)):
                yield (f"location {location}, {key[1]} of {key[0]}: {found.get(key, 0)} "
                       f"instead of {wanted.get(key, 0)}")
        for path, own in enumerate(exclusive_times(profile, location)):
            if own < -1e-9:
                yield f"location {location}, path {path}: exclusive time {own}"


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--check":
        found = list(problems(arguments[1]))
        for problem in found[:20]:
            print(problem)
        return 1 if found else 0
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    json.dump(Profile(arguments[0]).as_json(), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
