#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whether all programs of an object have room on the stack in every kernel: TAP, one line per object.

    check_stacks.py OBJECT.bpf.o...

A kernel's verifier adds up the frames of each chain of calls, up to 512 bytes and eight frames. Up to Linux 6.9 it counts
each frame in steps of 32 bytes, later ones in steps of 16, so that what this machine's kernel takes others may refuse. It is
counted here as they do; a function that is handed to a helper (bpf_loop) is one that is called.
"""
import functools
import struct
import sys

STACK_MOST = 512
STEP = 32
FRAMES_MOST = 8
CALL, LOAD_64, MOVE, ADD = 0x85, 0x18, 0xbf, 0x07
LOCAL_CALL = 1  # in the place of a source register
FRAME = 10  # the register that points to it
RELOCATION_SECTIONS, SYMBOLS, CODE, FUNCTION, SECTION = 9, 2, 4, 2, 3
CHAIN_LEAST = 2  # frames: an object of ours in which nothing calls anything was not understood


class Object:
    """Functions of an ELF file, and who calls whom."""

    def __init__(self, data):
        self.data = data
        start, = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
        self.symbols = [symbol for section in self.sections if section[1] == SYMBOLS
                        for symbol in struct.iter_unpack("<IBBHQQ", self.bytes_of(section))]
        self.functions = {(symbol[3], symbol[4]): symbol for symbol in self.symbols if symbol[1] & 15 == FUNCTION}
        self.relocations = {(section[7], offset): self.symbols[info >> 32] for section in self.sections
                            if section[1] == RELOCATION_SECTIONS
                            for offset, info in struct.iter_unpack("<QQ", self.bytes_of(section))}
        names, = {section[6] for section in self.sections if section[1] == SYMBOLS}
        self.names = self.bytes_of(self.sections[names])

    def bytes_of(self, section):
        return self.data[section[4]:section[4] + section[5]]

    def name(self, function):
        begin = self.functions[function][0]
        return self.names[begin:self.names.index(b"\0", begin)].decode()

    def code(self, function):
        """(place in its section, operation, registers, offset, number) of each instruction."""
        section, begin = function
        code = self.bytes_of(self.sections[section])[begin:begin + self.functions[function][5]]
        return [(begin + 8 * i, *fields) for i, fields in enumerate(struct.iter_unpack("<BBhi", code))]

    def target(self, section, place, operation, registers, number):
        """The function that is called or pointed to; None: it is none of the object's."""
        symbol = self.relocations.get((section, place))
        is_call = operation == CALL and registers >> 4 == LOCAL_CALL
        if symbol is None:
            return (section, place + 8 + 8 * number) if is_call else None
        behind = 8 * (number + 1) if is_call else number
        return symbol[3], symbol[4] + (behind if symbol[1] & 15 == SECTION else 0)

    def callees(self, function):
        found = {self.target(function[0], place, operation, registers, number)
                 for place, operation, registers, _, number in self.code(function) if operation in (CALL, LOAD_64)}
        return (found & self.functions.keys()) - {function}

    def frame_bytes(self, function):
        """The farthest place that it uses, or takes the address of."""
        farthest = 0
        pointers = set()
        for _, operation, registers, offset, number in self.code(function):
            target, source = registers & 15, registers >> 4
            kind = operation & 7
            if (kind in (2, 3) and target == FRAME) or (kind == 1 and source == FRAME):
                farthest = max(farthest, -offset)
            if operation == ADD and target in pointers:
                farthest = max(farthest, -number)
            pointers.discard(target)
            if operation == MOVE and source == FRAME:
                pointers.add(target)
        return farthest

    @functools.cache
    def worst(self, function):
        """(bytes, names) of the dearest chain, and the most frames of any."""
        own = -(-max(self.frame_bytes(function), 1) // STEP) * STEP
        chains = [self.worst(callee) for callee in self.callees(function)]
        most, names, frames = max(chains, default=(0, (), 0))
        return own + most, (self.name(function), *names), 1 + max((chain[2] for chain in chains), default=frames)

    def programs(self):
        """Functions that a kernel runs by themselves: in sections of their own."""
        text = {i for i, section in enumerate(self.sections) if section[2] & CODE and self.section_name(section) != ".text"}
        return [function for function in self.functions if function[0] in text]

    def section_name(self, section):
        index, = struct.unpack_from("<H", self.data, 62)
        names = self.bytes_of(self.sections[index])
        return names[section[0]:names.index(b"\0", section[0])].decode()


def complaints(path):
    with open(path, "rb") as file:
        elf = Object(file.read())
    worst = [elf.worst(program) for program in elf.programs()]
    if max((frames for _, _, frames in worst), default=0) < CHAIN_LEAST:
        yield "no chain of calls was found"
    for size, names, frames in worst:
        if size > STACK_MOST or frames > FRAMES_MOST:
            yield f"{size} bytes, {frames} frames: {' > '.join(names)}"


def main():
    failures = 0
    print(f"1..{len(sys.argv) - 1}")
    for number, path in enumerate(sys.argv[1:], 1):
        found = list(complaints(path))
        failures += bool(found)
        print("not ok" if found else "ok", number, "-", path.rsplit("/", 1)[-1])
        for line in found:
            print("#", line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
