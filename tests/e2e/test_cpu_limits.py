#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU collector at its limits: many processes, threads, mappings and samples, and programs that may not be inspected. The
program behaves as without duet, the recorder's memory is bounded, and losses are counted.
"""
import json
import math
import os
import shutil
import stat
import subprocess

import duet_test
from duet_test import run, text

t = duet_test.Suite(needs_opencl=False)
DUET = t.for_others(duet_test.DUET)
ORDINARY = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
RSS_MOST_KIB = 200 << 10  # some 15 MiB are usual, and 100 MiB under a sanitizer
SANITIZED = b"__asan_init" in open(DUET, "rb").read()

SHARED = t.path("shared")
os.mkdir(SHARED)
os.chmod(SHARED, 0o777)


def program(name):
    """A test program that an ordinary user reaches."""
    return t.for_others(duet_test.program(name))


def folder(name):
    path = os.path.join(SHARED, name)
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    os.chmod(path, 0o777)
    return path


def record_measured(trace, command, options=(), before=()):
    """Status, output, and what the recorder had in memory at most, in KiB. (The largest of it and of the processes that
    it waited for.)"""
    out, err = t.path("out"), t.path("err")
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = subprocess.Popen(
            [*before, DUET, "record", "--collect", "opencl,cpu", "-o", trace, *options, "--", *command], stdout=stdout,
            stderr=stderr, stdin=subprocess.DEVNULL, env=duet_test.clean_environment(),
            preexec_fn=duet_test.default_signals)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    with open(out, "rb") as stdout, open(err, "rb") as stderr:
        return (duet_test.Result(duet_test.status_of(process.returncode), stdout.read(), stderr.read(), 0),
                usage.ru_maxrss)


def compare(name, command, before=(), files=False):
    """Without and with duet: the same; returns the trace."""
    trace = os.path.join(SHARED, name + ".duet")
    plain = run([*before[:len(ORDINARY)], *command, *([folder("files")] if files else [])])
    recorded, rss_kib = record_measured(trace, [*command, *([folder("files")] if files else [])], before=before)
    t.equal((recorded.status, recorded.stdout), (plain.status, plain.stdout), "status and output")
    t.true(b"duet record" not in recorded.stderr, text(recorded.stderr))
    t.true(SANITIZED or rss_kib < RSS_MOST_KIB, f"the recorder took {rss_kib >> 10} MiB")
    return trace


def rows(trace):
    info = json.loads(run([DUET, "info", "--json", trace]).stdout)
    return {row["kind"]: row["rows"] for row in info["kinds"]}


def lost(report, kind):
    return sum(loss["count"] for loss in report["losses"] if loss["kind"] == kind)


def by_function(trace):
    """{function: nanoseconds in it}"""
    report = run([DUET, "report", "--json", "--by", "cpu", trace])
    t.equal(report.status, 0, text(report.stderr))
    return {row["key"]: row["self"] for row in json.loads(report.stdout)["by"] if row["unit"] == "ns"}


def check_end(trace, least_ns):
    """At the end all of these programs work for 300 ms in one function."""
    found = by_function(trace).get("turn_around", 0)
    t.true(found > least_ns, f"{found} ns in turn_around")


with t.case("5000 processes in less than ten seconds"):
    t.wanted()
    trace = compare("forks", [program("cpu_limits"), "forks", "5000", "6000"])
    report = t.report(trace)
    t.true(rows(trace)["process"] + lost(report, "switch") >= 5000, f"{rows(trace)}, lost {report['losses']}")

with t.case("1000 threads at the same time"):
    t.wanted()
    trace = compare("threads", [program("cpu_limits"), "threads", "1000"])
    report = t.report(trace)
    t.true(rows(trace)["thread"] + lost(report, "switch") >= 1001, f"{rows(trace)}, lost {report['losses']}")

with t.case("10000 libraries"):
    t.wanted()
    trace = compare("libraries", [program("cpu_limits"), "libraries", "10000"], files=True)
    check_end(trace, 150e6)
    report = t.report(trace)
    t.equal(lost(report, "cpu_sample"), 0, "samples lost")

with t.case("70000 mappings in a process's life, 100 at a time"):
    t.wanted()
    trace = compare("churn", [program("cpu_limits"), "churn", "70000"], files=True)
    check_end(trace, 150e6)
    t.true("mappings of code are not kept" not in text(run([DUET, "report", trace]).stdout), "all found room")

with t.case("50000 mappings at a time"):
    t.wanted()
    trace = compare("many", [program("cpu_limits"), "hold", "50000"], files=True)
    check_end(trace, 150e6)

with t.case("20000 samples a second: switches are not lost with them"):
    t.wanted()
    trace = os.path.join(SHARED, "often.duet")
    recorded, rss_kib = record_measured(trace, [program("cpu_work"), "threads", "2", "600"], ["-F", "20000"])
    t.equal(recorded.status, 0, text(recorded.stderr))
    t.true(SANITIZED or rss_kib < RSS_MOST_KIB, f"the recorder took {rss_kib >> 10} MiB")
    report = t.report(trace)
    told_ns = int(recorded.stdout.split()[1])
    found = report["cpu"][0]
    count = found["samples"] + lost(report, "cpu_sample")
    t.equal(lost(report, "switch"), 0, "switches lost")
    held_back = "throttled sampling" in text(run([DUET, "report", trace]).stdout)
    # one in 50 us; a lost one is counted
    t.true(held_back or abs(count - told_ns / 50e3) < 0.05 * told_ns / 50e3 + 5 * math.sqrt(told_ns / 50e3),
           f"{count} of {told_ns / 50e3:.0f} samples, {lost(report, 'cpu_sample')} of them lost")

with t.case("little memory may be locked: smaller rings, for all processors the same"):
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root can become somebody else")
    trace = os.path.join(SHARED, "locked.duet")
    recorded, _ = record_measured(trace, [program("cpu_work"), "shares", "400"],
                                  before=[*ORDINARY, "prlimit", "--memlock=0:0"])
    t.equal(recorded.status, 0, text(recorded.stderr))
    report = t.report(trace)
    told_ns = sum(int(line.split()[1]) for line in text(recorded.stdout).splitlines())
    t.equal(report["cpu"][0]["source"] in ("cpu-clock", "cycles"), True, "sampled, not looked at")
    t.true(found["samples"] > 0 and lost(report, "switch") == 0, f"{report['cpu']} {report['losses']}")
    t.true(abs(report["cpu"][0]["weight"] - told_ns) < 0.25 * told_ns or report["cpu"][0]["unit"] != "ns",
           f"{report['cpu']} of {told_ns} ns")

with t.case("a program with other rights, started by an ordinary user"):
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root can make one, and become somebody else")
    if os.statvfs(SHARED).f_flag & os.ST_NOSUID:
        raise duet_test.Skip(f"{SHARED} is on a file system where setuid does nothing")
    special = os.path.join(SHARED, "become")
    shutil.copy(program("cpu_limits"), special)
    os.chmod(special, 0o4755)
    trace = os.path.join(SHARED, "setuid.duet")
    script = f"{special} forks 3 10; {program('cpu_limits')} forks 2 10; exit 7"
    plain = run([*ORDINARY, "/bin/sh", "-c", script])
    recorded, _ = record_measured(trace, ["/bin/sh", "-c", script], before=ORDINARY)
    t.equal((recorded.status, recorded.stdout), (plain.status, plain.stdout), "status and output")
    t.equal(plain.status, 7, "it ran")
    said = text(run([DUET, "report", trace]).stdout)
    t.true("not recorded: 'become'" in said, said[:600])
    t.true(all(f"{before}'cpu_limits'" not in said for before in ("not recorded: ", "'become', ")), said[:600])
    # nothing is known of its end, but that it was there
    t.true(rows(trace)["process"] >= 3, f"{rows(trace)}")
    os.chmod(special, 0o711)
    recorded, _ = record_measured(trace, [special, "forks", "3", "10"], before=ORDINARY)
    t.equal((recorded.status, recorded.stdout), (0, b"3 children\n"), "a file that may not be read")
    t.true("not recorded: 'become'" in text(run([DUET, "report", trace]).stdout), "it is named")
    os.chmod(special, stat.S_IRWXU | 0o055)
    recorded, _ = record_measured(trace, [special, "forks", "3", "10"], before=ORDINARY)
    t.true("not recorded: '" not in text(run([DUET, "report", trace]).stdout).replace("opencl", ""),
           "one that is like others")

with t.case("a program that shuts debuggers out, started by an ordinary user"):
    t.wanted()
    if os.getuid() != 0:
        raise duet_test.Skip("only root can become somebody else")
    trace = os.path.join(SHARED, "shut.duet")
    recorded, _ = record_measured(trace, [program("cpu_limits"), "shut", "30"], before=ORDINARY)
    t.equal(recorded.status, 0, text(recorded.stderr))
    t.true("excludes debuggers" not in text(recorded.stderr), "it is no news to who runs it")
    for what in ("report", "info"):
        said = text(run([DUET, what, trace]).stdout)
        t.true("('cpu_limits') are missing" in said and "it excludes debuggers" in said, f"{what}: {said[:900]}")
    t.true(rows(trace)["switch"] >= 60, f"when it waits is known: {rows(trace)}")

for error in (1,):
    with t.case("perf refused: orphans, and processes that called exec"):
        t.wanted()
        refused = [program("no_perf"), str(error)]
        trace = os.path.join(SHARED, "daemon.duet")
        recorded, _ = record_measured(trace, [program("cpu_limits"), "daemon", "700"], before=refused)
        t.equal(recorded.status, 0, text(recorded.stderr))
        found, told_ns = t.report(trace)["cpu"][0], int(recorded.stdout)
        t.equal(found["source"], "thread-state", "looked at")
        # up to 200 ms are before the first look, and one look stands for at most 50 ms
        t.true(0.5 * told_ns - 50e6 < found["weight"] <= 1.1 * told_ns, f"{found} of {told_ns}")
        recorded, _ = record_measured(trace, [program("cpu_limits"), "again", "500"], before=refused)
        t.equal((recorded.status, recorded.stdout), (0, b"again\n"), "it ran")
        t.equal(rows(trace)["process"], 2, "images")

t.end()
