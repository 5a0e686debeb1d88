#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import -f nvvp: files of nvprof of several versions of CUDA, reduced, cut and hostile. Calls, commands and their links,
ranges, counters, and samples of instructions with the code that the file contains.
"""
import collections
import glob
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import struct

import duet_test
from duet_test import DUET, HERE, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

EPOCH = 1_500_000_000_000_000_000
PID, THREAD = 4711, 0x4A10E740
UUID = bytes(range(1, 17))
with open(os.path.join(HERE, "..", "golden", "cubin", "saxpy_sm_80.cubin"), "rb") as cubin:
    CUBIN = cubin.read()
# places of the instructions in saxpy
LDG, FFMA = 160, 192

STRINGS = ["saxpy", "second", "_Z4gemmPf", "Tesla P100-SXM2-16GB", "/opt/app/train", "loader", "copies", "forward", "nvtx domain",
           "/src/kernels/gemm.cu", "mark", "epoch", "gone"]
ID = {value: number + 1 for number, value in enumerate(STRINGS)}

# the columns of CUDA 11, without those that nothing reads
TABLES = {
    "StringTable": "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL UNIQUE",
    "Version": "version INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT, returnValue INT",
    "CUPTI_ACTIVITY_KIND_DRIVER": "cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT, returnValue INT",
    "CUPTI_ACTIVITY_KIND_KERNEL": "cacheConfig BLOB, registersPerThread INT, start INT, end INT, completed INT, deviceId INT, "
                                  "contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, "
                                  "blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, localMemoryPerThread INT, "
                                  "localMemoryTotal INT, correlationId INT, gridId INT, name INT, queued INT, submitted INT, "
                                  "launchType INT, graphNodeId INT, graphId INT",
    "CUPTI_ACTIVITY_KIND_CDP_KERNEL": "registersPerThread INT, start INT, end INT, deviceId INT, contextId INT, streamId INT, "
                                      "gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, correlationId INT, "
                                      "gridId INT, parentGridId INT, queued INT, submitted INT, completed INT, name INT",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "copyKind INT, srcKind INT, dstKind INT, flags INT, bytes INT, start INT, end INT, "
                                  "deviceId INT, contextId INT, streamId INT, correlationId INT, runtimeCorrelationId INT",
    "CUPTI_ACTIVITY_KIND_MEMCPY2": "copyKind INT, srcKind INT, dstKind INT, flags INT, bytes INT, start INT, end INT, "
                                   "deviceId INT, contextId INT, streamId INT, srcDeviceId INT, srcContextId INT, "
                                   "dstDeviceId INT, dstContextId INT, correlationId INT",
    "CUPTI_ACTIVITY_KIND_MEMSET": "value INT, bytes INT, start INT, end INT, deviceId INT, contextId INT, streamId INT, "
                                  "correlationId INT, flags INT, memoryKind INT",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "type INT, start INT, end INT, correlationId INT, contextId INT, streamId INT, "
                                           "cudaEventId INT",
    "CUPTI_ACTIVITY_KIND_DEVICE": "flags INT, globalMemorySize INT, numMultiprocessors INT, maxSharedMemoryPerMultiprocessor INT, "
                                  "id INT, uuid BLOB, name INT",
    "CUPTI_ACTIVITY_KIND_CONTEXT": "contextId INT, deviceId INT, computeApiKind INT, nullStreamId INT",
    "CUPTI_ACTIVITY_KIND_STREAM": "contextId INT, streamId INT, priority INT, flag INT",
    "CUPTI_ACTIVITY_KIND_NAME": "objectKind INT, objectId BLOB, name INT",
    "CUPTI_ACTIVITY_KIND_MARKER": "flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, domain INT",
    "CUPTI_ACTIVITY_KIND_MARKER_DATA": "flags INT, id INT, payloadKind INT, payload BLOB, color INT, category INT",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "overheadKind INT, objectKind INT, objectId BLOB, start INT, end INT",
    "CUPTI_ACTIVITY_KIND_ENVIRONMENT": "deviceId INT, timestamp INT, environmentKind INT, data BLOB",
    "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER": "counterKind INT, value INT, start INT, end INT, address INT, srcId INT, "
                                                  "dstId INT, streamId INT, processId INT, flags INT",
    "CUPTI_ACTIVITY_KIND_MODULE": "contextId INT, id INT, cubinSize INT, cubin BLOB",
    "CUPTI_ACTIVITY_KIND_FUNCTION": "id INT, contextId INT, moduleId INT, functionIndex INT, name INT",
    "CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR": "id INT, lineNumber INT, fileName INT",
    "CUPTI_ACTIVITY_KIND_PC_SAMPLING": "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, pcOffset INT, "
                                       "latencySamples INT, samples INT, stallReason INT",
    "CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO": "correlationId INT, totalSamples INT, droppedSamples INT, "
                                                   "samplingPeriodInCycles INT",
    "CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION": "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, "
                                                 "pcOffset INT, threadsExecuted INT, notPredOffThreadsExecuted INT, executed INT",
    "CUPTI_ACTIVITY_KIND_METRIC": "id INT, value BLOB, correlationId INT, flags INT",
}
KIND = "CUPTI_ACTIVITY_KIND_"

# CUPTI's numbers
RUNTIME = {"cudaLaunchKernel": 211, "cudaMemcpy": 31, "cudaDeviceSynchronize": 165, "cudaMalloc": 20, "cudaMemsetAsync": 51,
           "cudaEventQuery": 138, "cudaStreamSynchronize": 131, "cudaMemcpyPeerAsync": 161}
DRIVER = {"cuLaunchKernel": 307}


def pair(*words):
    return struct.pack("<3I", *(list(words) + [0] * 3)[:3])


def at(time):
    return EPOCH + time


def call(start, end, correlation, name, thread=THREAD, result=0, pid=PID):
    table = "RUNTIME" if name in RUNTIME else "DRIVER"
    number = {**RUNTIME, **DRIVER}[name]
    return (KIND + table, dict(cbid=number, start=at(start), end=at(end), processId=pid, threadId=thread,
                               correlationId=correlation, returnValue=result))


def kernel(start, end, correlation, name, table="KERNEL", **more):
    return (KIND + table, dict(dict(start=at(start), end=at(end), deviceId=0, contextId=1, streamId=7, correlationId=correlation,
                                    name=ID[name], gridX=10, gridY=2, gridZ=1, blockX=64, blockY=1, blockZ=1,
                                    registersPerThread=32, staticSharedMemory=16, dynamicSharedMemory=1024,
                                    localMemoryPerThread=8), **more))


def rows_of_all():
    rows = [("StringTable", dict(_id_=number, value=value)) for value, number in ID.items()]
    rows += [
        ("Version", dict(version=15)),
        (KIND + "DEVICE", dict(id=0, uuid=UUID, name=ID["Tesla P100-SXM2-16GB"], globalMemorySize=1 << 34,
                               numMultiprocessors=56, maxSharedMemoryPerMultiprocessor=65536)),
        (KIND + "CONTEXT", dict(contextId=1, deviceId=0, computeApiKind=1, nullStreamId=7)),
        (KIND + "CONTEXT", dict(contextId=2, deviceId=1, computeApiKind=1, nullStreamId=7)),
        (KIND + "STREAM", dict(contextId=1, streamId=7, priority=0, flag=1)),
        (KIND + "NAME", dict(objectKind=1, objectId=pair(PID), name=ID["/opt/app/train"])),
        (KIND + "NAME", dict(objectKind=2, objectId=pair(PID, THREAD), name=ID["loader"])),
        (KIND + "NAME", dict(objectKind=5, objectId=pair(0, 1, 13), name=ID["copies"])),
        # a kernel of the runtime, whose call calls the driver
        call(1000, 1100, 10, "cudaLaunchKernel"),
        call(1010, 1090, 11, "cuLaunchKernel"),
        kernel(1200, 2200, 10, "saxpy", queued=at(1020), submitted=at(1150), launchType=1),
        # a copy that its call waits for, in a stream with a name
        call(2300, 3500, 12, "cudaMemcpy"),
        (KIND + "MEMCPY", dict(start=at(2400), end=at(3400), deviceId=0, contextId=1, streamId=13, correlationId=12,
                               runtimeCorrelationId=0, bytes=4096, copyKind=2, srcKind=3, dstKind=1, flags=0)),
        # calls that wait, and one that does not
        call(3600, 3700, 13, "cudaDeviceSynchronize"),
        (KIND + "SYNCHRONIZATION", dict(start=at(3610), end=at(3690), type=4, correlationId=13, contextId=1,
                                        streamId=0xffffffff)),
        call(3710, 3720, 14, "cudaEventQuery", result=600),
        (KIND + "SYNCHRONIZATION", dict(start=at(3711), end=at(3719), type=1, correlationId=14, contextId=1, streamId=7)),
        call(3730, 3740, 15, "cudaStreamSynchronize"),
        (KIND + "SYNCHRONIZATION", dict(start=at(3731), end=at(3739), type=3, correlationId=15, contextId=1, streamId=7)),
        # two kernels that a kernel launched
        call(4000, 4100, 16, "cudaLaunchKernel"),
        kernel(4200, 4900, 16, "_Z4gemmPf", graphNodeId=77, graphId=5),
        kernel(4300, 4400, 16, "second", "CDP_KERNEL", parentGridId=1),
        # a copy between devices, a fill
        call(5000, 5010, 17, "cudaMemcpyPeerAsync"),
        (KIND + "MEMCPY2", dict(start=at(5020), end=at(5120), deviceId=0, contextId=1, streamId=7, correlationId=17, bytes=256,
                                copyKind=10, srcKind=3, dstKind=3, srcDeviceId=0, dstDeviceId=1)),
        call(5200, 5210, 18, "cudaMemsetAsync"),
        (KIND + "MEMSET", dict(start=at(5220), end=at(5270), deviceId=0, contextId=1, streamId=7, correlationId=18, value=0,
                               bytes=512, memoryKind=3)),
        # calls of no launch, one of which failed
        call(5300, 5400, 0, "cudaMalloc"),
        call(5410, 5420, 0, "cudaMalloc", thread=1234, result=2),
        # unified memory: two migrations, faults, thrashing
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=1, value=65536, start=at(5500), end=at(5600), srcId=0xffffffff, dstId=0,
                                               processId=PID, flags=2)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=2, value=8192, start=at(5700), end=at(5750), srcId=0, dstId=0xffffffff,
                                               processId=PID, flags=4)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=3, value=0x7f0000001000, start=at(5400), end=0, processId=PID)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=4, value=12, start=at(5410), end=at(5420), srcId=0, processId=PID)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=4, value=3, start=at(5510), end=at(5520), srcId=0, processId=PID)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=3, value=0x7f0000002000, start=at(5400), end=0, processId=PID)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=3, value=0x7f0000003000, start=at(5450), end=0, processId=PID)),
        (KIND + "UNIFIED_MEMORY_COUNTER", dict(counterKind=5, value=1, start=at(5530), end=0, processId=PID)),
        # ranges: pushed and popped, of two threads, a mark, an open one, an end alone
        (KIND + "MARKER", dict(flags=2, timestamp=at(900), id=1, objectKind=2, objectId=pair(PID, THREAD), name=ID["forward"],
                               domain=ID["nvtx domain"])),
        (KIND + "MARKER", dict(flags=4, timestamp=at(3800), id=1, objectKind=2, objectId=pair(PID, THREAD), name=0, domain=0)),
        (KIND + "MARKER_DATA", dict(flags=2, id=1, payloadKind=1, payload=struct.pack("<Q", 7), color=0xff112233, category=3)),
        (KIND + "MARKER", dict(flags=2, timestamp=at(910), id=2, objectKind=2, objectId=pair(PID, THREAD), name=ID["epoch"],
                               domain=0)),
        (KIND + "MARKER", dict(flags=4, timestamp=at(3810), id=2, objectKind=2, objectId=pair(PID, 1234), name=0, domain=0)),
        (KIND + "MARKER_DATA", dict(flags=1, id=2, payloadKind=0, payload=struct.pack("<d", 0.5), color=5, category=0)),
        (KIND + "MARKER", dict(flags=1, timestamp=at(920), id=3, objectKind=2, objectId=pair(PID, THREAD), name=ID["mark"],
                               domain=0)),
        (KIND + "MARKER", dict(flags=2, timestamp=at(930), id=4, objectKind=1, objectId=pair(PID), name=ID["gone"], domain=0)),
        (KIND + "MARKER", dict(flags=4, timestamp=at(940), id=5, objectKind=2, objectId=pair(PID, THREAD), name=0, domain=0)),
        (KIND + "OVERHEAD", dict(overheadKind=6 << 16, objectKind=2, objectId=pair(PID, THREAD), start=at(1020), end=at(1080))),
        (KIND + "OVERHEAD", dict(overheadKind=1, objectKind=3, objectId=pair(0), start=at(1082), end=at(1088))),
        (KIND + "ENVIRONMENT", dict(deviceId=0, timestamp=at(1500), environmentKind=1, data=struct.pack("<5I", 1328, 715, 3, 16, 0))),
        (KIND + "ENVIRONMENT", dict(deviceId=0, timestamp=at(1510), environmentKind=2, data=struct.pack("<5I", 41, 0, 0, 0, 0))),
        (KIND + "ENVIRONMENT", dict(deviceId=0, timestamp=at(1520), environmentKind=3,
                                    data=struct.pack("<5I", 99000, 300000, 0, 0, 0))),
        (KIND + "ENVIRONMENT", dict(deviceId=0, timestamp=at(1530), environmentKind=4, data=struct.pack("<5I", 35, 0, 0, 0, 0))),
        # code: saxpy has a cubin, gemm a place in the source
        (KIND + "MODULE", dict(contextId=1, id=1, cubinSize=len(CUBIN), cubin=CUBIN)),
        (KIND + "MODULE", dict(contextId=1, id=2, cubinSize=4, cubin=b"none")),
        (KIND + "FUNCTION", dict(id=1, contextId=1, moduleId=1, functionIndex=14, name=ID["saxpy"])),
        (KIND + "FUNCTION", dict(id=2, contextId=1, moduleId=2, functionIndex=3, name=ID["_Z4gemmPf"])),
        (KIND + "SOURCE_LOCATOR", dict(id=9, lineNumber=12, fileName=ID["/src/kernels/gemm.cu"])),
        (KIND + "PC_SAMPLING_RECORD_INFO", dict(correlationId=10, totalSamples=107, droppedSamples=7, samplingPeriodInCycles=1024)),
        (KIND + "METRIC", dict(id=1, value=b"\0" * 8, correlationId=10, flags=0)),
    ]
    for correlation, function, locator, offset, samples, latency, stall in (
            (10, 1, 0, LDG, 60, 40, 4), (10, 1, 0, LDG, 10, 0, 1), (10, 1, 0, FFMA, 30, 30, 3), (16, 2, 9, 64, 5, 0, 6),
            (16, 2, 9, 64, 0, 0, 7), (16, 99, 0, 8, 2, 1, 11)):
        rows.append((KIND + "PC_SAMPLING", dict(flags=0, sourceLocatorId=locator, correlationId=correlation, functionId=function,
                                                pcOffset=offset, samples=samples, latencySamples=latency, stallReason=stall)))
    return rows


def database(name, rows, tables=None, scripts=()):
    path = t.path(name)
    if os.path.exists(path):
        os.unlink(path)
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;")
    tables = TABLES if tables is None else tables
    for table, columns in tables.items():
        connection.execute(f"CREATE TABLE {table}({columns})")
    for table, row in rows:
        if table in tables:
            columns = {column.split()[0] for column in tables[table].split(", ")}
            kept = {key: value for key, value in row.items() if key in columns}
            connection.execute(f"INSERT INTO {table}({', '.join(kept)}) VALUES({', '.join('?' * len(kept))})",
                               list(kept.values()))
    for script in scripts:
        connection.executescript(script)
    connection.commit()
    connection.close()
    return path


def small():
    """5 s of processor time, 64 MiB of memory."""
    duet_test.default_signals()
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))


def imported(path, output="imported.duet", faults=""):
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "--format", "nvvp", "-o", out, path], preexec_fn=small)
    t.equal(result.status, 0, f"duet import: {text(result.stderr)}")
    t.true(faults in text(result.stderr) and (faults or "left out" not in text(result.stderr)), text(result.stderr))
    return out


TIMES = {"begin", "end", "enter", "exit", "started", "ended", "time", "queued", "submitted"}


def document_of(path, origin=EPOCH):
    """All rows; times from `origin` on."""
    result = run([DUET, "export", "-f", "json", path])
    t.equal(result.status, 0, text(result.stderr))
    document = json.loads(result.stdout)
    for rows in (rows for rows in document.values() if isinstance(rows, list)):
        for row in rows:
            for key in TIMES & set(row):
                row[key] += document["begin_ns"] - origin
    return document


def by_id(rows):
    return {row["id"]: row for row in rows}


def notes_of(path):
    result = run([DUET, "info", "--json", path])
    return "".join(row["reason"] for row in json.loads(result.stdout)["collectors"] if row["name"] == "import")


def commands_of(document):
    """(name, start, end, function of the call) of each command."""
    code = by_id(document["code"])
    launches = {row["correlation"]: row for row in document["launches"]}
    found = []
    for row in document["executions"]:
        launch = launches[row["correlation"]]
        name = code[launch["kernel"]]["name"] if launch["command"] == "kernel" else launch["command"]
        found.append((row["started"], row["ended"], name, launch["function"]))
    return sorted(found)


ALL = rows_of_all()
COMMANDS = [(1200, 2200, "saxpy", "cudaLaunchKernel"), (2400, 3400, "read", "cudaMemcpy"),
            (4200, 4900, "_Z4gemmPf", "cudaLaunchKernel"), (4300, 4400, "second", "cudaLaunchKernel"),
            (5020, 5120, "copy", "cudaMemcpyPeerAsync"), (5220, 5270, "fill", "cudaMemsetAsync"),
            (5500, 5600, "migrate", "(unified memory)"), (5700, 5750, "migrate", "(unified memory)")]

with t.case("calls, commands and their links"):
    t.wanted()
    document = document_of(imported(database("all.nvvp", ALL)))
    t.equal(commands_of(document), COMMANDS, "commands")
    launches = sorted(document["launches"], key=lambda row: (row["enter"], row["flags"]))
    t.equal([(row["function"], row["enter"], row["exit"], row["flags"]) for row in launches],
            [("cudaLaunchKernel", 1000, 1100, 16), ("cudaMemcpy", 2300, 3500, 1), ("cudaLaunchKernel", 4000, 4100, 0),
             ("cudaLaunchKernel", 4000, 4000, 4), ("cudaMemcpyPeerAsync", 5000, 5010, 0), ("cudaMemsetAsync", 5200, 5210, 0),
             ("(unified memory)", 5500, 5500, 0), ("(unified memory)", 5700, 5700, 0)], "launches")
    queues = by_id(document["queues"])
    calls = sorted((row["begin"], row["end"], row["function"], row["type"], row["result"], row["argument"] != 0)
                   for row in document["calls"])
    t.equal(calls, [(1010, 1090, "cuLaunchKernel", 0, 0, False), (3600, 3700, "cudaDeviceSynchronize", 1, 0, False),
                    (3710, 3720, "cudaEventQuery", 0, 600, False), (3730, 3740, "cudaStreamSynchronize", 1, 0, True),
                    (5300, 5400, "cudaMalloc", 0, 0, False), (5410, 5420, "cudaMalloc", 0, 2, False)], "calls")
    t.equal({row["pid"]: row["name"] for row in document["processes"]}, {PID: "train"}, "processes")
    t.equal({row["tid"]: row["name"] for row in document["threads"] if row["tid"]}, {THREAD: "loader", 1234: ""}, "threads")
    t.equal({row["name"] for row in queues.values()}, {"stream 7", "copies", "unified memory"}, "queues")
    t.equal([(row["name"], row["key"], row["compute_units"]) for row in document["devices"] if row["compute_units"]],
            [("Tesla P100-SXM2-16GB", "GPU-01020304-0506-0708-090a-0b0c0d0e0f10", 56)], "devices")
    t.true("lower half" in notes_of(t.path("imported.duet")), notes_of(t.path("imported.duet")))

with t.case("members of commands: waits, memory, migrations, graphs, resources"):
    t.wanted()
    document = document_of(imported(database("all.nvvp", ALL)))
    rows = {row["started"]: row for row in document["executions"]}
    t.equal((rows[1200]["queued"], rows[1200]["submitted"]), (1020, 1150), "times before the start")
    t.equal((rows[4200]["graph"], rows[4200]["graph_node"]), (5, 77), "node of a graph")
    t.equal((rows[2400]["source_memory"], rows[2400]["destination_memory"]), ("device", "pageable"), "memory of a copy")
    devices = by_id(document["devices"])
    t.equal((devices[rows[5020]["source_device"]]["name"], devices[rows[5020]["destination_device"]]["name"]),
            ("Tesla P100-SXM2-16GB", "GPU 1"), "devices of a copy")
    t.equal([(rows[begin]["migration"], "source_device" in rows[begin], "destination_device" in rows[begin])
             for begin in (5500, 5700)], [("page_fault", False, True), ("eviction", True, False)], "migrations")
    launches = {row["enter"]: row for row in document["launches"] if not row["flags"] & 4}
    t.equal((launches[1000]["global"], launches[1000]["local"]), ([640, 2, 1], [64, 1, 1]), "sizes")
    t.equal([launches[enter]["bytes"] for enter in (2300, 5000, 5200, 5500)], [4096, 256, 512, 65536], "bytes")
    saxpy = [row for row in document["code"] if row["name"] == "saxpy"][0]
    t.equal((saxpy["registers"], saxpy["local_bytes"]), (32, 1040), "resources")
    t.true(saxpy["parent"], "the kernel's code object")

with t.case("ranges and overheads"):
    t.wanted()
    trace = imported(database("all.nvvp", ALL))
    document = document_of(trace)
    threads = by_id(document["threads"])
    end = max(row["ended"] for row in document["executions"])
    t.equal(sorted((row["begin"], row["end"], row["domain"], row["name"], row["type"], bool(row.get("open")))
                   for row in document["ranges"]),
            [(900, 3800, "nvtx domain", "forward", "push_pop", False), (910, 3810, "NVTX", "epoch", "start_stop", False),
             (920, 920, "NVTX", "mark", "mark", False), (930, end, "NVTX", "gone", "start_stop", True),
             (1020, 1080, "CUPTI", "command buffer full", "start_stop", False),
             (1082, 1088, "CUPTI", "compiling for the GPU", "start_stop", False)], "ranges")
    rows = {row["name"]: row for row in document["ranges"]}
    t.equal((rows["forward"]["colour"], rows["forward"]["payload"], rows["forward"]["category"]), (0xff112233, "7", "3"), "data")
    t.equal((rows["epoch"].get("colour"), rows["epoch"]["payload"]), (None, "0.5"), "a value alone")
    t.equal(threads[rows["command buffer full"]["thread"]]["name"], "loader", "thread of an overhead")
    t.true("1 end of a range without a start" in notes_of(trace), notes_of(trace))

with t.case("clocks, power, temperature and faults"):
    t.wanted()
    trace = imported(database("all.nvvp", ALL))
    document = document_of(trace)
    series = {row["id"]: row for row in document["series"]}
    values = collections.defaultdict(list)
    for row in document["counters"]:
        values[series[row["series"]]["metric"]].append((row["begin"], row["end"], row["value"]))
    t.equal(dict(values), {"gpu.clock": [(1500, 1500, 1328000000)], "gpu.clock.memory": [(1500, 1500, 715000000)],
                           "gpu.temperature": [(1510, 1510, 41000)], "gpu.power": [(1520, 1520, 99000)],
                           "gpu.fan": [(1530, 1530, 35)], "memory.managed.faults": [(5399, 5400, 2), (5400, 5450, 1)],
                           "gpu.memory.faults": [(5410, 5420, 12), (5510, 5520, 3)]}, "counters")
    t.equal([row["limit"] for row in series.values() if row["metric"] == "gpu.power"], [300000], "limit")
    t.true("1 event of unified memory left out" in notes_of(trace), notes_of(trace))

with t.case("samples of instructions, with the code of the file"):
    t.wanted()
    trace = imported(database("all.nvvp", ALL))
    report = json.loads(run([DUET, "report", "--json", "--top", "0", trace], env={"DUET_NVDISASM": "/nonexistent"}).stdout)
    rows = {(row["kernel"], row["text"]): row for row in report["instructions"]}
    t.equal({key: (row["samples"], row["stalls"]) for key, row in rows.items()},
            {("saxpy", "LDG"): (70, {"memory_dependency": 60, "selected": 10}), ("saxpy", "FFMA"): (30, {"execution_dependency": 30}),
             ("gemm", "gemm.cu:12"): (5, {"synchronization": 5}), ("[unknown function]", ""): (2, {"other": 2})}, "instructions")
    t.equal((os.path.basename(rows["saxpy", "FFMA"]["file"]), rows["saxpy", "FFMA"]["line"]), ("saxpy.cu", 5), "line")
    document = document_of(trace)
    samples = [(row["begin"], row["end"], row["period"], row["period_unit"], row["count"], row.get("latency_count", 0))
               for row in document["instruction_samples"]]
    t.equal(sorted(samples), [(1200, 2200, 1024, "cycles", 10, 0), (1200, 2200, 1024, "cycles", 30, 30),
                              (1200, 2200, 1024, "cycles", 60, 40), (4200, 4900, 1, "samples", 2, 1),
                              (4200, 4900, 1, "samples", 5, 0)], "samples")
    t.equal([(row["lost"], row["count"], row["reason"], row["begin"], row["end"]) for row in document["losses"]],
            [("instruction_sample", 7, "gap", 1200, 2200)], "dropped samples")
    shown = text(run([DUET, "report", "--by", "stall", trace]).stdout)
    t.true("memory_dependency" in shown, shown)
    t.true("memory_dependency" in text(run([DUET, "flame", "--view", "stall", "--folded", trace]).stdout), "flame graph")
    t.true("1 module without a valid cubin" in notes_of(trace) and "1 row of METRIC left out" in notes_of(trace), notes_of(trace))

with t.case("a module's functions are placed once; a stream 0 is no unified memory; what is left out has a note"):
    t.wanted()
    many = "WITH RECURSIVE c(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < {}) INSERT INTO " + KIND
    trace = imported(database("limits.nvvp", ALL, scripts=[
        f"UPDATE {KIND}KERNEL SET streamId = 0 WHERE correlationId = 10",
        f"INSERT INTO {KIND}RUNTIME SELECT cbid, start + 5, end + 5, 4712, threadId, correlationId, returnValue "
        f"FROM {KIND}RUNTIME WHERE correlationId = 18",
        f"{many.format(66535)}FUNCTION SELECT x, 1, 1, 0, {ID['gone']} FROM c",
        f"{many.format(263143)}SOURCE_LOCATOR SELECT x, 1, 1 FROM c",
        f"{many.format(66534)}NAME SELECT 2, CAST(printf('%08d0000', x) AS BLOB), 1 FROM c",
        f"{many.format(66536)}CONTEXT SELECT x, 0, 1, 7 FROM c",
        # each of these rows would walk all functions of the module
        f"{many.format(3000)}MODULE SELECT 1, 1, cubinSize, cubin FROM c, (SELECT cubinSize, cubin FROM {KIND}MODULE LIMIT 1)"]))
    t.equal({row["name"] for row in document_of(trace)["queues"]}, {"stream 0", "stream 7", "copies", "unified memory"}, "queues")
    for note in ("2 rows of FUNCTION left out: more than 65536", "1 row of SOURCE_LOCATOR left out: more than 262144",
                 "2 rows of NAME left out: more than 65536", "3 rows of CONTEXT left out: more than 65536",
                 "1 command joined with the last of several processes' calls that have its id"):
        t.true(note in notes_of(trace), f"{note}: {notes_of(trace)}")

with t.case("executed instructions, if the file has no samples"):
    t.wanted()
    executed = [(KIND + "INSTRUCTION_EXECUTION", dict(flags=0, sourceLocatorId=0, correlationId=10, functionId=1, pcOffset=FFMA,
                                                      threadsExecuted=640, notPredOffThreadsExecuted=640, executed=20))]
    without = {key: value for key, value in TABLES.items() if "PC_SAMPLING" not in key}
    document = document_of(imported(database("executed.nvvp", ALL + executed, without)))
    t.equal([(row["count"], row["period_unit"], row["stall"], row["begin"]) for row in document["instruction_samples"]],
            [(20, "instructions", "", 1200)], "executions")
    trace = imported(database("executed.nvvp", ALL + executed))
    t.true("1 row of INSTRUCTION_EXECUTION left out: the file has samples" in notes_of(trace), notes_of(trace))

with t.case("tables of older versions of CUDA"):
    t.wanted()
    # CUDA 5: a command has the number of the driver's call and that of the runtime's
    old = dict(TABLES, **{
        KIND + "KERNEL": "cacheConfigRequested INT, cacheConfigExecuted INT, start INT, end INT, deviceId INT, contextId INT, "
                         "streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT, registersPerThread INT, "
                         "staticSharedMemory INT, dynamicSharedMemory INT, localMemoryPerThread INT, localMemoryTotal INT, "
                         "correlationId INT, runtimeCorrelationId INT, name INT",
        KIND + "MARKER": "flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT",
        KIND + "UNIFIED_MEMORY_COUNTER": "counterKind INT, scope INT, deviceId INT, value INT, timestamp INT, processId INT"})
    rows = [(table, dict(row, correlationId=11, runtimeCorrelationId=10) if table == KIND + "KERNEL" and row["correlationId"] == 10
             else row) for table, row in ALL]
    trace = imported(database("cuda5.nvvp", rows, old))
    document = document_of(trace)
    t.equal(commands_of(document), [row for row in COMMANDS if row[2] != "migrate"], "commands")
    t.true(all("queued" not in row for row in document["executions"]), "no times before the start")
    t.true("8 counters of unified memory left out: no start and end" in notes_of(trace), notes_of(trace))
    t.true(all(row["domain"] in ("NVTX", "CUPTI") for row in document["ranges"]), "no domains")
    # without the runtime's calls, the driver's call launched it
    only = {key: value for key, value in old.items() if key != KIND + "RUNTIME"}
    document = document_of(imported(database("driver.nvvp", rows, only)))
    t.equal(commands_of(document)[0], (1200, 2200, "saxpy", "cuLaunchKernel"), "call of the driver")
    # CUDA 8: kernels that ran at the same time have a table of their own
    newer = dict(TABLES, **{KIND + "CONCURRENT_KERNEL": old[KIND + "KERNEL"]})
    rows = [(table.replace("KIND_KERNEL", "KIND_CONCURRENT_KERNEL"), row) for table, row in ALL]
    t.equal(commands_of(document_of(imported(database("cuda8.nvvp", rows, newer)))), COMMANDS, "concurrent kernels")

with t.case("any table and column may be absent"):
    t.wanted()
    for name in TABLES:
        if name == "StringTable":
            continue
        result = run([DUET, "import", "-f", "nvvp", "-o", t.path("less.duet"),
                      database("less.nvvp", ALL, {key: value for key, value in TABLES.items() if key != name})], preexec_fn=small)
        t.equal(result.status, 0, f"without {name}: {text(result.stderr)}")
        for column in TABLES[name].split(", ")[1:]:
            reduced = dict(TABLES, **{name: ", ".join(one for one in TABLES[name].split(", ") if one != column)})
            result = run([DUET, "import", "-f", "nvvp", "-o", t.path("less.duet"), database("less.nvvp", ALL, reduced)],
                         preexec_fn=small)
            t.equal(result.status, 0, f"{name} without {column}: {text(result.stderr)}")
    imported(database("empty.nvvp", []))
    imported(database("bare.nvvp", ALL, {"StringTable": TABLES["StringTable"]}))

with t.case("launches of a file without commands are untimed"):
    t.wanted()
    without = {key: value for key, value in TABLES.items() if not re.search("KERNEL|MEM|SAMPL", key)}
    document = document_of(imported(database("calls.nvvp", ALL, without)))
    t.equal({(row["function"], row["flags"]) for row in document["launches"]},
            {("cudaLaunchKernel", 2), ("cudaMemcpy", 2), ("cudaMemcpyPeerAsync", 2), ("cudaMemsetAsync", 2), ("cuLaunchKernel", 2)},
            "launches")

with t.case("files are recognized; several become one trace"):
    t.wanted()
    later = [(table, {key: value + 5000 if key in ("start", "end", "timestamp", "queued", "submitted") and value > EPOCH else value
                      for key, value in row.items()}) for table, row in ALL]
    trace = t.path("both.duet")
    result = run([DUET, "import", "-o", trace, database("first.nvvp", ALL), database("second.prof", later)])
    t.equal(result.status, 0, text(result.stderr))
    document = document_of(trace)
    t.equal(sorted(row["enter"] for row in document["launches"] if row["function"] == "cudaMemsetAsync"), [5200, 10200], "times")
    t.equal(len([row for row in document["devices"] if row["key"].startswith("GPU-")]), 1, "one GPU")
    t.equal(len(document["processes"]), 2, "processes of two files")
    t.true("from nvvp '" in notes_of(trace), notes_of(trace))
    t.true("2017-07-14" in text(run([DUET, "info", trace]).stdout), "date")

with t.case("the numbers of functions are NVIDIA's"):
    headers = [os.path.join(folder, name) for folder in glob.glob("/usr/local/cuda*/include") for name in ("cupti_runtime_cbid.h",
                                                                                                      "cupti_driver_cbid.h")]
    headers = [path for path in headers if os.path.exists(path)]
    if not headers:
        raise Skip("no headers of CUPTI in /usr/local/cuda*/include")
    with open(os.path.join(HERE, "..", "..", "src", "import", "nvvp", "numbers.h"), encoding="utf-8") as file:
        table = re.findall(r"(DRIVER|RUNTIME)\((\d+), (\w+)\)", file.read())
    for path in headers:
        kind = "RUNTIME" if "runtime" in path else "DRIVER"
        with open(path, encoding="utf-8") as file:
            real = {number: name for name, number in re.findall(r"TRACE_CBID_(\w+)\s*= (\d+)", file.read())}
        wrong = [(number, name, real[number]) for of, number, name in table
                 if of == kind and number in real and not re.fullmatch(name + r"(_v\d+)?(_ptsz|_ptds)?(_v\d+)?", real[number])]
        t.equal(wrong, [], path)
        t.true(len([1 for of, *_ in table if of == kind]) > 300, f"functions of {kind}")

# ---- other files ---------------------------------------------------------------------------------


def refused(path, expected):
    result = run([DUET, "import", "-f", "nvvp", "-o", t.path("refused.duet"), path], preexec_fn=small)
    t.equal(result.status, 1, text(result.stderr))
    t.true(text(result.stderr).startswith("duet import: ") and expected in text(result.stderr), text(result.stderr))
    t.true(not glob.glob(t.path("refused.duet*")), "nothing is left")


with t.case("invalid rows are left out"):
    t.wanted()
    for script, expected in (
            (f"UPDATE {KIND}KERNEL SET end = 5 WHERE correlationId = 10", f"table {KIND}KERNEL"),
            (f"UPDATE {KIND}KERNEL SET start = -9 WHERE correlationId = 10", "'-9'"),
            (f"UPDATE {KIND}RUNTIME SET start = 'soon' WHERE correlationId = 10", "'soon'"),
            (f"UPDATE {KIND}MARKER SET timestamp = NULL WHERE id = 1", f"table {KIND}MARKER"),
            (f"UPDATE {KIND}OVERHEAD SET end = NULL", f"table {KIND}OVERHEAD"),
            (f"UPDATE {KIND}PC_SAMPLING SET samples = -1", f"table {KIND}PC_SAMPLING"),
            (f"UPDATE {KIND}PC_SAMPLING SET pcOffset = 'x'", "an offset"),
            (f"UPDATE {KIND}ENVIRONMENT SET data = x'00'", "at least 8 bytes"),
            (f"UPDATE {KIND}UNIFIED_MEMORY_COUNTER SET end = 1", f"table {KIND}UNIFIED_MEMORY_COUNTER")):
        imported(database("faulty.nvvp", ALL, scripts=[script]), faults=expected)

with t.case("numbers of any size, texts, blobs and NULLs instead of numbers"):
    t.wanted()
    kept = ({"start", "end", "timestamp"}, {"start", "end", "timestamp", "correlationId", "functionId", "id"})
    values = ("9223372036854775807", "-9223372036854775808", "'text'", "1.5", "NULL", "x'00'", "zeroblob(12)")
    for number, value in enumerate(values):
        for place, (table, columns) in enumerate(TABLES.items()):
            names = [column.split()[0] for column in columns.split(", ")]
            changed = [name for name in names if name not in kept[(number + place) % 2]]
            if table in ("StringTable", "Version") or not changed:
                continue
            odd = database("odd.nvvp", ALL, scripts=[f"UPDATE {table} SET " + ", ".join(f"{name} = {value}" for name in changed)])
            result = run([DUET, "import", "-f", "nvvp", "-o", t.path("odd.duet"), odd], preexec_fn=small)
            t.equal(result.status, 0, f"{table} {value}: {text(result.stderr)}")
            if (number + place) % 3 == 0:
                t.equal(run([DUET, "report", t.path("odd.duet")]).status, 0, f"report of {table} {value}")

with t.case("texts and modules of any size"):
    t.wanted()
    # a name of 900 kB, and one that is too long for a name
    imported(database("name.nvvp", ALL, scripts=["UPDATE StringTable SET value = hex(zeroblob(450000)) WHERE value = 'saxpy'"]))
    refused(database("long.nvvp", ALL, scripts=["UPDATE StringTable SET value = hex(zeroblob(900000)) WHERE value = 'saxpy'"]), "too big")
    trace = imported(database("module.nvvp", ALL, scripts=[
        f"INSERT INTO {KIND}MODULE VALUES(1, 7, 0, zeroblob(20000000))",
        f"INSERT INTO {KIND}MODULE SELECT 1, 8, 0, CAST(cubin || zeroblob(16000000) AS BLOB) FROM {KIND}MODULE WHERE id = 1"]))
    t.true("1 module left out: the cubin is larger than 16 MiB" in notes_of(trace), notes_of(trace))

with t.case("nothing of the file is executed"):
    t.wanted()
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS start, x + 5 AS end, x AS id FROM c"
    for name in TABLES:
        if name not in ("StringTable", "Version"):
            imported(database("view.nvvp", ALL, scripts=[f"DROP TABLE {name}; CREATE VIEW {name} AS {endless}"]))
    refused(database("view.nvvp", [], {}, [f"CREATE VIEW StringTable AS {endless}"]), "no such table: StringTable")
    refused(database("other.nvvp", [], {"OTHER": "a"}), "no such table: StringTable")

with t.case("cut and damaged files"):
    t.wanted()
    path = database("all.nvvp", ALL)
    size = os.path.getsize(path)
    random.seed(7)
    for number in range(80):
        bad = t.path("damaged.nvvp")
        shutil.copy(path, bad)
        with open(bad, "r+b") as file:
            if number % 2:
                file.truncate(random.randrange(size))
            for _ in range(0 if number % 2 else 20):
                file.seek(random.randrange(16, size))
                file.write(bytes([random.randrange(256)]))
        result = run([DUET, "import", "-f", "nvvp", "-o", t.path("damaged.duet"), bad], preexec_fn=small)
        t.true(result.status in (0, 1) and (not result.status or text(result.stderr).startswith("duet import: ")),
               f"{number}: {result.status} {text(result.stderr)}")

with t.case("a large file takes little memory"):
    t.wanted()
    many = "WITH RECURSIVE c(x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < 101000) INSERT INTO "
    path = database("large.nvvp", ALL, scripts=[
        f"{many}{KIND}RUNTIME SELECT 211, {EPOCH} + x * 100, {EPOCH} + x * 100 + 10, {PID}, 1234, 200000 - x, 0 FROM c",
        f"{many}{KIND}KERNEL(start, end, deviceId, contextId, streamId, correlationId, name) SELECT {EPOCH} + x * 100 + 20, "
        f"{EPOCH} + x * 100 + 90, 0, 1, 7, 200000 - x, 1 FROM c",
        f"{many}{KIND}PC_SAMPLING SELECT 0, 0, x, 1, 160, 1, 2, 4 FROM c"])
    trace = imported(path)
    report = t.report(trace)
    t.equal(report["ledger"]["matched"], 100001 + 8, "joined whatever the order of the ids")
    t.equal(report["ledger"]["samples"], 100001 * 2 + 107, "samples")

t.end()
