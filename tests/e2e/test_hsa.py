#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ROCm programs recorded with the real ROCr over the simulated GPU of sim/amd, which logs its work.

The program's own counts, the GPU's log and the trace are compared. The GPU's times are computed, so no result depends
on the load. DUET_TEST_RUNS: number of repetitions (3). DUET_ROCR: a folder with the libraries of another ROCr to use
instead of the installed one, and, if they need it, the loader of another libc.
"""
import collections
import json
import os
import re
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, PROGRAMS, Running, Skip, program, run, text

LIBRARY = os.path.join(duet_test.BUILD, "sim", "amd", "libsim-kfd.so")
GUEST = os.path.join(duet_test.BUILD, "libduet-amd.so")
if not os.path.exists(LIBRARY) or not os.path.exists(os.path.join(PROGRAMS, "hsa_work")):
    print("1..0 # SKIP no ROCr (libhsa-runtime-dev): the simulated GPU or its programs were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()

ROCR = os.environ.get("DUET_ROCR")
RUNS = int(os.environ.get("DUET_TEST_RUNS", "3"))
# The GPU's counter ticks every 10 ns, ROCr interpolates between pairs of clocks.
STAMP_NS = 100

Work = collections.namedtuple("Work", "kind gpu queue start end name")
Recorded = collections.namedtuple("Recorded", "facts works document report stderr")


def work(arguments, sim="", environment=()):
    """The command of a program over the simulated GPU; duet itself has nothing of it."""
    log = t.path("log")
    if os.path.exists(log):
        os.unlink(log)
    options = ",".join(filter(None, [sim, f"log={log}"]))
    started = [program("hsa_work")]
    if ROCR:
        loader = os.path.join(ROCR, "ld-linux-x86-64.so.2")
        environment = (*environment, f"LD_LIBRARY_PATH={ROCR}")
        started = [loader, "--library-path", ROCR, *started] if os.path.exists(loader) else started
    return ["env", f"LD_PRELOAD={LIBRARY}", f"SIM_KFD={options}", *environment, *started, *arguments,
            "code=" + program("hsa_kernels.gfx90a")]


def read_log():
    """The program's own pieces of work: fills and copies by kernels of ROCr's are not."""
    works = []
    with open(t.path("log")) as file:
        for line in file:
            kind, _, gpu, queue, _, start, end, _, name = line.split()
            if kind == "copy" or name in ("fill", "vector_add", "idle"):
                works.append(Work(kind, int(gpu), int(queue), int(start), int(end), name))
    return works


def exported(output):
    result = run([DUET, "export", "--format", "json", output, "-o", t.path("export.json")])
    t.equal(result.status, 0, f"export: {text(result.stderr)}")
    with open(t.path("export.json")) as file:
        return json.load(file)


def recorded(arguments, sim="", mode="amd", status=0, environment=(), env=None, command=()):
    t.wanted()
    output = t.path("hsa.duet")
    result = t.record([*command, *work(arguments, sim, environment)], output, ["--collect", mode], env=env)
    t.equal(result.status, status, f"status: {text(result.stderr)}")
    facts = json.loads(result.stdout)
    t.equal(facts["wrong"], 0, "words that are not what the work should have made")
    return Recorded(facts, read_log(), exported(output), t.readable(output), text(result.stderr))


def commands(one):
    """By correlation: (launch, execution or None, device, kernel's name)."""
    document = one.document
    names = {code["id"]: code["name"] for code in document["code"]}
    devices = {queue["id"]: queue["device"] for queue in document["queues"]}
    ends = {(row["process"], row["correlation"]): row for row in document["executions"]}
    threads = {thread["id"]: thread["process"] for thread in document["threads"]}
    return [(launch, ends.get((threads[launch["thread"]], launch["correlation"])),
             devices[launch["queue"]], names.get(launch["kernel"]))
            for launch in document["launches"]]


def gpus(document):
    """Device id -> index: the PCI bus of the simulated GPUs counts on."""
    ordered = sorted(document["devices"], key=lambda device: device["key"])
    return {device["id"]: index for index, device in enumerate(ordered)}


def check_counts(one):
    """Kernels by GPU and name, copies by GPU and direction with their bytes: as the program counted."""
    index = gpus(one.document)
    wanted, copied, got, moved = (collections.Counter() for _ in range(4))
    for number, gpu in enumerate(one.facts["gpus"]):
        for queue in gpu["queues"]:
            for name in ("fill", "vector_add", "idle"):
                wanted[number, name] += queue[name]
        for kind, command in (("h2d", "write"), ("d2h", "read"), ("d2d", "copy"), ("copy_now", "read"),
                              ("fill_now", "fill")):
            wanted[number, command] += gpu[kind]["count"]
            copied[number, command] += gpu[kind]["bytes"]
    for launch, _, device, name in commands(one):
        got[index[device], name or launch["command"]] += 1
        if not name:
            moved[index[device], launch["command"]] += launch["bytes"]
    t.equal(got, +wanted, "commands by GPU and kind")
    t.equal(moved, +copied, "bytes by GPU and direction")


def check_matched(one, in_flight=0):
    ledger = one.report["ledger"]
    t.equal(ledger["matched"] + in_flight, ledger["launched"], f"launches with their times: {ledger}")
    t.equal((ledger["dropped"], ledger["in_flight_at_exit"]), (0, in_flight), "dropped, in flight")


def awake(works, slept_ns):
    """What they would be if the machine had not slept so long, once, between two of them."""
    ordered = sorted(works, key=lambda one: one.start)
    first = next((i for i in range(1, len(ordered)) if ordered[i].start - ordered[i - 1].end >= slept_ns), None)
    t.true(first is not None, f"the log shows a sleep of {slept_ns} ns")
    return ordered[:first] + [one._replace(start=one.start - slept_ns, end=one.end - slept_ns)
                              for one in ordered[first:]]


def check_times(one, most_ns=STAMP_NS):
    """Every start and end is what the GPU wrote down, as far as the clocks' certificate says."""
    begin = one.document["begin_ns"]
    error = most_ns + max(clock["error_ns"] or 0 for clock in one.report["clocks"])
    want = sorted((work.start, work.end) for work in one.works)
    got = sorted((begin + end["started"], begin + end["ended"])
                 for _, end, _, _ in commands(one) if end and "started" in end)
    t.equal(len(got), len(want), "commands with times")
    off = [(a, b) for a, b in zip(got, want) if abs(a[0] - b[0]) > error or abs(a[1] - b[1]) > error]
    t.equal(off[:3], [], f"times that are off by more than {error} ns")


with t.case("every dispatch and copy, exactly: two queues, four GPUs, three processes at once"):
    for _ in range(RUNS):
        t.wanted()
        started = []
        for number in range(3):
            output = t.path(f"hsa.{number}.duet")
            started.append((output, subprocess.Popen(
                [DUET, "record", "--collect", "amd", "-o", output, "--", *work(["work"], "gpus=4")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=duet_test.clean_environment())))
        for output, process in started:
            stdout, stderr = process.communicate(timeout=120)
            t.equal(process.returncode, 0, f"status: {text(stderr)}")
            one = Recorded(json.loads(stdout), [], exported(output), t.readable(output), "")
            check_counts(one)
            check_matched(one)
            t.equal(one.report["ledger"]["launched"], 4 * 37, "launches")

with t.case("times are the GPU's, in one process and on one thread of its own row"):
    one = recorded(["work", "wait=1"])
    check_counts(one)
    check_matched(one)
    check_times(one)
    t.equal(len(one.document["processes"]), 1, "processes")
    t.equal({launch["function"] for launch, _, _, _ in commands(one)},
            {"AQL dispatch", "hsa_amd_memory_async_copy", "hsa_memory_copy", "hsa_amd_memory_fill"}, "what launches")
    sizes = {(tuple(launch["global"]), tuple(launch["local"]))
             for launch, _, _, name in commands(one) if name}
    t.equal(sizes, {((256,), (64,))}, "sizes")

COPY = "hsa_amd_memory_async_copy"
# Memory and device of the source, then of the destination. The agent of a box only copies it.
ENDS = {(COPY, "write"): (None, None, "device", "own"), (COPY, "read"): ("device", "own", None, None),
        (COPY, "copy"): ("device", "own", "device", "own"),
        (COPY + "_rect", "write"): (None, None, "device", None), (COPY + "_rect", "read"): ("device", None, None, None),
        ("hsa_memory_copy", "read"): ("device", "own", "pinned", None),
        ("hsa_amd_memory_fill", "fill"): (None, None, "device", "own")}

with t.case("dispatches have the runtime's number of their queue and their local memory, copies both their ends"):
    one = recorded(["work", "d2d=3", "boxes=1", "local=512"], "gpus=2")
    check_counts(one)
    check_matched(one)
    index = gpus(one.document)
    queues, sizes, ends = collections.Counter(), set(), collections.defaultdict(set)
    for launch, end, device, name in commands(one):
        where = [end.get(field) for field in ("source_memory", "source_device", "destination_memory", "destination_device")]
        if name:
            queues[index[device], end["hardware_queue"]] += 1
            sizes.add((end["local_bytes"], *where))
        else:
            ends[launch["function"], launch["command"]].add(tuple("own" if one == device else one for one in where))
            t.true("hardware_queue" not in end and "local_bytes" not in end, f"more about a copy: {end}")
    t.equal(queues, collections.Counter((work.gpu, work.queue) for work in one.works if work.kind == "kernel"),
            "dispatches by GPU and queue, in the trace and as the GPU wrote down")
    t.equal(set(queues), {(number, queue["id"]) for number, gpu in enumerate(one.facts["gpus"]) for queue in gpu["queues"]},
            "the queues that the program has")
    t.equal(sizes, {(512, None, None, None, None)}, "local memory")
    t.equal(ends, {key: {value} for key, value in ENDS.items()}, "memories and devices of copies")
    one = recorded(["work", "locked=1"])
    t.equal([end["destination_memory"] for launch, end, _, _ in commands(one) if launch["function"] == "hsa_memory_copy"],
            ["pinned"], "memory that was locked")

with t.case("dispatches without a signal of the program's have times too"):
    one = recorded(["work", "signals=0"])
    check_counts(one)
    check_matched(one)
    check_times(one)

with t.case("the program's own signals are unchanged"):
    one = recorded(["work"])
    own = sorted((piece["start"], piece["end"]) for piece in one.facts["times"])
    want = sorted((work.start, work.end) for work in one.works)
    t.equal(len(own), 35, "times the program got")
    t.equal([pair for pair in zip(own, want) if abs(pair[0][0] - pair[1][0]) > STAMP_NS
             or abs(pair[0][1] - pair[1][1]) > STAMP_NS][:3], [], "times that are not the GPU's")

with t.case("signals that the program destroys while work with them is under way"):
    t.wanted()
    plain = run(work(["dropped", "queues=1"], "kernel_us=2000"))
    t.equal((plain.status, json.loads(plain.stdout)["wrong"]), (0, 0), f"without duet: {text(plain.stderr)}")
    one = recorded(["dropped", "queues=1"], "kernel_us=2000")
    t.equal(one.report["ledger"]["matched"], 23, f"dispatches with times: {one.report['ledger']}")
    refused = [launch for launch, _, _, name in commands(one) if not name and launch["result"]]
    t.equal(len(refused), 1, "copies that were refused")

with t.case("more threads than rings: each dispatch, wait and barrier is a row or counted"):
    one = recorded(["crowd", "queues=1", "dispatches=150"])
    lost = collections.Counter()
    for loss in one.document["losses"]:
        lost[loss["lost"], loss["reason"]] += loss["count"]
    t.true(lost["launch", "no_ring"] > 0, f"losses: {lost}")
    t.equal(len(one.document["launches"]) + lost["launch", "no_ring"], 300, f"dispatches, losses {lost}")
    calls = [call for call in one.document["calls"] if call["type"] != 2]
    t.equal(len(calls) + lost["api", "no_ring"], 450, f"waits and barriers, losses {lost}")
    ledger = one.report["ledger"]
    t.equal((ledger["matched"], ledger["dropped"]), (len(one.document["launches"]), lost["launch", "no_ring"]),
            f"{ledger}")

with t.case("children between the dispatches that do nothing"):
    one = recorded(["work", "forks=7"])
    check_counts(one)
    check_matched(one)
    check_times(one)

with t.case("as fast as the program can: none is lost, the queue does not overflow"):
    one = recorded(["burst", "dispatches=20000", "queues=1"], "kernel_us=1")
    check_counts(one)
    check_matched(one)

with t.case("100,000 as fast as the program can, while the recorder has no processor: none is lost"):
    one = recorded(["burst", "dispatches=100000", "queues=1"], "kernel_us=1", command=["sh", "-c", 'exec "$@" stops=$PPID', "sh"])
    check_counts(one)
    check_matched(one)
    t.equal(one.document["losses"], [], "losses")

with t.case("a sample of the dispatches says what recording one takes"):
    own = recorded(["burst", "dispatches=5000", "queues=1"], "kernel_us=1").report["cost"]["duet_itself"]
    t.true(own["timed_calls"] >= 4 and own["timed_ns"] > 0, f"{own}")

with t.case("a queue that waits for what comes later on another"):
    one = recorded(["barrier", "dispatches=20", "queues=2"])
    check_matched(one)
    t.equal(one.report["ledger"]["launched"], 40, "launches")

with t.case("barriers are counted, fills and copies that the program waits for are told of with their bytes"):
    one = recorded(["work", "fills=3", "boxes=1", "ors=2"])
    check_counts(one)
    check_matched(one)
    calls = {row["name"]: row["count"] for row in one.report["api"]}
    t.equal((calls["AQL barrier-AND"], calls["AQL barrier-OR"]), (one.facts["barriers"], 4), f"barriers of {calls}")
    t.equal((calls["hsa_memory_copy"], calls["hsa_amd_memory_fill"]), (1, 5), f"fills and copies of {calls}")
    blocking = {launch["function"] for launch, _, _, _ in commands(one) if launch["flags"] & 1}
    t.equal(blocking, {"hsa_memory_copy", "hsa_amd_memory_fill"}, "what is waited for")

with t.case("a recorder that answers late loses no program that it has started"):
    # four times what a guest waits in any call
    slow = 'recorder=$PPID; kill -STOP $recorder; { sleep 1; kill -CONT $recorder; } & exec "$@"'
    one = recorded(["work"], command=["sh", "-c", slow, "sh"])
    check_counts(one)
    check_matched(one)

with t.case("if the driver has few events left, the guest takes none"):
    one = recorded(["work", "held=4200", "wait=1"])
    check_counts(one)
    check_matched(one)
    check_times(one)
    one = recorded(["work", "held=4200"])
    check_counts(one)
    check_matched(one)
    untimed = sum(1 for _, end, _, _ in commands(one) if not end or "started" not in end)
    said = re.search(r"(\d+) commands have no device times: all signals were in use",
                     text(run([DUET, "report", t.path("hsa.duet")]).stdout))
    # two are those that the program waits for, which never have times
    t.equal(int(said.group(1)) if said else None, untimed - 2, "commands without times")

with t.case("a runtime configured without interrupts"):
    one = recorded(["work"], environment=("HSA_ENABLE_INTERRUPT=0",))
    check_counts(one)
    check_matched(one)
    check_times(one)

with t.case("completed dispatches are recorded however the program ends"):
    for leave in ("exit", "_exit"):
        one = recorded(["work", f"leave={leave}"])
        check_counts(one)
        check_matched(one)
    for signals in (0, 1):
        one = recorded(["work", "leave=kill", f"signals={signals}"], status=137)
        check_counts(one)
        check_matched(one)

with t.case("a kernel that never completes is in flight"):
    for leave in ("exit", "_exit"):
        one = recorded(["stuck", "dispatches=5", "queues=1", f"leave={leave}", "timeout_ms=50"], "never_at=5")
        hung = 5 - len(one.facts["times"])
        t.true(hung > 0, "something hangs")
        check_matched(one, in_flight=hung)
        said = text(run([DUET, "report", t.path("hsa.duet")]).stdout)
        # a program that a loader was told to start has no functions of its own: for the kernel, the loader is the program
        place = r"\[" if ROCR else "dispatch"
        t.true(re.search(rf"! in flight at exit: {hung} commands?; longest (fill|vector_add|idle), launched .* in {place}",
                         said), f"what hangs, and where it was launched: {said[:600]}")

with t.case("a program that is started by its loader is named by its own file"):
    one = recorded(["work"], environment=() if ROCR else ("/lib64/ld-linux-x86-64.so.2",))
    frames = [frame for frame in one.document["frames"]
              if "dispatch_all" in [name["function"] for name in frame.get("names", ())]]
    t.equal({frame["module"] for frame in frames}, {program("hsa_work")}, "where the program's own functions are")

with t.case("amd:lite skips dispatches with a signal and reports their number"):
    one = recorded(["work"], mode="amd:lite")
    check_counts(one)
    timed = [end for _, end, _, name in commands(one) if name and end and "started" in end]
    t.equal(timed, [], "kernels with times")
    info = run([DUET, "report", t.path("hsa.duet")])
    t.true("23 dispatches have no device times" in text(info.stdout + info.stderr),
           f"the report says how many have no times: {text(info.stdout)[:2000]}")
    one = recorded(["work", "signals=0"], mode="amd:lite")
    check_times(one)

with t.case("packets of a queue that cannot be intercepted are not launches and are reported however the program ends"):
    for leave in ("return", "_exit", "kill"):
        one = recorded(["work", "cooperative=1", "queues=1", "h2d=0", "d2h=0", f"leave={leave}"], sim="gws=64",
                       status=137 if leave == "kill" else 0)
        losses = [(loss["lost"], loss["reason"], loss["count"]) for loss in one.document["losses"]]
        # the last is a barrier
        t.equal(losses, [("unknown", "tracking", 23 + 1)], f"{leave}: losses")
        ledger = one.report["ledger"]
        t.equal((ledger["launched"], ledger["dropped"], one.report["complete"]), (len(one.document["launches"]), 0, False),
                f"{leave}: {ledger}")
        said = text(run([DUET, "report", t.path("hsa.duet")]).stdout)
        t.true("24 packets (kernels and barriers) are not recorded: their queues cannot be intercepted" in said and "(cooperative, very small" in said
               and "ROCm 7" not in said, f"{leave}: {said[:600]}")

BATCHES = (f"HSA_TOOLS_LIB={GUEST} {os.path.join(PROGRAMS, 'hsa_batches.so')}",)

with t.case("batches: one row each, timed where that is asked for, counted where not"):
    arguments = ["work", "signals=0", "queues=1", "dispatches=20", "h2d=0", "d2h=0"]
    for mode, launched, lost in (("amd", 0, 20), ("amd:full", 20, 0)):
        one = recorded(arguments, mode=mode, environment=BATCHES)
        rows = [call for call in one.document["calls"] if call["function"] == "AQL batch"]
        t.equal([row["argument"] for row in rows], [4] * 5, f"{mode}: dispatches of each batch")
        t.true(all(row["stack"] for row in rows), f"{mode}: batches have stacks")
        dispatched = [launch for launch in one.document["launches"] if launch["function"] == "AQL dispatch"]
        t.equal(len(dispatched), launched, f"{mode}: launches")
        t.equal(sum(loss["count"] for loss in one.document["losses"]), lost, f"{mode}: left out")
    check_times(one)

with t.case("RTL_MODE selects the mode if --collect does not"):
    env = {"RTL_MODE": "lite"}
    one = recorded(["work"], env=env)
    t.true(not [1 for _, end, _, name in commands(one) if name and end and "started" in end], "lite")
    one = recorded(["work"], mode="amd:default", env=env)
    check_times(one)
    for alias in ("standard", "hip"):
        check_times(recorded(["work"], env={"RTL_MODE": alias}))
    result = t.record(["true"], t.path("no.duet"), ["--collect", "amd"], env={"RTL_MODE": "fast"})
    t.equal(result.status, 125, "status of an unknown mode")
    t.true("the modes are lite, default and full" in text(result.stderr), text(result.stderr))
    result = t.record(["true"], t.path("no.duet"), ["--collect", "amd:fast"])
    t.equal(result.status, 125, "status of an unknown option")
    t.true("amd:lite amd:default amd:full" in text(result.stderr), text(result.stderr))
    # ROCm is recorded by default where its driver is, and nobody may have asked for it
    result = t.record(["true"], t.path("no.duet"), ["--stacks", "none"], env={"RTL_MODE": "fast"})
    t.equal(result.status, 0, f"another program's mode: {text(result.stderr)}")

with t.case("a GPU's counter that is wrong, a machine that was suspended"):
    one = recorded(["work", "wait=1"], "drift_ppm=500")
    check_matched(one)
    check_times(one, most_ns=1000)
    one = recorded(["work", "wait=1"], "jump_ms=5000,jump_at=10")
    check_counts(one)
    check_matched(one)
    check_times(one._replace(works=awake(one.works, 5_000_000_000)))

with t.case("amd:pcs on a ROCm without support is reported, and the rest is recorded"):
    one = recorded(["work"], mode="amd:pcs")
    check_counts(one)
    check_matched(one)
    t.true("no instructions are sampled: this ROCm (6.2 is needed)" in one.stderr, one.stderr)

with t.case("another ROCr, in the folder that DUET_ROCR names, has done all of this"):
    t.wanted()
    if not ROCR:
        raise Skip("DUET_ROCR does not name a folder with libhsa-runtime64.so.1 of another release (Debian 13: 6.1) "
                   "and what it needs")
    one = recorded(["work"], "gpus=2")
    check_counts(one)
    check_matched(one)
    check_times(one)
    runtimes = {os.path.dirname(os.path.realpath(frame["module"])) for frame in one.document["frames"]
                if "libhsa-runtime64" in frame.get("module", "")}
    t.equal(runtimes, {os.path.realpath(ROCR)}, "where the runtime was loaded from")

TOOL = os.path.join(PROGRAMS, "hsa_tool.so")


def beside(tools, arguments=(), environment=(), **how):
    """48 dispatches beside another profiler: what is recorded, the other's times, and how many queues it has made."""
    out = t.path("tool")
    named = (f"HSA_TOOLS_LIB={tools}",) if tools else ()
    one = recorded(["work", "dispatches=48", *arguments],
                   environment=(*named, f"HSA_TOOL_OUT={out}", *environment), **how)
    with open(out) as file:
        lines = [line.split() for line in file]
    t.equal(lines[-1][0], "queues", "the other tool's last line")
    return one, sorted((int(start), int(end)) for start, end in lines[:-1]), int(lines[-1][1])


def check_others_times(one, times):
    want = sorted((work.start, work.end) for work in one.works if work.kind != "copy")
    t.equal((len(times), len(want)), (48, 48), "dispatches that the other tool counts, that the GPU has executed")
    t.equal([(a, b) for a, b in zip(times, want) if abs(a[0] - b[0]) > STAMP_NS or abs(a[1] - b[1]) > STAMP_NS][:3],
            [], "the other tool's times that are not the GPU's")


def said_of(one):
    return text(run([DUET, "report", t.path("hsa.duet")]).stdout)


with t.case("beside another profiler, whichever comes first in HSA_TOOLS_LIB: both have each dispatch with its times"):
    preloaded = (f"LD_PRELOAD={GUEST}:{LIBRARY}",)
    for tools, environment, env in ((None, (), {"HSA_TOOLS_LIB": TOOL}), (f"{GUEST} {TOOL}", (), None),
                                    (f"{TOOL} {GUEST}", preloaded, None), (TOOL, preloaded, None)):
        for arguments in ((), ("signals=0",)):
            one, times, queues = beside(tools, arguments, environment, env=env)
            check_others_times(one, times)
            check_counts(one)
            check_matched(one)
            check_times(one)
            t.equal(queues, 2, "queues that the other tool has made")
            warnings = [line for line in said_of(one).splitlines() if line.startswith("!") and "HSA_TOOLS_LIB" in line]
            t.equal(warnings, [], "nothing is missing")

with t.case("behind another profiler that no guest can overtake: both count each dispatch, and the report says why ours have "
            "no times"):
    for arguments, environment in ((), ()), (("signals=0",), ()), (("signals=0",), ("HSA_TOOL_LITE=1",)):
        one, times, queues = beside(f"{TOOL} {GUEST}", arguments, environment)
        check_others_times(one, times)
        check_counts(one)
        timed = [end for _, end, _, name in commands(one) if name and end and "started" in end]
        t.equal(timed, [], "dispatches with times")
        t.equal(queues, 2, "queues that the other tool has made")
        t.true("48 dispatches have no device times: another tool in HSA_TOOLS_LIB comes before duet's guest" in said_of(one),
               f"why: {said_of(one)[:600]}")

with t.case("after a tool that makes plain queues: duet's queues are intercepted, and the report names the others"):
    one, times, queues = beside(f"{TOOL} {GUEST}", (), ("HSA_TOOL_PLAIN=1",))
    check_counts(one)
    check_matched(one)
    check_times(one)
    t.equal((times, queues), ([], 1), "what the other tool has")
    t.true("another tool in HSA_TOOLS_LIB does not see the queues" in said_of(one), f"why: {said_of(one)[:600]}")


with t.case("a program whose recorder was killed is recorded by others, one after the other"):
    t.wanted()
    first = Running([DUET, "record", "--collect", "amd", "-o", t.path("first.duet"), "--",
                     *work(["work", "dispatches=1000000", "wait=1"])])
    pid = first.program_pid("hsa_work")
    time.sleep(0.5)
    first.kill(9)
    first.process.wait()
    try:
        for number in range(3):
            path = t.path(f"again{number}.duet")
            t.equal(run([DUET, "record", "--collect", "amd", "-p", str(pid), "-d", "2", "-o", path]).status, 0, "status")
            ledger = t.readable(path)["ledger"]
            t.true(ledger["matched"] > 10, f"recording {number}: {ledger}")
            t.true(ledger["dropped"] == 0 and ledger["in_flight_at_exit"] <= 2, f"recording {number}: {ledger}")
    finally:
        os.kill(pid, 9)
        first.finish()

with t.case("the previous HSA_TOOLS_LIB is kept"):
    env = {"HSA_TOOLS_LIB": "/tmp/other.so"}
    result = t.record(["sh", "-c", 'echo "$HSA_TOOLS_LIB"'], t.path("env.duet"),
                      ["--collect", "amd", "-v"], env=env)
    t.equal(text(result.stdout).strip(), f"{GUEST} /tmp/other.so", "HSA_TOOLS_LIB")
    t.true("loaded by HSA_TOOLS_LIB" in text(result.stderr), text(result.stderr))

with t.case("the guest changes HSA_TOOLS_LIB where it is preloaded, not in a program that runs already"):
    load = ("import ctypes, sys; libc = ctypes.CDLL(None); libc.getenv.restype = ctypes.c_char_p; "
            "ctypes.CDLL(sys.argv[1]); print(libc.getenv(b'HSA_TOOLS_LIB').decode())")
    for how, want in (({}, "/tmp/other.so"), ({"LD_PRELOAD": GUEST}, f"{GUEST} /tmp/other.so")):
        result = subprocess.run([sys.executable, "-c", load, GUEST], stdout=subprocess.PIPE, check=False,
                                env={**os.environ, "HSA_TOOLS_LIB": "/tmp/other.so", **how})
        t.equal(text(result.stdout).strip(), want, f"HSA_TOOLS_LIB with {how}")

t.end()
