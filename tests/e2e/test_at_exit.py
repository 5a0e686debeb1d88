#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The OpenCL guest does not call the runtime during a release or after exit has started, and never makes it compile.

The simulated driver aborts at any call that the program has not announced (sim/opencl/only.c). PoCL compiles a kernel
at its first launch, and all kernels of a program if its binaries are requested. Its compiler is already unloaded when
exit handlers run.
"""
import glob
import os
import shutil

import duet_test
from duet_test import Skip, program, run, text

t = duet_test.Suite()
DRIVER = os.environ.get("SIM_OPENCL_FOLDER") or os.path.join(duet_test.BUILD, "sim")
# what is launched and released, by how the program is called
CASES = {"main": (3, 7), "main pending": (3, 7), "atexit": (3, 7), "atexit late": (4, 8), "atexit pending": (3, 7),
         "static": (3, 7), "static late": (4, 8), "static pending": (3, 7)}
# calls of the program by name: clRelease…
RELEASES = {"clReleaseEvent": 1, "clReleaseKernel": 1, "clReleaseSampler": 1, "clReleaseMemObject": 1, "clReleaseProgram": 1,
            "clReleaseCommandQueue": 1, "clReleaseContext": 1}


def calls(document, name):
    return sum(row["count"] for row in document["api"] if row["name"] == name)


def check_recorded(document, launched, late):
    """All calls are in the trace, those at exit too; what was launched after exit had begun has no device times."""
    t.equal(document["ledger"]["launched"], launched, "launched")
    for name, count in RELEASES.items():
        more = late and name in ("clReleaseKernel", "clReleaseProgram", "clReleaseCommandQueue")
        t.equal(calls(document, name), count + more, name)
    t.equal(calls(document, "clEnqueueNDRangeKernel"), launched, "clEnqueueNDRangeKernel")


for arguments, (launched, released) in CASES.items():
    with t.case(f"a driver that aborts at a query: {arguments}"):
        if not glob.glob(os.path.join(DRIVER, "*.icd")):
            raise Skip("the simulated driver was not built: no OpenCL headers")
        output = t.path("sim.duet")
        plain, _ = t.unharmed([program("at_exit"), *arguments.split()], output, env={"OCL_ICD_VENDORS": DRIVER})
        t.equal((plain.status, text(plain.stdout)), (0, f"launched {launched}\nreleased {released}\n"), "the program alone")
        document = t.readable(output)
        check_recorded(document, launched, "late" in arguments)
        ledger = document["ledger"]
        # nothing waits for them before exit, and the guest asks nothing then
        t.true("pending" not in arguments or ledger["matched"] + ledger["in_flight_at_exit"] == 3, f"{ledger}")

with t.case("binaries are kept at the first launch on a platform that has them ready"):
    if not glob.glob(os.path.join(DRIVER, "*.icd")):
        raise Skip("the simulated driver was not built: no OpenCL headers")
    output = t.path("binaries.duet")
    t.unharmed([program("at_exit"), "main"], output, env={"OCL_ICD_VENDORS": DRIVER})
    t.equal(t.readable(output)["code_objects"]["binaries"], 1, "binaries")


def pocl(name, **more):
    """An environment with a kernel cache of its own, which is empty, and a linker that writes a line each time it runs."""
    cache, bin_folder = t.path("cache-" + name), t.path("bin")
    shutil.rmtree(cache, ignore_errors=True)
    os.makedirs(cache)
    os.makedirs(bin_folder, exist_ok=True)
    with open(os.path.join(bin_folder, "ld"), "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\necho >>"$LINKER_LOG"\nexec {shutil.which("ld") or "/usr/bin/ld"} "$@"\n')
    os.chmod(os.path.join(bin_folder, "ld"), 0o755)
    return {"POCL_CACHE_DIR": cache, "COMPILER_PATH": bin_folder, "LINKER_LOG": os.path.join(cache, "linked"), **more}


def compiled(environment):
    """(kernels in the cache, runs of the linker)"""
    found = glob.glob(os.path.join(environment["POCL_CACHE_DIR"], "**", "*.so"), recursive=True)
    try:
        with open(environment["LINKER_LOG"], encoding="ascii") as file:
            return len(found), len(file.readlines())
    except OSError:
        return len(found), 0


for arguments in ("atexit", "static", "atexit pending"):
    with t.case(f"a cold cache and an end of the program: {arguments}"):
        # its source differs from run to run, so that the second run compiles too
        t.unharmed([program("at_exit"), *arguments.split()], env=pocl("end"))

with t.case("only the launched one of 20 kernels is compiled"):
    t.wanted()
    command = [program("at_exit"), "main", "kernels=20"]
    plain_in, recorded_in = pocl("plain", TAG="17"), pocl("recorded", TAG="17")
    plain = run(command, env=plain_in)
    recorded = t.record(command, t.path("compile.duet"), env=recorded_in)
    t.equal((recorded.status, recorded.stdout), (plain.status, plain.stdout), f"status and output {text(recorded.stderr)}")
    if compiled(plain_in)[0] != 1:
        raise Skip(f"this OpenCL does not compile kernels at their launch: {compiled(plain_in)}")
    if compiled(plain_in)[1] == 0:
        print("# this PoCL does not run the linker that COMPILER_PATH names")
    t.equal(compiled(recorded_in), compiled(plain_in), "kernels in the cache, runs of the linker")

t.end()
