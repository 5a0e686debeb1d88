#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import: samples of GPU instructions that other programs recorded become rows of the instruction view."""
import json
import os

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
    t.equal(names, {(16, ""): 5, (24, ""): 1, (24, "waitcnt"): 40, (24, "sleep_wait"): 2, (28, "barrier_wait"): 10, (28, "other"): 3,
                    (64, ""): 7, (64, "no_instruction_available"): 1, (64, "other_wait"): 3}, "samples")
    t.equal(len({code for code, *_ in found}), 2, "kernels")
    report = t.report(trace)
    rows = {(row["kernel"], row["offset"]): (row["samples"], row["text"]) for row in report["instructions"]}
    t.equal(rows[("step", 24)], (43, "s_waitcnt vmcnt(0)"), f"the instruction view: {rows}")
    t.true("no times" in said, said)
    shown = text(run([DUET, "report", "--by", "stall", trace]).stdout)
    t.true("waitcnt" in shown and "sleep_wait" in shown, shown)
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

t.end()
