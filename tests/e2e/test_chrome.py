#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export -f chrome: slices nest, arrows have both ends, and sums equal the report's to the nanosecond.

tests/golden/export/CASE.txt describes a trace (tests/checker/description.h); chrome/CASE.expected is the output of
chrome_trace.py for its export.

    python3 tests/e2e/test_chrome.py --write    # writes the expected files; read them before a commit
"""
import glob
import json
import os
import sqlite3

import chrome_trace
import duet_test
from duet_test import DUET, ROOT, added_up, run, text

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "export")


def exported(path, *options):
    """The path of the export."""
    t.wanted()
    out = t.path("out.json")
    result = run([DUET, "export", path, "-f", "chrome", "-o", out, *options])
    t.equal(result.status, 0, f"duet export: {text(result.stderr)}")
    return out


def load(path, *options):
    return chrome_trace.Trace(exported(path, *options))


def check_report(trace, document):
    """Every number that both have is the same in both."""
    t.equal(trace.calls(), {row["name"]: (row["count"], row["total_ns"]) for row in document["api"]},
            "calls: count and total_ns")
    t.equal(trace.commands("kernel"), added_up(document["kernels"], "name"), "kernels")
    t.equal({chrome_trace.TORCH_COMMANDS.get(name, name): sums
             for name, sums in trace.commands("gpu_memcpy", "gpu_memset", "gpu_command").items()},
            {**added_up(document["copies"], "direction"),
             **added_up(document["other_commands"], "command")}, "copies and other commands")
    joined = [one for one in trace.slices if set(one.categories) & chrome_trace.COMMANDS | {"rejected"} & set(one.categories)
              and "no_launch" not in one.arguments]
    if all(not clock["violations"] for clock in document["clocks"]):
        t.equal(len(trace.flow_ends), len(joined), "an arrow for each command that has a launch")
    begins = set(map(id, trace.flow_begins.values()))
    for one in trace.slices:
        if trace.is_launch(one):
            t.true((id(one) in begins) != ("no_execution" in one.arguments),
                   f"launch at {one.time}: an arrow, or why there is none")
    ledger = trace.about["ledger"]
    t.equal(ledger, {key: document["ledger"][key] for key in ledger}, "the ledger")
    t.equal(trace.about["complete"], document["complete"], "complete")
    t.equal([(clock["domain"], clock["method"], clock.get("error_ns"), clock["violations"])
             for clock in trace.about["clocks"]],
            [(clock["domain"], clock["method"], clock["error_ns"], clock["violations"])
             for clock in document["clocks"]], "certificates")


for description in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
    name = os.path.splitext(os.path.basename(description))[0]
    with t.case(f"golden: {name}"):
        with open(description, encoding="utf-8") as file:
            trace = load(t.described("described.duet", file.read()))
        lines = "\n".join(trace.lines()) + "\n"
        expected = os.path.join(GOLDEN, "chrome", f"{name}.expected")
        t.same_as_file(lines, expected, name)

for shape, events in (("mixed", 30000), ("single", 10000), ("late", 10000), ("deep", 20000),
                      ("empty", 0)):
    with t.case(f"a generated trace, {shape}: the report's numbers"):
        path = t.generated(events, shape)
        check_report(load(path), t.report(path))

with t.case("the counter of commands in flight is 0 at the end if all commands ended"):
    counters = load(t.generated(10000, "single")).counters
    t.true(counters, "there are counters")
    t.equal(set(counters.values()), {0}, "last values")

with t.case("calls of one begin: the outer one comes first, also on another thread's row"):
    trace = load(t.described("ties.duet", "window 0 1000", "device 1 gpu", "thread 1 1",
                             "queue 1 1", "call 1 100 110 call inner", "call 1 100 200 call middle",
                             "launch 1 1 1 100 300 kernel name=k",
                             "execution 1 1 1 100 100 100 150", "call 1 300 300 call nothing"))
    t.equal([one.name for one in trace.slices if trace.is_call(one)],
            ["clEnqueueNDRangeKernel", "middle", "inner", "nothing"], "order")
    t.equal({one.row for one in trace.slices if trace.is_call(one)}, {(1001, 2001)}, "one row")
    t.equal(trace.flow_begins[1].name, "clEnqueueNDRangeKernel", "where the arrow begins")

with t.case("process and thread numbers are unique"):
    trace = load(t.described("twice.duet", "window 0 1000", "process 1 7 first", "process 2 7 second",
                             "thread 1 1", "thread 2 2", "call 1 10 20 call f",
                             "call 2 10 20 call f", "call 3 10 20 call f"))
    t.equal(trace.processes[7], "first", "who came first")
    t.true("second (pid 7)" in trace.processes.values(), f"names: {trace.processes}")
    t.true("[unknown process]" in trace.processes.values(), f"names: {trace.processes}")
    t.equal(len({one.row for one in trace.slices}), 3, "rows")

with t.case("stacks: their frames root first, where a caller is not in the trace too"):
    with open(os.path.join(GOLDEN, "cpu_gpu.txt"), encoding="utf-8") as file:
        trace = load(t.described("stacks.duet", file.read()))
    t.equal({";".join(trace.stack(one.stack)) for one in trace.slices if one.stack},
            {"[python3]+0x1000;train", "[python3]+0x1000;train;generated",
             "[python3]+0x1000;train;[libm.so.6]+0x2345;[libm.so.6]+0x2345"}, "of calls")
    t.equal(["/".join(trace.stack(one["sf"])[-1:]) for one in trace.samples],
            ["train", "train", "futex_wait", "[libm.so.6]+0x2345"], "innermost frames of samples")

with t.case("a part of a trace is a whole file"):
    path = t.generated(10000)
    whole = load(path)
    launches = [(whole.flow_begins[flow].time, whole.flow_ends[flow].time)
                for flow in whole.flow_ends]
    early, late = launches[len(launches) // 4], launches[len(launches) // 2]
    first, last = sum(early) // 2, sum(late) // 2
    part = load(path, "--from", f"{first}ns", "--to", f"{last}ns")
    inside = [one for one in whole.slices if first <= one.time < last]
    t.true(inside, "there is something in the middle")
    t.equal(sorted((one.time, one.end, one.name) for one in part.slices),
            sorted((one.time, one.end, one.name) for one in inside), "the same slices")
    reasons = {one.arguments["no_execution"] for one in part.slices
               if "no_execution" in one.arguments}
    t.true("it is not in the exported part" in reasons, f"reasons: {reasons}")
    pid = next(iter(whole.processes))
    one = load(path, "--pid", str(pid))
    t.true(0 < len(one.slices) < len(whole.slices), "fewer slices")
    t.equal({row.row[0] for row in one.slices if one.is_call(row)}, {pid}, "processes of calls")
    zero = whole.about["ts_zero_ns"]
    absolute = load(path, "--absolute")
    t.equal([one.time for one in absolute.slices], [one.time + zero for one in whole.slices],
            "--absolute")

with t.case("kinds"):
    path = t.generated(5000)
    whole = load(path)
    for kinds, categories in (("api", {"api", "cuda_runtime"}), ("launch", {"launch", "cuda_runtime"}),
                              ("execution", {"kernel", "gpu_memcpy", "gpu_memset", "gpu_command",
                                             "rejected"})):
        part = load(path, "--kind", kinds)
        found = {category for one in part.slices for category in one.categories}
        t.true(found and found <= categories, f"{kinds}: {found}")
        t.equal((len(part.flow_begins), len(part.counters)), (0, 0), f"{kinds}: arrows, counters")
    part = load(path, "--kind", "counter")
    t.equal((len(part.slices), part.counters), (0, whole.counters), "counters alone")
    t.equal(run([DUET, "export", path, "-f", "chrome", "--kind", "dependency"]).status, 2,
            "a kind that it does not have")

# A live launch of a graph is a call whose nodes are further launches.
GRAPH = ("device 1 gpu", "process 1 100 app", "thread 1 1", "queue 1 1",
         "launch 1 1 1 100 200 write bytes=64 function=cuMemcpyHtoDAsync_v2", "execution 1 1 1 - - 210 250",
         "call 1 300 400 call cuGraphLaunch", "launch 2 1 1 300 300 kernel name=node function=cuGraphLaunch further=1",
         "execution 1 2 1 - - 410 450", "launch 3 1 1 300 300 kernel name=node function=cuGraphLaunch further=1",
         "execution 1 3 1 - - 450 470")

with t.case("the nodes of a graph do not belong to the call before it"):
    path = t.described("graph.duet", *GRAPH)
    slices = load(path).slices
    of_copy = [one.arguments["correlation"] for one in slices if one.name == "cuMemcpyHtoDAsync_v2"]
    t.equal(len(of_copy), 1, "the copy's call")
    t.equal([one.arguments["correlation"] in of_copy for one in slices if one.name == "node"], [False, False], "kernels")
    database = t.path("graph.db")
    t.equal(run([DUET, "export", path, "-f", "rocpd", "-o", database]).status, 0, "rocpd")
    stack_of = """SELECT s.string, e.stack_id FROM rocpd_region AS r JOIN rocpd_event AS e ON e.id = r.event_id
        JOIN rocpd_string AS s ON s.id = r.name_id"""
    base = sqlite3.connect(database)
    regions = dict(base.execute(stack_of).fetchall())
    stacks = [row[0] for row in base.execute("SELECT e.stack_id FROM rocpd_kernel_dispatch AS d JOIN rocpd_event AS e ON e.id = d.event_id")]
    t.equal(stacks, [regions["cuGraphLaunch"]] * 2, f"kernels belong to the graph's call: {regions}")

with t.case("devices have different numbers: ordinals if all of them have one, otherwise their place in the trace"):
    for keys, numbers in ((("3", "1"), [3, 1]), (("GPU-f00", "0"), [0, 1]), (("1", "01"), [0, 1])):
        lines = [line for number, key in enumerate(keys, 1) for line in (
            f"device {number} {key}", f"queue {number} {number}", f"thread {number} 1",
            f"launch {number} {number} {number} 0 10 kernel name=k{number}", f"execution 1 {number} {number} - - {20 * number} 100")]
        out = exported(t.described("devices.duet", "\n".join(["window 0 1000", *lines]) + "\n"))
        with open(out, encoding="utf-8") as file:
            document = json.load(file)
        kernels = {row["name"]: row["args"]["device"] for row in document["traceEvents"] if row.get("cat") == "kernel"}
        t.equal(kernels, dict(zip(("k1", "k2"), numbers)), f"args.device of {keys}")
        t.equal([row["id"] for row in document["deviceProperties"]], numbers, f"deviceProperties of {keys}")

with t.case("a full disk and a closed pipe"):
    t.check_export_ends("chrome")

with t.case("memory does not grow with events"):
    t.check_export_memory("chrome", "/dev/null")

with t.case("bytes that are not UTF-8 are escaped"):
    with open(os.path.join(GOLDEN, "hostile.txt"), encoding="utf-8") as file:
        out = exported(t.described("hostile.duet", file.read()))
    with open(out, "rb") as file:
        data = file.read()
    t.equal([byte for byte in data if byte < 0x20 and byte != 10], [], "control bytes")
    json.loads(data.decode("utf-8"))

with t.case("examples/render, recorded"):
    path = t.recorded_example()
    trace, document = load(path), t.report(path)
    check_report(trace, document)
    t.true(document["kernels"] and trace.commands("kernel"), "there are kernels")
    t.true(all(one.stack for one in trace.slices if trace.is_launch(one)), "stacks of launches")

t.end()
