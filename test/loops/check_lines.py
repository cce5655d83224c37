"""Checks that each loop that a source marks is found in its machine code at this line and depth, and no others in this file.

check_lines.py PRINT_LOOPS FOLDER SOURCE COMMAND...: COMMAND compiles, its last words are added here. A mark is
"loop DEPTH" in a comment; "or more": the compiler may have put it into other loops; "or beside": the line before or after may be it
(a directive, "for (;;)", the statement in it). Optimised at -O3, parts of a loop may lie elsewhere, too. Exit status: 0 if all is there.
"""

import re
import subprocess
import sys


def main():
    tool, folder, source, *command = sys.argv[1:]
    program = f"{folder}/program.so"
    subprocess.run([*command, "-g", "-fPIC", "-shared", source, "-o", program], check=True)
    wanted, beside = {}, set()
    with open(source, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            if match := re.search(r"(?://|!) loop (\d+)( or more)?( or beside)?", line):
                wanted[number] = (int(match[1]), match[2] is not None)
                beside |= {number} if match[3] else set()
    found = {}
    lines = subprocess.run([tool, program, "--source"], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        depth, file, number, _ = line.split(" ", 3)
        if file.rsplit("/", 1)[-1] == source.rsplit("/", 1)[-1]:
            found.setdefault(int(number), set()).add(int(depth))
    for number in beside:
        for other in (number - 1, number + 1):
            if other in found and other not in wanted:
                found.setdefault(number, set()).update(found.pop(other))
    wrong = 0
    for number in sorted(wanted.keys() | found.keys()):
        depth, more = wanted.get(number, (None, False))
        depths = found.get(number, set())
        if depths == {depth} or (more and depths and min(depths) >= depth) or ("-O3" in command and depth in depths):
            continue
        wrong += 1
        print(f"{source}:{number}: wanted {depth}, found {sorted(depths)}")
    print(f"{' '.join(command)} {source}: {len(wanted)} marked, {wrong} wrong")
    return 1 if wrong or not wanted else 0


sys.exit(main())
