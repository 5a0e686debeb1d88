#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast are recordings of other tools imported, next to Python's own readers of the same files?

    bench/import.py [--build DIR] [--before DIR] [--rows N] [--rounds N] [--only NAME,…]

Each file has N launches with their commands: of Nsight Systems (nsys), of rpd (both SQLite), and of
PyTorch (chrome, JSON). A round is `duet import` and the first step of every script that reads such files: all rows of
the same tables by Python's sqlite3, or json.load. --before: another build, which imports the Chrome file in the same
rounds. Printed are medians of wall and processor time, rows or MB per second, ratios and the most memory.
"""
import argparse
import collections
import json
import os
import shutil
import sqlite3
import sys
import tempfile

from cost import ROOT, measure, median

SCHEMAS = {
    "nsys": ("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
             " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,"
             " gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER)",
             "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"
             " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER)"),
    "rpd": ("CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT)",
            "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,"
            " completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER)",
            "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER,"
            " apiName_id INTEGER, args_id INTEGER)",
            "CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER)",
            "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT)"),
}
READ_SQLITE = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    for row in database.execute(f"SELECT * FROM {name}"):
        pass
"""
READ_JSON = "import json, sys; json.load(open(sys.argv[1]))"
KERNELS = [f"void kernel_{i}<float, {i}>(float*, float const*, int)" for i in range(200)]
CALL_NS, GAP_NS, KERNEL_NS = 4000, 6000, 8000


def commands(count):
    """(number, call's begin, command's begin, kernel) of each launch."""
    for i in range(count):
        begin = 1_000_000 + i * (CALL_NS + GAP_NS)
        yield i + 1, begin, begin + CALL_NS + 1000, i * 7 % len(KERNELS)


def write_nsys(path, count):
    database = sqlite3.connect(path)
    for line in SCHEMAS["nsys"]:
        database.execute(line)
    thread, process = 1 << 56 | 77 << 24 | 77, 1 << 56 | 77 << 24
    database.executemany("INSERT INTO StringIds VALUES (?, ?)",
                         [*enumerate(KERNELS, 1), (1000, "cudaLaunchKernel_v7000")])
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?,64,1,1,256,1,1)",
                         ((begin, begin + KERNEL_NS, number, process, name + 1, name + 1)
                          for number, _, begin, name in commands(count)))
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,1000,0)",
                         ((call, call + CALL_NS, thread, number) for number, call, _, _ in commands(count)))
    database.commit()
    return 2 * count


def write_rpd(path, count):
    database = sqlite3.connect(path)
    for line in SCHEMAS["rpd"]:
        database.execute(line)
    database.executemany("INSERT INTO rocpd_string VALUES (?, ?)",
                         [*enumerate(KERNELS, 1), (1000, "hipLaunchKernel"), (1001, "KernelExecution"), (1002, "")])
    database.execute("INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2')")
    database.executemany("INSERT INTO rocpd_op VALUES (?,0,0,0,'',?,?,?,1001)",
                         ((number, begin, begin + KERNEL_NS, name + 1) for number, _, begin, name in commands(count)))
    database.executemany("INSERT INTO rocpd_api VALUES (?,77,77,?,?,1000,1002)",
                         ((number, call, call + CALL_NS) for number, call, _, _ in commands(count)))
    database.executemany("INSERT INTO rocpd_api_ops VALUES (?,?,?)",
                         ((number, number, number) for number, _, _, _ in commands(count)))
    database.commit()
    return 3 * count


def write_chrome(path, count):
    """As PyTorch's profiler writes it: an operator, its launch, its kernel and the flow between the two."""
    with open(path, "w", encoding="ascii") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [\n')
        for number, call, begin, name in commands(count):
            common = f'"External id": {number}, "correlation": {number}'
            file.write(f'{{"ph": "X", "cat": "cpu_op", "name": "aten::op{name}", "pid": 77, "tid": 77, '
                       f'"ts": {call / 1000 - 0.5}, "dur": {CALL_NS / 1000 + 1}, "args": {{"External id": {number}}}}},\n'
                       f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 77, "tid": 77, '
                       f'"ts": {call / 1000}, "dur": {CALL_NS / 1000}, "args": {{"cbid": 211, {common}}}}},\n'
                       f'{{"ph": "X", "cat": "kernel", "name": {json.dumps(KERNELS[name])}, "pid": 0, "tid": 7, '
                       f'"ts": {begin / 1000}, "dur": {KERNEL_NS / 1000}, "args": {{"device": 0, "context": 1, '
                       f'"stream": 7, {common}, "grid": [64, 1, 1], "block": [256, 1, 1]}}}},\n'
                       f'{{"ph": "s", "id": {number}, "pid": 77, "tid": 77, "ts": {call / 1000}, "cat": "ac2g", '
                       f'"name": "ac2g"}},\n'
                       f'{{"ph": "f", "id": {number}, "pid": 0, "tid": 7, "ts": {begin / 1000}, "cat": "ac2g", '
                       f'"name": "ac2g", "bp": "e"}},\n')
        file.write('{"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "python"}}\n]}\n')
    return 3 * count


FORMATS = {"nsys": (write_nsys, READ_SQLITE), "rpd": (write_rpd, READ_SQLITE), "chrome": (write_chrome, READ_JSON)}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def run(self, name):
        write, reader = FORMATS[name]
        path, trace = os.path.join(self.folder, name), os.path.join(self.folder, "run.duet")
        rows = write(path, self.options.rows)
        commands_by = {"duet": [os.path.join(self.options.build, "duet"), "import", "-f", name, "-o", trace, path],
                       "python": [sys.executable, "-c", reader, path]}
        if self.options.before and name == "chrome":
            commands_by["before"] = [os.path.join(self.options.before, "duet"), *commands_by["duet"][1:]]
        costs = collections.defaultdict(list)
        for _ in range(self.options.rounds):
            for who, command in commands_by.items():
                costs[who].append(measure(command))
        self.show(name, rows, os.path.getsize(path), costs)
        os.remove(path)

    @staticmethod
    def show(name, rows, size, costs):
        ours = costs["duet"]
        for who, some in costs.items():
            wall = median(some, "wall")
            print(f"{name:7} {who:7} {wall:7.2f} s {median(some, 'processor'):7.2f} s of processors "
                  f"{rows / wall / 1e6:6.2f} M rows/s {size / wall / 1e6:6.0f} MB/s "
                  f"{max(cost.memory_mib for cost in some):6.0f} MiB {wall / median(ours, 'wall'):6.2f} times duet's time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--before", help="the build folder of another version")
    parser.add_argument("--rows", type=int, default=1_000_000, help="launches of each file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(FORMATS))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bench.")
    try:
        for name in options.only.split(","):
            Bench(options, folder).run(name)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
