#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet report and duet export on described traces (grammar: tests/checker/description.h)."""
import contextlib
import json
import re
import sqlite3

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

described = t.described


def report_text(path, *options):
    result = run([DUET, "report", path, *options])
    t.equal(result.status, 0, f"status, stderr {text(result.stderr)}")
    for line in text(result.stdout).splitlines():
        t.true(len(line) <= 100 or line.startswith("! "), f"{len(line)} columns: {line}")
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
    sentence = "149 transfers up to 4.0 KiB: 149.0 µs of 149.0 µs copy time, 298.0 µs in their calls; batch them"
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

EXPORTED = (*GROUND, "window 0 2000", "call 1 0 5 call clFinish", "launch 1 1 1 10 20 kernel name=k",
            "execution 1 1 1 11 12 30 40")


def export(*options):
    """(status, lines without the heading, stderr)"""
    result = run([DUET, "export", described("export.duet", *EXPORTED), *options])
    lines = text(result.stdout).splitlines()
    return result.status, [line for line in lines if line[0] != "#"], text(result.stderr)


with t.case("a thread of another process is not called own"):
    path = described("own.duet", "window 0 10000", "device 1 gpu", "process 1 100 a", "process 2 200 b",
                     "thread 1 1 name=main", "thread 2 1 name=helper", "thread 3 2 name=far", "queue 1 1", "sample 1 0 1",
                     "launch 1 1 1 1 2 kernel name=k", "execution 1 1 1 2 3 4 50",
                     "switch 1 100 preempted wait=a%20(process%20100) holder=2", "switch 1 1200 in",
                     "switch 1 1300 preempted wait=b%20(process%20200) holder=3", "switch 1 3400 in",
                     "launch 2 1 1 5000 5010 kernel name=k", "execution 1 2 1 5010 5011 5020 9000")
    lines = [re.sub(r" {2,}[^%]*%", "", line.strip()) for line in report_text(path).splitlines()
             if re.match(r" +[ab] \(process", line)]
    t.equal(lines, ["b (process 200)", "a (process 100)  own thread 2002 (helper)"], report_text(path))

with t.case("losses of unknown size have no number"):
    lines = ["window 0 1000000", "thread 1 1", "call 1 10 20 call f"]
    one = described("uncounted.duet", *lines, "loss instruction_sample 0 time=5", "loss instruction_sample 0 time=6")
    some = described("more.duet", *lines, "loss instruction_sample 7 time=5", "loss instruction_sample 0 time=6")
    said, more = " ".join(report_text(one).split()), " ".join(report_text(some).split())
    t.true("lost: rows of kind instruction_sample (ring_full) 2 times without a count; the recorder was too slow; leave it a processor" in said, said)
    t.true("lost: 7 rows of kind instruction_sample (ring_full) and 1 time without a count; the recorder was too slow; leave it a processor" in more, more)
    document = t.report(one)
    t.equal(document["losses"], [{"kind": "instruction_sample", "reason": "ring_full", "uncounted": 2}], "report --json")
    t.equal((document["ledger"]["samples_lost"], document["ledger"]["samples_lost_uncounted"]), (0, 2), "ledger")
    document = t.report(some)
    t.equal(document["losses"], [{"kind": "instruction_sample", "reason": "ring_full", "count": 7, "uncounted": 1}], "both")

    def exported(form, *options):
        return text(run([DUET, "export", "-f", form, *options, some]).stdout)

    rows = [row for row in map(json.loads, exported("jsonl").splitlines()) if row["kind"] == "loss"]
    t.equal([row.get("count") for row in rows], [7, None], "jsonl")
    t.equal([row.get("count") for row in json.loads(exported("json"))["losses"]], [7, None], "json")
    t.equal([line.rsplit(",", 1)[1] for line in exported("csv", "--kind", "loss").splitlines()[1:]], ["7", ""], "csv")
    t.true("count=7 reason" in exported("text") and "count=? reason" in exported("text"), exported("text"))
    run([DUET, "export", "-f", "sqlite", "-o", t.path("lost.db"), some])
    with contextlib.closing(sqlite3.connect(t.path("lost.db"))) as database:
        t.equal(database.execute("SELECT count FROM losses ORDER BY begin_ns").fetchall(), [(7,), (None,)], "sqlite")
    drawn = [event["args"].get("count") for event in json.loads(exported("chrome"))["traceEvents"] if event.get("cat") == "loss"]
    t.equal(drawn, [7, None], "chrome")
    for path, what in ((some, "more than 7 rows lost"), (one, "an unknown number of rows lost")):
        run([DUET, "flame", "-o", t.path("lost.svg"), path])
        with open(t.path("lost.svg"), encoding="utf-8") as file:
            t.true(what in file.read(), what)

with t.case("export: an unknown process"):
    for form in ("text", "jsonl"):
        for pid in ("7", "0"):
            status, lines, stderr = export("-f", form, "--pid", pid)
            t.equal((status, lines), (2, []), f"{form}: status and output")
            t.true(f"no process {pid} in " in stderr and "\n  1001  program" in stderr, stderr)
    t.equal(len(export("--pid", "1001")[1]), 8, "lines of the one that is there")

with t.case("export: a part that is not in the recording"):
    for form in ("text", "jsonl"):
        status, lines, stderr = export("-f", form, "--from", "2us")
        t.equal((status, lines), (1, []), f"{form}: status and output")
        t.true("--from 2.000 µs is not inside the recording, which is 2.000 µs long" in stderr, stderr)
    t.equal(export("--from", "3us", "--to", "2us")[0], 2, "--to before --from")

with t.case("export: filters without a match"):
    for options in (["--from", "1us"], ["--to", "0"], ["--kind", "loss"],
                    ["--pid", "1001", "--kind", "api", "--from", "6ns"]):
        for form in ("text", "jsonl"):
            status, lines, stderr = export("-f", form, *options)
            t.equal(status, 0, f"{options}: status")
            t.true("nothing in the trace matches the filters" in stderr, f"{options}: {stderr}")
            t.true("  1001  program" in stderr and "2.000 µs long" in stderr, f"what there is: {stderr}")
            t.equal([line for line in lines if form == "text" or '"launch"' in line], [], "output")
    status, lines, stderr = export("--from", "15ns")
    t.equal((status, stderr, len(lines)), (0, "", 3), "what matches is silent")

with t.case("export: -o takes a file"):
    for name in ("-", ""):
        status, lines, stderr = export("-o", name)
        t.equal((status, lines), (2, []), f"-o '{name}': status and output")
        t.true("-o takes the name of a file" in stderr, stderr)

with t.case("export: kinds are those of the format"):
    for form, word in (("jsonl", "started"), ("jsonl", "begin"), ("text", "kernel"), ("text", "")):
        status, lines, stderr = export("-f", form, "--kind", word)
        t.equal((status, lines), (2, []), f"{form} {word}: status and output")
        t.true(f"format {form} has no kind '{word}'; it has: api" in stderr, stderr)
    t.equal(len(export("--kind", "started,begin")[1]), 2, "kinds of text")

t.end()
