#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The true slow-down of a program under `duet record --max-overhead`, measured from outside, and duet's own estimate.

    bench/overhead.py [--rounds N] [--seconds S] [--programs 1M,100k,1k,heat] [--limits 1,2,5] [--output FILE]

Each round runs the program plain and once per limit, in random order. Two programs are measured:

- tests/programs/paced.c launches writes on the simulated OpenCL driver with arithmetic in between: about 1,000,000,
  100,000 and 1,000 launches per second of processor time. It prints the wall time of its launches and the processor
  time of the launching thread. Collector: opencl.
- examples/heat.py on PoCL: wall time of its main function, and processor time of all its threads. Default collectors.

A slow-down is the median of the rounds' ratios minus 1; its half-width is half of the 95 % bootstrap interval of that
median. Above 0.3 points it is inconclusive, and the output says so. On a busy machine only the processor time is
conclusive. duet's own estimate is read from each --estimates-th recording: the output has the share of the intervals
that contain the measured slow-down, give or take its half-width.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK_US = {"1M": 0.85, "500k": 1.8, "100k": 9.5, "1k": 1000.0}  # arithmetic before each launch
WIDE = 0.003  # half-width from which on a slow-down is inconclusive
BOOTSTRAPS = 2000


def run(command, environment):
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {name: int(value) for name, value in (line.split() for line in result.stdout.decode().splitlines())}


HEAT = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
import heat
wall, cpu = time.monotonic_ns(), time.process_time_ns()
sys.stdout, out = sys.stderr, sys.stdout
heat.main(sys.argv[1:])
print("elapsed", time.monotonic_ns() - wall, file=out)
print("cpu", time.process_time_ns() - cpu, file=out)
"""


def calibrate_heat(environment, seconds):
    """Command of heat.py for about that long, and its launches per second."""
    def command(frames):
        return ["/usr/bin/python3", "-c", HEAT, os.path.join(ROOT, "examples"), "--size", "512", "--steps", "50", "--frames",
                str(frames)]
    run(command(1), environment)
    first, second = (min(run(command(frames), environment)["elapsed"] for _ in range(3)) for frames in (5, 25))
    each_ns = (second - first) / 20
    return command(max(1, round((seconds * 1e9 - first) / each_ns))), 50e9 / each_ns


def calibrate(paced, environment, work_us, seconds):
    """Arguments of paced for about that long: the count of launches and the rounds of arithmetic."""
    rounds_per_us = 200000 / (min(run([paced, "1", "0", "1", "200000"], environment)["cpu"] for _ in range(5)) / 1000)
    rounds = round(work_us * rounds_per_us)
    trial = 20000 if work_us < 100 else 200
    each_ns = min(run([paced, str(trial), "0", "1", str(rounds)], environment)["cpu"] for _ in range(3)) / trial
    return [str(round(seconds * 1e9 / each_ns)), "0", "1", str(rounds)], 1e9 / each_ns


def interval(ratios, seed=1):
    """Median - 1 and half of its 95 % bootstrap interval."""
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(BOOTSTRAPS))
    low, high = medians[int(BOOTSTRAPS * 0.025)], medians[int(BOOTSTRAPS * 0.975)]
    return statistics.median(ratios) - 1, (high - low) / 2


def estimate(duet, trace):
    """duet's own estimate: ratio and half-width, or its own time; the levels in seconds."""
    document = json.loads(subprocess.run([duet, "report", "--json", trace], stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, check=False).stdout)
    measured = document["cost"]["measured"][0]
    all_ns = sum(measured["levels_ns"].values()) or 1
    total = (measured.get("ratio", 0) * measured["measured_ns"] + measured.get("own_ratio", 0) * measured["own_ns"]) / all_ns
    return {"total": total, "total_half_width": measured.get("half_width", 0) * measured["measured_ns"] / all_ns,
            "ratio": measured.get("ratio"), "half_width": measured.get("half_width"), "own_ratio": measured.get("own_ratio"),
            "levels_s": {name: round(ns / 1e9, 2) for name, ns in measured["levels_ns"].items() if ns},
            "left_out": document["cost"]["left_out_launches"]}


def prepare(options, name):
    """The plain command, its launches per second, its environment and duet's options."""
    if name == "heat":
        environment = {**os.environ, "POCL_DEVICES": "pthread"}
        return *calibrate_heat(environment, options.seconds), environment, []
    paced = os.path.join(options.build, "tests", "programs", "paced")
    environment = {**os.environ, "OCL_ICD_VENDORS": os.path.join(options.build, "sim"), "SIM_OPENCL": "copy_ns=100"}
    arguments, rate = calibrate(paced, environment, WORK_US[name], options.seconds)
    return [paced, *arguments], rate, environment, ["--collect", "opencl"]


def containing(estimates, slow_down, half_width):
    """How many of duet's intervals for a whole run contain the measured slow-down, give or take its half-width."""
    return sum(abs(row["total"] - slow_down) <= row["total_half_width"] + half_width for row in estimates)


def measure(options, name, folder):
    duet = os.path.join(options.build, "duet")
    plain, rate, environment, collect = prepare(options, name)
    limits = [float(limit) for limit in options.limits.split(",")]
    times = {limit: [] for limit in (None, *limits)}
    estimates = {limit: [] for limit in limits}
    for turn in range(options.rounds):
        order = list(times)
        random.Random(turn).shuffle(order)
        for limit in order:
            trace = os.path.join(folder, "overhead.duet")
            command = plain
            if limit is not None:
                command = [duet, "record", *collect, "--max-overhead", f"{limit}%", "-o", trace, "--", *command]
            times[limit].append(run(command, environment))
            if limit is not None and turn % options.estimates == 0:
                estimates[limit].append(estimate(duet, trace))
    rows = []
    for limit in limits:
        row = {"program": name, "launches_per_second": round(rate), "limit": limit / 100, "pairs": options.rounds,
               "seconds": options.seconds}
        for key in ("elapsed", "cpu"):
            slow_down, half_width = interval([with_duet[key] / without[key]
                                              for with_duet, without in zip(times[limit], times[None])])
            row[key] = {"slow_down": round(slow_down, 5), "half_width": round(half_width, 5),
                        "is_conclusive": half_width <= WIDE,
                        "holds": slow_down <= limit / 100 + 0.005 if half_width <= WIDE else None,
                        "estimates_that_contain": containing(estimates[limit], slow_down, half_width)}
        ratios = [estimate["ratio"] for estimate in estimates[limit] if estimate["ratio"] is not None]
        row["estimates_read"] = len(estimates[limit])
        row["estimates_by_windows"] = len(ratios)
        row["median_estimate"] = round(statistics.median(ratios), 5) if ratios else None
        row["median_total"] = round(statistics.median(estimate["total"] for estimate in estimates[limit]), 5)
        row["median_own"] = round(statistics.median(estimate["own_ratio"] or 0 for estimate in estimates[limit]), 5)
        row["estimates"] = estimates[limit]
        rows.append(row)
        print(json.dumps({key: value for key, value in row.items() if key != "estimates"}), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--programs", default="1M,100k,1k,heat")
    parser.add_argument("--estimates", type=int, default=10, help="read each N-th recording's own estimate")
    parser.add_argument("--limits", default="1,2,5")
    parser.add_argument("--output")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        for name in options.programs.split(","):
            rows += measure(options, name, folder)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
