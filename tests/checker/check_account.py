#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recomputes ledger, busy and idle of a trace by brute force and compares with duet report.

    tests/checker/check_account.py [--duet DUET] [--from NS --to NS] TRACE ...

Reads the rows that `duet export --format jsonl` writes, knows nothing of how the report is made, and
takes the other road: where the report sweeps, this looks at every elementary interval between two
moments and asks every command and every call whether it was there. O(n^2), so for thousands of rows.
Exit status 1 on any difference.
"""
import argparse
import collections
import functools
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_processors  # noqa: E402

KERNELS = {"kernel"}
COPIES = {"read", "write", "copy", "fill", "map", "unmap", "migrate"}
CAUSES = ("api_wait", "api_call", "on_cpu", "preempted", "blocked", "host", "duet_itself", "profiler_overhead", "runtime", "submission",
          "dependency", "latency",
          "nothing_to_do", "unknown")
# Samples of anything else, page faults, say nothing of where the time went.
TIME_SOURCES = {"cpu-clock", "task-clock", "thread-state", "cycles", "ref-cycles"}
BLOCKING = 1
CPU = 1
HOST_CLOCKS = ("MONOTONIC", "MONOTONIC_RAW", "BOOTTIME", "REALTIME", "TSC")
API_WAIT, API_DUET, API_SIGNAL = 1, 2, 3
API_FUNCTIONS = 4, 5  # operators and functions: no calls of a runtime
OUT_OF_ORDER = 1
PART, UNTIMED = 8, 2
KERNEL_CODE = 5
TICK_NS = 10 ** 7
LATE_NS, LAUNCHED_BEFORE_NS, LAUNCHES_KEPT = 30 * 10 ** 9, 10 ** 9, 64
DIRECT = 8
ABSENT_CALL = "(not in the file)"
WAKERS_MOST = 4


class Trace:
    """The rows of an export, and what can be said of a command by looking at all of them."""

    def __init__(self, lines, damage):
        self.damage = damage
        # the same is asked again and again
        self.calls_of, self.going = functools.cache(self.calls_of), functools.cache(self.going)
        self.things = {}
        self.api, self.launches, self.executions, self.waits, self.losses = [], [], [], [], []
        self.samples, self.switches, self.instructions, self.ranges = [], [], [], []
        lists = {"api": self.api, "launch": self.launches, "execution": self.executions,
                 "dependency": self.waits, "loss": self.losses, "cpu_sample": self.samples,
                 "switch": self.switches, "instruction_sample": self.instructions, "range": self.ranges,
                 "counter": []}
        for line in lines:
            row = json.loads(line)
            if row["kind"] in lists:
                lists[row["kind"]].append(row)
            else:
                self.things.setdefault(row["kind"], {})[row["id"]] = row
        for row in self.launches:
            thread = self.things.get("thread", {}).get(row["thread"])
            row["process"] = thread["process"] if thread else 0
        # a part of a batch is no command, but somebody launched its kernel
        self.all_launches = [row for row in self.launches if row["result"] == 0]
        parts = [row for row in self.launches if row["flags"] & PART and row["result"] == 0]
        self.launches = [row for row in self.launches if not row["flags"] & PART]
        batches = {(row["thread"], row["enter"]): row for row in self.launches
                   if row["command"] == "batch" and row["result"] == 0}
        for row in parts:
            batch = batches.get((row["thread"], row["enter"]))
            # a part has the times of its batch
            row["flags"] |= UNTIMED
            if batch:
                batch.setdefault("parts", []).append(row)
                row["flags"] &= ~UNTIMED | batch["flags"]
        self.join()
        self.certain = self.is_certain()

    def join(self):
        """In the order of time an execution takes the launch that worked with its identity, and one that comes before
        its launch waits for it. A launch whose identity is used again before that has none: `over` is when."""
        moments = [(row["enter"], 0, row["exit"], i) for i, row in enumerate(self.launches)]
        moments += [(execution_key(row), 1, 0, i) for i, row in enumerate(self.executions)]
        open_launches, early = {}, {}
        for row in self.executions:
            row["launch"] = None
        for row in self.launches:
            row["execution"] = row["over"] = None
        for time, is_execution, _, index in sorted(moments):
            row = (self.executions if is_execution else self.launches)[index]
            key = row["process"], row["correlation"]
            if is_execution and key not in open_launches:
                early[key] = row
                continue
            if not is_execution:
                if row["result"] or not row["correlation"]:
                    continue
                if key in open_launches:
                    open_launches[key]["over"] = time
                open_launches[key] = row
                row = early.pop(key, None)
            if row:
                row["launch"] = open_launches.pop(key)
                row["launch"]["execution"] = row
                row["is_early"] = not is_execution

    def ends_early(self):
        """What came last may have been lost with the end of the file."""
        return self.damage["truncated"] or any(row["reason"] == "disk" for row in self.losses)

    def knows_calls(self):
        """Whether every call is in the trace, as far as anybody can know."""
        whole = not any(self.damage[key] for key in ("chunks", "bytes", "truncated"))
        return whole and not any(row["reason"] in ("disk", "ring_broken") or
                                 row["lost"] == "unknown" or
                                 row["lost"] in ("api", "launch")
                                 for row in self.losses)

    def window(self):
        hosts = self.things.get("host", {}).values()
        if hosts:
            ends = [host.get("end_ns") for host in hosts]
            begin = min(host["begin_ns"] for host in hosts)
            if None not in ends:
                return begin, max(ends)
            return begin, self.last()
        return self.first(), self.last()

    def first(self):
        moments = [row["begin"] for row in self.api] + [row["enter"] for row in self.launches]
        moments += [row.get("started", row["seen"]) for row in self.executions]
        moments += [row["time"] for row in self.waits + self.samples + self.switches]
        moments += [row["begin"] for row in self.instructions + self.ranges]
        return min(moments, default=0)

    def last(self):
        moments = [row["end"] for row in self.api] + [row["exit"] for row in self.launches]
        for row in self.executions:
            moments.append(row["seen"])
            if is_timed(row):
                moments.append(row["ended"])
        moments += [row["time"] for row in self.waits + self.samples + self.switches]
        moments += [row["begin"] for row in self.instructions] + [row["end"] for row in self.ranges]
        return max(moments, default=0)

    def device_of(self, execution):
        queue = execution["queue"]
        queues = self.things.get("queue", {})
        if queue not in queues and execution["launch"]:
            queue = execution["launch"]["queue"]
        return queues[queue]["device"] if queue in queues else 0

    def cpu_device_of(self, process):
        """The only CPU device that a process has queues of; else None."""
        devices = {queue["device"] for queue in self.things.get("queue", {}).values() if queue["process"] == process
                   and self.things["device"].get(queue["device"], {}).get("type") == CPU}
        return devices.pop() if len(devices) == 1 else None

    def launches_on(self, device):
        """Launches that worked; on device 0 those whose queue is not described."""
        queues = self.things.get("queue", {})
        known = self.things.get("device", {})
        found = []
        for row in self.launches:
            queue = queues.get(row["queue"])
            place = queue["device"] if queue and queue["device"] in known else 0
            if row["result"] == 0 and place == device:
                found.append(row)
        return found

    def is_certain(self):
        """Whether every execution row is in the trace, as far as its losses and its damage show."""
        whole = not any(self.damage[key] for key in ("chunks", "bytes", "truncated"))
        return whole and not any(row["reason"] in ("disk", "ring_broken") or
                                 row["lost"] in ("unknown", "execution") or
                                 row["lost"] == "launch" and "count" not in row
                                 for row in self.losses)

    def is_passed(self, row):
        """Whether the queue of a launch without an execution was past it: a later command of that queue ran, if the queue
        is not in order behind a call that waited for all of it. Of a queue that is not described this is never known."""
        queue = self.things.get("queue", {}).get(row["queue"])
        if not queue or row["result"] or not row["correlation"] or row["execution"] or row["over"]:
            return False
        later = [other["launch"]["enter"] for other in self.executions
                 if known_launch(other) and is_in_account(other) and other["launch"]["queue"] == row["queue"]]
        if queue["flags"] & OUT_OF_ORDER:
            later = [call["begin"] for call in self.api if call["type"] == API_WAIT and
                     call["argument"] == row["queue"] and call["result"] == 0 and
                     any(call["begin"] <= moment for moment in later)]
        return any(row["enter"] < moment and row["exit"] <= moment for moment in later)

    def is_not_executed(self, row):
        return self.certain and self.is_passed(row)

    def dark(self, device):
        """When commands without times were in flight: (begin, end), end None: nobody knows. What is not executed may
        have run without a record, unless it is a copy."""
        queues = self.things.get("queue", {})
        found = []
        for row in self.launches_on(device):
            execution = row["execution"]
            if execution and is_in_account(execution):
                continue
            if row["command"] in COPIES and self.is_not_executed(row):
                continue
            end = execution["seen"] if execution else None
            queue = queues.get(row["queue"])
            if not execution and queue:
                over = [call["end"] for call in self.api
                        if call["type"] == API_WAIT and call["argument"] == row["queue"]
                        and call["result"] == 0 and call["begin"] >= row["exit"] and call["begin"] > row["enter"]]
                if not queue["flags"] & OUT_OF_ORDER:
                    over += [other["started"] for other in self.executions
                             if known_launch(other) and other["launch"]["queue"] == row["queue"]
                             and other["launch"]["enter"] > row["enter"] and is_in_account(other)]
                end = min(over + ([row["over"]] if row["over"] else []), default=None)
            found.append((row["enter"], end))
        return found + self.unattached(device)

    def is_older(self, process):
        """Whether it started before the recording."""
        return "started" in process and process["started"] + TICK_NS <= self.window()[0]

    def unattached(self, device):
        """When older processes had no guest yet, which have queues of the device."""
        processes = [self.things.get("process", {}).get(row["process"]) for row in self.things.get("queue", {}).values()
                     if row["device"] == device]
        return [(self.window()[0], process["guest_begin_ns"]) for process in processes
                if process and "guest_begin_ns" in process and self.is_older(process)]

    def kernel_name(self, launch):
        code = self.things.get("code", {}).get(launch["kernel"])
        return code["name"] if code and code["name"] else "[unknown kernel]"

    def calls_of(self, thread):
        """(begin, kind, end, waits, function) of a thread's calls (kind 0), launches (1) and sections of a guest (2), and
        overheads of a profiler (3)."""
        calls = [(row["begin"], 2 if row["type"] == API_DUET else 0, row["end"], row["type"] == API_WAIT, row["function"])
                 for row in self.api if row["thread"] == thread and row["type"] not in API_FUNCTIONS]
        calls += [(begin, 3, end, False, "") for begin, end in self.overheads_of(thread)]
        return calls + [(row["enter"], 1, row["exit"], bool(row["flags"] & BLOCKING), row["function"])
                        for row in self.launches if row["thread"] == thread]

    def overheads_of(self, thread):
        return [(row["begin"], row["end"]) for row in self.ranges
                if row["thread"] == thread and row["domain"] == "CUPTI" and row["type"] == "start_stop"
                and row.get("category") == "profiler overhead" and row["begin"] < row["end"] and not row.get("open")]

    def lost_switches(self):
        """Those that the kernel did not report are closed by rows."""
        return any(row["lost"] == "switch" and row["reason"] != "unseen" and not self.is_bounded(row) for row in self.losses)

    @staticmethod
    def is_bounded(row):
        """Whether the times of the lost rows are known."""
        return bool(row.get("bounded")) and row["begin"] < row["end"]

    def switch_losses(self):
        """The intervals in which switches were lost, joined."""
        found = []
        for begin, end in sorted((row["begin"], row["end"]) for row in self.losses if row["lost"] == "switch" and self.is_bounded(row)):
            if found and begin <= found[-1][1]:
                found[-1] = (found[-1][0], max(found[-1][1], end))
            else:
                found.append((begin, end))
        return found

    def seen_since(self, moment):
        """The end of the last loss of switches up to a moment; 0: none."""
        return max((end for begin, end in self.switch_losses() if begin <= moment), default=0)

    def rows_of(self, thread):
        """(time, order, what) of the rows that show what a thread did."""
        rows = [(call[0], call[1] % 2, "there") for call in self.calls_of(thread)]
        rows += [(row["time"], 2, "there") for row in self.samples if row["thread"] == thread]
        for row in self.switches:
            if row["previous"] == thread:
                rows.append((row["time"], 3, "there"))
            if row["next"] == thread:
                rows.append((row["time"], 3, "woken" if row["waker"] or row["waker_name"] else "back"))
        return rows

    def after_loss(self, thread, moment):
        """The state of a thread in or behind a loss of switches, up to its next row; None: there is none."""
        losses = [loss for loss in self.switch_losses() if loss[0] <= moment]
        if not losses:
            return None
        end = losses[-1][1]
        rows = self.rows_of(thread)
        if moment < end:
            return "unknown"
        if any(end <= row[0] <= moment for row in rows):
            return None
        after = min((row for row in rows if row[0] > moment), default=None)
        if not after or after[2] == "back" or any(moment < loss[0] < after[0] for loss in self.switch_losses()):
            return "unknown"
        return "blocked" if after[2] == "woken" else "on_cpu"

    def knows_switches(self, thread, since):
        """Whether a thread's switches are all known from a moment on."""
        if not self.switches or self.lost_switches():
            return False
        seen = [row["time"] for row in self.samples if row["thread"] == thread]
        seen += [row["time"] for row in self.switches if thread in (row["previous"], row["next"])]
        return bool(seen) and min(seen) <= since

    def going(self, thread, moment):
        """The switch since which a thread outside of calls is off its processor: the first one after the last moment
        when it surely was there. None: it is on it."""
        calls = self.calls_of(thread)
        there = [row["time"] for row in self.switches if row["next"] == thread]
        there = [time for time in there + [call[0] for call in calls] if time <= moment]
        gone = [row for row in self.switches if row["previous"] == thread
                and max(*there, 0, self.seen_since(moment)) <= row["time"] <= moment
                and not any(call[0] <= row["time"] < call[2] for call in calls)]
        return min(gone, key=lambda row: row["time"]) if gone else None

    def coming(self, going):
        """The switch with which a thread came back that had gone with `going`; None: a call says that it was there."""
        thread = going["previous"]
        back = [row for row in self.switches if row["next"] == thread and row["time"] > going["time"]]
        back = [row for row in back if self.going(thread, row["time"] - 1) is going]
        return min(back, key=lambda row: row["time"]) if back else None

    def wakers(self, going, most=WAKERS_MOST):
        """Who let a thread go on that was blocked since `going`; who let that one, the last time that it was blocked and
        came back meanwhile; and so on: thread ids, names of who is not recorded."""
        coming = self.coming(going)
        if not coming or not most or not coming["waker"] and not coming["waker_name"]:
            return ()
        thread = self.things.get("thread", {}).get(coming["waker"])
        found = (thread["tid"] if thread else coming["waker_name"],)
        earlier = []
        for row in self.switches:
            if thread and row["next"] == thread["id"] and going["time"] < row["time"] < coming["time"]:
                gone = self.going(thread["id"], row["time"] - 1)
                if gone and gone["reason"] == "blocked":
                    earlier.append((row["time"], gone))
        if earlier:
            found += self.wakers(max(earlier, key=lambda one: one[0])[1], most - 1)
        return found

    def whereabouts(self, thread, moment):
        """On a processor, from when it is seen there to the first switch away behind that."""
        there = [row["time"] for row in self.switches if row["next"] == thread]
        there += [row["time"] for row in self.samples if row["thread"] == thread]
        there += [call[0] for call in self.calls_of(thread)]
        state = self.after_loss(thread, moment)
        if state:
            return state
        since = max((time for time in there if time <= moment), default=0)
        since = max(since, self.seen_since(moment))
        gone = [row for row in self.switches if row["previous"] == thread and since <= row["time"] <= moment
                and row["reason"] != "exited"]
        if not gone:
            return "on_cpu"
        return "preempted" if min(gone, key=lambda row: row["time"])["reason"] == "preempted" else "blocked"

    def place(self, thread, moment):
        state = self.after_loss(thread, moment)
        if state:
            return "host" if state == "unknown" else state
        row = self.going(thread, moment)
        if not row:
            return "on_cpu"
        return "preempted" if row["reason"] == "preempted" else "blocked"

    def call_at(self, thread, moment, before):
        """The call that the thread was in, of those that began before the launch did."""
        inside = [call for call in self.calls_of(thread)
                  if call[0] <= moment < call[2] and call[0] < before and call[1] < 2]
        return min(inside, default=None)

    def section_at(self, thread, moment):
        """The cause if a guest worked for itself in the thread then, or a profiler did, also inside of a call. The first
        of several counts, and an overhead before a section that begins with it."""
        inside = [(call[0], -call[1]) for call in self.calls_of(thread) if call[1] > 1 and call[0] <= moment < call[2]]
        return {2: "duet_itself", 3: "profiler_overhead"}[-min(inside)[1]] if inside else None

    def is_in_overhead(self, thread, moment):
        return any(begin <= moment < end for begin, end in self.overheads_of(thread))

    def thread_state(self, thread, moment, before, since):
        section = self.section_at(thread, moment)
        if section:
            return section
        call = self.call_at(thread, moment, before)
        if call:
            return "api_wait" if call[3] else "api_call"
        if not self.knows_calls():
            return "unknown"
        return self.place(thread, moment) if self.knows_switches(thread, since) else "host"

    def submitted(self, execution):
        """When the device had the command; None: not known."""
        launch = known_launch(execution)
        queue = self.things.get("queue", {}).get(execution["queue"])
        if "submitted" not in execution and launch and queue and queue["flags"] & DIRECT:
            return min(launch["exit"], execution["started"])
        return execution.get("submitted")

    def dependency_end(self, execution):
        """When the last command of the wait list ended, or its last event was set, if inside exit..started."""
        launch, submitted = known_launch(execution), self.submitted(execution)
        if not launch or submitted is None:
            return None
        ends = []
        for wait in self.waits:
            if (wait["process"], wait["correlation"]) != (launch["process"],
                                                          launch["correlation"]):
                continue
            named = [row for row in self.launches
                     if row["process"] == wait["process"] and row["handle"] == wait["handle"]
                     and row["result"] == 0 and row["enter"] < wait["time"]]
            # of several at once, the one that returned last
            other = sorted(named, key=lambda row: (row["enter"], row["exit"]))[-1]["execution"] if named else None
            if other and is_in_account(other) and other["ended"] > wait["time"]:
                ends.append(other["ended"])
            elif not named or other:
                ends += self.signals(launch["process"], wait)
        ends = [end for end in ends if min(submitted, launch["exit"]) < end <= execution["started"]]
        return max(ends, default=None)

    def signals(self, process, wait):
        """When the program first set the event of that handle, from the launch on."""
        times = [row["begin"] for row in self.api
                 if row["type"] == API_SIGNAL and row["argument"] == wait["handle"] and row["result"] == 0
                 and row["begin"] >= wait["time"] and self.things["thread"][row["thread"]]["process"] == process]
        return [min(times)] if times else []


def execution_key(execution):
    """When it comes, among launches."""
    placed = "started" in execution and not execution.get("unplaced")
    return execution["started"] if placed else execution["seen"]


def known_launch(execution):
    """As the account has it: one that came before its launch has none there."""
    return None if execution.get("is_early") else execution["launch"]


def is_timed(execution):
    return "started" in execution and "ended" in execution


def is_rejected(execution):
    return execution["status"] < 0 or execution["impossible"]


def is_in_account(execution):
    return is_timed(execution) and not is_rejected(execution) and not execution.get("unplaced")


def order(execution):
    return execution["started"], execution["process"], execution["correlation"]


def class_of(execution):
    if not known_launch(execution):
        return "other"
    command = execution["launch"]["command"]
    if command in KERNELS:
        return "kernels"
    return "copies" if command in COPIES else "other"


def elementary(moments, begin, end):
    """The intervals between neighbouring moments inside [begin, end)."""
    inside = sorted({begin, end} | {moment for moment in moments if begin < moment < end})
    return [(a, b) for a, b in zip(inside, inside[1:]) if a < b]


def busy(commands, begin, end):
    """Shares of the commands and the busy time, interval by interval."""
    shares = {id(row): 0 for row in commands}
    long = [row for row in commands if row["started"] < row["ended"]]
    total = 0
    moments = {row["started"] for row in long} | {row["ended"] for row in long}
    for a, b in elementary(moments, begin, end):
        active = sorted((row for row in long if row["started"] <= a < row["ended"]), key=order)
        for place, row in enumerate(active):
            shares[id(row)] += (b - a) // len(active) + (place < (b - a) % len(active))
        total += b - a if active else 0
    return shares, total


def is_dark(dark, begin, end):
    """Whether a command without times was in flight at any moment of [begin, end)."""
    return any(begin < (end if last is None else last) and first < end for first, last in dark
               if last is None or first < last)


def cause(trace, commands, in_flight, dark, begin, moment):
    """Why the device is idle at a moment: a question to the next command."""
    if is_dark(dark, moment, moment + 1):
        return "unknown"
    later = [row for row in commands if row["started"] > moment]
    if not later:
        return "unknown" if any(enter <= moment for enter in in_flight) else "nothing_to_do"
    row = min(later, key=order)
    launch = known_launch(row)
    is_first = row is min(commands, key=order)
    if launch and launch["function"] == ABSENT_CALL:
        launch = None
    if launch:
        enter, leave = launch["enter"], launch["exit"]
    else:
        enter = leave = row.get("queued", row.get("submitted", row["started"]))
    if moment < enter:
        before = begin if is_first else max(other["ended"] for other in commands
                                            if order(other) < order(row))
        state = "unknown"
        if launch and not is_dark(dark, before, enter):
            state = trace.thread_state(launch["thread"], moment, launch["enter"], max(before, begin))
        return state if not is_first or state in ("api_wait", "api_call", "duet_itself", "profiler_overhead") else "nothing_to_do"
    if moment < leave:
        return "profiler_overhead" if launch and trace.is_in_overhead(launch["thread"], moment) else "runtime"
    submitted = trace.submitted(row)
    if submitted is None:
        was_queued = known_launch(row) and not launch and "queued" in row  # an importer added the launch
        return "latency" if was_queued or launch and launch["function"] else "unknown"
    end = trace.dependency_end(row)
    if moment < submitted:
        return "dependency" if end is not None and moment < end <= submitted else "submission"
    return "dependency" if end is not None and moment < end else "latency"


def going_of(trace, commands, moment):
    """The switch since which the launching thread of the next command is away, and the id of who it names."""
    row = min((row for row in commands if row["started"] > moment), key=order)
    switch = trace.going(row["launch"]["thread"], moment)
    return switch, trace.things.get("thread", {}).get(switch["holder"], {}).get("tid") if switch else None


def wait_of(trace, commands, moment):
    """What that thread waits for, (what, thread id of the holder, who wakes it); None: not known. Who has a thing is who
    lets others go on with it; of a wait for nobody knows what, nobody is told to have ended it."""
    switch, holder = going_of(trace, commands, moment)
    if not switch:
        return None
    wakers = trace.wakers(switch) if switch["wait"] and not switch["holder"] else ()
    return (switch["wait"], holder, wakers) if switch["wait"] or switch["holder"] or switch["stack"] else None


def preemptor_of(trace, commands, moment):
    """Who got that thread's processor, (who, thread id of one that is recorded); None: not known."""
    switch, thread = going_of(trace, commands, moment)
    return (switch["wait"], thread) if switch["wait"] or switch["holder"] else None


def call_of(trace, commands, moment):
    """The function that the launching thread of the next command is in."""
    launch = min((row for row in commands if row["started"] > moment), key=order)["launch"]
    return trace.call_at(launch["thread"], moment, launch["enter"])[4]


def idle(trace, commands, in_flight, dark, begin, end):
    """Idle time by cause; in_flight: when the commands without an execution were entered. Of what is blocked: by what for.
    Of what is preempted: by whom. Of what is in calls: by function."""
    causes, waits, preemptors, calls = dict.fromkeys(CAUSES, 0), {}, {}, {}
    moments = {moment for interval in dark for moment in interval if moment is not None}
    for row in commands:
        moments.update(row[key] for key in ("queued", "submitted", "started", "ended") if key in row)
        if row["launch"]:
            moments.update((row["launch"]["enter"], row["launch"]["exit"]))
            moments.add(trace.dependency_end(row) or begin)
    for row in trace.api:
        moments.update((row["begin"], row["end"]))
    for row in trace.launches:
        moments.update((row["enter"], row["exit"]))
    for row in trace.ranges:
        moments.update((row["begin"], row["end"]))
    moments.update(row["time"] for row in trace.switches + trace.samples)
    moments.update(moment for loss in trace.switch_losses() for moment in loss)
    for a, b in elementary(moments, begin, end):
        if not any(row["started"] <= a < row["ended"] for row in commands):
            why = cause(trace, commands, in_flight, dark, begin, a)
            causes[why] += b - a
            if why == "blocked":
                wait = wait_of(trace, commands, a)
                waits[wait] = waits.get(wait, 0) + b - a
            if why == "preempted":
                by = preemptor_of(trace, commands, a)
                preemptors[by] = preemptors.get(by, 0) + b - a
            if why in ("api_wait", "api_call"):
                call = why, call_of(trace, commands, a)
                calls[call] = calls.get(call, 0) + b - a
    return causes, waits, preemptors, calls


def check_waits(comparison, name, report, waits):
    """What is known is told, and only what is not known is divided among it."""
    comparison.equal(f"{name} waits", sum(row["ns"] for row in report["idle_waits"]),
                     report["idle_causes"]["blocked"])
    told = {}
    for row in report["idle_waits"]:
        wakers = tuple(waker.get("tid", waker["name"]) for waker in row.get("wakers", []))
        key = row.get("wait", ""), row.get("holder", {}).get("tid"), wakers
        told[key] = told.get(key, 0) + row["ns"]
    rest = waits.pop(None, 0)
    for key, length in waits.items():
        comparison.equal(f"{name} wait {key} between {length} and {rest} more, {told.get(key, 0)}",
                         length <= told.get(key, 0) <= length + rest, True)
    comparison.equal(f"{name} waits for what nobody saw", set(told) - set(waits) - {("", None, ())}, set())


def check_preemptors(comparison, name, report, preemptors):
    """Who ran instead, to the nanosecond: nothing of it is divided."""
    told = {}
    for row in report["idle_preempted"]:
        key = row.get("by", ""), row.get("thread", {}).get("tid")
        key = None if key == ("", None) else key
        told[key] = told.get(key, 0) + row["ns"]
    comparison.equal(f"{name} preempted by", told, preemptors)


def owners(trace, sample):
    """Executions of the sample's kernel by its process that ran then."""
    code = trace.things.get("code", {}).get(sample["code"])
    ran = [row for row in trace.executions
           if code and code["name"] and known_launch(row) and is_in_account(row)
           and row["process"] == sample["process"]
           and row["launch"]["command"] in KERNELS
           and trace.kernel_name(row["launch"]) == code["name"]]
    begin, end = sample["begin"], sample["end"]
    named = [row for row in ran if row["correlation"] == sample["correlation"] != 0]
    if named or (sample["correlation"] and begin == end):
        return named
    if begin < end:
        return [row for row in ran if row["started"] < end and begin < row["ended"]]
    return [row for row in ran if row["started"] <= begin < row["ended"]]


def is_there(code, begin, end):
    until = code.get("end_ns", float("inf"))
    return (code["begin_ns"] <= begin if begin == end else code["begin_ns"] < end) and until > begin


def known_of(code):
    """How much was told of a kernel's place: 3 is all."""
    return 2 * bool(code["name"]) + bool(code["size_bytes"])


def end_of_code(trace, code):
    """The lower 32 bits of where a kernel ends; of one without a size where the next one of its process begins."""
    start = code["address"] & 0xffffffff
    if code["size_bytes"]:
        return start + code["size_bytes"]
    end = start + (1 << 20)
    for other in placed(trace):
        at = other["address"] & 0xffffffff
        together = (other["begin_ns"] < code.get("end_ns", float("inf"))
                    and code["begin_ns"] < other.get("end_ns", float("inf")))
        same = other["process"] == code["process"] and other["device"] == code["device"]
        if start < at < end and together and same:
            end = at
    return end


def placed(trace):
    return [row for row in trace.things.get("code", {}).values() if row["type"] == KERNEL_CODE and row.get("address")]


def whole_of(trace, device):
    """The GPU that a device is a part of ("KEY/1"), where it is described too; else the device."""
    devices = trace.things.get("device", {})
    key = devices[device]["key"].partition("/")[0] if device in devices else ""
    return next((row["id"] for row in devices.values() if row["key"] == key), device)


def sites_of(trace, sample):
    """What may have run: [(code, twins, whether it was replaced)], and whether it came late."""
    low, begin, end = sample["offset"] & 0xffffffff, sample["begin"], sample["end"]
    all_codes = [code for code in placed(trace) if whole_of(trace, code["device"]) == whole_of(trace, sample["device"])
                 and code["address"] & 0xffffffff <= low < end_of_code(trace, code)]
    there = sorted((code for code in all_codes if is_there(code, begin, end)),
                   key=lambda code: (code["begin_ns"], code["id"]))
    if not there:
        later = sorted(((code["begin_ns"], code["id"]) for code in all_codes if 0 <= code["begin_ns"] - end <= LATE_NS))
        if not later:
            return [], False
        first = trace.things["code"][later[0][1]]
        same = [trace.things["code"][id] for _, id in later]
        same = [code for code in same if code["process"] == first["process"]
                and code["address"] & 0xffffffff == first["address"] & 0xffffffff]
        best = max(same, key=known_of)
        best = best if known_of(best) > known_of(first) else first
        return [(best, [first] if best is not first else [], False)], True
    found = []
    for process in dict.fromkeys(code["process"] for code in there):
        own = [code for code in there if code["process"] == process]
        most = max(map(known_of, own))
        for code in own:
            if known_of(code) < most:
                continue
            twins = [other for other in own if known_of(other) < most
                     and other["address"] & 0xffffffff == code["address"] & 0xffffffff]
            found.append((code, twins, is_replaced(trace, code, twins, own, begin, end)))
    return found, False


def is_replaced(trace, code, twins, own, begin, end):
    """Whether another one of its process came to its whole address before the window, and it was not launched since."""
    later = [other["begin_ns"] for other in own if known_of(other) == known_of(code)
             and other["address"] >> 32 == code["address"] >> 32 and code["begin_ns"] < other["begin_ns"] <= begin]
    return bool(later) and not any(max(later) < row["enter"] and begin - LAUNCHED_BEFORE_NS <= row["enter"] <= end
                                   for rows in lists_of(trace, code, twins, end) for row in rows)


def lists_of(trace, code, twins, last):
    """Launches of a kernel: those that its runtime told of, else by each that the driver's have."""
    own = [row for row in trace.all_launches if row["kernel"] == code["id"] and not row["flags"] & PART]
    if any(row["enter"] <= last for row in own):
        return [own]
    return [[row for row in trace.all_launches if row["kernel"] == one["id"] and row["flags"] & PART]
            for one in [code] + twins]


def add_untimed(trace, sample, sites, found):
    """Beside executions the launches of other code there that tell no times: each is as much as one of those that do."""
    begin, end = sample["begin"], sample["end"]
    timed, launched = 0, collections.Counter()
    for code, twins, replaced in sites:
        near = [row for rows in lists_of(trace, code, twins, end) for row in rows
                if begin - LAUNCHED_BEFORE_NS <= row["enter"] <= end]
        runs = sum(1 for row, launch in runs_of(trace, sample, code, twins))
        if runs:
            timed += max(runs, len(near))
        elif not replaced:
            launched.update((code["id"], stack_of(row), row["function"]) for row in near if row["flags"] & UNTIMED)
    if launched:
        ns = sum(found.values())
        found = collections.Counter({key: weight * timed for key, weight in found.items()})
        found.update({key: count * ns for key, count in launched.items()})
    return found


def launches_of(trace, sample, sites, late):
    """{(code, stack, function): how often it was launched} by the rule that applies."""
    begin, end = sample["begin"], sample["end"]
    last = sites[0][0]["begin_ns"] + LAUNCHED_BEFORE_NS if late else end
    for wanted in (False, True):
        lists = []
        for code, twins, replaced in sites:
            if replaced == wanted:
                lists += [(code, rows) for rows in lists_of(trace, code, twins, last)]
        for when in ("in", "before", "after"):
            found = collections.Counter()
            for code, rows in lists:
                rows = sorted(rows, key=lambda row: row["enter"])
                if when == "in":
                    rows = [row for row in rows if begin - LAUNCHED_BEFORE_NS <= row["enter"] <= end]
                elif when == "before":
                    rows = [row for row in rows if row["enter"] < begin - LAUNCHED_BEFORE_NS][-LAUNCHES_KEPT:]
                else:
                    rows = [row for row in rows if end < row["enter"] <= last]
                found.update((code["id"], stack_of(row), row["function"]) for row in rows)
            if found:
                return found
    return {}


def stack_of(launch):
    return launch.get("stack", 0)


def weight_of(sample, row):
    begin, end = sample["begin"], sample["end"]
    if sample["correlation"]:
        return int(row["correlation"] == sample["correlation"])
    if begin == end:
        return int(row["started"] <= begin < row["ended"])
    return max(0, min(end, row["ended"]) - max(begin, row["started"]))


def runs_of(trace, sample, code, twins):
    """[(execution, launch)] of a kernel that have a part of a sample's window."""
    names = [one["id"] for one in [code] + twins]
    return [(row, launch) for row in trace.executions if known_launch(row) and is_in_account(row)
            for launch in [row["launch"], *row["launch"].get("parts", [])]
            if launch["kernel"] in names and weight_of(sample, row)]


def shares_of(trace, sample):
    """[(code id, stack, function, weight)] of a sample by its address, and whether its code came late."""
    sites, late = sites_of(trace, sample)
    if not sites:
        return None, False
    found = collections.Counter()
    for code, twins, _ in sites:
        for row, launch in runs_of(trace, sample, code, twins):
            found[code["id"], stack_of(launch), launch["function"]] += weight_of(sample, row)
    if found and not sample["correlation"]:
        found = add_untimed(trace, sample, sites, found)
    if not found and not sample["correlation"]:
        found = launches_of(trace, sample, sites, late)
    return [(*key, weight) for key, weight in found.items()] or [(sites[0][0]["id"], None, None, 1)], late


def is_address(sample):
    return not sample["code"] and sample["device"] and not sample.get("stack")


def shown_name(code):
    return code["name"] or f"[kernel {code['address']:#x}]"


def check_addresses(comparison, trace, begin, end, windowed, report):
    """Samples of addresses: what is exact is so, and each kernel and reason has its share, give or take what rounding
    moves. Returns the sums of the ledger."""
    sums, by_kernel, slack = collections.Counter(), collections.defaultdict(float), collections.Counter()
    mixed = collections.Counter()
    for row in filter(is_address, trace.instructions):
        shares, late = shares_of(trace, row)
        inside = not windowed or begin <= row["begin"] < end
        sums["samples"] += row["count"]
        if shares is None:
            sums["samples_unknown"] += row["count"]
            sums["samples_unknown_code"] += row["count"]
            by_kernel["[unknown code]"] += row["count"] * inside
            continue
        sums["samples_late"] += row["count"] * late
        sums["samples_unknown"] += row["count"] * (shares[0][1] is None)
        # of several that may have run it, or of one of which nobody said where it ends
        unsized = [not trace.things["code"][code]["size_bytes"] for code, *_ in shares]
        sums["samples_divided"] += row["count"] * (len(shares) > 1)
        sums["samples_estimated"] += row["count"] * (len(shares) > 1 or unsized[0])
        sums["samples_unsized"] += row["count"] * all(unsized)
        mixed["samples_unsized"] += row["count"] * (any(unsized) and not all(unsized))
        for code, _, _, weight in shares:
            name = shown_name(trace.things["code"][code])
            by_kernel[name] += row["count"] * inside * weight / sum(one[3] for one in shares)
            slack[name] = max(slack[name], 2 * len(shares) if len({one[0] for one in shares}) > 1 else 0)
    unsized = report["ledger"]["samples_unsized"]
    comparison.equal("ledger samples_unsized", sums["samples_unsized"] <= unsized
                     <= sums["samples_unsized"] + mixed["samples_unsized"], True)
    return sums, {name: count for name, count in by_kernel.items() if count}, slack


def check_instructions(comparison, trace, begin, end, windowed, report):
    """How many samples each kernel has, and how many belong to nobody for certain."""
    by_kernel, unknown, no_device, estimated, total = {}, 0, 0, 0, 0
    for row in trace.instructions:
        if is_address(row):
            continue
        found = owners(trace, row)
        paths = {(one["launch"]["stack"], one["launch"]["function"], trace.device_of(one)) for one in found}
        total += row["count"]
        unknown += row["count"] if not found else 0
        no_device += row["count"] if not found and not row["device"] else 0
        estimated += row["count"] if len(paths) > 1 else 0
        if not windowed or begin <= row["begin"] < end:
            key = trace.things["code"][row["code"]]["name"], bool(found or row["device"])
            by_kernel[key] = by_kernel.get(key, 0) + row["count"]
    sums, addressed, slack = check_addresses(comparison, trace, begin, end, windowed, report)
    got, got_addressed = {}, {}
    for row in report["instructions"]:
        key = row["kernel"], "device" in row
        if row["kernel"] in addressed:
            got_addressed[row["kernel"]] = got_addressed.get(row["kernel"], 0) + row["samples"]
        else:
            got[key] = got.get(key, 0) + row["samples"]
    comparison.equal("instruction samples by kernel", got, by_kernel)
    for name in addressed:
        near = abs(got_addressed.get(name, 0) - addressed[name]) <= slack[name] + 1e-6
        comparison.equal(f"samples of {name}", got_addressed.get(name) if not near else 0, addressed[name] if not near else 0)
    comparison.equal("samples of addresses", sum(got_addressed.values()), round(sum(addressed.values())))
    lost = sum(row.get("count", 0) for row in trace.losses if row["lost"] == "instruction_sample")
    for key, value in (("samples", total + sums["samples"]), ("samples_unknown", unknown + sums["samples_unknown"]),
                       ("samples_no_device", no_device),
                       ("samples_estimated", estimated + sums["samples_estimated"]),
                       ("samples_divided", estimated + sums["samples_divided"]), ("samples_early", 0),
                       ("samples_unknown_code", sums["samples_unknown_code"]),
                       ("samples_late", sums["samples_late"]), ("samples_lost", lost),
                       ("cpu_samples", len(trace.samples))):
        comparison.equal(f"ledger {key}", report["ledger"][key], value)


def check_launchers(comparison, duet, path, trace, options, begin, end):
    """The same by who launched, from a drawing: of each process, stack and kernel. Stack N is one frame called sN."""
    want, slack = collections.defaultdict(float), collections.Counter()
    for row in filter(is_address, trace.instructions):
        shares, _ = shares_of(trace, row)
        if (options and not begin <= row["begin"] < end) or shares is None:
            continue
        for code, stack, function, weight in shares:
            thing = trace.things["code"][code]
            key = thing["process"], f"s{stack}" if stack else "", function or "", shown_name(thing)
            want[key] += row["count"] * weight / sum(one[3] for one in shares)
            slack[key] = max(slack[key], 2 * len(shares) if len(shares) > 1 else 0)
    # without a sample there is nothing to draw
    drawn = subprocess.run([duet, "flame", "--view", "stall", "--folded", *options, path], check=False,
                           capture_output=True).stdout.decode().splitlines()
    got = collections.Counter()
    pids = {row["pid"]: id for id, row in trace.things.get("process", {}).items()}
    for line in drawn:
        frames, count = line.rsplit(" ", 1)
        frames = frames.split(";")
        kernel = frames[frames.index("-") + 1].removesuffix("_[G]")
        if kernel == "[unknown code]":
            continue
        stack, function = "", ""
        for frame in frames[2:frames.index("-")]:
            if frame.endswith("_[j]"):
                stack = frame.removesuffix("_[j]")
            elif not frame.startswith("["):
                function = frame
        got[pids[int(frames[1])], stack, function, kernel] += int(count)
    for key in set(want) | set(got):
        if abs(want[key] - got[key]) > slack[key] + 1e-6:
            comparison.equal(f"samples of {key}", got[key], want[key])


def ledger(trace):
    launched = [row for row in trace.launches if row["result"] == 0]
    joined = [row for row in trace.executions if row["launch"]]
    rejected = sum(map(is_rejected, joined))
    matched = len(joined) - rejected
    lost = {"launch": 0, "execution": 0}
    for row in trace.losses:
        if row["lost"] in lost:
            lost[row["lost"]] += row.get("count", 0)
    open_commands = len(launched) - matched - rejected
    lost_executions = min(lost["execution"], open_commands)
    not_executed = sum(map(trace.is_not_executed, trace.launches))
    return {"launched": len(launched) + lost["launch"], "executed": len(trace.executions),
            "matched": matched, "rejected": rejected,
            "dropped": lost["launch"] + lost_executions,
            "not_executed": not_executed,
            "in_flight_at_exit": open_commands - lost_executions - not_executed,
            "untimed": sum(1 for row in joined if not is_rejected(row) and not is_timed(row)),
            "orphaned": len(trace.executions) - len(joined)}


def contradictions(trace, begin, end, window, report):
    """Samples of a process's kernel that are a millisecond and the clocks' error away from all that their device did, and
    from the time when it may have done something unseen. The launch must be known, and the process begin with the recording
    or later."""
    if not trace.certain or any(row["lost"] == "launch" for row in trace.losses):
        return 0
    errors = [row["error_ns"] or 0 for row in report["clocks"] if row["domain"] not in HOST_CLOCKS and row["method"] != "none"]
    slack = 1000000 + min(max(errors, default=0), 10000000)
    found = 0
    for row in trace.instructions:
        device = row["device"] or trace.cpu_device_of(row["process"])
        commands = [one for one in trace.executions if trace.device_of(one) == device and is_in_account(one)]
        if not row["process"] or not row["code"] or not commands or window and not begin <= row["begin"] < end:
            continue
        process = trace.things["process"].get(row["process"], {})
        if trace.is_older(process):
            continue  # what it launched before the recording is not known
        first, last = max(row["begin"] - slack, 0), row["end"] + slack
        name = trace.things["code"].get(row["code"], {}).get("name")
        if not any(one["started"] <= first for one in trace.executions if known_launch(one) and is_in_account(one)
                   and one["process"] == row["process"] and trace.kernel_name(one["launch"]) == name):
            continue  # its launch is not known
        busy_then = any(one["started"] <= last and one["ended"] >= first for one in commands)
        if not busy_then and min(one["started"] for one in commands) <= first \
                and not is_dark(trace.dark(device), first, last + 1):
            found += row["count"]
    return found


def has_launches(report):
    """Contradictions are counted where no launch is missing, and are no reason to doubt depths."""
    sums = report["ledger"]
    return report["complete"] or bool(sums["contradictions"] and
                                      sums["matched"] * 100 >= (sums["launched"] - sums["not_executed"]) * 95)


def status_of(report):
    """4 where less than 95 % of what executed is matched, or something contradicts the account."""
    sums = report["ledger"]
    expected = sums["launched"] - sums["not_executed"]
    return 4 if sums["matched"] * 100 < expected * 95 or sums["contradictions"] else 0


class Comparison:
    def __init__(self, name):
        self.name, self.differences = name, []

    def equal(self, what, got, want):
        if got != want:
            self.differences.append(f"{self.name}: {what}: report {got}, checker {want}")


def is_measured(trace, device, commands):
    """Whether what the device did is known: it was given nothing, or some of it has times. One that is only counted was
    nobody's to follow."""
    got_commands = trace.launches_on(device) or any(trace.device_of(row) == device
                                                    for row in trace.executions)
    is_counted = (any(row["device"] == device for row in trace.things.get("series", {}).values())
                  or any(row["device"] == device for row in trace.instructions))
    has_queue = any(row["device"] == device for row in trace.things.get("queue", {}).values())
    return bool(commands or not got_commands and (has_queue or not is_counted))


def unfinished(trace, device, commands):
    """Since when each command may be on the device of which nobody knows when it was over."""
    if trace.ends_early() or not is_measured(trace, device, commands):
        return [0]
    placed = [row["enter"] for row in trace.launches_on(device)
              if not row["execution"] and not trace.is_not_executed(row)]
    return placed + unplaced(trace, device, commands)


def unplaced(trace, device, commands):
    """The enters of launches without a queue, of the processes that launched commands of the device, after the latest one."""
    known = [row["launch"] for row in commands if known_launch(row) and row["launch"]["function"] != ABSENT_CALL]
    if not device or not known:
        return []
    processes = {launch["process"] for launch in known}
    last = max(launch["enter"] for launch in known)
    return [row["enter"] for row in trace.launches_on(0)
            if not row["execution"] and row["correlation"] and row["process"] in processes and row["enter"] > last
            and row["queue"] not in trace.things.get("queue", {})]


def check_device(comparison, trace, device, key, begin, end, report):
    commands = [row for row in trace.executions
                if trace.device_of(row) == device and is_in_account(row)]
    in_flight = unfinished(trace, device, commands)
    measured = is_measured(trace, device, commands)
    shares, total = busy(commands, begin, end)
    name = f"device {key}"
    comparison.equal(f"{name} measured", report["measured"], measured)
    comparison.equal(f"{name} wall", report["wall_ns"], end - begin)
    comparison.equal(f"{name} busy", report["busy_ns"], total)
    comparison.equal(f"{name} idle", report["idle_ns"], end - begin - total)
    for part in ("kernels", "copies", "other"):
        comparison.equal(f"{name} {part}", report[f"{part}_ns"],
                         sum(shares[id(row)] for row in commands if class_of(row) == part))
    dark = trace.dark(device)
    causes, waits, preemptors, calls = idle(trace, commands, in_flight, dark, begin, end)
    check_waits(comparison, name, report, waits)
    check_preemptors(comparison, name, report, preemptors)
    comparison.equal(f"{name} calls", {(row["cause"], row["call"]): row["ns"] for row in report["idle_calls"]}, calls)
    for reason, length in causes.items():
        comparison.equal(f"{name} idle {reason}", report["idle_causes"][reason], length)
    by_name = {}
    for row in commands:
        if class_of(row) == "kernels":
            kernel = trace.kernel_name(row["launch"])
            by_name[kernel] = by_name.get(kernel, 0) + shares[id(row)]
    check_overlap(comparison, name, commands, begin, end, report["overlap"])
    return by_name


def check_overlap(comparison, name, commands, begin, end, report):
    """Time with kernels, with copies and with both, from interval to interval."""
    spans = {part: [(row["started"], row["ended"]) for row in commands if class_of(row) == part] for part in ("kernels", "copies")}
    wanted = {"kernels_only_ns": 0, "copies_only_ns": 0, "both_ns": 0}
    for a, b in elementary({moment for part in spans.values() for span in part for moment in span}, begin, end):
        active = [any(first <= a < last for first, last in spans[part]) for part in ("kernels", "copies")]
        if any(active):
            wanted["both_ns" if all(active) else "kernels_only_ns" if active[0] else "copies_only_ns"] += b - a
    comparison.equal(f"{name} overlap", report, wanted)


def check_depth(comparison, trace, queue, begin, end, windowed, report, complete):
    """Commands in flight of a queue, from interval to interval."""
    flights, in_window = [], 0
    for row in trace.launches:
        if row["queue"] != queue or row["result"] or trace.is_not_executed(row):
            continue
        over = row["over"] or end
        if row["execution"]:
            done = row["execution"]
            over = done["ended"] if is_in_account(done) else done["seen"]
        flights.append((row["enter"], max(over, row["enter"])))
        inside = row["enter"] < end and row["exit"] > begin or begin <= row["enter"] == row["exit"] < end
        in_window += inside or not windowed
    timed = any(row["queue"] == queue and is_in_account(row) for row in trace.executions)
    lost = any(row["lost"] in ("launch", "execution") for row in trace.losses)
    known = report["depth"]
    comparison.equal(f"queue {queue} depth is known", known is not None, bool(in_window and timed and complete and not lost))
    if not known:
        return
    total = most = empty = 0
    for a, b in elementary({moment for flight in flights for moment in flight}, begin, end):
        count = sum(first <= a < last for first, last in flights)
        total += count * (b - a)
        most = max(most, count)
        empty += 0 if count else b - a
    comparison.equal(f"queue {queue} depth", (round(known["mean"] * (end - begin)), known["max"], known["empty_ns"]),
                     (total, most, empty))


def check_threads(comparison, trace, begin, end, windowed, report):
    """Where each thread was, from interval to interval."""
    known = trace.switches and not trace.lost_switches()
    told = collections.defaultdict(list)  # after an exec the same number is another thread
    for row in report["by"]:
        told[row["tid"]].append(row)
    for id, thread in trace.things.get("thread", {}).items():
        seen = [row["time"] for row in trace.samples if row["thread"] == id]
        seen += [row["time"] for row in trace.switches if id in (row["previous"], row["next"])]
        rows = told[thread["tid"]]
        if not seen or not known:
            comparison.equal(f"thread {id} is not known", len(rows) == 1 and "on_cpu_ns" in rows[0], False)
            continue
        calls = [call[0] for call in trace.calls_of(id) if call[0] >= min(seen) and call[1] != 3]
        exits = [one["time"] for one in trace.switches if one["reason"] == "exited" and one["previous"] == id]
        last = min(exits) if exits else max(*seen, *calls, thread.get("end_ns", end))
        sums = {"on_cpu_ns": 0, "blocked_ns": 0, "preempted_ns": 0, "unknown_ns": 0}
        for a, b in elementary({*seen, *calls, last, *(moment for loss in trace.switch_losses() for moment in loss)}, begin, end):
            if min(seen) <= a < last:
                sums[trace.whereabouts(id, a) + "_ns"] += b - a
        if not sums["unknown_ns"]:
            del sums["unknown_ns"]
        sums["samples"] = sum(one["thread"] == id and one["source"] in TIME_SOURCES and
                              (not windowed or begin <= one["time"] < end) for one in trace.samples)
        same = [{key: row.get(key) for key in {**sums, "unknown_ns": 0} if key in row} for row in rows]
        comparison.equal(f"thread {id}", sums if sums in same else same, sums)


def check_processors_of(comparison, trace, begin, end, report):
    """No processor has more time than there is, as the rows say and as the report sums it."""
    for sentence in check_processors.differences(trace, begin, end):
        comparison.equal(sentence, True, False)
    comparison.equal("threads on processors", check_processors.has_room(trace, report["by"], begin, end), True)


def check(duet, path, window, has_named_stacks=False):
    options = []
    if window:
        options = ["--from", f"{window[0]}ns", "--to", f"{window[1]}ns"]
    reported = subprocess.run([duet, "report", "--json", "--by", "thread", *options, path], check=False,
                              capture_output=True)
    report = json.loads(reported.stdout)
    rows = subprocess.run([duet, "export", "--format", "jsonl", "--absolute", path], check=True,
                          capture_output=True).stdout
    about = json.loads(subprocess.run([duet, "info", "--json", path], check=True,
                                      capture_output=True).stdout)
    trace = Trace(rows.decode().rstrip("\n").split("\n"), about["damage"])
    begin, end = trace.window()
    if window:
        begin, end = min(begin + window[0], end), min(begin + window[1], end)
    comparison = Comparison(path)
    comparison.equal("exact", report["exact"], True)
    comparison.equal("contradictions", report["ledger"]["contradictions"], contradictions(trace, begin, end, window, report))
    comparison.equal("status", reported.returncode, status_of(report))
    comparison.equal("start", report["start_ns"], begin)
    for key, value in ledger(trace).items():
        comparison.equal(f"ledger {key}", report["ledger"][key], value)
    check_instructions(comparison, trace, begin, end, window, report)
    if has_named_stacks:
        check_launchers(comparison, duet, path, trace, options, begin, end)
    check_threads(comparison, trace, begin, end, window, report)
    check_processors_of(comparison, trace, begin, end, report)
    devices = sorted(trace.things.get("device", {}))
    for index, row in enumerate(report["devices"]):
        device = devices[index] if index < len(devices) else 0
        shares = check_device(comparison, trace, device, row["key"], begin, end, row)
        for kernel in report["kernels"]:
            if kernel["device"] == row["key"]:
                comparison.equal(f"kernel {kernel['name']} share", kernel["share_ns"],
                                 shares.get(kernel.get("symbol") or kernel["name"], 0))
    queues = trace.things.get("queue", {})
    for row in report["queues"]:
        if row["id"] not in queues:
            continue
        own = [execution for execution in trace.executions
               if execution["queue"] == row["id"] and is_in_account(execution)]
        total = busy(own, begin, end)[1]
        comparison.equal(f"queue {row['id']} busy", row["busy_ns"], total)
        comparison.equal(f"queue {row['id']} idle", row["idle_ns"], end - begin - total)
        check_depth(comparison, trace, row["id"], begin, end, window, row, has_launches(report))
    return comparison.differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duet", default="duet")
    parser.add_argument("--from", dest="begin", type=int)
    parser.add_argument("--to", dest="end", type=int)
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    window = None
    if arguments.begin is not None and arguments.end is not None:
        window = arguments.begin, arguments.end
    differences = []
    for path in arguments.traces:
        differences += check(arguments.duet, path, window)
    for line in differences:
        print(line)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
