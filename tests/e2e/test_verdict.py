#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verdict of described traces: its causes, places and sentences."""
import json

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

PLACES = ["frame 1 python main file=/home/me/train.py line=3", "frame 2 python step file=/home/me/train.py line=20",
          "frame 3 python load file=/home/me/load.py line=7", "frame 4 native x name=[Python%20garbage%20collection]",
          "stack 1 1 2", "stack 2 1 3", "stack 3 1 3 4"]


def verdict(name, *lines):
    trace = t.described(name, *lines)
    result = run([DUET, "report", "--json", trace])
    t.equal(result.status, 0, f"report: {text(result.stderr)}")
    return json.loads(result.stdout)


def place(cause):
    return cause.get("function"), cause.get("file"), cause.get("line")


with t.case("a command waited for an event: the thread that set it, and where"):
    report = verdict("event.duet", "window 0 1000", "device 1 gpu", "thread 1 1 name=main", "thread 2 1 name=upload", *PLACES,
                     "queue 1 1", "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 11 12 15 30",
                     "launch 2 1 1 40 50 kernel name=a stack=1", "wait 1 2 40 0xe",
                     "call 2 700 750 signal clSetUserEventStatus event=0xe stack=2", "execution 1 2 1 45 760 800 900")
    cause = report["verdict"]["causes"][0]
    t.equal((cause["kind"], cause["cause"], cause["ns"]), ("dependency", "dependency", 650), f"{cause}")
    t.equal(place(cause), ("step", "/home/me/train.py", 20), "where the command was launched")
    t.equal(place(cause["holder"]), ("load", "/home/me/load.py", 7), "where the event was set")
    t.true("waited for a user event, which thread 2002 (upload) set in load (load.py:7)" in report["verdict"]["text"],
           report["verdict"]["text"])
    t.equal(report["devices"][0]["idle_kinds"]["dependency"], {"dependency": 650}, "idle_kinds")

with t.case("a command waited for a command on another device: that device, and where it was launched"):
    lines = ["window 0 3000", "device 1 gpu", "device 2 npu", "thread 1 1 name=main", *PLACES, "queue 1 1", "queue 2 2",
             "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 11 12 15 30",
             "launch 2 1 2 32 34 kernel name=b handle=0xb stack=2", "execution 1 2 2 33 35 36 700",
             "launch 3 1 1 40 50 kernel name=a stack=1", "wait 1 3 40 0xb", "execution 1 3 1 45 60 710 3000"]
    report = verdict("device.duet", *lines)
    cause = report["verdict"]["causes"][0]
    t.equal((cause["kind"], cause["cause"], cause["ns"]), ("other_device", "dependency", 640), f"{cause}")
    t.equal(place(cause["holder"]), ("load", "/home/me/load.py", 7), "where the other command was launched")
    t.equal(cause["other_device"], report["devices"][1]["key"], "the other device")
    t.true("waited for commands on device 1 (npu) from load (load.py:7)" in report["verdict"]["text"], report["verdict"]["text"])

with t.case("a thread waited for another device: that one is named, from the queue of the call"):
    for how, function, waits in (
            ("finish", "clFinish", ["call 1 40 700 wait clFinish queue=2 stack=2"]),
            ("read", "clEnqueueReadBuffer", ["launch 4 1 2 40 700 read blocking=1 bytes=8 function=clEnqueueReadBuffer stack=2",
                                             "execution 1 4 2 41 42 43 699"])):
        report = verdict(how + ".duet", "window 0 3000", "device 1 gpu", "device 2 npu", "thread 1 1 name=main", *PLACES,
                         "queue 1 1", "queue 2 2", "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 11 12 15 30",
                         "launch 2 1 2 32 34 kernel name=b handle=0xb", "execution 1 2 2 33 35 36 700",
                         *waits, "launch 3 1 1 710 720 kernel name=a stack=1",
                         "execution 1 3 1 715 716 721 3000")
        cause = report["verdict"]["causes"][0]
        t.equal((cause["kind"], cause["cause"], cause["ns"]), ("other_device", "api_wait", 660), f"{cause}")
        t.equal((cause["what"], place(cause)), (function, ("load", "/home/me/load.py", 7)), "the call")
        t.true(f" waited for device 1 (npu) in {function} called from load (load.py:7)" in report["verdict"]["text"],
               report["verdict"]["text"])

with t.case("the verdict is about the device that idles longest, if it has a quarter of the busiest one's work"):
    for work, noun in ((1700, "GPU 0"), (300, "GPU 1"), (200, "GPU 0")):
        report = verdict(f"longest{work}.duet", "window 0 3000", "device 1 gpu", "device 2 gpu", "thread 1 1 name=main",
                         "queue 1 1", "queue 2 2", "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 11 12 100 600",
                         "launch 2 1 1 2010 2020 kernel name=a", "execution 1 2 1 2011 2012 2400 2900",
                         "launch 3 1 2 30 32 kernel name=b", "execution 1 3 2 31 33 100 101",
                         "launch 4 1 2 34 36 kernel name=b", f"execution 1 4 2 35 37 {2900 - work} 2900")
        t.true(report["verdict"]["text"].startswith(f"{noun} ("), f"{work}: {report['verdict']['text']}")

with t.case("a loop that is launched long before the device runs it, and work after it"):
    AHEAD = [line for i in range(40) for line in (
        f"launch {i + 1} 1 1 {1000 + 20 * i} {1010 + 20 * i} kernel name=train stack=1",
        f"execution 1 {i + 1} 1 {1010 + 20 * i} {1010 + 20 * i} {2000 + 1000 * i} {2900 + 1000 * i}")]
    report = verdict("ahead.duet", "window 0 100000", "device 1 gpu", "thread 1 1 name=main", *PLACES, "queue 1 1", "switch 1 5 in",
                     "sample 1 10 5 stack=2", *AHEAD, "call 2000 42000 wait clFinish queue=1 stack=1",
                     *(f"sample 1 {time} 1000 stack=2" for time in range(43000, 90000, 1000)),
                     "launch 41 1 1 90000 90010 kernel name=evaluate stack=1", "execution 1 41 1 90010 90010 90020 95000")
    t.equal(report["verdict"]["steady"]["end_ns"] - report["verdict"]["steady"]["begin_ns"], 41900 - 2000, "the device's work")
    t.true(report["verdict"]["sentences"][-1].startswith("Outside of the steady part: thread 2001 (main) computed in load (load.py:7), 4"),
           report["verdict"]["text"])
    t.equal(len(report["verdict"]["sentences"]), 3, "sentences")

with t.case("a thread that waited for the idle device's own queue"):
    report = verdict("own.duet", "window 0 1100", "device 1 gpu", "thread 1 1", *PLACES, "queue 1 1",
                     "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 11 12 15 30",
                     "call 1 40 700 wait clFinish queue=1 stack=2", "launch 3 1 1 710 720 kernel name=a stack=1",
                     "execution 1 3 1 715 716 721 1100")
    t.equal(report["verdict"]["causes"][0]["kind"], "device_wait", "kind")

with t.case("collecting garbage: the Python function, also if that thread was preempted most of the time"):
    BEGIN = ["window 0 2000", "device 1 gpu", "thread 1 1", *PLACES, "queue 1 1", "launch 1 1 1 10 20 kernel name=a",
             "execution 1 1 1 11 12 15 30", "switch 1 5 in"]
    END = ["launch 2 1 1 1010 1020 kernel name=a stack=1", "execution 1 2 1 1015 1016 1021 2000"]
    SAMPLES = ["sample 1 100 5 stack=3", "sample 1 200 5 stack=3", "sample 1 300 5 stack=3"]
    report = verdict("garbage.duet", *BEGIN, *SAMPLES, *END)
    cause = report["verdict"]["causes"][0]
    t.equal((cause["kind"], cause["cause"], place(cause)), ("garbage_collection", "on_cpu", ("load", "/home/me/load.py", 7)), f"{cause}")
    t.true("collected Python's garbage in load (load.py:7)" in report["verdict"]["text"], report["verdict"]["text"])
    t.true("garbage_collection" in report["devices"][0]["idle_kinds"]["on_cpu"], "idle_kinds")
    report = verdict("away.duet", *BEGIN, *SAMPLES, "switch 1 310 preempted stack=3", "switch 1 1000 in", *END)
    cause = report["verdict"]["causes"][0]
    t.equal((cause["kind"], cause["own_kind"], place(cause)),
            ("preempted", "garbage_collection", ("load", "/home/me/load.py", 7)), f"{cause}")
    t.true("and collected Python's garbage there for" in report["verdict"]["text"], report["verdict"]["text"])

with t.case("a control group's limit is one cause, whichever functions it stopped"):
    LIMIT = "wait=CPU%20limit%20of%20the%20cgroup"
    report = verdict("limit.duet", *BEGIN, "sample 1 40 5 stack=2", "sample 1 140 5 stack=2", "sample 1 240 5 stack=2",
                     f"switch 1 250 preempted stack=1 {LIMIT}", "switch 1 450 in",
                     f"switch 1 460 preempted stack=2 {LIMIT}", "switch 1 710 in", *END)
    causes = report["verdict"]["causes"]
    t.equal([(cause["kind"], cause["ns"]) for cause in causes if cause["kind"] == "throttled"], [("throttled", 450)], f"{causes}")

t.end()
