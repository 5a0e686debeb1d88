#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The causes of the verdict in traces whose times are written down. tests/checker/description.h has the grammar."""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402

t = duet_test.Suite(needs_opencl=False)

ROUNDS = 20
BUSY_NS, AWAY_NS, ROUND_NS = 11000, 60000, 100000
GPU = ("device 1 gpu", "process 1 100 app exe=/home/u/app", "thread 1 1 name=main", "queue 1 1",
       f"window 0 {ROUNDS * ROUND_NS}", "frame 1 python step file=train.py line=30", "stack 1 1", "sample 1 0 5", "switch 1 1 in")


def verdict(*lines):
    return t.report(t.described("verdict.duet", *GPU, *lines))["verdict"]


def launches():
    """Each 100 us a call of 1 us and a kernel of 10 us."""
    for i in range(ROUNDS):
        begin = 1000 + i * ROUND_NS
        yield f"launch {i + 1} 1 1 {begin} {begin + 1000} kernel name=k stack=1"
        yield f"execution 1 {i + 1} 1 {begin + 1000} {begin + 1000} {begin + 1000} {begin + BUSY_NS}"


def samples(stack):
    return (f"sample 1 {50000 + i * ROUND_NS} 5000000 stack={stack}" for i in range(ROUNDS - 1))


def waits(stack, what, end=""):
    for i in range(ROUNDS - 1):
        begin = 30000 + i * ROUND_NS
        yield f"switch 1 {begin} blocked stack={stack} wait={what.replace(' ', '%20')}"
        yield f"switch 1 {begin + AWAY_NS} in {end}"


def stack_of(*frames):
    """Frames from 2 on, and stack 2 of them behind train.step."""
    lines = [f"frame {i} {frame}" for i, frame in enumerate(frames, 2)]
    return (*lines, "stack 2 " + " ".join(str(i) for i in range(1, len(frames) + 2)))


def causes(*lines):
    return [(cause["kind"], cause["ns"], cause.get("what"), cause.get("function")) for cause in verdict(*lines)["causes"]]


IDLE_NS = (ROUNDS - 1) * (ROUND_NS - BUSY_NS)
SYSTEM = ("kernel entry_SYSCALL_64_after_hwframe", "kernel do_syscall_64")

with t.case("computing, and where"):
    t.equal(causes(*launches(), *samples(1))[0], ("computing", IDLE_NS, None, "step"), "in the program's own function")

with t.case("time on a processor in a system call of files is the call's"):
    for function, kernel, kind, what in (
            ("fsync", ("kernel __x64_sys_fsync",), "file_sync", "fsync"),
            ("fsync", None, "file_sync", "fsync"),
            ("__libc_pread", ("kernel vfs_read",), "file_read", "pread64"),
            ("posix_fadvise", ("kernel ksys_fadvise64_64",), "file_read", "fadvise64"),
            ("__GI___libc_write", ("kernel ksys_write", "kernel ext4_file_write_iter"), "file_write", "write"),
            ("write", ("kernel ksys_write", "kernel pipe_write"), "computing", None),
            ("read", ("kernel ksys_read", "kernel sock_read_iter"), "computing", None),
            ("write", None, "computing", None),  # of what, only the kernel's frames say
            ("readahead_of_mine", ("kernel x",), "computing", None)):
        frames = (f"native /usr/lib/libc.so.6 name={function}", *(() if kernel is None else SYSTEM + kernel))
        t.equal(causes(*stack_of(*frames), *launches(), *samples(2))[0], (kind, IDLE_NS, what, "step"), f"{kernel}")

with t.case("the sentence says whether the thread ran in the system call"):
    frames = stack_of("native /usr/lib/libc.so.6 name=fsync", *SYSTEM)
    for lines, said in ((samples(2), " (main) was in fsync called from step (train.py:30)"),
                        (waits(2, "fsync%20(disk%20vda)"), "waited for data to reach the disk, fsync (disk vda), in step (train.py:30)")):
        text = verdict(*frames, *launches(), *lines)["text"]
        t.true(said in text, text)

with t.case("the program's own function with the name of a system call computes, unless it calls the kernel"):
    for frame in ("jit sync", "native /home/u/libown.so name=sync", "native /home/u/app name=sync"):
        for inside, kind in (((), "computing"), (("kernel asm_sysvec_apic_timer_interrupt",), "computing"),
                             ((*SYSTEM, "kernel __x64_sys_sync"), "file_sync")):
            found = causes(*stack_of(frame, *inside), *launches(), *samples(2))[0]
            t.equal((found[0], found[3]), (kind, "sync"), f"{frame} {inside}")

with t.case("functions that collect Python's garbage, by their whole names"):
    for function, kind in (("gc_collect_main", "garbage_collection"), ("gc_collect_main.constprop.0", "garbage_collection"),
                           ("%5bPython%20garbage%20collection%5d", "garbage_collection"),
                           ("mesh_gc_collect_faces", "computing"), ("gc_collect_faces", "computing")):
        frames = stack_of(f"native /usr/lib/libpython3.12.so name={function}")
        t.equal(causes(*frames, *launches(), *samples(2))[0][0], kind, function)

with t.case("a wait in a system call of files and the call's own time are one cause"):
    frames = stack_of("jit fsync", *SYSTEM, "kernel __x64_sys_fsync")
    found = causes(*frames, *launches(), *samples(2), *waits(2, "fsync%20(disk%20vda)"))
    t.equal(found[0], ("file_sync", IDLE_NS, "fsync (disk vda)", "fsync"), f"{found}")

with t.case("preempted by the thread that ran longest, if the switch back names it"):
    def preempted(first, longest):
        for i in range(ROUNDS - 1):
            begin = 30000 + i * ROUND_NS
            yield f"switch 1 {begin} preempted stack=1 {first}"
            yield f"switch 1 {begin + AWAY_NS} in {longest}"

    other = "thread 2 1 name=worker"
    for first, longest, what, thread in (
            ("wait=kworker", "wait=stress", "stress", None), ("wait=kworker", "", "kworker", None),
            ("wait=stress", "holder=2", None, "worker"), ("holder=2", "wait=stress", "stress", None)):
        found = verdict(other, *launches(), *samples(1), *preempted(first, longest))["causes"][0]
        t.equal((found["kind"], found["preempted_ns"], found.get("what"), (found.get("holder") or {}).get("thread")),
                ("preempted", (ROUNDS - 1) * AWAY_NS, what, thread), f"{first}, {longest}")

with t.case("a wait for a queue is for another device only if that device is known"):
    for queue, kind in (("queue 2 2", "other_device"), ("queue 2 9", "device_wait"), ("queue 2 1", "device_wait")):
        calls = (f"call 1 {20000 + i * ROUND_NS} {ROUND_NS + i * ROUND_NS} wait clFinish queue=2 stack=1" for i in range(ROUNDS - 1))
        t.equal(causes("device 2 gpu", queue, *launches(), *calls)[0][0], kind, queue)

with t.case("a thread that was seen to wait in a call, and to return long after it: what it did since the call is not known"):
    def idle_of(returned):
        lines = ["launch 1 1 1 1000 2000 kernel name=k stack=1", "execution 1 1 1 2000 2000 2000 11000",
                 "call 1 3000 20000 wait clFinish stack=1", "switch 1 15000 blocked stack=1", f"switch 1 {returned} in",
                 "switch 1 5020000 blocked stack=1", "switch 1 9000000 in",
                 "launch 2 1 1 10000000 10001000 kernel name=k stack=1", "execution 1 2 1 10001000 10001000 10001000 10011000"]
        trace = t.described("late.duet", *GPU[:4], "window 0 10011000", *GPU[5:], *lines)
        return {name: ns for name, ns in t.report(trace)["devices"][0]["idle_causes"].items()
                if name in ("on_cpu", "blocked", "host", "unknown") and ns}

    t.equal(idle_of(19000), {"on_cpu": 6000000, "blocked": 3980000}, "records of switches")
    late = idle_of(5020000)
    t.equal((late["on_cpu"], late["blocked"], late.get("host", 0) + late.get("unknown", 0)), (1000000, 3980000, 5000000), f"{late}")

with t.case("a migration of managed memory does not end a wait of the thread that it counts for"):
    lines = ["launch 1 1 1 1000 2000 kernel name=k stack=1", "execution 1 1 1 2000 2000 2000 11000", "switch 1 20000 blocked stack=1",
             "launch 2 1 1 500000 500000 copy function=(unified%20memory)", "execution 1 2 1 500000 500000 500000 600000",
             "switch 1 900000 in", "launch 3 1 1 1000000 1001000 kernel name=k stack=1", "execution 1 3 1 1001000 1001000 1001000 1011000"]
    causes_of = t.report(t.described("managed.duet", *GPU[:4], "window 0 1011000", *GPU[5:], *lines))["devices"][0]["idle_causes"]
    t.equal((causes_of["blocked"], causes_of["on_cpu"]), (480000 + 300000, 9000 + 100000), f"{causes_of}")

with t.case("a place that is preempted for a short time computes, and nobody ran instead"):
    def preempted_shortly():
        for i in range(ROUNDS - 1):
            begin = 30000 + i * ROUND_NS
            yield f"switch 1 {begin} preempted stack=1 holder=2"
            yield f"switch 1 {begin + 10000} in"
            yield f"switch 1 {begin + 15000} preempted stack=1 wait=stress"
            yield f"switch 1 {begin + 25000} in"
            yield f"sample 1 {begin + 30000} 5000000 stack=1"

    found = verdict("thread 2 1 name=worker", *launches(), *preempted_shortly())["causes"][0]
    t.equal((found["kind"], found["ns"], found["preempted_ns"]), ("computing", IDLE_NS, 2 * (ROUNDS - 1) * 10000), "the place")
    t.equal((found.get("what"), found.get("holder")), (None, None), "only of the time in which it was preempted")

with t.case("a long start with many switches keeps its samples"):
    START = 400_000_000
    begin = [line for i in range(2000) for line in (
        f"switch 1 {i * 200000 + 100} preempted stack=1 wait=stress", f"switch 1 {i * 200000 + 50000} in",
        *([f"sample 1 {i * 200000 + 100000} 5000000 stack=1"] if i % 25 == 0 else []))]
    trace = t.described("start.duet", f"window 0 {START + 1000}", *GPU[:4], *GPU[5:], *begin,
                        f"launch 1 1 1 {START} {START + 10} kernel name=k stack=1", f"execution 1 1 1 {START} {START} {START + 20} {START + 1000}")
    kinds = t.report(trace)["devices"][0]["idle_kinds"]["nothing_to_do"]
    t.true(kinds.get("blocked", 0) < 10, f"no more than the rounding: {kinds}")
    t.true(kinds["preempted"] == 2000 * 49900 and kinds["computing"] > START * 0.7, f"{kinds}")

with t.case("launches that were missed make the verdict uncertain"):
    def certain(kernel):
        samples_of = (f"instruction 1 {50000 + i * ROUND_NS} {kernel} 0 count=10 end={50000 + (i + 1) * ROUND_NS} device=1" for i in range(ROUNDS - 1))
        found = verdict(*launches(), *samples(1), *samples_of)
        t.equal(found["certain"], "Launches were missed" not in found["text"], "text and key")
        return found["certain"]

    t.equal((certain("k"), certain("made")), (True, False), "samples of a launched kernel, and of another")

with t.case("of several devices the verdict names one, and how busy the others were"):
    def text_of(*devices):
        lines = ["window 0 2000000", "process 1 100 app", "thread 1 1"]
        for number, (name, busy_ns) in enumerate(devices, 1):
            lines += [f"device {number} {name}", f"queue {number} {number}"]
            for i in range(ROUNDS):
                begin = 1000 + i * ROUND_NS
                lines += [f"launch {number * 100 + i} 1 {number} {begin} {begin + 100} kernel name=k",
                          f"execution 1 {number * 100 + i} {number} {begin + 200} {begin + 200} {begin + 200} {begin + 200 + busy_ns}"]
        return t.report(t.described("devices.duet", *lines))["verdict"]["text"]

    t.true(text_of(("gpu", 50000)).startswith("The GPU was busy "), "one")
    found = text_of(("fast", 80000), ("slow", 20000), ("other", 50000))
    t.true(found.startswith("GPU 1 (slow) was busy 20."), found)
    t.true(re.search(r" of [0-9.]+ ms\), the other 2 devices 5[0-9.]+ % to 8[0-9.]+ %\. ", found), found)
    found = text_of(("fast", 80000), ("slow", 20000))
    t.true(re.search(r"\), the other device 8[0-9.]+ %\. ", found), found)

FORWARD = ("frame 2 python forward file=model.py line=7", "stack 2 1 2", "frame 3 python capture file=train.py line=70", "stack 3 3")


def captures(begin_options="stack=3", end_options=""):
    """Each gap is a capture from 20 to 80 us after the begin of its round, with one captured launch and two samples."""
    for i in range(ROUNDS - 1):
        at = i * ROUND_NS
        yield f"call 1 {at + 20000} {at + 21000} call cudaStreamBeginCapture_v10000 {begin_options}"
        yield f"sample 1 {at + 30000} 5000000 stack=2"
        yield f"call 1 {at + 40000} {at + 50000} call cudaLaunchKernel_v7000 stack=2"
        yield f"call 1 {at + 50000} {at + 51000} call cudaMalloc_v3020 stack=2"
        yield f"sample 1 {at + 60000} 5000000 stack=2"
        yield f"call 1 {at + 79000} {at + 80000} call cudaStreamEndCapture_v10000 stack=2 {end_options}"


with t.case("a thread that captures a stream into a graph, by the place that began it"):
    found = verdict(*FORWARD, *launches(), *captures())
    first = found["causes"][0]
    # all but the millisecond in cudaMalloc; the gap's other computing has no sample of its own
    t.equal((first["kind"], first["function"], first["line"], first["ns"]),
            ("stream_capture", "capture", 70, (ROUNDS - 1) * (ROUND_NS - BUSY_NS - 1000)), "the call that began it")
    t.true("(main) captured a stream into a graph in capture (train.py:70)" in found["text"], found["text"])
    t.equal([row["ns"] for row in found["causes"] if row["kind"] == "allocation"], [(ROUNDS - 1) * 1000], "its own kind")
    t.equal(causes(*FORWARD, *launches(), *captures(""))[0][0::3], ("stream_capture", "forward"), "without that call's stack")
    t.equal(causes(*FORWARD, *launches(), *captures("", "result=901"))[0][0], "stream_capture", "a call that fails ends it, too")
    failed = causes(*FORWARD, *launches(), *captures("result=900"))
    t.equal([row[0] for row in failed if row[3] == "forward"][0], "computing", f"no capture began: {failed}")

with t.case("outside of a capture nothing is captured"):
    lines = (f"sample 1 {i * ROUND_NS + at} 5000000 stack=1" for i in range(ROUNDS - 1) for at in (15000, 90000))
    found = causes(*FORWARD, *launches(), *captures(), *lines)
    times = {row[0]: row[1] for row in found}
    # half of the samples on the processor are in the capture: 89 us less 14 in calls
    t.equal((times["computing"], times["stream_capture"]), ((ROUNDS - 1) * 38000, (ROUNDS - 1) * (38000 + 12000)), f"{found}")

with t.case("a call around a capture is cut at its begin and its end"):
    around = (f"call 1 {i * ROUND_NS + 13000} {i * ROUND_NS + 99000} call torch.cuda.graph stack=1" for i in range(ROUNDS - 1))
    times = {(row[0], row[2]): row[1] for row in causes(*FORWARD, *launches(), *captures(), *around)}
    t.equal((times[("stream_capture", None)], times[("call", "torch.cuda.graph")]), ((ROUNDS - 1) * 60000, (ROUNDS - 1) * 26000), f"{times}")

with t.case("a thread that instantiates a graph"):
    calls = (f"call 1 {i * ROUND_NS + 20000} {i * ROUND_NS + 90000} call cuGraphInstantiateWithFlags stack=1" for i in range(ROUNDS - 1))
    found = verdict(*launches(), *calls)
    t.equal((found["causes"][0]["kind"], found["causes"][0]["ns"]), ("stream_capture", (ROUNDS - 1) * 70000), "kind")
    t.true("(main) was in cuGraphInstantiateWithFlags called from step (train.py:30)" in found["text"], found["text"])

OTHER_GPU = ("device 2 gpu2", "queue 2 2", "frame 2 python feed file=feed.py line=8", "stack 2 2")


def full(*ranges, queue=2, options=""):
    """Each gap has a launch into a queue from 20 to 80 us after the begin of its round; ranges: its waits after that."""
    for i in range(ROUNDS - 1):
        at = i * ROUND_NS
        yield f"launch {100 + i} 1 {queue} {at + 20000} {at + 80000} kernel name=other function=cuLaunchKernel stack=2"
        yield f"execution 1 {100 + i} {queue} {at + 80000} {at + 80000} {at + 90000} {at + 90001}"
        for begin, end in ranges:
            yield f"range 1 {at + begin} {at + end} Command%20Buffer%20Full domain=CUPTI type=start {options}"


with t.case("a launch that waits because the command buffer of another device is full"):
    for options in ("process=1", "process=0"):
        found = verdict(*OTHER_GPU, *launches(), *samples(1), *full((25000, 75000), options=options))
        kinds = {row["kind"]: row["ns"] for row in found["causes"]}
        t.equal((kinds["command_buffer_full"], kinds["call"]), ((ROUNDS - 1) * 50000, (ROUNDS - 1) * 10000), f"{options}: the wait, the rest")
        t.true("(main) waited in cuLaunchKernel called from feed (feed.py:8) because the command buffer was full" in found["text"],
               found["text"])
    missing = causes(*OTHER_GPU, *launches(), *samples(1), *full((5000, 15000)))
    t.true("command_buffer_full" not in [row[0] for row in missing], f"no launch is around the range: {missing}")

with t.case("the wait of the launch that ends the gap"):
    def slow(options=""):
        for i in range(ROUNDS):
            at = 1000 + i * ROUND_NS
            yield f"launch {i + 1} 1 1 {at} {at + 50000} kernel name=k stack=1"
            yield f"execution 1 {i + 1} 1 {at + 50000} {at + 50000} {at + 50000} {at + 60000}"
            yield f"range 1 {at + 10000} {at + 40000} command%20buffer%20full domain=CUPTI type=start process=1"

    document = t.report(t.described("full.duet", *GPU, *slow()))
    kinds = {row["kind"]: row["ns"] for row in document["verdict"]["causes"]}
    t.equal((kinds["command_buffer_full"], kinds["launch_call"]), ((ROUNDS - 1) * 30000, (ROUNDS - 1) * 20000), "the wait, the rest")
    t.true("Outside" not in document["verdict"]["text"], document["verdict"]["text"])
    t.equal(document["devices"][0]["idle_causes"]["runtime"], ROUNDS * 50000, "the account's cause is the launching call")
    t.equal(document["command_buffer_full"], {"launches": ROUNDS, "ns": ROUNDS * 30000, "longest_ns": 30000, "estimated": False}, "its sum")

with t.case("time in which the recording tool held the launching thread"):
    def held(*spans, thread=1):
        return (f"range {thread} {1000 + i * ROUND_NS + begin} {1000 + i * ROUND_NS + end} Buffer%20Flush domain=CUPTI type=start "
                "category=profiler%20overhead" for i in range(ROUNDS) for begin, end in spans)

    # of the gap, 89 us and the launch: 40 us outside of calls, 2 us that end inside of the next launch of 1 us
    document = t.report(t.described("held.duet", *GPU, *launches(), *samples(1), *held((20000, 60000), (98500, 100500))))
    kinds = {row["kind"]: row["ns"] for row in document["verdict"]["causes"]}
    t.equal((kinds["profiler_overhead"], kinds["computing"]), ((ROUNDS - 1) * 42000, IDLE_NS - (ROUNDS - 1) * 41500), f"its causes: {kinds}")
    t.true("was held by the recording tool itself before a launch in" in document["verdict"]["text"], document["verdict"]["text"])
    t.equal(document["devices"][0]["idle_causes"]["profiler_overhead"], (ROUNDS - 1) * 42000, "the account's cause")
    t.equal(document["profiler_overhead"], {"count": 2 * ROUNDS, "ns": ROUNDS * 42000 - 1500, "threadless": 0, "threadless_ns": 0},
            "its sum, of which the end of the window cuts the last one")
    found = [row for row in document["findings"] if row["id"] == "profiler_overhead"]
    t.equal([(row["severity"], row["evidence"]) for row in found],
            [("warning", {"device": "gpu", "overhead_ns": (ROUNDS - 1) * 42000, "idle_ns": document["devices"][0]["idle_ns"],
                          "wall_ns": document["wall_ns"]})], "its finding")
    for spans, thread, count in (((20000, 24800),), 1, 1), (((20000, 24700),), 1, 0), (((20000, 60000),), 2, 0), (((20000, 60000),), 0, 0):
        document = t.report(t.described("held.duet", *GPU, "thread 2 1", *launches(), *samples(1), *held(*spans, thread=thread)))
        t.equal(sum(row["id"] == "profiler_overhead" for row in document["findings"]), count, f"findings with {spans} of thread {thread}")
        ns = ROUNDS * (spans[0][1] - spans[0][0])
        t.equal((document["profiler_overhead"]["ns"], document["profiler_overhead"]["threadless_ns"]), (ns, 0) if thread else (0, ns), "whose")

with t.case("a full command buffer is a finding, also if no device idles"):
    def find_full(*lines):
        found = [row for row in t.report(t.described("full.duet", *GPU, *OTHER_GPU, *lines))["findings"] if row["id"] == "command_buffer_full"]
        return found[0] if found else None

    found = find_full(*launches(), *full((25000, 75000)))
    waited_ns, wall_ns = (ROUNDS - 1) * 50000, ROUNDS * ROUND_NS
    t.equal({name: found["evidence"][name] for name in ("launches", "waited_ns", "longest_ns", "idle_ns", "wall_ns", "function", "line")},
            {"launches": ROUNDS - 1, "waited_ns": waited_ns, "longest_ns": 50000, "idle_ns": waited_ns, "wall_ns": wall_ns, "function": "feed", "line": 8},
            "another device idles")
    t.true("19 launches waited 950.0 µs because the command buffer was full; longest 50.00 µs called from feed (feed.py:8), and a device idled 950.0 µs "
           "of that; launch its work in another thread" in found["text"], found["text"])
    busy = (f"launch {i} 1 {i} 0 10 kernel name=long stack=1" for i in (1, 2))
    ran = (f"execution 1 {i} {i} 10 10 10 {wall_ns}" for i in (1, 2))
    found = find_full(*busy, *ran, *full((25000, 75000)))
    t.equal((found["evidence"]["idle_ns"], found["severity"]), (0, "info"), "no device idles")
    t.true("so the device had work meanwhile" in found["text"], found["text"])
    t.equal(find_full(*launches(), *full((25000, 35000))), None, "9.5 % of the time")
    two = [f"launch {200 + i} 2 2 {i * ROUND_NS + 81000} {i * ROUND_NS + 99000} kernel name=other function=cuLaunchKernel stack=2"
           for i in range(ROUNDS - 1)]
    two += [f"range 2 {i * ROUND_NS + 85000} {i * ROUND_NS + 95000} Command%20Buffer%20Full domain=CUPTI type=start process=1"
            for i in range(ROUNDS - 1)]
    t.equal(find_full("thread 2 1 name=other", *launches(), *full((25000, 35000)), *two), None, "9.5 % of the time in each of two threads")

with t.case("launches that wait each time, beside other causes: each has its own time"):
    LOOPS, SLOW, SLOW_NS = 300, 30, 400000

    def loop():
        at = 1000
        for i in range(LOOPS):
            yield f"launch {i + 1} 1 1 {at} {at + 4000} kernel name=k stack=1 function=launch"
            yield f"execution 1 {i + 1} 1 {at + 4000} {at + 4000} {at + 6000} {at + 50000}"
            yield f"call 1 {at + 4000} {at + 52000} wait finish queue=1 stack=1"
            at += 53000  # the thread's own code has 1 us
            if i % (LOOPS // SLOW) == 1:
                yield f"call 1 {at} {at + 10000} call cuMemAlloc stack=2"
                yield f"sample 1 {at + 20000} 5000000 stack=2"
                at += SLOW_NS

    found = t.report(t.described("loop.duet", *GPU[:4], *GPU[5:], "frame 2 python load file=load.py line=7", "stack 2 1 2", *loop()))["verdict"]["causes"]
    gaps = LOOPS - 1 - SLOW
    t.equal({row["kind"]: row["ns"] for row in found},
            {"launch_bound": gaps * (2000 + 1000 + 4000 + 2000), "allocation": SLOW * 10000, "computing": SLOW * (SLOW_NS - 10000 + 1000),
             "device_wait": SLOW * 2000, "launch_call": SLOW * 4000, "launched_not_started": SLOW * 2000}, "each cause")
    t.equal([row["function"] for row in found if row["kind"] in ("computing", "launch_bound")], ["load", "step"], "places")

with t.case("a long launch into a deep queue probably waits for room"):
    DEEP = 1100

    def deep(count, length):
        kinds = random.Random(1)  # no sequence repeats
        for i in range(count):
            yield f"launch {1000 + i} 1 2 {100 + i} {101 + i} {kinds.choice(('kernel name=other', 'read', 'write', 'copy', 'fill'))} stack=2"
            yield f"execution 1 {1000 + i} 2 {100 + i} {100 + i} {3000000 + i} {3000001 + i}"
        yield f"launch 5000 1 2 {5000} {5000 + length} kernel name=other function=hipLaunchKernel stack=2"
        yield f"execution 1 5000 2 {5000 + length} {5000 + length} 3100000 3100001"
        for number, at in ((1, 2000), (2, 5000 + length + 1000)):
            yield f"launch {number} 1 1 {at} {at + 10} kernel name=k stack=1"
            yield f"execution 1 {number} 1 {at + 10} {at + 10} {at + 10} {at + 20}"

    def waits_of(count, length):
        return t.report(t.described("deep.duet", *GPU[:4], *GPU[5:], "window 0 4000000", *OTHER_GPU, *deep(count, length)), "--device", "0")

    document = waits_of(DEEP, 200000)
    first = document["verdict"]["causes"][0]
    t.equal((first["kind"], first["ns"], first["function"]), ("command_buffer_full", 200000, "feed"), f"{first}")
    t.true("probably waited in hipLaunchKernel called from feed (feed.py:8) because the command buffer was full" in document["verdict"]["text"], document["verdict"]["text"])
    t.equal(document["command_buffer_full"], {"launches": 1, "ns": 200000, "longest_ns": 200000, "estimated": True}, "its sum")
    for count, length in ((900, 200000), (DEEP, 90000)):
        kinds = waits_of(count, length)["devices"][0]["idle_kinds"]["api_call"]
        t.true("call" in kinds and "command_buffer_full" not in kinds, f"{count} commands, {length} ns: {kinds}")

LIBC, STANDARD = "native /usr/lib/libc.so.6 name=", "/usr/lib/python3.11"
USERS = "python fetch file=/home/u/pool.py line=4"
OTHER = "thread 2 1 name=worker"
SEMAPHORE = f"{LIBC}__new_sem_wait_slow64"


def kind_of(what, *frames, end="waker=2"):
    found = causes(OTHER, *stack_of(*frames), *launches(), *waits(2, what, end))[0]
    t.equal(found[1], (ROUNDS - 1) * AWAY_NS, f"{what}: the whole wait")
    return found[0]


with t.case("a futex is a lock only if a function or its memory shows it"):
    for what, frames, kind in (
            ("futex (0x1000)", ("native /home/u/app name=fwait", f"{LIBC}syscall"), "thread_wait"),
            ("futex (0x1000)", (f"{LIBC}syscall",), "lock"),  # Python's own, in the user's function
            ("futex (0x1000)", (f"{LIBC}pthread_mutex_lock", f"{LIBC}__lll_lock_wait"), "lock"),
            ("mutex (0x1000)", (f"{LIBC}syscall",), "lock"),
            ("futex (0x1000)", (f"{LIBC}pthread_rwlock_rdlock",), "lock"),
            ("futex (0x1000)", (f"{LIBC}__pthread_clockjoin_ex", f"{LIBC}__futex_abstimed_wait_common"), "thread_wait"),
            ("futex (0x1000)", (f"{LIBC}pthread_timedjoin_np",), "thread_wait"),
            ("futex (0x1000)", (f"{LIBC}aio_suspend",), "thread_wait"),
            ("futex (0x1000)", (f"{LIBC}pthread_cond_wait", f"{LIBC}__pthread_mutex_cond_lock"), "lock"),
            ("futex (0x1000)", ("native /home/u/app name=std::__future_base::run", f"{LIBC}pthread_mutex_lock"), "lock"),
            ("futex (0x1000)", ("native /home/u/app name=std::condition_variable::wait(std::unique_lock<std::mutex>&)",), "thread_wait")):
        t.equal(kind_of(what, *frames), kind, f"{what} {frames}")
    t.equal(kind_of("mutex (0x1000)", f"{LIBC}pthread_mutex_lock", end=""), "thread_wait", "of an unknown holder")

with t.case("OpenMP: a barrier waits for threads, blocked and polling; a critical section waits for a lock"):
    runtime = "native /usr/lib/libomp.so.5 name=__kmp_hyper_barrier_release(int)"
    inner = "native /nowhere/libgomp.so.1.0.0 offset=0x1f823"
    for frames, kind in (((inner,), "thread_wait"), (("native /nowhere/libgomp.so.1.0.0 name=GOMP_parallel", inner), "thread_wait"),
                         (("native /nowhere/libgomp.so.1.0.0 name=GOMP_critical_start", inner), "lock"),
                         ((runtime, f"{LIBC}pthread_yield"), "thread_wait")):
        t.equal(kind_of("futex (0x1000)", "native /home/u/app name=scale_rows", *frames), kind, f"{frames}")
    for frame, kind in ((inner, "thread_wait"), (runtime, "thread_wait"),
                        ("native /usr/lib/libgomp.so.1 name=gomp_team_barrier_wait_end", "thread_wait"),
                        ("native /usr/lib/libgomp.so.1 name=GOMP_loop_dynamic_next", "computing"),
                        ("native /nowhere/libother.so offset=0x1f823", "computing")):
        found = verdict(*stack_of("native /home/u/app name=scale_rows", frame), *launches(), *samples(2))
        t.equal((found["causes"][0]["kind"], found["causes"][0]["ns"]), (kind, IDLE_NS), frame)
        t.equal("waited in scale_rows for another thread" in found["text"], kind == "thread_wait", found["text"])

with t.case("Python: modules of the standard library wait for threads, the user's modules with their names for locks"):
    for frames, kind in (
            ((USERS, SEMAPHORE), "lock"),
            (("python get file=/home/u/queue.py line=4", SEMAPHORE), "lock"),
            (("python get file=/home/u/lib/python3.11/site-packages/x/queue.py line=4", SEMAPHORE), "lock"),
            ((f"python get file={STANDARD}/queue.py line=4", SEMAPHORE), "thread_wait"),
            ((f"python wait file={STANDARD}/multiprocessing/pool.py line=4", SEMAPHORE), "thread_wait"),
            ((f"python wait file={STANDARD}/pool.py line=4", SEMAPHORE), "lock"),
            ((f"python result file={STANDARD}/concurrent/futures/_base.py line=4", SEMAPHORE), "thread_wait"),
            ((f"python wait file={STANDARD}/threading.py line=4", SEMAPHORE), "thread_wait"),
            ((f"python Condition.__enter__ file={STANDARD}/threading.py line=4", SEMAPHORE), "lock"),
            ((f"python SemLock.__enter__ file={STANDARD}/multiprocessing/synchronize.py line=4",
              "native /nowhere/_multiprocessing.cpython-311-x86_64-linux-gnu.so offset=0x2e17", SEMAPHORE), "lock"),
            ((f"python Condition.wait file={STANDARD}/multiprocessing/synchronize.py line=4", SEMAPHORE), "thread_wait"),
            ((USERS, "native /nowhere/_queue.cpython-311-x86_64-linux-gnu.so offset=0x2c2e", SEMAPHORE), "thread_wait"),
            ((USERS, "native /usr/bin/python3.13 name=_queue_SimpleQueue_get_impl", SEMAPHORE), "thread_wait"),
            ((USERS, "native /home/u/ext.so name=join_all", f"{LIBC}__pthread_clockjoin_ex"), "thread_wait"),
            ((f"python wait file={STANDARD}/threading.py line=4", "native /home/u/ext.so name=f", f"{LIBC}pthread_mutex_lock"), "lock")):
        t.equal(kind_of("futex (0x1000)", *frames), kind, f"{frames}")

with t.case("reads and writes by their object"):
    for what, frames, kind in (
            ("read (eventfd)", (), "event_wait"), ("read (inotify)", (), "event_wait"), ("read (terminal)", (), "event_wait"),
            ("read (signalfd)", (), "event_wait"), ("read (device input/event3)", (), "event_wait"), ("read (timerfd)", (), "sleep"),
            ("write (terminal)", (), "event_wait"), ("splice (pipe)", (), "pipe"), ("splice (/data/x)", (), "file_read"),
            ("read (/data/eventfd (pipe)", (), "file_read"), ("read (/data/x, disk vda)", (), "file_read"), ("read (disk vda)", (), "file_read"),
            ("read (pipe)", (), "pipe"), ("read (socket)", (), "network"), ("write (unix socket)", (), "network"),
            ("read (TCP, port 443 of 10.0.0.5)", (), "network"),
            ("read", (), "blocked"), ("write", (), "blocked"), ("pread64", (), "file_read"),
            ("read", ("kernel ksys_read", "kernel vfs_read"), "blocked"),
            ("read", ("kernel vfs_read", "kernel ext4_file_read_iter", "kernel filemap_read", "kernel io_schedule"), "file_read"),
            ("read", ("kernel vfs_read", "kernel pipe_read", "kernel schedule"), "pipe"),
            ("read", ("kernel vfs_read", "kernel eventfd_read"), "event_wait"), ("read", ("kernel n_tty_read",), "event_wait"),
            ("read", ("kernel timerfd_read_iter",), "sleep")):
        t.equal(kind_of(what, *frames), kind, f"{what} {frames}")

with t.case("other system calls that wait"):
    for what, kind in (("flock (/data/x.lock, disk vda)", "lock"), ("fcntl", "lock"), ("semop", "lock"), ("semtimedop", "lock"),
                       ("mq_timedreceive (/q)", "message"), ("mq_timedsend", "message"), ("msgrcv", "message"),
                       ("rt_sigtimedwait", "event_wait"), ("rt_sigsuspend", "event_wait"), ("pause", "event_wait"),
                       ("io_pgetevents", "event_wait"), ("sched_yield", "blocked"), ("futex_waitv", "thread_wait"), ("syncfs", "file_sync")):
        for end in ("waker=2", ""):
            t.equal(kind_of(what, "native /home/u/app name=wait_here", end=end), kind, f"{what} {end}")

with t.case("stripped code: one cause for a file that is not there"):
    frames = (*stack_of("native /nowhere/stripped.x offset=0x1a57"), "frame 3 native /nowhere/stripped.x offset=0x1a48", "stack 3 1 3",
              "frame 4 native /nowhere/other.x offset=0x10", "stack 4 1 4")
    halves = (f"sample 1 {50000 + i * ROUND_NS} 5000000 stack={4 if i % 5 == 4 else 2 + i % 2}" for i in range(ROUNDS - 1))
    frames = ("process 2 101 app exe=/nowhere/stripped.x", "process 3 102 app exe=/nowhere/other.x", *frames)
    found = causes(*frames, *launches(), *halves)
    t.equal([cause[3] for cause in found if cause[0] == "computing"], ["[stripped.x]", "[other.x]"], f"{found}")

t.end()
