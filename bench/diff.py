#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does the comparison of two large traces cost, next to the reports of both?

    bench/diff.py [--build DIR] [--events N,…] [--shape NAME,…] [--rounds N] [--folder DIR]

For each number of events and each shape of tests/generate/generate_trace a trace is made and compared with itself under
another name; `duet report --json` of both and `duet diff --json` take turns. Printed are the medians of wall and
processor time, the ratio of the comparison to the two reports together, and the most memory of the comparison.
"""
import os
import shutil
import sys

from cost import Cost, each_trace, generate, measure, median, trace_options
from say import progress, title


def measure_shape(options, folder, shape, events):
    base, new = os.path.join(folder, "base.duet"), os.path.join(folder, "new.duet")
    duet = os.path.join(options.build, "duet")
    generate(options.build, shape, events, base)
    shutil.copy(base, new)
    reports, diffs = [], []
    for turn in range(options.rounds):
        progress(f"{shape}, {events} events, round {turn + 1} of {options.rounds}")
        first = measure([duet, "report", "--json", base])
        diffs.append(measure([duet, "diff", "--json", "--force", base, new]))
        second = measure([duet, "report", "--json", new])
        reports.append(Cost(*(a + b for a, b in zip(first, second))))
    print(f"{shape:8} {events:>10}  {median(reports, 'wall'):7.2f} s  {median(diffs, 'wall'):7.2f} s"
          f" {median(diffs, 'wall') / median(reports, 'wall'):6.2f}"
          f"  {median(reports, 'processor'):7.2f} s {median(diffs, 'processor'):7.2f} s"
          f" {median(diffs, 'processor') / median(reports, 'processor'):6.2f} {median(diffs, 'memory_mib'):6.0f} MiB", flush=True)
    os.unlink(base)
    os.unlink(new)


def main():
    parser = trace_options(__doc__, "1000000,10000000", "20 bytes an event, twice")
    options = parser.parse_args()
    title("shape        events    reports       diff  ratio  processor: reports   diff  ratio   memory")
    each_trace(options, measure_shape)
    return 0


if __name__ == "__main__":
    sys.exit(main())
