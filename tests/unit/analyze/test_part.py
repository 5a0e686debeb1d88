#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that are parts of a longer recording: a segment of the agent, a file of a trigger.
tests/checker/description.h has the grammar."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402
from duet_test import DUET, run, text  # noqa: E402

t = duet_test.Suite(needs_opencl=False)
MS = 1000000
PROGRAM = ("device 1 cpu type=cpu", "process 1 101 app", "thread 1 1", "queue 1 1 process=1")
# One command is whole, two began before the file, and two have no end in it.
COMMANDS = (f"launch 1 1 1 {9 * MS} {10 * MS} kernel name=k", f"execution 1 1 1 {10 * MS} {10 * MS} {10 * MS} {20 * MS}",
            f"execution 1 8 1 {1 * MS} {1 * MS} {1 * MS} {2 * MS}", f"execution 1 9 1 {2 * MS} {2 * MS} {2 * MS} {3 * MS}",
            f"launch 2 1 1 {90 * MS} {91 * MS} kernel name=k", f"launch 3 1 1 {92 * MS} {93 * MS} kernel name=k")


def report(window, *program):
    """The first lines, the lines of warnings, the exit status, the document."""
    trace = t.described("part.duet", f"window 0 {100 * MS} {window}".strip(), *(program or PROGRAM), *COMMANDS)
    result = run([DUET, "report", trace])
    lines = text(result.stdout).splitlines()
    document = json.loads(run([DUET, "report", "--json", trace]).stdout)
    return lines, [line for line in lines if line.startswith("! ")], result.status, document


with t.case("a segment of the agent: commands continue in the next file, or began in the one before"):
    lines, warnings, status, document = report("segment=4 continues=1")
    t.equal(lines[0], "segment 4 of the agent on described; 2 commands continue in the next file, 2 began in the one before", "the line")
    t.equal([line for line in warnings if "device" not in line], [], "no warnings")
    t.equal((status, document["complete"]), (0, True), "complete")
    t.equal(document["part"], {"segment": 4, "continues": True, "in_flight_at_end": 2, "began_before": 2}, "the document")

with t.case("the last segment: nothing has exited"):
    lines, warnings, status, document = report("segment=5")
    t.true(lines[0].startswith("segment 5 of the agent on described, the last one before it ended"), lines[0])
    t.true("2 commands were still running at its end" in lines[0], lines[0])
    t.equal(([line for line in warnings if "device" not in line], status), ([], 0), "no warnings")

with t.case("a command of a process that has ended does not continue"):
    lines, _, _, document = report("segment=4 continues=1", PROGRAM[0], f"process 1 101 app end_ns={95 * MS}", *PROGRAM[2:])
    t.true("continue in the next file" not in lines[0] and "2 commands had not ended when their process did" in lines[0], lines[0])

with t.case("a file of a trigger"):
    lines, warnings, status, document = report("continues=1")
    t.equal(lines[0], "part of a longer recording: 100.0 ms; 2 commands were still running at its end, 2 began before its start", "the line")
    t.equal(([line for line in warnings if "device" not in line], status), ([], 0), "no warnings")

with t.case("a recording of its own: what is in flight at its end is missing"):
    lines, warnings, status, document = report("")
    t.true(any("INCOMPLETE" in line and "2 in flight at exit" in line for line in warnings), f"{warnings}")
    t.true(any("2 executions have no launch" in line for line in warnings), f"{warnings}")
    t.equal((status, document["complete"], "part" in document), (4, False, False), "incomplete")

t.end()
