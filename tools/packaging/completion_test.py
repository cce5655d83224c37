"""bash completes commands, options, their values and file names, as a user types them and for every option."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

REFRAIN, HERE = sys.argv[1], os.path.dirname(os.path.abspath(sys.argv[0]))
FOLDER = os.environ["TEST_TMPDIR"]
SCRIPT = os.path.join(FOLDER, "refrain")
PATIENCE_S = 600


def ask(*words):
    return subprocess.run([REFRAIN, *words], check=True, capture_output=True, text=True).stdout


# Each line of the input is a command line, cut into words by tabs; the last word is completed.
HARNESS = """
. "$1"
compopt() { :; }
while IFS= read -r line; do
  IFS=$'\\t' read -ra COMP_WORDS <<< "$line"
  [[ $line == *$'\\t' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  current=${COMP_WORDS[COMP_CWORD]}
  [ "$current" != "=" ] || current=
  _refrain refrain "$current" "${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\\n' "${COMPREPLY[*]}"
done
"""


def answers(lines):
    done = subprocess.run(["bash", "--norc", "-c", HARNESS, "bash", SCRIPT], input="".join(
        "\t".join(line) + "\n" for line in lines), capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    result = [set(line.split()) for line in done.stdout.split("\n")[:-1]]
    assert len(result) == len(lines), f"{len(result)} answers to {len(lines)} lines"
    return result


def check_every_option():
    commands = re.findall(r"^  (\w+) ", ask("help"), re.M)
    cases = [(["refrain", ""], set(commands))]
    for command in commands:
        names = []
        for line in ask("help", command).splitlines():
            match = re.match(r"^  (-[\w-]+(?:,-[\w-]+)*)", line)
            names += match[1].split(",") if match else []
        if command == "run":  # shown by `refrain config --expert` alone
            names += ["--" + setting["name"].replace("_", "-")
                      for setting in json.loads(ask("config", "--json")) if setting["expert"]]
        assert names
        cases += [(["refrain", command, "-"], set(names))]
        cases += [(["refrain", command, name], {name}) for name in names]
    for (line, wanted), answer in zip(cases, answers([line for line, _ in cases])):
        assert wanted <= answer, f"{line}: {sorted(wanted - answer)} missing"
        if line[-1] == "-":  # no more than there is
            assert answer == wanted, f"{line}: {sorted(answer - wanted)} too many"


def check_values():
    cases = [(["refrain", "convert", "--to", ""], {"paraver", "perfetto", "chrome", "csv"}),
             (["refrain", "convert", "--to", "c"], {"chrome", "csv"}),
             (["refrain", "convert", "--to", "="], {"paraver", "perfetto", "chrome", "csv"}),
             (["refrain", "convert", "--to", "=", "p"], {"paraver", "perfetto"}),
             (["refrain", "convert", "archive", "--to", "p"], {"paraver", "perfetto"}),
             (["refrain", "run", "--symbols", ""], {"auto", "parallel", "functions"}),
             (["refrain", "run", "-n", ""], set()),
             (["refrain", "help", "pro"], {"profile"}),
             (["refrain", "experiment", "m"], {"mean", "merge", "min", "max"}),
             # The operation is there: what follows are files.
             (["refrain", "experiment", "mean", "m"], set()),
             (["refrain", "experiment", "--json", "di"], {"diff"}),
             (["refrain", "experiment", "-o", "file", "di"], {"diff"}),
             (["refrain", "info", "x"], set()),
             # The program's own.
             (["refrain", "run", "--", "./app", "--to", "p"], set())]
    for (line, wanted), answer in zip(cases, answers([line for line, _ in cases])):
        assert answer == wanted, f"{line}: {answer}, not {wanted}"


def typed(text, wanted):
    """Returns true if an interactive bash shows `wanted` after `text`."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(os.path.join(FOLDER, "files"))
        os.environ.update(PS1="$ ", INPUTRC="/dev/null", HISTFILE="", TERM="dumb", COLUMNS="200")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    shown = b""

    def wait_for(what):
        nonlocal shown
        end = time.monotonic() + PATIENCE_S
        while what not in shown.replace(b"\x07", b"") and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += os.read(terminal, 4096)
        return what in shown.replace(b"\x07", b"")

    try:
        assert wait_for(b"$ "), "bash has no prompt"
        os.write(terminal, f". '{SCRIPT}'; bind 'set bell-style none' ; echo re''ady\n".encode())
        assert wait_for(b"ready\r\n"), f"bash did not read the completion: {shown!r}"
        os.write(terminal, text.encode() + b"\t")
        assert wait_for(wanted.encode()), f"{text!r} becomes {shown!r}, not {wanted!r}"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def check_typed():
    os.makedirs(os.path.join(FOLDER, "files", "my archive"))
    program = os.path.join(FOLDER, "files", "program")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod(program, 0o755)
    typed("refrain an", "refrain analyze ")
    typed("refrain info --bo", "refrain info --bodies ")
    typed("refrain info my", r"refrain info my\ archive/")
    typed("refrain info --all my", r"refrain info --all my\ archive/")
    typed("refrain convert --to=par", "refrain convert --to=paraver ")
    typed("refrain recover --filter=my", r"refrain recover --filter=my\ archive/")
    typed("refrain run -o x -- ./prog", "refrain run -o x -- ./program ")
    typed("refrain run -- ./program my", r"refrain run -- ./program my\ archive/")


def main():
    made = subprocess.run([os.path.join(HERE, "completion.py")], input=ask("help", "--json"),
                          capture_output=True, text=True, check=True).stdout
    assert "@" not in made.replace("[@]", ""), "a mark is left"
    with open(SCRIPT, "w", encoding="utf-8") as file:
        file.write(made)
    check_every_option()
    check_values()
    check_typed()


main()
