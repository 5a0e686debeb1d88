#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each further recorder of one process costs: the program, the recorder with its guest, and each reader.

    bench/readers.py [--rounds N] [--seconds S] [--rate LAUNCHES_PER_SECOND] [--readers 0,1,2,3] [--output FILE]

tests/programs/paced.c launches writes on the simulated OpenCL driver, with the guest loaded. Each round runs it in
random order without a recorder and below one `record -p`, with further ones beside it that read the first one's file.
All collectors but opencl are off, so that the readers' own samples are not in the figures. Printed are medians over the
rounds: the processor time of the launching thread as a ratio to that of the same round without a recorder, and the
processor time of each recorder per launch and as a share of a core.
"""
import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time

from overhead import calibrate

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ATTACH_S = 1.5  # until a guest has found its recorder, and a reader its file


class Recorder:
    def __init__(self, duet, pid, path):
        self.process = subprocess.Popen([duet, "record", "--collect", "opencl", "-p", str(pid), "-o", path],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        """Processor time of the recorder in seconds, its end included."""
        os.kill(self.process.pid, signal.SIGINT)  # it may have ended with the program, and is not reaped yet
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime


def run(options, command, environment, recorders, folder):
    """The program's figures, and the processor time of each recorder."""
    duet = os.path.join(options.build, "duet")
    count = round(options.rate * (options.seconds + ATTACH_S * max(map(int, options.readers.split(",")))))
    program = subprocess.Popen([command[0], str(count), *command[2:]], env=environment, stdout=subprocess.PIPE)
    started = []
    for i in range(recorders):
        started.append(Recorder(duet, program.pid, os.path.join(folder, f"{i}.duet")))
        time.sleep(ATTACH_S)
    output = program.communicate()[0].decode()
    times = [recorder.end() for recorder in reversed(started)][::-1]
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}, times, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rate", type=int, default=10000)
    parser.add_argument("--readers", default="0,1,2,3")
    parser.add_argument("--output")
    options = parser.parse_args()
    environment = {**os.environ, "OCL_ICD_VENDORS": os.path.join(options.build, "sim"),
                   "OPENCL_LAYERS": os.path.join(options.build, "libduet-opencl.so")}
    paced = os.path.join(options.build, "tests", "programs", "paced")
    arguments, rate = calibrate(paced, environment, 1e6 / options.rate, options.seconds)
    ways = [0] + [1 + int(readers) for readers in options.readers.split(",")]
    ratios, shares, per_launch = ({way: [] for way in ways} for _ in range(3))
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        for turn in range(options.rounds):
            order = list(ways)
            random.Random(turn).shuffle(order)
            results = {way: run(options, [paced, *arguments], environment, way, folder) for way in order}
            plain, _, plain_count = results[0]
            for way in ways[1:]:
                figures, times, count = results[way]
                ratios[way].append(figures["cpu"] / count / (plain["cpu"] / plain_count))
                shares[way].append([seconds / (figures["elapsed"] / 1e9) for seconds in times])
                per_launch[way].append([seconds / count * 1e9 for seconds in times])
    rows = []
    for way in ways[1:]:
        rows.append({"recorders": way, "rounds": options.rounds, "launches_per_second": round(rate),
                     "program": round(statistics.median(ratios[way]), 4),
                     "share_of_a_core": [round(statistics.median(column), 5) for column in zip(*shares[way])],
                     "ns_per_launch": [round(statistics.median(column)) for column in zip(*per_launch[way])]})
        print(json.dumps(rows[-1]), flush=True)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
