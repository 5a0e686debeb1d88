#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fails where a unit of duet lacks what its door asks for: a manual page, a reference output, a schema entry, a test.

    tools/check_doors.py DUET
    tools/check_doors.py --self-test

Prints a TAP line for each kind of unit: verbs, collectors, formats, importers, `--by` tables, metrics, findings.
What exists is asked of the program, or read from the one table that defines it, so that a new unit is seen at once.
"""
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def read_all(pattern):
    return "\n".join(read(path) for path in sorted(glob.glob(os.path.join(ROOT, pattern))))


def has_word(text, name):
    """Whether the name stands in the text as a word of its own; manual pages write an underscore as \\_."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text.replace("\\_", "_")) is not None


class Doors:
    def __init__(self, duet):
        self.duet = duet
        self.tests = read_all("tests/e2e/*.py") + read_all("tests/unit/**/*.py")
        self.pages = read_all("docs/man/*.md")

    def names(self, topic):
        return [row["name"] for row in json.loads(output(self.duet, "list", "--json", topic))[topic]]

    def verbs(self):
        named = output(self.duet, "--help").partition("verbs:\n")[2].partition("\n\n")[0]
        for verb in re.findall(r"^  (\w+) ", named, re.M):
            yield verb, "a manual page", os.path.exists(os.path.join(ROOT, "docs", "man", f"duet-{verb}.1.md"))
            yield verb, "a test", f'"{verb}"' in self.tests

    def collectors(self):
        for name in self.names("collectors"):
            yield name, "a line in a manual page", has_word(self.pages, name)
            yield name, "a test", has_word(self.tests, name)

    def formats(self):
        page = read("docs", "man", "duet-export.1.md")
        golden = os.path.join(ROOT, "tests", "golden")
        for name in self.names("formats"):
            yield name, "a line in duet-export(1)", has_word(page, name)
            places = [os.path.join(golden, "export", name), os.path.join(golden, name)]
            made = any(os.path.isdir(place) for place in places)
            # jsonl is json's rows, one a line: its test compares the two
            yield name, "reference outputs (tests/golden)", made or name == "jsonl"

    def importers(self):
        page = read("docs", "man", "duet-import.1.md")
        said = re.search(r"\nformats:\n(.*?)\n\n", output(self.duet, "import", "--help"), re.S)
        helped = re.findall(r"[\w-]+", said.group(1)) if said else []
        sources = glob.glob(os.path.join(ROOT, "src", "import", "**", "*.c"), recursive=True)
        names = [found.group(1) for path in sources
                 for found in re.finditer(r'struct importer \w+ = \{\s*\.name = "([^"]+)"', read(path))]
        yield "importers", "found in src/import", bool(names)
        for name in names:
            yield name, "its name in `duet import --help`", name in helped
            yield name, "a line in duet-import(1)", has_word(page, name)
            yield name, "a test", has_word(self.tests, name)

    def tables(self):
        page = read("docs", "man", "duet-report.1.md")
        refused = subprocess.run([self.duet, "report", "--by", "?", "/dev/null"], stderr=subprocess.PIPE, encoding="utf-8")
        names = re.findall(r"\w+", refused.stderr.partition("\n")[0].rpartition("takes ")[2].rpartition(", not")[0])
        yield "tables", "a list where --by is wrong", len(names) > 5
        for name in sorted(set(names) - {"or"}):
            yield name, "a line in duet-report(1)", has_word(page, name)
            yield name, "a test", has_word(self.tests, name)

    def metrics(self):
        made = output(os.path.join(ROOT, "tools", "write_metrics.py"), self.duet)
        yield "metrics", "duet-metrics(7) as tools/write_metrics.py writes it now", made == read("docs", "man", "duet-metrics.7.md")

    def findings(self):
        page, schema = read("docs", "design", "findings.md"), read("docs", "report.schema.json")
        names = re.findall(r"^\tKIND\(\w+, (\w+)\)", read("src", "analyze", "text", "findings.h"), re.M)
        yield "findings", "a list in analyze/text/findings.h", len(names) > 5
        for name in names:
            yield name, "a section in docs/design/findings.md", re.search(rf"^## .*\b{name}\b", page, re.M) is not None
            yield name, "an entry in docs/report.schema.json", f'"{name}"' in schema
            yield name, "a test", has_word(self.tests, name)


KINDS = ("verbs", "collectors", "formats", "importers", "tables", "metrics", "findings")


def self_test():
    checks = [("a name is a word", has_word("**json**, csv", "json") and not has_word("jsonl, json-x", "json")),
              ("escaped underscores", has_word("the *level\\_zero* one", "level_zero"))]
    for number, (what, is_good) in enumerate(checks, 1):
        print(f"{'ok' if is_good else 'not ok'} {number} - {what}")
    print(f"1..{len(checks)}")
    return 0 if all(is_good for _, is_good in checks) else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    doors, failures = Doors(sys.argv[1]), 0
    for number, kind in enumerate(KINDS, 1):
        asked = list(getattr(doors, kind)())
        missing = [f"{name}: {what}" for name, what, is_there in asked if not is_there]
        for line in missing[:20]:
            print(f"# missing: {line}")
        failures += bool(missing)
        print(f"{'not ok' if missing else 'ok'} {number} - {kind}: {len(asked)} questions")
    print(f"1..{len(KINDS)}")
    return 1 if failures else 0


sys.exit(main())
