#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters of the machine and of processes. The trace is compared with /proc, read by the recorded program at its start
and end, and by the test before and after the recording. The recorded values must lie between these, whatever else runs
on the machine.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, Running, program, run, text

t = duet_test.Suite(needs_opencl=False)
SYSTEM = ["--collect", "system"]
SECOND = 1_000_000_000

# What /proc says now: of all processors ns, of each disk and interface bytes. A program of its own, for the recorded one.
LOOK = r"""
import json, os
TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
def lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()
def look():
    found = {}
    for line in lines("/proc/stat"):
        words = line.split()
        if words[0] == "cpu":
            ticks = [int(word) for word in words[1:9]]
            found["cpu.busy"] = (sum(ticks) - ticks[3] - ticks[4]) * TICK
            found["cpu.total"] = sum(ticks) * TICK
        if words[0] in ("ctxt", "processes"):
            found[{"ctxt": "switches", "processes": "forks"}[words[0]]] = int(words[1])
    for line in lines("/proc/diskstats"):
        words = line.split()
        found["disk.read " + words[2]] = int(words[5]) * 512
        found["disk.write " + words[2]] = int(words[9]) * 512
    for line in lines("/proc/net/dev"):
        name, colon, rest = line.partition(":")
        if colon:
            numbers = [int(word) for word in rest.split()]
            found["net.receive " + name.strip()] = numbers[0]
            found["net.transmit " + name.strip()] = numbers[8]
    for line in lines("/proc/vmstat"):
        name, value = line.split()
        if name == "pgfault":
            found["memory.faults"] = int(value)
    return found
"""
look = {}
exec(LOOK, look)  # pylint: disable=exec-used
look = look["look"]


def python(source, *arguments):
    return [sys.executable, "-c", source, *arguments]


class Counters:
    """The series and rows of a trace: by "metric instance cpu pid", as far as it has these."""

    def __init__(self, path):
        self.series, self.rows, names = {}, {}, {}
        pids = {}
        exported = run([DUET, "export", "-f", "jsonl", path])
        t.equal(exported.status, 0, f"export: {text(exported.stderr)}")
        for line in exported.stdout.splitlines():
            row = json.loads(line)
            if row["kind"] == "process":
                pids[row["id"]] = row["pid"]
            elif row["kind"] == "series":
                parts = [row["metric"], row.get("instance"), row.get("cpu"), pids.get(row["process"])]
                names[row["id"]] = " ".join(str(part) for part in parts if part is not None)
                self.series.setdefault(names[row["id"]], []).append(row)
            elif row["kind"] == "counter":
                self.rows.setdefault(names[row["series"]], []).append(row)

    def sum(self, name, key="value"):
        return sum(row[key] for row in self.rows.get(name, []))

    def values(self, name):
        return [row["value"] for row in self.rows.get(name, [])]

    def of_process(self, metric):
        """{pid: name} of those that have it."""
        return {int(name.rsplit(" ", 1)[1]): name for name in self.rows if name.startswith(metric + " ")}


def recorded(command, name, options=(), collect=SYSTEM):
    path = t.path(name + ".duet")
    result = t.record(command, path, [*collect, *options])
    t.equal(result.status, 0, f"status; stderr: {text(result.stderr)}")
    return result, Counters(path)


def near(got, want, what, part=0.02):
    t.true(want and abs(got - want) <= want * part, f"{what}: {got}, should be {want} within {part:.0%}")


LOADS = LOOK + r"""
import mmap, socket, sys, threading, time
before = look()
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
def drink(listener):
    taker = listener.accept()[0]
    while taker.recv(1 << 20):
        pass
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
thread = threading.Thread(target=drink, args=(listener,))
thread.start()
with socket.create_connection(listener.getsockname()) as giver:
    for _ in range(20):
        giver.sendall(bytes(1 << 20))
thread.join()
def stored():
    try:
        return next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("write_bytes:"))
    except OSError:
        return 0

written, stored_before = 0, stored()
try:
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
    piece = mmap.mmap(-1, 1 << 20)
    for _ in range(16):
        written += os.write(fd, piece)
    os.close(fd)
except OSError:
    pass
after = look()
print(json.dumps({"pid": os.getpid(), "written": written, "stored": stored() - stored_before,
                  "inner": {key: after[key] - before[key] for key in after if key in before}}))
"""

facts = None

with t.case("loads of the machine equal /proc at both ends"):
    outer = look()
    result, counters = recorded(python(LOADS, t.path("direct")), "loads")
    after = look()
    facts = json.loads(result.stdout)
    checked = 0
    for name, inner in facts["inner"].items():
        if name == "cpu.total":
            got = counters.sum("cpu.busy", "of")
        elif after[name] == 0:
            continue  # one that has never done anything is not there
        else:
            got = counters.sum(name)
        most = after[name] - outer[name]
        t.true(inner <= got <= most, f"{name}: {got}, between {inner} and {most}")
        checked += 1
    t.true(checked >= 7, f"{checked} were compared")
    t.true(counters.sum("net.transmit lo") >= 20 << 20, "20 MiB over loopback")

with t.case("bytes that a process writes to a disk"):
    t.wanted()
    if not facts:
        raise duet_test.Skip("the case before recorded nothing")
    if facts["stored"] < facts["written"] or not facts["written"]:
        raise duet_test.Skip(f"{t.folder} is on no disk: of {facts['written']} bytes the kernel counted {facts['stored']}")
    near(counters.sum(f"process.io.write {facts['pid']}"), facts["written"], "bytes of the process")

with t.case("each processor's parts add up to all of them"):
    t.wanted()
    each = [name for name in counters.rows if re.fullmatch(r"cpu\.busy \d+", name)]
    t.equal(len(each), os.cpu_count(), "processors")
    near(sum(counters.sum(name, "of") for name in each), counters.sum("cpu.busy", "of"), "all ticks", 0.05)
    for row in counters.rows["cpu.busy"]:
        t.true(0 <= row["value"] <= row["of"], f"a part: {row}")

with t.case("readings follow each other without a hole, and no interval is assumed"):
    t.wanted()
    for name, rows in counters.rows.items():
        for before, row in zip(rows, rows[1:]):
            if len(counters.series[name]) == 1:
                t.equal(row["begin"], before["end"], f"begin of a row of {name}")
    lengths = {row["end"] - row["begin"] for row in counters.rows["memory.faults"]}
    t.true(len(lengths) > 1, "they are as long as they were")

for mode in ("threads", "leader"):
    with t.case(f"four threads that use 400 ms each ({mode})"):
        result, counters = recorded([program("loads"), mode, "4", "400"], mode)
        used = int(result.stdout.split()[1])
        name = next(iter(counters.of_process("process.cpu").values()))
        near(counters.sum(name), used, "ns of all threads")
        most = max(row["value"] / (row["end"] - row["begin"]) for row in counters.rows[name])
        t.true(most <= os.cpu_count() * 1.02, f"{most:.3f} processors at a time")
        t.equal(counters.series[name][0]["limit"], os.cpu_count() * SECOND, "the most there can be")

with t.case("1000 readings a second: one thread is one processor in each of its own, which are as long as they must be"):
    result, counters = recorded([program("loads"), "threads", "1", "500"], "often", collect=["--collect", "system:1000"])
    name = next(iter(counters.of_process("process.cpu").values()))
    near(counters.sum(name), int(result.stdout.split()[1]), "ns of the thread")
    rows = counters.rows[name][:-1]  # the last is as long as is left
    t.true(min(row["end"] - row["begin"] for row in rows[1:]) >= 0.04 * SECOND, f"their lengths: {rows}")
    t.true(max(row["value"] / (row["end"] - row["begin"]) for row in rows) < 1.5, f"a step of the kernel's clock more: {rows}")
    t.true(len(counters.rows[name.replace("cpu", "memory.rss")]) > 2 * len(rows), "memory is read as often as was asked for")

with t.case("threads that live for a millisecond"):
    result, counters = recorded([program("loads"), "churn", "500"], "churn")
    name = next(iter(counters.of_process("process.cpu").values()))
    near(counters.sum(name), int(result.stdout.split()[1]), "ns of all threads")

MEMORY = r"""
import os, time
pid = os.getpid()
with open("/proc/self/statm") as file:
    before = int(file.read().split()[1])
held = bytearray(b"x") * (256 << 20)
with open("/proc/self/statm") as file:
    after = int(file.read().split()[1])
time.sleep(0.5)
print(pid, (after - before) * os.sysconf("SC_PAGESIZE"), after * os.sysconf("SC_PAGESIZE"))
"""


def available():
    """As free(1) says it."""
    if not shutil.which("free"):
        raise duet_test.Skip("free(1) is missing (Debian package procps)")
    found = run(["free", "-b"])
    return int(text(found.stdout).splitlines()[1].split()[6])


with t.case("256 MiB of memory"):
    before = available()
    result, counters = recorded(python(MEMORY), "memory")
    after = available()
    pid, grown, resident = result.stdout.split()
    near(max(counters.values(f"process.memory.rss {text(pid)}")), int(resident), "resident")
    near(int(grown), 256 << 20, "what it took")
    levels = zip(counters.rows[f"process.memory.rss {text(pid)}"], counters.rows[f"process.memory.peak {text(pid)}"])
    t.true(all(most["value"] >= now["value"] for now, most in levels), "the peak is never below what was resident")
    once = counters.rows[f"process.threads {text(pid)}"]
    t.true(all(later["end"] - one["end"] > 0.9 * SECOND for one, later in zip(once, once[1:-1])),
           f"read once a second, when it is met and at its end: {once}")
    t.true(once[0]["end"] < 0.5 * SECOND + counters.rows[f"process.memory.rss {text(pid)}"][0]["end"], "when it is met")
    seen = counters.values("memory.available")
    t.true(min(seen) <= max(before, after) * 1.02 and max(seen) >= min(before, after) * 0.98,
           f"available {min(seen)} to {max(seen)}, free says {before} and {after}")
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) * 1024
    t.equal(set(counters.values("memory.total")), {total}, "MemTotal")

with t.case("children of a program are counted separately"):
    script = f"{program('loads')} threads 1 300; {program('loads')} threads 1 300; sleep 0.3"
    result, counters = recorded(["sh", "-c", script], "tree")
    used = [int(line.split()[1]) for line in text(result.stdout).splitlines()]
    busy = [counters.sum(name) for name in counters.of_process("process.cpu").values()]
    t.equal(len([ns for ns in busy if ns > 100_000_000]), 2, "processes that did something")
    # What one uses between the last reading and its end, at most a tenth of a second, is nobody's to see.
    t.true(sum(used) - 2 * 130_000_000 <= sum(busy) <= sum(used) * 1.05, f"{sum(busy)} of {sum(used)}")

with t.case("a process of -p ends: its series end, the run goes on"):
    t.wanted()
    first = Running([program("loads"), "idle", "3"], stdin=subprocess.PIPE)
    second = Running([program("loads"), "idle", "1"], stdin=subprocess.PIPE)
    first.wait_line("ready")
    second.wait_line("ready")
    path = t.path("attached.duet")
    recorder = Running([DUET, "record", "-p", f"{first.pid},{second.pid}", *SYSTEM, "-o", path, "-d", "2"])
    time.sleep(0.7)
    first.process.stdin.close()
    t.equal(first.process.wait(20), 0, "status of the first")
    t.equal(recorder.process.wait(30), 0, "status of the recorder")
    second.process.stdin.close()
    counters = Counters(path)
    ends = {name: rows[-1]["end"] for name, rows in counters.rows.items() if "memory.rss" in name}
    one, other = f"process.memory.rss {first.pid}", f"process.memory.rss {second.pid}"
    t.true(one in ends and other in ends and ends[one] < ends[other], f"ends: {ends}")
    t.true("end_ns" in counters.series[one][0] and "end_ns" not in counters.series[other][0], "end of the series")
    t.true(f"process.cpu {second.pid}" in counters.rows, "time of the other")

with t.case("a recorder that is stopped for a while and goes on has right rates"):
    t.wanted()
    path = t.path("stopped.duet")
    recorder = Running([DUET, "record", *SYSTEM, "-o", path, "--", program("loads"), "threads", "1", "1500"])
    recorder.program_pid("loads")
    time.sleep(0.3)
    os.kill(recorder.pid, signal.SIGSTOP)
    time.sleep(0.7)
    os.kill(recorder.pid, signal.SIGCONT)
    t.equal(recorder.process.wait(60), 0, "status")
    used = int(recorder.process.stdout.read().split()[1])
    counters = Counters(path)
    name = next(iter(counters.of_process("process.cpu").values()))
    lengths = [row["end"] - row["begin"] for row in counters.rows[name]]
    t.true(max(lengths) >= 0.65 * SECOND, f"one long reading: {max(lengths)}")
    t.true(max(row["value"] / (row["end"] - row["begin"]) for row in counters.rows[name]) < 1.05, "one thread")
    near(counters.sum(name), used, "ns of the thread")
    t.true(counters.sum("duet.sampler.overruns machine") >= 5, "missed ticks are counted")

def frozen_disk():
    """A folder on a file system that can be frozen, and how it is taken away."""
    if os.geteuid() != 0:
        raise duet_test.Skip("only root can freeze a file system")
    image, folder = t.path("image"), t.path("disk")
    os.mkdir(folder)
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    for command in (["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, folder]):
        if not shutil.which(command[0]) or run(command).status:
            raise duet_test.Skip(f"{command[0]} does not work here")
    return folder


with t.case("a disk that hangs delays no sample"):
    t.wanted()
    folder = frozen_disk()
    try:
        path = os.path.join(folder, "run.duet")
        recorder = Running([DUET, "record", "--collect", "system:20", "-o", path, "--", "sleep", "3.5"])
        time.sleep(0.7)
        if run(["fsfreeze", "-f", folder]).status:
            recorder.process.wait(60)
            raise duet_test.Skip("fsfreeze does not work here")
        begin_ns, size = time.monotonic_ns(), os.path.getsize(path)
        time.sleep(2)
        end_ns, held = time.monotonic_ns(), os.path.getsize(path)
        run(["fsfreeze", "-u", folder])
        t.equal(recorder.process.wait(60), 0, "status")
        t.equal(held, size, "bytes of the file while the disk hung")
        absolute = run([DUET, "export", "-f", "csv", "--kind", "counter", "--absolute", path])
        ends = [int(row.split(",")[10]) for row in text(absolute.stdout).splitlines() if row.startswith("memory.free,")]
        counters = Counters(path)
        during = [end for end in ends if begin_ns <= end <= end_ns]
        missed = counters.sum("duet.sampler.overruns machine")
        t.true(len(during) + missed >= 38, f"{len(during)} of 40 readings, {missed} missed")
        t.true(len(during) >= 20, f"{len(during)} readings while the disk hung")
        t.equal(t.report(path)["losses"], [], "losses")
    finally:
        run(["fsfreeze", "-u", folder])
        run(["umount", folder])

with t.case("the machine alone, with -a"):
    t.wanted()
    path = t.path("all.duet")
    result = run([DUET, "record", "-a", *SYSTEM, "-d", "0.5", "-o", path])
    if "another machine-wide recording" in text(result.stderr):
        raise duet_test.Skip("somebody else records all programs")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    counters = Counters(path)
    t.true("cpu.busy" in counters.rows, "of the machine")
    t.equal(counters.of_process("process.cpu"), {}, "of processes")

HIDDEN = r"""
import ctypes, os, subprocess, sys, time
if len(sys.argv) > 1:
    ctypes.CDLL(None).prctl(4, 0)
    time.sleep(2)
else:
    child = subprocess.Popen([sys.executable, sys.argv[0] if os.path.exists(sys.argv[0]) else "-c", SOURCE, "x"])
    child.wait()
    print(child.pid)
"""

with t.case("io of a protected process is absent and reported once"):
    t.wanted()
    if os.geteuid() != 0:
        raise duet_test.Skip("only root can be somebody else")
    os.chmod(t.folder, 0o777)
    source = HIDDEN.replace("SOURCE", repr(HIDDEN.replace("SOURCE", "''")))
    path = t.path("hidden.duet")
    result = run(["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", t.for_others(DUET), "record", *SYSTEM,
                  "-o", path, "--", *python(source)])
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    pid = int(result.stdout)
    counters = Counters(path)
    # Until it hides it may be read.
    read, known = (len(counters.rows.get(f"process.{what} {pid}", [])) for what in ("io.read", "cpu"))
    t.true(known >= 3 and read <= known / 2, f"{known} readings of its time, {read} of its bytes")
    about = json.loads(run([DUET, "info", "--json", path]).stdout)
    notes = [row for row in about["collectors"] if "absent" in (row["reason"] or "")]
    t.equal(len(notes), 1, f"notes: {about['collectors']}")

with t.case("how often"):
    _, counters = recorded(["sleep", "1"], "often", collect=["--collect", "system:100"])
    rows = counters.rows["memory.free"]
    missed = counters.sum("duet.sampler.overruns machine")
    hundredths = (rows[-1]["end"] - rows[0]["begin"]) / (SECOND // 100)
    t.true(hundredths >= 99 and abs(len(rows) + missed - hundredths) <= 3,
           f"{len(rows)} readings and {missed} missed ones in {hundredths:.1f} / 100 s")
    t.equal(counters.series["memory.free"][0]["interval_ns"], SECOND // 100, "interval")
    t.equal(counters.series["memory.faults"][0]["interval_ns"], SECOND // 10, "what costs more is read less often")
    for option in ("0", "1001", "ten", "-5", "10hz", ""):
        result = run([DUET, "record", "--collect", f"system:{option}", "-o", t.path("none.duet"), "--", "true"])
        t.equal(result.status, 125, f"system:{option}")
        there_is = "reads 1 to 1000 times a second" if option.isdigit() else "system:HZ"
        t.true(there_is in text(result.stderr), f"what there is: {text(result.stderr)}")

with t.case("private memory of a process, with system:smaps"):
    result, counters = recorded(python(MEMORY.replace("0.5", "1.3")), "smaps", collect=["--collect", "system:smaps"])
    pid, grown, _ = result.stdout.split()
    t.true(f"process.memory.uss {text(pid)}" in counters.rows, "the rows")

with t.case("a report"):
    document = t.report(t.path("memory.duet"))
    metrics = {(row["name"], row.get("pid"), row.get("cpu")): row for row in document["metrics"]}
    row = metrics["memory.total", None, None]
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) / 1024
    t.equal((row["min"], row["mean"], row["max"], row["limit"], row["unit"]), (total,) * 4 + ("MiB",), "memory.total")
    row = metrics["cpu.busy", None, None]
    t.true(0 <= row["min"] <= row["mean"] <= row["max"] <= 100 and row["unit"] == "%", f"cpu.busy: {row}")
    t.true(row["min"] <= row["p95"] <= row["max"], f"p95: {row}")
    t.equal({"name", "type", "unit", "source", "min", "mean", "p95", "max", "readings", "covered_ns"} - set(row), set(),
            "keys")
    row = metrics["memory.faults", None, None]
    t.true(row["sum_unit"] == "faults" and row["sum"] >= (256 << 20) / 4096 / 2, f"page faults: {row}")
    shown = text(run([DUET, "report", t.path("memory.duet")]).stdout)
    t.true(re.search(r"^METRICS +min +mean +p95 +max +limit$", shown, re.M), "the table")
    t.true(re.search(r"^  memory\.total, MiB +\d+", shown, re.M), "a row")
    t.true("no OpenCL" in shown and "sampling took" in shown, f"the rest: {shown}")
    t.true(re.search(r", 1 process, no OpenCL$", shown, re.M), f"no threads were recorded, which is not 0 of them: {shown}")
    part = t.report(t.path("memory.duet"), "--from", "0.1", "--to", "0.3")
    row = next(row for row in part["metrics"] if row["name"] == "memory.free")
    t.true(0.19 * SECOND <= row["covered_ns"] <= 0.2 * SECOND, f"a part of it: {row['covered_ns']}")

with t.case("duet list metrics has the counters"):
    t.wanted()
    listed = json.loads(run([DUET, "list", "metrics", "--json"]).stdout)["metrics"]
    names = {row["name"] for row in listed}
    for counters in (Counters(t.path("memory.duet")), Counters(t.path("smaps.duet"))):
        for name, series in counters.series.items():
            t.true(series[0]["metric"] in names, f"{name} is listed")
    t.true(all(row["unit"] and row["source"] and row["help"] for row in listed), "all of each")
    most = {row["name"]: row["most_hz"] for row in listed}
    t.equal([most[name] for name in ("process.memory.rss", "cpu.busy", "process.cpu", "memory.faults", "process.threads", "temperature")],
            [1000, 100, 100, 10, 1, 1], "how often at most")
    shown = text(run([DUET, "list", "metrics"]).stdout)
    t.true(re.search(r"^process\.threads +tasks +1/s /proc/\[pid\]/status +threads of the process \(Threads\)$", shown, re.M), f"a line: {shown}")

t.end()
