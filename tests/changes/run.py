#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark of comparisons: a program is recorded with and without a planted change, and duet diff must find it.

    tests/changes/run.py [--build FOLDER] [--programs NAME...] [--changes NAME...] [--repeats N] [--runs R]
                         [--pool ROUNDS] [--iterations N] [--per run|iteration] [--jobs N] [--json FILE] [--keep FOLDER]
                         [--reuse FOLDER]

Prints a table of scores. README.md explains the columns.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import catalogue  # noqa: E402
import score  # noqa: E402
from catalogue import CHANGES, PROGRAMS, Skip  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(catalogue.HERE))
PATIENCE_S = 300
BASE = "base"
COLUMNS = "{:<14} {:<14} {:>7} {:>6} {:>6} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}"
HEAD = ("program", "change", "repeats", "named", "weak", "contains", "error", "max", "mean", "proved", "others", "exact")


class Ground:
    """The folders of a run of the benchmark, and the program under test."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.traces = options.keep or os.path.join(folder, "traces")
        self.duet = os.path.join(options.build, "duet")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("DUET_")}
        self.environment.update(LC_ALL="C.UTF-8", POCL_CACHE_DIR=os.path.join(folder, "pocl"), TMPDIR=folder,
                                PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=os.path.join(folder, "cache"))
        for path in (self.traces, self.environment["POCL_CACHE_DIR"]):
            os.makedirs(path, exist_ok=True)


def execute(command, environment):
    """stdout of a command that may take PATIENCE_S."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise AssertionError(f"no end after {PATIENCE_S} s: {' '.join(command)}") from None
    if process.returncode not in (0, 3):
        raise AssertionError(f"status {process.returncode}: {' '.join(command)}: {errors.decode('utf-8', 'replace')[-2000:]}")
    return output.decode("utf-8", "replace")


def truth_in(output):
    """The program prints one line of JSON; duet may print lines before it."""
    return json.loads([line for line in output.splitlines() if line.startswith('{"variant"')][-1])


class Run:
    """A recording with what its program measured."""

    def __init__(self, trace, truth, load):
        self.trace, self.truth, self.load = trace, truth, load


def record(ground, program, variant, number):
    options = ground.options
    trace = os.path.join(ground.traces, f"{program.name}.{variant}.{number}.duet")
    notes = trace.removesuffix(".duet") + ".json"
    if options.reuse:
        with open(notes, encoding="utf-8") as file:
            return Run(trace, **json.load(file))
    environment = {**ground.environment, **program.environment(options.build, variant)}
    command = [ground.duet, "record", "-o", trace, "--", *program.command(options.build, variant, options.iterations)]
    run = Run(trace, truth_in(execute(command, environment)), os.getloadavg()[0])
    if options.keep:
        with open(notes, "w", encoding="utf-8") as file:
            json.dump({"truth": run.truth, "load": run.load}, file)
    return run


def warm_up(ground, program, variants):
    """Fills PoCL's cache of kernels, and the page cache."""
    for variant in variants:
        execute(program.command(ground.options.build, variant, 2),
                {**ground.environment, **program.environment(ground.options.build, variant)})


def record_rounds(ground, program, changes, count):
    """{variant: runs}. A round is one run of each variant in random order, so that neither a drift of the machine nor the
    run before favours a side."""
    variants = [BASE, *changes]
    runs = {variant: [] for variant in variants}
    if not ground.options.reuse:
        warm_up(ground, program, variants)
    for number in range(count):
        for variant in random.Random(number).sample(variants, len(variants)):
            runs[variant].append(record(ground, program, variant, number))
    return runs


def choose_rounds(options, count):
    """The rounds of each repeat: its own ones, or drawn from the pool."""
    if not options.pool:
        return [range(repeat * options.runs, (repeat + 1) * options.runs) for repeat in range(options.repeats)]
    generator = random.Random(options.seed)
    return [sorted(generator.sample(range(count), options.runs)) for _ in range(options.repeats)]


def compare(ground, name, runs, rounds):
    base, new = [runs[BASE][i] for i in rounds], [runs[name][i] for i in rounds]
    command = [ground.duet, "diff", "--json", *(run.trace for run in base), "--new", *(run.trace for run in new)]
    if ground.options.per == "iteration":
        command[3:3] = ["--per", "iteration"]
    document = json.loads(execute(command, ground.environment))
    truths = [run.truth for run in base], [run.truth for run in new]
    if ground.options.per == "iteration":
        truths = tuple([{key: value / run["iterations"] if key.endswith("_ns") else value for key, value in run.items()}
                        for run in side] for side in truths)
    row = {"change": name, "rounds": list(rounds), "load": round(max(run.load for run in base + new), 1)}
    row["result"] = score.score(name, CHANGES[name], document, truths)
    return row


def percent(value):
    return "-" if value is None else f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def print_line(program, change, rows):
    summary = score.summarise([row["result"] for row in rows])
    print(COLUMNS.format(program, change, summary["repeats"], *(percent(summary[key]) for key in (
        "named", "weak", "contains", "error", "error_max", "mean_error", "proved")),
        f"{summary['others']}/{summary['with_others']}", percent(summary["exact"])), flush=True)
    if summary["refused"]:
        print(f"  refused: {summary['refused']}: {next(row['result']['refused'] for row in rows if 'refused' in row['result'])}")


def print_others(rows):
    """Rows that are called proved and are not the change, each name once."""
    seen = {}
    for row in rows:
        for text in row["result"].get("others", ()):
            seen.setdefault(text.split(",")[0], []).append(text)
    for texts in sorted(seen.values(), key=len, reverse=True):
        print(f"  {len(texts)} × {texts[0]}", flush=True)


def run_program(ground, program, names):
    options = ground.options
    begin = time.monotonic()
    count = options.pool or options.repeats * options.runs
    runs = record_rounds(ground, program, names, count)
    recorded_s = time.monotonic() - begin
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name in names:
            some = list(pool.map(lambda rounds, name=name: compare(ground, name, runs, rounds), choose_rounds(options, count)))
            rows += [{"program": program.name, **row} for row in some]
            print_line(program.name, name, some)
            print_others(some)
    loads = [run.load for some in runs.values() for run in some]
    print(f"# {program.name}: {len(loads)} recordings in {recorded_s:.0f} s, load {min(loads):.1f} to {max(loads):.1f}", flush=True)
    if not options.keep:
        for some in runs.values():
            for run in some:
                os.unlink(run.trace)
    return rows


def run_all(ground, programs, names):
    print(COLUMNS.format(*HEAD), flush=True)
    rows = []
    for name in programs:
        try:
            rows += run_program(ground, PROGRAMS[name], names)
        except Skip as reason:
            print(f"{name}: skipped: {reason}")
    return rows


def choose(what, known, wanted):
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        sys.exit(f"run.py: no {what} {unknown[0]}; there are {', '.join(known)}")
    return wanted or list(known)


def parse_options():
    parser = argparse.ArgumentParser(description="Record programs with and without a planted change and score duet diff.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: build)")
    parser.add_argument("--programs", nargs="+", metavar="NAME", help=f"programs (default: all): {', '.join(PROGRAMS)}")
    parser.add_argument("--changes", nargs="+", metavar="NAME", help=f"changes (default: all): {', '.join(CHANGES)}")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="comparisons of each change (default: 1)")
    parser.add_argument("--runs", type=int, default=7, metavar="R", help="runs a side (default: 7)")
    parser.add_argument("--pool", type=int, default=0, metavar="ROUNDS",
                        help="record only this number of rounds, and draw those of a repeat from them")
    parser.add_argument("--seed", type=int, default=1, help="of the draws from the pool (default: 1)")
    parser.add_argument("--iterations", type=int, default=100, metavar="N", help="iterations of a run (default: 100)")
    parser.add_argument("--per", choices=("run", "iteration"), default="run", help="what duet diff compares (default: run)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="comparisons at once, after the recording (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write each comparison's score")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the traces and what their programs measured")
    parser.add_argument("--reuse", metavar="FOLDER", help="record nothing: compare what --keep kept there")
    return parser.parse_args()


def main():
    options = parse_options()
    options.build = os.path.abspath(options.build)
    options.keep = options.reuse or options.keep
    options.keep = options.keep and os.path.abspath(options.keep)
    if options.pool and options.pool < options.runs:
        sys.exit("run.py: the pool has fewer rounds than a comparison needs")
    programs = choose("program", PROGRAMS, options.programs)
    names = choose("change", CHANGES, options.changes)
    subprocess.run(["ninja", "-C", options.build], stdout=subprocess.DEVNULL, check=True)
    folder = tempfile.mkdtemp(prefix="changes.")
    try:
        rows = run_all(Ground(options, folder), programs, names)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
