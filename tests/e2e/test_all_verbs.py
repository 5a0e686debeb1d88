#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every verb, view and format over every golden and generated trace.

The golden traces have rows of every kind with random fields: times close to 2^64, unknown states, unknown commands.
Each run ends by itself, with status 0 (report: 4 if its result is incomplete) or with status 1 and one of the reasons
below. It takes at most 10 s of processor time; the kernel enforces this limit (RLIMIT_CPU), so a busy machine does not
matter.
"""
import concurrent.futures
import glob
import os
import re
import resource
import shutil

import duet_test
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

SECONDS = 10
VIEWS = ("total", "gpu", "idle", "cpu", "offcpu", "launch", "stall")
TABLES = ("kernel", "stack", "line", "instruction", "stall", "queue", "process", "thread", "range",
          "wait", "cpu")
CHANGES = ("kernel", "idle", "stack", "line", "queue", "range", "api", "instruction", "stall", "metric")
GOLDEN = os.path.join(ROOT, "tests", "golden")
# Reasons for which a sound trace has no such picture.
REASONS = re.compile(rb"not measured: |the values add up to more than 2\^64")


def formats():
    return [line.split()[0] for line in text(run([DUET, "list", "formats"]).stdout).splitlines()]


def kinds(name):
    """The kinds of a format, as the refusal of a wrong one lists them."""
    refusal = text(run([DUET, "export", "-f", name, "--kind", "?", "/dev/null"]).stderr)
    found = re.search(r"it has: (.*)", refusal)
    return found.group(1).split(", ") if found else []


def commands():
    """[arguments without the trace]; OUT stands for a path to write to."""
    every = [["report"], ["report", "--json"], ["info"], ["info", "--json"], ["view", "-o", "OUT"]]
    every += [["report", "--by", table, "--top", "0"] for table in TABLES]
    every += [["report", "--json", "--by", table] for table in TABLES]
    other = os.path.join(GOLDEN, "trace", "v1.duet")
    every += [["diff", "--force", "--top", "0", other], ["diff", "--json", "--force", other], ["diff", "--force", other, "--new"]]
    every += [["diff", "--force", "--by", table, other] for table in CHANGES]
    for view in VIEWS:
        every += [["flame", "--view", view, "-o", "OUT"], ["flame", "--view", view, "--folded"],
                  ["flamescope", "--view", view, "-o", "OUT"]]
    for name in formats():
        every += [["export", "-f", name, "-o", "OUT"]]
        if name in ("csv", "folded", "svg", "iaprof"):
            every += [["export", "-f", name, "--kind", kind, "-o", "OUT"] for kind in kinds(name)]
    return every


def limit():
    duet_test.default_signals()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def problem(command, trace, out):
    """What is wrong with one run; None: nothing."""
    result = run([DUET, *[out if word == "OUT" else word for word in command], trace],
                 preexec_fn=limit)
    shutil.rmtree(out, ignore_errors=True)
    if result.status == 0 or (result.status == 1 and REASONS.search(result.stderr)) or (
            result.status == 4 and command[0] == "report"):
        return None
    return (f"duet {' '.join(command)} of {os.path.basename(trace)}: status {result.status}: "
            f"{text(result.stderr)[:300]}")


def pass_all(traces):
    t.wanted()
    every = commands()
    t.true(len(every) >= 70, f"{len(every)} commands")
    work = [(command, trace, t.path(f"out{i}"))
            for i, (command, trace) in enumerate((c, p) for p in traces for c in every)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for wrong in pool.map(lambda one: problem(*one), work):
            if wrong:
                t.fail(wrong)


def described(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            # what an account's description is followed by is what is expected of it
            lines = file.read().split("\n---\n")[0]
        yield t.described(os.path.relpath(path, GOLDEN).replace("/", "-") + ".duet", lines)


for golden in sorted(glob.glob(os.path.join(GOLDEN, "trace", "*.duet"))):
    with t.case(f"golden trace {os.path.basename(golden)}"):
        pass_all([golden])

for folder in ("account", "export", "perfetto"):
    with t.case(f"traces described in tests/golden/{folder}"):
        pass_all(list(described(sorted(glob.glob(os.path.join(GOLDEN, folder, "*.txt"))))))

for shape in ("mixed", "single", "late", "deep", "empty"):
    with t.case(f"a generated trace, {shape}"):
        pass_all([t.generated(0 if shape == "empty" else 2000, shape)])

t.end()
