#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What PM sampling of an NVIDIA GPU costs the recorder, over the libcupti of sim/nvidia.

    bench/pm.py [--build BUILD] [--rounds N] [--seconds S]

Each rate runs once a round beside a recording without it. Shown is the processor time of the thread that decodes, which
the recording has itself, and of the whole recorder (wait4) beyond that of the recording without: decoding, passing on,
compressing and writing. What the real library takes to decode and to evaluate a sample comes on top of what the simulated
one does, and is known on a GPU alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from cost import ROOT

RATES = (1000, 10000, 50000)
LIMIT = 5  # percent of a processor that decoding may take at 10,000 a second


def record(build, collect, seconds, path):
    """Processor time of the recorder and what it started, in percent of one."""
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "sim", "nvidia"), "SIM_NVIDIA": "pm_load=0.5"}
    command = [os.path.join(build, "duet"), "record", "--collect", collect, "-o", path, "--", "sleep", str(seconds)]
    child = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"pm.py: {' '.join(command)}: status {status}")
    return (usage.ru_utime + usage.ru_stime) / seconds * 100


def read(build, path):
    """Of a recording: the thread's share in percent, samples, lost rows, bytes."""
    done = subprocess.run([os.path.join(build, "duet"), "report", "--json", path], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    share = sum(row["mean"] for row in document["metrics"]
                if row["name"] == "duet.sampler.cpu" and row["instance"].startswith("nvidia-pm"))
    samples = sum(row["readings"] for row in document["metrics"] if row["name"] == "gpu.pm.sm.active")
    lost = sum(row["count"] for row in document.get("losses", []))
    return share, samples, lost, os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if not os.path.exists(os.path.join(build, "sim", "nvidia", "libcupti.so.13")):
        print("pm.py: sim/nvidia was not built: nothing is measured")
        return
    found = {rate: [] for rate in RATES}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pm.duet")
        for _ in range(options.rounds):
            without = record(build, "system:1", options.seconds, path)
            for rate in RATES:
                whole = record(build, f"system:1,nvidia:pm={rate}", options.seconds, path)
                found[rate].append((whole - without, *read(build, path)))
    print("samples/s   the thread   the recorder   samples   lost rows   bytes of file a sample")
    for rate, rows in found.items():
        whole, share, samples, lost, size = (statistics.median(column) for column in zip(*rows))
        print(f"{rate:9} {share:10.2f} % {whole:12.2f} % {samples:9.0f} {lost:11.0f} {size / samples:24.1f}")
    share = statistics.median(row[1] for row in found[10000])
    print(f"decoding 10,000 a second takes {share:.2f} % of a processor, {'within' if share <= LIMIT else 'beyond'} {LIMIT} %")


main()
