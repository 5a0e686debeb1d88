#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/device/table/gpu_table.py, which measures on a GPU, over the stand-ins: it ends well whatever is missing, says what,
and finds kernels that were not counted."""
import json
import os
import sys

import duet_test
from duet_test import DUET, ROOT, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
PROGRAM = os.path.join(duet_test.BUILD, "examples", "cuda_steps")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")) or not os.path.exists(PROGRAM):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)
SCRIPT = os.path.join(ROOT, "tests", "device", "table", "gpu_table.py")


def table(*options, **environment):
    t.wanted()
    path = t.path("table.json")
    result = run([sys.executable, SCRIPT, "--duet", DUET, "--program", PROGRAM, "--simulated", STAND_INS, "--seconds", "0.05",
                  "--rounds", "1", "--json", path, *options], env={"PYTHONDONTWRITEBYTECODE": "1", **environment})
    with open(path, encoding="utf-8") as file:
        return result, json.load(file)


with t.case("each row is there or says why not, marked as simulated, and kernels are counted alike"):
    result, document = table()
    t.equal(result.status, 0, text(result.stdout) + text(result.stderr))
    rows = {row["name"]: row for row in document["rows"]}
    for name in ("plain", "tracing", "tracing + stacks", "tracing + stacks, PC windows", "PM sampling, 1 kHz"):
        t.true(rows[name]["step"]["seconds"] > 0 and rows[name]["eager"]["seconds"] > 0, f"{name}: {rows[name]}")
    t.true("no torch" in rows["torch.profiler"]["why"], f"{rows['torch.profiler']}")
    t.true(all(row["simulated"] for row in rows.values()), "marked")
    t.equal([(one["workload"], one["count_off"], one["lost"]) for one in document["agreements"]],
            [("step", 0, 0), ("eager", 0, 0)], "kernels")
    t.true(all(abs(one["time_off"]) < 0.001 for one in document["agreements"]), f"their time: {document['agreements']}")

with t.case("kernels that were lost are found"):
    result, document = table(TABLE_SIM="drop_every=10")
    t.equal(result.status, 1, "status")
    t.true("DO NOT AGREE" in text(result.stdout), text(result.stdout))

with t.case("a driver that does not work, and time that is over"):
    result, document = table(TABLE_SIM="fail_cuInit=999")
    t.true(result.status == 1 and "FAILED training step: plain" in text(result.stdout), text(result.stdout))
    result, document = table("--budget", "0.5")
    t.true("s are left: the rest" in text(result.stdout), text(result.stdout))
    t.equal(run([sys.executable, SCRIPT, "--duet", "/nonexistent/duet"]).status, 2, "no duet")

with t.case("a folder for another machine has all that duet needs"):
    t.wanted()
    folder = t.path("packed")
    result = run([sys.executable, SCRIPT, "--pack", folder, "--duet", DUET, "--program", PROGRAM])
    t.equal(result.status, 0, text(result.stderr))
    names = os.listdir(folder)
    t.true({"duet", "cuda_steps", "libduet-cuda.so"} <= set(names), f"{names}")
    said = run([os.path.join(folder, "duet"), "--version"], env={"LD_LIBRARY_PATH": folder})
    t.equal(said.status, 0, text(said.stderr))

t.end()
