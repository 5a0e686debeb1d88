#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Output files are complete or absent: a verb that fails or is interrupted leaves no new file, and an older file of the
same name stays unchanged. tests/programs/no_write.c makes each change of a file fail in turn, or sends a signal instead.
"""
import errno
import glob
import os
import signal
import stat

import duet_test
from duet_test import DUET, ROOT, program, run, text

t = duet_test.Suite(needs_opencl=False)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FOLDERS = ("ctf", "duet-pb")
FORMATS = [line.split()[0] for line in text(run([DUET, "list", "formats"]).stdout).splitlines()]


def trace():
    if not os.path.exists(t.path("trace.duet")):
        with open(os.path.join(ROOT, "tests", "golden", "export", "cpu_gpu.txt"), encoding="utf-8") as file:
            t.described("trace.duet", file.read())
    return t.path("trace.duet")


def commands():
    """[(name, arguments)]: OUT is the output."""
    with open(t.path("in.folded"), "w", encoding="ascii") as file:
        file.write("main;work 3\nmain;idle 1\n")
    yield "view", ["view", "-o", "OUT", trace()]
    yield "flame", ["flame", "-o", "OUT", trace()]
    yield "flamescope", ["flamescope", "-o", "OUT", trace()]
    yield "import", ["import", "-f", "folded", "-o", "OUT", t.path("in.folded")]
    for name in FORMATS:
        yield f"export {name}", ["export", "-f", name, "-o", "OUT", trace()]


def everything(folder):
    """{path: content} of all that is in a folder."""
    found = {}
    for path in glob.glob(os.path.join(folder, "**"), recursive=True) + glob.glob(os.path.join(folder, "**", ".*")):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
        elif os.path.isdir(path) and os.path.normpath(path) != os.path.normpath(folder):
            found[os.path.relpath(path, folder)] = None
    return found


def disturbed(arguments, folder, **shim):
    """Runs with its output in a folder of its own, in which a good file may be."""
    out = os.path.join(folder, "out")
    return run([DUET, *[out if word == "OUT" else word for word in arguments]],
               env={"LD_PRELOAD": program("no_write.so"),
                    **{f"NO_WRITE_{key.upper()}": str(int(value)) if key != "count" else value
                       for key, value in shim.items()}})


def fresh(name, good):
    folder = t.path(name)
    os.makedirs(folder)
    if good:
        with open(os.path.join(folder, "out"), "wb") as file:
            file.write(b"good")
    return folder


def own_folder(folder):
    """An empty folder of the user's where the output goes; its inode and mode."""
    os.mkdir(os.path.join(folder, "out"), 0o750)
    return identity(folder)


def identity(folder):
    about = os.stat(os.path.join(folder, "out"))
    return about.st_ino, about.st_mode


def changes(arguments, name):
    """How many changes of files an undisturbed run makes."""
    folder = fresh(f"{name}-count", False)
    result = disturbed(arguments, folder, count=t.path(f"{name}.count"))
    t.equal(result.status, 0, f"{arguments}: {text(result.stderr)}")
    with open(t.path(f"{name}.count"), encoding="ascii") as file:
        return int(file.read())


def chosen(count):
    """All, or the first and last ones and some between them."""
    return range(1, count + 1) if count <= 8 else sorted({1, 2, 3, count // 3, 2 * count // 3, count - 1, count})


for name, arguments in list(commands()) if os.path.exists(DUET) else []:
    is_folder = name.rpartition(" ")[2] in FOLDERS
    with t.case(f"duet {name}: each change fails"):
        t.wanted()
        for at in chosen(changes(arguments, name)):
            for good in (False, True):
                folder = fresh(f"{name}-{at}-{good}", good and not is_folder)
                own = own_folder(folder) if good and is_folder else None
                before = everything(folder)
                result = disturbed(arguments, folder, at=at, sticky=1, errno=errno.ENOSPC)
                if result.status == 0:
                    continue  # it was not needed, such as room taken in advance
                t.equal(result.status, 1, f"N={at}: {text(result.stderr)}")
                t.true(result.stderr, f"N={at}: a message")
                t.equal(everything(folder), before, f"N={at}, {'a' if good else 'no'} good file: what is there")
                if own:
                    t.equal(identity(folder), own, f"N={at}: the user's own folder stays")

    with t.case(f"duet {name}: interrupted at each change"):
        t.wanted()
        count = changes(arguments, name + " signals")
        for at in chosen(count):
            number = SIGNALS[at % len(SIGNALS)]
            folder = fresh(f"{name}-{at}-signal", not is_folder)
            if is_folder and at % 2:
                own_folder(folder)
            before = everything(folder)
            result = disturbed(arguments, folder, at=at, signal=number)
            t.equal(result.status, 128 + number, f"N={at}: {text(result.stderr)}")
            left = everything(folder)
            if at == count and not is_folder:  # the signal waits until the file has its name
                before["out"] = left.get("out")
            t.equal(left, before, f"N={at}: what is there")

def fresh_link(name):
    """A folder in which the output is a link to a good file."""
    folder = fresh(name, True)
    os.rename(os.path.join(folder, "out"), os.path.join(folder, "target"))
    os.symlink("target", os.path.join(folder, "out"))
    return folder


with t.case("duet import behind a link: each change fails, or is interrupted"):
    t.wanted()
    arguments = dict(commands())["import"]
    for signalled in (0, *SIGNALS):
        for at in range(1, 60):
            folder = fresh_link(f"link-{signalled}-{at}")
            before = everything(folder)
            how = {"signal": signalled} if signalled else {"sticky": 1, "errno": errno.ENOSPC}
            result = disturbed(arguments, folder, at=at, **how)
            left = everything(folder)
            if result.status == 0:
                if not signalled and left["target"].startswith(b"good"):
                    t.true(False, f"N={at}: status 0 without a trace")
                if at > 20:
                    break
                continue  # it was not needed
            t.equal(result.status, 128 + signalled if signalled else 1, f"N={at}: {text(result.stderr)}")
            if signalled and left["target"] != before["target"]:  # it waits until the copy is whole
                t.equal(run([DUET, "info", os.path.join(folder, "out")]).status, 0, f"N={at}: a whole trace")
                before["out"] = before["target"] = left["target"]
            if not signalled and b"is incomplete" in result.stderr:
                before["out"] = before["target"] = left["target"]
            t.equal(left, before, f"N={at}, signal {signalled}: what is there")
            t.true(os.path.islink(os.path.join(folder, "out")), f"N={at}: the link stays")

with t.case("archive: interrupted at each change"):
    t.wanted()
    recorded = t.path("archived.duet")
    t.equal(t.record([program("cpu_work"), "threads", "2", "200"], recorded, ("--collect", "cpu")).status, 0, "record")
    folder = recorded + ".symbols"
    for at in range(1, 40):
        result = run([DUET, "archive", recorded],
                     env={"LD_PRELOAD": program("no_write.so"), "NO_WRITE_AT": str(at), "NO_WRITE_SIGNAL": "15"})
        parts = [path for path in everything(folder) if path.endswith(".part")]
        t.equal(parts, [], f"N={at}")
        if result.status == 0:
            break
        t.equal(result.status, 143, f"N={at}: {text(result.stderr)}")

with t.case("a failed verb makes no file, and keeps an old one"):
    t.wanted()
    for verb in ("view", "flame", "flamescope", "export", "archive", "import"):
        folder = fresh(f"refused-{verb}", True)
        arguments = {"import": ["-f", "folded"], "archive": []}.get(verb, ["-o", os.path.join(folder, "new")])
        if verb == "import":
            arguments += ["-o", os.path.join(folder, "new")]
        result = run([DUET, verb, *arguments, "/etc/passwd"])
        t.equal(result.status, 1, f"{verb}: {text(result.stderr)}")
        t.equal(everything(folder), {"out": b"good"}, verb)

with t.case("modes, links, pipes and /dev/stdout"):
    t.wanted()
    folder = fresh("kinds", True)
    out, link = os.path.join(folder, "out"), os.path.join(folder, "link")
    os.chmod(out, 0o640)
    os.symlink("out", link)
    t.equal(run([DUET, "export", "-f", "folded", "-o", link, trace()]).status, 0, "through a link")
    with open(out, "rb") as file:
        folded = file.read()
    t.true(b"idle" in folded, "the file behind the link is written")
    t.true(os.path.islink(link), "the link stays")
    t.equal(stat.S_IMODE(os.stat(out).st_mode), 0o640, "the mode stays")
    t.equal(run([DUET, "export", "-f", "folded", "-o", "/dev/stdout", trace()]).stdout, folded, "/dev/stdout")
    os.mkfifo(os.path.join(folder, "fifo"))
    reader = os.open(os.path.join(folder, "fifo"), os.O_RDONLY | os.O_NONBLOCK)
    t.equal(run([DUET, "export", "-f", "folded", "-o", os.path.join(folder, "fifo"), trace()]).status, 0, "a FIFO")
    t.equal(os.read(reader, 1 << 16), folded, "what came through the FIFO")
    os.close(reader)
    os.link(out, os.path.join(folder, "second"))
    t.equal(run([DUET, "flame", "--folded", "-o", out, trace()]).status, 0, "a file with two names")
    t.equal(os.stat(out).st_nlink, 2, "both names stay")

t.end()
