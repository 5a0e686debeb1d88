#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time that duet's guest spends inside the program is measured and reported separately: in the device account, in HOST
TIME and in the JSON. The simulated driver spins for a known time in each query of an event, and in no call of the
program.
"""
import glob
import json
import os

import duet_test
from duet_test import DUET, Skip, program, run, text

DRIVER = os.environ.get("SIM_OPENCL_FOLDER") or os.path.join(duet_test.BUILD, "sim")
if not glob.glob(os.path.join(DRIVER, "*.icd")):
    print("1..0 # SKIP the simulated driver was not built: no OpenCL headers")
    raise SystemExit(0)
os.environ["OCL_ICD_VENDORS"] = DRIVER

t = duet_test.Suite()
QUERY_NS = 1000000
ROUNDS = 20
STAMPS = 4  # that the guest asks of a command
output = t.path("own.duet")
document = None

with t.case("queries after each read are duet's own time, not the program's"):
    recorded = t.record([program("sim_extensions"), "rounds", str(ROUNDS)], output, ("--collect", "opencl"),
                        env={"SIM_OPENCL": f"query_ns={QUERY_NS}"})
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    document = t.readable(output)
    t.equal(document["ledger"]["matched"], 2 * ROUNDS, "matched")
    own = document["cost"]["duet_itself"]
    harvest = [row for row in own["sections"] if row["name"] == "[duet: harvest]"]
    t.equal(len(harvest), 1, f"{own}")
    least = ROUNDS * STAMPS * QUERY_NS
    t.true(harvest and harvest[0]["count"] >= ROUNDS and harvest[0]["total_ns"] >= least, f"{harvest}, at least {least} ns")
    # the device idles while the guest asks about a read, until the next kernel is launched
    idle = document["devices"][0]["idle_causes"]["duet_itself"]
    sections = sum(row["total_ns"] for row in own["sections"])
    t.true((ROUNDS - 1) * STAMPS * QUERY_NS <= idle <= sections, f"idle because of duet: {idle} of {sections} ns")
    t.true(not any(row["name"].startswith("[duet") for row in document["api"]), "sections are no calls of the program")

with t.case("the account of that trace, by brute force"):
    if document is None:
        raise Skip("nothing was recorded")
    checker = os.path.join(duet_test.ROOT, "tests", "checker", "check_account.py")
    result = run(["python3", checker, "--duet", DUET, output])
    t.equal((result.status, text(result.stdout)), (0, ""), "differences")

with t.case("text report, flame graph and exports have it"):
    if document is None:
        raise Skip("nothing was recorded")
    said = text(run([DUET, "report", output]).stdout)
    t.true("  duet itself " in said and "HOST TIME OF DUET ITSELF" in said and "[duet: harvest]" in said, said)
    drawn = sum(ns for frames, ns in t.folded(output, "idle") if any("duet itself" in frame for frame in frames))
    t.equal(drawn, document["devices"][0]["idle_causes"]["duet_itself"], "ns in the flame graph")
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", output]).stdout).splitlines()]
    lengths = sum(row["end"] - row["begin"] for row in rows if row["kind"] == "api" and row["type"] == 2)
    t.equal(lengths, sum(row["total_ns"] for row in document["cost"]["duet_itself"]["sections"]), "ns of rows")
    exported = json.loads(run([DUET, "export", "-f", "json", "-o", "/dev/stdout", output]).stdout)
    t.equal(exported["account"][0]["idle_causes"]["duet_itself"], document["devices"][0]["idle_causes"]["duet_itself"], "json")

with t.case("the cost of recording a call is estimated from a sample"):
    long = t.path("long.duet")
    recorded = t.record([program("sim_extensions"), "burst", "5000"], long, ("--collect", "opencl"), env={"SIM_OPENCL": "kernel_us=0"})
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    own = t.report(long)["cost"]["duet_itself"]
    # one record in 256, of 5000 launches, as many executions and releases; one that is interrupted is left out
    t.true(4 <= own["timed_calls"] <= own["calls"] // 40, f"{own}")
    t.true(own["timed_calls"] * 5 <= own["timed_ns"] and own["calls_ns"] > 0, f"{own}")

t.end()
