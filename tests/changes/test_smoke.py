#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A few changes of the benchmark are recorded, compared and scored; prints TAP.

Only what no load can change is asserted: that the account adds up, the amounts of the simulated device, counts, and the
partners of renamed, split and fused kernels. What is proved, and times of the host, are questions for run.py.
"""
import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalogue  # noqa: E402
import run  # noqa: E402

ITERATIONS = 7
RUNS = {"c-sim": 2, "c-pocl": 1, "pyopencl-sim": 1}
SLOWER_NS = round((catalogue.SLOWER - 1) * catalogue.KERNELS_US["update"] * 1000) * ITERATIONS
UPDATE_NS = catalogue.KERNELS_US["update"] * 1000 * ITERATIONS


def problem_of(result, **expected):
    if not result.get("exact"):
        return f"the account is not exact: {result}"
    wrong = {key: result.get(key) for key, value in expected.items() if result.get(key) != value}
    return f"{wrong} instead of {expected}; largest rows: {result['top']}" if wrong else None


CHECKS = {
    "c-sim": {
        "slow_kernel": {"change": SLOWER_NS, "match": "exact"},
        "more_launches": {"change": UPDATE_NS, "more_often": UPDATE_NS, "match": "exact"},
        "sleep": {"match": "new", "named": True},
        "rename": {"change": 0, "match": "renamed"},
        "split": {"change": 0, "match": "split"},
        "fuse": {"change": 0, "match": "fused"},
    },
    "c-pocl": {"rename": {"match": "renamed"}},
    "pyopencl-sim": {"more_launches": {"change": UPDATE_NS, "match": "exact"}},
}


def check_program(ground, program, checks):
    """Yields (name, problem, reason to skip)."""
    try:
        runs = run.record_rounds(ground, catalogue.PROGRAMS[program], list(checks), RUNS[program])
    except run.Skip as reason:
        for name in checks:
            yield name, None, str(reason)
        return
    for name, expected in checks.items():
        row = run.compare(ground, name, runs, range(RUNS[program]))
        yield name, problem_of(row["result"], **expected), None


def main():
    options = argparse.Namespace(build=os.path.abspath(sys.argv[1]), keep=None, reuse=None, iterations=ITERATIONS, per="run")
    number = failures = 0
    print(f"1..{sum(map(len, CHECKS.values()))}")
    with tempfile.TemporaryDirectory(prefix="changes.") as folder:
        ground = run.Ground(options, folder)
        for program, checks in CHECKS.items():
            for name, problem, skipped in check_program(ground, program, checks):
                number += 1
                failures += bool(problem)
                note = f" # SKIP {skipped}" if skipped else f" # {problem}" if problem else ""
                print(f"{'not ok' if problem else 'ok'} {number} - {program}: {name}{note}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
