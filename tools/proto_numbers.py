#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Numbers of a protobuf schema: the fields of its messages and the values of its enums, as a C header.

    tools/proto_numbers.py PREFIX FILE.proto HEADER
    tools/proto_numbers.py --self-test

A field of a message is PREFIX_MESSAGE_FIELD, a value of an enum PREFIX_VALUE. A nested message has its own name alone.
"""
import re
import sys

TOKEN = re.compile(r'"[^"]*"|[A-Za-z_][\w.]*|\d+|[{}\[\]=;<>,()-]')
LABELS = ("optional", "repeated", "required")


def tokens(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return TOKEN.findall(re.sub(r"//[^\n]*", "", text))


def short(name):
    return name.rsplit(".", 1)[-1]


def parse(text, facts):
    """Adds {'Message.field': (number, label, type)} and {'Enum VALUE': number} to facts. Messages are named by their path
    inside the file, enum values by the enum's own name."""
    words = tokens(text)
    path, kinds, i = [], [], 0
    while i < len(words):
        word, kind = words[i], kinds[-1] if kinds else None
        if word in ("message", "enum", "oneof", "extend") and words[i + 2:i + 3] == ["{"]:
            kinds.append(word)
            path.append(words[i + 1] if word in ("message", "enum") else None)
            i += 3
        elif word == "}":
            if kinds:
                kinds.pop()
                path.pop()
            i += 1
        elif kind == "enum" and words[i + 1:i + 2] == ["="] and words[i + 2].isdigit():
            facts[path[-1] + " " + word] = int(words[i + 2])
            i += 3
        elif kind and kind != "enum" and word != "option":
            label = word if word in LABELS else "optional"
            i += word in LABELS
            if words[i + 2:i + 3] == ["="] and words[i + 3].isdigit():
                facts[".".join([p for p in path if p]) + "." + words[i + 1]] = (int(words[i + 3]), label, short(words[i]))
                i += 4
            else:
                i += 1
        else:
            i += 1
    return facts


def upper(name):
    """TracePacket -> TRACE_PACKET"""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).upper()


def numbers(prefix, facts):
    """{name in C: number}"""
    found = {}
    for name, fact in facts.items():
        if " " in name:
            constant, number = name.split(" ")[1], fact
        else:
            message, field = name.rsplit(".", 1)
            constant, number = f"{upper(short(message))}_{field.upper()}", fact[0]
        constant = f"{prefix}_{constant}"
        if found.setdefault(constant, number) != number:
            raise ValueError(f"{constant} is {found[constant]} and {number}")
    return found


def header(prefix, facts):
    lines = [f"\t{name} = {number}," for name, number in numbers(prefix, facts).items()]
    return "\n".join(["/* Made by tools/proto_numbers.py. */", f"#ifndef {prefix}_NUMBERS_H", f"#define {prefix}_NUMBERS_H", "",
                      "enum {", *lines, "};", "", "#endif", ""])


def self_test():
    facts = parse("""syntax = "proto3"; message A { option x = 1; repeated int32 plain_field = 1; int64 bare = 2;
                     message InnerOne { optional a.B c = 3; } oneof o { string d = 4; } reserved 7 to 8; }
                     enum E { E_ZERO = 0; /* F = 9; */ E_ONE = 1; } // G = 3;""", {})
    checks = [
        ("a field with a label", facts.get("A.plain_field") == (1, "repeated", "int32")),
        ("a field without one", facts.get("A.bare") == (2, "optional", "int64")),
        ("a nested message", facts.get("A.InnerOne.c") == (3, "optional", "B")),
        ("one of several", facts.get("A.d") == (4, "optional", "string")),
        ("values of an enum", facts.get("E E_ZERO") == 0 and facts.get("E E_ONE") == 1),
        ("nothing else", len(facts) == 6),
        ("names in C", numbers("P", facts).get("P_INNER_ONE_C") == 3 and numbers("P", facts).get("P_E_ONE") == 1),
    ]
    for number, (what, is_ok) in enumerate(checks, 1):
        print(f"{'ok' if is_ok else 'not ok'} {number} - {what}")
    print(f"1..{len(checks)}")
    return 0 if all(is_ok for _, is_ok in checks) else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    prefix, source, target = arguments
    with open(source, encoding="utf-8") as file:
        facts = parse(file.read(), {})
    with open(target, "w", encoding="ascii") as file:
        file.write(header(prefix, facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
