#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures of CUPTI (tests/device/capture) are replayed to duet's guest, to test how it handles a real library's records.

Captures of a GPU are in tests/fixtures/cuda, as STEP.cap or packed (PART-GROUP.tar.gz). Until there are some, captures of
the simulated libraries are made here with the same programs. They test the replay, but not CUPTI.
"""
import collections
import glob
import json
import os
import statistics
import struct
import sys
import tarfile

import duet_test
from duet_test import DUET, ROOT, run, text

sys.path.insert(0, os.path.join(ROOT, "tests", "device", "capture"))
import read_capture  # noqa: E402

PROGRAMS = os.environ.get("CAPTURE_PROGRAMS") or os.path.join(duet_test.BUILD, "tests", "device", "capture")
REPLAY = os.path.join(duet_test.BUILD, "tests", "device", "replay")
STAND_INS = os.environ.get("SIM_NVIDIA_FOLDER") or os.path.join(duet_test.BUILD, "sim", "nvidia")
FIXTURES = os.path.join(ROOT, "tests", "fixtures", "cuda")
KERNELS, COPIES, GRAPH = (3, 10), (1, 22), 51
ERROR_NS = 200  # of two clocks that are one
LATE_NS = 5000  # from the begin that the capture's library takes to the guest's own, which is next
if not os.path.exists(os.path.join(REPLAY, "cuda_replay")):
    print("1..0 # SKIP the programs of tests/device were not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)


def played(path):
    """What duet's export and its report have of a capture."""
    trace, out = t.path("replay.duet"), t.path("replay.json")
    result = run([DUET, "record", "-o", trace, "--collect", "nvidia:cuda", "--stacks", "none", "--",
                  os.path.join(REPLAY, "cuda_replay")],
                 env={"DUET_CUPTI": os.path.join(REPLAY, "libcupti_replay.so"), "REPLAY_CAPTURE": path}, timeout=120)
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    t.equal(run([DUET, "export", "--format", "json", trace, "-o", out]).status, 0, "export")
    with open(out, encoding="utf-8") as file:
        return json.load(file), t.report(trace), text(result.stderr)


def calls_of_capture(capture, rows):
    """[(the call's correlation, sorted [(ns from its begin, duration, kernel's name)])], in the order in which calls are played."""
    begins = {row[5]: row[0] for row in capture.callbacks() if row[1] == 1 and row[3] == 0}
    found = collections.defaultdict(list)
    for row in rows:
        if row.start_ns and row.end_ns >= row.start_ns:
            start = row.start_ns
            if abs(start - capture.realtime_ns) < abs(start - capture.monotonic_ns):
                start -= capture.realtime_ns - capture.monotonic_ns
            found[row.correlation].append((start - begins[row.correlation], row.end_ns - row.start_ns,
                                           row.name if row.kind in KERNELS else ""))
    return [(call, sorted(found[call])) for call in begins if call in found]


def calls_of_trace(document, names):
    """The same of what duet made of it; of what graphs put into a stream it knows the call by its begin."""
    ends = {row["correlation"]: row for row in document["executions"] if "started" in row}
    found, calls = collections.defaultdict(list), {}
    for launch in document["launches"]:
        end = ends.get(launch["correlation"])
        if end:
            begin = launch["enter"], launch["thread"]
            calls[begin] = launch["correlation"]
            found[begin].append((end["started"] - launch["enter"], end["ended"] - end["started"],
                                 names[launch["kernel"]] if launch["kernel"] else ""))
    return [(calls[begin], sorted(found[begin])) for begin in sorted(found)]


MEMORIES = {1: "pageable", 2: "pinned", 3: "device", 4: "array", 5: "managed", 6: "device_static", 7: "managed"}
# Offsets of graph node, graph, channel (its type is next) and cluster, from CUPTI 11.8 on.
PLACES = {1: (64, 72, 76, None), 2: (64, 72, 76, None), 3: (144, 156, 168, 176), 10: (144, 156, 168, 176)}


def details_of_capture(rows):
    """How many commands have which memories, channel, graph, node and cluster."""
    found = collections.Counter()
    for row in rows:
        if row.kind not in PLACES:
            continue
        node_at, graph_at, channel_at, cluster_at = PLACES[row.kind]
        channel, channel_type = struct.unpack_from("<II", row.raw, channel_at)
        memories = {1: (row.raw[5], row.raw[6]), 2: (0, struct.unpack_from("<H", row.raw, 50)[0])}.get(row.kind, (0, 0))
        found[(MEMORIES.get(memories[0]), MEMORIES.get(memories[1]), channel if channel_type else None,
               struct.unpack_from("<I", row.raw, graph_at)[0] or None, struct.unpack_from("<Q", row.raw, node_at)[0] or None,
               struct.unpack_from("<I", row.raw, cluster_at)[0] or None if cluster_at else None)] += 1
    return found


def details_of_trace(document):
    graphs = {row["correlation"] for row in document["launches"] if row["command"] == "graph"}
    return collections.Counter(tuple(row.get(name) for name in ("source_memory", "destination_memory", "hardware_queue", "graph",
                                                                "graph_node", "cluster_x"))
                               for row in document["executions"] if row["correlation"] not in graphs)


def compare(path, ours, theirs):
    """Call by call: what it launched, when from its begin on, and for how long."""
    t.equal([len(rows) for _, rows in ours], [len(rows) for _, rows in theirs], f"{path}: commands of each call")
    calls = [(mine, other) for (mine, _), (other, _) in zip(ours, theirs) if mine < 1 << 32 and mine != other]
    t.equal(calls[:3], [], f"{path}: correlations of calls")
    pairs = [pair for (_, mine), (_, other) in zip(ours, theirs) for pair in zip(mine, other)]
    t.equal([(a, b) for a, b in pairs if a[2] != b[2] or abs(a[1] - b[1]) > ERROR_NS][:3], [], f"{path}: names and durations")
    # between the capture's clock and the guest's a loaded machine may hold a call up, but not half of them
    late = statistics.median(abs(a[0] - b[0]) for a, b in pairs) if pairs else 0
    t.true(late <= LATE_NS, f"{path}: begins are {late} ns off")


def check(path):
    capture = read_capture.load(path)
    rows = [row for row in capture.activity() if row.kind in (1, 2, 3, 10, 22, 51)]
    # what was launched before the capture's callbacks began is nobody's
    called = {row[5] for row in capture.callbacks() if row[1] == 1 and row[3] == 0}
    rows = [row for row in rows if row.correlation in called]
    t.true(rows, f"{path}: it has records")
    document, report, stderr = played(path)
    names = {code["id"]: code["name"] for code in document["code"]}
    timed = [row for row in document["executions"] if "started" in row]
    want = sorted(row.end_ns - row.start_ns for row in rows if row.start_ns and row.end_ns >= row.start_ns)
    got = sorted(row["ended"] - row["started"] for row in timed)
    t.equal(len(got), len(want), f"{path}: commands with times: {report['ledger']} {stderr}")
    off = [(a, b) for a, b in zip(got, want) if abs(a - b) > ERROR_NS]
    t.equal(off[:3], [], f"{path}: how long they took")
    t.equal(details_of_trace(document), details_of_capture(rows), f"{path}: memories, channels, graphs, clusters")
    compare(path, calls_of_trace(document, names), calls_of_capture(capture, rows))
    kernels = collections.Counter(names[row["kernel"]] for row in document["launches"] if row["kernel"])
    t.equal(kernels, collections.Counter(row.name for row in rows if row.kind in KERNELS), f"{path}: kernels by name")
    commands = collections.Counter(row["command"] for row in document["launches"] if not row["result"])
    t.equal(sum(commands[name] for name in ("read", "write", "copy")), sum(row.kind in COPIES for row in rows),
            f"{path}: copies: {commands}")
    t.equal(commands["graph"], sum(row.kind == GRAPH for row in rows), f"{path}: graphs as a whole: {commands}")
    t.equal((report["ledger"]["dropped"], report["ledger"]["in_flight_at_exit"]), (0, 0), f"{path}: {report['ledger']}")


def capture_of(name, workload, *words, options, sim=""):
    """By the kit, over the stand-ins."""
    t.wanted()
    path = t.path(f"{name}.cap")
    result = run([os.path.join(PROGRAMS, "capture_toy"), workload, *map(str, words)],
                 env={"LD_LIBRARY_PATH": STAND_INS, "SIM_NVIDIA": sim, "CAPTURE": f"out={path},what={name}-simulated,{options}",
                      "CUDA_INJECTION64_PATH": os.path.join(PROGRAMS, "libcapture.so")}, timeout=60)
    t.equal(result.status, 0, f"capture: {text(result.stderr)}")
    return path


def fixtures():
    """Of a GPU: files, and those in packs."""
    yield from sorted(glob.glob(os.path.join(FIXTURES, "**", "*.cap"), recursive=True))
    for pack in sorted(glob.glob(os.path.join(FIXTURES, "**", "*.tar.gz"), recursive=True)):
        folder = t.path(os.path.basename(pack)[:-7])
        with tarfile.open(pack) as tar:
            tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
        yield from sorted(glob.glob(os.path.join(folder, "**", "*.cap"), recursive=True))


for version in (18, 22, 130000):
    with t.case(f"simulated, CUPTI {version}: kernels of one thread and of eight, with copies"):
        check(capture_of("launches", "launches", 300, options="callbacks=all", sim=f"version={version}"))
        check(capture_of("threads", "threads", 8, options="callbacks=all", sim=f"version={version}"))

with t.case("simulated: nodes of graphs, and graphs as a whole"):
    check(capture_of("nodes", "graphs", 10, options="callbacks=all,graphs=node"))
    check(capture_of("graphs", "graphs", 10, options="callbacks=all,graphs=trace"))

with t.case("simulated: times of CLOCK_REALTIME"):
    check(capture_of("real", "launches", 100, options="callbacks=all,stamp=default"))

with t.case("an invalid capture gives no recording"):
    t.wanted()
    path = t.path("none.cap")
    with open(path, "wb") as file:
        file.write(b"DUETCAP0" + bytes(4096))
    result = run([DUET, "record", "-o", t.path("none.duet"), "--collect", "nvidia:cuda", "--", os.path.join(REPLAY, "cuda_replay")],
                 env={"DUET_CUPTI": os.path.join(REPLAY, "libcupti_replay.so"), "REPLAY_CAPTURE": path})
    t.true(result.status == 1 and "no capture file" in text(result.stderr), text(result.stderr))

# An H200 with driver 580 and CUPTI 13.0 (tests/device/capture).
for path in fixtures():
    if any(kind == read_capture.ACTIVITY and data for kind, _, _, data in read_capture.load(path).chunks):
        with t.case(f"of a GPU: {os.path.basename(path)}"):
            check(path)

t.end()
