#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many events a second does an export write, on one processor?

    bench/export.py [--build DIR] [--events N,…] [--shape NAME,…] [--format NAME,…] [--rounds N] [--folder DIR]

For each number of events and each shape of tests/generate/generate_trace a trace is made; then the formats take
turns. Printed are, of the round that took least, wall and processor time and the events a second of processor time
(user and system, of all threads), and of all rounds the most memory; and the size of the file.
"""
import os
import sys

from cost import each_trace, generate, measure, trace_options
from say import progress, title


def measure_shape(options, folder, shape, events):
    trace, out = os.path.join(folder, "run.duet"), os.path.join(folder, "out")
    formats = options.format.split(",")
    costs = {name: [] for name in formats}
    sizes = {}
    generate(options.build, shape, events, trace)
    for turn in range(options.rounds):
        for name in formats:
            progress(f"{shape}, {events} events, {name}, round {turn + 1} of {options.rounds}")
            costs[name].append(measure([os.path.join(options.build, "duet"), "export",
                                        "--format", name, "-o", out, trace]))
            sizes[name] = os.path.getsize(out)
            os.unlink(out)
    for name in formats:
        best = min(costs[name], key=lambda cost: cost.processor)
        memory = max(cost.memory_mib for cost in costs[name])
        print(f"{name:10} {shape:8} {events:>10}  {best.wall:7.2f} s  {best.processor:7.2f} s"
              f"  {events / best.processor / 1e6:6.2f} M/s {memory:6.0f} MiB"
              f" {sizes[name] / (1 << 20):7.1f} MiB", flush=True)
    os.unlink(trace)


def main():
    parser = trace_options(__doc__, "1000000,10000000", "perfetto takes 80 bytes an event")
    parser.add_argument("--format", default="perfetto", help="formats that are one file")
    options = parser.parse_args()
    title("format     shape        events       wall  processor  events a s     memory       file")
    each_trace(options, measure_shape)
    return 0


if __name__ == "__main__":
    sys.exit(main())
