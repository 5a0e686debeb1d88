#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hardware counters of NVIDIA GPUs (nvidia:pm) over simulated libcuda, libcupti and libnvidia-ml (sim/nvidia).

Each simulated sample has a number that determines its values and times, so rows and gaps are compared exactly. No
result depends on the load: samples that a slow machine loses are counted and must match the gaps.
"""
import json
import os
import signal
import sqlite3
import time

import duet_test
import perfetto_trace
import view_file
from duet_test import DUET, Running, program, run, text

STAND_INS = os.path.join(duet_test.BUILD, "sim", "nvidia")
if not os.path.exists(os.path.join(STAND_INS, "libcuda.so.1")):
    print("1..0 # SKIP the stand-ins of sim/nvidia were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)

# At full load; of each eight samples the first is whole, and each after it by 1/160 less.
SHARES = {"graphics.active": 100, "sm.active": 92, "sm.occupancy": 61, "pipe.tensor": 38, "dram.bandwidth": 47,
          "dram.read": 31, "dram.write": 16}
LEAST = 1 - 0.05 * 7 / 8
METRICS = 15  # of a GH100
# The stand-in interpolates between pairs of clocks that are read within some 100 ns.
STAMP_NS = 2000
OWN = "duet.sampler.cpu"


def nvidia(sim, **other):
    return {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": sim, **other}


def record(name, command, collect, sim, **environment):
    """The trace of a recording that ended well, and what record said."""
    trace = t.path(name)
    result = t.record(command, trace, ["--collect", collect], env=nvidia(sim, **environment))
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    return trace, text(result.stderr)


def notes(trace):
    return text(run([DUET, "info", trace]).stdout)


def pm(document, **what):
    """{name without its begin: row}"""
    return {row["name"][len("gpu.pm."):]: row for row in document["metrics"]
            if row["name"].startswith("gpu.pm.") and all(row.get(key) == value for key, value in what.items())}


class Rows:
    """The rows of a trace."""

    def __init__(self, trace):
        path = t.path("rows.sqlite")
        if os.path.exists(path):
            os.unlink(path)
        t.equal(run([DUET, "export", "--format", "sqlite", "-o", path, trace]).status, 0, "export")
        self.data = sqlite3.connect(path)

    def ask(self, question, *values):
        return self.data.execute(question, values).fetchall()

    def samples(self, metric):
        return self.ask('select c.begin_ns, c.end_ns, c.value, c."of" from counters c join series s on s.id = c.series '
                        "where s.metric = ? order by 1", metric)

    def losses(self):
        return self.ask("select begin_ns, end_ns, reason, count from losses where lost = 'counter' order by 1")


def exported(trace, verb, ending, *options):
    path = f"{trace}.{ending}"
    t.equal(run([DUET, verb, "-o", path, *options, trace]).status, 0, f"{verb} {ending}")
    return path


def trail(page, track):
    """Names of all tracks that it is below, the outermost first."""
    parent = track.head.get("parent")
    return [] if parent is None else [*trail(page, page.tracks[parent]), page.tracks[parent].name]


def gaps(samples):
    return [(one[1], other[0]) for one, other in zip(samples, samples[1:]) if other[0] > one[1]]


def check_gaps(rows, interval_ns, metrics=METRICS):
    """Whatever is missing is told, and where nothing is told nothing is missing."""
    missing = {metric: gaps(rows.samples(metric)) for (metric,) in
               rows.ask("select distinct metric from series where metric like 'gpu.pm.%'")}
    told = [(begin, end) for begin, end, _, _ in rows.losses()]
    wide = {metric: [gap for gap in found if gap[1] - gap[0] > interval_ns // 2] for metric, found in missing.items()}
    for metric, found in wide.items():
        t.equal(found, told, f"gaps of {metric}, and losses")
    for begin, end, _, count in rows.losses():
        t.equal(count, round((end - begin) / interval_ns) * metrics, f"rows lost between {begin} and {end}")


# ---- what must be there ----

with t.case("hardware counters, exactly; beside NVML, as one device"):
    trace, said = record("half.duet", ["sleep", "0.8"], "nvidia:20,nvidia:pm=1000Hz",
                         "pm_load=0.5,nvml_load=0.5,gpm_least_ms=100")
    document = t.report(trace)
    found = pm(document)
    t.equal(len(found), METRICS, f"metrics: {sorted(found)}")
    for name, full in SHARES.items():
        row = found[name]
        t.true(abs(row["max"] - full / 2) < 1e-3 and abs(row["min"] - full / 2 * LEAST) < 1e-3 and row["limit"] == 100,
               f"{name}: {row}")
    for name, full in (("pcie.read", 9000), ("pcie.write", 4000), ("nvlink.sent", 20000), ("l2.bytes", 32 * 60000)):
        t.true(abs(found[name]["max"] / (full / 2) - 1) < 1e-3, f"{name}: {found[name]}")
    t.equal((found["clock.gpc"]["min"], found["clock.gpc"]["max"]), (1980, 1980), "clock")
    t.true(found["sm.active"]["readings"] > 500, f"a thousand a second: {found['sm.active']}")
    t.equal(len(document["devices"]), 1, "NVML's values and the hardware's are of one device")
    keys = {row["device"] for row in document["metrics"] if "device" in row}
    t.equal(len(keys), 1, f"by its UUID: {keys}")
    gpm = [row for row in document["metrics"] if row["name"] == "gpu.sm.active"]
    t.true(len(gpm) == 1 and abs(gpm[0]["mean"] - 46) < 1e-3, "GPM says the same of the same GPU")
    t.equal(document["devices"][0]["measured"], False, "a device that is only counted was not measured")
    t.true("15 counters, 1000 times a second" in notes(trace), "it is noted what is sampled")
    t.true("gpu.pm.instructions" in notes(trace), "and what is not")
    t.true("hold the GPU's clocks" in notes(trace), "and what that does to the GPU's clocks")
    table = text(run([DUET, "report", trace]).stdout)
    t.true("hold the GPU's clocks" in table.replace("\n ", "") or "GPU's clocks" in table, "in the report, too")
    rows = Rows(trace)
    check_gaps(rows, 1000000)
    sources = dict(rows.ask("select metric, source from series where metric like 'gpu.pm.%'"))
    t.equal(sources["gpu.pm.sm.active"], "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "source")

with t.case("counters that are chosen by name: of the hardware, and of NVML at a rate of their own"):
    trace, _ = record("chosen.duet", ["sleep", "1"], "nvidia:20,nvidia:pm=1000Hz,nvidia:metric=gpu.pm.sm.*,nvidia:metric=gpu.power@5,"
                      "nvidia:metric=gpu.temperature", "pm_load=0.5,nvml_load=0.5")
    rows = Rows(trace)
    series = dict(rows.ask("select metric, interval_ns from series where metric not like 'duet.%'"))
    t.equal({name for name in series if name.startswith("gpu.pm.")}, {"gpu.pm.sm.active", "gpu.pm.sm.occupancy"}, "of the hardware")
    t.equal({name: at for name, at in series.items() if not name.startswith("gpu.pm.")},
            {"gpu.power": 200000000, "gpu.temperature": 50000000}, "of NVML")
    t.true("2 counters, 1000 times a second" in notes(trace) and "not on this chip" not in notes(trace), f"{notes(trace)}")
    t.equal(len(rows.ask("select metric from series where metric like 'duet.%'")), 1, "the cost of the hardware's counters")

with t.case("10,000 a second for 10 s, and a buffer that is full after 3: a gap there, and no sample made up"):
    trace, said = record("full.duet", ["sleep", "10"], "nvidia:pm=10kHz", "pm_load=0.5,pm_full_ms=3000")
    rows = Rows(trace)
    samples = rows.samples("gpu.pm.sm.active")
    check_gaps(rows, 100000)
    losses = rows.losses()
    first = [row for row in losses if row[2] == "ring_full"][:1]
    t.true(first and losses, f"the overflow is a loss: {losses}")
    # The 30,000th sample after the start was the last before the buffer was full; the first one was not taken.
    before = sum(1 for row in samples if first and row[1] <= first[0][0])
    t.true(before <= 29999, f"{before} samples before it")
    if len(losses) == 1:
        t.equal(before, 29999, "samples before the moment at which it was full")
        t.true(abs(first[0][0] - samples[0][0] - 29999 * 100000) < STAMP_NS, "the gap begins at that moment")
    lost = sum(round((end - begin) / 100000) for begin, end, _, _ in losses)
    t.true(abs(len(samples) + lost - (samples[-1][1] - samples[0][0]) / 100000) < 2, "samples and losses make up the time")
    t.true(samples[-1][1] - samples[0][0] > 9.5e9, "for ten seconds")
    t.equal([row for row in samples if not 0 < row[3] <= 150000 or not row[2] <= row[3]], [], "each is a share of its time")
    t.true("buffer was full" in notes(trace), "it is noted")

with t.case("a reading that is not a number has no row"):
    trace, _ = record("nan.duet", ["sleep", "0.6"], "nvidia:pm", "pm_load=0.5,pm_nan_every=50")
    rows = Rows(trace)
    samples = rows.samples("gpu.pm.dram.read")
    told = [(row[0], row[1]) for row in rows.losses()]
    t.true(len(told) >= METRICS, f"each is counted: {len(told)}")
    t.true(all(any(abs(gap[0] - one[0]) < STAMP_NS and abs(gap[1] - one[1]) < STAMP_NS for one in told)
               for gap in gaps(samples) if gap[1] - gap[0] > 500000), "where there is none it is told")
    t.true(samples and min(row[2] / row[3] for row in samples) > 0.1, "and none is 0")

with t.case("decodings that stop for reasons of their own"):
    trace, _ = record("other.duet", ["sleep", "0.4"], "nvidia:pm", "pm_load=0.5,pm_other_every=2")
    check_gaps(Rows(trace), 1000000)
    t.true(pm(t.report(trace))["sm.active"]["readings"] > 200, "samples")

# ---- clocks ----

with t.case("times are the host's, whichever clock the library takes"):
    # Since a machine's start CLOCK_BOOTTIME may be CLOCK_MONOTONIC.
    for sim, is_one_of, said in (("", ("MONOTONIC", "BOOTTIME"), None),
                                 ("fail_cuptiActivityRegisterTimestampCallback=1", ("REALTIME",), None),
                                 ("pm_clock=1", ("MONOTONIC", "BOOTTIME"), "from CLOCK_REALTIME")):
        trace, _ = record("clock.duet", ["sleep", "0.5"], "nvidia:pm", f"pm_load=0.5,{sim}".rstrip(","))
        document = t.report(trace)
        rows = Rows(trace)
        samples = rows.samples("gpu.pm.sm.active")
        # From a moment before the program was started to one after it ended.
        t.true(samples and samples[0][0] > -3e9 and 0.4e9 < samples[-1][1] < document["wall_ns"] + 1e9,
               f"{sim}: {samples[:1]} … {samples[-1:]} of {document['wall_ns']}")
        t.true(samples[-1][1] - samples[0][0] > 0.4e9, f"{sim}: their length")
        clocks = [clock for clock in document["clocks"] if "H200" in clock["domain"]]
        t.equal([clock["method"] == "same" and "MONOTONIC" in is_one_of or clock.get("is") in is_one_of
                 for clock in clocks], [True], f"{sim}: certificate {clocks}")
        t.true(all(clock["violations"] == 0 and clock["error_ns"] < 10**6 for clock in clocks), f"{sim}: {clocks}")
        if said:
            t.true(said in notes(trace), f"{sim}: it is noted")

with t.case("times of an unknown clock give no rows, and this is reported"):
    trace, _ = record("noclock.duet", ["sleep", "0.3"], "nvidia:pm", "pm_clock=2")
    t.equal(pm(t.report(trace)), {}, "metrics")
    t.true("cannot be placed" in notes(trace), "noted")

# ---- chips and versions ----

with t.case("Turing and GA100 count cycles, which is reported; older GPUs have no counters"):
    for chip, count, left_out in (("TU102", 11, "gpu.pm.dram.bandwidth"), ("GA100", 15, "gpu.pm.instructions")):
        trace, _ = record("cycles.duet", ["sleep", "0.4"], "nvidia:pm=2kHz", f"pm_load=0.5,chip={chip}")
        found = pm(t.report(trace))
        t.equal(len(found), count, f"{chip}: {sorted(found)}")
        t.true("990000 cycles of its system clock" in notes(trace), f"{chip}: {notes(trace)}")
        t.true(left_out in notes(trace), f"{chip}: what is left out is named")
        check_gaps(Rows(trace), 500000, count)
    trace, said = record("volta.duet", ["true"], "nvidia:pm", "chip=GV100")
    t.true("H200 (simulated)" in said and "7.0" in said and "7.5 (Turing)" in said, f"named and skipped: {said}")
    t.equal(t.report(trace)["devices"], [], "and no device of the trace")

with t.case("CUPTI of 12.8 and 13.0 samples, that of 12.4 does not"):
    for version in (26, 28, 130000):
        trace, _ = record("version.duet", ["sleep", "0.3"], "nvidia:pm", f"pm_load=0.5,version={version},driver=12080")
        t.equal(len(pm(t.report(trace))), METRICS, f"version {version}")
    trace, said = record("old.duet", ["true"], "nvidia:pm", "version=22")
    t.true("CUDA 12.6 or newer" in said, said)
    trace, _ = record("first.duet", ["sleep", "0.3"], "nvidia:pm", "pm_load=0.5,version=24")
    t.equal(len(pm(t.report(trace))), METRICS, "12.6, whose structs are shorter")

# ---- refusals ----

with t.case("each refusal has a remedy, and the recording continues"):
    for sim, words in (("fail_cuptiPmSamplingEnable=35", ("35 (", "NVreg_RestrictProfilingToAdminUsers")),
                       ("privileges=0", ("35 (", "cap-add=SYS_ADMIN")),
                       ("busy=1", ("26 (", "dcgmi profile --pause")),
                       ("fail_cuptiProfilerInitialize=15", ("15 (", "newer than the driver")),
                       ("fail_cuptiProfilerInitialize=999", ("999 (", "stubs")),
                       ("fail_cuptiPmSamplingEnable=40", ("40 (", "hypervisor")),
                       ("fail_cuptiPmSamplingSetConfig=1", ("ask for fewer", "nvidia:pm=101Hz")),
                       ("fail_cuptiPmSamplingStart=9", ("9 (", "Xid")),
                       ("fail_cuptiProfilerHostInitialize=46", ("returned 46",)),
                       ("fail_cuptiPmSamplingGetCounterDataSize=4711", ("unknown error",)),
                       ("fail_cuInit=999", ("no PM sampling", "nvidia-smi")),
                       ("devices=0", ("no GPU", "CUDA_VISIBLE_DEVICES"))):
        trace, said = record("refused.duet", ["true"], "nvidia:pm", sim)
        for word in words:
            t.true(word in said, f"{sim}: '{word}' in {said}")
        t.equal((t.report(trace)["devices"], said.count("no PM sampling")), ([], 1), f"{sim}: said once, and no device")
    trace, said = record("nvml.duet", ["sleep", "0.3"], "nvidia:10,nvidia:pm", "nvml_load=0.5,busy=1")
    t.true("26 (" in said, f"beside NVML: {said}")
    t.true(any(row["name"] == "gpu.power" for row in t.report(trace)["metrics"]), "NVML's values are there")
    trace, said = record("hardware.duet", ["sleep", "0.3"], "nvidia:10,nvidia:pm", "fail_nvmlInit_v2=9,pm_load=0.5")
    t.equal(len(pm(t.report(trace))), METRICS, "and the other way round")
    t.true("modprobe nvidia" in notes(trace) and "modprobe nvidia" in said, f"which is noted, and said: {said}")
    for trace in (trace, t.path("nvml.duet")):
        report = text(run([DUET, "report", trace]).stdout)
        t.true("! nvidia: partial: " in report and "not at all" not in report, f"in part: {report}")
        t.true("nvidia   partial: " in notes(trace), notes(trace))

with t.case("a GPU that fails while it is sampled ends there"):
    trace, _ = record("fails.duet", ["sleep", "0.4"], "nvidia:pm", "fail_cuptiPmSamplingDecodeData=9")
    t.true("ended before the recording" in notes(trace) and "Xid" in notes(trace), notes(trace))
    t.equal(pm(t.report(trace)), {}, "metrics")

with t.case("no CUDA driver: a sentence, and the program runs"):
    result = t.record(["echo", "ran"], t.path("none.duet"), ["--collect", "nvidia:pm"],
                      env={"LD_LIBRARY_PATH": "/nonexistent", "SIM_NVIDIA": ""})
    t.equal((result.status, text(result.stdout)), (0, "ran\n"), "the program")
    t.true("no CUDA driver (libcuda.so.1)" in text(result.stderr) or "CUDA" in text(result.stderr), text(result.stderr))

with t.case("rates that cannot be"):
    for option in ("pm=5", "pm=1MHz", "pm=", "pm=fast", "pm=300kHz"):
        result = run([DUET, "record", "--collect", f"nvidia:{option}", "-o", t.path("no.duet"), "--", "true"])
        t.equal(result.status, 125, f"{option}: status")
        t.true("from 10 to 200000" in text(result.stderr), f"{option}: {text(result.stderr)}")
    with open(t.path("pm.txtpb"), "w", encoding="utf-8") as file:
        file.write("nvidia { pm: 500 }\n")
    result = run([DUET, "record", "-c", t.path("pm.txtpb"), "-o", t.path("file.duet"), "--", "sleep", "0.3"],
                 env=nvidia("pm_load=0.5"))
    t.equal(result.status, 0, text(result.stderr))
    t.equal(len(pm(t.report(t.path("file.duet")))), METRICS, "by a file")
    with open(t.path("pm.txtpb"), "w", encoding="utf-8") as file:
        file.write("nvidia { pm: 5 }\n")
    result = run([DUET, "record", "-c", t.path("pm.txtpb"), "-o", t.path("file.duet"), "--", "true"])
    t.true(result.status == 125 and "1:14" in text(result.stderr) and "200000" in text(result.stderr),
           text(result.stderr))

with t.case("the list of metrics has them"):
    lines = [line for line in text(run([DUET, "list", "metrics"]).stdout).splitlines() if line.startswith("gpu.pm.")]
    t.equal(len(lines), 16, "metrics")
    t.true(all("200000/s" in line and "__" in line for line in lines), f"rate and counter: {lines[:2]}")

# ---- several GPUs, processes, instances ----

with t.case("two GPUs have their own threads and rows"):
    trace, _ = record("two.duet", ["sleep", "0.5"], "nvidia:10,nvidia:pm", "devices=2,pm_load=0.5,nvml_load=0.5")
    document = t.report(trace)
    t.equal(len(document["devices"]), 2, "devices")
    for device in {row["device"] for row in document["metrics"] if row["name"] == "gpu.power"}:
        t.equal(len(pm(document, device=device)), METRICS, f"of {device}")
    t.equal(sorted(row["instance"] for row in document["metrics"]
                   if row["name"] == OWN and row["instance"].startswith("nvidia-pm")), ["nvidia-pm 0", "nvidia-pm 1"],
            "what each costs")

with t.case("a GPU whose driver does not answer: the other one is sampled, and the recording ends well"):
    trace, said = record("hang.duet", ["sleep", "0.5"], "nvidia:10,nvidia:pm", "devices=2,pm_hang_ms=20000,pm_load=0.5",
                         DUET_PM_WAIT_MS="300")
    t.true("did not answer within 300 ms" in said, said)
    t.equal(len({row["device"] for row in pm(t.report(trace)).values()}), 1, "GPUs that are sampled")

with t.case("CUDA_VISIBLE_DEVICES reorders GPUs, and they keep their identity"):
    for visible, count in (("1,0", 2), ("1", 1), ("GPU-516d0d00-1a2b-4c3d-8001-483230300001", 1)):
        trace, _ = record("order.duet", ["sleep", "0.3"], "nvidia:10,nvidia:pm", "devices=2,pm_load=0.5,nvml_load=0.5",
                          CUDA_VISIBLE_DEVICES=visible)
        document = t.report(trace)
        t.equal(len(document["devices"]), 2, f"{visible}: NVML's two and no more")
        devices = {row["device"] for row in pm(document).values()}
        sampled = {row["device"] for row in document["metrics"] if row["name"] == "gpu.pm.sm.active"}
        t.equal(len(sampled), count, f"{visible}: {sampled}")
        if count == 1:
            t.true(devices == sampled and devices.pop().endswith("01"), f"{visible}: the second one")

with t.case("an instance of MIG is the device that NVML counts"):
    trace, _ = record("mig.duet", ["sleep", "0.4"], "nvidia:10,nvidia:pm", "mig=2,pm_load=0.5,nvml_load=0.5")
    document = t.report(trace)
    t.equal(len(document["devices"]), 3, "a GPU and its two instances")
    devices = {row["device"] for row in pm(document).values()}
    t.true(len(devices) == 1 and next(iter(devices)).startswith("MIG-"), f"{devices}")

WORK = [program("cuda_work"), "kernels=40", "laps=3", "pace_ms=20", "waits=1"]

with t.case("several processes on one GPU: their kernels, NVML and the hardware's counters in one trace"):
    log = t.path("log")
    command = " & ".join([" ".join(WORK)] * 2 + [f"CUDA_VISIBLE_DEVICES=1,0 {' '.join(WORK)}", "wait"])
    trace, said = record("ranks.duet", ["sh", "-c", command], "nvidia:cuda,nvidia:10,nvidia:pm=1000Hz",
                         f"devices=2,pm_load=0.5,nvml_load=0.5,log={log}")
    document = t.report(trace)
    ledger = document["ledger"]
    t.equal((ledger["launched"], ledger["matched"]), (360, 360), f"kernels of three processes: {ledger}")
    t.equal(len(document["devices"]), 2, "on two GPUs")
    t.equal(sorted(device["executions"] for device in document["devices"]), [120, 240],
            "the third one's first GPU is the second")
    for device in document["devices"]:
        t.true(device["measured"], "which were measured")
    t.equal(len({row["device"] for row in pm(document).values()} & {row["device"] for row in document["metrics"]
                                                                     if row["name"] == "gpu.power"}), 1, "one UUID")

with t.case("an instance of MIG that a program uses is the one that is counted"):
    for collect, count in (("nvidia:cuda,nvidia:10,nvidia:pm", 3), ("nvidia:cuda,nvidia:pm", 1), ("nvidia:cuda,nvidia:10", 3)):
        trace, _ = record("migwork.duet", WORK, collect, "mig=2,pm_load=0.5,nvml_load=0.5")
        document = t.report(trace)
        used = [device for device in document["devices"] if device["executions"]]
        t.equal((len(document["devices"]), len(used)), (count, 1), f"{collect}: devices, and those that executed something")
        t.true("MIG" in used[0]["name"], f"{used[0]['name']}")
        devices = json.loads(run([DUET, "export", "-f", "json", trace]).stdout)["devices"]
        names = {row["id"]: row["name"] for row in devices}
        parents = [names.get(row["parent"]) for row in devices if "parent" in row]
        t.equal((len(parents), any("MIG" in name for name in parents)), (count - 1, False), f"{collect}: parents")

with t.case("kernels and the hardware's counters of one GPU, without NVML"):
    trace, _ = record("alone.duet", WORK, "nvidia:cuda,nvidia:pm", "pm_load=0.5")
    document = t.report(trace)
    t.equal([(device["executions"], device["measured"]) for device in document["devices"]], [(120, True)], "one device")
    t.equal(len(pm(document)), METRICS, "metrics")

with t.case("timelines have every sample, below its GPU beside the kernels"):
    trace = t.path("alone.duet")
    samples = Rows(trace).samples("gpu.pm.sm.active")
    page = view_file.read(exported(trace, "view", "html"))
    for problem in view_file.problems(page):
        t.fail(problem[:400])
    tracks = [track for track in page.of_kind("counter") if track.name.startswith("gpu.pm.sm.active")]
    t.equal([len(list(track.items())) for track in tracks], [len(samples)], "of duet view")
    above = trail(page, tracks[0])
    kernels = [trail(page, track) for track in page.tracks if track.kind == "device"]
    t.true(any("H200" in name for name in above), f"below {above}, beside {kernels}")
    timeline = perfetto_trace.load(exported(trace, "export", "perfetto", "--format", "perfetto"))
    tracks = [track for track in timeline.tracks.values() if track.is_recorded and track.name.startswith("gpu.pm.sm.active")]
    t.true(len(tracks) == 1 and len(tracks[0].values) >= len(samples), "of Perfetto")
    t.true("H200" in timeline.tracks[tracks[0].parent].name, "below its GPU")

with t.case("another tool's library is the program's, and is not loaded into the recorder"):
    other = t.path("other.so")
    result = t.record(["sh", "-c", "echo $CUDA_INJECTION64_PATH"], t.path("injected.duet"), ["--collect", "nvidia:pm"],
                      env=nvidia("pm_load=0.5", CUDA_INJECTION64_PATH=other, LD_DEBUG="files"))
    t.equal((result.status, text(result.stdout).strip()), (0, other), "the program has the variable")
    said = text(result.stderr)
    t.true("libcupti.so.13" in said and other not in said, "what the recorder loaded")

# ---- ends ----

with t.case("a program that is killed leaves a whole recording"):
    trace, _ = record("killed.duet", ["sh", "-c", "sleep 0.5"], "nvidia:pm", "pm_load=0.5")
    killed = t.path("kill.duet")
    result = t.record(["sh", "-c", "sleep 0.4; kill -9 $$"], killed, ["--collect", "nvidia:pm"], env=nvidia("pm_load=0.5"))
    t.equal(result.status, 128 + signal.SIGKILL, "status")
    t.true(pm(t.report(killed))["sm.active"]["readings"] > 200, "samples")

with t.case("a recorder that is killed leaves what was written"):
    trace = t.path("norecorder.duet")
    recorder = Running([DUET, "record", "--collect", "nvidia:pm=1000Hz", "-o", trace, "--", "sleep", "60"],
                       env=nvidia("pm_load=0.5"))
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and (not os.path.exists(trace) or os.path.getsize(trace) < 4096):
        time.sleep(0.1)
    time.sleep(1.5)
    children = recorder.children()
    recorder.kill(signal.SIGKILL)
    for child in children:
        os.kill(child, signal.SIGKILL)
    recorder.finish()
    result = run([DUET, "report", "--json", trace])
    t.equal(result.status, 0, text(result.stderr))
    t.true(b"gpu.pm.sm.active" in result.stdout, "samples")

t.end()
