#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The layout of perf script, in and out: frames of kernels, files without times, the choice of an event."""
import os

import duet_test
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

KERNELS = """render 1 [001] 1.000001: 7 cycles:
\tffffffff81000001 one ([kernel.kallsyms])
\tffffffff81000002 two ([guest.kernel.kallsyms])
\tffffffff81000003 three ([guest.kernel])
\tffffffff81000004 four (/usr/lib/debug/boot/vmlinux-6.1.0-13-amd64)
\tffffffff81000005 five (/build/linux/vmlinux)
\tffffffffc0000006 six (/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz)
\tffffffffc0000007 seven ([nf_conntrack])
\t    55d0c0ffee08 eight (/usr/bin/vmlinuxer)
\t    55d0c0ffee09 nine (/usr/lib/libko.so)

render 1 [001] 1.000002: 1000 instructions:u:
\t    55d0c0ffee0a ten (/usr/bin/render)

"""


def imported(content):
    t.wanted()
    path, out = t.path("in.perf"), t.path("in.duet")
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    result = run([DUET, "import", "-f", "perf-script", "-o", out, path])
    t.equal(result.status, 0, text(result.stderr))
    return out


def printed(*arguments, status=0):
    result = run([DUET, *arguments])
    t.equal(result.status, status, f"{arguments}: {text(result.stderr)}")
    return text(result.stdout if status == 0 else result.stderr)


with t.case("frames of kernels: in brackets, in vmlinux, in a module's file"):
    path = imported(KERNELS)
    t.equal(printed("flame", "--folded", path),
            "nine;eight;seven_[k];six_[k];five_[k];four_[k];three_[k];two_[k];one_[k] 7\n", "stack")

with t.case("flame draws the event that is chosen"):
    path = imported(KERNELS)
    t.equal(printed("flame", "--folded", "--event", "instructions", path), "ten 1000\n", "instructions")
    t.true(printed("flame", "--folded", "--event", "cycles", path).endswith(" 7\n"), "cycles")
    t.equal(printed("export", "-f", "folded", "--event", "instructions", path), "ten 1000\n", "export -f folded")
    t.true("1.000 k instructions" in printed("flame", "-o", "-", "--event", "instructions", path), "svg: the event's unit")
    refusal = printed("flame", "--folded", "--event", "faults", path, status=1)
    t.true("no sample of 'faults'" in refusal and "cycles, instructions" in refusal, refusal)

with t.case("export: one event"):
    path = t.described("events.duet", "window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1",
                       "sample 1 100 10 source=cycles", "sample 1 200 20 source=instructions",
                       "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 70")
    for event, expected in (("cycles", ["10 cycles:"]), ("instructions", ["20 instructions:"]),
                            ("gpu-time", ["40 gpu-time:"])):
        lines = printed("export", "-f", "perf-script", "--event", event, path).splitlines()
        t.equal([line.split(": ", 1)[1] for line in lines if line[:1] not in ("#", "\t", "")], expected, event)
    nothing = run([DUET, "export", "-f", "perf-script", "--event", "faults", path])
    t.true("nothing in the trace matches" in text(nothing.stderr), text(nothing.stderr))
    t.true("only the view cpu" in printed("flame", "--view", "launch", "--event", "cycles", path, status=1), "another view")
    t.true("has all events" in printed("export", "-f", "jsonl", "--event", "cycles", path, status=2), "jsonl")

with t.case("export without times, and back"):
    with open(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"), encoding="utf-8") as file:
        path = t.described("described.duet", file.read())
    options = ("export", "-f", "perf-script", "--kind", "cpu_sample")
    timed, bare = printed(*options, path), printed(*options, "--no-times", path)
    heads = [line for line in bare.splitlines() if line[:1] not in ("#", "\t", "")]
    t.true(heads and not any("." in line for line in heads), f"heads: {heads}")
    stacks = [printed("flame", "--view", "cpu", "--folded", imported(content)) for content in (timed, bare)]
    t.true(stacks[0], "there are stacks")
    t.equal(stacks[1], stacks[0], "the stacks and weights of an import")
    t.true("is for perf-script" in printed("export", "-f", "csv", "--no-times", path, status=2), "csv")

t.end()
