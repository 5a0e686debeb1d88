#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of trace files, written from docs/design/trace-format.md and the columns of
proto/duet_trace.proto, against the frozen file and against duet itself."""
import collections
import ctypes
import ctypes.util
import json
import os
import re

import duet_test
from duet_test import DUET, ROOT, program, run

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "trace", "v1.duet")
PAGE = os.path.join(ROOT, "docs", "design", "trace-format.md")
PREFIX = b"\x09\xd5duet\r\n\xa7"
HEAD = {3: "kind", 4: "source", 5: "clock", 7: "segment", 8: "rows", 9: "first", 10: "last",
        12: "raw_bytes", 13: "sequence", 14: "flags", 15: "payload"}
API, END, INDEX, STRINGS, SEGMENT, FRAMES = 16, 68, 67, 65, 64, 69
ALL_ONES = (1 << 64) - 1


def library(name):
    found = ctypes.util.find_library(name)
    if not found:
        raise duet_test.Skip(f"lib{name} is not there")
    return ctypes.CDLL(found)


def checksum(data):
    hash64 = library("xxhash").XXH3_64bits
    hash64.restype, hash64.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    return hash64(data, len(data))


def decompress(data, size):
    unpack = library("zstd").ZSTD_decompress
    unpack.restype = ctypes.c_size_t
    unpack.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    room = ctypes.create_string_buffer(size)
    assert unpack(room, size, data, len(data)) == size, "the frame has another length"
    return room.raw


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protobuf message; bytes for what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def chunks(data):
    """The heads of a whole file, with their place and their unpacked payload."""
    at = 0
    while at < len(data):
        place = at
        size, at = varint(data, at)
        message, at = data[at:at + size], at + size
        if not size:
            continue
        assert message[:9] == PREFIX and message[9] == 0x11, f"prefix at {place}"
        assert checksum(message[18:]) == int.from_bytes(message[10:18], "little"), f"at {place}"
        head = collections.defaultdict(int, {HEAD[n]: v for n, v in fields(message) if n in HEAD})
        head["place"], head["bytes"] = place, at - place
        payload = head["payload"] or b""
        head["payload"] = decompress(payload, head["raw_bytes"]) if head["raw_bytes"] else payload
        yield head


def column(chunk, number):
    """The stored values of a column, one for each row."""
    packed, values, at = dict(fields(chunk["payload"])).get(number, b""), [], 0
    while at < len(packed):
        value, at = varint(packed, at)
        values.append(value)
    assert len(values) <= chunk["rows"], "more values than rows"
    return values + [values[-1] if values else 0] * (chunk["rows"] - len(values))


def summed(values):
    total = 0
    for value in values:
        total = (total + value) & ALL_ONES
        yield total


def zigzag(values):
    return [value >> 1 ^ -(value & 1) for value in values]


def read(path):
    with open(path, "rb") as file:
        return file.read()


with t.case("rows and kinds are those that duet counts"):
    t.wanted()
    counted = collections.Counter()
    for chunk in chunks(read(GOLDEN)):
        counted[chunk["kind"]] += chunk["rows"] if 16 <= chunk["kind"] < 28 else 0
    info = json.loads(run([DUET, "info", "--json", GOLDEN]).stdout)
    names = {16: "api", 17: "launch", 18: "dependency", 19: "execution", 27: "loss"}
    rows = {row["kind"]: row["rows"] for row in info["kinds"]}
    for kind, name in names.items():
        t.equal(counted[kind], rows[name], name)

with t.case("columns: times of calls are those that the frozen file was made from"):
    t.wanted()
    begins = []
    for chunk in chunks(read(GOLDEN)):
        if chunk["kind"] == API:
            times = list(summed(column(chunk, 1)))
            t.equal((times[0], times[-1]), (chunk["first"], chunk["last"]), "first and last")
            begins += times
    t.equal(sorted(begins), [10**12 + i * 1234567 for i in range(300)], "begin of each call")

with t.case("strings: lengths and ids follow each other"):
    t.wanted()
    known = {}
    for chunk in chunks(read(GOLDEN)):
        if chunk["kind"] == STRINGS:
            message = dict(fields(chunk["payload"]))
            lengths, text = column(chunk, 2), message[3]
            t.equal(message[1], known.get(chunk["segment"], 0) + 1, "first_id")
            t.equal(sum(lengths), len(text), "bytes of all texts")
            t.true(b"text 2 \xff\x01 z" in text, "a text")
            known[chunk["segment"]] = known.get(chunk["segment"], 0) + chunk["rows"]
    t.true(len(known) > 1, "each segment has its own")

with t.case("the index names every chunk"):
    t.wanted()
    whole = list(chunks(read(GOLDEN)))
    by_place = {chunk["place"]: chunk for chunk in whole}
    end, named = whole[-1], set()
    t.equal((end["kind"], end["first"]), (END, 0), "the last chunk")
    for back, size in zip(summed(column(end, 1)), column(end, 2)):
        index = by_place[end["place"] - back]
        t.equal((index["kind"], index["bytes"]), (INDEX, size), "an INDEX")
        firsts = list(summed(zigzag(column(index, 9))))
        for i, far in enumerate(summed(column(index, 1))):
            chunk = by_place[index["place"] - far]
            named.add(chunk["place"])
            got = (column(index, 2)[i], column(index, 3)[i], column(index, 8)[i], firsts[i])
            t.equal(got, (chunk["bytes"], chunk["kind"], chunk["rows"], chunk["first"]), "a row")
    t.equal(named, {c["place"] for c in whole if c["kind"] not in (INDEX, END)}, "all are named")

with t.case("first and last bytes of the file as documented"):
    t.wanted()
    data, page = read(GOLDEN), read(PAGE).decode()
    shown = re.findall(r"^    (?:([0-9a-f]{8}): )?((?:[0-9a-f]{2,4} )*[0-9a-f]{2,4})$", page, re.M)
    first = b"".join(bytes.fromhex(line) for place, line in shown if place)
    last = b"".join(bytes.fromhex(line) for place, line in shown if not place)
    t.equal(data[:len(first)], first, "the first bytes")
    t.equal(data[-len(last):], last, "the last bytes")
    for place, cells in re.findall(r"^\| ([0-9a-f]{2}) \| (`[^|]*) \|", page, re.M):
        place = int(place, 16)
        for cell in re.findall(r"`([0-9a-f ]+)`", cells):
            found = data.find(bytes.fromhex(cell), place)
            t.equal(found, place if "…" not in cells else found, f"{cell} at {place:02x}")
            place = found + len(bytes.fromhex(cell))
    content = next(chunk for chunk in chunks(data) if chunk["kind"] == 66)
    for number in ("first", "last"):
        t.true(f"{content[number]:#018x}" in page, f"{number} of the content: {content[number]:#018x}")


def texts(whole):
    """{(segment, id): text}"""
    known = {}
    for chunk in whole:
        if chunk["kind"] == STRINGS:
            message, at = dict(fields(chunk["payload"])), 0
            for i, length in enumerate(column(chunk, 2)):
                known[chunk["segment"], message[1] + i] = message[3][at:at + length]
                at += length
    return known


def frames(whole):
    """{id: row}; of two rows with an id the one of the larger sequence."""
    known, found = texts(whole), {}
    for chunk in sorted(whole, key=lambda chunk: chunk["sequence"]):
        if chunk["kind"] == FRAMES:
            def words(number):
                return [known.get((chunk["segment"], i), b"").decode() for i in column(chunk, number)]
            rows = zip(column(chunk, 2), words(4), words(5), words(6), column(chunk, 11), column(chunk, 12))
            ids = summed(zigzag(column(chunk, 1)))
            found.update(zip(ids, (dict(zip(("type", "module", "build_id", "name", "size", "time"), row))
                                   for row in rows)))
    return found


with t.case("frames: size and time of a file without build id"):
    t.wanted()
    path, trace = program("flame_shapes_plain"), t.path("plain.duet")
    driver = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": ""}
    t.equal(t.record([path], trace, env=driver).status, 0, "record")
    rows = [row for row in frames(list(chunks(read(trace)))).values() if row["type"] == 1]
    about = os.stat(path)
    t.equal({(row["build_id"], row["size"], row["time"]) for row in rows if row["module"] == path},
            {("", about.st_size, about.st_mtime_ns)}, "of the program")
    t.equal({(row["size"], row["time"]) for row in rows if row["build_id"]}, {(0, 0)},
            "of what has a build id")

t.end()
