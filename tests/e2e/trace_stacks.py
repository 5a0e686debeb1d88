# SPDX-License-Identifier: MIT
"""The stacks of a trace, as tests/checker/print_stacks.c prints them, with native frames named by addr2line."""
import collections
import os
import shutil
import subprocess

from duet_test import Skip, program, run, text

Frame = collections.namedtuple("Frame", "type module offset is_return name file line")
Launch = collections.namedtuple("Launch", "tid function result kernel stack size")


def _frame(kind, fields):
    if kind == "native":
        return Frame(kind, fields[0], int(fields[1], 16), fields[2] == "1", None, None, None)
    if kind == "python":
        return Frame(kind, None, None, False, fields[0], fields[1], int(fields[2]))
    if kind == "jit":
        return Frame(kind, None, int(fields[0], 16), False, fields[1], None, None)
    return Frame(kind, None, int(fields[0]), False, None, None, None)


class Trace:
    """frames: id -> Frame; stacks: id -> (caller, frame); kernels: id -> (name, parent); launches;
    calls: (function, stack)."""

    def __init__(self, path):
        self.frames, self.stacks, self.kernels, self.launches, self.calls = {}, {}, {}, [], []
        result = run([program("print_stacks"), path])
        if result.status != 0:
            raise AssertionError(f"print_stacks: {text(result.stderr)}")
        for line in text(result.stdout).splitlines():
            word, *fields = line.split("\t")
            getattr(self, "_" + word)(fields)
        self._chains = {}

    def _frame(self, fields):
        self.frames[int(fields[0])] = _frame(fields[1], fields[2:])

    def _stack(self, fields):
        self.stacks[int(fields[0])] = (int(fields[1]), int(fields[2]))

    def _kernel(self, fields):
        self.kernels[int(fields[0])] = (fields[1], int(fields[2]))

    def _launch(self, fields):
        tid, function, result, kernel, stack, *size = fields
        self.launches.append(Launch(int(tid), function, int(result), int(kernel), int(stack),
                                    tuple(map(int, size))))

    def _call(self, fields):
        self.calls.append((fields[1], int(fields[2])))

    def chain(self, stack):
        """The frames of a stack, innermost first."""
        found = []
        while stack:
            caller, frame = self.stacks[stack]
            found.append(self.frames[frame])
            stack = caller
        return found

    def types(self, launches=None):
        """Types of the frames of some launches' stacks, of all where none are named."""
        stacks = {launch.stack for launch in launches or self.launches}
        return {frame.type for stack in stacks for frame in self.chain(stack)}

    def name_native(self, *names):
        """Gives native frames of the files of these base names the names of their functions."""
        modules = collections.defaultdict(dict)
        for number, frame in self.frames.items():
            if frame.type == "native" and os.path.basename(frame.module) in names:
                modules[frame.module][number] = frame.offset - frame.is_return
        for module, offsets in modules.items():
            for number, name in zip(offsets, functions_at(module, offsets.values())):
                self.frames[number] = self.frames[number]._replace(name=name)

    def functions(self, stack, *names):
        """Names of a stack's functions that lie in the named files, innermost first."""
        return [frame.name for frame in self.chain(stack)
                if frame.type == "native" and os.path.basename(frame.module) in names]


def _loaded_parts(module):
    """(offset in the file, bytes, address) of each part that is loaded."""
    result = run(["readelf", "-lW", module])
    rows = [line.split() for line in text(result.stdout).splitlines()]
    return [(int(row[1], 16), int(row[4], 16), int(row[2], 16))
            for row in rows if row and row[0] == "LOAD"]


def functions_at(module, offsets):
    """The function at each offset in a file, as addr2line names it: the one that has the frame, not one
    that was inlined into it."""
    if not shutil.which("addr2line") or not shutil.which("readelf"):
        raise Skip("binutils are not installed")
    parts = _loaded_parts(module)
    addresses = [next((address + offset - begin for begin, size, address in parts
                       if begin <= offset < begin + size), 0) for offset in offsets]
    done = subprocess.run(["addr2line", "-a", "-i", "-f", "-e", module], check=True,
                          capture_output=True,
                          input="".join(f"{address:#x}\n" for address in addresses).encode())
    # for each address itself, then a function and a place for each inlined one and for the outermost
    names = []
    for line in text(done.stdout).splitlines():
        if line.startswith("0x"):
            names.append([])
        else:
            names[-1].append(line)
    # the part of a function that is rarely run lies elsewhere, under a name of its own
    return [lines[-2].removesuffix(".cold") for lines in names]
