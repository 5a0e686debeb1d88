#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many threads, processes, queues and preemptors: rows by name, the heaviest first, and JSON with each of them.

tests/checker/description.h has the grammar."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402
from duet_test import DUET, run, text  # noqa: E402

t = duet_test.Suite(needs_opencl=False)


def printed(*lines, options=()):
    shown = run([DUET, "report", t.described("groups.duet", *lines), *options])
    t.true(shown.status in (0, 4), f"status {shown.status}: {text(shown.stderr)}")
    return text(shown.stdout)


def rows(shown, title):
    """The rows of a table: name and cells."""
    lines = shown.split("\n" + title)[1].split("\n\n")[0].splitlines()[1:]
    return [line.strip() for line in lines]


# ---- threads ------------------------------------------------------------------------------------

def pool(names, ran=1000):
    """A thread each, on a processor for so long."""
    for i, name in enumerate(names):
        yield f"thread {i + 2} 1 name={name}"
        yield f"switch {i + 2} {1000 * i} in"
        yield f"switch {i + 2} {1000 * i + ran} exited"


THREADS = ("window 0 200000", "process 1 100 app", "thread 1 1 name=app", "switch 1 0 in", "switch 1 100000 exited")

with t.case("threads of a pool are one row, a busy one stays alone"):
    shown = printed(*THREADS, *pool([f"worker-{i}" for i in range(20)]), options=("--by", "thread"))
    found = rows(shown, "THREADS")
    t.equal(len(found), 2, f"{found}")
    t.true(found[0].startswith("app ") and "100.0 \u00b5s" in found[0], f"the heaviest first: {found[0]}")
    t.true(found[1].startswith("worker-* (20 threads) ") and "20.00 \u00b5s" in found[1], f"their sum: {found[1]}")
    t.equal(found[1].split(")")[1].split()[:2], ["100", "-"], f"one pid, no tid: {found[1]}")

with t.case("one name: no pattern; other names: rows of their own"):
    found = rows(printed(*THREADS, *pool(["gomp2"] * 8 + ["io"] * 7), options=("--by", "thread")), "THREADS")
    t.equal([row.split("  ")[0] for row in found], ["app", "gomp2 (8 threads)", "io (7 threads)"], "names")

with t.case("a newline in a name is a part of it; long names that differ at their ends stay apart"):
    found = rows(printed(*THREADS, *pool([f"a%0ab-{i}" for i in range(20)]), options=("--by", "thread")), "THREADS")
    t.true(len(found) == 2 and "b-* (20 threads)" in found[1] and found[1].startswith("a"), f"{found}")
    names = ["k" * 140 + end for end in "ab" * 8]
    found = rows(printed(*THREADS, *pool(names), options=("--by", "thread", "--full-names")), "THREADS")
    t.equal(len(found), 3, f"{found}")

with t.case("small sums: a row is heavy from a tenth on"):
    shown = printed(*THREADS[:3], *pool([f"worker-{i}" for i in range(20)], ran=4), options=("--by", "thread"))
    t.equal([row.split("  ")[0] for row in rows(shown, "THREADS")], ["worker-* (20 threads)"], "rows")

with t.case("few threads, --top 0 and JSON have each thread"):
    few = printed(*THREADS, *pool([f"worker-{i}" for i in range(9)]), options=("--by", "thread"))
    t.equal(len(rows(few, "THREADS")), 10, "as many as rows")
    many = (*THREADS, *pool([f"worker-{i}" for i in range(20)]))
    t.equal(len(rows(printed(*many, options=("--by", "thread", "--top", "0")), "THREADS")), 21, "--top 0")
    document = t.report(t.described("groups.duet", *many), "--by", "thread", "--top", "0")
    t.equal(len({row["tid"] for row in document["by"]}), 21, "JSON")

# ---- kernels ------------------------------------------------------------------------------------


def kernels(names, took=100):
    yield from ("window 0 100000", "device 1 gpu", "thread 1 1", "queue 1 1")
    for i, name in enumerate(names):
        at = 1000 * i
        yield f"launch {i + 1} 1 1 {at} {at + 10} kernel name={name}"
        yield f"execution 1 {i + 1} 1 {at + 11} {at + 12} {at + 20} {at + 20 + took + (i < 3)}"


with t.case("kernels: the longest, and those with numbered names as one row, if much would be left out"):
    shown = rows(printed(*kernels([f"k{i}" for i in range(40)])), "KERNELS")
    t.equal(len(shown), 10, f"{shown}")
    t.true(shown[0].startswith("k* (31 kernels) "), shown[0])
    t.equal(shown[0].split(")")[1].split()[:3], ["31", "3.100", "\u00b5s"], "count and total")
    t.equal([row.split()[0] for row in shown[1:4]], ["k0", "k1", "k2"], "the longest stay alone")
    shown = rows(printed(*kernels([f"k{i}" for i in range(12)])), "KERNELS")
    t.true(len(shown) == 11 and "2 more kernels" in shown[-1], f"little is left out: {shown}")
    shown = rows(printed(*kernels([chr(97 + i) for i in range(20)])), "KERNELS")
    t.true(len(shown) == 11 and "10 more rows" in shown[-1], f"names without numbers: {shown}")
    document = t.report(t.described("groups.duet", *kernels([f"k{i}" for i in range(40)])), "--top", "0")
    t.equal(len(document["kernels"]), 40, "JSON")

# ---- processes ----------------------------------------------------------------------------------


def processes(count, program="solver", extra=""):
    for i in range(count):
        yield f"process {i + 1} {100 + i} {program}{extra.format(i)}"
        yield f"thread {i + 1} {i + 1}"
        yield f"queue {i + 1} 1 process={i + 1}"
        yield f"call {i + 1} {i * 1000} {i * 1000 + 100} call clBuildProgram"
        yield f"launch 1 {i + 1} {i + 1} {i * 1000 + 200} {i * 1000 + 210} kernel name=k"
        yield f"execution {i + 1} 1 {i + 1} {i * 1000 + 210} {i * 1000 + 220} {i * 1000 + 300} {i * 1000 + 400}"


with t.case("processes of a program are one row"):
    found = rows(printed("window 0 50000", "device 1 gpu", *processes(40), options=("--by", "process")), "PROCESSES")
    t.equal(len(found), 1, f"{found}")
    t.true(found[0].startswith("solver (40 processes) "), found[0])
    t.equal(found[0].split(")")[1].split()[:3], ["-", "40", "40"], "no pid; the sums of launches and executions")

with t.case("a recording of all processes counts the chosen ones"):
    lines = ("window 0 50000", "thread 1 1", "process 1 100 a", "process 2 200 b", "process 3 300 c", "thread 2 2", "thread 3 3",
             "switch 1 10 in", "switch 1 20 exited", "switch 2 30 in", "switch 2 40 exited")
    for options, said in (((), "3 processes\n"), (("--pid", "100"), "1 process\n"), (("--pid", "100,200"), "2 processes\n")):
        shown = printed(*lines, options=options)
        t.true(said in shown.split("recorded")[0] + "\n", f"{options}: {shown[:400]}")

with t.case("ranks of a job stay apart"):
    found = rows(printed("window 0 50000", "device 1 gpu", *processes(12, extra=" rank={} rank_count=12"),
                         options=("--by", "process")), "PROCESSES")
    t.true(len(found) >= 10 and all("processes" not in row for row in found[:10]), f"{found}")

with t.case("queues: the heaviest first, the others one row"):
    lines = ("window 0 50000", "device 1 gpu", *processes(40), "launch 2 7 7 45000 45010 kernel name=k",
             "execution 7 2 7 45010 45010 45020 49020")
    found = rows(printed(*lines, options=("--by", "queue")), "QUEUES")
    t.true(found[0].startswith("queue 7 of ") and " 2 " in found[0], f"{found}")
    t.true(found[1].startswith("39 queues of gpu") and " 39 " in found[1], f"{found}")
    t.equal(len(found), 2, "rows")

with t.case("queues whose launches never executed are in the table, unused ones are not"):
    lines = ("window 0 50000", "device 1 gpu", *processes(1), "queue 2 1 process=1", "queue 3 1 process=1",
             "launch 2 1 2 3000 3010 kernel name=k")
    found = rows(printed(*lines, options=("--by", "queue")), "QUEUES")
    t.equal([row.split(" of ")[0] for row in found], ["queue 1", "queue 2"], f"{found}")

# ---- causes of idle time ------------------------------------------------------------------------

DEVICE = ("device 1 gpu", "process 1 100 app", "frame 1 python step file=train.py line=30",
          "stack 1 1", "queue 1 1")


def launch(number, thread, enter, more=""):
    """A launch that ends 10 ns later, and a kernel of 100 ns."""
    return (f"launch {number} {thread} 1 {enter} {enter + 10} kernel name=k stack=1",
            f"execution 1 {number} 1 {enter + 10} {enter + 10} {enter + 10} {enter + 110}")


def preempted(names, each=1000):
    """The one launching thread is preempted by each of these, then launches."""
    yield "window 0 100000"
    yield from DEVICE
    yield "thread 1 1 name=app"
    yield "switch 1 0 in"
    yield from launch(1, 1, 10)
    at = 2000
    for name in names:
        yield f"switch 1 {at} preempted stack=1 wait={name}"
        yield f"switch 1 {at + each} in"
        at += each + 10
    yield from launch(2, 1, 90000)


def places(shown, cause):
    """[name, time] of the rows below a cause of the account."""
    lines = shown.split(f"      launching thread {cause}")[1].splitlines()[1:]
    found = []
    for line in lines:
        if not line.startswith("        "):
            break
        found.append(line.strip())
    return found


with t.case("preemptors are grouped by program, not by process"):
    names = [f"ld%20(process%20{i})" for i in range(30)] + [f"kworker/0:{i}%20(process%20{i})" for i in range(8)] + \
        [f"worker-{i}%20(process%2077)" for i in range(6)] + ["stress%20(process%205)"]
    found = places(printed(*preempted(names)), "preempted")
    t.equal([row.split("  ")[0] for row in found],
            ["ld (30 processes)", "kworker/*:* (several processes)", "worker-* (process 77)", "stress (process 5)"], "names")
    t.true("30.00 \u00b5s" in found[0] and "8.000 \u00b5s" in found[1], f"sums: {found}")

with t.case("rows until the others have less than a fifth"):
    names = [f"{letter}{letter}%20(process%201)" for letter in "abcdefghijklmnopqrstuvwx"]
    found = places(printed(*preempted(names[:10])), "preempted")
    t.equal((len(found), found[-1].split()[0]), (9, "others"), f"8 of 10: {found}")
    found = places(printed(*preempted(names)), "preempted")
    t.equal((len(found), found[-1].split()[0]), (13, "others"), f"at most 12: {found}")
    found = places(printed(*preempted(names[:6] + names[:5] * 5)), "preempted")
    t.equal(len(found), 6, f"5 rows have enough: {found}")


def builders(names):
    """Each thread builds for 1 us, launches, and ends."""
    yield "window 0 100000"
    yield from DEVICE
    for i, name in enumerate(names):
        yield f"thread {i + 1} 1 name={name}"
        yield f"call {i + 1} {2000 * i + 200} {2000 * i + 1800} call clBuildProgram stack=1"
        yield from launch(i + 1, i + 1, 2000 * i + 1900)


def verdict(*lines):
    document = t.report(t.described("groups.duet", *lines))
    return document["verdict"]


with t.case("a cause of many threads is not charged to one of them"):
    many = verdict(*builders([f"worker-{i}" for i in range(20)]))
    t.true("one of 19 threads (worker-*) was in clBuildProgram called from step (train.py:30)" in many["sentences"][1],
           many["sentences"][1])
    t.equal(many["causes"][0]["threads"], 19, "JSON: all but the first, whose call is before the steady part")
    same = verdict(*builders(["pool"] * 5))
    t.true("one of 4 threads (pool) was in" in same["sentences"][1], same["sentences"][1])
    mixed = verdict(*builders(["pool", "io", "net"]))
    t.true("one of 2 threads was in" in mixed["sentences"][1], mixed["sentences"][1])
    one = verdict(*builders(["pool", "solver"]))
    t.true("(solver) was in clBuildProgram" in one["sentences"][1] and "threads" not in one["causes"][0], one["sentences"][1])

with t.case("two calls at one place are both named"):
    lines = ("window 0 100000", *DEVICE, "thread 1 1 name=app", *launch(1, 1, 100), "call 1 300 2000 call clBuildProgram stack=1",
             "call 1 2000 3000 call clGetProgramInfo stack=1", *launch(2, 1, 3100))
    said = verdict(*lines)["sentences"][1]
    t.true("was in clBuildProgram and clGetProgramInfo called from step (train.py:30)" in said, said)

t.end()
