#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What only programs inside the kernel tell: who preempts a launching thread, who has the lock that it waits for, who
wakes it, which disk it reads. And that nothing of them is left behind, whichever way a recording ends."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite()
SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=1000"}
COLLECT = ("--collect", "opencl,cpu:bpf")


def need_bpf():
    """Whether this kernel takes our programs: said by the recorder itself."""
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root may load programs into the kernel")
    trace = t.path("probe.duet")
    run([DUET, "record", *COLLECT, "-o", trace, "--", "sleep", "3"])
    about = text(run([DUET, "info", trace]).stdout)
    if "is told from" not in about:
        reason = re.search(r"whose locks and disks.*?told: (.*)", about)
        raise duet_test.Skip(f"no programs inside the kernel: {reason.group(1) if reason else about}")


def record(name, *arguments, env=None, around=()):
    trace = t.path(name + ".duet")
    recorded = run([DUET, "record", *COLLECT, "-o", trace, "--", *around, program("kernel_waits"), *arguments],
                   env={**SIM, **(env or {})})
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    document = t.report(trace)
    return document["devices"][0], int(text(recorded.stdout).split()[1])


def sum_of(rows, matches):
    return sum(row["ns"] for row in rows if matches(row))


def mostly(rows, matches, whole, what):
    """What the kernel tells of it is so; and that is more than half: at first it loads what sees it."""
    known = sum_of(rows, lambda row: "holder" in row or "wakers" in row)
    t.true(sum_of(rows, matches) >= 0.9 * known, f"{what}: {rows}")
    t.true(known >= 0.5 * whole, f"{what}: {known} of {whole} known")


with t.case("the thread that holds a mutex"):
    need_bpf()
    device, waited = record("mutex", "mutex", "60", "50")
    blocked = device["idle_causes"]["blocked"]
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")
    mostly(device["idle_waits"], lambda row: row.get("wait") == "mutex" and row["holder"]["name"] == "holder", blocked,
           "held")
    held = [row for row in device["idle_waits"] if row.get("wait") == "mutex"]
    t.true(held and "sleep" in held[0]["holder"].get("function", ""), f"where the holder is: {held}")


with t.case("the thread that wakes"):
    need_bpf()
    device, waited = record("baker", "baker", "60", "50")
    blocked = device["idle_causes"]["blocked"]
    t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")

    def baked(row):
        wakers = [waker["name"] for waker in row.get("wakers", [])]
        return row.get("wait") == "futex" and wakers[:1] == ["baker"]

    mostly(device["idle_waits"], baked, blocked, "woken")
    chains = [[waker["name"] for waker in row["wakers"]] for row in device["idle_waits"] if baked(row)]
    t.true(any(len(chain) > 1 for chain in chains), f"who woke the baker: {chains}")

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
    mostly(device["idle_waits"], lambda row: row.get("wait") == f"pread64 (disk {os.path.basename(disk)})", blocked, "read")


def programs():
    """{id: name} of what the kernel has, of all recordings."""
    listed = text(run(["bpftool", "prog", "list"]).stdout)
    return dict(re.findall(r"^(\d+): \w+ +name (on_(?:switch|waking|fork|request)\w*)", listed, re.M))


def held(pid):
    """Ids of the programs that a process has descriptors of."""
    found = set()
    for number in duet_test._listed(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
            found.update(re.findall(r"^prog_id:\t(\d+)", file.read(), re.M))
    return found


def need_list():
    if not shutil.which("bpftool"):
        raise duet_test.Skip("bpftool(8) is missing")


def wait_gone(ids):
    """Those that the kernel still has after a while."""
    end = time.monotonic() + 20
    while ids & set(programs()) and time.monotonic() < end:
        time.sleep(0.05)
    return ids & set(programs())


with t.case("nothing is left in the kernel, whichever way it ends"):
    need_bpf()
    need_list()
    for i, how in enumerate(("the program's end", "an interrupt", "two interrupts", "kill -9")):
        recorder = duet_test.Running([DUET, "record", "--collect", "cpu:bpf", "-o", t.path(f"left{i}.duet"), "--",
                                         "sleep", "5" if how == "the program's end" else "60"])
        end = time.monotonic() + 20
        # a first try may load some of them, and take them back where the kernel refuses another
        while len(ids := held(recorder.pid) & set(programs())) < 4 and time.monotonic() < end and recorder.process.poll() is None:
            time.sleep(0.02)
        t.equal(len(ids), 4, f"loaded, then {how}")
        for number in {"an interrupt": [signal.SIGINT], "two interrupts": [signal.SIGINT] * 2,
                       "kill -9": [signal.SIGKILL]}.get(how, []):
            recorder.kill(number)
        t.equal(wait_gone(ids), set(), how)
        recorder.kill_group(signal.SIGKILL)
    pinned = os.listdir("/sys/fs/bpf") if os.path.isdir("/sys/fs/bpf") else []
    t.true(not any("duet" in name for name in pinned), f"pinned: {pinned}")

with t.case("where there are rights, unless it is left out"):
    need_bpf()
    for i, (collect, is_loaded) in enumerate((("cpu", True), ("cpu:nobpf", False), ("cpu:nobpf,cpu:nofaults", False),
                                              ("cpu:bpf,cpu:nofaults", True))):
        trace = t.path(f"choice{i}.duet")
        run([DUET, "record", "--collect", collect, "-o", trace, "--", "sleep", "2" if is_loaded else "1"])
        t.equal("is told from" in text(run([DUET, "info", trace]).stdout), is_loaded, collect)

t.end()
