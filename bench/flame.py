#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast is a large flame graph, next to flamegraph.pl on the same stacks?

    bench/flame.py [--build DIR] [--stacks N] [--depth N] [--rounds N] [--keep]

A round is one run of build/bench/bench_flame (gather the stacks, write them folded, draw the SVG)
and one of flamegraph.pl on that folded file; rounds follow each other, so that a busy machine is
busy for both. Printed are medians, their ratio, memory, sizes, and whether both pictures agree: the
same 200 widest boxes, of the same names, values and widths within the rounding of their files.
Status 1 where they do not, or where the ratio is below --least (25).

flamegraph.pl is looked for in PATH and where Debian's libdevel-nytprof-perl has it.
"""
import argparse
import collections
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NYTPROF = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
PLOT = 1200 - 2 * 10  # px, of both
OURS = re.compile(r'<g data-v="(\d+)"[^>]*><title>(.*?)\n[^<]*</title>'
                  r'<rect class="\w+" x="([\d.]+)" y="\d+" width="([\d.]+)"', re.S)
THEIRS = re.compile(r'<title>(.*) \(([\d,]+) samples, [\d.]+%\)</title><rect x="([\d.]+)" '
                    r'y="[\d.]+" width="([\d.]+)"')


def find_peer():
    return shutil.which("flamegraph.pl") or (NYTPROF if os.path.exists(NYTPROF) else None)


def our_boxes(path):
    """[(value, name, width)]"""
    with open(path, encoding="utf-8") as file:
        return [(int(value), html.unescape(name), float(width))
                for value, name, _, width in OURS.findall(file.read())]


def their_boxes(path):
    boxes = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = THEIRS.search(line)
            if match:
                name = re.sub(r"_\[[kjiGg]\]$", "", html.unescape(match.group(1)))
                boxes.append((int(match.group(2).replace(",", "")), name, float(match.group(4))))
    return boxes


def compare(ours, theirs, count=200):
    """Complaints about the `count` widest boxes. Ours leave a gap of at most 0.6 px beside a box."""
    ours, theirs = sorted(ours, reverse=True)[:count], sorted(theirs, reverse=True)[:count]
    complaints = []
    if len(ours) != len(theirs):
        complaints.append(f"{len(ours)} boxes, they have {len(theirs)}")
    # the last value may be that of more boxes than fit
    last = ours[-1][0] if ours else 0
    missing = (collections.Counter(box[:2] for box in theirs if box[0] > last)
               - collections.Counter(box[:2] for box in ours))
    complaints += [f"missing: {name}, {value}" for (value, name) in missing]
    total = ours[0][0]
    for own, other in zip(ours, theirs):
        exact = own[0] / total * PLOT
        if abs(exact - other[2]) > 0.11 or not -0.02 <= exact - own[2] <= 0.63:
            complaints.append(f"width of {own[1]}: {own[2]} of {exact:.2f}, they have {other[2]}")
    return complaints


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.program = os.path.join(options.build, "bench", "bench_flame")
        self.folded = os.path.join(folder, "stacks.txt")
        self.svg = os.path.join(folder, "ours.svg")
        self.peer_svg = os.path.join(folder, "theirs.svg")

    def ours(self):
        done = subprocess.run([self.program, self.folded, self.svg, str(self.options.stacks),
                               str(self.options.depth)], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def theirs(self, peer):
        begin = time.monotonic()
        with open(self.peer_svg, "wb") as out:
            subprocess.run(["perl", peer, "--width=1200", "--minwidth=0.1", self.folded], stdout=out,
                           stderr=subprocess.DEVNULL, check=True)
        return time.monotonic() - begin


def show(runs, folded_bytes, svg_bytes):
    def median(key):
        return statistics.median(run[key] for run in runs)
    print(f"gather {median('add_s'):8.2f} s")
    print(f"folded {median('folded_s'):8.2f} s  {folded_bytes / 1e6:10.1f} MB")
    print(f"SVG    {median('svg_s'):8.2f} s  {svg_bytes / 1e6:10.1f} MB")
    print(f"memory {median('tree_bytes') / 1e6:8.1f} MB gathered, "
          f"{median('peak_bytes') / 1e6:.1f} MB at most with writing")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--stacks", type=int, default=1000000)
    parser.add_argument("--depth", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--least", type=float, default=25)
    parser.add_argument("--folder", help="for the files, 1.4 GB")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    options = parser.parse_args()
    peer = find_peer()
    folder = tempfile.mkdtemp(prefix="flame.", dir=options.folder)
    bench = Bench(options, folder)
    runs, seconds, failed = [], [], False
    try:
        for number in range(options.rounds):
            run = bench.ours()
            runs.append(run)
            own = run["add_s"] + run["folded_s"] + run["svg_s"]
            line = f"round {number + 1}: {own:.2f} s"
            if peer:
                seconds.append(bench.theirs(peer))
                line += f", flamegraph.pl {seconds[-1]:.1f} s, ratio {seconds[-1] / own:.1f}"
            print(line, flush=True)
        show(runs, os.path.getsize(bench.folded), os.path.getsize(bench.svg))
        own = statistics.median(r["add_s"] + r["folded_s"] + r["svg_s"] for r in runs)
        if not peer:
            print(f"all    {own:8.2f} s; no flamegraph.pl to compare with (libdevel-nytprof-perl)")
            return 0
        ratio = statistics.median(seconds) / own
        print(f"all    {own:8.2f} s, flamegraph.pl {statistics.median(seconds):.1f} s: ratio {ratio:.1f}")
        complaints = compare(our_boxes(bench.svg), their_boxes(bench.peer_svg))
        for complaint in complaints[:20]:
            print(f"differs: {complaint}")
        if not complaints:
            print("both pictures have the same 200 widest boxes")
        failed = bool(complaints) or ratio < options.least
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
