#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Level Zero programs recorded with the real loader (libze1) over the simulated driver of sim/level_zero, which logs its
work.

The program's own counts, the driver's log and the trace are compared. Times are computed, so no result depends on the
load. DUET_LEVEL_ZERO_HEADERS: folder of other headers than the installed ones.
"""
import collections
import ctypes
import ctypes.util
import json
import os
import re
import signal

import duet_test
from duet_test import DUET, PROGRAMS, ROOT, Running, Skip, program, run, text

SIM = os.path.join(duet_test.BUILD, "sim", "level_zero", "libsim-level_zero.so")
LAYERS = os.path.join(duet_test.BUILD, "level_zero")
ZEBIN = os.path.join(ROOT, "tests", "golden", "zebin", "k_bmg.bin")
PYTHON = "/usr/bin/python3"
if not os.path.exists(SIM) or not os.path.exists(os.path.join(PROGRAMS, "level_zero_work")):
    print("1..0 # SKIP no Level Zero (libze-dev): the simulated driver or its program were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

HEADERS = os.environ.get("DUET_LEVEL_ZERO_HEADERS", "/usr/include/level_zero")
# A tick of the simulated devices, at 19.2 MHz.
TICK_NS = 53
KINDS = ("kernel", "write", "read", "fill", "barrier")

Work = collections.namedtuple("Work", "pid device queue kind name start end start_ns end_ns bytes engine")
Recorded = collections.namedtuple("Recorded", "facts works document report stderr stdout")


def environment(sim="", **more):
    options = ",".join(filter(None, [sim, f"log={t.path('log')}", f"gone={t.path('gone')}"]))
    return {"ZE_ENABLE_ALT_DRIVERS": SIM, "SIM_LEVEL_ZERO": options, **more}


def read_log():
    works = []
    with open(t.path("log")) as file:
        for line in file:
            pid, device, queue, kind, name, *numbers = line.split()
            works.append(Work(int(pid), int(device), int(queue), kind, name, *map(int, numbers)))
    return works


def work(*arguments):
    return [program("level_zero_work"), ZEBIN, *arguments]


def exported(output):
    result = run([DUET, "export", "--format", "json", output, "-o", t.path("export.json")])
    t.equal(result.status, 0, f"export: {text(result.stderr)}")
    with open(t.path("export.json")) as file:
        return json.load(file)


def clear_log():
    for name in ("log", "gone"):
        if os.path.exists(t.path(name)):
            os.unlink(t.path(name))


def check_gone():
    """The driver was asked about nothing that was destroyed."""
    lines = []
    if os.path.exists(t.path("gone")):
        with open(t.path("gone")) as file:
            lines = file.read().split("\n")[:-1]
    t.equal(lines, [], "uses of destroyed objects")


def facts_of(stdout):
    """One for each process, the parent first."""
    return [json.loads(line) for line in text(stdout).splitlines() if line.startswith("{")]


def recorded(*arguments, sim="", collect="level_zero", status=0, **more):
    """A run of the program that duet records; what it prints is what it prints alone."""
    t.wanted()
    plain = run(work(*arguments), env=environment(sim, **more))
    clear_log()
    output = t.path("level_zero.duet")
    result = t.record(work(*arguments), output, ["--collect", collect], env=environment(sim, **more))
    t.equal(result.status, status, f"status: {text(result.stderr)}")
    if "fork=1" not in arguments:
        t.same_text(result.stdout, plain.stdout, "stdout")
    facts = facts_of(result.stdout)
    t.equal(sum(one["wrong"] for one in facts), 0, "values that are not what the work should have made")
    check_gone()
    return Recorded(facts, read_log(), exported(output), t.readable(output), text(result.stderr), result.stdout)


def commands(one):
    """(launch, execution or None, index of the device, kernel's name) of each."""
    document = one.document
    names = {code["id"]: code["name"] for code in document["code"]}
    ordered = {device["id"]: index for index, device
               in enumerate(sorted(document["devices"], key=lambda device: device["key"]))}
    devices = {queue["id"]: ordered[queue["device"]] for queue in document["queues"]}
    ends = {(row["process"], row["correlation"]): row for row in document["executions"]}
    threads = {thread["id"]: thread["process"] for thread in document["threads"]}
    return [(launch, ends.get((threads[launch["thread"]], launch["correlation"])),
             devices[launch["queue"]], names.get(launch["kernel"]))
            for launch in document["launches"]]


def check_counts(one):
    """Commands by device and kind, with the queues that they were put into: as the program counted."""
    wanted, got, queues = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
    for facts in one.facts:
        for queue in facts["queues"]:
            wanted.update({(queue["device"], kind): queue[kind] for kind in KINDS})
    for launch, _, device, name in commands(one):
        got[device, launch["command"]] += 1
        queues[device, launch["queue"]][launch["command"]] += 1
        t.equal(name, "saxpy" if launch["command"] == "kernel" else None, "the kernel of a launch")
        if launch["command"] in ("write", "read", "fill"):
            t.equal(launch["bytes"], 1024, f"bytes of a {launch['command']}")
        if launch["command"] == "kernel":
            t.equal((launch["global"], launch["local"]), ([256], [32]), "sizes of a launch")
    t.equal(got, +wanted, "commands by device and kind")
    by_queue = [tuple(queue[kind] for kind in KINDS) for facts in one.facts for queue in facts["queues"]]
    t.equal(sorted(tuple(counts[kind] for kind in KINDS) for counts in queues.values()), sorted(by_queue),
            "commands of each queue")


def check_all_matched(one):
    ledger = one.report["ledger"]
    t.equal((ledger["matched"], ledger["untimed"]), (ledger["launched"], 0), f"launches with their times: {ledger}")


def of_program(works):
    return [one for one in works if one.kind in ("kernel", "copy", "fill", "barrier")]


def check_times(one, most_ns=TICK_NS, all_of_them=True):
    """Every start and end is what the device wrote down, as far as the clocks' certificate says, and how long it took is
    that to a tick."""
    begin = one.document["begin_ns"]
    error = most_ns + max(clock["error_ns"] or 0 for clock in one.report["clocks"])
    left = sorted(((work.start_ns, work.end_ns) for work in of_program(one.works)))
    got = sorted((begin + end["started"], begin + end["ended"])
                 for _, end, _, _ in commands(one) if end and "started" in end)
    for start, end in got:
        match = next((true for true in left if abs(true[0] - start) <= error and abs(true[1] - end) <= error
                      and abs((end - start) - (true[1] - true[0])) <= 2 * most_ns), None)
        t.true(match is not None, f"{start} to {end} is in the device's log, within {error} ns")
        if match:
            left.remove(match)
    if all_of_them:
        t.equal(len([one_left for one_left in left if one_left[1] - one_left[0] != 1000]), 0,
                "commands of the log that the trace has no times of")
    return len(got)


def of_case(name, argument, *more, sim=""):
    """A run of level_zero_cases that duet records."""
    t.wanted()
    clear_log()
    output = t.path("case.duet")
    result = t.record([program("level_zero_cases"), name, argument, *more], output, ["--collect", "level_zero"],
                      env=environment(sim), timeout=60)
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    check_gone()
    return Recorded(facts_of(result.stdout), read_log(), exported(output), t.readable(output), text(result.stderr),
                    result.stdout)


def own_times(one):
    """{(kind, bytes): commands with times}; each of them has those of a command of the log that moved as many bytes."""
    begin, counted = one.document["begin_ns"], collections.Counter()
    error = 2 * TICK_NS + max(clock["error_ns"] or 0 for clock in one.report["clocks"])
    left = of_program(one.works)
    for launch, end, _, _ in commands(one):
        if not end or "started" not in end:
            continue
        key = (launch["command"], launch["bytes"])
        start, stop = begin + end["started"], begin + end["ended"]
        match = next((work for work in left if work.bytes == launch["bytes"] and abs(work.start_ns - start) <= error
                      and abs(work.end_ns - stop) <= error), None)
        t.true(match is not None, f"times of {key}, {stop - start} ns, are those of such a command in {left}")
        if match:
            left.remove(match)
        counted[key] += 1
    return counted


def kernels(one):
    return [code for code in one.document["code"] if code["type"] == 5]


def content_hash(path):
    """Of its bytes as a trace has it: XXH3, the lower half, as a varint."""
    found = ctypes.util.find_library("xxhash")
    if not found:
        raise Skip("libxxhash is not there")

    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    hash128 = ctypes.CDLL(found).XXH3_128bits
    hash128.restype, hash128.argtypes = Hash, [ctypes.c_char_p, ctypes.c_size_t]
    with open(path, "rb") as file:
        data = file.read()
    value, encoded = hash128(data, len(data)).low, bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7f | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


# ---- what is recorded ----

with t.case("23 launches, 7 copies to the device and 5 back: two threads, two devices, two queues each"):
    one = recorded()
    check_counts(one)
    check_all_matched(one)
    t.equal(check_times(one), 23 + 7 + 5 + 3 + 2, "commands with times")
    t.equal(len({launch["thread"] for launch in one.document["launches"]}), 2, "threads that launch")
    t.equal([(device["key"], device["name"], device["compute_units"], device["memory_bytes"], device["driver"])
             for device in sorted(one.document["devices"], key=lambda device: device["key"])],
            [(f"0000:0{3 + i}:00.0", f"Simulated Xe {i}", 160, 12 << 30, "1.3.1234") for i in range(2)], "devices")

with t.case("the module's zebin is kept as it is, the kernel is where the device has it"):
    one = recorded()
    binaries = [code for code in one.document["code"] if code["type"] == 2]
    # the same binary for two devices
    t.equal([code["size_bytes"] for code in binaries], [os.path.getsize(ZEBIN)] * 2, "bytes of the binaries")
    with open(t.path("level_zero.duet"), "rb") as file:
        t.true(content_hash(ZEBIN) in file.read(), "the trace has the file's contents, by their hash")
    t.equal(sorted(code["address"] for code in kernels(one)), [0x800000000000, 0x800000010000], "addresses of kernels")
    t.equal({code["size_bytes"] for code in kernels(one)}, {0x480}, "bytes of the kernel: its section .text.saxpy")
    t.equal({code["parent"] for code in kernels(one)}, {code["id"] for code in binaries}, "their modules")
    t.equal({(code["group_most"], code["local_bytes"], code["private_bytes"]) for code in kernels(one)},
            {(1024, 256, 64)}, "what the kernel needs")

with t.case("the stacks of appends, in lists and in immediate lists"):
    one = recorded("barriers=4")
    folded = t.folded(t.path("level_zero.duet"), "launch")
    got = collections.Counter()
    for frames, value in folded:
        if frames[-1].endswith("_[G]"):
            got[tuple(frame for frame in frames if frame.startswith("run_l") or frame in (
                "run_immediate", "append_all", "launch", "copy_there", "copy_back", "fill", "barrier")),
                frames[-1]] += value
    want = collections.Counter()
    for queue in one.facts[0]["queues"]:
        for kind, function, leaf in (("kernel", "launch", "saxpy_[G]"), ("write", "copy_there", "write_[G]"),
                                     ("read", "copy_back", "read_[G]"), ("fill", "fill", "fill_[G]"),
                                     ("barrier", "barrier", "barrier_[G]")):
            want[("run_" + queue["queue"], "append_all", function), leaf] += queue[kind]
    t.equal(got, +want, "launches by call path")

with t.case("Python's functions, by ctypes, which looks functions up in the loader itself"):
    t.wanted()
    output = t.path("python.duet")
    clear_log()
    result = t.record([PYTHON, os.path.join(ROOT, "tests", "programs", "python_level_zero.py"), ZEBIN], output,
                      ["--collect", "level_zero"], env=environment())
    t.equal((result.status, text(result.stdout)), (0, "done\n"), f"status: {text(result.stderr)}")
    counted = collections.Counter()
    for frames, value in t.folded(output, "launch"):
        if frames[-1] == "saxpy_[G]":
            counted[next((name for name in ("forward", "backward")
                          if any(name in frame for frame in frames)), None)] += value
            t.true(any("launch" in frame and "python_level_zero" in frame for frame in frames), f"launch in {frames}")
    t.equal(counted, {"forward": 5, "backward": 3}, "launches by Python function")

# The model's kinds of memory and devices by the bytes that level_zero_cases copies with them: from, to.
ENDS = {1: ("pinned", None, "device", 0), 2: ("device", 0, None, None), 3: ("pinned", None, "managed", None),
        4: ("device", 0, "device", 1), 5: ("device", 1, "device", 0), 6: ("pinned", None, "pinned", None)}

with t.case("copies have both ends' memories and devices, kernels their engines, cooperative launches their mark"):
    one = of_case("engines", ZEBIN)
    index = {device["id"]: index for index, device
             in enumerate(sorted(one.document["devices"], key=lambda device: device["key"]))}
    got, engines = collections.defaultdict(list), collections.Counter()
    for launch, end, _, name in commands(one):
        kind = "kernel" if name else "copy"
        if kind == "copy":
            got[launch["bytes"]].append((end.get("source_memory"), index.get(end.get("source_device")),
                                         end.get("destination_memory"), index.get(end.get("destination_device"))))
        engines[kind, end.get("hardware_queue")] += 1
    t.equal(got, {size: [ends, ends] for size, ends in ENDS.items()}, "memories and devices by bytes")
    # a queue that computes and copies may give its copies to another engine, so theirs are not known
    logged = collections.Counter((work.kind, work.engine if work.engine else None) for work in of_program(one.works)
                                 if work.kind in ("kernel", "copy"))
    t.equal(engines, logged, "commands by engine")
    t.equal(engines, {("copy", 5): 6, ("copy", None): 6, ("kernel", 2): 4}, "commands by engine, as the program chose")
    t.equal([launch["flags"] & 16 for launch, _, _, name in commands(one) if name], [0, 16, 16, 0], "cooperative launches")

# ---- events, lists, queues of all kinds ----

for name, arguments, sim, more in (
        ("synchronous queues", ["sync=1"], "", {}),
        ("events of the program's without time stamps, which it still has not", ["events=1"], "", {}),
        ("events of the program's with time stamps", ["events=2"], "", {}),
        ("a list that runs three times", ["runs=3"], "", {}),
        ("the same, with events of the program's", ["runs=3", "events=1"], "", {}),
        ("the same, and they go before the list is reset", ["runs=3", "events=1", "early=1"], "", {}),
        ("the same, with an event that the device resets", ["runs=3", "events=2", "reset=1", "barriers=0"], "", {}),
        ("stamps of 28 bits, a clock of 32", [], "stamp_bits=28,clock_bits=32", {}),
        ("handles of the loader's own", [], "", {"ZE_ENABLE_LOADER_INTERCEPT": "1"}),
        ("many commands", ["launches=1500", "h2d=300", "d2h=150"], "kernel_us=2", {})):
    with t.case(f"the same counts and times, {name}"):
        one = recorded(*arguments, sim=sim, **more)
        check_counts(one)
        check_all_matched(one)
        check_times(one)
        commands_counted = sum(queue[kind] for queue in one.facts[0]["queues"] for kind in KINDS)
        if "events=1" in arguments:
            t.true(one.facts[0]["refused"] > 0 and not one.facts[0]["stamps"], f"time stamps are refused: {one.facts}")
        if "events=2" in arguments:
            t.true(one.facts[0]["stamps"] > 0 and not one.facts[0]["refused"], f"time stamps are there: {one.facts}")
        if more:
            t.equal(sorted(code["address"] for code in kernels(one)), [0x800000000000, 0x800000010000],
                    "addresses of kernels")

with t.case("a list that is executed again while it runs has the times of the last run, and no wrong ones"):
    one = recorded("runs=3", "wait=0", "fills=0")
    check_counts(one)
    check_times(one, all_of_them=False)
    ledger = one.report["ledger"]
    t.equal(ledger["dropped"], 0, "dropped")
    t.true(ledger["launched"] - ledger["untimed"] >= ledger["launched"] // 3, f"launches with times: {ledger}")

with t.case("level_zero:host adds no event: launches without times"):
    one = recorded(collect="level_zero:host")
    check_counts(one)
    t.equal([end for _, end, _, _ in commands(one) if end and "started" in end], [], "executions with times")
    ends = collections.Counter((launch["command"], end.get("source_memory"), end.get("destination_memory"))
                               for launch, end, _, _ in commands(one) if launch["command"] in ("read", "write"))
    t.equal(ends, {("write", "pinned", "device"): 7, ("read", "device", "pinned"): 5}, "memories of copies")
    t.equal(one.report["ledger"]["dropped"], 0, "dropped")
    said = text(run([DUET, "report", t.path("level_zero.duet")]).stdout)
    t.true("not measured: no device times were recorded (level_zero:host, or " in said and "opencl" not in said, said[:2000])

with t.case("drivers without kernel addresses or binaries"):
    one = recorded(sim="no_base_address=1,no_binary=1")
    check_counts(one)
    check_times(one)
    t.equal([code["size_bytes"] for code in one.document["code"] if code["type"] == 2], [0, 0], "bytes of binaries")

with t.case("calls that fail are findings by the errors' names, and what comes behind them is counted as before"):
    one = recorded("bad=1")
    launched = [launch for launch in one.document["launches"] if not launch["result"]]
    t.equal(len(one.document["launches"]) - len(launched), 1, "launches that failed")
    one.document["launches"] = launched
    check_counts(one)
    check_times(one)
    found = {row["id"]: row["text"] for row in one.report["findings"] if row["id"].startswith("failed")}
    t.true("ZE_RESULT_ERROR_INVALID_KERNEL_NAME" in found.get("failed_builds", ""), f"findings: {found}")
    t.true("ZE_RESULT_ERROR_INVALID_NULL_POINTER" in found.get("failed_launches", ""), f"findings: {found}")

# ---- events that go, and that several commands signal ----

LARGE, SMALL = 1 << 23, 4096

for how in ("reset", "destroy"):
    with t.case(f"an event goes before its list ({how}) while another event has its place: both commands have times"):
        one = of_case("event_first", how)
        t.equal(own_times(one), {("copy", SMALL): 1, ("copy", LARGE): 1}, "commands with times")

for how, timed in (("event", {("copy", SMALL): 1}), ("list", {("copy", SMALL): 1}), ("mixed", {})):
    with t.case(f"one event of two commands of a list ({how}): the later one has times, where it is reset between them"):
        one = of_case("two_signallers", how)
        t.equal(own_times(one), timed, "commands with times")
        t.equal([launch["bytes"] for launch in one.document["launches"]], [LARGE, SMALL], "launches")
        t.equal(one.report["ledger"]["dropped"], 0, "dropped")

for how in ("copy", "signal"):
    with t.case(f"a command has not the times of a {how} that signals its event before it"):
        one = of_case("before", how)
        t.equal(own_times(one)["copy", SMALL], 0, "times of the later command")

for how, timed in (("one", 1), ("both", 2)):
    with t.case(f"a clone's commands signal the events of its original ({how} executed): none other has their times"):
        one = of_case("cloned", how)
        t.equal(own_times(one), {("copy", SMALL): 1}, "commands with times")
        t.equal(sum(launch["command"] == "graph" for launch in one.document["launches"]), 1, "executions of the clone")

for name in ("slow_queue", "slow_event", "slow_context", "cancelled"):
    with t.case(f"a query of the driver takes more than a second, meanwhile: {name}"):
        slow = t.path("slow")
        one = of_case(name, slow, sim=f"slow={slow},slow_ms={3600 if name == 'slow_context' else 1500}")
        t.true(text(one.stdout).endswith("done\n"), f"the program's end: {text(one.stdout)}")
        own_times(one)
        if name == "cancelled":
            t.equal(own_times(one)["copy", SMALL], 8, "copies with times behind it")

with t.case("a recorder that does not read: events are used again, and a binary is not asked for in each launch"):
    one = of_case("full", ZEBIN)
    t.true(one.facts[0]["events"] < 600, f"events of the driver's for 2200 commands: {one.facts}")
    t.true(one.facts[0]["binaries"] < 20, f"binaries asked for in 200 launches: {one.facts}")

with t.case("one append looks at so many commands as 1 ms allows"):
    one = of_case("late_look", "-", sim="query_us=200")
    t.true(1 <= one.facts[0]["queries"] <= 40, f"queries of 400 that are over: {one.facts}")

with t.case("a program that asks in a loop, and leaves all to its end"):
    one = of_case("polled", "-")
    t.equal(own_times(one), {("copy", LARGE): 1}, "commands with times")

for how in ("exp", "parameters"):
    with t.case(f"lists in an immediate list ({how}), with an event of the call's own"):
        one = of_case("appended", how)
        t.equal(own_times(one), {("copy", SMALL): 2, ("copy", LARGE): 1, ("barrier", 0): 2}, "commands with times")
        behind = one.document["launches"][-2]
        t.equal((behind["command"], behind["function"].startswith("zeCommandListImmediateAppendCommandLists")),
                ("barrier", True), "the last command of the call")
        t.true(behind["handle"], "… and the event that it signals")

for which in ("driver", "zer"):
    with t.case(f"a context that the driver has made ({which}): times, directions, and where the kernel is"):
        one = of_case("default", ZEBIN, which)
        t.equal(own_times(one), {("write", SMALL): 1, ("kernel", 0): 1}, "commands with times")
        t.equal([code["address"] for code in kernels(one)], [0x800000000000], "address of the kernel")

# ---- ways in and out ----

with t.case("the user's validation layer stays: the guest is the tracing layer, and the other way round"):
    for taken in ("ZE_ENABLE_VALIDATION_LAYER", "ZE_ENABLE_TRACING_LAYER"):
        one = recorded(**{taken: "1"})
        check_counts(one)
        check_times(one)
    one = recorded(ZE_ENABLE_VALIDATION_LAYER="0")
    check_counts(one)

with t.case("if the user has set both layers, this is reported and the program runs as without duet"):
    t.wanted()
    more = environment(ZE_ENABLE_VALIDATION_LAYER="1", ZE_ENABLE_TRACING_LAYER="1")
    output = t.path("both.duet")
    _, result = t.unharmed(work(), output, ["--collect", "level_zero"], env=more, stderr=False)
    noted = json.loads(run([DUET, "info", "--json", output]).stdout)["collectors"]
    t.equal([(row["name"], row["state"]) for row in noted if row["name"] == "level_zero"],
            [("level_zero", "refused")], "the collector's state")
    t.true(any("both set" in (row["reason"] or "") for row in noted), f"the reason: {noted}")

with t.case("a child made by fork that does the same work"):
    one = recorded("fork=1")
    check_counts(one)
    check_times(one)
    t.equal(len(one.document["processes"]), 2, "processes")
    t.equal(one.report["ledger"]["dropped"], 0, "dropped")

with t.case("killed with SIGKILL: earlier events are recorded"):
    t.wanted()
    output = t.path("killed.duet")
    clear_log()
    running = Running([DUET, "record", "--collect", "level_zero", "-o", output, "--", *work("hold=1")],
                      env=environment())
    running.wait_line('"wrong"')
    os.kill(running.program_pid("level_zero_work"), signal.SIGKILL)
    result = running.finish()
    t.equal(result.status, 128 + signal.SIGKILL, "status")
    one = Recorded(facts_of(running.head), read_log(), exported(output), t.readable(output), "", b"")
    check_counts(one)
    check_all_matched(one)
    check_times(one)

with t.case("without a recorder the loaded layer changes nothing"):
    t.wanted()
    plain = run(work("events=1"), env=environment())
    idle = run(work("events=1"), env={**environment(), "ZE_ENABLE_VALIDATION_LAYER": "1",
                                      "LD_LIBRARY_PATH": f"{LAYERS}/validation"})
    t.equal((idle.status, idle.stdout, idle.stderr), (plain.status, plain.stdout, plain.stderr), "what it says")

for version, changed in (("1.0", True), ("1.99", True), ("2.0", False), ("0.91", False)):
    with t.case(f"a loader of version {version}: tables are "
                f"{'taken' if changed else 'left as they are, and it is said'}"):
        t.wanted()
        output = t.path("version.duet")
        result = t.record([program("level_zero_loader"), version], output, ["--collect", "level_zero"])
        lines = text(result.stdout).splitlines()
        t.equal((result.status, lines[-1]), (0, "calls 2"), f"calls through: {text(result.stderr)}")
        t.equal(lines[0] == "global 0, command_list 0", not changed, f"slots that are others: {lines[0]}")
        noted = json.loads(run([DUET, "info", "--json", output]).stdout)["collectors"]
        t.equal(any("loader is not known" in (row["reason"] or "") for row in noted), not changed, f"notes: {noted}")

with t.case("each row of abi/level_zero_calls.h has the place and the parameters that the headers give it"):
    t.wanted()
    with open(os.path.join(ROOT, "src", "abi", "level_zero_calls.h")) as file:
        rows = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    found = re.findall(r"^ZE_[A-Z]+\((?:(\d+), )?(ze\w+), (\w+), (\d+), (\d+),[^(]*\(([^)]*)\)", rows, re.M)
    texts = collections.defaultdict(str)
    for name in ("ze_ddi.h", "ze_api.h", "zer_ddi.h", "zer_api.h"):
        if os.path.exists(os.path.join(HEADERS, name)):
            with open(os.path.join(HEADERS, name)) as file:
                texts[name] = re.sub(r"///.*", "", file.read())
    places, functions = {}, {}
    for prefix in ("ze", "zer"):
        for table, body in re.findall(rf"typedef struct _{prefix}_(\w+)_dditable_t\s*\{{(.*?)\}}",
                                      texts[prefix + "_ddi.h"], re.S):
            for slot, name in enumerate(re.findall(rf"{prefix}_pfn(\w+)_t\s+pfn\w+;", body)):
                places[prefix + name] = (table if prefix == "ze" else f"{prefix}_{table}", slot)
    for name, parameters in re.findall(r"ZE_APICALL\s+(ze\w+)\s*\(([^;]*?)\);", texts["ze_api.h"] + texts["zer_api.h"]):
        functions[name] = parameters.count(",") + 1
    version = max(int(minor) for minor in re.findall(r"ZE_API_VERSION_1_(\d+) =", texts["ze_api.h"]))
    t.equal(len({number for number, *_ in found if number}), len([1 for number, *_ in found if number]), "numbers")
    compared = 0
    for _, name, table, slot, minor, parameters in found:
        if int(minor) > version:
            t.true(name not in places, f"{name} is of 1.{minor}, and 1.{version} has it")
            continue
        compared += 1
        t.equal((table, int(slot)), places.get(name), f"place of {name}")
        t.equal(parameters.count(",") + 1, functions.get(name), f"parameters of {name}")
    print(f"# {compared} of {len(found)} rows compared with 1.{version}")
    t.true(compared > 60, f"{compared} rows compared")

with t.case("after a release the driver is not queried"):
    t.wanted()
    with open(os.path.join(ROOT, "src", "abi", "level_zero_calls.h")) as file:
        rows = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    callees = re.findall(r"^ZE_CALL\(\d+, (ze\w+),.*?\), (\w+), (?:NO_)?LOOK,", rows, re.M | re.S)
    releases = [(name, callee) for name, callee in callees if re.search("Destroy|Free|Evict|Unmap|ListReset", name)]
    t.true(len(releases) >= 12, f"calls that release: {releases}")
    t.equal([name for name, callee in releases if not callee.endswith("_gone")], [], "they poll")

with t.case("a collector that no hardware has run is marked: in the list, the trace, the report and its document"):
    one = recorded()
    rows = [row for row in one.document["collectors"] if row["name"] == "level_zero"]
    t.true(rows and all(row.get("unverified") for row in rows), f"the trace: {one.document['collectors']}")
    t.true(any(row["name"] == "level_zero" and row.get("unverified") for row in one.report["collectors"]), "the document")
    said = text(run([DUET, "report", t.path("level_zero.duet")]).stdout)
    t.equal(said.count("! unverified: level_zero; no hardware has run this collector"), 1, said)
    t.true("available, unverified on hardware" in text(run([DUET, "info", t.path("level_zero.duet")]).stdout), "info")
    listed = json.loads(run([DUET, "list", "collectors", "--json"]).stdout)["collectors"]
    t.equal(sorted(row["name"] for row in listed if row.get("unverified")),
            ["amd", "drm", "intel", "level_zero"], "duet list collectors --json")

with t.case("duet list and duet doctor include Level Zero"):
    t.wanted()
    listed = run([DUET, "list", "collectors"])
    t.true("level_zero" in text(listed.stdout), "list collectors")
    document = json.loads(run([DUET, "doctor", "--json"]).stdout)
    examined = {row["name"]: row for row in document["collectors"]}
    t.true("level_zero" in examined, f"doctor: {sorted(examined)}")
    checks = {check["name"]: check for check in examined["level_zero"]["checks"]}
    t.equal(sorted(checks)[:4], ["device", "driver", "guest", "loader"], "what is examined")
    t.true(checks["guest"]["ok"], f"the guest: {checks['guest']}")
    taken = json.loads(run([DUET, "doctor", "--json"], env={"ZE_ENABLE_TRACING_LAYER": "1",
                                                            "ZE_ENABLE_VALIDATION_LAYER": "1"}).stdout)
    checks = {check["name"]: check for row in taken["collectors"] if row["name"] == "level_zero"
              for check in row["checks"]}
    t.true("environment" in checks and not checks["environment"]["ok"], f"both layers taken: {checks}")

t.end()
