#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters in the view, the exports and the report: all have the same values, which equal those of a brute-force
computation.
"""
import csv
import glob
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import sys

import chrome_trace
import duet_test
import perfetto_trace
import view_file
from counter_scene import factor_of, MS, Scene
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)


def near(found, wanted, what):
    """To nine digits."""
    if found is None or wanted is None or abs(found - wanted) > 1e-9 * max(1, abs(wanted)):
        t.true(found == wanted, f"{what}: {found}, not {wanted}")


def same_rows(found, wanted, what):
    t.equal(len(found), len(wanted), "number of " + what)
    for row, other in zip(found, wanted):
        if row != other:
            t.fail(f"{what}: {row}, not {other}")
            break


def key_of(page, track):
    """As Series.key has it."""
    head, above = track.head, page.tracks[track.head["parent"]]
    process = device = 0
    while above is not None:
        process = above.head["pid"] - 1000 if above.kind == "process" else process
        device = above.head["device"] + 1 if above.kind == "device" else device
        above = page.tracks[above.head["parent"]] if "parent" in above.head else None
    words = head["name"].split(" ")
    cpu = int(words[2]) if words[1:2] == ["cpu"] else None
    return (words[0], process, device, cpu, words[1] if cpu is None and len(words) > 1 else "")


def trail(page, track):
    above = page.tracks[track.head["parent"]] if "parent" in track.head else None
    return [*(trail(page, above) if above else []), track.name]


def view(trace, *options):
    result = run([DUET, "view", "-o", trace + ".html", *options, trace])
    t.equal(result.status, 0, f"view: {text(result.stderr)}")
    page = view_file.read(trace + ".html")
    for problem in view_file.problems(page):
        t.fail(problem[:400])
    return page


with t.case("the page has every reading, at its time, below its object"):
    scene = Scene()
    trace = t.described("scene.duet", *scene.lines())
    page = view(trace)
    found = {key_of(page, track): track for track in page.of_kind("counter")}
    t.equal(set(found), {series.key() for series in scene.series}, "series")
    for series in scene.series:
        track = found[series.key()]
        rows = [(item["begin"], item["end"], item["value"], item["of"]) for item in track.items()]
        same_rows(rows, series.readings, f"readings of {series.key()}")
        t.equal(track.head["type"], series.type, "type")
        near(track.head["factor"], series.factor(), f"factor of {series.key()}")

with t.case("charts end at the limit or the maximum"):
    tops = {track.name: track.head.get("max") for track in page.of_kind("counter")}
    t.equal({name: tops[name] for name in ("cpu.busy", "cpu.busy cpu 3", "memory.used", "process.cpu", "disk.read sda")},
            {"cpu.busy": 100, "cpu.busy cpu 3": 100, "memory.used": 16 << 10, "process.cpu": 400, "disk.read sda": None}, "tops")

with t.case("parts of one metric are a group, and so are the machine's metrics of one family"):
    trails = {tuple(trail(page, track)) for track in page.of_kind("metrics")}
    t.equal(trails, {("worker1", "metrics"), ("worker2", "metrics"), ("1: Radeon VII", "metrics"), ("system",), ("system", "cpu"),
                     ("system", "cpu", "cpu.busy"), ("system", "disk"), ("system", "disk", "disk.read"),
                     ("system", "disk", "disk.inflight.read")}, "groups")
    cpus = next(track for track in page.of_kind("metrics") if track.name == "cpu.busy")
    inside = [track.name for track in page.of_kind("counter") if track.head["parent"] == cpus.id]
    t.equal(inside, [f"cpu.busy cpu {number}" for number in range(4)], "processors, in their order")

with t.case("a part of the run has what overlaps it"):
    part = view(trace, "--from", "100ms", "--to", "150ms")
    for track in part.of_kind("counter"):
        series = next(series for series in scene.series if series.key() == key_of(part, track))
        wanted = [row for row in series.readings if row[0] < 150 * MS and row[1] > 100 * MS]
        same_rows([(item["begin"], item["end"], item["value"], item["of"]) for item in track.items()], wanted, "readings")

with t.case("a long run has levels, and they add up"):
    long = Scene(cpus=1, seconds=60, gap=(20, 30))
    page = view(t.described("long.duet", *long.lines()))
    levels = {track.name: len(track.levels) for track in page.of_kind("counter")}
    t.true(min(levels.values()) >= 2, f"levels: {levels}")

with t.case("readings without a time, a whole, or an owner"):
    page = view(t.described(
        "odd.duet", "window 0 1000", "process 1 101 a", "thread 1 1", "series 1 disk.read amount bytes", "series 2 cpu.busy ratio ns",
        "series 3 memory.used level bytes process=7", "counter 1 10 10 5", "counter 1 20 30 5", "counter 2 20 30 5 0", "counter 3 20 30 5",
        "counter 9 20 30 5"))
    t.equal({track.name: len(track.items()) for track in page.of_kind("counter")}, {"disk.read": 2, "cpu.busy": 1}, "readings")

def metric_key(row):
    return tuple(row.get(name) for name in ("name", "pid", "device", "cpu", "instance"))


# ---- exports: the same numbers at the same times ----

def wanted_rows(series):
    """(begin, what is shown) of readings that say something."""
    return [(row[0], series.shown(row)) for row in series.readings if series.shown(row) is not None]


def check_rows(found, what):
    """found: {(name, process, device): [(begin, shown)]}; name as in a timeline."""
    wanted = {}
    for series in scene.series:
        metric, process, device, cpu, instance = series.key()
        name = metric + (f" cpu {cpu}" if cpu is not None else "") + (f" {instance}" if instance else "")
        wanted[name, process, device] = wanted_rows(series)
    t.equal(set(found), set(wanted), f"{what}: series")
    for key, rows in wanted.items():
        t.equal([begin for begin, _ in found[key]], [begin for begin, _ in rows], f"{what}: times of {key}")
        for (_, value), (_, other) in zip(found[key], rows):
            near(value, other, f"{what}: {key}")


def exported_file(name, *options):
    out = t.path("out." + name)
    result = run([DUET, "export", "-f", name, "-o", out, *options, trace])
    t.equal(result.status, 0, f"export -f {name}: {text(result.stderr)}")
    return out


with t.case("perfetto: each reading is on its series' track, below its object"):
    timeline = perfetto_trace.load(exported_file("perfetto"))
    found = {}
    for track in timeline.tracks.values():
        if not track.is_recorded:
            continue
        parent = timeline.tracks[track.parent]
        process = perfetto_trace.first(parent.process, 1) - 1000 if parent.process else 0
        device = 2 if "Radeon" in parent.name else 0
        is_bytes = perfetto_trace.first(track.counter, 3) == 3
        found[track.name, process, device] = [(time, value / 2 ** 20 if is_bytes else value) for time, value in track.values]
    check_rows(found, "perfetto")

with t.case("chrome: the same, as counters of processes"):
    timeline = chrome_trace.Trace(exported_file("chrome"))
    found = {}
    for (pid, name, _), rows in timeline.readings.items():
        device = 2 if "Radeon" in timeline.processes[pid] else 0
        found[name, pid - 1000 if 1000 < pid < 4194304 else 0, device] = rows
    check_rows(found, "chrome")

with t.case("csv and sqlite: the same in columns, and sqlite's means are the report's"):
    with open(exported_file("csv", "--kind", "counter"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        name = row["metric"] + (f" cpu {row['cpu']}" if row["cpu"] else "") + (f" {row['instance']}" if row["instance"] else "")
        key = (name, int(row["pid"] or 1000) - 1000, 2 if row["device"] else 0)
        if row["shown"]:
            found.setdefault(key, []).append((int(row["begin_ns"]), float(row["shown"])))
    check_rows(found, "csv")
    database = sqlite3.connect(exported_file("sqlite"))
    reported = {metric_key(row): row for row in t.report(trace)["metrics"]}
    for metric, instance, pid, device, cpu, least, mean, most in database.execute(
            "SELECT metric, instance, pid, device, cpu, min, mean, max FROM metrics"):
        other = reported[metric, pid, device, cpu, instance or None]
        for name, value in (("min", least), ("mean", mean), ("max", most)):
            near(value, other[name], f"{name} of {metric}")

with t.case("otlp-metrics: sums of amounts are the report's"):
    try:
        import export_readers
    except ImportError as missing:
        raise duet_test.Skip(f"{missing} (python3-jsonschema)") from missing
    metrics = export_readers.OtlpMetrics(exported_file("otlp-metrics", "--kind", "counter")).metrics
    sums = {}
    for of, value in metrics["duet.counter.disk.read"][1]:
        sums[of["duet.instance"]] = sums.get(of["duet.instance"], 0) + value
    t.equal(sums, {row["instance"]: row["sum"] for row in t.report(trace)["metrics"] if row["name"] == "disk.read"}, "disk.read")
    t.equal(metrics["duet.counter.cpu.busy"][0], "1", "unit of a ratio")

# ---- ranges ----

CHOSEN = ("cpu.busy", "memory.used", "process.cpu", "process.memory.rss", "disk.read", "disk.write", "process.io.read", "process.io.write")


def check_ranges(rows, spans_of, described):
    """rows: of the report; spans_of: {(name, pid of the ranges): [(begin, end)]}; described: Series by which brute force is done."""
    for (name, pid), spans in spans_of.items():
        row = next(row for row in rows if row["name"] == name)
        wanted = {}
        for series in described:
            metric, process, device, cpu, instance = series.key()
            if (metric in CHOSEN or device) and cpu is None and process in (0, pid - 1000):
                mean = series.mean(*spans)
                if mean is not None:
                    wanted[metric, process + 1000 if process else None, instance or None] = (
                        mean, max(series.extremes(*span)[1] for span in spans if series.extremes(*span)))
        found = {(one["name"], one.get("pid"), one.get("instance")): one for one in row["metrics"]}
        t.equal(set(found), set(wanted), f"metrics within {name}")
        for key, (mean, most) in wanted.items():
            near(found[key]["mean"], mean, f"mean of {key} within {name}")
            near(found[key]["max"], most, f"largest of {key} within {name}")


with t.case("ranges: counters within them equal brute force, for one process and for all"):
    t.wanted()
    around = Scene(seconds=1, seed=5)
    long_spans = [(300 * MS, 520 * MS), (550 * MS, 950 * MS)]
    lines = [*around.lines(), *(f"range 1 {begin} {end} epoch" for begin, end in long_spans),
             f"range 2 {100 * MS} {130 * MS} other type=start process=2", f"range 2 {110 * MS} {160 * MS} other type=start process=2"]
    described = t.described("ranges.duet", *lines)
    rows = t.report(described)["ranges"]
    steps = [(begin, end) for begin, end, _ in around.ranges]
    flat = {row["name"]: row for row in rows if len(row["path"]) == 1}
    check_ranges([flat["epoch"], flat["other"]],
                 {("epoch", 1001): long_spans, ("other", 1002): [(100 * MS, 130 * MS), (110 * MS, 160 * MS)]}, around.series)
    inside = [(begin, end) for begin, end in steps if any(low <= begin and end <= high for low, high in long_spans)]
    nested = [row for row in rows if row["path"] == ["epoch", "step"]]
    check_ranges(nested, {("step", 1001): inside}, around.series)
    t.equal(t.report(described, "--by", "range")["by"][0]["metrics"], rows[0]["metrics"], "--by range has them too")
    shown = text(run([DUET, "report", "--by", "range", described]).stdout)
    t.true("METRICS WITHIN RANGES" in shown, "the table")
    t.true("METRICS WITHIN RANGES" not in text(run([DUET, "report", described]).stdout), "only where it is asked for")

with t.case("ranges without counters, counters without ranges, readings that come after all ranges"):
    t.true("metrics" not in t.report(t.described("a.duet", "window 0 1000", "thread 1 1", "range 1 10 20 a"))["ranges"][0], "no counters")
    one = ["window 0 1000", "thread 1 1", "series 1 cpu.busy ratio ns", "series 2 memory.used level bytes"]
    t.equal(t.report(t.described("b.duet", *one, "counter 1 10 20 5 10"))["ranges"], [], "no ranges")
    late = t.report(t.described("c.duet", *one, "range 1 10 20 a", "counter 1 30 40 5 10", "counter 1 15 30 3 15", "counter 2 12 12 2097152"))
    t.equal([(row["name"], row["mean"], row["readings"]) for row in late["ranges"][0]["metrics"]],
            [("cpu.busy", 20.0, 1), ("memory.used", 2.0, 1)], "the part within, and a moment")

with t.case("a row of the table has the name of its process, and its unit whatever its instance is called"):
    path = t.described("names.duet", "window 0 1000", "process 1 77 before", "process 2 77 after",
                       f"series 1 cgroup.memory level bytes instance=/machine/{'é' * 40}/the-end", "counter 1 10 20 1048576",
                       *(f"series {i + 1} process.memory.rss level bytes process={i}" for i in (1, 2)),
                       "counter 2 10 20 1048576", "counter 3 30 40 2097152")
    shown = text(run([DUET, "report", path]).stdout)
    for line in (r"cgroup\.memory /machine/é+…é+/the-end, MiB +1\.000", r"process\.memory\.rss before 77, MiB +1\.000",
                 r"process\.memory\.rss after 77, MiB +2\.000"):
        t.true(re.search(rf"^  {line}", shown, re.M), f"{line} in {shown}")
    t.equal([(row["pid"], row["process"]) for row in t.report(path)["metrics"] if "pid" in row], [(77, "before"), (77, "after")],
            "of the JSON")

# ---- readers that have nothing of duet's ----

def read_duet(path):
    """What examples/read_duet.py says."""
    if shutil.which("protoc") is None or importlib.util.find_spec("google.protobuf") is None:
        raise duet_test.Skip("protobuf-compiler and python3-protobuf are not installed")
    result = run([sys.executable, os.path.join(ROOT, "examples", "read_duet.py"), path])
    t.equal(result.status, 0, f"read_duet.py: {text(result.stderr)}")
    found = json.loads(result.stdout)
    t.equal(found["left_out"], 0, "rows that it cannot place")
    return found


def base_mean(row):
    """Of a series in .duet: what the report shows, without its factor."""
    if row["type"] == "ratio":
        return row["value_sum"] / row["of_sum"]
    if not row["covered_ns"]:
        return None
    return row["weighted_sum"] / row["covered_ns"] if row["type"] == "level" else row["value_sum"] / row["covered_ns"] * 1e9


def check_file(trace):
    """The reader's sums of a trace are the report's."""
    reported = {metric_key(row): row for row in t.report(trace)["metrics"]}
    found = {metric_key(row): row for row in read_duet(trace)["metrics"]}
    t.equal(set(found), set(reported), "series")
    for key, row in found.items():
        other = reported[key]
        t.equal(row["readings"], other["readings"], f"readings of {key}")
        near(row["covered_ns"], other["covered_ns"], f"time of {key}")
        mean = base_mean(row)
        if mean is not None:
            near(mean * factor_of(row["type"], row["unit"]), other["mean"], f"mean of {key}")
        if row["type"] == "amount":
            near(row["value_sum"], other["sum"], f"sum of {key}")
    return reported


PB_NAMES = {
    ("CpuMetrics", "total_utilization_pct"): ("cpu.busy", 1), ("CpuMetrics", "user_pct"): ("cpu.user", 1),
    ("CpuMetrics", "system_pct"): ("cpu.system", 1), ("CpuMetrics", "iowait_pct"): ("cpu.iowait", 1),
    ("MemoryMetrics", "total_bytes"): ("memory.total", 2 ** -20), ("MemoryMetrics", "used_bytes"): ("memory.used", 2 ** -20),
    ("MemoryMetrics", "available_bytes"): ("memory.available", 2 ** -20), ("MemoryMetrics", "buffers_bytes"): ("memory.buffers", 2 ** -20),
    ("MemoryMetrics", "cached_bytes"): ("memory.cached", 2 ** -20), ("ProcessMetrics", "cpu_pct"): ("process.cpu", 1),
    ("ProcessMetrics", "rss_bytes"): ("process.memory.rss", 2 ** -20), ("ProcessMetrics", "vms_bytes"): ("process.memory.virtual", 2 ** -20),
    ("ProcessMetrics", "shared_bytes"): ("process.memory.shared", 2 ** -20), ("DiskMetrics", "read_bytes_per_sec"): ("disk.read", 1e-6),
    ("DiskMetrics", "write_bytes_per_sec"): ("disk.write", 1e-6), ("DiskMetrics", "read_queue_depth"): ("disk.read.inflight", 1),
    ("DiskMetrics", "write_queue_depth"): ("disk.write.inflight", 1), ("ProcessDiskMetrics", "read_bytes_per_sec"): ("process.io.read", 1e-6),
    ("ProcessDiskMetrics", "write_bytes_per_sec"): ("process.io.write", 1e-6)}


def exported(name, trace, *options):
    out = trace + "." + name
    shutil.rmtree(out, ignore_errors=True)
    result = run([DUET, "export", "-f", name, "-o", out, *options, trace])
    t.equal(result.status, 0, f"export -f {name}: {text(result.stderr)}")
    return out


def check_folder(trace, reported):
    """What a folder of duet-pb has is the report's, and what the report has of these metrics is in it."""
    found = read_duet(exported("duet-pb", trace))["metrics"]
    seen = set()
    for row in found:
        if row["of"] == "GpuDeviceMetrics":
            key, factor = (row["name"], None, row["device"], None, None), 1
        else:
            name, factor = PB_NAMES[row["of"], row["name"]]
            key = (name, row.get("pid"), None, None, row.get("device"))
        other = reported[key]
        seen.add(key)
        t.equal(row["readings"], other["readings"], f"readings of {key}")
        near(row["covered_ns"], other["covered_ns"], f"time of {key}")
        by = row["of_sum"] if row["of"] == "CpuMetrics" and row["of_sum"] else row["covered_ns"]
        if by:
            near(row["weighted_sum"] / by * factor, other["mean"], f"mean of {key}")
    names = {name for name, _ in PB_NAMES.values()}
    wanted = {key for key in reported if key[2] or key[0] in names and key[3] is None}
    t.equal(seen, wanted, "series")
    return found


with t.case("an independent reader's sums are the report's: the trace, and a folder of duet-pb"):
    check_folder(trace, check_file(trace))
    ranges = {row["name"]: (row["count"], row["total_ns"]) for row in t.report(trace)["ranges"]}
    for path in (trace, exported("duet-pb", trace)):
        t.equal({row["name"]: (row["count"], row["total_ns"]) for row in read_duet(path)["ranges"]}, ranges, "ranges")

def framed(path):
    """The messages of a file, each with its length before it."""
    with open(path, "rb") as file:
        data, at = file.read(), 0
    while at < len(data):
        size, at = view_file.varint(data, at)
        yield data[at:at + size]
        at += size


def pb_lines(folder):
    """What protoc says of each message, a line each."""
    for name, trace_name in (("gpu", "Gpu"), ("system", "System"), ("disk", "Disk")):
        for message in framed(os.path.join(folder, name + "_metrics.pb")):
            result = run(["protoc", f"--decode=duet_pb.{trace_name}MetricsTrace", "-I", os.path.join(ROOT, "proto"), "duet_pb.proto"],
                         stdin=message)
            t.equal(result.status, 0, f"protoc: {text(result.stderr)}")
            t.true(not re.search(r"^ *[0-9]+[:{ ]", text(result.stdout), re.M), f"a field of {name} that is not in the schema")
            yield f"{name}: " + re.sub(r"\s+", " ", text(result.stdout)).strip()


GOLDEN = os.path.join(ROOT, "tests", "golden", "export")
for path in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
    with t.case(f"golden: duet-pb of {os.path.basename(path)[:-4]}"):
        t.wanted()
        if shutil.which("protoc") is None:
            raise duet_test.Skip("protobuf-compiler is not installed")
        with open(path, encoding="utf-8") as file:
            described = t.described("golden.duet", file.read())
        lines = "\n".join(pb_lines(exported("duet-pb", described))) + "\n"
        t.same_as_file(lines, os.path.join(GOLDEN, "duet-pb", os.path.basename(path)[:-4] + ".expected"), "duet-pb")

with t.case("a long recording: several messages, each with all that says what it is of; one that was cut off"):
    long_trace = t.described("long.duet", *long.lines())
    folder = exported("duet-pb", long_trace)
    check_folder(long_trace, check_file(long_trace))
    path = os.path.join(folder, "system_metrics.pb")
    whole = read_duet(folder)["metrics"]
    size = os.path.getsize(path)
    os.truncate(path, size // 3)
    part = read_duet(folder)["metrics"]
    used = [sum(row["readings"] for row in rows if row["name"] == "used_bytes") for rows in (whole, part)]
    t.true(0 < used[1] < used[0], f"readings before the cut are there: {used}")

with t.case("one process, a part of the time, one kind"):
    found = read_duet(exported("duet-pb", trace, "--pid", "1001", "--from", "100ms", "--to", "200ms"))
    t.equal({row.get("pid") for row in found["metrics"]}, {1001}, "processes")
    one = next(series for series in scene.series if series.metric == "process.cpu")
    inside = [row for row in one.readings if 100 * MS <= row[0] < 200 * MS]
    t.equal({row["readings"] for row in found["metrics"]}, {len(inside)}, "readings that begin there")
    t.equal(read_duet(exported("duet-pb", trace, "--kind", "range"))["metrics"], [], "ranges alone")
    t.equal(read_duet(exported("duet-pb", trace, "--kind", "counter"))["ranges"], [], "counters alone")

with t.case("a recording of a real machine has the same sums"):
    real = t.path("real.duet")
    result = t.record([sys.executable, "-c", "import time; end = time.monotonic() + 0.5\nwhile time.monotonic() < end: sum(range(9999))"], real,
                      ["--collect", "system"])
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    reported = check_file(real)
    t.true(len(reported) > 20, f"{len(reported)} series")
    check_folder(real, reported)
    view(real)

t.end()
