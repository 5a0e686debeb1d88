#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/heat.py with a Python that has PyOpenCL, usually the distribution's."""
import os

import duet_test
import trace_stacks
from duet_test import ROOT, run, text

t = duet_test.Suite()
HEAT = os.path.join(ROOT, "examples", "heat.py")
FRAMES, STEPS = 4, 10
COMMAND = [HEAT, "--frames", str(FRAMES), "--steps", str(STEPS), "--size", "128"]


def find_python():
    for python in (os.environ.get("DUET_PYTHON"), "/usr/bin/python3", "python3"):
        if python and run([python, "-c", "import pyopencl, numpy"]).status == 0:
            return python
    print("1..0 # SKIP no Python here has pyopencl and numpy")
    raise SystemExit(0)


PYTHON = find_python()

for device in ("pthread", "basic"):
    with t.case(f"heat.py on {device}"):
        output = t.path("heat.duet")
        plain, recorded = t.unharmed([PYTHON, *COMMAND], output, env={"POCL_DEVICES": device})
        t.equal(plain.status, 0, f"status without duet ({text(plain.stderr)})")
        document = t.readable(output)
        kernels = {row["name"]: row["count"] for row in document["kernels"]}
        t.equal(kernels, {"diffuse": 1 + FRAMES * STEPS, "residual": FRAMES, "colourise": FRAMES},
                "kernels")
        ledger = document["ledger"]
        t.equal(ledger["launched"], 3 + FRAMES * (STEPS + 4), "launched")
        t.equal(ledger["matched"], ledger["launched"], "matched")
        t.true(all(row["total_ns"] > 0 for row in document["kernels"]), "kernels have device times")

with t.case("an error in Python stays what it is"):
    command = [PYTHON, "-c", "import pyopencl as c\n"
               "x = c.create_some_context(interactive=False)\n"
               "c.Program(x, 'kernel void broken( {').build()"]
    plain, recorded = t.unharmed(command, t.path("broken.duet"), stderr=False)
    t.equal(plain.status, 1, "status without duet")
    t.true(b"Error" in recorded.stderr, "the traceback is there")

with t.case("a slow call has the stack of its caller, a fast one has none"):
    script = t.path("slow.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write("""
import numpy
import pyopencl as cl

context = cl.create_some_context(interactive=False)

def upload(host):
    return cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host)

upload(numpy.ones(1 << 26, numpy.uint8))
for i in range(50):
    cl.get_platforms()
""")
    output = t.path("slow.duet")
    t.equal(t.record([PYTHON, script], output, options=("--collect", "opencl")).status, 0, "status")
    trace = trace_stacks.Trace(output)
    slow = [stack for function, stack in trace.calls if function == "clCreateBuffer"]
    fast = [stack for function, stack in trace.calls if function == "clGetPlatformIDs"]
    made = sum(row["count"] for row in t.report(output)["api"] if row["name"] == "clGetPlatformIDs")
    t.equal([frame.name for frame in trace.chain(slow[0]) if frame.type == "python"], ["upload", "<module>"], "its callers")
    t.true(made >= 50 and len(fast) < 10, f"{len(fast)} of {made} fast calls have a stack")

with t.case("multiprocessing with spawn"):
    script = t.path("spawned.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"""
import contextlib
import io
import sys
sys.path.insert(0, {os.path.dirname(HEAT)!r})
import multiprocessing
import heat

def job(frames):
    # printed by the parent: two workers at once write their lines in any order
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        heat.main(["--frames", str(frames), "--steps", "2", "--size", "64"])
    return printed.getvalue()

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(2) as pool:
        print(pool.map(job, [1, 1, 1], chunksize=1))
""")
    output = t.path("spawned.duet")
    plain, recorded = t.unharmed([PYTHON, script], output)
    t.equal(plain.status, 0, f"status without duet ({text(plain.stderr)})")
    t.equal(t.readable(output)["ledger"]["launched"], 3 * (3 + 2 + 4), "launched")

with t.case("more threads than rings: commands of threads with a ring are matched, the others are counted"):
    script = t.path("crowd.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write("""
import threading
import pyopencl as cl

COUNT = 160  # a region has 128 rings
context = cl.create_some_context(interactive=False)
kernel = cl.Program(context, "kernel void one(global float *a) { a[get_global_id(0)] += 1; }").build()
kernel.one  # PyOpenCL's invoker is made once
data = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
gate = threading.Barrier(COUNT)


def work():
    queue = cl.CommandQueue(context)
    own = cl.Kernel(kernel, "one")
    gate.wait()
    for _ in range(3):
        own(queue, (64,), None, data)
        queue.finish()
    gate.wait()


threads = [threading.Thread(target=work, name="worker-%d" % i) for i in range(COUNT)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""")
    output = t.path("crowd.duet")
    recorded = t.record([PYTHON, script], output)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    ledger = t.report(output)["ledger"]
    t.true(ledger["dropped"] > 0, f"some threads have no ring: {ledger}")
    t.equal((ledger["launched"], ledger["not_executed"], ledger["in_flight_at_exit"]), (480, 0, 0), f"{ledger}")

t.end()
