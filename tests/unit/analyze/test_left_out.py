#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Launches that --max-overhead left out, and firings of triggers, in traces whose times are written down.
tests/checker/description.h has the grammar."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402
from duet_test import DUET, run, text  # noqa: E402

t = duet_test.Suite(needs_opencl=False)
MS = 1000000

# No recorded launch from 30 to 40 ms. The second kernel was launched before that time and runs until 55 ms, and the third
# one is launched at 60 ms. In between the queue may run commands of that time.
FIRST = ("window 0 100000000", "device 1 cpu type=cpu", "process 1 101 app", "thread 1 1", "queue 1 1 process=1",
         "frame 1 python handle file=/srv/app.py line=7", "stack 1 1",
         f"switch 1 {MS} preempted", f"switch 1 {2 * MS} in", f"switch 1 {21 * MS} blocked stack=1",
         f"switch 1 {28 * MS} in", f"switch 1 {41 * MS} blocked stack=1", f"switch 1 {59 * MS} in",
         f"launch 1 1 1 {9 * MS} {10 * MS} kernel name=k", f"execution 1 1 1 {10 * MS} {10 * MS} {10 * MS} {20 * MS}")
LAST = (f"launch 3 1 1 {60 * MS} {61 * MS} kernel name=k", f"execution 1 3 1 {61 * MS} {61 * MS} {61 * MS} {80 * MS}")
LEFT_OUT = (f"launch 2 1 1 {28 * MS} {29 * MS} kernel name=k", f"execution 1 2 1 {29 * MS} {29 * MS} {50 * MS} {55 * MS}",
            f"loss launch 5 time={30 * MS} end={40 * MS} limit=1", f"instruction 1 {35 * MS} k 16",
            f"instruction 1 {58 * MS} k 16")


def account(*lines):
    """The causes of idle time in ms, and the number of contradictions."""
    document = t.report(t.described("left_out.duet", *FIRST, *LEFT_OUT, *lines, *LAST))
    return ({cause: ns / MS for cause, ns in document["devices"][0]["idle_causes"].items() if ns},
            document["ledger"]["contradictions"])


with t.case("idle time is unknown until the next command starts"):
    causes, contradictions = account()
    t.equal(causes["unknown"], 26, f"30 to 50 and 55 to 61 ms: {causes}")
    t.equal(contradictions, 0, "the sample at 58 ms may be in a launch that was left out")

with t.case("or until a wait for the whole queue returns"):
    causes, contradictions = account(f"call 1 {42 * MS} {56 * MS} wait clFinish queue=1")
    t.equal(causes["unknown"], 25, f"30 to 50 ms, and the gap from 55 to 60 ms with its part until 56 ms: {causes}")
    t.equal(contradictions, 1, "the sample at 58 ms contradicts the account")

with t.case("a wait that began before the end of that time proves nothing"):
    causes, contradictions = account(f"call 1 {38 * MS} {56 * MS} wait clFinish queue=1")
    t.equal((causes["unknown"], contradictions), (26, 0), f"unknown time, contradictions: {causes}")

with t.case("the report begins with the newest firing, and the causes in it"):
    path = t.described("trigger.duet", *FIRST, *LAST,
                       f"trigger 1 {5 * MS} {8 * MS} idle%20>%201ms the%20first",
                       f"trigger 2 {20 * MS} {61 * MS} idle%20>%2020ms idle%20for%2041%20ms")
    lines = text(run([DUET, "report", path]).stdout).splitlines()
    at = lines.index("TRIGGER")
    t.true("'idle > 20ms': idle for 41 ms, from 20.00 ms after the start" in lines[at + 1], lines[at + 1])
    t.true("was busy 0.0 % of that time" in lines[at + 2], lines[at + 2])
    t.true("handle (app.py:7)" in lines[at + 3], lines[at + 3])
    t.true("--from 0.019 --to 0.062" in " ".join(lines[at:at + 8]), "the command for that time")
    t.true(lines.index("TRIGGER") < next(i for i, line in enumerate(lines) if "of the steady part" in line), "it comes first")
    document = t.report(path)
    t.equal([(row["expression"], row["end_ns"]) for row in document["triggers"]],
            [("idle > 1ms", 8 * MS), ("idle > 20ms", 61 * MS)], "in JSON")
    lines = text(run([DUET, "report", "--from", "0.01", path]).stdout).splitlines()
    t.true("TRIGGER" not in lines, "not for a part of the file")

t.end()
