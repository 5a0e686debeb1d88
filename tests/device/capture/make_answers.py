#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measured facts for the open questions, from what run_capture.sh wrote.

    make_answers.py FOLDER                  the folder with the groups' captures and logs
    readelf --debug-dump=frames LIBRARY | make_answers.py --frames
                                            how much code has unwind tables
    make_answers.py --as-nobody COMMAND…    runs it without privileges

Facts, not verdicts: a capture that is not there is said to be missing.
"""
import bisect
import collections
import glob
import os
import re
import statistics
import sys

import read_capture

BIAS_NS = 10**15
KERNEL = 10


class Missing(Exception):
    pass


class Work:
    """The captures and logs by the names of their steps."""

    def __init__(self, folder):
        self.paths, self.logs, self.problems, self._loaded = {}, {}, [], {}
        self.folder = folder
        for path in sorted(glob.glob(os.path.join(folder, "*", "*"))):
            name, extension = os.path.splitext(os.path.basename(path))
            if extension == ".cap":
                self.paths[name] = path
            elif extension == ".txt":
                with open(path, encoding="utf-8", errors="replace") as file:
                    self.logs[name] = file.read()

    def capture(self, name):
        if name not in self.paths:
            raise Missing(f"{name}: no capture")
        if name not in self._loaded:
            try:
                self._loaded[name] = read_capture.load(self.paths[name])
            except (OSError, read_capture.Damaged) as problem:
                raise Missing(f"{name}: {problem}") from None
        return self._loaded[name]

    def log(self, name):
        if name not in self.logs:
            raise Missing(f"{name}: no log")
        return self.logs[name]


def failures(capture):
    """Of its facts, the calls that failed; each key keeps its last value."""
    return [f"{key[7:]}={value}" for key, value in capture.facts().items() if key.startswith("failed.")]


def brief(capture, *keys):
    facts = capture.facts()
    words = [f"{key}={facts[key]}" for key in keys if key in facts]
    return "; ".join(words + failures(capture)) or "no facts"


def say(text=""):
    print(text)


# -- 1: which clock stamps follow --

def nearest_clock(difference_ns, clock_row):
    """Names the clock that a stamp, less CLOCK_MONOTONIC, is of."""
    before, _, _, realtime, boottime, _ = clock_row
    places = {"monotonic": 0, "monotonic+bias": BIAS_NS, "realtime": realtime - before,
              "boottime": boottime - before}
    if abs(places["boottime"]) < 10**9:  # never suspended: it is the same
        del places["boottime"]
    name = min(places, key=lambda key: abs(difference_ns - places[key]))
    return name, difference_ns - places[name]


def pm_clock_of(capture):
    """The clock of its samples and by how much the first block's last one ends off its writing; None: no samples."""
    for kind, _, written_ns, data in capture.chunks:
        if kind != read_capture.PMS or len(data) < 32:
            continue
        count, values, _, _ = read_capture.PM_BLOCK.unpack_from(data)
        if count:
            at = read_capture.PM_BLOCK.size + (count - 1) * (16 + 8 * values) + 8
            end = int.from_bytes(data[at:at + 8], "little")
            return nearest_clock(end - written_ns, capture.clocks()[0])
    return None


def pm_clock(work, name):
    capture = work.capture(name)
    found = pm_clock_of(capture)
    if found:
        say(f"  {name}: asked {capture.facts().get('stamp')}; the last sample of the first block ends "
            f"{found[1] / 1e6:+.3f} ms from its writing on {found[0]}")
    else:
        say(f"  {name}: no samples; {brief(capture)}")
    cupti_clock(name, capture)


def cupti_clock(name, capture):
    rows = [row for row in capture.clocks() if row[1]]
    if rows:
        row = min(rows, key=lambda row: row[2] - row[0])
        clock, rest = nearest_clock(row[1] - row[0], row)
        say(f"    cuptiGetTimestamp is {clock} {rest:+} ns, bracket {row[2] - row[0]} ns, "
            f"{len(rows)} readings")


def activity_clock(work, name):
    capture = work.capture(name)
    enters = {row[5]: row[0] for row in capture.callbacks() if row[1] == 1 and row[3] == 0}
    last = max((row[0] for row in capture.callbacks()), default=0)
    kernels = [row for row in capture.activity() if row.kind == KERNEL]
    found = collections.Counter()
    early = []
    for row in kernels:
        if row.correlation not in enters or not row.start_ns:
            found["without a launch" if row.start_ns else "untimed"] += 1
            continue
        clock, _ = nearest_clock(row.start_ns - enters[row.correlation], capture.clocks()[0])
        shift = {"monotonic": 0, "monotonic+bias": BIAS_NS}.get(clock)
        if shift is None:
            shift = capture.realtime_ns - capture.monotonic_ns
        start, end = row.start_ns - shift, row.end_ns - shift
        early.append(start - enters[row.correlation])
        found[clock] += 1
        found["before its launch"] += start < enters[row.correlation]
        found["after the last call"] += end > last
    text = ", ".join(f"{key} {count}" for key, count in sorted(found.items()) if count)
    say(f"  {name}: asked {capture.facts().get('stamp')}; {len(kernels)} kernels: {text or 'none'}"
        + (f"; start less launch: least {min(early)} ns, median {statistics.median(early):.0f} ns"
           if early else f"; {brief(capture)}"))
    cupti_clock(name, capture)


def question_1(work):
    each(work, pm_clock, "pm-base-1k", "pm-biased", "pm-default")
    each(work, activity_clock, "launches", "stamp-default", "stamp-biased")


# -- 2, 3: PC sampling beside other things --

def overlap(rows):
    """The most kernels that ran at one time, for more than the microsecond by which stamps may be off."""
    edges = sorted([(row.start_ns, 1) for row in rows] + [(row.end_ns - 1000, -1) for row in rows],
                   key=lambda edge: (edge[0], edge[1]))
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def pc_facts(work, name):
    capture = work.capture(name)
    reasons = collections.defaultdict(collections.Counter)
    correlated = 0
    for _, rows in capture.pcs():
        for _, _, _, correlation, pairs, function in rows:
            correlated += correlation != 0
            reasons[function].update(capture.issue_stalls(pairs))
    kernels = [row for row in capture.activity() if row.kind in (3, KERNEL)]
    say(f"  {name}: {brief(capture, 'pc.on', 'pc.session', 'pc.period_log2', 'pc.mode', 'pc.enable_ns')}")
    say(f"    kernel records {len(kernels)}, at most {overlap(kernels)} at one time; "
        f"PC records with a correlation id: {correlated}")
    for function, counts in sorted(reasons.items()):
        if not counts:
            continue
        top = ", ".join(f"{shorter(reason)} {count}" for reason, count in counts.most_common(4))
        say(f"    {function}: {top}")


def shorter(reason):
    return reason.replace("smsp__pcsamp_warps_issue_stalled_", "").replace("smsp__pcsamp_", "")


def question_2(work):
    each(work, pc_facts, "pc-plain", "pc-continuous", "pc-serialized", "pc-ranges", "pc-alone", "pc-old-kernel",
         "pc-runtime", "threads", "pc-threads", "pc-period-8", "pc-period-12", "pc-period-16",
         "pc-period-5", "pc-period-6", "pc-period-10", "pc-period-14", "pc-period-20", "pc-graphs",
         "pc-graphs-serialized", "pc-again", "torch-pc", "late-pc", "overlap-plain", "overlap-continuous",
         "overlap-serialized", "overlap-old-kernel")
    for name in ("overlap-plain", "overlap-continuous", "overlap-serialized", "overlap-old-kernel"):
        if name in work.logs:
            say(f"  {name}, as the program saw it: {work.logs[name].strip()}")
    for name in ("pc-plain", "pc-continuous", "pc-serialized", "pc-alone", "pc-old-kernel"):
        match = re.findall(r"duet_(\w+) steps=(\d+) seconds=([\d.]+)", work.logs.get(name, ""))
        if match:
            say(f"  {name} speed: " + ", ".join(f"{kernel} {float(seconds) / max(int(steps), 1) * 1e9:.2f} ns a step"
                                                for kernel, steps, seconds in match))


def question_3(work):
    each(work, pm_facts, "pm-beside-pc")
    each(work, pc_facts, "pc-beside-pm")
    say("  the other way round, PC sampling first:")
    each(work, pc_facts, "pc-before-pm")
    each(work, pm_facts, "pm-after-pc")
    each(work, activity_clock, "trace-beside-pm")
    each(work, pm_facts, "pm-first", "pm-second", "pm-beside-ncu")
    for name in ("ncu-alone", "ncu-beside-pm", "ncu-with-agent"):
        say(f"  {name}: {' | '.join(work.logs.get(name, 'no log').splitlines()[-6:])}")


# -- 4, 5: PM sampling from outside, and clocks --

def pm_facts(work, name):
    capture = work.capture(name)
    metrics = capture.metrics()
    rows = [row for _, _, found in capture.pms() for row in found]
    keys = ("chip", "supported", "pm.context", "pm.availability", "pm.metrics", "pm.passes", "pm.interval_ns",
            "pm.enable_ns", "pm.samples", "pm.decodes", "pm.overflows", "pm.full", "pm.other")
    say(f"  {name}: {brief(capture, *keys)}")
    if not rows:
        return
    steps = [after[0] - before[0] for before, after in zip(rows, rows[1:])]
    if steps:
        say(f"    {len(rows)} samples over {(rows[-1][1] - rows[0][0]) / 1e9:.3f} s, step median "
            f"{statistics.median(steps):.0f} ns, least {min(steps)}, most {max(steps)}")
    shown, zeros = [], []
    for index, metric in enumerate(metrics):
        values = [row[2][index] for row in rows if row[2][index] == row[2][index]]
        absent = f" ({len(rows) - len(values)} not there)" if len(values) < len(rows) else ""
        if values and max(values) > 0:
            shown.append(f"{metric} mean {statistics.fmean(values):.5g} most {max(values):.5g}{absent}")
        else:
            zeros.append(metric.split(".")[-2 if "Triage" in metric else 0] + absent)
    for line in shown[:20]:
        say(f"    {line}")
    if len(shown) > 20:
        say(f"    and {len(shown) - 20} more")
    if zeros:
        say(f"    always 0: {' '.join(zeros[:20])}")


def question_4(work):
    say("  the sampling process makes no context; the work is in another process")
    each(work, pm_facts, "pm-base-1k", "pm-base-10k", "pm-context", "pm-triage", "pm-overflow", "nobody-pm")
    say("  by phase of the work, mean of each counter:")
    each(work, pm_phases, "pm-base-1k", "pm-base-10k", "pm-context", "pm-default")
    each(work, nvml_phases, "nvml-busy")


def phases(work):
    """(name, begin, end) in seconds, of the workload beside the samples."""
    return [(name, float(begin), float(end)) for name, begin, end in
            re.findall(r"busy phase=(\w+) begin=([\d.]+) end=([\d.]+)", work.log("busy"))]


def phase_means(work, label, keys, rows):
    """rows: (begin, end in seconds, values); says each key's mean of the rows that are inside of one phase."""
    spans = phases(work)
    begins = [begin for _, begin, _ in spans]
    found = collections.defaultdict(list)
    for begin, end, values in rows:
        index = bisect.bisect_right(begins, begin) - 1
        if index >= 0 and end <= spans[index][2]:
            found[spans[index][0]].append(values)
    for index, key in enumerate(keys):
        means = []
        for phase in ("stream", "copy", "tensor", "fma", "idle"):
            values = [row[index] for row in found[phase] if row[index] == row[index]]
            means.append(f"{phase} {statistics.fmean(values):.4g}" if values else f"{phase} none")
        say(f"    {label} {key}: {', '.join(means)}")


def pm_phases(work, name):
    """On whichever clock the samples are."""
    capture = work.capture(name)
    clock, _ = pm_clock_of(capture) or ("monotonic", 0)
    before, _, _, realtime, boottime, _ = capture.clocks()[0]
    shift = {"realtime": realtime - before, "boottime": boottime - before, "monotonic+bias": BIAS_NS}.get(clock, 0)
    phase_means(work, name, [metric.split(".")[0] for metric in capture.metrics()],
                [((start - shift) / 1e9, (end - shift) / 1e9, values)
                 for _, _, rows in capture.pms() for start, end, values in rows])


def nvml_phases(work, name):
    """A row of NVML is of the tenth of a second before it."""
    keys, rows = work.capture(name).series()
    phase_means(work, name, keys, [(row[0] - 0.1, row[0], row[1:]) for row in rows])


def question_5(work):
    keys, rows = work.capture("nvml-busy").series()
    column = keys.index("sm_mhz") + 1
    spans = []
    for name in ("pm-base-1k", "pm-base-10k", "pm-context", "pm-biased", "pm-default", "pm-triage", "pm-overflow"):
        if name in work.paths:
            times = [time for _, _, time, _ in work.capture(name).chunks]
            on = [time for kind, _, time, data in work.capture(name).chunks
                  if kind == read_capture.FACTS and data.startswith(b"pm.enable_ns")]
            if on:
                spans.append((on[0] / 1e9, max(times) / 1e9, name))
    for begin, end, name in spans:
        series_line(f"sm_mhz while {name} samples", [row[column] for row in rows if begin <= row[0] <= end])
    span = [row[0] for row in work.capture("nvml-between").series()[1]] if "nvml-between" in work.paths else []
    if span:
        series_line("sm_mhz between two of them, nobody sampling",
                    [row[column] for row in rows if min(span) <= row[0] <= max(span)])
    series_line("sm_mhz at other times, the GPU busy",
                [row[column] for row in rows if not any(begin <= row[0] <= end for begin, end, _ in spans)])
    if "nvml-idle" in work.paths:
        keys, rows = work.capture("nvml-idle").series()
        series_line("sm_mhz idle", [row[keys.index("sm_mhz") + 1] for row in rows])
    for name in ("nvml-busy", "nvml-idle", "nvml-later"):
        if name in work.paths:
            say(f"  {name}: " + "; ".join(f"{key}={value}" for key, value in work.capture(name).facts().items()))
    keys, rows = work.capture("nvml-busy").series()
    for index, key in enumerate(keys):
        series_line(f"nvml-busy {key}", [row[index + 1] for row in rows])


def series_line(what, values):
    there = [value for value in values if value == value]
    say(f"  {what}: " + (f"median {statistics.median(there):g}, least {min(there):g}, most {max(there):g}, "
                         f"{len(there)} of {len(values)}" if there else f"not there in {len(values)} rows"))


# -- 6: cost --

def cost_of(text):
    """ns a call without waits for the GPU; or what its speed comes to; None: neither is there."""
    found = re.search(r"ns_a_call=([\d.]+)", text)
    if found:
        return float(found[1])
    found = re.search(r"_per_second=([\d.]+)", text)
    return 1e9 / float(found[1]) if found and float(found[1]) else None


def question_6(work):
    costs = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, text in sorted(work.logs.items()):
        match = re.fullmatch(r"cost-(\w+)-(\w+)-\d+", name)
        cost = cost_of(text) if match else None
        if cost:
            costs[match[1]][match[2]].append(cost)
    say("  ns a call, median of the rounds; of PyTorch: ns a step, waits included")
    for program, modes in costs.items():
        base = statistics.median(modes["none"]) if "none" in modes else 0
        for mode, values in sorted(modes.items(), key=lambda item: statistics.median(item[1])):
            median = statistics.median(values)
            part = f", {median - base:+.0f} ns, {100 * (median / base - 1):+.1f} %" if base else ""
            say(f"  {program} {mode}: {median:.0f} ns{part} (rounds: " + " ".join(f"{value:.0f}" for value in values)
                + ")")
    if not costs:
        raise Missing("no costs were measured")


# -- 7: the leak --

def leak_facts(work, name):
    rows = [(int(nodes), int(used), int(rss), float(seconds)) for nodes, used, rss, seconds in
            re.findall(r"nodes=(\d+) used_mib=(\d+) rss_kib=(\d+) seconds=([\d.]+)", work.log(name))]
    if not rows:
        raise Missing(f"{name}: {work.log(name)[-200:].strip()}")
    shown = rows[:1] + rows[1::max(1, len(rows) // 8)] + rows[-1:]
    say(f"  {name}: " + ", ".join(f"{nodes / 1e6:.1f} M nodes GPU {used} process {rss // 1024} MiB"
                                  for nodes, used, rss, _ in shown)
        + f"; {rows[-1][0] / max(rows[-1][3], 1e-9):.0f} nodes a second")
    if name not in work.paths:
        return
    keys = ("pool_limit", "records.10", "untimed.10", "first_untimed_kernel", "strange_kernels", "dropped", "buffers",
            "exit")
    say(f"    {brief(work.capture(name), *keys)}")


def question_7(work):
    say("  leak-base is without the agent")
    each(work, leak_facts, "leak-base", "leak-plain", "leak-normal", "leak-forced", "leak-pool", "leak-pool-forced")


# -- 8: unwinding --

def stack_facts(work, name):
    capture = work.capture(name)
    facts = capture.facts()
    say(f"  {name}: " + brief(capture, "stacks", "stack.cost_ns_median", "stack.cost_ns_p99",
                              "stack.depth_median", "stack.ends"))
    for number in range(3):
        if f"stack.{number}" not in facts:
            break
        say(f"    stack {number}: {facts[f'stack.{number}']}")
        for key, value in facts.items():
            if key.startswith(f"stack.{number}."):
                say(f"      {value}")


def question_8(work):
    say("  " + work.logs.get("tables", "no log of the tables").strip().replace("\n", "\n  "))
    each(work, stack_facts, "stack-unwind", "stack-fp", "stack-runtime", "torch-eager")


def question_9(work):
    say("  " + work.log("pm-offline").strip().replace("\n", "\n  "))


# -- what else the captures show --

def nested_calls(capture):
    """{(outer name, inner name): Counter of same, other}: calls of the driver inside of those of the runtime."""
    found = collections.defaultdict(collections.Counter)
    outer = {}  # by thread
    for row in capture.callbacks():
        domain, site, tid, correlation, name = row[1], row[3], row[4], row[5], row[9]
        if domain == 2:
            outer[tid] = (correlation, name) if site == 0 else None
        elif domain == 1 and site == 0 and outer.get(tid):
            found[(outer[tid][1], name)]["same" if outer[tid][0] == correlation else "other"] += 1
    return found


def nesting(work):
    any_found = False
    for name in work.paths:
        try:
            found = nested_calls(work.capture(name))
            ids = collections.Counter(row.correlation for row in work.capture(name).activity() if row.kind == KERNEL)
        except (Missing, read_capture.Damaged):
            continue
        for (outer, inner), counts in sorted(found.items()):
            any_found = True
            say(f"  {name}: {inner} inside of {outer}: the same correlation id {counts['same']} times, "
                f"one of its own {counts['other']} times")
        if found:
            own = {row[5] for row in work.capture(name).callbacks() if row[1] == 1}
            say(f"    kernels with an id of a driver's call: {sum(count for key, count in ids.items() if key in own)} "
                f"of {sum(ids.values())}")
    if not any_found:
        say("  no call of the driver was seen inside of one of the runtime")
    if "calls" in work.logs:
        say(f"  calls: {' | '.join(work.logs['calls'].strip().splitlines())}")


def not_ok(work):
    """What steps.tsv says of steps that are not ok."""
    path = os.path.join(work.folder, "steps.tsv")
    if not os.path.exists(path):
        raise Missing(f"there is no {path}")
    with open(path, encoding="utf-8", errors="replace") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    for row in rows:
        if len(row) == 4 and row[2] != "ok":
            say(f"  {row[2]} {row[0]}: {row[3]}")


def others(work):
    for name in work.paths:
        try:
            one_capture(name, work.capture(name))
        except (Missing, read_capture.Damaged) as problem:
            say(f"  {name}: {problem}")
        except (ValueError, IndexError, KeyError, ArithmeticError) as problem:
            say(f"  {name}: {type(problem).__name__} {problem}")


def one_capture(name, capture):
    activity = list(capture.activity())
    kinds = collections.Counter(row.kind for row in activity)
    calls = {row[5] for row in capture.callbacks() if row[1] in (1, 2)}
    text = ", ".join(f"{read_capture.KINDS.get(kind, kind)} {count}" for kind, count in sorted(kinds.items()))
    facts = capture.facts()
    times = ""
    if "start_cost_ns" in facts and "exit.end_ns" in facts:
        times = (f", start {int(facts['start_cost_ns']) / 1e6:.1f} ms, "
                 f"end {(int(facts['exit.end_ns']) - int(facts['exit.begin_ns'])) / 1e6:.1f} ms")
    say(f"  {name}: {text or 'no records'}; exit {facts.get('exit', '?')}{times}"
        + (f"; DAMAGED {capture.damage}" if capture.damage else ""))
    if calls and kinds[KERNEL]:
        lost = sum(row.kind == KERNEL and row.correlation not in calls for row in activity)
        say(f"    kernels whose correlation id is of no callback: {lost} of {kinds[KERNEL]}")
        say(f"    kernels without a name: {sum(row.kind == KERNEL and not row.name for row in activity)}")
    launches = collections.Counter((row[1], row[2], row[9]) for row in capture.callbacks()
                                   if row[3] != 1 and re.search("Launch|CLONED|MODULE_L", row[9]))
    if launches:
        say("    " + ", ".join(f"{domain}:{cbid} {call} {count}" for (domain, cbid, call), count
                               in launches.most_common(12)))
    wrong = [f"{key}={value}" for key, value in capture.facts().items()
             if key.startswith("stride.") and capture.stride(int(key[7:])) not in (0, int(value)) and value != "0"]
    if wrong:
        say(f"    STRIDES differ from the reader's: {' '.join(wrong)}")
    for odd in capture.odd:
        say(f"    ODD {odd}")
    if failures(capture):
        say(f"    failed: {'; '.join(failures(capture))}")


def each(work, action, *names):
    """Says of each what action finds; what is missing in one line."""
    not_run = [name for name in names if name not in work.paths and name not in work.logs]
    for name in names:
        if name in not_run:
            continue
        try:
            action(work, name)
        except Missing as missing:
            say(f"  {missing}")
        except (read_capture.Damaged, ValueError, IndexError, KeyError, ArithmeticError) as problem:
            say(f"  {name}: {type(problem).__name__} {problem}")
    if not_run:
        say(f"  not run: {' '.join(not_run)}")


QUESTIONS = [
    ("1. Does the timestamp callback govern PM-sampling times?", question_1),
    ("2. Do CONTINUOUS PC sampling and CONCURRENT_KERNEL coexist?", question_2),
    ("3. PM and PC sampling together?", question_3),
    ("4. Out-of-process PM sampling, system-wide, with no context?", question_4),
    ("5. How far are clocks locked?", question_5),
    ("6. What does injection alone cost?", question_6),
    ("7. Does FlushAll(FORCED) cure the graph-buffer leak?", question_7),
    ("8. Does libcuda carry usable unwind tables?", question_8),
    ("9. Offline evaluation of counter-data images without a driver?", question_9),
    ("Do calls of the runtime and of the driver inside of them have one correlation id?", nesting),
    ("Steps that are not ok", not_ok),
    ("All captures", others),
]


def answer(folder):
    work = Work(folder)
    for title, question in QUESTIONS:
        say(title)
        try:
            question(work)
        except Missing as missing:
            say(f"  {missing}")
        except Exception as problem:  # one question must not take the others along
            say(f"  {type(problem).__name__}: {problem}")
        say()
    return 0


def count_frames(lines):
    spans = []
    for line in lines:
        match = re.search(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if match:
            spans.append((int(match[1], 16), int(match[2], 16)))
    covered = sum(end - begin for begin, end in spans)
    print(f"tables: {len(spans)} entries of {covered} bytes of code")
    return 0


def run_as_nobody(command):
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    os.execvp(command[0], command)


def main():
    arguments = sys.argv[1:]
    if arguments == ["--frames"]:
        return count_frames(sys.stdin)
    if arguments[:1] == ["--as-nobody"] and len(arguments) > 1:
        run_as_nobody(arguments[1:])
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    return answer(arguments[0])


if __name__ == "__main__":
    sys.exit(main())
