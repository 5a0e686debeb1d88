#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Acceptance: real applications behave the same under `duet record`, and nearly as fast.

    tests/apps/run_apps.py [--build FOLDER] [--no-timing] [--pairs N] [--list] [NAME...]

Each application runs plain and recorded, both with a layer of OpenCL (count_enqueues.c) that counts successful enqueues.
Exit status, stdout and the two counts must agree. The caches are new for each of these runs. Then wall times are taken
without the layer: pairs of a plain and a recorded run, with new caches (cold) and with filled ones (warm). The medians'
limit is 1.1 x plain + 20 ms.

The table goes to stdout and to BUILD/apps/table.txt; outputs that differ stay in BUILD/apps/NAME/. Exit status 1: a
difference, or a time above its limit. Timing needs a machine without other work.
"""
import argparse
import os
import sys
import time

import applications
import trial

ROOT = os.path.dirname(os.path.dirname(applications.HERE))
# Seconds per application, for cold runs and for warm runs: the whole table in a quarter of an hour.
BUDGET_S = 15
COLUMNS = "{:<18} {:<8} {:<8} {:>8} {:>8} {:>8}  {:<9} {:>9} {:>9}  {:<9} {:>9} {:>9}  {}"
HEAD = COLUMNS.format("application", "status", "stdout", "plain", "layer", "ledger", "cold", "plain ms", "recorded",
                      "warm", "plain ms", "recorded", "pairs")


class Table:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.failures = 0
        self.write(HEAD)

    def write(self, line):
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def add_skip(self, name, reason):
        self.write(f"{name:<18} skipped: {reason}")

    def add(self, name, behaviour, timings):
        fields = ["same" if behaviour.status_ok else "DIFFERS", "same" if behaviour.output_ok else "DIFFERS",
                  *[shown(n) for n in (behaviour.plain_enqueues, behaviour.enqueues, behaviour.launched)]]
        for timing in timings:
            fields += timing_fields(timing)
        self.write(COLUMNS.format(name, *fields, "/".join(str(t.pairs) for t in timings if t)).rstrip())
        for problem in behaviour.problems:
            self.write(f"    {problem}")
        self.failures += bool(behaviour.problems) or any(t and not t.is_within for t in timings)


def shown(value):
    return "-" if value is None else str(value)


def timing_fields(timing):
    if not timing:
        return ["-", "-", "-"]
    return ["within" if timing.is_within else "ABOVE", f"{timing.plain_ms:.0f}", f"{timing.recorded_ms:.0f}"]


def try_application(table, application, options):
    work = os.path.join(options.build, "apps")
    try:
        command = application.command(work)
        ground = trial.Ground(os.path.join(options.build, "duet"), work, application)
    except applications.Missing as reason:
        table.add_skip(application.name, reason)
        return
    commands = command if isinstance(command[0], list) else [command]
    behaviour = trial.behave(ground, commands)
    timings = [None, None]
    if application.is_timed and not options.no_timing:
        timings = [trial.measure(ground, commands[0], is_cold, options.pairs, BUDGET_S)
                   if application.is_cold or not is_cold else None for is_cold in (True, False)]
    table.add(application.name, behaviour, timings)


def chosen(names):
    known = {application.name: application for application in applications.APPLICATIONS}
    for name in names:
        if name not in known:
            sys.exit(f"run_apps.py: no application {name}; --list prints them")
    return [known[name] for name in names] or applications.APPLICATIONS


def main():
    parser = argparse.ArgumentParser(description="Run real applications plain and under duet record, and compare.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="application (default: all)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: build)")
    parser.add_argument("--no-timing", action="store_true", help="compare behaviour and counts alone")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs to time (default: 5)")
    parser.add_argument("--list", action="store_true", help="print the names of the applications")
    options = parser.parse_args()
    if options.list:
        print("\n".join(application.name for application in applications.APPLICATIONS))
        return 0
    options.build = os.path.abspath(options.build)
    os.makedirs(os.path.join(options.build, "apps"), exist_ok=True)
    begin = time.monotonic()
    table = Table(os.path.join(options.build, "apps", "table.txt"))
    for application in chosen(options.names):
        try_application(table, application, options)
    table.write(f"# {table.failures} failed; {time.monotonic() - begin:.0f} s; load {os.getloadavg()[0]:.1f}")
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
