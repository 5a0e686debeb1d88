#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet diff --series: the history of a program over many recordings."""
import json
import os
import re
import shutil

import duet_test
import series_scene
from duet_test import DUET, ROOT, run, text
from export_readers import closed

try:
    import jsonschema
except ImportError:
    jsonschema = None

t = duet_test.Suite(needs_opencl=False)
UTF8 = {"LC_ALL": "C.UTF-8"}


def series(*arguments, env=None):
    return run([DUET, "diff", "--series", *arguments], env=env)


def document(*arguments):
    result = series("--json", *arguments)
    t.equal(result.status, 0, f"{arguments}: {text(result.stderr)[:300]}")
    return json.loads(result.stdout)


def line_of(found, kind, name=None):
    lines = [line for line in found["lines"] if line["kind"] == kind and line.get("name") == name]
    t.equal(len(lines), 1, f"lines {kind} {name}")
    return lines[0]


folder = series_scene.make_runs(t, "runs")

with t.case("a step, a new name and a gap are found in their recordings"):
    found = document(folder)
    t.equal([os.path.basename(one["path"]) for one in found["recordings"]], [f"run{i:02}.duet" for i in range(series_scene.RUNS)], "recordings")
    gemm = line_of(found, "kernel", "gemm")
    t.equal([change["recording"] for change in gemm["changes"]], [series_scene.STEP], "changes of gemm")
    change = gemm["changes"][0]
    t.true(0.07 < change["after"] / change["before"] - 1 < 0.09 and change["p"] < 0.01, f"the step: {change}")
    t.equal([change["recording"] for change in line_of(found, "wall")["changes"]], [series_scene.STEP], "changes of the wall time")
    renamed = line_of(found, "kernel", "sum_rows")
    t.equal([(one["recording"], one["was"], one["match"]) for one in renamed["names"]], [(series_scene.RENAMED, "reduce_v1", "renamed")], "names")
    t.true(None not in renamed["values"] and not renamed["changes"], "the renamed kernel keeps its line")
    softmax = line_of(found, "kernel", "softmax")
    t.equal([i for i, value in enumerate(softmax["values"]) if value is None], list(series_scene.GAP), "gap")
    t.equal(softmax["changes"], [], "changes of softmax")
    t.equal(set(line_of(found, "executions", "gemm")["values"]), {8}, "executions")
    t.equal(line_of(found, "executions", "gemm")["tested"], False, "equal values are no test")
    kernels = [line["total_ns"] for line in found["lines"] if line["kind"] == "kernel"]
    t.equal(kernels, sorted(kernels, reverse=True), "the largest first")

with t.case("text"):
    shown = text(series(folder, env=UTF8).stdout)
    t.true(re.search(r"^  gemm .*\n    from run12.duet \(no date\): (899|900|901)\.\d \u00b5s -> 97\d\.\d \u00b5s \(\+8\.\d+ %\), p 0\.00\d+$", shown, re.M), shown)
    t.true("from run06.duet: was reduce_v1; renamed: same call path (" in shown, shown)
    row = next(line for line in shown.splitlines() if line.startswith("  softmax"))
    t.true(re.search("[\u2581-\u2588]{8}   [\u2581-\u2588]{7} ", row), row)
    gemm = next(line for line in shown.splitlines() if line.startswith("  gemm"))
    t.true("\u2581\u2588" in gemm and gemm.rstrip().endswith("%"), gemm)
    plain = text(series(folder, env={"LC_ALL": "C"}).stdout)
    t.true(not re.search("[\u2581-\u2588]", plain) and any(".@" in line for line in plain.splitlines() if line.startswith("  gemm")), plain)
    t.true("  2 more (--top)" in text(series("--top", "1", folder).stdout), "--top")

with t.case("the order is that of the dates, not of the names"):
    older = t.path("runs/zz.duet")
    shutil.copy(t.path("runs/run00.duet"), older)
    os.utime(older, (series_scene.FIRST_DATE - series_scene.DAY,) * 2)
    t.equal(os.path.basename(document(folder)["recordings"][0]["path"]), "zz.duet", "the first")
    os.unlink(older)
    files = [t.path(f"runs/run{i:02}.duet") for i in (3, 1, 2)]
    t.equal([one["path"] for one in document(*files)["recordings"]], [files[1], files[2], files[0]], "files")

with t.case("what cannot be read is listed and skipped"):
    broken = t.path("runs/broken.duet")
    with open(broken, "w", encoding="ascii") as file:
        file.write("no recording")
    os.makedirs(t.path("runs/below"), exist_ok=True)
    shutil.copy(t.path("runs/run00.duet"), t.path("runs/below/run99.duet"))
    result = series("--json", folder)
    t.equal(result.status, 0, "status")
    t.true(broken in text(result.stderr), text(result.stderr))
    t.equal((json.loads(result.stdout)["skipped"], len(json.loads(result.stdout)["recordings"])), ([broken], series_scene.RUNS), "skipped")
    t.true("! 1 skipped, because they cannot be read" in text(series(folder).stdout), "text")
    result = series(broken)
    t.equal((result.status, text(result.stderr).splitlines()[-1]), (2, "duet diff: no recording can be read"), "no file")
    os.unlink(broken)
    os.makedirs(t.path("empty"), exist_ok=True)
    for arguments in ([], [t.path("empty")], [t.path("absent.duet")], [folder, "--new", folder], ["--by", "stack", folder], ["--confidence", "101", folder]):
        result = series(*arguments)
        t.equal((result.status, bool(result.stdout)), (2, False), f"{arguments}: {text(result.stderr)[:200]}")
        t.true(text(result.stderr).startswith("duet diff: "), text(result.stderr))

with t.case("few recordings have lines without changes"):
    shown = text(series(t.path("runs/run00.duet"), t.path("runs/run15.duet")).stdout)
    t.true("Changes are found from 6 recordings on." in shown and "from run" not in shown.split("sum_rows")[0], shown)
    t.equal(len(document(t.path("runs/run00.duet"))["recordings"]), 1, "one recording")

with t.case("per iteration"):
    found = document("--per", "iteration", folder)
    t.equal(found["per"], "iteration", "per")
    t.true(all(0.8 < value < 1.2 for value in line_of(found, "executions", "gemm")["values"]), "executions per iteration")
    t.true(line_of(found, "wall")["first"] < line_of(document(folder), "wall")["first"] / 5, "wall time of an iteration")

with t.case("the document is valid under its schema"):
    if not jsonschema:
        raise duet_test.Skip("python3-jsonschema is not installed")
    with open(os.path.join(ROOT, "docs", "series.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(closed(schema)).iter_errors(document(folder)))
    t.true(not errors, f"{[(error.message[:200], list(error.absolute_path)) for error in errors[:3]]}")

with t.case("the page is written whole, and beside the text"):
    page = t.path("history.html")
    result = series("--html", page, folder)
    t.equal(result.status, 0, text(result.stderr))
    t.true("HISTORY" in text(result.stdout), "text")
    with open(page, encoding="utf-8") as file:
        html = file.read()
    t.true(html.startswith("<!doctype html>") and html.rstrip().endswith("</html>") and "gemm" not in html, "the page")
    t.equal(series("--html", t.path("absent/x.html"), folder).status, 1, "a folder that is not there")

t.end()
