#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The text format as protoc reads it: protoc makes the same bytes of a text and of what src/config prints of that text.
What one of them refuses the other refuses, but for the cases in STRICTER.

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
         "config": ("duet.DuetConfig", os.path.join(ROOT, "proto", "duet_config.proto"))}

GOOD = [
    ("every", ""),
    ("every", "a_uint32: 0xffffffff a_uint64: 01777777777777777777777"),
    ("every", "a_uint32: # a comment\n 5"),
    ("every", "bools: [true, t, True, 1, 0x1, 01, false, f, False, 0, 00]"),
    ("every", "modes: [MODE_NONE, 0, 1, 2147483647, MODE_MOST]"),
    ("every", r"""a_string: '\a\b\f\n\r\t\v\?\\\'\"\101\x41\x4a\7\18'"""),
    ("every", r"""strings: "é" strings: '\u00e9\U0001F600' strings: "a" 'b' "c" """),
    ("every", "inner { here: 1 deeper: < also: 'x' deeper { } >; }"),
    ("every", "uint64s: [] uint64s: [1, 2] uint64s: 3 uint32s: [7, 8]"),
    ("every", "a_uint64:1,a_uint32:2;a_bool:t"),
    ("config", "output: 'x' command: ['a', 'b'] stacks: python pid: 0 all: false"),
    ("config", "system { rate_hz: 010 smaps: t } drm {}"),
]

BAD = [
    "a_uint32: 4294967296", "a_uint32: -1", "a_uint64: 18446744073709551616", "a_uint32: 1.5", "a_uint32: '1'",
    "a_uint32: 1e3", "a_uint32: inf", "a_bool: yes", "a_bool: 2", "a_bool: -1", "a_string: text", "a_mode: MODE_TWO",
    "a_mode: 7", "a_mode: 'MODE_ONE'", r"a_string: '\X41'", "inner: 5", "inner 5", "a_uint32 5", "a_uint32 {}",
    "a_uint32: {}", "unknown: 1", "unknown 1", "a_uint32: [1]", "a_uint32: 1 a_uint32: 1", "inner {here: 1} inner {here: 1}",
    "uint32s: [1", "uint32s: [1,]", "uint32s: [1 2]", "uint32s: [[1]]", "uint32s [1]",
    "inner {", "inner { >", "inner < }", "}", "a_uint32:", "a_uint32: -", "a_uint32: 1,;", "a_string: 'x", "a_string: 'x\n'",
    r"a_string: '\q'", r"a_string: '\xg'", r"a_string: '\u12'", "a_uint32: 08", "a_uint32: 0x", "a_uint32: 1x",
    "a_uint32: 1e", "a_uint32: 1.2.3", "a_uint32: 1.5x", "a_uint32 = 1", "[every.extension]: 1", "5: 1", "a_string: -'x'",
    "a_uint32: \x01",
]

# Refused here alone: text that C cannot hold, very deep ones.
STRICTER = [r"a_string: 'a\0b'", "inner {" + "deeper {" * 64 + "}" * 65]


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


def ours(kind, text):
    return subprocess.run([OURS, kind], input=text, capture_output=True, check=False)


def protoc(kind, text):
    message, path = TYPES[kind]
    return subprocess.run(["protoc", f"--proto_path={os.path.dirname(path)}", f"--encode={message}", path],
                          input=text, capture_output=True, check=False)


def difference(kind, text):
    """What is wrong with what is printed of a text; None where all is well."""
    text = text.encode() if isinstance(text, str) else text
    wanted, printed = protoc(kind, text), ours(kind, text)
    if wanted.returncode or printed.returncode:
        return f"refused: protoc {wanted.stderr!r}, ours {printed.stderr!r}"
    again = protoc(kind, printed.stdout)
    if again.returncode or again.stdout != wanted.stdout:
        return f"read differently: {printed.stdout!r}: {again.stdout.hex()}, not {wanted.stdout.hex()} {again.stderr!r}"
    return None


# ---- texts at random, in all the ways to write them ----

class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def blank(self):
        return self.pick(" ", "  ", "\n", "\t", " # a comment: { [ ' \n", "\r\n", "")

    def integer(self, most):
        value = self.pick(0, 1, most, self.random.randint(0, most))
        return self.pick(str(value), f"0x{value:x}", f"0X{value:X}", f"0{value:o}")

    def piece(self):
        plain = "".join(self.random.choice("abc XYZ019_-{}[]#:;<>é€") for _ in range(self.random.randint(0, 8)))
        escapes = [r"\n", r"\t", r"\\", r"\"", r"\'", r"\101", r"\x7e", r"\u00e9", r"\U0001F600", r"\?"]
        escaped = "".join(self.random.choice(escapes) for _ in range(self.random.randint(0, 3)))
        quote = self.pick("'", '"')
        return f"{quote}{plain}{escaped}{quote}"

    def string(self):
        return self.pick(" ", "\n", "").join(self.piece() for _ in range(self.random.randint(1, 3)))

    def scalar(self, kind):
        if kind.startswith("uint"):
            return self.integer(2 ** int(kind[4:]) - 1)
        if kind == "bool":
            return self.pick("true", "false", "t", "f", "1", "0", "True", "False")
        if kind == "mode":
            return self.pick("MODE_NONE", "MODE_ONE", "MODE_MOST", "1", "0")
        return self.string()

    def message(self, name, depth):
        opening, closing = self.pick("{}", "<>")
        fields = [self.pick("", "here: 1", "here: 0"), self.pick("", f"also: {self.string()}")]
        if depth:
            fields.append(self.message("deeper", depth - 1))
        return f"{name}{self.pick(':', '', ' ')}{opening}{' '.join(fields)}{closing}"

    def field(self, name, values):
        """A value, a list, or one field for each."""
        colon = ":" + self.blank()
        if len(values) == 1 and self.random.random() < 0.5:
            return f"{name}{colon}{values[0]}"
        if self.random.random() < 0.5:
            return f"{name}{colon}[{self.blank()}{(',' + self.blank()).join(values)}]"
        return "\n".join(f"{name}{colon}{value}" for value in values)

    def every(self, depth):
        fields = []
        for kind in "uint32 uint64 bool string mode".split():
            if self.random.random() < 0.7:
                fields.append(f"a_{kind}:{self.blank()}{self.scalar(kind)}")
            if self.random.random() < 0.7:
                fields.append(self.field(kind + "s", [self.scalar(kind) for _ in range(self.random.randint(1, 4))]))
        if self.random.random() < 0.6:
            fields.append(self.message("inner", depth))
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
                                             ("ours", ours("every", text.encode()))) if result.returncode]
        case(f"refused: {text!r}", refused != ["protoc", "ours"] and f"refused by {refused} only")
    for text in STRICTER:
        theirs, mine = protoc("every", text.encode()), ours("every", text.encode())
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
