#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every --json document is valid under its docs/*.schema.json, and the schema names each of its keys."""
import glob
import json
import os
import struct
import time

import duet_test
from duet_test import DUET, ROOT, run, text
from export_readers import closed

try:
    import jsonschema
except ImportError as missing:
    print(f"1..0 # SKIP {missing} (python3-jsonschema)")
    raise SystemExit from missing

t = duet_test.Suite(needs_opencl=False)
GOLDEN = os.path.join(ROOT, "tests", "golden")
TOPICS = ("collectors", "formats", "metrics", "stalls", "oa-sets", "disks", "interfaces")
BYS = ("kernel", "stack", "line", "instruction", "stall", "queue", "process", "thread", "range", "iteration", "wait", "cpu")


def validator(name):
    with open(os.path.join(ROOT, "docs", f"{name}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema))


def check(valid, *arguments):
    result = run([DUET, *arguments])
    found = list(valid.iter_errors(json.loads(result.stdout))) if result.stdout else []
    t.true(result.stdout and not found,
           f"{arguments}: {text(result.stderr)[:200]} {[(error.message[:300], list(error.absolute_path)) for error in found[:2]]}")


with t.case("list"):
    for topic in TOPICS:
        check(validator("list"), "list", "--json", topic)

with t.case("diff, each table of --by, and a comparison that is refused"):
    traces = sorted(glob.glob(os.path.join(GOLDEN, "trace", "*.duet")))
    for by in (None, "kernel", "idle", "stack", "line", "queue", "range", "api", "instruction", "stall", "metric"):
        check(validator("diff"), "diff", "--json", "--force", *(["--by", by] if by else []), traces[0], traces[-1])
    check(validator("diff"), "diff", "--json", traces[0], traces[-1])
    with open(os.path.join(GOLDEN, "export", "cpu_gpu.txt"), encoding="utf-8") as file:
        trace = t.described("diff.duet", file.read())
    check(validator("diff"), "diff", "--json", "--by", "api", trace, trace, "--new", trace, trace)

with t.case("top of traces"):
    valid = validator("top")
    for path in sorted(glob.glob(os.path.join(GOLDEN, "trace", "*.duet"))):
        check(valid, "top", "--json", path)

with t.case("doctor"):
    check(validator("doctor"), "doctor", "--json")

with t.case("info of traces and of GPU code objects"):
    for pattern in ("trace/*.duet", "zebin/*.bin", "cubin/*.cubin"):
        for path in sorted(glob.glob(os.path.join(GOLDEN, pattern))):
            check(validator("info"), "info", "--json", path)

with t.case("info --batch"):
    path = t.path("batch.bin")
    with open(path, "wb") as file:
        file.write(struct.pack("<1I", 0x05000000))
    check(validator("info-batch"), "info", "--json", "--batch", "--gen", "xe2", path)
    with open(path, "wb") as file:
        file.write(struct.pack("<43I", 0x72080000 | 38, *[0] * 18, 0x1040, *[0] * 20, 0x18800100 | 1, 0x5000, 0))
    check(validator("info-batch"), "info", "--json", "--batch", path)

with t.case("report, each table of --by"):
    for path in sorted(glob.glob(os.path.join(GOLDEN, "trace", "*.duet"))):
        check(validator("report"), "report", "--json", path)
    with open(os.path.join(GOLDEN, "export", "cpu_gpu.txt"), encoding="utf-8") as file:
        trace = t.described("cpu_gpu.duet", file.read())
    for by in BYS:
        check(validator("report"), "report", "--json", "--by", by, trace)

with t.case("report of a loop, of one process in a container and of its rank"):
    lines = ["window 0 40000", "device 1 gpu", f"process 1 101 loop rank=1 rank_count=2 cgroup=0::/docker/{'0a1b' * 16}", "process 2 102 other",
             "frame 1 python main file=a.py line=7", "stack 1 1", "thread 1 1", "queue 1 1", "switch 1 10 blocked", "switch 1 20 in", "range 1 0 90 r"]
    for number in range(30):
        at = 1000 * (number + 1)
        lines += [f"launch {number} 1 1 {at} {at + 10} kernel name=k", f"execution 1 {number} 1 {at + 1} {at + 12} {at + 20} {at + 80}",
                  f"switch 1 {at + 400} blocked stack=1 wait=fsync", f"switch 1 {at + 900 + 10 * (number == 9)} in"]
    trace = t.described("loop.duet", *lines)
    document = json.loads(run([DUET, "report", "--json", "--pid", "101", "--rank", "0", trace]).stdout)
    t.true("cause" in document["iterations"]["slowest"][0] and "container" in document["processes"][0], "it has the keys")
    for by in BYS:
        check(validator("report"), "report", "--json", "--by", by, "--pid", "101", "--rank", "0", trace)

with t.case("report of a loop that waits for another device"):
    lines = ["window 0 80000", "device 1 gpu", "device 2 npu", "frame 1 python main file=a.py line=7", "stack 1 1", "thread 1 1",
             "queue 1 1", "queue 2 2", "launch 99 1 2 32 34 kernel name=b", "execution 1 99 2 33 35 36 70000"]
    for number in range(60):
        at = 1000 * (number + 1)
        lines += [f"launch {number} 1 1 {at} {at + 10} kernel name=k", f"execution 1 {number} 1 {at + 1} {at + 12} {at + 20} {at + 80}",
                  f"call 1 {at + 200} {at + 900} wait clFinish queue=2 stack=1"]
    trace = t.described("devices.duet", *lines)
    document = json.loads(run([DUET, "report", "--json", "--device", "gpu", trace]).stdout)
    t.true("other_device" in document["iterations"]["slowest"][0]["cause"], "it has the key")
    for by in ("iteration", "kernel"):
        check(validator("report"), "report", "--json", "--device", "gpu", "--by", by, trace)

with t.case("agent status"):
    # at the end: the agent gets a network namespace of its own, where no other recorder of all programs runs
    if not duet_test.leave_network():
        raise duet_test.Skip("needs root (a network namespace)")
    config = t.path("agent.textproto")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'agent {{ spool: "{t.path("spool")}" runtime: "{t.path("runtime")}" }}\n')
    agent = duet_test.Running([DUET, "agent", "-c", config])
    for _ in range(600):
        if run([DUET, "agent", "status", "-c", config]).status == 0:
            break
        time.sleep(0.1)
    with open(config, "a", encoding="utf-8") as file:
        file.write("wrong: 1\n")
    agent.kill(1)
    time.sleep(1.5)
    check(validator("agent"), "agent", "status", "--json", "--runtime", t.path("runtime"))
    agent.kill(15)
    t.equal(agent.finish(60).status, 0, "status of the agent")

with t.case("every schema that a document names is in docs"):
    names = {os.path.basename(path)[:-len(".schema.json")] for path in glob.glob(os.path.join(ROOT, "docs", "*.schema.json"))}
    t.equal(names, {"list", "doctor", "info", "info-batch", "report", "export", "diff", "series", "gate", "top", "agent"}, "docs/*.schema.json")

t.end()
