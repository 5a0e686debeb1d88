#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruction samples of CUDA kernels, over simulated libcuda and libcupti (sim/nvidia), which follow a plan.

The plan defines the samples per instruction and reason for one run of a kernel; the program reports the number of runs.
No result depends on the load.
"""
import collections
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys

import duet_test
from duet_test import DUET, Skip, program, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = os.path.join(HERE, "..", "programs", "cuda_layers.py")
CUBINS = os.path.join(HERE, "..", "golden", "cubin")
VERSIONS = {"11.8": 18, "12.4": 22, "13.0": 130000}
ALWAYS = "nvidia:pc"

# Of each kernel: (number of the instruction, what it is in the stand-in's code, reason, samples of a run).
PLAN = {
    "matmul": ((2, "LDG", "long_scoreboard", 70), (2, "LDG", "selected", 5), (8, "BAR", "barrier", 13)),
    "softmax": ((0, "S2R", "wait", 4), (11, "STG", "lg_throttle", 1)),
    "_Z4stepPfi": ((4, "FFMA", "math_pipe_throttle", 9),),
    "reduce": ((63, "EXIT", "drain", 2),),
}

numbers = itertools.count()
Recorded = collections.namedtuple("Recorded", "stdout stderr trace report")


def plan():
    path = t.path("plan")
    with open(path, "w", encoding="ascii") as file:
        for kernel, rows in PLAN.items():
            for instruction, _, reason, samples in rows:
                print(kernel, instruction, reason, samples, file=file)
    return path


def recorded(command, sim="", status=0, options=("--collect", ALWAYS), is_planned=True):
    t.wanted()
    trace = t.path(f"pc{next(numbers)}.duet")
    sim = ",".join(filter(None, [sim, f"pc_plan={plan()}" if is_planned else ""]))
    result = t.record(["env", f"LD_LIBRARY_PATH={STAND_INS}", f"SIM_NVIDIA={sim}", *command], trace, options)
    t.equal(result.status, status, f"status: {text(result.stderr)}")
    return Recorded(text(result.stdout), text(result.stderr), trace, t.readable(trace))


def layers(trained, evaluated, *more):
    library = program("cuda_layers.so")
    if not os.path.exists(library):
        raise Skip("no compiler for C++ was there to build cuda_layers.so")
    return [sys.executable, LAYERS, library, *map(str, (trained, evaluated, *more))]


def work(**arguments):
    return [program("cuda_work"), *(f"{name}={value}" for name, value in arguments.items())]


def folded(one):
    """{frames, root first: samples} of the view of stalls."""
    lines = text(run([DUET, "flame", "--view", "stall", "--folded", "-o", "/dev/stdout", one.trace]).stdout).splitlines()
    return {tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1]) for line in lines}


def of_device(one):
    """{(kernel, instruction, reason, offset): samples}"""
    sums = collections.Counter()
    for frames, count in folded(one).items():
        sums[frames[-4:]] += count
    return sums


def planned(runs, name=lambda kernel: kernel):
    return {(f"{name(kernel)}_[G]", f"{opcode}_[g]", f"{reason}_[g]", f"{instruction * 16:#x}_[g]"): samples * count
            for kernel, count in runs.items() for instruction, opcode, reason, samples in PLAN[kernel]}


def demangled(kernel):
    return {"_Z4stepPfi": "step"}.get(kernel, kernel)


def by_path(one, kernel):
    """{train or evaluate: samples}"""
    sums = collections.Counter()
    for frames, count in folded(one).items():
        if f"{kernel}_[G]" in frames:
            sums[next((name for name in ("train", "evaluate") for frame in frames if frame.startswith(f"{name} (")),
                      None)] += count
    return sums


def samples_of(one):
    ledger = one.report["ledger"]
    return ledger["samples"], ledger["samples_estimated"], ledger["samples_unknown"]


def periods_of(one):
    """{cycles between two samples}"""
    rows = map(json.loads, text(run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", one.trace]).stdout).splitlines())
    return {row["period"] for row in rows if row["kind"] == "instruction_sample" and row["period_unit"] == "cycles"}


def notes(one):
    return text(run([DUET, "info", one.trace]).stdout)


MATMUL = sum(row[3] for row in PLAN["matmul"])
SOFTMAX = sum(row[3] for row in PLAN["softmax"])

# ---- what must be there ----

for name, version in VERSIONS.items():
    with t.case(f"CUPTI {name}: Python; C++; cuLaunchKernel; kernel; SASS; reason, as wide as planned"):
        one = recorded(layers(6, 0), f"version={version}")
        t.equal(of_device(one), planned({"matmul": 6}), "samples")
        for frames in folded(one):
            order = [next((i for i, frame in enumerate(frames) if frame.startswith(begin)), None) for begin in
                     ("train (cuda_layers.py", "model::Layer::forward(int)", "cuLaunchKernel", "-", "matmul_[G]")]
            t.true(None not in order and order == sorted(order), f"frames: {frames}")
        t.equal(samples_of(one), (6 * MATMUL, 0, 0), "samples, estimated, unknown")

for name, version in VERSIONS.items():
    with t.case(f"CUPTI {name}: one kernel of two callers: one kernel at a time is exact where records say whose they are"):
        one = recorded(layers(2, 5), f"version={version}", options=("--collect", "nvidia:pc-exact"))
        t.equal(of_device(one), planned({"matmul": 7, "softmax": 5}), "samples")
        if version < VERSIONS["12.4"]:
            sampled, estimated, unknown = samples_of(one)
            t.true(sampled == 7 * MATMUL + 5 * SOFTMAX and 0 < estimated <= 7 * MATMUL and not unknown,
                   f"estimated: records have no correlation before 12.4: {samples_of(one)}")
        else:
            t.equal(by_path(one, "matmul"), {"train": 2 * MATMUL, "evaluate": 5 * MATMUL}, "of each caller")
            t.equal(samples_of(one), (7 * MATMUL + 5 * SOFTMAX, 0, 0), "samples, estimated, unknown")

with t.case("one kernel of two callers, side by side: in proportion to their time, and said to be estimated"):
    one = recorded(layers(2, 6))
    paths = by_path(one, "matmul")
    t.equal(sum(paths.values()), 8 * MATMUL, f"no sample is lost: {paths}")
    sampled, estimated, unknown = samples_of(one)
    t.true(sampled == 8 * MATMUL + 6 * SOFTMAX and 0 < estimated <= 8 * MATMUL and not unknown, f"{samples_of(one)}")
    t.true(set(paths) == {"train", "evaluate"}, f"both have some: {paths}")

with t.case("one kernel of two callers on two GPUs: samples belong to their GPU"):
    one = recorded(layers(2, 6, 1), "devices=2")
    t.equal(by_path(one, "matmul"), {"train": 2 * MATMUL, "evaluate": 6 * MATMUL}, "of each caller")
    t.equal(samples_of(one), (8 * MATMUL + 6 * SOFTMAX, 0, 0), "samples, estimated, unknown")

with t.case("GPUs of two kinds: reasons have the names of the chip"):
    one = recorded(work(devices=2, threads=2, kernels=4), "devices=2,pc_chips=1")
    t.equal(of_device(one), planned({"_Z4stepPfi": 2 * 2, "reduce": 2 * 2}, demangled), "samples")

with t.case("a context that is destroyed while CUPTI hands out its samples for long"):
    for reuse in 0, 1:
        one = recorded(work(contexts=3, kernels=2, pace_ms=400), f"pc_slow_ms=1500,context_reuse={reuse}")
        t.equal(json.loads(one.stdout)["wrong"], 0, "the program")
        t.true("no instructions of kernels" not in one.stderr, f"nothing is asked that makes no sense: {one.stderr}")
        # The last lap is in the primary context.
        t.true(of_device(one).total() > 11, f"others than the slow one are sampled: {of_device(one)}")

with t.case("kernels without times: launches have the same share each, which is said to be estimated"):
    for sim in ("fail_cuptiActivityEnable=27", "untimed_every=1"):
        one = recorded(layers(2, 6), sim)
        paths = by_path(one, "matmul")
        t.equal(sum(paths.values()), 8 * MATMUL, f"{sim}: no sample is lost: {paths}")
        t.true(set(paths) == {"train", "evaluate"}, f"{sim}: both have some: {paths}")
        t.equal(by_path(one, "softmax"), {"evaluate": 6 * SOFTMAX}, f"{sim}: what one path launches is its own")
        t.equal(samples_of(one), (8 * MATMUL + 6 * SOFTMAX, 8 * MATMUL, 0), f"{sim}: samples, estimated, unknown")

with t.case("CUPTI's ids wrap: each command and each sample finds its own all the same"):
    for graphs, options in ((2, ("--collect", ALWAYS)), (0, ("--collect", "nvidia:pc-exact"))):
        one = recorded(work(kernels=40, graphs=graphs, nodes=4), f"correlation={2 ** 32 - 40}", options=options)
        runs = 20 + 2 * graphs
        t.equal(of_device(one), planned({"_Z4stepPfi": runs, "reduce": runs}, demangled), "samples")
        ledger = one.report["ledger"]
        launched = 40 + 4 * graphs
        t.equal((ledger["launched"], ledger["matched"], ledger["untimed"]), (launched, launched, 0), f"ledger: {ledger}")
        if not graphs:
            t.equal(samples_of(one)[1:], (0, 0), "samples, estimated, unknown")

with t.case("nodes of graphs, and several threads"):
    one = recorded(work(graphs=2, nodes=11, threads=2, kernels=3))
    t.equal(of_device(one), planned({"_Z4stepPfi": 2 * (2 * 6 + 2), "reduce": 2 * (2 * 5 + 1)}, demangled), "samples")
    t.true(any("[graph launch]" in frames for frames in folded(one)), "below launches of graphs")
    one = recorded(work(graphs=1, nodes=3), options=("--collect", "nvidia:pc-exact"))
    t.equal(of_device(one), planned({"_Z4stepPfi": 2, "reduce": 1}, demangled), "of one kernel at a time")

with t.case("the period: by the size of the GPU, or as requested; CUPTI's own if it refuses"):
    # Samples weigh the cycles between two of them. The simulated GPU has 132 multiprocessors: 2^(11 + 8).
    for option, sim, exponent in (("pc", "", 19), ("pc=14", "", 14), ("pc", "pc_fixed=1", 12)):
        one = recorded(work(kernels=2), sim, options=("--collect", f"nvidia:{option}"))
        t.equal(periods_of(one), {2 ** exponent}, f"{option}, {sim}")

with t.case("without a plan the time decides: the report's instructions have their kernel's share"):
    one = recorded(work(kernels=4), is_planned=False)
    rows = one.report["instructions"]
    t.true(rows and all(row["text"] and row["samples"] == sum(row["stalls"].values()) for row in rows),
           f"instructions: {rows[:2]}")
    t.equal(sum(row["samples"] for row in rows), one.report["ledger"]["samples"], "all samples")

# Blocks of 128 threads. With 40 registers each: 12 warps of 1280 registers in each quarter of 65536. With 40000 bytes and the 1 KiB
# that is kept free, five blocks in 233472 bytes.
ROOM = {0: {"step": {"warps": 64, "of_warps": 64, "limit": "warps"}, "reduce": {"warps": 48, "of_warps": 64, "limit": "registers"}},
        40000: dict.fromkeys(("step", "reduce"), {"warps": 20, "of_warps": 64, "limit": "shared memory"})}

with t.case("room on a multiprocessor, with the shared memory that launches ask for: samples or not"):
    for shared, options in ((0, ALWAYS), (40000, ALWAYS), (40000, "nvidia:cuda"), (0, "nvidia:cuda")):
        one = recorded(work(kernels=4, shared=shared), options=("--collect", options))
        for row in one.report["kernels"]:
            room = ROOM[shared][row["name"].split("(")[0]]
            # what another launch of it may have asked for in the place of this one
            t.equal(row.get("occupancy"), {**room, "is_at_most": False, "is_at_least": room["limit"] == "shared memory"},
                    f"{options}, {shared}: {row['name']}")
        if shared:
            t.true("has room for at least 20 of 64 warps, limited by shared memory" in text(run([DUET, "report", one.trace]).stdout), "in words")
    t.true("has room for 48 of 64 warps, limited by registers" in text(run([DUET, "report", one.trace]).stdout), "… in words")

with t.case("killed: what was read is kept"):
    one = recorded(work(kernels=4, rest_ms=1500, end="kill"), status=128 + signal.SIGKILL)
    t.equal(of_device(one), planned({"_Z4stepPfi": 2, "reduce": 2}, demangled), "samples")

with t.case("a recording that ends before its program"):
    one = recorded(work(kernels=2, laps=60, pace_ms=50), options=("--collect", ALWAYS, "-d", "1.5"))
    t.equal(json.loads(one.stdout)["wrong"], 0, "the program runs to its end")
    t.true(sum(of_device(one).values()) >= 11, "samples")

# ---- what is refused ----

with t.case("each refusal has its sentence; kernels are recorded all the same"):
    for sim, words in (
            ("privileges=0", ("returned 35", "NVreg_RestrictProfilingToAdminUsers=0", "SYS_ADMIN")),
            ("busy=1", ("returned 26", "another tool uses the GPU's counters")),
            ("fail_cuptiPCSamplingSetConfigurationAttribute=27", ("cuptiPCSamplingSetConfigurationAttribute",)),
            ("fail_cuptiPCSamplingGetStallReasons=999", ("cuptiPCSamplingGetStallReasons returned 999",)),
            ("fail_cuptiPCSamplingGetNumStallReasons=40", ("this virtual GPU may not be profiled",))):
        one = recorded(work(kernels=3, threads=2), sim)
        t.equal(one.stderr.count("no instructions of kernels are sampled"), 1, f"{sim}: said once: {one.stderr}")
        for word in words:
            t.true(word in one.stderr, f"{sim}: '{word}' in {one.stderr}")
        t.equal(json.loads(one.stdout)["wrong"], 0, f"{sim}: the program")
        t.equal((one.report["ledger"]["launched"], one.report["ledger"]["matched"]), (6, 6), f"{sim}: kernels")
        t.equal(one.report["ledger"]["samples"], 0, f"{sim}: samples")

with t.case("the GPU memory that sampling needs is reported"):
    t.true("64 MiB" in recorded(work(kernels=1), options=("-v", "--collect", "nvidia:pc")).stderr, "with it")
    t.true("64 MiB" not in recorded(work(kernels=1), options=("-v", "--collect", "nvidia:cuda")).stderr, "not without")

with t.case("processes that may hold the counters are named"):
    t.wanted()
    holder = t.path("ncu")
    shutil.copy(shutil.which("sleep"), holder)
    with subprocess.Popen([holder, "60"]) as process:
        one = recorded(work(kernels=1), "busy=1")
        process.kill()
    t.true(f"held by 'ncu ({process.pid})" in one.stderr, one.stderr)

with t.case("options that make no sense"):
    t.wanted()
    for option in ("pc=4", "pc=32", "pc=", "pc=20/1000", "pc=-7", "pc= 9", "pc=12x", "pc=111"):
        result = run([DUET, "record", "--collect", f"nvidia:{option}", "-o", t.path("no.duet"), "--", "true"])
        t.equal(result.status, 125, f"{option}: {text(result.stderr)}")
        t.true("pc=N, with N from 5 to 31" in text(result.stderr), f"{option}: {text(result.stderr)}")

# ---- what is lost ----

with t.case("a GPU's buffer that is full again and again"):
    one = recorded(work(kernels=40, laps=30, pace_ms=20), "pc_buffer=1", is_planned=False)
    t.equal(json.loads(one.stdout)["wrong"], 0, "the program")
    t.true("buffer of instruction samples was full" in one.stderr, one.stderr)
    t.true(one.report["ledger"]["samples_lost"] > 0, f"lost: {one.report['ledger']}")
    t.true("rows of kind instruction_sample" in text(run([DUET, "report", one.trace]).stdout), "the report says so first")

with t.case("samples that stay in the buffer of the configuration"):
    one = recorded(work(kernels=5), "pc_keep=1")
    t.equal(of_device(one), planned({"_Z4stepPfi": 3, "reduce": 2}, demangled), "samples")

with t.case("samples that come late"):
    one = recorded(work(kernels=5), "pc_lag_us=50000")
    t.equal(of_device(one), planned({"_Z4stepPfi": 3, "reduce": 2}, demangled), "samples")

with t.case("code that was loaded before the recording"):
    one = recorded(work(kernels=4), "pc_forget=1")
    t.true("did not see their code being loaded" in notes(one), notes(one))
    t.equal(one.report["ledger"]["samples"], 2 * 9 + 2 * 2, "samples are counted")

# ---- what reasons mean, and what is in a cubin ----

with t.case("every reason of the chip has its sentences"):
    t.wanted()
    document = json.loads(run([DUET, "list", "--json", "stalls"]).stdout)
    rows = {row["name"]: row for row in next(value for value in document.values() if isinstance(value, list))}
    for name in ("barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle "
                 "membar mio_throttle misc no_instructions not_selected selected short_scoreboard sleeping tex_throttle "
                 "wait warpgroup_arrive").split():
        row = rows.get(name, {})
        t.true(row.get("vendor") == "NVIDIA" and all(isinstance(value, str) and value for value in row.values()),
               f"{name}: {row}")

# By what each of saxpy.ptx's instructions is compiled to.
SAXPY = {"sm_80": "MOV S2R S2R IMAD ISETP @P0_EXIT HFMA2 ULDC IMAD.WIDE IMAD.WIDE LDG LDG FFMA STG EXIT BRA",
         "sm_90": "LDC S2R S2UR LDC IMAD ULDC ISETP @P0_EXIT LDC ULDC ULDC LDC IMAD.WIDE LDG IMAD.WIDE LDG FFMA STG EXIT BRA"}

with t.case("a cubin: kernels, what they need, instructions with lines"):
    t.wanted()
    for target, names in SAXPY.items():
        path = os.path.join(CUBINS, f"saxpy_{target}.cubin")
        document = json.loads(run([DUET, "info", "--json", path], env={"DUET_NVDISASM": "/nonexistent"}).stdout)["code_object"]
        t.equal((document["vendor"], document["generation"]), ("NVIDIA", target), "target")
        t.true("nvdisasm" in document["why"], document.get("why"))
        kernels = {row["name"]: row for row in document["kernels"]}
        t.equal({name: (row["registers"], row.get("shared_bytes", 0) > 0) for name, row in kernels.items()},
                {"saxpy": (10, True), "second": (8, False)}, "needs")
        saxpy = kernels["saxpy"]["instructions"]
        got = [row["text"].replace(" ", "_") for row in saxpy]
        t.equal(got[:len(names.split())], names.split(), f"{target}: names")
        t.equal(set(got[len(names.split()):]), {"NOP"}, "what fills it up")
        t.equal({(row["text"], row["line"]) for row in saxpy if row["text"] in ("ISETP", "FFMA", "STG")},
                {("ISETP", 4), ("FFMA", 5), ("STG", 5)}, "lines")
        t.equal({os.path.basename(row["file"]) for row in saxpy}, {"saxpy.cu"}, "file")

STAND_IN = """#!/bin/sh
# says as nvdisasm does, of 32 bytes, what it was asked
echo "        .headerflags    @\\"EF_CUDA_SM90\\""
echo "        /*0000*/                   LDC R1, c[0x0][$2] ;   /* 0x1 */"
echo "        /*0010*/              @!P0 S2R R0, SR_TID.X ;"
echo "        /*00zz*/ nonsense"
"""

with t.case("nvdisasm gives operands where it is; what it does not say, or one that fails, leaves names"):
    t.wanted()
    path = os.path.join(CUBINS, "saxpy_sm_90.cubin")

    def texts(script):
        stand_in = t.path(f"nvdisasm{next(numbers)}")
        with open(stand_in, "w", encoding="ascii") as file:
            file.write(script)
        os.chmod(stand_in, 0o755)
        document = json.loads(run([DUET, "info", "--json", path], env={"DUET_NVDISASM": stand_in}).stdout)["code_object"]
        return document, [row["text"] for row in document["kernels"][0]["instructions"]][:3]

    document, got = texts(STAND_IN)
    t.equal(got, ["LDC R1, c[0x0][SM90]", "@!P0 S2R R0, SR_TID.X", "LDC"], "text")
    t.true("nvdisasm" in document["decoder"] and "why" not in document, f"{document.get('decoder')}")
    for script in ("#!/bin/sh\nexit 1\n", "#!/bin/sh\nkill -SEGV $$\n", "#!/bin/sh\nhead -c 3000000 /dev/zero\n",
                   "no script"):
        document, got = texts(script)
        t.equal(got, ["LDC", "S2R", "LDC"], f"{script!r}")
        t.true("failed 4 times" in document.get("why", ""), f"{script!r}: it is said: {document.get('why')}")

with t.case("a cubin that is cut off"):
    t.wanted()
    with open(os.path.join(CUBINS, "saxpy_sm_90.cubin"), "rb") as file:
        whole = file.read()
    for size in range(64, len(whole), 451):
        cut = t.path("cut.cubin")
        with open(cut, "wb") as file:
            file.write(whole[:size])
        result = run([DUET, "info", cut])
        t.true(result.status in (0, 1), f"{size} bytes: status {result.status}")
        t.true(result.status == 0 or "cubin" in text(result.stderr), text(result.stderr))

t.end()
