#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Invalid input: missing programs, outputs that cannot be written, files that are not traces, and traces that are damaged,
truncated or of a newer version. Each gets a message that names the object, and the documented status, and never a
crash or a hang.
"""
import ctypes
import ctypes.util
import errno
import json
import os
import random
import re
import subprocess

import duet_test
from duet_test import DUET, Skip, program, run, text

t = duet_test.Suite()
READERS = (["report"], ["report", "--json"], ["info"], ["info", "--json"])


def write(name, data):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def refused(command, what, status=1):
    """Ends with the status and one message that begins with duet and names `what`."""
    result = run(command, timeout=30)
    t.equal(result.status, status, f"status of {' '.join(command[1:])} ({text(result.stderr)})")
    t.true(result.stderr.startswith(b"duet"), f"the message says who speaks: {result.stderr}")
    t.true(what.encode() in result.stderr, f"the message names {what}: {result.stderr}")
    t.true(result.stderr.endswith(b"\n"), "the message ends its line")
    return result


def survived(path, name):
    """Every reader ends with 0 or 1 on this file, with a message where it is 1; the report also with 4, incomplete."""
    for reader in READERS:
        result = run([DUET, reader[0], path, *reader[1:]], timeout=60)
        if result.status not in ((0, 1, 4) if reader[0] == "report" else (0, 1)):
            t.fail(f"duet {' '.join(reader)} of {name}: status {result.status}: "
                   f"{text(result.stderr)[:300]}")
        elif result.status == 1 and not result.stderr:
            t.fail(f"duet {' '.join(reader)} of {name}: status 1 without a message")
        elif result.status in (0, 4) and reader == ["report", "--json"]:
            t.ledger(json.loads(result.stdout))


# One good file for all that damage it: long enough for several chunks.
GOOD = t.path("good.duet")
with t.case("a good file to begin with"):
    recorded = t.record([program("harm"), "work", "4000"], GOOD)
    t.equal(recorded.status, 0, f"status ({text(recorded.stderr)})")
    t.equal(t.readable(GOOD)["ledger"]["matched"], 12000, "matched")


def good():
    if not os.path.exists(GOOD):
        raise AssertionError("there is no good file")
    return read(GOOD)


# ---- record ----

for name, arguments, status, what in (
        ("no such program", ["/no/such/program"], 127, "/no/such/program"),
        ("no such program in PATH", ["surely-no-program"], 127, "surely-no-program"),
        ("a folder", ["/"], 126, "/"),
        ("not executable", ["/etc/passwd"], 126, "/etc/passwd")):
    with t.case(f"record: {name}"):
        refused([DUET, "record", "-o", t.path("n.duet"), "--", *arguments], what, status)

with t.case("record: a script with a missing interpreter"):
    path = write("script", b"#!/no/such/interpreter\n")
    os.chmod(path, 0o755)
    refused([DUET, "record", "-o", t.path("n.duet"), "--", path], path, 127)

with t.case("record: a broken executable"):
    # a shell may be tried on it, as execvp does
    path = write("broken", b"\x7fELF" + bytes(100))
    os.chmod(path, 0o755)
    result = run([DUET, "record", "-o", t.path("n.duet"), "--", path])
    t.true(result.status in (126, 127), f"status {result.status}")
    t.true(path.encode() in result.stderr, f"the message names it: {result.stderr}")

for name, output in (("in no folder", "/no/such/folder/f.duet"), ("a folder", t.folder),
                     ("on a full device", "/dev/full")):
    with t.case(f"record: output {name}"):
        marker = t.path("started")
        refused([DUET, "record", "-o", output, "--", "touch", marker], output, 125)
        t.true(not os.path.exists(marker), "the program was not started")

with t.case("record: an output without write permission"):
    if os.getuid() == 0:
        raise Skip("root may write everything")
    path = write("mine.duet", b"")
    os.chmod(path, 0o444)
    refused([DUET, "record", "-o", path, "--", "true"], path, 125)

with t.case("record: an unwritable output leaves an older file alone"):
    path = t.path("older.duet")
    with open(path, "wb") as file:
        file.write(good())
    result = run([DUET, "record", "-o", path, "--", "/no/such/program"])
    t.equal(result.status, 127, "status")

for name, arguments in (("wrong option", ["--bogus"]), ("option without its value", ["-o"]),
                        ("-d without a number", ["-d", "soon", "--", "true"]),
                        ("a command and -a", ["-a", "-o", t.path("x.duet"), "--", "true"])):
    with t.case(f"record: {name}"):
        refused([DUET, "record", *arguments], "", 125)

with t.case("record: the disk fills during the run"):
    folder = t.path("disk")
    os.makedirs(folder, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder],
                      capture_output=True).returncode != 0:
        raise Skip("no rights to mount a small tmpfs")
    try:
        output = os.path.join(folder, "f.duet")
        plain = run([program("harm"), "flood", "3"])
        recorded = t.record([program("harm"), "flood", "3"], output)
        t.equal((recorded.status, recorded.stdout), (125, plain.stdout), "status and output")
        t.true(b"duet" in recorded.stderr, f"it is told: {recorded.stderr}")
        t.true(output.encode() in recorded.stderr or b"space" in recorded.stderr,
               f"the message says what: {recorded.stderr}")
        document = t.readable(output)
        t.equal(document.get("complete"), False, "the report calls itself incomplete")
        t.equal(run([DUET, "info", output]).status, 0, "status of info")
    finally:
        subprocess.run(["umount", folder], capture_output=True)

# What fails in turn: a write, its place in the file, the end. Room that is taken in advance is not needed.
with t.case("record: each change of the file fails"):
    t.wanted()
    work, plan = [program("cpu_work"), "threads", "2", "100"], []
    output, counted = t.path("failing.duet"), t.path("failing.count")

    def failing(**shim):
        if os.path.exists(output):
            os.unlink(output)
        return t.record(work, output, ("--collect", "cpu,system"),
                        env={"LD_PRELOAD": program("no_write.so"),
                             **{f"NO_WRITE_{key.upper()}": str(value) for key, value in shim.items()}})

    t.equal(failing(count=counted).status, 0, "undisturbed")
    with open(counted, encoding="ascii") as file:
        count = int(file.read())
    t.true(count >= 8, f"{count} changes of files")
    told = 0
    for at in sorted({1, 2, 3, 5, count // 2, count - 1}):
        for error, sticky in ((errno.ENOSPC, 1), (errno.EIO, 0)):
            result = failing(at=at, sticky=sticky, errno=error)
            why = f"N={at}, {os.strerror(error)}, sticky {sticky}: {text(result.stderr)}"
            t.true(result.status in (0, 125), f"status {result.status}: {why}")
            t.equal(b"failing.duet" in result.stderr and os.strerror(error).encode() in result.stderr,
                    result.status == 125, f"a message and status 125: {why}")
            told += result.status == 125
            if os.path.exists(output) and os.path.getsize(output):
                t.equal(run([DUET, "info", output]).status, 0, f"status of info: {why}")
                t.readable(output)
    t.true(told >= 5, f"{told} runs failed")

# A limit of the shell, not of the disk: SIGXFSZ must not end the recorder.
with t.case("record: a limit of the file's size"):
    output = t.path("limited.duet")
    result = run(["bash", "-c", 'ulimit -f 1; "$@"', "sh", DUET, "record", "--collect", "system:1000", "-o", output, "--",
                  "sleep", "2"])
    t.equal(result.status, 125, f"status ({text(result.stderr)})")
    t.true(b"File too large" in result.stderr and output.encode() in result.stderr, result.stderr)
    t.equal(run([DUET, "info", output]).status, 0, "status of info")

# ---- readers: no trace at all ----

for reader in READERS:
    for name, data in (("an empty file", b""), ("text", b"this is no trace\n" * 50),
                       ("random bytes", random.Random(1).randbytes(100000)),
                       ("zeros", bytes(65536))):
        with t.case(f"{' '.join(reader)}: {name}"):
            path = write("bad.duet", data)
            result = refused([DUET, reader[0], path, *reader[1:]], path)
            t.equal(result.stdout, b"", "stdout")
    with t.case(f"{' '.join(reader)}: no such file"):
        path = t.path("none.duet.none")
        refused([DUET, reader[0], path, *reader[1:]], path)
    with t.case(f"{' '.join(reader)}: a folder"):
        refused([DUET, reader[0], t.folder, *reader[1:]], t.folder)
    with t.case(f"{' '.join(reader)}: wrong option"):
        refused([DUET, reader[0], "--bogus", GOOD], "", 2)

with t.case("an unknown verb"):
    result = refused([DUET, "reprot", GOOD], "reprot", 2)
    t.true(b"report" in result.stderr, "the verbs that exist are listed")

with t.case("a FIFO is refused as a trace without blocking"):
    path = t.path("fifo")
    os.mkfifo(path)
    for reader in READERS:
        result = run(["timeout", "10", DUET, reader[0], path, *reader[1:]], timeout=20)
        t.equal(result.status, 1, f"status of {' '.join(reader)}")

# ---- damaged traces ----

with t.case("cut at every kind of place"):
    data = good()
    places = sorted({len(data) * i // 24 for i in range(1, 24)} | {1, 2, 9, 16, 64, len(data) - 1,
                                                                  len(data) - 9})
    for place in places:
        survived(write("cut.duet", data[:place]), f"{place} of {len(data)} bytes")

with t.case("most of a trace without its last hundred bytes is read"):
    data = good()
    path = write("cut.duet", data[:-100])
    document = t.readable(path)
    t.true(document["ledger"]["launched"] > 0, "launches are still there")

with t.case("flipped bits"):
    data = bytearray(good())
    generator = random.Random(2)
    for turn in range(40):
        damaged = bytearray(data)
        for _ in range(1 + turn % 5):
            damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        survived(write("flip.duet", bytes(damaged)), f"flips of turn {turn}")

with t.case("a hole of zeros, and a piece of another file"):
    data = good()
    third = len(data) // 3
    survived(write("hole.duet", data[:third] + bytes(4096) + data[third + 4096:]), "a hole")
    survived(write("joined.duet", data[:third] + random.Random(3).randbytes(10000) + data[third:]),
             "foreign bytes within")
    survived(write("twice.duet", data + data), "a file twice")
    survived(write("tail.duet", data + b"and more"), "more at the end")

with t.case("damage is reported"):
    data = bytearray(good())
    middle = len(data) // 2
    data[middle:middle + 64] = bytes(64)
    path = write("told.duet", bytes(data))
    result = run([DUET, "info", path, "--json"])
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    t.true(re.search(rb'damage|"chunks_damaged"|truncated', result.stdout), "info tells the damage")


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def checksum(data):
    """XXH3-64, by the library that duet itself is linked to."""
    name = ctypes.util.find_library("xxhash")
    if not name:
        raise Skip("libxxhash was not found")
    library = ctypes.CDLL(name)
    library.XXH3_64bits.restype = ctypes.c_uint64
    library.XXH3_64bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    return library.XXH3_64bits(data, len(data))


def newer_schema(data):
    """The file, but its first segment says that its schema's major number is 99
    (proto/duet_trace.proto, messages Chunk and SegmentHead). Nothing changes its length."""
    length, begin = read_varint(data, 0)
    message = bytearray(data[begin:begin + length])
    head = message.index(b"\x08\x01\x10", 18)
    message[head + 1] = 99
    message[10:18] = checksum(bytes(message[18:])).to_bytes(8, "little")
    return data[:begin] + bytes(message) + data[begin + length:]


with t.case("a newer schema is refused with what to do"):
    path = write("newer.duet", newer_schema(good()))
    for reader in READERS:
        result = refused([DUET, reader[0], path, *reader[1:]], path)
        t.true(re.search(rb"newer|update|upgrade|version", result.stderr),
               f"the message says why: {result.stderr}")

with t.case("a trace with no events"):
    path = t.path("quiet.duet")
    result = t.record(["true"], path)
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    document = t.readable(path)
    t.equal(document["ledger"]["launched"], 0, "launched")
    for reader in READERS:
        result = run([DUET, reader[0], path, *reader[1:]])
        t.equal(result.status, 0, f"status of {' '.join(reader)} ({text(result.stderr)})")
        t.true(result.stdout, f"{' '.join(reader)} says something")

with t.case("a reader whose output is closed ends quietly"):
    result = run(["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "sh", DUET, "report", GOOD])
    t.true(result.status in (0, 141), f"status {result.status}")
    result = run(["bash", "-c", '"$@" > /dev/full', "sh", DUET, "report", GOOD])
    t.equal(result.status, 1, "status with a full stdout")
    t.true(result.stderr, "it is told")

for options in (["-d", "0"], ["--keep", "0"], ["-o", "-"], ["-o", "a%z"], ["--max-size", "0"]):
    with t.case(f"record {' '.join(options)}: wrong usage, and the program is not started"):
        t.wanted()
        result = run([DUET, "record", *options, "--", "touch", t.path("started")])
        t.equal(result.status, 125, f"status: {text(result.stderr)}")
        t.true(options[0].encode() in result.stderr, f"names the option: {text(result.stderr)}")
        t.true(not os.path.exists(t.path("started")), "it was not started")

t.end()
