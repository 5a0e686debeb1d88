#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code objects of Intel GPUs: kernels, sizes, instructions and lines, compared with other tools, and samples of such
instructions in duet's outputs. DUET_IGA: an IGA library newer than Debian 12's, which supports Xe2 and Xe3.
"""
import bisect
import csv
import json
import os
import re
import shutil

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)
ZEBINS = os.path.join(duet_test.ROOT, "tests", "golden", "zebin")
GENERATIONS = {"tgllp": "xe-lp", "dg2": "xe-hpg", "pvc": "xe-hpc", "bmg": "xe2", "lnl": "xe2", "ptl": "xe3"}
IP_VERSIONS = {"tgllp": "12.0.0", "dg2": "12.55.8", "pvc": "12.60.7", "bmg": "20.1.0", "lnl": "20.4.4", "ptl": "30.0.4"}
PLATFORMS = {"tgllp": "12p1", "dg2": "12p71", "pvc": "12p72", "bmg": "2", "lnl": "2", "ptl": "3"}
NONE = {"DUET_IGA": "/nonexistent"}
CHOSEN = {"DUET_IGA": os.environ["DUET_IGA"]} if os.environ.get("DUET_IGA") else {}


def zebin(name):
    return os.path.join(ZEBINS, name + ".bin")


def info(name, **env):
    result = run([DUET, "info", "--json", zebin(name)], env={**CHOSEN, **env})
    t.equal(result.status, 0, f"{name}: {text(result.stderr)}")
    return json.loads(result.stdout)["code_object"]


def need_decoder(code):
    if "decoder" not in code:
        raise duet_test.Skip(code["why"] + " (DUET_IGA names one)")


def device_of(name):
    return name.split("_")[1]


def sections(name):
    """What readelf says: {kernel: (offset, size)}, {kernel: bytes of code}."""
    tool = shutil.which("readelf")
    if not tool:
        raise duet_test.Skip("readelf is not installed (binutils)")
    said = text(run([tool, "-SsW", zebin(name)]).stdout)
    places = {found[0]: (int(found[1], 16), int(found[2], 16)) for found in
              re.findall(r"\.text\.(\S+)\s+PROGBITS\s+\w+ (\w+) (\w+)", said)}
    return places, {found[1]: int(found[0], 0) for found in re.findall(r"0{16}\s+(\w+) FUNC\s.* (\S+)\n", said)}


def line_tables(name):
    """What llvm-dwarfdump says, which applies no relocation: a list of [(address in its kernel, line)], one for each kernel."""
    tool = shutil.which("llvm-dwarfdump")
    if not tool:
        raise duet_test.Skip("llvm-dwarfdump is not installed (llvm)")
    said = text(run([tool, "--debug-line", zebin(name)]).stdout)
    return [[(int(address, 16), int(line)) for address, line in re.findall(r"^(0x[0-9a-f]{16})\s+(\d+)", table, re.M)]
            for table in said.split("debug_line[")[1:]]


def plain(line):
    """An instruction as duet prints it: one blank, addresses for labels, and of comments only what a message is."""
    body, _, comment = line.partition("//")
    message = re.match(r"\s*wr:[^;]*; (.*)", comment)
    body = re.sub(r"\bL(\d+)\b", lambda found: hex(int(found[1])), body)
    return " ".join((body + (" // " + message[1] if message else "")).split())


def listing(said):
    return [plain(line) for line in said.splitlines() if line.strip() and not re.match(r"L\d+:$", line)]


def golden(name, kernel):
    with open(os.path.join(ZEBINS, f"{name}.{kernel}.txt"), encoding="ascii") as file:
        return listing(file.read())


def mnemonic(instruction):
    words = [word for word in instruction.split() if not word.startswith("(")]
    name = words[0].split(".")[0]
    return "send" if name in ("load", "store") or name.startswith("atomic") else name


with t.case("kernels, sizes and targets of six GPUs"):
    t.wanted()
    for device, generation in GENERATIONS.items():
        code = info("k_" + device)
        places, sizes = sections("k_" + device)
        t.equal((code["generation"], code["ip_version"]), (generation, IP_VERSIONS[device]), device)
        t.equal({row["name"]: (row["offset"], row["size_bytes"]) for row in code["kernels"]}, places, device)
        t.equal({row["name"]: row["code_bytes"] for row in code["kernels"]}, sizes, device)
        row = code["kernels"][0]
        t.equal((row["name"], row["simd_size"]), ("saxpy", 32), device)
        t.true(row["grf_count"] in (64, 128) and row["eu_threads"] in (7, 8, 10), f"{device}: {row['grf_count']}")

for NAME in ["k_" + device for device in GENERATIONS] + ["two_bmg", "two_dg2", "three_bmg"]:
    with t.case(f"{NAME}: every instruction has its length, every line its table's"):
        t.wanted()
        code = info(NAME)
        with open(zebin(NAME), "rb") as file:
            image = file.read()
        tables = line_tables(NAME)
        t.equal(len(tables), len(code["kernels"]), "a table for each kernel")
        for row, table in zip(code["kernels"], tables):
            at = 0
            for one in row["instructions"]:
                compact = image[row["offset"] + at + 3] & 0x20
                t.equal((one["offset"], one["length"]), (at, 8 if compact else 16), f"{row['name']} {at:#x}")
                known = table[bisect.bisect([address for address, _ in table], at) - 1][1]
                t.equal(one.get("line", 0), known, f"{row['name']} {at:#x}: its line")
                t.equal(one.get("file", "x.cl").rsplit("/", 1)[-1], (NAME[:NAME.index("_")] if known else "x") + ".cl", "its file")
                at += one["length"]
            t.equal(at, row["code_bytes"], f"{row['name']}: the end")

with t.case("lines of several kernels, and of a function that one calls"):
    t.wanted()
    for name, spans in (("two_bmg", {"first": (2, 16), "second": (18, 28)}), ("two_dg2", {"first": (2, 16), "second": (18, 28)}),
                        ("three_bmg", {"alpha": (1, 4), "beta": (6, 9), "gamma_kernel": (11, 14)})):
        for row in info(name)["kernels"]:
            lines = {one["line"] for one in row["instructions"] if "line" in one}
            low, high = spans[row["name"]]
            t.true(len(lines) >= 3 and low <= min(lines) and max(lines) <= high, f"{name} {row['name']}: {lines}")

for NAME, KERNELS in [("k_" + device, ["saxpy"]) for device in GENERATIONS] + [("two_dg2", ["first", "second"])]:
    with t.case(f"{NAME}: instructions as iga64 has them"):
        t.wanted()
        code = info(NAME)
        need_decoder(code)
        for kernel in KERNELS:
            got = [one["text"] for row in code["kernels"] if row["name"] == kernel for one in row["instructions"]]
            t.true(len(got) > 50, f"{len(got)} instructions")
            t.equal(got, golden(NAME, kernel)[:len(got)], kernel)

with t.case("instructions as the iga64 that is installed has them"):
    t.wanted()
    tool = shutil.which("iga64")
    if not tool:
        raise duet_test.Skip("iga64 is not installed (libigc-tools)")
    compared = 0
    for device, platform in PLATFORMS.items():
        code = info("k_" + device)
        row = code["kernels"][0]
        with open(zebin("k_" + device), "rb") as file:
            file.seek(row["offset"])
            raw = file.read(row["size_bytes"])
        with open(t.path("kernel"), "wb") as file:
            file.write(raw)
        said = run([tool, "-d", "-p=" + platform, "-Xprint-ldst", t.path("kernel")])
        if "decoder" not in code or b"invalid platform" in said.stderr:
            continue
        got = [one["text"] for one in row["instructions"]]
        t.equal(got, listing(text(said.stdout))[:len(got)], device)
        compared += 1
    if not compared:
        raise duet_test.Skip("no GPU is known to both iga64 and the library of IGA")
    print(f"# {compared} GPUs compared")

with t.case("without IGA instructions have their names and lengths"):
    t.wanted()
    for name, kernel in [("k_" + device, "saxpy") for device in GENERATIONS] + [("two_dg2", "second")]:
        code = info(name, **NONE)
        t.true("decoder" not in code and "/nonexistent" in code["why"], f"{name}: {code.get('why')}")
        got = next(row["instructions"] for row in code["kernels"] if row["name"] == kernel)
        t.equal([one["text"] for one in got], [mnemonic(one) for one in golden(name, kernel)[:len(got)]], name)

with t.case("files that are not code objects, and damaged ones"):
    t.wanted()
    with open(zebin("k_bmg"), "rb") as file:
        whole = file.read()
    path = t.path("damaged")
    for size in list(range(0, 80)) + list(range(80, len(whole), 509)):
        with open(path, "wb") as file:
            file.write(whole[:size])
        result = run([DUET, "info", path])
        t.equal(result.status, 1, f"{size} bytes")
        if size >= 64:
            t.true(b"its table of sections is invalid or lies outside its" in result.stderr, f"{size} bytes: {result.stderr}")
    result = run([DUET, "info", "/bin/true"])
    t.equal(result.status, 1, "a program")
    t.true(b"is an ELF file, but not code of an Intel GPU" in result.stderr, f"{result.stderr}")

trace = None

with t.case("samples of them: report and flame graph"):
    t.wanted()
    code = info("two_dg2")
    second = next(row for row in code["kernels"] if row["name"] == "second")
    picked = [next(one for one in second["instructions"] if one["line"] == line and one["length"] == 16) for line in (22, 25)]
    lines = ["window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1",
             "launch 1 1 1 10 20 kernel name=second stack=1", "frame 1 jit main", "stack 1 1",
             "execution 1 1 1 15 18 100 900"]
    # any byte of an instruction is it
    for count, stall, one, inside in ((30, "sbid", picked[0], 0), (9, "send", picked[0], 8), (1, "active", picked[1], 15)):
        lines.append(f"instruction 1 {200 + count} second {second['offset'] + one['offset'] + inside} count={count} stall={stall} "
                     f"correlation=1 image={zebin('two_dg2')}")
    trace = t.described("xe", *lines)
    rows = t.report(trace)["instructions"]
    t.equal([(row["kernel"], row["offset"] - second["offset"], row["text"], row["function"], row["line"], row["samples"],
              row["stalls"]) for row in rows],
            [("second", picked[0]["offset"], picked[0]["text"], "second", 22, 39, {"sbid": 30, "send": 9}),
             ("second", picked[1]["offset"], picked[1]["text"], "second", 25, 1, {"active": 1})], "the rows")
    said = text(run([DUET, "report", "--by", "instruction", trace]).stdout)
    t.true(f"second 0x{picked[0]['offset']:x} {picked[0]['text']}"[:40] in said and "two.cl:22" in said, said)
    folded = t.folded(trace, "gpu")
    leaves = {tuple(frames[-2:]): ns for frames, ns in folded if "second_[G]" in frames}
    t.true(any(frames[-2].startswith(f"0x{picked[0]['offset']:x} {picked[0]['text']}"[:30]) and frames[-1] == "sbid_[g]" for frames, _ in folded), f"{leaves}")
    t.true(any("two.cl:22_[G]" in frames for frames, _ in folded), f"{folded}")
    t.equal(sum(ns for _, ns in folded), 800, "the device's time")

with t.case("samples with only an address are attributed to kernel, instruction and line"):
    t.wanted()
    lines = ["window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1", "frame 1 jit main", "stack 1 1"]
    # the second kernel of the file, at a place that has nothing to do with its offset there
    lines += [f"code 301 1 1 0x40ffff0000 {second['size_bytes']} 0 0 name=second image={zebin('two_dg2')}",
              "launch 1 1 1 10 20 kernel code=301 stack=1", "execution 1 1 1 15 18 100 900"]
    for count, one in ((40, picked[0]), (2, picked[1])):
        lines.append(f"address 1 0 1000 {0xffff0000 + one['offset']:#x} count={count} stall=sbid")
    addressed = t.described("placed", *lines)
    document = t.report(addressed)
    t.equal([(row["kernel"], row["offset"] - second["offset"], row["address"], row["text"], row["function"], row["line"],
              row["samples"], row["stalls"]) for row in document["instructions"]],
            [("second", one["offset"], one["offset"], one["text"], "second", one["line"], count, {"sbid": count})
             for count, one in ((40, picked[0]), (2, picked[1]))], "the rows")
    t.equal([document["ledger"][key] for key in ("samples", "samples_estimated", "samples_unknown")], [42, 0, 0], "the ledger")
    listed = t.report(addressed, "--by", "stall")["by"]
    reasons = {row["name"]: row for row in json.loads(run([DUET, "list", "--json", "stalls"]).stdout)["stalls"]}
    t.equal([(row["key"], row["count"], row["kernel"], row["meaning"], row["remedy"]) for row in listed],
            [("sbid", 42, "second", reasons["sbid"]["help"], reasons["sbid"]["remedy"])], "by reason")
    said = text(run([DUET, "report", "--by", "stall", addressed]).stdout)
    t.true("STALLS" in said and "INSTRUCTIONS" not in said and reasons["sbid"]["help"][:40] in said, said)
    t.true(all(len(line) <= 100 for line in said.splitlines()), said)
    table = t.path("samples.csv")
    t.equal(run([DUET, "export", "--format", "csv", "--kind", "instruction_sample", "-o", table, addressed]).status, 0, "csv")
    with open(table, encoding="utf-8", newline="") as file:
        t.equal([(row["pid"], row["kernel"], int(row["offset"]) - second["offset"], row["count"]) for row in csv.DictReader(file)],
                [("1001", "second", one["offset"], str(count)) for count, one in ((40, picked[0]), (2, picked[1]))], "its rows")
    folded = t.folded(addressed, "stall")
    t.equal([frames[:2] + frames[-3:] for frames, _ in folded],
            [["program", "1001", one["text"].replace(";", "\\x3b") + "_[g]", "sbid_[g]", f"0x{one['offset']:x}_[g]"]
             for one in sorted(picked[:2], key=lambda one: one["text"])], f"{folded}")
    t.true(all("main_[j]" in frames and "second_[G]" in frames and any("two.cl" in one for one in frames) for frames, _ in folded), f"{folded}")

with t.case("if the library does not support the GPU, the remedy is printed"):
    t.wanted()
    if trace is None:
        raise duet_test.Skip("no trace was made")
    said = text(run([DUET, "report", "--by", "instruction", trace], env=NONE).stdout)
    t.true("DUET_IGA names no library" in said, said)
    rows = json.loads(run([DUET, "report", "--json", trace], env=NONE).stdout)["instructions"]
    t.true(all(row["text"] == mnemonic(one["text"]) or one["text"] == row["text"] for row, one in zip(rows, picked)), f"{rows}")

with t.case("doctor reports the missing part if there is such a card"):
    t.wanted()
    root = t.path("root")
    os.makedirs(f"{root}/sys/class/drm/card0/device")
    with open(f"{root}/sys/class/drm/card0/device/uevent", "w", encoding="ascii") as file:
        file.write("DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:03:00.0\n")

    def check(**env):
        document = json.loads(run([DUET, "doctor", "--json"], env={"DUET_DOCTOR_ROOT": root, **env}).stdout)
        drm = next(row for row in document["collectors"] if row["name"] == "drm")
        t.true(drm["available"], "a disassembler is not needed to record")
        return [row for row in drm["checks"] if row["name"] == "disassembler"]
    rows = check(**NONE)
    t.true(len(rows) == 1 and not rows[0]["ok"] and rows[0]["fix"] == "apt-get install libigc1", f"{rows}")
    if "decoder" in info("k_tgllp"):
        rows = check()
        t.true(len(rows) == 1 and rows[0]["ok"] and "up to xe" in rows[0]["text"], f"{rows}")

with t.case("each reason of a stall has a sentence and a remedy"):
    t.wanted()
    items = json.loads(run([DUET, "list", "--json", "stalls"]).stdout)["stalls"]
    intel = [row for row in items if row["vendor"] == "Intel"]
    t.equal([row["name"] for row in intel],
            ["active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"], "Intel's")
    t.true(all(len(row["help"]) > 20 and len(row["remedy"]) > 20 for row in items), "sentences")
    said = text(run([DUET, "list", "stalls"]).stdout).splitlines()
    t.equal(len(said), len(items), "a line each")
    t.true(all(row["help"] in line and row["remedy"] in line for row, line in zip(items, said)), "the same in both")

t.end()
