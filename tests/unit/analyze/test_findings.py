#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the report points at in traces whose times are written down: each finding where it is true, to the nanosecond, and
nothing where one of its conditions does not hold. tests/checker/description.h has the grammar."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402
from duet_test import DUET, run, text  # noqa: E402

t = duet_test.Suite(needs_opencl=False)
SECOND = 10 ** 9
GPU = ("device 1 gpu compute_units=32 local_bytes=65536", "process 1 100 app exe=/home/u/app", "thread 1 1",
       "queue 1 1")


def report(*lines, options=()):
    return t.report(t.described("findings.duet", *lines), *options)


def find(document, name):
    """The one finding of that id, or None."""
    found = [row for row in document["findings"] if row["id"] == name]
    t.true(len(found) <= 1, f"{name} once: {found}")
    return found[0] if found else None


def numbers(finding, *leave_out):
    if finding is None:
        return None
    return {key: value for key, value in finding["evidence"].items()
            if isinstance(value, int) and key not in leave_out}


def command(number, enter, leave, started, ended, what="kernel name=k", thread=1, queue=1,
            process=1):
    return (f"launch {number} {thread} {queue} {enter} {leave} {what}",
            f"execution {process} {number} {queue} {min(leave, started)} {min(leave, started)} {started}"
            f" {ended}")


def printed(*lines, options=()):
    shown = run([DUET, "report", t.described("printed.duet", *lines), *options])
    t.true(shown.status in (0, 4), f"status {shown.status}: {text(shown.stderr)}")  # 4: most was not executed
    for line in text(shown.stdout).splitlines():
        t.true(len(line) <= 100 or line.startswith("! "), f"{len(line)} columns: {line}")
    return text(shown.stdout)


# ---- what the launching thread did --------------------------------------------------------------

STACKS = ("frame 1 python train file=train.py line=7", "frame 2 python step file=train.py line=30",
          "stack 1 1 2", "frame 3 python load file=data.py line=5", "stack 2 1 3")


STEADY_NS = 19 * 100000 + 10000  # of 20 rounds


def rounds(count, away, busy=10000):
    """Each 100 us: a call of 1 us, a kernel, and then so long away."""
    yield "sample 1 0 5"
    for i in range(count):
        begin = 1000 + i * 100000
        yield from command(i + 1, begin, begin + 1000, begin + 1000, begin + 1000 + busy,
                           "kernel name=k stack=1")
        if away:
            yield f"switch 1 {begin + 1000 + busy + 1000} {away[0]} stack=2"
            yield f"switch 1 {begin + 1000 + busy + 1000 + away[1]} in"


with t.case("preempted: how long, and which launches"):
    lines = (*GPU, *STACKS, "window 0 2000000", *rounds(20, ("preempted", 30000)))
    found = find(report(*lines), "cpu_preemption")
    # the steady part: from the start of the first command to the end of the last
    t.equal(numbers(found), {"preempted_ns": 19 * 30000, "idle_ns": STEADY_NS - 20 * 10000, "wall_ns": STEADY_NS}, "evidence")
    delayed = found and found["evidence"]["launches"]
    t.equal([(row["name"], row["preempted_ns"], row["frames"][-1]["function"]) for row in delayed or ()],
            [("k", 19 * 30000, "step")], "the launches that it delayed")
    t.true(found and "29.8 % of the steady part" in found["text"] and "570.0 µs of it in load (data.py:5)" in found["text"],
           f"{found and found['text']}")
    t.equal(found and found["severity"], "warning", "severity")
    said = " ".join(printed(*lines).split("FINDINGS")[1].split("DEVICES")[0].split())
    t.true(found and found["text"] in said, "the text has the same sentence, on several lines")

with t.case("hardly preempted, or never"):
    for away in (("preempted", 2000), ("blocked", 30000), None):
        found = report(*GPU, *STACKS, "window 0 2000000", *rounds(20, away))
        t.equal(find(found, "cpu_preemption"), None, f"{away}")

with t.case("starved: it computed meanwhile, and where"):
    samples = [f"sample 1 {50000 + i * 100000} 5000000 stack={1 if i % 10 == 9 else 2}"
               for i in range(19)]
    lines = (*GPU, *STACKS, "window 0 2000000", *rounds(20, None), *samples)
    t.equal(find(report(*lines), "starved_queue"), None, "without switches it may have been away")
    switched = "switch 1 1 in"
    found = find(report(*lines, switched), "starved_queue")
    t.equal(numbers(found, "line", "function_ns"),
            {"on_cpu_ns": 19 * (100000 - 11000), "idle_ns": STEADY_NS - 200000, "wall_ns": STEADY_NS}, "evidence")
    t.equal(found and (found["evidence"]["function"], found["evidence"]["line"]), ("load", 5), "where")
    t.true(found and abs(found["evidence"]["function_ns"] - 19 * 89000 * 18 / 19) < 5,
           f"{found and found['evidence']['function_ns']} of the samples' 18 in 19")
    # most of it in stacks whose Python functions are missing, inside of a library or not
    lost = ("frame 4 truncated x", "frame 5 native /usr/lib/lib.so offset=16", "stack 3 5 4", "stack 4 4 5")
    samples = [f"sample 1 {50000 + i * 100000} 5000000 stack={(2, 3, 4, 4)[i % 4]}" for i in range(19)]
    found = find(report(*GPU, *STACKS, *lost, "window 0 2000000", *rounds(20, None), *samples, switched), "starved_queue")
    t.equal(found and found["evidence"].get("function"), "load", "the program's own function")
    samples = [f"sample 1 {50000 + i * 100000} 5000000 stack=3" for i in range(19)]
    found = find(report(*GPU, *STACKS, *lost, "window 0 2000000", *rounds(20, None), *samples, switched), "starved_queue")
    t.true(found and "[truncated]" not in found["text"], f"no function: {found}")
    lines = (*GPU, *STACKS, "window 0 2000000", *rounds(20, None, busy=95000), switched)
    t.equal(find(report(*lines), "starved_queue"), None, "a device that is busy")
    lines = [line for line in (*GPU, "window 0 2000000", *rounds(20, None)) if "sample" not in line]
    t.equal(find(report(*lines), "starved_queue"), None, "nobody knows what it did")

with t.case("blocked, and where"):
    lines = (*GPU, *STACKS, "window 0 2000000", *rounds(20, ("blocked", 60000)))
    found = find(report(*lines), "blocked_host")
    t.equal(numbers(found, "line"), {"blocked_ns": 19 * 60000, "idle_ns": STEADY_NS - 200000,
                                     "wall_ns": STEADY_NS, "function_ns": 19 * 60000}, "evidence")
    t.equal(found and found["evidence"]["function"], "load", "where")
    t.equal(find(report(*GPU, *STACKS, "window 0 2000000", *rounds(20, ("blocked", 8000))),
                 "blocked_host"), None, "for 8 % of the time")

with t.case("blocked, and by what: the call, or the interpreter's lock and who had it"):
    worker = ("thread 2 1 name=worker", "thread 3 1 name=other")
    for said, end, wait in (
            ("wait=poll", ", waiting in poll; launch ", "poll"), ("", " (data.py:5); launch ", None),
            ("wait=Python%20GIL", ", waiting for the Python GIL; launch ", "Python GIL"),
            ("wait=Python%20GIL holder=2", ", waiting for the Python GIL, which thread 2002 (worker) held; launch ", "Python GIL")):
        lines = [line + f" {said}" if " blocked" in line else line for line in rounds(20, ("blocked", 60000))]
        found = find(report(*GPU, *worker, *STACKS, "window 0 2000000", *lines), "blocked_host")
        t.true(found and end in found["text"] and "of it in load (data.py:5)" in found["text"], f"{said}: {found and found['text']}")
        t.equal((found["evidence"].get("wait"), found["evidence"].get("wait_ns")), (wait, 19 * 60000 if wait else None), said)
        t.equal(found["evidence"].get("holder"), {"pid": 100, "tid": 2002, "name": "worker", "holder_ns": 19 * 60000}
                if "holder" in said else None, f"holder {said}")
    # nobody knows where, and two that have it; then two things, of which the function waits for the shorter
    lines = [line.replace(" stack=2", f" wait=Python%20GIL holder={2 + (i % 3 == 0)}") if " blocked" in line else line
             for i, line in enumerate(rounds(20, ("blocked", 60000)))]
    found = find(report(*GPU, *worker, *STACKS, "window 0 2000000", *lines), "blocked_host")
    t.true(found and ", waiting for the Python GIL, which thread 200" in found["text"] and " held most of the time" in found["text"], f"{found and found['text']}")
    lines = [line.replace(" stack=2", " wait=futex" if i % 8 == 3 else " stack=2 wait=poll") if " blocked" in line else line
             for i, line in enumerate(rounds(20, ("blocked", 60000)))]
    found = find(report(*GPU, *STACKS, "window 0 2000000", *lines), "blocked_host")
    t.true(found and ", waiting in poll; launch" in found["text"], f"{found and found['text']}")

with t.case("a chain of timed waits for the interpreter's lock is one wait: its waker is the thread that ends it"):
    def chain(wait, between=1000, ends="waker=2"):
        """Three timed waits of 200 us, of which a timer ends two."""
        begin = 20000
        for end in ("waker_name=interrupt", "waker_name=interrupt", ends):
            yield f"switch 1 {begin} blocked wait={wait}"
            yield f"switch 1 {begin + 200000} in {end}"
            begin += 200000 + between

    def waits(*args, **kwargs):
        lines = (*GPU, "thread 2 1 name=worker", "window 0 9000000", "sample 1 0 5", *command(1, 1000, 2000, 2000, 10000),
                 *chain(*args, **kwargs), *command(2, 8000000, 8001000, 8001000, 8010000))
        rows = report(*lines)["devices"][0]["idle_waits"]
        return sorted((row["ns"], row["wait"], [waker["name"] for waker in row.get("wakers", ())]) for row in rows
                      if "wait" in row)
    t.equal(waits("Python%20GIL"), [(600000, "Python GIL", ["worker"])], "one wait")
    t.equal(waits("poll"), [(200000, "poll", ["worker"]), (400000, "poll", ["interrupt"])], "three calls of poll")
    t.equal(waits("Python%20GIL", 1100000), [(200000, "Python GIL", ["worker"]), (400000, "Python GIL", [])], "three waits")
    t.equal(waits("Python%20GIL", ends="waker_name=interrupt"), [(600000, "Python GIL", [])], "the lock was free")

with t.case("what the holder does after it has released the lock is not what was waited for"):
    frames = ("frame 1 python hold file=a.py line=1", "stack 1 1", "frame 2 python rest file=a.py line=9", "stack 2 2")
    for end, functions in (("waker=2", ["hold"]), ("waker_name=interrupt", ["hold", "rest"]), ("", ["hold", "rest"])):
        lines = (*GPU, "thread 2 1 name=worker", *frames, "window 0 9000000", "sample 1 0 5",
                 *command(1, 1000, 2000, 2000, 10000), "switch 1 20000 blocked wait=mutex holder=2",
                 "sample 2 50000 100000 stack=1", "switch 2 100000 blocked stack=2", f"switch 1 150000 in {end}",
                 "switch 2 400000 in", *command(2, 8000000, 8001000, 8001000, 8010000))
        rows = report(*lines)["devices"][0]["idle_waits"]
        t.equal(sorted(row["holder"].get("function") for row in rows if "holder" in row), functions, f"ended by {end}")

# ---- devices, queues, copies --------------------------------------------------------------------

TWO = (*GPU, "process 2 200 other", "thread 2 2", "queue 2 1 process=2")


def shared(shift, ready=0):
    """Two processes, a kernel of 10 us each in 20 us; the second's starts so much later, and is launched so much later."""
    for i in range(50):
        begin = i * 20000
        yield from command(i + 1, begin, begin + 500, begin + 1000, begin + 11000)
        yield from command(i + 1, begin + ready, begin + ready + 500, begin + 1000 + shift, begin + 9000 + shift,
                           thread=2, queue=2, process=2)


with t.case("two processes at once"):
    document = report(*TWO, "window 0 1000000", *shared(4000))
    found = find(document, "device_shared")
    t.equal(numbers(found), {"overlap_ns": 50 * 6000, "waited_ns": 50 * 4000, "busy_ns": 50 * 12000, "wall_ns": 1000000},
            "evidence")
    users = found and found["evidence"]["processes"]
    t.equal([(row["pid"], row["name"], row["commands"], row["share_ns"], row["waited_ns"], row["kept_waiting_ns"])
             for row in users or ()],
            [(100, "app", 50, 50 * 7000, 0, 50 * 4000), (200, "other", 50, 50 * 5000, 50 * 4000, 0)], "who had how much")
    found = find(report(*TWO, "window 0 1000000", *shared(10000)), "device_shared")
    t.equal(numbers(found), {"overlap_ns": 0, "waited_ns": 50 * 10000, "busy_ns": 50 * 18000, "wall_ns": 1000000},
            "one waits for the other")
    t.true(found and "and processes waited 500.0 \u00b5s for another one: app (pid 100) has 55.6 %, other (pid 200) has"
           " 44.4 % and waited 500.0 \u00b5s;" in found["text"], f"{found and found['text']}")
    t.equal(find(report(*TWO, "window 0 1000000", *shared(10000, ready=10500)), "device_shared"), None,
            "one after the other, and neither waits")
    t.equal(find(report(*TWO, "window 0 1000000", *command(1, 0, 5, 10, 900000)), "device_shared"),
            None, "one alone")


def turns(count, beside=False, blocking=0, took=9000):
    """Each 20 us a copy of 64 KiB, then a kernel of 9 us, or both at once."""
    for i in range(count):
        begin = i * 20000
        leave = begin + 500 + took if blocking else begin + 400
        yield from command(2 * i + 1, begin, leave, begin + 500, begin + 500 + took,
                           f"write bytes=65536 blocking={blocking}", queue=2 if beside else 1)
        kernel = begin + 1000 if beside else begin + 10500
        yield from command(2 * i + 2, begin + 9900 if not beside else begin + 500,
                           begin + 9990 if not beside else begin + 600, kernel, kernel + 9000)


QUEUES = (*GPU, "queue 2 1")

with t.case("copies and kernels take turns"):
    found = find(report(*GPU, "window 0 1000000", *turns(50)), "no_overlap")
    t.equal(numbers(found), {"copies_ns": 50 * 9000, "kernels_ns": 50 * 9000, "both_ns": 0,
                             "saved_at_most_ns": 50 * 9000, "queues": 1, "out_of_order_queues": 0},
            "evidence")
    t.true(found and "all in 1 in-order queue" in found["text"], "the reason")
    t.equal(find(report(*QUEUES, "window 0 1000000", *turns(50, beside=True)), "no_overlap"), None,
            "where they overlap")
    t.equal(find(report(*GPU, "window 0 1000000", *turns(9)), "no_overlap"), None, "a few")
    t.equal(find(report(*GPU, "window 0 1000000", *turns(50, took=900)), "no_overlap"), None,
            "short copies")
    cpu = ("device 1 cpu type=cpu", *GPU[1:])
    t.equal(find(report(*cpu, "window 0 1000000", *turns(50)), "no_overlap"), None, "a CPU")

with t.case("copies that hold up the program"):
    document = report(*GPU, "window 0 1000000", *turns(50, blocking=1))
    found = find(document, "sync_copies")
    t.equal(numbers(found), {"count": 50, "bytes": 50 * 65536, "waited_ns": 50 * 9500,
                             "device_ns": 50 * 9000, "copies_ns": 50 * 9000,
                             "kernels_ns": 50 * 9000, "both_ns": 0, "saved_at_most_ns": 50 * 9000},
            "evidence")
    t.equal(find(document, "no_overlap"), None, "said once")
    t.equal(find(report(*GPU, "window 0 1000000", *turns(50)), "sync_copies"), None, "not waited for")
    t.equal(find(report(*QUEUES, "window 0 1000000", *turns(50, beside=True, blocking=1)),
                 "sync_copies"), None, "kernels run beside them")


def copies_of(count=50, took=9000, kernels=2, kernel_ns=1000, what="write bytes=65536", beside=False):
    """Each 20 us a copy that does not block; then, or beside it, the first ones have a kernel."""
    for i in range(count):
        begin = i * 20000
        yield from command(2 * i + 1, begin, begin + 400, begin + 500, begin + 500 + took, what, queue=2 if beside else 1)
        if i < kernels:
            started = begin + (500 if beside else 9600)
            yield from command(2 * i + 2, begin + 410, begin + 450, started, started + kernel_ns)


with t.case("a device that mostly copies"):
    def bound(*lines, device=GPU, window=1000000):
        return find(report(*device, f"window 0 {window}", *lines), "copy_bound")
    found = bound(*copies_of())
    t.equal(numbers(found), {"copies_ns": 450000, "kernels_ns": 2000, "both_ns": 0, "busy_ns": 452000, "wall_ns": 1000000,
                             "bytes": 50 * 65536, "bytes_ns": 450000}, "evidence")
    t.equal(found and (found["evidence"]["direction"], found["severity"]), ("write", "warning"), "its direction")
    t.equal(found and found["text"], "copies took 450.0 \u00b5s of the 452.0 \u00b5s in which the device was busy (99.6 %), and no kernel"
            " ran meanwhile; most of that time was host to device: 3.1 MiB at 6.8 GiB/s; keep data on the device, or copy it"
            " while kernels run", "sentence")
    for count, is_found in ((10, True), (9, False)):
        t.equal(bound(*copies_of(count, kernels=0), window=500000) is not None, is_found, f"{count} copies")
    for window, is_found in ((4500000, True), (4500001, False)):
        t.equal(bound(*copies_of(kernels=0), window=window) is not None, is_found, f"450 us busy, which is 10 % of {window} ns")
    # 9 kernels are too few for no_overlap
    for kernel_ns, is_found in ((10000, True), (10001, False)):
        t.equal(bound(*copies_of(10, kernels=9, kernel_ns=kernel_ns)) is not None, is_found, f"90 us of copies, 9 kernels of {kernel_ns} ns")
    found = bound(*copies_of(what="copy bytes=65536"))
    t.true(found and "most of that time was device to device" in found["text"] and "; work in place, or" in found["text"], f"{found}")
    lines = [line.replace("write", ("write", "read", "fill")[i // 2 % 3]) for i, line in enumerate(copies_of(48, kernels=0))]
    found = bound(*lines)
    t.true(found and "ran meanwhile; keep data on" in found["text"] and "direction" not in found["evidence"], f"three directions: {found}")
    t.equal(bound(*copies_of(beside=True, kernels=50, kernel_ns=9000), device=QUEUES), None, "beside kernels")
    t.equal(bound(*copies_of(), device=("device 1 cpu type=cpu", *GPU[1:])), None, "a CPU")
    for name, lines in (("no_overlap", turns(50)), ("sync_copies", turns(50, blocking=1)),
                        ("small_transfers", copies_of(100, what="write bytes=64"))):
        document = report(*GPU, "window 0 2000000", *lines)
        t.true(find(document, name) is not None, f"{name}: {document['findings']}")
        t.equal(find(document, "copy_bound"), None, f"{name} says more")


def many_queues(beside, wait=False):
    """13 queues, each with a kernel of 10 us in 130 us, all launched at once: one after another or all together."""
    for i in range(10):
        for queue in range(13):
            begin = i * 200000
            number = i * 13 + queue + 1
            started = begin + 5000 + (queue * 10000 if not beside else queue * 100)
            enter = started - 300 if wait else begin + queue * 100
            yield from command(number, enter, enter + 90, started, started + 10000, queue=queue + 1)


THIRTEEN = (*GPU[:3], *(f"queue {i + 1} 1" for i in range(13)))

with t.case("13 queues, one after another"):
    found = find(report(*THIRTEEN, "window 0 2000000", *many_queues(False)), "serial_queues")
    t.equal(numbers(found), {"queues": 13, "waited": 120, "switches": 129,
                             "waited_ns": 120 * 10000, "several_ns": 0, "busy_ns": 130 * 10000},
            "evidence")
    t.equal(found and found["severity"], "info", "nothing is known to be lost")
    t.equal(find(report(*THIRTEEN, "window 0 2000000", *many_queues(True)), "serial_queues"), None,
            "beside each other")
    t.equal(find(report(*THIRTEEN, "window 0 2000000", *many_queues(False, wait=True)), "serial_queues"),
            None, "launched one after another")
    t.equal(find(report(*THIRTEEN, "window 0 2000000", *many_queues(False), "call 1 1000 1010 call cudaStreamWaitEvent"),
                 "serial_queues"), None, "queues that wait for events of each other")
    for window, is_found in ((26000000, True), (26000001, False)):
        found = find(report(*THIRTEEN, f"window 0 {window}", *many_queues(False)), "serial_queues")
        t.equal(found is not None, is_found, f"1.3 ms busy, which is 5 % of {window} ns")
    one = [" ".join("1" if i == 3 else word for i, word in enumerate(line.split()))
           for line in many_queues(False)]
    t.equal(find(report(*GPU, "window 0 2000000", *one), "serial_queues"), None, "one queue")

# ---- kernels ------------------------------------------------------------------------------------


def small_kernels(count, took=1000, call=5000):
    for i in range(count):
        begin = i * 10000
        yield from command(i + 1, begin, begin + call, begin + call + 100, begin + call + 100 + took)


with t.case("kernels shorter than their launch"):
    found = find(report(*GPU, "window 0 2000000", *small_kernels(200)), "tiny_kernels")
    t.equal(numbers(found), {"count": 200, "kernels": 200, "total_ns": 200000, "mean_ns": 1000,
                             "calls_ns": 1000000, "mean_call_ns": 5000}, "evidence")
    t.equal(found and found["evidence"]["kernel"], "k", "the kernel")
    for name, lines in (("99", small_kernels(99)), ("longer ones", small_kernels(200, took=4500, call=2000)),
                        ("cheap calls", small_kernels(200, took=100, call=150))):
        t.equal(find(report(*GPU, "window 0 4000000", *lines), "tiny_kernels"), None, name)


# ---- launches that wait ---------------------------------------------------------------------------

TAIL_NS, LAUNCH_NS, LATENCY_NS = 3000, 5000, 2000


def waiting(count, took=90000, own=0, kind="wait", queue=1, tail=TAIL_NS, latency=LATENCY_NS, what="kernel name=k"):
    """Launches of which each is followed by a wait; own: time of the thread's own code in between."""
    at = 1000
    for i in range(count):
        started = at + LAUNCH_NS + latency
        yield from command(i + 1, at, at + LAUNCH_NS, started, started + took, f"{what} function=launch stack=1")
        yield f"call 1 {at + LAUNCH_NS} {started + took + tail} {kind} finish queue={queue} stack=2"
        at = started + took + tail + own


def copying(count, tail):
    """Kernels of which each is followed by a copy that waits."""
    at = 1000
    for i in range(0, 2 * count, 2):
        started = at + LAUNCH_NS + LATENCY_NS
        yield from command(i + 1, at, at + LAUNCH_NS, started, started + 90000)
        yield from command(i + 2, at + LAUNCH_NS, started + 91000 + tail, started + 90000, started + 91000, "read bytes=4 blocking=1 function=read")
        at = started + 91000 + tail


def early(count):
    """Kernels that have ended when the program begins to wait."""
    for i in range(count):
        at = 1000 + i * 5500
        yield from command(i + 1, at, at + 3000, at + 3500, at + 4500)
        yield f"call 1 {at + 5000} {at + 5500} wait finish queue=1 stack=2"


with t.case("each launch is followed by a wait"):
    lines = (*GPU, *STACKS, "window 0 20000000", *waiting(200))
    document = report(*lines)
    found = find(document, "launch_bound")
    gap_ns, wall_ns = TAIL_NS + LAUNCH_NS + LATENCY_NS, 200 * 100000 - LAUNCH_NS - LATENCY_NS - TAIL_NS
    t.equal(numbers(found, "line"), {"count": 199, "launches": 200, "idle_ns": 199 * gap_ns, "mean_ns": gap_ns, "wall_ns": wall_ns}, "evidence")
    t.equal(found and [found["evidence"][key] for key in ("call", "launch", "function", "line")], ["finish", "launch", "load", 5], "which calls, and where")
    t.true(found and "200 launches were each followed by a wait, the longest in finish called from load (data.py:5); the device idled 1.990 ms (10.0 %"
           in found["text"] and "10.00 µs each time" in found["text"], found and found["text"])
    first = document["verdict"]["causes"][0]
    t.equal([first[key] for key in ("kind", "ns", "what", "function")], ["launch_bound", 199 * gap_ns, "finish", "load"],
            "the first cause has all of the idle time")
    t.equal(len(document["verdict"]["causes"]), 1, "no other cause has a part of it")
    t.true("waited for the device in finish called from load (data.py:5) before it launched again (launch-bound: 1.990 ms, 199 times 10.00 µs), 10.0 %."
           in document["verdict"]["text"], document["verdict"]["text"])
    t.equal(document["devices"][0]["idle_kinds"]["api_wait"], {"device_wait": 199 * TAIL_NS}, "the account keeps its causes")

with t.case("a busy device whose launches wait"):
    t.equal(find(report(*GPU, *STACKS, *waiting(200, took=950000)), "launch_bound")["evidence"]["idle_ns"], 199 * 10000, "1.04 %")
    t.equal(find(report(*GPU, *STACKS, *waiting(200, took=1050000)), "launch_bound"), None, "0.94 %")

with t.case("the thread's own code between a wait and a launch"):
    found = find(report(*GPU, *STACKS, *waiting(200, own=3000)), "launch_bound")
    t.equal(numbers(found, "line")["idle_ns"], 199 * 13000, "a quarter of the gap at most")
    document = report(*GPU, *STACKS, *waiting(200, own=4000))
    t.equal(find(document, "launch_bound"), None, "more")
    t.equal(sorted(row["kind"] for row in document["verdict"]["causes"]), ["device_wait", "launch_call", "launched_not_started", "unknown"],
            "each part is a cause of its own")

with t.case("tiny kernels whose launches wait"):
    both = ("launch_bound", "tiny_kernels")
    for kind, expected in (("wait", "launch_bound"), ("call", "tiny_kernels")):
        document = report(*GPU, *STACKS, *waiting(200, took=1000, kind=kind))
        t.equal([row["id"] for row in document["findings"] if row["id"] in both], [expected], kind)

with t.case("launches that wait for nothing, too seldom, or for something else"):
    other = ("device 2 gpu2", "queue 2 2")
    for name, lines in (("99 gaps", waiting(100)), ("no waits", waiting(200, kind="call")), ("for another device", waiting(200, queue=2)),
                        ("a long end of the wait", waiting(200, tail=9994000)),
                        ("copies that wait, with a long end", copying(200, 101000)),
                        ("for an unknown one of two devices, with a long end", waiting(200, queue=0, tail=101000)),
                        ("commands that start late", waiting(200, latency=200001)), ("copies", waiting(200, what="write bytes=4"))):
        t.equal(find(report(*GPU, *STACKS, *other, *lines), "launch_bound"), None, name)
    t.true(find(report(*GPU, *STACKS, *other, *waiting(101)), "launch_bound"), "100 gaps")
    t.true(find(report(*GPU, *STACKS, *other, *waiting(200, tail=9993000)), "launch_bound"), "gaps of 10 ms")
    t.true(find(report(*GPU, *STACKS, *other, *copying(200, 90000)), "launch_bound"), "copies that wait")
    t.true(find(report(*GPU, *STACKS, *other, *waiting(200, queue=0)), "launch_bound"), "a short end of the wait, for an unknown device")
    t.true(find(report(*GPU, *STACKS, *waiting(200, queue=0, tail=101000)), "launch_bound"), "for the only device")
    t.true(find(report(*GPU, *STACKS, *waiting(200, latency=200000)), "launch_bound"), "0.2 ms after the call")
    t.true(find(report(*GPU, *STACKS, *early(200)), "launch_bound"), "kernels that end before the wait begins")
    events = (f"wait 1 {i + 2} {1000 + (i + 1) * 100000 + 100} 77" for i in range(199))
    signals = (f"call 2 {1000 + (i + 1) * 100000 + 6000} {1000 + (i + 1) * 100000 + 6100} signal set event=77" for i in range(199))
    plain = report(*GPU, *STACKS, "thread 2 1", *waiting(200), *events, *signals)
    t.equal(find(plain, "launch_bound"), None, "an event delays the command")


def grid(size, group, took=50000, name="k"):
    for i in range(10):
        begin = i * 100000
        local = f" local={group}" if group else ""
        yield from command(i + 1, begin, begin + 500, begin + 1000, begin + 1000 + took,
                           f"kernel name={name} global={size}{local}")


NEEDS = ("window 0 1000000", "needs k 1 256 32 local=0 private=0")

with t.case("fewer work-groups than compute units"):
    found = find(report(*GPU, *NEEDS, *grid("256", "32")), "low_occupancy")
    t.equal(numbers(found), {"executions": 10, "total_ns": 500000, "groups": 8, "items": 32,
                             "units": 32, "group_multiple": 32, "group_most": 256,
                             "few_groups": 10, "few_groups_lost_ns": 375000}, "evidence")
    for name in ("ncclDevKernel_AllReduce_Sum_f16_RING_LL", "rcclGenericKernel"):
        t.equal(find(report(*GPU, *(line.replace(" k ", f" {name} ") for line in NEEDS), *grid("256", "32", name=name)),
                     "low_occupancy"), None, f"{name} uses few work-groups on purpose")
    t.true(found and "8 work-groups for 32 compute units; about 375.0 µs" in found["text"],
           found and found["text"])

with t.case("a last round that leaves units idle"):
    found = find(report(*GPU, *NEEDS, *grid("40x32", "1x32")), "low_occupancy")
    t.equal(found and (found["evidence"]["groups"], found["evidence"]["tail"],
                       found["evidence"]["tail_lost_ns"]), (40, 10, 500000 * 24 // 64), "evidence")
    t.true(found and "do not divide evenly, so units are idle at the end" in found["text"], "text")

with t.case("a work-group of an odd size"):
    found = find(report(*GPU, *NEEDS, *grid("3300x33", "33x1")), "low_occupancy")
    t.equal(found and (found["evidence"]["items"], found["evidence"]["odd_size"],
                       found["evidence"]["odd_size_lost_ns"]), (33, 10, 10 * (50000 * 31 // 64)),
            "evidence")
    t.true(found and "33 items, not a multiple of 32" in found["text"], "text")

with t.case("local memory for one work-group at a time"):
    needs = ("window 0 1000000", "needs k 1 256 32 local=40000")
    found = find(report(*GPU, *needs, *grid("65536", "64")), "low_occupancy")
    t.equal(found and (found["evidence"]["local_bytes"], found["evidence"]["unit_local_bytes"],
                       found["severity"]), (40000, 65536, "info"), "evidence")
    for name, lines in (
            ("half of it", ("needs k 1 256 32 local=32768", *grid("65536", "64"))),
            ("a full group", ("needs k 1 256 32 local=40000", *grid("65536", "256"))),
            ("not known", ("needs k 1 256 32", *grid("65536", "64"))),
            ("asked for another device", ("needs k 2 256 32 local=40000", *grid("65536", "64")))):
        t.equal(find(report(*GPU, "window 0 1000000", *lines), "low_occupancy"), None, name)

with t.case("a processor has no lanes"):
    processor = ("device 1 gpu compute_units=32 local_bytes=65536 type=cpu", *GPU[1:])
    for name, lines in (("odd size", grid("3300x33", "33x1")), ("few groups", grid("256", "32")),
                        ("local memory", ("needs k 1 256 32 local=40000", *grid("65536", "64")))):
        t.equal(find(report(*processor, *NEEDS, *lines), "low_occupancy"), None, name)

with t.case("work-groups that fit, or that nobody knows"):
    for name, lines in (
            ("full rounds", grid("65536", "64")), ("a small tail", grid("2016", "32")),
            ("left to the runtime", grid("256", "")), ("short", grid("256", "32", took=2000)),
            ("no needs", grid("3300x33", "33x1", name="other"))):
        t.equal(find(report(*GPU, *NEEDS, *lines), "low_occupancy"), None, name)
    unknown = ("device 1 gpu", *GPU[1:])
    t.equal(find(report(*unknown, *NEEDS, *grid("256", "32")), "low_occupancy"), None,
            "units not known")

# ---- queues over time ---------------------------------------------------------------------------


def launches(slow, every=40, count=200):
    for i in range(count):
        begin = i * 1000000
        wait = slow if i % every == every - 1 else 2000
        yield from command(i + 1, begin, begin + 500, begin + wait, begin + wait + 5000)


with t.case("launches that now and then take long to start"):
    document = report(*GPU, "window 0 200000000", *launches(900000, every=20))
    found = find(document, "launch_latency")
    t.equal(numbers(found), {"queue": 1, "launches": 200, "p50_ns": 2000, "p99_ns": 900000,
                             "max_ns": 900000, "above_p50_ns": 10 * 898000}, "evidence")
    t.equal(find(report(*GPU, "window 0 200000000", *launches(2000)), "launch_latency"), None, "none")
    t.equal(find(report(*GPU, "window 0 200000000", *launches(900000, every=20, count=99)),
                 "launch_latency"), None, "of 99")
    t.equal(find(report(*GPU, "window 0 200000000", *launches(15000, every=20)), "launch_latency"), None,
            "not worth it")
    processor = ("device 1 gpu type=cpu", *GPU[1:])
    t.equal(find(report(*processor, "window 0 200000000", *launches(900000, every=20)), "launch_latency"), None,
            "threads that wait for a processor")
    backlog = []
    for i in range(200):
        begin = i // 50 * 50000000 + i % 50 * 1000
        started = i // 50 * 50000000 + 2000 + i % 50 * 900000
        backlog += command(i + 1, begin, begin + 500, started, started + 900000)
    document = report(*GPU, "window 0 200000000", *backlog)
    t.equal(find(document, "launch_latency"), None, "behind each other")
    t.equal(document["queues"][0]["idle_latency"]["count"], 4, "launches to an idle device")
    t.true(document["queues"][0]["latency"]["p99"] > 40000000, "waiting in the queue")

with t.case("commands in flight"):
    lines = (*GPU, "window 0 1000", *command(1, 100, 110, 120, 300), *command(2, 200, 210, 300, 400),
             *command(3, 250, 260, 400, 500), *command(4, 700, 710, 720, 800))
    depth = report(*lines)["queues"][0]["depth"]
    t.equal(depth["max"], 3, "most at once")
    t.equal(depth["empty_ns"], 500, "none")
    t.true(abs(depth["mean"] - (200 + 200 + 250 + 100) / 1000) < 1e-9, f"mean {depth['mean']}")
    depth = report(*lines, options=("--from", "250ns", "--to", "450ns"))["queues"][0]["depth"]
    t.equal((depth["max"], depth["empty_ns"]), (3, 0), "of a part")
    t.true(abs(depth["mean"] - (50 + 150 + 200) / 200) < 1e-9, f"mean of a part: {depth['mean']}")
    lost = report(*lines, "loss execution 1")["queues"][0]["depth"]
    t.equal(lost, None, "where an end was lost nobody knows")
    t.true("QUEUE DEPTH, LAUNCH LATENCY" in printed(*lines), "the table")

# ---- Python's lock ------------------------------------------------------------------------------

LOCK = (*GPU, "thread 2 1", "thread 3 1", "process 2 200 other", "thread 4 2", *STACKS,
        "window 0 1000000", *command(1, 10, 20, 30, 900000))


def locked(wait="Python%20GIL", holder=1, thread=2):
    yield "sample 1 0 5"
    yield "sample 2 0 5"
    yield "call 1 100000 500000 wait clFinish stack=1"
    for i in range(5):
        begin = 110000 + i * 100000
        yield f"switch {thread} {begin} blocked stack=2 wait={wait} holder={holder}"
        yield f"switch {thread} {begin + 50000} in"


with t.case("a wait under Python's lock"):
    found = find(report(*LOCK, *locked()), "wait_under_gil")
    # the last but one ends with the call, the last is after it
    t.equal(numbers(found, "line"), {"count": 4, "blocked_ns": 4 * 50000, "wall_ns": 1000000}, "evidence")
    t.equal(found and (found["evidence"]["call"], found["evidence"]["function"]), ("clFinish", "step"),
            "which call")
    t.true(found and "PyDLL" in found["text"], "advice")
    for name, lines in (("another lock", locked("futex")), ("nobody known", locked(holder=0)),
                        ("a holder that computes", locked(holder=3)),
                        ("of another process", locked(thread=4)), ("itself", locked(thread=1))):
        t.equal(find(report(*LOCK, *lines), "wait_under_gil"), None, name)
    short = [line for line in locked()][:6]
    document = report(*LOCK[:-3], "window 0 100000000", *LOCK[-2:], *short)
    t.equal(find(document, "wait_under_gil"), None, "0.05 % of the time")

# ---- builds -------------------------------------------------------------------------------------

BUILD = ("device 1 gpu", "process 1 100 app", "thread 1 1", "queue 1 1", "frame 1 python make file=build.py line=12",
         "frame 2 python main file=build.py line=90", "stack 1 2 1", "stack 2 2")

with t.case("compile_time: building programs takes a tenth of the time"):
    calls = (f"call 1 1000 {590 * 10**6 + 1000} call clBuildProgram stack=1", "call 1 600000000 994500000 call clBuildProgram stack=2",
             "call 1 2000000000 2015500000 call cuModuleLoadData stack=2", "call 1 3000000000 9000000000 call clFinish stack=2")
    document = report(*BUILD, f"window 0 {10 * SECOND}", *calls)
    found = find(document, "compile_time")
    t.equal(numbers(found, "line"), {"count": 3, "total_ns": SECOND, "wall_ns": 10 * SECOND}, "evidence")
    t.equal(found and [found["evidence"][key] for key in ("call", "function", "file", "line")],
            ["clBuildProgram", "make", "build.py", 12], "the longest call")
    t.equal(found and found["text"], "building programs took 1.000 s (10.0 % of the wall) in 3 calls, most in clBuildProgram"
            " from make (build.py:12); build each program once, and keep its binary for the next run", "text")
    for name, lines in (("a nanosecond less than a tenth", (*calls[:2], calls[2].replace("15500000", "15499999"), calls[3])),
                        ("calls that build nothing", calls[3:])):
        t.equal(find(report(*BUILD, f"window 0 {10 * SECOND}", *lines), "compile_time"), None, name)

with t.case("compile_time: a program that builds once, in a short recording"):
    def builds(count, function="clBuildProgram"):
        return (f"call 1 {i * 1000} {i * 1000 + 500} call {function} stack=1" for i in range(count))
    t.equal(find(report(*BUILD, "window 0 50000", *builds(9)), "compile_time"), None, "9 calls, 9 % and more, below a second")
    others = (*builds(9), *builds(40, "clCreateProgramWithSource"), *builds(40, "clGetProgramInfo"))
    t.equal(find(report(*BUILD, "window 0 50000", *others), "compile_time"), None, "calls beside a build")
    for function in ("clBuildProgram", "nvrtcCompileProgram", "hipModuleLoadData", "cuLinkAddData_v2", "zeModuleCreate"):
        found = find(report(*BUILD, "window 0 50000", *builds(10, function)), "compile_time")
        t.equal(found and found["evidence"]["count"], 10, f"10 calls of {function}")

with t.case("failed calls of each runtime, with their places; queries may fail"):
    kinds = {"failed_builds": ("cuModuleLoadData", "cuLibraryLoadData", "hipModuleLoad", "clLinkProgram", "zeKernelCreate"),
             "failed_allocations": ("cuMemAlloc_v2", "cuMemAllocManaged", "cuMemHostAlloc", "hipMalloc", "hipHostMalloc",
                                    "clCreateImage", "zeMemAllocDevice"),
             None: ("clCreateProgramWithBinary", "clGetProgramInfo", "clGetProgramBuildInfo", "cuMemGetInfo_v2", "clReleaseMemObject", "cuCtxSynchronize")}
    for kind, functions in kinds.items():
        for function in functions:
            document = report(*BUILD, "window 0 100000", f"call 1 1000 2000 call {function} result=2 stack=1")
            t.equal([(row["id"], row["evidence"]["name"], row["evidence"].get("line")) for row in document["findings"]],
                    [(kind, function, 12)] if kind else [], function)

with t.case("compile_time: several threads, and queries in which a runtime compiles"):
    threads = ("thread 2 1", "thread 3 1", *(f"call {i} 0 9000000000 call clBuildProgram stack=1" for i in (1, 2, 3)))
    found = find(report(*BUILD, "window 0 10000000000", *threads), "compile_time")
    t.true(found and "took 27.00 s (2.7 times the wall, on several threads) in 3 calls" in found["text"], found and found["text"])
    calls = ("call 1 10000000 910000000 call clBuildProgram stack=1", "call 1 1000000000 1050000000 call clGetProgramInfo stack=2",
             "call 1 1060000000 1110000000 call clGetProgramInfo stack=2")
    found = find(report(*BUILD, "window 0 10000000000", *calls), "compile_time")
    t.equal(numbers(found, "line"), {"count": 1, "total_ns": 1000000000, "wall_ns": 10000000000, "queries": 2, "queries_ns": 100000000}, "evidence")
    t.true(found and "in 1 call, most in clBuildProgram from make (build.py:12), and 2 of clGetProgramInfo (100.0 ms),"
           " in which the runtime compiles; build" in found["text"], found and found["text"])
    fast = (*calls[:2], "call 1 1060000000 1109990000 call clGetProgramInfo stack=2")
    t.equal(find(report(*BUILD, "window 0 10000000000", *fast), "compile_time"), None, "fast queries do not count")
    t.equal(find(report(*BUILD, "window 0 10000000000", "call 1 0 9000000000 call clGetProgramInfo stack=1"), "compile_time"), None,
            "nothing was built")

with t.case("failed_builds: the place of the call, and the error in the log that was kept"):
    failed = "call 1 1000 2000 call clBuildProgram result=-11 stack=1"
    logs = ("log 301 77 0 warning:%20of%20another%20build", "log 302 78 -11 2%20warnings%0a%20<source>:3:7:%20error:%20no%20type%20'flot'%0amore")
    found = find(report(*BUILD, "window 0 100000", failed, *logs), "failed_builds")
    t.equal(found and found["text"], "clBuildProgram failed 1 time: CL_BUILD_PROGRAM_FAILURE (-11), called by make (build.py:12);"
            " the log of program 78 has: <source>:3:7: error: no type 'flot'", "text")
    t.equal(found and [found["evidence"].get(key) for key in ("program", "log", "function", "file", "line")],
            [78, "<source>:3:7: error: no type 'flot'", "make", "build.py", 12], "evidence")
    other = ("process 2 200 other", "thread 2 2", "log 300 76 -11 error:%20of%20another%20process process=2")
    found = find(report(*BUILD, "window 0 100000", failed, *other, *logs, options=("--pid", "100")), "failed_builds")
    t.equal(found and found["evidence"].get("program"), 78, "--pid: not the log of another process")
    for name, log, shown in (("no error, the first line", ("log 302 78 -11 %0a%0alast%20words%0amore",), "last words"),
                             ("no log", (), None), ("an empty log", ("log 302 78 -11 %0a",), None)):
        found = find(report(*BUILD, "window 0 100000", failed, *log), "failed_builds")
        t.equal(found and found["evidence"].get("log"), shown, name)
        t.equal(found and "log of program" in found["text"], shown is not None, name)

# ---- a driver that needs no call ----------------------------------------------------------------

XE = ("window 0 10000000000", "device 1 gpu", "process 1 100 app", "thread 1 1", "queue 1 1",
      "code 201 1 1 0x1000 0x100 0 0", "code 202 1 1 0x2000 0x100 0 0")


def submitted(*seconds, kernels=(201, 202)):
    """A batch in each of these seconds."""
    number = 0
    for at in seconds:
        number += 1
        yield f"launch {number} 1 1 {at * SECOND} {at * SECOND + 9} batch function=xe_exec_ioctl"
        for kernel in kernels:
            number += 1
            yield f"launch {number} 1 1 {at * SECOND} {at * SECOND + 9} kernel code={kernel} part=1 function=xe_exec_ioctl"


def sampled(*addresses):
    for at in range(10):
        for address in addresses:
            yield f"address 1 {at * SECOND} {at * SECOND + 10 ** 8} {address:#x} count=10 stall=sbid"


with t.case("samples go on, and nobody launches"):
    found = find(report(*XE, *submitted(0), *sampled(0x1000, 0x2010)), "hidden_launches")
    # the windows that begin with the 0th and the 1st second have a launch
    t.equal(numbers(found), {"samples": 200, "hidden": 160, "never_launched": 0, "kernels": 2}, "evidence")
    t.true(found and "80.0 %" in found["text"] and "level_zero" in found["text"], f"{found}")
    found = find(report(*XE, *submitted(*range(10), kernels=(202,)), *sampled(0x1000, 0x2010)), "hidden_launches")
    t.equal(numbers(found), {"samples": 200, "hidden": 100, "never_launched": 100, "kernels": 1}, "one never is")
    for name, lines in (("each second", (*submitted(*range(10)), *sampled(0x1000, 0x2010))),
                        ("one kernel that runs on", (*submitted(0), *sampled(0x1000))),
                        ("code of which nothing is known", sampled(0x5000)),
                        ("executions", (*submitted(0), "launch 9 1 1 5 6 kernel code=201", "launch 10 1 1 5 6 kernel code=202",
                                        "execution 1 9 1 6 6 7 9900000000", "execution 1 10 1 6 6 7 9900000000",
                                        *sampled(0x1000, 0x2010)))):
        t.equal(find(report(*XE, *lines), "hidden_launches"), None, name)
    said = printed(*XE, *submitted(0), *sampled(0x1000, 0x2010))
    t.true("direct submission" in said.replace("\n      ", " "), said[:1500])

def by_name(*kernels):
    """Samples that name their kernel, in each of ten windows."""
    for at in range(10):
        for name in kernels:
            yield f"instruction 1 {at * SECOND} {name} 16 count=10 end={at * SECOND + SECOND} device=1"


with t.case("samples that name a kernel, and nobody launches it"):
    lines = (*XE, *command(1, 1, 2, 3, 9 * SECOND, "kernel name=seen"))
    found = find(report(*lines, *by_name("seen", "made")), "hidden_launches")
    t.equal(numbers(found), {"samples": 200, "hidden": 100, "never_launched": 100, "kernels": 1}, "evidence")
    t.true(found and "50.0 %" in found["text"] and "other kernels launched them" in found["text"], f"{found}")
    for name, more in (("launched", by_name("seen")),
                       ("launched, but without an execution", (*by_name("lost"), "launch 7 1 1 5 6 kernel name=lost")),
                       ("less than a tenth", (*by_name(*["seen"] * 10), "instruction 1 5 made 16 count=99 end=99 device=1"))):
        t.equal(find(report(*lines, *more), "hidden_launches"), None, name)
    t.equal(find(report(*XE, *by_name("made")), "hidden_launches"), None, "a trace without launches")

# ---- ranks of a job ------------------------------------------------------------------------------

RANKS = ("process 1 101 train rank=1 rank_count=3", "process 2 102 train rank=2 rank_count=3",
         "process 3 103 train rank=3 rank_count=3", *(f"device {i} gpu{i}" for i in (1, 2, 3)),
         *(f"thread {i} {i}" for i in (1, 2, 3)), *(f"queue {i} {i} process={i}" for i in (1, 2, 3)), "window 0 10000")


def collective(number, starts, end=900, communicator="tp"):
    """An operation: rank r starts at starts[r]; all end together, `number` thousand ns later."""
    base = number * 1000
    for rank, start in enumerate(starts):
        if start is None:
            continue
        yield f"launch {number} {rank + 1} {rank + 1} {base + start - 9} {base + start - 8} kernel name=nccl"
        yield f"execution {rank + 1} {number} {rank + 1} {base + start - 9} {base + start - 8} {base + start} {base + end}"
        yield (f"collective {rank + 1} {base + start} {base + end} allreduce {communicator} {number} bytes=8"
               f" correlation={number}")


with t.case("ranks that arrive late at collective operations"):
    late = [line for number in range(6) for line in
            collective(number + 1, (100, 500, 200) if number < 4 else (400, 100, 100))]
    document = report(*RANKS, *late)
    found = find(document, "late_ranks")
    t.equal(numbers(found), {"operations": 6, "ranks": 3, "starts_apart_ns": 2200, "max_waited_ns": 400, "wall_ns": 10000}, "evidence")
    t.equal([found["evidence"][key] for key in ("rank", "other_rank")],
            [{"rank": 1, "pid": 102, "last_count": 4, "caused_ns": 2800, "max_caused_ns": 400},
             {"rank": 0, "pid": 101, "last_count": 2, "caused_ns": 1200, "max_caused_ns": 300}], "both ranks")
    t.true(found["text"].startswith("rank 1 arrived last in 4 of 6 collective operations and rank 0 in 2; "), found["text"])
    t.equal({key: value for key, value in document["collectives"].items() if isinstance(value, int)},
            {"operations": 6, "incomplete": 0, "unnumbered": 0, "waited_ns": 4000, "max_waited_ns": 400,
             "starts_apart_ns": 2200, "ends_apart_ns": 0, "aligned": True}, "sums")
    rows = report(*RANKS, *late, options=("--by", "rank"))["by"]
    t.equal([(row["rank"], row["operations"], row["last_count"], row["waited_ns"], row["max_waited_ns"], row["caused_ns"], row["bytes"])
             for row in rows], [(0, 6, 2, 1600, 400, 1200, 48), (1, 6, 4, 600, 300, 2800, 48), (2, 6, 0, 1800, 300, 0, 48)], "ranks")
    t.true("rank 1  train" in printed(*RANKS, *late), "the table")

with t.case("collective operations that do not show who is late"):
    for name, lines in (("too few", [line for number in range(4) for line in collective(number + 1, (100, 500, 200))]),
                        ("together", [line for number in range(6) for line in collective(number + 1, (100, 101, 100))]),
                        ("a rank is missing in two of six", [line for number in range(6) for line in
                                                             collective(number + 1, (100, 500, 200 if number > 1 else None))]),
                        ("ends that differ", [line for number in range(6) for rank in (0, 1, 2) for line in
                                              collective(number + 1, [100 + 200 * rank if i == rank else None for i in (0, 1, 2)], 500 + 200 * rank)])):
        document = report(*RANKS, *lines)
        t.equal(find(document, "late_ranks"), None, name)
    t.equal(document["collectives"]["aligned"], False, "clocks that may differ")
    t.true("clocks of the ranks may differ" in printed(*RANKS, *lines), "the note")
    document = report(*RANKS, *collective(1, (100, 500, 200)), *collective(2, (100, 500, None)),
                      *collective(3, (100, 200, 300), communicator="dp"))
    t.equal([document["collectives"][key] for key in ("operations", "incomplete")], [2, 1], "a rank without a row")
    document = report(*RANKS, *(line for number in range(6) for line in collective(number + 1, (100, None, None))))
    t.equal(document["collectives"]["operations"], 0, "one rank alone waits for nobody")

# ---- host time by layer -------------------------------------------------------------------------

MODULES = ("/home/u/app", "/usr/lib/libc.so.6", "/usr/lib/libpython3.11.so.1.0",
           "/usr/lib/libOpenCL.so.1", "/usr/lib/libpocl.so.2",
           "/venv/lib/python3.11/site-packages/numpy/core/_multiarray.so", "/opt/mine/libmine.so",
           "[vdso]")
LAYERS = ("own", "system", "python", "runtime", "driver", "framework", "own", "system")
CODE = (*GPU, "thread 2 1", "window 0 1000", *command(1, 1, 2, 3, 4),
        *(f"frame {i + 1} native {path} offset=16" for i, path in enumerate(MODULES)),
        "frame 9 python step", "frame 10 kernel do_futex", "frame 11 jit trampoline", "frame 12 jit py::f:/x.py",
        *(f"stack {i + 1} 1 {i + 1}" for i in range(12)), "stack 13 11")


def samples(thread=1):
    """A sample of stack n weighs 1000 n."""
    for i in range(14):
        yield f"sample {thread} {10 + i} {(i + 1) * 1000} stack={(i + 1) % 14}"
    yield f"sample {thread} 30 500 stack=1 mode=kernel"
    yield f"sample {thread} 31 700 stack=1 source=page-faults"


def weights(document, threads="launching"):
    return {row["layer"]: row["weight"] for row in document["host_layers"] if row["threads"] == threads}


with t.case("host time by layer"):
    document = report(*CODE, *samples())
    want = dict.fromkeys(LAYERS, 0)
    for i, layer in enumerate(LAYERS):
        want[layer] += (i + 1) * 1000
    want["python"] += 9000 + 12000
    want["kernel"] = 10000 + 500
    want["own"] += 11000  # code of no file, called by own code
    want["unknown"] = 13000 + 14000
    t.equal(weights(document), want, "weights")
    rows = document["host_layers"]
    t.equal({row["unit"] for row in rows}, {"ns"}, "units")
    t.equal({row["process"] for row in rows}, {100}, "processes")
    t.true(abs(sum(row["share"] for row in rows) - 1) < 1e-9, "shares add up")
    t.equal(sum(row["samples"] for row in rows), 15, "samples")
    said = printed(*CODE, *samples())
    t.true("HOST TIME OF LAUNCHING THREADS" in said and "  Python  " in said, "the table")
    t.equal(weights(report(*CODE, *samples(thread=2))), {}, "a thread that launched nothing")
    t.equal(weights(report(*CODE, *samples(thread=2)), "other"), want, "it is there as another")

with t.case("layers of one's own"):
    rules = t.path("layers.txt")
    with open(rules, "w", encoding="ascii") as file:
        file.write("# mine\n\n  engine   /opt/mine/*  \nframework */libc.so*\n")
    found = weights(report(*CODE, *samples(), options=("--layers", rules)))
    t.equal((found.get("engine"), found.get("framework")), (7000, 6000 + 2000), "their time")
    # threads of a program without OpenCL
    lines = [line for line in CODE if not line.startswith(("device", "queue", "launch", "execution"))]
    with_rules, without = (printed(*lines, *samples(), options=options) for options in (("--layers", rules), ()))
    t.true("HOST TIME OF ALL THREADS" in without and "\n  engine " not in without, without)
    t.true("HOST TIME OF ALL THREADS" in with_rules and "\n  engine " in with_rules, with_rules)
    for bad, message in (("engine\n", "line 1: expected LAYER GLOB"),
                         ("# a\na b\nwrong   \n", "line 3: expected LAYER GLOB")):
        with open(rules, "w", encoding="ascii") as file:
            file.write(bad)
        failed = run([DUET, "report", t.described("bad.duet", *CODE), "--layers", rules])
        t.equal(failed.status, 1, f"status of {bad!r}")
        t.true(message in text(failed.stderr) and rules in text(failed.stderr), text(failed.stderr))
    failed = run([DUET, "report", t.described("bad.duet", *CODE), "--layers", t.path("none")])
    t.true(failed.status == 1 and "none': No such file" in text(failed.stderr), text(failed.stderr))

t.end()
