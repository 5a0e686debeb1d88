#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is proto/perfetto_trace.proto still a part of Perfetto's own schema, and are the numbers of
src/export/perfetto_schema.h those of the schema?

    tools/check_perfetto_schema.py              # the header against our schema
    tools/check_perfetto_schema.py CHECKOUT     # … and our schema against a checkout of Perfetto

CHECKOUT is a work tree or a bare repository. Every message, field and enum value of ours must be
there with the same number, label and type. Not part of `make check` with a CHECKOUT: it needs one.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = os.path.join(ROOT, "proto", "perfetto_trace.proto")
HEADER = os.path.join(ROOT, "src", "export", "perfetto_schema.h")

FOLDERS = ("protos/perfetto/common", "protos/perfetto/trace")
TOKEN = re.compile(r'"[^"]*"|[A-Za-z_][\w.]*|\d+|[{}\[\]=;<>,()-]')
LABELS = ("optional", "repeated", "required")


def tokens(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return TOKEN.findall(re.sub(r"//[^\n]*", "", text))


def short(name):
    return name.rsplit(".", 1)[-1]


def parse(text, facts):
    """Adds {'Message.field': (number, label, type)} and {'Enum VALUE': number} to facts. Messages are
    named by their path inside the file, enum values by the enum's own name."""
    words = tokens(text)
    path, kinds, i = [], [], 0
    while i < len(words):
        word = words[i]
        if word in ("message", "enum", "oneof", "extend") and i + 2 < len(words) and words[i + 2] == "{":
            kinds.append(word)
            path.append(words[i + 1] if word in ("message", "enum") else None)
            i += 3
        elif word == "}":
            if kinds:
                kinds.pop()
                path.pop()
            i += 1
        elif word in LABELS and kinds and words[i + 3:i + 4] == ["="]:
            facts[".".join([p for p in path if p]) + "." + words[i + 2]] = (
                int(words[i + 4]), word, short(words[i + 1]))
            i += 5
        elif kinds and kinds[-1] == "oneof" and words[i + 2:i + 3] == ["="]:
            facts[".".join([p for p in path if p]) + "." + words[i + 1]] = (
                int(words[i + 3]), "optional", short(word))
            i += 4
        elif kinds and kinds[-1] == "enum" and words[i + 1:i + 2] == ["="] and words[i + 2].isdigit():
            facts[path[-1] + " " + word] = int(words[i + 2])
            i += 3
        else:
            i += 1
    return facts


def git(checkout, *arguments):
    result = subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, check=True)
    return result.stdout.decode("utf-8", "replace")


def schema_of(checkout):
    facts = {}
    names = git(checkout, "ls-tree", "-r", "--name-only", "HEAD", *(f"{f}/" for f in FOLDERS))
    for name in names.split():
        if name.endswith(".proto") and not name.endswith("perfetto_trace.proto"):
            parse(git(checkout, "show", f"HEAD:{name}"), facts)
    return facts


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def upper(name):
    """TracePacket -> TRACE_PACKET"""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).upper()


def check_header(ours):
    """Each PF_… of the header is a field or an enum value of the schema, with its number."""
    numbers = {}
    for name, fact in ours.items():
        if " " in name:
            numbers["PF_" + name.split(" ")[1]] = fact
        else:
            message, field = name.rsplit(".", 1)
            numbers[f"PF_{upper(short(message))}_{field.upper()}"] = fact[0]
    problems, count = [], 0
    for name, number in re.findall(r"\b(PF_\w+)\s*=\s*(\d+)", read(HEADER)):
        count += 1
        if numbers.get(name) != int(number):
            problems.append(f"{name} is {number} in the header, {numbers.get(name)} in the schema")
    return count, problems


def check_schema(ours, theirs):
    return [f"{name}: ours {fact}, theirs {theirs.get(name)}" for name, fact in ours.items()
            if theirs.get(name) != fact]


def main():
    ours = parse(read(OURS), {})
    count, problems = check_header(ours)
    print(f"{count} numbers of {os.path.basename(HEADER)}: {len(problems)} wrong")
    if len(sys.argv) > 1:
        wrong = check_schema(ours, schema_of(sys.argv[1]))
        print(f"{len(ours)} fields and values of {os.path.basename(OURS)}: {len(wrong)} differ")
        problems += wrong
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main())
