# SPDX-License-Identifier: MIT
"""The same loop as change_work.c, with PyOpenCL: change_work.py [VARIANT [ITERATIONS]]."""
import json
import os
import sys
import threading
import time

import numpy
import pyopencl as cl

COUNT = 1 << 14
PREPARE_LOOPS, UPDATE_LOOPS, SLOW_LOOPS, FINISH_LOOPS = 30, 100, 103, 30
WRITE_BYTES = 2 << 20
ARGUMENTS_NS, HOST_NS = 800000, 300000
SLEEP_S, HOLD_S, LONGER_HOLD_S = 0.002, 0.0003, 0.0013

VARIANTS = {
    "base": {},
    "slow_kernel": {"update": [("update", SLOW_LOOPS)]},
    "more_launches": {"update": [("update", UPDATE_LOOPS), ("update", UPDATE_LOOPS)]},
    "sleep": {"sleep": SLEEP_S},
    "blocking_copy": {"blocking": True},
    "lock": {"hold": LONGER_HOLD_S},
    "rename": {"update": [("advance", UPDATE_LOOPS)]},
    "split": {"update": [("update_low", UPDATE_LOOPS // 2), ("update_high", UPDATE_LOOPS // 2)]},
    "fuse": {"prepare": [], "update": [("prepare_update", UPDATE_LOOPS + PREPARE_LOOPS)]},
    "fuse_apart": {"update": [("update_finish", UPDATE_LOOPS + FINISH_LOOPS)], "finish": []},
}
SOURCE = "".join("""
kernel void %s(global float *x, int n) {
    float v = x[get_global_id(0)];
    for (int i = 0; i < n; i++) v = v * 0.999f + 0.5f;
    x[get_global_id(0)] = v;
}
""" % name for name in ("prepare", "update", "finish", "advance", "update_low", "update_high", "prepare_update",
            "update_finish"))


class Span:
    """Adds wall time to NAME_ns, and the part of it that waited for a processor to NAME_delay_ns."""

    def __init__(self, truth, name, file=open("/proc/thread-self/schedstat", "rb", buffering=0)):
        self.truth, self.name, self.descriptor = truth, name, file.fileno()

    def delay_ns(self):
        return int(os.pread(self.descriptor, 96, 0).split()[1])

    def __enter__(self):
        self.begin_delay_ns = self.delay_ns()
        self.begin_ns = time.monotonic_ns()

    def __exit__(self, *unused):
        self.truth[self.name + "_ns"] += time.monotonic_ns() - self.begin_ns
        self.truth[self.name + "_delay_ns"] += self.delay_ns() - self.begin_delay_ns


class Work:
    """The device, the other thread and the sums of the run."""

    def __init__(self, variant):
        self.blocking = variant.get("blocking", False)
        self.sleep_s = variant.get("sleep", 0)
        self.hold_s = variant.get("hold", HOLD_S)
        platform = cl.get_platforms()[0]
        self.context = cl.Context([platform.get_devices()[0]])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.program = cl.Program(self.context, SOURCE).build()
        self.data = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, COUNT * 4)
        self.input = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, WRITE_BYTES)
        self.host_data = numpy.zeros(COUNT, numpy.float32)
        self.host_input = numpy.ones(WRITE_BYTES // 4, numpy.float32)
        self.prepare = self.kernels(variant.get("prepare", [("prepare", PREPARE_LOOPS)]))
        self.update = self.kernels(variant.get("update", [("update", UPDATE_LOOPS)]))
        self.finish = self.kernels(variant.get("finish", [("finish", FINISH_LOOPS)]))
        self.lock = threading.Lock()
        self.start, self.hold = threading.Semaphore(0), threading.Semaphore(0)
        self.is_over = False
        self.truth = dict.fromkeys(("kernels_ns", "update_ns", "update_count", "write_ns", "write_delay_ns", "sleep_ns",
                                    "sleep_delay_ns", "lock_ns", "lock_delay_ns"), 0)
        self.write_span, self.sleep_span, self.lock_span = (Span(self.truth, name) for name in ("write", "sleep", "lock"))

    def kernels(self, rows):
        """A kernel launched twice is one object: its arguments do not change."""
        made = {name: getattr(self.program, name) for name, _ in rows}
        for name, loops in rows:
            made[name].set_args(self.data, numpy.int32(loops))
        return [made[name] for name, _ in rows]


def hold_lock(work):
    with work.lock:
        work.hold.acquire()
        time.sleep(work.hold_s)


def other_thread(work):
    work.start.acquire()
    while not work.is_over:
        hold_lock(work)
        work.start.acquire()


def take_lock(work):
    with work.lock_span:
        work.hold.release()
        work.lock.acquire()
    work.lock.release()


def launch(work, kernels):
    return [cl.enqueue_nd_range_kernel(work.queue, kernel, (COUNT,), (256,)) for kernel in kernels]


def launch_update(work):
    return launch(work, work.prepare), launch(work, work.update)


def launch_finish(work):
    finished = launch(work, work.finish)
    work.queue.flush()
    return finished


def write_input(work):
    with work.write_span:
        event = cl.enqueue_copy(work.queue, work.input, work.host_input, is_blocking=work.blocking)
        work.queue.flush()
    return event


def read_output(work):
    cl.enqueue_copy(work.queue, work.host_data, work.data, is_blocking=True)


def compute(ns):
    end = time.monotonic_ns() + ns
    while time.monotonic_ns() < end:
        pass


def fill_arguments():
    compute(ARGUMENTS_NS)


def host_work():
    compute(HOST_NS)


def sleep_before_launch(work):
    with work.sleep_span:
        time.sleep(work.sleep_s)


def add_kernels(work, prepared, updated, finished):
    def total(events):
        return sum(event.profile.end - event.profile.start for event in events)
    update_ns = total(updated)
    work.truth["kernels_ns"] += total(prepared) + update_ns + total(finished)
    work.truth["update_ns"] += update_ns
    work.truth["update_count"] += len(updated)


def iterate(work):
    written = write_input(work)  # the event keeps the host's memory alive
    fill_arguments()
    if work.sleep_s:
        sleep_before_launch(work)
    prepared, updated = launch_update(work)
    finished = launch_finish(work)
    work.start.release()
    read_output(work)
    take_lock(work)
    host_work()
    add_kernels(work, prepared, updated, finished)
    del written


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "base"
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    work = Work(VARIANTS[name])
    other = threading.Thread(target=other_thread, args=(work,))
    other.start()
    begin = time.monotonic_ns()
    for _ in range(iterations):
        iterate(work)
    loop_ns = time.monotonic_ns() - begin
    work.is_over = True
    work.start.release()
    other.join()
    print(json.dumps({"variant": name, "iterations": iterations, **work.truth, "loop_ns": loop_ns}))


if __name__ == "__main__":
    main()
