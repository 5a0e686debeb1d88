#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What EU stalls cost the recorder in memory and time, at a rate that a large GPU has.

    bench/eu_stalls.py [--build BUILD] [--rate ROWS] [--kernels N] [--seconds S] [--memory SIZE]

A real recorder with the GPU of bench/eu_stall_feed.c in front of it: a million rows a second of instructions of 10,000
kernels. Shown are the largest memory of the recorder (wait4), its processor time, and what it wrote and lost. What the
feed itself takes to make the rows is in the time.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from cost import ROOT

LIMIT_MIB = 256


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rate", type=int, default=1000000)
    parser.add_argument("--kernels", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--memory", default="256M")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    duet, feed = os.path.join(build, "duet"), os.path.join(build, "bench", "libeu_stall_feed.so")
    environment = {**os.environ, "LD_PRELOAD": feed, "EU_STALL_FEED_RATE": str(options.rate),
                   "EU_STALL_FEED_KERNELS": str(options.kernels)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stalls.duet")
        command = [duet, "record", "--collect", "intel:-driver", "--max-memory", options.memory, "-o", path, "--",
                   "sleep", str(options.seconds)]
        child = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        handed = re.search(r"(\d+) rows handed out, (\d+) dropped", said)
        if status or not handed:
            sys.exit(f"eu_stalls.py: {' '.join(command)}: status {status}\n{said}")
        report = json.loads(subprocess.run([duet, "report", "--json", "--by", "stall", path], capture_output=True, text=True,
                                           check=True).stdout)
        ledger, size = report["ledger"], os.path.getsize(path)
    rows, dropped = map(int, handed.groups())
    print(f"{rows / options.seconds:.0f} rows a second of {options.kernels} kernels for {options.seconds} s, {dropped} dropped by the feed")
    print(f"recorder: at most {usage.ru_maxrss / 1024:.0f} MiB, {(usage.ru_utime + usage.ru_stime) / options.seconds * 100:.0f} % of a processor")
    print(f"trace: {ledger['samples']} samples, {ledger['samples_lost']} lost, {size / options.seconds / 1e6:.2f} MB a second")
    if ledger["samples"] + ledger["samples_lost"] != rows:
        sys.exit(f"eu_stalls.py: {rows} rows were handed out")
    print("within" if usage.ru_maxrss < LIMIT_MIB * 1024 else "beyond", f"{LIMIT_MIB} MiB")


main()
