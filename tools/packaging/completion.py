#!/usr/bin/env python3
"""Completion of bash for `refrain`, on standard output.

Usage: refrain help --json | completion.py
"""

import json
import os
import sys

FRAME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "completion.bash")
# Values that are no files and cannot be listed.
NOT_FILES = {"NUMBER", "SIZE", "TIME", "LIST", "REGION", "SHARE", "INT", "UINT", "FLOAT"}


def quoted(words):
    return '"' + " ".join(words) + '"'


def names_of(options):
    return [name for option in options for name in option["names"]]


def pattern(command, option):
    """The option's names as a pattern of `case`."""
    return " | ".join(f'"{command} {name}"' for name in option["names"])


def values_of(option):
    if option["choices"]:
        return quoted(option["choices"])
    return '"-"' if option["value"] in NOT_FILES else None


def make(all_):
    commands = all_["commands"]
    words = [f'    "") echo {quoted([c["name"] for c in commands] + names_of(all_["options"]))} ;;']
    values, with_value = [], []
    for command in commands:
        name = command["name"]
        words.append(f'    {name}) echo {quoted(names_of(command["options"]))} ;;')
        for option in command["options"]:
            if option["value"] is None:
                continue
            if not option["value_optional"]:
                with_value.append(f'    {pattern(name, option)}) ;;')
            if values_of(option) is not None:
                values.append(f'    {pattern(name, option)}) echo {values_of(option)} ;;')
        first = command["positionals"][:1]
        # `help` explains commands.
        choices = [c["name"] for c in commands] if name == "help" else (first[0]["choices"] if first else [])
        if choices or not first:
            values.append(f'    "{name} ") echo {quoted(choices) if choices else chr(34) + "-" + chr(34)} ;;')
    with open(FRAME, encoding="utf-8") as file:
        text = file.read()
    for mark, lines in (("@WORDS@", words), ("@VALUES@", values), ("@WITH_VALUE@", with_value)):
        text = text.replace(mark, "\n".join(lines))
    return text


def main():
    if len(sys.argv) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    sys.stdout.write(make(json.load(sys.stdin)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
