# SPDX-License-Identifier: MIT
"""Facts of one recording: counts, sums, unions, order, and idle time by what the launching thread did.

Everything is computed in the plainest way: intervals are sorted and walked through. The rules of idle time are those of
docs/design/account.md, without the states that only a live recording has.
"""
import bisect
import collections
import math

KINDS = ("runtime", "driver", "operator", "function", "os")
NAME_LENGTH = 96  # characters of a name in a line of facts


def union_ns(spans):
    """Length of the union of [start, end) intervals."""
    total, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            total += max(0, end - start)
            reached = max(start, end)
        elif end > reached:
            total += end - reached
            reached = end
    return total


def is_traced(call):
    """A function of the program, which is what its thread did and no call of a runtime or system."""
    return call.kind in ("operator", "function")


def segments_of(calls):
    """Consecutive (begin, end, call) of one thread. Of the calls that are open, the one of a runtime or of the system
    that began first counts, otherwise the innermost function."""
    moments = []
    for index, call in enumerate(calls):
        if call.end > call.start:
            moments.append((call.start, 1, -call.end, index))
            moments.append((call.end, 0, 0, index))
    moments.sort()
    segments, others, functions, before = [], [], [], None
    for moment, is_start, _, index in moments:
        chosen = others[0] if others else functions[-1] if functions else None
        if chosen is not None and moment > before:
            segments.append((before, moment, calls[chosen]))
        before = moment
        stack = functions if is_traced(calls[index]) else others
        if is_start:
            stack.append(index)
        else:
            stack.remove(index)
    return segments


def divide_spans(spans, begin, end):
    """The parts of [begin, end) inside of any of the spans, and those outside, in two lists."""
    inside, outside = [], []
    for start, stop in sorted(spans):
        start, stop = max(start, begin), min(stop, end)
        if start < stop:
            outside.append((begin, start))
            inside.append((start, stop))
            begin = stop
    return inside, [(start, stop) for start, stop in [*outside, (begin, end)] if start < stop]


class Threads:
    """What each thread did, looked up by time. An overhead of the profiler takes precedence over calls."""

    def __init__(self, calls, profiler):
        self.profiler = profiler
        by_thread = collections.defaultdict(list)
        for call in calls:
            by_thread[(call.process, call.thread)].append(call)
        self.segments = {key: segments_of(rows) for key, rows in by_thread.items()}
        self.begins = {key: [row[0] for row in rows] for key, rows in self.segments.items()}

    def split(self, key, begin, end, idle):
        """Adds the time in which the profiler held the thread; returns the rest as a list of (begin, end)."""
        inside, outside = divide_spans(self.profiler.get(key, ()), begin, end)
        idle.classes["profiler"] += sum(stop - start for start, stop in inside)
        return outside

    def divide(self, key, begin, end, idle):
        """Adds the time from begin to end to the classes, by what the thread (process, thread) did."""
        for start, stop in self.split(key, begin, end, idle):
            self.divide_calls(key, start, stop, idle)

    def divide_calls(self, key, begin, end, idle):
        rest = end - begin
        position = max(0, bisect.bisect_right(self.begins[key], begin) - 1)
        for segment_begin, segment_end, inner in self.segments[key][position:]:
            if segment_begin >= end:
                break
            length = min(end, segment_end) - max(begin, segment_begin)
            if length > 0:
                idle.add(inner, length)
                rest -= length
        idle.classes["nothing"] += rest


IDLE_CLASSES = ("before_first", "call", "os_call", "function", "nothing", "profiler", "launching", "launched",
                "no_call", "after_last", "in_flight")


class Idle:
    """Idle time of a device by class, and by the calls and functions in which the launching threads were."""

    def __init__(self):
        self.classes = dict.fromkeys(IDLE_CLASSES, 0)
        self.calls, self.functions = collections.Counter(), collections.Counter()

    def add(self, call, length):
        if is_traced(call):
            self.classes["function"] += length
            self.functions[call.name] += length
        else:
            self.classes["os_call" if call.kind == "os" else "call"] += length
            self.calls[call.name] += length

    def end_first(self):
        """What comes before the first command outside of calls is a class of its own."""
        for name in ("function", "nothing", "no_call"):
            self.classes["before_first"] += self.classes[name]
            self.classes[name] = 0


def idle_of_device(recording, commands, threads, window):
    idle, reached = Idle(), None
    for command in sorted(commands, key=lambda row: row.start):
        if reached is None:
            divide_gap(recording, command, window[0], threads, idle)
            idle.end_first()
            reached = command.end
        elif command.start > reached:
            divide_gap(recording, command, reached, threads, idle)
        reached = max(reached, command.end)
    launched = min(max(reached, first_in_flight(recording, commands)), window[1])
    idle.classes["after_last"] = launched - reached
    idle.classes["in_flight"] = window[1] - launched
    return idle


def first_in_flight(recording, commands):
    """When the first launch after the last one of this device was entered that has no command in the file."""
    calls = recording.calls
    joined = [calls[row.call] for row in commands if row.call is not None]
    if not joined:
        return math.inf
    last = max(command.start if command.call is None else calls[command.call].start for command in commands)
    processes = {call.process for call in joined}
    return min((call.start for call in recording.idle_launches() if call.start > last and call.process in processes),
               default=math.inf)


def divide_gap(recording, command, begin, threads, idle):
    classes = idle.classes
    if command.call is None and command.caller is not None:
        threads.divide(command.caller, begin, command.start, idle)
        return
    if command.call is None:
        queued = command.start if command.queued is None else min(max(command.queued, begin), command.start)
        classes["no_call"] += queued - begin
        classes["launched"] += command.start - queued
        return
    call = recording.calls[command.call]
    enter = min(max(call.start, begin), command.start)
    leave = min(max(call.end, enter), command.start)
    threads.divide((call.process, call.thread), begin, enter, idle)
    classes["launching"] += sum(stop - start for start, stop in threads.split((call.process, call.thread), enter, leave, idle))
    classes["launched"] += command.start - leave


def shorten(name):
    return name[:NAME_LENGTH]


def is_collective(name):
    return "nccl" in name.lower() or "rccl" in name.lower()


def count_and_sum(commands):
    return [len(commands), sum(row.end - row.start for row in commands)]


def kernels_by_name(commands):
    """Name, count and sum of all kernels, the largest sum first."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in commands:
        if row.kind == "kernel":
            sums[row.name][0] += 1
            sums[row.name][1] += row.end - row.start
    return sorted(((name, *value) for name, value in sums.items()), key=lambda row: (-row[2], row[0]))


def facts_of_device(recording, commands, threads, window):
    idle = idle_of_device(recording, commands, threads, window)
    busy = union_ns((row.start, row.end) for row in commands)
    total = sum(row.end - row.start for row in commands)
    return {"commands": len(commands), "queues": len({row.queue for row in commands}), "sum_ns": total,
            "busy_ns": busy, "overlap_ns": total - busy,
            "idle": {name: length for name, length in idle.classes.items() if length or name != "profiler"},
            "idle_calls": [[shorten(name), length] for name, length in top(idle.calls, 3)],
            "idle_functions": [[shorten(name), length] for name, length in top(idle.functions, 3)]}


def top(counter, count):
    return sorted(counter.items(), key=lambda row: (-row[1], row[0]))[:count]


def window_of(recording):
    first = [row.start for row in recording.commands] + [row.start for row in recording.calls] + recording.first
    last = [row.end for row in recording.commands] + [row.end for row in recording.calls] + recording.last
    return (min(first), max(last)) if first else (0, 0)


def facts_of(recording):
    """All facts of a recording as what json writes."""
    commands, calls = recording.commands, recording.calls
    window = window_of(recording)
    joined = [row for row in commands if row.call is not None]
    kinds = collections.Counter(row.kind for row in calls)
    of_kind = collections.defaultdict(list)
    by_device = collections.defaultdict(list)
    for row in commands:
        of_kind[row.kind, row.direction].append(row)
        by_device[str(row.device)].append(row)
    threads = Threads(recording.steps + calls, recording.profiler)
    facts = {
        "format": recording.form, "begin_ns": window[0], "end_ns": window[1],
        "kernels": count_and_sum(of_kind["kernel", None]),
        "copies": {key[1]: count_and_sum(rows) for key, rows in sorted(of_kind.items(), key=str) if key[0] == "copy"},
        "fills": count_and_sum(of_kind["fill", None]), "other": count_and_sum(of_kind["other", None]),
        "first_ns": min((row.start for row in commands), default=None),
        "last_ns": max((row.end for row in commands), default=None),
        "calls": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
        "joined": len(joined), "without_call": len(commands) - len(joined),
        "violations": sum(row.start < calls[row.call].start for row in joined),
        "reversed": sum(row.end < row.start for row in commands),
        "processes": len({row.process for row in calls}), "threads": len({(row.process, row.thread) for row in calls}),
        "devices": {key: facts_of_device(recording, rows, threads, window) for key, rows in sorted(by_device.items())},
        "top": [[shorten(name), count, total] for name, count, total in kernels_by_name(commands)[:3]],
        "ranges": recording.ranges, "samples": recording.samples, "switches": recording.switches,
        "overheads": dict(sorted(recording.overheads.items())),
    }
    collectives = [row for row in of_kind["kernel", None] if is_collective(row.name)]
    if collectives:
        facts["collectives"] = count_and_sum(collectives)
    facts.update(recording.more)
    return facts
