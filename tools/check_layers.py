#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom (CONTRIBUTING.md). Prints one TAP line per room, and each breach.

Every include of ours is "room/file.h" from src/, so each line names its room. What is checked:
a room includes only rooms of its row; guests and other borders never see base/; one collector never
includes another, one exporter never includes another, one importer never another; no file includes
one that is not there.

    tools/check_layers.py [TREE]
    tools/check_layers.py --self-test
"""
import os
import re
import sys
import tempfile

OWN_PROCESS = ("event abi shared ring base clock trace symbol isa collect analyze live report flame page export import net agent ui "
               "config cli").split()

MAY_INCLUDE = {
    "abi": [],
    "event": [],
    "shared": ["event"],
    "base": [],
    "ring": ["event"],
    "bpf": ["abi", "event", "shared"],
    "inject": ["abi", "event", "ring", "shared"],
    "clock": ["base"],
    "trace": ["base", "event"],
    "config": ["base"],
    "symbol": ["abi", "base", "event", "shared"],
    "isa": ["base", "event", "shared"],
    "collect": ["abi", "base", "bpf", "event", "ring", "clock", "trace", "shared", "symbol", "config"],
    "analyze": ["abi", "base", "event", "clock", "trace", "symbol", "isa"],
    "live": ["base", "event", "trace", "analyze"],
    "ui": ["base", "event", "analyze", "live"],
    "net": ["base"],
    "agent": ["base", "event", "clock", "trace", "analyze", "collect", "config", "export", "live", "net"],
    "report": ["base", "event", "trace", "analyze"],
    "flame": ["base", "event", "analyze"],
    "page": ["base", "event", "analyze", "flame"],
    "export": ["base", "event", "analyze", "flame"],
    "import": ["base", "event", "symbol", "trace"],
    "lib": ["event", "ring"],
    "cli": OWN_PROCESS,
}

# Rooms whose members do not know each other, and the files there that all of them share.
STRANGERS = {
    "collect": {"collector.h", "session.h"},
    "export": {"exporter.h"},
    "import": {"importer.h"},
}

# Folders that are no member: all members may stand on them.
SHARED_FOLDERS = {
    "collect": {"counter", "enter", "feed", "guest", "kernel", "limit", "stack", "start"},
    "export": {"common"},
    "import": {"common"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def stem(path):
    return re.sub(r"(\.bpf)?\.[ch]$", "", path)


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1)


def is_generated(name):
    return name.endswith((".pb-c.h", ".numbers.h", ".skel.h", ".def", ".inc"))


def stranger(room, source, target):
    """True where a file of the room includes one that lies in another member's folder, such as
    collect/opencl/. A member that is one file is found by member_headers."""
    if room not in STRANGERS:
        return False
    source_name, target_name = source.split("/", 1)[1], target.split("/", 1)[1]
    if target_name in STRANGERS[room] or stem(source_name) == stem(target_name):
        return False
    source_folder = os.path.dirname(source_name).split("/")[0]
    target_folder = os.path.dirname(target_name).split("/")[0]
    if target_folder in SHARED_FOLDERS.get(room, ()):
        return False
    return bool(target_folder) and source_folder != target_folder


def member_headers(src, room):
    """Headers whose .c defines a member: `const struct exporter NAME`."""
    word = {"collect": "collector", "export": "exporter", "import": "importer"}[room]
    pattern = re.compile(r"^const struct %s \w+" % word, re.M)
    found = set()
    for folder, _, names in os.walk(os.path.join(src, room)):
        for name in names:
            if not name.endswith(".c"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                if pattern.search(file.read()):
                    found.add(os.path.relpath(path, src)[:-2] + ".h")
    return found


def check_file(src, path, members):
    """Yields the breaches of one file."""
    source = os.path.relpath(path, src)
    room = source.split("/", 1)[0]
    for number, target in includes(path):
        where = f"src/{source}:{number}"
        target_room = target.split("/", 1)[0]
        if "/" not in target:
            if not is_generated(target):
                yield f'{where}: "{target}": write "room/file.h", from src/'
            continue
        if target_room not in MAY_INCLUDE:
            if not is_generated(target):
                yield f'{where}: "{target}": there is no room {target_room}'
            continue
        if target_room != room and target_room not in MAY_INCLUDE[room]:
            allowed = ", ".join(MAY_INCLUDE[room]) or "no other room"
            yield f"{where}: {room} -> {target_room} ({room} may include {allowed})"
        elif target_room == room and stranger(room, source, target):
            yield f"{where}: {source} -> {target}: members of {room} do not know each other"
        elif target in members.get(room, ()) and stem(source) != stem(target):
            yield f"{where}: {source} -> {target}: members of {room} do not know each other"
        elif not is_generated(target) and not os.path.exists(os.path.join(src, target)):
            yield f'{where}: "{target}" is not there'


def check_tree(tree):
    """{room: [breach, ...]} of every room in the tree, and of every folder that is no room."""
    src = os.path.join(tree, "src")
    breaches = {}
    members = {room: member_headers(src, room) for room in STRANGERS}
    for room in sorted(os.listdir(src)):
        if not os.path.isdir(os.path.join(src, room)):
            continue
        found = breaches.setdefault(room, [])
        if room not in MAY_INCLUDE:
            found.append(f"src/{room} is no room: add it to the table in tools/check_layers.py")
            continue
        for folder, _, names in sorted(os.walk(os.path.join(src, room))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    found += check_file(src, os.path.join(folder, name), members)
    return breaches


def check_table():
    """The table itself: no two rooms of our own process may include each other."""
    wrong = []
    for room, allowed in MAY_INCLUDE.items():
        for other in allowed:
            if other != room and room in MAY_INCLUDE[other] and "cli" not in (room, other):
                wrong.append(f"{room} and {other} include each other")
    return wrong


def report(results):
    failed = False
    for number, (name, breaches) in enumerate(results, 1):
        for breach in breaches:
            print(f"#   {breach}")
        print(f"{'not ' if breaches else ''}ok {number} - {name}")
        failed |= bool(breaches)
    print(f"1..{len(results)}")
    return 1 if failed else 0


PLANTED = [
    # (file, its include, whether that is a breach)
    ("src/inject/guest.c", "base/error.h", True),
    ("src/base/error.c", "event/event.h", True),
    ("src/trace/reader.c", "clock/clock.h", True),
    ("src/export/folded.c", "trace/reader.h", True),
    ("src/export/folded.c", "export/chrome/chrome.h", True),
    ("src/collect/cpu/samples.c", "collect/opencl/opencl.h", True),
    ("src/inject/guest.c", "no_room.h", True),
    ("src/nowhere/x.c", "base/error.h", True),
    ("src/inject/guest.c", "ring/ring.h", False),
    ("src/symbol/search.c", "event/event.h", False),
    ("src/cli/main.c", "collect/collector.h", False),
    ("src/export/folded.c", "export/exporter.h", False),
    ("src/trace/reader.c", "trace/duet_trace.pb-c.h", False),
]

PLANTED_FILES = {
    "src/base/error.h": "", "src/event/event.h": "", "src/clock/clock.h": "",
    "src/trace/reader.h": "", "src/ring/ring.h": "", "src/collect/collector.h": "",
    "src/collect/opencl/opencl.h": "", "src/export/exporter.h": "", "src/export/chrome/chrome.h": "",
    "src/export/chrome/chrome.c": "const struct exporter chrome_exporter = {0};\n",
}


def write(tree, name, text):
    path = os.path.join(tree, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def self_test():
    results = [("table has no two-way pair", check_table())]
    for name, target, is_breach in PLANTED:
        with tempfile.TemporaryDirectory() as tree:
            for other, text in PLANTED_FILES.items():
                write(tree, other, text)
            write(tree, name, f'#include "{target}"\n')
            found = [b for breaches in check_tree(tree).values() for b in breaches]
        wrong = []
        if bool(found) != is_breach:
            wrong = found or ["the planted breach was not found"]
        results.append((f"{name} {'-x' if is_breach else '-'}> {target}", wrong))
    return report(results)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    tree = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return report(sorted(check_tree(tree).items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
