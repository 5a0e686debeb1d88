#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet gate: limits, exit statuses, documents of other tools, accepted recordings, and runs that it records itself.

Most recordings are described (tests/checker/description.h), so that their times are exact.
"""
import glob
import json
import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

import duet_test
from duet_test import DUET, ROOT, Running, run, text
from export_readers import closed

t = duet_test.Suite(needs_opencl=False)

MS = 1000000
PASS, REGRESSION, USAGE, INCONCLUSIVE, SKIP = 0, 1, 2, 3, 125
RUNS = 10


def gate(*arguments, **options):
    t.wanted()
    return run([DUET, "gate", *arguments], **options)


def first_line(result):
    """Lines that were wrapped are joined."""
    return text(result.stdout).replace("\n    ", " ").partition("\n")[0]


def checked(status, *arguments, **options):
    """The gate, whose status must be this one."""
    result = gate(*arguments, **options)
    t.equal(result.status, status, f"status of {arguments[-3:]}: {text(result.stdout)} {text(result.stderr)}")
    return result


def document(status, *arguments):
    return json.loads(checked(status, "--json", *arguments).stdout)


def recording(name, number, wall=100 * MS, kernel=MS, launches=7, kernels=("step",), devices=1, extra=()):
    """The path of a run that starts `number` seconds after the first; each launch is waited for."""
    begin = (number + 1) * 1000 * MS
    lines = [f"window {begin} {begin + wall}", "thread 1 1"]
    lines += [f"device {i + 1} gpu{i}" for i in range(devices)] + [f"queue {i + 1} {i + 1}" for i in range(devices)]
    for i in range(launches):
        at = begin + (i + 1) * 10 * MS
        name_of = kernels[i % len(kernels)]
        queue = i % devices + 1
        lines += [f"launch {i + 1} 1 {queue} {at} {at + 1000} kernel name={name_of}",
                  f"execution 1 {i + 1} {queue} {at + 100} {at + 200} {at + 2000} {at + 2000 + kernel}",
                  f"call 1 {at + 3000} {at + 3000 + kernel} wait clFinish queue={queue}"]
    return t.described(f"{name}.duet", *lines, *extra)


def noise(number):
    """A part of a ms that differs from run to run, the same in every test."""
    return (number * 7919 + 13) % 101 * MS // 400


def group(name, first=0, count=RUNS, **options):
    """Paths of runs with some noise. Even and odd seconds are the sides of pairs."""
    wall = options.pop("wall", 100 * MS)
    kernel = options.pop("kernel", MS)
    return [recording(f"{name}{i}", 2 * i + first, wall=wall + noise(2 * i + first),
                      kernel=kernel + noise(2 * i + first) // 50, **options) for i in range(count)]


BASE = []


def base():
    t.wanted()
    if not BASE:
        BASE.extend(group("base"))
    return BASE


# ---- statuses ----

with t.case("pass: the interval is within the limit"):
    result = checked(PASS, *base(), "--new", *group("same", 1))
    t.true(first_line(result).startswith("PASS: 2 checks are within the limits (10 runs a side"), first_line(result))
    t.true("limit +2 %" in text(result.stdout), "the default limit")

with t.case("regression: proved, with its largest reason"):
    slow = group("slow", 1, wall=105 * MS)
    result = checked(REGRESSION, *base(), "--new", *slow)
    t.true(re.match(r"REGRESSION: wall \+(4\.9|5\.0)", first_line(result)), first_line(result))
    t.true("Largest reason: " in text(result.stdout), text(result.stdout))
    checked(PASS, *base(), "--new", *slow, "--limit", "wall +6 %")
    checked(PASS, *base(), "--new", *slow, "--limit", "wall +6ms")
    checked(REGRESSION, *base(), "--new", *slow, "--limit", "wall +4 ms")
    checked(PASS, *slow, "--new", *base())
    checked(REGRESSION, *base(), "--new", *group("same", 1), "--limit", "wall -5 %")

with t.case("inconclusive: one run a side, few runs, noise"):
    result = checked(INCONCLUSIVE, recording("a", 0, launches=2), "--new", recording("b", 1, launches=2))
    t.true(first_line(result).startswith("INCONCLUSIVE: the check cannot be decided; record about 4 more runs a side"),
           first_line(result))
    t.equal(document(INCONCLUSIVE, *base()[:3], "--new", *group("same", 1)[:3])["more_runs"], {"base": 2, "new": 2}, "more runs")
    result = document(INCONCLUSIVE, *base(), "--new", *group("same", 1), "--limit", "wall +0.01 %")
    t.true(result["more_runs"]["new"] > 5, f"a small limit needs many runs: {result['more_runs']}")
    t.equal(document(INCONCLUSIVE, *base(), "--new", group("same", 1)[0])["more_runs"]["base"], 0, "BASE has enough")

def loop(name, number, kernel, rounds=40):
    """A run with a main loop of rounds of one kernel."""
    now = begin = number * 1000 * MS
    lines = []
    for i in range(1, rounds + 1):
        length = kernel + (i * 7919 + number * 31) % 100
        lines += [f"launch {i} 1 1 {now} {now + 500} kernel name=step", f"execution 1 {i} 1 {now + 500} {now + 500} {now + 500} {now + 500 + length}",
                  f"range 1 {now} {now + 30500 + length} step"]
        now += 30500 + length + i % 3
    return t.described(f"{name}.duet", f"window {begin} {now + 1000}", "device 1 gpu", "process 1 100 app", "thread 1 1 name=main", "queue 1 1", *lines)


with t.case("one run a side decides nothing"):
    sides = loop("loop_a", 1, 20000), "--new", loop("loop_b", 2, 30000)
    for limit in ("wall +2 %", "wall +50us", "wall +1 s", "busy +2 %", "busy +50us", "busy +1 s", "idle +1 %", "idle:* +1 s", "kernel:step +2 %",
                  "kernel:step +50us", "kernel:step +1 s", "kernel:step count +0"):
        result = checked(INCONCLUSIVE, *sides, "--limit", limit)
        t.true("one run does not show it; record several runs" in text(result.stdout).replace("\n    ", " "), text(result.stdout))
        t.equal(document(INCONCLUSIVE, *sides, "--limit", limit)["checks"][0]["per"], "run", f"unit of {limit}")
    for limit in ("iteration +2 %", "iteration +15us", "kernel:step mean +2 %", "kernel:step mean +15us"):
        checked(INCONCLUSIVE, *sides, "--limit", limit)

with t.case("a cause of idle time that no run has is within its limit"):
    result = checked(PASS, *base(), "--new", *group("same", 1), "--limit", "idle:profiler overhead +20ms")
    checked(USAGE, *base(), "--new", *group("same", 1), "--limit", "idle:profiler overheat +20ms")

with t.case("a file that cannot be read is status 2, and so is a full disk"):
    broken = t.path("broken.duet")
    with open(broken, "wb") as file:
        file.write(b"no trace")
    for files in ((broken, "--new", base()[0]), (base()[0], "--new", broken), (t.path("absent"), "--new", base()[0]),
                  (base()[0], "--new", t.folder)):
        result = checked(USAGE, *files)
        t.equal(result.stdout, b"", f"stdout of {files}")
    slow = group("slow", 1, wall=105 * MS)
    for arguments in ((), ("--json",)):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([DUET, "gate", *arguments, *base(), "--new", *slow], stdout=full, stderr=subprocess.PIPE, check=False)
        t.equal(process.returncode, USAGE, f"status on a full disk: {process.stderr}")
    checked(USAGE, *base(), "--new", *slow, "--junit", "/dev/full")
    checked(USAGE, *base(), "--new", *slow, "--junit", t.path("no/such/folder.xml"))

with t.case("memory that is full is status 2"):
    sides = recording("m", 0), "--new", recording("n", 1)
    shim = {"LD_PRELOAD": duet_test.program("no_memory.so"), "DUET_THREADS": "1"}
    counted = t.path("allocations")
    checked(INCONCLUSIVE, *sides, env={**shim, "NO_MEMORY_COUNT": counted})
    with open(counted, encoding="ascii") as file:
        count = int(file.read())
    seen = [gate(*sides, env={**shim, "NO_MEMORY_AT": str(1 + count * i // 60), "NO_MEMORY_STICKY": "1"}).status for i in range(60)]
    t.equal(sorted(set(seen) - {127}), [USAGE], f"statuses {seen}; 127 is the loader's")

with t.case("wrong usage is status 2 and names what is wrong"):
    files = (base()[0], "--new", base()[1])
    for arguments, word in (((), "no recording"), ((base()[0],), "--new"), ((*files, "--limit", "wall 2 %"), "'wall 2 %'"),
                            ((*files, "--limit", "kernel:stop +2 %"), "did you mean 'step'?"),
                            ((*files, "--confidence", "101"), "--confidence"), ((*files, "--accept"), "--baseline"),
                            ((*files, "--annotations", "x"), "github"), ((*files, "--json", "--markdown", "-"), "stdout"),
                            ((*files, "--run", "3"), "program"), (("--run", "3", *files, "--", "true"), "no files"),
                            (("--run", "0", "--", "true"), "1 to 1000"), ((*files, "--", "true"), "--run"),
                            (("--run", "1", "--base-env", "x", "--", "true"), "NAME=VALUE"),
                            ((*files, "--baseline", t.path("x")), "--baseline"), ((*files, "--keep", "0"), "--keep")):
        result = checked(USAGE, *arguments)
        t.true(word in text(result.stderr), f"{word} in {text(result.stderr)}")

with t.case("not comparable is status 3 with the reason"):
    result = checked(INCONCLUSIVE, *base(), "--new", *group("two", 1, devices=2))
    t.true(first_line(result).startswith("NOT COMPARABLE: ") and "devices" in first_line(result), first_line(result))
    t.equal(document(INCONCLUSIVE, *base(), "--new", *group("two", 1, devices=2))["result"], "not comparable", "result")
    checked(PASS, "--force", *base(), "--new", *group("two", 1, devices=2))
    result = checked(INCONCLUSIVE, *base(), "--new", *base())
    t.true("the same recordings" in first_line(result), first_line(result))

with t.case("--bisect: 125 for what cannot be judged"):
    checked(PASS, "--bisect", *base(), "--new", *group("same", 1))
    checked(REGRESSION, "--bisect", *base(), "--new", *group("slow", 1, wall=105 * MS))
    short = recording("a", 0, launches=2), "--new", recording("b", 1, launches=2)
    checked(SKIP, "--bisect", *short)
    checked(SKIP, "--bisect", base()[0], "--new", t.path("absent"))
    checked(SKIP, "--bisect", "--no-such-option")
    t.equal(document(SKIP, "--bisect", *short)["status"], SKIP, "status in the document")

with t.case("traces of any content end with a status of the gate"):
    golden = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "trace", "*.duet")))
    limits = [word for limit in ("wall +2 %", "busy +1 %", "idle +1us", "iteration +1 %") for word in ("--limit", limit)]
    for path in golden[::max(1, len(golden) // 8)]:
        for other in (path, golden[0]):
            result = gate("--force", *limits, path, "--new", other)
            t.true(result.status in (PASS, REGRESSION, USAGE, INCONCLUSIVE), f"{result.status}: {path} {other}")
            t.equal(bool(result.stdout), result.status != USAGE, f"text of {path} {other}")

# ---- limits ----

with t.case("limits of kernels, calls, idle time and ranges"):
    first = group("a", 0, kernels=("gemm_a", "gemm_b"), extra=("range 1 1000000 2000000 epoch",))
    second = group("b", 1, kernels=("gemm_a", "gemm_b"), kernel=int(1.2 * MS))
    more = group("c", 1, kernels=("gemm_a", "gemm_b"), launches=8)
    for limit, status in (("kernel:gemm_a mean +5 %", REGRESSION), ("kernel:gemm* mean +5 %", REGRESSION),
                          ("kernel:gemm* mean +30 %", PASS), ("kernel:gemm* count +0", PASS), ("busy +10 %", REGRESSION),
                          ("kernel:gemm_b +300 us", REGRESSION), ("kernel:gemm_b +1 ms", PASS), ("api:clFinish count +0", PASS),
                          ("api:clFinish mean +5 %", REGRESSION), ("idle +2 %", PASS), ("wall +2 %", PASS)):
        checked(status, *first, "--new", *second, "--limit", limit)
    for limit, status in (("kernel:gemm* count +0", REGRESSION), ("kernel:gemm_a count +0", PASS), ("kernel:* count +1", PASS),
                          ("kernel:gemm_b count +20 %", REGRESSION), ("kernel:gemm_b mean +2 %", PASS)):
        checked(status, *first, "--new", *more, "--limit", limit)
    checks = document(REGRESSION, *first, "--new", *second, "--limit", "kernel:gemm* mean +5 %", "--limit", "wall +2 %")["checks"]
    t.equal([(row["name"], row["result"]) for row in checks],
            [("kernel gemm_a, mean", "regression"), ("kernel gemm_b, mean", "regression"), ("wall", "pass")], "checks")
    t.true(0.18 < checks[0]["noise"]["low"] / checks[0]["base"] < 0.2 < checks[0]["noise"]["high"] / checks[0]["base"] < 0.22,
           f"the interval contains 20 %: {checks[0]['noise']}")
    t.true(checks[0]["allowed"] == checks[0]["base"] / 20, "5 % of the base")

with t.case("a kernel that is new or gone"):
    first = group("a", 0, kernels=("gemm_a",))
    second = group("d", 1, kernels=("gemm_a", "attention"))
    for limit, status in (("kernel:attention +5 %", INCONCLUSIVE), ("kernel:attention mean +5 %", INCONCLUSIVE),
                          ("kernel:attention +100 ms", PASS), ("kernel:attention +1 ms", REGRESSION)):
        result = checked(status, *first, "--new", *second, "--limit", limit)
        t.true("new: BASE lacks it" in text(result.stdout).replace("\n    ", " "), text(result.stdout))
    for limit, status in (("kernel:attention +5 %", PASS), ("kernel:attention mean +5 %", INCONCLUSIVE)):
        result = checked(status, *second, "--new", *first, "--limit", limit)
        t.true("gone: NEW lacks it" in text(result.stdout).replace("\n    ", " "), text(result.stdout))

with t.case("a limit finds a kernel that was fused"):
    first, second = group("fa", 0, kernels=("alpha", "beta")), group("fb", 1, kernels=("gamma",), kernel=int(1.3 * MS))
    pairs = t.path("fused.map")
    with open(pairs, "w", encoding="utf-8") as file:
        file.write("alpha + beta => gamma\n")
    for name in ("alpha", "beta", "gamma", "alpha + beta", "al*"):
        result = checked(REGRESSION, *first, "--new", *second, "--map", pairs, "--limit", f"kernel:{name} +5 %")
        t.true("matched by --map, was alpha + beta" in text(result.stdout).replace("\n    ", " "), text(result.stdout))

with t.case("limits from a configuration file"):
    config = t.path("gate.textproto")
    slow = group("slow", 1, wall=105 * MS)
    with open(config, "w", encoding="utf-8") as file:
        file.write('gate {\n  limit: ["wall +8 %", "busy +50 %"]\n  confidence: "95"\n}\nfrequency: 99\n')
    result = document(PASS, "-c", config, *base(), "--new", *slow)
    t.equal(([row["limit"]["text"] for row in result["checks"]], result["confidence"]), (["wall +8 %", "busy +50 %"], 0.95), "of the file")
    result = document(REGRESSION, "-c", config, *base(), "--new", *slow, "--limit", "wall +1 %", "--confidence", "90")
    t.equal(([row["limit"]["text"] for row in result["checks"]], result["confidence"]), (["wall +1 %"], 0.9), "the command line wins")
    with open(config, "w", encoding="utf-8") as file:
        file.write('gate {\n  limits: "wall +8 %"\n}\n')
    result = checked(USAGE, "-c", config, *base(), "--new", *slow)
    t.true(f"{config}:2:3" in text(result.stderr), text(result.stderr))

# ---- documents ----

with t.case("--json is valid under its schema"):
    try:
        import jsonschema
    except ImportError as missing:
        raise duet_test.Skip("python3-jsonschema is missing") from missing
    with open(os.path.join(ROOT, "docs", "gate.schema.json"), encoding="utf-8") as file:
        valid = jsonschema.Draft202012Validator(closed(json.load(file)))
    slow = group("slow", 1, wall=105 * MS)
    short = recording("a", 0, launches=2), "--new", recording("b", 1, launches=2)
    for status, arguments in ((PASS, (*base(), "--new", *group("same", 1))), (REGRESSION, (*base(), "--new", *slow)),
                              (INCONCLUSIVE, (base()[0], "--new", slow[0], "--limit", "kernel:* mean +2 %", "--range", "iteration:1")),
                              (INCONCLUSIVE, (*base(), "--new", *group("two", 1, devices=2))),
                              (INCONCLUSIVE, (*slow, "--baseline", t.path("of_schema"))),
                              (PASS, (*slow, "--baseline", t.path("of_schema"), "--accept")), (SKIP, ("--bisect", *short))):
        result = gate("--json", *arguments)
        if result.status == USAGE and "--range" in arguments:
            continue
        t.equal(result.status, status, text(result.stderr))
        found = [error.message for error in valid.iter_errors(json.loads(result.stdout))]
        t.equal(found, [], f"errors of {arguments[:2]}")

with t.case("--junit, --markdown and annotations, with a name of special characters"):
    odd = "void%20k<a%20&%20\"b\">(x%20|%20y)%0a"
    first, second = group("e", 0, kernels=(odd,)), group("f", 1, kernels=(odd,), kernel=int(1.3 * MS))
    limits = ("--limit", "kernel:* mean +5 %", "--limit", "wall +2 %", "--limit", "wall +0.001 %")
    junit, markdown, gitlab = t.path("j.xml"), t.path("m.md"), t.path("g.json")
    result = checked(REGRESSION, *first, "--new", *second, *limits, "--junit", junit, "--markdown", markdown, "--annotations", f"gitlab:{gitlab}")
    suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    t.equal([suite.get(key) for key in ("tests", "failures", "skipped", "errors")], ["3", "1", "1", "0"], "sums")
    cases = suite.findall("testcase")
    t.equal([[child.tag for child in case] for case in cases], [["failure"], ["system-out"], ["skipped"]], "outcomes")
    t.true('k<a & "b">(x | y)' in cases[0].get("name") and cases[0].find("failure").get("message"), f"name: {cases[0].get('name')}")
    with open(markdown, encoding="utf-8") as file:
        rows = [line for line in file.read().splitlines() if line.startswith("|")]
    t.equal([len(re.findall(r"(?<!\\)\|", line)) for line in rows], [8] * 5, f"columns of {rows}")
    t.true("**regression**" in rows[2], rows[2])
    with open(gitlab, encoding="utf-8") as file:
        issues = json.load(file)
    t.equal([row["severity"] for row in issues], ["major", "minor"], "severities")
    t.true(all(row["location"]["path"] and len(row["fingerprint"]) == 16 for row in issues), f"{issues}")
    t.equal(len({row["fingerprint"] for row in issues}), 2, "fingerprints differ")
    result = checked(REGRESSION, *first, "--new", *second, *limits, "--annotations", "github")
    lines = [line for line in text(result.stdout).splitlines() if line.startswith("::")]
    t.equal([line.split(" ")[0] for line in lines], ["::error", "::warning"], f"commands {lines}")
    t.true("%25" in lines[0] and " % " not in lines[0].replace("%25", ""), f"escapes: {lines[0]}")
    t.equal(text(checked(REGRESSION, *first, "--new", *second, *limits, "--junit", "-").stdout)[:5], "<?xml", "- is stdout")
    t.equal(text(checked(REGRESSION, *first, "--new", *second, *limits, "--markdown", "-").stdout)[:3], "###", "- is stdout")

with t.case("an output replaces no recording, and a file has one output"):
    folder = t.path("of_outputs")
    checked(PASS, *base(), "--baseline", folder, "--accept")
    stored = sorted(glob.glob(os.path.join(folder, "*", "*.duet")))[3]
    new = group("same", 1)
    for arguments, victim in (((*base(), "--new", *new), base()[2]), ((*base(), "--new", *new), new[2]), ((*new, "--baseline", folder), stored)):
        with open(victim, "rb") as file:
            before = file.read()
        for option in (("--junit", victim), ("--markdown", victim), ("--annotations", f"gitlab:{victim}")):
            result = checked(USAGE, *arguments, *option)
            t.true(victim in text(result.stderr), text(result.stderr))
            with open(victim, "rb") as file:
                t.equal(file.read() == before, True, f"{option} keeps the recording")
    one, other = t.path("one.xml"), os.path.join(t.folder, ".", "one.xml")
    result = checked(USAGE, *base(), "--new", *new, "--junit", one, "--markdown", other)
    t.true("two outputs" in text(result.stderr) and not os.path.exists(one), text(result.stderr))
    checked(PASS, *base(), "--new", *new, "--junit", one)
    checked(USAGE, *base(), "--new", *new, "--junit", one, "--annotations", f"gitlab:{other}")
    checked(PASS, *base(), "--new", *new, "--junit", one, "--markdown", t.path("one.md"))

# ---- accepted recordings ----


def accepted(folder):
    """{name of a recording: its time} of the one key in the folder."""
    keys = os.listdir(folder)
    t.equal(len(keys), 1, f"keys {keys}")
    path = os.path.join(folder, keys[0])
    return {name: os.stat(os.path.join(path, name)).st_mtime_ns for name in os.listdir(path) if name.endswith(".duet")}


with t.case("--baseline: accept, compare, keep"):
    folder = t.path("baseline")
    result = checked(INCONCLUSIVE, *base(), "--baseline", folder)
    t.true("accept one first" in first_line(result), first_line(result))
    t.true(not os.path.exists(folder), "nothing is written")
    result = checked(PASS, *base(), "--baseline", folder, "--accept")
    t.true(first_line(result).startswith("ACCEPTED: accepted 10 new recordings"), first_line(result))
    kept = accepted(folder)
    t.equal(len(kept), RUNS, "recordings")
    about = os.path.join(folder, os.listdir(folder)[0], "about.json")
    with open(about, encoding="utf-8") as file:
        t.equal(json.load(file), {"schema": "duet.baseline/1", "command": "program --described", "devices": ["gpu0"]}, "about.json")
    slow = group("slow", 1, wall=105 * MS)
    result = checked(REGRESSION, *slow, "--baseline", folder, "--accept")
    t.true("not accepted" in text(result.stdout), text(result.stdout))
    t.equal(accepted(folder), kept, "a regression is not accepted")
    checked(PASS, *group("same", 1), "--baseline", folder)
    t.true("the same recordings" in first_line(checked(INCONCLUSIVE, *base(), "--baseline", folder)), "all are in the base")
    t.equal(accepted(folder), kept, "nor anything without --accept")
    result = checked(PASS, *group("same", 1), "--baseline", folder, "--accept", "--keep", "12")
    newest = set(accepted(folder))
    t.equal((len(newest), len(newest - set(kept))), (12, RUNS), f"the oldest are removed: {text(result.stdout)}")
    t.equal(len({name for name in newest & set(kept)}), 2, "two old ones")
    t.equal(len(document(INCONCLUSIVE, *group("same", 1), "--baseline", folder)["base"]), 2, "a repeated job is no base for itself")

with t.case("--baseline: another device or command has no base; a damaged recording is ignored"):
    folder = t.path("damaged")
    checked(PASS, *base(), "--baseline", folder, "--accept")
    checked(INCONCLUSIVE, *group("two", 1, devices=2), "--baseline", folder)
    result = checked(INCONCLUSIVE, base()[0], group("two", 1, devices=2)[0], "--baseline", folder)
    t.true("different devices" in text(result.stdout).replace("\n    ", " "), text(result.stdout))
    key = os.path.join(folder, os.listdir(folder)[0])
    victim = os.path.join(key, sorted(accepted(folder))[0])
    with open(victim, "r+b") as file:
        file.truncate(os.path.getsize(victim) - 100)
    for leftover in ("incoming.abcdef", "notes.txt"):
        with open(os.path.join(key, leftover), "w", encoding="utf-8") as file:
            file.write("x")
    os.utime(os.path.join(key, "incoming.abcdef"), (0, 0))
    result = checked(PASS, *group("same", 1), "--baseline", folder, "--accept")
    t.true("1 damaged recording" in text(result.stderr) and "is ignored" in text(result.stderr), text(result.stderr))
    t.true(not os.path.exists(os.path.join(key, "incoming.abcdef")), "a killed job's file is removed")
    t.true(os.path.exists(os.path.join(key, "notes.txt")), "other files stay")
    blocked = t.path("a_file")
    with open(blocked, "w", encoding="utf-8") as file:
        file.write("x")
    checked(USAGE, *base(), "--baseline", blocked, "--accept")

with t.case("--baseline: if all accepted recordings are damaged, nothing is accepted"):
    folder = t.path("all_damaged")
    checked(PASS, *base(), "--baseline", folder, "--accept")
    for path in glob.glob(os.path.join(folder, "*", "*.duet")):
        os.truncate(path, 500)
    kept = accepted(folder)
    for arguments in ((), ("--accept",)):
        result = checked(INCONCLUSIVE, *group("slow", 1, wall=105 * MS), "--baseline", folder, *arguments)
        t.true("damaged; remove this folder" in first_line(result), first_line(result))
        t.equal(accepted(folder), kept, "recordings")

with t.case("--baseline: --device and --range do not change the key"):
    folder = t.path("of_devices")
    checked(PASS, *group("ka", 0, devices=2), "--baseline", folder, "--accept", "--device", "0")
    for choice in ((), ("--device", "1"), ("--device", "0")):
        checked(PASS, *group("kb", 1, devices=2), "--baseline", folder, *choice)
    checked(INCONCLUSIVE, *group("kc", 1), "--baseline", folder)

with t.case("--baseline: a result that cannot be written is not accepted"):
    folder = t.path("unwritten")
    for option in (("--junit", t.path("no/such.xml")), ("--junit", "/dev/full"), ("--markdown", t.path("no/such.md"))):
        checked(USAGE, *base(), "--baseline", folder, "--accept", *option)
        t.true(not os.path.exists(folder), f"nothing is accepted: {option}")
    for option in ((), ("--json",)):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([DUET, "gate", *base(), "--baseline", folder, "--accept", *option], stdout=full, stderr=subprocess.PIPE,
                                     check=False)
        t.equal((process.returncode, os.path.exists(folder)), (USAGE, False), f"a full disk: {process.stderr}")

with t.case("--baseline: documents without a base have the reason"):
    two = recording("odd_two", 1, devices=2)
    for new, word in (((base()[0],), "accept one first"), ((base()[0], two), "different devices")):
        arguments = (*new, "--baseline", t.path("no_base"), "--confidence", "95")
        suite = xml.etree.ElementTree.fromstring(checked(INCONCLUSIVE, *arguments, "--junit", "-").stdout).find("testsuite")
        t.equal([suite.get(key) for key in ("tests", "failures", "skipped")], ["1", "0", "1"], "sums")
        t.true(word in suite.find("testcase").find("skipped").get("message"), "the reason")
        lines = [line for line in text(checked(INCONCLUSIVE, *arguments, "--annotations", "github").stdout).splitlines() if line[:2] == "::"]
        t.true(len(lines) == 1 and lines[0].startswith("::warning") and word in lines[0], f"{lines}")
        gitlab = t.path("no_base.json")
        checked(INCONCLUSIVE, *arguments, "--annotations", f"gitlab:{gitlab}")
        with open(gitlab, encoding="utf-8") as file:
            t.equal([word in row["description"] for row in json.load(file)], [True], "an issue")
        result = document(INCONCLUSIVE, *arguments)
        t.equal((result["confidence"], result["result"], word in result["text"]), (0.95, "inconclusive", True), f"{result}")
        t.true(word in text(checked(INCONCLUSIVE, *arguments, "--markdown", "-").stdout), "Markdown")

with t.case("names of malformed UTF-8 are escaped in all documents"):
    odd = "a%ff%0a%1b|b"
    first, second = group("u", 0, kernels=(odd,)), group("v", 1, kernels=(odd,), kernel=int(1.3 * MS))
    for option in (("--junit", "-"), ("--markdown", "-"), ("--json",), ("--annotations", "gitlab:-"), ("--annotations", "github")):
        out = checked(REGRESSION, *first, "--new", *second, "--limit", "kernel:* mean +5 %", *option).stdout
        shown = out if option[1:] != ("github",) else b"".join(line for line in out.splitlines() if line.startswith(b"::"))
        t.true(b"\xff" not in shown and b"\x1b" not in shown and "\ufffd" in shown.decode(), f"{option}: {shown}")

with t.case("--baseline: jobs that accept at the same time do no harm"):
    folder = t.path("together")
    checked(PASS, *base(), "--baseline", folder, "--accept")
    same = group("same", 1)
    jobs = [subprocess.Popen([DUET, "gate", *same, "--baseline", folder, "--accept", "--keep", "15"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for _ in range(6)]
    for job in jobs:
        out, err = job.communicate()
        t.true(job.returncode in (PASS, INCONCLUSIVE) and not err, f"{job.returncode}: {text(out)}{text(err)}")
    t.equal(len(accepted(folder)), 15, "kept")
    t.equal(text(checked(PASS, *group("other", 1, wall=100 * MS + 1), "--baseline", folder).stderr), "", "all are intact")

# ---- recording ----


# The simulated driver starts fast and does not compile.
SIM = {"OCL_ICD_VENDORS": t.simulated_opencl()}


def worker(*arguments):
    path = duet_test.program("gate_work")
    if run([path, "1", "10"], env=SIM).status:
        raise duet_test.Skip("no OpenCL device works here")
    return [path, *arguments]


def checked_run(status, *arguments, scratch=None):
    return checked(status, *arguments, env={**SIM, "TMPDIR": scratch or t.folder})


LIMIT = ("--limit", "kernel:twice count +0")

with t.case("--run: the sides differ by their environment"):
    scratch, runs = t.path("scratch"), t.path("runs")
    os.mkdir(scratch)
    work = worker("5", "100")
    result = checked_run(REGRESSION, "--run", "5", "--warm-up", "0", "--new-env", "GATE_WORK_LAUNCHES=2", *LIMIT, "--keep-runs", runs,
                         "--", *work, scratch=scratch)
    t.true(re.match(r"REGRESSION: kernel twice, count \+5, limit \+0", first_line(result)), first_line(result))
    t.true("working" not in text(result.stdout), "the program's output is not ours")
    names = sorted(os.listdir(runs))
    t.equal(names, [f"{side}-00{i}.duet" for side in ("base", "new") for i in range(1, 6)], "kept recordings")
    order = sorted(names, key=lambda name: os.stat(os.path.join(runs, name)).st_mtime_ns)
    t.equal([name[:3] for name in order], ["bas", "new", "new", "bas", "bas", "new", "new", "bas", "bas", "new"], "in turns")
    t.equal(os.listdir(scratch), [], "nothing is left")

with t.case("--keep-runs: the user's files stay, and an interrupted run is not kept"):
    work = worker("5", "100")
    for name, warm_up in (("base-001.duet", "0"), ("new-002.duet", "1"), ("base-000.duet", "1")):
        kept = t.path(f"kept_{name}")
        os.mkdir(kept)
        for own in (name, "output.log"):
            with open(os.path.join(kept, own), "w", encoding="utf-8") as file:
                file.write("mine")
        result = checked_run(USAGE, "--run", "2", "--warm-up", warm_up, "--keep-runs", kept, "--", *work)
        t.true(name in text(result.stderr), text(result.stderr))
        t.equal({own: open(os.path.join(kept, own), encoding="utf-8").read() for own in os.listdir(kept)},
                {name: "mine", "output.log": "mine"}, "files of the user")
    kept = t.path("kept_log")
    os.mkdir(kept)
    with open(os.path.join(kept, "output.log"), "w", encoding="utf-8") as file:
        file.write("mine")
    checked_run(INCONCLUSIVE, "--run", "1", "--warm-up", "0", *LIMIT, "--keep-runs", kept, "--", *work)
    t.equal(sorted(os.listdir(kept)), ["base-001.duet", "new-001.duet", "output.log"], "kept")
    t.equal(open(os.path.join(kept, "output.log"), encoding="utf-8").read(), "mine", "a file of the user")
    kept = t.path("kept_signal")
    process = Running([DUET, "gate", "--run", "2", "--keep-runs", kept, "--", *worker("100000", "1018")], env={**SIM, "TMPDIR": t.folder})
    process.program_pid("gate_work")
    time.sleep(0.1)
    process.kill(signal.SIGTERM)
    t.equal(process.finish().status, 128 + signal.SIGTERM, "status after a signal")
    t.equal(os.listdir(kept), [], "nothing is left")

with t.case("--run: an A/A test says so, and a command of the shell is a base"):
    work = worker("5", "100")
    result = checked_run(PASS, "--run", "5", "--warm-up", "0", *LIMIT, "--", *work)
    t.true("an A/A test" in text(result.stdout), text(result.stdout))
    result = checked_run(INCONCLUSIVE, "--run", "1", "--base-cmd", f"GATE_WORK_PAUSE_US=50 {work[0]} 2 && true",
                         *LIMIT, "--", *work)
    t.true("(2 -> 5 per run)" in text(result.stdout), text(result.stdout))
    folder = t.path("run_baseline")
    checked_run(PASS, "--run", "2", "--warm-up", "0", "--baseline", folder, "--accept", *LIMIT, "--", *work)
    t.equal(len(accepted(folder)), 2, "recordings")

with t.case("--run: a program that fails, cannot be started or is interrupted is no regression"):
    scratch = t.path("failing")
    os.mkdir(scratch)
    work = worker("5", "100")
    result = checked_run(USAGE, "--run", "2", "--new-env", "GATE_WORK_STATUS=1", *LIMIT, "--", *work, scratch=scratch)
    t.true("(new) ended with status 1" in text(result.stderr) and "| working" in text(result.stderr), text(result.stderr))
    checked_run(USAGE, "--run", "2", "--", "/no/such/program", scratch=scratch)
    checked_run(SKIP, "--bisect", "--run", "2", "--", "/no/such/program", scratch=scratch)
    for number in (signal.SIGINT, signal.SIGTERM):
        process = Running([DUET, "gate", "--run", "2", "--", *worker("100000", "1017")], env={**SIM, "TMPDIR": scratch})
        process.program_pid("gate_work")
        time.sleep(0.1)
        process.kill(number)
        t.equal(process.finish().status, 128 + number, f"status after signal {number}")
        t.equal(os.listdir(scratch), [], "nothing is left")
    t.equal(run(["pgrep", "-f", "gate_work 100000 1017"]).stdout, b"", "no process is left")

t.end()
