#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs, and the recorder itself, in a time namespace, where CLOCK_MONOTONIC differs from the clock of the kernel's
records.
"""
import json
import os
import shutil

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite(needs_opencl=False)
SIM = os.path.join(duet_test.BUILD, "sim")
SHIFTS = ("10000", "-100")


def need_namespaces(shift):
    t.wanted()
    if not os.path.exists(os.path.join(SIM, "sim-opencl.icd")):
        raise duet_test.Skip("the simulated driver was not built: no OpenCL headers")
    if not shutil.which("unshare") or run(["unshare", "-T", "--fork", "--monotonic", shift, "true"]).status:
        raise duet_test.Skip("this user may not make a time namespace")


def check(trace, recorded, launches, what):
    """All is there, and lies within the recording."""
    t.equal(recorded.status, 0, f"{what}: {text(recorded.stderr)}")
    document = t.report(trace)
    t.equal(document["ledger"]["launched"], launches, f"{what}: launched")
    t.equal(document["ledger"]["matched"], launches, f"{what}: matched")
    wall_ns = document["wall_ns"]
    t.true(wall_ns < 100 * 10 ** 9, f"{what}: {wall_ns} ns")
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()]
    times = {}
    for row in rows:
        for key in ("time", "enter", "exit", "started", "ended"):
            if key in row:
                times.setdefault((row["kind"], key), []).append(row[key])
    t.true(("launch", "enter") in times and ("execution", "started") in times, f"{what}: {sorted(times)}")
    late = {key: (min(found), max(found)) for key, found in times.items() if min(found) < -10 ** 9 or max(found) > wall_ns + 10 ** 9}
    t.equal(late, {}, f"{what}: outside of the recording's {wall_ns} ns")
    starts = {row["correlation"]: row["started"] for row in rows if row["kind"] == "execution"}
    early = [row for row in rows if row["kind"] == "launch" and starts.get(row["correlation"], row["enter"]) < row["enter"]]
    t.equal(early, [], f"{what}: started before its launch")


for shift in SHIFTS:
    for clock in ("monotonic", "boottime", "hull"):
        environment = {"OCL_ICD_VENDORS": SIM, "SIM_OPENCL": f"clock={clock}"}
        inside = ["unshare", "-T", "--fork", "--monotonic", shift]
        work = [program("kernel_waits"), "pipe", "30", "2"]
        with t.case(f"the program alone, {shift} s, device's clock: {clock}"):
            need_namespaces(shift)
            trace = t.path("program.duet")
            recorded = run([DUET, "record", "-o", trace, "--", *inside, *work], env=environment)
            check(trace, recorded, 31, "the program")
        with t.case(f"the recorder too, {shift} s, device's clock: {clock}"):
            need_namespaces(shift)
            trace = t.path("both.duet")
            recorded = run([*inside, DUET, "record", "-o", trace, "--", *work], env=environment)
            check(trace, recorded, 31, "both")

for shift in SHIFTS:
    with t.case(f"code made at run time, told in a dump with the program's clock, {shift} s"):
        need_namespaces(shift)
        trace, folder = t.path("made.duet"), t.path("made")
        os.makedirs(folder, exist_ok=True)
        recorded = run([DUET, "record", "--collect", "opencl", "-o", trace, "--", "unshare", "-T", "--fork", "--monotonic", shift,
                        program("jit"), "dump", "20", "2000"], env={"OCL_ICD_VENDORS": SIM}, cwd=folder)
        t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        stacks = text(run([DUET, "flame", "--folded", "--view", "launch", trace]).stdout)
        missing = [name for name in (f"made_{i}" for i in range(20)) if name not in stacks]
        t.equal(missing, [], "functions without a name")

t.end()
