#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export -f ctf: babeltrace2 reads the same events as `duet export -f text`, at the same nanosecond. The analysis for
Trace Compass adds up to the report's waiting times.

tests/golden/export/CASE.txt describes a trace (tests/checker/description.h); ctf/CASE.expected is the output of
babeltrace2 for its export.

    python3 tests/e2e/test_ctf.py --write    # writes the expected files; read them before a commit
"""
import collections
import glob
import os
import re
import shutil
import struct
import xml.etree.ElementTree

import duet_test
from duet_test import DUET, HERE, ROOT, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "export")
PACKET_BYTES = 65536
ZONES = ("queued_submitted", "submitted_started", "started_ended")
LINE = re.compile(r"\[(\d+)\] \(\+[\d?]+\) (?:\S+ )?(?:duet:)?(\w+): (?:\{ cpu_id = \d+ \}, )?\{ pid = (\d+)(.*)$")
KINDS = {"call_begin": "begin", "call_end": "end", "launch_begin": "enter", "launch_end": "exit",
         "command_queued": "queued", "command_submitted": "submitted", "command_started": "started",
         "command_ended": "ended", "command_complete": "complete"}

Event = collections.namedtuple("Event", "time name pid fields")


def exported(path, *options, status=0):
    """The folder of the export."""
    t.wanted()
    folder = t.path("out.ctf")
    shutil.rmtree(folder, ignore_errors=True)
    result = run([DUET, "export", path, "-f", "ctf", "-o", folder, *options])
    t.equal(result.status, status, f"duet export: {text(result.stderr)}")
    return folder


def babeltrace(folder):
    """What it prints, and what it warns of."""
    if not shutil.which("babeltrace2"):
        raise Skip("no babeltrace2")
    result = run(["babeltrace2", "--clock-cycles", folder])
    t.equal(result.status, 0, f"babeltrace2: {text(result.stderr)}")
    return text(result.stdout), text(result.stderr).replace(folder, "FOLDER")


def events_of(folder):
    printed, _ = babeltrace(folder)
    events = []
    for line in printed.splitlines():
        match = LINE.match(line)
        if not match:
            t.fail(f"not a line of an event: {line}")
            continue
        fields = dict(re.findall(r"(\w+) = (-?\d+)", match.group(4)))
        fields.update(re.findall(r'(\w+) = "((?:[^"\\]|\\.)*)"', match.group(4)))
        events.append(Event(int(match.group(1)), match.group(2), match.group(3), fields))
    return events


def discarded(warnings):
    return sum(int(count) for count in re.findall(r"discarded (\d+) events?", warnings))


def check_packets(folder):
    """Bounded, numbered, in order; the number of packets of each stream."""
    counts = {}
    for name in os.listdir(folder):
        if name in ("metadata", "trace-compass"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        at, last_ns, last_lost, count = 0, 0, 0, 0
        while at < len(data):
            magic, = struct.unpack_from("<I", data, at)
            begin, end, content, size, number, lost = struct.unpack_from("<6Q", data, at + 32)
            t.equal((magic, number), (0xC1FC1FC1, count), f"{name}: packet {count}")
            t.true(content == size and 0 < size // 8 <= PACKET_BYTES, f"{name}: {size // 8} bytes")
            t.true(last_ns <= begin <= end and last_lost <= lost, f"{name}: packet {count}'s order")
            at, last_ns, last_lost, count = at + size // 8, end, lost, count + 1
        t.equal(at, len(data), f"{name}: whole packets")
        counts[name] = count
    return counts


def moments_of(path, *options):
    """The same events as duet export -f text has them."""
    result = run([DUET, "export", path, "-f", "text", "--absolute", *options])
    t.equal(result.status, 0, text(result.stderr))
    rows = [line.split("\t") for line in text(result.stdout).splitlines() if not line.startswith("#")]
    return collections.Counter((int(time), pid, kind, correlation_of(details))
                               for time, pid, _, kind, _, details in rows if kind in KINDS.values())


def correlation_of(details):
    match = re.search(r"correlation=(\d+)", details)
    return match.group(1) if match else "0"


def check_same(path, *options):
    events = events_of(exported(path, *options))
    got = collections.Counter((event.time, event.pid, KINDS[event.name],
                               event.fields.get("correlation", "0"))
                              for event in events if event.name in KINDS)
    want = moments_of(path, *options)
    t.equal((len(got - want), len(want - got)), (0, 0),
            f"events: more {list(got - want)[:3]}, missing {list(want - got)[:3]}")
    return events


def zones_of(events):
    """{queue: [ns that commands were in each zone, added up]}, by the handlers of the analysis itself."""
    root = xml.etree.ElementTree.parse(os.path.join(t.path("out.ctf"), "trace-compass",
                                                    "duet-zones.xml")).getroot()
    handlers = {one.get("eventName"): one.findall("stateChange") for one in root.iter("eventHandler")}
    counts, sums, since, names = collections.Counter(), collections.Counter(), {}, {}
    for event in events:
        for change in handlers.get(f"duet:{event.name}", ()):
            condition = change.find("if/condition")
            if condition is None:
                value = change.find("stateValue")
                t.equal(value.get("type"), "eventField", "what is not counted is a name")
                names[event.fields["device"]] = event.fields[value.get("value")]
                continue
            if event.fields[condition.find("field").get("name")] != condition.find(
                    "stateValue").get("value"):
                continue
            path = tuple(one.get("value") if one.get("type") == "constant"
                         else event.fields[one.get("value")] for one in
                         change.findall("then/stateAttribute"))
            sums[path] += counts[path] * (event.time - since.get(path, event.time))
            since[path] = event.time
            counts[path] += int(change.find("then/stateValue").get("value"))
            t.true(counts[path] >= 0, f"{path} at {event.time}: {counts[path]}")
    t.equal({path: count for path, count in counts.items() if count}, {}, "in zones at the end")
    return ({queue: [sums["Queues", queue, zone] for zone in ZONES]
             for queue in {path[1] for path in sums if path[0] == "Queues"}},
            {(names[path[1]], path[2]): ns for path, ns in sums.items() if path[0] == "Devices"})


for description in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
    case = os.path.splitext(os.path.basename(description))[0]
    with t.case(f"golden: {case}"):
        with open(description, encoding="utf-8") as file:
            path = t.described("described.duet", file.read())
        folder = exported(path)
        lines = "".join(babeltrace(folder))
        with open(os.path.join(folder, "metadata"), encoding="utf-8") as file:
            lines += file.read()
        check_packets(folder)
        expected = os.path.join(GOLDEN, "ctf", f"{case}.expected")
        t.same_as_file(lines, expected, case)

for shape, count in (("mixed", 20000), ("single", 10000), ("late", 10000), ("deep", 20000),
                     ("empty", 0)):
    with t.case(f"a generated trace, {shape}: the events of the text format, at the same nanosecond"):
        path = t.generated(count, shape)
        check_same(path)
        packets = check_packets(t.path("out.ctf"))
        t.true(count == 0 or packets["host"] > 1, f"packets: {packets}")

with t.case("losses are discarded events for readers"):
    with open(os.path.join(GOLDEN, "lost.txt"), encoding="utf-8") as file:
        path = t.described("lost.duet", file.read())
    _, warnings = babeltrace(exported(path))
    t.equal(discarded(warnings), 21, f"of both streams: {warnings}")
    _, warnings = babeltrace(exported(path, "--kind", "api,loss"))
    t.equal(discarded(warnings), 11, "of the kinds that are exported")
    path = t.described("ends.duet", "window 0 1000", "thread 1 1", "loss api 5 time=0",
                       "call 1 10 20 call f", "loss api 6 time=900")
    _, warnings = babeltrace(exported(path))
    t.equal(discarded(warnings), 11, "before the first event and behind the last")

with t.case("the time of day, if the trace contains it"):
    path = t.described("day.duet", "clock 3 1000 type=realtime", "window 5000 9000", "thread 1 1",
                       "call 1 6000 7000 call f")
    result = run(["babeltrace2", "--clock-seconds", exported(path)])
    t.equal([line.split("]")[0] for line in text(result.stdout).splitlines()],
            ["[0.000005000", "[0.000006000"], "realtime = monotonic - 1000")

with t.case("a command that seems to be queued before its launch, by no more than the clock's error, has its name"):
    path = t.described("early.duet", "clock 2 1000", "window 0 10000", "device 1 gpu", "thread 1 1",
                       "queue 1 1 clock=2", "launch 1 1 1 5000 5100 kernel name=k",
                       "execution 1 1 1 3999 4050 4100 4200 seen=6000")
    printed, _ = babeltrace(exported(path))
    named = [line for line in printed.splitlines() if 'name = "k"' in line]
    t.equal([line[:22] for line in named], [f"[{time:020d}]" for time in (4999, 5050, 5100, 5200)], "events")

with t.case("Trace Compass's analysis: the known part of its schema"):
    t.wanted()
    folder = exported(t.described("views.duet", "window 0 1000"))
    if not shutil.which("xmllint"):
        raise Skip("no xmllint")
    views = os.path.join(folder, "trace-compass", "duet-zones.xml")
    checked = run(["xmllint", "--noout", "--schema", os.path.join(HERE, "trace_compass.xsd"), views])
    t.equal(checked.status, 0, text(checked.stderr))
    root = xml.etree.ElementTree.parse(views).getroot()
    t.equal([view.find("entry/display").get("value") for view in root.findall("timeGraphView")],
            ["kernels", *ZONES], "a view of devices and of each waiting zone")
    t.equal([entry.get("path") for entry in root.find("timeGraphView").iter("entry")], ["Devices/*", "copies"],
            "two lines for each device")

with t.case("Trace Compass's analysis: the report's waiting zones"):
    path = t.generated(10000, "single")
    document = t.report(path)
    queues = {str(number): [row["zones"][zone]["sum"] for zone in ZONES]
              for number, row in enumerate(document["queues"], 1)}
    t.true(any(sum(row) for row in queues.values()), "there are zones")
    zones, devices = zones_of(check_same(path))
    t.equal(zones, queues, "ns in each zone of each queue")
    kernels, copies = ({name: ns for (name, activity), ns in devices.items() if activity == wanted}
                       for wanted in ("kernels", "copies"))
    t.equal(sum(kernels.values()), sum(row["total_ns"] for row in document["kernels"]), "ns of kernels")
    t.equal(sum(copies.values()), sum(row["total_ns"] for row in document["copies"]), "ns of copies")

with t.case("processors: switches and wakers as LTTng's kernel tracer writes them"):
    path = t.described("switches.duet", "window 0 9000", "process 1 100 render", "thread 1 1 name=main",
                       "thread 2 1 name=worker", "switch 1 1000 in cpu=0", "switch 2 2000 in cpu=3 waker=1",
                       "switch 1 3000 blocked cpu=0 wait=futex", "switch 2 3500 preempted cpu=3",
                       # the waker runs nowhere
                       "switch 1 4000 in cpu=0 waker=2", "switch 2 5000 exited cpu=3")
    folder = exported(path)
    t.equal(check_packets(folder), {"host": 1, "cpu_0": 1, "cpu_3": 1}, "streams")
    got = [(event.time, event.name, event.fields.get("tid"), event.fields.get("comm"),
            *(event.fields.get(name) for name in ("prev_comm", "prev_tid", "prev_state", "next_comm", "next_tid", "wait")))
           for event in events_of(folder)]
    nobody = "[idle or not recorded]"
    t.equal(got, [
        (1000, "sched_switch", "0", None, nobody, "0", "0", "main", "2001", ""),
        (1999, "sched_wakeup", "2002", "worker", None, None, None, None, None, None),
        (2000, "sched_switch", "0", None, nobody, "0", "0", "worker", "2002", ""),
        (3000, "sched_switch", "2001", None, "main", "2001", "1", nobody, "0", "futex"),
        (3500, "sched_switch", "2002", None, "worker", "2002", "0", nobody, "0", ""),
        (4000, "sched_switch", "0", None, nobody, "0", "0", "main", "2001", ""),
        (5000, "sched_switch", "0", None, nobody, "0", "0", "worker", "2002", ""),
        (5000, "sched_switch", "2002", None, "worker", "2002", "64", nobody, "0", "")], "events")
    printed, _ = babeltrace(folder)
    t.equal(re.findall(r"cpu_id = (\d+)", printed), list("00303033") , "processors")
    with open(os.path.join(folder, "metadata"), encoding="utf-8") as file:
        t.true('domain = "kernel"' in file.read(), "the domain of Trace Compass's kernel analyses")

with t.case("processors: a thread that comes to another one has left the first"):
    path = t.described("moved.duet", "window 0 9000", "process 1 100 render", "thread 1 1 name=main", "thread 2 1 name=worker",
                       "switch 1 1000 in cpu=0", "switch 1 2000 in cpu=3", "switch 1 3000 blocked cpu=5",
                       "switch 2 4000 in cpu=0", "switch 2 5000 blocked cpu=0")
    folder = exported(path)
    got = sorted((event.time, event.fields.get("prev_comm"), event.fields.get("next_comm"), event.fields.get("wait") or "")
                 for event in events_of(folder) if event.name == "sched_switch")
    nobody = "[idle or not recorded]"
    t.equal(got, [(1000, nobody, "main", ""), (2000, nobody, "main", ""), (2000, "main", nobody, ""), (3000, "main", nobody, ""),
                  (3000, "main", nobody, ""), (4000, nobody, "worker", ""), (5000, "worker", nobody, "")], "events")
    printed, _ = babeltrace(folder)
    t.equal(re.findall(r"cpu_id = (\d+)", printed), list("0033500"), "processors")

with t.case("a part of a trace"):
    path = t.generated(10000)
    events = check_same(path, "--from", "1ms", "--to", "3ms")
    t.true(events, "there is something")
    zones_of(events)
    pid = t.report(path)["processes"][0]["pid"]
    t.equal({event.pid for event in check_same(path, "--pid", str(pid))}, {str(pid)}, "--pid")
    names = {event.name for event in events_of(exported(path, "--kind", "execution"))}
    t.true("command_started" in names and not names & {"call_begin", "launch_begin"}, f"{names}")

with t.case("where it is written"):
    path = t.described("where.duet", "window 0 10")
    t.equal(run([DUET, "export", path, "-f", "ctf"]).status, 2, "without -o")
    folder = exported(path)
    again = run([DUET, "export", path, "-f", "ctf", "-o", folder])
    t.equal(again.status, 1, "a folder with something in it")
    t.true("remove it" in text(again.stderr), text(again.stderr))
    os.mkdir(t.path("empty"))
    t.equal(run([DUET, "export", path, "-f", "ctf", "-o", t.path("empty")]).status, 0, "an empty one")
    nowhere = run([DUET, "export", path, "-f", "ctf", "-o", t.path("no/such")])
    t.equal(nowhere.status, 1, "no folder to put it in")
    t.true("No such file" in text(nowhere.stderr), text(nowhere.stderr))

with t.case("memory does not grow with events"):
    t.check_export_memory("ctf", t.path("memory.ctf"))

with t.case("examples/render, recorded"):
    path = t.recorded_example()
    t.true(any(event.name == "command_started" for event in check_same(path)), "commands")
    with open(os.path.join(t.path("out.ctf"), "metadata"), encoding="utf-8") as file:
        t.true("absolute = TRUE" in file.read(), "the time of day")

t.end()
