#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet flame --diff: the changes between two recordings are those of their stacks, and nothing vanishes."""
import os
import re
import xml.dom.minidom

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite()
DRIVER = os.path.join(duet_test.BUILD, "sim")
PYTHON = "/usr/bin/python3"
VIEWS = ("total", "gpu", "idle", "launch")

# argv: a kernel's loops, and the function that launches the second kernel
SCRIPT = '''import ctypes
import sys

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
source = ctypes.c_char_p(b"""
kernel void work(global float *x, int loops)
{
    float sum = x[get_global_id(0)];
    for (int i = 0; i < loops; i++)
        sum = sum * 0.999f + 1;
    x[get_global_id(0)] = sum;
}
""")
program = make(cl.clCreateProgramWithSource, context, 1, ctypes.byref(source), N, ctypes.byref(status))
cl.clBuildProgram(program, 0, N, b"", N, N)
kernel = make(cl.clCreateKernel, program, b"work", ctypes.byref(status))
memory = make(cl.clCreateBuffer, context, ctypes.c_ulong(1), ctypes.c_size_t(256), N, ctypes.byref(status))


def launch(loops):
    cl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(memory))
    cl.clSetKernelArg(kernel, 1, ctypes.c_size_t(4), ctypes.byref(ctypes.c_int(loops)))
    size = ctypes.c_size_t(64)
    cl.clEnqueueNDRangeKernel(queue, kernel, 1, N, ctypes.byref(size), N, 0, N, N)
    cl.clFinish(queue)


def slower(loops):
    for _ in range(7):
        launch(loops)


def old_step():
    for _ in range(3):
        launch(1000)


def new_step():
    for _ in range(5):
        launch(1000)


slower(int(sys.argv[1]))
globals()[sys.argv[2]]()
'''


def record(name, command, env=None):
    output = t.path(name + ".duet")
    recorded = t.record(command, output, env=env)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    return output


def record_work(name, loops, step, head=""):
    folder = t.path(name)
    os.makedirs(folder, exist_ok=True)
    script = os.path.join(folder, "work.py")
    with open(script, "w") as file:
        file.write(head + SCRIPT)
    return record(name, [PYTHON, script, str(loops), step])


def flame(*options):
    return run([DUET, "flame", *options])


def without_places(stack):
    """The stack as a comparison has it: functions without lines, unnamed code and instructions without addresses."""
    stack = re.sub(r"( \([^();]*):\d+\)(?=;|$)", r"\1)", stack)
    stack = re.sub(r"(^|;)(\[[^];]*\])\+0x[0-9a-f]+", r"\1\2", stack)
    stack = re.sub(r";line \d+: ", ";line: ", stack)
    return re.sub(r";0x[0-9a-f]+ ([^;]*_\[g\])", r";\1", stack)


def folded(trace, *options):
    """{stack: value}, with the frames that a comparison has."""
    result = flame("--folded", *options, trace)
    t.equal(result.status, 0, f"flame: {text(result.stderr)}")
    stacks = {}
    for line in text(result.stdout).splitlines():
        stack, value = line.rsplit(" ", 1)
        stack = without_places(stack)
        stacks[stack] = stacks.get(stack, 0) + int(value)
    return stacks


def compared(base, new, *options):
    """{stack: (base, new)}"""
    result = flame("--folded", "--diff", base, *options, new)
    t.equal(result.status, 0, f"flame --diff: {text(result.stderr)}")
    stacks = {}
    for line in text(result.stdout).splitlines():
        stack, first, second = line.rsplit(" ", 2)
        t.true(stack not in stacks, f"one line: {stack}")
        stacks[stack] = (int(first), int(second))
    return stacks


def picture(base, new, *options):
    path = t.path("diff.svg")
    result = flame("--diff", base, "-o", path, *options, new)
    t.equal(result.status, 0, f"flame --diff: {text(result.stderr)}")
    with open(path, "rb") as file:
        content = file.read()
    return content, xml.dom.minidom.parseString(content)


def lists(page):
    """{heading: [path]} of the lists below the graph."""
    found = {}
    for group in page.getElementsByTagName("g"):
        if group.getAttribute("class") != "list":
            continue
        heading = group.getElementsByTagName("text")[0].firstChild.data
        found[heading.split(":")[0]] = [row.getElementsByTagName("title")[0].firstChild.data.split("\n")[1:]
                                        for row in group.getElementsByTagName("g")]
    return found


def boxes(page):
    """{name: (value, other, style class)} of the boxes; a name that occurs twice has its last box."""
    found = {}
    for group in page.getElementsByTagName("g"):
        if group.hasAttribute("data-v"):
            name = group.getElementsByTagName("title")[0].firstChild.data.rsplit("\n", 1)[0]
            found[name] = (int(group.getAttribute("data-v")), int(group.getAttribute("data-o")),
                           group.getElementsByTagName("rect")[0].getAttribute("class"))
    return found


def head(page):
    group = [g for g in page.getElementsByTagName("g") if g.getAttribute("id") == "head"][0]
    return [e.firstChild.data for e in group.childNodes if e.nodeName == "text"]


with t.case("a real program: both columns are the stacks of the recordings, in all views"):
    t.wanted()
    base = record_work("before", 20000, "old_step")
    new = record_work("after", 400000, "new_step", head="# one more line moves all functions\n\n")
    for view in VIEWS:
        stacks = compared(base, new, "--view", view)
        for column, trace in ((0, base), (1, new)):
            got = {(stack, values[column]) for stack, values in stacks.items() if values[column]}
            t.equal(sorted(got ^ set(folded(trace, "--view", view).items())), [], f"{view}: column {column}")
    stacks = compared(base, new, "--view", "launch")
    for name, values in (("slower (work.py)", (7, 7)), ("old_step (work.py)", (3, 0)), ("new_step (work.py)", (0, 5))):
        sums = tuple(sum(pair[i] for stack, pair in stacks.items() if f";{name};" in stack) for i in (0, 1))
        t.equal(sums, values, f"launches below {name}")
    t.true(any("[idle: " in stack for stack in compared(base, new)), "idle time is compared too")

with t.case("a real program: the picture lists what is gone and what is new"):
    t.wanted()
    base, new = t.path("before.duet"), t.path("after.duet")
    if not os.path.exists(new):
        raise duet_test.Skip("the recordings of an earlier case are not there")
    content, page = picture(base, new, "--view", "launch")
    found = lists(page)
    t.true(any("old_step (work.py)" in path for path in found.get("Only in BASE, with callees", [])), f"gone: {found}")
    t.true(any("new_step (work.py)" in path for path in found.get("Only in NEW, with callees", [])), f"new: {found}")
    drawn = boxes(page)
    t.true("old_step (work.py)" not in drawn, "what is gone has no width")
    t.equal(drawn["new_step (work.py)"], (5, 0, "p c16"), "what is new is red")
    t.equal(drawn["slower (work.py)"], (7, 7, "p c8"), "what did not change has no colour")
    t.equal(drawn["all"][:2], (12, 10), "both totals")
    t.true(any("12 launches in NEW, 10 launches in BASE, +2 launches (+20.00 %)" in line for line in head(page)),
           f"the subtitle has the change: {head(page)}")
    content, page = picture(base, new, "--view", "launch", "--width-of", "base")
    drawn = boxes(page)
    t.equal(drawn["old_step (work.py)"], (3, 0, "p c0"), "what is gone is blue in the widths of BASE")
    t.true("new_step (work.py)" not in drawn, "what is new has no width there")
    busy = {}
    for view in ("gpu", "total"):
        drawn = boxes(picture(base, new, "--view", view)[1])
        t.equal(drawn["all"][:2], (sum(folded(new, "--view", view).values()), sum(folded(base, "--view", view).values())),
                f"{view}: totals")

with t.case("a simulated kernel that takes three times as long"):
    t.wanted()
    traces = [record(f"sim{us}", [program("flame_shapes")], {"OCL_ICD_VENDORS": DRIVER, "SIM_OPENCL": f"kernel_us={us}"})
              for us in (1000, 3000)]
    values = sorted(compared(*traces, "--view", "gpu").values())
    t.equal(values, [(1000000, 3000000), (1000000, 3000000), (3000000, 9000000)], "values to the nanosecond")
    content, page = picture(*traces, "--view", "gpu")
    t.equal(boxes(page)["scale"][2], "G c16", "tripled: the darkest red")
    t.equal(list(lists(page)), ["Grew, without callees"], "one list")
    again, _ = picture(*traces, "--view", "gpu")
    t.true(content == again, "equal bytes")
    for options in (["--diff", traces[0], traces[1]], [traces[1], "--diff", traces[0]], [f"--diff={traces[0]}", traces[1]]):
        result = flame("--folded", "--view", "gpu", *options)
        t.equal(sorted(line.split(" ", 1)[1] for line in text(result.stdout).splitlines()),
                ["1000000 3000000", "1000000 3000000", "3000000 9000000"], f"order of arguments: {text(result.stderr)}")

with t.case("--normalize: BASE adds up to the total of NEW"):
    t.wanted()
    traces = [t.path("sim1000.duet"), t.path("sim3000.duet")]
    if not os.path.exists(traces[1]):
        raise duet_test.Skip("the recordings of an earlier case are not there")
    for view in ("gpu", "total"):
        stacks = compared(*traces, "--view", view, "--normalize").values()
        t.equal(sum(base for base, new in stacks), sum(new for base, new in stacks), f"{view}: totals")
    t.true(all(base == new for base, new in compared(*traces, "--view", "gpu", "--normalize").values()),
           "all kernels grew by the same factor")
    content, page = picture(*traces, "--view", "gpu", "--normalize")
    t.true(any("BASE are scaled from its total, 5.000 ms, to the total of NEW" in line for line in head(page)), str(head(page)))

with t.case("the same file twice: nothing changed, and the picture says so"):
    t.wanted()
    trace = t.path("sim1000.duet")
    if not os.path.exists(trace):
        raise duet_test.Skip("the recording of an earlier case is not there")
    t.true(all(base == new for base, new in compared(trace, trace).values()), "equal columns")
    content, page = picture(trace, trace)
    t.equal(lists(page), {}, "no lists")
    t.equal({box[2].split(" ")[1] for box in boxes(page).values()}, {"c8"}, "no colours")
    t.true(any("no stack changed" in line for line in head(page)), str(head(page)))

with t.case("processes match by name, unnamed code by its file"):
    t.wanted()
    lines = ["window 0 100000", "device 1 gpu", "process 1 {pid} work", "thread 1 1", "queue 1 1",
             "frame 1 native /nowhere/libfoo.so offset={offset}", "stack 1 1",
             "launch 1 1 1 100 101 kernel name=k stack=1", "execution 1 1 1 101 102 103 {end}"]
    traces = [t.described(f"{name}.duet", *(line.format(pid=pid, offset=offset, end=end) for line in lines))
              for name, pid, offset, end in (("one", 1001, 4660, 203), ("two", 2002, 22136, 303))]
    stacks = compared(*traces, "--view", "gpu", "--root", "process")
    t.equal(list(stacks.values()), [(100, 200)], f"one stack: {stacks}")
    t.true(all(";1001" not in stack and " 2002" not in stack for stack in stacks), f"no pids: {stacks}")

with t.case("damaged and unreadable files, different views, wrong use"):
    t.wanted()
    trace = record("wrong", [program("flame_shapes")], {"OCL_ICD_VENDORS": DRIVER, "SIM_OPENCL": ""})
    other = record("cpu", [PYTHON, "-c", "sum(range(20000000))"])
    with open(t.path("empty.duet"), "w"):
        pass
    before = os.stat(trace)
    for arguments, status, wanted in (
            (["--diff", t.path("none.duet"), trace], 1, f"read '{t.path('none.duet')}': No such file or directory"),
            (["--diff", trace, t.path("none.duet")], 1, f"read '{t.path('none.duet')}': No such file or directory"),
            (["--diff", t.path("empty.duet"), trace], 1, f"'{t.path('empty.duet')}'"),
            (["--diff", other, trace], 1, f"different views: '{other}' has cpu, '{trace}' has total; choose one with --view"),
            (["--diff", other, "--view", "gpu", trace], 1, f"'{other}': not measured: "),
            (["--diff", trace, "-o", trace, other], 1, "is the trace itself"),
            (["--diff", trace, "--width-of", "old", trace], 2, "--width-of: new or base, not 'old'"),
            (["--width-of", "base", trace], 2, "--width-of needs --diff"),
            (["--normalize", trace], 2, "--normalize needs --diff"),
            (["--diff", trace, "--folded", "--width-of", "base", trace], 2, "folded stacks have no widths"),
            (["--diff", "", trace], 2, "--diff needs a file name"),
            (["--diff", trace, trace, trace], 2, "one FILE at a time")):
        result = flame("-o", t.path("wrong.svg"), *arguments)
        t.equal(result.status, status, f"status of {arguments}: {text(result.stderr)}")
        t.true(wanted in text(result.stderr), f"{wanted!r} in {text(result.stderr)!r}")
    t.equal(os.stat(trace).st_mtime_ns, before.st_mtime_ns, "BASE is not written")
    t.true(not os.path.exists(t.path("wrong.svg")), "no picture of a failure")

t.end()
