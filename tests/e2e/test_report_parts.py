#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet report of a part of a trace: processes and ranks, one table, the slowest iteration; and its width."""
import fcntl
import os
import pty
import re
import sqlite3
import struct
import subprocess
import termios

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)
described = t.described

LONG = "app::Scheduler<" + ", ".join(f"Stage{i}" for i in range(12)) + ">::run"
FRAMES = ("frame 1 python main file=train.py line=30", "frame 2 python reload file=train.py line=51",
          f"frame 3 jit {LONG.replace(' ', '%20')}", "stack 1 1", "stack 2 1 2", "stack 3 1 3")
CONTAINER = "9f3c" * 16


def report(path, *options, status=0):
    result = run([DUET, "report", path, *options])
    t.equal(result.status, status, f"{options}: {text(result.stderr)}")
    return text(result.stdout) if status == 0 else text(result.stderr)


def terminal(columns, *options):
    """The text of a report on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen([DUET, "report", "--color", "never", *options], stdout=slave, env=environment)
    os.close(slave)
    output = b""
    try:
        while piece := os.read(master, 65536):
            output += piece
    except OSError:
        pass  # the end of a terminal's output
    os.close(master)
    t.equal(process.wait(), 0, f"status of {options}")
    return output.decode().replace("\r", "").splitlines()


# ---- processes and ranks ---------------------------------------------------------------------------------------------

HEAD = ["window 0 100000", "device 1 gpu", *FRAMES]
FIRST = [f"process 1 4001 trainer rank=1 rank_count=3 cgroup=0::/system.slice/docker-{CONTAINER}.scope",
         "thread 1 1 name=first", "queue 1 1 process=1",
         "launch 1 1 1 1000 2000 kernel name=a stack=1", "execution 1 1 1 1100 1200 3000 13000",
         "sample 1 5000 1000 stack=1", "switch 1 20000 blocked stack=1", "switch 1 30000 in", "range 1 1000 40000 step"]
SECOND = ["process 2 4002 trainer rank=2 rank_count=3 cgroup=0::/", "thread 2 2 name=second", "queue 2 1 process=2",
          "launch 1 2 2 1000 2000 kernel name=b stack=2", "execution 2 1 2 1100 1200 23000 43000",
          "launch 2 2 2 50000 51000 kernel name=b stack=2", "execution 2 2 2 50100 50200 52000 53000",
          "sample 2 6000 1000 stack=2", "sample 2 7000 1000 stack=2", "switch 2 55000 blocked stack=2", "switch 2 60000 in",
          "range 2 1000 41000 step process=2"]
both = described("both.duet", *HEAD, *FIRST, *SECOND)

with t.case("--pid: the same as a trace with this process alone"):
    for pid, other, rows in (("4001", "4002", FIRST), ("4002", "4001", SECOND)):
        alone = t.report(described(f"alone-{pid}.duet", *HEAD, *rows))
        part = t.report(both, "--pid", pid)
        t.equal(part.pop("pids"), [int(pid)], "the processes that are named")
        for key in ("verdict", "processes", "devices", "kernels", "queues", "contexts", "api", "by", "ranges", "cpu", "ledger", "findings"):
            t.equal(part[key], alone[key], f"{pid}: {key}")
        for by in ("thread", "process", "stack", "line", "wait", "cpu", "range", "queue"):
            t.equal(t.report(both, "--pid", pid, "--by", by)["by"], t.report(described("alone.duet", *HEAD, *rows), "--by", by)["by"],
                    f"{pid}: --by {by}")
        shown = report(both, "--pid", pid)
        t.true(f"shown: process {pid} (trainer, rank {int(pid) - 4001} of 3);" in shown, shown.splitlines()[:4])
        t.true(other not in shown, f"{other} is in the report of {pid}")
    t.true("pids" not in t.report(both), "a report of all processes names none")

with t.case("--pid with all processes, and --rank"):
    whole, part = t.report(both), t.report(both, "--pid", "4001,4002")
    for key in ("verdict", "devices", "kernels", "ledger", "by", "ranges", "findings"):
        t.equal(part[key], whole[key], key)
    t.true("shown: processes 4001 (trainer, rank 0 of 3), 4002" in report(both, "--pid", "4001,4002"), "the head")
    t.equal(t.report(both, "--rank", "1")["pids"], [4002], "--rank")
    t.equal(t.report(both, "--rank", "0,1", "--pid", "4001")["pids"], [4001], "--rank and --pid")

with t.case("devices of one name have numbers; a device that other ranks alone used is not printed"):
    devices = ["device 1 Instinct%20MI300X key=0000:01:00.0", "device 2 Instinct%20MI300X key=0000:02:00.0", "window 0 1000",
               "process 1 4001 trainer rank=1 rank_count=2", "thread 1 1", "queue 1 1 process=1",
               "process 2 4002 trainer rank=2 rank_count=2", "thread 2 2", "queue 2 2 process=2"]
    for number in (1, 2):
        devices += [f"launch {number} {number} {number} 10 20 kernel name=triad process={number}",
                    f"execution {number} {number} {number} 20 20 20 500 process={number}"]
    numbered = t.described("numbered.duet", *devices)
    for line in ("  0: Instinct MI300X 0000:01:00.0 ", "  1: Instinct MI300X 0000:02:00.0 ", "  triad on device 1 "):
        t.true(line in report(numbered), f"{line!r}")
    first = report(numbered, "--rank", "0")
    t.true("0: Instinct" in first and "1: Instinct" not in first, "the other rank's device")
    t.true("  1 more device ran nothing for this process\n" in first, "what was left out")

with t.case("--pid and --rank: mistakes"):
    for options, words in ((("--pid", "77"), ["no process 77 in ", "4001  trainer, rank 0 of 3", "4002  trainer, rank 1 of 3"]),
                           (("--rank", "7"), ["no process with rank 7 in ", "4001  trainer"]),
                           (("--pid", "4001", "--rank", "1"), ["no process of --pid has a rank of --rank"]),
                           (("--pid", "4001,"), ["'4001,' is not a list of pids"]), (("--pid", "x"), ["'x' is not a list of pids"]),
                           (("--rank", ""), ["the list of ranks is empty"])):
        message = report(both, *options, status=2)
        for word in words:
            t.true(word in message, f"{options}: {word} in {message}")

with t.case("--pid: samples that have only an address"):
    lines = [*HEAD, *FIRST, *SECOND, "code 201 1 1 0x1000 256 0 0 name=a", "code 202 2 1 0x2000 256 0 0 name=b",
             "address 1 4000 4100 0x1010 count=3", "address 1 24000 24100 0x2010 count=5", "address 1 24000 24100 0x9000 count=7"]
    made = described("addresses.duet", *lines)
    for pid, kernel, count in (("4001", "a", 3), ("4002", "b", 5)):
        rows = t.report(made, "--pid", pid)["instructions"]
        t.equal([(row["kernel"], row["samples"]) for row in rows], [(kernel, count)], pid)
    shared = described("shared.duet", *[line.replace("0x2000", "0x1000") for line in lines])
    rows = t.report(shared, "--pid", "4001")["instructions"]
    t.true(all(row["estimated"] == row["samples"] for row in rows if row["kernel"] == "a"), f"code of two processes: {rows}")

with t.case("ranks in RANGES and in SQLite; control groups and containers"):
    rows = t.report(both, "--by", "range")["by"]
    t.equal([(row["key"], row["rank"], row["count"], row["device_ns"]) for row in rows], [("step", 1, 1, 20000), ("step", 0, 1, 10000)], "JSON")
    shown = report(both, "--by", "range")
    t.true("  step, rank 1 " in shown and "  step, rank 0 " in shown, shown)
    t.true("rank" not in report(described("one.duet", *HEAD, *FIRST), "--by", "range"), "one rank is not named")
    shown = report(both)
    t.true(f"\n    container docker {CONTAINER[:12]}, cgroup /system.slice/docker-9f3c" in shown, shown)
    t.equal(shown.count("cgroup"), 1, "the root group is not shown")
    first, second = t.report(both)["processes"]
    t.equal((first["cgroup"], first["container"]), (f"/system.slice/docker-{CONTAINER}.scope", f"docker {CONTAINER[:12]}"), "JSON")
    t.true("cgroup" not in second and "container" not in second, f"{second}")
    path = t.path("ranks.db")
    t.equal(run([DUET, "export", "--format", "sqlite", "-o", path, both]).status, 0, "export")
    with sqlite3.connect(path) as database:
        t.equal(database.execute("select pid, rank, local_rank, ranks, cgroup from processes order by pid").fetchall(),
                [(4001, 0, None, 3, f"0::/system.slice/docker-{CONTAINER}.scope"), (4002, 1, None, 3, "0::/")], "SQLite")

# ---- the slowest iteration -------------------------------------------------------------------------------------------


def loop(slow, wait=True):
    """30 iterations of 1000 ns, in which the device idles for 660; iteration `slow` takes 5000."""
    lines, now = [*FRAMES, "device 1 gpu", "process 1 101 loop", "thread 1 1 name=loop", "queue 1 1"], 1000
    switches = ["switch 1 400 blocked", "switch 1 500 in"]  # the thread's states are known from here on
    for number in range(30):
        for kernel in range(3):
            at = now + kernel * 100
            lines += [f"launch {3 * number + kernel + 1} 1 1 {at} {at + 10} kernel name=k{kernel} stack=1",
                      f"execution 1 {3 * number + kernel + 1} 1 {at + 1} {at + 12} {at + 20} {at + 80}"]
        length = 5000 if number == slow else 1000
        if wait or number != slow:
            stack, words = (2, " wait=fsync") if number == slow else (1, " wait=nanosleep")
            switches += [f"switch 1 {now + 400} blocked stack={stack}{words}", f"switch 1 {now + length - 100} in"]
        now += length
    return [f"window 0 {now + 1000}", *lines, *switches]


with t.case("the slowest iteration has its own cause"):
    path = described("loop.duet", *loop(20))
    document = t.report(path)
    slowest = document["iterations"]["slowest"]
    t.equal([row["ns"] for row in slowest], [5000, 1000, 1000], "the slowest")
    cause = slowest[0]["cause"]
    t.equal((cause["kind"], cause["function"], cause["file"], cause["line"], cause["ns"]), ("file_sync", "reload", "train.py", 51, 4500), f"{cause}")
    t.equal(slowest[0]["busy_ns"], 180, "busy time of its three kernels")
    t.true("cause" not in slowest[1], "only the slowest has one")
    first = document["verdict"]["causes"][0]
    t.equal((first["kind"], first["function"]), ("sleep", "main"), "the usual cause is another one")
    for options in ((), ("--by", "iteration")):
        shown = " ".join(report(path, *options).split())
        t.true("5.000 µs" in shown and "the GPU was busy 3.6 % of it; largest cause of idle: thread 2001 (loop) waited for data to reach the disk" in shown,
               f"{options}: {shown[-900:]}")
        t.true("in reload (train.py:51), 90.0 %" in shown, f"{options}: {shown[-900:]}")
    rows = t.report(path, "--by", "iteration")["by"]
    t.equal((rows[0]["ns"], rows[0]["cause"]["function"]), (5000, "reload"), "--by iteration")

with t.case("the slowest iteration of a window"):
    rows = t.report(described("window.duet", *loop(20)), "--to", "10us")["iterations"]["slowest"]
    t.equal((rows[0]["ns"], rows[0]["cause"]["kind"]), (1000, "sleep"), "the slow one is outside")
    path = described("unknown.duet", *loop(20, wait=False))
    t.true(sum(row["idle_ns"] for row in t.report(path)["devices"]) > 0, "it can be made without the wait")
    t.true(t.report(path)["iterations"]["slowest"][0].get("cause", {}).get("kind") != "file_sync", "no cause is made up")

# ---- one table, and the width ----------------------------------------------------------------------------------------

TABLES = {"api": [], "rank": [],  # "API" is too short a word for the search below
          "kernel": ["KERNELS"], "stack": ["STACKS"], "line": ["LINES"], "instruction": ["INSTRUCTIONS"], "stall": ["STALLS"], "queue": ["QUEUES"],
          "process": ["PROCESSES", "PROCESSOR TIME BY PROCESS"], "thread": ["THREADS"], "range": ["RANGES"], "iteration": ["ITERATIONS"],
          "wait": ["WAITS"], "cpu": ["PROCESSOR TIME"]}
full = described("full.duet", *loop(20), "range 1 1000 2000 part", "call 1 33990 33998 wait clFinish stack=2", "sample 1 33500 100 stack=3",
                 "launch 300 1 1 33900 33910 kernel name=last stack=3", "execution 1 300 1 33911 33912 33920 33930",
                 "instruction 1 33925 last 16 stall=memory")

with t.case("--by prints only its table"):
    words = re.findall(r"^  ([a-z]+) ", text(run([DUET, "report", "--help"]).stdout).split("tables of --by:")[1], re.MULTILINE)
    t.equal(sorted(words), sorted(TABLES), "values of --by in --help")
    for by, wanted in TABLES.items():
        shown = report(full, "--by", by)
        found = re.findall(r"^([A-Z]{4}[A-Z]*(?: [A-Z]+)*)", shown, re.MULTILINE)
        t.equal(found, wanted, f"--by {by}: {shown}")
    t.true(len(re.findall(r"^[A-Z]{4}", report(full), re.MULTILINE)) > 9, "without it all tables")

with t.case("no line is wider than the terminal"):
    for columns in (60, 80, 100, 250):
        for options in ((), ("--pid", "101"), *(("--by", by) for by in TABLES)):
            lines = terminal(columns, *options, full)
            wide = [line for line in lines if len(line) > columns and not line.startswith("! ")]
            t.true(not wide, f"{columns} columns, {options}: {wide}")
            t.true(len(lines) > 3, f"{columns} columns, {options}: a report")
    narrow = terminal(60, full)
    t.true([line for line in narrow if line.startswith("DEVICES ")][0].rstrip().endswith("of wall"), "the account has its numbers")
    t.true([line for line in narrow if line.startswith("CLOCKS ")][0].rstrip().endswith("violations"), "the clocks have their violations")

with t.case("a table without rows says why, and what was not recorded is named"):
    path = described("bare.duet", "window 0 100000", "device 1 gpu", "process 1 101 loop", "thread 1 1 name=loop", "queue 1 1",
                     *[line for i in range(2) for line in (f"launch {i + 1} 1 1 {1000 + i * 40000} {1010 + i * 40000} kernel name=k",
                       f"execution 1 {i + 1} 1 {1001 + i * 40000} {1011 + i * 40000} {1020 + i * 40000} {2000 + i * 40000}")])
    for by, words in (("wait", "no call waited for a device; see CAUSES OF IDLE TIME"), ("range", "no ranges were recorded"),
                      ("cpu", "no CPU samples"), ("thread", "no threads were recorded"), ("iteration", "no iterations were found")):
        lines = terminal(60, "--by", by, path)
        t.true(words in " ".join(" ".join(lines).split()), f"--by {by}: {lines}")
        t.true(all(len(line) <= 60 for line in lines), f"--by {by}: {lines}")
    words = "no threads were recorded, so what they did is not known; duet record --collect opencl,cpu records them"
    t.true(words in " ".join(report(path).split()), report(path))
    t.true("no threads were recorded" not in report(full), "nothing is missing there")

with t.case("host functions are shown in full where there is room"):
    for by in ("cpu", "stack"):
        t.true(any(LONG in line for line in terminal(250, "--by", by, full)), f"--by {by}: 250 columns")
        t.true(not any(LONG in line for line in terminal(80, "--by", by, full)), f"--by {by}: 80 columns")

t.end()
