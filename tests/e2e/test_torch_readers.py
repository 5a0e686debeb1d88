#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export -f chrome for programs that read PyTorch's timelines: a timeline that was imported and exported again has the
same device events, links and numbers.

DUET_RECORDINGS names a folder of real timelines. DUET_HTA and DUET_TRACELENS name the folders of HolisticTraceAnalysis and
TraceLens; then their breakdowns of the original and of the export are compared.
"""
import collections
import decimal
import glob
import gzip
import json
import os
import re
import shutil
import subprocess

import chrome_trace
import duet_test
from duet_test import DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
RECORDINGS = ["h100__gaunernst_bert*", "h100__facebook_timesformer*", "b200__eager*", "mi300__ddp_resnet18*", "particle_bs8*"]


def call(name, begin, took, **arguments):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 4711, "tid": 4711, "ts": begin, "dur": took,
            "args": arguments}


def command(category, name, begin, took, correlation, stream=7, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": took,
            "args": {"device": 0, "context": 1, "stream": stream, "correlation": correlation, **arguments}}


MADE = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 2 ** 37, "numSms": 132}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 4711, "tid": 4711, "ts": 1000.001, "dur": 900},
            {"ph": "X", "cat": "python_function", "name": "train.py(7): step", "pid": 4711, "tid": 4711, "ts": 1001, "dur": 800,
             "args": {"Python id": 1}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4711, "tid": 4711, "ts": 1002, "dur": 30,
             "args": {"External id": 5}},
            call("cudaLaunchKernel", 1010.125, 5, correlation=81),
            command("kernel", "gemm(float*)", 1020.125, 8.5, 81, grid=[16, 2, 1], block=[128, 1, 1]),
            call("cudaMemcpyAsync", 1035, 4, correlation=82),
            command("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1040, 2.048, 82, bytes=4096),
            call("cudaMemsetAsync", 1045, 1, correlation=86),
            command("gpu_memset", "Memset (Device)", 1050, 1, 86, stream=20, bytes=16),
            call("cudaGraphLaunch", 1060, 6, correlation=83),
            command("kernel", "node_a", 1070, 3, 83, grid=[1, 1, 1], block=[32, 1, 1]),
            command("kernel", "node_b", 1075, 4, 83, grid=[1, 1, 1], block=[32, 1, 1]),
            call("cudaDeviceSynchronize", 1095, 9, correlation=85),
            {"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "args": {"name": "python3"}},
            {"ph": "M", "name": "thread_name", "pid": 4711, "tid": 4711, "args": {"name": "main"}}]}


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def ns(number):
    return int(decimal.Decimal(number) * 1000)


class Timeline:
    """What HolisticTraceAnalysis and TraceLens use, read as they read it: by exact categories and by correlation."""

    def __init__(self, document):
        self.events = [one for one in document["traceEvents"] if one["ph"] == "X"]
        self.device = [one for one in self.events if one.get("cat") in DEVICE]
        self.calls = {one["args"]["correlation"]: one for one in self.events
                      if one.get("cat") in CALLS and one["args"].get("correlation")}
        self.zero = min(ns(one["ts"]) for one in self.device)

    def commands(self):
        return collections.Counter((one["cat"], one["name"], one["args"]["device"], one["args"]["stream"],
                                    one["args"].get("bytes", 0), ns(one["ts"]) - self.zero, ns(one["dur"])) for one in self.device)

    def launched(self):
        """The call of each command."""
        found = collections.Counter()
        for one in self.device:
            made = self.calls.get(one["args"]["correlation"])
            found[one["name"], ns(one["ts"]) - self.zero,
                  made and (made["name"], ns(made["ts"]) - self.zero, ns(made["dur"]))] += 1
        return found

    def operators(self):
        return collections.Counter((one["cat"], one["name"], ns(one["dur"])) for one in self.events
                                   if one.get("cat") in ("cpu_op", "python_function", "user_annotation")
                                   and not one["name"].startswith("ProfilerStep"))

    def waiting(self):
        """Commands in flight at most, by stream."""
        found = {}
        steps = [(ns(made["ts"]), 1, one["args"]["stream"]) for one in self.device
                 if (made := self.calls.get(one["args"]["correlation"]))]
        steps += [(ns(one["ts"]), -1, one["args"]["stream"]) for one in self.device if one["args"]["correlation"] in self.calls]
        depth = collections.Counter()
        for _, by, stream in sorted(steps):
            depth[stream] += by
            found[stream] = max(found.get(stream, 0), depth[stream])
        return found


def exported(original, name):
    """The original imported and exported again."""
    trace, out = t.path(f"{name}.duet"), t.path(f"{name}.json")
    result = run([DUET, "import", "--format", "chrome", "-o", trace, original])
    t.equal(result.status, 0, f"import: {text(result.stderr)}")
    result = run([DUET, "export", "-f", "chrome", "-o", out, trace])
    t.equal(result.status, 0, f"export: {text(result.stderr)}")
    return out


def compare(original, out, what):
    before, after = Timeline(read(original)), Timeline(read(out))
    t.true(before.device, f"{what}: the original has commands")
    for name in ("commands", "launched", "operators", "waiting"):
        left, right = getattr(before, name)(), getattr(after, name)()
        t.true(left == right, f"{what}: {name}: {len(left)} and {len(right)}; only in the original "
               f"{[one for one in left if left[one] != right.get(one)][:2]}, in the export "
               f"{[one for one in right if right[one] != left.get(one)][:2]}")


def made():
    path = t.path("made.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(MADE, file)
    return path


with t.case("a timeline of our own: the same commands, links, operators and queue lengths"):
    t.wanted()
    original = made()
    out = exported(original, "again")
    compare(original, out, "made")
    chrome_trace.Trace(out)  # its rules
    document = read(out)
    t.equal([(one["id"], one["name"], one["totalGlobalMem"], one["numSms"]) for one in document["deviceProperties"]],
            [(0, "NVIDIA H200", 2 ** 37, 132)], "deviceProperties")
    t.equal((document["distributedInfo"]["rank"], document["distributedInfo"]["world_size"]), (3, 8), "distributedInfo")
    with open(out, encoding="utf-8") as file:
        t.equal(re.search(r'"rank":\s+(\d+)', file.read()).group(1), "3", "the rank as HolisticTraceAnalysis searches for it")
    events = {one["name"]: one for one in document["traceEvents"] if one["ph"] == "X"}
    t.equal(events["gemm(float*)"]["args"]["External id"], events["aten::mm"]["args"]["External id"], "External id of the operator")
    t.equal((events["gemm(float*)"]["args"]["grid"], events["gemm(float*)"]["args"]["block"]), ([16, 2, 1], [128, 1, 1]), "sizes")
    t.equal((events["gemm(float*)"]["pid"], events["gemm(float*)"]["tid"], events["Memset (Device)"]["tid"]), (0, 7, 20),
            "pid is the device, tid the stream")
    t.equal(float(events["Memcpy HtoD (Pageable -> Device)"]["args"]["memory bandwidth (GB/s)"]), 2.0, "bandwidth")
    arrows = collections.Counter((one["ph"], one["id"]) for one in document["traceEvents"] if one["ph"] in "sf")
    t.equal(set(arrows.values()), {1}, "one arrow for a call")
    t.true(arrows["s", events["cudaGraphLaunch"]["args"]["correlation"]], "an arrow has the number of its call")

with t.case("processes of one number each: a correlation is unique in the file"):
    t.wanted()
    path = t.described("two.duet", "window 0 1000", "device 1 gpu", "process 1 7 first", "process 2 8 second",
                       "thread 1 1", "thread 2 2", "queue 1 1 context=1", "queue 2 1 context=2 process=2",
                       "launch 1 1 1 100 110 kernel name=a", "execution 1 1 1 100 100 120 150",
                       "launch 1 2 2 200 210 kernel name=b", "execution 2 1 2 200 200 220 250")
    out = t.path("two.json")
    t.equal(run([DUET, "export", "-f", "chrome", "-o", out, path]).status, 0, "export")
    t.equal(sorted(Timeline(read(out)).launched()), [("a", 0, ("clEnqueueNDRangeKernel", -20, 10)),
                                                     ("b", 100, ("clEnqueueNDRangeKernel", 80, 10))], "each has its own call")


def recordings():
    folder = os.environ.get("DUET_RECORDINGS")
    if not folder:
        raise Skip("DUET_RECORDINGS names no folder of recordings")
    for pattern in RECORDINGS:
        found = glob.glob(os.path.join(folder, "kineto", pattern))
        if not found:
            raise Skip(f"{pattern} is not in {folder}")
        name = os.path.basename(found[0]).split(".")[0]
        path = t.path(f"{name}.original.json")
        if not os.path.exists(path):
            command_line = ["zstd", "-dqf"] if found[0].endswith(".zst") else ["gzip", "-dc"]
            with open(path, "wb") as file:
                subprocess.run([*command_line, "-c", found[0]], stdout=file, check=True, timeout=120)
        yield name, path


with t.case("real timelines: the same commands, links, operators and queue lengths"):
    t.wanted()
    for name, path in recordings():
        compare(path, exported(path, name), name)


def breakdown(tool, folder, path):
    result = subprocess.run(["/usr/bin/python3", os.path.join(HERE, "torch_tools.py"), tool, folder, path],
                            capture_output=True, timeout=600, check=False)
    t.equal(result.returncode, 0, f"{tool}: {result.stderr.decode()[-500:]}")
    return json.loads(result.stdout)


def without_streams_of_operators(path):
    """HolisticTraceAnalysis takes an operator of Triton for a command, because it has a stream."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for one in document["traceEvents"]:
        if one.get("cat") == "cpu_op":
            one.get("args", {}).pop("stream", None)
    out = path.replace(".original.json", ".operators.json")
    with open(out, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return out


def check_tool(tool, variable):
    folder = os.environ.get(variable)
    if not folder:
        raise Skip(f"{variable} names no folder of the tool")
    if not shutil.which("/usr/bin/python3") or subprocess.run(
            ["/usr/bin/python3", "-c", "import pandas, plotly, tqdm, psutil, yaml"], capture_output=True, check=False).returncode:
        raise Skip("Debian's python3-pandas, -plotly, -tqdm, -psutil or -yaml is missing")
    for name, path in recordings():
        before = breakdown(tool, folder, without_streams_of_operators(path))
        after = breakdown(tool, folder, exported(path, name))
        for table in before:
            t.true(before[table], f"{tool}, {name}: {table} has rows")
            same_table(before[table], after.get(table), f"{tool}, {name}: {table}")


def same_table(before, after, what):
    """Texts are equal, numbers to 0.05 us."""
    if not t.equal(len(after or []), len(before), f"{what}: rows"):
        return
    for left, right in zip(before, after):
        for key, value in left.items():
            other = right.get(key)
            if isinstance(value, float) and isinstance(other, (int, float)):
                t.true(abs(value - other) < 0.05, f"{what}: {key}: {value} and {other}")
            else:
                t.equal(other, value, f"{what}: {key}")


with t.case("HolisticTraceAnalysis: its breakdowns of the export are those of the original"):
    t.wanted()
    check_tool("hta", "DUET_HTA")

with t.case("TraceLens: its breakdowns of the export are those of the original"):
    t.wanted()
    check_tool("tracelens", "DUET_TRACELENS")

t.end()
