#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What duet costs on a GPU, beside torch.profiler and nsys, and whether they count the same kernels: prints a table.

    gpu_table.py [--duet FILE] [--program FILE] [--rounds N] [--seconds S] [--budget S] [--json FILE] [--simulated FOLDER]
    gpu_table.py --pack FOLDER --duet FILE       duet, its guests and libraries into a folder, for a machine without them

Two workloads: a step of training, and an eager loop of small kernels; of PyTorch (table_work.py) where python3 has it and
it sees a GPU, else of the driver alone (examples/cuda_steps). Each row is a way to run them; in each round every row runs
once, the first one another time each round, so that what the machine does meanwhile hits all alike. Times are the
medians of what the workload measured of its own steps, of which each run does the same number. What is not there (torch,
nsys, an option of duet, rights for counters) is a row without figures that says why, and the status is 0 all the same.

--simulated: over the stand-ins in FOLDER (build/sim/nvidia). It proves this script and nothing about a GPU; each row says so.
Status 1: a run failed that should not have, or kernels were not counted alike. Ends within --budget seconds (560).
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
WORKLOADS = {"step": "training step", "eager": "eager, small kernels"}
# Seconds that a run takes beyond its steps: PyTorch's start, a profiler's end.
AROUND = 25
AGREE = 0.001
TARGETS = {"idle": 0.005, "idle, subscribed": 0.005, "tracing + stacks": 0.03, "tracing + stacks + PC samples": 0.03}

Row = collections.namedtuple("Row", "name options tool", defaults=("duet",))
BESIDE = ("tracing + stacks", "torch.profiler")  # costs less than
ROWS = [
    Row("plain", None, "plain"),
    Row("idle", "nvidia:idle"),
    Row("idle, subscribed", "nvidia:idle-subscribed"),
    Row("tracing", "nvidia:cuda --stacks none"),
    Row("tracing + stacks", "nvidia:cuda"),
    Row("tracing + stacks + PC samples", "nvidia:pc"),
    Row("PM sampling, 1 kHz", "nvidia:pm=1kHz"),
    Row("tracing + stacks, PM 1 kHz", "nvidia:cuda,nvidia:pm=1kHz"),
    Row("torch.profiler", None, "torch"),
    Row("nsys", None, "nsys"),
]


class Absent(Exception):
    """A row that cannot be had here."""


class Failed(Exception):
    """A run that should have worked."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duet", default=os.path.join(ROOT, "build", "duet"))
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "examples", "cuda_steps"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--budget", type=float, default=560)
    parser.add_argument("--json")
    parser.add_argument("--simulated")
    parser.add_argument("--pack")
    return parser.parse_args()


def pack(want):
    """What the loader takes from this machine beside libc goes along: another distribution has other versions."""
    os.makedirs(want.pack, exist_ok=True)
    folder = os.path.dirname(os.path.abspath(want.duet))
    wanted = [want.duet, *glob.glob(os.path.join(folder, "libduet*.so*"))]
    listed = subprocess.run(["ldd", want.duet], capture_output=True, text=True, check=True).stdout
    libc = re.compile(r"/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so")
    wanted += [path for path in re.findall(r"=> (/\S+)", listed) if not libc.search(path)]
    for path in (path for path in wanted if os.path.isfile(path)):
        shutil.copy2(os.path.realpath(path), os.path.join(want.pack, os.path.basename(path)))
    if os.path.exists(want.program):
        shutil.copy2(want.program, want.pack)
    print(f"{want.pack}: {len(wanted)} files; run gpu_table.py --duet {want.pack}/duet --program {want.pack}/cuda_steps")
    return 0


class Table:
    def __init__(self, want):
        self.want, self.begin = want, time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="gpu_table.")
        self.env = dict(os.environ, PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")
        self.env.pop("CUDA_INJECTION64_PATH", None)
        self.inner = []
        if want.simulated:
            # For tests of this script: what a stand-in is to do wrong.
            extra = "," + os.environ["TABLE_SIM"] if os.environ.get("TABLE_SIM") else ""
            self.inner = ["env", f"LD_LIBRARY_PATH={os.path.abspath(want.simulated)}",
                          f"SIM_NVIDIA=log={self.folder}/log,kernel_us=2,latency_us=1" + extra]
        self.bare = self.env.get("LD_LIBRARY_PATH")
        self.has_torch = not want.simulated and self.find_torch()
        self.steps, self.seconds, self.counts = {}, collections.defaultdict(list), {}
        self.absent, self.failed = {}, []

    # ---- what there is ----

    def left(self):
        return self.want.budget - (time.monotonic() - self.begin)

    @staticmethod
    def find_torch():
        code = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
        try:
            return subprocess.run(["python3", "-c", code], capture_output=True, timeout=120, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def options_of_duet(self):
        """It names them where one is asked for that there is not."""
        listed = subprocess.run([self.want.duet, "record", "-o", "/dev/null", "--collect", "nvidia:?", "--", "true"],
                                capture_output=True, text=True, env=self.duet_env(), check=False).stderr
        return set(re.findall(r"nvidia:([a-z-]+)", listed))

    def duet_env(self):
        """A packed duet has its libraries beside it; the program has none of them."""
        env = dict(self.env)
        packed = os.path.dirname(os.path.abspath(self.want.duet))
        if glob.glob(os.path.join(packed, "libprotobuf-c.so*")):
            env["LD_LIBRARY_PATH"] = packed + (":" + self.bare if self.bare else "")
        if self.want.simulated:
            env["LD_LIBRARY_PATH"] = os.path.abspath(self.want.simulated)
            env["SIM_NVIDIA"] = "pm_load=0.5"
        return env

    # ---- one run ----

    def command(self, workload, row):
        steps = [str(self.steps[workload])] if workload in self.steps else []
        work = [self.want.program, workload, str(self.want.seconds), *steps]
        if self.has_torch:
            work = ["python3", os.path.join(HERE, "table_work.py"), *work[1:]]
            work += ["--profiler"] if row.tool == "torch" else []
        if self.inner:
            return self.inner + work
        return ["env", "-u", "LD_LIBRARY_PATH", *work] if self.bare is None else ["env", f"LD_LIBRARY_PATH={self.bare}", *work]

    def around(self, row, trace):
        if row.tool == "duet":
            collect, *more = row.options.split(" ")
            return [self.want.duet, "record", "-o", trace, "--collect", collect, *more, "--"]
        if row.tool == "nsys":
            return ["nsys", "profile", "-o", trace, "--force-overwrite=true", "-t", "cuda"]
        return []

    def run(self, workload, row):
        """(the workload's own line, what duet counted or None)."""
        trace = os.path.join(self.folder, "run.duet" if row.tool == "duet" else "run")
        if os.path.exists(f"{self.folder}/log"):
            os.unlink(f"{self.folder}/log")
        command = self.around(row, trace) + self.command(workload, row)
        limit = max(5, min(self.left(), self.want.seconds * 10 + 2 * AROUND))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=self.duet_env() if row.tool == "duet" else self.env, start_new_session=True)
        try:
            out, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failed(f"{row.name}: it did not end within {limit:.0f} s") from None
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if child.returncode or not lines:
            raise Failed(f"{row.name}: status {child.returncode}: {errors.strip().splitlines()[-1:] or out[-200:]}")
        return json.loads(lines[-1]), self.look(row, trace, errors) if row.tool == "duet" else None

    def look(self, row, trace, errors):
        if "idle" in row.name:
            return None
        if "nvidia:pm" in row.options and "PM sampling" in errors and "no PM sampling" in errors:
            raise Absent(errors.strip().splitlines()[0][:160])
        if "nothing of CUDA is recorded" in errors or ("nvidia:pc" in row.options and "no instructions" in errors):
            raise Absent(next(line for line in errors.splitlines() if "duet: " in line)[:200])
        if "cuda" not in row.options and "pc" not in row.options.split(":")[1]:
            return None
        document = json.loads(subprocess.run([self.want.duet, "report", "--json", trace], capture_output=True, text=True,
                                             env=self.duet_env(), check=False).stdout)  # 4: incomplete
        ledger = document["ledger"]
        return {"kernels": sum(kernel["count"] for kernel in document["kernels"]),
                "kernel_ns": sum(kernel.get("total_ns", 0) for kernel in document["kernels"]),
                "lost": ledger["dropped"] + ledger["rejected"] + ledger["not_executed"] + ledger["in_flight_at_exit"] + ledger["untimed"]}

    def truth(self):
        """Of the stand-ins: what they did."""
        with open(f"{self.folder}/log", encoding="ascii") as file:
            rows = [line.split() for line in file]
        times = [int(row[4]) - int(row[3]) for row in rows if row[0] == "kernel"]
        return {"kernels": len(times), "kernel_ns": sum(times)}

    # ---- all of them ----

    def missing(self, row, options):
        if row.tool == "torch" and not self.has_torch:
            return "python3 has no torch that sees a GPU"
        if row.tool == "nsys" and not shutil.which("nsys"):
            return "nsys is not in PATH"
        if row.tool != "duet":
            return None
        for option in re.findall(r"nvidia:([a-z-]+)", row.options):
            if option not in options:
                return f"this duet has no nvidia:{option}"
        return None

    def one(self, workload, row):
        try:
            line, counts = self.run(workload, row)
        except Absent as problem:
            self.absent[row.name] = str(problem)
            return
        except Failed as problem:
            self.failed.append(f"{WORKLOADS[workload]}: {problem}")
            return
        self.seconds[workload, row.name].append(line["seconds"])
        if row.tool == "torch":
            counts = {key: line[key] for key in ("kernels", "kernel_ns")}
        if counts:
            self.counts.setdefault((workload, row.name), []).append(counts)
        if self.want.simulated and row.name == "tracing + stacks":
            self.counts.setdefault((workload, "the stand-in's log"), []).append(self.truth())

    def measure(self):
        options = self.options_of_duet()
        for row in ROWS:
            why = self.missing(row, options)
            if why:
                self.absent[row.name] = why
        for workload in WORKLOADS:
            try:
                self.steps[workload] = max(1, self.run(workload, ROWS[0])[0]["steps"])
            except Failed as problem:
                self.failed.append(f"{WORKLOADS[workload]}: {problem}")
                return
        cost = (self.want.seconds + (2 if not self.has_torch else AROUND)) * len(WORKLOADS)
        for number in range(self.want.rounds):
            rows = ROWS[number % len(ROWS):] + ROWS[:number % len(ROWS)]
            for row in rows:
                if row.name in self.absent:
                    continue
                if self.left() < cost:
                    print(f"# {self.left():.0f} s are left: the rest of round {number + 1} is not run")
                    return
                for workload in WORKLOADS:
                    self.one(workload, row)

    # ---- the table ----

    def cell(self, workload, row):
        times = self.seconds.get((workload, row.name))
        plain = self.seconds.get((workload, "plain"))
        if not times or not plain:
            return None
        base, value = statistics.median(plain), statistics.median(times)
        return {"seconds": value, "cost": value / base - 1, "runs": len(times), "least": min(times) / base - 1,
                "most": max(times) / base - 1}

    def rows(self):
        for row in ROWS:
            entry = {"name": row.name, "simulated": bool(self.want.simulated)}
            for workload in WORKLOADS:
                entry[workload] = self.cell(workload, row)
            if row.name in self.absent:
                entry["why"] = self.absent[row.name]
            elif not any(entry[workload] for workload in WORKLOADS):
                entry["why"] = "not run: see below"
            yield entry

    def agreements(self):
        """(workload, whose, ours, theirs) of the medians."""
        reference = "the stand-in's log" if self.want.simulated else "torch.profiler"
        for workload in WORKLOADS:
            theirs, ours = (self.counts.get((workload, name)) for name in (reference, "tracing + stacks"))
            if not theirs or not ours:
                continue
            middle = [{key: statistics.median(run[key] for run in runs) for key in ("kernels", "kernel_ns")}
                      for runs in (ours, theirs)]
            lost = max(run["lost"] for run in ours)
            yield {"workload": workload, "beside": reference, "ours": middle[0], "theirs": middle[1], "lost": lost,
                   **{off: beside(middle[0][key], middle[1][key])
                      for off, key in (("count_off", "kernels"), ("time_off", "kernel_ns"))}}


def beside(ours, theirs):
    """How much ours is off: 1 of what they have none of."""
    return ours / theirs - 1 if theirs else float(ours != theirs)


def show(cell):
    if not cell:
        return f"{'-':>34}"
    cost = f"{cell['cost'] * 100:+7.2f} %" if cell["cost"] else f"{'':9}"
    return f"{cell['seconds']:9.3f} s {cost} ({cell['least'] * 100:+.1f}..{cell['most'] * 100:+.1f})".ljust(44)


def verdict(row, rows):
    """"", "target …: met" or "target …: MISSED"."""
    cells = [row[workload] for workload in WORKLOADS if row[workload]]
    target = TARGETS.get(row["name"])
    if not cells or row["simulated"]:
        return ""
    said = []
    if target:
        wanted = cells[:1] if row["name"] == "tracing + stacks" else cells
        said.append(f"target {target * 100:.1f} %: {met(all(cell['cost'] <= target for cell in wanted))}")
    other = rows[BESIDE[1]]
    pairs = [(row[workload], other[workload]) for workload in WORKLOADS if row[workload] and other[workload]]
    if row["name"] == BESIDE[0] and pairs:
        said.append(f"target less than {BESIDE[1]}: {met(all(ours['cost'] < theirs['cost'] for ours, theirs in pairs))}")
    return "".join(f"  {words}" for words in said)


def met(is_met):
    return "met" if is_met else "MISSED"


def print_table(table):
    kind = "PyTorch" if table.has_torch else "the driver's interface (examples/cuda_steps)"
    mark = "  simulated" if table.want.simulated else ""
    print(f"# workloads of {kind}; {table.steps}; medians, cost beside plain (least..most of the runs)")
    if mark:
        print("# SIMULATED: over stand-ins of the driver and CUPTI; no figure here is a GPU's")
    print(f"{'':32}" + "".join(f"{name:44}" for name in WORKLOADS.values()))
    rows = {row["name"]: row for row in table.rows()}
    agreed = True
    for row in rows.values():
        agreed &= "MISSED" not in verdict(row, rows)
        if "why" in row:
            print(f"{row['name']:32}not had: {row['why']}{mark}")
        else:
            print(f"{row['name']:32}" + "".join(show(row[workload]) for workload in WORKLOADS) + verdict(row, rows) + mark)
    compared = set()
    for one in table.agreements():
        good = abs(one["count_off"]) <= AGREE and abs(one["time_off"]) <= AGREE
        agreed &= good
        compared.add(one["workload"])
        print(f"kernels, {WORKLOADS[one['workload']]}: duet {one['ours']['kernels']:.0f}, "
              f"{one['ours']['kernel_ns'] / 1e6:.3f} ms; {one['beside']} {one['theirs']['kernels']:.0f}, "
              f"{one['theirs']['kernel_ns'] / 1e6:.3f} ms: {one['count_off'] * 100:+.3f} %, {one['time_off'] * 100:+.3f} %; "
              f"duet lost {one['lost']}: {'agree' if good else 'DO NOT AGREE'} within {AGREE * 100:.1f} %{mark}")
    if table.want.simulated or table.has_torch:
        for workload in WORKLOADS:
            if workload not in compared:
                agreed = False
                print(f"NOT COMPARED {WORKLOADS[workload]}: nobody else has counted its kernels{mark}")
    for problem in table.failed:
        print(f"FAILED {problem}")
    return agreed and not table.failed


def main():
    want = arguments()
    if want.pack:
        return pack(want)
    if not os.path.exists(want.duet):
        print(f"gpu_table.py: there is no {want.duet}: build duet, or name it (--duet)", file=sys.stderr)
        return 2
    table = Table(want)
    try:
        table.measure()
        good = print_table(table)
        if want.json:
            with open(want.json, "w", encoding="utf-8") as file:
                json.dump({"steps": table.steps, "rows": list(table.rows()), "agreements": list(table.agreements()),
                           "failed": table.failed, "seconds": time.monotonic() - table.begin}, file, indent=1)
    finally:
        shutil.rmtree(table.folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
