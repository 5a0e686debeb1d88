#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What do programs inside the kernel cost (duet record --collect cpu:bpf), next to nothing, to perf events alone and to
perf sched record?

    bench/kernel.py [--build DIR] [--rounds N] [--seconds S] [--programs LIST] [--only slowdown,switch,load] [--json FILE]

    slowdown   N rounds (15) of each program: alone, below duet without programs (cpu), with them (bpf), below perf sched
               record, in turns that begin with another one each round. The program times its own work, of S seconds (2).
               Of each: the median of the ratios to the same round's run alone, of time and of the program's processor time
               (which a busy machine turns less, and which has in it what the kernel does at its switches); the recorder's
               processor time by the run's wall time; and what was lost: switches that perf events lost, or of which it is
               not told who took or woke.
    switch     what each of the programs inside the kernel takes for one event, as the kernel itself counts it
               (kernel.bpf_stats_enabled), in runs of their own.
    load       processor time and time from the begin of loading to its end.

Programs: turns (bench/busy: two threads on one processor let each other go on, nothing but switches), both (that on each
processor, so that none is left to the recorder), threads (bench/busy: 8 threads that compute), short (bench/calls image 320x200: kernels of 40 us), ordinary (bench/calls image 1280x720).
perf records the whole machine there, as it must to see who wakes, and takes no stacks. Needs root. Written as JSON to
bench/results/. --rounds 3 is a look, not a result.
"""
import argparse
import csv
import json
import os
import re
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
STATS = "/proc/sys/kernel/bpf_stats_enabled"


class Run:
    """One run: seconds of the program's work and of all, processor seconds of the recorder and of the program, what was lost."""

    def __init__(self, work, wall, recorder, program):
        self.work, self.wall, self.recorder, self.program = work, wall, recorder, program
        self.lost = self.switches = None
        self.is_loaded = False


def process_clock(pid):
    """The id of the processor clock of a process: all its threads, those that ended too, none of its children."""
    return (~pid << 3) | 2


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.duet = os.path.join(options.build, "duet")
        self.trace, self.perf = os.path.join(folder, "kernel.duet"), os.path.join(folder, "perf.data")
        record = [self.duet, "record", "-o", self.trace, "--collect"]
        self.configurations = {"alone": [], "cpu": [*record, "opencl,cpu:nobpf", "--"], "bpf": [*record, "opencl,cpu:bpf", "--"]}
        peer = ["perf", "sched", "record", "-o", self.perf, "--"]
        if shutil.which("perf") and subprocess.run([*peer, "true"], capture_output=True).returncode == 0:
            self.configurations["perf sched"] = peer
        else:
            print("no perf that may record tracepoints: its rows are left out")
        self.results = {"schema": "duet.bench.kernel/1", "rounds": options.rounds, "seconds": options.seconds,
                        "cpus": os.cpu_count(), "kernel": os.uname().release}

    def commands(self):
        """{name: (amount -> command, amount that takes about a second)}"""
        calls, busy = (os.path.join(self.options.build, "bench", name) for name in ("calls", "busy"))
        return {"turns": (lambda n: [busy, "turns", str(n)], 180000),
                "both": (lambda n: ["sh", "-c", "".join(f"taskset -c {cpu} {busy} turns {n} & " for cpu in
                                                         sorted(os.sched_getaffinity(0))) + "wait"], 180000),
                "threads": (lambda n: [busy, "8", str(n)], 225000),
                "short": (lambda n: [calls, "image", "3", str(n), "320x200"], 3000),
                "ordinary": (lambda n: [calls, "image", "3", str(n), "1280x720"], 250)}

    def run(self, configuration, command):
        """Errors: RuntimeError with what was said, where it fails or tells no time."""
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
            work, words = self.work_of(command, out.read()), said.read()
        if status or not work:
            raise RuntimeError(f"{configuration}: {command[0]}: status {status}: {words[-500:]}")
        run = Run(work, wall, own, all_of_it - own) if configuration != "alone" else Run(work, wall, 0, all_of_it)
        if configuration in ("cpu", "bpf"):
            run.lost, run.switches, run.is_loaded = self.look()
        elif configuration == "perf sched":
            run.lost = sum(int(count) for count in re.findall(r"LOST (\d+) events", words))
        return run

    @staticmethod
    def work_of(command, out):
        """Seconds; bench/calls prints nanoseconds per iteration, one line per sample. 0: it printed nothing."""
        lines = [line.split() for line in out.splitlines()]
        if command[0] == "sh":
            return max((float(ns) for _, ns in lines), default=0) / 1e9
        each = int(command[3]) if command[1] == "image" else 1
        return sum(float(ns) for _, ns in lines) * each / 1e9

    def look(self):
        """Switches that were lost, or are without words; switches in the trace; whether programs were loaded."""
        info = json.loads(subprocess.check_output([self.duet, "info", "--json", self.trace]))
        text = subprocess.run([self.duet, "info", self.trace], capture_output=True, text=True).stdout
        losses = subprocess.run([self.duet, "export", "-f", "csv", "--kind", "loss", "-o", "/dev/stdout", self.trace],
                              capture_output=True, text=True).stdout
        lost = sum(int(row["count"]) for row in csv.DictReader(losses.splitlines()) if row["lost"] == "switch")
        wordless = re.search(r"of (\d+) switches is unknown", text)
        rows = sum(kind["rows"] for kind in info["kinds"] if kind["kind"] == "switch")
        return lost + int(wordless.group(1) if wordless else 0), rows / 2, "preemptors and wakers are known from" in text

    # -- tables --

    def calibrate(self, name):
        make, guess = self.commands()[name]
        self.run("alone", make(max(1, guess // 10)))
        took = self.run("alone", make(guess)).work
        return make(max(1, round(guess * self.options.seconds / took)))

    def bench_slowdown(self, name):
        command = self.calibrate(name)
        runs = {configuration: [] for configuration in self.configurations}
        order = list(self.configurations)
        for turn in range(self.options.rounds):
            for configuration in order[turn % len(order):] + order[:turn % len(order)]:
                runs[configuration].append(self.run(configuration, command))
            progress(f"{name}: round {turn + 1} of {self.options.rounds}")
        alone = runs.pop("alone")
        table = {"alone_work_s": statistics.median(run.work for run in alone)}
        for configuration, made in runs.items():
            table[configuration] = {
                "slowdown": statistics.median(b.work / a.work for a, b in zip(alone, made)),
                "processor": statistics.median(b.program / a.program for a, b in zip(alone, made)),
                "processor_ratios": [round(b.program / a.program, 5) for a, b in zip(alone, made)],
                "ratios": [round(b.work / a.work, 5) for a, b in zip(alone, made)],
                "recorder_share": statistics.median(run.recorder / run.wall for run in made),
                "switches_per_s": statistics.median(run.switches / run.work for run in made) if made[0].switches else None,
                "lost": [run.lost for run in made], "loaded": sum(run.is_loaded for run in made)}
        self.results.setdefault("slowdown", {})[name] = table

    def bench_switch(self, name):
        """Of the last list of programs before the end."""
        command = self.calibrate(name)
        with open(STATS, encoding="ascii") as file:
            before = file.read()
        try:
            with open(STATS, "w", encoding="ascii") as file:
                file.write("1")
            for turn in range(3):
                for program, (time_ns, count) in self.count_events(command).items():
                    table = self.results.setdefault("switch", {}).setdefault(name, {})
                    table.setdefault(program, []).append([time_ns, count])
        finally:
            with open(STATS, "w", encoding="ascii") as file:
                file.write(before)

    def count_events(self, command):
        child = subprocess.Popen([*self.configurations["bpf"], *command], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        seen = {}
        while child.poll() is None:
            listed = subprocess.run(["bpftool", "prog", "list", "--json"], capture_output=True, text=True).stdout
            for program in json.loads(listed or "[]"):
                if program.get("name", "").startswith("on_") and program.get("run_cnt"):
                    seen[program["name"]] = (program["run_time_ns"], program["run_cnt"])
            time.sleep(0.1)
        return seen

    def bench_load(self):
        """A program that sleeps: what the recorder takes with and without is what loading takes."""
        times = {"cpu": [], "bpf": []}
        blind = []
        for turn in range(self.options.rounds):
            for configuration in ("cpu", "bpf") if turn % 2 else ("bpf", "cpu"):
                begin = subprocess.Popen([*self.configurations[configuration], "sleep", "1"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
                os.waitid(os.P_PID, begin.pid, os.WEXITED | os.WNOWAIT)
                times[configuration].append(time.clock_gettime(process_clock(begin.pid)))
                begin.wait()
                if configuration == "bpf":
                    text = subprocess.run([self.duet, "info", self.trace], capture_output=True, text=True).stdout
                    blind.append(float(re.search(r"wakers are known from ([\d.]+) ms", text).group(1)))
        self.results["load"] = {"processor_ms": 1000 * (statistics.median(times["bpf"]) - statistics.median(times["cpu"])),
                                "blind_ms": statistics.median(blind)}

    def show(self):
        if "slowdown" in self.results:
            title(f"slow-down of the program's work and the recorder's share of a processor, medians of {self.options.rounds} rounds")
            rows = []
            for name, table in self.results["slowdown"].items():
                for peer, row in table.items():
                    if peer == "alone_work_s":
                        continue
                    rate = row["switches_per_s"]
                    if peer == "bpf" and row["loaded"] < self.options.rounds:
                        print(f"{name}: in {row['loaded']} of {self.options.rounds} runs programs were loaded before the end")
                    rows.append([f"{name} {peer}", f"{rate:.0f}" if rate else "", f"{row['slowdown']:.3f}",
                                 f"{row['processor']:.3f}", f"{100 * row['recorder_share']:.1f} %", f"{statistics.median(row['lost']):.0f}",
                                 f"{max(row['lost'])}"])
            print_table(["", "switches/s", "slow-down", "processor time", "recorder", "lost", "at most"], rows)
        if "switch" in self.results:
            title("nanoseconds of the programs for an event, as the kernel counts")
            rows = [[f"{name} {program}", f"{statistics.median(ns / count for ns, count in runs):.0f}",
                     f"{statistics.median(count for _, count in runs):.0f}"]
                    for name, table in self.results["switch"].items() for program, runs in table.items()]
            print_table(["", "ns", "events"], rows)
        if "load" in self.results:
            load = self.results["load"]
            print(f"\nloading takes {load['processor_ms']:.0f} ms of processor time; {load['blind_ms']:.0f} ms after the "
                  "program's begin all is seen")


def print_table(head, rows):
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0, help="of work in a run")
    parser.add_argument("--programs", default="turns,both,threads,short,ordinary")
    parser.add_argument("--only", default="slowdown,switch,load")
    parser.add_argument("--json", help="instead of bench/results/")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    for path in ("duet", "bench/busy", "bench/calls"):
        if not os.path.exists(os.path.join(options.build, path)):
            sys.exit(f"bench: {os.path.join(options.build, path)} is not there: build first")
    if os.getuid():
        sys.exit("bench: programs are loaded into the kernel: only root may")
    return options


def main():
    options = parse_arguments()
    wanted, failed = options.only.split(","), 0
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        bench = Bench(options, folder)
        for name in options.programs.split(","):
            try:
                if "slowdown" in wanted:
                    bench.bench_slowdown(name)
                if "switch" in wanted and shutil.which("bpftool"):
                    bench.bench_switch(name)
            except (RuntimeError, OSError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failed += 1
        if "load" in wanted:
            bench.bench_load()
        bench.show()
    path = options.json or os.path.join(HERE, "results", time.strftime("%Y%m%d-%H%M%S-kernel.json"))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bench.results, file, indent=1)
    print(f"\nwritten to {os.path.relpath(path)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
