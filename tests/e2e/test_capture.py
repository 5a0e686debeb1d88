#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs that capture CUDA on a machine with a GPU (tests/device/capture).

The reader of capture files is tested with files made here, intact and damaged. The programs run over simulated
libcuda, libcupti and libnvidia-ml (SIM_NVIDIA_FOLDER). The script that runs all of them is tested with and without
these libraries.
"""
import collections
import glob
import math
import os
import re
import struct
import sys
import tarfile
import time

import duet_test
from duet_test import ROOT, Skip, run, text

KIT = os.path.join(ROOT, "tests", "device", "capture")
sys.path.insert(0, KIT)
import make_answers  # noqa: E402
import read_capture  # noqa: E402

PROGRAMS = os.environ.get("CAPTURE_PROGRAMS") or os.path.join(duet_test.BUILD, "tests", "device", "capture")
READER = os.path.join(KIT, "read_capture.py")
SCRIPT = os.path.join(KIT, "run_capture.sh")
EVERY = 97

t = duet_test.Suite(needs_opencl=False)
STAND_INS = os.environ.get("SIM_NVIDIA_FOLDER")
if STAND_INS:
    STAND_INS = t.for_others(STAND_INS)  # some steps of the script run without root's rights


# -- files made here --

def padded(data):
    return data + b"\0" * (-len(data) % 8)


def chunk(kind, data, number=0):
    return struct.pack("<IIQQ", kind, number, len(data), 1000) + padded(data)


def kernel(correlation, name_at):
    data = bytearray(216)
    struct.pack_into("<I", data, 0, 10)
    struct.pack_into("<QQ", data, 16, 5000, 6000)
    struct.pack_into("<I", data, 92, correlation)
    struct.pack_into("<Q", data, 104, name_at)
    return bytes(data)


def graph(correlation):
    data = bytearray(56)
    struct.pack_into("<IIQQ", data, 0, 51, correlation, 7000, 9000)
    return bytes(data)


def name(pointer, letters):
    return struct.pack("<QII", pointer, len(letters), 0) + padded(letters)


def callback(site, correlation):
    return struct.pack("<QIIIIIIQQ24s", 4000 + site, 1, 307, site, 77, correlation, 1, 12, 900, b"cuLaunchKernel")


def pc(offset, pairs, function):
    head = struct.pack("<QQIIII", 0xabc, offset, 3, 0, len(pairs), len(function))
    return head + b"".join(struct.pack("<II", *pair) for pair in pairs) + padded(function)


def whole_file():
    header = struct.pack("<8sIIIIQQ64s", b"DUETCAP1", read_capture.HEADER.size, 42, 130000, 13000, 100, 200, b"made here")
    return header + b"".join([
        chunk(1, b"dropped=0\nexit=complete\n"),
        chunk(2, kernel(11, 0x1000) + kernel(12, 0x2000) + graph(13)),
        chunk(3, name(0x1000, b"duet_empty") + name(0x2000, b"duet_add")),
        chunk(4, callback(0, 11) + callback(1, 11) + callback(0, 12)),
        chunk(5, struct.pack("<QIIQ", 0xdef, 5, 0, 11) + b"\x7fELF a cubin"[:11]),
        chunk(6, struct.pack("<I124s", 0, b"stalled_wait") + struct.pack("<I124s", 7, b"stalled_barrier")),
        chunk(7, struct.pack("<QQQQQQIIQ", 2, 2, 0, 30, 1, 0, 0, 0, 10)
              + pc(16, [(0, 20), (7, 1)], b"duet_fma") + pc(32, [(7, 9)], b"duet_barrier")),
        chunk(8, struct.pack("<QQQQQQ", 1, 2, 3, 4, 5, 6) * 2),
        chunk(9, b"counters of an image", 2),
        chunk(10, b"sm__active\ndram__bytes\n"),
        chunk(11, struct.pack("<IIII", 2, 2, 0, 2) + struct.pack("<QQdd", 1, 2, 0.5, 1.5)
              + struct.pack("<QQdd", 2, 3, 0.25, 2.5)),
        chunk(12, b"sm_mhz\npower_mw\n"),
        chunk(13, struct.pack("<ddd", 1.0, 1980.0, math.nan) + struct.pack("<ddd", 1.1, 1950.0, 70000.0)),
        chunk(99, b"of a later version"),
    ])


def ends_of_chunks(data):
    """Where a file may end without harm: behind a chunk's contents, the zeros after them or not."""
    good, at = set(), read_capture.HEADER.size
    good.add(at)
    while at < len(data):
        count = struct.unpack_from("<Q", data, at + 8)[0]
        end = at + 24 + (count + 7) // 8 * 8
        good.update(range(at + 24 + count, end + 1))
        at = end
    return good


def read(data, *options):
    path = t.path("made.cap")
    with open(path, "wb") as file:
        file.write(data)
    return run([sys.executable, READER, *options, path], env={"PYTHONDONTWRITEBYTECODE": "1"})


def lines(data, kind):
    result = read(data, "--rows", kind)
    t.equal(result.status, 0, f"status of --rows {kind}: {text(result.stderr)}")
    return [line.split("\t") for line in text(result.stdout).splitlines()]


with t.case("every kind of chunk is read"):
    t.wanted()
    data = whole_file()
    t.equal(lines(data, "facts"), [["dropped", "0"], ["exit", "complete"]], "facts")
    t.equal(lines(data, "activity"), [["kernel", "5000", "6000", "11", "duet_empty"],
                                      ["kernel", "5000", "6000", "12", "duet_add"],
                                      ["graph", "7000", "9000", "13", ""]], "activity")
    t.equal([row[5] for row in lines(data, "callbacks")], ["11", "11", "12"], "correlation ids of callbacks")
    t.equal(lines(data, "cubins"), [["0xdef", "5", "11"]], "cubins")
    t.equal(lines(data, "stalls"), [["0", "stalled_wait"], ["7", "stalled_barrier"]], "stalls")
    t.equal(lines(data, "pcs"), [["duet_fma", "0x10", "0", "stalled_wait:20 stalled_barrier:1"],
                                 ["duet_barrier", "0x20", "0", "stalled_barrier:9"]], "pcs")
    t.equal(len(lines(data, "clocks")), 2, "clocks")
    t.equal(lines(data, "metrics"), [["sm__active"], ["dram__bytes"]], "metrics")
    t.equal(lines(data, "pms"), [["1", "2", "0.5", "1.5"], ["2", "3", "0.25", "2.5"]], "pm samples")
    t.equal(lines(data, "series"), [["1.0", "1980.0", ""], ["1.1", "1950.0", "70000.0"]], "series")
    summary = text(read(data).stdout)
    for words in ("activity kernel: 2", "activity graph: 1", "pc samples: 30 in 1 blocks, 2 stall reasons",
                  "cubins: 1", "clock readings: 2", "pm samples: 2 of 2 metrics in 1 blocks", "series: 2 rows of 2 keys"):
        t.true(words in summary, f"'{words}' in {summary}")
    folder = t.path("cubins")
    read(data, "--cubins", folder)
    t.equal(os.listdir(folder), ["5-def.cubin"], "cubins written")

with t.case("a file that ends anywhere is read up to there"):
    t.wanted()
    data = whole_file()
    good = ends_of_chunks(data)
    for size in range(0, len(data), EVERY):
        result = read(data[:size])
        t.true(b"Traceback" not in result.stderr, f"no traceback with {size} bytes: {text(result.stderr)}")
        t.equal(result.status, 0 if size in good else 1, f"status with {size} bytes")
        if size > 600:
            t.true(b"exit=complete" in result.stdout, f"the facts of {size} bytes")

with t.case("a wrong byte does not crash the reader"):
    t.wanted()
    data = whole_file()
    for at in range(0, len(data), 31):
        for flip in (0x01, 0x80, 0xff):
            broken = bytearray(data)
            broken[at] ^= flip
            try:
                capture = read_capture.Capture(bytes(broken))
                for rows in (capture.facts().items, capture.activity, capture.callbacks, capture.cubins,
                             capture.stalls().items, capture.pcs, capture.clocks, capture.metrics, capture.pms,
                             capture.series):
                    list(rows())
            except read_capture.Damaged:
                pass
            except Exception as error:
                t.fail(f"byte {at} ^ {flip:#x}: {type(error).__name__}: {error}")
    for at in range(3, len(data), EVERY):
        broken = bytearray(data)
        broken[at] ^= 0x40
        result = read(bytes(broken))
        t.true(result.status in (0, 1) and b"Traceback" not in result.stderr,
               f"byte {at}: status {result.status}: {text(result.stderr)[-300:]}")


with t.case("an odd record ends its buffer, and the next one is read"):
    t.wanted()
    data = whole_file()
    odd = chunk(2, kernel(21, 0x1000) + struct.pack("<II", 61, 0) + b"?" * 40) + chunk(2, kernel(22, 0x1000)[:100])
    data += odd + chunk(2, kernel(23, 0x1000)) + chunk(3, name(0x1000, b"duet_last"))
    result = read(data, "--rows", "activity")
    rows = [line.split("\t") for line in text(result.stdout).splitlines()]
    t.equal([row[3] for row in rows], ["11", "12", "13", "21", "23"], "correlation ids")
    t.equal(rows[-1][4], "duet_last", "the name of the last")
    t.equal(result.status, 1, "status")
    for words in ("activity buffer 2, byte 216 of 264: a record of kind 61", "activity buffer 3, byte 0 of 100: it ends inside"):
        t.true(words in text(result.stderr), f"'{words}' in {text(result.stderr)}")
    t.true("ODD activity buffer 2" in text(read(data).stdout), "the summary")

with t.case("samples of _not_issued are among the others, and not added to them"):
    t.wanted()
    data = whole_file() + chunk(6, struct.pack("<I124s", 8, b"stalled_wait_not_issued"))
    data += chunk(7, struct.pack("<QQQQQQIIII", 1, 1, 0, 30, 1, 0, 0, 0, 10, 0) + pc(48, [(0, 5), (8, 4)], b"duet_fma"))
    t.true("pc samples: 35 in 2 blocks" in text(read(data).stdout), text(read(data).stdout))
    t.equal(lines(data, "pcs")[-1][3], "stalled_wait:5 stalled_wait_not_issued:4", "the rows have them")

with t.case("driver calls inside runtime calls have the same correlation ids"):
    t.wanted()

    def call(domain, site, correlation, called, tid=77):
        return struct.pack("<QIIIIIIQQ24s", 4000, domain, 1, site, tid, correlation, 1, 0, 0, called)

    data = whole_file() + chunk(4, call(2, 0, 31, b"cudaLaunchKernel") + call(1, 0, 31, b"cuLaunchKernel")
                                + call(1, 1, 31, b"cuLaunchKernel") + call(2, 1, 31, b"cudaLaunchKernel")
                                + call(1, 0, 32, b"cuLaunchKernel") + call(2, 0, 33, b"cudaMemcpy")
                                + call(1, 0, 34, b"cuMemcpyHtoD_v2") + call(1, 0, 35, b"cuCtxSynchronize", tid=78))
    found = make_answers.nested_calls(read_capture.Capture(data))
    t.equal({key: dict(counts) for key, counts in found.items()},
            {("cudaLaunchKernel", "cuLaunchKernel"): {"same": 1}, ("cudaMemcpy", "cuMemcpyHtoD_v2"): {"other": 1}},
            "nested calls")


# -- the programs, against the stand-ins --

def toy(workload, *words, options=None, name="work", timeout=60, sim=""):
    """Runs it with the agent in it. Returns (result, capture)."""
    t.wanted()
    if not STAND_INS:
        raise Skip("SIM_NVIDIA_FOLDER is not set: the stand-ins for CUDA are not built")
    path = t.path(f"{name}.cap")
    env = {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": sim}
    if options is not None:
        env["CUDA_INJECTION64_PATH"] = os.path.join(PROGRAMS, "libcapture.so")
        env["CAPTURE"] = f"out={path},what={name},{options}"
    if os.path.exists(path):
        os.unlink(path)
    result = run([os.path.join(PROGRAMS, "capture_toy"), workload, *map(str, words)], env=env, timeout=timeout)
    return result, read_capture.load(path) if os.path.exists(path) else None


def program(name, *words, sim=""):
    t.wanted()
    if not STAND_INS:
        raise Skip("SIM_NVIDIA_FOLDER is not set: the stand-ins for CUDA are not built")
    return run([os.path.join(PROGRAMS, name), *words], env={"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": sim})


def kernels(capture):
    return [row for row in capture.activity() if row.kind == 10]


def launches(capture, call="cuLaunchKernel"):
    return [row for row in capture.callbacks() if row[1] == 1 and row[3] == 0 and row[9] == call]


def pc_numbers(capture):
    """Of the chunks of samples; the highest bit: of the configuration's buffer."""
    return [number for kind, number, _, _ in capture.chunks if kind == read_capture.PCS]


def check_end(result, capture):
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    facts = capture.facts()
    t.equal(facts.get("exit"), "complete", "the agent's end")
    t.equal(facts.get("dropped"), "0", "dropped records")
    t.equal([key for key in facts if key.startswith("failed.")], [], "calls that failed")
    t.equal(capture.damage, None, "damage")


with t.case("each launch has a record with a name and the callback's correlation id"):
    result, capture = toy("launches", 500, options="callbacks=all,cubins=1,kinds=default+9+8+4+38")
    check_end(result, capture)
    rows = kernels(capture)
    t.equal(len(rows), 501, "kernel records")
    t.equal({row.name for row in rows}, {"duet_empty"}, "names")
    t.equal(sorted(row.correlation for row in rows), sorted(row[5] for row in launches(capture)), "correlation ids")
    t.true(all(row.start_ns <= row.end_ns for row in rows), "kernels end after they start")
    t.equal(len(list(capture.cubins())), 1, "cubins")
    t.true(all(crc and data[:4] == b"\x7fELF" for crc, _, data in capture.cubins()), "each with a crc, an ELF file")
    t.equal(capture.facts().get("stride.10"), "216", "bytes of a kernel record")
    t.equal(capture.facts().get("records_written"), str(sum(1 for _ in capture.activity())), "records written")

with t.case("known callbacks alone: the same launches"):
    result, capture = toy("launches", 300, options="callbacks=1")
    check_end(result, capture)
    t.equal(sorted(row.correlation for row in kernels(capture)), sorted(row[5] for row in launches(capture)),
            "correlation ids")

with t.case("threads: every record, of every thread"):
    result, capture = toy("threads", 8, options="callbacks=1,kinds=default+38")
    check_end(result, capture)
    t.equal(len(kernels(capture)), 8 * 8 * 2, "kernel records")
    t.equal(len({row[4] for row in launches(capture)}), 8, "threads that launched")

with t.case("graphs: one record per node, or one per launch"):
    result, capture = toy("graphs", 10, options="callbacks=1,graphs=node")
    check_end(result, capture)
    t.equal(len(kernels(capture)), 200, "kernel records of nodes")
    t.equal({row.correlation for row in kernels(capture)}, {row[5] for row in launches(capture, "cuGraphLaunch")},
            "correlation ids of the launches")
    result, capture = toy("graphs", 10, options="callbacks=1,graphs=trace")
    check_end(result, capture)
    t.equal(sum(row.kind == 51 for row in capture.activity()), 10, "graph records")
    t.equal(len(kernels(capture)), 0, "kernel records beside them")

with t.case("stacks: from each launch to the program's begin"):
    result, capture = toy("launches", 200, options="callbacks=1,stack=unwind")
    check_end(result, capture)
    facts = capture.facts()
    t.equal(facts.get("stacks"), "201", "stacks")
    t.equal(facts.get("stack.ends"), "complete 201 no_rule 0 broken 0", "how they end")
    frames = [value for key, value in facts.items() if key.startswith("stack.0.")]
    for word in ("libcuda.so", "cuLaunchKernel", "main"):
        t.true(any(word in frame for frame in frames), f"{word} in {frames}")
    t.true(all(row[7] > 3 for row in launches(capture)), "frames in each row")
    result, capture = toy("launches", 200, options="callbacks=1,stack=fp")
    check_end(result, capture)
    t.equal(capture.facts().get("stacks"), "201", "stacks by frame pointers")

with t.case("clocks: each device reading lies between two host readings of the requested clock"):
    for stamp, bias in (("monotonic", 0), ("biased", 10**15), ("default", None)):
        result, capture = toy("launches", 200, options=f"callbacks=1,stamp={stamp}")
        check_end(result, capture)
        rows = capture.clocks()
        t.true(len(rows) >= 200, f"{len(rows)} readings")
        t.true(all(row[0] <= row[2] <= row[5] for row in rows), "each in its order")
        shift = bias if bias is not None else capture.realtime_ns - capture.monotonic_ns
        slack = 0 if bias is not None else 10**7
        t.true(all(row[0] + shift - slack <= row[1] <= row[2] + shift + slack for row in rows),
               f"CUPTI's clock is {stamp}")
        enters = {row[5]: row[0] for row in launches(capture)}
        t.true(all(row.start_ns - shift + slack >= enters[row.correlation] for row in kernels(capture)),
               f"kernels start after their launch, {stamp}")

with t.case("PC samples, with the names of stall reasons"):
    for mode in ("continuous", "serialized"):
        result, capture = toy("stalls", 5, options=f"pc={mode},cubins=1,callbacks=1")
        check_end(result, capture)
        t.equal(capture.facts().get("pc.on"), "1", f"sampling, {mode}")
        stalls = capture.stalls()
        t.true(stalls and all(stalls.values()), f"names of stall reasons: {stalls}")
        found = [row for _, rows in capture.pcs() for row in rows]
        t.true(sum(sum(row[4].values()) for row in found) > 0, f"samples, {mode}")
        t.true({reason for row in found for reason in row[4]} <= set(stalls), "reasons are of the table")
        t.true({row[5] for row in found} <= {"duet_chase", "duet_barrier", "duet_fma", "duet_spin", "duet_add",
                                             "duet_empty"}, f"functions {sorted({row[5] for row in found})}")
        crcs = {crc for crc, _, _ in capture.cubins()}
        t.true({row[0] for row in found} <= crcs, f"crcs are those of the cubins {crcs}")

with t.case("PC samples in the buffer of the configuration are not lost"):
    for sim in ("", "pc_keep=1"):
        result, capture = toy("stalls", 5, options="pc=serialized,callbacks=1", sim=sim)
        check_end(result, capture)
        t.true(re.search(r" landed [1-9]", capture.facts()["pc.session"]), f"seen to land: {capture.facts()['pc.session']}")
        of_kernels = {row.correlation: row.name for row in kernels(capture)}
        found = [row for _, rows in capture.pcs() for row in rows]
        t.equal({row[5] for row in found if row[5] != of_kernels.get(row[3])}, set(), "each PC's kernel is its launch's")
        t.equal(len({row[3] for row in found}), len(kernels(capture)), "kernels with samples, each on its own")
    result, capture = toy("overlap", 100, options="pc=ranges", sim="us_duet_spin=40000,pc_buffer=100000000")
    check_end(result, capture)
    t.true(re.search(r" landed [1-9]", capture.facts()["pc.session"]), f"in ranges: {capture.facts()['pc.session']}")
    t.equal({row[5] for _, rows in capture.pcs() for row in rows}, {"duet_spin"}, "functions in ranges")
    sim = "pc_lag_us=60000000,us_duet_chase=300,us_duet_barrier=300,us_duet_fma=300,us_duet_spin=300"
    result, capture = toy("stalls", 5, options="pc=continuous,callbacks=1", sim=sim)
    check_end(result, capture)
    t.true(re.search(r" rest [1-9]", capture.facts()["pc.session"]), f"after Disable: {capture.facts()['pc.session']}")
    t.equal({row[5] for number, rows in zip(pc_numbers(capture), capture.pcs()) if number >> 31 for row in rows[1]},
            {"duet_chase", "duet_barrier", "duet_fma", "duet_spin"}, "functions of the samples that came last")

with t.case("PM samples, and their images evaluated again"):
    path = t.path("pm.cap")
    result = program("capture_pm", path, "seconds=1", "hz=1000", "images=2")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    capture = read_capture.load(path)
    rows = [row for _, _, found in capture.pms() for row in found]
    t.true(len(rows) > 500, f"{len(rows)} samples in a second of 1 kHz")
    t.true(len(capture.metrics()) >= 5, f"metrics {capture.metrics()}")
    t.true(all(row[0] < row[1] for row in rows), "samples end after they start")
    t.equal({len(row[2]) for row in rows}, {len(capture.metrics())}, "values of a sample")
    result = program("capture_pm", "--offline", path)
    t.equal(result.status, 0, f"offline: {text(result.stdout)}{text(result.stderr)}")
    t.true(re.search(r"offline images=[12] ", text(result.stdout)), f"images in {text(result.stdout)}")
    t.true(" 0 differ" in text(result.stdout), f"values as before: {text(result.stdout)}")

with t.case("PM samples without the image of available counters, and with a context"):
    path = t.path("pm-without.cap")
    result = program("capture_pm", path, "seconds=0.3", sim="fail_cuptiPmSamplingGetCounterAvailability=1")
    capture = read_capture.load(path)
    t.equal(result.status, 0, f"status: {text(result.stderr)} {capture.facts()}")
    t.true("pm ready\n" in text(result.stdout), f"says when it samples: {text(result.stdout)}")
    t.equal(capture.facts().get("pm.availability"), "none, and on without", "says that it goes on")
    t.true(sum(len(rows) for _, _, rows in capture.pms()) > 100, "samples")
    result = program("capture_pm", "--offline", path)
    t.equal(result.status, 0, f"offline: {text(result.stdout)}{text(result.stderr)}")
    result = program("capture_pm", path, "seconds=0.3", "context=1")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    t.equal(read_capture.load(path).facts().get("pm.context"), "1 result 0", "a context")

with t.case("NVML: a series of the available values"):
    path = t.path("nvml.cap")
    result = program("capture_nvml", path, "seconds=0.5", "hz=20")
    if result.status == 3:
        raise Skip("there is no stand-in for libnvidia-ml")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    keys, rows = read_capture.load(path).series()
    t.true(5 <= len(rows) <= 12, f"{len(rows)} rows")
    t.true("sm_mhz" in keys and "gpm_sm" in keys, f"keys {keys}")
    column = keys.index("sm_mhz") + 1
    t.true(all(row[column] > 0 for row in rows), "clocks")

with t.case("cost of a call, without waits for the GPU"):
    result, capture = toy("launches", 1200, options="kinds=none", sim="kernel_us=2000,queue_us=1500000")
    check_end(result, capture)
    found = re.search(r"launches ns_a_call=([\d.]+) median=([\d.]+) .*bursts=(\d+)", text(result.stdout))
    t.true(found, text(result.stdout))
    t.true(0 < float(found[1]) < 1e6, f"far less than a kernel lasts: {found[1]} ns")
    t.equal(int(found[3]), 3, "bursts of at most 500")
    t.equal(capture.facts().get("kinds_enabled"), "0", "kinds")
    result, _ = toy("graphs", 60)
    t.true(re.search(r"graphs ns_a_call=[\d.]+ .*bursts=3", text(result.stdout)), text(result.stdout))

with t.case("the leak: memory of the process each second, and a limit for the pool"):
    result, capture = toy("leak", 200000, 1.5, options="kinds=10,max=1000,pool=8")
    check_end(result, capture)
    t.equal(capture.facts().get("pool_limit"), "8", "the limit, as the library says it")
    rows = re.findall(r"leak nodes=\d+ used_mib=\d+ rss_kib=([1-9]\d+) seconds=", text(result.stdout))
    t.true(len(rows) >= 3, f"at the begin, each second, at the end: {text(result.stdout)}")

with t.case("PC samples of a context that existed before"):
    path = t.path("late-pc.cap")
    if not STAND_INS:
        raise Skip("SIM_NVIDIA_FOLDER is not set: the stand-ins for CUDA are not built")
    result = run([os.path.join(PROGRAMS, "capture_toy"), "late", "10", os.path.join(PROGRAMS, "libcapture.so")],
                 env={"LD_LIBRARY_PATH": STAND_INS, "CAPTURE": f"out={path},what=late,pc=continuous,late=1"})
    capture = read_capture.load(path)
    check_end(result, capture)
    t.equal((capture.facts().get("late.context"), capture.facts().get("pc.on")), ("1 result 0", "1"), "sampling")
    t.true({"duet_fma", "duet_barrier"} <= {row[5] for _, rows in capture.pcs() for row in rows}, "functions")

with t.case("kernels that must overlap do, unless something serializes them"):
    sim = "us_duet_spin=20000,pc_buffer=100000000"
    for options, most in (("callbacks=1", 4), ("pc=continuous", 4), ("pc=serialized", 1), ("kinds=3", 1)):
        result, capture = toy("overlap", options=options, sim=sim)
        check_end(result, capture)
        found = [row for row in capture.activity() if row.kind in (3, 10)]
        t.equal(make_answers.overlap(found), most, f"kernels at one time with {options}")
        t.true(("at one time" if most == 4 else "one after the other") in text(result.stdout), text(result.stdout))

with t.case("all kinds of launches, and those of programs with a default stream for each thread"):
    result, capture = toy("calls", 2, options="callbacks=all")
    check_end(result, capture)
    t.true("missing" not in text(result.stdout) and "host=8" in text(result.stdout), text(result.stdout))
    counts = collections.Counter(row[2] for row in capture.callbacks() if row[1] == 1 and row[3] == 0)
    t.equal([counts[cbid] for cbid in (307, 442, 652, 653, 477, 478, 527, 528)], [4] * 8, "calls by their ids")
    ids = {row[5] for row in capture.callbacks() if row[1] == 1 and row[3] == 0}
    t.equal(len(kernels(capture)), 24, "kernels")
    t.true({row.correlation for row in kernels(capture)} <= ids, "each of a call")

with t.case("the busy workload has memory, copies, tensor cores and rest"):
    result, _ = toy("busy", 4, 4)
    for phase in ("stream", "copy", "tensor", "fma"):
        t.true(re.search(rf"busy phase={phase} begin=[\d.]+ end=[\d.]+ count=[1-9]", text(result.stdout)), phase)
    idle = re.search(r"busy phase=idle begin=([\d.]+) end=([\d.]+) count=0", text(result.stdout))
    t.true(idle and float(idle[2]) - float(idle[1]) > 0.9, f"a second without work: {text(result.stdout)}")

with t.case("a second subscriber gets the name of the first"):
    result, _ = toy("second-subscriber", 10, options="hold=1,mode=subscribe")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    t.true("v1=39" in text(result.stdout) and "v2=39" in text(result.stdout), text(result.stdout))
    t.true("holder='duet capture'" in text(result.stdout), text(result.stdout))

with t.case("ends: without a wait, by a signal, after a fork, with the agent late"):
    result, capture = toy("exit-without-sync", 20, options="callbacks=1")
    t.equal(result.status, 0, f"exit without a wait: {text(result.stderr)}")
    t.equal(capture.facts().get("exit"), "complete", "the agent's end")
    t.equal(len(launches(capture)), 20, "launches")
    result, capture = toy("kill-self", 3000, options="callbacks=1")
    t.equal(result.status, 137, "killed")
    t.true(len(launches(capture)) >= 1000, "launches that were written before")
    result, capture = toy("fork-after-init", 50, options="callbacks=1")
    check_end(result, capture)
    t.true(b"child=status 0" in result.stdout, text(result.stdout))
    t.equal(len(kernels(capture)), 100, "kernels")
    path = t.path("late.cap")
    result = run([os.path.join(PROGRAMS, "capture_toy"), "late", "10", os.path.join(PROGRAMS, "libcapture.so")],
                 env={"LD_LIBRARY_PATH": STAND_INS, "CAPTURE": f"out={path},what=late,callbacks=1"})
    capture = read_capture.load(path)
    check_end(result, capture)
    t.equal(len(launches(capture)), 10 + 20, "launches after it came")

# (what the stand-ins do, options, the fact that says so, kernel records of 101 or of 10)
REFUSALS = [
    ("subscriber=0", "callbacks=1", "failed.cuptiSubscribe", "39 ", 101),
    ("privileges=0", "pc=continuous", "failed.cuptiPCSamplingEnable", "35 ", 101),
    ("busy=1", "pc=serialized", "failed.cuptiPCSamplingEnable", "26 ", 101),
    ("fail_cuptiActivityRegisterTimestampCallback=7", "callbacks=1", "stamp", "refused", 101),
    ("fail_cuptiActivityEnable=999", "callbacks=1", "failed.cuptiActivityEnable.10", "999 ", 0),
    ("fail_cuptiActivityFlushAll=999", "callbacks=1", "failed.cuptiActivityFlushAll.0", "999 ", 0),
    ("drop_every=10", "callbacks=1", "dropped", "10", 91),
    ("untimed_every=10", "callbacks=1", "untimed.10", "10", 101),
]

with t.case("a refusal of a library is recorded, and the rest is captured"):
    for sim, options, key, value, count in REFUSALS:
        result, capture = toy("launches", 100, options=options, sim=sim)
        t.equal(result.status, 0, f"{sim}: status: {text(result.stderr)}")
        facts = capture.facts()
        t.true(facts.get(key, "").startswith(value), f"{sim}: {key} is {facts.get(key)}")
        t.equal(facts.get("exit"), "complete", f"{sim}: the agent's end")
        t.equal(len(kernels(capture)), count, f"{sim}: kernel records")
    for sim, key in (("privileges=0", "failed.cuptiPmSamplingEnable"),
                     ("busy=1", "failed.cuptiPmSamplingEnable")):
        path = t.path("refused.cap")
        t.equal(program("capture_pm", path, "seconds=0.2", sim=sim).status, 1, f"capture_pm, {sim}")
        t.true(key in read_capture.load(path).facts(), f"{key} with {sim}")

with t.case("a library that hangs in its flush delays the program only briefly"):
    begin = time.monotonic()
    result, capture = toy("launches", 100, options="callbacks=1", sim="flush_hang=1", timeout=30)
    t.true(time.monotonic() - begin < 15, f"it ended after {time.monotonic() - begin:.0f} s")
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    t.true(b"launches_per_second" in result.stdout, "what the program printed")
    t.true(capture.facts().get("exit", "").startswith("stuck in flush"), f"exit {capture.facts().get('exit')}")
    t.equal(len(launches(capture)), 101, "launches that were written before")
    result, capture = toy("no-such-kernel", options="callbacks=1", sim="flush_hang=1", timeout=30)
    t.equal(result.status, 1, f"the program's own status: {text(result.stderr)}")
    t.true(capture.facts().get("exit", "").startswith("stuck"), f"exit {capture.facts().get('exit')}")
    result, capture = toy("launches", 100, options="callbacks=1,kinds=none", sim="flush_hang=1")
    t.equal((result.status, capture.facts().get("exit")), (0, "complete"), "with nothing to flush")

def buffers(capture):
    words = capture.facts()["buffers"].split()
    return dict(zip(words[::2], map(int, words[1::2])))


with t.case("a program that outruns the agent gets buffers that are thrown away, and counted"):
    result, capture = toy("launches", 3000, options="buffers=0")
    t.equal((result.status, capture.facts().get("exit")), (0, "complete"), f"{text(result.stderr)}")
    counts = buffers(capture)
    t.true(counts["discarded"] >= 3001 * 216 // 65536, f"{counts}")
    t.equal((counts["discarded"], counts["made"], len(kernels(capture))), (counts["requested"], 0, 0), f"{counts}")
    result, capture = toy("launches", 3000, options="buffers=1")
    t.equal((buffers(capture)["made"], buffers(capture)["refused"]), (1, 0), "of one buffer")
    t.equal(capture.facts().get("exit"), "complete", "the agent's end")

with t.case("a returned buffer that duet did not allocate is refused"):
    result, capture = toy("launches", 300, options="callbacks=1", sim="stray_buffer=1")
    check_end(result, capture)
    counts = buffers(capture)
    t.true(counts["refused"] >= 1 and counts["completed"] == counts["refused"] * 2, f"{counts}")
    t.equal({row.kind for row in capture.activity()}, {2, 10}, "kinds of records")
    t.equal(sum(row.kind == 2 for row in capture.activity()), 2, "sets: none of the stray ones")

with t.case("records of older versions"):
    for version in (18, 20, 26, 130000, 130001):
        result, capture = toy("threads", 8, options="callbacks=1,kinds=default+38", sim=f"version={version}")
        check_end(result, capture)
        t.equal((capture.cupti_version, len(kernels(capture))), (version, 128), "version and kernel records")
        wrong = {key: value for key, value in capture.facts().items()
                 if key.startswith("stride.") and int(value) != capture.stride(int(key[7:]))}
        t.equal(wrong, {}, f"lengths of records of {version} that the reader does not know")

with t.case("an invalid option is reported, and the program runs"):
    result, capture = toy("launches", 10, options="stak=fp")
    t.equal((result.status, capture), (0, None), "status and capture")
    t.true(b"CAPTURE has no 'stak=fp'" in result.stderr, text(result.stderr))
    result, capture = toy("launches", 10, options="mode=null")
    t.equal((result.status, capture), (0, None), "status and capture with mode=null")


# -- the script --

# Steps that have not what they need here: a real CUDA runtime refuses the stand-ins; there may be no nvcc, nvdisasm
# or PyTorch.
MAY_BE_NONE = re.compile("build-runtime|runtime|stack-runtime|pc-runtime|golden|torch-version")


def rehearse(part, folder, env, status=0):
    t.wanted()
    if not STAND_INS and env.get("LD_LIBRARY_PATH") is None:
        raise Skip("SIM_NVIDIA_FOLDER is not set: the stand-ins for CUDA are not built")
    environment = {"CAPTURE_BUILD": t.path("script-build"), **env}
    result = run([SCRIPT, part, folder, "--dry-run"], env=environment, timeout=300)
    t.equal(result.status, status, f"{part}: status: {text(result.stdout)[-2000:]} {text(result.stderr)[-400:]}")
    t.equal(text(result.stderr), "", "what it wrote to stderr")
    with open(os.path.join(folder, "steps.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    with open(os.path.join(folder, "answers.txt"), encoding="utf-8") as file:
        answers = file.read()
    t.true(len(os.listdir(folder)) <= 8, f"files {os.listdir(folder)}")
    t.true(all(os.path.getsize(path) < 15 << 20 for path in glob.glob(os.path.join(folder, "*"))), "their sizes")
    t.equal(len(re.findall(r"(?m)^\d\. ", answers)), 9, "questions")
    t.true(not re.search(r"Traceback|\w+Error", answers), answers)
    return {row[0]: row for row in rows}, answers


def unpacked(folder):
    """{name of a file in the packed groups: its bytes}"""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.tar.gz")):
        with tarfile.open(path) as tar:
            for member in tar.getmembers():
                found[os.path.basename(member.name)] = tar.extractfile(member).read()
    return found


def rows_in(name, data):
    """Whether a capture of the script has the rows that it was made for."""
    capture = read_capture.Capture(data)
    options = capture.facts().get("options", "")
    if name.startswith(("pm-", "cost-pm", "nobody-pm")):
        return any(rows for _, _, rows in capture.pms())
    if name.startswith("nvml-"):
        return bool(capture.series()[1])
    good = True
    if not re.search("mode=|kinds=none", options) and not name.startswith(("clocks", "kill-self")):
        good = any(capture.activity())
    if re.search("callbacks=(1|all)", options) and name != "kill-self.cap":
        good = good and any(capture.callbacks())
    if re.search("pc=[csr]", options):
        good = good and any(rows for _, rows in capture.pcs())
    return good and not capture.odd and capture.damage is None


with t.case("rehearsal of the script"):
    for part in ("answers", "more"):
        folder = t.path(f"rehearsal-{part}")
        steps, answers = rehearse(part, folder, {"LD_LIBRARY_PATH": STAND_INS})
        bad = {name: row[2:] for name, row in steps.items()
               if row[2] != "ok" and not (row[2] == "none" and MAY_BE_NONE.fullmatch(name)) and not name.startswith("ncu")}
        t.equal(bad, {}, f"steps of {part} that failed")
        files = unpacked(folder)
        captures = {name: data for name, data in files.items() if name.endswith(".cap") and "runtime" not in name}
        t.true(len(captures) > (50 if part == "answers" else 12), f"{len(captures)} captures of {part}")
        t.equal([name for name, data in captures.items() if not rows_in(name, data)], [], f"captures of {part} without rows")
        lines = text(files["script.txt"]).splitlines()
        t.true("steps ok" in lines[-1], f"the script's log is in the base group, to the end: {lines[-3:]}")
        packed = [line.split(":")[0].split("-")[-1] for line in lines if ".tar.gz: " in line]
        t.true(packed.index("cost.tar.gz") < packed.index("leak.tar.gz"), f"cost is packed before leak: {packed}")
    answers = open(os.path.join(t.path("rehearsal-answers"), "answers.txt"), encoding="utf-8").read()
    for words in (r"launches none: \d+ ns", r"launches nokinds: \d+ ns, [+-]\d+ ns", "leak-base: .* process [1-9]",
                  "overlap-serialized", "pm-base-1k gr__cycles_active: stream ", "calls rounds=3 host=12"):
        t.true(re.search(words, answers), f"'{words}' in the answers")

with t.case("a step without a capture is empty and makes the script fail"):
    folder = t.path("rehearsal-empty")
    steps, answers = rehearse("answers", folder, {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": "privileges=0",
                                                  "CAPTURE_ONLY": "build|check|pc-alone|pc-plain|overlap-plain|answers"}, status=1)
    t.equal(steps["pc-alone"][2], "empty", f"{steps['pc-alone']}")
    t.true(steps["pc-alone"][3].startswith("no pc.on=1"), f"why: {steps['pc-alone'][3]}")
    t.equal((steps["pc-plain"][2], steps["overlap-plain"][2]), ("ok", "ok"), "steps that need no counters")
    t.true("1 empty" in text(unpacked(folder)["script.txt"]), "the summary")
    t.true("  empty pc-alone: no pc.on=1" in answers, "the answers")

with t.case("after a step that hung, the other steps of its kind are skipped"):
    folder = t.path("rehearsal-hang")
    steps, _ = rehearse("answers", folder, {"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": "flush_hang=1",
                                            "CAPTURE_ONLY": "build|check|stamp|copies|pc-alone|answers"}, status=1)
    t.equal({name: steps[name][2] for name in ("stamp-default", "stamp-biased", "copies", "pc-alone")},
            {"stamp-default": "stuck", "stamp-biased": "skipped", "copies": "stuck", "pc-alone": "ok"}, "steps")
    t.true(all(float(steps[name][1]) < 12 for name in ("stamp-default", "copies")), f"it takes little time: {steps}")
    t.equal(steps["stamp-biased"][3], "stamp-default hung", "why")

with t.case("all packed captures fit the size limit"):
    folder = t.path("rehearsal-small")
    steps, _ = rehearse("answers", folder, {"LD_LIBRARY_PATH": STAND_INS, "CAPTURE_BYTES": "200000",
                                            "CAPTURE_ONLY": "build|check|launches$|graphs|copies|threads|stack|leak|pc-|answers"})
    packed = [os.path.getsize(path) for path in glob.glob(os.path.join(folder, "*.tar.gz"))]
    t.true(len(packed) == 6 and sum(packed) <= 200000, f"bytes {packed}")
    t.true("LEFT_OUT.txt" in unpacked(folder), "what had no room is said")

with t.case("rehearsal without a driver"):
    folder = t.path("rehearsal-none")
    steps, _ = rehearse("answers", folder, {"LD_LIBRARY_PATH": "", "CAPTURE_ONLY": "build|launches|pm-|nvml|leak|answers"})
    if steps["launches"][2] == "ok":
        raise Skip("there is a driver here")
    t.true("no driver here" in steps["launches"][3], f"{steps['launches']}")
    t.true(all(float(row[1]) < 10 for name, row in steps.items() if "build" not in name), f"each is quick: {steps}")

t.end()
