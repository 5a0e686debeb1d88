#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recorder apart from the recorded rows: exit status, output, limits."""
import os
import resource
import shutil

import duet_test
from duet_test import DUET, program, run, text

t = duet_test.Suite(needs_opencl=False)


def summary(*arguments, **more):
    """stderr of record -v."""
    t.wanted()
    return text(run([DUET, "record", "-v", "-o", t.path("v.duet"), *arguments], **more).stderr)


# ---- status ----

with t.case("duet -- PROGRAM: a status of 125 and above is the program's, and is reported"):
    t.wanted()
    for status in (125, 126, 127):
        result = run([DUET, "--", "sh", "-c", f"exit {status}"], cwd=t.folder)
        t.equal(result.status, status, "status")
        t.true(b"no OpenCL" in result.stdout, f"there is a report after {status}: {result.stdout}")
    result = run([DUET, "--", "/no/such/program"], cwd=t.folder)
    t.equal((result.status, result.stdout), (127, b""), "nothing is reported of no program")

with t.case("a fork that is refused is duet's own trouble"):
    t.wanted()
    folder = t.path("public")
    os.makedirs(folder, exist_ok=True)
    duet = shutil.copy(DUET, folder)  # the build folder may be closed to other users

    def one_process():
        duet_test.default_signals()
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        if os.getuid() == 0:
            os.setresuid(64999, 64999, 64999)

    result = run([duet, "record", "-o", "/dev/null", "--", "true"], preexec_fn=one_process)
    t.equal(result.status, 125, f"status ({text(result.stderr)})")
    t.true("fork" in text(result.stderr), f"it says so: {text(result.stderr)}")

# ---- -v ----

with t.case("-v names the way in that was chosen"):
    t.true("loaded by OPENCL_LAYERS" in summary("--", "true"), "a layer")
    t.true("loaded by LD_PRELOAD" in summary("--preload", "--", "true"), "as asked for")
    plain = t.path("plain")
    os.makedirs(plain, exist_ok=True)
    with open(os.path.join(plain, "libOpenCL.so.1"), "wb") as file:
        file.write(b"a loader without the word")
    t.true("loaded by LD_PRELOAD" in summary("--", "true", env={"LD_LIBRARY_PATH": plain}),
           "because the loader knows no layers")
    t.true("libduet-opencl" not in summary("--collect", "-opencl", "--", "true"), "none")

# ---- limits ----


def work_program():
    """A program that really uses OpenCL here, or the case is left."""
    t.wanted()
    path = program("harm")
    if run([path, "work", "1"]).status != 0:
        raise duet_test.Skip("no OpenCL device works here")
    return path


def notes(output):
    """What info says of the collectors."""
    return text(run([DUET, "info", output]).stdout).partition("\ncollectors")[2]


with t.case("without free descriptors programs run, and the trace reports the loss"):
    harm = work_program()
    output = t.path("few.duet")

    def few_descriptors():
        duet_test.default_signals()
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    script = f"for i in 1 2 3 4 5 6 7 8; do {harm} run 1 & done; wait; ulimit -Sn; ulimit -Hn"
    # a descriptor that the recorder inherits is one that it has not
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
    result = run([DUET, "record", "--collect", "opencl", "-o", output, "--", "sh", "-c", script],
                 env={"POCL_DEVICES": "basic"}, preexec_fn=few_descriptors, pass_fds=held)
    for fd in held:
        os.close(fd)
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    lines = text(result.stdout).split()
    t.equal((lines.count("running"), lines.count("ended")), (8, 8), "all programs ran")
    t.equal(lines[-2:], ["40", "40"], "their limits are what they were")
    document = t.readable(output)
    t.true("ran out of file descriptors" in notes(output), f"the notes: {notes(output)}")
    t.true(len(document["processes"]) < 8, "not all are recorded")

with t.case("the recorder raises its soft limit on descriptors"):
    harm = work_program()
    output = t.path("soft.duet")

    def soft_limit():
        duet_test.default_signals()
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 4096))

    script = f"ulimit -Sn; for i in 1 2 3 4 5 6 7 8; do {harm} run 1 & done; wait"
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    result = run([DUET, "record", "--collect", "opencl", "-o", output, "--", "sh", "-c", script],
                 env={"POCL_DEVICES": "basic"}, preexec_fn=soft_limit, pass_fds=held)
    for fd in held:
        os.close(fd)
    t.equal(text(result.stdout).split()[0], "24", "the program's own limit")
    document = t.readable(output)
    t.true("ran out" not in notes(output), f"the notes: {notes(output)}")
    t.equal(len(document["processes"]), 8, "all are recorded")

with t.case("--keep: programs that have ended are forgotten, with all they had"):
    harm = work_program()
    output = t.path("short.duet")
    count = 100
    # ten seconds or more, of which five may be there
    result = run([DUET, "record", "--keep", "1", "-o", output, "--", "sh", "-c",
                  f"for i in $(seq {count}); do {harm} work 1; sleep 0.1; done"],
                 env={"POCL_DEVICES": "basic"})
    t.equal(result.status, 0, f"status ({text(result.stderr)[-400:]})")
    t.readable(output)
    things = {}
    for line in text(run([DUET, "info", output]).stdout).splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("process", "context", "queue", "clock", "code"):
            things[words[0]] = int(words[2])
    for kind, each in (("process", 1), ("context", 1), ("queue", 1), ("code", 3)):
        t.true(0 < things[kind] < 0.8 * each * count, f"not all of kind {kind}: {things}")

# ---- output ----

with t.case("an earlier recording survives a program that does not start"):
    t.wanted()
    output = t.path("keep.duet")
    t.equal(run([DUET, "record", "-o", output, "--", "true"]).status, 0, "the recording")
    with open(output, "rb") as file:
        before = file.read()
    t.true(before, "there is one")
    for arguments, status in ((["--", "/no/such/program"], 127), (["--", "/etc/passwd"], 126),
                              (["--bogus", "--", "true"], 125)):
        t.equal(run([DUET, "record", "-o", output, *arguments]).status, status, "status")
        with open(output, "rb") as file:
            t.true(file.read() == before, f"{arguments}: the file is as it was")
    t.equal(run([DUET, "record", "-o", t.path("new.duet"), "--", "/no/such/program"]).status, 127,
            "status")
    t.true(not os.path.exists(t.path("new.duet")), "no file is left of what did not start")
    mode = os.stat(output).st_mode
    os.symlink("keep.duet", t.path("link.duet"))
    t.equal(run([DUET, "record", "-o", t.path("link.duet"), "--", "true"]).status, 0, "by a link")
    t.true(os.path.islink(t.path("link.duet")), "the link is a link")
    t.equal(os.stat(output).st_mode, mode, "the file's mode")
    t.readable(output)

t.end()
