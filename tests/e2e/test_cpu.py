#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU collector without special rights: samples, stacks and switches, compared with programs that report how much
processor time they used in which function.
"""
import glob
import json
import math
import os
import re
import signal
import time

import duet_test
import trace_stacks
from duet_test import run, text

t = duet_test.Suite(needs_opencl=False)
DUET = t.for_others(duet_test.DUET)
HERTZ = 199
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]


def program(name):
    """A test program that an ordinary user reaches."""
    return t.for_others(duet_test.program(name))


def record(name, command, options=(), before=(), env=None):
    """The trace, and the program's own account {path: ns}."""
    trace = os.path.join(t.folder, "shared", name + ".duet")
    recorded = run([*before, DUET, "record", "--collect", "opencl,cpu", "-o", trace, *options, "--",
                    *command], env=env)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    told = dict(line.split() for line in text(recorded.stdout).splitlines())
    return trace, {path: int(ns) for path, ns in told.items()}


def plain(frames):
    return [re.sub(r"_\[\w\]$", "", frame) for frame in frames]


def stacks(trace):
    """[(frames without suffixes, ns)] of the processor time."""
    return [(plain(frames), ns) for frames, ns in t.folded(trace, "cpu")]


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

with t.case("a sleeping thread has no samples, and its switches are recorded"):
    t.wanted()
    trace, told = record("sleeps", [program("cpu_work"), "sleeps", "500"])
    rows = stacks(trace)
    check_counts(rows, told)
    t.true(below(rows, "rest_b") < 0.05 * told["path_a"], "no processor time asleep")
    t.true(kinds(trace)["switch"] >= 2, "it went and came back")
    thread = t.report(trace, "--by", "thread")["by"][0]
    # to what a program's start and end take; a wake-up only makes a sleep longer
    t.true(abs(thread["on_cpu_ns"] - told["path_a"]) < 0.03 * told["path_a"] + 2e7, f"{thread}, {told}")
    # a thread that is preempted on its way to sleep sleeps for less
    t.true(thread["blocked_ns"] >= 450e6 and thread["blocked_ns"] + thread["preempted_ns"] >= 500e6, f"it slept for half a second: {thread}")

SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=4000"}


def idle_stacks(trace):
    """{innermost own function: {cause: ns}} of the idle time that a flame graph shows."""
    found = {}
    for frames, ns in t.folded(trace, "idle"):
        frames = plain(frames)
        own = [frame for frame in frames if frame in ("sleep_a", "compute_b", "run_kernel", "[unknown stack]")]
        causes = found.setdefault(own[-1] if own else "", {})
        causes[frames[-1]] = causes.get(frames[-1], 0) + ns
    return found


with t.case("a device that idles because of a sleep in one function and of computing in another"):
    t.wanted()
    if not os.path.exists(os.path.join(duet_test.PROGRAMS, "idle_causes")):
        raise duet_test.Skip("no OpenCL headers")
    stolen = duet_test.stolen_ns()
    trace, told = record("idle", [program("idle_causes"), "250", "4", "2"], env=SIM)
    stolen = duet_test.stolen_ns() - stolen
    device = t.report(trace)["devices"][0]
    causes = device["idle_causes"]
    t.equal(sum(causes.values()), device["idle_ns"], "the causes' sum")
    # what the thread did, to the cost of asking the clock; a sleep is longer than it is blocked by a wake-up;
    # a processor that a virtual machine was without counts as the thread's, as nobody switched it away
    t.true(abs(causes["on_cpu"] - told["compute_b"]) < 0.05 * told["compute_b"] + 5e6 + stolen,
           f"computing {causes['on_cpu']}, took {told['compute_b']}")
    t.true(0.9 * told["sleep_a"] < causes["blocked"] + causes["preempted"]
           and causes["blocked"] < 1.02 * told["sleep_a"],
           f"blocked {causes['blocked']}, slept {told['sleep_a']}")
    t.equal(causes["host"], 0, "nothing is left untold")
    found = idle_stacks(trace)
    # at some 100 looks of either kind one in ten may fall to a neighbour
    t.true(found["compute_b"]["[idle: computing]"] > 0.9 * causes["on_cpu"], f"{found}")
    # a thread that has gone on before the recorder was given a processor is not seen where it waited, and no other is
    # said to have been there
    unseen = found.get("[unknown stack]", {}).get("[idle: blocked]", 0)
    t.true(found["sleep_a"]["[idle: blocked]"] > 0.9 * (causes["blocked"] - unseen), f"{found}")
    shown = sum(ns for causes in found.values() for ns in causes.values())
    t.equal(shown, device["idle_ns"], "the flame graph's sum")

COLLECTION = "[Python garbage collection]"
PYTHON_SCRIPT = os.path.join(duet_test.ROOT, "tests", "programs", "python_cpu.py")


def python(version):
    """The interpreter of that version; one of Debian's first."""
    places = [f"/usr/bin/python{version}", os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")]
    found = [path for place in places for path in sorted(glob.glob(place))]
    if not found:
        raise duet_test.Skip(f"no Python {version}")
    return found[0]


def frames_of(rows, function):
    return sum(ns for frames, ns in rows if any(frame.split(" (")[0].split(".")[-1] == function for frame in frames))


def check_python(version):
    trace, told = record("python" + version, [python(version), PYTHON_SCRIPT, "shares", "1500"])
    rows = stacks(trace)
    heavy, light = frames_of(rows, "heavy"), frames_of(rows, "light")
    everything, period = sum(ns for _, ns in rows), 1e9 / HERTZ
    share = told["heavy"] / sum(told.values())
    # binomial, 4 standard deviations and 3 %: a function is read when the recorder is woken, some of them later
    spread = 4 * math.sqrt(share * (1 - share) * (heavy + light) / period) * period
    t.true(abs(heavy - share * (heavy + light)) < spread + 0.03 * (heavy + light),
           f"{version}: heavy {heavy / 1e6:.0f} ms, light {light / 1e6:.0f} ms, its share {share:.3f}")
    # the rest is the interpreter's begin and end, and what a recorder saw late that was not given a processor
    t.true(heavy + light > 0.7 * sum(told.values()),
           f"{version}: {(heavy + light) / 1e6:.0f} of {sum(told.values()) / 1e6:.0f} ms have their function")
    t.true(frames_of(rows, "_PyEval_EvalFrameDefault") < 0.25 * everything,
           f"{version}: no frames of the interpreter where there are functions")
    t.true(all(sum(frame.startswith("heavy (") for frame in frames) < 2 for frames, _ in rows),
           f"{version}: none twice")


def check_lock(version):
    trace, told = record("lock" + version, [python(version), PYTHON_SCRIPT, "lock", "10", "30"], env=SIM)
    device = t.report(trace)["devices"][0]
    waits, blocked = device["idle_waits"], device["idle_causes"]["blocked"]
    t.equal(sum(wait["ns"] for wait in waits), blocked, f"{version}: the waits' sum")
    held = sum(wait["ns"] for wait in waits if wait.get("wait") == "Python GIL")
    holders = [(wait["holder"], wait["ns"]) for wait in waits if "holder" in wait]
    by_thread = sum(ns for holder, ns in holders if holder["tid"] != holder["pid"])
    by_function = sum(ns for holder, ns in holders if holder.get("function") in ("compute", "loop", "hold"))
    # Sleeps of 1 ms are too short to be looked at: they are divided among what was seen. A recorder that gets no
    # processor looks late, and finds the thread in its next wait.
    t.true(0.7 * told["waited"] < held < 1.05 * (told["waited"] + 10 * 1.5e6),
           f"{version}: waits for the lock {held / 1e6:.1f} ms, took {told['waited'] / 1e6:.1f}: {waits}")
    # less where the one that waits is not given a processor at once
    t.true(by_thread > 0.75 * held, f"{version}: held by the computing thread: {waits}")
    # the holder that is not given one is in the middle of what it does to take the lock, or of its first look at a name
    t.true(by_function > 0.25 * held, f"{version}: in the functions that compute: {waits}")
    drawn = text(run([DUET, "flame", "--view", "idle", "--folded", trace]).stdout)
    shown = sum(int(line.rsplit(" ", 1)[1]) for line in drawn.splitlines()
                if "[waiting for the Python GIL];-;[idle: blocked]" in line and "lock (" in line)
    t.true(shown > 0.9 * held, f"{version}: in the flame graph {shown / 1e6:.1f} ms of {held / 1e6:.1f}")
    said = text(run([DUET, "report", trace]).stdout)
    # the first, or behind a sleep of 1 ms that a busy machine made long
    t.true(re.search(r"blocked +[0-9.]+ ms.*\n(?: +\S.*\n){0,2} +Python GIL.* held by thread .* in (loop|compute|hold) ", said), said[:1500])
    outer = [line.split(";") for line in drawn.splitlines() if ";lock (" in line and line[0] != "["]
    # waits and launches: the same outer frames
    t.equal(len({tuple(frames[:frames.index(next(f for f in frames if f.startswith("lock (")))])
                 for frames in outer}), 1, f"{version}: roots of the stacks below lock: {outer}")


def ordinary_pythons():
    """Versions that an ordinary user reaches."""
    return [one for one in pythons() if python(one).startswith("/usr/bin/")]


def check_parse(version, before=()):
    """Waits in a chain of 5 ms each, with a C function as the holder's innermost one."""
    who = "ordinary " if before else ""
    trace, told = record(f"parse{who}{version}", [python(version), t.for_others(PYTHON_SCRIPT), "parse", "10", "40"],
                         before=before, env={**SIM, "OCL_ICD_VENDORS": t.for_others(SIM["OCL_ICD_VENDORS"])})
    waits = [wait for wait in t.report(trace)["devices"][0]["idle_waits"] if "wait" in wait]
    known = sum(wait["ns"] for wait in waits)
    gil = [wait for wait in waits if wait["wait"] == "Python GIL"]
    held = sum(wait["ns"] for wait in gil)
    name = f"{who}{version}: waited {told['waited'] / 1e6:.0f} ms, known {known / 1e6:.0f}, for the lock {held / 1e6:.0f}"
    t.true(held >= 0.8 * known, f"{name}: {waits}")
    by_holder = sum(wait["ns"] for wait in gil if wait.get("holder", {}).get("tid") == told["holder"])
    t.true(by_holder >= 0.8 * held, f"{name}, by the thread that parses {by_holder / 1e6:.0f}: {gil}")
    parses = sum(wait["ns"] for wait in gil if wait.get("holder", {}).get("file", "").endswith(("decoder.py", "python_cpu.py")))
    t.true(parses >= 0.8 * held, f"{name}, in its functions {parses / 1e6:.0f}: {gil}")
    timers = [wait for wait in gil for waker in wait.get("wakers", []) if "tid" not in waker]
    t.equal(timers, [], f"{name}: a timed wait is not over when its timer wakes the thread")


def check_trampolines(version):
    trace, told = record("trampolines" + version, [python(version), PYTHON_SCRIPT, "shares", "500"],
                         env={"PYTHONPERFSUPPORT": "1"})
    rows = stacks(trace)
    twice = sum(ns for frames, ns in rows if sum("heavy" in frame for frame in frames) > 1)
    t.equal(twice, 0, f"{version}: functions told twice: {twice / 1e6:.0f} ms")
    named = sum(ns for frames, ns in rows if any("heavy" in frame or "light" in frame for frame in frames))
    t.true(named > 0.8 * sum(told.values()), f"{version}: {named / 1e6:.0f} of {sum(told.values()) / 1e6:.0f} ms")


def check_collection(version, before=()):
    """The interpreter's collector is the innermost frame, below the function in which it ran, and nowhere else."""
    who = "ordinary " if before else ""
    trace, told = record(f"collect{who}{version}", [python(version), t.for_others(PYTHON_SCRIPT), "collect", "700"], before=before)
    rows = stacks(trace)
    found = {name: frames_of([row for row in rows if COLLECTION in row[0]], name) for name in ("release", "work_b", "digest")}
    all_of = {name: frames_of(rows, name) for name in found}
    t.true(found["release"] > 0.9 * all_of["release"] > 0.7 * told["release"], f"{who}{version}: {found} of {all_of}, {told}")
    # a recorder that reads the frames of a sample late may find the next function
    t.true(found["work_b"] < 0.05 * all_of["work_b"], f"{who}{version}: not where it computes: {found} of {all_of}")
    t.true(found["digest"] < 0.02 * all_of["digest"], f"{who}{version}: not in a thread without the lock: {found} of {all_of}")


def pythons():
    """Versions that are installed: all in one case, so that what is skipped does not depend on how many there are."""
    t.wanted()
    found = []
    for version in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13"):
        try:
            python(version)
            found.append(version)
        except duet_test.Skip:
            pass
    if not found:
        raise duet_test.Skip("no Python 3.8 to 3.13")
    return found


with t.case("every Python: two functions, 70 and 30 of 100 of the processor time; under trampolines none twice"):
    for one in pythons():
        check_python(one)
        if one in ("3.12", "3.13"):
            check_trampolines(one)

with t.case("every Python: collections of garbage, in the thread that collects"):
    for one in pythons():
        check_collection(one)

with t.case("collections of garbage: an ordinary user"):
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root can become somebody else")
    if not ordinary_pythons():
        raise duet_test.Skip("no Python for all users")
    check_collection(ordinary_pythons()[-1], ORDINARY)

with t.case("every Python: a device idles because another thread has the interpreter's lock"):
    for one in pythons():
        if not os.path.exists(SIM["OCL_ICD_VENDORS"]):
            raise duet_test.Skip("no simulated driver")
        check_lock(one)

with t.case("every Python: chains of timed waits for the interpreter's lock, and their holder"):
    for one in pythons():
        if not os.path.exists(SIM["OCL_ICD_VENDORS"]):
            raise duet_test.Skip("no simulated driver")
        check_parse(one)

with t.case("chains of timed waits for the interpreter's lock: an ordinary user"):
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root can become somebody else")
    if not ordinary_pythons() or not os.path.exists(SIM["OCL_ICD_VENDORS"]):
        raise duet_test.Skip("no Python for all users, or no simulated driver")
    check_parse(ordinary_pythons()[-1], ORDINARY)

with t.case("a C function that waits with the interpreter's lock is named by its caller"):
    t.wanted()
    if not os.path.exists(SIM["OCL_ICD_VENDORS"]):
        raise duet_test.Skip("no simulated driver")
    trace, told = record("keeps", [python(pythons()[-1]), PYTHON_SCRIPT, "lock", "10", "30", "1"], env=SIM)
    waits = t.report(trace)["devices"][0]["idle_waits"]
    held = sum(wait["ns"] for wait in waits if wait.get("holder", {}).get("function") == "keep")
    t.true(0.75 * told["waited"] < held < 1.05 * (told["waited"] + 10 * 1.5e6),
           f"{held / 1e6:.1f} ms, took {told['waited'] / 1e6:.1f}: {waits}")

with t.case("every Python: a thread asleep has its function and line, and what it waits for"):
    with open(PYTHON_SCRIPT, encoding="utf-8") as file:
        sleeps_at = next(number for number, line in enumerate(file, 1) if "time.sleep(ms / 1000)" in line)
    for one in pythons():
        stolen = duet_test.stolen_ns()
        trace, told = record("rest" + one, [python(one), PYTHON_SCRIPT, "sleeps", "200"])
        stolen = duet_test.stolen_ns() - stolen
        rows = run([DUET, "export", "--format", "jsonl", "-o", "/dev/stdout", trace])
        switches = [json.loads(line) for line in text(rows.stdout).splitlines() if '"switch"' in line]
        slept = [row["stack"] for row in switches if row.get("wait") in ("clock_nanosleep", "pselect6", "select", "sleep (select or poll)")]
        chains = [trace_stacks.Trace(trace).chain(stack) for stack in slept]
        functions = [[(frame.name, frame.line) for frame in chain if frame.type == "python"] for chain in chains]
        t.true(any(names and names[0] == ("rest_a", sleeps_at) and names[-1][0] == "<module>"
                   for names in functions), f"{one}: {functions}, {[row.get('wait') for row in switches]}")
        work = frames_of(stacks(trace), "work_b")
        # 40 samples; their clock goes on while the virtual machine's processor runs something else
        t.true(-0.4 * told["work_b"] < work - told["work_b"] < 0.4 * told["work_b"] + stolen,
               f"{one}: computing {work / 1e6:.0f} ms, took {told['work_b'] / 1e6:.0f}, stolen {stolen / 1e6:.0f}")



def naps_share(version, options):
    """The share of the time of waits of some 3 ms that has the function that waits, without the first quarter."""
    trace, _ = record("naps" + version, [python(version), PYTHON_SCRIPT, "naps", "300", "3"], env=SIM, options=options)
    rows = run([DUET, "export", "--format", "jsonl", "-o", "/dev/stdout", trace])
    switches = [json.loads(line) for line in text(rows.stdout).splitlines() if '"switch"' in line]
    names, whole, known = trace_stacks.Trace(trace), 0, 0
    left = {}
    for row in sorted(switches, key=lambda row: row["time"])[len(switches) // 4:]:
        out = left.pop(row.get("next"), None)
        if row.get("previous"):
            left[row["previous"]] = row
        if not out or out["reason"] != "blocked" or not 2500000 < row["time"] - out["time"] < 10000000:
            continue
        functions = [frame.name for frame in names.chain(out.get("stack", 0)) if frame.type == "python"]
        whole += row["time"] - out["time"]
        known += row["time"] - out["time"] if functions and functions[0].split(".")[-1] in ("nap", "launch") else 0
    return known / max(whole, 1)


with t.case("every Python: waits of 3 ms of a launching thread have their function"):
    for one in pythons():
        if not os.path.exists(SIM["OCL_ICD_VENDORS"]):
            raise duet_test.Skip("no simulated driver")
        # A recorder that gets no processor in time sees fewer; before it looked ahead it saw 15 to 30 of 100.
        found = naps_share(one, ["--collect", "opencl,cpu:nobpf"])
        if found <= 0.5:
            found = naps_share(one, ["--collect", "opencl,cpu:nobpf"])
        t.true(found > 0.5, f"{one}: without BPF {found:.2f}")
        if os.getuid() == 0:
            found = naps_share(one, ["--collect", "opencl,cpu:bpf"])
            t.true(found > 0.95, f"{one}: with BPF {found:.2f}")

with t.case("perf refused: Python functions of threads that run"):
    t.wanted()
    trace, told = record("refused-python", [python(pythons()[-1]), PYTHON_SCRIPT, "shares", "800"],
                         before=[program("no_perf"), "1"])
    rows = stacks(trace)
    heavy, light = frames_of(rows, "heavy"), frames_of(rows, "light")
    t.true(heavy + light > 0.7 * sum(told.values()),
           f"{(heavy + light) / 1e6:.0f} of {sum(told.values()) / 1e6:.0f} ms")
    # 160 looks, 5 standard deviations
    t.true(abs(heavy / max(heavy + light, 1) - told["heavy"] / sum(told.values())) < 0.19,
           f"heavy {heavy / 1e6:.0f} light {light / 1e6:.0f} ms")

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
        t.true("threads are polled" in said, said[:300])
        # what lies between two looks in different states is not known
        told_of = causes["blocked"] + causes["host"]
        t.true(0.4 * told["sleep_a"] < told_of < 1.6 * told["sleep_a"] and causes["blocked"] > 0.2 * told["sleep_a"],
               f"blocked {causes['blocked']}, not known {causes['host']}, slept {told['sleep_a']}")
        t.true(0.4 * told["compute_b"] < causes["on_cpu"] < 2.5 * told["compute_b"],
               f"computing {causes['on_cpu']}, took {told['compute_b']}")
        t.true(idle_stacks(trace)["sleep_a"]["[idle: blocked]"] > 0.8 * causes["blocked"], "stacks")

with t.case("switches that a stopped recorder loses make the states of threads unknown then, and at no other time"):
    t.wanted()
    ready = t.path("ready")
    script = ("import os, threading, time\n"
              "def pipes(): return os.pipe() + os.pipe()\n"
              "a, b, c, d = pipes()\n"
              "def echo():\n"
              "    while os.read(a, 1) == b'x': os.write(d, b'x')\n"
              "thread = threading.Thread(target=echo)\n"
              "thread.start()\n"
              f"open({ready!r}, 'w').close()\n"
              "end = time.time() + 2.5\n"
              "while time.time() < end:\n"
              "    os.write(b, b'x'), os.read(c, 1)\n"
              "os.write(b, b'q')\n")
    trace = t.path("lossy.duet")
    recorder = duet_test.Running([DUET, "record", "--collect", "cpu:nobpf", "-o", trace, "--", "/usr/bin/python3", "-c", script])
    while not os.path.exists(ready) and recorder.process.poll() is None:
        time.sleep(0.02)
    time.sleep(0.5)
    recorder.kill(signal.SIGSTOP)
    time.sleep(1)
    recorder.kill(signal.SIGCONT)
    t.equal(recorder.finish().status, 0, "record")
    exported = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()]
    losses = [row for row in exported if row["kind"] == "loss" and row["lost"] == "switch"]
    # the rings have room for 10000 records: about 50 ms of these
    if t.true(losses and all(row.get("bounded") for row in losses), f"losses: {losses}"):
        rows = sorted(t.report(trace, "--by", "thread")["by"], key=lambda row: row["on_cpu_ns"] + row["blocked_ns"])[-2:]
        lost = sum(row["end"] - row["begin"] for row in losses)
        for row in rows:
            t.true(0 < row.get("unknown_ns", 0) < 1.1 * lost + 1e8, f"unknown of {lost} ns lost: {row}")
            t.true(row["on_cpu_ns"] > 0 and row["blocked_ns"] > 0, f"known before and after: {row}")

with t.case("an ended process is not counted twice"):
    t.wanted()
    trace, _ = record("ended", [program("cpu_work"), "shares", "200"])
    t.equal(kinds(trace)["process"], 1, "processes")
    t.equal(kinds(trace)["thread"], 1, "threads")

with t.case("up to its exec a child's thread has the name of its process, its parent's"):
    t.wanted()
    trace, _ = record("execs", ["/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done"])
    exported = run([DUET, "export", "-f", "jsonl", trace])
    rows = [json.loads(line) for line in text(exported.stdout).splitlines()]
    names = {row["id"]: row["name"] for row in rows if row["kind"] == "process"}
    threads = [(names[row["process"]], row["name"]) for row in rows if row["kind"] == "thread"]
    t.equal([pair for pair in threads if pair[0] != pair[1]], [], "process and its thread")
    t.true(len(threads) > 1, f"children were seen: {threads}")

with t.case("500 children that do nothing"):
    t.wanted()
    trace, _ = record("forks", [program("cpu_work"), "forks", "500"])
    t.true(kinds(trace)["process"] >= 1, "they do not end it")

t.end()
