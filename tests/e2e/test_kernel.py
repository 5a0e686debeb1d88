#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Data that only BPF programs provide: the process that preempts a launching thread, the holder of its lock, its waker,
the disk that it reads. And BPF programs are removed however a recording ends.
"""
import collections
import contextlib
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, ROOT, program, run, text

sys.path.insert(0, os.path.join(ROOT, "tests", "checker"))
import check_account  # noqa: E402
import check_processors  # noqa: E402

t = duet_test.Suite()
SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=1000"}
COLLECT = ("--collect", "opencl,cpu:bpf")


@functools.cache
def why_no_bpf():
    """Why this kernel does not take our programs: said by the recorder itself. Asked once."""
    trace = t.path("probe.duet")
    run([DUET, "record", *COLLECT, "-o", trace, "--", "sleep", "3"])
    about = text(run([DUET, "info", trace]).stdout)
    if "wakers are known from" in about:
        return None
    reason = re.search(r"whose locks and disks.*?told: (.*)", about)
    return f"no programs inside the kernel: {reason.group(1) if reason else about}"


def need_bpf():
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root may load programs into the kernel")
    if why_no_bpf():
        raise duet_test.Skip(why_no_bpf())


def record(name, *arguments, env=None, around=()):
    """The report of the only device, with the time that nothing was told of; and how long the program says that it waited."""
    trace = t.path(name + ".duet")
    recorded = run([DUET, "record", *COLLECT, "-o", trace, "--", *around, program("kernel_waits"), *arguments],
                   env={**SIM, **(env or {})})
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    told = re.search(r"wakers are known from ([0-9.]+) ms", text(run([DUET, "info", trace]).stdout))
    t.true(told, "when the programs were there")
    device = t.report(trace)["devices"][0]
    device["blind_ns"] = float(told.group(1)) * 1e6 if told else 0
    return device, int(text(recorded.stdout).split()[1])


def sum_of(rows, matches):
    return sum(row["ns"] for row in rows if matches(row))


def mostly(device, matches, what):
    """What the kernel tells of blocked time is so; and that is most of it, but at first, while it loads what sees it."""
    rows, whole = device["idle_waits"], device["idle_causes"]["blocked"]
    known = sum_of(rows, lambda row: "holder" in row or "wakers" in row)
    t.true(sum_of(rows, matches) >= 0.9 * known, f"{what}: {rows}")
    t.true(known >= 0.5 * (whole - device["blind_ns"]), f"{what}: {known} of {whole} known, {device['blind_ns']} blind")


# of the program's own variable, and where its file has that
LOCK = re.compile(r"(mutex|futex) \(kernel_waits\+0x[0-9a-f]+\)")


def is_mutex(row):
    found = LOCK.fullmatch(row.get("wait", ""))
    return bool(found and found.group(1) == "mutex")


with t.case("the thread that holds a mutex"):
    need_bpf()
    device, waited = record("mutex", "mutex", "60", "50")
    blocked = device["idle_causes"]["blocked"]
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")
    mostly(device, lambda row: is_mutex(row) and row["holder"]["name"] == "holder", "held")
    held = [row for row in device["idle_waits"] if is_mutex(row)]
    t.equal(len({row["wait"] for row in held}), 1, f"which mutex: {held}")
    t.true(held and "sleep" in held[0]["holder"].get("function", ""), f"where the holder is: {held}")


with t.case("the thread that wakes"):
    need_bpf()
    device, waited = record("baker", "baker", "60", "50")
    blocked = device["idle_causes"]["blocked"]
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")

    def baked(row):
        wakers = [waker["name"] for waker in row.get("wakers", [])]
        return LOCK.fullmatch(row.get("wait", "")) and wakers[:1] == ["baker"]

    mostly(device, baked, "woken")
    chains = [[waker["name"] for waker in row["wakers"]] for row in device["idle_waits"] if baked(row)]
    t.true(any(len(chain) > 1 for chain in chains), f"who woke the baker: {chains}")

with t.case("lock holders in a convoy"):
    need_bpf()
    device, waited = record("convoy", "convoy", "60", "20")
    blocked = device["idle_causes"]["blocked"]
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")
    mostly(device, lambda row: is_mutex(row) and row["holder"]["name"] == "walker", "held")

with t.case("what another thread writes"):
    need_bpf()
    for way, kind in (("pipe", "pipe"), ("eventfd", "event_wait"), ("terminal", "event_wait")):
        device, waited = record(way, way, "60", "50")
        blocked = device["idle_causes"]["blocked"]
        t.true(0.8 * waited < blocked < 1.2 * waited, f"{way}: blocked {blocked} of {waited}")

        def written(row):
            # an interrupt's worker passes a terminal's bytes on
            return row.get("wait") == f"read ({way})" and (way == "terminal" or row.get("wakers", [{}])[0].get("name") == "writer")

        mostly(device, written, "written")
        first = t.report(t.path(way + ".duet"))["verdict"]["causes"][0]
        t.equal((first["kind"], first["what"]), (kind, f"read ({way})"), "the verdict")

with t.case("what another thread writes, without BPF"):
    for way, kind in (("pipe", "pipe"), ("eventfd", "event_wait"), ("terminal", "event_wait")):
        trace = t.path(f"seen-{way}.duet")
        recorded = run([DUET, "record", "--collect", "opencl,cpu:nobpf", "-o", trace, "--", program("kernel_waits"), way, "20", "20"], env=SIM)
        t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        first = t.report(trace)["verdict"]["causes"][0]
        t.equal((first["kind"], first["what"]), (kind, f"read ({way})"), way)

with t.case("the process that preempts"):
    need_bpf()
    cpu = str(max(os.sched_getaffinity(0)))
    hog = subprocess.Popen(["taskset", "-c", cpu, program("planted"), "hog"], env={**os.environ, "PLANTED_CPU": cpu},
                           preexec_fn=duet_test.default_signals)
    trace = t.path("preempted.duet")
    try:
        recorded = run([DUET, "record", *COLLECT, "-o", trace, "--", program("planted"), "compute", "100", "10"],
                       env={**SIM, "PLANTED_CPU": cpu})
    finally:
        hog.send_signal(signal.SIGKILL)
        hog.wait()
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    document = t.report(trace)
    device = document["devices"][0]
    told = dict(line.split() for line in text(recorded.stdout).splitlines())
    preempted = device["idle_causes"]["preempted"]
    t.true(abs(preempted - int(told["away"])) < 0.1 * int(told["away"]), f"preempted {preempted} of {told}")
    t.equal(sum_of(device["idle_preempted"], lambda row: True), preempted, "the parts add up")
    by = f"planted (process {hog.pid})"
    # on a busy machine others take the processor too
    known = [row for row in device["idle_preempted"] if "by" in row]
    t.true(any(row["by"] == by for row in known), f"{device['idle_preempted']}")
    found = [row for row in document["findings"] if row["id"] == "cpu_preemption"]
    t.true(found and known and known[0]["by"] in found[0]["text"], f"{found}")


with t.case("the process that preempts is the one that ran longest, not the first"):
    need_bpf()
    cpu = str(max(os.sched_getaffinity(0)))
    trace = t.path("longest.duet")

    def rivals():
        # it takes the processor a thousand times a second, for some microseconds
        ticker = subprocess.Popen(["taskset", "-c", cpu, "nice", "-n", "-15", "/usr/bin/python3", "-c",
                                   "import time\nwhile True: time.sleep(0.001)"], preexec_fn=duet_test.default_signals)
        hog = subprocess.Popen(["taskset", "-c", cpu, program("planted"), "hog"], env={**os.environ, "PLANTED_CPU": cpu},
                               preexec_fn=duet_test.default_signals)
        try:
            recorded = run([DUET, "record", *COLLECT, "-o", trace, "--", program("planted"), "compute", "100", "10"],
                           env={**SIM, "PLANTED_CPU": cpu})
        finally:
            for process in (hog, ticker):
                process.send_signal(signal.SIGKILL)
                process.wait()
        t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        rows = t.report(trace)["devices"][0]["idle_preempted"]
        return (sum_of(rows, lambda row: row.get("by") == f"planted (process {hog.pid})"),
                sum_of(rows, lambda row: row.get("by", "").endswith(f"(process {ticker.pid})")), rows)

    for _ in range(3):  # on a busy machine the programs for the kernel may be loaded after the program has ended
        of_hog, of_ticker, rows = rivals()
        if of_hog or of_ticker:
            break
    t.true(of_hog > 5 * of_ticker, f"hog {of_hog}, ticker {of_ticker}: {rows}")


@contextlib.contextmanager
def slow_disk():
    """A loop device that gives 1 MiB a second to a group of processes."""
    group = "/sys/fs/cgroup/blkio/duet-test"
    image = t.path("disk")
    with open(image, "wb") as file:
        file.truncate(64 << 20)
    if not shutil.which("losetup"):
        raise duet_test.Skip("losetup(8) is missing")
    made = run(["losetup", "--find", "--show", "--direct-io=off", image])
    if made.status:
        raise duet_test.Skip(f"no loop device: {text(made.stderr).strip()}")
    disk = text(made.stdout).strip()
    try:
        number = os.stat(disk).st_rdev
        try:
            os.makedirs(group, exist_ok=True)
            with open(os.path.join(group, "blkio.throttle.read_bps_device"), "w", encoding="ascii") as file:
                file.write(f"{os.major(number)}:{os.minor(number)} 1048576")
        except OSError as error:
            raise duet_test.Skip(f"a disk cannot be slowed down: {error}") from None
        yield disk, group
    finally:
        run(["losetup", "--detach", disk])
        with contextlib.suppress(OSError):
            os.rmdir(group)


with t.case("the disk that is read"):
    need_bpf()
    with slow_disk() as (disk, group):
        inside = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
        device, waited = record("read", "read", "40", disk, around=inside)
    blocked = device["idle_causes"]["blocked"]
    t.true(waited > 1500000000, f"the disk is slow: {waited}")
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")
    mostly(device, lambda row: row.get("wait") == f"pread64 (disk {os.path.basename(disk)})", "read")


with t.case("the mapped file whose pages are waited for"):
    need_bpf()
    with slow_disk() as (disk, group):
        inside = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
        device, waited = record("fault", "fault", "40", disk, around=inside)
    blocked = device["idle_causes"]["blocked"]
    t.true(waited > 1500000000, f"the disk is slow: {waited}")
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")
    mostly(device, lambda row: row.get("wait") == f"page fault ({disk}, disk {os.path.basename(disk)})", "faulted")


REMAPPED = """
import ctypes, mmap, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]
def wait(count):
    for _ in range(count):
        libc.syscall(202, ctypes.c_void_p(place), 0, 0, ctypes.byref(Time(0, 10000000)), None, 0)
file = open(sys.argv[1], "r+b")
fixed_private_anonymous = 0x10 | 0x02 | 0x20
place = libc.mmap(None, 65536, 3, 1, file.fileno(), 0)
wait(500)
assert libc.mmap(place, 65536, 3, fixed_private_anonymous, -1, 0) == place
wait(100)
"""


with t.case("an address range that is mapped again"):
    need_bpf()
    trace, mapped = t.path("remapped.duet"), t.path("mapped_file")
    with open(mapped, "wb") as file:
        file.truncate(65536)
    recorded = run([DUET, "record", "--collect", "cpu:bpf", "-o", trace, "--", sys.executable, "-c", REMAPPED, mapped])
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()]
    waits = [row["wait"] for row in rows if row["kind"] == "switch" and row["wait"].startswith("futex (")]
    named = [wait for wait in waits if "mapped_file" in wait]
    t.true(named, f"of the file: {collections.Counter(waits)}")
    # whoever is preempted in a wait is not in it; by far most are seen
    t.true(sum("(0x" in wait for wait in waits[-90:]) > 60, f"of the memory behind it: {collections.Counter(waits)}")
    t.equal(waits[:len(named)], named, "first those of the file")


TALKER = """
import socket, time
listening = socket.create_server(("127.0.0.1", 0))
here = socket.create_connection(listening.getsockname())
there = listening.accept()[0]
end = time.monotonic() + 2
while time.monotonic() < end:
    here.send(b"x" * 1000)
    there.recv(1000)
"""


with t.case("the time of interrupts, with cpu:irq"):
    need_bpf()
    for option, wanted in (("cpu:irq", True), ("cpu:bpf", False)):
        trace = t.path(option.replace(":", "_") + ".duet")
        run([DUET, "record", "--collect", option, "-o", trace, "--", sys.executable, "-c", TALKER])
        rows = [row for row in t.report(trace)["metrics"] if row["name"] == "process.interrupts"]
        t.equal(bool(rows), wanted, f"{option}: {rows}")
        # what goes to itself is taken in by the sender's own soft interrupts
        received = [row for row in rows if row["instance"] == "softirq NET_RX"]
        t.equal(len(received), int(wanted), f"{option}: {[row['instance'] for row in rows]}")
        t.true(all(row["unit"] == "%" and 0 < row["mean"] < 100 for row in received), f"of a processor: {received}")


def record_machine(*arguments):
    """One recording of the whole machine a user: another run of these tests may have it for a while."""
    for _ in range(30):
        recorded = run([DUET, "record", "-a", *arguments])
        if b"another" not in recorded.stderr:
            return recorded
        time.sleep(2)
    return recorded


CONTENDS = """import threading, time
end = time.time() + 60
def turn():
    while time.time() < end:
        sum(range(2000))
threading.Thread(target=turn).start()
turn()
"""

with t.case("all threads of the machine"):
    need_bpf()
    trace = t.path("machine.duet")
    work = subprocess.Popen([program("kernel_waits"), "pipe", "1000", "10"], env={**os.environ, **SIM},
                            stdout=subprocess.DEVNULL, preexec_fn=duet_test.default_signals)
    contends = subprocess.Popen(["/usr/bin/python3", "-c", CONTENDS], preexec_fn=duet_test.default_signals)
    try:
        recorded = record_machine("-d", "3", "--collect", "cpu:bpf", "-o", trace)
    finally:
        for one in (work, contends):
            one.kill()
            one.wait()
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    lines = text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()
    rows = [json.loads(line) for line in lines]
    processes = {row["id"]: row["pid"] for row in rows if row["kind"] == "process"}
    threads = {row["id"]: row for row in rows if row["kind"] == "thread"}
    switches = [row for row in rows if row["kind"] == "switch"]
    ours = {id: row["name"] for id, row in threads.items() if processes[row["process"]] == work.pid}
    launcher = [id for id in ours if threads[id]["tid"] == work.pid]
    t.equal(len(launcher), 1, f"of process {work.pid}: {ours}")
    waits = [row["wait"] for row in switches if row["previous"] in launcher and row["reason"] == "blocked"]
    t.true(waits.count("read (pipe)") > 20, f"what for: {collections.Counter(waits)}")
    wakers = [ours.get(row["waker"], row["waker_name"]) for row in switches if row["next"] in launcher]
    t.true(wakers.count("writer") > 20, f"by whom: {collections.Counter(wakers)}")
    contenders = {id for id, row in threads.items() if processes[row["process"]] == contends.pid}
    waits = [row for row in switches if row["previous"] in contenders and row["reason"] == "blocked"]
    locks = [row for row in waits if row.get("wait") == "Python GIL"]
    t.true(len(locks) > 20 and len(locks) > 0.9 * len(waits),
           f"for the interpreter's lock: {collections.Counter(row.get('wait') for row in waits)}")
    held = [row for row in locks if row.get("holder") in contenders - {row["previous"]}]
    t.true(len(held) > 0.5 * len(locks), f"by the other thread: {len(held)} of {len(locks)}")
    # of recorders only that of another test is seen at work
    own = {row["id"] for row in rows if row["kind"] == "process" and trace in row.get("command", "")}
    seen = {threads[id]["process"] for row in switches for id in (row["previous"], row["next"]) if id}
    t.equal(own & seen, set(), "its own")
    kernel = [row for row in rows if row["kind"] == "process" and re.match(r"(kworker|ksoftirqd|rcu|migration)", row["name"])]
    t.true(kernel, "threads of the kernel have names")
    t.true({row["cpu"] for row in switches} <= set(range(os.cpu_count())), "processors")
    # of some threads this kernel does not report that they go: such intervals are closed and counted, never too long
    report = json.loads(run([DUET, "report", "--json", "--by", "thread", "--top", "0", trace]).stdout)
    took_ns = sum(row["on_cpu_ns"] for row in report["by"])
    t.true(0 < took_ns <= os.cpu_count() * report["wall_ns"], f"processor time {took_ns} of {report['wall_ns']}")
    wrong = check_processors.differences(check_account.Trace(lines, {"chunks": 0, "bytes": 0, "truncated": False}),
                                         0, report["wall_ns"])
    t.equal(wrong, [], "one thread at a time")
    lost = {(row["lost"], row["reason"]) for row in rows if row["kind"] == "loss"}
    t.true(lost <= {("switch", "unseen")}, f"lost: {lost}")


def listed():
    """The numbers of all programs in the kernel, with names; other tests may have theirs."""
    return {row["id"]: row.get("name", "") for row in json.loads(run(["bpftool", "-j", "prog", "list"]).stdout)}


def loaded(pid):
    """The numbers of those that a recorder has."""
    held = set()
    folder = f"/proc/{pid}/fdinfo"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError), open(os.path.join(folder, name), encoding="ascii") as file:
                held.update(int(number) for number in re.findall(r"prog_id:\s*(\d+)", file.read()))
    return {number for number, name in listed().items()
            if number in held and re.fullmatch(r"on_(switch|waking|fork|request|fault)\w*", name)}


def need_list():
    if not shutil.which("bpftool"):
        raise duet_test.Skip("bpftool(8) is missing")


def left_of(numbers):
    """Those that are still there; the kernel takes its time."""
    end = time.monotonic() + 20
    while (left := numbers & set(listed())) and time.monotonic() < end:
        time.sleep(0.05)
    return left


with t.case("no BPF program is left in the kernel, however the recording ends"):
    need_bpf()
    need_list()
    for i, how in enumerate(("the program's end", "an interrupt", "two interrupts", "kill -9")):
        recorder = duet_test.Running([DUET, "record", "--collect", "cpu:bpf", "-o", t.path(f"left{i}.duet"), "--",
                                         "sleep", "8" if how == "the program's end" else "60"])
        end = time.monotonic() + 20
        # a first try may load some of them, and take them back where the kernel refuses another
        while len(there := loaded(recorder.process.pid)) < 5 and time.monotonic() < end and recorder.process.poll() is None:
            time.sleep(0.02)
        t.equal(len(there), 5, f"loaded, then {how}")
        for number in {"an interrupt": [signal.SIGINT], "two interrupts": [signal.SIGINT] * 2,
                       "kill -9": [signal.SIGKILL]}.get(how, []):
            recorder.kill(number)
        t.equal(left_of(there), set(), how)
        recorder.kill_group(signal.SIGKILL)
    pinned = os.listdir("/sys/fs/bpf") if os.path.isdir("/sys/fs/bpf") else []
    t.true(not any("duet" in name for name in pinned), f"pinned: {pinned}")

def watched(pid):
    """The processes in the table of the recording that follows this one; None: there is none."""
    for number in re.findall(r"^(\d+): hash +name watched", text(run(["bpftool", "map", "list"]).stdout), re.M):
        rows = json.loads(text(run(["bpftool", "-j", "map", "dump", "id", number]).stdout) or "[]")
        pids = {int.from_bytes(bytes(int(byte, 16) for byte in row["key"]), "little") for row in rows if "key" in row}
        if pid in pids:
            return pids
    return None


def ended_of(pid):
    """Those of them that are not there any more."""
    return {number for number in watched(pid) or () if not os.path.exists(f"/proc/{number}")}


def until(found, limit_s=20):
    end = time.monotonic() + limit_s
    while not (value := found()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


with t.case("an ended process is not followed any more"):
    need_bpf()
    need_list()
    go, done = t.path("go"), t.path("done")
    script = f"while [ ! -e {go} ]; do sleep 0.1; done; for i in $(seq 40); do (sleep 0.01) & done; wait; touch {done}; sleep 60"
    recorder = duet_test.Running([DUET, "record", "--collect", "cpu:bpf", "-o", t.path("ended.duet"), "--", "sh", "-c", script])
    shell = until(recorder.children)
    if t.true(shell and until(lambda: watched(shell[0])), "the table of processes"):
        recorder.kill(signal.SIGSTOP)
        with open(go, "w", encoding="ascii"):
            pass
        t.true(until(lambda: os.path.exists(done)), "the children have ended")
        until(lambda: not ended_of(shell[0]))
        t.equal(ended_of(shell[0]), set(), "in the table, and ended")
        t.true(shell[0] in watched(shell[0]), "the one that lives")
        recorder.kill(signal.SIGCONT)
    recorder.kill_group(signal.SIGKILL)

with t.case("BPF programs are loaded if the rights suffice, unless cpu:nobpf"):
    need_bpf()
    for i, (collect, is_loaded) in enumerate((("cpu", True), ("cpu:nobpf", False), ("cpu:nobpf,cpu:nofaults", False),
                                              ("cpu:bpf,cpu:nofaults", True))):
        trace = t.path(f"choice{i}.duet")
        run([DUET, "record", "--collect", collect, "-o", trace, "--", "sleep", "2" if is_loaded else "1"])
        t.equal("wakers are known from" in text(run([DUET, "info", trace]).stdout), is_loaded, collect)

t.end()
