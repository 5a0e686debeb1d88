#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A running program is recorded repeatedly; each recording has every command between its start and its end.

tests/programs/numbered.c numbers the commands of each thread, and its counters can be read while it runs. Rounds of the
long case: DUET_ATTACH_ROUNDS (12; 100 before a release).
"""
import contextlib
import itertools
import os
import re
import signal
import subprocess
import time

import duet_test
from duet_test import DUET, GUEST, Running, program, run, text
from numbered import MODULUS, Numbered, numbers_of

t = duet_test.Suite()
duet_test.leave_network()

ROUNDS = int(os.environ.get("DUET_ATTACH_ROUNDS") or 12)
def check(path, about, before, attached, ending, ended):
    """before: counters when no recorder was there; attached: when each thread was recorded; ending: when the recorder was
    about to be stopped, None: it was killed; ended: when it had gone."""
    found = numbers_of(t, path, about)
    t.equal(sorted(found), sorted(before), f"{path}: its threads")
    for tid, numbers in found.items():
        holes = [pair for pair in itertools.pairwise(numbers) if pair[1] != (pair[0] + 1) % MODULUS]
        t.equal(holes, [], f"{path}: holes in thread {tid}")
        first = before[tid] + (numbers[0] - before[tid]) % MODULUS
        last = first + len(numbers) - 1
        t.true(before[tid] < first <= attached[tid] + 1, f"{path}: thread {tid} begins with {first}: "
               f"at most {before[tid]} before it was recorded, {attached[tid]} when it was")
        t.true(last <= ended[tid] and (not ending or last >= ending[tid] - 1), f"{path}: thread {tid} ends with {last}: "
               f"at least {ending and ending[tid]} before the end, {ended[tid]} after it")


def record(about, number, *how, killed=False):
    path = t.path(f"{number}.duet")
    regions, before = about.regions(), about.counts()
    recorder = Running([DUET, "record", "--collect", "opencl", "--flush-interval", "100ms", *how, "-o", path])
    about.wait_for(lambda: about.regions() - regions or recorder.process.poll() is not None, "an attached program")
    # One thread has found the recorder; with its next call all see it.
    attached = about.wait_for_more(2)
    ending = about.wait_for_more(50)
    if killed:  # with what it has flushed
        time.sleep(0.5)
    recorder.kill(9 if killed else 2)
    result = recorder.finish()
    t.equal(result.status, 137 if killed else 0, f"status of the recorder ({text(result.stderr)})")
    check(path, about, before, attached, None if killed else ending, about.counts())


@contextlib.contextmanager
def numbered(*arguments, **more):
    t.wanted()
    about = Numbered(t, *arguments, **more)
    try:
        yield about
    finally:
        result = about.finish()
        t.equal((result.status, result.stdout), (0, b"running\nended\n"), f"the program ({text(result.stderr)})")


def causes(path):
    """The idle causes of the only device."""
    return t.readable(path)["devices"][0]["idle_causes"]


with t.case("a repeated recording of a running program begins soon"):
    with numbered(1) as program_:
        late = []
        for round_ in range(3):
            path = t.path(f"soon{round_}.duet")
            t.equal(run([DUET, "record", "-p", str(program_.pid), "-d", "1", "-o", path]).status, 0, "record")
            idle = causes(path)
            late.append(idle["unknown"] + idle["nothing_to_do"])
        # The guest looks for a recorder every 40 ms; it was every second.
        t.true(sorted(late)[1] < 400e6, f"time without the program's calls in 1 s: {late}")

with t.case("the time before a late guest attached is unknown, and a note says so"):
    with numbered(1) as program_:
        path = t.path("late.duet")
        os.kill(program_.pid, signal.SIGSTOP)
        recorder = Running([DUET, "record", "-p", str(program_.pid), "-d", "2.5", "-o", path])
        time.sleep(1.2)
        os.kill(program_.pid, signal.SIGCONT)
        t.equal(recorder.finish(30).status, 0, "record")
        idle = causes(path)
        t.true(idle["unknown"] > 400e6 > idle["nothing_to_do"], f"{idle}")
        shown = text(run([DUET, "report", path]).stdout)
        t.true(re.search(rf"calls of process {program_.pid} \(numbered\) are known from [0-9.]+ ms on", shown), shown)

with t.case(f"a program that only enqueues, {ROUNDS} times: -p and -a, each recorder stopped"):
    with numbered(1) as program_:
        for round_ in range(ROUNDS):
            record(program_, round_, *(["-a"] if round_ % 3 == 2 else ["-p", str(program_.pid)]))

with t.case("five threads, and recorders that are killed"):
    with numbered(5) as program_:
        for round_ in range(6):
            record(program_, round_, "-p", str(program_.pid), killed=round_ % 2 == 0)

with t.case("two programs: one recorder each, one after the other, then one for both"):
    with numbered(2) as one:
        with numbered(1, name="second") as other:
            record(one, "one", "-p", str(one.pid))
            record(other, "other", "-p", str(other.pid))
            record(one, "both", "-a")
            record(other, "again", "-p", f"{one.pid},{other.pid}")



FORKS = """import ctypes, os, signal, time
cl = ctypes.CDLL('libOpenCL.so.1')
count = ctypes.c_uint()
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
print('running', flush=True)
while True:
    cl.clGetPlatformIDs(0, None, ctypes.byref(count))
    cl.clWaitForEvents(0, None)
    if asked:
        asked.clear()
        child = os.fork()
        if child:
            print('forked', child, flush=True)
    time.sleep(0.002)
"""

with t.case("a child that is forked between two recordings is recorded beside its parent"):
    t.wanted()
    with open(t.path("forks.py"), "w", encoding="utf-8") as file:
        file.write(FORKS)
    parent = Running(["python3", t.path("forks.py")], env={"OPENCL_LAYERS": GUEST})
    parent.wait_line("running")
    calls = []
    for number in range(3):
        path = t.path(f"fork{number}.duet")
        t.equal(run([DUET, "record", "--collect", "opencl", "-p", str(parent.pid), "-d", "4", "-o", path]).status, 0, "status")
        calls.append({row["pid"]: row["calls"] for row in t.readable(path)["processes"] if row["calls"] > 10})
        if number == 0:
            parent.kill(10)
            parent.wait_line("forked")
    child = int(parent.head.split()[-1])
    parent.kill(9)
    os.kill(child, 9)
    parent.finish()
    t.equal([sorted(row) for row in calls], [[parent.pid], [parent.pid, child], [parent.pid, child]], f"whose calls: {calls}")


def attached_report(*more, env=None):
    """The report of a recording that comes late."""
    path = t.path("late.duet")
    with numbered(1, *more, env=env) as about:
        record(about, "late", "-p", str(about.pid))
    return text(run([DUET, "report", path]).stdout)


with t.case("a queue without profiling: the report says what to do"):
    report = attached_report("plain")
    t.true("have no device times, because they were created before the recording, without CL_QUEUE_PROFILING_ENABLE"
           in report and "start the program with DUET_OPENCL_PROFILING=1" in report, report)

with t.case("... and with DUET_OPENCL_PROFILING=1 it has device times"):
    report = attached_report("plain", env={"DUET_OPENCL_PROFILING": "1"})
    t.true("not measured" not in report and "no device times" not in report and "busy" in report, report)

with t.case("DUET_OPENCL_PROFILING of an idle guest is invisible to the program"):
    t.wanted()
    for arguments in (["counts", "--check-properties"], ["harm", "state"], ["counts", "--fail"]):
        command = [program(arguments[0]), *arguments[1:]]
        plain = run(command)
        timed = run(command, env={"OPENCL_LAYERS": GUEST, "DUET_OPENCL_PROFILING": "1"})
        t.equal(timed[:3], plain[:3], f"{arguments}")

t.end()
