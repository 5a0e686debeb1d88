#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast is folded text drawn, next to flamegraph.pl on the same file?

    DUET_FLAMEGRAPH=…/flamegraph.pl bench/folded.py [--build DIR] [--stacks N] [--depth N] [--order NAME] [--rounds N]

The file has distinct stacks with names as in a Python program that calls C++: 105 MB by default, always the same
bytes. --order: `sorted`, as stackcollapse scripts write it, or `random`. A round is `duet import --format folded` with
`duet flame` and flamegraph.pl, one after the other, so that a busy machine is busy for both. Printed are the medians of
wall and processor time, their ratios and the most memory. Then the boxes of both pictures are compared: depth, name and
value of each. Status 1 where they differ, or where the ratio of wall times is below --least. Without DUET_FLAMEGRAPH
only duet is measured.
"""
import argparse
import collections
import html
import os
import re
import shutil
import sys
import tempfile

from cost import ROOT, measure, median

MASK = (1 << 64) - 1
FILES = ["module", "linear", "optimizer", "train", "trainer", "loss", "loader", "attention", "functional", "runner"]
VERBS = ["forward", "call", "step", "backward", "apply", "run", "fetch", "collate", "update", "zero_grad"]
SPACES = ["at::native", "c10::cuda", "torch::autograd", "c10::impl", "at::_ops"]
TYPES = ["float", "c10::Half", "double", "c10::BFloat16", "long"]
CALLS = ["memcpy", "malloc", "futex", "ioctl", "mmap", "read", "poll", "write", "free", "submit"]
ROWS = {"ours": r'<g data-v="(?P<value>\d+)"[^>]*><title>(?P<name>[^\n]*)\n[^<]*</title><rect class="\w+" x="[\d.]+" '
                r'y="(?P<y>\d+)" width="(?P<width>[\d.]+)"',
        "theirs": r'<title>(?P<name>[^\n]*) \((?P<value>[\d,]+) samples, [\d.]+%\)</title><rect x="[\d.]+" '
                  r'y="(?P<y>[\d.]+)" width="(?P<width>[\d.]+)"'}


def mix(number):
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9 & MASK
    number = (number ^ number >> 27) * 0x94d049bb133111eb & MASK
    return number ^ number >> 31


def make_names():
    """Three lists: functions of Python, of C++, of C and the operating system's kernel."""
    python, templates, calls = [], [], []
    for number in range(8000):
        a, b, c, d = (mix(number) // 10 ** i % 10 for i in range(4))
        python.append(f"{VERBS[a]} ({FILES[b]}.py:{number * 7 % 3000})")
        templates.append(f"{SPACES[a // 2]}::{VERBS[b]}_kernel<{TYPES[c // 2]}, {number % 900}>(long)")
        calls.append(f"{CALLS[a]}_{number % 800:x}" + ("_[k]" if d < 2 else ""))
    return python, templates, calls


def make_stack(number, depth, names):
    """As programs do, a frame leads to one of three others, of 4/7, 2/7 and 1/7; the last three frames have the
    number's digits to base 128, which makes all stacks distinct."""
    python, templates, calls = names
    path, turns, stack = 1, mix(mix(number)), []
    for i in range(depth - 3):
        turns, turn = divmod(turns, 7)
        if i % 16 == 15:
            turns = mix(turns ^ number)
        path = mix(path * 3 + (turn >= 4) + (turn == 6) & MASK)
        some = python if i < depth // 2 else templates if i < depth // 2 + 3 else calls
        stack.append(some[path % len(some)])
    for i in range(3):
        stack.append(calls[mix(i * 128 + (number >> (14 - 7 * i) & 127)) % len(calls)])
    return ";".join(stack) + f" {1 + mix(number) % 100}\n"


def write_stacks(path, options):
    names = make_names()
    lines = [make_stack(number, options.depth, names) for number in range(options.stacks)]
    lines.sort(key=None if options.order == "sorted" else lambda line: mix(hash_of(line)))
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)


def hash_of(line):
    return int.from_bytes(line[-24:].encode(), "little") & MASK


def read_boxes(path, whose):
    """{(depth, name, value): number}"""
    with open(path, encoding="utf-8") as file:
        found = [match.groupdict() for match in re.finditer(ROWS[whose], file.read(), re.S)]
    rows = {y: i for i, y in enumerate(sorted({float(box["y"]) for box in found}, reverse=True))}
    return collections.Counter((rows[float(box["y"])], re.sub(r"_\[[kji]\]$", "", html.unescape(box["name"])),
                                int(box["value"].replace(",", ""))) for box in found)


def compare(ours, theirs):
    """Prints boxes that only one has; returns their number."""
    differing = list((ours - theirs).items()) + list((theirs - ours).items())
    for box, count in differing[:20]:
        print(f"differs: {box} {count} times, {'ours' if box in ours else 'theirs'}")
    print(f"boxes: {sum(ours.values())} of duet, {sum(theirs.values())} of flamegraph.pl, {len(differing)} differ")
    return len(differing)


class Bench:
    def __init__(self, options, folder):
        self.duet = os.path.join(options.build, "duet")
        self.peer = os.environ.get("DUET_FLAMEGRAPH")
        self.folded, self.trace, self.svg, self.peer_svg = (
            os.path.join(folder, name) for name in ("stacks.txt", "run.duet", "ours.svg", "theirs.svg"))
        self.costs = collections.defaultdict(list)

    def run_round(self):
        self.costs["import"].append(measure([self.duet, "import", "-f", "folded", "-o", self.trace, self.folded]))
        self.costs["flame"].append(measure([self.duet, "flame", "-o", self.svg, self.trace]))
        if self.peer:
            self.costs["peer"].append(measure(["perl", self.peer, self.folded], self.peer_svg))

    def show(self):
        for name, costs in self.costs.items():
            print(f"{name:8} {median(costs, 'wall'):7.2f} s {median(costs, 'processor'):7.2f} s of processors "
                  f"{max(cost.memory_mib for cost in costs):6.0f} MiB")
        ratios = []
        for key in ("wall", "processor"):
            own = median(self.costs["import"], key) + median(self.costs["flame"], key)
            if self.peer:
                ratios.append(median(self.costs["peer"], key) / own)
            print(f"both     {own:7.2f} s {key}" + (f", ratio {ratios[-1]:.1f}" if ratios else ""))
        if not ratios:
            print("no flamegraph.pl to compare with: set DUET_FLAMEGRAPH")
        return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--stacks", type=int, default=200000)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--order", choices=["sorted", "random"], default="sorted")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--least", type=float, default=15)
    parser.add_argument("--folder", help="for the files, 200 MB")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="folded.", dir=options.folder)
    bench = Bench(options, folder)
    try:
        write_stacks(bench.folded, options)
        print(f"{os.path.getsize(bench.folded) / 1e6:.1f} MB, {options.order}", flush=True)
        for number in range(options.rounds):
            bench.run_round()
            last = (f"{name} {costs[-1].wall:.2f} s" for name, costs in bench.costs.items())
            print(f"round {number + 1}: {', '.join(last)}", flush=True)
        ratios = bench.show()
        if not ratios:
            return 0
        differing = compare(read_boxes(bench.svg, "ours"), read_boxes(bench.peer_svg, "theirs"))
        return 1 if differing or ratios[0] < options.least else 0
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
