# SPDX-License-Identifier: MIT
"""Checks of a trace's switches that a processor has one thread at a time, so that its threads never sum to more than the
wall time. Used by check_account.py, and over recordings that are too large for that."""
import collections

UNKNOWN_PROCESSORS = "thread-state"  # looks at threads do not show on which processor they are


def has_gaps(trace):
    """Whether rows that end a thread's time may be missing."""
    damaged = any(trace.damage[key] for key in ("chunks", "bytes", "truncated"))
    return damaged or any(row["lost"] == "switch" and row["reason"] != "unseen" or
                          row["reason"] in ("disk", "ring_broken", "gap") for row in trace.losses)


def ends(trace, end):
    """When each thread has gone at the latest."""
    processes = trace.things.get("process", {})
    found = {}
    for id, thread in trace.things.get("thread", {}).items():
        process = processes.get(thread["process"], {})
        found[id] = min(row["end_ns"] for row in (thread, process, {"end_ns": end}) if "end_ns" in row)
    return found


def intervals(trace, end):
    """(processor, begin, end, thread) from each coming to the next going of the same thread."""
    latest = ends(trace, end)
    since = {}
    for row in sorted(trace.switches, key=lambda row: row["time"]):
        if row["previous"] in since:
            processor, begin = since.pop(row["previous"])
            yield processor, begin, row["time"], row["previous"]
        if row["next"]:
            since.setdefault(row["next"], (row["cpu"], row["time"]))
    for thread, (processor, begin) in since.items():
        yield processor, begin, max(begin, latest.get(thread, end)), thread


def differences(trace, begin, end):
    """A sentence for each processor that is wrong."""
    if has_gaps(trace) or any(row["source"] == UNKNOWN_PROCESSORS for row in trace.samples):
        return []
    found = []
    by_processor = collections.defaultdict(list)
    for processor, since, until, thread in intervals(trace, end):
        since, until = max(since, begin), min(until, end)
        if since < until:
            by_processor[processor].append((since, until, thread))
    for processor, spans in sorted(by_processor.items()):
        spans.sort()
        total = sum(until - since for since, until, _ in spans)
        if total > end - begin:
            found.append(f"processor {processor}: threads sum to {total} ns of {end - begin}")
        twice = [(one, other) for one, other in zip(spans, spans[1:]) if other[0] < one[1]]
        if twice:
            found.append(f"processor {processor}: {len(twice)} times two threads at once, first {twice[0]}")
    return found


def count(trace):
    """Processors that the machine has, or that the rows name."""
    hosts = trace.things.get("host", {}).values()
    return max([len({row["cpu"] for row in trace.switches})] + [host.get("cpu_count", 0) for host in hosts])


def has_room(trace, rows, begin, end):
    """Whether the threads of a report that have switches fit on the processors."""
    threads = trace.things.get("thread", {})
    switched = {threads[id]["tid"] for row in trace.switches for id in (row["previous"], row["next"]) if id in threads}
    return sum(row.get("on_cpu_ns", 0) for row in rows if row["tid"] in switched) <= count(trace) * (end - begin)
