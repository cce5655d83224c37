"""Sums of the metrics of a .cubex file (CubeLib's format 4), with the standard library only."""

import struct
import tarfile
import xml.etree.ElementTree as ElementTree
import zlib

# Data types of one value of eight bytes; others (tuples, histograms) are left out.
FORMATS = {"DOUBLE": "d", "FLOAT": "d", "UINT64": "Q", "INTEGER": "Q", "INT64": "q"}


def metrics_of(path):
    """{unique name: sum over all call paths and locations}; inclusive in the metric tree."""
    with tarfile.open(path) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar.getmembers()}
    root = ElementTree.fromstring(members["anchor.xml"])
    locations = len(root.findall(".//system//location")) or len(root.findall(".//system//thread"))
    rows = rows_of_roots(root.find("program"))
    return {metric.findtext("uniq_name"): total
            for metric in root.find("metrics").iter("metric")
            if (total := sum_of(metric, members, locations, rows)) is not None}


def rows_of_roots(program):
    """Rows of the root call paths of an inclusive metric: each root is followed by all below it."""
    rows, next_row = set(), 0
    for cnode in program.findall("cnode"):
        rows.add(next_row)
        next_row += sum(1 for _ in cnode.iter("cnode"))
    return rows


def sum_of(metric, members, locations, roots):
    number, kind = metric.get("id"), FORMATS.get(metric.findtext("dtype"))
    if kind is None or metric.get("type") not in ("INCLUSIVE", "EXCLUSIVE"):
        return None  # derived, or not a number
    index, data = members.get(number + ".index", b""), members.get(number + ".data", b"")
    values = plain_data(data)
    numbers = row_numbers(index, len(values) // (8 * max(locations, 1)))
    inclusive = metric.get("type") == "INCLUSIVE"
    total = 0
    for i, row in enumerate(numbers):
        if not inclusive or row in roots:
            total += sum(struct.unpack_from(f"<{locations}{kind}", values, 8 * i * locations))
    return total


def row_numbers(index, rows):
    if not index.startswith(b"CUBEX.INDEX"):
        return range(rows)
    one, _, sparse = struct.unpack_from("<IHB", index, 11)
    if one != 1:
        raise ValueError("written with the other order of bytes")
    if not sparse:
        return range(rows)
    (count,) = struct.unpack_from("<I", index, 18)
    return struct.unpack_from(f"<{count}I", index, 22)


def plain_data(data):
    if data.startswith(b"CUBEX.DATA"):
        return data[10:]
    if not data.startswith(b"ZCUBEX.DATA"):
        return b""
    # Number of parts, then for each: place and size, plain and compressed.
    (bytes_of_parts,) = struct.unpack_from("<Q", data, 11)
    begin, plain = 19 + bytes_of_parts, b""
    for i in range(bytes_of_parts // 32):
        _, _, place, size = struct.unpack_from("<4Q", data, 19 + 32 * i)
        plain += zlib.decompress(data[begin + place:begin + place + size])
    return plain
