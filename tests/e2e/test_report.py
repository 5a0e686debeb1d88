#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What report and export say of traces that are written for it: tests/checker/description.h has the
grammar."""
import json
import os

import duet_test
from duet_test import BUILD, DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

MAKE_TRACE = os.path.join(BUILD, "tests", "unit", "analyze", "make_trace")


def described(name, *lines):
    """The path of a trace with these lines."""
    t.wanted()
    if not os.path.exists(MAKE_TRACE):
        raise Skip("make_trace was not built")
    path = t.path(name)
    made = run([MAKE_TRACE, "-", path], stdin="\n".join(lines).encode())
    t.equal(made.status, 0, f"make_trace: {text(made.stderr)}")
    return path


def report_text(path, *options):
    result = run([DUET, "report", path, *options])
    t.equal(result.status, 0, f"status, stderr {text(result.stderr)}")
    for line in text(result.stdout).splitlines():
        t.true(len(line) <= 100, f"{len(line)} columns: {line}")
    return text(result.stdout)


def transfers(count, size, kind="write", took=1000, first=1):
    """Commands 10 us apart, each launched by a call of 2 us."""
    for i in range(first, first + count):
        begin = i * 10000
        yield f"launch {i} 1 1 {begin} {begin + 2000} {kind} bytes={size}"
        yield (f"execution 1 {i} 1 {begin + 100} {begin + 200} {begin + 3000}"
               f" {begin + 3000 + took}")


GROUND = ("device 1 gpu", "thread 1 1", "queue 1 1")
CPU = ("device 1 cpu type=cpu", "thread 1 1", "queue 1 1")

with t.case("a marker is not a barrier"):
    path = described(
        "marker.duet", *GROUND, "window 0 10000",
        "launch 1 1 1 10 20 barrier function=clEnqueueMarkerWithWaitList",
        "execution 1 1 1 11 12 30 40", "launch 2 1 1 50 60 barrier function=clEnqueueMarker",
        "execution 1 2 1 51 52 70 80",
        "launch 3 1 1 90 100 barrier function=clEnqueueBarrierWithWaitList",
        "execution 1 3 1 91 92 110 120")
    rows = {row["command"]: row["count"] for row in t.report(path)["other_commands"]}
    t.equal(rows, {"marker": 2, "barrier": 1}, "other commands")
    lines = text(run([DUET, "export", path, "--kind", "enter"]).stdout).splitlines()[1:]
    t.equal([line.split("command=")[1] for line in lines], ["marker", "marker", "barrier"],
            "export -f text")
    lines = text(run([DUET, "export", "-f", "jsonl", path, "--kind", "launch"]).stdout).splitlines()
    t.equal([row["command"] for row in map(json.loads, lines) if row["kind"] == "launch"],
            ["marker", "marker", "barrier"], "export -f jsonl")

with t.case("copies have a mean size and a rate"):
    path = described("rate.duet", *GROUND, "window 0 100000",
                     "launch 1 1 1 10 20 write bytes=3000000", "execution 1 1 1 11 12 30 10030",
                     "launch 2 1 1 50 60 write bytes=1000000", "execution 1 2 1 51 52 20000 30000")
    copy = t.report(path)["copies"][0]
    t.equal((copy["mean_bytes"], copy["bytes_per_s"]), (2e6, 2e11), "mean size and rate")
    t.true("1.9 MiB" in report_text(path), "the mean size is in the table")

with t.case("no rate where no bytes moved"):
    maps = ("window 0 100000", "launch 1 1 1 10 20 map bytes=1000000", "execution 1 1 1 11 12 30 57")
    for ground, rate in ((CPU, None), (GROUND, 1e6 / 27e-9)):
        copy = t.report(described("map.duet", *ground, *maps))["copies"][0]
        t.equal(copy["bytes"], 1000000, "bytes")
        t.true(copy["bytes_per_s"] == rate or abs(copy["bytes_per_s"] - rate) < rate / 1e6,
               f"rate {copy['bytes_per_s']}, want {rate}")
    for line in report_text(described("map.duet", *CPU, *maps)).splitlines():
        if line.startswith("  map "):
            t.true(line.rstrip().endswith("-"), f"a dash: {line}")
    nothing = described("nothing.duet", *GROUND, "window 0 100000",
                        "launch 1 1 1 10 20 migrate", "execution 1 1 1 11 12 30 57")
    t.equal(t.report(nothing)["copies"][0]["bytes_per_s"], None, "no bytes")

with t.case("no rate in no longer than the clock's error"):
    for took, has_rate in ((1, False), (900, True)):
        # clock=2 is put in place by pairs; its certificate says how well
        path = described("error.duet", "clock 2 5000", "device 1 gpu", "thread 1 1",
                         "queue 1 1 clock=2", "window 0 100000",
                         "launch 1 1 1 6000 6010 write bytes=1000",
                         f"execution 1 1 1 1011 1012 1030 {1030 + took} seen=9000")
        document = t.report(path)
        errors = [clock["error_ns"] for clock in document["clocks"]]
        t.true(1 <= max(errors) < 900, f"errors {errors}")
        t.equal(document["copies"][0]["bytes_per_s"] is not None, has_rate, f"{took} ns")

with t.case("a finding: many small transfers"):
    path = described("small.duet", *GROUND, "window 0 2000000", *transfers(149, 4096))
    found = t.report(path)["findings"]
    t.equal([row["id"] for row in found], ["small_transfers"], "findings")
    t.equal(found[0]["evidence"] if found else None,
            {"device": "gpu", "limit_bytes": 4096, "count": 149, "bytes": 149 * 4096,
             "total_ns": 149000, "calls_ns": 298000, "copies_ns": 149000}, "evidence")
    sentence = "149 transfers of at most 4.0 KiB each took 149.0 µs of 149.0 µs copy time; batch them"
    t.equal(found[0]["text"] if found else None, sentence, "text")
    t.true(f"\nFINDINGS\n  {sentence}\n" in report_text(path), "the text says so too")

with t.case("no finding where it does not matter"):
    large = tuple(transfers(20, 1 << 20, took=9000, first=1001))
    for name, lines in (
            ("few", (*GROUND, "window 0 2000000", *transfers(97, 4096))),
            ("larger", (*GROUND, "window 0 2000000", *transfers(149, 4097))),
            ("maps", (*GROUND, "window 0 2000000", *transfers(149, 64, "map"))),
            ("next to large ones", (*GROUND, "window 0 20000000", *transfers(149, 64, took=10),
                                    *large)),
            ("in a long run", (*GROUND, "window 0 1000000000", *transfers(149, 64)))):
        path = described("quiet.duet", *lines)
        t.equal(t.report(path)["findings"], [], name)
        t.true("FINDINGS" not in report_text(path), f"{name}: text")

t.end()
