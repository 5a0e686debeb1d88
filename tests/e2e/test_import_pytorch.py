#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import --format chrome: timelines of PyTorch. Stacks come from the slices around a call, each command of a graph has
its call, and idle time names the innermost function.
"""
import collections
import json
import os
import random

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

PID, GPU = 4711, 0


def slice_of(category, name, begin_us, duration_us, thread=PID, pid=PID, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": thread, "ts": begin_us, "dur": duration_us,
            "args": arguments}


def call(name, begin_us, duration_us, correlation, **more):
    return slice_of("cuda_runtime", name, begin_us, duration_us, correlation=correlation, **more)


def command(name, begin_us, duration_us, correlation, category="kernel", pid=GPU, stream=7, **arguments):
    return slice_of(category, name, begin_us, duration_us, thread=stream, pid=pid, device=pid, stream=stream,
                    correlation=correlation, **arguments)


def imported(events, **document):
    t.wanted()
    path, out = t.path("torch.json"), t.path("torch.duet")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**document, "traceEvents": events}, file)
    result = run([DUET, "import", "--format", "chrome", "-o", out, path])
    t.equal(result.status, 0, text(result.stderr))
    return out


def rows_of(path, kind):
    document = json.loads(run([DUET, "export", "-f", "json", path]).stdout)
    return document[kind], document


def stack_text(document, stack):
    """The functions, the outermost first."""
    stacks = {row["id"]: row for row in document["stacks"]}
    frames = {row["id"]: row for row in document["frames"]}
    names = []
    while stack:
        names.append(frames[stacks[stack]["frame"]])
        stack = stacks[stack]["caller"]
    return names[::-1]


def folded(path, view="launch"):
    return text(run([DUET, "flame", "--view", view, "--folded", path]).stdout).splitlines()


NESTED = [slice_of("python_function", "train.py(12): <module>", 0, 1000, **{"Python id": 1}),
          slice_of("python_function", "torch/nn/modules/module.py(1532): _call_impl", 100, 500, **{"Python id": 2}),
          slice_of("python_function", "<built-in method mm of type object at 0x7f00>", 200, 100, **{"Python id": 3}),
          slice_of("cpu_op", "aten::mm", 200, 100), call("cudaLaunchKernel", 210, 10, 1),
          command("gemm", 250, 100, 1), slice_of("user_annotation", "ProfilerStep#3", 50, 900),
          call("cudaLaunchKernel", 700, 10, 2), command("tail", 720, 10, 2)]
STACK = "<module> (train.py:12);_call_impl (module.py:1532);<built-in method mm of type object>;aten::mm"

with t.case("the slices around a launch are its stack, whatever the order of the file"):
    shuffled = NESTED[:]
    random.Random(7).shuffle(shuffled)
    for events in (NESTED, NESTED[::-1], shuffled):
        lines = folded(imported(events))
        t.true(any(line.startswith(STACK + ";cudaLaunchKernel;-;gemm") for line in lines), f"stack of gemm: {lines}")
        t.true(any(line.startswith("<module> (train.py:12);cudaLaunchKernel;-;tail") for line in lines), f"of tail: {lines}")

with t.case("slices of a B and an E event are frames, too"):
    events = [{"ph": "B", "name": "outer", "pid": PID, "tid": PID, "ts": 0}, {"ph": "B", "name": "inner", "pid": PID, "tid": PID, "ts": 5},
              call("cudaLaunchKernel", 10, 2, 1), command("k", 20, 5, 1), {"ph": "E", "pid": PID, "tid": PID, "ts": 50}]
    lines = folded(imported(events))
    t.true(any(line.startswith("outer;inner;cudaLaunchKernel;-;k") for line in lines), f"{lines}")

with t.case("slices that end in whole microseconds after the slice around them"):
    events = [slice_of("cpu_op", "outer", 0, 10), slice_of("cpu_op", "late", 5, 6), call("cudaLaunchKernel", 12, 1, 1),
              command("k", 20, 5, 1)]
    lines = folded(imported(events))
    t.true(any(";cudaLaunchKernel;-;k" in line and "late" not in line for line in lines), f"{lines}")

with t.case("each command of a graph has its call, whatever the order of the file"):
    events = [slice_of("python_function", "run.py(3): replay", 0, 100), call("cudaGraphLaunch", 10, 20, 5)]
    events += [command(f"node_{i}", 40 + 10 * i, 5, 5, **{"graph id": 9, "graph node id": 100 + i}) for i in range(3)]
    for order in (events, events[::-1]):
        path = imported(order)
        launches, document = rows_of(path, "launches")
        t.equal(sorted((row["enter"], row["exit"], bool(row["flags"] & 4)) for row in launches),
                [(10000, 30000, False), (10000, 30000, True), (10000, 30000, True)], "times; one of them has the call")
        t.equal({stack_text(document, row["stack"])[-1]["names"][0]["function"] for row in launches}, {"replay"}, "stacks")
        t.equal(sorted((row.get("graph"), row.get("graph_node")) for row in document["executions"]),
                [(9, 100), (9, 101), (9, 102)], "nodes")
        report = t.report(path)
        t.equal([(row["name"], row["count"]) for row in report["api"]], [("cudaGraphLaunch", 1)], "one call")

with t.case("idle time names the innermost function; data loading is a kind of its own"):
    events = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1),
              slice_of("python_function", "train.py(5): main", 0, 1000, **{"Python id": 1}),
              slice_of("python_function", "train.py(9): prepare", 20, 300, **{"Python id": 2}),
              slice_of("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 400, 400),
              slice_of("cpu_op", "aten::stack", 500, 100),
              call("cudaLaunchKernel", 900, 1, 2), command("a", 905, 10, 2)]
    report = t.report(imported(events))
    t.equal(report["devices"][0]["idle_causes"]["unknown"], 0, "nothing is unknown")
    t.equal(report["devices"][0]["idle_kinds"]["host"], {"host_function": 485000, "data_loading": 400000}, "kinds")
    t.equal(report["devices"][0]["idle_kinds"]["latency"], {"launched_not_started": 8000}, "launched, not yet started")
    causes = report["verdict"]["causes"]
    t.equal([(row["kind"], row["function"], row.get("line")) for row in causes[:2]],
            [("data_loading", "main", 5), ("host_function", "prepare", 9)], "places")
    t.true("loaded data in enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" in report["verdict"]["text"],
           report["verdict"]["text"])

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

with t.case("a range of PyTorch's data loader or optimizer explains idle time as an operator does"):
    def idle_of(*slices):
        events = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1), *slices,
                  call("cudaLaunchKernel", 3990, 1, 2), command("b", 4000, 10, 2)]
        path = imported(events)
        return path, t.report(path)
    fit = slice_of("python_function", "train.py(33): fit", 10, 3985, **{"Python id": 1})
    for category in ("user_annotation", "cpu_op"):
        path, report = idle_of(fit, slice_of(category, LOADER, 500, 3000))
        t.equal(report["devices"][0]["idle_kinds"]["host"], {"host_function": 975000, "data_loading": 3000000}, category)
        cause = report["verdict"]["causes"][0]
        t.equal((cause["kind"], cause["what"], cause["function"], cause["line"]), ("data_loading", LOADER, "fit", 33), category)
        t.true(f"loaded data in {LOADER} called from fit (train.py:33)" in " ".join(report["verdict"]["text"].split()),
               report["verdict"]["text"])
    path, report = idle_of(slice_of("user_annotation", LOADER, 500, 3000))
    t.equal(report["verdict"]["causes"][0]["kind"], "data_loading", "without Python functions")
    t.true(f"loaded data in {LOADER}, " in " ".join(report["verdict"]["text"].split()), report["verdict"]["text"])
    again = t.path("again.json")
    t.equal(run([DUET, "export", "-f", "chrome", "-o", again, path]).status, 0, "export")
    with open(again, encoding="utf-8") as file:
        t.equal([row["cat"] for row in json.load(file)["traceEvents"] if row.get("name") == LOADER], ["user_annotation"],
                "the category is kept, and the slice is there once")
    t.equal(run([DUET, "import", "-o", path, again]).status, 0, "import again")
    t.equal(t.report(path)["devices"][0]["idle_kinds"], report["devices"][0]["idle_kinds"], "imported again")
    _, report = idle_of(slice_of("user_annotation", LOADER, 500, 3000), slice_of("cpu_op", "aten::stack", 1000, 500),
                        slice_of("user_annotation", "Optimizer.step#Adam8bit.step", 3500, 100))
    t.equal(report["devices"][0]["idle_kinds"]["host"], {"host_function": 975000, "data_loading": 3000000},
            "an operator inside of the loader loads data")
    t.equal([(row["name"], row["count"]) for row in report["ranges"]],
            [(LOADER, 1), ("Optimizer.step#Adam8bit.step", 1)], "they are ranges, too")
    t.equal([row["name"] for row in report["operators"]], ["aten::stack"], "and no operators of the table")
    t.true(any(row["kind"] == "host_function" and row.get("function") == "Optimizer.step#Adam8bit.step" and row["ns"] == 100000
               for row in report["verdict"]["causes"]), f"the optimizer: {report['verdict']['causes']}")
    _, report = idle_of(slice_of("user_annotation", "enumerate(DataLoader)", 500, 3000),
                        slice_of("user_annotation", "load", 500, 3000))
    t.equal(list(report["devices"][0]["idle_kinds"]["host"]), ["unknown"], "ranges of the program are not PyTorch's")

with t.case("a file of the user is not taken for one of a library"):
    def place_of(*files):
        nested = [slice_of("python_function", f"{file}({5 + i}): f{i}", 20 + i, 300 - 2 * i, **{"Python id": 1 + i})
                  for i, file in enumerate(files)]
        events = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1), *nested,
                  call("cudaLaunchKernel", 330, 1, 2), command("a", 335, 10, 2)]
        cause = [row for row in t.report(imported(events))["verdict"]["causes"] if row["kind"] == "host_function"][0]
        return cause.get("file"), cause.get("line")
    for user in ("random.py", "queue.py", "datasets/coco.py", "http/server.py", "logging/setup.py", "json/load.py", "torch_utils/a.py",
                 "/opt/ml/code/train.py", "/library/train.py", "/optimizer/train.py", "/home/me/site/packages/a.py", "numpy.py"):
        t.equal(place_of("train.py", user), (user, 6), f"{user} is the user's")
    for library in ("torch/nn/modules/linear.py", "threading.py", "enum.py", "transformers/trainer.py", "PIL/Image.py",
                    "/opt/conda/lib/python3.11/random.py", "/usr/lib/python3/dist-packages/a.py", "logging/__init__.py",
                    "/home/me/venv/lib/python3.12/site-packages/datasets/load.py"):
        t.equal(place_of("train.py", library), ("train.py", 5), f"{library} is a library's")

with t.case("more functions in one idle gap than are kept are not 'no function'"):
    many = [slice_of("cpu_op", f"aten::op{i}", 20 + 10 * i, 9) for i in range(4000)]
    events = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1), *many,
              call("cudaLaunchKernel", 40100, 1, 2), command("a", 40105, 10, 2)]
    causes = [row for row in t.report(imported(events))["verdict"]["causes"] if row["kind"] == "host_function"]
    sums = collections.Counter()
    for row in causes:
        sums["named" if "function" in row else row.get("what", "outside")] += row["ns"]
    t.equal(sums["outside"], 40085000 - 4000 * 9000, f"outside of functions: {sums}")
    t.true(20_000_000 < sums["more functions than duet keeps"] < 4000 * 9000, f"in functions that were dropped: {sums}")

with t.case("a thread without recorded functions is not outside of them"):
    here = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1), slice_of("cpu_op", "aten::mm", 20, 30),
            call("cudaLaunchKernel", 100, 1, 2), command("a", 105, 10, 2)]
    there = [dict(event, pid=event["pid"] and PID + 1, tid=event["tid"] if event["pid"] == 0 else PID + 1,
                  args=dict(event["args"], correlation=event["args"]["correlation"] + 10, **{"device": 1} if event["pid"] == 0 else {}))
             for event in here if event["cat"] != "cpu_op"]
    for event in there:
        event["pid"] = event["pid"] or 1
    path = imported([*here, *there])
    t.equal([device["idle_kinds"]["host"] for device in t.report(path)["devices"]],
            [{"host_function": 85000}, {"unknown": 85000}], "kinds")

with t.case("the longer of two functions that begin at one time is outside"):
    events = [call("cudaLaunchKernel", 0, 1, 1), command("a", 5, 10, 1), slice_of("cpu_op", "inner", 20, 30),
              slice_of("cpu_op", "outer", 20, 80), call("cudaLaunchKernel", 100, 1, 2), command("a", 105, 10, 2)]
    report = t.report(imported(events))
    found = {row["function"]: row["ns"] for row in report["verdict"]["causes"] if row["kind"] == "host_function" and "function" in row}
    t.equal(found, {"outer": 50000, "inner": 30000}, "time of each alone")

with t.case("synchronous copies wait; those between devices and asynchronous ones do not"):
    names = ("hipMemcpyWithStream", "cudaMemcpy", "hipMemcpy", "cuMemcpyHtoD_v2", "cudaMemcpyAsync", "cuMemcpyDtoD_v2")
    events = [call(name, 10 * i, 5, 50 + i) for i, name in enumerate(names)]
    report = t.report(imported([*events, call("cudaLaunchKernel", 100, 1, 1), command("k", 110, 1, 1)]))
    t.equal({row["name"]: row["waits"] for row in report["api"] if row["name"] in names},
            {name: i < 4 for i, name in enumerate(names)}, "waits")

with t.case("a launch without a command has a device, and is not executed if a later command ran"):
    events = [call("cudaMemsetAsync", 0, 1, 1), call("cudaLaunchKernel", 10, 1, 2), command("k", 20, 5, 2)]
    report = t.report(imported(events))
    t.equal({key: report["ledger"][key] for key in ("launched", "matched", "not_executed", "in_flight_at_exit")},
            {"launched": 2, "matched": 1, "not_executed": 1, "in_flight_at_exit": 0}, "ledger")
    t.equal([row["name"] for row in report["devices"]], ["GPU 0"], "no unknown device")
    t.equal(report["devices"][0]["idle_causes"]["unknown"], 0, "an empty memset hides nothing")

with t.case("devices, processes and tables are the program's own"):
    events = NESTED + [
        {"ph": "M", "name": "process_name", "pid": PID, "tid": 0, "args": {"name": "python3"}},
        {"ph": "M", "name": "process_labels", "pid": GPU, "tid": 0, "args": {"labels": "GPU 0"}},
        slice_of("python_function", "threading.py(1032): _bootstrap", 0, 900, thread=0, pid=0),
        slice_of("Trace", "PyTorch Profiler (0)", 0, 900, thread="PyTorch Profiler", pid="Spans"),
        slice_of("cuda_sync", "Event Sync", 10, 5, thread=7, pid=GPU)]
    path = imported(events, deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 1 << 36, "numSms": 132}],
                    distributedInfo={"rank": 3, "world_size": 8})
    report = t.report(path)
    device = rows_of(path, "devices")[0][0]
    t.equal((device["name"], device["memory_bytes"], device["compute_units"]), ("NVIDIA H100", 1 << 36, 132), "device")
    t.equal([(row["pid"], row["name"], row["rank"]) for row in report["processes"]], [(PID, "python3", 3)], "processes")
    t.equal([row["name"] for row in report["api"]], ["cudaLaunchKernel"], "calls")
    t.equal([row["name"] for row in report["operators"]], ["aten::mm"], "operators")
    t.equal(len(report["functions"]), 4, "functions")
    t.equal({row["table"] for row in t.report(path, "--by", "api")["by"]}, {"api", "operators", "functions"}, "--by api")
    t.equal([row["name"] for row in report["ranges"]], ["ProfilerStep#3"], "ranges")

with t.case("collective operations: of the kernel, of the operator around its call, by the kernel's name"):
    group = {"Process Group Name": "2", "Process Group Ranks": "[1, 3]", "Group size": 2, "dtype": "Half"}
    events = [call("cudaLaunchKernel", 0, 1, 1),
              command("ncclDevKernel_AllGather_RING_LL(x)", 10, 5, 1, **group, **{
                  "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 200, "Seq": 6}),
              slice_of("cpu_op", "record_param_comms", 20, 10, **group, **{"Collective name": "broadcast", "In msg nelems": 50}),
              call("cudaLaunchKernel", 22, 1, 2), command("ncclDevKernel_Generic(y)", 30, 5, 2),
              call("cudaLaunchKernel", 41, 1, 3), command("ncclKernel_AllReduce_RING_LL_Sum_half(z)", 50, 5, 3),
              slice_of("user_annotation", "nccl:all_reduce", 60, 10, **{"Input type": ["c10::Half"], "Input Dims": [[4, 8], []]}),
              call("cudaLaunchKernel", 61, 1, 4), command("ncclKernel_AllReduce_RING_LL_Sum_half(z)", 70, 5, 4)]
    for order in (events, events[::-1]):
        rows, _ = rows_of(imported(order, distributedInfo={"rank": 3, "world_size": 4}), "collectives")
        t.equal(sorted((row["begin"], row["name"], row["communicator"], row["sequence"], row.get("flags", 0), row.get("rank"),
                        row.get("bytes"), row.get("bytes_out")) for row in rows),
                [(10000, "allgatherbase", "2 [1, 3]", 7, 0, 1, 200, 400), (30000, "broadcast", "2 [1, 3]", 1, 1, 1, 100, None),
                 (50000, "allreduce", "ncclKernel_AllReduce_RING_LL_Sum_half", 1, 1, None, None, None),
                 (70000, "allreduce", "ncclKernel_AllReduce_RING_LL_Sum_half", 2, 1, None, 64, None)], "rows")

with t.case("the memory of allocators, the memories of copies"):
    memory = {"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": PID, "cat": "cpu_instant_event"}
    events = [call("cudaMemcpyAsync", 0, 1, 1), command("Memcpy HtoD (Pageable -> Device)", 5, 3, 1, "gpu_memcpy", bytes=64),
              {**memory, "ts": 2, "args": {"Total Allocated": 512, "Total Reserved": 1024, "Device Id": 0, "Device Type": 1}},
              {**memory, "ts": 3, "args": {"Total Allocated": 99, "Total Reserved": 0, "Device Id": -1, "Device Type": 0}}]
    path = imported(events)
    rows, document = rows_of(path, "counters")
    series = {row["id"]: row["metric"] for row in document["series"]}
    t.equal(sorted((series[row["series"]], row["value"]) for row in rows),
            [("torch.allocated", 512), ("torch.host.allocated", 99), ("torch.reserved", 1024)], "counters")
    t.equal([(row["source_memory"], row["destination_memory"]) for row in document["executions"]], [("pageable", "device")], "copy")

with t.case("files of 2021: other categories, callers as a text"):
    events = [slice_of("Operator", "ProfilerStep#1", 0, 100), slice_of("Operator", "aten::mm", 10, 50, **{
        "Call stack": "/x/site-packages/torch/nn.py(7): forward;train.py(3): <module>"}),
              slice_of("Runtime", "cudaLaunchKernel", 20, 2, correlation=1), command("gemm", 30, 5, 1, "Kernel"),
              slice_of("Runtime", "cudaMemcpyAsync", 40, 2, correlation=2), command("Memcpy DtoH (Device -> Pinned)", 50, 5, 2, "Memcpy")]
    path = imported(events)
    report = t.report(path)
    t.equal(([row["name"] for row in report["kernels"]], [row["direction"] for row in report["copies"]]), (["gemm"], ["read"]), "commands")
    t.equal([row["name"] for row in report["ranges"]], ["ProfilerStep#1"], "ranges")
    t.true(any(line.startswith("<module> (train.py:3);forward (nn.py:7);aten::mm;cudaLaunchKernel;-;gemm") for line in folded(path)),
           f"{folded(path)}")

with t.case("callers as a text have at most 64 operators below them"):
    deep = [slice_of("cpu_op", f"op{number}", number, 1000 - 2 * number) for number in range(300)]
    named = [slice_of("cpu_op", "leaf", 310 + number, 1, **{"Call stack": f"train.py({number}): f{number}"}) for number in range(50)]
    launch = [slice_of("Runtime", "cudaLaunchKernel", 400, 1, correlation=1, **{"Call stack": "train.py(3): main"}), command("gemm", 450, 1, 1, "Kernel")]
    path = imported(deep + named + launch)
    t.equal([line.split(";-;")[0] for line in folded(path) if line.split(" ")[-1] != "0" and "gemm" in line],
            [";".join(["main (train.py:3)", *(f"op{number}" for number in range(236, 300)), "cudaLaunchKernel"])], "stack")
    t.true(len(rows_of(path, "stacks")[0]) <= 300 + 52 * 66, f"{len(rows_of(path, 'stacks')[0])} nodes of stacks")

with t.case("events of an MTIA are commands of an accelerator"):
    path = imported([slice_of("mtia_runtime", "launch", 0, 1, correlation=1), command("fused", 5, 10, 1, "mtia_ccp_events", pid=9)])
    t.equal([(row["name"], row["type"]) for row in rows_of(path, "devices")[0]], [("accelerator 9", 3)], "device")
    t.equal([row["name"] for row in t.report(path)["kernels"]], ["fused"], "kernels")

with t.case("copies, waits and synchronous calls of an MTIA"):
    def event(name, begin_us, duration_us, **more):
        return slice_of("mtia_ccp_events", name, begin_us, duration_us, thread=7, pid=9, **more)
    path = imported([slice_of("mtia_runtime", "runFunction", 0, 30, correlation=1), event("fused", 5, 10, correlation=1),
                     slice_of("mtia_runtime", "runFunction", 40, 1, correlation=2), event("fused", 50, 10, correlation=2),
                     event("dma_request", 100, 4, direction="HOST_TO_DEVICE", size=4096), event("event_wait", 200, 50),
                     event("dma_request", 110, 4, direction="DEVICE_TO_HOST", size=512), event("event_record", 260, 1)])
    t.equal(sorted((row["command"], row["bytes"], row["flags"]) for row in rows_of(path, "launches")[0]),
            [("barrier", 0, 0), ("barrier", 0, 0), ("kernel", 0, 0), ("kernel", 0, 1), ("read", 512, 0), ("write", 4096, 0)], "launches")

with t.case("calls among the rows of a device are those of the program"):
    path = imported([{"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "args": {"name": "MTIA 9"}},
                     slice_of("mtia_runtime", "runFunction", 0, 1, correlation=1), event("fused", 5, 10, correlation=1, stream=3),
                     slice_of("mtia_runtime", "synchronize", 6, 10, thread=11, pid=9), event("fused", 20, 10, stream=3)])
    t.equal([row["pid"] for row in rows_of(path, "processes")[0]], [PID], "processes")
    t.equal(len(rows_of(path, "queues")[0]), 1, "queues")

with t.case("a file that did not record the device"):
    path = imported([call("cudaLaunchKernel", 0, 5, 1), call("cudaMemcpyAsync", 10, 5, 2),
                     slice_of("cuda_profiler_range", "gemm", 3, 10, thread=0, pid=GPU)])
    report = t.report(path)
    t.true(report["complete"] and not report["devices"], "no command is taken for one in flight")
    t.equal({(row["name"], row["count"]) for row in report["api"]}, {("cudaLaunchKernel", 1), ("cudaMemcpyAsync", 1)}, "calls")
    t.true("2 launches imported as a call, because the file has no events of commands" in
           "".join(row["reason"] for row in report["collectors"]), "note")

def rpd_slice(pid, tid, name, begin_us, duration_us, description):
    """rpd2tracing writes numbers as text and no categories."""
    return {"ph": "X", "pid": str(pid), "tid": str(tid), "name": name, "ts": str(begin_us), "dur": str(duration_us), "args": {"desc": description}}


def rpd_arrow(number, call_end_us, start_us, thread=PID, gpu=2, queue=0):
    """From 2 us before the call's end, or the start of the command, to the command."""
    return [{"ph": "s", "cat": "api_op", "name": "api_op", "id": str(number), "pid": str(PID), "tid": str(thread), "ts": str(min(call_end_us - 2, start_us))},
            {"ph": "f", "cat": "api_op", "name": "api_op", "id": str(number), "pid": str(gpu), "tid": str(queue), "ts": str(start_us), "bp": "e"}]


RPD = [{}, {"ph": "M", "name": "process_name", "pid": "2", "args": {"name": "GPU2"}},
       rpd_slice(2, 0, "copied", 1003, 90, "CopyHostToDevice"), rpd_slice(2, 0, "gemm", 1110, 10, "KernelExecution"),
       rpd_slice(2, 0, "node a", 1200, 10, "Task"), rpd_slice(2, 0, "node b", 1210, 0, "Task"), rpd_slice(2, 0, "node c", 1210, 5, "Task"),
       rpd_slice(2, 0, "FillBuffer", 1300, 4, "FillBuffer"), rpd_slice(2, 0, "Barrier", 1310, 1, "Barrier"),
       rpd_slice(2, 0, "step", 1002, 300, "UserMarker frame: 3 ops"),
       rpd_slice(PID, PID, "step", 990, 200, "step"), rpd_slice(PID, PID + 1, "hcc_activity_callback", 1320, 3, "count=7"),
       # the second call of a kernel lasts 1 us, so its arrow starts in the call before it
       rpd_slice(PID, PID, "hipMemcpyWithStream", 1000, 100, ""), rpd_slice(PID, PID, "hipModuleLaunchKernel", 1100, 3, ""),
       rpd_slice(PID, PID, "hipGraphLaunch", 1103, 1, ""), rpd_slice(PID, PID, "hipMemsetAsync", 1104, 1, ""),
       rpd_slice(PID, PID + 1, "hipLaunchKernel", 1206, 3, ""),
       *rpd_arrow(1, 1100, 1003), *rpd_arrow(2, 1103, 1110), *rpd_arrow(3, 1104, 1200), *rpd_arrow(4, 1104, 1210),
       *rpd_arrow(5, 1209, 1210, thread=PID + 1), *rpd_arrow(6, 1105, 1300),
       rpd_arrow(7, 1100, 5000)[0], *rpd_arrow(8, 50, 60)]  # an arrow without an end, one between nothing


def rpd_launches(events):
    t.wanted()
    path, out = t.path("rpd.json"), t.path("rpd.duet")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(events, file)
    result = run([DUET, "import", "-o", out, path])
    t.equal(result.status, 0, text(result.stderr))
    document = json.loads(run([DUET, "export", "-f", "json", out]).stdout)
    starts = {row["correlation"]: row["started"] for row in document["executions"]}
    first = min(starts.values())
    return sorted((starts[row["correlation"]] - first, row["function"], row["command"], bool(row["flags"] & 4)) for row in document["launches"]), out


with t.case("arrows of rpd2tracing lead from a call to its commands"):
    found, path = rpd_launches(RPD)
    t.equal(found, [(0, "hipMemcpyWithStream", "write", False), (107_000, "hipModuleLaunchKernel", "kernel", False),
                    (197_000, "hipGraphLaunch", "kernel", False), (207_000, "hipGraphLaunch", "kernel", True), (207_000, "hipLaunchKernel", "kernel", False),
                    (297_000, "hipMemsetAsync", "fill", False), (307_000, "(not in the file)", "barrier", False)], "launches")
    t.equal([row["name"] for row in rows_of(path, "devices")[0]], ["GPU2"], "devices")
    t.equal(sorted(row["name"] for row in t.report(path)["kernels"]), ["gemm", "node a", "node b", "node c"], "kernels")
    t.equal(sorted(row["name"] for row in rows_of(path, "ranges")[0]), ["hcc_activity_callback", "step"], "ranges")

with t.case("the same arrows in any order of the file"):
    shuffled = [event for event in RPD if event.get("ph") not in ("M", "X")]
    random.Random(3).shuffle(shuffled)
    t.equal(rpd_launches([event for event in RPD if event.get("ph") in ("M", "X")] + shuffled)[0], found, "launches")

with t.case("the recordings of real devices: stacks of launches"):
    t.wanted()
    folder = os.environ.get("DUET_RECORDINGS")
    if not folder:
        raise duet_test.Skip("DUET_RECORDINGS does not name the folder of other programs' recordings")
    for name, share in (("h100__facebook_timesformer-base-finetuned-k400__1016002", 99), ("h100__gaunernst_bert-small-uncased__1016001", 98),
                        ("b200__eager_trace", 91)):
        out = t.path("real.duet")
        run([DUET, "import", "-f", "chrome", "-o", out, os.path.join(folder, "kineto", name + ".json.gz")])
        lines = [line.rsplit(" ", 1) for line in folded(out, "total") if "[idle" not in line]
        deep = sum(int(value) for stack, value in lines if stack.split(";-;")[0].count(";") >= 20 and ".py:" in stack)
        t.true(100 * deep >= share * sum(int(value) for _, value in lines), f"{name}: {deep} of {sum(int(value) for _, value in lines)} ns")

t.end()
