#!/usr/bin/env python3
"""Manual pages, one for `refrain` and one for each command.

Usage: refrain help --json | pages.py SETTINGS FOLDER [DATE]

SETTINGS is what `refrain config --json` prints. Names, synopses and options are those of the command; the
other texts are in manual/COMMAND.roff: sections in roff. SYNOPSIS may be left out; NAME is there for `refrain` only. DATE is
YYYY-MM-DD; without it that of the newest text.
"""

import datetime
import json
import os
import re
import sys

TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "manual")
ORDINARY_WORD = re.compile(r"""^[("']*[A-Za-z]+(-[A-Za-z]+)+[.,;:)"']*$""")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def escape(text):
    """Text for roff: minus signs, not hyphens, but in ordinary words."""
    words = text.replace("\\", r"\e").split(" ")
    return " ".join(w if ORDINARY_WORD.match(w) else w.replace("-", r"\-") for w in words)


def paragraph(text):
    """A line of running text with its options in bold."""
    parts, at = [], 0
    for match in OPTION.finditer(text):
        parts += [escape(text[at:match.start()]), r"\fB" + match[0].replace("-", r"\-") + r"\fR"]
        at = match.end()
    line = "".join(parts + [escape(text[at:])])
    return r"\&" + line if line[:1] in (".", "'") else line


def value_text(option):
    if option["value"] is None:
        return ""
    if option["choices"]:
        value = " | ".join(r"\fB" + escape(c) + r"\fR" for c in option["choices"])
        if "[=" in option["value"]:
            value += r"[=\fIK\fR]"
    else:
        value = r"\fI" + escape(option["value"]) + r"\fR"
    return r"[=" + value + "]" if option["value_optional"] else " " + value


def names_text(option):
    return ", ".join(r"\fB" + escape(name) + r"\fR" for name in option["names"])


def sentence(text):
    return text if text.endswith((".", ":")) else text + "."


def setting_text(option, settings):
    """What is known of a setting beyond the line of help."""
    for name in option["names"]:
        setting = settings.get(name.lstrip("-"))
        if setting is not None and name.startswith("--"):
            default = setting["default"] or "empty"
            default = "" if "(default: " in option["help"] else f"; default {default}"
            return f'{setting["details"]} Variable {setting["variable"]}; {setting["range"]}{default}.'
    return ""


def option_lines(option, settings):
    lines = [".TP", names_text(option) + value_text(option)]
    text = option["help"]
    more = setting_text(option, settings) if settings else ""
    if option["several"] and "repeated" not in text and not more:
        text += " (one or more)"
    if option["default"]:
        text += f' (default: {option["default"]})'
    if option["required"] and option["names"][0].startswith("-"):
        text += "; required"
    limits = [(word, [name for name in others if name.startswith("-")])
              for word, others in (("Not with", option["excludes"]), ("Only with", option["needs"]))]
    limits = [f'{word} {", ".join(others)}.' for word, others in limits if others]
    lines.append(paragraph(sentence(text) if more or limits else text))
    if more:
        lines.append(paragraph(more.strip()))
    return lines + [paragraph(limit) for limit in limits]


def options_section(command, settings):
    lines = [".SH OPTIONS"]
    for option in command["positionals"]:
        lines += [".TP", r"\fI" + escape(option["names"][0]) + r"\fR", paragraph(option["help"])]
    groups = []
    for option in command["options"]:
        if option["group"] not in groups:
            groups.append(option["group"])
    # The plain ones first.
    groups.sort(key=lambda group: group != "Options")
    for group in groups:
        if group != "Options":
            lines.append(f".SS {escape(group)}")
        for option in command["options"]:
            if option["group"] == group:
                lines += option_lines(option, settings if group != "Options" else None)
    return lines


def synopsis(command):
    words = []
    for option in command["options"]:
        if option["required"]:
            words.append(r"\fB" + escape(option["names"][-1]) + r"\fR" + value_text(option))
    for option in command["positionals"]:
        word = r"\fI" + escape(option["names"][0]) + r"\fR" + (" ..." if option["several"] else "")
        words.append(word if option["required"] else "[" + word + "]")
    return [f'.B refrain {command["name"]}', " ".join([r"[\fIoptions\fR]"] + words)]


def sections_of(name):
    """The sections of a text, in their order: title to lines."""
    sections, title = {}, None
    with open(os.path.join(TEXTS, name + ".roff"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith(".SH "):
                title = line[4:]
                sections[title] = []
            else:
                sections[title].append(line)
    return sections


def commands_section(commands):
    lines = [".SH COMMANDS", "Each has a page of its own."]
    for command in commands:
        lines += [".TP", rf'.BR refrain\-{command["name"]} (1)', paragraph(command["help"])]
    return lines


def see_also(pages):
    refs = [rf".BR {page.replace('-', chr(92) + '-')} (1)" for page in pages]
    return [".SH SEE ALSO"] + [ref + " ," for ref in refs[:-1]] + refs[-1:]


def page_text(all_, command, settings, date):
    own = sections_of(command["name"])
    top = command is all_
    page = "refrain" if top else "refrain-" + command["name"]
    lines = [r'.\" Made by tools/packaging/pages.py from what the command parses.',
             f'.TH {page.upper()} 1 {date} "Refrain {all_["version"]}" "User Commands"',
             ".SH NAME",
             rf'{escape_name(page)} \- {own.pop("NAME")[0] if top else paragraph(command["help"])}',
             ".SH SYNOPSIS"]
    lines += own.pop("SYNOPSIS", None) or synopsis(command)
    lines += [".SH DESCRIPTION"] + own.pop("DESCRIPTION")
    if top:
        lines += commands_section(all_["commands"])
    lines += options_section(command, settings)
    for title, body in own.items():
        lines += [f".SH {title}"] + body
    if top:
        others = ["refrain-" + c["name"] for c in all_["commands"]] + ["otf2-print"]
    else:
        others = ["refrain"] + (["refrain-config"] if command["name"] == "run" else [])
    return "\n".join(lines + see_also(others)) + "\n"


def escape_name(page):
    return page.replace("-", r"\-")


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    all_ = json.load(sys.stdin)
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = {s["name"].replace("_", "-"): s for s in json.load(file)}
    newest = max(os.path.getmtime(os.path.join(TEXTS, name)) for name in os.listdir(TEXTS))
    date = sys.argv[3] if len(sys.argv) == 4 else str(datetime.date.fromtimestamp(newest))
    os.makedirs(sys.argv[2], exist_ok=True)
    for command in [all_] + all_["commands"]:
        page = "refrain" if command is all_ else "refrain-" + command["name"]
        with open(os.path.join(sys.argv[2], page + ".1"), "w", encoding="utf-8") as file:
            file.write(page_text(all_, command, settings, date))
    return 0


if __name__ == "__main__":
    sys.exit(main())
