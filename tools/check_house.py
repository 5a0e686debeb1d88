#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How large the house is: files in a folder, lines in a file, members of a struct, files that call each other both ways.

Each count has a limit in tools/house_limits. A count above its limit fails. A count below it fails as well, until the limit is
lowered: limits only go down. Files that call each other are found in the object files of a build, by nm.

    tools/check_house.py [BUILD]
    tools/check_house.py --lower [BUILD]     writes the counts of today as the limits, where they are lower
"""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMITS = os.path.join(ROOT, "tools", "house_limits")
SOURCE = (".c", ".h")


def folders():
    """{folder: number of files in it}, of src/."""
    return {os.path.relpath(folder, ROOT): len(names) for folder, _, names in os.walk(os.path.join(ROOT, "src"))}


def sources():
    """Sources of ours; abi/ declares what others have designed."""
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "src"))):
        for name in sorted(names):
            if name.endswith(SOURCE) and os.path.basename(folder) != "abi":
                yield os.path.join(folder, name)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def is_table(text):
    """A file most of whose lines are rows: an initializer's or a macro's call's, or constants of an interface."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    rows = sum(bool(re.match(r"(\{.*\},?|[A-Z_0-9]+\(.*|#define .*|[A-Z][A-Z_0-9]+( = .*)?,.*|\[.*\] = .*|.*/\*.*\*/)$", line))
               for line in lines)
    return rows * 2 > len(lines)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def members(body):
    """Number of members that a struct's body declares; nested structs and unions count as what they hold."""
    count = 0
    for statement in re.sub(r"[{}]", ";", body).split(";"):
        statement = statement.strip()
        if not statement or re.match(r"(struct|union|enum)\s*\w*$", statement):
            continue
        statement = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", re.sub(r"\(\s*\*\s*(\w+)\s*\)\s*\(.*\)", r" \1", statement, flags=re.S))
        count += 1 + statement.count(",")
    return count


def structs(path):
    """(name, number of members) of each struct that the file defines."""
    text = without_comments(read(path))
    for match in re.finditer(r"^struct\s+(\w+)\s*\{", text, re.M):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        yield match.group(1), members(text[match.end():at - 1])


def object_files(build):
    """{group: {source: object file}}: a group is linked together, so names are searched there alone."""
    found = collections.defaultdict(dict)
    for folder, _, names in os.walk(build):
        match = re.search(r"(?:src/\w+/lib([\w-]+)\.(?:a|so)|duet)\.p$", folder)
        if not match:
            continue
        is_guest = folder.endswith(".so.p")
        for name in names:
            if name.endswith(".c.o") and not name.startswith("meson-generated"):
                found[folder if is_guest else "program"][os.path.relpath(os.path.join(folder, name), build)] = \
                    os.path.join(folder, name)
    return found


def symbols(paths):
    """{path: (defined, undefined)}"""
    output = subprocess.run(["nm", "-g", "--format=posix", "-A", *paths], check=True, capture_output=True, text=True).stdout
    found = {path: (set(), set()) for path in paths}
    for line in output.splitlines():
        path, name, kind = line.split(" ")[:3]
        found[path.rstrip(":")][kind in "Uwv"].add(name)
    return found


def calls(build):
    """Edges (file, file) of each group's files."""
    for group in object_files(build).values():
        table = symbols(list(group.values()))
        owner = {name: path for path, (defined, _) in table.items() for name in defined}
        yield {(path, owner[name]) for path, (_, wanted) in table.items() for name in wanted
               if name in owner and owner[name] != path}


def cycles(edges):
    """Files that lie on a cycle (Tarjan's components, without recursion)."""
    after = collections.defaultdict(list)
    for one, other in edges:
        after[one].append(other)
    index, low, stack, on_stack, found = {}, {}, [], set(), 0
    for start in list(after):
        if start in index:
            continue
        work = [(start, iter(after[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(after[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    found += len(part) if len(part) > 1 else 0
    return found


def measure(build):
    """{what: (count, where)}"""
    folder, files = max(folders().items(), key=lambda item: item[1])
    lines = max(((read(path).count("\n"), path) for path in sources() if not is_table(read(path))))
    largest = max((count, f"struct {name} in {os.path.relpath(path, ROOT)}") for path in sources()
                  for name, count in structs(path))
    named = collections.Counter(name for path in sources() if path.endswith(".h") for name, _ in structs(path))
    twice = sorted(name for name, count in named.items() if count > 1)
    found = {
        "files in a folder": (files, folder),
        "lines in a file": (lines[0], os.path.relpath(lines[1], ROOT)),
        "members of a struct": largest,
        "names of structs in two headers": (len(twice), " ".join(twice)),
    }
    if build:
        edges = list(calls(build))
        pairs = sorted((one, other) for group in edges for one, other in group if one < other and (other, one) in group)
        found["pairs of files that call each other"] = (len(pairs), "; ".join(
            " ".join(os.path.basename(path)[:-2] for path in pair) for pair in pairs[:200]))
        found["files in cycles"] = (sum(cycles(group) for group in edges), "")
    return found


def limits():
    with open(LIMITS, encoding="utf-8") as file:
        rows = (line.split(None, 1) for line in file if line.strip() and not line.startswith("#"))
        return {what.strip(): int(count) for count, what in rows}


def main(arguments):
    lower = "--lower" in arguments
    builds = [argument for argument in arguments if argument != "--lower"]
    found, allowed = measure(builds[0] if builds else None), limits()
    failed = False
    for number, (what, (count, where)) in enumerate(found.items(), 1):
        limit = allowed.get(what, 0)
        good = count == limit or lower and count < limit
        if not good:
            print(f"#   {count}, limit {limit}: {where}")
            if count < limit:
                print("#   lower the limit: tools/check_house.py --lower BUILD")
        print(f"{'' if good else 'not '}ok {number} - {what}: {count}")
        failed |= not good
    print(f"1..{len(found)}")
    if lower:
        with open(LIMITS, encoding="utf-8") as file:
            text = file.read()
        for what, (count, _) in found.items():
            if count < allowed.get(what, 0):
                text = re.sub(rf"^\d+( +{re.escape(what)})$", rf"{count}\1", text, flags=re.M)
        with open(LIMITS, "w", encoding="utf-8") as file:
            file.write(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
