#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record -p of programs that use CUDA, over the stand-ins of libcuda and libcupti: what they launch while it is there
is recorded to the last kernel, before and after nothing is, and they do not notice.

DUET_ATTACH_ROUNDS: how often the same process is recorded."""
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, PATIENCE, Running, program, run, text

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

    def __init__(self, *arguments, command=None):
        t.wanted()
        self.process = subprocess.Popen(
            command or [program("cuda_live"), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=duet_test.clean_environment({"LD_LIBRARY_PATH": STAND_INS}), preexec_fn=duet_test.default_signals)
        self.pid = self.process.pid
        self.said = [self.process.stdout.readline()]

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        self.said.append(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.said += self.process.stdout.readlines()
        status, errors = self.process.wait(30 * PATIENCE), self.process.stderr.read()
        return status, text(b"".join(self.said)), text(errors)

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


class Recorder:
    """duet record -p that has come into the process."""

    def __init__(self, pid, trace, options=()):
        self.errors = open(t.path("recorder.stderr"), "w+b")
        self.process = subprocess.Popen(
            [DUET, "record", "-v", "-p", str(pid), *CUDA, "--flush-interval", "100ms", *options, "-o", trace],
            stderr=self.errors, env=duet_test.clean_environment(), preexec_fn=duet_test.default_signals)
        self.trace = trace
        until("attached", lambda: "ran when it was attached to" in self.said() or self.process.poll() is not None)

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
    return json.loads(result.stdout)["ledger"] if result.status == 0 else collections.Counter()


def record_once(live, trace, kernels, graphs=0):
    """What is launched meanwhile, and has come to its end, is there."""
    recorder = Recorder(live.pid, trace)
    live.tell(f"launch {kernels}")
    if graphs:
        live.tell(f"graph {graphs}")
    wanted = kernels + 3 * graphs
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
        t.true("graphs that it had made before have the stack of their launch" in said, said)
        # the first call that ends gives CUPTI back, and with it the guest's own thread
        live.tell("launch 4")
        until("detached", lambda: live.threads() == before)
        live.tell("graph 1")
        result = live.end()
        t.equal(result, (7, "ready\nlaunch 5: done\nlaunch 23: done\ngraph 2: done\nlaunch 4: done\ngraph 1: done\nwrong 0\n", ""),
                "status, output and errors")
        t.equal(result, plain(place, ["launch 5", "launch 23", "graph 2", "launch 4", "graph 1"]), "as without duet")

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
    t.true("made while it ran" not in text(run([DUET, "info", trace]).stdout), "nothing of ours is in its code")
    status, said, errors = live.end()
    t.equal((status, json.loads(said.splitlines()[1])["forward"], errors), (0, {"h2d": 5, "kernels": 12}, ""), "the program")

with t.case(f"the same process, {ROUNDS} times"):
    live = Live("read")
    before, mapped = live.threads(), []
    for turn in range(ROUNDS):
        record_once(live, t.path("again.duet"), 3 + turn % 5)
        if turn % 2:  # one that was not given back yet is taken over
            live.tell("launch 2")
            until("detached", lambda: live.threads() == before)
        with open(f"/proc/{live.pid}/maps", encoding="utf-8") as file:
            mapped.append(sum("libduet-cuda.so" in line and "r-xp" in line for line in file))
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

with t.case("without libcupti nothing is loaded, and what is recorded is said"):
    live = Live("busy", "without")
    result = run([DUET, "record", "-d", "0.5", "-p", str(live.pid), "--collect", "cpu,nvidia:cuda", "-o", t.path("without.duet")])
    for words in ("runs CUDA without libcupti", "its kernels have no device times", "duet record --collect nvidia:cuda"):
        t.true(words in text(result.stderr), text(result.stderr))
    t.true("runs CUDA without libcupti" in text(run([DUET, "info", t.path("without.duet")]).stdout), "noted")
    t.true(t.report(t.path("without.duet"))["cpu"], "its threads are recorded")
    with open(f"/proc/{live.pid}/maps", encoding="utf-8") as file:
        t.true("libduet" not in file.read(), "nothing is loaded")
    t.equal(live.end()[0], 7, "the program")

CPU_SIDE = "CPU side only"

with t.case("without libcupti launches are seen from outside, with their stacks"):
    live = Live("read", "without")
    before = live.threads()
    trace = t.path("side.duet")
    errors = open(t.path("side.stderr"), "w+b")
    recorder = subprocess.Popen(
        [DUET, "record", "-v", "-p", str(live.pid), *CUDA, "--flush-interval", "100ms", "-o", trace], stderr=errors,
        env=duet_test.clean_environment(), preexec_fn=duet_test.default_signals)

    def said():
        with open(errors.name, encoding="utf-8") as file:
            return " ".join(file.read().split())

    until(CPU_SIDE, lambda: CPU_SIDE in said() or "by uprobes either" in said() or recorder.poll() is not None)
    if "by uprobes either" in said() and ("record as root" in said() or "libbpf" in said() or "in this container" in said()):
        recorder.send_signal(signal.SIGINT)
        recorder.wait(30 * PATIENCE)
        live.end()
        raise duet_test.Skip(f"no rights for programs inside the kernel: {said()}")
    t.true(CPU_SIDE in said(), said())
    live.tell("launch 23")
    live.tell("graph 2")
    until("25 commands", lambda: ledger(trace)["matched"] >= 25)
    recorder.send_signal(signal.SIGINT)
    t.equal(recorder.wait(30 * PATIENCE), 0, said())
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

with t.case("refusals have their sentences"):
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
        result = run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", DUET, "record", "-p", str(live.pid), *CUDA,
                      "-o", "/dev/null"])
        t.true("is of user root (0)" in text(result.stderr), text(result.stderr))
        t.equal(live.end()[0], 7, "the program")

t.end()
