#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several recorders at once: each has every call of its processes, whichever recorder their guests are attached to."""
import itertools
import json
import os
import random
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

with t.case("record -p of a program with few calls begins with its next one"):
    t.wanted()
    about = Numbered(t, 1, "timed", "400", ready=2)
    path = t.path("few.duet")
    before = about.counts()
    run([DUET, "record", "--collect", "opencl", "-p", str(about.pid), "-d", "3", "-o", path])
    for tid, numbers in (numbers_of(t, path, about) or {None: [MODULUS]}).items():
        t.true(tid and numbers[0] <= before[tid] + 2 and len(numbers) >= 3, f"{numbers} after {before}")
    about.finish()

with t.case("record -p of a program that has ended says what it knew before"):
    for code, reason in (("import ctypes; ctypes.CDLL('libOpenCL.so.1')", "was started without duet's guest"),
                         ("pass", "has not loaded OpenCL (libOpenCL.so)")):
        t.wanted()
        user = Running(["/usr/bin/python3", "-c", f"{code}\nprint('running', flush=True); import sys; sys.stdin.read()"],
                       stdin=subprocess.PIPE)
        user.wait_line("running")
        recorder, _ = record("ended.duet", "--collect", "opencl", "-p", str(user.pid))
        time.sleep(2.5)
        user.process.stdin.close()
        user.process.stdin = None
        user.finish()
        done = recorder.finish()
        t.true(reason in text(done.stderr), f"{code}: {text(done.stderr)}")


# ---- recorders that come and go ----------------------------------------------------------------

SEEDS = tuple(int(seed) for seed in (os.environ.get("DUET_READERS_SEEDS") or "7,60").split(","))
# Runs for so many seconds, with new seeds.
SOAK_SECONDS = float(os.environ.get("DUET_READERS_SECONDS") or 0)
ROUND_SECONDS = 8
AT_ONCE = 4                # names of machine-wide recordings
BEGIN_NS = 2_000_000_000   # a guest has found a recorder
ANSWER_NS = 250_000_000    # a guest has read the answer to its hello


class Part:
    """A recorder that runs for a part of the time."""

    def __init__(self, number, choice):
        self.name = f"{number}{choice.choice(('-p', '-a'))}"
        self.begin = choice.uniform(0, ROUND_SECONDS - 3)
        self.end = choice.uniform(self.begin + 2, ROUND_SECONDS)
        # many end nearly together
        if choice.random() < 0.4:
            self.end = max(self.begin + 2, round(self.end) + choice.uniform(-0.1, 0.1))
        self.recorder = self.path = self.counts = self.stopped_ns = self.messages = None

    def start(self, about, prefix):
        how = ("-p", str(about.pid)) if self.name.endswith("-p") else ("-a",)
        self.recorder, self.path = record(f"{prefix}.{self.name}.duet", "--collect", "opencl", *how)

    def stop(self, about):
        self.counts, self.stopped_ns = about.counts(), time.monotonic_ns()
        self.recorder.process.send_signal(signal.SIGTERM)


def plan(choice):
    """Three to five recorders, at most four of them at the same time."""
    while True:
        parts = [Part(number, choice) for number in range(choice.randint(3, 5))]
        if all(sum(other.begin <= part.begin < other.end + 1 for other in parts) <= AT_ONCE for part in parts):
            return parts


def rows_of(path, about):
    """The process's row, its losses, and {tid: [(time, number)]} of its commands; times are the recording's."""
    process, losses, threads, found = None, [], {}, {}
    for line in run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", path]).stdout.splitlines():
        row = json.loads(line)
        if row["kind"] == "process" and row["pid"] == about.pid:
            t.true(process is None or process["id"] == row["id"], f"{path}: one row of the process")
            process = row
        elif row["kind"] == "thread" and process and row.get("process") == process["id"]:
            threads[row["id"]] = row["tid"]
        elif row["kind"] == "launch" and row["function"] == "clEnqueueWriteBuffer" and row["thread"] in threads:
            found.setdefault(threads[row["thread"]], []).append((row["enter"], row["bytes"] - 1))
        elif row["kind"] == "loss":
            losses.append((row["begin"], row["end"]))
    return process, losses, {tid: sorted(rows) for tid, rows in found.items()}


def check_accounted(part, about, what):
    """No command is there twice, and each one that is missing was made in the time of a loss. Returns the figures."""
    process, losses, found = rows_of(part.path, about)
    report = json.loads(run([DUET, "report", "--json", part.path]).stdout)
    if not found:  # the machine was so busy that the guest's hello had no answer in time
        t.true(any("not recorded" in (row["reason"] or "") for row in report["collectors"]), f"{what}: {part.messages}")
        print(f"# {what}: empty: {part.messages}", flush=True)
        return 0, 0
    t.equal(sorted(found), sorted(part.counts), f"{what}: its threads")
    # a time of the recording lies between the times of the program
    shift = max(about.times(tid, number)[0] - enter for tid, rows in found.items() for enter, number in rows)
    begin_ns = process["guest_begin_ns"]
    t.true(0 <= begin_ns < BEGIN_NS * duet_test.PATIENCE, f"{what}: begins after {begin_ns} ns")
    t.equal([loss for loss in losses if loss[0] < 0 or loss[0] >= loss[1]], [], f"{what}: losses in the recording's time")
    recorded = missing = 0
    for tid, rows in found.items():
        numbers, silent = [number for _, number in rows], []
        recorded += len(numbers)
        t.equal(len(numbers), len(set(numbers)), f"{what}: thread {tid}: commands that are there twice")
        for number in set(range(1, part.counts[tid] + 1)) - set(numbers):
            before, after = (time_ns - shift for time_ns in about.times(tid, number))
            if before < begin_ns + ANSWER_NS or not 0 < after < part.stopped_ns - shift:
                continue
            missing += 1
            if not any(begin <= after and before <= end for begin, end in losses):
                silent.append((number, before))
        t.equal(silent[:3] + silent[-1:], [], f"{what}: thread {tid}: {len(silent)} are missing without a loss: {losses}")
    t.true(not (missing and report["complete"]), f"{what}: {missing} are missing, and it is complete")
    return recorded, missing


def run_round(seed):
    """Returns the numbers of recorders, of commands in all recordings, and of those that are missing there."""
    choice = random.Random(seed)
    parts = plan(choice)
    about = Numbered(t, 2, name=f"{seed}.numbered")
    events = sorted([(part.begin, True, part) for part in parts] + [(part.end, False, part) for part in parts],
                    key=lambda event: event[0])
    start = time.monotonic()
    for when, is_start, part in events:
        time.sleep(max(0, start + when - time.monotonic()))
        if is_start:
            part.start(about, str(seed))
        else:
            part.stop(about)
    for part in parts:
        done = part.recorder.finish()
        part.messages = text(done.stderr)
        t.equal(done.status, 0, f"seed {seed}, {part.name}: {part.messages}")
    about.finish()
    plan_text = " ".join(f"{part.name}:{part.begin:.2f}:{part.end:.2f}" for part in parts)
    figures = [check_accounted(part, about, f"seed {seed} ({plan_text}), {part.name}") for part in parts]
    for part in parts:
        os.unlink(part.path)
    return len(parts), sum(recorded for recorded, _ in figures), sum(missing for _, missing in figures)


with t.case("recorders that come and go: no command is there twice, and none is missing without a loss"):
    t.wanted()
    for seed in SEEDS:
        run_round(seed)

if SOAK_SECONDS:
    with t.case("DUET_READERS_SECONDS: the same for a longer time"):
        t.wanted()
        totals = [0, 0, 0, 0]
        soak_end = time.monotonic() + SOAK_SECONDS
        while time.monotonic() < soak_end:
            totals = [a + b for a, b in zip(totals, (1, *run_round(random.randrange(1 << 30))))]
        print(f"# {totals[0]} rounds, {totals[1]} recorders, {totals[2]} commands, {totals[3]} missing with a loss", flush=True)

t.end()
