#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet info --batch: batch buffers of Intel GPUs in files. The parser itself is tested with a corpus in tests/unit/isa."""
import json
import os
import struct

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)
HEAP = 0x700000000
END = [0x05000000]


def info(*arguments):
    return run([DUET, "info", "--batch", *arguments])


def command(header, dwords, **fields):
    """A command of so many dwords; fields: d19=0x1040."""
    words = [header | (dwords - 2 if dwords > 1 else 0)] + [0] * (dwords - 1)
    for name, value in fields.items():
        words[int(name[1:])] = value
    return words


def base(address=HEAP):
    return command(0x61010000, 22, d10=address & 0xffffffff | 1, d11=address >> 32)


def walker(kernel):
    return command(0x72080000, 40, d19=kernel)


def start(target, flags=0):
    return command(0x18800100 | flags, 3, d1=target & 0xffffffff, d2=target >> 32)


def write(name, words, tail=b""):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(struct.pack(f"<{len(words)}I", *words) + tail)
    return path


def described(*arguments):
    result = info("--json", *arguments)
    t.equal(result.status, 0, "status")
    t.equal(text(result.stderr), "", "stderr")
    return json.loads(result.stdout)


def refused(status, words, *arguments):
    result = info(*arguments)
    t.equal(result.status, status, f"status of {arguments}")
    t.equal(result.stdout, b"", f"stdout of {arguments}")
    for word in words:
        t.true(word in text(result.stderr), f"{word!r} in {text(result.stderr)}")


with t.case("kernels of a buffer, in text"):
    sip = command(0x61020000, 3, d1=0x2010)
    path = write("kernels.bin", base() + sip + [0] * 5 + walker(0x1040) + walker(0x1040) + walker(0x2080) + END)
    result = info(path)
    t.equal(result.status, 0, "status")
    lines = text(result.stdout).splitlines()
    t.equal(lines[0], f"file        {path}: 604 bytes at 0x0", "file")
    t.equal(lines[1], "generation  xe2 (Lunar Lake, Battlemage (Arc B)), detected from its commands", "generation")
    t.equal(lines[2], "result      complete: it ends at 0x258", "result")
    t.equal(lines[3], "commands    6; padding 5", "commands")
    t.equal(lines[4], "kernels at  0x700000000 (instruction base address)", "base")
    rows = [line.split() for line in lines[6:11]]
    t.equal(rows[0], ["kernels", "3"], "count")
    t.equal(rows[2], ["[system", "routine]", "0x0700002010", "1", "0x58", "STATE_SIP"], "system routine")
    t.equal(rows[3], ["compute", "0x0700001040", "2", "0x78", "COMPUTE_WALKER"], "first kernel")
    t.equal(rows[4], ["compute", "0x0700002080", "1", "0x1b8", "COMPUTE_WALKER"], "second kernel")
    t.true("not understood" not in text(result.stdout), "all is understood")

with t.case("the same in JSON"):
    found = described(path)
    t.equal(next(iter(found)), "schema", "first key")
    t.equal(found["schema"], "duet.info.batch/1", "schema")
    t.equal((found["generation"], found["generation_source"]), ("xe2", "told"), "generation")
    t.equal((found["result"], found["end"], found["missing"]), ("complete", 0x258, None), "result")
    t.equal(found["instruction_base"], HEAP, "base")
    t.equal([(k["kind"], k["address"], k["count"]) for k in found["kernels"]],
            [("[system routine]", HEAP + 0x2010, 1), ("compute", HEAP + 0x1040, 2), ("compute", HEAP + 0x2080, 1)],
            "kernels")
    t.equal(found["kernels"][1]["relative"], False, "relative")
    t.equal(found["kernels"][1]["command_address"], 0x78, "command")
    t.equal((found["counts"]["commands"], found["counts"]["noops"], found["counts"]["unknown"]), (6, 5, 0), "counts")
    t.equal({c["name"]: c["count"] for c in found["commands"]},
            {"STATE_BASE_ADDRESS": 1, "STATE_SIP": 1, "COMPUTE_WALKER": 3, "MI_BATCH_BUFFER_END": 1}, "commands")

with t.case("jumps are followed at the GPU addresses of the file"):
    ADDRESS = 0x7f0000000000
    words = base() + start(ADDRESS + 0x200, 1 << 22) + walker(0x40) + END
    words += [0] * (0x80 - len(words)) + walker(0x1000) + END
    path = write("jumps.bin", words)
    found = described("--address", hex(ADDRESS), path)
    t.equal(found["result"], "complete", "result")
    t.equal([k["address"] for k in found["kernels"]], [HEAP + 0x1000, HEAP + 0x40], "kernels")
    t.equal(found["counts"]["calls"], 1, "calls")
    found = described(path)
    t.equal((found["result"], found["missing"]), ("incomplete", ADDRESS + 0x200), "without the address")
    t.true("(--address sets" in text(info(path).stdout), "what to do is said")
    found = described("--address", str(ADDRESS), "--start", hex(ADDRESS + 0x200), path)
    t.equal([(k["address"], k["relative"]) for k in found["kernels"]], [(0x1000, True)], "from another start")
    t.true("base+" in text(info("--start", "0x200", path).stdout), "an offset is called one")

with t.case("generations"):
    old = write("old.bin", command(0x72080000, 39, d18=0x1040) + END)
    t.equal(described(old)["generation"], "xe-hpg", "39 dwords")
    found = described("--gen", "pvc", old)
    t.equal((found["generation"], found["generation_source"]), ("xe-hpc", "said"), "by a device's name")
    t.equal([k["address"] for k in found["kernels"]], [0x1040], "kernel")
    found = described("--gen", "bmg", old)
    t.equal((found["kernels"], found["counts"]["mismatched"]), ([], 1), "the wrong one finds nothing and says so")
    t.true("with a length of another generation: 1" in text(info("--gen", "xe2", old).stdout), "in text too")
    t.equal(described(write("any.bin", END))["generation_source"], "assumed", "nothing tells")
    refused(2, ["'gen8'", "xe-hpg (DG2", "duet info --help"], "--gen", "gen8", old)

with t.case("unknown commands are printed"):
    odd = write("odd.bin", command(0x78fe0000, 17) + command(0x1f800000, 5) + walker(0x40) + END)
    found = described("--gen", "xe2", odd)
    t.equal((found["counts"]["unknown"], found["unknown_headers"]), (2, [0x78fe000f, 0x1f800003]), "unknown commands")
    t.equal(len(found["kernels"]), 1, "the kernel behind them")
    t.true("2 (0x78fe000f, 0x1f800003)" in text(info("--gen", "xe2", odd).stdout), "in text")

with t.case("buffers that do not end"):
    t.equal(described(write("cut.bin", walker(0x40)))["missing"], 160, "cut")
    t.true("the file ends at 0xa0" in text(info(t.path("cut.bin")).stdout), "cut, in text")
    zeros = write("zeros.bin", walker(0x40) + [0] * 10000)
    t.equal((described(zeros)["result"], described(zeros)["end"]), ("incomplete", 160), "not written")
    t.true("only zeros" in text(info(zeros).stdout), "not written, in text")
    loop = described(write("loop.bin", walker(0x40) + start(0)))
    t.equal((loop["result"], len(loop["kernels"])), ("loop", 1), "loop")
    garbage = write("garbage.bin", walker(0x40) + [0xffffffff])
    t.equal(described(garbage)["result"], "garbage", "garbage")
    t.true("not a command at 0xa0" in text(info(garbage).stdout), "garbage, in text")
    t.equal(described(write("odd_size.bin", END, b"\1\2"))["size_bytes"], 4, "bytes behind the last dword")

with t.case("any bytes are described"):
    for number in range(40):
        noise = bytes((number * 7919 + i * i * 31 + (i >> 3)) & 0xff for i in range(2048))
        found = described(write("noise.bin", [], noise))
        t.true(found["result"] in ("complete", "incomplete", "loop", "garbage"), found["result"])

with t.case("wrong use"):
    refused(2, ["needs a FILE"])
    refused(2, ["one FILE at a time"], path, path)
    refused(2, ["--address takes an address such as", "'1x'"], "--address", "1x", path)
    refused(2, ["'-4'"], "--address=-4", path)
    refused(2, ["''"], "--address", "", path)
    refused(2, ["'0x10000000000000000'"], "--address", "0x10000000000000000", path)
    refused(2, ["multiples of 4"], "--start", "0x1002", path)
    refused(2, ["not in the file, which is at 0x0 to"], "--start", "0x100000", path)
    refused(2, ["beyond the largest address"], "--address", "0xfffffffffffffff0", path)
    result = run([DUET, "info", "--gen", "xe2", path])
    t.equal(result.status, 2, "--gen without --batch")
    t.true("need --batch" in text(result.stderr), text(result.stderr))

with t.case("files that are none"):
    refused(1, ["no-such.bin"], t.path("no-such.bin"))
    refused(1, [os.path.dirname(path)], os.path.dirname(path))
    refused(1, ["has only 0 bytes", "less than one command (4 bytes)"], write("empty.bin", []))
    refused(1, ["has only 3 bytes"], write("three.bin", [], b"abc"))

t.end()
