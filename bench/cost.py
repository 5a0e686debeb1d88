# SPDX-License-Identifier: MIT
"""What a command costs, and traces of a known number of events for it."""
import argparse
import collections
import os
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
Cost = collections.namedtuple("Cost", "wall processor memory_mib")


def measure(command, output=os.devnull):
    """Of one run; the child is waited for alone, so that its memory is its own. output: file for its stdout"""
    begin = time.monotonic()
    with open(output, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"status {process.returncode}: {' '.join(command)}")
    return Cost(time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def median(costs, key):
    return statistics.median(getattr(cost, key) for cost in costs)


def generate(build, shape, events, trace):
    subprocess.run([os.path.join(build, "tests", "generate", "generate_trace"),
                    "--events", str(events), "--seed", "1", "--shape", shape, "--out", trace,
                    "--answers", trace + ".json"], check=True, stdout=subprocess.DEVNULL)


def trace_options(about, events, folder):
    """A parser of what all measurements of generated traces are asked. folder: what its help says."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--events", default=events)
    parser.add_argument("--shape", default="single,mixed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help=f"for the files: {folder}")
    return parser


def each_trace(options, measure_shape):
    """Calls measure_shape(options, folder, shape, events) for all that was asked for."""
    with tempfile.TemporaryDirectory(prefix="bench.", dir=options.folder) as folder:
        for shape in options.shape.split(","):
            for events in options.events.split(","):
                measure_shape(options, folder, shape, int(events))
