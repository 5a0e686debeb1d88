#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet flamescope: its cells add up to the output of duet flame, for the whole window and for any range of cells."""
import base64
import glob
import json
import os
import random
import re
import shutil
import zlib

import duet_test
import view_file
from duet_test import DUET, program, run, text

t = duet_test.Suite(needs_opencl=False)
VIEWS = (None, "total", "gpu", "idle", "cpu", "offcpu", "launch")
MAKE_TRACE = os.path.join(duet_test.BUILD, "tests", "unit", "analyze", "make_trace")
SEPARATOR = 8
SUFFIXES = {1: "_[k]", 2: "_[j]", 3: "_[i]", 5: "_[G]", 6: "_[g]", 7: "_[g]"}
MS = 1000000


def make_trace(lines, name):
    trace = t.path(name + ".duet")
    made = run([MAKE_TRACE, "-", trace], stdin="\n".join(lines).encode())
    t.equal(made.status, 0, f"make_trace: {text(made.stderr)}")
    return trace


def folded(trace, *options):
    """The lines of duet flame --folded: {stack: value}; None: it refuses."""
    result = run([DUET, "flame", "--folded", *options, trace])
    if result.status:
        return None
    return {stack: int(value) for stack, value in
            (line.rsplit(" ", 1) for line in text(result.stdout).splitlines())}


def scope(trace, *options):
    """The page's path; None: it refuses. Without options for it, a cell is 20 ms."""
    page = t.path("page.html")
    grid = () if "--row" in options else ("--row", "20")
    result = run([DUET, "flamescope", "-o", page, *grid, *options, trace])
    return None if result.status else page


def sections(page):
    """What a file holds, read without duet's own code."""
    with open(page, encoding="utf-8") as file:
        found = re.findall(r'<script type="text/plain" id="(\w+)">([^<]*)</script>', file.read())
    return {name: json.loads(zlib.decompress(base64.b64decode(data), -15)) for name, data in found}


def cell_totals(page):
    """By cell what is drawn of it: items that are plain, and those that are divided."""
    parts = sections(page)
    head, cells = parts["head"], parts["cells"]
    totals, cell = [0] * head["cells"], 0
    for step, item, value in zip(cells["cells"], cells["items"], cells["values"]):
        cell += step
        totals[cell] += value if head["items"]["roles"][item] <= 1 else 0
    return totals


def graph(page, first=0, end=-1):
    """The graph of a range of cells as the page computes it: {stack: value}."""
    result = run(["node", os.path.join(duet_test.ROOT, "tests", "web", "scope_stacks.mjs"), page, str(first), str(end)])
    t.equal(result.status, 0, f"scope_stacks.mjs: {text(result.stderr)}")
    return stacks_of(json.loads(result.stdout)["stacks"])


def stacks_of(rows):
    """Stacks of a page as folded text has them: {stack: value}."""
    stacks = {}
    for frames, value in rows:
        stack = ";".join("-" if kind == SEPARATOR else name + SUFFIXES.get(kind, "") for name, kind in frames)
        stacks[stack] = stacks.get(stack, 0) + value
    return stacks


def view_graphs(trace, *window):
    """The graphs of devices' time that duet view shows: {"idle": {stack: value}, "total": …}; None: it writes no page."""
    page = t.path("view.html")
    if run([DUET, "view", "-o", page, trace]).status:
        return None
    result = run(["node", os.path.join(duet_test.ROOT, "tests", "web", "view_stacks.mjs"), page, *map(str, window)])
    t.equal(result.status, 0, f"view_stacks.mjs: {text(result.stderr)}")
    return {name: stacks_of(rows) for name, rows in json.loads(result.stdout).items()}


def need_node():
    if not shutil.which("node"):
        raise duet_test.Skip("node is not there")


FRAMES = (("native", "main"), ("python", "train"), ("jit", "made"), ("native", "load"))
WORLD = ["device 1 gpu0", "device 2 gpu1", "process 1 1001 steps command=steps", "thread 1 1 name=main",
         "thread 2 1 name=worker", "queue 1 1", "queue 2 2", "queue 3 1"]
for NUMBER, (KIND, NAME) in enumerate(FRAMES, 1):
    WORLD.append(f"frame {NUMBER} {KIND} {NAME} file={NAME}.py line={NUMBER} first={NUMBER}")
    WORLD.append(f"stack {NUMBER} " + " ".join(str(i) for i in range(1, NUMBER + 1)))


class Workload:
    """Rows of a process that launches and pauses, of some seconds; the same seed gives the same."""

    def __init__(self, seconds, seed):
        self.dice = random.Random(seed)
        self.end = seconds * 1000 * MS
        self.rows = []
        self.number = 0
        self.kernel = ""

    def add(self, at, line):
        self.rows.append((at, line))

    def launch(self, now, has_execution=True, queues=(1, 2)):
        """One command; returns when it ends."""
        self.number += 1
        queue, stack = self.dice.choice(queues), self.dice.choice((1, 2, 3))
        begin = now + self.dice.randint(20000, 90000)
        end = begin + self.dice.randint(1, 12) * MS // 3
        self.kernel = self.dice.choice(("saxpy", "gemm"))
        self.add(now, f"launch {self.number} 1 {queue} {now} {now + 15000} kernel name={self.kernel} stack={stack}")
        if has_execution:
            self.add(end, f"execution 1 {self.number} {queue} {now + 2000} {now + 16000} {begin} {end} seen={end + 1000}")
        return end

    def look_at_instructions(self, now, end):
        """Samples of the latest command's; at least one for each 300 us."""
        for at in range(now + 150000, end, 300000):
            self.add(at, f"instruction 1 {at} {self.kernel} {self.dice.choice((16, 20, 24, 96))} count={self.dice.randint(1, 4)} "
                         f"stall={self.dice.choice(('memory', 'barrier'))} correlation={self.number}")

    def wait(self, now):
        self.add(now, f"call 1 {now + 10000} {now + 400000} wait clFinish queue=1 stack={self.dice.choice((1, 2))}")
        return now + 400000

    def sample(self, thread, at):
        self.add(at, f"sample {thread} {at} 1700000 stack={self.dice.choice((1, 2, 4))}")

    def sleep(self, at, length):
        self.add(at, f"switch 1 {at} blocked stack={self.dice.choice((2, 4))}")
        self.add(at + length, f"switch 1 {at + length} in")

    def trace(self, name):
        rows = [line for _, line in sorted(self.rows, key=lambda row: row[0])]
        return make_trace([f"window 0 {self.end} command=steps", *WORLD, *rows], name)


def steps(seconds, has_switches):
    """Commands one after the other on two devices, waits, samples and, if wanted, sleeps."""
    load, now = Workload(seconds, 20), MS
    while now < load.end - 100 * MS:
        end = load.launch(now, load.number % 13 != 5)
        end = load.wait(end) if load.number % 3 == 0 else end
        pause = end + load.dice.randint(1, 30) * MS // 2
        for at in range(end + 300000, pause, 1700000):
            load.sample(1, at)
        if has_switches and pause - end > 6 * MS:
            load.sleep(end + 2100000, 1500000)
        load.sample(2, pause)
        now = pause + 50000
    return load


def check_graph(found, wanted, name):
    """Idle time on the processor is divided by the samples, with rounding. Where a window's steady part and slowest
    iteration begin and end, it is cut too, so its stacks differ by some ns; their sum and all others do not."""
    computing = {stack for stack in {*found, *wanted} if stack.endswith("[idle: computing]")}
    exact = [{stack: ns for stack, ns in stacks.items() if stack not in computing} for stacks in (found, wanted)]
    t.equal(*exact, f"{name}: stacks")
    t.equal(sum(found.values()), sum(wanted.values()), f"{name}: sum")
    apart = {stack: (found.get(stack), wanted.get(stack)) for stack in computing
             if abs(found.get(stack, 0) - wanted.get(stack, 0)) > 5}
    t.equal(apart, {}, f"{name}: stacks that are computing")


def check_ranges(trace, view, ranges):
    page = scope(trace, "--view", view)
    t.true(page, f"--view {view}: a page")
    t.equal(sum(cell_totals(page)), sum(folded(trace, "--view", view).values()), f"--view {view}: sum of the cells")
    for first, end in ranges:
        wanted = folded(trace, "--view", view, "--from", f"{first * 20}ms", "--to", f"{end * 20}ms")
        check_graph(graph(page, first, end), wanted or {}, f"--view {view}: cells {first} to {end}")


with t.case("the whole map is the flame graph of the window, in every view of every made trace"):
    t.wanted()
    need_node()
    compared = 0
    for path in sorted(glob.glob(os.path.join(duet_test.ROOT, "tests", "golden", "*", "*.txt"))):
        trace = t.path("golden.duet")
        if run([MAKE_TRACE, path, trace]).status:
            continue
        for view in VIEWS:
            options = ("--view", view) if view else ()
            wanted, page = folded(trace, *options), scope(trace, *options)
            name = f"{os.path.basename(path)} --view {view}"
            if not view and page and wanted == folded(trace, "--view", "total"):
                wanted = folded(trace, "--view", sections(page)["head"]["view"])
            t.equal(page is None, wanted is None, f"{name}: both refuse, or none")
            if page is None:
                continue
            compared += 1
            head = sections(page)["head"]
            t.equal(sum(cell_totals(page)) + head["lost"], sum(wanted.values()), f"{name}: sum of the cells")
            t.equal(head["sum"], sum(wanted.values()), f"{name}: what the head says")
            if "hostile" in path:
                t.equal(sorted(graph(page).values()), sorted(wanted.values()), f"{name}: values")
            else:
                t.equal(graph(page), wanted, f"{name}: stacks")
    t.true(compared > 60, f"{compared} graphs were compared")

def check_idle(trace, name):
    """The same idle nanosecond has the same cause and stack in report, flame, view and flamescope."""
    drawn, view = folded(trace, "--view", "idle"), view_graphs(trace)
    if drawn is None or view is None:
        t.true(not (view and view["idle"]), f"{name}: flame draws no idle time, so view has none")
        return 0
    measured = [row for row in t.report(trace)["devices"] if row["measured"]]
    if len(measured) < len(t.report(trace)["devices"]):
        drawn = {stack: ns for stack, ns in drawn.items() if not stack.startswith("[not measured]")}
    t.equal(view["idle"], drawn, f"{name}: view")
    if len(measured) == len(t.report(trace)["devices"]):
        t.equal(graph(scope(trace, "--view", "idle")), drawn, f"{name}: flamescope")
    by_cause, reported = {}, {}
    head = view_file.read(t.path("view.html")).head
    texts = dict(zip(head["causes"], head["cause_texts"]))
    for stack, ns in drawn.items():
        by_cause[stack.rsplit("[idle: ", 1)[1][:-1]] = by_cause.get(stack.rsplit("[idle: ", 1)[1][:-1], 0) + ns
    for cause, ns in [pair for row in measured for pair in row["idle_causes"].items() if pair[1]]:
        reported[texts[cause]] = reported.get(texts[cause], 0) + ns
    t.equal(by_cause, reported, f"{name}: report")
    return 1


with t.case("idle time has the same cause and stack in report, flame, view and flamescope"):
    t.wanted()
    need_node()
    compared = 0
    for path in sorted(glob.glob(os.path.join(duet_test.ROOT, "tests", "golden", "*", "*.txt"))):
        trace = t.path("golden.duet")
        if "hostile" not in path and not run([MAKE_TRACE, path, trace]).status:
            compared += check_idle(trace, os.path.basename(path))
    for has_switches in (False, True):
        trace = steps(3, has_switches).trace("steps")
        compared += check_idle(trace, f"steps, switches: {has_switches}")
        t.true(any(stack.endswith("[idle: computing]") for stack in folded(trace, "--view", "idle")) or not has_switches, "samples divide it")
    t.true(compared > 25, f"{compared} traces were compared")

with t.case("view: all of a device's time is the flame graph, and a part keeps the account's causes"):
    t.wanted()
    need_node()
    trace = steps(3, True).trace("parts")
    t.equal(view_graphs(trace)["total"], folded(trace), "the whole")
    for first, end in ((0, 100 * MS), (1000 * MS, 1000 * MS + 40123457), (777 * MS + 1, 777 * MS + 999)):
        wanted = folded(trace, "--from", f"{first}ns", "--to", f"{end}ns")
        found = view_graphs(trace, first, end)["total"]
        for leaf in {stack.rsplit("-;", 1)[1] for stack in [*wanted, *found]}:
            sums = [sum(ns for stack, ns in graph_.items() if stack.endswith("-;" + leaf)) for graph_ in (found, wanted)]
            t.equal(*sums, f"{leaf} from {first} to {end}")
        t.true(set(found) & set(wanted) if wanted else not found, f"stacks from {first} to {end}")

with t.case("device time of the cells is the report's, in made and in generated traces"):
    t.wanted()
    compared = 0
    traces = [t.generated(20000)]
    for path in sorted(glob.glob(os.path.join(duet_test.ROOT, "tests", "golden", "account", "*.txt"))):
        traces.append(t.path(f"account{len(traces)}.duet"))
        run([MAKE_TRACE, path, traces[-1]])
    for trace in traces:
        devices = t.report(trace)["devices"]
        if not all(row["measured"] for row in devices):
            continue
        for view, keys in (("total", ("busy_ns", "idle_ns")), ("gpu", ("busy_ns",)), ("idle", ("idle_ns",))):
            page = scope(trace, "--view", view) if devices else None
            if page:
                compared += 1
                t.equal(sum(cell_totals(page)), sum(row[key] for row in devices for key in keys), f"{trace} --view {view}")
    t.true(compared > 40, f"{compared} were compared")

with t.case("a range of cells is the flame graph of that window"):
    t.wanted()
    need_node()
    for has_switches in (False, True):
        trace = steps(3, has_switches).trace("steps")
        for view in VIEWS[1:]:
            if has_switches or view != "offcpu":
                check_ranges(trace, view, ((0, 1), (7, 8), (50, 100), (3, 120), (146, 150)))

with t.case("instructions share their kernel's time by what a range has of them"):
    t.wanted()
    need_node()
    load, now = Workload(2, 23), MS
    while now < load.end - 100 * MS:
        end = load.launch(now)
        load.look_at_instructions(now, end)
        now = end + load.dice.randint(1, 8) * MS
    trace = load.trace("instructions")
    t.true(any(stack.endswith("_[g]") for stack in folded(trace, "--view", "gpu")), "there are instructions")
    for view in ("gpu", "total"):
        check_ranges(trace, view, ((0, 100), (0, 1), (7, 8), (10, 60)))

with t.case("a recorded run: its whole map, and what each range adds up to"):
    t.wanted()
    need_node()
    if not os.path.exists(program("flame_shapes")):
        raise duet_test.Skip("the test programs were not built: no OpenCL headers")
    trace = t.path("recorded.duet")
    recorded = t.record([program("flame_shapes")], trace,
                        env={"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=9000"})
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    for view in ("total", "gpu", "idle", "launch"):
        page = scope(trace, "--view", view, "--row", "5")
        t.equal(graph(page), folded(trace, "--view", view), f"--view {view}: the whole map")
        for first, end in ((0, 1), (2, 7), (5, 6)):
            wanted = folded(trace, "--view", view, "--from", f"{first * 5}ms", "--to", f"{end * 5}ms")
            t.equal(sum(graph(page, first, end).values()), sum(wanted.values()), f"--view {view}: cells {first} to {end}")

with t.case("commands that share a device: each range to the nanosecond, each stack to what dividing leaves at the edges"):
    t.wanted()
    need_node()
    load, now = Workload(2, 21), MS
    while now < load.end - 100 * MS:
        ends = [load.launch(now + i * 7001, queues=(1, 3)) for i in range(load.dice.randint(1, 5))]
        now = max(ends) + load.dice.randint(-2, 8) * MS // 2
    trace = load.trace("shared")
    page = scope(trace, "--view", "gpu")
    for first, end in ((0, 1), (1, 2), (5, 40), (0, 100)):
        wanted = folded(trace, "--view", "gpu", "--from", f"{first * 20}ms", "--to", f"{end * 20}ms")
        found = graph(page, first, end)
        t.equal(sum(found.values()), sum(wanted.values()), f"cells {first} to {end}: sum")
        t.equal(set(found), set(wanted), f"cells {first} to {end}: stacks")
        most = 5 * (end - first + 1)
        t.true(all(abs(found[stack] - wanted[stack]) <= most for stack in wanted),
               f"cells {first} to {end}: {[(stack, found[stack], wanted[stack]) for stack in wanted if found[stack] != wanted[stack]]}")

with t.case("an hour has coarser cells, says so, and loses nothing"):
    t.wanted()
    load = Workload(3600, 22)
    for now in range(MS, load.end, 500 * MS):
        load.sample(1, load.launch(now) + MS)
    trace = load.trace("hour")
    page = t.path("hour.html")
    for view in ("gpu", "idle", "cpu"):
        result = run([DUET, "flamescope", "--view", view, "-o", page, trace])
        t.equal(result.status, 0, text(result.stderr))
        t.true("cells have 80.00 ms, columns 4.000 s" in text(result.stderr), text(result.stderr))
        head = sections(page)["head"]
        t.equal((head["row_ns"], head["rows"], head["asked_row_ns"]), (80 * MS, 50, 20 * MS), "the grid")
        t.equal(sum(cell_totals(page)), sum(folded(trace, "--view", view).values()), f"--view {view}: sum of the cells")
        t.true(os.path.getsize(page) < 4 << 20, f"{os.path.getsize(page)} bytes")
    result = run([DUET, "flamescope", "--view", "cpu", "--from", "600", "--to", "1200", "-o", page, trace])
    t.equal(text(result.stderr), "", "ten minutes of it are shown as they were asked for")
    t.equal(sum(cell_totals(page)), sum(folded(trace, "--view", "cpu", "--from", "600", "--to", "1200").values()), "a part")

def view_of(trace, begin, end):
    """The view that shows most of a part: idle time, or busy time."""
    window = ("--from", begin, "--to", end)
    idle, total = (sum((folded(trace, "--view", view, *window) or {}).values()) for view in ("idle", "total"))
    return "idle" if 2 * idle > total else "gpu"


with t.case("a short recording has short cells, so that it fills the map"):
    t.wanted()
    page = t.path("short.html")
    for seconds, row_ms in ((3, 2), (15, 10), (40, 20)):
        trace = steps(seconds, False).trace("short")
        t.equal(run([DUET, "flamescope", "--view", "idle", "-o", page, trace]).status, 0, f"{seconds} s")
        head = sections(page)["head"]
        t.equal((head["row_ns"], head["rows"]), (row_ms * MS, 50), f"the grid of {seconds} s")
        t.equal(sum(cell_totals(page)), sum(folded(trace, "--view", "idle").values()), f"{seconds} s: sum of the cells")

with t.case("options"):
    t.wanted()
    trace = steps(3, False).trace("options")
    page = scope(trace, "--view", "gpu", "--row", "100", "--column", "2", "--device", "gpu1", "--from", "500ms", "--to", "2.5")
    head = sections(page)["head"]
    t.equal((head["row_ns"], head["rows"], head["cells"], head["from_ns"], head["to_ns"]),
            (100 * MS, 20, 20, 500 * MS, 2500 * MS), "the grid")
    t.equal(sum(cell_totals(page)),
            sum(folded(trace, "--view", "gpu", "--device", "gpu1", "--from", "500ms", "--to", "2.5").values()), "one device")
    t.equal(sections(scope(trace))["head"]["view"], "idle", "the view by default, of devices that idle most")
    t.equal(sections(scope(trace, "--from", "1ms", "--to", "1200us"))["head"]["view"], view_of(trace, "1ms", "1200us"), "of a part")
    busy = t.described("busy.duet", "window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1", "launch 1 1 1 10 20 kernel name=k",
                       "execution 1 1 1 11 12 30 900")
    t.equal(sections(scope(busy))["head"]["view"], "gpu", "the view by default, of devices that are busy most")
    for options, said in ((("--row", "30"), "divides the column"), (("--row", "0"), "--row"), (("--column", "0"), "--column"),
                          (("--column", "3600", "--row", "1"), "at most 1000 cells"), (("--view", "nope"), "total, gpu, idle"),
                          (("--from", "2", "--to", "1"), "--to is before"), (("--device", "none"), "no device 'none'")):
        result = run([DUET, "flamescope", *options, "-o", page, trace])
        t.equal(result.status, 2, f"{options}: status")
        t.true(said in text(result.stderr), f"{options}: {text(result.stderr)}")
    result = run([DUET, "flamescope", "-o", trace, trace])
    t.equal((result.status, "is the trace itself" in text(result.stderr)), (1, True), text(result.stderr))
    t.equal(run([DUET, "flamescope", trace]).status, 0, "without a name")
    t.true(os.path.exists(t.path("options.flamescope.html")), "the trace's name by default")
    t.true(b"<!doctype html>" in run([DUET, "flamescope", "-o", "-", trace]).stdout, "stdout")

with t.case("nothing of a trace is markup"):
    t.wanted()
    names = ("</script><script>alert(1)</script>", "<!--", "%1b[31mred", "%ff%fe")
    lines = ["window 0 100000 command=%3c/title%3e%3cscript%3e", "device 1 g%3cp%3eu", "process 1 1001 p", "thread 1 1", "queue 1 1"]
    for i, name in enumerate(names, 1):
        lines += [f"frame {i} python {name} file={name} line={i} first={i}", f"stack {i} {i}",
                  f"launch {i} 1 1 {i * 100} {i * 100 + 1} kernel name={name} stack={i}",
                  f"execution 1 {i} 1 {i * 100 + 1} {i * 100 + 2} {i * 100 + 3} {i * 100 + 50}"]
    page = scope(make_trace(lines, "names"), "--view", "total", "--title", "</title><script>")
    with open(page, encoding="ascii") as file:
        content = file.read()
    t.equal(content.count("<script"), 3, "scripts: two sections, its own")
    t.true("alert(1)" not in content and "\x1b" not in content, "names are in the sections alone")
    head = sections(page)["head"]
    for name in ("</script><script>alert(1)</script>", "<!--", "\\x1b[31mred", "\\xff\\xfe"):
        t.true(name in head["frames"]["names"], f"{name!r} in {head['frames']['names']}")
    t.equal(head["title"], "</title><script>", "title")

# As Netflix's FlameScope reads a file (app/perf/regexp.py, heatmap.py, flame_graph.py of its repository).
EVENT = re.compile(r" +([0-9.]+): .+?:")
FRAME = re.compile(r"^[\t ]*[0-9a-fA-F]+ (.+) \((.*?)\)$")


def read_as_flamescope(content):
    """(time, stack) of each event, root first."""
    lines = [line for line in content.splitlines(keepends=True) if line[0] != "#"]
    t.true(EVENT.search(lines[0]), f"it is taken for perf's, by its first line: {lines[0]!r}")
    events = []
    for line in lines:
        found = None if line[0] == "\t" else EVENT.search(line)
        if found:
            events.append((float(found.group(1)), []))
        elif FRAME.search(line):
            events[-1][1].insert(0, FRAME.search(line).group(1))
    return events


with t.case("Netflix's FlameScope reads export --format perf-script"):
    t.wanted()
    trace = steps(3, True).trace("netflix")
    page = scope(trace, "--view", "cpu")
    exported = run([DUET, "export", "--format", "perf-script", "--kind", "cpu_sample", trace])
    events = read_as_flamescope(text(exported.stdout))
    cells = [0] * sections(page)["head"]["cells"]
    for time, stack in events:
        cells[int(round(time * 1e9)) // (20 * MS)] += 1700000
        t.true(stack, f"a stack at {time}")
    t.equal(cells, cell_totals(page), "its cells are ours, by events of one period")
    t.equal([time for time, _ in events], sorted(time for time, _ in events), "in the order of time, which it takes for granted")

t.end()
