#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU samples of duet compared with those of perf, both taken in the same run.

    perf record -- duet record -- PROGRAM

Both sample the program from its exec to its end, with the same event and similar rates that share no common period.
Only samples of the program's process are counted. Self time goes to the function of the symbol table, so inlined code
counts for its caller.

--buildid-mmap: duet's events request build ids, which makes the kernel mark perf's records as if they had some, and perf
6.1 crashes. DUET_PERF_MS: computing time of the C program (4000). The tables are printed as comments.
"""
import collections
import os
import re
import shutil
import statistics

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite(needs_opencl=False)
PERF_HERTZ, DUET_HERTZ = 997, 991
MILLISECONDS = os.environ.get("DUET_PERF_MS", "4000")
# One of all comparisons of all cases may fail once in 10,000 runs although both are right.
FALSE_ALARM, COMPARISONS = 1e-4, 100
Z = statistics.NormalDist().inv_cdf(1 - FALSE_ALARM / COMPARISONS / 2)

# Of one profiler: [([function, innermost last], samples)], their number, {function: samples in itself},
# {function: samples in or below it}.
Profile = collections.namedtuple("Profile", "stacks samples own below")


def check_perf():
    """Skips where perf is not there or may not do what the comparison needs."""
    t.wanted()
    if not shutil.which("perf"):
        raise duet_test.Skip("no perf (Debian package linux-perf)")
    tried = run(["perf", "record", "--buildid-mmap", "-e", "cpu-clock", "-o", t.path("try.data"), "--", "true"])
    if tried.status != 0:
        raise duet_test.Skip("perf record: " + " ".join(text(tried.stderr).split())[:200])


def plain_name(name):
    """Without a C++ function's parameters, which perf leaves out. Bare addresses and the vDSO count by file."""
    name = re.sub(r"^\[?(\S+?)\]?\+0x[0-9a-f]+$", r"[\1]", name)
    return re.sub(r"(?<=[\w>~])\(.*", "", name)


def count(stacks):
    own, below = collections.Counter(), collections.Counter()
    for functions, samples in stacks:
        if not functions:
            continue
        own[functions[-1]] += samples
        for function in set(functions):
            below[function] += samples
    return Profile(stacks, sum(own.values()), own, below)


def perf_function(name, file):
    file = os.path.basename(file)
    return "[vdso]" if file == "[vdso]" else f"[{file}]" if name == "[unknown]" else plain_name(name)


def read_perf(path):
    """Samples of what ran below duet record: the recorder's and perf's own have their names."""
    script = run(["perf", "script", "--no-inline", "-i", path, "-F", "comm,pid,ip,sym,dso"])
    t.equal(script.status, 0, f"perf script: {text(script.stderr)}")
    stacks, functions = [], []
    for line in filter(None, text(script.stdout).splitlines()):
        frame = re.match(r"\t\s*[0-9a-f]+ (.*) \((.*)\)$", line)
        if not frame:  # a sample begins; without call graph its only frame is on the same line
            command, frame = re.match(r"\s*(.+?)\s+\d+\s*([0-9a-f]+ .*)?$", line).groups()
            frame = re.match(r"[0-9a-f]+ (.*) \((.*)\)$", frame or "")
            functions = []
            if command not in ("duet", "perf", "perf-exec"):
                stacks.append((functions, 1))
        if frame:
            functions.insert(0, perf_function(*frame.groups()))
    return count(stacks)


def read_duet(path):
    stacks = []
    for frames, ns in t.folded(path, "cpu"):
        functions = [plain_name(re.sub(r"_\[[kj]\]$", "", frame)) for frame in frames if not frame.endswith("_[i]")]
        stacks.append((functions, round(ns * DUET_HERTZ / 1e9)))
    return count(stacks)


def record(name, command, perf_options=()):
    """The program's output, what both saw of it, and how many samples duet says it lost: a recorder that gets no processor
    for 30 ms at this rate."""
    perf_file, trace = t.path(name + ".data"), t.path(name + ".duet")
    recorded = run(["perf", "record", "--buildid-mmap", "-B", "-e", "cpu-clock", "-F", str(PERF_HERTZ), "-m", "4M",
                    *perf_options, "-o", perf_file, "--",
                    DUET, "record", "--collect", "opencl,cpu", "-e", "cpu-clock", "-F", str(DUET_HERTZ),
                    "-o", trace, "--", *command])
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    t.true("lost" not in text(recorded.stderr).lower(), text(recorded.stderr))
    lost = sum(row["count"] for row in t.report(trace).get("losses", []) if row["kind"] == "cpu_sample")
    return text(recorded.stdout), read_perf(perf_file), read_duet(trace), lost


def largest(counter, most=10):
    return [name for name, _ in counter.most_common(most)]


def compare(title, perf, duet, names, part):
    """Shares of two samples of the same run differ by chance alone: that of a two-sample comparison. Both saw the same
    pieces of the same run, which makes chance smaller than that."""
    print(f"# {title}: perf {perf.samples}, duet {duet.samples} samples; perf %, duet %, within")
    for name in names:
        ours, theirs = getattr(duet, part)[name], getattr(perf, part)[name]
        share = (ours + theirs) / (duet.samples + perf.samples)
        within = Z * (share * (1 - share) * (1 / duet.samples + 1 / perf.samples)) ** 0.5
        difference = ours / duet.samples - theirs / perf.samples
        print(f"# {title}: {name:36.36} {100 * theirs / perf.samples:6.2f} {100 * ours / duet.samples:6.2f} "
              f"{100 * within:5.2f}")
        t.true(abs(difference) <= within, f"{title}, {name}: perf {theirs} of {perf.samples}, duet {ours} of {duet.samples}")


def whole_stacks(profile):
    """perf ends a stack in the vDSO in one run and not in the next, and one in a thousand elsewhere."""
    return count([(functions, samples) for functions, samples in profile.stacks if "main" in functions])


def check_totals(perf, duet, lost):
    """As much time in all, by samples that come one period after the other: to a hundredth and some at begin and end."""
    theirs, ours = perf.samples / PERF_HERTZ, (duet.samples + lost) / DUET_HERTZ
    t.true(abs(theirs - ours) < 0.01 * theirs + 0.03, f"processor time: perf {theirs:.3f} s, duet {ours:.3f} s, of which {lost} samples lost")
    t.true(lost < 0.1 * duet.samples, f"{lost} samples lost")


with t.case("perf and duet in one run: twelve functions of a C program, and who called them"):
    check_perf()
    output, perf, duet, lost = record("weights", [program("cpu_weights"), MILLISECONDS], ["--call-graph", "dwarf"])
    told = {name: int(ns) for name, ns in (line.split() for line in output.splitlines())}
    check_totals(perf, duet, lost)
    names = sorted(set(largest(perf.own)) | set(largest(duet.own)) | set(told), key=lambda name: -perf.own[name])
    compare("self", perf, duet, names, "own")
    callers = ["first_round", "second_round", "transform", "summarise", "prepare", "run_leaf"]
    compare("with callees", whole_stacks(perf), whole_stacks(duet), callers, "below")
    t.true(duet.below["main"] > 0.995 * duet.samples, f"{duet.below['main']} of {duet.samples} below main")
    for name, ns in told.items():
        share = ns / sum(told.values())
        within = Z * (share * (1 - share) / duet.samples) ** 0.5
        # the program's clock is asked at both ends of a piece of some 100 us, which is part of its time
        t.true(abs(duet.below[name] / duet.below["run_leaf"] - share) <= within + 0.02 * share,
               f"{name}: told {share:.4f}, duet {duet.below[name]} of {duet.below['run_leaf']}")
        print(f"# told: {name:36} {100 * share:6.2f}")

with t.case("perf and duet in one run: the kernels of an OpenCL program on the CPU"):
    check_perf()
    render = os.path.join(duet_test.BUILD, "examples", "render")
    if not os.path.exists(render):
        raise duet_test.Skip("examples/render was not built")
    run([render, "--iterations", "1", "--output", t.path("warm.ppm")])  # compiles the kernels
    _, perf, duet, lost = record("render", [render, "--iterations", "60", "--output", t.path("picture.ppm")])
    check_totals(perf, duet, lost)
    names = sorted(set(largest(perf.own)) | set(largest(duet.own)), key=lambda name: -perf.own[name])
    compare("render", perf, duet, names, "own")
    t.true(sum(perf.own[name] for name in names[:3]) > perf.samples / 2, "the kernels are what takes the time")

t.end()
