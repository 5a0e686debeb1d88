#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each finding, with a program that has the fault and one that does the same work without it.

The first report has this finding and no other, the second has none. Programs run on PoCL; those called "simulated" run on
a driver of sim/, because the finding is about a GPU or PoCL cannot have the fault: its commands do not fail, its copies use
the same processors as its kernels, and the time of a kernel cannot be chosen. test_findings.py checks the numbers.
"""
import collections
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys

import duet_test
from duet_test import BUILD, ROOT, program, text

t = duet_test.Suite()
PROGRAMS = os.path.join(ROOT, "tests", "programs")
CPU = ("--collect", "opencl,cpu")
# Findings about the machine: other programs on it cause them too, whatever this one does.
OF_MACHINE = {"cpu_preemption", "launch_latency"}
# Findings about rows that only imported recordings have: tests/unit/analyze/test_findings.py.
OF_IMPORTS = {"late_ranks", "profiler_overhead"}
# A clean program is repeated if it has seen the fault itself: another program took its processor for 2 % of the time, or
# delayed its launches.
TRIES = 3

Run = collections.namedtuple("Run", "command env", defaults=[{}])
# is_excused(numbers that it prints): whether the clean program itself has seen the fault, which the machine made.
# also: a finding that both programs may have besides.
Row = collections.namedtuple("Row", "name finding faulty clean check options is_excused is_simulated setting also",
                             defaults=[(), None, False, None, None])


# ---- programs ------------------------------------------------------------------------------------

def planted(*arguments, **env):
    return Run(("planted", *map(str, arguments)), env)


def simulated(options, *arguments, **env):
    """tests/programs/planted.c on the simulated OpenCL driver."""
    return planted(*arguments, OCL_ICD_VENDORS=os.path.join(BUILD, "sim"), SIM_OPENCL=options, **env)


def cuda(options, **arguments):
    """tests/programs/cuda_work.c on the simulated libcuda and CUPTI."""
    return Run(("cuda_work", *(f"{name}={value}" for name, value in arguments.items())),
               {"SIM_NVIDIA": options, "LD_LIBRARY_PATH": os.path.join(BUILD, "sim", "nvidia")})


def python(*arguments):
    return Run((sys.executable, os.path.join(PROGRAMS, "python_cpu.py"), *map(str, arguments)),
               {"OCL_ICD_VENDORS": os.path.join(BUILD, "sim"), "SIM_OPENCL": "kernel_us=100000"})


def shell(script, **env):
    return Run(("/bin/sh", "-c", script), env)


def line_of(file, part):
    """The number of the only line with this part."""
    with open(os.path.join(PROGRAMS, file), encoding="utf-8") as source:
        found = [number for number, line in enumerate(source, 1) if part in line]
    assert len(found) == 1, f"{part} in {file}: {found}"
    return found[0]


def lines_of(file, function):
    """The lines of a function of C."""
    with open(os.path.join(PROGRAMS, file), encoding="utf-8") as source:
        lines = source.read().splitlines()
    first = next(i for i, line in enumerate(lines) if re.search(rf"\b{function}\(", line) and not line.endswith(";"))
    return range(first + 1, lines.index("}", first) + 2)


# ---- what a finding names ------------------------------------------------------------------------

def has(**wanted):
    """The evidence has these values."""
    def check(evidence, _):
        t.equal({key: evidence.get(key) for key in wanted}, wanted, "evidence")
    return check


def is_in(function, file="planted.c", line=None, **wanted):
    """The evidence names the function, and this line or one of the function's."""
    def check(evidence, document):
        has(**wanted)(evidence, document)
        t.equal((evidence.get("function"), os.path.basename(evidence.get("file") or "")), (function, file), "place")
        lines = [line] if line else lines_of(file, function)
        t.true(evidence.get("line") in lines, f"line {evidence.get('line')}, {function} has {lines}")
    return check


def is_shared(evidence, _):
    t.equal([row["name"] for row in evidence["processes"]], ["planted"] * 2, "processes")


def has_launch(evidence, _):
    t.equal([row["name"] for row in evidence["launches"]][:1], ["work"], "the launch that came late")


# ---- the machine ---------------------------------------------------------------------------------

def was_preempted(said):
    """The program itself was off its processor for 2 % of its time."""
    return said["away"] > 0.02 * said["compute"]


def came_late(said):
    return said["p99"] >= 10 * said["median"]


class Hog:
    """A process that computes on one processor."""
    def __enter__(self):
        self.process = subprocess.Popen([program("planted"), "hog"], env={**os.environ, "PLANTED_CPU": LAST_CPU},
                                        preexec_fn=duet_test.default_signals)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


LAST_CPU = str(max(os.sched_getaffinity(0)))
BUSY = f"'{os.path.join(duet_test.PROGRAMS, 'planted')}' busy 600"
# Both have their kernel when the first one begins.
TOGETHER = 'mkfifo "$FIFO"; PLANTED_READ="$FIFO" {0} & PLANTED_WRITE="$FIFO" {0}; wait'
BUILDS = line_of("planted.c", "return clBuildProgram(")
FINISHES_EACH = line_of("planted.c", "if (i % every == 0)") + 1
FULL = 16384  # work items that fill the simulated GPU
FINISHES = line_of("python_cpu.py", "device.must(wait(device.queue))")
DOZES = "kernel_us=1000,doze_ms=40,wake_us=20000"
COPIES = "kernel_us=1000,copy_gbps=1,engines=2"
PC = ("--collect", "nvidia:cuda,nvidia:pc")

ROWS = [
    Row("failed launches", "failed_launches", planted("tries", 10, 64, 1 << 20), planted("tries", 10, 64, 16),
        is_in("try_launch", name="clEnqueueNDRangeKernel", count=10, error="CL_INVALID_WORK_GROUP_SIZE")),
    Row("failed launches of CUDA", "failed_launches", cuda("", kernels=3, failing=2), cuda("", kernels=3),
        is_in("work", "cuda_work.c", name="cuLaunchKernel", count=2, error="CUDA_ERROR_INVALID_VALUE"), ("--collect", "nvidia:cuda"), is_simulated=True),
    Row("failed builds", "failed_builds", planted("type", "flot"), planted("type", "int"),
        is_in("build", line=BUILDS, name="clBuildProgram", count=1, error="CL_BUILD_PROGRAM_FAILURE")),
    Row("failed allocations", "failed_allocations", planted("buffers", 5, 1 << 60), planted("buffers", 5, 1 << 10),
        is_in("try_buffer", name="clCreateBuffer", count=5, error="CL_INVALID_BUFFER_SIZE")),
    Row("failed allocations of CUDA", "failed_allocations", cuda("fail_cuMemAllocManaged=2", kernels=3, managed=4096),
        cuda("", kernels=3, managed=4096), is_in("work", "cuda_work.c", name="cuMemAllocManaged", count=1, error="CUDA_ERROR_OUT_OF_MEMORY"),
        ("--collect", "nvidia:cuda"), is_simulated=True),
    Row("failed builds of CUDA", "failed_builds", cuda("fail_cuModuleLoadData=218"), cuda("", kernels=3),
        is_in("load_kernels", "cuda_work.c", name="cuModuleLoadData", count=1, error="CUDA_ERROR_INVALID_PTX"), ("--collect", "nvidia:cuda"),
        is_simulated=True),
    Row("failed commands", "failed_commands", simulated("fail_every=5", "kernels", 20), simulated("", "kernels", 20),
        has(name="work", count=4, error="CL_OUT_OF_RESOURCES"), is_simulated=True),
    Row("small transfers", "small_transfers", simulated("", "pieces", 20000, 64), simulated("", "pieces", 1, 1280000),
        has(count=20000, bytes=1280000), is_simulated=True),
    Row("preempted", "cpu_preemption", simulated("kernel_us=130000", "compute", 8, 12, PLANTED_CPU=LAST_CPU),
        simulated("kernel_us=130000", "compute", 8, 12, PLANTED_CPU=LAST_CPU, PLANTED_URGENT="1"), has_launch, CPU, was_preempted, True, Hog),
    Row("computing before the next launch", "starved_queue", simulated("kernel_us=10000", "compute", 12, 20),
        simulated("kernel_us=10000", "compute", 12, 20, 1), is_in("compute"), CPU, is_simulated=True),
    Row("sleeping before the next launch", "blocked_host", simulated("kernel_us=10000", "rest", 12, 20),
        simulated("kernel_us=10000", "rest", 12, 20, 1), is_in("rest"), CPU, is_simulated=True),
    Row("two processes", "device_shared", shell(TOGETHER.format(BUSY), FIFO=t.path("fifo")), shell(f"{BUSY}; {BUSY}"), is_shared),
    Row("copies and kernels in turns", "no_overlap", simulated(COPIES, "turns", 100, 1 << 20),
        simulated(COPIES, "beside", 100, 1 << 20), has(queues=1, out_of_order_queues=0), is_simulated=True),
    Row("copies that wait", "sync_copies", simulated(COPIES, "sync", 100, 1 << 20), simulated(COPIES, "beside", 100, 1 << 20),
        has(count=100, bytes=100 << 20), is_simulated=True),
    Row("copies for few kernels", "copy_bound", simulated("kernel_us=20,copy_gbps=1,engines=2", "turns", 100, 1 << 20),
        simulated("kernel_us=20", "kernels", 100), has(direction="write", bytes=100 << 20), is_simulated=True),
    Row("queues in turns", "serial_queues", simulated("kernel_us=500,engines=1", "queues", 13, 20),
        simulated("kernel_us=500,engines=1", "waits", 260, 13, FULL), has(queues=13, several_ns=0), is_simulated=True),
    Row("tiny kernels", "tiny_kernels", simulated("kernel_us=0.02", "kernels", 30000), simulated("kernel_us=20", "kernels", 30),
        has(kernel="work", kernels=30000), is_simulated=True),
    Row("a wait after each launch", "launch_bound", simulated("kernel_us=20", "waits", 2000, 1, FULL), simulated("kernel_us=20", "waits", 2000, 2000, FULL),
        is_in("waits", line=FINISHES_EACH, call="clFinish", launch="clEnqueueNDRangeKernel", launches=2000), is_simulated=True),
    Row("a wait after each launch on PoCL", "launch_bound", planted("waits", 2000, 1, 64), planted("waits", 2000, 500, 64),
        is_in("waits", line=FINISHES_EACH, call="clFinish", launch="clEnqueueNDRangeKernel", launches=2000)),
    Row("a wait after each launch of CUDA", "launch_bound", cuda("kernel_us=20", laps=1000, kernels=1, awaited=1),
        cuda("kernel_us=20", laps=1000, kernels=1), is_in("work", "cuda_work.c", call="cuStreamSynchronize", launch="cuLaunchKernel", launches=1000),
        ("--collect", "nvidia:cuda"), is_simulated=True, also="low_occupancy"),
    Row("a full command buffer", "command_buffer_full", cuda("kernel_us=1000,queue_us=4000", kernels=100),
        cuda("kernel_us=1000,queue_us=400000", kernels=100), is_in("launch_steps", "cuda_work.c"), ("--collect", "nvidia:cuda"), is_simulated=True,
        also="low_occupancy"),
    Row("few work-groups", "low_occupancy", simulated("kernel_us=1000", "grid", 512, 64, 100),
        simulated("kernel_us=1000", "grid", 16384, 64, 100), has(kernel="work", groups=8, units=32, few_groups=100),
        is_simulated=True),
    Row("pauses in which the device dozes", "launch_latency", simulated(DOZES, "pauses", 150, 60, 25),
        simulated(DOZES, "pauses", 150, 0, 0, PLANTED_URGENT="1"), has(launches=150), ("--collect", "opencl"), came_late,
        is_simulated=True, also="launch_bound"),  # both wait after each launch
    Row("a wait under the GIL", "wait_under_gil", python("finish", 8, 1), python("finish", 8, 0),
        is_in("finish", "python_cpu.py", FINISHES, call="clFinish"), CPU, is_simulated=True,
        also="blocked_host"),  # after each wait it wants the GIL, which the other thread keeps for 5 ms and more
    Row("kernels without a launch", "hidden_launches", cuda("sms=2,range_first=2,range_last=1000", kernels=1, graphs=60, nodes=11),
        cuda("sms=2", kernels=1, graphs=60, nodes=11), has(kernels=1), PC, is_simulated=True),
    Row("a build in each round", "compile_time", planted("builds", 10, 10), planted("builds", 10, 0),
        is_in("build", line=BUILDS, call="clBuildProgram", count=11)),
]


# ---- runs ----------------------------------------------------------------------------------------

numbers = itertools.count()
CACHE = t.path("pocl")
os.mkdir(CACHE)


def command_of(run):
    """A test program is given by its name alone."""
    name, *arguments = run.command
    return [name if "/" in name else program(name), *arguments]


def warm_up(row):
    """PoCL compiles what the clean program needs. Programs with a fault compile the rest themselves."""
    if not row.is_simulated:
        duet_test.run(command_of(row.clean), env={**row.clean.env, "POCL_CACHE_DIR": CACHE})


def record(row, run):
    """(the numbers that the program printed, the report)"""
    trace = t.path(f"{next(numbers)}.duet")
    recorded = t.record(command_of(run), trace, row.options, {**run.env, "POCL_CACHE_DIR": CACHE})
    said = dict(line.split(" ", 1) for line in text(recorded.stdout).splitlines() if re.fullmatch(r"\w+ \d+", line))
    return {name: int(number) for name, number in said.items()}, t.report(trace)


def ids_of(row, document):
    """The findings but those that the machine can make."""
    ids = [one["id"] for one in document["findings"]]
    return sorted(one for one in ids if one == row.finding or one not in (*OF_MACHINE, row.also))


def check_faulty(row):
    with row.setting() if row.setting else contextlib.nullcontext():
        _, document = record(row, row.faulty)
    found = [one for one in document["findings"] if one["id"] == row.finding]
    t.equal(ids_of(row, document), [row.finding], "findings")
    if not found:
        return
    row.check(found[0]["evidence"], document)
    if "device" in found[0]["evidence"]:
        t.true(found[0]["evidence"]["device"] in [device["key"] for device in document["devices"]], f"device of {found[0]}")


def check_clean(row):
    for attempt in range(TRIES):
        said, document = record(row, row.clean)
        ids = ids_of(row, document)
        if not ids or not row.is_excused or not row.is_excused(said):
            break
        # the program itself has seen the fault: other programs on this machine made it
        print(f"# {row.name}: run {attempt + 1} without the fault had it all the same: {said}")
    else:
        raise duet_test.Skip(f"the machine is too busy: {said}")
    t.equal(ids, [], "findings without the fault")


for one in ROWS:
    with t.case(f"{one.finding}: {one.name}" + (" (simulated)" if one.is_simulated else "")):
        t.wanted()
        warm_up(one)
        check_faulty(one)
        check_clean(one)

with t.case("every finding has a row"):
    with open(os.path.join(ROOT, "docs", "report.schema.json"), encoding="utf-8") as schema:
        known = json.load(schema)["properties"]["findings"]["items"]["properties"]["id"]["enum"]
    t.equal(sorted({one.finding for one in ROWS} | OF_IMPORTS), sorted(known), "findings")

t.end()
