#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruction samples of kernels on a CPU device: attribution to launches, printed rows, and unchanged sums."""
import math
import os
import re
import shutil

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite()
CACHE = t.path("cache")


def record(name, *arguments, env=None):
    """A trace of kernels in a cache that is gone when it is read."""
    os.makedirs(CACHE, exist_ok=True)
    trace = t.path(name + ".duet")
    recorded = run([DUET, "record", "--collect", "opencl,cpu", "-o", trace, "--",
                    program("kernel_lines"), *arguments], env={"POCL_CACHE_DIR": CACHE, **(env or {})})
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    shutil.rmtree(CACHE)
    return trace


def by_kernel(report):
    found = {}
    for row in report["instructions"]:
        found[row["kernel"]] = found.get(row["kernel"], 0) + row["samples"]
    return found


trace = report = None

with t.case("samples are divided among kernels in proportion to their run times"):
    t.wanted()
    trace = record("plain", "1500")
    report = t.report(trace)
    ledger = report["ledger"]
    total = {row["name"]: row["total_ns"] for row in report["kernels"]}
    found = by_kernel(report)
    t.equal(sum(found.values()), ledger["samples"], "samples in the list")
    t.true(ledger["samples"] <= ledger["cpu_samples"], "each is a thread's sample too")
    t.equal(ledger["samples_lost"], 0, "lost")
    t.equal(ledger["samples_estimated"], 0, "one command runs at a time")
    # a command's stamps are taken a moment before its first and behind its last instruction
    t.true(ledger["samples_unknown"] <= 2 + 0.01 * ledger["samples"], f"unknown: {ledger}")
    share = total["sums"] / sum(total.values())
    spread = 5 * math.sqrt(ledger["samples"] * share * (1 - share))
    t.true(abs(found["sums"] - share * ledger["samples"]) < spread + 0.02 * ledger["samples"],
           f"{found} samples, {total} ns")
    # a thread's samples have as much time; the cache is gone, so its code may have no names
    inside = sum(ns for frames, ns in t.folded(trace, "cpu") if "start_thread" in frames[1:2])
    t.true(ledger["samples"] > 0.5 * inside * 199 / 1e9, f"{ledger['samples']} samples, {inside} ns in threads")

with t.case("the text of sampled instructions"):
    t.wanted()
    if report is None:
        raise duet_test.Skip("nothing was recorded")
    rows = report["instructions"]
    t.true(all(row["text"] and len(row["code_object"]) == 32 for row in rows), "each has its bytes")
    known = sum(row["samples"] for row in rows if re.search(r"sums|roots", row.get("function", "")))
    t.true(known > 0.9 * report["ledger"]["samples"], "functions are known without the cache")
    said = text(run([DUET, "report", "--by", "instruction", "--top", "3", trace]).stdout)
    t.true("INSTRUCTIONS" in said and "KERNELS" not in said, said[:500])
    top = rows[0]
    t.true(re.search(rf"{top['kernel']} 0x[0-9a-f]+ .* {top['samples']} ", said), said[:900])
    t.true(re.search(r"… \d+ more instructions?", said), "the rest is counted")
    listed = t.report(trace, "--by", "instruction", "--top", "2")
    t.equal(len(listed["by"]), 2, "--top")
    t.equal([row["count"] for row in listed["by"]], [row["samples"] for row in rows[:2]], "the same rows")
    t.true(listed["by"][0]["key"].startswith(top["kernel"] + " 0x"), listed["by"][0]["key"])

with t.case("kernels that PoCL does not keep in its cache have their text too"):
    t.wanted()
    uncached = t.report(record("uncached", "1000", env={"POCL_KERNEL_CACHE": "0"}))["instructions"]
    t.true(uncached and all(row["text"] and len(row["code_object"]) == 32 for row in uncached), f"{len(uncached)} rows")

with t.case("a flame graph from the code to the instruction has the device's time"):
    t.wanted()
    if report is None:
        raise duet_test.Skip("nothing was recorded")
    rows = t.folded(trace, "gpu")
    device = report["devices"][0]
    t.equal(sum(ns for _, ns in rows), device["busy_ns"], "the sum")
    for name in ("sums", "roots"):
        own = [(frames, ns) for frames, ns in rows if name + "_[G]" in frames]
        t.true(own and all("run_" + name in frames for frames, _ in own), f"{name}: who launched it")
        t.true(all(frames[-1].endswith("_[g]") and frames[frames.index(name + "_[G]") - 1] == "-"
                   for frames, _ in own), f"{name}: {own[0][0][-3:]}")
        share = next(row["share_ns"] for row in report["kernels"] if row["name"] == name)
        t.equal(sum(ns for _, ns in own), share, f"{name}: its share")
    t.equal(sum(ns for _, ns in t.folded(trace, "total")), device["wall_ns"], "the whole")

with t.case("idle time during a program build belongs to no launch"):
    t.wanted()
    if report is None:
        raise duet_test.Skip("nothing was recorded")
    rows = [(frames, ns) for frames, ns in t.folded(trace, "idle") if "clBuildProgram" in frames]
    t.true(rows and not any({"run_sums", "run_roots", "clEnqueueNDRangeKernel"} & set(frames) for frames, _ in rows), f"{rows}")
    t.true(all("main" in frames for frames, _ in rows), f"below main: {rows}")
    told = [row["ns"] for row in report["devices"][0]["idle_calls"] if row["call"] == "clBuildProgram"]
    t.equal(told, [sum(ns for _, ns in rows)], "as the report says")

with t.case("parts of a recording have their own samples"):
    t.wanted()
    if report is None:
        raise duet_test.Skip("nothing was recorded")
    half = f"{report['wall_ns'] // 2}ns"
    first, second = t.report(trace, "--to", half), t.report(trace, "--from", half)
    whole = by_kernel(report)
    for name in ("sums", "roots"):
        t.equal(by_kernel(first).get(name, 0) + by_kernel(second).get(name, 0), whole[name], name)

with t.case("lines of the program's own text, where it was built with -g"):
    t.wanted()
    # PoCL inlines kernels into code without lines unless it is told not to
    report = t.report(record("lines", "1000", "-g -cl-opt-disable"))
    for name, lines, body in (("sums", (4, 5), "v = v * 1.0001f + 0.5f;"),
                              ("roots", (11, 12), "v = sqrt(v) / 3.0f + 1.0f;")):
        rows = [row for row in report["instructions"] if row["kernel"] == name and "line" in row]
        samples = sum(row["samples"] for row in rows)
        inside = [row for row in rows if row["line"] in lines]
        if name == "sums":
            t.true(samples > 0.9 * by_kernel(report)[name], "lines are known")
        t.true(samples and sum(row["samples"] for row in inside) > 0.9 * samples, f"{name}: {rows[:3]}")
        sources = {row["source"] for row in inside if row["line"] == lines[1]}
        t.equal(sources, {body}, f"{name}: the line's text")

t.end()
