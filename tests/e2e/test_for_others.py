#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Suite.for_others: any user can access a file of the build, even if a folder above it is closed, as home folders are on
Debian 12.
"""
import os
import shutil
import stat

import duet_test
from duet_test import DUET, Skip, run, text

t = duet_test.Suite(needs_opencl=False)
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", 'exec "$@"', "sh"]


def closed_program():
    """A script and a file beside it in a folder that only its owner enters."""
    folder = os.path.join(t.path("closed"), "bin")
    os.makedirs(folder, exist_ok=True)
    os.chmod(t.path("closed"), 0o700)
    with open(os.path.join(folder, "word"), "w", encoding="ascii") as file:
        file.write("reached\n")
    os.chmod(os.path.join(folder, "word"), 0o600)
    path = os.path.join(folder, "program")
    with open(path, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\ncat "$(dirname "$0")/word"\n')
    os.chmod(path, 0o700)
    return path


with t.case("an open file keeps its path"):
    t.equal((duet_test.is_open("/bin/sh"), t.for_others("/bin/sh")), (True, os.path.realpath("/bin/sh")), "the shell")

with t.case("a file below a closed folder is copied, and copies lie to each other as the originals do"):
    path = closed_program()
    t.equal(duet_test.is_open(path), False, "the original is closed")
    mask = os.umask(0o077)
    try:
        word, copy = t.for_others(os.path.join(os.path.dirname(path), "word")), t.for_others(path)
    finally:
        os.umask(mask)
    t.equal((copy != path, os.path.dirname(word)), (True, os.path.dirname(copy)), "one folder")
    t.equal(stat.S_IMODE(os.stat(copy).st_mode), 0o755, "its mode")
    t.true(duet_test.is_open(copy), "the copy is open")
    t.equal(t.for_others(path), copy, "asked for again")

with t.case("another user runs the copy, and not the original"):
    t.wanted()
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become another user")
    path = closed_program()
    t.true(run([*NOBODY, path]).status != 0, "the original is not reached")
    for file in (os.path.join(os.path.dirname(path), "word"), path):
        copy = t.for_others(file)
    result = run([*NOBODY, copy])
    t.equal((result.status, text(result.stdout)), (0, "reached\n"), text(result.stderr))

with t.case("duet comes with its guests"):
    t.wanted()
    guests = [name for name in os.listdir(os.path.dirname(t.for_others(DUET))) if name.startswith("libduet-")]
    t.true("libduet-opencl.so" in guests, f"{guests}")

t.end()
