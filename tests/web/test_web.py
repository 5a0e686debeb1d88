# SPDX-License-Identifier: MIT
"""The viewer's modules without a browser: what the bundler takes for granted, and test_*.mjs under node.

Files come from make_view.py, which knows the format from its document alone.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]

import duet_test

try:
    import make_view
except ImportError as missing:
    print(f"1..0 # SKIP {missing}: python3-numpy")
    sys.exit(0)

KINDS = ["small", "scene", "hostile", "texts", "many", "cut", "levels", "twins", "counters"]
IMPORT = re.compile(r'import \{\w+(, \w+)*\} from "\./\w+\.js";')


def modules():
    for path in sorted(glob.glob(os.path.join(make_view.WEB, "*.js"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), file.read()


def top_names(text):
    """Names that a module declares at its top."""
    names = []
    for line in text.splitlines():
        found = re.match(r"(?:export )?(?:async )?(?:function\*? |class )(\w+)", line)
        if found:
            names.append(found.group(1))
        if re.match(r"(?:export )?(?:const|let|var) ", line):
            names += re.findall(r"(?:const |let |var |, )(\w+) = ", line)
    return names


def test_house(t):
    with t.case("modules are what can be put together without a parser"):
        for name, text in modules():
            t.true(text.isascii(), f"{name}: ASCII")
            t.true("`" not in text, f"{name}: no template literals")
            t.true("</script" not in text and "<!--" not in text, f"{name}: nothing that ends a script")
            for line in text.splitlines():
                if re.match(r"import\b", line):
                    t.true(IMPORT.fullmatch(line), f"{name}: {line}")
                if re.match(r"export\b", line):
                    t.true(re.match(r"export (async )?(function|const|class) ", line), f"{name}: {line}")

    with t.case("names at the top of a module are its own"):
        owner = {}
        for name, text in modules():
            for declared in top_names(text):
                t.true(declared not in owner, f"{declared} in {name} and {owner.get(declared)}")
                owner[declared] = name
        t.true(len(owner) > 50, "names were found")

    with t.case("texts go into the page as texts"):
        for name, text in modules():
            for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
                t.true(way not in text, f"{name}: {way}")

    with t.case("the frames have each place once"):
        for frame in ("view.html", "scope.html", "pair.html"):
            with open(os.path.join(make_view.WEB, frame), encoding="ascii") as file:
                found = re.findall(r"^@(\w+)@$", file.read(), flags=re.M)
            t.equal(found, ["policy", "style", "first", "script", "rest"], f"places of {frame}")


def test_node(t):
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            make_view.make(kind, f"{folder}/{kind}.html", f"{folder}/{kind}.json")
        for script in sorted(glob.glob(os.path.join(HERE, "test_*.mjs"))):
            name = os.path.basename(script)
            try:
                done = subprocess.run(["node", script, folder], capture_output=True, text=True, check=False)
            except FileNotFoundError:
                with t.case(name):
                    raise duet_test.Skip("node is not installed")
                continue
            for line in re.findall(r"^(?:not )?ok \d+ - .*$", done.stdout, flags=re.M):
                with t.case(f"{name}: {line.split(' - ', 1)[1]}"):
                    t.true(not line.startswith("not"), done.stdout[-2000:])
            with t.case(f"{name}: ends well"):
                t.equal(done.returncode, 0, done.stderr[-2000:])


def main():
    t = duet_test.Suite(needs_opencl=False)
    test_house(t)
    test_node(t)
    return t.end()


if __name__ == "__main__":
    sys.exit(main())
