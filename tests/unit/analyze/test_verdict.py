#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The causes of the verdict in traces whose times are written down. tests/checker/description.h has the grammar."""
import os
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


def waits(stack, what):
    for i in range(ROUNDS - 1):
        begin = 30000 + i * ROUND_NS
        yield f"switch 1 {begin} blocked stack={stack} wait={what}"
        yield f"switch 1 {begin + AWAY_NS} in"


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

t.end()
