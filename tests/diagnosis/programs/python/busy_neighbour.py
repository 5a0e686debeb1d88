#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A more urgent process takes the launching thread's processor."""
import mmap
import os
import struct
import subprocess
import sys
import time

import diagnosis

HOG = """
import mmap, os, struct, sys, time
burst = mmap.mmap(int(sys.argv[1]), 8)
while os.getppid() == int(sys.argv[2]):
    ns, = struct.unpack("q", burst[:8])
    if not ns:
        time.sleep(0.0002)
        continue
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass
    burst[:8] = bytes(8)
"""
shared = os.memfd_create("burst")
os.ftruncate(shared, 8)
burst = mmap.mmap(shared, 8)
held = {}


def start(device):
    held["hog"] = subprocess.Popen([sys.executable, "-c", HOG, str(shared), str(os.getpid())], pass_fds=[shared])
    os.sched_setaffinity(held["hog"].pid, {0})
    try:
        os.setpriority(os.PRIO_PROCESS, held["hog"].pid, -10)
    except PermissionError:
        held["hog"].kill()
        sys.exit(diagnosis.SKIPPED)
    time.sleep(0.3)


def shuffle_indices(ns):
    os.sched_setaffinity(0, {0})
    burst[:8] = struct.pack("q", ns)
    while burst[:8] != bytes(8):
        sum(range(1000))


def finish():
    held["hog"].kill()
    held["hog"].wait()


diagnosis.Plant("preempted", "preempted shuffle_indices", act=shuffle_indices, start=start, finish=finish, measure="delay")

if __name__ == "__main__":
    diagnosis.run()
