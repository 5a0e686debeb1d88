#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Whether what was built has the hardening options of the linker and the compiler. Reads the ELF files itself; prints TAP.

    tools/check_hardening.py [--fortified] --program FILE LIBRARY ...
    tools/check_hardening.py --self-test

All of them: full RELRO (PT_GNU_RELRO and DF_BIND_NOW), a stack that is not executable, no text relocations. The program as
well: position independent (DF_1_PIE), stack protector (__stack_chk_fail), and with --fortified checked functions (*_chk).
A library is loaded into other programs: it must not have __stack_chk_fail or *_chk, which abort.
"""
import argparse
import struct
import sys

PT_LOAD, PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
DT_NULL, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_TEXTREL, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 0, 5, 6, 10, 22, 24, 30, 0x6FFFFFFB
DF_TEXTREL, DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 4, 8, 1, 0x08000000
ET_DYN, PF_X = 3, 1


class Elf:
    """Of 64 bits, little-endian."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no ELF file of 64 bits")
        self.data = data
        self.type, = struct.unpack_from("<H", data, 16)
        at, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", data, at + i * size) for i in range(count)]
        self.dynamic = dict(self._dynamic())
        self.imports = set(self._imports())

    def segment(self, kind):
        return next((segment for segment in self.segments if segment[0] == kind), None)

    def _dynamic(self):
        segment = self.segment(PT_DYNAMIC)
        if segment:
            for at in range(segment[2], segment[2] + segment[5], 16):
                tag, value = struct.unpack_from("<QQ", self.data, at)
                if tag == DT_NULL:
                    return
                yield tag, value

    def _offset(self, address):
        for kind, _, offset, start, _, size, _, _ in self.segments:
            if kind == PT_LOAD and start <= address < start + size:
                return offset + address - start
        raise ValueError(f"nothing is loaded at {address:#x}")

    def _imports(self):
        """Undefined symbols. The table ends where its texts begin, as linkers lay them out."""
        if DT_SYMTAB not in self.dynamic or DT_STRTAB not in self.dynamic:
            return
        symbols, texts = self._offset(self.dynamic[DT_SYMTAB]), self._offset(self.dynamic[DT_STRTAB])
        for at in range(symbols, texts - 23, 24):
            name, _, _, section = struct.unpack_from("<IBBH", self.data, at)
            if section == 0 and name:
                begin = texts + name
                yield self.data[begin:self.data.index(b"\0", begin)].decode()

    def flag(self, tag, bit):
        return bool(self.dynamic.get(tag, 0) & bit)


def judge(elf, is_program, is_fortified):
    """What is missing."""
    stack = elf.segment(PT_GNU_STACK)
    protected = {"__stack_chk_fail"} & elf.imports
    checked = {name for name in elf.imports if name.endswith("_chk")}
    facts = [
        ("PT_GNU_RELRO", elf.segment(PT_GNU_RELRO)),
        ("BIND_NOW", DT_BIND_NOW in elf.dynamic or elf.flag(DT_FLAGS, DF_BIND_NOW) or elf.flag(DT_FLAGS_1, DF_1_NOW)),
        ("a stack without PF_X", stack and not stack[1] & PF_X),
        ("text without relocations", DT_TEXTREL not in elf.dynamic and not elf.flag(DT_FLAGS, DF_TEXTREL)),
    ]
    if is_program:
        facts += [("PIE", elf.type == ET_DYN and elf.flag(DT_FLAGS_1, DF_1_PIE)), ("__stack_chk_fail", protected),
                  ("checked functions (*_chk)", checked or not is_fortified)]
    else:
        facts.append(("freedom from functions that abort (__stack_chk_fail, *_chk)", not protected and not checked))
    return [what for what, is_there in facts if not is_there]


def check(paths, is_fortified):
    failures = 0
    print(f"1..{len(paths)}")
    for index, (path, is_program) in enumerate(paths):
        with open(path, "rb") as file:
            missing = judge(Elf(file.read()), is_program, is_fortified)
        for what in missing:
            print(f"# {path}: lacks {what}")
        failures += bool(missing)
        print(f"{'not ok' if missing else 'ok'} {index + 1} - {path.rsplit('/', 1)[-1]} is hardened")
    return failures != 0


def make(flags=DF_BIND_NOW, flags_1=DF_1_PIE, stack=6, relro=True, imports=("__stack_chk_fail", "__read_chk")):
    """An ELF file with these properties."""
    texts = b"\0" + b"".join(name.encode() + b"\0" for name in imports)
    symbols, at = bytes(24), 1
    for name in imports:
        symbols += struct.pack("<IBBHQQ", at, 0x12, 0, 0, 0, 0)
        at += len(name) + 1
    begin = 64 + 4 * 56
    dynamic_at = begin + len(symbols) + len(texts)
    entries = [(DT_SYMTAB, begin), (DT_STRTAB, begin + len(symbols)), (DT_STRSZ, len(texts)), (DT_FLAGS, flags),
               (DT_FLAGS_1, flags_1), (DT_NULL, 0)]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    end = dynamic_at + len(dynamic)
    segments = [(PT_LOAD, 5, 0, end), (PT_DYNAMIC, 6, dynamic_at, len(dynamic)), (PT_GNU_STACK, stack, 0, 0),
                (PT_GNU_RELRO if relro else 0, 4, dynamic_at, len(dynamic))]
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", ET_DYN, 62, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    table = b"".join(struct.pack("<IIQQQQQQ", kind, rights, at, at, at, size, size, 8) for kind, rights, at, size in segments)
    return Elf(head + table + symbols + texts + dynamic)


def self_test():
    cases = [
        ("a hardened program", judge(make(), True, True), []),
        ("without RELRO", judge(make(relro=False), True, True), ["PT_GNU_RELRO"]),
        ("lazily bound", judge(make(flags=0), True, True), ["BIND_NOW"]),
        ("an executable stack", judge(make(stack=7), True, True), ["a stack without PF_X"]),
        ("relocations in text", judge(make(flags=DF_BIND_NOW | DF_TEXTREL), True, True), ["text without relocations"]),
        ("at a fixed address", judge(make(flags_1=0), True, True), ["PIE"]),
        ("without a protector", judge(make(imports=("__read_chk",)), True, True), ["__stack_chk_fail"]),
        ("without checked functions", judge(make(imports=("__stack_chk_fail",)), True, True), ["checked functions (*_chk)"]),
        ("none are wanted", judge(make(imports=("__stack_chk_fail",)), True, False), []),
        ("a library that is", judge(make(flags_1=0, imports=("read",)), False, True), []),
        ("a library that aborts", len(judge(make(), False, True)), 1),
    ]
    print(f"1..{len(cases)}")
    for index, (name, got, wanted) in enumerate(cases):
        print(f"{'ok' if got == wanted else 'not ok'} {index + 1} - {name}")
        if got != wanted:
            print(f"# got {got}, want {wanted}")
    return any(got != wanted for _, got, wanted in cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--fortified", action="store_true")
    parser.add_argument("--program")
    parser.add_argument("libraries", nargs="*")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    return check([(arguments.program, True)] + [(path, False) for path in arguments.libraries], arguments.fortified)


if __name__ == "__main__":
    sys.exit(main())
