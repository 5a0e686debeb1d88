#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What threads did, without special rights: samples, their stacks, switches, against programs that say themselves
how much processor time they took where."""
import json
import math
import os
import re

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite(needs_opencl=False)
HERTZ = 199
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]


def record(name, command, options=(), before=(), env=None):
    """The trace, and the program's own account {path: ns}."""
    trace = os.path.join(t.folder, "shared", name + ".duet")
    recorded = run([*before, DUET, "record", "--collect", "opencl,cpu", "-o", trace, *options, "--",
                    *command], env=env)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    told = dict(line.split() for line in text(recorded.stdout).splitlines())
    return trace, {path: int(ns) for path, ns in told.items()}


def stacks(trace):
    """[(frames without suffixes, ns)] of the processor time."""
    drawn = run([DUET, "flame", "--view", "cpu", "--folded", trace])
    t.equal(drawn.status, 0, f"flame: {text(drawn.stderr)}")
    rows = []
    for line in text(drawn.stdout).splitlines():
        frames, ns = line.rsplit(" ", 1)
        rows.append(([re.sub(r"_\[\w\]$", "", frame) for frame in frames.split(";")], int(ns)))
    return rows


def below(rows, name):
    return sum(ns for frames, ns in rows if name in frames)


def kinds(trace):
    info = run([DUET, "info", "--json", trace])
    t.equal(info.status, 0, f"info: {text(info.stderr)}")
    return {row["kind"]: row["rows"] for row in json.loads(info.stdout)["kinds"]}


def check_counts(rows, told, sigmas=5):
    """Samples come once in 1/199 s of processor time, each path's number is binomial: so many standard deviations
    off means wrong, not bad luck."""
    period = 1e9 / HERTZ
    wanted, got = sum(told.values()) / period, sum(ns for _, ns in rows) / period
    t.true(abs(got - wanted) < sigmas * math.sqrt(wanted) + 10,
            f"{got:.0f} samples of {wanted:.0f}")
    for path, ns in told.items():
        share, found = ns / sum(told.values()), below(rows, path) / period
        spread = sigmas * math.sqrt(got * share * (1 - share)) if share < 1 else 0
        t.true(abs(found - got * share) <= spread + 10,
                f"{path}: {found:.0f} of {got:.0f} samples, share {share:.3f}")


os.mkdir(t.path("shared"))
os.chmod(t.path("shared"), 0o777)

for who, before in [("root", []), ("an ordinary user", ORDINARY)]:
    with t.case(f"two call paths, 70 and 30 of 100 of the processor time: {who}"):
        t.wanted()
        if before and os.getuid() != 0:
            raise duet_test.Skip("only root can become somebody else")
        trace, told = record("shares" + str(len(before)), [program("cpu_work"), "shares", "3000"],
                             before=before)
        rows = stacks(trace)
        check_counts(rows, told)
        whole = sum(ns for frames, ns in rows if frames[0] == "_start")
        t.true(whole > 0.97 * sum(ns for _, ns in rows), "stacks reach to where the program begins")

with t.case("eight threads at once"):
    t.wanted()
    trace, told = record("threads", [program("cpu_work"), "threads", "8", "400"])
    check_counts(stacks(trace), told)
    t.true(kinds(trace)["thread"] >= 8, "each has its row")

with t.case("what sleeps has no samples, and its switches are seen"):
    t.wanted()
    trace, told = record("sleeps", [program("cpu_work"), "sleeps", "500"])
    rows = stacks(trace)
    check_counts(rows, told)
    t.true(below(rows, "rest_b") < 0.05 * told["path_a"], "no processor time asleep")
    t.true(kinds(trace)["switch"] >= 2, "it went and came back")

SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=4000"}


def idle_stacks(trace):
    """{innermost own function: {cause: ns}} of the idle time that a flame graph shows."""
    drawn = run([DUET, "flame", "--view", "idle", "--folded", trace])
    t.equal(drawn.status, 0, f"flame: {text(drawn.stderr)}")
    found = {}
    for line in text(drawn.stdout).splitlines():
        frames, ns = line.rsplit(" ", 1)
        frames = [re.sub(r"_\[\w\]$", "", frame) for frame in frames.split(";")]
        own = [frame for frame in frames if frame in ("sleep_a", "compute_b", "run_kernel")]
        causes = found.setdefault(own[-1] if own else "", {})
        causes[frames[-1]] = causes.get(frames[-1], 0) + int(ns)
    return found


with t.case("a device that idles because of a sleep in one function and of computing in another"):
    t.wanted()
    if not os.path.exists(os.path.join(duet_test.PROGRAMS, "idle_causes")):
        raise duet_test.Skip("no OpenCL headers")
    trace, told = record("idle", [program("idle_causes"), "250", "4", "2"], env=SIM)
    device = t.report(trace)["devices"][0]
    causes = device["idle_causes"]
    t.equal(sum(causes.values()), device["idle_ns"], "the causes' sum")
    # what the thread did, to the cost of asking the clock; a sleep is longer than it is blocked by a wake-up
    t.true(abs(causes["on_cpu"] - told["compute_b"]) < 0.05 * told["compute_b"] + 5e6,
           f"computing {causes['on_cpu']}, took {told['compute_b']}")
    t.true(0.9 * told["sleep_a"] < causes["blocked"] + causes["preempted"]
           and causes["blocked"] < 1.02 * told["sleep_a"],
           f"blocked {causes['blocked']}, slept {told['sleep_a']}")
    t.equal(causes["host"], 0, "nothing is left untold")
    found = idle_stacks(trace)
    # at some 100 looks of either kind one in ten may fall to a neighbour
    t.true(found["compute_b"]["[idle: computing]"] > 0.9 * causes["on_cpu"], f"{found}")
    t.true(found["sleep_a"]["[idle: blocked]"] > 0.9 * causes["blocked"], f"{found}")
    shown = sum(ns for causes in found.values() for ns in causes.values())
    t.equal(shown, device["idle_ns"], "the flame graph's sum")

with t.case("time inside the kernel has the kernel's functions"):
    t.wanted()
    with open("/proc/kallsyms", encoding="ascii") as file:
        if os.getuid() != 0 or int(file.readline().split()[0], 16) == 0:
            raise duet_test.Skip("kernel addresses are not told here")
    trace, _ = record("kernel", ["/bin/sh", "-c", "dd if=/dev/zero of=/dev/null bs=1M count=8000 2>/dev/null"])
    rows = stacks(trace)
    in_kernel = sum(ns for frames, ns in rows if any("read_zero" in frame or "vfs_read" in frame
                                                     for frame in frames))
    t.true(in_kernel > 0.5 * sum(ns for _, ns in rows), f"below vfs_read: {in_kernel}")

for error in (1, 38):
    with t.case(f"perf refused with {os.strerror(error)}: looks at the threads tell the same, coarsely"):
        t.wanted()
        if not os.path.exists(os.path.join(duet_test.PROGRAMS, "idle_causes")):
            raise duet_test.Skip("no OpenCL headers")
        trace, told = record("refused", [program("idle_causes"), "100", "4", "2"], env=SIM,
                             before=[program("no_perf"), str(error)])
        causes = t.report(trace)["devices"][0]["idle_causes"]
        said = text(run([DUET, "report", trace]).stdout)
        t.true("cpu was recorded in part: threads are looked at" in said, said[:300])
        # a state holds for 5 ms around a look, and who waits for a processor counts as computing
        t.true(0.4 * told["sleep_a"] < causes["blocked"] < 1.6 * told["sleep_a"],
               f"blocked {causes['blocked']}, slept {told['sleep_a']}")
        t.true(causes["on_cpu"] > 0.4 * told["compute_b"],
               f"computing {causes['on_cpu']}, took {told['compute_b']}")
        t.true(idle_stacks(trace)["sleep_a"]["[idle: blocked]"] > 0.8 * causes["blocked"], "stacks")

with t.case("who has ended is not a second process"):
    t.wanted()
    trace, _ = record("ended", [program("cpu_work"), "shares", "200"])
    t.equal(kinds(trace)["process"], 1, "processes")
    t.equal(kinds(trace)["thread"], 1, "threads")

with t.case("500 children that do nothing"):
    t.wanted()
    trace, _ = record("forks", [program("cpu_work"), "forks", "500"])
    t.true(kinds(trace)["process"] >= 1, "they do not end it")

t.end()
