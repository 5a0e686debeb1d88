#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a range of libduet costs that is pushed and popped, beside NVTX and LTTng-UST on the same machine.

    bench/lib.py [--build BUILD] [--rounds N]

`duet` is what a program gets, `calls` the same without duet.h's inline functions, `looking` a handle that looks for a
recorder. Interleaved rounds of processes, each of which measures itself; printed is the median of their medians, in ns a push with
its pop, and its ratio to LTTng's. LTTng's two tracepoints carry the same texts.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

SESSION = "duet-bench-lib"


class Bench:
    def __init__(self, build, rounds):
        self.build, self.rounds = os.path.abspath(build), rounds
        self.folder = tempfile.mkdtemp(prefix="bench.")
        self.sessiond = None
        self.found = {}

    def close(self):
        if self.sessiond:
            self.sessiond.terminate()
            self.sessiond.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def lttng(self, *arguments):
        return subprocess.run(["lttng", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def has_lttng(self):
        """With a daemon of our own where none runs."""
        if not shutil.which("lttng") or not os.path.exists(os.path.join(self.build, "bench", "lib_ranges_lttng")):
            return False
        if self.lttng("--no-sessiond", "list"):
            return True
        self.sessiond = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(50):
            time.sleep(0.1)
            if self.lttng("--no-sessiond", "list"):
                return True
        return False

    def measure(self, what, recorded):
        program = os.path.join(self.build, "bench", "lib_ranges_lttng" if what == "lttng" else "lib_ranges")
        command = [program, what]
        if recorded and what == "lttng":
            self.lttng("create", SESSION, "--output", os.path.join(self.folder, "lttng"))
            self.lttng("enable-event", "--userspace", "duet_peer:*")
            self.lttng("start")
        elif recorded:
            command = [os.path.join(self.build, "duet"), "record", "--collect", "ranges", "-o",
                       os.path.join(self.folder, "bench.duet"), "--", *command]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("DUET_")}
        said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        if recorded and what == "lttng":
            self.lttng("stop")
            self.lttng("destroy", SESSION)
            shutil.rmtree(os.path.join(self.folder, "lttng"), ignore_errors=True)
        self.found.setdefault((what, recorded), []).append(float(said.split()[3]))

    def run(self):
        whats = ["duet", "calls", "looking", "nvtx", "counter"] + (["lttng"] if self.has_lttng() else [])
        for _ in range(self.rounds):
            for what in whats:
                for recorded in (False, True)[:1 if what == "looking" else 2]:
                    self.measure(what, recorded)
        peer = statistics.median(self.found[("lttng", True)]) if "lttng" in whats else None
        print(f"{'ns':12}{'nobody records':>18}{'recorded':>12}{'ratio to LTTng':>18}")
        for what in whats:
            idle, recorded = (statistics.median(self.found.get((what, way), [0])) for way in (False, True))
            ratio = f"{recorded / peer:18.2f}" if peer and recorded and what != "counter" else ""
            print(f"{what:12}{idle:18.1f}" + (f"{recorded:12.1f}{ratio}" if recorded else ""))


def main():
    parser = argparse.ArgumentParser(description="what a range of libduet costs")
    parser.add_argument("--build", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    bench = Bench(options.build, options.rounds)
    try:
        bench.run()
    finally:
        bench.close()


if __name__ == "__main__":
    main()
