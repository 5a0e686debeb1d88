#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""BPF programs and rights: the data and advice that an ordinary user, one with cap_perfmon, and root get for the same
program; the rights with which programs are loaded, and that the recorder drops them; messages for processes beyond the
limit.
"""
import json
import os
import pwd
import re
import shutil
import subprocess
import time

import duet_test
from duet_test import run, text

t = duet_test.Suite()
DUET = t.for_others(duet_test.DUET)
SIM = {"OCL_ICD_VENDORS": t.simulated_opencl(), "SIM_OPENCL": "kernel_us=1000"}
WORK = ("mutex", "40", "30")
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
SETCAP = shutil.which("setcap") or "/usr/sbin/setcap"
# <linux/capability.h>
SYS_MODULE, SYS_RAWIO, SYS_ADMIN, PERFMON, BPF = (1 << n for n in (16, 17, 21, 38, 39))
SHARED = t.path("shared")
os.mkdir(SHARED)
os.chmod(SHARED, 0o777)
HOME = {"HOME": SHARED, "POCL_CACHE_DIR": os.path.join(SHARED, "pocl")}


def program(name):
    """A test program that an ordinary user reaches."""
    return t.for_others(duet_test.program(name))


def need_root():
    t.wanted()
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise duet_test.Skip("only root can become an ordinary user")


def need_bpf():
    """Whether this kernel takes our programs, as doctor says."""
    need_root()
    row = checks_of([DUET]).get("bpf")
    if not row or not row["ok"]:
        raise duet_test.Skip(f"no programs inside the kernel: {row and row['text']}")


def checks_of(command):
    """doctor's checks of the collector cpu."""
    told = json.loads(run([*command, "doctor", "--json"], env=HOME).stdout)["collectors"]
    return {check["name"]: check for collector in told if collector["name"] == "cpu" for check in collector["checks"]}


def with_rights(rights):
    """A copy of duet whose file gives these rights; its user needs no others."""
    folder = os.path.join(SHARED, re.sub(r"\W", "", rights))
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o755)
    own = os.path.join(folder, "duet")
    for file in (DUET, duet_test.GUEST):
        shutil.copy(file, os.path.join(folder, os.path.basename(file)))
    if os.path.basename(DUET) != "duet":
        os.rename(os.path.join(folder, os.path.basename(DUET)), own)
    if not os.path.exists(SETCAP) or run([SETCAP, rights, own]).status != 0:
        raise duet_test.Skip("setcap does not work here (Debian package libcap2-bin)")
    if run([*ORDINARY, own, "doctor"], env=HOME).status != 0:
        raise duet_test.Skip("a file with capabilities cannot be run here")
    return own


class Told:
    """What a recording of the planted program by this user says."""

    def __init__(self, command, collect="opencl,cpu"):
        trace = os.path.join(SHARED, f"told{time.monotonic_ns()}.duet")
        recorded = run([*command, "record", "-v", "--collect", collect, "-o", trace, "--", program("kernel_waits"), *WORK],
                       env={**HOME, **SIM})
        t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        waited = int(text(recorded.stdout).split()[1])
        self.said = " ".join(text(recorded.stderr).split())
        self.report = " ".join(text(run([DUET, "report", trace]).stdout).split())
        self.device = t.report(trace)["devices"][0]
        blocked = self.device["idle_causes"]["blocked"]
        t.true(0.8 * waited < blocked < 1.2 * waited, f"blocked {blocked} of {waited}")

    def knows_holder(self):
        """Most of the time: at first is loaded what sees it."""
        rows = self.device["idle_waits"]
        return sum(row["ns"] for row in rows if row.get("holder", {}).get("name") == "holder"
                   and row.get("wait", "").startswith("mutex (kernel_waits+0x")) > 0.5 * self.device["idle_causes"]["blocked"]


NOT_TOLD = "preemptors, wakers, and the locks and disks that threads wait for are unknown"
NO_SAMPLES = "samples inside the kernel are missing"

with t.case("an ordinary user: that a thread was blocked, in which call, and two commands"):
    need_bpf()
    told = Told([*ORDINARY, DUET])
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        level = int(file.read())
    t.true(any(row.get("wait") == "futex" for row in told.device["idle_waits"]), f"{told.device['idle_waits']}")
    t.true(not told.knows_holder(), "whose mutex it is takes rights")
    command = f"'sudo setcap cap_perfmon,cap_syslog,cap_bpf+ep {os.path.realpath(DUET)}'"
    for what in (told.report, told.said):
        t.true(NOT_TOLD in what and command in what, f"no {command}: {what[:1500]}")
        t.true(level != 2 or (NO_SAMPLES in what and "'sudo sysctl kernel.perf_event_paranoid=1'" in what), what[:1500])
    rows = checks_of([*ORDINARY, DUET])
    t.true(rows["types"]["ok"] and not rows["rights"]["ok"] and command in rows["rights"]["text"], f"{rows}")
    t.true("bpf" not in rows, "nothing is tried without rights")

with t.case("cap_perfmon alone: the kernel's own time too, and the command for the rest"):
    need_bpf()
    own = with_rights("cap_perfmon,cap_syslog=ep")
    for collect in ("opencl,cpu", "opencl,cpu:bpf"):
        told = Told([*ORDINARY, own], collect)
        t.true(not told.knows_holder(), "whose mutex it is takes more rights")
        for what in (told.report, told.said):
            t.true(NO_SAMPLES not in what, f"it has them: {what[:1500]}")
            t.true(NOT_TOLD in what and f"'sudo setcap cap_perfmon,cap_syslog,cap_bpf+ep {own}'" in what, what[:1500])

with t.case("root: the thread that has the mutex"):
    need_bpf()
    told = Told([DUET])
    t.true(told.knows_holder(), f"{told.device['idle_waits']}")
    t.true(NOT_TOLD not in told.report and NO_SAMPLES not in told.report, told.report[:1500])

with t.case("cpu:nobpf loads nothing"):
    need_bpf()
    told = Told([DUET], "opencl,cpu:nobpf")
    t.true(not told.knows_holder() and NOT_TOLD not in told.report, f"{told.device['idle_waits']} {told.report[:1500]}")


def rights_of(pid):
    """[(effective, permitted, bounding)] of the threads of a process."""
    found = []
    for task in duet_test._listed(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
                sets = dict(re.findall(r"^Cap(Eff|Prm|Bnd):\s*([0-9a-f]+)", file.read(), re.M))
        except OSError:
            continue
        if sets:
            found.append(tuple(int(sets[name], 16) for name in ("Eff", "Prm", "Bnd")))
    return found


class Watched:
    """A recording of a sleeping program: with which rights it loads, and which it has then."""

    def __init__(self, command, collect):
        self.trace = os.path.join(SHARED, f"watched{time.monotonic_ns()}.duet")
        # the guests' collector is left out: its hello is no matter here
        recorder = duet_test.Running([*command, "record", "--collect", collect, "-o", self.trace, "--", "sleep", "60"], env=HOME)
        self.seen, self.after = set(), None
        end = time.monotonic() + 30
        has_program = False
        while time.monotonic() < end and recorder.process.poll() is None:
            now = rights_of(recorder.pid)
            self.seen.update(effective for effective, _, _ in now)
            has_program = has_program or bool(recorder.children())
            if has_program and now and not any((effective | permitted) & BPF for effective, permitted, _ in now):
                self.after = now
                break
        program_pid = recorder.children()
        self.program = rights_of(program_pid[0]) if program_pid else []
        for pid in program_pid:
            os.kill(pid, 15)
        self.result = recorder.finish()
        self.info = text(run([DUET, "info", self.trace]).stdout)


def check_rights(watched, is_root):
    if not t.true(watched.after, f"cap_bpf is given up: {watched.seen}"):
        return
    t.true(BPF | PERFMON in watched.seen, f"a thread with nothing but what loading takes: {[hex(seen) for seen in watched.seen]}")
    t.true("wakers are known from" in watched.info, f"all is loaded: {watched.info}")
    kernel = BPF | PERFMON | SYS_ADMIN | SYS_MODULE | SYS_RAWIO
    for effective, permitted, bounding in watched.after:
        t.equal(effective & kernel, 0, f"effective {effective:#x}")
        t.equal(permitted & kernel, 0, f"permitted {permitted:#x}")
        if is_root:
            t.equal(bounding & kernel, 0, f"by an exec {bounding:#x}")
        else:
            t.equal((effective, permitted), (0, 0), "of a file that gives no others")


with t.case("cap_bpf and cap_perfmon of the file alone: loaded by them, and none is left"):
    need_bpf()
    own = with_rights("cap_bpf,cap_perfmon=ep")
    check_rights(Watched([*ORDINARY, own], "cpu:bpf"), False)
    told = Told([*ORDINARY, own])
    t.true(told.knows_holder(), f"{told.device['idle_waits']}")
    t.true(NOT_TOLD not in told.report, told.report[:1500])

with t.case("root loads with two rights, and keeps none of those for the kernel; its program keeps all"):
    need_bpf()
    own = rights_of(os.getpid())[0]
    for collect in ("cpu:bpf", "cpu:bpf,system"):
        watched = Watched([DUET], collect)
        check_rights(watched, True)
        t.true(watched.program and watched.program[0][0] == own[0], f"the program's: {watched.program}, ours: {own}")

with t.case("root without rights for the kernel still follows another user's program"):
    need_bpf()
    trace = os.path.join(SHARED, "other.duet")
    hidden = os.path.join(SHARED, "hidden")
    os.mkdir(hidden, 0o700)
    shutil.copy(program("kernel_waits"), hidden)
    try:
        user = pwd.getpwuid(1000)
    except KeyError:  # a machine without an ordinary user
        user = pwd.getpwnam("nobody")
    os.chown(hidden, user.pw_uid, user.pw_gid)
    os.chown(os.path.join(hidden, "kernel_waits"), user.pw_uid, user.pw_gid)
    recorded = run([DUET, "record", "--user", user.pw_name, "--collect", "opencl,cpu:bpf", "-o", trace, "--",
                    os.path.join(hidden, "kernel_waits"), *WORK], env={**HOME, **SIM})
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    rows = t.report(trace)["devices"][0]["idle_waits"]
    held = [row for row in rows if row.get("holder", {}).get("name") == "holder"]
    t.true(held and "sleep" in held[0]["holder"].get("function", ""), f"with functions of a file that only its user reads: {rows}")

with t.case("in a pid namespace nothing is loaded, and the reason is reported"):
    need_bpf()
    own = ["unshare", "--pid", "--fork", "--mount-proc"]
    if run([*own, "true"]).status != 0:
        raise duet_test.Skip("no pid namespace can be made here (unshare)")
    told = Told([*own, DUET])
    t.true(not told.knows_holder() and NOT_TOLD in told.report and "--pid=host" in told.report, told.report[:1500])

with t.case("processes without room are counted"):
    need_bpf()
    if not shutil.which("bpftool"):
        raise duet_test.Skip("bpftool(8) is missing")
    trace = os.path.join(SHARED, "full.duet")
    go = os.path.join(SHARED, "go")
    before = set(re.findall(r"^(\d+): hash +name watched", text(run(["bpftool", "map", "list"]).stdout), re.M))
    script = f'while [ ! -e {go} ]; do sleep 0.1; done; for i in 1 2 3 4 5 6 7; do (sleep 0.05; true); done'
    recorder = duet_test.Running([DUET, "record", "--collect", "cpu:bpf", "-o", trace, "--", "sh", "-c", script])
    end, table = time.monotonic() + 30, None
    while not table and time.monotonic() < end:
        # another recording's may be there, too: of ours it is told which processes it follows
        for number in set(re.findall(r"^(\d+): hash +name watched", text(run(["bpftool", "map", "list"]).stdout), re.M)) - before:
            listed = json.loads(text(run(["bpftool", "-j", "map", "dump", "id", number]).stdout) or "[]")
            pids = {int.from_bytes(bytes(int(byte, 16) for byte in row["key"]), "little") for row in listed if "key" in row}
            table = number if pids & set(recorder.children()) else table
        time.sleep(0.05)
    t.true(table, "the table of processes")
    lines = "".join(f"map update id {table} key {n & 255} {n >> 8 & 255} {n >> 16 & 255} {n >> 24} value 1\n"
                    for n in range(1 << 30, (1 << 30) + 65536))
    subprocess.run(["bpftool", "batch", "file", "-"], input=lines.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False, timeout=120)
    with open(go, "w", encoding="ascii"):
        pass
    recorder.finish()
    report = " ".join(text(run([DUET, "report", trace]).stdout).split())
    lost = re.search(r"of the threads of (\d+) processes are unknown", report)
    # the seven and what they start, and the waiting sleeps between that and the table's being full
    t.true(lost and 7 <= int(lost.group(1)) <= 1000, f"counted: {report[:1500]}")

t.end()
