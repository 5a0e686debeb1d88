#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The diagnosis benchmark: programs with a planted cause are recorded, and the verdict is compared with what they say.

    tests/diagnosis/run.py [--build FOLDER] [--programs NAME...] [--seeds N] [--load N] [--clean] [--gpus] [--pairs]
                           [--four] [--json FILE] [--keep FOLDER] [--idle] [--list]

Prints a table of scores. README.md explains the columns.
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import catalogue  # noqa: E402
import score  # noqa: E402
from catalogue import Skip  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(catalogue.HERE))
SKIPPED = 77
PATIENCE_S = 300
COLUMNS = "{:<34} {:>5} {:>7} {:>7} {:>8} {:>7} {:>7}  {}"


class Ground:
    """The folders of a run of the benchmark, and the program under test."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.duet = os.path.join(options.build, "duet")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("DUET_", "DIAGNOSIS_"))}
        self.environment.update(LC_ALL="C.UTF-8", POCL_CACHE_DIR=os.path.join(folder, "pocl"), TMPDIR=folder)
        os.makedirs(self.environment["POCL_CACHE_DIR"])
        self.warmed = set()

    def trace(self, name, seed):
        if self.options.keep:
            return os.path.join(self.options.keep, f"{name}.{seed}.{'clean.' if self.options.clean else ''}duet")
        return os.path.join(self.folder, "trace.duet")


@contextlib.contextmanager
def competing(count):
    """Processes that compute all the time."""
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            parent = os.getppid()
            while os.getppid() == parent:
                sum(range(10000))
            os._exit(0)
        children.append(child)
    try:
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@contextlib.contextmanager
def control_group(limits):
    """A new control group with a CPU quota, version 2 or 1; gives the file that takes a process, or None."""
    if not limits:
        yield None
        return
    quota, period = limits
    name = f"duet-diagnosis-{os.getpid()}"
    for parent, settings in (("/sys/fs/cgroup", {"cpu.max": f"{quota} {period}"}),
                             ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(quota)})):
        folder = os.path.join(parent, name)
        try:
            if not os.path.exists(os.path.join(parent, "cgroup.procs")):
                continue
            os.mkdir(folder)
        except OSError:
            continue
        try:
            for file, text in settings.items():
                write(os.path.join(folder, file), text)
        except OSError:
            os.rmdir(folder)
            continue
        try:
            yield os.path.join(folder, "cgroup.procs")
        finally:
            remove_group(folder)
        return
    raise Skip("no control group with a CPU quota can be made")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def remove_group(folder):
    for _ in range(50):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
            return
        time.sleep(0.1)


def execute(command, environment, group=None):
    """(status, stderr) of a command that may take PATIENCE_S."""
    def enter():
        if group:
            write(group, str(os.getpid()))
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True, preexec_fn=enter)
    try:
        errors = process.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return 124, "no end"
    return process.returncode, errors.decode("utf-8", "replace")


def read_truths(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def report(ground, trace):
    done = subprocess.run([ground.duet, "report", "--json", trace], capture_output=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"duet report: status {done.returncode}: {done.stderr.decode('utf-8', 'replace')}") from None


def warm_up(ground, program, seed, environment):
    """Fills PoCL's cache of kernels, and the page cache."""
    command = program.command(ground.options.build, seed)
    if tuple(command[:2]) in ground.warmed:
        return
    ground.warmed.add(tuple(command[:2]))
    execute(command, {**environment, "DIAGNOSIS_ITERATIONS": "1", "DIAGNOSIS_CLEAN": "1",
                      "DIAGNOSIS_TRUTH": os.path.join(ground.folder, "warm")})


def record(ground, program, seed):
    """(the report, the truths) of one run. The load of the machine is measured while it runs."""
    trace, truth = ground.trace(program.name, seed), os.path.join(ground.folder, "truth")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(truth)
    environment = {**ground.environment, **program.environment(), "SEED": str(seed)}
    warm_up(ground, program, seed, environment)
    environment["DIAGNOSIS_TRUTH"] = truth
    is_clean = ground.options.clean
    if is_clean:
        environment["DIAGNOSIS_CLEAN"] = "1"
    command = [ground.duet, "record", *program.record_options, "-o", trace, "--", *program.command(ground.options.build, seed)]
    with control_group(None if is_clean else program.throttle) as group:
        status, errors = execute(command, environment, group)
    if status == SKIPPED:
        raise Skip("the program cannot plant its cause here")
    if status:
        raise AssertionError(f"status {status}: {errors[-2000:]}")
    return report(ground, trace), [{**one, "competing": ground.options.load} for one in read_truths(truth)]


def judge(options, document, truths):
    verdict = document.get("verdict")
    if options.clean:
        result = score.score_clean(verdict, truths)
        result["findings"] = [finding["id"] for finding in document.get("findings", [])]
        return result
    return score.score_single(verdict, truths[0]) if len(truths) == 1 else score.score_several(verdict, truths)


def run_program(ground, program, seed):
    row = {"program": program.name, "seed": seed, "competing": ground.options.load, "clean": ground.options.clean}
    try:
        document, truths = record(ground, program, seed)
        row.update(judge(ground.options, document, truths), truths=truths, verdict=document.get("verdict"),
                   load_average=os.getloadavg()[0])
        if ground.options.idle:
            print_idle(program, document, truths)
    except Skip as reason:
        row["skipped"] = str(reason)
    except AssertionError as problem:
        row["failed"] = str(problem)
    return row


def print_idle(program, document, truths):
    """The truth beside the account of the device with the most executions."""
    device = max(document["devices"], key=lambda one: one["executions"], default=None)
    causes = sorted(((device or {}).get("idle_causes") or {}).items(), key=lambda item: -item[1])[:5]
    planted = ", ".join(f"{one['name']} {one['ns'] / 1e6:.1f} ms (wall {one['wall_ns'] / 1e6:.1f})" for one in truths)
    print(f"  {program.name}: planted {planted} in {truths[0]['loop_ns'] / 1e6:.0f} ms; idle: " +
          ", ".join(f"{key} {ns / 1e6:.1f}" for key, ns in causes))


def kinds_seen(rows):
    counts = {}
    for row in rows:
        counts[row["kind"]] = counts.get(row["kind"], 0) + 1
    return " ".join(f"{kind}:{count}" for kind, count in sorted(counts.items(), key=lambda item: -item[1]))


def print_line(name, rows):
    summary = score.summarise(rows)
    print(COLUMNS.format(name, summary["runs"], *(f"{summary[column]:.0%}" for column in
                                                  ("named", "line", "unknown", "wrong", "amount")), kinds_seen(rows)), flush=True)


def print_single(name, rows):
    print_line(name, rows)
    return rows


def print_several(name, rows):
    order = sum(row["in_order"] for row in rows)
    found = sum(row["found"] for row in rows)
    scores = [one for row in rows for one in row["scores"]]
    print_line(name, scores)
    print(f"  in order {order}/{len(rows)}, found {found}/{sum(row['of'] for row in rows)}", flush=True)
    return scores


def print_clean(name, rows):
    clean = sum(row["clean"] for row in rows)
    findings = sorted({finding for row in rows for finding in row["findings"]})
    false = sorted({one["kind"] for row in rows for one in row["false"]})
    print(f"{name:<34} {clean}/{len(rows)} clean  {' '.join(false)}  findings: {' '.join(findings) or '-'}", flush=True)
    return []


def run_all(ground, chosen):
    """All rows. The table's lines are printed as they come."""
    options, everything, scores = ground.options, [], []
    if not options.clean:
        print(COLUMNS.format("program", "runs", "named", "line", "unknown", "wrong", "amount", "kinds of the verdict"))
    for program in chosen:
        rows = [run_program(ground, program, seed) for seed in range(options.seed, options.seed + options.seeds)]
        everything += rows
        good = [row for row in rows if "skipped" not in row and "failed" not in row]
        for row in rows:
            if row not in good:
                print(f"{program.name:<34} {'skipped: ' + row['skipped'] if 'skipped' in row else 'FAILED: ' + row['failed']}")
        if good:
            show = print_clean if options.clean else print_single if len(program.causes) == 1 else print_several
            scores += show(program.name, good)
    print_total(options, everything, scores)
    return everything


def print_total(options, rows, scores):
    if scores:
        print_line("all", scores)
    if options.clean:
        good = [row for row in rows if "clean" in row and "false" in row]
        print(f"{sum(row['clean'] for row in good)} of {len(good)} runs clean")
    several = [row for row in rows if "in_order" in row]
    if several:
        print(f"{sum(row['in_order'] for row in several)} of {len(several)} runs in order")
    lost = sum("skipped" in row for row in rows), sum("failed" in row for row in rows)
    print(f"# {len(rows)} runs, {lost[0]} skipped, {lost[1]} failed; {options.load} competing threads, "
          f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")


def choose(options):
    if options.programs:
        unknown = [name for name in options.programs if name not in catalogue.ALL]
        if unknown:
            sys.exit(f"run.py: no program {unknown[0]}; --list prints them")
        return [catalogue.ALL[name] for name in options.programs]
    chosen = [(options.gpus, catalogue.GPUS), (options.pairs, catalogue.PAIRS), (options.four, catalogue.FOURS)]
    if any(is_wanted for is_wanted, _ in chosen):
        return [program for is_wanted, table in chosen if is_wanted for program in table.values()]
    return list(catalogue.SINGLE.values())


def parse_options():
    parser = argparse.ArgumentParser(description="Record programs with planted causes and score the verdict.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (default: build)")
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="programs (default: all with one cause)")
    parser.add_argument("--seeds", type=int, default=1, help="runs per program (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument("--load", type=int, default=0, help="competing busy processes (default: 0)")
    parser.add_argument("--clean", action="store_true", help="run the programs with nothing planted")
    parser.add_argument("--pairs", action="store_true", help="run the programs with two causes")
    parser.add_argument("--four", action="store_true", help="run the program with four causes")
    parser.add_argument("--gpus", action="store_true", help="run the programs on the simulated NVIDIA and AMD GPUs")
    parser.add_argument("--json", metavar="FILE", help="write each run's score, truth and verdict")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the traces")
    parser.add_argument("--idle", action="store_true", help="print the planted amount beside the device's account")
    parser.add_argument("--no-build", action="store_true", help="do not build the programs first")
    parser.add_argument("--list", action="store_true", help="print the names of the programs")
    return parser.parse_args()


def main():
    options = parse_options()
    if options.list:
        print("\n".join(catalogue.ALL))
        return 0
    options.build = os.path.abspath(options.build)
    if not options.no_build:
        subprocess.run(["ninja", "-C", options.build, "diagnosis"], stdout=subprocess.DEVNULL, check=True)
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="diagnosis.")
    try:
        with competing(options.load):
            rows = run_all(Ground(options, folder), choose(options))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if any("failed" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
