#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a launch of CUDA's costs a program, without duet, with its guest idle, and recorded.

    bench/cuda.py [--build BUILD] [--hardware] [--rounds N] [--loops N]

Every variant runs once a round, one after the other, so that what else the machine does meets all of them alike. A figure
is the median of all rounds; a ratio that of each round's own ratio to the program alone.

    plain            the program alone
    idle             the guest is loaded with CUPTI, nothing is subscribed (--collect nvidia:idle)
    subscribed       it has subscribed to CUPTI's callbacks, of which none is on (--collect nvidia:idle-subscribed)
    CUPTI            no guest: CUPTI with the kinds and callbacks on that the guest wants, whose functions do nothing
    tracing          duet record --collect nvidia:cuda --stacks none
    stacks           duet record --collect nvidia:cuda, which takes the stack of each launch

Without --hardware it runs over the stand-ins of libcuda and libcupti (sim/nvidia), in which a kernel takes no time: what is
more than "CUPTI" is the guest's own cost, and that is all these figures say; what NVIDIA's CUPTI costs they do not. With
--hardware it takes the machine's own libraries.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

from cost import ROOT

VARIANTS = {"plain": None, "idle": ["nvidia:idle", "none"], "subscribed": ["nvidia:idle-subscribed", "none"], "CUPTI": None,
            "tracing": ["nvidia:cuda", "none"], "stacks": ["nvidia:cuda", "all"]}
WORKS = ("launch", "copy", "graph")
UNITS = ("wall", "processor")


def measure(options, variant, folder):
    """{(work, unit): ns of a call}"""
    environment = dict(os.environ)
    if not options.hardware:
        environment.update(LD_LIBRARY_PATH=os.path.join(options.build, "sim", "nvidia"), SIM_NVIDIA="kernel_us=0,latency_us=0")
    command = [os.path.join(options.build, "bench", "cuda_calls"), str(options.loops)]
    if variant == "CUPTI":
        command.append("cupti")
    if VARIANTS[variant]:
        collect, stacks = VARIANTS[variant]
        command = [os.path.join(options.build, "duet"), "record", "--collect", collect, "--stacks", stacks,
                   "-o", os.path.join(folder, f"{variant}.duet"), "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    found = re.findall(r"^(\w+) wall (\S+) processor (\S+)$", done.stdout, re.MULTILINE)
    if done.returncode or len(found) != len(WORKS):
        sys.exit(f"cuda.py: {' '.join(command)}: status {done.returncode}: {done.stderr}")
    return {(work, unit): float(value) for work, *values in found for unit, value in zip(UNITS, values)}


def show(measured, work):
    plain = measured["plain"]
    print(f"\n{work:12} {'wall ns':>9} {'ratio':>7} {'processor ns':>13} {'ratio':>7}")
    for variant, rounds in measured.items():
        cells = []
        for unit in UNITS:
            ratio = statistics.median(one[work, unit] / base[work, unit] for one, base in zip(rounds, plain))
            cells += [statistics.median(one[work, unit] for one in rounds), ratio]
        print(f"{variant:12} {cells[0]:9.0f} {cells[1]:7.3f} {cells[2]:13.0f} {cells[3]:7.3f}")


def check(options, folder):
    """What was recorded last, of each that records: nothing of it may be lost, and of an idle guest there is nothing."""
    for variant, what in VARIANTS.items():
        if not what:
            continue
        done = subprocess.run([os.path.join(options.build, "duet"), "report", "--json", os.path.join(folder, f"{variant}.duet")],
                              capture_output=True, text=True, check=True)
        ledger = json.loads(done.stdout)["ledger"]
        print(f"{variant}: {ledger['launched']} launches recorded, {ledger['matched']} with their end, "
              f"{ledger['dropped']} dropped")
        is_idle = what[0].startswith("nvidia:idle")
        if ledger["dropped"] or bool(ledger["launched"]) == is_idle:
            sys.exit(f"cuda.py: {variant}: {'launches of an idle guest' if is_idle else 'what was launched is not all there'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--hardware", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--loops", type=int, default=100, help="rounds of the program in each")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    measured = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        for _ in range(options.rounds):
            for variant in VARIANTS:
                measured[variant].append(measure(options, variant, folder))
        print("libcuda and libcupti of this machine" if options.hardware else
              "simulated CUPTI: the guest's own cost only, next to that of \"CUPTI\"")
        for work in WORKS:
            show(measured, work)
        print()
        check(options, folder)


main()
