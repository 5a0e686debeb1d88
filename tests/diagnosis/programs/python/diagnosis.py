# SPDX-License-Identifier: MIT
"""The iterations, the clock and the truth of the Python programs; harness/main.c has them for C.

A program is a file with a Plant, and ends with

    if __name__ == "__main__":
        diagnosis.run()

Its arguments are [NAME=MS...], NAME a cause, MS its milliseconds per iteration. SEED varies amounts, order and the
number of iterations; with DIAGNOSIS_CLEAN the causes do nothing. One line of JSON for each cause is appended to the
file that DIAGNOSIS_TRUTH names, or written to stderr.
"""
import json
import os
import random
import sys
import time

import opencl

SKIPPED = 77
plants = []


def schedule_delay_ns(file=open("/proc/thread-self/schedstat", "rb", buffering=0)):
    """Nanoseconds for which the main thread was ready and waited for a processor."""
    return int(os.pread(file.fileno(), 96, 0).split()[1])


def lines_of(function):
    code = function.__code__
    if hasattr(code, "co_lines"):
        lines = [line for _, _, line in code.co_lines() if line]
    else:
        import dis
        lines = [line for _, line in dis.findlinestarts(code)]
    return [min(lines), max(lines)]


def place_of(function):
    return {"function": function.__name__, "file": os.path.basename(function.__code__.co_filename),
            "line": lines_of(function)}


begun = {}


def planted_ns():
    """Wall time since act was called, without the time of waiting for a processor, but at least a quarter of the wall
    time: loops end beside many competing threads, too."""
    wall = time.monotonic_ns() - begun["ns"]
    return max(wall - (schedule_delay_ns() - begun["delay"]), wall // 4)


class Plant:
    """A planted cause.

    kinds: accepted kinds, and words: one of which the verdict contains, both separated by spaces
    act: called while the device idles, for some nanoseconds; its time is the truth
    guilty: the function to be named, act itself unless another thread's
    start: called before the first iteration; during: while the device works, before act
    measure: "act"; "return": how late the wait for the device returns, for the interpreter's lock;
    "delay": how long act waited for a processor; "own": the program counts in ns itself
    """

    def __init__(self, kinds, words, act=None, guilty=None, amount_ms=5, every=1, start=None, during=None, finish=None,
                 measure="act"):
        self.kinds, self.words, self.act, self.guilty = kinds.split(), words.split(), act, guilty or act
        self.amount_ns, self.every, self.measure = int(amount_ms * 1e6), every, measure
        self.start, self.during, self.finish = start, during, finish
        self.name = os.path.basename(self.guilty.__code__.co_filename)[:-len(".py")]
        self.ns = self.wall_ns = self.delay_ns = 0
        plants.append(self)

    def amount(self, iteration):
        if iteration % self.every != self.every - 1:
            return 0
        return int(self.amount_ns * self.every * random.uniform(0.75, 1.25))

    def run(self, ns):
        begun.update(delay=schedule_delay_ns(), ns=time.monotonic_ns())
        self.act(ns)
        wall, delay = time.monotonic_ns() - begun["ns"], schedule_delay_ns() - begun["delay"]
        self.wall_ns += wall
        self.delay_ns += delay
        if self.measure in ("act", "delay"):
            self.ns += delay if self.measure == "delay" else wall - delay

    def truth(self):
        truth = {"name": self.name, "kind": self.kinds, "sentence_words": self.words, **place_of(self.guilty)}
        if self.act and self.act is not self.guilty:
            truth["waiter"] = place_of(self.act)
        return {**truth, "ns": self.ns, "wall_ns": self.wall_ns, "delay_ns": self.delay_ns,
                "python": "%d.%d" % sys.version_info[:2]}


def read_amounts(arguments):
    given = dict(argument.split("=") for argument in arguments)
    for plant in plants:
        plant.amount_ns = int(float(given.get(plant.name, plant.amount_ns / 1e6)) * 1e6 * random.uniform(0.85, 1.15))
        if plant.every == 1 and random.random() < 0.5 and plant.measure != "return":
            plant.every = random.randint(2, 4)
        if os.environ.get("DIAGNOSIS_CLEAN"):
            plant.amount_ns = 0


def device_clock_after(end_ns):
    """How long ago that was, by the clock of PoCL's profiling."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - end_ns


def clocks():
    """Of the main thread: wall, processor and delay."""
    return time.monotonic_ns(), time.thread_time_ns(), schedule_delay_ns()


def run_iteration(device, iteration):
    """Launches do not block. If they do, the interpreter's lock is the reason, as it is when finish returns late."""
    amounts = [(plant, plant.amount(iteration)) for plant in plants]
    begin = clocks()
    device.launch()
    for plant, ns in amounts:
        if ns and plant.during:
            plant.during(ns)
    launched = clocks()
    wall = max(device_clock_after(device.finish()), 0)
    delay = schedule_delay_ns() - launched[2]
    wall_ns, cpu_ns, delay_ns = (after - before for after, before in zip(launched, begin))
    for plant, ns in amounts:
        if ns and plant.measure == "return":
            plant.ns += max(wall - delay, 0) + wall_ns - cpu_ns - delay_ns
            plant.wall_ns += wall + wall_ns - cpu_ns
            plant.delay_ns += delay + delay_ns
        elif ns:
            plant.run(ns)


def print_truth(iterations, loop_ns):
    path = os.environ.get("DIAGNOSIS_TRUTH")
    for plant in plants:
        line = json.dumps({**plant.truth(), "iterations": iterations, "loop_ns": loop_ns})
        if path:
            with open(path, "a") as file:
                print(line, file=file)
        else:
            print(line, file=sys.stderr)


def run():
    random.seed(int(os.environ.get("SEED", "0")))
    iterations = int(os.environ.get("DIAGNOSIS_ITERATIONS", random.randint(70, 100)))
    read_amounts(sys.argv[1:])
    device = opencl.open_device()
    for plant in plants:
        if plant.start:
            plant.start(device)
    begin = time.monotonic_ns()
    for iteration in range(iterations):
        run_iteration(device, iteration)
    device.launch()
    device.finish()
    loop_ns = time.monotonic_ns() - begin
    for plant in plants:
        if plant.finish:
            plant.finish()
    print_truth(iterations, loop_ns)
