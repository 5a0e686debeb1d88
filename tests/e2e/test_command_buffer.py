#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""OpenCL command buffers on PoCL, where the event of a buffer is that of a marker after its commands: the device's time
is then reported as not measured, not as idle.
"""
import json

import duet_test
from duet_test import DUET, Skip, program, run, text

t = duet_test.Suite()


def recorded(name, *options):
    """The program's own measurement, the report's document and its text."""
    t.wanted()
    trace = t.path(name + ".duet")
    result = t.record([program("command_buffer")], trace, options)
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    own = json.loads(result.stdout)
    if not own["has"]:
        raise Skip("this platform has no command buffers")
    shown = run([DUET, "report", trace])
    t.equal(shown.status, 0, f"status of the report: {text(shown.stdout)[:500]}")
    return own["buffer_ns"], t.readable(trace), text(shown.stdout)


def check(buffer_ns, document, shown):
    t.equal([(row["command"], row["count"], row["timed"]) for row in document["other_commands"]], [("graph", 1, 0)],
            "the buffer has no device times")
    ledger = document["ledger"]
    t.equal([ledger[name] for name in ("launched", "executed", "matched", "untimed", "contradictions")],
            [3, 3, 3, 1, 0], "ledger")
    t.equal(document["complete"], True, "complete")
    device = document["devices"][0]
    # from the launch to the completion, which the program's own clocks are around
    t.true(device["idle_causes"]["unknown"] * 2 > buffer_ns, f"unknown: {device['idle_causes']}, the buffer took {buffer_ns}")
    t.equal(device["busy_ns"], sum(row["share_ns"] for row in document["kernels"]), "busy with the two kernels alone")
    t.true("! device time not measured: 1 command buffer or graph; " in shown, "the report says so")


with t.case("the time of a command buffer is unknown, and no sample contradicts the account"):
    check(*recorded("buffer"))

with t.case("without samples"):
    check(*recorded("alone", "--collect", "opencl"))

t.end()
