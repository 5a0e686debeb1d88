#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet over the simulated OpenCL driver, for cases that no CPU driver has.

The driver (sim/opencl) calls no completion callback on its own, has its own clock, and has extensions that are found
by address. Its commands can fail, hang or report wrong times. It logs in host time when each command really ran.
Commands are simulated by arithmetic, so no result depends on the load.
"""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, GUEST, Running, Skip, counted, program, run, text

DRIVER = os.environ.get("SIM_OPENCL_FOLDER") or os.path.join(duet_test.BUILD, "sim")
if not glob.glob(os.path.join(DRIVER, "*.icd")):
    print("1..0 # SKIP the simulated driver was not built: no OpenCL headers")
    raise SystemExit(0)
# for every run of this file, the one that looks for a working device included
os.environ["OCL_ICD_VENDORS"] = DRIVER

t = duet_test.Suite()

OFFSET_NS = 123456789
DRIFT_PPM = 37
DEVICE_CLOCK = f"offset_ns={OFFSET_NS},drift_ppm={DRIFT_PPM}"
TICK_NS = 52.083333  # 19.2 MHz; a driver that rounds takes a tick for 52 ns


def sim(options="", **more):
    return {"SIM_OPENCL": options, **more}


def check_counts(document, stdout, matched=None):
    """Every call and command that the program counted, and none else; matched: None for all."""
    facts = counted(stdout)
    ledger = t.ledger(document)
    calls, failed = {}, {}
    for row in document["api"]:
        calls[row["name"]] = calls.get(row["name"], 0) + row["count"]
        failed[row["name"]] = failed.get(row["name"], 0) + row["failed"]
    # the recording of a command buffer changed its parameters between versions of the extension and is
    # passed through; making, ending and enqueueing one are recorded
    expected = {name: count for name, count in {**facts["call"], **facts["extension"]}.items()
                if not name.startswith("clCommand")}
    t.equal({name: count for name, count in calls.items() if expected.get(name) != count}, {},
            f"calls of the report that differ from {expected}")
    t.equal(sorted(set(expected) - set(calls)), [], "calls that are not in the report")
    t.equal({name: failed.get(name) for name, count in facts["failed"].items()
             if name in expected and failed.get(name) != count}, {}, "failed calls that differ")
    t.equal(ledger["launched"], facts["launched"], "launched")
    t.equal(ledger["dropped"], 0, "dropped")
    if matched is None:
        t.equal(ledger["matched"], facts["launched"], f"matched of {dict(ledger)}")
        t.equal(ledger.get("untimed", 0), 0, "without device times")
        kernels = sum(row["count"] for row in document["kernels"])
        t.equal(kernels, facts["command"].get("kernel", 0), "kernels")
    else:
        t.equal(ledger["matched"], matched, f"matched of {dict(ledger)}")
    return ledger


def record_and_check(name, arguments, options="", matched=None, record_options=(), compare=True,
                     env=None):
    """One run; its report, after the counts were compared."""
    output = t.path("sim.duet")
    environment = sim(options, **(env or {}))
    command = [program(name), *arguments]
    if compare:
        _, recorded = t.unharmed(command, output, options=record_options, env=environment)
    else:
        recorded = t.record(command, output, record_options, env=environment)
    document = t.report(output)
    t.true(b"launched" in recorded.stdout, f"it ran: {text(recorded.stderr)}")
    check_counts(document, recorded.stdout, matched)
    return document, recorded


def device_clocks(document):
    names = {row["name"] for row in document["devices"]}
    return [clock for clock in document["clocks"]
            if clock["domain"] in names and clock["method"] != "none"]


# ---- counts, on a platform whose completions are polled for ----

MODES = (
    ("return", []),
    ("profiling asked for", ["--profiling"]),
    ("_exit after clFinish", ["--exit=_exit"]),
    ("kill -9 after clFinish", ["--exit=kill9"]),
    ("exit(3)", ["--exit=exit3"]),
    ("eight threads", ["--threads", "8"]),
    ("out of order", ["--out-of-order"]),
    ("eight threads, out of order", ["--threads", "8", "--out-of-order"]),
    ("blocking", ["--blocking"]),
    ("user event", ["--user-event"]),
    ("user event, out of order", ["--user-event", "--out-of-order"]),
    ("native kernels", ["--native"]),
    ("map", ["--map"]),
    ("rectangles", ["--rect"]),
    ("shared virtual memory", ["--svm"]),
    ("command buffer", ["--command-buffer"]),
    ("images", ["--image"]),
    ("copies, markers, barriers", ["--other"]),
    ("callbacks of the program", ["--callback"]),
    ("properties", ["--check-properties"]),
    ("failing calls", ["--fail"]),
    ("fork before", ["--fork=before"]),
    ("fork after", ["--fork=after"]),
    ("everything", ["--contexts", "2", "--out-of-order", "--profiling", "--fail", "--native",
                    "--map", "--rect", "--svm", "--image", "--other", "--callback",
                    "--command-buffer"]),
)

for name, arguments in MODES:
    with t.case(f"counts: {name}"):
        record_and_check("counts", arguments)

with t.case("counts: a user in 500 groups"):
    t.wanted()
    if os.geteuid() != 0:
        raise Skip("to be in many groups takes root")
    output = t.path("groups.duet")  # /proc/PID/status has all of them in front of what guests look for
    recorded = t.record(["/usr/bin/python3", "-c", "import os, sys; os.setgroups(range(10**9, 10**9 + 500)); os.execv(sys.argv[1], sys.argv[1:])",
                         program("counts")], output, env=sim())
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    check_counts(t.report(output), recorded.stdout)

FAILED_CONTEXTS = """
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1")
cl.clCreateContextFromType.restype = ctypes.c_void_p
cl.clCreateContextFromType.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
platform, error = ctypes.c_void_p(), ctypes.c_int(7)
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
properties = (ctypes.c_ssize_t * 3)(0x1084, platform.value, 0)
for kind, where in ((2, ctypes.byref(error)), (2, None), (4, ctypes.byref(error))):
    context = cl.clCreateContextFromType(properties, kind, None, None, where)
    print(context is not None, error.value)
"""

with t.case("an error is a failure, whatever object is returned with it"):
    t.wanted()
    trace = t.path("failed_context.duet")
    environment = sim("odd_context=1")
    plain = run([sys.executable, "-c", FAILED_CONTEXTS], env=environment)
    recorded = t.record([sys.executable, "-c", FAILED_CONTEXTS], trace, env=environment)
    t.equal(text(recorded.stdout), text(plain.stdout), "the program sees what the runtime wrote")
    t.equal(text(plain.stdout).splitlines()[0], "True -1", "a context and an error")
    calls = {row["name"]: (row["count"], row["failed"]) for row in t.report(trace)["api"]}
    t.equal(calls.get("clCreateContextFromType"), (3, 2), f"{calls}")

with t.case("counts: preloaded instead of a layer"):
    record_and_check("counts", [], record_options=("--preload",))

for given, options in (("OPENCL_LAYERS", ("--preload",)), ("LD_PRELOAD", ())):
    with t.case(f"counts: {given} names the guest too, nothing counts twice"):
        t.wanted()
        if not os.path.exists(GUEST):
            raise Skip("the guest is not there")
        # by a shell, so that the other way in is open in the program only, not in duet
        output = t.path("both.duet")
        recorded = t.record(["/bin/sh", "-c", f'{given}="{GUEST}" exec "$0" "$@"',
                             program("counts")], output, options, env=sim())
        t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
        check_counts(t.report(output), recorded.stdout)

with t.case("flush, sleep, one more call, _exit: all matched"):
    record_and_check("sim_extensions", ["sleep"], compare=False)

with t.case("flush, sleep, _exit without a further call: in flight, and the report says so"):
    document, _ = record_and_check("counts", ["--flush-sleep", "1"], "latency_ns=20000000",
                                   matched=0)
    t.equal(document["ledger"]["in_flight_at_exit"], 38, "in flight at exit")
    t.equal(document.get("complete"), False, "complete")
    shown = run([duet_test.DUET, "report", t.path("sim.duet")])
    t.true("in flight at exit" in text(shown.stdout) + text(shown.stderr),
           "the text says that commands were in flight")
    t.equal(shown.status, 4, "the report's status: incomplete")

with t.case("duet -- PROGRAM has the program's status, also where its report is incomplete"):
    t.wanted()
    folder = t.path("incomplete")
    os.makedirs(folder, exist_ok=True)
    both = run([duet_test.DUET, "--", program("counts"), "--in-flight", "--exit=_exit"], cwd=folder, env=sim())
    t.equal(run([duet_test.DUET, "report"], cwd=folder).status, 4, "the report's status")
    t.true("! INCOMPLETE" in text(both.stdout), f"the report: {text(both.stdout)[:300]}")
    t.equal(both.status, 0, f"status: {text(both.stderr)}")

for ending in ("_exit", "kill9"):
    with t.case(f"in flight at {ending}"):
        document, _ = record_and_check("counts", ["--in-flight", f"--exit={ending}"], matched=0)
        t.equal(document["ledger"]["in_flight_at_exit"], 38, "in flight at exit")

with t.case("commands that never end, and those behind them, are in flight"):
    document, _ = record_and_check("counts", ["--flush-sleep", "1"],
                                   "never_every=3,latency_ns=20000000", matched=0)
    t.equal(document["ledger"]["in_flight_at_exit"], 38, "in flight at exit")

# A query takes longer than duet may poll: after its first one, when the kernel runs, none is due before the end.
OWN_POLLS = "query_ns=5000000,kernel_us=150000"
for seen, launched in (("events", 1), ("blocking", 2)):
    with t.case(f"a program that sees the end of its commands by itself and _exits: {seen}"):
        t.record([program("own_polls"), seen], t.path("own.duet"), env=sim(OWN_POLLS))
        document = t.report(t.path("own.duet"))
        t.equal((document["ledger"]["launched"], document["ledger"]["matched"]), (launched, launched), "launched, matched")

with t.case("a driver that refuses profiling without setting a status: the program gets no error"):
    result = t.record([program("own_polls"), "blocking"], t.path("own.duet"), env=sim("no_profiling=1,no_success=1"))
    t.equal(result.status, 0, f"status: {text(result.stderr)}")

with t.case("out of order: commands that hang do not hide those that end"):
    document, _ = record_and_check("sim_extensions", ["stuck"], matched=60, compare=False)
    t.equal(document["ledger"]["in_flight_at_exit"], 40, "in flight at exit")

with t.case("a driver without profiling: counted, without device times"):
    document, _ = record_and_check("counts", [], "no_profiling=1", matched=38)
    t.equal(document["ledger"]["untimed"], 38, "without device times")


with t.case("a kernel with a duration of its own"):
    document, _ = record_and_check("counts", [], "kernel_us=11,us_add=47,clock=monotonic")
    lasted = {row["name"]: (row["min_ns"], row["max_ns"]) for row in document["kernels"]}
    t.equal(lasted, {"scale": (11000, 11000), "add": (47000, 47000)}, "shortest and longest execution")


# ---- commands that fail, stamps that cannot be ----

with t.case("failed commands are rejected, not lost"):
    document, _ = record_and_check("counts", [], "fail_every=7", matched=33)
    t.equal(document["ledger"]["rejected"], 5, "rejected")

for clock in ("monotonic", "device"):
    for bad, refused in (("reversed", True), ("untouched", False), ("zero", False), ("far", False)):
        with t.case(f"stamps: {bad}, {clock} clock"):
            # a stamp that was not written, is 0 or centuries away is absent: complete but untimed
            document, _ = record_and_check(
                "counts", [], f"bad_stamp_every=11,bad_stamp={bad},clock={clock},{DEVICE_CLOCK}",
                matched=35 if refused else 38)
            ledger = document["ledger"]
            t.equal(ledger["rejected"], 3 if refused else 0, "rejected")
            t.equal(ledger["untimed"], 0 if refused else 3, "untimed")
            for row in device_clocks(document):
                t.true(row["error_ns"] is not None, f"the clock is still placed: {row}")
            longest = max(row["max_ns"] for row in document["kernels"])
            t.true(longest < 10**9, f"no kernel took {longest} ns")


# ---- clocks: the truth is in the driver's log ----

def true_starts(log):
    """device index -> sorted (start, end) of its commands, host ns."""
    starts = {}
    with open(log) as file:
        for line in file:
            _, device, _, _, _, started, ended, status, bad = line.split()
            if status == "0" and bad == "0":
                starts.setdefault(int(device), []).append((int(started), int(ended)))
    return {device: sorted(rows) for device, rows in starts.items()}


def shown_starts(output):
    result = run([duet_test.DUET, "export", output, "--format", "jsonl", "--kind", "execution",
                  "--absolute"])
    rows = [json.loads(line) for line in text(result.stdout).splitlines()]
    rows = [row for row in rows if "started" in row and "ended" in row]
    return sorted((row["started"], row["ended"]) for row in rows)


def clock_case(options, arguments, name="sim_extensions"):
    """Records with a log of the truth; (clock of the device, greatest distance from the truth)."""
    log, output = t.path("truth"), t.path("sim.duet")
    if os.path.exists(log):
        os.unlink(log)
    document, _ = record_and_check(name, arguments, f"{options},log={log}", compare=False)
    clocks = device_clocks(document)
    t.equal(len(clocks), 1, f"clocks of devices in {document['clocks']}")
    true, shown = true_starts(log).get(0, []), shown_starts(output)
    t.equal(len(shown), len(true), "executions with times")
    worst = max((abs(a - b) for pair in zip(true, shown) for a, b in zip(*pair)), default=None)
    print(f"# {clocks[0]['method']}: off by {worst} ns at most, said {clocks[0]['error_ns']}, "
          f"drift {clocks[0].get('drift_ppb')} ppb, {clocks[0]['bounds']} bounds")
    return clocks[0], worst


def check_error(clock, worst, method, slack_ns=1):
    """slack_ns: rounding to whole ns, and one step of a clock that ticks more coarsely."""
    t.equal(clock["method"], method, "method")
    t.equal(clock["violations"], 0, "violations")
    t.true(clock["error_ns"] is not None and worst <= clock["error_ns"] + slack_ns,
           f"|truth - estimate| = {worst} ns is within {clock['error_ns']} ns")


errors = {}
for method, options in (("hull", f"clock=hull,{DEVICE_CLOCK}"),
                        ("pairs", f"clock=pairs,{DEVICE_CLOCK}")):
    with t.case(f"clock: offset and drift, {method}"):
        clock, worst = clock_case(options, ["rounds", "1500"])
        check_error(clock, worst, method)
        # host = device / (1 + drift): the host runs slower than the device
        t.true(abs(clock["drift_ppb"] + DRIFT_PPM * 1000) < 10000,
               f"drift {clock['drift_ppb']} ppb of {-DRIFT_PPM * 1000}")

with t.case("clock: a short run has no drift to show"):
    clock, worst = clock_case(f"clock=hull,offset_ns={OFFSET_NS}", ["rounds", "3"])
    check_error(clock, worst, "hull")
    t.true("drift_ppb" not in clock, f"{clock}")
    line = [row for row in text(run([DUET, "report", t.path("sim.duet")]).stdout).splitlines() if " hull " in row]
    t.true(line and "ppm" not in line[0], f"{line}")

for method in ("hull", "pairs"):
    with t.case(f"clock: a run of some milliseconds, {method}"):
        clock, worst = clock_case(f"clock={method},{DEVICE_CLOCK}", ["rounds", "5"])
        check_error(clock, worst, method)
        errors[method] = clock["error_ns"]
    with t.case(f"clock: 19.2 MHz, {method}"):
        clock, worst = clock_case(f"clock={method},{DEVICE_CLOCK},tick_ns={TICK_NS}",
                                  ["rounds", "300"])
        check_error(clock, worst, method, 53)

# in a long run with blocking calls causality alone can be as tight: what pairs are for is the short one
with t.case("clock: pairs are tighter than the hull"):
    t.wanted()
    if len(errors) < 2:
        raise Skip("not both were measured")
    t.true(errors["pairs"] < errors["hull"], f"{errors}")

with t.case("clock: 19.2 MHz whose period is rounded, hull"):
    clock, worst = clock_case(f"clock=hull,{DEVICE_CLOCK},tick_ns={TICK_NS},tick_reads_ns=52",
                              ["rounds", "300"])
    check_error(clock, worst, "hull", 53)

for shown_clock, domain in (("monotonic", "MONOTONIC"), ("raw", "MONOTONIC_RAW"),
                            ("realtime", "REALTIME"), ("tsc", "TSC")):
    with t.case(f"clock: it is {domain}"):
        clock, worst = clock_case(f"clock={shown_clock}", ["rounds", "100"])
        # a machine that never slept has MONOTONIC and BOOTTIME in one, as far as a pair can tell
        t.true(clock.get("is") == domain or
               (domain, clock.get("is")) == ("MONOTONIC", "BOOTTIME"), f"{clock}")
        t.true(clock["error_ns"] <= 2000, f"exact to a pairing window: {clock}")
        # the driver reads the other clock beside ours, which has a window too
        check_error(clock, worst, clock["method"], 200)


# ---- extensions, devices, cost ----

with t.case("copies of 100 ns: one after the other, and the trace has their times"):
    log, output = t.path("copies"), t.path("sim.duet")
    recorded = t.record([program("paced"), "5000", "0"], output,
                        env=sim(f"clock=monotonic,copy_ns=100,latency_ns=0,log={log}"))
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    true = true_starts(log)[0]
    t.equal((len(true), {ended - started for started, ended in true}), (5000, {100}), "writes, and their times")
    t.true(all(a[1] <= b[0] for a, b in zip(true, true[1:])), "no write begins before the end of the last one")
    t.true(shown_starts(output) == true, "the trace has the same times")
    for value in ("0", "-1", "1.5"):
        result = run([program("paced"), "1", "0"], env=sim(f"copy_ns={value}"))
        t.true(result.status != 0 and "sim-opencl: SIM_OPENCL" in text(result.stderr), f"copy_ns={value} is refused")

with t.case("extensions: every call by name, every enqueue in the ledger"):
    document, _ = record_and_check("sim_extensions", ["extensions"])
    rows = {row["command"]: row["count"] for row in document.get("other_commands", [])}
    t.equal(rows.get("graph"), 2, f"command buffers of {rows}")
    t.equal(rows.get("semaphore"), 2, f"semaphores of {rows}")
    copies = {row["direction"]: row for row in document["copies"]}
    t.equal(copies.get("migrate", {}).get("bytes"), 4096, f"bytes of migrations of {copies}")
    t.equal(copies.get("copy", {}).get("bytes"), 4096 + 2048, "bytes of USM copies")

for how in ("opencl", "opencl:host"):
    with t.case(f"migrations were requested, with and without device times ({how})"):
        t.unharmed([program("sim_extensions"), "extensions"], t.path("sim.duet"), options=("--collect", how), env=sim(""))
        exported = json.loads(run([duet_test.DUET, "export", "--format", "json", t.path("sim.duet")]).stdout)
        ends = {row["correlation"]: row for row in exported["executions"]}
        causes = collections.Counter((row["command"] == "migrate", ends[row["correlation"]].get("migration"))
                                     for row in exported["launches"] if row["correlation"] in ends)
        t.equal(causes[True, "requested"], 1, f"migrations that were requested: {causes}")
        t.equal(set(causes), {(True, "requested"), (False, None)}, "causes of others")

for preload in ((), ("--preload",)):
    with t.case(f"extensions, {'preloaded' if preload else 'as a layer'}: matched and timed"):
        record_and_check("sim_extensions", ["extensions"], record_options=preload)

for identity in ("uuid=1,pci=0", "uuid=0,pci=1", "uuid=0,pci=2", "uuid=0,pci=3", "uuid=0,pci=0"):
    with t.case(f"two devices of one name: {identity}"):
        document, _ = record_and_check("sim_extensions", ["devices"], f"devices=2,{identity}")
        rows = [row for row in document["devices"] if row.get("executions")]
        t.equal([(row["name"], row["executions"]) for row in rows], [("Simulated GPU", 5)] * 2,
                "devices")
        t.equal(len({row.get("key", row.get("id")) for row in rows}), 2, "they have two identities")
    if identity == "uuid=0,pci=0":
        continue  # nothing but their order tells them apart
    with t.case(f"two processes that count the devices differently: {identity}"):
        t.wanted()
        output = t.path("order.duet")
        one = (f'SIM_OPENCL=devices=2,{identity} "$0" devices >/dev/null; '
               f'SIM_OPENCL=devices=2,{identity},first=1 "$0" devices >/dev/null')
        recorded = t.record(["/bin/sh", "-c", one, program("sim_extensions")], output)
        t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
        rows = [row for row in t.report(output)["devices"] if row.get("executions")]
        t.equal([row["executions"] for row in rows], [10, 10], "executions of the two devices")

for mode, number in (("kernels", 30000), ("live", 30000), ("queues", 20000)):
    with t.case(f"many objects: {number} {mode}"):
        document, recorded = record_and_check("sim_extensions", [mode, str(number)], "kernel_us=1",
                                              compare=False)
        t.equal(recorded.status, 0, "status")
        t.equal([(row["name"], row["count"]) for row in document["kernels"]],
                [("scale", number + (1000 if mode == "queues" else 0))], "kernels by name")
        if mode == "queues":
            plain = run([program("sim_extensions"), mode, str(number)], env=sim("kernel_us=1"))
            waits = [int(re.search(r"time_ns (\d+)", text(result.stdout)).group(1)) / 1000
                     for result in (plain, recorded)]
            print(f"# a wait for what is over, 20000 queues: {waits[0]:.0f} ns, "
                  f"recorded {waits[1]:.0f} ns")

with t.case("more threads than rings: their launches are counted as lost launches"):
    t.wanted()
    output = t.path("threads.duet")
    recorded = t.record([program("sim_extensions"), "threads", "140"], output, env=sim())
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    ledger = t.ledger(t.report(output))
    # 128 rings, one of them the main thread's
    t.equal((ledger["launched"], ledger["dropped"]), (3 * 140, 3 * 13), f"ledger {dict(ledger)}")

with t.case("profiling switched on later: the program gets its time stamps"):
    record_and_check("sim_extensions", ["property"])

with t.case("a queue and a kernel first used while the rings are full are known afterwards"):
    t.wanted()
    output = t.path("full.duet")
    background = Running([DUET, "record", "-o", output, "--", program("sim_extensions"), "full"],
                         env=sim(), stdin=subprocess.PIPE)
    background.wait_line("begun")
    time.sleep(0.3)
    os.kill(background.pid, signal.SIGSTOP)
    background.say("go on")
    background.wait_line("filled")
    os.kill(background.pid, signal.SIGCONT)
    time.sleep(0.5)
    background.say("go on")
    t.equal(background.finish().status, 0, "status")
    document = t.report(output)
    ledger = t.ledger(document)
    t.true(any(row["kind"] == "api" for row in document["losses"]), f"{document['losses']}")
    t.equal((ledger["launched"], ledger["dropped"], ledger["matched"]), (16, 5, 11),
            f"ledger {dict(ledger)}")
    t.equal({row["name"]: row["count"] for row in document["kernels"]}, {"scale": 11}, "kernels")
    t.equal(sum(row["executions"] for row in document["devices"]), 11, "executions of known devices")

with t.case("polling where a query takes 1600 ns"):
    t.wanted()
    options = sim("query_ns=1600,kernel_us=2")
    command = [program("sim_extensions"), "burst", "4000"]
    times = {}
    for name, recorded in (("without", False), ("with", True), ("host only", True)):
        output = t.path("cost.duet")
        took = []
        for _ in range(3):
            more = ("--collect", "opencl:host") if name == "host only" else ()
            result = (t.record(command, output, more, env=options) if recorded
                      else run(command, env=options))
            found = re.search(r"time_ns (\d+)", text(result.stdout))
            t.true(found, f"it ran: {text(result.stderr)}")
            took.append(int(found.group(1)) if found else 0)
        times[name] = min(took)
        if name == "with":
            check_counts(t.report(output), result.stdout)
    # five queries a command are 8 µs that no tool avoids that wants its status and four times
    print("# " + ", ".join(f"{name} {ns / 4000:.0f} ns a command" for name, ns in times.items())
          + f"; ratio {times['with'] / times['without']:.2f}")

t.end()
