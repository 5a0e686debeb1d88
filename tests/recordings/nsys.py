# SPDX-License-Identifier: MIT
"""Nsight Systems' SQLite export of all years. Columns by name; every table and column may be missing."""
import collections
import re
import sqlite3

from rows import Call, Command, Recording

COPY_DIRECTIONS = {1: "HtoD", 2: "DtoH", 3: "array", 4: "array", 5: "array", 6: "array", 7: "array", 8: "DtoD",
                   9: "HtoH", 10: "peer", 11: "migrate", 12: "migrate", 13: "migrate"}
OVERHEADS = {2: "JIT", 3: "flush", 4: "instrumentation", 6: "module load", 7: "lazy function load",
             8: "command buffer full"}
PROFILER_TYPES = {3, 4, 5, 9, 10}  # the others are the driver's
OPERATOR_NUMBERS = re.compile(", (?:seq|op_id|sizes) = ")
VERSION_SUFFIX = re.compile(r"(_v\d+)?(_ptsz|_ptds)?$")
CALL_STACK_TWIN = 67
OS_CALL = 27
PUSH_POP, START_END, MARK = 59, 60, 34


def connect(path):
    base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    base.text_factory = lambda text: text.decode("utf-8", "replace")
    return base


def rows_of(base, table, *columns):
    """Rows of a table as tuples; a missing column is None, a missing table has no rows."""
    present = {row[1] for row in base.execute(f"pragma table_info({table})")}
    if not present:
        return []
    chosen = ", ".join(f'"{column}"' if column in present else "NULL" for column in columns)
    return base.execute(f"select {chosen} from {table}").fetchall()


def process_of(identifier):
    return (identifier or 0) >> 24 & 0xffffff


def thread_of(identifier):
    return (identifier or 0) & 0xffffff


def read(path):
    base = connect(path)
    recording = Recording("nsys")
    strings = dict(rows_of(base, "StringIds", "id", "value"))
    launches = read_calls(base, recording, strings)
    callers = callers_of(recording.calls)
    for rows in (read_kernels(base, strings), read_copies(base), read_fills(base)):
        for start, end, process, device, queue, correlation, kind, direction, name in rows:
            key = (process_of(process), correlation)
            call = launches.get(key) if correlation else None
            caller = callers.get(process_of(process)) if direction == "migrate" and call is None else None
            recording.commands.append(Command(start, end, f"{process_of(process)}/{device}",
                                              (process_of(process), queue), kind, direction, name, call,
                                              caller=caller))
    read_ranges(base, recording, strings)
    read_threads(base, recording)
    base.close()
    return recording


def read_calls(base, recording, strings):
    """Adds the calls; returns the index of the call of each process and correlation id."""
    launches = {}
    for start, end, event_class, thread, correlation, name in rows_of(
            base, "CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", "eventClass", "globalTid", "correlationId", "nameId"):
        if event_class == CALL_STACK_TWIN:
            continue
        launches[process_of(thread), correlation] = len(recording.calls)
        recording.calls.append(Call(start, end, process_of(thread), thread_of(thread),
                                    "driver" if event_class == 1 else "runtime",
                                    VERSION_SUFFIX.sub("", strings.get(name, ""))))
    for start, end, event_class, thread, name in rows_of(base, "OSRT_API", "start", "end", "eventClass", "globalTid",
                                                         "nameId"):
        if event_class == OS_CALL:
            recording.calls.append(Call(start, end, process_of(thread), thread_of(thread), "os",
                                        strings.get(name, "")))
    return launches


def callers_of(calls):
    """The thread of each process with the most calls of CUDA; the first one to have so many."""
    counts, callers = collections.Counter(), {}
    for call in calls:
        if call.kind != "os":
            key = (call.process, call.thread)
            counts[key] += 1
            if counts[key] > counts[callers.get(call.process)]:
                callers[call.process] = key
    return callers


def read_kernels(base, strings):
    for start, end, process, device, context, stream, correlation, *names in rows_of(
            base, "CUPTI_ACTIVITY_KIND_KERNEL", "start", "end", "globalPid", "deviceId", "contextId", "streamId",
            "correlationId", "demangledName", "shortName", "mangledName"):
        name = next((strings.get(number, "") for number in names if number is not None), "")
        yield start, end, process, device, (context, stream), correlation, "kernel", None, name


def read_copies(base):
    for start, end, process, device, context, stream, correlation, copy_kind in rows_of(
            base, "CUPTI_ACTIVITY_KIND_MEMCPY", "start", "end", "globalPid", "deviceId", "contextId", "streamId",
            "correlationId", "copyKind"):
        yield (start, end, process, device, (context, stream), correlation, "copy",
               COPY_DIRECTIONS.get(copy_kind, "other"), "")


def read_fills(base):
    for start, end, process, device, context, stream, correlation in rows_of(
            base, "CUPTI_ACTIVITY_KIND_MEMSET", "start", "end", "globalPid", "deviceId", "contextId", "streamId",
            "correlationId"):
        yield start, end, process, device, (context, stream), correlation, "fill", None, ""


def read_ranges(base, recording, strings):
    """Adds ranges. Those that PyTorch pushes for its operators have the operator's number in their name: they are calls."""
    open_ranges = 0
    for kind, start, end, thread, text, number in rows_of(base, "NVTX_EVENTS", "eventType", "start", "end", "globalTid",
                                                          "text", "textId"):
        text = str(text if text is not None else strings.get(number, ""))
        if kind == PUSH_POP and end is not None and ", op_id = " in text:
            recording.calls.append(Call(start, end, process_of(thread), thread_of(thread), "operator",
                                        OPERATOR_NUMBERS.split(text)[0]))
        elif kind in (PUSH_POP, START_END):
            open_ranges += end is None
            recording.add_range(start, end)
    if open_ranges:
        recording.more["open_ranges"] = open_ranges


def read_threads(base, recording):
    """Samples, switches and overheads."""
    for (start,) in rows_of(base, "COMPOSITE_EVENTS", "start"):
        recording.samples += 1
        recording.see(start)
    for start, is_in in rows_of(base, "SCHED_EVENTS", "start", "isSchedIn"):
        recording.switches += not is_in
        recording.see(start)
    profiler = rows_of(base, "PROFILER_OVERHEAD", "start", "end", "globalTid")
    if profiler:
        recording.more["profiler_overhead"] = [len(profiler), sum(end - start for start, end, _ in profiler)]
    for start, end, kind, thread in rows_of(base, "CUPTI_ACTIVITY_KIND_OVERHEAD", "start", "end", "overheadType",
                                            "globalTid"):
        recording.add_overhead(OVERHEADS.get(kind, str(kind)), start, end)
        if kind in PROFILER_TYPES:
            profiler.append((start, end, thread))
    for start, end, thread in profiler:
        recording.see(start, end)
        recording.profiler[process_of(thread), thread_of(thread)].append((start, end))
