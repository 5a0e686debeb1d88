#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the account of a difference by brute force, over pairs of random traces; prints TAP.

    tests/checker/check_diff.py --duet DUET --make-trace PROGRAM [--random N] [--seed S] [--batch N]

Each side has one to three traces. The checker sums up the exported rows of each trace interval by interval, as
check_account.py does, and compares devices, kernels, causes, and the change of each row with `duet diff --json`.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_account  # noqa: E402
import run_checker  # noqa: E402

STATES = ("on_cpu", "host", "blocked", "preempted")
PARTS = ("kernels", "copies", "other")


class Devices(list):
    """The sums of each device of a trace."""

    joined = False


def sums_of(duet, path):
    """Of each device of a trace: wall, busy, {kernel: share}, {part: share}, {cause: idle}."""
    rows = subprocess.run([duet, "export", "--format", "jsonl", "--absolute", path], check=True, capture_output=True).stdout
    about = json.loads(subprocess.run([duet, "info", "--json", path], check=True, capture_output=True).stdout)
    trace = check_account.Trace(rows.decode().rstrip("\n").split("\n"), about["damage"])
    begin, end = trace.window()
    found = Devices()
    # near a loss of switches duet knows less of a thread than the checker: its states count together
    found.joined = bool(trace.switch_losses())
    for device in sorted(trace.things.get("device", {})) + [0]:
        commands = [row for row in trace.executions if trace.device_of(row) == device and check_account.is_in_account(row)]
        if not commands:
            continue
        shares, total = check_account.busy(commands, begin, end)
        in_flight = check_account.unfinished(trace, device, commands)
        causes = check_account.idle(trace, commands, in_flight, trace.dark(device), begin, end)[0]
        kernels, parts = {}, dict.fromkeys(PARTS, 0)
        for row in commands:
            part = check_account.class_of(row)
            parts[part] += shares[id(row)]
            if part == "kernels":
                name = trace.kernel_name(row["launch"]) or "[unknown]"
                kernels[name] = kernels.get(name, 0) + shares[id(row)]
        found.append((end - begin, total, kernels, parts, causes))
    return found


class Pair:
    """One comparison, and what the checker knows of its traces."""

    def __init__(self, document, base, changed):
        self.document, self.runs = document, {"base": base, "new": changed}
        self.rows = document["account"]["rows"]
        self.differences = []

    def equal(self, what, got, want):
        if got != want:
            self.differences.append(f"{what}: diff {got}, checker {want}")

    def device_sum(self, side, get):
        """A quantity of all devices of all runs of a side."""
        return sum(get(device) for run in self.runs[side] for device in run)

    def check_totals(self, side):
        for index, what in enumerate(("wall", "busy")):
            self.equal(f"{side} {what}", sum(row[f"{side}_{what}_ns"] for row in self.document["devices"]),
                       self.device_sum(side, lambda device, index=index: device[index]))
        for part in PARTS:
            self.equal(f"{side} {part}", sum(row[side]["value"] for row in self.rows if row["group"] == part and row["table"] == "kernel"),
                       self.device_sum(side, lambda device, part=part: device[3][part]))
        got, wanted = ({cause: get(cause) for cause in check_account.CAUSES} for get in (
            lambda cause: sum(row[side]["value"] for row in self.rows if row.get("cause") == cause),
            lambda cause: self.device_sum(side, lambda device: device[4][cause])))
        if any(run.joined for run in self.runs[side]):
            for causes in (got, wanted):
                causes["on_cpu"] += sum(causes.pop(state) for state in STATES if state != "on_cpu")
        self.equal(f"{side} idle", got, wanted)

    def check_kernels(self, side):
        wanted, got = {}, {}
        for run in self.runs[side]:
            for device in run:
                for name, share in device[2].items():
                    wanted[name] = wanted.get(name, 0) + share
        for row in self.rows:
            if row["group"] == "kernels" and row["table"] == "kernel":
                name = row.get("base_name", row["name"]) if side == "base" else row["name"]
                got[name] = got.get(name, 0) + row[side]["value"]
        self.equal(f"{side} kernels", {name: ns for name, ns in got.items() if ns},
                   {name: ns for name, ns in wanted.items() if ns})

    def check_changes(self):
        """The rows of each device add up to the change of its wall time, rounded down once."""
        base, changed = len(self.runs["base"]), len(self.runs["new"])
        total = 0
        for index, device in enumerate(self.document["devices"]):
            want = (device["new_wall_ns"] * base - device["base_wall_ns"] * changed) // (base * changed)
            got = sum(row["change"] for row in self.rows if row["device"] == index)
            self.equal(f"device {index} change", got, want)
            self.equal(f"device {index} wall change", device["wall_change_ns"], want)
            self.equal(f"device {index} parts", device["busy_change_ns"] + device["idle_change_ns"], want)
            total += want
        self.equal("change", self.document["account"]["change_ns"], total)
        self.equal("exact", self.document["account"]["exact"], True)

    def check_row(self, row):
        """The change is that of the means, up to one nanosecond; its parts are what they are defined to be."""
        base, changed = len(self.runs["base"]), len(self.runs["new"])
        name = f"row {row['name']}"
        mean = Fraction(row["new"]["value"], changed) - Fraction(row["base"]["value"], base)
        self.equal(f"{name} near its mean", abs(row["change"] - mean) < 2, True)
        self.equal(f"{name} parts", row["more_often"] + row["each_slower"], row["change"])
        counts = row["base"]["count"], row["new"]["count"]
        if row["table"] != "kernel":
            return
        if not all(counts):
            self.equal(f"{name} of one side", row["more_often"], row["change"])
            return
        more = (Fraction(counts[1], changed) - Fraction(counts[0], base)) * Fraction(row["base"]["value"], counts[0])
        self.equal(f"{name} more often", abs(row["more_often"] - more) < 1, True)

    def check(self):
        for side in ("base", "new"):
            self.check_totals(side)
            self.check_kernels(side)
        self.check_changes()
        for row in self.rows:
            self.check_row(row)
        return self.differences


def description_of(seed):
    make = (run_checker.random_trace, run_checker.random_waits, run_checker.random_wakings)[seed % 3]
    return make(seed)


def write_traces(arguments, folder, seeds):
    paths = []
    for seed in seeds:
        path = os.path.join(folder, f"{seed}.duet")
        if not os.path.exists(path):
            subprocess.run([arguments.make_trace, "-", path], input=description_of(seed).encode(), check=True)
        paths.append(path)
    return paths


def check_pair(arguments, folder, seed, known):
    generator = random.Random(seed)
    sides = [[generator.randrange(arguments.traces) for _ in range(generator.choice((1, 1, 2, 3)))] for _ in range(2)]
    paths = [write_traces(arguments, folder, side) for side in sides]
    for path in paths[0] + paths[1]:
        if path not in known:
            known[path] = sums_of(arguments.duet, path)
    result = subprocess.run([arguments.duet, "diff", "--json", "--force", "--per", "run", *paths[0], "--new", *paths[1]], check=False,
                            capture_output=True)
    if result.returncode:
        return [f"status {result.returncode}: {result.stderr.decode()}"]
    return Pair(json.loads(result.stdout), [known[path] for path in paths[0]], [known[path] for path in paths[1]]).check()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duet", required=True)
    parser.add_argument("--make-trace", required=True)
    parser.add_argument("--random", type=int, default=40, help="pairs")
    parser.add_argument("--traces", type=int, default=60, help="random traces of which the pairs are made")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failures, known = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.random):
            differences = check_pair(arguments, folder, seed, known)
            for line in differences[:10]:
                print(f"#   {line}")
            failures += bool(differences)
            if differences or arguments.random <= 100:
                print(f"{'not ok' if differences else 'ok'} {seed - arguments.seed + 1} - pair {seed}", flush=True)
    if arguments.random <= 100:
        print(f"1..{arguments.random}")
    else:
        print(f"{arguments.random} pairs of {len(known)} traces, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
