# SPDX-License-Identifier: MIT
"""Launches from Python stacks of which parts are left out, and from code that takes the place of other code.

    python_awkward.py python|c DEPTH    a recursion through Python alone, or through C; from alpha, then twice from beta
    python_awkward.py cells COUNT       as many files run one after the other, each defines and calls step()
    python_awkward.py long LINES        the launch is on the last line of a module of so many

The kernels of alpha have the global size 1, those of beta 2, those of a cell its number and 1.
"""
import gc
import sys

from python_paths import Launcher

launcher = Launcher()
launcher.paths = dict.fromkeys(range(1, 10000))


def through_python(depth, size):
    if depth:
        return through_python(depth - 1, size)
    return launcher.launch(size)


def through_c(depth, size):
    if depth:
        return sorted([1], key=lambda _: through_c(depth - 1, size) or 0)
    return launcher.launch(size)


def alpha(function, depth):
    function(depth, 1)


def beta(function, depth):
    function(depth, 2)


def run_cells(count):
    for number in range(count):
        source = "def step():\n" + "    y = 0\n" * number + "    launch(%d)\nstep()\n" % (number + 1)
        names = {"launch": launcher.launch}
        exec(compile(source, "<cell-%d>" % number, "exec"), names)
        del names["step"], names
        gc.collect()


def main(kind, number):
    sys.setrecursionlimit(100000)
    if kind == "cells":
        run_cells(number)
    elif kind == "long":
        exec(compile("x = 1 + len('a')\n" * (number - 1) + "launch(1)\n", "long.py", "exec"),
             {"launch": launcher.launch})
    else:
        function = through_c if kind == "c" else through_python
        alpha(function, number)
        beta(function, number)
        beta(function, number)
    launcher.finish()


main(sys.argv[1], int(sys.argv[2]))
