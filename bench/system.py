#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What counters cost the recorder, beside what the kernel's own reads cost; and what they say, beside mpstat, iostat and
free. On a machine that does nothing else.

    bench/system.py [--build BUILD] [--seconds N] [--kills N]

Each cost is the processor time of the whole recorder (samplers, writer, its look for new processes) in parts of one
processor, less that of the same recording without counters. With --kills the recorder is killed so many times at a random
moment, and each file is read."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import cost
from say import title

PROCESSES, THREADS = 20, 50


def duet(build):
    return os.path.join(build, "duet")


def recorder(arguments, seconds, command):
    """Processor time of a recorder, as a part of the time it ran."""
    spent = cost.measure([*command, *arguments, "-d", str(seconds)])
    return spent.processor / spent.wall


def difference(build, folder, collect, of, seconds):
    """With counters, less without: the others' cost is not theirs."""
    trace = os.path.join(folder, "cost.duet")
    base = [duet(build), "record", "-o", trace, *of]
    without = recorder(["--collect", "opencl"], seconds, base)
    found = recorder(["--collect", f"opencl,{collect}"], seconds, base)
    report = json.loads(subprocess.run([duet(build), "report", "--json", trace], check=True,
                                       stdout=subprocess.PIPE).stdout)
    return found - without, report


def own(report, name, key="mean"):
    return [row[key] for row in report["metrics"] if row["name"] == "duet.sampler." + name]


def say_cost(what, share, report):
    late = max(own(report, "late", "max"), default=0)
    missed = sum(own(report, "overruns", "sum"))
    print(f"  {what:44} {share:7.2%} of a processor; samplers {sum(own(report, 'cpu')):.2f} %, "
          f"{missed:.0f} ticks missed, at most {late:.2f} ms late")


def start_processes(build):
    command = [os.path.join(build, "tests", "programs", "loads"), "idle", str(THREADS)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
    for process in processes:
        process.stdout.readline()
    return processes


def costs(build, folder, seconds):
    title("processor time of counters")
    share, report = difference(build, folder, "system", ["-a"], seconds)
    say_cost("the machine, 10 Hz", share, report)
    share, report = difference(build, folder, "system:1000", ["-a"], seconds)
    say_cost("the machine, 1000 Hz", share, report)
    processes = start_processes(build)
    pids = [str(process.pid) for process in processes]
    try:
        for collect in ("system", "system:100"):
            share, report = difference(build, folder, collect, ["-p", ",".join(pids)], seconds)
            hz = collect.partition(":")[2] or "10"
            say_cost(f"{PROCESSES} processes of {THREADS + 1} threads, {hz} Hz", share, report)
        floor = subprocess.run([os.path.join(build, "bench", "proc_floor"), "200", *pids], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        numbers = dict(line.split() for line in floor.splitlines())
        for name, hz, what in (("tick", 1000, "to wake up and do nothing"),
                               ("schedstat", 100, f"schedstat of {numbers['threads']} threads"),
                               ("clock", 100, f"the CPU clocks of {len(pids)} processes")):
            print(f"  the kernel alone: {f'{what}, {hz} Hz':39} {int(numbers[name]) * hz / 1e9:7.2%} of a processor")
    finally:
        for process in processes:
            process.stdin.close()
            process.wait()


def mean(report, name, **of):
    for row in report["metrics"]:
        if row["name"] == name and all(row.get(key) == value for key, value in of.items()):
            return row["mean"]
    return None


def burn(seconds):
    return subprocess.Popen([sys.executable, "-c", f"import time\nend = time.time() + {seconds}\nwhile time.time() < end: pass"])


def peers(build, folder, seconds):
    """One of the processors is busy; the peers look over the same time, to 20 ms."""
    title(f"one busy processor for {seconds} s, beside others' opinion")
    trace = os.path.join(folder, "peers.duet")
    busy = burn(seconds + 2)
    time.sleep(0.5)
    recording = subprocess.Popen([duet(build), "record", "-a", "--collect", "system", "-o", trace, "-d", str(seconds)])
    try:
        mpstat = subprocess.run(["mpstat", "-o", "JSON", str(seconds), "1"], check=True, stdout=subprocess.PIPE,
                                env={**os.environ, "S_TIME_FORMAT": "ISO", "LC_ALL": "C"}).stdout
        free = subprocess.run(["free", "-b"], check=True, stdout=subprocess.PIPE, text=True).stdout
    except FileNotFoundError as missing:
        print(f"  {missing.filename} is not installed")
        return
    finally:
        recording.wait()
        busy.wait()
    load = json.loads(mpstat)["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"][0]
    report = json.loads(subprocess.run([duet(build), "report", "--json", trace], check=True,
                                       stdout=subprocess.PIPE).stdout)
    theirs = 100 - load["idle"] - load["iowait"]
    print(f"  busy        {mean(report, 'cpu.busy'):8.2f} %   mpstat {theirs:8.2f} %")
    print(f"  user        {mean(report, 'cpu.user'):8.2f} %   mpstat {load['usr'] + load['nice'] + load['guest']:8.2f} %")
    print(f"  available   {mean(report, 'memory.available'):8.0f} MiB free   "
          f"{int(free.splitlines()[1].split()[6]) / 1048576:8.0f} MiB")


def disk(build, folder, seconds):
    title("64 MiB written with O_DIRECT, beside iostat")
    trace, file = os.path.join(folder, "disk.duet"), os.path.join(folder, "direct")
    program = ("import mmap, os, sys, time\nfd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DIRECT)\n"
               "piece = mmap.mmap(-1, 1 << 20)\ntime.sleep(0.3)\nfor _ in range(64): os.write(fd, piece)\n"
               f"time.sleep({seconds})\n")
    try:
        iostat = subprocess.Popen(["iostat", "-d", "-k", "-o", "JSON", str(seconds), "2"], stdout=subprocess.PIPE)
    except FileNotFoundError:
        print("  iostat is not installed")
        return
    time.sleep(0.2)
    subprocess.run([duet(build), "record", "--collect", "system", "-o", trace, "--", sys.executable, "-c", program, file],
                   check=True)
    found = json.loads(iostat.communicate()[0])["sysstat"]["hosts"][0]["statistics"][1]["disk"]
    report = json.loads(subprocess.run([duet(build), "report", "--json", trace], check=True,
                                       stdout=subprocess.PIPE).stdout)
    for row in report["metrics"]:
        if row["name"] == "disk.write" and row["sum"]:
            theirs = [disk["kB_wrtn"] for disk in found if disk["disk_device"] == row["instance"]]
            print(f"  {row['instance']:12} {row['sum'] / 1048576:8.2f} MiB   iostat {sum(theirs) / 1024:8.2f} MiB")
        if row["name"] == "process.io.write":
            print(f"  the process  {row['sum'] / 1048576:8.2f} MiB")


def kill(build, folder, count):
    title(f"the recorder is killed {count} times")
    unreadable = short = 0
    longest = 0.0
    for i in range(count):
        trace = os.path.join(folder, "killed.duet")
        process = subprocess.Popen([duet(build), "record", "--collect", "system:100", "-o", trace, "--", "sleep", "4"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3 + random.random() * 2.5)
        killed_ns = time.monotonic_ns()
        process.kill()
        process.wait()
        if not os.path.exists(trace):
            short += 1
            continue
        rows = subprocess.run([duet(build), "export", "-f", "csv", "--kind", "counter", "--absolute", trace],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ends = [int(line.split(",")[10]) for line in rows.stdout.splitlines()[1:]]
        if rows.returncode:
            unreadable += 1
            print(f"  {os.path.getsize(trace)} bytes: {rows.stderr.strip()}")
        os.remove(trace)
        missing = (killed_ns - max(ends, default=0)) / 1e9 if ends else 0
        short += not ends
        longest = max(longest, missing)
        if i % 20 == 0:
            print(f"\r  {i}", end="", file=sys.stderr)
    print(f"  {unreadable} unreadable, {short} without a row yet, at most the last {longest:.2f} s missing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(cost.ROOT, "build"))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench.") as folder:
        costs(options.build, folder, options.seconds)
        peers(options.build, folder, options.seconds)
        disk(options.build, folder, options.seconds)
        if options.kills:
            kill(options.build, folder, options.kills)


if __name__ == "__main__":
    main()
