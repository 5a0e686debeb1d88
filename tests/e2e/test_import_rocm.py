#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import of recordings of ROCm's tools: rocprofv3 (databases, JSON, CSV), rocmProfileData and rocprof. The files are
made here; each format gets the same small run: two launches, a graph launch with two kernels, a copy, a marker, a counter.
"""
import collections
import csv
import glob
import gzip
import io
import json
import os
import resource
import sqlite3
import subprocess

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

PID, TID = 4711, 4712
# name, link, start, end
CALLS = [("hipLaunchKernel", 1, 1000, 1200), ("hipMemcpy", 2, 1300, 2600), ("hipGraphLaunch", 3, 3000, 3400),
         ("hipStreamSynchronize", 4, 3500, 9000)]
# kernel, link, dispatch, start, end, queue, stream
KERNELS = [("saxpy", 1, 1, 1100, 1290, 7, 2), ("gemm", 3, 2, 3300, 5000, 7, 2), ("gemm", 3, 3, 5000, 8000, 8, 3),
           ("saxpy", 0, 4, 9100, 9200, 7, 0)]
COPY = ("MEMORY_COPY_HOST_TO_DEVICE", 2, 1500, 2500, 4096)
RANGES = [("epoch 1", 900, 9050)]
COUNTERS = [("SQ_WAVES", 2, 12), ("FETCH_SIZE", 2, 10.625)]


def written(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def imported(name, path):
    t.wanted()
    out = t.path("imported.duet")
    result = run([DUET, "import", "--format", name, "-o", out, path])
    t.equal(result.status, 0, f"duet import: {text(result.stderr)}")
    return out


def rows_of(path):
    """{kind: rows} of the trace; entities by kind too."""
    result = run([DUET, "export", "-f", "json", "--absolute", path])
    t.equal(result.status, 0, text(result.stderr))
    return json.loads(result.stdout)


def notes_of(path):
    rows = json.loads(run([DUET, "info", "--json", path]).stdout)["collectors"]
    return [row["reason"] for row in rows if row["name"] == "import"][0]


def refused(name, path, *expected):
    out = t.path("refused.duet")
    result = run([DUET, "import", "--format", name, "-o", out, path])
    t.equal(result.status, 1, f"{name} {path}: {text(result.stderr)}")
    for words in expected:
        t.true(words in text(result.stderr), f"'{words}' in: {text(result.stderr)}")
    t.equal(glob.glob(glob.escape(out) + "*"), [], "left behind")


def check_verbs(path):
    for verb in (["report"], ["info"], ["flame", "-o", t.path("out.svg")], ["view", "-o", t.path("out.html")]):
        result = run([DUET, *verb, path])
        t.true(result.status == 0 or "not measured" in text(result.stderr), f"duet {verb}: {text(result.stderr)}")


def by_id(document, kind):
    return {row["id"]: row for row in document[kind]}


def check_run(path, has_ranges=True, has_counters=True, has_copy=True, streams=True, name=lambda kernel: kernel):
    """Links, times, names, queues of the run that every format describes."""
    document = rows_of(path)
    code, queues, threads = by_id(document, "code"), by_id(document, "queues"), by_id(document, "threads")
    executions = {row["correlation"]: row for row in document["executions"]}
    got = []
    for launch in sorted(document["launches"], key=lambda row: executions[row["correlation"]]["started"]):
        execution = executions[launch["correlation"]]
        got.append((code[launch["kernel"]]["name"] if launch["kernel"] else "copy", launch["function"], launch["enter"],
                    launch["exit"], execution["started"], execution["ended"], launch["flags"] & 4))
    want = [(name("saxpy"), "hipLaunchKernel", 1000, 1200, 1100, 1290, 0),
            ("copy", "hipMemcpy", 1300, 2600, 1500, 2500, 0),
            (name("gemm"), "hipGraphLaunch", 3000, 3400, 3300, 5000, 0),
            (name("gemm"), "hipGraphLaunch", 3000, 3400, 5000, 8000, 4),
            (name("saxpy"), "(not in the file)", 9100, 9100, 9100, 9200, 0)]
    t.equal(got, want if has_copy else [row for row in want if row[0] != "copy"], "launches")
    t.equal([(row["function"], row["begin"], row["end"], row["type"], threads[row["thread"]]["tid"])
             for row in document["calls"]],
            [("hipStreamSynchronize", 3500, 9000, 1, TID)] +
            ([] if has_copy else [("hipMemcpy", 1300, 2600, 1, TID)]), "calls") if has_copy else None
    if streams:
        t.equal(collections.Counter(queues[row["queue"]]["name"].lower() for row in document["executions"]
                                    if row["started"] not in (1500,)),
                {"stream 2": 2, "stream 3": 1, "queue 7": 1}, "queues")
        t.equal({row["hardware_queue"] for row in document["executions"] if row["started"] != 1500}, {7, 8},
                "hardware queues")
    if has_ranges:
        t.equal([(row["name"], row["begin"], row["end"], row["domain"]) for row in document["ranges"]],
                [("epoch 1", 900, 9050, "roctx")], "ranges")
    if has_counters:
        series = by_id(document, "series")
        gemm = [row for row in document["launches"] if executions[row["correlation"]]["started"] == 3300][0]
        t.equal(sorted((series[row["series"]]["metric"], series[row["series"]]["unit"], row["value"], row["begin"], row["end"],
                        row.get("correlation")) for row in document["counters"] if row.get("correlation")),
                [("gpu.fetch_size", "bytes", 10880, 3300, 5000, gemm["correlation"]),
                 ("gpu.sq_waves", "events", 12, 3300, 5000, gemm["correlation"])], "counters of a dispatch")
    check_verbs(path)
    return document


# ---- rocprofv3: JSON -----------------------------------------------------------------------------

KINDS = [("NONE", []), ("HIP_RUNTIME_API", [row[0] for row in CALLS]), ("KERNEL_DISPATCH", ["NONE", "ENQUEUE"]),
         ("MEMORY_COPY", ["MEMORY_COPY_NONE", COPY[0]]), ("MARKER_CORE_RANGE_API", ["roctxMarkA", "roctxThreadRangeA"]),
         ("MEMORY_ALLOCATION", ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE"])]


def dispatch_record(row):
    name, link, dispatch, start, end, queue, stream = row
    return {"size": 1, "kind": 2, "operation": 1, "thread_id": TID, "correlation_id": {"internal": link, "external": 0},
            "start_timestamp": start, "end_timestamp": end,
            "dispatch_info": {"agent_id": {"handle": 100}, "queue_id": {"handle": queue}, "kernel_id": 1 if name == "saxpy" else 2,
                              "dispatch_id": dispatch, "workgroup_size": {"x": 64, "y": 1, "z": 1},
                              "grid_size": {"x": 1024, "y": 2, "z": 1}},
            "stream_id": {"handle": stream}}


def v3_process(pid=PID):
    def record(kind, operation, link, start, end, **more):
        return {"kind": kind, "operation": operation, "thread_id": TID, "correlation_id": {"internal": link, "external": 0},
                "start_timestamp": start, "end_timestamp": end, **more}

    gemm = KERNELS[1]
    return {
        "metadata": {"pid": pid, "init_time": 1, "fini_time": 20000, "command": ["/usr/bin/train", "--secret"], "node": {}},
        "agents": [{"id": {"handle": 99}, "type": 1, "name": "EPYC", "node_id": 0},
                   {"id": {"handle": 100}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "node_id": 1,
                    "domain": 0, "location_id": 0x7500, "cu_count": 304, "lds_size_in_kb": 64, "vendor_name": "AMD",
                    "mem_banks": [{"size_in_bytes": 1 << 30}]}],
        "counters": [{"id": {"handle": 5}, "name": "SQ_WAVES"}, {"id": {"handle": 6}, "name": "FETCH_SIZE"}],
        "strings": {"callback_records": [], "buffer_records": [{"kind": kind, "operations": names} for kind, names in KINDS],
                    "marker_api": [{"key": 50, "value": "epoch 1"}], "att_filenames": [["x", {}]]},
        "code_objects": [{"code_object_id": 1, "uri": "file:///lib.so#offset=1&size=2", "load_base": 4096, "load_size": 99}],
        "kernel_symbols": [{"kernel_id": 1, "code_object_id": 1, "kernel_name": "saxpy.kd", "group_segment_size": 512,
                            "private_segment_size": 16, "arch_vgpr_count": 24, "accum_vgpr_count": 8},
                           {"kernel_id": 2, "code_object_id": 1, "kernel_name": "gemm.kd"}],
        "callback_records": {"counter_collection": [
            {"thread_id": TID, "dispatch_data": dispatch_record(gemm),
             "records": [{"counter_id": {"handle": 5}, "value": 5.0}, {"counter_id": {"handle": 5}, "value": 7.0},
                         {"counter_id": {"handle": 6}, "value": 10.625}]}]},
        "buffer_records": {
            "kernel_dispatch": [dispatch_record(row) for row in KERNELS],
            "hip_api": [record(1, number, link, start, end) for number, (_, link, start, end) in enumerate(CALLS)],
            "marker_api": [record(4, 1, 50, *RANGES[0][1:])],
            "memory_copy": [record(3, 1, *COPY[1:4], dst_agent_id={"handle": 100}, src_agent_id={"handle": 99}, bytes=COPY[4])],
            "memory_allocation": [
                record(5, 2, 0, 2000, 2010, agent_id={"handle": 0}, address="0x1000", allocation_size=0),
                record(5, 1, 0, 500, 510, agent_id={"handle": 100}, address="0x1000", allocation_size=4096),
                record(5, 1, 0, 700, 710, agent_id={"handle": 100}, address="0x9000", allocation_size=100)],
            "pc_sample_host_trap": [record(9, 0, 0, 1, 2)],
        }}


with t.case("rocprofv3-json: links, queues, counters, markers, memory"):
    document = {"rocprofiler-sdk-tool": [v3_process()]}
    path = imported("rocprofv3-json", written("v3.json.gz", gzip.compress(json.dumps(document).encode())))
    got = check_run(path)
    t.equal([(row["name"], row["key"], row["compute_units"], row["memory_bytes"], row["local_bytes"])
             for row in got["devices"]], [("AMD Instinct MI300X", "0000:75:00.0", 304, 1 << 30, 65536)], "devices")
    kernel = [row for row in got["code"] if row["name"] == "saxpy"][0]
    t.equal((kernel["registers"], kernel["local_bytes"]), (32, 512), "resources")
    copy = [row for row in got["executions"] if row["started"] == 1500][0]
    t.equal((copy.get("source_device"), copy["destination_device"] > 0, copy["destination_memory"]), (None, True, "device"),
            "ends of the copy")
    launch = [row for row in got["launches"] if row["function"] == "hipLaunchKernel"][0]
    t.equal((launch["global"], launch["local"]), ([1024, 2, 1], [64, 1, 1]), "sizes in work items")
    levels = by_id(got, "series")
    t.equal([(row["end"], row["value"]) for row in got["counters"]
             if levels[row["series"]]["metric"] == "gpu.memory.allocated"], [(510, 4096), (710, 4196), (2010, 100)], "memory")
    t.true("1 record left out: scratch memory or program counters" in notes_of(path), notes_of(path))
    t.equal([row["name"] for row in got["processes"]], ["train"], "process")

with t.case("rocprofv3-json: counters without a kernel trace give the kernels"):
    process = v3_process()
    process["buffer_records"]["kernel_dispatch"] = []
    path = imported("rocprofv3-json", written("v3.json", json.dumps({"rocprofiler-sdk-tool": [process]})))
    rows = rows_of(path)
    t.equal([(row["started"], row["ended"]) for row in rows["executions"]], [(1500, 2500), (3300, 5000)], "executions")
    t.equal(sum(row["flags"] & 4 for row in rows["launches"]), 0, "no further command")

with t.case("rocprofv3-json: two processes in one file"):
    path = imported("rocprofv3-json", written("v3.json", json.dumps(
        {"rocprofiler-sdk-tool": [v3_process(), v3_process(PID + 1)]})))
    rows = rows_of(path)
    t.equal((len(rows["processes"]), len(rows["executions"]), len(rows["devices"])), (2, 10, 1), "processes, commands, devices")

with t.case("rocpd: a hardware queue belongs to its process and device"):
    processes = [v3_process(), v3_process(PID + 1)]
    for process in processes:
        process["agents"].append({"id": {"handle": 101}, "type": 2, "name": "gfx942", "node_id": 2, "domain": 0, "location_id": 0x8500})
        other = dispatch_record(("saxpy", 0, 9, 9300, 9400, 7, 0))
        other["dispatch_info"]["agent_id"]["handle"] = 101
        process["buffer_records"]["kernel_dispatch"].append(other)
    path = imported("rocprofv3-json", written("v3.json", json.dumps({"rocprofiler-sdk-tool": processes})))
    result = run([DUET, "export", "-f", "rocpd", "-o", t.path("queues.db"), path])
    t.equal(result.status, 0, text(result.stderr))
    with sqlite3.connect(t.path("queues.db")) as connection:
        rows = connection.execute("SELECT DISTINCT p.pid, d.agent_id, q.name, q.id, q.pid = d.pid FROM rocpd_kernel_dispatch AS d "
                                  "JOIN rocpd_info_queue AS q ON q.id = d.queue_id JOIN rocpd_info_process AS p ON p.id = d.pid").fetchall()
    t.equal(sorted(row[:3] + row[4:] for row in rows), [(pid, agent, f"Queue {number}", 1) for pid in (PID, PID + 1)
                                                        for agent, number in ((1, 7), (1, 8), (2, 7))], "queues of dispatches")
    t.equal(len({row[3] for row in rows}), 6, f"queues have ids of their own: {rows}")

with t.case("rocprofv3-json: invalid files"):
    process = v3_process()
    process["buffer_records"]["kernel_dispatch"][0]["end_timestamp"] = 5
    out = t.path("faulty.duet")
    result = run([DUET, "import", "-f", "rocprofv3-json", "-o", out,
                  written("v3.json", json.dumps({"rocprofiler-sdk-tool": [process]}))])
    t.equal(result.status, 0, text(result.stderr))
    t.true("left out line 1, byte " in text(result.stderr) and "'1100' and '5'" in text(result.stderr), result.stderr)
    refused("rocprofv3-json", written("bad", json.dumps({"traceEvents": []})), "'rocprofiler-sdk-tool'")
    refused("rocprofv3-json", written("bad", json.dumps({"rocprofiler-sdk-tool": [v3_process()]})[:3000]), "line 1, byte 3")
    refused("rocprofv3-json", written("bad", json.dumps({"rocprofiler-sdk-tool": [v3_process()]}, sort_keys=True)),
            "before the records")
    refused("rocprofv3-json", written("bad", '{"rocprofiler-sdk-tool":[{"agents":[[[['), "which is an object")
    deep = '{"rocprofiler-sdk-tool":[{"metadata":{"node":' + "[" * 100000
    refused("rocprofv3-json", written("bad", deep), "line 1")
    many = {"rocprofiler-sdk-tool": [{"agents": [{"id": {"handle": number}} for number in range(5000)]}]}
    refused("rocprofv3-json", written("bad", json.dumps(many)), "at most 4096 agents")


# ---- rocprofv3: CSV ------------------------------------------------------------------------------

def table(header, rows):
    file = io.StringIO()
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerows([header.split(), *rows])
    return file.getvalue()


KERNEL_HEADER = ("Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp "
                 "End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Workgroup_Size_X "
                 "Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z")


def csv_name(kernel):
    return f"void {kernel}<float, \"a,b\">(int)"


def csv_set():
    kernels = table(KERNEL_HEADER, [
        ("KERNEL_DISPATCH", "Agent 1", queue, stream, TID, dispatch, 3, csv_name(name), link, start, end, 512, 16, 24, 8, 128,
         64, 1, 1, 1024, 2, 1) for name, link, dispatch, start, end, queue, stream in KERNELS])
    calls = table("Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp", [
        ("HIP_RUNTIME_API_EXT", name, PID, TID, link, start, end) for name, link, start, end in CALLS])
    markers = table("Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp", [
        ("MARKER_CORE_RANGE_API", name, PID, TID, 50, start, end) for name, start, end in RANGES])
    copies = table("Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp End_Timestamp", [
        ("MEMORY_COPY", COPY[0], 0, "Agent 0", "Agent 1", *COPY[1:4])])
    counters = table("Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Id Kernel_Name "
                     "Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Counter_Name "
                     "Counter_Value Start_Timestamp End_Timestamp", [
                         (3, dispatch, "Agent 1", 7, PID, TID, 2048, 3, csv_name("gemm"), 64, 512, 16, 24, 8, 128, name,
                          f"{value:.6f}", 3300, 5000) for name, dispatch, value in COUNTERS])
    agents = table("Node_Id Logical_Node_Id Agent_Type Cu_Count Location_Id Domain Name Vendor_Name Product_Name", [
        (0, 0, "CPU", 64, 0, 0, "EPYC", "CPU", "EPYC 9575F"), (5, 1, "GPU", 304, 0x7500, 0, "gfx942", "AMD", "AMD Instinct MI300X")])
    return {"kernel_trace": kernels, "hip_api_trace": calls, "marker_api_trace": markers, "memory_copy_trace": copies,
            "counter_collection": counters, "agent_info": agents}


with t.case("rocprofv3-csv: the files of a set are read together"):
    for kind, content in csv_set().items():
        written(f"9_{kind}.csv", content)
    for kind in ("kernel_trace", "hip_api_trace"):
        got = check_run(imported("rocprofv3-csv", t.path(f"9_{kind}.csv")), name=csv_name)
        t.equal([(row["name"], row["key"]) for row in got["devices"]], [("AMD Instinct MI300X", "0000:75:00.0")], "devices")

with t.case("rocprofv3-csv: compressed files of a set are read together"):
    parts = csv_set()
    for ending, compress in ((".gz", gzip.compress), (".zst", zstd)):
        for kind, content in parts.items():
            written(f"packed{ending}_{kind}.csv{ending}", compress(content.encode()))
        for name in ("kernel_trace", "hip_api_trace"):
            path = t.path(f"packed{ending}_{name}.csv{ending}")
            check_run(imported("rocprofv3-csv", path), name=csv_name)
            check_run(imported("auto", path), name=csv_name)
    for kind, content in parts.items():  # mixed; a plain file and its compressed form are read once
        written(f"mixed_{kind}.csv", content)
    written("mixed_hip_api_trace.csv.zst", zstd(parts["hip_api_trace"].encode()))
    os.unlink(t.path("mixed_agent_info.csv"))
    written("mixed_agent_info.csv.gz", gzip.compress(parts["agent_info"].encode()))
    for name in ("mixed_kernel_trace.csv", "mixed_hip_api_trace.csv.zst"):
        check_run(imported("rocprofv3-csv", t.path(name)), name=csv_name)

with t.case("rocprofv3-csv: a file alone"):
    parts = csv_set()
    rows = rows_of(imported("rocprofv3-csv", written("alone.csv", parts["kernel_trace"])))
    t.equal((len(rows["executions"]), [row["name"] for row in rows["devices"]]), (4, ["GPU 1"]), "kernels, devices")
    rows = rows_of(imported("rocprofv3-csv", written("alone.csv", parts["counter_collection"])))
    t.equal((len(rows["executions"]), len(rows["counters"])), (1, 2), "one kernel with two counters")
    rows = rows_of(imported("rocprofv3-csv", written("alone.csv", parts["hip_api_trace"])))
    t.equal(len(rows["calls"]), 4, "calls")
    # an older version: no stream, agents by number
    old = table("Kind Agent_Id Queue_Id Thread_Id Dispatch_Id Kernel_Name Correlation_Id Start_Timestamp End_Timestamp",
                [("KERNEL_DISPATCH", 4, 1, TID, 1, "saxpy", 1, 10, 20)])
    t.equal([row["name"] for row in rows_of(imported("rocprofv3-csv", written("alone.csv", old)))["devices"]], ["GPU 4"], "agent")

with t.case("rocprofv3-csv: rows of two processes"):
    lines = csv_set()["hip_api_trace"].splitlines()
    other = [line.replace(f'"{PID}"', f'"{PID + 1}"') for line in lines[1:]]
    written("two_hip_api_trace.csv", "\n".join([lines[0], *(one for pair in zip(lines[1:], other) for one in pair)]))
    written("two_kernel_trace.csv", csv_set()["kernel_trace"])
    path = imported("rocprofv3-csv", t.path("two_hip_api_trace.csv"))
    rows = rows_of(path)
    pids = {row["id"]: row["pid"] for row in rows["processes"]}
    threads = {row["id"]: pids[row["process"]] for row in rows["threads"]}
    t.equal(collections.Counter(threads[row["thread"]] for row in rows["calls"])[PID + 1], len(CALLS), "calls of the second")
    t.equal({threads[row["thread"]] for row in rows["launches"]}, {PID}, "kernels are those of the first")
    t.true("4 rows without a process: attributed to the first of several" in notes_of(path), notes_of(path))

CALL_HEADER = "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp"


def cut_run(calls, kernels):
    """A set of two files: calls (name, link, start, end), kernels (link, start, end)."""
    written("cut_kernel_trace.csv", table(KERNEL_HEADER, [
        ("KERNEL_DISPATCH", "Agent 1", 1, 1, TID, number, 3, "node", link, start, end, 0, 0, 24, 8, 128, 64, 1, 1, 64, 1, 1)
        for number, (link, start, end) in enumerate(kernels)]))
    return imported("rocprofv3-csv", written("cut_hip_api_trace.csv", table(CALL_HEADER, [
        ("HIP_RUNTIME_API_EXT", name, PID, TID, link, start, end) for name, link, start, end in calls])))


with t.case("rocprofv3-csv: launches at the end of a recording that was cut"):
    early = ("hipGraphLaunch", 1, 100, 200)  # its kernels came before the recording, or it was captured
    path = cut_run([early, ("hipGraphLaunch", 2, 1000, 1200), ("hipGetDevice", 3, 1300, 1310), ("hipGraphLaunch", 4, 1500, 2000)],
                   [(2, 1250, 1300), (2, 1300, 1400)])
    rows = rows_of(path)
    t.equal([(row["enter"], row["flags"]) for row in rows["launches"]], [(1000, 0), (1000, 4), (1500, 0)], "launches")
    t.equal([(row["function"], row["begin"]) for row in rows["calls"]], [("hipGraphLaunch", 100), ("hipGetDevice", 1300)], "calls")
    device = t.report(path)["devices"][0]
    t.equal((device["idle_causes"]["unknown"], device["idle_causes"]["nothing_to_do"]), (500, 900 - 100 + 100), "idle after the last command")
    t.true("1 launch at the end without a command" in notes_of(path), notes_of(path))

with t.case("rocprofv3-csv: calls whose commands ended are not in flight at the end"):
    first = [("hipMemcpy", 1, 100, 200), ("hipGraphLaunch", 2, 300, 310)]
    kernels = [(1, 150, 160), (2, 320, 330)]
    for last, expected in (([("hipMemcpy", 3, 400, 500)], [100, 300]), ([("hipGraphLaunch", 3, 400, 500)], [100, 300, 400]),
                           ([("hipGraphLaunch", 3, 400, 500), ("hipDeviceSynchronize", 4, 600, 700)], [100, 300]),
                           ([("hipDeviceSynchronize", 3, 400, 500), ("hipGraphLaunch", 4, 600, 700)], [100, 300, 600]),
                           ([("hipGraphLaunch", 3, 400, 500), ("hipStreamSynchronize", 4, 600, 700)], [100, 300, 400])):
        t.equal([row["enter"] for row in rows_of(cut_run(first + last, kernels))["launches"]], expected, f"launches: {last}")

with t.case("rocprofv3-csv: the call before a graph of many kernels keeps its name"):
    path = cut_run([("hipMalloc", 1, 100, 600), ("hipGraphLaunch", 2, 700, 800)], [(2, 900 + 10 * i, 905 + 10 * i) for i in range(1500)])
    t.equal([(row["call"], row["ns"]) for row in t.report(path)["devices"][0]["idle_calls"]], [("hipMalloc", 500)], "calls in idle time")

with t.case("rocprofv3-csv: invalid files"):
    parts = csv_set()
    refused("rocprofv3-csv", written("bad.csv", ""), "an empty file")
    refused("rocprofv3-csv", written("bad.csv", "a,b\n1,2\n"), "line 1: expected the columns")
    lines = parts["kernel_trace"].splitlines()
    for bad, words in ((lines[1][:40], "a value of"), (lines[1].replace('"1100"', '"soon"'), "'Start_Timestamp', found 'soon'"),
                       (lines[1].replace('"1290"', '"1"'), "'1100' and '1'"), (lines[1].replace("Agent 1", "Agent x"), "an agent"),
                       ('"' * 999, "a value of")):
        refused("rocprofv3-csv", written("bad.csv", lines[0] + "\n" + bad + "\n"), "no valid line", words)
    result = run([DUET, "import", "-f", "rocprofv3-csv", "-o", t.path("faulty.duet"),
                  written("bad.csv", "\n".join([*lines[:2], "x", *lines[2:]]))])
    t.equal((result.status, "left out line 3" in text(result.stderr)), (0, True), text(result.stderr))


# ---- rocprof: JSON -------------------------------------------------------------------------------

def v1_document():
    events = [{}, {"args": {"name": "GPU0"}, "ph": "M", "pid": 6, "name": "process_name", "sort_index": 1}]
    for name, link, _, start, end, queue, _ in KERNELS:
        index = {"Index": str(link - 1)} if link else {}
        events.append({"ph": "X", "name": name + ".kd", "pid": 6, "tid": TID, "ts": str(start // 1000), "dur": "1", "args": {
            "KernelName": name + ".kd", "gpu-id": "2", "queue-id": str(queue), "pid": str(PID), "tid": str(TID), "grd": "1024",
            "wgr": "64", "lds": "0", "scr": "0", "arch_vgpr": "16", "accum_vgpr": "0", "DispatchNs": str(start - 50),
            "BeginNs": str(start), "EndNs": str(end), "CompleteNs": str(end + 5), **index}})
    for name, link, start, end in CALLS:
        events.append({"ph": "X", "name": name, "pid": 2, "tid": TID, "ts": "1", "dur": "1", "args": {
            "Name": name, "BeginNs": str(start), "EndNs": str(end), "pid": str(PID), "tid": str(TID), "Index": str(link - 1)}})
    events.append({"ph": "X", "name": "CopyHostToDevice", "pid": 1, "tid": 0, "ts": "1", "dur": "1", "args": {
        "Name": "CopyHostToDevice", "BeginNs": "1500", "EndNs": "2500", "dev-id": "2", "queue-id": "0", "proc-id": str(PID),
        "Index": "1", "tid": str(TID)}})
    return {"traceEvents": events, "otherData": {"Agent1.Name": "gfx1201"}}


with t.case("rocprof-json: all four times"):
    document = v1_document()
    path = imported("rocprof-json", written("v1.json", json.dumps(document, indent=1)))
    rows = rows_of(path)
    t.equal(sorted((row["queued"], row["started"], row["ended"], row["seen"]) for row in rows["executions"] if row.get("queued")),
            [(1050, 1100, 1290, 1295), (3250, 3300, 5000, 5005), (4950, 5000, 8000, 8005), (9050, 9100, 9200, 9205)], "times")
    launches = sorted((row["enter"], row["function"], row["flags"] & 4) for row in rows["launches"])
    t.equal(launches, [(1000, "hipLaunchKernel", 0), (1300, "hipMemcpy", 0), (3000, "hipGraphLaunch", 0),
                       (3000, "hipGraphLaunch", 4), (9050, "(not in the file)", 0)], "launches")
    t.equal([(row["pid"]) for row in rows["processes"]], [PID], "process")
    check_verbs(path)

def v1_slice(lane, name, begin, end, **more):
    return {"ph": "X", "name": name, "pid": str(lane), "tid": str(more.pop("row", TID)), "ts": str(begin // 1000), "dur": str((end - begin) // 1000),
            "args": {"Name": name, "BeginNs": str(begin), "EndNs": str(end), "pid": str(PID), "tid": str(TID), **more}}


def v1_arrow(number, call_us, lane, start_us):
    return [{"ph": "s", "cat": "DataFlow", "id": number, "pid": 2, "tid": TID, "ts": call_us, "name": "dep"},
            {"ph": "t", "cat": "DataFlow", "id": number, "pid": lane, "tid": 0, "ts": start_us, "name": "dep"}]


with t.case("rocprof-json: arrows where there is no index"):
    device = {"dev-id": "2", "queue-id": "0", "row": 0}
    slices = [v1_slice(1, "CopyHostToDevice", 52_000, 60_000, **device), v1_slice(2, "hipMalloc", 1_000, 9_000),
              v1_slice(2, "hipMemcpy", 40_000, 70_000), v1_slice(2, "hipLaunchKernel", 80_000, 90_500), v1_slice(2, "hipGraphLaunch", 200_000, 220_000),
              v1_slice(8, "saxpy", 88_000, 99_000, **device), v1_slice(8, "node", 230_000, 231_000, **device), v1_slice(8, "node", 231_000, 232_000, **device),
              v1_slice(8, "early", 5_000, 6_000, **device), v1_slice(8, "saxpy", 300_000, 300_500, **device), v1_slice(8, "saxpy", 300_600, 300_700, **device)]
    arrows = v1_arrow(0, 52, 1, 52) + v1_arrow(4, 85, 8, 88) + v1_arrow(5, 210, 8, 230) + v1_arrow(6, 210, 8, 231) + v1_arrow(7, 5, 8, 5)
    rows = rows_of(imported("rocprof-json", written("arrows.json", json.dumps({"traceEvents": [{}, *slices, *arrows]}))))
    started = {(row["process"], row["correlation"]): row["started"] for row in rows["executions"]}
    process = rows["processes"][0]["id"]
    t.equal(sorted((started[process, row["correlation"]], row["function"], row["enter"]) for row in rows["launches"]),
            [(5_000, "(not in the file)", 5_000), (52_000, "hipMemcpy", 40_000), (88_000, "hipLaunchKernel", 80_000),
             (230_000, "hipGraphLaunch", 200_000), (231_000, "hipGraphLaunch", 200_000), (300_000, "(not in the file)", 300_000),
             (300_600, "(not in the file)", 300_600)], "launches")
    t.equal([row["function"] for row in rows["calls"]], ["hipMalloc"], "calls")

with t.case("rocprof-json: short calls that share a microsecond have arrows of their own"):
    device = {"dev-id": "2", "queue-id": "0", "row": 0}
    slices = [v1_slice(2, "hipLaunchKernel", 80_000, 80_900), v1_slice(2, "hipLaunchKernel", 80_950, 82_000),
              v1_slice(8, "first", 90_000, 91_000, **device), v1_slice(8, "second", 91_000, 92_000, **device)]
    arrows = v1_arrow(0, 80, 8, 90) + v1_arrow(1, 81, 8, 91)
    rows = rows_of(imported("rocprof-json", written("short.json", json.dumps({"traceEvents": [{}, *slices, *arrows]}))))
    entered = {row["correlation"]: row["enter"] for row in rows["launches"]}
    t.equal(sorted((row["started"], entered[row["correlation"]]) for row in rows["executions"]), [(90_000, 80_000), (91_000, 80_950)],
            "kernels and their calls")

V1_TRACED = '"BeginNs" INTEGER, "EndNs" INTEGER, "dev-id" INTEGER, "queue-id" INTEGER, "Name" TEXT, "pid" INTEGER, "tid" INTEGER, "Index" INTEGER'
V1_TABLES = f"""
CREATE TABLE HIP ("BeginNs" INTEGER, "EndNs" INTEGER, "pid" INTEGER, "tid" INTEGER, "Name" TEXT, "args" TEXT, "Index" INTEGER);
CREATE TABLE OPS ({V1_TRACED});
CREATE TABLE COPY ({V1_TRACED});
INSERT INTO HIP VALUES (1000, 1300, {PID}, {TID}, 'hipMemcpy', '', 1), (1400, 1500, {PID}, {TID}, 'hipLaunchKernel', '', 2), (1600, 1700, {PID}, {TID}, 'hipFree', '', 3);
INSERT INTO OPS VALUES (1450, 1550, 2, 0, 'saxpy(float*)', {PID}, {TID}, 2);
INSERT INTO COPY VALUES (1100, 1200, 2, 0, 'CopyHostToDevice', {PID}, {TID}, 1);
"""
V1_DISPATCHES = f"""
CREATE TABLE KERN ("Index" INTEGER, "KernelName" TEXT, "gpu-id" INTEGER, "queue-id" INTEGER, "pid" INTEGER, "tid" INTEGER, "grd" INTEGER,
                   "wgr" INTEGER, "sig" INTEGER, "DispatchNs" INTEGER, "BeginNs" INTEGER, "EndNs" INTEGER, "CompleteNs" INTEGER);
INSERT INTO KERN VALUES (1, '"saxpy(float*) [clone .kd]"', 2, 0, {PID}, {TID}, 1024, 64, '0x0', 1420, 1450, 1550, 1560);
"""


def v1_commands(script):
    path = imported("rocprof-db", t.database("results.db", script))
    t.true("from rocprof-db" in t.report(imported("auto", t.path("results.db")))["collectors"][0]["reason"], "recognized")
    rows = rows_of(path)
    launches = {row["correlation"]: row for row in rows["launches"]}
    return sorted((row["queued"] if row.get("queued") else 0, row["started"], row["ended"], launches[row["correlation"]]["command"],
                   launches[row["correlation"]]["function"]) for row in rows["executions"]), [row["function"] for row in rows["calls"]]


with t.case("rocprof-db: operations of calls, dispatches with all four times"):
    empty = 'CREATE TABLE KERN ("Index" INTEGER, "KernelName" TEXT);'
    t.equal(v1_commands(V1_TABLES + empty), ([(0, 1100, 1200, "write", "hipMemcpy"), (0, 1450, 1550, "kernel", "hipLaunchKernel")], ["hipFree"]), "a trace of HIP")
    t.equal(v1_commands(V1_DISPATCHES), ([(1420, 1450, 1550, "kernel", "(not in the file)")], []), "dispatches")
    commands, calls = v1_commands(V1_TABLES + V1_DISPATCHES)
    t.equal([row[:4] for row in commands], [(0, 1100, 1200, "write"), (1420, 1450, 1550, "kernel")], "an operation that is a dispatch counts once")
    path = imported("rocprof-db", t.database("results.db", V1_DISPATCHES))
    t.equal([row["name"] for row in t.report(path)["kernels"]], ["saxpy(float*)"], "name without quotation marks")

with t.case("rocprof-json: invalid files"):
    refused("rocprof-json", written("bad", '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2}]}'), "--format chrome")
    refused("rocprof-json", written("bad", "[]"), "expected an object")
    refused("rocprof-json", written("bad", '{"a":1}'), "'traceEvents'")
    document = v1_document()
    document["traceEvents"] = [row for row in document["traceEvents"] if row.get("name") == "saxpy.kd"][:1]
    document["traceEvents"][0]["args"]["EndNs"] = "7"
    refused("rocprof-json", written("bad", json.dumps(document)), "no valid event", "'1100' and '7'")


# ---- rocmProfileData -----------------------------------------------------------------------------

RPD = """CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, completionSignal TEXT,
  start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER);
CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER,
  args_id INTEGER);
CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream TEXT, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  workgroupX INTEGER, workgroupY INTEGER, workgroupZ INTEGER, kernelName_id INTEGER);
CREATE TABLE rocpd_copyapi(api_ptr_id INTEGER PRIMARY KEY, stream TEXT, size INTEGER, kind INTEGER, dstDevice TEXT);
CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, deviceType TEXT, deviceId INTEGER, monitorType TEXT, start INTEGER,
  end INTEGER, value TEXT);
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE VIEW api AS SELECT * FROM rocpd_api;
"""
SESSION = 1 << 32


def fill_rpd(connection):
    names = {}

    def string(value):
        if value not in names:
            names[value] = len(names) + 1
            connection.execute("INSERT INTO rocpd_string VALUES(?, ?)", (names[value], value))
        return names[value]

    def api(number, name, start, end, args=""):
        connection.execute("INSERT INTO rocpd_api VALUES(?, ?, ?, ?, ?, ?, ?)",
                           (SESSION + number, PID, TID, start, end, string(name), string(args)))

    def op(number, kind, description, start, end, queue, link):
        connection.execute("INSERT INTO rocpd_op VALUES(?, 2, ?, 0, '', ?, ?, ?, ?)",
                           (SESSION + number, queue, start, end, string(description), string(kind)))
        if link:
            connection.execute("INSERT INTO rocpd_api_ops(api_id, op_id) VALUES(?, ?)", (SESSION + link, SESSION + number))

    for name, link, start, end in CALLS:
        api(link, name, start, end)
    api(20, "UserMarker", *RANGES[0][1:], RANGES[0][0])
    api(21, "ApiTable::writeRows", 9300, 9400)
    api(22, "hipExtModuleLaunchKernel", 9500, 9510)
    for name, link, dispatch, start, end, queue, _ in reversed(KERNELS):
        op(dispatch, "Task" if link == 3 else "KernelExecution", name, start, end, queue, link)
    op(9, "CopyHostToDevice", "", *COPY[2:4], 0, COPY[1])
    op(10, "KernelExecution", "last", 9510, 9520, 0, 22)
    connection.execute(f"INSERT INTO rocpd_kernelapi VALUES({SESSION + 1}, '0x0', 16, 2, 1, 64, 1, 1, 1), "
                       f"({SESSION + 22}, '0x0', 512, 1, 1, 64, 1, 1, 1)")
    connection.execute(f"INSERT INTO rocpd_copyapi VALUES({SESSION + 2}, '0x0', 4096, 1, '')")
    connection.execute("INSERT INTO rocpd_monitor VALUES(1, 'gpu', 2, 'sclk', 800, 5000, '134'), (2, 'gpu', 2, 'sclk', 5000, 9000, '2100')")


with t.case("rpd: links, tasks of graphs, sizes, markers, clocks"):
    path = imported("rpd", t.database("trace.rpd", RPD, fill_rpd))
    rows = rows_of(path)
    code = by_id(rows, "code")
    times = {row["correlation"]: row["started"] for row in rows["executions"]}
    launches = [(times[row["correlation"]], row["function"], row["command"], row["flags"] & 4, row["global"], row["bytes"])
                for row in sorted(rows["launches"], key=lambda row: times[row["correlation"]])]
    t.equal(launches, [(1100, "hipLaunchKernel", "kernel", 0, [1024, 2, 1], 0), (1500, "hipMemcpy", "write", 0, [], 4096),
                       (3300, "hipGraphLaunch", "kernel", 0, [], 0), (5000, "hipGraphLaunch", "kernel", 4, [], 0),
                       (9100, "(not in the file)", "kernel", 0, [], 0),
                       (9510, "hipExtModuleLaunchKernel", "kernel", 0, [512, 1, 1], 0)],
            "launches")
    t.equal(sorted((row["domain"], row["name"]) for row in rows["ranges"]),
            [("roctx", "epoch 1"), ("rpd", "ApiTable::writeRows")], "ranges")
    t.equal([(row["begin"], row["end"], row["value"]) for row in rows["counters"]],
            [(800, 5000, 134000000), (5000, 9000, 2100000000)], "clock in Hz")
    t.equal([row["name"] for row in rows["devices"]], ["GPU 2"], "devices")
    t.true("no call for 1 of 6 commands" in notes_of(path), notes_of(path))
    check_verbs(path)

with t.case("rpd: two processes; the format rocm-trace-lite reads the same file"):
    def two(connection):
        fill_rpd(connection)
        connection.execute(f"UPDATE rocpd_api SET pid = {PID + 1} WHERE id = {SESSION + 3}")
    for name in ("rpd", "rocm-trace-lite"):
        rows = rows_of(imported(name, t.database("two.rpd", RPD, two)))
        pids = {row["id"]: row["pid"] for row in rows["processes"]}
        t.equal(sorted((row["started"], pids[row["process"]]) for row in rows["executions"]),
                [(1100, PID), (1500, PID), (3300, PID + 1), (5000, PID + 1), (9100, PID), (9510, PID)], "owners")

with t.case("rpd: files without some tables, and with invalid rows"):
    for name in ("rocpd_api_ops", "rocpd_kernelapi", "rocpd_copyapi", "rocpd_monitor", "rocpd_metadata", "rocpd_api"):
        rows = rows_of(imported("rpd", t.database("part.rpd", RPD, lambda db, name=name: (
            fill_rpd(db), db.execute("DROP VIEW api"), db.execute(f"DROP TABLE {name}")))))
        t.equal(len(rows["executions"]), 6, f"without {name}")
    result = run([DUET, "import", "-f", "rpd", "-o", t.path("faulty.duet"), t.database("bad.rpd", RPD, lambda db: (
        fill_rpd(db), db.execute("UPDATE rocpd_monitor SET value = 'fast' WHERE id = 2"),
        db.execute(f"UPDATE rocpd_op SET end = 3 WHERE id = {SESSION + 1}")))])
    t.equal(result.status, 0, text(result.stderr))
    for words in ("table rocpd_monitor, row 2", "'fast'", "table rocpd_op, row 4294967297", "'1100' and '3'"):
        t.true(words in text(result.stderr), f"'{words}' in {text(result.stderr)}")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS api_id, x AS op_id FROM c"
    refused("rpd", t.database("bad.rpd", RPD, lambda db: (fill_rpd(db), db.execute("DROP TABLE rocpd_api_ops"),
                                                        db.execute(f"CREATE VIEW rocpd_api_ops AS {endless}"))),
            "'rocpd_api_ops', found a view")


# ---- rocpd ---------------------------------------------------------------------------------------

def rocpd_schema(uuid):
    tables = {
        "metadata": "id INTEGER PRIMARY KEY, tag TEXT, value TEXT",
        "string": "id INTEGER PRIMARY KEY, guid TEXT, string TEXT",
        "info_node": "id INTEGER PRIMARY KEY, hostname TEXT",
        "info_process": "id INTEGER PRIMARY KEY, nid INTEGER, ppid INTEGER, pid INTEGER, init INTEGER, fini INTEGER, command TEXT, "
                        "environment TEXT, extdata TEXT",
        "info_thread": "id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
        "info_agent": "id INTEGER PRIMARY KEY, pid INTEGER, type TEXT, absolute_index INTEGER, uuid INTEGER, name TEXT, "
                      "vendor_name TEXT, product_name TEXT, extdata TEXT",
        "info_queue": "id INTEGER PRIMARY KEY, name TEXT", "info_stream": "id INTEGER PRIMARY KEY, name TEXT",
        "info_code_object": "id INTEGER PRIMARY KEY, uri TEXT, load_base INTEGER, load_size INTEGER",
        "info_kernel_symbol": "id INTEGER PRIMARY KEY, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, "
                              "group_segment_size INTEGER, private_segment_size INTEGER, arch_vgpr_count INTEGER, "
                              "accum_vgpr_count INTEGER",
        "info_pmc": "id INTEGER PRIMARY KEY, agent_id INTEGER, name TEXT, symbol TEXT, units TEXT",
        "track": "id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER",
        "event": "id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, extdata TEXT",
        "region": "id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER, event_id INTEGER",
        "sample": "id INTEGER PRIMARY KEY, track_id INTEGER, timestamp INTEGER, event_id INTEGER",
        "pmc_event": "id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL",
        "kernel_dispatch": "id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, "
                           "queue_id INTEGER, stream_id INTEGER, start INTEGER, end INTEGER, workgroup_size_x INTEGER, "
                           "workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, "
                           "grid_size_z INTEGER, event_id INTEGER",
        "memory_copy": "id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, name_id INTEGER, "
                       "dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER",
        "memory_allocate": "id INTEGER PRIMARY KEY, pid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start INTEGER, end INTEGER, "
                           "address INTEGER, size INTEGER",
    }
    return "".join(f'CREATE TABLE "rocpd_{name}{uuid}"({columns}); CREATE VIEW rocpd_{name} AS SELECT * FROM "rocpd_{name}{uuid}";'
                   for name, columns in tables.items())


UUID = "_00000a10_7bc0_a1ef"
AGENT_JSON = json.dumps({"domain": 0, "location_id": 0x7500, "cu_count": 304, "lds_size_in_kb": 64,
                         "mem_banks": [{"size_in_bytes": 1 << 30}]})


def fill_rocpd(connection, uuid=UUID, pid=PID):
    names, events = {}, [0]

    def insert(table_name, **columns):
        connection.execute(f'INSERT INTO "rocpd_{table_name}{uuid}"({", ".join(columns)}) VALUES({", ".join("?" * len(columns))})',
                           tuple(columns.values()))

    def string(value):
        if value not in names:
            names[value] = len(names) + 1
            insert("string", id=names[value], string=value)
        return names[value]

    def event(category, link, more="{}"):
        events[0] += 1
        insert("event", id=events[0], category_id=string(category), stack_id=link, parent_stack_id=0, extdata=more)
        return events[0]

    insert("metadata", tag="schema_version", value="3")
    insert("info_process", id=pid, nid=1, pid=pid, init=1, fini=20000, command="/usr/bin/train --x", environment='{"TOKEN":"hidden"}')
    insert("info_thread", id=77, pid=pid, tid=TID, name="main thread")
    insert("info_agent", id=0, pid=pid, type="CPU", absolute_index=0, uuid=1, name="EPYC", product_name="EPYC", extdata="{}")
    insert("info_agent", id=1, pid=pid, type="GPU", absolute_index=1, uuid=29857, name="gfx942", vendor_name="AMD",
           product_name="AMD Instinct MI300X", extdata=AGENT_JSON)
    insert("info_stream", id=2, name="Stream 2")
    insert("info_code_object", id=1, uri="memory://1", load_base=4096, load_size=99)
    insert("info_kernel_symbol", id=1, code_object_id=1, kernel_name="saxpy.kd", group_segment_size=512, private_segment_size=16,
           arch_vgpr_count=24, accum_vgpr_count=8)
    insert("info_kernel_symbol", id=2, code_object_id=1, kernel_name="gemm.kd")
    insert("info_pmc", id=5, agent_id=1, name="SQ_WAVES")
    insert("info_pmc", id=6, agent_id=1, name="FETCH_SIZE")
    insert("info_pmc", id=7, agent_id=1, name="GPU Power")
    for name, link, start, end in CALLS:
        insert("region", pid=pid, tid=77, start=start, end=end, name_id=string(name), event_id=event("HIP_RUNTIME_API_EXT", link))
    insert("region", pid=pid, tid=77, start=RANGES[0][1], end=RANGES[0][2], name_id=string("roctxThreadRangeA"),
           event_id=event("MARKER_CORE_RANGE_API", 50, json.dumps({"message": RANGES[0][0]})))
    for name, link, dispatch, start, end, queue, stream in reversed(KERNELS):
        number = event("KERNEL_DISPATCH", link)
        insert("kernel_dispatch", id=dispatch, pid=pid, tid=77, agent_id=1, kernel_id=1 if name == "saxpy" else 2, dispatch_id=dispatch,
               queue_id=queue, stream_id=stream, start=start, end=end, workgroup_size_x=64, workgroup_size_y=1, workgroup_size_z=1,
               grid_size_x=1024, grid_size_y=2, grid_size_z=1, event_id=number)
        if dispatch == 2:
            for counter, value in ((5, 5), (5, 7), (6, 10.625)):
                insert("pmc_event", event_id=number, pmc_id=counter, value=value)
    insert("memory_copy", pid=pid, tid=77, start=COPY[2], end=COPY[3], name_id=string(COPY[0]), dst_agent_id=1, src_agent_id=0,
           size=COPY[4], stream_id=0, event_id=event("MEMORY_COPY", COPY[1]))
    for kind, level, end, address, size in (("ALLOC", "REAL", 510, 4096, 4096), ("ALLOC", "REAL", 710, 9000, 100),
                                            ("ALLOC", "SCRATCH", 800, 1, 999), ("FREE", "REAL", 2010, 4096, 0)):
        insert("memory_allocate", pid=pid, agent_id=1 if kind == "ALLOC" else None, type=kind, level=level, start=end - 5, end=end,
               address=address, size=size)
    insert("track", id=1, pid=pid, tid=77, name_id=string("power"))
    number = event("rocm_smi", 0)
    insert("sample", track_id=1, timestamp=4000, event_id=number)
    insert("pmc_event", event_id=number, pmc_id=7, value=250.0)
    insert("pmc_event", event_id=None, pmc_id=7, value=1.0)
    insert("sample", track_id=1, timestamp=4100, event_id=event("nothing", 0))


with t.case("rocpd: links, queues, counters, markers, memory, samples"):
    path = imported("rocpd", t.database("results.db", rocpd_schema(UUID), fill_rocpd))
    got = check_run(path)
    t.equal([(row["name"], row["key"], row["compute_units"], row["memory_bytes"]) for row in got["devices"]],
            [("AMD Instinct MI300X", "0000:75:00.0", 304, 1 << 30)], "devices")
    kernel = [row for row in got["code"] if row["name"] == "saxpy"][0]
    t.equal((kernel["registers"], kernel["local_bytes"]), (32, 512), "resources")
    series = by_id(got, "series")
    t.equal([(row["end"], row["value"]) for row in got["counters"]
             if series[row["series"]]["metric"] == "gpu.memory.allocated"], [(510, 4096), (710, 4196), (2010, 100)], "memory")
    t.equal([(row["end"], row["value"]) for row in got["counters"] if series[row["series"]]["metric"] == "gpu.gpu power"],
            [(4000, 250)], "samples")
    t.equal([row["name"] for row in got["threads"]], ["main thread"], "threads")
    t.true("1 sample without a counter value left out" in notes_of(path), notes_of(path))
    with open(path, "rb") as file:
        t.true(b"hidden" not in file.read(), "the environment is not read")
    t.true("hidden" not in json.dumps(got), "the environment is not read")

with t.case("rocpd: two recordings in one database"):
    def both(connection):
        fill_rocpd(connection)
        connection.executescript(rocpd_schema("b2").split("CREATE VIEW")[0])
        for statement in rocpd_schema("b2").split(";"):
            if "CREATE TABLE" in statement and "metadata" not in statement:
                connection.execute(statement)
        fill_rocpd(connection, "b2", PID + 1)
    rows = rows_of(imported("rocpd", t.database("both.db", rocpd_schema(UUID), both)))
    t.equal((sorted(row["pid"] for row in rows["processes"]), len(rows["executions"]), len(rows["devices"])),
            ([PID, PID + 1], 10, 1), "processes, commands, devices")

with t.case("rocpd: missing tables and columns, invalid rows, hostile schemas"):
    for name in ("region", "pmc_event", "sample", "track", "memory_copy", "memory_allocate", "info_pmc", "info_agent", "info_thread"):
        rows = rows_of(imported("rocpd", t.database("part.db", rocpd_schema(UUID), lambda db, name=name: (
            fill_rocpd(db), db.execute(f"DROP VIEW rocpd_{name}"), db.execute(f'DROP TABLE "rocpd_{name}{UUID}"')))))
        t.equal(len(rows["executions"]), 5 - (name == "memory_copy"), f"without {name}")
    refused("rocpd", t.database("other.db", "CREATE TABLE t(a)"), "rocpd_metadata")
    refused("rocpd", t.database("rpd.db", RPD, fill_rpd), "--format rpd")
    result = run([DUET, "import", "-f", "rocpd", "-o", t.path("faulty.duet"), t.database("bad.db", rocpd_schema(UUID), lambda db: (
        fill_rocpd(db), db.execute(f'UPDATE "rocpd_kernel_dispatch{UUID}" SET end = 3 WHERE id = 1')))])
    t.equal((result.status, "kernel_dispatch" in text(result.stderr) and "'1100' and '3'" in text(result.stderr)), (0, True),
            text(result.stderr))
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, x AS stack_id FROM c"
    refused("rocpd", t.database("bad.db", rocpd_schema(UUID), lambda db: (
        fill_rocpd(db), db.execute("DROP VIEW rocpd_region"), db.execute(f'DROP TABLE "rocpd_region{UUID}"'),
        db.execute(f'CREATE VIEW "rocpd_region{UUID}" AS {endless}'))), "found a view")
    many = "".join(f'CREATE TABLE "rocpd_metadata{number}"(id);' for number in range(5000))
    refused("rocpd", t.database("many.db", many), "at most 4096 tables")


# ---- any size ------------------------------------------------------------------------------------

def small():
    """64 MiB of memory."""
    duet_test.default_signals()
    resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))


with t.case("300,000 calls and kernels fit into 64 MiB of memory"):
    t.wanted()

    def fill_many(connection):
        connection.execute("INSERT INTO rocpd_string VALUES(1, 'hipLaunchKernel'), (2, 'KernelExecution'), (3, 'saxpy')")
        numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 300000) "
        connection.execute(numbers + f"INSERT INTO rocpd_api SELECT x, {PID}, {TID}, x * 100, x * 100 + 10, 1, 1 FROM c")
        connection.execute(numbers + "INSERT INTO rocpd_op SELECT 300001 - x, 0, 0, 0, '', x * 100 + 5, x * 100 + 50, 3, 2 FROM c")
        connection.execute(numbers + "INSERT INTO rocpd_api_ops(api_id, op_id) SELECT x, 300001 - x FROM c")

    big = t.database("big.rpd", RPD, fill_many)
    out = t.path("big.duet")
    result = run([DUET, "import", "-f", "rpd", "-o", out, big], preexec_fn=small)
    t.equal(result.status, 0, text(result.stderr))
    document = t.report(out)
    t.equal([(row["name"], row["count"], row["total_ns"]) for row in document["kernels"]], [("saxpy", 300000, 300000 * 45)], "kernels")
    t.equal(document["devices"][0]["busy_ns"], 300000 * 45, "busy")
    t.equal([(row["name"], row["count"]) for row in document["api"]], [("hipLaunchKernel", 300000)], "every call has its kernel")

t.end()
