#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several recorders at once: each has every call of its processes, whichever recorder their guests are attached to."""
import itertools
import json
import signal
import subprocess
import time

import duet_test
from duet_test import DUET, Running, run, text
from numbered import MODULUS, Numbered, numbers_of

t = duet_test.Suite()
duet_test.leave_network()


def record(name, *how):
    """A recorder, and the path of its file."""
    path = t.path(name)
    return Running([DUET, "record", "-v", *how, "-o", path]), path


def stop(recorder):
    recorder.process.send_signal(signal.SIGINT)
    return recorder.finish()


def numbers_without_holes(path, about):
    """{tid: (first, number)} of the commands of one process."""
    found = numbers_of(t, path, about)
    for tid, numbers in found.items():
        holes = [pair for pair in itertools.pairwise(numbers) if pair[1] != (pair[0] + 1) % MODULUS]
        t.equal(holes, [], f"{path}: holes in thread {tid}")
    return {tid: (numbers[0], len(numbers)) for tid, numbers in found.items()}


def check_part(path, about, before, after, name):
    """The recording has the commands between two readings of the program's counters, without a hole."""
    found = numbers_without_holes(path, about)
    t.equal(sorted(found), sorted(before), f"{name}: its threads")
    for tid, (first, number) in found.items():
        t.true((first - 1) % MODULUS <= before[tid] % MODULUS + 1 or before[tid] > MODULUS // 2,
               f"{name}: thread {tid} begins with {first}, {before[tid]} were done when it recorded")
        t.true(number >= after[tid] - before[tid] - 2, f"{name}: thread {tid} has {number} commands, "
               f"{after[tid] - before[tid]} were made meanwhile")


def executions_of(path):
    """[(correlation of a launch with an execution, kernel time)], and the ledger."""
    report = json.loads(run([DUET, "report", "--json", path]).stdout)
    return report["ledger"], report


with t.case("record -p beside record -a: both have every command"):
    t.wanted()
    about = Numbered(t, 3)
    machine, machine_path = record("machine.duet", "-a")
    about.wait_for(lambda: about.regions(), "the guest attached")
    about.wait_for_more(50)
    one, one_path = record("one.duet", "-p", str(about.pid))
    time.sleep(1.5)
    before = about.counts()
    time.sleep(2)
    after = about.wait_for_more(20)
    viewer = run([DUET, "top", "--batch", "-n", "2", "-p", str(about.pid)])
    t.true(f"({about.pid}) arrive up to 1.3 s late: another recorder (process {machine.process.pid}) has them first. End it for "
           "live data." in text(viewer.stderr), f"duet top: {text(viewer.stderr)}")
    done = stop(one)
    t.true("are taken over from the recorder" in text(done.stderr), f"the hint: {text(done.stderr)}")
    about.wait_for_more(20)
    stop(machine)
    check_part(one_path, about, before, after, "record -p")
    check_part(machine_path, about, before, after, "record -a")
    for path in (one_path, machine_path):
        ledger, report = executions_of(path)
        t.equal((ledger["dropped"], ledger["rejected"], ledger["contradictions"]), (0, 0, 0), f"{path}: ledger")
        t.equal(len([row for row in report["processes"] if row["pid"] == about.pid]), 1, f"{path}: one row of the process")
        t.equal(len(report["devices"]), 1, f"{path}: devices")
    about.finish()

with t.case("the recorder with the guest ends first: the other one goes on"):
    t.wanted()
    about = Numbered(t, 2)
    first, first_path = record("first.duet", "-p", str(about.pid))
    about.wait_for(lambda: about.regions(), "the guest attached")
    second, second_path = record("second.duet", "-p", str(about.pid))
    about.wait_for_more(400)
    time.sleep(2)
    regions = about.regions()
    stop(first)
    about.wait_for(lambda: about.regions() - regions, "the guest attached to the second recorder")
    before = about.counts()
    about.wait_for_more(200)
    after = about.counts()
    stop(second)
    found = numbers_of(t, second_path, about, gaps=True)
    for tid, numbers in found.items():
        steps = [(b - a) % MODULUS for a, b in itertools.pairwise(numbers)]
        # the commands between the first recorder's end and the attachment to the second one
        t.true(len([step for step in steps if step != 1]) <= 1, f"at most one hole: {[s for s in steps if s != 1]}")
        t.true(numbers[-1] >= after[tid] % MODULUS - 1, f"thread {tid} goes on to {numbers[-1]}, {after[tid]}")
    numbers_without_holes(first_path, about)
    about.finish()

with t.case("record -p of two programs: each recorder has its own, record -a has both"):
    t.wanted()
    one, other = Numbered(t, 1), Numbered(t, 2, name="other")
    recorders = [record(f"{about.pid}.duet", "-p", str(about.pid)) for about in (one, other)]
    for about in (one, other):
        about.wait_for(lambda about=about: about.regions(), "the guest attached", timeout=40)
    machine, machine_path = record("both.duet", "-a")
    time.sleep(1.5)
    before = {about: about.counts() for about in (one, other)}
    time.sleep(2)
    after = {about: about.wait_for_more(20) for about in (one, other)}
    stop(machine)
    for recorder, _ in recorders:
        stop(recorder)
    for about, (_, path) in zip((one, other), recorders):
        check_part(path, about, before[about], after[about], "its own recorder")
        check_part(machine_path, about, before[about], after[about], "record -a")
    for about, stranger in ((one, other), (other, one)):
        t.equal(numbers_of(t, t.path(f"{about.pid}.duet"), stranger), {}, "nothing of the other program")
    one.finish()
    other.finish()

with t.case("record -p of a program with ROCm or Level Zero says why its calls are not recorded"):
    for library, collector, reason in (("libhsa-runtime64.so.1", "amd", "ROCm loads tools only when it starts"),
                                       ("libze_loader.so.1", "level_zero", "The loader reads its layers only when it starts")):
        t.wanted()
        code = f"import ctypes, sys; ctypes.CDLL({library!r}); print('loaded', flush=True); sys.stdin.read()"
        user = Running(["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE)
        user.wait_line("loaded")
        path = t.path(f"{collector}.duet")
        result = run([DUET, "record", "-p", str(user.pid), "--collect", collector, "-d", "0.3", "-o", path])
        t.true(reason in text(result.stderr), f"{collector}: {text(result.stderr)}")
        t.true(f"duet record --collect {collector} -- PROGRAM" in text(result.stderr), f"{collector}: the remedy")
        user.process.stdin.close()
        user.process.stdin = None
        user.finish()

t.end()
