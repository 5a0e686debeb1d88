#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet flame, report, info and archive on described traces (grammar: tests/checker/description.h)."""
import fcntl
import json
import os
import pty
import random
import re
import struct
import termios

import duet_test
from duet_test import DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

described = t.described


def duet(*arguments, status=0, **options):
    result = run([DUET, *arguments], **options)
    t.equal(result.status, status, f"status of {' '.join(arguments)}: {text(result.stderr)[:400]}")
    return result


def folded(trace, *options):
    """The lines of duet flame --folded: {stack: value}."""
    lines = text(duet("flame", "--folded", *options, trace).stdout).splitlines()
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def content(path):
    with open(path, "rb") as file:
        return file.read()


GROUND = ("device 1 gpu", "thread 1 1", "queue 1 1")
SMALL = (*GROUND, "window 0 1000", "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40")


def command_at(number, enter, thread=1, what="kernel name=k"):
    """A launch of 10 ns and its execution, which begins 5 ns later and takes 20."""
    return (f"launch {number} {thread} 1 {enter} {enter + 10} {what}",
            f"execution 1 {number} 1 {enter + 5} {enter + 12} {enter + 15} {enter + 35}")


with t.case("the trace is never its own output"):
    for verb, options in (("flame", ()), ("flame", ("--folded",)), ("export", ("-f", "jsonl"))):
        trace = described("own.duet", *SMALL)
        before = content(trace)
        for kind, link in (("itself", None), ("symlink", os.symlink), ("hard link", os.link)):
            output = trace
            if link:
                output = t.path("own.link")
                if os.path.lexists(output):
                    os.unlink(output)
                link(trace, output)
            result = duet(verb, *options, "-o", output, trace, status=1)
            t.true(b"is the trace itself: write to another file" in result.stderr, text(result.stderr))
            t.true(content(trace) == before, f"{verb} {options}: the trace as it was, by {kind}")

with t.case("devices of one name are distinguished by their keys"):
    trace = described("twins.duet", "device 1 MI210 key=0000:11:00.0", "device 2 MI210 key=0000:12:00.0", "device 3 MI100",
                      "window 0 1000")
    said = text(duet("report", trace).stdout)
    names = re.findall(r"^  \d: (MI\S+(?: \S+)?)  ", said, re.M)
    t.equal(len(set(names)), 3, f"names of three devices: {said}")
    t.true("MI100" in names and "MI210" not in names, names)

with t.case("a failure of the drawing has its cause"):
    wall = 2 ** 64 - 2  # the largest number means that nobody knows the end
    trace = described("long.duet", "device 1 a", "device 2 b", f"window 0 {wall}")
    result = duet("flame", "--folded", trace, status=1)
    t.true(b"add up to more than 2^64" in result.stderr, text(result.stderr))
    t.true(b"memory" not in result.stderr, text(result.stderr))

with t.case("a part behind the recording's end"):
    trace = described("short.duet", *SMALL)
    for verb in ("report", "flame"):
        result = duet(verb, "--from", "9999", trace, status=1)
        t.true(b"--from 9999.0 s is not inside the recording, which is 1.000 \xc2\xb5s long"
               in result.stderr, text(result.stderr))
        t.equal(result.stdout, b"", f"stdout of {verb}")

with t.case("terminal control characters of a trace are escaped"):
    evil = "%1b]0;x%07%c2%9b31m%e2%80%ae%ff"
    trace = described("evil.duet", f"host 1 host{evil} 0 1000", f"device 1 gpu{evil}",
                      f"process 1 1001 name{evil} command=command{evil}",
                      f"thread 1 1 name=thread{evil}", "queue 1 1",
                      f"frame 1 native /no/such/module{evil} offset=64 build_id=abcdef0123",
                      f"frame 2 jit function{evil}", "stack 1 2 1",
                      f"launch 1 1 1 10 20 kernel name=kernel{evil} stack=1 function=call{evil}",
                      "execution 1 1 1 11 12 30 40",
                      f"launch 2 1 1 50 60 kernel name=kernel{evil} result=-5 function=call{evil}")
    for arguments, status in (
            (("report",), 0), (("report", "--by", "stack"), 0), (("report", "--by", "line"), 0),
            (("report", "--by", "process"), 0), (("report", "--by", "queue"), 0), (("info",), 0),
            (("report", "--device", "none"), 2), (("flame", "--device", "none"), 2),
            (("flame", "-o", t.path("evil.svg")), 0), (("archive",), 0),
            (("export",), 0), (("export", "--pid", "7"), 2), (("export", "-f", "jsonl"), 0)):
        result = duet(*arguments, trace, status=status)
        for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
            shown = stream.decode("utf-8", "surrogateescape")
            raw = [c for c in shown if c not in "\n\t" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0
                                                         or 0xdc00 <= ord(c) < 0xe000)]
            t.equal(raw, [], f"{name} of {' '.join(arguments)}: {shown[:300]!r}")
    t.true(b"module?]0;x??31m" in duet("archive", trace).stderr, "archive names the module")

with t.case("info and report print the same damage"):
    turn = random.Random(1)  # so that the launches do not shrink to nothing
    lines = [f"launch {i} 1 1 {i * 10} {i * 10 + 5} kernel name=k bytes={turn.randrange(1 << 60)}"
             for i in range(1, 4000)]
    trace = described("damaged.duet", *GROUND, "window 0 50000", *lines)
    t.true(b"\ndamage    none\n" in duet("info", trace).stdout, "whole")
    data = bytearray(content(trace))
    place = len(data) // 2
    for i in range(8):
        data[place + i] ^= 0x55
    with open(trace, "wb") as file:
        file.write(data)
    report = t.report(trace)["damage"]
    t.equal(report["chunks"], 1, "chunks left out by report")
    t.true(report["rows"] > 0, "rows are lost")
    found = json.loads(duet("info", "--json", trace).stdout)["damage"]
    t.equal({key: found[key] for key in report}, report, "info's damage")
    t.equal(found["damaged"], True, "damaged")
    t.true(f"\ndamage    lost: chunks 1, rows {report['rows']}; " in text(duet("info", trace).stdout), "info's text")
    with open(trace, "wb") as file:
        file.write(data[:place])
    t.equal(t.report(trace)["damage"]["rows"], 0, "no head is left to tell rows")
    t.true("1 chunk with an unknown number of rows was left out, " in text(duet("report", trace).stdout), "nobody says that there were none")
    t.true("chunks 1, rows not known; " in text(duet("info", trace).stdout), "nor does info")

STACKS = ("frame 1 python main file=/a/s.py line=30 first=10", "frame 2 python left file=/a/s.py line=5 first=4",
          "frame 3 python right file=/a/s.py line=8 first=7", "frame 4 python main file=/a/s.py line=31 first=10",
          "stack 1 1 2", "stack 2 1 3", "stack 3 4 3")
TWO = (*GROUND, *STACKS, "call 1 100 300 call clBuildProgram",
       "launch 1 1 1 400 420 kernel name=k stack=1", "execution 1 1 1 405 430 450 500",
       "launch 2 1 1 600 620 kernel name=k stack=2", "execution 1 2 1 605 630 650 700")
LEFT, RIGHT = "main (s.py:10);left (s.py:4);", "main (s.py:10);right (s.py:7);"
KERNEL, READ = "clEnqueueNDRangeKernel;-;", "clEnqueueCommand;-;"


def picture(trace, *options):
    """The SVG and what was said on stderr."""
    path = t.path("picture.svg")
    result = duet("flame", "-o", path, *options, trace)
    return text(content(path)), text(result.stderr)


with t.case("start-up has branches of its own, and idle time the words of the report"):
    trace = described("start.duet", "window 0 1000", *TWO)
    expected = {
        "[before the first command];-;[idle: nothing to do]": 200,
        "main (s.py:10);clBuildProgram;-;[idle: in another call]": 200, LEFT + KERNEL + "[idle: launching call]": 20,
        LEFT + KERNEL + "[idle: submission to the device]": 10, LEFT + KERNEL + "[idle: driver and queue latency]": 20,
        LEFT + KERNEL + "k_[G]": 50, RIGHT + "-;[idle: outside of calls]": 100, RIGHT + KERNEL + "[idle: launching call]": 20,
        RIGHT + KERNEL + "[idle: submission to the device]": 10, RIGHT + KERNEL + "[idle: driver and queue latency]": 20,
        RIGHT + KERNEL + "k_[G]": 50, "[after the last command];-;[idle: nothing to do]": 300}
    t.equal(folded(trace), expected, "folded")
    printed = text(duet("report", trace).stdout)
    for stack in expected:
        if "[idle: " in stack:
            cause = stack.split("[idle: ")[1][:-1]
            t.true(re.search(rf"^      (launching thread )?{cause} ", printed, re.M), f"report says '{cause}'")
    causes = t.report(trace)["devices"][0]["idle_causes"]
    t.equal((causes["api_call"], causes["host"], causes["nothing_to_do"], causes["unknown"]),
            (200, 100, 500, 0), "keys of the JSON")

with t.case("idle time in a call lies above who made that call, never above a launch"):
    frames = ("frame 5 jit _start", "frame 6 python setup file=/a/s.py line=3 first=2", "frame 7 native /usr/lib/libOpenCL.so.1 offset=16", "frame 8 jit compile",
              "stack 4 1 6", "stack 5 5 1 6 7 8", "stack 6 5 1 8", "frame 9 truncated -", "stack 7 9 7 8")
    launch = ("launch 1 1 1 400 420 kernel name=k stack=1", "execution 1 1 1 405 430 450 500")
    call, outer, setup = "-;[idle: in another call]", "main (s.py:10);", "main (s.py:10);setup (s.py:2);"
    for what, lines, expected in (
            ("its own stack", ("call 1 100 300 call clBuildProgram stack=4",), {setup + "clBuildProgram;" + call: 200}),
            ("one that waits", ("call 1 100 300 wait clFinish stack=4",), {setup + "clFinish;-;[idle: waiting in a call]": 200}),
            ("a sample inside", ("call 1 100 300 call clBuildProgram", "sample 1 200 5 stack=5"),
             {"_start_[j];" + setup + "clBuildProgram;" + call: 200}),
            ("a wait inside", ("call 1 100 300 call clBuildProgram", "switch 1 150 blocked stack=5", "switch 1 160 in"),
             {"_start_[j];" + setup + "clBuildProgram;" + call: 200}),
            ("a sample that was cut, and one that was not", ("call 1 100 300 call clBuildProgram", "sample 1 150 5 stack=7",
              "sample 1 200 5 stack=5"), {"_start_[j];" + setup + "clBuildProgram;" + call: 200}),
            ("a sample that does not say", ("call 1 100 300 call clBuildProgram", "sample 1 200 5 stack=6"),
             {outer + "clBuildProgram;" + call: 200}),
            ("of another thread", ("thread 2 1", "call 2 10 90 call clCreateContext stack=4", "call 1 100 300 call clBuildProgram"),
             {outer + "clBuildProgram;" + call: 200}),
            ("two calls", ("call 1 100 200 call clBuildProgram", "call 1 200 250 call clCreateKernel", "call 1 260 270 call clBuildProgram"),
             {outer + "clBuildProgram;" + call: 110, outer + "clCreateKernel;" + call: 50})):
        trace = described("calls.duet", "window 0 1000", *GROUND, *STACKS, *frames, *lines, *launch)
        rows = {stack: ns for stack, ns in folded(trace).items() if stack.endswith("call]") and "launching" not in stack}
        t.equal(rows, expected, what)
        calls = t.report(trace)["devices"][0]["idle_calls"]
        t.equal(sum(row["ns"] for row in calls), sum(expected.values()), f"{what}: in the report")
    t.true(outer + "clBuildProgram;" + call in folded(trace, "--lines"), "no line of another call")
    t.true(re.search(r"launching thread in another call +160 ns.*\n +clBuildProgram +110 ns.*\n +clCreateKernel +50 ns",
                     text(duet("report", trace).stdout)), "by function")
    bare = described("bare.duet", "window 0 1000", *GROUND, "call 1 100 300 call clBuildProgram", launch[0][:-8], launch[1])
    t.true("[stacks off];clBuildProgram;" + call in folded(bare), f"{folded(bare)}")

with t.case("a device without commands, and one that was not measured"):
    trace = described("idle.duet", "window 0 1000", "device 1 gpu", "device 2 spare", "thread 1 1", "queue 1 1",
                      "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40")
    t.equal(folded(trace, "--device", "spare"), {"[no command];-;[idle: nothing to do]": 1000}, "no command")
    host_only = ("window 0 1000", "device 1 gpu", "device 2 spare", "thread 1 1", "queue 1 1",
                 "launch 1 1 1 10 20 kernel name=k untimed=1", "execution 1 1 1 - - - - seen=40")
    trace = described("unmeasured.duet", *host_only)
    for view in ("total", "gpu", "idle"):
        result = duet("flame", "--view", view, "--device", "gpu", "-o", t.path("none.svg"), trace, status=1)
        t.true(b"not measured: no device times were recorded (opencl:host" in result.stderr, text(result.stderr))
        t.true(not os.path.exists(t.path("none.svg")), "no picture")
    t.equal(folded(trace, "--view", "launch"), {"[stacks off];" + KERNEL + "k_[G]": 1}, "launches are counted all the same")
    t.equal(folded(trace), {"[not measured];-;[idle: unknown]": 1000, "[no command];-;[idle: nothing to do]": 1000},
            "beside one that was measured")
    t.true("not measured: gpu: no device times" in picture(trace)[0], "the picture says so")
    result = duet("flame", "--folded", described("only.duet", *host_only[:2], *host_only[3:]), status=1)
    t.true(b"not measured: " in result.stderr, text(result.stderr))

with t.case("with --root process each stack begins with its process"):
    lines = ["window 0 10000", "device 1 gpu", "process 1 101 train rank=1 rank_count=2", "process 2 102 train rank=2 rank_count=2",
             "thread 1 1", "thread 2 2", "thread 3 2", "queue 1 1", "queue 2 2", *STACKS]
    for number, process in enumerate((1, 2, 1, 2), 1):
        at = number * 2000
        lines += [f"call {process} {at - 900} {at - 800} call clBuildProgram stack=1", f"sample {process} {at - 500} 100 stack=1",
                  f"launch {number} {process} {process} {at} {at + 20} kernel name=k stack=1",
                  f"execution {process} {number} {process} {at + 5} {at + 30} {at + 50} {at + 500}"]
    lines += ["sample 3 9000 100 stack=2", "switch 3 9100 blocked stack=2 wait=futex", "switch 3 9200 in",
              "launch 9 2 2 9900 9910 kernel name=k stack=2"]
    trace = described("root.duet", *lines)
    for view in ("total", "gpu", "idle", "cpu", "offcpu", "launch"):
        plain, rooted = folded(trace, "--view", view), folded(trace, "--view", view, "--root", "process")
        stripped = {}
        for stack, value in rooted.items():
            bare = stack.split(";", 1)[1] if stack.startswith("train ") else stack
            stripped[bare] = stripped.get(bare, 0) + value
        t.equal(stripped, plain, f"{view}: the same below")
        roots = {stack.split(";")[0] for stack in rooted}
        wanted = {"train 102, rank 1 of 2"} if view == "offcpu" else {"train 101, rank 0 of 2", "train 102, rank 1 of 2"}
        t.equal({root for root in roots if not root.startswith("[")}, wanted, f"{view}: processes")
    t.equal(sum(ns for stack, ns in folded(trace, "--view", "gpu", "--root", "process").items() if stack.startswith("train 101, rank 0 of 2;main")),
            900, "busy time of a rank")
    t.true("--root: process, not 'thread'" in text(duet("flame", "--root", "thread", trace, status=2).stderr), "another root")

with t.case("a box for each function, or with --lines for each line"):
    trace = described("lines.duet", "window 0 1000", *TWO, "launch 3 1 1 710 720 kernel name=k stack=3",
                      "execution 1 3 1 711 721 730 740")
    t.equal(folded(trace, "--view", "gpu"), {LEFT + KERNEL + "k_[G]": 50, RIGHT + KERNEL + "k_[G]": 60}, "functions")
    t.equal(folded(trace, "--view", "gpu", "--lines"),
            {"main (s.py:30);left (s.py:5);clEnqueueNDRangeKernel;-;k_[G]": 50, "main (s.py:30);right (s.py:8);clEnqueueNDRangeKernel;-;k_[G]": 50,
             "main (s.py:31);right (s.py:8);clEnqueueNDRangeKernel;-;k_[G]": 10}, "lines")

OPEN = ("window 0 1000", *TWO, "launch 3 1 1 710 720 kernel name=k stack=3",
        "launch 4 1 1 730 740 read stack=1 bytes=8", "execution 1 4 1 731 741 750 760 status=-5",
        "launch 5 1 1 770 780 kernel name=k stack=1 result=-5")

with t.case("launches are counted below their callers, whatever their state"):
    trace = described("launches.duet", *OPEN)
    expected = {LEFT + KERNEL + "k_[G]": 1, RIGHT + KERNEL + "k_[G]": 1, RIGHT + KERNEL + "k_[G];[in flight]": 1, LEFT + READ + "read_[G];[rejected]": 1}
    t.equal(folded(trace, "--view", "launch"), expected, "in flight and rejected")
    for lost, boxes in ((("loss launch 7",), {**expected, "[dropped]": 7}),
                        (("loss execution 1",), {LEFT + KERNEL + "k_[G]": 1, RIGHT + KERNEL + "k_[G]": 1,
                                                 RIGHT + KERNEL + "k_[G];[dropped]": 1, LEFT + READ + "read_[G];[rejected]": 1})):
        trace = described("launches.duet", *OPEN, *lost)
        t.equal(folded(trace, "--view", "launch"), boxes, f"with {lost}")
        t.equal(sum(boxes.values()), t.report(trace)["ledger"]["launched"], "the ledger's sum")
    # command 1 is entered before the window and runs in it
    t.equal(folded(trace, "--view", "launch", "--from", "410ns", "--to", "715ns"),
            {RIGHT + KERNEL + "k_[G]": 1, RIGHT + KERNEL + "k_[G];[dropped]": 1}, "in a window")

with t.case("a picture names its trace"):
    trace = described("about.duet", "clock 9 1000000000 type=realtime", "process 1 1001 prog command=./prog%20-x",
                      "host 1 castle 0 1000", *TWO)
    svg, stderr = picture(trace, "--from", "500ns", "--to", "900ns")
    heads = re.findall(r'<text class="dim"[^>]*>([^<]*)</text>', svg)
    t.equal(heads[:1], ["./prog -x"], "the command line")
    t.true(heads[1].startswith("500 ns to 900 ns of 1.000 \u00b5s on castle, 1970-01-01 "), heads[1])
    t.true(heads[1].endswith(" \u00b7 gpu \u00b7 1 launch, 1 execution"), heads[1])
    t.equal(stderr, "", "nothing is missing")
    t.true("INCOMPLETE" not in svg, "nor does the picture say so")

with t.case("a picture lists missing data"):
    trace = described("missing.duet", *OPEN, "loss launch 7", "loss api 2")
    svg, stderr = picture(trace)
    for place in (svg, stderr):
        t.true("INCOMPLETE: 1 command in flight at exit; 7 commands dropped; 9 rows lost" in place, place[:2000])
    t.true('<text class="warning"' in svg, "as a warning")

with t.case("time that may have been lost with a file's end is unknown"):
    trace = described("cut.duet", "window 0 100000", *GROUND,
                      *[line for i in range(100) for line in (
                          f"launch {i + 1} 1 1 {i * 100} {i * 100 + 10} kernel name=k",
                          f"execution 1 {i + 1} 1 {i * 100 + 1} {i * 100 + 20} {i * 100 + 30} {i * 100 + 80}")])
    t.equal(folded(trace)["[after the last command];-;[idle: nothing to do]"], 90020, "whole")
    os.truncate(trace, os.path.getsize(trace) - 20)
    causes = t.report(trace)["devices"][0]["idle_causes"]
    t.equal((causes["unknown"] >= 90020, causes["nothing_to_do"]), (True, 0), f"report: {causes}")
    t.equal(folded(trace)["[after the last command];-;[idle: unknown]"], 90020, "flame")
    t.true("the file ends early" in picture(trace)[0], "the picture says so")
    for form in ("text", "jsonl", "perfetto"):
        result = duet("export", "-f", form, "-o", t.path("cut.out"), trace)
        t.true(b"the file ends early, later rows are missing" in result.stderr,
               f"{form}: {text(result.stderr)}")

with t.case("if calls may be missing, threads are not reported as outside of calls"):
    rows = (*SMALL, "launch 2 1 1 100 110 kernel name=k", "execution 1 2 1 105 106 120 130")
    idle = {}
    for name, loss in (("whole", ()), ("unread", ("loss unknown 1 time=500",))):
        trace = described("unread.duet", *rows, *loss)
        document = t.report(trace)
        idle[name] = document["devices"][0]["idle_causes"]
        t.equal(document["complete"], not loss, f"complete, {name}")
        printed = text(duet("report", trace).stdout)
        t.equal("! INCOMPLETE: 1 ring was not read to the end" in printed, bool(loss), printed[:400])
    t.equal((idle["whole"]["host"], idle["whole"]["unknown"]), (60, 0), f"{idle}")
    t.equal((idle["unread"]["host"], idle["unread"]["unknown"]), (0, 60), f"{idle}")

with t.case("many commands at once take no quadratic time"):
    lines = ["window 0 1000000", "device 1 gpu", "thread 1 1", "queue 1 1 out_of_order=1"]
    for i in range(1, 40001):
        lines += (f"launch {i} 1 1 {i} {i} kernel name=k", f"execution 1 {i} 1 {i} {i} {i + 1} {900000 - i}")
    trace = described("crowd.duet", *lines)
    for arguments in (("report", "--json"), ("flame", "--folded"), ("export", "-f", "perfetto", "-o", t.path("crowd.pf"))):
        t.true(duet(*arguments, trace).computed < 3, f"{arguments[0]}: a second, not the square of them")

with t.case("many things that were waited for take no quadratic time"):
    lines = ["window 0 10001000", "device 1 gpu", "thread 1 1", "thread 2 1", "queue 1 1", "frame 1 jit hold", "stack 1 1",
             "sample 1 0 1", "sample 2 0 1", *command_at(1, 10)]
    for i in range(100000):
        begin = 100 + i * 100
        lines += (f"switch 1 {begin} blocked wait=w{i} holder=2", f"sample 2 {begin + 20} 5 stack=1",
                  f"switch 1 {begin + 50} in")
        if i % 50 == 49:
            lines += command_at(i, begin + 55)
    trace = described("waits.duet", *lines)
    result = duet("report", "--json", trace)
    t.true(result.computed < 5, f"half a second, not the square of them: {result.computed}")
    waits = json.loads(result.stdout)["devices"][0]["idle_waits"]
    t.equal((len(waits), {row["ns"] for row in waits}), (100000, {50}), "each has its time")

with t.case("stacks that are too deep are cut"):
    lines = ["window 0 1000000", *GROUND, "frame 1 jit f", "chain 1 20000 1"]
    for i in range(1, 20001):
        lines += (f"launch {i} 1 1 {i * 10} {i * 10 + 1} kernel name=k stack=@{i}",
                  f"execution 1 {i} 1 {i * 10 + 1} {i * 10 + 2} {i * 10 + 3} {i * 10 + 8}")
    trace = described("deep.duet", *lines)
    result = duet("flame", "--view", "launch", "-o", t.path("deep.svg"), trace)
    t.true(result.computed < 20, f"{result.computed} s")
    t.true(b"stacks of more than 4096 frames lack their outer frames ([truncated], 4 times)" in result.stderr,
           text(result.stderr))
    t.true(b">[truncated]\n" in content(t.path("deep.svg")), "and has a box")
    printed = duet("report", "--json", "--by", "stack", trace)
    t.true(len(printed.stdout) < 80 << 20 and printed.computed < 30, f"{len(printed.stdout)} bytes, {printed.computed} s")
    document = json.loads(printed.stdout)
    stacks = document["kernels"][0]["stacks"]
    t.equal((len(stacks), len(document["by"])), (20000, 20000), "each stack is there")
    for stack in (*stacks, *document["by"]):
        left_out = [frame.get("left_out", 0) for frame in stack["frames"]]
        depth = sum(left_out) + left_out.count(0)
        if len(left_out) > 513 or depth > 4097 or not depth or sum(1 for count in left_out if count) > 1:
            t.fail(f"{len(left_out)} frames of {depth}")

with t.case("--json: of a deep stack both ends, and how many frames between them"):
    for depth, wanted in ((513, 0), (600, 88)):
        trace = described("ends.duet", *GROUND, "frame 1 jit f", f"chain 1 {depth} 1",
                          "launch 1 1 1 10 20 kernel name=k stack=1", "execution 1 1 1 21 22 30 40")
        frames = t.report(trace)["kernels"][0]["stacks"][0]["frames"]
        t.equal(len(frames), 513, f"frames of {depth}")
        t.equal(frames[256], {"function": "[truncated: 88 frames]", "left_out": 88} if wanted else
                {"function": "f"}, f"the middle of {depth}")
        t.equal([frames[0], frames[-1]], [{"function": "f"}] * 2, "the ends")

PLACES = ("frame 1 python run file=/home/u/a/util.py line=3 first=1", "frame 2 python run file=/home/u/b/util.py line=3 first=1",
          "frame 3 python call file=/home/u/pyopencl/mine.py line=7 first=6",
          "frame 4 python enqueue file=/usr/lib/python3/dist-packages/pyopencl/__init__.py line=900 first=800",
          "stack 1 1", "stack 2 2", "stack 3 1 3", "stack 4 3 4")


def launches_of(*stacks, kind="kernel name=k"):
    for i, stack in enumerate(stacks, 1):
        yield f"launch {i} 1 1 {i * 100} {i * 100 + 10} {kind} stack={stack}"
        yield f"execution 1 {i} 1 {i * 100 + 1} {i * 100 + 20} {i * 100 + 30} {i * 100 + 30 + i}"


def on_terminal(columns, *arguments, **environment):
    """The output of duet on a terminal of that many columns."""
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execve(DUET, [DUET, *arguments], {**kept, "TERM": "xterm", **environment})
    pieces = []
    while True:
        try:
            pieces.append(os.read(terminal, 65536))
        except OSError:
            break
        if not pieces[-1]:
            break
    t.equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, f"status of {arguments}")
    os.close(terminal)
    return text(b"".join(pieces)).replace("\r\n", "\n")


def table_of(printed, title):
    return printed[printed.index(f"\n{title} ") + 1:].split("\n\n")[0].splitlines()


TEMPLATES = ("void%20at::native::reduce_kernel<512,%201,%20at::native::ReduceOp<float>%20>(int)",
             "void%20at::native::reduce_kernel<128,%204,%20at::native::ReduceOp<c10::Half>%20>(int)")

with t.case("kernels have short names and percentiles, copies their overlap with kernels"):
    times = [*range(1, 101)]
    trace = described("names.duet", "window 0 100000", *GROUND, "queue 2 1",
                      *(line for i, length in enumerate(times) for line in (
                          f"launch {i + 1} 1 1 {i * 200 + 10} {i * 200 + 20} kernel name={TEMPLATES[0]}",
                          f"execution 1 {i + 1} 1 {i * 200 + 11} {i * 200 + 30} {i * 200 + 40} {i * 200 + 40 + length}")),
                      f"launch 201 1 1 30000 30010 kernel name={TEMPLATES[1]}", "execution 1 201 1 30001 30020 30030 30630",
                      "launch 202 1 2 30020 30030 read bytes=64", "execution 1 202 2 30021 30040 30530 30930")
    document = t.report(trace)
    full = [name.replace("%20", " ") for name in TEMPLATES]
    rows = {row["name"]: (row["median_ns"], row["p95_ns"], row["p99_ns"], row["max_ns"]) for row in document["kernels"]}
    t.equal(rows, {full[0]: (50, 95, 99, 100), full[1]: (600, 600, 600, 600)}, "percentiles, and full names in JSON")
    t.equal(document["devices"][0]["overlap"], {"kernels_only_ns": sum(times) + 500, "copies_only_ns": 300, "both_ns": 100}, "overlap")
    printed = text(duet("report", trace).stdout)
    for name, numbers in (("reduce_kernel<ReduceOp<float>>", "100 +5.050 \u00b5s +84.9 % +50 ns +95 ns +99 ns +100 ns"),
                          ("reduce_kernel<ReduceOp<Half>>", "1 +600 ns +9.2 % +600 ns +600 ns +600 ns +600 ns")):
        row = next((line for line in table_of(printed, "KERNELS") if re.search(f" {numbers}$", line)), "")
        head, tail = (row.split()[0].split("\u2026") + [""])[:2]
        t.true(row and name.startswith(head) and name.endswith(tail), f"{name} in {printed}")
    t.true("\n  kernels ran during 100 ns of the 400 ns with copies (25.0 %)\n" in printed, printed)
    t.true(full[1] in on_terminal(250, "report", "--full-names", trace), "full names")
    for columns in (60, 80, 100, 160, 250):
        lines = table_of(on_terminal(columns, "report", "--color", "never", trace), "KERNELS")
        t.true(max(map(len, lines)) <= columns, f"{columns} columns: {lines}")
        t.equal("reduce_kernel<ReduceOp<float>>" in "".join(lines), columns >= 160, f"{columns} columns: {lines}")
        t.equal("p99" in lines[0], columns >= 80, lines[0])

with t.case("a terminal gets colours, unless they are refused"):
    trace = described("colour.duet", *SMALL)
    for arguments, environment, wanted in (((), {}, True), ((), {"NO_COLOR": "1"}, False), (("--color", "never"), {}, False),
                                           ((), {"TERM": "dumb"}, False), (("--color", "always"), {"NO_COLOR": "1"}, True)):
        printed = on_terminal(100, "report", *arguments, trace, **environment)
        t.equal("\033[1mKERNELS" in printed, wanted, f"{arguments} {environment}: {printed[:300]}")
        t.equal(re.sub("\033\\[[0-9;]*m", "", printed), text(duet("report", trace).stdout), "the same text")
    t.true("\033" not in text(duet("report", trace).stdout), "no terminal, no colours")
    t.true("\033[1mKERNELS" in text(duet("report", "--color", "always", trace).stdout), "always")
    t.true("--color takes auto, always or never, not 'red'" in text(duet("report", "--color", "red", trace, status=2).stderr), "usage")

with t.case("the busiest queues come first, and queues of one kind are one row if there are too many"):
    lengths = {1: 10, 2: 30, 3: 20, 4: 5}
    trace = described("queues.duet", "window 0 10000", *GROUND, *(f"queue {i} 1" for i in (2, 3)), "queue 4 1 out_of_order=1",
                      *(line for i, length in lengths.items() for line in (
                          f"launch {i} 1 {i} {i * 100} {i * 100 + 10} kernel name=k",
                          f"execution 1 {i} {i} {i * 100 + 11} {i * 100 + 12} {i * 100 + 20} {i * 100 + 20 + length}")))
    for title, last in (("WAITING TIMES", {"queue 2": "30 ns", "queue 3": "20 ns", "queue 1": "10 ns", "queue 4 (out of order)": "5 ns"}),
                        ("QUEUE DEPTH,", {"queue 2": "20 ns", "queue 3": "20 ns", "queue 1": "20 ns", "queue 4 (out of order)": "20 ns"})):
        rows = table_of(text(duet("report", trace).stdout), title)[1:]
        t.equal([(row.split(" of gpu ")[0].strip(), row.split("  ")[-1].strip()) for row in rows], list(last.items()), f"{title} by weight")
    printed = text(duet("report", "--top", "3", trace).stdout)
    rows = table_of(printed, "WAITING TIMES")[1:]
    t.equal([re.split(" {2,}", row.strip())[0] for row in rows], ["3 queues of gpu", "queue 4 (out of order) of gpu"], printed)
    t.equal(re.split(" {2,}", rows[0].strip())[-2:], ["20 ns", "30 ns"], "their median and 99th percentile")
    depth = re.split(" {2,}", table_of(printed, "QUEUE DEPTH,")[1].strip())
    # in flight: 30, 50 and 40 ns of 10 us
    t.equal(depth[:4], ["3 queues of gpu", "0.00", "1", "99.6 %"], "the mean over its queues")
    t.equal([row["id"] for row in t.report(trace, "--top", "3")["queues"]], [1, 2, 3], "JSON has the queues in their order")

with t.case("a terminal shows what was written"):
    trace = described("wrote.duet", *SMALL)
    for verb, options, wanted in (("flame", (), r"duet: wrote \S+ \(\S+ KiB\): device time, \d+ frames"),
                                  ("view", (), r"duet: wrote \S+ \(\S+ KiB\): timeline of 1\.000 µs"),
                                  ("flamescope", (), r"duet: wrote \S+ \(\S+ KiB\): (idle )?device time of 1\.000 µs"),
                                  ("export", ("-f", "jsonl"), r"duet: wrote \S+ \(\S+ (B|KiB)\): jsonl, \d+ rows")):
        shown = on_terminal(80, verb, *options, "-o", t.path("wrote.out"), trace)
        t.true(re.fullmatch(wanted + "\n", shown), f"{verb}: {shown!r}")
        t.equal(duet(verb, *options, "-o", t.path("wrote.out"), trace).stderr, b"", f"{verb} without a terminal")

with t.case("a picture labels kernels by their short names, and its tooltips have the full ones"):
    trace = described("labels.duet", "window 0 1000", *GROUND, *command_at(1, 10, what=f"kernel name={TEMPLATES[0]}"),
                      *command_at(2, 200, what=f"kernel name={TEMPLATES[1]}"))
    full = TEMPLATES[0].replace("%20", " ")
    for options, is_short in (((), True), (("--full-names",), False)):
        svg, _ = picture(trace, *options)
        t.true("<title>" + full.replace("<", "&lt;").replace(">", "&gt;") + "\n" in svg, svg[-3000:])
        t.equal('data-s="reduce_kernel&lt;ReduceOp&lt;float&gt;&gt;"' in svg, is_short, f"{options}")
    t.true(any(full in stack for stack in folded(trace)), "folded stacks")

with t.case("--by prints one table"):
    trace = described("one.duet", *SMALL, "call 1 1 5 call clFlush")
    whole, one = text(duet("report", trace).stdout), text(duet("report", "--by", "queue", trace).stdout)
    for title in ("DEVICES", "API CALLS", "CLOCKS", "LEDGER"):
        t.true(f"\n{title} " in whole and f"\n{title} " not in one, f"{title} in {one}")
    t.true(whole.splitlines()[:2] == one.splitlines()[:2] and "\nQUEUES " in one, one)

with t.case("lines: files of one name are told apart, and only PyOpenCL's own folder is the runtime"):
    trace = described("places.duet", "window 0 1000", *GROUND, *PLACES, *launches_of(1, 2, 3, 4))
    rows = t.report(trace, "--by", "line")["by"]
    t.equal([(row["file"], row["line"], row["function"], row["count"], row["total_ns"]) for row in rows],
            [("/home/u/pyopencl/mine.py", 7, "call", 2, 7), ("/home/u/b/util.py", 3, "run", 1, 2),
             ("/home/u/a/util.py", 3, "run", 1, 1)], "rows")
    printed = text(duet("report", "--by", "line", trace).stdout)
    for name in ("mine.py:7 call ", "/home/u/a/util.py:3 run ", "/home/u/b/util.py:3 run "):
        t.true(f"\n  {name}" in printed, f"{name} in {printed}")

with t.case("--json --by has the rows of the text"):
    trace = described("by.duet", "window 0 1000", *GROUND, *PLACES, *launches_of(1, 2, 1),
                      "launch 9 1 1 500 510 write bytes=64 stack=2", "execution 1 9 1 501 510 520 540")
    for by, keys in (("kernel", ["k"]), ("stack", ["write", "k", "k"]), ("queue", ["queue 1 of gpu"]),
                     ("line", ["/home/u/b/util.py:3 run", "/home/u/a/util.py:3 run"]), ("process", ["program"])):
        document = t.report(trace, "--by", by)
        t.equal(document["grouped_by"], by, "grouped_by")
        t.equal([row["key"] for row in document["by"]], keys, f"keys of {by}")
        t.equal(sum(row["share_ns"] for row in document["by"]), 6 if by == "kernel" else 26, f"shares of {by}")
        printed = text(duet("report", "--by", by, trace).stdout)
        for row in document["by"]:
            t.true(re.search(rf"^  {re.escape(row['key'])} .*\b{row['count']}\b", printed, re.M), f"{row['key']} in {printed}")
    document = t.report(trace)
    t.equal([row["frames"][0]["file"] for row in document["copies"][0]["stacks"]], ["/home/u/b/util.py"],
            "stacks of copies")
    t.equal([row["count"] for row in document["kernels"][0]["stacks"]], [2, 1], "stacks of kernels")

def offset_of(path, symbol):
    """Where in a file a function begins; this duet has debug information, or the case is skipped."""
    if b".debug_line" not in run(["readelf", "-SW", path]).stdout:
        raise Skip("no debug information in duet")
    names = re.search(rf"^([0-9a-f]+) [Tt] {symbol}$", text(run(["nm", path]).stdout), re.M)
    if not names:
        raise Skip(f"no symbol {symbol}")
    address = int(names.group(1), 16)
    for line in text(run(["readelf", "-lW", path]).stdout).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and int(words[2], 16) <= address < int(words[2], 16) + int(words[4], 16):
            return address - int(words[2], 16) + int(words[1], 16)
    raise Skip("no segment with it")


with t.case("waits by the line that waited, launches that block among them"):
    trace = described("waits.duet", "window 0 100000", *GROUND, *PLACES, "call 1 1000 3000 wait clFinish stack=1",
                      "call 1 4000 5000 wait clFinish stack=3", "call 1 6000 9000 wait clFinish stack=1",
                      "call 1 9100 9200 wait clWaitForEvents stack=1", "call 1 9300 9400 call clFlush stack=1",
                      "launch 1 1 1 10000 10500 read blocking=1 bytes=8 stack=2 function=clEnqueueReadBuffer",
                      "execution 1 1 1 10100 10200 10300 10400", "call 1 11000 11007 wait clFinish")
    document = t.report(trace, "--by", "wait")
    rows = {(row["call"], row.get("file"), row.get("line"), row["function"]): (row["count"], row["total_ns"])
            for row in document["by"]}
    t.equal(rows, {("clFinish", "/home/u/a/util.py", 3, "run"): (2, 5000),
                   ("clFinish", "/home/u/pyopencl/mine.py", 7, "call"): (1, 1000),
                   ("clWaitForEvents", "/home/u/a/util.py", 3, "run"): (1, 100),
                   ("clEnqueueReadBuffer", "/home/u/b/util.py", 3, "run"): (1, 500),
                   ("clFinish", None, None, "[unknown stack]"): (1, 7)}, "rows")
    waits = sum(row["total_ns"] for row in document["api"] if row["waits"])
    t.equal(sum(row["total_ns"] for row in document["by"]), waits, "as much as the calls that wait")
    printed = text(duet("report", "--by", "wait", trace).stdout)
    t.true("\nWAITS  " in printed, printed[:900])
    table = printed.split("\nWAITS")[1].split("\n\n")[0].splitlines()[1:]
    t.equal([(line.split()[0], line.split()[-1]) for line in table],
            [("/home/u/a/util.py:3", "clFinish"), ("mine.py:7", "clFinish"), ("/home/u/b/util.py:3", "clEnqueueReadBuffer"),
             ("/home/u/a/util.py:3", "clWaitForEvents"), ("[unknown", "clFinish")], "the table, the longest first")
    t.true(all(len(line) <= 100 for line in table), f"{table}")

with t.case("lines: Python's own before those of a library with debug information"):
    place = offset_of(DUET, "main")
    trace = described("native.duet", "window 0 1000", *GROUND, *PLACES, f"frame 9 native {DUET} offset={place + 8}",
                      "stack 5 1 9", "stack 6 9", *launches_of(5, 6))
    rows = t.report(trace, "--by", "line")["by"]
    t.equal([(os.path.basename(row["file"]), row["function"]) for row in rows], [("main.c", "main"), ("util.py", "run")],
            "innermost is the library's, but Python is there")

with t.case("failed launches, builds and commands are findings with the error's name"):
    trace = described("failures.duet", "window 0 1000", *GROUND, "call 1 1 2 call clBuildProgram result=-11",
                      "call 1 3 4 call clBuildProgram result=-11", "call 1 5 6 call clGetDeviceIDs result=-1",
                      "launch 1 1 1 10 20 kernel name=k result=-54",
                      "launch 2 1 1 30 40 kernel name=k", "execution 1 2 1 31 32 50 60 status=-5",
                      "launch 3 1 1 70 80 read bytes=8 result=-9999 function=clEnqueueReadBuffer")
    found = t.report(trace)["findings"]
    t.equal(sorted((row["id"], row["text"], row["evidence"]["error"]) for row in found), [
        ("failed_builds", "clBuildProgram failed 2 times: CL_BUILD_PROGRAM_FAILURE (-11)", "CL_BUILD_PROGRAM_FAILURE"),
        ("failed_commands", "k failed 1 time on its device: CL_OUT_OF_RESOURCES (-5)", "CL_OUT_OF_RESOURCES"),
        ("failed_launches", "clEnqueueNDRangeKernel failed 1 time: CL_INVALID_WORK_GROUP_SIZE (-54)",
         "CL_INVALID_WORK_GROUP_SIZE"),
        ("failed_launches", "clEnqueueReadBuffer failed 1 time: error -9999", "")], "findings")
    t.true("\nFINDINGS\n  clBuildProgram failed 2 times" in text(duet("report", trace, status=4).stdout), "text, most frequent first")

with t.case("a program that was killed, and which of several was recorded"):
    trace = described("killed.duet", "window 0 1000", "process 1 1001 worker command=worker%20--child parent=2",
                      "process 2 1002 boss command=./boss%20--all status=139 ended=1", *GROUND,
                      "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40")
    printed = text(duet("report", trace).stdout)
    t.true("\n! program 'boss' (pid 1002) was killed by signal 11 (SIGSEGV)\n" in printed, printed[:900])
    t.true(printed.startswith("./boss --all\nrecorded "), f"headed by what was recorded: {printed[:300]}")
    document = t.report(trace)
    t.equal(document["command"], "./boss --all", "command")
    t.equal([row.get("signal") for row in document["processes"]], [None, 11], "signal")
    trace = described("several.duet", "window 0 1000", "process 1 1001 one command=one", "process 2 1002 two command=two",
                      *GROUND, "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40")
    t.true(text(duet("report", trace).stdout).startswith("one and 1 more\nrecorded "), "their parent is not known")
    trace = described("shell.duet", "window 0 1000 command=sh%20-c%20'./one;%20./two'", "process 1 1001 one command=./one",
                      "process 2 1002 two command=./two", *GROUND, "launch 1 1 1 10 20 kernel name=k",
                      "execution 1 1 1 11 12 30 40")
    printed = text(duet("report", trace).stdout)
    t.true(printed.startswith("sh -c './one; ./two'\nrecorded ") and ", 2 processes with OpenCL, 1 device, " in printed,
           f"what was started: {printed[:200]}")
    t.equal(t.report(trace)["command"], "sh -c './one; ./two'", "command")

with t.case("checked stacks: printed by info, and by the report if they differ"):
    for wrong in (0, 2):
        trace = described("checked.duet", "window 0 1000", f"process 1 1001 app stacks_checked=31 stacks_wrong={wrong}", *GROUND)
        printed, about = text(duet("report", trace).stdout), text(duet("info", trace).stdout)
        t.equal("stacks:" in printed, wrong > 0, printed[:300])
        t.equal("\n! stacks: do not rely on those of launches and waits; 2 of 31 had other callers" in printed, wrong > 0, printed[:900])
        t.true(f"\nstacks    checked by a second unwinder: 31; with different callers: {wrong}\n" in about, about)
        t.equal(json.loads(duet("info", "--json", trace).stdout)["stacks"], {"checked": 31, "wrong": wrong}, "JSON")

with t.case("values extrapolated from samples are called estimates"):
    trace = described("estimate.duet", "window 0 1000000", *GROUND, "sample 1 10 251 source=page-faults",
                      "sample 1 20 251 source=page-faults", "sample 1 30 5000000", "sample 1 40 1 source=major-faults")
    document = t.report(trace, "--by", "cpu")
    for rows in (document["cpu"], document["by"]):
        t.equal({row["source"]: row["estimate"] for row in rows},
                {"cpu-clock": True, "page-faults": True, "major-faults": False}, "estimate")
    printed = text(duet("report", "--by", "cpu", trace).stdout)
    for line in ("total 502, estimated from 2 samples: one sample stands for 251", "total 1 of 1 sample",
                 "total 5.000 ms, estimated from 1 sample: one sample stands for 5.000 ms"):
        t.true(f"\n  {line}\n" in printed, f"{line} in {printed}")

with t.case("instructions: where they are not what was slow, and why there are none"):
    for kind, has_skid in (("", False), (" type=cpu", True)):
        trace = described("skid.duet", f"device 1 dev{kind}", *GROUND[1:], *SMALL[3:], "instruction 1 35 k 64")
        printed = text(duet("report", "--by", "instruction", trace).stdout)
        t.true("\nINSTRUCTIONS " in printed, printed[:600])
        t.equal("a sample often falls one or a few instructions after the slow one" in printed, has_skid, printed)
        printed = text(duet("report", "--by", "instruction", "--to", "20ns", trace).stdout)
        t.true("\nno samples of device instructions in this window\n" in printed, printed[:900])
    why = "no device instructions were sampled\n"
    gpu, cpu = "  the collectors intel, amd:pcs and nvidia:pc sample those of GPUs", "  the collector cpu samples those of CPU devices (PoCL)"
    for kind, lines, said in (("", (), gpu), ("", ("sample 1 35 5",), gpu), (" type=cpu", (), cpu + " (duet record"),
                              (" type=cpu", ("sample 1 35 5",), cpu + ", but no sample hit a kernel\n")):
        trace = described("none.duet", f"device 1 dev{kind}", *SMALL[1:], *lines)
        for by in ("instruction", "stall"):
            printed = text(duet("report", "--by", by, trace).stdout)
            t.true(f"\n{why}{said}" in printed and "INSTRUCTIONS" not in printed, printed[:900])
            t.equal((gpu in printed, cpu in printed), (said == gpu, said != gpu), f"{kind}: one of both alone")
        t.true(why not in text(duet("report", trace).stdout), "only where they were asked for")

with t.case("a device's samples are the same in every view, and samples without a device are counted"):
    trace = described("ours.duet", "window 0 1000", "device 1 gpu", "device 2 spare", *SMALL[1:3], *SMALL[4:], "instruction 1 35 k 64 stall=sbid",
                      "instruction 1 500 k 64 count=3 stall=sbid device=1", "instruction 1 600 j 8 count=5 stall=send device=2",
                      "instruction 1 700 j 16 count=7 stall=send")
    for device, count in (((), 16), (("--device", "gpu"), 4), (("--device", "spare"), 5)):
        what = " ".join(device)
        for by in ("instruction", "stall"):
            document = t.report(trace, "--by", by, *device)
            t.equal(sum(row["count"] for row in document["by"]), count, f"report --by {by} {what}")
            t.equal(document["ledger"]["samples_no_device"], 7, "of no device")
            printed = text(duet("report", "--by", by, *device, trace).stdout)
            t.equal("\n  43.8 % of the samples have no known device: --device leaves them out\n" in printed,
                    bool(device), printed)
        result = duet("flame", "--view", "stall", "--folded", *device, trace)
        t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in text(result.stdout).splitlines()), count, f"flame {what}")
        t.equal("left out: 7 samples of instructions on an unknown device" in text(result.stderr), bool(device),
                text(result.stderr))
    rows = {(row["kernel"], row["offset"]): row.get("device") for row in t.report(trace)["instructions"]}
    t.equal(rows, {("k", 64): "gpu", ("j", 8): "spare", ("j", 16): None}, "a row's device")
    trace = described("theirs.duet", "window 0 1000", "device 2 spare", *SMALL[:3], *SMALL[4:], "instruction 1 35 k 64")
    result = duet("flame", "--view", "stall", "--folded", "--device", "spare", trace, status=1)
    t.true("no instruction sample is of this device" in text(result.stderr), text(result.stderr))
    printed = text(duet("report", "--by", "stall", "--device", "spare", trace).stdout)
    t.true("\nno samples of device instructions in this window\n" in printed, printed)

with t.case("a row of an instruction has its place however long its kernel's name is, and its commonest reason"):
    long = "void_sycl_kernel_9<float,16,std::array<int,9>>(float*,float*,std::array<int,9>,unsigned_long)_of_queue_7"
    trace = described("long.duet", *SMALL, f"instruction 1 100 {long} 64 stall=sbid count=5",
                      f"instruction 1 100 {long} 64 stall=active count=2", f"instruction 1 100 {long} 4096 stall=send count=4",
                      f"instruction 1 100 {long} 8192 count=3")
    printed = text(duet("report", "--by", "instruction", "--full-names", trace).stdout)
    lines = printed[printed.index("\nINSTRUCTIONS ") + 1:].splitlines()[:4]
    t.true(re.fullmatch(r"INSTRUCTIONS {74}samples  of kernel  main reason", lines[0]), lines[0])
    for line, (place, samples, part, why) in zip(lines[1:], (("0x40", 7, "50.0", "sbid +71.4 %"), ("0x1000", 4, "28.6", "send +100.0 %"),
                                                             ("0x2000", 3, "21.4", "-"))):
        t.true(re.fullmatch(rf"  (.*)… {place} +{samples} +{part} %  {why} *", line) and line[2:50] == long[:48], line)
    t.equal({len(line.split(" %")[0]) for line in lines[1:]}, {len("  ") + 80 + 2 * 11 - len(" %")}, "columns")
    printed = text(duet("report", "--by", "instruction", described("short.duet", *SMALL, "instruction 1 35 k 64")).stdout)
    t.true(re.search(r"\nINSTRUCTIONS {48}samples  of kernel\n  k 0x40 {58}1 +100.0 %\n", printed), f"no reason, no column: {printed}")

with t.case("a sample of one of two commands is an estimate where these differ"):
    # two run at once, and the window has one of them
    lines = ("window 0 1000", *GROUND, "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 21 22 30 400",
             "launch 2 1 1 40 50 kernel name=k{}", "execution 1 2 1 51 52 60 200", "instruction 1 100 k 64")
    for function, estimated in (("", 0), (" function=clEnqueueTask", 1)):
        trace = described("doubt.duet", *(line.format(function) for line in lines))
        for window in ((), ("--from", "300ns")):
            t.equal(t.report(trace, *window)["ledger"]["samples_estimated"], estimated, f"{function} {window}")

THREADS = ("window 0 10000", "process 1 1001 app", "process 2 1002 other", "thread 1 1 name=main", "thread 2 1 name=worker end=9000",
           "thread 3 2 name=alone", "sample 1 1000 50", "sample 1 1100 50 source=page-faults", "switch 1 2000 blocked wait=futex",
           "switch 1 5000 in", "switch 1 6000 preempted", "switch 1 6500 in", "switch 1 9500 exited",
           "switch 2 3000 in", "switch 2 4000 blocked", "sample 3 2000 7")

with t.case("processor time and waits by thread and by process"):
    trace = described("threads.duet", *THREADS)
    keys = ("pid", "tid", "key", "samples", "on_cpu_ns", "blocked_ns", "preempted_ns")
    document = t.report(trace, "--by", "thread")
    t.equal([tuple(row[key] for key in keys) for row in document["by"]],
            [(1002, 2003, "alone", 1, 8000, 0, 0), (1001, 2001, "main", 1, 5000, 3000, 500),
             (1001, 2002, "worker", 0, 1000, 5000, 0)], "threads")
    want = [(1001, "app", 1, 6000, 8000, 500), (1002, "other", 1, 8000, 0, 0)]
    t.equal([(row["pid"], row["key"], *(row[key] for key in keys[3:])) for row in t.report(trace, "--by", "process")["by"]],
            want, "processes")
    t.equal([(row["pid"], row["name"], *(row[key] for key in keys[3:])) for row in document["processes"]], want, "always there")
    part = t.report(trace, "--by", "thread", "--from", "4500ns", "--to", "6200ns")["by"]
    t.equal({row["tid"]: tuple(row[key] for key in keys[3:]) for row in part},
            {2001: (0, 1000, 500, 200), 2002: (0, 0, 1700, 0), 2003: (0, 1700, 0, 0)}, "a part of it")
    printed = text(duet("report", trace).stdout)
    t.true(re.search(r"\nTHREADS .* on CPU +blocked +preempted +samples\n.*\n  main +1001 +2001 +5.000 \u00b5s +3.000 \u00b5s +500 ns +1\n",
                     printed), printed)
    printed = text(duet("report", "--by", "process", trace).stdout)
    t.true(re.search(r"\nPROCESSOR TIME BY PROCESS .*\n.*\n  app +1001 +2 +6.000 \u00b5s +8.000 \u00b5s +500 ns +1\n", printed), printed)

with t.case("thread times are absent if switches were lost"):
    for lines in ((*THREADS, "loss switch 1"), [line for line in THREADS if not line.startswith("switch")]):
        trace = described("unknown.duet", *lines)
        rows = t.report(trace, "--by", "thread")["by"]
        t.true(rows and not any("on_cpu_ns" in row for row in rows), f"{rows}")
        t.true(re.search(r"\n  main +1001 +2001 +- +- +- +1\n", text(duet("report", "--by", "thread", trace).stdout)), "dashes")
    printed = text(duet("report", "--by", "thread", described("none.duet", *SMALL)).stdout)
    t.true("\nno threads were recorded; the collector cpu records them" in printed, printed)

AWAY = ("window 0 10000", "process 1 1001 app", "thread 1 1", "thread 2 1", *STACKS, "sample 1 100 50 stack=1",
        "switch 1 1000 blocked wait=futex stack=2", "switch 1 4000 in", "switch 1 5000 blocked wait=Python%20GIL stack=1 holder=2",
        "switch 1 6000 in", "switch 1 7000 preempted", "switch 1 7500 in", "switch 1 8000 blocked", "switch 1 8020 in",
        "switch 2 9000 blocked wait=futex stack=2")
OFF = {"main (s.py:10);right (s.py:7);[waiting in futex]": 4000, "main (s.py:10);left (s.py:4);[waiting for the Python GIL]": 1000,
       "[unknown stack];[preempted]": 500, "[unknown stack];[blocked]": 20}

with t.case("time off processors by stack and reason, with and without a device"):
    for ground in ((), GROUND[:1] + GROUND[2:] + SMALL[4:]):
        trace = described("away.duet", *AWAY, *ground)
        t.equal(folded(trace, "--view", "offcpu"), OFF, f"with {ground}")
    t.equal(sum(OFF.values()), sum(row["blocked_ns"] + row["preempted_ns"] for row in t.report(trace, "--by", "thread")["by"]),
            "as much as the threads have")
    t.equal(folded(trace, "--view", "offcpu", "--from", "3us", "--to", "5.5us"),
            {"main (s.py:10);right (s.py:7);[waiting in futex]": 1000,
             "main (s.py:10);left (s.py:4);[waiting for the Python GIL]": 500}, "a part of it")
    svg, stderr = picture(trace, "--view", "offcpu")
    t.true(">time off processors</text>" in svg and "[waiting in futex]" in svg and not stderr, stderr)

with t.case("flame names the drawn view if no device was used, and refuses views without data"):
    trace = described("away.duet", *AWAY)
    svg, stderr = picture(trace)
    t.true(">processor time</text>" in svg and "--view offcpu draws the time off processors" in stderr, stderr)
    t.equal(picture(trace, "--view", "cpu")[1], "", "what was asked for needs no saying")
    trace = described("switches.duet", *(line for line in AWAY if not line.startswith("sample")))
    svg, stderr = picture(trace)
    t.true(">time off processors</text>" in svg and "no samples were taken" in stderr, stderr)
    for lines, why in ((SMALL, "no switches of threads were recorded (duet record --collect cpu)"),
                       ((*AWAY, "loss switch 3"), "thread switches were lost, so waiting times are not known")):
        result = duet("flame", "--view", "offcpu", "-o", t.path("none.svg"), described("no.duet", *lines), status=1)
        t.true(why in text(result.stderr), text(result.stderr))
    result = duet("flame", "--view", "onoff", trace, status=2)
    t.true("--view: total, gpu, idle, cpu, offcpu, launch or stall, not 'onoff'" in text(result.stderr), text(result.stderr))

with t.case("when it was recorded"):
    trace = described("when.duet", "clock 9 1000000000 type=realtime", "window 2000000000 2000001000", *GROUND)
    # REALTIME is one second behind CLOCK_MONOTONIC here
    date = {"env": {"TZ": "UTC"}}
    t.true(", 1970-01-01 00:00:01 +0000, " in text(duet("report", trace, **date).stdout), "report")
    t.true("\ndate      1970-01-01 00:00:01 +0000\n" in text(duet("info", trace, **date).stdout), "info")
    for verb in ("report", "info"):
        t.equal(json.loads(duet(verb, "--json", trace, **date).stdout)["recorded_at"], "1970-01-01 00:00:01 +0000", verb)

with t.case("files that are gone"):
    trace = described("gone.duet", "window 0 1000", *GROUND, "frame 1 native /no/such/lib.so offset=64 build_id=abcdef0123",
                      "stack 1 1", *launches_of(1))
    # looked for only where names are asked for: that may go over the network
    t.true("names:" not in text(duet("report", trace).stdout), "a report without names")
    printed = text(duet("report", "--by", "line", trace).stdout)
    t.true("! names: 1 of the 1 file in stacks is missing or changed, such as /no/such/lib.so; keep them" in printed
           and "duet archive" in printed, printed[:900])

t.end()
