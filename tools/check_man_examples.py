#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the examples of the manual pages: an example that does not work is a failed test.

    tools/check_man_examples.py --duet build/duet [PAGE.md ...]
    tools/check_man_examples.py --self-test

In the section EXAMPLES of each page, every line of a fenced block that begins with "$ " is a
command (with a backslash at its end it goes on in the next line); the lines behind it, up to the
next command or the end of the block, are what it must print, where there are any. A command must
end with status 0, or with N where "# exits N" stands at its end. "# not run: REASON" at its end makes it a skip. The commands of a page run in order, in one
scratch folder, by bash, with duet first in PATH and with

    duet.duet   a recording of ./program
    program     a small program that uses OpenCL
    app.py      the same for Python with PyOpenCL
    sudo        runs its arguments with the rights of this script

A collector without its device is reported and skipped by duet, so that these examples run everywhere.
"""
import argparse
import contextlib
import ctypes
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXITS = re.compile(r"\s*#\s*exits\s+(\d+)\s*$")
NOT_RUN = re.compile(r"\s*#\s*not run:\s*(.*?)\s*$")

APP = """\
import numpy, pyopencl
context = pyopencl.create_some_context(interactive=False)
queue = pyopencl.CommandQueue(context)
source = "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }"
kernel = pyopencl.Program(context, source).build().twice
x = numpy.ones(4096, dtype=numpy.float32)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=x)
for _ in range(7):
    kernel(queue, x.shape, None, buffer)
pyopencl.enqueue_copy(queue, x, buffer)
queue.finish()
assert x[0] == 128
"""


def commands(text):
    """Yields (command, what it prints) of the section EXAMPLES of one page."""
    inside, fenced, pending, printed = False, False, "", []
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            if pending:
                yield pending, "\n".join(printed)
            pending, printed = "", []
            continue
        heading = re.match(r"^#+\s+(.*?)\s*#*$", line) if not fenced else None
        if heading:
            inside = heading.group(1).strip().upper() == "EXAMPLES"
            continue
        if not (inside and fenced):
            continue
        if pending.endswith("\\") and not printed:
            pending += "\n" + line
        elif line.startswith("$ "):
            if pending:
                yield pending, "\n".join(printed)
            pending, printed = line[2:], []
        elif pending:
            printed.append(line)


def run(command, folder, environment, seconds=60):
    """(status, output) of one command."""
    try:
        done = subprocess.run(["/bin/bash", "-c", command], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode("utf-8", "replace")
    return done.returncode, done.stdout.decode("utf-8", "replace")


class Runner:
    def __init__(self, duet):
        self.build = os.path.dirname(os.path.abspath(duet))
        self.number = 0
        self.failed = False
        self.ground = None  # a folder with the files named above
        self.complaint = ""

    def tell(self, is_ok, what, output="", skip=None):
        self.number += 1
        self.failed |= not is_ok
        for line in output.splitlines():
            print(f"#   {line}")
        print(f"{'ok' if is_ok else 'not ok'} {self.number} - {what}"
              + (f" # SKIP {skip}" if skip else ""))

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DUET")}
        kept["PATH"] = os.pathsep.join(filter(None, [self.build, self.ground, "/usr/sbin", "/usr/bin", "/sbin", "/bin"]))
        return kept

    def prepare(self, scratch):
        """Fills the ground that each page's folder is copied from."""
        self.ground = os.path.join(scratch, "ground")
        os.mkdir(self.ground)
        with open(os.path.join(self.ground, "app.py"), "w", encoding="utf-8") as file:
            file.write(APP)
        with open(os.path.join(self.ground, "sudo"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec "$@"\n')
        os.chmod(os.path.join(self.ground, "sudo"), 0o755)
        program = os.path.join(self.build, "tests", "programs", "counts")
        if os.path.exists(program):
            shutil.copy(program, os.path.join(self.ground, "program"))
        status, output = run("duet record -- ./program >/dev/null", self.ground, self.environment())
        if status != 0 or not os.path.exists(os.path.join(self.ground, "duet.duet")):
            self.complaint = f"record ./program: status {status}\n{output}"

    def page(self, path, scratch):
        name = os.path.basename(path).removesuffix(".md")
        folder = os.path.join(scratch, name)
        with open(path, encoding="utf-8") as file:
            examples = list(commands(file.read()))
        shutil.copytree(self.ground, folder)
        for example, printed in examples:
            self.example(name, example, folder, printed)
        if not examples:
            self.tell(False, f"{name}: there is no example")

    def example(self, page, example, folder, printed=""):
        not_run, exits = NOT_RUN.search(example), EXITS.search(example)
        command = EXITS.sub("", NOT_RUN.sub("", example))
        title = f"{page}: {command}".replace("#", "").replace("\\\n", " ")
        if not_run:
            self.tell(True, title, skip=not_run.group(1))
            return
        want = int(exits.group(1)) if exits else 0
        status, output = run(command, folder, self.environment())
        if status is None:
            self.tell(False, title, output + "\nno end after 60 s")
        elif status != want:
            self.tell(False, title, f"{output}\nstatus {status}, want {want}\n{self.complaint}")
        elif printed and output.strip() != printed.strip():
            self.tell(False, title, f"{output}\nit is said to print:\n{printed}")
        else:
            self.tell(True, title)


PAGE = """\
# NAME
```
$ not an example
```
# EXAMPLES
Text, `$ not one either`.
```
$ echo that
that
$ echo this
that
$ false  # exits 1
$ echo a \\
  b
```
## More
```
$ outside
```
# EXAMPLES
```
$ sudo x  # not run: it needs root
$ false
```
"""


def self_test():
    """The examples of PAGE, and what becomes of each."""
    wanted = [("echo that", "that"), ("echo this", "that"), ("false  # exits 1", ""),
              ("echo a \\\n  b", ""), ("sudo x  # not run: it needs root", ""), ("false", "")]
    found = list(commands(PAGE))
    runner = Runner("build/duet")
    outcomes = []
    for example, printed in found:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            runner.example("page", example, folder, printed)
        outcomes.append(re.sub(r" \d+ - .*?(?=$| # SKIP)", "", out.getvalue().splitlines()[-1]))
    results = (("examples are found", found == wanted, found),
               ("outcomes", outcomes == ["ok", "not ok", "ok", "ok", "ok # SKIP it needs root", "not ok"],
                outcomes))
    for number, (name, is_ok, got) in enumerate(results, 1):
        print(f"{'ok' if is_ok else 'not ok'} {number} - {name}" if is_ok else
              f"#   got {got}\nnot ok {number} - {name}")
    print(f"1..{len(results)}")
    return 0 if all(is_ok for _, is_ok, _ in results) else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--duet", default=os.path.join(ROOT, "build", "duet"))
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("pages", nargs="*")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    man = os.path.join(ROOT, "docs", "man")
    pages = arguments.pages or sorted(
        os.path.join(man, name) for name in os.listdir(man) if name.endswith(".md"))
    runner = Runner(arguments.duet)
    # Only one may record all programs: as root, of a network (CLONE_NEWNET) that nobody else's tests are in.
    ctypes.CDLL(None).unshare(0x40000000)
    with tempfile.TemporaryDirectory(prefix="duet-man.") as scratch:
        runner.prepare(scratch)
        for page in pages:
            runner.page(page, scratch)
    print(f"1..{runner.number}")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
