#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with a planted fault, and the same programs without it: the report has the finding only with the fault.
tests/unit/analyze/test_findings.py tests exact times; here times come from a driver and a machine.
"""
import json
import math
import os
import signal
import subprocess
import sys

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite()
SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim")}


def sim(options):
    return dict(SIM, SIM_OPENCL=options)


def record(name, command, env, options=()):
    trace = t.path(name + ".duet")
    recorded = t.record(command, trace, options=options, env=env)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    return trace, text(recorded.stdout)


def planted(name, env, *arguments, options=()):
    """(the report, {what the program says: number})"""
    trace, said = record(name, [program("planted"), *arguments], env, options)
    told = dict(line.split() for line in said.splitlines())
    return t.report(trace), {key: int(value) for key, value in told.items()}


def find(document, name):
    found = [row for row in document["findings"] if row["id"] == name]
    t.true(len(found) <= 1, f"{name} once: {found}")
    return found[0] if found else None


def near(got, want, share, what):
    t.true(got is not None and abs(got - want) <= share * want, f"{what}: got {got}, want {want}")


# 1 MiB at 1 GB/s and kernels of 1 ms: some 1.05 ms each
COPIES = "kernel_us=1000,copy_gbps=1,engines=2"

with t.case("copies and kernels in one queue, and in two"):
    document, _ = planted("turns", sim(COPIES), "turns", "100", "1048576")
    found = find(document, "no_overlap")
    t.true(found, f"found, of {document['findings']}")
    near(found and found["evidence"]["copies_ns"], 100 * 1048576, 0.001, "copies")
    near(found and found["evidence"]["kernels_ns"], 100 * 1000000, 0.001, "kernels")
    near(found and found["evidence"]["saved_at_most_ns"], 100 * 1000000, 0.001, "to be saved")
    document, _ = planted("beside", sim(COPIES), "beside", "100", "1048576")
    t.equal(find(document, "no_overlap"), None, "two queues")

with t.case("copies whose calls wait"):
    document, _ = planted("sync", sim(COPIES), "sync", "100", "1048576")
    found = find(document, "sync_copies")
    t.equal(found and (found["evidence"]["count"], found["evidence"]["bytes"]), (100, 100 * 1048576),
            "how many")
    # each waits for the kernel before it too
    t.true(found and found["evidence"]["waited_ns"] > 0.99 * (100 * 1048576 + 99 * 1000000), f"{found}")
    t.equal(find(planted("turns", sim(COPIES), "turns", "100", "1048576")[0], "sync_copies"), None,
            "copies that do not wait")

FAILING = """
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1")
for name in ("clCreateContext", "clCreateProgramWithSource"):
    getattr(cl, name).restype = ctypes.c_void_p
platform, device, error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None)
context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))


def make(source):
    text = ctypes.c_char_p(source)
    made = cl.clCreateProgramWithSource(ctypes.c_void_p(context), 1, ctypes.byref(text), None, ctypes.byref(error))
    return cl.clBuildProgram(ctypes.c_void_p(made), 1, ctypes.byref(device), b"", None, None)


print("failed", -make(b"__kernel void k(__global flot *a) { a[0] = 1; }"))
"""

with t.case("a build that fails in a program that launches nothing: its place, and the error in its log"):
    path = t.path("build.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAILING)
    for stacks in ("all", "none"):
        trace, said = record("build", ["/usr/bin/python3", path], {"POCL_DEVICES": "basic"}, options=("--stacks", stacks))
        t.equal(said.split(), ["failed", "11"], "the program")
        found = find(t.report(trace), "failed_builds")
        t.true(found and "flot" in found["evidence"].get("log", ""), f"its log: {found}")
        if stacks == "all":
            t.equal(found and [found["evidence"].get(key) for key in ("function", "file", "line")], ["make", path, 15], "its place")
            t.true(found and "called by make (build.py:15); the log of program" in found["text"], f"{found}")

with t.case("13 queues against one"):
    document, _ = planted("serial", sim("kernel_us=500,engines=1"), "queues", "13", "20")
    found = find(document, "serial_queues")
    t.equal(found and (found["evidence"]["queues"], found["evidence"]["several_ns"]), (13, 0), f"{document['findings']}")
    t.true(found and found["evidence"]["waited"] >= 12 * 20 * 0.9, f"{found}")
    t.equal(find(planted("wide", sim("kernel_us=500,engines=16"), "queues", "13", "20")[0],
                 "serial_queues"), None, "where they run beside each other")
    t.equal(find(planted("one", sim("kernel_us=500,engines=1"), "queues", "1", "200")[0],
                 "serial_queues"), None, "one queue")

with t.case("kernels shorter than their launch"):
    found = find(planted("tiny", sim("kernel_us=0.02"), "kernels", "30000")[0], "tiny_kernels")
    t.true(found and found["evidence"]["count"] > 27000 and found["evidence"]["mean_ns"] <= 21, f"{found}")
    t.equal(find(planted("long", sim("kernel_us=400"), "kernels", "300")[0], "tiny_kernels"), None, "400 us")

with t.case("too few work-groups, and enough"):
    document, _ = planted("few", sim("kernel_us=1000"), "grid", "512", "64", "100")
    found = find(document, "low_occupancy")
    t.equal(found and {key: found["evidence"].get(key) for key in (
        "kernel", "groups", "items", "units", "group_multiple", "group_most", "few_groups")},
            {"kernel": "work", "groups": 8, "items": 64, "units": 32, "group_multiple": 32,
             "group_most": 1024, "few_groups": 100}, f"{document['findings']}")
    document, _ = planted("odd", sim("kernel_us=1000"), "grid", "8160", "34", "100")
    found = find(document, "low_occupancy")
    t.equal(found and (found["evidence"]["items"], found["evidence"].get("odd_size")), (34, 100), f"{found}")
    document, _ = planted("processor", sim("kernel_us=1000,cpu=1"), "grid", "8160", "34", "100")
    t.equal(find(document, "low_occupancy"), None, "a CPU has no lanes")
    document, _ = planted("asked", sim("kernel_us=1000,local_bytes=40000"), "grid", "16384", "64", "100")
    found = find(document, "low_occupancy")
    t.equal(found and (found["evidence"]["local_bytes"], found["evidence"]["unit_local_bytes"]),
            (40000, 65536), "local memory")
    for options, size, group in (("", "16384", "64"), (",no_needs=1,local_bytes=40000", "8160", "34")):
        document, _ = planted("full", sim("kernel_us=1000" + options), "grid", size, group, "100")
        t.equal(find(document, "low_occupancy"), None, f"{size} in groups of {group}{options}")

with t.case("a kernel's resource needs are queried once from PoCL"):
    trace, _ = record("needs", [program("planted"), "grid", "512", "64", "20"], {})
    rows = [json.loads(line) for line in text(run(
        [DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()]
    kernels = [row for row in rows if row["kind"] == "code" and row["name"] == "work" and "group_most" in row]
    t.equal(len(kernels), 1, "kernels")
    device = [row for row in rows if row["kind"] == "device"][0]
    t.equal(kernels[0].get("device"), device["id"], "for the device of its queue")
    t.true(kernels[0].get("group_most", 0) >= 64 and kernels[0].get("group_multiple", 0) >= 1, f"{kernels}")
    t.true(device.get("local_bytes", 0) > 0, f"{device}")

with t.case("starved and blocked queues, with the cause"):
    env = sim("kernel_us=1000")
    trace, said = record("idle", [program("idle_causes"), "100", "4", "6"], env, ("--collect", "opencl,cpu"))
    told = dict(line.split() for line in said.splitlines())
    document = t.report(trace)
    for name, function, key in (("starved_queue", "compute_b", "on_cpu_ns"), ("blocked_host", "sleep_a", "blocked_ns")):
        found = find(document, name)
        t.equal(found and found["evidence"].get("function"), function, f"{name}: {document['findings']}")
        near(found and found["evidence"][key], int(told[function]), 0.1, f"{name} of {told}")
    document, _ = planted("busy_device", sim("kernel_us=1000"), "kernels", "300", options=("--collect", "opencl,cpu"))
    for name in ("starved_queue", "blocked_host"):
        t.equal(find(document, name), None, f"{name} of a device that is busy")
    # what computes is the program's own code; a sample in the kernel of the operating system is an interrupt or a clock
    rows = t.report(trace)["host_layers"]
    own = sum(row["weight"] for row in rows if row["layer"] == "own" and row["threads"] == "launching")
    in_all = sum(row["weight"] for row in rows if row["threads"] == "launching" and row["layer"] != "kernel")
    t.true(own > 0.8 * in_all, f"own code: {own} of {in_all}")

with t.case("preempted by a process on the same processor"):
    t.wanted()
    cpu = str(max(os.sched_getaffinity(0)))
    env = dict(sim("kernel_us=1000"), PLANTED_CPU=cpu)
    hog = subprocess.Popen([program("planted"), "hog"], env={**os.environ, "PLANTED_CPU": cpu},
                           preexec_fn=duet_test.default_signals)
    try:
        document, told = planted("pinned", env, "compute", "60", "10", options=("--collect", "opencl,cpu"))
    finally:
        hog.send_signal(signal.SIGKILL)
        hog.wait()
    found = find(document, "cpu_preemption")
    t.true(told["away"] > 0.25 * told["compute"], f"it was preempted: {told}")
    t.true(found, f"{document['findings']}")
    near(found and found["evidence"]["preempted_ns"], told["away"], 0.1, "preempted")
    launches = found["evidence"]["launches"] if found else []
    t.equal(launches[0]["name"] if launches else None, "work", "what it delayed")
    near(sum(row["preempted_ns"] for row in launches), found["evidence"]["preempted_ns"] if found else 0, 0.001, "launches")

with t.case("on any processor, as often as the machine has something else to do"):
    document, told = planted("free", sim("kernel_us=1000"), "compute", "30", "10", options=("--collect", "opencl,cpu"))
    # what the program itself tells has what the virtual machine was without, too
    preempted = document["devices"][0]["idle_causes"]["preempted"]
    t.true(preempted < 1.1 * told["away"] + 5e6, f"preempted {preempted} of {told}")
    share = preempted / document["wall_ns"]
    found = find(document, "cpu_preemption")
    print(f"# preempted for {100 * share:.1f} % of the wall, {'' if found else 'not '}found")
    if share < 0.015 or share > 0.025:
        t.equal(found is not None, share > 0.02, f"found at {share}")

with t.case("two processes on one PoCL device"):
    pair = f"'{program('planted')}' busy 1500 & '{program('planted')}' busy 1500; wait"
    document = t.report(record("shared", ["/bin/sh", "-c", pair], {})[0])
    t.equal(len(document["devices"]), 1, "one device")
    found = find(document, "device_shared")
    users = found["evidence"]["processes"] if found else []
    t.equal([row["name"] for row in users], ["planted"] * 2, f"{document['findings']}")
    t.equal(sum(row["share_ns"] for row in users), document["devices"][0]["busy_ns"], "shares add up")
    # both want both processors for the same 1.5 s
    t.true(found and found["evidence"]["overlap_ns"] > 0.3 * found["evidence"]["busy_ns"], f"{found}")
    document = t.report(record("alone", [program("planted"), "busy", "300"], {})[0])
    t.equal(find(document, "device_shared"), None, "one process")
    pair = f"'{program('planted')}' busy 300; '{program('planted')}' busy 300"
    document = t.report(record("after", ["/bin/sh", "-c", pair], {})[0])
    t.equal(find(document, "device_shared"), None, "one after the other")

LAYERED = """
import time, sys
import numpy
import pyopencl
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
pyopencl.enqueue_marker(queue)
queue.finish()
told = {"python": 0, "framework": 0}
a = numpy.ones(16384)
b = numpy.ones(16384)
def spin():
    x = 0
    for i in range(20000):
        x += i & 3
def add():
    for i in range(100):
        numpy.add(a, b, out=b)
while sum(told.values()) < 2e9:
    for name, work, times in ("python", spin, 2), ("framework", add, 1):
        begin = time.thread_time_ns()
        for _ in range(times):
            work()
        told[name] += time.thread_time_ns() - begin
for name, ns in told.items():
    print(name, ns)
"""

with t.case("Python and numpy, by layer"):
    if run([sys.executable, "-c", "import numpy, pyopencl"]).status != 0:
        raise duet_test.Skip("no PyOpenCL")
    trace, said = record("layers", [sys.executable, "-c", LAYERED], sim("kernel_us=100"), ("--collect", "opencl,cpu"))
    told = {key: int(value) for key, value in (line.split() for line in said.splitlines())}
    rows = [row for row in t.report(trace)["host_layers"] if row["threads"] == "launching"]
    count = sum(row["samples"] for row in rows)
    t.equal({row["unit"] for row in rows}, {"ns"}, "units")
    for layer, ns in told.items():
        got = sum(row["weight"] for row in rows if row["layer"] == layer)
        # binomial, and what starting takes, which is of both
        share = ns / sum(told.values())
        spread = 5 * math.sqrt(share * (1 - share) / count) + 0.05
        whole = sum(row["weight"] for row in rows if row["layer"] in told)
        t.true(abs(got / whole - share) < spread + 1e9 * 0.2 / sum(told.values()),
               f"{layer}: {got / whole:.3f} of {count} samples, took {share:.3f}")

with t.case("waiting for a device with Python's lock, and without it"):
    script = os.path.join(duet_test.ROOT, "tests", "programs", "python_cpu.py")
    for keeps in (1, 0):
        trace, said = record(f"finish{keeps}", [sys.executable, script, "finish", "15", str(keeps)], sim("kernel_us=20000"),
                             options=("--collect", "opencl,cpu"))
        document, took = t.report(trace), int(said.split()[1])
        found = find(document, "wait_under_gil")
        if not keeps:
            t.equal(found, None, "the lock was let go")
            continue
        # who waits for the lock wakes up every 5 ms, and some of these waits are looked at
        t.true(found, f"found, of {[row['id'] for row in document['findings']]}")
        t.true(found and 0.05 * took < found["evidence"]["blocked_ns"] < 1.02 * took, f"{found}, took {took}")
        t.equal(found and found["evidence"]["function"], "finish", "by whom")

t.end()
