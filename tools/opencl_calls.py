#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The calls of OpenCL as rows of macros: numbers and meanings from a table of ours, parameters from the installed headers.

    tools/opencl_calls.py TABLE OUTPUT COMPILER ...
    tools/opencl_calls.py TABLE OUTPUT --folder FOLDER

TABLE is src/abi/opencl_calls.table, which says what a row is. The headers are those that COMPILER finds, or those in FOLDER.
A type of the headers is written as the base type that it stands for, so that what includes OUTPUT needs no header of OpenCL.

An older header may lack an extension function: its row is PASSED, with a message. Programs that call it are recorded without
these calls. A newer header changes nothing: functions without a row are not wrapped.
"""
import os
import re
import subprocess
import sys

HEADERS = ("cl_platform.h", "cl.h", "cl_gl.h", "cl_gl_ext.h", "cl_egl.h", "cl_ext.h", "cl_ext_intel.h")

# Types that abi/opencl.h declares; all others are looked up in the headers until one of these is reached.
BASE = {"cl_int", "cl_uint", "cl_bool", "cl_ulong", "cl_long", "void", "char", "int", "size_t", "intptr_t", "unsigned",
        "cl_image_format", "cl_image_desc", "cl_GLsync", "CLeglDisplayKHR", "CLeglImageKHR", "CLeglSyncKHR", "cl_callback"}

# Names by which the wrappers know the parameters that nearly every command has, whatever the headers call them.
NAMES = {"cl_command_queue": "queue", "const cl_event *": "wait_list", "cl_event *": "event"}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r"^\s*#.*?(?<!\\)$", "", text.replace("\\\n", " "), flags=re.M)


def split(text):
    """Parts between the commas outside of parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in parts + [text[start:]]]


class Headers:
    def __init__(self, folder):
        text = "\n".join(read(os.path.join(folder, name)) for name in HEADERS if os.path.exists(os.path.join(folder, name)))
        self.types = dict((name, kind) for kind, name in re.findall(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;", text))
        self.handles = set(re.findall(r"\btypedef\s+struct\s+_\w+\s*\*\s*(\w+)\s*;", text))
        self.prototypes = {name: (result, parameters) for result, name, parameters in re.findall(
            r"\b(\w+\s*\*?)\s*CL_API_CALL\s+(cl\w+)\s*\(((?:[^()]|\([^()]*\))*)\)", text)}

    def base(self, name):
        while name not in BASE and name not in self.handles:
            kind = self.types[name].split()
            if kind[0] == "struct":
                return name
            if kind[0] == "unsigned":
                return " ".join(kind)
            name = kind[-1]
        return name

    def type(self, text):
        """As text, with each name of a type replaced by its base."""
        return re.sub(r"\b(?!const\b|unsigned\b)[A-Za-z_]\w*", lambda match: self.base(match.group()), " ".join(text.split()))

    def call(self, name):
        """(type of the result, [(type, name of the parameter), ...]); KeyError: not declared."""
        result, parameters = self.prototypes[name]
        found = []
        for part in split(parameters):
            if part == "void":
                continue
            match = re.search(r"\(\s*(?:CL_CALLBACK)?\s*\*\s*(\w+)\s*\)", part)
            if match:
                found.append(("cl_callback", match.group(1)))
                continue
            match = re.match(r"(.*?)(\w+)\s*(\[\s*\d*\s*\])?$", part, re.S)
            if not match:
                sys.exit(f"opencl_calls: {name} has parameters without names: install opencl-headers of 2020 or newer")
            kind, word, array = match.groups()
            kind = re.sub(r"\s*\*", " *", self.type(kind) + (" *" if array else "")).replace("* *", "**")
            if kind == "const cl_event *":
                found[-1] = (found[-1][0], "wait_count")
            found.append((kind, NAMES.get(kind, word)))
        return self.type(result).replace(" *", "*").replace("*", " *"), found


def parameter(kind, name):
    return kind + ("" if kind.endswith("*") else " ") + name


def names(parameters):
    return [name for _, name in parameters]


def describe(parameters, extra):
    """What a command is described by: its queue, what it waits for, what the table adds, whether it blocks."""
    blocking = [name for kind, name in parameters if kind == "cl_bool"]
    steps = ["QUEUE(queue)"] if "queue" in names(parameters) else []
    steps += ["WAITS(wait_count, wait_list)"] if "wait_list" in names(parameters) else []
    steps += [extra] if extra else []
    steps += [f"BLOCKING({blocking[0]})"] if blocking else []
    return "; ".join(steps)


def row(number, name, command, flags, argument, after, headers):
    if "passed" in flags or name not in headers.prototypes:
        return f"PASSED({number}, {name})"
    result, parameters = headers.call(name)
    head = f"{number}, {name}"
    inner = ", ".join(parameter(*each) for each in parameters) or "void"
    both = f"({inner}), ({', '.join(each for _, each in parameters)})"
    if command:
        kind = "ENQUEUE_MAP" if result == "void *" else "ENQUEUE" if "event" in names(parameters) else "ENQUEUE_PLAIN"
        return f"{kind}({head}, {command}, {both}, {describe(parameters, after)})"
    callee = next((name for name in ("own", "release", "build") if name in flags), "next")
    if "wait" in flags:
        return f"WAIT({head}, {both}, {argument}, {after})"
    if result == "void":
        return f"NOTHING({head}, {both})"
    if result == "void *" and "errcode_ret" not in names(parameters):
        return f"POINTER({head}, {both}, {callee}, {argument})"
    kind, type_of = ("STATUS", "") if result == "cl_int" else ("CREATE", f"{result}, ")
    look = "LOOK" if "look" in flags else "NO_LOOK"
    return f"{kind}({head}, {type_of}{both}, {callee}, {look}, {argument}, {after})"


def find_folder(compiler):
    """Where the compiler finds <CL/cl.h>."""
    done = subprocess.run([*compiler, "-E", "-M", "-xc", "-"], input="#include <CL/cl.h>\n", capture_output=True, text=True)
    found = re.search(r"(\S+/CL)/cl\.h", done.stdout)
    return found.group(1) if found else sys.exit("opencl_calls: <CL/cl.h> not found: install opencl-headers")


ROW = re.compile(r"(\d+) (\w+)(?: (COMMAND_\w+))?((?: (?:look|own|release|build|wait|passed))*)"
                 r"(?: argument=(\S+))?(?: after=(.*))?$")


def main(arguments):
    table, target, compiler = arguments[0], arguments[1], arguments[2:]
    folder = compiler[1] if compiler[0] == "--folder" else find_folder(compiler)
    headers = Headers(folder)
    lines, missing = ["/* Made by tools/opencl_calls.py from src/abi/opencl_calls.table. */"], []
    with open(table, encoding="utf-8") as file:
        for line in file.read().splitlines():
            match = ROW.match(line)
            if match:
                number, name, command, flags, argument, after = match.groups()
                if "passed" not in flags and name not in headers.prototypes:
                    missing.append(name)
                lines.append(row(number, name, command, flags.split(), argument or "0", after or "", headers))
            elif line and not line.startswith("//"):
                if not line.startswith("#"):
                    sys.exit(f"{table}: not a row: {line}")
                lines.append(line)
    if missing:
        print(f"{folder} is older than these calls, which duet cannot record: {', '.join(missing)}", file=sys.stderr)
    with open(target, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
