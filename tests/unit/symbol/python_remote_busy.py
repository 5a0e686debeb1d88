# SPDX-License-Identifier: MIT
"""Threads that call and return all the time. In each line that makes a call, the name of what is called
is followed by a bracket, be it in a comment: so test_python_remote.c tells which stacks there can be.
"""
import sys
import threading


def small(n):
    return n + 1


def large(a, b=1, c=2, d=3, e=4, f=5):
    g, h, i, j = a, b, c, d
    return g + h + i + j + e + f + small(a)


def fib(n):
    if n < 2:
        return small(n)
    return fib(n - 1) + fib(n - 2)


def counting(n):
    while n:
        n -= small(0)
        yield n


def passing(n):
    yield large(n)
    yield from counting(n)
    yield small(n)


class Thing:
    def __init__(self, n):
        self.n = small(n)

    def method(self, n):
        return self.n + large(n)

    @property
    def value(self):
        return self.method(1)


def failing(n):
    if n == 0:
        raise ValueError(large(n))
    failing(n - 1)


def catching(n):
    try:
        failing(n)
    except ValueError:
        return small(n)


def keyed(values):
    return sorted(values, key=lambda value: small(value))  # <lambda>( small(


def made(n):
    code = compile("def fresh(n):\n    return small(n)  # small(\nfresh(1)  # fresh(\n", "<made>", "exec")
    exec(code, {"small": small})  # <module>(


def rounds():
    while True:
        fib(9)
        for _ in passing(5):  # passing( counting(
            pass
        Thing(1).method(2)  # __init__( method(
        Thing(2).value  # __init__( value(
        catching(5)
        keyed([3, 1, 2])
        made(1)
        [large(n) for n in range(3)]  # <listcomp>( large(


sys.setswitchinterval(0.0005)
for _ in range(int(sys.argv[1])):
    threading.Thread(target=rounds, daemon=True).start()
print(threading.get_native_id(), flush=True)
rounds()
