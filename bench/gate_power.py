#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how often duet gate is wrong: false regressions without a change, and planted slow-downs that it finds.

    bench/gate_power.py [--duet build/duet] [--pool FOLDER] [--rounds 60] [--gates 200] [--runs 10] [--simulated]

Records a pool: in each round the program once as it is, once 5 % and once 2 % slower, in an order that rotates.
bench/gate_power.c draws gates from it, of `runs` runs a side in the order of time, so that the sides alternate as with
`duet gate --run`. Draws overlap, so the rates are those of this pool. --simulated uses the simulated driver, whose
start does not compile a kernel. An existing pool is used again.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ITERATIONS, PAUSE_US = 250, 2000
VARIANTS = {"base": 0, "slow5": 0.05, "slow2": 0.02}


def record(options, path, pause_us):
    environment = dict(os.environ, POCL_DEVICES="pthread")
    if options.simulated:
        environment["OCL_ICD_VENDORS"] = os.path.join(options.build, "sim")
    program = os.path.join(options.build, "tests", "programs", "gate_work")
    subprocess.run([options.duet, "record", "-o", path, "--", program, str(ITERATIONS), str(pause_us)], env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def find_wall_us(options, folder):
    """Median wall time of a few runs: the planted parts are parts of it."""
    walls = []
    for _ in range(7):
        path = os.path.join(folder, "first.duet")
        record(options, path, PAUSE_US)
        report = subprocess.run([options.duet, "report", "--json", path], stdout=subprocess.PIPE, check=True)
        walls.append(json.loads(report.stdout)["wall_ns"] / 1000)
        os.unlink(path)
    return statistics.median(walls)


def record_pool(options, folder):
    wall_us, names = find_wall_us(options, folder), list(VARIANTS)
    print(f"wall {wall_us / 1000:.1f} ms", flush=True)
    for number in range(options.rounds):
        for name in names[number % 3:] + names[:number % 3]:
            record(options, os.path.join(folder, f"{name}-{number:03}.duet"), PAUSE_US + round(VARIANTS[name] * wall_us / ITERATIONS))


def load():
    with open("/proc/loadavg", encoding="ascii") as file:
        return " ".join(file.read().split()[:3])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--duet", default=os.path.join(ROOT, "build", "duet"))
    parser.add_argument("--pool")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    options.duet = os.path.abspath(options.duet)
    options.build = os.path.dirname(options.duet)
    with tempfile.TemporaryDirectory(prefix="gate-power.") as scratch:
        folder = options.pool or scratch
        os.makedirs(folder, exist_ok=True)
        print(f"{os.cpu_count()} processors, load {load()}", flush=True)
        if not os.listdir(folder):
            record_pool(options, folder)
            print(f"recorded {options.rounds} rounds, load {load()}", flush=True)
        return subprocess.run([os.path.join(options.build, "bench", "gate_power"), folder, str(options.gates), str(options.runs)],
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
