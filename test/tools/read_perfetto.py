#!/usr/bin/python3
"""Reads a trace of Perfetto by Debian's protoc, and prints what is in it as JSON.

usage: read_perfetto.py PERFETTO.PROTO TRACE

Output: {"slices": [[process, thread, track, name, begin_ns, end_ns, category, place, {annotation: value}]],
"instants": [[process, thread, name, ns, {annotation: value}]], "flows": [[from process, from thread, from ns, to process, to thread,
to ns]], "counters": {"process/thread/name": [[ns, value]]}, "problems": [text]}.  All packets go through protoc, which knows the
types of fields; clocks, interned names, tracks, nesting and flows are put together here as Perfetto's documentation says.
"""
import json
import re
import subprocess
import sys
import zlib

BOOTTIME = 6
CLEARED, NEEDS = 1, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def expanded(data):
    """The packets, those that are compressed as they are inside."""
    out, at = [], 0
    while at < len(data):
        tag, body = varint(data, at)
        assert tag == 1 << 3 | 2, "no packet"
        length, body = varint(data, body)
        packet = data[body:body + length]
        assert len(packet) == length, "cut"
        first, inner = varint(packet, 0)
        if first == 50 << 3 | 2:
            size, inner = varint(packet, inner)
            assert inner + size == len(packet) and length < 512 << 10
            out.append(zlib.decompress(packet[inner:]))
        else:
            out.append(data[at:body + length])
        at = body + length
    return b"".join(out)


def messages(text):
    """Of protoc's text: each outermost message as {field: [values]}."""
    stack = [{}]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = {}
            stack[-1].setdefault(line[:-1].strip(), []).append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
            if len(stack) == 1:
                yield stack[0].popitem()[1][0]
                stack = [{}]
        elif line:
            name, value = line.split(": ", 1)
            if value.startswith('"'):
                value = re.sub(rb'\\([0-7]{3})', lambda m: bytes([int(m.group(1), 8)]), value[1:-1].encode())
                value = re.sub(rb'\\(.)', lambda m: {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(m.group(1), m.group(1)), value).decode()
            elif re.fullmatch(r"-?\d+", value):
                value = int(value)
            elif not value.startswith("TYPE_") and value not in ("true", "false"):
                value = float(value)
            stack[-1].setdefault(name, []).append(value)


def one(message, name, other=None):
    return message.get(name, [other])[0]


class Trace:
    def __init__(self):
        self.problems, self.processes, self.tracks = [], {}, {}
        self.names, self.categories, self.annotations, self.sources = {}, {}, {}, {}
        self.default_clock, self.clocks, self.state = BOOTTIME, {}, False
        self.events = []

    def complain(self, text):
        if len(self.problems) < 10:
            self.problems.append(text)

    def take(self, packet):
        sequence = one(packet, "trusted_packet_sequence_id", 0)
        if sequence != 1:
            self.complain(f"sequence {sequence}")
        flags = one(packet, "sequence_flags", 0)
        self.state = self.state or flags & CLEARED != 0
        if flags & NEEDS and not self.state:
            self.complain("no state")
        for snapshot in packet.get("clock_snapshot", []):
            for clock in snapshot["clocks"]:
                self.clocks[clock["clock_id"][0]] = [clock["timestamp"][0], one(clock, "is_incremental") == "true"]
        clock = one(packet, "timestamp_clock_id", self.default_clock)
        for defaults in packet.get("trace_packet_defaults", []):
            self.default_clock = defaults["timestamp_clock_id"][0]
        for data in packet.get("interned_data", []):
            for field, table in (("event_categories", self.categories), ("event_names", self.names),
                                 ("debug_annotation_names", self.annotations)):
                for each in data.get(field, []):
                    if each["iid"][0] in table or each["iid"][0] == 0:
                        self.complain(f"{field} {each['iid']} twice")
                    table[each["iid"][0]] = one(each, "name", "")
            for each in data.get("source_locations", []):
                self.sources[each["iid"][0]] = f'{one(each, "file_name")}:{one(each, "line_number")}'
        for track in packet.get("track_descriptor", []):
            if track["uuid"][0] in self.tracks:
                self.complain(f"track {track['uuid']} twice")
            self.tracks[track["uuid"][0]] = track
        for event in packet.get("track_event", []):
            if clock not in self.clocks:
                self.complain(f"clock {clock}")
                continue
            ns = packet["timestamp"][0]
            if self.clocks[clock][1]:
                ns += self.clocks[clock][0]
                self.clocks[clock][0] = ns
            self.events.append((ns, event))

    def where(self, uuid):
        """Process, thread, and what is on it."""
        track, name = self.tracks.get(uuid), ""
        if track is None:
            self.complain(f"no track {uuid}")
            return "?", "?", "?"
        if "thread" not in track:
            name = one(track, "name", "")
            if "parent_uuid" not in track:
                return "", "", name
            track = self.tracks[track["parent_uuid"][0]]
        process = self.tracks[track["parent_uuid"][0]]["process"][0]
        if process["pid"] != track["thread"][0]["pid"]:
            self.complain("a thread of another process")
        return process["process_name"][0], track["thread"][0]["thread_name"][0], name

    def name(self, event):
        if "name" in event:
            return event["name"][0]
        if event["name_iid"][0] not in self.names:
            self.complain(f"no name {event['name_iid']}")
        return self.names.get(event["name_iid"][0])

    def values(self, event):
        return {self.annotations.get(each["name_iid"][0], "?"): next(each[key][0] for key in ("uint_value", "int_value", "string_value") if key in each)
                for each in event.get("debug_annotations", [])}

    def read(self):
        slices, instants, flows, counters, open_slices = [], [], {}, {}, {}
        tids = [track["thread"][0]["tid"][0] for track in self.tracks.values() if "thread" in track]
        if len(set(tids)) != len(tids):
            self.complain("a tid twice")
        for ns, event in sorted(self.events, key=lambda each: each[0]):
            track = event["track_uuid"][0]
            kind = event["type"][0]
            process, thread, what = self.where(track)
            if kind == "TYPE_SLICE_BEGIN":
                source = one(event, "source_location_iid")
                if source is not None and source not in self.sources:
                    self.complain(f"no source {source}")
                open_slices.setdefault(track, []).append(
                    [process, thread, what, self.name(event), ns, None, self.categories.get(event["category_iids"][0]), self.sources.get(source, ""), {}])
            elif kind == "TYPE_SLICE_END":
                if not open_slices.get(track):
                    self.complain("an end without a begin")
                    continue
                done = open_slices[track].pop()
                done[5] = ns
                done[8] = self.values(event)
                slices.append(done)
            elif kind == "TYPE_INSTANT":
                instants.append([process, thread, self.name(event), ns, self.values(event)])
                for field in ("flow_ids", "terminating_flow_ids"):
                    for flow in event.get(field, []):
                        flows.setdefault(flow, {})[field] = [process, thread, ns]
            else:
                value = one(event, "counter_value", one(event, "double_counter_value"))
                counters.setdefault(f"{process}/{thread}/{what}", []).append([ns, value])
        if any(open_slices.values()):
            self.complain("a slice without an end")
        if any(len(ends) != 2 for ends in flows.values()):
            self.complain("a flow with one end")
        return {"slices": slices, "instants": instants, "counters": counters, "problems": self.problems,
                "flows": [ends.get("flow_ids", []) + ends.get("terminating_flow_ids", []) for ends in flows.values()]}


def main():
    proto, path = sys.argv[1:]
    with open(path, "rb") as file:
        packets = expanded(file.read())
    folder = proto.rsplit("/", 1)[0]
    text = subprocess.run(["protoc", "--decode=Trace", f"--proto_path={folder}", proto], input=packets, capture_output=True, check=True).stdout.decode()
    trace = Trace()
    for packet in messages(text):
        trace.take(packet)
    # What protoc does not know it prints by its number.
    if re.search(r"^\s*\d+[: ]", text, re.MULTILINE):
        trace.complain("fields that Perfetto does not have")
    json.dump(trace.read(), sys.stdout)


main()
