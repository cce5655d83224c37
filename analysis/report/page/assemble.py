#!/usr/bin/env python3
"""Puts style and script into the page: assemble.py PAGE STYLE SCRIPT OUT.

The result is one file that asks for nothing; the command puts data where it says refrain:data."""

import re
import sys


def main():
    page, style, script, out = sys.argv[1:]
    with open(page, encoding="utf-8") as f:
        text = f.read()
    with open(style, encoding="utf-8") as f:
        css = f.read().strip()
    with open(script, encoding="utf-8") as f:
        js = f.read().strip()
    if re.search(r"</script|<!--", js, re.IGNORECASE):
        sys.exit("assemble.py: the script has text that would end it in a page")
    if re.search(r"</style|@import|url\(\s*[\"']?(?!data:)", css, re.IGNORECASE):
        sys.exit("assemble.py: the style would end early, or ask for a file")
    for mark, content in (("/* refrain:style */", css), ("/* refrain:script */", js)):
        if text.count(mark) != 1:
            sys.exit(f"assemble.py: the page has not exactly one {mark}")
        text = text.replace(mark, content)
    if len(re.findall(r"^<!-- refrain:data -->$", text, re.MULTILINE)) != 1 or text.count("refrain:data") != 1:
        sys.exit("assemble.py: the page has not exactly one place for data")
    with open(out, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
