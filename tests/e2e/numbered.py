#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/programs/numbered.c, whose commands have numbers, and the numbers that a recording has of it."""
import json
import mmap
import os
import struct
import subprocess
import time

import duet_test
from duet_test import DUET, GUEST, Running, program, run

MODULUS = 65521
COUNTERS_BYTES = 64 * 16
TIMES_BYTES = MODULUS * 16


class Numbered:
    """numbered.c with an idle guest."""

    def __init__(self, t, threads, *more, env=None, name="first", ready=20):
        if not os.path.exists(GUEST):
            raise duet_test.Skip(f"{GUEST} is not there")
        self.threads = threads
        self.path = t.path(name)
        with open(self.path, "wb") as file:
            file.truncate(COUNTERS_BYTES + threads * TIMES_BYTES)
        with open(self.path, "rb") as file:
            self.memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.running = Running([program("numbered"), self.path, str(threads), *more], stdin=subprocess.PIPE,
                               env={"OPENCL_LAYERS": GUEST, **(env or {})})
        self.pid = self.running.pid
        self.running.wait_line("running")
        self.wait_for(lambda: all(count >= ready for count in self.counts().values()), "the program's first commands")

    def counts(self):
        """{tid: N}: the N-th command of the thread is on its way, or done."""
        fields = struct.unpack_from(f"{2 * self.threads}Q", self.memory)
        return dict(zip(fields[::2], fields[1::2]))

    def times(self, tid, number):
        """When a thread made its command of this number: (before, after) of the call, CLOCK_MONOTONIC."""
        place = list(self.counts()).index(tid)
        return struct.unpack_from("2Q", self.memory, COUNTERS_BYTES + place * TIMES_BYTES + number % MODULUS * 16)

    def regions(self):
        """Of all recorders that it has met."""
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as file:
            return {line.split()[4] for line in file if "duet-rings" in line}

    @staticmethod
    def wait_for(condition, what, timeout=15):
        end = time.monotonic() + duet_test.PATIENCE * timeout
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"it never came: {what}")
            time.sleep(0.005)

    def wait_for_more(self, count):
        before = self.counts()
        self.wait_for(lambda: all(now >= before[tid] + count for tid, now in self.counts().items()), "more commands")
        return self.counts()

    def finish(self):
        self.running.process.stdin.close()
        self.running.process.stdin = None
        return self.running.finish()


def numbers_of(t, path, about, gaps=False):
    """{tid: the numbers of its commands, in their order} of one process."""
    rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", path])
    processes, threads, found = {}, {}, {}
    for line in rows.stdout.splitlines():
        row = json.loads(line)
        if row["kind"] == "process":
            processes[row["id"]] = row["pid"]
        elif row["kind"] == "thread":
            threads[row["id"]] = (row.get("process"), row["tid"])
        elif row["kind"] == "launch" and row["function"] == "clEnqueueWriteBuffer":
            process, tid = threads[row["thread"]]
            if processes[process] == about.pid:
                found.setdefault(tid, []).append((row["enter"], row["bytes"] - 1))
        elif row["kind"] == "loss" and not (gaps and row["reason"] == "gap"):
            t.fail(f"{path}: {row}")
    return {tid: [number for _, number in sorted(rows)] for tid, rows in found.items()}
