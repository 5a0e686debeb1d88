#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command of Level Zero costs a program, recorded and not: the real loader over the driver of sim/level_zero.

    bench/level_zero.py [--build BUILD] [--rounds N] [--list-rounds N]

Every variant runs once a round, one after the other, so that what else the machine does meets all of them alike; the
medians of the rounds are compared. The simulated driver's queries take a lock and no access to a device: a real one's cost
what they cost.
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

VARIANTS = {"alone": None, "a layer without a recorder": [], "recorded, host only": ["level_zero:host", "none"],
            "recorded": ["level_zero", "none"], "recorded with stacks": ["level_zero", "native"]}


def measure(build, variant, rounds, folder):
    """((least, middle) of an append, (least, middle) of an execution) in ns."""
    environment = {**os.environ, "ZE_ENABLE_ALT_DRIVERS": os.path.join(build, "sim", "level_zero", "libsim-level_zero.so"),
                   "SIM_LEVEL_ZERO": "kernel_us=0"}
    command = [os.path.join(build, "bench", "level_zero_calls"),
               os.path.join(ROOT, "tests", "golden", "zebin", "k_bmg.bin"), str(rounds)]
    if VARIANTS[variant] == []:
        environment["ZE_ENABLE_VALIDATION_LAYER"] = "1"
        environment["LD_LIBRARY_PATH"] = os.path.join(build, "level_zero", "validation")
    elif VARIANTS[variant]:
        collect, stacks = VARIANTS[variant]
        command = [os.path.join(build, "duet"), "record", "--collect", collect, "--stacks", stacks,
                   "-o", os.path.join(folder, "bench.duet"), "--", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found = re.findall(r"(\w+) least (\S+) middle (\S+)", done.stdout)
    if done.returncode or len(found) != 2:
        sys.exit(f"level_zero.py: {' '.join(command)}: status {done.returncode}: {done.stderr}")
    return [(float(least), float(middle)) for _, least, middle in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--list-rounds", type=int, default=60)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if not os.path.exists(os.path.join(build, "bench", "level_zero_calls")):
        print("level_zero.py: no Level Zero (libze-dev): nothing is measured")
        return
    measured = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for variant in VARIANTS:
                measured[variant].append(measure(build, variant, options.list_rounds, folder))
        done = subprocess.run([os.path.join(build, "duet"), "report", "--json", os.path.join(folder, "bench.duet")],
                              capture_output=True, text=True, check=True)
    for variant, rounds in measured.items():
        texts = []
        for index, name in enumerate(("append", "execution")):
            least = min(one[index][0] for one in rounds)
            middle = statistics.median(one[index][1] for one in rounds)
            texts.append(f"{name} {least:7.0f} ns, middle {middle:7.0f} ns")
        print(f"{variant:28} {'; '.join(texts)}")
    ledger = json.loads(done.stdout)["ledger"]
    print(f"lost of the last recording: {ledger['dropped'] + ledger['untimed']} of {ledger['launched']}")


main()
