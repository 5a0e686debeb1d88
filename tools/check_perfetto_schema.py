#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is proto/perfetto_trace.proto still a part of Perfetto's own schema?

    tools/check_perfetto_schema.py CHECKOUT

CHECKOUT is a work tree or a bare repository of Perfetto. Every message, field and enum value of ours must be there with the
same number, label and type. Not part of `make check`, because it needs a checkout.
"""
import os
import subprocess
import sys

from proto_numbers import parse

OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto", "perfetto_trace.proto")
FOLDERS = ("protos/perfetto/common", "protos/perfetto/trace")


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


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    with open(OURS, encoding="utf-8") as file:
        ours = parse(file.read(), {})
    theirs = schema_of(arguments[0])
    problems = [f"{name}: ours {fact}, theirs {theirs.get(name)}" for name, fact in ours.items() if theirs.get(name) != fact]
    print(f"{len(ours)} fields and values of {os.path.basename(OURS)}: {len(problems)} differ", *problems, sep="\n  ")
    return 1 if problems or not ours else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
