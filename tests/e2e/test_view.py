#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet view: the page has every item of the trace once, adds up to the report, and treats no text of the trace as markup."""
import base64
import collections
import glob
import hashlib
import os
import random
import re
import sys

import duet_test
import view_file
from duet_test import DUET, ROOT, program, run, text

sys.path.insert(0, os.path.join(ROOT, "tests", "checker"))
import check_account  # noqa: E402
import run_checker  # noqa: E402

t = duet_test.Suite(needs_opencl=False)
EMPTY = os.path.join(ROOT, "tests", "golden", "account", "empty.txt")


def make(name, lines):
    return t.described(name, *lines)


SMALL_LOOP = ["window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1", "launch 1 1 1 10 20 kernel name=k", "execution 1 1 1 11 12 30 40"]


def view(trace, *options):
    output = trace + ".html"
    result = run([DUET, "view", "-o", output, *options, trace])
    t.equal(result.status, 0, f"view: {text(result.stderr)}")
    return view_file.read(output)


def rows_of(trace, window=None):
    """The rows as the exporter writes them, and the part that is asked for."""
    result = run([DUET, "export", "--format", "jsonl", "--absolute", trace])
    t.equal(result.status, 0, f"export: {text(result.stderr)}")
    about = run([DUET, "info", "--json", trace])
    damage = view_file.json.loads(about.stdout)["damage"]
    rows = check_account.Trace(result.stdout.decode().splitlines(), damage)
    begin, end = rows.window()
    return rows, begin, (begin, end) if window is None else (min(begin + window[0], end),
                                                             min(begin + window[1], end))


def is_shown(window, begin, end):
    if window is None:
        return True
    return window[0] <= begin < window[1] if begin == end else begin < window[1] and end > window[0]


# ---- every item once ----

def compare(found, expected, what):
    found, expected = collections.Counter(found), collections.Counter(expected)
    if found != expected:
        extra, missing = list((found - expected).items())[:3], list((expected - found).items())[:3]
        t.fail(f"{what}: too many {extra}, missing {missing}")


def check_calls(page, rows, begin, window):
    number_of = {row["id"]: index for index, row in enumerate(
        sorted(rows.things.get("thread", {}).values(), key=lambda row: row["id"]))}
    unknown = len(number_of)
    expected, found = [], []
    for row in rows.api:
        if is_shown(window, row["begin"], row["end"]):
            expected.append((number_of.get(row["thread"], unknown), row["begin"] - begin,
                             row["end"] - row["begin"], row["function"], row["result"], row.get("argument", 0)))
    for row in rows.launches:
        if is_shown(window, row["enter"], row["exit"]):
            expected.append((number_of.get(row["thread"], unknown), row["enter"] - begin,
                             row["exit"] - row["enter"], row["function"], row["result"], row.get("bytes", 0)))
    for track in page.of_kind("calls"):
        thread = page.tracks[track.head["parent"]].head["number"]
        found += [(thread, item["begin"], item["duration"], page.names[item["what"]], item["extra"],
                   item["argument"]) for item in track.items()]
    compare(found, expected, "calls")


def command_name(rows, launch):
    if not launch:
        return ""
    return rows.kernel_name(launch) if launch["command"] == "kernel" else launch["command"]


def check_queues(page, rows, begin, window):
    executed = [row for row in rows.executions if check_account.is_in_account(row)
                and is_shown(window, row["started"], row["ended"])]
    expected, waits = [], []
    for row in executed:
        # a marker is told apart by the function that put it there
        name = command_name(rows, check_account.known_launch(row))
        expected.append((row["started"] - begin, row["ended"] - row["started"],
                         "barrier" if name == "marker" else name))
        queued, submitted = row.get("queued"), row.get("submitted")
        first = submitted if queued is None else queued
        between = submitted if queued is not None and submitted is not None else first
        if first is not None:
            waits.append((first - begin, between - first, row["started"] - between))
    found = [(item["begin"], item["duration"], page.names[page.paths[item["what"]]["name"]])
             for track in page.of_kind("queue", "transfers") for item in track.items()]
    compare([(a, b, "barrier" if c == "marker" else c) for a, b, c in found], expected, "commands")
    compare([(item["begin"], item["host_ns"], item["device_ns"])
             for track in page.of_kind("waiting") for item in track.items()], waits, "waiting")


def check_rejected(page, rows, begin, window):
    """From the launch, where it is known, until it was seen to be over, with the status."""
    expected = []
    for row in filter(check_account.is_rejected, rows.executions):
        launch = check_account.known_launch(row)
        low = min(launch["enter"], row["seen"]) if launch else row["seen"]
        if is_shown(window, low, row["seen"]):
            expected.append((low - begin, row["seen"] - low, command_name(rows, launch) or "other", row["status"]))
    found = [(item["begin"], item["duration"], page.names[item["what"]], item["extra"])
             for track in page.of_kind("rejected") for item in track.items()]
    compare(found, expected, "rejected commands")


def check_links(page, rows, begin):
    """A link is the same call for the launch and for what came of it."""
    numbers = sorted({row["enter"] for row in rows.launches})
    if len(numbers) != len(rows.launches):
        return
    number = {enter: index + 1 for index, enter in enumerate(numbers)}
    launched = {item["begin"]: item["link"] for track in page.of_kind("calls")
                for item in track.items() if item["link"]}
    for enter, link in launched.items():
        if number.get(enter + begin) != link:
            t.fail(f"the launch at {enter} has link {link}, not {number.get(enter + begin)}")
    expected = []
    for row in rows.executions:
        launch = check_account.known_launch(row)
        if check_account.is_in_account(row):
            expected.append((row["started"] - begin, number[launch["enter"]] if launch else 0))
    found = [(item["begin"], item["link"]) for track in page.of_kind("queue", "transfers")
             for item in track.items()]
    missing = collections.Counter(found) - collections.Counter(expected)
    if missing:
        t.fail(f"links of commands that are not theirs: {list(missing)[:3]}")


def check_samples(page, rows, begin, window):
    expected = [(row["time"] - begin, row["weight"], row["source"], int(row["mode"] == "kernel"))
                for row in rows.samples if is_shown(window, row["time"], row["time"])]
    found = [(item["begin"], item["weight"], track.name, item["mode"])
             for track in page.of_kind("samples") for item in track.items()]
    compare(found, expected, "samples")


def check_rows(page, trace, window=None):
    rows, begin, _ = rows_of(trace)
    shown = None if window is None else rows_of(trace, window)[2]
    check_calls(page, rows, begin, shown)
    check_queues(page, rows, begin, shown)
    check_rejected(page, rows, begin, shown)
    check_samples(page, rows, begin, shown)
    if window is None:
        check_links(page, rows, begin)
    return rows


def check_page(page):
    for problem in view_file.problems(page):
        t.fail(problem[:400])


# ---- the state of a device, moment by moment ----

def check_positions(page, trace, window=None):
    """Each cause stands where brute force finds it."""
    rows, begin, (first, last) = rows_of(trace, window)
    devices = sorted(rows.things.get("device", {}))
    for track in page.of_kind("device"):
        index = track.head["device"]
        device = devices[index] if index < len(devices) else 0
        commands = [row for row in rows.executions
                    if rows.device_of(row) == device and check_account.is_in_account(row)]
        in_flight = check_account.unfinished(rows, device, commands)
        dark = rows.dark(device)
        for item in track.items():
            at = item["begin"] + begin
            active = [row for row in commands if row["started"] <= at < row["ended"]]
            if item["what"] >= view_file.FIRST_PATH:
                t.true(active, f"busy at {at}")
                continue
            t.true(not active, f"idle at {at}")
            wanted = check_account.cause(rows, commands, in_flight, dark, first, at)
            t.equal(page.head["causes"][item["what"]], wanted, f"cause at {at} of device {device}")


def is_small(rows):
    """No calls are merged, and no crowd is told together."""
    per_thread = collections.Counter(row["thread"] for row in rows.api + rows.launches)
    return len(rows.executions) < 64 and all(count < 60 for count in per_thread.values()) \
        and len(rows.switches) < 60


# ---- cases ----

for path in sorted(glob.glob(os.path.join(ROOT, "tests", "golden", "account", "*.txt"))):
    name = os.path.basename(path)[:-4]
    with t.case(f"account {name}: every item, every bin, every cause in its place"):
        with open(path, encoding="utf-8") as file:
            made = make(name + ".duet", [file.read()])
        shown = view(made)
        check_page(shown)
        rows = check_rows(shown, made)
        if is_small(rows):
            check_positions(shown, made)

for seed in range(1, 49):
    with t.case(f"random trace {seed}"):
        made = make(f"random{seed}.duet", [run_checker.random_trace(seed)])
        if seed % 5 == 1:
            size = os.path.getsize(made)
            os.truncate(made, int(size * random.Random(seed).uniform(0.7, 0.99)))
        part = (500, 2500) if seed % 3 == 0 else None
        options = ["--from", "500ns", "--to", "2500ns"] if part else []
        shown = view(made, *options)
        check_page(shown)
        rows = check_rows(shown, made, part)
        if is_small(rows):
            check_positions(shown, made, part)

for shape, events in (("mixed", 60000), ("deep", 20000), ("late", 20000)):
    with t.case(f"generated trace {shape}: levels add up"):
        t.wanted()
        made = t.path(shape + ".duet")
        result = run([os.path.join(duet_test.BUILD, "tests", "generate", "generate_trace"),
                      "--events", str(events), "--seed", "7", "--shape", shape, "--out", made,
                      "--answers", made + ".json"])
        t.equal(result.status, 0, f"generate_trace: {text(result.stderr)}")
        shown = view(made)
        check_page(shown)
        check_rows(shown, made)
        if shape == "mixed":
            t.true(any(len(track.levels) > 1 for track in shown.tracks), "several levels")
        for track in shown.tracks:
            bins = sum(chunk[5] for chunk in track.levels[-1]["chunks"]) if track.levels else 0
            if len(track.levels) > 1 and bins > 2049:
                t.fail(f"{track.kind} has an overview of {bins} bins")
        check_page(view(made, "--from", "1ms", "--to", "7ms"))

with t.case("the first picture is in the first section"):
    for track in shown.tracks:
        for chunk in track.levels[-1]["chunks"] if track.levels else []:
            t.equal(chunk[2], 1, f"section of the overview of {track.kind}")
    order = re.findall(r'<script type="text/plain" id="(\w+)">|<(script)>', shown.text)
    ids = [name or tag for name, tag in order]
    t.equal(ids[:3], ["head", "s1", "script"], "what comes first")
    t.equal(ids[-1], "end", "what comes last")
    graphs = [name for track in shown.of_kind("device") for name in track.head.get("graph", [])]
    t.true(graphs, "a device has stacks")
    t.equal(ids[3:-1], [*(f"s{i}" for i in range(2, shown.head["sections"] + 1)), *graphs], "the other sections")

with t.case("the policy lets our own script and style run and nothing else"):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shown.text).group(1)
    t.true(policy.startswith("default-src 'none'; "), policy)
    for tag, source in (("script", "script-src"), ("style", "style-src")):
        body = re.search(f"<{tag}>(.*?)</{tag}>", shown.text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        t.true(f"{source} 'sha256-{digest}'" in policy, f"hash of the {tag}")
    t.equal(len(re.findall(r"https?://", shown.markup())), 0, "addresses in the page")

with t.case("an empty trace"):
    made = make("nothing.duet", ["window 0 1000"])
    shown = view(made)
    check_page(shown)
    t.equal(shown.tracks, [], "tracks")
    t.equal(shown.head["wall_ns"], 1000, "wall")
    t.equal(shown.report["schema"], "duet.report/1", "the report in it")

with t.case("lost events are shown in the page, and known causes remain"):
    made = make("lost.duet", ["window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1",
                              "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 15 18 20 100",
                              "switch 1 110 blocked", "switch 1 130 in",
                              "launch 2 1 1 200 210 kernel name=a",
                              "execution 1 2 1 205 208 210 300", "loss api 3", "loss execution 2"])
    shown = view(made)
    check_page(shown)
    t.true("lost" in shown.head["incomplete"], shown.head.get("incomplete"))
    causes = {shown.head["causes"][item["what"]] for item in shown.of_kind("device")[0].items()
              if item["what"] < view_file.FIRST_PATH}
    t.true("unknown" in causes and not causes & {"host", "blocked", "on_cpu"}, f"causes {causes}")
    t.equal(shown.of_kind("metric"), [], "nobody knows what is in flight")

with t.case("damage in the middle of a file is found on the way, and the page is made again"):
    lines = ["window 0 100000000", "device 1 gpu", "thread 1 1", "queue 1 1"]
    for i in range(9000):
        at = 10000 * i
        lines += [f"call 1 {at} {at + 100} call f{i % 7}",
                  f"launch {i + 1} 1 1 {at + 200} {at + 300} kernel name=k{i % 5}",
                  f"execution 1 {i + 1} 1 {at + 250} {at + 260} {at + 400} {at + 5000}"]
    made = make("whole.duet", lines)
    with open(made, "rb") as file:
        whole = file.read()
    lost = set()
    for part in range(1, 10):
        at = len(whole) * part // 10
        made = t.path(f"damaged{part}.duet")
        with open(made, "wb") as file:
            file.write(whole[:at] + bytes(255 - byte for byte in whole[at:at + 64])
                       + whole[at + 64:])
        shown = view(made)
        check_page(shown)
        t.true(shown.head.get("incomplete"), "it says that something is missing")
        t.true(shown.report["damage"]["chunks"] > 0, f"damage {shown.report['damage']}")
        lost |= {loss["kind"] for loss in shown.report["losses"]}
    t.true({"api", "launch", "execution"} <= lost, f"kinds of damaged chunks: {lost}")

with t.case("a processor and an accelerator, two processes: tracks are below their objects"):
    made = make("two.duet", [
        "window 0 10000", "device 1 Cpu type=cpu", "device 2 Gpu", "process 1 101 first command=./first%20-x",
        "process 2 102 second", "thread 1 1 name=main", "thread 2 2", "queue 1 1 context=1", "queue 2 2 context=1",
        "queue 3 2 context=2 process=2",
        "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 15 18 20 100",
        "launch 2 1 2 110 120 write bytes=64", "execution 1 2 2 115 118 120 200",
        "launch 1 2 3 210 220 kernel name=b global=8x4 local=4x4",
        "execution 2 1 3 215 218 220 300",
        "sample 1 50 9 source=cpu-clock", "sample 2 60 9 source=page-faults"])
    shown = view(made)
    check_page(shown)
    check_rows(shown, made)
    parents = {track.name: shown.tracks[track.head["parent"]].name for track in shown.tracks
               if "parent" in track.head and track.kind in ("thread", "context", "queue")}
    t.equal(parents["main"], "first", "thread main")
    t.equal(parents["thread 2002"], "second", "thread of the other")
    t.equal(shown.of_kind("process")[0].head["detail"], "./first -x", "command")
    t.equal(sorted(track.name for track in shown.of_kind("samples")), ["cpu-clock", "page-faults"],
            "sources")
    extras = {item["extra"] for track in shown.of_kind("queue", "transfers") for item in track.items()}
    t.equal(extras, {0, 64, 32}, "bytes and work items")

with t.case("devices come first, processors have a row each, and many threads are a group"):
    lines = ["window 0 100000", "device 1 gpu", "process 1 101 first rank=2 rank_count=4", "process 2 102 second", "queue 1 1",
             *(f"thread {i} 1 name=t{i}" for i in range(1, 61)), "thread 61 2 name=other",
             "launch 1 1 1 10 20 kernel name=a", "execution 1 1 1 15 18 20 100",
             "launch 2 1 1 110 120 write bytes=64", "execution 1 2 1 115 118 120 200",
             *(f"call {i} {1000 + i} {1100 + i} call f" for i in range(1, 4)),
             *(f"sample {i} {2000 + i} 9" for i in range(1, 62)),
             "switch 1 3000 blocked cpu=0", "switch 61 3100 in cpu=2", "switch 1 3200 in cpu=2", "switch 1 3300 preempted cpu=2",
             "switch 1 3400 in cpu=0"]
    shown = view(make("order.duet", lines))
    check_page(shown)
    roots = [(track.kind, track.name) for track in shown.tracks if "parent" not in track.head]
    t.equal(roots, [("device", "gpu"), ("process", "first"), ("group", "processors"), ("process", "second")], "order")
    t.equal(shown.of_kind("process")[0].head["rank"], "rank 1 of 4", "rank")
    group = next(track for track in shown.of_kind("group") if track.name == "57 other threads")
    inside = [track.name for track in shown.of_kind("thread") if track.head["parent"] == group.id]
    t.equal((len(inside), shown.tracks[group.head["parent"]].name), (57, "first"), "threads without calls")
    t.equal([track.name for track in shown.of_kind("thread") if track.head["parent"] != group.id], ["t1", "t2", "t3", "other"], "others")
    ran = {track.name: [(shown.names[item["what"]], item["begin"], item["end"]) for item in track.items()] for track in shown.of_kind("processor")}
    t.equal(ran, {"processor 0": [("t1 2001", 3400, 100000)], "processor 2": [("other 2061", 3100, 3200), ("t1 2001", 3200, 3300)]},
            "threads on processors")
    moved = view(make("moved.duet", ["window 0 9000", "process 1 100 render", "thread 1 1 name=main", "switch 1 1000 in cpu=0",
                                     "switch 1 2000 in cpu=3", "switch 1 3000 blocked cpu=5", "call 1 100 9000 call f"]))
    t.equal({track.name: [(item["begin"], item["end"]) for item in track.items()] for track in moved.of_kind("processor")},
            {"processor 0": [(1000, 2000)], "processor 3": [(2000, 3000)]}, "a thread is on one processor at a time")
    queue = shown.of_kind("queue")[0]
    t.equal([(track.kind, track.head["items"], track.head.get("parent") == queue.id) for track in shown.of_kind("queue", "transfers")],
            [("queue", 1, False), ("transfers", 1, True)], "kernels and transfers")

with t.case("many queues of a device are a group, so that threads stay in sight"):
    def queues(count):
        lines = ["window 0 100000", "device 1 gpu", "process 1 101 first", "thread 1 1"]
        for i in range(1, count + 1):
            lines += [f"queue {i} 1 context={i}", f"launch {i} 1 {i} {i * 100} {i * 100 + 10} kernel name=a",
                      f"execution 1 {i} {i} {i * 100 + 11} {i * 100 + 12} {i * 100 + 20} {i * 100 + 40}"]
        return lines

    shown = view(make("queues.duet", queues(17)))
    check_page(shown)
    group, = shown.of_kind("group")
    t.equal((group.name, shown.tracks[group.head["parent"]].kind), ("17 queues", "device"), "the group")
    t.equal({track.head["parent"] for track in shown.of_kind("context")}, {group.id}, "contexts are in it")
    t.equal(len(shown.of_kind("queue")), 17, "with all queues")
    shown = view(make("queues.duet", queues(16)))
    t.equal((shown.of_kind("group"), len(shown.of_kind("queue"))), ([], 16), "no group of 16")

with t.case("iterations are a row of their process, and slow ones are marked"):
    lines, now = ["window 0 1000000", "device 1 gpu", "process 1 101 loop", "process 2 102 other", "thread 1 1", "thread 2 2", "queue 1 1"], 1000
    for number in range(30):
        for kernel in range(3):
            at = now + kernel * 100
            lines += [f"launch {3 * number + kernel + 1} 1 1 {at} {at + 10} kernel name=k{kernel}",
                      f"execution 1 {3 * number + kernel + 1} 1 {at + 1} {at + 12} {at + 20} {at + 80}"]
        now += 5000 if number == 20 else 1000
    lines.append("sample 2 500 9")
    shown = view(make("iterations.duet", lines))
    check_page(shown)
    track, = shown.of_kind("iterations")
    t.equal(shown.tracks[track.head["parent"]].name, "loop", "of its process")
    items = [(shown.names[item["what"]], item["duration"]) for item in track.items()]
    t.true(len(items) > 25, f"{items}")
    t.equal([item for item in items if item[0] != "iteration"], [("slow iteration", 5000)], f"the slow one: {items}")
    t.equal(view(make("still.duet", SMALL_LOOP)).of_kind("iterations"), [], "no loop")

with t.case("a clock without a bound, and one that is broken"):
    made = make("clock.duet", ["window 0 10000", "clock 5 100", "device 1 gpu", "thread 1 1",
                               "queue 1 1 clock=5",
                               "launch 1 1 1 5010 5020 kernel name=a",
                               "execution 1 1 1 4000 4001 4002 4003 seen=4200"])
    shown = view(made)
    check_page(shown)
    t.equal([clock["violations"] for clock in shown.report["clocks"] if clock["violations"]],
            [clock["violations"] for clock in t.report(made)["clocks"] if clock["violations"]],
            "violations are the report's")

HOSTILE = ["</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "<!--<script>",
           "]]>", "\x01\x1b[31mred\x7f", "a\u2028b\u202ec"]


def written(name):
    """As a description of a trace takes it."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 or byte in b":<>" else
                   f"%{byte:02x}" for byte in name.encode("utf-8", "surrogateescape"))


with t.case("no text of the trace is treated as markup"):
    names = HOSTILE + [b"\xff\xfe\xc3(".decode("utf-8", "surrogateescape"),
                       "std::vector<" * 800 + "int" + ">" * 800]
    lines = ["window 0 100000 command=" + written(HOSTILE[0]), "device 1 " + written(HOSTILE[1]),
             "process 1 101 " + written(HOSTILE[2]) + " command=" + written(HOSTILE[0]),
             "thread 1 1 name=" + written(HOSTILE[0]), "queue 1 1"]
    for number, name in enumerate(names, 1):
        long, short = written(name), written(name[:60])
        at = 1000 * number
        lines += [f"frame {number} python {long} file={short} line=3", f"stack {number} {number}",
                  f"call 1 {at} {at + 10} call {short} stack={number}",
                  f"launch {number} 1 1 {at + 100} {at + 200} kernel name={short} stack={number}",
                  f"execution 1 {number} 1 {at + 150} {at + 160} {at + 300} {at + 400}",
                  f"switch 1 {at + 500} blocked wait={short} stack={number}", f"switch 1 {at + 600} in"]
    made = make("hostile.duet", lines)
    shown = view(made, "--title", HOSTILE[0])
    check_page(shown)
    plain = view(make("plain.duet", ["window 0 1000"]))

    def frame_of(page):
        """The page without sections, however many it has."""
        return re.sub(r'<script type="text/plain" id="\w+"></script>\n', "", page.markup())

    t.equal(frame_of(shown), frame_of(plain), "the page around the sections")
    texts = set(shown.names)
    for name in names:
        readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        t.true(readable in texts, f"{readable[:30]!r} is a name")
    t.equal(shown.head["title"], HOSTILE[0], "title")

with t.case("stacks have the names that the flame graph has"):
    made = make("stacks.duet", [
        "window 0 10000", "thread 1 1", "frame 1 python main file=/app/train.py line=30 first=1",
        "frame 2 python step file=/app/train.py line=12 first=10", "frame 3 jit made",
        "frame 4 kernel read", "stack 1 1 2", "stack 2 1 2 3", "stack 3 1 4",
        "sample 1 100 500 stack=1", "sample 1 200 300 stack=2", "sample 1 300 100 stack=3 mode=kernel",
        "sample 1 400 50"])
    shown = view(made)
    check_page(shown)
    sums = collections.Counter()
    for item in shown.of_kind("samples")[0].items():
        sums[tuple(shown.stack(item["stack"]))] += item["weight"]
    t.equal(sums, {("main", "step"): 500, ("main", "step", "made"): 300, ("main", "read"): 100,
                   (): 50}, "samples by stack")
    classes = {shown.names[frame[0]]: frame[3] for frame in shown.frames}
    t.equal(classes, {"main": 4, "step": 4, "made": 2, "read": 1}, "classes of frames")

# ---- samples of device instructions ----

STALL_COLUMNS = ("stack", "function", "kernel", "text", "reason", "place", "file", "line", "samples")
IMAGE = os.path.join(ROOT, "tests", "golden", "zebin", "two_dg2.bin")
SAMPLED = ("window 0 1000", "device 1 gpu", "process 1 7 prog", "thread 1 1", "queue 1 1", "frame 1 jit main", "stack 1 1",
           "launch 1 1 1 10 20 kernel name=second stack=1", "execution 1 1 1 15 18 100 900",
           f"instruction 1 230 second 1480 count=30 stall=sbid correlation=1 image={IMAGE}",
           f"instruction 1 240 second 1480 count=4 stall=send correlation=1 image={IMAGE}",
           "instruction 1 250 other 64 count=5 stall=sbid", "instruction 1 250 other 72 count=2")


def stalls_of(page):
    document = view_file.json.loads(page.section(page.head["stalls"]))
    names, rows = document["names"], document["rows"]
    found = [dict(zip(STALL_COLUMNS, rows[i:i + 9])) for i in range(0, len(rows), 9)]
    for row in found:
        for name in ("kernel", "text", "reason", "place", "file"):
            row[name] = names[row[name]]
    return found, {names[document["rest"][i]]: document["rest"][i + 1] for i in range(0, len(document["rest"]), 2)}


def reasons_of(page):
    rows, rest = stalls_of(page)
    sums = collections.Counter(rest)
    for row in rows:
        sums[row["reason"]] += row["samples"]
    return dict(sums)


def reported_reasons(trace, *options):
    result = run([DUET, "report", "--json", "--by", "stall", *options, trace])
    t.equal(result.status, 0, f"report: {text(result.stderr)}")
    return {"" if row["key"] == "[no reason reported]" else row["key"]: row["count"] for row in view_file.json.loads(result.stdout)["by"]}


def folded_of(page):
    """The rows as `duet flame --view stall --folded` has them, below process and number, without classes of frames."""
    lines = collections.Counter()
    for row in stalls_of(page)[0]:
        names = [*(page.stack(row["stack"]) or ["[unknown stack]"]), page.names[row["function"]], "-", row["file"],
                 row["kernel"] or "[unknown code]", row["text"] or "[unknown instruction]", row["reason"], row["place"]]
        lines[";".join(name.replace(";", "\\x3b") for name in names if name)] += row["samples"]
    return lines


def flame_lines(trace):
    lines = collections.Counter()
    for line in text(run([DUET, "flame", "--view", "stall", "--folded", trace]).stdout).splitlines():
        names, _, samples = line.rpartition(" ")
        above = 1 if names.startswith("[unknown process];") else 2
        lines[";".join(re.sub(r"_\[\w\]$", "", name) for name in names.split(";")[above:])] += int(samples)
    return lines


with t.case("samples of device instructions: sums of the report, boxes of the flame graph"):
    traces = [make("sampled.duet", SAMPLED)]
    for name in ("head", "tiber"):
        traces.append(t.path(f"{name}.duet"))
        made = run([DUET, "import", "-f", "iaprof", "-o", traces[-1], os.path.join(ROOT, "tests", "golden", "iaprof", f"{name}.iaprof")])
        t.equal(made.status, 0, f"import: {text(made.stderr)}")
    for trace in traces:
        page = view(trace)
        t.equal(reasons_of(page), reported_reasons(trace), f"{trace}: reasons")
        t.equal(folded_of(page), flame_lines(trace), f"{trace}: stacks")
        t.true(sum(reasons_of(page).values()) > 0, "there are some")
    t.equal(reasons_of(view(traces[0], "--to", "235ns")), reported_reasons(traces[0], "--to", "235ns"), "of a part")
    t.equal(reasons_of(view(traces[0], "--to", "235ns")), {"sbid": 30}, "of a part, as it was made")
    t.true("stalls" not in view(make("unsampled.duet", SAMPLED[:9])).head, "none: no section")

with t.case("samples of more instructions than have a row: the most have one, the others are together, the sum has all"):
    for kernels, reasons, count in ((7, 2, 17000), (59, 127, 22000)):
        places = [f"instruction 1 {100 + i % 800} k{i % kernels} {16 * i} count={1 + i % 3} stall=r{i % reasons}" for i in range(count)]
        trace = make(f"places_{kernels}.duet", (*SAMPLED[:9], *places))
        page = view(trace)
        rows, rest = stalls_of(page)
        t.equal(sum(1 for row in rows if row["place"]), 16384, "instructions")
        several = [row for row in rows if not row["place"]]
        t.equal({row["text"] for row in several}, {"[less frequent]"}, "the others")
        groups = {(row["kernel"], row["reason"]) for row in several}
        t.true(len(groups) == len(several) <= 4096, f"{len(several)} rows, {len(groups)} kernels and reasons")
        t.equal(sum(rest.values()) + sum(row["samples"] for row in several), count - 16384, "what has no row is of one sample each")
        t.equal(bool(rest), len(several) == 4096, "beyond these")
        t.equal(bool(rest), kernels == 59, "as it was made")
        t.equal(reasons_of(page), reported_reasons(trace), "reasons")
        size = len(page.elements["stalls"])
        t.true(size < 1 << 19, f"{size} bytes of the page")

with t.case("a device that was not measured has a reason"):
    trace = make("unmeasured.duet", ("window 0 1000", "device 1 gpu", "device 2 other", "process 1 7 prog", "thread 1 1", "queue 1 1",
                                     "queue 2 2", "launch 1 1 1 10 20 kernel name=first", "launch 2 1 2 30 40 kernel name=second",
                                     "execution 1 1 1 15 18 100 900"))
    said = [track.head.get("unmeasured") for track in view(trace).of_kind("device")]
    t.equal(said, [None, "no execution was recorded, its commands are in flight, lost or not executed"], "why")
    t.true(said[1] in text(run([DUET, "report", trace]).stdout), "as in the report")

with t.case("off the processor: by cause, until the thread is seen again"):
    made = make("off.duet", [
        "window 0 1000", "thread 1 1", "thread 2 1", "thread 3 1", "frame 1 jit here",
        "stack 1 1",
        "sample 1 10 1", "switch 1 100 preempted", "switch 1 130 in",
        "switch 1 200 blocked stack=1 wait=Python%20GIL holder=2", "switch 1 260 in",
        "switch 1 300 blocked", "call 1 320 330 call f", "switch 1 400 blocked", "sample 1 450 1",
        "switch 1 900 blocked", "sample 3 10 1", "switch 3 500 exited"])
    shown = view(made)
    check_page(shown)
    items = [(item["begin"], item["end"], shown.names[item["what"]], shown.stack(item["stack"]),
              item["extra"]) for item in shown.of_kind("off")[0].items()]
    numbers = {track.head["tid"]: track.head["number"] for track in shown.of_kind("thread")}
    t.true(2002 not in numbers, "a thread that did nothing has no track")
    t.equal(len(shown.of_kind("off")), 1, "a thread that is over is not off the processor")
    t.equal(items, [(100, 130, "preempted", [], 0), (200, 260, "Python GIL", ["here"], 8),
                    (300, 320, "blocked", [], 0), (400, 450, "blocked", [], 0),
                    (900, 1000, "blocked", [], 0)], "intervals")

with t.case("off the processor: which thread held the lock, ended the wait, or ran instead"):
    made = make("other.duet", [
        "window 0 1000", "thread 1 1", "thread 2 1", "frame 1 python wait file=/usr/lib/python3.11/threading.py line=5",
        "frame 2 python step file=/app/train.py line=9", "stack 1 2", "stack 2 2 1", "sample 1 10 1", "sample 2 10 1 stack=1",
        "switch 1 100 blocked stack=1 wait=futex%20(0x10)", "switch 1 130 in waker=2",
        "switch 1 200 blocked stack=2 wait=futex%20(0x10)", "switch 1 230 in waker=2",
        "switch 1 300 blocked stack=1 wait=epoll_wait", "switch 1 330 in waker=2",
        "switch 1 400 preempted stack=1 wait=other holder=2", "switch 1 430 in waker=2",
        "switch 1 500 preempted stack=1 wait=other", "switch 1 530 in waker=2",
        "switch 1 600 blocked stack=1 wait=futex%20(0x10)", "sample 1 630 1"])
    shown = view(made)
    check_page(shown)
    numbers = {track.head["tid"]: track.head["number"] for track in shown.of_kind("thread")}
    other = 4 * (numbers[max(numbers)] + 1)
    held, ended, ran = other, other + 1, other + 2
    t.equal([(item["begin"], item["extra"]) for item in shown.of_kind("off")[0].items()],
            [(100, held), (200, ended), (300, ended), (400, ran), (500, 0), (600, 0)], "the other threads")
    own = [shown.names[shown.frames[index][0]] for index in shown.own]
    t.equal(own, ["step"], "the user's own functions")

with t.case("processor use, from samples"):
    made = make("use.duet", ["window 0 1000000000", "thread 1 1", "thread 2 1"]
                + [f"sample {1 + i % 2} {10000000 * (i // 2 + 1)} 10000000" for i in range(80)])
    shown = view(made)
    check_page(shown)
    track = shown.of_kind("metric")[0]
    t.equal([(item["begin"], item["value"]) for item in track.items()],
            [(0, 2000), (100000000, 2000), (200000000, 2000), (300000000, 2000), (400000000, 0)],
            "thousandths of processors in use")
    shown = view(made, "--from", "250ms", "--to", "350ms")
    check_page(shown)
    t.equal([(item["begin"], item["value"]) for item in shown.of_kind("metric")[0].items()],
            [(250000000, 2000), (300000000, 2000)], "the same of a part")

with t.case("commands in flight: from launch to end, none left out"):
    made = make("flight.duet", [
        "window 0 1000", "device 1 gpu", "thread 1 1", "queue 1 1 out_of_order=1",
        "launch 1 1 1 10 20 kernel name=a", "launch 2 1 1 30 40 kernel name=a",
        "launch 3 1 1 50 60 kernel name=a untimed=1", "launch 4 1 1 70 80 kernel name=a",
        "execution 1 1 1 15 18 20 100", "execution 1 2 1 35 38 100 150",
        "execution 1 3 1 - - - - seen=300"])
    shown = view(made)
    check_page(shown)
    t.equal([(item["begin"], item["value"] // 1000) for item in shown.of_kind("metric")[0].items()],
            [(10, 1), (30, 2), (50, 3), (70, 4), (100, 3), (150, 2), (300, 1)], "in flight")

with t.case("a run that is recorded"):
    made = t.path("run.duet")
    result = t.record([program("flame_shapes")], made,
                      env={"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"),
                           "SIM_OPENCL": "kernel_us=1000"})
    t.equal(result.status, 0, f"record: {text(result.stderr)}")
    shown = view(made)
    check_page(shown)
    check_rows(shown, made)
    found = collections.Counter()
    for item in shown.of_kind("device")[0].items():
        if item["what"] >= view_file.FIRST_PATH:
            path = shown.paths[item["what"] - view_file.FIRST_PATH]
            stack = shown.stack(path["stack"]) + [shown.names[path["name"]]]
            found[tuple(stack)] += item["duration"]
    wanted = collections.Counter()
    for frames, value in t.folded(made, "gpu"):
        names = [re.sub(r"( \(.*\))?(_\[\w\])?$", "", frame) for frame in frames]
        wanted[tuple(names[:names.index("-") - 1] + names[names.index("-") + 1:])] += value
    t.equal({k: v for k, v in found.items()}, dict(wanted), "busy time by stack, as the flame graph has it")

with t.case("output to stdout, to the default name, and wrong usage"):
    made = make("some.duet", ["window 0 1000"])
    result = run([DUET, "view", "-o", "-", made])
    t.equal(result.status, 0, text(result.stderr))
    t.equal(view_file.View(text(result.stdout)).head["schema"], "duet.view/1", "schema")
    t.equal(run([DUET, "view", made]).status, 0, "status")
    t.true(os.path.exists(t.path("some.html")), "some.html beside some.duet")
    for arguments, status, word in (
            (["--from", "2s", "--to", "1s", made], 2, "--to is before --from"),
            (["-o", "", made], 2, "--output"), ([made, made], 2, "one FILE"),
            (["--from", "2s", made], 1, "--from"), ([t.path("none.duet")], 1, "none.duet"),
            (["-o", made, made], 1, "itself"),
            (["-o", t.path("no/such/run.html"), made], 1, "no/such")):
        result = run([DUET, "view", *arguments])
        t.equal(result.status, status, f"status of {arguments}")
        t.true(word in text(result.stderr), f"{word!r} in {text(result.stderr)!r}")
    before = set(os.listdir(t.folder))
    run([DUET, "view", "-o", t.path("page.html"), made])
    t.equal(set(os.listdir(t.folder)) - before, {"page.html"}, "nothing else is left in the folder")

with t.case("a full disk and a closed pipe: one line that says which, or none"):
    made = make("some.duet", ["window 0 1000"])
    for place, expected in (("-o /dev/full", "'/dev/full' is incomplete: write: No space left on device"),
                            ("-o - > /dev/full", "write: No space left on device")):
        result = run(["sh", "-c", f"exec {DUET} view {made} {place}"])
        t.equal([result.status, text(result.stderr)], [1, f"duet view: {expected}\n"], place)
    result = run(["sh", "-c", f"trap '' PIPE; ({DUET} view -o - {made}; echo $? >&2) | true"])
    t.equal(text(result.stderr), "0\n", "a reader that went away")

t.end()
