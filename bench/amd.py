#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a dispatch costs a program of ROCm, recorded and not: the real ROCr over the simulated GPU of sim/amd.

    bench/amd.py [--build BUILD] [--rounds N] [--dispatch-rounds N]

Every variant runs once a round, one after the other, so that what else the machine does meets all of them alike;
the medians of the rounds are compared. A round of bench/dispatches is 512 packets. The GPU is a thread here: what it
takes from the program it takes in every variant.
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import say
from cost import ROOT

# What a tool of another project, whose waiter takes one dispatch after the other, kept up with on such a machine.
SUSTAINED_BEFORE = 177000

Variant = collections.namedtuple("Variant", "name signals record compared")
VARIANTS = (
    Variant("a plain queue", "none", None, None),
    Variant("recorded", "none", ["--stacks", "none"], "a plain queue"),
    Variant("recorded with stacks", "none", [], "a plain queue"),
    Variant("a signal of the program's", "signal", None, None),
    Variant("the same, recorded", "signal", ["--stacks", "none"], "a signal of the program's"),
    Variant("the same, recorded with stacks", "signal", [], "a signal of the program's"),
)
Measured = collections.namedtuple("Measured", "least middle sustained peak_kib")


def measure(build, variant, rounds, folder):
    program = ["env", f"LD_PRELOAD={os.path.join(build, 'sim', 'amd', 'libsim-kfd.so')}", "SIM_KFD=kernel_us=1",
               os.path.join(build, "bench", "dispatches"), variant.signals, str(rounds)]
    command = program
    if variant.record is not None:
        command = [os.path.join(build, "duet"), "record", "--collect", "amd:nohip", *variant.record,
                   "-o", os.path.join(folder, "bench.duet"), "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    numbers = re.search(r"least (\S+) middle (\S+)\s+sustained (\S+) peak_kib (\S+)", done.stdout)
    if done.returncode or not numbers:
        sys.exit(f"amd.py: {' '.join(command)}: status {done.returncode}: {done.stderr}")
    return Measured(*map(float, numbers.groups()))


def lost(build, folder):
    """Dispatches of the last recording that have no times, or no row."""
    done = subprocess.run([os.path.join(build, "duet"), "report", "--json", os.path.join(folder, "bench.duet")],
                          capture_output=True, text=True, check=True)
    ledger = json.loads(done.stdout)["ledger"]
    return ledger["dropped"] + ledger["untimed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=9, help="of all variants")
    parser.add_argument("--dispatch-rounds", type=int, default=200, help="of 512 dispatches, in each run")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.build, "bench", "dispatches")):
        sys.exit("amd.py: bench/dispatches was not built: install libhsa-runtime-dev")
    rows = {variant.name: [] for variant in VARIANTS}
    missing = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="bench.amd.") as folder:
        for number in range(options.rounds):
            for variant in VARIANTS:
                say.progress(f"round {number + 1} of {options.rounds}: {variant.name}")
                rows[variant.name].append(measure(options.build, variant, options.dispatch_rounds, folder))
                if variant.record is not None:
                    missing[variant.name] += lost(options.build, folder)
    say.title(f"{options.rounds} rounds, {options.dispatch_rounds * 512} dispatches each; ns a dispatch for the "
              "thread that writes it")
    print(f"{'':32} {'quickest':>9} {'middle':>9} {'ratio':>6} {'kernels/s':>10} {'peak MiB':>9} {'lost':>6}")
    for variant in VARIANTS:
        least, middle, sustained, peak = (statistics.median(values) for values in zip(*rows[variant.name]))
        ratio = ""
        if variant.compared:
            before = statistics.median(row.least for row in rows[variant.compared])
            ratio = f"{least / before:.2f}" if before else "-"
        print(f"{variant.name:32} {least:9.0f} {middle:9.0f} {ratio:>6} {sustained:10.0f} {peak / 1024:9.1f} "
              f"{missing[variant.name] if variant.record is not None else '':>6}")
    sustained = statistics.median(row.sustained for row in rows["recorded with stacks"])
    print(f"sustained with stacks: {sustained / SUSTAINED_BEFORE:.2f} times {SUSTAINED_BEFORE} kernels a second; lost: "
          "dispatches without a row or without times, in all rounds")


main()
