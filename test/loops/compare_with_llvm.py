"""Compares the loops that are found in a program's machine code with those that clang says it has made.

clang writes the loops of its last stage as comments into the assembler text ("Loop Header: Depth=2"). Assembled
with its labels kept, the same text is the program: headers and depths must be the same.

compare_with_llvm.py PRINT_LOOPS CLANG FOLDER SOURCE FLAG...: prints what differs, and how many loops there were.
Exit status: 0 if nothing differs, or if it differs in functions with irreducible regions only, which LLVM leaves out.
"""

import re
import subprocess
import sys


def reference(text):
    """Header label -> (function, depth)."""
    loops = {}
    function = label = None
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z_$][\w$.]*):", line):
            function, label = match[1], None
        elif match := re.match(r"(\.LBB\d+_\d+):", line):
            label = match[1]
        elif re.match(r"# %bb\.\d+:", line):
            label = None
        if match := re.search(r"This (?:Inner )?Loop Header: Depth=(\d+)", line):
            loops[label] = (function, int(match[1]))
    return loops


def ours(text):
    """Header address -> (function, depth); functions with irreducible regions or guesses."""
    loops, unsure = {}, set()
    function = None
    depths = {}
    for line in text.splitlines():
        words = line.split()
        if not line.startswith("  loop"):
            function, depths = words[0], {0: 0}
            if "guessed=0" not in words or "undecoded=0" not in words:
                unsure.add(function)
            continue
        address = int(words[1], 16)
        parent = int(words[3].removeprefix("parent="), 16)
        irreducible = "irreducible" in words
        if irreducible:
            unsure.add(function)
        depth = depths[parent] + (0 if irreducible else 1)
        depths[address] = depth
        if not irreducible:
            loops[address] = (function, depth)
    return loops, unsure


def main():
    tool, compiler, folder, source, *flags = sys.argv[1:]
    base = f"{folder}/program"
    subprocess.run([compiler, *flags, "-S", source, "-o", base + ".s"], check=True)
    subprocess.run([compiler, "-c", "-Wa,-L", base + ".s", "-o", base + ".o"], check=True)
    subprocess.run([compiler, "-shared", "-fPIC", base + ".o", "-o", base + ".so"], check=True)
    labels = {}
    for line in subprocess.run(["nm", base + ".so"], check=True, capture_output=True, text=True).stdout.splitlines():
        address, kind, name = line.rsplit(maxsplit=2) if len(line.split()) == 3 else ("0", "U", "")
        if name.startswith(".LBB"):
            labels[name] = int(address, 16)
    with open(base + ".s", encoding="utf-8") as text:
        wanted = {labels[label]: loop for label, loop in reference(text.read()).items()}
    found, unsure = ours(subprocess.run([tool, base + ".so"], check=True, capture_output=True, text=True).stdout)
    known = {function for function, _ in wanted.values()}
    different = 0
    excused = 0
    for address in sorted(wanted.keys() | found.keys()):
        a, b = wanted.get(address), found.get(address)
        if a == b:
            continue
        function = (a or b)[0]
        if a is None and function not in known and function.startswith(("_", "deregister", "register", "frame")):
            continue  # of the C library's start files
        if function in unsure:
            excused += 1
            continue
        different += 1
        print(f"{address:#x} {function}: clang {a and a[1]}, here {b and b[1]}")
    same = sum(1 for address, loop in wanted.items() if found.get(address) == loop)
    print(f"{source} {' '.join(flags)}: {len(wanted)} loops of clang, {same} the same, {different} different,"
          f" {excused} beside irreducible regions; {len(unsure)} functions with these")
    return 1 if different or not wanted else 0


sys.exit(main())
