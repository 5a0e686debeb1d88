#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet import without --format: the content decides. Several files of one job become one trace: entities of their own,
one clock. Compressed databases are unpacked for the time of the import.
"""
import glob
import gzip
import io
import json
import os
import resource
import subprocess
import tarfile

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

# UTC of time 0, a whole number of microseconds so that no program rounds
BASE = 1_700_000_000_000_000_000


def written(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def run_import(*paths, output="imported.duet", options=(), status=0, env=None):
    """The trace's path, and what was printed."""
    t.wanted()
    out = t.path(output)
    result = run([DUET, "import", "-o", out, *options, *paths], env=env)
    said = text(result.stdout) + text(result.stderr)
    t.equal(result.status, status, f"duet import {' '.join(paths)}: {said}")
    return out, said


def origin_of(path):
    document = json.loads(run([DUET, "info", "--json", path]).stdout)
    return [row["reason"] for row in document["collectors"] if row["name"] == "import"][0]


def rows_of(path, kind):
    lines = text(run([DUET, "export", "-f", "jsonl", path]).stdout).splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


def unrecognized(name, content, *expected):
    path = written(name, content)
    _, said = run_import(path, output="refused.duet", status=1)
    for words in (path, *expected):
        t.true(words in said, f"'{words}' in: {said}")
    t.equal(glob.glob(glob.escape(t.path("refused.duet")) + "*"), [], "left behind")


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def torch(rank, base=BASE, shift_us=0, device="0", **more):
    """A kernel of 40 us and its call, 10 us after the base time and the shift."""
    at = 10 + shift_us
    events = [
        {"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": f"rank {rank}"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": f"GPU {device}"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": at, "dur": 5,
         "args": {"correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 10, "dur": 40,
         "args": {"correlation": 7, "stream": 7, "device": 0}}]
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], **more}
    if base is not None:
        document["baseTimeNanoseconds"] = base
    return json.dumps({**document, "traceEvents": events})


PERF = ("# captured on: Sun Nov 22\n#\nmy program  5621/5622 [001]  3371.949109:     250000 cycles:u: \n"
        "\t    55d0c0ffee10 do_work+0x1a (/usr/bin/render)\n\n")
IAPROF = "string\t1\tsbid\neustall\t0\t7\t0\t0\t0\t0\t0\t0\t0\t1\t0x40\t5\n"
FOLDED = "main;run 3\nmain;idle 1\n"
ROCM = """CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT UNIQUE);
CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
  completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, opType_id INTEGER);
INSERT INTO rocpd_string VALUES(1, 'saxpy'), (2, 'KernelExecution');
INSERT INTO rocpd_op VALUES(1, 0, 140001, 0, '', 1000, 3000, 1, 2);"""


def database(script):
    with open(t.database("made.db", script), "rb") as file:
        return file.read()


# ---- one file ------------------------------------------------------------------------------------

with t.case("each format is recognized by its content"):
    for name, content in (("chrome", torch(0)), ("chrome", "[\n" + json.dumps({"ph": "X", "name": "f", "pid": 1, "tid": 1,
                                                                               "ts": 1, "dur": 2})),
                          ("chrome", " \n" + torch(0, extra={"x": "y" * 20000})),
                          ("perf-script", PERF), ("perf-script", PERF.replace("# captured on: Sun Nov 22\n#\n", "")),
                          ("iaprof", IAPROF), ("iaprof", "STRING;1;python3.11\nPROC_NAME;1;7\n"),
                          ("folded", FOLDED), ("folded", "main;" + "deep;" * 1000 + "f 1\n" + "a;b 1\n" * 20000),
                          ("folded", "a;b 1\nnot a stack\n\nc;d 2\n")):
        path, _ = run_import(written("input", content))
        t.true(origin_of(path).startswith(f"from {name} '"), f"{content[:60]!r}: {origin_of(path)}")
    for name, script in (
            ("nvvp", "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end);"),
            ("nvvp", "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value); CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(id, timestamp);"),
            ("nsys", "CREATE TABLE StringIds(id, value); CREATE TABLE StringTable(a); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end);"),
            ("rocprof-compute", "CREATE TABLE compute_workload(workload_id); CREATE TABLE compute_kernel(kernel_uuid, workload_id, "
                                "kernel_name);")):
        path, _ = run_import(written("input", database(script)))
        t.true(origin_of(path).startswith(f"from {name} '"), origin_of(path))
    path, _ = run_import(written("input", FOLDED), options=["-f", "auto"])
    t.true(origin_of(path).startswith("from folded '"), origin_of(path))

with t.case("a compressed file is recognized as it is uncompressed, from a pipe too"):
    for name, content in (("chrome", torch(0).encode()), ("folded", FOLDED.encode()), ("rocm-trace-lite", database(ROCM))):
        for packed in (content, gzip.compress(content), zstd(content), zstd(content[:40]) + zstd(content[40:])):
            path, _ = run_import(written("input", packed))
            t.true(origin_of(path).startswith(f"from {name} '"), origin_of(path))
    out = t.path("pipe.duet")
    result = run(["sh", "-c", f"'{DUET}' import -o '{out}' /dev/stdin < '{written('input', zstd(FOLDED.encode()))}'"])
    t.equal(result.status, 0, text(result.stderr))
    result = run(["sh", "-c", f"cat '{t.path('input')}' | '{DUET}' import -o '{out}' /dev/stdin"])
    t.equal(result.status, 0, text(result.stderr))

with t.case("a compressed database leaves no file behind and says where room is missing"):
    t.wanted()
    folder = t.path("temporary")
    os.mkdir(folder)
    content = database(ROCM + "CREATE TABLE filler(x); INSERT INTO filler VALUES(zeroblob(3000000));")
    packed = written("packed", zstd(content))
    path, _ = run_import(packed, env={"TMPDIR": folder})
    t.equal(os.listdir(folder), [], "temporary files")
    t.equal(len(rows_of(path, "execution")), 1, "commands")

    def little_room():
        duet_test.default_signals()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    result = run([DUET, "import", "-o", t.path("refused.duet"), packed], env={"TMPDIR": folder}, preexec_fn=little_room)
    said = text(result.stderr)
    t.equal(result.status, 1, said)
    t.true(f"into '{folder}': File too large; set TMPDIR" in said, said)
    t.equal(os.listdir(folder), [], "temporary files after the failure")
    _, said = run_import(packed, env={"TMPDIR": t.path("no such folder")}, status=1)
    t.true("set TMPDIR to another folder" in said, said)

with t.case("a cut or damaged compressed file is refused"):
    packed = zstd(torch(0).encode())
    for content in (packed[:-20], gzip.compress(torch(0).encode())[:-12], packed + b"tail of other bytes"):
        _, said = run_import(written("input", content), options=["-f", "chrome"], status=1)
        t.true("damaged or cut off" in said, said)
        t.equal(said.count(t.path("input")), 1, f"the path is there once: {said}")

with t.case("a small compressed file with a lot of data is refused"):
    # a frame of zstd: a block of text, then blocks that repeat one byte 131072 times
    head = b'{"traceEvents": ['
    blocks = [len(head) << 3, 131072 << 3 | 2]
    bomb = b"\x28\xb5\x2f\xfd\x00\x38" + blocks[0].to_bytes(3, "little") + head
    bomb += (blocks[1].to_bytes(3, "little") + b" ") * 8200 + (blocks[1] | 1).to_bytes(3, "little") + b" "
    _, said = run_import(written("input", bomb), options=["-f", "chrome"], status=1)
    t.true("the file is above 1 GiB and 200 times its compressed size; decompress it first" in said, said)
    # gzip around zstd: 7 MB that zstd skips shrink to 7 KB
    skipped = b"\x50\x2a\x4d\x18" + (7 << 20).to_bytes(4, "little") + bytes(7 << 20)
    frame = b"\x28\xb5\x2f\xfd\x00\x38" + (blocks[0] | 1).to_bytes(3, "little") + head
    _, said = run_import(written("input", gzip.compress(frame + skipped + bomb)), options=["-f", "chrome"], status=1)
    t.true("the file is above 1 GiB and 200 times its compressed size; decompress it first" in said, said)
    # the compressed size of a pipe is not known
    packed = written("input", gzip.compress(head) + gzip.compress(b" " * (1 << 20)) * 1025)
    result = run(["sh", "-c", f"cat '{packed}' | '{DUET}' import -f chrome -o '{t.path('refused.duet')}' /dev/stdin"])
    t.equal(result.status, 1, text(result.stderr))
    t.true("gzip compressed the pipe, and more than 1 GiB came out of it; decompress it in front of the pipe"
           in text(result.stderr), text(result.stderr))

with t.case("an unknown file lists the formats"):
    formats = "name it with --format: perf-script, rocprofv3-json, "
    for content in ("hello\n", "\0\1\2\3" * 100, '{"nodes": [1]}', "[1, 2]", "<html>", "a 1\n", database("CREATE TABLE x(y)")):
        unrecognized("input", content, "the format was not recognized", formats)
    unrecognized("input", "", "the file is empty")

with t.case("a cut database is called damaged"):
    whole = database(ROCM + "CREATE TABLE filler(x); INSERT INTO filler VALUES(zeroblob(300000));")
    for content in (b"SQLite format 3\0 and no more", whole[:100], whole[:4096], whole[:-4096]):
        unrecognized("input", content, "this is a damaged SQLite file, or only a part of one")
    unrecognized("input", database("CREATE TABLE x(y)"), "the format was not recognized")

with t.case("a known file of another kind has the command that converts it"):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as file:
        file.addfile(tarfile.TarInfo("x"))
    for name, content, expected in (
            ("a.nsys-rep", "\1\2", "nsys export --type sqlite -o report.sqlite '"), ("a.qdrep", "\1", "nsys export"),
            ("a.ncu-rep", "NVR\0", "ncu --import '"), ("perf.data", "PERFILE2" + "\0" * 96, "perf script -i '"),
            ("a.tar.gz", archive.getvalue(), "tar -xf '"), ("a.zip", "PK\3\4rest", "unzip '"),
            ("a.xz", b"\xfd7zXZ\0\0", "xz -d '"), ("pprof", gzip.compress(b"\x0a\x04\x08\x01\x10\x02\x0a\x00"), "pprof -raw '"),
            ("a.out", b"\x7fELF\2", "duet record")):
        unrecognized(name, content, expected)
    here, _ = run_import(written("input", FOLDED))
    with open(here, "rb") as file:
        unrecognized("trace", file.read(), "this is a trace of duet")

# ---- several files -------------------------------------------------------------------------------

with t.case("two ranks: one clock, entities of their own"):
    first = written("rank0.json", torch(0, BASE, 0))
    second = written("rank1.json", gzip.compress(torch(1, BASE - 5_000_000, 5030).encode()))
    path, said = run_import(first, second)
    t.true("3 rows" not in said and said.startswith("4 rows in "), said)
    t.equal(sorted(row["name"] for row in rows_of(path, "process")), ["rank 0", "rank 1"], "processes with one pid")
    t.equal(len(rows_of(path, "thread")), 2, "threads with one tid")
    t.equal(sorted((row["key"], row["name"]) for row in rows_of(path, "device")), [("1/0", "GPU"), ("2/0", "GPU")], "devices")
    launches, executions = rows_of(path, "launch"), rows_of(path, "execution")
    t.equal(sorted(row["enter"] for row in launches), [0, 30_000], "calls from the first on")
    info = text(run([DUET, "info", path]).stdout)
    t.true(f"(CLOCK_MONOTONIC {BASE + 10_000} to {BASE + 90_000} ns)" in info, f"UTC in: {info}")
    t.equal(sorted((row["started"], row["ended"]) for row in executions),
            [(10_000, 50_000), (40_000, 80_000)], "commands")
    t.equal(len({row["correlation"] for row in launches}), 2, "correlations")
    t.equal({row["correlation"] for row in launches}, {row["correlation"] for row in executions}, "the same ones")
    t.true(origin_of(path).startswith(f"from chrome '{first}', '{second}': times are the file's own"), origin_of(path))
    t.equal(origin_of(path).count("times are the file's own"), 1, "a note of both files is there once")
    t.equal(run([DUET, "report", path]).status, 0, "report")

with t.case("a file of before Kineto's base time counts in UTC"):
    old = torch(0, None, BASE // 1000)
    path, _ = run_import(written("rank0.json", old), written("rank1.json", torch(1, BASE, 100)))
    t.equal(sorted(row["enter"] for row in rows_of(path, "launch")), [0, 100_000], "calls")

with t.case("a device with the same UUID is one device, in any file"):
    uuid = "GPU-6a2c1f00-1111-2222-3333-444455556666"
    events = [torch(rank).replace('"pid": 0', f'"pid": "{uuid}"') for rank in (0, 1)]
    path, _ = run_import(*(written(f"rank{rank}.json", content) for rank, content in enumerate(events)))
    t.equal([row["key"] for row in rows_of(path, "device")], [uuid], "devices")
    t.equal(len(rows_of(path, "queue")), 2, "queues of two processes")
    zero = "GPU-00000000-0000-0000-0000-000000000000"
    events = [torch(rank).replace('"pid": 0', f'"pid": "{zero}"') for rank in (0, 1)]
    path, _ = run_import(*(written(f"rank{rank}.json", content) for rank, content in enumerate(events)))
    t.equal(len(rows_of(path, "device")), 2, "no UUID")

with t.case("notes and faults have the file's name"):
    bad = torch(1).replace('"dur": 40', '"dur": -40')
    for folder in ("a", "b"):
        os.makedirs(t.path(folder), exist_ok=True)
    paths = [written("a/trace.json", torch(0)), written("b/trace.json", bad)]
    path, said = run_import(*paths)
    t.true(f"{paths[1]}: left out line 1, byte " in said, said)
    t.true(f"{paths[1]}: left out" in origin_of(path), origin_of(path))
    counter = torch(1).replace('"traceEvents": [', '"traceEvents": [{"ph": "C", "name": "c", "pid": 1, "ts": 1},' * 1)
    path, said = run_import(written("a.json", torch(0)), written("b.json", counter),
                            written("c.json", counter.replace("rank 1", "rank 2")))
    t.true("b.json and 1 more: 2 events left out: counters" in said, said)

with t.case("times without a common clock are refused"):
    utc = written("utc.json", torch(0))
    for content in (torch(1, None), FOLDED, PERF, IAPROF):
        other = written("other", content)
        for paths in ((utc, other), (other, utc)):
            _, said = run_import(*paths, output="refused.duet", status=1)
            t.true(other in said and "do not count from a known time" in said and "one by one" in said, said)
    t.equal(glob.glob(glob.escape(t.path("refused.duet")) + "*"), [], "left behind")
    hostile = written("hostile.json", torch(1, 2**63 - 1))
    _, said = run_import(utc, hostile, status=1)

with t.case("a CSV file of rocprofv3 among others: one file stands for its run"):
    table = written("1_kernel_trace.csv", '"Kernel_Name","Start_Timestamp","End_Timestamp","Dispatch_Id"\n"f",1,2,1\n')
    calls = written("1_hip_api_trace.csv", '"Function","Start_Timestamp","End_Timestamp"\n"hipInit",1,2\n')
    _, said = run_import(table, calls, output="refused.duet", status=1)
    for words in (table, "Name one file of a run; duet reads the others beside it"):
        t.true(words in said, f"'{words}' in: {said}")

with t.case("a file that is there twice is refused"):
    first, other = written("a.json", torch(0)), written("b.json", torch(1))
    copy, link = written("copy.json", torch(0)), t.path("link.json")
    os.symlink(first, link)
    for paths, expected in (((first, other, first), f"'{first}' and '{first}' are the same file; name it once"),
                            ((first, other, link), f"'{first}' and '{link}' are the same file; name it once"),
                            ((other, copy, first), f"'{first}' and '{copy}' have the same content; name one of them")):
        _, said = run_import(*paths, output="refused.duet", status=1)
        t.true(expected in said, said)
    t.equal(len(torch(0)), len(torch(1)), "files of one size")
    run_import(first, other)

with t.case("files more than a day apart are refused"):
    hour_us = 3600 * 1_000_000
    early, late = written("early.json", torch(0)), written("late.json", torch(1, BASE, 36 * hour_us))
    for paths in ((early, late), (late, early)):
        _, said = run_import(*paths, output="refused.duet", status=1)
        t.true(f"'{late}' begins 1.5 days after the end of '{early}', so the files are not those of one job; import them "
               "one by one" in said, said)
    t.equal(glob.glob(glob.escape(t.path("refused.duet")) + "*"), [], "left behind")
    between = written("between.json", torch(2, BASE, 20 * hour_us))
    empty = written("empty.json", json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": []}))
    run_import(late, early, between)
    run_import(empty, early, between)

with t.case("a reader of traces points to duet import"):
    for name, content in (("x.db", database(ROCM)), ("x.json", torch(0)), ("x.json.zst", zstd(torch(0).encode()))):
        path = written(name, content)
        for verb in ("report", "info"):
            result = run([DUET, verb, path])
            t.equal(result.status, 1, text(result.stderr))
            t.true(f"if another program recorded it, import it: duet import '{path}'" in text(result.stderr), text(result.stderr))
    trace, _ = run_import(written("a.json", torch(0)))
    with open(trace, "rb") as file:
        cut = written("cut.duet", file.read()[:20])
    result = run([DUET, "report", cut])
    t.equal(result.status, 1, text(result.stderr))
    t.true(f"no part of the trace '{cut}' is readable" in text(result.stderr), text(result.stderr))

with t.case("an invalid file among others ends the import"):
    path = written("good.json", torch(0))
    out, _ = run_import(path)
    with open(out, "rb") as file:
        before = file.read()
    for content in ("{", "hello"):
        _, said = run_import(path, written("bad.json", content), status=1)
        t.true(t.path("bad.json") in said, said)
    _, said = run_import(path, t.path("no-such-file"), status=1)
    t.true("no-such-file': No such file" in said, said)
    with open(out, "rb") as file:
        t.true(file.read() == before, "the trace that was there")
    result = run([DUET, "import", "-o", path, t.path("bad.json"), path])
    t.equal(result.status, 1, "an output that is one of the files")

with t.case("40 files"):
    paths = [written(f"rank{rank}.json", torch(rank, BASE, rank)) for rank in range(40)]
    path, _ = run_import(*paths)
    t.equal(len(rows_of(path, "process")), 40, "processes")
    t.true(" and 38 more" in origin_of(path), origin_of(path))

t.end()
