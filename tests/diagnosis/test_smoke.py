#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three programs of the benchmark run and are scored; prints TAP. Whether the verdict is right is not asked here."""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalogue  # noqa: E402
import run  # noqa: E402

PROGRAMS = "compute", "fsync", "pause"


def problem_of(row):
    if "failed" in row or "skipped" in row:
        return row.get("failed") or row["skipped"]
    if len(row["truths"]) != 1:
        return f"{len(row['truths'])} truths"
    truth = row["truths"][0]
    first, last = truth["line"]
    with open(source(truth["file"]), encoding="utf-8") as file:
        lines = file.readlines()
    if not truth["kind"] or not truth["function"] or not 0 < first <= last <= len(lines):
        return f"the truth: {truth}"
    if not 0 < truth["ns"] <= truth["loop_ns"]:
        return f"{truth['ns']} ns of {truth['loop_ns']}"
    missing = {"named", "line", "unknown", "wrong", "amount"} - set(row)
    return f"the score lacks {missing}" if missing else None


def source(name):
    for folder in ("c", "python"):
        path = os.path.join(catalogue.HERE, "programs", folder, name)
        if os.path.exists(path):
            return path
    raise AssertionError(f"no source {name}")


def main():
    options = argparse.Namespace(build=os.path.abspath(sys.argv[1]), keep=None, load=0, clean=False, idle=False)
    failures = 0
    print(f"1..{len(PROGRAMS)}")
    with tempfile.TemporaryDirectory(prefix="diagnosis.") as folder:
        ground = run.Ground(options, folder)
        for number, name in enumerate(PROGRAMS, 1):
            problem = problem_of(run.run_program(ground, catalogue.ALL[name], 1))
            failures += bool(problem)
            print(f"{'not ok' if problem else 'ok'} {number} - {name}{f' # {problem}' if problem else ''}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
