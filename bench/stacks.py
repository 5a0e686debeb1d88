#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the stack of a launch costs a Python program: repeated, and met for the first time.

    bench/stacks.py BUILD [FRAMES]

16384 paths through two functions, 14 calls deep, are as many stacks, below which further calls lie until
the stack has FRAMES (35) frames. All functions and call sites are warm: each was in a stack before.
"""
import ctypes
import os
import statistics
import sys

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
FRAMES = int(sys.argv[2]) if len(sys.argv) > 2 else 35
DEPTH = 14
probe = ctypes.PyDLL(os.path.join(BUILD, "bench", "libstacks_probe.so"))
probe.stacks_take.restype = probe.stacks_repeat.restype = ctypes.c_double
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


# beside the paths' calls: <module>, all_paths, and some ten native frames around the interpreter's
padding = FRAMES - DEPTH - 12
passes = []
for _ in range(2):  # from one line: another one would make other stacks
    costs = []
    below(padding, all_paths)
    passes.append(costs)
new, known = passes
again = [below(padding, lambda: repeat(20000)) for _ in range(5)]
print(f"{len(new)} stacks, {probe.stacks_ids()} ids; between two of them Python makes 2 to 28 calls")
print("the first two with two clock readings, some 40 ns:")
print(f"new, all call sites warm  {statistics.median(new[1000:]):6.0f} ns (median)")
print(f"met once before           {statistics.median(known):6.0f} ns (median)")
print(f"the same again            {min(again):6.0f} ns")
