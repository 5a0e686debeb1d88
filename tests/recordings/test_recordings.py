#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other tools' recordings of real GPUs, imported: every number equals that of a reader that shares no code with duet.

DUET_RECORDINGS names the folder of the recordings; README.md here says what is compared. A format that this build does
not import is skipped. The lines of facts.jsonl are the reader's, and this test computes them anew.
"""
import collections
import functools
import gc
import json
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

import duet_test  # noqa: E402
from duet_test import DUET, Skip, run, text  # noqa: E402

import duet_facts  # noqa: E402
import read  # noqa: E402

FOLDER = os.environ.get("DUET_RECORDINGS")
PEAK_KIB = 64 * 1024

# A new process has its parent's peak until it executes its program, and this one's is large. So a small one measures.
MEASURE = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@functools.cache
def formats():
    """Names of the formats that this build imports."""
    listed = run([DUET, "import", "--format", "no-such-format", "/dev/null"])
    return re.search(r"formats are: (.*)", text(listed.stderr)).group(1).split(", ")


def imported(t, form, paths, output):
    """Imports the files, and lets duet recognize their format if it can; fails if that takes too much memory."""
    choice = [] if "auto" in formats() else ["--format", form]
    result = run([sys.executable, "-S", "-c", MEASURE, DUET, "import", *choice, "-o", output, *paths])
    if "one FILE at a time" in text(result.stderr):
        raise Skip("this build imports one file at a time")
    if result.status:
        raise AssertionError(f"duet import: status {result.status}: {text(result.stderr)}")
    peak = int(text(result.stdout).split()[-1])
    t.true(peak <= PEAK_KIB, f"the import's peak is {peak} KiB")
    source = next(row["reason"] for row in document_of("report", "--json", output)["collectors"])
    t.true(source.startswith(f"from {form} "), f"the format is {form}, not {source[:40]}")


def document_of(*command):
    result = run([DUET, *command])
    if result.status not in (0, 4):
        raise AssertionError(f"duet {command[0]}: status {result.status}: {text(result.stderr)}")
    return json.loads(result.stdout)


@functools.cache
def accepted():
    """Rows of known.txt: expressions of a name and of what differs, and the reason."""
    with open(os.path.join(HERE, "known.txt"), encoding="ascii") as file:
        return [tuple(line.rstrip().split("\t")) for line in file if not line.startswith("#")]


def compare(t, line, path):
    """The rows and the report of a trace against the line of the reader."""
    got = duet_facts.facts_of(document_of("export", "-f", "json", path), document_of("report", "--json", path))
    check(t, line.get("name", line.get("job")), duet_facts.compare(got, duet_facts.wanted(line)))


def compare_arrivals(t, line, path):
    """Who came last, as the report says."""
    got = duet_facts.arrivals_of(document_of("report", "--json", "--by", "rank", path))
    check(t, line["job"], duet_facts.differences(got, duet_facts.wanted_arrivals(line["arrivals"], got)))


def check(t, name, differences):
    """Fails for each difference that is not in known.txt."""
    known = collections.Counter()
    for where, found, wanted in differences:
        reason = next((why for file, what, why in accepted()
                       if re.search(file, name) and re.fullmatch(what, where)), None)
        if reason:
            known[reason] += 1
        else:
            t.equal(found, wanted, f"{name}: {where}")
    for reason, count in known.items():
        print(f"# accepted: {name}: {count} differences: {reason}")


def check_file(t, known, line, path):
    """One file: the committed line, and the trace that duet makes of it."""
    with t.case(f"{line['file']}: {line['name']}"):
        t.wanted()
        t.equal(line, known.get((line["file"], line["name"])), "the committed facts")
        if line["format"] not in formats():
            raise Skip(f"this build does not import {line['format']}")
        output = t.path("imported.duet")
        imported(t, line["format"], [path], output)
        compare(t, line, output)


def check_job(t, known, line, members):
    """Several files in one trace have the facts of all of them, and the collectives of all ranks."""
    with t.case(f"{line['job']}: {len(line['names'])} files"):
        t.wanted()
        t.equal(line, known.get(line["job"]), "the committed facts")
        form = members[0][0]["format"]
        if form not in formats():
            raise Skip(f"this build does not import {form}")
        output = t.path("imported.duet")
        imported(t, form, [os.path.join(folder, member["name"]) for member, folder in members], output)
        if "kernels" in line:
            compare(t, line, output)
        else:
            compare(t, {"name": line["job"], **together([member for member, _ in members])}, output)
            compare_arrivals(t, line, output)


ADDED = ("kernels", "fills", "other", "joined", "without_call", "violations", "ranges", "samples", "switches")
SPANS = (("begin_ns", "end_ns"), ("first_ns", "last_ns"))


def together(members):
    """The facts of several files that have no device and no call in common. The idle time of each device is longer,
    because the recording is."""
    whole = {key: add(member[key] for member in members) for key in ADDED}
    for first, last in SPANS:
        whole[first] = min(member[first] for member in members)
        whole[last] = max(member[last] for member in members)
    for key in ("copies", "calls", "overheads"):
        names = {name for member in members for name in member[key]}
        whole[key] = {name: add(member[key][name] for member in members if name in member[key]) for name in names}
    whole["devices"] = {}
    for number, member in enumerate(members):
        for key, device in member["devices"].items():
            idle = dict(device["idle"])
            idle["before_first"] += member["begin_ns"] - whole["begin_ns"]
            idle["after_last"] += whole["end_ns"] - member["end_ns"]
            whole["devices"][number, key] = {**device, "idle": idle}
    return whole


def add(values):
    values = list(values)
    return sum(values) if isinstance(values[0], int) else [sum(column) for column in zip(*values)]


def main():
    t = duet_test.Suite(needs_opencl=False)
    if not FOLDER:
        print("1..0 # SKIP DUET_RECORDINGS does not name a folder of recordings")
        sys.exit(0)
    gc.disable()  # rows are many and small, and none of them form cycles
    known = {line.get("job") or (line["file"], line["name"]): line for line in map(json.loads, read.committed_lines())}
    jobs, members, seen = read.Jobs(), {}, 0
    for path, name, data in read.contents_of(FOLDER):
        recording = read.read(name, data)
        line = json.loads(json.dumps(read.line_of_file(path, name, data, recording)))
        folder = tempfile.mkdtemp(dir=t.folder)  # its own, because duet reads tables beside a CSV, too
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        check_file(t, known, line, os.path.join(folder, name))
        jobs.add(path, name, data, recording)
        if read.job_of(path):
            members.setdefault(read.job_of(path), []).append((line, folder))
        else:
            shutil.rmtree(folder)
        seen += 1
    for line in jobs.lines():
        check_job(t, known, json.loads(json.dumps(line)), members[line["job"]])
        seen += 1
    with t.case("every committed line is of a recording in the folder"):
        t.equal(seen, len(known), "number of lines")
    t.end()


main()
