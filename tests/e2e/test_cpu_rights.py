#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of an ordinary user, with the kernel's default restrictions and with stricter ones. A PyOpenCL program sleeps
and computes; the report must be correct and name the rights that would add data.
"""
import contextlib
import json
import os
import re
import shutil

import duet_test
from duet_test import ROOT, run, text

t = duet_test.Suite()
DUET = t.for_others(duet_test.DUET)
PYTHON = "/usr/bin/python3"
WORK = [PYTHON, t.for_others(os.path.join(ROOT, "tests", "programs", "python_idle.py")), "15", "20"]
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
LEVEL = "/proc/sys/kernel/perf_event_paranoid"
SHARED = t.path("shared")
os.mkdir(SHARED)
os.chmod(SHARED, 0o777)
HOME = {"HOME": SHARED, "POCL_CACHE_DIR": os.path.join(SHARED, "pocl"), "PYTHONDONTWRITEBYTECODE": "1"}


def program(name):
    """A test program that an ordinary user reaches."""
    return t.for_others(duet_test.program(name))


def need_user():
    t.wanted()
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise duet_test.Skip("only root can become an ordinary user")
    if run([PYTHON, "-c", "import pyopencl"]).status != 0:
        raise duet_test.Skip("no PyOpenCL (Debian package python3-pyopencl)")


def level():
    with open(LEVEL, encoding="ascii") as file:
        return int(file.read())


@contextlib.contextmanager
def at_level(wanted):
    """The machine's own rule, for the time of a case."""
    before = level()
    try:
        with open(LEVEL, "w", encoding="ascii") as file:
            file.write(str(wanted))
    except OSError as error:
        raise duet_test.Skip(f"{LEVEL} cannot be set: {error.strerror}") from None
    try:
        yield
    finally:
        with open(LEVEL, "w", encoding="ascii") as file:
            file.write(str(before))


def need_level(most):
    if level() > most:
        raise duet_test.Skip(f"kernel.perf_event_paranoid is {level()}")


class Seen:
    """A recording by an ordinary user, and what is said about it."""

    def __init__(self, before=(), duet=DUET, around=()):
        user = [*around, *ORDINARY, *before]
        self.trace = os.path.join(SHARED, "rights.duet")
        recorded = run([*user, duet, "record", "-v", "--collect", "opencl,cpu", "-o", self.trace, "--", *WORK], env=HOME)
        t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
        self.told = {path: int(ns) for path, ns in (line.split() for line in text(recorded.stdout).splitlines())}
        self.record = text(recorded.stderr)
        self.report = text(run([DUET, "report", self.trace]).stdout)
        self.json = t.report(self.trace)
        self.doctor = text(run([*user, duet, "doctor"], env=HOME).stdout)
        checks = json.loads(run([*user, duet, "doctor", "--json"], env=HOME).stdout)["collectors"]
        self.checks = {check["name"]: check for collector in checks if collector["name"] == "cpu"
                       for check in collector["checks"]}

    def folded(self, view):
        drawn = run([DUET, "flame", "--view", view, "--folded", self.trace])
        t.equal(drawn.status, 0, f"flame: {text(drawn.stderr)}")
        rows = (line.rsplit(" ", 1) for line in text(drawn.stdout).splitlines())
        return [(stack.split(";"), int(value)) for stack, value in rows]

    def said_everywhere(self, *words):
        for name in ("record", "report", "doctor"):
            said = " ".join(getattr(self, name).split())
            for word in words:
                t.true(word in said, f"{name} does not say '{word}': {said[:1500]}")

    def check_idle(self, tolerance):
        """The device idles as long as the program says it slept and computed. What it waited for a processor is neither;
        looks at threads cannot always tell that from computing, and come late themselves then."""
        causes = self.json["devices"][0]["idle_causes"]
        t.equal(sum(causes.values()), self.json["devices"][0]["idle_ns"], "the causes' sum")
        for cause, path in (("on_cpu", "compute_b"), ("blocked", "sleep_a")):
            off = tolerance * self.told[path] + self.told["waited"]
            t.true(max(0, self.told[path] - off) < causes[cause] < self.told[path] + off + 60e6,
                   f"{cause} {causes[cause]}, {path} took {self.told[path]}, waited {self.told['waited']}, {causes}")
        for line in ("launching thread computing", "launching thread blocked"):
            t.true(line in self.report, f"no line '{line}'")

    def check_launches(self):
        launches = self.folded("launch")
        ours = sum(value for stack, value in launches if any(re.match(r"launch\b", frame) for frame in stack))
        t.true(ours >= 31, f"{ours} launches from launch(): {launches[:3]}")

    def check_stacks(self):
        """Whose launches they were, and where the thread waited."""
        self.check_launches()
        blocked = [(stack, ns) for stack, ns in self.folded("idle") if "[idle: blocked]" in stack]
        # where the recorder came too late to look, it says so
        seen = [(stack, ns) for stack, ns in blocked if "[unknown stack]" not in stack]
        slept = sum(ns for stack, ns in seen if any(re.search("nanosleep|sleep_a", frame) for frame in stack))
        t.true(slept > 0.8 * sum(ns for _, ns in seen) > 0, f"asleep {slept} ns of {blocked}")

    def named_share(self):
        rows = self.folded("cpu")
        named = sum(ns for stack, ns in rows if not re.search(r"\+0x|\[unknown", stack[-1]))
        return named / max(1, sum(ns for _, ns in rows))


with t.case("an ordinary user, usual rules: all but the kernel's own time"):
    need_user()
    need_level(2)
    seen = Seen()
    seen.check_idle(0.2)
    seen.check_stacks()
    # not all: libraries of the compiler of kernels come without symbols
    t.true(seen.named_share() > 0.6, f"functions with a name have {seen.named_share():.2f} of the samples")
    t.true(seen.checks["perf"]["ok"] and seen.checks["waits"]["ok"], f"{seen.checks}")
    if level() == 2:
        seen.said_everywhere("samples inside the kernel are missing", "'sudo sysctl kernel.perf_event_paranoid=1'",
                             f"'sudo setcap cap_perfmon,cap_syslog+ep {os.path.realpath(DUET)}'")
        t.equal(seen.checks["kernel"]["fix"], "sudo sysctl kernel.perf_event_paranoid=1", "doctor's fix")

with t.case("an ordinary user, kernel.perf_event_paranoid 3: looks, and how to get samples"):
    need_user()
    with at_level(3):
        # Debian's and Ubuntu's kernels refuse by this level, others take 3 for 2: there a filter refuses as they do
        tried = json.loads(run([*ORDINARY, DUET, "doctor", "--json"], env=HOME).stdout)
        refuses = not all(check["ok"] for collector in tried["collectors"] for check in collector["checks"]
                          if check["name"] == "perf")
        seen = Seen([] if refuses else [program("no_perf"), "13"])
    seen.check_idle(0.6)
    seen.check_stacks()
    seen.said_everywhere("threads are polled", "kernel.perf_event_paranoid is 3",
                         "'sudo sysctl kernel.perf_event_paranoid=2'",
                         f"'sudo setcap cap_perfmon,cap_syslog+ep {os.path.realpath(DUET)}'")
    t.equal(seen.checks["perf"]["fix"], "sudo sysctl kernel.perf_event_paranoid=2", "doctor's fix")

for error, words in ((1, "perf events are refused (Operation not permitted)"), (38, "perf_event_open is missing")):
    with t.case(f"an ordinary user in a container that refuses perf events: {os.strerror(error)}"):
        need_user()
        need_level(2)
        seen = Seen([program("no_perf"), str(error)])
        seen.check_idle(0.6)
        seen.check_stacks()
        seen.said_everywhere("threads are polled", words, "seccomp filter", "--cap-add PERFMON",
                             "SystemCallFilter=perf_event_open")
        t.equal(seen.checks["perf"]["fix"], None, "no sysctl mends it")

with t.case("an ordinary user in a container that refuses to read other processes too"):
    need_user()
    need_level(2)
    seen = Seen([program("no_perf"), "1+vm"])
    seen.check_idle(0.6)
    seen.said_everywhere("wait locations are not recorded", "process_vm_readv", "--cap-add SYS_PTRACE")
    t.equal(seen.checks["waits"]["ok"], False, "doctor")
    seen.check_launches()

with t.case("an ordinary user whose /proc shows no other user's processes"):
    need_user()
    need_level(2)
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=invisible proc /proc && exec "$@"', "sh"]
    if run([*hidden, "true"]).status != 0:
        raise duet_test.Skip("no /proc of our own can be mounted here")
    for before, tolerance in (([], 0.2), ([program("no_perf"), "1"], 0.6)):
        seen = Seen(before, around=hidden)
        seen.check_idle(tolerance)
        seen.check_stacks()
        t.true(seen.checks["waits"]["ok"], f"{seen.checks}")

with t.case("the setcap of the message adds the kernel's functions by name"):
    need_user()
    need_level(2)
    folder = os.path.join(SHARED, "bin")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    for file in (DUET, duet_test.GUEST):
        shutil.copy(file, folder)
    own = os.path.join(folder, os.path.basename(DUET))
    setcap = shutil.which("setcap") or "/usr/sbin/setcap"
    if not os.path.exists(setcap) or run([setcap, "cap_perfmon,cap_syslog+ep", own]).status != 0:
        raise duet_test.Skip("setcap does not work here (Debian package libcap2-bin)")
    if run([*ORDINARY, own, "doctor"]).status != 0:
        raise duet_test.Skip("a file with capabilities cannot be run here")
    seen = Seen(duet=own)
    t.true(seen.checks["kernel"]["ok"] and seen.checks["waits"]["ok"], f"{seen.checks}")
    t.true("no samples" not in seen.report, seen.report[:500])
    seen.check_idle(0.2)
    seen.check_stacks()
    trace = os.path.join(SHARED, "kernel.duet")
    run([*ORDINARY, own, "record", "--collect", "opencl,cpu", "-o", trace, "--",
         "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=4000"])
    rows = text(run([DUET, "flame", "--view", "cpu", "--folded", trace]).stdout).splitlines()
    # the dynamic loader takes these from a duet with rights of its own, not from the program
    given = ["env", "LD_LIBRARY_PATH=/nowhere", "TMPDIR=" + SHARED, "MALLOC_ARENA_MAX=3"]
    has = text(run([*ORDINARY, *given, own, "record", "--collect", "opencl", "-o", trace, "--", "env"]).stdout).splitlines()
    t.equal([one for one in given[1:] if one not in has], [], "variables that the program has not")
    read = sum(int(row.rsplit(" ", 1)[1]) for row in rows if re.search("read_zero|vfs_read", row))
    t.true(read > 0.5 * sum(int(row.rsplit(" ", 1)[1]) for row in rows) > 0, f"below vfs_read: {rows[:5]}")

t.end()
