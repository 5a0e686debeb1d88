#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Output files of duet: their modes, and that root never writes through a link of another user."""
import os
import stat
import subprocess

import duet_test
from duet_test import DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)
OTHER = 65534
SECRET = "not for others\n"


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def trace():
    path = t.path("trace.duet")
    if not os.path.exists(path):
        t.equal(run([DUET, "record", "--collect", "system", "-o", path, "--", "sleep", "0.2"]).status, 0, "record")
    return path


def write(path, content=SECRET, mode=0o644):
    with open(path, "w", encoding="ascii") as file:
        file.write(content)
    os.chmod(path, mode)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


# What is written, and where by default in the current folder.
VERBS = {
    "record": ([DUET, "record", "--collect", "system", "--", "true"], "duet.duet"),
    "flame": ([DUET, "flame", "--view", "gpu", os.path.join(duet_test.ROOT, "tests", "golden", "trace", "v1.12.duet"), "-o", "duet.svg"],
              "duet.svg"),
    "view": ([DUET, "view", "{trace}", "-o", "page.html"], "page.html"),
    "flamescope": ([DUET, "flamescope", "{trace}", "-o", "scope.html"], "scope.html"),
    "export": ([DUET, "export", "-f", "json", "{trace}", "-o", "out.json"], "out.json"),
    "import": ([DUET, "import", "-f", "folded", "{stacks}"], "duet.duet"),
    "archive": ([DUET, "archive", "duet.duet"], "duet.duet.symbols"),
}


def command(verb):
    words = {"{trace}": trace, "{stacks}": lambda: write(t.path("in.folded"), "main;f 3\n")}
    return [words[word]() if word in words else word for word in VERBS[verb][0]]


for verb in VERBS:
    with t.case(f"duet {verb} as root writes through no link of another user"):
        t.wanted()
        if os.geteuid() != 0:
            raise Skip("needs root")
        folder = t.path(f"planted.{verb}")
        os.makedirs(folder)
        if verb == "archive":
            target = t.path("target.folder")
            os.makedirs(target)
            with open(trace(), "rb") as source, open(os.path.join(folder, "duet.duet"), "wb") as copy:
                copy.write(source.read())
        else:
            target = write(t.path(f"target.{verb}"))
        link = os.path.join(folder, VERBS[verb][1])
        os.symlink(target, link)
        for path in (link, folder):
            os.lchown(path, OTHER, OTHER)
        result = run(command(verb), cwd=folder)
        t.true(result.status not in (0, 2), f"status {result.status}")
        t.true("is a link of user" in text(result.stderr) and "Remove it, name another file" in text(result.stderr),
               text(result.stderr))
        t.true(not os.listdir(target) if verb == "archive" else read(target) == SECRET.encode(), "the link's target is as it was")
        if verb == "archive":
            continue
        os.unlink(link)
        os.chown(write(link), OTHER, OTHER)
        result = run(command(verb), cwd=folder)
        t.true(result.status != 0 and "is a file of user" in text(result.stderr), text(result.stderr))
        os.unlink(link)
        t.equal(run(command(verb), cwd=folder).status, 0, "where nothing lies, root's own file is made")
        t.equal(run(command(verb), cwd=folder).status, 0, "which is written again")

for verb in VERBS:
    with t.case(f"duet {verb} as root writes into no folder behind a link of another user"):
        t.wanted()
        if os.geteuid() != 0:
            raise Skip("needs root")
        folder, behind = t.path(f"inner.{verb}"), t.path(f"behind.{verb}")
        os.makedirs(folder)
        os.makedirs(behind)
        link = os.path.join(folder, "link")
        os.symlink(behind, link)
        for path in (link, folder):
            os.lchown(path, OTHER, OTHER)
        words = command(verb)
        if verb == "archive":
            with open(trace(), "rb") as source, open(os.path.join(behind, "duet.duet"), "wb") as copy:
                copy.write(source.read())
            words[-1] = "link/duet.duet"
        elif "-o" in words:
            words[words.index("-o") + 1] = "link/out"
        else:
            words[2:2] = ["-o", "link/out"]
        before = sorted(os.listdir(behind))
        result = run(words, cwd=folder)
        t.true(result.status != 0 and f"({OTHER})" in text(result.stderr), f"{result.status}: {text(result.stderr)}")
        t.equal(sorted(os.listdir(behind)), before, "what lies behind the link")

with t.case("a trace is its owner's alone, also where the file was there"):
    t.wanted()
    path = write(t.path("wide.duet"), "")
    t.equal(run([DUET, "record", "--collect", "system", "-o", path, "--", "true"]).status, 0, "record")
    t.equal(oct(mode_of(path)), "0o600", "mode")
    os.chmod(path, 0o644)
    t.equal(run([DUET, "record", "--collect", "system", "-o", path, "--", "true"]).status, 0, "record over it")
    t.equal(oct(mode_of(path)), "0o600", "mode")

with t.case("record replaces a trace and an empty file, and no other file"):
    t.wanted()
    record = [DUET, "record", "--collect", "system", "-o"]
    for content in (SECRET, "x", "x" * 4096):
        path = write(t.path("notes.txt"), content)
        result = run([*record, path, "--", "true"])
        t.equal((result.status, read(path), mode_of(path)), (125, content.encode(), 0o644), text(result.stderr))
        t.true("notes.txt' is not a trace" in text(result.stderr) and "remove that file" in text(result.stderr), text(result.stderr))
    path = write(t.path("kept.duet"), "")
    for what in ("an empty file", "a trace"):
        t.equal(run([*record, path, "--", "true"]).status, 0, what)
    t.equal(run([DUET, "report", path]).status, 0, "it is a trace")
    t.equal(run([*record, "/dev/null", "--", "true"]).status, 0, "a device is written to")

with t.case("what is made of a trace has the mode of the umask, or keeps its own"):
    t.wanted()
    path, before = t.path("made.json"), os.umask(0o027)
    make = [DUET, "export", "-f", "json", trace(), "-o", path]
    t.equal((run(make).status, oct(mode_of(path))), (0, "0o640"), "a new one")
    os.chmod(path, 0o604)
    t.equal((run(make).status, oct(mode_of(path))), (0, "0o604"), "one that was there")
    os.umask(before)

with t.case("descriptors, devices and own links are written as ever"):
    t.wanted()
    make = [DUET, "export", "-f", "json", trace(), "-o"]
    wanted = run(make[:-1]).stdout
    t.true(len(wanted) > 100, "something is exported")
    t.true(run([*make, "/dev/stdout"]).stdout == wanted, "/dev/stdout")
    t.equal(run([*make, "/dev/null"]).status, 0, "/dev/null")
    result = run(["bash", "-c", '"$@" >(cat)', "-", *make])
    t.true(result.status == 0 and result.stdout == wanted, "a pipe of the shell")
    with open(t.path("redirected"), "wb") as file:
        os.chmod(file.fileno(), 0o666)
        if os.geteuid() == 0:
            os.chown(file.fileno(), OTHER, OTHER)
        t.equal(subprocess.run([*make, "/dev/stdout"], stdout=file, check=False).returncode, 0, "a file of the shell")
    t.true(read(t.path("redirected")) == wanted, "what is in it")
    os.symlink(t.path("linked.json"), t.path("link.json"))
    t.equal(run([*make, t.path("link.json")]).status, 0, "an own link")
    t.true(read(t.path("linked.json")) == wanted, "what it leads to")

t.end()
