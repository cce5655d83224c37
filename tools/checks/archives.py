"""Is an archive valid? `refrain info` and otf2-print read it, and its regions are nested."""

import os
import re
import subprocess
import tempfile

# Larger archives are only read by otf2-print, without looking at every event.
LARGE_BYTES = 2_000_000


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(place, name))
               for place, _, names in os.walk(folder) for name in names)


def check_archive(archive, refrain):
    """What is wrong with an archive; "" if nothing, "none" if there is none."""
    anchor = os.path.join(archive, "traces.otf2")
    if not os.path.exists(anchor):
        if not os.path.isdir(os.path.join(archive, "spool")):
            return "none"
        done = subprocess.run([refrain, "recover", archive], capture_output=True, text=True)
        if done.returncode != 0 or not os.path.exists(anchor):
            return f"refrain recover: exit status {done.returncode}, {done.stderr.strip()}"
    info = subprocess.run([refrain, "info", archive], capture_output=True, text=True)
    if info.returncode != 0:
        return "refrain info: " + info.stderr.strip()
    large = folder_bytes(archive) > LARGE_BYTES
    with tempfile.TemporaryFile("w+") as errors:
        words = ["otf2-print"] + ["--silent"] * large + [anchor]
        reader = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True,
                                  errors="replace")
        wrong = check_events(reader.stdout)
        reader.stdout.read()
        status = reader.wait()
        errors.seek(0)
        said = errors.read().strip()
    if status != 0 or said:
        return f"otf2-print: exit status {status}, {said}"
    return wrong


def check_events(lines):
    """Returns true if enters and leaves balance and time does not run backwards."""
    event = re.compile(r"^([A-Z_]+) +(\d+) +(\d+)(?: +Region: (.*))?$")
    stacks, times = {}, {}
    for line in lines:
        match = event.match(line.rstrip())
        if not match:
            continue
        kind, location, now, region = match[1], match[2], int(match[3]), match[4]
        if now < times.get(location, 0):
            return f"location {location}: time runs backwards at {now}"
        times[location] = now
        stack = stacks.setdefault(location, [])
        if kind == "ENTER":
            stack.append(region)
        elif kind == "LEAVE":
            if not stack or stack.pop() != region:
                return f"location {location}: leave of {region} at {now} without its enter"
    for location, stack in stacks.items():
        if stack:
            return f"location {location}: no leave of {stack[-1]}"
    return ""
