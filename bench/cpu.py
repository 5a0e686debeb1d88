#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What does it cost to record what threads do (duet record --collect opencl,cpu), next to nothing and next to perf?

    bench/cpu.py [--build DIR] [--pairs N] [--seconds S] [--only share,slowdown,report] [--programs LIST] [--json FILE]

    slowdown   N rounds (60) of each program: alone, below duet, below perf record --call-graph dwarf -F 199, in turns
               that begin with another one each round. The program times its own work, of S seconds (1); what is before
               and after that is start-up. Of the ratio to the same round's run alone: mean and median, and what they
               are below with 95 % confidence (bootstrap).
    share      processor time of the recorder by that of the program, from the same runs and from others that do
               ten times the work: the slope is what a second more costs, the rest is paid once.
    report     10^7 samples reported: time and memory, with and without moments at which threads were off.

Programs: python (examples/heat.py, PyOpenCL), opencl (bench/calls image 1280x720), threads (bench/busy: 8 threads), and two
that show what a switch costs: short (bench/calls image 320x200, kernels of 40 us) and turns (bench/busy: two threads on one
processor let each other go on, that is nothing but switches).
Written as JSON to bench/results/. --pairs 5 is a look, not a result.
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from say import progress, title

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
HERTZ = 199
LONGER = 10

# Times what comes after the first frame, which builds the kernels.
HEAT = """
import io, sys, time
sys.path.insert(0, sys.argv[1])
import heat
out, sys.stdout = sys.stdout, io.StringIO()
plate = heat.Plate(1024)
heat.load(plate)
heat.warm_up(plate)
def frame():
    heat.simulate(plate, 20)
    heat.change(plate)
    heat.render(plate)
frame()
begin = time.monotonic_ns()
for _ in range(int(sys.argv[2])):
    frame()
print("work", time.monotonic_ns() - begin, file=out)
"""


class Run:
    """One run: seconds of the program's work, of the whole, processor seconds of the recorder and of the program."""

    def __init__(self, work, wall, recorder, program):
        self.work, self.wall, self.recorder, self.program = work, wall, recorder, program


def process_clock(pid):
    """The id of the processor clock of a process: all its threads, those that ended too, none of its children."""
    return (~pid << 3) | 2


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.duet = os.path.join(options.build, "duet")
        self.trace = os.path.join(folder, "cpu.duet")
        self.configurations = {"alone": [], "duet": [self.duet, "record", "--collect", "opencl,cpu", "-o", self.trace, "--"]}
        perf = os.path.join(folder, "perf.data")
        peer = ["perf", "record", "--call-graph", "dwarf", "-F", str(HERTZ), "-o", perf, "--"]
        if shutil.which("perf") and subprocess.run([*peer, "true"], capture_output=True).returncode == 0:
            self.configurations["perf"] = peer
        else:
            print("no perf that may record: its column is left out")
        self.results = {"schema": "duet.bench.cpu/1", "pairs": options.pairs, "seconds": options.seconds, "hertz": HERTZ,
                        "cpus": os.cpu_count(), "kernel": os.uname().release}

    def commands(self):
        """{name: (amount -> command, amount that takes about a second)}"""
        calls, busy = (os.path.join(self.options.build, "bench", name) for name in ("calls", "busy"))
        return {"python": (lambda n: ["/usr/bin/python3", "-c", HEAT, os.path.join(ROOT, "examples"), str(n)], 40),
                "opencl": (lambda n: [calls, "image", "3", str(n), "1280x720"], 250),
                "threads": (lambda n: [busy, "8", str(n)], 225000),
                "short": (lambda n: [calls, "image", "3", str(n), "320x200"], 3000),
                "turns": (lambda n: [busy, "turns", str(n)], 180000)}

    def run(self, configuration, command):
        """Errors: RuntimeError with what was said, where any of it fails or tells no time."""
        begin = time.monotonic()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
            child = subprocess.Popen([*self.configurations[configuration], *command], stdout=out, stderr=said,
                                     stdin=subprocess.DEVNULL, env={**os.environ, "POCL_DEVICES": "pthread"})
            # a process that nobody has waited for yet still has its clock
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            wall, own = time.monotonic() - begin, time.clock_gettime(process_clock(child.pid))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            status = child.wait()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            all_of_it = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            out.seek(0)
            said.seek(0)
            work = self.work_of(command, out.read())
            if status or not work:
                raise RuntimeError(f"{configuration}: {command[0]}: status {status}: {said.read()[-500:]}")
        return Run(work, wall, own, all_of_it - own) if configuration != "alone" else Run(work, wall, 0, own)

    @staticmethod
    def work_of(command, out):
        """Seconds; bench/calls tells nanoseconds an iteration, a line for each sample."""
        lines = [line.split() for line in out.splitlines()]
        each = int(command[3]) if command[1] == "image" else 1
        return sum(float(ns) for _, ns in lines) * each / 1e9

    def calibrate(self, name):
        make, guess = self.commands()[name]
        self.run("alone", make(max(1, guess // 10)))
        took = self.run("alone", make(guess)).work
        return make, max(1, round(guess * self.options.seconds / took))

    # -- tables --

    def bench_slowdown(self, name):
        make, amount = self.calibrate(name)
        runs = {configuration: [] for configuration in self.configurations}
        order = list(self.configurations)
        for turn in range(self.options.pairs):
            for configuration in order[turn % len(order):] + order[:turn % len(order)]:
                runs[configuration].append(self.run(configuration, make(amount)))
            progress(f"{name}: round {turn + 1} of {self.options.pairs}")
        row = {"switches_per_s": self.count_switches() / runs["duet"][-1].work, "alone_work_s": median_of(runs["alone"], "work"),
               "alone_start_s": statistics.median(run.wall - run.work for run in runs["alone"])}
        for configuration in order[1:]:
            row[configuration] = self.compare(runs["alone"], runs[configuration])
        self.results.setdefault("slowdown", {})[name] = row
        return make, amount, runs

    def count_switches(self):
        """Of the last trace: a row each for going and for coming back."""
        info = json.loads(subprocess.check_output([self.duet, "info", "--json", self.trace]))
        return sum(kind["rows"] for kind in info["kinds"] if kind["kind"] == "switch") / 2

    @staticmethod
    def compare(alone, other):
        ratios = [b.work / a.work for a, b in zip(alone, other)]
        mean, mean_below = bootstrap(ratios, statistics.fmean)
        median, median_below = bootstrap(ratios, statistics.median)
        starts = [(b.wall - b.work) - (a.wall - a.work) for a, b in zip(alone, other)]
        return {"mean": mean, "mean_below": mean_below, "median": median, "median_below": median_below,
                "start_s": statistics.median(starts), "ratios": [round(ratio, 5) for ratio in ratios]}

    def bench_share(self, name, make, amount, runs):
        """Of the recorder's time: what each second of the program's adds, and what is paid once."""
        table = {}
        for configuration in list(self.configurations)[1:]:
            longer = [self.run(configuration, make(LONGER * amount)) for _ in range(self.options.longer)]
            short = runs[configuration]
            program, recorder = median_of(short, "program"), median_of(short, "recorder")
            share = ((median_of(longer, "recorder") - recorder) / (median_of(longer, "program") - program))
            table[configuration] = {"share": share, "once_s": recorder - share * program,
                                    "share_of_long": median_of(longer, "recorder") / median_of(longer, "program"),
                                    "long_program_s": median_of(longer, "program")}
            progress(f"{name}: ten times the work below {configuration}")
        self.results.setdefault("share", {})[name] = table

    def bench_report(self):
        title(f"report of {self.options.samples} samples, {self.options.reports} times")
        rows = []
        for what in ("samples", "samples and switches"):
            subprocess.run([os.path.join(self.options.build, "bench", "bench_samples"), str(self.options.samples), self.trace,
                            *(["samples"] if what == "samples" else [])], check=True)
            runs = [measure_report([self.duet, "report", self.trace]) for _ in range(self.options.reports)]
            wall, own, peak = (statistics.median(run[i] for run in runs) for i in range(3))
            rows.append([what, f"{wall:.2f}", f"{own:.2f}", f"{peak / 2 ** 20:.0f}", f"{os.path.getsize(self.trace) / 1e6:.0f}"])
            self.results.setdefault("report", {})[what] = {"samples": self.options.samples, "wall_s": wall, "processor_s": own,
                                                           "peak_bytes": peak}
        print_table(["", "s", "processor s", "peak MiB", "file MB"], rows)
        os.unlink(self.trace)

    def show(self):
        peers = list(self.configurations)[1:]
        if "slowdown" in self.results:
            title(f"slow-down of the program's work, {self.options.pairs} pairs; < : 95 % upper bound")
            rows = [[f"{name} {peer}", f"{row['alone_work_s']:.2f}", f"{row['switches_per_s']:.0f}",
                     f"{row[peer]['mean']:.4f}", f"< {row[peer]['mean_below']:.4f}",
                     f"{row[peer]['median']:.4f}", f"< {row[peer]['median_below']:.4f}", f"{1000 * row[peer]['start_s']:+.0f}"]
                    for name, row in self.results["slowdown"].items() for peer in peers]
            print_table(["", "alone s", "switches/s", "mean", "", "median", "", "start ms"], rows)
        if "share" in self.results:
            title("processor time of the recorder, of that of the program")
            rows = [[f"{name} {peer}", f"{100 * row[peer]['share']:.2f} %", f"{1000 * row[peer]['once_s']:.0f}",
                     f"{100 * row[peer]['share_of_long']:.2f} %", f"{row[peer]['long_program_s']:.1f}"]
                    for name, row in self.results["share"].items() for peer in peers]
            print_table(["", "each s more", "once ms", "all of a run", "… of s"], rows)


def median_of(runs, what):
    return statistics.median(getattr(run, what) for run in runs)


def bootstrap(values, statistic, draws=4000):
    """The statistic, and what it is below with 95 % confidence: percentile of samples drawn with replacement."""
    generator = random.Random(1)
    drawn = sorted(statistic(generator.choices(values, k=len(values))) for _ in range(draws))
    return statistic(values), drawn[int(0.95 * draws)]


def measure_report(command):
    """Wall seconds, processor seconds, peak bytes."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise RuntimeError(f"{command}: status {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def print_table(head, rows):
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1.0, help="of work in a run")
    parser.add_argument("--only", default="slowdown,share,report", help="share needs slowdown's runs and makes them")
    parser.add_argument("--programs", default="python,opencl,threads,short,turns")
    parser.add_argument("--longer", type=int, default=3, help="runs of ten times the work")
    parser.add_argument("--samples", type=int, default=10 ** 7)
    parser.add_argument("--reports", type=int, default=5)
    parser.add_argument("--json", help="instead of bench/results/")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    for path in ("duet", "bench/busy", "bench/bench_samples"):
        if not os.path.exists(os.path.join(options.build, path)):
            sys.exit(f"bench: {os.path.join(options.build, path)} is not there: build first")
    return options


def main():
    options = parse_arguments()
    wanted, failed = options.only.split(","), 0
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        bench = Bench(options, folder)
        for name in options.programs.split(",") if {"slowdown", "share"} & set(wanted) else []:
            try:
                made = bench.bench_slowdown(name)
                if "share" in wanted:
                    bench.bench_share(name, *made)
            except (RuntimeError, OSError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failed += 1
        bench.show()
        if "report" in wanted:
            bench.bench_report()
    path = options.json or os.path.join(HERE, "results", time.strftime("%Y%m%d-%H%M%S-cpu.json"))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bench.results, file, indent=1)
    print(f"\nwritten to {os.path.relpath(path)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
