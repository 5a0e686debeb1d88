#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record -p of running CUDA programs, over simulated libcuda and libcupti. Everything that they launch during the
recording is recorded, nothing before or after, and the programs are not disturbed.

DUET_ATTACH_ROUNDS: how often the same process is recorded.
"""
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, PATIENCE, Running, Skip, program, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)
if os.uname().machine != "x86_64":
    print("1..0 # SKIP guests are brought into processes of x86-64 alone")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()  # recorders of running processes listen under a name that one has
ROUNDS = int(os.environ.get("DUET_ATTACH_ROUNDS") or 5)
CUDA = ["--collect", "nvidia:cuda"]


class Live:
    """tests/programs/cuda_live, which launches what it is told to."""

    def __init__(self, *arguments, command=None, sim=""):
        t.wanted()
        self.calls = t.path("calls")  # of CUPTI, as the stand-in writes them down
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.calls)
        self.process = subprocess.Popen(
            command or [program("cuda_live"), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=duet_test.clean_environment({"LD_LIBRARY_PATH": STAND_INS,
                                             "SIM_NVIDIA": ",".join(filter(None, [f"calls={self.calls}", sim]))}), preexec_fn=duet_test.default_signals)
        self.pid = self.process.pid
        self.said, self.told = [self.process.stdout.readline()], []

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        self.told.append(line)
        self.said.append(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.said += self.process.stdout.readlines()
        status, errors = self.process.wait(30 * PATIENCE), self.process.stderr.read()
        return status, text(b"".join(self.said)), text(errors)

    def count(self, *names):
        """How often each of these was called so far."""
        counts = collections.Counter()
        with contextlib.suppress(FileNotFoundError), open(self.calls, encoding="ascii") as file:
            counts.update(line.split()[0] for line in file)
        return tuple(counts[name] for name in names)

    def launch_until(self, what, condition):
        """Launches one after the other: what is given back is given back in a call that ends."""
        def turn():
            self.tell("launch 1")
            return condition()
        until(what, turn)

    def threads(self):
        names = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/task/{task}/comm", encoding="ascii") as file:
                names.append(file.read().strip())
        return sorted(names)


def until(what, condition, timeout=20):
    end = time.monotonic() + timeout * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout * PATIENCE} s: {what}")
        time.sleep(0.02)


ATTACHED = ("was running when it was attached", "the guest is loaded and idle")


class Recorder:
    """duet record -p that has come into the process."""

    def __init__(self, pid, trace, options=()):
        self.errors = open(t.path("recorder.stderr"), "w+b")
        self.process = subprocess.Popen(
            [DUET, "record", "-v", "-p", str(pid), *(CUDA if "--collect" not in options else ()), "--flush-interval", "100ms",
             *options, "-o", trace],
            stderr=self.errors, env=duet_test.clean_environment(), preexec_fn=duet_test.default_signals)
        self.trace = trace
        until("attached", lambda: any(words in self.said() for words in ATTACHED) or self.process.poll() is not None)

    def said(self):
        with open(self.errors.name, encoding="utf-8") as file:
            return " ".join(file.read().split())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(30 * PATIENCE)
        self.errors.close()
        return status


def ledger(trace):
    result = run([DUET, "report", trace, "--json"])
    return json.loads(result.stdout)["ledger"] if result.status in (0, 4) else collections.Counter()


def record_once(live, trace, kernels, graphs=0, options=(), nodes=3):
    """What is launched meanwhile, and has come to its end, is there."""
    recorder = Recorder(live.pid, trace, options)
    live.tell(f"launch {kernels}")
    if graphs:
        live.tell(f"graph {graphs}")
    wanted = kernels + nodes * graphs
    until(f"{wanted} commands", lambda: ledger(trace)["matched"] >= wanted)
    said = recorder.said()
    t.equal(recorder.end(), 0, said)
    got = t.ledger(t.report(trace))
    t.equal((got["launched"], got["matched"]), (wanted, wanted), f"launched and matched of {got}")
    return said


def plain(where, lines):
    live = Live(where)
    for line in lines:
        live.tell(line)
    return live.end()


for place in ("read", "busy", "allocate", "threads", "alarm", "sleep"):
    with t.case(f"a process that is attached to in the middle: {place}"):
        live = Live(place)
        before = live.threads()
        live.tell("launch 5")
        said = record_once(live, t.path(f"{place}.duet"), 23, 2)
        t.true("Graphs that it had created before have the stack of their launch" in said, said)
        # the first call that ends gives CUPTI back, and with it the guest's own thread
        live.launch_until("detached", lambda: live.threads() == before)
        live.tell("graph 1")
        result = live.end()
        t.equal((result[0], result[2], result[1].splitlines()[-1]), (7, "", "wrong 0"), "status, errors and last line")
        t.equal(result, plain(place, live.told), "as without duet")

with t.case("a program of Python: its functions are in the stacks"):
    paths = os.path.join(duet_test.ROOT, "tests", "programs", "cuda_paths.py")
    live = Live(command=["/usr/bin/env", sys.executable, paths, "told"])
    trace = t.path("python.duet")
    recorder = Recorder(live.pid, trace)
    live.tell("go")
    until("57 commands", lambda: ledger(trace)["matched"] >= 23 + 7 + 5 + 22)
    t.equal(recorder.end(), 0, "status")
    report, sums = t.readable(trace), collections.Counter()
    for row in report["kernels"]:
        for stack in row["stacks"]:
            names = tuple(frame["function"] for frame in stack["frames"] if frame.get("file", "").endswith("cuda_paths.py"))
            sums[names] += stack["count"]
    t.equal(sums, {("<module>", "forward", "Worker.launch"): 12, ("second_thread", "evaluate", "Worker.launch"): 11,
                   ("<module>", "replay", "replay"): 22}, "stacks of kernels")
    t.true("in JIT code of process" not in text(run([DUET, "info", trace]).stdout), "nothing of ours is in its code")
    status, said, errors = live.end()
    t.equal((status, json.loads(said.splitlines()[1])["forward"], errors), (0, {"h2d": 5, "kernels": 12}, ""), "the program")

with t.case(f"the same process, {ROUNDS} times"):
    live = Live("read")
    before, mapped = live.threads(), []
    for turn in range(ROUNDS):
        record_once(live, t.path("again.duet"), 3 + turn % 5)
        if turn % 2:  # one that was not given back yet is taken over
            live.launch_until("detached", lambda: live.threads() == before)
        with open(f"/proc/{live.pid}/maps", encoding="utf-8") as file:
            mapped.append(sum("libduet-nvidia.so" in line and "r-xp" in line for line in file))
    t.equal(set(mapped), {1}, "the guest is loaded once")
    status, said, errors = live.end()
    t.equal((status, said.splitlines()[-1], errors), (7, "wrong 0", ""), "the program")

with t.case("a recorder that is killed while it attaches"):
    live = Live("read")
    for turn in range(ROUNDS):
        with open(os.devnull, "wb") as null:
            recorder = subprocess.Popen([DUET, "record", "-p", str(live.pid), *CUDA, "-o", t.path("killed.duet")],
                                        stderr=null, env=duet_test.clean_environment())
            time.sleep(random.uniform(0, 0.06))
            recorder.kill()
            recorder.wait()
        live.tell("launch 1")
    status, said, errors = live.end()
    t.equal((status, said.splitlines()[-1], errors), (7, "wrong 0", ""), "the program")

with t.case("recordings that end just after their commands have all of these and no others"):
    truth = t.path("truth")
    live = Live("read", sim=f"log={truth}")
    exact = 0
    for turn in range(12):
        if exact == ROUNDS:
            break
        recorder = Recorder(live.pid, t.path("tail.duet"))
        live.tell(f"launch {50 + turn}")  # and waits for them
        t.equal(recorder.end(), 0, "status")
        if "did not deliver their times" in text(run([DUET, "info", t.path("tail.duet")]).stdout):
            continue  # a machine on which nothing ran for long
        report = t.report(t.path("tail.duet"))
        got = t.ledger(report)
        t.equal((got["launched"], got["matched"], report["losses"]), (50 + turn, 50 + turn, []), f"recording {turn}: {got}")
        exact += 1
    t.equal(exact, ROUNDS, "recordings in which the guest was asked and answered")
    status, said, errors = live.end()
    with open(truth, encoding="ascii") as file:
        t.equal(len(file.readlines()), sum(int(line.split()[1]) for line in live.told), "what ran by the stand-in's own count")
    t.equal((status, said.splitlines()[-1], errors), (7, "wrong 0", ""), "the program")

SAMPLED = "nvidia:pc"
GIVEN_BACK = ("cuptiSubscribe", "cuptiUnsubscribe", "cuptiFinalize")

with t.case("a CUPTI that takes longer than the program may wait is released nevertheless"):
    gate = t.path("gate")
    live = Live("read", sim=f"gate={gate}")
    before = live.threads()
    for turn in range(1, 4):
        recorder = Recorder(live.pid, t.path("late.duet"), ("--collect", SAMPLED))
        live.tell("context 3")
        until("3 commands", lambda: ledger(t.path("late.duet"))["matched"] >= 3)
        with open(gate, "w", encoding="ascii"):
            disabled = live.count("cuptiPCSamplingDisable")[0]
        t.equal(recorder.end(), 0, "status")
        live.launch_until("switching off", lambda least=disabled: live.count("cuptiPCSamplingDisable")[0] > least)
        live.tell("launch 2")  # these have the helper end, which cannot
        t.equal(live.count(*GIVEN_BACK), (turn, turn - 1, turn - 1), "begun, not ended yet")
        os.unlink(gate)
        if turn < 3:
            live.launch_until("given back", lambda: live.threads() == before)
            t.equal(live.count(*GIVEN_BACK), (turn, turn, turn), "begun, ended and given back")
    # what no call has given back is taken over
    until("the helper's end", lambda: "duet-nvidia" not in live.threads())
    said = record_once(live, t.path("late.duet"), 4)
    t.true("of it has not ended" not in said, said)
    t.equal(live.count(*GIVEN_BACK), (3, 2, 2), "begun, ended and given back")
    live.launch_until("given back", lambda: live.threads() == before)
    t.equal(live.count(*GIVEN_BACK), (3, 3, 3), "begun, ended and given back")
    t.equal(live.end()[0], 7, "the program")

with t.case("a graph that is made while nobody records, and CUPTI before 12.6 is not given back yet, keeps it from being given back"):
    gate = t.path("late_gate")
    # a recorder of its own, whose signal is not the program's
    command = [DUET, "record", "--collect", SAMPLED, "-o", t.path("graphless.duet"), "--", program("cuda_live"), "read", "later"]
    live = Live(command=command, sim=f"version=22,finalize_crash=1,gate={gate}")
    live.tell("launch 3")
    until("sampling", lambda: live.count("cuptiPCSamplingEnable") == (1,))
    with open(gate, "w", encoding="ascii"):
        os.kill(live.pid, signal.SIGINT)
    until("switching off", lambda: live.count("cuptiPCSamplingDisable")[0] > 0)
    live.tell("launch 1")  # has the helper end, which cannot
    live.tell("make")
    os.unlink(gate)
    live.launch_until("switched off", lambda: live.count("cuptiUnsubscribe") == (1,))
    t.equal(live.count("cuptiFinalize"), (0,), "given back beside a graph")
    status, said, errors = live.end()
    t.equal((status, said.splitlines()[-1]), (7, "wrong 0"), f"the program: {errors}")

with t.case("options of the first recording are off in the second"):
    for sim, ends in (("", 0), ("version=22,finalize_crash=1", 1)):  # taken over; switched off between them
        live = Live("read", sim=sim)
        record_once(live, t.path("first.duet"), 3, options=["--collect", "nvidia:latency"])
        if ends:
            live.launch_until("switched off", lambda: live.count("cuptiUnsubscribe") == (1,))
            until("the helper's end", lambda: "duet-nvidia" not in live.threads())
        record_once(live, t.path("second.duet"), 4)
        for name, wanted in (("first", 3), ("second", 0)):
            zones = t.report(t.path(f"{name}.duet"))["queues"]
            t.equal(sum(row["zones"]["queued_submitted"]["count"] for row in zones), wanted, f"{name}: kernels that were queued")
        t.equal(live.end()[0], 7, "the program")

with t.case("a context that is made just after a recording has taken over is sampled, once"):
    live = Live("read")
    for turn in range(2):
        recorder = Recorder(live.pid, t.path("taken.duet"), ("--collect", SAMPLED))
        if turn:
            live.tell("context 9")
            until("samples", lambda: ledger(t.path("taken.duet")).get("samples"))
            t.equal(live.count("cuptiPCSamplingEnable"), (1,), "switched on")
        t.equal(recorder.end(), 0, "status")
    t.equal(live.end()[0], 7, "the program")

with t.case("if CUPTI refuses to be released, no end is reported"):
    live = Live("read", sim="version=22,fail_cuptiSubscribe=39")
    result = run([DUET, "record", "-d", "0.5", "-p", str(live.pid), "--collect", "cpu,nvidia:cuda", "-o", t.path("refused.duet")])
    said = " ".join(text(run([DUET, "info", t.path("refused.duet")]).stdout).split())
    t.true("cuptiSubscribe" in said and "CUPTI stays loaded" not in said, said)
    t.equal(live.end()[0], 7, "the program")

with t.case("CUPTI before 12.6 is not given back beside graphs: it is switched off"):
    live = Live("read", sim="version=22,finalize_crash=1")
    kinds = 0  # of activity, that a recording has on
    for turn in range(1, 3):
        trace = t.path("old.duet")
        record_once(live, trace, 3, 2)
        t.true("CUPTI stays loaded and switched off" in " ".join(text(run([DUET, "info", trace]).stdout).split()), "noted")
        live.launch_until("switched off", lambda wanted=turn: live.count("cuptiUnsubscribe") == (wanted,))
        kinds = kinds or live.count("cuptiActivityEnable")[0]
        t.true(kinds >= 5, f"kernels, copies, copies between devices, sets, overheads at least: {kinds}")
        t.equal(live.count(*GIVEN_BACK, "cuptiActivityEnable", "cuptiActivityDisable"), (turn, turn, 0, kinds * turn, kinds * turn),
                "begun, ended, not given back, and each kind on and off")
        until("the helper's end", lambda: "duet-nvidia" not in live.threads())
    t.equal(live.end()[0], 7, "the program")

with t.case("a recording that takes over has its own options"):
    live = Live("read", sim="fail_cuptiActivityRegisterTimestampCallback=27")
    said = record_once(live, t.path("one.duet"), 2, 2)
    t.true("those of CLOCK_REALTIME" in said, said)
    said = record_once(live, t.path("two.duet"), 3, 2, ("--collect", "nvidia:graphs"), nodes=1)
    t.true("those of CLOCK_REALTIME" in said, f"a refusal is told to each: {said}")
    record_once(live, t.path("three.duet"), 2, 2)
    recorder = Recorder(live.pid, t.path("four.duet"), ("--collect", SAMPLED))
    live.tell("context 9")
    until("samples", lambda: ledger(t.path("four.duet")).get("samples"))
    t.equal(recorder.end(), 0, "status")
    recorder = Recorder(live.pid, t.path("five.duet"))
    t.true(live.count("cuptiPCSamplingDisable")[0] > 0, "who asks for no samples has none")
    live.tell("context 9")
    until("9 commands", lambda: ledger(t.path("five.duet"))["matched"] >= 9)
    t.equal((recorder.end(), ledger(t.path("five.duet")).get("samples", 0)), (0, 0), "status, samples")
    t.equal(live.count(*GIVEN_BACK), (1, 0, 0), "it was never given back in between")
    t.equal(live.end()[0], 7, "the program")

with t.case("ranges of CUPTI's own time go to a recording that takes over"):
    live = Live("read")
    for turn in range(2):
        recorder = Recorder(live.pid, t.path("ranges.duet"))
        time.sleep(0.05)  # two readings of the clock that are apart
        live.tell("context 1")  # a kernel's first use
        until("1 command", lambda: ledger(t.path("ranges.duet"))["matched"] >= 1)
        t.equal(recorder.end(), 0, "status")
        t.true(any(row["domain"] == "CUPTI" for row in t.report(t.path("ranges.duet"))["ranges"]), f"ranges of recording {turn}")
    t.equal((live.count(*GIVEN_BACK), live.end()[0]), ((1, 0, 0), 7), "not given back; the program")

with t.case("nvidia:idle loads only the guest and CUPTI"):
    for option, subscribed in (("nvidia:idle", 0), ("nvidia:idle-subscribed", 1)):
        live = Live("read")
        before = live.threads()
        recorder = Recorder(live.pid, t.path("idle.duet"), ("--collect", option))
        live.tell("launch 5")
        t.equal(live.threads(), before, "no thread of its own")
        said = recorder.said()
        t.equal((recorder.end(), t.ledger(t.report(t.path("idle.duet")))["launched"]), (0, 0), "status, launches")
        t.true("the guest is loaded and idle" in said, said)
        t.equal(live.count(*GIVEN_BACK, "cuptiActivityEnable"), (subscribed, 0, 0, 0), f"{option}: what was called")
        record_once(live, t.path("after.duet"), 3)
        t.equal(live.end()[0], 7, "the program")

# Starts two of what its arguments say, each a rank, and tells both what it is told.
LAUNCHER = """
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "RANK": str(rank)})
         for rank in range(2)]
def answers():
    return [rank.stdout.readline() for rank in ranks]
print(answers()[0].decode().strip(), flush=True)
for line in sys.stdin:
    for rank in ranks:
        rank.stdin.write(line.encode())
        rank.stdin.flush()
    print(answers()[0].decode().strip(), flush=True)
for rank in ranks:
    rank.stdin.close()
sys.exit(max(rank.wait() for rank in ranks))
"""

with t.case("ranks that a process has started are recorded with it"):
    live = Live(command=[sys.executable, "-c", LAUNCHER, program("cuda_live"), "read"])
    recorder = Recorder(live.pid, t.path("ranks.duet"))
    until("attached", lambda: recorder.said().count("was running when it was attached") == 2)
    t.true("has not loaded libcuda" not in recorder.said(), f"nothing is missing: {recorder.said()}")
    live.tell("launch 7")
    until("14 commands", lambda: ledger(t.path("ranks.duet"))["matched"] >= 14)
    t.equal(recorder.end(), 0, "status")
    report = t.report(t.path("ranks.duet"))
    t.equal(t.ledger(report)["launched"], 14, "launches of both")
    t.equal(live.end()[0], 7, "the programs")


def in_container(script, *options):
    """cuda_live in namespaces of its own, from copies in the folder that it begins in."""
    folder = t.path("container")
    os.makedirs(folder, exist_ok=True)
    for path in (program("cuda_live"), os.path.join(STAND_INS, "libcuda.so.1"), os.path.join(STAND_INS, "libcupti.so.13")):
        shutil.copy(path, folder)
    return Live(command=["unshare", "--mount", *options, "sh", "-c",
                         f"cd '{folder}' && {script} && LD_LIBRARY_PATH=. exec ./cuda_live read"])


with t.case("a process in a container"):
    if os.geteuid() != 0:
        raise Skip("needs root for namespaces")
    if run(["unshare", "--mount", "--pid", "--fork", "true"]).status != 0:
        raise Skip("no mount namespace can be made here (unshare); in a chroot the kernel refuses it")
    # it does not see the guest's file, and its numbers are its own
    live = in_container(f"mount -t tmpfs none '{duet_test.BUILD}'", "--pid", "--fork", "--kill-child")
    record_once(live, t.path("container.duet"), 5)
    t.equal(live.end()[0], 7, "the program")
    # it does not find duet either
    live = in_container("mount -t tmpfs none /tmp && mount -t tmpfs none /run", "--net")
    result = run([DUET, "record", "-d", "0.5", "-p", str(live.pid), "--collect", "cpu,nvidia:cuda", "-o", t.path("alone.duet")])
    t.true("is in a container" in text(result.stderr) and "run duet in that container" in text(result.stderr), text(result.stderr))
    with open(f"/proc/{live.pid}/maps", encoding="utf-8") as file:
        t.true("duet_cuda" not in file.read(), "nothing is loaded")
    t.equal(live.end()[0], 7, "the program")

with t.case("without libcupti nothing is loaded, and the recorded part is reported"):
    live = Live("busy", "without")
    result = run([DUET, "record", "-d", "0.5", "-p", str(live.pid), "--collect", "cpu,nvidia:cuda", "-o", t.path("without.duet")])
    for words in ("runs CUDA without libcupti", "Its kernels have no device times", "duet record --collect nvidia:cuda"):
        t.true(words in text(result.stderr), text(result.stderr))
    t.true("runs CUDA without libcupti" in text(run([DUET, "info", t.path("without.duet")]).stdout), "noted")
    t.true(t.report(t.path("without.duet"))["cpu"], "its threads are recorded")
    with open(f"/proc/{live.pid}/maps", encoding="utf-8") as file:
        t.true("libduet" not in file.read(), "nothing is loaded")
    t.equal(live.end()[0], 7, "the program")

CPU_SIDE = "CPU side only"


class Side:
    """duet record -p that sees launches from outside."""

    def __init__(self, live, trace, *options, processes=1):
        self.errors = open(t.path("side.stderr"), "w+b")
        self.process = subprocess.Popen(
            [DUET, "record", "-v", "-p", str(live.pid), *CUDA, "--flush-interval", "100ms", *options, "-o", trace],
            stderr=self.errors, env=duet_test.clean_environment(), preexec_fn=duet_test.default_signals)
        until(CPU_SIDE, lambda: self.said().count(CPU_SIDE) >= processes or "by uprobes either" in self.said() or
              self.process.poll() is not None)
        said = self.said()
        if "by uprobes either" in said and ("record as root" in said or "libbpf" in said or "in this container" in said):
            self.end()
            live.end()
            raise duet_test.Skip(f"no rights for programs inside the kernel: {said}")
        t.equal(said.count(CPU_SIDE), processes, said)

    def said(self):
        with open(self.errors.name, encoding="utf-8") as file:
            return " ".join(file.read().split())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        t.equal(self.process.wait(30 * PATIENCE), 0, self.said())
        self.errors.close()


with t.case("without libcupti, uprobes record launches with stacks"):
    live = Live("read", "without")
    before = live.threads()
    trace = t.path("side.duet")
    recorder = Side(live, trace)
    live.tell("launch 23")
    live.tell("graph 2")
    until("25 commands", lambda: ledger(trace)["matched"] >= 25)
    recorder.end()
    report = t.report(trace)
    got = t.ledger(report)
    t.equal((got["launched"], got["matched"], got["untimed"]), (25, 25, 25), f"commands: {got}")
    t.equal([(row["name"], row["count"]) for row in report["kernels"]], [("[cuLaunchKernel]", 23)], "kernels by their call")
    t.equal({row["name"]: row["count"] for row in report["api"]}, {"cuLaunchKernel": 23, "cuGraphLaunch": 2}, "calls")
    names = [[frame["function"] for frame in stack["frames"]] for row in report["kernels"] for stack in row["stacks"]]
    t.true(names and all("main" in stack for stack in names), f"stacks to the program's begin: {names}")
    t.true(not any("cuLaunch" in name for stack in names for name in stack), "which begin outside of the driver")
    t.true(CPU_SIDE in text(run([DUET, "info", trace]).stdout), "noted")
    t.equal(live.threads(), before, "nothing is in the process")
    live.tell("launch 4")
    t.equal(live.end()[0], 7, "the program")

with t.case("… also launches of its children, without stacks if --stacks none"):
    live = Live(command=[sys.executable, "-c", LAUNCHER, program("cuda_live"), "read", "without"])
    trace = t.path("side.duet")
    recorder = Side(live, trace, "--stacks", "none", processes=2)
    t.true("has not loaded libcuda" not in recorder.said(), f"nothing is missing: {recorder.said()}")
    live.tell("launch 7")
    until("14 commands", lambda: ledger(trace)["matched"] >= 14)
    recorder.end()
    report = t.report(trace)
    t.equal(t.ledger(report)["launched"], 14, "launches of both")
    frames = [stack["frames"] for row in report["kernels"] for stack in row["stacks"]]
    t.true(not any(frames), f"stacks: {frames}")
    t.equal(live.end()[0], 7, "the programs")

with t.case("uprobes are set in the mapped library, even if its file was replaced"):
    folder = t.path("driver")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(STAND_INS, "libcuda.so.1"), folder)
    live = Live(command=["sh", "-c", f"LD_LIBRARY_PATH='{folder}' exec '{program('cuda_live')}' read without"])
    os.unlink(os.path.join(folder, "libcuda.so.1"))
    os.mkfifo(os.path.join(folder, "libcuda.so.1"))
    trace = t.path("side.duet")
    recorder = Side(live, trace)
    live.tell("launch 3")
    until("3 commands", lambda: ledger(trace)["matched"] >= 3)
    recorder.end()
    t.equal(live.end()[0], 7, "the program")

with t.case("nvidia:idle sets no uprobes"):
    live = Live("read", "without")
    result = run([DUET, "record", "-v", "-d", "0.5", "-p", str(live.pid), "--collect", "nvidia:idle", "-o", t.path("idle.duet")])
    t.true("runs CUDA without libcupti" in text(result.stderr) and "uprobes" not in text(result.stderr), text(result.stderr))
    t.equal(live.end()[0], 7, "the program")

with t.case("each refusal has a message"):
    process = Running(["sleep", "60"])
    result = run([DUET, "record", "-d", "0.2", "-p", str(process.pid), *CUDA, "-o", t.path("none.duet")])
    t.true("has not loaded libcuda" in text(result.stderr), text(result.stderr))
    process.kill(signal.SIGKILL)
    process.finish()
    live = Live("read")
    with contextlib.ExitStack() as ends:
        other = Recorder(live.pid, t.path("first.duet"))
        ends.callback(other.end)
        result = run([DUET, "record", "-d", "0.5", "-p", str(live.pid), "--collect", "cpu,nvidia:cuda", "-o",
                      t.path("second.duet")])
        t.true("another recording has it already" in text(result.stderr), text(result.stderr))
    t.equal(live.end()[0], 7, "the program")
    if os.geteuid() == 0:
        live = Live("read")
        result = run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", t.for_others(DUET), "record", "-p",
                      str(live.pid), *CUDA, "-o", "/dev/null"])
        t.true("is of user root (0)" in text(result.stderr), text(result.stderr))
        t.equal(live.end()[0], 7, "the program")

t.end()
