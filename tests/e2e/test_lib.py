#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that record themselves with libduet: every range is recorded, whichever process dies, and the program is not
affected.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

import duet_test
from duet_test import BUILD, DUET, ROOT, Running, program, run, text

t = duet_test.Suite(needs_opencl=False)

IS_ALONE = duet_test.leave_network()

LIBRARIES = os.path.join(BUILD, "src", "lib")
OWN = {"DUET_PROGRAM": DUET}
STEPS, INNERS = 100, 2


def work(*operations, env=None, **more):
    t.wanted()
    return run([program("lib_work"), *operations], env=dict(OWN, **(env or {})), **more)


def lines(result):
    return text(result.stdout).splitlines()


def rows_of(trace, kind="range"):
    exported = run([DUET, "export", "-f", "jsonl", "--kind", kind, trace])
    t.equal(exported.status, 0, f"export of {trace}: {text(exported.stderr)}")
    return [row for row in map(json.loads, exported.stdout.splitlines()) if row["kind"] == kind]


def counts(rows, *keys):
    return dict(collections.Counter(tuple(row[key] for key in keys) for row in rows))


def names(trace):
    return sorted(row["name"] for row in rows_of(trace))


def is_whole(trace):
    """Whether the recorder has finished the file."""
    about = run([DUET, "info", "--json", trace])
    return about.status == 0 and not json.loads(about.stdout)["damage"]["damaged"]


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within 60 s: {what}")
        time.sleep(0.02)


def parent_of(pid):
    """0 where the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def recorders_of(pid):
    """Pids of the recorders that the process has started, without the children that read files for them."""
    wanted = ["record", "--pid", str(pid), "--owner"]
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = text(file.read()).split("\0")
        except OSError:
            continue
        if words[1:5] == wanted:
            found.append(int(path.split("/")[2]))
    return [one for one in found if parent_of(one) not in found]


def example(name):
    path = os.path.join(BUILD, "examples", name)
    if not os.path.exists(path):
        raise duet_test.Skip(f"examples/{name} was not built")
    return path


def of_threads(count):
    return {("duet", "step", "push_pop"): STEPS * count, ("other", "inner", "push_pop"): STEPS * INNERS * count,
            ("duet", "mark", "mark"): STEPS * count}


with t.case("on its own: every range of every thread, and nothing else of the program is touched"):
    trace = t.path("alone.duet")
    result = work("null", f"open={trace}", "recording", "push=before", "quiet", "start", "recording", "threads=4",
                  "move=5", "stop", "quiet", "recording", "pop", "mark=after", "close", "quiet")
    said = lines(result)
    t.equal(said[0], "null -22 0 0 no handle: duet_open failed, and errno said why", "without a handle")
    quiet = [line for line in said if line.startswith("quiet")]
    t.equal([line for line in said[1:] if not line.startswith("quiet")],
            ["recording 0", "start 0", "recording 1", "stop 0", "recording 0"], "what the calls return")
    t.equal((quiet, set(quiet)), ([quiet[0]] * 3, {"quiet 0 -1 No child processes 0 1 2"}),
            "no child, no signal, no descriptor")
    t.equal((result.status, result.stderr), (0, b""), "the program")
    rows = rows_of(trace)
    t.equal(counts(rows, "domain", "name", "type"), {**of_threads(4), ("duet", "moved", "start_stop"): 5}, "ranges")
    t.equal(len({row["thread"] for row in rows if row["name"] == "step"}), 4, "threads")
    t.equal([row for row in rows if row.get("open") or row.get("unbegun")], [], "each has its begin and its end")
    report = t.report(trace)
    t.equal((report["losses"], len(report["processes"])), ([], 1), "losses, processes")
    t.equal({tuple(row["path"]) for row in report["ranges"]},
            {("step",), ("step", "inner"), ("step", "mark"), ("moved",)}, "what is within what")

with t.case("counters are series of the process"):
    trace = t.path("counters.duet")
    work(f"open={trace}", "start", "count=5", "nameless", "count=-7", "threads=2", "count=9007199254740993", "close")
    exported = run([DUET, "export", "-f", "jsonl", trace])
    rows = [json.loads(line) for line in exported.stdout.splitlines()]
    series = {row["id"]: row for row in rows if row["kind"] == "series"}
    found = collections.defaultdict(list)
    for row in rows:
        if row["kind"] == "counter":
            found[series[row["series"]]["metric"]].append(row)
    t.equal([row["value"] for row in found["work.done"]], [5, -7, 9007199254740993], "values")
    t.equal(sorted(row["value"] for row in found["steps.done"]), sorted(2 * list(range(STEPS))), "of threads")
    t.equal({(row["metric"], row["unit"], row["type"], row["source"]) for row in series.values()},
            {("work.done", "events", "level", "libduet"), ("steps.done", "events", "level", "libduet")}, "series")
    own = found["work.done"]
    t.equal([row["begin"] for row in own], [own[0]["begin"]] + [row["end"] for row in own[:-1]], "up to the next")
    t.true(own[0]["begin"] < own[0]["end"], "a value stands from when it was said")
    t.equal(t.report(trace)["losses"], [], "one without a name is not recorded, and not lost")

with t.case("started again: each recording has a file of its own, and an error is said once"):
    operations = ("start", "mark=one", "start", "stop", "mark=none", "start", "mark=two", "stop", "stop", "start", "mark=three",
                  "close")
    for _ in range(2):
        result = work(f"open={t.path('run.duet')}", *operations)
        t.equal(lines(result), ["start 0", "start -114 it is already recording", "stop 0", "start 0", "stop 0", "stop 0", "start 0"],
                "what the calls return")
    t.equal({os.path.basename(path): names(path) for path in glob.glob(t.path("run*"))},
            {"run.duet": ["one"], "run.2.duet": ["two"], "run.3.duet": ["three"]}, "files")
    work(f"open={t.path('plain')}", *operations)
    t.equal(sorted(map(os.path.basename, glob.glob(t.path("plain*")))), ["plain", "plain.2", "plain.3"], "without an ending")
    work(f"open={t.path('%q{STEP}.duet')}", "start", "mark=one", "stop", "env=STEP=9", "start", "mark=two", "close",
         env={"STEP": "8"})
    t.equal({name: names(t.path(name)) for name in ("8.duet", "9.duet")}, {"8.duet": ["one"], "9.duet": ["two"]},
            "names of the program's")
    t.equal(glob.glob(t.path("9.*.duet")), [], "are left as they are")

with t.case("under duet record: its ranges are recorded, without a second recorder"):
    trace, own = t.path("under.duet"), t.path("own.duet")
    operations = [program("lib_work"), f"open={own}", "mark=before", "start", "recording", "threads=2", "stop", "mark=between",
                  "start", "threads=1", "stop", "close", "quiet"]
    t.wanted()
    recorded = run([DUET, "record", "-o", trace, "--", *operations], env=OWN)
    t.equal((recorded.status, lines(recorded)),
            (0, ["start 1", "recording 1", "stop 0", "start 1", "stop 0", "quiet 0 -1 No child processes 0 1 2"]), "the program")
    t.equal(os.path.exists(own), False, "no file of its own")
    t.equal(counts(rows_of(trace), "domain", "name", "type"), of_threads(3), "ranges")
    report = t.report(trace)
    t.equal((report["losses"], len(report["processes"])), ([], 1), "losses, processes")
    recorded = run([DUET, "record", "--collect", "opencl", "-o", trace, "--", *operations], env=OWN)
    t.equal(lines(recorded)[:2], ["start 1", "recording 0"], "a recorder that leaves ranges out")
    t.equal(rows_of(trace), [], "ranges that are left out")

with t.case("under duet record with a recorder of its own"):
    trace, own = t.path("outer.duet"), t.path("inner.duet")
    t.wanted()
    recorded = run([DUET, "record", "-o", trace, "--", program("lib_work"), "own", f"open={own}", "start", "mark=own", "close"],
                   env=OWN)
    t.equal(lines(recorded), ["start 0"], "start")
    t.equal((names(own), names(trace)), (["own"], []), "marks")

with t.case("DUET_JOIN joins any recorder and starts none"):
    t.wanted()
    if not IS_ALONE:
        raise duet_test.Skip("another recorder may be running: a network of our own takes root")
    other = Running(["/bin/cat"], stdin=subprocess.PIPE)
    others = Running([DUET, "record", "--collect", "ranges", "-o", t.path("others.duet"), "-p", str(other.pid)])
    wait_for(lambda: f"@duet-any-{os.geteuid()}" in open("/proc/self/net/unix", encoding="utf-8").read(), "it listens")
    running = Running([program("lib_work"), "join", "open=", "start", "recording", "ready=looking", "await", "threads=1", "recording",
                       "ready=again", "mark=unheard", "await", "mark=heard", "ready=done", "threads=1", "close"], env=OWN, stdin=subprocess.PIPE)
    running.wait_line("looking")
    t.equal(recorders_of(running.pid), [], "no recorder")
    other.process.stdin.close()
    t.equal(others.finish().status, 0, "the recorder of another program")
    trace = t.path("joined.duet")
    recorder = Running([DUET, "record", "--collect", "ranges", "-v", "-o", trace, "-p", str(running.pid)])
    running.say("now")
    running.wait_line("again")
    os.kill(recorder.pid, signal.SIGTERM)
    t.equal(recorder.finish().status, 0, "the recorder")
    second = t.path("second.duet")
    recorder = Running([DUET, "record", "--collect", "ranges", "-v", "-o", second, "-p", str(running.pid)])
    running.say("now")
    running.wait_line("done")
    running.say("end")
    t.equal(lines(running.finish()), ["start 2", "recording 0", "looking", "recording 1", "again", "done"], "the program")
    t.equal(recorder.finish().status, 0, "the second one")
    found = counts([row for row in rows_of(trace) if row["name"] != "awaited"], "domain", "name", "type")
    t.equal(found, of_threads(1), "ranges")
    found = counts([row for row in rows_of(second) if row["name"] != "awaited"], "domain", "name", "type")
    t.equal(found, {**of_threads(1), ("work", "heard", "mark"): 1}, "of the second")

with t.case("a program that joined a recorder also joins the next one"):
    t.wanted()
    if not IS_ALONE:
        raise duet_test.Skip("another recorder may be running: a network of our own takes root")
    first, second = t.path("before.duet"), t.path("after.duet")
    running = Running([DUET, "record", "--collect", "ranges", "-d", "1", "-o", first, "--", program("lib_work"), "open=", "start",
                       "mark=one", "until-idle", "ready=alone", "await", "mark=two", "ready=done", "close"],
                      env=OWN, stdin=subprocess.PIPE)
    running.wait_line("alone")
    recorder = Running([DUET, "record", "--collect", "ranges", "-o", second, "-p", str(running.children()[0])])
    running.say("now")
    running.wait_line("done")
    running.say("end")
    t.equal((running.finish().status, recorder.finish().status), (0, 0), "the program, the recorder")
    t.equal([[name for name in names(trace) if name != "awaited"] for trace in (first, second)], [["one"], ["two"]], "marks")

with t.case("a thousand handles, one after the other, are to the recorder as one"):
    t.wanted()
    trace = t.path("cycles.duet")
    recorded = run([DUET, "record", "--collect", "ranges", "-o", trace, "--", program("lib_work"), "cycles=900", "quiet"], env=OWN)
    t.equal((recorded.status, lines(recorded)), (0, ["mappings 0", "quiet 0 -1 No child processes 0 1 2"]), text(recorded.stderr))
    report = t.report(trace)
    t.equal((len(rows_of(trace)), report["losses"], len(report["processes"])), (900, [], 1), "marks, losses, processes")

with t.case("a failed start has a reason and does no harm"):
    t.wanted()
    folder = t.path("shut")
    os.mkdir(folder, 0o700)
    cases = [
        ({"DUET_PROGRAM": "/nowhere/duet"}, "x.duet", "-2 DUET_PROGRAM names no program that may be run: /nowhere/duet"),
        ({"DUET_PROGRAM": "", "PATH": "/nowhere"}, "x.duet", "-2 recording is not possible: no program 'duet' found, neither "),
        ({"DUET_PROGRAM": "/bin/true"}, "x.duet", "-5 the recorder ended without a word; is that program duet"),
        ({"DUET_PROGRAM": "/bin/false"}, "x.duet", "-5 the recorder ended without a word; is that program duet"),
        (OWN, "/nowhere/x.duet", "-5 the recorder says: "),
    ]
    if os.path.exists("/usr/local/bin/duet"):
        del cases[1]
    for env, output, want in cases:
        result = work(f"open={output}", "start", "recording", "threads=1", "stop", "close", "quiet", env=env)
        said = lines(result)
        t.true(said[0].startswith("start " + want), f"{env} {output}: {said[0]}")
        t.equal((result.status, said[1:]), (0, ["recording 0", "stop 0", "quiet 0 -1 No child processes 0 1 2"]), f"{env}")
    if os.geteuid() == 0:
        def become_nobody():
            os.setgid(65534)
            os.setuid(65534)
        for library in glob.glob(os.path.join(LIBRARIES, "libduet.so*")):
            t.for_others(library)
        result = run([t.for_others(program("lib_work")), f"open={folder}/x.duet", "start", "mark=lost", "close"],
                     env={"DUET_PROGRAM": t.for_others(DUET)}, preexec_fn=become_nobody, cwd="/")
        t.true("Permission denied" in lines(result)[0] and f"{folder}/x.duet" in lines(result)[0], lines(result)[0])
        privileged = t.path("privileged")
        shutil.copy(example("scopes"), privileged)  # has the library inside
        os.chmod(privileged, 0o4755)
        result = run([privileged], env=OWN, preexec_fn=become_nobody, cwd=t.folder)
        t.equal((result.status, text(result.stderr)),
                (0, "not recorded: the program runs with another user's rights (setuid): such are not recorded\n"), "setuid")

with t.case("by a configuration file"):
    trace, config = t.path("configured.duet"), t.path("duet.textproto")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'output: "{trace}" collect: ["ranges"] command: ["/bin/false"]')
    result = work(f"config={config}", "open=", "start", "mark=here", "stop", "close")
    t.equal((lines(result), names(trace)), (["start 0", "stop 0"], ["here"]), "what it says")
    with open(config, "w", encoding="utf-8") as file:
        file.write("colect: []")
    result = work(f"config={config}", "open=", "start", "close")
    t.true(lines(result)[0].startswith("start -5 the recorder says: ") and "colect" in lines(result)[0], lines(result)[0])

with t.case("--owner refuses ordinary use"):
    t.wanted()
    for options, want in ((["--owner", "9", "-p", str(os.getpid())], "descriptor 9 is not a socket of a program"),
                          (["--owner", "9", "--", "/bin/true"], "is for libduet, which records its own process with -p")):
        result = run([DUET, "record", "-o", t.path("no.duet"), *options])
        t.equal((result.status, want in text(result.stderr)), (125, True), text(result.stderr))

with t.case("a program without descriptors 0 and 2"):
    trace = t.path("closed.duet")
    result = work("closed", f"open={trace}", "start", "mark=here", "stop", "close", "quiet")
    t.equal(lines(result), ["start 0", "stop 0", "quiet 0 -1 No child processes 1"], "the program")
    t.equal(names(trace), ["here"], "marks")

with t.case("a program to which orphans come: the recorder is not among them"):
    trace = t.path("reaper.duet")
    operations = [f"open={trace}", "start", "quiet", "mark=here", "stop", "quiet", "start", "mark=again", "stop", "close", "quiet"]
    quiet = "quiet 0 -1 No child processes 0 1 2"
    wanted = ["start 0", "quiet 0 -1 No child processes 0 1 2 3 4", "stop 0", quiet, "start 0", "stop 0", quiet]
    for operation, before in (("a subreaper", ["reaper"]), ("process 1", [])):
        command = [program("lib_work"), *before, *operations]
        if not before:
            command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *command]
            if run([*command[:5], "/bin/true"]).status:
                raise duet_test.Skip("no process 1 to be had: a pid namespace takes root")
        t.wanted()
        result = run(command, env=OWN)
        t.equal((result.status, lines(result)), (0, wanted), operation)
        for path, mark in ((trace, "here"), (trace.replace(".duet", ".2.duet"), "again")):
            t.equal((names(path), len(t.report(path)["processes"])), ([mark], 1), operation)
    failed = work("reaper", f"open={trace}", "start", "close", "quiet", env={"DUET_PROGRAM": "/bin/false"})
    t.equal(lines(failed)[1:], [quiet], "a recorder that fails")

with t.case("a child of a fork is a process of its own, and not the recorder's owner"):
    trace = t.path("fork.duet")
    result = work(f"open={trace}", "start", "push=outer", "mark=parent", "fork", "mark=child", "threads=1", "stop", "mark=none",
                  "close", "parent", "fork", "close", "parent", "fork", "start", "mark=again", "parent", "recording",
                  "mark=parent", "pop", "stop", "fork", "mark=late", "recording", "parent", "close")
    t.equal(lines(result), ["start 0", "stop 0", "start 1", "recording 1", "stop 0", "recording 0"], "what the calls return")
    rows = rows_of(trace)
    t.equal(counts(rows, "name"), {("outer",): 1, ("parent",): 2, ("child",): 1, ("again",): 1, ("step",): STEPS,
                                   ("inner",): STEPS * INNERS, ("mark",): STEPS}, "ranges")
    processes = {name: {row["process"] for row in rows if row["name"] == name} for name in ("outer", "parent", "child", "again", "step")}
    t.equal((processes["outer"], processes["step"]), (processes["parent"], processes["child"]), "whose they are")
    t.equal(len(processes["parent"] | processes["child"] | processes["again"]), 3, "processes")
    t.equal(t.report(trace)["losses"], [], "losses")

with t.case("exec ends what the program recorded of itself"):
    trace = t.path("exec.duet")
    result = work(f"open={trace}", "start", "mark=before", "push=open", "exec", "quiet")
    t.equal(lines(result), ["start 0", "quiet 0 -1 No child processes 0 1 2"], "the program")
    wait_for(lambda: is_whole(trace), "the file is complete")
    t.equal(sorted((row["name"], row.get("open", False)) for row in rows_of(trace)), [("before", False), ("open", True)], "ranges")

with t.case("kill -9 of the program: all its events are recorded, and the recorder ends"):
    trace = t.path("killed.duet")
    t.wanted()
    reading, writing = os.pipe()
    everywhere = os.sched_getaffinity(0)
    running = Running(["taskset", "-c", str(min(everywhere)), program("lib_work"), f"open={trace}", "start", "threads=3",
                       "push=last words", "ready=now"], env=OWN, stdin=subprocess.PIPE, pass_fds=[writing])
    running.wait_line("now")
    recorders = recorders_of(running.pid)
    t.equal(len(recorders), 1, "recorders")
    t.equal([os.getsid(pid) for pid in recorders], recorders, "a session of its own")
    t.equal((os.sched_getaffinity(running.pid), os.sched_getaffinity(recorders[0]) >= everywhere), ({min(everywhere)}, True),
            "the recorder is not bound to where the program is")
    held = [os.readlink(path) for path in glob.glob(f"/proc/{recorders[0]}/fd/*")]
    t.true(os.readlink(f"/proc/{os.getpid()}/fd/{reading}") not in held, "it holds no descriptor of the program's")
    os.kill(running.pid, signal.SIGKILL)
    t.equal(running.finish().status, 137, "killed")
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in recorders), "the recorder ends")
    t.true(is_whole(trace), "the file is complete")
    t.equal(counts(rows_of(trace), "domain", "name", "type"), {**of_threads(3), ("work", "last words", "push_pop"): 1}, "ranges")

with t.case("an end without a stop"):
    trace = t.path("nostop.duet")
    result = work(f"open={trace}", "start", "threads=1")
    wait_for(lambda: is_whole(trace), "the file is complete")
    t.equal((lines(result), counts(rows_of(trace), "domain", "name", "type")), (["start 0"], of_threads(1)), "ranges")

with t.case("kill -9 of the recorder: the program goes on, and may start another"):
    trace = t.path("recorder.duet")
    t.wanted()
    running = Running([program("lib_work"), f"open={trace}", "start", "mark=one", "ready=now", "threads=2", "stop",
                       "start", "mark=two", "ready=again", "start", "mark=three", "stop", "close", "quiet"], env=OWN,
                      stdin=subprocess.PIPE)
    for word in ("now", "again"):
        running.wait_line(word)
        for pid in recorders_of(running.pid):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda gone=pid: not os.path.exists(f"/proc/{gone}"), "the recorder is gone")
        running.say("go on")
    ended = running.finish()
    t.equal((ended.status, lines(ended)),
            (0, ["start 0", "now", "stop -32 the recorder died: the file ends where it did, and is readable", "start 0",
                 "again", "start 0", "stop 0", "quiet 0 -1 No child processes 0 1 2"]), "the program")
    for left in (trace, t.path("recorder.2.duet")):
        t.equal(run([DUET, "report", left]).status, 0, "the file of a dead one is there, and readable")
    t.equal(names(t.path("recorder.3.duet")), ["three"], "the last one")

with t.case("a recorder that never answers is given up"):
    t.wanted()
    sleeper = t.path("sleeper")
    with open(sleeper, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexec sleep 30 3<&-\n")  # the other end hangs up
    os.chmod(sleeper, 0o755)
    result = work("open=x.duet", "start", "close", env={"DUET_PROGRAM": sleeper})
    t.equal(lines(result), ["start -5 the recorder ended without a word; is that program duet, and of this library's version?"],
            "start")

with t.case("a plug-in with the library inside comes and goes, beside the program's own"):
    t.wanted()
    plugin = "plugin=" + program("lib_plugin.so")
    trace = t.path("plugin.duet")
    recorded = run([DUET, "record", "-o", trace, "--", program("lib_work"), "open=", "start", "mark=one", plugin, plugin,
                    "mark=two", plugin, "threads=1", "close", "quiet"], env=OWN)
    t.equal((recorded.status, lines(recorded)),
            (0, ["start 1", "plugin 1", "plugin 1", "plugin 1", "quiet 0 -1 No child processes 0 1 2"]), "the program")
    t.equal(counts(rows_of(trace), "domain", "name", "type"),
            {**of_threads(1), ("work", "one", "mark"): 1, ("work", "two", "mark"): 1, ("plugin", "work", "push_pop"): 3,
                                   ("plugin", "of a thread", "mark"): 3}, "ranges")
    report = t.report(trace)
    t.equal((report["losses"], len(report["processes"])), ([], 1), "losses, processes")
    recorded = run([DUET, "record", "-o", trace, "--", program("lib_work"), plugin, plugin], env=OWN)
    t.equal((recorded.status, lines(recorded)), (0, ["plugin 1", "plugin 1"]), "nothing but plug-ins")
    t.equal(len({row["process"] for row in rows_of(trace)}), 1, "one process")

STEPS_SHOWN, SWINGS = 10, 3  # of examples/ranges.c


def idle_within(spans, ranges):
    """Of the ranges' time the part in which none of the spans was, by sorting them out anew for each."""
    idle = 0
    for row in ranges:
        at = row["begin"]
        for begin, end in spans:
            idle += max(0, min(begin, row["end"]) - at)
            at = max(at, min(end, row["end"]))
        idle += max(0, row["end"] - at)
    return idle


def check_example(trace, domain):
    """What the report says of the example's ranges is what its kernels and copies say."""
    report = {row["name"]: row for row in t.report(trace)["ranges"]}
    t.equal({name: (row["domain"], tuple(row["path"]), row["count"], row["launches"]) for name, row in report.items()},
            {"step": (domain, ("step",), STEPS_SHOWN, STEPS_SHOWN * (1 + 2 * SWINGS)),
             "upload": (domain, ("step", "upload"), STEPS_SHOWN, STEPS_SHOWN)}, "ranges and what was launched in them")
    lines_of = run([DUET, "export", "-f", "jsonl", "--kind", "launch,execution", trace]).stdout.splitlines()
    items = [json.loads(line) for line in lines_of]
    ran = {row["correlation"]: (row["started"], row["ended"]) for row in items if row["kind"] == "execution"}
    for name, row in report.items():
        ranges = [item for item in rows_of(trace) if item["name"] == name]
        within = [ran[item["correlation"]] for item in items if item["kind"] == "launch" and
                  any(one["begin"] <= item["enter"] < one["end"] for one in ranges)]
        t.equal(row["device_ns"], sum(end - begin for begin, end in within), f"{name}: time on the device")
        t.equal(row["idle_ns"], idle_within(sorted(ran.values()), ranges), f"{name}: idle")
        t.true(0 < row["idle_ns"] < row["total_ns"], f"{name}: {row}")
    said = text(run([DUET, "report", "--by", "range", trace]).stdout)
    t.true(re.search(r"^RANGES +count +total +mean +max +self +device +idle +CPU$", said, re.M) and
           re.search(rf"^  {domain}: step +10( +[\d.]+ \S+){{6}} ", said, re.M) and
           re.search(r"^    upload +10( +[\d.]+ \S+){6} ", said, re.M), said)


with t.case("the example: device time of its ranges, with any recorder"):
    t.wanted()
    folder = t.path("example")
    os.mkdir(folder)
    recorded = run([DUET, "record", "-o", t.path("example.duet"), "--", example("ranges")], cwd=folder)
    t.equal((recorded.status, recorded.stderr, os.listdir(folder)), (0, b"", []), "under duet record")
    check_example(t.path("example.duet"), "duet")
    if not IS_ALONE:
        raise duet_test.Skip("another recorder may be running: a network of our own takes root")
    alone = run([example("ranges")], cwd=folder,
                env=dict(OWN, OPENCL_LAYERS=os.path.join(BUILD, "libduet-opencl.so")))
    t.equal((alone.status, alone.stderr), (0, b""), "alone")
    check_example(os.path.join(folder, "ranges.duet"), "duet")

with t.case("the same by NVTX"):
    t.wanted()
    recorded = run([DUET, "record", "-o", t.path("nvtx.duet"), "--", example("ranges_nvtx")])
    t.equal((recorded.status, recorded.stderr), (0, b""), "the program")
    check_example(t.path("nvtx.duet"), "NVTX")

with t.case("C++: ranges that end with their scope"):
    t.wanted()
    folder = t.path("scopes")
    os.mkdir(folder)
    result = run([example("scopes")], cwd=folder, env=OWN)
    t.equal((result.status, result.stderr), (0, b""), "the program")
    t.equal(counts(rows_of(os.path.join(folder, "scopes.duet")), "domain", "name"),
            {("example", "sum"): 5, **{("example", f"step {i}"): 1 for i in range(5)}}, "ranges")

with t.case("C++: ranges that exceptions leave"):
    t.wanted()
    if not os.path.exists(os.path.join(BUILD, "tests", "programs", "lib_throws")):
        raise duet_test.Skip("no g++")
    trace = t.path("throws.duet")
    result = run([program("lib_throws"), trace, "97"], env=OWN)
    t.equal((result.status, lines(result)), (0, [f"0 {2 * 97}"]), "the program")
    rows = rows_of(trace)
    t.equal(counts(rows, "name"), {("try",): 2 * 97, ("depth",): 2 * 97 * 3, ("caught",): 2 * 97}, "ranges")
    t.equal([row for row in rows if row.get("open") or row.get("unbegun")], [], "each has its begin and its end")

with t.case("exported symbols and required libraries"):
    t.wanted()
    shared, static = os.path.join(LIBRARIES, "libduet.so.1"), os.path.join(LIBRARIES, "libduet.a")
    with open(os.path.join(ROOT, "include", "duet.h"), encoding="utf-8") as file:
        declared = set(re.findall(r"^DUET_PUBLIC .*?\b(duet_\w+)\(", file.read(), re.M))
    symbols = text(run(["nm", "-D", "--defined-only", shared]).stdout)
    t.equal(set(re.findall(r" T (\S+)", symbols)), {name + "@@DUET_1" for name in declared}, "shared")
    t.equal(set(re.findall(r" [^AT] (\S+)", symbols)), set(), "nothing but functions")
    t.equal(set(re.findall(r" [A-Z] (\S+)", text(run(["nm", "--defined-only", static]).stdout))), declared, "static")
    needed = text(run(["readelf", "-d", shared]).stdout)
    t.equal(re.findall(r"NEEDED.*\[(.*)\]", needed), ["libc.so.6"], "libraries that it needs")
    t.equal(re.findall(r"SONAME.*\[(.*)\]", needed), ["libduet.so.1"], "its name")

with t.case("installed: built with pkg-config, from C and C++, shared and static"):
    t.wanted()
    if not shutil.which("pkg-config") or not shutil.which("g++"):
        raise duet_test.Skip("no pkg-config or no g++")
    tree = t.path("tree")
    installed = run(["/usr/bin/meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", tree])
    t.equal(installed.status, 0, text(installed.stdout)[-400:])
    folder = os.path.dirname(glob.glob(tree + "/**/pkgconfig/duet.pc", recursive=True)[0])
    env = {"PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": tree}
    library = os.path.dirname(folder)
    duet = glob.glob(tree + "/**/bin/duet", recursive=True)[0]
    shutil.copy(os.path.join(ROOT, "tests", "programs", "lib_user.c"), t.path("user.c"))
    shutil.copy(t.path("user.c"), t.path("user.cpp"))
    for compiler, source, standard in (("gcc", "user.c", "-std=c99"), ("g++", "user.cpp", "-std=c++98")):
        for static in (False, True):
            flags = text(run(["pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "duet"], env=env).stdout).split()
            if static:
                flags = [f"-l:libduet.a" if flag == "-lduet" else flag for flag in flags]
            name = t.path(f"user-{compiler}-{static}")
            built = run([compiler, standard, "-Wall", "-Wextra", "-pedantic", "-Werror", t.path(source), "-o", name, *flags])
            t.equal(built.status, 0, f"{compiler} {flags}: {text(built.stderr)}")
            trace = name + ".duet"
            result = run([name, trace], env={"LD_LIBRARY_PATH": library, "DUET_PROGRAM": duet})
            t.equal((result.status, result.stdout), (0, b""), f"{name}: {text(result.stderr)}")
            t.equal(counts(rows_of(trace), "domain", "name", "type"), {("duet", "user", "push_pop"): 1}, name)

t.end()
