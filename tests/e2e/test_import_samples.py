#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import: samples of GPU instructions that other programs recorded become rows of the instruction view."""
import json
import os
import sqlite3

import duet_test
from duet_test import DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)

HEADER = ["ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle", "PC_Issued", "PC_Stalled",
          "Stall_Reasons"]


def instruction(isa, address, issued=0, reasons=(), latency=0, stall=0, stalled=None):
    """reasons: {number of the reason: samples}"""
    counts = [dict(reasons).get(i, 0) for i in range(10)]
    return [isa, 0, 1, "kernel.cpp:7", 2, address, 0, latency, stall, 0, issued, sum(counts) if stalled is None else stalled, counts]


def document(*rows, header=HEADER, version="5"):
    return json.dumps({"code": rows, "header": header, "version": version})


def written(name, content):
    path = t.path(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


def imported(content, name="code.json"):
    out = t.path("samples.duet")
    result = run([DUET, "import", "-f", "rocprof-code", "-o", out, written(name, content)])
    t.equal(result.status, 0, text(result.stderr))
    return out, text(result.stdout)


def refused(content, *words):
    path = written("bad.json", content)
    result = run([DUET, "import", "-f", "rocprof-code", "-o", t.path("no.duet"), path])
    t.equal((result.status, os.path.exists(t.path("no.duet"))), (1, False), f"{content[:80]}: {text(result.stderr)}")
    for word in words:
        t.true(word in text(result.stderr), f"'{word}' in {text(result.stderr)}")


def samples_of(trace):
    """{(kernel, offset, stall, unit, text): count}"""
    shown = run([DUET, "export", "-f", "csv", trace, "-o", t.path("csv")])
    t.equal(shown.status, 0, text(shown.stderr))
    found = {}
    for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines():
        row = json.loads(line)
        if row["kind"] == "instruction_sample":
            key = (row["code"], row["offset"], row["stall"], row["period_unit"], row["text"])
            t.true(key not in found, f"{key} once")
            found[key] = row["count"]
    return found


with t.case("rocprof-code: PC samples with their reasons"):
    t.wanted()
    trace, said = imported(document(
        instruction("; _Z4stepPfi", 0), instruction("s_load_dwordx2 s[0:1], s[4:5], 0x0", 16, issued=5),
        instruction("s_waitcnt vmcnt(0)", 24, issued=1, reasons={3: 40, 9: 2}),
        instruction("s_barrier", 28, reasons={5: 10}, stalled=13),
        instruction("; copy", 64), instruction("s_endpgm", 64, issued=7, reasons={1: 1, 8: 3}), instruction("s_nop 0", 72)))
    found = samples_of(trace)
    names = {(offset, stall): count for (_, offset, stall, unit, _), count in found.items() if unit == "samples"}
    t.equal(names, {(16, "issued"): 5, (24, "issued"): 1, (24, "waitcnt"): 40, (24, "sleep_wait"): 2, (28, "barrier_wait"): 10, (28, "other"): 3,
                    (64, "issued"): 7, (64, "no_instruction_available"): 1, (64, "other_wait"): 3}, "samples")
    t.equal(len({code for code, *_ in found}), 2, "kernels")
    report = t.report(trace)
    rows = {(row["kernel"], row["offset"]): (row["samples"], row["text"]) for row in report["instructions"]}
    t.equal(rows[("step", 24)], (43, "s_waitcnt vmcnt(0)"), f"the instruction view: {rows}")
    t.true("no times" in said, said)
    shown = text(run([DUET, "report", "--by", "stall", trace]).stdout)
    t.true("waitcnt" in shown and "sleep_wait" in shown and "the wave issued the instruction" in shown and "[no reason" not in shown, shown)
    flame = text(run([DUET, "flame", "--view", "stall", "--folded", trace]).stdout)
    t.true("waitcnt" in flame, flame)

with t.case("rocprof-code: cycles of a thread trace"):
    trace, _ = imported(document(instruction("; k", 0), instruction("v_add_u32 v0, v1, v2", 8, latency=100, stall=30),
                                 instruction("s_endpgm", 12, latency=4, stall=9)))
    t.equal({(offset, stall, unit): count for (_, offset, stall, unit, _), count in samples_of(trace).items()},
            {(8, "", "cycles"): 70, (8, "stall", "cycles"): 30, (12, "stall", "cycles"): 4}, "cycles")

with t.case("rocprof-code: columns in another order, and columns of later versions"):
    row = {"ISA": "s_endpgm", "Vaddr": 8, "PC_Issued": 3, "New": {"a": [1, 2]}}
    names = ["New", "PC_Issued", "Vaddr", "ISA"]
    trace, _ = imported(json.dumps({"version": "9", "code": [[row[name] for name in names] + [1, "more"]], "header": names}))
    t.equal(list(samples_of(trace).values()), [3], "samples")
    trace, _ = imported(document(instruction("s_endpgm", 8, latency=5, stall=2)[:10], header=", ".join(HEADER[:10]), version="3.0.0"))
    t.equal(sorted(samples_of(trace).values()), [2, 3], "names in one text")
    refused(document(header="ISA, Vaddr"), "PC_Issued")
    refused(document(header={}), "an array", "an object")
    _, said = imported(document(instruction("s_endpgm", 8)))
    t.true("no sample" in said, said)

with t.case("rocprof-code: what is no such file is refused with the place"):
    refused("[]", "line 1", "an object")
    refused("{}", "'code' and 'header'")
    refused(document(header=["ISA", "Vaddr"]), "PC_Issued")
    refused(document(["s_endpgm", 0, 1, "", 2, 8, 0, 0, 0, 0, -3, 0, []]), "a whole number", "-3")
    refused(document(["s_endpgm", 0, 1, "", 2, 8, 0, 0, 0, 0, 1, 0, [2 ** 62]]), "a whole number")
    refused(document(["s_endpgm", 0, 1, "", 2, "x", 0, 0, 0, 0, 1, 0, []]), "a number", "a string")
    refused(document([["s_endpgm"]]), "a text")
    refused(document(7), "a row")
    refused(document(instruction("s_endpgm", 8, issued=1))[:-40], "line 1")
    refused(document(header=["ISA"] * 40), "32 columns")

with t.case("rocprof-code: a table of real PC samples"):
    folder = os.environ.get("DUET_RECORDINGS")
    path = os.path.join(folder or "", "amd", "rocprof-compute-viewer_pcsampling_code.json")
    if not folder or not os.path.exists(path):
        raise Skip("DUET_RECORDINGS does not name the folder of other programs' recordings")
    out = t.path("real.duet")
    t.equal(run([DUET, "import", "-f", "rocprof-code", "-o", out, path]).status, 0, "import")
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["code"]
    want = {row[5]: row[10] + row[11] for row in rows if not row[0].startswith(";") and row[10] + row[11]}
    got = {}
    for row in t.report(out)["instructions"]:
        got[row["offset"]] = got.get(row["offset"], 0) + row["samples"]
    t.equal(got, want, "samples of each instruction")

# ---- rocprof-compute -----------------------------------------------------------------------------

COMPUTE = """CREATE TABLE compute_workload(workload_id INTEGER PRIMARY KEY, name, sub_name);
CREATE TABLE compute_kernel(kernel_uuid INTEGER PRIMARY KEY, workload_id, kernel_name);
CREATE TABLE compute_dispatch(dispatch_uuid INTEGER PRIMARY KEY, kernel_uuid, dispatch_id, gpu_id, start_timestamp, end_timestamp);
CREATE TABLE compute_pcsampling(pc_sampling_uuid INTEGER PRIMARY KEY, kernel_uuid, source, instruction, count, "offset", count_issue,
  count_stall, stall_reason);
CREATE TABLE compute_kernel_metric_value(value_uuid INTEGER PRIMARY KEY, metric_uuid, kernel_uuid, value_name, value);
INSERT INTO compute_workload VALUES(1, 'pi', 'MI350'), (2, 'gemm', '');
INSERT INTO compute_kernel VALUES(1, 1, 'init'), (2, 1, 'step(float*)'), (3, 2, 'init');
INSERT INTO compute_dispatch VALUES(1, 2, 1, 0, 5000, 9000), (2, 1, 0, 0, 1000, 3000), (3, 3, 0, 1, 2000, 2500), (4, 2, 2, 0, 9500, 9600);
INSERT INTO compute_pcsampling VALUES(1, 2, 'k.cpp:1', 's_waitcnt vmcnt(0)', 50, 16, 8, 42, '{"WAITCNT": 40}'),
  (2, 1, NULL, 's_endpgm', 3, 32, 3, 0, NULL);
INSERT INTO compute_kernel_metric_value VALUES(1, 1, 1, 'Avg', 0.5), (2, 1, 2, 'Avg', 0.25);
"""


with t.case("rocprof-compute: dispatches and PC samples"):
    t.wanted()
    out = t.path("compute.duet")
    result = run([DUET, "import", "-o", out, t.database("compute.db", COMPUTE)])
    t.equal(result.status, 0, text(result.stderr))
    t.true("2 values left out: metrics" in text(result.stdout), text(result.stdout))
    report = t.report(out)
    t.equal({(row["name"], row["device"]): (row["count"], row["total_ns"]) for row in report["kernels"]},
            {("init", "1/0"): (1, 2000), ("step(float*)", "1/0"): (2, 4100), ("init", "2/1"): (1, 500)}, "kernels")
    t.equal([(row["name"], row["wall_ns"]) for row in report["devices"] if row["busy_ns"]], [("MI350", 8600), ("AMD GPU", 8600)], "devices")
    t.equal(report["ledger"]["matched"], 4, "launches")
    t.equal({(row["offset"], row["text"]): row["stalls"] for row in report["instructions"]},
            {(16, "s_waitcnt vmcnt(0)"): {"issued": 8, "waitcnt": 40, "other": 2}, (32, "s_endpgm"): {"issued": 3}}, "stall reasons")
    t.equal(sum(row["samples"] for row in report["instructions"]), 53, "samples")

with t.case("rocprof-compute: what is invalid is left out, and a database without its tables is refused"):
    out = t.path("compute.duet")
    result = run([DUET, "import", "-f", "rocprof-compute", "-o", out, t.database("compute.db",
        COMPUTE, "INSERT INTO compute_dispatch VALUES(9, 77, 1, 0, 1, 2), (10, 1, 1, 0, 9, 2), (11, 1, 1, -1, 1, 2);"
        "INSERT INTO compute_pcsampling VALUES(9, 1, '', '', 1, -8, 1, 0, NULL), (10, 1, '', '', 1, 8, 0, 1, '{\"a\": [1]}');")])
    t.equal(result.status, 0, text(result.stderr))
    for words in ("compute_dispatch", "compute_pcsampling"):
        t.true(words in text(result.stderr), text(result.stderr))
    t.equal(t.report(out)["ledger"]["matched"], 4, "valid dispatches")
    for script in ("", "CREATE VIEW compute_workload AS SELECT 1 AS workload_id; CREATE VIEW compute_kernel AS SELECT 1 AS kernel_uuid;"):
        path = t.database("bad.db", "CREATE TABLE other(a);", script)
        result = run([DUET, "import", "-f", "rocprof-compute", "-o", t.path("no.duet"), path])
        t.equal(result.status, 1, text(result.stderr))
        t.true("expected a plain table compute_workload" in text(result.stderr), text(result.stderr))

with t.case("rocprof-compute: a database of a real GPU"):
    folder = os.environ.get("DUET_RECORDINGS")
    path = os.path.join(folder or "", "amd", "roc-optiq_rocprof_compute_23ed6f36.db.zst")
    if not folder or not os.path.exists(path):
        raise Skip("DUET_RECORDINGS does not name the folder of other programs' recordings")
    out = t.path("optiq.duet")
    t.equal(run([DUET, "import", "-o", out, path]).status, 0, "import")
    unpacked = t.path("optiq.db")
    t.equal(run(["zstd", "-dqf", "-o", unpacked, path]).status, 0, "zstd")
    rows = sqlite3.connect(unpacked).execute("SELECT count(*), sum(end_timestamp - start_timestamp) FROM compute_dispatch").fetchone()
    t.equal((sum(row["count"] for row in t.report(out)["kernels"]), sum(row["total_ns"] for row in t.report(out)["kernels"])), rows, "kernels")

t.end()
