# SPDX-License-Identifier: MIT
"""Says itself what it did in Python, for the CPU collector's tests; any Python from 3.8 on, without packages.

    python_cpu.py shares MS [LOOPS]  processor time in two functions that are called in turn, 7 to 3, LOOPS rounds each
    python_cpu.py sleeps MS          asleep in one function, computing for as long in another
    python_cpu.py lock ROUNDS MS [1] launches kernels; before each another thread has the interpreter's lock for MS, computing
                                     or (1) in a C function that waits and keeps it
    python_cpu.py parse ROUNDS MS    the same with the usual switch interval of 5 ms, in a C function that computes; says which
                                     thread it was
    python_cpu.py naps ROUNDS MS     launches kernels and sleeps for MS after each
    python_cpu.py finish ROUNDS KEEPS  waits for kernels, with the interpreter's lock (1) or without (0), while another thread
                                     would compute; says how long the waits took
    python_cpu.py collect MS         collects garbage, and computes for as long; another thread computes all the time without
                                     the interpreter's lock

Prints "NAME NANOSECONDS" for each: processor time, or for what waits the time by the clock.
"""
import ctypes
import gc
import hashlib
import json
import sys
import threading
import time

C = ctypes.PyDLL(None)


def loop(rounds):
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def heavy(rounds):
    begin = time.thread_time_ns()
    total = 0
    for i in range(7 * rounds):
        total += i * i
    return time.thread_time_ns() - begin


def light(rounds):
    begin = time.thread_time_ns()
    total = 0
    for i in range(3 * rounds):
        total += i * i
    return time.thread_time_ns() - begin


def shares(ms, rounds=1000):
    told = {"heavy": 0, "light": 0}
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ms * 1000000:
        told["heavy"] += heavy(rounds)
        told["light"] += light(rounds)
    return told


def rest_a(ms):
    begin = time.monotonic_ns()
    time.sleep(ms / 1000)
    return time.monotonic_ns() - begin


def work_b(ms):
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < ms * 1000000:
        loop(1000)
    return time.thread_time_ns() - begin


class Device:
    """The first device of the first platform, one queue, one kernel without work."""

    def __init__(self):
        self.cl = ctypes.CDLL("libOpenCL.so.1")
        pointer, number, status = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int()
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource",
                     "clCreateKernel"):
            getattr(self.cl, name).restype = pointer
        platform, device = pointer(), pointer()
        self.must(self.cl.clGetPlatformIDs(number(1), ctypes.byref(platform), None))
        self.must(self.cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), number(1),
                                         ctypes.byref(device), None))
        context = pointer(self.cl.clCreateContext(None, number(1), ctypes.byref(device), None, None,
                                                  ctypes.byref(status)))
        self.queue = pointer(self.cl.clCreateCommandQueue(context, device, ctypes.c_ulong(2),
                                                          ctypes.byref(status)))
        source = ctypes.c_char_p(b"kernel void nothing(void) {}")
        made = pointer(self.cl.clCreateProgramWithSource(context, number(1), ctypes.byref(source), None,
                                                         ctypes.byref(status)))
        self.must(self.cl.clBuildProgram(made, number(1), ctypes.byref(device), None, None, None))
        self.kernel = pointer(self.cl.clCreateKernel(made, b"nothing", ctypes.byref(status)))
        self.must(status.value)

    @staticmethod
    def must(status):
        if status:
            sys.exit("OpenCL error %d" % status)

    def enqueue(self):
        size = ctypes.c_size_t(1)
        self.must(self.cl.clEnqueueNDRangeKernel(self.queue, self.kernel, ctypes.c_uint(1), None,
                                                 ctypes.byref(size), None, ctypes.c_uint(0), None, None))

    def launch(self):
        self.enqueue()
        self.must(self.cl.clFinish(self.queue))


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        loop(100)


def keep(seconds):
    C.usleep(int(seconds * 1e6))


def text_of(seconds):
    """A text that takes that long to parse, in one C function."""
    items, best = [{"id": i, "box": [i, i + 1, i + 2]} for i in range(1000)], 1e9
    sample = json.dumps(items)
    for _ in range(5):
        begin = time.monotonic()
        json.loads(sample)
        best = min(best, time.monotonic() - begin)
    return json.dumps(items * (int(seconds / best) + 1))


def read_config(config):
    return json.loads(config)


def hold(turns, seconds, begun, do):
    for _ in iter(turns.acquire, None):
        if not seconds[0]:
            return
        begun.append(True)
        do(seconds[0])


def lock(rounds, ms, keeps=0):
    """How long this thread could not go on after a sleep of 1 ms, because the other one had the lock."""
    sys.setswitchinterval(60)
    device, turns, seconds, waited = Device(), threading.Semaphore(0), [ms / 1000], 0
    begun = []
    holder = threading.Thread(target=hold, args=(turns, seconds, begun, keep if keeps else compute))
    holder.start()
    for number in range(rounds):
        device.launch()
        turns.release()
        while len(begun) == number:
            begin = time.monotonic_ns()
            time.sleep(0.001)
        waited += time.monotonic_ns() - begin - 1000000
        device.launch()
    seconds[0] = 0
    turns.release()
    holder.join()
    return {"waited": waited}


def parse(rounds, ms):
    """The other thread keeps the lock in one C function for longer than the switch interval."""
    device, turns, begun, waited = Device(), threading.Semaphore(0), [], 0
    configs = [text_of(ms / 1000)]
    holder = threading.Thread(target=hold, args=(turns, configs, begun, read_config))
    holder.start()
    for number in range(rounds):
        device.launch()
        turns.release()
        while len(begun) == number:
            begin = time.monotonic_ns()
            time.sleep(0.001)
        waited += time.monotonic_ns() - begin - 1000000
        device.launch()
    tid = holder.native_id
    configs[0] = ""
    turns.release()
    holder.join()
    return {"waited": waited, "holder": tid}


def nap(seconds):
    begin = time.monotonic_ns()
    time.sleep(seconds)
    return time.monotonic_ns() - begin


def naps(rounds, ms):
    device, took = Device(), 0
    for _ in range(rounds):
        device.launch()
        took += nap(ms / 1000)
        loop(2000)
    return {"naps": took}


def finish(rounds, keeps):
    device, is_over, took = Device(), [], 0
    wait = (ctypes.PyDLL if keeps else ctypes.CDLL)("libOpenCL.so.1").clFinish

    def others():
        while not is_over:
            loop(1000)
    other = threading.Thread(target=others)
    other.start()
    for _ in range(rounds):
        device.enqueue()
        begin = time.monotonic_ns()
        device.must(wait(device.queue))
        took += time.monotonic_ns() - begin
    is_over.append(True)
    other.join()
    return {"finish": took}


def release(graph, ms):
    begin = time.thread_time_ns()
    while graph and time.thread_time_ns() - begin < ms * 1000000:
        gc.collect()
    return time.thread_time_ns() - begin


def digest(is_over):
    block = bytes(1 << 20)
    while not is_over:
        hashlib.sha256(block)


def collect(ms):
    graph, is_over = [], []
    gc.disable()
    for i in range(100000):
        graph.append({"id": i, "next": graph[-1:]})
    other = threading.Thread(target=digest, args=(is_over,))
    other.start()
    told = {"release": release(graph, ms), "work_b": work_b(ms)}
    is_over.append(True)
    other.join()
    return told


def main():
    what, numbers = sys.argv[1], [int(text) for text in sys.argv[2:]]
    if what == "shares":
        told = shares(*numbers)
    elif what == "sleeps":
        told = {"rest_a": rest_a(numbers[0]), "work_b": work_b(numbers[0])}
    elif what == "finish":
        told = finish(*numbers)
    elif what == "parse":
        told = parse(*numbers)
    elif what == "collect":
        told = collect(*numbers)
    elif what == "naps":
        told = naps(*numbers)
    else:
        told = lock(*numbers)
    for name, ns in told.items():
        print(name, ns)


main()
