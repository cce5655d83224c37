"""Every command has a page, with every option that its help lists; no page names an option that no command has."""

import json
import os
import re
import subprocess
import sys

REFRAIN, HERE = sys.argv[1], os.path.dirname(os.path.abspath(sys.argv[0]))
FOLDER = os.path.join(os.environ["TEST_TMPDIR"], "pages")
# Of other programs.
FOREIGN = {"--libs", "-finstrument-functions"}


def ask(*words):
    return subprocess.run([REFRAIN, *words], check=True, capture_output=True, text=True).stdout


def names_in_help(text):
    """What CLI11's own help lists: lines that begin with names of options."""
    names = []
    for line in text.splitlines():
        match = re.match(r"^  (-[\w-]+(?:,-[\w-]+)*)", line)
        if match:
            names += match[1].split(",")
    return names


def plain(page):
    """A page without fonts and escapes."""
    text = re.sub(r"\\f[BIR]|^\.[BI]R? ", "", page, flags=re.M)
    return text.replace(r"\-", "-").replace(r"\&", "").replace(r"\e", "\\")


def words_of(text):
    return " ".join(text.split())


def make_pages():
    settings = os.path.join(os.environ["TEST_TMPDIR"], "settings.json")
    with open(settings, "w", encoding="utf-8") as file:
        file.write(ask("config", "--json"))
    subprocess.run([os.path.join(HERE, "pages.py"), settings, FOLDER, "2026-01-02"],
                   input=ask("help", "--json"), text=True, check=True)
    pages = {}
    for name in os.listdir(FOLDER):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            pages[name] = file.read()
    return pages


def check_page(command, page):
    """Options as help has them, and the texts next to them; the names that were found."""
    help_text = ask("help", command)
    names = names_in_help(help_text)
    if command == "run":  # shown by `refrain config --expert` and in the manual alone
        names += ["--" + setting["name"].replace("_", "-") for setting in json.loads(ask("config", "--json")) if setting["expert"]]
    assert names, f"no options in the help of {command}"
    for name in names:
        assert re.search(rf"^\\fB.*{re.escape(name.replace('-', chr(92) + '-'))}\\fR", page, re.M), \
            f"{command}: {name} is not in its page"
    # The texts of options that stand alone in a line of help, word by word.
    told = words_of(plain(page))
    for line in help_text.splitlines():
        match = re.match(r"^ {30}(\S.*)$", line)
        if match:
            assert words_of(match[1]) in told, f"{command}: '{match[1]}' is not in its page"
    return names


def main():
    pages = make_pages()
    commands = re.findall(r"^  (\w+) ", ask("help"), re.M)
    assert "analyze" in commands and "help" in commands
    expected = {"refrain.1"} | {f"refrain-{command}.1" for command in commands}
    assert set(pages) == expected, f"pages: {sorted(set(pages) ^ expected)}"
    texts = {name[:-5] for name in os.listdir(os.path.join(HERE, "manual"))}
    assert texts == {"refrain"} | set(commands), f"texts: {texts ^ set(commands)}"
    known = {name for command in commands for name in check_page(command, pages[f"refrain-{command}.1"])}
    known |= {"--version", "--help", "-h"} | FOREIGN
    for name, page in pages.items():
        for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", plain(page)):
            assert option in known, f"{name}: no command has {option}"
    for command in commands:
        assert rf".BR refrain\-{command} (1)" in pages["refrain.1"], f"refrain.1 does not list {command}"
    # Each setting with its variable.
    for variable in re.findall(r"^(REFRAIN_\w+) = ", ask("config", "--expert"), re.M):
        assert variable == "REFRAIN_ENABLED" or variable in pages["refrain-run.1"], variable
    version = ask("--version").splitlines()[0].split()[1]
    for name, page in pages.items():
        title = page.splitlines()[1]
        assert title == f'.TH {name[:-2].upper()} 1 2026-01-02 "Refrain {version}" "User Commands"', title


main()
