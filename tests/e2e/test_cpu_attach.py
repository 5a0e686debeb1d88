#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record -p: running processes with all threads and later children; and page faults, which are sampled separately."""
import json
import os
import signal
import subprocess
import time

import duet_test
from duet_test import DUET, PROGRAMS, Running, program, run, text

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()  # a recorder of running processes has a name that only one has in a network
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
CPU = ["--collect", "cpu"]


def started(*arguments):
    t.wanted()
    process = Running([program(arguments[0]), *arguments[1:]])
    end = time.monotonic() + 20
    while time.monotonic() < end:  # it is past its exec, and has worked
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        if os.readlink(f"/proc/{process.pid}/exe").endswith(arguments[0]) and int(fields[11]) >= 5:
            return process
        time.sleep(0.01)
    raise AssertionError("the program did not begin")


def cpu_ns(pid):
    """Of all its threads, to 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 10_000_000


def attach(process, trace, options=(), before=()):
    """What was used when it was attached, and what the recording said."""
    used_ns = cpu_ns(process.pid)
    return used_ns, run([*before, DUET, "record", "-p", str(process.pid), *CPU, *options, "-o", trace])


def end(process):
    status = process.process.wait(30)
    return status, process.process.stdout.read()


def weight(trace, source=None):
    found = [row for row in t.report(trace)["cpu"] if row["tells_time"] and source in (None, row["source"])]
    return sum(row["weight"] for row in found)


def rows(trace):
    info = json.loads(run([DUET, "info", "--json", trace]).stdout)
    return {row["kind"]: row["rows"] for row in info["kinds"]}


def check_part(trace, used_ns, told_ns, least):
    """What was sampled is what the program used after it was attached: to 10 ms of its own count, 4 standard deviations
    of samples in 5 ms, and what a busy machine lets pass between the two looks at it."""
    got, most = weight(trace), told_ns - used_ns
    spread = 4 * (most * 5e6) ** 0.5 + 30e6
    t.true(least * most - spread < got < most + spread, f"{got} ns of {most} ns after {used_ns} ns")


for way, before in (("perf", []), ("looks", ["no_perf", "1"])):
    with t.case(f"a process with threads, until it ends: {way}"):
        before = before and [program(before[0]), *before[1:]]
        trace = t.path("threads.duet")
        process = started("cpu_work", "threads", "6", "300")
        used_ns, recorded = attach(process, trace, before=before)
        t.equal(recorded.status, 0, text(recorded.stderr))
        status, output = end(process)
        t.equal((status, output.split()[0]), (0, b"path_a"), "the program")
        # a look tells what a thread did since the look before, 200 ms at most are before the first one
        check_part(trace, used_ns, int(output.split()[1]), 0.8 if way == "perf" else 0.4)
        t.true(rows(trace)["thread"] >= 6, "its threads")
        if way == "perf":
            table = json.loads(run([DUET, "report", "--json", "--by", "cpu", trace]).stdout)["by"]
            row = [row for row in table if row["key"] == "path_a"][0]
            t.true(row["total"] > 0.9 * weight(trace), f"stacks: {row}")

with t.case("threads that start all the time are sampled once each"):
    trace = t.path("spawn.duet")
    process = started("cpu_limits", "spawn", "1500")
    used_ns, recorded = attach(process, trace)
    t.equal(recorded.status, 0, text(recorded.stderr))
    status, output = end(process)
    check_part(trace, used_ns, int(output), 0.5)  # of 20 ms up to 5 ms are before a thread's first sample

for way, before in (("perf", []), ("looks", ["no_perf", "1"])):
    with t.case(f"a process that only its parents may look at: {way}"):
        before = before and [program(before[0]), *before[1:]]
        trace = t.path("closed.duet")
        process = started("cpu_limits", "doze", "150")
        used_ns = cpu_ns(process.pid)
        recorded = run([*before, DUET, "record", "-p", str(process.pid), *CPU, "-o", trace],
                       env={"LD_PRELOAD": program("no_looks.so"), "NO_LOOKS": str(process.pid)})
        t.equal(recorded.status, 0, text(recorded.stderr))
        status, output = end(process)
        t.equal(status, 0, "the program")
        check_part(trace, used_ns, int(output), 0.8 if way == "perf" else 0.4)
        t.true(rows(trace)["switch"] >= 20, f"when it waits is known: {rows(trace)}")
        for what, said in (("record", text(recorded.stderr)), ("report", text(run([DUET, "report", trace]).stdout)),
                           ("info", text(run([DUET, "info", trace]).stdout))):
            said = " ".join(said.split())
            for words in (f"wait locations and Python functions of process {process.pid} ('cpu_limits') are missing",
                          f"'sudo setcap cap_perfmon,cap_syslog,cap_sys_ptrace+ep {os.path.realpath(DUET)}'"):
                t.true(words in said, f"{what} does not say '{words}': {said[:1200]}")
            t.true("other rights" not in said, f"{what}: it is no setuid program: {said[:1200]}")

with t.case("a recorder that is killed while it starts leaves no process behind"):
    trace = t.path("early.duet")
    process = started("cpu_limits", "doze", "150")
    recorded = run([DUET, "record", "-p", str(process.pid), *CPU, "-o", trace], env={"LD_PRELOAD": program("dies_early.so")})
    t.equal(recorded.status, 137, "the recorder was killed")
    deadline = time.monotonic() + 10
    while run(["pgrep", "-f", trace]).stdout and time.monotonic() < deadline:
        time.sleep(0.05)
    t.equal(text(run(["pkill", "-9", "-e", "-f", trace]).stdout), "", "processes that are left")
    end(process)

with t.case("-d and SIGINT end the recording; the program goes on"):
    trace = t.path("goes_on.duet")
    process = started("cpu_limits", "busy", "2500")
    begin = time.monotonic()
    _, recorded = attach(process, trace, ["-d", "0.3"])
    t.equal(recorded.status, 0, text(recorded.stderr))
    t.true(time.monotonic() - begin < 2, "it ended in time")
    t.true(weight(trace) > 0, "it was sampled")
    recorder = Running([DUET, "record", "-p", str(process.pid), *CPU, "-o", trace])
    time.sleep(0.3)
    recorder.process.send_signal(signal.SIGINT)
    t.equal(recorder.process.wait(20), 0, "after SIGINT")
    t.true(process.process.poll() is None, "the program is there")
    status, output = end(process)
    t.equal(status, 0, "the program")

with t.case("later children of a recorded process, and two processes at once"):
    trace = t.path("children.duet")
    t.wanted()
    shells = [Running(["/bin/sh", "-c", f"sleep 0.4; {program('cpu_limits')} busy 300; :"]) for _ in range(2)]
    recorded = run([DUET, "record", "-p", ",".join(str(shell.pid) for shell in shells), *CPU, "-o", trace])
    t.equal(recorded.status, 0, text(recorded.stderr))
    told_ns = 0
    for shell in shells:
        status, output = end(shell)
        t.equal(status, 0, "the shell")
        told_ns += int(output)
    check_part(trace, 0, told_ns, 0.8)

with t.case("a thread that waits all the time"):
    t.wanted()
    trace = t.path("waits.duet")
    process = Running(["sleep", "1"])
    time.sleep(0.2)
    recorded = run([DUET, "record", "-p", str(process.pid), *CPU, "-o", trace])
    t.equal(recorded.status, 0, text(recorded.stderr))
    t.true(rows(trace)["switch"] >= 1, "it waits")
    said = run([DUET, "report", trace])
    t.equal(said.status, 0, text(said.stderr))
    t.true("no OpenCL call was recorded" not in text(said.stdout), text(said.stdout)[:400])

with t.case("processes that cannot be recorded are reported with the reason"):
    t.wanted()
    for pids, reason in (("1,x", "not a list of pids"), ("", "list of pids is empty"), ("0", "not a list of pids"),
                         ("99999999", "not found"), ("12,", "not a list of pids")):
        recorded = run([DUET, "record", "-p", pids, "-o", t.path("none.duet")])
        t.equal(recorded.status, 125, f"-p '{pids}'")
        t.true(reason in text(recorded.stderr), text(recorded.stderr))
    for options in (["-a"], ["--", "true"]):
        t.equal(run([DUET, "record", "-p", "1", *options]).status, 125, f"-p with {options}")
    t.true(not os.path.exists(t.path("none.duet")), "no file")
    if os.getuid() == 0:
        process = Running(["sleep", "20"])
        recorded = run([*ORDINARY, t.for_others(DUET), "record", "-p", str(process.pid), "-o", "/dev/null"])
        process.process.kill()
        process.process.wait()
        t.equal(recorded.status, 125, "another user's")
        t.true("is of user root" in text(recorded.stderr), text(recorded.stderr))
        recorded = run([DUET, "record", "-p", str(process.pid), "-o", "/dev/null"])
        t.true("has ended" in text(recorded.stderr), text(recorded.stderr))

SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=4000",
       "OPENCL_LAYERS": duet_test.GUEST}

with t.case("a running OpenCL program: its guest and its threads"):
    t.wanted()
    if not os.path.exists(os.path.join(PROGRAMS, "idle_causes")):
        raise duet_test.Skip("no OpenCL headers")
    trace = t.path("guest.duet")
    process = Running([program("idle_causes"), "400", "4", "2"], env=SIM)
    other = Running([program("idle_causes"), "400", "4", "2"], env=SIM)
    time.sleep(0.3)
    recorded = run([DUET, "record", "-p", str(process.pid), "--collect", "opencl,cpu", "-d", "2", "-o", trace])
    for one in (process, other):
        one.process.kill()
        one.process.wait()
    t.equal(recorded.status, 0, text(recorded.stderr))
    report = t.report(trace)
    called = [row["pid"] for row in report["processes"] if row["calls"]]
    t.equal(called, [process.pid], "whose calls")
    t.true(report["ledger"]["launched"] > 5, f"{report['ledger']}")
    t.true(weight(trace) > 0, "samples")

with t.case("programs whose parent has ended belong to the grandparent"):
    t.wanted()
    if not os.path.exists(os.path.join(PROGRAMS, "idle_causes")):
        raise duet_test.Skip("no OpenCL headers")
    trace = t.path("daemons.duet")
    # the subshell ends at once, so that init is the parent of what it has started
    shells = [Running(["/bin/sh", "-c", f"while :; do ({program('idle_causes')} {rounds} 4 2 &); sleep 0.3; done"],
                      env=SIM) for rounds in ("7", "9")]
    recorded = run([DUET, "record", "-p", str(shells[0].pid), "--collect", "opencl,cpu", "-d", "3", "-o", trace])
    for shell in shells:
        shell.kill_group(signal.SIGKILL)
        shell.process.wait()
    t.equal(recorded.status, 0, text(recorded.stderr))
    called = {row["command"].split()[-3] for row in t.report(trace)["processes"] if row["calls"]}
    t.equal(called, {"7"}, "whose calls")

with t.case("page faults are counted and are not time"):
    t.wanted()
    trace = t.path("faults.duet")
    for options, is_there in (([], True), (["nofaults"], False)):
        recorded = run([DUET, "record", "--collect", ":".join(["cpu", *options]), "-o", trace, "--",
                        program("cpu_limits"), "faults", "200000"])
        t.equal((recorded.status, recorded.stdout), (0, b"200000 pages\n"), "the program")
        report = t.report(trace)
        found = [row for row in report["cpu"] if row["source"] == "page-faults"]
        t.equal(len(found), int(is_there), f"{report['cpu']}")
        if not is_there:
            continue
        # one in 251, and what a program's start takes
        t.true(199_500 <= found[0]["weight"] + 251 and found[0]["weight"] < 202_000, f"{found}")
        t.equal(found[0]["tells_time"], False, "no time")
        said = text(run([DUET, "report", trace]).stdout)
        t.true("PROCESSOR TIME (" in said and "PAGE FAULTS" in said and "no OpenCL call" not in said
               and "KERNELS" not in said, f"a report of what there is: {said[:400]}")
        t.equal(recorded.stderr, b"", "nothing is amiss")
        table = json.loads(run([DUET, "report", "--json", "--by", "cpu", trace]).stdout)["by"]
        own = [row for row in table if row["key"] == "faults" and row["source"] == "page-faults"]
        t.true(own and own[0]["self"] > 0.99 * 200_000 - 251, f"{own}")
        drawn = run([DUET, "flame", "--view", "cpu", "--folded", trace])
        total = sum(int(line.rsplit(" ", 1)[1]) for line in text(drawn.stdout).splitlines())
        t.equal(total, weight(trace), "the flame graph is of time alone")

t.end()
