#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet flame: the right functions, with the right shares, that add up to the devices' wall."""
import os
import re
import shutil
import xml.parsers.expat

import duet_test
from duet_test import DUET, GUEST, program, run, text

t = duet_test.Suite()
DRIVER = os.path.join(duet_test.BUILD, "sim")
PYTHON = "/usr/bin/python3"


def sim(options=""):
    return {"OCL_ICD_VENDORS": DRIVER, "SIM_OPENCL": options}


def folded(trace, *options):
    """The lines of duet flame --folded: {(frames…): value}."""
    result = run([DUET, "flame", "--folded", *options, trace])
    t.equal(result.status, 0, f"flame: {text(result.stderr)}")
    stacks = {}
    for line in text(result.stdout).splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = int(value)
    return stacks


def functions(stack):
    """Names alone, without suffixes and places."""
    return [re.sub(r"( \(.*\))?(_\[\w\])?$", "", frame) for frame in stack]


def check_sum(trace):
    """The views add up to the account of the report."""
    devices = t.report(trace)["devices"]
    for view, key in (("total", "wall_ns"), ("gpu", "busy_ns"), ("idle", "idle_ns")):
        t.equal(sum(folded(trace, "--view", view).values()), sum(row[key] for row in devices),
                f"sum of view {view}")


def record(command, env, name, options=()):
    output = t.path(name + ".duet")
    recorded = t.record(command, output, options, env=env)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    return output


with t.case("one kernel from two functions, and from 20 calls below qsort"):
    t.wanted()
    trace = record([program("flame_shapes")], sim("kernel_us=1000"), "shapes")
    shares, deep = {}, None
    for stack, value in folded(trace, "--view", "gpu").items():
        names = functions(stack)
        t.equal(names[-2:], ["-", "scale"], f"ends in the kernel: {stack}")
        for name in ("warm_up", "three_times", "sort_something"):
            if name in names:
                shares[name] = shares.get(name, 0) + value
                t.true("main" in names[:names.index(name)], f"main below {name}: {names}")
        if "sort_something" in names:
            deep = names
    total = sum(shares.values())
    t.equal({name: round(5 * value / total) for name, value in shares.items()},
            {"warm_up": 1, "three_times": 3, "sort_something": 1}, f"shares of {shares}")
    t.true(deep and deep.count("deeper") == 20, f"20 calls deep: {deep}")
    t.true(deep and any("qsort" in name or "msort" in name for name in deep), f"through libc: {deep}")
    t.equal(sum(folded(trace, "--view", "launch").values()), 5, "launches")
    check_sum(trace)

with t.case("three paths of Python give three branches with functions and lines"):
    t.wanted()
    script = t.path("paths.py")
    with open(script, "w") as file:
        file.write('''import ctypes

cl = ctypes.CDLL("libOpenCL.so.1")
P, N = ctypes.c_void_p, None


def make(function, *arguments):
    function.restype = P
    return P(function(*arguments))


platform, device, status = P(), P(), ctypes.c_int()
cl.clGetPlatformIDs(1, ctypes.byref(platform), N)
cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), N)
context = make(cl.clCreateContext, N, 1, ctypes.byref(device), N, N, ctypes.byref(status))
queue = make(cl.clCreateCommandQueue, context, device, ctypes.c_ulong(0), ctypes.byref(status))
source = ctypes.c_char_p(b"kernel void scale(global float *x) { x[0] *= 2; }")
program = make(cl.clCreateProgramWithSource, context, 1, ctypes.byref(source), N,
               ctypes.byref(status))
cl.clBuildProgram(program, 0, N, b"", N, N)
kernel = make(cl.clCreateKernel, program, b"scale", ctypes.byref(status))


def launch():
    size = ctypes.c_size_t(64)
    cl.clEnqueueNDRangeKernel(queue, kernel, 1, N, ctypes.byref(size), N, 0, N, N)  # line 26


def first():
    launch()  # line 30


class Second:
    def run(self):
        for _ in range(2):
            launch()  # line 36


def third(times):
    [launch() for _ in range(times)]  # line 40


first()
Second().run()
third(3)
cl.clFinish(queue)
''')
    trace = record([PYTHON, script], sim("kernel_us=1000"), "python")
    counts = {}
    for stack, value in folded(trace, "--view", "launch", "--lines").items():
        joined = ";".join(stack)
        for name, line in (("first", 30), ("Second.run", 36), ("third", 40)):
            place = f"{name} (paths.py:{line})"
            if place in joined:
                counts[name] = counts.get(name, 0) + value
                t.true(f"launch (paths.py:26)" in joined.split(place)[1], f"launch above: {joined}")
        t.true("_PyEval_EvalFrameDefault" not in joined, f"no frame of the interpreter: {joined}")
    t.equal(counts, {"first": 1, "Second.run": 2, "third": 3}, "launches of the three paths")
    joined = "\n".join(";".join(stack) for stack in folded(trace, "--view", "launch"))
    for place in ("launch (paths.py:24)", "first (paths.py:29)", "Second.run (paths.py:34)", "third (paths.py:39)"):
        t.true(f";{place};" in joined, f"without --lines where the function begins: {place} in {joined}")
    check_sum(trace)

for mode, native, python in (("none", False, False), ("native", True, False),
                             ("python", False, True), ("all", True, True)):
    with t.case(f"--stacks {mode}"):
        t.wanted()
        if not os.path.exists(t.path("paths.py")):
            raise duet_test.Skip("the script of an earlier case is not there")
        trace = record([PYTHON, t.path("paths.py")], sim(), "mode", ("--stacks", mode))
        joined = "\n".join(";".join(stack) for stack in folded(trace, "--view", "launch"))
        t.equal("__libc_start" in joined, native, "native frames")
        t.equal("paths.py" in joined, python, "Python frames")

with t.case("launches without an execution: as many as in the ledger, with or without a lost row"):
    t.wanted()
    accounts = os.path.join(duet_test.ROOT, "tests", "golden", "account")
    # Two sweeps read a trace that has a command without times.
    untimed = ("launch 20 1 2 1700 1710 graph", "execution 1 20 2 - - - - seen=1800")
    for name, label in (("not_executed", "[in flight]"), ("not_executed_lost", "[in flight or dropped]")):
        with open(os.path.join(accounts, f"{name}.txt"), encoding="utf-8") as file:
            described = file.read().split("\n---")[0]
        for more in ((), untimed):
            trace = t.described("lost.duet", described, *more)
            ledger = t.report(trace)["ledger"]
            stacks = folded(trace, "--view", "launch")
            t.equal(sum(stacks.values()), ledger["launched"] - ledger["not_executed"], f"{name}: launches that are drawn")
            t.equal(sum(count for stack, count in stacks.items() if stack[-1] == label),
                    ledger["in_flight_at_exit"] + ledger["dropped"], f"{name}: {label}")

HOSTILE = ("</text><script>alert(1)</script>", "a<b>&\"'`]]>", "%1b[31mred%00".replace("%00", "%01"), "%c2%9b2J",
           "%ff%fe not UTF-8", "<!--", "&amp;&lt;", "x;y z", "%e2%80%aertl", "</svg>", "<![CDATA[", "$(touch x)")

with t.case("the picture is XML, whatever the functions are called"):
    t.wanted()
    lines = ["window 0 100000", "device 1 g%3cp%3eu%26", "process 1 1001 a%3cb command=%3cscript%3e%26%1b", "thread 1 1",
             "queue 1 1"]
    for i, name in enumerate(HOSTILE, 1):
        name = name.replace(" ", "%20")
        kind = ("python", "jit", "native")[i % 3]
        lines += (f"frame {i} {kind} {name} file={name} line={i} first={i}", f"stack {i} {i}",
                  f"launch {i} 1 1 {i * 100} {i * 100 + 1} kernel name={name} stack={i}",
                  f"execution 1 {i} 1 {i * 100 + 1} {i * 100 + 2} {i * 100 + 3} {i * 100 + 50}")
    trace = t.path("hostile.duet")
    made = run([os.path.join(duet_test.BUILD, "tests", "unit", "analyze", "make_trace"), "-", trace],
               stdin="\n".join(lines).encode())
    t.equal(made.status, 0, f"make_trace: {text(made.stderr)}")
    for view in ("total", "launch"):
        picture = t.path("hostile.svg")
        result = run([DUET, "flame", "-o", picture, "--view", view, "--title", "</title><script>alert(1)</script>", trace])
        t.equal(result.status, 0, f"flame: {text(result.stderr)}")
        with open(picture, "rb") as file:
            content = file.read()
        texts, elements = [], []
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler = lambda name, attributes: elements.append((name, attributes))
        parser.CharacterDataHandler = texts.append
        parser.Parse(content, True)
        shown = "".join(texts)
        # Each name is in the picture as text; then that it did no harm means something.
        for part in ("</text><script>alert(1)</script>", "a<b>&\"'`]]>", "\\x1b[31mred", "not UTF-8", "<!--", "&amp;&lt;",
                     "x;y z", "</svg>", "<![CDATA[", "$(touch x)"):
            t.true(part in shown, f"{part!r} is in the picture")
        t.equal(sum(name == "script" for name, attributes in elements), 1, "scripts: its own")
        t.equal([key for name, attributes in elements for key in attributes if key.startswith("on")], [], "handlers")
        t.true(b"\x1b" not in content, "no escape reaches a terminal that prints it")

with t.case("a trace without stacks, and one without launches"):
    t.wanted()
    trace = record([program("flame_shapes")], sim("kernel_us=1000"), "no_stacks", ("--collect", "opencl", "--stacks", "none"))
    stacks = folded(trace)
    t.true("[stacks off]" in {stack[0] for stack in stacks}, f"says so: {sorted(stacks)}")
    t.true(not any("[unknown stack]" in stack for stack in stacks), "and not that they are unknown")
    t.equal({stack: value for stack, value in folded(trace, "--view", "launch").items()},
            {("[stacks off]", "clEnqueueNDRangeKernel", "-", "scale_[G]"): 5}, "launches")
    t.true("    [stacks off]\n" in text(run([DUET, "report", "--by", "stack", trace]).stdout), "report --by stack")
    check_sum(trace)
    trace = record(["/bin/true"], sim(), "empty", ("--collect", "opencl"))
    t.equal(folded(trace), {}, "nothing to fold")
    result = run([DUET, "flame", "-o", t.path("empty.svg"), trace])
    t.equal(result.status, 0, f"flame: {text(result.stderr)}")

for options, wanted in ((["--view", "cpus"], b"--view"), (["--width", "3"], b"--width"),
                        (["--min-width", "0"], b"--min-width"), (["--device", "none"], b"no device"),
                        (["--from", "2", "--to", "1"], b"--to")):
    with t.case(f"wrong use: {' '.join(options)}"):
        t.wanted()
        trace = record([program("flame_shapes")], sim(), "wrong")
        result = run([DUET, "flame", "--folded", *options, trace])
        t.equal(result.status, 2, f"status: {text(result.stderr)}")
        t.true(wanted in result.stderr, f"message: {text(result.stderr)}")

with t.case("a window, and a device by its number"):
    t.wanted()
    trace = record([program("flame_shapes")], sim("kernel_us=5000"), "window")
    t.equal(sum(folded(trace, "--from", "1ms", "--to", "3ms").values()), 2000000, "2 ms of wall")
    t.equal(folded(trace, "--device", "0"), folded(trace), "the only device")

with t.case("archive: names outlive the program's file"):
    t.wanted()
    copy = t.path("short_lived")
    shutil.copy(program("flame_shapes"), copy)
    trace = record([copy], sim(), "archived")
    os.rename(copy, copy + ".gone")
    names = {name for stack in folded(trace, "--view", "gpu") for name in functions(stack)}
    t.true("three_times" not in names, f"without the file there are no names: {names}")
    os.rename(copy + ".gone", copy)
    result = run([DUET, "archive", trace])
    t.equal(result.status, 0, f"archive: {text(result.stderr)}")
    os.unlink(copy)
    names = {name for stack in folded(trace, "--view", "gpu") for name in functions(stack)}
    t.true("three_times" in names, f"with the archive there are: {names}")
    trace = record([program("flame_shapes")], sim(), "archived_at_once", ("--archive",))
    t.true(os.path.isdir(trace + ".symbols/.build-id"), "record --archive")

t.end()
