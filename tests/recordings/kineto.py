# SPDX-License-Identifier: MIT
"""Chrome traces: PyTorch's Kineto of all years, rocmProfileData's rpd2tracing, rocprof v1.

Times are microseconds in decimal text. They become nanoseconds by Decimal, never by a float.
"""
import decimal
import json
import re

from facts import is_collective
from rows import DIRECTIONS, Call, Collective, Command, Recording, kernel_name

COMMANDS = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "fill", "memset": "fill"}
ACCELERATORS = {"mtia_ccp_events", "hpu_op"}
# Slices of what other slices show, or with times that are no command's.
TWICE = {"trace", "cuda_sync", "cuda_profiler_range"}
CALLS = {"cuda_runtime": "runtime", "mtia_runtime": "runtime", "runtime": "runtime", "cuda_driver": "driver", "cpu_op": "operator",
         "operator": "operator", "python_function": "function"}
STEPS = {"enumerate(DataLoader)", "Optimizer.step", "Optimizer.zero_grad"}
DIRECTION = re.compile(r"(HtoD|DtoH|DtoD|HtoH|PtoP)|(Copy\w+To\w+)")


def nanoseconds(microseconds):
    """Whole nanoseconds of an int, a Decimal or decimal text; more digits than that are an error of this reader."""
    if isinstance(microseconds, str):
        microseconds = decimal.Decimal(microseconds)
    value = microseconds * 1000
    whole = int(value)
    if whole != value:
        raise ValueError(f"{microseconds} us has parts of a nanosecond")
    return whole


def direction_of(name):
    found = DIRECTION.search(name)
    return DIRECTIONS.get(found.group(0), "other") if found else "other"


def parse(data):
    return json.loads(data, parse_float=decimal.Decimal)


def read(data):
    """A recording of the bytes of any Chrome trace that this folder's README names."""
    document = parse(data)
    events = document["traceEvents"] if isinstance(document, dict) else document
    names = {str(row["pid"]): row["args"].get("name", "") for row in events if row.get("name") == "process_name"}
    if any("BeginNs" in row.get("args", ()) for row in events[:200]):
        return read_rocprof(events, names)
    if any(row.get("cat") == "api_op" for row in events):
        return read_rpd2tracing(events, names)
    return read_kineto(document, events)


def read_kineto(document, events):
    recording = Recording("chrome")
    if isinstance(document, dict):
        recording.rank = document.get("distributedInfo", {}).get("rank")
    pending, launches = [], {}
    counts = {"device_ranges": 0, "instants": 0}
    for row in events:
        category = row.get("cat", "").lower()
        if row.get("ph") != "X":
            counts["instants"] += row.get("ph") == "i"
            continue
        start = nanoseconds(row["ts"])
        end = nanoseconds(row["ts"] + row["dur"])
        if category == "operator" and row["name"].startswith("ProfilerStep#"):
            category = "user_annotation"
        if category in CALLS:
            call = Call(start, end, str(row["pid"]), str(row["tid"]), CALLS[category], row["name"])
            if CALLS[category] in ("runtime", "driver"):
                note_launch(launches, recording.calls, row, len(recording.calls), start)
            recording.calls.append(call)
        elif category in COMMANDS:
            pending.append((start, end, row, COMMANDS[category]))
        elif category in ACCELERATORS:
            pending.append((start, end, row, kind_on_accelerator(row["name"])))
        elif category == "user_annotation":
            recording.add_range(start, end)
            if row["name"].partition("#")[0] in STEPS and "#" in row["name"]:
                recording.steps.append(Call(start, end, str(row["pid"]), str(row["tid"]), "operator", row["name"]))
        elif category == "gpu_user_annotation":
            counts["device_ranges"] += 1
        elif category == "overhead":
            recording.add_overhead(row["name"], start, end)
        elif category and category not in TWICE:
            raise ValueError(f"a slice of the unknown category {category!r}")
    for start, end, row, kind in pending:
        add_command(recording, launches, start, end, row, kind)
    recording.more = {key: value for key, value in counts.items() if value}
    return recording


def kind_on_accelerator(name):
    return {"dma_request": "copy", "event_wait": "other", "event_record": "other"}.get(name, "kernel")


def key_of(row):
    """Correlation ids are those of a rank where one file holds several ranks."""
    return row["args"].get("rank"), row["args"].get("correlation")


def note_launch(launches, calls, row, index, start):
    """Of several calls with one correlation id, the latest."""
    key = key_of(row)
    if key[1] is not None and (key not in launches or calls[launches[key]].start <= start):
        launches[key] = index


def add_command(recording, launches, start, end, row, kind):
    text = row["args"].get("direction", row["name"])
    direction = DIRECTIONS.get(text) or direction_of(text) if kind == "copy" else None
    device = str(row["pid"])
    recording.commands.append(Command(start, end, device, (device, str(row["tid"])), kind, direction, row["name"],
                                      launches.get(key_of(row))))
    if kind == "kernel" and is_collective(row["name"]):
        rank = row["args"].get("rank", recording.rank)
        recording.collectives.append(Collective(start, end, rank, str(row["tid"]), None, row["name"]))


BEFORE_END_NS = 2000  # an arrow starts so long before the end of its call, but not after the start of the command
RPD_OWN = ("::writeRows", "rpdflush", "hcc_activity_callback")


def read_rpd2tracing(events, names):
    """Operations are slices of the processes GPU<n>; an arrow leads from a call to its operation."""
    recording = Recording("chrome")
    pending, arrows, slices = [], {}, {}
    for row in events:
        if row.get("cat") == "api_op":
            arrows.setdefault(int(row["id"]), {})[row["ph"]] = (str(row["pid"]), str(row["tid"]), int(row["ts"]) * 1000)
        if row.get("ph") != "X":
            continue
        start = nanoseconds(row["ts"])
        end = start + nanoseconds(row["dur"])
        if names.get(str(row["pid"]), "") == f"GPU{row['pid']}":
            if not row["args"]["desc"].startswith("UserMarker frame"):
                pending.append((start, end, row))
        elif row["name"].endswith(RPD_OWN):
            recording.add_overhead(row["name"], start, end)
        elif not row["name"].startswith(("hip", "hsa")):
            recording.add_range(start, end)
        else:
            slices.setdefault((str(row["pid"]), str(row["tid"])), []).append(len(recording.calls))
            recording.calls.append(Call(start, end, str(row["pid"]), str(row["tid"]), "runtime", row["name"]))
    callers = {}
    for _, ends in sorted(arrows.items()):
        own = slices.get(ends["s"][:2], ()) if len(ends) == 2 else ()
        if own:
            callers.setdefault(ends["f"], []).append(caller_of(recording.calls, own, ends["s"][2], ends["f"][2]))
    for start, end, row in pending:
        device, queue = str(row["pid"]), str(row["tid"])
        kind = kind_of_operation(row["args"]["desc"])
        reached = callers.get((device, queue, start))
        recording.commands.append(Command(start, end, device, (device, queue), kind,
                                          direction_of(row["args"]["desc"]) if kind == "copy" else None, row["name"],
                                          reached.pop(0) if reached else None))
    return recording


def caller_of(calls, own, moment, target):
    """The index of the call that ends where the arrow says so, otherwise of the latest one around its start. Times are
    whole microseconds, durations too, so the sum may lack one."""
    if moment < target:
        ending = [index for index in own if 0 <= moment + BEFORE_END_NS - calls[index].end <= 1000]
        if ending:
            return max(ending, key=lambda index: calls[index].start)
    around = [index for index in own if calls[index].start <= moment <= calls[index].end]
    return max(around, key=lambda index: calls[index].start, default=None)


def kind_of_operation(kind):
    if kind.startswith("Copy"):
        return "copy"
    return {"KernelExecution": "kernel", "Task": "kernel", "FillBuffer": "fill"}.get(kind, "other")


def read_rocprof(events, names):
    """rocprof v1: exact times in the arguments, strings all of them. Arrows lead from calls to their operations."""
    recording = Recording("rocprof-json")
    arrows, callers = {}, {}
    for row in events:
        if row.get("ph") in ("s", "t"):
            arrows.setdefault(row["id"], {})[row["ph"]] = (str(row["pid"]), str(row["tid"]), int(row["ts"]))
    for row in events:
        if row.get("ph") == "X" and "dev-id" not in row["args"] and "gpu-id" not in row["args"]:
            begin, end = int(row["args"]["BeginNs"]), int(row["args"]["EndNs"])
            own = sorted(ends["s"][2] for ends in arrows.values()
                         if ends["s"][:2] == (str(row["pid"]), str(row["tid"])) and begin // 1000 <= ends["s"][2] <= end // 1000)
            if own and re.search("Launch|Memcpy|Memset", row["name"]):
                callers[str(row["pid"]), str(row["tid"]), own[0]] = len(recording.calls)
            recording.calls.append(Call(begin, end, row["args"]["pid"], row["args"]["tid"], "runtime", row["name"]))
    to = {ends["t"]: callers.get(ends["s"]) for ends in arrows.values()}
    for row in events:
        details = row.get("args", {})
        if row.get("ph") != "X" or not ("gpu-id" in details or "dev-id" in details):
            continue
        device = details.get("gpu-id", details.get("dev-id"))
        begin, end = int(details["BeginNs"]), int(details["EndNs"])
        queued = int(details["DispatchNs"]) if "DispatchNs" in details else None
        kind = "copy" if row["name"].startswith("Copy") else "kernel"
        recording.commands.append(Command(begin, end, device, (device, details.get("queue-id")), kind,
                                          direction_of(row["name"]) if kind == "copy" else None, kernel_name(row["name"]),
                                          to.get((str(row["pid"]), str(row["tid"]), begin // 1000)), queued))
        recording.see(begin if queued is None else queued, int(details.get("CompleteNs", end)))
    return recording
