#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how often duet gate is wrong: false regressions without a change, and planted slow-downs that it finds.

    bench/gate_power.py [--duet build/duet] [--pool FOLDER] [--rounds 60] [--gates 200] [--runs 10] [--simulated]

Records a pool: in each round the program once as it is, once 5 % and once 2 % slower, in an order that rotates. Each
gate draws `runs` runs a side from it, in the order of time, so that the sides alternate as with `gate --run`. Draws
overlap, so the gates are not independent: the rates are those of this pool. --simulated uses the simulated driver,
whose start does not compile a kernel. An existing pool is used again.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ITERATIONS, PAUSE_US = 250, 2000
VARIANTS = {"base": 1.0, "slow5": 1.05, "slow2": 1.02}
WORDS = {0: "pass", 1: "regression", 3: "inconclusive"}


def record(options, folder):
    """One recording of each variant per round; the pause is so much longer that the wall time is the factor's."""
    program = os.path.join(os.path.dirname(options.duet), "tests", "programs", "gate_work")
    environment = dict(os.environ, POCL_DEVICES="pthread")
    if options.simulated:
        environment["OCL_ICD_VENDORS"] = os.path.join(os.path.dirname(options.duet), "sim")
    started = time.monotonic()
    subprocess.run([program, str(ITERATIONS), str(PAUSE_US)], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall_us = (time.monotonic() - started) * 1e6
    names = list(VARIANTS)
    for number in range(options.rounds):
        for name in names[number % 3:] + names[:number % 3]:
            pause = PAUSE_US + round((VARIANTS[name] - 1) * wall_us / ITERATIONS)
            subprocess.run([options.duet, "record", "-o", os.path.join(folder, f"{name}-{number:03}.duet"), "--", program,
                            str(ITERATIONS), str(pause)], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def judge(options, base, changed):
    command = [options.duet, "gate", "--json", *base, "--new", *changed]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode not in WORDS:
        raise SystemExit(f"status {result.returncode}: {' '.join(command)}")
    document = json.loads(result.stdout)
    return WORDS[result.returncode], document["paired"], document["checks"][0]


def draw_equal(options, paths, generator):
    """Pairs of base runs; which run of a pair is the new one is drawn."""
    chosen = sorted(generator.sample(paths["base"], 2 * options.runs))
    base, changed = [], []
    for i in range(0, len(chosen), 2):
        pair = chosen[i:i + 2]
        generator.shuffle(pair)
        base.append(pair[0])
        changed.append(pair[1])
    return base, changed


def draw_slow(options, paths, name, generator):
    rounds = sorted(generator.sample(range(len(paths["base"])), options.runs))
    return [paths["base"][i] for i in rounds], [paths[name][i] for i in rounds]


def measure(options, paths, name):
    generator, outcomes, paired, widths = random.Random(name), collections.Counter(), 0, []
    for _ in range(options.gates):
        sides = draw_equal(options, paths, generator) if name == "base" else draw_slow(options, paths, name, generator)
        outcome, is_paired, check = judge(options, *sides)
        outcomes[outcome] += 1
        paired += is_paired
        noise = check["noise"]
        if "low" in noise:
            widths.append((noise["high"] - noise["low"]) / check["base"] * 100)
    shares = ", ".join(f"{word} {outcomes[word]} ({outcomes[word] / options.gates:.1%})" for word in WORDS.values())
    print(f"{name} ({(VARIANTS[name] - 1) * 100:+.0f} %): {options.gates} gates: {shares}; {paired} in pairs; "
          f"median width of the interval {sorted(widths)[len(widths) // 2]:.2f} %", flush=True)


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
    with tempfile.TemporaryDirectory(prefix="gate-power.") as scratch:
        folder = options.pool or scratch
        os.makedirs(folder, exist_ok=True)
        print(f"{os.cpu_count()} processors, load {load()}", flush=True)
        if not os.listdir(folder):
            record(options, folder)
            print(f"recorded {options.rounds} rounds, load {load()}", flush=True)
        paths = {name: sorted(os.path.join(folder, file) for file in os.listdir(folder) if file.startswith(name + "-"))
                 for name in VARIANTS}
        for name in VARIANTS:
            measure(options, paths, name)
        print(f"load {load()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
