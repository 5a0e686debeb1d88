#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The configuration file of duet record: it accepts the options of the command line, the command line wins, and every
mistake is reported with its place.
"""
import json
import os
import re
import shutil
import subprocess

import duet_test
from duet_test import DUET, ROOT, run, text

t = duet_test.Suite(needs_opencl=False)

PROTO = os.path.join(ROOT, "proto", "duet_config.proto")
EXAMPLE = os.path.join(ROOT, "examples", "duet.textproto")
HEAD = "# proto-file: duet_config.proto\n# proto-message: duet.DuetConfig\n\n"

# Options of the command line alone: they name the file, or print, or are what libduet says of itself.
OF_COMMAND_LINE = {"config", "print_config", "help"}
# Not an option: the operands, what --collect NAME:OPTION says, and the options of other verbs.
OF_OTHER_VERBS = {"gate", "agent", "prometheus", "otlp", "pprof"}
OF_FILE = {"command", "system", "nvidia", "drm"} | OF_OTHER_VERBS

# Each option with a value, and the field that --print-config makes of it. `need`: what must be said beside it.
VALUES = {
    "output": (["-o", "run-%p-%%.duet"], 'output: "run-%p-%%.duet"'),
    "pid": (["-p", "12,0034"], "pid: [12, 34]"),
    "all": (["-a"], "all: true"),
    "user": (["--user", "nobody"], 'user: "nobody"'),
    "preload": (["--preload"], "preload: true"),
    "collect": (["--collect", "cpu:nofaults,-opencl"], 'collect: ["cpu:nofaults", "-opencl"]'),
    "frequency": (["-F", "099", "--collect", "cpu"], "frequency: 99"),
    "event": (["-e", "cpu-clock", "--collect", "cpu"], 'event: "cpu-clock"'),
    "stacks": (["--stacks", "python"], "stacks: python"),
    "device": (["--device", "GPU-1b0e6f4a,a GPU"], 'device: ["GPU-1b0e6f4a", "a GPU"]'),
    "duration": (["-d", "1.5"], 'duration: "1500ms"'),
    "keep": (["--keep", "3600"], 'keep: "1h"'),
    "trigger": (["--trigger", "iteration > 3 x p99", "--trigger", "idle > 1ms"],
                'trigger: ["iteration > 3 x p99", "idle > 1ms"]'),
    "trigger_after": (["--trigger", "throttled", "--trigger-after", "0.5"], 'trigger_after: "500ms"'),
    "trigger_interval": (["--trigger", "throttled", "--trigger-interval", "60"], 'trigger_interval: "1m"'),
    "trigger_max": (["--trigger", "throttled", "--trigger-max", "03"], "trigger_max: 3"),
    "trigger_output": (["--trigger", "throttled", "--trigger-output", "a-%n.duet"], 'trigger_output: "a-%n.duet"'),
    "trigger_run": (["--trigger", "throttled", "--trigger-run", "mail root"], 'trigger_run: "mail root"'),
    "max_size": (["--max-size", "1024K"], 'max_size: "1M"'),
    "max_memory": (["--max-memory", "65536K"], 'max_memory: "64M"'),
    "flush_interval": (["--flush-interval", "0.25"], 'flush_interval: "250ms"'),
    "max_overhead": (["--max-overhead", "2%"], 'max_overhead: "2%"'),
    "overhead_range": (["--max-overhead", "2%", "--overhead-range", "step"], 'overhead_range: "step"'),
    "archive": (["--archive"], "archive: true"),
    "verbose": (["-v"], "verbose: true"),
}
NEEDS_ROOT = {"user"}


def write(name, content):
    path = t.path(name)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def record(*arguments, config=None, **options):
    """duet record in the folder of the test, where config is the text of c.textproto."""
    if config is not None:
        write("c.textproto", config)
        arguments = ["-c", "c.textproto", *arguments]
    t.wanted()
    return run([DUET, "record", *arguments], cwd=t.folder, **options)


def printed(*arguments, config=None):
    """The fields that --print-config prints."""
    result = record("--print-config", *arguments, config=config)
    t.equal((result.status, text(result.stderr)), (0, ""), f"--print-config {arguments} {config}")
    t.true(text(result.stdout).startswith(HEAD), f"its head: {text(result.stdout)}")
    return text(result.stdout)[len(HEAD):]


def fields_of_schema():
    with open(PROTO, encoding="utf-8") as file:
        message = re.search(r"^message DuetConfig \{\n(.*?)^\}", file.read(), re.M | re.S).group(1)
    return set(re.findall(r"^\t(?:optional|repeated) [\w.]+ (\w+) = \d+;", message, re.M))


def groups_of_schema():
    """{collector: its fields} of the groups that are collectors' options."""
    with open(PROTO, encoding="utf-8") as file:
        schema = file.read()
    names = {name.lower(): name for name in re.findall(r"^message (\w+) \{", schema, re.M)}
    return {name: re.findall(r"^\t(?:optional|repeated) \w+ (\w+) = ",
                             re.search(rf"^message {names[name]} \{{\n(.*?)^\}}", schema, re.M | re.S).group(1), re.M)
            for name in OF_FILE - OF_OTHER_VERBS - {"command"}}


def options_of_collector(name):
    """As they are listed behind one that does not exist."""
    told = text(record("--collect", f"{name}:no-such-option", "--", "true").stderr)
    found = re.findall(rf" {name}:([\w-]+)", told)  # disk=GLOB is disk
    return [name.replace("-", "_") for index, name in enumerate(found) if name not in found[:index]]


def options_of_help():
    own = text(run([DUET, "record", "--help"]).stdout).partition("\non another machine")[0]
    options = re.findall(r"^ +(?:-., )?--([a-z-]+)", own, re.M)
    return {option.replace("-", "_") for option in options}


def collectors():
    lines = text(run([DUET, "list", "collectors"]).stdout).splitlines()
    return " ".join(line.split()[0] for line in lines)


def can_be_said(name):
    return name not in NEEDS_ROOT or os.geteuid() == 0


# ---- the same as the command line ----

with t.case("every option is a field, and every field an option"):
    t.equal(options_of_help() - OF_COMMAND_LINE, fields_of_schema() - OF_FILE, "options and fields")
    t.equal(set(VALUES), fields_of_schema() - OF_FILE, "values to try")
    t.true(OF_FILE <= fields_of_schema() and OF_COMMAND_LINE <= options_of_help(), "exceptions are there")

with t.case("every option of a collector with a group is a field of it, and collectors with a rate have a group"):
    groups = groups_of_schema()
    for name in collectors().split():
        # pc=N is a field of pc's own kind, and -cuda is cuda: false
        options = ["rate_hz" if option == "HZ" else option for option in options_of_collector(name)
                   if "=" not in option and not option.startswith("_")]
        t.true("rate_hz" not in options or name in groups, f"{name} has a group")
        t.equal(groups.get(name, options), options, f"options of {name}")

with t.case("a group enables its collector in addition to the others"):
    for file in ("system {\n}\n", "system {\n  rate_hz: 50\n  smaps: true\n}\n", "nvidia {\n  rate_hz: 5\n}\n",
                 "drm {\n  rate_hz: 5\n  metric: [\"gpu.*@2\"]\n}\n",
                 'system {\n  metric: ["process.cpu@100", "*"]\n  disk: ["no_disk*", "0?"]\n  interface: ["lo"]\n  process: ["a_b*"]\n}\n'):
        t.equal(printed(config=file), f'output: "duet.duet"\nstacks: all\n{file}', "printed as it was said")
    recorded = {}
    for file in ("system { rate_hz: 100 } collect: 'cpu'", "collect: 'cpu'"):
        t.equal(record("-o", "g.duet", "--", "sleep", "0.3", config=file).status, 0, f"status of {file}")
        info = json.loads(run([DUET, "info", "--json", t.path("g.duet")]).stdout)
        recorded[file] = {row["name"] for row in info["collectors"]}
    t.equal([recorded["system { rate_hz: 100 } collect: 'cpu'"], recorded["collect: 'cpu'"]], [{"cpu", "system"}, {"cpu"}],
            "collectors of a list")

with t.case("the rate of a group is that of its collector"):
    rates = {}
    for file in ("system { rate_hz: 100 smaps: false }", "collect: 'system'"):
        record("-o", "r.duet", "--", "sleep", "0.3", config=file)
        rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", t.path("r.duet")]).stdout.splitlines()
        rates[file] = {row["interval_ns"] for row in map(json.loads, rows) if row["kind"] == "series"}
    t.true(10 ** 7 in rates["system { rate_hz: 100 smaps: false }"], f"intervals: {rates}")
    t.true(10 ** 7 not in rates["collect: 'system'"], f"intervals: {rates}")

with t.case("metrics, disks and processes are chosen in the file; a whole name that does not exist is refused with those that do"):
    disks = [line.split()[0] for line in text(run([DUET, "list", "disks"]).stdout).splitlines()]
    t.equal(disks, [line.split()[2] for line in open("/proc/diskstats", encoding="utf-8")], "duet list disks")
    told = record("-o", "d.duet", "--", "true", config="system { disk: 'no-such-disk' }")
    t.equal((told.status, "system: no disk 'no-such-disk'" in text(told.stderr) and all(name in text(told.stderr) for name in disks[:5])),
            (125, True), f"a disk: {text(told.stderr)}")
    told = record("-o", "d.duet", "--", "true", config="system { interface: 'no-such' }")
    t.true("no network interface 'no-such'" in text(told.stderr) and " lo" in text(told.stderr), text(told.stderr))
    busy = "end=$(($(date +%s)+2)); while [ $(date +%s) -lt $end ]; do :; done"
    result = record("-o", "p.duet", "--", "sh", "-c", f"sleep 1 & {busy}; wait",
                    config="system { metric: ['process.cpu@100', 'memory.used'] process: 'sh' disk: '*' }")
    t.equal(result.status, 0, text(result.stderr))
    rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", t.path("p.duet")]).stdout.splitlines()
    rows = list(map(json.loads, rows))
    t.equal({(row["metric"], row["interval_ns"]) for row in rows if row["kind"] == "series"},
            {("process.cpu", 10 ** 7), ("memory.used", 10 ** 8)}, "metrics and intervals")
    names = {row["id"]: row["name"] for row in rows if row["kind"] == "process"}
    t.equal({names[row["process"]] for row in rows if row["kind"] == "series" and row["metric"] == "process.cpu"}, {"sh"}, "processes")

with t.case("-a with a name: counters of such processes of the whole machine, also of one that starts later"):
    name = f"duet{os.getpid()}"[:15]
    shutil.copy("/bin/sleep", t.path(name))
    with subprocess.Popen([t.path(name), "60"]) as first:
        recorder = subprocess.Popen([DUET, "record", "-a", "-d", "4", "--collect", f"system:process={name},system:metric=process.memory.rss",
                                     "-o", t.path("all.duet")], stderr=subprocess.PIPE)
        t.wanted()
        with subprocess.Popen(["sleep", "1.5"]) as pause:
            pause.wait()
        with subprocess.Popen([t.path(name), "60"]) as second:
            recorder.communicate()
            rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", t.path("all.duet")]).stdout.splitlines()
            pids = {row["id"]: row["pid"] for row in map(json.loads, rows) if row["kind"] == "process"}
            t.equal({pids[row["process"]] for row in map(json.loads, rows) if row["kind"] == "series"}, {first.pid, second.pid}, "processes")
            second.kill()
        first.kill()

with t.case("a switch set to false is off"):
    record("-o", "off.duet", "--", "sleep", "0.3", config="collect: 'system:smaps' system { smaps: false }")
    rows = run([DUET, "export", "-f", "jsonl", "-o", "/dev/stdout", t.path("off.duet")]).stdout.splitlines()
    seen = {row["metric"] for row in map(json.loads, rows) if row["kind"] == "series"}
    t.equal([name in seen for name in ("memory.used", "process.memory.uss")], [True, False], "metrics")

with t.case("--collect on the command line overrides groups of the file"):
    t.equal(printed("--collect", "system", config="system { rate_hz: 7 }"),
            'output: "duet.duet"\ncollect: ["system"]\nstacks: all\n', "printed")

with t.case("every option: the printed configuration gives the same options again"):
    for name, (arguments, field) in VALUES.items():
        if can_be_said(name):
            first = printed(*arguments)
            t.true(field in first.splitlines(), f"{name}: {field!r} in {first!r}")
            t.equal(printed(config=first), first, f"{name}: printed, read and printed again")

with t.case("all options in one file"):
    file = "\n".join(field for name, (_, field) in VALUES.items()
                     if name not in ("pid", "all", "collect") and can_be_said(name))
    file += '\ncommand: ["prog", "-x", "a b", ""]\ncollect: "cpu"\n'
    again = printed(config=file)
    t.equal(sorted(re.split(r"\n", again.strip())), sorted(
        line.replace('collect: "cpu"', 'collect: ["cpu"]') for line in file.strip().splitlines()), "fields")
    t.equal(printed(config=again), again, "printed again")

with t.case("defaults that do not depend on the machine are printed"):
    t.equal(printed(), 'output: "duet.duet"\nstacks: all\n', "of nothing")
    t.equal(printed(config=""), 'output: "duet.duet"\nstacks: all\n', "of an empty file")

with t.case("protoc reads the printed configuration and the example"):
    if not shutil.which("protoc"):
        raise duet_test.Skip("protoc is not installed")
    with open(EXAMPLE, "rb") as file:
        sample = file.read()
    for content in (printed("--", "prog", "ä\n\x01'\"\\").encode(), printed("-d", "1h").encode(), sample):
        t.wanted()
        result = subprocess.run(["protoc", f"--proto_path={os.path.dirname(PROTO)}", "--encode=duet.DuetConfig", PROTO],
                                input=content, capture_output=True, check=False)
        t.equal((result.returncode, result.stderr), (0, b""), f"protoc on {content!r}")
        t.true(result.stdout, "some bytes")

with t.case("the example's comments match its values"):
    example = printed("-c", EXAMPLE)
    for line in ('command: ["./program", "--steps", "100"]', "frequency: 99", 'max_size: "256M"', "archive: false"):
        t.true(line in example.splitlines(), f"{line} in {example}")

with t.case("a program with its arguments, byte by byte"):
    arguments = ["a b", "", "x\ny", "ä", "'\"\\", "--", "-c"]
    file = 'collect: "cpu"\n' + printed("-o", "p.duet", "--", "printf", "<%s>", *arguments)
    result = record(config=file)
    t.equal(result.status, 0, f"status: {text(result.stderr)}")
    t.equal(text(result.stdout), "".join(f"<{argument}>" for argument in arguments), "what it printed")
    result = record(config=b'output: "p.duet" collect: "cpu" command: ["printf", "%s", "\\351\xc3\xa4"]')
    t.equal(result.stdout, b"\xe9\xc3\xa4", "bytes that are no UTF-8")

with t.case("the program's status, and its input"):
    t.equal(record(config='collect: "cpu" command: ["sh", "-c", "exit 7"]').status, 7, "status")
    t.equal(record(config='command: "/no/such/program"').status, 127, "status of no program")
    result = record(config='collect: "cpu" command: "cat"', stdin=b"input")
    t.equal(result.stdout, b"input", "what cat read")
    t.equal(run([DUET, "record", "-c", "/dev/stdin", "--print-config"], stdin=b"frequency: 5").stdout,
            (HEAD + 'output: "duet.duet"\nfrequency: 5\nstacks: all\n').encode(), "a file from a pipe")

with t.case("paths begin where duet is started, not where the file lies"):
    os.makedirs(t.path("conf"), exist_ok=True)
    write("conf/c.textproto", 'output: "here.duet" collect: "cpu" command: "true"')
    t.equal(record("-c", "conf/c.textproto").status, 0, "status")
    t.true(os.path.exists(t.path("here.duet")) and not os.path.exists(t.path("conf/here.duet")), "where it is")

with t.case("options of the file take effect"):
    file = ('output: "done.duet" collect: ["opencl:host", "cpu", "-opencl"] verbose: true frequency: 0\n'
            'command: ["python3", "-c", "for i in range(5000000): pass"]')
    samples = {}
    for arguments in ([], ["-F", "997"]):
        result = record(*arguments, config=file)
        t.equal(result.status, 0, f"status: {text(result.stderr)}")
        t.true(" rows" in text(result.stderr), f"verbose: {text(result.stderr)}")
        info = json.loads(run([DUET, "info", "--json", t.path("done.duet")]).stdout)
        t.equal({row["name"] for row in info["collectors"]}, {"cpu"}, "collectors")
        samples[bool(arguments)] = next(row["rows"] for row in info["kinds"] if row["kind"] == "cpu_sample")
    t.equal(samples[False], 0, "samples at frequency 0")
    t.true(samples[True] > 0, "samples where the command line wants some")

with t.case("running processes"):
    t.wanted()
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        result = record(config=f'pid: {sleeper.pid} pid: [{sleeper.pid}] duration: "300ms" output: "s.duet" collect: "cpu"')
        t.equal(result.status, 0, f"status: {text(result.stderr)}")
        t.equal(sleeper.poll(), None, "it runs on")
    finally:
        sleeper.kill()
        sleeper.wait()

with t.case("as another user"):
    if os.geteuid() != 0:
        raise duet_test.Skip("needs root")
    result = record(config='user: "nobody" collect: "cpu" command: ["id", "-un"] output: "u.duet"')
    t.equal(text(result.stdout), "nobody\n", f"who it was: {text(result.stderr)}")

# ---- the command line goes before ----

FILE = ('output: "file.duet" collect: ["opencl", "cpu"] frequency: 5 event: "cycles" stacks: none duration: "5s"\n'
        'keep: "5s" max_size: "5M" archive: true verbose: true preload: true command: ["prog", "x"]\n')

with t.case("the command line overrides the file"):
    plain = printed(config=FILE).splitlines()
    for arguments, old, new in (
            (["-o", "line.duet"], 'output: "file.duet"', 'output: "line.duet"'),
            (["--collect", "cpu"], 'collect: ["opencl", "cpu"]', 'collect: ["cpu"]'),
            (["-F", "7"], "frequency: 5", "frequency: 7"),
            (["-e", "cpu-clock"], 'event: "cycles"', 'event: "cpu-clock"'),
            (["--stacks", "all"], "stacks: none", "stacks: all"),
            (["-d", "1"], 'duration: "5s"', 'duration: "1s"'),
            (["--keep", "1"], 'keep: "5s"', 'keep: "1s"'),
            (["--max-size", "1G"], 'max_size: "5M"', 'max_size: "1G"'),
            (["--no-archive"], "archive: true", "archive: false"),
            (["--no-verbose"], "verbose: true", "verbose: false"),
            (["--no-preload"], "preload: true", "preload: false"),
            (["--", "other"], 'command: ["prog", "x"]', 'command: ["other"]')):
        t.true(old in plain, f"{old} in {plain}")
        t.equal(printed(*arguments, config=FILE).splitlines(), [new if line == old else line for line in plain],
                f"with {arguments}")

with t.case("program, pid and all exclude each other, and the command line wins"):
    for file in ('command: "prog"', "pid: 12", "all: true"):
        for arguments, field in ((["--", "other"], 'command: ["other"]'), (["-p", "34"], "pid: [34]"), (["-a"], "all: true")):
            shown = [line for line in printed(*arguments, config=file).splitlines()
                     if line.split(":")[0] in ("command", "pid", "all")]
            t.equal(shown, [field], f"{file} with {arguments}")
    t.equal(printed("--no-all", config="all: true"), 'output: "duet.duet"\nall: false\nstacks: all\n', "--no-all")

with t.case("fields of a collector that the command line leaves out are ignored"):
    t.equal(printed("--collect", "opencl", config="frequency: 5 event: 'cycles' collect: 'cpu'"),
            'output: "duet.duet"\ncollect: ["opencl"]\nstacks: all\n', "with --collect")
    t.equal(printed("-a", config="frequency: 5"), 'output: "duet.duet"\nall: true\nfrequency: 5\nstacks: all\n', "with -a")

with t.case("a configuration that cannot be recorded is not printed"):
    for arguments, config in ((["-e", "nonsense", "--", "true"], None), (["--", "true"], 'event: "nonsense"'),
                              (["--collect", "system,-system", "--", "true"], None), (["--", "true"], 'collect: ["cpu", "-cpu"]')):
        results = [record(*more, *arguments, config=config) for more in ([], ["--print-config"])]
        t.equal([(result.status, result.stdout) for result in results], [(125, b"")] * 2, f"{arguments} {config}")
        t.equal(results[0].stderr, results[1].stderr, "they say the same")

with t.case("pid 0 is the program that is started"):
    t.equal(printed("--", "prog", config="pid: 0"), 'output: "duet.duet"\ncommand: ["prog"]\nstacks: all\n', "with --")
    t.equal(printed(config="pid: 0"), 'output: "duet.duet"\npid: [0]\nstacks: all\n', "of a program that is to come")
    t.equal(record(config='pid: 0 collect: "cpu" command: "true"').status, 0, "with command")
    t.equal(record("--", "true", config='pid: 0 collect: "cpu"').status, 0, "recorded with --")

with t.case("pid 0 is the program that hands the file to libduet"):
    t.wanted()
    trace, file = t.path("lib.duet"), write("lib.textproto", f'pid: 0 output: "{t.path("lib.duet")}" collect: "ranges"')
    result = run([duet_test.program("lib_work"), f"config={file}", "open=", "start", "mark=here", "stop", "close"],
                 env={"DUET_PROGRAM": DUET})
    t.equal(text(result.stdout).splitlines()[:1], ["start 0"], f"started: {text(result.stdout)} {text(result.stderr)}")
    rows = run([DUET, "export", "-f", "jsonl", "--kind", "range", trace]).stdout.splitlines()
    t.equal([row["name"] for row in map(json.loads, rows) if row["kind"] == "range"], ["here"], "its marks")

# ---- mistakes ----

HELP = "Try 'duet record --help'.\n"
ZERO = "pid 0 is the program that duet record starts: it excludes other pids and all"
SPAN = "takes a time above 0 such as 5 (seconds), 2.5, 100ms, 3us, 20ns, 2m or 1h"
NAME = ("takes the name of a file (./- for one called -), in which % stands only in %p (process id), %h (host), %q{VAR} "
        "(environment) and %% (itself)")
LEFT_OUT = "applies to the collector cpu, which --collect or --all does not include"

# (the file, further arguments, what is printed behind "duet record: c.textproto:")
MISTAKES = [
    ("outptu: 'x'", [], "1:1: unknown field 'outptu'; did you mean 'output'?"),
    ("nothing: 1", [], "1:1: unknown field 'nothing'; there are: output, command, pid, all, user, preload, collect, frequency, "
                       "event, stacks, duration, keep, max_size, archive, verbose, flush_interval, max_memory, device, "
                       "trigger, trigger_after, trigger_interval, trigger_max, trigger_output, trigger_run, max_overhead, "
                       "overhead_range, system, nvidia, drm, gate, agent, "
                       "prometheus, otlp, pprof"),
    ("\n  frequency: fast", [], "2:14: 'frequency' takes a whole number from 0 to 18446744073709551615, not fast"),
    ("stacks: pyton", [], "1:9: 'stacks' takes all, native, python or none, not pyton; did you mean python?"),
    ("stacks: 'all'", [], "1:9: 'stacks' takes all, native, python or none, not 'all'; did you mean all, without quotes?"),
    ("pid: 4294967296", [], "1:6: 'pid' takes a whole number from 0 to 4294967295, not 4294967296"),
    ("pid: -1", [], "1:6: 'pid' takes a whole number from 0 to 4294967295, not -1"),
    ("duration: 500ms", [], "1:11: '500ms' is not a number: write 12, -3, 017 (octal), 0x1f or 1.5e3; put texts in quotes"),
    ("duration: 5", [], "1:11: 'duration' takes a text in quotes, not 5"),
    ("output: 'a' output: 'b'", [], "1:13: 'output' has a value already, in line 1: keep one of the two"),
    ("command: ['a'", [], "1:14: expected ',' or ']' in the list, found the end of the text"),
    # what an option takes
    ("duration: 'soon'", [], f"1:11: 'duration' {SPAN}, not 'soon'"),
    ("keep: '0'", [], f"1:7: 'keep' {SPAN}, not '0'"),
    ("max_size: '99999999999T'", [], "1:11: 'max_size' takes a size in bytes such as 4096, 64K, 64M, 2G or 1T; "
                                     "'99999999999T' is too large"),
    ("output: '-'", [], f"1:9: 'output' {NAME}, not '-'"),
    ("output: ''", [], f"1:9: 'output' {NAME}, not ''"),
    ("output: '%x'", [], f"1:9: 'output' {NAME}, not '%x'"),
    ("collect: ['cpu', 'a,b']", [], "1:18: 'collect' takes words, each in its own quotes, not 'a,b'"),
    ("collect: ''", [], "1:10: 'collect' takes words, each in its own quotes, not ''"),
    # groups
    ("system { rate: 5 }", [], "1:10: unknown field 'rate' in 'system'; there are: rate_hz, smaps, metric, disk, interface, process"),
    ("system { disk: ['a,b'] } command: 'x'", [], "1:17: 'system.disk' takes a name or glob without a comma, of at most 96 bytes; "
                                                 "write each in its own quotes"),
    ("system { metric: 'cpu.busi' } command: 'x'", [],
     "1:18: collector 'system' has no metric 'cpu.busi'; did you mean 'cpu.busy'?; there are: cpu.busy cpu.user cpu.system "
     "cpu.iowait cpu.irq cpu.steal cpu.guest cpu.frequency (duet list metrics)"),
    ("system { rate_hz: 5000 } command: 'x'", [],
     "1:19: 'system.rate_hz' is 1 to 1000 readings a second (default 10), not 5000"),
    ("nvidia { rate_hz: 0 } command: 'x'", [],
     "1:19: 'nvidia.rate_hz' is 1 to 100 readings of counters a second (default 10), without CUDA, not 0"),
    ("system: 5", [], "1:9: 'system' takes a group of fields in { }, not 5"),
    # what goes together
    ("flush_interval: '99ms' command: 'x'", [],
     "1:17: flush_interval: at least 100ms, the interval of the recorder"),
    ("max_size: '1K' command: 'x'", [], "1:11: max_size: at least 1M, because a trace is written in segments"),
    ("frequency: 20001 command: 'x'", [], "1:12: frequency: at most 20000 samples a second"),
    ("collect: ['opencl',\n'cup'] command: 'x'", [], "2:1: no collector 'cup'; did you mean cpu? (duet list collectors)"),
    ("collect: 'cpu:x' command: 'x'", [], "1:10: collector 'cpu' has no option 'x'; there are: cpu:nofaults cpu:bpf cpu:irq cpu:nobpf"),
    ("collect: 'opencl' frequency: 5 command: 'x'", [], f"1:30: frequency: {LEFT_OUT}"),
    ("collect: 'opencl' event: 'cycles' command: 'x'", [], f"1:26: event: {LEFT_OUT}"),
    ("pid: 4294967295", [], "1:6: pid: '4294967295' is not a list of pids, such as 12,345"),
    ("pid: [" + ", ".join(str(n) for n in range(1, 1026)) + "]", [], "1:7: pid: at most 1024 processes"),
    ("pid: 12 command: 'x'", [], "1:6: pid: records running processes: give either this option, a program, or --all"),
    ("pid: 12 all: true", [], "1:6: pid: records running processes: give either this option, a program, or --all"),
    ("all: true command: 'x'", [], "1:6: all: records every program: give either this option or a program"),
    ("user: 'nobody'", ["-p", "12"], "1:7: user: applies to a program that duet starts, not to running processes"),
    ("preload: true pid: 12", [], "1:10: preload: applies to a program that duet starts, not to running processes"),
    ("output: '%q{DUET_TEST_NOT_SET}' command: 'x'", [],
     "1:9: output: the environment has no variable 'DUET_TEST_NOT_SET'"),
    # the sentinel
    ("pid: [12, 0]", [], f"1:11: {ZERO}"),
    ("pid: 0 all: true", [], f"1:6: {ZERO}"),
    ("pid: 0", ["-a"], f"1:6: {ZERO}"),
    ("pid: 0", ["-p", "12"], f"1:6: {ZERO}"),
    ("pid: 0", [], "1:6: pid 0 is the program that duet record starts, but none is given: give one after --, or as command"),
]
ROOT_ONLY = [("user: 'no-such-user' command: 'x'", [], "1:7: user: no user 'no-such-user' on this machine")]
OTHERS_ONLY = [("user: 'nobody' command: 'x'", [],
                "1:7: user: needs root (sudo duet record --user NAME -- PROGRAM)")]


with t.case("every mistake with its place"):
    for file, arguments, expected in MISTAKES + (ROOT_ONLY if os.geteuid() == 0 else OTHERS_ONLY):
        result = record(*arguments, config=file)
        expected = expected.replace("COLLECTORS", collectors())
        t.equal(result.status, 125, f"status of {file!r}")
        t.equal(text(result.stderr), f"duet record: c.textproto:{expected}\n", f"stderr of {file!r}")
        t.equal(result.stdout, b"", f"stdout of {file!r}")

with t.case("all mistakes at once, one a line, and nothing is started"):
    marker = t.path("started")
    result = record(config=f"outptu: 1\nall: maybe\ncommand: ['touch', '{marker}']\nduration: -5\n")
    t.equal(text(result.stderr), "duet record: c.textproto:1:1: unknown field 'outptu'; did you mean 'output'?\n"
                                 "duet record: c.textproto:2:6: 'all' takes true or false, not maybe\n"
                                 "duet record: c.textproto:4:11: 'duration' takes a text in quotes, not -5\n", "stderr")
    result = record(config=f"duration: '0' keep: 'x'\nmax_size: 'y' command: ['touch', '{marker}']\n")
    t.equal([line.split(": ")[1] for line in text(result.stderr).splitlines()],
            ["c.textproto:1:11", "c.textproto:1:21", "c.textproto:2:11"], "places")
    result = record(config="x: 1\n" * 20)
    t.equal(len(result.stderr.splitlines()), 17, "lines")
    t.true(text(result.stderr).endswith("duet record: c.textproto: 4 more mistakes are not shown\n"), text(result.stderr)[-200:])
    t.true(not os.path.exists(marker), "the program was not started")

with t.case("files that cannot be read"):
    for path, why in (("/no/such/file", "open '/no/such/file': No such file or directory"), ("/", "read '/': Is a directory"),
                      ("/dev/zero", "read '/dev/zero': File too large"), ("", "open '': No such file or directory")):
        result = record("-c", path, "--", "true")
        t.equal((result.status, text(result.stderr)), (125, f"duet record: {why}\n"), f"of {path!r}")
    result = record("-c")
    t.equal((result.status, text(result.stderr)), (125, f"duet record: -c needs an argument: FILE\n{HELP}"), "of no file")

with t.case("no program on the command line or in the file"):
    none = "no program to record: give one after --, processes with -p, or record all with -a"
    t.equal(text(record().stderr), f"duet record: {none}\n{HELP}", "without a file")
    t.equal(text(record(config="stacks: all").stderr),
            f"duet record: {none} ('c.textproto' has no command, pid or all)\n{HELP}", "with a file")

with t.case("mistakes of the command line name the option as it was typed"):
    for arguments, expected in ((["-p", "0"], "-p: '0' is not a list of pids, such as 12,345"),
                                (["--max-size", "1K", "--", "x"], "--max-size: at least 1M, because a trace is written in segments"),
                                (["-F", "5", "--collect", "opencl", "--", "x"], f"-F: {LEFT_OUT}"),
                                (["-a", "--", "x"], "-a: records every program: give either this option or a program")):
        t.equal(text(record(*arguments, config="frequency: 6 max_size: '2M' collect: 'cpu'").stderr),
                f"duet record: {expected}\n{HELP}", f"of {arguments}")

with t.case("an output that cannot be written"):
    t.wanted()
    with open("/dev/full", "wb") as full:
        process = subprocess.run([DUET, "record", "--print-config"], stdout=full, stderr=subprocess.PIPE, check=False)
    t.equal(process.returncode, 125, "status")
    t.true(b"cannot write" in process.stderr, f"it says so: {process.stderr}")

t.end()
