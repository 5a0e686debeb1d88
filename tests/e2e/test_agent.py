#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet agent: files of a spool hold every launch once; filters, sampling, labels, reload, kill -9, limits, systemd."""
import contextlib
import hashlib
import json
import os
import pwd
import signal
import socket
import subprocess
import time
import urllib.request

import duet_test
from duet_test import DUET, GUEST, Running, program, run, text

t = duet_test.Suite()
HAS_OWN_NETWORK = duet_test.leave_network()
PER_STEP = 3  # launches of a step of tests/programs/harm
LIMIT = 60


def guest():
    if not os.path.exists(GUEST):
        raise duet_test.Skip(f"{GUEST} is not there")
    if not HAS_OWN_NETWORK:
        raise duet_test.Skip("needs root (a network namespace)")
    return {"OPENCL_LAYERS": GUEST}


def spool_files(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".duet") and name != "current.duet")


class Agent:
    """An agent with a spool of its own; fields: text of the group `agent`."""

    def __init__(self, name, fields="", rest='collect: ["opencl"]'):
        self.folder = t.path(name)
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        self.spool = os.path.join(self.folder, "spool")
        self.config = os.path.join(self.folder, "agent.textproto")
        self.write(fields, rest)
        self.running = None

    def write(self, fields="", rest='collect: ["opencl"]'):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f'{rest}\nagent {{ spool: "{self.spool}" runtime: "{self.folder}/run" {fields} }}\n')

    def start(self, env=None):
        self.running = Running([DUET, "agent", "-c", self.config], env=env)
        self.wait(lambda status: status["recorder"]["ready"])
        return self

    def status(self):
        result = run([DUET, "agent", "status", "--json", "--runtime", self.folder + "/run"])
        return json.loads(result.stdout) if result.stdout else None

    def wait(self, condition):
        """The first status that meets a condition."""
        end = time.monotonic() + LIMIT
        status = None
        while time.monotonic() < end:
            status = self.status()
            if status and status["running"] and condition(status):
                return status
            time.sleep(0.05)
        raise AssertionError(f"no such status within {LIMIT} s: {status}")

    def stop(self):
        self.running.kill(signal.SIGTERM)
        return self.running.finish(LIMIT)

    def documents(self):
        for name in spool_files(self.spool):
            output = os.path.join(self.folder, "read.json")
            result = run([DUET, "export", "-f", "json", "-o", output, os.path.join(self.spool, name)])
            t.equal(result.status, 0, f"export of {name} ({text(result.stderr)})")
            with open(output, encoding="utf-8") as file:
                yield json.load(file)

    def launches(self):
        """{pid: launches in all files}"""
        found = {}
        for document in self.documents():
            pids = {row["id"]: row["pid"] for row in document["processes"]}
            threads = {row["id"]: pids[row["process"]] for row in document["threads"]}
            for row in document["launches"]:
                pid = threads[row["thread"]]
                found[pid] = found.get(pid, 0) + 1
        return found


def work(steps):
    running = Running([program("harm"), "work", str(steps)], env=guest())
    result = running.finish(LIMIT)
    t.equal((result.status, result.stdout), (0, f"did {steps} steps\n".encode()), "the program")
    return running.pid


with t.case("segments by time: every launch is in one file, with a sequence that goes on"):
    t.wanted()
    guest()
    agent = Agent("segments", 'segment_time: "1s"').start()
    steps = {}
    for number in (11, 23, 31):
        steps[work(number)] = number
        time.sleep(0.7)
    result = agent.stop()
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    t.equal(text(result.stderr), "", "nothing is said")
    found = agent.launches()
    t.equal({pid: found.get(pid) for pid in steps}, {pid: count * PER_STEP for pid, count in steps.items()}, "launches")
    sequences = [int(name.split("-")[-2]) for name in spool_files(agent.spool)]
    t.true(len(sequences) >= 2, f"several files: {sequences}")
    t.equal(sequences, list(range(1, len(sequences) + 1)), "sequence")
    agent.start()
    pid = work(7)
    agent.stop()
    later = [int(name.split("-")[-2]) for name in spool_files(agent.spool)]
    t.equal(later, list(range(1, len(later) + 1)), "sequence after a restart")
    t.equal(agent.launches().get(pid), 7 * PER_STEP, "launches after a restart")
    t.true(not os.path.exists(os.path.join(agent.spool, "current.duet")), "no ring is left")

with t.case("kill -9 of the agent, of its recorder and of both: what was written is saved once"):
    t.wanted()
    guest()
    agent = Agent("killed", 'segment_time: "1h"').start()
    steps, saved = {}, 0
    for victims in ("recorder", "both", "recorder"):
        number = 13 + len(steps)
        steps[work(number)] = number
        time.sleep(3)  # rows are written after a second, by an idle recorder once per second
        status = agent.status()
        if victims == "both":
            os.kill(agent.running.pid, signal.SIGKILL)
        os.kill(status["recorder"]["pid"], signal.SIGKILL)
        if victims == "both":
            agent.running.finish(LIMIT)
            t.equal(run([DUET, "agent", "status", "-c", agent.config]).status, 1, "status of a killed agent")
            agent.start()
        saved += 1
        status = agent.wait(lambda row, saved=saved: row["spool"]["rings_saved"] == saved and row["recorder"]["ready"])
        t.equal(status["spool"]["killed"], saved, "killed recorders are counted")
        t.true(status["spool"]["killed_ns"] > 0, "and the time without one")
    agent.stop()
    found = agent.launches()
    t.equal({pid: found.get(pid) for pid in steps}, {pid: count * PER_STEP for pid, count in steps.items()}, "launches")

with t.case("the spool keeps its limit and counts what it drops"):
    t.wanted()
    guest()
    agent = Agent("limit", 'segment_time: "1s" max_age: "2s"').start()
    work(5)
    # files are dropped at the next cut after their age
    status = agent.wait(lambda row: row["spool"]["dropped"] >= 2)
    t.equal(status["spool"]["written"] - status["spool"]["dropped"], status["spool"]["files"], "files")
    t.true(status["spool"]["files"] <= 4, f"{status['spool']['files']} files")
    agent.stop()

with t.case("filters by command and user"):
    t.wanted()
    guest()
    agent = Agent("filters", 'include { command: ["har*"] user: "' + pwd.getpwuid(os.getuid()).pw_name +
                  '" } exclude { command: "counts" }').start()
    pid = work(5)
    other = Running([program("counts"), "--quiet"], env=guest())
    t.equal(other.finish(LIMIT).status, 0, "status of the refused program")
    t.true(agent.status()["recorder"]["refused"] >= 1, "a refusal is counted")
    agent.write('exclude { command: "har*" }')
    recorder = agent.status()["recorder"]["pid"]
    agent.running.kill(signal.SIGHUP)
    agent.wait(lambda row: row["recorder"]["ready"] and row["recorder"]["pid"] != recorder)
    refused = work(5)
    agent.stop()
    found = agent.launches()
    t.equal(found.get(pid), 5 * PER_STEP, "launches of the included program")
    t.true(other.pid not in found, "the excluded program is not recorded")
    t.true(refused not in found, "nor the one that a reload excludes")

with t.case("reload: a file with mistakes changes nothing"):
    t.wanted()
    guest()
    agent = Agent("reload").start()
    recorder = agent.status()["recorder"]["pid"]
    agent.write('max_disc: "1G"')
    agent.running.kill(signal.SIGHUP)
    status = agent.wait(lambda row: row["recorder"]["reloads_refused"] == 1)
    t.equal(status["recorder"]["pid"], recorder, "the recorder goes on")
    t.true("previous one stays" in status["errors"][0]["text"], f"the status says so: {status['errors']}")
    pid = work(5)
    result = agent.stop()
    t.true(b"did you mean 'max_disk'?" in result.stderr, text(result.stderr))
    t.equal(agent.launches().get(pid), 5 * PER_STEP, "launches")

with t.case("sampling: a part of a process, with its weight"):
    t.wanted()
    guest()
    agent = Agent("sample", 'sample: "1s" sample_interval: "5s" segment_time: "2s"').start()
    running = Running([program("harm"), "renew", "13"], env=guest())
    short = work(5)
    t.equal(running.finish(LIMIT).status, 0, "status of the sampled program")
    agent.stop()
    rows = [row for document in agent.documents() for row in document["processes"] if row["pid"] == running.pid]
    marked = [row for row in rows if "sampled_ns" in row]
    t.true(len({row["id"] for row in rows}) >= 2, f"it was recorded at least twice: {rows}")
    t.true(marked, "a row has the weight")
    last = max(marked, key=lambda row: row["observed_ns"])
    t.true(1 <= last["sampled_ns"] / 1e9 <= last["observed_ns"] / 1e9 <= 20, f"{last}")
    t.equal(agent.launches().get(short), 5 * PER_STEP, "a short process is recorded whole")

def times_of(agent, pid, kind, time_of):
    """Times of rows of a process, in seconds, over all files."""
    times = []
    for document in agent.documents():
        pids = {row["id"]: row["pid"] for row in document["processes"]}
        threads = {row["id"]: pids[row["process"]] for row in document["threads"]}
        begin_ns = document["trace"]["begin_ns"] if "begin_ns" in document.get("trace", {}) else 0
        times += [(row[time_of] + begin_ns) / 1e9 for row in document[kind] if threads.get(row.get("thread")) == pid]
    return sorted(times)


def check_pauses(times, name):
    """It has rows of several parts of a second, and pauses of 3 s in between."""
    gaps = [b - a for a, b in zip(times, times[1:])]
    t.true(times and max(gaps, default=0) > 1.5, f"{name}: longest pauses {sorted(gaps)[-3:]} of {len(times)} rows")
    t.true(sum(gap for gap in gaps if gap <= 1.5) < 7, f"{name}: time with rows, of 12 s, {len(times)} rows")


for beside in (False, True):
    with t.case(f"sampling: no rows in a pause, {'beside a recorder with the guest' if beside else 'alone'}"):
        t.wanted()
        guest()
        first = None
        if beside:
            first = Running([DUET, "record", "-a", "--collect", "opencl", "-o", t.path("first.duet")])
            time.sleep(1)
        running = Running([program("harm"), "renew", "12"], env=guest())
        if beside:
            time.sleep(0.5)
        agent = Agent(f"pauses{beside:d}", 'sample: "1s" sample_interval: "4s" segment_time: "30s"',
                      'collect: ["opencl", "cpu"]').start()
        t.equal(running.finish(LIMIT).status, 0, "status of the sampled program")
        time.sleep(1)
        agent.stop()
        if first:
            first.kill(signal.SIGINT)
            first.finish(LIMIT)
        check_pauses(times_of(agent, running.pid, "launches", "enter"), "launches")
        samples = times_of(agent, running.pid, "cpu_samples", "time")
        if samples:
            check_pauses(samples, "samples")
        else:
            print("# no processor samples: the kernel refuses them")

with t.case("labels of a container of Kubernetes"):
    t.wanted()
    guest()
    roots = [path for path in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup") if os.access(path, os.W_OK)]
    if not roots:
        raise duet_test.Skip("no writable control groups")
    ident = hashlib.sha256(str(os.getpid()).encode()).hexdigest()
    group = os.path.join(roots[0], f"duet-test-{os.getpid()}", f"cri-containerd-{ident}.scope")
    try:
        os.makedirs(group)
    except OSError as error:
        raise duet_test.Skip(f"no writable control groups: {error}") from None
    try:
        agent = Agent("labels").start()
        command = ["sh", "-c", f'echo $$ > "$0" && exec "$@"', os.path.join(group, "cgroup.procs"), program("harm"), "work", "5"]
        running = Running(command, env=guest())
        t.equal(running.finish(LIMIT).status, 0, "status of the program")
        agent.stop()
        rows = [row for document in agent.documents() for row in document["processes"] if row["pid"] == running.pid]
        t.equal({row.get("labels") for row in rows}, {f"runtime=containerd,container_id={ident}"}, "labels")
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(group)
            os.rmdir(os.path.dirname(group))

with t.case("the recorder becomes the user of the configuration and keeps few rights"):
    t.wanted()
    guest()
    if os.geteuid():
        raise duet_test.Skip("needs root")
    agent = Agent("user", 'user: "nobody"', 'collect: ["opencl"] system { rate_hz: 10 }').start()
    recorder = agent.status()["recorder"]["pid"]
    uid = str(pwd.getpwnam("nobody").pw_uid)
    may_change = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 21  # DAC_OVERRIDE FOWNER KILL SYS_ADMIN
    tasks = os.listdir(f"/proc/{recorder}/task")
    t.true(len(tasks) >= 2, "samplers have threads")
    for task in tasks:
        with open(f"/proc/{recorder}/task/{task}/status", encoding="ascii") as file:
            facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        t.equal(facts["Uid"].split("\t"), [uid] * 4, f"user of {facts['Name']}")
        t.equal(facts["Groups"].strip(), "", "groups")
        t.equal(int(facts["CapPrm"], 16) & may_change, 0, f"capabilities of {facts['Name']}: {facts['CapPrm']}")
        t.true(int(task) != recorder or facts["NoNewPrivs"] == "1", "no new rights")
    pid = work(5)
    agent.stop()
    t.equal(agent.launches().get(pid), 5 * PER_STEP, "launches of another user's program")
    t.equal({os.stat(os.path.join(agent.spool, name)).st_uid for name in spool_files(agent.spool)}, {int(uid)}, "owner")

with t.case("systemd: READY, WATCHDOG and STOPPING"):
    t.wanted()
    guest()
    path = t.path("notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(path)
        server.settimeout(LIMIT)
        agent = Agent("systemd")
        agent.start(env={"NOTIFY_SOCKET": path})
        messages = [server.recv(256) for _ in range(3)]
        agent.stop()
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                messages.append(server.recv(256))
    t.true(b"READY=1\nSTATUS=recording" in messages, f"{messages}")
    t.true(b"WATCHDOG=1" in messages, f"{messages}")
    t.equal(messages[-1], b"STOPPING=1", "the last message")

with t.case("wrong use and mistakes in the configuration"):
    t.wanted()
    agent = Agent("wrong")
    result = run([DUET, "agent", "-c", agent.config, "--check"])
    t.equal((result.status, result.stderr), (0, b""), "a valid configuration")
    for fields, message in (('max_disk: "1M"', "'agent.max_disk' must be at least 16M"),
                            ('segment_time: "0.5s"', "'agent.segment_time' must be at least 1s"),
                            ('sample: "x"', "'agent.sample' takes"),
                            ("include { comand: \"x\" }", "did you mean 'command'?")):
        agent.write(fields)
        for arguments in (["--check"], []):
            result = run([DUET, "agent", "-c", agent.config, *arguments])
            t.equal(result.status, 2, f"status with {fields}")
            t.true(message in text(result.stderr) and f"{agent.config}:2:" in text(result.stderr), text(result.stderr))
    ignored = {"output: 'a.duet'": "output", "keep: '5s'": "keep", "max_size: '64M'": "max_size", "duration: '5s'": "duration",
               "pid: 1": "pid", "all: false": "all", "archive: true": "archive", "verbose: true": "verbose", "command: 'x'": "command",
               "preload: true": "preload"}
    agent.write(rest=" ".join(ignored))
    result = run([DUET, "agent", "-c", agent.config, "--check"])
    t.equal(result.status, 0, text(result.stderr))
    found = {line.split("'")[1] for line in text(result.stderr).splitlines() if f"{agent.config}:1:" in line and "is ignored: " in line}
    t.equal(found, set(ignored.values()), f"fields that are ignored: {text(result.stderr)}")
    agent.write(rest="all: true frequency: 99 flush_interval: '500ms' collect: ['cpu']")
    t.equal(run([DUET, "agent", "-c", agent.config, "--check"]).stderr, b"", "nothing is said of fields that count")
    agent.write(rest="trigger: 'throttled'")
    for arguments in (["--check"], []):
        result = run([DUET, "agent", "-c", agent.config, *arguments])
        t.equal((result.status, f"{agent.config}:1:10: 'trigger' does not work in duet agent" in text(result.stderr)), (2, True),
                f"a trigger: {text(result.stderr)}")
    agent.write(rest="system { disk: 'no-such-disk' }")
    result = run([DUET, "agent", "-c", agent.config, "--check"])
    t.equal((result.status, "no disk 'no-such-disk'; there are:" in text(result.stderr)), (2, True), text(result.stderr))
    agent.write('user: "no-such-user-of-duet"')
    result = run([DUET, "agent", "-c", agent.config])
    t.equal(result.status, 1, "status with an unknown user")
    t.true("no such user" in text(result.stderr), text(result.stderr))
    for arguments in (["stat"], ["status", "more"], ["--json"], ["status", "--check"]):
        t.equal(run([DUET, "agent", *arguments]).status, 2, f"status of {arguments}")
    agent.write()
    result = run([DUET, "agent", "status", "-c", agent.config])
    t.equal(result.status, 1, "status without an agent")
    t.true("no agent runs" in text(result.stderr), text(result.stderr))

with t.case("the ring's file does not grow without an end: the recorder is replaced, and no launch is there twice"):
    t.wanted()
    guest()
    agent = Agent("turns", 'segment_time: "1s" segment_size: "1M"').start(env={"DUET_AGENT_FILE_END": "30000"})
    recorder = agent.status()["recorder"]["pid"]
    pid = work(300)
    status = agent.wait(lambda row: row["recorder"]["replaced_for_file_size"] >= 1 and row["recorder"]["ready"] and
                        row["recorder"]["pid"] != recorder)
    t.equal((status["recorder"]["restarts"], status["spool"]["killed"]), (0, 0), "it ended in order")
    result = agent.stop()
    t.equal(text(result.stderr), "", "nothing is said")
    found = agent.launches().get(pid, 0)
    t.true(150 * PER_STEP <= found <= 300 * PER_STEP, f"launches but those of some 100 ms: {found}")

with t.case("counters of processes that the file names, of the whole machine"):
    t.wanted()
    guest()
    name = f"duet{os.getpid()}"[:15]
    os.symlink("/bin/sleep", t.path(name))
    agent = Agent("counted", 'segment_time: "1s"',
                  f'collect: ["opencl"] system {{ metric: ["process.cpu@50", "process.memory.rss"] process: "{name}" disk: "*" }}').start()
    with subprocess.Popen([t.path(name), "60"]) as process:
        agent.wait(lambda row: row["spool"]["written"] >= 3)
        process.kill()
    agent.stop()
    rows = [(row["metric"], row["interval_ns"], document) for document in agent.documents() for row in document["series"]]
    t.equal({row[:2] for row in rows}, {("process.cpu", 20000000), ("process.memory.rss", 100000000)}, "series")
    pids = {row["pid"] for _, _, document in rows for row in document["processes"] if row["name"] == name}
    t.equal(pids, {process.pid}, "processes")

with t.case("two agents cannot share a spool"):
    t.wanted()
    guest()
    agent = Agent("shared").start()
    other = Agent("other")
    other.spool = agent.spool
    other.write()
    result = run([DUET, "agent", "-c", other.config])
    t.equal(result.status, 1, "status of the second")
    t.true("another agent uses it" in text(result.stderr), text(result.stderr))
    t.equal(agent.stop().status, 0, "status of the first")

with t.case("metrics of the recorded programs, served while they are recorded, also after a reload"):
    t.wanted()
    guest()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    agent = Agent("metrics", 'segment_time: "2s"', 'collect: ["opencl"] prometheus { listen: "127.0.0.1:9464" }').start()

    def metric(name, port=9464):
        """The sum over the rows of a metric; None: there is no answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))

    def wait_metric(name, value, port=9464):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and metric(name, port) != value:
            time.sleep(0.1)
        t.equal(metric(name, port), value, name)

    wait_metric("duet_spool_limit_bytes", 2**30)
    with open(f"/proc/{agent.running.pid}/task/{agent.running.pid}/children", encoding="ascii") as file:
        others = {int(pid) for pid in file.read().split()} - {agent.status()["recorder"]["pid"]}
    t.equal(len(others), 1, "processes beside the recorder")
    with open(f"/proc/{others.pop()}/status", encoding="ascii") as file:
        facts = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    t.equal(facts["Name"], "metrics", "its name")
    t.equal(int(facts["CapPrm"], 16) & ~(1 << 2), 0, f"it may only read files: {facts['CapPrm']}")
    t.equal(facts["NoNewPrivs"], "1", "no new rights")
    work(50)
    wait_metric("duet_device_launches_total", 50 * PER_STEP)
    wait_metric("duet_process_launches_total", 50 * PER_STEP)
    agent.write('segment_time: "3s" user: "nobody"', 'collect: ["opencl"] prometheus { listen: "127.0.0.1:9465" }')
    agent.running.kill(signal.SIGHUP)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and metric("duet_build_info") is not None:
        time.sleep(0.1)
    t.equal(metric("duet_build_info"), None, "the old address is left")

    def health():
        try:
            with urllib.request.urlopen("http://127.0.0.1:9465/healthz", timeout=5) as answer:
                return answer.status
        except OSError as error:
            return getattr(error, "code", None)

    def wait_health(status):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and health() != status:
            time.sleep(0.1)
        t.equal(health(), status, "health")

    wait_health(200)
    recorder = agent.status()["recorder"]["pid"]
    os.kill(recorder, signal.SIGSTOP)
    wait_health(503)
    os.kill(recorder, signal.SIGCONT)
    wait_health(200)
    endpoints = agent.status()["endpoints"]
    t.equal([endpoints[key] for key in ("restarts", "replaced_for_memory", "hangs")], [0, 0, 0], f"{endpoints}")
    os.kill(endpoints["pid"], signal.SIGSTOP)  # it hangs for more than 30 s
    status = agent.wait(lambda row: row["endpoints"]["hangs"] == 1 and row["endpoints"]["pid"] not in (0, endpoints["pid"]))
    t.equal(status["endpoints"]["restarts"], 1, "it is replaced")
    t.true("metrics: did not answer for 30 s" in json.dumps(status["errors"]), f"{status['errors']}")
    wait_health(200)
    work(30)
    wait_metric("duet_device_launches_total", 30 * PER_STEP, 9465)
    agent.stop()

t.end()
