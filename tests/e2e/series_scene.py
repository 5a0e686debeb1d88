# SPDX-License-Identifier: MIT
"""Recordings of one program over time, written down: a kernel gets 8 % slower, one is renamed, one is missing for a while."""
import os
import random

RUNS, STEP, RENAMED, GAP = 18, 12, 6, range(8, 11)
FIRST_DATE, DAY = 1790000000, 86400
HOSTILE = "%3c/script%3e%3cscript%3edocument.title=%22hit%22%3c/script%3e%3cimg%20src=x%20onerror=alert(1)%3e"


def make_run(suite, number, folder="", hostile=False):
    """The path of recording `number`; its date is that of the file, one day after the one before."""
    chance = random.Random(number + 5)
    lines, now, launch = ["", "device 1 gpu", "process 1 1001 train", "thread 1 1", "queue 1 1", "frame 1 python step file=train.py line=10",
                          "frame 2 python loss file=train.py line=20", "stack 1 1", "stack 2 2"], 1000, 0
    kernels = [("gemm", 900000 * (1.08 if number >= STEP else 1), 1), ("reduce_v1" if number < RENAMED else "sum_rows", 400000, 2)]
    if number not in GAP:
        kernels.append((HOSTILE if hostile else "softmax", 150000, 1))
    for _ in range(8):
        for name, mean, stack in kernels:
            duration = int(mean * chance.gauss(1, 0.005))
            launch += 1
            lines += [f"launch {launch} 1 1 {now} {now + 2000} kernel name={name} stack={stack}",
                      f"execution 1 {launch} 1 {now + 1000} {now + 2500} {now + 5000} {now + 5000 + duration}"]
            now += 7000 + duration
        lines.append(f"call 1 {now} {now + 300000} wait clFinish queue=1 stack=1")
        now += 310000
    lines[0] = f"window 0 {now + 5000} command=" + (HOSTILE if hostile else "train")
    path = suite.described(os.path.join(folder, f"run{number:02}.duet"), *lines)
    os.utime(path, (FIRST_DATE + number * DAY,) * 2)
    return path


def make_runs(suite, folder):
    """A folder of recordings."""
    os.makedirs(suite.path(folder), exist_ok=True)
    for number in range(RUNS):
        make_run(suite, number, folder)
    return suite.path(folder)
