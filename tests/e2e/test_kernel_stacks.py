# SPDX-License-Identifier: MIT
"""Launches whose stacks continue into the operating system's kernel: the caller, the runtime's function, and the kernel
functions down to the driver.

The traces are descriptions (tests/checker/description.h).
"""
import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite()

HEAD = """window 0 100000000000
device 1 gpu
thread 1 1
queue 1 1
frame 1 jit main
frame 2 jit run_layer
frame 3 kernel entry_SYSCALL_64_after_hwframe
frame 4 kernel drm_ioctl%20[drm]
frame 5 kernel xe_exec_ioctl%20[xe]
frame 6 kernel xe_exec_ioctl.cold%20[xe]
frame 7 kernel xe_exec_queue_ioctl%20[xe]
code 201 1 1 0x1000ffff0000 0 900000000 0
"""
SAMPLE = "address 1 1000000000 1100000000 0xffff0010 count=30 stall=sbid\n"
WAY = "entry_SYSCALL_64_after_hwframe_[k];drm_ioctl_[k];"
KERNEL = "[kernel 0x1000ffff0000]"


def launched(stack, function):
    return (HEAD + f"stack 1 {stack}\n" * bool(stack) +
            f"launch 1 1 1 1000000000 1000000500 kernel untimed=1 code=201 function={function}" + " stack=1" * bool(stack) +
            "\n" + SAMPLE)


CASES = [
    ("as the driver saw it: its function is the innermost frame", "1 2 3 4 5", "xe_exec_ioctl",
     "jit", WAY + "xe_exec_ioctl_[k]"),
    ("a part of it that the compiler has put elsewhere", "1 2 3 4 6", "xe_exec_ioctl", "jit", WAY + "xe_exec_ioctl.cold_[k]"),
    ("the driver was watched at its way in alone", "1 2 3 4", "xe_exec_ioctl", "jit", WAY + "xe_exec_ioctl_[k]"),
    ("another function of the driver is not it", "1 2 3 4 7", "xe_exec_ioctl",
     "jit", WAY + "xe_exec_queue_ioctl_[k];xe_exec_ioctl_[k]"),
    ("no frames of the kernel", "1 2", "xe_exec_ioctl", "jit", "xe_exec_ioctl_[k]"),
    ("a guest's, with the way that its thread went", "1 2 3 4 5", "zeCommandListAppendLaunchKernel",
     "jit", "zeCommandListAppendLaunchKernel;" + WAY + "xe_exec_ioctl_[k]"),
    ("a guest's, that submitted later", "1 2", "zeCommandListAppendLaunchKernel", "jit", "zeCommandListAppendLaunchKernel"),
    ("nobody called", "", "xe_exec_ioctl", "", "xe_exec_ioctl_[k]"),
    ("the user's stack is not known", "3 4 5", "xe_exec_ioctl", "", WAY + "xe_exec_ioctl_[k]"),
]


def output(*arguments):
    result = run([DUET, *arguments])
    t.equal(result.status, 0, text(result.stderr))
    return text(result.stdout)


def one_line(trace, *arguments):
    lines = output("flame", "--folded", *arguments, trace).splitlines()
    t.equal(len(lines), 1, lines)
    return lines[0] if lines else ""


for title, stack, function, callers, calls in CASES:
    with t.case(title):
        trace = t.described("one.duet", launched(stack, function))
        users = "main_[j];run_layer_[j];" if callers else ""
        got = one_line(trace, "--view", "stall").split(";", 2)[2]
        unknown = got.startswith("[")
        t.equal(unknown, not stack, "without a stack that is said")
        got = got.split(";", 1)[1] if unknown else got
        wanted = f"{users}{calls};-;"
        t.equal(got[:len(wanted)], wanted, "flame --view stall")
        t.true(f"{KERNEL}_[G];" in got and got.endswith(";sbid_[g];0x10_[g] 30"), got)
        got = one_line(trace, "--view", "launch")
        t.true(f"{users}{calls};-;{KERNEL}_[G]" in got, got)
        # the kernel's half of a stack is a text of its own
        exported = output("export", "-f", "iaprof", "--kind", "v0.5.0", trace)
        halves = [line.split("\t", 2)[2] for line in exported.splitlines() if line.startswith("string")]
        frames = calls.split(";")
        kernels = "".join(frame + ";" for frame in frames if frame.endswith("_[k]"))
        others = "".join(frame + ";" for frame in frames if not frame.endswith("_[k]"))
        t.true(not kernels or kernels in halves, f"{kernels} in {halves}")
        t.true(not users + others or users + others in halves, f"{users + others} in {halves}")


def script_of(stack, function):
    trace = t.described("timed.duet", HEAD + f"stack 1 {stack}\nlaunch 1 1 1 1000000000 1000000500 kernel name=k "
                        f"function={function} stack=1\nexecution 1 1 1 1000000000 1000000100 1000000600 1000000900\n")
    lines = output("export", "-f", "perf-script", trace).splitlines()
    return trace, [line.split(None, 1)[1] for line in lines if line.startswith("\t")]


with t.case("as perf has it: the module beside the name, the innermost first"):
    trace, got = script_of("1 2 3 4 5", "zeCommandListAppendLaunchKernel")
    t.equal(got, ["k ([gpu])", "xe_exec_ioctl ([xe])", "drm_ioctl ([drm])",
                  "entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])", "zeCommandListAppendLaunchKernel ([runtime])",
                  "run_layer (//anon)", "main (//anon)"], "a guest's")
    t.equal(one_line(trace, "--view", "gpu").rsplit(" ", 1)[0],
            "main_[j];run_layer_[j];zeCommandListAppendLaunchKernel;" + WAY + "xe_exec_ioctl_[k];-;k_[G]", "by time")
    trace, got = script_of("1 2 3 4 5", "xe_exec_ioctl")
    t.equal(got[:3], ["k ([gpu])", "xe_exec_ioctl ([xe])", "drm_ioctl ([drm])"], "the driver's")

with t.case("samples of processors have the names that others give them"):
    trace = t.described("cpu.duet", "window 0 1000000\nthread 1 1\nframe 1 jit main\nframe 2 kernel ext4_read%20[ext4]\n"
                        "stack 1 1 2\nsample 1 500 1000 mode=kernel stack=1\n")
    t.equal(one_line(trace, "--view", "cpu").rsplit(" ", 1)[0], "main_[j];ext4_read_[k]", "no module")

t.end()
