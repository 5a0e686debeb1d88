#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""HIP programs recorded with the real HIP 5.2 and ROCr over the simulated GPU of sim/amd.

The program's own counts, the symbols linked into its libraries, and the trace are compared. No result depends on the
load.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

import duet_test
from duet_test import BUILD, DUET, PROGRAMS, ROOT, Skip, program, run, text

LIBRARY = os.path.join(BUILD, "sim", "amd", "libsim-kfd.so")
GUEST = os.path.join(BUILD, "libduet-amd.so")
HEADER = "/usr/include/hip/hip_runtime_api.h"
if not os.path.exists(LIBRARY) or not os.path.exists(os.path.join(PROGRAMS, "hip_work")):
    print("1..0 # SKIP no HIP (libamdhip64-dev) or no clang-offload-bundler (clang-tools-14): the simulated GPU or its program was not built")
    raise SystemExit(0)

t = duet_test.Suite(needs_opencl=False)
duet_test.leave_network()  # a recorder of a running process has a name that only one has in a network

Recorded = collections.namedtuple("Recorded", "facts document report")


def recorded(arguments, mode="amd", command=None, environment=None):
    t.wanted()
    output = t.path("hip.duet")
    # duet itself has nothing of the simulated GPU: it is behind what duet adds for the program
    run_it = ["sh", "-c", f'LD_PRELOAD="{LIBRARY}:$LD_PRELOAD" exec "$@"', "sh",
              *(command or [program("hip_work")]), *arguments]
    result = t.record(run_it, output, ["--collect", mode], env=environment)
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    exported = run([DUET, "export", "--format", "json", output, "-o", t.path("export.json")])
    t.equal(exported.status, 0, f"export: {text(exported.stderr)}")
    with open(t.path("export.json")) as file:
        document = json.load(file)
    return Recorded(json.loads(result.stdout), document, t.readable(output))


def launches(one):
    """What was launched: (function, command, kernel's name) -> count."""
    names = {code["id"]: code["name"] for code in one.document["code"]}
    return collections.Counter((row["function"], row["command"], names.get(row["kernel"]))
                               for row in one.document["launches"])


def check_matched(one):
    ledger = one.report["ledger"]
    t.equal(ledger["matched"], ledger["launched"], f"launches with their times: {ledger}")


def calls(one):
    return {row["name"]: row for row in one.report["api"]}


def rows_of_table():
    """(kind, name, version, number of parameters) of each row of abi/hip_calls.h."""
    with open(os.path.join(ROOT, "src", "abi", "hip_calls.h")) as file:
        table = file.read().split("clang-format off", 1)[1]
    table = re.sub(r'HIP_BOTH\((\w+), (\d+), (\d+), (\w+), ("[\w.]+"), ("[\w.]+"),(\s*\([^()]*\))',
                   r'\1(\2, \4, \5,\7) \1(\3, \4_spt, \6,\7)', table)
    rows = re.findall(r'HIP_(CALL|WAIT|LAUNCH|COOPERATIVE|GRAPH|COPY|COPY_NOW)\((\d+), (\w+), "([\w.]+)",\s*\(([^()]*)\)', table)
    t.true(len(rows) > 100, f"{len(rows)} rows")
    return [(kind, int(number), name, version, 0 if parameters == "void" else parameters.count(",") + 1)
            for kind, number, name, version, parameters in rows]


def versions_in(library):
    result = run(["nm", "-D", "--with-symbol-versions", "--defined-only", library])
    t.equal(result.status, 0, f"nm: {text(result.stderr)}")
    return dict(re.findall(r" T (\S*?)(@@?\S+)$", text(result.stdout), re.M))


with t.case("the table has each call's version and parameters as the HIP that is installed"):
    t.wanted()
    if not os.path.exists(HEADER):
        raise Skip("libamdhip64-dev is not installed")
    real = versions_in(next(iter(glob.glob("/usr/lib/*/libamdhip64.so.5"))))
    rows = rows_of_table()
    numbers = [number for _, number, _, _, _ in rows]
    t.equal(len(set(numbers)), len(numbers), "numbers that are given once")
    with open(HEADER) as file:
        header = file.read()
    for _, _, name, version, count in rows:
        t.true(name not in real or real[name] == "@@" + version, f"{name}@{version} is {real.get(name)}")
        declared = re.search(r"^hipError_t\s+" + name + r"\s*\(([^;{]*?)\)\s*;", header, re.M)
        if declared:
            parameters = re.sub(r"__dparm\([^)]*\)", "", declared.group(1)).strip()
            wanted = 0 if parameters in ("void", "") else parameters.count(",") + 1
            t.equal(count, wanted, f"parameters of {name}")

with t.case("wrappers are found under HIP's own versions alone, never by name"):
    t.wanted()
    own = versions_in(GUEST)
    shown = {name: version for name, version in own.items() if name not in ("OnLoad", "OnUnload")}
    t.true("hipLaunchKernel" in shown, "hipLaunchKernel is there")
    t.equal([name for name, version in shown.items() if not re.fullmatch(r"@hip_\d\.\d", version)], [],
            "symbols with another version, or with one that is the default")
    probe = "import ctypes; print(hasattr(ctypes.CDLL(None), 'hipLaunchKernel'))"
    result = run([sys.executable, "-c", probe], env={"LD_PRELOAD": GUEST})
    t.equal((text(result.stdout).strip(), text(result.stderr)), ("False", ""), "a program that asks for HIP")

with t.case("<<<>>>, copies, memset: one launch each by HIP's name, with its stack and kernel"):
    one = recorded(["work"])
    facts, got = one.facts, launches(one)
    for name, kernel in (("fill", "fill"), ("vector_add", "vector_add"), ("scale", "_ZN6shapes5scaleIfEEvPT_S1_j")):
        t.equal(got["hipLaunchKernel", "kernel", kernel], facts[name]["count"], f"kernels {name} of {got}")
    t.equal(got["hipMemset", "fill", "__amd_rocclr_fillBufferAligned"], facts["memset"]["count"], f"fills of {got}")
    t.equal(got["hipMemcpy", "copy", "__amd_rocclr_copyBuffer"], facts["d2d"]["count"], f"copies of {got}")
    t.equal({row["function"] for row in one.document["launches"]}, {"hipLaunchKernel", "hipMemset", "hipMemcpy"},
            "who launches")
    moved = collections.Counter()
    for row in one.document["launches"]:
        moved[row["command"]] += row["bytes"]
    t.equal((moved["fill"], moved["copy"]), (facts["memset"]["bytes"], facts["d2d"]["bytes"]), "bytes")
    t.true(all(row["stack"] for row in one.document["launches"]), "all have stacks")
    check_matched(one)
    t.equal(calls(one)["hipLaunchKernel"]["count"], 23, "calls")
    waits = {row["function"] for row in one.document["calls"] if row["type"] == 1}
    t.true({"hipStreamSynchronize", "hipDeviceSynchronize"} <= waits, f"waits: {waits}")
    t.true(not any("hsa_" in name or name == "AQL dispatch" for name in calls(one)),
           f"what HIP does below is not told again: {list(calls(one))}")

with t.case("a wait after each launch, by the wait"):
    one = recorded(["awaited", "launches=500"])
    found = [row for row in one.report["findings"] if row["id"] == "launch_bound"]
    t.equal([(row["evidence"]["launches"], row["evidence"]["call"], row["evidence"]["launch"], row["evidence"]["function"]) for row in found],
            [(500, "hipStreamSynchronize", "hipLaunchKernel", "do_awaited()")], f"{one.report['findings']}")
    t.true("launch_bound" in [row["kind"] for row in one.report["verdict"]["causes"][:2]], f"{one.report['verdict']['causes']}")

with t.case("report names HIP, and kernels of C++ as they were written; JSON has their symbols"):
    one = recorded(["work"])
    said = text(run([DUET, "report", t.path("hip.duet")]).stdout)
    t.true(", 1 process with HIP, " in said and "OpenCL" not in said, said[:400])
    t.true("_ZN6shapes" not in said, said)
    said = text(run([DUET, "report", "--full-names", t.path("hip.duet")]).stdout)
    t.true("  shapes::scale<float> " in said and "_ZN6shapes" not in said, said)
    t.equal({row["name"]: row.get("symbol") for row in one.report["kernels"]}.get("shapes::scale<float>"),
            "_ZN6shapes5scaleIfEEvPT_S1_j", "its symbol")

with t.case("failed calls have HIP's error names; overloaded kernels are distinguished in every document"):
    one = recorded(["failing"])
    t.equal(one.facts["wrong"], 0, "calls that returned something else")
    found = sorted((row["id"], re.sub(r":\d+", "", row["text"]), row["evidence"]["error"]) for row in one.report["findings"]
                   if row["id"].startswith("failed"))
    # a failed call has a place if its stack was taken: that of hipMalloc is taken only where the call is slow
    found = [(row[0], row[1].replace(", called by do_failing() (hip_work.cpp)", "") if "hipMalloc" in row[1] else row[1], row[2])
             for row in found]
    t.equal(found, [
        ("failed_allocations", "hipMalloc failed 1 time: hipErrorOutOfMemory (2)", "hipErrorOutOfMemory"),
        ("failed_launches", "hipLaunchKernel failed 1 time: hipErrorInvalidConfiguration (9), called by do_failing() (hip_work.cpp)",
         "hipErrorInvalidConfiguration"),
        ("failed_launches", "hipMemcpy failed 1 time: hipErrorInvalidValue (1), called by do_failing() (hip_work.cpp)",
         "hipErrorInvalidValue")], "findings")
    both = {"shapes::clear(float*)": "_ZN6shapes5clearEPf", "shapes::clear(unsigned int*)": "_ZN6shapes5clearEPj"}
    t.equal({row["name"]: row["symbol"] for row in one.report["kernels"]}, both, "report --json")
    documents = {"folded": ["flame", "--folded", "--view", "gpu"], "svg": ["flame", "-o", "-", "--view", "gpu", "--full-names"],
                 "report": ["report", "--full-names"], **{name: ["export", "--format", name] for name in ("csv", "chrome", "text")}}
    for name, words in documents.items():
        said = text(run([DUET, *words, t.path("hip.duet")]).stdout)
        t.true(all(kernel in said for kernel in both) and "_ZN6shapes" not in said, f"{name}: {said[:2000]}")

with t.case("a HIP program recorded without ROCm gets a hint how to record it"):
    t.wanted()
    result = t.record(["env", f"LD_PRELOAD={LIBRARY}", program("hip_work"), "failing"], t.path("not.duet"),
                      ["--collect", "opencl"])
    t.true("linked to HIP" not in text(result.stderr), f"env is not: {text(result.stderr)}")
    result = t.record([program("hip_work"), "failing"], t.path("not.duet"), ["--collect", "opencl"])
    t.true("duet: no ROCm call was recorded: the program is linked to HIP, but the collector amd is not selected; "
           "add --collect amd" in text(result.stderr), text(result.stderr))

with t.case("without an AMD device the recording reports this, and -p prints the remedy"):
    t.wanted()
    if os.path.exists("/dev/kfd"):
        raise Skip("there is a /dev/kfd")
    t.record([program("hip_work"), "failing"], t.path("none.duet"), ["--collect", "amd"])
    said = text(run([DUET, "report", t.path("none.duet")]).stdout)
    t.true("! amd: partial: no AMD device can be used: no /dev/kfd" in said, said[:600])
    running = subprocess.Popen([sys.executable, "-c", "import ctypes, time; ctypes.CDLL('libamdhip64.so.5'); "
                                "print(flush=True); time.sleep(100)"], stdout=subprocess.PIPE)
    running.stdout.readline()
    try:
        result = run([DUET, "record", "-o", t.path("late.duet"), "--collect", "amd", "-d", "1", "-p", str(running.pid)])
    finally:
        running.kill()
        running.wait()
    t.equal(result.status, 0, "status")
    for said in (text(result.stderr), text(run([DUET, "report", t.path("late.duet")]).stdout)):
        t.true("duet record --collect amd -- PROGRAM" in said and "OpenCL" not in said, said[:600])

with t.case("info has each collector once"):
    recorded(["work"], mode="amd,cpu")
    said = text(run([DUET, "info", t.path("hip.duet")]).stdout).partition("\ncollectors ")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in said.splitlines()[1:] if not line.startswith("   ")]
    t.equal((int(said.split()[0]), sorted(names)), (2, ["amd", "cpu"]), f"collectors: {said}")

with t.case("the flame graph leads from the program over hipLaunchKernel to its kernel"):
    recorded(["work"])
    folded = run([DUET, "flame", "--folded", "--view", "gpu", t.path("hip.duet")])
    t.equal(folded.status, 0, text(folded.stderr))
    lines = [line for line in text(folded.stdout).splitlines() if "vector_add_[G]" in line]
    t.true(lines and all("launch_one" in line and "hipLaunchKernel" in line for line in lines),
           f"paths to vector_add: {lines or text(folded.stdout)}")

with t.case("a module's kernel: 1,000 launches, 1,000 rows"):
    one = recorded(["module", "launches=1000", "code=" + program("hsa_kernels.gfx90a")])
    t.equal(launches(one)["hipModuleLaunchKernel", "kernel", "idle"], 1000, f"launches of {launches(one)}")
    t.equal(calls(one)["hipModuleLoad"]["count"], 1, "hipModuleLoad")
    check_matched(one)

with t.case("a graph of 8 kernels, launched three times, is three calls and 24 kernels"):
    one = recorded(["graph", "nodes=8", "launches=3"])
    t.equal(launches(one)["hipGraphLaunch", "kernel", "fill"], 24, f"launches of {launches(one)}")
    t.equal(calls(one)["hipGraphLaunch"]["count"], 3, "calls")
    t.equal(calls(one)["hipLaunchKernel"]["count"], 8, "kernels that were captured launch nothing")
    graphs = [row for row in one.document["launches"] if row["function"] == "hipGraphLaunch"]
    t.equal(len({row["stack"] for row in graphs}), 1, "stacks")
    check_matched(one)
    # the GPU finds out by polling that it has something to do, on a busy machine before the call is over
    causes = one.report["devices"][0]["idle_causes"]
    t.true(causes["unknown"] == 0 and causes["api_call"] + causes["latency"] > 0,
           f"behind a launch is the call or latency: {causes}")

with t.case("kernels of a graph have its handle, others have none"):
    one = recorded(["graph", "nodes=8", "launches=3"])
    ends = {row["correlation"]: row for row in one.document["executions"]}
    of_graph = [(row["function"], ends[row["correlation"]].get("graph")) for row in one.document["launches"]
                if row["command"] == "kernel"]
    t.equal(of_graph, [("hipGraphLaunch", one.facts["graph"])] * 24, "graphs of kernels")
    one = recorded(["work"])
    t.equal([row for row in one.document["executions"] if "graph" in row], [], "graphs of other kernels")

with t.case("HIP puts a cooperative kernel into a queue that cannot be intercepted: a call, and packets that are counted"):
    one = recorded(["cooperative", "launches=7"], environment={"SIM_KFD": "gws=64"})
    t.equal(calls(one)["hipLaunchCooperativeKernel"]["count"], 7, "calls")
    t.equal([row for row in one.document["launches"] if row["command"] == "kernel"], [], "kernels that are launches")
    # at least the kernel and the one of HIP's before it
    t.true(sum(row["count"] for row in one.document["losses"] if row["lost"] == "unknown") >= 14, "packets")

with t.case("forks while another thread launches: children that end at once, children that execute a program of HIP"):
    t.wanted()
    plain = run(["env", f"LD_PRELOAD={LIBRARY}", program("hip_work"), "forking"])
    t.equal((plain.status, json.loads(plain.stdout)["wrong"]), (0, 0), f"without duet: {text(plain.stderr)}")
    one = recorded(["forking"])
    threads = {thread["id"]: thread["process"] for thread in one.document["threads"]}
    by_process = collections.Counter(threads[row["thread"]] for row in one.document["launches"]
                                     if row["function"] == "hipLaunchKernel")
    t.equal(sorted(by_process.values()), sorted([23] * 3 + [one.facts["fill"]["count"]]), "launches of each process")
    # a stack that is taken for the first time while the loader is held for a fork is left out, and counted
    stacks = [row for row in one.document["losses"] if row["lost"] == "stack" and row["count"] <= 3]
    t.equal([row for row in one.document["losses"] if row not in stacks], [], "losses")
    check_matched(one)

# ROCr 7 hands over a graph's packets in one piece; here a tool before the guest does, four at a time.
BATCHES = {"HSA_TOOLS_LIB": f"{GUEST} {os.path.join(PROGRAMS, 'hsa_batches.so')}"}

with t.case("a graph that is submitted in batches: one row a launch, with the count of its kernels and its stack"):
    command = ["env", *(f"{name}={value}" for name, value in BATCHES.items()), program("hip_work")]
    for mode, kernels in (("amd", 0), ("amd:full", 24)):
        one = recorded(["graph", "nodes=8", "launches=3"], mode=mode, command=command)
        rows = [row for row in one.document["calls"] if row["function"] == "hipGraphLaunch"]
        t.equal(launches(one)["hipGraphLaunch", "kernel", "fill"], kernels, f"{mode}: kernels with rows")
        t.equal(calls(one)["hipGraphLaunch"]["count"], 3, f"{mode}: calls")
        if mode == "amd":
            t.equal([row["argument"] for row in rows], [8, 8, 8], "kernels of each launch")
            t.true(all(row["stack"] for row in rows), "stacks")
            t.equal(sum(loss["count"] for loss in one.document["losses"]), 24, "left out, and counted")

with t.case("a host function that waits for another stream hangs no program: both streams are recorded, and right"):
    one = recorded(["callback", "launches=23"])
    t.equal(one.facts["wrong"], 0, "words that are not what was copied")
    got = launches(one)
    t.equal(got["hipLaunchKernel", "kernel", "fill"], 46, f"kernels of {got}")
    t.equal(calls(one)["hipMemcpyAsync"]["count"], 46, "copies")
    check_matched(one)

with t.case("the default stream's queue, which HIP makes when others have theirs, is followed as they are"):
    for mode in ("amd", "amd:lite", "amd:nohip"):
        one = recorded(["late", "launches=24"], mode=mode)
        t.equal(sum(row["command"] == "kernel" for row in one.document["launches"]), 24, f"{mode}: kernels")
        t.equal(len({row["queue"] for row in one.document["launches"]}), 3, f"{mode}: queues")
        t.equal(one.document["losses"], [], f"{mode}: losses")

with t.case("calls that are left by siglongjmp, and those after them"):
    one = recorded(["jump", "launches=23"])
    t.equal(launches(one)["hipLaunchKernel", "kernel", "fill"], 23, f"kernels of {launches(one)}")
    t.equal(calls(one)["hipStreamSynchronize"]["count"], 46, "waits, half of them left")
    t.equal(one.document["losses"], [], "losses")
    check_matched(one)

with t.case("ranges of roctx around calls of HIP: what was launched in them, and their frames"):
    one = recorded([], mode="amd,ranges:roctx", command=[program("hip_ranges")])
    t.equal(one.facts["failed"], 0, "calls that failed")
    ranges = {row["name"]: row for row in one.report["ranges"]}
    t.equal({name: (row["count"], row["launches"]) for name, row in ranges.items()},
            {"step": (7, 28), "forward": (7, 21), "backward": (7, 7)}, "ranges, and launches in them")
    t.true(all(row["device_ns"] > 0 for row in ranges.values()), f"device time in ranges: {ranges}")
    by = t.report(t.path("hip.duet"), "--by", "range")["by"]
    t.equal({row["key"].split()[-1]: row["launches"] for row in by}, {"step": 28, "forward": 21, "backward": 7},
            f"--by range: {by}")
    folded = text(run([DUET, "flame", "--folded", "--view", "gpu", t.path("hip.duet")]).stdout)
    t.true(re.search(r"step(_\[i\])?;fill;.*hipMemset;-;fill_\[G\]", folded), folded)
    check_matched(one)

with t.case("a wrapper that sets LD_PRELOAD takes the calls of HIP away: that is said, with what to do"):
    t.wanted()
    wrapped = ["env", f"LD_PRELOAD={LIBRARY}", program("hip_work"), "module", "launches=3",
               "code=" + program("hsa_kernels.gfx90a")]
    for mode, is_told in (("amd", True), ("amd:nohip", False)):
        result = t.record(wrapped, t.path("hip.duet"), ["--collect", mode])
        t.equal(result.status, 0, f"{mode}: status: {text(result.stderr)}")
        t.readable(t.path("hip.duet"))
        said = text(run([DUET, "report", t.path("hip.duet")]).stdout)
        for where in (text(result.stderr), said):
            t.equal("must keep its value (LD_PRELOAD=OWN:$LD_PRELOAD)" in where, is_told, f"{mode}: {where[:600]}")
    one = recorded(["work"])
    said = text(run([DUET, "report", t.path("hip.duet")]).stdout)
    t.true("calls of HIP are not recorded" not in said, f"where it is kept: {said[:600]}")

with t.case("amd:nohip: dispatches as ROCr sees them, and nothing is preloaded"):
    one = recorded(["work"], mode="amd:nohip")
    t.true("AQL dispatch" in calls(one) and "hipLaunchKernel" not in calls(one), f"calls: {list(calls(one))}")
    check_matched(one)
    for mode, wanted in (("amd", f"/tmp/none.so:{GUEST}"), ("amd:nohip", "/tmp/none.so")):
        result = t.record(["/bin/sh", "-c", 'echo "$LD_PRELOAD"'], t.path("env.duet"), ["--collect", mode, "-v"],
                          env={"LD_PRELOAD": "/tmp/none.so"})
        t.equal(text(result.stdout).strip(), wanted, f"LD_PRELOAD with {mode}")
        t.equal("and LD_PRELOAD" in text(result.stderr), mode == "amd", f"{mode} -v: {text(result.stderr)}")

ASKED = """
import ctypes
hip = ctypes.CDLL("libamdhip64.so.5")
memory = ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
assert hip.hipMemset(memory, 1, ctypes.c_size_t(4096)) == 0
assert hip.hipDeviceSynchronize() == 0
print("{}")
"""

with t.case("HIP that is asked for by dlsym: the calls are its own, the dispatches are recorded"):
    one = recorded([], command=[sys.executable, "-c", ASKED])
    t.equal(launches(one)["AQL dispatch", "kernel", "__amd_rocclr_fillBufferAligned"], 1, f"{launches(one)}")
    check_matched(one)

LOADED = """
import ctypes, sys
def step(plugin):
    assert plugin.plugin_fill(ctypes.c_size_t(4096), 5) == 0
step(ctypes.CDLL(sys.argv[1]))
print("{}")
"""

with t.case("a Python program's library that is linked to HIP and loaded for itself alone: calls, Python's lines"):
    one = recorded([program("hip_plugin.so")], command=[sys.executable, "-c", LOADED])
    t.equal(launches(one), {("hipMemset", "fill", "__amd_rocclr_fillBufferAligned"): 5}, "launches")
    t.equal(calls(one)["hipMalloc"]["count"], 1, "hipMalloc")
    check_matched(one)
    folded = text(run([DUET, "flame", "--folded", "--view", "gpu", t.path("hip.duet")]).stdout)
    t.true(re.search(r"step.*plugin_fill.*hipMemset;-;fill_\[G\]", folded), folded)

t.end()
