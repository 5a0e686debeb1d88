#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record --max-overhead: what it leaves out is counted exactly, and nothing else is missing.

No case asserts how long something took: the costs depend on the load of the machine.
"""
import glob
import json
import os

import duet_test
from duet_test import DUET, counted, program, run, text

DRIVER = os.environ.get("SIM_OPENCL_FOLDER") or os.path.join(duet_test.BUILD, "sim")
if not glob.glob(os.path.join(DRIVER, "*.icd")):
    print("1..0 # SKIP the simulated driver was not built: no OpenCL headers")
    raise SystemExit(0)
os.environ["OCL_ICD_VENDORS"] = DRIVER

t = duet_test.Suite()
COUNT = 500009  # of launches; a prime


def record(limit, *options, count=COUNT, threads=1):
    """Records paced; its report."""
    output = t.path("limit.duet")
    recorded = t.record([program("paced"), str(count), "0", str(threads)], output,
                        ["--collect", "opencl", *(["--max-overhead", limit] if limit else []), *options])
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    document = t.report(output)
    ledger = t.ledger(document)
    t.equal(ledger["launched"], counted(recorded.stdout)["launched"], "launched")
    t.equal(ledger["matched"], ledger["launched"] - ledger["left_out"], "matched = launched - left out")
    t.equal((ledger["dropped"], ledger["orphaned"], ledger["in_flight_at_exit"]), (0, 0, 0),
            "dropped, orphaned, in flight")
    return output, document


def calls(document):
    """The number of recorded calls, without launches."""
    return sum(row["count"] for row in document["api"] if not row["name"].startswith("clEnqueue"))


def export(output):
    path = t.path("limit.json")
    result = run([DUET, "export", output, "--format", "json", "-o", path])
    t.equal(result.status, 0, f"export: {text(result.stderr)}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


with t.case("launched = recorded + left out, at a limit that is below the cost"):
    _, plain = record(None)
    output, document = record("0.1%")
    cost = document["cost"]
    t.true(cost["left_out_launches"] > 0, "launches were left out")
    t.equal(cost["left_out_launches"], document["ledger"]["left_out"], "of the ledger and of the cost")
    t.equal(calls(document) + cost["left_out_calls"], calls(plain), "calls, recorded and left out")
    (measured,) = cost["measured"]
    t.equal(measured["collector"], "opencl", "collector")
    t.equal(measured["limit"], 0.001, "the limit")
    t.true("; limit 0.1 %: " in text(run([DUET, "report", output]).stdout), "the limit in the report")
    t.true(measured["steps"] >= 1, f"it stepped down: {measured}")
    t.true(measured["levels_ns"]["everything"] > 0, "it began with everything")
    t.true(document["losses"] and all(row["reason"] == "limit" for row in document["losses"]), "reasons of losses")
    t.true("measured" not in plain["cost"], "without the option there is no cost")

with t.case("the levels and the costs are counters of the process"):
    rows = export(output)
    series = {row["id"]: row for row in rows["series"]}
    levels = [(row["begin"], row["end"], row["value"]) for row in rows["counters"]
              if series[row["series"]]["metric"] == "duet.detail_level"]
    t.equal([end for _, end, _ in levels[:-1]], [begin for begin, _, _ in levels[1:]], "one interval after the other")
    t.equal(sum(end - begin for begin, end, _ in levels), sum(measured["levels_ns"].values()), "time at the levels")
    t.true(all(series[row["series"]]["process"] for row in rows["counters"]), "they belong to the process")
    limits = [row for row in rows["losses"] if row["lost"] == "launch"]
    t.equal(sum(row["count"] for row in limits), cost["left_out_launches"], "rows of the losses")
    t.true(all(row["begin"] < row["end"] and row.get("bounded") for row in limits), "each has its interval")
    times = sorted((row["begin"], row["end"]) for row in limits)
    t.true(all(a[1] <= b[0] for a, b in zip(times, times[1:])), "the intervals do not overlap")

with t.case("an estimated stack is that of the same call site"):
    stacks = {row["id"]: row for row in rows["stacks"]}
    names = {row["id"]: {name["function"] for name in row.get("names", [])} for row in rows["frames"]}

    def functions(stack):
        found = set()
        while stack:
            found |= names[stacks[stack]["frame"]]
            stack = stacks[stack]["caller"]
        return found

    carried = [row for row in rows["launches"] if row.get("stack_carried")]
    t.true(carried, "there are some")
    t.equal(len(carried), cost["stacks_estimated"], "number of estimated stacks")
    places = {(row["bytes"], row["stack"]) for row in rows["launches"] if row["stack"]}
    for size, stack in places:
        t.true({4: "write_often", 3: "write_seldom"}[size] in functions(stack),
               f"the stack of a write of {size} bytes: {functions(stack)}")
    t.equal({size for size, _ in places}, {3, 4}, "both sites are there")

with t.case("launched = recorded + left out, with threads"):
    record("0.1%", count=50021, threads=7)

with t.case("a limit that is above the cost: windows measure it, and everything is recorded in between"):
    output, document = record("100%", count=2000003)
    (measured,) = document["cost"]["measured"]
    t.equal({name for name, ns in measured["levels_ns"].items() if ns}, {"everything"}, "levels")
    t.equal(document["cost"]["stacks_estimated"], 0, "no stack is an estimate")
    t.true(0 < document["ledger"]["left_out"] < document["ledger"]["launched"] / 2, "the windows are short")
    t.true("ratio" in measured and measured["half_width"] > 0, f"a cost with its interval: {measured}")
    report = text(run([DUET, "report", output]).stdout)
    t.true("cost " in report and " % ± " in report, "it is in the report")
    t.true("left out by --max-overhead" in report, "so is what was left out")

with t.case("without stacks the ladder begins below them"):
    _, document = record("0.1%", "--stacks", "none")
    (measured,) = document["cost"]["measured"]
    t.true({name for name, ns in measured["levels_ns"].items() if ns} <= {"no_stacks", "counters"}, f"{measured}")

with t.case("few launches: nothing is left out, and the cost is duet's own time"):
    output = t.path("few.duet")
    recorded = t.record([program("paced"), "53", "25"], output, ["--collect", "opencl", "--max-overhead", "5"])
    document = t.report(output)
    t.equal(t.ledger(document)["launched"], 53, "launched")
    t.equal(document["ledger"]["left_out"], 0, "left out")
    (measured,) = document["cost"]["measured"]
    t.true("own_ratio" in measured and "ratio" not in measured, f"the method: {measured}")
    t.true("by duet's own time" in text(run([DUET, "report", output]).stdout), "the report says so")

def ranges(name, launches=50):
    """Records paced with ranges "step" of this number of launches; the process's cost, the report and the rows."""
    output = t.path("ranges.duet")
    recorded = t.record([program("paced"), "1000000", "0", "1", "300", str(launches)], output,
                        ["--collect", "opencl,ranges", "--max-overhead", "100%", "--overhead-range", name])
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    document = t.report(output)
    (measured,) = [row for row in document["cost"]["measured"] if row["collector"] == "opencl"]
    return measured, document, export(output)


with t.case("a range as the yardstick"):
    measured, document, rows = ranges("step")
    t.equal(len(rows["ranges"]), 20000, "ranges, also in the windows without launches")
    t.true(document["ledger"]["left_out"] > 0, "launches were left out")
    t.true("ratio" in measured and measured["half_width"] > 0, f"a cost with its interval: {measured}")
    t.true("yardstick" not in json.dumps(rows["collectors"]), "no note")

with t.case("a range that is too rare as the yardstick: nothing is compared, although launches are frequent"):
    measured, document, rows = ranges("step", 5000)
    t.equal(len(rows["ranges"]), 200, "ranges")
    t.true("own_ratio" in measured and "ratio" not in measured, f"the method: {measured}")

with t.case("a range that does not exist as the yardstick: launches are, and a note says so"):
    measured, document, rows = ranges("steps")
    t.true("ratio" in measured, f"a cost: {measured}")
    t.true("launches were the yardstick" in json.dumps(rows["collectors"]), "the note")

with t.case("values that make no sense are refused"):
    t.wanted()
    for value in ("", "0", "-1", "0.05%", "101%", "two", "2%%", "nan", "2 percent"):
        result = run([DUET, "record", "--max-overhead", value, "-o", "/dev/null", "--", "true"])
        t.equal(result.status, 125, f"status of '{value}'")
        t.true("max-overhead" in text(result.stderr), f"the option is named: {text(result.stderr)}")
    for options in (["--overhead-range", "step"], ["--max-overhead", "2%", "--overhead-range", ""]):
        result = run([DUET, "record", *options, "-o", "/dev/null", "--", "true"])
        t.equal((result.status, "overhead-range" in text(result.stderr)), (125, True), f"{options}: {text(result.stderr)}")

t.end()
