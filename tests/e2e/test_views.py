#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What flame, report, info and archive say of traces that are written for it: tests/checker/description.h
has the grammar."""
import json
import os
import random

import duet_test
from duet_test import BUILD, DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

MAKE_TRACE = os.path.join(BUILD, "tests", "unit", "analyze", "make_trace")


def described(name, *lines):
    """The path of a trace with these lines."""
    t.wanted()
    if not os.path.exists(MAKE_TRACE):
        raise Skip("make_trace was not built")
    path = t.path(name)
    made = run([MAKE_TRACE, "-", path], stdin="\n".join(lines).encode())
    t.equal(made.status, 0, f"make_trace: {text(made.stderr)}")
    return path


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

with t.case("a failure of the drawing says its cause"):
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

with t.case("nothing of a trace is obeyed by a terminal"):
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

with t.case("info and report tell the same damage"):
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
    t.true(b"\ndamage    left out: chunks 1, rows " in duet("info", trace).stdout, "info's text")

t.end()
