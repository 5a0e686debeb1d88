#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles of Intel's iaprof: each of the four forms is imported and exported again, and the second round makes no
difference. An invalid line is reported and left out, and only that line.

tests/golden/iaprof/FORM.iaprof are profiles as the program (article: its description) writes them.

    python3 tests/e2e/test_iaprof.py --write    # writes the expected files; read them before a commit
"""
import collections
import gzip
import json
import os
import random
import re

import duet_test
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

GOLDEN = os.path.join(ROOT, "tests", "golden", "iaprof")
FORMS = ["article", "v0.5.0", "tiber", "head"]


def written(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def imported(path, output="imported.duet", status=0):
    """The trace, and what is said of the import."""
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "--format", "iaprof", "-o", out, path])
    t.equal(result.status, status, f"duet import: {text(result.stderr)}")
    return out, text(result.stdout) + text(result.stderr)


def exported(trace, form, *options):
    """The text, and what is said of the export."""
    result = run([DUET, "export", "-f", "iaprof", "--kind", form, *options, trace])
    t.equal(result.status, 0, text(result.stderr))
    return result.stdout, text(result.stderr)


def folded(trace, *options):
    result = run([DUET, "flame", "--view", "stall", "--folded", *options, trace])
    t.equal(result.status, 0, text(result.stderr))
    return text(result.stdout)


def profile(form):
    return os.path.join(GOLDEN, f"{form}.iaprof")


def counted(trace):
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded(trace).splitlines())


def comes_back(trace, form):
    """What is exported, imported and exported again is the same, byte by byte, and so are its stacks."""
    first, _ = exported(trace, form)
    again, _ = imported(written("out.iaprof", first), "again.duet")
    second, _ = exported(again, form)
    t.same_text(second, first, f"{form}: the second export")
    third, _ = imported(written("out.iaprof", second), "third.duet")
    t.equal(folded(third), folded(again), f"{form}: stacks")
    return folded(again)


# The description's own example.
SAMPLE = """STRING;1;python3.11
STRING;2;libpython3.11.so.1.0
STRING;3;PyEval_EvalFrameDefault
STRING;4;libze_loader.so.1
STRING;5;zeCommandListAppendLaunchKernel
PROC_NAME;1;12345
USTACK;100;0x7f8000001234;0x7f8000005678;0x7f800000abcd
KSTACK;200;0xffffffffc0123456;0xffffffffc0234567
GPU_FILE;10;my_kernel.cpp
GPU_SYMBOL;11;my_compute_kernel
INSN_TEXT;20;mad(8) r10.0<1>:f r2.0:f r3.0:f r4.0:f
EUSTALL;1;12345;100;200;10;11;20;1;0x40;1234
"""
STACK = ("python3.11;12345;0x7f8000001234;0x7f8000005678;0x7f800000abcd;0xffffffffc0123456_[k];0xffffffffc0234567_[k];-;"
         "my_kernel.cpp_[G];my_compute_kernel_[G];mad(8) r10.0<1>:f r2.0:f r3.0:f r4.0:f_[g];active_[g];0x40_[g] 1234\n")

with t.case("the example of the description"):
    trace, _ = imported(written("sample.iaprof", SAMPLE))
    plain = run([DUET, "flame", "--folded", trace])
    t.same_text(plain.stdout, STACK.encode(), "flame --folded")
    t.same_text(run([DUET, "export", "-f", "folded", trace]).stdout, STACK.encode(), "export -f folded")
    t.true("samples of device instructions (--view stall)" in text(plain.stderr), text(plain.stderr))

with t.case("every verb works on an imported profile"):
    for form in FORMS:
        trace, _ = imported(profile(form))
        for verb in (["report"], ["report", "--json"], ["report", "--by", "instruction"], ["info"],
                     ["flame", "-o", t.path("out.svg")], ["view", "-o", t.path("out.html")],
                     ["flamescope", "-o", t.path("scope.html")], ["export", "-f", "text"], ["export", "-f", "jsonl"],
                     ["export", "-f", "json"], ["export", "-f", "csv", "--kind", "instruction_sample"],
                     ["export", "-f", "sqlite", "-o", t.path("out.db")],
                     ["export", "-f", "pprof", "-o", t.path("out.pb.gz")],
                     ["export", "-f", "speedscope", "-o", t.path("out.speedscope")],
                     ["export", "-f", "perfetto", "-o", t.path("out.pftrace")]):
            result = run([DUET, *verb, trace])
            t.equal(result.status, 0, f"{form}: duet {' '.join(verb)}: {text(result.stderr)}")
            if os.path.exists(t.path("out.db")):
                os.unlink(t.path("out.db"))
        report = json.loads(run([DUET, "report", "--json", trace]).stdout)
        t.equal([device["measured"] for device in report["devices"]], [False], f"{form}: nobody saw its commands")
        t.equal(sum(row["samples"] for row in report["instructions"]), counted(trace), f"{form}: samples")

with t.case("a format without instruction samples reports the left-out rows and the formats that have them"):
    trace, _ = imported(profile("head"))
    rows = len([line for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()
                if json.loads(line)["kind"] == "instruction_sample"])
    t.true(rows > 1, "there are some")
    for name in [row["name"] for row in json.loads(run([DUET, "list", "--json", "formats"]).stdout)["formats"]]:
        result = run([DUET, "export", "-f", name, "-o", t.path(f"whole_{name}"), trace])
        t.equal(result.status, 0, f"{name}: {text(result.stderr)}")
        t.equal(f"duet export: {name} leaves out {rows} samples of device instructions (pprof and sqlite have them)\n" in text(result.stderr),
                name in ("text", "csv", "chrome", "ctf", "perf-script", "rocpd"), f"{name}: {text(result.stderr)}")
        t.true(text(result.stderr).count("device instructions") <= 1 and all(len(line) < 100 for line in text(result.stderr).splitlines()
               if "device instructions" in line), f"{name}: one line: {text(result.stderr)}")
    for kind in ("instruction_sample", "launch"):
        result = run([DUET, "export", "-f", "csv", "--kind", kind, trace])
        t.true("leaves out" not in text(result.stderr), f"who chose a table knows what it is: {text(result.stderr)}")
    plain = t.path("plain.duet")
    run([DUET, "import", "--format", "folded", "-o", plain, written("plain.folded", "main;work 3\n")])
    t.true("leaves out" not in text(run([DUET, "export", plain]).stderr), "there are none")

with t.case("samples without a known launch keep their device"):
    for form in FORMS:
        trace, _ = imported(profile(form))
        for device in ("0", "iaprof"):
            t.equal(folded(trace, "--device", device), folded(trace), f"{form}: flame --device {device}")
            for by in ("stall", "instruction"):
                rows = json.loads(run([DUET, "report", "--json", "--by", by, "--device", device, trace]).stdout)["by"]
                t.equal(sum(row["count"] for row in rows), counted(trace), f"{form}: report --by {by} --device {device}")

for form in FORMS:
    with t.case(f"golden: {form}"):
        trace, said = imported(profile(form))
        t.same_as_file(folded(trace), os.path.join(GOLDEN, f"{form}.folded"), "stacks")
        for other in FORMS:
            lines, _ = exported(trace, other)
            t.same_as_file(text(lines), os.path.join(GOLDEN, f"{form}.to-{other}.expected"), f"as {other}")
            got = comes_back(trace, other)
            if other not in ("head", "article"):
                t.equal(got, folded(trace), f"{other} has all of {form}'s stacks")
        t.true("left out line" not in said, said)

with t.case("metrics and times come back"):
    counters = {}
    for form in ("tiber", "head"):
        trace, _ = imported(profile(form))
        rows = text(run([DUET, "export", "-f", "csv", "--kind", "counter", "--absolute", trace]).stdout).splitlines()
        again, _ = imported(written("out.iaprof", exported(trace, form)[0]))
        t.equal(text(run([DUET, "export", "-f", "csv", "--kind", "counter", "--absolute", again]).stdout).splitlines(),
                rows, form)
        counters[form] = [row for row in rows if "gpu.clock" in row or "gpu.busy" in row]
    t.equal([len(rows) for rows in counters.values()], [4, 4], "a clock and a share for each interval")
    _, said = exported(trace, "article")
    t.true("article has no metrics: 4 are left out" in said and "article has no times" in said, said)

with t.case("data that a form cannot express is counted and reported"):
    trace, _ = imported(written("in.iaprof", SAMPLE + "STRING;9;warp_wait\n"))
    _, said = exported(trace, "head")
    t.true("head has no kernel stacks: those of 1234 samples are left out" in said, said)

    lines = ["string\t1\tp", "string\t2\twarp_wait", "eustall\t1\t7\t0\t0\t0\t0\t1\t1\t1\t2\t0x8\t40"]
    trace, _ = imported(written("in.iaprof", "\n".join(lines) + "\n"))
    t.true("40 samples with others become 'other'" in exported(trace, "head")[1], "head")
    t.true("40 samples with others have none" in exported(trace, "article")[1], "article")
    t.equal(folded(trace), "p;7;[stacks off];-;p_[G];p_[G];p_[g];warp_wait_[g];0x8_[g] 40\n", "any reason")


with t.case("a described trace: samples have the stack that launched their command"):
    with open(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"), encoding="utf-8") as file:
        trace = t.described("native.duet", file.read())
    for form in FORMS:
        got = comes_back(trace, form)
        t.equal(counted(trace), sum(int(line.rsplit(" ", 1)[1]) for line in got.splitlines()), f"{form}: samples")
        t.true("saxpy_[G]" in got, got)
    result = run([DUET, "export", "-f", "iaprof", "--kind", "tiber,head", trace])
    t.equal(result.status, 2, "one form at a time")
    t.true("choose one --kind of: tiber, head, v0.5.0, article" in text(result.stderr), text(result.stderr))

# ---- at random -----------------------------------------------------------------------------------

NAMES = ["main", "f(int, char const*)", "a b", "x\\y", "-", "odd_[k]", "odd_[g]", "[unknown]", "\u00e4\u4e2d", "tab", "%s",
         "[truncated]", "std::map<int, std::less<int>>::find"]
REASONS = ["active", "control", "pipestall", "send", "dist_acc", "sbid", "sync", "inst_fetch", "other", "tdr"]


def random_profile(chance, lines):
    """As v0.5.0 writes it, with intervals; the stacks and their counts."""
    ids, out, sums = {}, [], collections.Counter()

    def number(name):
        if name not in ids:
            ids[name] = len(ids) + 1
            out.append(f"string\t{ids[name]}\t{name}")
        return ids[name]

    time = 10 ** 9
    for i in range(lines):
        if i % 50 == 0:
            time += chance.randrange(1, 20000)
            out.append(f"interval_start\t{i // 50}\t{time // 10 ** 6}.{time % 10 ** 6:06}")
        user = "".join(chance.choice(NAMES) + ";" for _ in range(chance.randrange(1, 9)))
        kernel = "".join(f"k{chance.randrange(5)}_[k];" for _ in range(chance.randrange(0, 3)))
        fields = [number("python3"), chance.randrange(1, 4), number(user), number(kernel) if kernel else 0, 0, 0,
                  number(f"file{chance.randrange(3)}.cpp"), number(f"kernel{chance.randrange(4)}"),
                  number(f"mad r{chance.randrange(4)}"), number(chance.choice(REASONS))]
        offset, count = chance.randrange(0, 8) * 16, chance.randrange(1, 1000)
        out.append("eustall\t" + "\t".join(str(field) for field in fields) + f"\t0x{offset:x}\t{count}")
        sums[fields[1]] += count
    return "\n".join(out) + "\n", sums

with t.case("random profiles come back in every form"):
    for seed in range(4):
        content, sums = random_profile(random.Random(seed), 1500)
        trace, _ = imported(written("random.iaprof", content))
        t.equal(counted(trace), sum(sums.values()), "no sample is lost")
        got = collections.Counter()
        for line in folded(trace).splitlines():
            got[int(line.split(";")[1])] += int(line.rsplit(" ", 1)[1])
        t.equal(got, sums, "by process")
        for form in FORMS:
            comes_back(trace, form)

with t.case("gzip, Windows' ends of lines, no end of the last line"):
    with open(profile("tiber"), "rb") as file:
        content = file.read()
    want = folded(imported(profile("tiber"))[0])
    for name, changed in (("a.gz", gzip.compress(content)), ("a", content.replace(b"\n", b"\r\n")), ("b", content[:-1])):
        t.equal(folded(imported(written(name, changed))[0]), want, name)

# ---- bad lines -----------------------------------------------------------------------------------

BAD = [
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x40", "expected 11 fields in a line 'EUSTALL', found 'fewer'"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x40;1;1", "expected 11 fields in a line 'EUSTALL', found 'more'"),
    ("EUSTALL;1;12345;100;200;10;11;20;10;0x40;1", "expected a stall type, a whole number of at most 9, found '10'"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0xzz;1", "expected an offset, hexadecimal, below 2^64, found '0xzz'"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x12345678123456781;1", "below 2^64"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x40;9223372036854775808", "a count, a whole number of at most 9223372036854775807"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x40;9223372036854775807", "no more than 2^63 - 1 samples in all"),
    ("EUSTALL;1;12345;100;200;10;11;20;1;0x40;-1", "a count, a whole number"),
    ("EUSTALL;1;4294967296;100;200;10;11;20;1;0x40;1", "a pid, a whole number of at most 4294967295"),
    ("EUSTALL;1;12345;100;999;10;11;20;1;0x40;1", "a line 'KSTACK' of that number before it"),
    ("EUSTALL;1;12345;200;100;10;11;20;1;0x40;1", "a line 'USTACK' of that number before it"),
    ("EUSTALL;77;12345;100;200;10;11;20;1;0x40;1", "a line 'string' of that number before it (is the file's start missing?)"),
    ("STRING;0;x", "a number from 1 on: 0 means no text"),
    ("STRING;18446744073709551616;x", "the number of a text, a whole number of at most 18446744073709551615"),
    ("STRING;7", "3 fields in a line 'STRING', found 'fewer'"),
    ("string;7;x", "a line of iaprof"),
    ("string 7 x", "expected a tab between fields (were the file's tabs replaced by blanks?), found 'string 7 x'"),
    ("eustall   0x10 0", "a tab between fields"),
    ("strings 7", "a line of iaprof, such as 'string' or 'eustall', found 'strings 7'"),
    ("NONSENSE", "a line of iaprof, such as 'string' or 'eustall', found 'NONSENSE'"),
    ("STRING;7;a\0b", "expected text, found 'a byte of 0'"),
    ("eustall\t0x10\t0\t1\t0\t0\t0\t0\t0\t0\t0\t0\t0", "a valid line 'kernel' before it"),
    ("ustack\t12\te\t1", "fields in a line 'ustack'"),
    ("interval_start\t1\tnan", "a time in seconds, 12.345678, found 'nan'"),
    ("interval\t1\t99999999999", "a time in seconds"),
    ("metric\twatts\t5", "frequency-MHz or busy-percent, found 'watts'"),
    ("shader_type\t4", "a shader type, a whole number of at most 3"),
    ("kernel\t0x0\t1\t7\t0\t0", "7 fields in a line 'kernel'"),
]

with t.case("an invalid line is reported with its number, and only this line is left out"):
    for line, why in BAD:
        trace, said = imported(written("bad.iaprof", SAMPLE + line + "\n" + SAMPLE))
        t.true("left out line 13: expected" in said and why in said, f"{line!r}: {said}")
        t.equal(said.count("left out line"), 1, said)
        t.equal(folded(trace), STACK.replace("1234\n", "2468\n"), repr(line))
    report = text(run([DUET, "report", trace]).stdout)
    t.true("left out line 13" in report, f"the report says so too: {report}")

with t.case("left-out data is listed on stderr, data that the profile lacks on stdout"):
    result = run([DUET, "import", "--format", "iaprof", "-o", t.path("bad.duet"), written("bad.iaprof", SAMPLE + "junk\n" * 12)])
    t.equal(result.status, 0, text(result.stderr))
    t.equal(text(result.stderr).splitlines(),
            [f"duet import: left out line {i}: expected a line of iaprof, such as 'string' or 'eustall', found 'junk'"
             for i in range(13, 23)] + ["duet import: 2 more lines left out"], "stderr")
    t.true("left out" not in text(result.stdout) and "no threads" in text(result.stdout), text(result.stdout))

with t.case("the first ten invalid lines are printed, the rest are counted"):
    _, said = imported(written("bad.iaprof", SAMPLE + "junk\n" * 1000))
    t.equal(len(re.findall(r"left out line \d+", said)), 10, said)
    t.true("990 more lines left out" in said, said)

with t.case("the contents of an invalid line are not invented"):
    head = open(profile("head"), encoding="utf-8").read()
    trace, said = imported(written("bad.iaprof", head.replace("kernel\t0xffff8000ffe00000\t1\t", "kernel\t0xffff8000ffe00000\t9\t")))
    t.true("left out line 15" in said and "left out line 16: expected a valid line 'kernel' before it" in said, said)
    t.equal(counted(trace), 10 + 97 + 1, "the kernel's samples are nobody's")
    tiber = open(profile("tiber"), encoding="utf-8").read()
    trace, said = imported(written("bad.iaprof", tiber.replace("\nustack\t15\n", "\nustack\t150\n")))
    t.true("valid state lines before it" in said, said)
    t.equal(counted(trace), 4, "from the next line 'ustack' on they are known")

with t.case("numbers that are given anew, and stacks of a thousand frames"):
    trace, said = imported(written("in.iaprof", SAMPLE + SAMPLE.replace("python3.11", "ruby")))
    t.true("2 numbers redefined by a later line" in said, said)
    t.equal(folded(trace), STACK + STACK.replace("python3.11", "ruby"), "two recordings in one file")
    deep = ";".join(f"f{i}" for i in range(1000))
    trace, said = imported(written("in.iaprof", SAMPLE.replace("0x7f8000001234;0x7f8000005678;0x7f800000abcd", deep)))
    t.true("1 stack with more than 512 frames; the middle frames are left out" in said, said)
    frames = folded(trace).split(";")
    t.equal(frames[2:5] + frames[256:260] + frames[513:516],
            ["f0", "f1", "f2", "f254", "[truncated]", "f744", "f745", "f999", "0xffffffffc0123456_[k]",
             "0xffffffffc0234567_[k]"], "both ends")
    comes_back(trace, "tiber")

with t.case("a time that goes back begins another recording"):
    lines = "".join(f"interval\t0\t{time}\n{SAMPLE}" for time in ("100.000000", "100.500000", "20.000000", "20.010000"))
    trace, said = imported(written("in.iaprof", lines))
    t.true("1 time before that of the previous interval" in said and "left out line" not in said, said)
    rows = [json.loads(line) for line in text(run([DUET, "export", "-f", "jsonl", trace]).stdout).splitlines()]
    t.equal(sorted((row["begin"], row["end"]) for row in rows if row["kind"] == "instruction_sample"),
            [(0, 10_000_000), (10_000_000, 20_000_000), (80_000_000_000, 80_010_000_000), (80_010_000_000, 80_510_000_000)],
            "each has its own interval")
    comes_back(trace, "tiber")

with t.case("a line of 17 MiB, a name of 100 KiB"):
    path = written("long.iaprof", SAMPLE + "STRING;50;" + "x" * (17 << 20) + "\n" + "GPU_SYMBOL;60;" + "y" * 100000 + "\n" +
                   SAMPLE.replace(";10;11;20;", ";10;60;20;") + SAMPLE)
    trace, said = imported(path)
    t.true("left out line 13: longer than 16 MiB" in said and "a name of at most 64 KiB" in said, said)
    t.equal(folded(trace), STACK.replace("1234\n", "2468\n"), "the rest")

with t.case("a file that is not a profile is refused"):
    whole = gzip.compress(SAMPLE.encode() * 1000)
    for name, content, why in (("none", b"", "the file has no line of an iaprof profile (the file is empty)"),
                               ("other", b"main;f 3\n", "the file has no line of an iaprof profile: line 1: expected a line of iaprof"),
                               ("blanks", SAMPLE.replace("1234\n", "x\n").encode(), "the file has no valid sample: 1 line is invalid; "
                                "the first: line 12: expected a count"),
                               ("halved", b"string\t1\ta\n" + b"eustall 0x10 0\n" * 3, "3 lines are invalid; the first: line 2: expected a tab"),
                               ("binary", bytes(range(256)) * 100, "the file has no line of an iaprof profile: line 1"),
                               ("cut.gz", whole[:len(whole) // 2], "the compressed data is damaged or cut off")):
        path = written(name, content)
        out, said = imported(path, "refused.duet", status=1)
        t.true(path in said and why in said, f"{name}: {said}")
        t.true(not os.path.exists(out), "left behind")

t.end()
