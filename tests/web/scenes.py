# SPDX-License-Identifier: MIT
"""Runs that never were, for the tests of the viewer: columns of tracks, and what the viewer must make of them."""
import random

import numpy

from make_view import CAUSES, PATH

HOSTILE = ["</title></script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=2>",
           "\"' onload=\"window.hacked=3\" x='", "__proto__", "constructor", "a\nb\x1b[31m\u202egnp.exe",
           "javascript:window.hacked=4", "K" * 5000, "\u6f22\u5b57" * 40, "&lt;b&gt;", "@rest@", "", " "]
KERNELS = ["diffuse", "residual", "colourise", "gemm_f32_128x64"]
CALLS = ["clEnqueueNDRangeKernel", "clFinish", "clEnqueueReadBuffer", "clSetKernelArg"]
CONTEXT_NS = 30


class Texts:
    """Names, frames, stacks, paths as the head has them."""

    def __init__(self):
        self.names, self.frames, self.stacks, self.paths = [""], [], [0, 0], []

    def name(self, text):
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def stack(self, *functions):
        """functions: (name, file, line, class), the root first"""
        caller = 0
        for name, file, line, cls in functions:
            row = [self.name(name), self.name(file), line, cls]
            frame = next((i for i in range(0, len(self.frames), 4) if self.frames[i:i + 4] == row), None)
            if frame is None:
                frame = len(self.frames)
                self.frames += row
            self.stacks += [caller, frame // 4]
            caller = len(self.stacks) // 2 - 1
        return caller

    def path(self, cls, name, function, stack):
        self.paths += [0, cls, self.name(name), self.name(function), stack]
        return len(self.paths) // 5 - 1

    def head(self):
        own = [i for i, name in enumerate(self.frames[1::4]) if self.names[name] in ("heat.py", "/src/heat.c")]
        return {"names": self.names, "frames": self.frames, "own": own, "stacks": self.stacks, "paths": self.paths}


def columns(rows):
    rows = sorted(rows, key=lambda row: row[0])
    return [numpy.array(column, dtype=numpy.int64) for column in zip(*rows)] if rows else None


def stacks_of(texts):
    base = [("_start", "", 0, 0), ("main", "/src/heat.c", 88, 0)]
    python = base + [("<module>", "heat.py", 129, 4), ("simulate", "heat.py", 89, 4), ("step", "heat.py", 75, 4)]
    return [texts.stack(*base), texts.stack(*python),
            texts.stack(*python, ("clEnqueueNDRangeKernel", "libOpenCL.so.1", 0, 0)),
            texts.stack(*base, ("read_all", "/src/heat.c", 40, 0), ("copy_to_user", "[kernel]", 0, 1))]


def fold(spans):
    """Lanes so that none covers another; spans are (begin, end) in the order of begin."""
    ends, lanes = [], []
    for begin, end in spans:
        lane = next((i for i, last in enumerate(ends) if last <= begin), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = max(end, begin + 1)
        lanes.append(lane)
    return lanes


def shares(commands, begin, end):
    """Busy pieces of a device: each elementary interval divided one behind the other."""
    moments = sorted([(c["started"], 1, i) for i, c in enumerate(commands)] +
                     [(c["ended"], 0, i) for i, c in enumerate(commands)])
    pieces, running, last = [], set(), begin
    for moment, is_start, index in moments:
        length = min(moment, end) - last
        for rank, number in enumerate(sorted(running)):
            share = length // len(running) + (rank < length % len(running))
            if share > 0:
                pieces.append((last, share, commands[number]))
                last += share
        last = max(last, min(moment, end))
        (running.add if is_start else running.discard)(index)
    return pieces


def device_rows(commands, wall_ns):
    """The state of a device, every nanosecond once."""
    rows, last = [], 0
    for low, length, command in shares(commands, 0, wall_ns):
        if low > last:
            rows += gap_rows(last, low, command, last == 0)
        rows.append((low, length, 0, command["path"] + PATH, 0, command["link"] + 1, 0))
        last = low + length
    if last < wall_ns:
        rows.append((last, wall_ns - last, 0, CAUSES.index("nothing_to_do"), 0, 0, 0))
    return rows


def gap_rows(low, high, command, is_first):
    cuts = [low]
    for moment in (command["enter"], command["exit"], command["submitted"], high):
        cuts.append(min(max(moment, cuts[-1]), high))
    thread = "on_cpu" if low // 1000 % 3 == 0 else "blocked"
    causes = ["nothing_to_do" if is_first else thread, "runtime", "submission", "latency"]
    rows = []
    for cause, begin, end in zip(causes, cuts, cuts[1:]):
        if end > begin:
            owner = 0 if cause == "nothing_to_do" else command["path"] + 1
            rows.append((begin, end - begin, 0, CAUSES.index(cause), owner, 0, 0))
    return rows


def run_commands(rng, paths, count, wall_ns, queues):
    """Commands of two queues, the second one out of step with the first."""
    commands, now, free = [], wall_ns // 20, [0] * queues
    for link in range(count):
        enter = now
        call_exit = enter + rng.randrange(1500, 4000)
        queued = enter + 700
        queue = link % queues
        submitted = queued + rng.randrange(1000, 30000)
        started = max(submitted + rng.randrange(500, 5000), free[queue])
        ended = started + rng.randrange(2000, 60000)
        free[queue] = ended
        commands.append({"link": link, "enter": enter, "exit": call_exit, "queued": queued, "queue": queue,
                         "submitted": submitted, "started": started, "ended": ended,
                         "path": rng.choice(paths)})
        now = call_exit + rng.randrange(500, 40000)
    return [c for c in commands if c["ended"] < wall_ns]


def call_rows(rng, texts, commands, stacks, wall_ns):
    rows, launch = [], texts.name(CALLS[0])
    finish, argument = texts.name(CALLS[1]), texts.name(CALLS[3])
    for command in commands:
        begin, end = command["enter"], command["exit"]
        rows.append((begin, end - begin, 0, launch, stacks[2], command["link"] + 1, 0, 0))
        rows.append((begin + 100, (end - begin) // 3, 1, argument, stacks[1], 0, 0, 4096))
        if command["link"] % 10 == 9:
            rows.append((end + 10, 400, 0, finish, stacks[1], 0, {49: -5, 19: 600}.get(command["link"] % 50, 0), 2))
    return rows


def command_columns(commands, texts):
    order = sorted(commands, key=lambda c: c["started"])
    lanes = fold([(c["started"], c["ended"]) for c in order])
    queue = [(c["started"], c["ended"] - c["started"], lane, c["path"], 0, c["link"] + 1, 4096 * (lane + 1))
             for c, lane in zip(order, lanes)]
    order = sorted(commands, key=lambda c: c["queued"])
    waits = fold([(c["queued"], c["started"]) for c in order])
    waiting = [(c["queued"], c["submitted"] - c["queued"], lane, c["started"] - c["submitted"], c["path"],
                c["link"] + 1, 0) for c, lane in zip(order, waits)]
    return queue, waiting, max(lanes, default=0) + 1, max(waits, default=0) + 1


def scene(seed=1, count=400, wall_ns=20_000_000, queues=2, threads=3, names=None):
    """A run with everything in it: head, tracks, and the commands for those who compare."""
    rng, texts = random.Random(seed), Texts()
    names = names or KERNELS
    stacks = stacks_of(texts)
    paths = [texts.path(0, name, CALLS[0], stacks[2 if i % 2 else 1]) for i, name in enumerate(names)]
    paths.append(texts.path(1, "read", CALLS[2], stacks[3]))
    commands = run_commands(rng, paths, count, wall_ns, queues)
    tracks = []

    def track(kind, name, parent=None, rows=None, **more):
        made = {"kind": kind, "name": name, "lanes": 1, "columns": columns(rows or []), **more}
        if parent is not None:
            made["parent"] = parent
        tracks.append(made)
        return len(tracks) - 1

    process = track("process", "python3 4242", detail="python3 heat.py --size 256")
    for number in range(threads):
        thread = track("thread", "main 4242" if number == 0 else f"worker {4242 + number}", process)
        if number == 0:
            marks = [(wall_ns // 10, wall_ns // 2, 0, texts.name("epoch 1"), 0, 0, 0),
                     (wall_ns // 5, wall_ns // 8, 1, texts.name("load"), 0, 0, 0)]
            track("ranges", "ranges", thread, marks, lanes=2)
            track("calls", "API calls", thread, call_rows(rng, texts, commands, stacks, wall_ns), lanes=2)
        asleep = [(t, rng.randrange(1000, wall_ns // 60), 0, texts.name(rng.choice(["futex", "Python GIL", "read"])),
                   stacks[3], 0, 0) for t in range(wall_ns // 50, wall_ns, wall_ns // 40)]
        track("off", "off the processor", thread, asleep)
        track("samples", "CPU samples", thread,
              [(t, 100_000, rng.choice(stacks), rng.randrange(2)) for t in range(5000 * number, wall_ns, 100_000)])
    parallel = [(t, rng.randrange(0, 2000)) for t in range(0, wall_ns, wall_ns // 500)]
    track("metric", "processors in use", process, parallel, unit="processors", max=2)
    device = track("device", "Accelerator 0", rows=device_rows(commands, wall_ns), detail="00000000:01:00.0")
    flight = sorted([(c["enter"], 1) for c in commands] + [(c["ended"], -1) for c in commands])
    depth, steps = 0, []
    for moment, change in flight:
        depth += change
        steps.append((moment, depth * 1000))
    track("metric", "commands in flight", device, steps, unit="commands")
    track("clock", "clock", device, [(0, CONTEXT_NS * 1000), (wall_ns // 2, 2000 * 1000)], unit="ns")
    rows, _, lanes, _ = command_columns(commands, texts)
    context = track("context", "context 1", device, rows, lanes=lanes)
    for number in range(queues):
        own = [c for c in commands if c["queue"] == number]
        rows, waits, lanes, wait_lanes = command_columns(own, texts)
        queue = track("queue", f"queue {number + 1}", context, rows, lanes=lanes)
        track("waiting", "waiting", queue, waits, lanes=wait_lanes)
        if number == 0:
            track("rejected", "rejected", queue, [(wall_ns // 3, wall_ns // 50, 0, texts.name("settle"), stacks[2], 0, -5)])
    track("constellation", "a kind nobody knows", device, [(5, 5, 0, 1, 0, 0, 0)])
    head = {"title": "python3 heat.py --size 256", "wall_ns": wall_ns, "report": report(tracks, commands, texts, wall_ns),
            "begin_realtime_ns": "1795256484079070108", **texts.head()}
    return head, tracks, commands


def counters(count=9000, parts=6):
    """A level, an amount and a ratio of the machine, and a level of many parts; a gap in the middle; a process that has some."""
    rng, tracks = random.Random(5), []

    def track(kind, name, parent=None, **more):
        tracks.append({"kind": kind, "name": name, "columns": None, "lanes": 1, **more})
        if parent is not None:
            tracks[-1]["parent"] = parent
        return len(tracks) - 1

    def rows(of):
        at, made = 0, []
        for number in range(count):
            length = 1_000_000 + rng.randrange(200_000)
            if not 4000 <= number < 4500:
                made.append((at, length, rng.randrange(-50, 1000), rng.randrange(1000, 2000) if of else 0))
            at += length
        return columns(made)

    process = track("process", "python3 4242", pid=4242)
    own = track("metrics", "metrics", process)
    track("counter", "process.memory", own, type="level", unit="bytes", factor=1, max=1000, columns=rows(False))
    system = track("metrics", "system")
    track("counter", "queue.depth", system, type="level", unit="", factor=1, columns=rows(False))
    track("counter", "disk.read sda", system, type="amount", unit="MB/s", factor=1e-6, columns=rows(False))
    track("counter", "cpu.busy", system, type="ratio", unit="%", factor=100, max=100, interval_ns=1_000_000, columns=rows(True))
    group = track("metrics", "temperature", system, detail=f"{parts} parts")
    for number in range(parts):
        track("counter", f"temperature zone {number}", group, type="level", unit="C", factor=1, columns=rows(False))
    wall_ns = max(int((t["columns"][0] + t["columns"][1]).max()) for t in tracks if t["columns"]) + 5
    for made in tracks:
        if made.get("type") in ("amount", "ratio"):
            made["only_items"] = True
    return {"title": "counters", "wall_ns": wall_ns, **Texts().head()}, tracks


def verdict(busy, wall_ns):
    """Causes that the timeline has, and one that it does not have."""
    def cause(share, text, **more):
        return {"ns": int(share * wall_ns), "text": text, "share": share, **more}
    causes = [cause(0.3, "the main thread waited for a file, read, in read_all (heat.c:40)", kind="file_read", cause="blocked",
                    function="read_all", file="/src/heat.c", line=40, what="read"),
              cause(0.2, "the main thread computed in step (heat.py:75)", kind="computing", cause="on_cpu", thread="main",
                    function="step", file="heat.py", line=75),
              cause(0.1, "commands from step (heat.py:75) had been launched but not started", kind="launched_not_started",
                    cause="latency", function="step", file="heat.py", line=75),
              cause(0.05, "the main thread was in clFinish called from step (heat.py:75)", kind="call", cause="api_call",
                    function="step", file="heat.py", line=75, what="clFinish"),
              cause(0.005, "the main thread slept in nap (heat.py:9)", kind="sleep", cause="blocked", function="nap", file="heat.py")]
    sentences = ["The GPU was busy 12.3 % of the steady part.", "Largest cause of idle: " + causes[0]["text"] + ", 30.0 %.",
                 "Next: " + causes[1]["text"] + ", 20.0 %."]
    return {"text": " ".join(sentences), "sentences": sentences, "certain": True, "device": "00000000:01:00.0",
            "steady": {"begin_ns": 0, "end_ns": wall_ns, "wall_ns": wall_ns, "busy_ns": busy, "idle_ns": wall_ns - busy},
            "causes": causes}


def report(tracks, commands, texts, wall_ns):
    state = next(t for t in tracks if t["kind"] == "device")
    begin, length, _, what = state["columns"][:4]
    busy = int(length[what >= PATH].sum())
    causes = {name: int(length[what == i].sum()) for i, name in enumerate(CAUSES)}
    return {
        "schema": "duet.report/1", "complete": True, "exact": True, "command": "python3 heat.py --size 256",
        "recorded_at": "2026-11-22 02:20:09 +0000", "wall_ns": wall_ns, "start_ns": 0,
        "processes": [{"pid": 4242, "name": "python3", "command": "python3 heat.py", "launches": len(commands)}],
        "devices": [{"index": 0, "key": "00000000:01:00.0", "name": "Accelerator 0", "wall_ns": wall_ns,
                     "busy_ns": busy, "idle_ns": wall_ns - busy, "kernels_ns": busy, "copies_ns": 0, "other_ns": 0,
                     "idle_causes": causes}],
        "verdict": verdict(busy, wall_ns), "kernels": [], "copies": [],
        "api": [{"name": name, "launches": name == CALLS[0], "waits": name == CALLS[1]} for name in CALLS],
        "findings": [
            {"id": "tiny_kernels", "severity": "warning", "text": "most kernels are shorter than their launch; fuse them",
             "evidence": {"device": "00000000:01:00.0", "kernel": "residual", "count": 100}},
            {"id": "failed_launches", "severity": "warning", "text": "clFinish failed: CL_OUT_OF_RESOURCES (-5)",
             "evidence": {"name": "clFinish", "count": 1, "result": -5, "error": "CL_OUT_OF_RESOURCES"}},
            {"id": "failed_commands", "severity": "warning", "text": "settle failed 1 time on its device: CL_OUT_OF_RESOURCES (-5)",
             "evidence": {"name": "settle", "count": 1, "result": -5, "error": "CL_OUT_OF_RESOURCES"}},
            {"id": "blocked_host", "severity": "info", "text": "the launching thread was blocked; overlap it",
             "evidence": {"device": "00000000:01:00.0", "blocked_ns": 5, "function": "read_all",
                          "frames": [{"function": f"level{i}", "file": "/src/heat.c", "line": i} for i in range(9)],
                          "launches": [{"name": "diffuse", "count": 3}]}}],
        "clocks": [{"domain": "Accelerator 0", "method": "pairs", "error_ns": CONTEXT_NS, "drift_ppb": 3, "violations": 0}],
        "ledger": {"launched": len(commands), "matched": len(commands), "dropped": 0, "rejected": 0, "not_executed": 0,
                   "in_flight_at_exit": 0}, "losses": [], "metrics": [], "ranges": []}


def empty():
    return {"title": "true", "wall_ns": 1_000_000, "names": [""], "frames": [], "stacks": [0, 0], "paths": []}, []


def deep(depth=300, wall_ns=50_000_000):
    """A queue that holds hundreds of commands at once, and overlapping ones."""
    head, tracks, _ = scene(seed=3, wall_ns=wall_ns, threads=1)
    rows = [(1000 + i * 40_000, 20_000 * (depth // 4), 0, i % 3, 0, i + 1, 64) for i in range(depth * 3)]
    lanes = fold([(r[0], r[0] + r[1]) for r in rows])
    rows = [(*r[:2], lane, *r[3:]) for r, lane in zip(rows, lanes)]
    queue = next(t for t in tracks if t["kind"] == "queue")
    queue.update(columns=columns(rows), lanes=max(lanes) + 1)
    waits = [(i * 9000, 4000, 0, 9000 * depth, i % 3, i + 1, 0) for i in range(depth * 3)]
    lanes = fold([(r[0], r[0] + r[1] + r[3]) for r in waits])
    waits = [(*r[:2], lane, *r[3:]) for r, lane in zip(waits, lanes)]
    waiting = next(t for t in tracks if t["kind"] == "waiting")
    waiting.update(columns=columns(waits), lanes=max(lanes) + 1)
    return head, tracks


def large(count=2_000_000, threads=4):
    """threads * 2 + 2 tracks of `count` events each, dense and even: 10^7 with the defaults and its samples."""
    rng, texts = numpy.random.default_rng(7), Texts()
    stacks = stacks_of(texts)
    paths = [texts.path(0, name, CALLS[0], stacks[1]) for name in KERNELS]
    calls = [texts.name(name) for name in CALLS]
    period = 10_000
    wall_ns = count * period
    ticks = numpy.arange(count, dtype=numpy.int64) * period
    zero = numpy.zeros(count, dtype=numpy.int64)
    tracks = [{"kind": "process", "name": "server 77", "lanes": 1}]
    for number in range(threads):
        tracks.append({"kind": "thread", "name": f"worker {number}", "lanes": 1, "parent": 0})
        parent = len(tracks) - 1
        what = numpy.array(calls)[rng.integers(0, len(calls), count)]
        begin = ticks + rng.integers(0, 3000, count)
        tracks.append({"kind": "calls", "name": "API calls", "lanes": 1, "parent": parent, "columns": [
            begin, rng.integers(200, 6000, count), zero, what, zero + stacks[2], zero, zero, zero]})
        tracks.append({"kind": "samples", "name": "CPU samples", "lanes": 1, "parent": parent, "columns": [
            ticks[::100], zero[::100] + period * 100, numpy.array(stacks)[rng.integers(0, 4, len(ticks[::100]))],
            zero[::100]]})
    tracks.append({"kind": "device", "name": "Accelerator 0", "lanes": 1})
    device = len(tracks) - 1
    busy = rng.integers(2000, 9000, count)
    path = rng.integers(0, len(paths), count)
    state = [numpy.stack([ticks, ticks + busy], 1).ravel(), numpy.stack([busy, period - busy], 1).ravel()]
    both = numpy.zeros(2 * count, dtype=numpy.int64)
    what = numpy.stack([path + PATH, zero + 1], 1).ravel()
    owner = numpy.stack([zero, path + 1], 1).ravel()
    tracks[device]["columns"] = [*state, both, what, owner, both, both]
    tracks.append({"kind": "queue", "name": "queue 1", "lanes": 1, "parent": device, "columns": [
        ticks, busy, zero, path, zero, numpy.arange(1, count + 1), zero + 64]})
    head = {"title": "server --forever", "wall_ns": wall_ns, **texts.head()}
    return head, tracks
