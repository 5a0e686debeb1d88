#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record -a records programs that it did not start; install sets up a machine and restores it."""
import os
import re
import shutil
import time

import duet_test
from duet_test import DUET, GUEST, Running, program, run, text

t = duet_test.Suite()
duet_test.leave_network()


def guest():
    if not os.path.exists(GUEST):
        raise duet_test.Skip(f"{GUEST} is not there")
    return {"OPENCL_LAYERS": GUEST}


def wait_for_turn():
    """One machine-wide recording a user: another run of these tests may have it for a while."""
    for _ in range(30):
        result = run([DUET, "record", "-a", "-d", "0.1", "-o", t.path("turn.duet")])
        if b"another" not in result.stderr:
            return
        time.sleep(2)


def launches_of(document, pid):
    """Launches of one process; others of the machine may be in the trace too."""
    return sum(row["launches"] for row in document["processes"] if row.get("pid") == pid)


wait_for_turn()

with t.case("an idle guest changes nothing"):
    t.wanted()
    for name, *arguments in (("counts", "--check-properties"), ("counts", "--fail"),
                             ("counts", "--threads", "8"), ("counts", "--command-buffer"),
                             ("counts", "--image", "--map", "--svm", "--rect", "--other"),
                             ("harm", "work", "20", "5"), ("harm", "state"), ("harm", "nested"),
                             ("harm", "vfork"), ("harm", "forks", "50"), ("harm", "abort")):
        plain = run([program(name), *arguments])
        idle = run([program(name), *arguments], env=guest())
        t.equal(idle[:3], plain[:3], f"{arguments}")

with t.case("record -a: one program ran before, one starts during"):
    output = t.path("all.duet")
    t.wanted()
    before = Running([program("harm"), "renew", "6"], env=guest())
    before.wait_line("running")
    recorder = Running([DUET, "record", "-a", "-d", "3", "-o", output])
    time.sleep(1.0)
    during = Running([program("harm"), "work", "50"], env=guest())
    result = recorder.finish(30)
    first, second = before.finish(30), during.finish(30)
    t.equal(result.status, 0, f"status of record -a ({text(result.stderr)})")
    t.equal((first.status, first.stdout), (0, b"running\nended\n"), "the program that ran before")
    t.equal((second.status, second.stdout), (0, b"did 50 steps\n"), "the program that came later")
    document = t.readable(output)
    pids = {row.get("pid"): row for row in document["processes"]}
    t.true(before.pid in pids, f"the program that ran before is there: {sorted(pids)}")
    t.true(during.pid in pids, f"the program that came later is there: {sorted(pids)}")
    t.equal(launches_of(document, during.pid), 150, "launches of the program that came later")
    t.true(launches_of(document, before.pid) >= 30, "launches of the program that ran before")

with t.case("record -a: programs without a guest are named at the end"):
    t.wanted()
    running = Running([program("harm"), "renew", "3"])
    running.wait_line("running")
    result = run([DUET, "record", "-a", "-d", "1", "-o", t.path("none.duet")])
    running.finish(30)
    t.equal(result.status, 0, "status")
    t.true(re.search(r"^duet: [0-9]+ process(es use| uses) OpenCL without duet's guest: .*\([0-9]+\).*duet install --system", text(result.stderr), re.M),
           text(result.stderr))
    t.equal(len(text(result.stderr).splitlines()), 1, "one line")

with t.case("record -a: it ends by SIGINT, and what it recorded is readable"):
    output = t.path("interrupted.duet")
    t.wanted()
    recorder = Running([DUET, "record", "-a", "-o", output])
    time.sleep(0.7)
    running = Running([program("harm"), "work", "50"], env=guest())
    done = running.finish()
    recorder.kill(2)
    result = recorder.finish(20)
    t.equal(result.status, 0, f"status ({text(result.stderr)})")
    t.equal(done.status, 0, "status of the program")
    t.equal(launches_of(t.readable(output), running.pid), 150, "launches of the program")

with t.case("record -a: a second recorder at the same time works or is refused with the reason"):
    t.wanted()
    one = Running([DUET, "record", "-a", "-d", "2", "-o", t.path("one.duet")])
    time.sleep(0.5)
    two = Running([DUET, "record", "-a", "-d", "1", "-o", t.path("two.duet")])
    second, first = two.finish(20), one.finish(20)
    t.equal(first.status, 0, f"status of the first ({text(first.stderr)})")
    t.true(second.status in (0, 125), f"status of the second: {second.status}")
    if second.status == 125:
        t.true(second.stderr, "it says why")

with t.case("record -a: while the program is killed by SIGKILL"):
    t.wanted()
    output = t.path("killed.duet")
    recorder = Running([DUET, "record", "-a", "-d", "3", "-o", output])
    time.sleep(0.5)
    running = Running([program("counts"), "--exit=kill9"], env=guest())
    t.equal(running.finish().status, 137, "status of the program")
    result = recorder.finish(20)
    t.equal(result.status, 0, "status of the recorder")
    t.equal(launches_of(t.readable(output), running.pid), 38, "launches of the program")


def tree(folder):
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                found[os.path.relpath(os.path.join(base, name), folder)] = file.read()
    return found


with t.case("install --system and --remove below a folder of one's own"):
    t.wanted()
    root = t.path("root")
    os.makedirs(os.path.join(root, "etc"))
    with open(os.path.join(root, "etc", "environment"), "w", encoding="utf-8") as file:
        file.write("LANG=C.UTF-8\n")
    os.makedirs(os.path.join(root, "usr", "lib", "duet"))
    shutil.copy(GUEST, os.path.join(root, "usr", "lib", "duet"))
    untouched = tree(root)
    result = run([DUET, "install", "--system", "--root", root])
    t.equal(result.status, 0, f"status of --system ({text(result.stderr)})")
    armed = tree(root)
    t.true(any(b"OPENCL_LAYERS" in data for data in armed.values()), "OPENCL_LAYERS is set somewhere")
    t.true(b"LANG=C.UTF-8" in armed.get("etc/environment", b""), "what was there is kept")
    result = run([DUET, "install", "--system", "--root", root])
    t.equal(result.status, 0, f"status of a second --system ({text(result.stderr)})")
    t.equal(tree(root), armed, "a second --system changes nothing")
    result = run([DUET, "install", "--remove", "--root", root])
    t.equal(result.status, 0, f"status of --remove ({text(result.stderr)})")
    t.equal(tree(root), untouched, "--remove leaves what was there before")
    result = run([DUET, "install", "--remove", "--root", root])
    t.true(result.status in (0, 1), f"status of a second --remove: {result.status}")

with t.case("install: wrong use"):
    t.equal(run([DUET, "install"]).status, 2, "status without an option")
    result = run([DUET, "install", "--system", "--root", "/no/such/root"])
    t.equal(result.status, 1, "status with a folder that is not there")
    t.true(result.stderr, "there is a message")

t.end()
