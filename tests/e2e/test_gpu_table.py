#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/device/table/gpu_table.py, which measures on a GPU, run over simulated libraries: it ends normally whatever is
missing, reports the missing part, and detects kernels that were not counted.
"""
import contextlib
import io
import json
import os
import sys
import types

import duet_test
from duet_test import DUET, ROOT, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
PROGRAM = os.path.join(duet_test.BUILD, "examples", "cuda_steps")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")) or not os.path.exists(PROGRAM):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)

sys.path.insert(0, os.path.join(ROOT, "tests", "device", "table"))
sys.dont_write_bytecode = True
import gpu_table  # noqa: E402

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
    for name in ("plain", "tracing", "tracing + stacks", "tracing + stacks + PC samples", "PM sampling, 1 kHz"):
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

def printed(costs, kernels=(100, 100), failed=()):
    """Whether a table of a GPU with these costs is good, and what is printed of it."""
    rows = [{"name": name, "simulated": False, **{workload: {"seconds": 1, "cost": cost, "least": cost, "most": cost}
                                                  for workload in gpu_table.WORKLOADS}} for name, cost in costs.items()]
    table = types.SimpleNamespace(
        has_torch=True, want=types.SimpleNamespace(simulated=None), steps={}, failed=list(failed), rows=lambda: iter(rows),
        counts={(workload, name): [{"kernels": count, "kernel_ns": count, "lost": 0}] for workload in gpu_table.WORKLOADS
                for name, count in zip(("tracing + stacks", "torch.profiler"), kernels) if count is not None})
    table.agreements = lambda: gpu_table.Table.agreements(table)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        good = gpu_table.print_table(table)
    return good, said.getvalue()


with t.case("targets that are missed, and comparisons that are not had, are failures on a GPU"):
    costs = {"plain": 0.0, "idle": 0.001, "tracing + stacks": 0.02, "torch.profiler": 0.1}
    good, said = printed(costs)
    t.true(good and said.count(": met") == 3 and "MISSED" not in said, said)
    for name, cost, words in (("idle", 0.006, "target 0.5 %: MISSED"), ("tracing + stacks", 0.031, "target 3.0 %: MISSED"),
                              ("torch.profiler", 0.02, "target less than torch.profiler: MISSED")):
        good, said = printed({**costs, name: cost})
        t.true(not good and words in said, f"{name}: {said}")
    for kernels, words in (((100, None), "NOT COMPARED"), ((100, 0), "DO NOT AGREE"), ((0, 100), "DO NOT AGREE")):
        good, said = printed(costs, kernels)
        t.true(not good and words in said, f"{kernels}: {said}")

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
    t.true({"duet", "cuda_steps", "libduet-nvidia.so"} <= set(names), f"{names}")
    said = run([os.path.join(folder, "duet"), "--version"], env={"LD_LIBRARY_PATH": folder})
    t.equal(said.status, 0, text(said.stderr))

t.end()
