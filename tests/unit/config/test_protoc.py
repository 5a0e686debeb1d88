#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The text format as protoc reads it: what src/config makes of a text is, byte for byte, what protoc makes of it, and
protoc reads what src/config prints. What one of them refuses the other refuses, but for the cases in STRICTER.

    test_protoc.py --textproto build/tests/unit/config/textproto
"""
import argparse
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TYPES = {"every": ("every.Every", os.path.join(HERE, "every.proto")),
         "plain": ("plain.Plain", os.path.join(HERE, "plain.proto")),
         "config": ("duet.DuetConfig", os.path.join(ROOT, "proto", "duet_config.proto"))}

GOOD = [
    ("every", ""),
    ("every", "an_int32: -0x80000000 a_uint64: 01777777777777777777777"),
    ("every", "an_int32: - # a sign alone\n 5"),
    ("every", "a_double: 1.5e3 a_float: .25f doubles: [1, 2., 3e-2, 4F, inf, -INFINITY, -0, 0.1]"),
    ("every", "a_float: 1e40 floats: [-1e40, 3.4028236e38, 1e-46, 16777217]"),
    ("every", "doubles: [1e400, 4.9e-324, 1e-400, 9007199254740993]"),
    ("every", "bools: [true, t, True, 1, 0x1, 01, false, f, False, 0, 00]"),
    ("every", "modes: [MODE_NONE, -3, 0, 2147483647, MODE_LESS]"),
    ("every", r"""a_string: '\a\b\f\n\r\t\v\?\\\'\"\101\x41\x4a\7\18'"""),
    ("every", r"""strings: "é" strings: '\u00e9\U0001F600' strings: "a" 'b' "c" """),
    ("every", r"""byteses: ['\0\377\xff', "", "\000\001"]"""),
    ("every", "needs { here: 1 } inner: < inner { } >; inners: [{}, <a_bool: t>], inners {}"),
    ("every", "int64s: [] int64s: [1, -2] int64s: 3 fixed32s: [7, 8] inners []"),
    ("every", "an_int32:1,a_uint32:2;a_bool:t"),
    ("every", "chosen_text: ''"),
    ("every", "chosen_needs { here: -1 also: 'x' }"),
    ("every", "said: 'unsaid' forty_two: 42"),
    ("plain", "number: 5 text: 'x' raw: 'y' flag: true real: 0.5 colour: WHITE inner { number: -1 }"),
    ("plain", "number: 0 text: '' flag: false"),
    ("plain", "numbers: [1, 2, 3] colours: [WHITE, BLACK] ages { key: 'a' value: 1 } ages: {key: 'b' value: -1}"),
    ("plain", "left: 0"),
    ("config", "output: 'x' command: ['a', 'b'] stacks: python pid: 0 all: false"),
]

BAD = [
    "an_int32: 2147483648", "a_uint32: -1", "a_uint64: 18446744073709551616", "an_int32: 1.5", "an_int32: '1'",
    "a_double: 0x10", "a_double: 010", "a_bool: yes", "a_bool: 2", "a_bool: -1", "a_string: text", "a_mode: MODE_TWO",
    "a_mode: 7", "a_mode: 'MODE_ONE'", r"a_string: '\X41'", "inner: 5", "inner 5", "an_int32 5", "an_int32 {}", "an_int32: {}", "unknown: 1",
    "unknown 1", "an_int32: [1]", "an_int32: 1 an_int32: 1", "needs {here: 1} needs {here: 1}",
    "chosen_number: 0 chosen_text: 'x'", "int32s: [1", "int32s: [1,]", "int32s: [1 2]", "int32s: [[1]]", "int32s [1]",
    "inner {", "inner { >", "inner < }", "}", "an_int32:", "an_int32: -", "an_int32: 1,;", "a_string: 'x", "a_string: 'x\n'",
    r"a_string: '\q'", r"a_string: '\xg'", r"a_string: '\u12'", "an_int32: 08", "an_int32: 0x", "an_int32: 1x",
    "a_double: 1e", "a_double: 1.2.3", "a_double: 1.5x", "an_int32 = 1", "[every.extension]: 1", "5: 1", "a_string: -'x'",
    "an_int32: \x01",
]

# Refused here alone: text that C cannot hold, a message without what it must have (protoc warns), very deep ones.
STRICTER = [r"a_string: 'a\0b'", "needs {}", "inner {" * 65 + "}" * 65]


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--textproto", required=True)
    return parser.parse_args()


OURS = os.path.abspath(arguments().textproto)
count = failures = 0


def case(name, problem):
    global count, failures
    count += 1
    failures += bool(problem)
    for line in (problem or "").splitlines():
        print(f"#   {line}")
    title = name.replace('#', '(hash)')  # behind one there is a directive
    print(f"{'not ' if problem else ''}ok {count} - {title}")


def ours(kind, action, text):
    return subprocess.run([OURS, kind, action], input=text, capture_output=True, check=False)


def protoc(kind, text):
    message, path = TYPES[kind]
    return subprocess.run(["protoc", f"--proto_path={os.path.dirname(path)}", f"--encode={message}", path],
                          input=text, capture_output=True, check=False)


def difference(kind, text):
    """What is wrong with our bytes of a text, and with what is printed of it; None where all is well."""
    text = text.encode() if isinstance(text, str) else text
    wanted, packed, printed = protoc(kind, text), ours(kind, "pack", text), ours(kind, "print", text)
    if wanted.returncode or packed.returncode or printed.returncode:
        return f"refused: protoc {wanted.stderr!r}, ours {packed.stderr!r}"
    if packed.stdout != wanted.stdout:
        return f"bytes differ: protoc {wanted.stdout.hex()}, ours {packed.stdout.hex()}"
    again = protoc(kind, printed.stdout)
    if again.stdout != wanted.stdout:
        return f"what is printed is read differently: {printed.stdout!r} {again.stderr!r}"
    return None


# ---- texts at random, in all the ways to write them ----

class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def blank(self):
        return self.pick(" ", "  ", "\n", "\t", " # a comment: { [ ' \n", "\r\n", "")

    def integer(self, least, most):
        value = self.pick(0, 1, least, most, self.random.randint(least, most))
        magnitude = abs(value)
        digits = self.pick(str(magnitude), f"0x{magnitude:x}", f"0X{magnitude:X}", f"0{magnitude:o}")
        return (f"-{self.blank()}" if value < 0 else "") + digits

    def real(self):
        value = self.pick(0.0, 1.5, 1e300, 1e-300, self.random.uniform(-1e6, 1e6), self.random.random())
        return self.pick(repr(value), f"{value:.3e}", "inf", "-inf", "Infinity", str(self.random.randint(0, 10 ** 20)),
                         f"{abs(value):.4f}f")

    def piece(self, can_be_any_byte):
        plain = "".join(self.random.choice("abc XYZ019_-{}[]#:;<>é€") for _ in range(self.random.randint(0, 8)))
        escapes = [r"\n", r"\t", r"\\", r"\"", r"\'", r"\101", r"\x7e", r"\u00e9", r"\U0001F600", r"\?"]
        if can_be_any_byte:
            escapes += [r"\0", r"\377", r"\xff"]
        escaped = "".join(self.random.choice(escapes) for _ in range(self.random.randint(0, 3)))
        quote = self.pick("'", '"')
        return f"{quote}{plain}{escaped}{quote}"

    def string(self, can_be_any_byte=False):
        return self.pick(" ", "\n", "").join(self.piece(can_be_any_byte) for _ in range(self.random.randint(1, 3)))

    def scalar(self, kind):
        bits = {"int32": (-2 ** 31, 2 ** 31 - 1), "int64": (-2 ** 63, 2 ** 63 - 1), "uint32": (0, 2 ** 32 - 1),
                "uint64": (0, 2 ** 64 - 1)}
        same = {"sint32": "int32", "sfixed32": "int32", "sint64": "int64", "sfixed64": "int64", "fixed32": "uint32",
                "fixed64": "uint64"}
        kind = same.get(kind, kind)
        if kind in bits:
            return self.integer(*bits[kind])
        if kind in ("float", "double"):
            return self.real()
        if kind == "bool":
            return self.pick("true", "false", "t", "f", "1", "0", "True", "False")
        if kind == "mode":
            return self.pick("MODE_NONE", "MODE_ONE", "MODE_MOST", "MODE_LESS", "1", "-3")
        return self.string(kind == "bytes")

    def message(self, depth):
        opening, closing = self.pick("{}", "<>")
        return f"{opening}{self.every(depth)}{closing}"

    def field(self, name, values):
        """A value, a list, or one field for each."""
        colon = ":" + self.blank()
        if len(values) == 1 and self.random.random() < 0.5:
            return f"{name}{colon}{values[0]}"
        if self.random.random() < 0.5:
            return f"{name}{colon}[{self.blank()}{(',' + self.blank()).join(values)}]"
        return "\n".join(f"{name}{colon}{value}" for value in values)

    def every(self, depth):
        kinds = "int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 float double bool string bytes mode"
        fields = []
        for kind in kinds.split():
            if self.random.random() < 0.4:
                article = "an" if kind.startswith("int") else "a"
                fields.append(f"{article}_{kind}:{self.blank()}{self.scalar(kind)}")
            if self.random.random() < 0.3:
                plural = {"bytes": "byteses"}.get(kind, kind + "s")
                fields.append(self.field(plural, [self.scalar(kind) for _ in range(self.random.randint(1, 4))]))
        if depth and self.random.random() < 0.6:
            fields.append(f"inner{self.pick(':', '', ' ')}{self.message(depth - 1)}")
            fields.append(self.field("inners", [self.message(depth - 1) for _ in range(2)]))
        fields.append(self.pick("", "chosen_number: 1", "chosen_text: 'x'", "chosen_needs { here: 3 }"))
        self.random.shuffle(fields)
        return self.blank() + "".join(field + self.pick(" ", ",", ";", "\n", " , ") for field in fields if field)


def main():
    if not shutil.which("protoc"):
        print("1..0 # SKIP protoc is not installed (protobuf-compiler)")
        return 0
    for kind, text in GOOD:
        case(f"{kind}: {text!r}", difference(kind, text))
    for text in BAD:
        refused = [name for name, result in (("protoc", protoc("every", text.encode())),
                                             ("ours", ours("every", "pack", text.encode()))) if result.returncode]
        case(f"refused: {text!r}", refused != ["protoc", "ours"] and f"refused by {refused} only")
    for text in STRICTER:
        theirs, mine = protoc("every", text.encode()), ours("every", "pack", text.encode())
        case(f"refused here alone: {text[:40]!r}",
             (theirs.returncode or mine.returncode != 1) and f"protoc {theirs.returncode}, ours {mine.returncode}")
    for seed in range(40):
        text = Writer(seed).every(3)
        case(f"at random, seed {seed}, {len(text)} characters", difference("every", text))
    with open(os.path.join(ROOT, "examples", "duet.textproto"), "rb") as file:
        case("examples/duet.textproto", difference("config", file.read()))
    print(f"1..{count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
