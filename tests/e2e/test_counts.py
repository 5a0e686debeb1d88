#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Known numbers of calls, commands and bytes are recorded, and the report has exactly these numbers.

tests/programs/counts.c counts its own calls. The report must agree call by call, by kind of command and by bytes, for
every way of using OpenCL and of ending.
"""
import glob
import os

import duet_test
from duet_test import Skip, counted, program, text

t = duet_test.Suite()

BASIC = {"POCL_DEVICES": "basic"}
PTHREAD = {"POCL_DEVICES": "pthread"}
BOTH = (("pthread", PTHREAD), ("basic", BASIC))

# name, arguments, devices. PoCL 3.1 itself hangs on its basic device when several threads share a
# queue and when a user event gates a queue.
MODES = (
    ("plain", [], BOTH),
    ("profiling asked for", ["--profiling"], BOTH),
    ("_exit after the last clFinish", ["--exit=_exit"], BOTH),
    ("kill -9 after the last clFinish", ["--exit=kill9"], BOTH),
    ("exit(3)", ["--exit=exit3"], BOTH),
    ("eight threads", ["--threads", "8"], BOTH[:1]),
    ("eight threads, out of order", ["--threads", "8", "--out-of-order"], BOTH[:1]),
    ("fork before", ["--fork=before"], BOTH),
    ("fork after", ["--fork=after"], BOTH[1:]),
    ("blocking", ["--blocking"], BOTH),
    ("out of order", ["--out-of-order"], BOTH),
    ("failing enqueues", ["--fail"], BOTH),
    ("user event", ["--user-event"], BOTH[:1]),
    ("native kernels", ["--native"], BOTH),
    ("map and unmap", ["--map"], BOTH),
    ("rectangles", ["--rect"], BOTH),
    ("shared virtual memory", ["--svm"], BOTH),
    ("command buffer", ["--command-buffer"], BOTH),
    ("images", ["--image"], BOTH),
    ("copies, markers, barriers, tasks", ["--other"], BOTH),
    ("callbacks of the program", ["--callback"], BOTH),
    ("two contexts", ["--contexts", "2"], BOTH),
    ("properties", ["--check-properties"], BOTH),
    ("everything", ["--contexts", "2", "--out-of-order", "--profiling", "--fail", "--native", "--map",
                    "--rect", "--svm", "--image", "--other", "--callback"], BOTH),
)

def check_calls(document, facts):
    """Every call the program counted is in the report, with that count and those failures."""
    calls = {}
    failed = {}
    for row in document["api"]:
        calls[row["name"]] = calls.get(row["name"], 0) + row["count"]
        failed[row["name"]] = failed.get(row["name"], 0) + row["failed"]
    wrong = {name: (calls.get(name, 0), count) for name, count in facts["call"].items()
             if calls.get(name, 0) != count}
    t.equal(wrong, {}, "calls that differ (report, program)")
    wrong = {name: (failed.get(name, 0), count) for name, count in facts["failed"].items()
             if failed.get(name, 0) != count}
    t.equal(wrong, {}, "failed calls that differ (report, program)")
    known = set(facts["call"]) | set(facts["extension"])
    t.equal(sorted(name for name in calls if name not in known), [],
            "calls that the program did not make")


def check_commands(document, facts, all_matched):
    commands = facts["command"]
    if not all_matched:
        return
    kernels = sum(row["count"] for row in document["kernels"])
    t.equal(kernels, commands.get("kernel", 0), "kernels")
    rows = {}
    for row in document["copies"] + document.get("other_commands", []):
        kind = row.get("direction") or row.get("command")
        count, size = rows.get(kind, (0, 0))
        rows[kind] = (count + row["count"], size + row["bytes"])
    for kind, count in commands.items():
        if kind == "kernel":
            continue
        t.equal(rows.get(kind, (0, 0))[0], count, f"{kind} commands")
        if kind in ("read", "write", "copy", "fill"):
            t.equal(rows.get(kind, (0, 0))[1], facts["bytes"].get(kind, 0), f"{kind} bytes")
    t.equal(sorted(set(rows) - set(commands)), [], "kinds of command that the program did not use")


def check_report(output, stdout, all_matched=True):
    document = t.report(output)
    ledger = t.ledger(document)
    facts = counted(stdout)
    t.equal(ledger["launched"], facts["launched"], "launched")
    t.equal(ledger["dropped"], 0, "dropped")
    t.equal(ledger["rejected"], 0, "rejected")
    if all_matched:
        t.equal(ledger["in_flight_at_exit"], 0, "in flight at exit")
        t.equal(ledger["matched"], facts["launched"], "matched")
        t.true(document.get("complete", True), "the report calls itself complete")
    check_calls(document, facts)
    check_commands(document, facts, all_matched)
    return document


for name, arguments, devices in MODES:
    for device, environment in devices:
        with t.case(f"{name}, {device}"):
            output = t.path("mode.duet")
            plain, recorded = t.unharmed([program("counts"), *arguments], output, env=environment)
            check_report(output, recorded.stdout)

with t.case("the core is 38 commands and 101 calls of clGetPlatformIDs"):
    output = t.path("core.duet")
    recorded = t.record([program("counts")], output)
    document = check_report(output, recorded.stdout)
    t.equal(document["ledger"]["launched"], 38, "launched")
    calls = {row["name"]: row["count"] for row in document["api"]}
    t.equal(calls.get("clGetPlatformIDs"), 101, "clGetPlatformIDs")
    kernels = {row["name"]: row["count"] for row in document["kernels"]}
    t.equal(sorted(kernels), ["add", "scale"], "kernel names")
    t.equal(sum(kernels.values()), 23, "kernels")
    t.equal(len(document["queues"]), 2, "queues")
    t.equal(len(document["processes"]), 1, "processes")

with t.case("fork: two processes in the report"):
    output = t.path("fork.duet")
    recorded = t.record([program("counts"), "--fork=before"], output)
    document = check_report(output, recorded.stdout)
    t.equal(document["ledger"]["launched"], 76, "launched")
    t.true(len(document["processes"]) >= 2, "two processes are listed")

for device, environment in BOTH:
    with t.case(f"flush, sleep, _exit: nothing is lost, {device}"):
        output = t.path("sleep.duet")
        plain, recorded = t.unharmed([program("counts"), "--flush-sleep", "2"], output,
                                     env=environment)
        document = check_report(output, recorded.stdout, all_matched=False)
        print(f"# matched {document['ledger']['matched']} of 38")

    for ending in ("_exit", "kill9"):
        with t.case(f"in flight at {ending}, {device}"):
            output = t.path("in-flight.duet")
            plain, recorded = t.unharmed([program("counts"), "--in-flight", f"--exit={ending}"],
                                         output, env=environment)
            document = check_report(output, recorded.stdout, all_matched=False)
            t.equal(document["ledger"]["in_flight_at_exit"], 38, "in flight")
            t.equal(document.get("complete"), False, "the report calls itself incomplete")

with t.case("libOpenCL opened by dlopen with an absolute path"):
    libraries = [path for pattern in ("/usr/lib/*/libOpenCL.so.1", "/usr/lib*/libOpenCL.so.1")
                 for path in glob.glob(pattern)]
    if not libraries:
        raise Skip("libOpenCL.so.1 was not found")
    output = t.path("dlopen.duet")
    plain, recorded = t.unharmed([program("counts-dlopen"),
                                  f"--dlopen={os.path.realpath(libraries[0])}"], output)
    check_report(output, recorded.stdout)

with t.case("a file written over an older one"):
    output = t.path("twice.duet")
    t.record([program("counts"), "--native"], output)
    recorded = t.record([program("counts")], output)
    check_report(output, recorded.stdout)

with t.case("twenty runs in a row lose nothing"):
    output = t.path("again.duet")
    for turn in range(20):
        recorded = t.record([program("counts"), "--exit=_exit"], output)
        check_report(output, recorded.stdout)
        if t.problems:
            t.fail(f"in turn {turn}: {text(recorded.stderr)}")
            break

t.end()
