#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random trees of processes end the same under `duet record`.

    tests/trees/run_trees.py [--build FOLDER] [--count N] [--first SEED] [--batch N] [--single N]

Each tree (tree.c) forks, execs and exits at random points, from its seed alone. Its processes record how their children
ended; the sum of the records and the status of the first process are the tree's line. Lines must be the same with and
without a recorder. Trees run in batches under one recorder each, every second one with --preload; the first trees also
run under a recorder of their own. OpenCL's loader finds no driver: it loads its layers, and so duet's guest, all the same.

Prints TAP: a line for each batch, and one for the single trees. Exit status 1: a difference.
"""
import argparse
import glob
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE_S = 900


class Trees:
    def __init__(self, build):
        self.duet = os.path.join(build, "duet")
        self.folder = os.path.join(build, "trees")
        self.drivers = os.path.join(build, "sim")
        self.program = os.path.join(self.folder, "tree")
        self.number = self.failures = self.compared = 0
        os.makedirs(self.folder, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-g", "-o", self.program, os.path.join(HERE, "tree.c"), "-pthread"], check=True)

    def environment(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DUET") and k != "OPENCL_LAYERS"}
        environment["OCL_ICD_VENDORS"] = self.drivers
        return environment

    def lines(self, first, count, options=None):
        """{seed: line} of the trees; options: those of `duet record`, None without a recorder."""
        command = [self.program, str(first), str(count)]
        if options is not None:
            command = [self.duet, "record", "-o", os.path.join(self.folder, "trees.duet"), *options, "--", *command]
        process = subprocess.Popen(command, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            stdout, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, _ = process.communicate()
        lines = {line.split()[0]: line for line in stdout.splitlines() if line}
        lines["status"] = str(process.returncode)
        return lines

    def compare(self, plain, recorded):
        """The differences, as texts."""
        self.compared += len(plain) - 1
        return [f"{plain.get(key)} plain, {recorded.get(key)} recorded" for key in sorted(plain.keys() | recorded.keys())
                if plain.get(key) != recorded.get(key)]

    def report(self, name, problems):
        self.number += 1
        self.failures += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.number} - {name}")
        for problem in problems:
            print(f"#   {problem}")
        sys.stdout.flush()


def run_batch(trees, first, count, options):
    begin = time.monotonic()
    plain = trees.lines(first, count)
    middle = time.monotonic()
    problems = trees.compare(plain, trees.lines(first, count, options))
    if len(plain) != count + 1:
        problems.append(f"{len(plain) - 1} of {count} trees ended without a recorder")
    trees.report(f"{count} trees from {first}, {' '.join(options) or 'as a layer'}: {middle - begin:.1f} s plain, "
                 f"{time.monotonic() - middle:.1f} s recorded", problems)


def run_single(trees, first, count):
    plain = trees.lines(first, count)
    recorded = {"status": plain["status"]}
    for seed in range(first, first + count):
        lines = trees.lines(seed, 1, [] if seed % 2 else ["--preload"])
        if lines.pop("status") != "0":
            recorded["status"] = f"not 0 for {seed}"
        recorded.update(lines)
    trees.report(f"{count} trees from {first}, a recorder each", trees.compare(plain, recorded))


def main():
    parser = argparse.ArgumentParser(description="Compare random trees of processes with and without duet record.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: build)")
    parser.add_argument("--count", type=int, default=10000, help="number of trees (default: 10000)")
    parser.add_argument("--first", type=int, default=1, help="seed of the first tree (default: 1)")
    parser.add_argument("--batch", type=int, default=500, help="trees under one recorder (default: 500)")
    parser.add_argument("--single", type=int, default=50, help="trees that get a recorder of their own, too (default: 50)")
    options = parser.parse_args()
    trees = Trees(os.path.abspath(options.build))
    if not glob.glob(os.path.join(trees.drivers, "*.icd")):
        sys.exit(f"run_trees.py: {trees.drivers}: no simulated OpenCL driver; run make")
    end = options.first + options.count
    for number, first in enumerate(range(options.first, end, options.batch)):
        run_batch(trees, first, min(options.batch, end - first), ["--preload"] if number % 2 else [])
    if options.single:
        run_single(trees, options.first, min(options.single, options.count))
    print(f"1..{trees.number}")
    print(f"# {trees.compared} trees compared, {trees.failures} batches differ")
    return 1 if trees.failures else 0


if __name__ == "__main__":
    sys.exit(main())
