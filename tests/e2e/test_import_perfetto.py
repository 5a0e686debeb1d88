#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import --format perfetto: files of rocprofv3, of duet, and track events of other programs. An export that is
imported again has the same counts and times. An invalid file is refused, with the place of the error.
"""
import glob
import gzip
import json
import os
import random
import re
import struct
import zlib

import duet_test
from duet_test import DUET, ROOT, run, sums_of, text

t = duet_test.Suite(needs_opencl=False)

CASES = sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "export", "*.txt")))


def written(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def imported(path, output="imported.duet", status=0):
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "--format", "perfetto", "-o", out, path])
    t.equal(result.status, status, f"duet import: {text(result.stderr)}")
    return out


def refused(content, *expected):
    path = written("bad", content)
    result = run([DUET, "import", "--format", "perfetto", "-o", t.path("refused.duet"), path])
    said = text(result.stderr)
    t.equal(result.status, 1, f"{content[:60]!r}: {said}")
    for words in (path, *expected):
        t.true(words in said, f"'{words}' in: {said}")
    t.equal(glob.glob(glob.escape(t.path("refused.duet")) + "*"), [], "left behind")


def notes_of(path):
    document = json.loads(run([DUET, "info", "--json", path]).stdout)
    return [row["reason"] for row in document["collectors"] if row["name"] == "import"][0]


def rows_of(path, kind=None):
    lines = text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()
    return [row for row in map(json.loads, lines) if kind is None or row["kind"] == kind]


# ---- a writer of protobuf --------------------------------------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """An integer, a float, a text, bytes, or a list of these; a dictionary is a message."""
    if isinstance(value, list):
        return b"".join(field(number, one) for one in value)
    if isinstance(value, dict):
        value = message(value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3) + varint(int(value))


def message(fields):
    return b"".join(field(number, value) for number, value in fields.items())


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def trace(*packets):
    return b"".join(field(1, packet) for packet in packets)


def argument(name, value):
    return {10: name, 6 if isinstance(value, str) else 3: value}


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def event(time, kind, track, name=None, category=None, arguments=None, sequence=1, **more):
    body = {9: kind, 11: track}
    if name:
        body[23] = name
    if category:
        body[22] = category
    if arguments:
        body[4] = [argument(*one) for one in arguments.items()]
    body.update(more.get("body", {}))
    packet = {8: time, 11: body, 10: sequence}
    if "clock" in more:
        packet[58] = more["clock"]
    return packet


PROCESS = {60: {1: 10, 3: {1: 4711, 6: "train"}}, 10: 1}
THREAD = {60: {1: 11, 5: 10, 4: {1: 4711, 2: 4712, 5: "main"}}, 10: 1}


# ---- duet's own files ------------------------------------------------------------------------------


def round_trip(path):
    out = t.path("out.pftrace")
    t.equal(run([DUET, "export", "-f", "perfetto", "-o", out, path]).status, 0, "export")
    back = imported(out)
    before, after = sums_of(t.report(path)), sums_of(t.report(back))
    for key, row in before.items():
        t.equal(after[key], row, f"{key} of {path}")
    return back


def described(case):
    with open(case, encoding="utf-8") as file:
        return t.described("described.duet", file.read())


for case in CASES:
    with t.case(f"{os.path.basename(case)[:-4]} comes back"):
        round_trip(described(case))

for shape, events in (("mixed", 20000), ("single", 10000), ("late", 10000), ("deep", 10000)):
    with t.case(f"a generated trace comes back, {shape}"):
        round_trip(t.generated(events, shape))


with t.case("samples come back"):
    path = described(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"))
    plain = re.compile(r"_\[[kji]\]| \([^()]*:\d+\)")
    back = round_trip(path)
    for view in ("cpu", "off-cpu"):
        before, after = (run([DUET, "flame", "--view", view, "--folded", one]) for one in (path, back))
        if view == "cpu":
            t.equal(sorted(plain.sub("", line) for line in text(after.stdout).splitlines()),
                    sorted(plain.sub("", line) for line in text(before.stdout).splitlines()), view)
    for verb in (["report"], ["info"], ["view", "-o", t.path("out.html")], ["export", "-f", "text"]):
        t.true(run([DUET, *verb, back]).status in (0, 4), f"duet {verb[0]}")

# ---- files of rocprofv3 ----------------------------------------------------------------------------

BOOTTIME, SDK = 6, 64


def rocprof(*packets):
    """As rocprofv3 begins its files: a snapshot, defaults with a clock of the writer, tracks."""
    return trace(
        {6: {2: BOOTTIME, 1: [{1: BOOTTIME, 2: 1000}, {1: 1, 2: 1_700_000_000_000_001_000}, {1: 3, 2: 900}]}, 10: 1},
        {87: 1, 13: 1, 10: 2, 59: {58: SDK, 11: {11: 20}}, 6: {1: [{1: BOOTTIME, 2: 5}, {1: SDK, 2: 5, 3: 1, 4: 1}]}},
        {10: 2, 8: 0, 60: {1: 21, 5: 20, 2: "THREAD 1 (4713)"}}, {10: 2, 8: 0, 60: {1: 22, 5: 20, 2: 'STREAM [" 1 "] '}},
        {10: 2, 8: 0, 60: {1: 20, 3: {1: 4711, 2: ["train", "-x"], 6: "train"}}},
        {10: 2, 8: 0, 60: {1: 19, 5: 20, 4: {1: 4711, 2: 4711, 5: "main"}}},
        {10: 2, 8: 7, 60: {1: 23, 5: 20, 2: "ALLOCATE BYTES on Agent [4] (GPU)", 8: {3: 3, 4: 1024}}}, *packets)


def slices(begin, end, track, *rest, **more):
    return [event(begin, BEGIN, track, *rest, sequence=2, clock=BOOTTIME, **more), event(end, END, track, sequence=2, clock=BOOTTIME)]


def dispatch(begin, end, correlation, **more):
    return slices(begin, end, 22, "saxpy(float*) [clone .kd]", "kernel_dispatch",
                  {"agent": "Agent-4", "agent_type": "GPU", "corr_id": correlation, "queue": 3, "tid": 4711,
                   "workgroup_size": 256, "grid_size": 4096, "stream_ID": 1, **more})


ROCPROF = (slices(2000, 2100, 19, "hipModuleLaunchKernel", "hip_api", {"corr_id": 7})
           + slices(1500, 1700, 19, "hsa_init", "hsa_api", {"corr_id": 2})  # earlier, as they come category by category
           + slices(2200, 2900, 21, "hipDeviceSynchronize", "hip_api", {"corr_id": 8})
           + slices(2150, 2160, 19, "hipMemcpyAsync", "hip_api", {"corr_id": 9})
           + slices(1600, 2950, 19, "step", "marker_api", {"corr_id": 10})
           + dispatch(2300, 2400, 7) + dispatch(2400, 2450, 7) + dispatch(2500, 2510, 99)
           + slices(2600, 2700, 22, "MEMORY_COPY_HOST_TO_DEVICE", "memory_copy",
                    {"src_agent": "Agent-0", "dst_agent": "Agent-4", "copy_bytes": 512, "corr_id": 9, "stream_ID": 2})
           + [event(1800, COUNTER, 23, sequence=2, clock=BOOTTIME, body={30: 4}),
              event(2800, COUNTER, 23, sequence=2, clock=BOOTTIME, body={30: 1})])

with t.case("rocprofv3: calls, launches by correlation, queues, sizes"):
    t.wanted()
    path = imported(written("rocprof.pftrace", rocprof(*ROCPROF)))
    document = t.report(path)
    t.equal(sums_of(document)["kernels"], {"saxpy(float*)": (3, 160)}, "kernels")
    t.equal(sums_of(document)["busy"], [260], "busy time")
    rows = rows_of(path)
    named = {row["id"]: row["name"] for row in rows if row["kind"] in ("thread", "process", "device")}
    launches = [row for row in rows if row["kind"] == "launch"]
    t.equal([(row["function"], row["enter"], row["exit"]) for row in launches],
            [("hipModuleLaunchKernel", 500, 600), ("hipModuleLaunchKernel", 500, 600), ("hipMemcpyAsync", 650, 660),
             ("(not in the file)", 1000, 1000)], "launches, ns from the first call on")
    t.equal([(row["global"], row["local"]) for row in launches][:2], [([4096], [256])] * 2, "sizes")
    t.equal([row.get("flags", 0) & 4 for row in launches], [0, 4, 0, 0], "a further command of the call")
    executions = {row["correlation"]: row for row in rows if row["kind"] == "execution"}
    t.equal([(executions[row["correlation"]]["started"], executions[row["correlation"]]["ended"]) for row in launches],
            [(800, 900), (900, 950), (1100, 1200), (1000, 1010)], "commands")
    calls = {row["function"]: row for row in rows if row["kind"] == "api"}
    t.equal(sorted(calls), ["hipDeviceSynchronize", "hsa_init"], "calls")
    t.equal(calls["hipDeviceSynchronize"]["type"], 1, "it waits")
    threads = {row["id"]: (row["tid"], row.get("name", "")) for row in rows if row["kind"] == "thread"}
    t.equal(threads[calls["hipDeviceSynchronize"]["thread"]][0], 4713, "the thread in the name of a track")
    t.equal([(row["name"], row["domain"]) for row in rows if row["kind"] == "range"], [("step", "roctx")], "ranges")
    t.equal([row["key"] for row in rows if row["kind"] == "device"], ["Agent-4"], "devices")
    t.equal(len([row for row in rows if row["kind"] == "queue"]), 2, "streams")
    t.equal([row["value"] for row in rows if row["kind"] == "counter"], [4096, 1024], "bytes")
    copies = document["copies"]
    t.equal([(row["direction"], row["bytes"]) for row in copies], [("write", 512)], "copies")
    t.true("1 command without a call" in notes_of(path), notes_of(path))

with t.case("rocprofv3: two files of one machine are in UTC"):
    t.wanted()
    first = written("first.pftrace", rocprof(*ROCPROF))
    second = written("second.pftrace", rocprof(*ROCPROF).replace(varint(1_700_000_000_000_001_000), varint(1_700_000_000_000_002_000)))
    out = t.path("two.duet")
    result = run([DUET, "import", "-o", out, first, second])
    t.equal(result.status, 0, text(result.stderr))
    t.equal(sorted(row["started"] for row in rows_of(out, "execution"))[:2], [800, 900], "of the first")
    t.equal(max(row["started"] for row in rows_of(out, "execution")), 2100, "the second is 1 us later")

# ---- other programs --------------------------------------------------------------------------------

with t.case("slices of other programs are functions; what has no meaning is counted"):
    t.wanted()
    packets = [PROCESS, THREAD, {60: {1: 12, 5: 10, 2: "renderer"}, 10: 1}, {60: {1: 13, 2: "load", 8: {6: "%"}}, 10: 1},
               event(1000, BEGIN, 11, "outer", "kernel"), event(1100, BEGIN, 11, "inner"), event(1200, END, 11),
               event(1300, INSTANT, 11, "here"), event(1400, END, 11), event(1500, END, 11),
               event(1600, BEGIN, 12, "draw"), event(1650, BEGIN, 11, "open"),
               {8: 1700, 10: 1, 11: {11: 11, 23: "whole", 6: {2: ord("X"), 3: 2}}},
               event(1800, COUNTER, 13, body={44: 12.25}), event(1900, COUNTER, 13, body={44: 50.0}),
               {8: 1950, 10: 1, 104: b"another source"}, event(4000, END, 12)]
    path = imported(written("foreign.pftrace", trace(*packets)))
    rows = rows_of(path)
    calls = [(row["function"], row["begin"], row["end"], row["type"]) for row in rows if row["kind"] == "api"]
    t.equal(sorted(calls), [("draw", 600, 3000, 5), ("inner", 100, 200, 5), ("open", 650, 3000, 5), ("outer", 0, 400, 5),
                            ("whole", 700, 2700, 5)], "calls")
    t.equal([row["value"] for row in rows if row["kind"] == "counter"], [12, 50], "counter")
    notes = notes_of(path)
    for words in ("2 slices without begin or end", "1 instant left out", "1 counter value rounded", "1 packet with other data"):
        t.true(words in notes, f"{words} in {notes}")
    t.equal(sorted((row["tid"] < 1 << 31, row["name"]) for row in rows if row["kind"] == "thread"),
            [(False, "renderer"), (True, "main")], "threads")

with t.case("interned texts, incremental clocks, default tracks, descriptors after their events"):
    t.wanted()
    packets = [{6: {1: [{1: BOOTTIME, 2: 5_000}, {1: SDK, 2: 0, 3: 1, 4: 1000}]}, 10: 3},
               {59: {58: SDK, 11: {11: 11}}, 12: {2: [{1: 1, 2: "f"}, {1: 2, 2: "g"}]}, 13: 1, 10: 3},
               {8: 1, 11: {9: BEGIN, 10: 1}, 10: 3, 13: 2}, {8: 2, 11: {9: BEGIN, 10: 2}, 10: 3, 13: 2},
               {8: 3, 11: {9: END}, 10: 3, 13: 2}, {8: 4, 11: {9: END}, 10: 3, 13: 2},
               {12: {2: {1: 1, 2: "h"}}, 13: 1, 10: 3}, {8: 1, 11: {9: BEGIN, 10: 1}, 10: 3}, {8: 1, 11: {9: END}, 10: 3},
               PROCESS, THREAD]
    path = imported(written("sdk.pftrace", trace(*packets)))
    t.equal(sorted((row["function"], row["end"] - row["begin"]) for row in rows_of(path, "api")),
            [("f", 9000), ("g", 3000), ("h", 1000)], "calls: units of 1 us")
    t.equal([(row["tid"], row["name"]) for row in rows_of(path, "thread")], [(4712, "main")], "threads")

with t.case("compressed packets are those inside of them"):
    t.wanted()
    inner = trace(PROCESS, THREAD, event(1, BEGIN, 11, "f"), event(2, END, 11))
    path = imported(written("deflated.pftrace", trace({50: zlib.compress(inner), 10: 1}, event(3, BEGIN, 11, "g"), event(5, END, 11))))
    t.equal([(row["function"], row["end"] - row["begin"]) for row in rows_of(path, "api")], [("f", 1), ("g", 2)], "calls")
    large = zlib.compress(bytes(17 << 20))
    for bad in (b"no deflated bytes", zlib.compress(inner)[:-9], large):
        path = written("bad.pftrace", trace({50: bad, 10: 1}) + inner)
        result = run([DUET, "import", "-o", t.path("bad.duet"), "-f", "perfetto", path])
        t.equal(result.status, 0, text(result.stderr))
        t.true("expected deflated packets of at most 16 MiB" in text(result.stderr), text(result.stderr))

with t.case("samples with stacks, switches of processors"):
    t.wanted()
    data = {5: [{1: 1, 2: "main"}, {1: 2, 2: "vfs_read"}], 17: [{1: 1, 2: "/bin/x"}, {1: 2, 2: "kernel"}],
            19: [{1: 1, 7: 1}, {1: 2, 7: 2}], 6: [{1: 1, 2: 1, 3: 1}, {1: 2, 2: 2, 3: 2}], 7: [{1: 1, 2: [1, 2]}]}
    compact = {1: b"".join(map(varint, (6000, 1000))), 2: b"".join(map(varint, (1, 0))), 3: b"".join(map(varint, (0, 4712)))}
    packets = [{2: {1: {1: 4711, 3: ["/bin/x"]}, 2: {1: 4712, 2: "worker", 3: 4711}}, 10: 1},
               {59: {12: {1: {10: "cycles"}}}, 12: data, 13: 1, 10: 4},
               {8: 5000, 66: {1: 0, 2: 4711, 3: 4712, 4: 1, 5: 1, 6: 100}, 10: 4},
               {8: 5500, 66: {1: 0, 2: 4711, 3: 4712, 4: 1, 6: 350}, 10: 4},
               {1: {1: 2, 2: [{1: 5100, 4: {1: "worker", 2: 4712, 4: 1, 6: 0}}, {1: 5200, 4: {2: 0, 5: "worker", 6: 4712}}]}, 10: 5},
               {1: {1: 2, 4: compact}, 10: 5}]
    path = imported(written("machine.pftrace", trace(*packets)))
    rows = rows_of(path)
    t.equal([(row["weight"], row["source"]) for row in rows if row["kind"] == "cpu_sample"], [(100, "cycles"), (250, "cycles")], "samples")
    t.equal(text(run([DUET, "flame", "--view", "cpu", "--folded", path]).stdout), "main;vfs_read_[k] 350\n", "stacks")
    switches = [(row["time"], row["reason"], bool(row["previous"]), bool(row["next"])) for row in rows if row["kind"] == "switch"]
    t.equal(switches, [(100, "blocked", True, False), (200, "not_known", False, True), (2000, "not_known", False, True)],
            "switches")
    t.equal(len([row for row in rows if row["kind"] == "thread"]), 1, "one thread in all of them")

# ---- bad files -------------------------------------------------------------------------------------

with t.case("invalid files"):
    refused(b"", "found none")
    refused(b"\x08\x01", "byte 0: expected a packet of a Perfetto trace")
    refused(b"\xff" * 40, "byte 0: expected a packet")
    refused(trace(PROCESS, THREAD), "expected packets with track events, samples or switches, found none")
    refused(trace({60: 5, 12: 1, 6: 2, 8: 1, 11: 3, 66: 4, 59: 1, 10: 1}), "found none")  # numbers in place of messages
    refused(trace({8: 1, 11: b"x"}) + b"\x0b\x01", "expected a packet")
    good = trace(PROCESS, THREAD, event(1, BEGIN, 11, "f"), event(2, END, 11))
    for size in range(len(good)):
        path = written("cut.pftrace", good[:size])
        result = run([DUET, "import", "-f", "perfetto", "-o", t.path("cut.duet"), path])
        t.true(result.status in (0, 1), f"{size} bytes: {text(result.stderr)}")

with t.case("a bad packet is left out, a cut one is noted"):
    t.wanted()
    packets = [PROCESS, THREAD, event(1, BEGIN, 11, "f"), event(2, END, 11)]
    path = written("bad.pftrace", trace(*packets) + field(1, b"\x5a\x7f\x01") + trace(event(3, BEGIN, 11, "g"), event(4, END, 11))
                   + b"\x0a\x7f")
    result = run([DUET, "import", "-f", "perfetto", "-o", t.path("bad.duet"), path])
    t.equal(result.status, 0, text(result.stderr))
    t.true("left out byte " in text(result.stderr), text(result.stderr))
    t.true("the file ends inside of a packet" in text(result.stdout), text(result.stdout))
    t.equal(sorted(row["function"] for row in rows_of(t.path("bad.duet"), "api")), ["f", "g"], "the others")

with t.case("hostile files end soon, with little memory"):
    t.wanted()
    deep = trace(PROCESS, THREAD, *(event(1 + i, BEGIN, 11, "f") for i in range(100_000)))
    names = trace(*(event(1 + i, BEGIN, 11, f"name {i}") for i in range(300_000)))
    tracks = trace(*({60: {1: i}, 10: 1} for i in range(200_000)))
    writers = trace(*({10: i, 13: 1} for i in range(20_000)))
    large = field(1, b"\x5a" + varint(20 << 20) + bytes(20 << 20)) + trace(event(1, BEGIN, 11, "f"))
    for content, words in ((deep, "more than 32768 were open"), (names, "more than 262144 names"), (tracks, "more than 131072 tracks"),
                           (writers, "more than 16384 writers"), (large, "1 packet above 16 MiB left out")):
        result = run(["/usr/bin/env", "bash", "-c", f"ulimit -d 65536; exec '{DUET}' import -f perfetto -o '{t.path('hostile.duet')}' "
                      f"'{written('hostile.pftrace', content)}'"], timeout=60)
        said = text(result.stderr) + text(result.stdout)
        t.true(words in said, f"'{words}' in: {said}")

    inner = zlib.compress(trace({200: bytes(15 << 20)}))
    said = "the compressed packets are above 1 GiB and 200 times the size of the file"
    refused(trace(*[{50: inner}] * 72), said)
    refused(gzip.compress(trace({200: bytes(7 << 20)}, *[{50: inner}] * 72), mtime=0), said)
    long = trace(*(event(1 + i, BEGIN, 11, f"{i} " + "n" * 60000) for i in range(600)))
    refused(long, "the names of the file need more than 32 MiB")

with t.case("the end of a slice without a place closes no other"):
    t.wanted()
    most = 32768
    other = {60: {1: 12, 5: 10, 4: {1: 4711, 2: 4713, 5: "other"}}, 10: 1}
    packets = [PROCESS, THREAD, other, *(event(1 + i, BEGIN, 11, f"f{i % 5}") for i in range(most)),
               event(50000, BEGIN, 11, "left out"), event(50001, BEGIN, 12, "left out, too"),
               event(50002, END, 12), event(50003, BEGIN, 11, "inside"), event(50004, END, 11), event(50005, END, 11),
               *(event(60000 + i, END, 11) for i in range(most))]
    path = imported(written("places.pftrace", trace(*packets)))
    t.true("3 slices left out: more than 32768" in notes_of(path) and "without begin or end" not in notes_of(path),
           notes_of(path))
    calls = rows_of(path, "api")
    t.equal(sorted((row["end"] - 59999, -row["begin"]) for row in calls)[:2], [(0, -most + 1), (1, -most + 2)], "inner ones")
    t.equal(len(calls), most, "slices")

with t.case("a writer that clears its state goes on with the counters of CPUs"):
    t.wanted()
    counter = {60: {1: 13, 5: 10, 2: "bytes", 8: {5: 1}}, 10: 1}

    def sample(time, total, **more):
        return {8: time, 10: 1, 66: {1: 2, 2: 4711, 3: 4712, 5: 1, 6: total}, **more}

    path = imported(written("cleared.pftrace", trace(
        PROCESS, THREAD, counter, sample(1000, 100), event(1001, COUNTER, 13, body={30: 5}),
        event(1002, COUNTER, 13, body={30: 6}), {13: 1, 10: 1}, sample(1003, 130), event(1004, COUNTER, 13, body={30: 7}))))
    t.equal([row["weight"] for row in rows_of(path, "cpu_sample")], [100, 30], "weights")
    t.equal([row["value"] for row in rows_of(path, "counter")], [5, 11, 7], "values")

with t.case("counters of two processes of one name are two counters"):
    t.wanted()
    second = {60: {1: 20, 3: {1: 4800, 6: "train"}}, 10: 1}
    path = imported(written("two.pftrace", trace(
        PROCESS, second, *({60: {1: uuid, 5: parent, 2: "memory"}, 10: 1} for uuid, parent in ((13, 10), (23, 20), (33, 0))),
        *({60: {1: uuid, 5: parent, 2: "rows", 8: {}}, 10: 1} for uuid, parent in ((14, 13), (24, 23), (34, 33))),
        *(event(1000 + uuid, COUNTER, uuid, body={30: uuid}) for uuid in (14, 24, 34)))))
    rows = rows_of(path)
    pids = {row["id"]: row["pid"] for row in rows if row["kind"] == "process"}
    t.equal(sorted((row["metric"], pids.get(row.get("process"), 0)) for row in rows if row["kind"] == "series"),
            [("rows (memory)", 0), ("rows (memory)", 4711), ("rows (memory)", 4800)], "series")
    t.equal([row["value"] for row in rows if row["kind"] == "counter"], [14, 24, 34], "values")

with t.case("a number of one list is none of another"):
    t.wanted()
    far = (2 ^ 6) << 56 | 1  # the name 1, as a number of the list of frames
    data = {2: [{1: 1, 2: "x"}, {1: far, 2: "y"}], 7: [{1: 1, 2: [far, 1]}]}
    sample = {8: 5000, 66: {1: 0, 2: 4711, 3: 4712, 4: 1, 5: 1, 6: 100}, 10: 4}
    path = imported(written("lists.pftrace", trace({12: data, 13: 1, 10: 4}, sample)))
    t.equal([row["stack"] for row in rows_of(path, "cpu_sample")], [0], "a stack without frames")

with t.case("random changes"):
    t.wanted()
    chance = random.Random(3)
    good = rocprof(*ROCPROF)
    for _ in range(150):
        content = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        result = run([DUET, "import", "-f", "perfetto", "-o", t.path("changed.duet"), written("changed.pftrace", bytes(content))])
        t.true(result.status in (0, 1), f"status {result.status}: {text(result.stderr)}")

# ---- recordings of real GPUs -----------------------------------------------------------------------

with t.case("recordings of rocprofv3: counts, sums, busy time"):
    t.wanted()
    folder = os.environ.get("DUET_RECORDINGS", "")
    if not folder:
        raise duet_test.Skip("DUET_RECORDINGS is not set")
    for name, calls, dispatches, busy in (("79568e_3648722", 2645, 15, 194_762), ("acbf57_3635359", 1132, 0, 0)):
        path = imported(os.path.join(folder, "amd", f"{name}_results.pftrace.zst"))
        rows = rows_of(path)
        executions = sorted((row["started"], row["ended"]) for row in rows if row["kind"] == "execution")
        t.equal(len([row for row in rows if row["kind"] in ("api", "launch")]), calls, "calls")
        t.equal(len(executions), dispatches, "dispatches")
        t.equal(sums_of(t.report(path))["busy"], [busy] if busy else [], "busy time")

t.end()
