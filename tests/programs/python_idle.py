# SPDX-License-Identifier: MIT
"""A PyOpenCL program whose device idles because of a sleep and of computing, and that says how long each took.

    python_idle.py ROUNDS MILLISECONDS

Prints a line each: sleep_a and nanoseconds of the clock, compute_b and nanoseconds of processor time, and for how long in
all it waited for a processor, as the scheduler counts.
"""
import sys
import time

import numpy
import pyopencl

SOURCE = "kernel void scale(global float *x) { int i = get_global_id(0); for (int k = 0; k < 100; k++) x[i] = x[i] * 0.5f + 1; }"


def launch(queue, kernel, buffer):
    kernel(queue, (65536,), None, buffer)
    queue.finish()


def sleep_a(seconds):
    begin = time.monotonic_ns()
    time.sleep(seconds)
    return time.monotonic_ns() - begin


def compute_b(seconds):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < seconds * 1e9:
        sum(range(500))
    return time.thread_time_ns() - begin


def waited():
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def main(rounds, milliseconds):
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    kernel = pyopencl.Program(context, SOURCE).build().scale
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4 * 65536)
    pyopencl.enqueue_copy(queue, buffer, numpy.zeros(65536, dtype=numpy.float32))
    told = {"sleep_a": 0, "compute_b": 0, "waited": -waited()}
    for _ in range(rounds):
        launch(queue, kernel, buffer)
        told["sleep_a"] += sleep_a(milliseconds / 1000)
        launch(queue, kernel, buffer)
        told["compute_b"] += compute_b(milliseconds / 1000)
    launch(queue, kernel, buffer)
    told["waited"] += waited()
    for path, ns in told.items():
        print(path, ns)


main(int(sys.argv[1]), float(sys.argv[2]))
