#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""duet top: its numbers are those of `duet report --from --to` for the same seconds, of finished and of growing files,
for OpenCL on PoCL and for the simulated GPUs of NVIDIA, AMD and Intel; live recordings; wrong usage."""
import contextlib
import json
import os
import signal
import subprocess
import time

import duet_test
from duet_test import BUILD, DUET, GUEST, ROOT, Skip, clean_environment, program, run, text

t = duet_test.Suite(needs_opencl=False)

NVIDIA = os.path.join(BUILD, "sim", "nvidia")
AMD = os.path.join(BUILD, "sim", "amd", "libsim-kfd.so")
INTEL = os.path.join(BUILD, "sim", "level_zero", "libsim-level_zero.so")
ZEBIN = os.path.join(ROOT, "tests", "golden", "zebin", "k_bmg.bin")
INTERVAL_NS = 200_000_000
# What the issue asks for. Times below this share of an interval are compared in absolute terms.
TOLERANCE = 0.01
SMALL_NS = INTERVAL_NS // 1000


def need_opencl():
    if run([program("counts"), "--quiet"]).status:
        raise Skip("no OpenCL device works here")


def documents(result):
    t.equal(result.status, 0, f"duet top: {text(result.stderr)}")
    return [json.loads(line) for line in text(result.stdout).splitlines()]


def top(path, count, *options):
    """The last intervals of a finished file."""
    found = documents(run([DUET, "top", "--batch", "--json", "-d", f"{INTERVAL_NS}ns", "-n", str(count), *options, path]))
    t.true(len(found) <= count, f"{len(found)} documents, asked for {count}")
    t.true(all("from_ns" in document for document in found), "intervals without a row lie before the recording")
    return found


def report(path, document):
    result = run([DUET, "report", "--json", "--from", f"{document['from_ns']}ns", "--to", f"{document['to_ns']}ns", path])
    t.true(result.status in (0, 4), f"duet report: {text(result.stderr)}")
    return json.loads(result.stdout)


def near(got, want, what, small=SMALL_NS):
    t.true(abs(got - want) <= max(TOLERANCE * want, small), f"{what}: {got} of duet top, {want} of duet report")


def compare_devices(one, other):
    reported = {device["key"]: device for device in other["devices"]}
    t.equal(sorted(device["key"] for device in one["devices"]), sorted(reported), "devices")
    for device in one["devices"]:
        want = reported[device["key"]]
        if not device["measured"]:
            continue
        for key in ("busy_ns", "idle_ns"):
            near(device[key], want[key], f"{device['name']} {key}")
        for cause, ns in device["idle_causes"].items():
            near(ns, want["idle_causes"][cause], f"{device['name']} idle: {cause}")
        near(device["launches"], want["launches"], f"{device['name']} launches", 0)
        near(device["executions"], want["executions"], f"{device['name']} executions", 0)
        t.equal(device["busy_ns"] + device["idle_ns"], one["wall_ns"], "busy and idle are the interval")
        t.equal(sum(device["idle_causes"].values()), device["idle_ns"], "the causes are the idle time")


def sums(rows, key, *values):
    total = {}
    for row in rows:
        name = tuple(row.get(one) for one in key)
        total[name] = [old + row[value] for old, value in zip(total.get(name, [0] * len(values)), values)]
    return {name: found for name, found in total.items() if any(found)}


def compare_rows(one, other, rows, key, *values):
    got, want = sums(one[rows], key, *values), sums(other[rows], key, *values)
    t.equal(sorted(map(str, got)), sorted(map(str, want)), f"names of {rows}")
    for name, numbers in got.items():
        for number, wanted, value in zip(numbers, want[name], values):
            near(number, wanted, f"{rows} {name} {value}", SMALL_NS if value.endswith("_ns") else 0)


def compare(path, document):
    other = report(path, document)
    compare_devices(document, other)
    compare_rows(document, other, "kernels", ["name"], "count", "total_ns")
    other["copies"] += [{"direction": row["command"], **row} for row in other["other_commands"]]
    compare_rows(document, other, "copies", ["direction"], "count", "bytes", "total_ns")
    compare_rows(document, other, "processes", ["pid"], "launches", "executions", "device_ns", "calls", "calls_ns")
    # The threads that launch nothing count too.
    got, wanted = ([row for row in one["processes"] if "on_cpu_ns" in row] for one in (document, other))
    wanted = sums(wanted, ["pid"], "on_cpu_ns")
    for pid, numbers in sums(got, ["pid"], "on_cpu_ns").items():
        near(numbers[0], wanted.get(pid, [0])[0], f"process {pid} on_cpu_ns", INTERVAL_NS // 100)


def compare_all(path, count, least_executions):
    found = top(path, count)
    for document in found:
        compare(path, document)
    executions = sum(device["executions"] for document in found for device in document["devices"])
    t.true(executions >= least_executions, f"{executions} executions were compared, want {least_executions}")


def recorded(name, command, *options, env=None):
    path = t.path(f"{name}.duet")
    result = t.record(command, path, list(options), env=env)
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    return path


def sim(path, name):
    if not os.path.exists(path):
        raise Skip(f"{name} was not built")
    return path


with t.case("numbers equal those of the report: PoCL"):
    need_opencl()
    PATH = recorded("pocl", [program("gate_work"), "1500", "1000", "2"])
    compare_all(PATH, 4, 100)

with t.case("a launch at a border counts in one interval"):
    LINES = ["window 0 2000000000", "device 1 gpu", "thread 1 1", "queue 1 1"]
    for number in range(1, 20):  # each lasts over a border
        AT = 100_000_000 * number
        LINES += [f"launch {number} 1 1 {AT - 1000} {AT + 1000} kernel name=saxpy",
                  f"execution 1 {number} 1 {AT + 1000} {AT + 1200} {AT + 2000} {AT + 4_000_000}"]
    found = documents(run([DUET, "top", "--json", "-d", "0.1", "-n", "100", t.described("border.duet", *LINES)]))
    t.equal(len(found), 20, "intervals")
    for rows in ("devices", "processes", "queues"):
        t.equal(sum(row["launches"] for document in found for row in document[rows]), 19, rows)

with t.case("numbers equal those of the report: a launch every 2.5 s"):
    need_opencl()
    PATH = recorded("sparse", [program("gate_work"), "4", "2500000", "1"], "--flush-interval", "0.2", "--keep", "15",
                    "--ring", "0.25", "--collect", "opencl")  # without states of threads, in short segments
    compare_all(PATH, 30, 2)

with t.case("numbers equal those of the report: simulated NVIDIA GPUs"):
    sim(os.path.join(NVIDIA, "libcuda.so.1"), "the simulated NVIDIA driver")
    PATH = recorded("nvidia", ["env", f"LD_LIBRARY_PATH={NVIDIA}", f"SIM_NVIDIA=devices=2,log={t.path('log')}",
                               program("cuda_work"), "devices=2", "threads=4", "kernels=20", "h2d=3", "d2h=3", "laps=60",
                               "pace_ms=20"], "--collect", "nvidia:cuda,cpu")
    compare_all(PATH, 5, 500)

with t.case("numbers equal those of the report: a simulated AMD GPU"):
    sim(AMD, "the simulated AMD driver")
    PATH = recorded("amd", ["env", f"LD_PRELOAD={AMD}", f"SIM_KFD=log={t.path('log')}", program("hsa_work"), "work",
                            "dispatches=20000", "h2d=30", "d2h=30", "code=" + program("hsa_kernels.gfx90a")],
                    "--collect", "amd")
    compare_all(PATH, 2, 500)

with t.case("numbers equal those of the report: simulated Intel GPUs"):
    sim(INTEL, "the simulated Level Zero driver")
    PATH = recorded("intel", [program("level_zero_work"), ZEBIN, "launches=2000", "h2d=30", "runs=3"], "--collect",
                    "level_zero", env={"ZE_ENABLE_ALT_DRIVERS": INTEL, "SIM_LEVEL_ZERO": f"log={t.path('log')}"})
    compare_all(PATH, 5, 500)


@contextlib.contextmanager
def running(command, env=None, **options):
    process = subprocess.Popen(command, env=clean_environment(env), stdin=subprocess.DEVNULL,
                               preexec_fn=duet_test.default_signals, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def ended(process, number=signal.SIGINT):
    process.send_signal(number)
    process.wait(timeout=60)


with t.case("a growing file: the numbers do not change when more is recorded"):
    need_opencl()
    PATH = t.path("growing.duet")
    with running([DUET, "record", "-o", PATH, "--flush-interval", "0.2", "--", program("gate_work"), "9000", "1000", "2"],
                 stdout=subprocess.DEVNULL) as recorder:
        deadline = time.monotonic() + 60
        while (not os.path.exists(PATH) or os.path.getsize(PATH) < 20000) and time.monotonic() < deadline:
            time.sleep(0.1)
        # Other tests run beside this one: the lag is long, and its default is not what is tested.
        live = documents(run([DUET, "top", "--json", "--lag", "4", "-n", "6", "-d", "1", PATH]))
        recorder.wait(timeout=120)
    full = [document for document in live if any(one.get("executions") for one in document.get("devices", []))]
    t.true(len(full) >= 1, f"{len(live)} documents, {len(full)} with executions")
    t.equal([document["from_ns"] for document in full[1:]], [document["to_ns"] for document in full[:-1]],
            "each interval begins where the one before has ended")
    for document in full[-1:]:
        compare(PATH, document)

with t.case("a kernel that runs for seconds: its device is not shown as idle"):
    sim(os.path.join(NVIDIA, "libcuda.so.1"), "the simulated NVIDIA driver")
    PATH = t.path("long.duet")
    # The second device has nothing to do.
    with running([DUET, "record", "-o", PATH, "--flush-interval", "0.2", "--ring", "0.25", "--keep", "60", "--collect",
                  "nvidia:cuda", "--", "env", f"LD_LIBRARY_PATH={NVIDIA}",
                  f"SIM_NVIDIA=devices=2,kernel_us=8000000,log={t.path('log')}", program("cuda_work"), "devices=1",
                  "threads=1", "kernels=1", "h2d=1", "d2h=0"], stdout=subprocess.DEVNULL) as recorder:
        deadline = time.monotonic() + 60
        while (not os.path.exists(PATH) or os.path.getsize(PATH) < 2000) and time.monotonic() < deadline:
            time.sleep(0.1)
        live = documents(run([DUET, "top", "--json", "--lag", "1", "-d", "0.5", PATH]))
        recorder.wait(timeout=60)
    inside = [one["devices"] for one in live if any(device.get("in_flight_ns", 0) > 2e9 for device in one.get("devices", []))]
    t.true(len(inside) >= 3, f"intervals inside of the kernel: {len(inside)} of {len(live)}")
    for devices in inside[:-1]:
        used = [device for device in devices if device["in_flight"]]
        t.equal(len(used), 1, "devices in use")
        causes = used[0].get("idle_causes", {})
        t.equal({cause: ns for cause, ns in causes.items() if ns and cause != "unknown"}, {}, "causes while a kernel runs")
        for device in devices:
            if not device["in_flight"]:
                t.equal((device["measured"], device.get("idle_causes", {}).get("nothing_to_do")), (True, 500_000_000),
                        "an unused device")
    t.equal([device["executions"] for device in live[-1]["devices"] if device["in_flight"]], [], "the end")

with t.case("a program that waits for seconds: the open gap has the state of its thread, not nothing to do"):
    need_opencl()
    found = documents(run([DUET, "top", "--json", "-d", "0.5", "--", program("gate_work"), "2", "5000000", "1"], cwd=t.folder))
    waiting = [one["devices"][0] for one in found if one.get("devices") and one["devices"][0].get("no_command_ns", 0) > 1e9]
    t.true(len(waiting) >= 4, f"intervals inside of the wait: {len(waiting)} of {len(found)}")
    for device in waiting:
        t.equal((device["launches"], device["provisional_ns"]), (0, 500_000_000), "launches, provisional time")
        t.equal(device["idle_causes"]["nothing_to_do"], 0, "nothing to do")
        t.true(device["largest_cause"].get("so_far"), f"not marked as provisional: {device['largest_cause']}")
    t.true(all(later["no_command_ns"] > earlier["no_command_ns"] for earlier, later in zip(waiting[:3], waiting[1:4])),
           "the gap grows")
    t.equal([device.get("provisional_ns") for device in found[-1]["devices"]], [None], "provisional after the end")

with t.case("a recording that ends while it is watched: all of its intervals are printed"):
    need_opencl()
    PATH = t.path("ending.duet")
    with running([DUET, "record", "-o", PATH, "--flush-interval", "0.2", "--", program("gate_work"), "2000", "1000", "2"],
                 stdout=subprocess.DEVNULL):
        deadline = time.monotonic() + 60
        while (not os.path.exists(PATH) or os.path.getsize(PATH) < 5000) and time.monotonic() < deadline:
            time.sleep(0.1)
        live = documents(run([DUET, "top", "--json", "--lag", "2", "-d", "0.5", PATH]))
    full = [document for document in live if "from_ns" in document]
    t.equal([document["from_ns"] for document in full[1:]], [document["to_ns"] for document in full[:-1]],
            "each interval begins where the one before has ended")
    last = [document for document in top(PATH, 1) if "to_ns" in document]
    t.equal([document["to_ns"] for document in full[-1:]], [document["to_ns"] for document in last], "the end")

with t.case("-p records by itself, ends its recorder and leaves nothing behind"):
    need_opencl()
    duet_test.leave_network()  # recorders of other tests are not asked for the calls of the program
    with running([program("gate_work"), "1000000", "1000", "2"], env={"OPENCL_LAYERS": GUEST},
                 stdout=subprocess.DEVNULL) as work:
        time.sleep(1)
        found = documents(run([DUET, "top", "--json", "-d", "0.5", "-n", "14", "-p", str(work.pid)], cwd=t.folder))
        t.equal(work.poll(), None, "the program still runs")
        last = max((one for one in found if one.get("devices")), key=lambda one: one["devices"][0]["executions"])
        t.equal([process["pid"] for process in last["processes"]], [work.pid], "processes")
        t.true(last["devices"][0]["executions"] > 0, "executions")
        t.true(any(queue["executions"] > 0 for queue in last["queues"]), "executions of a queue")
        t.equal(last["ledger"]["lost_rows"], 0, "lost rows")
        ended(work, signal.SIGKILL)
    children = run(["pgrep", "-f", f"duet record .*--pid {work.pid}"])
    t.equal(text(children.stdout), "", "recorders that are still running")

with t.case("-n 1: the first whole interval; a process without the guest is explained"):
    need_opencl()
    duet_test.leave_network()
    with running([program("gate_work"), "1000000", "1000", "2"], stdout=subprocess.DEVNULL) as work:
        time.sleep(1)
        for source in (["-p", str(work.pid)], ["-a"]):
            found = documents(run([DUET, "top", "--json", "-n", "1", *source], cwd=t.folder))
            t.equal([(one.get("from_ns"), one.get("to_ns")) for one in found], [(0, 1_000_000_000)], f"{source}: intervals")
            lines = text(run([DUET, "top", "--batch", "-n", "1", *source], cwd=t.folder).stdout)
            t.true(f"process {work.pid} (gate_work) was started without duet's guest; start it with" in lines, f"{source}: {lines}")
        ended(work, signal.SIGKILL)

with t.case("a recorder that is stopped: no intervals without its data, and a message"):
    need_opencl()
    with running([program("gate_work"), "1000000", "1000", "2"], env={"OPENCL_LAYERS": GUEST},
                 stdout=subprocess.DEVNULL) as work:
        time.sleep(1)
        viewer = subprocess.Popen([DUET, "top", "--json", "-d", "0.5", "-n", "16", "-p", str(work.pid)], env=clean_environment(),
                                  cwd=t.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(3)
        child = int(text(run(["pgrep", "-P", str(viewer.pid)]).stdout))
        os.kill(child, signal.SIGSTOP)
        time.sleep(4.5)
        os.kill(child, signal.SIGCONT)
        output, errors = viewer.communicate(timeout=120)
        ended(work, signal.SIGKILL)
    found = [json.loads(line) for line in output.splitlines()]
    worked = [one for one in found if one.get("devices") and one["devices"][0]["launches"]]
    t.true(len(worked) >= 8, f"{len(worked)} intervals with launches of {len(found)}")
    t.equal(found[-len(worked):], worked, "intervals without launches after the first one")
    t.true("no data: the recorder is late by " in errors.decode(), errors.decode())

with t.case("-- PROGRAM: all intervals, its exit status, its output in a file"):
    duet_test.leave_network()
    OUTPUT = t.path("program-output")
    result = run([DUET, "top", "--json", "-d", "0.5", "--program-output", OUTPUT, "--", "sh", "-c",
                  "echo one; echo two >&2; sleep 1.2; exit 7"], cwd=t.folder)
    t.equal(result.status, 7, f"status: {text(result.stderr)}")
    found = [json.loads(line) for line in text(result.stdout).splitlines()]
    t.equal([one.get("from_ns") for one in found], [0, *(one.get("to_ns") for one in found[:-1])], "intervals follow each other")
    t.true(1_200_000_000 <= found[-1]["to_ns"] <= 3_000_000_000, f"the end: {found[-1]['to_ns']}")
    with open(OUTPUT) as file:
        t.equal(file.read(), "one\ntwo\n", "output of the program")
    t.true("two" not in text(result.stderr), text(result.stderr))

with t.case("-- PROGRAM: the program goes on when duet top ends first"):
    result = run([DUET, "top", "--batch", "-n", "1", "-d", "0.2", "--", "sh", "-c",
                  f"echo $$ > {t.path('pid')}; while [ ! -e {t.path('go')} ]; do sleep 0.1; done; echo > {t.path('done')}"],
                 cwd=t.folder)
    t.equal(result.status, 0, "status")
    t.true("'sh' continues" in text(result.stderr), text(result.stderr))
    with open(t.path("pid")) as file:
        children = run(["pgrep", "-f", f"duet record .*{t.path('done')}"])
        t.true(os.path.exists(f"/proc/{file.read().strip()}"), "it still runs")
    t.equal(text(children.stdout), "", "recorders that are still running")
    with open(t.path("go"), "w"):
        pass
    deadline = time.monotonic() + 30
    while not os.path.exists(t.path("done")) and time.monotonic() < deadline:
        time.sleep(0.1)
    t.true(os.path.exists(t.path("done")), "it ended by itself")

with t.case("a recorder ends with its viewer, whatever signals it may get"):
    PATH = t.path("viewer.duet")
    READ, WRITE = os.pipe()
    with running(["sleep", "60"]) as work, running([DUET, "record", "-o", PATH, "--viewer", str(READ), "-p", str(work.pid),
                                                    "--collect", "system"], pass_fds=[READ],
                                                   stderr=subprocess.DEVNULL) as recorder:
        os.close(READ)
        deadline = time.monotonic() + 30
        while not os.path.exists(PATH) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        t.equal(recorder.poll(), None, "it records while the viewer is there")
        os.close(WRITE)  # the kernel does this at the end of a process
        t.equal(recorder.wait(timeout=30), 0, "status")
        t.equal(work.poll(), None, "the program goes on")
    t.true("damage    none" in text(run([DUET, "info", PATH]).stdout), "a complete file")

with t.case("--viewer is for duet top"):
    result = run([DUET, "record", "-o", t.path("x.duet"), "--viewer", "1", "--", "true"])
    t.equal(result.status, 125, "status")
    t.true("for duet top" in text(result.stderr), text(result.stderr))

with t.case("-n beyond the start of a recording"):
    PATH = t.path("growing.duet")
    if not os.path.exists(PATH):
        raise Skip("no recording")
    all_of_it = documents(run([DUET, "top", "--json", "-d", "1", "-n", "1000", PATH]))
    t.true(1 < len(all_of_it) < 60, f"{len(all_of_it)} intervals")
    t.equal(all_of_it[0].get("from_ns"), 0, "the first begins with the recording")
    t.equal([one.get("from_ns") for one in all_of_it[1:]], [one.get("to_ns") for one in all_of_it[:-1]], "no gap")

with t.case("a recorder that cannot start is explained"):
    result = run([DUET, "top", "--batch", "-p", "999999999"])
    t.equal(result.status, 1, "status")
    t.true("999999999" in text(result.stderr) and text(result.stderr).startswith("duet top: "), text(result.stderr))

with t.case("--batch prints lines"):
    PATH = t.path("nvidia.duet")
    if not os.path.exists(PATH):
        raise Skip("the recording of a simulated NVIDIA GPU is missing")
    lines = text(run([DUET, "top", "--batch", PATH]).stdout).splitlines()
    t.true(lines[0].startswith(" duet top  "), lines[0])
    for title in ("DEVICE", "PROCESS", "KERNEL", "QUEUE", "COPY"):
        t.true(any(line.split()[:1] == [title] for line in lines), f"no table {title}")
    t.true(all(len(line) <= 120 and line.isascii() for line in lines), "lines of at most 120 ASCII characters in LC_ALL=C")

for arguments, status, words in (
        (["-p", "1", "x.duet"], 2, "one of --pid, --all, FILE and -- PROGRAM"),
        (["a.duet", "b.duet"], 2, "one FILE"),
        (["--collect", "cpu", "x.duet"], 2, "--collect needs"),
        (["--"], 2, "give a program"),
        (["-p", "1", "--", "true"], 2, "one of --pid, --all, FILE and -- PROGRAM"),
        (["--program-output", "out", "x.duet"], 2, "needs -- PROGRAM"),
        (["--batch", "--", "./no-such-program"], 127, "no such program"),
        (["--", "true"], 1, "not a terminal"),
        (["-n", "0", "x.duet"], 2, "at least 1"),
        (["-d", "1ns", "x.duet"], 2, "at least 0.01"),
        (["--batch", "missing.duet"], 1, "missing.duet"),
        (["--batch", "/etc/passwd"], 1, "'/etc/passwd' is not a duet trace"),
        (["--json", "/dev/null"], 1, "'/dev/null' is empty"),
        (["--batch", "/tmp"], 1, "is a folder"),
        (["missing.duet"], 1, "missing.duet")):
    with t.case(f"wrong usage: top {' '.join(arguments)}"):
        result = run([DUET, "top", *arguments], cwd=t.folder)
        t.equal(result.status, status, "status")
        t.true(words in text(result.stderr), text(result.stderr))

t.end()
