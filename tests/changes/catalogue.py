# SPDX-License-Identifier: MIT
"""The programs and changes of the benchmark: how they are started, and what a comparison must say of each."""
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "programs", "change_work.py")
# Durations of the simulated device, µs. 3 % of `update` is more than duet's minimum effect, 0.5 % of the wall time.
KERNELS_US = {"update": 3000, "advance": 3000, "update_low": 1500, "update_high": 1500, "prepare_update": 3300,
              "update_finish": 3300}
OTHER_KERNELS_US = 300
SLOWER = 1.03


class Skip(Exception):
    """The program cannot run here; the text is the reason."""


class Program:
    """A language on a device."""

    def __init__(self, name, language, device):
        self.name, self.language, self.device = name, language, device

    def command(self, build, variant, iterations):
        arguments = ["base" if variant == "none" else variant, str(iterations)]
        if self.language == "pyopencl":
            if not has_pyopencl():
                raise Skip("no Python has PyOpenCL and numpy")
            return ["/usr/bin/python3", "-W", "ignore", SCRIPT, *arguments]
        path = os.path.join(build, "tests", "changes", "change_work")
        if not os.path.exists(path):
            raise Skip("not built")
        return [path, *arguments]

    def environment(self, build, variant):
        if self.device == "pocl":
            return {"POCL_DEVICES": "pthread"}
        folder = os.path.join(build, "sim")
        if not os.path.exists(os.path.join(folder, "sim-opencl.icd")):
            raise Skip("the simulated driver was not built")
        durations = dict(KERNELS_US)
        if variant == "slow_kernel":
            durations["update"] *= SLOWER
        named = ",".join(f"us_{kernel}={us:.0f}" for kernel, us in durations.items())
        return {"OCL_ICD_VENDORS": folder, "SIM_OPENCL": f"kernel_us={OTHER_KERNELS_US},{named}"}


def has_pyopencl(found=[]):
    if not found:
        found.append(subprocess.run(["/usr/bin/python3", "-c", "import pyopencl, numpy"], capture_output=True,
                                    check=False).returncode == 0)
    return found[0]


class Change:
    """What the account must say.

    table, pattern: the row of the change; the pattern matches its whole name
    base: the row's name in the base, where it must have another one
    match: the reason of the match, where it must not be the exact name
    truth: the key of the program's measurement whose difference is the amount; None: the amount is 0
    weak: rows whose change is the same change seen from the other end, which name it less well
    follows: rows that must change with it, and are not counted as other rows
    """

    def __init__(self, table=None, pattern=None, base=None, match=None, truth=None, weak=None, follows=()):
        self.table, self.pattern, self.base, self.match, self.truth = table, pattern, base, match, truth
        self.weak, self.follows = weak, follows

    def is_row(self, row):
        if not self.pattern or row["table"] != self.table or not re.fullmatch(self.pattern, row["name"]):
            return False
        return self.base is None or re.fullmatch(self.base, row.get("base_name", "")) is not None

    def is_weak(self, row):
        return self.weak is not None and re.fullmatch(self.weak, row["name"]) is not None

    def is_consequence(self, row):
        return self.is_weak(row) or any(re.fullmatch(pattern, row["name"]) for pattern in self.follows)


# One more launch is one more call of the launching thread, which the device may have to wait for.
LAUNCHES = (r"clEnqueueNDRangeKernel.*", r"(submission|launched not started).*launch.*")

CHANGES = {
    "none": Change(),
    "slow_kernel": Change("kernel", "update", truth="update_ns"),
    "more_launches": Change("kernel", "update", truth="update_ns", follows=LAUNCHES),
    "sleep": Change("idle", r"sleep in sleep_before_launch", truth="sleep_ns"),
    # The device idles while the host works that the copy no longer overlaps.
    "blocking_copy": Change("idle", r"clEnqueueWriteBuffer .*", truth="write_ns",
                            weak=r"computing in (fill_arguments|compute)", follows=(r"launched not started in write_input",)),
    "lock": Change("idle", r"lock in take_lock", truth="lock_ns", weak=r"thread wait in take_lock"),
    "rename": Change("kernel", "advance", base="update", match="renamed", truth="update_ns"),
    "split": Change("kernel", r"update_low \+ update_high|update_high \+ update_low", base="update", match="split",
                    truth="update_ns", follows=LAUNCHES),
    "fuse": Change("kernel", "prepare_update", base=r"prepare \+ update|update \+ prepare", match="fused",
                   truth="kernels_ns", follows=LAUNCHES),
    # The kernels come from two functions, so no call path has both.
    "fuse_apart": Change("kernel", "update_finish", base=r"finish \+ update|update \+ finish", match="fused",
                         truth="kernels_ns", follows=LAUNCHES),
}
PROGRAMS = {program.name: program for program in (
    Program("c-pocl", "c", "pocl"), Program("pyopencl-pocl", "pyopencl", "pocl"),
    Program("c-sim", "c", "sim"), Program("pyopencl-sim", "pyopencl", "sim"))}
