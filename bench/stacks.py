#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the stack of a launch costs a Python program: repeated, and met for the first time.

    bench/stacks.py BUILD [FRAMES]

16384 paths through two functions, 14 calls deep, are as many stacks, below which further calls lie until
the stack has FRAMES (35) frames. All functions and call sites are warm: each was in a stack before. Where
the interpreter's frames lie in memory differs from process to process and moves the result: nine processes,
of whose medians the median is printed, with the smallest and the largest.
"""
import ctypes
import os
import statistics
import subprocess
import sys

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
FRAMES = int(sys.argv[2]) if len(sys.argv) > 2 else 35
DEPTH = 14
probe = ctypes.PyDLL(os.path.join(BUILD, "bench", "libstacks_probe.so"))
probe.stacks_take.restype = probe.stacks_repeat.restype = probe.stacks_clock.restype = ctypes.c_double
take, repeat = probe.stacks_take, probe.stacks_repeat
costs = []


def left(path, depth):
    if depth:
        (left if path & 1 else right)(path >> 1, depth - 1)
    else:
        costs.append(take())


def right(path, depth):
    if depth:
        (left if path & 1 else right)(path >> 1, depth - 1)
    else:
        costs.append(take())


def below(count, run):
    if count > 0:
        return below(count - 1, run)
    return run()


def all_paths():
    for path in range(1 << DEPTH):
        left(path, DEPTH)


# beside the paths' calls: <module>, one(), all_paths, and some ten native frames around the interpreter's
padding = FRAMES - DEPTH - 13


def one():
    global costs
    clock = statistics.median(probe.stacks_clock() for _ in range(10000))
    passes = []
    for _ in range(2):  # from one line: another one would make other stacks
        costs = []
        below(padding, all_paths)
        passes.append(statistics.median(costs[1000:]) - clock)
    again = min(below(padding, lambda: repeat(20000)) for _ in range(5))
    print(*passes, again, clock, probe.stacks_ids())


def main():
    command = [sys.executable, __file__, BUILD, str(FRAMES), "--one"]
    rows = [[float(word) for word in subprocess.check_output(command, text=True).split()]
            for _ in range(9)]
    new, known, again, clock, ids = zip(*rows)
    print(f"{1 << DEPTH} stacks, {ids[0]:.0f} ids; between two of them Python makes 2 to 28 calls")
    print(f"two readings of the clock, {statistics.median(clock):.0f} ns, are subtracted from the first two")
    for name, values in [("new, all call sites warm", new), ("met once before", known),
                         ("the same again", again)]:
        print(f"{name:25} {statistics.median(values):6.0f} ns ({min(values):.0f} to {max(values):.0f})")


if "--one" in sys.argv:
    one()
else:
    main()
