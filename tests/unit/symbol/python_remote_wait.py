# SPDX-License-Identifier: MIT
"""Threads that wait in nested calls and say themselves where: what test_python_remote.c must find.

Each tells its tid and its frames, innermost first: function, file, line, first line; then "."
"""
import sys
import threading
import time

LOCK = threading.Lock()
FORWARD = threading.Event()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def tell(frame):
    """The frames of the caller, which goes on to wait on the same line."""
    with LOCK:
        print(threading.get_native_id())
        while frame:
            print(name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno,
                  frame.f_code.co_firstlineno, sep="\t")
            frame = frame.f_back
        print(".", flush=True)


def wait():
    tell(sys._getframe()), time.sleep(1000)


def numbers(count):
    for number in range(count):
        wait()
        yield number


def delegating(count):
    yield from numbers(count)


class Ünder:
    class Inner:
        def method(self, text):
            assert text == "text"
            for _ in delegating(3):
                pass

    def __init__(self, levels):
        self.levels = levels
        self.down(levels)

    def down(self, levels):
        if levels:
            return self.down(levels - 1)
        return min([1], key=lambda number: self.Inner().method("text"))


def generators():
    def nested():
        return [Ünder(12) for _ in range(2)]

    nested()


def deep(levels):
    if levels == 0:
        return wait()
    if levels % 50 == 0:
        return max([levels], key=lambda level: deep(level - 1))
    return deep(
        levels - 1
    )


def deepest():
    sys.setrecursionlimit(5000)
    deep(600)


def shallow():
    exec(compile("def made():\n    wait()\n\nmade()\n", "<made>", "exec"), {"wait": wait})


def flat(levels):
    if levels:
        flat(levels - 1)
    else:
        wait()


def thirty():
    flat(25)


for target in generators, deepest, shallow, thirty:
    threading.Thread(target=target, daemon=True).start()
wait()
