#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import -f nsys: databases of Nsight Systems, of several versions, reduced, cut and hostile. Counts, times and busy
time equal those of a reader of our own, on made-up databases and on the recordings in the folder DUET_RECORDINGS.
"""
import collections
import glob
import json
import os
import random
import resource
import shutil
import sqlite3
import struct

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

PID, TID, OTHER = 4711, 4712, 4720
MACHINE = 1 << 48
UUID = "cd91cda4-52e0-faf6-6639-ae3dd5a2e798"


def thread(pid, tid):
    return MACHINE | pid << 24 | tid


STRINGS = ["", "void saxpy<float>(float*)", "saxpy", "gemm", "cudaLaunchKernel_v7000", "cudaMemcpy_v3020",
           "cudaDeviceSynchronize_v3020", "cudaEventQuery_v3020", "cudaGraphLaunch_v10000", "cudaMemsetAsync_ptsz_v7000",
           "cudaLaunchKernel", "main", "/opt/app/prog", "0x7f11", "/usr/lib/libcupti.so.12", "ioctl", "work", "python3",
           "Command Buffer Full", "registered text", "cudaStreamBeginCapture_v10000", "cudaStreamEndCapture_v10000",
           "cudaMalloc_v3020", "TLS allocation", "{\"bytes\": 64}", "do_syscall_64", "[kernel.kallsyms]", "cudaStreamSynchronize_v3020"]
ID = {value: number for number, value in enumerate(STRINGS)}

# columns of schema 3.24, in its order
TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT",
    "ThreadNames": "nameId INTEGER, priority INTEGER, globalTid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT",
    "TARGET_INFO_GPU": "vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER, smCount INTEGER, "
                       "uuid TEXT, cuDevice INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
                                   "correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, "
                                  "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
                                  "shortName INTEGER, launchType INTEGER, registersPerThread INTEGER, gridX INTEGER, "
                                  "gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
                                  "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, "
                                  "graphNodeId INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, "
                                  "clusterZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
                                  "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, "
                                  "srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER, "
                                  "migrationCause INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, "
                                  "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
                                           "streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER",
    "CUDA_CALLCHAINS": "id INTEGER, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, "
                       "stackDepth INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, category INTEGER, color INTEGER, text TEXT, "
                   "globalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, doubleValue REAL, "
                   "jsonTextId INTEGER",
    "OSRT_API": "start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
    "OSRT_CALLCHAINS": "id INTEGER, symbol INTEGER, module INTEGER, kernelMode INTEGER, unresolved INTEGER, "
                       "stackDepth INTEGER",
    "COMPOSITE_EVENTS": "id INTEGER, start INTEGER, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER",
    "SAMPLING_CALLCHAINS": "id INTEGER, symbol INTEGER, module INTEGER, kernelMode INTEGER, unresolved INTEGER, "
                           "stackDepth INTEGER",
    "SCHED_EVENTS": "start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER, threadState INTEGER",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, memKind INTEGER, "
                                    "memoryOperationType INTEGER",
    "TARGET_INFO_GPU_METRICS": "typeId INTEGER, metricId INTEGER, metricName TEXT",
    "GPU_METRICS": "timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER, severity INTEGER, text TEXT",
}


def rows_of_all():
    """A program: a kernel, a copy, a fill, a graph of two kernels, a migration, a capture, waits, and everything else."""
    here, main = thread(PID, 0), thread(PID, TID)
    kernel = dict(deviceId=0, contextId=1, streamId=7, globalPid=here, registersPerThread=32, gridX=10, gridY=2, gridZ=1,
                  blockX=64, blockY=1, blockZ=1, staticSharedMemory=16, dynamicSharedMemory=1024, localMemoryPerThread=8,
                  launchType=1)
    copy = dict(deviceId=0, contextId=1, streamId=7, globalPid=here)

    def call(start, end, correlation, name, **more):
        return ("CUPTI_ACTIVITY_KIND_RUNTIME", dict(dict(start=start, end=end, eventClass=0, globalTid=main,
                correlationId=correlation, nameId=ID[name], returnValue=0), **more))

    rows = [("StringIds", dict(id=number, value=value)) for number, value in enumerate(STRINGS)]
    rows += [
        ("ThreadNames", dict(nameId=ID["work"], priority=20, globalTid=main)),
        ("PROCESSES", dict(globalPid=here, pid=PID, name="/opt/app/prog")),
        ("PROCESSES", dict(globalPid=thread(1, 0), pid=1, name="init")),
        ("META_DATA_EXPORT", dict(name="EXPORT_SCHEMA_VERSION", value="3.24.0")),
        ("TARGET_INFO_SYSTEM_ENV", dict(name="SECRET", value="hunter2")),
        ("TARGET_INFO_GPU", dict(id=3, name="Test GPU", busLocation="0000:01:00.0", totalMemory=1 << 30, smCount=10,
                                 uuid=UUID, cuDevice=5)),
        ("TARGET_INFO_CUDA_DEVICE", dict(gpuId=3, cudaId=0, pid=PID)),
        # a kernel whose call has a stack
        call(1000, 1100, 10, "cudaLaunchKernel_v7000"),
        call(990, 1110, 10, "cudaLaunchKernel", eventClass=67, callchainId=1),
        ("CUPTI_ACTIVITY_KIND_KERNEL", dict(kernel, start=1200, end=2200, correlationId=10, clusterX=2, clusterY=1, clusterZ=1,
                                            demangledName=ID["void saxpy<float>(float*)"], shortName=ID["saxpy"])),
        # a copy that its call waits for, and a call that only waits
        call(2300, 3500, 11, "cudaMemcpy_v3020"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", dict(copy, start=2400, end=3400, correlationId=11, bytes=4096, copyKind=2, srcKind=2,
                                            dstKind=0)),
        call(3600, 3700, 12, "cudaDeviceSynchronize_v3020"),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", dict(start=3610, end=3690, deviceId=0, contextId=1, streamId=0xffffffff,
                                                     correlationId=12, globalPid=here, syncType=1)),
        call(3710, 3720, 13, "cudaEventQuery_v3020", returnValue=600),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", dict(start=3711, end=3719, deviceId=0, contextId=1, streamId=0xffffffff,
                                                     correlationId=13, globalPid=here, syncType=2)),
        call(3730, 3740, 18, "cudaStreamSynchronize_v3020"),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", dict(start=3731, end=3739, deviceId=9, contextId=1, streamId=7,
                                                     correlationId=18, globalPid=here, syncType=3)),
        # a graph of two kernels and a fill
        call(4000, 4100, 14, "cudaGraphLaunch_v10000"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", dict(kernel, start=4300, end=4400, correlationId=14, demangledName=ID["gemm"],
                                            shortName=ID["gemm"], graphNodeId=77, graphId=5)),
        ("CUPTI_ACTIVITY_KIND_KERNEL", dict(kernel, start=4500, end=4700, correlationId=14, demangledName=ID["gemm"],
                                            shortName=ID["gemm"], graphNodeId=78, graphId=5, launchType=2)),
        call(4800, 4810, 15, "cudaMemsetAsync_ptsz_v7000"),
        ("CUPTI_ACTIVITY_KIND_MEMSET", dict(copy, start=4900, end=4950, correlationId=15, value=0, bytes=256, memKind=2)),
        # two migrations that no call launched
        ("CUPTI_ACTIVITY_KIND_MEMCPY", dict(copy, start=5000, end=5100, streamId=0, correlationId=0, bytes=65536, copyKind=11,
                                            srcKind=4, dstKind=4, migrationCause=2)),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", dict(copy, start=5200, end=5300, streamId=0, correlationId=0, bytes=65536, copyKind=12,
                                            srcKind=4, dstKind=4, migrationCause=1)),
        # a launch under a capture
        call(5400, 5410, 20, "cudaStreamBeginCapture_v10000"),
        call(5420, 5430, 21, "cudaLaunchKernel_v7000"),
        call(5440, 5450, 22, "cudaStreamEndCapture_v10000"),
        # the same correlation id in another process is another call
        ("CUPTI_ACTIVITY_KIND_RUNTIME", dict(start=5500, end=5600, eventClass=0, globalTid=thread(OTHER, OTHER),
                                             correlationId=10, nameId=ID["cudaMalloc_v3020"], returnValue=2)),
        ("CUPTI_ACTIVITY_KIND_OVERHEAD", dict(start=1020, end=1080, globalTid=main, nameId=ID["Command Buffer Full"],
                                              overheadType=8)),
        ("NVTX_EVENTS", dict(start=900, eventType=75, text="mylib", globalTid=main, domainId=1)),
        ("NVTX_EVENTS", dict(start=900, eventType=33, text="io", globalTid=main, domainId=1, category=3)),
        ("NVTX_EVENTS", dict(start=950, end=3800, eventType=59, text="aten::linear, op_id = 11", globalTid=main, domainId=0)),
        ("NVTX_EVENTS", dict(start=955, end=2250, eventType=59, text="aten::mm, op_id = 12", globalTid=main, domainId=0)),
        ("NVTX_EVENTS", dict(start=2260, end=2290, eventType=59, text="aten::add, op_id = 13", globalTid=main, domainId=0)),
        ("NVTX_EVENTS", dict(start=960, end=3700, eventType=60, textId=ID["registered text"], globalTid=main, domainId=1,
                             category=3, color=0xff112233, uint64Value=7)),
        ("NVTX_EVENTS", dict(start=970, eventType=34, text="here", globalTid=main, domainId=1,
                             jsonTextId=ID["{\"bytes\": 64}"])),
        ("NVTX_EVENTS", dict(start=980, eventType=59, text="open", globalTid=main, domainId=0)),
        ("NVTX_EVENTS", dict(start=985, eventType=39, text="named by NVTX", globalTid=thread(PID, OTHER))),
        ("OSRT_API", dict(start=6000, end=6500, globalTid=main, nameId=ID["ioctl"], returnValue=0, callchainId=1)),
        ("OSRT_API", dict(start=6600, end=6700, globalTid=thread(PID, OTHER), nameId=ID["ioctl"], callchainId=0)),
        ("COMPOSITE_EVENTS", dict(id=1, start=7000, cpu=3, threadState=1, globalTid=main, cpuCycles=1)),
        ("COMPOSITE_EVENTS", dict(id=2, start=7100, cpu=3, threadState=1, globalTid=main, cpuCycles=1)),
        ("COMPOSITE_EVENTS", dict(id=4, start=7200, cpu=3, threadState=1, globalTid=main, cpuCycles=1)),
        ("SCHED_EVENTS", dict(start=7300, cpu=3, isSchedIn=0, globalTid=main, threadState=2)),
        ("SCHED_EVENTS", dict(start=7400, cpu=4, isSchedIn=1, globalTid=main, threadState=0)),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", dict(start=800, globalPid=here, deviceId=0, bytes=1000, memKind=2,
                                              memoryOperationType=0)),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", dict(start=810, globalPid=here, deviceId=0, bytes=500, memKind=1,
                                              memoryOperationType=0)),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", dict(start=7500, globalPid=here, deviceId=0, bytes=400, memKind=2,
                                              memoryOperationType=1)),
        ("TARGET_INFO_GPU_METRICS", dict(typeId=0, metricId=1, metricName="SMs Active [Throughput %]")),
        ("GPU_METRICS", dict(timestamp=1000, typeId=0, metricId=1, value=10)),
        ("GPU_METRICS", dict(timestamp=2000, typeId=0, metricId=1, value=90)),
        ("DIAGNOSTIC_EVENT", dict(timestamp=-5, severity=1, text="fine")),
        ("DIAGNOSTIC_EVENT", dict(timestamp=5, severity=2, text="Not all events\nwere collected")),
    ]
    app, cupti, unresolved = ID["/opt/app/prog"], ID["/usr/lib/libcupti.so.12"], ID["0x7f11"]
    for depth, (symbol, module, odd) in enumerate(((unresolved, cupti, 1), (ID["cudaLaunchKernel"], app, None),
                                                   (ID["work"], app, None), (ID["main"], app, None))):
        rows.append(("CUDA_CALLCHAINS", dict(id=1, symbol=symbol, module=module, unresolved=odd, stackDepth=depth)))
    for depth, (symbol, module, kernel_mode, odd) in enumerate(((ID["do_syscall_64"], ID["[kernel.kallsyms]"], 1, None),
                                                                (ID["ioctl"], app, None, None),
                                                                (unresolved, app, None, 1))):
        for table, number in (("OSRT_CALLCHAINS", 1), ("SAMPLING_CALLCHAINS", 2)):
            rows.append((table, dict(id=number, symbol=symbol, module=module, kernelMode=kernel_mode, unresolved=odd,
                                     stackDepth=depth)))
    # the chain of a sample that does not exist, and those of the last one, out of order
    rows.append(("SAMPLING_CALLCHAINS", dict(id=3, symbol=ID["main"], module=app, stackDepth=0)))
    rows.append(("SAMPLING_CALLCHAINS", dict(id=4, symbol=ID["main"], module=app, stackDepth=1)))
    rows.append(("SAMPLING_CALLCHAINS", dict(id=4, symbol=ID["work"], module=app, stackDepth=0)))
    return rows


def database(name, rows, tables=None, scripts=()):
    tables = TABLES if tables is None else tables

    def fill(connection):
        for table, columns in tables.items():
            connection.execute(f"CREATE TABLE {table}({columns})")
        for table, row in rows:
            if table in tables:
                kept = {key: value for key, value in row.items() if f"{key} " in tables[table]}
                connection.execute(f"INSERT INTO {table}({', '.join(kept)}) VALUES({', '.join('?' * len(kept))})",
                                   list(kept.values()))

    return t.database(name, fill, *scripts)


def small():
    """5 s of processor time, 64 MiB of memory."""
    duet_test.default_signals()
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))


def imported(path, output="imported.duet", faults=""):
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "--format", "nsys", "-o", out, path], preexec_fn=small)
    t.equal(result.status, 0, f"duet import: {text(result.stderr)}")
    t.true(faults in text(result.stderr) and (faults or "left out" not in text(result.stderr)), text(result.stderr))
    return out


def refused(path, expected):
    result = run([DUET, "import", "-f", "nsys", "-o", t.path("refused.duet"), path], preexec_fn=small)
    t.equal(result.status, 1, text(result.stderr))
    t.true(text(result.stderr).startswith("duet import: ") and expected in text(result.stderr), text(result.stderr))
    t.true(not glob.glob(t.path("refused.duet*")), "nothing is left")


def document_of(path):
    result = run([DUET, "export", "-f", "json", path])
    t.equal(result.status, 0, text(result.stderr))
    document = json.loads(result.stdout)
    # times as in the file
    for rows in (rows for rows in document.values() if isinstance(rows, list)):
        for row in rows:
            for key in TIMES & set(row):
                row[key] += document["begin_ns"]
    return document


TIMES = {"begin", "end", "enter", "exit", "started", "ended", "time"}


def by_id(rows):
    return {row["id"]: row for row in rows}


def stack_of(document, number):
    """Functions, root first."""
    stacks, frames, functions = by_id(document["stacks"]), by_id(document["frames"]), []
    while number:
        functions.insert(0, frames[stacks[number]["frame"]]["names"][-1]["function"])
        number = stacks[number]["caller"]
    return functions


def notes_of(path):
    result = run([DUET, "info", "--json", path])
    return "".join(row["reason"] for row in json.loads(result.stdout)["collectors"] if row["name"] == "import")


# ---- a reader of our own -------------------------------------------------------------------------

COPIES = {1: "write", 2: "read", 3: "write", 4: "read", 11: "migrate", 12: "migrate", 13: "migrate"}


def union_of(intervals):
    total, end = 0, -1
    for begin, until in sorted(intervals):
        if until > end:
            total += until - max(begin, end)
            end = until
    return total


def facts_of_file(path):
    """Commands (count, sum) by name, busy time of each device, calls (count, sum), waits; read by SQL alone."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    strings = dict(tuple(row) for row in connection.execute("SELECT id, value FROM StringIds"))
    commands, devices, calls, waits = collections.defaultdict(list), collections.defaultdict(list), [], 0
    for kind in ("KERNEL", "MEMCPY", "MEMSET"):
        if f"CUPTI_ACTIVITY_KIND_{kind}" not in tables:
            continue
        for row in connection.execute(f"SELECT * FROM CUPTI_ACTIVITY_KIND_{kind}"):
            name = strings[row["demangledName"]] if kind == "KERNEL" else "fill" if kind == "MEMSET" else \
                COPIES.get(row["copyKind"], "copy")
            commands[name].append(row["end"] - row["start"])
            devices[row["globalPid"] >> 24, row["deviceId"]].append((row["start"], row["end"]))
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        for row in connection.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass <> 67"):
            calls.append(row["end"] - row["start"])
            waits += "Synchronize" in strings[row["nameId"]]
    return {"commands": {name: (len(times), sum(times)) for name, times in commands.items()},
            "busy": sorted(union_of(intervals) for intervals in devices.values()),
            "calls": (len(calls), sum(calls)), "waits": waits}


# Functions of launches that the importer adds.
ADDED = ("(not in the file)", "(unified memory)")


def facts_of_trace(path):
    document = document_of(path)
    threads, queues, code = by_id(document["threads"]), by_id(document["queues"]), by_id(document["code"])
    launches = {(threads[row["thread"]]["process"], row["correlation"]): row for row in document["launches"]}
    commands, devices = collections.defaultdict(list), collections.defaultdict(list)
    for row in document["executions"]:
        launch = launches[row["process"], row["correlation"]]
        name = code[launch["kernel"]]["name"] if launch["command"] == "kernel" else launch["command"]
        commands[name].append(row["ended"] - row["started"])
        devices[queues[row["queue"]]["device"]].append((row["started"], row["ended"]))
        t.true(launch["enter"] <= row["started"], "no command starts before its call")
    calls = [row["exit"] - row["enter"] for row in document["launches"]
             if not row["flags"] & 4 and row["function"] not in ADDED]
    calls += [row["end"] - row["begin"] for row in document["calls"] if row["type"] in (0, 1)]
    return {"commands": {name: (len(times), sum(times)) for name, times in commands.items()},
            "busy": sorted(union_of(intervals) for intervals in devices.values()),
            "calls": (len(calls), sum(calls)), "waits": sum(row["type"] == 1 for row in document["calls"])}


# ---- made-up databases ---------------------------------------------------------------------------

ALL = rows_of_all()

with t.case("calls, commands and their links"):
    path = database("all.sqlite", ALL)
    trace = imported(path)
    t.equal(facts_of_trace(trace), facts_of_file(path), "facts")
    document = document_of(trace)
    launches = sorted(document["launches"], key=lambda row: (row["enter"], row["flags"]))
    t.equal([(row["function"], row["enter"], row["exit"], row["flags"]) for row in launches],
            [("cudaLaunchKernel", 1000, 1100, 0), ("cudaMemcpy", 2300, 3500, 1), ("cudaGraphLaunch", 4000, 4100, 0),
             ("cudaGraphLaunch", 4000, 4000, 4 | 16), ("cudaMemsetAsync", 4800, 4810, 0),
             ("(unified memory)", 5000, 5000, 0), ("(unified memory)", 5200, 5200, 0)], "launches")
    t.equal([(row["global"], row["local"], row["bytes"]) for row in launches[:2]],
            [([640, 2, 1], [64, 1, 1], 0), ([], [], 4096)], "sizes")
    t.equal([(row["function"], row["type"], row["result"]) for row in document["calls"] if row["type"] not in (4, 6)],
            [("cudaDeviceSynchronize", 1, 0), ("cudaEventQuery", 0, 600), ("cudaStreamSynchronize", 1, 0),
             ("cudaStreamBeginCapture", 0, 0), ("cudaLaunchKernel", 0, 0), ("cudaStreamEndCapture", 0, 0),
             ("cudaMalloc", 0, 2)], "calls")
    waiting = [row for row in document["calls"] if row["function"] == "cudaStreamSynchronize"][0]
    queue = by_id(document["queues"])[waiting["argument"]]
    t.equal(queue["name"], "stream 7", "the stream that a call waits for")
    report = t.report(trace)
    t.equal([(row["name"], row["key"]) for row in report["devices"]], [("Test GPU", UUID)], "devices")
    t.equal(report["clocks"][0].get("violations", 0), 0, "violations")
    t.equal({(row["pid"], row["name"]) for row in document["processes"]}, {(PID, "prog"), (OTHER, "[unknown process]")},
            "processes with rows only")
    t.equal({(row["tid"], row["name"]) for row in document["threads"]},
            {(TID, "work"), (OTHER, "named by NVTX"), (OTHER, "")}, "threads")
    t.true("2 commands without a call" in notes_of(trace) and "1 launch under a stream capture" in notes_of(trace)
           and "Not all events" in notes_of(trace) and "fine" not in notes_of(trace), notes_of(trace))

with t.case("members of commands: memory, migrations, graphs, clusters, resources"):
    document = document_of(imported(database("all.sqlite", ALL)))
    executions = sorted(document["executions"], key=lambda row: row["started"])
    device = document["devices"][0]["id"]

    def members(row, *names):
        return [row.get(name) for name in names]
    t.equal(members(executions[0], "cluster_x", "local_bytes"), [2, 1040], "kernel")
    t.equal(members(executions[1], "source_memory", "destination_memory", "source_device"), ["device", "pageable", device],
            "copy")
    t.equal([members(row, "graph", "graph_node") for row in executions[2:4]], [[5, 77], [5, 78]], "graph")
    t.equal(members(executions[4], "destination_memory"), ["device"], "fill")
    t.equal([members(row, "migration", "source_memory") for row in executions[5:]],
            [["page_fault", "managed"], ["requested", "managed"]], "migrations")
    kernel = [row for row in document["code"] if row["name"] == "gemm"][0]
    t.equal(members(kernel, "registers", "local_bytes"), [32, 1040], "resources of a kernel")

with t.case("stacks of calls, OS calls and samples"):
    document = document_of(imported(database("all.sqlite", ALL)))
    launch = [row for row in document["launches"] if row["function"] == "cudaLaunchKernel"][0]
    t.equal(stack_of(document, launch["stack"]), ["main", "work"], "no frames inside of the call")
    calls = [row for row in document["calls"] if row["type"] == 6]
    t.equal([(row["begin"], row["function"], stack_of(document, row["stack"])) for row in calls],
            [(6000, "ioctl", ["[prog]", "ioctl", "do_syscall_64"]), (6600, "ioctl", [])], "OS calls")
    t.equal([(row["time"], row["cpu"], row["weight"], row["mode"], stack_of(document, row["stack"]))
             for row in document["cpu_samples"]],
            [(7000, 3, 1, "unknown", []), (7100, 3, 1, "kernel", ["[prog]", "ioctl", "do_syscall_64"]),
             (7200, 3, 1, "user", ["main", "work"])], "samples")
    t.equal([(row["time"], row["previous"] != 0, row["next"] != 0, row["reason"]) for row in document["switches"]],
            [(7300, True, False, "blocked"), (7400, False, True, "not_known")], "switches")

with t.case("chains that are counted from 0 in the calls, as nsys 2021 does"):
    rows = [(table, dict(row, callchainId=0) if row.get("callchainId") == 1 and "RUNTIME" in table else row)
            for table, row in ALL]
    document = document_of(imported(database("shifted.sqlite", rows)))
    launch = [row for row in document["launches"] if row["function"] == "cudaLaunchKernel"][0]
    t.equal(stack_of(document, launch["stack"]), ["main", "work"], "stack")

with t.case("ranges, overheads, memory and metrics"):
    trace = imported(database("all.sqlite", ALL))
    document = document_of(trace)
    ranges = {row["name"]: row for row in document["ranges"]}
    domain = {name: (row["domain"], row["type"]) for name, row in ranges.items()}
    t.equal(domain, {"registered text": ("mylib", "start_stop"), "here": ("mylib", "mark"),
                     "open": ("NVTX", "push_pop"), "Command Buffer Full": ("CUPTI", "start_stop")}, "domains and types")
    t.equal((ranges["registered text"]["payload"], ranges["here"]["payload"]), ("7", "{\"bytes\": 64}"), "payloads")
    t.equal((ranges["registered text"]["category"], ranges["registered text"]["colour"]), ("io", 0xff112233), "category")
    t.true(ranges["open"]["end"] >= 7400 and "1 range without an end" in notes_of(trace), "an open range")
    full = t.report(trace)["command_buffer_full"]
    t.equal((full["launches"], full["ns"]), (1, 60), "command buffer full")
    series = {row["metric"]: row["id"] for row in document["series"]}
    values = {name: [row["value"] for row in document["counters"] if row["series"] == number]
              for name, number in series.items()}
    t.equal(values, {"gpu.memory.allocated": [1000, 600], "nsys.sms_active": [10, 90]}, "counters")

with t.case("overheads of the profiler itself have a thread, and are not the driver's"):
    t.wanted()
    main = thread(PID, TID)
    overhead = "CUPTI_ACTIVITY_KIND_OVERHEAD"
    rows = [(overhead, dict(start=3000 + 10 * kind, end=3000 + 11 * kind, globalTid=main, nameId=0, overheadType=kind)) for kind in range(2, 11)]
    rows += [("PROFILER_OVERHEAD", dict(start=3200, end=3250, globalTid=main, nameId=ID["TLS allocation"], overheadType=0)),
             ("PROFILER_OVERHEAD", dict(start=3300, end=3307, globalTid=thread(PID, 0), nameId=ID["TLS allocation"], overheadType=0))]
    trace = imported(database("overheads.sqlite", ALL + rows, {**TABLES, "PROFILER_OVERHEAD": TABLES[overhead]}))
    document = document_of(trace)
    tids = {row["id"]: row["tid"] for row in document["threads"]}
    held = {row["end"] - row["begin"]: tids.get(row["thread"], 0) for row in document["ranges"] if row.get("category") == "profiler overhead"}
    t.equal(held, {3: TID, 4: TID, 5: TID, 9: TID, 10: TID, 50: TID, 7: 0}, "lengths and threads of the profiler's")
    t.equal(t.report(trace)["profiler_overhead"], {"count": 6, "ns": 3 + 4 + 5 + 9 + 10 + 50, "threadless": 1, "threadless_ns": 7}, "their sums")

with t.case("a file is recognized; several files become one trace"):
    paths = []
    for number in range(2):
        tables = dict(TABLES, TARGET_INFO_SESSION_START_TIME="utcEpochNs INTEGER, utcTime TEXT")
        paths.append(database(f"rank{number}.sqlite", ALL, tables, [
            f"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES({10 ** 18 + number * 5000}, '')"]))
    trace = t.path("both.duet")
    result = run([DUET, "import", "-o", trace, *paths])
    t.equal(result.status, 0, text(result.stderr))
    document = document_of(trace)
    enters = sorted(row["enter"] for row in document["launches"] if row["function"] == "cudaLaunchKernel")
    t.equal(enters, [10 ** 18 + 1000, 10 ** 18 + 6000], "times of both files in one clock")
    t.equal((len(document["devices"]), len(document["processes"])), (1, 4), "the same GPU, other processes")
    t.true("2001-09-09" in text(run([DUET, "info", trace]).stdout), "date")
    result = run([DUET, "import", "-o", trace, paths[0], database("all.sqlite", ALL)])
    t.true(result.status == 1 and "do not count from a known time" in text(result.stderr), text(result.stderr))

with t.case("operators of PyTorch are calls in the operators around them"):
    document = document_of(imported(database("all.sqlite", ALL)))
    t.equal([(row["begin"], row["end"], row["function"], stack_of(document, row["stack"]))
             for row in document["calls"] if row["type"] == 4],
            [(950, 3800, "aten::linear", ["aten::linear"]), (955, 2250, "aten::mm", ["aten::linear", "aten::mm"]),
             (2260, 2290, "aten::add", ["aten::linear", "aten::add"])], "operators")

with t.case("the environment is not imported"):
    trace = imported(database("all.sqlite", ALL))
    for form in ("jsonl", "json", "text"):
        t.true("hunter2" not in text(run([DUET, "export", "-f", form, trace]).stdout), form)

with t.case("before a migration, what the thread did that calls most, and no loop of migrations"):
    main, other = thread(PID, TID), thread(PID, OTHER)
    rows = [("StringIds", dict(id=number, value=value)) for number, value in enumerate(STRINGS)]
    calls = [(100, 200, main, "cudaLaunchKernel_v7000", 1), (300, 310, other, "cudaMalloc_v3020", 2),
             (400, 900, main, "cudaMalloc_v3020", 3), (5000, 5100, main, "cudaLaunchKernel_v7000", 4)]
    rows += [("CUPTI_ACTIVITY_KIND_RUNTIME", dict(start=start, end=end, eventClass=0, globalTid=caller, correlationId=number,
                                                  nameId=ID[name], returnValue=0)) for start, end, caller, name, number in calls]
    place = dict(deviceId=0, contextId=1, streamId=7, globalPid=thread(PID, 0))
    rows += [("CUPTI_ACTIVITY_KIND_KERNEL", dict(place, start=start, end=end, correlationId=number, shortName=ID["saxpy"],
                                                 demangledName=ID["saxpy"])) for start, end, number in [(200, 300, 1), (5200, 5300, 4)]]
    rows += [("CUPTI_ACTIVITY_KIND_MEMCPY", dict(place, start=start, end=start + 10, streamId=0, correlationId=0, bytes=4096,
                                                 copyKind=12, srcKind=4, dstKind=4)) for start in range(1000, 4000, 100)]
    trace = imported(database("migrations.sqlite", rows))
    report = t.report(trace)
    causes = {name: value for name, value in report["devices"][0]["idle_causes"].items() if value}
    # outside of calls: 300 to 400, 900 to 1000, 29 gaps of 90, 3910 to 5000
    t.equal(causes, {"api_call": 500, "host": 100 + 100 + 29 * 90 + 1090, "runtime": 200, "latency": 100}, "causes of idle time")
    t.true("iterations" not in report or not report["iterations"].get("count"), "migrations are no iterations")
    without = [row for row in rows if row[0] != "CUPTI_ACTIVITY_KIND_RUNTIME"]
    document = document_of(imported(database("migrations.sqlite", without)))
    t.equal({row["function"] for row in document["launches"]}, {"(not in the file)"}, "a process without calls")

with t.case("any table may be absent, empty or reduced"):
    names = [name for name in TABLES if name != "StringIds"]
    whole = facts_of_file(database("all.sqlite", ALL))
    for name in names:
        path = database("less.sqlite", ALL, {key: value for key, value in TABLES.items() if key != name})
        t.equal(facts_of_trace(imported(path)), facts_of_file(path), f"without {name}")
    imported(database("empty.sqlite", []))
    imported(database("bare.sqlite", ALL, {"StringIds": TABLES["StringIds"]}))
    # each column of the tables of CUDA, except the times
    for name in names:
        columns = TABLES[name].split(", ")
        for column in columns[2:]:
            reduced = dict(TABLES, **{name: ", ".join(one for one in columns if one != column)})
            result = run([DUET, "import", "-f", "nsys", "-o", t.path("out.duet"), database("less.sqlite", ALL, reduced)])
            t.equal(result.status, 0, f"{name} without {column}: {result.stderr}")
            t.equal([line for line in text(result.stderr).splitlines()
                     if "left out" in line and not line.endswith(f"left out table {name}: no such column: {column.split()[0]}")], [],
                    f"{name} without {column}")
    path = database("less.sqlite", ALL, dict(TABLES, CUPTI_ACTIVITY_KIND_RUNTIME="start INTEGER, end INTEGER"))
    trace = imported(path, faults="left out table CUPTI_ACTIVITY_KIND_RUNTIME: no such column: correlationId")
    t.true("(not in the file)" in {row["function"] for row in document_of(trace)["launches"]}, "commands without calls")
    refused(database("less.sqlite", ALL, dict(TABLES, StringIds="id INTEGER")), "table StringIds: no such column: value")

with t.case("tables reduced by another program"):
    tables = {"StringIds": TABLES["StringIds"],
              "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, correlationId INTEGER, globalTid INTEGER, nameId INTEGER",
              "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, "
                                            "correlationId INTEGER, shortName INTEGER",
              "TARGET_INFO_GPU": "id INTEGER, name TEXT"}
    rows = [(table, row) for table, row in ALL if row.get("globalTid", PID << 24) >> 24 & 0xffffff == PID
            and row.get("eventClass") != 67]
    trace = imported(database("reduced.sqlite", rows, tables, [
        "CREATE TABLE EXTRA_STUFF(a); CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT * FROM EXTRA_STUFF"]))
    document = document_of(trace)
    t.equal(sorted((row["function"], row["exit"]) for row in document["launches"] if row["enter"] == 1000),
            [("cudaLaunchKernel", 1100)], "joined without the kernel's process")
    t.equal({row["name"] for row in document["code"]}, {"saxpy", "gemm"}, "short names")

with t.case("old files: oldest tables of GPUs, no versions"):
    tables = dict(TABLES, TARGET_INFO_GPU="vmId INTEGER, deviceId INTEGER, name TEXT, busLocation TEXT",
                  EXPORT_META_DATA="name TEXT, value TEXT")
    del tables["META_DATA_EXPORT"], tables["TARGET_INFO_CUDA_DEVICE"]
    rows = ALL + [("TARGET_INFO_GPU", dict(deviceId=0, name="Old GPU", busLocation="0000:99:00.0"))]
    report = t.report(imported(database("old.sqlite", rows, tables)))
    t.equal([(row["name"], row["key"]) for row in report["devices"]], [("Old GPU", "0000:99:00.0")], "devices")

with t.case("devices of the same number in two processes are two devices"):
    rows = ALL + [("CUPTI_ACTIVITY_KIND_KERNEL", dict(start=8000, end=8100, deviceId=0, contextId=1, streamId=7, correlationId=1,
                                                      globalPid=thread(OTHER, 0), demangledName=ID["gemm"]))]
    tables = {key: value for key, value in TABLES.items() if not key.startswith("TARGET_INFO")}
    path = database("two.sqlite", rows, tables)
    trace = imported(path)
    t.equal(facts_of_trace(trace), facts_of_file(path), "facts")
    t.equal(len(t.report(trace)["devices"]), 2, "devices")

with t.case("launches of a file without commands are untimed"):
    tables = {key: value for key, value in TABLES.items()
              if key not in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")}
    trace = imported(database("calls.sqlite", ALL, tables))
    document = document_of(trace)
    t.equal({(row["function"], row["flags"]) for row in document["launches"]},
            {("cudaLaunchKernel", 2), ("cudaMemcpy", 2), ("cudaGraphLaunch", 2), ("cudaMemsetAsync", 2)}, "launches")
    t.equal([("started" in row, "ended" in row) for row in document["executions"]], [(False, False)] * 4, "executions")
    t.equal(document["begin_ns"], 800, "the window starts at the first row")
    t.true("not measured: no device times" in text(run([DUET, "report", trace]).stdout), "report")

with t.case("slices of a GPU (MIG) are devices of their own"):
    slices = ["MIG-1111", "MIG-2222"]
    rows = [row for row in ALL if row[0] not in ("TARGET_INFO_CUDA_DEVICE", "CUPTI_ACTIVITY_KIND_KERNEL")]
    rows += [("TARGET_INFO_CUDA_DEVICE", dict(gpuId=3, cudaId=number, pid=PID, uuid=uuid, numMultiprocessors=4 + number))
             for number, uuid in enumerate(slices)]
    rows += [("CUPTI_ACTIVITY_KIND_KERNEL", dict(start=1200 + number, end=2200, deviceId=number, contextId=1, streamId=7,
                                                 correlationId=number, globalPid=thread(PID, 0), demangledName=ID["gemm"]))
             for number in range(2)]
    tables = dict(TABLES, TARGET_INFO_CUDA_DEVICE=TABLES["TARGET_INFO_CUDA_DEVICE"] + ", numMultiprocessors INTEGER")
    document = document_of(imported(database("mig.sqlite", rows, tables)))
    devices = by_id(document["devices"])
    whole = next(row for row in document["devices"] if row["key"] == UUID)
    t.equal([(row["name"], row["key"], row["compute_units"], row.get("parent")) for row in document["devices"] if row is not whole],
            [("Test GPU MIG", "MIG-1111", 4, whole["id"]), ("Test GPU MIG", "MIG-2222", 5, whole["id"])], "slices")
    t.equal((whole["name"], whole["compute_units"], whole.get("parent")), ("Test GPU", 10, None), "the whole GPU")
    queues = by_id(document["queues"])
    t.equal([devices[queues[row["queue"]]["device"]]["key"] for row in document["executions"] if row["ended"] == 2200],
            slices, "devices of the kernels")
    # the UUID of the whole GPU is no slice, however it is spelled
    for uuid in (UUID, "GPU-" + UUID, UUID.upper(), UUID.replace("-", "")):
        rows = [row for row in ALL if row[0] != "TARGET_INFO_CUDA_DEVICE"] + [
            ("TARGET_INFO_CUDA_DEVICE", dict(gpuId=3, cudaId=0, pid=PID, uuid=uuid))]
        t.equal([row["name"] for row in document_of(imported(database("mig.sqlite", rows)))["devices"]], ["Test GPU"], f"devices: {uuid}")

with t.case("page faults of managed memory are metrics"):
    tables = dict(TABLES, CUDA_UM_CPU_PAGE_FAULT_EVENTS="start INTEGER, globalPid INTEGER, address INTEGER",
                  CUDA_UM_GPU_PAGE_FAULT_EVENTS="start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER, "
                                                "numberOfPageFaults INTEGER, faultAccessType INTEGER")
    rows = ALL + [("CUDA_UM_CPU_PAGE_FAULT_EVENTS", dict(start=time, globalPid=thread(PID, 0))) for time in (5000, 5007, 5007)]
    rows += [("CUDA_UM_GPU_PAGE_FAULT_EVENTS", dict(start=start, end=start + 20, globalPid=thread(PID, 0), deviceId=0, numberOfPageFaults=count))
             for start, count in ((5100, 64), (5200, 36))]
    document = document_of(imported(database("faults.sqlite", rows, tables)))
    series = {row["id"]: row for row in document["series"] if "faults" in row["metric"]}
    t.equal(sorted((series[row["series"]]["metric"], row["begin"], row["end"], row["value"]) for row in document["counters"] if row["series"] in series),
            [("gpu.memory.faults", 5100, 5120, 64), ("gpu.memory.faults", 5200, 5220, 36)] +
            [("memory.managed.faults", 4999, 5000, 1), ("memory.managed.faults", 5000, 5007, 2)], "counters")
    report = t.report(t.path("imported.duet"))
    t.equal({row["name"]: row["sum"] for row in report["metrics"] if "faults" in row["name"]},
            {"gpu.memory.faults": 100, "memory.managed.faults": 3}, "sums of the report")

COMMUNICATOR = 0xfedcba9876543210
SCHEMAS = {16777218: ((18, "NCCL communicator ID", None), (5, "No. of ranks", 8), (5, "Rank", 12), (5, "CUDA device", 16)),
           16777223: ((18, "NCCL communicator ID", None), (22, "Message size [bytes]", 8), (16777232, "Reduction operation", 16))}


def payload_of(schema, *values):
    """As Nsight Systems 2026 writes it: 32 bytes, then the fields."""
    data = struct.pack("<QQQ" if schema == 16777223 else "<QIIQ", *values)
    return struct.pack("<IIIIQQ", 1, 0, schema, 0, len(data), 32 + len(data)) + data


def nccl_rows(form):
    """Two ranks: an all-reduce in its function, a group of two, a kernel without a range, one of a name without an operation."""
    rows, names = [], ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic(x)"]
    rows += [("StringIds", dict(id=1000 + number, value=name)) for number, name in enumerate(names)]
    for schema, entries in SCHEMAS.items():
        rows += [("NVTX_PAYLOAD_SCHEMA_ENTRIES", dict(domainId=1, schemaId=schema, idx=index, type=kind, name=name, offset=offset))
                 for index, (kind, name, offset) in enumerate(entries)]
    for rank, pid in enumerate((PID, OTHER)):
        own = thread(pid, pid)

        def nvtx(text, start, end, schema=None, *values):
            data = payload_of(schema, *values) if schema and form != "json" else None
            names = [name for _, name, _ in SCHEMAS[schema]] if schema else []
            rows.append(("NVTX_EVENTS", dict(start=start, end=end, eventType=59, text=text, globalTid=own, domainId=1,
                                             binaryData=data.hex() if data and form == "hex" else data,
                                             jsonText=json.dumps(dict(zip(names, values))) if schema and form == "json" else None)))

        def kernel(correlation, enter, start, name):
            rows.append(("CUPTI_ACTIVITY_KIND_RUNTIME", dict(start=enter, end=enter + 5, eventClass=0, globalTid=own, correlationId=correlation,
                                                             nameId=ID["cudaLaunchKernel"], returnValue=0)))
            rows.append(("CUPTI_ACTIVITY_KIND_KERNEL", dict(start=start + 10 * rank, end=start + 100, deviceId=rank, contextId=1, streamId=7,
                                                            correlationId=correlation, globalPid=thread(pid, 0), demangledName=1000 + name)))

        nvtx("ncclCommInitRank", 10, 90, 16777218, COMMUNICATOR, 2, rank, rank)
        nvtx("ncclAllReduce", 100, 150, 16777223, COMMUNICATOR, 4096, 0)
        kernel(1, 120, 1000, 0)
        nvtx("ncclAllReduce", 160, 170, 16777223, COMMUNICATOR, 7, 0)  # its kernel is not in the file
        nvtx("ncclGroupStart", 200, 205)
        nvtx("ncclAllReduce", 210, 220, 16777223, COMMUNICATOR, 1000, 0)
        nvtx("ncclAllReduce", 230, 240, 16777223, COMMUNICATOR, 24, 0)
        nvtx("ncclGroupEnd", 250, 290)
        kernel(2, 260, 2000, 1)
        kernel(3, 400, 3000, 0)
        nvtx("ncclAllReduce", 500, 550, 16777223, COMMUNICATOR, 8, 0)
        kernel(4, 520, 4000, 0)  # which number it has depends on the communicator of the one before
    return rows


with t.case("collective operations of NCCL have communicator, size and rank of the ranges"):
    tables = dict(TABLES, NVTX_EVENTS=TABLES["NVTX_EVENTS"] + ", jsonText TEXT, binaryData TEXT",
                  NVTX_PAYLOAD_SCHEMA_ENTRIES="domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT, offset INTEGER")
    strings = [row for row in ALL if row[0] == "StringIds"]
    for form in ("binary", "hex", "json"):
        path = imported(database("nccl.sqlite", strings + nccl_rows(form), tables))
        document = document_of(path)
        processes = {row["id"]: row["pid"] for row in document["processes"]}
        t.equal(sorted((processes[row["process"]], row["begin"], row["name"], row["communicator"], row.get("sequence"), row.get("bytes"),
                        row.get("rank"), row.get("rank_count")) for row in document["collectives"] if row["communicator"]),
                [(pid, start + 10 * rank, "allreduce", "fedcba9876543210", number, size, rank, 2)
                 for rank, pid in enumerate((PID, OTHER))
                 for number, start, size in ((1, 1000, 4096), (2, 2000, 1024), (None, 4000, 8))], form)
        t.equal([row["begin"] for row in document["collectives"] if not row["communicator"]], [3000, 3010], "a kernel without a range")
        whole = t.report(path)["collectives"]
        t.equal((whole["operations"], whole["waited_ns"]), (2, 20), "the report")
    damaged = [(table, dict(row, binaryData=row["binaryData"][:40]) if row.get("binaryData") else row) for table, row in nccl_rows("binary")]
    document = document_of(imported(database("nccl.sqlite", strings + damaged, tables)))
    t.equal({row["communicator"] for row in document["collectives"]}, {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_Generic"},
            "without payloads the kernel names the communicator")

with t.case("texts that are not UTF-8"):
    path = database("latin.sqlite", ALL, scripts=[
        "UPDATE StringIds SET value = CAST(x'67e96d6d' AS TEXT) WHERE value = 'gemm'",
        "UPDATE PROCESSES SET name = CAST(x'2f7265ff6e65' AS TEXT)"])
    trace = imported(path)
    t.true(any("mm" in row["name"] for row in t.report(trace)["kernels"]), "the kernel is there")

with t.case("invalid rows are left out"):
    for script, expected in (
            ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 5 WHERE start = 1200", "table CUPTI_ACTIVITY_KIND_KERNEL"),
            ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9 WHERE start = 1200", "'-9'"),
            ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = 'soon' WHERE start = 1000", "'soon'"),
            ("UPDATE OSRT_API SET end = NULL", "table OSRT_API, row 1"),
            ("UPDATE COMPOSITE_EVENTS SET start = 'x' WHERE id = 2", "table COMPOSITE_EVENTS, row 2"),
            ("UPDATE SCHED_EVENTS SET start = NULL", "table SCHED_EVENTS"),
            ("UPDATE NVTX_EVENTS SET start = NULL WHERE eventType = 59", "table NVTX_EVENTS")):
        imported(database("faulty.sqlite", ALL, scripts=[script]), faults=expected)

with t.case("numbers of any size and texts instead of numbers"):
    for value in ("9223372036854775807", "-9223372036854775808", "'text'", "1.5", "NULL", "x'00'"):
        for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                      "CUDA_CALLCHAINS", "NVTX_EVENTS", "SAMPLING_CALLCHAINS", "CUDA_GPU_MEMORY_USAGE_EVENTS", "GPU_METRICS",
                      "TARGET_INFO_GPU_METRICS", "TARGET_INFO_CUDA_DEVICE", "SCHED_EVENTS"):
            columns = [column.split()[0] for column in TABLES[table].split(", ")]
            odd = database("odd.sqlite", ALL, scripts=[f"UPDATE {table} SET " + ", ".join(
                f"{column} = {value}" for column in columns if column not in ("start", "end", "timestamp"))])
            result = run([DUET, "import", "-f", "nsys", "-o", t.path("odd.duet"), odd], preexec_fn=small)
            t.equal(result.status, 0, f"{table} {value}: {text(result.stderr)}")
            run([DUET, "report", t.path("odd.duet")])

# ---- other files ---------------------------------------------------------------------------------


with t.case("other files are refused"):
    for name, content in (("report.nsys-rep", b"NVIDIA\x00" * 200), ("empty", b""), ("short", b"SQLite")):
        with open(t.path(name), "wb") as file:
            file.write(content)
        refused(t.path(name), "nsys export --type sqlite")
    refused(database("other.sqlite", [], {"OTHER": "a"}), "no such table: StringIds")

with t.case("nothing of the file is executed"):
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS start, x + 5 AS end, x AS id FROM c"
    for name in ("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS", "OSRT_API", "PROCESSES", "CUDA_CALLCHAINS"):
        imported(database("view.sqlite", ALL, scripts=[f"DROP TABLE {name}; CREATE VIEW {name} AS {endless}"]))
    refused(database("view.sqlite", [], {}, [f"CREATE VIEW StringIds AS {endless}"]), "no such table: StringIds")
    refused(database("slow.sqlite", ALL, dict(TABLES, StringIds="id INTEGER, value TEXT"), [
        "WITH RECURSIVE c(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM c WHERE x < 9000) INSERT INTO StringIds SELECT x, x FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 100 UNION ALL SELECT x + 1 FROM c WHERE x < 9000) INSERT INTO OSRT_API(start, end, "
        f"globalTid, nameId) SELECT x, x + 1, {thread(PID, TID)}, x FROM c"]), "steps")

with t.case("rows that share one text of the file"):
    path = database("shared.sqlite", ALL, {"StringIds": TABLES["StringIds"], "NVTX_EVENTS": TABLES["NVTX_EVENTS"]}, [
        "PRAGMA page_size = 65536; VACUUM; DELETE FROM NVTX_EVENTS; INSERT INTO NVTX_EVENTS(start, end, eventType, text, "
        f"globalTid) SELECT 1, 2, 59, printf('%.*c', 1000000, 'x'), {thread(PID, TID)}",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) INSERT INTO NVTX_EVENTS(start) "
        "SELECT x FROM c"])
    imported(path)
    connection = sqlite3.connect(path)
    page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone()[0]
    connection.close()
    with open(path, "r+b") as file:
        file.seek((page - 1) * 65536)
        head = file.read(10)
        t.equal((head[0], int.from_bytes(head[3:5], "big")), (13, 2001), "one leaf has all rows")
        file.write(head[8:] * 2000)  # the place of each further row is that of the first one
    refused(path, "table NVTX_EVENTS: SQLite did not finish in")

with t.case("cut and damaged files"):
    path = database("all.sqlite", ALL)
    size = os.path.getsize(path)
    random.seed(7)
    for number in range(60):
        bad = t.path("damaged.sqlite")
        shutil.copy(path, bad)
        with open(bad, "r+b") as file:
            if number % 2:
                file.truncate(random.randrange(size))
            for _ in range(0 if number % 2 else 20):
                file.seek(random.randrange(16, size))
                file.write(bytes([random.randrange(256)]))
        result = run([DUET, "import", "-f", "nsys", "-o", t.path("damaged.duet"), bad], preexec_fn=small)
        t.true(result.status in (0, 1) and (not result.status or text(result.stderr).startswith("duet import: ")),
               f"{number}: {result.status} {text(result.stderr)}")

with t.case("a large file takes little memory"):
    path = database("large.sqlite", ALL, scripts=[
        "WITH RECURSIVE c(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < 101000) INSERT INTO "
        f"CUPTI_ACTIVITY_KIND_RUNTIME SELECT x * 100, x * 100 + 10, 0, {thread(PID, TID)}, 200000 - x, 4, 0, NULL FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < 101000) INSERT INTO "
        "CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName) "
        f"SELECT x * 100 + 20, x * 100 + 90, 0, 1, 7, 200000 - x, {thread(PID, 0)}, 3 FROM c"])
    trace = imported(path)
    t.equal(t.report(trace)["ledger"]["matched"], 100001 + 7, "joined whatever the order of the ids")

# ---- real recordings -----------------------------------------------------------------------------

RECORDINGS = os.environ.get("DUET_RECORDINGS", "")
REAL = sorted(glob.glob(os.path.join(RECORDINGS, "nsys", "*.sqlite*"))) if RECORDINGS else []

with t.case("recordings of real GPUs: facts equal those of a reader of our own"):
    if not REAL:
        raise duet_test.Skip("DUET_RECORDINGS names no folder with recordings")
    for real in REAL:
        path = t.path("real.sqlite")
        if real.endswith(".zst"):
            result = run(["zstd", "-dqf", real, "-o", path])
            t.equal(result.status, 0, text(result.stderr))
        else:
            shutil.copy(real, path)
        trace = imported(path, "real.duet")
        t.equal(facts_of_trace(trace), facts_of_file(path), os.path.basename(real))
        for device in t.report(trace)["devices"]:
            unknown = device["idle"].get("unknown_ns", 0) if isinstance(device.get("idle"), dict) else 0
            t.true(unknown <= device["wall_ns"] / 10, f"{os.path.basename(real)}: unknown idle time")

raise SystemExit(t.end())
