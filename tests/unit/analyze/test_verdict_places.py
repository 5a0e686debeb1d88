#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The places that the verdict names in traces whose times are written down: the late rank of an MPI job, the worker
behind a pool's thread, the caller of a call without a stack of its own. tests/checker/description.h has the grammar."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
import duet_test  # noqa: E402
from duet_test import DUET, run, text  # noqa: E402

t = duet_test.Suite(needs_opencl=False)
MS = 1000000
PERIOD = 100 * MS
ROUNDS = 10
KERNEL = 10 * MS
STEP = 5 * MS


def verdict(*lines):
    return t.report(t.described("verdict.duet", *lines))["verdict"]


def holder(cause):
    place = cause.get("holder", {})
    return place.get("function"), place.get("file"), place.get("line")


def kernels(stack):
    """A kernel of 10 ms at the begin of each 100 ms."""
    for i in range(ROUNDS):
        begin = i * PERIOD
        yield f"launch {i + 1} 1 1 {begin} {begin + 1000} kernel name=k stack={stack}"
        yield f"execution 1 {i + 1} 1 {begin + 1000} {begin + 1000} {begin + 1000} {begin + KERNEL}"


def samples(thread, stack_at):
    """A sample each 5 ms; stack_at gives the stack of a time in the round."""
    for i in range(ROUNDS):
        for time in range(STEP // 2, PERIOD, STEP):
            yield f"sample {thread} {i * PERIOD + time} {STEP} stack={stack_at(time)}"


# ---- ranks of a job -----------------------------------------------------------------------------

IN_APP, IN_MPI, IN_MESH, IN_PACK = 1, 2, 3, 4
WHERE = ("frame 1 python exchange file=/home/u/halo.py line=70",
         "frame 2 python MPI_Barrier file=/usr/lib/python3/mpi.py line=1", "frame 3 native /usr/lib/libmpi.so.40",
         "frame 4 python refine file=/home/u/mesh.py line=51", "frame 5 python pack file=/home/u/mesh.py line=80",
         "stack 1 1", "stack 2 1 2 3", "stack 3 4", "stack 4 5")


def job(count, **others):
    """Processes 1 to count with one thread each are the ranks of a job."""
    yield f"window 0 {ROUNDS * PERIOD}"
    yield "device 1 gpu"
    for i in range(1, count + 1):
        fields = {"rank": i, "rank_count": count, **others}
        yield f"process {i} {100 + i} app " + " ".join(f"{key}={value}" for key, value in fields.items())
        yield f"thread {i} {i}"
    yield "queue 1 1"
    yield from WHERE
    yield "switch 1 0 preempted"  # samples show a thread's states only beside switches
    yield "switch 1 1 in"


def late(time):
    """Computes for 80 of 90 ms of the others' wait, and waits for them otherwise."""
    return IN_MESH if KERNEL <= time < 90 * MS else IN_MPI


def waits(time):
    return IN_APP if time < KERNEL else IN_MPI


with t.case("the late rank, which computes"):
    first = verdict(*job(2), *kernels(IN_APP), *samples(1, waits), *samples(2, late))["causes"][0]
    t.equal((first["kind"], first["function"], first["line"]), ("other_rank", "exchange", 70), "the wait")
    t.equal(holder(first), ("refine", "/home/u/mesh.py", 51), "what the other rank did")
    share = first["holder"]["ns"] / first["ns"]
    t.true(0.85 < share < 0.93, f"for 80 of 90 ms: {share}")

with t.case("the sentence names the rank and its share"):
    said = verdict(*job(2), *kernels(IN_APP), *samples(1, waits), *samples(2, late))["sentences"][1]
    t.true("waited in exchange (halo.py:70) for other ranks, 88.9 % of that time for rank 1 of 2, which computed in "
           "refine (mesh.py:51)" in said, said)
    always = samples(2, lambda time: IN_MPI if time < KERNEL else IN_MESH)
    said = verdict(*job(2), *kernels(IN_APP), *samples(1, waits), *always)["sentences"][1]
    t.true("waited in exchange (halo.py:70) for rank 1 of 2, which computed in refine (mesh.py:51)" in said, said)

with t.case("the late rank, which sleeps"):
    sleeps = [line for i in range(ROUNDS) for line in (
        f"switch 2 {i * PERIOD + KERNEL} blocked stack={IN_PACK} wait=clock_nanosleep",
        f"switch 2 {i * PERIOD + 99 * MS} in", f"sample 2 {i * PERIOD + 99 * MS + 1000} 1 stack={IN_MPI}")]
    verdict_said = verdict(*job(2), *kernels(IN_APP), *samples(1, waits), *sleeps)
    t.equal(holder(verdict_said["causes"][0]), ("pack", "/home/u/mesh.py", 80), "where it slept")
    t.true("which waited in pack (mesh.py:80)" in verdict_said["sentences"][1], verdict_said["sentences"][1])

with t.case("a blocked wait in MPI"):
    blocked = [line for i in range(ROUNDS) for line in (
        f"sample 1 {i * PERIOD + MS} 1 stack={IN_MPI}",
        f"switch 1 {i * PERIOD + KERNEL} blocked stack={IN_MPI} wait=poll", f"switch 1 {i * PERIOD + 99 * MS} in")]
    first = verdict(*job(2), *kernels(IN_APP), *blocked, *samples(2, late))["causes"][0]
    t.equal((first["kind"], holder(first)), ("other_rank", ("refine", "/home/u/mesh.py", 51)), "the late rank")

with t.case("a rank that is preempted in MPI misses nothing while another one is late"):
    preempted = [line for i in range(ROUNDS) for line in (
        f"sample 1 {i * PERIOD + MS} 1 stack={IN_MPI}",
        f"switch 1 {i * PERIOD + KERNEL} preempted stack={IN_MPI} wait=stress%20(process%2077)",
        f"switch 1 {i * PERIOD + 99 * MS} in")]
    found = verdict(*job(2), *kernels(IN_APP), *preempted, *samples(2, late))
    causes = found["causes"]
    t.true("was preempted in exchange (halo.py:70) while it waited for other ranks" in found["sentences"][2],
           found["sentences"][2])
    t.equal([(cause["kind"], holder(cause)) for cause in causes[:2]],
            [("other_rank", ("refine", "/home/u/mesh.py", 51)), ("preempted", (None, None, None))], "the kinds")
    t.equal(causes[1]["own_kind"], "other_rank", "the code of the rest")
    t.equal(causes[0]["preempted_ns"], causes[0]["ns"], "it was off its processor all the time")
    share = causes[0]["ns"] / (causes[0]["ns"] + causes[1]["ns"])
    t.true(0.85 < share < 0.93, f"80 of 89 ms: {share}")

with t.case("a call of a runtime within MPI is the call"):
    for kind, name, expected in (("call", "hipMemcpy", "call"), ("wait", "hipStreamSynchronize", "device_wait")):
        inside = [f"call 1 {i * PERIOD + KERNEL + MS} {i * PERIOD + 99 * MS} {kind} {name} stack={IN_MPI}" for i in range(ROUNDS)]
        first = verdict(*job(2), *kernels(IN_APP), *inside, *samples(2, late))["causes"][0]
        t.equal((first["kind"], first["what"], first["function"], first.get("holder")), (expected, name, "exchange", None), name)

with t.case("of three ranks, the only one outside of MPI"):
    first = verdict(*job(3), *kernels(IN_APP), *samples(1, waits), *samples(2, late), *samples(3, waits))["causes"][0]
    t.equal(holder(first), ("refine", "/home/u/mesh.py", 51), "the late rank")

with t.case("ranks that are late in turn, in one place"):
    both = (f"sample {thread} {i * PERIOD + time} {STEP} stack={late(time) if i % 2 == thread - 2 else waits(time)}"
            for thread in (2, 3) for i in range(ROUNDS) for time in range(STEP // 2, PERIOD, STEP))
    said = verdict(*job(3), *kernels(IN_APP), *samples(1, waits), *both)["sentences"][1]
    t.true("for one of 2 ranks, which computed in refine (mesh.py:51)" in said, said)

with t.case("no rank is named where it is not certain"):
    cases = {
        "two are late": (*job(3), *samples(2, late), *samples(3, late)),
        "one has no samples": (*job(3), *samples(2, late)),
        "one is in no trace": (*job(2, rank_count=3), *samples(2, late)),
        "it was never in MPI": (*job(2), *samples(2, lambda time: IN_MESH if time < 90 * MS else IN_PACK)),
        "no ranks": (line.split(" rank=")[0] for line in (*job(2), *samples(2, late))),
        "all wait": (*job(2), *samples(2, waits)),
    }
    for name, lines in cases.items():
        first = verdict(*lines, *kernels(IN_APP), *samples(1, waits))["causes"][0]
        t.equal((first["kind"], first["function"], first.get("holder")), ("other_rank", "exchange", None), name)

with t.case("of three ranks, none for a message between two of them"):
    received = [line.replace("MPI_Barrier", "MPI_Recv") for line in job(3)]
    first = verdict(*received, *kernels(IN_APP), *samples(1, waits), *samples(2, late), *samples(3, waits))["causes"][0]
    t.equal((first["kind"], first.get("holder")), ("other_rank", None), "it may come from the third")
    received = [line.replace("MPI_Barrier", "MPI_Recv") for line in job(2)]
    first = verdict(*received, *kernels(IN_APP), *samples(1, waits), *samples(2, late))["causes"][0]
    t.equal(holder(first), ("refine", "/home/u/mesh.py", 51), "of two ranks, the other one")

# ---- a worker behind a pool's thread ------------------------------------------------------------

POOL = (f"window 0 {ROUNDS * PERIOD}", "device 1 gpu", "process 1 100 app", "process 2 200 worker",
        "thread 1 1 name=main", "thread 2 1 name=results", "thread 3 2 name=worker", "queue 1 1",
        "frame 1 python map_chunks file=/home/u/app.py line=19",
        "frame 2 python wait file=/usr/lib/python3/threading.py line=1",
        "frame 3 python _recv file=/usr/lib/python3/connection.py line=379",
        "frame 4 python transform file=/home/u/app.py line=15", "frame 5 python handle file=/home/u/app.py line=99",
        "stack 1 1 2", "stack 2 3", "stack 3 4", "stack 4 5 3", "sample 1 0 1", "sample 2 0 1", "sample 3 0 1")


def pool(stack_of_thread, waker="waker=3", after=0):
    """The launching thread waits for a thread that waits for a pipe until the worker writes into it."""
    for i in range(ROUNDS):
        begin, end = i * PERIOD + KERNEL, i * PERIOD + 99 * MS
        yield f"switch 1 {begin} blocked stack=1 wait=futex"
        yield f"switch 2 {begin} blocked stack={stack_of_thread} wait=read%20(pipe)"
        for time in range(begin + after + STEP // 2, end, STEP):
            yield f"sample 3 {time} {STEP} stack=3"
        yield f"switch 2 {end - 2000} in {waker}"
        yield f"switch 1 {end} in waker=2"


with t.case("the worker behind a thread with no code of the user's"):
    found = verdict(*POOL, *kernels(1), *pool(2))
    t.equal((found["causes"][0]["kind"], holder(found["causes"][0])),
            ("thread_wait", ("transform", "/home/u/app.py", 15)), "the worker's place")
    t.true("waited in map_chunks (app.py:19) for thread 2003 (worker) of process 200, which computed in transform "
           "(app.py:15)" in found["sentences"][1], found["sentences"][1])

with t.case("a thread with code of the user's is the one that is waited for"):
    first = verdict(*POOL, *kernels(1), *pool(4))["causes"][0]
    t.equal(holder(first), ("handle", "/home/u/app.py", 99), "its own place")


def awaited(meanwhile):
    """The launching thread waits for thread 2. meanwhile: the lines of that thread, from the begin and end of the wait."""
    for i in range(ROUNDS):
        begin, end = i * PERIOD + KERNEL, i * PERIOD + 99 * MS
        yield f"switch 1 {begin} blocked stack=1 wait=futex"
        yield from meanwhile(begin, end)
        yield f"switch 1 {end} in waker=2"


with t.case("what that thread waited for"):
    for what, kind, words in (("pread64%20(/x.bin,%20disk%20vda)", "file_read", "which waited for a file, pread64 (/x.bin, disk vda), in handle"),
                              ("clock_nanosleep", "sleep", "which slept in handle"), ("what_else", "blocked", "which was blocked, what_else, in")):
        found = verdict(*POOL, *kernels(1), *(line.replace("read%20(pipe)", what) for line in pool(4, "")))
        t.equal((found["causes"][0]["kind"], found["causes"][0]["holder"].get("wait")), ("thread_wait", kind), what)
        t.true(words in found["sentences"][1], found["sentences"][1])

with t.case("a thread that was preempted there for a moment first computed there"):
    def preempted_first(begin, end):
        yield f"switch 2 {begin + 10} preempted stack=4"
        yield f"switch 2 {begin + 20000} in"
        for time in range(begin + STEP // 2, end, STEP):
            yield f"sample 2 {time} {STEP} stack=4"

    found = verdict(*POOL, *kernels(1), *awaited(preempted_first))
    t.equal(found["causes"][0]["holder"].get("wait"), None, "no wait")
    t.true("for thread 2002 (results), which computed in handle (app.py:99)" in found["sentences"][1], found["sentences"][1])

with t.case("a thread that was preempted there all the time did not compute"):
    def preempted_always(begin, end):
        yield f"switch 2 {begin + 10} preempted stack=4 wait=stress"
        yield f"switch 2 {end - 2000} in"

    found = verdict(*POOL, *kernels(1), *awaited(preempted_always))
    t.equal(found["causes"][0]["holder"].get("wait"), "preempted", "its wait")
    t.true("for thread 2002 (results), which was preempted in handle (app.py:99)" in found["sentences"][1], found["sentences"][1])

with t.case("of several waits in one function the longest is named, if it has most of the time"):
    def two_waits(first_ms):
        def meanwhile(begin, end):
            middle = begin + first_ms * MS
            yield f"switch 2 {begin + 10} blocked stack=4 wait=clock_nanosleep"
            yield f"switch 2 {middle} in"
            yield f"switch 2 {middle + 10} blocked stack=5 wait=pread64%20(/x.bin,%20disk%20vda)"
            yield f"switch 2 {end - 2000} in"
        return awaited(meanwhile)

    for first_ms, words in ((5, "which waited for a file, pread64 (/x.bin, disk vda), in handle"), (45, "which waited in handle")):
        found = verdict(*POOL, "frame 6 python _read file=/usr/lib/python3/io.py line=9", "stack 5 5 6", *kernels(1), *two_waits(first_ms))
        t.true(words in found["sentences"][1], f"{first_ms}: {found['sentences'][1]}")

with t.case("a wait for an event or a pipe names the thread that ended it"):
    for what, words in (("epoll_wait", "waited for an event, epoll_wait, in map_chunks (app.py:19) for thread 2002 (results)"),
                        ("read%20(pipe)", "waited for a pipe, read (pipe), in map_chunks (app.py:19) for thread 2002 (results)")):
        lines = (line.replace("wait=futex", f"wait={what}") for line in pool(4, ""))
        said = verdict(*POOL, *kernels(1), *lines)["text"]
        t.true(words in said, said)

with t.case("a thread that no other one woke"):
    first = verdict(*POOL, *kernels(1), *pool(2, ""))["causes"][0]
    t.equal(holder(first), ("_recv", "/usr/lib/python3/connection.py", 379), "its own place")

with t.case("two threads that wait in one stack, one for the other"):
    both = (line for i in range(ROUNDS) for line in (
        f"switch 3 {i * PERIOD + KERNEL + 1} blocked stack=2 wait=read%20(pipe)", f"switch 3 {i * PERIOD + 2 * KERNEL} in"))
    first = verdict(*POOL, *kernels(1), *pool(2, after=KERNEL), *both)["causes"][0]
    t.equal((first["kind"], holder(first)), ("thread_wait", ("transform", "/home/u/app.py", 15)), "the worker's code")

# ---- the slowest iteration ----------------------------------------------------------------------


def loop(slow):
    """Iterations of 10 ms, one of 50, that wait for a thread. It sleeps, and in iteration `slow` it computes."""
    now, row = MS, 0
    for i in range(30):
        for k in range(3):
            row, at = row + 1, now + k * MS
            yield f"launch {row} 1 1 {at} {at + 10000} kernel name=k{k} stack=1"
            yield f"execution 1 {row} 1 {at + 10000} {at + 10000} {at + 20000} {at + MS}"
        begin, end = now + 4 * MS, now + (49 if i == slow else 9) * MS
        yield f"switch 1 {begin} blocked stack=1 wait=futex"
        if i != slow:
            yield f"switch 2 {begin} blocked stack=3 wait=clock_nanosleep"
            yield f"switch 2 {end - 2000} in"
        else:
            for time in range(begin + STEP // 2, end, STEP):
                yield f"sample 2 {time} {STEP} stack=3"
        yield f"switch 1 {end} in waker=2"
        now = end + MS


with t.case("what the other thread did in the slowest iteration"):
    described = t.described("slowest.duet", "window 0 400000000", *POOL[1:], *loop(20))
    shown = " ".join(duet_test.text(duet_test.run([duet_test.DUET, "report", described]).stdout).split())
    t.true("of it; largest cause of idle: thread 2001 (main) waited in map_chunks (app.py:19) for thread 2002 (results), "
           "which computed in transform (app.py:15)" in shown, shown[-1500:])

# ---- calls without a stack of their own ---------------------------------------------------------

CALLS = (f"window 0 {ROUNDS * PERIOD}", "device 1 gpu", "process 1 100 app", "thread 1 1", "queue 1 1",
         "frame 1 python upload file=/home/u/app.py line=7",
         "frame 2 python clCreateBuffer file=/usr/lib/python3/cl.py line=1",
         "frame 3 jit generated", "stack 1 1", "stack 2 1 2 3")


def calls(sampled):
    """Short calls all the time; a sample of the thread sees one of them in each of these rounds."""
    for i in range(ROUNDS):
        for k in range(80):
            begin = i * PERIOD + KERNEL + k * MS
            yield f"call 1 {begin} {begin + 900000} call clCreateBuffer"
        if i in sampled:
            yield f"sample 1 {i * PERIOD + 15 * MS + 1000} {STEP} stack=2"


with t.case("short calls have the stack that was seen last inside of such a call, cut at the call"):
    causes = verdict(*CALLS, *kernels(1), *calls(range(ROUNDS)))["causes"]
    t.equal((causes[0]["kind"], causes[0]["function"], causes[0]["line"]), ("allocation", "upload", 7), "the caller")
    unseen = sum(cause["ns"] for cause in causes if cause["kind"] == "allocation" and "function" not in cause)
    t.equal(unseen, 5 * 900000, "only the calls before the first sample have no place")

with t.case("no sample, no place"):
    first = verdict(*CALLS, *kernels(1), *calls(()))["causes"][0]
    t.equal((first["kind"], first.get("function")), ("allocation", None), "the caller is not known")

# ---- rows below a cause of the account ----------------------------------------------------------


def account_rows(*lines):
    """The rows below the causes, without their numbers: name and last column."""
    shown = run([DUET, "report", t.described("rows.duet", *lines)])
    t.true(shown.status in (0, 4), f"status {shown.status}: {text(shown.stderr)}")
    account = text(shown.stdout).split("\nDEVICES")[1].split("\n\n")[0]
    return re.findall(r"^        (\S.*?)  .*?%(?:  (.*))?$", account, re.MULTILINE)


def on_one_device(processes):
    """Each process launches a kernel in its part of each 100 ms, and computes before it."""
    yield "queue 2 1 process=2"
    part = PERIOD // len(processes)
    for i in range(ROUNDS):
        for number, (process, stack) in enumerate(processes):
            begin = i * PERIOD + number * part
            yield f"sample {process} {begin + part // 2} {STEP} stack={stack}"
            yield f"launch {i + 1} {process} {process} {begin + part - 2000} {begin + part - 1000} kernel name=k stack={stack}"
            yield f"execution {process} {i + 1} {process} {begin + part - 1000} {begin + part - 1000} " \
                  f"{begin + part - 1000} {begin + part}"


with t.case("rows name the late rank"):
    shown = account_rows(*job(2), *kernels(IN_APP), *samples(1, waits), *samples(2, late))
    t.true(("exchange (halo.py:70)", "for other ranks, 88.9 % of that time for rank 1 of 2 in refine (mesh.py:51)")
           in shown, shown)
    shown = account_rows(*job(3), *kernels(IN_APP), *samples(1, waits), *samples(2, late), *samples(3, late))
    t.true(("exchange (halo.py:70)", "for other ranks") in shown, shown)

with t.case("rows of a device that several processes use name the process"):
    for rank, names in ((True, ("rank 0 of 2", "rank 1 of 2", "several ranks")),
                        (False, ("process 101", "process 102", "several processes"))):
        two = [line if rank else line.split(" rank=")[0] for line in job(2)]
        used = [*two, "switch 2 0 preempted", "switch 2 1 in"]
        shown = account_rows(*used, *on_one_device(((1, IN_MESH), (2, IN_PACK))))
        t.true(("refine (mesh.py:51)", names[0]) in shown and ("pack (mesh.py:80)", names[1]) in shown, shown)
        shown = account_rows(*used, *on_one_device(((1, IN_MESH), (2, IN_MESH))))
        t.true(("refine (mesh.py:51)", names[2]) in shown, shown)

with t.case("rows of a device that one process uses do not"):
    shown = account_rows(*job(1), *on_one_device(((1, IN_MESH), (1, IN_PACK))))
    t.true(("refine (mesh.py:51)", "") in shown, shown)

with t.case("rows name the other device"):
    inside = [f"call 1 {i * PERIOD + KERNEL + MS} {i * PERIOD + 99 * MS} wait clFinish queue=2 stack={IN_MESH}" for i in range(ROUNDS)]
    shown = account_rows(*job(1), "device 2 other", "queue 2 2", *kernels(IN_APP), *inside)
    t.true(("clFinish", "for device 1 (other) in refine (mesh.py:51)") in shown, shown)

t.end()
