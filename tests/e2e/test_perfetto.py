#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export -f perfetto: the content that a viewer shows equals the report to the nanosecond.

tests/golden/perfetto/NAME.txt describes a trace (tests/checker/description.h); NAME.expected is the output of
perfetto_trace.py for its export: one packet per line, with text ids replaced by the texts.

    python3 tests/e2e/test_perfetto.py --write    # writes the expected files; read them before a commit
"""
import collections
import glob
import os
import shutil
import subprocess

import duet_test
import perfetto_trace
from duet_test import DUET, ROOT, Skip, added_up, program, run, text

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "perfetto")
SCHEMA = os.path.join(ROOT, "proto", "perfetto_trace.proto")


def described(lines):
    return t.described("described.duet", lines)


def exported(path, *options):
    """The path of the export."""
    out = t.path("out.pftrace")
    result = run([DUET, "export", path, "-f", "perfetto", "-o", out, *options])
    t.equal(result.status, 0, f"duet export: {text(result.stderr)}")
    return out


def load(path, *options):
    t.wanted()
    return perfetto_trace.load(exported(path, *options))


def recording_of(trace):
    return [event for event in trace.instants if event.name == "recording"][0].arguments


def check_recording(trace, document):
    recording, ledger = recording_of(trace), document["ledger"]
    t.equal({key: ledger[key] for key in recording["ledger"] if key in ledger}, recording["ledger"],
            "the ledger")
    t.equal(recording["complete"], document["complete"], "complete")


def check_report(trace, document):
    """Every number that both have is the same in both."""
    t.equal(trace.calls(), {row["name"]: (row["count"], row["total_ns"]) for row in document["api"]},
            "calls: count and total_ns")
    t.equal(trace.commands("kernel"), added_up(document["kernels"], "name"), "kernels")
    t.equal(trace.commands("copy", "other"), {**added_up(document["copies"], "direction"),
                                              **added_up(document["other_commands"], "command")},
            "copies and other commands")
    drawn = [event for event in trace.slices if trace.is_lane(event)]
    joined = [event for event in drawn if "no_launch" not in event.arguments]
    t.true(len(trace.flow_ends) <= len(joined), "arrows")
    if not document["clocks"] or all(not clock["violations"] for clock in document["clocks"]):
        t.equal(len(trace.flow_ends), len(joined), "an arrow for each command that has a launch")
    for event in trace.slices:
        if "launch" in event.categories:
            t.true(bool(event.flows) != ("no_execution" in event.arguments),
                   f"launch at {event.time}: an arrow, or why there is none")
    check_recording(trace, document)
    clocks = {event.name: event.arguments for event in trace.instants
              if event.name.startswith("clock: ")}
    for clock in document["clocks"]:
        if clock["domain"] != "MONOTONIC":
            told = clocks.get(f"clock: {clock['domain']}", {})
            t.equal([told.get(key) for key in ("method", "error_ns", "violations")],
                    [clock[key] for key in ("method", "error_ns", "violations")], clock["domain"])
    for name in ("busy: commands running", *(f"{kind} bytes/s" for kind in ("read", "write", "copy"))):
        t.equal([value for value in trace.counters(name) if value], [], f"{name} at the end")


def off_cpu(trace):
    """{tid: {state: ns}} of the tracks below threads."""
    found = {}
    for event in trace.slices:
        if "off-cpu" in event.categories:
            thread = trace.tracks[trace.tracks[event.track].parent].thread
            state = event.name.split(":")[0]
            times = found.setdefault(perfetto_trace.first(thread, 2), {})
            times[state] = times.get(state, 0) + event.end - event.time
    return {tid: {state: ns for state, ns in times.items() if ns} for tid, times in found.items()}


def check_threads(trace, document):
    """Samples of each thread, and how long it was on no processor: as report --by thread."""
    samples = [sample for sample in trace.samples if sample.source != "page-faults"]
    t.equal({row["tid"]: row["samples"] for row in document["by"] if row["samples"]},
            dict(collections.Counter(sample.tid for sample in samples)), "samples")
    away = off_cpu(trace)
    for row in document["by"]:
        told = {state: row[f"{state}_ns"] for state in ("blocked", "preempted")
                if row.get(f"{state}_ns")}
        t.equal(away.get(row["tid"], {}), told, f"thread {row['tid']} was away")


def check_schema(path):
    """protoc knows every field of the file."""
    if not shutil.which("protoc"):
        raise Skip("no protoc")
    with open(path, "rb") as file:
        decoded = subprocess.run(
            ["protoc", "--decode=perfetto.protos.Trace", "-I", os.path.dirname(SCHEMA), SCHEMA],
            stdin=file, capture_output=True, timeout=120, check=False)
    t.equal(decoded.returncode, 0, f"protoc: {text(decoded.stderr)}")
    unknown = [line for line in text(decoded.stdout).splitlines() if line.lstrip()[:1].isdigit()]
    t.equal(unknown[:5], [], "fields that the schema does not have")


for description in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
    name = os.path.splitext(os.path.basename(description))[0]
    with t.case(f"golden: {name}"):
        t.wanted()
        with open(description, encoding="utf-8") as file:
            path = described(file.read())
        lines = "\n".join(perfetto_trace.load(exported(path)).lines) + "\n"
        expected = os.path.join(GOLDEN, f"{name}.expected")
        t.same_as_file(lines, expected, name)

with t.case("launches that never executed: the ledger is the report's, and no launch is both executed and in flight"):
    t.wanted()
    for name, passed in (("not_executed", 2), ("not_executed_lost", 0)):
        with open(os.path.join(ROOT, "tests", "golden", "account", f"{name}.txt"), encoding="utf-8") as file:
            path = described(file.read().split("\n---")[0])
        check_recording(load(path), t.report(path))
        reasons = [event.arguments["no_execution"] for event in load(path).slices if "no_execution" in event.arguments]
        t.equal(sorted(reason.split(":")[0] for reason in reasons),
                ["it was not executed"] * passed + ["no execution in the trace"] * (6 - passed) + ["the call failed"],
                f"{name}: why there is no arrow")
        states = [line.split(",", 1)[0] for line in text(run([DUET, "export", "-f", "csv", path]).stdout).splitlines()]
        t.equal(states.count("not_executed"), passed, f"{name}: csv")

with t.case("contradictions are the report's"):
    t.wanted()
    with open(os.path.join(ROOT, "tests", "golden", "account", "contradictions.txt"), encoding="utf-8") as file:
        path = described(file.read().split("\n---")[0])
    recording = recording_of(load(path))
    t.equal((recording["ledger"]["contradictions"], recording["complete"]), (8, False), "contradictions, complete")
    check_recording(load(path), t.report(path))

with t.case("protoc decodes every one of them"):
    t.wanted()
    for description in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
        with open(description, encoding="utf-8") as file:
            check_schema(exported(described(file.read())))

for shape, events in (("mixed", 30000), ("single", 10000), ("late", 10000), ("deep", 20000),
                      ("empty", 0)):
    with t.case(f"a generated trace, {shape}: the report's numbers"):
        t.wanted()
        path = t.generated(events, shape)
        trace, document = load(path), t.report(path)
        check_report(trace, document)
        # a clock that only causality places: its times are estimates, and say so
        has_hull = any(clock["method"] == "hull" for clock in document["clocks"])
        t.equal(any(event.arguments.get("estimated") for event in trace.slices), has_hull,
                "estimated times")

with t.case("a part of a trace is a whole file"):
    t.wanted()
    path = t.generated(10000)
    whole = load(path)
    begin = whole.instants[0].time
    # the end is between a launch and its execution, the begin between those of another
    launches = [(event.time - begin, trace_end.time - begin) for event, trace_end in
                ((whole.flow_begins[flow], whole.flow_ends[flow]) for flow in whole.flow_ends)]
    early, late = launches[len(launches) // 4], launches[len(launches) // 2]
    first, last = sum(early) // 2, sum(late) // 2
    part = load(path, "--from", f"{first}ns", "--to", f"{last}ns")
    inside = [event for event in whole.slices if first <= event.time - begin < last]
    t.true(inside, "there is something in the middle")
    t.equal(sorted((event.time, event.end, event.name) for event in part.slices),
            sorted((event.time, event.end, event.name) for event in inside), "the same slices")
    reasons = {event.arguments["no_execution"] for event in part.slices
               if "no_execution" in event.arguments}
    t.true("it is not in the exported part" in reasons, f"reasons: {reasons}")
    pid = [perfetto_trace.first(track.process, 1) for track in whole.tracks.values()
           if track.process][0]
    one = load(path, "--pid", str(pid))
    t.equal({perfetto_trace.first(track.thread, 1) for track in one.tracks.values() if track.thread},
            {pid}, "processes of threads")
    t.true(0 < len(one.slices) < len(whole.slices), "fewer slices")

with t.case("kinds"):
    t.wanted()
    path = t.generated(5000)
    whole = load(path)
    for kinds, categories in (("api", {"api", "wait"}), ("launch", {"launch", "wait"}),
                              ("execution", {"kernel", "copy", "other", "rejected"})):
        part = load(path, "--kind", kinds)
        found = {category for event in part.slices for category in event.categories}
        t.true(found and found <= categories, f"{kinds}: {found}")
        t.equal(len(part.flow_begins), 0, f"{kinds}: no arrow with one end")
    part = load(path, "--kind", "counter")
    t.equal(len(part.slices), 0, "no slices")
    for name in ("commands in flight", "busy: commands running"):
        t.equal(part.counters(name), whole.counters(name), f"{name}, last values")
    t.equal(run([DUET, "export", path, "-f", "perfetto", "--kind", "dependency"]).status, 2,
            "a kind that it does not have")

with t.case("thread activity: the report's numbers"):
    t.wanted()
    with open(os.path.join(GOLDEN, "cpu.txt"), encoding="utf-8") as file:
        path = described(file.read())
    check_threads(load(path), t.report(path, "--by", "thread"))
    path = t.path("sleeps.duet")
    recorded = t.record([program("cpu_work"), "sleeps", "300"], path,
                        ["--collect", "cpu"])
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    trace, document = load(path), t.report(path, "--by", "thread")
    check_threads(trace, document)
    check_schema(t.path("out.pftrace"))
    # the weight of all samples is the processor time that flame has
    clocks = {sample.source for sample in trace.samples} - {"page-faults"}
    t.equal(sum(sample.weight for sample in trace.samples if sample.source in clocks),
            sum(ns for _, ns in t.folded(path, "cpu")), "weights")
    names = {name for sample in trace.samples for name, _ in sample.stack or []}
    t.true("path_a" in names, f"functions: {sorted(names)}")

with t.case("thread activity: a window, one process, one kind"):
    t.wanted()
    with open(os.path.join(GOLDEN, "cpu.txt"), encoding="utf-8") as file:
        path = described(file.read())
    part = load(path, "--from", "1250ns", "--to", "1550ns")
    t.equal([(sample.time, sample.weight) for sample in part.samples],
            [(2250, 10)], "samples from 1250 to 1550")
    t.equal(off_cpu(part), {2001: {"blocked": 200}}, "slices that begin there")
    one = load(path, "--pid", "1002")
    t.equal((one.samples, off_cpu(one)), ([], {2003: {"blocked": 1000}}), "--pid 1002")
    one = load(path, "--kind", "cpu_sample")
    t.equal((len(one.samples), one.slices), (7, []), "--kind cpu_sample")
    # calls and samples are no rows here, but still tell who is back
    one = load(path, "--kind", "switch")
    t.equal((one.samples, off_cpu(one)), ([], off_cpu(load(path))), "--kind switch")
    t.equal(load(path, "--kind", "api").samples, [], "--kind api")

with t.case("a recording whose end is not known: who is away stays so up to the last moment"):
    t.wanted()
    lines = "thread 1 1\nthread 2 1\nsample 1 100 5\nswitch 1 200 blocked\nsample 2 500 5\n"
    for window, away_ns in (("window 0 900\n", 700), ("window 0 0\n", 300)):
        t.equal(off_cpu(load(described(window + lines))), {2001: {"blocked": away_ns}}, window)

with t.case("damage found during the export is reported at its start"):
    t.wanted()
    with open(t.generated(200_000, "single"), "rb") as file:
        whole = file.read()
    for part in (4, 5, 6, 7):
        damaged = bytearray(whole)
        damaged[len(whole) * part // 10 + 50] ^= 1
        path = t.path(f"damaged{part}.duet")
        with open(path, "wb") as file:
            file.write(damaged)
        trace, document = load(path), t.report(path)
        check_recording(trace, document)
        t.true(document["damage"]["chunks"] > 0, "there is damage")
        t.equal(recording_of(trace)["damaged_chunks"], document["damage"]["chunks"], f"part {part}")

with t.case("not for a terminal"):
    t.wanted()
    path = described("window 0 10\n")
    ours, theirs = os.openpty()
    result = subprocess.run([DUET, "export", path, "-f", "perfetto"], stdout=theirs,
                            stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(theirs)
    os.close(ours)
    t.equal(result.returncode, 2, "status")
    t.true("write to a file with -o" in text(result.stderr), text(result.stderr))

with t.case("a full disk and a closed pipe"):
    t.wanted()
    t.check_export_ends("perfetto")

with t.case("memory does not grow with events"):
    t.check_export_memory("perfetto", "/dev/null")

with t.case("examples/render, recorded"):
    path = t.recorded_example()
    trace, document = load(path), t.report(path)
    check_report(trace, document)
    check_schema(t.path("out.pftrace"))
    t.true(document["kernels"] and trace.commands("kernel"), "there are kernels")
    t.true({3, 1, 6} <= set(trace.snapshots[0]), f"clocks of the snapshot: {trace.snapshots[0]}")
    for event in trace.flow_ends.values():
        t.true(event.arguments["enter_to_started_ns"] >= 0, "an effect after its cause")
    pids = {perfetto_trace.first(track.process, 1) for track in trace.tracks.values()
            if track.process}
    devices = {pid for pid in pids if pid > 4194304}  # of instruction samples
    t.equal(pids - devices, {row["pid"] for row in document["processes"]}, "processes")

t.end()
