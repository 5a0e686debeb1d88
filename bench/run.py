#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does duet cost, next to nothing and next to LTTng-UST, on this machine in this minute?

    bench/run.py [--build DIR] [--quick] [--only NAME,…] [--rounds N] [--keep]

Every table is measured in interleaved rounds (plain, idle, traced, lttng, plain, …), because clock
frequency and neighbours change a machine by more than a tracer costs. A cell is the median of all
its samples, at least 15 without --quick. Printed as tables, written as CSV to bench/results/.

    plain    the program alone
    idle     OPENCL_LAYERS loads the guest, nobody records
    traced   duet record --stacks none
    stacks   duet record, which takes the stack of every command and wait (reads, image)
    lttng    bench/peer.c preloaded, a session records its two tracepoints a call

Tables, named after those of the paper on CLUST (OpenCL tracing with LTTng-UST):
    calls    table 2: clGetPlatformIDs in loops of 1 to 10^7
    reads    table 3: blocking reads of 4 B to 400 kB
    image    tables 4 and 5: 14 synchronous and 2 asynchronous calls an iteration, 1x1 to 1920x1080
    start    /bin/true
    stream   the recorder at a million calls a second
    bytes    bytes of file per call and per launched command
"""
import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from say import progress, title

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SESSION = "duet-bench"
LOOPS = [10 ** n for n in range(8)]
SIZES = [4, 40, 400, 4000, 40000, 400000]
PICTURES = ["1x1", "10x1", "10x10", "10x100", "100x100", "1000x100", "1280x720", "1920x1080"]


class Bench:
    def __init__(self, options):
        self.options = options
        self.duet = os.path.join(options.build, "duet")
        self.guest = os.path.join(options.build, "libduet-opencl.so")
        self.calls = os.path.join(options.build, "bench", "calls")
        self.peer = os.path.join(options.build, "bench", "peer.so")
        self.folder = tempfile.mkdtemp(prefix="bench.")
        self.sessiond = None
        self.rows = []
        self.overheads = {}
        self.recorded = self.lost = 0
        self.configurations = ["plain", "idle", "traced"]
        if os.path.exists(self.peer) and shutil.which("lttng") and self.open_sessiond():
            self.configurations.append("lttng")
        else:
            print("no LTTng or no peer.so: the side-by-side column is left out")

    def close(self):
        if self.sessiond:
            self.sessiond.terminate()
            self.sessiond.wait()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # -- running --

    def open_sessiond(self):
        """One of our own where none runs; it is ended at the end."""
        if subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True).returncode == 0:
            return True
        self.sessiond = subprocess.Popen(["lttng-sessiond", "--no-kernel"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(50):
            time.sleep(0.1)
            if subprocess.run(["lttng", "--no-sessiond", "list"],
                              capture_output=True).returncode == 0:
                return True
        return False

    def environment(self, configuration, device):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("OPENCL_LAYERS", "LD_PRELOAD") and not k.startswith("DUET_")}
        environment["POCL_DEVICES"] = device
        if configuration == "idle":
            environment["OPENCL_LAYERS"] = self.guest
        elif configuration == "lttng":
            environment["LD_PRELOAD"] = self.peer
        return environment

    def lttng(self, *arguments):
        subprocess.run(["lttng", "--quiet", *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def run(self, configuration, arguments, device="basic", output="f.duet"):
        """stdout of the program in this configuration."""
        command = [self.calls, *map(str, arguments)]
        folder = os.path.join(self.folder, "lttng")
        if configuration in ("traced", "stacks"):
            command = [self.duet, "record", "--collect", "opencl", "--stacks", "none" if configuration == "traced" else "all",
                       "-o", os.path.join(self.folder, output), "--", *command]
        elif configuration == "lttng":
            self.lttng("create", SESSION, "--output", folder)
            self.lttng("enable-event", "--userspace", "duet_peer:*")
            self.lttng("start")
        try:
            result = subprocess.run(command, env=self.environment(configuration, device),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        finally:
            if configuration == "lttng":
                self.lttng("stop")
                self.lttng("destroy", SESSION)
                shutil.rmtree(folder, ignore_errors=True)
        if result.returncode != 0:
            raise RuntimeError(f"{configuration}: {' '.join(command)}: status {result.returncode}: "
                               f"{result.stderr}")
        return result.stdout

    def collect(self, jobs):
        """jobs: [(key, arguments, configurations)]. Interleaved rounds; {configuration: {key: [ns]}}."""
        samples = {name: {} for name in [*self.configurations, "stacks"]}
        self.recorded = self.lost = 0
        for turn in range(self.options.rounds):
            for arguments, configurations in jobs:
                order = configurations[turn % len(configurations):] \
                    + configurations[:turn % len(configurations)]
                for configuration in order:
                    for line in self.run(configuration, arguments).splitlines():
                        key, value = line.split()
                        samples[configuration].setdefault(key, []).append(float(value))
                    if configuration == "traced":
                        self.count_lost()
            progress(f"round {turn + 1} of {self.options.rounds}")
        return samples

    def count_lost(self):
        """Calls lost in a full ring are cheap calls: a table of times must say how many there were."""
        document = self.report(os.path.join(self.folder, "f.duet"))
        self.recorded += sum(row["count"] for row in document["api"])
        self.lost += sum(row["count"] for row in document.get("losses", []))

    # -- tables --

    def table(self, name, unit, keys, samples):
        median = {c: {k: statistics.median(v) for k, v in rows.items()}
                  for c, rows in samples.items()}
        spread = {c: {k: quartiles(v) for k, v in rows.items()} for c, rows in samples.items()}
        stacks = median.get("stacks") or {}
        configurations = [*self.configurations, *(["stacks"] if stacks else [])]
        head = ["", *configurations, "idle+", "traced+", *(["stacks+"] if stacks else []), "lttng+",
                "duet/lttng", "n"]
        lines = []
        for key in map(str, keys):
            base = median["plain"].get(key)
            over = {c: median[c][key] - base if key in median[c] else None
                    for c in configurations[1:]}
            ratio = over["traced"] / over["lttng"] if over.get("lttng") and over["lttng"] > 0 else None
            lines.append([key, *(number(median[c].get(key)) for c in configurations),
                          number(over["idle"]), number(over["traced"]),
                          *([number(over["stacks"])] if stacks else []), number(over.get("lttng")),
                          number(ratio, 3), str(len(samples["plain"][key]))])
            self.overheads.setdefault(name, {})[key] = over
            for c in configurations:
                if key in median[c]:
                    self.rows.append([name, key, c, unit, median[c][key], *spread[c][key],
                                      len(samples[c][key])])
        if "lttng" not in self.configurations:
            head = [*head[:-3], head[-1]]
            lines = [[*line[:-3], line[-1]] for line in lines]
        print_table(head, lines)
        share = 100 * self.lost / max(1, self.recorded + self.lost)
        print(f"traced: {self.recorded} calls recorded, {self.lost} lost in full rings "
              f"({share:.3f} %)")
        self.rows.append([name, "lost", "traced", "%", share, share, share, 1])
        return median

    def bench_calls(self):
        title("table 2: clGetPlatformIDs(0, NULL, &n), ns per call, by loop size")
        per_run = 3 if not self.options.quick else 2
        without = [c for c in self.configurations if c != "lttng"]
        largest = LOOPS[-1] if not self.options.quick else 10 ** 6
        small = [n for n in LOOPS if n <= 10 ** 6]
        jobs = [(["platforms", per_run, *small[:-1]], self.configurations),
                (["platforms", per_run, small[-1]], self.configurations)]
        if largest > small[-1]:
            # a gigabyte a sample with LTTng: left out
            jobs.append((["platforms", per_run, largest], without))
        samples = self.collect(jobs)
        self.table("calls", "ns/call", [n for n in LOOPS if n <= largest], samples)

    def bench_reads(self):
        title("table 3: blocking clEnqueueReadBuffer, PoCL basic, ns per call, by bytes")
        print("(duet also takes the device's four times of every command, the lttng shim does not)")
        samples = self.collect([(["reads", 3, 1000, *SIZES], [*self.configurations, "stacks"])])
        self.table("reads", "ns/call", SIZES, samples)

    def bench_image(self):
        title("tables 4 and 5: 14 synchronous and 2 asynchronous calls an iteration, ns per iteration")
        print("(the lttng shim wraps only 2 of the 16 calls and is left out)")
        without = [c for c in self.configurations if c != "lttng"]
        kept, self.configurations = self.configurations, without
        try:
            samples = self.collect([(["image", 3, 100, *PICTURES], [*without, "stacks"])])
            self.table("image", "ns/iteration", PICTURES, samples)
        finally:
            self.configurations = kept
        self.predict()

    def predict(self):
        """Does 14 times a synchronous call and 2 times an asynchronous one make the iteration?"""
        calls, reads = self.overheads.get("calls"), self.overheads.get("reads")
        if not calls or not reads:
            return
        sync, launch = calls["100000"]["traced"], reads["4"]["traced"]
        predicted = 14 * sync + 2 * launch
        measured = [self.overheads["image"][size]["traced"] for size in PICTURES[:5]]
        print(f"predicted: 14 x {sync:.1f} + 2 x {launch:.1f} = {predicted:.0f} ns an iteration; "
              f"measured up to 100x100: median {statistics.median(measured):.0f} ns "
              f"({min(measured):.0f} to {max(measured):.0f}), "
              f"{100 * statistics.median(measured) / predicted:.0f} % of the prediction")
        self.rows.append(["predict", "14+2", "traced", "ns/iteration", predicted, min(measured),
                          max(measured), len(measured)])

    def bench_start(self):
        title("start: /bin/true, ms")
        samples = {"plain": [], "idle": [], "traced": [], "traced, threads": []}
        output = os.path.join(self.folder, "true.duet")
        commands = {"plain": ["/bin/true"], "idle": ["/bin/true"],
                    "traced": [self.duet, "record", "--collect", "opencl", "-o", output, "--", "/bin/true"],
                    "traced, threads": [self.duet, "record", "-o", output, "--", "/bin/true"]}
        for _ in range(8 if self.options.quick else 31):
            for name, command in commands.items():
                begin = time.monotonic()
                subprocess.run(command, env=self.environment(name.split(",")[0], "basic"), check=True)
                samples[name].append((time.monotonic() - begin) * 1000)
        median = {name: statistics.median(values) for name, values in samples.items()}
        print_table(["", "ms", "over plain", "n"],
                    [[name, number(value), number(value - median["plain"]), str(len(samples[name]))]
                     for name, value in median.items()])
        for name, values in samples.items():
            self.rows.append(["start", "true", name, "ms", median[name], *quartiles(values),
                              len(values)])

    def bench_stream(self):
        title("stream: the recorder at a million calls a second")
        seconds = 3 if self.options.quick else 8
        lines = []
        for _ in range(1 if self.options.quick else 3):
            row = self.watch_recorder(1000000, seconds)
            lines.append([number(row[key], 2) for key in row])
            head = list(row)
            for key, value in row.items():
                self.rows.append(["stream", key, "traced", "", value, value, value, 1])
        print_table(["", *head], [["", *line] for line in lines])

    def watch_recorder(self, per_second, seconds):
        output = os.path.join(self.folder, "stream.duet")
        process = subprocess.Popen([self.duet, "record", "--collect", "opencl", "-o", output, "--", self.calls, "stream",
                                    str(per_second), str(seconds)],
                                   env=self.environment("traced", "basic"), stdout=subprocess.PIPE,
                                   text=True)
        anonymous, first, last = 0, None, None
        begin = time.monotonic()
        while process.poll() is None:
            seen = read_process(process.pid)
            now = time.monotonic() - begin
            if seen and seen["rss_anon"] is not None:
                anonymous = max(anonymous, seen["rss_anon"])
            if seen and now > 0.5 and first is None:
                first = (now, seen["cpu"])
            if seen and now < seconds:
                last = (now, seen["cpu"])
            time.sleep(0.02)
        made, ns = process.stdout.read().split()
        document = self.report(output)
        recorded = sum(row["count"] for row in document["api"] if row["name"] == "clGetPlatformIDs")
        cpu = (last[1] - first[1]) / (last[0] - first[0]) if first and last and last > first else 0
        return {"made/s": int(made) / (float(ns) * 1e-9), "cpu %": 100 * cpu,
                "private MiB": anonymous / 1024, "recorded %": 100 * recorded / int(made),
                "B/call": os.path.getsize(output) / int(made)}

    def report(self, output):
        result = subprocess.run([self.duet, "report", output, "--json"], stdout=subprocess.PIPE,
                                check=False)  # 4: incomplete
        return json.loads(result.stdout)

    def bench_bytes(self):
        title("bytes: of file")
        sizes, calls = {}, {}
        for name, arguments in (("empty", ["platforms", 0, 1]),
                                ("call", ["platforms", 9, 100000]), ("nothing", ["kernels", 1]),
                                ("command", ["kernels", 100000]), ("mixed", ["image", 9, 1000, "1x1"])):
            path = os.path.join(self.folder, f"{name}.duet")
            self.run("traced", arguments, output=f"{name}.duet")
            sizes[name] = os.path.getsize(path)
            calls[name] = sum(row["count"] for row in self.report(path)["api"])
        rows = (("a run without events", sizes["empty"]),
                ("per call, all the same", (sizes["call"] - sizes["empty"]) / 1e6),
                ("per call, mixed (14 + 2, device times included)",
                 (sizes["mixed"] - sizes["nothing"]) / max(1, calls["mixed"])),
                ("per launched command", (sizes["command"] - sizes["nothing"]) / 99999))
        print_table(["", "bytes"], [[name, number(value, 2)] for name, value in rows])
        for name, value in rows:
            self.rows.append(["bytes", name, "traced", "B", value, value, value, 1])

    def write_results(self):
        folder = os.path.join(HERE, "results")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, time.strftime("%Y%m%d-%H%M%S.csv"))
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["table", "key", "configuration", "unit", "median", "q1", "q3", "n"])
            writer.writerows(self.rows)
        print(f"\nwritten to {os.path.relpath(path)}")


def read_process(pid):
    """CPU seconds and private memory (KiB) of a process, None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            anonymous = [int(line.split()[1]) for line in file if line.startswith("RssAnon")]
    except (OSError, IndexError):
        return None
    return {"cpu": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            "rss_anon": anonymous[0] if anonymous else None}


def quartiles(values):
    if len(values) < 2:
        return [values[0], values[0]]
    cut = statistics.quantiles(values, n=4)
    return [cut[0], cut[2]]


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def print_table(head, lines):
    widths = [max(len(row[i]) for row in [head, *lines]) for i in range(len(head))]
    for row in [head, *lines]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def main():
    parser = argparse.ArgumentParser(description="measure what duet costs")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--quick", action="store_true", help="fewer samples: a look, not a result")
    parser.add_argument("--only", default="calls,reads,image,start,stream,bytes")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep the trace files")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.rounds = options.rounds or (2 if options.quick else 6)
    for path in ("duet", "libduet-opencl.so", "bench/calls"):
        if not os.path.exists(os.path.join(options.build, path)):
            sys.exit(f"bench: {os.path.join(options.build, path)} is not there: build first")
    bench = Bench(options)
    failed = 0
    try:
        for name in options.only.split(","):
            try:
                getattr(bench, f"bench_{name}")()
            except (RuntimeError, subprocess.CalledProcessError, KeyError, ValueError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                failed += 1
        bench.write_results()
    finally:
        bench.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
