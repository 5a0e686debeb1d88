#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does a page of a large trace cost, next to the report of the same trace?

    bench/view.py [--build DIR] [--events N,…] [--shape NAME,…] [--rounds N] [--folder DIR]

For each number of events and each shape of tests/generate/generate_trace a trace is made; then `duet report
--json` and `duet view` take turns. Printed are the medians of wall and processor time, their ratio, the most
memory of the view, the size of its file, and of how many tracks the finest levels were left out.
"""
import base64
import json
import os
import re
import sys
import zlib

from cost import each_trace, generate, measure, median, trace_options
from say import progress, title


def tracks_cut(path):
    """From the page's head. Little is read: a child's memory counts from what this process has."""
    text = ""
    with open(path, encoding="ascii", errors="replace") as file:
        while not (found := re.search(r'id="head">([A-Za-z0-9+/=]*)<', text)):
            text += file.read(1 << 16)
    head = zlib.decompress(base64.b64decode(found.group(1)), -15)
    return json.loads(head).get("cut", {}).get("tracks", 0)


def measure_shape(options, folder, shape, events):
    trace, page = os.path.join(folder, "run.duet"), os.path.join(folder, "run.html")
    duet = os.path.join(options.build, "duet")
    generate(options.build, shape, events, trace)
    reports, views = [], []
    for turn in range(options.rounds):
        progress(f"{shape}, {events} events, round {turn + 1} of {options.rounds}")
        reports.append(measure([duet, "report", "--json", trace]))
        views.append(measure([duet, "view", "-o", page, trace]))
    print(f"{shape:8} {events:>10}  {median(reports, 'wall'):7.2f} s  {median(views, 'wall'):7.2f} s"
          f" {median(views, 'wall') / median(reports, 'wall'):6.1f}"
          f"  {median(views, 'processor'):7.2f} s {median(views, 'memory_mib'):6.0f} MiB"
          f" {os.path.getsize(page) / (1 << 20):7.1f} MiB {tracks_cut(page):4}", flush=True)
    os.unlink(trace)
    os.unlink(page)


def main():
    parser = trace_options(__doc__, "100000,1000000,10000000", "20 bytes an event")
    options = parser.parse_args()
    title("shape        events     report       view  ratio  processor   memory       file  cut")
    each_trace(options, measure_shape)
    return 0


if __name__ == "__main__":
    sys.exit(main())
