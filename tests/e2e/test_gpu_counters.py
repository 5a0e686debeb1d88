#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""GPU counters: NVML simulated by sim/nvidia, DRM drivers by an invented tree of /proc and /sys.

The simulator computes its values from a load that the test sets, so the expected values are exact.
"""
import json
import os
import subprocess
import sys
import time

import duet_test
from duet_test import DUET, Skip, run, text

STAND_INS = os.environ.get("SIM_NVIDIA_FOLDER")
IDLE_W, FULL_W = 75, 620
BUS = "0000:1b:00.0"  # of the stand-in's first GPU

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()  # a recorder of running processes has a name that only one has in a network


def nvidia(sim):
    if not STAND_INS:
        raise Skip("SIM_NVIDIA_FOLDER is not set: the stand-in for NVML is not built")
    return {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": sim}


def record(name, command, collect, env, options=()):
    """The report of a recording, and what record said."""
    trace = t.path(name)
    result = t.record(command, trace, ["--collect", collect, *options], env=env)
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    return t.report(trace), text(result.stderr), trace


def metrics(document, name, **what):
    return [row for row in document["metrics"] if row["name"] == name and
            all(row.get(key) == value for key, value in what.items())]


def metric(document, name, **what):
    rows = metrics(document, name, **what)
    if len(rows) != 1:
        raise AssertionError(f"{len(rows)} rows of {name} {what}: " + ", ".join(
            sorted({row["name"] for row in document["metrics"]})))
    return rows[0]


def near(got, want, part, what):
    t.true(abs(got - want) <= part * abs(want), f"{what}: {got}, not {want}")


def notes(trace):
    return text(run([DUET, "info", trace]).stdout)


# ---- NVML ----

with t.case("NVML's values, exactly"):
    load = 0.5
    document, _, trace = record("half.duet", ["sleep", "1.2"], "nvidia",
                                nvidia("nvml_load=0.5,nvml_reasons=68,gpm_least_ms=100"))
    watts = IDLE_W + load * (FULL_W - IDLE_W)
    for name, want, limit in (
            ("gpu.power", watts, None), ("gpu.power.average", watts, 700),
            ("gpu.clock.sm", 1950, 1980), ("gpu.clock.graphics", 1950, 1980), ("gpu.clock.memory", 3201, 3201),
            ("gpu.clock.video", 1584, 1980), ("gpu.temperature", 52, None), ("gpu.temperature.memory", 55, None),
            ("gpu.memory.reserved", 600, 150754820096 / 2**20), ("gpu.memory.used", 2e10 / 2**20, 150754820096 / 2**20)):
        row = metric(document, name)
        t.equal((row["min"], row["max"], row.get("limit")), (want, want, limit), name)
    # shares: whole percents of the driver's, thousandths for what is of two samples
    for name, want in (("gpu.kernel.present", 50), ("gpu.memory.busy", 23), ("gpu.graphics.active", 50),
                       ("gpu.sm.active", 46), ("gpu.sm.occupancy", 30.5), ("gpu.pipe.tensor", 19),
                       ("gpu.dram.bandwidth", 23.5), ("gpu.pipe.fp64", 1), ("gpu.encoder.busy", 0)):
        row = metric(document, name)
        t.true(abs(row["mean"] - want) < 1e-4, f"{name}: {row['mean']}, not {want}")
        t.equal(row["limit"], 100, f"limit of {name}")
    near(metric(document, "gpu.energy")["mean"], watts, 0.01, "energy by time")
    t.true(metric(document, "gpu.energy")["readings"] >= 2, "energy is read once a second")
    for instance, want in (("power cap", 100), ("hardware thermal slowdown", 100), ("idle", 0), ("power brake", 0)):
        t.equal(metric(document, "gpu.throttled", instance=instance)["mean"], want, f"throttled: {instance}")
    t.equal(metrics(document, "gpu.throttled", instance="display clocks"), [], "a reason the GPU does not know")
    t.equal(metrics(document, "gpu.pcie.sent.rate"), [], "what is counted is not looked at, too")

with t.case("a device that is only counted was not measured"):
    document = t.report(t.path("half.duet"))
    t.equal([(d["measured"], d["idle_causes"]["nothing_to_do"], d["idle_causes"]["unknown"] == d["wall_ns"])
             for d in document["devices"]], [(False, 0, True)], "device")

with t.case("two GPUs are distinguished by UUID"):
    document, _, trace = record("two.duet", ["sleep", "0.6"], "nvidia", nvidia("devices=2,nvml_load=0.25"))
    keys = {row["device"] for row in metrics(document, "gpu.power")}
    t.equal(len(keys), 2, "devices")
    table = text(run([DUET, "report", trace]).stdout)
    t.equal([word in table for word in ("gpu.power device 0, W", "gpu.power device 1, W", "gpu.power device 2, W")],
            [True, True, False], "in the table by their number")
    t.true(all(len(key) == 36 and not key.startswith("GPU-") for key in keys), f"as OpenCL writes them: {keys}")

with t.case("steps of load: the mean is of the time"):
    document, _, trace = record("steps.duet", ["sleep", "2"], "nvidia",
                                nvidia("nvml_load=0.25/0.75,nvml_step_ms=150,gpm_least_ms=100"))
    row = metric(document, "gpu.kernel.present")
    t.true(24.99 < row["min"] < 50 < row["max"] < 75.01, f"both steps are seen: {row}")
    t.true(25 < metric(document, "gpu.graphics.active")["mean"] < 75, "GPM")

with t.case("byte counters that a GPU lacks are queried once per second"):
    document, _, trace = record("slow.duet", ["sleep", "0.5"], "nvidia", nvidia("nvml_load=0.5,nvml_no_fields=1"))
    t.equal(metric(document, "gpu.pcie.sent.rate")["max"], 2000000 * 1024, "sent, bytes/s")
    t.equal(metric(document, "gpu.pcie.received.rate")["max"], 4500000 * 1024, "received")
    for name in ("gpu.power", "gpu.pcie.sent", "gpu.nvlink.sent", "gpu.temperature.memory"):
        t.equal(metrics(document, name), [], f"{name}: absent, not 0")

with t.case("counters that a GPU lacks are absent"):
    document, _, trace = record("poor.duet", ["sleep", "0.4"], "nvidia", nvidia("nvml_unsupported=1"))
    names = {row["name"] for row in document["metrics"] if not row["name"].startswith("duet.")}
    t.equal(names, {"gpu.memory.used"}, "metrics")
    t.true("has no GPM" in notes(trace), "it is noted that there is no GPM")

with t.case("MIG: instances have their own"):
    document, _, trace = record("mig.duet", ["sleep", "0.8"], "nvidia", nvidia("mig=2,nvml_load=0.5"))
    t.equal(len(metrics(document, "gpu.memory.used")), 3, "memory of the GPU and of its two instances")
    shares = metrics(document, "gpu.sm.active")
    t.equal([round(row["mean"], 3) for row in shares], [46, 46], "GPM of the instances alone")
    t.true(all(row["device"].startswith("MIG-") for row in shares), "their own UUIDs")
    t.true("divided by MIG" in notes(trace), "it is noted")
    devices = json.loads(run([DUET, "export", "-f", "json", trace]).stdout)["devices"]
    whole = next(row["id"] for row in devices if row["key"].startswith("516d"))
    t.equal(sorted((row["key"][:4], row.get("parent")) for row in devices),
            [("516d", None), ("MIG-", whole), ("MIG-", whole)], "instances have the GPU as parent")

with t.case("a lost GPU ends there, and the recording goes on"):
    document, _, trace = record("lost.duet", ["sleep", "3"], "nvidia", nvidia("nvml_load=0.5,nvml_lost_ms=400"))
    row = metric(document, "gpu.power")
    t.true(row["covered_ns"] < 2.4e9, f"covered {row['covered_ns']} of 3 s")
    t.true("the GPU no longer answers" in notes(trace), "it is said")
    ends = [json.loads(line) for line in run([DUET, "export", "-f", "jsonl", trace]).stdout.splitlines()
            if b'"kind":"series"' in line]
    t.true(ends and all(row["end_ns"] for row in ends if row["device"]), "series of the GPU have an end")

def record_process(name, seconds, sim):
    """The report of a process that the stand-in says is on the GPU, and its pid. None: its numbers are not ours."""
    program = subprocess.Popen(["sleep", "30"])
    trace = t.path(name)
    try:
        result = run([DUET, "record", "--collect", "nvidia", "-d", seconds, "-p", str(program.pid), "-o", trace],
                     env=nvidia(f"{sim},nvml_pid={program.pid}"))
    finally:
        program.kill()
        program.wait()
    t.equal(result.status, 0, text(result.stderr))
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        t.true("pid namespace" in notes(trace), "numbers that are not ours are not used")
        return None, program
    return t.report(trace), program


with t.case("each process has its memory and its share"):
    document, program = record_process("process.duet", "1.2", "nvml_load=0.5")
    if document:
        row = metric(document, "process.gpu.memory.used")
        t.equal((row["pid"], row["min"], row["max"]), (program.pid, 512, 512), "memory")
        near(metric(document, "process.gpu.kernel.present", pid=program.pid)["mean"], 50, 0.01, "share")

with t.case("a process that rests is not busy"):
    # Of 3.6 s it works in the last 0.6: the driver says nothing of it before.
    document, program = record_process("rest.duet", "3.6", "nvml_load=0/0/0/0/0/1/1/1/1,nvml_step_ms=600")
    if document:
        row = metric(document, "process.gpu.kernel.present", pid=program.pid)
        t.true(0 < row["mean"] < 60, f"share of all the time: {row}")
        t.equal(row["min"], 0, "there are readings of its rest")

with t.case("a missing or unresponsive driver is reported, and the program runs"):
    for sim, want in (("fail_nvmlInit_v2=9", "modprobe nvidia"), ("fail_nvmlInit_v2=18", "different versions"),
                      ("devices=0", "no GPU was found"), ("fail_nvmlDeviceGetUUID=15", "the GPU no longer answers"),
                      ("fail_nvmlInit_v2=4711", "unknown error code")):
        document, said, _ = record("none.duet", ["true"], "nvidia", nvidia(sim))
        t.true(want in said, f"{sim}: {said}")
        t.equal(document["metrics"], [], "metrics")

# ---- DRM ----

CLIENT = """
import os, sys, time
root, driver, address = sys.argv[1:4]
def write(pid, fd, client, engines):
    folder = f"{root}/proc/{pid}"
    os.makedirs(folder + "/fd", exist_ok=True)
    os.makedirs(folder + "/fdinfo", exist_ok=True)
    lines = [f"drm-driver:\\t{driver}", f"drm-pdev:\\t{address}", f"drm-client-id:\\t{client}", *engines]
    text = "\\n".join(lines) + "\\n"
    f = os.open(f"{folder}/fdinfo/{fd}", os.O_RDWR | os.O_CREAT, 0o644)
    os.pwrite(f, text.encode(), 0)
    os.close(f)
    if not os.path.islink(f"{folder}/fd/{fd}"):
        os.symlink("/dev/dri/renderD128", f"{folder}/fd/{fd}")
me = os.getpid()
"""


def tree(name, cards):
    """A root with /sys/class/drm: {card: {path: text}}"""
    root = t.path(name)
    os.makedirs(root + "/proc", exist_ok=True)
    for card, files in cards.items():
        for path, content in files.items():
            path = f"{root}/sys/class/drm/{card}/{path}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content + "\n")
    return root


def uevent(driver, address, pci_id):
    return f"DRIVER={driver}\nPCI_ID={pci_id}\nPCI_SLOT_NAME={address}"


AMD = {"device/uevent": uevent("amdgpu", "0000:03:00.0", "1002:744C"),
       "device/gpu_busy_percent": "37", "device/mem_busy_percent": "12",
       "device/mem_info_vram_used": str(3 << 30), "device/mem_info_vram_total": str(24 << 30),
       "device/mem_info_gtt_used": str(1 << 20), "device/mem_info_gtt_total": str(1 << 30),
       "device/pp_dpm_mclk": "0: 96Mhz\n1: 1249Mhz *", "device/power/runtime_status": "active",
       "device/hwmon/hwmon4/power1_average": "213000000", "device/hwmon/hwmon4/power1_cap": "303000000",
       "device/hwmon/hwmon4/power1_label": "PPT", "device/hwmon/hwmon4/freq1_input": "2304000000",
       "device/hwmon/hwmon4/freq1_label": "sclk", "device/hwmon/hwmon4/temp1_input": "61000",
       "device/hwmon/hwmon4/temp1_label": "edge", "device/hwmon/hwmon4/temp2_input": "78000",
       "device/hwmon/hwmon4/temp2_label": "junction"}
XE = {"device/uevent": uevent("xe", "0000:04:00.0", "8086:E20B"),
      "device/tile0/gt0/freq0/act_freq": "1500", "device/tile0/gt0/freq0/rp0_freq": "2850",
      "device/tile0/gt0/freq0/throttle/reason_pl1": "1", "device/tile0/gt0/freq0/throttle/reason_thermal": "0",
      "device/hwmon/hwmon5/energy1_input": "5000000", "device/hwmon/hwmon5/energy1_label": "card",
      "device/hwmon/hwmon5/power1_input": ""}
I915 = {"device/uevent": uevent("i915", "0000:00:02.0", "8086:9A49"), "gt/gt0/rps_act_freq_mhz": "700",
        "gt/gt0/rps_RP0_freq_mhz": "1300", "gt/gt0/rc6_residency_ms": "5000",
        "gt/gt0/throttle_reason_status": "0", "gt/gt0/throttle_reason_pl2": "1"}

with t.case("sensors of amdgpu, xe and i915"):
    root = tree("sensors", {"card0": AMD, "card1": XE, "card2": I915, "card0-DP-1": {"status": "connected"}})
    document, _, trace = record("sensors.duet", ["sleep", "0.6"], "drm", {"DUET_COUNTERS_ROOT": root})
    amd, xe, i915 = "0000:03:00.0", "0000:04:00.0", "0000:00:02.0"
    for name, device, instance, want, limit in (
            ("gpu.memory.used", amd, "vram", 3072, 24576), ("gpu.memory.used", amd, "gtt", 1, 1024),
            ("gpu.clock", amd, "mclk level", 1249, None), ("gpu.clock", amd, "sclk", 2304, None),
            ("gpu.power.average", amd, "PPT", 213, 303), ("gpu.temperature", amd, "edge", 61, None),
            ("gpu.temperature", amd, "junction", 78, None), ("gpu.clock", xe, "gt0", 1500, 2850),
            ("gpu.clock", i915, "gt0", 700, 1300), ("gpu.energy", xe, "card", 0, None),
            ("gpu.asleep", i915, "gt0", 0, 100)):
        row = metric(document, name, device=device, instance=instance)
        t.equal((row["min"], row["max"], row.get("limit")), (want, want, limit), f"{name} {instance}")
    for name, device, instance, want in (
            ("gpu.busy", amd, None, 37), ("gpu.memory.busy", amd, None, 12), ("gpu.throttled", xe, "gt0 pl1", 100),
            ("gpu.throttled", xe, "gt0 thermal", 0), ("gpu.throttled", i915, "gt0 pl2", 100)):
        row = metric(document, name, device=device, **({"instance": instance} if instance else {}))
        t.true(abs(row["mean"] - want) < 1e-4, f"{name} {instance}: {row['mean']}, not {want}")
    t.equal(metrics(document, "gpu.power", device=xe), [], "an empty file is no value")
    t.equal(sorted(d["vendor"] for d in document["devices"]), ["AMD", "Intel", "Intel"], "vendors")

def pmus(root, folders):
    """PMUs of GPUs by events that each kernel has: cpu-clock (0), which counts the ns that go by, context switches (3)."""
    for name, files in folders.items():
        for path, content in {"type": "1", "cpumask": "0", **files}.items():
            path = f"{root}/sys/bus/event_source/devices/{name}/{path}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content + "\n")


XE_PMU = {"events/engine-active-ticks": "event=0x03", "events/engine-total-ticks": "event=0x00", "format/event": "config:0-7",
          "format/gt": "config:60-63", "format/engine_class": "config1:0-7", "format/engine_instance": "config:12-19"}

with t.case("how busy engines are, by perf events of i915 and xe"):
    root = tree("engines", {"card0": AMD, "card1": XE, "card2": I915})
    pmus(root, {"i915": {"events/rcs0-busy": "config=0x0", "events/rcs0-busy.unit": "ns", "events/bcs0-busy": "config=0x3",
                         "events/rcs0-wait": "config=0x0", "events/vcs0-busy": "config=0x4000", "events/vcs1-busy": "what"},
                "i915_0000_09_00.0": {"events/ccs0-busy": "config=0x0"}, "xe_0000_04_00.0": XE_PMU})
    document, _, trace = record("engines.duet", ["sleep", "0.6"], "drm,drm:engines", {"DUET_COUNTERS_ROOT": root})
    rows = {(row["device"], row["instance"]): row for row in metrics(document, "gpu.engine.busy")}
    if not rows and "perf_event_paranoid" in notes(trace):
        raise Skip("perf events of the whole machine are not ours here, which is said")
    t.equal(set(rows), {("0000:00:02.0", "rcs0"), ("0000:00:02.0", "bcs0"),
                        *[("0000:04:00.0", f"gt0 {name}0") for name in ("rcs", "bcs", "vcs", "vecs", "ccs")]}, "engines that are there")
    t.true(rows["0000:00:02.0", "rcs0"]["mean"] > 95, f"always busy: {rows['0000:00:02.0', 'rcs0']}")
    t.true(rows["0000:00:02.0", "bcs0"]["mean"] < 5, f"hardly busy, by ns: {rows['0000:00:02.0', 'bcs0']}")
    t.true(rows["0000:04:00.0", "gt0 ccs0"]["mean"] < 5, f"hardly busy, by ticks: {rows['0000:04:00.0', 'gt0 ccs0']}")
    t.true(all(row["limit"] == 100 and row["readings"] >= 3 for row in rows.values()), "of the time that went by")
    document = record("asleep_engines.duet", ["sleep", "0.3"], "drm", {"DUET_COUNTERS_ROOT": root})[0]
    t.equal({row["device"] for row in metrics(document, "gpu.engine.busy")}, {"0000:00:02.0"}, "xe is kept awake by request alone")
    # ticks of ticks: a driver that swaps them, or has one of them alone
    pmus(root, {"xe_0000_04_00.0": {"events/engine-active-ticks": "event=0x00"}})
    document = record("busy_engines.duet", ["sleep", "0.4"], "drm:engines", {"DUET_COUNTERS_ROOT": root})[0]
    t.true(metric(document, "gpu.engine.busy", instance="gt0 rcs0")["mean"] > 99.9, "always, by ticks")
    os.remove(f"{root}/sys/bus/event_source/devices/xe_0000_04_00.0/events/engine-total-ticks")
    document = record("old_engines.duet", ["sleep", "0.3"], "drm:engines", {"DUET_COUNTERS_ROOT": root})[0]
    t.equal({row["device"] for row in metrics(document, "gpu.engine.busy")}, {"0000:00:02.0"}, "xe without such events")

with t.case("a sleeping GPU is not queried"):
    asleep = dict(AMD, **{"device/power/runtime_status": "suspended"})
    root = tree("asleep", {"card0": asleep})
    document, _, trace = record("asleep.duet", ["sleep", "0.4"], "drm", {"DUET_COUNTERS_ROOT": root})
    t.equal([row["name"] for row in document["metrics"] if row["name"].startswith("gpu")], [], "metrics")

with t.case("engines and memory of a client, however many descriptors it has"):
    root = tree("clients", {"card0": AMD})
    program = CLIENT + """
for step in range(25):
    # a step back in between, as drivers may make
    ns = step * 100_000_000 if step != 6 else 1
    lines = [f"drm-engine-gfx:\\t{ns:012d} ns", "drm-engine-capacity-gfx:\\t2", "drm-resident-vram:\\t4096 KiB"]
    for fd in (5, 6, 7):
        write(me, fd, 17, lines)
    write(me, 8, 18, ["drm-engine-compute:\\t000000000000 ns"])
    write(me, 9, 19, ["drm-cycles-gfx:\\t%012d" % (step * 300), "drm-total-cycles-gfx:\\t%012d" % (step * 1000)])
    if step == 0:
        os.symlink("/dev/null", f"{root}/proc/{me}/fd/3")
    time.sleep(0.1)
"""
    document, _, trace = record("clients.duet", [sys.executable, "-c", program, root, "amdgpu", "0000:03:00.0"], "drm",
                                {"DUET_COUNTERS_ROOT": root})
    row = metric(document, "process.gpu.engine", instance="gfx client 17")
    t.true(0 < row["sum"] <= 2.4e9, f"counted once, and not down: {row}")
    t.equal((row["limit"], row["device"]), (200, "0000:03:00.0"), "two engines, of the card")
    t.equal(metric(document, "process.gpu.engine", instance="compute client 18")["max"], 0, "another client")
    t.equal(metric(document, "process.gpu.memory.resident", instance="vram client 17")["max"], 4, "MiB")
    share = metric(document, "process.gpu.engine.cycles", instance="gfx client 19")["mean"]
    t.true(abs(share - 30) < 1e-6, f"cycles by cycles: {share}")

with t.case("a client that is handed on is counted once; one that is closed ends"):
    root = tree("handed", {"card0": AMD})
    program = CLIENT + """
import subprocess
write(me, 5, 17, ["drm-engine-gfx:\\t000000000001 ns"])
child = subprocess.Popen(["sleep", "3.5"])
write(child.pid, 5, 17, ["drm-engine-gfx:\\t000000000001 ns"])
write(child.pid, 6, 21, ["drm-engine-gfx:\\t000000000001 ns"])
time.sleep(2.5)
for fd in ("fd", "fdinfo"):
    os.unlink(f"{root}/proc/{child.pid}/{fd}/6")
f = os.open(f"{root}/proc/{me}/fdinfo/5", os.O_RDWR | os.O_TRUNC)
child.wait()
"""
    document, _, trace = record("handed.duet", [sys.executable, "-c", program, root, "amdgpu", "0000:03:00.0"], "drm",
                                {"DUET_COUNTERS_ROOT": root})
    t.equal(len(metrics(document, "process.gpu.engine", instance="gfx client 21")), 1, "the child's own")
    rows = metrics(document, "process.gpu.engine", instance="gfx client 17")
    t.true(1 <= len(rows) <= 2, f"one at a time: {rows}")

with t.case("a client that is met again goes on from where it was; one that a stranger sent is as old as it is"):
    root = tree("again", {"card0": AMD})
    program = CLIENT + """
begin = time.monotonic()
def wait_until(second):
    time.sleep(max(0, begin + second - time.monotonic()))
write(me, 9, 31, ["drm-engine-gfx:\\t900000000000 ns"])
for step in range(11):
    wait_until(step / 10)
    write(me, 5, 17, ["drm-engine-gfx:\\t%012d ns" % (step * 100_000_000)])
wait_until(1.3)
os.unlink(f"{root}/proc/{me}/fd/5")
os.truncate(f"{root}/proc/{me}/fdinfo/5", 0)
wait_until(1.5)
write(me, 6, 17, ["drm-engine-gfx:\\t%012d ns" % 1_200_000_000])
wait_until(4)
"""
    document, _, trace = record("again.duet", [sys.executable, "-c", program, root, "amdgpu", "0000:03:00.0"], "drm",
                                {"DUET_COUNTERS_ROOT": root})
    rows = metrics(document, "process.gpu.engine", instance="gfx client 17")
    t.true(0.9e9 < sum(row["sum"] for row in rows) <= 1.2e9 + 1, f"once: {rows}")
    t.equal([row["sum"] for row in metrics(document, "process.gpu.engine", instance="gfx client 31")], [0],
            "what it did before")

with t.case("more clients than the limit are reported"):
    root = tree("many", {"card0": AMD})
    # all at once: the recorder looks once a second, and would see a part of them where they came one by one
    program = CLIENT + """
for client in range(140):
    write("new", client, client, ["drm-engine-gfx:\\t000000000001 ns"])
os.rename(f"{root}/proc/new", f"{root}/proc/{me}")
time.sleep(3)
"""
    document, _, trace = record("many.duet", [sys.executable, "-c", program, root, "amdgpu", "0000:03:00.0"], "drm",
                                {"DUET_COUNTERS_ROOT": root})
    t.equal(len(metrics(document, "process.gpu.engine")), 128, "clients")
    t.true("more than 128 clients" in notes(trace), "it is noted")

with t.case("one GPU by NVML and by the kernel is one device"):
    card = {"device/uevent": uevent("nvidia", BUS, "10DE:2335"), "device/hwmon/hwmon1/temp1_input": "44000"}
    root = tree("joined", {"card0": card})
    document, _, trace = record("joined.duet", ["sleep", "0.4"], "nvidia,drm",
                                dict(nvidia("nvml_load=0.5"), DUET_COUNTERS_ROOT=root))
    t.equal(len(document["devices"]), 1, "devices")
    t.equal(metric(document, "gpu.temperature", instance="temp1")["device"], metric(document, "gpu.power")["device"],
            "device of both")

with t.case("a missing card is reported, and the program runs"):
    document, said, _ = record("nocard.duet", ["true"], "drm", {"DUET_COUNTERS_ROOT": tree("nothing", {})})
    t.true("/sys/class/drm has no card" in said, said)

with t.case("the rate is reported, and invalid rates are refused"):
    document, _, trace = record("hz.duet", ["sleep", "0.5"], "drm:50",
                                {"DUET_COUNTERS_ROOT": tree("hz", {"card0": AMD})})
    series = [json.loads(line) for line in run([DUET, "export", "-f", "jsonl", trace]).stdout.splitlines()
              if b'"kind":"series"' in line]
    t.equal({row["interval_ns"] for row in series if row["metric"] == "gpu.busy"}, {60000000}, "sensors: 20 Hz at most")
    for collect, words in (("drm:0", "1 to 100 times a second, not 0"), ("nvidia:101", "1 to 100 times a second, not 101"),
                           ("nvidia:often", "no option 'often'")):
        result = run([DUET, "record", "--collect", collect, "-o", t.path("x.duet"), "--", "true"])
        t.equal(result.status, 125, collect)
        t.true(words in result.stderr.decode(), f"{collect}: {result.stderr}")

t.end()
