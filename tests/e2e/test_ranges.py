#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranges that programs name with roctx, NVTX and ITT: counts, names, domains, and the commands launched in them. The
program is not affected.
"""
import collections
import csv
import json
import os
import subprocess
import sqlite3

import duet_test
import perfetto_trace
import view_file
from duet_test import BUILD, DUET, Running, program, run, text

t = duet_test.Suite(needs_opencl=False)
GUEST = os.path.join(BUILD, "libduet-ranges.so")
SIM = os.path.join(BUILD, "sim", "roctx")
VARIABLES = ("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "LD_PRELOAD")


def record(name, *command, options=(), env=None):
    """(trace, result) of a program with its ranges alone."""
    t.wanted()
    trace = t.path(name + ".duet")
    return trace, run([DUET, "record", "--collect", "ranges", *options, "-o", trace, "--", *command], env=env)


def rows_of(trace):
    exported = run([DUET, "export", "-f", "jsonl", "--kind", "range", trace])
    t.equal(exported.status, 0, f"export: {text(exported.stderr)}")
    return [row for row in map(json.loads, exported.stdout.splitlines()) if row["kind"] == "range"]


def counts(rows, *keys):
    return dict(collections.Counter(tuple(row[key] for key in keys) for row in rows))


def by_name(trace):
    return {row["name"]: row for row in t.report(trace)["ranges"]}


COUNTED = {("step", "push_pop"): 18, ("inner", "push_pop"): 21, ("mark", "mark"): 21, ("moved", "start_stop"): 5,
           ("left open", "push_pop"): 1, ("left started", "start_stop"): 1}

with t.case("roctx: every range, and the library still has every call"):
    t.wanted()
    alone = run([program("ranges_roctx")])
    trace, recorded = record("roctx", program("ranges_roctx"))
    t.equal((recorded.status, recorded.stdout, recorded.stderr), (0, alone.stdout, b""), "the program")
    rows = rows_of(trace)
    t.equal(counts(rows, "name", "type"), COUNTED, "ranges")
    t.equal({row["domain"] for row in rows}, {"roctx"}, "domains")
    t.equal({row["name"] for row in rows if row.get("open")}, {"left open", "left started"}, "open at the end")
    t.equal(len({row["thread"] for row in rows}), 2, "threads")
    moved = [row for row in rows if row["name"] == "moved"]
    t.true(all(row["end"] > row["begin"] for row in moved), "stopped by another thread")
    t.true(all(row["begin"] >= 0 and row["end"] >= row["begin"] for row in rows), "times")
    t.equal(t.report(trace)["losses"], [], "nothing is lost")

with t.case("the report: a tree, with its sums"):
    t.wanted()
    trace, _ = record("tree", program("ranges_roctx"))
    ranges, rows = by_name(trace), rows_of(trace)
    for name, row in ranges.items():
        own = [item["end"] - item["begin"] for item in rows if item["name"] == name]
        t.equal(row["count"], len(own), f"{name}: count")
        if row["type"] != "mark":
            t.equal((row["total_ns"], row["min_ns"], row["max_ns"]), (sum(own), min(own), max(own)), f"{name}: times")
    t.equal(ranges["inner"]["path"], ["step", "inner"], "what is around")
    t.equal(ranges["mark"]["path"], ["step", "inner", "mark"], "of a mark")
    t.equal(ranges["step"]["self_ns"], ranges["step"]["total_ns"] - ranges["inner"]["total_ns"], "self")
    by = t.report(trace, "--by", "range", "--top", "2")
    t.equal((by["grouped_by"], len(by["by"])), ("range", 2), "--by, --top")
    t.equal([row["total_ns"] for row in by["by"]], sorted((row["total_ns"] for row in ranges.values() if "total_ns" in row),
                                                          reverse=True)[:2], "the longest")
    said = text(run([DUET, "report", "--by", "range", trace]).stdout)
    t.true("RANGES" in said and "  roctx: step " in said and "    inner " in said and "      mark (mark)" in said, said)
    t.true("2 ranges without an end" in said and "no OpenCL call" not in said, said)

with t.case("NVTX: domains, registered and wide names, as the header has them"):
    t.wanted()
    alone = run([program("ranges_nvtx")])
    for name in ("ranges_nvtx", "ranges_nvtx_sim"):
        trace, recorded = record(name, program(name))
        t.equal((recorded.status, recorded.stdout, recorded.stderr), (0, alone.stdout, b""), f"{name}: the program")
        t.equal(counts(rows_of(trace), "domain", "name", "type"),
                {("NVTX", "epoch", "push_pop"): 13, ("trainer", "batch", "push_pop"): 13,
                 ("NVTX", "größe ☃", "push_pop"): 13, ("NVTX", "begun", "start_stop"): 1,
                 ("trainer", "loaded", "start_stop"): 2, ("NVTX", "marked", "mark"): 1,
                 ("trainer", "loaded", "mark"): 1}, name)
        paths = {tuple(row["path"]) for row in t.report(trace)["ranges"] if row["type"] == "push_pop"}
        t.equal(paths, {("epoch",), ("epoch", "batch"), ("epoch", "batch", "größe ☃")}, f"{name}: across domains")

with t.case("NVTX: categories, colours and payloads, as the program gave them"):
    t.wanted()
    for name in ("ranges_nvtx", "ranges_nvtx_sim"):
        trace, recorded = record(name, program(name), "attributes")
        t.equal(recorded.status, 0, f"{name}: the program")
        rows = [row for row in rows_of(trace) if row["name"] == "attributes"]
        t.equal([(row["domain"], row["type"], row.get("category"), row.get("colour"), row.get("payload")) for row in rows],
                [("NVTX", "push_pop", "loader", 0xff76b900, "18446744073709551615"),
                 ("NVTX", "push_pop", "5", 0xff76b900, "-0.125"), ("trainer", "mark", "five", None, "-7"),
                 ("trainer", "start_stop", None, None, "1.5")], name)
        others = [row for row in rows_of(trace) if row["name"] != "attributes"]
        t.true(others and not any(row.get("category") or row.get("colour") or row.get("payload") for row in others), "others")

with t.case("categories, colours and payloads: every format and the page"):
    trace = t.described("attributes.duet", "window 0 100", "thread 1 1",
                        "range 1 10 20 epoch domain=NVTX category=loader colour=0xff76b900 payload=42",
                        "range 1 30 30 here domain=NVTX type=mark payload=%7b%22a%22:1%7d", "range 1 40 50 plain domain=NVTX")
    outputs = {}
    for name in ("text", "csv", "chrome", "perfetto", "sqlite", "jsonl"):
        outputs[name] = t.path(f"attributes.{name}")
        kinds = ("--kind", "range") if name == "csv" else ()
        t.equal(run([DUET, "export", "-f", name, *kinds, "-o", outputs[name], trace]).status, 0, name)
    with open(outputs["text"], encoding="utf-8") as file:
        details = [line.rstrip("\n").split("\t")[5] for line in file if "range_begin" in line or "mark" in line]
    t.equal(details, ["type=push_pop category=loader colour=#ff76b900 payload=42", 'type=mark payload={"a":1}', "type=push_pop"], "text")
    with open(outputs["csv"], encoding="utf-8") as file:
        t.equal([(row["category"], row["colour"], row["payload"]) for row in csv.DictReader(file)],
                [("loader", "4285970688", "42"), ("", "", '{"a":1}'), ("", "", "")], "csv")
    wanted = [{"domain": "NVTX", "category": "loader", "colour": "#ff76b900", "payload": "42"},
              {"domain": "NVTX", "payload": '{"a":1}'}, {"domain": "NVTX"}]
    with open(outputs["chrome"], encoding="utf-8") as file:
        t.equal([row["args"] for row in json.load(file)["traceEvents"] if row.get("cat") == "user_annotation"], wanted, "chrome")
    drawn = perfetto_trace.load(outputs["perfetto"])
    t.equal([event.arguments for event in sorted([*drawn.slices, *drawn.instants], key=lambda event: event.time)
             if "range" in event.categories], wanted, "perfetto")
    with sqlite3.connect(outputs["sqlite"]) as database:
        t.equal(database.execute("SELECT category, colour, payload FROM ranges ORDER BY begin_ns").fetchall(),
                [("loader", 0xff76b900, "42"), ("", None, '{"a":1}'), ("", None, "")], "sqlite")
    page = t.path("attributes.html")
    t.equal(run([DUET, "view", "-o", page, trace]).status, 0, "view")
    view = view_file.read(page)
    names = [view.head["names"][item["extra"]] for track in view.of_kind("ranges") for item in track.items()]
    t.equal(names, ["NVTX\x1floader\x1f#76b900\x1f42", 'NVTX\x1f\x1f\x1f{"a":1}', "NVTX"], "page")

with t.case("ITT: tasks, overlapping ones, frames, markers; not what the program switched off"):
    t.wanted()
    trace, recorded = record("itt", program("ranges_itt"))
    t.equal((recorded.status, recorded.stdout, recorded.stderr), (0, b"done\n", b""), "the program")
    t.equal(counts(rows_of(trace), "domain", "name", "type"),
            {("solver", "outer", "push_pop"): 17, ("solver", "nested", "push_pop"): 17,
             ("solver", "outer", "start_stop"): 5, ("solver", "frame", "start_stop"): 3,
             ("solver", "nested", "mark"): 2}, "ranges")

with t.case("Python that names ranges by ctypes"):
    t.wanted()
    script = "\n".join((
        "import ctypes", "ctypes.CDLL('libroctx64.so.4', mode=ctypes.RTLD_GLOBAL)", "lib = ctypes.CDLL(None)",
        "for i in range(11):", "    print(lib.roctxRangePushA(b'turn %d' % (i % 2)))",
        "    lib.roctxMarkA(b'within')", "    print(lib.roctxRangePop())"))
    trace, recorded = record("python", "/usr/bin/python3", "-c", script, env={"LD_LIBRARY_PATH": SIM})
    t.equal((recorded.status, recorded.stdout), (0, b"0\n0\n" * 11), f"the program: {text(recorded.stderr)}")
    t.equal(counts(rows_of(trace), "name", "type"),
            {("turn 0", "push_pop"): 6, ("turn 1", "push_pop"): 5, ("within", "mark"): 11}, "ranges")

with t.case("commands launched within ranges"):
    t.wanted()
    if not os.path.exists("/usr/include/CL/cl.h"):
        raise duet_test.Skip("no OpenCL here")
    trace = t.path("launches.duet")
    recorded = run([DUET, "record", "--collect", "opencl,ranges", "-o", trace, "--", program("ranges_opencl")])
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    report, ranges = t.report(trace), by_name(trace)
    t.equal({name: row["launches"] for name, row in ranges.items()}, {"step": 75, "inner": 45, "started": 21}, "launches")
    t.equal(len(report["processes"]), 1, "two guests, one process")
    t.equal(sum(row["count"] for row in report["kernels"]), 34, "kernels")
    lines = run([DUET, "export", "-f", "jsonl", "--kind", "launch,execution", trace]).stdout.splitlines()
    items = [json.loads(line) for line in lines]
    took = {row["correlation"]: row["ended"] - row["started"] for row in items if row["kind"] == "execution"}
    steps = [row for row in rows_of(trace) if row["name"] == "step"]
    within = sum(took[row["correlation"]] for row in items if row["kind"] == "launch" and
                 any(step["begin"] <= row["enter"] < step["end"] for step in steps))
    t.equal(ranges["step"]["device_ns"], within, "device time")

with t.case("every format has them"):
    t.wanted()
    trace, _ = record("formats", program("ranges_roctx"))
    rows = rows_of(trace)

    def exported(name, *options):
        path = t.path("formats." + name)
        t.equal(run([DUET, "export", "-f", name, *options, "-o", path, trace]).status, 0, name)
        return path

    with open(exported("json"), encoding="utf-8") as file:
        t.equal(counts(json.load(file)["ranges"], "name", "type"), COUNTED, "json")
    with open(exported("csv", "--kind", "range"), encoding="utf-8") as file:
        t.equal(len(file.readlines()), 1 + len(rows), "csv")
    with sqlite3.connect(exported("sqlite")) as database:
        found = database.execute("SELECT name, type, count(*) FROM ranges GROUP BY 1, 2").fetchall()
    t.equal({(name, kind): count for name, kind, count in found}, COUNTED, "sqlite")
    with open(exported("chrome"), encoding="utf-8") as file:
        events = [row for row in json.load(file)["traceEvents"] if row.get("cat") == "user_annotation"]
    t.equal(dict(collections.Counter(row["ph"] for row in events)), {"X": 40, "i": 21, "b": 6, "e": 6}, "chrome")
    with open(exported("text"), encoding="utf-8") as file:
        kinds = collections.Counter(line.split("\t")[3] for line in file if not line.startswith("#"))
    t.equal({kind: kinds[kind] for kind in ("range_begin", "range_end", "mark")},
            {"range_begin": 46, "range_end": 46, "mark": 21}, "text")
    reader = run(["babeltrace2", exported("ctf")]) if os.path.exists("/usr/bin/babeltrace2") else None
    if reader:
        t.equal([text(reader.stdout).count(f"duet:{name}") for name in ("range_begin", "range_end", "mark")], [46, 46, 21],
                "ctf")
    drawn = perfetto_trace.load(exported("perfetto"))
    t.equal((dict(collections.Counter(event.name for event in drawn.slices if "range" in event.categories)),
             sum(event.name == "mark" for event in drawn.instants)),
            ({"step": 18, "inner": 21, "moved": 5, "left open": 1, "left started": 1}, 21), "perfetto")

with t.case("a track of each thread in the view"):
    t.wanted()
    trace, _ = record("view", program("ranges_roctx"))
    page = t.path("view.html")
    t.equal(run([DUET, "view", "-o", page, trace]).status, 0, "view")
    view = view_file.read(page)
    tracks = view.of_kind("ranges")
    t.equal(len(tracks), 2, "tracks")
    found = collections.Counter(view.head["names"][item["what"]] for track in tracks for item in track.items())
    t.equal(dict(found), dict(collections.Counter(row["name"] for row in rows_of(trace))), "items")
    t.equal({view.head["names"][item["extra"]] for track in tracks for item in track.items()}, {"roctx"}, "domains")

with t.case("a program that is killed, or forks, or was there before the recorder"):
    t.wanted()
    trace, recorded = record("kill", program("ranges_roctx"), "kill")
    t.equal(recorded.status, 137, "killed")
    t.equal([(row["name"], row.get("open", False)) for row in rows_of(trace)], [("step", True), ("last words", False)],
            "what it had open")
    trace, recorded = record("fork", program("ranges_roctx"), "fork")
    rows = rows_of(trace)
    t.equal(counts(rows, "name"), {("parent",): 1, ("child",): 1}, "of both processes")
    t.equal(len({row["process"] for row in rows}), 2, "processes")
    waiting = Running([program("ranges_roctx"), "wait"], env={"LD_PRELOAD": GUEST}, stdin=subprocess.PIPE)
    waiting.wait_line("ready")
    trace = t.path("attached.duet")
    recorded = run([DUET, "record", "--collect", "ranges", "-d", "3", "-o", trace, "-p", str(waiting.pid)])
    t.equal((recorded.status, recorded.stderr), (0, b""), "record -p")
    waiting.say("enough")
    t.equal(waiting.finish().status, 0, "the program goes on")
    rows = rows_of(trace)
    unbegun = [row for row in rows if row.get("unbegun")]
    t.true(unbegun and len(rows) > 50 * len(unbegun), f"{len(rows)} rows, {len(unbegun)} unbegun")
    t.equal(counts(rows, "name", "type"), {("after", "mark"): len(rows) - len(unbegun),
                                           ("[not seen to begin]", "push_pop"): len(unbegun)}, "after it came")
    report = t.report(trace)
    t.equal(report["ledger"]["ranges_unbegun"], len(unbegun), "the report counts them")
    t.equal([row["name"] for row in report["ranges"]], ["after"], "in no row")

with t.case("events that do not fit into the ring are counted"):
    t.wanted()
    trace, recorded = record("push", program("ranges_roctx"), "push", "100000", "3")
    report, rows = t.report(trace), rows_of(trace)
    lost = sum(row["count"] for row in report["losses"] if row["kind"] == "range")
    whole = [row for row in rows if not row.get("open") and not row.get("unbegun")]
    # a begin and an end are a record each
    halves = 2 * len(whole) + len(rows) - len(whole)
    t.equal(halves + lost, 600_000, f"{len(rows)} rows, {lost} records lost")

with t.case("values set by the user are kept and reported"):
    t.wanted()
    trace, recorded = record("kept", "/usr/bin/env", options=["-v"],
                             env={"NVTX_INJECTION64_PATH": "/nowhere/tool.so", "INTEL_LIBITTNOTIFY64": "/nowhere/other.so"})
    seen = dict(line.split("=", 1) for line in text(recorded.stdout).splitlines() if "=" in line)
    t.equal((seen["NVTX_INJECTION64_PATH"], seen["INTEL_LIBITTNOTIFY64"]), ("/nowhere/tool.so", "/nowhere/other.so"), "kept")
    for name, what in (("NVTX_INJECTION64_PATH", "NVTX"), ("INTEL_LIBITTNOTIFY64", "ITT")):
        t.true(f"{name} is set to /nowhere/" in text(recorded.stderr) and f"ranges of {what} are not recorded" in
               text(recorded.stderr), f"{what}: {text(recorded.stderr)}")
    t.true("ranges: partial" in text(run([DUET, "report", trace]).stdout), "the report says so")

with t.case("nothing is preloaded without roctx"):
    t.wanted()
    if any(map(os.path.exists, ("/dev/kfd", "/opt/rocm"))):
        raise duet_test.Skip("ROCm is installed here")
    # meson names the folders of what it has built there
    none = {"LD_LIBRARY_PATH": ""}
    for options, env, is_there in (((), none, False), ((), {"LD_LIBRARY_PATH": SIM}, True),
                                   (("--collect", "ranges:roctx"), none, True), (("--collect", "-ranges,cpu"), none, False)):
        recorded = run([DUET, "record", *options, "-o", t.path("env.duet"), "--", "/usr/bin/env"], env=env)
        seen = dict(line.split("=", 1) for line in text(recorded.stdout).splitlines() if "=" in line)
        t.equal(seen.get("LD_PRELOAD"), GUEST if is_there else None, f"{options} {env}")
        t.equal(seen.get("NVTX_INJECTION64_PATH"), None if "-ranges,cpu" in options else GUEST, f"{options}: NVTX")

t.end()
