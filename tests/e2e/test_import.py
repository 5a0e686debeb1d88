#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import: recordings of other programs become traces on which every verb works. An export that is imported again
has the same counts and times. An invalid file is refused, with the place of the error.
"""
import collections
import glob
import gzip
import json
import os
import random
import re
import resource
import stat

import chrome_trace
import duet_test
from duet_test import DUET, ROOT, run, sums_of, text

t = duet_test.Suite(needs_opencl=False)

CASES = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "export", "*.txt")))


def written(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def imported(name, path, output="imported.duet"):
    """The path of the trace; every verb works on it."""
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "--format", name, "-o", out, path])
    t.equal(result.status, 0, f"duet import: {text(result.stderr)}")
    return out


def notes_of(path):
    """What duet info says of the import."""
    result = run([DUET, "info", "--json", path])
    t.equal(result.status, 0, text(result.stderr))
    rows = [row for row in json.loads(result.stdout)["collectors"] if row["name"] == "import"]
    t.equal(len(rows), 1, "a note of the import")
    return rows[0]["reason"]


def check_verbs(path):
    for verb in (["report"], ["report", "--json"], ["info"], ["flame", "-o", t.path("out.svg")],
                 ["view", "-o", t.path("out.html")],
                 ["export", "-f", "text"], ["export", "-f", "jsonl"],
                 ["export", "-f", "perfetto", "-o", t.path("out.pftrace")]):
        result = run([DUET, *verb, path])
        t.true(result.status == 0 or verb[0] == "report" and result.status == 4 or "not measured" in text(result.stderr),
               f"duet {' '.join(verb)}: {text(result.stderr)}")


def folded(path, view):
    result = run([DUET, "flame", "--view", view, "--folded", path])
    t.equal(result.status, 0, text(result.stderr))
    return text(result.stdout)


def described(case):
    with open(case, encoding="utf-8") as file:
        return t.described("described.duet", file.read())


def refused(name, content, *expected):
    """It fails, says why, and leaves nothing behind."""
    path = written("bad", content)
    out = t.path("refused.duet")
    result = run([DUET, "import", "--format", name, "-o", out, path])
    said = text(result.stderr)
    t.equal(result.status, 1, f"{name} {content[:60]!r}: {said}")
    for words in (path, *expected):
        t.true(words in said, f"'{words}' in: {said}")
    t.equal(glob.glob(glob.escape(out) + "*"), [], "left behind")


def faulty(name, data, *expected):
    """Is imported, and says what it leaves out; the trace."""
    path = written("faulty.in", data)
    out = t.path("faulty.duet")
    result = run([DUET, "import", "--format", name, "-o", out, path])
    t.equal(result.status, 0, f"{name}: {text(result.stderr)}")
    for part in expected:
        t.true(part in text(result.stderr), f"'{part}' in {result.stderr}")
    return out


# ---- folded --------------------------------------------------------------------------------------

FOLDED = """main;[truncated];deep 7
main;a 3
main;a;b 10
main;a;c_[k] 5
main;a;std::vector<int, std::allocator<int>>::f(char const*)_[i];made_[j] 9
main;hidden\\x3bsemicolon 4
main;l\\x5cn 2
main;not_\\x5bk] 6
train (train.py:12);[libm.so.6]+0x1234 11
"""

with t.case("folded: the same stacks and counts"):
    t.wanted()
    path = imported("folded", written("in.folded", FOLDED))
    t.same_text(folded(path, "cpu").encode(), FOLDED.encode(), "flame --folded")
    t.true("no times" in notes_of(path), notes_of(path))
    check_verbs(path)

with t.case("folded: counts of one stack are added, whatever order and lines between"):
    path = imported("folded", written("in.folded", "b;c 1\n\na 2\nb;c 40\r\na 2\nb 18446744073709551000"))
    t.equal(folded(path, "cpu"), "a 4\nb 18446744073709551000\nb;c 41\n", "stacks")

with t.case("the report of an import names the source of its numbers"):
    path = imported("folded", written("said.folded", "main;foo;bar 10\nmain;foo 5\n"))
    said = text(run([DUET, "report", path]).stdout)
    t.true("\nimported from folded '" in said and "no unit of the counts" in said, said)
    t.true("\n  total 15\n" in said, f"counts are no estimate: {said}")
    t.true("duet record" not in said, f"nothing here can be recorded: {said}")
    t.equal([row["estimate"] for row in t.report(path)["cpu"]], [False], "in JSON")
    event = {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100, "dur": 50}
    said = text(run([DUET, "report", imported("chrome", written("said.json", json.dumps([event])))]).stdout)
    t.true("1 process with calls, 0 devices" in said, said)
    t.true("OpenCL" not in said and "CLOCK_MONOTONIC" not in said, f"neither is in the file: {said}")

with t.case("folded: the output of flame --folded is imported unchanged"):
    for case in CASES:
        before = run([DUET, "flame", "--view", "cpu", "--folded", described(case)])
        if before.status or not before.stdout:
            continue  # nothing was sampled in it
        path = imported("folded", written("in.folded", before.stdout))
        t.equal(folded(path, "cpu"), text(before.stdout), os.path.basename(case))

with t.case("folded: many deep stacks, random bytes"):
    t.wanted()
    chance = random.Random(5)
    letters = [chr(code) for code in range(33, 0x250) if chr(code) not in ";\\" and not 0x7f <= code < 0xa1
               and code != 0xad]
    rows = collections.Counter()
    for _ in range(3000):
        frames = ["".join(chance.choices(letters, k=chance.randrange(1, 12))) + "x"
                  for _ in range(chance.randrange(1, 60))]
        rows[";".join(frames)] += chance.randrange(1, 1000)
    path = imported("folded", written("in.folded", "".join(f"{stack} {count}\n" for stack, count in
                                                           rows.items())))
    got = dict(line.rsplit(" ", 1) for line in folded(path, "cpu").splitlines())
    t.equal(got == {stack: str(count) for stack, count in rows.items()}, True, "the same")

def summed(lines):
    sums = collections.Counter()
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        sums[stack] += int(count)
    return "".join(f"{stack} {count}\n" for stack, count in sorted(sums.items(), key=lambda item: item[0].split(";")))


with t.case("folded: lines that begin like the previous one"):
    t.wanted()
    chance = random.Random(6)
    lines = ["a;b;c 1", "a;b;c;d 2", "a;b 4", "a;bc;d 8", "ab;c 16", "a;b;c 32", "a;b;cd 64", "a 128", "a;b;c;d;e 256",
             "a;b;c_[k];d 512", "a;b;c;d 1024", "aa;b;c;d 2048", "a;a;b;c;d 4096"]
    lines += [";".join(chance.choice("ab") * chance.randrange(1, 3) for _ in range(chance.randrange(1, 9))) + f" {i}"
              for i in range(1, 4000)]
    for order in (lines, sorted(lines), sorted(lines, key=lambda line: line[::-1])):
        path = imported("folded", written("in.folded", "\n".join(order)))
        t.equal(folded(path, "cpu") == summed(lines), True, "the same sums")
    lines = [";".join(f"f{(i * 31 + depth // 97) % 50}" for depth in range(depth)) + f" {i}"
             for depth in (63, 64, 65, 128, 511, 512, 513, 514, 1000) for i in range(1, 8)]
    for order in (lines, sorted(lines)):
        path = imported("folded", written("in.folded", "\n".join(order)))
        t.equal(folded(path, "cpu") == summed(lines), True, "the same sums of long lines")
    # a broken line shares the beginning of both neighbours
    path = faulty("folded", "a;b;c;d 1\na;b;;d 2\na;b;c;e 4\na;b;c; 8\na;b;c;d 16\na;b;c;f\na;b;c;f 32\n",
                  "left out line 2: expected a frame", "left out line 4: expected a frame", "left out line 6")
    t.equal(folded(path, "cpu"), "a;b;c;d 17\na;b;c;e 4\na;b;c;f 32\n", "sums")

with t.case("folded: more names than are kept for the next lines"):
    t.wanted()
    lines = [f"main;{'x' * 1000}{i % 12000:05};f{i % 7} {i}" for i in range(1, 30000)]
    path = imported("folded", written("in.folded", "\n".join(lines)))
    t.equal(folded(path, "cpu") == summed(lines), True, "the same sums")

with t.case("folded: device frames are noted, wherever they are"):
    path = imported("folded", written("in.folded", "a;b 1\na;-;k_[G] 2\na;b 3\n"))
    t.true("device activity is imported as frames" in notes_of(path), notes_of(path))
    path = imported("folded", written("in.folded", "a;b 1\na;-k;k_[G]x 2\na;b 3\n"))
    t.true("device activity" not in notes_of(path), notes_of(path))

with t.case("folded: invalid files"):
    refused("folded", "\nmain;b\n", "line 2", "frames, one blank and a count", "'main;b'")
    refused("folded", "main;a 1.5\n", "line 1", "a whole number", "'1.5'")
    refused("folded", "main;a -1\n", "line 1", "a whole number", "'-1'")
    refused("folded", "main;a 99999999999999999999\n", "line 1", "a whole number")
    refused("folded", "main;;a 1\n", "line 1", "a frame between two ';'")
    refused("folded", b"main;\0a 1\n", "line 1", "a byte of 0")
    refused("folded", b"x" * (17 << 20), "line 1", "longer than 16 MiB")
    refused("folded", gzip.compress(FOLDED.encode() * 1000)[:-40], "damaged or cut off")

# ---- perf script ---------------------------------------------------------------------------------

PERF = """# captured on: Sun Nov 22 2026
# cmdline : perf record -g
render  5621 [001]  3371.949109:     250000 cycles:u:
\t    55d0c0ffee10 do_work+0x1a (/usr/bin/render)
\t    55d0c0ffee05 inner (inlined)
\t    7f0000001234 [unknown] (/usr/lib/libc.so.6)
\t    55d0c0ffee00 main+0x5 (/usr/bin/render)

my prog 2  7/8  3371.949200123: 99 cycles:
\tffffffff8104f45a native_write_msr+0xa ([kernel.kallsyms])
\tffffffffc0001234 nf_hook ([nf_conntrack])
\t    7f0000005555 Method::run (int) const (/tmp/perf-7.map)
\t    7ffd00001000 [unknown] ([vdso])

swapper     0 [000]  3371.950001: cpu-clock:  ffffffff8104f45a default_idle+0xa ([kernel.kallsyms])
worker 5622/5622 [003] 3372.000000: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b
"""

with t.case("perf-script: samples, stacks, threads"):
    t.wanted()
    path = imported("perf-script", written("in.perf", PERF))
    t.same_text(folded(path, "cpu").encode(), (
        "[vdso];Method::run (int) const_[j];nf_hook_[k];native_write_msr_[k] 99\n"
        "main;[libc.so.6];inner_[i];do_work 250000\n").encode(), "stacks")
    rows = [json.loads(line) for line in
            text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()]
    samples = [row for row in rows if row["kind"] == "cpu_sample"]
    t.equal([row["weight"] for row in samples], [250000, 99, 1, 1], "periods")
    t.equal([row["mode"] for row in samples], ["user", "kernel", "kernel", "unknown"], "modes")
    t.equal([row["time"] for row in samples], [0, 91123, 892000, 50891000], "times")
    t.equal({(row["tid"], row["name"]) for row in rows if row["kind"] == "thread"},
            {(5621, "render"), (8, "my prog 2"), (0, "swapper"), (5622, "worker")}, "threads")
    t.equal({row["pid"] for row in rows if row["kind"] == "process"}, {5621, 7, 0, 5622}, "processes")
    t.true("1 sample without a stack; 2 samples without a period" in notes_of(path), notes_of(path))
    check_verbs(path)

with t.case("perf-script: duet's own comes back"):
    path = described(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"))
    before = folded(path, "cpu")
    out = t.path("own.perf")
    t.equal(run([DUET, "export", "-f", "perf-script", "--kind", "cpu_sample", "-o", out, path]).status, 0, "export")
    again = folded(imported("perf-script", out), "cpu")
    t.equal([line.rsplit(" ", 1)[1] for line in again.splitlines()],
            [line.rsplit(" ", 1)[1] for line in before.splitlines()], "weights of the stacks")

with t.case("perf-script: invalid files"):
    head = "render 1 [001] 1.000001: 5 cycles:\n"
    refused("perf-script", "nothing of the sort\n", "line 1", "COMM PID", "nothing of the sort")
    refused("perf-script", "\n\nrender 1 [001] 1.000001: 5 cycles\n", "line 3", "EVENT:")
    refused("perf-script", "render 1 [001] 1.000001: -5 cycles:\n", "line 1", "PERIOD")
    refused("perf-script", "render x 1.000001: 5 cycles:\n", "line 1", "COMM PID")
    refused("perf-script", head + "\tnot an address\n", "line 2", "'ADDRESS SYMBOL (FILE)'")
    refused("perf-script", head.encode() + b"\t00001234 a\0b (c)\n", "line 2", "a byte of 0")

# ---- Chrome JSON ---------------------------------------------------------------------------------

def round_trip(path):
    out = t.path("out.json")
    t.equal(run([DUET, "export", "-f", "chrome", "-o", out, path]).status, 0, "export")
    back = imported("chrome", out)
    document = t.report(back)
    before, after = sums_of(t.report(path)), sums_of(document)
    for key, row in before.items():
        t.equal(after[key], row, f"{key} of {path}")
    rejected = [one for one in chrome_trace.Trace(out).slices if "rejected" in one.categories]
    t.equal(document["ledger"]["rejected"], len(rejected), f"rejected commands of {path}")
    return back


for case in CASES:
    with t.case(f"chrome: {os.path.basename(case)[:-4]} comes back"):
        round_trip(described(case))

for shape, events in (("mixed", 20000), ("single", 10000), ("late", 10000), ("deep", 10000)):
    with t.case(f"chrome: a generated trace comes back, {shape}"):
        round_trip(t.generated(events, shape))

with t.case("chrome: stacks and samples come back"):
    path = described(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"))
    back = round_trip(path)
    plain = re.compile(r"_\[[kji]\]| \([^()]*:\d+\)")
    for view in ("cpu", "launch"):
        t.equal(sorted(plain.sub("", folded(back, view)).splitlines()),
                sorted(plain.sub("", folded(path, view)).splitlines()), view)
    check_verbs(back)

CAPTURED = """{"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemsetAsync", "pid": 4711, "tid": 4711, "ts": 10, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 20, "dur": 5, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "first", "pid": 0, "tid": 7, "ts": 30, "dur": 10, "args": {"stream": 7, "correlation": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamBeginCapture", "pid": 4711, "tid": 4711, "ts": 50, "dur": 1, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 52, "dur": 1, "args": {"correlation": 4}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 54, "dur": 1, "args": {"correlation": 5}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamEndCapture", "pid": 4711, "tid": 4711, "ts": 56, "dur": 1, "args": {"correlation": 6}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 70, "dur": 5, "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "second", "pid": 0, "tid": 7, "ts": 80, "dur": 20, "args": {"stream": 7, "correlation": 7}}%s
]}"""
LEFT_OPEN = """,
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 101, "dur": 5, "args": {"correlation": 8}}"""

with t.case("chrome: a launch without a command is not executed if its thread launched a command later, else in flight"):
    t.wanted()
    names = ("launched", "executed", "matched", "not_executed", "in_flight_at_exit", "dropped", "rejected")
    for tail, open_count in (("", 0), (LEFT_OPEN, 1)):
        path = imported("chrome", written("captured.json", CAPTURED % tail))
        document = t.report(path)
        t.equal([document["ledger"][name] for name in names], [3 + open_count, 2, 2, 1, open_count, 0, 0], "ledger")
        t.equal([row["name"] for row in document["devices"]], ["GPU 0"], "devices")
        t.equal(document["complete"], not open_count, "one is in flight")
        t.equal(sums_of(document)["calls"]["cudaLaunchKernel"][0], 4 + open_count, "calls")
        t.true("2 launches under a stream capture" in notes_of(path), notes_of(path))
        for view in ("total", "launch"):
            drawn = folded(path, view)
            t.equal("not measured" in drawn, False, f"{view}: what is not measured")
        t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded(path, "launch").splitlines()), 2 + open_count,
                "launches that are drawn")
        states = collections.Counter(line.split(",", 1)[0] for line in
                                     text(run([DUET, "export", "-f", "csv", path]).stdout).splitlines()[1:])
        t.equal(+states, +collections.Counter(matched=2, not_executed=1, in_flight=open_count), "csv: states")
        check_verbs(path)

def runtime_call(name, thread, begin_us, correlation, duration_us=1, **arguments):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": thread, "ts": begin_us, "dur": duration_us,
            "args": {"correlation": correlation, **arguments}}

def kernel(name, device, begin_us, correlation, duration_us):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": begin_us, "dur": duration_us,
            "args": {"stream": 7, "correlation": correlation, "device": device}}

with t.case("chrome: a captured launch whose correlation id is used again is a call, whatever the order of the file"):
    t.wanted()
    events = [runtime_call("cudaStreamBeginCapture", 2, 5, 100), runtime_call("cudaStreamEndCapture", 2, 30, 101),
              runtime_call("cudaStreamBeginCapture", 1, 10, 102), runtime_call("cudaLaunchKernel", 1, 20, 5),
              runtime_call("cudaLaunchKernel", 1, 25, 5), runtime_call("cudaStreamEndCapture", 1, 40, 103),
              runtime_call("cudaLaunchKernel", 1, 60, 6), runtime_call("cudaLaunchKernel", 1, 70, 6)]
    events += [runtime_call("cudaLaunchKernel", 3, 0, 9), kernel("one", 0, 3, 9, 1)]  # the file has commands
    for order in (events, events[::-1]):
        path = imported("chrome", written("reused.json", json.dumps({"traceEvents": order})))
        t.true("2 launches under a stream capture" in notes_of(path), notes_of(path))
        ledger = t.report(path)["ledger"]
        t.equal((ledger["launched"], ledger["in_flight_at_exit"]), (3, 2), "those after the capture")

with t.case("chrome: a capture that ends with an error has ended, one that begins with an error has not begun"):
    t.wanted()
    events = [runtime_call("cudaStreamBeginCapture", 1, 10, 1), runtime_call("cudaLaunchKernel", 1, 20, 2),
              runtime_call("cudaStreamEndCapture", 1, 40, 3, result=901), runtime_call("cudaLaunchKernel", 1, 60, 4),
              runtime_call("cudaStreamBeginCapture", 1, 70, 5, result=900), runtime_call("cudaLaunchKernel", 1, 80, 6),
              runtime_call("cudaLaunchKernel", 1, 90, 7), kernel("one", 0, 100, 7, 1)]
    path = imported("chrome", written("failed.json", json.dumps({"traceEvents": events})))
    t.true("1 launch under a stream capture" in notes_of(path), notes_of(path))
    t.equal(t.report(path)["ledger"]["launched"], 3, "those outside of a capture")

with t.case("chrome: a full command buffer is found in the launch around it, whatever the order of the file"):
    t.wanted()
    events = [runtime_call("cudaLaunchKernel", 1, 0, 1), kernel("a", 0, 5, 1, 10),
              {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 20, "dur": 70},
              runtime_call("cudaLaunchKernel", 1, 25, 2, 60), kernel("b", 1, 86, 2, 5),
              {"ph": "X", "cat": "overhead", "name": "Command Buffer Full", "pid": -1, "tid": 0, "ts": 30, "dur": 50},
              {"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": 90, "dur": 1},
              runtime_call("cudaLaunchKernel", 1, 100, 3), kernel("a", 0, 105, 3, 10)]
    other = runtime_call("cudaStreamSynchronize", 2, 10, 4)
    for order, processes in ((events, 1), (events[::-1], 1), ([*events, {**other, "pid": 2}], 2)):
        document = t.report(imported("chrome", written("full.json", json.dumps({"traceEvents": order}))), "--device", "0")
        t.equal(document["command_buffer_full"], {"launches": 1, "ns": 50000, "longest_ns": 50000, "estimated": False}, "its sum")
        t.equal(document["devices"][0]["idle_kinds"]["api_call"], {"command_buffer_full": 50000, "call": 10000}, "idle time of the other device")
        t.equal(document["devices"][0]["idle_causes"]["host"], 25000, "outside of calls, in aten::mm for a part of it")
        t.equal([row["count"] for row in document["ranges"]], [1, 1], f"the ranges of CUPTI: {document['ranges']}")
        t.equal(len(document["processes"]), processes, "no process of the profiler's own time")

with t.case("chrome: the profiler's own time is a cause if the file has its thread"):
    t.wanted()
    for pid, tid, ns, threadless_ns in ((1, 1, 34000, 0), (-1, 0, 0, 34000), (1, 0, 0, 34000)):
        events = [runtime_call("cudaLaunchKernel", 1, 0, 1), kernel("a", 0, 5, 1, 10), runtime_call("cudaMalloc", 1, 20, 2, 40),
                  runtime_call("cudaLaunchKernel", 1, 100, 3, 9), kernel("a", 0, 112, 3, 10),
                  *({"ph": "X", "cat": "overhead", "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": length}
                    for name, begin, length in (("Buffer Flush", 50, 20), ("Instrumentation", 80, 10), ("Activity Buffer Request", 103, 4),
                                                ("Lazy Function Loading", 30, 10)))]
        for order in (events, events[::-1]):
            document = t.report(imported("chrome", written("held.json", json.dumps({"traceEvents": order}))))
            got = document["devices"][0]["idle_causes"]
            t.equal(got["profiler_overhead"], ns, f"{pid} {tid}: the loading of a function is the driver's")
            # 45 us before the call, between the overheads and behind them
            t.equal((got["api_call"], got["host"], got["runtime"]), (30000, 25000, 5000 + 1000) if ns else (40000, 45000, 9000 + 1000), "the rest")
            t.equal(document["profiler_overhead"], {"count": 3 if ns else 0, "ns": ns, "threadless": 0 if ns else 3, "threadless_ns": threadless_ns},
                    "their sums")

with t.case("chrome: time in a stream capture is a cause of its own"):
    t.wanted()
    events = [runtime_call("cudaLaunchKernel", 1, 0, 1), kernel("a", 0, 5, 1, 10),
              {"ph": "X", "cat": "cpu_op", "name": "aten::forward", "pid": 1, "tid": 1, "ts": 20, "dur": 70},
              runtime_call("cudaStreamBeginCapture", 1, 30, 2), runtime_call("cudaLaunchKernel", 1, 40, 3),
              runtime_call("cudaStreamEndCapture", 1, 79, 4), runtime_call("cudaGraphInstantiate", 1, 92, 5, 6),
              runtime_call("cudaGraphLaunch", 1, 100, 6), kernel("a", 0, 105, 6, 10)]
    document = t.report(imported("chrome", written("graph.json", json.dumps({"traceEvents": events}))))
    kinds = document["devices"][0]["idle_kinds"]
    t.equal(kinds["api_call"], {"stream_capture": 9000}, "in calls: three of the capture, and 6 us")
    t.equal(kinds["host"], {"host_function": 29000, "stream_capture": 47000}, "in aten::forward, or in no function")
    t.true("captured a stream into a graph" in document["verdict"]["text"], document["verdict"]["text"])

TORCH = """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4711, "tid": 4711, "ts": 1000.5, "dur": 30.25,
 "args": {"External id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 1010, "dur": 5,
 "args": {"External id": 1, "cbid": 211, "correlation": 81}},
{"ph": "f", "id": 81, "pid": 0, "tid": 7, "ts": 1020, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "ampere_sgemm<float>", "pid": 0, "tid": 7, "ts": 1020.125, "dur": 8.5,
 "args": {"device": 0, "context": 1, "stream": 7, "correlation": 81, "grid": [16, 2, 1], "block": [128, 1, 1]}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 1040, "dur": 2,
 "args": {"device": 0, "stream": 7, "correlation": 82, "bytes": 4096}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 4711, "tid": 4711, "ts": 1035, "dur": 4,
 "args": {"correlation": 82}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 20, "ts": 1050, "dur": 1,
 "args": {"device": 0, "stream": 20, "correlation": 999, "bytes": 16}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 4711, "tid": 4711, "ts": 1060, "dur": 6,
 "args": {"correlation": 83}},
{"ph": "X", "cat": "kernel", "name": "node_a", "pid": 0, "tid": 7, "ts": 1070, "dur": 3, "args": {"stream": 7, "correlation": 83}},
{"ph": "X", "cat": "kernel", "name": "node_b", "pid": 0, "tid": 7, "ts": 1075, "dur": 4, "args": {"stream": 7, "correlation": 83}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711, "ts": 1090, "dur": 1,
 "args": {"correlation": 84}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 4711, "tid": 4711, "ts": 1095, "dur": 9,
 "args": {"correlation": 85}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "step", "pid": 0, "tid": 7, "ts": 1000, "dur": 90, "args": {}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 990, "dur": 200},
{"name": "process_name", "ph": "M", "ts": 0, "pid": 4711, "tid": 0, "args": {"name": "python3"}},
{"name": "process_name", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"name": "python3"}},
{"name": "process_labels", "ph": "M", "ts": 0, "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
{"name": "thread_name", "ph": "M", "ts": 0, "pid": 4711, "tid": 4711, "args": {"name": "main \\u2713"}},
{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1200}
], "traceName": "trace.json"}
"""

with t.case("chrome: a timeline of PyTorch"):
    t.wanted()
    path = imported("chrome", written("torch.json", TORCH))
    document = t.report(path)
    t.equal(sums_of(document)["kernels"], {"ampere_sgemm<float>": (1, 8500), "node_a": (1, 3000),
                                           "node_b": (1, 4000)}, "kernels")
    t.equal(sums_of(document)["copies"], {"write": (1, 2000), "fill": (1, 1000)}, "copies")
    t.equal({row["direction"]: row["bytes"] for row in document["copies"]}, {"write": 4096, "fill": 16}, "bytes")
    t.equal([row["name"] for row in document["devices"] if row["executions"]], ["NVIDIA H200"], "devices")
    calls = sums_of(document)["calls"]
    t.equal([(row["name"], row["count"], row["total_ns"]) for row in document["operators"]], [("aten::mm", 1, 30250)], "operators")
    t.equal({name: calls.get(name) for name in ("cudaLaunchKernel", "cudaMemcpyAsync",
                                                "cudaGraphLaunch", "cudaDeviceSynchronize")},
            {"cudaLaunchKernel": (2, 6000), "cudaMemcpyAsync": (1, 4000),
             "cudaGraphLaunch": (1, 6000), "cudaDeviceSynchronize": (1, 9000)}, "calls")
    t.equal({key: document["ledger"][key] for key in ("launched", "executed", "not_executed", "in_flight_at_exit")},
            {"launched": 6, "executed": 5, "not_executed": 0, "in_flight_at_exit": 1}, "nothing ran behind the last launch")
    t.equal(len([row for row in document["queues"] if row["zones"]["started_ended"]["sum"]]), 2, "streams")
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()]
    launch = [row for row in rows if row["kind"] == "launch" and row["function"] == "cudaLaunchKernel"][0]
    t.equal((launch["global"], launch["local"]), ([2048, 2, 1], [128, 1, 1]), "sizes")
    t.true("1 command without a call" in notes_of(path), notes_of(path))
    check_verbs(path)

with t.case("chrome: compressed, an array alone, an array without an end"):
    whole = t.report(imported("chrome", written("torch.json", TORCH)))
    events = json.loads(TORCH)["traceEvents"]
    for name, data in (("torch.json.gz", gzip.compress(TORCH.encode())),
                       ("array.json", json.dumps(events).encode()),
                       ("open.json", json.dumps(events).encode()[:-1]),
                       ("comma.json", json.dumps(events).encode()[:-1] + b",\n")):
        path = imported("chrome", written(name, data))
        t.equal(sums_of(t.report(path)), sums_of(whole), name)
        t.equal("may be cut off" in notes_of(path), name in ("open.json", "comma.json"), f"{name}: {notes_of(path)}")

with t.case("chrome: the order of events does not matter"):
    whole = t.report(imported("chrome", written("torch.json", TORCH)))
    events, chance = json.loads(TORCH)["traceEvents"], random.Random(9)
    for turn in range(12):
        chance.shuffle(events)
        document = t.report(imported("chrome", written("shuffled.json", json.dumps(events))))
        t.equal(sums_of(document), sums_of(whole), f"turn {turn}")
        t.equal(document["ledger"], whole["ledger"], f"turn {turn}")

with t.case("chrome: slices in halves"):
    rows = [("B", "outer", 10), ("B", "inner", 20), ("E", "", 30), ("E", "", 50), ("E", "", 60), ("B", "open", 70)]
    events = [{"ph": phase, "name": name, "pid": 1, "tid": 2, "ts": ts} for phase, name, ts in rows]
    events += [{"ph": "X", "name": "last", "pid": 1, "tid": 3, "ts": 100, "dur": 0}]
    path = imported("chrome", written("halves.json", json.dumps(events)))
    t.equal(sums_of(t.report(path))["calls"], {"outer": (1, 40000), "inner": (1, 10000), "open": (1, 30000),
                                               "last": (1, 0)}, "calls")
    t.true("2 slices without begin or end" in notes_of(path), notes_of(path))

with t.case("chrome: invalid files"):
    refused("chrome", "", "line 1, byte 1: expected a value, found the end of the file")
    refused("chrome", "<html>", "line 1, byte 1: expected a value, found '<'")
    refused("chrome", "{\"a\": 1}", "expected the key 'traceEvents'")
    refused("chrome", "{\"traceEvents\": {}}", "line 1, byte 17: expected an array, found an object")
    refused("chrome", "{\"traceEvents\": [\n1]}", "line 2, byte 19: expected an event")
    refused("chrome", TORCH[:900], "the end of the file")
    refused("chrome", "[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1}]", "line 1, byte 2: expected 'ts' and 'dur'")
    refused("chrome", "[{\"ph\":\"X\",\"ts\":1,\"dur\":-1}]", "a non-negative 'dur'")
    refused("chrome", "[{\"ph\":\"X\",\"ts\":\"soon\",\"dur\":1}]", "a time in microseconds as 'ts'", "found 'soon'")
    refused("chrome", "[{\"ph\":\"X\",\"ts\":1e15,\"dur\":1e19}]", "microseconds")
    for when in ("1e16", "-9223372036854775.807"):
        refused("chrome", "[{\"ph\":\"X\",\"ts\":%s,\"dur\":1}]" % when, "'ts', within 2e15 of 0", when)
        refused("chrome", "{\"traceEvents\":[],\"samples\":[{\"ts\":%s}]}" % when, "within 2e15 of 0")
    refused("chrome", "{\"a\":" + "[" * 300, "more than 256 brackets")

# ---- rocm-trace-lite -----------------------------------------------------------------------------

ROCM = """CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
  completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER,
  roctxId INTEGER DEFAULT 0);
CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER,
  apiName_id INTEGER, args_id INTEGER);
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
INSERT INTO rocpd_metadata(tag, value) VALUES('pid', '4711');
INSERT INTO rocpd_string VALUES(1, 'saxpy'), (2, 'KernelExecution'), (3, 'gemm<float>'), (4, 'UserMarker'),
  (5, 'hipDeviceSynchronize');
INSERT INTO rocpd_op VALUES(1, 0, 140001, 0, 'hwq=0x1 wg=64,2,1 grid=4096,2,1', 1000, 3000, 1, 2, 0),
  (2, 1, 140002, 0, '', 1500, 2500, 3, 2, 0), (3, -1, 0, 0, '', 900, 4000, 4, 4, 0),
  (4, 0, 140003, 0, '', 5000, 5500, 1, 2, 0);
INSERT INTO rocpd_api VALUES(1, 4711, 4712, 800, 6000, 5, 0);
"""


with open(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"), encoding="utf-8") as file:
    CPU_GPU = file.read()


def small():
    """1 s of processor time and 64 MiB of memory, no file larger than 1 MiB."""
    duet_test.default_signals()
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def rocm_refused(script, *expected):
    with open(t.database("bad.db", ROCM, script), "rb") as file:
        refused("rocm-trace-lite", file.read(), *expected)


with t.case("rocm-trace-lite: kernels, queues, calls"):
    t.wanted()
    path = imported("rocm-trace-lite", t.database("trace.db", ROCM))
    document = t.report(path)
    t.equal(sums_of(document)["kernels"], {"saxpy": (2, 2500), "gemm<float>": (1, 1000)}, "kernels")
    t.equal([row["name"] for row in document["devices"]], ["GPU 0", "GPU 1"], "devices")
    t.equal(len(document["queues"]), 3, "queues")
    t.equal(sums_of(document)["calls"].get("hipDeviceSynchronize"), (1, 5200), "calls")
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()]
    launch = [row for row in rows if row["kind"] == "launch"][0]
    t.equal((launch["global"], launch["local"]), ([4096, 2, 1], [64, 2, 1]), "sizes")
    t.equal([row["name"] for row in rows if row["kind"] == "range"], ["UserMarker"], "markers of roctx")
    t.true("no call for 3 of 3 commands" in notes_of(path), notes_of(path))
    check_verbs(path)

with t.case("rocm-trace-lite: a database that duet wrote"):
    here = t.described("here.duet", CPU_GPU)
    there = t.path("here.db")
    t.equal(run([DUET, "export", "-f", "sqlite", "-o", there, here]).status, 0, "export")
    with open(there, "rb") as file:
        refused("rocm-trace-lite", file.read(), "expected a plain table 'rocpd_op', found a view", "use the trace itself")

with t.case("rocm-trace-lite: nothing of the file is executed"):
    endless = """WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 0 AS gpuId, 0 AS queueId,
      0 AS sequenceId, '' AS completionSignal, x * 10 AS start, x * 10 + 5 AS end, 1 AS description_id, 2 AS opType_id FROM c"""
    columns = "gpuId, queueId, sequenceId, start, end, description_id, opType_id"
    for script, expected in (
            (f"DROP TABLE rocpd_op; CREATE VIEW rocpd_op AS {endless}", "'rocpd_op', found a view"),
            (f"DROP TABLE rocpd_api; CREATE VIEW rocpd_api AS {endless}", "'rocpd_api', found a view"),
            ("DROP TABLE rocpd_string; CREATE VIEW rocpd_string AS SELECT 1 AS id, hex(zeroblob(400000000)) AS string",
             "'rocpd_string', found a view"),
            (f"""CREATE TABLE old AS SELECT * FROM rocpd_op; DROP TABLE rocpd_op; CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY,
              {columns}, completionSignal TEXT AS (hex(zeroblob(400000))));
              INSERT INTO rocpd_op(id, {columns}) SELECT id, {columns} FROM old""", "'rocpd_op', found a view"),
            ("DROP TABLE rocpd_string; CREATE VIRTUAL TABLE rocpd_string USING rtree(id, low, high)", "found a view"),
            # a schema that lies about the type of its view
            (f"""PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE VIEW rocpd_op AS {endless.replace("'", "''")}'
              WHERE name = 'rocpd_op'""", ""),
            # each of 6,000 kernels searches its name among 6,000 strings: no key
            ("""DROP TABLE rocpd_string; CREATE TABLE rocpd_string(id INTEGER, string TEXT);
              INSERT INTO rocpd_string VALUES(2, 'KernelExecution');
              WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c WHERE x < 6000)
              INSERT INTO rocpd_string SELECT x, x FROM c;
              WITH RECURSIVE c(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM c WHERE x < 6000)
              INSERT INTO rocpd_op SELECT x, 0, 0, 0, '', 1000, 2000, x, 2, 0 FROM c""", "steps"),
            ("UPDATE rocpd_string SET string = hex(zeroblob(600000)) WHERE id = 3", "too big")):
        bad = t.database("hostile.db", ROCM, script)
        result = run([DUET, "import", "-f", "rocm-trace-lite", "-o", t.path("hostile.duet"), bad], preexec_fn=small)
        t.equal(result.status, 1, f"{script}: {text(result.stderr)}")
        t.true(text(result.stderr).startswith("duet import: ") and expected in text(result.stderr), result.stderr)
        t.true(not glob.glob(t.path("hostile.duet*")), "nothing is left")

with t.case("rocm-trace-lite: invalid files"):
    refused("rocm-trace-lite", "no database at all, but long enough to be a header of one" * 20, "not a database")
    with open(t.database("other.db", "CREATE TABLE t(a)"), "rb") as file:
        refused("rocm-trace-lite", file.read(), "expected the tables rocpd_op and rocpd_string", "no such table")
    only = "DELETE FROM rocpd_op WHERE id != 2; DELETE FROM rocpd_api; "
    rocm_refused(only + "UPDATE rocpd_op SET end = 10", "the file has no valid row", "table rocpd_op, row 2", "'1500' and '10'")
    rocm_refused(only + "UPDATE rocpd_op SET start = 'soon'", "table rocpd_op, row 2", "'soon'")
    rocm_refused(only + "UPDATE rocpd_op SET gpuId = 'none'", "table rocpd_op, row 2", "the number of a GPU", "'none'")
    none = "DELETE FROM rocpd_op; DELETE FROM rocpd_metadata; "
    rocm_refused(none + "UPDATE rocpd_api SET start = NULL", "table rocpd_api, row 1")
    rocm_refused(none + "UPDATE rocpd_api SET tid = NULL", "table rocpd_api, row 1", "the number of a thread")
    rocm_refused(none + "UPDATE rocpd_api SET pid = 1 << 40", "table rocpd_api, row 1", "the number of a process")
    rocm_refused("ALTER TABLE rocpd_op DROP COLUMN gpuId", "table rocpd_op", "gpuId")

with t.case("rocm-trace-lite: damaged databases"):
    with open(t.database("trace.db", ROCM), "rb") as file:
        whole = file.read()
    chance = random.Random(3)
    for turn in range(40):
        data = bytearray(whole[:chance.randrange(len(whole))] if turn % 4 == 0 else whole)
        for _ in range(chance.randrange(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        result = run([DUET, "import", "-f", "rocm-trace-lite", "-o", t.path("damaged.duet"),
                      written("damaged.db", bytes(data))])
        t.true(result.status == 0 or (result.status == 1 and result.stderr), f"turn {turn}: {result}")

with t.case("a broken line among others is left out, counted and shown"):
    t.wanted()
    path = faulty("folded", "main;a 1\nmain;b\nmain;c 3\n" + "x\n" * 30, "left out line 2: expected frames", "'main;b'",
                  "21 more lines left out")
    t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded(path, "cpu").splitlines()), 4, "weights")
    path = faulty("folded", b"a 1\n" + b"x" * (17 << 20) + b"\nb 2\n", "line 2", "longer than 16 MiB")
    t.equal(folded(path, "cpu").count("\n"), 2, "stacks")
    frame = "\t  1234 f (/bin/x)\n"
    good = "render 1 [001] 1.000001: 5 cycles:\n" + frame + "\n"
    path = faulty("perf-script", good + "what is this\n" + frame + frame + "\n" + good, "left out line 4: expected 'COMM PID")
    t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded(path, "cpu").splitlines()), 10, "weights")
    # a bad frame takes its sample with it, and not the next one
    path = faulty("perf-script", good + good.replace("1234", "qq") + good, "left out line 5: expected 'ADDRESS")
    t.equal(sum(int(line.rsplit(" ", 1)[1]) for line in folded(path, "cpu").splitlines()), 10, "weights")
    path = faulty("chrome", '[{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":2},{"ph":"X","name":"g","pid":1,"tid":1,"ts":1},'
                  '{"ph":"X","name":"h","pid":1,"tid":1,"ts":9,"dur":-1}]', "left out line 1, byte", "'ts' and 'dur'", "non-negative")
    t.equal(list(sums_of(t.report(path))["calls"]), ["f"], "calls")
    with open(t.database("one.db", ROCM, "UPDATE rocpd_op SET end = 10 WHERE id = 2"), "rb") as file:
        path = faulty("rocm-trace-lite", file.read(), "left out table rocpd_op, row 2", "'1500' and '10'")
    t.equal(sums_of(t.report(path))["kernels"], {"saxpy": (2, 2500)}, "kernels")

with t.case("perf-script: samples without a time"):
    t.wanted()
    path = faulty("perf-script", "java 19983 cycles: \n" + frame + "\njava 19983 250000 cycles:u: \n" + frame
                  + "\nmy prog 2  7/8 [003] 44 cs:\n" + frame)
    notes = notes_of(path)
    t.true("3 samples without a time, placed 1 ns after the previous one" in notes, notes)
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()]
    t.equal([row["weight"] for row in rows if row["kind"] == "cpu_sample"], [1, 250000, 44], "periods")
    t.equal({(row["tid"], row["name"]) for row in rows if row["kind"] == "thread"}, {(19983, "java"), (8, "my prog 2")}, "threads")

with t.case("chrome: JSON of another kind"):
    refused("chrome", '[{"id":1},{"name":"x","ts":3}]', "expected events with the key 'ph', found none in 2 objects")
    refused("chrome", '{"traceEvents":[{"id":1}]}', "found none in 1 object")
    refused("chrome", '{"schema":1,"nodes":[{"id":1}]}', "expected the key 'traceEvents'")

# ---- the command ---------------------------------------------------------------------------------

with t.case("wrong usage"):
    t.wanted()
    path = written("in.folded", "a 1\n")
    for arguments, expected in ((["-f", "nope", path], "formats are: auto, perf-script, rocprofv3-json"),
                                (["-f", "folded"], "name the FILE")):
        result = run([DUET, "import", "-o", t.path("usage.duet"), *arguments])
        t.equal(result.status, 2, f"{arguments}: status")
        t.true(expected in text(result.stderr), text(result.stderr))
    missing = run([DUET, "import", "-f", "folded", "-o", t.path("usage.duet"), t.path("no-such-file")])
    t.equal(missing.status, 1, "no such file")
    t.true("No such file" in text(missing.stderr), text(missing.stderr))
    itself = run([DUET, "import", "-f", "folded", "-o", path, path])
    t.equal(itself.status, 1, "its own output")
    with open(path, encoding="utf-8") as file:
        t.equal(file.read(), "a 1\n", "which is left as it was")

with t.case("a failed import leaves the trace that was there"):
    path = imported("folded", written("in.folded", "a 1\n"))
    with open(path, "rb") as file:
        before = file.read()
    result = run([DUET, "import", "-f", "folded", "-o", path, written("bad", "a\nb\n")])
    t.equal(result.status, 1, "status")
    with open(path, "rb") as file:
        t.equal(file.read() == before, True, "the trace")
    result = run([DUET, "import", "-f", "folded", "-o", t.path("no/such/folder.duet"), t.path("in.folded")])
    t.true(result.status == 1 and "No such file" in text(result.stderr), text(result.stderr))

def other_names(name):
    """[(what it is, path)] of traces that are written in their place: a rename would cut a link, or change the group."""
    for kind in ("second name", "link", "other group"):
        path = imported("folded", written("in.folded", "main;before 1\n"), f"{name}.{kind[:4].strip()}.duet")
        if kind == "second name":
            os.link(path, path + ".2")
        elif kind == "link":
            os.symlink(os.path.basename(path), path + ".2")
        elif os.geteuid() == 0:
            os.chown(path, -1, 65534)
        yield kind, path + ".2" if os.path.lexists(path + ".2") else path, path

with t.case("… also one that keeps its inode: with several names, behind a link, of another group"):
    t.wanted()
    for kind, output, path in other_names("kept"):
        with open(path, "rb") as file:
            before = file.read()
        about, names = os.stat(path), sorted(os.listdir(os.path.dirname(path)))
        result = run([DUET, "import", "-f", "folded", "-o", output, written("bad", "a\nb\n")])
        t.equal(result.status, 1, f"{kind}: status")
        with open(path, "rb") as file:
            t.true(file.read() == before, f"{kind}: the trace")
        good = written("in.folded", "main;after 2\n")
        t.equal(run([DUET, "import", "-f", "folded", "-o", output, good]).status, 0, f"{kind}: a good one")
        t.equal(folded(path, "cpu"), "main;after 2\n", f"{kind}: what is in it")
        after = os.stat(path)
        t.equal((after.st_ino, after.st_nlink, after.st_gid, stat.S_IMODE(after.st_mode)),
                (about.st_ino, about.st_nlink, about.st_gid, 0o600), f"{kind}: inode, names, group, mode")
        t.equal([name for name in os.listdir(os.path.dirname(path)) if name not in names and name != "bad"], [],
                f"{kind}: left beside it")

with t.case("an import through a link to nothing makes its file, or nothing"):
    t.wanted()
    link, target = t.path("to-nothing.duet"), t.path("nothing.duet")
    os.symlink("nothing.duet", link)
    result = run([DUET, "import", "-f", "folded", "-o", link, written("bad", "a\nb\n")])
    t.equal((result.status, os.path.exists(target), os.path.islink(link)), (1, False, True), "failed")
    result = run([DUET, "import", "-f", "folded", "-o", link, written("in.folded", "a 1\n")])
    t.equal((result.status, os.path.islink(link)), (0, True), text(result.stderr))
    t.equal(folded(target, "cpu"), "a 1\n", "what is in it")
    t.equal(glob.glob(glob.escape(target) + "?*"), [], "left beside it")

with t.case("an import writes over nothing but its output, and makes a file of nothing else"):
    # the name that its unfinished trace once had
    path = written("out.duet.part", "a 1\n")
    result = run([DUET, "import", "-f", "folded", "-o", t.path("out.duet"), path])
    t.equal(result.status, 0, text(result.stderr))
    with open(path, encoding="utf-8") as file:
        t.equal(file.read(), "a 1\n", "the input")
    pipe = t.path("pipe")
    os.mkfifo(pipe)
    result = run([DUET, "import", "-f", "folded", "-o", pipe, path])
    t.true(result.status == 1 and "not a regular file" in text(result.stderr), text(result.stderr))
    t.true(stat.S_ISFIFO(os.stat(pipe).st_mode), "the pipe is one still")
    t.equal(glob.glob(glob.escape(pipe) + "?*"), [], "left beside it")

t.end()
