#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The simulated AMD GPU (sim/amd) below the real ROCr and HIP, without duet.

Other tests trust this simulator, so it is tested here: programs with known counts find their work done, and their
results and ROCr's equal the GPU's log. Times are computed, so no result depends on the load.
"""
import collections
import json
import os
import re
import signal
import subprocess
import time

import duet_test
from duet_test import PROGRAMS, Running, Skip, program, run, text

LIBRARY = os.path.join(duet_test.BUILD, "sim", "amd", "libsim-kfd.so")
if not os.path.exists(LIBRARY) or not os.path.exists(os.path.join(PROGRAMS, "hsa_work")):
    print("1..0 # SKIP no ROCr (libhsa-runtime-dev): the simulated GPU or its programs were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

Work = collections.namedtuple("Work", "kind pid gpu queue packet start end amount name")
KERNELS = ("fill", "vector_add", "idle", "late")
# ROCr reads the GPU's counter, which ticks every 10 ns, and interpolates between pairs of clocks.
STAMP_NS = 100


def sim(options="", **more):
    return {"LD_PRELOAD": LIBRARY, "SIM_KFD": options, **more}


def read_log(path):
    """What the GPU did, in the order in which that ended."""
    rows = []
    with open(path) as file:
        for line in file:
            kind, pid, gpu, queue, packet, start, end, amount, name = line.split()
            rows.append(Work(kind, int(pid), int(gpu), int(queue), int(packet), int(start), int(end),
                             int(amount), name))
    return rows


def code(target="gfx90a", name="code"):
    return f"{name}=" + program(f"hsa_kernels{'_late' if name == 'other' else ''}.{target}")


def done(arguments, options="", name="hsa_work", status=0, **more):
    """What the program said and what the GPU did: (facts, works)."""
    t.wanted()
    log = t.path("log")
    if os.path.exists(log):
        os.unlink(log)
    joined = ",".join(filter(None, [options, f"log={log}"]))
    result = run([program(name), *arguments], env=sim(joined, **more))
    t.equal(result.status, status, f"status: {text(result.stderr)}")
    facts = json.loads(result.stdout)
    t.equal(facts["wrong"], 0, "words that are not what the work should have made")
    return facts, read_log(log)


def counted(works, *kinds):
    return collections.Counter((work.gpu, work.queue, work.name) for work in works
                               if work.kind in kinds and work.name in KERNELS)


def check_dispatches(facts, works):
    """Every dispatch that the program counted, on its queue, by the kernel's name, and none else."""
    wanted = collections.Counter()
    for index, gpu in enumerate(facts["gpus"]):
        for queue in gpu["queues"]:
            wanted.update({(index, queue["id"], name): queue[name] for name in KERNELS if queue[name]})
    t.equal(counted(works, "kernel"), wanted, "dispatches by GPU, queue and kernel")


def check_copies(facts, works):
    """The bytes of all copies; large ones are split by ROCr, so that their number is not compared."""
    wanted = {index: sum(gpu[kind]["bytes"] for kind in ("h2d", "d2h", "d2d"))
              for index, gpu in enumerate(facts["gpus"])}
    copied = {index: sum(work.amount for work in works if (work.kind, work.gpu) == ("copy", index))
              for index in wanted}
    t.equal(copied, wanted, "bytes copied by GPU")


def check_times(facts, works):
    """What ROCr told the program lies within the program's own times, and is what the GPU wrote down."""
    outside = [one for one in facts["times"]
               if not one["before"] <= one["start"] <= one["end"] <= one["after"]]
    t.equal(outside, [], "times outside of the program's")
    true = sorted((work.start, work.end) for work in works if work.kind == "kernel" and work.name in KERNELS)
    shown = sorted((one["start"], one["end"]) for one in facts["times"] if "queue" in one)
    t.equal(len(shown), len(true), "dispatches with times")
    worst = max(abs(a - b) for pair in zip(true, shown) for a, b in zip(*pair))
    print(f"# off by {worst} ns at most")
    t.true(worst <= STAMP_NS, f"a time is off by {worst} ns")


def overlaps(works):
    """How many kernels began before one that was dispatched earlier on their queue had ended."""
    queues = collections.defaultdict(list)
    for work in works:
        if work.kind == "kernel" and work.name in KERNELS:
            queues[work.gpu, work.queue].append(work)
    return sum(later.start < earlier.end
               for queue in queues.values()
               for earlier, later in zip(sorted(queue, key=lambda work: work.packet),
                                         sorted(queue, key=lambda work: work.packet)[1:]))


# ---- ROCr ----

for gpus in (1, 4):
    with t.case(f"23 dispatches on two queues, 7 copies to the device and 5 back, {gpus} GPUs"):
        facts, works = done(["work", code()], f"gpus={gpus}")
        t.equal([gpu["name"] for gpu in facts["gpus"]], ["gfx90a"] * gpus, "agents")
        check_dispatches(facts, works)
        check_copies(facts, works)
        check_times(facts, works)
        t.equal(overlaps(works), 0, "kernels that overlap although they have the barrier bit")

for name, arguments, options, more in (
        ("each waited for", ["wait=1"], "", {}),
        ("without signals", ["signals=0"], "", {}),
        ("memory that was locked", ["locked=1", "d2d=3"], "", {}),
        ("copies of 5 MB, which ROCr splits", ["bytes=5000000"], "", {}),
        ("boxes of memory", ["boxes=3"], "", {}),
        ("children in between", ["forks=5"], "", {}),
        ("waiting without interrupts", [], "", {"HSA_ENABLE_INTERRUPT": "0"})):
    with t.case(f"the same, {name}"):
        facts, works = done(["work", code(), *arguments], options, **more)
        check_dispatches(facts, works)
        check_copies(facts, works)

with t.case("the same, slow copies that wait for each other"):
    facts, works = done(["work", code(), "chained=1", "d2d=2"], "copy_gbps=0.05")
    check_copies(facts, works)
    copies = sorted((work.start, work.end) for work in works if work.kind == "copy")
    t.equal([pair for pair in zip(copies, copies[1:]) if pair[0][1] > pair[1][0]], [],
            "copies that began before the one before them had ended")

for shift, aligned, misaligned in ((0, 7 + 5 + 3 + 2, 0), (1, 3 + 1, 7 + 5 + 1)):
    with t.case(f"the same, copies and fills by ROCr's kernels, {shift} bytes off"):
        facts, works = done(["work", code(), "d2d=3", "fills=2", "bytes=50001", f"shift={shift}"],
                            HSA_ENABLE_SDMA="0")
        check_dispatches(facts, works)
        names = collections.Counter(work.name for work in works if work.name.startswith("rocr_"))
        # one fill clears the memory that is copied to; two copies are the code object and the last look at the data
        t.equal((names["rocr_fill"], names["rocr_copy_aligned"], names["rocr_copy_misaligned"]),
                (3, aligned, misaligned), f"ROCr's kernels {names}")
        t.equal([work for work in works if work.kind == "copy"], [], "works of the copy engines")

with t.case("another target, whose code objects are its own"):
    facts, works = done(["work", code("gfx1030")], "gfx=gfx1030")
    t.equal([gpu["name"] for gpu in facts["gpus"]], ["gfx1030"], "agents")
    check_dispatches(facts, works)
    refused = run([program("hsa_work"), "work", code("gfx90a")], env=sim("gfx=gfx1030"))
    t.equal(refused.status, 99, "status where the code is for another target")

with t.case("code that is loaded where other code was"):
    facts, works = done(["reload", code(), code(name="other"), "dispatches=10"])
    check_dispatches(facts, works)
    t.equal([work.name for work in works if work.name in KERNELS], ["idle", "late"] * 5, "kernels in order")

with t.case("children that begin when their parent has shut all down"):
    t.wanted()
    log = t.path("children")
    result = run([program("hsa_work"), "work", code(), "children=2"], env=sim(f"log={log}"))
    t.equal((result.status, len(result.stdout.splitlines())), (0, 3), f"status, reports: {text(result.stderr)}")
    works = read_log(log)
    for line in result.stdout.splitlines():
        facts = json.loads(line)
        check_dispatches(facts, [work for work in works if work.pid == facts["pid"]])
        t.equal(facts["wrong"], 0, "wrong words")

with t.case("three processes at once"):
    t.wanted()
    log = t.path("log3")
    running = [Running([program("hsa_work"), "work", code(), "dispatches=211"], env=sim(f"log={log},gpus=2"))
               for _ in range(3)]
    finished = [process.finish() for process in running]
    t.equal([result.status for result in finished], [0, 0, 0], "statuses")
    works = read_log(log)
    for result in finished:
        facts = json.loads(result.stdout)
        own = [work for work in works if work.pid == facts["pid"]]
        check_dispatches(facts, own)
        check_copies(facts, own)
        t.equal(facts["wrong"], 0, "wrong words")

with t.case("a queue waits for a kernel that comes later on another"):
    facts, works = done(["barrier", code(), "dispatches=50"])
    check_dispatches(facts, works)
    t.equal(len([work for work in works if work.kind == "barrier" and work.amount == 1]), 50, "waits")
    first, second = (gpu_queue["id"] for gpu_queue in facts["gpus"][0]["queues"])
    ends = [work.end for work in works if work.queue == second and work.name == "idle"]
    starts = [work.start for work in works if work.queue == first and work.name == "idle"]
    t.true(all(end <= start for end, start in zip(ends, starts)), "each starts when the other has ended")

with t.case("dispatches without the barrier bit overlap, and end in time"):
    facts, works = done(["work", code(), "barrier_bit=0", "dispatches=200", "queues=1"],
                        "kernel_us=3000")
    check_dispatches(facts, works)
    t.true(overlaps(works) > 150, f"{overlaps(works)} of 200 overlap")
    check_times(facts, works)

with t.case("100,000 dispatches"):
    facts, works = done(["burst", code(), "dispatches=100000"], "kernel_us=1")
    check_dispatches(facts, works)
    packets = [work.packet for work in works if work.name == "idle"]
    t.equal(packets, list(range(100000)), "packets in order, each once")
    seconds = (facts["end"] - facts["begin"]) / 1e9
    print(f"# {seconds:.2f} s")

for leave in ("exit", "_exit", "kill"):
    with t.case(f"a process that leaves by {leave}, without shutting down"):
        facts, works = done(["work", code(), f"leave={leave}"], status=137 if leave == "kill" else 0)
        check_dispatches(facts, works)

# ---- clocks ----

for ppm in (50, 500, -500):
    for wait in (0, 1):
        with t.case(f"a counter that is wrong by {ppm} ppm, {'each waited for' if wait else 'all at once'}"):
            facts, works = done(["work", code(), "dispatches=101", f"wait={wait}"], f"drift_ppm={ppm}")
            check_times(facts, works)

with t.case("a suspend of 5 s: CLOCK_BOOTTIME jumps for the program and the GPU alike"):
    began = time.monotonic()
    facts, works = done(["work", code(), "wait=1"], "jump_ms=5000,jump_at=12")
    passed = time.monotonic() - began
    check_times(facts, works)
    t.true(facts["end"] - facts["begin"] >= 5e9, "5 s in the program's clock")
    print(f"# in {passed:.2f} s")
    starts = sorted(work.start for work in works if work.name in KERNELS)
    gaps = [later - earlier for earlier, later in zip(starts, starts[1:])]
    t.equal([index for index, gap in enumerate(gaps) if gap >= 5e9], [10], "the gap is before the 12th dispatch")

with t.case("… at a time of CLOCK_MONOTONIC that was already over: all is behind it, nothing jumps"):
    facts, works = done(["work", code(), "wait=1"], f"jump_ms=5000,jump_at_ns={time.monotonic_ns()}")
    check_times(facts, works)
    t.true(facts["begin"] > time.clock_gettime_ns(time.CLOCK_BOOTTIME), "the program's clock is ahead of ours")
    t.true(facts["end"] - facts["begin"] < 5e9, "without a jump in between")

with t.case("… with a counter that stands still meanwhile: ROCr's times are not the program's"):
    facts, works = done(["work", code(), "wait=1"], "jump_ms=5000,jump_at=12,jump_gpu=0")
    outside = [one for one in facts["times"]
               if not one["before"] <= one["start"] <= one["end"] <= one["after"]]
    t.true(outside, "impossible times, for those who must not believe them")

# ---- the driver, asked by hand ----

DRIVER = """
import errno, fcntl, json, os, struct, time

def call(file, number, layout, *values):
    request = 3 << 30 | struct.calcsize(layout) << 16 | ord("K") << 8 | number
    return struct.unpack(layout, fcntl.ioctl(file, request, struct.pack(layout, *values)))

def error(function, *arguments):
    try:
        function(*arguments)
    except OSError as failed:
        return errno.errorcode[failed.errno]

file = os.open("/dev/kfd", os.O_RDWR | os.O_CLOEXEC)
version = call(file, 1, "II", 0, 0)
first = call(file, 5, "QQQQII", 0, 0, 0, 0, 0x1001, 0)
time.sleep(0.05)
later = call(file, 5, "QQQQII", 0, 0, 0, 0, 0x1001, 0)
copy = os.dup(file)
os.close(file)
after_dup = call(copy, 1, "II", 0, 0)
os.close(copy)
again = os.open("/dev/null", os.O_RDWR)
print(json.dumps({
    "version": version, "after_dup": after_dup, "first": first, "later": later,
    "nodes": os.listdir("/sys/devices/virtual/kfd/kfd/topology/nodes"),
    "unknown": error(call, os.open("/dev/kfd", os.O_RDWR), 0x30, "II", 0, 0),
    "reused": (again in (file, copy), error(call, again, 1, "II", 0, 0)),
    "render": error(os.open, "/dev/dri/renderD129", os.O_RDWR),
    "no_file": error(open, "/sys/devices/virtual/kfd/kfd/topology/nodes/2/gpu_id"),
    "jump": time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)}))
"""


def asked(options=""):
    t.wanted()
    result = run(["/usr/bin/python3", "-c", DRIVER], env=sim(options))
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    return json.loads(result.stdout)


with t.case("/dev/kfd directly: open and closed descriptors"):
    facts = asked()
    t.equal(facts["version"][0], 1, "version")
    t.equal(facts["after_dup"], facts["version"], "version, from a copy of the descriptor")
    t.equal(facts["nodes"], ["0", "1"], "nodes of the topology")
    t.equal(facts["unknown"], "EINVAL", "an ioctl that is not simulated")
    t.equal(facts["reused"], [True, "ENOTTY"], "a descriptor that is another file's now")
    t.equal((facts["render"], facts["no_file"]), ("ENOENT", "ENOENT"), "what a second GPU would have")

for ppm in (0, 500, -40):
    with t.case(f"/dev/kfd by hand: a counter of 100 MHz and {ppm} ppm"):
        facts = asked(f"drift_ppm={ppm}")
        ticks, _, passed, frequency = (later - first for first, later in zip(facts["first"][:4], facts["later"]))
        t.equal(facts["first"][3], 1000000000, "frequency of the system's clock")
        t.true(abs(ticks * 10 - passed * (1 + ppm / 1e6)) <= 20, f"{ticks} ticks in {passed} ns")

with t.case("/dev/kfd by hand: CLOCK_BOOTTIME is ahead after a suspend"):
    gained = asked("jump_ms=5000,jump_at_ns=1")["jump"] - asked()["jump"]
    t.true(abs(gained - 5e9) < 1e9, f"{gained} ns")

# ---- knobs ----

with t.case("how long kernels take: by name, by work-items"):
    facts, works = done(["work", code(), "items=640"], "kernel_us=7,us_vector_add=11.5,item_ns=3")
    lengths = {name: {work.end - work.start for work in works if work.name == name} for name in KERNELS[:2]}
    t.equal(lengths, {"fill": {7000 + 3 * 640}, "vector_add": {11500 + 3 * 640}}, "lengths in ns")

with t.case("how long copies take"):
    facts, works = done(["work", code(), "h2d=1", "d2h=1", "bytes=400000"], "copy_gbps=4")
    t.equal({work.end - work.start for work in works if work.kind == "copy"}, {100000}, "lengths in ns")

with t.case("kernels that are not executed"):
    t.wanted()
    result = run([program("hsa_work"), "work", code(), "h2d=0", "d2h=0"], env=sim("execute=0"))
    t.equal(result.status, 1, "status: the data is not as it should be")

with t.case("a kernel that never completes: its queue stands still"):
    facts, works = done(["stuck", code(), "dispatches=7", "queues=1", "timeout_ms=150", "leave=exit"], "never_at=4")
    t.equal(len(facts["times"]), 3, "dispatches that ended")

with t.case("… the others go on"):
    facts, works = done(["stuck", code(), "dispatches=7", "timeout_ms=150", "leave=exit"], "never_at=4")
    ended = counted(works, "kernel")
    missing = [queue["idle"] - ended[0, queue["id"], "idle"] for queue in facts["gpus"][0]["queues"]]
    t.true(min(missing) == 0 < max(missing), f"one queue has ended all, the other not: {missing} are missing")

with t.case("… also its own, where they need not wait for it"):
    facts, works = done(["stuck", code(), "dispatches=7", "queues=1", "barrier_bit=0", "timeout_ms=150",
                         "leave=exit"], "never_at=4")
    t.equal(len(facts["times"]), 6, "dispatches that ended")

with t.case("… by its name"):
    facts, works = done(["stuck", code(), "dispatches=3", "timeout_ms=50", "leave=exit"], "never=idle")
    t.equal((facts["times"], counted(works, "kernel")), ([], {}), "dispatches that ended")

with t.case("an option that makes no sense ends the program"):
    t.wanted()
    for options in ("gpu=2", "gpus=9", "gfx=gfx803", "kernel_us=", "us_fill=fast"):
        result = run([program("hsa_work"), "work"], env=sim(options))
        t.equal(result.status, 134, f"status of {options}")
        t.true(b"SIM_KFD" in result.stderr, f"it says why: {text(result.stderr)}")

with t.case("a program without GPU calls is not affected"):
    t.wanted()
    command = ["/bin/sh", "-c", "ls /sys/devices/virtual | sort; cat /proc/self/comm; ls /proc/self/fd | wc -l; exit 7"]
    plain, preloaded = run(command), run(command, env=sim())
    t.equal((preloaded.status, preloaded.stdout, preloaded.stderr), (7, plain.stdout, b""), "what it does")

# ---- HIP ----


def hip(arguments, options=""):
    facts, works = done(arguments, options, name="hip_work")
    return facts, collections.Counter(work.name for work in works if work.kind == "kernel"), works


with t.case("HIP: copies, memset, <<<>>> on two streams, events"):
    facts, names, works = hip(["work"])
    for name, kernel in (("fill", "fill"), ("vector_add", "vector_add"),
                         ("scale", "_ZN6shapes5scaleIfEEvPT_S1_j"), ("d2d", "__amd_rocclr_copyBuffer"),
                         ("memset", "__amd_rocclr_fillBufferAligned")):
        t.equal(names[kernel], facts[name]["count"], f"kernels {kernel} of {names}")
    t.true(0.02 * 12 <= facts["event_ms"], f"12 kernels of 20 us between two events: {facts['event_ms']} ms")
    t.equal(len({work.queue for work in works if work.name == "fill"}), 2, "queues of two streams")

with t.case("HIP: large copies of memory that it locks by itself, two devices"):
    # an odd number, of which HIP's kernel copies the last byte by itself
    facts, names, works = hip(["work", "bytes=9000001", "h2d=1", "d2d=1", "d2h=1"], "gpus=2")
    large = [sum(work.amount for work in works if work.kind == "copy" and work.gpu == gpu) for gpu in (0, 1)]
    # one to the device, two back; HIP writes small ones itself
    t.true(all(amount >= 3 * 9000001 for amount in large), f"bytes of copies {large}")

with t.case("HIP: 5,000 launches of a module's kernel"):
    facts, names, _ = hip(["module", code(), "launches=5000"], "kernel_us=2")
    t.equal((names["idle"], facts["idle"]["count"]), (5000, 5000), "kernels")

with t.case("HIP: a graph of 8 kernels, captured, launched three times"):
    facts, names, _ = hip(["graph", "nodes=8", "launches=3"])
    t.equal((names["fill"], facts["fill"]["count"]), (24, 24), "kernels")

t.end()
