#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet export: each format read by another project's reader, and compared with the report's numbers.

tests/golden/export/CASE.txt describes a trace (tests/checker/description.h); FORMAT/CASE.expected is the output of
export_readers.py for its export.

    python3 tests/e2e/test_export.py --write    # writes the expected files; read them before a commit
"""
import base64
import collections
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys

import browser
import duet_test

try:
    import jsonschema

    import export_readers
except ImportError as missing:
    print(f"1..0 # SKIP {missing} (python3-jsonschema)")
    sys.exit(0)

from duet_test import BUILD, DUET, ROOT, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "export")
CASES = sorted(os.path.splitext(os.path.basename(path))[0]
               for path in glob.glob(os.path.join(GOLDEN, "*.txt")))
FORMATS = ["text", "json", "csv", "sqlite", "folded", "svg", "speedscope", "pprof", "otlp",
           "otlp-metrics", "perf-script", "iaprof", "rocpd"]
VERSION = text(run([DUET, "--version"]).stdout).split()[-1]
SHAPES = (("mixed", 20000), ("single", 5000), ("late", 5000), ("deep", 5000), ("empty", 0))


def exported(name, path, *options, status=0):
    """The path of the export."""
    out = t.path(f"out.{name}")
    result = run([DUET, "export", path, "-f", name, "-o", out, *options],
                 env={"TZ": "UTC"})
    t.equal(result.status, status, f"duet export -f {name}: {text(result.stderr)}")
    return out


def described(case):
    with open(os.path.join(GOLDEN, f"{case}.txt"), encoding="utf-8") as file:
        return t.described(f"{case}.duet", file.read())


def golden(name, case):
    lines = "\n".join(export_readers.lines_of(name, exported(name, described(case)))) + "\n"
    lines = lines.replace(VERSION, "VERSION")
    expected = os.path.join(GOLDEN, name, f"{case}.expected")
    t.same_as_file(lines, expected, f"{name} of {case}")


for name in FORMATS:
    with t.case(f"golden: {name}"):
        t.wanted()
        for case in CASES:
            golden(name, case)

# ---- sums ----------------------------------------------------------------------------------------

NAMELESS = {"kernel": "[unknown kernel]"}


class Truth:
    """What the report says, in the shapes in which exports are asked."""

    def __init__(self, path, *options):
        self.report = t.report(path, *options)
        self.names = {row["key"]: row["name"] for row in self.report["devices"]}
        self.busy = collections.Counter()
        for row in self.report["devices"]:
            self.busy[row["name"]] += row["busy_ns"]
        self.kernels = {}
        for row in self.report["kernels"]:
            self.kernels[(self.names.get(row["device"], row["device"]), row["name"])] = row
        self.commands = collections.defaultdict(lambda: [0, 0, 0, 0])
        for row in (*self.report["kernels"], *self.report["copies"], *self.report["other_commands"]):
            name = row.get("name") or row.get("direction") or row.get("command")
            for place, key in enumerate(("count", "timed", "total_ns", "share_ns")):
                self.commands[name][place] += row[key]
        self.commands = dict(self.commands)

    def sums(self, *keys):
        """{command: (sum, …)} of those that have any."""
        places = [("count", "timed", "total_ns", "share_ns").index(key) for key in keys]
        rows = {name: tuple(row[place] for place in places) for name, row in self.commands.items()}
        return {name: row for name, row in rows.items() if any(row)}

    def cpu(self):
        return {row["source"]: (row["samples"], row["weight"]) for row in self.report["cpu"]}


def check_pprof(path, truth, *options):
    profile = export_readers.Pprof(exported("pprof", path, *options))
    busy, sums, cpu = collections.Counter(), {}, {}
    for values, labels, _ in profile.samples:
        if "source" in labels:
            of = cpu.setdefault(labels["source"], [0, 0])
            of[0] += values["cpu_samples"]
            of[1] += values["cpu"] if labels["source"] == "cpu-clock" else values[labels["source"]]
        elif labels["gpu_view"] == "kernel_time":
            busy[labels["gpu"]] += values["gpu_time"]
            of = sums.setdefault(labels.get("kernel"), [0, 0, 0])
            for place, name in enumerate(("executions", "gpu_duration", "gpu_time")):
                of[place] += values[name]
    sums.pop(None, None)  # without a launch: in the device's time, and no command's
    t.equal(+busy, +truth.busy, "pprof: device time")
    t.equal({name: tuple(row) for name, row in sums.items() if any(row)},
            truth.sums("count", "total_ns", "share_ns"), "pprof: commands")
    t.equal({name: tuple(row) for name, row in cpu.items()}, truth.cpu(), "pprof: CPU samples")


def check_otlp(path, truth, *options):
    otlp = export_readers.Otlp(exported("otlp", path, *options))
    found = {}
    for name, _, samples, _ in otlp.profiles:
        for value, attributes, _ in samples:
            of = found.setdefault(name, collections.Counter())
            of[attributes.get("duet.kernel")] += value
            if name == "gpu_time":
                found.setdefault("busy", collections.Counter())[attributes["hw.name"]] += value
    t.equal(+found.get("busy", collections.Counter()), +truth.busy, "otlp: device time")
    for name, key in (("executions", "count"), ("gpu_duration", "total_ns"), ("gpu_time", "share_ns")):
        of = found.get(name, collections.Counter())
        of.pop(None, None)
        t.equal({command: (value,) for command, value in of.items() if value}, truth.sums(key),
                f"otlp: {name}")
    cpu = truth.cpu().get("cpu-clock", (0, 0))
    t.equal(found.get("cpu", collections.Counter()).total() if found.get("cpu") else 0, cpu[1],
            "otlp: processor time")


def check_speedscope(path, truth, *options):
    file = export_readers.Speedscope(exported("speedscope", path, *options))
    busy = collections.Counter()
    for name, leaves in file.sampled().items():
        if name.endswith(": device time"):
            busy[name.removesuffix(": device time")] += sum(leaves.values())
    t.equal(+busy, +truth.busy, "speedscope: device time")
    spans = {name: tuple(row) for name, row in file.evented().items() if name in truth.commands}
    if not truth.report["ledger"]["unplaced"] and not early(truth):
        t.equal(spans, truth.sums("timed", "total_ns"), "speedscope: commands of queues")


def early(truth):
    """Whether an execution may come before its launch by more than the clocks' error."""
    return any(clock["violations"] for clock in truth.report["clocks"])


def check_perf_script(path, truth, *options):
    script = export_readers.PerfScript(exported("perf-script", path, *options))
    sums = script.leaves("gpu-time")
    sums.pop("[no\\x20launch]", None)
    sums.pop("[no launch]", None)
    t.equal({name: tuple(row) for name, row in sums.items()},
            {name: row for name, row in truth.sums("timed", "total_ns").items() if row[0]},
            "perf-script: commands")
    for source, row in truth.cpu().items():
        t.equal(script.collapsed(source).total(), row[1], f"perf-script: {source}")


def check_csv(path, truth, *options):
    rows = export_readers.Csv(exported("csv", path, *options)).rows
    sums, states = {}, collections.Counter(row["state"] for row in rows)
    for row in rows:
        if row["state"] == "matched":
            of = sums.setdefault(row["kernel"] if row["command"] == "kernel" and row["kernel"] else
                                 NAMELESS.get(row["command"], row["command"]), [0, 0, 0])
            of[0] += 1
            of[1] += row["duration_ns"] != ""
            of[2] += int(row["duration_ns"] or 0)
    t.equal({name: tuple(row) for name, row in sums.items()},
            truth.sums("count", "timed", "total_ns"), "csv: commands")
    ledger = truth.report["ledger"]
    t.equal((states["matched"], states["rejected"], states["no_launch"]),
            (ledger["matched"], ledger["rejected"], ledger["orphaned"]), "csv: states")
    calls = collections.Counter()
    for kind in ("api", "launch"):
        for row in export_readers.Csv(exported("csv", path, "--kind", kind, *options)).rows:
            if row.get("further") != "1":
                calls[row["function"]] += int(row["duration_ns"])
    t.equal(+calls, +collections.Counter({row["name"]: row["total_ns"]
                                          for row in truth.report["api"]}), "csv: calls")
    busy, wall = collections.Counter(), collections.Counter()
    for row in export_readers.Csv(exported("csv", path, "--kind", "account", *options)).rows:
        wall[row["device"]] += int(row["time_ns"])
        busy[row["device"]] += int(row["time_ns"]) if row["part"] == "busy" else 0
    t.equal(+busy, +truth.busy, "csv: busy")
    t.equal(sorted(wall.values()), sorted(row["wall_ns"] for row in truth.report["devices"]),
            "csv: wall")


def check_json(path, truth, *options):
    document = export_readers.Json(exported("json", path, *options)).document
    ledger = truth.report["ledger"]
    t.equal(document["ledger"], {key: ledger[key] for key in document["ledger"]}, "json: ledger")
    for row, other in zip(document["account"], truth.report["devices"]):
        t.equal(row, {**{key: other[key] for key in row if key != "device"}, "device": row["device"]},
                "json: account")
    t.equal(len(document["executions"]), ledger["executed"], "json: executions")
    t.equal(len(document["cpu_samples"]), ledger["cpu_samples"], "json: CPU samples")
    t.equal(len([row for row in document["launches"] if not row["result"]])
            + sum(row["count"] for row in document["losses"] if row["lost"] == "launch"),
            ledger["launched"], "json: launches")


ROCPD_COPIES = {"write": "MEMORY_COPY_HOST_TO_DEVICE", "read": "MEMORY_COPY_DEVICE_TO_HOST",
                "copy": "MEMORY_COPY_DEVICE_TO_DEVICE", "fill": "MEMORY_FILL", "map": "MEMORY_MAP", "unmap": "MEMORY_UNMAP",
                "migrate": "MEMORY_MIGRATE"}


def check_rocpd(path, truth, *options):
    database = export_readers.Rocpd(exported("rocpd", path, *options))
    sums = collections.defaultdict(lambda: [0, 0])
    for (_, name), row in truth.kernels.items():
        sums[name][0] += row["timed"]
        sums[name][1] += row["total_ns"]
    t.equal({row[0]: [row[1], row[2]] for row in database.rows(
        "SELECT name, count(*), sum(duration) FROM kernels "
        "WHERE kernel_id <> 0 GROUP BY 1")},
            {name: row for name, row in sums.items() if row[0]}, "rocpd: kernels")
    t.equal({row[0]: [row[1], row[2]] for row in database.rows(
        "SELECT name, count(*), sum(duration) FROM regions WHERE category NOT LIKE 'MARKER%' GROUP BY 1")},
            {row["name"]: [row["count"], row["total_ns"]] for row in truth.report["api"]}, "rocpd: calls")
    copies = collections.defaultdict(lambda: [0, 0])
    for row in truth.report["copies"]:
        copies[ROCPD_COPIES[row["direction"]]][0] += row["timed"]
        copies[ROCPD_COPIES[row["direction"]]][1] += row["total_ns"]
    found = {row[0]: [row[1], row[2]] for row in database.rows("SELECT name, count(*), sum(duration) FROM memory_copies GROUP BY 1")}
    t.equal({name: row for name, row in found.items() if name in ROCPD_COPIES.values()},
            {name: row for name, row in copies.items() if row[0]}, "rocpd: copies")


def check_sqlite(path, truth, *options):
    database = export_readers.Sqlite(exported("sqlite", path, *options))
    t.equal({(row["device"], row["kernel"]): (row["count"], row["timed"], row["total_ns"] or 0,
                                              row["min_ns"], row["max_ns"])
             for row in database.rows("SELECT * FROM top_kernels")},
            {key: (row["count"], row["timed"], row["total_ns"], row["min_ns"], row["max_ns"])
             for key, row in truth.kernels.items()}, "sqlite: top_kernels")
    t.equal({row["function"]: (row["count"], row["failed"], row["total_ns"])
             for row in database.rows("SELECT * FROM top_calls")},
            {row["name"]: (row["count"], row["failed"], row["total_ns"])
             for row in truth.report["api"]}, "sqlite: top_calls")
    t.equal({row["device"]: row["busy_ns"] for row in database.rows("SELECT * FROM busy")},
            {name: busy for name, busy in truth.busy.items() if busy}, "sqlite: busy, a union")
    t.true(all(0 <= row["percent"] <= 100 for row in database.rows("SELECT * FROM busy")),
           "sqlite: never above 100 %")
    by_name = collections.Counter()
    for (_, kernel), row in truth.kernels.items():
        by_name[kernel] += row["total_ns"]
    t.equal(collections.Counter({row["string"]: row["ns"] for row in database.rows(
        "SELECT n.string, sum(o.end - o.start) AS ns FROM rocpd_op AS o "
        "JOIN rocpd_string AS n ON n.id = o.description_id JOIN rocpd_string AS t ON t.id = o.opType_id "
        "WHERE t.string = 'KernelExecution' GROUP BY 1")}), by_name, "sqlite: rocpd_op")
    t.equal(database.rows("SELECT count(*) FROM rocpd_api")[0][0],
            database.rows("SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM launches WHERE NOT further)")[0][0],
            "sqlite: rocpd_api")
    t.equal(database.rows("SELECT coalesce(sum(TotalNs), 0) FROM top")[0][0],
            database.rows("SELECT coalesce(sum(end - start), 0) FROM rocpd_op WHERE gpuId >= 0")[0][0], "sqlite: top")
    t.equal(database.rows("SELECT count(*) FROM rocpd_api_ops WHERE api_id NOT IN (SELECT id FROM rocpd_api) "
                          "OR op_id NOT IN (SELECT id FROM rocpd_op)")[0][0], 0, "sqlite: rocpd_api_ops")
    t.true(all(row["utilization_pct"] <= 100 and row["gpuId"] == row["id"] - 1 for row in
               database.rows("SELECT * FROM busy")), "sqlite: busy as rocm-trace-lite names it")
    t.equal(list(database.database.execute("SELECT * FROM busy").description[place][0] for place in range(5)),
            ["gpuId", "utilization_pct", "ops", "busy_ns", "wall_ns"], "sqlite: busy in rocm-trace-lite's order")
    t.equal(database.rows("SELECT count(*) FROM rocpd_op AS o JOIN rocpd_string AS s ON s.id = o.opType_id WHERE gpuId < 0 "
                          "AND s.string = 'UserMarker'")[0][0], database.rows("SELECT count(*) FROM ranges")[0][0],
            "sqlite: markers")
    t.equal(database.rows("SELECT count(*) FROM rocpd_op WHERE id IN (SELECT id FROM rocpd_op GROUP BY id HAVING count(*) > 1) "
                          "OR description_id IS NULL OR opType_id IS NULL")[0][0], 0, "sqlite: rocpd_op's ids and names")
    for row in database.rows("SELECT s.string, l.bytes FROM rocpd_op AS o JOIN rocpd_string AS s ON s.id = o.description_id "
                             "JOIN launches AS l ON l.id = o.launch WHERE l.command IN ('write', 'read', 'copy') LIMIT 50"):
        t.equal(row[0].split(":")[1], str(row[1] or 0), "sqlite: the bytes in a copy's name")
    t.equal(database.rows("SELECT sum(time_ns) FROM account")[0][0] or 0,
            sum(row["wall_ns"] for row in truth.report["devices"]), "sqlite: account")
    ledger = truth.report["ledger"]
    t.equal({row["name"]: row["count"] for row in database.rows("SELECT * FROM ledger")},
            {row["name"]: ledger[row["name"]] for row in database.rows("SELECT * FROM ledger")},
            "sqlite: ledger")
    open_count = database.rows("SELECT count(*) FROM in_flight")[0][0]
    t.equal(open_count, ledger["in_flight_at_exit"] + ledger["dropped"]
            - sum(row["count"] for row in truth.report["losses"] if row["kind"] == "launch"),
            "sqlite: in flight")
    t.equal(database.rows("SELECT count(*) FROM not_executed")[0][0], ledger["not_executed"], "sqlite: not executed")
    t.equal({row["source"]: (row["samples"], row["weight"]) for row in database.rows(
        "SELECT source, sum(samples) AS samples, sum(weight) AS weight FROM top_functions GROUP BY 1")},
            truth.cpu(), "sqlite: top_functions")


def check_metrics(path, truth, *options):
    metrics = export_readers.OtlpMetrics(exported("otlp-metrics", path, *options)).metrics
    for name, key in (("executions", "count"), ("duration", "total_ns"), ("time", "share_ns")):
        t.equal({(of["hw.name"], of["duet.kernel"]): value
                 for of, value in metrics[f"duet.kernel.{name}"][1]},
                {of: row[key] for of, row in truth.kernels.items()}, f"otlp-metrics: {name}")
    parts = metrics["duet.device.time"][1]
    t.equal(sum(value for _, value in parts), sum(row["wall_ns"] for row in truth.report["devices"]),
            "otlp-metrics: the parts are the wall")
    for row in truth.report["devices"]:
        share = [value for of, value in metrics["hw.gpu.utilization"][1] if of["hw.name"] == row["name"]]
        t.true(share in ([], [row["busy_ns"] / row["wall_ns"]] if row["wall_ns"] else []),
               f"otlp-metrics: utilization of {row['name']}")


def check_folded(path, truth, *options):
    with open(exported("folded", path, "--kind", "gpu", *options), encoding="utf-8") as file:
        total = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    t.equal(total, sum(truth.busy.values()), "folded: busy time")


CHECKS = {"pprof": check_pprof, "otlp": check_otlp, "speedscope": check_speedscope,
          "perf-script": check_perf_script, "csv": check_csv, "json": check_json,
          "sqlite": check_sqlite, "rocpd": check_rocpd, "otlp-metrics": check_metrics, "folded": check_folded}

for shape, events in SHAPES:
    with t.case(f"the report's numbers: {shape}"):
        t.wanted()
        path = t.generated(events, shape)
        truth = Truth(path)
        for name, check in CHECKS.items():
            check(path, truth)

with t.case("the report's numbers: described traces"):
    t.wanted()
    for case in CASES:
        if case == "hostile":
            continue  # the report's own names are not the trace's bytes
        path = described(case)
        truth = Truth(path)
        for name, check in CHECKS.items():
            check(path, truth)

with t.case("a part of a trace: the report's numbers of that part"):
    t.wanted()
    path = t.generated(20000)
    whole = Truth(path).report["wall_ns"]
    part = ("--from", f"{whole // 3}ns", "--to", f"{whole // 3 + whole // 5}ns")
    truth = Truth(path, *part)
    for name in ("pprof", "otlp", "otlp-metrics", "folded"):
        CHECKS[name](path, truth, *part)

def account_of(name):
    """A trace of tests/golden/account."""
    with open(os.path.join(ROOT, "tests", "golden", "account", f"{name}.txt"), encoding="utf-8") as file:
        return t.described("account.duet", file.read().split("\n---")[0])


with t.case("sqlite: a kernel has the range in which it was launched, as rocm-trace-lite numbers it"):
    t.wanted()
    database = export_readers.Sqlite(exported("sqlite", described("hip_ranges")))
    t.equal([tuple(row) for row in database.rows(
        "SELECT k.string, m.string FROM rocpd_op AS o JOIN rocpd_string AS k ON k.id = o.description_id LEFT JOIN rocpd_op AS r "
        "ON r.gpuId < 0 AND r.roctxId = o.roctxId LEFT JOIN rocpd_string AS m ON m.id = r.description_id WHERE o.gpuId >= 0 "
        "ORDER BY o.start")], [("shapes::scale<float>", "forward"), ("fill", "forward"), ("fill", "forward"),
                               ("CopyDeviceToHost:4096", "step")], "kernels and ranges")


with t.case("sections of duet's guest are not exported as calls"):
    t.wanted()
    path = account_of("duet")
    truth = Truth(path)
    check_csv(path, truth)
    check_sqlite(path, truth)
    database = export_readers.Sqlite(exported("sqlite", path))
    t.equal([tuple(row) for row in database.rows("SELECT section, count(*), sum(end_ns - begin_ns) FROM duet_sections "
                                                 "GROUP BY 1 ORDER BY 1")],
            [("duet-code", 1, 30), ("duet-harvest", 3, 85), ("duet-object", 1, 20)], "sqlite: duet_sections")
    for table in ("calls", "rocpd_api", "top_calls"):
        t.equal(database.rows(f"SELECT count(*) FROM {table} WHERE function LIKE 'duet%'")[0][0], 0, f"sqlite: {table}")

with t.case("contradictions in OTLP"):
    t.wanted()
    path = account_of("contradictions")
    t.equal(export_readers.Otlp(exported("otlp", path)).scope["duet.ledger.contradictions"], 8, "otlp: scope")
    metrics = export_readers.OtlpMetrics(exported("otlp-metrics", path)).metrics
    t.equal(metrics["duet.contradictions"], ("1", [({}, 8)]), "otlp-metrics")

# ---- filters -------------------------------------------------------------------------------------

with t.case("one process"):
    t.wanted()
    path = described("processes")
    pid = ("--pid", "1002")
    profile = export_readers.Pprof(exported("pprof", path, *pid))
    t.equal([(labels["pid"], values["gpu_time"]) for values, labels, _ in profile.samples],
            [(1002, 175), (1002, 100)], "pprof")
    otlp = export_readers.Otlp(exported("otlp", path, *pid))
    t.equal([(value, of["process.pid"]) for value, of, _ in otlp.profiles[0][2]],
            [(175, 1002), (100, 1002)], "otlp")
    file = export_readers.Speedscope(exported("speedscope", path, *pid))
    t.equal(file.sampled(), {"gpu: device time": {"k": 175, "write": 100}}, "speedscope: sampled")
    t.equal(file.evented(), {"k": [1, 200], "write": [1, 100]}, "speedscope: evented")
    script = export_readers.PerfScript(exported("perf-script", path, *pid))
    t.equal({head[1] for head, _ in script.events}, {"1002"}, "perf-script")
    t.equal([(row["pid"], row["state"]) for row in export_readers.Csv(exported("csv", path, *pid)).rows],
            [("1002", "matched"), ("1002", "matched"), ("1002", "in_flight")], "csv")
    document = export_readers.Json(exported("json", path, *pid)).document
    t.equal([row["process"] for row in document["executions"]], [2, 2], "json")
    database = export_readers.Sqlite(exported("sqlite", path, *pid))
    t.equal([tuple(row) for row in database.rows("SELECT process, count(*) FROM executions")], [(2, 2)],
            "sqlite")
    with open(exported("folded", path, *pid), encoding="utf-8") as lines:
        t.equal(sorted(int(line.split()[-1]) for line in lines), [100, 175], "folded")

with t.case("twenty sources of samples stay apart"):
    t.wanted()
    rows = [f"sample 1 {100 + n} {n + 1} stack=1 source=event-{n}" for n in range(20)]
    path = t.described("sources.duet", "\n".join(["window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1", "frame 1 native /bin/x offset=16",
                       "stack 1 1", *rows, "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 70"]))
    otlp = export_readers.Otlp(exported("otlp", path))
    sums = {name: sum(value for value, *_ in samples) for name, _, samples, _ in otlp.profiles if name != "samples"}
    t.equal(sums, {**{f"event-{n}": n + 1 for n in range(20)}, "gpu_time": 40, "executions": 1, "gpu_duration": 40}, "otlp")
    reader = export_readers.Pprof(exported("pprof", path))
    t.equal({name: sum(values[name] for values, *_ in reader.samples) for name, _ in reader.types},
            {**sums, "cpu_samples": 20}, "pprof")

with t.case("kinds"):
    t.wanted()
    path = described("cpu_gpu")
    for name, key in (("pprof", "cpu_samples"), ("otlp", "samples")):
        reader = export_readers.READERS[name](exported(name, path, "--kind", "cpu_sample"))
        types = [row[0] for row in (reader.types if name == "pprof" else reader.profiles)]
        t.true(key in types and "gpu_time" not in types, f"{name}: {types}")
    file = export_readers.Speedscope(exported("speedscope", path, "--kind", "execution"))
    t.true(all("thread" not in profile["name"] for profile in file.document["profiles"]), "speedscope")
    document = export_readers.Json(exported("json", path, "--kind", "loss,launch")).document
    t.true("losses" in document and "launches" in document and "executions" not in document, "json")
    database = export_readers.Sqlite(exported("sqlite", path, "--kind", "api"))
    t.equal([database.rows(f"SELECT count(*) FROM {name}")[0][0] for name in
             ("calls", "launches", "executions", "cpu_samples")], [2, 0, 0, 0], "sqlite")
    script = export_readers.PerfScript(exported("perf-script", path, "--kind", "cpu_sample"))
    t.equal({head[6] for head, _ in script.events}, {"cpu-clock", "page-faults"}, "perf-script")
    for kind in ("launch", "api", "cpu_sample", "switch", "instruction_sample", "loss", "account"):
        rows = export_readers.Csv(exported("csv", path, "--kind", kind)).rows
        t.equal(bool(rows), kind != "loss", f"csv: {kind}")

with t.case("a part, row by row"):
    t.wanted()
    path = described("cpu_gpu")
    part = ("--from", "6us", "--to", "21us")
    rows = export_readers.Csv(exported("csv", path, *part)).rows
    t.equal([row["correlation"] for row in rows], ["3", "4"], "csv: what started in it")
    document = export_readers.Json(exported("json", path, *part)).document
    t.equal([row["correlation"] for row in document["executions"]], [3, 4], "json")
    t.equal(document["filters"], {"from_ns": 6000, "to_ns": 21000}, "json: it says so")
    t.equal([row["correlation"] for row in document["launches"]], [3, 4, 5, 6], "json: launches")
    database = export_readers.Sqlite(exported("sqlite", path, *part))
    t.equal([row[0] for row in database.rows("SELECT correlation FROM executions ORDER BY 1")], [3, 4],
            "sqlite")
    t.equal({row["device"]: row["busy_ns"] for row in database.rows("SELECT * FROM busy")},
            {"cpu": 400, "gpu": 2000}, "sqlite: busy")
    absolute = export_readers.Csv(exported("csv", path, "--absolute")).rows
    t.equal(int(absolute[0]["started_ns"]), 13000, "csv: absolute")

with t.case("incompatible options are refused"):
    t.wanted()
    path = described("processes")
    for options, word in (
            (("csv", "--kind", "api,launch"), "one table"), (("csv", "--kind", "started"), "no kind"),
            (("csv", "--kind", "account", "--pid", "1001"), "--pid"),
            (("folded", "--kind", "gpu,idle"), "one --kind"),
            (("folded", "--kind", "idle", "--pid", "1001"), "--pid"),
            (("svg", "--kind", "total", "--pid", "1001"), "--pid"),
            (("otlp-metrics", "--pid", "1001"), "--pid"), (("pprof", "--kind", "api"), "no kind"),
            (("sqlite",), "-o")):
        refused = run([DUET, "export", path, "-f", *options], stdin=b"")
        t.equal(refused.status, 2, f"{options}: status")
        t.true(word in text(refused.stderr), f"{options}: {text(refused.stderr)}")
    refused = run([DUET, "export", path, "-f", "sqlite", "-o", "/dev/null"])
    t.equal(refused.status, 1, "sqlite into no regular file")
    t.true("regular file" in text(refused.stderr), text(refused.stderr))

# ---- names ---------------------------------------------------------------------------------------

HOSTILE = '\ufffdk\ufffd\ufffd,";\n'

with t.case("names that are anything come back"):
    t.wanted()
    path = described("hostile")
    profile = export_readers.Pprof(exported("pprof", path))
    t.equal((profile.samples[0][1]["kernel"], profile.samples[0][1]["comm"]), (HOSTILE, "a\tb;c"),
            "pprof")
    otlp = export_readers.Otlp(exported("otlp", path))
    t.equal(otlp.profiles[0][2][0][1]["duet.kernel"], HOSTILE, "otlp")
    t.true(HOSTILE in export_readers.Speedscope(exported("speedscope", path)).frames, "speedscope")
    row = export_readers.Csv(exported("csv", path)).rows[0]
    t.equal((row["kernel"], row["device"], row["comm"]), (HOSTILE, '"gpu";\n', "a\tb;c"), "csv")
    call = export_readers.Csv(exported("csv", path, "--kind", "api")).rows[0]
    t.equal(call["function"], "'=cmd|'/C'!A1", "csv: a formula is a text")
    document = export_readers.Json(exported("json", path)).document
    t.equal(document["code"][0]["name"], HOSTILE, "json")
    database = export_readers.Sqlite(exported("sqlite", path))
    t.equal(database.rows("SELECT name FROM launches")[0][0], HOSTILE, "sqlite")
    script = export_readers.PerfScript(exported("perf-script", path))
    t.equal(list(script.leaves("gpu-time")), ['\\xf5k\\xc0\\x80,";\\x0a'], "perf-script")
    with open(exported("svg", path), encoding="utf-8") as file:
        t.true("</script>\"" not in file.read().replace("&", ""), "svg")

with t.case("10 kB of C++"):
    t.wanted()
    name = "std::map<" * 1000 + "int" + ">" * 1000
    path = t.described("long.duet", "window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1",
                       "frame 1 jit " + name, "stack 1 1",
                       f"launch 1 1 1 10 20 kernel name={name} stack=1", "execution 1 1 1 15 18 20 70")
    t.equal(export_readers.Pprof(exported("pprof", path)).samples[0][1]["kernel"], name, "pprof")
    t.equal(export_readers.Otlp(exported("otlp", path)).profiles[0][2][0][1]["duet.kernel"], name,
            "otlp")
    t.true(name in export_readers.Speedscope(exported("speedscope", path)).frames, "speedscope")
    t.equal(export_readers.Csv(exported("csv", path)).rows[0]["kernel"], name, "csv")
    t.equal(export_readers.Json(exported("json", path)).document["code"][0]["name"], name, "json")
    t.equal(export_readers.Sqlite(exported("sqlite", path)).rows("SELECT name FROM launches")[0][0],
            name, "sqlite")
    t.equal(list(export_readers.PerfScript(exported("perf-script", path)).leaves("gpu-time")), [name],
            "perf-script")

with t.case("damaged traces: a whole export, or a failure that says so"):
    t.wanted()
    with open(described("cpu_gpu"), "rb") as file:
        whole = file.read()
    chance = random.Random(7)
    for turn in range(10):
        data = bytearray(whole)
        for _ in range((1, 3, 20)[turn % 3]):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path = t.path("damaged.duet")
        with open(path, "wb") as file:
            file.write(data)
        for name in FORMATS:
            out = t.path("damaged.out")
            result = run([DUET, "export", path, "-f", name, "-o", out])
            if t.true(result.status in (0, 1), f"{name} {turn}: status {result.status}") \
                    and result.status == 0:
                export_readers.lines_of(name, out)
            else:
                t.true(result.stderr, f"{name} {turn}: it says why")

# ---- where it is written -------------------------------------------------------------------------

with t.case("a full disk, a closed pipe, a terminal"):
    t.wanted()
    path = t.generated(20000)
    for name in FORMATS:
        if name in ("sqlite", "rocpd"):
            continue
        full = run([DUET, "export", path, "-f", name, "-o", "/dev/full"])
        t.equal(full.status, 1, f"{name}: status on a full disk")
        t.equal(text(full.stderr).splitlines()[-1], "duet export: '/dev/full' is incomplete: write: No space left on device", name)
        piped = run(["sh", "-c", f"{DUET} export {path} -f {name} | head -c 100 | wc -c"])
        t.equal(text(piped.stdout).strip(), "100", f"{name}: closed pipe")
        said = [line for line in text(piped.stderr).splitlines() if "INCOMPLETE" not in line]
        t.equal(said, [], f"{name}: closed pipe")
    for name in ("sqlite", "pprof", "otlp", "otlp-metrics"):
        ours, theirs = os.openpty()
        result = subprocess.run([DUET, "export", path, "-f", name], stdout=theirs,
                                stderr=subprocess.PIPE, timeout=60, check=False)
        os.close(theirs)
        os.close(ours)
        t.equal(result.returncode, 2, f"{name}: not for a terminal")

with t.case("the same trace gives the same bytes"):
    t.wanted()
    path = t.generated(5000)
    for name in FORMATS:
        made = []
        for _ in range(2):
            with open(exported(name, path), "rb") as file:
                made.append(file.read())
        t.true(made[0] == made[1], name)

with t.case("memory does not grow with events"):
    t.wanted()
    paths = {events: shutil.copy(t.generated(events, "single"), t.path(f"{events}.duet"))
             for events in (40000, 400000)}
    for name in FORMATS:
        peaks = []
        for path in paths.values():
            out = t.path("memory.out")
            process = subprocess.Popen([DUET, "export", path, "-f", name, "-o", out])
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            t.equal(status, 0, f"{name}: status")
            peaks.append(usage.ru_maxrss)
        t.true(peaks[1] < 1.5 * peaks[0], f"{name}: peaks in KiB: {peaks}")

# ---- other people's readers ----------------------------------------------------------------------

def pprof_program():
    """pprof itself, built from Debian's source of it."""
    go = shutil.which("go")
    if not go or not os.path.isdir("/usr/share/gocode/src/github.com/google/pprof"):
        raise Skip("no go, or no golang-github-google-pprof-dev")
    program = t.path("pprof")
    built = run([go, "build", "-o", program, "github.com/google/pprof"], timeout=300,
                env={"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "-p=1",
                     "GOCACHE": t.path("go-cache"), "HOME": t.folder})
    t.equal(built.status, 0, f"go build: {text(built.stderr)}")
    return program


with t.case("pprof itself"):
    t.wanted()
    program = pprof_program()
    path = t.generated(20000)
    out = exported("pprof", path)
    raw = run([program, "-raw", out], env={"HOME": t.folder})
    t.equal(raw.status, 0, text(raw.stderr))
    total = sum(int(line.split(":")[0].split()[-1]) for line in text(raw.stdout).splitlines()
                if re.match(r"\s+\d+\s+\d+\s+\d+:", line))
    t.equal(total, sum(Truth(path).busy.values()), "the last value of all samples")
    out = exported("pprof", described("cpu_gpu"))
    top = text(run([program, "-top", "-unit=ns", out], env={"HOME": t.folder}).stdout)
    t.true("Type: gpu_time" in top and re.search(r"\s3500ns .*saxpy", top), f"pprof -top: {top}")
    path = t.described("angles.duet", """window 0 1000
device 1 gpu
process 1 1001 python3
thread 1 1
queue 1 1
frame 1 python <module> file=/home/me/train.py line=12 first=1
frame 2 python main.<locals>.<lambda> file=/home/me/train.py line=5 first=5
stack 1 1 2
launch 1 1 1 10 20 kernel name=scale<float> stack=1
execution 1 1 1 15 18 20 100
""")
    top = text(run([program, "-top", "-unit=ns", exported("pprof", path)], env={"HOME": t.folder}).stdout)
    t.true(all(re.search(rf"\s80ns +100% +{re.escape(name)}\n", top)
               for name in ("<module>", "main.<locals>.<lambda>", "scale<float>")), f"names as they are: {top}")

with t.case("speedscope: a function is one row, whichever of its lines called"):
    t.wanted()
    path = t.described("lines.duet", "window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1",
                       "frame 1 python main file=/a.py line=12 first=10", "frame 2 python main file=/a.py line=15 first=10",
                       "frame 3 python main file=/a.py line=52 first=50", "stack 1 1", "stack 2 2", "stack 3 3",
                       *(f"sample 1 {100 * n} {n} stack={n}" for n in (1, 2, 3)))
    document = export_readers.Speedscope(exported("speedscope", path, "--kind", "cpu_sample")).document
    t.equal(document["shared"]["frames"], [{"name": "main", "file": "/a.py", "line": line} for line in (10, 50)], "frames")
    t.equal([(profile["samples"], profile["weights"]) for profile in document["profiles"]],
            [([[0], [0], [1]], [1, 2, 3])], "samples")

with t.case("speedscope itself"):
    t.wanted()
    folder = os.environ.get("DUET_SPEEDSCOPE")
    if not folder:
        raise Skip("DUET_SPEEDSCOPE does not name a folder of npm's package speedscope")
    if not browser.find():
        raise Skip("no Chromium")
    release = os.path.join(folder, "dist", "release")
    with open(os.path.join(release, "file-format-schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    with browser.Browser(t.folder) as chromium:
        for case in (*CASES, "mixed"):
            path = t.generated(5000) if case == "mixed" else described(case)
            out = exported("speedscope", path)
            with open(out, "rb") as file:
                data = file.read()
            jsonschema.validate(json.loads(data), schema)
            with open(t.path("profile.js"), "w", encoding="utf-8") as file:
                file.write("speedscope.loadFileFromBase64('p.json', "
                           f"'{base64.b64encode(data).decode()}')")
            chromium.open(f"file://{release}/index.html#localProfilePath={t.path('profile.js')}")
            count = len(json.loads(data)["profiles"])
            name = json.loads(data)["profiles"][0]["name"]
            wanted = name if count == 1 else f"{name} (1/{count})"
            wanted = " ".join(wanted.split())
            found = "document.body.innerText.replace(/\\s+/g, ' ')"
            t.true(chromium.wait(f"{found}.includes({json.dumps(wanted)})", 20),
                   f"{case}: {chromium.evaluate(found)[:200]}")

# ---- recorded ------------------------------------------------------------------------------------

with t.case("examples/render, recorded"):
    t.wanted()
    example = os.path.join(BUILD, "examples", "render")
    if not os.path.exists(example):
        raise Skip("examples/render was not built")
    path = t.path("render.duet")
    recorded = t.record([example, "--iterations", "11"], path, ["--collect", "opencl,cpu"])
    if recorded.status != 0 and "no OpenCL" in text(recorded.stderr) + text(recorded.stdout):
        raise Skip("no OpenCL device works here")
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    truth = Truth(path)
    for name, check in CHECKS.items():
        check(path, truth)
    profile = export_readers.Pprof(exported("pprof", path))
    program = profile.text(profile.mappings[1], "filename")
    t.equal(program, os.path.realpath(example), "pprof: the first mapping is the program")
    t.true(profile.text(profile.mappings[1], "build_id"), "pprof: its build id")
    t.true(any("main" in frame for _, _, frames in profile.samples for frame in frames), "pprof: main")

t.end()
