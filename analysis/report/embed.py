#!/usr/bin/env python3
"""embed.py FILE: writes C++ to stdout with the file's bytes as refrain::report::page_text()."""
import sys


def literal(piece: bytes) -> str:
    out = []
    for byte in piece:
        char = chr(byte)
        # Octal: always three digits, so that what follows is not read as part of it. No trigraphs.
        plain = 32 <= byte < 127 and char not in '"\\?'
        out.append(char if plain else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    step = 4096
    print('#include <string_view>\n\nnamespace refrain::report {\nnamespace {\n')
    print("constexpr char kPage[] =")
    for at in range(0, max(1, len(data)), step):
        print("    " + literal(data[at : at + step]))
    print(";\n\n}  // namespace\n")
    print("std::string_view page_text() { return {kPage, sizeof kPage - 1}; }\n")
    print("}  // namespace refrain::report")


if __name__ == "__main__":
    main()
