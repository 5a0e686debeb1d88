#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Soak test of duet agent: short processes, control groups of containers, a full disk, steps of the clock, kill -9.

Needs root, PoCL and a build. All of it happens in network and mount namespaces of its own, with the spool on a small
tmpfs. The last lines are the figures and PASS or FAIL.
"""
import argparse
import collections
import ctypes
import hashlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLONE_NEWNS, CLONE_NEWNET, MS_PRIVATE_REC = 0x20000, 0x40000000, 0x44000
MIB = 1 << 20
DISK_BYTES, MAX_DISK = 24 * MIB, 18 * MIB
PER_PROGRAM = 3  # launches of a step of tests/programs/harm
EARLY = 2.3  # rows that a killed recorder had not written yet
LATE = 2.5  # until guests have found a new recorder
FULL_TAIL = 1.5
SEGMENT = 5  # s; a segment that had begun when the disk became full may be skipped
LISTEN = "127.0.0.1:9477"
SETTLED = 0.65  # part of the run from which on nothing is killed, replaced or filled: memory is judged there
SLOPE_MAX = 1 * MIB  # an hour


def separate():
    """Namespaces of its own for network and mounts; /run is a new tmpfs."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET):
        sys.exit("agent soak: needs root (unshare)")
    libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None)
    mount("tmpfs", "/run", "")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def mount(kind, path, options):
    subprocess.run(["mount", "-t", kind, "-o", options or "defaults", kind, path], check=True)


class Windows:
    """Times in which records may be missing, with their reason."""

    def __init__(self):
        self.all = []

    def add(self, begin, end, reason):
        self.all.append([begin, end, reason])

    def reason(self, begin, end):
        for first, last, reason in self.all:
            if begin < last and end > first:
                return reason
        return None


class Containers:
    """Control groups with names of containers, and the file that containerd has for each."""

    BASE = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"

    def __init__(self):
        roots = [name for name in ("pids", "unified", "") if os.path.isdir(f"/sys/fs/cgroup/{name}")]
        self.root = os.path.join("/sys/fs/cgroup", roots[0], "duet-soak")
        self.live = []
        self.made = 0
        os.makedirs(self.root, exist_ok=True)

    def make(self):
        self.made += 1
        ident = hashlib.sha256(str(self.made).encode()).hexdigest()
        os.makedirs(os.path.join(self.root, f"cri-containerd-{ident}.scope"))
        os.makedirs(os.path.join(self.BASE, ident))
        with open(os.path.join(self.BASE, ident, "config.json"), "w", encoding="ascii") as file:
            json.dump({"annotations": {"io.kubernetes.cri.container-name": f"work{self.made}",
                                       "io.kubernetes.cri.sandbox-name": f"pod{self.made}",
                                       "io.kubernetes.cri.sandbox-namespace": "soak"}}, file)
        self.live.append(ident)
        return ident

    def drop(self, ident):
        try:
            os.rmdir(os.path.join(self.root, f"cri-containerd-{ident}.scope"))
        except OSError:
            return  # a process is still in it
        shutil.rmtree(os.path.join(self.BASE, ident))
        self.live.remove(ident)

    def enter(self, ident):
        with open(os.path.join(self.root, f"cri-containerd-{ident}.scope", "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def close(self):
        for ident in list(self.live):
            self.drop(ident)
        try:
            os.rmdir(self.root)
        except OSError:
            pass


class Agent:
    def __init__(self, build, folder, spool):
        self.duet, self.folder, self.spool = os.path.join(build, "duet"), folder, spool
        self.config = os.path.join(folder, "agent.textproto")
        self.offset = os.path.join(folder, "offset")
        self.log = open(os.path.join(folder, "agent.log"), "ab")
        self.process = None
        self.hook = os.path.join(folder, "clock_hook.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", self.hook,
                        os.path.join(ROOT, "tests", "soak", "clock_hook.c"), "-ldl"], check=True)
        with open(self.config, "w", encoding="ascii") as file:
            file.write(f'collect: ["opencl"]\nagent {{\n  spool: "{spool}"\n  runtime: "{folder}/run"\n'
                       f'  user: "nobody"\n  max_disk: "{MAX_DISK}"\n  max_age: "1h"\n  segment_time: "{SEGMENT}s"\n  segment_size: "1M"\n}}\n'
                       f'prometheus {{ listen: "{LISTEN}" }}\n')
        self.jump(0)

    def jump(self, seconds):
        with open(self.offset + ".new", "w", encoding="ascii") as file:
            file.write(str(seconds))
        os.replace(self.offset + ".new", self.offset)

    def start(self):
        environment = dict(os.environ, LD_PRELOAD=self.hook, CLOCK_HOOK_FILE=self.offset)
        self.process = subprocess.Popen([self.duet, "agent", "-c", self.config], env=environment, stderr=self.log,
                                        start_new_session=True)

    def status(self):
        result = subprocess.run([self.duet, "agent", "status", "--json", "-c", self.config], capture_output=True, check=False)
        try:
            return json.loads(result.stdout)
        except ValueError:
            return None

    def wait_ready(self, other_than=None):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            status = self.status()
            if status and status["running"] and status["recorder"]["ready"] and status["recorder"]["pid"] != other_than:
                return status
            time.sleep(0.05)
        raise RuntimeError("the agent did not become ready; see " + self.log.name)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


class Soak:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="soak.")
        self.spool = os.path.join(self.folder, "spool")
        os.mkdir(self.spool)
        mount("tmpfs", self.spool, f"size={DISK_BYTES}")
        self.agent = Agent(options.build, self.folder, self.spool)
        self.containers = Containers()
        self.windows = Windows()
        self.launched = {}  # name -> (launches, begin, end, container); pids are used again
        self.running, self.started = [], 0
        self.recorded = collections.Counter()
        self.labelled = set()
        self.read, self.unreadable, self.sequences = set(), 0, set()
        self.processes, self.scrapes, self.series = collections.defaultdict(list), 0, 0
        self.memory, self.most_disk, self.kills, self.full, self.jumps, self.reloads = [], 0, 0, 0, 0, 0
        self.ends, self.settled = False, 0
        self.program = os.path.join(options.build, "tests", "programs", "harm")
        self.environment = dict(os.environ, OPENCL_LAYERS=os.path.join(options.build, "libduet-opencl.so"),
                                POCL_DEVICES="pthread")

    # -- programs --

    def start_program(self):
        steps = random.randint(3, 40)
        ident = random.choice(self.containers.live) if self.containers.live and random.random() < 0.5 else None
        begin = time.monotonic()
        self.started += 1
        name = f"work-{self.started}"
        process = subprocess.Popen([name, "work", str(steps)], executable=self.program, env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   preexec_fn=(lambda: self.containers.enter(ident)) if ident else None)
        self.running.append((process, name, steps * PER_PROGRAM, begin, ident))

    def reap_programs(self):
        left = []
        for process, name, launches, begin, ident in self.running:
            if process.poll() is None:
                left.append((process, name, launches, begin, ident))
            elif process.returncode == 0:
                self.launched[name] = (launches, begin, time.monotonic(), ident)
            else:
                raise RuntimeError(f"a program ended with {process.returncode}")
        self.running = left

    # -- recordings --

    def read_spool(self):
        """Adds up the launches of each file once, before the agent drops it."""
        for name in sorted(os.listdir(self.spool)):
            if not name.endswith(".duet") or name == "current.duet" or name in self.read:
                continue
            copy = os.path.join(self.folder, "copy.duet")
            try:
                shutil.copy(os.path.join(self.spool, name), copy)
            except FileNotFoundError:
                continue
            self.read.add(name)
            self.sequences.add(int(name.split("-")[-2]))
            result = subprocess.run([self.agent.duet, "export", "--format", "json", "-o", copy + ".json", copy],
                                    capture_output=True, check=False)
            if result.returncode not in (0, 4):
                self.unreadable += 1
                print("unreadable", name, result.stderr.decode(), flush=True)
                continue
            with open(copy + ".json", encoding="utf-8") as file:
                self.add_document(json.load(file))

    def add_document(self, document):
        names = {row["id"]: row["command"].split()[0] for row in document["processes"]}
        threads = {row["id"]: row["process"] for row in document["threads"]}
        for row in document["launches"]:
            self.recorded[names[threads[row["thread"]]]] += 1
        for row in document["processes"]:
            if "pod=pod" in row.get("labels", ""):
                self.labelled.add(names[row["id"]])

    def keep_reading(self):
        while not self.ends:
            self.read_spool()
            time.sleep(0.5)

    # -- disturbances --

    def kill(self):
        """Kills the agent, its recorder, or both."""
        self.kills += 1
        before = time.monotonic()
        status = self.agent.wait_ready()
        recorder = status["recorder"]["pid"]
        kind = self.kills % 3
        if kind == 0:
            os.kill(recorder, signal.SIGKILL)
        elif kind == 1:
            os.killpg(self.agent.process.pid, signal.SIGKILL)
        else:
            os.kill(self.agent.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        if kind:
            self.agent.process.wait()
            self.agent.start()
        self.agent.wait_ready(other_than=recorder)
        self.windows.add(min(before, killed) - EARLY, time.monotonic() + LATE, "killed")

    def reload(self):
        self.reloads += 1
        before = time.monotonic()
        recorder = self.agent.wait_ready()["recorder"]["pid"]
        os.kill(self.agent.process.pid, signal.SIGHUP)
        self.agent.wait_ready(other_than=recorder)
        self.windows.add(before - EARLY, time.monotonic() + LATE, "reload")

    def fill_disk(self, seconds):
        """Leaves no free byte on the spool's disk."""
        self.full += 1
        begin = time.monotonic()
        filler = os.open(os.path.join(self.spool, "filler"), os.O_WRONLY | os.O_CREAT)
        while time.monotonic() < begin + seconds:
            try:
                os.write(filler, b"x" * 4096)
            except OSError:
                time.sleep(0.02)
        os.close(filler)
        os.unlink(os.path.join(self.spool, "filler"))
        self.windows.add(begin - EARLY - SEGMENT, time.monotonic() + FULL_TAIL, "disk full")

    def measure(self):
        status = self.agent.status()
        if status and status["running"]:
            now = time.monotonic()
            self.memory.append((now, status["cost"]["resident_bytes"]))
            for pid, kind in self.members(status):
                self.processes[kind, pid].append((now, private_of(pid)))
            self.scrape()
        used = sum(os.stat(os.path.join(self.spool, name)).st_blocks * 512 for name in self.listed()
                   if name != "filler")
        self.most_disk = max(self.most_disk, used)

    def members(self, status):
        """The agent's processes: [(pid, kind)]."""
        agent, recorder = self.agent.process.pid, status["recorder"]["pid"]
        with open(f"/proc/{agent}/task/{agent}/children", encoding="ascii") as file:
            children = [int(pid) for pid in file.read().split()]
        return [(agent, "agent"), (recorder, "recorder"), *((pid, "endpoints") for pid in children if pid != recorder)]

    def scrape(self):
        try:
            with urllib.request.urlopen(f"http://{LISTEN}/metrics", timeout=2) as page:
                self.series = sum(not line.startswith(b"#") for line in page)
                self.scrapes += 1
        except OSError:
            pass  # the agent was killed just before

    def listed(self):
        for name in os.listdir(self.spool):
            if os.path.exists(os.path.join(self.spool, name)):
                yield name

    # -- the run --

    def plan(self, seconds):
        """[(time, action)] in order."""
        kills = [(seconds * 0.55 * (i + 0.5) / self.options.kills, self.kill) for i in range(self.options.kills)]
        others = [(seconds * 0.12, lambda: self.fill_disk(10)), (seconds * 0.62, lambda: self.fill_disk(10)),
                  (seconds * 0.35, lambda: self.agent.jump(10 * 365 * 86400)),
                  (seconds * 0.5, lambda: self.agent.jump(-10 * 365 * 86400)), (seconds * 0.58, self.reload),
                  (seconds * 0.8, lambda: self.agent.jump(0))]
        self.jumps = 3
        return sorted(kills + others, key=lambda row: row[0])

    def run(self):
        seconds = self.options.minutes * 60
        self.agent.start()
        self.agent.wait_ready()
        reader = threading.Thread(target=self.keep_reading)
        reader.start()
        worker = threading.Thread(target=self.disturb, args=(seconds,))
        begin = time.monotonic()
        self.settled = begin + SETTLED * seconds
        worker.start()
        due, measured, changed = begin, begin, begin
        while time.monotonic() < begin + seconds or worker.is_alive():
            now = time.monotonic()
            if now >= due and len(self.running) < 20:
                self.start_program()
                due = max(due + 60 / self.options.rate, now - 1)
            if now >= changed:
                self.change_containers()
                changed = now + 3
            if now >= measured:
                self.measure()
                measured = now + 2
            self.reap_programs()
            time.sleep(0.02)
        while self.running:
            self.reap_programs()
            time.sleep(0.05)
        worker.join()
        time.sleep(2)
        idle = self.measure_idle()
        last = self.agent.status()
        status = self.agent.stop()
        self.ends = True
        reader.join()
        self.read_spool()
        self.containers.close()
        return self.judge(last, status, idle)

    def disturb(self, seconds):
        begin = time.monotonic()
        for when, action in self.plan(seconds):
            time.sleep(max(0, begin + when - time.monotonic()))
            action()

    def change_containers(self):
        while len(self.containers.live) < 4:
            self.containers.make()
        if random.random() < 0.5:
            self.containers.drop(self.containers.live[0])

    def measure_idle(self):
        first, begin = self.agent.status(), time.monotonic()
        time.sleep(self.options.idle)
        last = self.agent.status()
        return (last["cost"]["cpu_ns"] - first["cost"]["cpu_ns"]) / 1e7 / (time.monotonic() - begin)

    def judge(self, last, status, idle):
        missing, surplus, unexplained = collections.Counter(), 0, []
        for name, (launches, begin, end, _) in self.launched.items():
            got = self.recorded[name]
            surplus += max(0, got - launches)
            if got < launches:
                reason = self.windows.reason(begin, end)
                missing[reason or "unexplained"] += launches - got
                if not reason:
                    unexplained.append((name, launches, got, begin))
        launched = sum(row[0] for row in self.launched.values())
        recorded = sum(self.recorded[name] for name in self.launched)
        inside = [name for name, row in self.launched.items() if row[3] and self.recorded[name]]
        labelled = sum(name in self.labelled for name in inside)
        gaps = max(self.sequences) - len(self.sequences) if self.sequences else 0
        peak = max(memory for _, memory in self.memory)
        slope = 60 * slope_of([point for point in self.memory if point[0] > self.settled])
        spool = last["spool"]
        lines = [
            f"programs {len(self.launched)}, launches {launched} = recorded {recorded} + "
            + " + ".join(f"{reason} {count}" for reason, count in sorted(missing.items())),
            f"twice {surplus}, unexplained {len(unexplained)} {unexplained[:5]}",
            *([f"windows {self.windows.all}"] if unexplained else []),
            f"kills {self.kills}, disk full {self.full}, steps of the clock {self.jumps}, reloads {self.reloads}",
            f"files read {len(self.read)}, unreadable {self.unreadable}, sequences that were not read {gaps}",
            f"spool: written {spool['written']}, dropped {spool['dropped']} ({spool['dropped_disk_full']} disk full), "
            f"skipped {spool['skipped']}, killed {spool['killed']}, rings saved {spool['rings_saved']}, "
            f"without a recorder {spool['killed_ns'] / 1e9:.1f} s, rows lost {spool['rows_lost']}",
            f"most disk {self.most_disk / MIB:.2f} MiB of {MAX_DISK / MIB:.0f}",
            f"memory max {peak / MIB:.1f} MiB, slope of the last third {slope / MIB:.3f} MiB an hour",
            *self.describe_processes(),
            f"scrapes {self.scrapes}, series of the last {self.series}",
            f"container labels on {labelled} of {len(inside)} processes in containers",
            f"idle cost {idle:.3f} % of a core", f"exit status {status}"]
        # a container may be gone before the recorder reads its file
        good = (not surplus and not unexplained and not self.unreadable and peak <= 64 * MIB and
                self.most_disk <= MAX_DISK and labelled >= 0.99 * len(inside) and status == 0 and idle <= 1 and
                slope <= SLOPE_MAX)
        print("\n".join(lines))
        print("PASS" if good else f"FAIL (see {self.folder})", flush=True)
        return good


    def describe_processes(self):
        """One line for each process that lived in the last third: its private memory."""
        for (kind, pid), points in sorted(self.processes.items()):
            points = [point for point in points if point[0] > self.settled]
            if len(points) < 10:
                continue
            sizes = [size / MIB for _, size in points]
            yield (f"{kind} {pid}: {(points[-1][0] - points[0][0]) / 60:.0f} minutes, private memory {sizes[0]:.2f} MiB at "
                   f"first, {statistics.median(sizes):.2f} median, {sizes[-1]:.2f} last, slope "
                   f"{60 * slope_of(points) / MIB:.3f} MiB an hour")


def private_of(pid):
    """Private memory in bytes, or 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Clean", "Private_Dirty"))) * 1024
    except (FileNotFoundError, ProcessLookupError):
        return 0


def slope_of(points):
    """Bytes a minute, by least squares."""
    count = len(points)
    if count < 2:
        return 0
    mean_x, mean_y = (sum(point[i] for point in points) / count for i in (0, 1))
    square = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / square * 60 if square else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), type=os.path.abspath)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=200, help="programs a minute")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--idle", type=float, default=60, help="seconds of the idle measurement")
    separate()
    sys.exit(0 if Soak(parser.parse_args()).run() else 1)


main()
