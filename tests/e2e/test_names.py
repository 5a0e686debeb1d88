#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Function names when the file was changed, moved or removed, and of code that is in no file."""
import json
import os
import re
import shlex
import shutil

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite()
SIM = {"OCL_ICD_VENDORS": os.path.join(duet_test.BUILD, "sim"), "SIM_OPENCL": "kernel_us=10"}
FRAMES = 69


def names(trace):
    """{function: how often a launch has it} and what was said on stderr."""
    result = run([DUET, "flame", "--folded", "--view", "launch", trace])
    t.equal(result.status, 0, f"flame: {text(result.stderr)}")
    found = {}
    for line in text(result.stdout).splitlines():
        stack, value = line.rsplit(" ", 1)
        for frame in {re.sub(r"( \(.*\))?(_\[\w\])?$", "", frame) for frame in stack.split(";")}:
            found[frame] = found.get(frame, 0) + int(value)
    return found, text(result.stderr)


def record(command, name, options=(), env=None, **more):
    output = t.path(name + ".duet")
    recorded = t.record(command, output, options, env=dict(SIM, **(env or {})), **more)
    t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
    return output


def problems(trace):
    return [line for line in text(run([DUET, "report", trace]).stdout).splitlines()
            if line.startswith("!")]


def lists_of(value, key):
    """All objects of a document that have this key."""
    if isinstance(value, dict):
        if key in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from lists_of(item, key)


def rebuilt(path):
    """Another program of the same path, as after the next build."""
    os.rename(path, path + ".old")
    shutil.copy(program("images"), path)


with t.case("a rebuilt file without a build id has no names, and this is reported"):
    t.wanted()
    copy = t.path("plain")
    shutil.copy(program("flame_shapes_plain"), copy)
    trace = record([copy], "plain")
    t.true("three_times" in names(trace)[0], "names while it is the file")
    rebuilt(copy)
    found, said = names(trace)
    t.true("three_times" not in found and "main" not in found, f"no names of another file: {found}")
    t.true("has changed since the recording" in said, f"and a note: {said}")

with t.case("without build id: the file itself, then the archive's copy of the same size and time"):
    t.wanted()
    copy = t.path("archived")
    shutil.copy(program("flame_shapes_plain"), copy)
    trace = record([copy], "archived", ("--archive",))
    kept = f"{trace}.symbols{copy}"
    t.equal(os.stat(kept).st_mtime_ns, os.stat(copy).st_mtime_ns, "the copy's time")
    times = os.stat(copy).st_atime_ns, os.stat(copy).st_mtime_ns
    size = os.path.getsize(copy)
    os.rename(kept, kept + ".whole")
    with open(kept, "wb") as file:
        file.truncate(size)
    os.utime(kept, ns=times)
    t.true("three_times" in names(trace)[0], "names of the file, not of what calls itself its copy")
    os.rename(kept + ".whole", kept)
    rebuilt(copy)
    found, said = names(trace)
    t.true("three_times" in found and "a copy" in said, f"names of the copy: {found} {said}")
    os.utime(kept, ns=(times[0], times[1] // 10**9 * 10**9))
    t.true("three_times" in names(trace)[0], "a time of whole seconds")
    os.utime(kept, ns=(times[0], times[1] + 1))
    t.true("three_times" not in names(trace)[0], "no names of a copy of another time")

with t.case("without build id: a repeated archive replaces the earlier copy"):
    t.wanted()
    copy = t.path("again")
    shutil.copy(program("flame_shapes_plain"), copy)
    trace = record([copy], "again", ("--archive",))
    os.utime(copy, ns=(0, os.stat(copy).st_mtime_ns + 10**9))  # the next build, of the same size
    trace = record([copy], "again", ("--archive",))
    os.unlink(copy)
    t.true("three_times" in names(trace)[0], "names of the later file")


def plugin(folder, name="plug.so"):
    os.makedirs(folder)
    path = os.path.join(folder, name)
    shutil.copy(os.path.join(duet_test.PROGRAMS, "image_plugin.so"), path)
    return path


with t.case("libraries that are named from where the program stood, after it has gone elsewhere"):
    t.wanted()
    folder = t.path("relative")
    plugin(folder)
    plugin(os.path.join(folder, "rl"), "libplug_rl.so")
    other = t.path("other")
    os.makedirs(other)
    for name, env, words in (("./plug.so", {}, ("chdir", "launch", "rest")),
                             ("./plug.so", {}, ("launch", "chdir", "rest")),
                             ("./plug.so", {}, ("chdir", "launch")),
                             ("libplug_rl.so", {"LD_LIBRARY_PATH": "rl"}, ("chdir", "launch"))):
        trace = record([program("images"), name, *words], "relative", env=env, cwd=folder)
        found, said = names(trace)
        # a program that is over before the recorder looks is known by what it said at its hello
        t.equal(found.get("plugged_in"), 1, f"{name} {words} {found} {said}")
        t.true(not problems(trace), f"no problems: {problems(trace)}")

with t.case("a library that was deleted: kept by --archive, and noted without it"):
    t.wanted()
    for number, words in enumerate((("launch", "rest", "unlink"), ("unlink", "launch", "rest"))):
        if number and os.geteuid() != 0:
            continue  # a file without a path is opened by root alone
        path = plugin(t.path(f"deleted{number}"))
        trace = record([program("images"), path, *words], f"deleted{number}", ("--archive",))
        t.true(not os.path.exists(path), "it is deleted")
        found, said = names(trace)
        t.equal(found.get("plugged_in"), 1, f"{words}: {found} {said}")
        t.true(not problems(trace), f"no problems: {problems(trace)}")
    path = plugin(t.path("deleted"))
    trace = record([program("images"), path, "unlink", "launch", "rest"], "deleted")
    t.true("plugged_in" not in names(trace)[0], "no names without the file")
    t.true([line for line in problems(trace) if path in line and "--archive" in line],
           f"and a note: {problems(trace)}")


def made(trace):
    """Which of the functions that jit made are named, and which frames of made code are not."""
    found = names(trace)[0]
    return ({name for name in found if name.startswith("made_")},
            [name for name in found if name.startswith("[code at")])


for kind in ("map", "dump"):
    for what, words in (("50 at once", (50, 0)), ("200, one every 2 ms", (200, 2000)),
                        ("10 behind 12 MB of others", (10, 1000, 12 << 20)),
                        ("100, in a file that is deleted at the end", (100, 2000, 0, "ends")),
                        ("one that lives for a while", (1, 50000, 0, "ends"))):
        with t.case(f"code made at run time, told in a {kind}: {what}"):
            t.wanted()
            folder = t.path("made")
            os.makedirs(folder, exist_ok=True)
            trace = t.path("made.duet")
            recorded = t.record([program("jit"), kind, *map(str, words)], trace, ["--collect", "opencl"], env=SIM,
                                cwd=folder)
            t.equal(recorded.status, 0, f"record: {text(recorded.stderr)}")
            if kind == "map" and recorded.stdout:
                os.unlink(text(recorded.stdout).strip())
            got, nameless = made(trace)
            # of a file that is deleted at once the last functions may have been told too late
            wanted = {f"made_{i}" for i in range(words[0])}
            missing = wanted - got
            if "ends" in words and words[0] > 1:
                t.true(len(missing) < 30, f"names are missing: {sorted(missing)}")
                t.equal(len(missing), len(nameless), "the rest has none")
            else:
                t.equal((missing, nameless, problems(trace)), (set(), [], []), "all have names")

with t.case("JIT code without a map is counted"):
    t.wanted()
    trace = record([program("jit"), "none", "7", "0"], "untold")
    got, nameless = made(trace)
    t.equal((got, len(nameless)), (set(), 7), "no names")
    t.true([line for line in problems(trace) if " 7 places in JIT code" in line], f"a note: {problems(trace)}")

with t.case("a map that is older than the process is ignored"):
    t.wanted()
    trace = t.path("stale.duet")
    # the pid is not known before: the shell writes the map of what it becomes, with a time of last week
    script = ('for a in 5 6 7; do for b in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do '
              'echo "${a}${b}0000000000 fffffffff stale"; done; done > /tmp/perf-$$.map; '
              'touch -d "last week" /tmp/perf-$$.map; echo $$; exec "$0" none 3 0')
    recorded = t.record(["/bin/sh", "-c", script, program("jit")], trace, env=SIM)
    t.equal(recorded.status, 0, "record")
    os.unlink(f"/tmp/perf-{int(recorded.stdout)}.map")
    found = names(trace)[0]
    t.true("stale" not in found, f"no stale names: {found}")

with t.case("how many frames of a deep stack were left out"):
    t.wanted()
    trace = record([program("images"), os.path.join(duet_test.PROGRAMS, "image_plugin.so"), "deep"], "deep")
    document = t.report(trace, "--top", "100")
    stacks = [[frame["function"] for frame in stack["frames"]] for stack in lists_of(document, "frames")]
    deep = [stack for stack in stacks if stack.count("deep") > 10]
    t.true(deep, "the deep stack")
    for stack in deep:
        left = [int(re.fullmatch(r"\[truncated: (\d+) frames\]", name)[1]) for name in stack
                if name.startswith("[truncated")]
        t.equal((len(left), sum(left) + stack.count("deep")), (1, 3000), "frames")

with t.case("a program that embeds Python keeps its own frames, whatever it is called"):
    t.wanted()
    trace = record([program("python-studio")], "studio")
    found, _ = names(trace)
    own = {"main", "studio_work", "scene", "studio_launch", "launch_once"}
    t.true(own <= set(found), f"its frames: {own - set(found)}")
    t.true(not [name for name in found if name.startswith(("_PyEval", "PyRun_"))],
           f"and none of the interpreter's: {found}")

with t.case("info prints the number of checked stacks, and none had different callers"):
    t.wanted()
    trace = record([program("flame_shapes")], "checked")
    stacks = json.loads(run([DUET, "info", "--json", trace]).stdout)["stacks"]
    t.true(stacks["checked"] > 0 and stacks["wrong"] == 0, f"{stacks}")

with t.case("a recording is called after the command that was started, also where only its children used OpenCL"):
    t.wanted()
    path = program("flame_shapes_plain")
    command = ["sh", "-c", f"{path}; {path}; echo it\\'s over"]
    trace = record(command, "shell", ("--collect", "opencl"))
    document = t.report(trace)
    t.equal(shlex.split(document["command"]), command, "command")
    t.equal(len(document["processes"]), 2, "processes that used OpenCL")
    lines = text(run([DUET, "report", trace]).stdout).splitlines()
    head = [number for number, line in enumerate(lines) if line.startswith("sh -c '")]
    t.true(head and ", 2 processes with OpenCL, " in lines[head[0] + 1], f"{lines[:4]}")

t.end()
