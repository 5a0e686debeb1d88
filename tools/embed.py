#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Turns a text file into a C file with `const char NAME[]` and `const size_t NAME_size`.

    tools/embed.py [--header ROOM/FILE.h] [--xml | --bytes] NAME INPUT OUTPUT
    tools/embed.py --self-test

--bytes: any file, as it is, into `const unsigned char NAME[]`.

Without a change of meaning, indentation, empty lines and lines that are only a // comment are left
out; so the input must not have text that goes over several lines. --xml refuses what would end a
CDATA section or a script element. ASCII only: everything else is written as escapes by its author.
"""
import argparse
import sys

COLUMNS = 96


def compact(text):
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def literal(text):
    """C string literals, one a line."""
    lines, current = [], ""
    for character in text:
        piece = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "?": "\\?"}.get(character,
                                                                                character)
        current += piece
        if len(current) >= COLUMNS:
            lines.append(current)
            current = ""
    lines.append(current)
    return "\n".join(f'\t"{line}"' for line in lines)


def complaint(text, is_xml):
    """What is wrong with the input, or None."""
    if not text.isascii() or any(ord(c) < 32 and c not in "\n\t" for c in text):
        return "a byte that is not printable ASCII"
    if "`" in text:
        return "a template literal, which may go over several lines"
    if is_xml and ("]]>" in text or "</script" in text.lower()):
        return "']]>' or '</script', which would end it early"
    return None


def embed(name, text, header):
    include = f'#include "{header}"' if header else "#include <stddef.h>"
    return (f"/* Made by tools/embed.py. */\n{include}\n\nconst char {name}[] =\n"
            f"{literal(compact(text))};\nconst size_t {name}_size = sizeof({name}) - 1;\n")


def embed_bytes(name, data, header):
    # a literal: compilers take four times as long for a list of numbers
    lines = ('"' + "".join(f"\\{byte:03o}" for byte in data[i:i + 24]) + '"' for i in range(0, len(data), 24))
    body = "\n\t".join(lines)
    # an instruction of the kernel's machine is read as a word of 8 bytes
    return (f'/* Made by tools/embed.py. */\n#include "{header}"\n\n'
            f"const unsigned char {name}[{len(data)}] __attribute__((aligned(8))) =\n\t{body};\n"
            f"const size_t {name}_size = sizeof({name});\n")


def self_test():
    checks = [
        ("comments and blanks go", compact("// a\n\n\tb; // c\n  d\n") == "b; // c\nd\n"),
        ("quotes and backslashes", literal('"\\\n?') == '\t"\\"\\\\\\n\\?"'),
        ("end of CDATA", complaint("a[b[0]]>1", True) is not None),
        ("end of script", complaint("'</SCRIPT'", True) is not None),
        ("not XML", complaint("a[b[0]]>1", False) is None),
        ("not ASCII", complaint("\u00b5", False) is not None),
        ("template", complaint("`", False) is not None),
        ("bytes", '[3] __attribute__((aligned(8))) =\n\t"\\000\\012\\377";' in embed_bytes("NAME", b"\0\n\xff", "x.h")),
        ("size", "NAME_size = sizeof(NAME) - 1;" in embed("NAME", "x", None)),
    ]
    for number, (what, is_ok) in enumerate(checks, 1):
        print(f"{'ok' if is_ok else 'not ok'} {number} - {what}")
    print(f"1..{len(checks)}")
    return 0 if all(is_ok for _, is_ok in checks) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--header")
    parser.add_argument("--xml", action="store_true")
    parser.add_argument("--bytes", action="store_true")
    parser.add_argument("arguments", nargs="*", metavar="NAME INPUT OUTPUT")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if len(options.arguments) != 3:
        parser.error("NAME, INPUT and OUTPUT are needed")
    name, source, target = options.arguments
    if options.bytes:
        with open(source, "rb") as file, open(target, "w", encoding="ascii") as output:
            output.write(embed_bytes(name, file.read(), options.header))
        return 0
    with open(source, encoding="utf-8") as file:
        text = file.read()
    problem = complaint(text, options.xml)
    if problem:
        print(f"embed: {source}: {problem}", file=sys.stderr)
        return 1
    with open(target, "w", encoding="ascii") as file:
        file.write(embed(name, text, options.header))
    return 0


if __name__ == "__main__":
    sys.exit(main())
