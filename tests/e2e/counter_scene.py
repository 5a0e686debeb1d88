# SPDX-License-Identifier: MIT
"""Describes an invented run with many counters, and computes the expected results by brute force.

The run has two processes, a CPU and a GPU, processors, disks and a sensor. Readings take longer than requested, by
varying amounts; in one interval nothing is read.
"""
import math
import random

MS = 1_000_000
SECOND = 1_000_000_000
GIB = 1 << 30


def factor_of(type_, unit):
    """From what is in a file (of an amount: by seconds) to what people read."""
    known = {("level", "mC"): 1e-3, ("level", "bytes"): 2 ** -20, ("level", "ns"): 1e-6, ("level", "Hz"): 1e-6, ("level", "mW"): 1e-3,
             ("level", "uJ"): 1e-6, ("level", "mtasks"): 1e-3, ("amount", "ns"): 1e-7, ("amount", "bytes"): 1e-6, ("amount", "uJ"): 1e-6}
    return 100 if type_ == "ratio" else known.get((type_, unit), 1)


class Series:
    def __init__(self, number, metric, type_, unit, **options):
        self.id, self.metric, self.type, self.unit, self.options = number, metric, type_, unit, options
        self.readings = []  # (begin, end, value, of)

    def key(self):
        """What tells it from others: metric, process, device, processor, instance."""
        return (self.metric, self.options.get("process", 0), self.options.get("device", 0),
                self.options.get("cpu"), self.options.get("instance", ""))

    def factor(self):
        return factor_of(self.type, self.unit)

    def by(self, reading):
        begin, end, _, of = reading
        return {"level": 1, "amount": (end - begin) / 1e9, "ratio": of}[self.type]

    def shown(self, reading):
        """A reading as people read it; None: it says nothing."""
        return reading[2] / self.by(reading) * self.factor() if self.by(reading) else None

    def mean(self, *spans):
        """In spans [low, high): the values' sum by that of what they are by, each reading as much as is in there."""
        value = by = 0
        for low, high in spans:
            for begin, end, amount, of in self.readings:
                inside = min(end, high) - max(begin, low)
                if inside <= 0:
                    continue
                part = inside / (end - begin)
                value += amount * (inside if self.type == "level" else part)
                by += {"level": inside, "amount": inside / 1e9, "ratio": of * part}[self.type]
        return value / by * self.factor() if by else None

    def extremes(self, low, high):
        shown = [self.shown(row) for row in self.readings if (row[0] < high and row[1] > low) or low <= row[0] == row[1] < high]
        shown = [value for value in shown if value is not None]
        return (min(shown), max(shown)) if shown else None

    def lines(self):
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        yield f"series {self.id} {self.metric} {self.type} {self.unit} {options}"


class Scene:
    """cpus, seconds, period_ns: how much there is; gap: (from, to) in which nothing is read."""

    def __init__(self, cpus=4, seconds=2, period_ns=10 * MS, seed=1, gap=(0.6, 0.8)):
        self.random = random.Random(seed)
        self.cpus, self.wall_ns, self.period_ns = cpus, seconds * SECOND, period_ns
        self.gap = (gap[0] * SECOND, gap[1] * SECOND)
        self.series, self.ranges, self.commands = [], [], []
        self.make_series()
        self.read_all()

    def add(self, metric, type_, unit, **options):
        self.series.append(Series(len(self.series) + 1, metric, type_, unit, interval=self.period_ns, **options))
        return self.series[-1]

    def make_series(self):
        self.add("cpu.busy", "ratio", "ns", source="/proc/stat", limit=1)
        for number in range(self.cpus):
            self.add("cpu.busy", "ratio", "ns", source="/proc/stat", limit=1, cpu=number)
        self.add("memory.used", "level", "bytes", source="/proc/meminfo", limit=16 * GIB)
        for disk in ("sda", "nvme0n1"):
            self.add("disk.read", "amount", "bytes", source="/proc/diskstats", instance=disk)
            self.add("disk.inflight.read", "level", "events", source="/sys/block/" + disk + "/inflight", instance=disk)
        self.add("temperature", "level", "mC", source="/sys/class/hwmon", instance="package-0")
        self.add("energy", "amount", "uJ", source="/sys/class/powercap", instance="package-0")
        for process in (1, 2):
            self.add("process.cpu", "amount", "ns", source="/proc/[pid]/task", process=process, limit=self.cpus * SECOND)
            self.add("process.memory.resident", "level", "bytes", source="/proc/[pid]/statm", process=process, limit=16 * GIB)
        self.add("gpu.busy", "ratio", "ns", source="fdinfo", device=2, limit=1)
        self.add("gpu.memory.used", "level", "bytes", source="sysfs", device=2, limit=8 * GIB)

    def value(self, series, begin, length):
        """(value, of) of a reading."""
        moment, rng, number = begin / SECOND, self.random, series.id
        share = min(1, max(0, 0.5 + 0.45 * math.sin(2 * moment + 0.4 * number) + rng.uniform(-0.1, 0.1)))
        if series.type == "ratio":
            whole = length * (1 if series.key()[1:4] != (0, 0, None) else self.cpus)
            return int(whole * share), whole
        if series.unit == "bytes":
            return int(share * (GIB if series.type == "level" else 3_000_000)), 0
        if series.unit == "ns":
            return int(length * self.cpus * share), 0
        return {"events": int(share * 9), "mC": int(60000 * share - 5000), "uJ": int(length / 1e9 * 40e6 * share)}[series.unit], 0

    def read_all(self):
        begin, number = 0, 0
        for series in self.series:
            if series.type == "level":
                series.readings.append((0, 0, *self.value(series, 0, 1)))
        while begin + 2 * self.period_ns < self.wall_ns:
            end = begin + self.period_ns + self.random.randrange(self.period_ns // 4)
            if self.gap[0] <= begin < self.gap[1]:
                begin = end
                continue
            for series in self.series:
                series.readings.append((begin, end, *self.value(series, begin, end - begin)))
            number += 1
            self.commands.append((begin + 1000, begin + 50_000, begin + 100_000, begin + (end - begin) * 7 // 10))
            self.ranges.append((begin + 500, begin + (end - begin) * 8 // 10, "step"))
            begin = end

    def lines(self):
        yield f"window 0 {self.wall_ns} command=python3%20train.py"
        yield from ("clock 4 3000 type=realtime", "device 1 Cpu type=cpu", "device 2 Radeon%20VII")
        for process in (1, 2):
            yield f"process {process} {1000 + process} worker{process} command=./worker%20{process}"
            yield f"thread {process} {process} name=main"
        yield "queue 1 2 context=1"
        for series in self.series:
            yield from series.lines()
        for number, (enter, leave, started, ended) in enumerate(self.commands, 1):
            yield f"launch {number} 1 1 {enter} {leave} kernel name=gemm"
            yield f"execution 1 {number} 1 {enter + 10} {started - 10} {started} {ended}"
        for begin, end, name in self.ranges:
            yield f"range 1 {begin} {end} {name} domain=train"
        rows = sorted((row, series.id) for series in self.series for row in series.readings)
        for (begin, end, value, of), number in rows:
            yield f"counter {number} {begin} {end} {value} {of}"
