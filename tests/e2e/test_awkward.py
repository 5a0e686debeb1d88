#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that often break a guest, and stacks of programs of all kinds.

Programs with unusual forks, handles, errno, threads and libraries must end as without duet, and their traces must be
complete. Where a stack is captured, the program itself reports its position.

DUET_STORM_LAUNCHES=1000000 makes the storm longer than its 200000 launches.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import time

import duet_test
from duet_test import DUET, GUEST, PROGRAMS, ROOT, Running, Skip, program, run, text
from trace_stacks import Trace

t = duet_test.Suite()
duet_test.leave_network()

BASIC = {"POCL_DEVICES": "basic"}
DRIVER = os.environ.get("SIM_OPENCL_FOLDER") or os.path.join(duet_test.BUILD, "sim")
SIMULATED = {"OCL_ICD_VENDORS": DRIVER}


def sim(**more):
    """The simulated driver's environment: handles are used again at once, callbacks are rare."""
    if not glob.glob(os.path.join(DRIVER, "*.icd")):
        raise Skip("the simulated driver was not built")
    return {**SIMULATED, **more}


def awkward(*arguments):
    return [program("awkward"), *arguments]


def check(command, name, env=None, options=(), **more):
    """Unharmed, and the file can be read; (document, what the recorded run printed)."""
    output = t.path(name)
    _, recorded = t.unharmed(command, output, options, env=env, **more)
    return t.readable(output), recorded


def launches_by_process(document):
    return sorted(row["launches"] for row in document["processes"])


# ---- layers ----

OPENS_THEN_EXECS = """
import ctypes, os, sys
library, count = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_uint()
for at in range(2):
    library.clGetPlatformIDs(0, None, ctypes.byref(count))
os.execv(sys.argv[1], sys.argv[1:])
"""

with t.case("a program that opens OpenCL beside a layer of the user's: the programs that it starts are recorded"):
    count_file, output = t.path("layer.counts"), t.path("layer.duet")
    with open(count_file, "wb") as file:
        file.write(bytes(16))
    recorded = run([DUET, "record", "-o", output, "--", "/usr/bin/python3", "-c", OPENS_THEN_EXECS, program("counts")],
                   env=sim(OPENCL_LAYERS=program("counting_layer.so"), COUNT_ENQUEUES=count_file))
    t.equal(recorded.status, 0, f"status: {text(recorded.stderr)}")
    launched = duet_test.counted(recorded.stdout)["launched"]
    with open(count_file, "rb") as file:
        t.equal(int.from_bytes(file.read(8), "little"), launched, "what the user's layer counts")
    t.equal(t.report(output)["ledger"]["launched"], launched, "what duet records")

# ---- forks ----

with t.case("forks while other threads enqueue: children that call OpenCL live"):
    _, recorded = check(awkward("forks", "4"), "forks.duet", env=BASIC)
    t.equal(recorded.stdout, b"children that died: 0\n", "stdout")

with t.case("a fork in a destructor callback: the child returns from the call it was made in"):
    document, recorded = check(awkward("fork-callback"), "callback.duet", env=BASIC)
    t.equal(recorded.stdout, b"the child's fate: 0\n", "stdout")
    t.equal(launches_by_process(document)[-1], 30, "launches of the parent")
    t.equal(document["ledger"]["matched"], 30, "matched")

with t.case("forks in a signal handler, wherever it comes: the children go on there"):
    document, recorded = check(awkward("fork-signal", "60"), "signal.duet", env=BASIC)
    t.equal(recorded.stdout, b"children that died: 0\n", "stdout")
    t.equal(launches_by_process(document)[-1], 180, "launches of the parent")
    t.equal(document["ledger"]["matched"], 180, "matched")

# ---- handles ----

with t.case("a thread without a ring makes a kernel at the address of another: both keep their names"):
    # what is freed is given out again at once
    tunables = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    document, recorded = check(awkward("handles"), "handles.duet", env=sim(**tunables))
    if recorded.stdout != b"same handle: 1\n":
        raise Skip("the driver gave another handle")
    t.equal({row["name"]: row["count"] for row in document["kernels"]}, {"first": 1, "other": 5},
            "kernels")

with t.case("linked with a callback where another program was: the kernel is the new program's"):
    _, recorded = check(awkward("link"), "link.duet", env=BASIC)
    if recorded.stdout != b"same handle: 1\n":
        raise Skip("the driver gave another handle")
    trace = Trace(t.path("link.duet"))
    used = [trace.kernels[launch.kernel] for launch in trace.launches]
    t.equal([name for name, _ in used], ["same", "same"], "kernels launched")
    t.equal(len({parent for _, parent in used}), 2, f"programs of {used}")

# ---- the OpenCL library closed ----

for driver, environment in (("PoCL", lambda: BASIC), ("simulated", sim)):
    for rounds in (1, 4):
        with t.case(f"closed with pending commands, {rounds} times: {driver}"):
            document, recorded = check([program("unload"), str(rounds)], "unload.duet",
                                       env=environment())
            t.equal(recorded.status, 7, "status")
            t.equal(document["ledger"]["launched"], 41 * rounds, "launched")
            t.equal(document["ledger"]["dropped"], 0, "dropped")

# ---- recorders that come and go ----


def machine_wide(output, *options):
    """record -a, running, once nobody else has one."""
    for _ in range(30):
        recorder = Running([DUET, "record", "-a", "-o", output, *options])
        time.sleep(0.5)
        if recorder.process.poll() in (None, 0):
            return recorder
        recorder.finish()
        time.sleep(2)
    raise Skip("another machine-wide recording is running")


def with_guest():
    if not os.path.exists(GUEST):
        raise Skip(f"{GUEST} is not there")
    return sim(OPENCL_LAYERS=GUEST)


with t.case("a stopped machine-wide recorder delays an idle program at most twice in 6 s"):
    t.wanted()
    environment = with_guest()
    recorder = machine_wide(t.path("stopped.duet"))
    recorder.kill_group(signal.SIGSTOP)
    try:
        result = run(awkward("idle", "6"), env=environment)
    finally:
        recorder.kill_group(signal.SIGCONT)
        recorder.kill(signal.SIGINT)
        recorder.finish()
    found = re.fullmatch(r"slow calls: (\d+)\n", text(result.stdout))
    t.true(found and int(found.group(1)) <= 2, f"at most two: {text(result.stdout)}")

with t.case("one recording ends and another begins, four times, while eight threads launch"):
    t.wanted()
    running = Running(awkward("churn", "9"), env=with_guest())
    running.wait_line("running")
    launched = []
    for number in range(4):
        output = t.path(f"again{number}.duet")
        result = machine_wide(output, "-d", "1.6").finish()
        t.equal(result.status, 0, f"status of record -a ({text(result.stderr)})")
        document = t.readable(output)
        # launches of others on this machine are no concern here
        launched += [row["launches"] for row in document["processes"] if row["pid"] == running.pid]
    result = running.finish()
    t.equal((result.status, result.stdout), (0, b"running\nended\n"), "status and stdout")
    print(f"# launches of the program in each recording: {launched}")
    t.true(launched and max(launched) > 1000, f"it was recorded: {launched}")

with t.case("an unsupported Python is reported to each recorder, with its version"):
    t.wanted()
    fake = os.path.join(duet_test.BUILD, "tests", "unit", "inject", "libpython_fake_3_15.so")
    if not os.path.exists(fake):
        raise Skip("python_fake_3_15 was not built")
    running = Running(awkward("churn", "6"), env=dict(with_guest(), LD_PRELOAD=fake))
    running.wait_line("running")
    for number in range(2):
        result = machine_wide(t.path(f"told{number}.duet"), "-d", "1.6").finish()
        said = [line for line in text(result.stderr).splitlines() if f" {running.pid} " in line]
        t.true(len(said) == 1 and "Python frames are missing, because duet does not support this Python (version 3.15." in said[0]
               and said[0].endswith("; native frames are kept"), f"recorder {number}: {text(result.stderr)}")
    running.finish()

# ---- errno ----

with t.case("errno survives every call: simulated driver"):
    _, recorded = check(awkward("errno"), "errno.duet", env=sim())
    t.equal(recorded.stdout, b"tried 104 calls\n", "stdout")

with t.case("errno after every call is the value that PoCL set"):
    t.wanted()
    run(awkward("errno"), env=BASIC)  # its cache is filled
    check(awkward("errno"), "errno.duet", env=BASIC)

# ---- large code ----

MIB = 1 << 20
for mode, mib, is_kept in (("big-source", 2, True), ("big-binary", 7, True), ("big-binary", 17, False)):
    with t.case(f"{mode} of {mib} MiB is {'kept' if is_kept else 'counted as lost code'}"):
        # only the program's own source and binary are there besides, and small
        document, _ = check(awkward(mode, str(mib)), "big.duet", env=sim())
        lost = [row for row in document["losses"] if row["kind"] == "code"]
        t.equal(sum(row["count"] for row in lost), 0 if is_kept else 1, f"lost code of {document['losses']}")
        rows = [json.loads(line) for line in
                text(run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", t.path("big.duet")]).stdout).splitlines()]
        kept = [row for row in rows if row["kind"] == "code" and mib * MIB <= row["size_bytes"] < mib * MIB + 64]
        t.true(kept or not is_kept, f"{[row for row in rows if row['kind'] == 'code']}")
        said = text(run([DUET, "report", t.path("big.duet")]).stdout)
        t.equal("too large for the trace; times and counts are complete" in said, not is_kept, said[:300])

# ---- cancelled threads ----

with t.case("100 threads are cancelled while they launch: the others go on"):
    document, recorded = check(awkward("cancel", "2"), "cancel.duet",
                               env=sim(SIM_OPENCL="kernel_us=2"), stderr=False)
    t.equal(recorded.stdout, b"the others went on: 1\n", "stdout")
    found = re.search(r"fact begun (\d+) done (\d+)", text(recorded.stderr))
    begun, done = map(int, found.groups()) if found else (0, 0)
    ledger = document["ledger"]
    t.true(0 < done <= ledger["launched"] <= begun, f"{done} … {begun} launched: {ledger}")
    t.equal(ledger["matched"] + ledger["dropped"], ledger["launched"], f"matched and lost: {ledger}")

# ---- stacks ----


def traced(command, name, mode="all", env=None, **more):
    """One recording with --stacks; its trace."""
    t.wanted()
    output = t.path(name)
    result = t.record(command, output, ["--collect", "opencl", "--stacks", mode], env=env, **more)
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    t.readable(output)
    return Trace(output), result


with t.case("stacks without frame pointers: two functions in a share of 3 to 1, and 20 calls of qsort"):
    trace, _ = traced([program("stack_shapes"), "400"], "shapes.duet", env=BASIC)
    trace.name_native("stack_shapes")
    found = collections.Counter((launch.size[0], *trace.functions(launch.stack, "stack_shapes"))
                                for launch in trace.launches)
    sorts = ["launch", "deeper", *["compare", "deeper"] * 20, "main"]
    start = {chain[-1] for chain in found} - {"main"}  # _start, in the same file
    found = {chain[:-1] if chain[-1] in start else chain: count for chain, count in found.items()}
    t.equal(found.pop((3, *sorts), 0), 1, "launches through qsort")
    t.equal(found, {(1, "launch", "common", "main"): 300, (2, "launch", "rare", "main"): 100},
            "launches by path")
    deepest = max((trace.chain(launch.stack) for launch in trace.launches), key=len)
    between = [os.path.basename(frame.module) for frame in deepest if frame.type == "native"]
    t.true(between.count("libc.so.6") >= 20, f"qsort's own frames are there: {between}")
    t.true("truncated" not in trace.types(), "no stack is cut")

BAD_STACKS = [["coroutine"], ["far"], ["null"], ["fork-dlopen", "400"],
              *(["limit", str(more << 12)] for more in (1, 10, 17, 21, 37, 60, 240))]

with t.case("stacks that cannot be walked, memory that is refused, forks while others look at their stacks"):
    for arguments in BAD_STACKS:
        _, recorded = check([program("bad_stacks"), *arguments], "bad.duet", env=sim(SIM_OPENCL="kernel_us=1"),
                            options=["--stacks", "all"])
        t.equal((recorded.status, recorded.stdout), (0, b"ok\n"), " ".join(arguments))

PYTHON = "/usr/bin/python3"
PATHS = [PYTHON, os.path.join(ROOT, "tests", "programs", "python_paths.py"), "20"]
with open(PATHS[1], encoding="utf-8") as script:
    LAUNCH_LINE = next(number for number, line in enumerate(script, 1)
                       if "clEnqueueNDRangeKernel" in line)


def python_frames(trace, size):
    """The distinct chains of Python frames of launches of this size."""
    return {tuple((frame.name, frame.file, frame.line) for frame in trace.chain(launch.stack)
                  if frame.type == "python") for launch in trace.launches if launch.size[0] == size}


def expected_paths(stdout):
    return {size: tuple(map(tuple, frames)) for size, frames in
            map(json.loads, text(stdout).splitlines())}


for mode in ("none", "native", "python", "all"):
    with t.case(f"--stacks {mode}: three paths of Python functions"):
        if not os.path.exists(PYTHON):
            raise Skip(f"{PYTHON} is not there")
        trace, result = traced(PATHS, "paths.duet", mode=mode, env=BASIC)
        kernels = [launch for launch in trace.launches if "NDRange" in launch.function]
        t.equal(len(kernels), 60, "launches")
        paths = expected_paths(result.stdout)
        t.equal(sorted(paths), [1, 2, 3], "paths that the program went")
        if mode == "none":
            t.equal((trace.stacks, trace.frames), ({}, {}), "stacks and frames")
            t.equal({launch.stack for launch in trace.launches}, {0}, "stack ids")
            t.equal(trace.calls, [], "calls with a stack")
            continue
        t.true(all(launch.stack for launch in kernels), "each launch has a stack")
        t.equal(trace.types(kernels), {"native": {"native"}, "python": {"python"},
                                       "all": {"native", "python"}}[mode], "types of frames")
        if mode == "native":
            continue
        for size, frames in paths.items():
            # the program asked for its frames some lines before it launched
            frames = ((*frames[0][:2], LAUNCH_LINE), *frames[1:])
            t.equal(python_frames(trace, size), {frames}, f"functions, files, lines of path {size}")

# 3.6 and 3.7 are not known
PYTHONS = [PYTHON, *(path for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
                     if not re.search(r"/3\.[67]\.", path))]
AWKWARD = os.path.join(ROOT, "tests", "programs", "python_awkward.py")


def awkward_python(python, *arguments):
    """size -> the chains of Python frames, outermost first, of the launches of this size."""
    trace, result = traced([python, AWKWARD, *arguments], "python.duet", env=sim(SIM_OPENCL="kernel_us=1"))
    t.equal(result.stderr, b"", "stderr")
    found = collections.defaultdict(list)
    for launch in trace.launches:
        found[launch.size[0]].append([frame for frame in reversed(trace.chain(launch.stack))
                                      if frame.type in ("python", "truncated")])
    return found


for python in PYTHONS:
    with t.case(f"Python deeper than what is kept, cells of a notebook, a long module: {python}"):
        if not os.path.exists(python):
            raise Skip(f"{python} is not there")
        for kind, depth in (("python", 300), ("python", 700), ("c", 50), ("c", 400)):
            found = awkward_python(python, kind, str(depth))
            t.equal({size: len(chains) for size, chains in found.items()}, {1: 1, 2: 2},
                    "launches by size")
            for size, chains in found.items():
                for chain in chains:
                    names = [frame.name for frame in chain]
                    outer = ["<module>", "main", {1: "alpha", 2: "beta"}[size]]
                    t.equal(names[:3], outer, f"{kind} {depth}: the outermost functions")
                    # qualified from 3.11 on
                    t.true(names[-1] in ("launch", "Launcher.launch"),
                           f"{kind} {depth}: the innermost function is {names[-1]}")
                    cuts = [frame.type for frame in chain].count("truncated")
                    t.true(cuts <= 1 and (cuts or len(chain) >= depth), f"{kind} {depth}: {cuts} cuts "
                           f"in {len(chain)} frames")
        found = awkward_python(python, "cells", "8")
        places = {size: [(frame.name, frame.file, frame.line) for frame in chain[-3:-1]]
                  for size, chains in found.items() for chain in chains}
        t.equal(places, {number + 1: [("<module>", f"<cell-{number}>", number + 3),
                                      ("step", f"<cell-{number}>", number + 2)] for number in range(8)},
                "places in the cells")
        for lines, expected in ((1500, {1500}), (20000, {20000, 0})):
            found = awkward_python(python, "long", str(lines))
            got = {chain[-2].line for chain in found[1]}
            t.true(got and got <= expected, f"line of a module of {lines} lines: {got}")

with t.case("an unsupported Python keeps its native frames and is reported once"):
    t.wanted()
    unknown = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.7.*/bin/python3")))
    if not unknown:
        raise Skip("there is no Python 3.7")
    trace, result = traced([unknown[0], *PATHS[1:]], "unknown.duet", env=BASIC)
    said = [line for line in text(result.stderr).splitlines() if "Python frames are missing" in line]
    t.equal(len(said), 1, f"lines that say so: {text(result.stderr)}")
    t.true("(version 3.7 or older)" in said[0], f"{said}")
    t.equal(trace.types([launch for launch in trace.launches if launch.stack]), {"native"}, "frames")

# ---- the storm ----

LAUNCHES = int(os.environ.get("DUET_STORM_LAUNCHES", "200000"))
STORM_FILES = ("storm", "storm_a.so", "storm_b.so", "storm_cpp.so")
HOPS = {1: ["hop_plain"], 2: ["hop_alloca"], 3: [], 4: ["hop_qsort", "compare"],
        5: ["hop_signal", "on_signal"], 6: ["hop_other_stack", "on_other_stack"],
        7: ["hop_interrupted", "on_timer"], 8: ["hop_plugin", "?_enter", "?_inner", "called_back"],
        9: ["hop_aligned"], 10: ["hop_ten", "ten_arguments"], 11: ["hop_catch"],
        13: ["hop_destructor"], 14: ["hop_deep", *["recurse"] * 150],
        12: ["hop_throw", "launch_now"], 15: ["hop_plugin_launch", "?_launch"],
        0: ["hop_launch", "launch_now"]}
WITHOUT_CPP = {11: ["hop_plain"], 13: ["hop_plain"], 12: ["hop_launch", "launch_now"]}
# where a signal may come, between hop_interrupted and its handler
INTERRUPTED = {"leaf", "spin", "??"}


def storm_chain(size, hops):
    """The functions, innermost first, that a launch of this size came through."""
    code, place, count = size
    plugin = "ab"[place % 16 - 1]
    chain = ["worker", "go_path"]
    for number in range(count):
        chain += hops[code >> 4 * number & 15]
    chain += {32: ["launch_now"], 48: ["clean_up", "launch_now"]}.get(place & ~15, [])
    return [name.replace("?", plugin) for name in reversed(chain)]


def check_storm(trace, hops):
    trace.name_native(*STORM_FILES)
    pairs = collections.Counter((launch.stack, launch.size) for launch in trace.launches)
    wrong, without = collections.Counter(), 0
    named = {}
    for (stack, size), count in pairs.items():
        if not stack:
            without += count
            continue
        if stack not in named:
            named[stack] = [name for name in trace.functions(stack, *STORM_FILES)
                            if name not in INTERRUPTED]
        expected = storm_chain(size, hops)
        if named[stack] != expected:
            wrong[tuple(named[stack]), tuple(expected)] += count
    other = sum(count for (got, want), count in wrong.items()
                if [re.sub("^[ab]_", "", name) for name in got]
                == [re.sub("^[ab]_", "", name) for name in want])
    if wrong:
        print(f"# {other} of {sum(wrong.values())} have the names of the plugin that was there before")
    for (got, want), count in wrong.most_common(3):
        print(f"# {count} times got {' '.join(got[:12])} … want {' '.join(want[:12])}")
    t.equal(sum(wrong.values()), 0, f"launches with wrong names, of {len(trace.launches)}")
    return without


for name, cpp in (("C", False), ("C++ exceptions", True)):
    with t.case(f"{LAUNCHES} launches from stacks of all shapes, plugins come and go: {name}"):
        t.wanted()
        libraries = [os.path.join(PROGRAMS, file) for file in STORM_FILES[1:3 + cpp]]
        if cpp and not os.path.exists(libraries[-1]):
            raise Skip("there is no g++")
        trace, result = traced([program("storm"), str(LAUNCHES), *libraries], "storm.duet",
                               env=sim(SIM_OPENCL="kernel_us=1"), timeout=600)
        document = t.report(t.path("storm.duet"))
        found = re.fullmatch(r"launched (\d+)\nturns (\d+) at the same address (\d+)\n",
                             text(result.stdout))
        t.true(found and int(found.group(3)) > 20, f"plugins took turns: {text(result.stdout)}")
        t.equal(document["ledger"]["launched"], int(found.group(1)) if found else 0, "launched")
        without = check_storm(trace, {**HOPS, **({} if cpp else WITHOUT_CPP)})
        lost = sum(row["count"] for row in document["losses"] if row["kind"] == "stack")
        print(f"# {len(trace.stacks)} nodes; {without} launches without a stack")
        t.equal(without, lost, "launches without a stack are those that are counted")
        t.true(without <= len(trace.launches) // 1000, f"{without} launches without a stack")


GDB = shutil.which("gdb")


def gdb_stacks(path):
    """thread -> its launches' stacks, as gdb_stacks.py writes them."""
    found = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            tid, *frames = line.rstrip("\n").split("\t")
            found[int(tid)].append([os.path.basename(frame) for frame in frames])
    return found


with t.case("2000 launches of the same kind in gdb: it finds the same frames to the byte"):
    t.wanted()
    if not GDB:
        raise Skip("gdb is not installed")
    libraries = [path for file in STORM_FILES[1:]
                 if os.path.exists(path := os.path.join(PROGRAMS, file))]
    asked = {"DUET_GDB_STOP": "sim_clEnqueueNDRangeKernel", "DUET_GDB_OUT": t.path("gdb.txt"),
             "DUET_GDB_SKIP": os.path.basename(GUEST)}
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_stacks.py")
    trace, result = traced([GDB, "-nx", "-batch", "-x", script, "--args", program("storm"), "2000",
                            *libraries], "gdb.duet", env=sim(SIM_OPENCL="kernel_us=1", **asked),
                           timeout=600)
    expected, got = gdb_stacks(t.path("gdb.txt")), collections.defaultdict(list)
    for launch in trace.launches:
        got[launch.tid].append([f"{os.path.basename(frame.module)}:{frame.offset:#x}"
                                if frame.type == "native" else frame.type
                                for frame in trace.chain(launch.stack)])
    t.equal({tid: len(stacks) for tid, stacks in got.items()},
            {tid: len(stacks) for tid, stacks in expected.items()}, "launches of each thread")
    t.true(sum(map(len, expected.values())) >= 2000, f"{text(result.stdout)}{text(result.stderr)}")
    wrong = [(mine, other) for tid, stacks in expected.items()
             for mine, other in zip(got[tid], stacks) if mine != other]
    for mine, other in wrong[:3]:
        print(f"# got {' '.join(mine)}\n# gdb {' '.join(other)}")
    t.equal(len(wrong), 0, "stacks that differ")

t.end()
