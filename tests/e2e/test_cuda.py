#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CUDA programs recorded over simulated libcuda and libcupti (sim/nvidia), which log their work.

The program's own counts, the simulator's log and the trace are compared, for the record layouts of three generations
of CUPTI. Kernel times are computed, so no result depends on the load of the machine.
"""
import collections
import contextlib
import itertools
import json
import os
import signal
import sqlite3
import sys

import duet_test
from duet_test import DUET, Skip, program, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
GUEST = os.path.join(duet_test.BUILD, "libduet-nvidia.so")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

PATHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "cuda_paths.py")
VERSIONS = {"11.8": 18, "12.4": 22, "13.0": 130000}
# The stand-in interpolates between pairs of clocks that are read within some 100 ns.
STAMP_NS = 2000

numbers = itertools.count()
Recorded = collections.namedtuple("Recorded", "facts log document report stderr status trace")


def over_stand_in(command, sim="", environment=()):
    """The command over the stand-ins; duet itself has nothing of them."""
    log = t.path("log")
    if os.path.exists(log):
        os.unlink(log)
    options = ",".join(filter(None, [sim, f"log={log}"]))
    return ["env", f"LD_LIBRARY_PATH={STAND_INS}", f"SIM_NVIDIA={options}", *environment, *command]


def read_log():
    """(kind, correlation, start, end) of each piece of work."""
    with open(t.path("log"), encoding="ascii") as file:
        rows = [line.split() for line in file]
    return [(row[0], int(row[1]), int(row[3]), int(row[4])) for row in rows]


def recorded(command, sim="", status=0, environment=(), options=("--collect", "nvidia:cuda"), env=None):
    t.wanted()
    trace = t.path(f"cuda{next(numbers)}.duet")
    result = t.record(over_stand_in(command, sim, environment), trace, options, env=env)
    t.equal(result.status, status, f"status: {text(result.stderr)}")
    exported = run([DUET, "export", "--format", "json", trace, "-o", t.path("export.json")])
    t.equal(exported.status, 0, f"export: {text(exported.stderr)}")
    with open(t.path("export.json"), encoding="utf-8") as file:
        document = json.load(file)
    lines = text(result.stdout).splitlines()
    return Recorded(json.loads(lines[0]) if lines else {}, read_log(), document, t.readable(trace),
                    text(result.stderr), result.status, trace)


def work(**arguments):
    return [program("cuda_work"), *(f"{name}={value}" for name, value in arguments.items())]


def commands(one):
    """By correlation: (launch, its execution or None, the kernel's name or None)."""
    document = one.document
    names = {code["id"]: {"_Z4stepPfi": "step"}.get(code["name"], code["name"]) for code in document["code"]}
    threads = {thread["id"]: thread["process"] for thread in document["threads"]}
    ends = {(row["process"], row["correlation"]): row for row in document["executions"]}
    return [(launch, ends.get((threads[launch["thread"]], launch["correlation"])), names.get(launch["kernel"]))
            for launch in document["launches"]]


def counted(one):
    return collections.Counter(name or launch["command"] for launch, _, name in commands(one) if not launch["result"])


def check_closed(one, launched=None, **other):
    """Every launch has its execution, but for what is said here."""
    ledger = one.report["ledger"]
    for name in ("not_executed", "in_flight_at_exit", "dropped", "rejected"):
        t.equal(ledger[name], other.get(name, 0), f"{name}: {ledger}")
    t.equal(ledger["launched"], ledger["matched"] + ledger["not_executed"] + ledger["in_flight_at_exit"] + ledger["dropped"] + ledger["rejected"],
            "the ledger is closed")
    if launched is not None:
        t.equal(ledger["launched"], launched, "launched")


def check_times(one):
    begin = one.document["begin_ns"]
    error = STAMP_NS + max(clock["error_ns"] or 0 for clock in one.report["clocks"])
    want = sorted((start, end) for kind, _, start, end in one.log if kind != "graph")
    got = sorted((begin + end["started"], begin + end["ended"])
                 for _, end, _ in commands(one) if end and "started" in end)
    t.equal(len(got), len(want), "commands with times")
    off = [(a, b) for a, b in zip(got, want) if abs(a[0] - b[0]) > error or abs(a[1] - b[1]) > error]
    t.equal(off[:3], [], f"times are off by more than {error} ns")


def stacks_of(rows):
    """{(outermost Python functions …): count} of a report's rows of kernels or copies."""
    sums = collections.Counter()
    for row in rows:
        for stack in row["stacks"]:
            names = tuple(frame["function"] for frame in stack["frames"] if frame.get("file", "").endswith("cuda_paths.py"))
            sums[names] += stack["count"]
    return sums


def notes(one):
    return text(run([DUET, "info", one.trace]).stdout)


# ---- what must be there ----

for name, version in VERSIONS.items():
    with t.case(f"CUPTI {name}: 23 kernels, 7 and 5 copies, 2 graphs of 11 nodes, from 3 paths and 2 threads"):
        one = recorded(["/usr/bin/env", sys.executable, PATHS], f"version={version}")
        t.equal(one.facts, {"forward": {"h2d": 5, "kernels": 12}, "evaluate": {"h2d": 2, "kernels": 11, "d2h": 5},
                            "replay": {"graphs": 2, "nodes": 22}}, "what the program did")
        t.equal(counted(one), {"matmul": 12 + 12, "softmax": 11 + 10, "write": 7, "read": 5}, "commands")
        check_closed(one, 23 + 7 + 5 + 22)
        check_times(one)
        t.equal({row["name"]: row["count"] for row in one.report["api"]}["cuGraphLaunch"], 2, "calls of cuGraphLaunch")
        kernels = stacks_of(one.report["kernels"])
        t.equal(kernels, {("<module>", "forward", "Worker.launch"): 12,
                          ("second_thread", "evaluate", "Worker.launch"): 11,
                          ("<module>", "replay", "replay"): 22}, "stacks of kernels")
        t.equal(stacks_of(one.report["copies"]), {("<module>", "forward", "Worker.upload"): 5,
                                                  ("second_thread", "evaluate", "Worker.upload"): 2,
                                                  ("second_thread", "evaluate", "Worker.download"): 5},
                "stacks of copies")
        t.equal(len({launch["thread"] for launch, _, _ in commands(one)}), 2, "threads that launched")
        frames = [frame["function"] for row in one.report["kernels"] for stack in row["stacks"] for frame in stack["frames"]]
        t.equal([frame for frame in frames if "libcu" in frame or "cupti" in frame], [],
                "frames of the driver and CUPTI between the program and the call")
        t.equal([(row["name"], row["key"]) for row in one.document["devices"]],
                [("NVIDIA H200 (simulated)", "GPU-516d0d00-1a2b-4c3d-8001-483230300000")], "the device by its UUID")

with t.case("the flame graph: Python, the call, the kernel"):
    one = recorded([sys.executable, PATHS])
    folded = text(run([DUET, "flame", "--folded", "-o", "/dev/stdout", one.trace]).stdout).splitlines()
    for words in ("forward", "Worker.launch", "cuLaunchKernel;-;matmul_[G]"), \
            ("replay", "[graph launch];replay", "cuGraphAddKernelNode_v2;-;softmax_[G]"):
        t.true(any(all(word in line for word in words) for line in folded), f"{words} in {folded}")
    one = recorded(work(graphs=1, nodes=2, captured=3))
    folded = text(run([DUET, "flame", "--folded", "-o", "/dev/stdout", one.trace]).stdout).splitlines()
    for words in (";launch_graphs;[graph launch];", ";capture;cuLaunchKernel;-;reduce_[G]"), \
            (";launch_graphs;[graph launch];", ";cuGraphAddKernelNode_v2;-;step_[G]"):
        t.true(any(all(word in line for word in words) for line in folded), f"{words} in {folded}")

def check_not_executed(one, launched, matched, not_executed, in_flight=0):
    """Launches without a record belong to no device, and none is in flight that its stream was past."""
    names = ("launched", "matched", "not_executed", "in_flight_at_exit", "dropped", "rejected")
    t.equal([one.report["ledger"][name] for name in names], [launched, matched, not_executed, in_flight, 0, 0], "ledger")
    t.equal(len(one.report["devices"]), 1, f"devices: {one.report['devices']}")
    t.equal(one.report["complete"], matched * 100 >= (launched - not_executed) * 95, "complete")
    drawn = text(run([DUET, "flame", "--folded", "--view", "launch", one.trace]).stdout).splitlines()
    t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in drawn), launched - not_executed, "launches that are drawn")

with t.case("sets without a record are not executed"):
    check_not_executed(recorded(work(kernels=2, sets=3, graphs=1, nodes=2), "silent_sets=1"), 7, 4, 3)
    one = recorded(work(kernels=2, sets=3), "silent_sets=1")
    check_not_executed(one, 5, 2, 0, in_flight=3)  # nothing ran behind them
    t.true("in flight at exit: 3 commands; longest fill" in text(run([DUET, "report", one.trace]).stdout), "the report")

with t.case("kernels of CUPTI's range mode are not executed, and the device is not known to idle then"):
    one = recorded(work(kernels=8), "range_first=3,range_last=5")
    check_not_executed(one, 8, 5, 3)
    t.true(one.report["devices"][0]["idle_causes"]["unknown"] > 0, "unknown")

with t.case("calls that are captured launch nothing"):
    one = recorded(work(graphs=2, nodes=1, captured=3))
    check_not_executed(one, 2 * (1 + 3), 2 * (1 + 3), 0)
    launches = [row for row in one.report["api"] if row["name"] == "cuLaunchKernel"]
    t.equal([row["count"] for row in launches], [3], "calls")

with t.case("a device that idles while a stream is captured, by the call that began the capture"):
    one = recorded(work(kernels=2, graphs=1, nodes=1, captured=3000), options=("--collect", "nvidia:cuda,cpu"))
    captures = [row for row in one.report["verdict"]["causes"] if row["kind"] == "stream_capture"]
    t.equal({(row.get("what", ""), row.get("function")) for row in captures} >= {("", "capture"), ("cuGraphInstantiateWithFlags", "capture")},
            True, f"the capture, and the graph made of it: {captures}")
    with open(os.path.join(os.path.dirname(PATHS), "cuda_work.c"), encoding="utf-8") as file:
        begins = next(number for number, line in enumerate(file, 1) if "cuStreamBeginCapture_v2" in line)
    t.equal([row["line"] for row in captures if not row.get("what") and row.get("line")], [begins], "its line")
    t.equal("command_buffer_full" in one.report, False, "no launch waited for room")

with t.case("launches that wait because the command buffer is full"):
    # A program that gets no processor is late by less than what the queue holds.
    one = recorded(work(kernels=60), "kernel_us=10000,queue_us=100000")
    full = one.report["command_buffer_full"]
    reported = [row for row in one.report["ranges"] if row["name"] == "command buffer full"]
    t.equal((full["launches"], full["ns"], full["estimated"]), (reported[0]["count"], reported[0]["total_ns"], False), "as CUPTI reports them")
    t.true(full["launches"] >= 27 and full["ns"] > 300e6, f"600 ms of kernels, of which 100 ms fit into the queue: {full}")
    device = one.report["devices"][0]
    t.true(device["busy_ns"] > 590e6 and device["idle_kinds"].get("api_call", {}).get("command_buffer_full", 0) < 10e6,
           f"the device has work meanwhile: {device['idle_kinds']}")
    t.true("launches waited" in text(run([DUET, "report", one.trace]).stdout), "the report")

with t.case("whole graphs: with nvidia:graphs, and if nodes come too fast"):
    one = recorded(work(kernels=2, graphs=3, captured=2), options=("--collect", "nvidia:graphs"))
    t.equal(counted(one), {"step": 1, "reduce": 1, "graph": 6}, "commands")
    check_closed(one, 8)
    one = recorded(work(graphs=200, nodes=11, pace_ms=5), environment=("DUET_CUDA_NODES=100",))
    many = counted(one)
    t.true(many["graph"] > 0 and many["step"] * 11 == 6 * (many["step"] + many["reduce"]) and
           many["graph"] + (many["step"] + many["reduce"]) // 11 == 200, f"every launch is there, as nodes or whole: {many}")
    check_closed(one)
    t.true("each launch of a graph is one command" in one.stderr, one.stderr)
    one = recorded(work(graphs=200, nodes=11, pace_ms=5), "no_kind=51", environment=("DUET_CUDA_NODES=100",))
    t.equal(counted(one), {"step": 200 * 6, "reduce": 200 * 5}, "where CUPTI refuses it the nodes go on")
    t.true("cuptiActivityEnable(GRAPH_TRACE) returned 21" in one.stderr and "each node of a graph is a command" in one.stderr,
           one.stderr)
    one = recorded(work(graphs=5, nodes=11))
    t.equal(counted(one), {"step": 30, "reduce": 25}, "without it each node is a command")

with t.case("every kind of call, several threads"):
    one = recorded(work(threads=4, kernels=6, h2d=3, d2h=3, any=4, sets=2, graphs=3, nodes=5, captured=4, failing=2))
    t.equal(one.facts["wrong"], 0, "calls that did not return what they should")
    t.equal(counted(one), {name: 4 * count for name, count in {
        "step": 3 + 3 * 3, "reduce": 3 + 3 * 2 + 3 * 4, "write": 3 + 2, "read": 3, "copy": 2, "fill": 2}.items()},
        "commands")
    check_closed(one, 4 * (6 + 3 + 3 + 4 + 2 + 3 * (5 + 4)))
    check_times(one)
    calls = {row["name"]: row for row in one.report["api"]}
    t.equal((calls["cuLaunchKernel"]["count"], calls["cuLaunchKernel"]["failed"]), (4 * (6 + 4 + 2), 4 * 2),
            "calls of cuLaunchKernel: launched, captured, failed")
    t.equal((calls["cuGraphLaunch"]["count"], calls["cuMemcpyAsync"]["count"]), (4 * 6, 4 * 4), "calls of several")
    t.equal(sum(row["bytes"] for row in one.report["copies"]), 4 * 4096 * (3 + 3 + 4 + 2), "bytes")
    shapes = {(tuple(launch["global"]), tuple(launch["local"])) for launch, _, name in commands(one)
              if name and not launch["result"]}
    t.equal(shapes, {((512, 2, 1), (128, 1, 1)), ((64, 1, 1), (32, 1, 1)), ((64, 1, 1), (64, 1, 1))}, "sizes")
    t.true("CUDA_ERROR_INVALID_VALUE" in text(run([DUET, "report", one.trace]).stdout), "the error by name")

with t.case("a launch has its queue when it is launched"):
    one = recorded(work(kernels=2, h2d=4))
    queues = {row["id"]: row for row in one.document["queues"]}
    t.true(all(queues[launch["queue"]]["device"] for launch, _, _ in commands(one)), "each launch has its queue and device")
    t.equal(len({launch["queue"] for launch, _, _ in commands(one)}), 2, "the program's stream and the default one")

with t.case("counters and CUDA share one device"):
    one = recorded(work(kernels=3), "nvml_load=0.5", options=("--collect", "nvidia"),
                   env={"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": "nvml_load=0.5"})
    t.equal(len(one.document["devices"]), 1, "devices")
    t.true(any(row["name"] == "gpu.power" for row in one.report["metrics"]), "counters")
    check_closed(one, 3)

with t.case("the program's time in CUPTI is recorded as ranges"):
    one = recorded(work(kernels=4, laps=2, pace_ms=20))
    ranges = {row["name"]: row for row in one.report["ranges"]}
    t.equal(ranges["loading a function at its first use"]["count"], 2, f"functions that are loaded: {list(ranges)}")
    kinds = {row["name"]: (row.get("category"), row["thread"]) for row in one.document["ranges"]}
    launching = {row["thread"] for row in one.document["launches"]}
    t.true(kinds["loading a function at its first use"] in [(None, thread) for thread in launching], f"the driver's, in the launching thread: {kinds}")
    t.equal(kinds["asking for a buffer"][0], "profiler overhead", "the profiler's")
    held = one.report["profiler_overhead"]
    t.equal(held["count"] + held["threadless"], ranges["asking for a buffer"]["count"], f"counted: {held}")
    one = recorded(work(kernels=4, laps=2, pace_ms=20), "fail_cuptiSetThreadIdType=1")
    t.equal({row["thread"] for row in one.document["ranges"]}, {0}, "ids of pthreads name no thread")
    t.true(all(row["domain"] == "CUPTI" for row in ranges.values()), "domain")
    t.true(all(0 <= row["begin"] <= row["end"] <= one.report["wall_ns"] for row in one.document["ranges"]),
           f"within the recording: {one.document['ranges'][:3]}")

with t.case("a stream for each request: all commands have times, and a queue of their own"):
    one = recorded(work(streams=3000, kept=1500), "kernel_us=1,latency_us=1")
    check_closed(one, 3000)
    t.equal(one.report["ledger"]["untimed"], 0, "without times")
    t.equal(len({launch["queue"] for launch, _, _ in commands(one)}), 3000, "queues")

with t.case("streams without a queue of their own share one, which is in no order and which no call waits for"):
    one = recorded(work(streams=12, kept=12), "stream_step=8192")  # eight places for streams of such ids
    queues = {row["id"]: row for row in one.document["queues"]}
    used = collections.Counter(launch["queue"] for launch, _, _ in commands(one))
    t.equal(sorted(used.values()), [1] * 8 + [4], "launches of each queue")
    shared = used.most_common(1)[0][0]
    t.equal([key for key, row in queues.items() if row["flags"] & 1], [shared], f"out of order: {queues}")
    waits = [row["argument"] for row in one.document["calls"] if row["type"] == 1 and row["argument"]]
    t.equal((len(waits), shared in waits), (8, False), f"queues that were waited for: {waits}")
    t.true("in streams beyond the limit" in notes(one), notes(one))

def memory_of(one):
    return {row["name"]: row for row in one.report["metrics"] if row["name"].startswith("cuda.memory.")}


with t.case("memory that a program has allocated, by device and kind"):
    for version in VERSIONS.values():
        one = recorded(work(kernels=4, laps=2, pace_ms=20, managed=1 << 20), f"version={version}")
        rows = memory_of(one)
        t.equal({name: (row["max"], row["unit"]) for name, row in rows.items()},
                {"cuda.memory.device": (8192 / 2 ** 20, "MiB"), "cuda.memory.managed": (1, "MiB")}, "the most at a time")
        t.equal({row["device"] for row in rows.values()}, {one.document["devices"][0]["key"]}, "of the device")
        t.true(all(row["pid"] for row in rows.values()), "and of the process")
    t.equal(memory_of(recorded(work(kernels=4, managed=1 << 20), "no_kind=49")), {}, "where CUPTI has no such kind")

with t.case("nvidia:latency records when kernels were queued and submitted"):
    one = recorded(work(kernels=6, h2d=2, graphs=1, nodes=3), options=("--collect", "nvidia:latency"))
    ends = {name: [end for _, end, other in commands(one) if other == name] for name in ("step", "reduce")}
    t.equal(sum(len(rows) for rows in ends.values()), 9, "kernels")
    t.true(all(end["queued"] <= end["submitted"] <= end["started"] for rows in ends.values() for end in rows),
           f"in order: {ends['step'][:1]}")
    zones = [row["zones"] for row in one.report["queues"] if row["zones"]["queued_submitted"]["count"]]
    t.equal(sum(zone["queued_submitted"]["count"] for zone in zones), 9, "zones of the report")
    check_times(one)
    plain = recorded(work(kernels=2))
    t.true(all("queued" not in end and "submitted" not in end for _, end, _ in commands(plain)), "not without it")
    one = recorded(work(kernels=2), "fail_cuptiActivityEnableLatencyTimestamps=27", options=("--collect", "nvidia:latency"))
    t.true("no times when they were queued" in one.stderr, one.stderr)
    check_closed(one, 2)

with t.case("nvidia:waits records the waits that CUPTI reports"):
    one = recorded(work(kernels=4, laps=3, pace_ms=5), options=("--collect", "nvidia:waits"))
    counts = {row["name"]: row["count"] for row in one.report["ranges"] if row["domain"] == "CUPTI"}
    t.equal(counts.get("waiting for a stream"), 4, f"waits: {counts}")
    one = recorded(work(kernels=2), "no_kind=38", options=("--collect", "nvidia:waits"))
    t.true("waits are taken from calls only" in one.stderr, one.stderr)
    one = recorded(work(kernels=4, laps=3, pace_ms=5), "no_kind=17", options=("--collect", "nvidia:waits"))
    counts = {row["name"]: row["count"] for row in one.report["ranges"] if row["domain"] == "CUPTI"}
    t.equal(counts, {"waiting for a stream": 4}, "waits where CUPTI has no overheads")
    one = recorded(work(kernels=2), "fail_cuptiActivityRegisterTimestampCallback=27", options=("--collect", "nvidia:waits"))
    t.true("waits are taken from calls only" in one.stderr, f"without our clock: {one.stderr}")

# ---- what is refused ----

MULTIPLE = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
ADVICE = {
    8: "out of memory", 15: "libcupti is newer than the driver", 26: "another tool uses the GPU's counters",
    35: "NVreg_RestrictProfilingToAdminUsers=0", 39: MULTIPLE, 40: "this virtual GPU may not be profiled",
    999: "check that nvidia-smi works"}

with t.case("each answer of cuptiSubscribe has its advice, and the program runs as without"):
    for code, words in ADVICE.items():
        one = recorded(work(kernels=3, graphs=1), f"fail_cuptiSubscribe={code}")
        t.equal(one.facts["wrong"], 0, f"{code}: the program")
        t.true(words in one.stderr and f"returned {code}" in one.stderr, f"{code}: '{words}' in {one.stderr}")
        t.true("nothing of CUDA is recorded" in one.stderr and words in notes(one), f"{code}: noted: {notes(one)}")
        check_closed(one)

with t.case("the holder of the subscription is named"):
    one = recorded(work(kernels=3), "subscriber=0")
    t.true("returned 39" in one.stderr and "held by 'sim-other'" in one.stderr and "torch.profiler" in one.stderr,
           one.stderr)
    t.equal(one.facts["wrong"], 0, "the program")

with t.case("without CUPTI, launches are recorded by uprobes if the rights suffice"):
    for code in (39, 15):
        one = recorded(work(kernels=4, h2d=1, laps=100, pace_ms=10), f"fail_cuptiSubscribe={code}")
        if any(words in one.stderr for words in ("by uprobes either: that takes", "record as root", "without libbpf")):
            raise Skip("no rights for programs inside the kernel")
        t.equal(one.facts["wrong"], 0, "the program")
        ledger = one.report["ledger"]
        t.true("CPU side only" in notes(one), notes(one))
        t.true(0 < ledger["launched"] <= 401, f"from when it was refused on: {ledger}")
        check_closed(one, ledger["launched"])
        t.equal(ledger["untimed"], ledger["launched"], "none has device times")

with t.case("kinds of activity that are refused: calls and launches without device times"):
    for function, code in (("cuptiActivityEnable", 35), ("cuptiActivityEnable", 21), ("cuptiActivityRegisterCallbacks", 8)):
        one = recorded(work(kernels=3, h2d=2), f"fail_{function}={code}")
        t.true(f"{function} returned {code}" in one.stderr and ADVICE.get(code, "does not support it") in one.stderr,
               one.stderr)
        t.equal(counted(one), {"step": 2, "reduce": 1, "write": 2}, f"{function}: launches")
        check_closed(one, 5)
        t.equal(one.report["ledger"]["untimed"], 5, "without times")

with t.case("without our clock CUPTI's own is measured"):
    one = recorded(work(kernels=5, laps=3, pace_ms=20), "fail_cuptiActivityRegisterTimestampCallback=27")
    t.true("those of CLOCK_REALTIME" in one.stderr, one.stderr)
    check_closed(one, 15)
    check_times(one)

with t.case("other calls of CUPTI's that fail"):
    one = recorded(work(kernels=2), "fail_cuptiEnableCallback=1")
    t.true("some of CUDA's calls are not recorded" in one.stderr, one.stderr)
    one = recorded(work(kernels=2), "fail_cuptiActivityGetNextRecord=21")
    t.true("the rest of a buffer of records is lost" in one.stderr, one.stderr)
    t.equal(one.report["ledger"]["in_flight_at_exit"] + one.report["ledger"]["dropped"], 2, "not one is made up")
    one = recorded(work(kernels=2), "fail_cuptiGetVersion=999")
    t.true("nothing of CUDA is recorded" in one.stderr, one.stderr)
    one = recorded(work(kernels=2), environment=("DUET_CUPTI=/nonexistent/libcupti.so",))
    t.true("no libcupti was found" in one.stderr, one.stderr)
    t.equal(one.facts["wrong"], 0, "the program")

with t.case("CUPTI of before CUDA 11, whose records are shorter, is left alone"):
    one = recorded(work(kernels=2, graphs=1), "version=12")
    t.true("older than that of CUDA 11.0" in one.stderr, one.stderr)
    t.equal((one.facts["wrong"], one.report["ledger"]["launched"]), (0, 0), "the program, launches")

with t.case("NVIDIA's libcupti without a driver is reported"):
    library = "/usr/local/cuda/lib64/libcupti.so"
    if not os.path.exists(library):
        raise Skip("no CUPTI of NVIDIA's is installed")
    one = recorded(work(kernels=2), environment=(f"DUET_CUPTI={library}",))
    t.true("returned 999" in one.stderr and ADVICE[999] in one.stderr, one.stderr)
    t.equal((one.facts["wrong"], one.report["ledger"]["launched"]), (0, 0), "the program, launches")

with t.case("another tool in CUDA_INJECTION64_PATH stays there"):
    one = recorded(work(kernels=2), env={"CUDA_INJECTION64_PATH": "/opt/other/tool.so"})
    t.true("names another tool already" in one.stderr, one.stderr)
    t.equal((one.facts["wrong"], one.report["ledger"]["launched"]), (0, 0), "the program, launches")

# ---- what is lost ----

with t.case("records that CUPTI drops, or that have no times or impossible ones"):
    one = recorded(work(kernels=30), "drop_every=10")
    lost = one.report["ledger"]["dropped"]
    t.true(1 <= lost <= 5, f"dropped: {one.report['ledger']}")
    check_closed(one, 30, dropped=lost)
    one = recorded(work(kernels=30), "untimed_every=3")
    check_closed(one, 30)
    t.equal(one.report["ledger"]["untimed"], 10, "without times")
    one = recorded(work(graphs=2, nodes=11), "bad_after=10")
    check_closed(one, 22)
    t.equal(one.report["ledger"]["untimed"], 12, "nodes with impossible times have none")
    t.true("impossible times" in notes(one), notes(one))

with t.case("a CUPTI that crashes without a buffer, and one that returns a foreign buffer"):
    one = recorded(work(kernels=40, threads=3), "null_crash=1,stray_buffer=1,version=22")
    check_closed(one, 120)

def calls_of_cupti():
    """[(name, numbers)] as the stand-in wrote them down (calls=FILE)."""
    with open(t.path("calls"), encoding="ascii") as file:
        return [(row[0], tuple(map(int, row[1:]))) for row in map(str.split, file)]


def counting(sim=""):
    """Has the stand-in write them down anew."""
    if os.path.exists(t.path("calls")):
        os.unlink(t.path("calls"))
    return ",".join(filter(None, [sim, f"calls={t.path('calls')}"]))


with t.case("killed: drained records are kept"):
    one = recorded(work(kernels=9, graphs=1, rest_ms=1500, end="kill"), status=128 + signal.SIGKILL)
    check_closed(one, 20)
    check_times(one)

with t.case("killed while a graph's last node is late: earlier and recent commands are kept"):
    one = recorded(work(graphs=1, nodes=2, rest_ms=1000, end="kill"), "us_reduce=2500000", status=128 + signal.SIGKILL)
    t.equal(counted(one), {"step": 1, "reduce": 1}, "nodes")
    check_times(one)

with t.case("killed in the middle: 200 ms are lost at the most"):
    one = recorded(work(kernels=2, laps=60, pace_ms=25, end="kill"), counting(), status=128 + signal.SIGKILL)
    flushes = [numbers for name, numbers in calls_of_cupti() if name == "flushed"]
    drained = sorted(correlation for _, correlation, _, end in one.log if end < flushes[-1][1])
    kept = {launch["correlation"] for launch, end, _ in commands(one) if end and "started" in end}
    t.equal([correlation for correlation in drained if correlation not in kept], [], "over before the last flush began")
    t.true(len(drained) > 60, f"much was over by then: {len(drained)} of {len(one.log)}")
    # by the stand-in's own clock, which a loaded machine holds up as well: 10 ms each
    looks = sorted(numbers[2] for numbers in flushes)
    t.true(len(flushes) > 3 and looks[len(looks) // 2] <= 20, f"looks of the stand-in between two flushes: {looks}")

with t.case("_exit at once: launches are recorded"):
    one = recorded(work(kernels=9, end="_exit"))
    t.equal(one.report["ledger"]["launched"], 9, "launched")

def functions_of(document, stack):
    """Names of a stack's functions."""
    stacks = {row["id"]: row for row in document["stacks"]}
    names = {row["id"]: {name["function"] for name in row.get("names", [])} for row in document["frames"]}
    found = set()
    while stack:
        found |= names[stacks[stack]["frame"]]
        stack = stacks[stack]["caller"]
    return found


with t.case("--max-overhead: a kernel's launches never carry a stack of another kernel's"):
    # the cost of stacks is above this limit on any machine, so that they are captured for some launches only
    one = recorded([program("cuda_sites"), "60013"], "kernel_us=0.1,queue_us=0",
                   options=("--collect", "nvidia:cuda", "--max-overhead", "0.1%"))
    carried = [(launch, name) for launch, _, name in commands(one) if launch.get("stack_carried")]
    t.true(len(carried) > 100, f"launches that carry a stack: {len(carried)}")
    pairs = {(name, launch["stack"]) for launch, name in carried}
    t.equal({name for name, _ in pairs}, {"often", "seldom"}, "both kernels have carried stacks")
    t.equal([name for name, stack in pairs if f"launch_{name}" not in functions_of(one.document, stack)], [],
            "kernels that carry a stack without their caller")

with t.case("a flush that never returns does not block the program"):
    one = recorded(work(kernels=4), "flush_hang=1")
    t.equal(one.facts["wrong"], 0, "the program")
    t.true("did not return from its last flush" in one.stderr, one.stderr)
    t.equal(one.report["ledger"]["launched"], 4, "launches")
    t.equal(one.report["ledger"]["in_flight_at_exit"], 4, "of which nothing came")

# ---- lives ----

with t.case("a child of fork is left alone"):
    one = recorded(work(kernels=3, end="fork"))
    t.equal(one.facts["wrong"], 0, "the child's status")
    t.equal(counted(one), {"step": 2, "reduce": 1}, "commands")

with t.case("two processes at once"):
    command = " & ".join([" ".join(work(kernels=20, graphs=2, h2d=2))] * 2) + "; wait"
    one = recorded(["sh", "-c", command])
    check_closed(one, 2 * (20 + 2 * 11 + 2))
    t.equal(sorted(collections.Counter(launch["thread"] for launch, _, _ in commands(one)).values()), [44, 44],
            "launches of each")
    t.equal(len(one.document["devices"]), 1, "of one device")

with t.case("ranks of a job: each process with its own, in one trace"):
    ranks = " & ".join(f"RANK={rank} LOCAL_RANK={rank % 2} WORLD_SIZE=4 {' '.join(work(kernels=10 + rank))}"
                       for rank in range(4))
    one = recorded(["sh", "-c", f"{ranks}; wait"])
    check_closed(one, 4 * 10 + 6)
    told = {(row.get("rank"), row.get("local_rank"), row.get("ranks")): row["launches"]
            for row in one.report["processes"] if row["launches"]}
    t.equal(told, {(rank, rank % 2, 4): 10 + rank for rank in range(4)}, "launches by rank")
    t.equal(sorted(row["rank"] for row in one.document["processes"] if "rank" in row), [0, 1, 2, 3], "in the export")
    said = text(run([DUET, "report", one.trace]).stdout)
    t.true("cuda_work, rank 3 of 4" in said, said)

with t.case("a program of CUDA that is recorded without it"):
    t.wanted()
    result = t.record(work(kernels=1), t.path("without.duet"),
                      env={"LD_LIBRARY_PATH": STAND_INS})
    t.true("no CUDA call was recorded" in text(result.stderr) and "--collect nvidia:cuda" in text(result.stderr),
           text(result.stderr))

with t.case("a refusal of one part does not disable the others"):
    without = {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": "fail_nvmlInit_v2=9"}  # of the recorder itself
    one = recorded(work(kernels=5), options=("--collect", "nvidia"), env=without)
    t.equal(one.report["ledger"]["matched"], 5, "CUDA is recorded")
    t.equal(one.stderr.count("nvmlInit: "), 1, f"said once: {one.stderr}")
    said = text(run([DUET, "report", one.trace]).stdout)
    t.true("! nvidia: partial: nvmlInit" in said and "nvidia: not recorded" not in said, said)
    t.equal([row["reason"][:8] for row in one.report["collectors"] if row["state"] == "refused"], ["nvmlInit"], "report")
    t.equal([row["reason"][:8] for row in one.document["collectors"] if row["state"] == "refused"], ["nvmlInit"], "json")
    for name, needle in (("text", "# nvidia refused: nvmlInit: "), ("chrome", '"state":"refused","reason":"nvmlInit: '),
                         ("jsonl", '"name":"nvidia","state":"refused","reason":"nvmlInit: ')):
        written = text(run([DUET, "export", "--format", name, one.trace]).stdout)
        t.true(needle in written, f"{name}: {written[:800]}")
    run([DUET, "export", "--format", "sqlite", one.trace, "-o", t.path("notes.sqlite")])
    with contextlib.closing(sqlite3.connect(t.path("notes.sqlite"))) as database:
        rows = database.execute("SELECT reason FROM collectors WHERE name = 'nvidia' AND state = 'refused'").fetchall()
    t.equal([row[0][:8] for row in rows], ["nvmlInit"], "sqlite")
    one = recorded(work(kernels=5), "subscriber=0", options=("--collect", "nvidia"), env=without)
    said = text(run([DUET, "report", one.trace]).stdout)
    t.true(": partial: " in said or ": not recorded: " in said, said)
    t.equal("! nvidia: not recorded" in said, "CPU side only" not in said, "where nothing is left, not at all")

with t.case("contradictory or incomplete options are refused with the valid ones"):
    t.wanted()
    for options in ("nvidia:idle,nvidia:cuda", "nvidia:pc,nvidia:idle", "nvidia:idle-subscribed,nvidia:graphs"):
        refused = run([DUET, "record", "--collect", options, "-o", t.path("no.duet"), "--", "true"])
        t.equal(refused.status, 125, f"{options}: status")
        t.true("record nothing of CUDA" in text(refused.stderr), f"{options}: {text(refused.stderr)}")
    unknown = text(run([DUET, "record", "--collect", "nvidia:cupti", "--", "true"]).stderr)
    t.true(all(word in unknown for word in ("nvidia:-cuda", "nvidia:pc=N", "nvidia:pm=HZ")), unknown)
    result = t.record(["true"], t.path("hz.duet"), ["--collect", "system:10Hz"])
    t.equal(result.status, 0, f"a rate with its unit: {text(result.stderr)}")
    for rate in ("0Hz", "101Hz", "101"):
        refused = run([DUET, "record", "--collect", f"nvidia:{rate}", "-o", t.path("no.duet"), "--", "true"])
        t.true(refused.status == 125 and "1 to 100 times a second" in text(refused.stderr), text(refused.stderr))

with t.case("root gets no advice to be root, and messages about CUDA do not mention OpenCL"):
    one = recorded(work(kernels=2), "privileges=0", options=("--collect", "nvidia:pc"))
    t.true("allows profiling for administrators only" in one.stderr, one.stderr)
    t.equal("run as root" in one.stderr, os.geteuid() != 0, one.stderr)
    counters = {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": "pm_load=0.5"}
    result = t.record(["sleep", "0.3"], t.path("pm.duet"), ["--collect", "nvidia:pm"], env=counters)
    said = text(run([DUET, "report", t.path("pm.duet")]).stdout)
    t.true(said.startswith("sleep 0.3") and "doctor" not in said, said)
    if os.geteuid() == 0:
        one = recorded(work(kernels=2), "subscriber=0")
        said = text(run([DUET, "report", one.trace]).stdout)
        t.true("CPU side only" not in said or
               ("opencl" not in said and "only the launching calls" in said), said)

with t.case("shared memory of a code object is what its kernel names, as ptxas says it"):
    t.wanted()
    for target in ("sm_80", "sm_90"):
        path = os.path.join(os.path.dirname(PATHS), "..", "golden", "cubin", f"saxpy_{target}.cubin")
        said = text(run([DUET, "info", path]).stdout)
        t.true("bytes of shared memory 512\n" in said, f"{target}: {said[:400]}")

# ---- what else is known of a command ----

DETAILS = ("source_memory", "destination_memory", "source_device", "destination_device", "graph", "graph_node", "hardware_queue",
           "cluster_x", "cluster_y", "cluster_z", "local_bytes")


def details(one):
    """{what tells a command of cuda_kinds from the others: (its details, whether it is cooperative)}; a device is its ordinal."""
    ordinals = {device["id"]: int(device["key"][-1]) for device in one.document["devices"]}
    found = {}
    for launch, end, _ in commands(one):
        fields = {name: end[name] for name in DETAILS if name in end}
        for name in ("source_device", "destination_device"):
            if name in fields:
                fields[name] = ordinals[fields[name]]
        place = "node" if fields.pop("graph_node", 0) else "call"
        found[place, launch["bytes"] or launch["global"][0]] = (fields, bool(launch["flags"] & 16))
    return found


def expected_details(version):
    """The same of what the program did, as far as the version reports it."""
    pageable, pinned = {"source_memory": "pageable"}, {"source_memory": "pinned"}
    source, to_pinned = {"source_memory": "device", "source_device": 0}, {"destination_memory": "pinned"}
    to_device, to_managed = {"destination_memory": "device", "destination_device": 0}, {"destination_memory": "managed"}
    clusters = {"cluster_x": 2, "cluster_y": 1, "cluster_z": 1} if version >= 18 else {}
    copies = {"hardware_queue": 9} if version >= 17 else {}
    others = {"hardware_queue": 8} if version >= 17 else {}
    shared = {"local_bytes": 2048}
    kernels = {32: ({}, False), 64: (shared, False), 96: ({}, True), 128: (clusters, False), 192: (clusters, True)}
    transfers = {100: pageable | to_device, 101: pinned | to_device, 102: source | to_pinned, 103: source | to_device,
                 104: pageable | to_managed, 105: source | to_device | {"destination_device": 1}}
    want = {("call", size): (fields | copies, False) for size, fields in transfers.items()}
    want |= {("call", 106): (to_device | others, False), ("call", 107): (to_managed | others, False)}
    want |= {("call", size): (fields | others, flag) for size, (fields, flag) in kernels.items()}
    graph = {"graph": 3} if version >= 14 else {}
    want |= {("node", 201): (pinned | to_device | copies | graph, False), ("node", 206): (to_device | others | graph, False)}
    return want | {("node", size): (fields | others | graph, flag) for size, (fields, flag) in kernels.items()}


def check_database(one):
    """sqlite has the same as json."""
    path = t.path("details.db")
    t.equal(run([DUET, "export", "-f", "sqlite", one.trace, "-o", path]).status, 0, "export -f sqlite")
    with contextlib.closing(sqlite3.connect(path)) as database:
        rows = database.execute(f"SELECT correlation, {', '.join(DETAILS)} FROM executions").fetchall()
        cooperative = database.execute("SELECT sum(cooperative) FROM launches").fetchone()[0]
    want = [(row["correlation"], *(row.get(name) for name in DETAILS)) for row in one.document["executions"]]
    t.equal(sorted(rows, key=lambda row: row[0]), sorted(want, key=lambda row: row[0]), "executions of sqlite")
    t.equal(cooperative, sum(bool(row["flags"] & 16) for row in one.document["launches"]), "cooperative launches of sqlite")


for name, version in {"11.0": 13, "11.1": 14, "11.6": 17, **VERSIONS}.items():
    with t.case(f"CUPTI {name}: memories and devices of copies, graphs, channels, clusters, cooperative kernels"):
        one = recorded([program("cuda_kinds")], f"devices=2,version={version}")
        got, want = details(one), expected_details(version)
        t.equal(sorted(got), sorted(want), "commands")
        t.equal({key: (got[key], want[key]) for key in want if got.get(key) != want[key]}, {}, "details: (recorded, expected)")
        nodes = [end["graph_node"] for _, end, _ in commands(one) if "graph_node" in end]
        t.equal((len(nodes), len(set(nodes))), (7, 7), "each node has an id of its own")
        check_database(one)
        check_closed(one)
        check_times(one)

with t.case("a graph as a whole has its id"):
    one = recorded([program("cuda_kinds")], "devices=2", options=("--collect", "nvidia:graphs"))
    wholes = [end for launch, end, _ in commands(one) if launch["command"] == "graph"]
    t.equal([(end["graph"], end.get("graph_node")) for end in wholes], [(3, None)], "graphs")

with t.case("a recording that ends before the program gives CUPTI back"):
    one = recorded(work(kernels=2, laps=60, pace_ms=50), counting(), options=("--collect", "nvidia:cuda", "-d", "1.5"))
    calls = collections.Counter(name for name, _ in calls_of_cupti())
    t.equal([calls[name] for name in ("cuptiSubscribe", "cuptiUnsubscribe", "cuptiFinalize")], [1, 1, 1],
            "begun, ended and given back")
    t.equal(one.facts["wrong"], 0, "the program runs to its end")
    launched = one.report["ledger"]["launched"]
    t.true(2 <= launched < 120, f"launched while it was recorded: {launched}")

SILENT = "its runtime did not deliver their times"

with t.case("a recording that ends before the program reports completed commands"):
    for _ in range(5):
        one = recorded(work(kernels=9, laps=1000, pace_ms=2), "kernel_us=50", options=("--collect", "nvidia:cuda", "-d", "1.5"))
        if SILENT not in notes(one):  # a machine on which nothing ran for long
            break
    check_closed(one)
    launched = {launch["correlation"] for launch, _, _ in commands(one)}
    over = sorted(correlation for kind, correlation, _, end in one.log if end < one.document["begin_ns"] + one.report["wall_ns"])
    t.true(len(over) >= len(launched) > 0, f"{len(launched)} launched, {len(over)} over by the recording's end")
    t.equal(one.facts["wrong"], 0, "the program")

with t.case("a flush that never returns does not block the recording"):
    one = recorded(work(kernels=4, rest_ms=4000), "flush_hang=1", options=("--collect", "nvidia:cuda", "-d", "1.5"))
    t.equal((one.facts["wrong"], one.report["ledger"]["launched"], one.report["ledger"]["in_flight_at_exit"]), (0, 4, 4),
            "the program, launches, of which nothing came")
    t.true(SILENT in notes(one), notes(one))

with t.case("without a recorder the guest does nothing"):
    t.wanted()
    result = run(over_stand_in(work(kernels=3, graphs=1), "", (f"CUDA_INJECTION64_PATH={GUEST}",)))
    t.equal((result.status, text(result.stderr)), (0, ""), "status, stderr")
    traced = run(over_stand_in(work(kernels=3), "", (f"CUDA_INJECTION64_PATH={GUEST}", "LD_DEBUG=files")))
    t.true("libcupti" not in text(traced.stderr), "libcupti is not even opened")

with t.case("doctor reports the parts of CUDA"):
    t.wanted()
    document = json.loads(run([DUET, "doctor", "--json"]).stdout)
    row = next(row for row in document["collectors"] if row["name"] == "nvidia")
    checks = {check["name"]: check for check in row["checks"]} if "checks" in row else {}
    t.true("guest" in checks and "cupti" in checks, f"checks of the guest and libcupti: {row}")
    listed = text(run([DUET, "list", "collectors"]).stdout)
    t.true("CUDA" in listed, listed)
    unknown = run([DUET, "record", "--collect", "nvidia:cupti", "--", "true"])
    t.true("nvidia:cuda" in text(unknown.stderr), text(unknown.stderr))

with t.case("the cost of recording a launch is estimated from a sample"):
    own = recorded(work(kernels=5000)).report["cost"]["duet_itself"]
    t.true(own["timed_calls"] >= 4 and own["timed_ns"] > 0, f"{own}")

t.end()
