#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Guests while programs release objects and exit, over runtimes that abort at a call that is not allowed then (sim/guard,
whose rules.h is the list).

Programs release objects before their end, in an exit handler, in a destructor, or never. Nothing aborts, and the
recording is complete. To prove that the checks work, each rule is removed in turn: then the program ends by SIGABRT.
"""
import json
import os

import duet_test
from duet_test import BUILD, DUET, ROOT, Skip, program, run, text

GUARD = os.path.join(BUILD, "sim", "guard", "libsim-guard.so")
KFD = os.path.join(BUILD, "sim", "amd", "libsim-kfd.so")
NVIDIA = os.path.join(BUILD, "sim", "nvidia")
LEVEL_ZERO = os.path.join(BUILD, "sim", "level_zero", "libsim-level_zero.so")
ZEBIN = os.path.join(ROOT, "tests", "golden", "zebin", "k_bmg.bin")
ROCM_GUEST = os.path.join(BUILD, "libduet-amd.so")

t = duet_test.Suite(needs_opencl=False)

ABORTED = 128 + 6


def is_built(*paths):
    missing = [path for path in (GUARD, *paths) if not os.path.exists(path)]
    if missing:
        raise Skip(f"not built: {', '.join(missing)}")


def cuda(*arguments, sim="kernel_us=20"):
    is_built(os.path.join(NVIDIA, "libcuda.so.1"))
    return "nvidia:cuda", [f"LD_PRELOAD={GUARD}", f"LD_LIBRARY_PATH={NVIDIA}", f"SIM_NVIDIA={sim}",
                           program("cuda_work"), "kernels=23", "h2d=7", "d2h=5", "sets=3", "streams=4", "contexts=2",
                           *arguments]


def cuda_pc(*arguments):
    collect, command = cuda(*arguments)
    return collect.replace("cuda", "pc"), command


def hsa(*arguments, sim="kernel_us=20"):
    is_built(KFD, program("hsa_work"))
    return "amd", [f"LD_PRELOAD={GUARD}:{KFD}", f"HSA_TOOLS_LIB={GUARD} {ROCM_GUEST}", f"SIM_KFD={sim}",
                   program("hsa_work"), "work", *arguments, "code=" + program("hsa_kernels.gfx90a")]


def hip(*arguments):
    is_built(KFD, program("hip_work"))
    return "amd", [f"LD_PRELOAD={GUARD}:{ROCM_GUEST}:{KFD}", f"DUET_GUARD_TOOLS={GUARD} {ROCM_GUEST}",
                   "SIM_KFD=kernel_us=20", program("hip_work"), *arguments]


def level_zero(*arguments):
    is_built(LEVEL_ZERO, program("level_zero_work"))
    return "level_zero", [f"LD_PRELOAD={GUARD}", f"ZE_ENABLE_ALT_DRIVERS={LEVEL_ZERO}", "SIM_LEVEL_ZERO=kernel_us=20",
                          program("level_zero_work"), ZEBIN, *arguments]


def watched(made, without=None, options=()):
    """Its status, what was allowed by a rule, its ledger, and its stderr."""
    collect, command = made
    log = t.path("guard")
    if os.path.exists(log):
        os.unlink(log)
    taken = [f"DUET_GUARD_WITHOUT={without}"] if without else []
    result = t.record(["env", f"DUET_GUARD_LOG={log}", *taken, *command], t.path("guests.duet"),
                      ["--collect", collect, *options])
    allowed = set()
    if os.path.exists(log):
        with open(log) as file:
            allowed = {line.strip() for line in file}
    return result, allowed


def ledger():
    return json.loads(run([DUET, "report", "--json", t.path("guests.duet")]).stdout)["ledger"]


def check_well(made, options=()):
    result, allowed = watched(made, options=options)
    t.equal(result.status, 0, f"{made[1][-4:]}: {text(result.stderr)}")
    return ledger(), allowed


def check_bites(made, function):
    result, _ = watched(made, without=function)
    t.equal(result.status, ABORTED, f"without {function}: {text(result.stderr)}")
    t.true(f"guard: a guest calls {function} during" in text(result.stderr), f"{function}: {text(result.stderr)}")


with t.case("CUDA: releases, handlers of exit, functions at the end, nothing"):
    for end in ("return", "release", "atexit", "destructor"):
        rows, _ = check_well(cuda(f"end={end}"))
        t.equal((rows["matched"], rows["launched"]), (88, 88), f"{end}: {rows}")

with t.case("CUDA with samples of instructions"):
    for end in ("return", "release", "atexit", "destructor"):
        check_well(cuda_pc(f"end={end}"))

with t.case("CUDA whose flush never returns: the program ends as it would"):
    for end in ("return", "release", "atexit", "destructor"):
        check_well(cuda(f"end={end}", sim="flush_hang=1"))

with t.case("CUDA, when the recording has ended: CUPTI is not given back in a release, nor at exit"):
    for end in ("release", "destructor"):
        check_well(cuda(f"end={end}", "rest_ms=1500"), ("-d", "0.5"))

with t.case("HSA: releases, handlers of exit, functions at the end, nothing"):
    for leave in ("return", "exit", "atexit", "destructor"):
        for more in ((), ("signals=0",)):
            rows, _ = check_well(hsa(f"leave={leave}", *more))
            t.equal(rows["matched"], rows["launched"], f"{leave} {more}: {rows}")

with t.case("HSA: queues that are not followed, kernels that never complete, nothing to record"):
    for leave in ("return", "exit", "atexit", "destructor"):
        check_well(hsa(f"leave={leave}", "cooperative=1", "queues=1", sim="gws=64"))
        check_well(hsa(f"leave={leave}", "dispatches=0", "h2d=0", "d2h=0"))
    collect, command = hsa("leave=exit", "dispatches=5", "queues=1", "timeout_ms=50", sim="never_at=5")
    command[command.index("work")] = "stuck"
    check_well((collect, command))

with t.case("HIP: copies, graphs, host functions, its own handlers of exit"):
    for mode in ("work", "graph", "callback", "late"):
        rows, _ = check_well(hip(mode))
        t.true(rows["launched"] > 0, f"{mode}: {rows}")

with t.case("Level Zero: releases, handlers of exit, functions at the end, nothing"):
    for leave in range(4):
        for events in range(3):
            rows, _ = check_well(level_zero(f"leave={leave}", f"events={events}"))
            t.equal((rows["matched"], rows["launched"]), (40, 40), f"leave={leave} events={events}: {rows}")

with t.case("a call that is not allowed ends the program: CUDA"):
    check_bites(cuda("end=return"), "cuptiActivityFlushAll")
    check_bites(cuda("end=release"), "cuptiGetContextId")

with t.case("a call that is not allowed ends the program: HSA"):
    check_bites(hsa("leave=return"), "hsa_signal_destroy")

with t.case("a call that is not allowed ends the program: Level Zero"):
    check_bites(level_zero("leave=0"), "zeEventPoolDestroy")

t.end()
