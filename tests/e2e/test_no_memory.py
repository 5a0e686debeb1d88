#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Readers without memory: the N-th allocation fails, once or from there on (tests/programs/no_memory.c).

Each run either has the output of an undisturbed one and status 0, or status 1 and a message that names memory. It never
ends by a signal, never hangs, and never has another output and status 0.

N is sampled; with NO_MEMORY_WALK=all in the environment each N is tried, of the commands that match the first argument:

    NO_MEMORY_WALK=all python3 tests/e2e/test_no_memory.py
"""
import concurrent.futures
import contextlib
import glob
import hashlib
import os
import shutil
import sqlite3
import sys
import threading

import duet_test
from duet_test import DUET, ROOT, clean_environment, program, run, text

t = duet_test.Suite(needs_opencl=False)

WHOLE = os.environ.get("NO_MEMORY_WALK") == "all"
FORMATS = [line.split()[0] for line in text(run([DUET, "list", "formats"]).stdout).splitlines()]
COMMANDS = [["report"], ["report", "--json"], ["report", "--by", "stack"], ["info"], ["info", "--json"],
            ["view", "-o", "OUT"], ["flame", "-o", "OUT"], ["flame", "--folded"], ["flame", "--view", "cpu", "--folded"],
            ["flamescope", "-o", "OUT"], ["diff", "--force", os.path.join(ROOT, "tests", "golden", "trace", "v1.duet")],
            ["diff", "--json", "--force", "--by", "stack", os.path.join(ROOT, "tests", "golden", "trace", "v1.duet")]] + [["export", "-f", name, "-o", "OUT"] for name in FORMATS]


def content(path):
    """What a file or folder holds."""
    if os.path.isdir(path):
        return {os.path.relpath(p, path): content(p) for p in sorted(glob.glob(path + "/**", recursive=True))
                if os.path.isfile(p)}
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"SQLite format 3"):
        # without memory for its cache SQLite writes the same rows to other pages
        with contextlib.closing(sqlite3.connect(path)) as connection:
            data = "\n".join(connection.iterdump()).encode()
    return hashlib.sha256(data).hexdigest()


def attempt(command, trace, out, **shim):
    result = run([DUET, *[out if word == "OUT" else word for word in command], trace],
                 env={"LD_PRELOAD": program("no_memory.so"), "DUET_THREADS": "1",
                      **{f"NO_MEMORY_{key.upper()}": str(value) for key, value in shim.items()}})
    found = (result.stdout, content(out))
    if os.path.isdir(out):
        shutil.rmtree(out)
    elif os.path.exists(out):
        os.unlink(out)
    return result, found


def wrong(command, trace, out, expected, at, sticky):
    shim = {"at": at, **({"sticky": 1} if sticky else {})}
    result, found = attempt(command, trace, out, **shim)
    told = text(result.stderr)
    if result.status == 0:
        fault = None if found == expected else "another output and status 0"
    elif result.status == 1:
        fault = None if "out of memory" in told else "a message without memory"
    elif result.status == 127 and told == "out of memory\n":
        fault = None  # the loader's own end, in the middle of a dlopen
    else:
        fault = f"status {result.status}"
    return fault and f"duet {' '.join(command)}, N={at}{' and on' if sticky else ''}: {fault}: {told[:300]!r}"


def chosen(count):
    if WHOLE:
        return range(1, count + 3)
    # the first ones, in which a process starts, and some of all
    return sorted({1, 2, 3, 5, 8, 13, 21, 34, *(1 + count * i // 12 for i in range(12))})


def walk(command, trace):
    name = "-".join(command).replace("OUT", "").replace("/", "")
    counted = t.path(f"{name}.count")
    result, expected = attempt(command, trace, t.path(f"{name}.out"), count=counted)
    t.equal(result.status, 0, f"duet {' '.join(command)}: {text(result.stderr)}")
    with open(counted, encoding="ascii") as file:
        count = int(file.read())
    tasks = [(at, sticky) for at in chosen(count) for sticky in (False, True)]
    local = threading.local()

    def one(task):
        local.out = t.path(f"{name}.{threading.get_ident()}.out")
        return wrong(command, trace, local.out, expected, *task)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for fault in pool.map(one, tasks):
            if fault:
                t.fail(fault)
    print(f"# {count} allocations, {len(tasks)} runs", flush=True)


def trace():
    """One with launches, stacks, samples, counters and losses, on two devices."""
    if not os.path.exists(t.path("cpu_gpu.duet")):
        with open(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"), encoding="utf-8") as file:
            t.described("cpu_gpu.duet", file.read())
    return t.path("cpu_gpu.duet")


for command in COMMANDS:
    with t.case(f"no memory for duet {' '.join(command)}"):
        t.wanted()
        walk(command, trace())

t.end()
