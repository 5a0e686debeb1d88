#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record --trigger: planted iterations against the program's own clock, other triggers, and recordings whose
recorder or program is killed.

TRIGGER_RUNS and TRIGGER_KILLS give the number of runs with a planted iteration (2) and of kills of each kind (3).
"""
import array
import bisect
import glob
import json
import os
import random
import re
import signal
import time

import duet_test
from duet_test import DUET, Running, program, run, text

t = duet_test.Suite()
RUNS = int(os.environ.get("TRIGGER_RUNS", "2"))
KILLS = int(os.environ.get("TRIGGER_KILLS", "3"))
RANDOM = random.Random(int(os.environ.get("TRIGGER_SEED", "25")))
FLUSH_NS = 200_000_000  # of a recording with triggers
TICK_NS = 100_000_000  # between two looks of the recorder at what must be written
CLOCK_ERROR_NS = 20_000
FIRING = re.compile(r"duet: trigger '(.*)' at ([0-9.]+) s: (.*); (wrote (.*)|not written.*)")


def loop(count, pause_us, slow, slow_ms, times, *status):
    return [program("slow_iteration"), str(count), str(pause_us), str(slow), str(slow_ms), times, *status]


def times_of(path):
    """Begin of each iteration and the end of the last one, ns, as far as the program came."""
    times = array.array("Q")
    with open(path, "rb") as file:
        times.frombytes(file.read())
    while times and not times[-1]:
        times.pop()
    return times


def launches_of(path):
    """Begins of the launches in a trace, ns of CLOCK_MONOTONIC, and its begin and end."""
    about = run([DUET, "info", "--json", path])
    t.equal(about.status, 0, f"{path}: info: {text(about.stderr)}")
    about = json.loads(about.stdout)
    rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", path])
    found, begin_ns = [], about["begin_ns"]
    for line in rows.stdout.splitlines():
        row = json.loads(line)
        if row["kind"] == "host":  # times of an export are relative to the begin of the part that was kept
            begin_ns = about["begin_ns"] - row["begin_ns"]
        elif row["kind"] == "launch":
            found.append(row["enter"] + begin_ns)
        elif row["kind"] == "loss":
            t.fail(f"{path}: {row}")
    return sorted(found), begin_ns, about["end_ns"], about


def firings(stderr):
    """[(expression, reason, file or None)]"""
    return [(match[1], match[3], match[5]) for match in map(FIRING.match, text(stderr).splitlines()) if match]


def percentile(durations, share):
    return sorted(durations)[min(int(share * len(durations)), len(durations) - 1)]


def count_launches(launches, clock, number):
    """Those of an iteration. The first one follows the program's look at its clock by 0.1 us, less than the recording's
    clocks are exact; the last one comes long before the end."""
    return (bisect.bisect(launches, clock[number + 1] - CLOCK_ERROR_NS) -
            bisect.bisect(launches, clock[number] - CLOCK_ERROR_NS))


def check_whole(path, times, number):
    """The file has the iteration with its three launches."""
    launches, begin, end, about = launches_of(path)
    t.true(begin <= times[number] and end >= times[number + 1],
           f"{path} has all of iteration {number}: {begin} <= {times[number]}, {times[number + 1]} <= {end}")
    t.equal(count_launches(launches, times, number), 3, f"{path}: launches in iteration {number}")
    reasons = [row["reason"] for row in t.report(path)["triggers"]]
    t.true(any(f"iteration {number} took" in reason for reason in reasons), f"{path}: its reason: {reasons}")
    lines = text(run([DUET, "report", path]).stdout).splitlines()
    t.true("TRIGGER" in lines and reasons[-1] in " ".join(lines), f"{path}: the report begins with its reason")
    t.equal(run([DUET, "report", path]).status, 0, f"{path} has a report")


def check_truth(fired, times):
    """Returns the smallest ratio of an iteration and its limit by the program's clock. The program's own clock agrees that an iteration was slow: it, or one beside it, since a pause between the clock and
    the launch belongs to the one before."""
    durations, least = [b - a for a, b in zip(times, times[1:])], 99.0
    for expr, reason, _ in fired:
        number = int(re.match(r"iteration (\d+) took", reason)[1])
        factor = float(re.match(r"iteration > ([0-9.]+) x p99", expr)[1])
        limit = factor * percentile(durations[max(0, number - 1000):number], 0.99)
        longest = max(durations[max(0, number - 1):number + 2])
        t.true(longest >= 0.9 * limit, f"'{expr}': '{reason}': by the program's clock {longest / 1e6:.3f} ms, "
               f"its limit {limit / 1e6:.3f} ms")
        least = min(least, longest / limit)
    return least


with t.case(f"a planted iteration among 10,000 is found and recorded whole ({RUNS} runs)"):
    t.wanted()
    for turn in range(RUNS):
        slow = RANDOM.randrange(100, 9990)
        times, output = t.path("times"), t.path(f"planted-{turn}.duet")
        result = run([DUET, "record", "-v", "-o", output, "--keep", "3", "--trigger", "iteration > 8 x p99",
                      "--trigger-interval", "10ms", "--trigger-max", "1000",
                      "--", *loop(10000, 300, slow, 300, times)])
        t.equal(result.status, 0, f"status: {text(result.stderr)}")
        clock, fired = times_of(times), firings(result.stderr)
        planted = [row for row in fired if row[1].startswith(f"iteration {slow} took")]
        t.equal(len(planted), 1, f"run {turn}: firings of iteration {slow}; all: {fired}")
        check_truth(fired, clock)
        if planted and planted[0][2]:
            check_whole(planted[0][2], clock, slow)
        else:
            t.fail(f"run {turn}: no file: {text(result.stderr)}")
        for name in os.listdir(t.folder):
            if ".trigger-" in name:
                os.unlink(t.path(name))

with t.case(f"the program's own clock contradicts no firing ({RUNS} runs)"):
    t.wanted()
    count, least = 0, 99.0
    for turn in range(RUNS):
        times = t.path("times")
        result = run([DUET, "record", "-v", "-o", t.path("truth.duet"), "--keep", "3", "--trigger", "iteration > 3 x p99",
                      "--trigger", "iteration > 1.5 x p99", "--trigger-max", "1", "--", *loop(10000, 100, 20000, 0, times)])
        fired = firings(result.stderr)
        count += len(fired)
        least = min(least, check_truth(fired, times_of(times)))
    print(f"# {count} firings; by the program's clock an iteration took {least:.2f} times its limit or more")

with t.case("a short --keep: idle gaps fire at once, and a crash has a file after the others had all of theirs"):
    t.wanted()
    output, times = t.path("short.duet"), t.path("times")
    result = run([DUET, "record", "-o", output, "--keep", "1", "--trigger", "idle > 150ms", "--trigger", "exit-status != 0",
                  "--trigger-max", "1", "--trigger-run", "exit 5", "--", "sh", "-c",
                  '"$@"; exit 9', "sh", *loop(1600, 2000, 200, 200, times)])
    fired = firings(result.stderr)
    gaps = [row for row in fired if row[0] == "idle > 150ms"]
    t.true(gaps and gaps[0][2], f"the planted gap, 2.8 s before the end: {text(result.stderr)}")
    t.equal([row[2] for row in fired if row[0] == "exit-status != 0"], [t.path("short.trigger-2.duet")],
            f"the exit status: {text(result.stderr)}")
    t.true("command failed with status 5" in text(result.stderr), f"the command: {text(result.stderr)}")

with t.case("exit status, and a command for each file"):
    t.wanted()
    output, times, ran = t.path("status.duet"), t.path("times"), t.path("ran")
    result = run([DUET, "record", "-o", output, "--trigger", "exit-status != 0", "--trigger-run",
                  f'echo "$DUET_TRIGGER_FILE|$DUET_TRIGGER_REASON" >> {ran}; sleep 30', "--",
                  *loop(100, 100, 1000, 0, times, "3")])
    t.equal(result.status, 3, "status")
    fired = firings(result.stderr)
    t.equal([row[1:] for row in fired], [("the program exited with status 3", t.path("status.trigger-1.duet"))],
            f"firing: {text(result.stderr)}")
    t.true(result.seconds < 20, f"the command was not waited for: {result.seconds} s")
    end = time.monotonic() + 20
    while not os.path.exists(ran) and time.monotonic() < end:
        time.sleep(0.05)
    with open(ran, encoding="utf-8") as file:
        name, reason = file.read().strip().split("|")
    t.equal(name, t.path("status.trigger-1.duet"), "DUET_TRIGGER_FILE")
    t.true(reason.endswith("the program exited with status 3"), f"DUET_TRIGGER_REASON: {reason}")
    launches, _, _, _ = launches_of(name)
    t.equal(len(launches), 300, "launches in the file")
    result = run([DUET, "record", "-o", output, "--trigger", "exit-status != 0", "--",
                  *loop(10, 100, 1000, 0, times)])
    t.equal((result.status, firings(result.stderr)), (0, []), "a status of 0")

with t.case("a signal to the recorder, and idle time of a device"):
    t.wanted()
    output, times = t.path("signal.duet"), t.path("times")
    running = Running([DUET, "record", "-v", "-o", output, "--keep", "2", "--trigger", "signal USR2", "--trigger",
                       "idle > 400ms", "--trigger-after", "0.2", "--trigger-output", t.path("part-%n.duet"), "--",
                       *loop(2000, 1000, 1500, 600, times)])
    running.program_pid("slow_iteration")
    time.sleep(0.5)
    running.kill(signal.SIGUSR2)
    result = running.finish()
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    fired = firings(result.stderr)
    t.equal([row[1:] for row in fired if row[0] == "signal USR2"],
            [("duet received the signal", t.path("part-1.duet"))], "the signal")
    clock = times_of(times)
    gaps = [row for row in fired if row[0] == "idle > 400ms"]
    t.true(len(gaps) >= 1, f"the idle gap: {text(result.stderr)}")
    longest = [b - a for a, b in zip(clock, clock[1:]) if b - a > 390_000_000]
    t.true(len(gaps) <= len(longest), f"gaps {gaps}, iterations {longest}")
    t.true("looking for them took" in text(result.stderr), "-v shows the cost")

with t.case("kernels, a maximum of files, a minimum distance"):
    t.wanted()
    output, times = t.path("max.duet"), t.path("times")
    result = run([DUET, "record", "-o", output, "--keep", "1", "--trigger", "kernel:twi* > 1ns", "--trigger-max", "2",
                  "--trigger-interval", "300ms", "--trigger-after", "0.1", "--", *loop(1500, 1000, 5000, 0, times)])
    fired = firings(result.stderr)
    t.equal([row[2] for row in fired], [t.path("max.trigger-1.duet"), t.path("max.trigger-2.duet")],
            f"files: {text(result.stderr)}")
    t.true("no file, because less than 300.0 ms had passed" in text(result.stderr), f"counted: {text(result.stderr)}")
    t.true("because 2 were written or too many came at once" in text(result.stderr), f"counted: {text(result.stderr)}")

with t.case("a file that cannot be written does not count; a command has no limit of the watcher's"):
    t.wanted()
    missing, ran = t.path("missing"), t.path("limit")
    running = Running([DUET, "record", "-o", t.path("failed.duet"), "--trigger", "signal USR1", "--trigger-max", "1",
                       "--trigger-output", os.path.join(missing, "%n.duet"), "--trigger-after", "0.1",
                       "--trigger-run", f"ulimit -d > {ran}", "--", *loop(4000, 500, 20000, 0, t.path("times"))])
    running.program_pid("slow_iteration")
    time.sleep(0.5)
    running.kill(signal.SIGUSR1)
    time.sleep(0.7)
    os.mkdir(missing)
    running.kill(signal.SIGUSR1)
    result = running.finish()
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    t.equal(text(result.stderr).count("not written: "), 1, f"the first file: {text(result.stderr)}")
    t.equal(os.listdir(missing), ["2.duet"], "the second file")
    end = time.monotonic() + 20
    while not (os.path.exists(ran) and os.path.getsize(ran)) and time.monotonic() < end:
        time.sleep(0.05)
    with open(ran, encoding="ascii") as file:
        t.equal(file.read(), text(run(["sh", "-c", "ulimit -d"]).stdout), "limit of the command's data")

with t.case("triggers of a configuration file, and mistakes"):
    t.wanted()
    config, output, times = t.path("site.textproto"), t.path("config.duet"), t.path("times")
    with open(config, "w", encoding="utf-8") as file:
        file.write('trigger: ["exit-status == 0", "metric:no.such* > 5"]\nkeep: "5s" trigger_max: 3\n')
    result = run([DUET, "record", "-c", config, "-o", output, "--", *loop(10, 100, 1000, 0, times)])
    t.equal([row[0] for row in firings(result.stderr)], ["exit-status == 0"], f"{text(result.stderr)}")
    t.true("trigger 'metric:no.such* > 5': no metric of this name was recorded; duet list" in text(result.stderr),
           f"a name that is missing: {text(result.stderr)}")
    result = run([DUET, "record", "-c", config, "--print-config", "--trigger-after", "2"])
    t.true(b'trigger: ["exit-status == 0", "metric:no.such* > 5"]' in result.stdout and
           b'trigger_after: "2s"' in result.stdout, f"printed: {text(result.stdout)}")
    for options, words in ((["--trigger", "iteration > 3"], "--trigger: 'iteration > 3': column 14: the time has no unit"),
                           (["--trigger-max", "3"], "--trigger-max: needs a --trigger"),
                           (["--trigger", "throttled", "--keep", "0.5"], "--keep: at least 1 s"),
                           (["--trigger", "throttled", "--trigger-output", "x.duet"], "lacks %n"),
                           (["--trigger", "throttled", "--trigger-max", "0"], "from 1 to")):
        result = run([DUET, "record", *options, "--", "true"])
        t.equal(result.status, 125, f"{options}: status")
        t.true(words in text(result.stderr), f"{options}: {text(result.stderr)}")
    with open(config, "w", encoding="utf-8") as file:
        file.write('trigger: "idle > 5"\n')
    result = run([DUET, "record", "-c", config, "--", "true"])
    t.true(f"{config}:1:10: trigger: 'idle > 5': column 9" in text(result.stderr), f"place: {text(result.stderr)}")


with t.case("a simulated GPU that is throttled, and its metrics"):
    t.wanted()
    stand_ins = os.path.join(duet_test.BUILD, "sim", "nvidia")
    if not glob.glob(os.path.join(stand_ins, "libnvidia-ml.so*")):
        raise duet_test.Skip("the stand-in for NVML is not built")
    # 68: power cap and hardware thermal slowdown. 20 GB of 150.8 GB are 13.3 %.
    triggers = ["throttled", "metric:gpu.memory.used > 13 %", "metric:gpu.memory.used > 14 %",
                "metric:gpu.power > 340 W", "metric:gpu.power > 350000 mW", "metric:gpu.clock.sm < 2 GHz",
                "metric:gpu.power > 5 MB"]
    options = [word for expr in triggers for word in ("--trigger", expr)]
    result = run([DUET, "record", "-v", "-o", t.path("gpu.duet"), "--collect", "nvidia", *options, "--", "sleep", "1.5"],
                 env={"LD_LIBRARY_PATH": stand_ins, "SIM_NVIDIA": "nvml_load=0.5,nvml_reasons=68"})
    fired = firings(result.stderr)
    t.equal(sorted({row[0] for row in fired}), sorted([triggers[0], triggers[1], triggers[3], triggers[5]]),
            f"expressions that are true: {text(result.stderr)}")
    t.equal(sorted(row[1].split(": ")[-1] for row in fired if row[0] == "throttled"),
            ["hardware thermal slowdown", "power cap"], "reasons, each once")
    t.true("metric gpu.power is in W; write the limit in that unit" in text(result.stderr),
           f"a wrong unit: {text(result.stderr)}")
    result = run([DUET, "record", "-v", "-o", t.path("gpu.duet"), "--collect", "nvidia", "--trigger", "throttled", "--",
                  "sleep", "1"], env={"LD_LIBRARY_PATH": stand_ins, "SIM_NVIDIA": "nvml_load=0.01"})
    t.equal(firings(result.stderr), [], "an idle GPU is not throttled")


def watchers():
    """Pids of the processes that look for triggers."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() == "duet-watcher":
                    found.append(int(pid))
        except OSError:
            pass
    return found


with t.case("the program inherits nothing of the watcher, which has a low priority and dies with the recorder"):
    t.wanted()
    running = Running([DUET, "record", "-o", t.path("fds.duet"), "--trigger", "idle > 100s", "--",
                       *loop(1000000, 1000, 2000000, 0, t.path("times"))])
    pid = running.program_pid("slow_iteration")
    own = [child for child in running.children() if child in watchers()]
    t.equal(len(own), 1, "one watcher")
    time.sleep(0.5)
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    t.true(not any(link.endswith("fds.duet") for link in links), f"descriptors of the program: {links}")
    links = sorted(os.readlink(f"/proc/{own[0]}/fd/{fd}") for fd in os.listdir(f"/proc/{own[0]}/fd"))
    t.equal([link for link in links if not link.startswith("socket:")],
            ["/dev/null"] * 3 + [t.path("fds.duet")] * 2, "descriptors of the watcher")
    t.equal(os.getpriority(os.PRIO_PROCESS, own[0]), 10, "its priority")
    running.kill(signal.SIGKILL)
    end = time.monotonic() + 10
    while own[0] in watchers() and time.monotonic() < end:
        time.sleep(0.02)
    t.true(own[0] not in watchers(), "it died with the recorder")
    os.kill(pid, signal.SIGKILL)
    running.finish()


with t.case("a recording goes on without the watcher"):
    t.wanted()
    running = Running([DUET, "record", "-o", t.path("alone.duet"), "--trigger", "idle > 1ns", "--trigger", "signal USR1",
                       "--trigger-after", "0.1", "--", *loop(3000, 500, 20000, 0, t.path("times"), "4")])
    running.program_pid("slow_iteration")
    own = [child for child in running.children() if child in watchers()]
    os.kill(own[0], signal.SIGKILL)
    time.sleep(0.5)
    running.kill(signal.SIGUSR1)
    result = running.finish()
    t.equal(result.status, 4, "status of the program")
    t.true("the process that looks for them has ended unexpectedly" in text(result.stderr), text(result.stderr))
    t.equal([row[1] for row in firings(result.stderr) if row[0] == "signal USR1"], ["duet received the signal"],
            f"the signal: {text(result.stderr)}")
    launches, _, _, _ = launches_of(t.path("alone.duet"))
    t.equal(len(launches), 9000, "launches of the recording")


# ---- kill -9 ----

with t.case("a watcher that falls behind: the time that it missed is said, and noted in the recording"):
    t.wanted()
    times, output = t.path("times"), t.path("behind.duet")
    running = Running([DUET, "record", "-o", output, "--keep", "1", "--trigger", "iteration > 1000 x p99", "--",
                       *loop(5000, 2000, -1, 0, times)])
    end = time.monotonic() + 20
    while (not os.path.exists(output) or time.monotonic() < end - 18) and time.monotonic() < end:
        time.sleep(0.05)
    [own] = [child for child in running.children() if child in watchers()]
    os.kill(own, signal.SIGSTOP)
    time.sleep(7)
    os.kill(own, signal.SIGCONT)
    result = running.finish(120)
    said = re.search(r"duet: triggers: ([0-9.]+) s from [0-9.]+ s on were not looked at", text(result.stderr))
    t.true(said and 1.5 <= float(said[1]) <= 6, f"what was missed: {text(result.stderr)}")
    about = json.loads(run([DUET, "info", "--json", output]).stdout)
    notes = [row["reason"] for row in about["collectors"] if row["name"] == "trigger"]
    t.true(any("were not looked at" in note for note in notes), f"a note: {about['collectors']}")


def killed(whom, number):
    """Kills the program or the recorder of a recording at a random time. Returns the time of the first launches that are
    missing at the end, before the kill, in ns."""
    output, times = t.path(f"{whom}-{number}.duet"), t.path("times")
    keep_ns = 1_000_000_000
    running = Running([DUET, "record", "-o", output, "--keep", "1", "--trigger", "idle > 100s", "--trigger-after", "10ms",
                       "--", *loop(1000000, 500, 2000000, 0, times)])
    pid = running.program_pid("slow_iteration")
    time.sleep(RANDOM.uniform(0.3, 6))
    at = time.monotonic_ns()
    if whom == "program":
        os.kill(pid, signal.SIGKILL)
        running.finish()
    else:
        running.kill(signal.SIGKILL)
        dead = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        running.finish()
        t.true(dead - at < 5_000_000_000, "the recorder died at once")
    clock = times_of(times)
    if len(clock) < 20:
        return 0  # the program had hardly begun
    launches, begin, _, _ = launches_of(output)
    t.true(begin <= max(clock[0], at - keep_ns), f"{output} begins {(at - begin) / 1e9:.3f} s before the kill")
    # iterations that the file should have, without the one that was running
    first = bisect.bisect(clock, max(clock[0] - 1, at - keep_ns))
    missing = 0
    for i in range(first, bisect.bisect(clock, at) - 2):
        if count_launches(launches, clock, i) != 3:
            missing = at - clock[i]
            break
    t.equal(run([DUET, "report", output]).status in (0, 4), True, f"{output} has a report")
    os.unlink(output)
    return missing


with t.case(f"the last seconds are readable after kill -9 ({KILLS} of the program, {KILLS} of the recorder)"):
    t.wanted()
    lost = {whom: [killed(whom, i) for i in range(KILLS)] for whom in ("program", "recorder")}
    for whom, losses in lost.items():
        print(f"# {whom} killed {len(losses)} times: {max(losses) / 1e6:.1f} ms are missing at most, "
              f"median {percentile(losses, 0.5) / 1e6:.1f} ms")
    t.true(max(lost["program"]) == 0, f"nothing is missing if the program is killed: {lost['program']}")
    t.true(max(lost["recorder"]) <= duet_test.PATIENCE * (FLUSH_NS + TICK_NS) + 50_000_000,
           f"at most the flush interval is missing if the recorder is killed: {lost['recorder']}")

t.end()
