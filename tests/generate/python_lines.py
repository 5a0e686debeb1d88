#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Line tables of real interpreters, for tests/unit/symbol/test_python_lines.c.

    for v in 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do
        python$v tests/generate/python_lines.py
    done > tests/unit/symbol/python_lines.txt

Run by each interpreter itself. A code object is one line: version, first line, bytes of code, table
in hexadecimal, then OFFSET:LINE wherever the line changes, "-" for no line, as dis.findlinestarts
(up to 3.9) or co_lines() tell.
"""
import dis
import sys

PLAIN = '''
def loops(items):
    total = 0
    for i in items:
        while i > 0:
            i -= 1
            if i % 3: continue
            total += i
            if total > 100:
                break
        else:
            total = -1
    return total

def calls(f, a,
          b=None):
    return f(
        a,
        b,
        *[
            x
            for x in
            range(10)
        ],
        key=a
        + b
    ).strip(
        " "
    )

def decorate(f): return f

@decorate
@decorate
def decorated(
    a,
    *,
    b: int = 3,
):

    return a + b

def protect(f):
    try:
        f()
    except (ValueError,
            KeyError) as e:
        print(e)
        raise
    except OSError:
        pass
    else:
        f()
    finally:
        f(1)
    with open(f) as x, \\
         open("b") as y:
        return x
    return None

class Thing(dict):
    """Text

    of a class."""
    size = 3

    def __init__(self):
        super().__init__()
        self.f = lambda x: (
            x,
            self
        )

    @property
    def p(self): return self.size

def generate(n):
    yield 1
    x = yield from generate(n - 1)
    return (
        y
        for y in range(x)
        if y
    )

async def wait(a):
    async with a as b:
        async for c in b:
            await c
    return [d async for d in a]

def back(a, b, c):
    x = (a +
         b(
             c) +
         a)
    y = (
        a if b
        else
        c)
    assert (x and
            y), "text"
    return {
        "a": x,
        "b":
            y,
        **c,
    }

def one(a): return a; b = 3; return b
def empty(): pass
def nested():
    def inner():
        def innermost():
            return 1 / 0
        return innermost
    return [inner for _ in range(3) if (lambda: _)()]
def delete(a):
    if not a:

        del a

    global z
    z = 1; import os, sys
    from os import path as p, \\
        sep
'''

MATCH = '''
def match(x):
    match x:
        case [1, 2, *rest] if rest:
            return rest
        case {"a": a,
              "b": b}:
            return a + b
        case _:
            return (
                None
            )
'''

GROUPS = '''
def groups(f):
    try:
        f()
    except* ValueError as e:
        print(e)
'''


def sources():
    yield PLAIN
    if sys.version_info >= (3, 10):
        yield MATCH
    if sys.version_info >= (3, 11):
        yield GROUPS
    # more than 255 bytes without a new line, and more than 127 lines without code
    yield "def wide(a):\n    return " + " + ".join("a.b%d" % i for i in range(200)) + "\n"
    yield "def long(a):\n" + "".join("    a.x%d = a\n" % i for i in range(300)) + "    return a\n"
    yield "def far(a):\n    a()\n" + "\n" * 700 + "    a(1)\n" + "#\n" * 128 + "    a(2)\n" + \
        "\n" * 126 + "    a(3)\n" + "\n" * 127 + "    return a\n"
    # back by more than 128 lines: the call comes after its arguments
    yield "def up(a):\n    return a(\n" + "".join("        a.x%d,\n" % i for i in range(250)) + \
        "\n" * 200 + "        a.y)\n"
    yield "\n" * 70000 + "def low(a):\n    for x in a:\n        yield x\n"


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def changes(code):
    if sys.version_info >= (3, 10):
        pairs = [(start, line) for start, end, line in code.co_lines() if end > start]
    else:
        pairs = list(dis.findlinestarts(code))
        if not pairs or pairs[0][0] > 0:
            pairs.insert(0, (0, code.co_firstlineno))
    last = object()
    for start, line in pairs:
        if line != last:
            yield "%d:%s" % (start, "-" if line is None else line)
        last = line


def main():
    table = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
    for source in sources():
        for code in codes(compile(source, "x.py", "exec")):
            print("%d.%d" % sys.version_info[:2], code.co_firstlineno, len(code.co_code),
                  getattr(code, table).hex() or "-", *changes(code))


main()
