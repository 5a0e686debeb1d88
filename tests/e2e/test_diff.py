#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet diff on recordings whose times are written down. tests/checker/description.h has the grammar."""
import json
import random
import shutil

import duet_test
from duet_test import DUET, run, text

t = duet_test.Suite(needs_opencl=False)

ROUNDS = 20
ROUND_NS, BEGIN_NS = 100000, 1000
SLEEP_STACK = ("frame 2 python pause file=train.py line=40", "stack 2 1 2")
COMMAND = "boot_id=one command=python3%20train.py"


class Loop:
    """A loop of 20 rounds: a copy, the kernels that are asked for, and a sleep in pause."""

    def __init__(self, kernels=(("step", 20000), ("norm", 5000)), sleep_ns=30000, rounds=ROUNDS, line=30, noise=0, seed=0,
                 start=0, device="gpu", more=(), tail_ns=0):
        self.kernels, self.sleep_ns, self.rounds, self.line, self.start = kernels, sleep_ns, rounds, line, start
        self.device, self.more, self.noise = device, more, random.Random(seed) if noise else None
        self.spread, self.tail_ns = noise, tail_ns

    def jitter(self, ns):
        return ns + self.noise.randrange(-self.spread, self.spread + 1) if self.noise else ns

    def lines(self):
        now = self.start + BEGIN_NS
        body, correlation = [], 0
        for _ in range(self.rounds):
            for name, length in (("copy", 1000), *self.kernels):
                correlation += 1
                command = "read bytes=64" if name == "copy" else f"kernel name={name}"
                body.append(f"launch {correlation} 1 1 {now} {now + 500} {command} stack=1")
                length = self.jitter(length)
                body.append(f"execution 1 {correlation} 1 {now + 500} {now + 500} {now + 500} {now + 500 + length}")
                now += 500 + length
            sleep = self.jitter(self.sleep_ns)
            body.append(f"switch 1 {now} blocked stack=2 wait=clock_nanosleep")
            now += sleep
            body.append(f"switch 1 {now} in")
            now += 500
        head = [f"window {self.start} {now + 1000 + self.tail_ns} {COMMAND}", f"device 1 {self.device}", "process 1 100 app exe=/home/u/app",
                "thread 1 1 name=main", "queue 1 1", f"frame 1 python train file=train.py line={self.line}", "stack 1 1",
                *SLEEP_STACK, f"sample 1 {self.start} 5", f"switch 1 {self.start + 1} in"]
        return [*head, *body, *self.more]


def recorded(name, **options):
    return t.described(name, *Loop(**options).lines())


def diff(*arguments, status=0):
    result = run([DUET, "diff", "--json", *arguments])
    t.equal(result.status, status, f"status of {arguments}: {text(result.stderr)}")
    return json.loads(result.stdout) if result.stdout else None


def rows(document, **wanted):
    return [row for row in document["account"]["rows"] if all(row.get(key) == value for key, value in wanted.items())]


def runs(prefix, count=7, first=0, **options):
    """Runs with some noise, each in a time of its own."""
    return [recorded(f"{prefix}{i}.duet", noise=200, seed=f"{prefix}{i}", start=(2 * i + first + 1) * 10**8, **options) for i in range(count)]


BASE = recorded("base.duet")
WALL = diff(BASE, BASE)["base"][0]["wall_ns"]

with t.case("the same recording twice"):
    document = diff(BASE, BASE)
    t.true(document["same"], "is named")
    t.true(all(row["change"] == 0 for row in document["account"]["rows"]), "nothing changed")
    t.true("both sides are the same recording" in text(run([DUET, "diff", BASE, BASE]).stdout), "the text says so")

with t.case("a slower kernel"):
    document = diff(BASE, recorded("slow.duet", kernels=(("step", 20600), ("norm", 5000))))
    step, = rows(document, name="step")
    t.equal((step["change"], step["each_slower"], step["more_often"]), (ROUNDS * 600, ROUNDS * 600, 0), "its time")
    t.equal([row["name"] for row in document["account"]["rows"] if row["change"]], ["step"], "nothing else changed")
    t.equal(document["account"]["change_ns"], ROUNDS * 600, "the wall")
    t.true(document["account"]["exact"], "the rows add up")
    t.true("kernel step (each +3.00 %)" in document["reasons"][0], f"the first reason: {document['reasons']}")

with t.case("one more launch in each iteration"):
    document = diff(BASE, recorded("more.duet", kernels=(("step", 20000), ("norm", 5000), ("norm", 5000))))
    norm, = rows(document, name="norm")
    t.equal((norm["base"]["count"], norm["new"]["count"]), (ROUNDS, 2 * ROUNDS), "its count")
    t.equal((norm["more_often"], norm["each_slower"]), (ROUNDS * 5000, 0), "launched more often")

with t.case("a longer sleep, and a line that moved"):
    document = diff(BASE, recorded("sleep.duet", sleep_ns=32000, line=33))
    changed = {row["name"]: row["change"] for row in rows(document, table="idle") if row["change"]}
    t.equal(changed, {"sleep in pause": (ROUNDS - 1) * 2000, "sleep after the last command": 2000}, "the idle rows")
    sleep, = rows(document, name="sleep in pause")
    t.equal((sleep["name"], sleep["cause"], sleep["change"]), ("sleep in pause", "blocked", (ROUNDS - 1) * 2000), "the idle time")
    t.true("train.py:40" in sleep["label"], "the label has the line")
    t.equal([row["match"] for row in rows(document, table="kernel")], ["exact"] * 3, "kernels launched from another line are the same")

with t.case("new, gone and renamed kernels"):
    document = diff(BASE, recorded("new.duet", kernels=(("step", 20000), ("norm", 5000), ("extra_reduction", 40000))))
    extra, = rows(document, name="extra_reduction")
    t.equal((extra["match"], extra["change"], extra["base"]["count"]), ("new", ROUNDS * 40000, 0), "a new one")
    document = diff(recorded("extra.duet", kernels=(("step", 20000), ("norm", 5000), ("extra_reduction", 40000))), BASE)
    extra, = rows(document, name="extra_reduction")
    t.equal((extra["match"], extra["change"], extra["new"]["count"]), ("gone", -ROUNDS * 40000, 0), "one that is gone")
    renamed = recorded("renamed.duet", kernels=(("advance", 20000), ("norm", 5000)))
    row, = rows(diff(BASE, renamed), name="advance")
    t.equal((row["match"], row["base_name"], row["change"]), ("renamed", "step", 0), "a renamed one")
    t.true(0 < row["match_confidence"] < 1, "is not certain")

with t.case("a renamed kernel is one box of the differential flame graph"):
    lines = text(run([DUET, "flame", "--diff", BASE, renamed, "--view", "gpu", "--folded"]).stdout).splitlines()
    t.equal([line.rsplit(";", 1)[-1] for line in lines if "advance" in line or "step" in line],
            [f"advance_[G] {ROUNDS * 20000} {ROUNDS * 20000}"], f"{lines}")

with t.case("corrections by hand"):
    names = t.path("names.map")
    with open(names, "w", encoding="utf-8") as file:
        file.write("# by hand\nstep => -\n- => advance\n")
    document = diff("--map", names, BASE, renamed)
    t.equal(sorted(row["match"] for row in rows(document, group="kernels")), ["exact", "gone", "new"], "no partner")
    with open(names, "w", encoding="utf-8") as file:
        file.write("step advance\n")
    result = run([DUET, "diff", "--map", names, BASE, renamed])
    t.equal(result.status, 2, "a wrong line")
    t.true("names.map" in text(result.stderr) and "1" in text(result.stderr), f"names file and line: {text(result.stderr)}")

with t.case("one run a side: iterations are the values"):
    document = diff(recorded("noisy_a.duet", noise=100, seed=1, rounds=60),
                    recorded("noisy_b.duet", noise=100, seed=2, rounds=60, kernels=(("step", 26000), ("norm", 5000))))
    step, = rows(document, name="step")
    t.equal((step["noise"]["values"], step["noise"]["proof"]), ("iterations", "within"), "the slower kernel is more than the noise within the runs")
    t.true(step["noise"]["low"] <= 6000 <= step["noise"]["high"], f"its interval contains the truth: {step['noise']}")
    t.equal([row["name"] for row in document["account"]["rows"] if row["noise"]["proof"] == "within"], ["step"], "nothing else is")
    t.equal(document["iteration"]["noise"]["proof"], "within", "the iteration is slower")
    t.true("proved" not in [row["noise"]["proof"] for row in document["account"]["rows"]], "one run a side proves nothing")

with t.case("several runs a side"):
    base, changed = runs("a"), runs("b", first=1, kernels=(("step", 21000), ("norm", 5000)))
    document = diff(*base, "--new", *changed)
    step, = rows(document, name="step")
    t.equal((step["noise"]["values"], step["noise"]["base_values"]), ("runs", 7), "one value a run")
    t.true(step["noise"]["low"] <= ROUNDS * 1000 <= step["noise"]["high"], f"the interval contains the truth: {step['noise']}")
    t.equal(step["noise"]["proof"], "proved", f"{step['noise']}")
    t.equal(document["wall"]["noise"]["proof"], "proved", "the wall time")
    t.true(not document["paired"], "7 pairs are too few for the paired test")
    t.equal(sum(row["change"] for row in document["account"]["rows"]), document["account"]["change_ns"], "means add up")
    document = diff(*runs("c", 8), "--new", *runs("d", 8, first=1))
    t.true(not document["paired"], "without drift the unpaired test is used")
    t.equal([row["name"] for row in document["account"]["rows"] if row["noise"]["proof"] == "proved"], [], "no change is proved")

with t.case("runs in turns on a machine that gets slower"):
    base, changed = ([recorded(f"{name}{i}.duet", noise=100, seed=f"{name}{i}", start=(2 * i + first + 1) * 10**8,
                               kernels=(("step", 20000 + 800 * i + slower), ("norm", 5000))) for i in range(12)]
                     for name, first, slower in (("drift_a", 0, 0), ("drift_b", 1, 1000)))
    document = diff(*base, "--new", *changed)
    step, = rows(document, name="step")
    t.true(document["paired"], "pairs are compared")
    t.true(step["noise"]["low"] <= ROUNDS * 1000 <= step["noise"]["high"], f"the interval contains the truth: {step['noise']}")
    t.equal(step["noise"]["proof"], "proved", "in spite of a drift of 9 times the change")

with t.case("nothing is proved without noise"):
    document = diff(recorded("short_a.duet", rounds=2), recorded("short_b.duet", rounds=2, kernels=(("step", 40000), ("norm", 5000))))
    t.equal(document["wall"]["noise"]["proof"], "unproved", "one run a side without iterations")
    t.true("Unproved" in document["verdict"] and "record" in document["verdict"], document["verdict"])

with t.case("one run a side: a change outside of the iterations is unproved"):
    document = diff(BASE, recorded("tail.duet", tail_ns=2000000))
    t.true("Unproved: one run a side does not show the noise of whole runs" in document["verdict"], document["verdict"])
    after, = rows(document, name="sleep after the last command")
    t.equal((after["change"], after["noise"]["proof"]), (after["change"], "unproved"), "the batches do not contain it")

with t.case("the exit of a program is not the time of its last calls"):
    lines = Loop(tail_ns=2000000).lines()
    end = int(lines[0].split()[2]) - 2001000
    document = diff(BASE, t.described("exit.duet", *lines, f"call 1 {end} {end + 100} call clReleaseKernel"))
    call, = rows(document, name="clReleaseKernel after the last command")
    t.equal(call["new"]["value"], 100, "the call has its own time only")

with t.case("a kernel that does not run in each run has means of its executions only"):
    half = [recorded(f"half{i}.duet", start=(2 * i + 1) * 10**8, kernels=(("step", 20000), *(((("rare", 5000)),) if i % 2 else ()))) for i in range(8)]
    whole = [recorded(f"whole{i}.duet", start=(2 * i + 2) * 10**8, kernels=(("step", 20000), ("rare", 5000))) for i in range(8)]
    rare, = rows(diff("--per", "run", *half, "--new", *whole), name="rare")
    t.equal((rare["mean_noise"]["estimate"], rare["mean_noise"]["base_values"]), (0, 4), "equally long")

with t.case("recordings are values once"):
    copy = t.path("copy.duet")
    shutil.copy(BASE, copy)
    slow = recorded("slow2.duet", kernels=(("step", 30000), ("norm", 5000)))
    for arguments in ([BASE, copy, "--new", slow], [BASE, "--new", slow, slow], [BASE, slow, "--new", slow]):
        document = diff(*arguments, status=3)
        t.true(any("the same recording" in note["text"] or "on both sides" in note["text"] for note in document["notes"]), f"{document['notes']}")

with t.case("hostile times do not wrap"):
    huge = t.described("huge.duet", *Loop().lines()[1:], f"window 0 {2**62 + 10**6}")
    document = diff("--force", "--per", "run", BASE, huge)
    t.true(document["wall"]["new_ns"] > 2**61 and document["devices"][0]["wall_change_ns"] > 0, f"{document['devices']}")

with t.case("different numbers of iterations"):
    longer = recorded("longer.duet", rounds=30, kernels=(("step", 20600), ("norm", 5000)))
    document = diff("--per", "run", BASE, longer)
    t.true(any("iterations: 20 -> 30" in note["text"] and "per iteration" in note["text"] for note in document["notes"]), "is a note")
    t.equal((document["per"], rows(document, name="step")[0]["new"]["count"]), ("run", 30), "whole runs on demand")
    document = diff(BASE, longer)
    t.equal(document["per"], "iteration", "times are per iteration without --per")
    step, = rows(document, name="step")
    t.true(abs(step["change"] - 600) <= 1, f"per iteration: {step['change']}")
    t.true(document["account"]["exact"], "means per iteration add up")
    t.true(any("Times are per iteration" in note["text"] for note in document["notes"]), "a note says so")
    t.equal(diff(BASE, recorded("one_more.duet", rounds=21))["per"], "run", "one iteration more is no other work")

with t.case("a range"):
    ranges = ("range 1 1000 60000 load", "range 1 60000 200000 work", "range 1 200000 300000 work")
    with_ranges = recorded("ranges.duet", more=ranges)
    document = diff("--range", "work:2", with_ranges, with_ranges)
    t.equal(document["base"][0]["wall_ns"], 100000, "the second range of this name")
    t.equal(diff("--range", "work", with_ranges, with_ranges)["base"][0]["wall_ns"], 140000, "the first one")
    t.equal(diff("--range", "iteration:3", BASE, BASE)["base"][0]["wall_ns"] > 0, True, "an iteration")
    result = run([DUET, "diff", "--range", "work:3", with_ranges, with_ranges])
    t.equal(result.status, 2, "no such range")
    t.true("2 ranges are named 'work'" in text(result.stderr), text(result.stderr))

with t.case("what differs beside the program"):
    other = recorded("other.duet", device="gpu_of_another_model")
    notes = [note["text"] for note in diff(BASE, other)["notes"]]
    t.true(any("device 0" in note and "gpu_of_another_model" in note for note in notes), f"{notes}")

with t.case("recordings that cannot be compared"):
    two = recorded("two.duet", more=("device 2 gpu1", "queue 2 2", "launch 900 1 2 1000 1100 kernel name=step",
                                     "execution 1 900 2 1200 1200 1300 2000"))
    strange = recorded("strange.duet", kernels=(("fft", 90000), ("sort", 90000)), sleep_ns=10)
    lines = Loop().lines()
    lost = t.described("lost.duet", *[line for i, line in enumerate(lines) if not line.startswith("execution") or i % 3], "loss execution 40")
    for file, words in ((two, "device"), (strange, "no work in common"), (lost, "incomplete")):
        document = diff(BASE, file, status=3)
        t.true(not document["comparable"] and any(words in note["text"] for note in document["notes"] if note["weight"] == "refusal"),
               f"{file}: {document['notes']}")
        t.true("account" not in document, "no numbers")
        t.true(diff("--force", BASE, file)["account"]["exact"], "--force prints them")
    result = run([DUET, "diff", BASE, two])
    t.true(result.status == 3 and "not comparable" in text(result.stdout), "in text too")

with t.case("wrong usage and unreadable files"):
    broken = t.path("broken.duet")
    with open(broken, "wb") as file:
        file.write(b"not a trace" * 100)
    for arguments, words in (([BASE], "--new"), ([], "no recording"), ([BASE, broken], "broken.duet"), ([t.path("absent.duet"), BASE], "absent.duet"),
                             (["--by", "colour", BASE, BASE], "--by takes"), (["--confidence", "200", BASE, BASE], "--confidence"),
                             (["--per", "day", BASE, BASE], "--per takes"), (["--map", t.path("no.map"), BASE, BASE], "no.map"),
                             (["--device", "nine", BASE, BASE], "nine")):
        result = run([DUET, "diff", *arguments])
        t.equal(result.status, 2, f"{arguments}")
        t.true(words in text(result.stderr), f"{arguments}: {text(result.stderr)}")

with t.case("the tables of --by"):
    for by, name in (("kernel", "step"), ("idle", "sleep in pause"), ("stack", "train;clEnqueueNDRangeKernel;-;step"), ("line", "train: step"),
                     ("queue", "queue 1 "), ("api", "clEnqueueNDRangeKernel")):
        document = diff("--by", by, BASE, recorded("by.duet", kernels=(("step", 20600), ("norm", 5000)), sleep_ns=31000))
        table = document["by"] if by not in ("kernel", "idle") else document["account"]["rows"]
        t.true(any(row["name"] == name for row in table), f"{by}: {[row['name'] for row in table]}")
        shown = run([DUET, "diff", "--by", by, BASE, BASE])
        t.true(shown.status == 0 and f"BY {by}".encode() in shown.stdout, f"{by} in text")

with t.case("a page replaces no recording"):
    first, second = Loop(), Loop(start=10**9)
    base, new = t.described("page_a.duet", *first.lines()), t.described("page_b.duet", *second.lines())
    for arguments in ((base, "--new", new), ("--series", base, new), ("--series", t.folder)):
        for victim in (base, new):
            with open(victim, "rb") as file:
                before = file.read()
            result = run([DUET, "diff", *arguments, "--html", victim])
            t.true(result.status != 0 and "is the trace itself" in text(result.stderr), f"{arguments}: {text(result.stderr)}")
            with open(victim, "rb") as file:
                t.true(file.read() == before, f"{arguments} keeps the recording")

t.end()
