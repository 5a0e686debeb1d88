#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long do profiles of iaprof take to import and to export, and how much memory, by their number of lines?

    bench/iaprof.py [--build DIR] [--lines N,…] [--rounds N] [--folder DIR]

A profile in the form of v0.5.0 is made up: 2000 kernels with a stack of 10 to 40 frames each, 64 places in a kernel, ten
reasons, 10,000 samples an interval; then it is imported and exported in each form. Time is the processor's (user and
system) of the round that took least, memory the most of all rounds. The last column of an import is its time a line by
that of the smallest profile: 1 where it grows as the lines do.
"""
import argparse
import os
import random
import sys
import tempfile

from cost import measure
from say import progress, title

FORMS = ["tiber", "head", "v0.5.0", "article"]
REASONS = ["active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"]
KERNELS, TEXTS, FILES, PLACES, INTERVAL = 2000, 500, 50, 64, 10000


class Profile:
    def __init__(self, path, seed):
        self.chance, self.count = random.Random(seed), 0
        self.file = open(path, "w", encoding="ascii")

    def string(self, text):
        self.count += 1
        self.file.write(f"string\t{self.count}\t{text}\n")
        return self.count

    def write(self, lines):
        chance = self.chance
        reasons = [self.string(reason) for reason in REASONS]
        comm, kstack = self.string("python3"), self.string("entry_[k];do_syscall_[k];ioctl_[k];")
        ustacks = [self.string("".join(f"frame_{chance.randrange(3000)};" for _ in range(chance.randrange(10, 40))))
                   for _ in range(KERNELS)]
        files = [self.string(f"kernel_{i}.cpp") for i in range(FILES)]
        symbols = [self.string(f"kernel_{i}") for i in range(KERNELS)]
        texts = [self.string(f"mad (16) r{i}") for i in range(TEXTS)]
        for i in range(lines):
            if i % INTERVAL == 0:
                self.file.write(f"interval_start\t{i // INTERVAL}\t{100 + i / 1e6:.6f}\n")
            kernel, place = chance.randrange(KERNELS), chance.randrange(PLACES)
            self.file.write(f"eustall\t{comm}\t{1000 + kernel % 4}\t{ustacks[kernel]}\t{kstack}\t0\t0\t{files[kernel % FILES]}\t"
                            f"{symbols[kernel]}\t{texts[(kernel + place) % TEXTS]}\t{chance.choice(reasons)}\t0x{place * 16:x}\t"
                            f"{chance.randrange(1, 100)}\n")
        self.file.close()


def say(what, lines, costs, path, base=None):
    best = min(cost.processor for cost in costs)
    memory = max(cost.memory_mib for cost in costs)
    ratio = f"  {best / lines / base:5.2f}" if base else ""
    print(f"{what:16} {lines:>9}  {best:7.2f} s  {lines / best / 1e6:6.2f} M/s {memory:6.0f} MiB"
          f" {os.path.getsize(path) / (1 << 20):7.1f} MiB{ratio}", flush=True)
    return best / lines


def measure_lines(options, folder, lines, base):
    profile, trace, out = (os.path.join(folder, name) for name in ("in.iaprof", "run.duet", "out.iaprof"))
    duet = os.path.join(options.build, "duet")
    costs = {name: [] for name in ["import"] + FORMS}
    Profile(profile, lines).write(lines)
    sizes = {}
    for turn in range(options.rounds):
        progress(f"{lines} lines, round {turn + 1} of {options.rounds}")
        costs["import"].append(measure([duet, "import", "--format", "iaprof", "-o", trace, profile]))
        for form in FORMS:
            costs[form].append(measure([duet, "export", "--format", "iaprof", "--kind", form, "-o", out, trace]))
            sizes[form] = out + form
            os.replace(out, out + form)
    a_line = say("import", lines, costs["import"], profile, base or None)
    for form in FORMS:
        say(f"export {form}", lines, costs[form], sizes[form])
    return a_line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--lines", default="100000,1000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    options = parser.parse_args()
    base = 0
    title("                     lines  processor     lines a s   memory        text  a line")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for lines in options.lines.split(","):
            a_line = measure_lines(options, folder, int(lines), base)
            base = base or a_line
    return 0


if __name__ == "__main__":
    sys.exit(main())
