# SPDX-License-Identifier: MIT
"""Stacks of all kinds, as python_probe sees them from C and as Python itself does.

    python_stacks.py PROBE.so            compare; "ok NAME" or "not ok NAME: WHY" a stack, exit status 1
                                         where one differs
    python_stacks.py PROBE.so --measure  nanoseconds, for one frame and for 11 and 41

Runs under every version from 3.8 on, so it is written for 3.8.
"""
import asyncio
import ctypes
import dis
import functools
import gc
import os
import sys
import threading
import traceback

VERSION = sys.version_info[:2]
FREE = ctypes.CDLL(sys.argv[1])     # gives the interpreter's lock away for the call
HELD = ctypes.PyDLL(sys.argv[1])    # keeps it
CALLBACK = ctypes.CFUNCTYPE(None)

local = threading.local()


class Wrong(Exception):
    pass


def fnv(data):
    value = 1469598103934665603
    for byte in data:
        value = (value ^ byte) * 1099511628211 & (1 << 64) - 1
    return value


def line_of(code, instruction):
    """As Python's own tables say."""
    if hasattr(code, "co_lines"):
        for begin, end, line in code.co_lines():
            if begin <= instruction < end:
                return line
        return None
    found = code.co_firstlineno
    for begin, line in dis.findlinestarts(code):
        if begin > instruction:
            break
        found = line
    return found


class Seen:
    """One frame from C."""
    def __init__(self, line):
        (self.name, self.file, first_line, instruction, entry, code, name_pointer, lines,
         version) = line.split("\t")
        self.first_line, self.instruction = int(first_line), int(instruction)
        self.entry = entry == "1"
        self.code, self.name_pointer, self.lines = int(code), int(name_pointer), int(lines)
        self.version = int(version, 16)


def take(library, most=4096):
    text = ctypes.create_string_buffer(1 << 20)
    if library.probe_take(text, len(text), most) < 0:
        raise Wrong("the probe failed")
    head, *lines = text.value.decode("utf-8").splitlines()
    count, truncated, evaluations, _ = (int(word) for word in head.split("\t"))
    if len(lines) != count:
        raise Wrong("%d lines for %d frames" % (len(lines), count))
    return [Seen(line) for line in lines], truncated, evaluations


def shown(text, size):
    """What of a text the probe can show: no lone surrogates, size bytes."""
    data = "".join("\ufffd" if 0xd800 <= ord(c) < 0xe000 else c for c in text).encode("utf-8")
    if len(data) < size:
        return data.decode("utf-8")
    return data[:size - 1].decode("utf-8", "ignore")


def compare_frame(seen, frame, innermost):
    code = frame.f_code
    name = shown(getattr(code, "co_qualname", code.co_name), 256)
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    pairs = [("name", seen.name, name), ("file", seen.file, shown(code.co_filename, 1024)),
             ("first line", seen.first_line, code.co_firstlineno),
             ("code", seen.code, id(code)), ("name pointer", seen.name_pointer, id(code.co_name)),
             ("line table", seen.lines, fnv(table)),
             ("version", seen.version, VERSION[0] << 8 | VERSION[1])]
    if not innermost:
        pairs.append(("instruction", seen.instruction, max(frame.f_lasti, 0)))
        if frame.f_lasti >= 0:
            pairs.append(("line", line_of(code, seen.instruction), frame.f_lineno))
    for what, got, want in pairs:
        if got != want:
            raise Wrong("%s of %s is %r, not %r" % (what, name, got, want))


def probe(from_c=None, loose=False):
    """Compares the stack from here. from_c: names of the frames that C called, from 3.11 on. loose:
    frames may be there that Python does not show."""
    library = local.probing
    seen, truncated, evaluations = take(library)
    here = sys._getframe()
    if line_of(here.f_code, seen[0].instruction) is None or seen[0].name != "take":
        raise Wrong("the innermost frame is %s" % seen[0].name)
    entries = sum(frame.entry for frame in seen)
    if truncated or entries != evaluations:
        raise Wrong("%d entries, %d evaluation frames on the native stack" % (entries, evaluations))
    hidden = [frame for frame in seen[1:] if loose and frame.code == 0]
    theirs = []
    frame = here
    while frame:
        theirs.append(frame)
        frame = frame.f_back
    ours = [frame for frame in seen[1:] if not (loose and frame.code == 0)]
    if loose and len(ours) > len(theirs):
        codes = {id(frame.f_code) for frame in theirs}
        hidden += [frame for frame in ours if frame.code not in codes]
        ours = [frame for frame in ours if frame.code in codes]
    if len(ours) != len(theirs):
        raise Wrong("%d frames, Python has %d: %s" %
                    (len(ours), len(theirs), [frame.name for frame in ours][:12]))
    for index, (our, their) in enumerate(zip(ours, theirs)):
        compare_frame(our, their, index == 0)
    lines = [entry.lineno for entry in reversed(traceback.extract_stack())]
    for our, their, line in list(zip(ours, theirs, lines))[1:]:
        if their.f_lasti >= 0 and line_of(their.f_code, our.instruction) != line:
            raise Wrong("line %s, traceback has %s" % (our.name, line))
    check_entries(ours, from_c)
    local.probes += 1
    return hidden


def check_entries(ours, from_c):
    if VERSION < (3, 11):
        wrong = [frame.name for frame in ours if not frame.entry]
    elif from_c is None:
        return
    else:
        wrong = [frame.name for frame in ours[:-1]
                 if frame.entry != (frame.name.split(".")[-1] in from_c + local.also)]
        wrong += [] if ours[-1].entry else [ours[-1].name]
    if wrong:
        raise Wrong("entry marks are wrong at %s" % wrong)


# ---- stacks ------------------------------------------------------------------------------------

def recursion(depth=5):
    if depth:
        return recursion(depth - 1)
    return probe(from_c=())


def deep():
    recursion(900)


def generator():
    def inner():
        # From 3.12 on the loop runs generators in its own frame once it has seen some.
        probe(from_c=("outer", "inner") if VERSION == (3, 11) else None)
        yield 1

    def outer():
        yield from inner()

    def plain():
        probe()
        yield 1
        probe()
        yield 2

    for _ in outer():
        pass
    for _ in range(50):
        for _ in plain():
            pass


def generator_from_c():
    def numbers():
        probe(from_c=("numbers",))
        yield 1
    list(numbers())
    sum(probe(from_c=("<genexpr>",)) is None for _ in range(2))


def comprehension():
    return [probe(from_c=()) for _ in range(2)]


def decorator():
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper

    @decorate
    def decorated(number):
        return probe(from_c=("decorated",) if VERSION == (3, 11) else ())

    decorated(1)


def class_body():
    class Body:
        probe(from_c=("Body",))
        made = [probe(from_c=("Body",)) for _ in range(1)]

        def method(self):
            probe(from_c=("method",))

        def __getattr__(self, name):
            probe(from_c=("__getattr__",))
            return 1

        @property
        def value(self):
            probe(from_c=None)
            return 1

    functools.partial(Body().method)()
    getattr(Body(), "absent")
    return Body().value


class Operand:
    """Calls Python from instructions that are rare enough to be moved away from the others."""
    def answer(self, *_):
        probe(from_c=("answer",))
        return self

    def truth(self, *_):
        probe(from_c=("truth",))
        return True

    __add__ = __matmul__ = __imatmul__ = __pow__ = __ilshift__ = __lt__ = __neg__ = __pos__ = answer
    __invert__ = __getitem__ = __enter__ = __aiter__ = __iter__ = __mod__ = __rtruediv__ = answer
    __bool__ = __contains__ = __setitem__ = __delitem__ = __exit__ = truth

    def __setattr__(self, name, value):
        probe(from_c=("__setattr__",))

    def __delattr__(self, name):
        probe(from_c=("__delattr__",))

    def __format__(self, how):
        probe(from_c=("__format__",))
        return ""

    def __repr__(self):
        probe(from_c=("__repr__",))
        return ""

    def __next__(self):
        probe(from_c=("__next__",))
        raise StopIteration

    def keys(self):
        probe(from_c=("keys",))
        return []

    def __len__(self):
        probe(from_c=("__len__",))
        return 0

    def __getattr__(self, name):
        probe(from_c=("__getattr__",))
        raise AttributeError(name)

    def __call__(self, *arguments, **named):
        probe(from_c=("__call__",))

    def __hash__(self):
        probe(from_c=("__hash__",))
        return 1

    def __index__(self):
        probe(from_c=("__index__",))
        return 1


class Mapping(dict):
    def __getitem__(self, name):
        if name == "absent":
            probe(from_c=("__getitem__", "<module>"))
        return dict.__getitem__(self, name)

    def __setitem__(self, name, value):
        probe(from_c=("__setitem__", "<module>"))

    def __delitem__(self, name):
        probe(from_c=("__delitem__", "<module>"))


class Failing(Exception):
    def __init__(self, *arguments):
        probe(from_c=("__init__",))


def operations():
    one = Operand()
    one + one, one @ one, one ** one, one < one, -one, +one, ~one, one[one], one % one, 1 / one
    one @= one
    one <<= one
    not one, one in one
    one[one] = 1
    del one[one]
    one.attribute = 1
    del one.attribute
    "%s{}".format(one), f"{one!r}{one}", f"{one:>{one}}"
    [*one], {**one}, {one}, {one: 1}, [1, 2][one], [1, 2][one:]
    one(1, a=2), one(*[1]), one(**{"a": 1})
    with one:
        pass
    for _ in one:
        pass
    try:
        first, second = one
    except ValueError:
        pass
    try:
        one.absent
    except AttributeError:
        pass
    try:
        raise Failing
    except Failing:
        pass
    exec("a = 1\ndel a\ntry:\n  absent\nexcept KeyError: pass\nexcept NameError: pass\n",
         {"probe": probe}, Mapping())


MATCHED = """
match one:
    case {"absent": 1}: pass
    case [first, second]: pass
    case Matched(1, 2): pass
    case Matched(a=1): pass
"""


class MatchedType(type):
    def __instancecheck__(cls, instance):
        probe()
        return True


class Matched(metaclass=MatchedType):
    __match_args__ = ("a", "b")


def rare_operations():
    shown_hook = sys.displayhook
    imported = __builtins__.__import__

    def hook(*values, **named):
        probe()

    def imports(name, *arguments):
        if sys._getframe(1).f_code.co_filename == "<string>":
            probe()
        return imported(name, *arguments)

    names = {"probe": probe, "one": Operand(), "Matched": Matched, "hook": hook}
    local.also = ("<module>",)
    sys.displayhook = hook
    try:
        exec(compile("1", "made up", "single"), names)
    finally:
        sys.displayhook = shown_hook
    __builtins__.__import__ = imports
    try:
        exec("import os\nfrom os import path\nfrom keyword import *\n", dict(names))
    finally:
        __builtins__.__import__ = imported
    exec("class Made:\n  a: hook(1) = 1\n", names)
    if VERSION >= (3, 10):
        exec(MATCHED, names)
    Deleted.failures, Deleted.hidden = [], []
    for text in ("[Deleted(), int('x')]", "Deleted() + int('x')", "for _ in [Deleted()]: int('x')",
                 "f(Deleted(), a=int('x'))", "{Deleted(): int('x')}", "[*[Deleted()], int('x')]"):
        try:
            exec(text, {"Deleted": Deleted, "f": hook})
        except ValueError:
            pass
    if Deleted.failures:
        raise Deleted.failures[0]


def executed():
    exec(compile("def f():\n    probe(from_c=('<lambda>', '<module>'))\n\n\nlist(map(lambda _: f(), [1]))\n",
                 "made up", "exec"), {"probe": probe})
    names = {"probe": probe}
    exec("def f():\n\n    probe(from_c=('<module>',))\nf()\n", names)
    eval("probe(from_c=('<module>',))", names)


def lambdas():
    return (lambda number: (lambda: probe(from_c=()))())(1)


def sorted_key():
    def key(number):
        probe(from_c=("key",))
        return number
    sorted([2, 1], key=key)
    sorted([1], key=lambda number: probe(from_c=("<lambda>",)) or 0)


def ctypes_callback():
    failures = []

    def callback():
        try:
            probe(from_c=("callback",))
        except Wrong as wrong:
            failures.append(wrong)

    local.probing.probe_call(CALLBACK(callback))
    if failures:
        raise failures[0]


def nested_callbacks():
    failures = []

    def key(number):
        helper()
        return number

    def helper():
        probe(from_c=("key", "callback", "each"))

    def callback():
        try:
            middle()
        except Wrong as wrong:
            failures.append(wrong)

    def middle():
        sorted([1], key=key)

    def each(number):
        local.probing.probe_call(CALLBACK(callback))

    list(map(each, [1, 2]))
    if failures:
        raise failures[0]


def coroutines():
    async def leaf():
        probe()
        await asyncio.sleep(0)
        probe()

    async def branch():
        await leaf()

    async def numbers():
        for number in range(3):
            probe()
            yield number

    async def root():
        await asyncio.gather(branch(), branch())
        async for _ in numbers():
            probe()

    asyncio.run(root())


def exceptions():
    def fail(depth):
        if depth:
            fail(depth - 1)
        raise ValueError

    try:
        fail(3)
    except ValueError:
        probe(from_c=())
    probe(from_c=())
    try:
        try:
            sorted([1], key=lambda number: fail(2))
        finally:
            probe(from_c=())
    except ValueError:
        probe(from_c=())


class Deleted:
    def __init__(self):
        self.failures = Deleted.failures
        self.hidden = Deleted.hidden

    def __del__(self):
        try:
            self.hidden.append(probe(loose=True))
        except Wrong as wrong:
            self.failures.append(wrong)


def deletion():
    def at_end():
        kept = Deleted()
        return 1

    def in_c(number):
        kept = Deleted()
        return number

    def by_exception(number):
        kept = Deleted()
        raise ValueError

    def replaced():
        kept = Deleted()
        kept = None
        return 1

    Deleted.failures, Deleted.hidden = [], []
    replaced()
    at_end()
    sorted([1], key=in_c)
    try:
        sorted([1], key=by_exception)
    except ValueError:
        pass
    if Deleted.failures:
        raise Deleted.failures[0]
    if len(Deleted.hidden) != 4:
        raise Wrong("%d of 4 deletions" % len(Deleted.hidden))
    if VERSION >= (3, 12) and not any(Deleted.hidden):
        raise Wrong("no evaluation frame without a Python frame was met")
    return "%d in frames that had ended" % sum(map(bool, Deleted.hidden))


def collected():
    """The collector, and with it __del__, runs in 3.11 where a frame makes its cells."""
    def cells(number):
        first, second, third = number, number, number
        return lambda: (first, second, third)

    def cycle():
        one = Deleted()
        one.itself = one

    Deleted.failures, Deleted.hidden = [], []
    threshold = gc.get_threshold()
    try:
        for offset in range(1, 12):
            cycle()
            gc.set_threshold(offset)
            list(map(cells, [1]))
            gc.set_threshold(*threshold)
            gc.collect()
    finally:
        gc.set_threshold(*threshold)
    if Deleted.failures:
        raise Deleted.failures[0]
    if not Deleted.hidden:
        raise Wrong("nothing was deleted")
    return "%d in frames not begun" % sum(map(bool, Deleted.hidden))


def traced():
    """Of each event the first one is probed: the probe ends the tracing."""
    failures, calls, wanted = [], [], ()

    def trace(frame, event, argument):
        if (event, frame.f_code.co_name) == wanted:
            sys.setprofile(None)
            sys.settrace(None)
            try:
                calls.append(wanted)
                probe()
            except Wrong as wrong:
                failures.append(wrong)
        return trace

    def followed():
        try:
            failing()
        except ValueError:
            pass
        return sum(counted(1))

    def failing():
        raise ValueError

    def counted(number):
        try:
            len(number)
        except TypeError:
            yield number

    events = [(sys.settrace, event) for event in ("call", "line", "exception", "return")]
    events += [(sys.setprofile, event) for event in ("call", "c_call", "c_exception", "return")]
    for start, event in events:
        for name in ("followed", "failing", "counted"):
            wanted = event, name
            start(trace)
            followed()
            start(None)
    if failures:
        raise failures[0]
    if len(set(calls)) < 12:
        raise Wrong("only %s were traced" % sorted(set(calls)))


def evaluator():
    """With an evaluation function of somebody else around Python's, C calls each frame."""
    api = ctypes.pythonapi
    if VERSION < (3, 9):
        return "cannot be set"
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    ctypes.c_void_p.in_dll(FREE, "probe_evaluation").value = default
    ours = ctypes.cast(FREE.probe_evaluate, ctypes.c_void_p).value
    interpreter = api.PyInterpreterState_Get()
    api._PyInterpreterState_SetEvalFrameFunc(interpreter, ours)
    try:
        nested_calls(3)
        for _ in range(2):
            list(nested_generator())
    finally:
        api._PyInterpreterState_SetEvalFrameFunc(interpreter, default)


def nested_calls(depth):
    return nested_calls(depth - 1) if depth else probe(from_c=("probe", "nested_calls"))


def nested_generator():
    yield from (probe() for _ in range(2))


def odd_names():
    long_name = "n" * 300
    for name, file in (("f", "\u00fc.py"), ("f", "\u4e2d\u6587/\u20ac.py"), ("f", "\U0001f600.py"),
                       ("f", "x\udc80y"), ("f", ""), ("f", "a/" * 700), ("\u00e9\u4e2d", "x"),
                       (long_name, "x"), ("\u4e2d" * 200, "x")):
        names = {"probe": probe}
        exec(compile("def %s():\n    probe()\n%s()" % (name, name), file, "exec"), names)


def threads():
    failures = []

    def work(number):
        local.probing, local.probes = (FREE, HELD)[number % 2], 0
        local.also = ("work",) if VERSION == (3, 11) else ()
        try:
            for _ in range(20):
                recursion(number)
                sorted_key()
                ctypes_callback()
        except Wrong as wrong:
            failures.append(wrong)

    started = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if failures:
        raise failures[0]


def foreign_thread():
    """A thread of C: no frames outside of the call into Python."""
    failures, done = [], []

    def callback():
        local.probing, local.probes, local.also = FREE, 0, ()
        try:
            probe(from_c=("callback",))
            done.append(1)
        except Wrong as wrong:
            failures.append(wrong)

    outside = FREE.probe_call_in_thread(CALLBACK(callback))
    if failures:
        raise failures[0]
    if outside != 0 or not done:
        raise Wrong("%d frames outside of the callback" % outside)
    if FREE.probe_call_in_thread(None) != 0:
        raise Wrong("frames in a thread without Python")


def few_wanted():
    def down(depth):
        if depth:
            return down(depth - 1)
        return take(local.probing), take(local.probing, 5), take(local.probing, 0)

    (every, none_left, _), (some, left, _), (nothing, all_left, _) = down(20)
    if none_left or len(some) != 5 or left != len(every) - 5 or nothing or all_left != len(every):
        raise Wrong("%d frames, of 5 wanted %d are left away" % (len(every), left))
    if [frame.code for frame in some] != [frame.code for frame in every[:3] + every[-2:]]:
        raise Wrong("not the innermost three and the outermost two")


def after_fork():
    child = os.fork()
    if child == 0:
        status = 1
        try:
            recursion(3)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise Wrong("the child's stack")


def sub_interpreter():
    """In it: up to 3.11 the stack of the thread's first interpreter, from 3.12 on its own one."""
    try:
        import _xxsubinterpreters as interpreters
        make = (functools.partial(interpreters.create, isolated=False) if VERSION >= (3, 9)
                else interpreters.create)
    except ImportError:
        try:
            import _interpreters as interpreters
        except ImportError:
            return "no sub-interpreters"
        make = functools.partial(interpreters.create, "legacy")
    read, write = os.pipe()
    script = """if True:
        import ctypes, os
        library = ctypes.%s(%r)
        def in_sub():
            text = ctypes.create_string_buffer(1 << 20)
            count = library.probe_take(text, len(text), 4096)
            names = [line.split("\\t")[0] for line in text.value.decode().splitlines()[1:]]
            os.write(%d, (str(count) + " " + " ".join(names)).encode())
        in_sub()
    """ % ("CDLL" if local.probing is FREE else "PyDLL", sys.argv[1], write)
    one = make()
    interpreters.run_string(one, script)
    interpreters.destroy(one)
    said = os.read(read, 65536).decode().split()
    os.close(read)
    os.close(write)
    want = "sub_interpreter" if VERSION <= (3, 11) else "in_sub"
    if len(said) < 2 or said[1] != want:
        raise Wrong("the innermost frame is %s" % said[:3])
    probe(from_c=())


STACKS = [recursion, deep, generator, generator_from_c, comprehension, decorator, class_body,
          operations, rare_operations, executed, lambdas, sorted_key, ctypes_callback,
          nested_callbacks, coroutines, exceptions, deletion, collected, traced, evaluator,
          odd_names, threads, foreign_thread, few_wanted, after_fork, sub_interpreter]
NOT_PROBED = (threads, foreign_thread, few_wanted, after_fork)


def compare_all():
    failed = False
    for library in (FREE, HELD):
        for stack in STACKS:
            local.probing, local.probes, local.also = library, 0, ()
            name = "%s, lock %s" % (stack.__name__, "given away" if library is FREE else "held")
            try:
                note = stack()
                if not local.probes and stack not in NOT_PROBED and not note:
                    raise Wrong("nothing was compared")
                print("ok %s%s" % (name, " (%s)" % note if isinstance(note, str) else ""))
            except Wrong as wrong:
                print("not ok %s: %s" % (name, wrong))
                failed = True
    return failed


def measure():
    figures = (ctypes.c_int64 * 2)()

    def down(depth):
        if depth > 1:
            return down(depth - 1)
        return FREE.probe_measure(20000, figures)

    for depth in (2, 11, 41):
        best = [1 << 40, 1 << 40]
        for _ in range(60):
            count = down(depth - 2)
            best = [min(pair) for pair in zip(best, figures)]
        print("%d frames in %.1f ns; a look for new libraries %.1f ns" %
              (count, best[1] / 1000, best[0] / 1000))


def main():
    if not FREE.probe_find():
        FREE.probe_unknown.restype = ctypes.c_char_p
        print("not ok unknown version %s" % FREE.probe_unknown().decode())
        return 1
    HELD.probe_find()
    if "--measure" in sys.argv:
        return measure()
    failed = compare_all()
    # Inside calls while the interpreter ends.
    text = [ctypes.create_string_buffer(1 << 20) for _ in range(4)]
    for buffer in text:
        threading.Thread(target=lambda buffer: [FREE.probe_take(buffer, len(buffer), 64)
                                                for _ in iter(int, 1)],
                         args=(buffer,), daemon=True).start()
    sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
